"""One week: its figures beside those before, where the work went, what is new, what changed."""
from collections import namedtuple

from . import comparisons, periods, regressions, signals, themes
from .activity import Activity, day_of, is_session, load
from .measures import sums

# week: periods.Side of the week; sides: it and those before, oldest first; activity: its cells; all: the cells up to its end;
# signals: {row id: Signals} of the week; active: ms; new: {'model': [...], 'tool': [...], 'project': [...]} first seen in it;
# changes: regressions.Findings up to its end; days: how many of it there were; works: (as many days of the week before, the
# week) as lists of Work.
Digest = namedtuple('Digest', 'week sides activity all signals active new changes days works')

BEFORE = 4


def digest(catalog, rows, which, zone, end, price, table):
    """-> Digest of the week that ends with `end` (ms, exclusive; in the middle of a week: of its part until then)."""
    spans = periods.periods('week', end, BEFORE, zone)
    sides = periods.compare(catalog, rows, which, spans, end, zone, None, price)
    span = spans[-1]
    watch = signals.Watch(table)

    def of_week(row, facts):
        inside = [fact for fact in facts if fact.time is not None and span.start <= fact.time < end]
        if inside:
            watch(row, inside)
    everything = load(catalog, rows, zone, None, end, price, (of_week,))
    first, last = day_of(span.start, zone), day_of(end - 1, zone) + 1
    week = Activity(rows, everything.between(first, last), zone)
    works = comparisons.works(everything)
    before = [work for work in works if first - 7 <= work.day < first - 7 + (last - first)]
    now = [work for work in works if first <= work.day < last]
    active = sum(found.active for number, found in watch.sessions.items() if is_session(week.rows[number]))
    return Digest(sides[-1], sides, week, everything, watch.sessions, active, _new(works, first), regressions.find(everything),
                  last - first, (before, now))


def _new(works, first):
    """-> {'model': names, 'tool': names, 'project': names} that occur from day `first` on and not before."""
    seen, found = {}, {}
    for work in works:
        target = found if work.day >= first else seen
        for kind, names in (('model', work.sums.models), ('tool', work.sums.tools), ('project', (work.project,))):
            target.setdefault(kind, set()).update(names)
    if not seen:
        # Nothing is new where there was nothing before.
        return {'model': [], 'tool': [], 'project': []}
    return dict((kind, sorted(found.get(kind, set()) - seen.get(kind, set()))) for kind in ('model', 'tool', 'project'))


def tables(found, end_day):
    """-> {by: Themes} of a Digest's week."""
    return dict((by, [theme for theme in themes.themes(found.activity, by, end_day) if theme.first is not None])
                for by in ('project', 'model', 'tool', 'agent'))


def days(found, first, count):
    """-> list of (day, Sums) of each day of the week."""
    tallies = dict((first + at, {}) for at in range(count))
    for cell in found.activity.cells:
        tally = tallies[cell.day]
        for name, amount in cell.tally.items():
            tally[name] = tally.get(name, 0) + amount
    return [(day, sums(tallies[day])) for day in sorted(tallies)]


def sessions(found):
    """-> [(row, Sums, Signals)] of the week's sessions, the most expensive first."""
    tallies = {}
    for cell in found.activity.cells:
        if not is_session(found.activity.rows[cell.session]):
            continue
        tally = tallies.setdefault(cell.session, {})
        for name, amount in cell.tally.items():
            tally[name] = tally.get(name, 0) + amount
    out = [(found.activity.rows[number], sums(tally), found.signals.get(number)) for number, tally in tallies.items()]
    out.sort(key=lambda one: (-one[1].cost, -one[1].calls, one[0].sid))
    return out
