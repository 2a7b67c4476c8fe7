"""Cursor: transcripts as JSON lines and as text, chats of the editor's database.

fixtures/cursor holds them; expected.json was worked out by hand. What the model wrote up to a call or the next prompt is one
API call: session 1 has Looking + Read, StrReplace, "It builds", Shell; 2 (text) Grep, StrReplace, "Renamed"; 3 (database)
thinking + text + edit, npm test, delete, "All green" (another model); 4 one answer. No tokens are known of any: 4 + 3 + 4 + 1
calls, 0 tokens, and every total a lower bound.
"""
import os
import sqlite3

import pytest

import folding
import talking
from echolib.adapters import cursor, cursor_db, cursor_parse, registry
from echolib.base import sqlite_ro
from echolib.base.errors import EchoError
from echolib.records import Coverage
from helpers import FIXTURES

EXPECTED = talking.expected('cursor')
ONE, TEXT, CHAT, OLD = sorted(EXPECTED['sessions'])
EDITOR = os.path.join('.config', 'Cursor', 'User', 'globalStorage', 'state.vscdb')


@pytest.fixture
def home(tmp_path, monkeypatch):
    path = talking.home('cursor', tmp_path, monkeypatch)
    where = os.path.join(path, EDITOR)
    os.makedirs(os.path.dirname(where))
    db = sqlite3.connect(where)
    with open(os.path.join(FIXTURES, 'cursor', 'db.sql'), encoding='utf-8') as script:
        db.executescript('pragma synchronous = off; begin;\n%scommit;' % script.read())
    db.close()
    yield path
    sqlite_ro.let_go()


def change(home, *statements):
    """Run statements on the editor's database."""
    db = sqlite3.connect(os.path.join(home, EDITOR))
    for statement in statements:
        db.execute(*statement)
    db.commit()
    db.close()


def test_sessions(home):
    talking.check_sessions(cursor, EXPECTED)


def test_places(home):
    assert talking.check_places(cursor) > 30


def test_a_session_in_both_places_is_read_from_the_database(home):
    assert os.path.basename(os.path.dirname(talking.sessions(cursor)[CHAT].sources[0].path)) == 'state.vscdb'
    assert not [event for event in talking.every(cursor) if 'only in the transcript' in event.text or 'never read' in event.text]
    change(home, ('delete from cursorDiskKV where key like ?', ('%' + CHAT + '%',)))
    assert talking.sessions(cursor)[CHAT].sources[0].path.endswith('.jsonl')


def test_a_change_is_seen(home):
    root = cursor.roots()[1]
    before = dict((row[5], row[1:3]) for row in cursor.scan(root, []))
    change(home, ('insert into cursorDiskKV values (?, ?)', ('bubbleId:%s:b8' % CHAT, '{"type":2,"text":"again"}')))
    after = dict((row[5], row[1:3]) for row in cursor.scan(root, []))
    assert [sid for sid in after if after[sid] != before[sid]] == [CHAT]


def test_times(home):
    found = talking.sessions(cursor)
    assert folding.numbers(cursor, found[CHAT])[2]['first'] == 1772355600000
    # Old messages have none: the chat's own beginning.
    assert [folding.numbers(cursor, found[OLD])[2][name] for name in ('first', 'last')] == [1740000000000] * 2
    assert 'first' not in folding.numbers(cursor, found[ONE])[2]


def test_nothing_of_secrets(home):
    # The values with tokens and keys are never put into an event.
    assert not [event for event in talking.every(cursor) if 'kookaburra' in repr(event)]
    seen = []
    with sqlite_ro.opened(os.path.join(home, EDITOR)) as db:
        db.set_trace_callback(lambda sql: seen.append(sql))
        chat = cursor_db.Chat(db, CHAT)
        for key in chat.keys():
            chat.message(key)
    assert seen and not [sql for sql in seen if 'ItemTable' in sql]


def test_a_database_that_cannot_be_read(home):
    with open(os.path.join(home, EDITOR), 'wb') as handle:
        handle.write(b'no database')
    problems = []
    assert set(row[5] for root in cursor.roots() for row in cursor.scan(root, problems)) == {ONE, TEXT, CHAT}
    assert len(problems) == 1 and problems[0][0].endswith('state.vscdb')
    # An older editor has other tables.
    os.remove(os.path.join(home, EDITOR))
    change(home, ('create table ItemTable (key text, value blob)',))
    problems = []
    assert list(cursor.scan(cursor.roots()[1], problems)) == [] and problems == []


@pytest.mark.parametrize('value', ['null', '[]', '3', '{"type":2,"text":[1],"toolFormerData":[]}', '{"type":2,"toolFormerData":{"name":3,"rawArgs":"{"}}',
                                   '{"type":1,"text":{"a":1}}', '{"type":2,"thinking":"so","toolFormerData":{"result":[{"type":"text","text":"x"}]}}',
                                   '{"type":null,"createdAt":[]}', '{"type":2,"createdAt":1e300,"text":"\\ud800"}'])
def test_any_message(home, value):
    change(home, ('insert into cursorDiskKV values (?, ?)', ('bubbleId:%s:b2' % CHAT, value)),
           ('insert into cursorDiskKV values (?, ?)', ('composerData:odd', '{"conversation":[3, %s],"createdAt":{},"name":7}' % value)),
           ('insert into cursorDiskKV values (?, ?)', ('composerData:half', '{"fullConversationHeadersOnly":[{"bubbleId":"\\ud800"},{"bubbleId":"b2"}]}')))
    for session in talking.sessions(cursor).values():
        talking.check_events(cursor, session.sources[0])


def test_any_lines(home):
    talking.check_any_lines(cursor, talking.sessions(cursor)[ONE].sources[0])


@pytest.mark.parametrize('text, blocks', [
    ('user:\nhello\nuser: is a word\n', [('user', 'text', 'hello\nuser: is a word')]),
    ('assistant:\n[Tool call] Ls\nuser:\nx', [('assistant', 'tool_use', 'Ls'), ('user', 'text', 'x')]),
    ('assistant:\n[Tool call] Ls\n  path: a\ndone\n', [('assistant', 'tool_use', 'Ls'), ('assistant', 'text', 'done')]),
    ('no speaker', []), ('', []), ('user:\n\nassistant:\n', [])])
def test_text(text, blocks):
    found = [(row['role'], row['message']['content'][0]) for row in cursor_parse.spoken(text)]
    assert [(role, block['type'], block.get('text') or block.get('name')) for role, block in found] == blocks


def test_text_without_a_speaker_is_damage(home):
    source = talking.sessions(cursor)[TEXT].sources[0]
    with open(source.path, 'w', encoding='utf-8') as out:
        out.write('nobody said this')
    coverage = Coverage(source.path)
    assert folding.events(cursor, source, coverage) == [] and (coverage.lines, coverage.parse_errors) == (1, 1)


def test_the_directory_of_a_transcript(home, tmp_path, monkeypatch):
    folder = tmp_path / 'work' / 'my.shop'
    folder.mkdir(parents=True)
    key = str(folder)[1:].replace('/', '-').replace('.', '-')
    place = os.path.join(home, '.cursor', 'projects')
    os.rename(os.path.join(place, 'home-ann-shop'), os.path.join(place, key))
    session = talking.sessions(cursor)[ONE]
    assert folding.numbers(cursor, session)[2]['cwd'] == str(folder)
    # In a session's row dashes stand for separators where the folder is not there.
    assert session.folder == '-' + key


def test_odd_files(home):
    talking.check_odd_files(cursor, talking.sessions(cursor)[TEXT].sources[0])


def test_roots_and_detection(home, monkeypatch):
    assert cursor.roots() == [os.path.join(home, '.cursor'), os.path.dirname(os.path.dirname(os.path.join(home, EDITOR)))]
    mac = os.path.join(home, 'Library', 'Application Support')
    os.makedirs(os.path.join(mac, 'Cursor'))
    assert cursor.roots()[1] == os.path.join(mac, 'Cursor', 'User')
    assert registry.detect('/x/Cursor/User/globalStorage/state.vscdb') is cursor
    assert not cursor.owns('/x/Code/User/globalStorage/state.vscdb')
    problems = []
    assert list(cursor.scan('/no/such/place', problems)) == [] and [path for path, _ in problems] == ['/no/such/place']
    with pytest.raises(EchoError):
        cursor.session_at(os.path.join(home, EDITOR))


def test_resume(home):
    with pytest.raises(EchoError):
        cursor.resume(CHAT, '/home/ann/gate')
    os.makedirs(os.path.join(home, '.cursor', 'chats', 'abcd', ONE))
    assert cursor.resume(ONE, '') == ['cursor-agent', '--resume', ONE]


def test_files():
    assert cursor.files_of('Write', {'path': 'a'}) == [('write', 'a')] and cursor.files_of('Shell', {'command': 'x'}) == []
    assert cursor.files_of('edit_file_v2', {'relativeWorkspacePath': 'b'}) == [('edit', 'b')] and cursor.files_of('StrReplace', 3) == []


@pytest.mark.slow
def test_commands(home):
    talking.check_commands(cursor, home, EXPECTED, 'capybara', CHAT, 'src/limiter.ts')
