"""What every command prints on a large home: short by default, well-formed in every format, with the right exit code, from
anywhere, and quietly into `head`. New commands are found by themselves."""
import json
import os
import re
import sys

import pytest

import small
from helpers import ROOT, all_commands, call_script, names_in, newer_only, run, scratch
from large import large_home
from recalling import Recall
from reference import heads_without_words, keys_without_words

pytestmark = pytest.mark.slow

# The client's hook answers nobody (test_refresh_hook.py).
SCRIPTS = [name[:-len('.py')] for name in names_in('scripts') if name.endswith('.py') and name != 'refresh-hook.py']
# What a whole transcript or page is, is as long as that.
WHOLE = ('sd-recall export', 'trend-engine report')
FORMATS = ('text', 'tsv', 'json')


COMMANDS = all_commands()


@pytest.fixture(scope='module')
def home():
    return large_home()


@pytest.fixture(scope='module')
def places(home):
    """-> what stands for each argument a command takes."""
    rows = json.loads(call_script('sd-recall', 'sessions', '--format', 'json', '--limit', '0', home=home).out)['sessions']
    largest = max(rows, key=lambda r: r['msg_count'])
    with open(largest['full_path'], encoding='utf-8') as lines:
        path = next(word for line in lines for word in re.findall(r'"file_path":"([^"]+)"', line))
    export = os.path.join(scratch(), 'WhatsApp Chat with Family.txt')
    with open(export, 'w', encoding='utf-8') as lines:
        for n in range(1200):
            lines.write('%02d/%02d/2023, 10:%02d - %s %d: word%d and pizza %s\n' % (
                n // 120 % 28 + 1, n // 1200 + 1, n % 60, 'long name ' * 7, n % 40, n % 300, 'said again ' * 30))
    return {'query': 'the test file', 'ref': largest['session_id'], 'text': None, 'finding': None, 'path': path, 'PATH': os.path.join(home, '.claude'),
            'export': export, 'dialog': None}


def argv(name, places, form=None):
    """-> a command's words with what it needs, in a format."""
    script, _, command = name.partition(' ')
    words = [command] * bool(command)
    for place, needed, _ in COMMANDS[name].places:
        assert place in places, 'tests/test_outputs.py does not know what stands for %s of %s' % (place, name)
        value = places['PATH'] if script == 'format-detector' else places[place]
        if value is not None and (needed or script == 'format-detector'):
            words.append(value)
    if name == 'trend-engine report' and form != 'json':
        words += ['--html', os.path.join(scratch(), 'report.html')]
    return script, words + (['--format', form] if form else [])


def formats(name):
    """-> the formats of a command: text, tsv, json where they are among its choices."""
    (choices,) = [o.choices for o in COMMANDS[name].options if '--format' in o.names]
    return [f for f in FORMATS if f in choices]


def ask(name, places, home, form=None, **more):
    script, words = argv(name, places, form)
    return call_script(script, *words, home=home, **more)


CASES = [(name, form) for name in sorted(COMMANDS) for form in formats(name) if (name, form) != ('trend-engine report', 'tsv')]


def test_all_commands_are_known():
    assert len(COMMANDS) >= 30 and 'sd-recall search' in COMMANDS and 'format-detector' in COMMANDS
    assert all(name in COMMANDS for name in WHOLE)


@pytest.mark.parametrize('name', sorted(set(COMMANDS) - set(WHOLE)))
def test_default_output_is_short(name, places, home):
    got = ask(name, places, home)
    assert got.rc == 0, got
    assert 0 < len(got.out) <= 8000, (len(got.out), got.out[-300:])


@pytest.mark.parametrize('name,form', CASES, ids=['-'.join((n.replace(' ', '-'), f)) for n, f in CASES])
def test_every_format_is_well_formed(name, form, places, home):
    got = ask(name, places, home, form)
    assert got.rc == 0 and 'Traceback' not in got.err, got
    assert got.out.endswith('\n')
    if form == 'json':
        answer = got.json()
        assert isinstance(answer, dict)
        # An export is the session, not an answer about it.
        assert name in WHOLE or keys_without_words(name, answer) == []
    elif form == 'tsv':
        lines = got.out[:-1].split('\n')
        assert re.match(r'[A-Z][A-Z0-9_]*(\t[A-Z][A-Z0-9_.]*)*\Z', lines[0]), lines[0]
        assert set(line.count('\t') for line in lines) == {lines[0].count('\t')}
        assert heads_without_words(name, lines[0].split('\t')) == []
        assert not re.search('[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]', got.out)
    else:
        assert not re.search('[\x00-\x08\x0b-\x1f\x7f]', got.out)
    # What is beside the answer says whose it is.
    assert all(line.startswith('session-digger: ') for line in got.err.splitlines()), got.err


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_wrong_arguments(name, places, home):
    script, words = argv(name, places)
    for wrong in (['--nonsense'], ['--format', 'yaml']):
        got = call_script(script, *(words + wrong), home=home)
        assert got.rc == 2 and got.out == '' and got.err.startswith('session-digger: ') and 'Traceback' not in got.err, got
    needs = [place for place, needed, _ in COMMANDS[name].places if needed is True]
    if needs:
        got = call_script(script, *words[:1], home=home)
        assert got.rc == 2 and needs[0].upper() in got.err.upper(), got
    if 'ref' in needs:
        got = call_script(script, words[0], 'ffffffff-no-such-session', home=home)
        assert got.rc == 1 and got.out == '' and len(got.err.splitlines()) == 1, got


@pytest.mark.parametrize('script', SCRIPTS)
def test_exit_codes_of_scripts(script, home):
    assert call_script(script, '--help', home=home).rc == 0
    got = call_script(script, 'serach', home=home)
    assert got.rc in (1, 2) and got.out == '' and 'Traceback' not in got.err and got.err, got


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_into_head(name, places, home):
    script, words = argv(name, places)
    quoted = ' '.join("'%s'" % word for word in [sys.executable, os.path.join(ROOT, 'scripts', script + '.py')] + words)
    got = run(['bash', '-c', quoted + ' | head -n 1; exit ${PIPESTATUS[0]}'], home=home)
    assert got.rc == 0 and len(got.out.splitlines()) == 1, got
    assert 'Broken' not in got.err and 'Traceback' not in got.err and 'Exception' not in got.err, got.err


def folder(path):
    """-> {path: (size, mtime)} of all files below a folder."""
    return dict((os.path.join(where, name), os.stat(os.path.join(where, name))[6:9:2]) for where, _, names in os.walk(path) for name in names)


@newer_only
def test_from_anywhere_and_nothing_is_left_behind(places, home, tmp_path):
    before = folder(home)
    inside = os.path.join(home, '.claude', 'projects')
    for name in sorted(set(COMMANDS) - set(WHOLE)):
        here, there = ask(name, places, home, cwd=tmp_path), ask(name, places, home, cwd=inside)
        assert (here.rc, there.rc) == (0, 0), (name, here, there)
        # Durations, the time of day and the size of the index differ, nothing else does.
        assert re.sub(r'[0-9.]+ (s|MB)\b|\d\d:\d\d', '', here.out) == re.sub(r'[0-9.]+ (s|MB)\b|\d\d:\d\d', '', there.out), name
    assert os.listdir(str(tmp_path)) == [] and folder(home) == before


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_an_empty_machine(name, places):
    """Nothing there, and no home at all: said, without a trace of the program."""
    export = os.path.join(scratch(), 'chat.txt')
    with open(export, 'w', encoding='utf-8') as lines:
        lines.write('01/02/2023, 10:00 - Ann: hello\n01/02/2023, 10:01 - Bob: hello\n')
    places = dict(places, export=export)
    for home in ({'home': scratch()}, {'home': scratch(), 'HOME': '', 'USERPROFILE': ''}):
        got = ask(name, dict(places, PATH=home['home']), **home)
        assert got.rc in (0, 1) and 'Traceback' not in got.out + got.err, got
        assert (got.out or got.err).strip() and len(got.out) + len(got.err) < 8000, got
        for form in formats(name):
            if got.rc == 0 and form == 'json':
                assert isinstance(ask(name, dict(places, PATH=home['home']), form=form, **home).json(), dict)


@pytest.fixture(scope='module')
def wide(tmp_path_factory):
    """A home in which everything has a long name."""
    home = Recall(tmp_path_factory.mktemp('wide'))
    for number in range(40):
        sid = home.sid('s%d' % number)
        cwd = '/home/dev/%s/%d' % ('/'.join('深い folder %d' % n for n in range(150)), number)
        records = ['the test file %s' % ('long words of a prompt ' * 200), {'type': 'ai-title', 'aiTitle': 'the test file ' * 300, 'sessionId': sid}]
        for n in range(12):
            ident = 'toolu_%d_%d' % (number, n)
            model = 'claude-%s-%d' % ('x' * 300, number * 12 + n)
            records.append(small.answer([small.text('the test file again ' * 100), small.call('mcp__%s__%d' % ('server' * 80, n), {
                'file_path': '/home/dev/%s/file%d.py' % ('deep/' * 300, n), 'command': 'run ' * 500}, ident)], number * 100 + n, n * 3 + 1,
                'msg_%s' % ident, sid=sid, cwd=cwd, model=model, gitBranch='branch/' + 'b' * 500, version='2.1.' + '9' * 60))
            records.append(small.result('test file failed: %d %s' % (n, 'reason ' * 500), number * 100 + 50 + n, n * 3 + 2, ident, n % 2 == 0, sid=sid, cwd=cwd))
        records.append(small.row('kind-%s' % ('k' * 400), number * 100 + 99, 99, sid=sid))
        home.say('s%d' % number, *records, cwd=cwd, folder='-home-%d' % number)
    return home


@pytest.mark.parametrize('name', sorted(set(COMMANDS) - set(WHOLE)))
def test_default_output_is_short_where_every_name_is_long(name, wide, places):
    known = {'export': places['export'], 'dialog': None, 'finding': None, 'query': 'the test file', 'ref': wide.sid('s7'), 'text': None, 'path': 'file3.py', 'PATH': os.path.join(wide.folder, '.claude')}
    got = ask(name, known, wide.folder)
    assert got.rc == 0, got
    assert 0 < len(got.out) <= 8000, len(got.out)
