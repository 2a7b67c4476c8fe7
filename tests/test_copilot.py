"""Copilot CLI: a resumed session with sums at the end of each run, one of an older client that crashed, one whose sums go on.

fixtures/copilot/home holds them; expected.json was worked out by hand.

Session 1, run 1 (claude-sonnet-4.6): input 90000 - 80000 read - 5000 written = 5000; output 300, of which the messages say
120 + 80 + 50 = 250 and the last one carries the other 50; and a call by gpt-5-mini that no message tells of: 700 in, 9 out.
Run 2 (gpt-5): 20000 - 15000 = 5000 in, 15000 read, 400 out for two messages that say nothing.
Together 5000 + 700 + 5000 = 10700 in; 300 + 9 + 400 = 709 out; 80000 + 15000 = 95000 read; 5000 written; 3 + 1 + 2 = 6 calls.
Session 3: the second sums hold the first ones (40 out = 10 + 30 of the messages), so they count once: 2600 - 1500 = 1100 in.
Session 2 ended without sums: nothing is known of its one call.
All: 10700 + 1100 = 11800; 709 + 40 = 749; 95000 + 1500 = 96500; 6 + 1 + 2 = 9 calls.
"""
import json
import os

import pytest

import folding
import talking
from echolib import pricing
from echolib.adapters import copilot, copilot_parse, registry
from echolib.records import Coverage, Record
from helpers import run_script

EXPECTED = talking.expected('copilot')
RESUMED, CRASHED, GOES_ON = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv('COPILOT_HOME', raising=False)
    return talking.home('copilot', tmp_path, monkeypatch)


def source_of(sid):
    return talking.sessions(copilot)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(copilot, EXPECTED)


def test_places(home):
    assert talking.check_places(copilot) > 25


@pytest.mark.parametrize('sid', [RESUMED, CRASHED, GOES_ON])
def test_growth(home, sid):
    talking.check_growth(copilot, source_of(sid))


def test_any_lines(home):
    talking.check_any_lines(copilot, source_of(RESUMED))


def test_what_is_said_of_the_session(home):
    profile = folding.numbers(copilot, talking.sessions(copilot)[RESUMED])[2]
    assert [profile.get(name) for name in ('custom-title', 'branch', 'version', 'cwd')] == ['Fix and deploy', 'main', '0.0.420', '/home/ann/shop']


def test_calls(home):
    spent = {}
    for event in folding.events(copilot, source_of(RESUMED)):
        if event.kind == 'usage':
            spent[event.id] = (event.data.model,) + event.data[1:5] + (event.data.tier,)
    assert spent == {
        'e05': ('claude-sonnet-4.6', 0, 120, 0, 0, ''), 'e09': ('claude-sonnet-4.6', 0, 80, 0, 0, ''),
        'e12': ('claude-sonnet-4.6', 5000, 50 + 50, 80000, 5000, 'summed'), 'e13/gpt-5-mini': ('gpt-5-mini', 700, 9, 0, 0, 'summed'),
        'e18': ('gpt-5', 0, 0, 0, 0, ''), 'e21': ('gpt-5', 5000, 400, 15000, 0, 'summed')}


def test_sums_are_not_a_long_prompt():
    table = pricing.load(None)
    long = ('claude-sonnet-4.5', None, 300000, 0, 0, 0, 0)
    assert table.cost(*long).total == 2 * table.cost(*long, tier='summed').total == 2 * 300000 * table.cost('claude-sonnet-4.5', None, 1, 0, 0, 0, 0).total


def ends(*shutdowns):
    """Return (input, output) that a log counts in which runs end with these (outputs of messages, input, output)."""
    parser, total = copilot_parse.Parser(source('s'), Coverage('s'), {}), {}
    for number, (said, sent, made) in enumerate(shutdowns):
        rows = [{'type': 'assistant.message', 'id': '%d.%d' % (number, n), 'data': {'content': 'x', 'model': 'm', 'outputTokens': out}}
                for n, out in enumerate(said)]
        rows.append({'type': 'session.shutdown', 'id': 'end%d' % number,
                     'data': {'modelMetrics': {'m': {'usage': {'inputTokens': sent, 'outputTokens': made}}}}})
        for row in rows:
            for event in parser.events(Record(row, 1, 0, 0)):
                if event.kind == 'usage':
                    total[event.id] = max(total.get(event.id, (0, 0)), event.data[1:3], key=lambda pair: pair[::-1])
    return tuple(map(sum, zip(*total.values())))


def source(sid):
    from echolib.adapters import Source
    return Source(sid, 'main', '', sid, 0, 0)


@pytest.mark.parametrize('shutdowns, counted', [
    # One run: 30 of 35 are said.
    ([([10, 20], 100, 35)], (100, 35)),
    # Sums that begin anew: 8 is less than 30 + 8 of all messages.
    ([([10, 20], 100, 30), ([8], 50, 8)], (150, 38)),
    # Sums that go on: 38 = 30 + 8.
    ([([10, 20], 100, 30), ([8], 150, 38)], (150, 38)),
    # Larger than the last, but too small for all messages: anew.
    ([([10], 100, 10), ([15], 120, 15)], (220, 25)),
    # The messages said more than the sums: what they said stands.
    ([([10, 20], 100, 5)], (100, 30)),
    # A run without messages.
    ([([], 40, 4)], (40, 4))])
def test_runs(shutdowns, counted):
    assert ends(*shutdowns) == counted


def test_odd_files(home):
    talking.check_odd_files(copilot, source_of(CRASHED))


def test_roots_and_detection(home):
    assert copilot.roots() == [os.path.join(home, '.copilot')]
    assert copilot.roots({'COPILOT_HOME': '/x/y'}) == ['/x/y']
    assert registry.resolve('copilot') == 'copilot' and registry.detect('/x/session-state/a/events.jsonl') is copilot
    assert not copilot.owns('/x/session-state/a/other.jsonl') and not copilot.owns('/x/y/events.jsonl')
    problems = []
    assert list(copilot.scan('/no/such/place', problems)) == [] and len(problems) == 1


def test_resume_and_files():
    assert copilot.resume(RESUMED, '/home/ann/shop') == ['copilot', '--resume', RESUMED]
    assert copilot.files_of('str_replace_editor', {'command': 'insert', 'path': 'a'}) == [('edit', 'a')]
    assert copilot.files_of('str_replace_editor', {'command': 'view', 'path': 'a'}) == [('read', 'a')]
    assert copilot.files_of('create', {'path': 'a'}) == [('write', 'a')] and copilot.files_of('bash', {'command': 'x'}) == []
    assert copilot.files_of('apply_patch', '*** Begin Patch\n*** Update File: a.py\n*** End Patch') == [('edit', 'a.py')]


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(copilot, home, EXPECTED, 'quokka', RESUMED, 'Makefile')
    stats = run_script('sd-recall', 'session-stats', RESUMED, '--format', 'json', home=home).json()
    assert (stats['cost_usd'] is None) == bool(stats['unpriced']['calls']) and stats['output_known_calls'] == 6
    path = os.path.join(home, '.copilot', 'session-state', RESUMED, 'events.jsonl')
    with open(path, 'a', encoding='utf-8') as out:
        out.write(json.dumps({'type': 'user.message', 'id': 'e99', 'timestamp': '2026-03-03T00:00:00Z', 'data': {'content': 'one more'}}) + '\n')
    again = run_script('sd-recall', 'session-stats', RESUMED, '--format', 'json', home=home).json()
    assert again['user_prompts'] == stats['user_prompts'] + 1 and again['tokens'] == stats['tokens']
