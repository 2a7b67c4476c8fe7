"""Direction of series: slopes, pairs, and chances against tables of Kendall's test."""
import itertools
import random

from echolib.insights import trend


def test_slope_is_the_middle_of_all_pairs():
    found = trend.direction([1, 2, 3, 4, 5, 600])
    # Pairs without the last: slope 1; with it 595 to 119.4.
    assert found.slope == 1 and (found.rising, found.falling) == (15, 0) and found.word == 'rising'
    assert trend.direction([6, 5, 4, 3, 2, 1]).word == 'falling'


def test_chance_is_that_of_all_orders():
    scores = []
    for order in itertools.permutations(range(6)):
        scores.append(sum(1 if b > a else -1 for a, b in itertools.combinations(order, 2)))
    for values in ([1, 2, 3, 4, 5, 6], [2, 1, 3, 4, 6, 5], [3, 1, 2, 6, 5, 4]):
        found = trend.direction(values)
        score = found.rising - found.falling
        exact = sum(1 for one in scores if abs(one) >= abs(score)) / float(len(scores))
        assert abs(found.chance - exact) < 1e-9


def test_few_values_have_no_direction():
    assert trend.direction([1, 2, 3, 4]).word == trend.TOO_FEW
    assert trend.direction([None, 1, 2, None, 3, 4]).word == trend.TOO_FEW
    assert trend.direction([]).word == trend.TOO_FEW
    # Five in a row come by chance in 1 of 60.
    assert trend.direction([1, 2, 3, 4, 5]).word == 'perhaps rising'


def test_a_step_without_a_value_is_a_step():
    assert trend.direction([0, None, 2, 3, None, 5, 6, 7]).slope == 1


def test_small_changes_are_none():
    assert trend.direction([100 + i * 0.5 for i in range(9)]).word == trend.NONE
    assert trend.direction([100 + i * 5 for i in range(9)]).word == 'rising'


def test_ties_and_nothing():
    assert trend.direction([0] * 8).word == trend.NONE and trend.direction([0] * 8).over is None
    assert trend.direction([0, 0, 0, 0, 1, 1, 1, 1]).chance < 0.05


def test_chance_series_rarely_have_a_direction():
    rng = random.Random(3)
    words = [trend.direction([rng.gauss(0, 1) + 3 for _ in range(8)]).word for _ in range(400)]
    assert sum(word in ('rising', 'falling') for word in words) <= 8
    assert sum(word.startswith('perhaps') for word in words) <= 24
