"""Cursor's database of chats (state.vscdb): which it holds, what tells that one changed, and the messages of one.

Of its table cursorDiskKV only the keys composerData:<chat> and bubbleId:<chat>:<message> are read; the table beside it
holds credentials and is never asked.
"""
import os

from ..base import sqlite_ro
from ..base.clock import parse_time
from ..events import DECLINED
from .cursor_parse import Transcript
from .inside import unquoted
from .talk import fields
from .values import decoded, first, inner, word

# A message counts as this many bytes.
_MESSAGE_BYTES = 3000
_TABLE = 'cursorDiskKV'
_HEAD, _BUBBLE = 'composerData:', 'bubbleId:'


def asked(path):
    """-> list of (chat, size, mtime_ns) of a database, the latter two standing for the rows of a chat: they change
    whenever one is written (a row that is written again gets a new number). size is 1 for a chat whose messages, if any,
    lie in its first row. Raises sqlite_ro.Unreadable."""
    found = {}
    with sqlite_ro.held(path) as db:
        if set(('key', 'value')) <= set(sqlite_ro.columns(db, _TABLE)):
            # Answered from the index of the keys alone.
            for sid, number in db.execute('select substr(key, %d), rowid from %s where key >= ? and key < ?' % (len(_HEAD) + 1, _TABLE),
                                          (_HEAD, _HEAD[:-1] + ';')):
                found[sid] = [1, number]
            chat = "substr(key, {0}, instr(substr(key, {0}), ':') - 1)".format(len(_BUBBLE) + 1)
            for sid, number, total in db.execute(
                    'select %s as chat, count(*), total(rowid) from %s where key >= ? and key < ? group by chat' % (chat, _TABLE),
                    (_BUBBLE, _BUBBLE[:-1] + ';')):
                have = found.setdefault(sid, [1, 0])
                have[0] += _MESSAGE_BYTES * number
                have[1] += int(total)
    return [(sid, size, mtime) for sid, (size, mtime) in sorted(found.items()) if type(sid) is str and sid]


def _value(db, key):
    try:
        row = db.execute('select value from %s where key = ?' % _TABLE, (key,)).fetchone()
    except UnicodeEncodeError:
        # Half a character, which no key of a database holds.
        return None
    return _object(row[0]) if row is not None else None


def _object(value):
    if type(value) is bytes:
        value = value.decode('utf-8', 'replace')
    value = decoded(value)
    return value if type(value) is dict else None


class Chat(object):
    """One chat of an open database: its head, and its messages in order."""

    def __init__(self, db, sid):
        self.db, self.sid = db, sid
        self.head = _value(db, _HEAD + sid)

    def keys(self):
        """-> list with, for each message, its id, or the message itself where it lies in the chat's first row."""
        head = self.head or {}
        for name in ('conversation', 'fullConversationHeadersOnly'):
            listed = head.get(name)
            if type(listed) is list and listed:
                if name == 'conversation':
                    return [one if type(one) is dict else {} for one in listed]
                return [word(one.get('bubbleId')) if type(one) is dict else '' for one in listed]
        start = '%s%s:' % (_BUBBLE, self.sid)
        return [row[0][len(start):] for row in self.db.execute(
            'select key from %s where key >= ? and key < ? order by rowid' % _TABLE, (start, start[:-1] + ';'))]

    def message(self, key):
        """-> the message (dict) of one of keys(), None where it is not there."""
        if type(key) is dict:
            return key
        return _value(self.db, '%s%s:%s' % (_BUBBLE, self.sid, key)) if key else None


class Maker(Transcript):
    """Makes the events of a chat's rows. An event's offset is the place of its row: 0 the head, then the messages."""

    def about(self, head):
        """-> list of Events of the chat's own row."""
        self.began = parse_time(head.get('createdAt'))
        self.at(1, 0, 0, self.session, self.began)
        self.model = _named(inner(head, 'modelConfig').get('modelName'))
        self.says('cwd', _directory(inner(head, 'workspaceIdentifier')))
        self.says('ai-title', word(head.get('name')).strip())
        self.says('branch', first(head, 'createdOnBranch'))
        return self.out

    def bubble(self, place, data):
        """-> list of Events of one message."""
        ident = first(data, 'bubbleId')
        # Messages of 2024 have no time: that of the chat's beginning stands for it.
        time = parse_time(data.get('createdAt'))
        self.at(place + 1, place, 0, '%s/%s' % (self.session, ident) if ident else '%s.%d' % (self.session, place),
                self.began if time is None else time)
        kind = data.get('type')
        if kind in (1, 'user'):
            self.asked(first(data, 'text', 'rawText'))
        elif kind in (2, 'ai'):
            self._said(data)
        else:
            self.unknown('message type %s' % str(kind)[:20])
        return self.out

    def _said(self, data):
        found = []
        for name, text in (('thinking', first(inner(data, 'thinking'), 'text') or word(data.get('thinking'))), ('text', first(data, 'text', 'rawText'))):
            if text.strip():
                found.append(fields.Piece(name, text, '', '', None, ''))
        tool = inner(data, 'toolFormerData')
        if tool:
            found += _tool(tool)
        if found:
            # tokenCount is zero in nearly all messages, and does not say what of its input came from the cache.
            self.answered(found, _named(inner(data, 'modelInfo').get('modelName')) or self.model)


def _tool(tool):
    """-> the Pieces of a call and of its result, where it has one."""
    given = tool.get('rawArgs')
    if not given:
        given = tool.get('params')
    ident, name = first(tool, 'toolCallId', 'callId'), first(tool, 'name')
    out = [fields.Piece('call', '', name, ident, given, '')]
    status = word(tool.get('status')).lower()
    answer = tool.get('result')
    text = fields.text_of(answer) or (fields.result_text(answer) if answer else '')
    if not text:
        text = fields.result_text(tool.get('error'))
    if text or status in ('completed', 'success', 'error', 'failed', 'cancelled', 'canceled', 'rejected'):
        label = DECLINED if word(tool.get('userDecision')) == 'rejected' else fields.status_of({'status': status, 'error': tool.get('error')}, text)
        out.append(fields.Piece('result', text, name, ident, None, label))
    return out


def _named(model):
    model = word(model)
    return '' if model in ('default', 'auto') else model


def _directory(workspace):
    place = inner(workspace, 'uri')
    return first(place, 'fsPath', 'path') or first(workspace, 'fsPath', 'path')


def _split(path):
    return os.path.dirname(path), unquoted(os.path.basename(path))


def read(source, coverage, state):
    """See cursor.read."""
    path, sid = _split(source.path)
    with sqlite_ro.held(path) as db:
        chat, maker = Chat(db, sid), Maker(source, coverage, state)
        keys = chat.keys()
        about = maker.about(chat.head or {})
        if chat.head is None:
            coverage.lines += 1
            coverage.damage(1, 'a chat without a row of its own that can be read')
        elif keys:
            coverage.lines += 1
        coverage.line = 1
        yield about
        for place, key in enumerate(keys, 1):
            data = chat.message(key)
            coverage.lines += 1
            coverage.line = place + 1
            if data is None:
                coverage.damage(place + 1, 'a message that is not there or no JSON object')
            else:
                yield maker.bubble(place, data)


def events_at(source, offset, length):
    """See cursor.events_at."""
    from ..records import Coverage
    path, sid = _split(source.path)
    with sqlite_ro.held(path) as db:
        chat, maker = Chat(db, sid), Maker(source, Coverage(source.path), {})
        about = maker.about(chat.head or {})
        if not offset:
            return about
        keys = chat.keys()
        data = chat.message(keys[offset - 1]) if offset <= len(keys) else None
        return maker.bubble(offset, data) if data is not None else []
