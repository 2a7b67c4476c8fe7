"""Droid: a session whose tokens are known as one sum, one that another started, one of an older place without sums.

fixtures/droid/home holds them; expected.json was worked out by hand: the sum in the settings of session 1 is what its three calls
cost together (5000 in, 400 out with thinking in it, 30000 read, 1000 written); nothing is known of the call in session 2, and
session 3 holds a prompt alone.
"""
import os

import pytest

import folding
import talking
from echolib.adapters import droid, registry
from helpers import run_script

EXPECTED = talking.expected('droid')
SESSION, TASK, OLD = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    return talking.home('droid', tmp_path, monkeypatch)


def source_of(sid):
    return talking.sessions(droid)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(droid, EXPECTED)


def test_places(home):
    assert talking.check_places(droid) > 12


def test_any_lines(home):
    talking.check_any_lines(droid, source_of(SESSION))


@pytest.mark.parametrize('raw', [b'', b'[]', b'{"tokenUsage": 3, "model": []}', b'{"tokenUsage": {"inputTokens": 1e999}}', b'{"model": "custom:"}', b'\0{'])
def test_any_settings(home, raw):
    source = source_of(SESSION)
    with open(droid.settings_of(source.path), 'wb') as out:
        out.write(raw)
    talking.check_events(droid, source)
    keys = folding.numbers(droid, talking.sessions(droid)[SESSION])[0]
    # Without a sum nothing is known of the calls.
    assert (keys['api_calls'], keys['output_known_calls'], sum(keys['tokens'].values())) == (3, 0, 0)


def test_the_sum_is_the_last_calls(home):
    found = [(event.id[-2:], event.data.output, event.data.tier) for event in folding.events(droid, source_of(SESSION)) if event.kind == 'usage']
    assert found == [('m2', 0, ''), ('m4', 0, ''), ('m6', 0, ''), ('m2', 0, ''), ('m4', 0, ''), ('m6', 400, 'summed')]


def test_new_settings_are_a_change(home):
    before = source_of(SESSION)
    with open(droid.settings_of(before.path), 'a', encoding='utf-8') as out:
        out.write('\n')
    assert source_of(SESSION).size == before.size + 1


def test_reminders_are_no_prompt(home):
    assert not [event for event in talking.every(droid) if event.kind == 'prompt' and 'bandicoot' in event.text]


def test_odd_files(home):
    talking.check_odd_files(droid, source_of(SESSION))


def test_roots_and_detection(home):
    assert droid.roots() == [os.path.join(home, '.factory')]
    assert talking.sessions(droid)[SESSION].folder == '-home-ann-shop' and talking.sessions(droid)[OLD].folder == ''
    assert registry.detect('/x/.factory/sessions/-home/a.jsonl') is droid and not droid.owns('/x/sessions/-home/a.jsonl')
    problems = []
    assert list(droid.scan('/no/such/place', problems)) == [] and len(problems) == 1
    assert droid.resume(SESSION, '') == ['droid', '--resume', SESSION]


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(droid, home, EXPECTED, 'wombat', SESSION, 'Makefile')
    stats = run_script('sd-recall', 'session-stats', SESSION, '--format', 'json', home=home).json()
    assert stats['tokens'] == EXPECTED['all']['tokens'] and stats['output_known_calls'] == 3
