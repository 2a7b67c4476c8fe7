"""Which installed skill nearly covers a finding, and what a skill for it could say."""
from collections import namedtuple

from .likeness import Weights, words

# extension: Extension; confidence: low, medium, high; shared: the words both have, most telling first.
Match = namedtuple('Match', 'extension confidence shared')

# So many telling words in common, from 1.
LEVELS = ('low', 'medium', 'high')
# A word that more than this share of the descriptions holds tells nothing.
_PLAIN = 0.25
_FEW = 8
# Words that stand in any text, for homes with few skills.
_EMPTY = frozenset((
    'the a an and or of to in on for with from by is are be was it its this that these those as at not no use uses using used user when if then than into out '
    'up do does did don any all can will should must you your we our us i me my he she they them one two n path hash time id hex s t re error errors fail failed '
    'command commands file files line code run skill skills project please').split())


def match(finding, extensions):
    """-> Match of the skill (or command) that shares most telling words with a finding, None where none shares any."""
    skills = [one for one in extensions if one.kind in ('skill', 'command')]
    texts = [words('%s %s' % (one.name.replace('-', ' ').replace(':', ' '), one.description)) for one in skills]
    weights, most = Weights(texts), max(_FEW, _PLAIN * len(texts))
    held = {}
    for one in texts:
        for word in one:
            held[word] = held.get(word, 0) + 1
    empty = set(words(' '.join(_EMPTY))) | _EMPTY
    wanted = [word for word in finding.words if word not in empty and len(word) > 1 and not word.isdigit() and held.get(word, 0) <= most]
    best = None
    for one, mine in zip(skills, texts):
        shared = [word for word in wanted if word in mine]
        if shared:
            score = weights.total(shared)
            if best is None or score > best[0]:
                best = score, one, sorted(shared, key=lambda w: (-weights.of(w), w))
    return None if best is None else Match(best[1], LEVELS[min(len(LEVELS), len(best[2])) - 1], best[2])


def covers(found):
    """True for a match that is near enough to add to instead of writing a new skill."""
    return found is not None and found.confidence != 'low'
