"""Gemini CLI: a log in which messages stand again and again, older JSON sessions, subagents, prompts of lost sessions.

fixtures/gemini/home holds the files; expected.json was worked out by hand.
"""
import json
import os
import shutil

import pytest

import folding
from folding import photograph
from helpers import FIXTURES, shared
from echolib import analysis
from echolib.adapters import Source, gemini, gemini_files, gemini_parse, lookup, parts, registry
from echolib.records import Coverage, Record

FOLDER = os.path.join(FIXTURES, 'gemini')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)
MAIN = '7c1e0001-aaaa-4aaa-8aaa-000000000001'
SUB, NESTED = 'ba5e0002-bbbb-4bbb-8bbb-000000000002', 'ca5e0003-cccc-4ccc-8ccc-000000000003'


@pytest.fixture
def root(tmp_path):
    """The fixture's .gemini folder."""
    path = str(tmp_path / 'home' / '.gemini')
    shutil.copytree(os.path.join(FOLDER, 'home', '.gemini'), path)
    return path


def sessions(root):
    return folding.sessions(gemini, root)


def events(source, coverage=None, state=None):
    return folding.events(gemini, source, coverage, state)


def main_of(root):
    return sessions(root)[MAIN].sources[0]


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(root, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(gemini, sessions(root)[sid], expected) == expected


def test_everything_together(root):
    problems = []
    assert folding.added_up(gemini, gemini.discover(root, problems)) == EXPECTED['all']
    assert problems == []


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_stands_once(root, needle):
    found = [(event.kind, event.label) for session in sessions(root).values() for source in session.sources for event in events(source)
             if needle in event.text]
    assert found == [tuple(EXPECTED['needles'][needle])]


def test_events_are_found_again(root):
    assert sum(folding.found_again(gemini, source) for session in sessions(root).values() for source in session.sources) > 40


def test_order_and_turns(root):
    found = [(event.kind, event.label, event.turn) for event in events(main_of(root))
             if event.kind in ('prompt', 'compaction', 'interruption', 'tool_call')]
    assert found == [
        ('prompt', 'typed', 1), ('tool_call', 'read_file', 1), ('tool_call', 'run_shell_command', 1), ('tool_call', 'replace', 1),
        ('tool_call', 'write_file', 1), ('tool_call', 'invoke_agent', 1), ('interruption', '', 1), ('prompt', 'typed', 2),
        ('prompt', 'typed', 3), ('compaction', '', 3), ('prompt', 'typed', 4)]


def test_times_are_those_of_the_first_record(root):
    assert [event.time - 1772355600000 for event in events(main_of(root)) if event.kind == 'prompt'] == [2000, 25000, 40000, 62000]


def test_compaction_knows_the_context_before(root):
    assert [event.data.pre_tokens for event in events(main_of(root)) if event.kind == 'compaction'] == [300 + 900 + 20]


def test_prompt_counts_its_pictures(root):
    last = [event for event in events(main_of(root)) if event.kind == 'prompt'][-1]
    assert (last.text, last.data) == ('/stats please\n[image]', 1)


def test_spilled_output(root):
    source = main_of(root)
    spilled = [event for event in events(source) if event.kind == 'tool_result' and event.data.spill]
    assert len(spilled) == 1
    assert 'echidna' in gemini.spill_text(gemini.spill_path(source, spilled[0].data.spill))
    child = Source(os.path.join(os.path.dirname(source.path), MAIN, SUB + '.jsonl'), 'agent', SUB, MAIN, 0, 0)
    assert gemini.spill_path(child, spilled[0].data.spill) == gemini.spill_path(source, spilled[0].data.spill) != ''
    for bad in ('/etc/passwd', '/x/tool-outputs/../../../oauth_creds.json', '/x/tool-outputs/', '/x/tool-outputs/none.txt', 'a/tool-outputs/b\0c'):
        assert gemini.spill_path(source, bad) == ''


def test_what_was_taken_back(root):
    ends, left = gemini.branches(main_of(root).path)
    assert (ends, left) == (2, {'u2', 'e1', 'g3'})
    gone = [event.text for event in events(main_of(root)) if event.text and event.id and event.id.split('/')[0] in left]
    assert gone[0] == 'look at @notes.md' and 'pangolin' in gone[1] and gone[2:] == ['quota exceeded', 'Seen.']


def test_prompts_of_lost_sessions(root):
    source = [Source(*row[:1], row[3], row[4], row[5], row[1], row[2]) for row in gemini.scan(root, []) if row[3] == 'history'][0]
    assert gemini.head(source.path) == {'session': 'history', 'role': 'history', 'chain': 'history'}
    coverage = Coverage(source.path)
    found = events(source, coverage)
    assert [(event.kind, event.label, event.message, event.text, event.data) for event in found] == [
        ('prompt', 'history', MAIN, 'find the slow query', '/home/ann/shop'),
        ('prompt', 'history', 'dead0009-dddd-4ddd-8ddd-000000000009', 'draw the tides of kiwi bay', '/home/ann/shop')]
    assert coverage.lines == 2
    assert folding.found_again(gemini, source) == 2


def test_only_reading(root):
    before = photograph(root)
    for session in sessions(root).values():
        folding.numbers(gemini, session)
        gemini.branches(session.sources[0].path)
    assert photograph(root) == before


def test_secrets_are_never_opened(root, monkeypatch):
    real, opened = open, []

    def watched(path, *args, **kwargs):
        opened.append(str(path))
        return real(path, *args, **kwargs)
    monkeypatch.setattr('builtins.open', watched)
    for session in sessions(root).values():
        folding.numbers(gemini, session)
    assert opened and not [path for path in opened if path.endswith(('oauth_creds.json', 'settings.json'))]


# growing


def test_a_log_that_grows(root, tmp_path):
    """Whatever was read when: the same facts, and no text twice."""
    source = main_of(root)
    with open(source.path, 'rb') as handle:
        lines = handle.read().splitlines(True)
    whole = analysis.FileAnalysis()
    texts = []
    for event in events(source):
        whole.add(event)
        texts.append((event.kind, event.text))
    path = os.path.join(os.path.dirname(source.path), 'session-2026-03-01T09-00-99990001.jsonl')
    for step in (1, 2, 5):
        state, coverage, found, profile = {}, Coverage(path), {}, {}
        again = []
        for count in list(range(step, len(lines), step)) + [len(lines)]:
            with open(path, 'wb') as handle:
                handle.write(b''.join(lines[:count]))
            coverage = Coverage(path, coverage.offset, coverage.line)
            one = analysis.FileAnalysis(profile)
            for some in gemini.read(source._replace(path=path), coverage, coverage.offset, coverage.line, state):
                for event in some:
                    one.add(event)
                    again.append((event.kind, event.text))
            for key, fact in one.facts.items():
                found[key] = analysis.merge(found[key], fact) if key in found else fact
            state, profile = json.loads(json.dumps(state)), one.profile
        assert found == whole.facts
        assert again == texts
        assert profile == whole.profile


def test_an_old_session_is_never_gone_on_with(root):
    source = sessions(root)['0dd00001-0000-4000-8000-000000000001'].sources[0]
    coverage = Coverage(source.path)
    events(source, coverage)
    assert (coverage.offset, coverage.open_end) == (os.path.getsize(source.path), True)


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    assert gemini.roots({}) == [os.path.join(str(tmp_path), '.gemini')]
    assert gemini.roots({'GEMINI_CLI_HOME': str(tmp_path / 'g')}) == [str(tmp_path / 'g' / '.gemini')]
    assert gemini.roots({'GEMINI_DATA_DIR': str(tmp_path / 'd')}) == [str(tmp_path / 'd')]


def test_scan(root):
    rows = dict((row[0][len(root) + 1:].replace(os.sep, '/'), row[3:]) for row in gemini.scan(root, []))
    hashed = [name for name in os.listdir(os.path.join(root, 'tmp')) if gemini.is_hash(name)][0]
    assert rows == {
        'tmp/shop/logs.json': ('history', 'history', 'history', ''),
        'tmp/shop/chats/session-2026-03-01T09-00-7c1e0001.jsonl': ('main', '', '7c1e0001', 'shop'),
        'tmp/shop/chats/%s/%s.jsonl' % (MAIN, SUB): ('agent', SUB, MAIN, 'shop'),
        'tmp/shop/chats/%s/%s.jsonl' % (SUB, NESTED): ('agent', NESTED, MAIN, 'shop'),
        'tmp/old-site/chats/session-2025-10-02T10-00-0dd00001.json': ('main', '', '0dd00001', 'old-site'),
        'tmp/%s/chats/session-2025-10-05T08-00-0dd00002.jsonl' % hashed: ('main', '', '0dd00002', hashed)}
    for path, role, chain, session in ((row[0],) + row[3:6] for row in gemini.scan(root, [])):
        facts = gemini.head(path)
        assert (facts['role'], facts['chain']) == (role, chain)
        assert facts['session'].startswith(session)


def test_missing_root(tmp_path):
    problems = []
    assert list(gemini.scan(str(tmp_path), problems)) == []
    assert [path for path, _ in problems] == [str(tmp_path / 'tmp')]


def test_owns_and_detection(root, tmp_path):
    for row in gemini.scan(root, []):
        assert registry.detect(row[0]) is gemini or row[3] == 'history', row[0]
    elsewhere = str(tmp_path / 'kept.jsonl')
    shutil.copy(main_of(root).path, elsewhere)
    assert registry.detect(elsewhere) is gemini
    assert not gemini.owns(os.path.join(root, 'oauth_creds.json'))
    assert not gemini.owns(os.path.join(root, 'projects.json'))


def test_session_at(root):
    session = lookup.session_at(main_of(root).path)
    assert (session.id, session.root, [source.chain for source in session.sources]) == (MAIN, root, ['', SUB, NESTED])
    child = gemini.session_at(session.sources[2].path)
    assert (child.id, [source.chain for source in child.sources]) == (MAIN, [NESTED])


def test_id_from_the_name_where_no_record_says_it(tmp_path):
    path = str(tmp_path / 'session-2026-01-01T00-00-abcd1234.jsonl')
    with open(path, 'wb') as handle:
        handle.write(b'{"id":"m1","type":"us')
    assert gemini.head(path)['session'] == 'abcd1234'


def test_resume_and_files():
    assert gemini.resume(MAIN, '/home/ann/shop') == ['gemini', '--resume', MAIN]
    assert gemini.files_of('replace', {'file_path': 'a.py'}) == [('edit', 'a.py')]
    assert gemini.files_of('write_file', {'file_path': 'a.py'}) == [('write', 'a.py')]
    assert gemini.files_of('run_shell_command', {'command': 'ls'}) == []
    assert gemini.files_of('replace', None) == []


# content


@pytest.mark.parametrize('tokens, expected', [
    ({'input': 5000, 'output': 40, 'cached': 4000, 'thoughts': 120, 'tool': 0, 'total': 5160}, (1000, 160, 4000)),
    ({'input': 5000, 'output': 160, 'cached': 4000, 'thoughts': 120, 'tool': 0, 'total': 5160}, (1000, 160, 4000)),
    ({'input': 1000, 'output': 40, 'cached': 4000, 'thoughts': 120, 'total': 5160}, (1000, 160, 4000)),
    ({'input': 5000, 'output': 40, 'cached': 4000, 'tool': 30, 'total': 5070}, (1030, 40, 4000)),
    ({'input': 5000, 'output': 40, 'cached': 4000, 'tool': 30, 'total': 5040}, (1000, 40, 4000)),
    ({'input': 5000, 'output': 40, 'cached': 4000, 'thoughts': 10}, (1000, 50, 4000)),
    ({'input': 'x', 'output': None, 'cached': -1}, (0, 0, 0))])
def test_tokens(tokens, expected):
    use = gemini_parse.usage_of(tokens, 'm')
    assert (use.input, use.output, use.cache_read) == expected


def made(*rows, **more):
    """Return the events of records of one log."""
    source = Source('/r/tmp/p/chats/session-x-y.jsonl', more.get('role', 'main'), more.get('chain', ''), 's', 0, 0)
    parser = gemini_parse.Parser(Coverage(), source, '', {})
    return [event for number, row in enumerate(rows) for event in parser.news(Record(row, number + 1, number * 10, 10))]


@pytest.mark.parametrize('text, kind, label', [
    ('Please continue.', 'injected', 'meta'), ('please continue with the tests', 'prompt', 'typed'), ('/compress now', 'prompt', 'typed'),
    ('System: Potential loop detected. Details: x', 'injected', 'notice'), ("Here is the user's editor context as a JSON object.", 'injected', 'reminder'),
    ('<hook_context>be kind</hook_context>', 'injected', 'meta'), ('hello<hook_context>be kind</hook_context>', 'prompt', 'typed')])
def test_whose_words_they_are(text, kind, label):
    found = made({'id': 'm', 'type': 'user', 'content': text})
    assert [(event.kind, event.label) for event in found] == [(kind, label)]


def test_restated_messages_are_no_prompts_but_where_they_are_all_there_is():
    restated = {'$set': {'messages': [{'id': 'a', 'type': 'user', 'content': 'hi'}, {'type': 'user', 'content': 'no id'}]}}
    assert [event.kind for event in made(restated)] == ['prompt', 'prompt']
    assert [event.kind for event in made({'id': 'z', 'type': 'user', 'content': 'first'}, restated)] == ['prompt', 'injected', 'injected']


def test_tokens_that_a_later_patch_brings():
    found = made({'id': 'g', 'type': 'gemini', 'content': 'x'}, {'id': 'u', 'type': 'user', 'content': 'y'},
                 {'$set': {'messages': [{'id': 'g', 'type': 'gemini', 'content': 'x', 'tokens': {'input': 4, 'output': 1}}]}})
    assert [(event.kind, event.id) for event in found] == [('reply', 'g/text'), ('prompt', 'u'), ('usage', 'g')]


@pytest.mark.parametrize('row', [
    {'id': 'm', 'type': 'gemini', 'content': {'text': 7}, 'thoughts': {}, 'toolCalls': [3, {'result': 'x', 'status': 'success'}], 'tokens': 3},
    {'id': 'm', 'type': 'gemini', 'content': None, 'toolCalls': {'a': 1}, 'tokens': {}}, {'id': 'm', 'type': 'user', 'content': [None, 3, {'inlineData': 3}]},
    {'id': 'm', 'type': None}, {'id': 3}, {}, {'$set': None}, {'$set': {'messages': {}, 'summary': 3}}, {'$set': {'messages': [None, {}]}},
    {'$rewindTo': 3}, {'sessionId': 's', 'startTime': []}, {'id': 'm', 'type': 'user', 'content': '\ud800'}])
def test_nothing_in_a_record_raises(row):
    one = analysis.FileAnalysis()
    for event in made(row) + made(row, role='agent', chain='c'):
        one.add(event)


@pytest.mark.parametrize('content', [b'', b'[', b'[1, 2]', b'{"messages": 3}', b'\xff\xfe'])
def test_damaged_old_files(tmp_path, content):
    for name in ('session-2025-01-01T00-00-abcd1234.json', 'logs.json'):
        path = str(tmp_path / name)
        with open(path, 'wb') as handle:
            handle.write(content)
        coverage = Coverage(path)
        facts = gemini.head(path)
        assert [event for event in events(Source(path, facts['role'], facts['chain'], facts['session'], 0, 0), coverage) if event.kind != 'unknown'] == []
        assert coverage.lines >= coverage.parse_errors


def test_parts():
    found = parts.listed(['a', {'text': 'b', 'thought': True}, {'functionResponse': {'id': '1', 'name': 'f', 'response': {'error': {'message': 'no'}}}},
                          {'functionCall': {'name': 'f', 'args': {'x': 1}}}, 7, {'fileData': {'mimeType': 'text/plain'}}])
    assert parts.spoken(found) == 'a\n[document]'
    assert parts.thought(found) == 'b'
    assert parts.calls(found) == [('', 'f', {'x': 1})]
    assert parts.responses(found) == [('1', 'f', 'no', True)]
    assert parts.response_text({'output': '', 'error': 'x'}) == ('x', True)
    assert parts.response_text({'output': 'fine', 'error': ''}) == ('fine', False)
    assert parts.response_text({'content': [{'type': 'text', 'text': 'c'}]}) == ('c', False)
    assert parts.response_text('plain') == ('plain', False)
    assert parts.response_text({'a': 1}) == ('{"a": 1}', False)


# the real client


@pytest.fixture(scope='module')
def corpus():
    return shared('corpus', 'gemini-cli-0.61.0')


def test_real_sessions(corpus):
    found = sessions(os.path.join(corpus, 'home', 'dev', '.gemini'))
    with open(os.path.join(corpus, 'expected.json'), encoding='utf-8') as handle:
        expected = json.load(handle)
    # The bad request ended the client before it wrote anything.
    assert sorted(found) == sorted(one['session'] for name, one in expected.items() if name != 'bad')
    for name, one in expected.items():
        if name == 'bad':
            continue
        right = dict.fromkeys(('calls', 'input_total', 'cached', 'output', 'reasoning'), 0)
        tools = 0
        for part in ('main', 'sub'):
            for key in right:
                right[key] += one.get(part, {}).get('tokens', {}).get(key, 0)
            tools += sum(one.get(part, {}).get('tools', {}).values())
        if name == 'compact':
            # What was typed there is an ordinary prompt to this client; its call, told apart by the server, is in the log.
            for key in right:
                right[key] += one['side']['models']['gemini-3.1-pro-preview'][key]
        keys, _, profile, coverage = folding.numbers(gemini, found[one['session']])
        tokens = keys['tokens']
        assert (keys['api_calls'], tokens['input'] + tokens['cache_read'], tokens['cache_read'], tokens['output']) == (
            right['calls'], right['input_total'], right['cached'], right['output'] + right['reasoning']), name
        assert (keys['user_prompts'], keys['tool_calls'], keys['subagents']) == (one['prompts'], tools, one['subagents'] or 0), name
        assert (coverage.parse_errors, coverage.unknown_records, profile['cwd']) == (0, 0, '/home/dev/work/shop')


def test_real_failures_and_spill(corpus):
    found = sessions(os.path.join(corpus, 'home', 'dev', '.gemini'))
    assert folding.numbers(gemini, found['ad38835e-ddd6-4f55-afa7-3207237751aa'])[0]['tool_errors'] == 3
    source = found['f3868254-73b7-4490-b23b-2cc4b4174a67'].sources[0]
    spilled = [event for event in events(source) if event.kind == 'tool_result'][0]
    assert '12345\n' in gemini.spill_text(gemini.spill_path(source, spilled.data.spill))


def test_real_records_are_found_again(corpus):
    found = sessions(os.path.join(corpus, 'home', 'dev', '.gemini'))
    assert sum(folding.found_again(gemini, source) for session in found.values() for source in session.sources) > 80


def test_directory_of_a_project(root):
    hashed = [name for name in os.listdir(os.path.join(root, 'tmp')) if gemini.is_hash(name)][0]
    assert gemini_files.project_of(os.path.join(root, 'tmp', hashed, 'chats', 'session-x.jsonl')) == '/home/ann/old'
    os.remove(os.path.join(root, 'projects.json'))
    assert gemini_files.project_of(os.path.join(root, 'tmp', hashed, 'chats', 'session-x.jsonl')) == ''
    with open(os.path.join(root, 'trustedFolders.json'), 'w', encoding='utf-8') as handle:
        handle.write('{"/home/ann/old": "TRUST_FOLDER"}')
    assert gemini_files.project_of(os.path.join(root, 'tmp', hashed, 'chats', 'session-x.jsonl')) == '/home/ann/old'
    # A log whose project's folder says nothing tells it in what the client says first.
    os.remove(os.path.join(root, 'tmp', 'shop', '.project_root'))
    assert folding.numbers(gemini, sessions(root)[MAIN])[2]['cwd'] == '/home/ann/shop'
