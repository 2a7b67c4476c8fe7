"""OpenCode: sessions of its database and of the JSON tree before it, each thing counted once, forks with their parents.

fixtures/opencode/home holds the files, db.sql the database; expected.json was worked out by hand.
"""
import json
import os
import shutil
import sqlite3

import pytest

import folding
from folding import photograph
from helpers import FIXTURES, shared
from echolib import analysis, analysis_file
from echolib.adapters import Source, lookup, opencode, opencode_parse, registry
from echolib.base import sqlite_ro
from echolib.base.errors import EchoError
from echolib.records import Coverage

FOLDER = os.path.join(FIXTURES, 'opencode')
with open(os.path.join(FOLDER, 'expected.json'), encoding='utf-8') as _handle:
    EXPECTED = json.load(_handle)
PLACE = os.path.join('.local', 'share', 'opencode')
T0 = 1790000000000


@pytest.fixture(autouse=True)
def let_go():
    yield
    sqlite_ro.let_go()


def make_db(root, script=None, name='opencode.db'):
    """Make a database in a data folder, by default the fixture's; return its path."""
    if script is None:
        with open(os.path.join(FOLDER, 'db.sql'), encoding='utf-8') as handle:
            script = handle.read()
    path = os.path.join(str(root), name)
    db = sqlite3.connect(path)
    db.execute('pragma journal_mode=wal')
    db.executescript(script)
    db.close()
    return path


def change(path, *statements):
    db = sqlite3.connect(path)
    with db:
        for statement in statements:
            db.execute(*statement)
    db.close()


@pytest.fixture
def root(tmp_path):
    """The fixture's data folder with its database."""
    path = str(tmp_path / 'home' / PLACE)
    shutil.copytree(os.path.join(FOLDER, 'home', PLACE), path)
    make_db(path)
    return path


def sessions(root):
    return folding.sessions(opencode, root)


def events(source, coverage=None, state=None):
    return folding.events(opencode, source, coverage, state)


def facts_once(found):
    """Return the tally of all facts of sessions, each key once."""
    facts = {}
    for session in found:
        for source in session.sources:
            one = analysis.FileAnalysis()
            for event in events(source):
                one.add(event)
            for key, fact in one.facts.items():
                facts[key] = analysis.merge(facts[key], fact) if key in facts else fact
    tally = {}
    for fact in facts.values():
        analysis.apply(tally, fact, 1)
    return analysis.shared_keys(tally)


def marks(root):
    """Return {session id: (size, mtime)} of a root, by scan."""
    return dict(((row[5], row[4]), row[1:3]) for row in opencode.scan(str(root), []))


@pytest.mark.parametrize('sid', sorted(EXPECTED['sessions']))
def test_session(root, sid):
    expected = EXPECTED['sessions'][sid]
    assert folding.found_for(opencode, sessions(root)[sid], expected) == expected


def test_each_thing_once(root):
    """A fork's copies have the keys of what they copy."""
    keys = facts_once(sessions(root).values())
    assert dict((name, keys[name]) for name in EXPECTED['once']) == EXPECTED['once']


@pytest.mark.parametrize('needle', sorted(EXPECTED['needles']))
def test_text_is_what_it_is(root, needle):
    found = set((event.kind, event.label) for session in sessions(root).values() for source in session.sources for event in events(source)
                if needle in event.text)
    assert tuple(EXPECTED['needles'][needle]) in found
    # A task stands in the call as well as in what the subagent was told.
    assert found <= {tuple(EXPECTED['needles'][needle]), ('tool_call', 'task')}


def test_what_the_move_left_behind_is_not_read(root):
    assert not [event for session in sessions(root).values() for source in session.sources for event in events(source) if 'axolotl' in event.text]


def test_events_are_found_again(root):
    count = 0
    for session in sessions(root).values():
        for source in session.sources:
            for event in events(source):
                # Whether a prompt was written again only what stands before it tells; it is neither searched nor shown.
                if event.text and event.label != 'duplicate':
                    again = [one for one in opencode.events_at(source, event.offset, event.length) if one.part == event.part]
                    assert [one._replace(turn=event.turn, line=event.line) for one in again] == [event]
                    count += 1
    assert count > 50


def test_order_and_turns(root):
    found = [(event.kind, event.label, event.turn) for event in events(sessions(root)['ses_a1'].sources[0])
             if event.kind in ('prompt', 'compaction', 'interruption', 'tool_call') or event.label == 'duplicate']
    assert found == [
        ('prompt', 'typed', 1), ('tool_call', 'read', 1), ('tool_call', 'bash', 1), ('tool_call', 'edit', 1), ('tool_call', 'webfetch', 1),
        ('tool_call', 'question', 1), ('prompt', 'slash', 2), ('tool_call', 'task', 2), ('prompt', 'typed', 3), ('compaction', 'auto', 3),
        ('injected', 'duplicate', 3), ('tool_call', 'bash', 3), ('interruption', '', 3), ('prompt', 'typed', 4)]


def test_compaction_knows_the_context_before(root):
    found = [event.data for event in events(sessions(root)['ses_a1'].sources[0]) if event.kind == 'compaction']
    assert found == [('auto', 160)]     # the call before it: 100 sent, 10 received, 50 from the cache


def test_prompt_counts_its_pictures(root):
    first = [event for event in events(sessions(root)['ses_a1'].sources[0]) if event.kind == 'prompt'][0]
    assert (first.text, first.data) == ('make the login faster\n[image]', 1)


def test_spilled_output(root):
    source = sessions(root)['ses_a1'].sources[0]
    spilled = [event for event in events(source) if event.kind == 'tool_result' and event.data.spill]
    assert [event.text for event in spilled] == ['1 failed']
    path = opencode.spill_path(source, spilled[0].data.spill)
    assert 'pangolin' in opencode.spill_text(path)
    assert opencode.spill_path(source, '/etc/passwd') == ''
    assert opencode.spill_path(source, '../auth.json') == ''
    assert opencode.spill_path(source, 'a\0b') == ''


def test_what_the_client_worked_out(root):
    rows = opencode.billed(sessions(root)['ses_a1'])
    assert [(row['session'], row['model'], row['output'], row['cost']) for row in rows] == [
        ('ses_a1', 'glm-5', 50, 0.004), ('ses_a1', 'glm-5', 20, 0.002), ('ses_a1', 'glm-5', 30, 0.001), ('ses_a1', 'glm-5', 10, 0.0005),
        ('ses_a1', 'glm-5', 200, 0.002), ('ses_c1', 'glm-5', 5, 0.0001), ('ses_g1', 'glm-5-air', 3, 0)]


def test_copies_and_what_was_taken_back(root):
    found = sessions(root)
    main = dict((sid, session.sources[0]) for sid, session in found.items())
    assert opencode.inherited(main['ses_a1'].path, 'ses_a1') == 0
    assert opencode.inherited(main['ses_f1'].path, 'ses_f1') == 2
    assert opencode.branches(main['ses_a1'].path) == (1, set())
    ends, left = opencode.branches(main['ses_t1'].path)
    gone = [event.text for event in events(main['ses_t1']) if event.id and event.id.split('/')[0] in left]
    assert (ends, gone) == (2, ['no, put it back'])
    ident = sqlite3.connect(os.path.join(root, 'opencode.db')).execute(
        "select id from message where session_id = 'ses_f1' order by time_created limit 1 offset 2").fetchone()[0]
    change(os.path.join(root, 'opencode.db'), ("update session set revert = ? where id = 'ses_f1'", (json.dumps({'messageID': ident}),)))
    left = opencode.branches(main['ses_f1'].path)[1]
    gone = [event.text for event in events(main['ses_f1']) if event.text and event.id and event.id.split('/')[0] in left]
    assert gone == ['try another way', 'With a cache, then.']


def test_only_reading(root):
    before = photograph(root)
    for session in sessions(root).values():
        folding.numbers(opencode, session)
        opencode.billed(session)
    assert photograph(root) == before


def test_secrets_are_never_opened(root, monkeypatch):
    real, opened = open, []

    def watched(path, *args, **kwargs):
        opened.append(str(path))
        return real(path, *args, **kwargs)
    monkeypatch.setattr('builtins.open', watched)
    for session in sessions(root).values():
        folding.numbers(opencode, session)
    assert opened and not [path for path in opened if path.endswith('auth.json')]


# finding


def test_roots(monkeypatch, tmp_path):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    plain = os.path.join(str(tmp_path), '.local', 'share', 'opencode')
    assert opencode.roots({}) == [plain]
    assert opencode.roots({'XDG_DATA_HOME': '/data'}) == [os.path.join('/data', 'opencode')]
    assert opencode.roots({'OPENCODE_DATA_DIR': str(tmp_path / 'o')}) == [str(tmp_path / 'o')]
    assert opencode.roots({'OPENCODE_DB': str(tmp_path / 'x' / 'opencode-dev.db')}) == [plain, str(tmp_path / 'x')]
    assert opencode.roots({'OPENCODE_DB': 'opencode-dev.db'}) == [plain]


def test_scan(root):
    rows = dict((row[0][len(root) + 1:].replace(os.sep, '/'), row[3:]) for row in opencode.scan(root, []))
    assert rows == {
        'opencode.db/ses_a1': ('main', '', 'ses_a1', ''),
        'opencode.db/ses_c1': ('agent', 'ses_c1', 'ses_a1', ''),
        'opencode.db/ses_g1': ('agent', 'ses_g1', 'ses_a1', ''),
        'opencode.db/ses_f1': ('main', '', 'ses_f1', ''),
        # Whose child a session of the tree is only its file says.
        'storage/session/prj0/ses_t1.json': ('main', '', 'ses_t1', ''),
        'storage/session/prj0/ses_t2.json': ('main', '', 'ses_t2', '')}
    heads = dict((os.path.basename(row[0]), opencode.head(row[0])) for row in opencode.scan(root, []))
    assert heads['ses_t2.json'] == {'session': 'ses_t1', 'role': 'agent', 'chain': 'ses_t2'}
    assert heads['ses_g1'] == {'session': 'ses_a1', 'role': 'agent', 'chain': 'ses_g1'}
    assert heads['ses_f1'] == {'session': 'ses_f1', 'role': 'main', 'chain': ''}


def test_missing_root(tmp_path):
    problems = []
    assert list(opencode.scan(str(tmp_path / 'none'), problems)) == []
    assert [path for path, _ in problems] == [str(tmp_path / 'none')]
    assert list(opencode.scan(str(tmp_path), [])) == []


def test_sizes_add_up_to_the_database(root):
    inside = sum(source.size for session in sessions(root).values() for source in session.sources if 'opencode.db' in source.path)
    whole = os.path.getsize(os.path.join(root, 'opencode.db'))
    assert whole - 10 <= inside <= whole


def test_only_what_changed_is_read_again(root):
    path = os.path.join(root, 'opencode.db')
    before = marks(root)
    later = T0 + 500000

    def changed(*statements):
        change(path, *statements)
        now, was = marks(root), dict(before)
        before.clear()
        before.update(now)
        return sorted(set(sid or chain for sid, chain in now if now[sid, chain] != was.get((sid, chain))))
    # A new message with a part, the session's own time untouched.
    assert changed(('insert into message values (?, ?, ?, ?, ?)', ('msg_new', 'ses_f1', later, later, '{"role":"user"}'),)) == ['ses_f1']
    assert changed(('insert into part values (?, ?, ?, ?, ?, ?)', ('prt_new', 'msg_new', 'ses_f1', later, later, '{"type":"text","text":"hi"}'),)) == ['ses_f1']
    # The last message and its parts are written in place.
    assert changed(("update message set time_updated = time_updated + 1 where id = 'msg_new'",)) == ['ses_f1']
    assert changed(("update part set data = '{\"type\":\"text\",\"text\":\"hi there\"}', time_updated = time_updated + 1 where id = 'prt_new'",)) == ['ses_f1']
    # A new title; a message that goes; nothing at all.
    assert changed(("update session set title = 'Other' where id = 'ses_a1'",)) == ['ses_a1']
    assert changed(("delete from part where id = 'prt_new'",), ("delete from message where id = 'msg_new'",)) == ['ses_f1']
    assert changed(('insert into credential values (?, ?)', ('c', 'v'),)) == []
    # Rows get new numbers, by which events are found.
    assert changed(('create table other as select rowid as number, * from message order by number',), ('delete from message',),
                   ('insert into message (rowid, id, session_id, time_created, time_updated, data) select number + 7, id, session_id,'
                    ' time_created, time_updated, data from other',)) == ['ses_a1', 'ses_f1']


def test_only_what_changed_is_read_again_in_the_tree(root):
    before = marks(root)
    part = os.path.join(root, 'storage', 'part', 'msg_u2', 'prt_u21.json')
    os.utime(part, (4000000000, 4000000000))
    now = marks(root)
    assert [key for key in now if now[key] != before[key]] == [('ses_t2', '')]


def test_a_live_database(root):
    """Read with its log beside it, and left as it was."""
    path = os.path.join(root, 'opencode.db')
    live = sqlite3.connect(path)
    live.execute("insert into message values ('msg_live', 'ses_f1', ?, ?, '{\"role\":\"user\"}')", (T0 + 600000, T0 + 600000))
    live.execute("insert into part values ('prt_live', 'msg_live', 'ses_f1', ?, ?, '{\"type\":\"text\",\"text\":\"typed just now\"}')", (T0, T0))
    live.commit()
    assert os.path.getsize(path + '-wal')
    before = photograph(root)
    texts = [event.text for event in events(sessions(root)['ses_f1'].sources[0]) if event.kind == 'prompt']
    assert texts[-1] == 'typed just now'
    assert photograph(root) == before
    live.close()


@pytest.mark.parametrize('content', [
    b'', b'not a database at all, but long enough to look at', b'SQLite format 3\0' + b'\xff' * 5000])
def test_a_damaged_database_costs_one_problem(tmp_path, content):
    with open(str(tmp_path / 'opencode.db'), 'wb') as handle:
        handle.write(content)
    problems = []
    assert list(opencode.scan(str(tmp_path), problems)) == []
    assert len(problems) == (1 if content else 0)
    if content:
        source = Source(str(tmp_path / 'opencode.db' / 'ses_x'), 'main', '', 'ses_x', 0, 0)
        with pytest.raises(OSError):
            events(source)


def test_a_schema_of_another_time(tmp_path):
    problems = []
    make_db(tmp_path, 'create table chat (id text);')
    assert list(opencode.scan(str(tmp_path), problems)) == []
    assert 'tables this version knows' in problems[0][1]
    # Few columns, no table of parts, no indexes.
    root = tmp_path / 'small'
    root.mkdir()
    make_db(root, "create table session (id text, project_id text); create table message (id text, session_id text, data text);"
                  "create table project (id text, worktree text); insert into project values ('p', '/home/ann/app');"
                  "insert into session values ('ses_s', 'p'), ('../ses_evil', 'p');"
                  "insert into message values ('m', 'ses_s', '{\"role\":\"assistant\",\"model\":{\"modelID\":\"glm-4\"},\"tokens\":{\"input\":4,\"output\":2}}'),"
                  " ('n', 'ses_s', x'ff'), ('o', '../ses_evil', '{}');", 'opencode-dev.db')
    found = sessions(str(root))
    assert list(found) == ['ses_s']
    keys, models, profile, coverage = folding.numbers(opencode, found['ses_s'])
    assert (keys['api_calls'], keys['tokens']['input'], sorted(models), profile['cwd']) == (1, 4, ['glm-4'], '/home/ann/app')
    assert (coverage.lines, coverage.parse_errors) == (2, 1)


def test_two_databases_of_one_session(root):
    """A copy in another channel's database that went on is the one that is read."""
    path = make_db(root, name='opencode-dev.db')
    change(path, ("update session set title = 'Went on', time_updated = ? where id = 'ses_f1'", (T0 + 900000,)))
    found = sessions(root)
    assert os.path.dirname(found['ses_f1'].sources[0].path) == path
    assert os.path.dirname(found['ses_a1'].sources[0].path) == os.path.join(root, 'opencode.db')


def test_owns_and_detection(root, tmp_path):
    for path in (os.path.join(root, 'opencode.db'), os.path.join(root, 'opencode.db', 'ses_a1'), os.path.join(root, 'opencode-dev.db'),
                 os.path.join(root, 'storage', 'session', 'prj0', 'ses_t1.json')):
        assert registry.detect(path) is opencode, path
    assert not opencode.owns(os.path.join(root, 'storage', 'message', 'ses_t1', 'msg_t1.json'))
    assert not opencode.owns(str(tmp_path / 'other.db'))
    assert registry.detect(os.path.join(root, 'auth.json')) is None


def test_session_at(root):
    family = ['ses_a1', 'ses_c1', 'ses_g1']
    path = os.path.join(root, 'opencode.db', 'ses_a1')
    assert [os.path.basename(source.path) for source in opencode.session_at(path).sources] == family
    child = opencode.session_at(os.path.join(root, 'opencode.db', 'ses_c1'))
    assert (child.id, [source.chain for source in child.sources]) == ('ses_a1', ['ses_c1'])
    tree = lookup.session_at(os.path.join(root, 'storage', 'session', 'prj0', 'ses_t1.json'))
    assert (tree.agent, tree.root, [source.chain for source in tree.sources]) == ('opencode', root, ['', 'ses_t2'])
    with pytest.raises(EchoError):
        opencode.session_at(os.path.join(root, 'opencode.db'))


def test_a_family_that_bites_its_tail(root):
    change(os.path.join(root, 'opencode.db'), ("update session set parent_id = 'ses_g1' where id = 'ses_a1'",))
    assert sorted(row[5] for row in opencode.scan(root, []))
    for row in opencode.scan(root, []):
        opencode.head(row[0])


def test_resume_and_files():
    assert opencode.resume('ses_a1', '/home/ann/shop') == ['opencode', '--session', 'ses_a1']
    assert opencode.files_of('edit', {'filePath': 'a.py'}) == [('edit', 'a.py')]
    assert opencode.files_of('write', {'filePath': 'a.py'}) == [('write', 'a.py')]
    assert opencode.files_of('apply_patch', {'patchText': '*** Begin Patch\n*** Update File: b.py\n@@\n*** End Patch'}) == [('edit', 'b.py')]
    assert opencode.files_of('bash', {'command': 'ls'}) == []
    assert opencode.files_of('edit', 'text') == []


# content


@pytest.mark.parametrize('tokens, expected', [
    ({'input': 10, 'output': 5, 'reasoning': 3, 'cache': {'read': 100, 'write': 7}, 'total': 125}, (10, 8, 100, 7)),
    ({'input': 10, 'output': 5, 'reasoning': 3, 'cache': {'read': 100, 'write': 7}, 'total': 122}, (10, 5, 100, 7)),
    ({'input': 10, 'output': 5, 'reasoning': 3, 'cache': {'read': 100, 'write': 7}}, (10, 8, 100, 7)),
    ({'input': 10, 'output': 5, 'cache': None}, (10, 5, 0, 0)),
    ({'input': None, 'output': -5, 'cache': {'read': 'x'}}, (0, 0, 0, 0))])
def test_tokens(tokens, expected):
    use = opencode_parse.usage_of(tokens, 'm')
    assert (use.input, use.output, use.cache_read, use.cache_write_5m) == expected


def made(data, parts, chain=''):
    """Return (events, coverage) of one message."""
    coverage = Coverage()
    return opencode_parse.Parser(chain, coverage).message('msg_1', data, T0, parts, 1, 3), coverage


def test_a_message_that_names_no_time():
    found, _ = made({'role': 'user'}, [{'type': 'text', 'text': 'hi'}])
    assert [(event.id, event.time, event.kind) for event in found] == [('msg_1', T0, 'prompt')]


@pytest.mark.parametrize('mark, label', [
    ({'status': 'error', 'error': 'The user rejected permission to use this specific tool call with the following feedback: no'}, 'declined'),
    ({'status': 'error', 'error': 'The user has specified a rule which prevents you from using this specific tool call.'}, 'error'),
    ({'status': 'error', 'error': 'Cancelled'}, 'collateral'),
    ({'status': 'error'}, 'error'),
    ({'status': 'completed', 'output': 'x', 'metadata': {'exit': 0}}, 'ok'),
    ({'status': 'completed', 'output': 'x', 'metadata': {'exit': None}}, 'ok'),
    ({'status': 'running'}, None), ({'status': 'pending', 'input': {}, 'raw': '{"a'}, None), ({}, None)])
def test_what_became_of_a_call(mark, label):
    found, _ = made({'role': 'assistant', 'time': {'created': T0}}, [{'type': 'step-start'}, {'type': 'tool', 'tool': 'bash', 'callID': 'c', 'state': mark}])
    assert [event.label for event in found if event.kind == 'tool_result'] == ([] if label is None else [label])


def test_a_call_of_no_tool_is_an_error():
    found, _ = made({'role': 'assistant'}, [{'type': 'tool', 'tool': 'invalid', 'state': {
        'status': 'completed', 'input': {'tool': 'reed', 'error': 'no such tool'}, 'output': 'The arguments are invalid'}}])
    assert [event.label for event in found] == ['invalid', 'error']


@pytest.mark.parametrize('data, parts', [
    ({'role': None}, []), ({'role': 'assistant', 'time': 'now', 'tokens': [], 'error': 7}, [{'type': 3}]),
    ({'role': 'user', 'time': {'created': float('nan')}}, [{'type': 'text', 'text': None}, {'type': 'file'}, {'type': 'subtask'}]),
    ({'role': 'assistant', 'error': {'data': 'x'}}, [{'type': 'tool', 'state': 'x'}, {'type': 'retry', 'error': []}, {'type': 'step-finish'}]),
    ({'role': 'assistant'}, [{'type': ['x']}]), ({'role': 'user'}, [{'type': ['x']}]),
    ({'role': 'user', 'summary': {'title': '\ud800'}}, [{'type': 'text', 'text': '\ud800 lone'}])])
def test_nothing_in_a_message_raises(data, parts):
    made(data, parts)
    made(data, parts, 'ses_c')


# the real client


@pytest.fixture(scope='module')
def corpus():
    return shared('corpus', 'opencode-1.18.33')


def test_real_sessions(corpus, tmp_path):
    root = str(tmp_path / 'opencode')
    shutil.copytree(os.path.join(corpus, 'home', 'dev', PLACE), root)
    os.chmod(root, 0o700)
    found = sessions(root)
    with open(os.path.join(corpus, 'expected.json'), encoding='utf-8') as handle:
        expected = json.load(handle)
    assert sorted(found) == sorted(one['session'] for one in expected.values())
    whole = {'calls': 0, 'input_total': 0, 'cached': 0, 'output': 0}
    for name, one in expected.items():
        right = dict.fromkeys(whole, 0)
        tools = 0
        for part in ('main', 'sub'):
            for key in right:
                right[key] += one.get(part, {}).get('tokens', {}).get(key, 0)
            tools += sum(one.get(part, {}).get('tools', {}).values())
        for key in whole:
            whole[key] += right[key]
        if name == 'forkchild':
            continue
        keys, _, profile, coverage = folding.numbers(opencode, found[one['session']])
        tokens = keys['tokens']
        assert (keys['api_calls'], tokens['input'] + tokens['cache_read'], tokens['cache_read'], tokens['output']) == (
            right['calls'], right['input_total'], right['cached'], right['output']), name
        assert (keys['user_prompts'], keys['tool_calls'], keys['subagents']) == (one['prompts'], tools, one['subagents'] or 0), name
        assert (coverage.parse_errors, coverage.unknown_records) == (0, 0)
        assert (profile['cwd'], profile['version'], profile['ai-title']) == ('/home/dev/work/shop', '1.18.33', 'Tend the cart module')
    keys = facts_once(found.values())
    assert (keys['api_calls'], keys['tokens']['input'] + keys['tokens']['cache_read'], keys['tokens']['output']) == (
        whole['calls'], whole['input_total'], whole['output'])


def test_real_records_are_found_again(corpus):
    root = os.path.join(corpus, 'home', 'dev', PLACE)
    assert sum(folding.found_again(opencode, source) for session in sessions(root).values() for source in session.sources) > 100


def test_schema_of_a_session_in_a_database(root):
    """No file of lines: the kinds of its events are told, with the versions and models as they were logged."""
    session = sessions(root)['ses_a1']
    shape = analysis_file.schema(session.sources[0].path)
    kinds = shape['record_types']
    assert kinds['prompt/typed']['count'] + kinds['prompt/slash']['count'] >= EXPECTED['sessions']['ses_a1']['user_prompts']
    assert 'cache_read' in kinds['usage']['fields']
    assert set(shape['models']) <= set(EXPECTED['sessions']['ses_a1']['models']) and shape['models']
    assert shape['bytes'] == session.sources[0].size
