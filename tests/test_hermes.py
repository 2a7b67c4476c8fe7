"""Hermes: sessions of a database with sums a session and a model, an older file.

fixtures/hermes holds them; expected.json was worked out by hand.

Session 1: its own row's sums (5000, 400, 30000, 1000; the 70 of reasoning are in the 400) for three calls. One result says
exit code 2, one that it failed. Session 2: the rows of its two models (600 + 300, 60 + 30, 700), which are what its own row
says once more; its three calls cannot be told apart. The file of 2025 has no tokens, and its times are this machine's.
"""
import os
import sqlite3

import pytest

import folding
import talking
from echolib.adapters import hermes, registry
from echolib.base import clock, sqlite_ro
from echolib.base.errors import EchoError
from helpers import FIXTURES, run_script

EXPECTED = talking.expected('hermes')
FILE, SESSION, MODELS = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv('HERMES_HOME', raising=False)
    path = talking.home('hermes', tmp_path, monkeypatch)
    with open(os.path.join(FIXTURES, 'hermes', 'db.sql'), encoding='utf-8') as script:
        change(path, 'pragma synchronous = off; begin;\n%scommit;' % script.read())
    yield path
    sqlite_ro.let_go()


def change(home, script, place='state.db'):
    """Run a script on a database below .hermes."""
    db = sqlite3.connect(os.path.join(home, '.hermes', place))
    db.executescript(script)
    db.close()


def source_of(sid):
    return talking.sessions(hermes)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(hermes, EXPECTED)


def test_places(home):
    assert talking.check_places(hermes) > 20


def test_sessions_without_messages_and_copies_are_left_out(home):
    assert set(talking.sessions(hermes)) == {SESSION, MODELS, FILE}
    assert not [event for event in talking.every(hermes) if 'never read' in event.text]


def test_sums(home):
    # Its messages are the 10th to the 15th of the database.
    found = [(event.id[-2:], event.data.model, event.data.output, event.data.tier) for event in folding.events(hermes, source_of(MODELS))
             if event.kind == 'usage'][3:]
    assert found == [('11', '', 0, ''), ('13', 'glm-5', 60, 'summed'), ('15', 'gpt-5', 30, 'summed')]
    # More models than answers: none of the sums is lost.
    change(home, "delete from messages where session_id = '%s' and id > 11" % MODELS)
    keys = folding.numbers(hermes, talking.sessions(hermes)[MODELS])[0]
    assert (keys['api_calls'], keys['tokens']['output'], keys['tokens']['cache_read']) == (2, 90, 700)


@pytest.mark.parametrize('script', [
    "update sessions set title = 'x' where id = '%s'", "insert into messages (session_id, role, content, timestamp) values ('%s', 'user', 'x', 1)",
    "update sessions set output_tokens = 401 where id = '%s'"])
def test_a_change_is_seen(home, script):
    rows = lambda: dict((row[5], row[1:3]) for row in hermes.scan(hermes.roots()[0], []))  # noqa: E731
    before = rows()
    change(home, script % SESSION)
    after = rows()
    assert [sid for sid in after if after[sid] != before[sid]] == [SESSION]


def test_other_tables(home):
    place = os.path.join(home, '.hermes', 'state.db')
    for script, wrong in (('create table x (a)', True), ('', False), ('create table sessions (id text); create table messages (id integer)', True),
                          ('create table sessions (id text); create table messages (id integer, session_id text, role text, content text);'
                           "insert into sessions values ('s'); insert into messages values (1, 's', 'user', 'few columns')", False)):
        os.remove(place)
        change(home, script)
        problems = []
        rows = list(hermes.scan(hermes.roots()[0], problems))
        assert len(problems) == wrong, script
        for row in rows:
            talking.check_events(hermes, hermes.session_at(row[0]).sources[0])
    assert [event.text for event in folding.events(hermes, source_of('s')) if event.kind == 'prompt'] == ['few columns']


@pytest.mark.parametrize('value', ["'x'", 'null', '1e300', "x'ff00'", '-5', "'[{\"id\":3,\"function\":[]},4]'", "'{\"error\": [1]}'"])
def test_any_value(home, value):
    change(home, 'update messages set content = %s, tool_calls = %s, tool_call_id = %s, timestamp = coalesce(%s, 0), reasoning = %s;'
                 'update sessions set model = %s, started_at = coalesce(%s, 0), input_tokens = %s, title = %s, cwd = %s' % ((value,) * 10))
    for session in talking.sessions(hermes).values():
        talking.check_events(hermes, session.sources[0])


def test_any_lines(home):
    talking.check_any_lines(hermes, source_of(FILE))


def test_profiles(home):
    os.makedirs(os.path.join(home, '.hermes', 'profiles', 'work'))
    change(home, "create table sessions (id text); create table messages (id integer, session_id text, role text, content text);"
                 "insert into sessions values ('p/1'); insert into messages values (1, 'p/1', 'user', 'at work')", os.path.join('profiles', 'work', 'state.db'))
    session = talking.sessions(hermes)['p/1']
    assert session.root == os.path.join(home, '.hermes') == hermes.session_at(session.sources[0].path).root
    assert [event.text for event in folding.events(hermes, session.sources[0]) if event.kind == 'prompt'] == ['at work']


def test_times(home):
    first = folding.numbers(hermes, talking.sessions(hermes)[SESSION])[2]
    assert (first['first'], first['last']) == (1772355600500, 1772355611000)
    old = folding.numbers(hermes, talking.sessions(hermes)[FILE])[2]
    assert old['first'] == clock.zone().to_utc(2025, 10, 1, 9, 0, 1) + 500


def test_odd_files(home):
    talking.check_odd_files(hermes, source_of(FILE))


def test_roots_and_detection(home):
    assert hermes.roots() == [os.path.join(home, '.hermes')] and hermes.roots({'HERMES_HOME': '/x'}) == ['/x']
    assert registry.detect('/x/.hermes/state.db') is hermes and not hermes.owns('/x/state.db')
    problems = []
    assert list(hermes.scan('/no/such/place', problems)) == [] and len(problems) == 1
    assert hermes.resume(SESSION, '') == ['hermes', '--resume', SESSION]
    with pytest.raises(EchoError):
        hermes.session_at(os.path.join(home, '.hermes', 'state.db'))


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(hermes, home, EXPECTED, 'quokka', MODELS, 'notes.md')
    stats = run_script('sd-recall', 'session-stats', SESSION, '--format', 'json', home=home).json()
    assert stats['tokens']['cache_read'] == 30000 and stats['cost_usd'] is not None


def test_a_message_of_the_largest_number(home):
    """Places in the database are told from the row's number; one that no column of ours holds kept all files from being read."""
    change(home, 'update messages set id = 9223372036854775807 where id = (select max(id) from messages)')
    got = run_script('index-builder', 'build', '--format', 'json', home=home)
    assert got.rc == 0 and not got.json()['errors'], got
    stats = run_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    assert stats['sessions'] == 3 and stats['parse_errors'] == 0
