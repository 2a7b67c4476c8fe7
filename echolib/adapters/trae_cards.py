"""Trae CN's memory cards to events: each line sums up one exchange, written by an agent of its own, not by who talked.

What was wanted stands in for the prompt; what was done, how it ended and what was learned for the answer. There are no
tokens, tools or errors in them (a word like "error" in a card is what the exchange was about).
"""
import os
import re

from ..base import clock
from ..events import ATTACHMENT, INJECTED, META, PROMPT, REPLY, TYPED, UNKNOWN, Event
from .folder_names import directory_of
from .values import first, mark, texts_of, tool_input, word

_KNOWN = frozenset('intent actions outcome learned message_summary_time message_id'.split())
_WHEN = re.compile(r'(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)\Z')


def local_time(text, day, zone):
    """-> ms of a time of day as this machine's clock showed it; else the beginning of the day (YYYYMMDD); None."""
    found = _WHEN.match(text.strip()) if type(text) is str else None
    parts = [int(part) for part in found.groups()] if found else None
    if parts is None and len(day) == 8 and day.isdecimal():
        parts = [int(day[:4]), int(day[4:6]), int(day[6:]), 0, 0, 0]
    if parts is None or not (1 <= parts[1] <= 12 and 1 <= parts[2] <= clock.days_in_month(parts[0], parts[1]) and parts[3] < 24
                             and parts[4] < 60 and parts[5] < 60 and parts[0] > 0):
        return local_time('', day, zone) if found else None
    return zone.to_utc(*parts)


class Parser(object):
    """Turns the cards of one file into events. `state` (a dict of plain values) lets a grown file go on."""

    def __init__(self, source, coverage, state):
        self.coverage, self.state = coverage, state
        self.session = source.session or ''
        folder = os.path.dirname(source.path)
        self.day = os.path.basename(folder)
        self.slug = os.path.basename(os.path.dirname(folder))
        self.zone = clock.zone()
        self.turn = state.get('turn', 0)

    def events(self, record):
        """-> list of Events of one Record."""
        data, line, offset, length = record
        time = local_time(data.get('message_summary_time'), '', self.zone)
        if time is None:
            # Of its day only; and hardly written before the card in front of it.
            time = max(filter(None, (local_time('', self.day, self.zone), self.state.get('time'))), default=None)
        self.state['time'] = time
        out = []

        def add(kind, label, ident, text, part=None):
            out.append(Event(kind, label, time, '', self.turn, ident, None, text, None, line, offset, length, len(out) if part is None else part))

        intent, outcome = word(data.get('intent')).strip(), word(data.get('outcome')).strip()
        actions, learned = texts_of(data.get('actions')), texts_of(data.get('learned'))
        if not (intent or outcome or actions or learned):
            self.coverage.drift(line, 'a card without its fields')
            add(UNKNOWN, 'a card without its fields', None, '')
            return out
        if 'cwd' not in self.state:
            self.state['cwd'] = directory_of(self.slug) or self.slug
            add(META, 'cwd', None, self.state['cwd'], -1)
            add(META, 'entrypoint', None, 'summary only', -1)
        # Parts are numbered as if nothing stood before them.
        ident = '%s/%s' % (self.session, first(data, 'message_id') or '%s:%d' % (self.day, offset))
        base = len(out)
        if intent:
            self.turn += 1
            self.state['turn'] = self.turn
            add(PROMPT, TYPED, '%s/%s' % (ident, mark(intent)), intent, 0)
        for part, (name, text) in enumerate((('actions', '\n'.join('- ' + one for one in actions)), ('outcome', outcome),
                                             ('learned', '\n'.join(learned))), 1):
            if text:
                add(REPLY, '', '%s/%s' % (ident, name), text, part)
        more = tool_input(dict((key, data[key]) for key in data if key not in _KNOWN))[1]
        if more:
            add(INJECTED, ATTACHMENT, ident + '/more', more, 4)
        return out[:base] + [one._replace(turn=self.turn) for one in out[base:]]


def read(source, coverage, offset, line, state):
    """See trae_cn.read."""
    from ..records import read_records
    make = Parser(source, coverage, state).events
    for record in read_records(source.path, coverage, offset, line):
        yield make(record)


def events_at(source, offset, length):
    """See trae_cn.events_at."""
    from ..records import Coverage, Record, read_at
    parser = Parser(source, Coverage(source.path), {'cwd': ''})
    return [event for data in read_at(source.path, offset, length) for event in parser.events(Record(data, 0, offset, length))]
