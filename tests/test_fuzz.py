"""Hostile homes, commands and queries from seeds: no exception, no hang, well-formed answers, no secret. A longer run by
hand is tools/fuzz.py; what it found lies in fixtures/fuzz and is read by every run."""
import random
import sys
import time

import pytest

import fuzzing
from echolib.base import redact, text
from echolib.index import query
from echolib.records import parse_line
from helpers import scratch

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def fuzzer():
    # Faults of readers end a test only here: see read_all and Fuzzer.
    from echolib.index import ingest
    kept = ingest.FAULTS
    yield fuzzing.Fuzzer(scratch())
    ingest.FAULTS = kept


@pytest.mark.parametrize('seed', range(8))
def test_commands_over_hostile_homes(fuzzer, seed):
    home, data = fuzzer.make_home(seed), scratch()
    for script, words in fuzzer.command_lines(seed, home, 4):
        fuzzer.run(script, words, home, data)


def test_every_command_over_what_was_found(fuzzer):
    """The fixtures of earlier findings, by every command."""
    home = fuzzer.write('fuzz')
    data = scratch()
    for name, command in sorted(fuzzer.commands.items()):
        script, _, word = name.partition(' ')
        words = [word] * bool(word)
        for place, needed, _ in command.places:
            if needed or script == 'format-detector':
                words.append({'ref': 'f0f0f0f0'}.get(place, home if script == 'format-detector' else 'a'))
        for form in ('text', 'tsv', 'json'):
            if any('--format' in o.names and form in o.choices for o in command.options) and (name, form) != ('trend-engine report', 'tsv'):
                extra = ['--html', scratch() + '/report.html'] if name == 'trend-engine report' and form == 'text' else []
                fuzzer.run(script, words + ['--format', form] + extra, home, data)


@pytest.mark.parametrize('turn', (0, 3, 11))
def test_values_of_every_kind_in_the_place_of_others(fuzzer, turn):
    dice = random.Random(turn)
    for kind in dice.sample(fuzzing.KINDS, 1):
        home = fuzzer.write(*[name for name in fuzzer.homes if not name.startswith('corpus')], change=lambda data: fuzzing.replaced(data, turn, kind))
        assert fuzzing.read_all(home) == []


def test_content_of_any_depth():
    from echolib.adapters.grok_text import block_text
    from echolib.adapters.values import content_text
    lists = objects = 'x'
    for _ in range(5000):
        lists, objects = [lists], {'type': 'content', 'content': objects}
    for read in (block_text, content_text):
        assert read(lists) == read(objects) == ''


def test_queries():
    dice = random.Random(3)
    for one in list(fuzzing.QUERIES) + [fuzzing.query(dice) for _ in range(3000)]:
        query.parse(one)


def hostile_lines():
    """-> {name: line of 1 MB} of the worst that may come."""
    return {
        'deep': b'{"a":' + b'[' * 10 ** 6, 'deep objects': b'{"a":' * 10 ** 5 + b'1' + b'}' * 10 ** 5, 'digits': b'{"a":' + b'9' * 10 ** 6 + b'}',
        'exponent': b'{"a":1e' + b'9' * 10 ** 6 + b'}', 'starts': b'{"type":"' * 10 ** 5, 'starts glued': b'{"type":"x","uuid":1' * 10 ** 5,
        'records glued': b'{"type":"x"}' * 80000, 'quotes': b'{"a":"' + b'\\"' * 5 * 10 ** 5, 'backslashes': b'{"a":"' + b'\\' * 10 ** 6,
        'escapes': b'{"a":"' + b'\\ud800' * 150000 + b'"}', 'keys': b'{' + b'"a":1,' * 150000 + b'"a":2}', 'zeros': b'\0' * 10 ** 6 + b'{"a":1}',
        'broken utf-8': b'{"a":"' + b'\xff\xfe' * 5 * 10 ** 5 + b'"}', 'nan': b'{"a":[' + b'NaN,' * 200000 + b'-Infinity]}', 'blanks': b' ' * 10 ** 6, 'commas': b',' * 10 ** 6}


@pytest.mark.parametrize('name', sorted(hostile_lines()))
def test_hostile_lines_are_read_once(name):
    """A line of four times the length costs about four times the calls, however broken it is."""
    line = hostile_lines()[name]
    with fuzzing.patience():
        full, quarter = calls(lambda: parse_line(line)), calls(lambda: parse_line(line[:len(line) // 4]))
    assert full <= 5 * quarter + 200, (full, quarter)


def calls(work):
    """-> how many calls of functions a piece of work makes."""
    count = [0]

    def note(frame, event, arg):
        count[0] += event in ('call', 'c_call')
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count[0]


UNITS = ('a', ' ', '<', '</', '<a ', '=', 'key=', 'token: "', '://a:', '@', 'eyJ', 'eyJhbGciOi.', '-----BEGIN PRIVATE KEY-----\n', 'A' * 64 + '\n', 'cookie: a=b; ', 'bearer ',
         'authorization: ', '\u202e', '\u4e2d', '\U0001f468\u200d', '\u0301', '\t', '\n', '```\n', '\\', '"', "'", '[', '(', '{', '|', '#', '* ', '> ', '&', '-', '_', 'sig=', 'sk-', 'SG.')


@pytest.mark.parametrize('unit', UNITS)
def test_long_runs_of_anything_are_printed_in_linear_time(unit):
    """A hundred thousand characters of one kind: with a quadratic step the alarm would come first."""
    given = unit * (120000 // len(unit))
    with fuzzing.patience():
        began = time.time()
        shown = text.fence(redact.redact(given), 'id', 'day')
        text.cell(given)
        text.cut(given[:20000], 100)
        assert shown.count('</recalled-history>') == 1 and time.time() - began < fuzzing.PATIENCE
