"""GitHub Copilot CLI: where its sessions lie and how its files are read.

<root>/session-state/<session>/events.jsonl is a log of one session (older: session-state/<session>.jsonl), with the
session's name in workspace.yaml beside it. What calls cost is said as sums, when the client ends.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    billed, branches, folders, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'copilot'
GROWS = True
CLEANED = False
STORES = (
    Store('copilot.events_jsonl.v2', 'session-state/<session>/events.jsonl', True, 'sessions; tokens as sums a model when the client ends'),
    Store('copilot.events_jsonl.v1', 'session-state/<session>.jsonl', True, 'the same of older clients; not where the folder is there'),
    Store('copilot.workspace_yaml', 'session-state/<session>/workspace.yaml', True, "the session's name"),
    Store('copilot.otel', 'otel/*.jsonl', False, 'telemetry of the same calls, where it is turned on'),
    Store('copilot.old_sessions', 'history-session-state/*', False, 'clients of 2025'),
    Store('copilot.settings', 'config.json, mcp-config.json, logs/*', False, 'settings, logs'),
)
LOG = 'events.jsonl'
WORKSPACE = 'workspace.yaml'
_FOLDER = 'session-state'
_END = '.jsonl'
# One tool for several things: what its `command` does.
_COMMANDS = {'create': 'write', 'str_replace': 'edit', 'insert': 'edit', 'view': 'read'}


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $COPILOT_HOME, else ~/.copilot."""
    from ..base import paths
    home = paths.home()
    return folders(environ, 'COPILOT_HOME', os.path.join(home, '.copilot') if home else '')


def owns(path):
    """True for a path that looks like one of Copilot's logs, by its place."""
    parts = path.replace('\\', '/').split('/')
    return parts[-1] == LOG and parts[-3:-2] == [_FOLDER] or parts[-1].endswith(_END) and parts[-2:-1] == [_FOLDER]


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root, by listings and stat; size and
    mtime_ns are those of the log and of workspace.yaml together."""
    if is_missing(root, problems):
        return
    entries = listing(os.path.join(root, _FOLDER), problems)
    seen = set()
    for entry in entries:
        path = os.path.join(entry.path, LOG)
        found = None if entry.name.endswith(_END) else stamp(path, os.path.join(entry.path, WORKSPACE))
        if found is not None:
            seen.add(entry.name)
            yield path, found[0], found[1], 'main', '', entry.name, ''
    for entry in entries:
        if entry.name.endswith(_END) and entry.name[:-6] not in seen and entry.name != _END:
            found = stamp(entry.path)
            if found is not None:
                yield entry.path, found[0], found[1], 'main', '', entry.name[:-6], ''


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def session_at(path):
    """-> Session of the log at `path`."""
    sid = head(path)['session']
    above = os.path.dirname(os.path.dirname(path))
    root = os.path.dirname(above) if os.path.basename(path) == LOG else above
    return Session(NAME, root, sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a log, by its place."""
    name = os.path.basename(path)
    sid = os.path.basename(os.path.dirname(path)) if name == LOG else name[:-6] if name.endswith(_END) else name
    return {'session': sid, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one log, in file order: a list for each record (see the protocol)."""
    from .copilot_parse import Parser
    from .talk import read_lines
    return read_lines(Parser(source, coverage, {} if state is None else state), source, coverage, offset, line)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turns apart)."""
    from .copilot_parse import Parser
    from .talk import at_line
    return at_line(Parser, source, offset, length)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['copilot', '--resume', session_id]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .codex_text import patched
    from .values import files_of as told, first
    if name == 'str_replace_editor' and type(given) is dict:
        what, path = _COMMANDS.get(first(given, 'command')), first(given, 'path')
        return [(what, path)] if what and path else []
    return told(name, given) or patched(given)
