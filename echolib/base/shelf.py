"""Rows by key, as many as there are: few are held in memory, more lie in a temporary file."""
import io
import marshal
from array import array
from bisect import bisect_left

from .identity import key_of

# So many rows are held as they are; once there are more, so many at a time.
FEW, PIECE = 10000, 4096


class Shelf(object):
    """{key: row}, a row being a tuple or dict of plain values; keys keep the order in which they came.

    join(a, b) -> the one row of two that came with one key, a the earlier; it must not matter which two of a, b, c are joined
    first. few: as many are held as they are.
    """

    def __init__(self, join, few=FEW):
        self.join, self.few = join, few
        self._few, self._file = {}, None
        # Of each row in the file its key and place, in the order of the keys once they are sorted.
        self._keys, self._places, self._sorted = array('q'), array('q'), False

    def add(self, key, row):
        """Add a row, or what else comes under its key."""
        have = self._few.get(key)
        self._few[key] = row if have is None else self.join(have, row)
        if len(self._few) > self.few:
            self._spill()

    def pack(self):
        """Put all that is held into the file; rows can then be asked for by their 64-bit keys."""
        if self._few or self._file is None:
            self._spill()

    def holds(self, key):
        """True for a key that is known to be there; False says nothing."""
        return key in self._few

    def get(self, key):
        """-> the row of a key (its text; once rows are packed also its 64-bit key), None without one."""
        if self._file is None:
            return self._few.get(key)
        self._sort()
        key = key_of(key) if type(key) is str else key
        at = bisect_left(self._keys, key)
        return self._joined(at) if at < len(self._keys) and self._keys[at] == key else None

    def __iter__(self):
        """Yield the rows in the order in which their keys came."""
        if self._file is None:
            for row in list(self._few.values()):
                yield row
            return
        self._sort()
        # Rows lie in the file as they came, what else came under a key behind its first.
        keys, places = self._keys, self._places
        firsts = [at for at in range(len(keys)) if not at or keys[at] != keys[at - 1]]
        firsts.sort(key=places.__getitem__)
        for at in firsts:
            yield self._joined(at)

    def _joined(self, at):
        """-> the row of the key at a place of the sorted keys."""
        key, row = self._keys[at], self._read(self._places[at])
        while at + 1 < len(self._keys) and self._keys[at + 1] == key:
            at += 1
            row = self.join(row, self._read(self._places[at]))
        return row

    def _read(self, place):
        self._file.seek(place)
        return marshal.load(self._file)

    def _sort(self):
        self.pack()
        if not self._sorted:
            order = sorted(range(len(self._keys)), key=self._keys.__getitem__)
            self._keys = array('q', map(self._keys.__getitem__, order))
            self._places = array('q', map(self._places.__getitem__, order))
            self._sorted = True

    def _spill(self):
        if self._file is None:
            self._file, self.few = _scratch(), min(self.few, PIECE)
        place = self._file.seek(0, io.SEEK_END)
        for key, row in self._few.items():
            packed = marshal.dumps(row)
            self._file.write(packed)
            self._keys.append(key_of(key) if type(key) is str else key)
            self._places.append(place)
            place += len(packed)
        self._few, self._sorted = {}, False


def _scratch():
    import tempfile
    try:
        return tempfile.TemporaryFile(prefix='session-digger-')
    except OSError:
        # No place to write: memory must do.
        return io.BytesIO()
