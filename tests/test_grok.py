"""Grok Build: what its files become, what its prompts cost, and that growth and damage change nothing."""
import json
import os
import random
import shutil
import sqlite3

import pytest

import echolib
from echolib.adapters import Source, grok, grok_ledger, grok_side, grok_text, grok_usage, registry
from echolib.analysis import shared_keys
from echolib.records import Coverage
from helpers import FIXTURES, call_script, shared
from homes import Home

HERE = os.path.join(FIXTURES, 'grok')
GROUP = '%2Fhome%2Fdev%2Fapp'
PARENT, FIRST, SECOND, FORK, OLD, CHAT = (
    '0f00000%d-0000-%d000-8000-00000000000%d' % (n, 7 if n in (2, 3) else 4, n) for n in (1, 2, 3, 4, 5, 6))
NOW = 1772442000        # 2026-03-02T09:00:00Z, s


@pytest.fixture
def root(tmp_path):
    """A copy of the fixture's Grok home."""
    target = str(tmp_path / '.grok')
    shutil.copytree(os.path.join(HERE, 'home', '.grok'), target)
    return target


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'GROK_HOME', 'CODEX_HOME', 'CLAUDE_CODE_SESSION_ID'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    return Home(tmp_path)


def corpus():
    return os.path.join(shared('corpus', 'grok-1.0.41'), 'home', 'dev', '.grok')


def expected():
    with open(os.path.join(HERE, 'expected.json'), encoding='utf-8') as data:
        return json.load(data)


def events(root, session, group=GROUP):
    """-> (events, coverage) of the main file of a session folder."""
    source = grok.session_at(os.path.join(root, 'sessions', group, session)).sources[0]
    coverage = Coverage(source.path)
    return [event for found in grok.read(source, coverage) for event in found], coverage


def stream(folder, *updates, **more):
    """Write a session folder whose stream holds these updates, one a second, and return its path."""
    session = os.path.basename(str(folder))
    os.makedirs(str(folder))
    with open(os.path.join(str(folder), 'updates.jsonl'), 'w', encoding='utf-8') as out:
        for number, update in enumerate(updates):
            params = {'sessionId': session, 'update': update}
            if more.get('ids', True):
                params['_meta'] = {'eventId': '%s-%d' % (session, number), 'agentTimestampMs': (NOW + number) * 1000}
                params['_meta'].update(update.pop('meta', {}))
            out.write(json.dumps({'timestamp': NOW + number, 'method': 'session/update', 'params': params}) + '\n')
    if 'card' in more:
        with open(os.path.join(str(folder), 'summary.json'), 'w', encoding='utf-8') as out:
            json.dump(more['card'], out)
    return str(folder)


def typed(text, **meta):
    return {'sessionUpdate': 'user_message_chunk', 'content': {'type': 'text', 'text': text}, '_meta': meta}


def bill(prompt, total=1000, output=10, cached=0, calls=1, model='grok-4.5', **more):
    """A turn_completed row."""
    leg = {'inputTokens': total, 'outputTokens': output, 'cachedReadTokens': cached, 'modelCalls': calls}
    usage = dict(leg, modelUsage={model: leg})
    usage.update(more)
    update = {'sessionUpdate': 'turn_completed', 'stop_reason': 'end_turn', 'usage': usage}
    if prompt is not None:
        update['prompt_id'] = prompt
    return update


def spent(folder):
    """-> (calls, input with cache, output, cached) that reading a session folder counts."""
    source = grok.session_at(folder).sources[0]
    found = [e.data for got in grok.read(source, Coverage(source.path)) for e in got if e.kind == 'usage']
    return (len(found), sum(u.input + u.cache_read + u.cache_write_5m for u in found), sum(u.output for u in found),
            sum(u.cache_read for u in found))


# where sessions lie

def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    assert grok.roots({}) == [os.path.join(str(tmp_path), '.grok')]
    assert grok.roots({'GROK_HOME': '/x/y'}) == [os.path.abspath('/x/y')]
    assert grok.roots({'GROK_HOME': '/x/y/sessions/'}) == [os.path.abspath('/x/y')]


def test_discover(root):
    problems = []
    found = dict((s.id, [(f.role, f.chain) for f in s.sources]) for s in grok.discover(root, problems))
    assert problems == []
    assert found == {PARENT: [('main', ''), ('agent', FIRST), ('agent', SECOND)], FORK: [('main', '')], OLD: [('main', '')],
                     CHAT: [('main', '')]}
    for session in grok.discover(root, []):
        assert all(f.size == os.path.getsize(f.path) for f in session.sources)
        assert session.folder == ('app-0123456789abcdef' if session.id == OLD else GROUP)


def test_a_listing_opens_no_file(root, monkeypatch):
    def refuse(*args, **more):
        raise AssertionError('opened %r' % (args,))
    monkeypatch.setattr('builtins.open', refuse)
    assert len([row for row in grok.scan(root, []) if row[3] != 'history']) == 6


def test_a_missing_or_unlistable_root_is_one_problem(tmp_path):
    problems = []
    assert list(grok.discover(str(tmp_path / 'no'), problems)) == [] and len(problems) == 1
    (tmp_path / 'sessions').write_text('x', encoding='utf-8')
    problems = []
    assert list(grok.discover(str(tmp_path), problems)) == [] and len(problems) == 1


def mark_of(root, session):
    return [found[2] for found in grok.scan(root, []) if found[5] == session and found[3] == 'main'][0]


def test_what_a_reading_depends_on_shows_in_the_listing(root):
    before = mark_of(root, PARENT)
    assert mark_of(root, PARENT) == before
    card = os.path.join(root, 'sessions', GROUP, PARENT, 'summary.json')
    stat = os.stat(card)
    with open(card, 'a', encoding='utf-8') as out:
        out.write(' ')
    os.utime(card, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    changed = mark_of(root, PARENT)
    assert changed != before
    shutil.rmtree(os.path.join(root, 'sessions', GROUP, SECOND))
    assert mark_of(root, PARENT) != changed


def test_nested_subagents_belong_to_the_top(tmp_path):
    base = tmp_path / 'sessions' / 'g'
    for name, child in (('top', 'mid'), ('mid', 'low'), ('low', None), ('round', 'round')):
        stream(base / name, typed('x', promptIndex=0))
        if child:
            os.makedirs(str(base / name / 'subagents' / child))
    found = sorted((f[5], f[3], f[4]) for f in grok.scan(str(tmp_path), []))
    assert found == [('round', 'main', ''), ('top', 'agent', 'low'), ('top', 'agent', 'mid'), ('top', 'main', '')]
    session = grok.session_at(str(base / 'low' / 'updates.jsonl'))
    assert (session.id, [(s.role, s.chain) for s in session.sources]) == ('top', [('agent', 'low')])
    assert [s.chain for s in grok.session_at(str(base / 'top')).sources] == ['', 'low', 'mid']


def test_a_subagent_in_another_group_is_listed_with_its_parent(tmp_path):
    stream(tmp_path / 'sessions' / 'one' / 'top', typed('x', promptIndex=0))
    stream(tmp_path / 'sessions' / 'two' / 'kid', typed('x', promptIndex=0))
    card = tmp_path / 'sessions' / 'one' / 'top' / 'subagents' / 'number-7'
    card.mkdir(parents=True)
    (card / 'meta.json').write_text('{"child_session_id": "kid"}', encoding='utf-8')
    assert sorted((f[6], f[5], f[3]) for f in grok.scan(str(tmp_path), [])) == [('one', 'top', 'agent'), ('one', 'top', 'main')]


def test_owns(root, tmp_path):
    folder = os.path.join(root, 'sessions', GROUP, PARENT)
    assert grok.owns(folder) and grok.owns(os.path.join(folder, 'updates.jsonl')) and grok.owns(os.path.join(folder, 'summary.json'))
    assert grok.owns('/h/.grok/sessions/%2Fx/1/chat_history.jsonl')
    assert not grok.owns('/h/.claude/projects/-x/1.jsonl') and not grok.owns(str(tmp_path)) and not grok.owns('/nowhere')
    other = tmp_path / 'moved.jsonl'
    shutil.copyfile(os.path.join(folder, 'updates.jsonl'), str(other))
    assert grok.owns(str(other)) and registry.detect(str(other)) is grok
    assert registry.detect(os.path.join(folder, 'updates.jsonl')) is grok


def test_directory_of_a_group(root):
    top = os.path.join(root, 'sessions')
    assert grok_side.project_of(os.path.join(top, GROUP)) == '/home/dev/app'
    assert grok_side.project_of(os.path.join(top, 'app-0123456789abcdef')) == '/home/dev/a/very/long/app'
    assert grok_side.project_of('/x/C%3A%5Cwork') == 'C:\\work'
    assert grok_side.encoded('/home/dev/a b-c_d.e~é') == '%2Fhome%2Fdev%2Fa%20b-c_d.e~%C3%A9'


# rows to events

def test_parent(root):
    found, coverage = events(root, PARENT)
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records) == (40, 0, 1)
    prompts = [(e.label, e.text) for e in found if e.kind == 'prompt']
    assert prompts == [('typed', 'Fix the login 修复登录'), ('slash', '/review the patch'), ('typed', 'What is on this screenshot?'),
                       ('queued', 'name the colour too')]
    injected = [(e.label, e.text) for e in found if e.kind == 'injected']
    assert injected == [('attachment', '[image]'), ('shell', 'ls'), ('shell_output', 'a.py'),
                        ('recap', 'Summary: the login was fixed, the zebra stays.'), ('local_command', '/compact'),
                        ('notification', 'Background task finished')]
    replies = [(e.label, e.text) for e in found if e.kind == 'reply']
    assert replies == [('', 'I will read it.'), ('', 'Fixed; two callers.'), ('', 'A login form.'), ('api_error', 'API error (status 400): no')]
    results = [(e.label, e.data.call_id.split(':')[1], e.data.spill[-10:]) for e in found if e.kind == 'tool_result']
    assert results == [('ok', 'call_1', ''), ('ok', 'call_2', ''), ('error', 'call_3', 'call_3.log'), ('ok', 'call_4', ''), ('declined', 'call_5', '')]
    meta = [(e.label, e.text) for e in found if e.kind == 'meta']
    assert meta == [('cwd', '/home/dev/app'), ('branch', 'main'), ('entrypoint', 'headless'), ('custom-title', 'Login 登录 repair'),
                    ('subagent', 'look around'), ('subagent', 'look around'), ('retry', 'API error (status 503)')]
    assert [(e.id, e.data.pre_tokens) for e in found if e.kind == 'compaction'] == [('cccc0001', 13000)]
    assert [e.time for e in found if e.kind == 'prompt'][0] == NOW * 1000


def test_subagent(root):
    session = [s for s in grok.discover(root, []) if s.id == PARENT][0]
    found = [e for got in grok.read(session.sources[1], Coverage('')) for e in got]
    assert [(e.kind, e.label) for e in found if e.kind in ('prompt', 'injected')] == [('injected', 'task')]
    assert set(e.chain for e in found if e.kind != 'meta') == {FIRST}
    assert [e.text for e in found if e.kind == 'tool_result'] == ['found 2 matches\nlogin()']


def test_chat_history_of_both_shapes(root):
    found, coverage = events(root, CHAT)
    assert (coverage.lines, coverage.unknown_records) == (13, 1)
    assert [(e.kind, e.label, e.text) for e in found if e.kind in ('prompt', 'thinking', 'reply', 'interruption', 'tool_result')] == [
        ('prompt', 'typed', 'Typed here'), ('thinking', '', 'A thought in a list.'),
        ('tool_result', 'declined', 'User rejected the execution for tool `grep`'), ('interruption', 'interruption', ''),
        ('prompt', 'typed', 'Go on'), ('reply', '', 'Done.')]
    assert [(e.label, e.data) for e in found if e.kind == 'tool_call'] == [('grep', '{"pattern": "x"'), ('web_search', {'action': {'query': 'weather'}})]
    assert [e.label for e in found if e.kind == 'injected'] == ['reminder', 'notification', 'shell', 'recap']
    old, coverage = events(root, OLD, 'app-0123456789abcdef')
    assert [(e.kind, e.text) for e in old if e.kind in ('prompt', 'thinking', 'reply')] == [
        ('prompt', 'Old question?'), ('thinking', 'Old thought.'), ('reply', 'Looking.'), ('reply', 'Old answer.')]
    assert [(e.label, e.text) for e in old if e.kind == 'tool_call'] == [('bash', 'false')]
    assert [e.text for e in old if e.kind == 'meta' and e.label == 'cwd'] == ['/home/dev/a/very/long/app']


@pytest.mark.parametrize('session', [PARENT, FORK, OLD, CHAT])
def test_events_at_gives_what_read_gave(root, session):
    source = grok.session_at(os.path.join(root, 'sessions', 'app-0123456789abcdef' if session == OLD else GROUP, session)).sources[0]
    for got in grok.read(source, Coverage(source.path)):
        for event in got:
            if event.text and event.kind not in ('unknown', 'usage'):
                again = [e for e in grok.events_at(source, event.offset, event.length) if e.part == event.part and e.text]
                assert [(e.text, e.id) for e in again] == [(event.text, event.id.split('+')[0] if event.label == 'attachment' else event.id)]


# update -> (kind, label, text) of the events it makes
ROWS = {
    'plain': (typed('hi', promptIndex=0), [('prompt', 'typed', 'hi')]),
    'a path is no command': (typed('/home/dev is full', promptIndex=0), [('prompt', 'typed', '/home/dev is full')]),
    'old wrappers': (typed('<user_info>\nx\n</user_info>\n<system-reminder>y</system-reminder>\n<user_query>\nreal\n</user_query>', promptIndex=0),
                     [('prompt', 'typed', 'real')]),
    'wrappers alone': (typed('<system-reminder>y</system-reminder>'), [('injected', 'reminder', '<system-reminder>y</system-reminder>')]),
    'a tag in a prompt': (typed('what does <user_query>a</user_query> mean?', promptIndex=0),
                          [('prompt', 'typed', 'what does <user_query>a</user_query> mean?')]),
    'shown instead': (typed('/skill body of it', promptIndex=0, displayText='/skill x'), [('prompt', 'slash', '/skill x')]),
    'by the client': (dict(typed('go', promptIndex=0), meta={'promptId': 'scheduler-fired-1'}), [('injected', 'notification', 'go')]),
    'late words': (dict(typed('go', hideFromScrollback=True), meta={'promptId': 'interject-fallback-1'}), [('prompt', 'queued', 'go')]),
    'command output': ({'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': 'Context: 3 %'}, '_meta': {'hostTurn': True}},
                       [('injected', 'command_output', 'Context: 3 %')]),
    'an empty chunk': ({'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': ''}}, []),
    'a result at once': ({'sessionUpdate': 'tool_call', 'toolCallId': 'c', 'title': 't', 'status': 'completed', 'rawInput': {'a': 1},
                          'content': [{'type': 'content', 'content': {'type': 'text', 'text': 'ok'}}]},
                         [('tool_call', 't', '1'), ('tool_result', 'ok', 'ok')]),
    'still running': ({'sessionUpdate': 'tool_call_update', 'toolCallId': 'c', 'status': 'in_progress', 'content': []}, []),
    'killed': ({'sessionUpdate': 'tool_call_update', 'toolCallId': 'c', 'status': 'completed', 'rawOutput': {
        'type': 'Bash', 'command': 'x', 'exit_code': None, 'timed_out': True, 'output_for_prompt': 'timed out'}}, [('tool_result', 'error', 'timed out')]),
    'grep without a match': ({'sessionUpdate': 'tool_call_update', 'toolCallId': 'c', 'status': 'completed', 'rawOutput': {
        'type': 'GrepSearch', 'exit_code': 1, 'stdout': [], 'match_count': 0}}, [('tool_result', 'ok', '')]),
    'after a refusal': ({'sessionUpdate': 'tool_call_update', 'toolCallId': 'c', 'status': 'failed', 'content': [
        {'type': 'content', 'content': {'type': 'text', 'text': 'Tool execution cancelled due to earlier permission rejection for tool `x`'}}]},
        [('tool_result', 'collateral', 'Tool execution cancelled due to earlier permission rejection for tool `x`')]),
    'an edit': ({'sessionUpdate': 'tool_call_update', 'toolCallId': 'c', 'status': 'completed', 'content': [{'type': 'diff', 'path': 'a', 'oldText': 'x', 'newText': 'y'}],
                 'rawOutput': {'type': 'SearchReplace', 'EditsApplied': {'tool_output_for_prompt': 'updated'}}}, [('tool_result', 'ok', 'updated')]),
    'stopped': ({'sessionUpdate': 'turn_completed', 'prompt_id': 'p', 'stop_reason': 'cancelled'}, [('interruption', 'interruption', '')]),
    'stopped by a hook': ({'sessionUpdate': 'turn_completed', 'prompt_id': 'p', 'stop_reason': 'cancelled', 'meta': {'cancellationCategory': 'HookDenied'}}, []),
    'recap': ({'sessionUpdate': 'session_recap', 'summary': 'You were at X.', 'auto': True}, [('injected', 'recap', 'You were at X.')]),
    'mode': ({'sessionUpdate': 'current_mode_update', 'currentModeId': 'plan'}, [('meta', 'mode', 'plan')]),
    'bookkeeping': ({'sessionUpdate': 'memory_flush_started'}, []),
    'unknown': ({'sessionUpdate': 'hologram'}, [('unknown', 'update hologram', '')]),
    'no kind': ({'x': 1}, [('unknown', 'no update', '')]),
}


@pytest.mark.parametrize('name', sorted(ROWS))
def test_row(name, tmp_path):
    update, wanted = ROWS[name]
    folder = stream(tmp_path / 'sessions' / 'g' / 's', dict(update))
    source = grok.session_at(folder).sources[0]
    coverage = Coverage(source.path)
    found = [(e.kind, e.label, e.text) for got in grok.read(source, coverage) for e in got]
    assert found == wanted
    assert coverage.unknown_records == sum(1 for row in wanted if row[0] == 'unknown')


def test_rows_without_an_envelope(tmp_path):
    folder = tmp_path / 'sessions' / 'g' / 's'
    folder.mkdir(parents=True)
    rows = [{'update': typed('one', promptIndex=0), 'timestamp': NOW}, dict(typed('two'), timestamp='2026-03-02T09:00:05Z')]
    (folder / 'updates.jsonl').write_text('\n'.join(json.dumps(r) for r in rows), encoding='utf-8')
    source = grok.session_at(str(folder)).sources[0]
    found = [e for got in grok.read(source, Coverage(source.path)) for e in got]
    assert [(e.kind, e.text, e.time) for e in found] == [('prompt', 'one', NOW * 1000), ('prompt', 'two', (NOW + 5) * 1000)]


def test_a_compaction_whose_end_is_not_told_counts_once(tmp_path):
    folder = stream(tmp_path / 'sessions' / 'g' / 's', {'sessionUpdate': 'compaction_checkpoint', 'checkpoint_id': 'k1'},
                    {'sessionUpdate': 'compaction_checkpoint', 'checkpoint_id': 'k2'}, typed('x', promptIndex=0),
                    {'sessionUpdate': 'auto_compact_completed', 'tokens_before': 7})
    found, _ = events(str(tmp_path), 's', 'g')
    assert folder and [e.id for e in found if e.kind == 'compaction'] == ['k1', 'k2', 's-3@%d' % ((NOW + 3) * 1000)]


def test_spilled_output(root):
    source = grok.session_at(os.path.join(root, 'sessions', GROUP, PARENT)).sources[0]
    path = grok.spill_path(source, '/elsewhere/terminal/call_3.log')
    assert grok.spill_text(path).split('\n')[2] == 'needle-in-log'
    assert grok.spill_path(source, '../summary.json') == '' and grok.spill_path(source, '') == '' and grok.spill_path(source, 'a\0b') == ''
    if hasattr(os, 'symlink') and os.name != 'nt':
        os.symlink(os.path.join(root, 'sessions', GROUP, PARENT, 'summary.json'), os.path.join(os.path.dirname(path), 'out.log'))
        assert grok.spill_path(source, 'out.log') == ''


def test_rewind_takes_prompts_off_the_branch(root):
    path = os.path.join(root, 'sessions', GROUP, PARENT, 'updates.jsonl')
    ends, left = grok.branches(path)
    found, _ = events(root, PARENT)
    gone = [e.text for e in found if e.id in left and e.kind == 'prompt']
    assert (ends, gone) == (2, ['What is on this screenshot?', 'name the colour too'])


def test_files_saved_before_prompts(root):
    assert grok.file_versions(os.path.join(root, 'sessions', GROUP, PARENT, 'updates.jsonl')) == {'login.py': 2, 'new.py': 1}


def test_a_fork_of_a_fork_counts_what_is_new_alone(tmp_path):
    ids, made = [c * 8 + '-0000-4000-8000-000000000000' for c in 'abc'], []
    for place, sid in enumerate(ids):
        rows = [row for turn in range(place + 1) for row in (typed('turn %d' % turn, promptIndex=turn), bill('p%d' % turn))]
        stream(tmp_path / 'sessions' / 'g' / sid, *rows, ids=False, card=dict(
            {'info': {'id': sid}}, **{'parent_session_id': ids[place - 1], 'session_kind': 'fork'} if place else {}))
        found, _ = events(str(tmp_path), sid, 'g')
        made.append(set((e.kind, e.id) for e in found if e.kind in ('prompt', 'usage')))
    assert [len(one) for one in made] == [2, 4, 6] and made[0] < made[1] < made[2]


def test_copied_rows(root):
    assert grok.inherited(os.path.join(root, 'sessions', GROUP, FORK, 'updates.jsonl'), FORK) == 12
    assert grok.inherited(os.path.join(root, 'sessions', GROUP, PARENT, 'updates.jsonl'), PARENT) == 0
    mine, copied = events(root, PARENT)[0], events(root, FORK)[0]
    ids = set((e.kind, e.id) for e in mine if e.id)
    assert [e.text for e in copied if e.kind == 'prompt' and (e.kind, e.id) not in ids] == ['Now in a fork']
    assert sum(1 for e in copied if e.kind == 'usage' and (e.kind, e.id) not in ids) == 1


# what prompts cost

def test_figures_of_the_fixture(root, home):
    home.build()
    state, wanted = home.state(), expected()
    assert set(state['sessions']) == set(wanted['sessions'])
    tally = {}
    for session, row in state['sessions'].items():
        # Parent: 9000 - 6000 - 1000 less the first subagent's 4000 - 2500 - 500, 2000 - 1500, 2200 - 900; output
        # 300 - 120 + 40 + 25; cached 6000 - 2500 + 1500 + 900; written 1000 - 500; calls 4 - 2 + 1 + 2. The subagents:
        # 1000 + 700 in, 120 + 30 out, 2500 cached, 500 written, 2 + 1 calls.
        got = shared_keys(row['tally'])
        assert dict((k, got[k]) for k in wanted['sessions'][session]) == wanted['sessions'][session], session
        for name, amount in row['tally'].items():
            tally[name] = tally.get(name, 0) + amount
    for model, row in wanted['models'].items():
        assert dict((k, tally.get('m|%s|%s' % (model, k), 0)) for k in row) == row, model
    titles = dict((s, (r['title'], r['title_kind'])) for s, r in state['sessions'].items())
    assert titles[PARENT] == ('Login 登录 repair', 'custom-title') and titles[OLD] == ('An old one', 'ai-title')
    assert state['sessions'][PARENT]['branch'] == 'main' and state['sessions'][OLD]['project'] == '/home/dev/a/very/long/app'


def test_family_report(root):
    report = grok_usage.grok_family_usage_report(os.path.join(root, 'sessions', GROUP, PARENT))
    assert report['mode'] == 'mixed'
    assert [(c['session_id'], c['decision'], c['usage']['model_calls']) for c in report['children']] == [(FIRST, 'rollup', 2), (SECOND, 'separate', 1)]
    # Bills as written: 9000 + 2000 + 2200; the family adds what is on no bill of the parent: 700.
    assert (report['parent']['input_tokens'], report['main']['input_tokens'], report['subagents']['input_tokens'],
            report['family']['input_tokens']) == (13200, 9200, 4700, 13900)
    assert report['family']['cache_hit_rate'] == 8400 / 13900.0
    assert sum(row['total_tokens'] for row in report['model_usage'].values()) == report['family']['total_tokens'] == 13900 + 395


def test_aggregate(root):
    family = grok_usage.grok_aggregate_model_usage('family', root)
    assert dict((m, (r['input_tokens'], r['output_tokens'], r['model_calls'], r['sessions'])) for m, r in family.items()) == {
        'grok-3': (500, 50, 2, 1), 'grok-4.5': (14000, 374, 8, 2), 'grok-code-fast-1': (700, 30, 1, 1)}
    raw = grok_usage.grok_aggregate_model_usage('raw', root)
    # 13200 + 4000 of the subagent on a bill too + 9000 + 800 of the fork.
    assert raw['grok-4.5']['input_tokens'] == 27000
    with pytest.raises(ValueError):
        grok_usage.grok_aggregate_model_usage('all', root)


def test_a_bill_that_cannot_hold_its_subagent_does_not(tmp_path):
    base = tmp_path / 'sessions' / 'g'
    stream(base / 'kid', bill('k1', 900, 90, 0, 9))
    kid = {'subagent_id': 'kid', 'child_session_id': 'kid', 'parent_prompt_id': 'p1'}
    top = stream(base / 'top', typed('x', promptIndex=0), dict(kid, sessionUpdate='subagent_spawned'),
                 dict(kid, sessionUpdate='subagent_finished'), bill('p1', 500, 50, 0, 5))
    os.utime(str(base / 'kid' / 'updates.jsonl'))
    assert spent(top) == (5, 500, 50, 0)
    assert grok_usage.grok_family_usage_report(top)['children'][0]['decision'] == 'separate'


def test_without_rows_about_subagents_the_cards_tell(tmp_path):
    base = tmp_path / 'sessions' / 'g'
    stream(base / 'kid', typed('x', promptIndex=0), bill('k1', 300, 30, 100, 1))
    top = stream(base / 'top', typed('x', promptIndex=0), typed('y', promptIndex=1), typed('z', promptIndex=2), bill('p1', 1000, 100, 400, 3))
    card = base / 'top' / 'subagents' / 'kid'
    card.mkdir(parents=True)
    (card / 'meta.json').write_text(json.dumps({
        'child_session_id': 'kid', 'started_at': '2026-03-02T09:00:00Z', 'completed_at': '2026-03-02T09:00:02Z'}), encoding='utf-8')
    assert spent(top) == (2, 700, 70, 300)
    (card / 'meta.json').write_text(json.dumps({
        'child_session_id': 'kid', 'started_at': '2026-03-02T09:00:00Z', 'completed_at': '2026-03-02T09:30:02Z'}), encoding='utf-8')
    assert spent(top) == (3, 1000, 100, 400)


def test_a_subagent_whose_session_is_gone_stays_on_the_bill(root):
    shutil.rmtree(os.path.join(root, 'sessions', GROUP, FIRST))
    assert spent(os.path.join(root, 'sessions', GROUP, PARENT))[:3] == (7, 13200, 365)
    report = grok_usage.grok_family_usage_report(os.path.join(root, 'sessions', GROUP, PARENT))
    assert report['family']['input_tokens'] == 13900 and report['children'][0]['path'] == ''


def test_prompts_are_summed_and_one_written_twice_counts_once(tmp_path):
    rows = [bill('p1', 1000, 10, 800, 2), bill('p2', 1500, 20, 300, 3), bill('p2', 1500, 20, 300, 3), bill('p3', 100, 1, 0, 5), bill('p1', 1000, 10, 800, 2)]
    assert spent(stream(tmp_path / 'sessions' / 'g' / 's', *rows)) == (10, 2600, 31, 1100)
    assert spent(stream(tmp_path / 'sessions' / 'g' / 't', *rows, ids=False)) == (10, 2600, 31, 1100)


def test_rows_without_a_prompt_id(tmp_path):
    rising = [bill(None, 1000, 10, 800, 2), bill(None, 1500, 20, 900, 3), bill(None, 2500, 30, 900, 5)]
    assert spent(stream(tmp_path / 'sessions' / 'g' / 's', *rising)) == (5, 2500, 30, 900)
    falling = [bill(None, 1000, 10, 800, 2), bill(None, 1500, 20, 300, 3), bill(None, 2500, 30, 900, 5)]
    assert spent(stream(tmp_path / 'sessions' / 'g' / 't', *falling)) == (10, 5000, 60, 2000)


def test_legs():
    both = {'inputTokens': 30, 'outputTokens': 3, 'modelCalls': 3, 'modelUsage': {
        'a': {'inputTokens': 10, 'outputTokens': 1, 'modelCalls': 1}, 'b': {'inputTokens': 15, 'outputTokens': 2, 'modelCalls': 1}, 'c': 7}}
    assert grok_ledger.legs(both, 'm') == {'a': [10, 1, 0, 0, 1, 0], 'b': [15, 2, 0, 0, 1, 0], 'm': [5, 0, 0, 0, 1, 0]}
    assert grok_ledger.legs({'inputTokens': 5, 'modelCalls': 1}) == {'': [5, 0, 0, 0, 1, 0]}
    assert grok_ledger.legs({'inputTokens': 5, 'cachedReadTokens': 20}) == {'': [25, 0, 20, 0, 0, 0]}
    assert grok_ledger.legs({'inputTokens': -1, 'outputTokens': 'x', 'modelCalls': True}) == {}
    # Reasoning that no model's figures tell is that of the only model.
    one = {'inputTokens': 5, 'outputTokens': 4, 'reasoningTokens': 3, 'modelUsage': {'a': {'inputTokens': 5, 'outputTokens': 4, 'modelCalls': 1}}}
    assert grok_ledger.legs(one) == {'a': [5, 4, 0, 0, 1, 3]}
    for leg in ((7, 3, 2, 1, 2), (0, 0, 0, 0, 0), (1, 1, 1, 1, 1)):
        shares = list(grok_ledger.split(leg[:4] + (3,) + leg[4:], 3))
        assert tuple(sum(part) for part in zip(*shares)) == leg
        assert all(s[0] - s[2] - s[3] >= -1 for s in shares)


def test_an_incomplete_bill_is_a_lower_bound(tmp_path):
    folder = stream(tmp_path / 'sessions' / 'g' / 's', bill('p1', 100, 10, 0, 2, usageIsIncomplete=True))
    found = [e.data.final for e in events(str(tmp_path), 's', 'g')[0] if e.kind == 'usage']
    assert folder and found == [1, 0]


def test_billed(root):
    rows = grok.billed(grok.session_at(os.path.join(root, 'sessions', 'app-0123456789abcdef', OLD)))
    assert rows == [{'turn': 1, 'time': 1762074009000, 'model': 'grok-3', 'input': 300, 'output': 50, 'cache_read': 200, 'cache_write': 0, 'calls': 2, 'reasoning': 0}]
    assert grok.billed(grok.session_at(os.path.join(root, 'sessions', GROUP, PARENT))) is None


# sessions by themselves, and those that are gone

def test_sessions_are_listed_and_found(root, home, monkeypatch):
    monkeypatch.setenv('GROK_HOME', root)
    assert [r['session_id'] for r in echolib.grok_list_sessions()] == [CHAT, FORK, PARENT, OLD]
    assert [r['session_id'] for r in echolib.grok_list_sessions('/home/dev/app', 2)] == [CHAT, FORK]
    assert [r['session_id'] for r in echolib.grok_list_sessions(keyword='登录')] == [FORK, PARENT]     # which copied it
    path = echolib.grok_session_path('/home/dev/a/very/long/app', OLD)
    assert path.endswith(OLD) and echolib.grok_session_path(None, OLD) == path and echolib.grok_session_path('/x', OLD) == ''
    assert echolib.grok_session_path(None, '../x') == ''


def test_one_session(root, home):
    folder = os.path.join(root, 'sessions', GROUP, PARENT)
    stats = echolib.grok_session_stats(folder)
    assert (stats['title'], stats['client']['turns'], stats['client']['tool_errors'], stats['client']['context_tokens']) == (
        'Login 登录 repair', 3, 1, 900)
    family = echolib.grok_family_usage_report(folder)['family']
    assert stats['input_tokens'] + stats['cache_read_tokens'] + stats['cache_write_tokens'] == family['input_tokens']
    assert sum(row['input_tokens'] for row in stats['model_usage'].values()) == stats['input_tokens']
    assert [m['text'] for m in echolib.grok_extract_messages(folder, 'user', 2)] == ['Fix the login 修复登录', '/review the patch']
    assert [t['name'] for t in echolib.grok_extract_tools(folder, errors_only=True)] == ['run_terminal_command']
    assert [t['status'] for t in echolib.grok_extract_tools(folder, tool_filter='Write')] == ['declined']


def search_database(root, session, title):
    db = sqlite3.connect(os.path.join(root, 'sessions', 'session_search.sqlite'))
    db.execute('create table if not exists session_docs (session_id text primary key, cwd text, updated_at integer, title text, content text, content_hash text)')
    db.execute('insert into session_docs values (?,?,?,?,?,?)', (session, '/home/dev/gone', NOW, title, 'typed long ago\n\nanswered', ''))
    db.commit()
    db.close()


def remembered(root):
    """-> sorted (session, project, text) of what is known of sessions whose folder is gone or not, and each row found again."""
    out = []
    for path, size, mtime, role, chain, session, folder in grok.scan(root, []):
        if role != 'history':
            continue
        source = Source(path, role, chain, session, size, mtime)
        for found in grok.read(source, Coverage(path), 0, 0, {}):
            for event in found:
                assert (event.kind, event.label) == ('prompt', 'history')
                assert [one._replace(line=event.line) for one in grok.events_at(source, event.offset, event.length)] == [event]
                out.append((event.message[:8], event.data, event.text))
    return sorted(out)


def test_prompts_of_sessions_whose_folder_is_gone(root):
    known = remembered(root)
    assert ('0f0000ff', '/home/dev/app', 'a prompt whose session is gone') in known and ('0f0000ff', '/home/dev/app', '!ls -la') in known
    # A session that is there says everything itself; of one that is gone the index knows the answers as well.
    search_database(root, PARENT, 'Not this one')
    search_database(root, '0f0000fe-0000-4000-8000-0000000000fe', 'A gone one')
    before = sorted(os.listdir(os.path.join(root, 'sessions')))
    assert sorted(set(remembered(root)) - set(known)) == [('0f0000fe', '/home/dev/gone', 'A gone one\ntyped long ago\n\nanswered')]
    assert sorted(os.listdir(os.path.join(root, 'sessions'))) == before


def test_prompts_that_the_history_has_are_not_told_by_the_index_again(root):
    search_database(root, '0f0000fe-0000-4000-8000-0000000000fe', 'A gone one')
    with open(os.path.join(root, 'sessions', GROUP, 'prompt_history.jsonl'), 'a', encoding='utf-8') as out:
        out.write(json.dumps({'timestamp': '2026-05-01T00:00:00Z', 'session_id': '0f0000fe-0000-4000-8000-0000000000fe', 'prompt': 'typed long ago',
                              'is_bash': False}) + '\n')
    assert [text for sid, _, text in remembered(root) if sid == '0f0000fe'] == ['typed long ago', 'A gone one\nanswered']


def test_the_index_is_read_again_when_a_session_goes(root):
    search_database(root, PARENT, 'Kept')
    index = os.path.join(root, 'sessions', 'session_search.sqlite')
    stamp = [row[1:3] for row in grok.scan(root, []) if row[0] == index]
    shutil.rmtree(os.path.join(root, 'sessions', GROUP, PARENT))
    assert [row[1:3] for row in grok.scan(root, []) if row[0] == index] != stamp
    assert [text for sid, _, text in remembered(root) if sid == PARENT[:8] and text.startswith('Kept')] == ['Kept\ntyped long ago\n\nanswered']


def test_an_unreadable_search_index_is_said_and_the_rest_is_read(root):
    with open(os.path.join(root, 'sessions', 'session_search.sqlite'), 'wb') as out:
        out.write(b'no database' * 500)
    with pytest.raises(OSError):
        remembered(root)
    assert grok_side.searched_title(os.path.join(root, 'sessions', GROUP, PARENT)) == ''


@pytest.mark.slow
def test_a_search_finds_what_is_left_of_a_session(tmp_path):
    home = str(tmp_path / 'home')
    shutil.copytree(os.path.join(shared('corpus', 'grok-1.0.41'), 'home', 'dev'), home)
    ask = lambda words: call_script('sd-recall', 'search', words, '--format', 'json', home=home).json()['hits']
    assert [(hit['gone'], hit['kind']) for hit in ask('"Print many rows"')] == [(False, 'prompt')]
    shutil.rmtree(os.path.join(home, '.grok', 'sessions', '%2Fhome%2Fdev%2Fwork%2Fshop', '617959ce-3f1f-45a8-9e52-71007814e8a2'))
    for words in ('"Print many rows"', '"a lot of rows"'):
        assert [(hit['gone'], hit['session_id'][:8], hit['project_path']) for hit in ask(words)] == [(True, '617959ce', '/home/dev/work/shop')]


def test_the_search_index_gives_a_title_where_the_card_is_gone(root):
    search_database(root, PARENT, 'Kept by the index')
    os.unlink(os.path.join(root, 'sessions', GROUP, PARENT, 'summary.json'))
    found, _ = events(root, PARENT)
    assert [(e.label, e.text) for e in found if e.kind == 'meta'][:2] == [('cwd', '/home/dev/app'), ('ai-title', 'Kept by the index')]


def test_an_orphaned_subagent_has_no_prompts(root):
    shutil.rmtree(os.path.join(root, 'sessions', GROUP, PARENT))
    found, _ = events(root, FIRST)
    assert [(e.kind, e.label) for e in found if e.kind in ('prompt', 'injected')] == [('injected', 'task')]


# growth and damage

def grow(home, top, name, rounds, backwards=False, late=False):
    """Let every stream below a Grok home grow step by step into another home; -> the state then, and after a rebuild."""
    target = os.path.join(home.folder, '.grok')
    files, cuts = {}, {}
    for where, _, names in os.walk(top):
        for one in names:
            path = os.path.relpath(os.path.join(where, one), top)
            if one == name:
                with open(os.path.join(where, one), 'rb') as data:
                    files[path], cuts[path] = data.readlines(), 0
            else:
                folder = os.path.dirname(os.path.join(target, path))
                if not os.path.isdir(folder):
                    os.makedirs(folder)
                shutil.copyfile(os.path.join(where, one), os.path.join(target, path))
    for step in range(rounds):
        for number, path in enumerate(sorted(files, reverse=backwards)):
            lines = files[path]
            end = len(lines) if step == rounds - 1 else min(len(lines), cuts[path] + max(1, len(lines) // rounds) + number % 3)
            if not os.path.isdir(os.path.dirname(os.path.join(target, path))):
                os.makedirs(os.path.dirname(os.path.join(target, path)))
            with open(os.path.join(target, path), 'ab') as out:
                out.write(b''.join(lines[cuts[path]:end]))
            cuts[path] = end
        home.build()
    grown = home.state()
    shutil.rmtree(home.data)
    home.build()
    return grown, home.state()


@pytest.mark.slow
@pytest.mark.parametrize('rounds, backwards', [(5, False), (5, True), (40, False)])
@pytest.mark.parametrize('small', [0, 1 << 18])
def test_a_grown_home_equals_a_rebuild(home, monkeypatch, rounds, backwards, small):
    monkeypatch.setattr(grok, '_SMALL', small)
    grown, rebuilt = grow(home, os.path.join(HERE, 'home', '.grok'), 'updates.jsonl', rounds, backwards)
    assert grown == rebuilt and len(grown['sessions']) == 4


@pytest.mark.slow
@pytest.mark.parametrize('small', [0, 1 << 18])
def test_a_grown_corpus_equals_a_rebuild(home, monkeypatch, small):
    monkeypatch.setattr(grok, '_SMALL', small)
    grown, rebuilt = grow(home, corpus(), 'updates.jsonl', 6)
    assert grown == rebuilt and len(grown['sessions']) == 13


@pytest.mark.slow
def test_a_renamed_session_shows_its_new_title(home, root):
    home.build()
    card = os.path.join(root, 'sessions', GROUP, FORK, 'summary.json')
    with open(card, encoding='utf-8') as data:
        value = json.load(data)
    value.update(generated_title='Zanzibar', title_is_manual=True)
    with open(card, 'w', encoding='utf-8') as out:
        json.dump(value, out)
    home.build()
    grown = home.state()
    assert grown['sessions'][FORK]['title'] == 'Zanzibar'
    shutil.rmtree(home.data)
    home.build()
    assert grown == home.state()


def test_garbage_never_raises(root, tmp_path):
    dice = random.Random(7)
    odd = [None, True, 0, -1, 1.5, 1e300, '', 'x', [], {}, [1], [None], {'a': {}}, '\ud800', 1 << 70, [[[]]], 'a\0b']

    def bend(value):
        if dice.random() < 0.08:
            return dice.choice(odd)
        if isinstance(value, dict):
            return dict((k, bend(v)) for k, v in value.items())
        return [bend(v) for v in value] if isinstance(value, list) else value
    for session, group in ((PARENT, GROUP), (FORK, GROUP), (OLD, 'app-0123456789abcdef'), (CHAT, GROUP)):
        folder = os.path.join(root, 'sessions', group, session)
        name = [n for n in ('updates.jsonl', 'chat_history.jsonl') if os.path.exists(os.path.join(folder, n))][0]
        with open(os.path.join(folder, name), 'rb') as data:
            rows = [json.loads(line.decode('utf-8')) for line in data]
        sides = dict((n, json.load(open(os.path.join(folder, n), encoding='utf-8'))) for n in ('summary.json', 'usage.json')
                     if os.path.exists(os.path.join(folder, n)))
        for _ in range(12):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as out:
                for row in rows:
                    out.write(json.dumps(bend(row)) + '\n')
                out.write('{"half": \n\0\0\n[1]\n')
            for side, value in sides.items():
                with open(os.path.join(folder, side), 'w', encoding='utf-8') as out:
                    json.dump(bend(value), out)
            source = grok.session_at(folder).sources[0]
            coverage, state = Coverage(source.path), {}
            found = [e for got in grok.read(source, coverage, 0, 0, state) for e in got]
            json.dumps(state)
            assert coverage.lines >= len(rows) and all(isinstance(e.text, str) and isinstance(e.label, str) for e in found)
            assert all(e.id is None or isinstance(e.id, str) for e in found)
            assert all(min(e.data[1:6]) >= 0 for e in found if e.kind == 'usage')
            grok_usage.grok_family_usage_report(folder)
            echolib.grok_session_stats(folder)
            grok.branches(source.path)
    list(grok.scan(root, []))


def test_long_texts_take_time_in_proportion():
    for text in ('<user_query>' * 50000, '<system-reminder></system-reminder>' * 50000, '<system-reminder>' * 50000, '<rules>' * 50000):
        grok_text.prompt_words(text)


# the real thing

@pytest.mark.slow
def test_corpus_figures(home):
    shutil.copytree(corpus(), os.path.join(home.folder, '.grok'))
    home.build()
    sessions = home.state()['sessions']
    with open(os.path.join(shared('corpus', 'grok-1.0.41'), 'expected.json'), encoding='utf-8') as data:
        wanted = json.load(data)
    for name, row in wanted.items():
        got = shared_keys(sessions[row['session']]['tally'])
        if name == 'forkchild':
            assert got['user_prompts'] == 1
        parts = [row[part]['tokens'] for part in ('main', 'sub') if row.get(part)]
        total = sum(p.get('input_total', 0) for p in parts)
        cached = sum(p.get('cached', 0) for p in parts)
        assert (got['api_calls'], got['tokens']['input'], got['tokens']['cache_read'], got['tokens']['output']) == (
            sum(p.get('calls', 0) for p in parts), total - cached, cached, sum(p.get('output', 0) for p in parts)), name
        assert got['subagents'] == (row.get('subagents') or 0) and got['compactions'] == (row.get('compactions') or 0), name


@pytest.mark.slow
def test_usage_json_agrees_with_the_bills():
    for session in grok.discover(corpus(), []):
        for source in session.sources:
            folder = os.path.dirname(source.path)
            legs = {}
            for _, _, leg in grok_ledger.bills_of(folder):
                grok_ledger.add(legs, leg)
            whole = grok_ledger.legs(grok_side.load(os.path.join(folder, 'usage.json')).get('session') or {})
            assert dict((m, leg) for m, leg in legs.items()) == whole, folder


@pytest.mark.slow
def test_commands(tmp_path):
    shutil.copytree(os.path.join(HERE, 'home'), str(tmp_path / 'home'))
    home = str(tmp_path / 'home')
    assert call_script('index-builder', 'build', home=home).rc == 0
    hits = call_script('sd-recall', 'search', 'zebra', '--include-tools', '--format', 'json', home=home).json()
    assert [(h['agent'], h['session_id'], h['role']) for h in hits['hits']][0][:2] == ('grok', PARENT)
    hits = call_script('sd-recall', 'search', 'needle-in-log', '--include-tools', '--format', 'json', home=home).json()
    assert hits['total_sessions'] == 1
    hits = call_script('sd-recall', 'search', '登录', '--format', 'json', home=home).json()
    assert PARENT in [h['session_id'] for h in hits['hits']]
    for command in (('show', PARENT), ('messages', PARENT), ('tools', PARENT), ('files', PARENT), ('session-stats', FORK), ('resume', OLD),
                    ('export', PARENT, '--format', 'md'), ('show', CHAT), ('environments', '--stores'), ('explain', FORK)):
        got = call_script('sd-recall', *command, home=home)
        assert got.rc == 0 and 'Traceback' not in got.err, got
    assert 'grok -r %s' % OLD in call_script('sd-recall', 'resume', OLD, home=home).out


@pytest.mark.parametrize('told', [None, ['a'], {'a': 1}, 7])
def test_a_card_whose_ids_are_no_text_goes_by_its_name(tmp_path, told):
    """A session's bill holds what its subagents spent: they are looked up by these ids."""
    folder = tmp_path / 'subagents' / 'task-1'
    folder.mkdir(parents=True)
    (folder / 'meta.json').write_text(json.dumps({'subagent_id': told, 'child_session_id': told, 'started_at': '2026-03-02T10:00:00Z',
                                                  'completed_at': '2026-03-02T10:00:05Z'}), encoding='utf-8')
    assert [(card['subagent_id'], card['child_session_id']) for card in grok_side.cards(str(tmp_path))] == [('task-1', 'task-1')]
    children = grok_ledger.Children(str(tmp_path), {})
    assert children.on_bill('p', 1772445610000) == [('task-1', {})]
