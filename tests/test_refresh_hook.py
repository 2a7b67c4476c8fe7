"""The client's hooks: run as the client runs them, they have the index refreshed, print nothing and never fail."""
import json
import os
import subprocess
import sys
import time

import pytest

import small
from helpers import ROOT, environment, read, run, run_script, scratch

sys.path.insert(0, ROOT)
from echolib.cli import refresh_hook
from test_manifests import manifest

EVENTS = ('SessionStart', 'SessionEnd')
# As the client writes them, version 2.1.332.
INPUT = {
    'SessionStart': {'source': 'startup', 'model': 'claude-sonnet-4-5'},
    'SessionEnd': {'reason': 'prompt_input_exit'}}


def entry(event):
    """-> the one hook of an event."""
    (group,) = manifest()['hooks'][event]
    (found,) = group['hooks']
    return found


def fire(event, home, **env):
    """Run an event's hook as the client does: through sh, with its JSON, directory and variables; -> Result."""
    project = env.pop('cwd', None) or scratch()
    given = dict(INPUT[event], session_id=small.SID, transcript_path='/x/y.jsonl', cwd=str(project), hook_event_name=event)
    root = env.pop('root', ROOT)
    command = entry(event)['command'].replace('${CLAUDE_PLUGIN_ROOT}', root)
    env = dict(dict(CLAUDE_PLUGIN_ROOT=root, CLAUDE_PROJECT_DIR=str(project), CLAUDE_CODE_SESSION_ID=small.SID), **env)
    return run(['/bin/sh', '-c', command], home=home, cwd=project, stdin=json.dumps(given), **env)


def indexed(home, patience=20.0):
    """-> number of sessions in a home's index, once there is one."""
    deadline = time.time() + patience
    while True:
        got = run_script('index-builder', 'summary', '--format', 'json', home=home)
        if got.rc == 0 and got.json()['sessions'] or time.time() > deadline:
            return got.json()['sessions'] if got.rc == 0 else 0
        time.sleep(0.1)


def home_with_a_session():
    home = scratch()
    os.makedirs(os.path.join(home, '.claude', 'projects', '-home-dev-app'))
    with open(os.path.join(home, '.claude', 'projects', '-home-dev-app', small.SID + '.jsonl'), 'w', encoding='utf-8') as handle:
        for record in (small.user('hello there', 1, 1), small.answer([small.text('hello')], 2, 2)):
            handle.write(json.dumps(record) + '\n')
    return home


@pytest.mark.parametrize('event', EVENTS)
def test_declared_as_the_client_takes_it(event):
    found = entry(event)
    assert found['type'] == 'command' and found['async'] is True and 0 < found['timeout'] <= 30
    assert '"${CLAUDE_PLUGIN_ROOT}/scripts/refresh-hook.py"' in found['command']
    assert set(manifest()['hooks']) == set(EVENTS)


@pytest.mark.parametrize('event', EVENTS)
def test_refreshes_and_prints_nothing(event):
    home = home_with_a_session()
    got = fire(event, home)
    assert (got.rc, got.out, got.err) == (0, '', ''), got
    assert indexed(home) == 1


def test_can_be_switched_off():
    home = home_with_a_session()
    got = fire('SessionStart', home, SESSION_DIGGER_HOOKS='0')
    assert (got.rc, got.out, got.err) == (0, '', '')
    time.sleep(0.5)
    assert not os.path.exists(environment(home)['SESSION_DIGGER_DATA_DIR'])


# What may be wrong with a machine -> environment, or a root.
TROUBLES = {
    'no home': {'HOME': '', 'USERPROFILE': '', 'SESSION_DIGGER_DATA_DIR': ''},
    'home that is not there': {'HOME': '/no/such/home', 'USERPROFILE': '/no/such/home', 'SESSION_DIGGER_DATA_DIR': ''},
    'data folder that is a file': {'SESSION_DIGGER_DATA_DIR': os.path.join(ROOT, 'README.md')},
    'data folder that cannot be made': {'SESSION_DIGGER_DATA_DIR': '/proc/nothing/here'},
    'no Python at all': {'PATH': '/no/such/folder'},
    'plugin that has gone': {'root': '/no/such/plugin'},
    'broken Python variables': {'PYTHONHOME': '/no/such/python', 'PYTHONPATH': '/no', 'PYTHONSTARTUP': '/no'}}


@pytest.mark.parametrize('name', sorted(TROUBLES))
def test_never_fails(name):
    got = fire('SessionEnd', scratch(), **TROUBLES[name])
    assert (got.rc, got.out, got.err) == (0, '', ''), got
    assert not os.path.exists('/.claude/.session-digger')


def test_no_process_to_be_had(monkeypatch):
    def refuse(command):
        raise OSError(11, 'Resource temporarily unavailable')
    monkeypatch.setattr(refresh_hook, 'start', refuse)
    assert refresh_hook.main([]) == 0


def test_the_refresh_is_apart_from_the_client(tmp_path):
    """A session and group of its own, and nothing of the client's open: a pipe to it ends when the hook does."""
    script, told = tmp_path / 'long.py', tmp_path / 'told'
    script.write_text('import os, time\nwith open(%r, "w", encoding="utf-8") as told:\n    told.write("%%d %%d" %% (os.getsid(0), os.getpid()))\n'
                      'os.rename(%r, %r)\ntime.sleep(3)\n' % (str(told) + '.part', str(told) + '.part', str(told)), encoding='utf-8')
    code = ('import sys; sys.path.insert(0, %r)\nfrom echolib.cli.refresh_hook import start\nstart([sys.executable, %r])' % (ROOT, str(script)))
    began = time.time()
    process = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.communicate(timeout=20) == (b'', b'') and process.returncode == 0
    assert time.time() - began < 2.5
    while not told.exists():
        assert time.time() - began < 20
        time.sleep(0.05)
    session, own = told.read_text(encoding='utf-8').split()
    assert session == own and int(own) != process.pid


def test_windows_gets_a_detached_process(monkeypatch):
    seen = []
    monkeypatch.setattr(subprocess, 'Popen', lambda command, **more: seen.append((command, more)))
    monkeypatch.delattr(os, 'fork')
    refresh_hook.start(['python', 'x.py'])
    ((command, more),) = seen
    # DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP
    assert command == ['python', 'x.py'] and more['creationflags'] == 0x208
    assert (more['stdin'], more['stdout'], more['stderr']) == (subprocess.DEVNULL,) * 3


def test_imports_next_to_nothing():
    """Whoever starts a session waits: what the interpreter has not loaded by itself is counted."""
    code = ('import os, sys; before = set(sys.modules); sys.path.insert(0, %r)\nfrom echolib.cli.refresh_hook import main\nmain([])\n'
            'sys.stdout.write(" ".join(sorted(set(sys.modules) - before)))' % ROOT)
    got = run([sys.executable, '-I', '-S', '-c', code])
    assert set(got.out.split()) == {'echolib', 'echolib.cli', 'echolib.cli.refresh_hook'}, got


@pytest.mark.slow
def test_many_at_once_are_one_refresh():
    home = home_with_a_session()
    folder = os.path.join(home, '.claude', 'projects', '-home-dev-app')
    for number in range(400):
        sid = '%08d%s' % (number, small.SID[8:])
        with open(os.path.join(folder, sid + '.jsonl'), 'w', encoding='utf-8') as handle:
            for record in [small.user('hello %d' % number, 1, 1, sid=sid)] * 40:
                handle.write(json.dumps(record) + '\n')
    command = [sys.executable, os.path.join(ROOT, 'scripts', 'index-builder.py'), 'build', '--no-wait', '--format', 'json']
    run_script('index-builder', 'build', '--agent', 'codex', home=home)
    at_once = [subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    told = [process.communicate(timeout=120) for process in at_once]
    assert [process.returncode for process in at_once] == [0] * 4
    read_files = [json.loads(out.decode())['indexed'] for out, _ in told if out]
    # One reads; the others find it at work, or, late as they are, nothing left to do.
    assert sorted(read_files)[-1] == 401 and sorted(read_files)[:-1] == [0] * (len(read_files) - 1)
    assert all(b'already' in err for out, err in told if not out)


def test_no_wait_leaves_it_to_the_one_at_work():
    home = home_with_a_session()
    run_script('index-builder', 'build', '--agent', 'codex', home=home)
    from echolib.index.store import Store
    one = Store(environment(home)['SESSION_DIGGER_DATA_DIR'])
    one.open()
    try:
        assert one.lock()
        began = time.time()
        got = run_script('index-builder', 'build', '--no-wait', home=home)
        assert got.rc == 0 and got.out == '' and 'already' in got.err and time.time() - began < 5
    finally:
        one.close()
    assert run_script('index-builder', 'build', '--no-wait', '--format', 'json', home=home).json()['indexed'] == 1


@pytest.mark.parametrize('event', EVENTS)
def test_documented(event):
    assert 'SESSION_DIGGER_HOOKS=0' in read('README.md') and event in read('references/architecture.md')


def test_keeps_what_the_clean_up_takes():
    """A transcript of 25 days, five before the client deletes it, lies in the archive after the session's end."""
    home = home_with_a_session()
    path = os.path.join(home, '.claude', 'projects', '-home-dev-app', small.SID + '.jsonl')
    old = time.time() - 25 * 86400
    os.utime(path, (old, old))
    assert fire('SessionEnd', home).rc == 0 and indexed(home) == 1
    archive, deadline, found = os.path.join(environment(home)['SESSION_DIGGER_DATA_DIR'], 'archive'), time.time() + 20, []
    while not found and time.time() < deadline:
        found = [name for _, _, names in os.walk(archive) for name in names if name.endswith('.gz')]
        time.sleep(0.05)
    assert found == [small.SID + '.jsonl.gz']
