"""Chats of Trae's editors to events: one value of a database holds all of them, as text, without tools or tokens."""
import json
import os
from zlib import crc32

from ..base import sqlite_ro
from ..base.clock import parse_time
from ..base.files import json_object
from ..events import META, PROMPT, REPLY, Event
from .trae_cn import Entry, workspace_file
from .values import classify, content_text, decoded, first, images, inner, word

KEY = 'memento/icube-ai-agent-storage'


def chats(path):
    """-> list of the chats (dicts) in a database. Raises sqlite_ro.Unreadable."""
    with sqlite_ro.held(path) as db:
        if not sqlite_ro.columns(db, 'ItemTable'):
            return []
        row = db.execute('select value from ItemTable where key = ?', (KEY,)).fetchone()
    raw = row[0] if row else None
    value = decoded(raw.decode('utf-8', 'replace') if type(raw) is bytes else raw)
    found = value.get('list') if type(value) is dict else None
    return [one for one in found if type(one) is dict and word(one.get('sessionId'))] if type(found) is list else []


def asked(path):
    """-> list of the Entries of a database. Raises sqlite_ro.Unreadable."""
    out = []
    for one in chats(path):
        messages = one.get('messages')
        if type(messages) is list and messages:
            text = json.dumps(one, sort_keys=True)
            time = parse_time(one.get('updatedAt')) or parse_time(one.get('createdAt')) or 0
            mark = crc32(text.encode('ascii') + directory_of(path).encode('utf-8', 'replace'))
            out.append(Entry(one['sessionId'], len(text), time * 1000000 + mark % 1000000, [time, len(messages), mark]))
    return out


def directory_of(path):
    """-> the directory of the workspace whose database `path` is, '' where it is none on this machine."""
    # The global database has none.
    folder = first(json_object(workspace_file(path)), 'folder')
    if not folder.startswith('file://'):
        return ''
    from urllib.parse import unquote
    folder = unquote(folder[7:])
    # A drive's letter stands behind a slash.
    return folder[1:] if len(folder) > 2 and folder[2] == ':' else folder


def _find(source):
    """-> (path of the database, the chat or {})."""
    path = os.path.dirname(source.path)
    return path, next((one for one in chats(path) if one['sessionId'] == source.session), {})


def read(source, coverage):
    """See trae_cn.read."""
    path, chat = _find(source)
    # A chat is read whole: said to end in the middle of a line, it is never gone on with.
    coverage.open_end = True
    turn = 0
    messages = chat.get('messages')
    yield _head(source, chat, path)
    for place, data in enumerate(messages if type(messages) is list else (), 1):
        coverage.lines += 1
        coverage.line = coverage.offset = place
        if type(data) is not dict:
            coverage.damage(place, 'not an object (a message)')
            continue
        events = _message(source, data, place)
        if events and events[0].kind == PROMPT:
            turn += 1
        yield [event._replace(turn=turn) for event in events]


def _head(source, chat, path):
    directory = directory_of(path)
    time = parse_time(chat.get('createdAt'))
    return [Event(META, 'cwd', time, '', 0, None, None, directory, None, 0, 0, 0, 0)] if directory else []


def _message(source, data, place):
    role = word(data.get('role')).lower().strip()
    text = content_text(data.get('content'))
    ident = '%s/%d' % (source.session, place)
    kind = label = ''
    if role == 'user' and text.strip():
        kind, label, text = classify(text)
    elif role == 'assistant':
        text = text if text.strip() else _task_text(data.get('agentTaskContent'))
        kind = REPLY
    if not kind or not text.strip():
        return []
    return [Event(kind, label, parse_time(data.get('timestamp')), '', 0, ident, None, text, images(text) if kind == PROMPT else None, place, place, 0, 0)]


def _task_text(value):
    """The text of an answer that was given as a task."""
    if type(value) is str:
        value = decoded(value) or value
    if type(value) is str:
        return value
    if type(value) is not dict:
        return ''
    said = first(value, 'content', 'text', 'proposal')
    items = inner(value, 'guideline').get('planItems')
    if said or type(items) is not list:
        return said
    return '\n'.join(one['content'] for one in items if type(one) is dict and word(one.get('content')))


def events_at(source, offset):
    """See trae_cn.events_at."""
    path, chat = _find(source)
    messages = chat.get('messages')
    if not offset:
        return _head(source, chat, path)
    if type(messages) is list and offset <= len(messages) and type(messages[offset - 1]) is dict:
        return _message(source, messages[offset - 1], offset)
    return []
