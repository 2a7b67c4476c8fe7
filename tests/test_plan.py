"""A known file whose place changed (role, chain, session, root) is read anew there; the index then equals a rebuild."""
import json
import os
import shutil
import sqlite3

import pytest

import make
from helpers import FIXTURES, shared
from homes import Home, snapshot
from echolib.adapters import claude, zcode
from echolib.index import access, build, plan, store
from echolib.index.catalog import ALL, Catalog


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'CLAUDE_CODE_SESSION_ID', 'CODEX_HOME', 'ZCODE_HOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    return Home(tmp_path)


def content(home):
    """What the index says, the place of each file too."""
    view = access.open_view(lambda text: None, refresh=False)
    try:
        files = view.db.execute('select f.path, f.role, f.chain, f.sid, s.sid, r.path from files f join sessions s on s.id = f.session'
                                ' join roots r on r.id = f.root').fetchall()
        return snapshot(view.db), sorted(files, key=repr), view.db.execute('select count(*) from sessions').fetchone()
    finally:
        view.store.close()


def todo(home):
    one = store.Store(home.data)
    one.open()
    try:
        return plan.make(one.db, folder=one.folder)
    finally:
        one.close()


def moved_and_as_rebuilt(home, count):
    """Build, and check that it moved `count` files, that nothing is left to do, and that a rebuild says the same."""
    before = content(home)
    assert len(todo(home).moved) == count
    result = home.build()
    assert (result.indexed, result.deleted) == (max(count, 1), 0)
    assert plan.nothing_to_do(todo(home))
    now = content(home)
    assert now != before
    shutil.rmtree(home.data)
    home.build()
    assert content(home) == now


PLACES = {
    'role': lambda row: row[:3] + ('agent', 'abc', row[5], row[6]) if row[3] == 'main' else row,
    'chain': lambda row: row[:4] + ('other' + row[4],) + row[5:] if row[3] == 'agent' else row,
    'session': lambda row: row[:5] + ('another', row[6]) if row[3] == 'agent' else row,
}


@pytest.mark.parametrize('what', sorted(PLACES))
def test_adapter_places_a_file_elsewhere(home, monkeypatch, what):
    folder = '-home-ann-app'
    name = '11111111-2222-4333-8444-555555555555'
    home.write(b'{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hello there"}}\n', folder, name + '.jsonl')
    home.write(b'{"type":"user","uuid":"u2","isSidechain":true,"timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"look"}}\n',
               folder, name, 'subagents', 'agent-a1.jsonl')
    home.build()
    real = claude.scan
    monkeypatch.setattr(claude, 'scan', lambda *args: [PLACES[what](row) for row in real(*args)])
    moved_and_as_rebuilt(home, 1)


def test_session_in_a_database_gets_a_parent_by_a_trace(home):
    root = os.path.join(home.folder, '.zcode')
    path = os.path.join(root, zcode.DB)
    os.makedirs(os.path.dirname(path))
    with open(os.path.join(FIXTURES, 'zcode', 'db.sql'), encoding='utf-8') as handle:
        script = handle.read()
    db = sqlite3.connect(path)
    # Beside the fixture's sessions one that is complete in the database (a message and a call).
    db.executescript(script + '''
        insert into session select 'sess_late', null, slug, directory, title, 'interactive', project_id, workspace_id, version, 1788000000000,
            1788000000000 from session where id = 'sess_0a11';
        insert into message values ('msg_late', 'sess_late', 0, '{"role":"user","semantics":{"origin":"real_user","kind":"user_prompt"}}',
            1788000000000, 1788000000000);
        create temp table one as select * from model_usage where session_id = 'sess_0a11' limit 1;
        update one set session_id = 'sess_late', id = 'late';
        insert into model_usage select * from one;''')
    db.close()
    home.build()
    trace = os.path.join(root, 'cli', 'agents', 'sess_0a11', 'sess_late', 'transcript.jsonl')
    os.makedirs(os.path.dirname(trace))
    with open(trace, 'w', encoding='utf-8') as handle:
        handle.write('')
    moved_and_as_rebuilt(home, 1)


@pytest.mark.parametrize('how', ('into the database', 'as a transcript of a driven agent', 'into the database, empty'))
def test_snapshot_that_is_restored_elsewhere_counts_once(home, how):
    """Its id there is another one, and the file itself does not change."""
    root = os.path.join(home.folder, '.zcode')
    top = os.path.join(root, 'v2', 'sessions', 'abc')
    os.makedirs(top)
    with open(os.path.join(top, 'task-1.json'), 'w', encoding='utf-8') as handle:
        json.dump({'meta': {'taskId': 'task-1', 'acpSessionId': 'sess_again'}, 'messages': [
            {'role': 'user', 'content': 'plant ferns', 'timestamp': 1788000000000}]}, handle)
    home.build()
    assert sorted(content(home)[0]['sessions']) == ['task-1']
    if how == 'as a transcript of a driven agent':
        path = os.path.join(root, 'v2', 'acp-config', 'claude', 'a', 'projects', '-home-ann', 'sess_again.jsonl')
        os.makedirs(os.path.dirname(path))
        with open(path, 'w', encoding='utf-8') as handle:
            handle.write('{"type":"user","uuid":"u1","timestamp":"2026-08-29T00:00:00Z","message":{"role":"user","content":"plant ferns"}}\n')
    else:
        path = os.path.join(root, zcode.DB)
        os.makedirs(os.path.dirname(path))
        with open(os.path.join(FIXTURES, 'zcode', 'db.sql'), encoding='utf-8') as handle:
            script = handle.read()
        db = sqlite3.connect(path)
        db.executescript(script[:script.index('insert into session')] + """
            insert into session (id, title, time_created, time_updated) values ('sess_again', 'Ferns', 1788000000000, 1788000000000);""")
        if how == 'into the database':
            db.execute("""insert into message (id, session_id, data, time_created) values ('m1', 'sess_again',
                '{"role":"user","semantics":{"origin":"real_user","kind":"user_prompt"}}', 1788000000000)""")
        db.commit()
        db.close()
    home.build()
    now = content(home)
    assert sorted(now[0]['sessions']) == ['task-1' if how.endswith('empty') else 'sess_again']
    shutil.rmtree(home.data)
    home.build()
    assert content(home) == now


def test_same_session_in_two_folders_of_one_root_counts_once(home):
    name = '11111111-2222-4333-8444-555555555555.jsonl'
    text = b'{"type":"user","uuid":"u1","timestamp":"2026-01-01T00:00:00Z","cwd":"/home/ann/app","message":{"role":"user","content":"hello there"}}\n'
    home.write(text, '-home-ann-app', name)
    home.write(text, '-home-ann-moved', name)
    home.build()
    view = access.open_view(lambda part: None, refresh=False)
    try:
        rows = Catalog(view.db).rows(ALL)
        assert [(row.sid, row.folder, row.msg_count) for row in rows] == [(name[:-6], '-home-ann-app', 1)]
        assert Catalog(view.db).resolve(name[:8]).row.id == rows[0].id
    finally:
        view.store.close()


def test_first_record_tells_another_place(home):
    """A Codex rollout written anew as a subagent's: only its first record says so."""
    top = os.path.join(home.folder, '.codex', 'sessions', '2026', '01', '01')
    os.makedirs(top)
    parent, child = '019b7000-0000-7000-8000-00000000000a', '019b7000-0000-7000-8000-00000000000b'

    def rollout(thread, **more):
        meta = dict({'id': thread, 'timestamp': '2026-01-01T00:00:00Z', 'cwd': '/home/ann/app', 'originator': 'codex_cli_rs',
                     'cli_version': '0.171.0', 'source': 'cli'}, **more)
        with open(os.path.join(top, 'rollout-2026-01-01T00-00-00-%s.jsonl' % thread), 'w', encoding='utf-8') as handle:
            handle.write(json.dumps({'timestamp': '2026-01-01T00:00:00Z', 'type': 'session_meta', 'payload': meta}) + '\n')
            handle.write(json.dumps({'timestamp': '2026-01-01T00:00:01Z', 'type': 'event_msg', 'payload': {'type': 'user_message', 'message': 'hi'}}) + '\n')
    rollout(parent)
    rollout(child)
    home.build()
    rollout(child, source={'subagent': {'thread_spawn': {'parent_thread_id': parent, 'depth': 1}}}, parent_thread_id=parent)
    moved_and_as_rebuilt(home, 0)
    assert [row[1:5] for row in content(home)[1] if child in row[0]] == [('agent', child, parent, parent)]


def test_same_file_under_another_root(home, monkeypatch):
    path = os.path.join(home.folder, 'logs', 'deep', 'talk.jsonl')
    os.makedirs(os.path.dirname(path))
    with open(path, 'w', encoding='utf-8') as handle:
        handle.write('{"role":"user","content":"hello"}\n{"role":"assistant","content":"hi"}\n')
    monkeypatch.setenv('SESSION_DIGGER_UNIVERSAL', os.path.join(home.folder, 'logs'))
    home.build()
    monkeypatch.setenv('SESSION_DIGGER_UNIVERSAL', os.path.join(home.folder, 'logs', 'deep'))
    moved_and_as_rebuilt(home, 1)


def test_file_under_two_roots_counts_once(home, monkeypatch):
    home.copy(os.path.join(shared('corpus', 'claude-1.0.128'), 'home', 'dev'))
    home.build()
    sessions = content(home)[2]
    monkeypatch.setenv('SESSION_DIGGER_UNIVERSAL', home.projects)
    home.build()
    assert plan.nothing_to_do(todo(home))
    assert content(home)[2] == sessions
    shutil.rmtree(home.data)
    home.build()
    assert content(home)[2] == sessions


@pytest.mark.parametrize('meanwhile', [False, True])
def test_a_plan_is_made_again_only_when_another_process_wrote(home, monkeypatch, meanwhile):
    home.write(make.line(make.user('one')), 'p', 'x.jsonl')
    home.build()
    home.append(make.line(make.user('two')), 'p', 'x.jsonl')
    one, count, made = store.Store(home.data), plan.make, []
    one.open()
    try:
        found = plan.make(one.db, folder=home.data)
        if meanwhile:
            home.build()
        monkeypatch.setattr(plan, 'make', lambda *args, **named: made.append(1) or count(*args, **named))
        result = build.refresh(one, todo=found)
    finally:
        one.close()
    assert (len(made), result.indexed) == ((1, 0) if meanwhile else (0, 1))
    assert home.state()['files'][0][4] == 2
