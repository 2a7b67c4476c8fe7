"""A session as a flat list of items: what every display (show, messages, tools, export) is made from."""
import sys
from collections import namedtuple

from . import events as ev
from .adapters import registry, tree

Item = namedtuple('Item', (
    'index',    # place in the session, from 0
    'turn',     # number of the turn it belongs to, 0 before the first prompt
    'role',     # user, assistant, tool, system
    'kind',     # kind of the event
    'label',    # what to call it: the tool's name, 'Compaction summary', 'You', ...
    'body',     # text
    'error',    # True for a failed tool result or an API error
    'time',     # int ms or None
    'chain',    # '' or the subagent's id
    'line',     # line in its file
    'id', 'message', 'call',   # identity; response it belongs to; tool use id of calls and results
    'status',   # tool results: ok, error, declined, collateral; prompts: typed, queued, slash; else ''
    'data',     # tool calls: the input as it was
))

_INJECTED = {
    ev.RECAP: 'Compaction summary', ev.ATTACHMENT: 'Attachment', 'reminder': 'Reminder', 'meta': 'Harness', 'task': 'Task',
    'command_output': 'Command output', 'shell': 'Shell', 'shell_output': 'Shell output', 'notification': 'Notification',
    'local_command': 'Command', 'caveat': 'Harness', 'skill': 'Skill', 'hook': 'Hook', 'peer': 'Message from another session'}
# Items left out of a plain reading of the conversation.
BACKGROUND = frozenset(('reminder', 'meta', 'caveat', 'skill', 'hook', 'duplicate', 'interruption', 'notice', 'system'))
# What stands for an event that was seen: a hash of 64 bits, where Python's own has as many.
_mark = hash if sys.hash_info.width >= 64 else tuple


def items(agent, sources, coverages=None):
    """Yield the Items of a session in reading order.

    agent: adapter name.  sources: its files (main first).  A record that stands twice in a file gives one item; a reply
    that was written in growing snapshots gives its last one.
    """
    adapter = registry.get(agent)
    seen = set()
    names = {}
    turn = index = 0
    held = None
    for source, event in tree.merged(agent, sources, coverages):
        kind = event.kind
        if kind in (ev.USAGE, ev.META, ev.UNKNOWN):
            continue
        if event.id is not None:
            mark = _mark((source.path, kind, event.id))
            if mark in seen:
                continue
            seen.add(mark)
        if ev.opens_turn(event):
            turn += 1
        if kind == ev.TOOL_CALL:
            names[event.id] = event.label
        item = _item(event, index, turn, names, adapter, source)
        if item is None:
            continue
        if held is not None:
            if (item.kind == held.kind == ev.REPLY and item.message == held.message and item.chain == held.chain
                    and item.body.startswith(held.body)):
                held = item._replace(index=held.index)
                continue
            yield held
        held = item
        index += 1
    if held is not None:
        yield held


def _item(event, index, turn, names, adapter, source):
    kind, label = event.kind, event.label
    call, status, error, data, body = None, '', False, None, event.text
    if kind == ev.PROMPT:
        role, name, status = 'user', 'You', label
    elif kind == ev.REPLY:
        role, name, error = 'assistant', 'API error' if label == 'api_error' else 'Assistant', label == 'api_error'
    elif kind == ev.THINKING:
        role, name = 'assistant', 'Thinking'
    elif kind == ev.TOOL_CALL:
        role, name, call, data = 'tool', label, event.id, event.data
    elif kind == ev.TOOL_RESULT:
        call, status = event.data.call_id, label
        role, name, error = 'tool', names.get(call, 'Tool'), label == ev.ERROR
        data = event.data
    elif kind == ev.COMPACTION:
        role, name = 'system', 'Compaction'
        body = 'Conversation compacted%s%s' % (
            ' (%s)' % event.data.trigger if event.data.trigger else '',
            ', %d tokens before' % event.data.pre_tokens if event.data.pre_tokens else '')
    elif kind == ev.INTERRUPTION:
        role, name = 'user', 'Interrupted'
    elif label == 'duplicate':
        return None
    else:
        role, name, status = 'system', _INJECTED.get(label, label.replace('_', ' ').capitalize()), label
    return Item(index, turn, role, kind, name, body, error, event.time, event.chain, event.line, event.id, event.message,
                call, status, data)


def whole_output(agent, source, item):
    """-> the body of a tool result with its spilled output, where there is any."""
    if item.kind != ev.TOOL_RESULT or not item.data.spill:
        return item.body
    adapter = registry.get(agent)
    path = adapter.spill_path(source, item.data.spill)
    if not path:
        return item.body
    try:
        return adapter.spill_text(path)
    except OSError:
        return item.body
