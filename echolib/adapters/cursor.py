"""Cursor: where its sessions lie and how they are read.

The editor keeps its chats in one database, state.vscdb; a chat in it has a path of its own below the database's:
.../state.vscdb/<id>. Agents of the editor and of the command line also leave transcripts in ~/.cursor/projects, without
times, models or tokens: they are read for sessions that the database does not hold.
"""
import os

from . import Session, Source, Store, registry
from .plain import (  # noqa: F401
    billed, branches, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'cursor'
GROWS = False
CLEANED = False
STORES = (
    Store('cursor.transcripts_jsonl.v1', 'projects/<key>/agent-transcripts/<session>.jsonl, projects/<key>/agent-transcripts/<session>/<session>.jsonl',
          True, 'what was said and called, without times, results, models and tokens; not where the database has the session'),
    Store('cursor.transcripts_txt.v1', 'projects/<key>/agent-transcripts/<session>.txt, projects/<key>/agent-transcripts/<session>/<session>.txt',
          True, 'the same as text; not where a .jsonl lies beside it'),
    Store('cursor.editor_db.v1', 'globalStorage/state.vscdb', True, 'chats of the editor: composerData and bubbleId rows, nothing else of it'),
    Store('cursor.workspace_db', 'workspaceStorage/<id>/state.vscdb', False, 'the chats of 2024, and settings with credentials'),
    Store('cursor.cli_chats', 'chats/<hash>/<session>/store.db', False, 'undocumented blobs of the command line'),
)
DB = 'state.vscdb'
_DB = os.path.join('globalStorage', DB)
_FOLDER = 'agent-transcripts'
_ENDS = ('.jsonl', '.txt')
# Tools that touch a file and are not called as usual: what they do.
FILE_TOOLS = {'StrReplace': 'edit', 'EditNotebook': 'edit', 'edit_file_v2': 'edit', 'read_file_v2': 'read', 'ApplyPatch': 'edit'}
_PATHS = ('path', 'target_file', 'targetFile', 'file_path', 'relativeWorkspacePath', 'target_notebook')


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: ~/.cursor and the editor's User folder."""
    from ..base import paths
    home = paths.home()
    if not home:
        return []
    config = os.path.join(environ.get('XDG_CONFIG_HOME') or os.path.join(home, '.config'), 'Cursor', 'User')
    for other in (os.path.join(home, 'Library', 'Application Support'), environ.get('APPDATA') or ''):
        if other and os.path.isdir(os.path.join(other, 'Cursor')):
            config = os.path.join(other, 'Cursor', 'User')
    return [os.path.join(home, '.cursor'), config]


def entries(path):
    """-> list of (chat, size, mtime_ns) of a database (see cursor_db.asked), asked when it changed. Raises
    sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .cursor_db import asked
        return asked(path)
    return memo.kept(NAME, registry.version(NAME), paths.database_files(path), ask)


def _is_inside(path):
    """True for the path of a chat in the editor's database."""
    return os.path.basename(os.path.dirname(path)) == DB


def owns(path):
    """True for a path that looks like one of Cursor's transcripts, its database or a chat in it."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    if DB in parts[-2:]:
        return 'Cursor' in parts and 'globalStorage' in parts
    return parts[-1].endswith(_ENDS) and _FOLDER in parts[-3:-1]


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root: transcripts by listings
    and stat, chats of the database by a count of its keys. Of a session in both the database's is read."""
    if is_missing(root, problems):
        return
    path = os.path.join(root, _DB)
    if os.path.isfile(path):
        from .inside import quoted
        try:
            for sid, size, mtime in entries(path):
                yield os.path.join(path, quoted(sid)), size, mtime, 'main', '', sid, ''
        except OSError as error:
            problems.append((path, str(error)))
    projects = listing(os.path.join(root, 'projects'), problems)
    known = _in_editor() if projects else ()
    for project in projects:
        for sid, where in sorted(_transcripts(os.path.join(project.path, _FOLDER), problems).items()):
            found = stamp(where)
            if found is not None and sid not in known:
                yield where, found[0], found[1], 'main', '', sid, '-' + project.name


def _in_editor():
    """-> ids of the chats with messages that the editor's database holds."""
    found = set()
    for root in roots():
        path = os.path.join(root, _DB)
        if os.path.isfile(path):
            try:
                found.update(sid for sid, size, _ in entries(path) if size > 1)
            except OSError:
                # Said where the database itself is scanned.
                continue
    return found


def _transcripts(folder, problems):
    """-> {session: path of its transcript} in a project, .jsonl before .txt."""
    found = {}
    for entry in listing(folder, problems):
        inside = [entry] if entry.name.endswith(_ENDS) else [
            one for one in listing(entry.path, problems) if one.name in (entry.name + _ENDS[0], entry.name + _ENDS[1])]
        for one in inside:
            stem, end = os.path.splitext(one.name)
            if end in _ENDS and (end == _ENDS[0] or stem not in found):
                found[stem] = one.path
    return found


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def session_at(path):
    """-> Session of a transcript or of a chat in the database. Raises EchoError for the database itself."""
    if os.path.basename(path) == DB:
        from ..base.errors import EchoError
        raise EchoError('%s holds many sessions; name one: %s' % (path, os.path.join(path, 'SESSION')))
    sid, folder = head(path)['session'], ''
    if _is_inside(path):
        root = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    else:
        root = os.path.dirname(path)
        while os.path.basename(root) != _FOLDER and os.path.dirname(root) != root:
            root = os.path.dirname(root)
        folder = '-' + os.path.basename(os.path.dirname(root))
        root = os.path.dirname(os.path.dirname(os.path.dirname(root)))
    return Session(NAME, root, sid, folder, (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a transcript or a chat, by its name."""
    if _is_inside(path):
        from .inside import unquoted
        return {'session': unquoted(os.path.basename(path)), 'role': 'main', 'chain': ''}
    return {'session': os.path.splitext(os.path.basename(path))[0], 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session, a list for each record. A session is always read whole: offset and line are 0."""
    state = {} if state is None else state
    if _is_inside(source.path):
        from .cursor_db import read as read_chat
        return read_chat(source, coverage, state)
    from .cursor_parse import read as read_transcript
    return read_transcript(source, coverage, state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record that an event's offset names, as read() gives them (turns apart)."""
    if _is_inside(source.path):
        from .cursor_db import events_at as found
    else:
        from .cursor_parse import events_at as found
    return found(source, offset, length)


def resume(session_id, project):
    """-> argument list that reopens a session of the command line. Raises EchoError for a chat of the editor."""
    for root in roots():
        for folder in listing(os.path.join(root, 'chats'), []):
            if os.path.isdir(os.path.join(folder.path, session_id)):
                return ['cursor-agent', '--resume', session_id]
    from ..base.errors import EchoError
    raise EchoError('no command reopens a chat of the editor; open the folder in Cursor and pick it in the chat history')


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .values import files_of as told, first
    what = FILE_TOOLS.get(name)
    if what and type(given) is dict:
        path = first(given, *_PATHS)
        return [(what, path)] if path else []
    return told(name, given)
