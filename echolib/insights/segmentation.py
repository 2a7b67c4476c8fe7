"""Where a conversation turns to something else: the segmentation of a list of turns, numbers in and places out.

The cut of all possible ones is taken under which the words of the segments are most likely, each segment having words of
its own (Utiyama and Isahara 2001), by dynamic programming; a cut costs a fixed amount, which a pause, a compaction or a
greeting lowers. Words that stand all around count little. The values were set on one half of an evaluation and
checked on the other (tests/test_segments.py).
"""
import math
from collections import deque
from itertools import islice

# Baked into what the index keeps: a change of anything that decides segments needs a new number.
VERSION = 1

MIN_GAP = 4 * 3600      # seconds
MAX_TOPICS = 20
# Cost of a cut, in units of the logarithm of the amount of words, of which there are at least _AMOUNT.
_CUT, _AMOUNT = 1.15, 300.0
# So many turns around decide how common a word is; one in this share of them says nothing.
_AROUND, _EVERYWHERE = 40, 0.6
# A word's turns lie in a row from so many turns on.
_ROW = 3
# The words a segment could have said: at most this many times what a turn says.
_SAYABLE = 60.0
# What lowers the cost of a cut, as a share of it: a compaction, a greeting, and a pause (all of it at the shortest pause that
# always cuts, a third less for each halving).
_COMPACTION, _GREETING, _HALVING = 0.5, 0.5, 0.33
_ALWAYS = 1e9
# So many beginnings of a segment are held against each other, twice.
_BEGINNINGS = 100


def cuts(bags, gaps, compacted, greeted, min_gap=MIN_GAP, most=MAX_TOPICS):
    """-> list of (place, reasons, strength) of the turns at which a new segment begins, in order, without the first turn.

    bags: for each turn {word: weight}, gone through twice; gaps: seconds between a turn and the one before, None unknown; compacted, greeted:
    True for a turn before which the context was compacted, that opens with a greeting; min_gap: a pause of so many
    seconds always cuts; most: number of segments at most (0: any), the weakest cuts go first. reasons: of 'pause',
    'compaction', 'words'. strength: how far the words are apart in costs of a cut, below 0 for what they say against it.
    """
    if len(gaps) < 2:
        return []
    bags = _weighed(bags, len(gaps))
    amount = sum(sum(bag.values()) for bag in bags)
    size = max(1.0, min(float(len(set(word for bag in bags for word in bag))), max(50.0, _SAYABLE * amount / len(bags))))
    price = _CUT * math.log(max(_AMOUNT, min(amount, 4 * size)))
    help_ = [0.0] + [_help(gaps[i], compacted[i], greeted[i], min_gap) for i in range(1, len(bags))]
    places = _best(bags, help_, price, size)
    known = {}

    def cost(first, end):
        if (first, end) not in known:
            known[first, end] = _cost(bags[first:end], size)
        return known[first, end]

    while True:
        edges = [0] + places + [len(bags)]
        strengths = [(cost(a, c) - cost(a, b) - cost(b, c)) / price - 1 for a, b, c in zip(edges, edges[1:], edges[2:])]
        if not most or len(places) < most:
            break
        worth = [strength + help_[place] for strength, place in zip(strengths, places)]
        del places[worth.index(min(worth))]
    return [(place, _reasons(gaps[place], compacted[place], strength, min_gap), round(strength, 3))
            for place, strength in zip(places, strengths)]


def _reasons(gap, compacted, strength, min_gap):
    out = []
    if gap is not None and (gap >= min_gap or strength <= 0 and _pause(gap, min_gap)):
        out.append('pause')
    if compacted:
        out.append('compaction')
    if strength > 0 or not out:
        out.append('words')
    return out


def _help(gap, compacted, greeted, min_gap):
    """-> how much of a cut's cost is not asked for."""
    if gap is not None and gap >= min_gap:
        return _ALWAYS
    out = _COMPACTION if compacted else 0.0
    if greeted:
        out += _GREETING
    return out + (_pause(gap, min_gap) if gap is not None else 0.0)


def _pause(gap, min_gap):
    return max(0.0, 1 + _HALVING * math.log(gap / float(min_gap), 2)) if gap > 0 and min_gap > 0 else 0.0


def _weighed(bags, turns):
    """-> the bags with each word weighed: what few of the turns around hold says much, and what stands in a row of turns does,
    however many these are; what is scattered all around says nothing."""
    count, half, out = {}, _AROUND // 2, []
    clumped = _clumped(bags, turns)
    # Of all bags those around a turn are held: the ones before it, and it with the ones after it.
    coming, before, after = iter(bags), deque(), deque()
    for i in range(turns):
        for bag in islice(coming, 1 if i else half + 1):
            after.append(bag)
            for word in bag:
                count[word] = count.get(word, 0) + 1
        for word in before.popleft() if i > half else ():
            count[word] -= 1
        bag = after.popleft()
        before.append(bag)
        everywhere = _EVERYWHERE * (min(turns, i + half + 1) - max(0, i - half))
        weighed = {}
        for word in sorted(bag):
            rare = max(1 - count[word] / everywhere, clumped.get(word, 0.0))
            if rare > 0:
                weighed[word] = bag[word] * rare
        out.append(weighed)
    return out


def _clumped(bags, number_of_turns):
    """-> {word: how far from chance, 0, to one unbroken row of turns, 1, its turns lie} of words in at least _ROW turns; less
    where chance could have done it."""
    turns, pairs, before = {}, {}, ()
    for bag in bags:
        for word in bag:
            turns[word] = turns.get(word, 0) + 1
            if word in before:
                pairs[word] = pairs.get(word, 0) + 1
        before = bag
    out, total = {}, float(number_of_turns)
    # Standard deviations beyond chance that are sure: among more words in more turns more lie together by chance.
    enough = math.log(max(2.0, total), 2) / 2
    for word, number in turns.items():
        if _ROW <= number < total:
            share = number / total
            more = pairs.get(word, 0) - (number - 1) * share
            if more > 0:
                sure = min(1.0, more / math.sqrt((number - 1) * share * (1 - share)) / enough)
                out[word] = (more / ((number - 1) * (1 - share)) * sure) ** 2
    return out


def _cost(bags, size):
    """-> how unlikely the words of one segment are, in nats."""
    words, amount = {}, 0.0
    for bag in bags:
        for word, weight in bag.items():
            words[word] = words.get(word, 0.0) + weight
            amount += weight
    return amount * math.log(amount + size) - sum(weight * math.log(weight + 1) for weight in words.values())


def _best(bags, help_, price, size):
    """-> the places of the cheapest cut."""
    log = math.log
    cheapest, came_from = [0.0], [0]
    starts = []
    for end, bag in enumerate(bags):
        # Where a cut is certain it is free: nothing competes with it.
        asked = 0.0 if not end or help_[end] >= _ALWAYS else price * (1 - help_[end])
        here = cheapest[end] + asked
        if starts and not starts[-1][1]:
            # Nothing was said since: of two beginnings of the same segment the cheaper one is enough.
            if here < starts[-1][4]:
                starts[-1] = [end, {}, 0.0, 0.0, here]
        else:
            starts.append([end, {}, 0.0, 0.0, here])
        low, source, costs = None, 0, []
        for start in starts:
            words, amount, spared = start[1:4]
            for word, weight in bag.items():
                before = words.get(word)
                if before is not None:
                    spared -= before * log(before + 1)
                    weight += before
                    amount -= before
                words[word] = weight
                amount += weight
                spared += weight * log(weight + 1)
            start[2], start[3] = amount, spared
            cost = start[4] + amount * log(amount + size) - spared
            costs.append(cost)
            if low is None or cost < low:
                low, source = cost, start[0]
        cheapest.append(low)
        came_from.append(source)
        # A beginning that is two cuts behind does not catch up; neither does one before a place that always cuts.
        going = [(cost, start) for start, cost in zip(starts, costs) if cost < low + 2 * price]
        if len(going) > 2 * _BEGINNINGS:
            # Some thirty are usual; where turn after turn says the same in other words, the newest and the cheapest go on.
            bar = sorted(cost for cost, _ in going)[_BEGINNINGS]
            going = [one for one in going[:-_BEGINNINGS] if one[0] < bar] + going[-_BEGINNINGS:]
        starts = [start for _, start in going]
        if end + 1 < len(bags) and help_[end + 1] >= _ALWAYS:
            starts = []
    out, place = [], len(bags)
    while place > 0:
        place = came_from[place]
        if place > 0:
            out.append(place)
    return out[::-1]
