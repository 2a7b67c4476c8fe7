"""Amp: a thread whose messages say what they cost, and an older one whose ledger does.

fixtures/amp/home holds them; expected.json was worked out by hand (input excludes what was cached).

Thread 1: 900 + 100 = 1000 in, 30 + 50 = 80 out, 4000 + 6000 = 10000 read, 2000 written; nothing is known of the answer that was
stopped. Of its five calls of tools one ended with code 2, one failed, one was rejected, one was cancelled with the turn.
Thread 2: 80 in and 20 out by the ledger, 700 read and 300 written by the message; the ledger's other row leads to no message,
and nothing is known of the second answer.
Both: 1080, 100, 10700, 2300; 3 + 2 = 5 calls.
"""
import os

import pytest

import folding
import talking
from echolib.adapters import amp, amp_parse, registry
from helpers import run_script

EXPECTED = talking.expected('amp')
THREAD, OLD = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv('AMP_DATA_DIR', raising=False)
    return talking.home('amp', tmp_path, monkeypatch)


def source_of(sid):
    return talking.sessions(amp)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(amp, EXPECTED)


def test_places(home):
    assert talking.check_places(amp) > 20


def test_any_document(home):
    talking.check_any_document(amp, source_of(THREAD))
    talking.check_any_document(amp, source_of(OLD))


def test_a_torn_file_is_damage(home):
    coverage = talking.check_events(amp, source_of('T-a0000003-0000-4000-8000-000000000003'))
    assert (coverage.lines, coverage.parse_errors) == (1, 1)


def test_what_is_said_of_the_thread(home):
    profile = folding.numbers(amp, talking.sessions(amp)[THREAD])[2]
    assert [profile.get(name) for name in ('branch', 'version', 'first')] == ['main', '0.0.17', 1772355600000]

    # Older threads have the time of their beginning, and of the ledger's rows.
    assert [folding.numbers(amp, talking.sessions(amp)[OLD])[2][name] for name in ('first', 'last')] == [1750000000000, 1750000001000]


def test_results(home):
    assert [(event.label, event.text) for event in folding.events(amp, source_of(THREAD)) if event.kind == 'tool_result'] == [
        ('error', 'no such tapir'), ('error', 'numbat'), ('ok', 'all: heron'), ('declined', ''), ('collateral', '')]


@pytest.mark.parametrize('own, rows, expected', [
    ({'inputTokens': 5, 'outputTokens': 6, 'cacheReadInputTokens': 7}, [{'tokens': {'input': 50, 'output': 60}}], (5, 6, 7, 0, 1)),
    ({}, [{'model': 'm', 'tokens': {'input': 1, 'output': 2}}, {'tokens': {'input': 3}}], (4, 2, 0, 0, 1)),
    ({'cacheCreationInputTokens': 8}, [{'tokens': {'output': 2}}], (0, 2, 0, 8, 1)),
    ({}, [], (0, 0, 0, 0, 0)), ({'inputTokens': 'x', 'model': 3}, [{'tokens': 3}], (0, 0, 0, 0, 0))])
def test_usage(own, rows, expected):
    found = amp_parse.spent(own, rows)
    assert (found.input, found.output, found.cache_read, found.cache_write_5m, found.final) == expected


@pytest.mark.parametrize('uri, path', [('file:///a/b%20c', '/a/b c'), ('file:///C:/x', 'C:/x'), ('/plain', '/plain'), ({'fsPath': '/f'}, '/f'), (3, ''), (None, '')])
def test_directories(uri, path):
    assert amp_parse._path(uri) == path


def test_odd_files(home):
    talking.check_odd_files(amp, source_of(THREAD))


def test_roots_and_detection(home):
    assert amp.roots() == [os.path.join(home, '.local', 'share', 'amp')]
    assert amp.roots({'AMP_DATA_DIR': '/x'}) == ['/x'] and amp.roots({'XDG_DATA_HOME': '/d'}) == ['/d/amp']
    assert registry.detect('/x/threads/T-1.json') is amp and not amp.owns('/x/threads/1.json')
    problems = []
    assert list(amp.scan('/no/such/place', problems)) == [] and len(problems) == 1
    assert amp.resume(THREAD, '') == ['amp', 'threads', 'continue', THREAD]


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(amp, home, EXPECTED, 'quokka', THREAD, 'Makefile')
    stats = run_script('sd-recall', 'session-stats', OLD, '--format', 'json', home=home).json()
    assert stats['tokens']['cache_read'] == 700 and stats['output_known_calls'] == 1
