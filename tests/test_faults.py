"""What may happen to an index: killed builders, deletions, damage, several writers, folders that cannot be used."""
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import helpers
from helpers import shared
from homes import Home
from test_growth import files_of, rebuilt
from test_growth import home  # noqa: F401  (a fixture)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILDER = os.path.join(ROOT, 'scripts', 'index-builder.py')
RECALL = os.path.join(ROOT, 'scripts', 'sd-recall.py')


def fill(home, copies=1):
    for name in ('claude-2.1.332', 'claude-2.0.77'):
        for path, lines in files_of(name).items():
            for number in range(copies):
                folder, _, rest = path.partition(os.sep)
                home.write(b''.join(lines), folder + ('-%d' % number if number else ''), rest)


def command(home, *argv):
    return subprocess.Popen([sys.executable] + list(argv), env=dict(os.environ), cwd=home.folder, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def search(home, word, *more):
    import json
    done = command(home, RECALL, 'search', word, '--format', 'json', '--limit', '0', *more)
    out, err = done.communicate()
    assert done.returncode == 0, err
    return json.loads(out.decode('utf-8'))


@pytest.mark.skipif(not hasattr(signal, 'SIGKILL'), reason='no SIGKILL on this platform')
@pytest.mark.parametrize('what', ['build', 'rebuild'])
def test_a_killed_build_loses_nothing_and_the_next_goes_on(home, what):
    fill(home, 4)
    if what == 'rebuild':
        home.build()
    for delay in (0.05, 0.15, 0.25, 0.35, 0.5, 0.7):
        process = command(home, BUILDER, 'build', *(['--rebuild'] if what == 'rebuild' else []))
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if what == 'rebuild':
            # The old index answers as before.
            assert search(home, 'rounding', '--no-refresh')['total_sessions'] >= 1
    assert search(home, 'rounding')['hits']
    home.build()
    after = home.state()
    assert after == rebuilt(home)
    assert not [n for n in os.listdir(home.data) if n.startswith('rebuild-')]


def bytes_left(home, words):
    found = []
    for base, _, names in os.walk(home.data):
        for name in names:
            with open(os.path.join(base, name), 'rb') as handle:
                data = handle.read().lower()
            found += [(name, word) for word in words if word in data]
    return found


@pytest.mark.parametrize('place', ['search', 'build'])
def test_after_a_deletion_no_byte_is_left(home, place):
    fill(home)
    line = (b'{"type":"user","uuid":"11111111-1111-4111-8111-00000000000%d","parentUuid":null,"sessionId":"dddd",'
            b'"cwd":"/home/dev/zanzibarproject","timestamp":"2026-11-30T10:00:00.000Z","version":"2.1.300",'
            b'"message":{"role":"user","content":"the quixotezebra word and wombatsecret %d"}}\n')
    title = b'{"type":"ai-title","aiTitle":"quaggatitle here","sessionId":"dddd"}\n'
    home.write(line % (1, 1) + title + line % (2, 2), '-home-dev-zanzibarproject', 'dddddddd-0000-4000-8000-000000000001.jsonl')
    words = [b'quixotezebra', b'wombatsecret', b'quaggatitle', b'zanzibarproject']
    home.build()
    assert search(home, 'quixotezebra')['total_sessions'] == 1
    assert bytes_left(home, words)
    os.unlink(home.path('-home-dev-zanzibarproject', 'dddddddd-0000-4000-8000-000000000001.jsonl'))
    os.rmdir(os.path.join(home.projects, '-home-dev-zanzibarproject'))
    if place == 'search':
        assert search(home, 'quixotezebra')['total_sessions'] == 0
    home.build()
    assert search(home, 'quixotezebra')['total_sessions'] == 0
    assert bytes_left(home, words) == []
    state = home.state()
    assert state == rebuilt(home)


def test_gone_sessions_are_kept_where_the_clean_up_took_them(home, monkeypatch):
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '1')
    fill(home)
    old = time.time() - 26 * 86400
    for path in glob.glob(os.path.join(home.projects, '**', '*.jsonl'), recursive=True):
        os.utime(path, (old, old))
    home.build()
    before = home.state()
    victim = next(p for p in sorted(glob.glob(os.path.join(home.projects, '*', '*.jsonl')))
                  if b'rounding half to even' in open(p, 'rb').read())
    os.unlink(victim)
    for step in ('build', 'rebuild', 'schema', 'damage'):
        if step == 'rebuild':
            assert command(home, BUILDER, 'build', '--rebuild').wait() == 0
        elif step == 'schema':
            db = sqlite3.connect(os.path.join(home.data, 'index.db'))
            db.execute("update meta set value = '0' where key = 'versions'")
            db.commit()
            db.close()
        elif step == 'damage':
            with open(os.path.join(home.data, 'index.db'), 'r+b') as handle:
                handle.write(b'garbage' * 100)
        else:
            home.build()
        answer = search(home, '"rounding half to even"')
        assert [h['gone'] for h in answer['hits'] if os.path.basename(victim)[:-6] == h['session_id']], step
        after = home.state()
        assert sorted(after['sessions']) == sorted(before['sessions'])
        assert all(after['sessions'][s]['tally'] == before['sessions'][s]['tally'] for s in before['sessions']), step


def test_another_programs_database_is_kept_beside_the_index(home):
    fill(home)
    os.makedirs(home.data)
    for number in range(2):
        for name in glob.glob(os.path.join(home.data, 'index.db-*')) + glob.glob(os.path.join(home.data, 'index.db')):
            os.unlink(name)
        db = sqlite3.connect(os.path.join(home.data, 'index.db'))
        db.execute('create table notes (text)')
        db.execute("insert into notes values ('mine %d')" % number)
        db.commit()
        db.close()
        assert search(home, 'rounding')['index']['state'] == 'current' and home.build().total
    kept = [sqlite3.connect(os.path.join(home.data, name)).execute('select text from notes').fetchone()[0] for name in ('index.db.other', 'index.db.other2')]
    assert kept == ['mine 0', 'mine 1']


@pytest.mark.parametrize('damage', [b'', b'text, no database\n' * 40, b'\0' * 8192])
def test_a_damaged_index_is_built_again(home, damage):
    fill(home)
    home.build()
    for name in glob.glob(os.path.join(home.data, 'index.db-*')):
        os.unlink(name)
    with open(os.path.join(home.data, 'index.db'), 'wb') as handle:
        handle.write(damage)
    assert search(home, 'rounding')['total_sessions'] >= 1


def test_a_damaged_shard_is_noticed(home):
    fill(home)
    home.build()
    for name in glob.glob(os.path.join(home.data, 'text-*.db')):
        with open(name, 'r+b') as handle:
            handle.write(b'garbage' * 5000)
    assert search(home, 'rounding')['total_sessions'] >= 1


def test_a_newer_index_is_left_alone(home):
    fill(home)
    home.build()
    path = os.path.join(home.data, 'index.db')
    db = sqlite3.connect(path)
    db.execute("update meta set value = 'x' where key = 'versions'")
    db.execute("update meta set value = 99999 where key = 'schema'")
    db.commit()
    db.close()
    with open(path, 'rb') as handle:
        before = handle.read()
    assert search(home, 'rounding')['total_sessions'] >= 1
    with open(path, 'rb') as handle:
        assert handle.read() == before


def test_two_builders_and_searchers_at_once(home):
    fill(home, 3)
    running = [command(home, BUILDER, 'build'), command(home, BUILDER, 'build')]
    running += [command(home, RECALL, 'search', 'rounding') for _ in range(3)]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert b'Traceback' not in err
    state = home.state()
    assert state == rebuilt(home)


def test_a_data_folder_that_cannot_be_made_gives_the_same_numbers(home, monkeypatch):
    import json
    fill(home)

    def stats():
        done = command(home, RECALL, 'stats', '--format', 'json')
        out, err = done.communicate()
        assert done.returncode == 0, err
        found = json.loads(out.decode('utf-8'))
        found.pop('index')
        return found
    with_index = stats()
    blocker = os.path.join(home.folder, 'plain-file')
    open(blocker, 'wb').close()
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', os.path.join(blocker, 'x'))
    assert stats() == with_index
    assert search(home, 'rounding')['total_sessions'] >= 1


def test_without_a_home(tmp_path, monkeypatch):
    env = {'PATH': os.environ.get('PATH', ''), 'HOME': str(tmp_path / 'none'), 'LANG': 'C.UTF-8'}
    for argv in ((RECALL, 'stats'), (RECALL, 'sessions'), (RECALL, 'search', 'x'), (BUILDER, 'status')):
        done = subprocess.Popen([sys.executable] + list(argv), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.communicate()
        assert done.returncode == 0, err
        assert b'Traceback' not in err


def test_without_fts5_the_files_are_searched(home, monkeypatch):
    import json
    from echolib.cli.sd_recall import main
    from echolib.index import schema
    import io
    fill(home)
    monkeypatch.setattr(schema, 'has_fts5', lambda: False)
    answers = {}
    for query in ('rounding half', '"rounding half to even"', 'rounding -half', 'grüne wiese', 'colour OR rounding'):
        out = io.BytesIO()
        monkeypatch.setattr(sys, 'stdout', io.TextIOWrapper(out, encoding='utf-8'))
        assert main(['search', query, '--format', 'json', '--limit', '0']) == 0
        answers[query] = json.loads(out.getvalue().decode('utf-8'))
    monkeypatch.undo()
    assert answers['rounding half']['total_sessions'] >= 1
    assert answers['"rounding half to even"']['hits'][0]['snippet']
    assert answers['grüne wiese']['total_sessions'] == 0
