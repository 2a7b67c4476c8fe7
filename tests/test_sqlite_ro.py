"""Databases of agents are read whole, and nothing beside them changes: no file comes, goes or is written to."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from helpers import ROOT
from echolib.base import sqlite_ro

# A process that has a database open, as an agent does: it writes a row, waits for a line, and closes or dies.
AGENT = '''
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute('pragma journal_mode=' + sys.argv[2])
db.execute('create table if not exists t (x, y)')
db.execute("insert into t values (1, 'one')")
db.commit()
if sys.argv[3] == 'busy':
    db.execute('pragma cache_size=1')
    db.execute('begin exclusive')
    db.executemany('insert into t values (?, ?)', ((n, 'x' * 3000) for n in range(200)))
print('up')
sys.stdout.flush()
sys.stdin.readline()
if sys.argv[3] == 'close':
    db.close()
os._exit(0)
'''


class Agent(object):
    """A process with a database open. end: close, crash (leaves its log) or busy (dies in the middle of a change)."""

    def __init__(self, path, mode='wal', end='close'):
        self.process = subprocess.Popen([sys.executable, '-c', AGENT, str(path), mode, end],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline().strip() == b'up'

    def finish(self):
        self.process.communicate(b'\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.finish()


def photograph(folder):
    out = {}
    for name in os.listdir(str(folder)):
        path = os.path.join(str(folder), name)
        stat = os.stat(path)
        with open(path, 'rb') as handle:
            out[name] = (stat.st_size, stat.st_mtime_ns, stat.st_mode, handle.read() if not name.endswith('-shm') else b'')
    return out


def count(path, how=sqlite_ro.opened):
    with how(str(path)) as db:
        return db.execute('select count(*) from t').fetchone()[0]


@pytest.fixture(autouse=True)
def let_go():
    yield
    sqlite_ro.let_go()


def make(path, mode='wal', rows=1):
    db = sqlite3.connect(str(path))
    db.execute('pragma journal_mode=' + mode)
    db.execute('create table t (x, y)')
    db.executemany('insert into t values (?, ?)', ((n, 'text') for n in range(rows)))
    db.commit()
    db.close()
    return str(path)


@pytest.mark.parametrize('how', [sqlite_ro.opened, sqlite_ro.held])
@pytest.mark.parametrize('mode', ['wal', 'delete'])
def test_at_rest(tmp_path, mode, how):
    path = make(tmp_path / 'a.db', mode, 3)
    before = photograph(tmp_path)
    assert count(path, how) == 3
    assert photograph(tmp_path) == before and list(before) == ['a.db']


@pytest.mark.parametrize('name', ['with blank.db', 'a%20b.db', 'a?mode=rwc.db', 'a#b.db', 'd\u00e9j\u00e0 \u4e2d.db', 'raw\udcff.db'])
def test_any_file_name(tmp_path, name):
    os.rename(make(tmp_path / 'a.db'), os.path.join(str(tmp_path), name))
    assert count(os.path.join(str(tmp_path), name)) == 1
    assert os.listdir(str(tmp_path)) == [name]


@pytest.mark.parametrize('limit', [0, 1 << 30])
@pytest.mark.parametrize('end', ['close', 'crash'])
def test_in_use_and_left_open(tmp_path, monkeypatch, end, limit):
    # limit: everything is read in place, or copied
    monkeypatch.setattr(sqlite_ro, 'COPY_BYTES', limit)
    path = tmp_path / 'a.db'
    with Agent(path, end=end) as agent:
        before = photograph(tmp_path)
        assert sorted(before) == ['a.db', 'a.db-shm', 'a.db-wal']
        assert count(path) == count(path, sqlite_ro.held) == 1
        assert photograph(tmp_path) == before
        agent.finish()
        before = photograph(tmp_path)
        assert len(before) == (1 if end == 'close' else 3)
        assert count(path) == count(path, sqlite_ro.held) == 1
        assert photograph(tmp_path) == before


def test_log_without_its_index(tmp_path):
    path = tmp_path / 'a.db'
    with Agent(path, end='crash') as agent:
        agent.finish()
    os.remove(str(path) + '-shm')
    before = photograph(tmp_path)
    assert count(path) == 1
    assert photograph(tmp_path) == before and sorted(before) == ['a.db', 'a.db-wal']


def test_empty_log_beside(tmp_path):
    path = make(tmp_path / 'a.db')
    open(path + '-wal', 'wb').close()
    assert count(path) == 1
    assert sorted(os.listdir(str(tmp_path))) == ['a.db', 'a.db-wal']


def test_change_that_was_never_finished_is_left_out(tmp_path):
    path = tmp_path / 'a.db'
    with Agent(path, 'delete', 'busy') as agent:
        agent.finish()
    before = photograph(tmp_path)
    assert 'a.db-journal' in before
    assert count(path) == 1
    assert photograph(tmp_path) == before


@pytest.mark.skipif(not hasattr(os, 'geteuid') or os.geteuid() != 0, reason='needs root to become an ordinary user')
def test_ordinary_user_in_a_folder_that_cannot_be_written(tmp_path):
    top = tempfile.mkdtemp()
    try:
        folder = os.path.join(top, 'db')
        os.mkdir(folder)
        path = make(os.path.join(folder, 'a.db'), rows=2)
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        os.chmod(top, 0o755)
        # Modules are loaded before: that user need not be able to read this Python.
        code = ('import os, sys\nsys.path.insert(0, %r)\nfrom echolib.base import sqlite_ro\nos.setgid(65534)\nos.setuid(65534)\n'
                'with sqlite_ro.opened(%r) as db:\n    print(db.execute("select count(*) from t").fetchone()[0])' % (ROOT, path))
        said = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).communicate()[0]
        assert said.strip() == b'2'
        assert os.listdir(folder) == ['a.db']
    finally:
        os.chmod(folder, 0o755)
        shutil.rmtree(top)


DAMAGE = {
    'no database': (b'not a database at all\n' * 300, 'not a database'),
    'encrypted': (bytes(bytearray(range(256))) * 64, 'not a database'),
    'cut': (b'SQLite format 3\0' + b'\0' * 50, 'cannot be read'),
    'broken inside': (None, 'cannot be read'),
}


@pytest.mark.parametrize('how', [sqlite_ro.opened, sqlite_ro.held])
@pytest.mark.parametrize('name', sorted(DAMAGE))
def test_damage_is_one_kind_of_error(tmp_path, name, how):
    data, reason = DAMAGE[name]
    path = tmp_path / 'a.db'
    if data is None:
        make(path, rows=5000)
        data = path.read_bytes()
        data = data[:4096] + b'\xff' * (len(data) - 4096)
    path.write_bytes(data)
    before = photograph(tmp_path)
    with pytest.raises(sqlite_ro.Unreadable) as caught:
        count(path, how)
    assert reason in str(caught.value) and isinstance(caught.value, OSError) and caught.value.path == str(path)
    assert photograph(tmp_path) == before


def test_missing_and_unknown_schema(tmp_path):
    with pytest.raises(sqlite_ro.Unreadable) as caught:
        count(tmp_path / 'no.db')
    assert 'No such file' in str(caught.value)
    path = tmp_path / 'a.db'
    db = sqlite3.connect(str(path))
    db.execute('create table other (x)')
    db.commit()
    db.close()
    with pytest.raises(sqlite_ro.Unreadable) as caught:
        count(path)
    assert 'no such table' in str(caught.value)
    with sqlite_ro.opened(str(path)) as db:
        assert (sqlite_ro.columns(db, 'other'), sqlite_ro.columns(db, 't')) == (('x',), ())
        assert sqlite_ro.fields(('x',), ('x', 'y')) == '"x", null'


def test_nothing_in_an_empty_file(tmp_path):
    (tmp_path / 'a.db').write_bytes(b'')
    with sqlite_ro.opened(str(tmp_path / 'a.db')) as db:
        assert sqlite_ro.columns(db, 't') == ()


def test_whole_table_at_once(tmp_path):
    path = make(tmp_path / 'a.db', rows=2)
    assert sqlite_ro.rows(path, 't', ('x', 'z')) == [(0, None), (1, None)]
    assert sqlite_ro.rows(path, 'none', ('x',)) == sqlite_ro.rows(path + 'x', 't', ('x',)) == []


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / 'a.db'
    db = sqlite3.connect(str(path))
    db.execute('create table t (x)')
    db.execute("insert into t values (cast(x'443aff41' as text))")
    db.commit()
    db.close()
    with sqlite_ro.opened(str(path)) as db:
        assert db.execute('select x from t').fetchone()[0] == 'D:\ufffdA'


def test_writing_is_refused(tmp_path):
    path = make(tmp_path / 'a.db')
    with pytest.raises(sqlite_ro.Unreadable) as caught:
        with sqlite_ro.opened(path) as db:
            db.execute('insert into t values (1, 2)')
    assert 'readonly' in str(caught.value)
    assert count(path) == 1


def test_held_connection_stays_until_something_changes(tmp_path, monkeypatch):
    made = []
    plain = sqlite_ro._Way

    class Counted(plain):
        def __init__(self, path):
            made.append(path)
            plain.__init__(self, path)

    monkeypatch.setattr(sqlite_ro, '_Way', Counted)
    path = make(tmp_path / 'a.db')
    for _ in range(3):
        assert count(path, sqlite_ro.held) == 1
    assert len(made) == 1
    with sqlite_ro.held(path) as db:
        # Changed while one reader has it: he goes on, the next one sees the change.
        os.remove(path)
        make(path, rows=4)
        os.utime(path, ns=(10 ** 18, 10 ** 18))
        assert count(path, sqlite_ro.held) == 4
        assert db.execute('select count(*) from t').fetchone()[0] == 1
    assert len(made) == 2
    for name in 'bcd':
        count(make(tmp_path / (name + '.db')), sqlite_ro.held)
    assert len(sqlite_ro._kept) <= 2


def test_no_copy_is_left(tmp_path, monkeypatch):
    scratch = tmp_path / 'scratch'
    scratch.mkdir()
    monkeypatch.setattr('tempfile.tempdir', str(scratch))
    path = tmp_path / 'a.db'
    with Agent(path, end='crash') as agent:
        agent.finish()
    assert count(path) == 1 and os.listdir(str(scratch)) == []
    with sqlite_ro.held(str(path)):
        folder, = os.listdir(str(scratch))
        assert os.stat(str(scratch / folder)).st_mode & 0o777 == 0o700
    sqlite_ro.let_go()
    assert os.listdir(str(scratch)) == []
    with pytest.raises(ValueError):
        with sqlite_ro.opened(str(path)):
            raise ValueError('of the caller')
    assert os.listdir(str(scratch)) == []


def test_a_database_that_never_stands_still(tmp_path, monkeypatch):
    path = tmp_path / 'a.db'
    with Agent(path) as agent:
        ticks = iter(range(100))
        state = sqlite_ro.state
        monkeypatch.setattr(sqlite_ro, 'state', lambda p: state(p) + (next(ticks),))
        monkeypatch.setattr('time.sleep', lambda seconds: None)
        # In use: read in place, then.
        assert count(path) == 1
        agent.finish()
    with Agent(path, end='crash') as agent:
        agent.finish()
    os.remove(str(path) + '-shm')
    with pytest.raises(sqlite_ro.Unreadable) as caught:
        count(path)
    assert 'faster' in str(caught.value)
