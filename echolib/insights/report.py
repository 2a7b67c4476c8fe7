"""The figures of a report: a selection's totals, its days, bars over time by model, tools, projects, caches and hours."""
from collections import namedtuple

from .. import analysis
from ..base import clock
from . import measures, themes
from .activity import monday, project_of

# figures: measures.figures of all; days: {day: Sums}; bars: list of Bars; models: names in the order of their cost and tokens;
# undated: Sums of what has no time; tools, projects: Themes; hours: 7 lists of 24 counts of API calls, Monday first;
# streak: (longest, its last day) of days in a row with work; contexts: list of Context, largest first, of few sessions last.
Report = namedtuple('Report', 'figures unit bars days models undated tools projects hours streak contexts')
# What sessions of a project send with their first call: number of sessions, median and 90th percentile of tokens.
Context = namedtuple('Context', 'project sessions median p90')
# label; first: its first day; sums: Sums of the days in it.
Bar = namedtuple('Bar', 'label first sums')

# Sessions of a project below which its context says little.
_FEW = 5
# At most so many days, then weeks, are bars of their own.
_DAYS, _WEEKS = 45, 60


class Hours(object):
    """Counts API calls by weekday and hour; use as a watcher of activity.load."""

    def __init__(self, zone):
        self._zone = zone
        self.counts = [[0] * 24 for _ in range(7)]
        self.undated = 0

    def __call__(self, row, facts):
        for fact in facts:
            if fact.kind == analysis.CALL:
                if fact.time is None:
                    self.undated += 1
                    continue
                local = fact.time // 1000 + self._zone.offset(fact.time)
                # 1970-01-01, day 0, was a Thursday.
                self.counts[(local // 86400 + 3) % 7][local // 3600 % 24] += 1


def build(activity, hours, end_day, signals):
    """-> Report of an Activity. end_day: the day that is not over yet, for the weeks of tools and projects; signals: {row id: Signals}."""
    whole = activity.total()
    by_day, undated = {}, {}
    for cell in activity.cells:
        into = undated if cell.day is None else by_day.setdefault(cell.day, {})
        for name, amount in cell.tally.items():
            into[name] = into.get(name, 0) + amount
    days = dict((day, measures.sums(tally)) for day, tally in by_day.items())
    unit, bars = _bars(by_day)
    found = measures.sums(whole)
    models = sorted(found.models, key=lambda m: (-sum(found.models[m].costs), -sum(found.models[m].buckets), m))
    return Report(measures.figures(whole), unit, bars, days, models, measures.sums(undated), themes.themes(activity, 'tool', end_day),
                  themes.themes(activity, 'project', end_day), hours.counts, _streak(sorted(by_day)), _contexts(activity, signals))


def _contexts(activity, signals):
    """-> list of Context of the projects whose sessions have a first call."""
    found = {}
    for number, signal in signals.items():
        if signal.first_context is not None:
            found.setdefault(project_of(activity.rows[number]), []).append(signal.first_context)
    out = [Context(project, len(sizes), percentile(sizes, 0.5), percentile(sizes, 0.9)) for project, sizes in found.items()]
    # What a few sessions show comes last.
    return sorted(out, key=lambda one: (one.sessions < _FEW, -one.median, one.project))


def percentile(values, share):
    """-> the value below which that share of a list lies, interpolated linearly."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _bars(by_day):
    """-> (unit, Bars of all days, weeks or months from the first day to the last, empty ones too)."""
    if not by_day:
        return 'day', []
    first, last = min(by_day), max(by_day)
    if last - first < _DAYS:
        unit, starts = 'day', list(range(first, last + 1))
    elif (last - first) // 7 < _WEEKS:
        unit, starts = 'week', list(range(monday(first), last + 1, 7))
    else:
        unit, starts = 'month', _months(first, last)
    tallies, at = [{} for _ in starts], 0
    for day in sorted(by_day):
        while at + 1 < len(starts) and starts[at + 1] <= day:
            at += 1
        analysis.add_tally(tallies[at], by_day[day])
    return unit, [Bar(_label(unit, start), start, measures.sums(tally)) for start, tally in zip(starts, tallies)]


def _months(first, last):
    year, month, _ = clock.civil_from_days(first)
    out = []
    day = clock.days_from_civil(year, month, 1)
    while day <= last:
        out.append(day)
        day += clock.days_in_month(year, month)
        year, month, _ = clock.civil_from_days(day)
    return out


def _label(unit, start):
    name = clock.day_name(start)
    return name[:7] if unit == 'month' else name


def _streak(days):
    """-> (length of the longest run of days in a row, its last day), (0, None) without days."""
    best, run = (0, None), 0
    for at, day in enumerate(days):
        run = run + 1 if at and days[at - 1] == day - 1 else 1
        if run > best[0]:
            best = run, day
    return best
