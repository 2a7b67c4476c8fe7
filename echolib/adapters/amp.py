"""Amp: where its threads lie and how its files are read.

<root>/threads/T-<id>.json is one thread: one object with all its messages, written again with each change.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    billed, branches, folders, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'amp'
GROWS = False
CLEANED = False
STORES = (
    Store('amp.threads_json.v1', 'threads/<thread>.json', True, 'threads, one object each'),
    Store('amp.history', 'history.jsonl', False, 'typed prompts without their threads'),
    Store('amp.secrets', 'secrets.json', False, 'credentials, never opened'),
)
_FOLDER = 'threads'
_START, _END = 'T-', '.json'


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $AMP_DATA_DIR, else $XDG_DATA_HOME/amp (~/.local/share/amp)."""
    from ..base import paths
    home = paths.home()
    base = environ.get('XDG_DATA_HOME') or (os.path.join(home, '.local', 'share') if home else '')
    return folders(environ, 'AMP_DATA_DIR', os.path.join(base, 'amp') if base else '')


def owns(path):
    """True for a path that looks like a thread's, by its place and name."""
    parts = path.replace('\\', '/').split('/')
    return _is_thread(parts[-1]) and parts[-2:-1] == [_FOLDER]


def _is_thread(name):
    return name.startswith(_START) and name.endswith(_END)


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every thread under a root, by a listing and stat."""
    if is_missing(root, problems):
        return
    for entry in listing(os.path.join(root, _FOLDER), problems):
        found = stamp(entry.path) if _is_thread(entry.name) else None
        if found is not None:
            yield entry.path, found[0], found[1], 'main', '', entry.name[:-len(_END)], ''


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def session_at(path):
    """-> Session of the thread at `path`."""
    sid = head(path)['session']
    return Session(NAME, os.path.dirname(os.path.dirname(path)), sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a thread, by its name."""
    name = os.path.basename(path)
    return {'session': name[:-len(_END)] if name.endswith(_END) else name, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one thread: a list for its own facts, then one a message. It is always read whole: offset and
    line are 0."""
    from .amp_parse import read as read_thread
    return read_thread(source, coverage, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one message that an event's offset names, as read() gives them (turns apart)."""
    from .amp_parse import events_at as found
    return found(source, offset)


def resume(session_id, project):
    """-> argument list of the command that reopens a thread (run in its project directory)."""
    return ['amp', 'threads', 'continue', session_id]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .values import files_of as told
    return told(name, given)
