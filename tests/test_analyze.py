"""session-stats, analyze-session and anomalies of sessions whose trouble is known line by line; themes by skill."""
import os
import shutil
import subprocess

import pytest

import small
from echolib.cli import analyze_session, index_builder, trend_engine
from helpers import ROOT, environment
from recalling import Recall

ORDER = [{'type': 'text', 'text': 'ok'}]


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    """A home with one session full of trouble ('bad') and a quiet one ('good')."""
    made = Recall(tmp_path_factory.mktemp('analyze'))

    def fails(command, time, said='Exit code 1\nboom'):
        return made.call('Bash', {'command': command}, said, True, time=time)

    def says(text, time):
        made.rows += 1
        return [small.user(text, made.rows, time)]

    steps = says('Make the importer faster', 0)                                   # line 1
    for number in range(4):                                                       # lines 2-9: a retry loop
        steps += fails('python3 tools/load.py --batch %d' % number, 10 * number + 10)
    steps += made.call('Bash', {'command': 'python3 tools/load.py --slow'}, 'ok', time=60)   # 10, 11: what helped
    steps += says('no, keep the batch size as it is, and never touch the schema', 90)        # 12
    for number in range(3):                                                       # 13-18: tests that fail, an edit between
        steps += fails('cd app && npx vitest run tests/load.test.ts', 100 + 20 * number, 'Exit code 1\n1 failed')
        if number < 2:
            steps += made.call('Edit', {'file_path': '/p/load.ts', 'old_string': 'a%d' % number, 'new_string': 'b'}, 'ok', time=110 + 20 * number)
    steps += made.call('Skill', {'skill': 'pdf'}, 'ok', time=200)                 # 23, 24
    for number in range(6):                                                       # 25-36: read again and again
        steps += made.call('Read', {'file_path': '/p/api.ts'}, 'text', time=210 + number)
    steps += says('still failing', 300) + says('stop', 310) + [small.answer(ORDER, 900, 2000, 'msg_last')]
    made.bad = made.say('bad', *steps)
    made.good = made.say('good', 'Hello there', ORDER, start=5)
    return made


def json_of(home, program, *argv):
    got = home.run(*(argv + ('--format', 'json')), program=program)
    assert got.rc == 0, got
    return got.json()


def lines(refs, sid):
    """-> line numbers of references, all of this session."""
    assert all(ref.startswith(sid + ':') for ref in refs)
    return [int(ref.rsplit(':', 1)[1]) for ref in refs]


def test_session_stats(home):
    data = home.run('session-stats', home.bad, '--format', 'json').json()
    assert (data['test_fail_streak'], data['test_runs'], data['redundant_reads'], data['repeated_calls']) == (3, {'runs': 3, 'failed': 3}, 4, 5)
    assert [(run['tool'], run['command'], run['calls'], lines(run['refs'], home.bad)) for run in data['retry_loops']] == [
        ('Bash', 'python3', 4, [2, 4, 6, 8]), ('Bash', 'vitest', 3, [13, 17, 21])]
    assert data['reread_files'] == [{'path': '/p/api.ts', 'reads': 6}]
    assert (data['correction_turns'], lines(data['correction_refs'], home.bad)) == (3, [12, 37, 38])
    assert data['files'] == {'/p/api.ts': {'reads': 6, 'edits': 0, 'writes': 0}, '/p/load.ts': {'reads': 0, 'edits': 2, 'writes': 0}}
    assert data['commands'] == {'python3': {'calls': 5, 'errors': 4}, 'vitest': {'calls': 3, 'errors': 3}}
    assert (data['skills']['pdf']['calls'], data['skills']['pdf']['turns'], data['skills']['pdf']['errors']) == (1, 1, 0)
    assert data['permission_modes'] == {'default': 4}
    text = home.run('session-stats', home.bad).out
    assert '2 retry loops (longest 4)' in text and 'tests failed 3 times in a row' in text and '4 needless readings' in text
    quiet = home.run('session-stats', home.good).out
    assert 'trouble' not in quiet and 'retry' not in quiet


def test_turns_are_printed_one_by_one_only_so_far(home, monkeypatch):
    from echolib.cli import session_stats
    whole = home.run('session-stats', home.bad, '--format', 'json').json()
    depths = whole['turn_depths']
    assert len(depths) == 4 and whole['turn_depths_left_out'] == 0
    assert whole['turn_depth'] == {'mean': sum(depths) / 4.0, 'most': max(depths)}
    monkeypatch.setattr(session_stats, '_DEPTHS', 3)
    cut = home.run('session-stats', home.bad, '--format', 'json').json()
    assert (cut['turn_depths'], cut['turn_depths_left_out'], cut['turn_depth']) == (depths[:3], 1, whole['turn_depth'])


def test_one_session_analysed(home):
    data = json_of(home, analyze_session, home.bad)
    assert [(one['kind'], lines([one['ref']], home.bad)) for one in data['corrections']] == [('wrong', [12]), ('broken', [37]), ('stop', [38])]
    assert {one['tool']: (one['calls'], one['errors']) for one in data['errors_by_tool']} == {'Bash': (8, 7)}
    assert data['retry_loops'][0]['error'].startswith('Exit code 1')
    rules = data['candidate_rules']
    assert [rule['kind'] for rule in rules] == ['command', 'correction']
    assert rules[0]['quote'] == 'python3 tools/load.py --slow' and rules[0]['failed'] == 'python3 tools/load.py --batch 3' and lines(rules[0]['refs'], home.bad) == [8, 10]
    assert rules[1]['quote'] == 'no, keep the batch size as it is, and never touch the schema' and lines(rules[1]['refs'], home.bad) == [12]
    assert sum(one['known_cost_usd'] for one in data['dearest_turns']) == pytest.approx(data['known_cost_usd'])
    assert data['dearest_turns'] == sorted(data['dearest_turns'], key=lambda one: -one['known_cost_usd'])
    stats = home.run('session-stats', home.bad, '--format', 'json').json()
    for key in ('user_prompts', 'tool_calls', 'tool_errors', 'tokens', 'cost_usd', 'active_ms', 'idle_ms', 'redundant_reads', 'first_prompt_tokens'):
        assert data[key] == stats[key], key


def test_in_text_and_table(home):
    text = home.run(home.bad, program=analyze_session)
    assert text.rc == 0 and len(text.out) < 8000
    for words in ('candidate rules', 'retry loops', 'tests that kept failing', '6 times: /p/api.ts', 'dearest turns'):
        assert words in text.out
    rows = home.run(home.bad, '--format', 'tsv', program=analyze_session).out.splitlines()
    assert rows[0] == 'KIND\tREF\tCOUNT\tWHAT\tTEXT' and set(len(row.split('\t')) for row in rows) == {5}
    assert 'Nothing went wrong' in home.run(home.good, program=analyze_session).out or 'dearest' in home.run(home.good, program=analyze_session).out


def test_a_file_that_lies_anywhere(home, tmp_path):
    found = json_of(home, analyze_session, home.bad)
    path = str(tmp_path / 'copy.jsonl')
    shutil.copy(found['full_path'], path)
    copied = json_of(home, analyze_session, path)
    assert copied['candidate_rules'][1]['quote'] == found['candidate_rules'][1]['quote']
    assert copied['tool_errors'] == found['tool_errors']


def test_all_sessions(home):
    data = json_of(home, analyze_session, '--all')
    assert [one['session_id'] for one in data['sessions']] == [home.bad, home.good]
    worst = data['sessions'][0]
    assert (worst['corrections'], worst['retry_loops'], worst['test_fail_streak'], worst['redundant_reads'], worst['tool_errors']) == (3, 2, 3, 4, 7)
    assert len(json_of(home, analyze_session, '--all', '--limit', '1')['sessions']) == 1
    assert json_of(home, analyze_session)['sessions'] == data['sessions']


@pytest.mark.parametrize('argv', [('--all', 'x'), ('--limit', 'x', 'y'), ('x', 'y')])
def test_wrong_arguments(home, argv):
    assert home.run(*argv, program=analyze_session).rc == 2


def test_unknown_session(home):
    got = home.run('ffffffff-0000', program=analyze_session)
    assert got.rc == 1 and 'no session' in got.err


def test_anomalies(home):
    data = json_of(home, index_builder, 'anomalies')
    found = dict((one['kind'], one) for one in data['anomalies'])
    assert set(one['session_id'] for one in data['anomalies']) == {home.bad}
    assert sorted(found) == ['corrections', 'failing-tests', 'repeats', 'rereading', 'retry-loop']
    assert (found['retry-loop']['count'], found['retry-loop']['command'], lines(found['retry-loop']['refs'], home.bad)) == (4, 'python3', [2, 4, 6, 8])
    assert found['retry-loop']['example']['input'] == 'python3 tools/load.py --batch 3' and 'boom' in found['retry-loop']['example']['error']
    assert (found['corrections']['count'], found['corrections']['of']) == (3, 4)
    assert lines(found['failing-tests']['refs'], home.bad) == [13, 17, 21]
    assert found['rereading']['count'] == 4
    assert data['by_kind']['errors'] == 0 and set(data['thresholds']) == set(data['by_kind'])
    only = json_of(home, index_builder, 'anomalies', '--kind', 'rereading')
    assert [one['kind'] for one in only['anomalies']] == ['rereading']
    assert home.run('anomalies', '--kind', 'rereadin', program=index_builder).rc == 2
    text = home.run('anomalies', '--limit', '2', program=index_builder).out
    assert '2 of 5 shown' in text


def test_themes_by_skill(home):
    rows = json_of(home, trend_engine, 'by-theme', '--group-by', 'skill')['rows']
    stats = home.run('session-stats', home.bad, '--format', 'json').json()['skills']['pdf']
    assert [(row['key'], row['calls'], row['errors'], row['turns']) for row in rows] == [('pdf', 1, 0, 1)]
    assert rows[0]['known_cost_usd'] == pytest.approx(stats['known_cost_usd'])


@pytest.mark.slow
@pytest.mark.skipif(os.name == 'nt', reason='a shell script')
def test_the_shell_wrapper(home):
    got = subprocess.run([os.path.join(ROOT, 'scripts', 'analyze-session.sh'), home.bad, '--format', 'json'], stdout=subprocess.PIPE, env=dict(
        environment(home.folder), PATH=os.environ['PATH']))
    assert got.returncode == 0 and home.bad.encode() in got.stdout


def test_prices_that_cannot_be_read_are_said_once(tmp_path):
    from echolib.cli import analyze_session, index_builder, sd_recall
    from helpers import environment
    from recalling import Recall
    home = Recall(tmp_path)
    home.say('s1', 'hello')
    folder = environment(home.folder)['SESSION_DIGGER_DATA_DIR']
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'pricing.json'), 'w', encoding='utf-8') as sheet:
        sheet.write('{"models": {')
    for program, words in ((index_builder, ['build']), (sd_recall, ['export', home.sid('s1')]), (analyze_session, [home.sid('s1')]), (sd_recall, ['session-stats', home.sid('s1')])):
        got = home.run(*words, program=program)
        assert got.rc == 0 and got.err.count('pricing.json') == 1, (words, got)
