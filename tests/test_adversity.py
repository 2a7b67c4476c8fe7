"""What a machine may do to us: full disks, read-only folders, damaged databases, files that change while they are read,
wrong clocks, missing parts of Python. The numbers stay those of an undamaged run, and what is wrong is said in a line."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import pytest

from helpers import FIXTURES, ROOT, environment, scratch
from recalling import Recall

pytestmark = pytest.mark.slow

RECALL = os.path.join(ROOT, 'scripts', 'sd-recall.py')
BUILDER = os.path.join(ROOT, 'scripts', 'index-builder.py')


class Machine(Recall):
    """A copy of the fixtures' Claude home, its right numbers, and commands in this process or beside it."""

    def __init__(self):
        Recall.__init__(self, os.path.join(scratch(), 'home'))
        shutil.copytree(os.path.join(FIXTURES, 'claude', 'home'), self.folder)
        self.data = environment(self.folder)['SESSION_DIGGER_DATA_DIR']
        self.right = self.stats()

    def stats(self, **env):
        """-> the numbers of everything; what is beside them must be a line or nothing."""
        got = self.run('stats', '--format', 'json', **env)
        assert got.rc == 0 and 'Traceback' not in got.err, got
        assert all(line.startswith('session-digger: ') for line in got.err.splitlines()), got
        self.said = got.err
        found = got.json()
        found.pop('index')
        return found

    def build(self, *more):
        """-> Result of index-builder.py build."""
        from echolib.cli import index_builder
        return self.run('build', *more, program=index_builder)

    def child(self, *argv, **more):
        """-> (exit code, stdout, stderr) of a command in a process of its own."""
        env = environment(self.folder, SESSION_DIGGER_ARCHIVE='0', PYTHONDONTWRITEBYTECODE='1')
        env.update(more.pop('env', {}))
        done = subprocess.Popen([sys.executable] + list(argv), env=env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        out, err = done.communicate(timeout=100)
        assert b'Traceback' not in err, err
        return done.returncode, out.decode('utf-8'), err.decode('utf-8')

    def databases(self):
        """-> paths of our databases, index.db first."""
        return [os.path.join(self.data, name) for name in sorted(os.listdir(self.data)) if name.endswith('.db') and name != 'lock.db']


@pytest.fixture
def machine():
    return Machine()


def at_rest(path):
    """Fold a database's log into it, so that damage to its pages is damage to what is read."""
    db = sqlite3.connect(path)
    db.execute('pragma wal_checkpoint(truncate)').fetchall()
    db.execute('pragma journal_mode=delete').fetchall()
    db.close()


def spoil(path, page, size=4096):
    """Overwrite one page with what is none."""
    with open(path, 'r+b') as handle:
        handle.seek(page * size)
        handle.write(b'\x5a' * min(size, os.path.getsize(path) - page * size))


# damaged databases

def test_damage_at_any_page_of_the_index(machine):
    at_rest(machine.databases()[0])
    with open(machine.databases()[0], 'rb') as handle:
        sound = handle.read()
    pages = len(sound) // 4096
    for page in sorted({0, 1, 2, 3, pages - 1} | set(range(0, pages, max(1, pages // 12)))):
        for name in os.listdir(machine.data):
            if name.startswith('index.db'):
                os.unlink(os.path.join(machine.data, name))
        with open(os.path.join(machine.data, 'index.db'), 'wb') as handle:
            handle.write(sound)
        spoil(os.path.join(machine.data, 'index.db'), page)
        assert machine.stats() == machine.right, page
        assert machine.found('login'), page


def test_damage_at_any_page_of_a_shard(machine):
    machine.search('login')
    for page in range(0, 1000, 3):
        path = machine.databases()[1]
        at_rest(path)
        if page >= os.path.getsize(path) // 8192:
            break
        right = machine.found('rounding OR login OR test', '--include-tools', '--limit', '0')
        at_rest(path)
        spoil(path, page, 8192)
        assert sorted(machine.found('rounding OR login OR test', '--include-tools', '--limit', '0')) == sorted(right), page
        assert machine.stats() == machine.right


@pytest.mark.parametrize('size', (0, 1, 99, 100, 4096, 5000, 20000))
def test_databases_cut_short(machine, size):
    for path in machine.databases():
        at_rest(path)
        with open(path, 'r+b') as handle:
            handle.truncate(size)
        assert machine.stats() == machine.right
        assert machine.found('login')


def test_another_programs_database_in_the_place_of_ours(machine):
    for place in (0, 1):
        path = machine.databases()[place]
        os.unlink(path)
        db = sqlite3.connect(path)
        db.execute('create table notes (id integer primary key, body text)')
        db.execute("insert into notes values (1, 'mine')")
        db.commit()
        db.close()
        assert machine.stats() == machine.right
        assert machine.found('login')


def test_a_folder_in_the_place_of_the_index(machine):
    for name in os.listdir(machine.data):
        os.unlink(os.path.join(machine.data, name))
    os.mkdir(os.path.join(machine.data, 'index.db'))
    assert machine.stats() == machine.right and machine.said
    assert machine.found('login')


# files that move

def test_files_that_change_between_looking_and_reading(machine, monkeypatch):
    from echolib.index import ingest
    folder = os.path.join(machine.folder, '.claude', 'projects', '-home-dev-shop')
    names = sorted(name for name in os.listdir(folder) if name.endswith('.jsonl'))
    real = ingest.pieces
    todo = dict(zip([os.path.join(folder, name) for name in names], ('vanish', 'shrink', 'grow', 'replace')))
    done = []

    def pieces(job, adapter, writer):
        how = todo.pop(job.source.path, None)
        if how is not None:
            done.append(how)
            with open(job.source.path, 'rb') as handle:
                data = handle.read()
            os.unlink(job.source.path)
            if how != 'vanish':
                with open(job.source.path, 'wb') as handle:
                    handle.write({'shrink': data[:len(data) // 3], 'grow': data + data.splitlines(True)[-1], 'replace': data.replace(b'login', b'logon')}[how])
        return real(job, adapter, writer)
    monkeypatch.setattr(ingest, 'pieces', pieces)
    assert machine.build('--rebuild').rc == 0
    monkeypatch.undo()
    assert sorted(done) == ['grow', 'replace', 'shrink', 'vanish']
    after = machine.stats()
    shutil.rmtree(machine.data)
    assert machine.stats() == after


@pytest.mark.parametrize('when', (0, 1, 10 ** 9, 4102444800, 2 ** 33))
def test_files_of_any_age(machine, when):
    for where, _, names in os.walk(machine.folder):
        for name in names:
            os.utime(os.path.join(where, name), (when, when))
    assert machine.stats() == machine.right
    assert machine.run('sessions').rc == 0


@pytest.mark.parametrize('shift', (-20 * 365 * 86400, 50 * 365 * 86400))
def test_a_clock_that_jumps(machine, monkeypatch, shift):
    import time
    real = time.time
    monkeypatch.setattr(time, 'time', lambda: real() + shift)
    for path in (os.path.join(machine.folder, '.claude', 'history.jsonl'),):
        with open(path, 'ab') as handle:
            handle.write(b'\n')
    found = machine.stats()
    # Sessions that lie after this clock are told as such.
    assert dict(found, future_sessions=0) == machine.right
    for words in (['sessions'], ['search', 'login'], ['doctor'], ['environments']):
        assert machine.run(*words).rc == 0


# folders and disks

@pytest.mark.skipif(not hasattr(os, 'mkfifo'), reason='no pipes here')
@pytest.mark.parametrize('what', ('pipe', 'device', 'loop', 'folder'))
def test_things_that_are_no_files(machine, what):
    folder = os.path.join(machine.folder, '.claude', 'projects', '-home-dev-shop')
    for number, name in enumerate(('%08d-0000-4000-8000-00000000000%d.jsonl' % (n, n) for n in range(3))):
        path = os.path.join(folder, name)
        if what == 'pipe':
            os.mkfifo(path)
        elif what == 'folder':
            os.mkdir(path)
        else:
            os.symlink('/dev/zero' if what == 'device' else path, path)
    os.symlink(folder, os.path.join(folder, 'again'))
    assert machine.stats() == machine.right
    assert machine.build('--rebuild').rc == 0
    assert machine.stats() == machine.right
    for words in (['environments', '--stores'], ['doctor'], ['sessions', '--no-refresh'], ['search', 'login', '--include-tools']):
        assert machine.run(*words).rc == 0


@pytest.mark.skipif(not hasattr(os, 'mkfifo'), reason='no pipes here')
def test_a_root_that_is_no_folder(machine):
    for what in ('pipe', 'file', 'loop'):
        root = os.path.join(machine.folder, what)
        if what == 'pipe':
            os.mkfifo(root)
        elif what == 'file':
            open(root, 'wb').close()
        else:
            os.symlink(root, root)
        for name in ('CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GROK_HOME'):
            got = machine.run('environments', **{name: root})
            assert got.rc == 0 and len(got.err.splitlines()) <= 2, got
            assert machine.run('stats', **{name: root}).rc == 0


def limited(bytes_):
    def set_limit():
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))
    return set_limit


@pytest.mark.skipif(os.name == 'nt', reason='no such limit here')
@pytest.mark.parametrize('room', (0, 4096, 30000, 70000))
def test_a_full_disk(machine, room):
    shutil.rmtree(machine.data)
    code, out, err = machine.child(RECALL, 'stats', '--format', 'json', preexec_fn=limited(room))
    assert code == 0, err
    found = json.loads(out)
    found.pop('index')
    assert found == machine.right
    assert 1 <= len(err.splitlines()) <= 2 and 'read instead' in err, err
    code, out, err = machine.child(RECALL, 'search', 'login', preexec_fn=limited(room))
    assert code == 0 and 'login' in out, err
    code, out, err = machine.child(BUILDER, 'build', preexec_fn=limited(room))
    assert code == 1 and len(err.splitlines()) == 1, (code, err)
    # With room again everything is as it was.
    assert machine.stats() == machine.right and machine.said == ''


@pytest.mark.skipif(os.name == 'nt', reason='no such limit here')
def test_a_disk_that_fills_up_while_an_index_is_there(machine):
    path = os.path.join(machine.folder, '.claude', 'projects', '-home-dev-shop', 'f1f1f1f1-0000-4000-8000-000000000001.jsonl')
    rows = b''.join(b'{"type":"user","uuid":"%08d","sessionId":"f1f1f1f1-0000-4000-8000-000000000001","cwd":"/home/dev/shop","timestamp":"2026-11-30T10:00:00Z",'
                    b'"message":{"role":"user","content":"full disk number %d %s"}}\n' % (n, n, b'word%d ' % n * 20) for n in range(300))
    with open(path, 'wb') as handle:
        handle.write(rows)
    code, out, err = machine.child(RECALL, 'stats', '--format', 'json', preexec_fn=limited(20000))
    assert code == 0 and json.loads(out)['user_prompts'] == machine.right['user_prompts'] + 300, err
    assert 1 <= len(err.splitlines()) <= 2, err
    after = machine.stats()
    assert after['user_prompts'] == machine.right['user_prompts'] + 300
    assert machine.found('disk')


def as_nobody(machine, *commands):
    """-> [(exit code, stdout, stderr)] of commands run in a child that is an ordinary user."""
    if not hasattr(os, 'fork') or os.getuid() != 0:
        pytest.skip('only root can become an ordinary user')
    for words in commands:
        machine.run(*words)     # what is imported late cannot be imported by an ordinary user everywhere
    answers = []
    for words in commands:
        out = os.path.join(scratch(), 'answer')
        child = os.fork()
        if not child:
            try:
                handle = open(out, 'wb')
                os.setgid(65534)
                os.setuid(65534)
                got = machine.run(*words)
                handle.write(json.dumps([got.rc, got.out, got.err]).encode('utf-8'))
                handle.close()
                os._exit(0)
            finally:
                os._exit(9)
        assert os.waitpid(child, 0)[1] == 0
        with open(out, 'rb') as handle:
            answers.append(json.loads(handle.read().decode('utf-8')))
    return answers


def opened_to_all(path, mode=0o555):
    while path != os.path.dirname(path) and os.path.basename(path) != 'tmp':
        if os.stat(path).st_mode & 0o005 != 0o005:
            os.chmod(path, mode)
        path = os.path.dirname(path)


def test_a_read_only_home_as_an_ordinary_user(machine):
    before = machine.right
    shutil.rmtree(machine.data)
    opened_to_all(machine.folder)
    opened_to_all(os.path.dirname(machine.data))
    (stats, search) = as_nobody(machine, ['stats', '--format', 'json'], ['search', 'login'])[:2]
    for code, out, err in (stats, search):
        assert code == 0, err
    found = json.loads(stats[1])
    found.pop('index')
    assert found == before


def test_an_index_that_may_only_be_read(machine):
    opened_to_all(machine.folder)
    machine.found('login')
    for name in os.listdir(machine.data):
        os.chmod(os.path.join(machine.data, name), 0o444)
    opened_to_all(machine.data)
    os.chmod(machine.data, 0o555)
    for code, out, err in as_nobody(machine, ['stats', '--format', 'json'], ['search', 'login', '--format', 'json'])[:2]:
        assert code == 0 and len(err.splitlines()) <= 1, err
        found = json.loads(out)
        if 'user_prompts' in found:
            found.pop('index')
            assert found == machine.right
        else:
            assert found['hits']


def test_a_root_that_may_not_be_read(machine):
    opened_to_all(machine.folder)
    projects = os.path.join(machine.folder, '.claude', 'projects')
    os.chmod(projects, 0o700)
    (code, out, err), = as_nobody(machine, ['environments'])
    assert code == 0 and 'ermission' in out + err, (out, err)


def test_everything_of_ours_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        machine = Machine()
        # Old enough for the agent's clean-up, so that the archive takes them.
        for where, _, names in os.walk(machine.folder):
            for name in names:
                os.utime(os.path.join(where, name), (time.time() - 27 * 86400,) * 2)
        machine.found('login')
        machine.build('--rebuild')
        assert machine.child(RECALL, 'search', 'login', env={'SESSION_DIGGER_ARCHIVE': '1'})[0] == 0
    finally:
        os.umask(before)
    for where, folders, names in os.walk(machine.data):
        assert os.stat(where).st_mode & 0o777 == 0o700, where
        for name in names:
            assert os.stat(os.path.join(where, name)).st_mode & 0o777 == 0o600, name


# a Python with less in it

STUBS = {
    'no sqlite3': 'raise ImportError("no sqlite3 here")\n',
    'no fts5': '''
        from sqlite3_real import *
        from sqlite3_real import connect as _connect, Connection as _Connection, sqlite_version_info, OperationalError
        import sqlite3_real
        class Connection(_Connection):
            def execute(self, sql, *more):
                _refuse(sql)
                return _Connection.execute(self, sql, *more)
            def executemany(self, sql, *more):
                _refuse(sql)
                return _Connection.executemany(self, sql, *more)
        def _refuse(sql):
            low = ' '.join(sql.lower().split())
            for word in WORDS:
                if word in low:
                    raise OperationalError('near "%s": syntax error' % word if 'fts5' not in word else 'no such module: fts5')
        def connect(*args, **more):
            more['factory'] = Connection
            return _connect(*args, **more)
        WORDS = ('using fts5',)
        ''',
}
# What came with SQLite 3.8 and later: tables without rowid, with clauses, partial indexes, and much after it.
STUBS['sqlite 3.7'] = STUBS['no fts5'].replace("WORDS = ('using fts5',)", '''
        WORDS = ('using fts5', 'without rowid', 'with recursive', 'on conflict(', 'returning ', ' over (', 'json_', 'iif(')
        sqlite_version_info, sqlite_version = (3, 7, 17), '3.7.17'
''')


@pytest.mark.parametrize('name', sorted(STUBS))
def test_a_python_with_less(machine, name):
    folder = scratch()
    with open(os.path.join(folder, 'sqlite3.py'), 'w', encoding='utf-8') as out:
        out.write(textwrap.dedent(STUBS[name]))
    shutil.copytree(os.path.dirname(sqlite3.__file__), os.path.join(folder, 'sqlite3_real'), ignore=shutil.ignore_patterns('__pycache__', 'test'))
    for one in os.listdir(os.path.join(folder, 'sqlite3_real')):
        path = os.path.join(folder, 'sqlite3_real', one)
        with open(path, encoding='utf-8') as source:
            text = source.read()
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text.replace('from sqlite3.dbapi2', 'from sqlite3_real.dbapi2').replace('from sqlite3 import', 'from sqlite3_real import'))
    shutil.rmtree(machine.data)
    env = {'PYTHONPATH': folder}
    code, out, err = machine.child(RECALL, 'stats', '--format', 'json', env=env)
    if name == 'no sqlite3':
        assert code == 1 and out == '' and len(err.splitlines()) == 1 and 'sqlite3' in err, err
        for script, words in (('index-builder', ['status']), ('trend-engine', ['usage']), ('skill-gap-finder', ['analyze'])):
            code, out, err = machine.child(os.path.join(ROOT, 'scripts', script + '.py'), *words, env=env)
            assert code in (1, 2) and out == '', (script, out, err)
        code, out, err = machine.child(os.path.join(ROOT, 'scripts', 'refresh-hook.py'), env=env)
        assert code == 0 and out == '', err
        code, out, err = machine.child(RECALL, '--help', env=env)
        assert code == 0 and 'search' in out, err
        return
    assert code == 0, err
    found = json.loads(out)
    found.pop('index')
    assert found == machine.right
    assert len(err.splitlines()) == 1, err
    code, out, err = machine.child(RECALL, 'search', 'login', '--format', 'json', env=env)
    assert code == 0 and json.loads(out)['hits'], err
    code, out, err = machine.child(RECALL, 'sessions', env=env)
    assert code == 0 and len(out.splitlines()) == machine.right['sessions'] + 1


# streams

@pytest.mark.skipif(os.name == 'nt', reason='a shell is needed')
@pytest.mark.parametrize('streams', ('>&-', '2>&-', '<&-', '<&- >&- 2>&-', '> /dev/full', '2> /dev/full', '| head -n 1', '| true'))
def test_closed_and_full_streams(machine, streams):
    for words in ('sessions', 'search login', 'stats --format json', 'show nosuchsession'):
        line = '"%s" "%s" %s %s' % (sys.executable, RECALL, words, streams)
        done = subprocess.Popen(['sh', '-c', line], env=environment(machine.folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.communicate(timeout=60)
        assert b'Traceback' not in err and b'Exception ignored' not in err and b'Error' not in err.replace(b'Errno', b''), (words, err)
        if streams == '> /dev/full' and 'nosuch' not in words:
            assert done.returncode == 1 and err.startswith(b'session-digger: '), (words, done.returncode, err)


@pytest.mark.parametrize('env', ({'LC_ALL': 'C', 'LANG': 'C'}, {'LC_ALL': 'POSIX', 'PYTHONUTF8': '0', 'PYTHONCOERCECLOCALE': '0'}, {'COLUMNS': '40', 'TERM': 'dumb'},
                                 {'TZ': 'Nowhere/None'}, {'TZ': ':/dev/zero'}, {'HOME': ''}, {'HOME': '/nonexistent'}, {'HOME': 'relative/x'}),
                         ids=lambda env: '-'.join(sorted(env.items())[0]))
def test_odd_environments(machine, env):
    for words in (['stats'], ['sessions', '--limit', '3'], ['search', '\u767b\u5f55'], ['environments']):
        code, out, err = machine.child(RECALL, *words, env=env)
        assert code == 0 and (out or err), (words, err)


@pytest.mark.parametrize('name', (b'a b', b"it's", b'a"b', b'new\nline', b'\xff\xfe', b'\xe4\xb8\xad', b'-rf', b'%s{0}', b'a;b', b'*', b'con', b'x' * 200), ids=repr)
def test_homes_with_any_name(name):
    if os.name == 'nt':
        pytest.skip('few of these names exist here')
    top = os.path.join(os.fsencode(scratch()), name)
    shutil.copytree(os.fsencode(os.path.join(FIXTURES, 'claude', 'home')), top)
    projects = os.path.join(top, b'.claude', b'projects')
    os.rename(os.path.join(projects, b'-home-dev-shop'), os.path.join(projects, b'-home-dev-' + name))
    env = dict((os.fsencode(k), os.fsencode(v)) for k, v in environment(scratch()).items())
    env.update({b'HOME': top, b'SESSION_DIGGER_DATA_DIR': os.path.join(top, b'data ' + name)})
    for words in (['stats', '--format', 'json'], ['search', 'login', '--format', 'json'], ['sessions', '--limit', '0'], ['environments'], ['doctor']):
        done = subprocess.Popen([sys.executable, RECALL] + words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.communicate(timeout=60)
        assert done.returncode == 0 and b'Traceback' not in err, err
        out.decode('utf-8')
        if words[0] == 'stats':
            assert json.loads(out.decode('utf-8'))['sessions'] == 6
        elif words[0] == 'search':
            assert json.loads(out.decode('utf-8'))['hits']
        elif words[0] == 'sessions':
            assert len(out.splitlines()) == 7
    for path in (os.path.join(projects, b'-home-dev-' + name, one) for one in os.listdir(os.path.join(projects, b'-home-dev-' + name)) if one.endswith(b'.jsonl')):
        done = subprocess.Popen([sys.executable, RECALL, 'show', path], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.communicate(timeout=60)
        assert done.returncode == 0 and b'Traceback' not in err, err
        break


# several at once, and killed ones

@pytest.mark.skipif(not hasattr(signal, 'SIGKILL'), reason='no SIGKILL here')
@pytest.mark.parametrize('what', (['search', 'login'], ['optimize'], ['prune']), ids=lambda words: words[0])
def test_killed_at_any_moment(machine, what):
    script = RECALL if what[0] == 'search' else BUILDER
    path = os.path.join(machine.folder, '.claude', 'projects', '-home-dev-shop', 'f1f1f1f1-0000-4000-8000-000000000001.jsonl')
    for number in range(8):
        with open(path, 'ab') as handle:
            for n in range(400):
                handle.write(b'{"type":"user","uuid":"%d-%d","sessionId":"f1f1f1f1-0000-4000-8000-000000000001","timestamp":"2026-11-30T10:00:00Z","cwd":"/home/dev/shop",'
                             b'"message":{"role":"user","content":"killed %d words%d"}}\n' % (number, n, n, n))
        process = subprocess.Popen([sys.executable, script] + what, env=environment(machine.folder, SESSION_DIGGER_ARCHIVE='0'),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(0.06 + 0.04 * number)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    after = machine.stats()
    assert after['user_prompts'] == machine.right['user_prompts'] + 3200
    assert machine.found('killed')
    shutil.rmtree(machine.data)
    assert machine.stats() == after


def test_two_builders_and_eight_searchers(machine):
    shutil.rmtree(machine.data)
    env = environment(machine.folder, SESSION_DIGGER_ARCHIVE='0')
    running = [subprocess.Popen([sys.executable] + words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for words in [[BUILDER, 'build'], [BUILDER, 'build', '--rebuild']] + [[RECALL, 'search', 'login', '--format', 'json']] * 8]
    for place, process in enumerate(running):
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0 and b'Traceback' not in err, err
        if place > 1:
            assert json.loads(out.decode('utf-8'))['hits'], err
    assert machine.stats() == machine.right
    left = [name for name in os.listdir(machine.data) if name.startswith(('rebuild-', 'new-'))]
    assert left == []


def test_what_is_said_beside_an_answer_is_one_line(capsys):
    from echolib.cli.run import Output
    Output().note('cannot read x: malformed (index_\n) orphan')
    assert capsys.readouterr().err == 'session-digger: cannot read x: malformed (index_ ) orphan\n'
