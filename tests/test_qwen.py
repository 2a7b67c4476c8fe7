"""Qwen Code: calls by telemetry, subagents with and without transcripts, branches, prompts of every kind.

fixtures/qwen/home holds the files; expected.json was worked out by hand.
"""
import json
import os
import shutil

import pytest

import folding
from folding import photograph
from helpers import FIXTURES, run_script, shared
from echolib import analysis
from echolib.adapters import Source, lookup, qwen, qwen_parse, registry
from echolib.records import Coverage, Record

FOLDER = os.path.join(FIXTURES, 'qwen')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)
MAIN, FORK, NEWER, LOST = sorted(EXPECTED['sessions'], key=lambda sid: sid[-1])


@pytest.fixture
def root(tmp_path):
    """The fixture's .qwen folder."""
    path = str(tmp_path / 'home' / '.qwen')
    shutil.copytree(os.path.join(FOLDER, 'home', '.qwen'), path)
    return path


def sessions(root):
    return folding.sessions(qwen, root)


def events(source, coverage=None, state=None):
    return folding.events(qwen, source, coverage, state)


def every(root):
    """Return all events of a root."""
    return [event for session in sessions(root).values() for source in session.sources for event in events(source)]


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(root, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(qwen, sessions(root)[sid], expected) == expected


def test_as_a_user_gets_it(root):
    """Through the index, where copies in a branch count in the session they were made in."""
    result = run_script('sd-recall', 'stats', '--scope', 'all', '--agent', 'qwen', '--format', 'json', home=os.path.dirname(root))
    found = result.json()
    assert dict((key, found[key]) for key in EXPECTED['once']) == EXPECTED['once']
    rows = run_script('sd-recall', 'sessions', '--format', 'json', '--limit', '0', home=os.path.dirname(root)).json()['sessions']
    assert dict((row['session_id'], row['summary']) for row in rows)[MAIN] == 'The slow query'


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_is_what_it_is(root, needle):
    kind, label = EXPECTED['needles'][needle]
    found = set((event.kind, event.label) for event in every(root) if needle in event.text)
    assert (kind, label) in found
    # What a failed call names stands in its error as well.
    assert found <= {(kind, label), ('tool_result', 'error')}


def test_events_are_found_again(root):
    count = 0
    for session in sessions(root).values():
        for source in session.sources:
            for event in events(source):
                if event.text and event.kind != 'meta':
                    again = [one for one in qwen.events_at(source, event.offset, event.length) if one.part == event.part]
                    # A short id of a call is told by the answer before.
                    assert [one._replace(turn=event.turn, line=event.line, id=event.id, data=event.data, label=event.label) for one in again] == [event]
                    count += 1
    assert count > 40


def test_order_and_turns(root):
    found = [(event.kind, event.label, event.turn) for event in events(sessions(root)[MAIN].sources[0])
             if event.kind in ('prompt', 'compaction', 'tool_call')]
    assert found == [
        ('prompt', 'typed', 1), ('tool_call', 'read_file', 1), ('tool_call', 'run_shell_command', 1), ('tool_call', 'edit', 1),
        ('tool_call', 'write_file', 1), ('prompt', 'queued', 2), ('tool_call', 'agent', 2), ('tool_call', 'run_shell_command', 0),
        ('tool_call', 'read_file', 0), ('prompt', 'typed', 3), ('prompt', 'typed', 4), ('prompt', 'slash', 5), ('compaction', '', 5)]


def test_chains(root):
    """What a subagent did is on its chain, whether telemetry tells it or a transcript; so are the client's own calls."""
    found = {}
    for event in every(root):
        if event.kind in ('usage', 'reply') and event.chain:
            found.setdefault(event.chain, []).append(event.kind)
    assert found == {
        'managed-auto-memory-extractor-j43i9c': ['usage'], 'general-purpose-9gzjzr': ['usage', 'usage', 'reply'], 'Explore-7f3c': ['usage'],
        'Explore-call_33': ['reply'], 'Explore-call_55': ['reply', 'usage']}


def test_short_call_ids_are_told_apart(root):
    calls = [event.id for event in events(sessions(root)[MAIN].sources[0]) if event.kind == 'tool_call' and not event.chain]
    assert len(set(calls)) == len(calls) == 5
    results = [event.data.call_id for event in events(sessions(root)[MAIN].sources[0]) if event.kind == 'tool_result' and not event.chain]
    assert sorted(results) == sorted(calls)


def test_compaction_prompt_and_pictures(root):
    found = events(sessions(root)[MAIN].sources[0])
    assert [event.data.pre_tokens for event in found if event.kind == 'compaction'] == [9700]
    typed = [event for event in found if event.kind == 'prompt' and event.turn == 4]
    assert [(event.text, event.data) for event in typed] == [('read @notes.md\n[image]', 1)]
    assert [event.text for event in found if event.kind == 'meta' and event.label == 'entrypoint'] == ['acp']


def test_spilled_output(root):
    source = sessions(root)[MAIN].sources[0]
    spilled = [event for event in events(source) if event.kind == 'tool_result' and event.data.spill]
    assert len(spilled) == 1
    assert 'kiwi' in qwen.spill_text(qwen.spill_path(source, spilled[0].data.spill))
    for bad in ('/etc/passwd', '/x/abcd/../../oauth_creds.json', '', 'tmp', '/x/tmp/abcd/none.output', 'abcd/a\0b'):
        assert qwen.spill_path(source, bad) == ''


def test_what_was_taken_back_and_copied(root):
    source = sessions(root)[MAIN].sources[0]
    ends, left = qwen.branches(source.path)
    gone = [event.text for event in events(source) if event.text and event.id and event.id.split('/')[0] in left]
    assert (ends, gone) == (2, ['try mysql instead', '400 quota exceeded'])
    assert qwen.inherited(source.path, MAIN) == 0
    assert qwen.inherited(sessions(root)[FORK].sources[0].path, FORK) == 11
    assert [event.label for event in events(sessions(root)[FORK].sources[0]) if event.label == 'foreign'] == ['foreign']


def test_the_clients_own_sums(root):
    found = sessions(root)
    rows = qwen.billed(found[MAIN])
    assert [(row['model'], row['calls'], row['input'], row['output'], row['cache_read']) for row in rows] == [('qwen3-coder', 2, 2000, 20, 1800)]
    assert qwen.billed(found[NEWER]) is None
    os.remove(os.path.join(root, 'usage_record.jsonl'))
    assert qwen.billed(found[MAIN]) is None


def test_only_reading(root):
    before = photograph(root)
    for session in sessions(root).values():
        folding.numbers(qwen, session)
        qwen.billed(session)
    assert photograph(root) == before


def test_secrets_are_never_opened(root, monkeypatch):
    real, opened = open, []

    def watched(path, *args, **kwargs):
        opened.append(str(path))
        return real(path, *args, **kwargs)
    monkeypatch.setattr('builtins.open', watched)
    for session in sessions(root).values():
        folding.numbers(qwen, session)
    assert opened and not [path for path in opened if path.endswith(('oauth_creds.json', 'settings.json'))]


def test_a_log_that_grows(root):
    """Whatever was read when: the same facts, and no text twice."""
    source = sessions(root)[MAIN].sources[0]
    with open(source.path, 'rb') as handle:
        lines = handle.read().splitlines(True)
    whole = analysis.FileAnalysis()
    texts = []
    for event in events(source):
        whole.add(event)
        texts.append((event.kind, event.id, event.text))
    for step in (1, 3):
        state, coverage, found, profile, again = {}, Coverage(source.path), {}, {}, []
        for count in list(range(step, len(lines), step)) + [len(lines)]:
            with open(source.path, 'wb') as handle:
                handle.write(b''.join(lines[:count]))
            coverage = Coverage(source.path, coverage.offset, coverage.line)
            one = analysis.FileAnalysis(profile)
            for some in qwen.read(source, coverage, coverage.offset, coverage.line, state):
                for event in some:
                    one.add(event)
                    again.append((event.kind, event.id, event.text))
            for key, fact in one.facts.items():
                found[key] = analysis.merge(found[key], fact) if key in found else fact
            state, profile = json.loads(json.dumps(state)), one.profile
        assert found == whole.facts
        assert again == texts
        assert profile == whole.profile


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    plain = os.path.join(str(tmp_path), '.qwen')
    assert qwen.roots({}) == [plain]
    assert qwen.roots({'QWEN_HOME': str(tmp_path / 'q')}) == [str(tmp_path / 'q')]
    assert qwen.roots({'QWEN_RUNTIME_DIR': str(tmp_path / 'r')}) == [str(tmp_path / 'r'), plain]
    assert qwen.roots({'QWEN_DATA_DIR': str(tmp_path / 'd'), 'QWEN_HOME': '/x'}) == [str(tmp_path / 'd')]


def test_scan(root):
    rows = dict((row[0][len(root) + 1:].replace(os.sep, '/'), row[3:]) for row in qwen.scan(root, []))
    assert rows == {
        'projects/-home-ann-shop/chats/%s.jsonl' % MAIN: ('main', '', MAIN, '-home-ann-shop'),
        'projects/-home-ann-shop/chats/%s.jsonl' % FORK: ('main', '', FORK, '-home-ann-shop'),
        'projects/-home-ann-shop/chats/%s.jsonl' % NEWER: ('main', '', NEWER, '-home-ann-shop'),
        'projects/-home-ann-shop/subagents/%s/agent-Explore-call_33.jsonl' % NEWER: ('agent', 'Explore-call_33', NEWER, '-home-ann-shop'),
        'projects/-home-ann-shop/subagents/%s/agent-Explore-call_55.jsonl' % LOST: ('agent', 'Explore-call_55', LOST, '-home-ann-shop')}
    for row in qwen.scan(root, []):
        assert qwen.head(row[0]) == {'session': row[5], 'role': row[3], 'chain': row[4]}


def test_missing_root(tmp_path):
    problems = []
    assert list(qwen.scan(str(tmp_path), problems)) == []
    assert [path for path, _ in problems] == [str(tmp_path / 'projects')]


def test_owns_and_detection(root, tmp_path):
    for row in qwen.scan(root, []):
        assert registry.detect(row[0]) is qwen
    elsewhere = str(tmp_path / 'kept.jsonl')
    shutil.copy(sessions(root)[MAIN].sources[0].path, elsewhere)
    assert registry.detect(elsewhere) is qwen
    claude = os.path.join('home', '.claude', 'projects', '-home-ann', 'abc')
    assert not qwen.owns(claude + '.jsonl')
    assert not qwen.owns(os.path.join(claude, 'subagents', 'agent-1.jsonl'))
    assert not qwen.owns(os.path.join(claude, 'subagents', 'more', 'agent-1.jsonl'))
    assert not qwen.owns(os.path.join(root, 'usage_record.jsonl'))


def test_session_at(root):
    path = [source.path for source in sessions(root)[NEWER].sources]
    session = lookup.session_at(path[0])
    assert (session.id, session.root, session.folder, [source.chain for source in session.sources]) == (
        NEWER, root, '-home-ann-shop', ['', 'Explore-call_33'])
    child = qwen.session_at(path[1])
    assert (child.id, child.root, [source.chain for source in child.sources]) == (NEWER, root, ['Explore-call_33'])


def test_resume_and_files():
    assert qwen.resume(MAIN, '/home/ann/shop') == ['qwen', '--resume', MAIN]
    assert qwen.files_of('edit', {'file_path': 'a.py'}) == [('edit', 'a.py')]
    assert qwen.files_of('write_file', {'file_path': 'a.py'}) == [('write', 'a.py')]
    assert qwen.files_of('grep_search', {'pattern': 'x'}) == []
    assert qwen.files_of('edit', 'x') == []


# content


def made(*rows, **more):
    """Return the events of records of one transcript."""
    source = Source('/r/projects/p/chats/s.jsonl', more.get('role', 'main'), more.get('chain', ''), 's', 0, 0)
    parser = qwen_parse.Parser(Coverage(), source, {})
    return [event for number, row in enumerate(rows) for event in parser.events(Record(row, number + 1, number * 10, 10))]


def user(text, **more):
    return dict({'uuid': 'u', 'type': 'user', 'message': {'parts': [{'text': text}]}}, **more)


@pytest.mark.parametrize('row, kind, label', [
    (user('hello'), 'prompt', 'typed'), (user('hello', provenance='real_user'), 'prompt', 'typed'), (user('/compact'), 'prompt', 'typed'),
    (user('hello', provenance='system'), 'injected', 'meta'), (user('hello', subtype='cron'), 'injected', 'notification'),
    (user('hello', subtype='goal_runtime'), 'injected', 'meta'), (user('hello', subtype='realtime_message'), 'injected', 'peer'),
    (user('hello', subtype='new_kind'), 'injected', 'meta'), (user('hello', subtype='mid_turn_user_message'), 'prompt', 'queued'),
    (user('<system-reminder>x</system-reminder>'), 'injected', 'reminder'),
    (user('hi<hook_context>x</hook_context>', systemPayload={'displayText': 'hi', 'hookContext': 'x'}), 'prompt', 'typed')])
def test_whose_words_they_are(row, kind, label):
    assert [(event.kind, event.label) for event in made(row)] == [(kind, label)]


def telemetry(sent, output, uuid, **more):
    return {'uuid': uuid, 'type': 'system', 'subtype': 'ui_telemetry', 'systemPayload': {'uiEvent': dict({
        'event.name': 'qwen-code.api_response', 'input_token_count': sent, 'output_token_count': output}, **more)}}


def answer(sent, output, uuid):
    return {'uuid': uuid, 'type': 'assistant', 'message': {'parts': []}, 'usageMetadata': {'promptTokenCount': sent, 'candidatesTokenCount': output}}


@pytest.mark.parametrize('rows, counted', [
    ((telemetry(9, 1, 't'), answer(9, 1, 'a')), ['t']), ((answer(9, 1, 'a'), telemetry(9, 1, 't')), ['a']),
    ((telemetry(9, 1, 't'), telemetry(9, 1, 'v'), answer(9, 1, 'a'), answer(9, 1, 'b')), ['t', 'v']),
    ((telemetry(9, 1, 't'), answer(8, 1, 'a')), ['t', 'a']), ((answer(9, 1, 'a'),), ['a']), ((telemetry(0, 0, 't'),), []),
    ((telemetry(9, 1, 't', prompt_id='s#Explore-1#0'), answer(9, 1, 'a')), ['t', 'a']),
    ((telemetry(9, 1, 't', prompt_id='s########1'), answer(9, 1, 'a')), ['t'])])
def test_a_call_counts_once(rows, counted):
    assert [event.id for event in made(*rows) if event.kind == 'usage'] == counted


@pytest.mark.parametrize('row', [
    {'type': None}, {}, {'type': 'user'}, {'type': 'user', 'message': {'parts': [None, 3, {'text': 3}]}}, {'type': 'assistant', 'message': []},
    {'type': 'assistant', 'message': {'parts': [{'functionCall': {'args': 'x'}}, {'functionCall': 3}]}, 'usageMetadata': {'promptTokenCount': 'x'}},
    {'type': 'tool_result'}, {'type': 'tool_result', 'toolCallResult': {'callId': 'c', 'resultDisplay': {}}},
    {'type': 'system'}, {'type': 'system', 'subtype': 'ui_telemetry', 'systemPayload': 3}, {'type': 'system', 'subtype': 'chat_compression', 'systemPayload': {'compressedHistory': [3]}},
    {'type': 'system', 'subtype': 'slash_command', 'systemPayload': {'phase': 'result', 'outputHistoryItems': {}}},
    {'type': 'system', 'subtype': 'at_command', 'systemPayload': {'filesRead': 'x'}}, {'type': 'system', 'subtype': 'custom_title', 'systemPayload': {'customTitle': 3}},
    telemetry(1, 1, 'u', prompt_id='a#b#c', subagent_name=3), user('\ud800'), dict(user('x'), uuid=None, timestamp=[], cwd=3, forkedFrom=3)])
def test_nothing_in_a_record_raises(row):
    one = analysis.FileAnalysis()
    for event in made(row) + made(row, role='agent', chain='c'):
        one.add(event)


# the real client


@pytest.fixture(scope='module')
def corpus():
    return shared('corpus', 'qwen-code-0.15.10')


def test_real_sessions(corpus):
    """Every call is in the telemetry, so all parts of the truth are found."""
    found = sessions(os.path.join(corpus, 'home', 'dev', '.qwen'))
    with open(os.path.join(corpus, 'expected.json'), encoding='utf-8') as handle:
        expected = json.load(handle)
    assert sorted(found) == sorted(one['session'] for one in expected.values())
    for name, one in expected.items():
        right = dict.fromkeys(('calls', 'input_total', 'cached', 'output'), 0)
        tools = {}
        for part in ('main', 'sub', 'side'):
            for key in right:
                right[key] += one.get(part, {}).get('tokens', {}).get(key, 0)
            for tool, times in one.get(part, {}).get('tools', {}).items():
                tools[tool] = tools.get(tool, 0) + times
        keys, _, profile, coverage = folding.numbers(qwen, found[one['session']])
        tokens = keys['tokens']
        assert (keys['api_calls'], tokens['input'] + tokens['cache_read'], tokens['cache_read'], tokens['output']) == (
            right['calls'], right['input_total'], right['cached'], right['output']), name
        assert (keys['user_prompts'], keys['tool_calls'], keys['subagents']) == (one['prompts'], sum(tools.values()), one['subagents'] or 0), name
        assert (coverage.parse_errors, coverage.unknown_records) == (0, 0)
        assert (profile['cwd'], profile['branch'], profile['version']) == ('/home/dev/work/shop', 'main', '0.15.10')


def test_real_failures_and_spill(corpus):
    found = sessions(os.path.join(corpus, 'home', 'dev', '.qwen'))
    assert folding.numbers(qwen, found['ad38835e-ddd6-4f55-afa7-3207237751aa'])[0]['tool_errors'] == 3
    source = found['f3868254-73b7-4490-b23b-2cc4b4174a67'].sources[0]
    spilled = [event for event in events(source) if event.kind == 'tool_result'][0]
    assert '\n25000\n' in qwen.spill_text(qwen.spill_path(source, spilled.data.spill)) and '\n25000\n' not in spilled.text
    bad = events(found['2b5ebaa0-6107-4dc3-ba6a-ce6c0a78250f'].sources[0])
    assert [event.text for event in bad if event.label == 'api_error'] == ['400 synthetic bad request']
