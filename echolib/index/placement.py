"""Which file, and so which session, the documents of the shards belong to.

A file's documents lie next to each other, in one piece or few (files.ranges). Lists of documents are compared with those
pieces, not one document at a time: a common word has many more documents than there are files.
"""
from bisect import bisect_left, bisect_right
from itertools import accumulate, chain, compress, repeat
from operator import lt, sub

from ..base.shapes import shape
from . import schema

# Up to this many documents are looked up one by one.
FEW = 300

# A sorted list of documents by the pieces of files that hold them, as lists of the same length. files, sessions: row ids;
# lows, highs: the documents of a piece are those from a place of the list on to before another.
Spread = shape('Spread', 'files sessions lows highs')


class Placement(object):
    """db: connection to index.db.  shards: list of (id, connection, docs_end)."""

    def __init__(self, db, shards):
        self.db, self.shards = db, shards
        self._pieces, self._spreads, self._file_of, self._session_of, self._of_file = {}, {}, {}, {}, {}

    def pieces(self, shard):
        """-> (first documents, files, sessions) of a shard's pieces in order; what belongs to no file is a piece of None."""
        found = self._pieces.get(shard)
        if found is None:
            number = self.shards[shard][0]
            # One text, since a row each costs more; more pieces of a file than one are rare.
            text = self.db.execute("select group_concat(ranges || '-' || id || '-' || ifnull(session, 0)) from files"
                                   " where shard = ? and ranges != '' and instr(ranges, ',') = 0", (number,)).fetchone()[0]
            values = list(map(int, text.replace('-', ',').split(','))) if text else []
            rows = list(zip(values[0::4], values[1::4], values[2::4], values[3::4]))
            for ranges, file, session in self.db.execute("select ranges, id, session from files where shard = ? and instr(ranges, ',') > 0", (number,)):
                rows.extend(piece + (file, session or 0) for piece in schema.pieces(ranges))
            rows.sort()
            bounds, files, sessions, at = [], [], [], 0
            for first, end, file, session in rows:
                if first > at:
                    bounds.append(at)
                    files.append(None)
                    sessions.append(None)
                bounds.append(first)
                files.append(file)
                sessions.append(session or None)
                at = end
            found = self._pieces[shard] = bounds + [at], files + [None], sessions + [None]
        return found

    def spread(self, shard, ids):
        """-> Spread of a sorted list of documents; what belongs to no file (it went, or was read anew) is left out."""
        # The list is kept beside what was found, so that no other list can get its identity.
        if id(ids) not in self._spreads:
            self.keep(ids, self._one_by_one(shard, ids) if shard not in self._pieces and len(ids) <= FEW else self._by_piece(shard, ids))
        return self._spreads[id(ids)][1]

    def keep(self, ids, spread):
        """Remember what a list's Spread is."""
        self._spreads[id(ids)] = ids, spread

    def _by_piece(self, shard, ids):
        bounds, files, sessions = self.pieces(shard)
        cuts = list(map(bisect_left, repeat(ids), bounds))
        ends = cuts[1:] + [len(ids)]
        filled = list(map(lt, cuts, ends))
        spread = Spread(*(list(compress(one, filled)) for one in (files, sessions, cuts, ends)))
        if None in spread.files:
            filled = [file is not None for file in spread.files]
            spread = Spread(*(list(compress(one, filled)) for one in spread))
        return spread

    def _one_by_one(self, shard, ids):
        spread = Spread([], [], [], [])
        for place, number in enumerate(ids):
            file = self.file(shard, number)
            if spread.files and spread.files[-1] == file and spread.highs[-1] == place:
                spread.highs[-1] = place + 1
            elif file is not None:
                for one, value in zip(spread, (file, self.session_of(file), place, place + 1)):
                    one.append(value)
        return spread

    def file(self, shard, number):
        """-> row id of a document's file, None without one."""
        if shard in self._pieces:
            bounds, files, _ = self._pieces[shard]
            return files[bisect_right(bounds, number) - 1]
        key = (shard, number)
        if key not in self._file_of:
            row = self.shards[shard][1].execute('select file from docs where id = ?', (number,)).fetchone()
            self._file_of[key] = row[0] if row else None
        return self._file_of[key]

    def session(self, shard, number):
        """-> row id of a document's session, None without one."""
        if shard in self._pieces:
            bounds, _, sessions = self._pieces[shard]
            return sessions[bisect_right(bounds, number) - 1]
        return self.session_of(self.file(shard, number))

    def load(self, files):
        """Look up where the documents of many files lie at once."""
        wanted = set(files).difference(self._of_file)
        self._of_file.update((file, (None, ())) for file in wanted)
        for file, shard, ranges in schema.rows_of(self.db, 'select id, shard, ranges from files where id in (%s)', wanted):
            self._of_file[file] = shard, schema.pieces(ranges)

    def of_file(self, file):
        """-> (id of the shard, [(first document, the one behind the last)]) of a file's documents, in their order.

        Of a file that grew they lie in several pieces, other files' documents between them.
        """
        if file not in self._of_file:
            self.load((file,))
        return self._of_file[file]

    def beside(self, file, number, ahead, most=None):
        """-> [(first, the one behind the last)] of a file's documents behind (ahead=True) or before one of them, nearest first.

        most: not more documents than this.
        """
        pieces, out = self.of_file(file)[1], []
        for first, end in pieces if ahead else reversed(pieces):
            first, end = (max(first, number + 1), end) if ahead else (first, min(end, number))
            if first >= end or most == 0:
                continue
            if most is not None:
                first, end = (first, min(end, first + most)) if ahead else (max(first, end - most), end)
                most -= end - first
            out.append((first, end))
        return out

    def session_of(self, file):
        """-> row id of a file's session, None without one."""
        if file not in self._session_of:
            row = self.db.execute('select session from files where id = ?', (file,)).fetchone()
            self._session_of[file] = row[0] if row else None
        return self._session_of[file]


def chosen(ids, spread, wanted):
    """-> (list of documents, its Spread) of those pieces for which a list of truth values says so."""
    lows, highs = list(compress(spread.lows, wanted)), list(compress(spread.highs, wanted))
    ends = list(accumulate(map(sub, highs, lows)))
    return (list(chain.from_iterable(map(ids.__getitem__, map(slice, lows, highs)))),
            Spread(list(compress(spread.files, wanted)), list(compress(spread.sessions, wanted)), [0] + ends[:-1] if ends else [], ends))


def pieces_in(spread, field, wanted):
    """Yield (file, session, low, high) of the pieces whose field ('files' or 'sessions') is in a set."""
    return compress(zip(*spread), map(wanted.__contains__, getattr(spread, field)))
