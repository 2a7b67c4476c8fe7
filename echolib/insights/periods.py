"""Days, weeks and months side by side: each whole, the unfinished one against the same part of those before it."""
from bisect import bisect_right
from collections import namedtuple

from .. import analysis
from ..base import clock
from . import trend
from .activity import day_of, day_start, is_session, monday
from .measures import figures
from .shifts import median

UNITS = ('day', 'week', 'month')
# How many periods before the last one are looked at by default.
LOOKBACK = {'day': 14, 'week': 8, 'month': 6}

# key: 2026-03-02, 2026-W10 or 2026-03; first: its first day; start, end: ms; part_end: up to where it is compared with the
# unfinished last one (its own end where that is finished).
Period = namedtuple('Period', 'key first start end part_end')
# period; whole, part: tallies; sessions: how many were active in it (as stats counts them); part_sessions: with a counted
# fact in the part; state: '' or what keeps it from being compared: 'unfinished', 'before', 'begins'.
Side = namedtuple('Side', 'period whole part sessions part_sessions state')

# What is compared: key, where it comes from (figures), what it needs a whole of to say anything, and whether it adds up.
COMPARED = (
    ('sessions', None), ('turns', None), ('api_calls', None), ('total_tokens', None), ('output', None), ('known_cost_usd', None),
    ('cost_per_prompt_usd', 'turns'), ('output_per_prompt', 'turns'), ('cache_hit_rate', 'api_calls'),
    ('tool_error_rate', 'tool_calls'), ('interruptions', None), ('compactions', None))
# A rate of fewer than this is no figure to compare.
LEAST_WHOLE = 20


def periods(unit, end, count, zone):
    """-> `count` Periods and the one after them, in which `end` (ms, exclusive) lies; oldest first."""
    last_day = day_of(end - 1, zone)
    first = _first_day(unit, last_day)
    starts = [first]
    for _ in range(count):
        starts.append(_first_day(unit, starts[-1] - 1))
    starts.reverse()
    after = _next(unit, first)
    bounds = [day_start(day, zone) for day in starts + [after]]
    unfinished = end < bounds[-1]
    # The same part: as many days, and the same time of day.
    days = day_of(end, zone) - first
    clock_time = end + zone.offset(end) * 1000 - (first + days) * 86400000
    out = []
    for at, day in enumerate(starts):
        part = bounds[at + 1]
        if unfinished:
            year, month, date = clock.civil_from_days(day + days)
            part = min(part, zone.to_utc(year, month, date, 0, 0, clock_time // 1000) + clock_time % 1000)
        out.append(Period(_key(unit, bounds[at], zone), clock.day_name(day), bounds[at], bounds[at + 1], part))
    out[-1] = out[-1]._replace(part_end=min(end, out[-1].end))
    return out


def _first_day(unit, day):
    if unit == 'week':
        return monday(day)
    if unit == 'month':
        year, month, _ = clock.civil_from_days(day)
        return clock.days_from_civil(year, month, 1)
    return day


def _next(unit, first):
    if unit == 'week':
        return first + 7
    if unit == 'month':
        year, month, _ = clock.civil_from_days(first)
        return first + clock.days_in_month(year, month)
    return first + 1


def _key(unit, start, zone):
    return clock.week_of(start, zone)[0] if unit == 'week' else clock.month_of(start, zone) if unit == 'month' else clock.local_day(start, zone)


def compare(catalog, rows, which, spans, end, zone, since=None, price=None):
    """-> list of Sides of these Periods. which: the Filter that chose `rows`, for counting sessions as stats does."""
    starts = [span.start for span in spans]
    whole, part = [{} for _ in spans], [{} for _ in spans]
    active = [set() for _ in spans]
    counted = set(row.id for row in rows if is_session(row))
    begin = spans[0].start if since is None else max(since, spans[0].start)
    for session, fact, _, _ in catalog.facts(set(row.id for row in rows), begin, end):
        at = bisect_right(starts, fact.time) - 1
        analysis.apply(whole[at], fact, 1, price)
        if fact.time < spans[at].part_end:
            analysis.apply(part[at], fact, 1, price)
            if session in counted:
                active[at].add(session)
    # A history that begins on a morning has that whole day.
    history = day_start(day_of(begun(rows), zone), zone) if since is None else since
    out = []
    for at, span in enumerate(spans):
        bounds = which._replace(since=max(span.start, begin), until=min(span.end, end))
        state = 'unfinished' if span.end > end else 'before' if span.end <= history else 'begins' if span.start < history else ''
        sessions = sum(1 for _ in catalog.values(('id',), bounds)) if bounds.since < bounds.until else 0
        out.append(Side(span, whole[at], part[at], sessions, len(active[at]), state))
    return out


def begun(rows):
    """-> ms of the first thing known of these sessions, 0 without any."""
    return min([row.created for row in rows if row.created is not None] or [0])


def values(side, part=False):
    """-> {compared key: number or None} of a Side, whole or of its part."""
    keys = figures(side.part if part else side.whole)
    keys['output'] = keys['tokens']['output']
    keys['sessions'] = side.part_sessions if part else side.sessions
    return dict((name, keys[name] if need is None or keys[need] >= LEAST_WHOLE else None) for name, need in COMPARED)


def directions(sides):
    """-> {compared key: trend.Direction} over the finished Sides that lie wholly inside the history."""
    whole = [values(side) for side in sides if not side.state]
    return dict((name, trend.direction([one[name] for one in whole])) for name, _ in COMPARED)


def against(sides):
    """-> {compared key: {value, earlier, median, previous, ratio, above, of}} of the last Side and the same part of the others.

    above: how many of the earlier ones (of) are smaller; ratio: value / median.
    """
    now = values(sides[-1], True)
    before = [values(side, True) for side in sides[:-1] if side.state != 'before' and not (side.state == 'begins')]
    out = {}
    for name, _ in COMPARED:
        earlier = [one[name] for one in before if one[name] is not None]
        value, middle = now[name], median(earlier) if earlier else None
        out[name] = {
            'value': value, 'median': middle, 'previous': before[-1][name] if before else None,
            'ratio': value / float(middle) if value is not None and middle else None,
            'above': None if value is None else sum(1 for one in earlier if one < value), 'of': len(earlier)}
    return out
