"""Reasonix's ledgers: stats/<day>.jsonl (1.x, names no session) and usage.jsonl (0.x, a row a turn and session).

The only place where the client keeps what its calls cost. Prompt counts hold the cached part, completions the reasoning.
"""
import os

from ..events import META, USAGE, Event
from ..records import read_records
from .reasonix_parse import time_of
from .values import count, usage, word

OLD = 'usage.jsonl'
_rows = {}      # path of a usage.jsonl -> (size, mtime_ns, {session: [Bill]}), the last one read


class Bill(object):
    """What one row says was spent. side: not by the session's own turns (a subagent, a call of the client's own)."""

    __slots__ = ('time', 'model', 'fresh', 'read', 'output', 'side', 'key')

    def __init__(self, time, model, fresh, read, output, side, key):
        self.time, self.model, self.side, self.key = time, model, side, key
        self.fresh, self.read, self.output = fresh, read, output

    def event(self, where, part):
        """-> the USAGE event of this row. where: (line, offset, length)."""
        return Event(USAGE, '', self.time, self.side, 0, self.key, self.key, '', usage(self.model, self.fresh, self.output, self.read),
                     where[0], where[1], where[2], part)


def bill_of(data):
    """-> Bill of one row of either ledger, None for a row that counts no tokens."""
    if 'prompt' in data or 'completion' in data:
        sent, output, read = (count(data.get(name)) for name in ('prompt', 'completion', 'cache_hit'))
        side = word(data.get('usage_source'))
        side = '' if side in ('', 'executor') else side
        key = 'stats'
    else:
        sent, output, read = (count(data.get(name)) for name in ('promptTokens', 'completionTokens', 'cacheHitTokens'))
        side = word(data.get('kind'))
        key = word(data.get('session'))
    if not sent + output:
        return None
    read = min(read, sent)
    model = word(data.get('model'))
    # The same row in another copy of the ledger, or in its session, is the same call.
    key = 'reasonix/%s/%s/%s/%d/%d/%d' % (key, data.get('ts'), model, sent, read, output)
    return Bill(time_of(data.get('ts')), model, sent - read, read, output, side, key)


def read_ledger(path, coverage, offset, line):
    """Yield the lists of events of a ledger. What a session claims as its own counts there, not here."""
    for record in read_records(path, coverage, offset, line):
        yield events(record, coverage)


def events(record, coverage):
    """-> list of Events of one Record of a ledger."""
    data, line, offset, length = record
    out = []
    if not offset:
        out.append(Event(META, 'foreign', None, '', 0, None, None, 'ledger', None, line, offset, length, -1))
    bill = bill_of(data)
    if bill is not None:
        out.append(bill.event((line, offset, length), 0))
    elif not ('turn' in data or 'requests' in data or 'ts' in data):
        coverage.drift(line, 'row of an unknown kind')
    return out


def of_session(path, name):
    """-> list of Bills of a 0.x session, from the ledger of the home that `path` lies in."""
    folder = os.path.dirname(os.path.dirname(path))
    if os.path.basename(os.path.dirname(path)) != 'sessions':
        return []
    return rows(os.path.join(folder, OLD)).get(name, [])


def rows(path):
    """-> {session: [Bill]} of a usage.jsonl; {} where there is none."""
    try:
        stat = os.stat(path)
        mark = (stat.st_size, stat.st_mtime_ns)
        if path not in _rows or _rows[path][0] != mark:
            found = {}
            for record in read_records(path):
                bill = bill_of(record.data)
                if bill is not None:
                    found.setdefault(word(record.data.get('session')), []).append(bill)
            _rows.clear()
            _rows[path] = (mark, found)
        return _rows[path][1]
    except OSError:
        # Newer clients keep no such file.
        return {}
