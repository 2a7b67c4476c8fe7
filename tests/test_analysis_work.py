"""How the work went: each figure against lists of facts made by hand, and the two ways to a session's facts against each other."""
import os

import pytest

from echolib import analysis_session
from echolib import analysis_work as work
from echolib.adapters import lookup
from echolib.analysis import AGENT, CALL, COMPACT, FAILED, REFUSED, STATUS, STOP, TOOL, TURN, Fact
from echolib.analysis_calls import CHANGE, OTHER, READ, SHELL, SKILL, SPAWN, TEST, look
from helpers import shared

MINUTE = 60000
OK = STATUS['ok']


def prompt(minute, correction=0, name='typed'):
    return Fact(TURN, minute * MINUTE, 0, name, 5, correction, 0, 0, 0, 0, 0, '')


def call(minute, sent=10, output=1, side=0, model='m', extra=''):
    return Fact(CALL, minute * MINUTE, side, model, 1, sent, output, 0, 0, 0, 0, extra)


def tool(minute, name='Bash', status=OK, what=SHELL, same=1, about=1, part=0, side=0, word='', ended=0):
    return Fact(TOOL, minute * MINUTE, side, name, status, what, same, about, part, ended * MINUTE, 0, word)


def test_run(minute, status=FAILED, side=0):
    return tool(minute, status=status, what=TEST, side=side, word='pytest')


test_run.__test__ = False


def cost(fact):
    return None if fact.name == 'free' else 100 * fact.output


def test_pauses():
    assert work.active([]) == (0, 0)
    assert work.active([prompt(3)]) == (0, 0)
    # 0-5: active; 5-11: idle; 11-12 active.
    assert work.active([prompt(0), call(5), call(11), call(12)]) == (6 * MINUTE, 6 * MINUTE)
    # The tool ran from 5 to 9, so nothing is idle.
    assert work.active([prompt(0), tool(5, ended=9), call(14)]) == (14 * MINUTE, 0)
    assert work.active([call(0)._replace(time=None), prompt(1)]) == (0, 0)


def test_context_tax_is_that_of_the_first_call_of_the_main_chain():
    assert work.first_prompt_tokens([prompt(0)]) is None
    facts = [prompt(0), call(1, 900, side=7), call(2, 0, 0), call(3, 50)._replace(cache_read=5, cache_write_5m=6, cache_write_1h=7), call(4, 1)]
    assert work.first_prompt_tokens(facts) == 68


def test_turns_their_depth_and_cost():
    facts = [call(0, output=9), prompt(1), call(2, output=1), call(3, output=2, side=4), prompt(5), call(6, output=4), call(7, output=1, model='free')]
    assert [(turn.prompt, turn.first, turn.end) for turn in work.turns(facts)] == [(None, 0, 1), (1, 1, 4), (4, 4, 7)]
    assert work.turn_depths(facts) == [1, 2]
    assert list(work.turn_costs(facts, cost)) == [(300, 0), (400, 1)]


def test_corrections_and_interruptions():
    stop = Fact(STOP, 3 * MINUTE, 0, '', 0, 0, 0, 0, 0, 0, 0, '')
    facts = [stop._replace(time=0), prompt(1, 5), stop, stop._replace(time=4 * MINUTE), prompt(5), prompt(6, 1)]
    assert work.corrections(facts) == [1, 5]
    # Twice in one turn is one turn; before the first prompt there is none.
    assert work.interrupted(facts) == [1]


STREAKS = {
    'failures in a row': ([prompt(0), test_run(1), test_run(2), test_run(3)], 3),
    'other calls between': ([prompt(0), test_run(1), tool(2, 'Edit', what=CHANGE), tool(3, status=FAILED), test_run(4)], 2),
    'a pass ends it': ([prompt(0), test_run(1), test_run(2), test_run(3, OK), test_run(4)], 2),
    'a prompt ends it': ([prompt(0), test_run(1), test_run(2), prompt(3), test_run(4)], 2),
    'one of each chain': ([prompt(0), test_run(1), test_run(2, side=5), test_run(3, OK, side=5), test_run(4)], 2),
    'refused and open ones say nothing': ([prompt(0), test_run(1), test_run(2, REFUSED), test_run(3, 0), test_run(4)], 2),
    'no tests': ([prompt(0), tool(1, status=FAILED), tool(2, status=FAILED)], 0),
}


@pytest.mark.parametrize('case', sorted(STREAKS))
def test_test_fail_streak(case):
    facts, length = STREAKS[case]
    found = work.test_fail_streak(facts)
    assert len(found.places) == length
    assert all(facts[place].input == TEST and facts[place].status == FAILED for place in found.places)


def fail(minute, about, same=None, name='Bash', side=0):
    return tool(minute, name, FAILED, same=minute if same is None else same, about=about, side=side)


LOOPS = {
    'same thing, other inputs': ([prompt(0), fail(1, 7), fail(2, 7), fail(3, 7)], [(1, 2, 3)]),
    'two are none': ([prompt(0), fail(1, 7), fail(2, 7)], []),
    'other things': ([prompt(0), fail(1, 7), fail(2, 8), fail(3, 9)], []),
    'other tools': ([prompt(0), fail(1, 7), fail(2, 7, name='Edit'), fail(3, 7)], []),
    'work between': ([prompt(0), fail(1, 7), tool(2, 'Read', what=READ), fail(3, 7), tool(4, about=9), fail(5, 7)], [(1, 3, 5)]),
    'it worked between': ([prompt(0), fail(1, 7), fail(2, 7), tool(3, about=7), fail(4, 7)], []),
    'a prompt between': ([prompt(0), fail(1, 7), fail(2, 7), prompt(3), fail(4, 7)], []),
    'two chains': ([prompt(0), fail(1, 7), fail(2, 7, side=3), fail(3, 7)], []),
    'about nothing: the same input': ([prompt(0), fail(1, 0, 5), fail(2, 0, 5), fail(3, 0, 6), fail(4, 0, 5)], [(1, 2, 4)]),
    'longest first': ([prompt(0), fail(1, 7), fail(2, 7), fail(3, 7), fail(4, 8), fail(5, 8), fail(6, 8), fail(7, 8)], [(4, 5, 6, 7), (1, 2, 3)]),
}


@pytest.mark.parametrize('case', sorted(LOOPS))
def test_retry_loops(case):
    facts, runs = LOOPS[case]
    assert [run.places for run in work.retry_loops(facts)] == runs


def test_repeated_calls():
    again = [prompt(0), tool(1, same=4), tool(2, same=4), tool(3, same=4), tool(4, same=5), tool(5, same=4), prompt(6), tool(7, same=4)]
    assert [run.places for run in work.repeated_calls(again)] == [(1, 2, 3)]
    assert work.repeated_calls([prompt(0), tool(1, 'BashOutput', same=4), tool(2, 'BashOutput', same=4), tool(3, same=0), tool(4, same=0)]) == []
    assert [run.places for run in work.repeated_calls([prompt(0), tool(1, same=4), tool(2, same=9, side=1), tool(3, same=4)])] == [(1, 3)]


def read(minute, about=7, part=0, side=0, status=OK):
    return tool(minute, 'Read', status, READ, about, about, part, side)


READS = {
    'beyond the second': ([read(1), read(2), read(3), read(4)], [2, 3]),
    'other parts': ([read(1, part=1), read(2, part=2), read(3, part=3)], []),
    'changed since': ([read(1), read(2), tool(3, 'Edit', what=CHANGE, about=7), read(4), read(5), read(6)], [5]),
    'another file changed': ([read(1), read(2), tool(3, 'Edit', what=CHANGE, about=8), read(4)], [3]),
    'compacted since': ([read(1), read(2), Fact(COMPACT, 3 * MINUTE, 0, 'auto', 0, 0, 0, 0, 0, 0, 0, ''), read(4)], []),
    'another chain compacted': ([read(1), read(2), Fact(COMPACT, 3 * MINUTE, 9, 'auto', 0, 0, 0, 0, 0, 0, 0, ''), read(4)], [3]),
    'two chains': ([read(1), read(2, side=1), read(3), read(4, side=1)], []),
    'failed': ([read(1), read(2, status=FAILED), read(3), read(4, status=REFUSED), read(5)], [4]),
}


@pytest.mark.parametrize('case', sorted(READS))
def test_redundant_reads(case):
    facts, places = READS[case]
    assert work.redundant_reads(facts) == places


def test_reread_files():
    facts = [read(1, 7), read(2, 7, part=3), read(3, 8), read(4, 7, side=1), read(5, 7), read(6, 8), read(7, 9), read(8, 8), read(9, 8)]
    assert work.rereads(facts) == [[2, 5, 7, 8], [0, 1, 4]]
    many = [read(minute, about) for about in range(1, 31) for minute in range(3)]
    assert len(work.rereads(many)) == 20


def test_stop_reasons():
    assert work.stop_reasons([call(1, extra='|||0|0|end_turn'), call(2, extra='|||0|0|end_turn'), call(3, extra='fast|||0|0|'), call(4), call(5, extra='|||1|0|max_tokens')]) == {
        'end_turn': 2, 'max_tokens': 1}


def test_skills_cost_the_turns_that_used_them_once():
    def skill(minute, word, status=OK):
        return tool(minute, 'Skill', status, SKILL, word=word)
    facts = [skill(0, 'early'), prompt(1), call(2, output=1), skill(3, 'a'), skill(4, 'a', FAILED), skill(4, 'b'), call(5, output=2, side=6), prompt(6), call(7, output=8),
             prompt(8), skill(9, 'a'), call(10, output=4), call(11, output=1, model='free')]
    found = work.skills(facts, cost)
    assert found == {'early': (1, 0, 0, 0, 0), 'a': (3, 1, 2, 700, 1), 'b': (1, 0, 1, 300, 0)}


def test_commands_and_test_runs():
    facts = [tool(1, word='git push'), tool(2, word='git push', status=FAILED), test_run(3), test_run(4, OK), test_run(5, 0), tool(6, 'Task', what=SPAWN, word='explore'),
             tool(7, 'Skill', what=SKILL, word='x')]
    assert work.commands(facts) == {'git push': [2, 1], 'pytest': [3, 1]}
    assert work.test_runs(facts) == (2, 1)


def test_chains():
    assert work.chains([call(1), call(2, 10, 5, side=8), call(3, 1, 1, side=8, model='free'), call(4, 2, 2, side=9)], cost) == {8: (2, 17, 500, 1), 9: (1, 4, 200, 0)}


CALLS = {
    'a command': ('Bash', {'command': 'cd /x && git push origin main'}, SHELL, 'git push'), 'a test': ('Bash', {'command': 'npx jest a.test.js'}, TEST, 'jest'),
    'a list': ('shell', {'command': ['bash', '-lc', 'pytest -q']}, TEST, 'pytest'), 'cmd': ('exec_command', {'cmd': 'ls'}, SHELL, 'ls'), 'a reading': ('Read', {'file_path': '/a'}, READ, ''),
    'a reading elsewhere': ('ReadFile', {'path': '/a'}, READ, ''), 'a change': ('Edit', {'file_path': '/a'}, CHANGE, ''), 'a skill': ('Skill', {'skill': 'pdf'}, SKILL, 'pdf'), 'an old skill': ('Skill', {'command': 'pdf'}, SKILL, 'pdf'),
    'a subagent': ('Task', {'subagent_type': 'explore', 'prompt': 'x'}, SPAWN, 'explore'), 'another': ('collaboration.spawn_agent', {'agent_type': 'worker'}, SPAWN, 'worker'), 'a search': ('WebFetch', {'url': 'https://x'}, OTHER, ''),
    'no dict': ('apply_patch', '*** Begin', OTHER, ''), 'nothing': ('x', None, OTHER, ''), 'wrong types': ('Bash', {'command': 5}, OTHER, ''), 'odd words': ('Skill', {'skill': '\ud800'}, SKILL, '?')}


@pytest.mark.parametrize('case', sorted(CALLS))
def test_what_a_call_is_about(case):
    name, given, what, word = CALLS[case]
    found = look(name, given, 'text')
    assert (found[0], found[4]) == (what, word)
    assert all(0 <= mark < 1 << 32 for mark in found[1:4])


def test_marks_tell_inputs_things_and_parts_apart():
    def marks(name, given):
        return look(name, given, repr(given))[1:4]
    one, other = marks('Bash', {'command': 'pytest -x a.py'}), marks('Bash', {'command': 'pytest a.py --lf'})
    assert one[0] != other[0] and one[1] == other[1]
    whole, part = marks('Read', {'file_path': '/a'}), marks('Read', {'file_path': '/a', 'offset': 5})
    assert whole[1] == part[1] and whole[2] == 0 != part[2]


CORPORA = [name for name in sorted(os.listdir(shared('corpus'))) if os.path.isdir(os.path.join(shared('corpus'), name))] if shared('corpus') else []


@pytest.mark.parametrize('name', [one for one in CORPORA if one.startswith(('claude', 'codex', 'kimi', 'grok'))])
def test_index_and_reading_give_the_same_facts(name, tmp_path, monkeypatch):
    """A session's facts are the same from the index (its whole transcript) and read now, and so are all figures."""
    from echolib.index import access
    from echolib.index.catalog import Catalog
    from echolib.base.identity import key_of
    monkeypatch.setenv('HOME', os.path.join(shared('corpus'), name, 'home', 'dev'))
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    view = access.open_view(lambda text: None)
    catalog = Catalog(view.db)
    rows = catalog.rows()
    assert rows
    seen = 0
    for row in rows:
        reading = analysis_session.read(row.agent, catalog.sources(row))
        stored = dict((key, fact) for fact, key in catalog.whole_facts(row))
        mine = dict((key_of(key), fact) for key, fact in zip(reading.keys, reading.facts))
        assert set(mine) == set(stored)
        for key, fact in mine.items():
            assert fact._replace(extra='', name='') == stored[key]._replace(extra='', name='')
            assert fact.kind == TURN or fact.extra == stored[key].extra
        ordered = work.in_order(stored.values())
        for figure in (work.active, work.turn_depths, work.test_runs, work.commands, work.first_prompt_tokens, work.stop_reasons):
            assert figure(ordered) == figure(reading.facts)
        assert len(work.retry_loops(ordered)) == len(work.retry_loops(reading.facts))
        assert all(reading.notes.get(key) for key, fact in zip(reading.keys, reading.facts) if fact.kind in (TOOL, STOP) or fact.kind == TURN and fact.name)
        if name.startswith('claude'):
            types = reading.subagents(cost)
            assert sum(row[0] for row in types.values()) == sum(1 for fact in reading.facts if fact.kind == AGENT)
            assert sum(row[1].calls for row in types.values()) == sum(1 for fact in reading.facts if fact.kind == CALL and fact.side)
        seen += len(mine)
    assert seen > 20
    view.store.close()


def test_no_content_raises(tmp_path):
    path = str(tmp_path / 'x.jsonl')
    with open(path, 'wb') as out:
        out.write(b'{"type":"user","message":{"role":"user","content":"no, wrong"},"uuid":"u1","timestamp":"2026-01-01T00:00:00Z","sessionId":"s"}\n'
                  b'{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":[1,{}]}},'
                  b'{"type":"tool_use","id":"t2","name":"Read","input":[1]},{"type":"tool_use","name":"Task","input":{"prompt":5}}]},"uuid":"u2","timestamp":"x"}\n'
                  b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"nobody","is_error":true,"content":null}]},"uuid":"u3"}\nbroken\n')
    session = lookup.session_at(path)
    reading = analysis_session.read(session.agent, session.sources)
    assert work.corrections(reading.facts) == [place for place, fact in enumerate(reading.facts) if fact.kind == TURN]
    assert reading.files() == {} and reading.subagents(cost) == {}
