"""What a database holds is asked again only when it changed, and a memo never says anything else than the database."""
import json
import os
import shutil
import sqlite3

import pytest

from helpers import FIXTURES
from echolib.adapters import cursor, cursor_db, dim, dim_db, hermes, hermes_db, opencode, opencode_db, registry, trae_chats, trae_cn, zcode, zcode_db
from echolib.base import memo, sqlite_ro



def fixture_script(name):
    with open(os.path.join(FIXTURES, name, 'db.sql'), encoding='utf-8') as handle:
        return handle.read()


def chats(*times):
    value = json.dumps({'list': [{'sessionId': 'chat-%d' % n, 'createdAt': when, 'messages': [{'role': 'user', 'content': 'hi'}]}
                                 for n, when in enumerate(times)]})
    return "insert or replace into ItemTable values ('%s', '%s');" % (trae_chats.KEY, value)


TABLE = 'create table if not exists ItemTable (key text unique on conflict replace, value blob);'
T0 = 1790000000000
# name: (adapter, module that asks, database below the root, script that makes it, a change of one session)
STORES = {
    'zcode': (zcode, zcode_db, zcode.DB, fixture_script('zcode'), "update session set time_updated = %d where rowid = 1" % (T0 + 5)),
    'dim': (dim, dim_db, dim.DB, fixture_script('dim'), "update sessions set title = 'other' where rowid = 1"),
    'opencode': (opencode, opencode_db, 'opencode.db', fixture_script('opencode'), "update session set title = 'other' where rowid = 1"),
    'cursor': (cursor, cursor_db, 'globalStorage/state.vscdb', fixture_script('cursor'),
               "insert into cursorDiskKV values ('bubbleId:c0de0003-0000-4000-8000-000000000003:b8', '{}')"),
    'hermes': (hermes, hermes_db, hermes.DB, fixture_script('hermes'), "update sessions set title = 'other' where rowid = 1"),
    'trae_cn': (trae_cn, trae_chats, 'workspaceStorage/w1/state.vscdb', TABLE + chats(T0), chats(T0, T0 + 1000)),
}


class Store(object):
    """A root of one agent with its database, and how often that was asked."""

    def __init__(self, tmp_path, monkeypatch, name):
        self.adapter, module, place, script, self.change = STORES[name]
        self.root, self.data = str(tmp_path / 'root'), str(tmp_path / 'data')
        self.db = os.path.join(self.root, *place.split('/'))
        os.makedirs(os.path.dirname(self.db))
        os.mkdir(self.data)
        db = sqlite3.connect(self.db)
        db.executescript(script)
        db.close()
        monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', self.data)
        # How long ago the inode itself changed cannot be set: every change counts as settled.
        monkeypatch.setattr(memo, '_UNSETTLED', -10 ** 10)
        self.asked = 0
        ask = module.asked

        def counted(path):
            self.asked += 1
            return ask(path)
        monkeypatch.setattr(module, 'asked', counted)

    def rows(self):
        problems = []
        rows = list(self.adapter.scan(self.root, problems))
        assert problems == []
        return rows

    def bare(self):
        """What a scan says that has no memos."""
        kept, self.asked = self.asked, 0
        shutil.move(self.data, self.data + '.off')
        try:
            rows = self.rows()
        finally:
            shutil.move(self.data + '.off', self.data)
        assert self.asked
        self.asked = kept
        return rows


@pytest.fixture(params=sorted(STORES))
def store(request, tmp_path, monkeypatch):
    yield Store(tmp_path, monkeypatch, request.param)
    sqlite_ro.let_go()


def test_asked_once(store):
    first = store.rows()
    assert first and store.asked == 1
    assert store.rows() == first == store.bare()
    assert store.asked == 1


def test_change_in_the_log(store):
    before = store.rows()
    db = sqlite3.connect(store.db)
    db.execute('pragma journal_mode=wal')
    db.executescript(store.change)
    db.commit()
    assert os.path.getsize(store.db + '-wal')
    changed = store.rows()
    assert changed != before and changed == store.bare()
    asked = store.asked
    assert store.rows() == changed and store.asked == asked
    db.close()
    assert not os.path.exists(store.db + '-wal')
    assert store.rows() == store.bare()


def test_replaced_file_of_the_same_size_and_time(store, tmp_path):
    store.rows()
    stat = os.stat(store.db)
    other = str(tmp_path / 'other.db')
    shutil.copy(store.db, other)
    db = sqlite3.connect(other)
    db.executescript(store.change)
    db.commit()
    db.close()
    assert os.path.getsize(other) == stat.st_size
    os.utime(other, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
    os.replace(other, store.db)
    sqlite_ro.let_go()
    assert store.rows() == store.bare()
    assert store.asked == 2


@pytest.mark.parametrize('what', ('deleted', 'cut', 'other json', 'other version', 'rows of another kind'))
def test_memo_that_is_gone_or_wrong(store, monkeypatch, what):
    first = store.rows()
    folder = os.path.join(store.data, 'memos')
    place, = [os.path.join(folder, name) for name in os.listdir(folder)]
    with open(place, encoding='ascii') as handle:
        text = handle.read()
    if what == 'deleted':
        shutil.rmtree(folder)
    elif what == 'other version':
        monkeypatch.setattr(registry, 'version', lambda name: 99)
    else:
        with open(place, 'w', encoding='ascii') as handle:
            handle.write({'cut': text[:-3], 'other json': '[[[[]]]]', 'rows of another kind': text[:text.rindex(']]')] + ',7]]'}[what])
    assert store.rows() == first
    assert store.asked == 2
    assert store.rows() == first
    assert store.asked == 2


def test_unreadable_database_is_a_problem_each_time(store):
    store.rows()
    with open(store.db, 'wb') as handle:
        handle.write(b'no database at all' * 50)
    for _ in range(2):
        problems = []
        assert list(store.adapter.scan(store.root, problems)) == []
        assert [path for path, _ in problems] == [store.db]


def test_memos_of_what_is_gone_go(store):
    store.rows()
    folder = os.path.join(store.data, 'memos')
    with open(os.path.join(folder, 'x.json.123'), 'w', encoding='ascii') as handle:
        handle.write('half')
    memo.clean()
    assert len(os.listdir(folder)) == 1
    os.remove(store.db)
    memo.clean()
    assert os.listdir(folder) == []


def test_workspace_is_a_part_of_what_a_chat_depends_on(tmp_path, monkeypatch):
    store = Store(tmp_path, monkeypatch, 'trae_cn')
    before = store.rows()
    with open(trae_cn.workspace_file(store.db), 'w', encoding='utf-8') as handle:
        json.dump({'folder': 'file:///home/dev/shop'}, handle)
    assert store.rows() == store.bare() != before
    sqlite_ro.let_go()


def test_just_changed_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path))
    path = tmp_path / 'it'
    path.write_text('x', encoding='ascii')
    assert memo.kept('a', 1, (str(path),), lambda: [(1,)]) == [(1,)]
    assert memo.kept('a', 1, (str(path),), lambda: [(2,)]) == [(2,)]
    assert not (tmp_path / 'memos').exists()


@pytest.mark.parametrize('where', ('no folder', 'a file in its place'))
def test_nothing_can_be_kept(tmp_path, monkeypatch, where):
    data = tmp_path / 'data'
    if where == 'a file in its place':
        data.mkdir()
        (data / 'memos').write_text('', encoding='ascii')
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(data))
    monkeypatch.setattr(memo, '_UNSETTLED', -10 ** 10)
    assert memo.kept('a', 1, (str(tmp_path),), lambda: [(1, 'x')]) == [(1, 'x')]
    assert where == 'a file in its place' or not data.exists()
