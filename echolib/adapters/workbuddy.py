"""WorkBuddy and CodeBuddy (Tencent): where their sessions lie and how their files are read.

Both write the same records into <root>/projects/<slug>/; CodeBuddy's files may lie deeper. WorkBuddy keeps a list of its
sessions in a database beside them: it knows titles, and which sessions the user has deleted (those are left out).
"""
import os

from ..base.files import open_regular
from . import Session, Source, Store
# No ledger: the database tells how full contexts are.
from .plain import billed, branches, by_session, sessions_of, side_files, spill_path, spill_text  # noqa: F401

NAME = 'workbuddy'
GROWS = True
CLEANED = False
STORES = (
    Store('workbuddy.projects_jsonl.v1', 'projects/<slug>/<session>.jsonl, projects/<slug>/**/<session>.jsonl', True, 'main transcripts'),
    Store('workbuddy.subagents_jsonl.v1', 'projects/<slug>/<session>/subagents/<name>.jsonl', True, 'subagents'),
    Store('workbuddy.db.v1', 'workbuddy.db', True, 'titles, and which sessions were deleted; what it says of usage is how full a context is'),
    Store('workbuddy.live', 'sessions/<pid>.json, logs/*', False, 'running programs and logs'),
    Store('workbuddy.traces', 'traces/<pid>/trace_*.jsonl', False, 'diagnostics of CodeBuddy; the transcripts say the same'),
    Store('workbuddy.extension_history', '../.local/share/CodeBuddyExtension/Data/history/<folder>/<session>/index.json', False,
          "the editor extension's own layout: its fields are not known well enough"),
)
_SUFFIX = '.jsonl'
_HOMES = ('.workbuddy', '.codebuddy', '.codebuddy-cn')


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: $WORKBUDDY_DIR and $CODEBUDDY_CONFIG_DIR in place of
    ~/.workbuddy and ~/.codebuddy; ~/.codebuddy-cn."""
    from ..base import paths
    home = paths.home()
    found = []
    for name, default in (('WORKBUDDY_DIR', _HOMES[0]), ('CODEBUDDY_CONFIG_DIR', _HOMES[1]), ('', _HOMES[2])):
        named = (environ.get(name) or '').strip() if name else ''
        path = os.path.abspath(os.path.expanduser(named)) if named else os.path.join(home, default) if home else ''
        if path and os.path.basename(path) == 'projects':
            path = os.path.dirname(path)
        if path and path not in found:
            found.append(path)
    return found


def owns(path):
    """True for a path that looks like a transcript: by its place, else by its first records."""
    parts = path.replace('\\', '/').split('/')
    if not parts[-1].endswith(_SUFFIX):
        return False
    if any(name in parts[:-1] and 'projects' in parts[parts.index(name):-1] for name in _HOMES):
        return True
    if not os.path.isfile(path):    # opening a pipe would wait for its writer
        return False
    from ..records import parse_line
    try:
        with open_regular(path) as handle:
            for _ in range(20):
                line = handle.readline(1 << 20)
                if not line:
                    break
                for record in parse_line(line)[0]:
                    kind = record.get('type')
                    if kind in ('function_call', 'function_call_result'):
                        return 'callId' in record
                    if kind == 'message' and 'role' in record and 'content' in record and type(record.get('timestamp')) is int:
                        return True
                    if kind in ('user', 'assistant'):
                        return False
    except OSError:
        return False
    return False


def _listing(path, problems):
    """-> entries of a folder, by name; [] and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda entry: entry.name)
    except NotADirectoryError:
        return []
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every transcript under a root.

    By folder listings and stat, and one question to WorkBuddy's list of sessions, where there is one. problems: list
    that gets (path, reason) for each folder that cannot be listed (a missing projects folder is one) and for a database
    that cannot be read.
    """
    gone = deleted(root, problems)
    for project in _listing(os.path.join(root, 'projects'), problems):
        if _is_folder(project):
            for row in _below(project.path, project.name, '', problems, 0):
                if row[5] not in gone:
                    yield row


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        # Removed meanwhile, or a link to itself.
        return False


def _below(path, folder, session, problems, depth):
    """Yield the rows of a folder; session: the one whose subagents these are, ''."""
    for entry in _listing(path, problems):
        name = entry.name
        try:
            if name.endswith(_SUFFIX) and name != _SUFFIX:
                if entry.is_file():
                    stat = entry.stat()
                    stem = name[:-len(_SUFFIX)]
                    if session:
                        yield entry.path, stat.st_size, stat.st_mtime_ns, 'agent', stem, session, folder
                    else:
                        yield entry.path, stat.st_size, stat.st_mtime_ns, 'main', '', stem, folder
            elif depth < 6 and '.' not in name and entry.is_dir(follow_symlinks=False):
                above = os.path.basename(path) if name == 'subagents' and not session and depth else session
                for row in _below(entry.path, folder, above, problems, depth + 1):
                    yield row
        except OSError:
            # Removed since the folder was listed.
            continue


def deleted(root, problems):
    """-> set of ids of the sessions that the user has deleted."""
    return set(sid for sid, row in _list(root, problems).items() if row[1] not in (None, '', 0))


def title_of(root, session):
    """-> the title that WorkBuddy's list gives a session, ''."""
    row = _list(root, []).get(session)
    return row[0] if row and type(row[0]) is str else ''


def _list(root, problems):
    """-> {session id: (title, when it was deleted)} of WorkBuddy's list of sessions."""
    path = os.path.join(root, 'workbuddy.db')
    if not os.path.isfile(path):
        return {}
    from ..base import sqlite_ro
    try:
        with sqlite_ro.held(path) as db:
            have = sqlite_ro.columns(db, 'sessions')
            if 'id' not in have:
                return {}
            title = next((name for name in ('title', 'name', 'topic') if name in have), None)
            return dict((row[0], row[1:]) for row in db.execute('select id, %s, %s from sessions' % (
                sqlite_ro.quoted(title) if title else 'null', 'deleted_at' if 'deleted_at' in have else 'null')))
    except OSError as error:
        problems.append((path, str(error)))
        return {}


def discover(root, problems):
    """Yield the Sessions under a root, by listing folders and stat (see scan)."""
    yield from sessions_of(NAME, root, by_session(scan(root, problems)))


def root_of(path):
    """-> (root, project folder) of a transcript's path, ('', '') where it lies elsewhere."""
    parts = path.split(os.sep)
    for place in range(len(parts) - 3, 0, -1):
        if parts[place] == 'projects':
            return os.sep.join(parts[:place]), parts[place + 1]
    return '', ''


def session_at(path):
    """-> Session with the whole tree of the transcript at `path` (a main file, or one subagent's)."""
    folder, name = os.path.split(path)
    stem = name[:-len(_SUFFIX)] if name.endswith(_SUFFIX) else name
    root, project = root_of(path)
    if os.path.basename(folder) == 'subagents':
        sid = os.path.basename(os.path.dirname(folder))
        return Session(NAME, root, sid, project, (Source(path, 'agent', stem, sid, 0, 0),))
    files = [Source(path, 'main', '', stem, 0, 0)]
    inside = os.path.join(folder, stem, 'subagents')
    if os.path.isdir(inside):
        files += [Source(row[0], 'agent', row[4], stem, row[1], row[2]) for row in _below(inside, project, stem, [], 1)]
    return Session(NAME, root, stem, project, tuple(files))


def head(path, also=()):
    """-> {'session': id} of a transcript. (No file of this agent is loose.)"""
    return {'session': session_at(path).id}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one transcript, in file order: a list for each record.

    source: a Source.  coverage: filled while reading.  offset, line, state: where and how an earlier reading ended
    (state is changed in place).  Raises OSError when the file cannot be opened.
    """
    from ..records import read_records
    from .workbuddy_parse import DECIDING_BYTES, asks, is_noise_line
    state = {} if state is None else state
    if not offset:
        state['asks'] = asks(source.path)
    parser = _parser(source, coverage, state)
    make = parser.events
    for record in read_records(source.path, coverage, offset, line, is_noise_line):
        yield make(record)
    if not state.get('asks') and coverage.offset < DECIDING_BYTES:
        # What a prompt looks like here is not settled yet. Said to end in the middle of a line, a file that grew is read anew.
        coverage.open_end = True


def _parser(source, coverage, state):
    from .workbuddy_parse import Parser, asks
    root = root_of(source.path)[0] if source.role == 'main' else ''
    return Parser(coverage, source.chain if source.role != 'main' else '', source.session or '', state,
                  lambda: title_of(root, source.session) if root else '', lambda: asks(source.path))


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turn numbers apart)."""
    from ..records import Coverage, Record, read_at
    parser = _parser(source, Coverage(source.path), dict(state or ()))
    out = []
    for data in read_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['codebuddy', '--resume', session_id]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .values import files_of as found
    return found(name, given)


def inherited(path, session):
    """-> number of rows in a main file that say they are another session's."""
    from ..records import read_records
    return sum(1 for record in read_records(path)
               if type(record.data.get('sessionId')) is str and record.data['sessionId'] not in ('', session))
