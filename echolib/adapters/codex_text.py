"""Texts in Codex rollouts: what a person typed and what the harness put in, results of tools and whether they failed.

The one place that decides what a real prompt is (builds 0.2 to 0.171).
"""
import re
from zlib import crc32

from ..base import bounded_json
from ..events import DECLINED, ERROR, OK

# The editor extension puts the open files before what was typed, and this line between the two.
_ASKED = '## My request for Codex:'
# Texts in a user slot that no person typed, by how they begin.
_MACHINE = (
    ('# AGENTS.md', 'meta'), ('<environment_context>', 'meta'), ('<user_instructions>', 'meta'), ('<INSTRUCTIONS>', 'meta'),
    ('<permissions instructions>', 'meta'), ('<collaboration_mode>', 'meta'), ('<multi_agent_mode>', 'meta'),
    ('<apps_instructions>', 'meta'), ('<turn_aborted>', 'interruption'), ('<skill>', 'skill'),
    ('<subagent_notification>', 'notification'), ('<goal_context', 'meta'), ('<user_action>', 'notice'),
    ('<heartbeat>', 'task'), ('<user_shell_command>', 'shell'), ('# Context from my IDE setup', 'reminder'),
    ('The following is the Codex agent history', 'task'),
)
_HEADS = tuple(head for head, _ in _MACHINE)
_PLUGINS = '<recommended_plugins>', '</recommended_plugins>'
# A block of a kind not met yet: one element, whose name has an underscore, around the whole text.
_BLOCK = re.compile(r'<([a-z]+(?:_[a-z]+)+)\b[^<>]*>')
_IMAGE_TAG = re.compile(r'</?image\b[^<>]{0,400}>\Z')
_SHELL = re.compile(r'<command>\n?(.*?)\n?</command>', re.S)
_SHELL_RESULT = re.compile(r'<result>\n?(.*?)\n?</result>', re.S)
_PATCHED = re.compile(r'^\*\*\* (Add File|Update File|Delete File|Move to): ([^\n]+)', re.M)
_EXIT = re.compile(r'^(?:Exit code: |Process exited with code )(-?\d+)', re.M | re.I)
_DECLINED = ('exec command rejected by user', 'patch rejected by user', 'command rejected by user', 'rejected by user',
             'user rejected', 'user cancelled', 'aborted by user')
_FAILED = ('err:', 'unsupported call: ', 'unsupported custom tool call', 'failed to parse function arguments', 'execution error:',
           'exec_command failed', 'write_stdin failed', 'apply_patch verification failed', 'failed in sandbox', 'tool call error',
           'script failed', 'collab spawn failed', 'error: ')


def word(value):
    """`value` where it is text, else ''."""
    return value if type(value) is str else ''


def mark(text):
    """Eight hex digits that tell a text from others of its turn; how its words are spaced does not matter."""
    return '%08x' % (crc32(' '.join(text.split()).encode('utf-8', 'surrogatepass')) & 0xffffffff)


def typed_part(text, typed=False):
    """-> (True, what was typed) or (False, label of what the harness put there) for one piece of a user slot.

    typed: the record is one of those that hold what was typed, so no new kind of block is suspected in it.
    """
    bare = text.strip()
    if bare.startswith(_PLUGINS[0]):
        end = bare.find(_PLUGINS[1])
        bare = bare[end + len(_PLUGINS[1]):].lstrip() if end >= 0 else ''
        if not bare:
            return False, 'meta'
        text = bare
    at = bare.find(_ASKED)
    if at >= 0:
        asked = bare[at + len(_ASKED):].strip()
        return (True, asked) if asked else (False, 'reminder')
    if bare.startswith(_HEADS):
        for head, label in _MACHINE:
            if bare.startswith(head):
                return False, label
    found = None if typed else _BLOCK.match(bare)
    if found and bare.endswith('</%s>' % found.group(1)):
        return False, 'meta'
    return True, text


def user_parts(content, origins=(), typed_only=False):
    """-> (typed text, number of images, list of (label, text) that the harness put in) of a message in a user slot.

    content: list of content parts, or text.  origins: what newer clients say of each part ('user' or another word), ()
    unknown.  typed_only: see typed_part.
    """
    typed, images, injected = [], 0, []
    if type(content) is str:
        content = ({'type': 'input_text', 'text': content},)
    for place, part in enumerate(content if type(content) in (list, tuple) else ()):
        if type(part) is str:
            part = {'type': 'input_text', 'text': part}
        elif type(part) is not dict:
            continue
        text = part.get('text')
        if part.get('type') in ('input_image', 'image', 'local_image'):
            images += 1
        elif type(text) is str and text.strip() and not _IMAGE_TAG.match(text.strip()):
            origin = origins[place] if place < len(origins) else ''
            is_typed, rest = typed_part(text, typed_only or origin == 'user')
            if origin and origin != 'user' and is_typed:
                is_typed, rest = False, 'meta'
            if is_typed:
                typed.append(rest)
            else:
                injected.append((rest, text))
    return '\n'.join(typed), images, injected


def shell_parts(text):
    """-> [(label, text)] of a command that the person ran herself (! in front), and of its output."""
    command, result = _SHELL.search(text), _SHELL_RESULT.search(text)
    out = [('shell', '! ' + (command.group(1) if command else text))]
    if result:
        out.append(('shell_output', result.group(1)))
    return out


def content_text(content):
    """The text of a message's or a result's content in every shape it comes in; images as `[image]`."""
    if type(content) is str:
        return content
    if type(content) is dict:
        content = content.get('content', content.get('text', ''))
        return content if type(content) is str else content_text(content) if type(content) is list else ''
    out = []
    for part in content if type(content) is list else ():
        if type(part) is str:
            out.append(part)
        elif type(part) is dict:
            text = part.get('text')
            if type(text) is str:
                out.append(text)
            elif part.get('type') in ('input_image', 'image', 'output_image'):
                out.append('[image]')
    return '\n'.join(out)


def result_of(output):
    """-> (text, label) of a tool's output as the model got it.

    There is no flag in most builds: the label is told from a success field, an exit code at the head, or how a message
    of the client begins. What a person refused or stopped is declined.
    """
    label = OK
    if type(output) is dict and type(output.get('success')) is bool:
        label = OK if output['success'] else ERROR
    text = content_text(output)
    if text.startswith('{"output":'):
        # 2025: the text the model got is JSON with the exit code in its metadata.
        try:
            packed = bounded_json.loads(text)
        except (ValueError, RecursionError):
            packed = {}
        if type(packed) is dict and type(packed.get('output')) is str:
            meta = packed.get('metadata')
            code = meta.get('exit_code') if type(meta) is dict else None
            told = (ERROR if code else OK) if type(code) is int else _by_words(packed['output'])
            return packed['output'], _worse(label, told)
    return text, _worse(label, _by_words(text))


def _worse(a, b):
    return DECLINED if DECLINED in (a, b) else ERROR if ERROR in (a, b) else OK


def _by_words(text):
    head = text[:400]
    end = head.find('\nOutput:')
    found = _EXIT.search(head[:end] if end >= 0 else head)
    if found:
        return OK if found.group(1) == '0' else ERROR
    head = head.lower()
    if head.startswith('wall time:'):
        head = head.partition('\n')[2]
    if head.startswith(_DECLINED) or 'rejected("rejected by user' in head:
        return DECLINED
    return ERROR if head.startswith(_FAILED) else OK


def arguments(text):
    """-> a tool's input: the value its JSON text stands for, or the text itself where it is no JSON."""
    if type(text) is str:
        try:
            return bounded_json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def strings(value):
    """The searchable text of a tool's input: its strings, one a line, keys left out."""
    if type(value) is str:
        return value
    out = []
    _collect(value, out, 0)
    return '\n'.join(out)


def _collect(value, out, depth):
    if type(value) is str:
        if value:
            out.append(value)
    elif type(value) is dict and depth < 12:
        for item in value.values():
            _collect(item, out, depth + 1)
    elif type(value) is list and depth < 12:
        for item in value:
            _collect(item, out, depth + 1)
    elif type(value) is int and depth < 2:
        out.append(str(value))


def patched(given):
    """-> list of (edit or write, path) of the files a patch in a tool's input changes; [] without a patch."""
    text = strings(given)
    if '*** Begin Patch' not in text:
        return []
    return [('write' if what in ('Add File', 'Move to') else 'edit', path.strip()) for what, path in _PATCHED.findall(text)]
