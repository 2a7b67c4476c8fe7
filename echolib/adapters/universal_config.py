"""agents.json: the folders of agents without an adapter, and how their files are read. Plain values only; nothing is run."""
import os
import re

from ..base import bounded_json
from ..base.files import open_regular
from .universal import FIELDS, ROLES, Mapping

_LARGEST = 1 << 20
_compiled = {}


def load(path):
    """-> (list of Mappings, '' or what is wrong). A faulty entry is left out, the others stand."""
    try:
        if os.path.getsize(path) > _LARGEST:
            return [], 'too large for a list of agents'
        with open_regular(path) as handle:
            value = bounded_json.loads(handle.read().decode('utf-8-sig'))
    except OSError as error:
        return [], error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        return [], 'not JSON (%s)' % str(error)[:80]
    entries = value.get('agents') if type(value) is dict else value
    if type(entries) is not list:
        return [], 'it should hold {"agents": [{"name": ..., "root": ...}, ...]}'
    found, wrong = [], []
    for number, entry in enumerate(entries, 1):
        try:
            found.append(mapping(entry))
        except ValueError as error:
            wrong.append('entry %d: %s' % (number, error))
    return found, '; '.join(wrong)


def mapping(entry):
    """-> Mapping of one entry (dict); ValueError says what is wrong with it."""
    from .universal_families import BY_NAME
    if type(entry) is not dict or type(entry.get('root')) is not str or not entry['root'].strip():
        raise ValueError('"root" has to name a folder')
    unknown = sorted(set(entry) - set(('name', 'root', 'glob', 'family', 'fields', 'roles', 'resume', 'note')))
    if unknown:
        raise ValueError('unknown key "%s"' % str(unknown[0])[:40])
    root = os.path.abspath(os.path.expanduser(entry['root'].strip()))
    family = entry.get('family') or ''
    if family == 'auto':
        family = ''
    if type(family) is not str or family and family not in BY_NAME:
        raise ValueError('"family" is one of auto, %s' % ', '.join(sorted(BY_NAME)))
    fields = _texts(entry, 'fields')
    for name in fields:
        if name not in FIELDS:
            raise ValueError('"fields" has %s, not "%s"' % (', '.join(FIELDS), name[:40]))
    if fields and not ('text' in fields or 'prompt' in fields or 'response' in fields):
        raise ValueError('"fields" needs "text", or "prompt" and "response"')
    roles = _texts(entry, 'roles')
    for name, role in roles.items():
        if role not in ROLES:
            raise ValueError('"roles" maps to %s, not "%s"' % (', '.join(ROLES), role[:40]))
    resume = entry.get('resume') or []
    if type(resume) is not list or not all(type(word) is str for word in resume):
        raise ValueError('"resume" is a list of words, with {session} for the id')
    glob = entry.get('glob') or ''
    if type(glob) is not str:
        raise ValueError('"glob" is a pattern such as **/*.jsonl')
    name = entry.get('name')
    return Mapping(name if type(name) is str and name else os.path.basename(root), root, glob, family, fields, roles, tuple(resume))


def _texts(entry, key):
    found = entry.get(key) or {}
    if type(found) is not dict or not all(type(value) is str for value in found.values()):
        raise ValueError('"%s" maps names to names' % key)
    return found


def matches(glob, below):
    """True when a path with slashes fits a pattern: * and ? within a name, ** for any number of folders."""
    if glob not in _compiled:
        out = []
        for piece in re.split(r'(\*\*/|\*|\?)', glob.replace('\\', '/')):
            out.append({'**/': '(?:.*/)?', '*': '[^/]*', '?': '[^/]'}.get(piece) or re.escape(piece))
        _compiled[glob] = re.compile(''.join(out) + r'\Z', re.S)
    return _compiled[glob].match(below) is not None
