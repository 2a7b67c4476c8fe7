"""Droid (Factory): where its sessions lie and how its files are read.

<root>/sessions/<folder>/<session>.jsonl holds a session; what its calls cost together is in <session>.settings.json beside it.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    billed, branches, folders, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'droid'
# The file beside it changes what a transcript means.
GROWS = False
CLEANED = False
STORES = (
    Store('droid.sessions_jsonl.v1', 'sessions/<folder>/<session>.jsonl, sessions/<session>.jsonl', True, 'sessions'),
    Store('droid.settings', 'sessions/<folder>/<session>.settings.json, sessions/<session>.settings.json', True, "a session's model, and its tokens as one sum"),
    Store('droid.other', 'settings.json, auth.json, auth.encrypted, logs/*', False, 'settings, credentials (never opened), logs'),
)
_FOLDER = 'sessions'
_END = '.jsonl'
SETTINGS = '.settings.json'


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: ~/.factory."""
    from ..base import paths
    home = paths.home()
    return folders({}, '', os.path.join(home, '.factory') if home else '')


def owns(path):
    """True for a path that looks like one of Droid's sessions, by its place."""
    parts = path.replace('\\', '/').split('/')
    return parts[-1].endswith(_END) and '.factory' in parts[:-1] and _FOLDER in parts[-3:-1]


def settings_of(path):
    """-> the path of the settings beside a session."""
    return path[:-len(_END)] + SETTINGS


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root, by listings and stat; size and
    mtime_ns are those of the session and its settings together."""
    if is_missing(root, problems):
        return
    for entry in listing(os.path.join(root, _FOLDER), problems):
        inside, folder = ([entry], '') if entry.name.endswith(_END) else (listing(entry.path, problems), entry.name)
        for one in inside:
            if one.name.endswith(_END) and one.name != _END:
                found = stamp(one.path, settings_of(one.path))
                if found is not None:
                    yield one.path, found[0], found[1], 'main', '', one.name[:-6], folder


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def session_at(path):
    """-> Session of the file at `path`."""
    sid, above = head(path)['session'], os.path.dirname(path)
    folder = '' if os.path.basename(above) == _FOLDER else os.path.basename(above)
    root = os.path.dirname(os.path.dirname(above)) if folder else os.path.dirname(above)
    return Session(NAME, root, sid, folder, (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a session's file, by its name."""
    name = os.path.basename(path)
    return {'session': name[:-6] if name.endswith(_END) else name, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one session, a list for each record. A session is always read whole: offset and line are 0."""
    from .droid_parse import read as read_session
    return read_session(source, coverage, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turns apart)."""
    from .droid_parse import Parser
    from .talk import at_line
    return at_line(Parser, source, offset, length)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['droid', '--resume', session_id]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .codex_text import patched
    from .values import files_of as told
    return told(name, given) or patched(given)
