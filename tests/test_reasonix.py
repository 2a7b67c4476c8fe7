"""Reasonix: where its files lie, messages of every generation, the log of packed frames, ledgers, subagents and forks."""
import base64
import json
import os
import shutil
import struct

import pytest

from echolib import analysis
from echolib.adapters import Source, reasonix, registry
from echolib.adapters.reasonix_frames import CODEC
from echolib.adapters.reasonix_ledger import bill_of
from echolib.adapters.reasonix_lines import dated
from echolib.adapters.reasonix_parse import outcome
from echolib.records import Coverage
from helpers import FIXTURES, call_script, shared

HOME = os.path.join(FIXTURES, 'reasonix', 'home')
ROOT = os.path.join(HOME, '.reasonix')
SID = '8634f2c037ff07e7cf44bc233b75f83f'
with open(os.path.join(FIXTURES, 'reasonix', 'expected.json'), encoding='utf-8') as _file:
    EXPECTED = json.load(_file)


def sources(root=ROOT):
    """Return the Sources of a home, those of loose files tied to their session."""
    out = []
    for path, size, mtime, role, chain, session, folder in reasonix.scan(root, []):
        session = reasonix.head(path)['session'] or chain if role == 'loose' else session
        out.append(Source(path, role, chain, session, size, mtime))
    return out


def source_of(name, root=ROOT):
    """Return the one Source whose path holds a name."""
    found = [source for source in sources(root) if name in source.path]
    assert len(found) == 1, found
    return found[0]


def all_of(source, coverage=None, **how):
    """Return the events of a source."""
    coverage = Coverage(source.path) if coverage is None else coverage
    return [event for events in reasonix.read(source, coverage, **how) for event in events]


def spoken(events):
    """Return [(kind, label, text)] without meta and usage."""
    return [(e.kind, e.label, e.text) for e in events if e.kind not in ('meta', 'usage')]


def facts_of(some):
    """Return {key: Fact} of sources."""
    out = {}
    for source in some:
        one = analysis.FileAnalysis()
        if source.role == 'loose':
            one.add_agent(source.chain)
        for event in all_of(source):
            one.add(event)
        for key, fact in one.facts.items():
            out[key] = analysis.merge(out[key], fact) if key in out else fact
    return out


def totals(facts):
    """Return the counters that expected.json names, of facts."""
    tally = {}
    for fact in facts:
        analysis.apply(tally, fact, 1)
    found = analysis.shared_keys(tally)
    found.update(found['tokens'])
    return found


def packed(raw):
    """Return a frame of the event log: its zstd frame holds one raw block."""
    zstd = b'\x28\xb5\x2f\xfd\x00\x58' + (len(raw) << 3 | 1).to_bytes(3, 'little') + raw
    return b'RX4F' + struct.pack('>II', len(zstd), len(raw)) + zstd


def frame(**record):
    record = dict({'schemaVersion': 4, 'codec': CODEC}, **record)
    return packed(json.dumps(record).encode('utf-8'))


_number = [0]


def event(kind, payload=None, **more):
    """Return an event of a batch."""
    _number[0] += 1
    out = dict({'id': '%032x' % _number[0], 'seq': _number[0], 'kind': kind}, **more)
    if payload is not None:
        out['payload'] = base64.b64encode(json.dumps(payload).encode('utf-8')).decode('ascii')
    return out


def message(role, content='', ident='', **more):
    """Return a message/complete event."""
    _number[0] += 1
    return event('message/complete', {'message': dict({'role': role, 'id': ident or '01MSG%08d' % _number[0], 'content': content}, **more)})


def batch(*events, **how):
    """Return the frames of one batch. time: seconds after 2026-09-01T10:00:00Z; end: False leaves its last frame out."""
    out = frame(recordType='batch/begin', commitId='c', firstSeq=1, eventCount=len(events),
                createdAt='2026-09-01T10:00:%02d.123456789Z' % how.get('time', 0))
    for one in events:
        out += frame(recordType='batch/event', createdAt='0001-01-01T00:00:00Z', event=one)
    if how.get('end', True):
        out += frame(recordType='batch/end', commitId='c', firstSeq=1, eventCount=len(events), sha256='')
    return out


@pytest.fixture
def log(tmpdir):
    """Return a function that writes a log into a home and gives its Source."""
    def write(*parts):
        folder = tmpdir.join('.reasonix', 'projects', '-home-ann-shop', 'sessions-v4', SID)
        folder.ensure(dir=True)
        folder.join('events.frames').write_binary(b''.join(parts))
        return source_of(SID, str(tmpdir.join('.reasonix')))
    return write


# where things lie

@pytest.mark.parametrize('environ, found', [
    ({}, ['~/.reasonix']),
    ({'REASONIX_HOME': '/srv/rx'}, ['/srv/rx']),
    ({'REASONIX_STATE_HOME': '/srv/state'}, ['/srv/state', '~/.reasonix']),
    ({'REASONIX_STATE_HOME': '/srv/state', 'REASONIX_HOME': '/srv/rx'}, ['/srv/state', '/srv/rx']),
    ({'REASONIX_STATE_HOME': '/srv/rx', 'REASONIX_HOME': '/srv/rx'}, ['/srv/rx']),
])
def test_roots(environ, found):
    if os.name != 'nt':
        assert reasonix.roots(environ) == [os.path.abspath(os.path.expanduser(path)) for path in found]


def test_scan():
    rows = sorted((os.path.relpath(row[0], ROOT).replace(os.sep, '/'),) + row[3:] for row in reasonix.scan(ROOT, []))
    assert rows == [
        ('archive/old-1.jsonl', 'main', '', 'old-1', ''),
        ('projects/-home-ann-my.app_x/sessions/p1.jsonl', 'main', '', 'p1', '-home-ann-my.app_x'),
        ('sessions/20260401-ab12.jsonl', 'main', '', '20260401-ab12', ''),
        ('sessions/20260402-cd34/20260402-cd34.jsonl', 'main', '', '20260402-cd34', ''),
        ('sessions/fix-ci-202603010900.events.jsonl', 'main', '', 'fix-ci-202603010900', ''),
        ('sessions/notes-20260302101500.jsonl', 'main', '', 'notes-20260302101500', ''),
        ('sessions/plan.jsonl', 'main', '', 'plan', ''),
        ('sessions/subagents/sa_20260401_080003_1_00aa.jsonl', 'loose', 'sa_20260401_080003_1_00aa', None, ''),
        ('sessions/subagents/sa_20260401_080003_2_00bb.jsonl', 'loose', 'sa_20260401_080003_2_00bb', None, ''),
        ('stats/2026-04-01.jsonl', 'ledger', '', 'ledger', ''),
        ('usage.jsonl', 'ledger', '', 'ledger', ''),
    ]


def test_scan_of_a_home_that_is_not_there(tmpdir):
    problems = []
    assert list(reasonix.scan(str(tmpdir.join('none')), problems)) == []
    assert [path for path, _ in problems] == [str(tmpdir.join('none'))]


def test_a_line_file_gives_way_to_the_log_of_the_same_session(tmpdir):
    tmpdir.join('sessions').ensure(dir=True)
    tmpdir.join('sessions', SID + '.jsonl').write('{"role":"user","content":"x"}\n')
    for store in (('sessions-v4',), ('desktop-sessions-v5', 'by-id')):
        folder = tmpdir.join(*store).join(SID)
        folder.ensure(dir=True)
        folder.join('events.frames').write_binary(batch(message('user', 'x', origin='user')))
        assert [row[3:] for row in reasonix.scan(str(tmpdir), [])] == [('main', '', SID, '')]
        shutil.rmtree(str(folder))
    assert [row[5] for row in reasonix.scan(str(tmpdir), [])] == [SID]


def test_a_side_file_changes_the_time_of_its_session(tmpdir):
    home = str(tmpdir.join('h'))
    shutil.copytree(ROOT, home)
    before = source_of('20260401-ab12.jsonl', home)
    with open(os.path.join(home, 'sessions', '20260401-ab12.jsonl.meta'), 'a', encoding='utf-8') as meta:
        meta.write(' \n')
    assert source_of('20260401-ab12.jsonl', home).mtime_ns != before.mtime_ns


@pytest.mark.parametrize('path, found', [
    ('/x/.reasonix/projects/-home-ann/sessions-v4/%s/events.frames' % SID, True),
    ('/x/.reasonix/projects/-home-ann/sessions/subagents/sa_1.jsonl', True),
    ('/x/.reasonix/sessions/plan.jsonl', True),
    ('/x/AppData/Roaming/reasonix/sessions/plan.jsonl', True),
    ('/x/.reasonix/sessions/plan.events.jsonl', True),
    ('/x/.reasonix/stats/2026-04-01.jsonl', True),
    ('/x/.reasonix/usage.jsonl', True),
    ('/x/.reasonix/sessions/plan.guardian.jsonl', False),
    ('/x/.claude/projects/-home-ann/sessions.jsonl', False),
    ('/x/elsewhere/sessions/plan.jsonl', False),
])
def test_owns(path, found):
    assert reasonix.owns(path) == found
    if found:
        assert registry.detect(path) is reasonix


def test_owns_below_a_configured_home(monkeypatch):
    monkeypatch.setenv('REASONIX_HOME', '/srv/rx')
    assert reasonix.owns('/srv/rx/sessions/plan.jsonl')


def test_session_at():
    main = source_of('20260401-ab12.jsonl').path
    found = reasonix.session_at(main)
    assert (found.root, found.id, found.folder) == (ROOT, '20260401-ab12', '')
    assert [(s.role, s.chain) for s in found.sources] == [
        ('main', ''), ('loose', 'sa_20260401_080003_1_00aa'), ('loose', 'sa_20260401_080003_2_00bb')]
    agent = reasonix.session_at(found.sources[2].path)
    assert (agent.root, agent.id, [s.role for s in agent.sources]) == (ROOT, '20260401-ab12', ['loose'])
    inner = reasonix.session_at(source_of('p1.jsonl').path)
    assert (inner.root, inner.id, inner.folder) == (ROOT, 'p1', '-home-ann-my.app_x')
    assert reasonix.session_at(source_of('cd34').path).root == ROOT
    assert reasonix.session_at(source_of('fix-ci').path).id == 'fix-ci-202603010900'
    assert reasonix.session_at(source_of('2026-04-01').path).sources[0].role == 'ledger'


def test_session_at_a_log(log):
    source = log(batch(message('user', 'x', origin='user')))
    for path in (source.path, os.path.dirname(source.path)):
        found = reasonix.session_at(path)
        assert (found.id, found.folder, found.sources[0].path) == (SID, '-home-ann-shop', source.path)
        assert found.root == source.path.split('/projects/')[0]


def test_discover():
    found = sorted((s.id or '', len(s.sources)) for s in reasonix.discover(ROOT, []))
    assert [one for one in found if one[0]] == [(name, 1) for name in sorted(EXPECTED) if name not in ('home', 'ledger')]
    assert len(found) == 11


def test_resume():
    assert reasonix.resume(SID, '/home/ann') == ['reasonix', '--resume', SID]


# numbers of the fixtures

@pytest.mark.parametrize('name', sorted(EXPECTED))
def test_numbers(name):
    owned = {}
    whole = sources()
    ledgers = [s for s in whole if s.role == 'ledger']
    # A fork comes behind what it was forked from, a ledger behind the sessions.
    order = [s for s in whole if s.role != 'ledger' and 'cd34' not in s.path] + [s for s in whole if 'cd34' in s.path] + ledgers
    for source in order:
        for key, fact in facts_of([source]).items():
            owned.setdefault(key, (fact, source.session))
    mine = [fact for fact, session in owned.values() if name in ('home', session)]
    found = totals(mine)
    wanted = dict(dict.fromkeys(('user_prompts', 'tool_calls', 'tool_errors', 'declined', 'compactions', 'interruptions', 'subagents',
                                 'api_calls', 'input', 'cache_read', 'output', 'cache_write_5m', 'cache_write_1h'), 0), **EXPECTED[name])
    wanted.pop('sums', None)
    assert {key: found[key] for key in wanted} == wanted


@pytest.mark.slow
def test_the_index_says_the_same(tmpdir):
    home = str(tmpdir.join('home'))
    shutil.copytree(HOME, home)
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    for name, value in EXPECTED['home'].items():
        if name != 'sums':
            assert stats['tokens'].get(name, stats.get(name)) == value, name
    assert stats['parse_errors'] == 0 and stats['unknown_records'] == 1
    rows = call_script('sd-recall', 'sessions', '--format', 'json', '--limit', '0', home=home).json()['sessions']
    listed = dict((row['session_id'], row) for row in rows)
    assert set(EXPECTED) - {'home', 'ledger'} <= set(listed)
    assert listed['fix-ci-202603010900']['summary'] == 'Red CI'
    assert listed['fix-ci-202603010900']['branch'] == 'fix/ci'
    assert listed['fix-ci-202603010900']['created'].startswith('2026-03-01T09:00:00')
    assert listed['notes-20260302101500']['created'].startswith('2026-03-02T10:15:00')
    assert listed['20260401-ab12']['project_path'] == '/home/ann/shop'
    assert listed['p1']['project_path'] == '/home/ann/my.app_x'
    for query, session in (('wombat', 'fix-ci-202603010900'), ('船十点开', 'notes-20260302101500'), ('missing.csv', '20260401-ab12')):
        hits = call_script('sd-recall', 'search', query, '--include-tools', '--format', 'json', home=home).json()['hits']
        assert [hit['session_id'] for hit in hits] == [session] * len(hits) and hits, query


# 0.x

def test_the_event_log_of_0x():
    events = all_of(source_of('fix-ci'))
    assert spoken(events) == [
        ('prompt', 'typed', 'why is CI red?'), ('thinking', '', 'check logs'), ('reply', '', 'Let me look.'),
        ('tool_call', 'shell', 'make test'), ('tool_result', 'error', '2 failed: needle wombat'), ('reply', '', 'One test is wrong.'),
        ('compaction', 'manual', ''), ('injected', 'recap', 'Summary: CI was red because of one test.'),
        ('injected', 'local_command', '/status'), ('prompt', 'typed', 'fix it'),
        ('tool_call', 'edit_file', 'test_ci.py\n41\n42'), ('tool_result', 'declined', 'denied: permission'),
        ('reply', 'api_error', '402 Insufficient Balance'), ('unknown', 'row galaxy.brain', '')]
    calls = [e.id for e in events if e.kind == 'tool_call']
    assert len(set(calls)) == 2 and [e.data.call_id for e in events if e.kind == 'tool_result'] == calls
    assert [(e.label, e.text) for e in events if e.kind == 'meta'][:4] == [
        ('cwd', '/home/ann/shop'), ('branch', 'fix/ci'), ('ai-title', 'Red CI'), ('began', '1772355600000')]


def test_the_event_log_counts_where_the_ledger_was_cut(tmpdir):
    home = str(tmpdir.join('h'))
    shutil.copytree(ROOT, home)
    os.remove(os.path.join(home, 'usage.jsonl'))
    found = totals(facts_of([source_of('fix-ci', home)]).values())
    # 1000 + 400; 8000 + 9000; 200 + 50
    assert (found['api_calls'], found['input'], found['cache_read'], found['output']) == (2, 1400, 17000, 250)


def test_billed():
    session = reasonix.session_at(source_of('plan.jsonl').path)
    assert [(bill.model, bill.fresh, bill.read, bill.output) for bill in reasonix.billed(session)] == [('deepseek-reasoner', 500, 1500, 300)]
    assert reasonix.billed(reasonix.session_at(source_of('p1.jsonl').path)) is None


@pytest.mark.parametrize('name, found', [
    ('fix-ci-202603010900', '2026-03-01 09:00:00'), ('x-20260301090001', '2026-03-01 09:00:01'),
    ('x-202613010900', None), ('fix-ci', None), ('x-123456789012', None), ('202603010900', '2026-03-01 09:00:00')])
def test_dated(name, found):
    import time
    ms = dated(name)
    assert (time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(ms / 1000)) if ms else None) == found


# 1.x, line files

def test_line_files_of_1x():
    assert spoken(all_of(source_of('20260401-ab12.jsonl'))) == [
        ('injected', 'meta', '<session-context version="1">\nCurrent workspace: "/home/ann/shop"\n</session-context>'),
        ('prompt', 'typed', 'count the rows'), ('thinking', '', 'wc does it'), ('reply', '', 'Counting.'),
        ('tool_call', 'bash', 'wc -l rows.csv'), ('tool_result', 'error', 'wc: rows.csv: No such file or directory'),
        ('thinking', '', 'tell her'), ('reply', '', 'There is no such file.'),
        ('reply', '', 'half an answ'), ('interruption', '', 'The turn was interrupted.'),
        ('prompt', 'typed', 'the picture shows it\n[image]'), ('tool_call', 'write_file', 'rows.csv\n1'), ('tool_call', 'bash', 'sleep 99'),
        ('tool_result', 'declined', 'blocked: write_file was denied by the user'),
        ('tool_result', 'collateral', '[no result: the previous turn was interrupted before this tool call completed]'),
        ('injected', 'recap', '<compaction-summary>\nShe wants rows counted.\n</compaction-summary>')]


def test_a_fork_repeats_its_parent_under_the_same_identities():
    parent, fork = all_of(source_of('20260401-ab12.jsonl')), all_of(source_of('cd34'))
    same = [e.id for e in fork if e.id in set(p.id for p in parent) and e.kind not in ('meta', 'tool_result')]
    assert same == ['20260401-ab12:1', '20260401-ab12:2', '20260401-ab12:3/t', '20260401-ab12:3', 'call_0_rows_0001']
    assert [e.id for e in fork if e.kind == 'prompt'] == ['20260401-ab12:2', '20260402-cd34:5']
    assert ('foreign', '20260401-ab12') in [(e.label, e.text) for e in fork if e.kind == 'meta']


def test_a_prompt_is_what_was_typed_not_what_was_sent():
    assert [e.text for e in all_of(source_of('p1.jsonl')) if e.kind == 'prompt'] == ['你好']


def test_subagents():
    assert spoken(all_of(source_of('_1_00aa'))) [1:] == [
        ('tool_call', 'read_file', '/home/ann/shop/missing.csv'), ('tool_result', 'error', 'error: FS_NOT_FOUND: read /home/ann/shop/missing.csv'),
        ('reply', '', 'None found.')]
    events = all_of(source_of('_1_00aa'))
    assert set(e.chain for e in events) == {'sa_20260401_080003_1_00aa'}
    assert [e.label for e in events if e.kind == 'injected'] == ['task']
    times = [e.time for e in events if e.kind == 'tool_call' or e.kind == 'tool_result']
    assert times == [1775030403100, 1775030403200]


OUTCOMES = {
    'state': ({'tool_run_state': 'completed'}, 'error: in a file that was read', 'ok'),
    'failed': ({'tool_run_state': 'failed'}, 'x', 'error'),
    'not started': ({'tool_run_state': 'not_started'}, 'x', 'collateral'),
    'cancelled with a code': ({'tool_run_state': 'cancelled', 'tool_execution': {'exitCode': 130}}, 'x', 'collateral'),
    'exit code': ({'tool_run_state': 'completed', 'tool_execution': {'exitCode': 2}}, 'x', 'error'),
    'exit code 0': ({'tool_execution': {'exitCode': 0, 'state': 'completed'}}, 'x', 'ok'),
    'phase': ({'tool_execution': {'failurePhase': 'spawn'}}, 'x', 'error'),
    'text': ({}, 'error: exit status 1', 'error'),
    '0.x': ({}, '{"error": "no such tool"}', 'error'),
    'plain': ({}, 'fine', 'ok'),
    'cancelled': ({}, 'cancelled: context cancelled before execution', 'collateral'),
    'refused': ({'tool_run_state': 'failed'}, 'blocked: bash: user denied', 'declined'),
    'odd fields': ({'tool_run_state': 7, 'tool_execution': []}, '', 'ok'),
}


@pytest.mark.parametrize('name', sorted(OUTCOMES))
def test_outcome(name):
    fields, text, found = OUTCOMES[name]
    assert outcome(fields, text) == found


# the log of packed frames

def test_a_log(log):
    source = log(
        batch(message('system', 'You are Reasonix.'), event('session/config', {'modelRef': 'deepseek/deepseek-v4'})),
        batch(event('turn/start', {'status': 'in_progress'}), time=1),
        batch(message('user', '<session-context>\nCurrent workspace: "/home/ann/\\"shop"\n', origin='host'),
              message('user', 'sent', raw_content='typed', origin='user', createdAt=1788256802500), time=3),
        batch(event('assistant/attempt', {'action': 'begin', 'attempt': 1, 'id': 'a1'}), time=3),
        batch(event('assistant/attempt', {'action': 'discard', 'attempt': 1, 'id': 'a1', 'reason': 'headers'}), time=4),
        batch(message('assistant', 'Looking.', 'm1', reasoning_content='hm', tool_calls=[
            {'id': 'call_long_000001', 'name': 'bash', 'arguments': '{"command": "ls"}'}]), time=5),
        batch(event('tool/call', {'id': 'call_long_000001', 'name': 'bash'}), time=5),
        batch(message('tool', 'a.py', tool_call_id='call_long_000001', name='bash', tool_run_state='completed'),
              event('tool/result', {'id': 'call_long_000001', 'name': 'bash', 'output': 'a.py', 'parentId': ''}), time=6),
        batch(message('tool', 'inside', tool_call_id='call_sub_000001', name='bash'),
              event('tool/result', {'id': 'call_long_000001/call_sub_000001', 'parentId': 'call_long_000001'}), time=6),
        batch(event('session/title', {'title': 'Listing'}), event('compaction', {'trigger': 'auto', 'messages': [
            {'role': 'user', 'id': 's1', 'content': '<compaction-summary>\nlisted\n</compaction-summary>'},
            {'role': 'assistant', 'id': 'm1', 'content': 'Looking.'}]}), time=7),
        batch(message('tool', '', '', local_only=True, name='__reasonix_local_only__',
                      interrupted_turn={'terminalStatus': 'failed', 'failureDiagnostic': {'kind': 'request', 'status': 400}}), time=8),
        batch(event('galaxy/brain', {}), event('maybe/later', {}, optional=True), time=9))
    coverage = Coverage(source.path)
    events = all_of(source, coverage)
    assert spoken(events) == [
        ('injected', 'meta', '<session-context>\nCurrent workspace: "/home/ann/\\"shop"\n'), ('prompt', 'typed', 'typed'),
        ('thinking', '', 'hm'), ('reply', '', 'Looking.'), ('tool_call', 'bash', 'ls'), ('tool_result', 'ok', 'a.py'),
        ('compaction', 'auto', ''), ('injected', 'recap', '<compaction-summary>\nlisted\n</compaction-summary>'),
        ('reply', 'api_error', 'API error: request 400'), ('unknown', 'event galaxy/brain', '')]
    assert [(e.label, e.text) for e in events if e.kind == 'meta'] == [
        ('model', 'deepseek/deepseek-v4'), ('cwd', '/home/ann/"shop'), ('retry', 'headers'), ('ai-title', 'Listing')]
    prompt = [e for e in events if e.kind == 'prompt'][0]
    # Its own time, not that of its batch; the reply has its batch's.
    assert prompt.time == 1788256802500
    assert [e.time for e in events if e.kind == 'reply'][0] == 1788256805123
    assert (coverage.lines, coverage.parse_errors, coverage.unknown_records, coverage.offset) == (42, 0, 1, source.size)


def test_large_payloads_lie_beside_the_log(log, tmpdir):
    digest = 'ab' * 32
    source = log(batch(event('message/complete', payloadRef={'digest': digest, 'bytes': 9}),
                       event('message/complete', payloadRef={'digest': '../../../../etc/passwd'})))
    assert spoken(all_of(source)) == [('unknown', 'the content %s is missing' % digest[:12], ''),
                                      ('unknown', 'the content ../../../../ is missing', '')]
    stored = os.path.join(os.path.dirname(os.path.dirname(source.path)), '.content-v1', 'objects', 'ab', 'ab')
    os.makedirs(stored)
    with open(os.path.join(stored, digest), 'w', encoding='utf-8') as out:
        json.dump({'message': {'role': 'user', 'id': 'm', 'origin': 'user', 'content': 'large'}}, out)
    assert spoken(all_of(source))[0] == ('prompt', 'typed', 'large')


def test_what_was_imported_counts_where_it_came_from(log):
    lines = [{'role': 'user', 'content': 'first'}, {'role': 'assistant', 'content': 'yes'}, {'role': 'user', 'id': '01X', 'content': 'second'}]
    source = log(batch(event('legacy/import', {'source': {'path': '/home/ann/.reasonix/sessions/old-2.jsonl'}, 'messages': lines})),
                 batch(message('user', 'third', '01Y', origin='user'), time=1))
    events = all_of(source)
    assert [e.id for e in events if e.kind == 'prompt'] == ['old-2:0', '01X', '01Y']
    assert [e.turn for e in events if e.kind == 'prompt'] == [1, 2, 3]
    assert [e.label for e in events if e.kind == 'meta'] == ['foreign']


def test_an_edited_history_says_old_messages_again(log):
    first, second = dict(role='user', id='01A', origin='user', content='one'), dict(role='user', id='01B', origin='user', content='two')
    source = log(batch(event('message/complete', {'message': first})), batch(event('message/complete', {'message': second})),
                 batch(event('history/replace', {'messages': [first, dict(second, id='01C', content='two, better')]})))
    assert totals(facts_of([source]).values())['user_prompts'] == 3


def test_an_unfinished_batch_is_left_for_later(log):
    whole = batch(message('user', 'one', '01A', origin='user'))
    source = log(whole, batch(message('user', 'two', '01B', origin='user'), end=False))
    coverage = Coverage(source.path)
    assert [e.text for e in all_of(source, coverage)] == ['one']
    assert (coverage.lines, coverage.parse_errors, coverage.offset, coverage.open_end) == (3, 0, len(whole), False)
    assert coverage.unfinished == source.size - len(whole)
    assert [e.text for e in all_of(log(whole + batch(message('user', 'two', '01B', origin='user'))[:-1]))] == ['one']


DAMAGE = {
    'garbage between batches': (lambda one, two: one + b'garbage' + two, ['one', 'two'], 1),
    'garbage at the start': (lambda one, two: b'RX4garbage' + one + two, ['one', 'two'], 1),
    'garbage at the end': (lambda one, two: one + two + b'x' * 40, ['one', 'two'], 1),
    'a frame that is no zstd': (lambda one, two: one + b'RX4F' + struct.pack('>II', 4, 9) + b'abcd' + two, ['one', 'two'], 1),
    'a frame that is no JSON': (lambda one, two: one + packed(b'{"a":') + two, ['one', 'two'], 1),
    'a batch without its end': (lambda one, two: batch(message('user', 'lost', origin='user'), end=False) + one + two, ['one', 'two'], 1),
    'an event outside a batch': (lambda one, two: one + frame(recordType='batch/event', event=message('user', 'lost', origin='user')) + two,
                                 ['one', 'two'], 1),
    'sizes that cannot be': (lambda one, two: one + b'RX4F\xff\xff\xff\xff\xff\xff\xff\xff' + two, ['one', 'two'], 1),
    'a damaged event in a batch': (lambda one, two: one[:-60] + bytes(20) + one[-40:] + two, None, None),
    'an empty file': (lambda one, two: b'', [], 0),
}


@pytest.mark.parametrize('name', sorted(DAMAGE))
def test_damage(name, log):
    make, found, errors = DAMAGE[name]
    source = log(make(batch(message('user', 'one', origin='user')), batch(message('user', 'two', origin='user'))))
    coverage = Coverage(source.path)
    texts = [e.text for e in all_of(source, coverage)]
    if found is None:
        assert texts[-1] == 'two' and coverage.parse_errors
    else:
        assert texts == found
        assert coverage.parse_errors == errors and len(coverage.messages()) == errors
    assert coverage.offset == source.size


def test_another_version_of_the_log_is_refused(log):
    newer = frame(recordType='batch/begin', createdAt='2026-09-01T10:00:00Z').replace(b'linear/v4', b'linear/v5')
    source = log(newer + batch(message('user', 'one', origin='user')))
    coverage = Coverage(source.path)
    assert [(e.kind, e.label) for e in all_of(source, coverage)] == [('unknown', 'log of another version (reasonix.session.linear/v5)')]
    assert coverage.unknown_records == 1


def test_the_header_names_the_directory_of_a_desktop_session(tmpdir):
    folder = tmpdir.join('desktop-sessions-v5', 'by-id', SID)
    folder.ensure(dir=True)
    folder.join('events.frames').write_binary(batch(message('user', 'x', origin='user')))
    folder.join('header.json').write('{"cwd": "/home/ann/desk"}')
    events = all_of(source_of(SID, str(tmpdir)))
    assert [(e.label, e.text) for e in events if e.kind == 'meta'] == [('cwd', '/home/ann/desk')]


# ledgers

LEDGER_ROWS = {
    '1.x': ({'ts': '2026-04-01T08:00:02Z', 'model': 'p/m', 'prompt': 1110, 'completion': 50, 'cache_hit': 1000}, ('p/m', 110, 1000, 50, '')),
    '1.x subagent': ({'prompt': 5, 'completion': 1, 'usage_source': 'subagent'}, ('', 5, 0, 1, 'subagent')),
    'no tokens': ({'ts': '2026-04-01T08:00:02Z', 'requests': 1}, None),
    'a turn': ({'ts': '2026-04-01T08:00:02Z', 'turn': True}, None),
    'more hits than prompt': ({'prompt': 5, 'completion': 1, 'cache_hit': 9}, ('', 0, 5, 1, '')),
    '0.x': ({'ts': 1772355606000, 'model': 'm', 'promptTokens': 9, 'completionTokens': 2, 'cacheHitTokens': 8, 'session': 's'}, ('m', 1, 8, 2, '')),
    'odd values': ({'prompt': -5, 'completion': 'x', 'cache_hit': None}, None),
}


@pytest.mark.parametrize('name', sorted(LEDGER_ROWS))
def test_ledger_rows(name):
    row, found = LEDGER_ROWS[name]
    bill = bill_of(row)
    assert (None if bill is None else (bill.model, bill.fresh, bill.read, bill.output, bill.side)) == found


# reading again

def everything():
    """Return the sources of the fixtures and of the real home."""
    return sources() + sources(shared('corpus', 'reasonix-1.38.11', 'home', 'dev', '.reasonix'))


@pytest.mark.slow
def test_events_at_gives_the_same_again(log):
    for source in everything():
        for events in reasonix.read(source, Coverage(source.path)):
            shown = [e for e in events if e.part >= 0 and e.kind != 'usage']
            if shown:
                again = [e for e in reasonix.events_at(source, shown[0].offset, shown[0].length) if e.part >= 0 and e.kind != 'usage']
                assert [(e.kind, e.label, e.part, e.text) for e in again] == [(e.kind, e.label, e.part, e.text) for e in shown]


@pytest.mark.slow
@pytest.mark.parametrize('step', [900, 7000, 33333])
@pytest.mark.parametrize('name', ['3bf875dc', 'e629e52a', '549b2f98', 'stats', 'usage.jsonl'])
def test_what_grows_gives_what_the_whole_gives(name, step, tmpdir):
    source = [s for s in everything() if name in s.path and s.role in ('main', 'ledger')][0]
    with open(source.path, 'rb') as handle:
        data = handle.read()
    path = str(tmpdir.join(os.path.basename(source.path)))
    state, offset, line, found = {}, 0, 0, []
    for end in list(range(step, len(data), step)) + [len(data)]:
        with open(path, 'wb') as out:
            out.write(data[:end])
        coverage = Coverage(path, offset, line)
        for events in reasonix.read(source._replace(path=path), coverage, offset, line, state):
            found += events
        offset, line = coverage.offset, coverage.line
    whole = Coverage(source.path)
    assert found == all_of(source, whole)
    assert (offset, line) == (whole.offset, whole.line)


@pytest.mark.slow
def test_the_index_follows_a_session_that_grows(log, tmpdir):
    first = batch(message('user', 'one', '01A', origin='user'), time=1)
    second = batch(message('user', 'two', '01B', origin='user'), time=2)
    home = str(tmpdir)
    log(first, second[:-20])
    assert call_script('sd-recall', 'stats', '--format', 'json', home=home).json()['user_prompts'] == 1
    log(first, second)
    stats = call_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    assert (stats['user_prompts'], stats['lines'], stats['parse_errors']) == (2, 6, 0)


@pytest.mark.slow
def test_garbage_never_raises(log):
    import random
    take = random.Random(4)
    whole = batch(message('user', 'one', origin='user')) + batch(message('assistant', 'two', tool_calls=[{'id': 'x', 'name': 'y'}]))
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(1 + take.randrange(6)):
            at = take.randrange(len(data))
            data[at:at + take.randrange(4)] = bytes(take.randrange(256) for _ in range(take.randrange(4)))
        source = log(bytes(data))
        coverage = Coverage(source.path)
        all_of(source, coverage)
        assert coverage.offset + coverage.unfinished == source.size or coverage.unknown_records


ODD = [None, 7, 'x', [], {}, [None], {'role': None}, {'message': {'role': 'user', 'content': [{'text': 5}, 'y']}}]


@pytest.mark.parametrize('kind', ['message/complete', 'legacy/import', 'compaction', 'session/title', 'session/config', 'assistant/attempt'])
def test_odd_payloads_never_raise(kind, log):
    odd = [{name: value} for name in ('message', 'messages', 'source', 'title', 'modelRef', 'id') for value in ODD]
    odd += [{'messages': [{'role': role, 'content': value, 'tool_calls': value, 'images': value, 'thinking_blocks': value,
                           'interrupted_turn': value, 'local_only': local} for role in ('user', 'assistant', 'tool', None)
                          for value in ODD for local in (True, False)]}]
    events = [event(kind, payload) for payload in odd] + [dict(event(kind), payload=value) for value in ('?', 5, None)] + [{}]
    all_of(log(batch(*events)))


def test_odd_lines_never_raise(tmpdir):
    folder = tmpdir.join('sessions').ensure(dir=True)
    rows = [{'role': role, 'content': value, 'tool_calls': value, 'id': value, 'tool_call_id': value} for role in ('user', 'assistant', 'tool')
            for value in ODD]
    rows += [{'type': kind, 'usage': value, 'args': value, 'output': value, 'text': value, 'replacementMessages': value}
             for kind in ('user.message', 'model.final', 'tool.intent', 'tool.result', 'session.compacted', 'error', None) for value in ODD]
    for name in ('a.jsonl', 'b.jsonl', 'b.events.jsonl'):
        folder.join(name).write('\n'.join(json.dumps(row) for row in rows))
    folder.join('a.jsonl.meta').write('{"fork_message_index": "x", "parent_id": 5, "created_at": []}')
    tmpdir.join('usage.jsonl').write('[]\n{"session": 5, "promptTokens": 4}\nnull')
    for source in sources(str(tmpdir)):
        all_of(source)


# the real home

@pytest.mark.slow
def test_the_real_home():
    root = shared('corpus', 'reasonix-1.38.11', 'home', 'dev', '.reasonix')
    with open(shared('corpus', 'reasonix-1.38.11', 'expected.json'), encoding='utf-8') as file:
        expected = json.load(file)
    whole = sources(root)
    found = totals(facts_of(whole).values())
    rows = [part for scenario in expected.values() for part in (scenario.get(name) for name in ('main', 'sub', 'side')) if part]
    tokens = [row['tokens'] for row in rows if row['tokens']]
    assert found['api_calls'] == sum(t['calls'] for t in tokens) == 37
    assert found['input'] == sum(t['input_total'] - t['cached'] for t in tokens)
    assert found['cache_read'] == sum(t['cached'] for t in tokens)
    assert found['output'] == sum(t['output'] for t in tokens)
    assert found['user_prompts'] == sum(scenario['prompts'] for scenario in expected.values())
    assert (found['subagents'], found['retries'] if 'retries' in found else 2) == (3, 2)
    for scenario in expected.values():
        mine = totals(facts_of([s for s in whole if s.session == scenario['session']]).values())
        tools = {}
        for part in ('main', 'sub'):
            for name, count in scenario.get(part, {}).get('tools', {}).items():
                tools[name] = tools.get(name, 0) + count
        assert (mine['user_prompts'], mine['tool_calls'], mine['api_calls']) == (scenario['prompts'], sum(tools.values()), 0)


@pytest.mark.slow
def test_the_real_log_as_it_was_decoded():
    root = shared('corpus', 'reasonix-1.38.11', 'home', 'dev', '.reasonix')
    folder = shared('corpus', 'reasonix-1.38.11', 'decoded')
    for name in sorted(os.listdir(folder)):
        source = [s for s in sources(root) if name[:-6].rpartition('-')[2] in s.path and s.role == 'main'][0]
        wanted = []
        with open(os.path.join(folder, name), encoding='utf-8') as lines:
            for line in lines:
                data = json.loads(line).get('event', {}).get('payload', {}).get('message', {})
                if data.get('role') == 'assistant' and data.get('content'):
                    wanted.append((data['id'], data['content']))
        assert [(e.id, e.text) for e in all_of(source) if e.kind == 'reply' and not e.label] == wanted
