"""Where a total comes from: the calls of chosen sessions, from what the files say down to what counts."""
from collections import namedtuple

from .. import analysis
from ..adapters import registry
from ..events import BUCKETS, REPLY, USAGE, is_lower_bound
from ..records import Coverage

# Some calls and their tokens by bucket.
Amount = namedtuple('Amount', 'calls tokens')
# The whole account. lines: Amount of all usage lines, None where files were not read; placeholders: lines the client
# wrote in a response's place (None likewise); in_files: each response once a file; replays: of those, what another file of
# the same session owns; copies: what another session owns; owners: {session row id: calls} of copies; left: what counts;
# bounds: of that, calls whose output is only a lower bound.
Account = namedtuple('Account', 'lines placeholders in_files replays copies owners left bounds')

_SUMS = ', '.join('sum(c.%s)' % bucket for bucket in BUCKETS)


def _amount(calls=0, values=(0,) * len(BUCKETS)):
    return Amount(calls or 0, dict((bucket, value or 0) for bucket, value in zip(BUCKETS, values)))


class _Sum(object):
    """Adds up calls: facts, or usage of lines."""

    def __init__(self):
        self.calls, self.sums = 0, [0] * len(BUCKETS)

    def add(self, one):
        """Count one."""
        self.calls += 1
        for place, bucket in enumerate(BUCKETS):
            self.sums[place] += getattr(one, bucket)

    def amount(self):
        """-> the Amount so far."""
        return _amount(self.calls, self.sums)


def plus(a, b, sign=1):
    """-> the sum of two Amounts, or their difference with sign -1."""
    return Amount(a.calls + sign * b.calls, dict((k, a.tokens[k] + sign * b.tokens[k]) for k in BUCKETS))


def account(catalog, rows, since=None, until=None, read=False):
    """-> Account of these sessions' calls, those dated in [since, until) where bounds are given.

    read: count the lines too, which reads every file of the sessions (without bounds only).
    """
    wanted = set(row.id for row in rows)
    left, bounds = _Sum(), _Sum()
    for _, fact, _, _ in catalog.facts(wanted, since, until):
        if fact.kind == analysis.CALL:
            left.add(fact)
            if is_lower_bound(fact.output, fact.status, fact.visible):
                bounds.add(fact)
    left, bounds = left.amount(), bounds.amount()
    replays, copies, owners = _elsewhere(catalog.db, wanted, since, until)
    lines = placeholders = None
    if read:
        lines, placeholders = _amount(), 0
        for row in rows:
            got, client = _lines_of(catalog.db, row.agent, catalog.sources(row))
            lines, placeholders = plus(lines, got), placeholders + client
    in_files = plus(plus(left, replays), copies)
    return Account(lines, placeholders, in_files, replays, copies, owners, left, bounds)


def _elsewhere(db, wanted, since, until):
    """-> (replays, copies, owners) of calls that lie in these sessions' files and are owned by another file."""
    sql, values = '', [analysis.CALL]
    for bound, sign in ((since, '>='), (until, '<')):
        if bound is not None:
            sql += ' and c.time %s ?' % sign
            values.append(bound)
    replays, copies, owners = _amount(), _amount(), {}
    for here, there, calls, *sums in db.execute(
            'select f.session, g.session, count(*), %s from facts c join files f on f.id = c.file'
            ' left join facts o on o.key = c.key and o.owned = 1 left join files g on g.id = o.file'
            ' where c.kind = ? and c.owned = 0%s group by f.session, g.session' % (_SUMS, sql), values):
        if here not in wanted:
            continue
        if here == there:
            replays = plus(replays, _amount(calls, sums))
        else:
            copies = plus(copies, _amount(calls, sums))
            owners[there] = owners.get(there, 0) + calls
    return replays, copies, owners


def _lines_of(db, agent, sources):
    """-> (Amount of all usage lines, number of placeholders) of a session's files, as far as the index has read them."""
    from ..base import paths
    adapter = registry.get(agent)
    total, placeholders = _Sum(), 0
    for source in sources:
        silent = {}     # calls without a line that tells their tokens so far: they may still come
        told = set()
        known = db.execute('select offset from files where path = ?', (paths.storable(source.path),)).fetchone()
        end = known[0] if known is not None and getattr(adapter, 'GROWS', True) else None
        last = None
        for events in adapter.read(source, Coverage(source.path)):
            if end is not None and events and events[0].offset >= end:
                break
            for event in events:
                if event.kind == USAGE:
                    use = event.data
                    if not use.final and not any(use[1:6]):
                        silent[event.id] = use
                    else:
                        told.add(event.id)
                        total.add(use)
                elif event.kind == REPLY and event.label and event.line != last:
                    placeholders += 1
                    last = event.line
        for ident, use in silent.items():
            if ident not in told:
                total.add(use)
    return total.amount(), placeholders
