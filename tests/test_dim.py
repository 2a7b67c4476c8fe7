"""Dim and DimCode: cards that sum up sessions, and a database with a ledger of runs.

fixtures/dim/home holds the files, db.sql the database; expected.json was worked out by hand.
"""
import json
import os
import shutil
import sqlite3

import pytest

import folding
from helpers import FIXTURES
from echolib.adapters import dim, dim_cards, dim_db, registry
from echolib.base import sqlite_ro
from echolib.base.errors import EchoError
from echolib.records import Coverage, Record

FOLDER = os.path.join(FIXTURES, 'dim')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)


def make_db(root, script):
    path = os.path.join(root, dim.DB)
    os.makedirs(os.path.dirname(path))
    db = sqlite3.connect(path)
    db.execute('pragma journal_mode=wal')
    db.executescript(script)
    db.close()
    return path


@pytest.fixture
def home(tmp_path):
    """The fixture's home folder with its database."""
    path = str(tmp_path / 'home')
    shutil.copytree(os.path.join(FOLDER, 'home'), path)
    with open(os.path.join(FOLDER, 'db.sql'), encoding='utf-8') as handle:
        make_db(os.path.join(path, '.dimcode'), handle.read())
    yield path
    sqlite_ro.let_go()


def sessions(home, problems=None):
    out = {}
    for name in ('.dim', '.dimcode'):
        out.update(folding.sessions(dim, os.path.join(home, name), problems))
    return out


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(home, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(dim, sessions(home)[sid], expected) == expected


def test_everything_together(home):
    assert folding.added_up(dim, sessions(home).values()) == EXPECTED['all']


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_stands_where_it_should(home, needle):
    found = [event for session in sessions(home).values() for source in session.sources for event in folding.events(dim, source) if needle in event.text]
    assert [event.kind for event in found] == EXPECTED['needles'][needle]


def test_cards_that_were_filled_in_are_sessions(home):
    found = [s for s in sessions(home).values() if 'backfill' in s.sources[0].path]
    texts = sorted([e.text for e in folding.events(dim, s.sources[0]) if e.kind in ('prompt', 'reply')] for s in found)
    assert texts == EXPECTED['backfilled']
    assert all(s.id.startswith('m1-2026020') and s.folder == 'm1' for s in found)


def test_rows_stand_in_their_own_order(home):
    found = [e.kind for e in folding.events(dim, sessions(home)['sess_d1'].sources[0]) if e.kind not in ('meta', 'usage')]
    assert found[:len(EXPECTED['order'])] == EXPECTED['order']


def test_events_are_found_again(home):
    before = folding.photograph(home)
    count = 0
    for session in sessions(home).values():
        for source in session.sources:
            for event in folding.events(dim, source):
                if event.text and event.part >= 0:
                    again = [one for one in dim.events_at(source, event.offset, event.length) if one.part == event.part]
                    assert [one._replace(turn=event.turn, line=event.line) for one in again] == [event]
                    count += 1
    assert count > 25 and folding.photograph(home) == before


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    assert dim.roots({}) == [str(tmp_path / '.dim'), str(tmp_path / '.dimcode')]


def test_scan(home):
    rows = [(row[0][len(home) + 1:], row[5], row[6]) for name in ('.dim', '.dimcode') for row in dim.scan(os.path.join(home, name), [])]
    assert [row for row in rows if 'backfill' not in row[0]] == [
        ('.dim/memory/m1/2026-03-01/import.jsonl', 'm1-2026-03-01-import', 'm1'),
        ('.dimcode/v2/dimcode.sqlite/sess_d1', 'sess_d1', ''), ('.dimcode/v2/dimcode.sqlite/sess_d2', 'sess_d2', '')]
    assert len(rows) == 5
    problems = []
    assert list(dim.scan(os.path.join(home, 'no'), problems)) == [] and [why for _, why in problems] == ['No such file or directory']


def test_only_the_session_that_changed_is_read_again(home):
    root = os.path.join(home, '.dimcode')

    def change(statement):
        db = sqlite3.connect(os.path.join(root, dim.DB))
        db.execute(statement)
        db.commit()
        db.close()
        return dict((row[5], row[1:3]) for row in dim.scan(root, []))

    before = change('select 1')
    after = change("update messages set parts = '[]', updatedAt = '2026-03-06T09:09:09Z' where messageId = 'd2m1'")
    assert [sid for sid in after if before[sid] != after[sid]] == ['sess_d2']
    before, after = after, change("insert into usage_run_stats select 'run9', sessionId, providerId, modelId, status, startedAt, endedAt, durationMs, 1, 1, 2, 0, 0,"
                                  " cost, pricing, createdAt, updatedAt from usage_run_stats where runId = 'run1'")
    assert [sid for sid in after if before[sid] != after[sid]] == ['sess_d1']


def test_a_database_that_cannot_be_read_or_is_of_another_kind(tmp_path):
    path = make_db(str(tmp_path), 'create table other (x)')
    problems = []
    assert list(dim.scan(str(tmp_path), problems)) == []
    assert [(p, 'none of the tables' in why) for p, why in problems] == [(path, True)]
    with open(path, 'wb') as handle:
        handle.write(b'broken' * 500)
    problems = []
    assert list(dim.scan(str(tmp_path), problems)) == [] and 'not a database' in problems[0][1]
    with pytest.raises(OSError):
        folding.events(dim, dim.Source(os.path.join(path, 's'), 'main', '', 's', 0, 0))


def test_owns_and_session_at(home):
    for session in sessions(home).values():
        for source in session.sources:
            assert dim.owns(source.path) and registry.detect(source.path) is dim
            again = dim.session_at(source.path)
            assert (again.id, again.folder, again.root) == (session.id, session.folder, session.root)
            assert dim.head(source.path) == {'session': session.id}
    for path in (os.path.join(home, '.dimcode', dim.DB), os.path.join(home, '.dim/memory/m1/2026-03-01/backfill.jsonl')):
        with pytest.raises(EchoError):
            dim.session_at(path)
    assert not dim.owns('/home/x/.claude/projects/y/z.jsonl') and not dim.owns('/x/.dim/memory/m/d/notes.md')


def test_billed(home):
    rows = dim.billed(sessions(home)['sess_d1'])
    assert [(row['key'], row['input'], row['output'], row['cache_read'], row['cache_write'], row['cost'], row['status']) for row in rows] == [
        ('sess_d1/run/run1', 200, 50, 800, 0, '0.0123', 'completed'), ('sess_d1/run/run2', 300, 20, 600, 100, '0.002', 'cancelled')]
    assert dim.billed(sessions(home)['m1-2026-03-01-import']) is None


def test_no_command_reopens_a_session():
    with pytest.raises(EchoError):
        dim.resume('sess_d1', '')


# runs and messages


RUNS = {
    # name: ((input, output, total, read, write), (uncached, output, read, write))
    'within': ((100, 10, 110, 60, 0), (40, 10, 60, 0)),
    'beside': ((100, 10, 170, 60, 0), (100, 10, 60, 0)),
    'no total': ((100, 10, None, 60, 10), (30, 10, 60, 10)),
    'more than was sent': ((100, 10, 110, 600, 0), (100, 10, 600, 0)),
    'no cache': ((100, 10, 110, None, None), (100, 10, 0, 0)),
    'nothing': ((0, 0, 0, None, None), None),
}


@pytest.mark.parametrize('name', sorted(RUNS))
def test_runs(name):
    (sent, output, total, read, written), expected = RUNS[name]
    found = dim_db.usage_of({'inputTokens': sent, 'outputTokens': output, 'totalTokens': total, 'cacheReadTokens': read, 'cacheWriteTokens': written, 'modelId': ' m '})
    assert (found and (found.input, found.output, found.cache_read, found.cache_write_5m)) == expected


def test_few_columns_and_odd_rows(tmp_path):
    root = str(tmp_path)
    make_db(root, '''
        create table messages (messageId text, sessionId text, role text, parts text, createdAt text);
        insert into messages values ('2', 's', 'assistant', 'plain words', '2026-01-01T00:00:02Z'), ('1', 's', 'user', '["loose", {"text": "hello"}]', '2026-01-01T00:00:01Z'),
          ('3', 's', 'oracle', '[]', null), ('4', 's', null, null, null), ('5', 's', 'system', '[{"type":"text","text":"be kind"}]', null),
          ('6', 's', 'user', '{"type":"text"}', null), ('7', 's', 'user', '[{"type":"text","text":"<task-notification>x</task-notification>"}]', null);
    ''')
    source = sessions_of(root)['s'].sources[0]
    coverage = Coverage()
    found = [(e.kind, e.text) for e in folding.events(dim, source, coverage)]
    assert ('prompt', 'hello') in found and ('reply', 'plain words') in found and ('injected', 'be kind') in found
    assert found.index(('prompt', 'hello')) < found.index(('reply', 'plain words'))
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records) == (7, 2, 1)


def sessions_of(root):
    return folding.sessions(dim, root)


# cards


def test_cards_that_are_added_give_what_a_whole_file_does(home):
    source = sessions(home)['m1-2026-03-01-import'].sources[0]
    whole = folding.events(dim, source)
    with open(source.path, 'rb') as handle:
        lines = handle.readlines()
    for cut in range(1, len(lines)):
        with open(source.path, 'wb') as handle:
            handle.write(b''.join(lines[:cut]))
        state, coverage = {}, Coverage(source.path)
        got = folding.events(dim, source, coverage, state)
        with open(source.path, 'ab') as handle:
            handle.write(b''.join(lines[cut:]))
        state = json.loads(json.dumps(state))
        got += [e for some in dim.read(source, Coverage(source.path, coverage.offset, coverage.line), coverage.offset, coverage.line, state) for e in some]
        assert got == whole


CARDS = {
    'actions as text': ({'intent': 'i', 'actions': 'did it'}, [('prompt', 'i', 0), ('reply', '- did it', 1)]),
    'call without a result': ({'actions': [{'name': 'ls'}]}, [('tool_call', '', 6)]),
    'error as an object': ({'actions': [{'name': 'ls', 'error': {'code': 2}, 'result': 'x'}]}, [('tool_call', '', 6), ('tool_result', '{"code": 2}', 7)]),
    'unknown keys': ({'outcome': 'o', 'tags': ['a', 'b']}, [('reply', 'o', 2), ('injected', 'a\nb', 4)]),
}


@pytest.mark.parametrize('name', sorted(CARDS))
def test_cards(name):
    card, expected = CARDS[name]
    source = dim.Source('/x/.dim/memory/m/d/x.jsonl', 'main', '', 'x', 0, 0)
    found = dim_cards.Parser(source, Coverage(), {'said': 1}).events(Record(card, 1, 0, 10))
    assert [(e.kind, e.text, e.part) for e in found] == expected


def test_the_same_card_twice_is_one_session(tmp_path):
    path = tmp_path / 'backfill.jsonl'
    path.write_bytes(b'{"intent":"a"}\n{"intent":"a"}\n{"intent":"b"}\n')
    assert len(list(dim_cards.filled_in(str(path)))) == 2


def test_the_rest():
    assert dim.spill_path(None, 'x') == '' and dim.branches('x') == (1, set()) and dim.files_of('write', {'path': 'p'}) == [('write', 'p')]


@pytest.mark.slow
def test_as_a_user_sees_it(home):
    before = folding.photograph(home)
    assert folding.asked(home, 'dim') == (EXPECTED['all'], '')
    assert folding.asked(home, 'dim', SESSION_DIGGER_DATA_DIR=os.path.join(FOLDER, 'db.sql', 'no'))[0] == EXPECTED['all']
    assert folding.photograph(home) == before
    with open(os.path.join(home, '.dimcode', dim.DB), 'wb') as handle:
        handle.write(b'broken' * 1000)
    found, said = folding.asked(home, 'dim')
    assert 'dimcode.sqlite' in said and found == EXPECTED['all']
