"""What both layouts of Kimi share: texts of content parts and tool input, counters, and what a person typed."""
import re
from zlib import crc32

from ..base import bounded_json
from ..events import DECLINED, ERROR, INJECTED, OK, PROMPT, RECAP, SLASH, TYPED, Usage, counter

# A typed command: its name, up to a blank or the end.
_COMMAND = re.compile(r'/([A-Za-z0-9_-]+(?::[A-Za-z0-9_-]+)*)(?=\s|\Z)')
# Commands of the terminal client that start no turn of the model (kimi-cli 1.49.0 and before).
_LOCAL = frozenset(('compact', 'clear', 'reset', 'new', 'yolo', 'afk', 'plan', 'add-dir', 'export', 'import'))
_RECAP_HEAD = '<system>Previous context has been compacted.'
# Texts no person typed, by how they begin.
_MACHINE = (('<system-reminder>', 'reminder'), ('<system>', 'reminder'), ('<notification', 'notification'))
_ERROR_HEAD = '<system>ERROR: '
_MEDIA = {'image_url': '[image]', 'image': '[image]', 'audio_url': '[audio]', 'video_url': '[video]'}
# How the answer to a call that the person refused or stopped begins.
REFUSED = ('The tool call is rejected by the user', 'Interrupted by user')


def word(value):
    """`value` where it is text, else ''."""
    return value if type(value) is str else ''


def usage(model, fresh, output, read, written):
    """-> Usage of one finished call; the four counters never overlap, and a cache write names no lifetime."""
    return Usage(model, counter(fresh), counter(output), counter(read), counter(written), 0, 1, 0, '', '', '', 0, 0, '')


def mark(text):
    """A short check sum of a text, for identities."""
    return '%08x' % crc32(text.encode('utf-8', 'replace'))


def content_text(content):
    """The text of content (text, or parts): text parts joined by newlines, media as `[image]`, `[audio]`, `[video]`;
    what the model thought is not part of it."""
    if type(content) is str:
        return content
    if type(content) is dict:
        content = (content,)
    elif type(content) is not list:
        return ''
    out = []
    for part in content:
        if type(part) is str:
            out.append(part)
        elif type(part) is dict:
            kind = part.get('type')
            text = part.get('text')
            if type(text) is str:
                if text:
                    out.append(text)
            elif type(kind) is str and kind in _MEDIA:
                out.append(_MEDIA[kind])
    return '\n'.join(out)


def images(text):
    """Number of pictures in a prompt's text, None for none."""
    return text.count('[image]') or None if '[image]' in text else None


def tool_input(given):
    """-> (input as it was: decoded where it is JSON, its searchable text). `given`: text or an object."""
    if type(given) is str:
        try:
            value = bounded_json.loads(given)
        except (ValueError, RecursionError):
            # Models do write broken JSON: the text itself is what there is.
            return given, given
        if type(value) not in (dict, list):
            return given, given
        given = value
    if given is None:
        return None, ''
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


def command_name(text):
    """-> the name of the command a text is a call of, '' for any other text."""
    found = _COMMAND.match(text.strip()) if text.lstrip().startswith('/') else None
    return found.group(1) if found else ''


def machine_text(text):
    """-> label of a text that the client put into the user's place, '' for one that a person may have typed."""
    bare = text.lstrip()
    if bare.startswith('<'):
        if bare.startswith(_RECAP_HEAD):
            return RECAP
        for head, label in _MACHINE:
            if bare.startswith(head):
                return label
    return ''


def classify(text):
    """-> (kind, label) of a terminal client's user text: typed, a command that starts a turn, a local one, the client's."""
    label = machine_text(text)
    if label:
        return INJECTED, label
    name = command_name(text)
    if not name:
        return PROMPT, TYPED
    return (INJECTED, 'local_command') if name in _LOCAL else (PROMPT, SLASH)


def result_label(text):
    """-> label of a tool result as the model was sent it."""
    if not text.startswith(_ERROR_HEAD):
        return OK
    return DECLINED if text.startswith(REFUSED, len(_ERROR_HEAD)) else ERROR


def call_id(call, scope):
    """The identity of a tool call: the model's own id (often 'Shell:0') is one among those of its session only."""
    return '%s@%s' % (call, scope)


def prompt_id(session, text, state):
    """The identity of a prompt that has no time: its text, and which of the same texts of its session it is."""
    seen = state.setdefault('texts', {})
    key = mark(text)
    seen[key] = seen.get(key, 0) + 1
    return '%s/prompt/%s/%d' % (session, key, seen[key])
