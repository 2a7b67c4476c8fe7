"""The work of a selection by project, agent, model, tool, branch or skill: totals, and each group's weeks."""
from collections import namedtuple

from .. import analysis
from .. import analysis_work as work
from ..base import clock
from . import trend
from ..analysis_calls import SKILL
from .activity import Cell, day_of, is_session, monday, project_of
from .measures import figures, ratio

BY = ('project', 'agent', 'model', 'tool', 'branch', 'skill')
NO_BRANCH, UNNAMED = '(none)', '(unnamed)'
# Complete weeks at the end that are compared with as many before them.
RECENT = 4

# key; keys: figures of the group; sessions: row ids; projects: how many it lies in; first, last: days; weeks: [(Monday,
# size)] of all weeks of the selection, size being what the group is sorted by (tokens, of tools calls); direction:
# trend.Direction of the complete weeks; recent, earlier: sizes of the last RECENT complete weeks and of those before.
Theme = namedtuple('Theme', 'key keys sessions projects first last weeks direction recent earlier')


class _Group(object):
    def __init__(self):
        self.tally, self.sessions, self.projects, self.first, self.last, self.weeks = {}, set(), set(), None, None, {}

    def add(self, cell, row, tally, size):
        """Take in what a cell holds of this group."""
        analysis.add_tally(self.tally, tally)
        if is_session(row):
            self.sessions.add(row.id)
        self.projects.add(project_of(row))
        if cell.day is not None:
            self.first = cell.day if self.first is None else min(self.first, cell.day)
            self.last = cell.day if self.last is None else max(self.last, cell.day)
            week = monday(cell.day)
            self.weeks[week] = self.weeks.get(week, 0) + size


class SkillTurns(object):
    """Collects the turns that used a skill; use as a watcher of activity.load. price: see analysis.contributions.

    cells: [(skill, Cell)], one a turn and skill, with what the whole turn counts and how often the skill was used.
    """

    def __init__(self, zone, price):
        self.cells = []
        self._zone, self._price, self._days = zone, price, {}

    def __call__(self, row, facts):
        for turn in work.turns(facts):
            part = facts[turn.first:turn.end]
            uses = [fact for fact in part if fact.kind == analysis.TOOL and fact.input == SKILL and fact.name]
            if not uses:
                continue
            whole = {}
            for fact in part if turn.prompt is not None else ():
                analysis.apply(whole, fact, 1, self._price)
            time = next((fact.time for fact in part if fact.time is not None), None)
            day = None if time is None else day_of(time, self._zone, self._days)
            for name in set(fact.extra for fact in uses):
                mine = [fact for fact in uses if fact.extra == name]
                self.cells.append((name or UNNAMED, Cell(row.id, day, time, dict(
                    whole, skill_uses=len(mine), skill_errors=sum(1 for fact in mine if fact.status == analysis.FAILED)))))


def themes(activity, by, end_day, skills=()):
    """-> Themes, largest first. end_day: the day that is not over yet; its week is not complete. skills: cells of SkillTurns."""
    groups = {}
    if by in ('project', 'agent', 'branch'):
        # Sessions without anything counted belong to their group as well, as in stats.
        for row in activity.rows.values():
            group = groups.setdefault(_of_row(row, by), _Group())
            if is_session(row):
                group.sessions.add(row.id)
            group.projects.add(project_of(row))
    for key, cell in skills:
        groups.setdefault(key, _Group()).add(cell, activity.rows[cell.session], cell.tally, _tokens(cell.tally))
    for cell in activity.cells if by != 'skill' else ():
        row = activity.rows[cell.session]
        for key, tally, size in _parts(cell.tally, row, by):
            groups.setdefault(key, _Group()).add(cell, row, tally, size)
    weeks = _weeks(activity, end_day)
    out = []
    for key in groups:
        group = groups[key]
        series = [(week, group.weeks.get(week, 0)) for week in weeks]
        complete = [size for week, size in series if week + 7 <= end_day]
        recent, earlier = complete[-RECENT:], complete[-2 * RECENT:-RECENT]
        out.append(Theme(key, _keys(group, by, key), group.sessions, len(group.projects), group.first, group.last, series,
                         trend.direction(complete), sum(recent), sum(earlier) if len(earlier) == RECENT else None))
    out.sort(key=lambda t: (-_size(t.keys, by), -len(t.sessions), t.key))
    return out


def _weeks(activity, end_day):
    span = activity.days()
    if span is None:
        return []
    # What a wrong clock dated after the end stretches no axis, unless there is nothing else.
    return list(range(monday(span[0]), monday(end_day if span[0] <= end_day else span[1]) + 7, 7))


def _of_row(row, by):
    return project_of(row) if by == 'project' else row.agent if by == 'agent' else row.branch or NO_BRANCH


def _parts(tally, row, by):
    """Yield (key, part of the tally, size) of each group a cell belongs to."""
    if by == 'model' or by == 'tool':
        parts = {}
        for name, amount in tally.items():
            if name[:2] == ('m|' if by == 'model' else 't|'):
                parts.setdefault(name[2:].rsplit('|', 1)[0], {})[name] = amount
        for key, part in parts.items():
            yield key, part, part.get('t|%s|calls' % key, 0) if by == 'tool' else _tokens(part)
    else:
        yield _of_row(row, by), tally, _tokens(tally)


def _tokens(tally):
    return sum(amount for name, amount in tally.items() if name[:2] == 'm|' and name.rsplit('|', 1)[1] in analysis.BUCKETS)


def _size(keys, by):
    return keys['calls'] if by == 'tool' else keys['total_tokens']


def _keys(group, by, key):
    if by == 'tool':
        out = analysis.tools_of(group.tally).get(key, {'calls': 0, 'errors': 0, 'declined': 0})
        return dict(out, error_rate=ratio(out['errors'], out['calls']))
    if by == 'model':
        out = analysis.models_of(group.tally)[key]
        out['total_tokens'] = sum(out['tokens'].values())
        out['cost_per_call_usd'] = None if out['cost_usd'] is None else ratio(out['cost_usd'], out['api_calls'])
        return out
    out = figures(group.tally)
    if by == 'skill':
        out.update(calls=group.tally.get('skill_uses', 0), errors=group.tally.get('skill_errors', 0))
        out['error_rate'] = ratio(out['errors'], out['calls'])
    return out


def week_name(week):
    """-> the date of a Monday."""
    return clock.day_name(week)
