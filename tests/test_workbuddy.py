"""WorkBuddy and CodeBuddy: prompts inside their mark, tokens once a response, deleted sessions left out.

fixtures/workbuddy/home holds the files, db.sql the list of sessions; expected.json was worked out by hand.
"""
import json
import os
import shutil
import sqlite3

import pytest

import folding
from helpers import FIXTURES
from echolib.adapters import registry, workbuddy, workbuddy_parse
from echolib.base import sqlite_ro
from echolib.records import Coverage, Record

FOLDER = os.path.join(FIXTURES, 'workbuddy')
MAIN = '5b1e0000-0000-4000-8000-000000000001'
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)


@pytest.fixture
def home(tmp_path):
    """The fixture's home folder with its database."""
    path = str(tmp_path / 'home')
    shutil.copytree(os.path.join(FOLDER, 'home'), path)
    db = sqlite3.connect(os.path.join(path, '.workbuddy', 'workbuddy.db'))
    db.execute('pragma journal_mode=wal')
    with open(os.path.join(FOLDER, 'db.sql'), encoding='utf-8') as handle:
        db.executescript(handle.read())
    db.close()
    yield path
    sqlite_ro.let_go()


def sessions(home, problems=None):
    out = {}
    for name in ('.workbuddy', '.codebuddy', '.codebuddy-cn'):
        out.update(folding.sessions(workbuddy, os.path.join(home, name), problems))
    return out


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(home, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(workbuddy, sessions(home)[sid], expected) == expected


def test_everything_together(home):
    assert folding.added_up(workbuddy, sessions(home).values()) == EXPECTED['all']


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_stands_once(home, needle):
    kind, chain, times = EXPECTED['needles'][needle]
    found = [event for session in sessions(home).values() for source in session.sources for event in folding.events(workbuddy, source)
             if needle in event.text]
    assert [(event.kind, event.chain) for event in found] == [(kind, chain)] * times


def test_events_are_found_again(home):
    before = folding.photograph(home)
    assert sum(folding.found_again(workbuddy, source) for session in sessions(home).values() for source in session.sources) > 35
    assert folding.photograph(home) == before


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    below = lambda *names: [os.path.join(str(tmp_path), name) for name in names]
    assert workbuddy.roots({}) == below('.workbuddy', '.codebuddy', '.codebuddy-cn')
    assert workbuddy.roots({'WORKBUDDY_DIR': str(tmp_path / 'w' / 'projects'), 'CODEBUDDY_CONFIG_DIR': str(tmp_path / 'c')}) == below('w', 'c', '.codebuddy-cn')
    assert workbuddy.roots({'WORKBUDDY_DIR': str(tmp_path / 'x'), 'CODEBUDDY_CONFIG_DIR': str(tmp_path / 'x')}) == below('x', '.codebuddy-cn')


def test_scan(home):
    rows = dict((row[0][len(home) + 1:], row[3:]) for name in ('.workbuddy', '.codebuddy') for row in workbuddy.scan(os.path.join(home, name), []))
    top = '.workbuddy/projects/home-ann-shop/'
    assert rows == {
        top + MAIN + '.jsonl': ('main', '', MAIN, 'home-ann-shop'),
        top + MAIN + '/subagents/explorer-1.jsonl': ('agent', 'explorer-1', MAIN, 'home-ann-shop'),
        top + 'untitled.jsonl': ('main', '', 'untitled', 'home-ann-shop'),
        '.codebuddy/projects/-home-ann-api/nested/0c0c0c0c-0000-4000-8000-000000000002.jsonl':
            ('main', '', '0c0c0c0c-0000-4000-8000-000000000002', '-home-ann-api')}
    problems = []
    assert list(workbuddy.scan(os.path.join(home, '.codebuddy-cn'), problems)) == []
    assert [why for _, why in problems] == ['No such file or directory']


def test_list_of_sessions_that_cannot_be_read(home):
    path = os.path.join(home, '.workbuddy', 'workbuddy.db')
    with open(path, 'wb') as handle:
        handle.write(b'no database' * 100)
    problems = []
    found = sessions(home, problems)
    # Nothing says any more that one was deleted; and what has no title of its own has none.
    assert 'thrown-away' in found and (path, 'the file is not a database, or is encrypted') in problems
    assert folding.numbers(workbuddy, found['untitled'])[2].get('ai-title') is None
    os.remove(path)
    assert 'thrown-away' in sessions(home)


def test_owns(home, tmp_path):
    for session in sessions(home).values():
        for source in session.sources:
            assert workbuddy.owns(source.path) and registry.detect(source.path) is workbuddy
            moved = str(tmp_path / os.path.basename(source.path))
            shutil.copy(source.path, moved)
            assert workbuddy.owns(moved), moved
    for name in ('.codebuddy/traces/77/trace_1.jsonl', '.workbuddy/workbuddy.db'):
        assert not workbuddy.owns(os.path.join(home, name))
    with open(str(tmp_path / 'other.jsonl'), 'w', encoding='utf-8') as handle:
        handle.write('{"type":"user","message":{"role":"user","content":"x"},"sessionId":"s"}\n')
    assert not workbuddy.owns(str(tmp_path / 'other.jsonl')) and not workbuddy.owns(str(tmp_path / 'none.jsonl'))


def test_session_at(home):
    path = os.path.join(home, '.workbuddy', 'projects', 'home-ann-shop', MAIN)
    whole = workbuddy.session_at(path + '.jsonl')
    assert (whole.id, whole.folder, whole.root) == (MAIN, 'home-ann-shop', os.path.join(home, '.workbuddy'))
    assert [(s.role, s.chain) for s in whole.sources] == [('main', ''), ('agent', 'explorer-1')]
    one = workbuddy.session_at(os.path.join(path, 'subagents', 'explorer-1.jsonl'))
    assert (one.id, [s.role for s in one.sources]) == (MAIN, ['agent'])
    assert workbuddy.head(path + '.jsonl') == {'session': MAIN}
    assert workbuddy.inherited(path + '.jsonl', MAIN) == 0


def test_a_file_that_grows_gives_what_a_whole_one_does(home, tmp_path):
    path = os.path.join(home, '.workbuddy', 'projects', 'home-ann-shop', MAIN + '.jsonl')
    with open(path, 'rb') as handle:
        lines = handle.readlines()
    source = workbuddy.session_at(path).sources[0]
    whole = folding.events(workbuddy, source)
    for cut in range(len(lines)):
        with open(path, 'wb') as handle:
            handle.write(b''.join(lines[:cut]))
        state, coverage = {}, Coverage(path)
        got = folding.events(workbuddy, source, coverage, state)
        with open(path, 'ab') as handle:
            handle.write(b''.join(lines[cut:]))
        if coverage.open_end or not coverage.offset:
            # To be read anew: only before the first message that marks what was typed.
            assert cut < 2
            continue
        state = json.loads(json.dumps(state))
        got += [e for some in workbuddy.read(source, Coverage(path, coverage.offset, coverage.line), coverage.offset, coverage.line, state) for e in some]
        assert got == whole


# records


def parsed(records, state=None, chain=''):
    coverage = Coverage()
    parser = workbuddy_parse.Parser(coverage, chain, 's', {} if state is None else state)
    return [e for n, data in enumerate(records) for e in parser.events(Record(data, n + 1, n * 100, 100))], coverage


def user(text, **fields):
    return dict({'id': 'm', 'type': 'message', 'role': 'user', 'timestamp': 1772355600000, 'content': text}, **fields)


SLOTS = {
    'marked': (True, '<user_query>do it</user_query>', ('prompt', 'typed', 'do it')),
    'marked twice': (True, '<user_query>do it</user_query> x <user_query>now</user_query>', ('prompt', 'typed', 'do it\nnow')),
    'mark that is not closed': (True, '<user_query>do it', ('prompt', 'typed', 'do it')),
    'command': (True, '<user_query>/init all</user_query>', ('prompt', 'slash', '/init all')),
    'empty mark': (True, '<user_query> </user_query>', ('injected', 'meta', '<user_query> </user_query>')),
    'not marked where others are': (True, 'plan mode', ('injected', 'meta', 'plan mode')),
    'not marked anywhere': (False, 'do it', ('prompt', 'typed', 'do it')),
    'reminder': (False, '<system-reminder>x</system-reminder>', ('injected', 'reminder', '<system-reminder>x</system-reminder>')),
    'placeholder': (False, 'code', ('injected', 'meta', 'code')),
    'blank': (False, '  ', None),
}


@pytest.mark.parametrize('name', sorted(SLOTS))
def test_what_stands_in_a_users_place(name):
    marked, text, expected = SLOTS[name]
    for content in (text, [{'type': 'input_text', 'text': text}]):
        found, _ = parsed([user(content)], {'asks': marked})
        assert [(e.kind, e.label, e.text) for e in found] == ([expected] if expected else [])
    assert [e.kind for e in parsed([user(text)], {'asks': marked}, 'agent')[0]] == (['injected'] if expected else [])


def test_placeholder_is_only_the_first_message():
    assert [e.kind for e in parsed([user('code', parentId='m0')])[0]] == ['prompt']


USAGES = {
    # name: (record, (input, output, read, write))
    'hit and miss': ({'providerData': {'rawUsage': {'prompt_tokens': 50, 'completion_tokens': 5, 'prompt_cache_hit_tokens': 40, 'prompt_cache_miss_tokens': 10}}}, (10, 5, 40, 0)),
    'hits beside the prompt': ({'providerData': {'rawUsage': {'prompt_tokens': 50, 'completion_tokens': 5, 'prompt_cache_hit_tokens': 40, 'prompt_cache_miss_tokens': 50}}}, (50, 5, 40, 0)),
    'more hits than prompt': ({'providerData': {'rawUsage': {'prompt_tokens': 50, 'completion_tokens': 5, 'prompt_cache_hit_tokens': 90}}}, (50, 5, 90, 0)),
    'details': ({'providerData': {'rawUsage': {'prompt_tokens': 50, 'completion_tokens': 5, 'prompt_tokens_details': {'cached_tokens': 20}, 'prompt_cache_write_tokens': 7}}}, (23, 5, 20, 7)),
    'raw before the others': ({'providerData': {'rawUsage': {'prompt_tokens': 1, 'completion_tokens': 2}, 'usage': {'inputTokens': 9}}, 'message': {'usage': {'input_tokens': 9}}}, (1, 2, 0, 0)),
    'camel case, list of details': ({'providerData': {'usage': {'inputTokens': 50, 'outputTokens': 5, 'inputTokensDetails': [{'cached_tokens': 10}, {'cached_tokens': 20}]}}}, (20, 5, 30, 0)),
    'snake case': ({'message': {'usage': {'input_tokens': 50, 'output_tokens': 5, 'input_tokens_details': {'cached_tokens': 10}}}}, (40, 5, 10, 0)),
    'zeros': ({'providerData': {'rawUsage': {'prompt_tokens': 0, 'completion_tokens': 0}}}, None),
    'nothing': ({'providerData': {}}, None),
    'wrong types': ({'providerData': {'rawUsage': {'prompt_tokens': [], 'completion_tokens': '7'}, 'usage': 5}, 'message': 'x'}, (0, 7, 0, 0)),
}


@pytest.mark.parametrize('name', sorted(USAGES))
def test_usage(name):
    record, expected = USAGES[name]
    found = workbuddy_parse.usage_of(record)
    assert (found and (found.input, found.output, found.cache_read, found.cache_write_5m)) == expected


MODELS = {'glm-5': {'requestModelId': 'glm-5', 'model': 'other'}, 'deepseek': {'requestModelName': 'custom-local:deepseek'}, 'x': {'requestModelId': 'auto', 'model': 'x'},
          '': {'model': 'auto'}}


@pytest.mark.parametrize('model', sorted(MODELS))
def test_model(model):
    assert workbuddy_parse.model_of({'providerData': MODELS[model]}) == model


RESULTS = {
    'ok': ({'status': 'completed', 'output': 'fine'}, 'ok', 'fine'),
    'failed': ({'status': 'failed', 'output': {'type': 'text', 'text': 'no'}}, 'error', 'no'),
    'exit code': ({'status': 'completed', 'output': 'Exit Code: 1\nno'}, 'error', 'Exit Code: 1\nno'),
    'exit code further down': ({'output': [{'type': 'text', 'text': 'out'}, {'type': 'text', 'text': 'Exit Code: 3'}]}, 'error', 'out\nExit Code: 3'),
    'good exit code': ({'output': 'Exit Code: 0'}, 'ok', 'Exit Code: 0'),
    'skipped': ({'status': 'failed', 'skipRun': True, 'output': ''}, 'declined', ''),
    'object': ({'output': {'rows': 3}}, 'ok', '{"rows": 3}'),
}


@pytest.mark.parametrize('name', sorted(RESULTS))
def test_results(name):
    record, label, text = RESULTS[name]
    found, _ = parsed([dict(record, id='o', type='function_call_result', callId='call_1')])
    assert [(e.kind, e.label, e.text, e.data.call_id) for e in found] == [('tool_result', label, text, 's/call_1')]


def test_a_stopped_turn_counts_once():
    call = lambda n, trace: {'id': 'c%d' % n, 'type': 'function_call', 'callId': 'k%d' % n, 'name': 'Bash', 'providerData': {'traceId': trace}}
    stop = lambda n: {'id': 'o%d' % n, 'type': 'function_call_result', 'callId': 'k%d' % n, 'status': 'canceled'}
    found, _ = parsed([call(1, 't1'), call(2, 't1'), stop(1), stop(2), call(3, 't2'), stop(3),
                       {'id': 'a', 'type': 'message', 'role': 'assistant', 'status': 'cancelled', 'content': 'half', 'providerData': {'traceId': 't2'}}])
    assert len(set(e.id for e in found if e.kind == 'interruption')) == 2


def test_times_are_numbers():
    assert [e.time for e in parsed([user('a', timestamp='2026-03-01T10:00:00Z'), user('b'), user('c', timestamp=None)])[0]] == [None, 1772355600000, None]


def test_titles():
    say = lambda kind, text: {'type': kind, 'aiTitle' if kind == 'ai-title' else 'topic': text}
    found, _ = parsed([say('topic', 'first'), say('ai-title', 'second'), say('topic', 'third'), say('ai-title', 'second'), say('ai-title', 7)])
    assert [(e.label, e.text) for e in found] == [('ai-title', 'first'), ('ai-title', 'second'), ('topic', 'third')]


def test_copies_keep_their_ids():
    row = {'id': '00000000-1111-4222-8333-444444444444', 'type': 'message', 'role': 'assistant', 'content': 'x', 'sessionId': 'old'}
    found, _ = parsed([row])
    assert [(e.kind, e.label, e.id) for e in found] == [('meta', 'foreign', None), ('reply', '', row['id'])]


def test_drift_and_damage(tmp_path):
    found, coverage = parsed([{'type': 'warp'}, {}, {'type': ['x']}, {'type': 'message', 'role': 'oracle'}, {'type': 'message'}, {'type': 'reasoning', 'content': [1, None, {}]}])
    assert [e.kind for e in found] == ['unknown'] * 5 and coverage.unknown_records == 5
    path = str(tmp_path / 's.jsonl')
    for data in (b'', b'\0\0\n', b'\xff\n{"type":"message"\n[]\n{"type":"message","role":"user","content":"late"}\n'):
        with open(path, 'wb') as handle:
            handle.write(data)
        coverage = Coverage(path)
        folding.events(workbuddy, workbuddy.Source(path, 'main', '', 's', 0, 0), coverage)
        assert coverage.parse_errors <= coverage.lines


def test_backups_are_not_decoded():
    line = b'{"id":"f","type":"file-history-snapshot","snapshot":{}}\n'
    assert workbuddy_parse.is_noise_line(line)
    # Cut off, or inside of something that is conversation.
    assert not workbuddy_parse.is_noise_line(line[:-3])
    assert not workbuddy_parse.is_noise_line(b'{"type":"message","content":[' + line[:-1] + b']}\n')


def test_resume_and_the_rest():
    assert workbuddy.resume('s', '/home/ann') == ['codebuddy', '--resume', 's']
    assert workbuddy.billed(None) is None and workbuddy.spill_path(None, 'x') == ''
    assert workbuddy.files_of('Write', {'file_path': 'a'}) == [('write', 'a')]


@pytest.mark.slow
def test_as_a_user_sees_it(home):
    before = folding.photograph(home)
    assert folding.asked(home, 'workbuddy') == (EXPECTED['all'], '')
    assert folding.asked(home, 'workbuddy', SESSION_DIGGER_DATA_DIR=os.path.join(FOLDER, 'db.sql', 'no'))[0] == EXPECTED['all']
    assert folding.photograph(home) == before
    # Restored in the list of sessions, it is there again.
    db = sqlite3.connect(os.path.join(home, '.workbuddy', 'workbuddy.db'))
    db.execute('update sessions set deleted_at = null')
    db.commit()
    db.close()
    assert folding.asked(home, 'workbuddy')[0]['sessions'] == 4
