"""The place of a Codex rollout in its tree: a thread of its own, or whose subagent; what of it was copied or taken back."""
import os
import time

from ..records import Coverage
from . import Source
from .codex import home_of, open_rollout, records, scan, thread_of

_MAX_DEPTH = 8
_FIRST_LINE = 1 << 22


def first_line(path):
    """The bytes of the first line of a rollout; b'' when it cannot be read."""
    try:
        with open_rollout(path) as handle:
            return handle.readline(_FIRST_LINE)
    except OSError:
        return b''


def first_record(path):
    """-> the first record of a rollout (dict), {} when it cannot be read."""
    if path.endswith('.json'):
        from .codex_old import records_of
        try:
            found = records_of(path, None)
        except OSError:
            return {}
    else:
        from ..records import parse_line
        found, _ = parse_line(first_line(path))
    return found[0] if found else {}


def kinship(meta):
    """-> (parent thread id or '', root thread id or '', True when no person types in this thread) of a session_meta."""
    source, parent, machine = meta.get('source'), meta.get('parent_thread_id'), False
    if type(source) is dict and 'custom' not in source:
        machine = True
        spawned = source.get('subagent')
        spawned = spawned.get('thread_spawn') if type(spawned) is dict else None
        if type(spawned) is dict and type(spawned.get('parent_thread_id')) is str:
            parent = spawned['parent_thread_id']
    elif meta.get('thread_source') not in (None, 'user') and type(meta.get('thread_source')) is str:
        machine = True
    if not machine or type(parent) is not str or parent == meta.get('id'):
        return '', '', machine
    top = meta.get('session_id')
    return parent, top if type(top) is str and top != meta.get('id') else '', True


def place_of(path):
    """-> {'session': id, 'role': main or agent, 'chain': id of the subagent or ''} of a rollout.

    A subagent's subagent belongs to the session at the top, which newer clients name and older ones leave to be
    climbed to, parent by parent.
    """
    thread = thread_of(os.path.basename(path))
    meta = first_record(path).get('payload')
    meta = meta if type(meta) is dict else {}
    own = meta.get('id') if type(meta.get('id')) is str else thread
    parent, top, _ = kinship(meta)
    if not parent:
        return {'session': own or None, 'role': 'main', 'chain': ''}
    session, seen = top or parent, {own}
    while session not in seen and len(seen) < _MAX_DEPTH:
        seen.add(session)
        above = find_thread(home_of(path), session, os.path.dirname(path))
        meta = first_record(above).get('payload') if above else None
        parent, top, _ = kinship(meta) if type(meta) is dict else ('', '', False)
        if not parent:
            break
        session = top or parent
    return {'session': session, 'role': 'agent', 'chain': own}


def find_thread(home, thread, near):
    """-> path of a thread's rollout, '' when it is not found in the folder `near`, its day's folder or the archive.

    Ids since October 2025 hold their time, which names the day.
    """
    if not home:
        return ''
    days = []
    bare = thread.replace('-', '')
    if len(bare) == 32 and bare[12:13] == '7':
        from ..base.clock import civil_from_days
        try:
            day = int(bare[:12], 16) // 86400000
        except ValueError:
            day = 0
        # The folder is a local day: up to one day beside the UTC one.
        days = [os.path.join(home, 'sessions', '%04d' % y, '%02d' % m, '%02d' % d)
                for y, m, d in (civil_from_days(day + step) for step in (0, -1, 1))]
    for folder in [near] + days + [os.path.join(home, 'archived_sessions')]:
        try:
            names = os.listdir(folder)
        except OSError:
            # No thread of that day.
            continue
        for name in sorted(names):
            if thread in name and thread_of(name) == thread:
                return os.path.join(folder, name)
    return ''


def turns_of(path, depth=0):
    """-> {turn id: the thread whose turn it is} of a rollout; a fork or a subagent may begin with turns of the thread it comes from
    (all up to its first turn that the other one has not)."""
    meta = first_record(path).get('payload')
    meta = meta if type(meta) is dict else {}
    own, above, known, out = meta.get('id') or thread_of(os.path.basename(path)), origin_of(meta), {}, {}
    if above and depth < _MAX_DEPTH:
        there = find_thread(home_of(path), above, os.path.dirname(path))
        known = turns_of(there, depth + 1) if there else {}
    try:
        for record in records(path, Coverage(path), 0, 0, lambda line: b'"turn_id"' not in line):
            payload = record.data.get('payload')
            turn = payload.get('turn_id') if type(payload) is dict else None
            if type(turn) is str and turn not in out:
                known = known if turn in known else {}
                out[turn] = known.get(turn, own)
    except OSError:
        # Gone since it was found.
        return {}
    return out


def origin_of(meta):
    """-> the thread that a session_meta says its own was forked or spawned from, ''."""
    forked = meta.get('forked_from_id')
    return forked if type(forked) is str and forked else kinship(meta)[0]


def children_of(path, home, thread):
    """-> sorted list of (path, subagent id) of the subagents' rollouts of a thread: begun while it was in use."""
    first = os.path.basename(path)[8:18]
    try:
        last = time.strftime('%Y-%m-%d', time.localtime(os.stat(path).st_mtime + 86400))
    except OSError:
        return []
    wanted = thread.encode('utf-8', 'replace')
    out = []
    for row in scan(home, []):
        other = row[0]
        # An id stands as it is in the first record, so most files need no decoding.
        if other != path and first <= os.path.basename(other)[8:18] <= last and wanted in first_line(other):
            facts = place_of(other)
            if facts['session'] == thread and facts['role'] == 'agent':
                out.append((other, facts['chain']))
    return sorted(out)


def _parsed(path):
    """Yield (record, its events, the parser's state) of a whole rollout."""
    from ..records import Coverage
    from .codex_parse import Parser
    coverage = Coverage(path)
    parser = Parser(coverage, Source(path, 'main', '', thread_of(os.path.basename(path)), 0, 0), {})
    for record in records(path, coverage):
        yield record, parser.events(record), parser.state


def branches_of(path):
    """-> (number of branch ends, names of the turns that were taken back, as the identities of their events begin)."""
    turns, left, ends = [], set(), 1
    for record, events, _ in _parsed(path):
        payload = record.data.get('payload')
        if type(payload) is dict and payload.get('type') == 'thread_rolled_back' and type(payload.get('num_turns')) is int:
            gone = turns[-payload['num_turns']:] if payload['num_turns'] > 0 else []
            del turns[len(turns) - len(gone):]
            left.update(gone)
            ends += 1 if gone else 0
        for event in events:
            if event.kind == 'prompt' and event.id.split('/')[0] not in turns:
                turns.append(event.id.split('/')[0])
    return ends, left


def copied_records(path):
    """-> number of records a fork or a subagent's thread repeats from its parent."""
    return sum(1 for _, _, state in _parsed(path) if 'copied' in state)
