"""Direction of a short series: Theil-Sen slope, share of rising pairs, and how likely chance gives as much."""
from collections import namedtuple
from math import sqrt

from .permutation import normal_tail
from .shifts import median

# slope: per step, the middle of the slopes of all pairs; over: slope times steps, relative to the middle value (None
# for 0); rising, falling: pairs; chance: two-sided; word: see _word; count: values.
Direction = namedtuple('Direction', 'slope over rising falling chance word count')

# Fewer values than this have no direction.
LEAST = 5
CLEAR, PERHAPS, LEAST_CHANGE = 0.01, 0.05, 0.1
TOO_FEW, NONE = 'too few periods', 'no clear direction'


def direction(values):
    """-> Direction of a list of numbers at equal steps; None stands for a step without a value."""
    points = [(at, value) for at, value in enumerate(values) if value is not None]
    slopes, rising, falling = [], 0, 0
    for i, (x, a) in enumerate(points):
        for y, b in points[i + 1:]:
            slopes.append((b - a) / float(y - x))
            rising += b > a
            falling += b < a
    slope = median(slopes) if slopes else 0.0
    middle = median([abs(value) for _, value in points]) if points else 0.0
    over = slope * (points[-1][0] - points[0][0]) / middle if middle and len(points) > 1 else None
    chance = _chance([value for _, value in points], rising - falling)
    return Direction(slope, over, rising, falling, chance, _word(len(points), slope, over, chance), len(points))


def _word(count, slope, over, chance):
    if count < LEAST:
        return TOO_FEW
    if chance > PERHAPS or not slope or over is not None and abs(over) < LEAST_CHANGE:
        return NONE
    return ('' if chance <= CLEAR else 'perhaps ') + ('rising' if slope > 0 else 'falling')


def _chance(values, score):
    """Two-sided chance of a score (rising less falling pairs) at least that far from 0 (Kendall)."""
    n = len(values)
    if n < 2 or not score:
        return 1.0
    sizes = [values.count(value) for value in set(values)]
    if max(sizes) == 1 and n <= 30:
        return min(1.0, 2.0 * _exact(n, abs(score)))
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in sizes)) / 18.0
    return min(1.0, 2.0 * normal_tail((abs(score) - 1) / sqrt(variance))) if variance > 0 else 1.0


def _exact(n, score):
    """P(score >= `score`) over all orders of n different values, by counting orders with a number of inversions."""
    counts = [1]
    for size in range(2, n + 1):
        wider, running = [], 0
        for inversions in range(len(counts) + size - 1):
            running += counts[inversions] if inversions < len(counts) else 0
            running -= counts[inversions - size] if inversions >= size else 0
            wider.append(running)
        counts = wider
    pairs = n * (n - 1) // 2
    most = (pairs - score) // 2
    return sum(counts[:most + 1]) / float(sum(counts))
