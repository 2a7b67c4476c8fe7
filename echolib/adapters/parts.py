"""Contents as Google's model interface writes them: parts of text, thoughts, files, calls of functions and responses; and
what the clients that were built around it have in common: how a tool's outcome is told, how tokens are counted.

Several agents keep their conversations in this form; nothing here knows one of them.
"""
import re

from ..events import COLLATERAL, DECLINED, ERROR, OK
from .values import as_json, content_text, first, inner, uncached, usage, word

# The clients' own shell tool, and what it writes behind a command's output.
SHELL = 'run_shell_command'
_EXIT = re.compile(r'^Exit Code: (-?\d{1,12})$', re.M)
_REFUSED = ('did not allow', 'denied execution', 'rejected')
# What stands in a prompt before the files it referenced.
FILES = '--- Content from referenced files ---'


def listed(content):
    """-> list of the parts (dicts) of a content in any of its forms: text, one part, or a list of both."""
    if type(content) in (str, dict):
        content = [content]
    if type(content) is not list:
        return []
    return [{'text': part} if type(part) is str else part for part in content if type(part) in (str, dict)]


def is_thought(part):
    """True for a part the model thought and did not say."""
    return part.get('thought') is True


def spoken(parts):
    """The text of parts, thoughts left out; pictures and other files stand as `[image]` and `[document]`."""
    out = []
    for part in parts:
        text = part.get('text')
        if type(text) is str:
            if text and not is_thought(part):
                out.append(text)
        else:
            data = inner(part, 'inlineData') or inner(part, 'fileData')
            if data:
                out.append('[image]' if word(data.get('mimeType')).startswith('image/') else '[document]')
    return '\n'.join(out)


def media(parts):
    """-> the marks of the pictures and other files among parts, one a line (see spoken)."""
    return spoken([part for part in parts if 'text' not in part])


def thought(parts):
    """The text of the thoughts among parts."""
    return '\n'.join(part['text'] for part in parts if is_thought(part) and type(part.get('text')) is str and part['text'])


def calls(parts):
    """-> list of (id, name, arguments) of the calls among parts."""
    found = [inner(part, 'functionCall') for part in parts]
    return [(word(call.get('id')), word(call.get('name')), call.get('args')) for call in found if call]


def responses(parts):
    """-> list of (id, name, text, True where it is an error) of the responses among parts."""
    out = []
    for part in parts:
        found = inner(part, 'functionResponse')
        if found:
            text, failed = response_text(found.get('response'))
            out.append((word(found.get('id')), word(found.get('name')), text, failed))
    return out


def response_text(response):
    """-> (text of a function's response, True where it is an error)."""
    if type(response) is not dict:
        return content_text(response), False
    if 'error' in response and not response.get('output'):
        error = response['error']
        return (error if type(error) is str else first(error, 'message') if type(error) is dict and error.get('message')
                else as_json(error)), True
    output = response.get('output', response.get('content', response.get('result')))
    if type(output) is str:
        return output, False
    return content_text(output) or as_json(response if output is None else output), False


def outcome(name, status, text, failed=False):
    """-> label of a tool's result. status: success, error or cancelled; text: the result; failed: it is an error's."""
    if status == 'cancelled':
        return DECLINED if any(mark in text[:200] for mark in _REFUSED) else COLLATERAL
    if status == 'error' or failed:
        return ERROR
    # The clients call every command that ran a success.
    code = _EXIT.search(text[-400:]) if name == SHELL else None
    return ERROR if code is not None and int(code.group(1)) else OK


def usage_of(model, sent, output, cached, thoughts, tool, total):
    """-> Usage of a call. The cache is part of the input, thoughts and what tools put into the prompt stand beside output
    and input, unless `total` (0: not said) shows otherwise."""
    beside, reasoning = False, thoughts
    if total:
        plain = sent + output
        if tool and total in (plain, plain + thoughts):
            tool = 0
        if thoughts and total == plain + tool:
            thoughts = 0
        beside = bool(cached) and total == plain + cached + thoughts + tool
    return usage(model, uncached(sent, cached, 0, beside) + tool, output + thoughts, cached, 0, reasoning)


def prompt(parts, display):
    """-> (what a person typed, the text of the files it references) of a user's message. display: what the client showed
    of it ('' where it does not say). Pictures stand behind the words."""
    text = spoken([part for part in parts if 'text' in part])
    typed = (display or text).partition(FILES)[0].strip('\n')
    marks = media(parts)
    return (typed + '\n' + marks if typed and marks else typed or marks), text.partition(FILES)[2].strip()
