"""OpenCode's database: which sessions it holds, what tells that one of them changed, and the messages of one of them.

Tables and columns have come and gone from build to build, so each is asked for before it is named.
"""
import os
from contextlib import contextmanager
from zlib import crc32

from ..base import sqlite_ro
from ..base.clock import parse_time
from .inside import top_of
from .opencode import Entry
from .opencode_parse import Parser, bills, identity, is_copy
from .values import decoded, word

_SESSION = ('id', 'parent_id', 'project_id', 'directory', 'title', 'version', 'revert', 'time_created', 'time_updated')
# A message with its parts counts as this many bytes.
_MESSAGE_BYTES = 3000
# What an event's offset names: its low bit, the rest is a row id.
SESSION, MESSAGE = 0, 1


def _have(db, path):
    """-> {table: its columns} of the tables that are read."""
    have = dict((table, sqlite_ro.columns(db, table)) for table in ('session', 'message', 'part', 'project'))
    if not (have['session'] and have['message']):
        if db.execute('select count(*) from sqlite_master').fetchone()[0]:
            raise sqlite_ro.Unreadable(path, 'the database holds none of the tables this version knows (session, message, part)')
        return None
    if 'id' not in have['session'] or not set(('id', 'session_id', 'data')) <= set(have['message']):
        raise sqlite_ro.Unreadable(path, 'the tables of the database have columns this version does not know')
    if not set(('message_id', 'data')) <= set(have['part']):
        have['part'] = ()
    return have


def asked(path):
    """-> list of the Entries of a database. Raises sqlite_ro.Unreadable."""
    with sqlite_ro.held(path) as db:
        have = _have(db, path)
        if have is None:
            return []
        out = []
        for row in db.execute(_overview(have)):
            sid = row[0]
            if type(sid) is str and sid and '/' not in sid and os.sep not in sid:
                time = max(_ms(row[7]), _ms(row[8]), _ms(row[11]))
                out.append(Entry(os.path.join(path, sid), word(row[1]), _MESSAGE_BYTES * (row[9] or 0),
                                 time * 1000000 + crc32(repr(row).encode('utf-8', 'replace')) % 1000000))
        return out


def _overview(have):
    """-> the query for what tells of each session that it changed: its row, how many messages it has, the times at which
    its last message and the last part of that were written (parts are added and written again in the last message).

    It reads indexes and a few rows a session. Row ids are summed because tidying a database up may give rows new ones.
    """
    message = part = 'null'
    if set(('time_created', 'time_updated')) <= set(have['message']):
        last = '(select %s from message where session_id = s.id order by time_created desc, id desc limit 1)'
        message = last % 'time_updated'
        if set(('id', 'time_updated')) <= set(have['part']):
            part = '(select time_updated from part where message_id = %s order by id desc limit 1)' % (last % 'id')
    return ('select %s, m.count, m.numbers, %s, %s from session s left join (select session_id, count(*) as count,'
            ' total(rowid) as numbers from message group by session_id) m on m.session_id = s.id' % (
                ', '.join('s.' + sqlite_ro.quoted(name) if name in have['session'] else 'null' for name in _SESSION), message, part))


def _ms(value):
    return value if type(value) is int and value > 1 << 40 else parse_time(value) or 0


@contextmanager
def reading(source, coverage, state):
    """Give a Reader of the session a Source names."""
    path, sid = os.path.split(source.path)
    with sqlite_ro.held(path) as db:
        yield Reader(db, path, sid, Parser('' if source.role == 'main' else source.chain, coverage, state))


class Reader(object):
    """Reads one session of an open database."""

    def __init__(self, db, path, sid, parser):
        self.db, self.sid, self.parser, self.coverage = db, sid, parser, parser.coverage
        self.have = _have(db, path)

    def session(self):
        """-> list of Events of the session's own row."""
        row = self._row()
        if row is None:
            return []
        directory = word(row[4])
        if not directory and set(('id', 'worktree')) <= set(self.have['project']):
            directory = word((self.db.execute('select worktree from project where id = ?', (row[3],)).fetchone() or ('',))[0])
        return self.parser.session({'directory': directory, 'title': row[5], 'version': row[6], 'created': row[8]}, row[0] * 2 + SESSION)

    def _row(self):
        if self.have is None:
            return None
        return self.db.execute('select rowid, %s from session where id = ?' % sqlite_ro.fields(self.have['session'], _SESSION),
                               (self.sid,)).fetchone()

    def records(self):
        """Yield lists of Events, one a message, in order."""
        for number, ident, created, data, parts in self._messages():
            coverage = self.coverage
            coverage.lines += 1 + len(parts)
            coverage.line += 1
            if data is None:
                coverage.damage(coverage.line, 'a message that is no JSON object')
                yield []
            else:
                yield self.parser.message(ident, data, created, parts, coverage.line, number * 2 + MESSAGE)

    def _messages(self, number=None):
        """Yield (row id, id, time created, data, parts) of the session's messages in order, or of one; data and a part are
        None where they are no JSON objects. The coverage's offset grows by what was read."""
        if self.have is None:
            return
        have = self.have['message']
        order = ', '.join([name for name in ('time_created', 'id') if name in have])
        sql = 'select rowid, %s from message where session_id = ?' % sqlite_ro.fields(have, ('id', 'time_created'))
        values = (self.sid,)
        if number is not None:
            sql += ' and rowid = ?'
            values += (number,)
        for row, ident, created in self.db.execute('%s order by %s' % (sql, order), values).fetchall():
            raw = self.db.execute('select data from message where rowid = ?', (row,)).fetchone()[0]
            parts = []
            if self.have['part']:
                parts = [one for one, in self.db.execute('select data from part where message_id = ? order by %s' % (
                    'id' if 'id' in self.have['part'] else 'rowid'), (ident,))]
            self.coverage.offset += sum(len(one) for one in [raw] + parts if one.__class__ in (str, bytes))
            yield row, word(ident) or 'row%d' % row, created, _object(raw), [_object(one) for one in parts]

    def at(self, offset):
        """-> list of Events of the record that an offset names, [] when it is no longer this session's."""
        if offset % 2 == SESSION:
            return self.session()
        for _, ident, created, data, parts in self._messages(offset // 2):
            return self.parser.message(ident, data, created, parts, 0, offset) if data is not None else []
        return []

    def bills(self):
        """-> rows of what the client says the session's calls took and cost."""
        return [row for _, _, _, data, parts in self._messages() if data is not None for row in bills(self.sid, data, _whole(parts))]

    def reverted(self):
        """-> ids of the messages behind the one the person went back to; they go when the session goes on."""
        row = self._row()
        return reverted(_object(row[7]) if row else None, self._messages())

    def copied(self):
        """-> number of messages that a fork copied."""
        return sum(1 for _, ident, _, data, _ in self._messages() if data is not None and is_copy(ident, data))


def reverted(mark, messages):
    """-> ids (see identity) of the messages that a session's `revert` (dict or None) takes back."""
    first = word((mark or {}).get('messageID'))
    if not first:
        return set()
    # Where only a part of the first one goes, that one stays.
    return set(identity(data, _whole(parts), ident) for _, ident, _, data, parts in messages
               if data is not None and (ident > first or ident == first and not mark.get('partID')))


def top(path, sid):
    """-> the id of the session at the top of the family of one in a database."""
    with sqlite_ro.held(path) as db:
        if 'parent_id' not in sqlite_ro.columns(db, 'session'):
            return sid
        return top_of(sid, lambda one: word((db.execute('select parent_id from session where id = ?', (one,)).fetchone() or ('',))[0]))


def _whole(parts):
    return [part for part in parts if part is not None]


def _object(raw):
    """-> the dict in a data column, None for anything else."""
    if type(raw) is bytes:
        raw = raw.decode('utf-8', 'replace')
    value = decoded(raw)
    return value if type(value) is dict else None
