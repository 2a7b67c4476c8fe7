"""Kimi, both layouts: places, records to events, totals of invented and of real sessions."""
import copy
import json
import os
import random
import re
import shutil

import pytest

from echolib import analysis
from echolib import events as ev
from echolib.adapters import Source, kimi, registry
from echolib.adapters.kimi_lookback import turn_before
from echolib.adapters.kimi_text import classify, content_text, tool_input
from echolib.records import Coverage
from helpers import FIXTURES, shared
from homes import Home

FIXTURE = os.path.join(FIXTURES, 'kimi', 'home')
CLI = os.path.join(FIXTURE, '.kimi', 'sessions', 'c9bb83e020cf03568265949139ee2e5a')
CODE = os.path.join(FIXTURE, '.kimi-code', 'sessions', 'wd_mill_83410eb8e44d')
FIRST, FORK, THIRD, BARE, FLAT = ['0a00000%d-0000-4000-8000-00000000000%d' % (n, n) for n in range(1, 6)]
RYE, OATS, OLDEST = ['session_0c00000%d-0000-4000-8000-00000000c00%d' % (n, n) for n in range(1, 4)]
IMPORTED = 'ses_' + FIRST
with open(os.path.join(FIXTURES, 'kimi', 'expected.json'), encoding='utf-8') as lines:
    EXPECTED = json.load(lines)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'CLAUDE_CODE_SESSION_ID', 'KIMI_SHARE_DIR', 'KIMI_CODE_HOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    return Home(tmp_path)


def lay(home, source=FIXTURE):
    """Copy the Kimi folders of a home into a scratch home."""
    for name in ('.kimi', '.kimi-code'):
        if os.path.isdir(os.path.join(source, name)):
            shutil.copytree(os.path.join(source, name), os.path.join(home.folder, name))
    for where, names, files in os.walk(home.folder):
        for name in names + files:
            os.chmod(os.path.join(where, name), 0o755)


def rebuilt(home):
    shutil.rmtree(home.data)
    home.build()
    return home.state()


def main(folder, sid, role='main', chain='', name='wire.jsonl'):
    return Source(os.path.join(folder, sid, name), role, chain, sid, 0, 0)


def code(sid, agent='main'):
    """Return the Source of an agent's file of a Kimi Code session."""
    chain = '' if agent == 'main' else '%s.%s' % (agent, sid.replace('-', '')[-12:])
    return Source(os.path.join(CODE, sid, 'agents', agent, 'wire.jsonl'), 'main' if agent == 'main' else 'agent', chain, sid, 0, 0)


def flat(source, coverage=None, state=None):
    """Return all events of a file."""
    return [e for found in kimi.read(source, coverage or Coverage(source.path), state=state) for e in found]


def said(events, *kinds):
    """Return (kind, label, text) of the events of these kinds."""
    return [(e.kind, e.label, e.text) for e in events if e.kind in kinds]


def write(path, rows):
    os.makedirs(os.path.dirname(str(path)), exist_ok=True)
    with open(str(path), 'w', encoding='utf-8') as out:
        for row in rows:
            out.write(json.dumps(row) + '\n')
    return str(path)


# places

def test_the_name_is_the_designs():
    assert kimi.NAME == 'kimi_code'
    assert registry.resolve('kimi') == registry.resolve('kimi_code') == 'kimi_code'


def test_roots_come_from_the_environment_first(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    assert kimi.roots({}) == [str(tmp_path / '.kimi'), str(tmp_path / '.kimi-code')]
    assert kimi.roots({'KIMI_SHARE_DIR': '/a', 'KIMI_CODE_HOME': '/b'}) == [os.path.abspath('/a'), os.path.abspath('/b')]
    assert kimi.roots({'KIMI_SHARE_DIR': '/a', 'KIMI_CODE_HOME': '/a'}) == [os.path.abspath('/a')]
    (tmp_path / '.kimix').mkdir()
    assert kimi.roots({})[2:] == [str(tmp_path / '.kimix')]


def test_scan_lists_one_row_a_file():
    problems = []
    rows = {(r[5], r[4]): r for r in kimi.scan(os.path.join(FIXTURE, '.kimi'), problems)}
    assert problems == []
    assert set(rows) == {(FIRST, ''), (FORK, ''), (THIRD, ''), (THIRD, 'a1b2c3d4e'), (BARE, ''), (FLAT, '')}
    assert rows[THIRD, 'a1b2c3d4e'][3] == 'agent' and rows[FIRST, ''][3] == 'main'
    assert rows[BARE, ''][0].endswith('context.jsonl') and rows[FLAT, ''][0].endswith(FLAT + '.jsonl')
    wire, state = [os.path.join(CLI, FIRST, name) for name in ('wire.jsonl', 'state.json')]
    assert rows[FIRST, ''][1] == os.path.getsize(wire) + os.path.getsize(state)
    # Below a millisecond the time tells what else the reading depends on.
    assert rows[FIRST, ''][2] // 10 ** 6 == max(os.stat(wire).st_mtime_ns, os.stat(state).st_mtime_ns) // 10 ** 6
    rows = {(r[5], r[4]): r for r in kimi.scan(os.path.join(FIXTURE, '.kimi-code'), problems)}
    assert problems == []
    assert set(rows) == {(RYE, ''), (RYE, 'agent-0.00000000c001'), (OATS, ''), (OLDEST, ''), (IMPORTED, '')}
    assert {r[6] for r in rows.values()} == {'wd_mill_83410eb8e44d'}


def test_scan_names_what_it_cannot_list(tmp_path):
    problems = []
    assert list(kimi.scan(str(tmp_path / 'nowhere'), problems)) == []
    assert problems[0][0] == str(tmp_path / 'nowhere' / 'sessions')


def test_a_link_into_the_sessions_is_not_followed(tmp_path):
    write(tmp_path / 'sessions' / 'wd_a_1' / 'session_1' / 'agents' / 'main' / 'wire.jsonl', [{'type': 'metadata'}])
    os.symlink(str(tmp_path / 'sessions' / 'wd_a_1'), str(tmp_path / 'sessions' / 'wd_b_2'))
    os.symlink(str(tmp_path), str(tmp_path / 'sessions' / 'wd_c_3'))
    assert len(list(kimi.scan(str(tmp_path), []))) == 1


def test_discover_and_session_at_agree():
    for root in ('.kimi', '.kimi-code'):
        for session in kimi.discover(os.path.join(FIXTURE, root), []):
            for source in session.sources:
                found = kimi.session_at(source.path)
                assert found.id == session.id and found.folder == session.folder and found.root in (session.root, '')
                if source.role == 'main':
                    assert [s[:4] for s in found.sources] == [s[:4] for s in session.sources]
                else:
                    assert [s[:4] for s in found.sources] == [source[:4]]


def test_owns_by_place_and_by_content(tmp_path):
    for root in ('.kimi', '.kimi-code'):
        for session in kimi.discover(os.path.join(FIXTURE, root), []):
            assert all(kimi.owns(source.path) for source in session.sources if not source.path.endswith(FLAT + '.jsonl'))
    copied = str(tmp_path / 'saved.jsonl')
    shutil.copy(os.path.join(CLI, FIRST, 'wire.jsonl'), copied)
    assert kimi.owns(copied) and registry.detect(copied) is kimi
    assert said(flat(Source(copied, 'main', '', 'saved', 0, 0)), ev.PROMPT)[0][2] == 'turn the millstone\n[image]'
    shutil.copy(code(RYE).path, copied)
    assert kimi.owns(copied)
    assert said(flat(Source(copied, 'main', '', 'saved', 0, 0)), ev.PROMPT)[0][2] == 'grind the rye'
    assert not kimi.owns(write(tmp_path / 'other.jsonl', [{'type': 'user', 'sessionId': 'x'}]))
    assert not kimi.owns(str(tmp_path / 'missing.jsonl')) and not kimi.owns(str(tmp_path / 'notes.txt'))


def test_resume_and_ledger():
    assert kimi.resume(RYE, '/home/dev/mill') == ['kimi', '-S', RYE]
    assert kimi.billed(None) is None
    assert kimi.head(code(RYE).path) == {'session': RYE}


# Kimi CLI

def test_what_was_typed_in_the_terminal_client():
    assert said(flat(main(CLI, FIRST)), ev.PROMPT) == [
        ('prompt', 'typed', 'turn the millstone\n[image]'), ('prompt', 'typed', 'grind it'), ('prompt', 'slash', '/init'),
        ('prompt', 'typed', 'and the wheel?'), ('prompt', 'queued', 'the water wheel 水车')]
    assert said(flat(main(CLI, FIRST)), ev.INJECTED) == [
        ('injected', 'task', 'weigh the stones'), ('injected', 'flow', 'Explore the repository and write AGENTS.md')]
    assert [e.turn for e in flat(main(CLI, FIRST)) if e.kind == ev.PROMPT] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize('text, expected', [
    ('do it', (ev.PROMPT, ev.TYPED)), ('/init', (ev.PROMPT, ev.SLASH)), ('/skill:mill wheat', (ev.PROMPT, ev.SLASH)),
    ('/compact', (ev.INJECTED, 'local_command')), ('/clear now', (ev.INJECTED, 'local_command')),
    ('/usr/bin/env is missing', (ev.PROMPT, ev.TYPED)), ('/', (ev.PROMPT, ev.TYPED)),
    ('<system>CHECKPOINT 3</system>', (ev.INJECTED, 'reminder')), ('<b>bold</b> claims', (ev.PROMPT, ev.TYPED)),
    ('<system-reminder>\nx\n</system-reminder>', (ev.INJECTED, 'reminder')),
    ('<system>Previous context has been compacted. Here is', (ev.INJECTED, ev.RECAP))])
def test_classify(text, expected):
    assert classify(text) == expected


def test_a_calls_input_is_joined_from_its_rows():
    calls = {e.text: e for e in flat(main(CLI, FIRST)) if e.kind == ev.TOOL_CALL and not e.chain}
    assert set(calls) == {'ls stones', 'weigh\nweigh the stones', '{"path": "dust.txt", content": "marcasite"}', 'grind'}
    joined = calls['ls stones']
    assert joined.data == {'command': 'ls stones'}
    again = kimi.events_at(main(CLI, FIRST), joined.offset, joined.length)
    assert [(e.text, e.part, e.id) for e in again] == [('ls stones', 0, joined.id)]


def test_a_call_cut_off_by_the_end_of_the_file_counts(tmp_path):
    rows = [{'type': 'metadata', 'protocol_version': '1.3'},
            {'timestamp': 1760000000.5, 'message': {'type': 'TurnBegin', 'payload': {'user_input': 'x'}}},
            {'timestamp': 1760000001.5, 'message': {'type': 'ToolCall', 'payload': {
                'type': 'function', 'id': 'a', 'function': {'name': 'Shell', 'arguments': None}}}}]
    part = {'timestamp': 1760000002.5, 'message': {'type': 'ToolCallPart', 'payload': {'arguments_part': '{"command": "ls"}'}}}
    end = {'timestamp': 1760000003.5, 'message': {'type': 'TurnEnd', 'payload': {}}}
    path = write(tmp_path / 'sessions' / ('a' * 32) / 'u' / 'wire.jsonl', rows)
    source, state, coverage = Source(path, 'main', '', 'u', 0, 0), {}, Coverage(path)
    first = [e for e in flat(source, coverage, state) if e.kind == ev.TOOL_CALL]
    assert [(e.label, e.text) for e in first] == [('Shell', '')]
    write(path, rows + [part])
    state, begun = json.loads(json.dumps(state)), coverage
    coverage = Coverage(path, begun.offset, begun.line)
    second = [e for found in kimi.read(source, coverage, begun.offset, begun.line, state) for e in found]
    assert [(e.id, e.text) for e in second] == [(first[0].id, '')]
    write(path, rows + [part, end])
    more = Coverage(path, coverage.offset, coverage.line)
    third = [e for found in kimi.read(source, more, coverage.offset, coverage.line, state) for e in found if e.kind == ev.TOOL_CALL]
    assert [(e.id, e.text, e.line) for e in third] == [(first[0].id, 'ls', 3)]


def test_results_failures_and_refusals():
    results = {e.data.call_id.split('@')[0] + e.chain: (e.label, e.text) for e in flat(main(CLI, FIRST)) if e.kind == ev.TOOL_RESULT}
    assert results['Shell:0'] == ('ok', 'granite\n')
    assert results['Shell:0Task:1'] == ('error', 'scale missing')
    assert results['WriteFile:2'][0] == 'declined'
    assert [(e.label, e.text) for e in flat(main(CLI, FORK)) if e.label == 'error'] == [
        ('error', 'scale missing'), ('error', 'no such gear\nCommand failed with exit code: 1.')]


def test_ids_of_calls_differ_where_a_fork_goes_on():
    fork = [e.id for e in flat(main(CLI, FORK)) if e.kind == ev.TOOL_CALL and not e.chain]
    origin = [e.id for e in flat(main(CLI, FIRST)) if e.kind == ev.TOOL_CALL and not e.chain]
    assert fork[:3] == origin[:3] and fork[3] != origin[3]


def test_a_turn_left_in_the_middle_was_interrupted():
    stops = [e for e in flat(main(CLI, FIRST)) if e.kind == ev.INTERRUPTION]
    # The turn before /init; the one that ended in an error was not stopped by anybody.
    assert [(e.turn, e.time) for e in stops] == [(2, 1760000011250)]


def test_repeated_status_rows_are_one_call():
    calls = [e for e in flat(main(CLI, FIRST)) if e.kind == ev.USAGE]
    assert len(calls) == 9 and len({e.id for e in calls}) == 8
    assert {e.chain for e in calls} == {'', 'Task:1'}


def test_a_subagent_with_its_own_file_is_told_once():
    assert {e.chain for e in flat(main(CLI, THIRD))} == {''}
    child = Source(os.path.join(CLI, THIRD, 'subagents', 'a1b2c3d4e', 'wire.jsonl'), 'agent', 'a1b2c3d4e', THIRD, 0, 0)
    found = flat(child)
    assert said(found, ev.INJECTED, ev.PROMPT) == [('injected', 'task', 'measure the sluice')]
    assert {e.data.model for e in found if e.kind == ev.USAGE} == {'kimi-small'}
    assert {e.chain for e in found} == {'a1b2c3d4e'}


def test_a_mirrored_subagent_has_the_ids_of_its_own_file(tmp_path):
    shutil.copytree(os.path.join(CLI, THIRD), str(tmp_path / 'sessions' / ('a' * 32) / THIRD))
    child = main(str(tmp_path / 'sessions' / ('a' * 32) / THIRD / 'subagents'), 'a1b2c3d4e', 'agent', 'a1b2c3d4e')
    own = {(e.kind, e.id) for e in flat(child) if e.kind in (ev.USAGE, ev.TOOL_CALL)}
    os.unlink(child.path)
    wire = main(str(tmp_path / 'sessions' / ('a' * 32)), THIRD)
    mirrored = [e for e in flat(wire) if e.chain]
    assert {(e.kind, e.id) for e in mirrored if e.kind in (ev.USAGE, ev.TOOL_CALL)} == own
    assert [e.id for e in mirrored if e.kind == ev.META and e.label == 'subagent'] == ['a1b2c3d4e']


@pytest.mark.parametrize('agent', ['..', '../x', 'a/b', '\ud800', 'a\0b', '', 'x' * 5000])
def test_an_agents_id_that_is_no_file_name(tmp_path, agent):
    row = {'timestamp': 1760000000.5, 'message': {'type': 'SubagentEvent', 'payload': {
        'agent_id': agent, 'parent_tool_call_id': 'c', 'event': {'type': 'ContentPart', 'payload': {'type': 'text', 'text': 'hello'}}}}}
    path = write(tmp_path / 'sessions' / ('a' * 32) / 'u' / 'wire.jsonl', [row])
    assert said(flat(Source(path, 'main', '', 'u', 0, 0)), ev.REPLY) == [('reply', '', 'hello')]


def test_compactions_and_the_summaries_they_left():
    found = flat(main(CLI, THIRD))
    assert [(e.label, e.data.pre_tokens) for e in found if e.kind == ev.COMPACTION] == [('manual', 2310), ('auto', 140)]
    recaps = [e for e in found if e.label == ev.RECAP]
    assert [e.text for e in recaps] == ['The sluice is three feet wide: first summary.', 'The water runs: second summary.']
    for one in recaps:
        assert one.text in [e.text for e in kimi.events_at(main(CLI, THIRD), one.offset, one.length) if e.part == one.part]
    assert ('injected', 'command_output', 'The context has been compacted.') in said(found, ev.INJECTED)
    assert ('injected', 'local_command', '/compact keep the widths') in said(found, ev.INJECTED)


def test_side_questions():
    found = said(flat(main(CLI, THIRD)), ev.PROMPT, ev.REPLY)
    assert ('prompt', 'slash', '/btw how deep is it?') in found and ('reply', '', 'Knee deep.') in found


def test_a_context_is_read_where_there_is_no_wire():
    found = flat(main(CLI, BARE, name='context.jsonl'))
    assert said(found, ev.PROMPT, ev.REPLY, ev.THINKING, ev.TOOL_CALL, ev.TOOL_RESULT) == [
        ('prompt', 'typed', 'dress the stone'), ('thinking', '', 'a bill is needed'), ('reply', '', 'Dressing it.'),
        ('tool_call', 'Shell', 'dress'), ('tool_result', 'error', '<system>ERROR: Command failed with exit code: 1.</system>\nblunt bill'),
        ('prompt', 'typed', 'dress the stone'), ('reply', '', 'Done.')]
    assert len({e.id for e in found if e.kind == ev.PROMPT}) == 2
    assert said(flat(Source(os.path.join(CLI, FLAT + '.jsonl'), 'main', '', FLAT, 0, 0)), ev.PROMPT) == [
        ('prompt', 'typed', 'oldest of all')]


def test_titles_and_directories():
    def facts(source):
        return {e.label: e.text for e in flat(source) if e.kind == ev.META and e.label in ('cwd', 'custom-title', 'ai-title', 'foreign')}
    assert facts(main(CLI, FIRST)) == {'cwd': '/home/dev/mill'}
    assert facts(main(CLI, FORK)) == {'cwd': '/home/dev/mill', 'custom-title': 'Fork: turn the millstone', 'foreign': ''}
    assert facts(main(CLI, THIRD)) == {'cwd': '/home/dev/mill', 'custom-title': 'Sluice 水闸'}
    assert facts(main(CLI, BARE, name='context.jsonl')) == {'cwd': '/home/dev/mill', 'custom-title': 'Stone dressing'}
    assert facts(code(RYE)) == {'cwd': '/home/dev/mill', 'custom-title': 'Rye 磨坊'}
    assert facts(code(OATS)) == {'cwd': '/home/dev/mill', 'foreign': ''}
    assert facts(code(OLDEST)) == {'cwd': '/home/dev/mill'}
    assert facts(code(IMPORTED)) == {'cwd': '/home/dev/mill', 'ai-title': 'grind it', 'foreign': FIRST}


def test_the_turn_of_a_row_is_found_backwards(tmp_path):
    path = write(tmp_path / 'wire.jsonl', [
        {'timestamp': 5.5, 'message': {'type': 'TurnBegin', 'payload': {'user_input': 'a'}}},
        {'timestamp': 6.5, 'message': {'type': 'SubagentEvent', 'payload': {'event': {'type': 'TurnBegin', 'payload': {}}}}},
        {'timestamp': 7.5, 'message': {'type': 'ContentPart', 'payload': {'type': 'text', 'text': '"TurnBegin" ' + 'x' * 700000}}}])
    assert turn_before(path, os.path.getsize(path)) == '5.5'
    assert turn_before(path, 0) == ''


# Kimi Code

def test_what_was_typed_in_kimi_code():
    found = flat(code(RYE))
    assert said(found, ev.PROMPT) == [
        ('prompt', 'typed', 'grind the rye'), ('prompt', 'queued', 'and the barley'), ('prompt', 'slash', '/mill wheat')]
    assert [(label, text) for _, label, text in said(found, ev.INJECTED)] == [
        ('reminder', '<system-reminder>\nToday is a day.\n</system-reminder>'),
        ('recap', 'Rye was ground; the pergola stone is worn.'), ('cron', 'cron text'), ('shell', '! ls sacks'),
        ('shell_output', 'sack1 sack2')]
    assert said(flat(code(RYE, 'agent-0')), ev.PROMPT, ev.INJECTED) == [('injected', 'task', 'count the sacks')]


def test_usage_counts_once_and_by_its_true_model():
    calls = {}
    for e in flat(code(RYE)):
        if e.kind == ev.USAGE:
            calls.setdefault(e.id, []).append(e.data)
    assert [len(found) for found in calls.values()] == [2, 1, 1, 1]
    assert {found[-1].model for found in calls.values()} == {'kimi-k3'}
    assert [found[0][1:6] for found in calls.values()] == [
        (100, 10, 1000, 0, 0), (110, 1, 1000, 0, 0), (111, 12, 1000, 7, 0), (300, 30, 0, 0, 0)]


def test_only_what_the_tool_did_wrong_is_an_error():
    found = [(e.label, e.text.split('\n')[0][:40]) for e in flat(code(RYE)) if e.kind == ev.TOOL_RESULT]
    assert found == [('error', 'Process exited with code 3'), ('declined', 'Tool "Bash" was not run because the user'),
                     ('ok', 'agent_id: agent-0'), ('ok', 'Tool output exceeded 50000 characters; t')]


def test_a_cancelled_turn_is_one_interruption_and_an_api_error_is_none():
    found = flat(code(RYE))
    assert len([e for e in found if e.kind == ev.INTERRUPTION]) == 1
    assert ('reply', 'api_error', '503 the mill is closed') in said(found, ev.REPLY)
    assert [e.label for e in found if e.kind == ev.COMPACTION] == ['manual']


def test_a_spilled_output_is_read_from_the_agents_own_folder(tmp_path):
    source = code(RYE)
    named = [e.data.spill for e in flat(source) if e.kind == ev.TOOL_RESULT and e.data.spill]
    assert named == ['/home/dev/.kimi-code/sessions/x/y/agents/main/tasks/bash-0001/output.log']
    path = kimi.spill_path(source, named[0])
    assert 'chalcedony' in kimi.spill_text(path) and kimi.spill_text(path, 5) == 'row 1'
    for wrong in ('', 'output.log', '/etc/passwd', '../output.log', 'tasks/../output.log', 'bash-0001/\0', 'bash-0001/other.log'):
        assert kimi.spill_path(source, wrong) == ''
    task = tmp_path / 'agents' / 'main' / 'tasks' / 'bash-2'
    task.mkdir(parents=True)
    os.symlink('/etc/hosts', str(task / 'output.log'))
    assert kimi.spill_path(source._replace(path=str(tmp_path / 'agents' / 'main' / 'wire.jsonl')), 'bash-2/output.log') == ''


def test_large_rows_are_not_decoded():
    from echolib.adapters.kimi_code_parse import CodeParser
    skip = CodeParser(Coverage(), code(RYE), {}, 'x').skip
    assert skip(b'{"type":"llm.tools_snapshot","tools":[{"name":"a"}],"time":1}\n')
    assert skip(b'{"message":{"message":{"role":"user"}},"type":"agent.message.appended","kind":"event"}\n')
    assert not skip(b'{"type":"llm.tools_snapshot","tools":[{"na\n')
    assert not skip(b'{"type":"llm.tools_snapshot","tools":[]}{"type":"turn.prompt"}\n')
    assert not skip(b'{"message":{"message":{"role":"user"}},"type":"something.else"}\n')


def test_the_records_of_2_1_0_that_repeat_are_left_out(tmp_path):
    rows = [{'type': 'metadata', 'protocol_version': '1.5', 'created_at': 1},
            {'type': 'turn.prompt', 'input': [{'type': 'text', 'text': 'x'}], 'origin': {'kind': 'user'}, 'promptId': 'm', 'time': 1760000000000},
            {'type': 'context.append_message', 'message': {'role': 'user', 'content': [{'type': 'text', 'text': 'x'}], 'id': 'm',
             'origin': {'kind': 'user'}}, 'time': 1760000000001},
            {'message': {'message': {'role': 'assistant', 'content': [{'type': 'text', 'text': 'y'}]}}, 'type': 'agent.message.appended', 'kind': 'event'},
            {'turnId': 0, 'type': 'agent.turn.started', 'kind': 'event'}]
    path = write(tmp_path / 'agents' / 'main' / 'wire.jsonl', rows)
    coverage = Coverage(path)
    found = flat(Source(path, 'main', '', 's', 0, 0), coverage)
    assert said(found, *(set(ev.KINDS) - {ev.META})) == [('prompt', 'typed', 'x')]
    assert (coverage.lines, coverage.unknown_records) == (5, 0)


# both

def test_helpers():
    assert content_text(['a', {'type': 'text', 'text': 'b'}, {'type': 'image'}, 5, {'type': 'think', 'think': 'c'}]) == 'a\nb\n[image]'
    assert content_text({'type': 'text', 'text': 'b'}) == 'b' and content_text(None) == ''
    assert tool_input('{"a": ["b", {"c": 3}], "n": 4}') == ({'a': ['b', {'c': 3}], 'n': 4}, 'b\n4')
    assert tool_input('5') == ('5', '5') and tool_input(None) == (None, '')
    deep = '[' * 3000 + ']' * 3000
    assert tool_input(deep)[1] in ('', deep)


def test_totals_worked_out_by_hand(home):
    lay(home)
    home.build()
    state = home.state()
    assert set(state['sessions']) == set(EXPECTED['sessions'])
    total = {}
    for sid, want in EXPECTED['sessions'].items():
        row = state['sessions'][sid]
        got = analysis.shared_keys(row['tally'])
        got.update(unknown_records=row['unknown_records'], models={k: v['api_calls'] for k, v in analysis.models_of(row['tally']).items()})
        assert {k: got[k] for k in want if k != 'sums'} == {k: v for k, v in want.items() if k != 'sums'}, sid
        assert row['parse_errors'] == 0 and row['project'] == '/home/dev/mill'
        analysis.add_tally(total, row['tally'])
    got, want = analysis.shared_keys(total), EXPECTED['total']
    assert {k: got[k] for k in want if k != 'sums'} == {k: v for k, v in want.items() if k != 'sums'}


def test_what_copies_hold_is_theirs_once_the_origin_is_gone(home):
    lay(home)
    home.build()
    for gone in (('.kimi', CLI, FIRST), ('.kimi-code', CODE, RYE)):
        shutil.rmtree(os.path.join(home.folder, gone[0], 'sessions', os.path.basename(gone[1]), gone[2]))
    home.build()
    state = home.state()
    # The fork holds the first turn: one prompt, three calls and the subagent's two; its own turn adds one of each.
    fork = analysis.shared_keys(state['sessions'][FORK]['tally'])
    assert (fork['user_prompts'], fork['api_calls'], fork['tool_calls'], fork['subagents']) == (2, 6, 5, 1)
    oats = analysis.shared_keys(state['sessions'][OATS]['tally'])
    # All of the origin's main file, not its subagent: 4 calls, 4 tool calls, 2 prompts, and one of each.
    assert (oats['user_prompts'], oats['api_calls'], oats['tool_calls'], oats['interruptions']) == (3, 5, 5, 1)
    # The import has the second turn of the origin to itself, of the first one the fork is older.
    imported = analysis.shared_keys(state['sessions'][IMPORTED]['tally'])
    assert (imported['user_prompts'], imported['tool_calls']) == (2, 2)
    again = rebuilt(home)
    # Without its origin an import cannot tell that the fork holds its first turn too.
    assert analysis.shared_keys(again['sessions'][IMPORTED]['tally'])['user_prompts'] == 3


def test_a_new_title_is_seen_without_new_rows(home):
    lay(home)
    home.build()
    state = os.path.join(home.folder, '.kimi-code', 'sessions', os.path.basename(CODE), RYE, 'state.json')
    with open(state, encoding='utf-8') as lines:
        about = json.load(lines)
    about['title'] = 'Another title altogether'
    with open(state, 'w', encoding='utf-8') as out:
        json.dump(about, out)
    home.build()
    grown = home.state()
    assert grown['sessions'][RYE]['title'] == 'Another title altogether'
    assert grown == rebuilt(home)


@pytest.mark.parametrize('broken', [b'', b'{', b'[]', b'{"title": 5, "agents": 3, "custom": [], "custom_title": {}}', b'\xff\xfe'])
def test_broken_side_files_leave_their_facts_out(home, broken):
    lay(home)
    for where, _, names in os.walk(home.folder):
        for name in names:
            if name in ('state.json', 'metadata.json', 'meta.json', 'kimi.json', 'config.toml', 'session_index.jsonl'):
                with open(os.path.join(where, name), 'wb') as out:
                    out.write(broken)
    result = home.build()
    assert not result.errors and len(home.state()['sessions']) == len(EXPECTED['sessions'])


def documents(source):
    """Return the events of a file that are searched."""
    return [e for e in flat(source) if e.text and e.part >= 0]


@pytest.mark.parametrize('root', ['.kimi', '.kimi-code'])
def test_every_document_is_found_again_at_its_place(root):
    for session in kimi.discover(os.path.join(FIXTURE, root), []):
        for source in session.sources:
            for event in documents(source):
                again = [e for e in kimi.events_at(source, event.offset, event.length) if e.part == event.part and e.text]
                assert [(e.text, e.time, e.data) for e in again[:1]] == [(event.text, event.time, event.data)]
                if event.kind in (ev.TOOL_CALL, ev.TOOL_RESULT) and session.id != IMPORTED:
                    assert again[0].id == event.id


def grow(home, source, rounds):
    """Lay a home's transcripts row by row, the rest at once; build after each round."""
    files = {}
    for where, _, names in os.walk(source):
        for name in names:
            path = os.path.join(where, name)
            target = os.path.join(home.folder, os.path.relpath(path, source))
            if not os.path.isdir(os.path.dirname(target)):
                os.makedirs(os.path.dirname(target))
            with open(path, 'rb') as handle:
                data = handle.read()
            if name == 'wire.jsonl':
                files[target] = data.splitlines(True)
            else:
                with open(target, 'wb') as out:
                    out.write(data)
    done = dict.fromkeys(files, 0)
    for step in range(1, rounds + 1):
        for number, path in enumerate(sorted(files)):
            rows = files[path]
            end = len(rows) if step == rounds else min(len(rows), len(rows) * step // rounds + number % 3)
            if end > done[path]:
                with open(path, 'ab') as out:
                    out.write(b''.join(rows[done[path]:end]))
                done[path] = end
        home.build()


@pytest.mark.slow
@pytest.mark.parametrize('rounds', [2, 5, 24])
def test_files_that_grow_give_what_a_rebuild_gives(home, rounds):
    grow(home, FIXTURE, rounds)
    grown = home.state()
    assert grown == rebuilt(home)


ODD = [None, True, 0, -1, 1.5, 10 ** 30, '', 'x', '\ud800', [], {}, [1], ['a', {}], {'type': []}, {'text': 5}, [[[]]], {'kind': {}}]


def places(value, path=()):
    """Yield the path of every value inside a JSON value."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield path + (key,)
        for inner in places(value[key], path + (key,)):
            yield inner


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(6))
def test_no_content_stops_the_reading(tmp_path, seed):
    chance = random.Random(seed)
    for root in ('.kimi', '.kimi-code'):
        for session in kimi.discover(os.path.join(FIXTURE, root), []):
            for source in session.sources:
                target = os.path.join(str(tmp_path), os.path.relpath(source.path, FIXTURE))
                rows = []
                with open(source.path, encoding='utf-8') as lines:
                    for line in lines:
                        row = json.loads(line)
                        for _ in range(3):
                            path = chance.choice(list(places(row)))
                            inside = row
                            for key in path[:-1]:
                                inside = inside[key]
                            inside[path[-1]] = copy.deepcopy(chance.choice(ODD))
                        rows.append(row)
                write(target, rows)
                coverage, state = Coverage(target), {}
                fold = analysis.FileAnalysis()
                for found in kimi.read(source._replace(path=target), coverage, state=state):
                    for event in found:
                        fold.add(event)
                assert coverage.lines == len(rows)
                json.dumps([state, fold.profile])


def test_damaged_rows_are_counted_and_passed_over(tmp_path):
    with open(os.path.join(CLI, FIRST, 'wire.jsonl'), 'rb') as handle:
        rows = handle.read().splitlines(True)
    path = str(tmp_path / 'wire.jsonl')
    with open(path, 'wb') as out:
        out.write(b''.join(rows[:3]) + b'\0' * 40 + b'\n' + rows[4][:30] + b'\n' + b'\n' + b'[]\n' + b''.join(rows[4:]) + rows[5][:50])
    coverage = Coverage(path)
    found = flat(Source(path, 'main', '', 'x', 0, 0), coverage)
    assert coverage.parse_errors == 3 and coverage.unfinished == 50
    assert len(said(found, ev.PROMPT)) == 5


# real sessions

def corpus(name):
    """Return (home folder, expected.json) of a corpus."""
    with open(shared('corpus', name, 'expected.json'), encoding='utf-8') as lines:
        return shared('corpus', name, 'home', 'dev'), json.load(lines)


def tokens(*shares):
    """Return [calls, input, output, read] of shares as sent: their input holds the cached part."""
    found = [(s or {}).get('tokens') or {} for s in shares]
    return [sum(t.get('calls', 0) for t in found), sum(t.get('input_total', 0) - t.get('cached', 0) for t in found),
            sum(t.get('output', 0) for t in found), sum(t.get('cached', 0) for t in found)]


# The compaction's own call is in Kimi Code's ledger; Kimi CLI leaves no record of it.
@pytest.mark.parametrize('name, ledger', [('kimi-code-2.1.0', ('main', 'sub', 'side')), ('kimi-cli-1.49.0', ('main', 'sub'))])
def test_a_corpus_to_the_token(home, name, ledger):
    folder, expected = corpus(name)
    lay(home, folder)
    home.build()
    state = home.state()
    for scenario, want in expected.items():
        sid = want['session']
        if sid is None:
            continue
        got = analysis.shared_keys(state['sessions'][sid]['tally'])
        found = got['tokens']
        assert [got['api_calls'], found['input'], found['output'], found['cache_read']] == tokens(*[want.get(p) for p in ledger]), scenario
        assert got['subagents'] == (want['subagents'] or 0) and got['compactions'] == (want['compactions'] or 0), scenario
        wanted = {}
        for part in ('main', 'sub'):
            for tool, count in ((want.get(part) or {}).get('tools') or {}).items():
                wanted[tool] = wanted.get(tool, 0) + count
        assert {t: r['calls'] for t, r in analysis.tools_of(state['sessions'][sid]['tally']).items()} == wanted, scenario
        assert state['sessions'][sid]['unknown_records'] == state['sessions'][sid]['parse_errors'] == 0


def test_true_models_of_a_corpus(home):
    folder, expected = corpus('kimi-code-2.1.0')
    lay(home, folder)
    home.build()
    sid = expected['models']['session']
    found = analysis.models_of(home.state()['sessions'][sid]['tally'])
    assert {m: r['api_calls'] for m, r in found.items()} == {'kimi-k3': 1, 'kimi-small': 1}


@pytest.mark.slow
@pytest.mark.parametrize('name', ['kimi-code-2.1.0', 'kimi-cli-1.49.0'])
def test_a_corpus_grown_step_by_step_equals_a_rebuild(home, name):
    folder, _ = corpus(name)
    grow(home, folder, 12)
    grown = home.state()
    assert grown == rebuilt(home)


# What the reading of an unchanged main file depends on: how it comes or goes.
BESIDE = {'kimi.json': ('.kimi', 'kimi.json'), "a subagent's file": (os.path.relpath(CLI, FIXTURE), THIRD, 'subagents', 'a1b2c3d4e', 'wire.jsonl')}


@pytest.mark.parametrize('name', sorted(BESIDE))
def test_what_lies_beside_a_transcript_comes_and_goes(home, name):
    lay(home)
    path = os.path.join(home.folder, *BESIDE[name])
    with open(path, 'rb') as handle:
        raw = handle.read()
    home.build()
    whole = home.state()
    os.unlink(path)
    home.build()
    without = home.state()
    assert without['sessions'] != whole['sessions']
    with open(path, 'wb') as handle:
        handle.write(raw)
    home.build()
    assert home.state()['sessions'] == whole['sessions']
    os.unlink(path)
    home.build()
    assert home.state()['sessions'] == without['sessions'] == rebuilt(home)['sessions']


def test_a_context_of_no_real_size_is_unknown(home):
    """Numbers are whatever the file says; a column of ours holds 63 bits."""
    lay(home)
    for where, _, names in os.walk(home.folder):
        for name in names:
            if name == 'wire.jsonl':
                path = os.path.join(where, name)
                with open(path, encoding='utf-8') as handle:
                    text = handle.read()
                with open(path, 'w', encoding='utf-8') as handle:
                    handle.write(re.sub('"tokensBefore": ?[0-9]+', '"tokensBefore": %d' % (1 << 70), text))
    result = home.build()
    assert result.errors == [] and result.indexed
    assert any(session['tally'].get('compactions') for session in home.state()['sessions'].values())
