"""DSH: a log with pieces and whole events, a fork, a subagent, a session without a directory; plain and packed.

fixtures/dsh/home holds them; expected.json was worked out by hand.

Session h1: 900 in and 35 out by the whole answer (its pieces said 30, before they were done), 1000 and 12 of a step that was
interrupted, by its pieces alone, 200 and 40 for the summary: 2100, 87, three calls; its subagent h3 adds 300 and 60: 2400, 147.
Session h2 repeats nine events of h1, which cost nothing here, and adds 70 in, 15 out, 800 read.
"""
import os
import shutil

import pytest

import folding
import talking
from echolib.adapters import dsh, dsh_parse, registry
from echolib.base.errors import EchoError
from echolib.records import Coverage
from helpers import run_script

EXPECTED = talking.expected('dsh')
ONE, FORK, ALONE = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv('DSH_HOME', raising=False)
    return talking.home('dsh', tmp_path, monkeypatch)


def frame(data):
    """A zstd frame of one raw block, as the format's description has it."""
    size = len(data)
    assert size < 1 << 17
    return b'\x28\xb5\x2f\xfd\xa0' + size.to_bytes(4, 'little') + ((size << 3) | 1).to_bytes(3, 'little') + data


def pack(path):
    """Pack a log, a frame a line; return the path of the packed one."""
    with open(path, 'rb') as handle:
        lines = handle.read().splitlines(True)
    with open(path + '.zstd', 'wb') as out:
        out.write(b''.join(frame(line) for line in lines))
    os.remove(path)
    return path + '.zstd'


def source_of(sid):
    return talking.sessions(dsh)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(dsh, EXPECTED)


def test_places(home):
    assert talking.check_places(dsh) > 15


def test_packed(home):
    plain = folding.events(dsh, source_of(ONE))
    for session in talking.sessions(dsh).values():
        for source in session.sources:
            pack(source.path)
    talking.check_sessions(dsh, EXPECTED)
    assert talking.check_places(dsh) > 15
    assert folding.events(dsh, source_of(ONE)) == plain
    # The packed one is read where both are there.
    shutil.copy(source_of(FORK).path, source_of(FORK).path[:-5])
    assert source_of(FORK).path.endswith('.zstd')


def test_a_torn_frame(home):
    path = pack(source_of(ONE).path)
    whole = folding.events(dsh, source_of(ONE))
    with open(path, 'r+b') as handle:
        handle.truncate(os.path.getsize(path) - 20)
    coverage = Coverage(path)
    found = folding.events(dsh, source_of(ONE), coverage)
    assert found == whole[:len(found)] and len(found) == len(whole) - 1 and coverage.parse_errors == 1


def test_any_lines(home):
    talking.check_any_lines(dsh, source_of(ONE))


def test_subagents(home):
    session = talking.sessions(dsh)[ONE]
    assert [(source.role, source.chain, source.session) for source in session.sources] == [('main', '', 'h1'), ('agent', 'h3', 'h1')]
    shutil.rmtree(os.path.dirname(source_of(ONE).path))
    # Its parent is gone: it is known by its name still.
    assert dsh.head(session.sources[1].path) == {'session': 'h1', 'role': 'agent', 'chain': 'h3'}


def test_a_family_that_never_ends(home):
    folder = os.path.dirname(os.path.dirname(source_of(ONE).path))
    for name, parent in (('a', 'b'), ('b', 'a')):
        os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, name, 'session.jsonl'), 'w', encoding='utf-8') as out:
            out.write('{"type":"session","id":"%s","origin":"subagent","parentSession":"%s"}\n' % (name, parent))
    assert set(dsh.head(os.path.join(folder, name, 'session.jsonl'))['session'] for name in 'ab') <= set('ab')


def test_the_same_thing_in_a_fork(home):
    def idents(sid):
        return set((event.kind, event.text, event.id) for event in folding.events(dsh, source_of(sid)) if event.kind in ('prompt', 'tool_result'))
    assert len(idents(ONE) & idents(FORK)) == 2
    assert folding.numbers(dsh, talking.sessions(dsh)[FORK])[2]['foreign'] is True


@pytest.mark.parametrize('head', [b'', b'\0\0', b'{"type":"session","id":3,"parentSession":[],"origin":"subagent"}\n', b'[]\n', b'{"type":"session","id":"a/b"}\n'])
def test_any_header(home, head):
    source = source_of(ALONE)
    with open(source.path, 'wb') as out:
        out.write(head)
    facts = dsh.head(source.path)
    assert facts['role'] == 'main' and '/' not in facts['session']
    talking.check_events(dsh, source)
    with open(source.path + '.zstd', 'wb') as out:
        out.write(head)
    assert dsh.head(source.path + '.zstd')['session'] == 'h4'


def test_roots_and_detection(home):
    assert dsh.roots() == [os.path.join(home, '.dsh')] and dsh.roots({'DSH_HOME': '/x'}) == ['/x']
    assert registry.detect('/x/sessions/a/b/session.jsonl.zstd') is dsh and not dsh.owns('/x/sessions/b/session.jsonl')
    assert dsh.named('/x/sessions/a/b%20c%2Fd/session.jsonl') == 'b c.d' and dsh_parse.header('/no/such/file') == {}
    problems = []
    assert list(dsh.scan('/no/such/place', problems)) == [] and len(problems) == 1
    with pytest.raises(EchoError):
        dsh.resume(ONE, '')


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(dsh, home, EXPECTED, 'wombat', ONE, 'Makefile')
    stats = run_script('sd-recall', 'stats', '--format', 'json', '--agent', 'dsh', home=home).json()
    # The prompt and the call that the fork repeats count once.
    assert (stats['user_prompts'], stats['tool_calls'], stats['subagents']) == (3, 2, 1)
