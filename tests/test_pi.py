"""Pi, Oh My Pi, Prime: a tree with a branch that was left, a branch with a file of its own, subagents, rows without ids.

fixtures/pi/home holds them; expected.json was worked out by hand (input excludes what was cached).

Session 1: 900 + 100 + 50 = 1050 in, 30 + 20 + 10 = 60 out, 4000 + 5000 + 5200 = 14200 read, 100 written; two more answers
(stopped, failed) say zeros, so that nothing is known of them. Its call id t1 stands for two calls.
Session 2 repeats those three calls under their ids and adds 70 in, 15 out, 5300 read: 1120, 75, 19500, 100 as a whole.
Session 3: 10 in, 40 out, 2000 written by its own call, 300 in and 60 out by its subagent; the row that attributes these to it once
more counts nothing. Session 5: 5 in, 6 out.
Each file for itself ("all"): 1050 + 1120 + 310 + 5 = 2485; 60 + 75 + 100 + 6 = 241; 14200 + 19500 = 33700; 100 + 100 + 2000.
What was copied once ("once"): 1050 + 70 + 310 + 5 = 1435; 60 + 15 + 100 + 6 = 181; 14200 + 5300 = 19500; 100 + 2000; 5 + 1 + 2 + 1 calls.
"""
import os

import pytest

import folding
import talking
from echolib.adapters import pi, registry
from helpers import run_script

EXPECTED = talking.expected('pi')
TREE, BRANCH, PARENT, OLD = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ('PI_CODING_AGENT_DIR', 'PRIME_AGENT_DIR'):
        monkeypatch.delenv(name, raising=False)
    return talking.home('pi', tmp_path, monkeypatch)


def source_of(sid, place=0):
    return talking.sessions(pi)[sid].sources[place]


def test_sessions(home):
    talking.check_sessions(pi, EXPECTED)


def test_places(home):
    assert talking.check_places(pi) > 40


@pytest.mark.parametrize('sid', [TREE, BRANCH, PARENT, OLD])
def test_growth(home, sid):
    talking.check_growth(pi, source_of(sid))


def test_any_lines(home):
    talking.check_any_lines(pi, source_of(TREE))


def test_copies_have_the_same_identities(home):
    def idents(sid):
        return set((event.kind, event.id) for event in folding.events(pi, source_of(sid)) if event.kind in ('prompt', 'usage', 'tool_call'))
    first, second = idents(TREE), idents(BRANCH)
    # The first prompt, three calls of the model, three of tools.
    assert len(first & second) == 7 and len(second - first) == 3


def test_the_branch_that_was_left(home):
    ends, left = pi.branches(source_of(TREE).path)
    assert (ends, left) == (2, {'0000000a@2026-03-01T09:01:00.000Z', '0000000b@2026-03-01T09:01:02.000Z'})
    assert [event.text for event in folding.events(pi, source_of(TREE)) if event.id in left and event.text] == ['a wrong turn to the tapir']
    assert pi.branches(source_of(PARENT).path) == (1, set()) == pi.branches(source_of(OLD).path)


def test_subagents(home):
    session = talking.sessions(pi)[PARENT]
    assert [(source.role, source.chain, source.session) for source in session.sources] == [('main', '', PARENT), ('agent', 'scout', PARENT)]
    deeper = os.path.join(session.sources[1].path[:-6], 'helper.jsonl')
    os.makedirs(os.path.dirname(deeper))
    with open(deeper, 'w', encoding='utf-8') as out:
        out.write('{"type":"session","id":"x","timestamp":"2026-03-03T09:00:04.000Z"}\n')
    assert [source.chain for source in talking.sessions(pi)[PARENT].sources] == ['', 'scout', 'scout.helper']
    assert pi.head(deeper) == {'session': PARENT, 'role': 'agent', 'chain': 'scout.helper'}


def test_what_is_said_of_the_session(home):
    assert folding.numbers(pi, talking.sessions(pi)[TREE])[2]['custom-title'] == 'Build and lint'
    profile = folding.numbers(pi, talking.sessions(pi)[BRANCH])[2]
    assert profile['foreign'] is True and talking.sessions(pi)[BRANCH].folder == '-home-ann-shop'


def test_odd_files(home):
    talking.check_odd_files(pi, source_of(TREE))


def test_roots_and_detection(home, tmp_path):
    names = [os.path.join(home, name, 'agent') for name in ('.pi', '.omp', '.prime')]
    assert pi.roots() == names
    assert pi.roots({'PI_CODING_AGENT_DIR': '/x/agent', 'PRIME_AGENT_DIR': '/none'}) == ['/x/agent', names[1]]
    assert registry.detect('/any/sessions/--home-ann--/2026_x.jsonl') is pi
    assert not pi.owns('/home/ann/sessions/x.jsonl') and not pi.owns(os.path.join(home, '.pi', 'agent', 'auth.json'))
    problems = []
    assert list(pi.scan('/no/such/place', problems)) == [] and len(problems) == 1


def test_resume(home):
    assert [pi.resume(sid, '')[0] for sid in (TREE, PARENT, OLD, 'gone')] == ['pi', 'omp', 'prime-agent', 'pi']
    assert pi.resume(TREE, '') == ['pi', '--session', TREE]


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(pi, home, dict(EXPECTED, all=EXPECTED['once']), 'dugong', BRANCH, 'notes.md')
    own = run_script('sd-recall', 'session-stats', BRANCH, '--format', 'json', home=home).json()
    assert own['tokens']['input'] == 70 or own['own']['tokens']['input'] == 70
