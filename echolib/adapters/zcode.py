"""ZCode: where its sessions lie and how they are read.

The client keeps sessions in a database; beside it lie traces of subagents, logs of model requests, and what older builds
of the desktop wrote. The same work is often visible in several of them: each session is read once, each thing it holds
from the best place there is (calls: ledger, request log, trace, message; text: database, trace, request log).

A session of the database has a path of its own below the database's: .../cli/db/db.sqlite/<session id>.
"""
import os
from collections import namedtuple

from . import Session, Source, Store, registry
from .plain import listing as _listing, sessions_of

NAME = 'zcode'
GROWS = False
CLEANED = False
STORES = (
    Store('zcode.db.v1', 'cli/db/db.sqlite', True, 'sessions, messages and the ledger of calls; tables taken over from OpenCode'),
    Store('zcode.agents_jsonl.v1', 'cli/agents/<session>/<agent>/transcript.jsonl', True, 'traces of subagents, where the database lacks their text'),
    Store('zcode.rollout_jsonl.v1', 'cli/rollout/model-io-<session>.jsonl', True, 'a row a model request; sessions and calls that the database lacks'),
    Store('zcode.desktop_json.v2', 'v2/sessions/<workspace>/<task>.json', True, 'snapshots of the old desktop, unless restored into the database'),
    Store('zcode.claude_jsonl.v2', 'v2/agent-config/**/projects/<key>/<session>.jsonl, v2/acp-config/**/projects/<key>/<session>.jsonl', True,
          'transcripts of a Claude-style agent that the desktop drove'),
    Store('zcode.agents_metadata.v1', 'cli/agents/<session>/<agent>/metadata.json', False, 'task and state of a subagent (may say running after a crash)'),
    Store('zcode.agents_output', 'cli/agents/<session>/<agent>/output.txt', False, 'the last answer of a subagent, once more'),
    Store('zcode.deleted', 'v2/sessions/<workspace>/<task>.deleted.json', False, 'deleted by the user'),
    Store('zcode.log', 'cli/log/*.jsonl', False, 'log of the program'),
    Store('zcode.settings', 'v2/config.json, v2/credentials.json', False, 'settings and secrets: never opened'),
)
# What the library offers of this agent beside what it offers of every one: {function: module}.
PUBLIC = {'zcode_aggregate_model_usage': 'zcode_usage'}
DB = os.path.join('cli', 'db', 'db.sqlite')
_DB_NAME = 'db.sqlite'
# A session in the database. parent: its parent's id or ''; time: ms of its last known activity; mark: number that
# changes with it; messages, calls: rows of the tables message and model_usage; rows: of all tables.
Entry = namedtuple('Entry', 'id parent time mark messages calls rows')
_TRACE = 'transcript.jsonl'
_ROLLOUT = 'model-io-'
_CHILD = 'sess_subagent_'


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: $ZCODE_HOME, else ~/.zcode."""
    named = (environ.get('ZCODE_HOME') or '').strip()
    if named:
        return [os.path.abspath(os.path.expanduser(named))]
    from ..base import paths
    home = paths.home()
    return [os.path.join(home, '.zcode')] if home else []


def owns(path):
    """True for a path that looks like one of ZCode's files: by its place, else by its name and content."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    if '.zcode' in parts[:-1]:
        below = parts[len(parts) - parts[::-1].index('.zcode'):]
        name = below[-1]
        if below[:3] == ['cli', 'db', _DB_NAME] and len(below) in (3, 4):
            return True
        if below[0] == 'cli':
            return name == _TRACE and 'agents' in below or name.startswith(_ROLLOUT) and name.endswith('.jsonl')
        if below[0] == 'v2':
            return 'sessions' in below and name.endswith('.json') or 'projects' in below and name.endswith('.jsonl')
        return False
    if parts[-1].startswith(_ROLLOUT + 'sess_') and parts[-1].endswith('.jsonl'):
        return True
    if parts[-1] == _DB_NAME or len(parts) > 1 and parts[-2] == _DB_NAME:
        return _is_ledger(path if parts[-1] == _DB_NAME else os.path.dirname(path))
    return False


def _is_ledger(path):
    """True for a database with ZCode's tables (without the ledger it is another program's of the same family)."""
    if not os.path.isfile(path):
        return False
    from ..base import sqlite_ro
    try:
        with sqlite_ro.held(path) as db:
            return bool(sqlite_ro.columns(db, 'model_usage') and sqlite_ro.columns(db, 'session'))
    except OSError:
        return False


def _file(path):
    """-> (path, size, mtime_ns) of a file, None when there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return (path, stat.st_size, stat.st_mtime_ns)


def entries(path):
    """-> {id: Entry} of the sessions a database holds anything of, asked when it changed. Raises sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .zcode_db import asked
        return asked(path)
    return dict((row[0], Entry(*row)) for row in memo.kept(NAME, registry.version(NAME), paths.database_files(path), ask))


class Tree(object):
    """Everything under a root that a session can be read from."""

    def __init__(self, root, problems):
        self.root = root
        self.db = os.path.join(root, DB)
        self.entries = {}       # session id -> zcode_db.Entry
        self.traces = {}        # session id -> (parent's id, file)
        self.rollouts = {}      # session id -> file
        if os.path.isfile(self.db):
            try:
                self.entries = entries(self.db)
            except OSError as error:
                problems.append((self.db, str(error)))
        for session in _listing(os.path.join(root, 'cli', 'agents'), problems):
            for agent in _listing(session.path, problems):
                found = _file(os.path.join(agent.path, _TRACE))
                if found is not None:
                    self.traces[agent.name if agent.name.startswith('sess_') else _CHILD + agent.name] = (session.name, found)
        for entry in _listing(os.path.join(root, 'cli', 'rollout'), problems):
            if entry.name.startswith(_ROLLOUT) and entry.name.endswith('.jsonl'):
                found = _file(entry.path)
                if found is not None:
                    self.rollouts[entry.name[len(_ROLLOUT):-6]] = found

    def parent(self, sid):
        """-> id of the session that started this one, ''."""
        if sid in self.entries and self.entries[sid].parent:
            return self.entries[sid].parent
        return self.traces[sid][0] if sid in self.traces else ''

    def files(self, sid):
        """-> (path to read a session at, (size, mtime_ns) that change whenever what is read of it does), None for an empty one."""
        entry = self.entries.get(sid)
        others = [self.traces[sid][1]] if sid in self.traces else []
        others += [self.rollouts[sid]] if sid in self.rollouts else []
        if entry is None:
            return others[0][0], sum(one[1] for one in others), max(one[2] for one in others)
        if not entry.rows and not others:
            return None
        size, stamp = 400 * entry.rows, entry.time * 1000000 + entry.mark % 1000000
        if not (entry.messages and entry.calls):
            for _, more, newer in others:
                size += more
                stamp = max(stamp, newer) // 1000000 * 1000000 + (stamp + newer + more) % 1000000
        from .inside import quoted
        return os.path.join(self.db, quoted(sid)), size, stamp

    def rows(self):
        """Yield (path, size, mtime_ns, role, chain, session, folder) of every session, see scan."""
        from .inside import top_of
        for sid in sorted(set(self.entries) | set(self.traces) | set(self.rollouts)):
            found = self.files(sid)
            if found is None:
                continue
            top = top_of(sid, self.parent)
            agent = top != sid or sid.startswith(_CHILD)
            chain = sid[len(_CHILD):] if sid.startswith(_CHILD) else sid
            yield found + ('agent' if agent else 'main', chain if agent else '', top, '')


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session and subagent under a root.

    By folder listings and stat, and a few counts asked of the database, where there is one. problems: list that gets
    (path, reason) for each folder that cannot be listed and for a database that cannot be read; a missing root is one.
    """
    if not os.path.isdir(root):
        try:
            os.listdir(root)
        except OSError as error:
            problems.append((root, error.strerror or str(error)))
        return
    tree = Tree(root, problems)
    if tree.entries or tree.traces or tree.rollouts:
        for row in tree.rows():
            yield row
    v2 = os.path.join(root, 'v2')
    held = set(sid for sid, entry in tree.entries.items() if entry.rows)
    for path in _driven(v2, problems):
        from . import claude
        for row in claude.scan(path, problems):
            held.add(row[5])
            yield row
    for row in _snapshots(v2, held, problems):
        yield row


def _snapshots(v2, held, problems):
    """Yield the rows of the snapshots whose conversation is not among the sessions held elsewhere, under its own id or the
    one it was restored under. They never change: which id that is, is read once."""
    files = []
    for workspace in _listing(os.path.join(v2, 'sessions'), problems):
        for entry in _listing(workspace.path, problems) if _is_folder(workspace) else ():
            if entry.name.endswith('.json') and not entry.name.endswith('.deleted.json'):
                found = _file(entry.path)
                if found is not None:
                    files.append(found)
    if not files:
        return
    from ..base import memo

    def ask():
        from .zcode_trace import restored_as
        return [(path, restored_as(path)) for path, _, _ in files]
    named = dict(memo.kept(NAME + '-v2', registry.version(NAME), [path for path, _, _ in files], ask))
    for path, size, mtime in files:
        sid = os.path.basename(path)[:-5]
        if sid not in held and named[path] not in held:
            yield path, size, mtime, 'main', '', sid, ''


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        # Removed meanwhile, or a link to itself.
        return False


def _driven(v2, problems):
    """Yield the folders below which a driven agent keeps `projects`."""
    waiting = [(os.path.join(v2, name), 0) for name in ('acp-config', 'agent-config')]
    while waiting:
        path, depth = waiting.pop()
        for entry in _listing(path, problems):
            if entry.name == 'projects' and _is_folder(entry):
                yield path
            elif depth < 4 and not entry.is_symlink() and _is_folder(entry):
                waiting.append((entry.path, depth + 1))


def discover(root, problems):
    """Yield the Sessions under a root (see scan); the size of a session of the database is its share of that."""
    db = os.path.join(root, DB, '')
    rows = list(scan(root, problems))
    inside = sum(row[1] for row in rows if row[0].startswith(db))
    whole = (_file(db[:-1]) or (0, 0))[1]
    trees = {}
    for path, size, mtime, role, chain, session, folder in rows:
        if path.startswith(db) and inside:
            size = size * whole // inside
        if session is None:
            yield Session(NAME, root, None, folder, (Source(path, role, chain, session, size, mtime),))
        else:
            trees.setdefault((folder, session), []).append(Source(path, role, chain, session, size, mtime))
    yield from sessions_of(NAME, root, trees)


def place_of(path):
    """-> (kind, root, session id) of a file: db, trace, rollout, snapshot or driven; root '' where it lies elsewhere."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == _DB_NAME:
        from .inside import unquoted
        return 'db', _above(folder, 3), unquoted(name)
    if name == _TRACE:
        agent = os.path.basename(folder)
        return 'trace', _above(folder, 4), agent if agent.startswith('sess_') else _CHILD + agent
    if name.startswith(_ROLLOUT):
        return 'rollout', _above(path, 3), name[len(_ROLLOUT):-6]
    if name.endswith('.json'):
        return 'snapshot', _above(path, 4), name[:-5]
    return 'driven', '', ''


def _above(path, levels):
    for _ in range(levels):
        path = os.path.dirname(path)
    return path


def session_at(path):
    """-> Session with the whole tree of the session whose file (or place in the database) `path` is.

    Raises EchoError for the database itself, which holds many.
    """
    kind, root, sid = place_of(path)
    if kind == 'driven':
        if os.path.basename(path) == _DB_NAME:
            from ..base.errors import EchoError
            raise EchoError('%s holds many sessions; name one: %s' % (path, os.path.join(path, 'SESSION')))
        from . import claude
        return claude.session_at(path)._replace(agent=NAME)
    for session in discover(root, []) if root else ():
        for source in session.sources:
            if source.path == path:
                return session if source.role == 'main' else session._replace(sources=(source,))
    if kind != 'db':
        os.stat(path)
    role = 'agent' if sid.startswith(_CHILD) else 'main'
    return Session(NAME, root, sid, '', (Source(path, role, sid[len(_CHILD):] if role == 'agent' else '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id} of a file; of a loose one (driven agents), the session its records name."""
    kind, _, sid = place_of(path)
    if kind == 'driven':
        from . import claude
        return claude.head(path, also)
    return {'session': sid}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session or subagent: a list for each record.

    source: a Source; coverage: filled while reading. A session is always read whole: offset and line are 0. Raises
    OSError where a file cannot be opened or the database cannot be read.
    """
    kind = place_of(source.path)[0]
    if kind == 'driven':
        from . import claude as reader
        return reader.read(source, coverage, offset, line, state)
    from .zcode_read import read as read_session
    return read_session(source, coverage, state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record that an event's offset names, as read() gives them (turn numbers apart)."""
    if place_of(source.path)[0] == 'driven':
        from . import claude
        return claude.events_at(source, offset, length, state)
    from .zcode_read import events_at as found
    return found(source, offset)


def spill_path(source, named):
    """-> the file that holds a driven agent's whole output; the client itself spills nothing: ''."""
    if place_of(source.path)[0] == 'driven':
        from . import claude
        return claude.spill_path(source, named)
    return ''


def spill_text(path, limit=0):
    """-> the text of a spilled tool result."""
    from . import claude
    return claude.spill_text(path, limit)


def side_files(path):
    """Sessions are not archived (the client does not clean up): none."""
    return []


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['zcode', '--resume', session_id]


def billed(session):
    """-> rows of the client's own ledger for a session and its subagents (see zcode_usage.billed_rows), None without one."""
    wanted, path = set(), ''
    for source in session.sources:
        kind, root, sid = place_of(source.path)
        if kind != 'driven' and root and os.path.isfile(os.path.join(root, DB)):
            path = os.path.join(root, DB)
            wanted.add(sid)
    if not path:
        return None
    from .zcode_usage import billed_rows
    return billed_rows(path, wanted)


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .values import files_of as found
    return found(name, given)


def branches(path):
    """A rewound conversation keeps its messages and does not say which were left: (1, nothing)."""
    return 1, set()


def inherited(path, session):
    """Forks get ids of their own: 0 rows are another session's."""
    return 0
