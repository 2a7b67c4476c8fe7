"""Trae: cards that sum up exchanges, chats in databases of the editors, rollouts of the command line client.

fixtures/trae_cn/home holds the files; each state.json becomes a state.vscdb; expected.json was worked out by hand.
"""
import json
import os
import shutil
import sqlite3

import pytest

import folding
from helpers import FIXTURES
from echolib.adapters import registry, trae_cards, trae_chats, trae_cn
from echolib.base import clock, sqlite_ro
from echolib.base.errors import EchoError
from echolib.records import Coverage, Record

FOLDER = os.path.join(FIXTURES, 'trae_cn')
THREAD = '0195c0de-00aa-7a0a-8a0a-00000000ca0a'
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)


def make_db(path, value):
    db = sqlite3.connect(path)
    db.execute('create table ItemTable (key text unique on conflict replace, value blob)')
    db.execute('insert into ItemTable values (?, ?)', (trae_chats.KEY, value))
    db.execute("insert into ItemTable values ('icube-ai-agent-storage-input-history', '[{\"inputText\":\"x\"}]')")
    db.commit()
    db.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The fixture's home folder with its databases, as the user's home."""
    path = str(tmp_path / 'home')
    shutil.copytree(os.path.join(FOLDER, 'home'), path)
    for where, _, names in os.walk(path):
        if 'state.json' in names:
            with open(os.path.join(where, 'state.json'), 'rb') as handle:
                # Text or blob: both occur.
                value = handle.read()
            make_db(os.path.join(where, 'state.vscdb'), value if where.endswith('w1') else value.decode('utf-8'))
            os.remove(os.path.join(where, 'state.json'))
    monkeypatch.setenv('HOME', path)
    monkeypatch.setenv('USERPROFILE', path)
    monkeypatch.setenv('APPDATA', os.path.join(path, '.config'))
    monkeypatch.delenv('XDG_CONFIG_HOME', raising=False)
    monkeypatch.setattr('sys.platform', 'linux')
    monkeypatch.setenv('TZ', 'UTC')
    yield path
    sqlite_ro.let_go()


def sessions(home, problems=None):
    out = {}
    for root in trae_cn.roots({'APPDATA': os.path.join(home, '.config')}):
        out.update(folding.sessions(trae_cn, root, problems))
    return out


def profile_of(home):
    return os.path.join(home, '.config', 'Trae CN', 'User')


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(home, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(trae_cn, sessions(home)[sid], expected) == expected


def test_everything_together(home):
    assert folding.added_up(trae_cn, sessions(home).values()) == EXPECTED['all']


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_stands_once(home, needle):
    kind, times = EXPECTED['needles'][needle]
    found = [event for session in sessions(home).values() for source in session.sources for event in folding.events(trae_cn, source)
             if needle in event.text and event.label not in ('cwd', 'version') and event.kind != 'meta']
    assert [event.kind for event in found if event.kind != 'injected' or kind == 'injected'] == [kind] * times


def test_events_are_found_again(home):
    before = folding.photograph(home)
    assert sum(folding.found_again(trae_cn, source) for sid, session in sessions(home).items() for source in session.sources
               if sid not in (THREAD, 'aa11', 'bb22')) > 6
    for sid in ('aa11', 'bb22'):
        for source in sessions(home)[sid].sources:
            for event in folding.events(trae_cn, source):
                if event.text and event.part >= 0:
                    again = [one for one in trae_cn.events_at(source, event.offset, event.length) if one.part == event.part]
                    assert [one._replace(turn=event.turn, line=event.line, time=event.time) for one in again] == [event]
    assert folding.photograph(home) == before


# finding


def test_roots(home, tmp_path):
    assert trae_cn.roots({}) == [os.path.join(home, name) for name in (
        '.trae-cn', '.trae', '.config/Trae/User', '.config/Trae CN/User', '.config/TRAE SOLO CN/User')]
    assert trae_cn.roots({'XDG_CONFIG_HOME': '/c'})[2] == '/c/Trae/User'


def test_profiles_on_other_systems(monkeypatch):
    monkeypatch.setattr('sys.platform', 'darwin')
    assert trae_cn.config_folder({}, '/Users/ann') == '/Users/ann/Library/Application Support'
    monkeypatch.setattr('os.name', 'nt')
    assert trae_cn.config_folder({'APPDATA': 'C:\\Roaming'}, 'C:\\Users\\ann') == 'C:\\Roaming'


def test_scan(home):
    rows = dict((row[0][len(home) + 1:], row[3:]) for root in trae_cn.roots({}) for row in trae_cn.scan(root, []))
    top = '.trae-cn/memory/projects/'
    assert rows == {
        top + '-home-ann-shop/20260301/session_memory_aa11.jsonl': ('main', '', 'aa11', '-home-ann-shop'),
        top + '-home-ann-shop/20260302/session_memory_aa11.jsonl': ('main', '', 'aa11', '-home-ann-shop'),
        top + '-nowhere-a-b/20260305/session_memory_bb22.jsonl': ('main', '', 'bb22', '-nowhere-a-b'),
        '.config/Trae CN/User/workspaceStorage/w1/state.vscdb/ide-1': ('main', '', 'ide-1', ''),
        '.config/Trae CN/User/globalStorage/state.vscdb/ide-2': ('main', '', 'ide-2', ''),
        '.trae/cli/sessions/2026/03/10/rollout-2026-03-10T09-00-00-%s.jsonl' % THREAD: ('main', '', THREAD, '')}
    problems = []
    assert list(trae_cn.scan(os.path.join(home, 'no'), problems)) == [] and [why for _, why in problems] == ['No such file or directory']


def test_only_the_chat_that_changed_is_read_again(home):
    rows = lambda: dict((row[5], row[1:3]) for row in trae_cn.scan(profile_of(home), []))
    before = rows()
    path = os.path.join(profile_of(home), 'workspaceStorage', 'w1', 'state.vscdb')
    chats = trae_chats.chats(path)
    chats[0]['messages'][2]['content'] += ' Always.'
    db = sqlite3.connect(path)
    db.execute('update ItemTable set value = ? where key = ?', (json.dumps({'list': chats}), trae_chats.KEY))
    db.commit()
    db.close()
    after = rows()
    assert [sid for sid in before if before[sid] != after[sid]] == ['ide-1']


def test_encrypted_chats_are_said_and_broken_databases_named(home):
    path = os.path.join(home, '.config', 'Trae CN', 'ModularData', 'ai-agent', 'database.db')
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, 'wb') as handle:
        handle.write(b'\x8f' * 4096)
    problems = []
    list(trae_cn.discover(profile_of(home), problems))
    assert [(p, 'encrypted' in why) for p, why in problems] == [(path, True)]
    problems = []
    list(trae_cn.scan(profile_of(home), problems))
    assert problems == []
    broken = os.path.join(profile_of(home), 'workspaceStorage', 'w2', 'state.vscdb')
    with open(broken, 'wb') as handle:
        handle.write(b'not a database' * 100)
    found = list(trae_cn.scan(profile_of(home), problems))
    assert len(found) == 2 and [p for p, _ in problems] == [broken]
    with open(path, 'wb') as handle:
        handle.write(b'SQLite format 3\0' + b'\0' * 100)
    assert trae_cn.encrypted(profile_of(home)) == ''


def test_owns_and_session_at(home):
    for session in sessions(home).values():
        for source in session.sources:
            assert trae_cn.owns(source.path) and registry.detect(source.path) is trae_cn
            again = trae_cn.session_at(source.path)
            assert (again.agent, again.id) == ('trae_cn', session.id)
    whole = trae_cn.session_at(os.path.join(home, '.trae-cn/memory/projects/-home-ann-shop/20260302/session_memory_aa11.jsonl'))
    assert (len(whole.sources), whole.folder, whole.root) == (2, '-home-ann-shop', os.path.join(home, '.trae-cn'))
    with pytest.raises(EchoError):
        trae_cn.session_at(os.path.join(profile_of(home), 'globalStorage', 'state.vscdb'))
    assert not trae_cn.owns('/home/x/.codex/sessions/2026/03/10/rollout-x.jsonl')
    assert not trae_cn.owns('/home/x/.config/Code/User/globalStorage/state.vscdb')


def test_resume(home):
    assert trae_cn.resume(THREAD, '') == ['traex', 'resume', THREAD]
    with pytest.raises(EchoError):
        trae_cn.resume('aa11', '')


# cards


def test_cards_that_are_added_give_what_a_whole_file_does(home):
    source = sessions(home)['aa11'].sources[0]
    whole = folding.events(trae_cn, source)
    with open(source.path, 'rb') as handle:
        lines = handle.readlines()
    for cut in range(1, len(lines)):
        with open(source.path, 'wb') as handle:
            handle.write(b''.join(lines[:cut]))
        state, coverage = {}, Coverage(source.path)
        got = folding.events(trae_cn, source, coverage, state)
        with open(source.path, 'ab') as handle:
            handle.write(b''.join(lines[cut:]))
        state = json.loads(json.dumps(state))
        got += [e for some in trae_cn.read(source, Coverage(source.path, coverage.offset, coverage.line), coverage.offset, coverage.line, state) for e in some]
        assert got == whole


TIMES = {
    'in summer': ('2026-07-01 12:00:00', '20260701', '2026-07-01T10:00:00Z'),
    'in winter': ('2026-01-01 12:00:00', '20260101', '2026-01-01T11:00:00Z'),
    'with a T': ('2026-01-01T12:00:00', '', '2026-01-01T11:00:00Z'),
    'no time': ('yesterday', '20260101', '2025-12-31T23:00:00Z'),
    'no such time': ('2026-02-30 25:00:00', '20260101', '2025-12-31T23:00:00Z'),
    'nothing at all': (None, 'day', ''),
    'no such day': (7, '20261399', ''),
}


@pytest.mark.parametrize('name', sorted(TIMES))
def test_local_times(name):
    text, day, expected = TIMES[name]
    found = trae_cards.local_time(text, day, clock.zone('Europe/Berlin'))
    assert (clock.format_time(found).replace('.000Z', 'Z') if found is not None else '') == expected


def test_a_card_without_a_time_follows_the_one_before_it(home):
    found = dict((e.text, clock.format_time(e.time)) for e in folding.events(trae_cn, sessions(home)['aa11'].sources[0]) if e.kind == 'prompt')
    assert set(found.values()) == {'2026-03-01T17:05:11Z'} and len(found) == 2


def test_directory_of_a_slug(tmp_path):
    top = str(tmp_path)
    for name in ('a-b/c', 'x/y-z', 'x-y/z', 'home/ann/my-shop'):
        os.makedirs(os.path.join(top, name))
    found = lambda slug: trae_cards.directory_of(slug, top)[len(top):]
    assert found('-home-ann-my-shop') == '/home/ann/my-shop' and found('-a-b-c') == '/a-b/c'
    # Two directories would have this name; the others have none.
    assert found('-x-y-z') == found('-home-bob') == found('home-ann') == found('-') == ''


CARDS = {
    'all': ({'intent': 'i', 'actions': ['a', 'b'], 'outcome': 'o', 'learned': ['l'], 'message_id': 'm'},
            [('prompt', 'i', 0), ('reply', '- a\n- b', 1), ('reply', 'o', 2), ('reply', 'l', 3)]),
    'learned as text': ({'intent': 'i', 'learned': 'l'}, [('prompt', 'i', 0), ('reply', 'l', 3)]),
    'no intent': ({'outcome': 'o'}, [('reply', 'o', 2)]),
    'wrong types': ({'intent': 7, 'actions': {'a': 1}, 'outcome': ['o'], 'learned': [1, None, ' x ']}, [('reply', 'x', 3)]),
    'unknown keys': ({'intent': 'i', 'mood': {'word': 'calm'}}, [('prompt', 'i', 0), ('injected', 'calm', 4)]),
}


@pytest.mark.parametrize('name', sorted(CARDS))
def test_cards(name):
    card, expected = CARDS[name]
    source = trae_cn.Source('/m/-s/20260301/session_memory_x.jsonl', 'main', '', 'x', 0, 0)
    found = trae_cards.Parser(source, Coverage(), {'cwd': ''}).events(Record(card, 1, 0, 10))
    assert [(e.kind, e.text, e.part) for e in found] == expected
    assert len(set(e.id for e in found)) == len(found)


# chats


TASKS = {'text': 'plain', 'content': {'content': 'plain'}, 'text key': {'text': 'plain'}, 'proposal': {'proposal': 'plain'},
         'plan': {'guideline': {'planItems': [{'content': 'plain'}, 7, {'content': 8}]}}, 'json text': '{"content": "plain"}'}


@pytest.mark.parametrize('name', sorted(TASKS))
def test_answers_given_as_tasks(name):
    assert trae_chats._task_text(TASKS[name]) == 'plain'
    assert trae_chats._task_text({'guideline': 7}) == trae_chats._task_text(7) == ''


@pytest.mark.parametrize('value', [b'', b'[]', b'{"list":7}', b'{"list":[1,{"sessionId":7},{"sessionId":"s"},{"sessionId":"t","messages":[1,{}]}]}', b'{"list":', None])
def test_odd_values(tmp_path, value):
    root = str(tmp_path)
    os.makedirs(os.path.join(root, 'globalStorage'))
    make_db(os.path.join(root, 'globalStorage', 'state.vscdb'), value)
    problems = []
    for session in trae_cn.discover(root, problems):
        coverage = Coverage()
        folding.events(trae_cn, session.sources[0], coverage)
        assert (coverage.lines, coverage.parse_errors, coverage.open_end) == (2, 1, True)
    assert problems == []


def test_workspace_folders(tmp_path):
    path = str(tmp_path / 'state.vscdb')
    for text, expected in (('{"folder":"file:///home/ann/a%20b"}', '/home/ann/a b'), ('{"folder":"file:///c%3A/Users/ann"}', 'c:/Users/ann'),
                           ('{"folder":"vscode-remote://x/y"}', ''), ('{"configuration":"file:///x"}', ''), ('[]', ''), ('{', '')):
        (tmp_path / 'workspace.json').write_bytes(text.encode('utf-8'))
        assert trae_chats.directory_of(path) == expected


def test_the_rest():
    assert trae_cn.billed(None) is None and trae_cn.spill_path(None, 'x') == '' and trae_cn.branches('/x/session_memory_a.jsonl') == (1, set())


@pytest.mark.slow
def test_as_a_user_sees_it(home):
    before = folding.photograph(home)
    assert folding.asked(home, 'trae_cn') == (EXPECTED['all'], '')
    assert folding.asked(home, 'trae_cn', SESSION_DIGGER_DATA_DIR=os.path.join(FOLDER, 'expected.json', 'no'))[0] == EXPECTED['all']
    assert folding.photograph(home) == before
    path = os.path.join(profile_of(home), 'globalStorage', 'state.vscdb')
    os.remove(path)
    # The other copy of the chat is left.
    assert folding.asked(home, 'trae_cn')[0] == EXPECTED['all']
