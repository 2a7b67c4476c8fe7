"""Records of Claude Code to events: every record type and client generation, against the format notes and real files."""
import json
import os
import random

import pytest

import make
from echolib import analysis
from echolib.adapters import Source, claude
from echolib.adapters.claude_parse import Parser, input_text, is_noise_line, parse_usage, result_text
from echolib.base.clock import parse_time
from echolib.base.fold import fold
from echolib.events import Compaction, ToolResult
from echolib.records import Coverage, Record, parse_line, read_records
from helpers import shared

AGENT = 'a1b2c3d'
LONG = 'msg_01AAAAAAAAAAAAAAAAAAAAAA'


def parse(records, role='main', state=None, coverage=None):
    """Return all events of records that follow each other in one file."""
    parser = Parser(Coverage() if coverage is None else coverage, role, '' if role == 'main' else AGENT, make.ID,
                    {} if state is None else state)
    found, offset = [], 0
    for number, record in enumerate(records, 1):
        size = len(make.line(record))
        found += parser.events(Record(record, number, offset, size))
        offset += size
    return found


def brief(events):
    """Return what tells events apart, without those on directory, branch and version of the rows."""
    return [(event.kind, event.label, event.text) for event in events if event.part >= 0]


def source_of(path, role='main', chain='', session=make.ID):
    return Source(str(path), role, chain, session, os.path.getsize(str(path)), 0)


def read_file(path, role='main', chain='', session=make.ID, coverage=None, **how):
    """Return the events of a file as claude.read gives them, in one list."""
    coverage = Coverage(str(path)) if coverage is None else coverage
    return [event for events in claude.read(source_of(path, role, chain, session), coverage, **how) for event in events]


# Rows outside the chain: name -> (record, events)
TITLE_ROWS = {
    'summary': (make.meta('summary', summary='Cart fixed', leafUuid='u9'), [('meta', 'summary', 'Cart fixed')]),
    'custom title': (make.meta('custom-title', customTitle='My cart'), [('meta', 'custom-title', 'My cart')]),
    'custom title cleared': (make.meta('custom-title', customTitle=''), [('meta', 'custom-title', '')]),
    'ai title': (make.meta('ai-title', aiTitle='Fix cart'), [('meta', 'ai-title', 'Fix cart')]),
    'agent name': (make.meta('agent-name', agentName='cart'), [('meta', 'agent-name', 'cart')]),
    'agent name taken away': (make.meta('agent-name', agentName=None), []),
    'permission mode': (make.meta('permission-mode', permissionMode='plan'), [('meta', 'mode', 'plan')]),
    'mode': (make.meta('mode', mode='normal'), []),
    'pull request': (make.meta('pr-link', prNumber=3, prUrl='https://x/3', timestamp=make.stamp(0)),
                     [('meta', 'pr', 'https://x/3')]),
    'relocated': (make.meta('relocated', relocatedCwd='/home/dev/new'), [('meta', 'cwd', '/home/dev/new')]),
    # The prompt stands in a row of its own later: its text must not be found twice.
    'enqueue': (make.meta('queue-operation', operation='enqueue', content='also lint', timestamp=make.stamp(0)),
                [('meta', 'queue', '')]),
    'dequeue': (make.meta('queue-operation', operation='dequeue', timestamp=make.stamp(0)), [('meta', 'queue', '')]),
}


@pytest.mark.parametrize('name', sorted(TITLE_ROWS))
def test_rows_outside_the_chain(name):
    record, expected = TITLE_ROWS[name]
    coverage = Coverage()
    assert brief(parse([record], coverage=coverage)) == expected
    assert coverage.unknown_records == 0


def test_summary_names_its_leaf():
    (event,) = parse([make.meta('summary', summary='Cart fixed', leafUuid='u9')])
    assert event.data == 'u9'


def test_titles_that_are_written_again_are_no_news():
    one, two = make.meta('ai-title', aiTitle='A'), make.meta('ai-title', aiTitle='B')
    custom = make.meta('custom-title', customTitle='A')
    state = {}
    assert [event.text for event in parse([one, one, custom, two, one, one, custom], state=state)] == ['A', 'A', 'B', 'A']
    assert parse([one, custom], state=state) == []
    # The same words about another session's end are another title.
    leaves = [make.meta('summary', summary='S', leafUuid=leaf) for leaf in ('u1', 'u1', 'u2')]
    assert [event.data for event in parse(leaves)] == ['u1', 'u2']


# Types of rows that hold no conversation, of all builds.
BOOKKEEPING = '''
    tag last-prompt agent-color agent-setting mode repl-mode session-owner isolation-latch dev-mods memory-mode atis-latch
    hybrid-organization worktree-state bridge-session frame-link file-history-snapshot file-history-delta
    attribution-snapshot content-replacement cost-state tools-used continued-in derived-from fork-context-ref observer-ref
    host-row history-suppression ended-by-model resume-head-vouch artifact-comment-monitor artifact-autoreact-ledger
    data-flow-records data-flow-incomplete api-request-shape api-request-blob api-request api-request-resumed
    marble-origami-commit marble-origami-snapshot speculation-accept checkpoint agent_metadata progress
'''.split()


@pytest.mark.parametrize('kind', BOOKKEEPING)
def test_bookkeeping_says_nothing_and_is_known(kind):
    coverage = Coverage()
    record = make.meta(kind, lastPrompt='secret words', message={'content': 'secret words', 'usage': make.usage(9)})
    assert parse([record], coverage=coverage) == []
    assert coverage.unknown_records == 0


# Records that are not what their type says, and types nobody knows: name -> (record, label of the event)
DRIFT = {
    'unknown type': (make.meta('quantum-state', a=1), 'quantum-state'),
    'no type': ({'a': 1}, 'no type'),
    'type of another kind': ({'type': ['user']}, 'no type'),
    'empty type': ({'type': ''}, 'no type'),
    'assistant without a message': ({'type': 'assistant', 'uuid': 'u1'}, 'assistant record without a message'),
    'assistant with an empty message': ({'type': 'assistant', 'message': {}}, 'assistant record without a message'),
    'assistant with content of another kind': ({'type': 'assistant', 'message': {'role': 'assistant', 'content': 5}}, 'assistant content is no list'),
    'user without a message': ({'type': 'user'}, 'user record without content'),
    'user with a text for a message': ({'type': 'user', 'message': 'hi'}, 'user record without content'),
    'user without content': ({'type': 'user', 'message': {'role': 'user'}}, 'user record without content'),
    'attachment without one': ({'type': 'attachment'}, 'attachment record without an attachment'),
    'summary without text': ({'type': 'summary', 'leafUuid': 'u'}, 'summary record without its text'),
    'title without text': ({'type': 'ai-title', 'aiTitle': 5}, 'ai-title record without its text'),
}


@pytest.mark.parametrize('name', sorted(DRIFT))
def test_drift_is_counted_once_and_kept(name):
    record, label = DRIFT[name]
    coverage = Coverage()
    (event,) = parse([record], coverage=coverage)
    assert (event.kind, event.label, event.text) == ('unknown', label, '')
    assert (coverage.unknown_records, [one.line for one in coverage.drifts]) == (1, [1])


def test_drift_has_its_time_and_place(tmpdir):
    path = make.write(tmpdir.join('x.jsonl'), [make.user('a'), {'type': 'new', 'timestamp': make.stamp(5)}, b'broken\n',
                                               make.user('b')])
    coverage = Coverage(path)
    event = [event for event in read_file(path, coverage=coverage) if event.kind == 'unknown'][0]
    assert (event.line, event.time) == (2, parse_time(make.stamp(5)))
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records) == (4, 1, 1)


# Subtypes of system rows: name -> (record, events)
SYSTEM = {
    'retry': (make.system('api_error', error={}, retryInMs=500, retryAttempt=1), [('meta', 'retry', '')]),
    'local command': (make.system('local_command', '<local-command-stdout>x</local-command-stdout>'),
                      [('injected', 'command_output', '<local-command-stdout>x</local-command-stdout>')]),
    'local command without output': (make.system('local_command', ''), []),
    'notice': (make.system('informational', 'Update installed'), [('injected', 'informational', 'Update installed')]),
    'hook output of 1.0': (make.system(None, 'PreToolUse:Bash ok', toolUseID='t'), [('injected', 'notice', 'PreToolUse:Bash ok')]),
    'recap while away': (make.system('away_summary', 'You fixed the cart'), [('injected', 'recap', 'You fixed the cart')]),
    'scheduled prompt': (make.system('scheduled_task_fire', 'run the checks'), [('injected', 'scheduled_task_fire', 'run the checks')]),
    'fallback': (make.system('model_fallback', 'Switched to Sonnet'), [('injected', 'model_fallback', 'Switched to Sonnet')]),
    'turn duration': (make.system('turn_duration', durationMs=5), []),
    'stop hooks': (make.system('stop_hook_summary', hookCount=1, hookErrors=[]), []),
    'micro-compaction': (make.system('microcompact_boundary', 'x', microcompactMetadata={'preTokens': 9}), []),
    'agents killed': (make.system('agents_killed'), []),
    'not known': (make.system('something_new', 'x'), []),
}


@pytest.mark.parametrize('name', sorted(SYSTEM))
def test_system(name):
    record, expected = SYSTEM[name]
    coverage = Coverage()
    assert brief(parse([record], coverage=coverage)) == expected
    assert coverage.unknown_records == 0


# compactMetadata -> what is known of the compaction
@pytest.mark.parametrize('fields, expected', [
    ({'compactMetadata': {'trigger': 'auto', 'preTokens': 155000}}, Compaction('auto', 155000)),
    ({'compactMetadata': {'trigger': 'manual', 'preTokens': 9, 'postTokens': 3, 'preservedSegment': {}}}, Compaction('manual', 9)),
    ({'compactMetadata': {'trigger': 'auto'}}, Compaction('auto', None)),
    ({'compactMetadata': {'preTokens': '155000', 'trigger': 5}}, Compaction('', None)),
    # More than a database column holds.
    ({'compactMetadata': {'preTokens': 10 ** 30}}, Compaction('', None)),
    ({'compactMetadata': {'preTokens': -5}}, Compaction('', None)),
    ({'compactMetadata': None}, Compaction('', None)),
])
def test_compaction(fields, expected):
    record = make.compaction(**fields)
    (event,) = parse([record])
    assert (event.kind, event.label, event.data, event.id, event.chain) == (
        'compaction', expected.trigger, expected, record['uuid'], '')


def test_compaction_of_a_subagent_is_not_the_sessions():
    record = make.compaction()
    assert [event.chain for event in parse([record], role='agent')] == [AGENT]
    # Rows of subagents lie in the main file in 1.0.60 to 2.0.22.
    assert parse([dict(record, isSidechain=True)])[0].chain == 'sidechain'
    assert parse([dict(record, isSidechain=True, agentId='a9')])[0].chain == 'a9'


# Attachments that are worth finding: kind -> (fields, text)
ATTACHED = {
    'file': ({'filename': '/a/b.py', 'content': {'type': 'text', 'file': {'filePath': '/a/b.py', 'content': 'x = 1'}}},
             '/a/b.py\nx = 1'),
    'directory': ({'path': '/a', 'content': 'b.py\nc.py', 'displayPath': 'a'}, '/a\na\nb.py\nc.py'),
    'edited_text_file': ({'filename': '/a/b.py', 'snippet': '1 x = 2'}, '/a/b.py\n1 x = 2'),
    'selected_lines_in_ide': ({'filename': '/a/b.py', 'lineStart': 1, 'content': 'x = 1'}, '/a/b.py\nx = 1'),
    'opened_file_in_ide': ({'filename': '/a/b.py'}, '/a/b.py'),
    'nested_memory': ({'path': '/a/CLAUDE.md', 'content': {'path': '/a/CLAUDE.md', 'type': 'Project', 'content': 'use tabs'}},
                      '/a/CLAUDE.md\nuse tabs'),
    'plan_file_reference': ({'planFilePath': '/p.md', 'planContent': '# Plan'}, '/p.md\n# Plan'),
    'hook_blocking_error': ({'hookName': 'Stop', 'blockingError': {'blockingError': 'lint first', 'command': 'x'}}, 'lint first'),
    'goal_status': ({'met': False, 'condition': 'tests pass', 'reason': 'two fail'}, 'tests pass\ntwo fail'),
    'max_turns_reached': ({'message': 'stopped after 5 turns'}, 'stopped after 5 turns'),
    'compact_file_reference': ({'filename': '/a/b.py', 'displayPath': 'b.py'}, '/a/b.py\nb.py'),
}


@pytest.mark.parametrize('kind', sorted(ATTACHED))
def test_attachments_worth_finding(kind):
    fields, text = ATTACHED[kind]
    assert brief(parse([make.attachment(kind, **fields)])) == [('injected', 'attachment', text)]


# What the harness tells the model about itself (the kinds of 2.1.90 to 2.1.332).
NOISE_ATTACHMENTS = '''
    hook_success hook_non_blocking_error hook_cancelled hook_additional_context hook_system_message async_hook_response
    skill_listing deferred_tools_delta mcp_instructions_delta agent_listing_delta total_tokens_reminder task_reminder
    todo_reminder task_status plan_mode plan_mode_exit plan_mode_reentry auto_mode auto_mode_exit date_change
    command_permissions invoked_skills companion_intro read_truncation_notice ultrathink_effort prompt_snapshot environment
    model instructions session_context date remote_session_change something_new
'''.split()


@pytest.mark.parametrize('kind', NOISE_ATTACHMENTS)
def test_other_attachments_say_nothing(kind):
    coverage = Coverage()
    assert parse([make.attachment(kind, content='words', prompt='words')], coverage=coverage) == []
    assert coverage.unknown_records == 0


def test_images_of_attachments_are_not_text():
    content = {'type': 'image', 'file': {'base64': 'iVBORw0KGgo=', 'type': 'image/png'}}
    assert brief(parse([make.attachment('file', filename='/a.png', content=content)])) == [('injected', 'attachment', '/a.png')]


# Blocks of an assistant row: name -> (blocks, events before the usage)
BLOCKS = {
    'text': ([{'type': 'text', 'text': 'Done.'}], [('reply', '', 'Done.')]),
    'empty text': ([{'type': 'text', 'text': ''}], []),
    'string as a block': (['Done.'], [('reply', '', 'Done.')]),
    'thinking': ([{'type': 'thinking', 'thinking': 'hm', 'signature': 'x'}], [('thinking', '', 'hm')]),
    # Since 2.1.97 only the signature is written.
    'thinking without text': ([{'type': 'thinking', 'thinking': '', 'signature': 'x'}], []),
    'redacted thinking': ([{'type': 'redacted_thinking', 'data': 'x'}], []),
    'tool call': ([{'type': 'tool_use', 'id': 't1', 'name': 'Bash', 'input': {'command': 'ls', 'timeout': 5}}],
                  [('tool_call', 'Bash', 'ls\n5')]),
    'tool call with strange input': ([{'type': 'tool_use', 'id': 't1', 'name': 'Bash', 'input': 'ls'},
                                      {'type': 'tool_use', 'id': 't2', 'name': 'X', 'input': ['a', {'b': 'c'}]},
                                      {'type': 'tool_use', 'id': 't3', 'name': 5, 'input': None}],
                                     [('tool_call', 'Bash', 'ls'), ('tool_call', 'X', 'a\nc'), ('tool_call', '(unnamed)', '')]),
    'call run by the server': ([{'type': 'server_tool_use', 'id': 's1', 'name': 'web_search', 'input': {'query': 'otters'}}],
                               [('tool_call', 'web_search', 'otters')]),
    'call of an MCP server': ([{'type': 'mcp_tool_use', 'id': 'm1', 'name': 'find', 'server_name': 'x', 'input': {'q': 'a'}}],
                              [('tool_call', 'find', 'a')]),
    'results of a web search': ([{'type': 'web_search_tool_result', 'tool_use_id': 's1', 'content': [
        {'type': 'text', 'text': 'otters swim'}]}], [('tool_result', 'ok', 'otters swim')]),
    'failed MCP call': ([{'type': 'mcp_tool_result', 'tool_use_id': 'm1', 'is_error': True, 'content': 'no'}],
                        [('tool_result', 'error', 'no')]),
    'fallback': ([{'type': 'fallback'}, {'type': 'text', 'text': 'Done.'}], [('reply', '', 'Done.')]),
    'unknown block': ([{'type': 'hologram', 'x': 1}], [('unknown', 'block hologram', '')]),
    'odd things': ([None, 5, [], {'type': 'text', 'text': 'Done.'}, {'type': 'text'}], [('reply', '', 'Done.')]),
    'several': ([{'type': 'thinking', 'thinking': 'hm'}, {'type': 'text', 'text': 'A'}, {'type': 'text', 'text': 'B'}],
                [('thinking', '', 'hm'), ('reply', '', 'A'), ('reply', '', 'B')]),
}


@pytest.mark.parametrize('name', sorted(BLOCKS))
def test_blocks(name):
    blocks, expected = BLOCKS[name]
    found = brief(parse([make.assistant(blocks=blocks)]))
    assert found == expected + [('usage', '', '')]


@pytest.mark.parametrize('content, expected', [
    ('Done.', [('reply', '', 'Done.')]), (None, []), ({'type': 'text', 'text': 'Done.'}, [('reply', '', 'Done.')]), ([], [])])
def test_content_that_is_no_list(content, expected):
    record = make.assistant()
    record['message']['content'] = content
    assert brief(parse([record])) == expected + [('usage', '', '')]


def test_events_carry_their_identity():
    record = make.assistant('Done.', tool='Bash', input={'command': 'ls'}, thinking='hm', id=LONG, call='toolu_1')
    thinking, reply, call, usage = [event for event in parse([record]) if event.part >= 0]
    assert [event.message for event in (thinking, reply, call, usage)] == [LONG] * 4
    assert (call.id, call.data, usage.id) == ('toolu_1', {'command': 'ls'}, LONG)
    assert len({thinking.id, reply.id, call.id, usage.id}) == 4
    assert [event.part for event in (thinking, reply, call, usage)] == [0, 1, 2, 3]


def test_the_key_of_an_answer():
    def key(record):
        return [event.id for event in parse([record]) if event.kind == 'usage'][0]
    # Copies of 1.0.0 to 2.0.0 lose the request id, third-party backends have none: the message id alone is the key.
    assert key(make.assistant('x', id=LONG)) == key(make.assistant('x', id=LONG, requestId=make.ABSENT)) == LONG
    assert key(make.assistant('x', id=make.ABSENT, requestId='req_1')) == 'req_1'
    record = make.assistant('x', id=make.ABSENT, requestId=make.ABSENT)
    assert key(record) == record['uuid']
    del record['uuid']
    assert key(record) == make.ID + ':0'


def test_records_without_ids_are_told_apart():
    bare = dict(uuid=make.ABSENT, parentUuid=None)
    records = [make.assistant('x', id=make.ABSENT, requestId=make.ABSENT, **bare), make.user('hi', **bare),
               make.user('[Request interrupted by user]', **bare),
               make.user([{'type': 'tool_result', 'content': 'a'}], **bare), make.compaction(**bare)]
    ids = []
    for role in ('main', 'agent'):
        for event in parse(records + records, role):
            if event.part >= 0 and event.kind != 'meta':
                ids.append(event.data.call_id if event.kind == 'tool_result' else (event.kind, event.id))
    assert len(ids) == len(set(ids)) == 24


# Texts that the client wrote itself: name -> (fields, label of the reply)
@pytest.mark.parametrize('fields, label', [
    ({'isApiErrorMessage': True, 'error': 'rate_limit', 'apiErrorStatus': 429, 'model': '<synthetic>'}, 'api_error'),
    ({'isApiErrorMessage': True, 'model': 'claude-opus-5-5'}, 'api_error'),
    # "No response requested." of 2.1.50 and 2.1.112 has the flag, and it is false.
    ({'isApiErrorMessage': False, 'model': '<synthetic>'}, 'synthetic'),
    ({'model': '<synthetic>'}, 'synthetic'),
])
def test_text_of_the_client_is_no_call(fields, label):
    model = fields.pop('model')
    found = brief(parse([make.assistant('API Error: 400', model=model, usage=make.usage(0, 0), **fields)]))
    assert found == [('reply', label, 'API Error: 400')]


def test_false_error_flag_is_a_call():
    assert brief(parse([make.assistant('Hi', isApiErrorMessage=False)])) == [('reply', '', 'Hi'), ('usage', '', '')]


# The five buckets: name -> (usage, (input, output, cache read, written for 5 minutes, written for an hour))
USAGE = {
    'no split: all of it for 5 minutes': (make.usage(20, 10, 300, 40), (10, 20, 300, 40, 0)),
    'split': (make.usage(20, 10, 300, 40, hour=15), (10, 20, 300, 25, 15)),
    'all for an hour': (make.usage(20, 10, 300, 40, hour=40), (10, 20, 300, 0, 40)),
    'split of nothing': ({'cache_creation_input_tokens': 100, 'cache_creation': {
        'ephemeral_5m_input_tokens': 0, 'ephemeral_1h_input_tokens': 0}}, (0, 0, 0, 100, 0)),
    'split null': ({'cache_creation_input_tokens': 100, 'cache_creation': None}, (0, 0, 0, 100, 0)),
    'split without a sum': ({'cache_creation': {'ephemeral_5m_input_tokens': 30, 'ephemeral_1h_input_tokens': 12}},
                            (0, 0, 0, 30, 12)),
    'no cache keys (third-party backend)': ({'input_tokens': 7, 'output_tokens': 0}, (7, 0, 0, 0, 0)),
    'nothing': ({}, (0, 0, 0, 0, 0)),
    'strange values': ({'input_tokens': '7', 'output_tokens': None, 'cache_read_input_tokens': -3,
                        'cache_creation_input_tokens': True}, (0, 0, 0, 0, 0)),
    'fractions': ({'input_tokens': 7.0, 'output_tokens': float('nan'), 'cache_read_input_tokens': float('inf')}, (7, 0, 0, 0, 0)),
    'too large for any count': ({'input_tokens': 10 ** 400, 'output_tokens': 1 << 53}, (0, 0, 0, 0, 0)),
    # Parts of the same call, and copies of it: not added.
    'iterations': (make.usage(20, 10, iterations=[make.usage(20, 10), make.usage(20, 10)]), (10, 20, 0, 0, 0)),
    'thinking is part of output': (make.usage(20, 10, output_tokens_details={'thinking_tokens': 15}), (10, 20, 0, 0, 0)),
}


@pytest.mark.parametrize('name', sorted(USAGE))
def test_usage(name):
    usage, expected = USAGE[name]
    found = parse_usage({'model': 'm', 'usage': usage, 'stop_reason': 'end_turn'}, 0)
    assert (found.input, found.output, found.cache_read, found.cache_write_5m, found.cache_write_1h) == expected
    assert (found.model, found.final, found.stop_reason) == ('m', 1, 'end_turn')


def uses(records, **how):
    """-> [(identity, model, input, output)] of each response, from the row that knows most."""
    found = {}
    for event in parse(records, **how):
        if event.kind == 'usage':
            use = event.data.model, event.data.input, event.data.output
            found[event.id] = max(use, found.get(event.id, use), key=lambda one: one[2])
    return [(ident,) + found[ident] for ident in found]


def test_what_the_counters_leave_out_is_a_call_of_its_own():
    """An adviser's tokens and those of a compaction on the server stand in `iterations` alone."""
    parts = [dict(make.usage(300, 100), type='message'), dict(make.usage(7805, 159419), type='advisor_message', model='claude-opus-4-7'),
             dict(make.usage(3500, 180000), type='compaction'), dict(make.usage(191, 2), type='message'), 'x', None]
    rows = [make.assistant('a', id=LONG, usage=make.usage(491, 2, iterations=parts)),
            make.assistant('b', id=LONG, usage=make.usage(491, 2, iterations=parts))]
    assert [use[1:] for use in uses(rows)] == [(make.MODEL, 2, 491), ('claude-opus-4-7', 159419, 7805), (make.MODEL, 180000, 3500)]


def test_responses_that_all_have_the_same_short_id():
    def said(sent, got, **more):
        return make.assistant('a', id='ocgo', requestId=make.ABSENT, usage=make.usage(got, sent), **more)

    def turn(prompt, sent, got):
        return [make.user(prompt), said(sent, 1), said(sent, got)]
    talk = turn('one', 1000, 10) + turn('two', 1010, 20)
    # Tools may answer while a response is still written.
    talk += [said(1010, 5, tool='Bash'), make.result('toolu_1', 'x'), said(1010, 21), said(1500, 30)]
    # A row that was written before anything was counted belongs to the next.
    talk += [make.result('toolu_1', 'x'), said(0, 0), said(1600, 40)]
    assert [use[2:] for use in uses(talk)] == [(1000, 10), (1010, 21), (1500, 30), (1600, 40)]
    # What is copied into another file is the same response there, whatever its rows are called.
    state = {}
    assert [use[0] for use in uses(turn('one', 1000, 10), state=state)] == [use[0] for use in uses(talk)][:1]
    # A file that grows in the midst of a response goes on with it.
    assert uses([said(1001, 11)], state=json.loads(json.dumps(state)))[0][0] == uses(talk)[0][0]


def test_a_long_id_is_one_response_whatever_its_counters():
    rows = [make.assistant('a', id=LONG, usage=make.usage(1, 10)), make.result('toolu_1', 'x'),
            make.assistant('b', id=LONG, usage=make.usage(9, 900))]
    assert len(uses(rows)) == 1


@pytest.mark.parametrize('usage', [None, 'x', [], make.ABSENT])
def test_without_usage_the_output_is_not_known(usage):
    message = {'model': 'm', 'stop_reason': 'end_turn'} if usage is make.ABSENT else {
        'model': 'm', 'stop_reason': 'end_turn', 'usage': usage}
    found = parse_usage(message, 7)
    assert (found.input, found.output, found.final, found.visible, found.model) == (0, 0, 0, 7, 'm')


def test_usage_beside_the_buckets():
    usage = make.usage(20, 10, speed='fast', service_tier='priority', inference_geo='us',
                       server_tool_use={'web_search_requests': 2, 'web_fetch_requests': 1})
    found = parse_usage({'model': 'm', 'usage': usage, 'stop_reason': None}, 55)
    assert (found.speed, found.tier, found.geo, found.web_searches, found.web_fetches) == ('fast', 'priority', 'us', 2, 1)
    # No stop reason on the row: the output count may be where the stream began.
    assert (found.final, found.visible, found.stop_reason) == (0, 55, '')


def test_visible_content_is_counted_in_bytes():
    def visible(**content):
        return [event for event in parse([make.assistant(**content)]) if event.kind == 'usage'][0].data.visible
    assert visible(text='four') == 4
    assert visible(text='\u4e2d\u6587\U0001f600') == 3 + 3 + 4
    assert visible(text='ab', thinking='cd', tool='Bash', input={'command': 'ls'}) == 6
    assert visible(text='\ud800') == 3


# Results of tools: name -> (content, is_error, toolUseResult, label, text)
RESULTS = {
    'text': ('out', None, make.ABSENT, 'ok', 'out'),
    'false': ('out', False, make.ABSENT, 'ok', 'out'),
    'blocks': ([{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}], None, make.ABSENT, 'ok', 'a\nb'),
    'strings': (['a', 'b', None, 5], None, make.ABSENT, 'ok', 'a\nb'),
    'image': ([{'type': 'image', 'source': {'type': 'base64', 'data': 'iVBORw0KGgo='}}], None, make.ABSENT, 'ok', '[image]'),
    'tool found': ([{'type': 'tool_reference', 'tool_name': 'mcp__x__y'}], None, make.ABSENT, 'ok', 'mcp__x__y'),
    'unknown block': ([{'type': 'map', 'b': [1], 'a': '\u4e2d'}], None, make.ABSENT, 'ok',
                      '{"a": "\u4e2d", "b": [1], "type": "map"}'),
    'block without a list': ({'type': 'text', 'text': 'a'}, None, make.ABSENT, 'ok', 'a'),
    'nothing': (None, None, make.ABSENT, 'ok', ''),
    'no block': ([], None, make.ABSENT, 'ok', ''),
    'number': (5, None, make.ABSENT, 'ok', '5'),
    # Failures.
    'exit code': ('Exit code 3\nno', True, 'Error: Exit code 3', 'error', 'Exit code 3\nno'),
    'exit code of 1.0 and 2.0.0': ('Error', True, {'stdout': '', 'stderr': ''}, 'error', 'Error'),
    'wrapped error': ('<tool_use_error>File does not exist.</tool_use_error>', True, 'Error: File does not exist.', 'error',
                      '<tool_use_error>File does not exist.</tool_use_error>'),
    'bad input': ('<tool_use_error>InputValidationError: x</tool_use_error>', True, 'InputValidationError: x', 'error',
                  '<tool_use_error>InputValidationError: x</tool_use_error>'),
    'hook': ('Bash operation blocked by hook:\n- no', True, 'Error: blocked', 'error', 'Bash operation blocked by hook:\n- no'),
    # Talk about failures is none.
    'text about errors': ('Error: Exit code 1, the user doesn\'t want this', None, {'stdout': 'x'}, 'ok',
                          'Error: Exit code 1, the user doesn\'t want this'),
    'odd flag': ('out', 'true', make.ABSENT, 'ok', 'out'),
    # Refused by a person or by her rules.
    'refused': ("The user doesn't want to proceed with this tool use. The tool use was rejected", True,
                'User rejected tool use', 'declined', "The user doesn't want to proceed with this tool use. The tool use was rejected"),
    'refused, told apart by toolUseResult': ('no', True, 'User rejected tool use', 'declined', 'no'),
    'stopped': ('[Request interrupted by user for tool use]', True, make.ABSENT, 'declined',
                '[Request interrupted by user for tool use]'),
    'stopped in the middle': ('Interrupted by user', True, make.ABSENT, 'declined', 'Interrupted by user'),
    'denied': ('Permission to use Bash with command rm has been denied.', True, 'Error: Permission', 'declined',
               'Permission to use Bash with command rm has been denied.'),
    'asked in vain': ("Claude requested permissions to write to /a, but you haven't granted it yet.", True, 'Error: x', 'declined',
                      "Claude requested permissions to write to /a, but you haven't granted it yet."),
    # Fell with another call.
    'sibling': ('<tool_use_error>Sibling tool call errored</tool_use_error>', True, 'Sibling tool call errored', 'collateral',
                '<tool_use_error>Sibling tool call errored</tool_use_error>'),
    'sibling by toolUseResult': ('x', True, 'Sibling tool call errored', 'collateral', 'x'),
    'cancelled': ('<tool_use_error>Cancelled: parallel tool call Bash(x) errored</tool_use_error>', True, make.ABSENT,
                  'collateral', '<tool_use_error>Cancelled: parallel tool call Bash(x) errored</tool_use_error>'),
    'warm-up': ('Warmup', True, make.ABSENT, 'collateral', 'Warmup'),
}


@pytest.mark.parametrize('name', sorted(RESULTS))
def test_results(name):
    content, error, extra, label, text = RESULTS[name]
    (event,) = [event for event in parse([make.result('toolu_1', content, error, extra)]) if event.part >= 0]
    assert (event.kind, event.label, event.text, event.data) == ('tool_result', label, text, ToolResult('toolu_1', ''))


@pytest.mark.parametrize('kind', ['user-rejected', 'automode-blocked', 'automode-unavailable'])
def test_denial_is_told_by_the_row(kind):
    (event,) = [event for event in parse([make.result('t', 'no', True, toolDenialKind=kind)]) if event.part >= 0]
    assert event.label == 'declined'


def test_several_results_in_one_row():
    blocks = [{'type': 'tool_result', 'tool_use_id': call, 'content': call} for call in ('t1', 't2')]
    found = [event for event in parse([make.user(blocks + [{'type': 'text', 'text': 'and go on'}])]) if event.part >= 0]
    assert brief(found) == [('tool_result', 'ok', 't1'), ('tool_result', 'ok', 't2'), ('prompt', 'typed', 'and go on')]
    assert [event.data.call_id for event in found[:2]] == ['t1', 't2']
    one = make.user({'type': 'tool_result', 'tool_use_id': 't1', 'content': 'x'})
    assert brief(parse([one])) == [('tool_result', 'ok', 'x')]


def test_content_as_deep_as_can_be_read():
    # Writing JSON takes more of the stack than reading it.
    read = 0
    for depth in range(100, 1000, 9):
        line = make.line(make.result('t', [{'type': 'map', 'a': 'DEEP'}])).replace(b'"DEEP"', b'["x",' * depth + b'1' + b']' * depth)
        found, _ = parse_line(line)
        for record in found:
            assert 'x' in brief(parse([record]))[0][2]
            assert 'x' in input_text(record) and len(result_text(record['message']['content'])) <= 4000
            read = depth
    assert read >= 700


STUB = '<persisted-output>\nOutput too large (54.7KB). Full output saved to: %s\n\nPreview (first 2KB):\nrow 1\n</persisted-output>'


def spilled(content, extra=make.ABSENT):
    (event,) = [event for event in parse([make.result('toolu_1', content, extra=extra)]) if event.part >= 0]
    return event


def test_spilled_output():
    path = '/home/dev/.claude/projects/-home-dev-app/%s/tool-results/b842808.txt' % make.ID
    # The name is that of the shell task since 2.1.50: only the text and toolUseResult know it.
    assert spilled(STUB % path).data == ToolResult('toolu_1', path)
    assert spilled(STUB % path, {'stdout': 'x' * 30000, 'persistedOutputPath': path}).data.spill == path
    assert spilled('preview', {'stdout': 'x', 'persistedOutputPath': path}).data.spill == path
    assert spilled(STUB % path, {'stdout': 'x' * 30000}).data.spill == path
    assert spilled('<persisted-output> saved to: /a/b \n' + 'x' * 300).data.spill == '/a/b'
    assert spilled('x' * 300 + '<persisted-output> saved to: /a/b').data.spill == ''
    assert spilled(STUB % path, {'persistedOutputPath': 5}).data.spill == path


def test_whole_output_in_the_row():
    # 2.1.14 keeps all of it in the row, so that nothing depends on the file; 2.0.77 cuts the text and spills nothing.
    event = spilled(STUB % '/a/b.txt', {'stdout': 'whole ' * 20000})
    assert event.data.spill == '' and event.text.endswith('whole ' * 20000)
    event = spilled('head [9 lines truncated] tail', {'stdout': 'middle ' * 100})
    assert event.text == 'head [9 lines truncated] tail\n' + 'middle ' * 100
    # An output that is all there is not said twice.
    assert spilled('out', {'stdout': 'out', 'stderr': ''}).text == 'out'


# Generations of clients.

def conversation(generation, version, agent=None, **chain):
    """Return a prompt, a call, its failed result, and an answer, in a generation's order of fields."""
    made = make.Session(generation=generation, version=version, agent=agent)
    return [made.user('hi', **chain), made.assistant(tool='Bash', input={'command': 'ls'}, **chain),
            made.result(content='no', error=True, **chain), made.assistant('Done.', **chain)]


EXPECTED = [('prompt', 'typed', 'hi'), ('tool_call', 'Bash', 'ls'), ('usage', '', ''), ('tool_result', 'error', 'no'),
            ('reply', '', 'Done.'), ('usage', '', '')]


@pytest.mark.parametrize('generation, version', [(make.OLD, '1.0.51'), (make.OLD, '2.0.22'), (make.NEW, '2.1.112')])
def test_order_of_fields_does_not_matter(generation, version):
    assert brief(parse(conversation(generation, version))) == EXPECTED


def test_text_and_one_text_block_are_the_same():
    # Copies made by 1.0.60 to 2.1.14 turn one into the other.
    one, two = make.user('hi', uuid='u1'), make.user([{'type': 'text', 'text': 'hi'}], uuid='u1')
    assert brief(parse([one])) == brief(parse([two]))


def test_rows_of_subagents_in_the_main_file():
    # 1.0.60 to 2.0.22: no agent id, a root of its own.
    rows = [dict(row, isSidechain=True) for row in conversation(make.OLD, '1.0.128')]
    events = parse([make.user('main prompt')] + rows + [make.assistant('main answer')])
    side = [event for event in events if event.line in (2, 3, 4, 5) and event.part >= 0]
    assert [(event.kind, event.label) for event in side][0] == ('injected', 'task')
    assert {(event.chain, event.turn) for event in side} == {('sidechain', 0)}
    assert [event.chain for event in events if event.text == 'main answer'] == ['']
    agents = [event for event in events if event.kind == 'meta' and event.label == 'subagent']
    assert [(event.id, event.line) for event in agents] == [(rows[0]['uuid'], 2)]


def test_subagent_file():
    events = parse(conversation(make.NEW, '2.1.332', agent=AGENT), role='agent')
    assert {(event.chain, event.turn) for event in events} == {(AGENT, 0)}
    assert brief(events) == [('injected', 'task', 'hi')] + EXPECTED[1:]


@pytest.mark.parametrize('fields, foreign', [
    ({}, False), ({'sessionId': '22222222-2222-4222-8222-222222222222'}, True), ({'sessionId': make.ABSENT}, False),
    ({'forkedFrom': {'sessionId': make.ID, 'messageUuid': 'u'}}, True)])
def test_rows_of_another_session_are_noted(fields, foreign):
    records = [make.user('hi', **fields), make.user('again', **fields)]
    assert len([event for event in parse(records) if event.label == 'foreign']) == int(foreign)
    assert [event for event in parse(records, role='agent') if event.label == 'foreign'] == []


def test_surroundings_are_told_when_they_change():
    records = [make.user('a', cwd='/a', gitBranch='main', version='2.1.9'), make.user('b', cwd='/a', gitBranch='', version='2.1.9'),
               make.assistant('c', cwd='/b', gitBranch='dev', version='2.1.10'), make.user('d', cwd=5, gitBranch=None, version='')]
    found = [(event.line, event.label, event.text) for event in parse(records) if event.part < 0]
    assert found == [(1, 'cwd', '/a'), (1, 'branch', 'main'), (1, 'version', '2.1.9'), (1, 'entrypoint', 'cli'),
                     (3, 'cwd', '/b'), (3, 'branch', 'dev'), (3, 'version', '2.1.10')]


# Turns.

def test_turns_are_counted_by_prompts():
    records = [make.assistant('early'), make.user('one'), make.assistant('a', tool='Bash'), make.result(),
               make.user('meta', isMeta=True), make.user('side', isSidechain=True), make.assistant('b'),
               make.attachment('queued_command', prompt='two'), make.assistant('c'), make.user('three'), make.assistant('d')]
    assert [(event.text, event.turn) for event in parse(records) if event.kind in ('prompt', 'reply')] == [
        ('early', 0), ('one', 1), ('a', 1), ('b', 1), ('two', 2), ('c', 2), ('three', 3), ('d', 3)]


def test_a_queued_prompt_that_is_written_twice_counts_once():
    queued = make.attachment('queued_command', prompt='also lint')
    twice = parse([make.user('go'), queued, make.user('also lint'), make.user('also lint')])
    assert brief(twice)[1:] == [('prompt', 'queued', 'also lint'), ('injected', 'duplicate', 'also lint'),
                                ('prompt', 'typed', 'also lint')]
    other = parse([queued, make.user('something else'), make.user('also lint')])
    assert [label for _, label, _ in brief(other)] == ['queued', 'typed', 'typed']


def sample():
    """Return a session with most of what reading must remember from one record to the next."""
    made = make.Session(version='2.0.14', generation=make.OLD)
    records = [made.meta('summary', summary='S', leafUuid='u'), made.user('one')]
    made.version, made.branch = '2.1.112', 'dev'
    records += [made.assistant('a', tool='Bash'), made.result(), made.meta('ai-title', aiTitle='T'),
                made.attachment('queued_command', prompt='two'), made.meta('ai-title', aiTitle='T'), made.user('two'),
                made.assistant('b', id='msg_x'), made.compaction(), made.assistant('c', id='msg_x'),
                made.user('three', sessionId='22222222-2222-4222-8222-222222222222'), made.meta('permission-mode', permissionMode='plan'),
                {'type': 'odd'}, made.user('/four now'), made.user('[Request interrupted by user]')]
    return records


def test_reading_on_is_reading_whole(tmpdir):
    records = sample()
    path = make.write(tmpdir.join('x.jsonl'), records)
    whole_coverage = Coverage(path)
    whole = read_file(path, coverage=whole_coverage)
    for cut in range(len(records) + 1):
        state = {}
        make.write(path, records[:cut])
        first_coverage = Coverage(path)
        first = read_file(path, coverage=first_coverage, state=state)
        make.write(path, records)
        # A state is stored as text between two readings.
        state = json.loads(json.dumps(state))
        second_coverage = Coverage(path, first_coverage.offset, first_coverage.line)
        second = read_file(path, coverage=second_coverage, offset=first_coverage.offset, line=first_coverage.line, state=state)
        assert first + second == whole, cut
        first_coverage.add(second_coverage)
        assert (first_coverage.lines, first_coverage.unknown_records) == (whole_coverage.lines, whole_coverage.unknown_records)


def test_events_of_one_line_again(tmpdir):
    path = make.write(tmpdir.join('x.jsonl'), sample())
    check_lines_again(source_of(path))


def check_lines_again(source):
    """Reread single lines of a file and compare with reading it whole; return how many lines that were."""
    lines = 0
    for events in claude.read(source, Coverage(source.path)):
        wanted = [event for event in events if event.part >= 0]
        if wanted and wanted[0].label != 'duplicate':
            again = claude.events_at(source, wanted[0].offset, wanted[0].length)
            again = [event._replace(turn=0, line=0) for event in again if event.part >= 0]
            assert again == [event._replace(turn=0, line=0) for event in wanted]
            assert [event.part for event in wanted] == list(range(len(wanted)))
            lines += 1
    return lines


# Lines that hold no conversation, told without decoding: name -> (line, is noise)
def noise_cases():
    made, old = make.Session(), make.Session(generation=make.OLD, version='2.1.40')
    inner = {'type': 'user', 'message': {'role': 'user', 'content': 'x'}, 'uuid': 'u1'}
    cases = {
        'progress': (old.progress(), True),
        'progress, new order': (made.progress(), True),
        'progress with a message inside': (old.progress('agent_progress', message=inner), True),
        'progress, data before type': (old.progress('agent_progress', data_first=True, message=inner), True),
        'noise attachment': (made.attachment('skill_listing', content='x'), True),
        'hook attachment': (made.attachment('hook_success', content='"type":"user"'), True),
        'useful attachment': (made.attachment('file', filename='x'), False),
        'queued prompt': (made.attachment('queued_command', prompt='x'), False),
        'request mirror': (made.meta('api-request-blob', message={'role': 'user', 'content': [{'type': 'text', 'text': 'x'}]}), True),
        'last prompt': (made.meta('last-prompt', lastPrompt='{"type":"user","message":{}}'), True),
        'snapshot': (made.meta('file-history-snapshot', snapshot={'trackedFileBackups': {}}), True),
        'title': (made.meta('ai-title', aiTitle='x'), False),
        'queue': (made.meta('queue-operation', operation='enqueue'), False),
        'unknown type': (made.meta('something-new'), False),
        'prompt': (made.user('"type":"progress" "attachment":{"type":"skill_listing"}'), False),
        'prompt, old order': (old.user('{"type":"progress","data":{}}'), False),
        'answer': (made.assistant('{"type":"progress"}'), False),
        # Tools take any input: keys of noise rows inside a message say nothing.
        'tool input like progress': (made.assistant(tool='X', input={'type': 'progress', 'data': {}}, call='t', id='m', model='m'), False),
        'tool input like progress, data first': (
            made.assistant(tool='X', input={'data': {}, 'type': 'progress'}, call='t', id='m', model='m'), False),
        'tool input like an attachment': (
            made.assistant(tool='X', input={'attachment': {'type': 'pdf'}}, call='t', id='m', model='m'), False),
        'result like an attachment': (made.result('t', [{'attachment': {'type': 'pdf'}}]), False),
        'block like progress': (made.user([{'type': 'progress', 'data': 1}]), False),
        'system': (made.system('informational', 'x'), False),
        'empty': (b'\n', False),
        'rubbish': (b'{"type":"\n', False),
    }
    last = make.line(made.meta('last-prompt', lastPrompt='x'))
    progress = make.line(old.progress())
    user = make.line(made.user('x'))
    cases.update({
        'torn': (last[:-8] + b'\n', False), 'torn progress': (progress[:-8] + b'\n', False),
        'torn tail': (last[:-8], False), 'no line end': (last[:-1], True), 'CRLF': (last[:-1] + b'\r\n', True),
        'blanks behind': (last[:-1] + b'  \n', True),
        'stub glued to a prompt': (last[:30] + user, False), 'progress glued to a prompt': (progress[:-20] + user, False),
        'stub of a type glued to a prompt': (last[:12] + user, False),
        'noise glued to a prompt': (last[:-1] + user, False),
        'noise glued to a title': (last[:-1] + make.line(made.meta('ai-title', aiTitle='x')), False),
        'noise twice': (last[:-1] + last, False),
    })
    return {name: (make.line(record), noise) for name, (record, noise) in cases.items()}


NOISE = noise_cases()


@pytest.mark.parametrize('name', sorted(NOISE))
def test_noise_line(name):
    line, noise = NOISE[name]
    assert is_noise_line(line) is noise
    if noise:
        assert parse([json.loads(line.decode('utf-8'))]) == []


def test_a_prompt_glued_to_a_torn_noise_row_is_kept(tmpdir):
    made = make.Session()
    last = make.line(made.meta('last-prompt', lastPrompt='x'))
    path = make.write(tmpdir.join('x.jsonl'), [last[:30], made.user('find me'), last])
    coverage = Coverage(path)
    assert brief(read_file(path, coverage=coverage)) == [('prompt', 'typed', 'find me')]
    assert (coverage.lines, coverage.parse_errors) == (2, 1)


# Real files: what clients 1.0.128, 2.0.77 and 2.1.332 wrote.

def corpus_files(folder):
    """Return the Sources of all transcripts of a client's corpus, loose ones with their session."""
    found = []
    root = os.path.join(shared('corpus', folder, 'home'), 'dev', '.claude')
    for session in claude.discover(root, []):
        for source in session.sources:
            if source.role == 'loose':
                source = source._replace(session=claude.head(source.path)['session'])
            if source.role != 'sidecar':
                found.append(source)
    return sorted(found)


CORPORA = ('claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332')


@pytest.mark.parametrize('folder', CORPORA)
def test_noise_in_real_files(folder):
    lines = noise = 0
    for source in corpus_files(folder):
        with open(source.path, 'rb') as rows:
            for row in rows:
                lines += 1
                if is_noise_line(row):
                    noise += 1
                    record = json.loads(row.decode('utf-8'))
                    assert record['type'] not in ('user', 'assistant', 'system')
                    assert parse([record]) == []
    # The newest client writes hundreds of rows beside the conversation.
    assert lines > 100 and (noise > 500 or folder != 'claude-2.1.332')


@pytest.mark.parametrize('folder', CORPORA)
def test_skipping_noise_changes_nothing(folder):
    for source in corpus_files(folder):
        fast, slow = Coverage(source.path), Coverage(source.path)
        assert list(filter(None, claude.read(source, fast))) == list(filter(None, claude.read(source, slow, noise=True)))
        assert (fast.lines, fast.parse_errors, fast.unknown_records, fast.offset) == (slow.lines, 0, 0, slow.offset)


@pytest.mark.parametrize('folder', CORPORA)
def test_nothing_is_unknown_in_real_files(folder):
    kinds = set()
    for source in corpus_files(folder):
        for events in claude.read(source, Coverage(source.path)):
            kinds.update(event.kind for event in events)
    assert 'unknown' not in kinds
    assert kinds >= {'prompt', 'reply', 'tool_call', 'tool_result', 'usage', 'meta', 'injected', 'compaction'}


@pytest.mark.parametrize('folder', CORPORA)
def test_lines_of_real_files_again(folder):
    assert sum(check_lines_again(source) for source in corpus_files(folder)) > 100


@pytest.mark.slow
@pytest.mark.parametrize('folder', CORPORA)
def test_real_files_in_two_parts(folder, tmpdir):
    chance = random.Random(2)
    for source in corpus_files(folder):
        with open(source.path, 'rb') as rows:
            data = rows.read()
        whole = [event for events in claude.read(source, Coverage(source.path)) for event in events]
        cut = chance.randint(0, len(data))
        grown = source._replace(path=make.write(tmpdir.join('x.jsonl'), [data[:cut]]))
        state, first = {}, Coverage()
        found = [event for events in claude.read(grown, first, state=state) for event in events]
        if first.open_end and data[first.offset:first.offset + 1] != b'\n':
            continue
        make.write(grown.path, [data])
        second = Coverage(grown.path, first.offset, first.line)
        found += [event for events in claude.read(grown, second, first.offset, first.line, state) for event in events]
        assert [event._replace(length=0) for event in found] == [event._replace(length=0) for event in whole]


def test_rows_of_the_makers_are_like_real_ones():
    # Each kind of row of the builder has its fields in the order of a row that a client wrote.
    orders = {}
    for folder in CORPORA:
        for source in corpus_files(folder):
            for record in read_records(source.path):
                orders.setdefault((folder, record.type), set()).add(tuple(record.data))
    for folder, made in (('claude-1.0.128', make.Session(generation=make.OLD)), ('claude-2.1.332', make.Session())):
        rows = [made.user('hi'), made.assistant('x', tool='Bash'), made.result(extra={}), made.user('x', isMeta=True)]
        if folder == 'claude-2.1.332':
            rows += [made.attachment('skill_listing'), made.meta('ai-title', aiTitle='x')]
        for row in rows:
            real = [[name for name in order if name in row] for order in orders[folder, row['type']]]
            assert any(order == list(row) for order in real), (folder, list(row), real)


# Anything in place of anything: no record can stop a reader, and what comes out can be stored.

def deep(depth):
    value = 'x'
    for _ in range(depth):
        value = {'type': 'x', 'a': [value]}
    return value


JUNK = [None, True, False, 0, -1, 1.5, float('nan'), float('inf'), 10 ** 400, -10 ** 30, 2 ** 63, '', 'x', '\ud800', 'a|b|c',
        'a\0b', [], {}, [None], [[]], {'type': 'text'}, {'type': ['x']}, [{'type': 'tool_result'}], {'a': 1}, '2026-13-01',
        '1e9999999999', deep(20), 'x' * 3000, make.ABSENT]


def sound_records():
    usage = make.usage(5, 4, 3, 10, hour=4, server_tool_use={'web_search_requests': 1, 'web_fetch_requests': 2}, speed='fast',
                       inference_geo='us', service_tier='standard', iterations=[{'type': 'x'}])
    return sample() + [record for record, _ in TITLE_ROWS.values()] + [record for record, _ in SYSTEM.values()] + [
        make.attachment(kind, **fields) for kind, (fields, _) in ATTACHED.items()] + [
        make.user('hi', origin={'kind': 'human'}, forkedFrom={'sessionId': 'x'}),
        make.user([{'type': 'text', 'text': 'a'}, {'type': 'image', 'source': {}}, 's']),
        make.assistant('text', tool='Bash', input={'command': 'ls', 'n': [1, {'a': 'b'}]}, thinking='hm', usage=usage),
        make.assistant(blocks=[{'type': 'mcp_tool_result', 'tool_use_id': 'x', 'content': [{'type': 'map'}], 'is_error': True}]),
        make.result('t', [{'type': 'text', 'text': 'out'}, {'type': 'map', 'a': {'b': 1}}], True, {'stdout': 'x' * 500}),
        make.result('t', STUB % '/a', True, 'Error: x', toolDenialKind='user-rejected'),
        make.attachment('queued_command', prompt=[{'type': 'text', 'text': 'x'}], origin={'kind': 'human'})]


def spots(value, before=()):
    """Yield the paths of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield before + (key,)
        for path in spots(item, before + (key,)):
            yield path


def with_junk(value, path, junk):
    """Return a copy of a value with something else at a path."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    if len(path) > 1:
        copy[path[0]] = with_junk(copy[path[0]], path[1:], junk)
    elif junk is make.ABSENT:
        del copy[path[0]]
    else:
        copy[path[0]] = junk
    return copy


@pytest.mark.parametrize('seed', range(4))
def test_any_values(seed):
    chance = random.Random(seed)
    sound = sound_records()
    for _ in range(600):
        record = chance.choice(sound)
        for _ in range(chance.randint(1, 3)):
            places = list(spots(record))
            if places:
                record = with_junk(record, chance.choice(places), chance.choice(JUNK))
        for role in ('main', 'agent'):
            state, folded = {}, analysis.FileAnalysis()
            for event in parse_one(record, role, state):
                assert type(event.text) is str and type(event.label) is str and type(event.id) in (str, type(None))
                assert event.time is None or abs(event.time) < 1 << 62
                fold(event.text)
                folded.add(event)
            for fact in folded.facts.values():
                list(analysis.contributions(fact))
                assert all(value is None or type(value) is str or -1 << 63 <= value < 1 << 63 for value in fact)
            json.dumps([state, folded.profile])


def parse_one(record, role, state):
    return Parser(Coverage(), role, '' if role == 'main' else AGENT, make.ID, state).events(Record(record, 1, 0, 10))
