"""A change divided into parts: they add up, and each goes where it belongs."""
import pytest
from histories import FIRST, NEW, OLD, change as planted, history

from echolib.insights import change, comparisons
from echolib.insights.comparisons import Work
from echolib.insights.measures import sums

P1 = '/home/dev/p1'


def work(project, turns, models, day=0, tools=None, session=1):
    """models: {name: (calls, input, output, cache read, cost in USD of the output)}."""
    tally = {'user_prompts': turns} if turns else {}
    for name, (calls, sent, output, read, cost) in models.items():
        tally['api_calls'] = tally.get('api_calls', 0) + calls
        tally['m|%s|calls' % name] = calls
        for bucket, amount in (('input', sent), ('output', output), ('cache_read', read), ('cost_output', int(cost * 10 ** 12))):
            if amount:
                tally['m|%s|%s' % (name, bucket)] = amount
    for name, (calls, errors) in (tools or {}).items():
        tally['tool_calls'] = tally.get('tool_calls', 0) + calls
        tally['t|%s|calls' % name], tally['t|%s|errors' % name] = calls, errors
    return Work(day, session, project, sums(tally))


def parts(found):
    return dict(((part.kind, part.project, part.name), round(part.amount, 9)) for part in found.parts)


def adds_up(found):
    assert abs(sum(part.amount for part in found.parts) - (found.after - found.before)) <= 1e-9 * max(abs(found.after), abs(found.before), 1)
    return True


def test_one_factor_takes_all():
    base = work('a', 10, {OLD: (40, 0, 4000, 0, 1.0)})
    twice = work('a', 10, {OLD: (40, 0, 8000, 0, 2.0)})
    assert parts(change.explain([base], [twice], 'output-per-prompt')) == {('output', 'a', OLD): 400}
    more = work('a', 10, {OLD: (80, 0, 8000, 0, 2.0)})
    assert parts(change.explain([base], [more], 'output-per-prompt')) == {('calls', 'a', ''): 400}
    # A total a day: twice the prompts in half the days.
    busy = work('a', 20, {OLD: (80, 0, 8000, 0, 2.0)})
    assert parts(change.explain([base], [busy], 'output', 10, 5)) == {('prompts', '', ''): 8000 / 5.0 - 400}


def test_model_switch():
    base = work('a', 10, {OLD: (40, 0, 4000, 0, 1.0)})
    other = work('a', 10, {NEW: (40, 0, 12000, 0, 9.0)})
    assert parts(change.explain([base], [other], 'output-per-prompt')) == {('model', 'a', ''): 800}
    assert parts(change.explain([base], [other], 'cost-per-prompt')) == {('model', 'a', ''): 0.8}


def test_price_and_cache():
    base = work('a', 10, {OLD: (40, 1000, 4000, 9000, 1.0)})
    dearer = work('a', 10, {OLD: (40, 1000, 4000, 9000, 3.0)})
    assert parts(change.explain([base], [dearer], 'cost-per-prompt')) == {('price', 'a', OLD): 0.2}
    moved = work('a', 10, {OLD: (40, 9000, 4000, 1000, 1.0)})
    assert adds_up(change.explain([base], [moved], 'tokens-per-prompt'))
    assert set(kind for kind, _, _ in parts(change.explain([base], [moved], 'tokens-per-prompt'))) == {'cache'}


def test_projects_that_come_and_go():
    cheap, dear = work('a', 10, {OLD: (40, 0, 4000, 0, 1.0)}), work('b', 10, {OLD: (40, 0, 40000, 0, 1.0)})
    found = change.explain([cheap], [dear], 'output-per-prompt')
    assert adds_up(found) and parts(found) == {('mix', '', ''): 3600}
    # The same rates, other shares.
    found = change.explain([cheap, dear], [cheap, dear, dear, dear], 'output-per-prompt')
    assert adds_up(found) and set(kind for kind, _, _ in parts(found)) == {'mix'}


def test_work_without_prompts():
    machine = work('m', 0, {OLD: (40, 0, 4000, 0, 1.0)})
    typed = work('a', 10, {OLD: (40, 0, 4000, 0, 1.0)})
    assert change.explain([machine], [typed], 'output-per-prompt') is None
    found = change.explain([typed], [typed, machine], 'output-per-prompt')
    assert adds_up(found) and parts(found) == {('calls', 'm', ''): 400}
    found = change.explain([machine], [machine, typed], 'output')
    assert adds_up(found) and found.after - found.before == 4000


def test_tool_errors():
    base = work('a', 1, {}, tools={'Bash': (100, 10), 'Read': (100, 0)})
    worse = work('a', 1, {}, tools={'Bash': (100, 50), 'Read': (100, 0)})
    found = change.explain([base], [worse], 'tool-errors')
    assert adds_up(found) and parts(found) == {('errors', 'a', 'Bash'): 0.2}
    other = work('a', 1, {}, tools={'Bash': (150, 15), 'Read': (50, 0)})
    assert set(kind for kind, _, _ in parts(change.explain([base], [other], 'tool-errors'))) == {'tools'}
    assert change.explain([base], [work('a', 1, {})], 'tool-errors') is None


@pytest.mark.parametrize('metric', sorted(change.METRICS))
@pytest.mark.parametrize('seed', [1, 2, 3])
def test_parts_of_whole_histories_add_up(metric, seed):
    works = comparisons.works(history(seed, days=40, projects=4, changes=(planted(25, P1, model=1.0), planted(25, None, cost=1.5))))
    for day in (FIRST + 10, FIRST + 25, FIRST + 38):
        before, after = [w for w in works if w.day < day], [w for w in works if w.day >= day]
        for one, two in ((before, after), (after, before)):
            assert adds_up(change.explain(one, two, metric, 25, 15))


def test_direction_turned_round_turns_every_part_round():
    works = comparisons.works(history(4, days=40, projects=3))
    before, after = [w for w in works if w.day < FIRST + 20], [w for w in works if w.day >= FIRST + 20]
    there, back = parts(change.explain(before, after, 'cost-per-prompt')), parts(change.explain(after, before, 'cost-per-prompt'))
    assert set(there) == set(back) and all(abs(there[key] + back[key]) < 1e-6 for key in there)


def test_the_day_of_a_planted_change_is_found():
    works = comparisons.works(history(5, days=60, projects=2, sessions=1.5, changes=(planted(40, None, output=4.0),)))
    day, chance, found = change.best_day(works, 'output-per-prompt')
    assert found and chance < 1e-3 and abs(day - FIRST - 40) <= 2
    before, after = [w for w in works if w.day < day], [w for w in works if w.day >= day]
    split = change.explain(before, after, 'output-per-prompt')
    longer = sum(part.amount for part in split.parts if part.kind == 'output')
    assert longer > 0.6 * (split.after - split.before)
    assert change.best_day([], 'cost') == (None, None, False)
