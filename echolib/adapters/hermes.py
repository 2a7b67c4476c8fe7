"""Hermes Agent: where its sessions lie and how they are read.

<root>/state.db (and profiles/<name>/state.db) holds them; one of them has a path of its own below the database's:
.../state.db/<session>. Older builds wrote sessions/<session>.jsonl.
"""
import os

from . import Session, Source, Store, registry
from .plain import (  # noqa: F401
    billed, branches, folders, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'hermes'
GROWS = False
CLEANED = False
STORES = (
    Store('hermes.state_db.v1', 'state.db, profiles/<profile>/state.db', True, 'sessions, messages, tokens as sums of a session'),
    Store('hermes.sessions_jsonl.v1', 'sessions/<session>.jsonl, profiles/<profile>/sessions/<session>.jsonl', True,
          'older builds: messages without tokens; not where the database has the session'),
    Store('hermes.sessions_json', 'sessions/session_<session>.json', False, 'copies of what the database holds'),
    Store('hermes.settings', 'config.yaml, .env, auth.json, memories/*, skills/**', False, 'settings, credentials (never opened), memory'),
)
DB = 'state.db'
_FOLDER = 'sessions'
_END = '.jsonl'
# Tools that touch a file and are not called as usual: what they do.
FILE_TOOLS = {'patch': 'edit'}


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $HERMES_HOME, else ~/.hermes."""
    from ..base import paths
    home = paths.home()
    return folders(environ, 'HERMES_HOME', os.path.join(home, '.hermes') if home else '')


def entries(path):
    """-> list of (session, size, mtime_ns) of a database (see hermes_db.asked), asked when it changed. Raises
    sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .hermes_db import asked
        return asked(path)
    return memo.kept(NAME, registry.version(NAME), paths.database_files(path), ask)


def _is_inside(path):
    """True for the path of a session in a database."""
    return os.path.basename(os.path.dirname(path)) == DB


def owns(path):
    """True for a path that looks like one of Hermes' databases, a session in it, or an older session's file."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    if '.hermes' not in parts[:-1]:
        return False
    return DB in parts[-2:] or parts[-1].endswith(_END) and parts[-2] == _FOLDER


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root: by a few counts asked of the
    databases, by listings and stat of older files."""
    if is_missing(root, problems):
        return
    for home in [root] + [entry.path for entry in listing(os.path.join(root, 'profiles'), problems)]:
        known = set()
        path = os.path.join(home, DB)
        if os.path.isfile(path):
            from .inside import quoted
            try:
                for sid, size, mtime in entries(path):
                    known.add(sid)
                    yield os.path.join(path, quoted(sid)), size, mtime, 'main', '', sid, ''
            except OSError as error:
                problems.append((path, str(error)))
        for entry in listing(os.path.join(home, _FOLDER), problems):
            if entry.name.endswith(_END) and entry.name[:-6] not in known:
                found = stamp(entry.path)
                if found is not None:
                    yield entry.path, found[0], found[1], 'main', '', entry.name[:-6], ''


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def session_at(path):
    """-> Session of an older file or of a session in a database. Raises EchoError for the database itself."""
    if os.path.basename(path) == DB:
        from ..base.errors import EchoError
        raise EchoError('%s holds many sessions; name one: %s' % (path, os.path.join(path, 'SESSION')))
    sid = head(path)['session']
    home = os.path.dirname(os.path.dirname(path))
    above = os.path.dirname(home)
    root = os.path.dirname(above) if os.path.basename(above) == 'profiles' else home
    return Session(NAME, root, sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a session, by its name."""
    name = os.path.basename(path)
    if _is_inside(path):
        from .inside import unquoted
        name = unquoted(name)
    elif name.endswith(_END):
        name = name[:-6]
    return {'session': name, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session, a list for each record. A session is always read whole: offset and line are 0."""
    state = {} if state is None else state
    if _is_inside(source.path):
        from .hermes_db import read as read_session
        return read_session(source, coverage, state)
    from .hermes_parse import Parser
    from .talk import read_lines
    return read_lines(Parser(source, coverage, state), source, coverage, 0, 0)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record that an event's offset names, as read() gives them (turns apart)."""
    if _is_inside(source.path):
        from .hermes_db import events_at as found
        return found(source, offset)
    from .hermes_parse import Parser
    from .talk import at_line
    return at_line(Parser, source, offset, length)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['hermes', '--resume', session_id]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .codex_text import patched
    from .values import files_of as told, first
    what = FILE_TOOLS.get(name)
    if what and type(given) is dict and first(given, 'path', 'file_path'):
        return [(what, first(given, 'path', 'file_path'))]
    return told(name, given) or patched(given)
