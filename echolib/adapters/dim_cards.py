"""Dim's memory cards to events: each line sums up a session or a part of one; it is no transcript.

What was wanted stands in for the prompt; what was done are calls where they are written as such; how it ended and what
was learned for the answer.
"""
import os

from ..base.clock import parse_time
from ..events import ATTACHMENT, ERROR, INJECTED, META, OK, PROMPT, REPLY, TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN, Event, ToolResult
from ..records import Coverage, Record, read_at, read_records
from .values import as_json, first, mark, result_text, texts_of, tool_input, word

_KNOWN = frozenset('session_time timestamp intent actions learned outcome model_perf'.split())
# Parts of a card's events: prompt, answer, more; actions follow from _ACTIONS on, two numbers each.
_DONE, _OUTCOME, _LEARNED, _MORE, _ACTIONS = 1, 2, 3, 4, 6


def name_of(data):
    """-> what names a card that is a session of its own: its time, and a check sum of it."""
    time = first(data, 'session_time', 'timestamp')
    return '%s-%s' % (''.join(c for c in time[:19] if c.isalnum()) or 'card', mark(as_json(data)))


def filled_in(path):
    """Yield (name, size, mtime_ns) of the cards of a backfill.jsonl; of two that say the same the first one."""
    seen = set()
    for record in read_records(path):
        name = name_of(record.data)
        if name not in seen:
            seen.add(name)
            time = parse_time(first(record.data, 'session_time', 'timestamp')) or 0
            yield name, record.length, time * 1000000 + int(name[-8:], 16) % 1000000


class Parser(object):
    """Turns cards into events. `state` (a dict of plain values) lets a grown file go on."""

    def __init__(self, source, coverage, state):
        self.coverage, self.state = coverage, state
        self.session = source.session or ''
        self.turn = state.get('turn', 0)

    def events(self, record):
        """-> list of Events of one Record."""
        data, line, offset, length = record
        time = parse_time(data.get('session_time')) or parse_time(data.get('timestamp'))
        out = []

        def add(kind, label, ident, text, part, more=None):
            out.append(Event(kind, label, time, '', self.turn, ident, None, text, more, line, offset, length, part))

        intent, outcome = word(data.get('intent')).strip(), word(data.get('outcome')).strip()
        actions = data.get('actions') if type(data.get('actions')) is list else [data.get('actions')]
        done, learned = texts_of(actions), texts_of(data.get('learned'))
        calls = [one for one in actions if type(one) is dict]
        if not (intent or outcome or done or learned or calls):
            self.coverage.drift(line, 'a card without its fields')
            add(UNKNOWN, 'a card without its fields', None, '', 0)
            return out
        if 'said' not in self.state:
            self.state['said'] = 1
            add(META, 'entrypoint', None, 'summary only', -1)
        ident = '%s/%s' % (self.session, name_of(data))
        if intent:
            self.turn += 1
            self.state['turn'] = self.turn
            add(PROMPT, TYPED, ident, intent, 0)
        for place, one in enumerate(calls):
            call, part = '%s/%d' % (ident, place), _ACTIONS + 2 * place
            given, text = tool_input(one.get('input'))
            add(TOOL_CALL, first(one, 'name', 'tool') or '(unnamed)', call, text, part, given)
            failed, result = result_text(one.get('error')), result_text(one.get('result'))
            if failed or result:
                add(TOOL_RESULT, ERROR if failed else OK, call + '/result', failed or result, part + 1, ToolResult(call, ''))
        for part, text in ((_DONE, '\n'.join('- ' + one for one in done)), (_OUTCOME, outcome), (_LEARNED, '\n'.join(learned))):
            if text:
                add(REPLY, '', '%s/r%d' % (ident, part), text, part)
        more = tool_input(dict((key, data[key]) for key in data if key not in _KNOWN))[1]
        if more:
            add(INJECTED, ATTACHMENT, ident + '/more', more, _MORE)
        return out


def _place(source):
    """-> (path of the file, name of the one card in it that is meant, '' for all)."""
    folder, name = os.path.split(source.path)
    return (folder, name) if os.path.basename(folder) == 'backfill.jsonl' else (source.path, '')


def read(source, coverage, offset, line, state):
    """See dim.read."""
    path, name = _place(source)
    make = Parser(source, coverage, state).events
    if not name:
        for record in read_records(path, coverage, offset, line):
            yield make(record)
        return
    # A card of its own is read whole: said to end in the middle of a line, it is never gone on with.
    coverage.open_end = True
    for record in read_records(path):
        if name_of(record.data) == name:
            coverage.lines += 1
            coverage.line = record.line
            coverage.offset = record.length
            yield make(record)
            return


def events_at(source, offset, length):
    """See dim.events_at."""
    path, name = _place(source)
    parser = Parser(source, Coverage(path), {'said': 1})
    return [event for data in read_at(path, offset, length) for event in parser.events(Record(data, 0, offset, length))]
