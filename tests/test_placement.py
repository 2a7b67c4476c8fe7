"""Which file and session documents belong to: against a look at every document by itself."""
import random
import sqlite3

import pytest

from echolib.index.placement import FEW, Placement, chosen, pieces_in

# name -> (pieces of each file, in the order in which they lie; None: documents that belong to no file)
LAYOUTS = {
    'nothing': [],
    'one file': [(1, 5)],
    'gaps at both ends and between': [(None, 3), (1, 4), (None, 2), (2, 1), (None, 5)],
    'a file in three pieces': [(1, 4), (2, 3), (1, 2), (3, 6), (1, 1)],
    'many files': [(file if file % 7 else None, 1 + file % 5) for file in range(1, 400)],
}


def laid(layout):
    """-> (Placement, {document: file or None}) of a layout."""
    db, shard = sqlite3.connect(':memory:'), sqlite3.connect(':memory:')
    db.execute('create table files (id integer primary key, shard integer, ranges text, session integer)')
    shard.execute('create table docs (id integer primary key, file integer)')
    pieces, of, at = {}, {}, 1
    for file, size in layout:
        for number in range(at, at + size):
            of[number] = file
            if file is not None:
                shard.execute('insert into docs values (?, ?)', (number, file))
        if file is not None:
            pieces.setdefault(file, []).append('%d-%d' % (at, at + size))
        at += size
    for file, ranges in pieces.items():
        db.execute('insert into files values (?, 9, ?, ?)', (file, ','.join(ranges), _session(file)))
    db.execute("insert into files values (1001, 9, '', 77)")
    db.execute("insert into files values (1002, 8, '1-900', 78)")
    return Placement(db, [(9, shard, at)]), of


def _session(file):
    # Files share sessions; one has none.
    return None if file == 3 else file // 2 + 100 if file is not None else None


@pytest.mark.parametrize('whole', (False, True), ids=('one by one', 'by piece'))
@pytest.mark.parametrize('name', sorted(LAYOUTS))
def test_spread(name, whole):
    placement, of = laid(LAYOUTS[name])
    if whole:
        placement.pieces(0)
    pick = random.Random(len(name))
    for share in (0.0, 0.1, 0.6, 1.0):
        ids = [number for number in sorted(of) if pick.random() < share]
        spread = placement.spread(0, ids if whole else ids[:FEW])
        told = dict((number, (file, session)) for file, session, low, high in zip(*spread) for number in ids[low:high])
        assert told == dict((n, (of[n], _session(of[n]))) for n in (ids if whole else ids[:FEW]) if of[n] is not None)
        for number in ids[:50]:
            assert (placement.file(0, number), placement.session(0, number)) == (of[number], _session(of[number]))


def test_parts_of_a_list():
    placement, of = laid(LAYOUTS['many files'])
    ids = sorted(of)[::2]
    spread = placement.spread(0, ids)
    wanted = [file % 3 == 0 for file in spread.files]
    some, left = chosen(ids, spread, wanted)
    assert some == [n for n in ids if of[n] is not None and of[n] % 3 == 0]
    assert left == placement.spread(0, list(some))
    mine = {110, 150}
    found = [(file, session, ids[low:high]) for file, session, low, high in pieces_in(spread, 'sessions', mine)]
    assert sorted(n for _, _, inside in found for n in inside) == [n for n in ids if _session(of[n]) in mine]
    assert all(_session(file) == session for file, session, _ in found)
    assert chosen(ids, spread, [False] * len(spread.files)) == ([], spread._replace(files=[], sessions=[], lows=[], highs=[]))
