"""Every way to unpack zstd gives the same, and the last of them needs nothing."""
import os

import pytest

from echolib.base import zstd
from helpers import FIXTURES
from test_zstd_pure import CONTENT, FOLDER

MODULE, PROGRAM = zstd._module(), zstd._program()
WAYS = {'module': zstd._by_module, 'program': zstd._by_program, 'by hand': zstd._by_hand}


@pytest.fixture
def bare(monkeypatch):
    """Make this a machine without module and program."""
    monkeypatch.setattr(zstd, '_module', lambda: None)
    monkeypatch.setattr(zstd, '_program', lambda: '')


def fixture(name):
    """Return the path of a packed file."""
    return os.path.join(FOLDER, name + '.zst')


def packed(name):
    """Return the bytes of a packed file."""
    with open(fixture(name), 'rb') as data:
        return data.read()


@pytest.mark.parametrize('way', sorted(WAYS))
@pytest.mark.parametrize('name', sorted(CONTENT))
def test_ways(way, name, monkeypatch):
    stream = WAYS[way](fixture(name))
    if stream is None:
        pytest.skip('no %s here' % way)
    stream.close()
    monkeypatch.setattr(zstd, '_WAYS', (WAYS[way],))
    with zstd.open_zstd(fixture(name)) as handle:
        assert handle.read() == CONTENT[name]


def test_a_bare_machine(bare):
    assert zstd.way() == 'zstd_pure'
    with zstd.open_zstd(fixture('lines-19')) as handle:
        assert list(handle) == CONTENT['lines-19'].splitlines(True)


def test_damage_shows_while_reading(bare, tmpdir):
    path = str(tmpdir.join('cut.zst'))
    with open(path, 'wb') as out:
        out.write(packed('long-3')[:-40])
    with zstd.open_zstd(path) as handle:
        assert handle.read(1000) == CONTENT['long-3'][:1000]
        with pytest.raises(OSError):
            handle.read()


def test_what_is_no_zstd_file():
    with pytest.raises(OSError):
        zstd.open_zstd(os.path.join(FIXTURES, 'README.md'))


def frames(*names):
    """Return (packed, size) of fixtures."""
    return [(packed(name), len(CONTENT[name])) for name in names]


@pytest.mark.parametrize('where', ['here', 'bare'])
def test_frames(where, request, monkeypatch):
    if where == 'bare':
        request.getfixturevalue('bare')
    else:
        monkeypatch.setattr(zstd, '_WORTH', 100)
    names = ('lines-1', 'empty-3', 'letters-3', 'zeros-3', 'byte-3')
    assert list(zstd.unpack_frames(frames(*names))) == [CONTENT[name] for name in names]
    bad = frames('lines-1', 'letters-3', 'lines-19')
    bad[1] = (bad[1][0][:-9], bad[1][1])
    # Two that hold other amounts than they say, whose sum is right, and one that holds more.
    bad += [(packed('byte-3'), 2), (packed('byte-3'), 0), (packed('zeros-3'), 10)]
    assert list(zstd.unpack_frames(bad)) == [CONTENT['lines-1'], None, CONTENT['lines-19'], None, None, None]
    assert list(zstd.unpack_frames([])) == []
