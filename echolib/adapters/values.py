"""What adapters make of the values in records whatever the agent: counters, texts of content, tool input, typed text.

Nothing here knows an agent; each function takes any JSON value and never raises on it.
"""
import json
import re
from zlib import crc32

from ..base import bounded_json
from ..events import INJECTED, PROMPT, SLASH, TYPED, Usage, counter

_COMMAND = re.compile(r'/[A-Za-z][\w.-]*(?::[\w.-]+)*(?=\s|\Z)')
# Texts that no person typed, by how they begin.
_MACHINE = (('<task-notification', 'notification'), ('<background-', 'notification'), ('<environment', 'meta'))
_MEDIA = {'image': '[image]', 'image_url': '[image]', 'input_image': '[image]', 'document': '[document]', 'audio': '[audio]',
          'video': '[video]'}


def word(value):
    """`value` where it is text, else ''."""
    return value if type(value) is str else ''


def first(data, *names):
    """-> the first text that is not empty under these keys of a dict, ''."""
    for name in names:
        value = data.get(name)
        if type(value) is str and value:
            return value
    return ''


def inner(data, *names):
    """-> the dict at the end of a path of keys, {} where the path ends earlier."""
    for name in names:
        data = data.get(name) if type(data) is dict else None
    return data if type(data) is dict else {}


def count(value):
    """A token counter as counter() has it, or the text of one."""
    return int(value) if type(value) is str and value.isdecimal() and len(value) < 16 else counter(value)


def mark(text):
    """A short check sum of a text, for identities."""
    return '%08x' % crc32(text.encode('utf-8', 'replace'))


def usage(model, fresh, output, read=0, written=0, reasoning=0):
    """-> Usage of one finished call whose counters do not overlap; a cache write without a lifetime is a short one.

    reasoning: what of the output was reasoning, as the record tells.
    """
    return Usage(model, fresh, output, read, written, 0, 1, 0, '', '', '', 0, 0, '', min(reasoning, output))


def uncached(sent, read, written, beside=False):
    """What of the input was not cached. sent: the agent's input counter, which holds the cached part (unless beside, or
    unless it is smaller than that: then they are counters of their own)."""
    return sent if beside or read + written > sent else sent - read - written


def decoded(text):
    """-> the JSON object or list a text holds, None for any other text."""
    if type(text) is not str or text.lstrip()[:1] not in ('{', '['):
        return None
    try:
        value = bounded_json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if type(value) in (dict, list) else None


def content_text(content, depth=0):
    """The text of content in every shape it comes in: text, blocks, an object around either; media as `[image]`.

    What lies more than a dozen levels deep was made to be deep, and is passed over.
    """
    if type(content) is str:
        return content
    if type(content) is dict:
        content = (content,)
    elif type(content) is not list:
        return ''
    out = []
    for block in content:
        text = block if type(block) is str else ''
        if type(block) is dict:
            kind = word(block.get('type'))
            text = _MEDIA.get(kind) or first(block, 'text', 'content', 'value') or (content_text(block.get('content'), depth + 1) if depth < 12 else '')
        if text:
            out.append(text)
    return '\n'.join(out)


def texts_of(value):
    """-> list of the texts in a list, stripped; also where it is one text."""
    if type(value) is str:
        value = [value]
    return [one.strip() for one in value if type(one) is str and one.strip()] if type(value) is list else []


def result_text(value):
    """The text of a tool's output: text, content blocks, or whatever it is as JSON."""
    if type(value) is str:
        return value
    if value is None:
        return ''
    return content_text(value) or as_json(value)


def as_json(value):
    """`value` as JSON text, cut; the texts in it where it is nested too deep for that."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)[:4000]
    except (RecursionError, TypeError):
        # Nested nearly as deep as can be read: what can be read of it.
        return tool_input(value)[1][:4000]


def tool_input(given):
    """-> (a tool's input as it was, decoded where it is JSON text; its searchable text: the strings in it, one a line)."""
    value = decoded(given)
    if value is not None:
        given = value
    if type(given) is str:
        return given, given
    out = []
    _strings(given, out, 0)
    return given, '\n'.join(out)


def _strings(value, out, depth):
    if type(value) is str:
        if value:
            out.append(value)
    elif type(value) is dict and depth < 12:
        for item in value.values():
            _strings(item, out, depth + 1)
    elif type(value) is list and depth < 12:
        for item in value:
            _strings(item, out, depth + 1)
    elif type(value) is int and depth < 2:
        out.append(str(value))


def without_blocks(text, name='system-reminder'):
    """`text` without its <name>...</name> blocks; '' when such a block was cut off before anything else."""
    head, close = '<%s' % name, '</%s>' % name
    if head not in text:
        return text
    kept, at, start = [], 0, 0
    while True:
        found = text.find(head, start)
        if found < 0:
            break
        end = text.find(close, found)
        if end < 0:
            if not ''.join(kept).strip() and not text[at:found].strip():
                return ''
            break
        kept.append(text[at:found])
        at = start = end + len(close)
    return (''.join(kept) + text[at:]).strip()


def blocks(text, name):
    """-> list of the insides of the <name>...</name> blocks of a text, stripped."""
    head, close = '<%s>' % name, '</%s>' % name
    out, at = [], text.find(head)
    while at >= 0:
        end = text.find(close, at)
        out.append(text[at + len(head):end if end >= 0 else len(text)].strip())
        at = text.find(head, end) if end >= 0 else -1
    return out


def is_command(text):
    """True for a text that is a typed command: a slash, its name, and a blank or the end behind it."""
    return text.startswith('/') and _COMMAND.match(text) is not None


def classify(text):
    """-> (kind, label, shown text) of a text in a user slot of which no field says who wrote it."""
    shown = without_blocks(text)
    if not shown.strip():
        return INJECTED, 'reminder', text
    bare = shown.lstrip()
    for head, label in _MACHINE:
        if bare.startswith(head):
            return INJECTED, label, shown
    return PROMPT, SLASH if is_command(bare) else TYPED, shown


def images(text):
    """Number of pictures in a prompt's text, None for none."""
    return text.count('[image]') or None if '[image]' in text else None


# What tools of these names do to the file they name, and the fields that name it.
_FILE_TOOLS = dict(
    [(name, 'edit') for name in 'edit edit_file multiedit multi_edit str_replace strreplacefile replace search_replace replace_in_file notebookedit'.split()]
    + [(name, 'write') for name in 'write write_file writefile write_to_file create create_file'.split()]
    + [(name, 'read') for name in 'read read_file readfile view view_file notebookread'.split()])


def files_of(name, given):
    """-> list of (what, path) a tool call does to files, told from common names: what is edit, write or read."""
    what = _FILE_TOOLS.get(name.lower())
    path = first(given, 'file_path', 'filePath', 'notebook_path', 'target_file', 'path') if what and type(given) is dict else ''
    return [(what, path)] if path else []
