"""explain: the steps from what the files say to what counts, which add up to stats."""
import os
import re
import shutil

import pytest

from helpers import call_script, shared
from small import OTHER, SID, answer, call, result, text, user, write

pytestmark = pytest.mark.slow

CORPORA = ('claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332', 'codex-0.171.0', 'gemini-cli-0.61.0', 'grok-1.0.41', 'kimi-cli-1.49.0',
           'kimi-code-2.1.0', 'opencode-1.18.33', 'qwen-code-0.15.10', 'reasonix-1.38.11')
STEPS = ('usage_lines', 'stream_repeats', 'calls_in_files', 'replays', 'copies', 'left')
# The first session: five usage lines of three calls, and a placeholder.
FIRST = [
    user('one', 1, 0),
    # One response on three lines, its output growing: 10+1, 10+1, 10+50.
    answer([text('a')], 2, 1, 'msg_1', (10, 1, 0, 0), None),
    answer([text('b')], 3, 2, 'msg_1', (10, 1, 0, 0), None),
    answer([call('Bash', {'command': 'ls'})], 4, 3, 'msg_1', (10, 50, 0, 0)),
    result('x', 5, 4),
    answer([text('API Error: overloaded')], 6, 5, 'msg_s', (0, 0, 0, 0), model='<synthetic>', isApiErrorMessage=True),
    answer([text('c')], 7, 6, 'msg_2', (5, 7, 100, 20)),
    # No stop reason and far more text than three tokens: the stream's first count.
    answer([text('long answer ' * 40)], 8, 7, 'msg_3', (6, 3, 0, 0), None)]
# A fork: the first session's rows up to msg_2, then a call of its own.
FORK = [dict(record, forkedFrom={'sessionId': SID, 'messageUuid': record['uuid']}, sessionId=OTHER) for record in FIRST[:7]] + [
    user('two', 20, 100, sid=OTHER), answer([text('d')], 21, 101, 'msg_4', (1, 2, 0, 0), sid=OTHER)]
# A subagent of the fork that repeats one response of it.
HELPER = [user('look', 30, 102, sid=OTHER, isSidechain=True, agentId='abc'),
          answer([text('d')], 31, 103, 'msg_4', (1, 2, 0, 0), sid=OTHER, isSidechain=True, agentId='abc'),
          answer([text('e')], 32, 104, 'msg_5', (4, 4, 0, 0), sid=OTHER, isSidechain=True, agentId='abc')]


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp('explain')
    write(folder, FIRST)
    write(folder, FORK, OTHER)
    write(folder, HELPER, name=OTHER + '/subagents/agent-abc.jsonl')
    return folder


def explain(home, *args):
    got = call_script('sd-recall', 'explain', '--format', 'json', *args, home=home)
    assert (got.rc, got.err) == (0, ''), got
    return got.json()


def steps(data):
    return [data[k] and (data[k]['calls'], data[k]['total_tokens']) for k in (
        'usage_lines', 'stream_repeats', 'calls_in_files', 'replays', 'copies', 'left')]


def stats(home, *args):
    return call_script('sd-recall', 'stats', '--format', 'json', *args, home=home).json()


def test_first_session(home):
    data = explain(home, SID)
    # Lines: 11 + 11 + 60 + 132 + 9; calls: 60 + 132 + 9.
    assert steps(data) == [(5, 223), (2, 22), (3, 201), (0, 0), (0, 0), (3, 201)]
    assert data['placeholders'] == 1 and data['copied_from'] == []
    assert (data['lower_bound']['calls'], data['lower_bound']['tokens']['output']) == (1, 3)


def test_fork_with_a_subagent(home):
    data = explain(home, OTHER)
    # Copied: msg_1 on three lines and msg_2; own: msg_4 (3), msg_4 again in the subagent's file, msg_5 (8).
    assert steps(data) == [(7, 82 + 132 + 3 + 3 + 8), (2, 22), (5, 206), (1, 3), (2, 192), (2, 11)]
    assert data['copied_from'] == [{'session_id': SID, 'calls': 2}]
    own = call_script('sd-recall', 'session-stats', OTHER, '--format', 'json', home=home).json()['own']
    assert data['left']['calls'] == own['api_calls'] and data['left']['tokens'] == own['tokens']


def test_all_sessions_add_up_to_stats(home):
    whole = stats(home)
    for args in ((), ('--read',)):
        data = explain(home, *args)
        assert data['left']['calls'] == whole['api_calls'] == 5
        assert data['left']['tokens'] == whole['tokens'] and data['adds_up'] is True
        assert steps(data)[2:] == [(8, 407), (1, 3), (2, 192), (5, 212)]
    assert steps(data)[:2] == [(12, 451), (4, 44)] and data['placeholders'] == 2
    # msg_3 has no last output count.
    assert data['lower_bound']['calls'] == whole['api_calls'] - whole['output_known_calls'] == 1
    first = explain(home)
    assert first['usage_lines'] is None and first['stream_repeats'] is None and first['placeholders'] is None


def test_window_and_scope(home):
    window = ('--since', '2026-03-02T10:01', '--until', '2026-03-02')
    data = explain(home, *window)
    assert data['left']['calls'] == stats(home, *window)['api_calls'] == 2
    assert explain(home, '--scope', '/nowhere')['left']['calls'] == 0


def test_text_shows_only_steps_that_take_something(home):
    got = call_script('sd-recall', 'explain', SID, home=home)
    assert got.rc == 0
    rows = [line.split() for line in got.out.splitlines() if line[-1:].isdigit() and line[:1] in ' -=']
    assert [row[-2:] for row in rows] == [['5', '223'], ['2', '22'], ['3', '201']]
    assert 'lower bound for 1 of these calls' in got.out and '1 line:' in got.out
    got = call_script('sd-recall', 'explain', home=home)
    assert 'explain --read' in got.out and 'fork, resume' in got.out and SID in got.out
    lines = call_script('sd-recall', 'explain', '--read', '--format', 'tsv', home=home).out.splitlines()
    assert set(line.count('\t') for line in lines) == {7} and lines[1].startswith('USAGE_LINES\t12\t')


def test_a_live_session_is_counted_as_far_as_the_index_goes(tmp_path):
    home = tmp_path
    write(home, FIRST)
    before = explain(home, SID)
    write(home, FIRST + [answer([text('f')], 9, 8, 'msg_6', (1, 1, 0, 0))])
    assert explain(home, SID, '--no-refresh') == before
    assert explain(home, SID)['left']['calls'] == before['left']['calls'] + 1


@pytest.mark.parametrize('corpus', CORPORA)
def test_every_corpus_adds_up_in_json_and_in_text(corpus, tmp_path):
    """Each step is the sum of those below it, of all and of every session, and the words say the same figures."""
    shutil.copytree(shared('corpus', corpus, 'home', 'dev'), str(tmp_path / 'home'), symlinks=True)
    home = tmp_path / 'home'
    whole, data = stats(home), explain(home, '--read')
    assert whole['api_calls'] and data['adds_up'] and data['left']['tokens'] == whole['tokens'] and data['left']['calls'] == whole['api_calls']
    parts = [data]
    sessions = call_script('sd-recall', 'sessions', '--limit', '0', '--format', 'json', home=home).json()['sessions']
    for row in sessions[:6]:
        one = explain(home, row['session_id'])
        own = call_script('sd-recall', 'session-stats', row['session_id'], '--format', 'json', home=home).json()
        # A session without any token count says null of its own.
        known = dict((bucket, amount or 0) for bucket, amount in own['tokens'].items())
        assert one['left']['tokens'] == known and one['adds_up'], row['session_id']
        parts.append(one)
    for one in parts:
        for key in ('calls', 'total_tokens'):
            chain = [one[name][key] for name in STEPS]
            assert chain[0] - chain[1] == chain[2] and chain[2] - chain[3] - chain[4] == chain[5], one['session_id']
        for name in STEPS:
            assert one[name]['total_tokens'] == sum(one[name]['tokens'].values())
    rows = [re.match(r'([ -=]) .*?([\d,]+) +([\d,]+)$', line) for line in call_script('sd-recall', 'explain', '--read', home=home).out.splitlines()]
    rows = [(row.group(1), [int(value.replace(',', '')) for value in row.groups()[1:]]) for row in rows if row]
    for at in range(2):
        # What stands without a sign is where a step has led to.
        begin = rows[0][1][at]
        taken = sum(values[at] for sign, values in rows if sign == '-')
        assert rows[-1][0] == '=' and begin - taken == rows[-1][1][at]
    assert rows[-1][1] == [whole['api_calls'], sum(whole['tokens'].values())]


def test_wrong_arguments(home):
    for args in ((SID, '--since', '7d'), ('--read', '--until', 'today'), (SID, OTHER)):
        assert call_script('sd-recall', 'explain', *args, home=home).rc == 2
    assert call_script('sd-recall', 'explain', 'ffffffff', home=home).rc == 1


def test_first_signs_of_a_response_report_no_usage():
    """Codex 0.171 writes one token_usage_record a response (49 in these files); lines before it tell no tokens."""
    data = explain(os.path.join(shared('corpus', 'codex-0.171.0'), 'home', 'dev'), '--read')
    assert (data['usage_lines']['calls'], data['stream_repeats']['calls'], data['left']['calls']) == (49, 0, 49)
