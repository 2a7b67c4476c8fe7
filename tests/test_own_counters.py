"""What an agent counts in its own way stays to be seen: reasoning inside the output, its own names, sessions that only its list knows."""
import json
import os

import pytest

import small
from echolib import analysis
from echolib.events import USAGE, Event, Usage
from helpers import call_script

THREAD, NO_THREAD = '019cadc6-9a80-701d-9001-000000007149', '019cadc6-9a80-701d-9001-00000000714a'
GROK = '0b0b0b0b-0002-4002-8002-000000000003'
KIMI, NO_KIMI = 'session_0c0c0c0c-0002-4002-8002-000000000004', 'session_0d0d0d0d-0002-4002-8002-000000000005'


def used(given, cached, output, reasoning):
    return {'input_tokens': given, 'cached_input_tokens': cached, 'output_tokens': output, 'reasoning_output_tokens': reasoning,
            'total_tokens': given + output}


def rollout(kind, **payload):
    return {'timestamp': '2026-03-02T09:00:00.000Z', 'type': kind, 'payload': payload}


def counted(total, last):
    return rollout('event_msg', type='token_count', info={'total_token_usage': total, 'last_token_usage': last})


BILL = {'inputTokens': 1000, 'outputTokens': 100, 'cachedReadTokens': 900, 'reasoningTokens': 33, 'modelCalls': 2}
UPDATES = [{'sessionUpdate': 'user_message_chunk', 'content': {'type': 'text', 'text': 'go'}},
           {'sessionUpdate': 'turn_completed', 'prompt_id': 'p1', 'usage': dict(BILL, modelUsage={'grok-4': BILL})}]
# path -> records. The repeated counter of Codex adds nothing; Claude's first row of a response does not know its thinking yet.
FILES = {
    '.codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-%s.jsonl' % THREAD: [
        rollout('session_meta', id=THREAD, cwd='/home/dev/app'), rollout('turn_context', turn_id='t' * 20, model='gpt-5'),
        rollout('event_msg', type='user_message', message='go'), counted(used(2000, 900, 300, 80), used(2000, 900, 300, 80)),
        counted(used(2000, 900, 300, 80), used(2000, 900, 300, 80)), counted(used(2500, 900, 450, 110), used(500, 0, 150, 30))],
    '.codex/session_index.jsonl': [{'id': THREAD, 'thread_name': 'here'}, {'id': NO_THREAD, 'thread_name': 'gone'}],
    '.grok/sessions/%%2Fhome%%2Fdev%%2Fapp/%s/updates.jsonl' % GROK: [
        {'timestamp': 1772442000, 'params': {'sessionId': GROK, 'update': update}} for update in UPDATES],
    '.claude/projects/-home-dev-app/%s.jsonl' % small.SID: [
        small.user('go', 1, 1), small.answer([small.text('a')], 2, 2, tokens=(10, 1, 0, 0)),
        small.answer([small.text('b')], 3, 3, tokens=(10, 20, 0, 0))],
    '.claude/projects/-home-dev-app/sessions-index.json': [
        {'entries': [{'sessionId': small.SID}, {'sessionId': small.OTHER.upper(), 'summary': 'gone'}, {'sessionId': 7}, None]}],
    '.claude/projects/-home-dev-empty/sessions-index.json': [[{'sessionId': 'only-listed'}]],
    '.kimi-code/sessions/wd_app_720d8948da0b/%s/agents/main/wire.jsonl' % KIMI: [{'type': 'metadata', 'protocol_version': '1.5'}, {
        'type': 'turn.prompt', 'input': [{'type': 'text', 'text': 'go'}], 'origin': {'kind': 'user'}, 'time': 1772442000000}],
    '.kimi-code/session_index.jsonl': [{'sessionId': KIMI}, {'sessionId': NO_KIMI}, {'sessionId': 'session_x'}, {'sessionId': 'session_x', 'deleted': True}],
}
FILES['.claude/projects/-home-dev-app/%s.jsonl' % small.SID][2]['message']['usage']['output_tokens_details'] = {'thinking_tokens': 7}


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp('own'))
    for path, records in FILES.items():
        path = os.path.join(folder, *path.split('/'))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(''.join(json.dumps(record) + '\n' for record in records))
    return folder


def test_reasoning_and_own_names(home):
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    assert stats['reasoning_inside_output'] == 110 + 33 + 7
    codex = dict(used(2500, 900, 450, 110), total_tokens=2950)
    assert stats['by_agent']['codex']['raw'] == codex
    assert stats['by_agent']['grok']['raw'] == {'inputTokens': 1000, 'outputTokens': 100, 'cachedReadTokens': 900, 'cacheCreationTokens': 0,
                                                'reasoningTokens': 33, 'totalTokens': 1100}
    assert 'raw' not in stats['by_agent']['claude'] and stats['by_model'][small.MODEL]['reasoning_inside_output'] == 7
    one = call_script('sd-recall', 'session-stats', THREAD, '--format', 'json', home=home).json()
    assert (one['raw'], one['reasoning_inside_output'], one['tokens']['output']) == (codex, 110, 450)


def test_a_session_of_which_only_damaged_lines_are_left(tmp_path):
    """Two records on one line: damage, and yet readable."""
    rows = [json.dumps(small.user('glued', 1, 1)), json.dumps(small.answer([small.text('reply')], 2, 2))]
    small.write(tmp_path, [''.join(rows).encode('ascii') + b'\n'])
    small.write(tmp_path, [b'not a record\n'], sid=small.OTHER)
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=str(tmp_path)).json()
    assert [stats[key] for key in ('sessions', 'parse_errors', 'user_prompts', 'api_calls')] == [1, 1, 1, 1]


def test_sessions_that_only_a_list_names(home):
    assert call_script('sd-recall', 'doctor', '--format', 'json', home=home).json()['missing_sessions'] == 4
    assert call_script('sd-recall', 'doctor', '--agent', 'codex', '--format', 'json', home=home).json()['missing_sessions'] == 1
    for ref in (NO_THREAD, small.OTHER, NO_KIMI, 'only-listed', NO_KIMI[:20]):
        got = call_script('sd-recall', 'show', ref, home=home)
        assert got.rc == 1 and 'no longer on disk' in got.err and got.out == '', got


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_reasoning_of_a_response_told_in_parts_does_not_depend_on_their_order(order):
    rows = [Usage('m', 10, 1, 0, 0, 0, 0, 5, '', '', '', 0, 0, ''), Usage('m', 10, 20, 0, 0, 0, 1, 5, 'fast', '', '', 0, 0, 'end_turn', 7),
            Usage('m', 10, 20, 0, 0, 0, 1, 5, '', '', '', 0, 0, 'end_turn')]
    fold = analysis.FileAnalysis()
    for place in order:
        fold.add(Event(USAGE, '', 1000, '', 1, 'r', 'r', '', rows[place], place, 0, 0, 0))
    tally = {}
    for fact in fold.facts.values():
        analysis.apply(tally, fact, 1)
    keys = analysis.shared_keys(tally)
    assert (keys['reasoning_inside_output'], keys['tokens']['output'], keys['api_calls']) == (7, 20, 1)
    for fact in fold.facts.values():
        analysis.apply(tally, fact, -1)
    assert tally == {}
