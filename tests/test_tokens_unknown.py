"""A session with answers and without a token count says unknown, not 0; one that spent nothing says 0."""
import json
import os

import pytest

from helpers import call_script, shared
from homes import Home
import echolib
from echolib import analysis
from echolib.index import access
from echolib.index.catalog import ALL, Catalog, session_keys, tokens_of

NONE = dict.fromkeys(analysis.BUCKETS)
DAY = '2026-01-05T10:00:0%dZ'


def line(role, n, content, **more):
    message = dict({'role': role, 'content': content}, **more)
    return json.dumps({'type': role, 'uuid': 'u%d' % n, 'timestamp': DAY % n, 'cwd': '/home/ann/app', 'message': message}) + '\n'


def answer(n, **usage):
    return line('assistant', n, [{'type': 'text', 'text': 'It is done, here is how.'}], id='m%d' % n, model='claude-sonnet-4-5', stop_reason='end_turn',
                usage=usage)


ASKED = line('user', 1, 'do it')
# name: (path, text, tokens known, replies)
SESSIONS = {
    'claude with usage': ('.claude/projects/-home-ann-app/11111111-0000-4000-8000-000000000001.jsonl',
                          ASKED + answer(2, input_tokens=5, output_tokens=6), True, 1),
    'claude behind a gateway that counts nothing': ('.claude/projects/-home-ann-app/11111111-0000-4000-8000-000000000002.jsonl',
                                                    ASKED + answer(2) + answer(3), False, 2),
    'claude, never answered': ('.claude/projects/-home-ann-app/11111111-0000-4000-8000-000000000003.jsonl', ASKED, True, 0),
    'cards of dim': ('.dim/memory/p1/2026-01-05/one.jsonl', json.dumps({'session_time': DAY % 1, 'intent': 'do it', 'actions': ['did it'],
                                                                      'outcome': 'done', 'learned': []}) + '\n', False, 1),
    'cards of trae': ('.trae-cn/memory/projects/app/20260105/session_memory_abc.jsonl', json.dumps({
        'user_intent': 'do it', 'intent': 'do it', 'actions': ['did it'], 'outcome': 'done', 'timestamp': DAY % 1, 'session_id': 'abc'}) + '\n', False, 1),
    'any program': ('logs/talk.jsonl', '{"role":"user","content":"hello"}\n{"role":"assistant","content":"hi"}\n', False, 1),
    'any program that counts': ('logs/counted.jsonl', '{"role":"user","content":"hello"}\n{"role":"assistant","content":"hi",'
                                '"usage":{"input_tokens":5,"output_tokens":6}}\n', True, 1),
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'CLAUDE_CODE_SESSION_ID'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_UNIVERSAL', str(tmp_path / 'logs'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    return Home(tmp_path)


def rows(home):
    home.build()
    view = access.open_view(lambda text: None, refresh=False)
    try:
        return Catalog(view.db).rows(ALL)
    finally:
        view.store.close()


def put(home, path, text):
    path = os.path.join(home.folder, *path.split('/'))
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, 'a', encoding='utf-8') as handle:
        handle.write(text)
    return path


@pytest.mark.parametrize('name', sorted(SESSIONS))
def test_session(home, name):
    path, text, known, replies = SESSIONS[name]
    path = put(home, path, text)
    row, = rows(home)
    keys = session_keys(row, json.loads(row.tally))
    read = echolib.session_stats(path)
    for got in (keys, read):
        assert got['assistant_messages'] == replies
        assert got['tokens'] == (NONE if not known else dict.fromkeys(analysis.BUCKETS, 0) if not replies else
                                 dict(dict.fromkeys(analysis.BUCKETS, 0), input=5, output=6))
        # What a gateway did not count are tokens; the calls are there. No price is known for a model without a name.
        assert got['cost_usd'] is None if name != 'claude with usage' and replies else got['cost_usd'] is not None
        assert got['api_calls'] == (None if name.startswith('cards') else replies)
    assert tokens_of(row) == keys['tokens']
    assert ('tokens_note' in read, read['total_tokens'] is None) == (not known, not known)
    assert row.msg_count == 1 + replies


def test_totals_hold_the_answers_of_sessions_without_counts(home):
    # Two sessions of Claude would share a response.
    chosen = [SESSIONS[name] for name in sorted(SESSIONS) if name != 'claude with usage']
    for path, text, _, _ in chosen:
        put(home, path, text)
    home.build()
    total = call_script('sd-recall', 'stats', '--format', 'json', home=home.folder, SESSION_DIGGER_DATA_DIR=home.data,
                        SESSION_DIGGER_UNIVERSAL=os.path.join(home.folder, 'logs'), SESSION_DIGGER_ARCHIVE='0').json()
    assert total['assistant_messages'] == sum(replies for _, _, _, replies in chosen) == 6


def test_a_count_that_comes_later_makes_it_known(home):
    path, text, _, _ = SESSIONS['claude behind a gateway that counts nothing']
    put(home, path, text)
    assert tokens_of(rows(home)[0]) == NONE
    put(home, path, answer(4, input_tokens=7, output_tokens=8))
    row, = rows(home)
    assert tokens_of(row) == dict(dict.fromkeys(analysis.BUCKETS, 0), input=7, output=8)
    # The prompt and three responses; what two of them cost nobody knows.
    assert (row.msg_count, session_keys(row, json.loads(row.tally))['api_calls']) == (4, 3)


@pytest.mark.slow
def test_commands_say_so(tmp_path):
    """Reasonix 1.38: ten sessions were answered, one met only an error; the ledger has the tokens of all."""
    home = os.path.join(shared('corpus', 'reasonix-1.38.11'), 'home', 'dev')
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    assert stats['tokens_unknown'] == {'reasonix': 10}
    assert stats['tokens']['output'] > 0
    sessions = call_script('sd-recall', 'sessions', '--format', 'json', home=home).json()['sessions']
    assert sorted(str(s['tokens']['output']) for s in sessions) == ['0'] + ['None'] * 10
    one = next(s['session_id'] for s in sessions if s['tokens']['output'] is None)
    assert 'tokens and cost: unknown; Reasonix' in call_script('sd-recall', 'session-stats', one, home=home).out
    assert ' tokens, cost unknown' in call_script('sd-recall', 'export', one, home=home).out
    assert call_script('sd-recall', 'session-stats', one, '--format', 'tsv', home=home).rc == 0
    assert call_script('index-builder', 'verify', '--format', 'json', home=home).json()['damage'] == []
