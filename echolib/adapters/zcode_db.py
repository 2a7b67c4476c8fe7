"""ZCode's database: which sessions it holds, what tells that one of them changed, and the records of one of them.

The tables come from OpenCode's; their columns drift, so each is asked for before it is named.
"""
from zlib import crc32

from ..base import sqlite_ro
from ..base.clock import parse_time
from ..events import INTERRUPTION, META, REPLY, USAGE
from . import zcode_usage
from .inside import top_of
from .values import decoded, word
from .zcode import Entry, entries
from .zcode_parse import CALL, MESSAGE, SESSION, TURN, Maker, Parser, code, session_events

_SESSION = ('id', 'parent_id', 'slug', 'directory', 'title', 'task_type', 'version', 'time_created', 'time_updated')
_TURN = ('turn_id', 'started_at', 'completed_at', 'error_type', 'error_message', 'cancelled_by_user', 'status')
_TABLES = ('message', 'part', zcode_usage.TABLE, 'turn_usage')
# A session active within this time of the file's last change is taken to be what changed: rows are updated in place.
_RECENT = 15 * 60 * 1000


def _have(db, path):
    """-> {table: its columns} of the tables that are read."""
    have = dict((table, sqlite_ro.columns(db, table)) for table in _TABLES + ('session',))
    if not any(have.values()):
        if db.execute('select count(*) from sqlite_master').fetchone()[0]:
            raise sqlite_ro.Unreadable(path, 'the database holds none of the tables this version knows (session, message, model_usage)')
        return have
    for table in _TABLES:
        if have[table] and 'session_id' not in have[table]:
            have[table] = ()
    if 'id' not in have['session']:
        have['session'] = ()
    return have


def asked(path):
    """-> list of the Entries of a database, by id. Raises sqlite_ro.Unreadable."""
    with sqlite_ro.held(path) as db:
        have = _have(db, path)
        found = {}      # id: [parent, time, what would change with it, {table: rows}]
        if have['session']:
            for row in db.execute('select %s from session' % sqlite_ro.fields(have['session'], _SESSION)):
                if row[0].__class__ is str and row[0]:
                    found[row[0]] = [word(row[1]), max(parse_time(row[7]) or 0, parse_time(row[8]) or 0), [row], {}]
        for table, more in (('message', ()), ('turn_usage', ('completed_at', 'cancelled_by_user'))):
            if have[table]:
                for row in db.execute('select session_id, count(*), max(rowid)%s from %s group by session_id' % (
                        ''.join(', total(%s)' % name for name in more if name in have[table]), table)):
                    _note(found, row[0], table, row[1], row, None)
        calls = zcode_usage.by_session(db, have[zcode_usage.TABLE])
        for row in calls:
            _note(found, row[0], zcode_usage.TABLE, row[2], row, row[4])
    beside = repr(sorted(zcode_usage.decided((row[1], row[6], row[7]) for row in calls).items()))
    now = sqlite_ro.state(path)
    changed = max(stat[1] for stat in now if stat) // 1000000
    out = []
    for sid, (parent, time, said, rows) in sorted(found.items()):
        if time >= changed - _RECENT:
            said.append(now)
        out.append(Entry(sid, parent, time, crc32((repr(said) + beside).encode('utf-8', 'replace')), rows.get('message', 0),
                         rows.get(zcode_usage.TABLE, 0), sum(rows.values())))
    return out


def _note(found, sid, table, count, row, time):
    if sid.__class__ is not str or not sid:
        return
    one = found.get(sid)
    if one is None:
        one = found[sid] = ['', 0, [], {}]
    one[2].append(row)
    one[3][table] = one[3].get(table, 0) + count
    if time is not None:
        one[1] = max(one[1], parse_time(time) or 0)


def tops(path):
    """-> {id: id of the session at the top of its family} of the sessions in a database."""
    found = entries(path)
    return dict((sid, top_of(sid, lambda one: found[one].parent if one in found else '')) for sid in found)


class Reader(object):
    """Reads one session of an open database.

    counts (dict): rows of each table the session has, filled by the constructor.
    """

    def __init__(self, db, path, sid, chain, coverage, state=None):
        self.db, self.sid, self.coverage = db, sid, coverage
        self.have = _have(db, path)
        self.counts = dict((table, db.execute('select count(*) from %s where session_id = ?' % table, (sid,)).fetchone()[0]
                            if self.have[table] else 0) for table in _TABLES)
        self.parser = Parser(sid, chain, coverage, bool(self.counts['turn_usage']), state)
        self._beside = None

    def session(self):
        """-> list of Events of the session's own row."""
        if not self.have['session']:
            return []
        row = self.db.execute('select rowid, %s from session where id = ?' % sqlite_ro.fields(self.have['session'], _SESSION), (self.sid,)).fetchone()
        return session_events(self.parser, dict(zip(_SESSION, row[1:])), code(SESSION, row[0])) if row else []

    def records(self, counted=False):
        """Yield lists of Events: messages in their order, calls and ended turns between them by time.

        counted: take tokens from the messages.
        """
        waiting = sorted(self._calls() + self._turns(), key=lambda item: (item[0] is not None, item[0] or 0, item[1], item[2]))
        waiting.reverse()
        for number, ident, raw, created, updated in self._messages():
            time = parse_time(created)
            while waiting and time is not None and (waiting[-1][0] is None or waiting[-1][0] < time):
                yield self._counted(waiting.pop()[3])
            yield self._counted(self._message, number, ident, raw, created, self._parts_of.get(ident, ()), counted)
        while waiting:
            yield self._counted(waiting.pop()[3])

    def _counted(self, make, *args):
        coverage = self.coverage
        coverage.lines += 1
        coverage.line += 1
        return make(*args)

    # messages

    def _messages(self):
        """Yield the session's rows of `message` in order; where the parts of each lie is known after the first."""
        have = self.have['message']
        if not have or 'data' not in have:
            return
        self._parts_of = self._places()
        order = [name for name in ('sequence', 'time_created') if name in have]
        for row in self.db.execute('select rowid, %s from message where session_id = ? order by %s' % (
                sqlite_ro.fields(have, ('id', 'data', 'time_created', 'time_updated')),
                ', '.join(['%s is null, %s' % (name, name) for name in order] + ['rowid'])), (self.sid,)):
            yield row

    def _places(self, message=None):
        """-> {message id: row ids of its parts, in order}, of one message or all; their data is fetched message by message."""
        have = self.have['part']
        out = {}
        if have and 'message_id' in have and 'data' in have:
            order = [name for name in ('sequence', 'time_created', 'id') if name in have]
            sql = 'select message_id, rowid from part where session_id = ?%s order by %s' % (
                '' if message is None else ' and message_id = ?', ', '.join(['%s is null, %s' % (name, name) for name in order] + ['rowid']))
            for found, number in self.db.execute(sql, (self.sid,) if message is None else (self.sid, message)):
                out.setdefault(found, []).append(number)
        return out

    def _message(self, number, ident, raw, created, places, counted):
        line, offset = self.coverage.line, code(MESSAGE, number)
        data = _object(raw)
        self.coverage.offset += _size(raw)
        if data is None:
            self.coverage.damage(line, 'not an object (a message)')
            return []
        parts = []
        for place in places:
            key, when, text = self.db.execute('select %s from part where rowid = ?' % sqlite_ro.fields(
                self.have['part'], ('id', 'time_created', 'data')), (place,)).fetchone() or (None, None, None)
            self.coverage.offset += _size(text)
            parts.append((word(key), _object(text), when))
        self.coverage.lines += len(parts)
        return self.parser.message(word(ident) or 'row%d' % number, data, created, parts, line, offset, counted)

    # the ledger

    def _beside_of(self, row):
        if self._beside is None:
            self._beside = zcode_usage.conventions(self.db, self.have[zcode_usage.TABLE])
        return self._beside.get(word(row['provider_id']), False)

    def _calls(self):
        have = self.have[zcode_usage.TABLE]
        if not have:
            return []
        return [(zcode_usage.time_of(row), CALL, number, lambda number=number, row=row: self._call(number, row))
                for number, row in zcode_usage.rows_of(self.db, have, self.sid)]

    def _call(self, number, row):
        make = Maker(self.parser, zcode_usage.time_of(row), self.coverage.line, code(CALL, number), 0)
        use = zcode_usage.usage_of(row, self._beside_of(row))
        if use is not None:
            make.add(USAGE, '', zcode_usage.key_of(row, number), '', use)
        elif word(row['status']).lower() not in ('running', 'pending'):
            make.add(META, 'retry', zcode_usage.key_of(row, number))
        return make.out

    def _turns(self):
        have = self.have['turn_usage']
        if not have:
            return []
        out = []
        for row in self.db.execute('select rowid, %s from turn_usage where session_id = ?' % sqlite_ro.fields(have, _TURN), (self.sid,)):
            data = dict(zip(_TURN, row[1:]))
            time = parse_time(data['completed_at']) or parse_time(data['started_at'])
            out.append((time, TURN, row[0], lambda number=row[0], data=data, time=time: self._turn(number, data, time)))
        return out

    def _turn(self, number, data, time):
        make = Maker(self.parser, time, self.coverage.line, code(TURN, number), 0)
        error = word(data['error_type'])
        ident = 'turn/%s' % (data['turn_id'] if data['turn_id'] not in (None, '') else number)
        if data['cancelled_by_user'] in (1, True, '1') or error == 'turn_cancelled':
            if not self.parser.chain:
                make.add(INTERRUPTION, '', ident)
        elif error:
            make.add(REPLY, 'api_error', ident, word(data['error_message']) or error)
        return make.out

    # one record again

    def at(self, kind, number, counted=False):
        """-> list of Events of the record that an offset names, [] when it is no longer this session's."""
        if kind == SESSION:
            return self.session()
        table = {MESSAGE: 'message', CALL: zcode_usage.TABLE, TURN: 'turn_usage'}.get(kind)
        if table is None or not self.have[table]:
            return []
        if self.db.execute('select 1 from %s where rowid = ? and session_id = ?' % table, (number, self.sid)).fetchone() is None:
            return []
        if kind == CALL:
            return self._call(number, zcode_usage.row_at(self.db, self.have[table], number))
        if kind == TURN:
            return next((make() for _, _, one, make in self._turns() if one == number), [])
        row = self.db.execute('select %s from message where rowid = ?' % sqlite_ro.fields(
            self.have['message'], ('id', 'data', 'time_created')), (number,)).fetchone()
        return self._message(number, row[0], row[1], row[2], self._places(row[0]).get(row[0], ()), counted)


def _size(raw):
    return len(raw) if raw.__class__ in (str, bytes) else 0


def _object(raw):
    """-> the dict in a data column, None for anything else."""
    if type(raw) is bytes:
        raw = raw.decode('utf-8', 'replace')
    value = decoded(raw)
    return value if type(value) is dict else None
