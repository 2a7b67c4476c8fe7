"""What a file is: which agent's, in which format, how sure that is and why, and how to have it read where no adapter does.

Told from its place and name first, then from its structure; never from words in its texts. Files that may hold credentials
are not opened.
"""
import os
import re
from collections import namedtuple

from ..base import paths
from ..base.files import open_regular
from ..base.text import clean_surrogates
from . import registry, universal
from . import universal_fields as fields
from .universal_shapes import speakers

# path; format: a store's id, a shape's name, or what kind of file it is; agent: whose it is, '' unknown; confidence: high,
# medium, low or none; read: True when it is read as it lies; evidence: sentences; keys: commonest keys of its records;
# mapping: an entry for agents.json that would have it read, None where there is nothing to suggest.
Found = namedtuple('Found', 'path format agent confidence read evidence keys mapping')
# Endings of files that a walk through folders looks at.
ENDS = ('.jsonl', '.ndjson', '.json', '.db', '.sqlite', '.vscdb', '.gz', '.zst', '.zstd', '.frames', '.md', '.txt')
_SKIPPED = frozenset(('.git', 'node_modules', '__pycache__', '.venv', '.session-digger'))
_HEAD = 1 << 16
_MAGIC = ((b'SQLite format 3\0', 'sqlite', 'a SQLite database'), (b'\x28\xb5\x2f\xfd', 'zstd', 'packed with zstd'),
          (b'\x1f\x8b', 'gzip', 'packed with gzip'), (b'RX4F', 'frames', 'a log of packed frames'), (b'PK\x03\x04', 'zip', 'a zip archive'))
_TURNS = re.compile(r'(?m)^ *(?:#+ *|\*\*)?(human|assistant|user|you|ai)(?:\*\*)?:(?:\*\*)?(?: |$)', re.I)
_USUAL = ('.jsonl', '.ndjson', '.jsonl.gz', '.jsonl.zst', '.jsonl.zstd')
_NUMBERS = re.compile(r'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{12,}|[0-9]+(?:[-_:T.][0-9]+)*')
_TIMES = re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d')


def detect(path):
    """-> Found of one file. Raises OSError when it is not there or cannot be opened."""
    path = os.path.abspath(os.path.expanduser(path))
    os.stat(path)
    if universal.is_secret(os.path.basename(path)):
        return Found(path, 'secrets', '', 'high', False, ('its name is that of credentials; it was not opened',), (), None)
    if os.path.islink(path) and not os.path.exists(path) or not os.path.isfile(path):
        return Found(path, 'other', '', 'none', False, ('no ordinary file',), (), None)
    adapter = registry.detect(path)
    if adapter is not None and adapter.NAME != universal.NAME:
        return _of_agent(path, adapter)
    store = _placed(path)
    if adapter is None and store is not None:
        return _in_root(path, *store)
    return _by_content(path, adapter is not None)


def _of_agent(path, adapter):
    store = _store(path, adapter)
    keys = _keys(path)
    if store is not None:
        evidence = 'its place and name are those of %s (%s)' % (store.id, store.pattern)
        return Found(path, store.id, adapter.NAME, 'high', store.read, (evidence, store.note), keys, None)
    return Found(path, adapter.NAME, adapter.NAME, 'medium', False,
                 ('its records are those of %s, which other programs may write too; it lies where that agent keeps none' % adapter.NAME,
                  'a command that takes a path reads it; a folder that is named is read whole'), keys, suggestion(path))


def _in_root(path, adapter, root):
    """A file in an agent's folder that its adapter does not call a transcript."""
    store = _store(path, adapter)
    if store is None:
        return Found(path, 'other', adapter.NAME, 'medium', False,
                     ('it lies in a folder of %s (%s), in none of the places its sessions are known to lie' % (adapter.NAME, root),), (), None)
    evidence = 'its place and name are those of %s (%s)' % (store.id, store.pattern)
    return Found(path, store.id, adapter.NAME, 'high', store.read, (evidence, ('' if store.read else 'not read: ') + store.note), (), None)


def _placed(path):
    """-> (adapter, root) of the agent in whose folder a file lies, also in a copy of one that has its usual name; None."""
    best, parts = None, path.split(os.sep)
    for adapter in registry.adapters():
        if adapter.NAME == universal.NAME:
            continue
        usual = [os.path.basename(root) for root in adapter.roots({})]
        copies = [os.sep.join(parts[:parts.index(name) + 1]) for name in usual if name[:1] == '.' and name in parts[:-1]]
        for root in adapter.roots() + copies:
            if paths.same_or_below(path, root) and (best is None or len(root) > len(best[1])):
                best = (adapter, root)
    return best


def _store(path, adapter):
    """-> the Store whose pattern the end of a path fits, None; the most particular one."""
    parts = path.replace('\\', '/')
    best = None
    for store in adapter.STORES:
        for pattern in store.pattern.split(','):
            pattern = pattern.strip()
            if pattern and ':' not in pattern and _pattern(pattern).search(parts):
                size = len(re.sub(r'<[^<>]*>|\*', '', pattern))
                if best is None or size > best[0]:
                    best = (size, store)
    return best[1] if best else None


def _pattern(pattern):
    out = []
    for piece in re.split(r'(<[^<>]*>|\*\*/|\*\*|\*)', pattern):
        out.append({'**/': '(?:.*/)?', '**': '.*', '*': '[^/]*'}.get(piece) or ('[^/]+' if piece[:1] == '<' else re.escape(piece)))
    text = ''.join(out)
    return re.compile('(?:^|/)%s' % (text + '.*' if text.endswith('/') else text + r'\Z'), re.S)


def _keys(path):
    if not path.endswith(('.jsonl', '.ndjson', '.jsonl.gz')):
        return ()
    from . import universal_read
    try:
        return universal_read.shape_of(path, None).keys
    except OSError:
        return ()


def _by_content(path, named):
    """A file that only what is in it can tell. named: the user named its folder."""
    from . import universal_read
    mapping = universal.mapping_of(path) if named else None
    with open_regular(path) as handle:
        head = handle.read(_HEAD)
    if not head.strip(b'\0 \t\r\n'):
        return Found(path, 'empty', '', 'high', False, ('there is nothing in it',), (), None)
    packed = path.endswith(('.jsonl.gz', '.jsonl.zst', '.jsonl.zstd', '.ndjson.gz'))
    for magic, name, says in _MAGIC:
        if head.startswith(magic) and not packed:
            return Found(path, name, '', 'high', False, (says + '; no adapter knows it here',), (), None)
    if not packed and not head.lstrip(b'\xef\xbb\xbf\xff\xfe\0 \t\r\n')[:1] in (b'{', b'['):
        return _text(path, head)
    shape = universal_read.shape_of(path, mapping)
    if shape.family:
        agent = universal.NAME if named else ''
        note = 'it is read, as "%s" of agents.json' % mapping.name if named else 'not read yet: no folder above it is named'
        return Found(path, shape.family, agent, 'high' if shape.sure == 'told' else shape.sure, named, (shape.why, note), shape.keys,
                     None if named else suggestion(path))
    records = universal_read.first_records(path)[0]
    if not records:
        return Found(path, 'unknown', '', 'none', False, (shape.why,), (), None)
    guess = guessed(records)
    evidence = (shape.why,)
    if 'text' not in guess or 'role' not in guess:
        return Found(path, 'unknown', '', 'none', False, evidence, shape.keys, None)
    evidence += ('by their values %s' % ', '.join('%s may be the %s' % (where, what) for what, where in sorted(guess.items())),)
    return Found(path, 'unknown', '', 'none', False, evidence, shape.keys, suggestion(path, guess, _roles(records, guess['role'])))


def _text(path, head):
    if b'\0' in head[:4096]:
        return Found(path, 'binary', '', 'none', False, ('no text',), (), None)
    text = head.decode('utf-8', 'replace')
    if '# aider chat started at' in text or os.path.basename(path) == '.aider.chat.history.md':
        return Found(path, 'aider_history', '', 'high', False, ('headings of chats and #### before what was typed; no adapter reads it',), (), None)
    turns = [one.lower() for one in _TURNS.findall(text)]
    if len(turns) > 1 and len(set(turns)) > 1:
        return Found(path, 'text_turns', '', 'medium' if len(turns) > 3 else 'low', False,
                     ('%d lines begin with a speaker (%s); no adapter reads such text' % (len(turns), ', '.join(sorted(set(turns)))),), (), None)
    return Found(path, 'text', '', 'none', False, ('text without records or speakers',), (), None)


def suggestion(path, where=None, roles=None):
    """-> an entry for agents.json that would have this file read, and those beside it whose names differ in numbers only."""
    folder, name = os.path.split(path)
    entry = {'name': os.path.basename(folder) or 'agent', 'root': folder}
    if where is not None or not name.endswith(_USUAL):
        entry['glob'] = '**/' + _NUMBERS.sub('*', name)
    if where is not None:
        entry['fields'] = where
    if roles:
        entry['roles'] = roles
    return dict((key, clean_surrogates(value) if isinstance(value, str) else value) for key, value in entry.items())


def _roles(records, key):
    """-> {name: role} of names under a key that no word tells, the first of them being the person."""
    names = []
    for record in records:
        name = fields.at(record, key)
        if isinstance(name, str) and name not in names and len(names) < 6:
            names.append(name)
    told = speakers(names)
    return dict((name, told[name]) for name in names if not fields.role_of(name))


def guessed(records):
    """-> {what: key} of what the values under the keys of unknown records may be: role, text, time, session, model."""
    values = {}
    for record in records:
        for key, value in _flat(record):
            values.setdefault(key, []).append(value)
    texts = dict((key, found) for key, found in values.items() if all(type(v) is str and v for v in found) and len(found) * 2 >= len(records))
    out = {}
    mean = dict((key, sum(len(v) for v in found) / float(len(found))) for key, found in texts.items())
    wordy = [key for key in texts if any(' ' in v or len(v.encode('utf-8', 'replace')) > 2 * len(v) for v in texts[key])
             and len(set(texts[key])) * 2 > len(texts[key]) and not all(_TIMES.match(v) for v in texts[key])]
    if wordy:
        out['text'] = max(wordy, key=lambda key: (mean[key], key))
    few = [key for key in texts if 1 < len(set(texts[key])) <= max(3, len(texts[key]) // 2) and mean[key] <= 24 and key != out.get('text')]
    known = [key for key in few if any(fields.role_of(v) for v in texts[key])]
    if known or few:
        out['role'] = min(known or few, key=lambda key: (len(set(texts[key])), key))
    timed = [key for key, found in values.items() if len(found) * 2 >= len(records) and all(fields.time_of({'time': v}) for v in found)]
    if timed:
        out['time'] = min(timed)
    for what, names in (('session', ('session', 'thread', 'conversation', 'chat')), ('model', ('model',))):
        fitting = sorted(key for key in texts if any(name in key.lower() for name in names) and key not in out.values())
        if fitting:
            out[what] = fitting[0]
    return out


def _flat(record, before='', depth=0):
    for key, value in record.items():
        if type(value) is dict and depth < 3:
            for one in _flat(value, '%s%s.' % (before, key), depth + 1):
                yield one
        elif '.' not in key:
            yield before + key, value


def files(path, limit):
    """Yield the files in a folder and below, by name, whose endings may be a session's; links are not followed. Stops one
    file after `limit` (0: none)."""
    count = 0
    for where, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(names):
            if name.lower().endswith(ENDS):
                count += 1
                yield os.path.join(where, name)
                if limit and count > limit:
                    return
