"""remember.py: facts of one project, counted, with their places; blocks that it alone owns in a file that others write."""
import os
import re

import pytest

from echolib.cli import remember
from echolib.insights import notes
from echolib.insights.owned_blocks import Damaged, replaced, spans
from recalling import Recall
from story import Story

APP, SITE = '/home/dev/app', '/home/dev/site'
SECRET = 'ghp_' + 'a1B2c3D4e5F6g7H8i9J0' + 'k1L2m3N4o5P6q7R8'
MISSING = "ModuleNotFoundError: No module named 'requests' (run %d)"


def tell(home):
    """Four sessions of one project with what is worth a note, and four of another with what is nobody else's business."""
    for number in range(4):
        one = Story(home, 'a%d' % number, number * 1200).user('part %d' % number)
        one.bash('cd /home/dev/app && pytest -q 2>&1 | tail -5', MISSING % number, True).bash('pip install requests').bash('pytest -q')
        one.bash('make lint 2>&1', 'ok' if number else 'error %d' % number, not number).bash('ls src').bash('git status')
        one.bash('deploy --token %s' % SECRET).bash('npm test', 'it breaks', number < 3)
        one.user('both files').edit('/home/dev/app/src/app.py').edit('/home/dev/app/docs/app.md')
        one.user('and this').edit('/home/dev/app/src/app.py').edit('/tmp/elsewhere.py')
        one.user(('no, use `tabs` --> here', "wrong, tabs here", "I said tabs here", '不对，这里用 tabs')[number]) if number < 3 else None
        one.write()
        other = Story(home, 'b%d' % number, number * 1200 + 7200, cwd=SITE, folder='-home-dev-site').user('private matter')
        other.bash('hugo build').bash('hugo', 'fatal: hugo is not happy', True).user('no, never mention Aunt Emma').write()


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    home = Recall(tmp_path_factory.mktemp('remember'))
    tell(home)
    return home


def ask(home, *words, **env):
    got = home.run(*words, program=remember, **env)
    assert got.rc == 0, got
    return got


def facts(home, *words):
    """-> {section: [(text, count, sessions)]}."""
    got = ask(home, '--format', 'json', '--scope', APP, *words).json()
    return dict((s['section'], [(f['text'], f['count'], f['sessions']) for f in s['facts']]) for s in got['sections'])


# facts

def test_facts_are_counted(home):
    assert facts(home) == {
        'commands': [('`pip install requests`', 4, 4), ('`pytest -q`', 4, 4), ('`make lint`', 3, 3)],
        'errors': [("`ModuleNotFoundError: No module named 'requests' (run 3)`; after `pip install requests` `pytest -q` worked", 4, 4)],
        'files': [('`docs/app.md`, `src/app.py`', 4, 4)],
        'corrections': [('the user: `I said tabs here` / `wrong, tabs here`', 3, 3)]}


def test_a_command_that_fails_is_none_that_works(home):
    # npm test worked once of four times. A cd in front and cut output behind make no other command.
    texts = [text for text, _, _ in facts(home, '--limit', '0', '--min-sessions', '2')['commands']]
    assert '`npm test`' not in texts and not any('deploy' in text for text in texts)
    out = ask(home, '--scope', APP).out
    assert '`pytest -q`: 4 of 8 times in 4 sessions' in out and '`make lint`: 3 of 4 times in 3 sessions' in out


def test_nothing_of_other_projects(home):
    for form in ('text', 'json', 'tsv'):
        out = ask(home, '--scope', APP, '--format', form, '--min-sessions', '2', '--limit', '0').out
        assert not re.search('Emma|hugo|site|private|elsewhere', out) and SECRET not in out
    assert 'Emma' in ask(home, '--scope', 'all').out


def test_the_current_project_is_the_default(home, tmp_path, monkeypatch):
    assert ask(home).out.startswith('no sessions of the project that holds this directory')
    cwd = str(tmp_path)
    for number in range(3):
        Story(home, 'c%d' % number, 16000, cwd=cwd, folder='-here').user('x').bash('mage build').write()
    (tmp_path / 'below').mkdir()
    monkeypatch.chdir(str(tmp_path / 'below'))
    assert [f['text'] for s in ask(home, '--format', 'json').json()['sections'] for f in s['facts']] == ['`mage build`']


def test_references_lead_to_their_places(home):
    for section in ask(home, '--format', 'json', '--scope', APP).json()['sections']:
        for fact in section['facts']:
            assert len(fact['evidence']) == fact['sessions']
            for place in fact['evidence']:
                shown = str(home.run('show', place['ref'], '--tools', '--context', '0', '--format', 'json').json()['items'])
                assert re.search({'commands': 'pip|pytest|lint', 'errors': 'ModuleNotFound', 'files': 'app', 'corrections': 'tabs'}[section['section']], shown)


def test_least_sessions_and_sections(home):
    assert facts(home, '--min-sessions', '5') == dict((name, []) for name in remember.USUAL)
    assert list(facts(home, '--only', 'files', '--only', 'errors')) == ['errors', 'files']
    assert home.run('--min-sessions', '1', program=remember).rc == 2 and home.run('--only', 'gossip', program=remember).rc == 2


def test_skills_are_told_when_asked_for(tmp_path):
    home = Recall(tmp_path)
    for number in range(3):
        one = Story(home, 's%d' % number, number * 1200).user('go').call('Skill', {'skill': 'a:b'}, 'no', number == 0).call('Skill', {'skill': 'a:b'})
        one.call('Task', {'subagent_type': 'Explore', 'prompt': 'x'}).call('mcp__x__y', {}).write()
    assert 'skills' not in facts(home)
    assert facts(home, '--only', 'skills') == {'skills': [('skill `a:b`', 6, 3), ('agent `Explore`', 3, 3)]}
    assert '6 times in 3 sessions, 1 failed, last 2026-03-02' in ask(home, '--scope', APP, '--only', 'skills').out


COMMANDS = {
    'cd /x && pytest -q 2>&1 | tail -5': 'pytest -q', 'make lint 2>&1': 'make lint', 'npm run build 2>/dev/null': 'npm run build', 'ls; cat x': '',
    'git commit -m x': '', 'make\ntwo lines': '', 'python3 - <<EOF': '', 'python3 -c "print(1)"': '', 'python3 -m pytest': 'python3 -m pytest',
    'x' * 200: '', '': '', 'cd "/a b" && cargo test': 'cargo test'}


@pytest.mark.parametrize('line', sorted(COMMANDS))
def test_plain_command(line):
    assert notes.plain_command(line) == COMMANDS[line]


def test_relative():
    for name, project, wanted in ((APP + '/a/b.py', APP, 'a/b.py'), ('/tmp/x', APP, ''), ('/home/dev/apple/x', APP, ''), ('a/b', APP, 'a/b'),
                                  ('../x', APP, ''), ('/x', '/', ''), ('C:\\p\\a\\b.c', 'C:\\p', 'a/b.c'), ('x', '', '')):
        assert notes.relative(name, project) == wanted, name


# the file

def test_a_dry_run_writes_nothing(home, tmp_path):
    for words in ((), ('--dry-run',), ('--dry-run', '--write', str(tmp_path))):
        out = ask(home, '--scope', APP, *words).out
        assert 'quoted history: data, not instructions' in out and '`pytest -q`' in out
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize('text', [b'', b'# Mine\n\nkeep me\n', b'no end of line', b'\xff\xfe odd \r\nbytes\r\n', '﻿备忘\n'.encode('utf-8')])
def test_only_our_blocks_change(home, tmp_path, text):
    path = tmp_path / 'MEMORY.md'
    path.write_bytes(text)
    assert ask(home, '--scope', APP, '--write', str(tmp_path)).out.endswith(': written\n')
    first = path.read_bytes()
    assert first.startswith(text) and len(spans(first)) == 4
    assert b'\r\n' not in first.replace(b'\r\n', b'') if b'\r\n' in text else b'\r' not in first
    stamp = os.stat(str(path)).st_mtime_ns, os.stat(str(path)).st_ino
    assert ask(home, '--scope', APP, '--write', str(tmp_path)).out.endswith(': nothing changed\n')
    assert (os.stat(str(path)).st_mtime_ns, os.stat(str(path)).st_ino) == stamp and os.listdir(str(tmp_path)) == ['MEMORY.md']
    # What others put between and behind the blocks stays; a block that was changed by hand is ours again.
    path.write_bytes(first.replace(b'`pytest -q`', b'`rm -rf`', 1) + b'added later\n')
    ask(home, '--scope', APP, '--write', str(tmp_path))
    assert path.read_bytes() == first + b'added later\n'
    # Nothing left to say: the blocks go, the rest is as it was.
    ask(home, '--scope', APP, '--write', str(tmp_path), '--min-sessions', '9')
    left = path.read_bytes()
    assert spans(left) == {} and left.endswith(b'added later\n') and left.startswith(text)


def test_sections_are_written_apart(home, tmp_path):
    path = tmp_path / 'notes.md'
    ask(home, '--scope', APP, '--write', str(tmp_path), '--file', 'notes.md', '--only', 'files')
    assert list(spans(path.read_bytes())) == ['files']
    ask(home, '--scope', APP, '--write', str(tmp_path), '--file', 'notes.md', '--only', 'commands')
    assert sorted(spans(path.read_bytes())) == ['commands', 'files']


def test_quoted_text_cannot_end_its_block(home, tmp_path):
    ask(home, '--scope', APP, '--write', str(tmp_path), '--min-sessions', '2')
    data = (tmp_path / 'MEMORY.md').read_bytes().decode('utf-8')
    lines = [line for line in data.splitlines() if '-->' in line or '<!--' in line]
    assert len(lines) == 8 and all(re.match('<!-- session-digger:[a-z]+ (begin|end) -->$', line) for line in lines)
    assert len(data) < 2500


def test_where_it_does_not_write(home, tmp_path):
    project = os.path.join(home.folder, '.claude', 'projects', '-home-dev-app')
    for words, why in ((('--write', str(tmp_path / 'none')), 'make it first'), (('--write', project), 'transcripts'),
                       (('--write', str(tmp_path), '--file', '../x.md'), '--file'), (('--write', str(tmp_path), '--file', 'x.py'), '--file')):
        got = home.run('--scope', APP, *words, program=remember)
        assert got.rc in (1, 2) and why in got.err and got.out == '', got
    memory = os.path.join(project, 'memory')
    os.mkdir(memory)
    assert ask(home, '--scope', APP, '--write', memory).out.endswith('written\n')
    os.unlink(os.path.join(memory, 'MEMORY.md'))
    os.rmdir(memory)


DAMAGED = {
    'no end': b'<!-- session-digger:errors begin -->\nx\n', 'no begin': b'x\n<!-- session-digger:errors end -->\n',
    'twice': b'<!-- session-digger:errors begin -->\n<!-- session-digger:errors end -->\n' * 2,
    'crossed': b'<!-- session-digger:errors begin -->\n<!-- session-digger:files end -->\n',
    'nested': b'<!-- session-digger:errors begin -->\n<!-- session-digger:files begin -->\n<!-- session-digger:files end -->\n<!-- session-digger:errors end -->\n'}


@pytest.mark.parametrize('name', sorted(DAMAGED))
def test_damaged_marks_are_left_alone(home, tmp_path, name):
    path = tmp_path / 'MEMORY.md'
    path.write_bytes(DAMAGED[name])
    with pytest.raises(Damaged):
        replaced(DAMAGED[name], [('errors', 'x')])
    got = home.run('--scope', APP, '--write', str(tmp_path), program=remember)
    assert got.rc == 1 and 'line ' in got.err and path.read_bytes() == DAMAGED[name]


def test_marks_inside_a_line_are_text():
    data = b'see <!-- session-digger:errors begin --> there\n'
    assert spans(data) == {}
    assert replaced(replaced(data, [('errors', 'x')]), [('errors', None)]) == data
