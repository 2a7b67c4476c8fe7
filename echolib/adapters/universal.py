"""Agents that nobody described: transcripts in folders that the user names, read by their shape.

The one default root is the folder of imported conversations between people (DIALOGS, see universal_dialog). Others come from $SESSION_DIGGER_UNIVERSAL and from agents.json in the data folder, which may
also say which files, which shape, or which fields (references/universal.md). Nothing there is run.
"""
import os
from collections import namedtuple

from ..base import paths
from . import Session, Source, Store

NAME = 'universal'
# A shape is told from the first records, so that any change may change what a file is taken for.
GROWS = False
CLEANED = False
PLACED_BY_HEAD = True
STORES = (
    Store('universal.jsonl', '**/*.jsonl, **/*.ndjson', True, 'one record a line, in any of the known shapes'),
    Store('universal.packed', '**/*.jsonl.gz, **/*.jsonl.zst, **/*.jsonl.zstd', True, 'the same, packed'),
    Store('universal.json', '**/*.json', True, 'one object or list a file; only where agents.json names such files'),
    Store('universal.dialogs.v1', '*.jsonl', True, 'conversations between people, imported by chat-profiles.py (in the data folder)'),
    Store('universal.side_files', '**/*.events.jsonl, **/usage.jsonl, **/session_index.jsonl', False,
          'kept beside transcripts, no conversation; read where agents.json names them'),
    Store('universal.secrets', '**/auth.json, **/*.key, **/credentials*, **/oauth*', False, 'credentials, never opened'),
)
# A folder to read. name: what its agent is called; glob: which files, '' the usual ones; family: a shape's name, '' to find
# out; fields: {what: dotted path}; roles: {name in the file: user, assistant, tool or system}; resume: argument list.
Mapping = namedtuple('Mapping', 'name root glob family fields roles resume')
FIELDS = ('role', 'text', 'prompt', 'response', 'time', 'session', 'id', 'model', 'cwd', 'usage', 'title')
ROLES = ('user', 'assistant', 'tool', 'system')
CONFIG = 'agents.json'
VARIABLE = 'SESSION_DIGGER_UNIVERSAL'
# Imported conversations, a folder in our own data folder.
DIALOGS = 'dialogs'
UNNAMED = 'no folder is named: name one in %s in the data folder, or in %s' % (CONFIG, VARIABLE)
_ENDS = ('.jsonl', '.ndjson')
_PACKED = ('.gz', '.zst', '.zstd')
# Beside transcripts, and none themselves, unless the user names them.
_SIDE_ENDS = ('.events.jsonl', '.conflicts.jsonl', '.guardian.jsonl', '.meta.jsonl', '.summary.jsonl')
_SIDE_NAMES = frozenset(('session_index.jsonl', 'usage.jsonl', 'telemetry.jsonl', 'journal.jsonl', 'queue.jsonl'))
_NO_FOLDERS = frozenset(('.git', 'node_modules', '__pycache__', '.venv'))
# Names that many sessions share: the folder's tells them apart.
_SHARED = frozenset(('messages', 'transcript', 'conversation', 'chat', 'session', 'history', 'log', 'events', 'index', 'main', 'output',
                     'wire', 'context', 'updates'))
_HEADS = ('session_memory_', 'session-', 'session_', 'conversation-', 'conversation_', 'transcript-', 'transcript_', 'chat-', 'rollout-')
_DEEPEST = 12

_known = {}


def is_secret(name):
    """True for a file that may hold credentials: never opened."""
    name = name.lower()
    return name == 'auth.json' or name.endswith(('.key', '.pem')) or name.startswith(('credentials', 'oauth', '.credentials', '.env'))


def mappings(environ=os.environ):
    """-> (list of Mappings in the order in which they are asked, '' or what is wrong with agents.json)."""
    found, wrong = [], ''
    folder = paths.data_dir(environ)
    path = os.path.join(folder, CONFIG) if folder else ''
    try:
        stat = os.stat(path)
    except OSError:
        # Most users have none.
        stat = None
    if stat is not None:
        key = (path, stat.st_mtime_ns, stat.st_size, environ.get('HOME'))
        if _known.get('key') != key:
            from .universal_config import load
            _known['key'], _known['found'] = key, load(path)
        found, wrong = _known['found']
        found = list(found)
    for one in (environ.get(VARIABLE) or '').split(os.pathsep):
        if one.strip():
            root = os.path.abspath(os.path.expanduser(one.strip()))
            if not any(mapping.root == root for mapping in found):
                found.append(Mapping(os.path.basename(root), root, '', '', {}, {}, ()))
    if folder and os.path.isdir(os.path.join(folder, DIALOGS)):
        found.append(Mapping('dialog', os.path.join(folder, DIALOGS), '*.jsonl', 'dialog', {}, {}, ()))
    return found, wrong


def roots(environ=os.environ):
    """-> list of the folders the user named; agents.json itself where it cannot be used, so that this is said."""
    found, wrong = mappings(environ)
    out = []
    for mapping in found:
        if mapping.root not in out:
            out.append(mapping.root)
    if wrong:
        out.append(os.path.join(paths.data_dir(environ), CONFIG))
    return out


def mapping_of(path):
    """-> the Mapping that covers a file, None where the user named no folder above it."""
    for mapping in mappings()[0]:
        if path.startswith(os.path.join(mapping.root, '')) and wanted(mapping, below(mapping, path)):
            return mapping
    return None


def wanted(mapping, place):
    """True when a mapping covers the file at a path below its root."""
    place = place.replace('\\', '/')
    name = place.rpartition('/')[2]
    if is_secret(name):
        return False
    for end in _PACKED:
        if name.endswith(end):
            name = name[:-len(end)]
            break
    beside = next((end for end in _SIDE_ENDS if name.endswith(end)), name if name in _SIDE_NAMES else '')
    if beside and beside not in mapping.glob:
        return False
    if mapping.glob:
        from .universal_config import matches
        return matches(mapping.glob, place)
    return name.endswith(_ENDS) and '/stats/' not in '/' + place


def owns(path):
    """True for a file in a folder that the user named."""
    return mapping_of(os.path.abspath(path)) is not None


def fits(path):
    """True for any other file whose records have one of the known shapes."""
    if is_secret(os.path.basename(path)) or not os.path.isfile(path):
        return False
    from . import universal_read
    try:
        return bool(universal_read.shape_of(path, None).family)
    except OSError:
        return False


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every wanted file under a root.

    By folder listings and stat alone; links that lead out of the root are not followed, nor are folders that another
    agent's adapter reads. problems: list that gets (path, reason); a missing root is one, and an agents.json with faults.
    """
    found, wrong = mappings()
    if os.path.basename(root) == CONFIG and wrong:
        problems.append((root, wrong))
        return
    mine = [mapping for mapping in found if mapping.root == root]
    if not mine:
        # An archive or a root of another environment: the usual files.
        mine = [Mapping(os.path.basename(root), root, '', '', {}, {}, ())]
    others = _others(root)
    # Ours lies within Claude's by default.
    if not any(mapping.family == 'dialog' for mapping in mine) and any(paths.same_or_below(root, other) for other in others):
        problems.append((root, 'this folder is read as another agent\'s already'))
        return
    real = os.path.realpath(root)
    for place, entry in _files(root, '', problems, others, 0):
        mapping = next((one for one in mine if wanted(one, place)), None)
        if mapping is None:
            continue
        try:
            if entry.is_symlink() and not paths.same_or_below(os.path.realpath(entry.path), real) or not entry.is_file():
                continue
            stat = entry.stat()
        except OSError:
            # Removed since the folder was listed.
            continue
        # Below a millisecond the time also tells the mapping: another one means another reading.
        mark = stat.st_mtime_ns // 1000000 * 1000000 + (stat.st_mtime_ns + _mark(mapping)) % 1000000
        yield entry.path, stat.st_size, mark, 'main', '', session_name(place), place.rpartition('/')[0]


def _others(root):
    from . import registry
    out = []
    for adapter in registry.adapters():
        if adapter.NAME != NAME:
            out += [other for other in adapter.roots() if os.path.isdir(other)]
    return out


def _mark(mapping):
    if not (mapping.family or mapping.fields or mapping.roles):
        return 0
    from zlib import crc32
    return crc32(repr((mapping.family, sorted(mapping.fields.items()), sorted(mapping.roles.items()))).encode('utf-8', 'replace'))


def _files(path, place, problems, others, depth):
    """Yield (path below the root with slashes, entry) of the files in a folder and below, in order of their names."""
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if depth == 0 or not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            problems.append((path, error.strerror or str(error)))
        return
    for entry in found:
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError:
            # Removed meanwhile.
            continue
        if not is_folder:
            yield place + entry.name, entry
        elif depth < _DEEPEST and entry.name not in _NO_FOLDERS and entry.path not in others:
            for one in _files(entry.path, place + entry.name + '/', problems, others, depth + 1):
                yield one


def bare(name):
    """-> a file's name or path without its endings."""
    for end in _PACKED + _ENDS + ('.json',):
        if name.endswith(end) and len(name) > len(end):
            name = name[:-len(end)]
    return name


def session_name(place):
    """-> what a session is called by its file's path below the root: its name without endings and known beginnings; the
    folder's where many files have that name."""
    folder, _, name = bare(place.replace('\\', '/')).rpartition('/')
    if name.lower() in _SHARED and folder:
        return folder.rpartition('/')[2]
    for start in _HEADS:
        rest = name[len(start):]
        # An id has digits, a title has words.
        if name.startswith(start) and len(rest) >= 8 and any(c.isdigit() for c in rest[:8]):
            return rest
    return name


def below(mapping, path):
    """-> a file's path below the root of its mapping; without one its name and its folder's."""
    if mapping is None:
        return os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
    return path[len(os.path.join(mapping.root, '')):]


def discover(root, problems):
    """Yield the Sessions under a root, one a file, by listing folders and stat alone (see scan)."""
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        yield Session(NAME, root, session, folder, (Source(path, role, chain, session, size, mtime),))


def session_at(path):
    """-> Session of one file."""
    mapping = mapping_of(path)
    facts = head(path)
    root = mapping.root if mapping else ''
    return Session(NAME, root, facts['session'], '', (Source(path, facts['role'], facts['chain'], facts['session'], 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role', 'chain'} of a file: the session its first records name, else what its name says. A file of
    the prompts of several sessions has the role history."""
    from . import universal_read
    mapping = mapping_of(path)
    name = session_name(below(mapping, path))
    try:
        shape = universal_read.shape_of(path, mapping)
    except OSError:
        # Told by whoever reads it.
        return {'session': name, 'role': 'main', 'chain': ''}
    if universal_read.is_history(shape):
        return {'session': name, 'role': 'history', 'chain': 'history'}
    return {'session': shape.sessions[0] if len(shape.sessions) == 1 else name, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file: a list for each record. A file is always read whole: offset and line are 0.

    A file without a known shape gives none, and counts as one record that is not understood. Raises OSError when the file
    cannot be opened.
    """
    from . import universal_read
    return universal_read.read(source, coverage, mapping_of(source.path), state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record at `offset`, as read() gives them (turn numbers and ids apart)."""
    from . import universal_read
    return universal_read.events_at(source, offset, length, mapping_of(source.path))


def spill_path(source, named):
    """Nothing is known to be spilled: ''."""
    return ''


def spill_text(path, limit=0):
    """Nothing is spilled: ''."""
    return ''


def side_files(path):
    """No other files belong to one: []."""
    return []


def resume(session_id, project):
    """-> argument list that reopens a session: the one agents.json gives, where all its agents have the same."""
    given = set(mapping.resume for mapping in mappings()[0] if mapping.family != 'dialog')
    if len(given) != 1 or not max(given):
        from ..base.errors import EchoError
        raise EchoError('no command is known that reopens this session; "resume" in agents.json can name one')
    return [word.replace('{session}', session_id) for word in given.pop()]


def billed(session):
    """No ledger is known: None."""
    return None


def files_of(name, given):
    """-> list of (what, path) a tool call does to files, told from common names: what is edit, write or read."""
    from .values import files_of as told
    return told(name, given)
