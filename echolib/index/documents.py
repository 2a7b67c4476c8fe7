"""Which events are searched, as what kind of document, and with which text."""
from zlib import crc32

from ..events import ATTACHMENT, INJECTED, META, OK, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL, TOOL_RESULT
from . import schema

_MAX_SPILL = 64 << 20


def document_kind(event):
    """-> the document kind of an event, 0 when it is not searched."""
    kind, label = event.kind, event.label
    if kind == TOOL_RESULT:
        return schema.RESULT_DOC if label == OK else schema.ERROR_DOC
    if kind == TOOL_CALL:
        return schema.CALL_DOC
    if kind == REPLY:
        return schema.ERROR_DOC if label else schema.REPLY_DOC
    if kind == THINKING:
        return schema.THINKING_DOC
    if kind == PROMPT:
        return schema.HISTORY_DOC if label == 'history' else schema.PROMPT_DOC
    if kind == INJECTED:
        return _INJECTED.get(label, schema.INJECTED_DOC)
    if kind == META and label in ('ai-title', 'custom-title', 'summary', 'agent-name'):
        return schema.TITLE
    return 0


_INJECTED = {RECAP: schema.RECAP_DOC, ATTACHMENT: schema.ATTACHED_DOC, 'shell': schema.PROMPT_DOC,
             'task': schema.TASK_DOC, 'duplicate': 0}


def ident_of(identity):
    """-> the number that stands for an event's identity (a text) among documents: docs.ident."""
    return crc32(identity.encode('utf-8', 'replace'))


def document_text(adapter, source, event):
    """-> the text of an event as it is searched and shown: a spilled result whole, a call behind its tool's name."""
    if event.kind == TOOL_RESULT and event.data.spill:
        path = adapter.spill_path(source, event.data.spill)
        if path:
            try:
                return event.text + '\n' + adapter.spill_text(path, _MAX_SPILL)
            except OSError:
                return event.text
    if event.kind == TOOL_CALL:
        return event.label + '\n' + event.text
    return event.text
