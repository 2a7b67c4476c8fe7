"""Tables that fit the terminal: which columns are shown, how wide each is, and bars in what room is left."""
from collections import namedtuple

from ..base import text as texts

# head; cells: texts, of a bar numbers; rank: 0 is always shown, of the others the highest leaves first where the room is
# short; kind: 'name' (to the left, may be cut down to _LEAST), 'path' (a name whose end is kept), 'number' (to the right),
# 'note' (to the left, as it is), 'bar' (takes the room that is left).
Column = namedtuple('Column', 'head cells rank kind')

_GAP = 2
# A name is cut down to _LEAST before a column is left out, and further only where there is nothing left to leave out.
_LEAST, _TIGHT = 14, 8
_SHORTEST, _LONGEST = 6, 40


def name(head, cells, rank=0, path=False):
    """-> Column of names; of paths the end tells them apart."""
    return Column(head, list(cells), rank, 'path' if path else 'name')


def note(head, cells, rank=0):
    """-> Column of words that are not cut."""
    return Column(head, list(cells), rank, 'note')


def number(head, cells, rank=0):
    """-> Column of figures."""
    return Column(head, list(cells), rank, 'number')


def bar(values, rank=9):
    """-> Column of bars, as long as these numbers against the largest."""
    return Column('', list(values), rank, 'bar')


def lines(out, columns):
    """-> the lines of a table, heads first, none wider than the terminal as far as its figures allow."""
    shown, wide = _fit(columns, out.width())
    drawn = []
    for column, size in zip(shown, wide):
        if column.kind == 'bar':
            drawn.append([''] + [out.bar(value, size) for value in _shares(column.cells)])
        else:
            right = column.kind == 'number'
            cut = _cut_head if column.kind == 'path' else texts.cut
            drawn.append([texts.pad(cut(cell, size), size, right) for cell in [column.head] + column.cells])
    return [(' ' * _GAP).join(row).rstrip() for row in zip(*drawn)]


def _cut_head(words, size):
    """Words cut at their beginning."""
    if texts.width(words) <= size:
        return words
    while texts.width(words) > size - 1:
        words = words[1:]
    return u'\u2026' + words


def _shares(values):
    top = max(values) if values else 0
    return [value / float(top) if top else 0.0 for value in values]


def _fit(columns, room):
    """-> (the columns that are shown, the width of each)."""
    shown = list(columns)
    while True:
        wide = [_natural(column) for column in shown]
        over = sum(wide) + _GAP * (len(wide) - 1) - room
        names = [at for at, column in enumerate(shown) if column.kind in ('name', 'path')]
        spare = sum(max(0, wide[at] - _LEAST) for at in names)
        leaving = max(shown, key=lambda column: column.rank)
        if over > spare and leaving.rank:
            shown.remove(leaving)
            continue
        for least in (_LEAST, _TIGHT):
            # The widest name gives way first.
            while over > 0 and names and max(wide[at] for at in names) > least:
                wide[max(names, key=lambda at: wide[at])] -= 1
                over -= 1
        for at, column in enumerate(shown):
            if column.kind == 'bar':
                wide[at] = min(_LONGEST, wide[at] - over)
        return shown, wide


def _natural(column):
    if column.kind == 'bar':
        return _SHORTEST
    return max(texts.width(cell) for cell in [column.head] + column.cells)
