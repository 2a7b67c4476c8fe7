"""The counted facts of chosen sessions, added up by session and local day: what trends, findings and reports are made of.

Nothing is counted here that stats does not count: a cell is a tally of analysis.contributions, and the cells of a
selection add up to its totals.
"""
import json
from collections import namedtuple

from .. import analysis, analysis_work
from ..analysis_table import FEW, Gathered
from ..base import clock

# session: row id; day: days since 1970 in the reader's zone, None for facts without a time; first: ms of its first fact
# or None; tally: see analysis.
Cell = namedtuple('Cell', 'session day first tally')

NO_PROJECT = '(no project)'
# At most so many sessions' facts are held at a time.
_BATCH = 200
_QUARTER = 900000


class Activity(object):
    """rows: {row id: Row}; cells: list of Cells by time, those without one first; zone."""

    def __init__(self, rows, cells, zone):
        self.rows = dict((row.id, row) for row in rows)
        self.cells = sorted(cells, key=lambda c: (c.day is not None, c.day, c.first is not None, c.first, self.rows[c.session].sid))
        self.zone = zone

    def total(self):
        """-> the tally of all cells."""
        return total(self.cells)

    def between(self, first, end):
        """-> the cells of the days from `first` to the one before `end`."""
        return [cell for cell in self.cells if cell.day is not None and first <= cell.day < end]

    def days(self):
        """-> (first, last) day with a cell, or None."""
        dated = [cell.day for cell in self.cells if cell.day is not None]
        return (dated[0], dated[-1]) if dated else None


def histories(catalog, rows, since=None, until=None, keys=False, few=FEW):
    """Yield (Row, its counted facts in order of time) of each session, those dated in [since, until) where given.

    keys: yield (Row, facts, their keys).  few: facts that are held at a time; a session of more is packed (Table).
    """
    for batch in _batches(rows, few):
        if len(batch) == 1:
            facts = Gathered(few)
            for _, fact, key, _ in catalog.facts({batch[0].id}, since, until):
                facts.add(key, fact)
            yield (batch[0],) + facts.ordered()[:2 if keys else 1]
            continue
        found = dict((row.id, []) for row in batch)
        for session, fact, key, _ in catalog.facts(set(found), since, until):
            found[session].append((fact, key) if keys else fact)
        for row in batch:
            facts = found.pop(row.id)
            if keys:
                facts.sort(key=lambda pair: analysis_work.order(pair[0]))
                yield row, [fact for fact, _ in facts], [key for _, key in facts]
            else:
                facts.sort(key=analysis_work.order)
                yield row, facts


def _batches(rows, few):
    """Yield the rows in lists of at most so many facts, or of one row."""
    batch, held = [], 0
    for row in rows:
        count = json.loads(row.tally or '{}').get('w|facts', 0)
        if batch and (held + count > few or len(batch) == _BATCH):
            yield batch
            batch, held = [], 0
        batch.append(row)
        held += count
    if batch:
        yield batch


def load(catalog, rows, zone, since=None, until=None, price=None, watchers=()):
    """-> Activity of these sessions. watchers: functions called with each (Row, facts) on the way."""
    cells, days = [], {}
    for row, facts in histories(catalog, rows, since, until):
        found = {}
        for fact in facts:
            day = None if fact.time is None else day_of(fact.time, zone, days)
            cell = found.get(day)
            if cell is None:
                cell = found[day] = Cell(row.id, day, fact.time, {})
            tally = cell.tally
            for counter, amount in analysis.contributions(fact, price):
                tally[counter] = tally.get(counter, 0) + amount
        cells.extend(cell for cell in found.values() if cell.tally)
        for watch in watchers:
            watch(row, facts)
    return Activity(rows, cells, zone)


def is_session(row):
    """False for a ledger, whose calls count though nothing tells which session they were made in."""
    return row.readable == 1


def project_of(row):
    """-> the name under which a row's work is told, as in stats."""
    return row.project if is_session(row) and row.project else NO_PROJECT


def day_of(ms, zone, known=None):
    """-> days since 1970 of an instant in a zone. known: a dict that saves work."""
    if known is None:
        return (ms // 1000 + zone.offset(ms)) // 86400
    # A day and its offset are the same all through a quarter of an hour, in every zone.
    quarter = ms // _QUARTER
    day = known.get(quarter)
    if day is None:
        day = known[quarter] = (ms // 1000 + zone.offset(ms)) // 86400
    return day


def day_start(day, zone):
    """-> ms at which a day begins in a zone."""
    return zone.to_utc(*clock.civil_from_days(day))


def monday(day):
    """-> the Monday of a day's week."""
    return day - (day + 3) % 7


def total(cells):
    """-> the tally of these cells together."""
    out = {}
    for cell in cells:
        analysis.add_tally(out, cell.tally)
    return out
