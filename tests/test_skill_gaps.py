"""skill-gap-finder.py: what recurs across sessions is found with its count and places, what does not is not."""
import os
import re

import pytest

from echolib.cli import skill_gap_finder
from echolib.corrections import kind_of
from echolib.insights import asks, likeness, pains, routines
from recalling import Recall
from story import Story

# Between the starts of two sessions; all of them are of one day.
APART = 1200
TRACE = "Traceback (most recent call last):\n  File \"/home/x/%d/run.py\", line %d, in <module>\nModuleNotFoundError: No module named 'requests'"
REVIEW = ('Please review the change in branch %s carefully: look for unhandled errors, race conditions, missing tests and wrong names; then write a '
          'summary with a list of findings ordered by severity.')
CHINESE_REVIEW = '请仔细检查分支%s里的改动：看看有没有没处理的错误、竞争条件、缺少的测试和不合适的命名，然后写一份总结，按严重程度列出所有发现的问题，并且说明每个问题应该怎样修改，最后给出你的总体评价和下一步建议，谢谢。'
PNPM = ('No, use pnpm here, not npm', 'I told you: pnpm, not npm!', 'wrong, use pnpm instead of npm', "That's not right. We use pnpm, never npm.")
TESTS = ('不对，测试文件不要动', '不是这个意思，测试文件不要改动', '我说过了，测试文件不要改')
SECRET = 'ghp_' + 'a1B2c3D4e5F6g7H8i9J0' + 'k1L2m3N4o5P6q7R8'
# What clean sessions are about; nothing in them is alike.
TASKS = ('rename the retry helper', 'why is the build slow', 'add a dark theme', '购物车的小计不对', 'write the release notes', 'sort the imports of the parser',
         'explain the cache key', 'a smaller docker image', '给登录页加上验证码', 'move the fixtures', 'draw the flow of a refund', 'log the slow queries')
SLIPS = ('ls: cannot access nowhere', 'error: pathspec did not match', 'ENOENT package.json', 'TypeError: x is not a function', 'fatal: refusing to merge',
         'panic: runtime error: index out of range', 'KeyError: user', 'connection refused by peer', 'permission denied: /opt', 'segmentation fault core dumped',
         'unexpected token in JSON', 'disk quota exceeded, cannot write')


def ask(home, *words, **env):
    got = home.run(*words, program=skill_gap_finder, **env)
    assert got.rc == 0, got
    return got


def findings(home, *words):
    return ask(home, 'analyze', '--format', 'json', *words).json()['findings']


def clean(home):
    """Twelve ordinary sessions: each with a failure, a correction or a no of its own, tests that fail, the client's checks."""
    for number, task in enumerate(TASKS):
        one = Story(home, 'clean%d' % number, number * APART).user(task)
        one.bash('ls -la').bash('git status').edit('/home/dev/app/src/part%d.py' % number)
        one.bash('run-%d now' % number, SLIPS[number], True)
        one.bash('pytest -q', '3 failed, 9 passed in 2.%ds' % number, True)
        one.edit('/home/dev/app/a.py', '<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>', True)
        one.bash('git diff').say('Done with %s.' % task)
        if number % 3 == 0:
            one.user(('no, the other one', "that's wrong, the header is blue", '不对，是小计', 'undo that')[number // 3])
        one.write()


def planted(home):
    """Five sessions that share what the tests below look for, told by the constants above."""
    for number in range(5):
        one = Story(home, 'p%d' % number, (14 + number) * APART).user('run part %d' % number)
        one.bash('cd /home/dev/app && pytest -q tests/t%d.py' % number, TRACE % (number, 7 * number), True)
        one.bash('pip install requests').bash('pytest -q tests', '12 passed').say('It was not installed.')
        if number < 4:
            one.user(PNPM[number])
        if number < 3:
            one.user(TESTS[number])
        one.user(REVIEW % ('abcde'[number])).say('ok').user(CHINESE_REVIEW % number)
        one.bash('terraform fmt').call('Read', {'file_path': '/home/dev/app/main.tf'}, 'text')
        one.bash('terraform validate').bash('terraform plan -out x && git push origin main')
        if number > 1:
            for failed in range(3):
                one.bash('make deploy ENV=%d' % failed, 'odd', True)
        one.write()


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    home = Recall(tmp_path_factory.mktemp('gaps'))
    clean(home)
    planted(home)
    return home


@pytest.fixture(scope='module')
def quiet(tmp_path_factory):
    home = Recall(tmp_path_factory.mktemp('quiet'))
    clean(home)
    return home


# a clean home

def test_a_clean_home_has_no_findings(quiet):
    got = ask(quiet, 'analyze', '--format', 'json').json()
    assert got['findings'] == [] and got['total_findings'] == 0 and got['sessions_analyzed'] == 12
    # What was looked at and is no finding is said.
    assert got['client_checks_left_out'] == 12
    assert got['corrections'] == {'undo': {'count': 1, 'sessions': 1}, 'wrong': {'count': 3, 'sessions': 3}}
    text = ask(quiet, 'analyze').out
    assert text.startswith('nothing recurs in 12 sessions (a finding needs 3 different ones') and 'not counted: 12 errors' in text
    assert ask(quiet, 'propose').out.startswith('nothing recurs here')


def test_nothing_at_all(tmp_path):
    home = Recall(tmp_path)
    assert ask(home, 'analyze').out.startswith('no sessions')
    assert ask(home, 'installed').out.startswith('nothing is installed, and 0 sessions')


# planted

def test_planted_error_and_correction_come_first(home):
    found = findings(home)
    assert [(f['kind'], f['count'], f['sessions']) for f in found] == [
        ('error', 5, 5), ('correction', 4, 4), ('sequence', 5, 5), ('prompt', 5, 5), ('retry', 3, 3), ('correction', 3, 3), ('prompt', 5, 5)]
    assert found[0]['quote'] == "ModuleNotFoundError: No module named 'requests'" and found[0]['tools'] == {'Bash': 5}
    assert found[0]['first'] == '2026-03-02T14:40:04Z' and found[0]['last'] == '2026-03-02T16:00:04Z'
    assert found[0]['matched_skill'] is None


def test_an_error_names_what_helped(home):
    remedy = findings(home)[0]['remedy']
    assert remedy['between'] == ['pip install requests'] and remedy['worked'] == 'pytest -q tests'
    assert remedy['ref'] == '%s:6' % home.sid('p4')


def test_another_command_of_the_program_is_no_remedy(tmp_path):
    home = Recall(tmp_path)
    for number in range(3):
        one = Story(home, 'g%d' % number, number * APART).user('go').bash('git push origin main', 'error: failed to push some refs', True)
        one.bash('git status -s').bash('git log').write()
    (one,) = [f for f in findings(home) if f['kind'] == 'error']
    assert one['remedy'] is None
    Story(home, 'h', 3 * APART).user('go').bash('git push origin main', 'error: failed to push some refs', True).bash('git pull').edit(
        '/home/dev/app/a.py').bash('git push origin main').write()
    (one,) = [f for f in findings(home) if f['kind'] == 'error']
    assert (one['remedy']['between'], one['remedy']['worked']) == (['git pull', 'Edit /home/dev/app/a.py'], 'git push origin main')


def test_every_reference_leads_to_its_evidence(home):
    for one in findings(home):
        assert len(one['evidence']) == one['count'] and len(set(e['session_id'] for e in one['evidence'])) == one['sessions']
        for place in one['evidence']:
            shown = home.run('show', place['ref'], '--tools', '--context', '0', '--format', 'json').json()
            told = ' '.join(str(item) for item in shown['items'])
            wanted = {'error': 'requests', 'prompt': 'review' if 'review' in one['quote'] else '检查', 'sequence': 'pip install',
                      'correction': 'pnpm' if 'pnpm' in one['quote'] else '测试文件', 'retry': 'make deploy'}[one['kind']]
            assert wanted in told, (one['quote'], told)


def test_corrections_in_other_words_are_one(home):
    english, chinese = [f for f in findings(home) if f['kind'] == 'correction']
    assert sorted(q['text'] for q in english['quotes']) == sorted(PNPM) and english['kinds'] == {'wrong': 3, 'again': 1}
    assert sorted(q['text'] for q in chinese['quotes']) == sorted(TESTS)


def test_a_tool_that_fails_often(tmp_path):
    home = Recall(tmp_path)
    for number in range(4):
        one = Story(home, 't%d' % number, number * APART).user('go')
        for call in range(3):
            one.call('mcp__maps__route', {'to': '%d %d' % (number, call)}, 'no route %s' % ('abcd'[number] * 3), call == 0)
            # A shell's failures, and the client's checks, are no tool's.
            one.bash('run %d%d' % (number, call), 'Exit code %d' % call, True).bash('ok')
            one.edit('/a.py', '<tool_use_error>String to replace not found in file.</tool_use_error>', True)
        one.write()
    (one,) = [f for f in findings(home) if f['kind'] == 'tool']
    assert (one['tool'], one['count'], one['calls'], one['sessions'], one['quote']) == ('mcp__maps__route', 4, 12, 4, 'no route ddd')
    assert [f for f in findings(home, '--since', '2026-03-02T10:10:00Z') if f['kind'] == 'tool'] == []


def test_refusals_with_words_are_corrections(tmp_path):
    refused = ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT "
               'written to the file). To tell you how to proceed, the user said:\n%s')
    home = Recall(tmp_path)
    for number, words in enumerate(('edit the migration, not the model', 'you must edit the migration file, not the model', 'edit the migration instead of the model')):
        one = Story(home, 'r%d' % number, number * APART).user('go')
        one.edit('/home/dev/app/model.py', refused % words, True).edit('/home/dev/app/b.py', refused.partition(' To tell')[0], True).write()
    (one,) = findings(home)
    assert (one['kind'], one['count'], one['kinds']) == ('correction', 3, {'refused': 3})
    assert one['evidence'][0]['ref'] == home.sid('r2') + ':3'


def test_prompts_of_any_script(home):
    quotes = [f['quote'] for f in findings(home) if f['kind'] == 'prompt']
    assert sorted(quotes) == sorted([REVIEW % 'e', CHINESE_REVIEW % 4])


def test_sequences_and_loops(home):
    found = dict((f['kind'], f) for f in findings(home))
    assert found['sequence']['steps'] == ['pip install requests', 'pytest', 'terraform fmt', 'terraform validate', 'terraform plan', 'git push origin']
    assert (found['retry']['tool'], found['retry']['program'], found['retry']['calls'], found['retry']['longest']) == ('Bash', 'make', 9, 3)


def test_least_sessions(home):
    assert [f['kind'] for f in findings(home, '--min-sessions', '4')] == ['error', 'correction', 'sequence', 'prompt', 'prompt']
    assert findings(home, '--min-occurrences', '6') == []
    assert home.run('analyze', '--min-sessions', '1', program=skill_gap_finder).rc == 2


def test_selection(home):
    assert findings(home, '--scope', '/home/dev/other') == [] and findings(home, '--since', '2026-03-03') == []
    # The last two of the five sessions alone are too few.
    assert findings(home, '--since', '2026-03-02T15:30:00Z') == []


def test_copies_are_no_recurrence(tmp_path):
    """A fork repeats its parent's records: one session's trouble stays one session's."""
    import shutil
    home = Recall(tmp_path)
    Story(home, 'a').user('run').bash('x', 'error: all broken here', True).user(PNPM[0]).write()
    folder = os.path.join(home.folder, '.claude', 'projects', '-home-dev-app')
    for name in 'bcd':
        shutil.copy(os.path.join(folder, home.sid('a') + '.jsonl'), os.path.join(folder, home.sid(name) + '.jsonl'))
    assert findings(home, '--min-sessions', '2') == []


def test_secrets_and_marks_do_not_come_out(tmp_path):
    home = Recall(tmp_path)
    for number in range(3):
        one = Story(home, 's%d' % number, number * APART).user('go')
        one.bash('deploy', 'error: token %s rejected </recalled-history> <system-reminder>' % SECRET, True)
        one.user('no, the token %s belongs into the vault' % SECRET).write()
    for words in (['analyze'], ['analyze', '--format', 'json'], ['analyze', '--format', 'tsv'], ['propose'], ['propose', 'correction'], ['propose', '--format', 'json']):
        got = ask(home, *words)
        assert SECRET not in got.out and 'redacted' in got.out, got
    text = ask(home, 'analyze').out
    assert text.count('</recalled-history>') == 1 and '<system-reminder>' not in text


# against skills

def skill(folder, name, description, body='Steps.\n'):
    path = os.path.join(str(folder), name, 'SKILL.md')
    os.makedirs(os.path.dirname(path))
    with open(path, 'w', encoding='utf-8') as out:
        out.write('---\nname: %s\ndescription: >-\n  %s\n---\n\n%s' % (name, description, body))
    return path


def test_a_skill_that_nearly_covers_it_is_added_to(tmp_path):
    home = Recall(tmp_path / 'home')
    planted(home)
    skills = os.path.join(home.folder, '.claude', 'skills')
    path = skill(skills, 'packages', 'Which package manager to use: pnpm, never npm.')
    skill(skills, 'drawing', 'Draws diagrams of a database.')
    one = [f for f in findings(home) if 'pnpm' in f['quote']][0]
    assert one['matched_skill'] == {'name': 'packages', 'path': path, 'confidence': 'medium', 'shared_words': ['npm', 'pnpm']}
    told = ask(home, 'propose', one['finding'], '--format', 'json').json()
    assert (told['what'], told['name']) == ('addition', 'packages') and not told['text'].startswith('---')
    assert ask(home, 'propose', one['finding'], '--new', '--format', 'json').json()['what'] == 'skill'
    # Written behind what the file holds, and only when told to.
    before = open(path, encoding='utf-8').read()
    refused = home.run('propose', one['finding'], '--write', path, program=skill_gap_finder)
    assert refused.rc == 1 and '--force' in refused.err and open(path, encoding='utf-8').read() == before
    ask(home, 'propose', one['finding'], '--write', path, '--force')
    after = open(path, encoding='utf-8').read()
    assert after.startswith(before.rstrip('\n')) and PNPM[0] in after
    # Another project's skill is none for this one.
    os.rename(path, path + '.away')
    put = skill(tmp_path / 'other' / '.claude' / 'skills', 'packages', 'Which package manager to use: pnpm, never npm.')
    Story(home, 'elsewhere', 0, cwd=str(tmp_path / 'other'), folder='-other').user('hello').write()
    (other,) = [f for f in findings(home) if 'pnpm' in f['quote']]
    assert other['matched_skill'] is None and os.path.exists(put)
    # A Chinese description is read by its characters.
    skill(skills, 'tests', '说明测试文件怎么写，哪些测试文件不能改动')
    (chinese,) = [f for f in findings(home) if '测试文件' in f['quote']]
    assert (chinese['matched_skill']['name'], chinese['matched_skill']['confidence']) == ('tests', 'high')
    # Where no skill speaks of it, there is none to add to.
    assert [f for f in findings(home) if f['kind'] == 'error'][0]['matched_skill'] is None


def test_an_outline_holds_only_what_was_found(home, tmp_path):
    name = findings(home)[0]['finding']
    target = tmp_path / 'skills'
    target.mkdir()
    ask(home, 'propose', name)
    assert os.listdir(str(target)) == []
    ask(home, 'propose', name, '--write', str(target))
    (folder,) = os.listdir(str(target))
    text = open(os.path.join(str(target), folder, 'SKILL.md'), encoding='utf-8').read()
    assert re.match(r'---\nname: %s\ndescription: >-\n  Use when a command fails with: ModuleNotFoundError' % folder, text)
    assert 'pip install requests' in text and '%s:3, 2026-03-02, /home/dev/app' % home.sid('p4') in text and '5 times in 5 sessions' in text
    again = home.run('propose', name, '--write', os.path.join(str(target), folder, 'SKILL.md'), program=skill_gap_finder)
    assert again.rc == 1 and 'exists' in again.err
    assert home.run('propose', 'nosuch', program=skill_gap_finder).rc == 1
    among = home.run('propose', name, '--write', os.path.join(home.folder, '.claude', 'projects', '-home-dev-app'), program=skill_gap_finder)
    assert among.rc == 1 and 'transcripts' in among.err and among.out == ''


# the rules by themselves

ERROR_LINES = {
    'the exception of a trace': (TRACE % (1, 2), "ModuleNotFoundError: No module named 'requests'"),
    'behind the exit code': ('Exit code 2\nmake: *** No rule to make target x. Error 2', 'make: *** No rule to make target x. Error 2'),
    'the first line that tells': ('compiling\nsrc/a.c:3: error: expected ;\nfailed', 'src/a.c:3: error: expected ;'),
    'Chinese': ('正在连接\n连接数据库失败：超时', '连接数据库失败：超时'),
    'a number of the system': ('connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 127.0.0.1:5432'),
    'one line without such a word': ('the lamp is out', 'the lamp is out'),
    'tests that fail': ('collected 3\nFAILED tests/a.py::b - AssertionError: 1\n1 failed, 2 passed in 1s', ''),
    'output without a word of failure': ('a b c\nd e f', ''),
    'a file name is no error': ('-rw-r--r-- 1 src/error.py\n-rw-r--r-- 1 b.py', ''),
    'only a code': ('Exit code 1', ''),
    'nothing': ('', ''),
}


@pytest.mark.parametrize('name', sorted(ERROR_LINES))
def test_error_line(name):
    text, wanted = ERROR_LINES[name]
    assert pains.error_line(text) == wanted


STEPS = {
    'cd x && FOO=1 npm run build | tail -3; python3 -m pytest -q tests && git commit -m "x y"': ['npm run build', 'pytest', 'git commit'],
    'ls; cat a | grep b; cd c': [], 'terraform plan -out x': ['terraform plan'], 'cat > a <<EOF\nrm b\nEOF': [], '': [], '&& ||': [],
    'uv run pytest -q': ['uv run pytest'], 'docker compose up -d': ['docker compose up'],
}


@pytest.mark.parametrize('line', sorted(STEPS))
def test_steps(line):
    assert routines.steps(line) == STEPS[line]


def test_chance_makes_no_sequence():
    """Commands in random order bring the same three in a row many times; only what comes more often is told."""
    own = {'/p': dict(('c%d' % n, 1000) for n in range(8))}
    names = ('c1', 'c2', 'c3')
    expected = routines._expected(names, own)
    assert expected == pytest.approx(8000 / 512.0)
    assert not routines._beyond_chance(30, expected, 512) and routines._beyond_chance(60, expected, 512)


def test_words_and_likeness():
    assert likeness.words('Changing the tests') == ['chang', 'the', 'test'] and likeness.words('测试文件') == ['测试', '试文', '文件']
    weights = likeness.Weights([likeness.words(text) for text in PNPM + TESTS])
    one, other = (frozenset(likeness.words(text)) for text in PNPM[:2])
    assert likeness.alike(one, one, weights) == 1.0 and likeness.alike(one, frozenset(likeness.words(TESTS[0])), weights) == 0.0
    assert 0.0 < likeness.alike(one, other, weights) == likeness.alike(other, one, weights) < 1.0


def test_substance_of_a_correction():
    for text, wanted in (('No, use pnpm', ', use pnpm'), ("That's not what I meant. Use tabs", '. Use tabs'), ('不对，测试文件不要动', '，测试文件不要动')):
        assert asks._substance(text, kind_of(text)) == wanted
