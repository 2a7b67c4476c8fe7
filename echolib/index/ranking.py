"""How well a message answers a question: BM25 with weak length normalisation, helped by its neighbours, its session and
words that stand together.

Weights were measured on conversations with known answers (tests/bench/README.md): b .4 with the length capped at twice
the mean; .35 of the messages next to it and .15 of those after; half of the session's own score; .2 of adjacent pairs.
"""
from bisect import bisect_left
from math import log

from . import schema
from ..base.fold import tokens

K1, B, LONGEST = 1.2, 0.4, 2.0
# Of all that a question's words can give, what the day it names gives.
DAY = 0.3
NEXT, AFTER_NEXT, SESSION, PAIRS, FORM = 0.35, 0.15, 0.5, 0.2, 0.8
# Candidates whose text is reread for an exact score.
READ = 100
# So many documents further on, calls and results among them, no message counts as next to another.
NEAR = 14


class Question(object):
    """The terms of a question with what the index says of each.

    terms: list of tuples of alternatives.  lists: for each term {shard: sorted ids of prose documents}.  documents: number
    of prose documents; holding: [for each term the number of sessions that hold it]; sessions: number of sessions.
    """

    def __init__(self, terms, lists, documents, mean, holding, sessions):
        self.terms, self.lists = terms, lists
        self.mean = max(1.0, mean)
        self.idf = [log(1.0 + (documents - n + 0.5) / (n + 0.5)) for n in (sum(len(i) for i in one.values()) for one in lists)]
        self.session_idf = [log(1.0 + (sessions - n + 0.5) / (n + 0.5)) for n in holding]
        # What a message that held every word once would get.
        self.whole = sum(self.idf)
        self.words = [frozenset(w[0] for t in alternatives for w in (t.words,) + t.other if len(w) == 1) for alternatives in terms]
        self.exact = [frozenset(t.words[0] for t in alternatives if len(t.words) == 1) for alternatives in terms]
        self.pairs = [[w for t in alternatives for w in (t.words,) + t.other if len(w) > 1] for alternatives in terms]

    def score_text(self, text):
        """-> score of a message by its text."""
        words = tokens(text)
        size = min(LONGEST, len(words) / self.mean)
        norm = K1 * (1 - B + B * size)
        where = {}
        for at, word in enumerate(words):
            where.setdefault(word, []).append(at)
        score, last = 0.0, None
        pairs = 0.0
        for i, alternatives in enumerate(self.terms):
            frequency, places = 0.0, []
            for word in self.words[i]:
                got = where.get(word)
                if got:
                    frequency += len(got) * (1.0 if word in self.exact[i] else FORM)
                    places += got
            for sequence in self.pairs[i]:
                for at in where.get(sequence[0], ()):
                    if tuple(words[at:at + len(sequence)]) == sequence:
                        frequency += 1.0
                        places.append(at)
            if frequency:
                score += self.idf[i] * frequency * (K1 + 1) / (frequency + norm)
                # The words of a question that follow each other here as well.
                if last and any(place - 1 in last for place in places):
                    pairs += min(self.idf[i], self.idf[i - 1])
                last = set(places)
            else:
                last = None
        return score + PAIRS * pairs

    def score_unread(self, shard, number):
        """-> score of a message known only by which terms it holds."""
        score = 0.0
        for i, one in enumerate(self.lists):
            ids = one.get(shard)
            if ids:
                at = bisect_left(ids, number)
                if at < len(ids) and ids[at] == number:
                    score += self.idf[i]
        return score

    def score_session(self, count, size, mean):
        """-> score of a session as one document by how many of its messages hold each term."""
        norm = K1 * (1 - B + B * min(LONGEST, size / max(1.0, mean)))
        score = 0.0
        for idf, n in zip(self.session_idf, count):
            if n:
                score += idf * n * (K1 + 1) / (n + norm)
        return score


def neighbours(db, beside):
    """-> {document: (ids one message away, ids two away)} of prose documents of a shard, in their files.

    beside: {document: (Placement.beside() before it, behind it)}.
    """
    spans = []
    for first, end in sorted(set(span for sides in beside.values() for side in sides for span in side)):
        if spans and first <= spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([first, end])
    # The kind in the statement itself: as a value SQLite would plan anew each time, for there is an index of some kinds.
    ask = 'select id from docs where id >= ? and id < ? and kind < %d' % schema.TOOL_KINDS
    ids = [row[0] for span in spans for row in db.execute(ask, span)]
    out = {}
    for number, (before, behind) in beside.items():
        back = [n for first, end in before for n in reversed(ids[bisect_left(ids, first):bisect_left(ids, end)])]
        on = [n for first, end in behind for n in ids[bisect_left(ids, first):bisect_left(ids, end)]]
        out[number] = back[:1] + on[:1], back[1:2] + on[1:2]
    return out


def mean_length(db):
    """-> (documents, mean number of tokens) of a shard's prose table, from FTS5's own record of its totals."""
    row = db.execute('select block from prose_data where id = 1').fetchone()
    values, value, block = [], 0, bytes(row[0]) if row and row[0] else b''
    for byte in block:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            values.append(value)
            value = 0
    if len(values) < 2 or not values[0]:
        return 0, 1.0
    return values[0], values[1] / float(values[0])


def on_a_day(time, dates):
    """True when a time (ms, the reader's zone) lies on one of the days or in one of the months."""
    if time is None:
        return False
    from ..base.clock import local_day, zone
    year, month, day = local_day(time, zone()).split('-')
    return any(int(month) == m and (d is None or int(day) == d) and (y is None or int(year) == y) for y, m, d in dates)


def spans(dates, first, last):
    """Yield (since, until) in ms of days and months in the years between two times."""
    from ..base.clock import local_day, zone
    here = zone()
    for y, m, d in dates:
        for year in range(int(local_day(first, here)[:4]), int(local_day(last, here)[:4]) + 1):
            if y in (None, year):
                since = here.to_utc(year, m, d or 1, 0, 0, 0)
                until = since + 86400000 if d else here.to_utc(year + m // 12, m % 12 + 1, 1, 0, 0, 0)
                yield since, until
