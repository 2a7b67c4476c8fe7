"""context.jsonl of the Python client: what the model was sent, without times, numbers or models.

Read as a session where there is no wire.jsonl (very old ones), and for the one thing wire.jsonl lacks: the summary that
a compaction left (the old context is kept as context_<n>.jsonl).
"""
import os

from ..base.files import open_regular
from ..events import INJECTED, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, UNKNOWN, Event, ToolResult
from ..records import parse_line
from .kimi_text import call_id, classify, content_text, images, machine_text, prompt_id, result_label, tool_input, word

_MARKERS = ('_system_prompt', '_checkpoint', '_usage')
# The summary follows the system prompt and a checkpoint.
_HEAD_LINES = 6
_HEAD_BYTES = 1 << 20


class ContextParser(object):
    """Turns the rows of a context.jsonl into events; see kimi_cli_parse.WireParser.

    session: the id by which its prompts and calls are told apart from those of other sessions.
    """

    def __init__(self, coverage, source, state, session):
        self.coverage, self.source, self.state, self.session = coverage, source, state, session
        self.chain = source.chain if source.role != 'main' else ''
        self.turn = state.get('turn', 0)

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        role = data.get('role')
        out = []

        def add(kind, label, ident, text, more, message=None):
            out.append(Event(kind, label, None, self.chain, 0 if self.chain else self.turn, ident, message, text, more, line,
                             offset, length, len(out)))
        here = '%s:%d' % (self.session, offset)
        text = content_text(data.get('content'))
        if role == 'user':
            if text.strip():
                kind, label = (INJECTED, machine_text(text) or 'task') if self.chain else classify(text)
                if kind == PROMPT:
                    self.turn += 1
                    self.state['turn'] = self.turn
                add(kind, label, prompt_id(self.session, text, self.state), text, images(text))
        elif role == 'assistant':
            for part in data['content'] if type(data.get('content')) is list else ():
                if type(part) is dict and part.get('type') == 'think' and word(part.get('think')):
                    add(THINKING, '', '%s/think/%d' % (here, len(out)), part['think'], None, here)
            if text.strip():
                add(REPLY, '', here + '/text', text, None, here)
            for call in data['tool_calls'] if type(data.get('tool_calls')) is list else ():
                function = call.get('function') if type(call) is dict else None
                if type(function) is dict:
                    given, words = tool_input(function.get('arguments'))
                    add(TOOL_CALL, word(function.get('name')) or '(unnamed)',
                        call_id(word(call.get('id')) or '%s/%d' % (here, len(out)), self.session), words, given, here)
        elif role == 'tool':
            add(TOOL_RESULT, result_label(text), here + '/result', text,
                ToolResult(call_id(word(data.get('tool_call_id')) or here, self.session), ''))
        elif role not in _MARKERS:
            self.coverage.drift(line, 'row without a known role')
            add(UNKNOWN, 'row without a known role', None, '', None)
        return out

    def at(self, found, offset, length):
        """-> list of Events of the objects found in the line at `offset`."""
        from ..records import Record
        out = []
        for data in found:
            out.extend(self.events(Record(data, 0, offset, length)))
        return out

    def close(self):
        """Nothing is left at the end of a file: []."""
        return []


def is_marker_line(line):
    """True for a row that only the client reads (the system prompt alone is 15 KB), told from its head."""
    head = line[:40].replace(b' ', b'')
    return head.startswith(b'{"role":"_') and line.rstrip(b'\r\n \t')[-1:] == b'}'


def recap(wire, number):
    """-> the summary that the `number`-th compaction of a wire.jsonl left in the context beside it, '' when it is gone."""
    folder = os.path.dirname(wire)
    try:
        names = os.listdir(folder)
    except OSError:
        return ''
    old = sorted((n for n in names if n.startswith('context_') and n[8:-6].isdecimal() and n.endswith('.jsonl')),
                 key=lambda n: int(n[8:-6]))
    found = []
    for name in old + ['context.jsonl']:
        text = _recap_in(os.path.join(folder, name))
        # A context that was cut back keeps the summary it began with.
        if text and text not in found:
            found.append(text)
    return found[number - 1] if number <= len(found) else ''


def _recap_in(path):
    try:
        with open_regular(path) as handle:
            for _ in range(_HEAD_LINES):
                for data in parse_line(handle.readline(_HEAD_BYTES))[0]:
                    if data.get('role') == 'user':
                        text = content_text(data.get('content'))
                        if machine_text(text) != RECAP:
                            return ''
                        # The first line only announces it.
                        return text.partition('\n')[2].strip() or text
    except OSError:
        # No such context.
        return ''
    return ''
