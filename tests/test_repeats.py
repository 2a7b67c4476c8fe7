"""What a client writes a second time when it reopens a session counts once; a clock that was set loses nothing."""
import json
import os

import pytest

from echolib import analysis
from echolib.adapters import codex, grok
from echolib.records import Coverage

THREAD, SESSION = '019cadc6-9a80-7000-9001-00000000c606', '0b0b0b0b-0002-4002-8002-000000000003'


def rollout(second, kind, **payload):
    return {'timestamp': '2026-03-02T09:00:%02d.000Z' % second, 'type': kind, 'payload': payload}


def counted(second, total, last):
    total, last = [dict(zip(('input_tokens', 'output_tokens'), pair), cached_input_tokens=0) for pair in (total, last)]
    return rollout(second, 'event_msg', type='token_count', info={'total_token_usage': total, 'last_token_usage': last})


HEAD = [rollout(0, 'session_meta', id=THREAD, cwd='/home/dev/app')]
TALK = [rollout(1, 'turn_context', turn_id='t' * 20, model='m', cwd='/home/dev/app'), rollout(2, 'event_msg', type='user_message', message='red'),
        rollout(3, 'event_msg', type='agent_message', message='green'), counted(4, (100, 10), (100, 10)),
        rollout(5, 'event_msg', type='agent_message', message='blue'), counted(6, (300, 30), (200, 20))]
MORE = [rollout(30, 'event_msg', type='user_message', message='and now'), rollout(31, 'event_msg', type='agent_message', message='done'),
        counted(32, (400, 40), (100, 10))]
ELSEWHERE = [dict(row, payload=dict(row['payload'], cwd='/mnt/app')) if 'cwd' in row['payload'] else row for row in TALK]
# The clock was set back by half a minute, and work went on.
EARLY = [rollout(1, 'event_msg', type='user_message', message='back in time'), rollout(2, 'event_msg', type='agent_message', message='fine'),
         counted(3, (500, 50), (200, 20))]


def update(second, update):
    return {'timestamp': 1772442000 + second, 'params': {'sessionId': SESSION, 'update': update}}


def turn(second, number):
    bill = {'inputTokens': 100, 'outputTokens': 10, 'modelCalls': 1}
    return [update(second, {'sessionUpdate': 'user_message_chunk', 'content': {'type': 'text', 'text': 'ask %d' % number}}),
            update(second + 1, {'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': 'reply'}}),
            update(second + 2, {'sessionUpdate': 'turn_completed', 'prompt_id': 'p%d' % number, 'usage': dict(bill, modelUsage={'m': bill})})]


# name: (agent, records, prompts, calls, input)
STREAMS = {
    'codex, as it is': (codex, HEAD + TALK, 1, 2, 300),
    'codex, a block again': (codex, HEAD + TALK + TALK, 1, 2, 300),
    'codex, again and again': (codex, HEAD + TALK + TALK + TALK, 1, 2, 300),
    'codex, all of it again': (codex, HEAD + TALK + HEAD + TALK, 1, 2, 300),
    'codex, part of it again, then more': (codex, HEAD + TALK + TALK[2:5] + MORE, 2, 3, 400),
    'codex, again in another directory': (codex, HEAD + TALK + MORE + ELSEWHERE, 2, 3, 400),
    'codex, the clock set back': (codex, HEAD + TALK + MORE + EARLY, 3, 4, 600),
    'grok, as it is': (grok, turn(0, 1) + turn(10, 2), 2, 2, 200),
    'grok, a block again': (grok, turn(0, 1) + turn(10, 2) + turn(0, 1) + turn(10, 2), 2, 2, 200),
    'grok, again, then more': (grok, turn(0, 1) + turn(10, 2) + turn(0, 1) + turn(20, 3), 3, 3, 300),
    'grok, the clock set back': (grok, turn(20, 1) + turn(0, 2), 2, 2, 200),
}


@pytest.mark.parametrize('pieces', [1, 3])
@pytest.mark.parametrize('name', sorted(STREAMS))
def test_counts(tmp_path, name, pieces):
    agent, rows, prompts, calls, sent = STREAMS[name]
    path = tmp_path / 'sessions' / 'g' / SESSION / 'updates.jsonl' if agent is grok else tmp_path / ('rollout-2026-03-02T09-00-00-%s.jsonl' % THREAD)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(row) + '\n' for row in rows]
    state, offset, line, fold = {}, 0, 0, analysis.FileAnalysis()
    for piece in range(pieces):
        path.write_text(''.join(lines[:len(lines) * (piece + 1) // pieces]), encoding='utf-8')
        source = agent.session_at(str(path)).sources[0]
        coverage = Coverage(str(path), offset, line)
        for events in agent.read(source, coverage, offset, line, state):
            for event in events:
                fold.add(event)
        offset, line, state = coverage.offset, coverage.line, json.loads(json.dumps(state))
    assert (line, offset) == (len(lines), os.path.getsize(str(path)))
    tally = {}
    for fact in fold.facts.values():
        analysis.apply(tally, fact, 1)
    keys = analysis.shared_keys(tally)
    assert (keys['user_prompts'], keys['api_calls'], keys['tokens']['input']) == (prompts, calls, sent)
