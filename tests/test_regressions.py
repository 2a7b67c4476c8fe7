"""What got worse: nothing in histories without a change, what was planted in those with one."""
import random

import pytest
from helpers import newer_only
from histories import FIRST, NEW, OLD, Activity, bursts, change, history

from echolib.insights import comparisons, regressions, shifts
from echolib.insights.shifts import Unit

slow = pytest.mark.slow
P1 = '/home/dev/p1'


def alarms(activity):
    return regressions.find(activity).alarms


def subjects(found):
    return set((alarm.series.measure, alarm.series.subject.get('project'), alarm.series.subject.get('tool')) for alarm in found)


# Twenty histories without a change raise at most one alarm between them

@newer_only
@slow
@pytest.mark.parametrize('kind', [dict(), dict(alike=0.5), dict(drift=3.0, sessions=0.6), dict(sessions=2.0, projects=2)], ids=str)
def test_no_change_no_alarm(kind):
    given = dict(dict(days=60, projects=3), **kind)
    raised = [alarms(history(seed, **given)) for seed in range(500, 520)]
    assert sum(len(regressions.together(found)) for found in raised) <= 1


# Seeds and kinds that nothing was fitted to.
FRESH = {'alike': lambda seed: history(seed, days=60, projects=3, alike=0.5), 'very alike': lambda seed: history(seed, days=70, projects=2, alike=0.8),
         'bursts': lambda seed: bursts(seed, days=60, projects=2)}


@newer_only
@slow
@pytest.mark.parametrize('kind', sorted(FRESH))
def test_no_change_no_alarm_in_other_kinds(kind):
    raised = [alarms(FRESH[kind](seed)) for seed in range(9100, 9120)]
    assert sum(len(regressions.together(found)) for found in raised) <= 1


@slow
def test_one_project_in_place_of_another_is_no_change():
    # Work moves from a cheap project to one that costs much and fails often.
    both = history(11, days=80, projects=2)
    names = sorted(set(row.project for row in both.rows.values()))
    cells = [cell for cell in both.cells if (both.rows[cell.session].project == names[0]) == (cell.day < FIRST + 40)]
    rows = [both.rows[number] for number in sorted(set(cell.session for cell in cells))]
    assert alarms(Activity(rows, cells, both.zone)) == []


# What was planted is found

@slow
@pytest.mark.parametrize('seed', [601, 602, 603])
def test_cost_jump_in_one_project(seed):
    found = alarms(history(seed, days=80, projects=3, sessions=1.5, changes=(change(50, P1, cost=3.5),)))
    assert ('cost_per_prompt', P1, None) in subjects(found)
    assert set(alarm.series.subject.get('project') for alarm in found) == {P1}
    best = next(alarm for alarm in found if alarm.series.measure == 'cost_per_prompt')
    assert abs(best.day - FIRST - 50) <= 4 and best.worse and 2 < best.after / best.before < 7
    assert best.before_sessions > 20 and best.after_sessions > 5 and len(best.sessions) == 3
    assert len(regressions.together(found)) == 1


@slow
@pytest.mark.parametrize('seed', [611, 612, 613])
def test_failing_tool_in_one_project(seed):
    found = alarms(history(seed, days=80, projects=3, sessions=1.5, changes=(change(50, P1, fail={'Bash': 0.6}),)))
    assert ('tool_error_rate', P1, 'Bash') in subjects(found)
    best = next(alarm for alarm in found if alarm.series.subject.get('tool') == 'Bash')
    assert abs(best.day - FIRST - 50) <= 4 and best.before < 0.2 < 0.4 < best.after
    assert best.before_whole > 100 and best.after_whole > 50
    # The session to open is one with many errors since then.
    assert best.sessions and all(number > 0 for number in best.sessions)


@slow
def test_tool_that_fails_everywhere_is_found_where_no_project_has_enough():
    found = alarms(history(621, days=60, projects=8, sessions=0.25, changes=(change(40, None, fail={'Bash': 0.6}),)))
    best = next(alarm for alarm in found if alarm.series.subject == {'tool': 'Bash'})
    assert best.like_for_like and best.after > 2 * best.before


@slow
@pytest.mark.parametrize('seed', [634, 635, 637])
def test_model_switch_in_one_project(seed):
    # From mostly the one to the other only.
    switched = history(seed, days=80, projects=3, sessions=1.5, changes=(change(50, P1, model=1.0), change(0, P1, model=0.05)))
    found = [alarm for alarm in alarms(switched) if alarm.series.measure == 'model_share']
    assert set(alarm.series.subject['model'] for alarm in found) == {OLD, NEW}
    assert set(alarm.series.subject['project'] for alarm in found) == {P1}
    assert all(abs(alarm.day - FIRST - 50) <= 4 for alarm in found)


@slow
def test_what_has_gone_again_is_not_told():
    # Worse for two weeks in the middle, then as before.
    found = alarms(history(641, days=90, projects=2, sessions=2.0, changes=(change(30, P1, cost=5.0), change(50, P1, cost=0.2))))
    assert [alarm for alarm in found if alarm.series.measure == 'cost_per_prompt'] == []


@slow
def test_better_is_told_apart():
    found = regressions.find(history(651, days=80, projects=2, sessions=1.5, changes=(change(50, P1, cost=0.2),)))
    assert found.alarms == [] and ('cost_per_prompt', P1, None) in subjects(found.better)


@slow
def test_small_samples_never_alarm():
    # Five sessions on two days, however bad.
    found = regressions.find(history(661, days=30, projects=1, sessions=0.3, changes=(change(27, None, cost=100.0, fail={'Bash': 1.0}),)))
    assert found.alarms == [] and found.too_small > 0


def test_same_input_same_answer():
    one, two = [regressions.find(history(671, days=40, projects=2, changes=(change(25, P1, cost=4.0),))) for _ in range(2)]
    assert [(a.series.measure, a.day, a.chance, a.sessions) for a in one.alarms] == [
        (a.series.measure, a.day, a.chance, a.sessions) for a in two.alarms]


# Pieces

def units(values, whole=10, stratum='p', per_day=1):
    return [Unit(100 + at // per_day, stratum, value, whole, at) for at, value in enumerate(values)]


def test_a_day_is_never_divided():
    found = shifts.candidates(units([1] * 24, per_day=4))
    assert found == [12]                # days 0 1 2 | 3 4 5: three days on each side
    assert shifts.candidates(units([1] * 8)) == [4]
    assert shifts.candidates(units([1] * 7)) == []


def test_split_of_a_clear_step():
    series = units([1] * 12 + [5] * 12)
    split = shifts.best_split(series, shifts.ratio_scores(series))
    assert (split.at, split.day, split.up) == (12, 112, True) and split.chance < 1e-4
    series = units([1] * 24)
    assert shifts.best_split(series, shifts.ratio_scores(series)) is None


def test_like_neighbours_count_less():
    rng = random.Random(5)
    level, values = 0.0, []
    for _ in range(120):
        level = 0.8 * level + rng.gauss(0, 1)
        values.append(2.718 ** level)
    wider, count = shifts.alikeness(units(values), shifts.ratio_scores(units(values)))
    assert count == 120 and wider > 2
    free = [2.718 ** rng.gauss(0, 1) for _ in range(120)]
    assert shifts.alikeness(units(free), shifts.ratio_scores(units(free)))[0] < 1.6


def test_strata_are_compared_with_themselves():
    series = units([1] * 10, stratum='cheap') + [one._replace(day=one.day + 10) for one in units([9] * 10, stratum='dear')]
    assert shifts.best_split(series, shifts.ratio_scores(series)) is None
    assert shifts.level_like(series[:10], series[10:]) is None
    mixed = [one._replace(stratum='ab'[at % 2]) for at, one in enumerate(units([1, 3] * 5))]
    assert abs(shifts.level_like(mixed, [mixed[0], mixed[1]._replace(whole=30)]) - (10 * 0.1 + 30 * 0.3) / 40) < 1e-12


def test_comparisons_that_could_not_alarm_cost_nothing():
    assert shifts.affordable([0.5] * 50 + [1e-9], 0.01) == 1
    assert shifts.affordable([1e-9] * 50, 0.01) == 50
    assert shifts.affordable([1e-9] * 10 + [0.0015] * 40, 0.01) == 10
    assert shifts.affordable([], 0.01) == 1


def test_unknown_prices_and_counts_are_left_out():
    activity = history(3, days=30, projects=1)
    for cell in activity.cells[::2]:
        cell.tally['output_known_calls'] = 0
        cell.tally['m|%s|unpriced_calls' % OLD] = 1
    found = dict((series.measure, len(series.units)) for series in comparisons.of_projects(comparisons.works(activity)) if len(series.subject) == 1)
    assert found['cost_per_prompt'] < found['calls_per_prompt'] and found['output_per_prompt'] < found['calls_per_prompt']
