"""Which words of a text tell what it is about, and which of a passage set it off from the rest: text in, words out."""
import math
import re
import unicodedata

from ..base.fold import words

# Words that stand in every text; of languages that are often typed to agents. Others are told by how evenly they are spread.
_COMMON = frozenset((
    'a about above after again all already also am an and another any anything are as at be because been before being below best better '
    'between both but by can cannot could did do does doing done down during each either else enough etc even ever every everything few '
    'first for from further get gets getting give given go goes going good got great had has have having he her here hers him his how '
    'however i if in instead into is it its itself just keep kind know last later least less let lets like look looks lot made make makes '
    'many may maybe me might mine more most much must my myself need needs never new next no none nor not nothing now of off often ok okay '
    'old on once one only onto or other others our out over own part please put quite rather really right s said same say says see seems '
    'she should show since so some something still such sure t take than thank thanks that the their them then there these they thing '
    'things think this those though three through till to together too try turn two under until up upon us use used uses using very want '
    'wants was way we well were what when where whether which while who whole why will with within without won word would yes yet you your '
    'don doesn isn didn wasn aren couldn wouldn shouldn haven hasn hi hello hey bye ll re ve m d '
    # German, French, Spanish
    'aber als am auch auf aus bei bin bis bitte da das dass dem den der des die doch du ein eine einem einen einer es für hat ich im in '
    'ist ja kann kein mit nach nicht noch nur oder sich sie sind so und uns vom von war was wenn wie wir wird zu zum zur au aux avec ce '
    'cette dans de des du elle est et il ils je la le les mais ne nous on ou par pas pour que qui sa se ses sur un une vous al como con '
    'del el ella en era es esta este hay la las lo los me mi muy no para pero por que se si su sus una uno y ya').split())
# Chinese characters of grammar and manners: a pair that holds one says little.
_GRAMMAR = frozenset('的了是我你您他她它们这那在有和与也都就不很吗呢吧啊呀哦嗯把被给对从到为以于上下中个一二三人来去说要会能可没还又再让使着过得地之'
                     '而或但如果因所其些什么怎样哪谁请好时候吃想看做用多少几每自己跟比更最已经将该应当然后前后里外')
_HASH = re.compile(r'(?=[a-z]*\d)[0-9a-f]{6,}\Z|\d+\Z|\d+[a-z]{1,2}\Z')
_ENDINGS = ('ings', 'ing', 'ies', 'ied', 'ed', 'es', 's', 'ly')
_LONGEST = 40
# A pair of characters grows into the longer word in which it stands this often.
_TOGETHER = 0.7
_MARK = re.compile(r'\[redacted:[\w-]+\]|\[image\]|\[pasted[^\]]*\]', re.I)


def is_gapless(word):
    """True for a word of a script without gaps (as fold.words gives them: a pair of characters)."""
    return len(word) == 2 and '\u2e80' <= word[0] <= '\U0003ffff'


def says_something(word):
    """False for grammar, numbers, hashes, single letters, private marks."""
    if is_gapless(word):
        # Hiragana is Japanese grammar, as far as pairs can tell.
        return not (word[0] in _GRAMMAR or word[1] in _GRAMMAR or '\u3041' <= word[0] <= '\u3096' or '\u3041' <= word[1] <= '\u3096')
    if word in _COMMON or not 2 <= len(word) <= _LONGEST or word[0] >= '\U000f0000':
        return False
    return not _HASH.match(word)


def stem(word):
    """-> the word without an English ending: enough for counting what belongs together."""
    if 'a' <= word[0] <= 'z' and len(word) > 4:
        for end in _ENDINGS:
            if word.endswith(end) and len(word) - len(end) >= 3 and not word.endswith('ss'):
                return word[:-len(end)]
    return word


def content(text):
    """-> list of (stem, word) of the words of a text that say something, in order."""
    return [(stem(word), word) for word in words(_MARK.sub(' ', text)) if says_something(word)]


def keywords(said, spread, total, most):
    """-> the words that tell a passage from its surroundings, best first, at most `most`.

    said: (weight, text, its content) of each message of the passage, gone through more than once; spread: {stem: number of all
    turns it stands in}; total: number of turns.
    """
    counts, shapes, texts = {}, {}, {}
    for weight, _, found in said:
        for root, word in found:
            counts[root] = counts.get(root, 0) + weight
            shapes.setdefault(root, {})
            shapes[root][word] = shapes[root].get(word, 0) + 1
        for root in set(root for root, _ in found):
            texts[root] = texts.get(root, 0) + 1
    scores = {}
    for root, count in counts.items():
        rare = math.log(1 + total / float(max(1, spread.get(root, 1))))
        # What comes back in several messages is what they are about.
        scores[root] = (1 + math.log(count)) * rare * texts[root] ** 0.5
    out, joined = [], None
    for root in sorted(scores, key=lambda r: (-scores[r], r)):
        word = min(shapes[root], key=lambda w: (-shapes[root][w], len(w), w))
        if is_gapless(word):
            if joined is None:
                joined = unicodedata.normalize('NFKC', '\n'.join(text for _, text, _ in said)).lower()
            word = _grown(word, joined)
        if any(word in have or word[0] >= '\u2e80' and any(word[at:at + 2] in have for at in range(len(word) - 1)) for have in out):
            continue
        out.append(word)
        if len(out) == most:
            break
    return out


def _grown(word, text):
    """-> the longer word of a script without gaps that a pair is part of nearly wherever it stands."""
    while len(word) < 6:
        count = text.count(word)
        if count < 2:
            return word
        around = {}
        at = text.find(word)
        while at >= 0:
            for longer in (text[at - 1:at + len(word)] if at else '', text[at:at + len(word) + 1]):
                if len(longer) > len(word):
                    added = longer[0] if longer[1:] == word else longer[-1]
                    if added > '\u2e80' and added not in _GRAMMAR and added.isalpha():
                        around[longer] = around.get(longer, 0) + 1
            at = text.find(word, at + 1)
        best = max(sorted(around), key=lambda w: around[w]) if around else None
        if best is None or around[best] < _TOGETHER * count:
            return word
        word = best
    return word
