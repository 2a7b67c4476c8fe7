"""Codex CLI: where its sessions (rollouts) lie and how its files are read.

Layouts (client builds 0.2 to 0.171): <home>/sessions/YYYY/MM/DD/rollout-<local time>-<thread id>.jsonl, packed to
.jsonl.zst after a week; archived ones flat in <home>/archived_sessions/; before mid-2025 single .json files. A thread
is one file, grown by every resume; a subagent is a thread of its own, tied to its parent by its first record alone.
"""
import os

from ..base import paths
from . import Session, Source, Store
# No ledger: threads.tokens_used is a running total.
from .plain import billed, marked_time, side_files, spill_path, spill_text  # noqa: F401

NAME = 'codex'
GROWS = True
BY_STAT = True
CLEANED = False
# What scan() calls a main file may be a subagent's: head() says so, and whose.
PLACED_BY_HEAD = True
STORES = (
    Store('codex.sessions_jsonl.v2', 'sessions/<year>/<month>/<day>/rollout-*.jsonl', True, 'threads since September 2025: an envelope around every record'),
    Store('codex.sessions_jsonl.v1', 'sessions/<year>/<month>/<day>/rollout-*.jsonl', True, 'mid-2025: bare items, no times, no tokens'),
    Store('codex.sessions_json.v1', 'sessions/rollout-*.json', True, 'before mid-2025: one JSON object a session, no tokens'),
    Store('codex.sessions_zst.v1', 'sessions/<year>/<month>/<day>/rollout-*.jsonl.zst', True, 'threads unused for a week, packed'),
    Store('codex.archived.v1', 'archived_sessions/rollout-*', True, 'threads that were archived by hand'),
    Store('codex.session_index.v1', 'session_index.jsonl', True, 'names given to threads; the last row of an id counts'),
    Store('codex.state_sqlite', 'state_<n>.sqlite', True, 'names of threads, where there is no session_index.jsonl; the rest repeats the rollouts'),
    Store('codex.history_jsonl.v1', 'history.jsonl', False, 'prompts typed in the terminal; every one of them is in its rollout too'),
    Store('codex.thread_history_sqlite', 'thread_history_<n>.sqlite', False, 'a projection of the rollouts: reading both would double them'),
    Store('codex.other_sqlite', 'logs_<n>.sqlite, goals_<n>.sqlite, memories_<n>.sqlite, queue_<n>.sqlite', False, 'logs, goals, memories, queue: no conversation'),
    Store('codex.auth', 'auth.json', False, 'credentials, never opened'),
)
_HEAD = 'rollout-'
# The endings of rollouts, in the order in which they win when a thread lies twice in one place.
_ENDS = ('.jsonl', '.jsonl.zst', '.json')
_PACKED = '.zst'
_NAMES = 'session_index.jsonl'


def roots(environ=os.environ):
    """-> list of homes, whether they exist or not: $CODEX_HOME (also a comma list), else ~/.codex."""
    named = environ.get('CODEX_HOME')
    if named:
        parts = [named] if os.path.isdir(named) else named.split(',')
        found = []
        for part in parts:
            path = os.path.abspath(os.path.expanduser(part.strip())) if part.strip() else ''
            if path and path not in found:
                found.append(path)
        return found
    home = paths.home()
    return [os.path.join(home, '.codex')] if home else []


def thread_of(name):
    """-> the thread id in a rollout's file name, '' for any other name."""
    if not name.startswith(_HEAD):
        return ''
    for end in _ENDS:
        if name.endswith(end):
            stem = name[len(_HEAD):-len(end)]
            tail = stem[-36:]
            return tail if tail.count('-') == 4 and tail[8:9] == '-' else stem
    return ''


def owns(path):
    """True for a path that looks like a rollout: by its name and place, else by its first record."""
    parts = path.replace('\\', '/').split('/')
    # A fork of the client keeps the same files in a home of its own.
    if '.trae' in parts:
        return False
    if thread_of(parts[-1]) and ('sessions' in parts[:-1] or 'archived_sessions' in parts[:-1]):
        return True
    if not parts[-1].endswith(_ENDS[:2]) or not os.path.isfile(path):
        return False
    from .codex_head import first_record
    first = first_record(path)
    meta = first.get('payload')
    return first.get('type') == 'session_meta' and type(meta) is dict and type(meta.get('id')) is str


def scan(root, problems, visited=None):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every thread under a home, one row each.

    By folder listings and stat alone (and session_index.jsonl), so that every row is called a main file under its own id; head()
    knows better. The time of a thread that its user gave a name changes with that name. A thread that lies in several places counts once: live before archived, plain before packed, then the newer file.
    problems: list that gets (path, reason) for each folder that cannot be listed; a missing sessions folder is one.
    visited: list that gets every place where a thread may come to be, none where more than a thread's own file tells.
    """
    best, folders, alone = {}, [], True
    archived = os.path.join(root, 'archived_sessions')
    for place, top in enumerate((os.path.join(root, 'sessions'), archived)):
        if place and not os.path.isdir(top):
            folders.append(top)
            continue
        for entry, thread in _rollouts(top, problems, folders, 0):
            try:
                if not entry.is_file():
                    continue
                stat = entry.stat()
            except OSError:
                # Moved or removed since the folder was listed.
                continue
            rank = (place, entry.name.endswith(_PACKED), -stat.st_mtime_ns, entry.path)
            have = best.get(thread)
            alone = alone and have is None
            if have is None or rank < have[0]:
                best[thread] = (rank, stat.st_size, stat.st_mtime_ns)
    names = names_listed(root) if best else {}
    if visited is not None and alone and not names:
        visited += folders
        visited.append(os.path.join(root, _NAMES))
    for thread, (rank, size, mtime) in best.items():
        yield rank[3], size, marked_time(mtime, names.get(thread, '')), 'main', '', thread, ''


def names_listed(root):
    """-> {thread id: name} of session_index.jsonl, which is only read again when it changed."""
    from ..base import memo
    path = os.path.join(root, _NAMES)
    if not os.path.isfile(path):
        return {}

    def ask():
        from .codex_names import names_of
        return sorted(names_of(root, False).items())
    return dict(memo.kept(NAME + '-names', 1, [path], ask))


def _rollouts(path, problems, folders, depth):
    """Yield (entry, thread id) of the rollouts in a folder and below, and add these to `folders`."""
    folders.append(path)
    try:
        with os.scandir(path) as entries:
            found = list(entries)
    except OSError as error:
        if depth == 0 or not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            problems.append((path, error.strerror or str(error)))
        return
    for entry in found:
        thread = thread_of(entry.name)
        if thread:
            yield entry, thread
        elif depth < 4 and '.' not in entry.name:
            try:
                if not entry.is_dir():
                    continue
            except OSError:
                # Gone, or a link that leads nowhere.
                continue
            for inner in _rollouts(entry.path, problems, folders, depth + 1):
                yield inner


def discover(root, problems):
    """Yield the Sessions under a home, each with the threads of its subagents (the first record of each is read)."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        facts = head(path)
        sid = facts['session'] or session
        trees.setdefault(sid, []).append(Source(path, facts['role'], facts['chain'], sid, size, mtime))
    for sid, files in trees.items():
        files.sort(key=lambda f: (f.role != 'main', f.path))
        yield Session(NAME, root, sid, '', tuple(files))


def home_of(path):
    """-> the client's home a rollout lies in, '' when it lies in none."""
    folder = os.path.dirname(path)
    for _ in range(6):
        up, name = os.path.split(folder)
        if name in ('sessions', 'archived_sessions'):
            return up
        if up == folder:
            break
        folder = up
    return ''


def session_at(path):
    """-> Session of the thread at `path` with the subagents' threads it started."""
    facts = head(path)
    sid = facts['session'] or thread_of(os.path.basename(path)) or os.path.basename(path)
    home = home_of(path)
    files = [Source(path, facts['role'], facts['chain'], sid, 0, 0)]
    if facts['role'] == 'main' and home:
        from .codex_head import children_of
        files += [Source(other, 'agent', chain, sid, 0, 0) for other, chain in children_of(path, home, sid)]
    return Session(NAME, home, sid, '', tuple(files))


def head(path, also=()):
    """-> {'session': id, 'role': main or agent, 'chain': id of the subagent or ''} of a rollout, from its first record."""
    from .codex_head import place_of
    return place_of(path)


def open_rollout(path):
    """-> a binary file object over the records of a rollout, unpacked on the way."""
    if path.endswith(_PACKED):
        from ..base.zstd import open_zstd
        return open_zstd(path)
    from ..records import open_bytes
    return open_bytes(path)


def _skip_to(handle, path, offset):
    """Move to a byte offset of the plain text (packed files only go forwards)."""
    if not path.endswith(_PACKED):
        handle.seek(offset)
        return
    while offset > 0:
        block = handle.read(min(offset, 1 << 18))
        if not block:
            break
        offset -= len(block)


def records(path, coverage, offset=0, line=0, skip=None):
    """Yield the Records of one rollout from an offset on. skip: see records.read_records."""
    from ..records import read_records, scan as scan_lines
    if path.endswith('.json'):
        from .codex_old import read_old
        for record in read_old(path, coverage, offset):
            yield record
    elif not path.endswith(_PACKED):
        for record in read_records(path, coverage, offset, line, skip):
            yield record
    else:
        with open_rollout(path) as handle:
            try:
                _skip_to(handle, path, offset)
                for record in scan_lines(handle, coverage, offset, line, skip):
                    yield record
            except OSError as error:
                # What the file gave before the damage stands.
                coverage.lines += 1
                coverage.damage(coverage.line + 1, str(error))


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one rollout, in file order: a list for each record (see the protocol).

    A name given to the thread comes with the first record that is read after it was given.
    """
    from .codex_parse import Parser, is_noise_line
    state = {} if state is None else state
    parser = Parser(coverage, source, state)
    named = None
    for record in records(source.path, coverage, offset, line, is_noise_line):
        events = parser.events(record)
        if named is None:
            named = thread_name(source, not offset)
            if named and named != state.get('named') and not parser.chain:
                state['named'] = named
                events.append(parser.title(named, record))
        yield events


def events_at(source, offset, length, state=None):
    """-> list of events of the one record at `offset`, as read() gives them (turn numbers and ids apart)."""
    from ..records import Coverage, Record, parse_line
    from .codex_parse import Parser
    parser = Parser(Coverage(source.path), source, dict(state or ()))
    if source.path.endswith('.json'):
        from .codex_old import records_of
        found = records_of(source.path, None)[offset:offset + 1]
    else:
        with open_rollout(source.path) as handle:
            _skip_to(handle, source.path, offset)
            found = parse_line(handle.read(length) if length else handle.readline())[0]
    out = []
    for data in found:
        out.extend(parser.events(Record(data, 0, offset, length)))
        named = thread_name(source, True)
        if named and not parser.chain:
            out.append(parser.title(named, Record(data, 0, offset, length)))
    return out


def thread_name(source, database):
    """-> the name its user gave to a thread, '' for none: from session_index.jsonl, else from the state database.

    database: False leaves the database alone (it is looked at when a thread is read from its start).
    """
    home = home_of(source.path)
    if not home:
        return ''
    from .codex_names import names_of
    return names_of(home, database).get(source.session if source.role == 'main' else source.chain, '')


def listed(root):
    """-> set of ids of the threads that session_index.jsonl names."""
    return set(names_listed(root))


def own_counters(tokens, reasoning):
    """-> the counters of token_count rows: cached input is part of the input there, reasoning of the output."""
    sent = tokens['input'] + tokens['cache_read'] + tokens['cache_write_5m']
    return {'input_tokens': sent, 'cached_input_tokens': tokens['cache_read'], 'output_tokens': tokens['output'],
            'reasoning_output_tokens': reasoning, 'total_tokens': sent + tokens['output']}


def files_of(name, given):
    """-> list of (edit or write, path) of the files that a tool call with this input changes."""
    from .codex_text import patched
    return patched(given)


def resume(session_id, project):
    """-> argument list of the command that reopens a thread (run in its project directory)."""
    return ['codex', 'resume', session_id]


def branches(path):
    """-> (number of branch ends, ids of turns that the person went back behind)."""
    from .codex_head import branches_of
    return branches_of(path)


def inherited(path, session):
    """-> number of records that a fork copied from its parent."""
    from .codex_head import copied_records
    return copied_records(path)
