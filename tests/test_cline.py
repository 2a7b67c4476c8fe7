"""Cline, Roo Code, Kilo Code: tasks as lists of what was said and asked, in several editors' folders.

fixtures/cline/home holds them; expected.json was worked out by hand.

Task 1 (Cline; the cache stands beside the input): 900 + 100 + 120 = 1120 in, 30 + 50 + 60 = 140 out, 4000 + 4900 + 5000 = 13900
read, 200 written; the fourth request was cancelled and has no figures. The second model is in use from the third request on.
Task 2 (Roo, OpenAI's protocol: the cache is part of the input): 5000 - 4000 + 6000 = 7000 in, 70 + 80 = 150 out, 4000 read; after
the person's answer a call stands without a request of its own. Task 3, its child: 10 in, 20 out. Task 4: nothing is told.
All: 1120 + 7000 + 10 = 8130; 140 + 150 + 20 = 310; 13900 + 4000 = 17900; 4 + 3 + 1 + 1 = 9 calls.
"""
import os

import pytest

import folding
import talking
from echolib.adapters import cline, cline_parse, registry
from echolib.base.errors import EchoError
from helpers import run_script

EXPECTED = talking.expected('cline')
TASK, KILO, ROO, CHILD = sorted(EXPECTED['sessions'])


@pytest.fixture
def home(tmp_path, monkeypatch):
    return talking.home('cline', tmp_path, monkeypatch)


def source_of(sid):
    return talking.sessions(cline)[sid].sources[0]


def test_sessions(home):
    talking.check_sessions(cline, EXPECTED)


def test_places(home):
    assert talking.check_places(cline) > 25


def test_any_document(home):
    talking.check_any_document(cline, source_of(TASK))
    talking.check_any_document(cline, source_of(ROO))


@pytest.mark.parametrize('raw', [b'{}', b'[]', b'3', b'[{"id": [1]}]', b'{"model_usage": 3, "workspace": []}', b'\0', b'{"model_usage": [{"ts": "x", "model_id": 3}]}'])
def test_any_file_beside(home, raw):
    folder = os.path.dirname(source_of(TASK).path)
    for path in (os.path.join(folder, 'task_metadata.json'), os.path.join(folder, 'history_item.json'),
                 os.path.join(cline.extension_of(source_of(TASK).path), 'state', 'taskHistory.json')):
        with open(path, 'wb') as out:
            out.write(raw)
    for session in talking.sessions(cline).values():
        talking.check_events(cline, session.sources[0])


def test_a_torn_file_is_damage(home):
    source = source_of('1772360000000')
    assert (lambda coverage: (coverage.lines, coverage.parse_errors))(talking.check_events(cline, source)) == (1, 1)


def test_calls_and_turns(home):
    found = [(event.kind, event.label, event.turn) for event in folding.events(cline, source_of(TASK))
             if event.kind in ('prompt', 'tool_call', 'interruption', 'meta') and event.label not in ('cwd', 'entrypoint')]
    assert found == [('prompt', 'typed', 1), ('tool_call', 'readFile', 1), ('tool_call', 'editedExistingFile', 1), ('tool_call', 'execute_command', 1),
                     ('prompt', 'typed', 2), ('interruption', '', 2), ('meta', 'retry', 2)]
    assert [event.data for event in folding.events(cline, source_of(TASK)) if event.kind == 'prompt'] == [1, None]
    # Both outputs of a command are its result.
    calls = [event.id for event in folding.events(cline, source_of(TASK)) if event.label == 'execute_command']
    assert [event.data.call_id for event in folding.events(cline, source_of(TASK)) if event.kind == 'tool_result'][1:] == calls * 2


def test_extensions_are_named(home):
    assert dict((sid, folding.numbers(cline, session)[2].get('entrypoint')) for sid, session in talking.sessions(cline).items()) == {
        TASK: 'Cline', '1772360000000': None, ROO: 'Roo Code', CHILD: 'Roo Code', KILO: 'Kilo Code'}


def test_the_directory_comes_from_the_list_of_tasks(home):
    assert cline_parse.directory_of(source_of('1772360000000').path, '1772360000000') == '/home/ann/torn'
    os.remove(os.path.join(cline.extension_of(source_of(TASK).path), 'state', 'taskHistory.json'))
    # Else from what was sent with the first request.
    assert folding.numbers(cline, talking.sessions(cline)[TASK])[2]['cwd'] == '/home/ann/shop'


def test_bills(home):
    rows = cline.billed(talking.sessions(cline)[TASK])
    assert [(row['model'], row['input'], row['cost']) for row in rows] == [
        ('claude-sonnet-4-5', 900, 0.01), ('claude-sonnet-4-5', 100, 0.02), ('claude-opus-4-5', 120, 0.02)]


def test_roots_and_detection(home, tmp_path, monkeypatch):
    config = os.path.join(home, '.config')
    assert cline.roots() == [os.path.join(config, host, 'User', 'globalStorage') for host in ('Code', 'VSCodium')]
    os.makedirs(os.path.join(home, '.cline', 'data', 'tasks', '7'))
    assert cline.roots()[2:] == [os.path.join(home, '.cline')]
    with open(os.path.join(home, '.cline', 'data', 'tasks', '7', 'ui_messages.json'), 'w', encoding='utf-8') as out:
        out.write('[{"ts":1,"type":"say","say":"task","text":"hi"}]')
    assert [event.text for event in folding.events(cline, source_of('7')) if event.kind == 'prompt'] == ['hi']
    monkeypatch.setenv('HOME', str(tmp_path / 'empty'))
    assert cline.roots() == [os.path.join(str(tmp_path / 'empty'), '.config', 'Code', 'User', 'globalStorage')]
    problems = []
    assert list(cline.scan(cline.roots()[0], problems)) == [] and len(problems) == 1
    assert [registry.resolve(name) for name in ('cline', 'roo', 'kilo_legacy')] == ['cline'] * 3
    with pytest.raises(EchoError):
        cline.resume(TASK, '')


def test_files():
    assert cline.files_of('readFile', {'batchFiles': [{'path': 'a'}, 3, {'path': 'b'}]}) == [('read', 'a'), ('read', 'b')]
    assert cline.files_of('execute_command', {'path': 'a'}) == [] and cline.files_of('readFile', 'x') == []


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(cline, home, EXPECTED, 'capybara', TASK, 'src/a.py')
    # Roo names no model, so that its calls have no price; Cline's edit of the Makefile failed, so that it touched nothing.
    assert run_script('sd-recall', 'touched', 'Makefile', '--format', 'json', home=home).json()['touched'] == []
    stats = run_script('sd-recall', 'session-stats', ROO, '--format', 'json', home=home).json()
    assert (stats['cost_usd'], stats['unpriced']['calls']) == (None, 2)
    result = run_script('sd-recall', 'resume', TASK, home=home)
    assert result.rc == 1 and 'history of the extension' in result.err
