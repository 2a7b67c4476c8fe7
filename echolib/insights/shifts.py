"""Where a series of days changed its level, and how sure that is.

A series is a list of units in order of time, one for each session and day, since what one session does in a day hangs
together. Every day between two units may be the day of the change; the best one is tested by the permutation
distribution of the units (see permutation) and pays for having been chosen: its chance is multiplied by the number of
days that could have been. Where units are alike to their neighbours the sums of two sides differ more than those of
independent units would, and what they differ by counts for less.
"""
from collections import namedtuple
from math import log, sqrt

from . import permutation

# day: days since 1970; stratum: what may differ without a change (a project); part, whole: the measure is part / whole;
# session: row id.
Unit = namedtuple('Unit', 'day stratum part whole session')
# day: first day of the new level; at: index of its first unit; up: True for larger values; chance: corrected for the
# choice of the day.
Split = namedtuple('Split', 'day at up chance')

# A side of a split with less than this is too small to judge.
LEAST_UNITS, LEAST_DAYS = 4, 3
# Units' worth of the overall rate that is mixed into each unit, so that a unit of one call says little.
_SHARE_PRIOR, _RATIO_PRIOR = 5.0, 1.0
# Standard deviations below which no split is worth its exact chance.
_LEAST_Z = 3.0
# Units of a longer series are taken together: they show enough, and the exact chance of more takes long.
_MOST_UNITS = 500
# From this much more variance on, neighbours count as alike, and this times that is allowed for: what is measured around
# the split that fits best is less than what there is.
_ALIKE, _WIDER = 1.1, 1.4


def share_scores(units):
    """-> scores of a measure between 0 and 1: the share, drawn towards the overall one where the whole is small."""
    overall = _overall(units)
    return _centred(units, [(unit.part + _SHARE_PRIOR * overall) / (unit.whole + _SHARE_PRIOR) for unit in units])


def ratio_scores(units):
    """-> scores of a measure without upper bound: mid-ranks of the ratio within its stratum."""
    overall = _overall(units)
    if not overall:
        return [0.0] * len(units)
    values = [log((unit.part + _RATIO_PRIOR * overall) / (unit.whole + _RATIO_PRIOR)) for unit in units]
    groups = {}
    for unit, value in zip(units, values):
        groups.setdefault(unit.stratum, []).append(value)
    middle = dict((stratum, median(found)) for stratum, found in groups.items())
    values = [value - middle[unit.stratum] for unit, value in zip(units, values)]
    return _centred(units, mid_ranks(values))


def _overall(units):
    whole = sum(unit.whole for unit in units)
    return sum(unit.part for unit in units) / float(whole) if whole else 0.0


def _centred(units, scores):
    """Scores less the mean of their stratum: a stratum that comes or goes changes nothing."""
    sums = {}
    for unit, score in zip(units, scores):
        have = sums.setdefault(unit.stratum, [0.0, 0])
        have[0] += score
        have[1] += 1
    return [score - sums[unit.stratum][0] / sums[unit.stratum][1] for unit, score in zip(units, scores)]


def mid_ranks(values):
    """-> ranks between 0 and 1, equal values sharing theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end < len(order) and values[order[end]] - values[order[at]] < 1e-12:
            end += 1
        for place in order[at:end]:
            ranks[place] = (at + end) / 2.0 / len(values)
        at = end
    return ranks


def median(values):
    """-> the middle of a list that is not empty."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2.0


def candidates(units):
    """-> indexes of units that could be the first of a new level."""
    days = [unit.day for unit in units]
    kinds, seen = [], 0
    for at, day in enumerate(days):
        seen += at == 0 or day != days[at - 1]
        kinds.append(seen)
    total = kinds[-1] if kinds else 0
    return [at for at in range(LEAST_UNITS, len(units) - LEAST_UNITS + 1)
            if days[at] != days[at - 1] and kinds[at - 1] >= LEAST_DAYS and total - kinds[at - 1] >= LEAST_DAYS]


def least_chance(units):
    """-> the smallest corrected chance that best_split could find in a series of that size; 1 when it is too small."""
    places = candidates(units)
    if not places:
        return 1.0
    even = min(places, key=lambda at: abs(2 * at - len(units)))
    return min(1.0, len(places) * permutation.least_tail(len(units), even))


def best_split(units, scores, wider=1.0):
    """-> the Split that parts these scores most clearly, or None where none is possible or nothing differs.

    wider: how alike neighbours are in series like this one (see alikeness); its own counts where that is more.
    """
    at, z, sides = _place(units, scores)
    if at is None:
        return None
    up = z < 0
    if abs(z) < _LEAST_Z:
        return Split(units[at].day, at, up, 1.0)
    wider = max(wider, _wider(sides))
    together = (len(units) + _MOST_UNITS - 1) // _MOST_UNITS
    before, after = [[mean for group in side for mean in _runs(group, together)] for side in sides]
    sign = 1.0 if up else -1.0
    values, total = [sign * value for value in before + after], sign * sum(after)
    if wider >= _ALIKE:
        middle = sum(values) / len(values) * len(after)
        total = middle + (total - middle) / sqrt(_WIDER * wider)
    chance = permutation.upper_tail(values, len(after), total)
    return Split(units[at].day, at, up, min(1.0, len(candidates(units)) * chance))


def alikeness(units, scores):
    """-> (how much more the sums of neighbours vary than those of independent units, number of units) around the best split."""
    at, _, sides = _place(units, scores)
    return (1.0, 0) if at is None else (_wider(sides), len(units))


def _place(units, scores):
    """-> (index of the best split or None, its distance in standard deviations, the scores of its sides by stratum)."""
    places, n = candidates(units), len(units)
    mean = sum(scores) / n if n else 0.0
    variance = sum((score - mean) ** 2 for score in scores)
    best, best_z, before, done = None, 0.0, 0.0, 0
    if variance > 1e-12:
        for at in places:
            before += sum(scores[done:at])
            done = at
            # The sum before `at` against its mean, in standard deviations.
            z = (before - at * mean) / sqrt(variance * at * (n - at) / (n * (n - 1.0)))
            if abs(z) > abs(best_z):
                best, best_z = at, z
    if best is None:
        return None, 0.0, None
    return best, best_z, (_by_stratum(units, scores, 0, best), _by_stratum(units, scores, best, n))


def _by_stratum(units, scores, start, end):
    """-> the scores of a side, a list for each stratum in order of time."""
    groups = {}
    for unit, score in zip(units[start:end], scores[start:end]):
        groups.setdefault(unit.stratum, []).append(score)
    return [groups[stratum] for stratum in sorted(groups)]


def _runs(scores, run):
    """Means of runs of about that many neighbours."""
    if run < 2:
        return list(scores)
    count = max(1, len(scores) // run)
    bounds = [i * len(scores) // count for i in range(count + 1)]
    return [sum(scores[a:b]) / (b - a) for a, b in zip(bounds, bounds[1:])]


def _wider(sides):
    """The variance of sums of neighbours relative to that of independent units (Newey-West, Bartlett's weights).

    From what is left when each side's mean is taken out, which makes every lag look smaller than it is, by about three
    over the number where the split was chosen to fit.
    """
    squares, lags, pairs, count, groups = 0.0, {}, {}, 0, []
    for side in sides:
        size = sum(len(group) for group in side)
        mean = sum(sum(group) for group in side) / size
        groups.extend([score - mean for score in group] for group in side)
        count += size
    reach = max(2, int(round(count ** (1 / 3.0))))
    for group in groups:
        squares += sum(score * score for score in group)
        for lag in range(1, min(reach, len(group) - 1) + 1):
            lags[lag] = lags.get(lag, 0.0) + sum(a * b for a, b in zip(group, group[lag:]))
            pairs[lag] = pairs.get(lag, 0) + len(group) - lag
    if squares < 1e-12:
        return 1.0
    wider = 1.0
    for lag, total in lags.items():
        alike = total / pairs[lag] / (squares / count) + 3.0 / count
        wider += 2.0 * (1.0 - lag / (reach + 1.0)) * alike
    return wider


def level(units):
    """-> (part / whole, whole, number of sessions) of these units together; None for a whole of 0."""
    whole = sum(unit.whole for unit in units)
    part = sum(unit.part for unit in units)
    return (part / float(whole) if whole else None), whole, len(set(unit.session for unit in units))


def level_like(units, pattern):
    """-> part / whole of these units with strata weighted as in `pattern`; None where they share no stratum."""
    rates, weights = {}, {}
    for unit in units:
        have = rates.setdefault(unit.stratum, [0.0, 0.0])
        have[0] += unit.part
        have[1] += unit.whole
    for unit in pattern:
        if rates.get(unit.stratum, (0, 0))[1]:
            weights[unit.stratum] = weights.get(unit.stratum, 0.0) + unit.whole
    total = sum(weights.values())
    if not total:
        return None
    return sum(weight * rates[stratum][0] / rates[stratum][1] for stratum, weight in sorted(weights.items())) / total


def affordable(chances, level_of_error):
    """-> number of comparisons that each chance is to be multiplied by (Tarone 1990).

    chances: the least chance each comparison could have given. One that could never have been an alarm at that price
    needs no share of the allowed error.
    """
    count = 1
    ordered = sorted(chances)
    while sum(1 for chance in ordered if chance <= level_of_error / count) > count:
        count += 1
    return count
