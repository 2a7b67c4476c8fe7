"""Facts of very long sessions, packed: a sequence of Facts as a list is one, in a fifth of the memory.

Few facts stay in a list, which is faster; whoever gets them (see Gathered) need not know which it is.
"""
from array import array

from . import analysis_work
from .analysis import TURN, Fact, first_of, merge
from .base.identity import key_of
from .base.shelf import FEW, PIECE

_TIME, _TEXTS = 1, (3, 11)       # places in a Fact
# Kind, time, side, name, status, five numbers, visible, extra; words as numbers.
_CODES = 'bqqLqqqqqqqL'
_NO_TIME = -1 << 63
_BLOCK = 512
_new = tuple.__new__


class Table(object):
    """A sequence of Facts; keys: array of the 64-bit key of each."""

    def __init__(self):
        self.keys = array('q')
        self._columns = [array(code) for code in _CODES]
        self._words, self._numbers = [''], {'': 0}
        self._first, self._block = 0, []

    def append(self, key, fact):
        """Add a Fact at the end."""
        self.keys.append(key)
        for column, value in zip(self._columns, self._packed(fact)):
            column.append(value)

    def _packed(self, fact):
        values = list(fact)
        if values[_TIME] is None:
            values[_TIME] = _NO_TIME
        for place in _TEXTS:
            word = values[place]
            number = self._numbers.get(word)
            if number is None:
                number = self._numbers[word] = len(self._words)
                self._words.append(word)
            values[place] = number
        return values

    def __len__(self):
        return len(self.keys)

    def __iter__(self):
        return self.part(0, len(self))

    def __getitem__(self, place):
        """One Fact, or the Facts of a slice (of step 1) as something to go through again and again."""
        if isinstance(place, slice):
            first, end, _ = place.indices(len(self))
            return _Part(self, first, end)
        if place < 0:
            place += len(self)
        if not self._first <= place < self._first + len(self._block):
            return next(self._unpacked(place, place + 1))
        return self._block[place - self._first]

    def part(self, first, end):
        """Yield the Facts from `first` to the one before `end`."""
        while first < end:
            block = self._block_at(first)
            found = block[first - self._first:end - self._first]
            first += len(found)
            for fact in found:
                yield fact

    def _block_at(self, place):
        # Of what is read one after the other each fact is unpacked once.
        if not self._first <= place < self._first + len(self._block):
            self._block = list(self._unpacked(place, place + _BLOCK))
            self._first = place
        return self._block

    def _unpacked(self, first, end):
        words = self._words
        for kind, time, side, name, status, a, b, c, d, e, visible, extra in zip(*[column[first:end] for column in self._columns]):
            yield _new(Fact, (kind, None if time == _NO_TIME else time, side, words[name], status, a, b, c, d, e, visible, words[extra]))

    def put(self, place, fact):
        """Replace the Fact at a place."""
        for column, value in zip(self._columns, self._packed(fact)):
            column[place] = value
        self._block = []

    def arrange(self, places):
        """Keep the facts at these places, in this order."""
        self._block = []
        self.keys = array('q', map(self.keys.__getitem__, places))
        for number, column in enumerate(self._columns):
            self._columns[number] = array(column.typecode, map(column.__getitem__, places))

    def sort(self):
        """Put the facts in the order of analysis_work.order."""
        ranks = array('L', [0]) * len(self._words)
        for rank, number in enumerate(sorted(range(len(self._words)), key=self._words.__getitem__)):
            ranks[number] = rank
        places = list(range(len(self)))
        columns = self._columns
        # From the least to the most that counts: each sort keeps the order of what is equal to it. So no keys are made.
        for number in (11, 10, 9, 8, 7, 6, 5, 4):
            places.sort(key=(lambda p, c=columns[number]: ranks[c[p]]) if number in _TEXTS else columns[number].__getitem__)
        places.sort(key=lambda p: ranks[columns[3][p]])
        places.sort(key=columns[2].__getitem__)
        places.sort(key=columns[0].__getitem__)
        places.sort(key=lambda p: columns[0][p] != TURN)
        places.sort(key=lambda p: 0 if columns[_TIME][p] == _NO_TIME else columns[_TIME][p])
        self.arrange(places)


class _Part(object):
    """Some Facts of a Table in a row."""

    __slots__ = ('table', 'first', 'end')

    def __init__(self, table, first, end):
        self.table, self.first, self.end = table, first, max(first, end)

    def __len__(self):
        return self.end - self.first

    def __iter__(self):
        return self.table.part(self.first, self.end)


class Gathered(object):
    """Takes in the facts of a session's files, of a key each once: a list of them while they are few, then a Table.

    few: as many are held as they are; limit: so many a part of a file should hold at most.
    """

    def __init__(self, few=FEW):
        self.few = self.limit = few
        self._facts, self._table, self._files = {}, None, array('L')

    def take(self, facts, file):
        """Add {key: Fact} of a part of a file (number from 1); files one after the other."""
        if self._table is None and len(self._facts) + len(facts) > self.few:
            self._begin()
        if self._table is not None:
            self._pack(facts, file)
        elif not self._facts:
            self._facts = facts
        else:
            for key, fact in facts.items():
                have = self._facts.get(key)
                self._facts[key] = fact if have is None else first_of(have, fact)

    def _begin(self):
        self._table, self.limit = Table(), min(self.few, PIECE)
        self._pack(self._facts, 0)
        self._facts = {}

    def add(self, key, fact):
        """Add a Fact of a 64-bit key that comes once."""
        if self._table is None and len(self._facts) >= self.few:
            self._begin()
        if self._table is None:
            self._facts[key] = fact
        else:
            self._table.append(key, fact)
            self._files.append(0)

    def _pack(self, facts, file):
        for key, fact in facts.items():
            self._table.append(key_of(key) if type(key) is str else key, fact)
            self._files.append(file)

    def facts(self):
        """-> the Facts in whatever order."""
        if self._table is None:
            return self._facts.values()
        self._join()
        return self._table

    def ordered(self):
        """-> (Facts in order, their keys: as they came, or array of the 64-bit ones)."""
        if self._table is None:
            facts, self._facts = self._facts, {}
            keys = sorted(facts, key=lambda key: analysis_work.order(facts[key]))
            return [facts[key] for key in keys], keys
        self._join()
        self._table.sort()
        return self._table, self._table.keys

    def _join(self):
        """Make one fact of those with the same key."""
        table, files = self._table, self._files
        keys = table.keys
        places = sorted(range(len(table)), key=keys.__getitem__)
        gone = bytearray(len(table))
        first = None
        for place in places:
            if first is None or keys[place] != keys[first]:
                first, fact, whole, file = place, None, None, files[place]
                continue
            # A file's own facts make one first, then the first of the files stands for all.
            if fact is None:
                fact = table[first]
            if files[place] == file:
                fact = merge(fact, table[place])
            else:
                whole = fact if whole is None else first_of(whole, fact)
                fact, file = table[place], files[place]
            gone[place] = 1
            table.put(first, fact if whole is None else first_of(whole, fact))
        if any(gone):
            table.arrange([place for place in range(len(gone)) if not gone[place]])
        self._files = array('L')
