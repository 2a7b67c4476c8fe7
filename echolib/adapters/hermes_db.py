"""Hermes' database (state.db): which sessions it holds, what tells that one changed, and the messages of one.

Columns have come from build to build, so each is asked for before it is named. Input, cache and output are counted apart;
reasoning is part of the output.
"""
import os
from zlib import crc32

from ..base import sqlite_ro
from ..events import SUMMED
from .hermes_parse import Parser, seconds
from .inside import unquoted
from .values import count, usage, word

_SESSION = ('id', 'source', 'model', 'started_at', 'title', 'cwd')
_SUMS = ('input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens')
_MESSAGE = ('id', 'role', 'content', 'tool_call_id', 'tool_calls', 'tool_name', 'timestamp', 'reasoning', 'reasoning_content')
# A message counts as this many bytes.
_MESSAGE_BYTES = 2000


def _have(db, path):
    """-> {table: its columns}. Raises Unreadable for tables that are not as known."""
    have = dict((table, sqlite_ro.columns(db, table)) for table in ('sessions', 'messages', 'session_model_usage'))
    if have['sessions'] or have['messages']:
        if 'id' not in have['sessions'] or not set(('id', 'session_id', 'role', 'content')) <= set(have['messages']):
            raise sqlite_ro.Unreadable(path, 'the tables of the database have columns this version does not know')
    elif db.execute('select count(*) from sqlite_master').fetchone()[0]:
        raise sqlite_ro.Unreadable(path, 'the database holds none of the tables this version knows (sessions, messages)')
    return have


def asked(path):
    """-> list of (session, size, mtime_ns) of the sessions with messages, the latter two standing for a session's rows: they
    change whenever one is added or the session's own row changes. Raises sqlite_ro.Unreadable."""
    with sqlite_ro.held(path) as db:
        have = _have(db, path)
        if not have['sessions']:
            return []
        out = []
        for row in db.execute(
                'select s.id, m.count, m.last, %s from sessions s join (select session_id, count(*) as count, max(id) as last from messages'
                ' group by session_id) m on m.session_id = s.id' % sqlite_ro.fields(have['sessions'], _SESSION[1:] + _SUMS)):
            if type(row[0]) is str and row[0]:
                began = seconds(row[5]) or 0
                out.append((row[0], _MESSAGE_BYTES * row[1], began * 1000000 + crc32(repr(row).encode('utf-8', 'replace')) % 1000000))
        return sorted(out)


def _sums(db, have, sid):
    """-> list of (model, input, output, cache read, cache written) of a session: a row a model where there are such, else its
    own; rows of zeros left out."""
    found = []
    table = have['session_model_usage']
    if set(('session_id', 'model')) <= set(table):
        found = db.execute('select model, %s from session_model_usage where session_id = ? order by model'
                           % sqlite_ro.fields(table, _SUMS), (sid,)).fetchall()
    found = [row for row in found if any(count(value) for value in row[1:])]
    if not found:
        found = db.execute('select %s from sessions where id = ?' % sqlite_ro.fields(have['sessions'], ('model',) + _SUMS), (sid,)).fetchall()
    return [(word(row[0]),) + tuple(count(value) for value in row[1:]) for row in found if any(count(value) for value in row[1:])]


class Session(object):
    """One session of an open database. An event's offset is 0 for its own row, else twice the message's number."""

    def __init__(self, db, path, source, coverage, state):
        self.db, self.have = db, _have(db, path)
        self.sid = unquoted(os.path.basename(source.path))
        self.parser = Parser(source, coverage, state)
        self.row = None
        if self.have['sessions']:
            self.row = db.execute('select %s from sessions where id = ?' % sqlite_ro.fields(self.have['sessions'], _SESSION), (self.sid,)).fetchone()
        self.spent = _sums(db, self.have, self.sid) if self.row is not None else []

    def about(self):
        """-> list of Events of the session's own row."""
        parser, row = self.parser, self.row or (None,) * len(_SESSION)
        # Where several models had a part, nothing says which calls were whose.
        parser.state['model'] = word(row[2]) if not self.spent else self.spent[0][0] if len(self.spent) == 1 else ''
        parser.at(1, 0, 0, self.sid, seconds(row[3]))
        parser.says('cwd', word(row[5]))
        parser.says('entrypoint', word(row[1]))
        parser.says('ai-title', word(row[4]).strip())
        return parser.out

    def messages(self, number=None):
        """Yield (number, list of Events) of the messages in order, or of one."""
        if not self.have['messages']:
            return
        sql = 'select %s from messages where session_id = ?' % sqlite_ro.fields(self.have['messages'], _MESSAGE)
        rows = self.db.execute(sql + (' order by id' if number is None else ' and id = ?'), (self.sid,) if number is None else (self.sid, number))
        for place, row in enumerate(rows.fetchall() if number is not None else rows, 2):
            data = dict((name, value) for name, value in zip(_MESSAGE, row) if value is not None)
            ident = data.pop('id', None)
            if type(ident) is not int:
                continue
            self.parser.at(place, ident * 2, 0, '%s/%d' % (self.sid, ident), seconds(data.get('timestamp')))
            yield place, self.parser.message(data)

    def sums(self):
        """-> list with the usage of the whole session: each model's sums given to one of the last calls."""
        parser, rows = self.parser, self.spent
        parser.out = []
        if rows and parser.calls:
            last = parser.calls[-len(rows):]
            for ident in parser.calls[:-len(rows)]:
                parser.spend(ident, usage(parser.state['model'], 0, 0))
            for place, row in enumerate(rows):
                parser.spend(last[place] if place < len(last) else '%s/%s' % (self.sid, row[0]), usage(*row)._replace(tier=SUMMED))
        return parser.out


def read(source, coverage, state):
    """See hermes.read."""
    path = os.path.dirname(source.path)
    with sqlite_ro.held(path) as db:
        session = Session(db, path, source, coverage, state)
        coverage.lines += 1
        coverage.line = 1
        yield session.about()
        for place, events in session.messages():
            coverage.lines += 1
            coverage.line = place
            yield events
        yield session.sums()


def events_at(source, offset):
    """See hermes.events_at."""
    from ..records import Coverage
    path = os.path.dirname(source.path)
    with sqlite_ro.held(path) as db:
        session = Session(db, path, source, Coverage(source.path), {})
        if not offset:
            return session.about()
        for _, events in session.messages(offset // 2):
            return events
        return []
