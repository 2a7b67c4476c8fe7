"""Texts of the rows of a session's stream: what a message, a tool's input or its result says, and who wrote a user text."""
import re

from ..base.clock import parse_time
from ..events import INJECTED, PROMPT, QUEUED, SLASH, TYPED

# Prompt ids of turns that the client starts by itself.
_OWN_TURNS = ('task-completed-', 'subagent-completed-', 'workflow-completed-', 'notifications-', 'notification-', 'goal-',
              'scheduler-fired-', 'plan-resume-')
_QUERY, _QUERY_END = '<user_query>', '</user_query>'
# What old clients wrote before a prompt, in the same text.
_WRAPPED = re.compile(r'\s*<(user_info|system-reminder|git_status|project_layout|rules|monitor-event|environment_details)[\s>]')
COMMAND = re.compile(r'/[A-Za-z][\w:.-]*(?:\s|$)')
_MID_TURN = 'The user sent a message while you were working:'


def word(value):
    """-> a text as it is, '' for anything else."""
    return value if type(value) is str else ''


def inside(value, key):
    """-> the object under a key of an object, {} when it is something else."""
    found = value.get(key)
    return found if type(found) is dict else {}


def unwrap(data):
    """-> (update, notification metadata, timestamp) of a row; (None, {}, timestamp) when it holds no update.

    Old and foreign rows lack parts of the envelope.
    """
    holder = data.get('params')
    if type(holder) is not dict:
        holder = data
    update = holder.get('update')
    if type(update) is not dict:
        update = holder if 'sessionUpdate' in holder else None
    meta = holder.get('_meta')
    return update, meta if type(meta) is dict and holder is not update else {}, data.get('timestamp')


def time_of(meta, stamp):
    """-> ms UTC: when the client made the row (kept by a fork), else when it was written."""
    time = meta.get('agentTimestampMs')
    found = parse_time(time) if type(time) is int else None
    return parse_time(stamp) if found is None else found


def origin_of(meta):
    """-> the session a row was written in, from its event id; '' when that does not tell."""
    event = meta.get('eventId')
    head, dash, number = event.rpartition('-') if type(event) is str else ('', '', '')
    return head if dash and number.isdecimal() else ''


def block_text(content, depth=0):
    """The text of a content block or a list of them; images and the like as [image]. Twelve levels deep, no more."""
    if type(content) is str:
        return content
    if depth > 12:
        return ''
    if type(content) is list:
        return '\n'.join(text for text in (block_text(block, depth + 1) for block in content) if text)
    if type(content) is not dict:
        return ''
    kind = content.get('type')
    if kind in ('image', 'audio', 'image_url'):
        return '[image]' if kind != 'audio' else '[audio]'
    if type(content.get('text')) is str:
        return content['text']
    if kind == 'content':
        return block_text(content.get('content'), depth + 1)
    if kind in ('resource', 'resource_link'):
        inner = inside(content, 'resource') or content
        return '\n'.join(t for t in (word(inner.get('uri')), word(inner.get('text'))) if t)
    return ''


def strings(value, out=None, depth=0, numbers=True):
    """-> list of the texts in a JSON value, keys left out; arrays of numbers (bytes) as the text they are.

    numbers: whole numbers near the top as well.
    """
    out = [] if out is None else out
    if type(value) is str:
        if value:
            out.append(value)
    elif type(value) is dict and depth < 12:
        for item in value.values():
            strings(item, out, depth + 1, numbers)
    elif type(value) is list and depth < 12:
        if value and type(value[0]) is int:
            text = from_bytes(value)
            if text:
                out.append(text)
            return out
        for item in value:
            strings(item, out, depth + 1, numbers)
    elif type(value) is int and numbers and depth < 2:
        out.append(str(value))
    return out


def from_bytes(values):
    """-> the text of an array of byte values, '' when it is something else."""
    try:
        return bytes(bytearray(values)).decode('utf-8', 'replace')
    except (TypeError, ValueError):
        return ''


def prompt_words(text):
    """-> (what a person typed in a user text, True when it came in the middle of a turn); '' where all is the client's."""
    begin = text.find(_QUERY)
    if begin >= 0 and text.lstrip().startswith(('<', _MID_TURN)):
        end = text.find(_QUERY_END, begin)
        words = text[begin + len(_QUERY):end if end >= 0 else len(text)]
        return words.strip('\n'), text.lstrip().startswith(_MID_TURN)
    at = 0
    while True:
        found = _WRAPPED.match(text, at)
        if found is None or found.group(1) == 'rules' and not at:
            break
        end = text.find('</%s>' % found.group(1), found.end())
        if end < 0:
            break
        at = end + len(found.group(1)) + 3
    return text[at:] if at else text, False


def classify(update, meta, text, in_agent):
    """-> (kind, label, text to show) of a user_message_chunk."""
    extra = inside(update, '_meta')
    inner = inside(inside(update, 'content'), '_meta')
    if 'bash_command' in inner or extra.get('bash_mode') is True:
        return INJECTED, 'shell', text
    turn = word(meta.get('promptId'))
    typed = turn.startswith('interject-') or extra.get('interjection') is True
    if extra.get('hostTurn') is True:
        return INJECTED, 'local_command' if COMMAND.match(text) else 'notification', text
    if not typed and (extra.get('hideFromScrollback') is True or turn.startswith(_OWN_TURNS)):
        return INJECTED, 'notification', text
    words, mid_turn = prompt_words(text)
    shown = word(inner.get('displayText')) or word(extra.get('displayText')) or words
    if not shown.strip():
        return INJECTED, 'reminder', text
    if in_agent:
        return INJECTED, 'task', shown
    if mid_turn or typed:
        return PROMPT, QUEUED, shown
    return PROMPT, SLASH if COMMAND.match(shown) else TYPED, shown


def failed(raw):
    """True for the output of a command that did not end well."""
    if type(raw) is not dict or not ('command' in raw or raw.get('type') == 'Bash'):
        return False
    code = raw.get('exit_code')
    return type(code) is int and code != 0 or raw.get('timed_out') is True or raw.get('signal') not in (None, '', 0)


# Where a result's own text stands in a raw output, best first.
_TEXTS = ('output_for_prompt', 'tool_output_for_prompt', 'summary_for_prompt', 'message', 'output', 'stdout', 'content')


def result_text(content, raw):
    """The text of a tool's result: what it shows, and what the model was given beyond that."""
    shown = block_text(content)
    if type(raw) is str:
        return shown or raw
    if type(raw) is not dict:
        return shown
    if shown:
        # A search shows how much it found; what it found is in its bytes.
        more = [from_bytes(raw[key]) for key in ('stdout', 'stderr') if type(raw.get(key)) is list and raw[key]]
        return '\n'.join([shown] + [text for text in more if text and text not in shown])
    for key in _TEXTS:
        found = _look(raw, key, 0)
        if found:
            return found
    kind = raw.get('type')
    return '\n'.join(text for text in strings(raw, numbers=False) if text != kind)


def _look(raw, key, depth):
    value = raw.get(key)
    if type(value) is list and value and type(value[0]) is int:
        value = from_bytes(value)
    if type(value) is str and value:
        return value
    for inner in raw.values() if depth < 2 else ():
        if type(inner) is dict:
            found = _look(inner, key, depth + 1)
            if found:
                return found
    return ''
