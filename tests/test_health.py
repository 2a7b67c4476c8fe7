"""environments and doctor: what there is, how well it was read, what will be lost."""
import json
import os
import time

import pytest

from helpers import call_script
from small import OTHER, SID, answer, row, text, user, write

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path):
    """Two clients; one damaged line, two records nobody knows."""
    write(tmp_path, [user('one', 1, 0), answer([text('a')], 2, 1), row('hologram', 3, 2), b'{"type":"user","message":\n', row('hologram', 4, 3)])
    write(tmp_path, [user('two', 5, 0, sid=OTHER, version='1.0.128')], OTHER)
    return tmp_path


def doctor(home, *args, **env):
    got = call_script('sd-recall', 'doctor', '--format', 'json', *args, home=home, **env)
    assert got.rc == 0, got
    return got.json()


# environments

def test_environments_names_every_root(home):
    got = call_script('sd-recall', 'environments', '--format', 'json', home=home)
    assert (got.rc, got.err) == (0, '')
    rows = [r for r in got.json()['environments'] if r['agent'] == 'claude']
    assert [(r['found'], r['sessions'], r['files'], r['readable']) for r in rows] == [(True, 2, 2, True), (False, 0, 0, False)]
    assert rows[0]['root'] == os.path.join(str(home), '.claude') and rows[1]['reason'] == 'not there'
    size = sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(str(home)) for name in names)
    assert rows[0]['bytes'] == size
    stores = dict((s['store'], s) for s in rows[0]['stores'])
    assert stores['claude.projects_jsonl.v1']['present'] and not stores['claude.history_jsonl.v1']['present']
    assert not any(s['present'] for s in rows[1]['stores'])


def test_environments_as_text_and_table(home):
    got = call_script('sd-recall', 'environments', home=home)
    assert got.rc == 0 and '2 sessions, 2 files' in got.out and len(got.out) < 8000
    lines = call_script('sd-recall', 'environments', '--format', 'tsv', home=home).out.splitlines()
    assert lines[0].split('\t')[:3] == ['AGENT', 'ROOT', 'FOUND'] and set(line.count('\t') for line in lines) == {7}
    lines = call_script('sd-recall', 'environments', '--stores', '--format', 'tsv', home=home).out.splitlines()
    assert set(line.count('\t') for line in lines) == {6} and len(lines) > 10
    got = call_script('sd-recall', 'environments', '--stores', home=home)
    assert 'not read' in got.out and len(got.out) < 8000
    got = call_script('sd-recall', 'environments', '--agent', 'clade', home=home)
    assert got.rc == 2 and 'did you mean claude' in got.err


def test_a_file_where_a_root_should_be(tmp_path):
    (tmp_path / '.claude').write_text('x', encoding='utf-8')
    rows = call_script('sd-recall', 'environments', '--format', 'json', '--agent', 'claude', home=tmp_path).json()['environments']
    assert [r['reason'] for r in rows] == ['a file, not a folder', 'not there']


# doctor

def test_coverage_by_client(home):
    data = doctor(home)
    assert [(r['version'], r['sessions'], r['lines'], r['parse_errors'], r['unknown_records']) for r in data['coverage']] == [
        ('2.1.112', 1, 5, 1, 2), ('1.0.128', 1, 1, 0, 0)]
    path = os.path.join(str(home), '.claude', 'projects', '-home-dev-app', SID + '.jsonl')
    assert [text.rsplit(': ', 1)[0] for text in data['damaged']] == [path + ':4']
    assert data['unknown'] == [{'agent': 'claude', 'reason': 'record type hologram', 'count': 2, 'places': [path + ':3', path + ':5']}]
    assert data['index']['up_to_date'] is True and data['index']['sessions'] == 2 and data['index']['bytes'] > 0
    assert data['python']['sqlite'] and data['python']['version'].startswith('3.')


def test_text_names_damage_and_ends_with_the_next_step(home):
    got = call_script('sd-recall', 'doctor', home=home)
    assert (got.rc, got.err) == (0, '')
    assert '%s.jsonl:4: ' % SID in got.out and '2x record type hologram, as in' in got.out
    assert got.out.splitlines()[-1].startswith('One session: sd-recall.py schema')
    rows = call_script('sd-recall', 'doctor', '--format', 'tsv', home=home).out.splitlines()
    assert set(line.count('\t') for line in rows) == {6} and len(rows) == 3


def test_text_is_short_on_a_broken_home(tmp_path):
    for number in range(120):
        sid = '%08x-0001-4001-8001-000000000001' % number
        write(tmp_path, [user('x', 1, 0, sid=sid, version='2.%d.0' % number), b'broken %d\n' % number, row('odd-%d' % number, 2, 1, sid=sid)] +
              [user('x', 3, '2127-05-05T10:00:00Z', sid=sid)], sid, '-' + 'very-long-name-' * 10)
    got = call_script('sd-recall', 'doctor', home=tmp_path)
    assert got.rc == 0 and len(got.out) < 8000
    assert 'damaged lines: 120' in got.out and 'dated after this clock: 120' in got.out and 'more (--limit 0)' in got.out
    assert len(call_script('sd-recall', 'doctor', '--limit', '0', home=tmp_path).out) > 20000
    data = doctor(tmp_path)
    assert len(data['damaged']) == len(data['unknown']) == data['future_sessions'] == len(data['future']) == 120


def test_what_the_cleanup_takes(home):
    old = time.time() - 25 * 86400
    path = os.path.join(str(home), '.claude', 'projects', '-home-dev-app', SID + '.jsonl')
    os.utime(path, (old, old))
    data = doctor(home)
    rule = data['cleanup'][0]
    assert (rule['days'], rule['named'], rule['archived'], rule['sessions'], rule['files']) == (30, False, True, 1, 1)
    assert rule['first'][:10] == time.strftime('%Y-%m-%d', time.gmtime(old + 30 * 86400))
    got = call_script('sd-recall', 'doctor', home=home).out
    assert 'within seven days: 1 session (1 file, ' in got and 'from %s on' % rule['first'][:10] in got
    # A period that the person set: nothing is archived, and the advice says how.
    with open(os.path.join(str(home), '.claude', 'settings.json'), 'w', encoding='utf-8') as out:
        json.dump({'cleanupPeriodDays': 20}, out)
    data = doctor(home)
    assert (data['cleanup'][0]['days'], data['cleanup'][0]['named'], data['archive']['on']) == (20, True, False)
    assert 'no copies are kept' in call_script('sd-recall', 'doctor', home=home).out
    assert doctor(home, SESSION_DIGGER_ARCHIVE='1')['archive']['on'] is True
    assert 'none within seven days' in call_script('sd-recall', 'doctor', home=home).out or data['cleanup'][0]['files'] == 1


def test_without_an_index(home, tmp_path):
    blocked = tmp_path / 'file'
    blocked.write_text('x', encoding='utf-8')
    data = doctor(home, SESSION_DIGGER_DATA_DIR=str(blocked / 'data'))
    assert data['index']['state'] == 'none' and data['index']['reason'] and not data['index']['up_to_date']
    assert data['coverage'] == doctor(home)['coverage']
    got = call_script('sd-recall', 'doctor', home=home, SESSION_DIGGER_DATA_DIR=str(blocked / 'data'))
    assert got.rc == 0 and got.out.startswith('index: none (')


def test_an_index_that_is_behind(home):
    doctor(home)
    write(home, [user('three', 9, 0)], '0c0c0c0c-0003-4003-8003-000000000003')
    assert doctor(home, '--no-refresh')['index']['up_to_date'] is False
    assert 'not up to date' in call_script('sd-recall', 'doctor', '--no-refresh', home=home).out
    assert doctor(home)['index']['up_to_date'] is True


@pytest.mark.skipif(not hasattr(os, 'geteuid') or os.geteuid() == 0, reason='root may read everything')
def test_folders_that_cannot_be_listed(home):
    folder = os.path.join(str(home), '.claude', 'projects', '-home-dev-app')
    os.chmod(folder, 0)
    try:
        data = doctor(home)
        rows = call_script('sd-recall', 'environments', '--format', 'json', home=home).json()['environments']
    finally:
        os.chmod(folder, 0o700)
    assert data['unreadable_dirs'] == 1 and data['unreadable_folders'][0]['path'] == folder
    assert not rows[0]['readable'] and folder in rows[0]['reason']


def test_what_only_the_prompt_history_knows(tmp_path):
    """Three prompts of two sessions that are gone, and one of a session that is there."""
    write(tmp_path, [user('still here', 1, 0)])
    with open(str(tmp_path / '.claude' / 'history.jsonl'), 'w', encoding='utf-8') as out:
        for session, text in ((SID, 'still here'), ('gone-1', 'kiwi'), ('gone-1', 'kiwi again'), ('gone-2', 'fig')):
            out.write(json.dumps({'display': text, 'timestamp': 1772442000000, 'project': '/home/dev/app', 'sessionId': session}) + '\n')
    data = doctor(tmp_path)
    assert (data['history_only_prompts'], data['history_only_sessions']) == (3, 2)
    assert 'gone, but for their prompts (search finds them): 2 sessions, 3 prompts' in call_script('sd-recall', 'doctor', home=tmp_path).out
