"""What files are: told from place, name and structure, with how sure that is, and what would have unknown ones read."""
import json
import os
import shutil
import sqlite3

import pytest

import echolib
import folding
from echolib.adapters import formats, registry, universal
from echolib.base.errors import UsageError
from echolib.cli import format_detector, options
from helpers import FIXTURES, environment, call_script

LOGS = os.path.join(FIXTURES, 'universal', 'logs')


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with fixtures of some agents; logs and named hold files of unknown ones."""
    for name, value in environment(tmp_path, SESSION_DIGGER_DATA_DIR=tmp_path / 'data').items():
        monkeypatch.setenv(name, value)
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'GROK_HOME', 'CODEX_HOME', universal.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for agent in ('claude', 'codex', 'grok', 'kimi', 'zcode'):
        for name in os.listdir(os.path.join(FIXTURES, agent, 'home')):
            shutil.copytree(os.path.join(FIXTURES, agent, 'home', name), str(tmp_path / name))
    for name in ('logs', 'named'):
        shutil.copytree(os.path.join(FIXTURES, 'universal', name), str(tmp_path / name))
    return tmp_path


def write(path, data):
    with open(str(path), 'wb') as out:
        out.write(data if isinstance(data, bytes) else data.encode('utf-8'))
    return str(path)


KNOWN = [
    ('.claude/history.jsonl', 'claude.history_jsonl.v1', 'claude', True), ('.codex/session_index.jsonl', 'codex.session_index.v1', 'codex', True),
    ('.codex/sessions/rollout-2025-04-20-0f0e0d0c-0001-4a01-8a01-00000000c001.json', 'codex.sessions_json.v1', 'codex', True),
    ('.claude/settings.json', 'other', 'claude', False), ('.grok/sessions/g/s/events.jsonl', 'grok.events_jsonl', 'grok', False),
    ('copy/.codex/history.jsonl', 'codex.history_jsonl.v1', 'codex', False)]


@pytest.mark.parametrize('place, name, agent, read', KNOWN)
def test_files_of_known_agents(home, place, name, agent, read):
    path = os.path.join(str(home), *place.split('/'))
    if not os.path.exists(path):
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        write(path, '{"a": 1}\n')
    found = formats.detect(path)
    assert (found.format, found.agent, found.read) == (name, agent, read) and found.confidence != 'none' and found.mapping is None
    assert all(found.evidence)


def test_every_session_of_the_fixtures_is_known(home):
    seen = set()
    for adapter in registry.adapters():
        for root in adapter.roots():
            for row in adapter.scan(root, []):
                if os.path.isfile(row[0]) and row[3] != 'history':
                    found = formats.detect(row[0])
                    assert (found.agent, found.confidence, found.read) == (adapter.NAME, 'high', True), row[0]
                    assert found.format in [store.id for store in adapter.STORES], row[0]
                    seen.add(found.format)
    assert len(seen) >= 12


def test_records_of_a_known_agent_elsewhere(home):
    source = next(path for path, _, _, role, _, _, _ in registry.get('claude').scan(str(home / '.claude'), []) if role == 'main')
    path = str(home / 'elsewhere.jsonl')
    shutil.copy(source, path)
    found = formats.detect(path)
    assert (found.format, found.agent, found.confidence, found.read) == ('claude', 'claude', 'medium', False)
    assert found.mapping == {'name': os.path.basename(str(home)), 'root': str(home)}


UNKNOWN = [('chat-with-tools-0001.jsonl', 'openai_chat', 'high'), ('turns.jsonl', 'speaker_turns', 'low'), ('pairs.jsonl', 'prompt_response', 'high'),
           ('nested.jsonl', 'nested_payload', 'medium'), ('events.jsonl', 'event_log', 'high'), ('cards.jsonl', 'summary_card', 'high'),
           ('telemetry-2026.jsonl', 'unknown', 'none'), ('prompts.jsonl', 'history_display', 'low')]


@pytest.mark.parametrize('name, shape, sure', UNKNOWN)
def test_files_of_unknown_agents(home, name, shape, sure):
    path = str(home / 'logs' / name)
    found = formats.detect(path)
    assert (found.format, found.confidence, found.agent, found.read) == (shape, sure, '', False) and found.keys
    assert found.mapping == (None if shape == 'unknown' else {'name': 'logs', 'root': str(home / 'logs')})


def test_files_of_a_named_folder(home, monkeypatch):
    monkeypatch.setenv(universal.VARIABLE, str(home / 'logs'))
    found = formats.detect(str(home / 'logs' / 'turns.jsonl'))
    assert (found.format, found.agent, found.read, found.mapping) == ('speaker_turns', 'universal', True, None)


def suggest(path):
    return formats.detect(str(path)).mapping


def adopt(home, *entries):
    if not os.path.isdir(str(home / 'data')):
        os.makedirs(str(home / 'data'))
    write(home / 'data' / 'agents.json', json.dumps({'agents': list(entries)}))


def test_what_is_suggested_works(home):
    desk = home / 'named' / 'desk-2026-03-01.jsonl'
    assert suggest(desk) == {
        'name': 'named', 'root': str(home / 'named'), 'glob': '**/desk-*.jsonl',
        'fields': {'role': 'who', 'text': 'utter.body', 'time': 'when', 'session': 'thread'},
        'roles': {'cust-4': 'user', 'staff': 'assistant', 'bystander': 'assistant'}}
    thread = home / 'named' / 'thread-1.json'
    assert suggest(thread) == {'name': 'named', 'root': str(home / 'named'), 'glob': '**/thread-*.json'}
    adopt(home, suggest(desk), suggest(thread), suggest(home / 'logs' / 'turns.jsonl'))
    for path, texts in ((desk, ['the printer smokes', 'pull the plug', 'it is off', 'I saw it']), (thread, ['paint the shed', 'painted']),
                        (home / 'logs' / 'turns.jsonl', ['the door is stuck', 'push it', 'it moves', 'good'])):
        found = formats.detect(str(path))
        assert found.agent == 'universal' and found.read and found.mapping is None
        assert [row['text'] for row in echolib.universal_extract_messages(str(path))] == texts


def test_no_mapping_is_made_up():
    for records in ([{'event': 'a', 'ms': 3}] * 5, [{'level': 'info', 'msg': 'words of a log', 'name': 'app'}] * 5, [{'a': 'one two', 'b': 'three four'}], [{}]):
        guess = formats.guessed(records)
        assert not ('text' in guess and 'role' in guess), records


OTHERS = {
    'empty': (b'\n\0 \n', 'x.jsonl'), 'sqlite': (b'SQLite format 3\0', 'state.db'), 'zstd': (b'\x28\xb5\x2f\xfd\0\0', 'x.bin.zst'), 'gzip': (b'\x1f\x8b\x08', 'x.tar.gz'),
    'frames': (b'RX4F\0\0', 'x.frames'), 'zip': (b'PK\x03\x04', 'x.json'), 'binary': (b'\x7fELF\0\0\1', 'x.db'), 'text': (b'just words\nand more: words', 'x.md'),
    'aider_history': (b'\n# aider chat started at 2026-03-01 09:00:00\n\n#### add a flag\n', 'log.md'),
    'text_turns': (b'Human: hi\n\nAssistant: hello\n\nHuman: go\n\nAssistant: gone\n', 'talk.txt'),
    'unknown': (b'{"half": ', 'x.json'), 'secrets': (b'{"token": "x"}', 'credentials.json')}


@pytest.mark.parametrize('kind', sorted(OTHERS))
def test_other_files(home, kind):
    data, name = OTHERS[kind]
    found = formats.detect(write(home / 'logs' / name, data))
    assert (found.format, found.agent, found.read, found.mapping) == (kind, '', False, None) and found.evidence[0]


def test_credentials_are_not_opened(home, monkeypatch):
    path = write(home / 'logs' / 'oauth_creds.json', '{}')
    monkeypatch.setattr('builtins.open', lambda *args, **more: pytest.fail('%r was opened' % (args,)))
    for one in (path, str(home / 'logs' / 'auth.json')):
        assert formats.detect(one).format == 'secrets'


@pytest.mark.skipif(os.name == 'nt', reason='pipes and links')
def test_what_is_no_ordinary_file(home):
    os.mkfifo(str(home / 'logs' / 'pipe.jsonl'))
    os.symlink(str(home / 'logs'), str(home / 'logs' / 'loop'))
    assert formats.detect(str(home / 'logs' / 'pipe.jsonl')).format == 'other'
    found = list(formats.files(str(home / 'logs'), 0))
    assert len(found) == len(set(map(os.path.realpath, found))) and str(home / 'logs' / 'pipe.jsonl') in found


def test_a_walk_ends_one_behind_its_limit(home):
    assert len(list(formats.files(str(home / 'logs'), 3))) == 4
    whole = list(formats.files(str(home / 'logs'), 0))
    assert whole == sorted(whole, key=lambda path: (os.path.dirname(path), path)) and len(whole) == len(list(formats.files(str(home / 'logs'), 999)))


# the command

# name: (words, paths, limit); -m is no option: argparse is asked for such lines, and must understand what stands around it.
LINES = {
    'two paths': (['a', 'b'], ['a', 'b'], 40), 'on both sides': (['a', '--format', 'json', 'b'], ['a', 'b'], 40),
    'with =': (['--limit=3', 'a'], ['a'], 3), 'behind --': (['--no-redact', 'a', '--', '-x', '--limit'], ['a', '-x', '--limit'], 40), 'nothing': ([], [], 40)}


@pytest.mark.parametrize('name', sorted(LINES))
def test_paths_and_options(name):
    words, paths, limit = LINES[name]
    found = options.parse('format-detector.py', format_detector.command(), words)
    assert (found.path, found.limit) == (paths, limit)


@pytest.mark.parametrize('words, paths', [(['a', 'b', '--lim', '3'], ['a', 'b']), (['a', '--lim', '3', 'b', 'c'], ['a', 'b', 'c'])])
def test_paths_when_argparse_is_asked(words, paths):
    found = options.parse('format-detector.py', format_detector.command(), words)
    assert (found.path, found.limit) == (paths, 3)


@pytest.mark.parametrize('words', [['a', '--nonsense'], ['--format'], ['a', '--limit', 'many'], ['a', '--lim', '3', 'b', '--nonsense']])
def test_wrong_words(words):
    with pytest.raises(UsageError):
        options.parse('format-detector.py', format_detector.command(), words)


def test_many_words_behind_others():
    command = options.Command('x', '', (('ref', True, ''), ('more', options.MANY, '')), (options.FORMAT,), (), None)
    for words, ref, more in ((['a'], 'a', []), (['a', 'b', 'c'], 'a', ['b', 'c']), (['a', '--form', 'tsv', 'b'], 'a', ['b'])):
        found = options.parse('p', command, words)
        assert (found.ref, found.more) == (ref, more)
    with pytest.raises(UsageError):
        options.parse('p', command, [])


@pytest.mark.slow
def test_command(home):
    before = folding.photograph(home)
    environ = {'SESSION_DIGGER_DATA_DIR': str(home / 'data')}
    found = call_script('format-detector', home / 'logs', home / '.codex' / 'session_index.jsonl', '--format', 'json', home=home, **environ).json()
    rows = dict((os.path.basename(row['path']), row) for row in found['files'])
    assert set(found) == {'files', 'more_in'} and found['more_in'] == [] and rows['auth.json']['format'] == 'secrets'
    assert rows['turns.jsonl']['mapping'] == {'name': 'logs', 'root': str(home / 'logs')} and rows['turns.jsonl']['agent'] is None
    assert rows['turns.jsonl']['sample_keys'] == ['speaker', 'text'] and rows['session_index.jsonl']['agent'] == 'codex'
    table = call_script('format-detector', home / 'logs', '--format', 'tsv', '--limit', '2', home=home, **environ)
    lines = [line.split('\t') for line in table.out.splitlines()]
    assert lines[0] == format_detector.COLUMNS and len(lines) == 3 and all(len(line) == 8 for line in lines)
    assert 'more files' in table.err and table.rc == 0
    text = call_script('format-detector', home / 'named' / 'desk-2026-03-01.jsonl', home=home, **environ)
    assert text.rc == 0 and '"text": "utter.body"' in text.out and 'agents.json' in text.out
    long = call_script('format-detector', home, '--limit', '0', home=home, **environ)
    assert long.rc == 0 and len(long.out) < 8000 and 'more files' in long.out
    nothing = call_script('format-detector', home / 'nowhere', home=home, **environ)
    assert (nothing.rc, nothing.out) == (1, '') and 'No such file' in nothing.err
    some = call_script('format-detector', home / 'nowhere', home / 'logs' / 'turns.jsonl', home=home, **environ)
    assert some.rc == 0 and 'speaker_turns' in some.out and 'No such file' in some.err
    assert call_script('format-detector', home=home).rc == 2
    wrong = call_script('format-detector', '--format', 'jsn', home / 'logs', home=home)
    assert wrong.rc == 2 and 'did you mean json' in wrong.err
    assert folding.photograph(home) == before


@pytest.mark.slow
def test_keys_and_names_are_made_printable(home):
    path = write(home / 'logs' / 'x.jsonl', json.dumps({'role\x1b[31m': 'a', 'sk-ant-REDACTED': 'b', 'k' * 500: 1, '\ud800': 2}) + '\n')
    os.rename(path, str(home / 'logs' / 'a\x1b[31m\tb.jsonl'))
    for form in ('text', 'tsv', 'json'):
        result = call_script('format-detector', home / 'logs' / 'a\x1b[31m\tb.jsonl', '--format', form, home=home)
        assert result.rc == 0 and '\x1b' not in result.out and 'k' * 100 not in result.out, form
        if form == 'tsv':
            assert [len(line.split('\t')) for line in result.out.splitlines()] == [8, 8]


def test_a_database_of_an_agent(home):
    path = home / '.zcode' / 'cli' / 'db' / 'db.sqlite'
    if not os.path.isdir(str(path.parent)):
        os.makedirs(str(path.parent))
    sqlite3.connect(str(path)).close()
    found = formats.detect(str(path))
    assert found.agent == 'zcode' and found.format.startswith('zcode.db')
