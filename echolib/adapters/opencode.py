"""OpenCode: where its sessions lie and how they are read.

Every session of a machine lies in one database (build 1.2 and later), before that in a tree of small JSON files, which
the move left behind. A session of the database has a path of its own below the database's: .../opencode.db/<session id>.
A subagent is a session with a parent; a fork copies its parent's messages under new ids.
"""
import os
from collections import namedtuple

from . import Session, Source, Store, registry
from .plain import file_below, file_text, listing, side_files  # noqa: F401

NAME = 'opencode'
GROWS = False
CLEANED = False
# Which session of the JSON tree is a subagent's only its file tells.
PLACED_BY_HEAD = True
STORES = (
    Store('opencode.db.v1', 'opencode.db, opencode-<channel>.db', True, 'sessions, messages and their parts'),
    Store('opencode.storage_json.v1', 'storage/session/<project>/<session>.json', True,
          'builds before 1.2: messages in storage/message, parts in storage/part; only sessions that no database holds'),
    Store('opencode.tool_output.v1', 'tool-output/tool_<id>', True, 'whole outputs that a result was cut from'),
    Store('opencode.db_events', 'opencode.db: event, session_message', False,
          'the rows above once more as a log, and the tables of a next generation (empty in 1.18)'),
    Store('opencode.storage_json.v0', 'project/<name>/storage/session/*', False, 'mid-2025; the client moves them when it starts'),
    Store('opencode.storage_other', 'storage/session_diff/*, storage/todo/*, snapshot/*', False, 'diffs, to-do lists, states of files'),
    Store('opencode.log', 'log/*', False, 'log of the program'),
    Store('opencode.auth', 'auth.json', False, 'credentials, never opened (the database has tables of them too)'),
)
# Tools that touch a file: (what they do, field of their input that names it).
FILE_TOOLS = {'edit': ('edit', 'filePath'), 'multiedit': ('edit', 'filePath'), 'write': ('write', 'filePath'), 'read': ('read', 'filePath')}
# A session as found. path: where to read it; parent: its parent's id or ''; size, mtime_ns: change whenever it does; size
# is 0 for a session without a message.
Entry = namedtuple('Entry', 'path parent size mtime_ns')


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $OPENCODE_DATA_DIR, else $XDG_DATA_HOME/opencode
    (~/.local/share/opencode on every system); and the folder of $OPENCODE_DB where that lies elsewhere."""
    from ..base import paths
    found = []
    for one in (environ.get('OPENCODE_DATA_DIR') or '').split(','):
        if one.strip():
            found.append(os.path.abspath(os.path.expanduser(one.strip())))
    if not found:
        home = paths.home()
        base = environ.get('XDG_DATA_HOME') or (os.path.join(home, '.local', 'share') if home else '')
        if base:
            found.append(os.path.join(base, 'opencode'))
    named = environ.get('OPENCODE_DB') or ''
    if os.path.isabs(named) and is_database(os.path.basename(named)):
        found.append(os.path.dirname(named))
    return [path for n, path in enumerate(found) if path not in found[:n]]


def is_database(name):
    """True for the name of the client's database: one a release channel."""
    return name == 'opencode.db' or name.startswith('opencode-') and name.endswith('.db')


def owns(path):
    """True for a path that looks like one of OpenCode's: its database, a session in it, or a session of the JSON tree."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    if is_database(parts[-1]) or len(parts) > 1 and is_database(parts[-2]):
        return True
    return parts[-1].startswith('ses_') and parts[-1].endswith('.json') and parts[-4:-2] == ['storage', 'session']


def in_database(path):
    """-> {session id: Entry} of a database, asked when it changed. Raises sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .opencode_db import asked
        return asked(path)
    return dict((os.path.basename(row[0]), Entry(*row)) for row in memo.kept(NAME, registry.version(NAME), paths.database_files(path), ask))


def entries(root, problems):
    """-> {session id: Entry} of everything under a root; of a session that lies in several places the best one."""
    found = {}
    names = [entry.name for entry in listing(root, problems)]
    for name in sorted(names, key=lambda name: (name != 'opencode.db', name)):
        if is_database(name):
            path = os.path.join(root, name)
            try:
                inside = in_database(path)
            except OSError as error:
                problems.append((path, str(error)))
                continue
            for sid, entry in inside.items():
                if sid not in found or entry.mtime_ns > found[sid].mtime_ns:
                    found[sid] = entry
    if 'storage' in names:
        from .opencode_tree import entries as in_tree
        for sid, entry in in_tree(os.path.join(root, 'storage'), found, problems).items():
            found[sid] = entry
    return found


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session and subagent under a root.

    By a few counts asked of the databases; by listing and stat of the JSON tree. size stands for the number of rows,
    mtime_ns for the session's own last change. A subagent in the JSON tree is called main: head() knows better. problems: list that gets (path, reason) for each folder that cannot be
    listed and each database that cannot be read; a missing root is one. Sessions without a message are left out.
    """
    if not os.path.isdir(root):
        try:
            os.listdir(root)
        except OSError as error:
            problems.append((root, error.strerror or str(error)))
        return
    found = entries(root, problems)
    if not found:
        return
    from .inside import top_of
    for sid in sorted(found):
        entry = found[sid]
        if entry.size:
            top = top_of(sid, lambda one: found[one].parent if one in found else '')
            yield (entry.path, entry.size, entry.mtime_ns, 'main' if top == sid else 'agent', '' if top == sid else sid, top, '')


def discover(root, problems):
    """Yield the Sessions under a root (see scan); the size of a session of a database is its share of that."""
    rows = list(scan(root, problems))
    shares = {}
    for row in rows:
        where = os.path.dirname(row[0])
        if is_database(os.path.basename(where)):
            shares[where] = shares.get(where, 0) + row[1]
    trees = {}
    for path, size, mtime, role, chain, session, folder in rows:
        where = os.path.dirname(path)
        if where in shares:
            size = size * os.path.getsize(where) // shares[where]
        else:
            facts = head(path)
            role, chain, session = facts['role'], facts['chain'], facts['session']
        trees.setdefault(session, []).append(Source(path, role, chain, session, size, mtime))
    for session, files in trees.items():
        files.sort(key=lambda f: (f.role != 'main', f.path))
        yield Session(NAME, root, session, '', tuple(files))


def place_of(path):
    """-> (database or '', root, session id) of a session's path."""
    above, name = os.path.split(path)
    if is_database(os.path.basename(above)):
        return above, os.path.dirname(above), name
    root = above
    for _ in range(3):
        root = os.path.dirname(root)
    return '', root, name[:-5] if name.endswith('.json') else name


def session_at(path):
    """-> Session with the whole tree of the session whose path this is. Raises EchoError for a database itself."""
    if is_database(os.path.basename(path)):
        from ..base.errors import EchoError
        raise EchoError('%s holds many sessions; name one: %s' % (path, os.path.join(path, 'SESSION')))
    _, root, sid = place_of(path)
    for session in discover(root, []):
        for source in session.sources:
            if source.path == path:
                return session if source.role == 'main' else session._replace(sources=(source,))
    return Session(NAME, root, sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id at the top of its family, 'role': main or agent, 'chain': its own id where it is a subagent}."""
    database, _, sid = place_of(path)
    if database:
        from .opencode_db import top
        above = top(database, sid)
    else:
        from .opencode_tree import top
        above = top(path, sid)
    return {'session': above, 'role': 'main' if above == sid else 'agent', 'chain': '' if above == sid else sid}


def _reader(source, coverage, state):
    """-> context manager that gives the reader of a session: an object with session(), records() and at(offset)."""
    if place_of(source.path)[0]:
        from .opencode_db import reading
    else:
        from .opencode_tree import reading
    return reading(source, coverage, state)


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session or subagent: a list for the session's own row, then one for each message.

    source: a Source; coverage: filled while reading. A session is always read whole: offset and line are 0. Raises
    OSError where the database or the session's file cannot be read.
    """
    with _reader(source, coverage, state) as reader:
        said = reader.session()
        if said:
            yield said
        for events in reader.records():
            yield events


def events_at(source, offset, length, state=None):
    """-> list of events of the one record that an event's offset names, as read() gives them (turn numbers apart)."""
    from ..records import Coverage
    with _reader(source, Coverage(source.path), state) as reader:
        return reader.at(offset)


def spill_path(source, named):
    """-> the file in the root's tool-output folder that a result names, '' when there is none there.

    Only the name is taken from the record (the path may be another machine's), and links that lead out are refused.
    """
    name = named.replace('\\', '/').rsplit('/', 1)[-1]
    if not name or name.startswith('.'):
        return ''
    folder = os.path.join(place_of(source.path)[1], 'tool-output')
    return file_below(folder, name)


def spill_text(path, limit=0):
    """-> the text of a spilled tool result."""
    return file_text(path, limit)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['opencode', '--session', session_id]


def billed(session):
    """-> what the client worked out itself: rows {session, model, time, input, output, cache_read, cache_write, cost},
    one a call of the session and its subagents (cost in USD; forks hold their parent's rows as well)."""
    from ..records import Coverage
    rows = []
    for source in session.sources:
        with _reader(source, Coverage(source.path), None) as reader:
            rows += reader.bills()
    return rows


def branches(path):
    """-> (number of branch ends, ids of the messages that the person took back and that are still there)."""
    from ..records import Coverage
    with _reader(Source(path, 'main', '', '', 0, 0), Coverage(path), None) as reader:
        left = reader.reverted()
    return 2 if left else 1, left


def inherited(path, session):
    """-> number of messages that a fork copied from its parent."""
    from ..records import Coverage
    with _reader(Source(path, 'main', '', '', 0, 0), Coverage(path), None) as reader:
        return reader.copied()


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    if type(given) is not dict:
        return []
    found = FILE_TOOLS.get(name)
    if found is None:
        from .codex_text import patched
        return patched(given)
    path = given.get(found[1])
    return [(found[0], path)] if type(path) is str and path else []
