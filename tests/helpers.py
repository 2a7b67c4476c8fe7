"""What several test files need: paths of the checkout, the shared reference data, scripts run as a user runs them."""
import ast
import atexit
import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
FIXTURES = os.path.join(TESTS, 'fixtures')

_data_dirs = {}

# Of tests that take many seconds and ask nothing that the version of Python could change: quality of ranking, rates of alarms.
newer_only = pytest.mark.skipif(sys.version_info < (3, 8), reason='nothing here depends on the version; newer ones are faster')


class Result:
    """How a command ended: `rc`, and what it wrote as text: `out` and `err`."""

    def __init__(self, args, rc, out, err):
        self.args = args
        self.rc = rc
        self.out = out
        self.err = err

    def __repr__(self):
        return 'Result(%s -> %d)\n-- stdout\n%s\n-- stderr\n%s' % (' '.join(self.args), self.rc, self.out, self.err)

    def json(self):
        """Return the one JSON object on stdout; fails showing the whole result where there is none."""
        def refuse(name):
            raise ValueError('%s is not JSON' % name)
        try:
            return json.loads(self.out, parse_constant=refuse)
        except ValueError as error:
            pytest.fail('%s: %r' % (error, self))


def shared(*parts):
    """Return a path inside the shared reference data: $SESSION_DIGGER_SHARED, or ../shared beside the checkout.

    Skips the test where that folder is missing, and fails it where the folder lacks the part asked for.
    """
    base = os.environ.get('SESSION_DIGGER_SHARED') or os.path.join(os.path.dirname(ROOT), 'shared')
    if not os.path.isdir(base):
        pytest.skip('no shared reference data at %s (SESSION_DIGGER_SHARED names another place)' % base)
    path = os.path.join(base, *parts)
    if not os.path.exists(path):
        pytest.fail('%s lacks %s' % (base, '/'.join(parts)))
    return path


def sources(*folders):
    """Return the .py files below folders of the checkout, relative and sorted; fixtures are data, not sources."""
    found = []
    for folder in folders:
        for where, names, files in os.walk(os.path.join(ROOT, folder)):
            names[:] = [name for name in names if name != '__pycache__' and os.path.join(where, name) != FIXTURES]
            found += [os.path.relpath(os.path.join(where, name), ROOT) for name in files if name.endswith('.py')]
    return sorted(name.replace(os.sep, '/') for name in found)


def catches(node, *names):
    """True for the syntax tree of a try statement that catches one of these exceptions by name."""
    return isinstance(node, ast.Try) and any(
        dotted(part).rpartition('.')[2] in names
        for handler in node.handlers if handler.type for part in ast.walk(handler.type))


def names_in(folder):
    """Return the sorted names in a folder of the checkout; none where it is missing."""
    path = os.path.join(ROOT, folder)
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def read(path):
    """Return the text of a file of the checkout."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as lines:
        return lines.read()


def dotted(node):
    """Return 'a.b.c' for the syntax tree of such an expression, else ''."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return base and '%s.%s' % (base, node.attr)
    return ''


def all_commands():
    """Return {'script command': Command} of all scripts but the client's hook; of a script without commands its name alone."""
    found = {}
    for name in names_in('scripts'):
        if name.endswith('.py') and name != 'refresh-hook.py':
            module = importlib.import_module('echolib.cli.' + name[:-len('.py')].replace('-', '_'))
            many = getattr(module, 'COMMANDS', None)
            for command in many or ('',):
                found[(name[:-len('.py')] + ' ' + command).strip()] = many[command]() if many else module.command()
    return found


def scratch():
    """Return a new empty folder that goes when the tests end."""
    path = tempfile.mkdtemp(prefix='session-digger-')
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def environment(home, **env):
    """Return the clean environment of a command: little beside the home, and one data folder per home."""
    home = os.path.abspath(str(home))
    if home not in _data_dirs:
        _data_dirs[home] = os.path.join(scratch(), 'data')
    clean = {
        'HOME': home,
        'USERPROFILE': home,
        # `python3` in a command is then the Python that runs the tests.
        'PATH': os.path.dirname(sys.executable) + os.pathsep + os.environ.get('PATH', os.defpath),
        'TZ': 'UTC',
        'LANG': 'C.UTF-8',
        'SESSION_DIGGER_DATA_DIR': _data_dirs[home],
    }
    for name in ('SYSTEMROOT', 'TMPDIR', 'TEMP', 'TMP'):
        if name in os.environ:
            clean[name] = os.environ[name]
    clean.update((name, str(value)) for name, value in env.items())
    return clean


def run(args, home=None, cwd=None, stdin='', **env):
    """Run a command in a clean environment and return its Result.

    home   the home folder; an empty one by default. Commands with the same home share a data folder
    cwd    the working directory; an empty one by default
    stdin  text it can read
    env    further environment variables
    """
    process = subprocess.Popen(
        args, env=environment(home or scratch(), **env), cwd=str(cwd or scratch()),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(stdin.encode('utf-8'), timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail('no answer in two minutes: %s' % ' '.join(args))
    return Result(args, process.returncode, out.decode('utf-8'), err.decode('utf-8', 'replace'))


def run_script(name, *args, home=None, cwd=None, stdin='', **env):
    """Run scripts/NAME.py (or NAME itself where it ends in .sh) like `run`."""
    if name.endswith('.sh'):
        command = ['sh', os.path.join(ROOT, 'scripts', name)]
    else:
        command = [sys.executable, os.path.join(ROOT, 'scripts', name + '.py')]
    return run(command + [str(arg) for arg in args], home=home, cwd=cwd, stdin=stdin, **env)


def call_script(name, *args, home=None, cwd=None, **env):
    """Run the main of scripts/NAME.py in this process, in the environment that `run_script` gives it; a Result.

    Ten times as fast; for questions in which the process itself is not what is tested.
    """
    main = importlib.import_module('echolib.cli.' + name.replace('-', '_')).main
    kept, where, streams = dict(os.environ), os.getcwd(), (sys.stdout, sys.stderr)
    out, err = [io.TextIOWrapper(io.BytesIO(), encoding='utf-8') for _ in range(2)]
    try:
        _enter(environment(home or scratch(), **env))
        os.chdir(str(cwd or scratch()))
        sys.stdout, sys.stderr = out, err
        rc = main([str(arg) for arg in args])
    except SystemExit as stop:
        rc = stop.code or 0
    finally:
        sys.stdout, sys.stderr = streams
        os.chdir(where)
        _enter(kept)
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode('utf-8', 'replace'))
    return Result([name] + [str(arg) for arg in args], rc, *texts)


def _enter(values):
    """Make these the environment of this process."""
    os.environ.clear()
    os.environ.update(values)
    if hasattr(time, 'tzset'):
        time.tzset()
