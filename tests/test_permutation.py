"""The chance of a group's sum, held against counting every choice."""
import itertools
import random

import pytest

from echolib.insights import permutation


def choose(n, k):
    """The number of ways to choose k of n."""
    out = 1
    for i in range(k):
        out = out * (n - i) // (i + 1)
    return out


def counted(values, size, total):
    """The chance by looking at all choices."""
    sums = [sum(chosen) for chosen in itertools.combinations(values, size)]
    return sum(1 for one in sums if one >= total - 1e-9) / float(len(sums))


RANDOM = random.Random(7)
SETS = {
    'ranks': [float(i) for i in range(14)],
    'skewed': [RANDOM.lognormvariate(0, 1) for _ in range(14)],
    'outlier': [RANDOM.random() for _ in range(13)] + [50.0],
    'ties': [0.0] * 7 + [1.0] * 4 + [2.0] * 3,
}


@pytest.mark.parametrize('name', sorted(SETS))
@pytest.mark.parametrize('size', [3, 7, 10])
def test_small_sets_are_as_counted(name, size):
    values = SETS[name]
    sums = sorted((sum(chosen) for chosen in itertools.combinations(values, size)), reverse=True)
    for place in (len(sums) // 20, len(sums) // 100, len(sums) // 300):
        exact = counted(values, size, sums[place])
        # With an outlier the sums fall into two heaps, between which any smooth curve is off.
        worst = 3.0 if name in ('outlier', 'ties') else 1.5
        assert exact / worst < permutation.upper_tail(values, size, sums[place]) < exact * worst, (place, exact)


@pytest.mark.parametrize('n,ones,size,hits', [(100, 5, 5, 3), (100, 10, 30, 8), (60, 20, 20, 14), (200, 8, 10, 4), (300, 60, 100, 45)])
def test_zeros_and_ones_are_hypergeometric(n, ones, size, hits):
    exact = sum(choose(ones, k) * choose(n - ones, size - k) for k in range(hits, min(ones, size) + 1)) / float(choose(n, size))
    found = permutation.upper_tail([1.0] * ones + [0.0] * (n - ones), size, hits)
    # On the safe side: never much smaller.
    assert 0.9 * exact < found < 2 * exact


def test_the_largest_sum_is_one_choice():
    values = [float(i) for i in range(20)]
    assert abs(permutation.upper_tail(values, 5, 16 + 17 + 18 + 19 + 15) * choose(20, 5) - 1) < 1e-6
    assert abs(permutation.least_tail(20, 5) * choose(20, 5) - 1) < 1e-6
    tied = [1.0] * 6 + [0.0] * 6
    assert abs(permutation.upper_tail(tied, 4, 4.0) - choose(6, 4) / float(choose(12, 4))) < 1e-9


def test_nothing_to_tell():
    assert permutation.upper_tail([1.0] * 9, 4, 4.0) == 1.0
    assert permutation.upper_tail([1.0, 2.0, 3.0], 0, 0.0) == 1.0
    assert permutation.upper_tail([1.0, 2.0, 3.0], 3, 6.0) == 1.0
    assert permutation.upper_tail([0.0, 1.0, 2.0, 3.0], 2, 3.0) == 1.0


def test_scale_and_place_do_not_matter():
    values = SETS['skewed']
    total = sum(sorted(values)[-5:-1])
    a = permutation.upper_tail(values, 4, total)
    b = permutation.upper_tail([1000 + 7 * value for value in values], 4, 4000 + 7 * total)
    assert abs(a / b - 1) < 1e-6


def test_far_tails_stay_in_order():
    values = [float(i) for i in range(80)]
    found = [permutation.upper_tail(values, 20, float(total)) for total in range(900, 1390, 40)]
    assert all(a > b > 0 for a, b in zip(found, found[1:])) and found[-1] < 1e-15
