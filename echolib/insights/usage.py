"""Tokens and cost of API calls, each at its own time, by day, week, month, hour, session, model, agent or project."""
from collections import namedtuple

from .. import analysis
from ..base import clock
from .activity import project_of

BY = ('day', 'week', 'month', 'hour', 'session', 'model', 'agent', 'project')
PERIODS = frozenset(('day', 'week', 'month', 'hour'))
# Calls without a time of their own.
UNDATED = '(no time)'

# key: what groups; start: first day of a period, '' for names; tally: see analysis; sessions: ids of rows with calls in it.
Group = namedtuple('Group', 'key start tally sessions')


def usage(catalog, rows, by, zone, since=None, until=None, price=None):
    """-> (list of Groups, tally of all) of the calls of these sessions, those dated in [since, until) where given.

    Periods come in order, everything else by tokens, most first. The calls are those that stats counts.
    """
    by_id = dict((row.id, row) for row in rows)
    name = _names(by, zone)
    groups, total = {}, {}
    for session, fact, _, _ in catalog.facts(set(by_id), since, until):
        if fact.kind != analysis.CALL:
            continue
        key, start = name(by_id[session], fact)
        # One id may be that of several sessions: of two agents, or in two projects.
        place = session if by == 'session' else key
        group = groups.get(place)
        if group is None:
            group = groups[place] = Group(key, start, {}, set())
        group.sessions.add(session)
        for counter, amount in analysis.contributions(fact, price):
            group.tally[counter] = group.tally.get(counter, 0) + amount
    for group in groups.values():
        analysis.add_tally(total, group.tally)
    found = list(groups.values())
    if by in PERIODS:
        # '(' sorts before digits: what has no time comes first.
        found.sort(key=lambda g: g.key)
        if by == 'hour':
            # The hour that comes twice has the larger offset first.
            found.sort(key=lambda g: clock.parse_time(g.key) or 0)
    else:
        found.sort(key=lambda g: (-tokens(g.tally), g.key))
    return found, total


def tokens(tally):
    """-> all tokens of a tally."""
    return sum(amount for name, amount in tally.items()
               if name.startswith('m|') and name.rsplit('|', 1)[1] in analysis.BUCKETS)


def _names(by, zone):
    """-> function(row, fact) -> (key, first day) of the group that a call belongs to."""
    if by == 'session':
        return lambda row, fact: (row.sid, '')
    if by == 'model':
        return lambda row, fact: (fact.name or 'unknown', '')
    if by == 'agent':
        return lambda row, fact: (row.agent, '')
    if by == 'project':
        return lambda row, fact: (project_of(row), '')
    known, period = {}, _PERIOD[by]

    def of_time(row, fact):
        if fact.time is None:
            return UNDATED, ''
        # A period and its offset are the same all through a quarter of an hour, in every zone.
        quarter = fact.time // 900000
        found = known.get(quarter)
        if found is None:
            found = known[quarter] = period(fact.time, zone)
        return found
    return of_time


def _day(ms, zone):
    day = clock.local_day(ms, zone)
    return day, day


def _month(ms, zone):
    month = clock.month_of(ms, zone)
    return month, month + '-01'


def _hour(ms, zone):
    # With its offset, since the hour before winter time comes twice.
    text = clock.format_time(ms, zone)
    return '%s:00%s' % (text[:13], clock.offset_name(zone.offset(ms))), text[:10]


_PERIOD = {'day': _day, 'week': clock.week_of, 'month': _month, 'hour': _hour}


def figures(tally):
    """-> dict of the shared keys that calls alone give: counts, tokens, cost."""
    keys = analysis.shared_keys(tally)
    out = dict((k, keys[k]) for k in ('api_calls', 'assistant_messages', 'output_known_calls', 'tokens', 'cost_usd', 'known_cost_usd',
                                      'total_is_lower_bound', 'unpriced', 'cache_hit_rate'))
    out['total_tokens'] = sum(keys['tokens'].values())
    return out
