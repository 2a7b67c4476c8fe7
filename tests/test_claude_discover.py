"""Where Claude Code's sessions lie: layouts of all builds, and everything a folder may hold beside them."""
import json
import os
import shutil

import pytest

import make
from echolib.adapters import Source, claude
from helpers import shared

A, B = '11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'
KEY = '-home-dev-app'

needs_links = pytest.mark.skipif(not hasattr(os, 'symlink') or os.name == 'nt', reason='no symbolic links here')


class Home(object):
    """A config folder of Claude Code, filled as a test needs it."""

    def __init__(self, path):
        self.path = str(path)

    def at(self, *parts):
        return os.path.join(self.path, *parts)

    def put(self, *parts, **how):
        """Write a transcript (or the given records) below projects/ and return its path."""
        records = how.get('records', [make.user('hi')])
        return make.write(self.at('projects', *parts), records)

    def link(self, target, *parts):
        path = self.at('projects', *parts)
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        os.symlink(target, path)
        return path

    def found(self):
        """Return {(folder, session id): [(role, chain, path below the folder)]} and the problems of discover."""
        problems = []
        out = {}
        for session in claude.discover(self.path, problems):
            assert (session.agent, session.root) == ('claude', self.path)
            files = [(source.role, source.chain, os.path.relpath(source.path, self.at('projects', session.folder)))
                     for source in session.sources]
            assert (session.folder, session.id) not in out or session.id is None
            out.setdefault((session.folder, session.id), []).extend(files)
            for source in session.sources:
                stat = os.stat(source.path)
                assert (source.size, source.mtime_ns) == (stat.st_size, stat.st_mtime_ns)
                assert source.session == (session.id if source.role != 'loose' else None)
        return {key: [files[0]] + sorted(files[1:]) for key, files in out.items()}, problems


@pytest.fixture
def home(tmpdir):
    return Home(tmpdir.join('claude'))


def test_plain_sessions(home):
    home.put(KEY, A + '.jsonl')
    home.put(KEY, B + '.jsonl', records=[])
    home.put('-home-dev-other', A + '.jsonl')
    assert home.found() == ({
        (KEY, A): [('main', '', A + '.jsonl')], (KEY, B): [('main', '', B + '.jsonl')],
        ('-home-dev-other', A): [('main', '', A + '.jsonl')]}, [])


def test_subagents_below_the_session(home):
    # Since 2.1.14; any depth of folders since 2.1.332.
    home.put(KEY, A + '.jsonl')
    home.put(KEY, A, 'subagents', 'agent-a1b2c3d.jsonl')
    home.put(KEY, A, 'subagents', 'agent-a1b2c3d.meta.json', records=[b'{"agentType":"Explore"}'])
    home.put(KEY, A, 'subagents', 'workflows', 'wf_abc123', 'agent-acompact-00ff.jsonl')
    home.put(KEY, A, 'subagents', 'workflows', 'wf_abc123', 'journal.jsonl')
    home.put(KEY, A, 'subagents', 'notes.jsonl')
    home.put(KEY, A, 'tool-results', 'toolu_1.txt', records=[b'out'])
    home.put(KEY, A, 'remote-agents', 'remote-agent-r1.meta.json', records=[b'{}'])
    assert home.found() == ({(KEY, A): [
        ('main', '', A + '.jsonl'),
        ('agent', 'a1b2c3d', os.path.join(A, 'subagents', 'agent-a1b2c3d.jsonl')),
        ('agent', 'acompact-00ff', os.path.join(A, 'subagents', 'workflows', 'wf_abc123', 'agent-acompact-00ff.jsonl'))]}, [])


def test_subagents_beside_the_session(home):
    # 2.0.x: only their records name the session.
    home.put(KEY, A + '.jsonl')
    home.put(KEY, 'agent-a1b2c3d.jsonl')
    home.put(KEY, 'agent-e5f6a7b.jsonl')
    found, problems = home.found()
    assert problems == [] and set(found) == {(KEY, A), (KEY, None)}
    assert sorted(found[KEY, None]) == [('loose', 'a1b2c3d', 'agent-a1b2c3d.jsonl'), ('loose', 'e5f6a7b', 'agent-e5f6a7b.jsonl')]


def test_orphans_stand_without_their_parent(home):
    # Of 1,931 subagent files seen, 1,469 had lost theirs to the clean-up.
    home.put(KEY, A, 'subagents', 'agent-a1b2c3d.jsonl')
    home.put(KEY, B, 'tool-results', 'toolu_1.txt', records=[b'out'])
    assert home.found() == ({(KEY, A): [('agent', 'a1b2c3d', os.path.join(A, 'subagents', 'agent-a1b2c3d.jsonl'))]}, [])


def test_what_is_no_session(home):
    home.put(KEY, 'sessions-index.json', records=[b'{}'])
    home.put(KEY, 'memory', 'MEMORY.md', records=[b'x'])
    home.put(KEY, '.session-aliases', records=[b'x'])
    home.put(KEY, '.session-digger-index.json', records=[b'{}'])
    home.put(KEY, A + '.jsonl.compact.tmp.0a1b2c3d')
    home.put(KEY, A + '.jsonl.bak')
    home.put(KEY, '.jsonl')
    os.makedirs(home.at('projects', KEY, B + '.jsonl'))
    home.put('stray.jsonl')
    make.write(home.at('history.jsonl'), [{'display': 'hi'}])
    make.write(home.at('transcripts', 'ses_1.jsonl'), [{'type': 'user'}])
    assert home.found() == ({}, [])


def test_missing_places_are_named(home, tmpdir):
    found, problems = home.found()
    assert (found, [path for path, _ in problems]) == ({}, [home.at('projects')])
    assert all(reason for _, reason in problems)
    make.write(home.at('projects'), [b'a file'])
    assert [path for path, _ in home.found()[1]] == [home.at('projects')]


@pytest.mark.skipif(not hasattr(os, 'mkfifo'), reason='no pipes here')
def test_a_pipe_is_not_opened(home):
    home.put(KEY, A + '.jsonl')
    os.mkfifo(home.at('projects', KEY, B + '.jsonl'))
    os.mkfifo(home.at('projects', KEY, 'agent-a1.jsonl'))
    os.makedirs(home.at('projects', KEY, A, 'subagents'))
    os.mkfifo(home.at('projects', KEY, A, 'subagents', 'agent-a2.jsonl'))
    assert home.found() == ({(KEY, A): [('main', '', A + '.jsonl')]}, [])
    os.mkfifo(home.at('pipe.jsonl'))
    assert claude.owns(home.at('pipe.jsonl')) is False


@needs_links
def test_links_to_folders(home, tmpdir):
    home.put(KEY, A + '.jsonl')
    outside = Home(tmpdir.join('elsewhere'))
    outside.put('-home-dev-far', B + '.jsonl')
    home.link(home.at('projects', KEY), '-link-to-a-neighbour')
    home.link(outside.at('projects', '-home-dev-far'), '-link-out')
    home.link(outside.at('projects', '-home-dev-far'), '-link-out-again')
    home.link(home.at('projects'), '-link-to-itself')
    make.write(home.at('history.jsonl'), [{'display': 'hi'}])
    home.link(home.path, '-link-to-the-root')
    home.link(str(tmpdir), '-link-to-an-ancestor')
    home.link(home.at('projects', 'nowhere'), '-link-to-nothing')
    os.symlink('-loop', home.at('projects', '-loop'))
    found, problems = home.found()
    assert problems == []
    out = [folder for folder, _ in found if folder != KEY]
    assert len(out) == 1 and out[0] in ('-link-out', '-link-out-again')
    assert found == {(KEY, A): [('main', '', A + '.jsonl')], (out[0], B): [('main', '', B + '.jsonl')]}


@needs_links
def test_links_below_a_linked_root(home, tmpdir):
    home.put(KEY, A + '.jsonl')
    home.link(home.at('projects'), '-link-to-itself')
    os.symlink(home.path, str(tmpdir.join('by-link')))
    by_link = Home(tmpdir.join('by-link'))
    assert by_link.found() == ({(KEY, A): [('main', '', A + '.jsonl')]}, [])


@needs_links
def test_links_to_files(home, tmpdir):
    real = home.put(KEY, A + '.jsonl')
    outside = make.write(tmpdir.join('far.jsonl'), [make.user('far')])
    hidden = make.write(home.at('projects', KEY, 'kept.bak'), [make.user('kept')])
    home.link(real, KEY, 'same-folder.jsonl')
    home.link(real, '-home-dev-other', 'other-folder.jsonl')
    home.link(outside, KEY, B + '.jsonl')
    home.link(hidden, KEY, 'kept.jsonl')
    home.link(home.at('nothing.jsonl'), KEY, 'dangling.jsonl')
    os.symlink('loop.jsonl', home.at('projects', KEY, 'loop.jsonl'))
    os.symlink('loop', home.at('projects', KEY, 'loop'))
    found, problems = home.found()
    assert problems == []
    assert found == {(KEY, A): [('main', '', A + '.jsonl')], (KEY, B): [('main', '', B + '.jsonl')],
                     (KEY, 'kept'): [('main', '', 'kept.jsonl')]}


@needs_links
def test_a_loop_below_subagents_ends(home):
    home.put(KEY, A + '.jsonl')
    home.put(KEY, A, 'subagents', 'agent-a1.jsonl')
    home.link(home.at('projects', KEY, A, 'subagents'), KEY, A, 'subagents', 'again')
    found, _ = home.found()
    assert [role for role, _, _ in found[KEY, A]] == ['main', 'agent']


def refusing(monkeypatch, *paths):
    """Let these folders refuse to be listed (root may read everything, so their mode would say nothing)."""
    real = os.scandir

    def scandir(path):
        if str(path) in paths:
            raise PermissionError(13, 'Permission denied', path)
        return real(path)
    monkeypatch.setattr(claude.os, 'scandir', scandir)


def test_folders_that_cannot_be_listed(home, monkeypatch):
    home.put(KEY, A + '.jsonl')
    home.put(KEY, A, 'subagents', 'agent-a1.jsonl')
    home.put('-home-dev-closed', B + '.jsonl')
    closed = [home.at('projects', '-home-dev-closed'), home.at('projects', KEY, A, 'subagents')]
    refusing(monkeypatch, *closed)
    found, problems = home.found()
    assert found == {(KEY, A): [('main', '', A + '.jsonl')]}
    assert sorted(problems) == sorted((path, 'Permission denied') for path in closed)
    refusing(monkeypatch, home.at('projects'))
    assert home.found() == ({}, [(home.at('projects'), 'Permission denied')])


@pytest.mark.skipif(not hasattr(os, 'geteuid') or os.geteuid() == 0, reason='root may list any folder')
def test_a_closed_folder(home):
    home.put(KEY, A + '.jsonl')
    os.chmod(home.at('projects', KEY), 0)
    try:
        assert home.found() == ({}, [(home.at('projects', KEY), 'Permission denied')])
    finally:
        os.chmod(home.at('projects', KEY), 0o700)


@pytest.mark.skipif(os.name == 'nt' or os.uname()[0] == 'Darwin', reason='file names are text here')
def test_names_that_are_no_text(home):
    name = os.fsdecode(b'-home-\xff\xfe')
    home.put(name, A + '.jsonl')
    home.put(name, os.fsdecode(b'caf\xe9.jsonl'))
    home.put('-home-\u4e2d\u6587', B + '.jsonl')
    found, problems = home.found()
    assert problems == []
    assert set(found) == {(name, A), (name, os.fsdecode(b'caf\xe9')), ('-home-\u4e2d\u6587', B)}


def test_files_that_go_while_looking(home, monkeypatch):
    home.put(KEY, A + '.jsonl')
    gone = home.put(KEY, B + '.jsonl')
    real = claude._listing

    def listing(path, problems):
        entries = real(path, problems)
        if path == home.at('projects', KEY):
            os.remove(gone)
        return entries
    monkeypatch.setattr(claude, '_listing', listing)
    found, problems = home.found()
    assert (set(found), problems) == ({(KEY, A)}, [])


def test_the_tree_of_one_transcript(home):
    main = home.put(KEY, A + '.jsonl', records=[make.user('hi', sessionId=A)])
    home.put(KEY, B + '.jsonl', records=[make.user('hi', sessionId=B)])
    nested = home.put(KEY, A, 'subagents', 'workflows', 'wf_1', 'agent-a2.jsonl')
    home.put(KEY, A, 'subagents', 'agent-a1.jsonl')
    loose = home.put(KEY, 'agent-a3.jsonl', records=[make.user('Count', sessionId=A)])
    home.put(KEY, 'agent-a4.jsonl', records=[make.user('Count', sessionId=B)])
    tree = claude.session_at(main)
    assert (tree.id, tree.folder, tree.root) == (A, KEY, home.path)
    assert [(source.role, source.chain, source.session) for source in tree.sources][0] == ('main', '', A)
    assert sorted((source.role, source.chain, source.session) for source in tree.sources[1:]) == [
        ('agent', 'a1', A), ('agent', 'a2', A), ('loose', 'a3', A)]
    for path, role, chain in ((nested, 'agent', 'a2'), (loose, 'loose', 'a3')):
        one = claude.session_at(path)
        assert one.id == A
        assert [(source.path, source.role, source.chain) for source in one.sources] == [(path, role, chain)]


# Roots.

@pytest.mark.parametrize('value, expected', [
    ('/x/claude', ['/x/claude']),
    ('/x/claude/', ['/x/claude']),
    ('/x/claude/projects', ['/x/claude']),
    ('/x/claude/projects/', ['/x/claude']),
    ('/x/one,/x/two', ['/x/one', '/x/two']),
    (' /x/one , /x/two/projects ,', ['/x/one', '/x/two']),
    ('/x/one,/x/one/,/x/./one,/x/one/projects', ['/x/one']),
    ('~/c', ['/home/ann/c']),
])
def test_config_dir(value, expected, monkeypatch):
    monkeypatch.setenv('HOME', '/home/ann')
    assert claude.roots({'CLAUDE_CONFIG_DIR': value, 'XDG_CONFIG_HOME': '/xdg'}) == [os.path.abspath(path) for path in expected]


@pytest.mark.parametrize('environ, expected', [
    ({}, ['/home/ann/.claude', '/home/ann/.config/claude']),
    ({'CLAUDE_CONFIG_DIR': ''}, ['/home/ann/.claude', '/home/ann/.config/claude']),
    ({'XDG_CONFIG_HOME': '/xdg'}, ['/home/ann/.claude', '/xdg/claude']),
    ({'XDG_CONFIG_HOME': ''}, ['/home/ann/.claude', '/home/ann/.config/claude']),
])
def test_default_roots(environ, expected, monkeypatch):
    monkeypatch.setenv('HOME', '/home/ann')
    assert claude.roots(environ) == expected


def test_a_relative_config_dir(monkeypatch, tmpdir):
    monkeypatch.chdir(tmpdir)
    assert claude.roots({'CLAUDE_CONFIG_DIR': 'c'}) == [os.path.join(os.getcwd(), 'c')]


# Whose file is it, by its place or its first records?

def test_owned_by_place():
    for path in ('/h/.claude/projects/-a/%s.jsonl' % A, '/h/.claude/projects/-a/%s/subagents/agent-a1.jsonl' % A,
                 '/h/.claude/projects/-a/%s/subagents/workflows/wf_1/agent-a1.jsonl' % A, 'C:\\h\\projects\\-a\\%s.jsonl' % A):
        assert claude.owns(path), path
    for path in ('/h/.claude/projects/-a/sessions-index.json', '/h/.claude/projects/-a', '/nowhere/x.jsonl', '/nowhere/x.txt'):
        assert not claude.owns(path), path


@pytest.mark.parametrize('records, owned', [
    ([make.user('hi')], True),
    ([make.meta('mode', mode='normal'), make.meta('file-history-snapshot', snapshot={}), make.assistant('x')], True),
    ([make.meta('summary', summary='x', leafUuid='u')], True),
    ([b'broken\n', b'\n', make.system('informational', 'x')], True),
    ([b'\n'] * 30 + [make.user('hi')], False),
    ([{'type': 'user', 'timestamp': 1, 'content': 'x'}], False),
    ([{'type': 'message', 'sessionId': A, 'role': 'user'}], False),
    # Qwen Code's records.
    ([{'uuid': 'u', 'parentUuid': None, 'sessionId': A, 'type': 'user', 'message': {'role': 'user', 'parts': [{'text': 'x'}]}}], False),
    ([], False),
])
def test_owned_by_content(records, owned, tmpdir):
    assert claude.owns(make.write(tmpdir.join('x.jsonl'), records)) is owned


@pytest.mark.slow
def test_no_other_agents_file_is_owned(tmpdir):
    copy = str(tmpdir.join('x.jsonl'))
    base = shared('corpus')
    others = owned = 0
    for agent in sorted(os.listdir(base)):
        for where, _, names in os.walk(os.path.join(base, agent)):
            for name in names:
                path = os.path.join(where, name)
                if name.endswith('.jsonl') and os.path.getsize(path):
                    shutil.copyfile(path, copy)
                    if agent.startswith('claude') and name != 'history.jsonl':
                        owned += 1
                        assert claude.owns(copy), path
                    else:
                        others += 1
                        assert not claude.owns(copy), path
    assert owned > 100 and others > 100


# The session of a subagent file that lies beside it.

def test_head_names_the_session(home):
    home.put(KEY, A + '.jsonl')
    path = home.put(KEY, 'agent-a1.jsonl', records=[make.user('Count', sessionId=A, isSidechain=True)])
    assert claude.head(path) == {'session': A}


def test_head_prefers_a_session_with_content(home):
    # 2.0.77 starts warm-up agents under an id whose file stays empty, and names the real session a record later.
    home.put(KEY, A + '.jsonl')
    home.put(KEY, B + '.jsonl', records=[])
    rows = [make.user('Warmup', sessionId=B), make.assistant('Ready', sessionId=A)]
    assert claude.head(home.put(KEY, 'agent-a1.jsonl', records=rows)) == {'session': A}
    assert claude.head(home.put(KEY, 'agent-a2.jsonl', records=rows[:1])) == {'session': B}


@pytest.mark.parametrize('records, session', [
    ([], None), ([b'broken\n'], None), ([{'type': 'user'}], None), ([{'type': 'user', 'sessionId': 5}], None),
    ([{'type': 'user', 'sessionId': '../../../etc/x'}], None), ([{'type': 'user', 'sessionId': 'a\0b'}], 'a\0b'),
    ([{'type': 'user', 'sessionId': '\ud800'}], '\ud800'), ([{'type': 'user', 'sessionId': 'x' * 5000}], 'x' * 5000)])
def test_head_of_odd_files(records, session, home):
    assert claude.head(home.put(KEY, 'agent-a1.jsonl', records=records)) == {'session': session}


def test_head_of_a_missing_file(home):
    assert claude.head(home.at('projects', KEY, 'agent-a1.jsonl')) == {'session': None}


# Spilled output.

@pytest.fixture
def sources(home):
    """Sources of a main file, a nested subagent and a loose one, whose session has a spilled result."""
    home.put(KEY, A, 'tool-results', 'b842808.txt', records=[b'row 1\nrow \xff2\n'])
    home.put(KEY, A, 'tool-results', 'toolu_1.json', records=[[{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}]])
    home.put(KEY, A, 'secret.txt', records=[b'secret'])
    return [Source(home.at('projects', KEY, A + '.jsonl'), 'main', '', A, 0, 0),
            Source(home.at('projects', KEY, A, 'subagents', 'workflows', 'wf_1', 'agent-a1.jsonl'), 'agent', 'a1', A, 0, 0),
            Source(home.at('projects', KEY, 'agent-a1.jsonl'), 'loose', 'a1', A, 0, 0)]


@pytest.mark.parametrize('named', ['b842808.txt', '/home/else/.claude/projects/-x/%s/tool-results/b842808.txt' % A,
                                   'C:\\Users\\x\\tool-results\\b842808.txt', '../../tool-results/b842808.txt'])
def test_spill_is_found_by_its_name(named, sources, home):
    for source in sources:
        assert claude.spill_path(source, named) == home.at('projects', KEY, A, 'tool-results', 'b842808.txt')


@pytest.mark.parametrize('named', ['', '/', '..', '.', '../secret.txt', 'secret.txt', '/etc/passwd', 'nothing.txt', 'a\0b', '\ud800',
                                   '.hidden', 'tool-results/', 'x' * 5000])
def test_spill_of_no_file(named, sources):
    for source in sources:
        assert claude.spill_path(source, named) == ''


@needs_links
def test_spill_does_not_follow_links_out(sources, home):
    home.link(home.at('projects', KEY, A, 'secret.txt'), KEY, A, 'tool-results', 'out.txt')
    home.link(home.at('projects', KEY, A), KEY, A, 'tool-results', 'folder.txt')
    for named in ('out.txt', 'folder.txt'):
        assert claude.spill_path(sources[0], named) == ''


def test_spilled_text(sources, home, tmpdir):
    folder = home.at('projects', KEY, A, 'tool-results')
    assert claude.spill_text(os.path.join(folder, 'b842808.txt')) == 'row 1\nrow \ufffd2\n'
    assert claude.spill_text(os.path.join(folder, 'b842808.txt'), 5) == 'row 1'
    assert claude.spill_text(os.path.join(folder, 'toolu_1.json')) == 'a\nb'
    for raw in (b'{"not": "whole', b'[' * 100000):
        assert claude.spill_text(make.write(tmpdir.join('x.json'), [raw])) == raw.decode()


def test_facts_of_a_subagent(tmpdir):
    path = make.write(tmpdir.join('agent-a1.meta.json'), [{'agentType': 'Explore', 'toolUseId': 't1'}])
    assert claude.agent_facts(path) == {'agentType': 'Explore', 'toolUseId': 't1'}
    assert claude.agent_facts(make.write(path, [b'\xef\xbb\xbf{"agentType": "Explore"}'])) == {'agentType': 'Explore'}
    for raw in (b'', b'not json', b'[1]', b'\xff', b'[' * 100000):
        assert claude.agent_facts(make.write(path, [raw])) == {}
    assert claude.agent_facts(str(tmpdir.join('missing'))) == {}


# What one file says about itself.

def test_branches_that_were_left(home):
    made = make.Session(A)
    first, answer = made.user('plan'), made.assistant('two ways', tool='Bash')
    parallel = [made.result(parentUuid=answer['uuid']), made.result(parentUuid=answer['uuid'])]
    end = made.assistant('done', parentUuid=parallel[1]['uuid'])
    left = [made.user('plan a', parentUuid=end['uuid']), made.assistant('a'), made.user('more of a'), made.assistant('aa')]
    kept = [made.user('plan b', parentUuid=end['uuid']), made.assistant('b')]
    rows = [first, answer] + parallel + [end] + left + kept
    # A queue row stands between, and an attachment that belongs to neither.
    rows.insert(3, made.meta('queue-operation', operation='dequeue'))
    path = home.put(KEY, A + '.jsonl', records=rows)
    assert claude.branches(path) == (2, {row['uuid'] for row in left})
    assert claude.orphan_parents(path) == 0
    # Two prompts follow one of these rows, one the other.
    assert claude.orphan_parents(home.put(KEY, B + '.jsonl', records=[row for row in rows if row not in (end, left[1])])) == 2
    # Another program's hand: spaces, and the fields in another order.
    spaced = [json.dumps(dict(sorted(row.items()))).encode('ascii') + b'\n' for row in rows]
    assert claude.branches(home.put(KEY, B + '.jsonl', records=spaced)) == (2, {row['uuid'] for row in left})
    assert claude.branches(home.put(KEY, B + '.jsonl', records=rows[:6])) == (1, set())
    assert claude.branches(home.put(KEY, B + '.jsonl', records=[b'broken\n', b'{"parentUuid":null}\n', b'\0\0'])) == (1, set())


def test_a_prompt_that_was_really_taken_back():
    # Esc Esc was pressed in one of the newest client's sessions.
    root = os.path.join(shared('corpus', 'claude-2.1.332', 'home'), 'dev', '.claude')
    for session in claude.discover(root, []):
        ends, left = claude.branches(session.sources[0].path)
        assert (ends, len(left)) == ((2, 3) if session.id.startswith('f08db22f') else (1, 0))


def test_rows_of_another_session_are_counted(home):
    made = make.Session(B)
    rows = [make.user('copied', sessionId=A), make.assistant('copied', sessionId=A), made.user('own'),
            make.user('branched', sessionId=B, forkedFrom={'sessionId': A}), made.meta('ai-title', aiTitle='x')]
    assert claude.inherited(home.put(KEY, B + '.jsonl', records=rows), B) == 3


def test_versions_of_files_that_were_backed_up(home):
    def snapshot(**backups):
        return make.meta('file-history-snapshot', snapshot={'trackedFileBackups': backups})
    path = home.put(KEY, A + '.jsonl', records=[
        snapshot(a={'version': 1}, b={'version': 1}), snapshot(a={'version': 3}), snapshot(a={'version': 2}, c=None, d={'version': 'x'}),
        make.meta('file-history-delta', trackingPath='e', backup={'version': 5}), make.meta('file-history-snapshot', snapshot=None)])
    assert claude.file_versions(path) == {'a': 3, 'b': 1, 'e': 5}


# What the corpora hold, counted in their folders by hand: (main files, loose subagents, nested subagents)
@pytest.mark.parametrize('folder, expected', [
    ('claude-1.0.128', (18, 0, 0)), ('claude-2.0.77', (33, 102, 0)), ('claude-2.1.332', (31, 0, 6))])
def test_real_homes(folder, expected):
    root = os.path.join(shared('corpus', folder, 'home'), 'dev', '.claude')
    problems = []
    roles = [source.role for session in claude.discover(root, problems) for source in session.sources]
    assert problems == []
    assert tuple(roles.count(role) for role in ('main', 'loose', 'agent')) == expected
    listed = sum(1 for where, _, names in os.walk(os.path.join(root, 'projects')) for name in names if name.endswith('.jsonl'))
    assert listed == sum(expected) == len(roles)
