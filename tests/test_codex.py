"""Codex: discovery, rollouts of every era, tokens, forks and subagents, growth, packed files."""
import glob
import json
import os
import shutil

import pytest

from echolib import analysis
from echolib.adapters import Source, codex, registry
from echolib.adapters.codex_parse import Parser, is_noise_line
from echolib.adapters.codex_text import patched, result_of, typed_part
from echolib.base import zstd
from echolib.records import Coverage, Record
from helpers import FIXTURES, read, call_script, shared

HOME = os.path.join(FIXTURES, 'codex', 'home')
ROOT = os.path.join(HOME, '.codex')
MAIN = '0197c0de-0007-7a07-8a07-00000000c007'
PARENT, FORK = '0195c0de-0004-7a04-8a04-00000000c004', '0195c0de-0005-7a05-8a05-00000000c005'
ID = '01a22d45-4a9d-7f62-9fcf-9b93d40cfc60'
TURN = '01a22d45-4ab3-7e23-8e08-f06a08459ef8'
COUNTERS = ('user_prompts', 'api_calls', 'output_known_calls', 'tool_calls', 'tool_errors', 'declined', 'interruptions',
            'compactions', 'subagents')
with open(os.path.join(FIXTURES, 'codex', 'expected.json'), encoding='utf-8') as _file:
    EXPECTED = json.load(_file)


def rollout(thread):
    """Return the path of a fixture thread."""
    return [row[0] for row in codex.scan(ROOT, []) if row[5] == thread][0]


def corpus():
    """Return the paths of the real rollouts."""
    top = shared('corpus', 'codex-0.171.0', 'home', 'dev', '.codex', 'sessions')
    return sorted(glob.glob(os.path.join(top, '*', '*', '*', '*.jsonl')))


def fixtures():
    """Return the paths of all fixture rollouts."""
    return sorted(row[0] for row in codex.scan(ROOT, []))


def all_of(path, **how):
    """Return the events of a rollout and its Coverage."""
    source = codex.session_at(path).sources[0]
    coverage = Coverage(path)
    return [event for events in codex.read(source, coverage, **how) for event in events], coverage


def fold(paths):
    """Return {key: (Fact, path)} over files in order: the first one that has a fact owns it."""
    owned = {}
    for path in paths:
        one = analysis.FileAnalysis()
        for event in all_of(path)[0]:
            one.add(event)
        for key, fact in one.facts.items():
            owned.setdefault(key, (fact, path))
    return owned


def totals(facts):
    """Return the shared keys of facts."""
    tally = {}
    for fact in facts:
        analysis.apply(tally, fact, 1)
    return analysis.shared_keys(tally)


def parse(lines, state=None, role='main', chain=''):
    """Return [(kind, label, text)] of records given as dicts, without meta and usage, and the events."""
    parser = Parser(Coverage(''), Source('', role, chain, ID, 0, 0), {} if state is None else state)
    events = [e for n, data in enumerate(lines) for e in parser.events(Record(data, n + 1, n * 100, 100))]
    return [(e.kind, e.label, e.text) for e in events if e.kind not in ('meta', 'usage')], events


def line(kind_, second=0, **payload):
    return {'timestamp': '2026-03-01T10:00:%02d.000Z' % second, 'type': kind_, 'payload': payload}


def event(type_, **payload):
    return line('event_msg', type=type_, **payload)


def item(type_, **payload):
    return line('response_item', type=type_, **payload)


def user(*texts):
    return item('message', role='user', content=[{'type': 'input_text', 'text': text} for text in texts])


def said(text):
    return item('message', role='assistant', content=[{'type': 'output_text', 'text': text}])


def usage(entered, cached, output, written=0):
    return {'input_tokens': entered, 'cached_input_tokens': cached, 'cache_write_input_tokens': written,
            'output_tokens': output, 'reasoning_output_tokens': 0, 'total_tokens': entered + output}


def counted(total, last):
    return event('token_count', info={'total_token_usage': usage(*total), 'last_token_usage': usage(*last)})


def spent(lines):
    """Return [(model, input, output, cache_read, cache_write)] of the calls of some records, known or not."""
    facts = analysis.FileAnalysis()
    for one in parse(lines)[1]:
        facts.add(one)
    return sorted((f.name, f.input, f.output, f.cache_read, f.cache_write_5m) for f in facts.facts.values() if f.kind == analysis.CALL)


# where things lie

@pytest.mark.parametrize('environ, found', [
    ({}, ['~/.codex']),
    ({'CODEX_HOME': '/srv/cx'}, ['/srv/cx']),
    ({'CODEX_HOME': '/srv/cx, /srv/cy,/srv/cx'}, ['/srv/cx', '/srv/cy']),
])
def test_roots(environ, found):
    assert codex.roots(environ) == [os.path.abspath(os.path.expanduser(path)) for path in found]


def test_a_home_with_a_comma_in_its_name(tmpdir):
    folder = str(tmpdir.mkdir('a,b'))
    assert codex.roots({'CODEX_HOME': folder}) == [folder]


@pytest.mark.parametrize('name, thread', [
    ('rollout-2026-11-30T16-24-05-%s.jsonl' % ID, ID),
    ('rollout-2026-11-30T16-24-05-%s.jsonl.zst' % ID, ID),
    ('rollout-2025-04-20-%s.json' % ID, ID),
    ('rollout-2026-11-30T16-24-05-short.jsonl', '2026-11-30T16-24-05-short'),
    ('rollout-2026-11-30T16-24-05-%s.jsonl.tmp' % ID, ''),
    ('history.jsonl', ''),
])
def test_thread_of(name, thread):
    assert codex.thread_of(name) == thread


def test_owns(tmpdir):
    assert codex.owns('/h/.codex/sessions/2026/11/30/rollout-2026-11-30T16-24-05-%s.jsonl' % ID)
    assert codex.owns('/h/.codex/archived_sessions/rollout-2026-11-30T16-24-05-%s.jsonl.zst' % ID)
    assert not codex.owns('/h/.trae/cli/sessions/2026/11/30/rollout-2026-11-30T16-24-05-%s.jsonl' % ID)
    assert not codex.owns('/h/.codex/history.jsonl')
    kept, other = tmpdir.join('kept.jsonl'), tmpdir.join('other.jsonl')
    kept.write(json.dumps(line('session_meta', id=ID)) + '\n')
    other.write('{"type":"user","sessionId":"x"}\n')
    assert codex.owns(str(kept)) and not codex.owns(str(other))
    assert registry.detect(rollout(MAIN)) is codex


def place(tmpdir, *parts, **how):
    """Write an empty rollout below a home and return its path."""
    path = tmpdir.join(*parts)
    path.write('{}\n', ensure=True)
    os.utime(str(path), (how.get('at', 1000), how.get('at', 1000)))
    return str(path)


def test_scan_takes_a_thread_once(tmpdir):
    name = 'rollout-2026-11-30T16-24-05-%s.jsonl'
    ids = ['01a22d45-000%d-7f62-9fcf-9b93d40cfc60' % n for n in range(5)]
    day = ('sessions', '2026', '11', '30')
    live = place(tmpdir, *day + (name % ids[0],))
    place(tmpdir, 'archived_sessions', name % ids[0], at=9000)
    plain = place(tmpdir, *day + (name % ids[1],))
    place(tmpdir, *day + (name % ids[1] + '.zst',), at=9000)
    packed = place(tmpdir, *day + (name % ids[2] + '.zst',))
    filed = place(tmpdir, 'archived_sessions', name % ids[3])
    place(tmpdir, *day + (name % ids[4],))
    newer = place(tmpdir, 'sessions', '2026', '12', '01', name % ids[4], at=2000)
    place(tmpdir, *day + ('notes.jsonl',))
    problems = []
    rows = list(codex.scan(str(tmpdir), problems))
    assert sorted(row[0] for row in rows) == sorted([live, plain, packed, filed, newer])
    assert set(row[3:5] + row[6:] for row in rows) == {('main', '', '')} and problems == []
    assert all((row[1], row[2]) == (os.stat(row[0]).st_size, os.stat(row[0]).st_mtime_ns) for row in rows)


def test_a_missing_home_is_a_problem_not_an_empty_one(tmpdir):
    problems = []
    assert list(codex.scan(str(tmpdir.join('no')), problems)) == []
    assert [path for path, _ in problems] == [str(tmpdir.join('no', 'sessions'))]


def test_trees():
    found = dict((s.id, [(f.role, f.chain) for f in s.sources]) for s in codex.discover(ROOT, []))
    assert found == {
        '0f0e0d0c-0001-4a01-8a01-00000000c001': [('main', '')],
        '0f0e0d0c-0002-4a02-8a02-00000000c002': [('main', '')],
        '0f0e0d0c-0003-7a03-8a03-00000000c003': [('main', '')],
        PARENT: [('main', ''), ('agent', '0195c0de-0006-7a06-8a06-00000000c006')],
        FORK: [('main', '')],
        # The one below names only its parent, a subagent itself: climbed to the top.
        MAIN: [('main', ''), ('agent', '01a22d45-0009-7a09-8a09-00000000c009'), ('agent', '01a22d45-0008-7a08-8a08-00000000c008')],
    }


@pytest.mark.parametrize('thread', [PARENT, FORK])
def test_session_at(thread):
    session = codex.session_at(rollout(thread))
    assert session.id == thread and session.root == ROOT
    assert [s.chain for s in session.sources] == ([''] if thread == FORK else ['', '0195c0de-0006-7a06-8a06-00000000c006'])


def test_a_subagent_whose_parent_is_gone_keeps_its_session(tmpdir):
    path = place(tmpdir, 'sessions', 'rollout-2026-11-30T16-24-05-%s.jsonl' % ID)
    with open(path, 'w', encoding='utf-8') as out:
        out.write(json.dumps(line('session_meta', id=ID, source={'subagent': {'thread_spawn': {'parent_thread_id': 'p1'}}})) + '\n')
    assert codex.head(path) == {'session': 'p1', 'role': 'agent', 'chain': ID}


def test_auth_json_is_never_opened(monkeypatch):
    import builtins
    opened, real = [], builtins.open

    def spy(path, *args, **more):
        opened.append(str(path))
        return real(path, *args, **more)
    monkeypatch.setattr(builtins, 'open', spy)
    for path in fixtures():
        all_of(path)
    assert opened and not [path for path in opened if 'auth' in path or 'history' in path]


# texts

TYPED = {
    'plain': ('fix it', (True, 'fix it')),
    'a tag in a prompt': ('<b>why</b> is this bold?', (True, '<b>why</b> is this bold?')),
    'instructions': ('# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>a</INSTRUCTIONS>', (False, 'meta')),
    'environment': ('<environment_context>\n</environment_context>', (False, 'meta')),
    'editor with a request': ('# Context from my IDE setup:\n## Open\n- a\n\n## My request for Codex:\n go on \n', (True, 'go on')),
    'editor without': ('# Context from my IDE setup:\n## Open\n- a\n', (False, 'reminder')),
    'plugins, then a prompt': ('<recommended_plugins>\na\n</recommended_plugins>\ngo', (True, 'go')),
    'plugins alone': ('<recommended_plugins>\na\n</recommended_plugins>', (False, 'meta')),
    'a new kind of block': ('<quota_notice until="x">\nb\n</quota_notice>', (False, 'meta')),
    'reviewer': ('The following is the Codex agent history whose', (False, 'task')),
    'shell': ('<user_shell_command>\n<command>\nls\n</command>\n</user_shell_command>', (False, 'shell')),
}


@pytest.mark.parametrize('name', sorted(TYPED))
def test_typed_part(name):
    text, expected = TYPED[name]
    assert typed_part(text) == expected


RESULTS = {
    'plain': ('done', ('done', 'ok')),
    'exit code of the shell': ('Exit code: 1\nWall time: 0 seconds\nOutput:\nx', (None, 'error')),
    'exit code 0, failing words': ('Exit code: 0\nOutput:\nerror: x\nExit code: 5', (None, 'ok')),
    'unified exec': ('Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 3\nOriginal token count: 1\nOutput:\nx', (None, 'error')),
    'still running': ('Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nProcess exited with code 1', (None, 'ok')),
    'packed, failed': ('{"output":"no","metadata":{"exit_code":2,"duration_seconds":0}}', ('no', 'error')),
    'packed, fine': ('{"output":"error: in a log","metadata":{"exit_code":0}}', ('error: in a log', 'ok')),
    'packed, cut': ('{"output":"no', ('{"output":"no', 'ok')),
    'flag': ({'content': 'x', 'success': False}, ('x', 'error')),
    'flag, fine': ({'content': 'x', 'success': True}, ('x', 'ok')),
    'parts': ([{'type': 'input_text', 'text': 'a'}, {'type': 'input_image', 'image_url': 'data:image/png;base64,iVBO'}], ('a\n[image]', 'ok')),
    'not offered': ('unsupported call: update_plan', (None, 'error')),
    'patch that does not fit': ('apply_patch verification failed: Failed to find expected lines', (None, 'error')),
    'refused': ('exec command rejected by user', (None, 'declined')),
    'stopped': ('Wall time: 9.7 seconds\naborted by user', (None, 'declined')),
    'script': ('Script failed\nWall time 0.1 seconds\nOutput:\n', (None, 'error')),
    'none': (None, ('', 'ok')),
}


@pytest.mark.parametrize('name', sorted(RESULTS))
def test_result_of(name):
    output, (text, label) = RESULTS[name]
    assert result_of(output) == (output if text is None else text, label)


def test_patched():
    text = '*** Begin Patch\n*** Add File: a b.md\n+x\n*** Update File: src/c.py\n*** Move to: src/d.py\n@@\n-1\n*** Delete File: e\n*** End Patch'
    expected = [('write', 'a b.md'), ('edit', 'src/c.py'), ('write', 'src/d.py'), ('edit', 'e')]
    assert patched(text) == expected
    assert codex.files_of('shell', {'command': ['apply_patch', text]}) == expected
    assert codex.files_of('shell', {'command': ['ls']}) == []


# records to events. name -> (records, [(kind, label, text)])
START = event('task_started', turn_id=TURN)
PROMPT = ('prompt', 'typed', 'go')
DONE_USER = event('item_completed', item={'type': 'UserMessage', 'content': [{'type': 'text', 'text': 'go'}]})
CALL = item('function_call', name='exec_command', arguments='{"cmd":"ls"}', call_id='call_0000000000000001')
CALLED = ('tool_call', 'exec_command', 'ls')


def output(text):
    return item('function_call_output', call_id='call_0000000000000001', output=text)


def command(text, code, **more):
    return event('item_completed', item=dict({'type': 'CommandExecution', 'id': 'call_0000000000000001', 'aggregated_output': text,
                                              'exit_code': code, 'status': 'failed' if code else 'completed'}, **more))


CASES = {
    'a prompt as item, then as event': ([START, user('go'), event('user_message', message='go')], [PROMPT]),
    'a prompt as event, then as item': ([START, event('user_message', message='go'), user('go')], [PROMPT]),
    'a prompt as item, then as completed item': ([START, user('go'), DONE_USER], [PROMPT]),
    'a prompt three times over': ([START, user('go'), event('user_message', message='go'), DONE_USER], [PROMPT]),
    'a prompt only as event': ([START, event('user_message', message='go')], [PROMPT]),
    'a prompt only as item': ([user('go')], [PROMPT]),
    'the same words in two turns': (
        [START, user('go'), event('user_message', message='go'), event('task_complete', turn_id=TURN),
         event('task_started', turn_id=TURN[:-1] + '9'), user('go'), event('user_message', message='go')], [PROMPT, PROMPT]),
    'the same words twice, no turn ids': ([user('go'), event('user_message', message='go'), user('go'), event('user_message', message='go')],
                                          [PROMPT, PROMPT]),
    'typed while it works': ([START, user('go'), user('and stop')], [PROMPT, ('prompt', 'queued', 'and stop')]),
    'an image': ([START, item('message', role='user', content=[
        {'type': 'input_text', 'text': '<image name=[Image #1]>'}, {'type': 'input_image', 'image_url': 'data:x'},
        {'type': 'input_text', 'text': '</image>'}, {'type': 'input_text', 'text': 'go'}]),
        event('user_message', message='go', images=['data:x'])], [('prompt', 'typed', 'go\n[image]')]),
    'a reply twice, spaced otherwise': ([said('a\n\nb'), event('agent_message', message='a b ')], [('reply', '', 'a\n\nb')]),
    'a reply twice for real': ([said('ok'), said('ok')], [('reply', '', 'ok'), ('reply', '', 'ok')]),
    'reasoning as event, then as item': (
        [event('agent_reasoning', text='hm'), item('reasoning', summary=[{'type': 'summary_text', 'text': 'hm'}])], [('thinking', '', 'hm')]),
    'reasoning that is encrypted': ([item('reasoning', summary=[], encrypted_content='gAAA')], []),
    'reasoning in its content': ([item('reasoning', summary=[], content=[{'type': 'reasoning_text', 'text': 'hm'}])], [('thinking', '', 'hm')]),
    'a plan': ([event('item_completed', item={'type': 'Plan', 'id': 'p', 'text': 'first'})], [('reply', '', 'first')]),
    'a command and its output': ([CALL, command('a\n', 0), output('Process exited with code 0\nOutput:\na\n')],
                                 [CALLED, ('tool_result', 'ok', 'a\n')]),
    'a command that failed, told by its end alone': ([CALL, command('', 4), output('Output:\n')], [CALLED, ('tool_result', 'error', 'Output:\n')]),
    'a command told by its output alone': ([CALL, output('Exit code: 2\nOutput:\na')], [CALLED, ('tool_result', 'error', 'Exit code: 2\nOutput:\na')]),
    'a command that was declined': ([CALL, command('exec command rejected by user', -1, status='declined'), output('exec command rejected by user')],
                                    [CALLED, ('tool_result', 'declined', 'exec command rejected by user')]),
    'output cut in the middle': ([CALL, command('a' * 900, 0), output('Process exited with code 0\nOutput:\nWarning: truncated output\na')],
                                 [CALLED, ('tool_result', 'ok', 'a' * 900),
                                  ('tool_result', 'ok', 'Process exited with code 0\nOutput:\nWarning: truncated output\na')]),
    'a command that ends after its turn': ([CALL, output('Process running with session ID 7\nOutput:\n'), command('late', 1)],
                                           [CALLED, ('tool_result', 'ok', 'Process running with session ID 7\nOutput:\n'), ('tool_result', 'ok', 'late')]),
    'a command of the person': ([command('x', 0, source='user_shell'), user(
        '<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nx\n</result>\n</user_shell_command>')],
        [('injected', 'shell', '! ls'), ('injected', 'shell_output', 'Exit code: 0\nx')]),
    'a patch that failed': ([item('custom_tool_call', name='apply_patch', input='*** x', call_id='call_0000000000000001'),
                             event('patch_apply_end', call_id='call_0000000000000001', success=False),
                             item('custom_tool_call_output', call_id='call_0000000000000001', output='?')],
                            [('tool_call', 'apply_patch', '*** x'), ('tool_result', 'error', '?')]),
    'broken arguments': ([item('function_call', name='shell', arguments='{"command": ["ls"', call_id='1')],
                         [('tool_call', 'shell', '{"command": ["ls"')]),
    'a search of the server': ([item('web_search_call', status='completed', action={'type': 'search', 'query': 'emu'}, id='ws_1')],
                               [('tool_call', 'web_search', 'search\nemu')]),
    'an old shell call': ([item('local_shell_call', call_id='call_0000000000000001', action={'type': 'exec', 'command': ['ls', '-l']})],
                          [('tool_call', 'local_shell', 'exec\nls\n-l')]),
    'an image of the model': ([item('image_generation_call', id='ig_1', result='iVBORw0KGgo')], [('tool_call', 'image_generation', '')]),
    'interrupted': ([START, user('go'), event('turn_aborted', turn_id=TURN, reason='interrupted'), user('<turn_aborted>x</turn_aborted>')],
                    [PROMPT, ('interruption', '', ''), ('injected', 'interruption', '<turn_aborted>x</turn_aborted>')]),
    'replaced': ([START, user('go'), event('turn_aborted', turn_id=TURN, reason='replaced')], [PROMPT]),
    'written again after it': ([user('go'), event('turn_aborted', reason='interrupted'), user('go'), user('more')],
                               [PROMPT, ('interruption', '', ''), ('injected', 'duplicate', 'go'), ('prompt', 'typed', 'more')]),
    'typed again after it': ([START, user('go'), event('turn_aborted', turn_id=TURN, reason='interrupted'),
                              event('task_started', turn_id=TURN[:-1] + '9'), user('go')], [PROMPT, ('interruption', '', ''), PROMPT]),
    'a compaction': ([line('compacted', message='so far', replacement_history=[{'type': 'message', 'role': 'user', 'content': []}]),
                      event('context_compacted')], [('compaction', '', ''), ('injected', 'recap', 'so far')]),
    'instructions of the client and of the person': ([item('message', role='developer', content=[
        {'type': 'input_text', 'text': '<permissions instructions>x</permissions instructions>'}, {'type': 'input_text', 'text': 'mind the gap'}])],
        [('injected', 'system', 'mind the gap')]),
    'a failed request': ([event('task_complete', error={'message': 'overloaded', 'codex_error_info': 'x'})], [('reply', 'api_error', 'overloaded')]),
    'unknown things': ([event('dreamt'), item('dream'), line('dream'), event('item_completed', item={'type': 'Dream'}), {'type': 'event_msg'}],
                       [('unknown', 'event_msg dreamt', ''), ('unknown', 'item dream', ''), ('unknown', 'record type dream', ''),
                        ('unknown', 'item_completed Dream', ''), ('unknown', 'record type event_msg', '')]),
}


@pytest.mark.parametrize('name', sorted(CASES))
def test_records(name):
    lines, expected = CASES[name]
    assert parse(lines)[0] == expected


def test_what_a_subagent_is_asked_is_no_prompt():
    lines = [line('session_meta', id=ID, source={'subagent': {'thread_spawn': {'parent_thread_id': 'p'}}}), START, user('go'),
             event('turn_aborted', turn_id=TURN, reason='interrupted')]
    assert parse(lines)[0] == [('injected', 'task', 'go')]
    assert set(e.chain for e in parse(lines)[1]) == {ID}
    lines[0] = line('session_meta', id=ID, source={'subagent': 'review'})
    assert parse(lines)[0] == [('injected', 'task', 'go'), ('interruption', '', '')]


def test_surroundings():
    lines = [line('session_meta', id=ID, cwd='/a', cli_version='0.1.0', originator='codex_exec', git={'branch': 'b'}, forked_from_id='f'),
             line('session_meta', id=ID, cwd='/a', cli_version='0.1.0', memory_mode='disabled'),
             line('turn_context', cwd='/a/b', approval_policy='never', model='m'), line('turn_context', cwd='/a/b', approval_policy='never')]
    assert [(e.label, e.text) for e in parse(lines)[1] if e.kind == 'meta'] == [
        ('foreign', 'f'), ('cwd', '/a'), ('branch', 'b'), ('version', '0.1.0'), ('entrypoint', 'codex_exec'), ('cwd', '/a/b'), ('mode', 'never')]


def test_calls_that_some_providers_number_belong_to_their_turn():
    def once(turn):
        found = parse([event('task_started', turn_id=turn), item('function_call', name='a', arguments='{}', call_id='call_1'),
                       item('function_call_output', call_id='call_1', output='x')])[1]
        return [e.id for e in found if e.kind == 'tool_call'], [e.data.call_id for e in found if e.kind == 'tool_result']
    one, two = once(TURN), once(TURN[:-1] + '9')
    assert one[0] == one[1] and two[0] == two[1] and one != two


# tokens. name -> (records, [(model, input, output, cache_read, cache_write)])
MODEL = line('turn_context', model='m')
TOKENS = {
    'parts are not added again': ([MODEL, user('go'), counted((1000, 800, 300), (1000, 800, 300))], [('m', 200, 300, 800, 0)]),
    'written into the cache': ([MODEL, counted((1000, 300, 10, 500), (1000, 300, 10, 500))], [('m', 200, 10, 300, 500)]),
    'written again': ([MODEL, counted((10, 0, 1), (10, 0, 1)), counted((10, 0, 1), (10, 0, 1)), said('a'), counted((10, 0, 1), (10, 0, 1))],
                      [('m', 10, 1, 0, 0)]),
    'two of one size': ([MODEL, counted((10, 0, 1), (10, 0, 1)), said('a'), user('b'), counted((20, 0, 2), (10, 0, 1)), said('c')],
                        [('m', 10, 1, 0, 0), ('m', 10, 1, 0, 0)]),
    'a total that restarts': ([MODEL, counted((90, 0, 9), (90, 0, 9)), counted((10, 0, 1), (10, 0, 1))], [('m', 10, 1, 0, 0), ('m', 90, 9, 0, 0)]),
    'an overflow': ([MODEL, counted((90, 0, 9), (90, 0, 9)), event('token_count', info={
        'total_token_usage': {'total_tokens': 272000}, 'last_token_usage': {'total_tokens': 271901}})], [('m', 90, 9, 0, 0)]),
    'limits only': ([MODEL, event('token_count', info=None)], []),
    'no model named': ([counted((4, 0, 4), (4, 0, 4))], [('', 4, 4, 0, 0)]),
    'the model before it': ([MODEL, counted((10, 0, 1), (10, 0, 1)), line('turn_context', model='n'), counted((15, 0, 2), (5, 0, 1))],
                            [('m', 10, 1, 0, 0), ('n', 5, 1, 0, 0)]),
    'without last': ([MODEL, event('token_count', info={'total_token_usage': usage(10, 0, 1)}),
                      event('token_count', info={'total_token_usage': usage(30, 5, 4)})], [('m', 10, 1, 0, 0), ('m', 15, 3, 5, 0)]),
    'a reply of which nothing is told': ([MODEL, user('go'), said('a')], [('m', 0, 0, 0, 0)]),
    'output before the counter': ([MODEL, user('go'), CALL, output('x'), counted((10, 0, 1), (10, 0, 1)), said('a'),
                                   counted((30, 0, 2), (20, 0, 1))], [('m', 10, 1, 0, 0), ('m', 20, 1, 0, 0)]),
    'records and counters': ([MODEL, said('a'), line('token_usage_record', response_id='r', usage=usage(10, 0, 1), thread_token_usage=usage(50, 0, 5)),
                              counted((50, 0, 5), (10, 0, 1))], [('m', 10, 1, 0, 0)]),
    'records alone, one twice': ([MODEL, line('token_usage_record', response_id='r', usage=usage(10, 0, 1)),
                                  line('token_usage_record', response_id='r', usage=usage(10, 0, 1)),
                                  line('token_usage_record', response_id='s', usage=usage(10, 0, 1))], [('m', 10, 1, 0, 0)] * 2),
    'counters, then records': ([MODEL, counted((10, 0, 1), (10, 0, 1)), user('b'), line(
        'token_usage_record', response_id='r', usage=usage(5, 0, 1), thread_token_usage=usage(15, 0, 2)), counted((15, 0, 2), (5, 0, 1))],
        [('m', 5, 1, 0, 0), ('m', 10, 1, 0, 0)]),
    'a record of another turn': ([START, MODEL, said('a'), line('token_usage_record', response_id='r', turn_id=TURN[:-1] + '9', usage=usage(10, 0, 1))],
                                 [('m', 0, 0, 0, 0), ('m', 10, 1, 0, 0)]),
}


@pytest.mark.parametrize('name', sorted(TOKENS))
def test_tokens(name):
    lines, expected = TOKENS[name]
    assert spent(lines) == expected


def test_context_before_a_compaction():
    lines = [MODEL, line('token_usage_record', response_id='r', usage=usage(100, 0, 10)),
             line('token_usage_record', response_id='s', usage=usage(95, 0, 5)), line('compacted', message='', compaction_response_id='s')]
    assert [e.data.pre_tokens for e in parse(lines)[1] if e.kind == 'compaction'] == [110]
    assert [e.data.pre_tokens for e in parse(lines[:3] + [line('compacted', message='')])[1] if e.kind == 'compaction'] == [100]


# whole files

@pytest.mark.parametrize('thread', sorted(EXPECTED))
def test_what_each_fixture_thread_adds(thread):
    # Oldest first, so the fork's copies belong to its parent, and a main thread's before a subagent's.
    sessions = list(codex.discover(ROOT, []))
    order = sorted((source.role != 'main', source.path) for session in sessions for source in session.sources)
    mine = set(s.path for session in sessions if session.id == thread for s in session.sources)
    found = totals(fact for fact, path in fold([path for _, path in order]).values() if path in mine)
    assert dict((k, found[k]) for k in COUNTERS + ('tokens',)) == dict((k, EXPECTED[thread][k]) for k in COUNTERS + ('tokens',))


def test_coverage():
    coverage = all_of(rollout(MAIN))[1]
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records) == (47, 1, 1)
    assert [d.line for d in coverage.damaged] == [16] and [d.line for d in coverage.drifts] == [17]


def test_names():
    titles = dict((thread, [e.text for e in all_of(rollout(thread))[0] if e.label == 'custom-title']) for thread in (PARENT, FORK, MAIN))
    assert titles == {PARENT: ['Ibis 圈舍'], FORK: [], MAIN: ['Quokka fence']}


def test_names_from_the_state_database(tmpdir):
    import sqlite3
    path = tmpdir.join('sessions', 'rollout-2026-11-30T16-24-05-%s.jsonl' % ID)
    path.write(json.dumps(line('session_meta', id=ID)) + '\n', ensure=True)
    for number, name in ((4, 'old'), (15, 'Named here')):
        db = sqlite3.connect(str(tmpdir.join('state_%d.sqlite' % number)))
        db.execute('create table threads (id text, name text, title text)')
        db.execute('insert into threads values (?,?,?)', (ID, name, 'first prompt'))
        db.commit()
        db.close()
    before = sorted(os.listdir(str(tmpdir)))
    assert [e.text for e in all_of(str(path))[0] if e.label == 'custom-title'] == ['Named here']
    assert sorted(os.listdir(str(tmpdir))) == before


def test_turns_taken_back():
    ends, left = codex.branches(rollout(PARENT))
    assert ends == 2
    gone = [e.text for e in all_of(rollout(PARENT))[0] if (e.id or '').split('/')[0] in left and e.kind in ('prompt', 'reply')]
    assert gone == ['paint it green', 'no, blue', 'Painted.']
    assert codex.branches(rollout(FORK)) == (1, set())


def test_inherited():
    # Its parent's header, the eleven rows of the copy, and the counter written once more.
    assert [codex.inherited(rollout(t), t) for t in (FORK, PARENT)] == [13, 0]


def key(found):
    return (found.kind, found.label, found.time, found.chain, found.turn, found.id, found.message, found.text, found.line,
            found.offset, found.part)


def grown(path, tmpdir, cut, lines):
    """Return the events of a rollout read to a line, then on from there as a build does it."""
    source = codex.session_at(path).sources[0]
    part = os.path.join(str(tmpdir), os.path.basename(path))
    with open(part, 'wb') as out:
        out.write(b''.join(lines[:cut]))
    coverage, state = Coverage(part), {}
    source = source._replace(path=part)
    found = [e for events in codex.read(source, coverage, 0, 0, state) for e in events]
    with open(part, 'ab') as out:
        out.write(b''.join(lines[cut:]))
    again = Coverage(part, coverage.offset, coverage.line)
    state = json.loads(json.dumps(state))
    found += [e for events in codex.read(source, again, coverage.offset, coverage.line, state) for e in events]
    return found, (coverage.lines + again.lines, coverage.parse_errors + again.parse_errors, coverage.unknown_records + again.unknown_records)


def check_growth(path, tmpdir, step):
    with open(path, 'rb') as handle:
        lines = handle.readlines()
    whole, counts = grown(path, tmpdir, len(lines), lines)
    assert whole
    for cut in range(1, len(lines), step):
        found, parts = grown(path, tmpdir, cut, lines)
        assert [key(e) for e in found] == [key(e) for e in whole] and parts == counts, cut


@pytest.mark.parametrize('path', [p for p in fixtures() if p.endswith('.jsonl')], ids=os.path.basename)
def test_a_rollout_cut_anywhere_and_grown(path, tmpdir):
    check_growth(path, tmpdir, 1)


@pytest.mark.slow
def test_real_rollouts_cut_and_grown(tmpdir):
    for path in corpus():
        check_growth(path, tmpdir, 5)


def test_a_single_json_session_that_grew(tmpdir):
    path = rollout('0f0e0d0c-0001-4a01-8a01-00000000c001')
    with open(path, encoding='utf-8') as handle:
        value = json.load(handle)
    source = codex.session_at(path).sources[0]
    whole = [key(e) for events in codex.read(source, Coverage(path)) for e in events]
    part = str(tmpdir.join(os.path.basename(path)))
    source, coverage, state = source._replace(path=part), Coverage(part), {}
    found = []
    for size in (2, 6):
        with open(part, 'w', encoding='utf-8') as out:
            json.dump(dict(value, items=value['items'][:size]), out)
        found += [key(e) for events in codex.read(source, coverage, coverage.offset, coverage.line, state) for e in events]
    assert found == whole


def check_reread(path):
    source = codex.session_at(path).sources[0]
    count = 0
    for events in codex.read(source, Coverage(path)):
        for one in events:
            if one.text and one.kind != 'unknown':
                again = [e for e in codex.events_at(source, one.offset, one.length) if e.part == one.part and e.text]
                assert [(e.kind, e.text) for e in again[:1]] in ([(one.kind, one.text)], [('prompt', one.text)]) or one.kind == 'meta', one
                count += 1
    assert count


@pytest.mark.parametrize('path', fixtures(), ids=os.path.basename)
def test_a_document_is_found_again(path):
    check_reread(path)


def test_real_documents_are_found_again():
    for path in corpus():
        check_reread(path)


def test_noise_lines_hold_no_events():
    for path in corpus() + [p for p in fixtures() if p.endswith('.jsonl')]:
        source = codex.session_at(path).sources[0]
        coverage = Coverage(path)
        parser = Parser(coverage, source, {})
        skipped = 0
        with open(path, 'rb') as handle:
            noise = [is_noise_line(raw) for raw in handle]
        for record in codex.records(path, coverage):
            events = parser.events(record)
            if noise[record.line - 1]:
                skipped += 1
                assert events == [], record
        assert skipped or 'T12-00-00' in path or len(noise) < 25


@pytest.mark.parametrize('raw, noise', [
    (b'{"timestamp":"t","type":"world_state","payload":{"full":true}}\n', True),
    (b'{"timestamp":"t","ordinal":3,"type":"response_item","payload":{"type":"ghost_snapshot"}}\n', True),
    (b'{"timestamp":"t","type":"response_item","payload":{"type":"ghost_snapshot"}}', False),
    (b'{"timestamp":"t","type":"response_item","payload":{"type":"ghost_snapshot","a":"x\n', False),
    (b'{"timestamp":"t","type":"world_state","payload":{"fu{"timestamp":"t","type":"event_msg","payload":{}}\n', False),
    (b'{"timestamp":"t","type":"response_item","payload":{"type":"message"}}\n', False),
    (b'{"record_type":"state"}\n', True),
])
def test_is_noise_line(raw, noise):
    assert is_noise_line(raw) is noise


def test_real_tokens():
    with open(shared('corpus', 'codex-0.171.0', 'expected.json'), encoding='utf-8') as handle:
        expected = json.load(handle)
    sessions = dict((codex.session_at(path).id, codex.session_at(path)) for path in corpus() if codex.head(path)['role'] == 'main')
    checked = 0
    for name, row in expected.items():
        if row['session'] not in sessions:
            continue
        found = totals(fact for fact, _ in fold([s.path for s in sessions[row['session']].sources]).values())
        want = [dict(row.get(part, {}).get('tokens') or {}) for part in ('main', 'sub')]
        total = [sum(w.get(k, 0) for w in want) for k in ('calls', 'input_total', 'cached', 'output')]
        tokens = found['tokens']
        assert [found['api_calls'], tokens['input'] + tokens['cache_read'], tokens['cache_read'], tokens['output']] == total, name
        assert found['subagents'] == (row['subagents'] or 0), name
        checked += 1
    assert checked == 11


def test_garbage_never_raises(tmpdir):
    import random
    rows, dice = [], random.Random(7)
    for path in fixtures():
        if path.endswith('.jsonl'):
            with open(path, 'rb') as handle:
                rows += [json.loads(raw.decode('utf-8')) for raw in handle if raw.endswith(b'}\n')]
    odd = [None, True, 0, -1, 1.5, '', [], {}, [None], [{}], {'type': 'text'}, 10 ** 30, 'a\ud800b', {'a': [1]}, ['text']]

    def spoil(value):
        if dice.random() < 0.08:
            return dice.choice(odd)
        if isinstance(value, dict):
            return dict((k, spoil(v)) for k, v in value.items() if dice.random() > 0.03)
        return [spoil(v) for v in value] if isinstance(value, list) else value
    for _ in range(30):
        path = tmpdir.join('rollout-2026-11-30T16-24-05-%s.jsonl' % ID)
        lines = [json.dumps(spoil(dice.choice(rows))) for _ in range(40)]
        path.write('\n'.join(lines) + '\n')
        found, coverage = all_of(str(path))
        assert coverage.lines == 40
        facts = analysis.FileAnalysis()
        for one in found:
            facts.add(one)
        json.dumps(facts.profile)


# packed files

def packed(data):
    """Return bytes as one zstd frame that holds them as they are (raw blocks)."""
    head = zstd.MAGIC + b'\xa0' + len(data).to_bytes(4, 'little')
    blocks = [data[at:at + 65536] for at in range(0, len(data), 65536)] or [b'']
    return head + b''.join(((len(b) << 3) | (n == len(blocks) - 1)).to_bytes(3, 'little') + b for n, b in enumerate(blocks))


def test_a_packed_rollout_reads_as_the_plain_one(tmpdir):
    path = corpus()[1]
    with open(path, 'rb') as handle:
        data = handle.read()
    other = str(tmpdir.mkdir('sessions').join(os.path.basename(path) + '.zst'))
    with open(other, 'wb') as out:
        out.write(packed(data))
    plain, coverage = all_of(path)
    found, again = all_of(other)
    assert [key(e) for e in found] == [key(e) for e in plain]
    assert (again.lines, again.offset) == (coverage.lines, coverage.offset) == (60, len(data))
    check_reread(other)


def test_a_packed_rollout_cut_short(tmpdir):
    data = b''.join(json.dumps(line('session_meta', id=ID, cwd='/a')).encode() + b'\n' for _ in range(900))
    path = str(tmpdir.join('rollout-2026-11-30T16-24-05-%s.jsonl.zst' % ID))
    with open(path, 'wb') as out:
        out.write(packed(data)[:-2000])
    found, coverage = all_of(path)
    assert coverage.parse_errors and 'zstd' in coverage.damaged[-1].reason
    with open(path, 'wb') as out:
        out.write(b'no frame at all')
    with pytest.raises(OSError):
        all_of(path)


# through the commands

@pytest.fixture
def home(tmp_path):
    shutil.copytree(HOME, str(tmp_path / 'home'))
    return str(tmp_path / 'home')


def test_totals_through_the_index(home):
    found = call_script('sd-recall', 'stats', '--agent', 'codex', '--format', 'json', home=home).json()
    want = list(EXPECTED.values())
    assert dict((k, found[k]) for k in COUNTERS) == dict((k, sum(row[k] for row in want)) for k in COUNTERS)
    assert found['tokens'] == dict((b, sum(row['tokens'][b] for row in want)) for b in analysis.BUCKETS)
    assert (found['parse_errors'], found['unknown_records']) == (1, 1)


def test_search_and_show(home):
    def hits(*words):
        return call_script('sd-recall', 'search', *words + ('--limit', '0', '--format', 'json'), home=home).json()['hits']
    assert [h['session_id'] for h in hits('heron')][:1] == ['0f0e0d0c-0003-7a03-8a03-00000000c003']
    # The fork's copy of the first prompt is no third one.
    assert sorted(h['session_id'] for h in hits('"list the ibis pens"')) == [PARENT, FORK]
    assert [h['role'] for h in hits('圈舍')] == ['title']
    assert hits('secret') == [] and hits('zebra') == []
    assert len(hits('numbat')) == 1
    text = call_script('sd-recall', 'show', MAIN, '--tools', home=home).out
    assert 'is this right?' in text and 'secret' not in text
    assert call_script('sd-recall', 'resume', FORK, home=home).out.strip().endswith('codex resume ' + FORK)


@pytest.mark.skipif('PLACED_BY_HEAD' not in read('echolib/index/build.py'), reason='the index does not ask head() about main files')
def test_sessions_through_the_index(home):
    rows = call_script('sd-recall', 'sessions', '--limit', '0', '--format', 'json', home=home).json()['sessions']
    assert sorted(row['session_id'] for row in rows) == sorted(EXPECTED)
    for thread, want in EXPECTED.items():
        found = call_script('sd-recall', 'session-stats', thread, '--format', 'json', home=home).json()
        # Where no build wrote tokens they are unknown, not none.
        tokens = want['tokens'] if want['output_known_calls'] else dict.fromkeys(want['tokens'])
        assert dict((k, found[k]) for k in COUNTERS + ('tokens',)) == dict(((k, want[k]) for k in COUNTERS), tokens=tokens), thread


def test_a_thread_that_is_renamed_after_its_end(home):
    titles = []
    for name in ('first name', 'second name', '', None):
        with open(os.path.join(home, '.codex', 'session_index.jsonl'), 'a', encoding='utf-8') as out:
            out.write(json.dumps({'id': MAIN, 'thread_name': name or ''}) + '\n')
        if name is None:
            os.unlink(out.name)
        rows = call_script('sd-recall', 'sessions', '--format', 'json', '--limit', '0', home=home).json()['sessions']
        titles += [row['summary'] for row in rows if row['session_id'] == MAIN]
    # What its own records call it.
    assert titles == ['first name', 'second name', 'Quokka fence', 'Quokka fence']


# turns with ids that say nothing outside their thread

def _counted(second, total, last):
    counters = lambda n: {'input_tokens': n, 'cached_input_tokens': 0, 'output_tokens': n // 10, 'reasoning_output_tokens': 0, 'total_tokens': n + n // 10}
    return line('event_msg', second, type='token_count', info={'total_token_usage': counters(total), 'last_token_usage': counters(last)})


def _turn(name, second, words, total, last):
    return [line('turn_context', second, turn_id=name, cwd='/a', model='gpt-5.2-codex'),
            line('event_msg', second, type='user_message', message=words, images=[]), _counted(second + 1, total, last)]


@pytest.mark.parametrize('how', ['forked', 'spawned'])
@pytest.mark.parametrize('times', ['kept', 'anew'])
def test_copied_turns_with_short_ids_are_the_threads_they_come_from(tmp_path, how, times):
    """A fork of a fork, whose copies keep their times or are written over several seconds."""
    folder = tmp_path / '.codex' / 'sessions' / '2026' / '03' / '01'
    folder.mkdir(parents=True)
    threads = ['0195c0de-000%d-7a04-8a04-00000000c00%d' % (n, n) for n in range(3)]
    history, total = [], 0
    for n, thread in enumerate(threads):
        meta = dict(id=thread, cwd='/a', cli_version='0.90.0', originator='codex_cli_rs', source='cli')
        if n and how == 'forked':
            meta['forked_from_id'] = threads[n - 1]
        elif n:
            meta['source'] = {'subagent': {'thread_spawn': {'parent_thread_id': threads[n - 1], 'depth': n}}}
        total += 100 * (n + 1)
        own = _turn('t%d' % (n + 1), 30 + 10 * n, 'task %d' % n, total, 100 * (n + 1))
        copies = [dict(one, timestamp='2026-03-01T10:00:%02d.000Z' % (20 + 10 * n + at)) if times == 'anew' else one for at, one in enumerate(history)]
        with open(str(folder / ('rollout-2026-03-01T10-0%d-00-%s.jsonl' % (n, thread))), 'w', encoding='utf-8') as out:
            out.writelines(json.dumps(one) + '\n' for one in [line('session_meta', 20 + 10 * n, **meta)] + copies + own)
        history += own
    got = call_script('sd-recall', 'stats', '--format', 'json', home=tmp_path).json()
    assert (got['api_calls'], got['tokens']['input'], got['tokens']['output']) == (3, 600, 60)
    assert got['user_prompts'] == (3 if how == 'forked' else 1)
