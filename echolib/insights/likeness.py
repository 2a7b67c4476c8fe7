"""Which short texts say the same in other words: weighted words in common, in any script."""
import re
from collections import namedtuple
from math import fsum, log

from ..base.fold import tokens

# Members: indexes into the list that was grouped, in its order; centre: the one most like the others.
Group = namedtuple('Group', 'members centre')
# Words of a text that are looked at.
_WORDS = 120
# What a word's forms differ by, mostly (changed, changes, changing).
_ENDINGS = re.compile('(?:ing|ed|es|s|e)$')


def words(text):
    """-> the distinct words of a text as a list: tokens without common endings, and where a script writes no gaps each two characters that meet."""
    out, last = {}, ''
    for token in tokens(text)[:_WORDS]:
        single = len(token) == 1 and token > '\u0e00'
        if single and last:
            out[last + token] = None
        elif not single:
            out[_ENDINGS.sub('', token) if len(token) > 4 else token] = None
        last = token if single else ''
    return list(out)


class Weights(object):
    """How telling a word is: rare ones more. Learnt from texts, each as a list of distinct words."""

    def __init__(self, texts):
        count, held = 0, {}
        for one in texts:
            count += 1
            for word in one:
                held[word] = held.get(word, 0) + 1
        self._new = log(1.0 + count) + 0.1
        self._known = dict((word, log(1.0 + count / (1.0 + times)) + 0.1) for word, times in held.items())

    def of(self, word):
        """-> the weight of a word, over 0."""
        return self._known.get(word, self._new)

    def total(self, chosen):
        """-> the sum of the weights."""
        known, new = self._known, self._new
        # Exact: a set's order differs from run to run.
        return fsum([known.get(word, new) for word in chosen])


def alike(one, other, weights):
    """-> likeness of two sets of words, 0 to 1: twice what they share by what both hold."""
    shared = one & other
    if not shared:
        return 0.0
    return 2.0 * weights.total(shared) / (weights.total(one) + weights.total(other))


def groups(texts, weights, least):
    """-> list of Groups of texts (lists of words) that are at least so much alike as `least`, largest first.

    A text joins the group whose members are, on average, most like it; what joins none stands alone.
    """
    sets = [frozenset(one) for one in texts]
    found, holding = [], {}
    for number, one in enumerate(sets):
        near = {}
        for word in one:
            for place in holding.get(word, ()):
                near[place] = near.get(place, 0) + 1
        best, score = None, least
        for place in sorted(near, key=lambda p: (-near[p], p))[:30]:
            # Against the first members: a group must not wander.
            some = found[place][:8]
            mean = fsum(alike(one, sets[other], weights) for other in some) / len(some)
            if mean >= score and (best is None or mean > score):
                best, score = place, mean
        if best is None:
            best = len(found)
            found.append([])
        found[best].append(number)
        for word in one:
            holding.setdefault(word, {})[best] = None
    out = []
    for members in found:
        some = members[:40]
        centre = max(some, key=lambda n: (fsum(alike(sets[n], sets[m], weights) for m in some), -n))
        out.append(Group(members, centre))
    return sorted(out, key=lambda g: (-len(g.members), g.members))


def common(texts, share=0.5):
    """-> words that at least `share` of the texts (lists of words) hold, in the order of the first that has them."""
    held = {}
    for one in texts:
        for word in one:
            held[word] = held.get(word, 0) + 1
    return [word for word in held if held[word] >= share * len(texts) and held[word] > 1]
