"""Gemini CLI: where its sessions lie and how its files are read.

<root>/tmp/<project>/chats/session-<time>-<start of id>.jsonl is a log of one session: each message again whenever it
grew, and the whole list once more after a resume. A subagent's lies in chats/<id of the one that started it>/<own id>.jsonl.
Older clients kept one JSON object a session, and named the project's folder after a hash of its directory.
"""
import os

from . import Session, Source, Store
from .plain import billed, file_below, file_text, inherited, listing as _listing, sessions_of, side_files, told_files  # noqa: F401

NAME = 'gemini'
GROWS = True
CLEANED = False
# The name of a session's file holds the start of its id, the first record all of it.
PLACED_BY_HEAD = True
STORES = (
    Store('gemini.chats_jsonl.v2', 'tmp/<project>/chats/session-*.jsonl', True, 'sessions: messages by id, patches of the whole, steps back'),
    Store('gemini.chats_json.v1', 'tmp/<project>/chats/session-*.json', True, 'the same as one object; not where a .jsonl of that name goes on with it'),
    Store('gemini.subagents_jsonl.v1', 'tmp/<project>/chats/<session>/<subagent>.jsonl', True, 'subagents'),
    Store('gemini.tool_outputs', 'tmp/<project>/tool-outputs/**', True, 'whole outputs that a result was cut from'),
    Store('gemini.logs_json.v1', 'tmp/<project>/logs.json', True, 'typed prompts; used for sessions whose transcript is gone'),
    Store('gemini.projects', 'projects.json, tmp/<project>/.project_root, trustedFolders.json', True, "the directories of projects"),
    Store('gemini.checkpoints', 'tmp/<project>/checkpoint-*.json, tmp/<project>/checkpoints/', False, 'saved states of conversations that are in chats too'),
    Store('gemini.leftovers', 'tmp/<project>/chats/*.unreadable-*, tmp/<project>/chats/*.tmp-*', False, 'left by a client that died'),
    Store('gemini.settings', 'settings.json, oauth_creds.json', False, 'settings and credentials, never opened'),
)
# Tools that touch a file: (what they do, field of their input that names it).
FILE_TOOLS = {'replace': ('edit', 'file_path'), 'edit': ('edit', 'file_path'), 'write_file': ('write', 'file_path'), 'read_file': ('read', 'file_path')}
HEAD = 'session-'
LOGS = 'logs.json'


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $GEMINI_DATA_DIR or $GEMINI_DIR (the folder itself), else
    $GEMINI_CLI_HOME/.gemini (~/.gemini)."""
    named = environ.get('GEMINI_DATA_DIR') or environ.get('GEMINI_DIR')
    if named:
        return [os.path.abspath(os.path.expanduser(one.strip())) for one in named.split(',') if one.strip()]
    from ..base import paths
    home = environ.get('GEMINI_CLI_HOME') or paths.home()
    return [os.path.join(os.path.abspath(os.path.expanduser(home)), '.gemini')] if home else []


def _stem(name):
    """-> a session file's name without its ending, '' for any other name."""
    for end in ('.jsonl', '.json'):
        if name.endswith(end):
            return name[:-len(end)]
    return ''


def owns(path):
    """True for a path that looks like one of Gemini CLI's: by its place, else by its first record."""
    parts = path.replace('\\', '/').split('/')
    name = parts[-1]
    if not _stem(name):
        return False
    if '.gemini' in parts[:-1] and 'tmp' in parts[:-1] and 'chats' in parts[:-1]:
        return name.startswith(HEAD) or name.endswith('.jsonl') and parts[-3] == 'chats'
    if not name.endswith('.jsonl') or not os.path.isfile(path):
        return False
    from ..records import read_records
    try:
        for record in read_records(path, limit=1):
            return type(record.data.get('sessionId')) is str and type(record.data.get('projectHash')) is str
    except OSError:
        return False
    return False


def _stat(path):
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        # Removed since the folder was listed.
        return None
    return stat.st_size, stat.st_mtime_ns


def is_hash(name):
    """True for a project folder named after the hash of its directory."""
    return len(name) == 64 and all(c in '0123456789abcdef' for c in name)


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session and subagent, and of every project's
    list of prompts (role history), under a root.

    By folder listings and stat alone; of a main file the session is only what its name says of the id (see head).
    problems: list that gets (path, reason) for each folder that cannot be listed; a missing tmp folder is one.
    """
    tmp = os.path.join(root, 'tmp')
    if not os.path.isdir(tmp):
        try:
            os.listdir(tmp)
        except OSError as error:
            problems.append((tmp, error.strerror or str(error)))
        return
    seen = set()
    # A folder named after a hash is taken over into one with a name; what lies in both is read there.
    for project in sorted(_listing(tmp, problems), key=lambda entry: (is_hash(entry.name), entry.name)):
        found = _stat(os.path.join(project.path, LOGS))
        if found is not None:
            yield os.path.join(project.path, LOGS), found[0], found[1], 'history', 'history', 'history', ''
        for row in _project(project, seen, problems):
            yield row


def _project(project, seen, problems):
    chats = os.path.join(project.path, 'chats')
    folders = []
    entries = _listing(chats, problems)
    names = set(entry.name for entry in entries)
    for entry in entries:
        stem = _stem(entry.name)
        if not stem and '.' not in entry.name:
            folders.append(entry)
        elif stem and stem.startswith(HEAD) and (stem not in seen) and not (entry.name.endswith('.json') and entry.name + 'l' in names):
            found = _stat(entry.path)
            if found is not None:
                seen.add(stem)
                yield entry.path, found[0], found[1], 'main', '', stem.rsplit('-', 1)[-1], project.name
    inside = dict((folder.name, [entry for entry in _listing(folder.path, problems) if entry.name.endswith('.jsonl')]) for folder in folders)
    parent = dict((entry.name[:-6], folder) for folder, entries in inside.items() for entry in entries)
    for folder in sorted(inside):
        for entry in inside[folder]:
            found = _stat(entry.path)
            if found is not None and (folder, entry.name) not in seen:
                seen.add((folder, entry.name))
                yield entry.path, found[0], found[1], 'agent', entry.name[:-6], _top(folder, parent), project.name


def _top(session, parent):
    """-> the id at the top of a family. parent: {id of a subagent: id of the one that started it}."""
    seen = set()
    while session in parent and session not in seen:
        seen.add(session)
        session = parent[session]
    return session


def discover(root, problems):
    """Yield the Sessions under a root, each with its subagents (the first record of each main file is read)."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        if role != 'history':
            sid = head(path)['session'] if role == 'main' else session
            trees.setdefault((folder, sid), []).append(Source(path, role, chain, sid, size, mtime))
    yield from sessions_of(NAME, root, trees)


def project_dir(path):
    """-> the project's folder (below tmp) that a session file or a subagent's lies in."""
    folder = os.path.dirname(path)
    if os.path.basename(path) == LOGS:
        return folder
    if not os.path.basename(path).startswith(HEAD):
        folder = os.path.dirname(folder)
    return os.path.dirname(folder)


def session_at(path):
    """-> Session with the whole tree of the session at `path` (a main file, or one subagent's)."""
    facts = head(path)
    project = project_dir(path)
    root = os.path.dirname(os.path.dirname(project))
    sid = facts['session']
    files = [Source(path, facts['role'], facts['chain'], sid, 0, 0)]
    if facts['role'] == 'main':
        for session in discover(root, []) if os.path.basename(os.path.dirname(project)) == 'tmp' else ():
            if session.id == sid:
                files += [source for source in session.sources if source.role != 'main']
    return Session(NAME, root, sid, os.path.basename(project), tuple(files))


def head(path, also=()):
    """-> {'session': id, 'role': main, agent or history, 'chain': the subagent's id or ''}, by place and first records."""
    name = os.path.basename(path)
    if name == LOGS:
        return {'session': 'history', 'role': 'history', 'chain': 'history'}
    stem = _stem(name)
    if stem.startswith(HEAD):
        from .gemini_files import session_id
        return {'session': session_id(path) or stem.rsplit('-', 1)[-1], 'role': 'main', 'chain': ''}
    above = os.path.basename(os.path.dirname(path))
    found = _listing(os.path.dirname(os.path.dirname(path)), [])
    mark = '-%s.json' % above[:8]
    if any(mark in entry.name for entry in found):
        return {'session': above, 'role': 'agent', 'chain': stem}
    # The folder of a subagent that started one itself, or of a session that is gone.
    parent = {}
    for folder in found:
        for entry in _listing(folder.path, []) if '.' not in folder.name else ():
            if entry.name.endswith('.jsonl'):
                parent[entry.name[:-6]] = folder.name
    return {'session': _top(above, parent), 'role': 'agent', 'chain': stem}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session file, in file order: a list for each record (see the protocol).

    What a record says again of a message is left out; state tells what was said before.
    """
    from . import gemini_files
    if source.role == 'history':
        return gemini_files.read_logs(source, coverage)
    if source.path.endswith('.json'):
        return gemini_files.read_old(source, coverage, state)
    return gemini_files.read_log(source, coverage, offset, line, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of all events of the one record at `offset`, those included that an earlier record gave."""
    from . import gemini_files
    return gemini_files.events_at(source, offset, length)


def spill_path(source, named):
    """-> the file below the project's own tool-outputs folder that a result names, '' when there is none there.

    Only the names are taken from the record (the path may be another machine's), and links that lead out are refused.
    """
    parts = [part for part in named.replace('\\', '/').split('/') if part]
    for top in ('tool-outputs', 'tool_output'):
        if top not in parts:
            continue
        inside = parts[len(parts) - parts[::-1].index(top):]
        if not inside or len(inside) > 3 or any(part.startswith('.') for part in inside):
            return ''
        folder = os.path.join(project_dir(source.path), top)
        path = file_below(folder, *inside)
        if path:
            return path
    return ''


def spill_text(path, limit=0):
    """-> the text of a spilled tool result."""
    return file_text(path, limit)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['gemini', '--resume', session_id]


def branches(path):
    """-> (number of branch ends, ids of messages that the person went back behind)."""
    from .gemini_files import rewound
    return rewound(path)


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    return told_files(FILE_TOOLS, name, given)
