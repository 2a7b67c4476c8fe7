"""DSH (DeepSeek Harness): where its sessions lie and how its files are read.

<root>/sessions/<folder>/<session>/session.jsonl.zstd (or session.jsonl) is a log of one session. A subagent's log lies beside
the others; its first record says whose it is. A fork begins with its parent's events.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    billed, branches, folders, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'dsh'
# A packed log cannot be gone on with.
GROWS = False
CLEANED = False
# Which of its logs are subagents' only their first records tell.
PLACED_BY_HEAD = True
STORES = (
    Store('dsh.session_zstd.v0', 'sessions/<folder>/<session>/session.jsonl.zstd', True, 'sessions and subagents, packed'),
    Store('dsh.session_jsonl.v0', 'sessions/<folder>/<session>/session.jsonl', True, 'the same, plain; not where a packed one lies beside it'),
    Store('dsh.settings', 'profiles/**, plugins/**, config/*', False, 'settings and credentials, never opened'),
)
_FOLDER = 'sessions'
PACKED, PLAIN = 'session.jsonl.zstd', 'session.jsonl'


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $DSH_HOME, else ~/.dsh."""
    from ..base import paths
    home = paths.home()
    return folders(environ, 'DSH_HOME', os.path.join(home, '.dsh') if home else '')


def owns(path):
    """True for a path that looks like one of DSH's logs, by its place and name."""
    parts = path.replace('\\', '/').split('/')
    return parts[-1] in (PACKED, PLAIN) and parts[-4:-3] == [_FOLDER]


def named(path):
    """-> the session's id by the folder of its log."""
    name = os.path.basename(os.path.dirname(path))
    if '%' not in name:
        return name
    from urllib.parse import unquote
    return unquote(name).replace('/', '.')


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every log under a root, by listings and stat. A subagent's is
    called main: head() knows better."""
    if is_missing(root, problems):
        return
    for group in listing(os.path.join(root, _FOLDER), problems):
        for entry in listing(group.path, problems):
            for name in (PACKED, PLAIN):
                path = os.path.join(entry.path, name)
                found = stamp(path)
                if found is not None:
                    yield path, found[0], found[1], 'main', '', named(path), ''
                    break


def discover(root, problems):
    """Yield the Sessions under a root, each with its subagents (the first record of each log is read)."""
    from .plain import grouped
    rows = []
    for path, size, mtime, _, _, _, folder in scan(root, problems):
        facts = head(path)
        rows.append((path, size, mtime, facts['role'], facts['chain'], facts['session'], folder))
    return grouped(NAME, root, rows)


def session_at(path):
    """-> Session with the whole tree of the log at `path` (or of one subagent's alone)."""
    facts = head(path)
    root = path
    for _ in range(4):
        root = os.path.dirname(root)
    for session in discover(root, []) if facts['role'] == 'main' else ():
        if session.sources[0].path == path:
            return session
    return Session(NAME, root, facts['session'], '', (Source(path, facts['role'], facts['chain'], facts['session'], 0, 0),))


def head(path, also=()):
    """-> {'session': id at the top of its family, 'role': main or agent, 'chain': its own id where it is a subagent}."""
    from .dsh_parse import top_of
    return top_of(path)


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one log, a list for each record. A log is always read whole: offset and line are 0."""
    from .dsh_parse import read as read_log
    return read_log(source, coverage, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record at `offset` of the unpacked log, as read() gives them (turns apart)."""
    from .dsh_parse import events_at as found
    return found(source, offset)


def resume(session_id, project):
    """No command that reopens a session is known: raises EchoError."""
    from ..base.errors import EchoError
    raise EchoError('no command is known that reopens session %s; open it in DSH' % session_id)


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .codex_text import patched
    from .values import files_of as told
    return told(name, given) or patched(given)
