"""Cline, Roo Code and Kilo Code (its extension for VS Code): where their tasks lie and how they are read.

Three extensions of one family, in the data folder of any editor like VS Code: <globalStorage>/<extension>/tasks/<task>/, where
ui_messages.json is one list of what was said, called and spent, written again with each change.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    branches, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'cline'
GROWS = False
CLEANED = False
# Folders of the extensions, and what they are called.
EXTENSIONS = {'saoudrizwan.claude-dev': 'Cline', 'rooveterinaryinc.roo-cline': 'Roo Code', 'kilocode.kilo-code': 'Kilo Code', 'data': 'Cline'}
STORES = (
    Store('cline.ui_messages.v1', '<extension>/tasks/<task>/ui_messages.json', True, 'tasks: what was said, called and spent'),
    Store('cline.history_item', '<extension>/tasks/<task>/history_item.json, <extension>/tasks/<task>/task_metadata.json', True,
          "a task's directory, parent and models"),
    Store('cline.task_history', '<extension>/state/taskHistory.json, <extension>/taskHistory.json', True, 'directories of tasks'),
    Store('cline.api_history', '<extension>/tasks/<task>/api_conversation_history.json', False, 'the conversation once more, as it was sent to the model'),
    Store('cline.other', '<extension>/settings/*, <extension>/checkpoints/*, <extension>/cache/*', False, 'settings, states of files'),
)
MESSAGES = 'ui_messages.json'
HISTORY, METADATA = 'history_item.json', 'task_metadata.json'
_HOSTS = ('Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf')
# Tools that touch a file: what they do.
FILE_TOOLS = {'editedExistingFile': 'edit', 'appliedDiff': 'edit', 'insertContent': 'edit', 'searchAndReplace': 'edit', 'newFileCreated': 'write',
              'readFile': 'read'}


def roots(environ=os.environ):
    """-> list of the data folders (globalStorage) of editors that hold one of the extensions, and ~/.cline where it holds
    tasks; the plain editor's where none does."""
    from ..base import paths
    home = paths.home()
    if not home:
        return []
    config = environ.get('XDG_CONFIG_HOME') or os.path.join(home, '.config')
    found, usual = [], os.path.join(config, _HOSTS[0], 'User', 'globalStorage')
    for base in (config, os.path.join(home, 'Library', 'Application Support'), environ.get('APPDATA') or ''):
        for host in _HOSTS if base and os.path.isdir(base) else ():
            found.append(os.path.join(base, host, 'User', 'globalStorage'))
    found.append(os.path.join(home, '.vscode-server', 'data', 'User', 'globalStorage'))
    found = [path for path in found if os.path.isdir(path) and any(os.path.isdir(os.path.join(path, name)) for name in EXTENSIONS)]
    if os.path.isdir(os.path.join(home, '.cline', 'data', 'tasks')):
        found.append(os.path.join(home, '.cline'))
    return found or [usual]


def owns(path):
    """True for a path that looks like a task's messages, by its place."""
    parts = path.replace('\\', '/').split('/')
    return parts[-1] == MESSAGES and parts[-3:-2] == ['tasks']


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every task under a root, by listings and stat; size and
    mtime_ns are those of its messages and of the small files beside them together."""
    if is_missing(root, problems):
        return
    for extension in sorted(EXTENSIONS):
        for task in listing(os.path.join(root, extension, 'tasks'), problems):
            path = os.path.join(task.path, MESSAGES)
            found = stamp(path, os.path.join(task.path, HISTORY), os.path.join(task.path, METADATA))
            if found is not None:
                yield path, found[0], found[1], 'main', '', task.name, ''


def discover(root, problems):
    """Yield the Sessions under a root (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def extension_of(path):
    """-> the folder of the extension that a task's messages lie in."""
    return os.path.dirname(os.path.dirname(os.path.dirname(path)))


def session_at(path):
    """-> Session of the messages at `path`."""
    sid = head(path)['session']
    return Session(NAME, os.path.dirname(extension_of(path)), sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main, 'chain': ''} of a task's messages, by their place."""
    return {'session': os.path.basename(os.path.dirname(path)), 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one task, a list for each message. A task is always read whole: offset and line are 0."""
    from . import cline_parse
    return cline_parse.read(source, coverage, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one message that an event's offset names, as read() gives them (turns apart)."""
    from . import cline_parse
    return cline_parse.events_at(source, offset)


def resume(session_id, project):
    """No command reopens a task: raises EchoError."""
    from ..base.errors import EchoError
    raise EchoError('no command reopens task %s; open its folder in the editor and pick it in the history of the extension' % session_id)


def billed(session):
    """-> what the extension worked out itself: rows {model, time, input, output, cache_read, cache_write, cost}, one a request
    (cost in USD, None where it says none)."""
    from . import cline_parse
    return [row for source in session.sources for row in cline_parse.bills(source)]


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    what = FILE_TOOLS.get(name)
    if not what or type(given) is not dict:
        return []
    rows = [given]
    for several in ('batchFiles', 'batchDiffs'):
        rows += given[several] if type(given.get(several)) is list else []
    found = [row['path'] for row in rows if type(row) is dict and type(row.get('path')) is str and row['path']]
    return [(what, path) for n, path in enumerate(found) if path not in found[:n]]
