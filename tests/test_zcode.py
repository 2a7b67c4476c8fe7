"""ZCode: one session from a database, traces, request logs and snapshots, each thing counted once.

fixtures/zcode/home holds the files, db.sql the database; expected.json was worked out by hand.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

import folding
from folding import photograph
from helpers import FIXTURES, run_script, shared
from echolib.adapters import inside, registry, zcode, zcode_db, zcode_usage
from echolib.base import sqlite_ro
from echolib.base.errors import EchoError
from echolib.records import Coverage

FOLDER = os.path.join(FIXTURES, 'zcode')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)


@pytest.fixture(autouse=True)
def let_go():
    yield
    sqlite_ro.let_go()


def make_db(root, script):
    path = os.path.join(root, zcode.DB)
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    db = sqlite3.connect(path)
    db.execute('pragma journal_mode=wal')
    db.executescript(script)
    db.close()
    return path


@pytest.fixture
def root(tmp_path):
    """The fixture's .zcode folder with its database."""
    path = str(tmp_path / 'home' / '.zcode')
    shutil.copytree(os.path.join(FOLDER, 'home', '.zcode'), path)
    with open(os.path.join(FOLDER, 'db.sql'), encoding='utf-8') as handle:
        make_db(path, handle.read())
    return path


def events(source, coverage=None, state=None):
    return folding.events(zcode, source, coverage, state)


def numbers(session, roles=('main', 'agent', 'loose')):
    return folding.numbers(zcode, session, roles)


def sessions(root, problems=None):
    return folding.sessions(zcode, root, problems)


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(root, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(zcode, sessions(root)[sid], expected) == expected


def test_everything_together(root):
    problems = []
    assert folding.added_up(zcode, zcode.discover(root, problems)) == EXPECTED['all']
    assert problems == []


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_stands_once(root, needle):
    kind, chain, times = EXPECTED['needles'][needle]
    found = [event for session in sessions(root).values() for source in session.sources for event in events(source)
             if needle in event.text]
    assert [(event.kind, event.chain) for event in found] == [(kind, chain)] * times


def test_events_are_found_again(root):
    count = 0
    for session in sessions(root).values():
        for source in session.sources:
            for event in events(source):
                if event.text and event.part >= 0:
                    again = [one for one in zcode.events_at(source, event.offset, event.length) if one.part == event.part and one.text]
                    assert [one._replace(turn=event.turn, line=event.line) for one in again] == [event]
                    count += 1
    assert count > 60


def test_order_and_turns(root):
    found = [(event.kind, event.turn) for event in events(sessions(root)['sess_0a11'].sources[0])
             if event.kind in ('prompt', 'compaction', 'interruption') or event.kind == 'tool_call']
    assert found == [('prompt', 1), ('tool_call', 1), ('tool_call', 1), ('tool_call', 1), ('prompt', 2), ('tool_call', 2),
                     ('compaction', 2), ('compaction', 2), ('prompt', 3), ('tool_call', 3), ('interruption', 3)]


def test_only_reading(root):
    before = photograph(root)
    for session in sessions(root).values():
        numbers(session)
    zcode_usage.zcode_aggregate_model_usage(root=root)
    assert photograph(root) == before


def test_secrets_are_never_opened(root, monkeypatch):
    real, opened = open, []

    def watched(path, *args, **kwargs):
        opened.append(str(path))
        return real(path, *args, **kwargs)
    monkeypatch.setattr('builtins.open', watched)
    for session in sessions(root).values():
        numbers(session)
    assert opened and not [path for path in opened if path.endswith(('credentials.json', 'config.json'))]


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    assert zcode.roots({}) == [os.path.join(str(tmp_path), '.zcode')]
    assert zcode.roots({'ZCODE_HOME': str(tmp_path / 'z')}) == [str(tmp_path / 'z')]


def test_scan(root):
    db = os.path.join(root, zcode.DB)
    rows = dict((row[0][len(root) + 1:], row[3:]) for row in zcode.scan(root, []))
    assert rows == {
        'cli/db/db.sqlite/sess_0a11': ('main', '', 'sess_0a11', ''),
        'cli/db/db.sqlite/sess_gone': ('main', '', 'sess_gone', ''),
        'cli/db/db.sqlite/sess_subagent_agent_b0b0': ('agent', 'agent_b0b0', 'sess_0a11', ''),
        'cli/db/db.sqlite/sess_subagent_agent_c1c1': ('agent', 'agent_c1c1', 'sess_0a11', ''),
        'cli/agents/sess_0a11/agent_d2d2/transcript.jsonl': ('agent', 'agent_d2d2', 'sess_0a11', ''),
        'cli/agents/sess_0a11/agent_e3e3/transcript.jsonl': ('agent', 'agent_e3e3', 'sess_0a11', ''),
        'cli/rollout/model-io-sess_old1.jsonl': ('main', '', 'sess_old1', ''),
        'v2/sessions/3f5a1b/task-77.json': ('main', '', 'task-77', ''),
        'v2/agent-config/claude/a1/projects/-home-ann-site/9a9a9a9a-0000-4000-8000-000000000001.jsonl':
            ('main', '', '9a9a9a9a-0000-4000-8000-000000000001', '-home-ann-site')}
    inside = [s for session in zcode.discover(root, []) for s in session.sources if s.path.startswith(db)]
    assert os.path.getsize(db) - len(inside) < sum(s.size for s in inside) <= os.path.getsize(db)


def test_missing_root_and_empty_root(tmp_path):
    problems = []
    assert list(zcode.scan(str(tmp_path / 'no'), problems)) == []
    assert problems == [(str(tmp_path / 'no'), 'No such file or directory')]
    problems = []
    assert list(zcode.scan(str(tmp_path), problems)) == [] and problems == []


def change(root, *statements):
    """Run statements on the database and give its file a later time; return {session id: (size, mtime_ns)} as scanned."""
    path = os.path.join(root, zcode.DB)
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
    return dict((row[0].rsplit(os.sep, 1)[1], row[1:3]) for row in zcode.scan(root, []) if row[0].startswith(path))


def changed(before, after):
    return sorted(name for name in set(before) | set(after) if before.get(name) != after.get(name))


def test_only_the_session_that_changed_is_read_again(root):
    before = change(root)
    assert changed(before, change(root)) == []
    after = change(root, "insert into message values ('n1', 'sess_gone', 0, '{}', 1788002002000, 1788002002000)")
    assert changed(before, after) == ['sess_gone']
    before, after = after, change(root, "update model_usage set output_tokens = 7, status = 'completed' where id = 'u11'")
    assert changed(before, after) == ['sess_0a11']
    before, after = after, change(root, "update session set title = 'Other' where id = 'sess_0a11'")
    assert changed(before, after) == ['sess_0a11']
    before, after = after, change(root, "update turn_usage set cancelled_by_user = 1 where turn_id = 't2'")
    assert changed(before, after) == ['sess_0a11']
    before, after = after, change(root, "delete from message where id = 'n1'", "delete from model_usage where id = 'u40'")
    assert changed(before, after) == ['sess_gone'] and 'sess_gone' not in after


def test_rows_changed_in_place_in_a_live_session(root):
    import time
    now = int(time.time() * 1000)
    before = change(root, 'update session set time_updated = %d where id = %r' % (now, 'sess_0a11'))
    after = change(root, "update part set data = '{\"type\":\"text\",\"text\":\"said otherwise\"}' where id = 'prt_0303'")
    assert changed(before, after) == ['sess_0a11']


def test_what_a_provider_counts_decides_for_all_its_calls(root):
    # Three more calls that read more than their input: now most of zai's calls count the cache beside.
    before = change(root)
    insert = ("insert into model_usage select 'x' || %d, logical_request_id, 0, 'sess_gone', turn_id, query_source, provider_id, model_id,"
              " status, started_at, completed_at, 0, 0, 10, 1, 0, 0, 500, 511, 511 from model_usage where id = 'u40'")
    after = change(root, *[insert % n for n in range(4)])
    assert len(changed(before, after)) == len(after)
    # u01: 9000 sent beside 8000 read
    assert numbers(sessions(root)['sess_0a11'], ('main',))[0]['tokens']['input'] == 9000 + 9500 + 400 + 10000 + 700 + 50 + 900 + 20 + 100


def test_trace_beside_the_database_counts_for_a_session_without_messages(root):
    before = dict((row[0], row[1:3]) for row in zcode.scan(root, []))
    trace = os.path.join(root, 'cli', 'agents', 'sess_0a11', '%s', 'transcript.jsonl')
    for agent in ('agent_b0b0', 'agent_c1c1'):
        with open(trace % agent, 'ab') as handle:
            handle.write(b'{"type":"model_network_status","payload":{}}\n')
    after = dict((row[0], row[1:3]) for row in zcode.scan(root, []))
    assert [os.path.basename(name) for name in changed(before, after)] == ['sess_subagent_agent_c1c1']


def test_a_database_that_cannot_be_read_is_a_problem_and_the_rest_is_read(root):
    path = os.path.join(root, zcode.DB)
    with open(path, 'wb') as handle:
        handle.write(b'not a database at all\n' * 300)
    problems = []
    rows = list(zcode.scan(root, problems))
    assert [(p, 'not a database' in why) for p, why in problems] == [(path, True)]
    assert sorted(row[5] for row in rows if row[3] == 'main') == [
        '9a9a9a9a-0000-4000-8000-000000000001', 'sess_0a11', 'sess_old1', 'task-77']
    # What is known of its sessions lies, for the index, below a folder that cannot be listed: it stays.
    assert zcode.session_at(os.path.join(path, 'sess_0a11')).id == 'sess_0a11'
    with pytest.raises(OSError):
        events(zcode.Source(os.path.join(path, 'sess_0a11'), 'main', '', 'sess_0a11', 0, 0))
    with pytest.raises(sqlite_ro.Unreadable):
        zcode_usage.zcode_aggregate_model_usage(root=root)


@pytest.mark.parametrize('script, why', [
    ('create table something (x)', 'none of the tables'),
    ('create table session (title)', ''),
    ('create table message (id)', ''),
    ('create table session (id); create table message (session_id text primary key) without rowid', 'no such column'),
])
def test_unknown_schemas(tmp_path, script, why):
    make_db(str(tmp_path), script)
    problems = []
    assert list(zcode.scan(str(tmp_path), problems)) == []
    assert [why in reason for _, reason in problems] == ([True] if why else [])


def test_ids_that_are_no_file_names(tmp_path):
    root = str(tmp_path)
    odd = ['../up', 'a/b', 'with blank', '100%', '\u4f1a\u8bdd', 'x%2F;']
    make_db(root, 'create table session (id text, title text); create table model_usage (id, session_id, output_tokens)')
    db = sqlite3.connect(os.path.join(root, zcode.DB))
    db.executemany('insert into model_usage values (?, ?, 5)', enumerate(odd))
    db.commit()
    db.close()
    found = list(zcode.scan(root, []))
    assert sorted(row[5] for row in found) == sorted(odd)
    for row in found:
        assert os.path.abspath(row[0]) == row[0] and os.path.dirname(row[0]) == os.path.join(root, zcode.DB)
        assert zcode.place_of(row[0])[2] == row[5]
        assert [e.data.output for e in events(zcode.Source(row[0], 'main', '', row[5], 0, 0)) if e.kind == 'usage'] == [5]


def test_owns(root, tmp_path):
    for row in zcode.scan(root, []):
        assert zcode.owns(row[0]), row[0]
        assert registry.detect(row[0]) is zcode
    for name in ('cli/log/zcode-2026-08-29.jsonl', 'v2/credentials.json', 'cli/agents/sess_0a11/agent_b0b0/metadata.json'):
        assert not zcode.owns(os.path.join(root, name)), name
    moved = str(tmp_path / 'db.sqlite')
    shutil.copy(os.path.join(root, zcode.DB), moved)
    assert zcode.owns(moved) and zcode.owns(os.path.join(moved, 'sess_0a11'))
    assert zcode.owns(str(tmp_path / 'model-io-sess_1.jsonl')) and not zcode.owns(str(tmp_path / 'none' / 'db.sqlite'))
    other = str(tmp_path / 'other')
    make_db(other, 'create table session (id); create table message (id); create table part (id)')
    assert not zcode.owns(os.path.join(other, zcode.DB))


def test_session_at(root):
    db = os.path.join(root, zcode.DB)
    whole = zcode.session_at(os.path.join(db, 'sess_0a11'))
    assert (whole.id, len(whole.sources), whole.sources[0].role) == ('sess_0a11', 5, 'main')
    one = zcode.session_at(os.path.join(root, 'cli', 'agents', 'sess_0a11', 'agent_d2d2', 'transcript.jsonl'))
    assert (one.id, [s.chain for s in one.sources]) == ('sess_0a11', ['agent_d2d2'])
    assert zcode.session_at(os.path.join(root, 'v2', 'sessions', '3f5a1b', 'task-77.json')).id == 'task-77'
    with pytest.raises(EchoError) as caught:
        zcode.session_at(db)
    assert 'many sessions' in str(caught.value)
    with pytest.raises(OSError):
        zcode.session_at(os.path.join(root, 'cli', 'rollout', 'model-io-sess_none.jsonl'))


def test_request_log_elsewhere(root, tmp_path):
    path = str(tmp_path / 'model-io-sess_old1.jsonl')
    shutil.copy(os.path.join(root, 'cli', 'rollout', 'model-io-sess_old1.jsonl'), path)
    session = zcode.session_at(path)
    assert session.id == 'sess_old1' and numbers(session)[0]['api_calls'] == 3


# the ledger


def test_ledger_totals_by_model(root):
    for mode, count in (('family', 'sessions'), ('raw', 'raw_sessions')):
        found = zcode_usage.zcode_aggregate_model_usage(mode, root)
        for model, expected in EXPECTED['ledger'].items():
            got = dict(found[model], raw_input=found[model]['raw']['input_tokens'])
            assert dict((k, got[k]) for k in expected if k in got and k not in ('sessions', 'raw_sessions')) == dict(
                (k, v) for k, v in expected.items() if k not in ('sessions', 'raw_sessions'))
            assert got['sessions'] == expected[count]
            assert got['cache_hit_rate'] == pytest.approx(got['cache_read_tokens'] / float(got['input_tokens']))
        assert sorted(found) == sorted(EXPECTED['ledger'])
    with pytest.raises(ValueError):
        zcode_usage.zcode_aggregate_model_usage('daily', root)


def test_ledger_of_a_home_without_one(tmp_path):
    assert zcode_usage.zcode_aggregate_model_usage(root=str(tmp_path)) == {}
    make_db(str(tmp_path), 'create table session (id)')
    assert zcode_usage.zcode_aggregate_model_usage(root=str(tmp_path)) == {}


def test_billed(root):
    found = sessions(root)
    rows = zcode.billed(found['sess_0a11'])
    assert len(rows) == 11 and sum(row['output'] for row in rows) == 568 + 90 + 60
    assert rows[0] == {
        'session': 'sess_0a11', 'key': 'sess_0a11/call/u01', 'time': 1788000020000, 'model': 'glm-5', 'provider': 'zai',
        'source': 'main_turn', 'input': 800, 'output': 300, 'cache_read': 8000, 'cache_write': 200, 'raw': {
            'input_tokens': 9000, 'output_tokens': 300, 'reasoning_tokens': 50, 'cache_creation_input_tokens': 200,
            'cache_read_input_tokens': 8000, 'provider_total_tokens': 9300, 'computed_total_tokens': 9300}}
    # The keys are those of the events.
    assert set(row['key'] for row in rows) == set(e.id for s in found['sess_0a11'].sources if zcode.place_of(s.path)[0] == 'db'
                                                  for e in events(s) if e.kind == 'usage')
    assert zcode.billed(found['9a9a9a9a-0000-4000-8000-000000000001']) is None


# drifted tables


def test_few_columns_seconds_and_texts(tmp_path):
    root = str(tmp_path)
    make_db(root, '''
        create table session (id text primary key, slug text, directory text, time_created text);
        create table message (id text primary key, session_id text, data text, time_created text);
        create table part (id text primary key, message_id text, session_id text, data blob);
        insert into session values ('s1', 'two-words', cast(x'443a5cff' as text), '2026-08-29T10:00:00Z');
        insert into message values ('b', 's1', '{"role":"model","model":{"id":"glm-x"},"tokens":{"input":500,"output":20,"reasoning":5,
          "cache":{"read":400,"write":10}},"semantics":{"kind":"assistant_response"}}', '1788000001');
        insert into message values ('a', 's1', '{"role":"USER"}', '1788000000');
        insert into message values ('c', 's1', '{"role":"assistant","tokens":{"input":500,"output":20},"semantics":{"kind":"timeline_event"}}', null);
        insert into part values ('p1', 'a', 's1', cast('{"type":"text","text":"hello <system-reminder>x</system-reminder>"}' as blob));
        insert into part values ('p2', 'b', 's1', '{"type":"thinking","thinking":"hm"}');
        insert into part values ('p3', 'b', 's1', '{"type":"text","value":"good day"}');
    ''')
    keys, models, profile, coverage = numbers(sessions(root)['s1'])
    # No ledger: the messages' own tokens; 500 - 400 - 10.
    assert keys['tokens'] == {'input': 90, 'output': 20, 'cache_read': 400, 'cache_write_5m': 10, 'cache_write_1h': 0}
    assert (keys['api_calls'], list(models), keys['user_prompts']) == (1, ['glm-x'], 1)
    assert (profile['ai-title'], profile['cwd'], profile['first_prompt']) == ('two-words', 'D:\\\ufffd', 'hello')
    found = events(sessions(root)['s1'].sources[0])
    assert [(e.kind, e.text, e.time) for e in found if e.text and e.kind != 'meta'] == [
        ('prompt', 'hello', 1788000000000), ('thinking', 'hm', 1788000001000), ('reply', 'good day', 1788000001000)]
    assert coverage.parse_errors == coverage.unknown_records == 0


def test_ids_of_calls_without_the_usual_columns(tmp_path):
    root = str(tmp_path)
    make_db(root, '''
        create table model_usage (session_id text, logical_request_id text, attempt_index integer, model_id text, input_tokens integer, output_tokens integer);
        insert into model_usage values ('s', 'r1', 0, 'm', 10, 1), ('s', 'r1', 1, 'm', 20, 2), ('s', null, null, 'm', 30, 3), ('s', null, null, 'm', 30, 3);
    ''')
    found = [e for e in events(sessions(root)['s'].sources[0]) if e.kind == 'usage']
    assert [e.data.input for e in found] == [10, 20, 30, 30] and len(set(e.id for e in found)) == 4


def test_impossible_counters(tmp_path):
    root = str(tmp_path)
    make_db(root, '''
        create table model_usage (id, session_id text, model_id, status, input_tokens, output_tokens, cache_read_input_tokens);
        insert into model_usage values (1, 's', 'm', 'completed', -20, 5, null), (2, 's', null, 'completed', 'many', 1e30, x'00'), (3, 's', 7, null, 4.0, '6', 0);
    ''')
    found = [e.data for e in events(sessions(root)['s'].sources[0]) if e.kind == 'usage']
    assert [(u.model, u.input, u.output, u.cache_read) for u in found] == [('m', 0, 5, 0), ('', 0, 0, 0), ('', 4, 6, 0)]


def test_parents_that_lead_nowhere_and_in_circles(tmp_path):
    root = str(tmp_path)
    make_db(root, '''
        create table session (id text, parent_id text); create table model_usage (id, session_id, output_tokens);
        insert into session values ('a', 'b'), ('b', 'a'), ('c', 'c'), ('d', 'lost'), ('e', 'd'), ('sess_subagent_agent_f', null);
        insert into model_usage select rowid, id, 1 from session;
    ''')
    rows = dict((row[0].rsplit(os.sep, 1)[1], row[3:6]) for row in zcode.scan(root, []))
    assert rows['c'] == ('main', '', 'c')
    assert rows['d'] == ('agent', 'd', 'lost') and rows['e'] == ('agent', 'e', 'lost')
    assert rows['sess_subagent_agent_f'] == ('agent', 'agent_f', 'sess_subagent_agent_f')
    assert set(rows) == {'a', 'b', 'c', 'd', 'e', 'sess_subagent_agent_f'}


# user messages

PERSON = {'origin': 'real_user', 'kind': 'user_prompt'}
SLOTS = {
    'typed': ({'semantics': PERSON}, 'add a test', ('prompt', 'typed', 'add a test')),
    'typed, no word on who': ({}, 'add a test', ('prompt', 'typed', 'add a test')),
    'imported': ({'semantics': {'origin': 'migration', 'kind': 'user_prompt'}}, 'old words', ('prompt', 'typed', 'old words')),
    'a workflow that was launched': ({'semantics': PERSON, 'synthetic': True, 'source': 'workflow_launch'}, 'run it', ('prompt', 'typed', 'run it')),
    'command': ({'semantics': {'origin': 'real_user', 'kind': 'slash_command', 'commandName': '/init'}}, 'all of it', ('prompt', 'slash', '/init all of it')),
    'command as text': ({}, '/compact now', ('prompt', 'slash', '/compact now')),
    'path as text': ({}, '/etc/hosts is broken', ('prompt', 'typed', '/etc/hosts is broken')),
    'reminder around nothing': ({}, '<system-reminder>x</system-reminder>', ('injected', 'reminder', '<system-reminder>x</system-reminder>')),
    'reminder of a person': ({'semantics': PERSON}, '<system-reminder>x', ('injected', 'reminder', '<system-reminder>x')),
    'notification as text': ({}, '<task-notification>done</task-notification>', ('injected', 'notification', '<task-notification>done</task-notification>')),
    'reminder': ({'semantics': {'origin': 'system', 'kind': 'system_reminder'}}, 'x', ('injected', 'reminder', 'x')),
    'of a subagent': ({'semantics': {'origin': 'agent_runtime', 'kind': 'subagent_notification'}}, 'x', ('injected', 'notification', 'x')),
    'fork': ({'semantics': {'origin': 'system', 'kind': 'fork_notice'}}, 'x', ('injected', 'notice', 'x')),
    'goal going on': ({'semantics': {'origin': 'agent_runtime', 'kind': 'user_prompt'}}, 'go on', ('injected', 'meta', 'go on')),
    'for the model only': ({'visibility': 'model-only'}, 'x', ('injected', 'meta', 'x')),
    'summary': ({'summary': {'body': 'it went well'}}, 'x', ('injected', 'recap', 'it went well')),
    'empty': ({'semantics': PERSON}, '', None),
}


def parsed(data, parts, chain=''):
    from echolib.adapters.zcode_parse import Parser
    coverage = Coverage()
    found = Parser('s', chain, coverage).message('m', data, 1788000000000, [('p%d' % n, part, None) for n, part in enumerate(parts)], 3, 17)
    return found, coverage


@pytest.mark.parametrize('name', sorted(SLOTS))
def test_what_stands_in_a_users_place(name):
    data, text, expected = SLOTS[name]
    found, coverage = parsed(dict(data, role='user'), [{'type': 'text', 'text': text}])
    assert [(e.kind, e.label, e.text) for e in found if e.kind != 'compaction'] == ([expected] if expected else [])
    assert all((e.line, e.offset, e.time) == (3, 17, 1788000000000) for e in found) and not coverage.unknown_records
    for event in parsed(dict(data, role='user'), [{'type': 'text', 'text': text}], 'agent_x')[0]:
        assert event.kind in ('injected', 'compaction') and event.chain == 'agent_x'


TOOLS = {
    'completed': ({'type': 'tool', 'tool': 'ls', 'state': {'status': 'completed', 'output': 'a b'}}, [('tool_call', 'ls', ''), ('tool_result', 'ok', 'a b')]),
    'pending': ({'type': 'tool', 'tool': 'ls', 'state': {'status': 'pending'}}, [('tool_call', 'ls', '')]),
    'without a state': ({'type': 'tool', 'name': 'ls'}, [('tool_call', 'ls', '')]),
    'error without text': ({'type': 'tool', 'tool': 'ls', 'state': {'status': 'error'}}, [('tool_call', 'ls', ''), ('tool_result', 'error', '')]),
    'refused': ({'type': 'tool', 'tool': 'rm', 'state': {'status': 'error', 'error': 'Permission denied by user'}},
                [('tool_call', 'rm', ''), ('tool_result', 'declined', 'Permission denied by user')]),
    'the system refuses': ({'type': 'tool', 'tool': 'rm', 'state': {'status': 'error', 'error': 'EACCES: permission denied'}},
                           [('tool_call', 'rm', ''), ('tool_result', 'error', 'EACCES: permission denied')]),
    'output as an object': ({'type': 'tool', 'tool': 'q', 'state': {'status': 'completed', 'input': {'a': ['x', {'b': 'y'}]}, 'output': {'rows': 2}}},
                            [('tool_call', 'q', 'x\ny'), ('tool_result', 'ok', '{"rows": 2}')]),
    'broken input': ({'type': 'tool_use', 'id': 'c', 'name': 'q', 'input': '{"a": '}, [('tool_call', 'q', '{"a": ')]),
    'failed block': ({'type': 'tool_result', 'tool_use_id': 'c', 'is_error': True, 'content': 'no'}, [('tool_result', 'error', 'no')]),
}


@pytest.mark.parametrize('name', sorted(TOOLS))
def test_tools(name):
    part, expected = TOOLS[name]
    found, _ = parsed({'role': 'assistant'}, [part])
    assert [(e.kind, e.label, e.text) for e in found] == expected
    if len(found) == 2:
        assert found[1].data.call_id == found[0].id


def test_errors_of_answers():
    found, _ = parsed({'role': 'assistant', 'error': {'name': 'APIError', 'data': {'message': 'overloaded'}}}, [])
    assert [(e.kind, e.label, e.text) for e in found] == [('reply', 'api_error', 'overloaded')]
    found, _ = parsed({'role': 'assistant', 'error': {'name': 'MessageAbortedError', 'data': {'message': 'stopped'}}}, [])
    assert [e.kind for e in found] == ['interruption']
    found, _ = parsed({'role': 'assistant', 'error': {'name': 'MessageAbortedError'}}, [], 'agent_x')
    assert found == []


def test_compaction_as_in_the_older_tables():
    first, _ = parsed({'role': 'user'}, [{'type': 'compaction', 'auto': False}])
    second, _ = parsed({'role': 'assistant', 'summary': True}, [{'type': 'text', 'text': 'what happened'}])
    assert [(e.kind, e.label) for e in first + second] == [('compaction', 'manual'), ('injected', 'recap')]


# traces

def test_streams_that_were_cut_and_batches(tmp_path):
    from echolib.adapters.zcode_parse import Parser
    from echolib.adapters.zcode_trace import Trace, events_from, read_lines

    def row(name, **payload):
        return json.dumps({'type': name, 'timestamp': '2026-09-01T10:00:00.000Z', 'payload': payload}).encode() + b'\n'
    lines = [
        row('model_streaming', kind='text_delta', delta='first'), row('model_streaming', kind='start'),
        row('model_streaming', kind='text_delta', delta='second'), row('tool_batch_complete', toolCallIds=['a', 'b'], errorCount=2),
        row('tool_batch_complete', toolCallIds=['c', 'd'], errorCount=0), row('tool_batch_complete', toolCallIds=['e', 'f'], errorCount=1),
        row('tool_batch_complete', toolCallIds=7), row('model_complete', content='third'), b'{"type":"turn_st\n',
        row('warp'), row('model_complete', content=[{'type': 'text', 'text': 'fourth'}], usage={'inputTokens': 10, 'outputTokens': 1}),
        row('turn_complete', usage={'inputTokens': 10, 'outputTokens': 1})]
    path = str(tmp_path / 'transcript.jsonl')
    with open(path, 'wb') as handle:
        handle.write(b''.join(lines))
    coverage = Coverage(path)
    found = [e for some in read_lines(path, coverage, Trace(Parser('s', 'x', coverage))) for e in some]
    assert [(e.kind, e.label, e.text) for e in found if e.kind != 'usage'] == [
        ('reply', '', 'first'), ('reply', '', 'second'), ('tool_result', 'error', ''), ('tool_result', 'error', ''),
        ('tool_result', 'ok', ''), ('tool_result', 'ok', ''), ('reply', '', 'third'), ('unknown', 'trace record warp', ''), ('reply', '', 'fourth')]
    assert [(e.data.input, e.data.output) for e in found if e.kind == 'usage'] == [(10, 1)]
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records) == (12, 1, 1)
    assert coverage.offset == os.path.getsize(path) - len(lines[8])
    for event in found:
        if event.text:
            again = events_from(path, event.offset // 8, Trace(Parser('s', 'x', Coverage())))
            assert event.text in [one.text for one in again if one.part == event.part]


def test_garbage_in_every_place(tmp_path):
    root = str(tmp_path)
    junk = [b'\xff\xfe{[', b'[]\n7\nnull\n"x"\n{}\n', b'{"type":"model_io"}\n{"type":"turn_started","payload":[]}\n', b'{"meta":[],"messages":[1,{"role":2},{"role":"user"}]}', b'']
    for number, data in enumerate(junk):
        for name in ('cli/agents/s/agent_%d/transcript.jsonl', 'cli/rollout/model-io-sess_%d.jsonl', 'v2/sessions/w/t%d.json'):
            path = os.path.join(root, name % number)
            if not os.path.isdir(os.path.dirname(path)):
                os.makedirs(os.path.dirname(path))
            with open(path, 'wb') as handle:
                handle.write(data)
    for session in sessions(root).values():
        for source in session.sources:
            coverage = Coverage(source.path)
            events(source, coverage)
            assert coverage.parse_errors <= coverage.lines


# a database in use, as cases of others met it

def case(tmp_path, mode):
    home = str(tmp_path / ('home-' + mode))
    os.mkdir(home)
    subprocess.check_call([sys.executable, shared('cases', 'R069', 'make.py'), home] + ([mode] if mode else []))
    return os.path.join(home, '.zcode')


@pytest.mark.parametrize('mode, calls, sent, output, read', [('', 2, 3000, 300, 1300), ('live', 3, 8000, 800, 1300), ('readonly', 2, 3000, 300, 1300)])
def test_reading_a_database_writes_nothing(tmp_path, mode, calls, sent, output, read):
    root = case(tmp_path, mode)
    before = photograph(root)
    keys = numbers(sessions(root)['sess_a'])[0]
    tokens = keys['tokens']
    assert (keys['api_calls'], tokens['input'] + tokens['cache_read'], tokens['output'], tokens['cache_read']) == (calls, sent, output, read)
    sqlite_ro.let_go()
    assert photograph(root) == before
    os.chmod(os.path.join(root, 'cli', 'db'), 0o755)


def test_resume():
    assert zcode.resume('sess_1', '/home/ann/app') == ['zcode', '--resume', 'sess_1']


def test_files_of():
    assert zcode.files_of('edit', {'filePath': 'a.ts'}) == [('edit', 'a.ts')] and zcode.files_of('Write', {'file_path': 'b'}) == [('write', 'b')]
    assert zcode.files_of('bash', {'path': 'b'}) == zcode.files_of('read', 'b') == []


def test_stores_are_catalogued():
    ids = [store.id for store in zcode.STORES]
    assert len(set(ids)) == len(ids) and all(one.startswith('zcode.') for one in ids)
    assert inside.top_of('a', {'a': 'b', 'b': ''}.get) == 'b'


# through the commands


@pytest.mark.slow
def test_as_a_user_sees_it(root, tmp_path):
    home = os.path.dirname(root)
    before = photograph(root)
    assert folding.asked(home, 'zcode') == (EXPECTED['all'], '')
    # Without an index the files are read, with the same numbers.
    assert folding.asked(home, 'zcode', SESSION_DIGGER_DATA_DIR=os.path.join(FOLDER, 'db.sql', 'no'))[0] == EXPECTED['all']
    for words, session in (('vestibule', 'sess_0a11'), ('cerulean', 'sess_old1'), ('ferns', 'task-77')):
        hits = run_script('sd-recall', 'search', words, '--format', 'json', home=home).json()['hits']
        assert set(hit['session_id'] for hit in hits) == {session}
    shown = run_script('sd-recall', 'show', os.path.join(root, zcode.DB, 'sess_0a11'), home=home)
    assert shown.rc == 0 and 'The redirect goes home now.' in shown.out
    assert photograph(root) == before
    # A call that is added is seen, alone.
    change(root, "insert into model_usage select 'u41', logical_request_id, 0, session_id, turn_id, query_source, provider_id, model_id, status,"
                 " started_at, completed_at, duration_ms, 0, 5, 1, 0, 0, 0, 6, 6 from model_usage where id = 'u40'")
    more = dict(EXPECTED['all'], api_calls=21, tokens=dict(EXPECTED['all']['tokens'], input=12125, output=975))
    assert folding.asked(home, 'zcode')[0] == more
    # A database that cannot be read is named, and what is known of it stays.
    with open(os.path.join(root, zcode.DB), 'wb') as handle:
        handle.write(b'broken' * 1000)
    found, said = folding.asked(home, 'zcode')
    assert 'db.sqlite' in said and 'not a database' in said and found['api_calls'] >= 14


@pytest.mark.slow
def test_ledger_function_of_the_library(root):
    import echolib
    found = echolib.zcode_aggregate_model_usage(root=root)
    assert found['glm-5']['input_tokens'] == EXPECTED['ledger']['glm-5']['input_tokens']
