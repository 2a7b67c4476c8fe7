"""Files of agents nobody described: which shape they have and how sure that is, what becomes of them, what is refused.

fixtures/universal/logs holds a file a shape, named/ what agents.json has to describe; expected.json was worked out by hand.
"""
import gzip
import json
import os
import random
import shutil

import pytest

import echolib
import folding
from echolib.adapters import registry, universal, universal_config, universal_families, universal_fields, universal_read, universal_shapes
from echolib.base.errors import EchoError
from echolib.records import Coverage
from helpers import FIXTURES, ROOT, call_script, shared

FOLDER = os.path.join(FIXTURES, 'universal')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without any agent, with copies of the fixtures in logs and named."""
    for name in ('HOME', 'USERPROFILE'):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv('TZ', 'UTC')
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'GROK_HOME', 'CODEX_HOME', universal.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    (tmp_path / 'data').mkdir()
    for name in ('logs', 'named'):
        shutil.copytree(os.path.join(FOLDER, name), str(tmp_path / name))
    return tmp_path


@pytest.fixture
def logs(home, monkeypatch):
    """The folder logs, named by the environment."""
    monkeypatch.setenv(universal.VARIABLE, str(home / 'logs'))
    return str(home / 'logs')


def configure(home, *entries, **whole):
    with open(str(home / 'data' / 'agents.json'), 'w', encoding='utf-8') as out:
        json.dump(whole or {'agents': list(entries)}, out)


def write(path, *records):
    with open(str(path), 'wb') as out:
        for record in records:
            out.write(record if isinstance(record, bytes) else json.dumps(record).encode('ascii') + b'\n')
    return str(path)


def placed(root):
    """Return {session id: Session} as an index would place the files."""
    out = {}
    for session in universal.discover(root, []):
        source = session.sources[0]
        facts = universal.head(source.path)
        out[facts['session']] = session._replace(id=facts['session'], sources=(source._replace(role=facts['role'], chain=facts['chain']),))
    return out


def events(path, coverage=None):
    session = universal.session_at(str(path))
    return folding.events(universal, session.sources[0], coverage)


def shape(*records, **more):
    return universal_shapes.probe(list(records), more.get('mapping'))


# where it looks

def test_there_is_no_default_root(home):
    assert universal.roots() == [] and universal.mappings() == ([], '')
    assert not universal.owns(str(home / 'logs' / 'turns.jsonl'))


def test_folders_are_named_by_the_environment_and_by_a_file(home, monkeypatch):
    configure(home, {'root': '~/named', 'name': 'desk'}, {'root': str(home / 'logs')})
    monkeypatch.setenv(universal.VARIABLE, os.pathsep.join((str(home / 'logs'), str(home / 'nowhere'), '')))
    assert universal.roots() == [str(home / 'named'), str(home / 'logs'), str(home / 'nowhere')]
    problems = []
    assert list(universal.scan(str(home / 'nowhere'), problems)) == [] and problems == [(str(home / 'nowhere'), 'No such file or directory')]


def test_which_files_are_looked_at(logs):
    found = set(os.path.relpath(row[0], logs) for row in universal.scan(logs, []))
    everything = set(os.path.relpath(os.path.join(where, name), logs) for where, _, names in os.walk(logs) for name in names)
    assert everything - found == set(('auth.json', 'usage.jsonl'))


def test_a_pattern_names_side_files_and_documents_but_no_credentials(home):
    configure(home, {'root': str(home / 'logs'), 'glob': 'usage.jsonl'}, {'root': str(home / 'named'), 'glob': '**/*.json'},
              {'root': str(home / 'logs'), 'glob': 'a*.json'})
    assert [os.path.basename(row[0]) for root in universal.roots() for row in universal.scan(root, [])] == ['usage.jsonl', 'thread-1.json']


@pytest.mark.parametrize('glob, path, fits', [
    ('*.jsonl', 'a.jsonl', True), ('*.jsonl', 'x/a.jsonl', False), ('**/*.jsonl', 'x/y/a.jsonl', True), ('**/*.jsonl', 'a.jsonl', True),
    ('talk-?.jsonl', 'talk-1.jsonl', True), ('talk-?.jsonl', 'talk-12.jsonl', False), ('a+b/*.json', 'a+b/c.json', True),
    ('x/**/z.json', 'x/z.json', True), ('x/**/z.json', 'x/1/2/z.json', True), ('x/**/z.json', 'y/z.json', False)])
def test_patterns(glob, path, fits):
    assert universal_config.matches(glob, path) is fits


@pytest.mark.parametrize('entry, word', [
    ('x', '"root"'), ({}, '"root"'), ({'root': 5}, '"root"'), ({'root': '/x', 'famly': 'flat_role'}, 'famly'),
    ({'root': '/x', 'family': 'nope'}, '"family"'), ({'root': '/x', 'fields': {'colour': 'a'}}, 'colour'), ({'root': '/x', 'fields': []}, None),
    ({'root': '/x', 'fields': {'role': 'who'}}, '"text"'), ({'root': '/x', 'fields': {'text': 3}}, '"fields"'),
    ({'root': '/x', 'roles': {'a': 'boss'}}, 'boss'), ({'root': '/x', 'resume': 'cmd'}, '"resume"'), ({'root': '/x', 'glob': 4}, '"glob"')])
def test_faults_of_an_entry(home, entry, word):
    configure(home, entry, {'root': '/y'})
    found, wrong = universal.mappings()
    assert [mapping.root for mapping in found][-1] == '/y'
    assert (word in wrong) if word else not wrong


@pytest.mark.parametrize('text, word', [('{"agents": ', 'not JSON'), ('{"other": []}', '"agents"'), ('[' * 100000, 'not JSON'), ('7', '"agents"')])
def test_a_broken_file_is_one_problem(home, text, word):
    path = str(home / 'data' / 'agents.json')
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)
    problems = []
    assert universal.roots() == [path] and list(universal.scan(path, problems)) == []
    assert len(problems) == 1 and problems[0][0] == path and word in problems[0][1]


def test_a_folder_of_another_agent_is_refused_and_passed_over(home, monkeypatch):
    inside = home / '.claude' / 'projects' / 'p'
    inside.mkdir(parents=True)
    write(inside / 's.jsonl', {'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'})
    write(home / 'own.jsonl', {'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'})
    monkeypatch.setenv(universal.VARIABLE, os.pathsep.join((str(inside), str(home))))
    problems = []
    assert list(universal.scan(str(inside), problems)) == [] and 'another agent' in problems[0][1]
    names = [os.path.basename(row[0]) for row in universal.scan(str(home), problems)]
    assert 'own.jsonl' in names and 's.jsonl' not in names


@pytest.mark.skipif(os.name == 'nt', reason='links')
def test_links_that_lead_out_are_not_followed(home, monkeypatch):
    top = home / 'top'
    top.mkdir()
    outside = write(home / 'outside.jsonl', {'role': 'user', 'content': 'a'})
    inside = write(top / 'inside.jsonl', {'role': 'user', 'content': 'a'})
    os.symlink(outside, str(top / 'a.jsonl'))
    os.symlink(inside, str(top / 'b.jsonl'))
    os.symlink(str(home), str(top / 'loop'))
    monkeypatch.setenv(universal.VARIABLE, str(top))
    assert [os.path.basename(row[0]) for row in universal.scan(str(top), [])] == ['b.jsonl', 'inside.jsonl']


@pytest.mark.parametrize('place, name', [
    ('abc.jsonl', 'abc'), ('x/messages.jsonl', 'x'), ('messages.jsonl', 'messages'), ('x/chat.jsonl.gz', 'x'), ('session-0190aaaa-1.jsonl', '0190aaaa-1'),
    ('session-notes-on-tea.jsonl', 'session-notes-on-tea'), ('T-1.json', 'T-1'), ('.jsonl', '.jsonl')])
def test_names_of_sessions(place, name):
    assert universal.session_name(place) == name


# every shape

@pytest.mark.parametrize('sid', sorted(EXPECTED))
def test_session(logs, sid):
    expected = dict((key, value) for key, value in EXPECTED[sid].items() if key not in ('why', 'arithmetic'))
    session = placed(logs)[sid]
    keys, models, profile, coverage = folding.numbers(universal, session)
    found = dict((key, keys[key]) for key in expected if key in keys)
    probed = universal_read.shape_of(session.sources[0].path, universal.mapping_of(session.sources[0].path))
    # A shape with a reader of its own says the client's version, where there is one; the others say the shape.
    if profile.get('version'):
        assert profile['version'] == '%s, %s' % (probed.family, probed.sure)
    found.update(family=probed.family, sure=probed.sure, models=dict((m, row['api_calls']) for m, row in models.items()))
    for key, value in (('project', profile.get('cwd')), ('title', profile.get('ai-title')), ('unknown_records', coverage.unknown_records),
                       ('parse_errors', coverage.parse_errors)):
        if key in expected or value:
            found[key] = value
    assert found == expected


def test_every_file_is_expected(logs):
    assert set(placed(logs)) == set(EXPECTED) | set(('prompts',))


def test_texts_are_those_of_the_records(logs):
    found = events(os.path.join(logs, 'chat-with-tools-0001.jsonl'))
    assert [(event.kind, event.label, event.text) for event in found if event.part >= 0 and event.kind != 'usage'] == [
        ('injected', 'system', 'You are a helper.\nWorking directory: /home/dev/shop'), ('prompt', 'typed', 'rename the flag okapi'),
        ('thinking', '', 'a flag, then'), ('reply', '', 'I look first.'), ('tool_call', 'bash', 'grep -rn flag'),
        ('tool_call', 'edit', 'cli.py\na'), ('tool_result', 'error', 'Exit code: 2\nno such folder'), ('tool_result', 'ok', 'written'),
        ('reply', '', 'It is renamed.'), ('prompt', 'typed', 'look at this\n[image]'), ('reply', '', 'A picture.')]
    assert [event.text for event in events(os.path.join(logs, 'stream.jsonl')) if event.kind in ('thinking', 'reply')] == ['of what', 'A map of the harbour.']


def test_what_the_program_put_in_is_no_prompt(home):
    path = write(home / 'in.jsonl', {'role': 'user', 'content': '<session_context>\nfiles\n</session_context>'},
                 {'role': 'user', 'content': '<system-reminder>x</system-reminder>\n<user_query>paint it</user_query>'},
                 {'role': 'user', 'content': '<system-reminder>only</system-reminder>'}, {'role': 'user', 'content': '/clear all'},
                 {'role': 'user', 'content': 'a <b> tag', 'isMeta': True}, {'role': 'assistant', 'content': 'ok'})
    assert [(event.kind, event.label, event.text) for event in events(path) if event.part >= 0 and event.kind != 'usage'] == [
        ('injected', 'meta', '<session_context>\nfiles\n</session_context>'), ('prompt', 'typed', 'paint it'),
        ('injected', 'reminder', '<system-reminder>only</system-reminder>'), ('prompt', 'slash', '/clear all'), ('injected', 'meta', 'a <b> tag'),
        ('reply', '', 'ok')]


def test_records_that_repeat_the_list_so_far(home):
    said = [{'role': 'user', 'content': 'one'}, {'role': 'assistant', 'content': 'two'}, {'role': 'user', 'content': 'one'}, {'role': 'assistant', 'content': 'four'}]
    path = write(home / 'calls.jsonl', *[{'time': 1772355600 + n, 'model': 'm', 'messages': said[:n], 'usage': {'input_tokens': 10 * n, 'output_tokens': 1}}
                                         for n in (2, 4)])
    keys, models, _, _ = folding.numbers(universal, universal.session_at(path))
    # The usage of a record is that of its last message: 20 + 40, 1 + 1.
    assert (keys['user_prompts'], keys['api_calls'], keys['tokens']['input'], keys['tokens']['output'], list(models)) == (2, 2, 60, 2, ['m'])
    other = write(home / 'talks.jsonl', {'messages': said[:2]}, {'messages': said[1::-1]}, {'messages': [dict(said[0], content='x')] + said[1:2]})
    keys = folding.numbers(universal, universal.session_at(other))[0]
    assert (keys['user_prompts'], keys['api_calls']) == (3, 3)


def test_a_history_of_several_sessions_is_no_session(logs):
    path = os.path.join(logs, 'prompts.jsonl')
    assert universal.head(path) == {'session': 'prompts', 'role': 'history', 'chain': 'history'}
    assert [(event.label, event.message, event.text) for event in events(path) if event.kind == 'prompt'] == [
        ('history', 's-1', 'rename the zebra flag'), ('history', 's-2', 'another thing')]
    os.remove(path)
    write(path, {'display': 'a prompt', 'timestamp': 1772960400000, 'sessionId': 's-9'}, {'display': 'b', 'timestamp': 1772960400001, 'sessionId': 's-9'})
    assert universal.head(path) == {'session': 's-9', 'role': 'main', 'chain': ''}


SHAPES = {
    'openai_chat': ({'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}),
    'claude_envelope': ({'type': 'user', 'uuid': 'u', 'sessionId': 's', 'message': {'role': 'user', 'content': 'a'}},
                        {'type': 'assistant', 'uuid': 'v', 'sessionId': 's', 'message': {'role': 'assistant', 'content': [{'type': 'text', 'text': 'b'}]}}),
    'codex_rollout': tuple({'timestamp': 't', 'type': 'response_item', 'payload': {'type': 'message', 'role': role, 'content': [
        {'type': 'input_text', 'text': 'a'}]}} for role in ('user', 'assistant')),
    'kimi_wire': ({'timestamp': 1.5, 'message': {'type': 'TurnBegin', 'payload': {'user_input': 'a'}}},
                  {'timestamp': 1.6, 'message': {'type': 'ContentPart', 'payload': {'type': 'text', 'text': 'b'}}}),
    'google_session': ({'sessionId': 's', 'projectHash': 'h'}, {'id': '1', 'type': 'user', 'content': 'a'}, {'id': '2', 'type': 'gemini', 'content': 'b'}),
    'item_list': ({'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'a'}]},
                  {'type': 'function_call', 'callId': 'c', 'name': 'n', 'arguments': '{}'},
                  {'type': 'function_call_result', 'callId': 'c', 'output': {'type': 'text', 'text': 'r'}}),
    'history_prompt': ({'session_id': 's', 'ts': 1772355600, 'text': 'a'}, {'session_id': 's', 'ts': 1772355601, 'text': 'b'}),
    'nested_payload': ({'payload': {'role': 'user', 'text': 'a'}}, {'payload': {'role': 'assistant', 'text': 'b'}}),
    'flat_role': ({'role': 'human', 'text': 'a'}, {'role': 'ai', 'text': 'b'}),
    'message_list': ({'messages': [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}]},),
    'prompt_response': ({'question': 'a', 'answer': 'b'},),
    'speaker_turns': ({'from': 'human', 'value': 'a'}, {'from': 'gpt', 'value': 'b'}),
}


@pytest.mark.parametrize('name', sorted(SHAPES))
def test_shapes(name):
    found = shape(*SHAPES[name])
    assert (found.family, found.sure) == (name, 'low') and found.texts >= 2


NONE = {
    'telemetry': ({'event': 'start', 'ms': 3}, {'event': 'stop', 'ms': 4}),
    'a log': ({'level': 'info', 'msg': 'started', 'name': 'app'}, {'level': 'info', 'msg': 'stopped', 'name': 'app'}),
    'roles without text': ({'role': 'user'}, {'role': 'assistant', 'tokens': 3}),
    'commits': ({'author': 'Ann', 'message': 'fix it', 'sha': 'a'}, {'author': 'Bob', 'message': 'fix that', 'sha': 'b'}),
    'mail': ({'from': 'ann', 'subject': 'x', 'text': 'hello'}, {'from': 'bob', 'subject': 'y', 'text': 'hello'}),
    'one speaker': ({'speaker': 'Ann', 'text': 'a'}, {'speaker': 'Ann', 'text': 'b'}),
    'too few fit': ({'role': 'user', 'content': 'a'}, {'x': 1}, {'x': 2}, {'x': 3}),
    'words, not structure': ({'note': 'type user, message claude sonnet'}, {'note': 'role assistant'}),
    'one history line': ({'display': 'a', 'timestamp': 1},),
    'nothing': (),
}


@pytest.mark.parametrize('name', sorted(NONE))
def test_no_shapes(name):
    found = shape(*NONE[name])
    assert (found.family, found.sure) == ('', 'none') and found.why


def test_how_sure():
    both = [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}] * 10
    assert [shape(*(both + [{'x': 1}] * more)).sure for more in (0, 2, 3, 6, 7, 13)] == ['high', 'high', 'medium', 'medium', 'low', 'low']
    assert shape(*(both + [{'x': 1}] * 14)).family == ''
    assert shape(*both[:1]).sure == 'low'
    known = [{'speaker': 'human', 'text': 'a'}, {'speaker': 'bot', 'text': 'b'}] * 4
    assert shape(*known).sure == 'medium'


def test_ids_that_every_record_shares_are_not_trusted(home):
    rows = [{'id': 'conversation-0001-abcd', 'role': role, 'content': text} for role, text in (
        ('user', 'one'), ('assistant', 'two'), ('user', 'three'), ('assistant', 'four'))]
    assert not shape(*rows).own_ids
    found = events(write(home / 'x.jsonl', *rows))
    assert len(set(event.id for event in found if event.kind == 'prompt')) == 2
    grown = [dict(rows[0], content='one'), dict(rows[0], content='one and more')]
    assert shape(*(grown + [dict(rows[1], id='2')])).own_ids


# tokens

USAGE = {
    'beside by name': ({'input_tokens': 5, 'output_tokens': 2, 'cache_read_input_tokens': 100, 'cache_creation_input_tokens': 7}, ('m', 5, 2, 100, 7, 0)),
    'an hour': ({'input_tokens': 5, 'output_tokens': 2, 'cache_creation_input_tokens': 7,
                 'cache_creation': {'ephemeral_5m_input_tokens': 3, 'ephemeral_1h_input_tokens': 4}}, ('m', 5, 2, 0, 3, 4)),
    'inside by name': ({'prompt_tokens': 100, 'completion_tokens': 5, 'prompt_tokens_details': {'cached_tokens': 60},
                        'completion_tokens_details': {'reasoning_tokens': 3}}, ('m', 40, 5, 60, 0, 0)),
    'inside, hit': ({'prompt_tokens': 5000, 'completion_tokens': 80, 'prompt_cache_hit_tokens': 4200, 'prompt_cache_miss_tokens': 800}, ('m', 800, 80, 4200, 0, 0)),
    'google': ({'promptTokenCount': 1110, 'cachedContentTokenCount': 1000, 'candidatesTokenCount': 40, 'thoughtsTokenCount': 5,
                'totalTokenCount': 1155}, ('m', 110, 45, 1000, 0, 0)),
    'the total says inside': ({'inputTokens': 50, 'outputTokens': 5, 'cacheReadTokens': 40, 'totalTokens': 55}, ('m', 10, 5, 40, 0, 0)),
    'the total says beside': ({'inputTokens': 50, 'outputTokens': 5, 'cacheReadTokens': 40, 'totalTokens': 95}, ('m', 50, 5, 40, 0, 0)),
    'more cached than sent': ({'input': 3, 'output': 1, 'cacheRead': 500}, ('m', 3, 1, 500, 0, 0)),
    'nobody knows': ({'input': 600, 'output': 1, 'cacheRead': 500}, ('', 600, 1, 500, 0, 0)),
    'nonsense': ({'input_tokens': 'abc', 'output_tokens': None, 'total_tokens': [3]}, ('m', 0, 0, 0, 0, 0)),
    'as text': ({'input_tokens': '12', 'output_tokens': 3.0}, ('m', 12, 3, 0, 0, 0)),
}


@pytest.mark.parametrize('name', sorted(USAGE))
def test_usage(name):
    given, expected = USAGE[name]
    assert tuple(universal_fields.usage_of(given, 'm')[:6]) == expected


def test_counters_that_may_be_single_calls_are_no_running_totals():
    assert not universal_shapes.is_running([(1, 1), (2, 2), (3, 3), (4, 4)])
    assert universal_shapes.is_running([(n, n) for n in range(1, 6)])
    # The context grows with every call, what is answered does not.
    assert not universal_shapes.is_running([(100, 20), (150, 5), (220, 30), (260, 8), (300, 9)])


def test_running_totals_show_late_in_a_long_file(home):
    talk = [{'role': 'user', 'content': 'word %d' % n} for n in range(48)]
    rows = [{'role': 'assistant', 'content': 'n%d' % n, 'usage': {'input_tokens': 100 * n, 'output_tokens': 10 * n}} for n in range(1, 8)]
    path = write(home / 'x.jsonl', *(talk + rows))
    assert universal_read.shape_of(path, None).running
    spent = [event.data for event in events(path) if event.kind == 'usage' and event.data.final]
    assert (sum(use.input for use in spent), sum(use.output for use in spent)) == (700, 70)


TIMES = [
    ({'ts': 1772355600}, 1772355600000), ({'timestamp': 1772355600000}, 1772355600000), ({'time': 1772355600000000}, 1772355600000),
    ({'created': 1772355600000000000}, 1772355600000), ({'at': '2026-03-01T09:00:00Z'}, 1772355600000), ({'date': '2026-03-01 10:00:00+0100'}, 1772355600000),
    ({'time': {'created': 1772355600}}, 1772355600000), ({'ts': '1772355600'}, 1772355600000), ({'ts': 'soon'}, None), ({}, None), ({'ts': True}, None)]


@pytest.mark.parametrize('place', range(len(TIMES)))
def test_times(home, place):
    data, expected = TIMES[place]
    assert universal_fields.time_of(data) == expected


def test_a_time_without_a_zone_is_this_machines(home, monkeypatch):
    monkeypatch.setenv('TZ', 'Europe/Berlin')
    assert universal_fields.time_of({'at': '2026-03-01 10:00:00'}) == 1772355600000
    assert universal_fields.time_of({'at': '2026-03-01T09:00:00Z'}) == 1772355600000


@pytest.mark.parametrize('data, text, label', [
    ({'is_error': True}, '', 'error'), ({'isError': False}, 'Error: x', 'ok'), ({'success': False}, '', 'error'), ({'ok': False}, '', 'error'),
    ({'status': 'failed'}, '', 'error'), ({'status': 'timeout'}, '', 'error'), ({'status': 'completed'}, '', 'ok'), ({'status': 'denied'}, '', 'declined'),
    ({'status': 'cancelled'}, '', 'collateral'), ({'response': {'error': 'x'}}, '', 'error'), ({'exit_code': 1}, '', 'error'), ({'exitCode': 0}, 'exit code: 1', 'ok'),
    ({}, 'Exit code: 127\nnot found', 'error'), ({}, 'exit code 0', 'ok'), ({}, 'it says Exit code: 1 later', 'ok')])
def test_outcomes(data, text, label):
    assert universal_fields.status_of(data, text) == label


# what the user says

def test_fields_and_roles(home):
    configure(home, {'root': str(home / 'named'), 'glob': 'desk-*.jsonl', 'name': 'desk', 'resume': ['desk', 'open', '{session}'],
                     'fields': {'role': 'who', 'text': 'utter.body', 'time': 'when', 'session': 'thread'},
                     'roles': {'cust-4': 'user', 'staff': 'assistant'}})
    path = str(home / 'named' / 'desk-2026-03-01.jsonl')
    assert universal.owns(path) and not universal.owns(str(home / 'named' / 'thread-1.json'))
    session = universal.session_at(path)
    keys, _, profile, coverage = folding.numbers(universal, session)
    assert (session.id, session.root, keys['user_prompts'], keys['api_calls'], coverage.unknown_records) == (
        'desk-1', str(home / 'named'), 2, 2, 0)
    assert (profile['version'], profile['entrypoint'], profile['first'], profile['last']) == ('mapping, told', 'desk', 1773046800000, 1773046980000)
    assert universal.resume('desk-1', '/x') == ['desk', 'open', 'desk-1']


def test_without_a_command_none_is_made_up(logs):
    with pytest.raises(EchoError):
        universal.resume('x', '/x')


def test_prompt_and_response_by_name(home):
    path = write(home / 'named' / 'q.jsonl', {'in': {'q': 'why'}, 'out': [{'text': 'because'}], 'm': 'tiny', 'u': {'input': 4, 'output': 2}})
    configure(home, {'root': str(home / 'named'), 'glob': 'q.jsonl', 'fields': {'prompt': 'in.q', 'response': 'out', 'model': 'm', 'usage': 'u'}})
    found = events(path)
    assert [event.text for event in found if event.kind in ('prompt', 'reply')] == ['why', 'because']


def test_a_family_that_is_told_is_taken(home):
    path = write(home / 'named' / 'f.jsonl', {'role': 'user', 'content': 'a'}, {'x': 1}, {'x': 2}, {'x': 3})
    assert universal_read.shape_of(path, None).family == ''
    configure(home, {'root': str(home / 'named'), 'family': 'openai_chat'})
    assert [event.text for event in events(path) if event.kind == 'prompt'] == ['a']


def test_another_mapping_is_another_reading(home):
    path = str(home / 'named' / 'desk-2026-03-01.jsonl')
    marks = []
    for role in ('user', 'assistant'):
        configure(home, {'root': str(home / 'named'), 'fields': {'role': 'who', 'text': 'utter.body'}, 'roles': {'cust-4': role}})
        marks.append([row[2] for row in universal.scan(str(home / 'named'), []) if row[0] == path])
    assert marks[0] != marks[1] and marks[0][0] // 1000000 == marks[1][0] // 1000000


def test_documents(home):
    configure(home, {'root': str(home / 'named'), 'glob': '*.json'})
    path = str(home / 'named' / 'thread-1.json')
    keys, models, profile, coverage = folding.numbers(universal, universal.session_at(path))
    # Cached tokens stand beside the input by their spelling: 10, 4, 100 and 3 written.
    assert keys['tokens'] == {'input': 10, 'output': 4, 'cache_read': 100, 'cache_write_5m': 3, 'cache_write_1h': 0}
    assert (keys['user_prompts'], keys['api_calls'], keys['tool_calls'], list(models), profile['ai-title'], coverage.unknown_records) == (
        1, 1, 1, ['m-1'], 'Paint the shed', 0)
    for number, data in enumerate((b'\xff\xfe' + '[{"role":"user","content":"\u00e4"},{"role":"assistant","content":"b"}]'.encode('utf-16-le'),
                                   b'\xef\xbb\xbf[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]\0\0\n')):
        other = write(home / 'named' / ('%d.json' % number), data)
        assert [event.kind for event in events(other) if event.kind in ('prompt', 'reply')] == ['prompt', 'reply']
    broken = write(home / 'named' / 'broken.json', b'{"messages": [')
    coverage = Coverage(broken)
    assert events(broken, coverage) == [] and coverage.unknown_records == 1


# every file, read again, packed, damaged

def all_files():
    return sorted(os.path.join(where, name) for top in ('logs', 'named') for where, _, names in os.walk(os.path.join(FOLDER, top))
                  for name in names if name != 'auth.json')


@pytest.mark.parametrize('path', all_files(), ids=os.path.basename)
def test_events_are_found_again(path):
    source = universal.session_at(path).sources[0]
    for event in folding.events(universal, source):
        if event.text and event.part >= 0:
            again = universal.events_at(source, event.offset, event.length)
            assert [(one.kind, one.text) for one in again if one.part == event.part] == [(event.kind, event.text)]


@pytest.mark.parametrize('name', ['chat-with-tools-0001.jsonl', 'stream.jsonl'])
def test_packed_files_say_the_same(home, name):
    with open(os.path.join(FOLDER, 'logs', name), 'rb') as data:
        whole = data.read()
    plain = write(home / name, whole)
    with gzip.open(str(home / name) + '.gz', 'wb') as out:
        out.write(whole)
    packed = str(home / name) + '.gz'
    assert [event[:3] + event[7:8] for event in events(packed)] == [event[:3] + event[7:8] for event in events(plain)]
    with open(packed, 'rb') as data:
        half = data.read()[:-20]
    coverage = Coverage(packed)
    write(packed, half)
    events(packed, coverage)
    assert coverage.parse_errors + coverage.unknown_records >= 1


def test_zstd(home):
    from echolib.base import zstd
    with open(os.path.join(FOLDER, 'logs', 'turns.jsonl'), 'rb') as data:
        whole = data.read()
    # One raw block is a legal frame: magic, header of a single segment with a one-byte size, block header, bytes.
    assert len(whole) < 256
    frame = zstd.MAGIC + bytes((0x20, len(whole))) + (len(whole) << 3 | 1).to_bytes(3, 'little') + whole
    path = write(home / 'turns.jsonl.zst', frame)
    assert [event.text for event in events(path) if event.kind == 'prompt'] == ['the door is stuck', 'it moves']
    source = universal.session_at(path).sources[0]
    last = [event for event in events(path) if event.kind == 'reply'][-1]
    assert [one.text for one in universal.events_at(source, last.offset, last.length) if one.kind == 'reply'] == ['good']


def bent(value, rng, depth=0):
    """Return a value with some parts replaced by others of any kind."""
    if rng.random() < 0.08:
        return rng.choice([None, True, -1, 3.5, 1 << 70, '', 'x\ud800', [], {}, [[{}]], {'type': []}, {'role': {}}, 'user', 'tool'])
    if isinstance(value, dict):
        return dict((key if rng.random() > 0.03 else 'x', bent(one, rng, depth + 1)) for key, one in value.items())
    if isinstance(value, list):
        return [bent(one, rng, depth + 1) for one in value]
    return value


@pytest.mark.parametrize('path', all_files(), ids=os.path.basename)
def test_no_content_is_an_exception(path, tmp_path):
    rng = random.Random(os.path.basename(path))
    with open(path, 'rb') as data:
        rows = [json.loads(line.decode('utf-8', 'replace')) for line in data if line.startswith(b'{') and line.endswith(b'}\n')]
    for round in range(25):
        target = write(tmp_path / ('%d-%s' % (round, os.path.basename(path))),
                       *([bent(row, rng) for row in rows] + [b'{"half": \n\0\0\n[1]\n', {'role': 'user', 'content': 'whole'}]))
        source, coverage, state = universal.session_at(target).sources[0], Coverage(target), {}
        found = [event for some in universal.read(source, coverage, 0, 0, state) for event in some]
        json.dumps(state)
        for event in found:
            assert isinstance(event.text, str) and isinstance(event.label, str) and (event.id is None or isinstance(event.id, str))
            assert event.kind != 'usage' or min(event.data[1:6]) >= 0 and event.id
            assert event.kind != 'tool_call' or event.id
        folding.numbers(universal, universal.session_at(target), ('main', 'history'))


def test_every_family_takes_any_record():
    odd = [None, True, 3, 'user', [], {}, [1], {'type': 'user'}, [{'type': 'text'}], 'x' * 50]
    keys = ('type', 'role', 'message', 'payload', 'data', 'params', 'content', 'messages', 'uuid', 'intent', 'display', 'timestamp', 'prompt',
            'response', 'speaker', 'text', '$set', 'projectHash', 'sessionId', 'method')
    rng = random.Random(7)
    for _ in range(3000):
        record = dict((key, rng.choice(odd)) for key in keys if rng.random() < 0.4)
        for family in universal_families.FAMILIES:
            if family.fits(record):
                for role, data in family.unfold(record, {}) or ():
                    universal_fields.pieces(data, role)
        universal_shapes.probe([record, record])


def test_long_texts_take_time_in_proportion(tmp_path):
    for text in ('<a_b>' * 100000, 'Exit code: ' * 50000, '<user_query>' * 50000, 'Working directory: ' * 50000):
        path = write(tmp_path / 'x.jsonl', *[{'role': role, 'content': text} for role in ('user', 'system', 'tool', 'assistant')])
        events(path)


# files of real clients, read by shape alone

@pytest.mark.parametrize('corpus, below, family', [
    ('qwen-code-0.15.10', '.qwen/projects', 'google_envelope'), ('gemini-cli-0.61.0', '.gemini/tmp', 'google_session'),
    ('reasonix-1.38.11', '.reasonix', 'openai_chat')])
def test_files_of_real_clients(home, monkeypatch, corpus, below, family):
    root = os.path.join(shared('corpus', corpus), 'home', 'dev', *below.split('/'))
    monkeypatch.setenv(universal.VARIABLE, root)
    monkeypatch.setattr(universal, '_others', lambda where: [])
    with open(os.path.join(shared('corpus', corpus), 'expected.json'), encoding='utf-8') as data:
        prompts = dict((row['session'], row['prompts']) for row in json.load(data).values() if isinstance(row, dict) and row.get('session'))
    sessions = placed(root)
    seen = 0
    for sid, session in sessions.items():
        found = universal_read.shape_of(session.sources[0].path, universal.mapping_of(session.sources[0].path))
        assert found.family in (family, ''), sid
        if found.family and sid in prompts:
            keys = folding.numbers(universal, session)[0]
            # Compaction and the like are typed commands too.
            assert prompts[sid] - 1 <= keys['user_prompts'] + keys['slash_commands'] <= prompts[sid] + 1, sid
            seen += 1
    assert seen >= 8 or corpus.startswith('reasonix')


# through the commands

@pytest.mark.slow
def test_commands(home):
    environment = {universal.VARIABLE: str(home / 'logs'), 'SESSION_DIGGER_DATA_DIR': str(home / 'data')}
    before = folding.photograph(home / 'logs')
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=home, **environment).json()
    for key in ('user_prompts', 'api_calls', 'tool_calls', 'tool_errors', 'compactions', 'output_known_calls'):
        assert stats[key] == sum(row[key] for row in EXPECTED.values()), key
    for bucket in stats['tokens']:
        assert stats['tokens'][bucket] == sum(row['tokens'][bucket] for row in EXPECTED.values()), bucket
    rows = call_script('sd-recall', 'sessions', '--limit', '0', '--format', 'json', home=home, **environment).json()['sessions']
    assert set(row['session_id'] for row in rows) == set(EXPECTED) - set(('telemetry-2026',)) and set(row['agent'] for row in rows) == {'universal'}
    assert dict((row['session_id'], row['version']) for row in rows)['turns'] == 'speaker_turns, low'
    for words, sid in (('okapi', 'chat-with-tools-0001'), ('harbour', 'acp-1'), ('zebra', 's-1')):
        hits = call_script('sd-recall', 'search', words, '--format', 'json', home=home, **environment).json()['hits']
        assert [hit['session_id'] for hit in hits] == [sid], words
    shown = call_script('sd-recall', 'show', 'acp-1', '--tools', home=home, **environment)
    assert shown.rc == 0 and 'A map of the harbour.' in shown.out and 'no pen' in shown.out
    result = call_script('sd-recall', 'resume', 'acp-1', home=home, **environment)
    assert (result.rc, result.out) == (1, '') and 'agents.json' in result.err
    assert folding.photograph(home / 'logs') == before
    with open(str(home / 'logs' / 'turns.jsonl'), 'ab') as out:
        out.write(b'{"speaker":"Ann","text":"it is open"}\n')
    again = call_script('sd-recall', 'stats', '--format', 'json', home=home, **environment).json()
    assert again['user_prompts'] == stats['user_prompts'] + 1


@pytest.mark.slow
def test_a_broken_agents_json_is_said(home):
    with open(str(home / 'data' / 'agents.json'), 'w', encoding='utf-8') as out:
        out.write('{"agents": [{"root": "/x", "family": "nope"}]}')
    result = call_script('sd-recall', 'sessions', home=home, SESSION_DIGGER_DATA_DIR=str(home / 'data'))
    assert result.rc == 0 and 'agents.json' in result.err and '"family" is one of' in result.err


def test_nothing_of_it_is_imported_without_need():
    from helpers import run
    import sys
    code = ('import sys; sys.path.insert(0, %r); from echolib.adapters import registry\n'
            'for adapter in registry.adapters(): adapter.roots()\n'
            'print([name for name in sys.modules if name.startswith("echolib.adapters.universal")], "json" in sys.modules)' % ROOT)
    assert run([sys.executable, '-S', '-c', code]).out.split() == ["['echolib.adapters.universal']", 'False']


def test_the_page_names_every_family_and_field():
    with open(os.path.join(ROOT, 'references', 'universal.md'), encoding='utf-8') as page:
        text = page.read()
    for family in universal_families.FAMILIES:
        assert '`%s`' % family.name in text, family.name
    for name in universal.FIELDS:
        assert '`%s`' % name in text, name
    assert universal.VARIABLE in text
    assert registry.SHAPES and set(registry.SHAPES) < set(universal_families.BY_NAME)


def test_public_functions(logs):
    assert echolib.dispatch_resolve_agent(os.path.join(logs, 'turns.jsonl')) == 'universal'
    path = echolib.universal_session_path(None, 'deck-7')
    assert path == os.path.join(logs, 'day', 'messages.jsonl')
    assert [row['text'] for row in echolib.universal_extract_messages('deck-7')] == ['shuffle the deck', 'shuffled']
