"""The topics of one session one after the other: its turns are read, cut where the talk turns, and named by their words.

A turn is a prompt with all that follows up to the next one; cuts lie between turns. Only the main conversation is read.
"""
import re
from collections import namedtuple
from sys import intern

from .. import transcript
from ..adapters import registry
from ..base.redact import redact
from ..base.shelf import Shelf
from ..base.text import clean_surrogates
from ..index import kept
from . import segmentation
from .words import content, keywords

# start, end: ms or None; line, last_line: of its first and last message; messages: prompts and replies; prompts; label: text;
# keywords: list; opening: how its first prompt begins; reasons: why it begins where it does ([] for the first, see
# segmentation.cuts); strength: float or None.
Segment = namedtuple('Segment', 'start end line last_line messages prompts label keywords opening reasons strength')
# What segmentation is made from, words aside.
_Turn = namedtuple('_Turn', 'line last_line start end messages prompts gap compacted greeted')

_KEYWORDS, _IN_LABEL = 8, 3
_OPENING = 160
# Characters of a prompt and of a reply that are looked at; a reply says what it is about where it begins.
_PROMPT, _REPLY = 2000, 400
# Weight of a word in a prompt, a reply and a file's name, and how much those of a turn may weigh together.
_WEIGHTS = {'prompt': (2.0, 60.0), 'reply': (1.0, 15.0), 'file': (3.0, 90.0)}
# What is said in so many turns is held in memory.
_TURNS = 1000
# So many replies and tool calls of a turn are looked at.
_REPLIES, _CALLS = 8, 200
_GREETING = re.compile('\\s*(hi|hello|hey|good (morning|afternoon|evening)|hallo|guten (morgen|tag|abend)|hola|bonjour|salut|ciao|привет|'
                       '你好|您好|嗨|哈喽|早上好|晚上好|下午好|早安|こんにちは|こんばんは|おはよう|안녕)(?![a-z])', re.I)


def of(view, row, sources, min_gap=None, most=None, readable=None):
    """-> list of Segments of a session. min_gap: seconds, most: number (None: the usual ones, see segmentation).

    With the usual ones the answer is kept in the index and read from there as long as the session does not change. readable:
    bytes; where there is no answer yet and the main files have more, None.
    """
    usual = min_gap in (None, segmentation.MIN_GAP) and most in (None, segmentation.MAX_TOPICS)
    if usual:
        have = kept.segments(view.db, row.id, segmentation.VERSION)
        if have is not None:
            return [Segment(*one) for one in have]
    if readable is not None and sum(source.size for source in sources if source.role == 'main') > readable:
        return None
    found = read(row.agent, sources, min_gap, most)
    if usual:
        kept.keep(view, {row.id: found}, segmentation.VERSION)
    return found


def read(agent, sources, min_gap=None, most=None):
    """-> list of Segments, from the session's files."""
    turns, bags, said, spread = _turns(agent, [source for source in sources if source.role == 'main'] or sources[:1])
    if not turns:
        return []
    edges = segmentation.cuts(bags, [turn.gap for turn in turns], [turn.compacted for turn in turns],
                              [turn.greeted for turn in turns], segmentation.MIN_GAP if min_gap is None else min_gap,
                              segmentation.MAX_TOPICS if most is None else most)
    places = [place for place, _, _ in edges]
    return [_segment(turns[first:end], _Said(said, first, end), spread, len(turns), reasons, strength)
            for first, end, (_, reasons, strength) in zip([0] + places, places + [len(turns)], [(0, [], None)] + edges)]


class _Said(object):
    """What was said in some turns: (weight, text, its content) of each message, as often as it is asked for."""

    def __init__(self, shelf, first, end):
        self.shelf, self.turns = shelf, range(first, end)

    def __iter__(self):
        return (one for number in self.turns for one in self.shelf.get(number)[1])

    def opening(self):
        """-> how the first prompt begins, '' without one."""
        return next((begins for begins in (self.shelf.get(number)[0] for number in self.turns) if begins), '')


def at(segments, line):
    """-> place of the segment that holds a line of the main conversation, from 0."""
    place = 0
    for number, segment in enumerate(segments):
        if segment.line <= line:
            place = number
    return place


def _segment(turns, said, spread, total, reasons, strength):
    words = keywords(said, spread, total, _KEYWORDS)
    times = [time for turn in turns for time in (turn.start, turn.end) if time is not None]
    opening = said.opening()
    return Segment(min(times) if times else None, max(times) if times else None, turns[0].line, turns[-1].last_line,
                   sum(turn.messages for turn in turns), sum(turn.prompts for turn in turns),
                   ', '.join(words[:_IN_LABEL]) or opening[:60], words, opening, reasons, strength)


class _Open(object):
    """A turn that is being read."""

    def __init__(self, gap, compacted):
        self.gap, self.compacted = gap, compacted
        self.line = self.last_line = self.start = self.end = None
        self.messages = self.prompts = self.replies = self.calls = 0
        self.greeted, self.opening = False, ''
        self.said = []
        self.weights = dict((kind, {}) for kind in _WEIGHTS)

    def message(self, item):
        """Take in a prompt or a reply."""
        self.messages += 1
        if self.line is None:
            self.line = item.line
        self.last_line = item.line
        kind, most = ('prompt', _PROMPT) if item.kind == 'prompt' else ('reply', _REPLY)
        if kind == 'reply':
            self.replies += 1
            if self.replies > _REPLIES:
                return
        # Masked before it is cut: of half a secret nobody knows that it is one.
        text = redact(clean_surrogates(item.body[:4 * most]))[:most]
        if kind == 'prompt':
            if not self.prompts:
                self.greeted = _GREETING.match(text) is not None
                self.opening = ' '.join(text.split())[:_OPENING]
            self.prompts += 1
        found = content(text)
        self.said.append((_WEIGHTS[kind][0], text, found))
        for root, _ in found:
            self.weights[kind][root] = 1

    def file(self, path):
        """Take in the name of a file a tool was given."""
        path = clean_surrogates(path[-300:])
        names = self.weights['file']
        for root in ['/' + path] + [root for root, _ in content(path)]:
            names[root] = 1

    def close(self):
        """-> (_Turn, {word: weight} of its words)."""
        bag = {}
        for kind in sorted(_WEIGHTS):
            weight, most = _WEIGHTS[kind]
            found = self.weights[kind]
            weight = min(weight, most / len(found)) if found else 0
            for root in found:
                bag[root] = bag.get(root, 0.0) + weight
        return _Turn(self.line, self.last_line, self.start, self.end, self.messages, self.prompts,
                     self.gap, self.compacted, self.greeted), bag


def _turns(agent, sources):
    """-> (list of _Turns of the main conversation, Shelf of their words {word: weight}, Shelf of how each begins and what was said
    in it, {stem: number of turns it stands in})."""
    files_of = getattr(registry.get(agent), 'files_of', None)
    # Each number comes once, so nothing is ever joined.
    out, bags, said, spread = [], Shelf(None, _TURNS), Shelf(None, _TURNS), {}
    one, compacted, answered, last = None, False, True, None

    def close():
        turn, bag = one.close()
        said.add(len(out), (one.opening, tuple(one.said)))
        # Each word is one object, on the shelf too: the same ones come in turn after turn.
        bags.add(len(out), dict((intern(word), weight) for word, weight in bag.items()))
        out.append(turn)
        for root in set(root for _, _, found in one.said for root, _ in found):
            spread[root] = spread.get(root, 0) + 1

    for item in transcript.items(agent, sources):
        if item.chain:
            continue
        if item.kind == 'compaction':
            compacted = True
        elif item.kind in ('prompt', 'reply'):
            # Prompts that follow each other without an answer are one; after a compaction any message begins anew.
            if one is None or compacted or item.kind == 'prompt' and answered:
                if one is not None:
                    close()
                gap = abs(item.time - last) / 1000.0 if item.time is not None and last is not None else None
                one = _Open(gap, compacted and bool(out))
                compacted = False
            one.message(item)
            answered = item.kind == 'reply'
        elif item.kind == 'tool_call' and one is not None:
            answered = True
            one.calls += 1
            if files_of is not None and one.calls <= _CALLS:
                for _, path in files_of(item.label, item.data):
                    one.file(path)
        if item.time is not None and one is not None:
            one.start = item.time if one.start is None else min(one.start, item.time)
            one.end = item.time if one.end is None else max(one.end, item.time)
            last = item.time
    if one is not None:
        close()
    return out, bags, said, spread
