"""What the person says again and again: the same correction in several sessions, the same long prompt typed anew."""
import re
from zlib import crc32

from ..analysis import without_images
from ..base.fold import tokens
from ..corrections import kind_of
from .likeness import Weights, alike, common, groups, words
from .lookback import normalise
from .recurrence import finding

# Prompts that are read, newest first.
PROMPTS = 8000
# Two corrections are the same with this likeness of what they say (see likeness.alike); a prompt that is no correction by
# itself belongs to them when it is so much like the one in their middle.
SAME_CORRECTION, SAME_SAYING = 0.4, 0.6
# So much of a correction is compared, and in so much of it its marker is looked for.
_SAID, _OPENING = 300, 80
_CLAUSES, _WORDS = re.compile('[,.!;:\n\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b]'), re.compile('\\W|(?<=[\u2e80-\uffff])')
_WIDE = re.compile('[\u1100-\uffff]')
# A prompt of so many columns is long (a Chinese character has two).
LONG = 160
# Two long prompts are the same with so much of their runs of three words in common.
SAME_PROMPT = 0.6
_SKETCH = 16


def corrections(said, least):
    """-> (list of correction Findings, {kind: [count, set of sessions]}) of Saids: prompts, and the words of refusals.

    detail: kinds {kind: count}, quotes (one a session, newest first), told (those that are corrections by their words).
    """
    found, kinds = [], {}
    plain = []
    for one in said:
        if one.label == 'slash':
            continue
        text = without_images(one.text)
        # Who refuses a call and says why corrects it, in whatever words.
        kind = kind_of(text) or ('refused' if one.label == 'refused' else None)
        if kind is not None:
            known = kinds.setdefault(kind, [0, set()])
            known[0] += 1
            known[1].add(one.place.session)
            found.append((one.place, text, kind, words(_substance(text, kind))))
        elif not _is_long(text):
            plain.append((one.place, text, None, words(text)))
    weights = Weights([one[3] for one in found + plain])
    # What says no more than no is no topic.
    found = [one for one in found if len(one[3]) > 1]
    out = []
    for group in groups([one[3] for one in found], weights, SAME_CORRECTION):
        told = [found[number] for number in group.members]
        if len(set(one[0].session for one in told)) < 2:
            continue
        centre = frozenset(found[group.centre][3])
        some = told + [one for one in plain if not centre.isdisjoint(one[3]) and alike(centre, frozenset(one[3]), weights) >= SAME_SAYING]
        counts = {}
        for one in told:
            counts[one[2]] = counts.get(one[2], 0) + 1
        shared = common([one[3] for one in told])
        some.sort(key=lambda one: (-(one[0].time or 0), one[0].file, one[0].line))
        one = finding('correction', ' '.join(found[group.centre][3]), [(place, text[:_SAID]) for place, text, _, _ in some], least,
                      shared or sorted(centre), {'kinds': counts, 'quotes': _one_a_session(some), 'told': len(told)})
        if one is not None:
            out.append(one)
    return out, kinds


def _one_a_session(some):
    """-> [(Place, text)], the newest of each session, each wording once."""
    seen, said, out = set(), set(), []
    for place, text, _, _ in some:
        if place.session not in seen and normalise(text) not in said:
            seen.add(place.session)
            said.add(normalise(text))
            out.append((place, text[:_SAID]))
    return out


def _substance(text, kind):
    """-> what a correction says behind the words that make it one: behind the shortest beginning of the same kind."""
    text = text[:_SAID].strip()
    # Where a clause ends first: half of "that's not what I meant" is a correction already.
    for ends in (_CLAUSES, _WORDS):
        for at in (found.start() for found in ends.finditer(text[:_OPENING])):
            if at and kind_of(text[:at]) == kind:
                return text[at:]
    return text


def prompts(said, least):
    """-> list of prompt Findings of Saids: long ones typed anew in nearly the same words. detail: columns."""
    shapes, groups, by_hash = [], [], {}
    for one in said:
        text = without_images(one.text)
        if one.label == 'slash' or not _is_long(text):
            continue
        shape = _shape(text)
        best, near = None, {}
        sketch = sorted(shape)[:_SKETCH]
        for number in sketch:
            for place in by_hash.get(number, ()):
                near[place] = near.get(place, 0) + 1
        for place in sorted(near, key=lambda p: (-near[p], p))[:5]:
            leader = shapes[place]
            if len(shape & leader) >= SAME_PROMPT * len(shape | leader):
                best = place
                break
        if best is None:
            best = len(shapes)
            shapes.append(shape)
            groups.append([])
            for number in sketch:
                by_hash.setdefault(number, []).append(best)
        groups[best].append((one.place, text))
    found = []
    for some in groups:
        first = min(some, key=lambda s: (s[0].time or 0, s[0].file, s[0].line))[1]
        one = finding('prompt', normalise(first), some, least, words(first), {'columns': columns(first)})
        if one is not None:
            found.append(one)
    return found


def columns(text):
    """-> about the columns a text would take on one line: what a prompt's length is told in, for every script alike."""
    return len(text) + len(_WIDE.findall(text))


def _is_long(text):
    return columns(text) >= LONG


def _shape(text):
    """-> the runs of three words in a text, as numbers."""
    some = tokens(text[:6000])
    return frozenset(crc32(' '.join(some[at:at + 3]).encode('utf-8', 'replace')) for at in range(max(1, len(some) - 2)))
