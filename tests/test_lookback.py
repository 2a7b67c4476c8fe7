"""errors, touched, decisions: what failed and what helped, who edited a file and why, what was decided."""
import pytest

import small
from echolib.insights.lookback import call_kind, normalise, program
from recalling import Recall
from story import Story

REFUSED = ("The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT "
           'written to the file). To tell you how to proceed, the user said:\nuse redis instead')
MISSING = 'ModuleNotFoundError: No module named requests (line %d, pid %d, /tmp/run-%d/x.py)'


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    home = Recall(tmp_path_factory.mktemp('lookback'))
    first = Story(home, 'first').user('run the tests')
    first.bash('cd /home/dev/app && pytest -q', MISSING % (12, 4711, 3), True)
    first.say('The package is missing.').bash('pip install requests').bash('pytest -q tests', '12 passed')
    first.bash('pytest -q', MISSING % (99, 1, 8), True)
    first.bash('make deploy', 'make: *** No rule to make target deploy', True)
    first.edit('/home/dev/app/src/app.py', 'String to replace not found', True)
    first.user('now rename the retry helper').edit('/home/dev/app/src/app.py').edit('/home/dev/app/src/app.py')
    first.edit('/home/dev/app/docs/app.py', tool='Write').call('Read', {'file_path': '/home/dev/app/src/app.py'}, 'text')
    first.user('and the workflow').edit('/home/dev/app/.github/workflows/ci.yml')
    first.user('never mind').edit('/home/dev/app/src/never.py', REFUSED, True)
    first.write()
    second = Story(home, 'second', 600).user('deploy it')
    second.bash('make deploy ENV=prod', 'deployed')
    second.call('AskUserQuestion', {'questions': [{'question': 'Which database?', 'header': 'DB', 'multiSelect': False, 'options': [
        {'label': 'Postgres', 'description': 'big'}, {'label': 'SQLite', 'description': 'small'}]}]},
        'User has answered your questions: "Which database?"="SQLite, but with a nightly vacuum". You can now continue')
    second.call('ExitPlanMode', {'plan': '1. add a cache\n2. test it'}, REFUSED, True)
    second.call('ExitPlanMode', {'plan': '1. add redis'}, 'User has approved your plan. You can now start coding.')
    second.user('touch app again').edit('/home/dev/app/src/app.py', tool='MultiEdit')
    second.write()
    other = Story(home, 'other', 1200, cwd='/home/dev/site', folder='-home-dev-site').user('build the site')
    other.bash('make deploy', 'make: *** No rule to make target deploy', True)
    for number in range(700):
        other.bash('npm run build', 'npm ERR! build %d failed' % number, True)
    other.write()
    return home


def errors(home, *words, **env):
    got = home.run('errors', '--format', 'json', *words, **env)
    assert got.rc == 0, got
    return got.json()['errors']


APP = ('--scope', '/home/dev/app')


# what makes two errors, and two calls, the same

def test_normalise():
    assert normalise(MISSING % (12, 4711, 3)) == normalise(MISSING % (99, 1, 8)) != normalise('ModuleNotFoundError: No module named numpy')
    same = ('fatal: bad object 30a6b4d5422dd50 in /home/ann/app/x.py at 2026-03-01T10:00:00Z id 5b8f0a2e-1c3d-4e5f-8a9b-0c1d2e3f4a5b 0x7ffe',
            'FATAL: bad object 9f86c12aa01 in /srv/build/deep/y.py at 2026-04-02 11:30:12Z id 00000000-1111-2222-3333-444444444444 0xdead')
    assert normalise(same[0]) == normalise(same[1])
    assert normalise('Exit code 1\n\n\tfailed  here') == 'exit code N failed here'
    assert len(normalise('word ' * 5000)) <= 300 and normalise('') == ''


def test_program():
    for command, wanted in (('pytest -q', 'pytest'), ('cd /x && pytest -q', 'pytest'), ('FOO=1 BAR=2 make all', 'make'), ('sudo apt install x', 'apt'),
                            ('python3 -m pytest', 'pytest'), ('/usr/bin/git status', 'git'), ('npm run build', 'build'), ('timeout 60 cargo test', 'cargo'),
                            ('cd /x', 'cd'), ('', ''), ('a; b', 'a')):
        assert program(command) == wanted, command


def test_call_kind():
    assert call_kind('Bash', {'command': 'cd x && pytest'}) == ('Bash', 'pytest')
    assert call_kind('shell', {'command': ['bash', '-lc', 'ls']})[0] == 'shell'
    assert call_kind('Edit', {'file_path': '/a/b.py'}) == ('Edit', '/a/b.py') != call_kind('Edit', {'file_path': '/a/c.py'})
    assert call_kind('TodoWrite', {'todos': []}) == ('TodoWrite', '') == call_kind('TodoWrite', None)


# errors

def test_errors_with_what_came_after(home):
    found = errors(home, *APP)
    assert [(e['tool'], e['count']) for e in found] == [('Edit', 1), ('Bash', 1), ('Bash', 2)]
    edit, deploy, module = found
    assert edit['error'] == 'String to replace not found' and edit['fix']['place'] == 'session'
    assert edit['fix']['ref'].startswith(home.sid('first') + ':') and edit['fix']['input'].startswith('/home/dev/app/src/app.py')
    # The newest time has no remedy behind it; an earlier one has.
    assert module['input'] == 'pytest -q' and 'pid 1,' in module['error']
    assert module['fix']['place'] == 'earlier' and module['fix']['input'] == 'pytest -q tests' and module['reply'] == 'The package is missing.'
    # Another session of the same project knew how; other projects are not asked.
    assert deploy['fix']['place'] == 'project' and deploy['fix']['input'] == 'make deploy ENV=prod'
    assert deploy['fix']['ref'].startswith(home.sid('second') + ':')
    assert errors(home, 'deploy', '--scope', '/home/dev/site')[0]['fix'] is None


def test_a_refusal_is_no_error(home):
    assert not [e for e in errors(home, '--limit', '0') if 'proceed' in e['error'] or e['tool'] == 'ExitPlanMode']


def test_errors_by_words(home):
    assert [e['input'] for e in errors(home, 'No module named')] == ['pytest -q']
    # Pasted with other numbers and paths.
    assert errors(home, MISSING % (5, 77, 1))[0]['count'] == 2
    # The newest of two that are alike stands for both.
    assert [(e['project_path'], e['count']) for e in errors(home, 'deploy')] == [('/home/dev/site', 2)]
    assert errors(home, 'xyzzy') == []
    got = home.run('errors', 'xyzzy')
    assert got.rc == 0 and got.out.startswith('No past error matches.')


def test_the_same_error_is_one_however_often(home):
    found = errors(home, '--scope', '/home/dev/site', '--limit', '0')
    assert sorted((e['input'], e['count']) for e in found) == [('make deploy', 1), ('npm run build', 700)]


def test_errors_of_one_project_are_not_lost_among_newer_ones_of_another(home):
    assert len(errors(home, '--limit', '2', *APP)) == 2 and len(errors(home, '--limit', '1', *APP)) == 1
    assert ['pid 4711' in e['error'] for e in errors(home, '--until', '2026-03-02T10:00:10')] == [True]
    assert errors(home, '--until', '2026-03-01') == [] and errors(home, '--agent', 'codex') == []


# touched

def touched(home, *words):
    got = home.run('touched', '--format', 'json', *words)
    assert got.rc == 0, got
    return [(home.name(t['session_id']), t['what'], t['path'], t['prompt']) for t in got.json()['touched']]


def test_touched_names_the_prompt_that_led_to_it(home):
    path = '/home/dev/app/src/app.py'
    wanted = [('second', 'edit', path, 'touch app again'), ('first', 'edit', path, 'now rename the retry helper')]
    # Once a prompt; not where the edit failed, nor where the file was only read.
    for asked in (path, 'src/app.py', './src/app.py', 'src\\app.py'):
        assert touched(home, asked) == wanted, asked
    assert touched(home, 'app.py') == [wanted[0], ('first', 'write', '/home/dev/app/docs/app.py', 'now rename the retry helper'), wanted[1]]
    assert touched(home, 'app.py', '--limit', '1') == wanted[:1]
    got = home.run('touched', 'app.py', '--format', 'json').json()['touched'][0]
    assert home.run('show', got['prompt_ref'], '--context', '0').out.count('touch app again') == 1
    assert got['ref'].startswith(home.sid('second') + ':')


def test_touched_by_what_was_meant(home):
    assert [t[3] for t in touched(home, '.github/workflows/ci.yml')] == ['and the workflow'] == [t[3] for t in touched(home, 'ci.yml')]
    # Declined, part of a name, another folder, nothing.
    for path in ('never.py', 'pp.py', 'test/app.py', 'nope.py', '***'):
        assert touched(home, path) == [], path
    assert 'No session edited or wrote nope.py.' in home.run('touched', 'nope.py').out


# decisions

def decisions(home, *words):
    got = home.run('decisions', '--format', 'json', *words)
    assert got.rc == 0, got
    return [(d['kind'], d['question'], d['answer']) for d in got.json()['decisions']]


def test_decisions_with_their_answers(home):
    found = decisions(home)
    assert [(kind, question) for kind, question, _ in found] == [
        ('plan', '1. add redis'), ('plan', '1. add a cache\n2. test it'), ('question', 'Which database? [Postgres | SQLite]')]
    assert found[0][2].startswith('User has approved your plan') and found[1][2].startswith('declined: ') and found[1][2].endswith('use redis instead')
    assert '"SQLite, but with a nightly vacuum"' in found[2][2]
    assert len(decisions(home, '--limit', '1')) == 1


def test_decisions_by_words_of_question_or_answer(home):
    assert [kind for kind, _, _ in decisions(home, 'database')] == ['question'] == [kind for kind, _, _ in decisions(home, 'Postgres')]
    # Words of the answer alone, and of both.
    assert [q for _, q, _ in decisions(home, 'vacuum')] == ['Which database? [Postgres | SQLite]'] == [q for _, q, _ in decisions(home, 'nightly sqlite')]
    assert [q for _, q, _ in decisions(home, 'redis')] == ['1. add redis', '1. add a cache\n2. test it']
    assert decisions(home, 'xyzzy') == [] and decisions(home, '--scope', '/home/dev/site') == []
    assert home.run('decisions', 'xyzzy').out.startswith('No question to the person matches.')


def test_a_file_is_found_in_either_spelling(tmp_path):
    home = Recall(tmp_path)
    Story(home, 'first').user('fix it').edit('/home/dev/app/cafe\u0301.py').write()
    assert touched(home, 'caf\u00e9.py') == touched(home, 'cafe\u0301.py') == [('first', 'edit', '/home/dev/app/cafe\u0301.py', 'fix it')]


# copies

def test_a_fork_adds_nothing(tmp_path):
    home = Recall(tmp_path)
    story = Story(home, 'first').user('fix it').bash('make', 'make: *** broken', True).edit('/home/dev/app/a.py')
    story.call('ExitPlanMode', {'plan': 'the plan'}, 'User has approved your plan.')
    story.write()
    fork = home.sid('fork')
    home.say('fork', *([dict(r, sessionId=fork, forkedFrom={'sessionId': story.sid, 'messageUuid': r['uuid']}) for r in story.records]
                       + [small.user('go on', 900, 100, sid=fork)]))
    assert [(home.name(e['session_id']), e['count']) for e in errors(home)] == [('first', 1)]
    assert touched(home, 'a.py') == [('first', 'edit', '/home/dev/app/a.py', 'fix it')]
    decided = home.run('decisions', '--format', 'json').json()['decisions']
    assert [home.name(one['session_id']) for one in decided] == ['first']


# text and tables

@pytest.mark.parametrize('command', [('errors',), ('touched', 'app.py'), ('decisions',)])
def test_text_and_tables(home, command):
    got = home.run(*command)
    lines = got.out.splitlines()
    assert lines[0].startswith('<recalled-history ') and lines[-2] == '</recalled-history>' and lines[-1].startswith('Read on: sd-recall.py show ')
    assert got.out.count('</recalled-history>') == 1 and len(got.out) < 8000
    assert home.run(*lines[-1].split('sd-recall.py ')[1].split()).rc == 0
    rows = home.run(*(command + ('--format', 'tsv'))).out.splitlines()
    assert rows[0].startswith('REF\tDATE\t') and len(rows) > 1 and set(row.count('\t') for row in rows) == {rows[0].count('\t')}


def test_where_it_worked_is_said(home):
    got = home.run('errors', *APP).out
    assert '  worked elsewhere in the project (%s:' % home.sid('second')[:8] in got and '  Bash (2 times): pytest -q' in got
    assert '  no later call of this kind worked' in home.run('errors', 'deploy', '--scope', '/home/dev/site').out


def test_results_that_stand_before_their_call(tmp_path):
    """As 2.1.90 to 2.1.149 wrote some of them."""
    home = Recall(tmp_path)
    story = Story(home, 'first').user('fix it').edit('/home/dev/app/a.py', 'no such text', True).edit('/home/dev/app/a.py')
    story.edit('/home/dev/app/never.py', REFUSED, True, tool='Write').call('ExitPlanMode', {'plan': 'the plan'}, 'User has approved your plan.')
    rows = story.records
    story.records = rows[:1] + [row for at in range(1, len(rows), 2) for row in (rows[at + 1], rows[at])]
    story.write()
    found = errors(home)
    assert [(one['tool'], one['fix']['place']) for one in found] == [('Edit', 'session')]
    assert touched(home, 'never.py') == [] and touched(home, 'a.py') == [('first', 'edit', '/home/dev/app/a.py', 'fix it')]
    assert [one['answer'] for one in home.run('decisions', '--format', 'json').json()['decisions']] == ['User has approved your plan.']


def test_one_error_that_comes_all_the_time_hides_no_other(home):
    site = ('--scope', '/home/dev/site')
    assert [one['count'] for one in errors(home, *site)] == [700, 1]
    assert [one['count'] for one in errors(home, '--limit', '1', *site)] == [700]


def test_what_was_appended_twice_happened_once(tmp_path):
    home = Recall(tmp_path)
    story = Story(home, 'first').user('fix it').bash('make', 'make: *** broken', True).edit('/home/dev/app/a.py')
    story.records += story.records
    story.write()
    assert [(one['count'], one['ref']) for one in errors(home)] == [(1, story.sid + ':3')]
    assert touched(home, 'a.py') == [('first', 'edit', '/home/dev/app/a.py', 'fix it')]


def test_what_helped_in_a_subagent_helped_in_the_session(tmp_path):
    home = Recall(tmp_path)
    story = Story(home, 'first').user('fix it').bash('make deploy', 'make: *** broken', True)
    story.write()
    rows = home.call('Bash', {'command': 'make deploy'}, 'deployed', sid=story.sid, time=60, isSidechain=True, agentId='a1b2c3d')
    small.write(tmp_path, rows, story.sid, name=story.sid + '/subagents/agent-a1b2c3d.jsonl')
    fix = errors(home)[0]['fix']
    assert (fix['place'], fix['ref']) == ('session', story.sid + '/a1b2c3d:1')


def test_a_refused_edit_is_no_error_of_the_file(home):
    rows = home.run('files', home.sid('first'), '--format', 'json').json()['files']
    assert dict((row['path'], row['errors']) for row in rows)['/home/dev/app/src/never.py'] == 0


# sessions that grow side by side

def test_a_call_and_its_result_belong_together_however_much_others_said_between(tmp_path):
    home = Recall(tmp_path)
    story = Story(home, 'first').user('fix it').bash('make', 'make: *** broken', True).bash('make', 'done')
    story.edit('/home/dev/app/a.py', 'no such text', True).edit('/home/dev/app/b.py')
    records = story.records
    for count in range(1, len(records) + 1):
        story.records = records[:count]
        story.write()
        busy = Story(home, 'busy%d' % count, cwd='/home/dev/site', folder='-home-dev-site')
        for _ in range(70):
            busy.user('meanwhile').say('well')
        busy.write()
        home.search('meanwhile')
    found = errors(home, 'broken')
    assert [(one['tool'], one['input'], one['fix']['input'], one['fix']['place']) for one in found] == [('Bash', 'make', 'make', 'session')]
    assert touched(home, 'a.py') == [] and touched(home, 'b.py') == [('first', 'edit', '/home/dev/app/b.py', 'fix it')]
