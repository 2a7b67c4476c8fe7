"""Grok Build: where its sessions lie and how they are read.

A session is a folder <home>/sessions/<group>/<session>/. Its updates.jsonl, which only grows, is what is read; other files
of the folder say what that one leaves out. Subagents are sessions of their own, tied to their parent by the parent's
subagents/<id>/ folders (facts from the client's published source and from sessions of build 1.0.41).
"""
import os

from ..base.files import open_regular
from . import Session, Source, Store
from .plain import file_below, file_text, sessions_of, told_files

NAME = 'grok'
GROWS = True
CLEANED = False
STORES = (
    Store('grok.updates_jsonl.v1', 'sessions/<group>/<session>/updates.jsonl', True, 'the stream of a session: what is read'),
    Store('grok.summary_json.v1', 'sessions/<group>/<session>/summary.json', True, 'title, directory, branch, parent of a fork'),
    Store('grok.chat_history_jsonl.v1', 'sessions/<group>/<session>/chat_history.jsonl', True,
          'messages as sent to the model; read where there is no stream (it shrinks at each compaction)'),
    Store('grok.usage_json.v1', 'sessions/<group>/<session>/usage.json', True, "the client's own sums; counted where there is no stream"),
    Store('grok.subagents_meta.v1', 'sessions/<group>/<session>/subagents/<id>/meta.json', True, 'which sessions are subagents of this one'),
    Store('grok.compaction_checkpoints.v1', 'sessions/<group>/<session>/compaction_checkpoints/*.json', True, 'summaries that replaced a conversation'),
    Store('grok.terminal_log.v1', 'sessions/<group>/<session>/terminal/*.log', True, 'whole output of commands, where a result was cut'),
    Store('grok.rewind_points.v1', 'sessions/<group>/<session>/rewind_points.jsonl', True, 'files as they were before each prompt'),
    Store('grok.signals_json.v1', 'sessions/<group>/<session>/signals.json', True,
          'counters, shown beside our own (a snapshot that may lag); never summed'),
    Store('grok.group_cwd.v1', 'sessions/<group>/.cwd', True, 'directory of a group whose name is cut'),
    Store('grok.session_search.v4', 'sessions/session_search.sqlite', True, 'titles, and texts of sessions whose folder is gone'),
    Store('grok.prompt_history.v1', 'sessions/<group>/prompt_history.jsonl', True, 'prompts of sessions whose folder is gone'),
    Store('grok.events_jsonl', 'sessions/<group>/<session>/events.jsonl', False, 'telemetry; the stream says the same'),
    Store('grok.compaction_segments', 'sessions/<group>/<session>/compaction/*', False, 'a rendering of what the stream holds'),
    Store('grok.requests', 'sessions/<group>/<session>/compaction_requests/*, sessions/<group>/<session>/recap_requests/*', False,
          'what was sent to the model for a summary'),
    Store('grok.state', 'sessions/<group>/<session>/plan.json, sessions/<group>/<session>/goal/*, sessions/<group>/<session>/workflows/*',
          False, 'task lists and other state, not conversation'),
)
# What the library offers of this agent beside what it offers of every one: {function: module}.
PUBLIC = {'grok_family_usage_report': 'grok_usage', 'grok_aggregate_model_usage': 'grok_usage', 'grok_list_subagents': 'grok_usage'}
STREAM = 'updates.jsonl'
CHAT = 'chat_history.jsonl'
# Tools that touch a file: (what they do, field of their input that names it).
FILE_TOOLS = {
    'search_replace': ('edit', 'file_path'), 'write': ('write', 'file_path'), 'edit': ('edit', 'file_path'),
    'read_file': ('read', 'target_file'), 'delete_file': ('edit', 'target_file')}
# Sessions up to this size are read anew whenever they grew: then a title that changed leaves nothing behind.
_SMALL = 256 << 10


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: $GROK_HOME, else ~/.grok."""
    named = (environ.get('GROK_HOME') or '').strip()
    if named:
        path = os.path.abspath(os.path.expanduser(named))
        return [os.path.dirname(path) if os.path.basename(path) == 'sessions' else path]
    from ..base import paths
    home = paths.home()
    return [os.path.join(home, '.grok')] if home else []


def owns(path):
    """True for a file of a session folder (or such a folder): by its place, else by its first records."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    name = parts[-1]
    if name in (STREAM, CHAT):
        if len(parts) > 3 and parts[-4] == 'sessions':
            return True
        if os.path.isfile(os.path.join(os.path.dirname(path), 'summary.json')):
            return True
    elif name == 'summary.json':
        return len(parts) > 3 and parts[-4] == 'sessions' and bool(transcript(os.path.dirname(path)))
    elif not name.endswith('.jsonl'):
        return os.path.isfile(os.path.join(path, 'summary.json')) and bool(transcript(path))
    if not os.path.isfile(path):
        return False
    from ..records import parse_line
    try:
        with open_regular(path) as handle:
            for _ in range(5):
                for record in parse_line(handle.readline(1 << 20))[0]:
                    params = record.get('params')
                    update = params.get('update') if type(params) is dict else None
                    if type(update) is dict and 'sessionUpdate' in update:
                        return True
    except OSError:
        return False
    return False


def transcript(folder):
    """-> (path, size, mtime_ns) of the file of a session folder that is read, None when there is none.

    The stream, or the chat history where the stream is missing or empty.
    """
    first = None
    for name in (STREAM, CHAT):
        path = folder + os.sep + name
        try:
            stat = os.stat(path)
        except (OSError, ValueError):
            # Not there: the other one may be.
            continue
        if stat.st_size:
            return path, stat.st_size, stat.st_mtime_ns
        first = first or (path, 0, stat.st_mtime_ns)
    return first


def _folders(path, problems):
    """-> entries of the folders in a folder, hidden ones left out; [] and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return [entry for entry in entries if entry.name[:1] != '.' and _is_folder(entry)]
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        # Removed since the folder was listed, or a link to itself.
        return False


def _children(folder, problems=None):
    """-> ids of the subagents a session folder names."""
    path = folder + os.sep + 'subagents'
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.name[:1] != '.')
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if problems is not None:
            problems.append((path, error.strerror or str(error)))
        return []


class _Tree(object):
    """The session folders of a root, and which of them are subagents of which."""

    def __init__(self, root, problems):
        self.folders = {}       # session id -> list of (group, path), usually one
        self.family = {}        # session folder -> ids of its subagents
        self.parent = {}        # session id of a subagent -> (parent's id, parent's group)
        self.listed = {}
        self.histories = []     # (path, group) of prompt histories
        top = os.path.join(root, 'sessions')
        seen = set()
        for group in _folders(top, problems):
            if group.is_symlink():
                # Its target is visited in its own place.
                real = os.path.realpath(group.path)
                if real in seen or os.path.dirname(real) == os.path.realpath(top):
                    continue
                seen.add(real)
            self.histories.append((group.path + os.sep + 'prompt_history.jsonl', group.name))
            for session in _folders(group.path, problems):
                self.folders.setdefault(session.name, []).append((group.name, session.path))
                children = _children(session.path, problems)
                if children:
                    self.family[session.path] = (session.name, group.name, children)
        for path in sorted(self.family):
            session, group, children = self.family[path]
            found = []
            for child in children:
                if child not in self.folders:
                    child = _named_child(path, child) or child
                found.append(child)
                if child in self.folders and child != session:
                    self._tie(child, session, group, path)
            self.family[path] = (session, group, found)

    def _tie(self, child, session, group, path):
        # Two may name the same child (a fork copies folders): the older one has it.
        have = self.parent.get(child)
        if have is None or _made(path, child) < _made(have[2], child):
            self.parent[child] = (session, group, path)

    def root_of(self, session, group):
        """-> (session id, group) of the ancestor that is no subagent; a session's own when it has no parent."""
        for _ in range(64):
            above = self.parent.get(session)
            if above is None:
                break
            session, group = above[0], above[1]
        return session, group

    def mark(self, path, mtime):
        """-> mtime_ns that changes whenever a file that the reading of this session depends on does.

        The newest of them; below a millisecond it also tells their sizes, so that one that went shows as well.
        """
        size = 0
        try:
            side = os.stat(path + os.sep + 'summary.json')
            size = side.st_size
            mtime = max(mtime, side.st_mtime_ns)
        except OSError:
            # A session that is just being made, or its card was lost.
            pass
        if path in self.family:
            for child in self.family[path][2]:
                for _, where in self.folders.get(child, ()):
                    found = self.once(where)
                    if found is not None:
                        mtime, size = max(mtime, found[2]), size + found[1]
        return mtime // 1000000 * 1000000 + (mtime + size) % 1000000

    def once(self, path):
        """-> what transcript() says, asked once."""
        found = self.listed.get(path)
        if found is None:
            found = self.listed[path] = transcript(path)
        return found


def _made(folder, child):
    """The order of those that name one child: the age of its card."""
    try:
        return 0, os.stat(os.path.join(folder, 'subagents', child, 'meta.json')).st_mtime_ns, folder
    except OSError:
        return 1, 0, folder


def _named_child(folder, name):
    """-> the session id in a subagent's card, for the rare one that is not called as its folder is."""
    from .grok_side import load
    found = load(os.path.join(folder, 'subagents', name, 'meta.json')).get('child_session_id')
    return found if type(found) is str else ''


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root.

    By folder listings and stat alone. problems: list that gets (path, reason) for each folder that cannot be listed; a
    missing sessions folder is one. size is that of the file that is read; mtime_ns tells of every file that is (see
    _Tree.mark). A subagent's row (role agent) names the session at the top of its family and that one's group.
    """
    tree = _Tree(root, problems)
    for session, places in tree.folders.items():
        for group, path in places:
            found = tree.once(path)
            if found is None:
                continue
            mtime = tree.mark(path, found[2])
            top, folder = tree.root_of(session, group) if session in tree.parent else (session, group)
            if top == session:
                yield found[0], found[1], mtime, 'main', '', session, group
            else:
                yield found[0], found[1], mtime, 'agent', session, top, folder
    for row in _histories(root, tree):
        yield row


def _histories(root, tree):
    """Yield the rows of what the client keeps of sessions that may be gone (role history).

    What its search index says of those changes with the sessions that are there, which the row's time tells as well.
    """
    for path, group in tree.histories:
        try:
            stat = os.stat(path)
        except OSError:
            # Not every group has one.
            continue
        yield path, stat.st_size, stat.st_mtime_ns, 'history', 'history', 'history', group
    path = os.path.join(root, 'sessions', 'session_search.sqlite')
    try:
        stat = os.stat(path)
    except OSError:
        # Older clients have none.
        return
    from zlib import crc32
    there = crc32('\n'.join(sorted(tree.folders)).encode('utf-8', 'replace'))
    yield path, stat.st_size, stat.st_mtime_ns // 1000000 * 1000000 + there % 1000000, 'history', 'history', 'history', ''


def discover(root, problems):
    """Yield the Sessions under a root, by listing folders and stat alone (see scan)."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        if role == 'history':
            continue
        trees.setdefault((folder, session), []).append(Source(path, role, chain, session, size, mtime))
    yield from sessions_of(NAME, root, trees)


def side_files(path):
    """Sessions are not archived (the client does not clean up): none."""
    return []


def session_at(path):
    """-> Session with the whole tree of the session whose folder, or a file in it, is `path`."""
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path))
    group, sid = os.path.split(folder)
    root = os.path.dirname(os.path.dirname(group))
    top = sid
    for _ in range(64):
        above = [other.name for other in _folders(group, []) if other.name != top and os.path.isdir(os.path.join(other.path, 'subagents', top))]
        if not above or above[0] == sid:
            break
        top = above[0]
    if top != sid:
        return Session(NAME, root, top, os.path.basename(group), (_source(folder, path, 'agent', sid, top),))
    from .grok_side import find
    files, seen, waiting = [], set((sid,)), [folder]
    while waiting:
        here = waiting.pop(0)
        for child in _children(here):
            where = find(os.path.dirname(here), child) or find(os.path.dirname(here), _named_child(here, child))
            name = os.path.basename(where)
            if where and name not in seen:
                seen.add(name)
                waiting.append(where)
                files.append(_source(where, '', 'agent', name, sid))
    files = sorted((f for f in files if f.path), key=lambda f: f.path)
    return Session(NAME, root, sid, os.path.basename(group), (_source(folder, path, 'main', '', sid),) + tuple(files))


def _source(folder, path, role, chain, session):
    found = transcript(folder) or (path, 0, 0)
    return Source(found[0], role, chain, session, found[1], found[2])


def head(path, also=()):
    """-> {'session': id} of a session file: the folder it lies in. (No file of this agent is loose.)"""
    return {'session': os.path.basename(os.path.dirname(path))}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session file, in file order: a list for each record, before them one of what other files
    of the folder say.

    source: a Source.  coverage: filled while reading; after each list it says how far the file is read.  offset, line,
    state: where and how an earlier reading ended (state is changed in place).  Raises OSError when the file cannot be
    opened.
    """
    if source.role == 'history':
        from . import grok_history
        for events in grok_history.read(source, coverage, offset, line):
            yield events
        return
    from ..records import open_bytes, scan as records
    state = {} if state is None else state
    with open_bytes(source.path) as handle:
        parser = parser_of(source, coverage, state)
        if offset:
            handle.seek(offset - 1)
            coverage.open_end = handle.read(1) not in (b'\n', b'')
        said = parser.said()
        if said:
            yield said
        make = parser.events
        for record in records(handle, coverage, offset, line, parser.skip):
            yield make(record)
    if coverage.offset < _SMALL or parser.family:
        # Said to end in the middle of a line, a file that grew is read anew: what other files say of it may have changed.
        coverage.open_end = True


def parser_of(source, coverage, state):
    """-> the parser of the kind of file a Source is."""
    if os.path.basename(source.path) == CHAT:
        from .grok_chat import Parser
    else:
        from .grok_parse import Parser
    return Parser(source, coverage, state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turn numbers apart), and what other files say."""
    if source.role == 'history':
        from . import grok_history
        return grok_history.events_at(source, offset, length)
    from ..records import Coverage, Record, read_at
    parser = parser_of(source, Coverage(source.path), dict(state or ()))
    out = parser.said()
    for data in read_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def spill_path(source, named):
    """-> the log under the session's own terminal folder that a result names, '' when there is none there.

    Only the name is taken from the record (the path may be another machine's), and links that lead out are refused.
    """
    name = named.replace('\\', '/').rsplit('/', 1)[-1]
    if not name or name.startswith('.'):
        return ''
    folder = os.path.join(os.path.dirname(source.path), 'terminal')
    return file_below(folder, name)


def spill_text(path, limit=0):
    """-> the text of a command's log."""
    return file_text(path, limit)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['grok', '-r', session_id]


def billed(session):
    """-> rows of the client's own ledger (usage.json) of a session's main file, one a turn and model; None without one.

    A row is a dict: turn, time (ms), model, input, output, cache_read, cache_write, calls, reasoning (in output). The figures of a turn hold its
    subagents', and those of a fork the turns it copied.
    """
    from .grok_side import ledger
    for source in session.sources:
        if source.role == 'main':
            return ledger(os.path.dirname(source.path)) or None
    return None


def own_counters(tokens, reasoning):
    """-> the figures of turn_completed rows: what came from a cache or went into it is part of the input there, reasoning of the output."""
    sent = tokens['input'] + tokens['cache_read'] + tokens['cache_write_5m']
    return {'inputTokens': sent, 'cachedReadTokens': tokens['cache_read'], 'cacheCreationTokens': tokens['cache_write_5m'],
            'outputTokens': tokens['output'], 'reasoningTokens': reasoning, 'totalTokens': sent + tokens['output']}


def client_counts(session):
    """-> dict of the client's own counters of a session (see grok_sessions)."""
    from .grok_sessions import client_counts as found
    return found(session)


def durations(session, calls):
    """-> {id of a tool call: milliseconds} of these calls, as far as the client's telemetry tells."""
    from .grok_sessions import durations as found
    return found(session, calls)


def branches(path):
    """-> (number of branch ends, ids of rows that a rewind took off the conversation)."""
    from .grok_side import branches as found
    return found(path)


def inherited(path, session):
    """-> number of rows in a session's file that were written by another session (copied by a fork)."""
    from .grok_side import inherited as found
    return found(path, session)


def file_versions(path):
    """-> {path: number of prompts before which it was saved} of the files a session changed (see rewind_points.jsonl)."""
    from .grok_side import file_versions as found
    return found(os.path.dirname(path))


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    return told_files(FILE_TOOLS, name, given)
