"""How unlikely it is that chance put such values into one of two groups: the permutation distribution, without drawing.

Values are exchangeable under "nothing changed": any choice of `size` of them could have been the group. Nothing is
assumed of their distribution. The tail of a group's sum is taken by the double saddlepoint of a sum that is
conditioned on its number of parts (Robinson 1982, Skovgaard 1987), which stays close far out, where the normal
distribution fails on skewed or tied values.
"""
from math import erfc, exp, lgamma, log, pi, sqrt

_STEPS = 80


def normal_tail(z):
    """P(Z >= z) of the standard normal distribution."""
    return 0.5 * erfc(z / sqrt(2.0))


def log_choose(n, k):
    """The logarithm of the number of ways to choose k of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def upper_tail(values, size, total):
    """P(the sum of a random choice of `size` of `values` >= total).

    `values`: floats. Never 0: the least that can be is one over the number of choices.
    """
    n = len(values)
    if not 0 < size < n:
        return 1.0
    mean = sum(values) / n
    ordered = sorted((value - mean for value in values), reverse=True)
    total -= size * mean
    spread = max(abs(ordered[0]), abs(ordered[-1]))
    if not spread:
        return 1.0
    scale = 1.0 / spread
    ordered = [value * scale for value in ordered]
    total *= scale
    if total <= 0:
        return 1.0
    least = exp(-log_choose(n, size) + _ties(ordered, size))
    if total >= sum(ordered[:size]) - 1e-9 * n:
        return min(1.0, least)
    # Half a step off a lattice: what is counted lies at the steps.
    total -= 0.5 * _step(ordered)
    if total <= 0:
        return 1.0
    found = _saddlepoint(ordered, size, total)
    return min(1.0, max(found, least))


def least_tail(n, size):
    """The smallest probability that upper_tail can give for values without ties."""
    return exp(-log_choose(n, size))


def _step(ordered):
    """The smallest distance of values that lie on a lattice (few kinds, or ranks); 0 for all others."""
    kinds = sorted(set(round(value, 9) for value in ordered))
    if len(kinds) < 2:
        return 0.0
    least = min(b - a for a, b in zip(kinds, kinds[1:]))
    even = least * (len(kinds) - 1) > 0.5 * (kinds[-1] - kinds[0])
    return least if even or len(kinds) * 3 <= len(ordered) else 0.0


def _ties(ordered, size):
    """log of the number of choices that reach the largest sum."""
    edge = ordered[size - 1]
    same = sum(1 for value in ordered if abs(value - edge) < 1e-12)
    inside = sum(1 for value in ordered[:size] if abs(value - edge) < 1e-12)
    return log_choose(same, inside)


def _odds(ordered, size, tilt, start):
    """The a at which the chances 1 / (1 + exp(-a - tilt * value)) add up to `size`."""
    low, high = -60.0 - tilt, 60.0 + tilt
    a = min(max(start, low), high)
    for _ in range(_STEPS):
        total = slope = 0.0
        for value in ordered:
            chance = _logistic(a + tilt * value)
            total += chance
            slope += chance * (1.0 - chance)
        gap = total - size
        if abs(gap) < 1e-10 * size:
            break
        if gap > 0:
            high = a
        else:
            low = a
        step = a - gap / slope if slope > 1e-14 else low - 1.0
        a = step if low < step < high else 0.5 * (low + high)
    return a


def _logistic(x):
    return 1.0 / (1.0 + exp(-x)) if x > -700 else 0.0


def _log1p_exp(x):
    return x + log(1.0 + exp(-x)) if x > 0 else log(1.0 + exp(x)) if x > -700 else 0.0


def _saddlepoint(ordered, size, total):
    """The tail at a total between the mean (0) and the largest one."""
    n = len(ordered)
    null = log(size / float(n - size))
    tilt, a = _tilt(ordered, size, total, null)
    count = first = second = grown = 0.0
    for value in ordered:
        x = a + tilt * value
        chance = _logistic(x)
        weight = chance * (1.0 - chance)
        count += weight
        first += weight * value
        second += weight * value * value
        grown += _log1p_exp(x)
    distance = (a * size + tilt * total - grown) - (null * size - n * _log1p_exp(null))
    r = sqrt(max(0.0, 2.0 * distance))
    spread = (count * second - first * first) / (size * (n - size) / float(n))
    u = tilt * sqrt(max(0.0, spread))
    if r < 1e-4 or u <= 0:
        return normal_tail(r)
    found = normal_tail(r) + exp(-0.5 * r * r) / sqrt(2.0 * pi) * (1.0 / u - 1.0 / r)
    return found if found > 0 else normal_tail(r)


def _tilt(ordered, size, total, null):
    """The tilt under which the sum is `total`, with its a (false position, the Illinois way)."""
    low, high, under, a = 0.0, 1.0, -total, null
    over, a = _sum_at(ordered, size, high, a)
    over -= total
    while over < 0 and high < 1e6:
        low, under, high = high, over, high * 2.0
        over, a = _sum_at(ordered, size, high, a)
        over -= total
    side, tilt = 0, high
    for _ in range(_STEPS):
        if over - under <= 0:
            break
        tilt = (low * over - high * under) / (over - under)
        gap, a = _sum_at(ordered, size, tilt, a)
        gap -= total
        if abs(gap) < 1e-8 * size or high - low < 1e-10 * high:
            break
        if gap < 0:
            low, under = tilt, gap
            over, side = (over * 0.5 if side == -1 else over), -1
        else:
            high, over = tilt, gap
            under, side = (under * 0.5 if side == 1 else under), 1
    return tilt, a


def _sum_at(ordered, size, tilt, start):
    """(sum of the values under that tilt, its a)."""
    a = _odds(ordered, size, tilt, start)
    return sum(value * _logistic(a + tilt * value) for value in ordered), a
