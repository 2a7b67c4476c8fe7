"""What a tool call is about, in the few numbers that are kept of it: enough to tell retries, test runs and reading again."""
from zlib import crc32

from . import shell

# What a call does. The numbers are part of the index schema.
OTHER, SHELL, TEST, READ, CHANGE, SKILL, SPAWN = 0, 1, 2, 3, 4, 5, 6

_SKILLS = frozenset(('skill', 'activate_skill', 'load_skill', 'use_skill', 'invoke_skill'))
_SPAWNS = frozenset(('task', 'agent', 'spawn_agent', 'spawn_subagent', 'invoke_agent', 'dispatch_agent', 'delegate_to_agent', 'subagent', 'new_task'))
_PARTS = ('offset', 'limit', 'start_line', 'end_line', 'line_offset', 'n_lines', 'startLine', 'endLine', 'view_range', 'pages', 'range')
_PLACES = ('url', 'uri', 'path', 'file_path', 'filePath', 'target_file')
_WORD_CHARS = 80


def look(name, given, text):
    """-> (what it does, mark of its input, mark of what it is about, mark of the part it reads, word) of a tool call.

    given: the input as it was; text: its searchable text. Marks are check sums, 0 for nothing; word: a skill's name, a
    subagent's type, a command's head, else ''.
    """
    same = _mark(text)
    if type(given) is not dict:
        return OTHER, same, 0, 0, ''
    low = name.lower()
    if low in _SKILLS:
        word = _first(given, 'skill', 'skill_name', 'name', 'command')
        return SKILL, same, _mark(word), 0, _clean(word)
    tail = low.rsplit('.', 1)[-1]
    if tail in _SPAWNS:
        return SPAWN, same, 0, 0, _clean(_first(given, 'subagent_type', 'agent_type', 'agent_name', 'agent', 'type'))
    files = _files_of(name, given)
    if files:
        what, path = files[0]
        return (READ, same, _mark(path), _part(given), '') if what == 'read' else (CHANGE, same, _mark(path), 0, '')
    line = shell.command_of(given)
    if line:
        found = shell.read(line)
        return TEST if found.test else SHELL, same, _mark(found.target), 0, _clean(found.head)
    place = _first(given, *_PLACES)
    return OTHER, same, _mark(place), 0, ''


def _files_of(name, given, _found=[]):
    if not _found:
        # A search that finds nothing to read does without it.
        from .adapters.values import files_of
        _found.append(files_of)
    return _found[0](name, given)


def _first(given, *names):
    for name in names:
        value = given.get(name)
        if type(value) is str and value:
            return value
    return ''


def _mark(text):
    return crc32(text.encode('utf-8', 'surrogatepass')) if text else 0


def _part(given):
    parts = [(name, str(given[name])) for name in _PARTS if given.get(name) is not None]
    return _mark(repr(parts)[:500]) if parts else 0


def _clean(word):
    """A word that a database can hold."""
    return word[:_WORD_CHARS].encode('utf-8', 'replace').decode('utf-8')
