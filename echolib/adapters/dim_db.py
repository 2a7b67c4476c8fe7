"""DimCode's database: its sessions, what tells that one of them changed, and their messages and runs as events.

A run is what the agent does for one prompt; its tokens stand in usage_run_stats once it is over, one row each, no running
totals. The other tables of usage sum up the same rows.
"""
import os
from zlib import crc32

from ..base import sqlite_ro
from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, UNKNOWN, USAGE, Event,
    ToolResult)
from .dim import Entry
from .values import classify, content_text, count, decoded, first, images, inner, result_text, tool_input, uncached, usage, word

_SESSION = ('sessionId', 'cwd', 'title', 'status', 'createdAt', 'updatedAt')
_MESSAGE = ('messageId', 'role', 'parts', 'attachments', 'toolMetadata', 'metadata', 'createdAt')
_RUN = ('runId', 'sessionId', 'providerId', 'modelId', 'status', 'startedAt', 'endedAt', 'inputTokens', 'outputTokens', 'totalTokens',
        'cacheReadTokens', 'cacheWriteTokens', 'cost')
_TABLES = ('sessions', 'messages', 'usage_run_stats', 'permission_decisions')
# What lies at an event's offset: the number in the low two bits; the rest is a row id.
_SESSION_ROW, _MESSAGE_ROW, _RUN_ROW = range(3)
_FAILED = frozenset('failed error errored'.split())
_STOPPED = frozenset('cancelled canceled aborted interrupted stopped'.split())
_REFUSED = frozenset('denied rejected declined deny'.split())
_NAMES_CALL = ('toolCallId', 'toolUseId', 'callId')
# A session active within this time of the file's last change is taken to be what changed: rows are updated in place.
_RECENT = 15 * 60 * 1000


def _have(db, path):
    """-> {table: its columns} of the tables that are read."""
    have = dict((table, sqlite_ro.columns(db, table)) for table in _TABLES)
    for table in _TABLES:
        if 'sessionId' not in have[table]:
            have[table] = ()
    if not (have['sessions'] or have['messages'] or have['usage_run_stats']) and db.execute('select count(*) from sqlite_master').fetchone()[0]:
        raise sqlite_ro.Unreadable(path, 'the database holds none of the tables this version knows (sessions, messages, usage_run_stats)')
    return have


def asked(path):
    """-> list of the Entries of a database, by id. Raises sqlite_ro.Unreadable."""
    with sqlite_ro.held(path) as db:
        have = _have(db, path)
        found = {}      # id: [time, what would change with it, rows]
        if have['sessions']:
            for row in db.execute('select %s from sessions' % sqlite_ro.fields(have['sessions'], _SESSION)):
                found[row[0]] = [max(parse_time(row[4]) or 0, parse_time(row[5]) or 0), [row], 0]
        for table, last in (('messages', 'updatedAt'), ('usage_run_stats', 'updatedAt'), ('permission_decisions', None)):
            if not have[table]:
                continue
            for row in db.execute('select sessionId, count(*), max(rowid), %s from %s group by sessionId' % (
                    'max(%s)' % last if last in have[table] else 'null', table)):
                one = found.setdefault(row[0], [0, [], 0])
                one[0] = max(one[0], parse_time(row[3]) or 0)
                one[1].append(row)
                one[2] += row[1]
    now = sqlite_ro.state(path)
    changed = max(stat[1] for stat in now if stat) // 1000000
    out = []
    for sid in sorted(sid for sid in found if sid.__class__ is str and sid and found[sid][2]):
        time, said, rows = found[sid]
        if time >= changed - _RECENT:
            said.append(now)
        out.append(Entry(sid, 600 * rows, time * 1000000 + crc32(repr(said).encode('utf-8', 'replace')) % 1000000))
    return out


def usage_of(row):
    """-> Usage of a run, None for one that cost nothing.

    Whether the input counter holds what came from the cache is told by the total: input + output says it does (or that
    nobody counts it), the sum of all four that it does not.
    """
    sent, output = count(row['inputTokens']), count(row['outputTokens'])
    read, written, total = count(row['cacheReadTokens']), count(row['cacheWriteTokens']), count(row['totalTokens'])
    if not (sent or output or read or written):
        return None
    beside = bool(read or written) and total == sent + output + read + written
    return usage(word(row['modelId']).strip(), uncached(sent, read, written, beside), output, read, written)


def billed_rows(path, session):
    """-> list of dicts of the ledger's runs of a session: key, time, model, provider, status, the four counts that do not
    overlap (input, output, cache_read, cache_write), and cost as the program gives it (text, USD)."""
    out = []
    with sqlite_ro.opened(path) as db:
        have = _have(db, path)['usage_run_stats']
        if not have:
            return []
        for row in db.execute('select %s from usage_run_stats where sessionId = ? order by rowid' % sqlite_ro.fields(have, _RUN), (session,)):
            data = dict(zip(_RUN, row))
            use = usage_of(data)
            if use is not None:
                out.append({'key': '%s/run/%s' % (session, data['runId']), 'time': _time_of(data), 'model': use.model,
                            'provider': word(data['providerId']), 'status': word(data['status']), 'input': use.input, 'output': use.output,
                            'cache_read': use.cache_read, 'cache_write': use.cache_write_5m, 'cost': word(data['cost'])})
    return out


def _time_of(run):
    ended = parse_time(run['endedAt'])
    return parse_time(run['startedAt']) if ended is None else ended


class Reader(object):
    """Reads one session of an open database."""

    def __init__(self, db, path, sid, coverage):
        self.db, self.sid, self.coverage = db, sid, coverage
        self.have = _have(db, path)
        self.turn = 0
        self.denied = self._denied()
        self._answered = None

    def _denied(self):
        """-> set of ids of the calls that the person did not allow."""
        have = self.have['permission_decisions']
        named = [name for name in _NAMES_CALL if name in have]
        if not named or 'decision' not in have:
            return set()
        return set(row[0] for row in self.db.execute("select %s from permission_decisions where sessionId = ? and decision like 'den%%'" % named[0],
                                                     (self.sid,)))

    def answered(self):
        """-> set of ids of the calls that have a result of their own."""
        if self._answered is None:
            have = self.have['messages']
            rows = self.db.execute('select toolMetadata, parts from messages where sessionId = ? and role = ?', (self.sid, 'tool_result')) \
                if 'toolMetadata' in have and 'role' in have and 'parts' in have else ()
            self._answered = set()
            for said, parts in rows:
                named = first(decoded(said) or {}, *_NAMES_CALL) if type(decoded(said)) is dict else ''
                self._answered.update([named] if named else [_call_of(one) for one in decoded(parts) or () if type(one) is dict])
        return self._answered

    def records(self):
        """Yield lists of Events: the session's own row, then messages in their order with the runs that ended between them."""
        if self.have['sessions']:
            row = self.db.execute('select rowid, %s from sessions where sessionId = ?' % sqlite_ro.fields(self.have['sessions'], _SESSION), (self.sid,)).fetchone()
            if row:
                yield self._session(row[0], dict(zip(_SESSION, row[1:])))
        runs = []
        if self.have['usage_run_stats']:
            for row in self.db.execute('select rowid, %s from usage_run_stats where sessionId = ?' % sqlite_ro.fields(self.have['usage_run_stats'], _RUN), (self.sid,)):
                data = dict(zip(_RUN, row[1:]))
                runs.append((_time_of(data) or 0, row[0], data))
        runs.sort(key=lambda run: run[:2], reverse=True)
        latest = 0
        for number, data in self._messages():
            # Rows stand in their own order; a run goes before the first message behind its end.
            latest = max(latest, parse_time(data['createdAt']) or 0)
            while runs and runs[-1][0] < latest:
                yield self._counted(self._run, *runs.pop()[1:])
            yield self._counted(self._message, number, data)
        while runs:
            yield self._counted(self._run, *runs.pop()[1:])

    def _messages(self):
        have = self.have['messages']
        if not have:
            return
        order = ['orderKey'] if 'orderKey' in have else ['createdAt'] if 'createdAt' in have else []
        for row in self.db.execute('select rowid, %s from messages where sessionId = ? order by %s' % (
                sqlite_ro.fields(have, _MESSAGE), ', '.join(order + ['rowid'])), (self.sid,)):
            yield row[0], dict(zip(_MESSAGE, row[1:]))

    def _counted(self, make, *args):
        self.coverage.lines += 1
        self.coverage.line += 1
        self.line = self.coverage.line
        return make(*args)

    def _start(self, time, number, kind, message=None):
        self.time, self.offset, self.message, self.out = time, number * 4 + kind, message, []

    def _add(self, kind, label, ident, text='', data=None):
        ident = '%s/%s' % (self.sid, ident) if ident is not None else None
        message = self.message if kind in (REPLY, THINKING, TOOL_CALL) else None
        self.out.append(Event(kind, label, self.time, '', self.turn, ident, message, text, data, self.line, self.offset, 0, len(self.out)))

    line = 0

    def _session(self, number, data):
        self._start(parse_time(data['createdAt']), number, _SESSION_ROW)
        self.line = 0
        for label, value in (('cwd', word(data['cwd'])), ('ai-title', word(data['title']).strip())):
            if value:
                self._add(META, label, None, value)
        return self.out

    def _run(self, number, data):
        self._start(_time_of(data), number, _RUN_ROW)
        ident = 'run/%s' % data['runId']
        use = usage_of(data)
        if use is not None:
            self._add(USAGE, '', ident, '', use)
        status = word(data['status']).lower()
        if status in _STOPPED:
            self._add(INTERRUPTION, '', ident + '/stopped')
        elif status in _FAILED:
            self._add(REPLY, 'api_error', ident + '/failed', 'the run failed')
        return self.out

    def _message(self, number, data):
        ident = word(data['messageId']) or 'row%d' % number
        self._start(parse_time(data['createdAt']), number, _MESSAGE_ROW, '%s/%s' % (self.sid, ident))
        self.coverage.offset += len(data['parts']) if type(data['parts']) is str else 0
        parts = decoded(data['parts'])
        if type(parts) is not list:
            # Text alone is a message too.
            parts = [{'type': 'text', 'text': data['parts']}] if type(data['parts']) is str and data['parts'][:1] not in '[{' else None
        if parts is None:
            self.coverage.damage(self.line, 'not an object (parts of a message)')
            return self.out
        said = decoded(data['toolMetadata'])
        said = said if type(said) is dict else {}
        role = word(data['role']).lower()
        parts = [one for one in parts if type(one) is dict]
        if role == 'user':
            self._user(ident, parts, data)
        elif role in ('assistant', 'tool_result', 'tool'):
            for place, part in enumerate(parts):
                self._part('%s.%d' % (ident, place), part, said)
            self._unanswered(said)
        elif role == 'system':
            text = content_text(parts)
            if text:
                self._add(INJECTED, 'system', ident, text)
        else:
            self._unknown('message role %s' % (role[:40] or 'missing'))
        return self.out

    def _user(self, ident, parts, data):
        text = content_text([one for one in parts if one.get('type') in ('text', 'image', None)])
        if text.strip():
            kind, label, shown = classify(text)
            if kind == PROMPT:
                self.turn += 1
            self._add(kind, label, ident, shown, images(shown) if kind == PROMPT else None)
        attached = decoded(data['attachments'])
        names = [first(one, 'name', 'filename', 'path') for one in attached if type(one) is dict] if type(attached) is list else []
        if any(names):
            self._add(INJECTED, ATTACHMENT, ident + '/attached', '\n'.join(name for name in names if name))
        for place, part in enumerate(parts):
            if part.get('type') == 'tool_result':
                self._part('%s.%d' % (ident, place), part, {})

    def _part(self, ident, part, said):
        kind = word(part.get('type'))
        if kind == 'text':
            text = content_text(part)
            if text.strip():
                self._add(REPLY, '', ident, text)
        elif kind in ('thinking', 'reasoning'):
            text = first(part, 'thinking', 'text', 'content')
            if text.strip():
                self._add(THINKING, '', ident, text)
        elif kind in ('tool_use', 'tool_call'):
            function = inner(part, 'function')
            given = part.get('input') if part.get('input') is not None else function.get('arguments', part.get('arguments'))
            given, text = tool_input(given)
            self._add(TOOL_CALL, first(part, 'name', 'toolName') or first(function, 'name') or '(unnamed)', _call_of(part) or ident, text, given)
        elif kind == 'tool_result':
            call = _call_of(part) or first(said, *_NAMES_CALL) or ident
            text = result_text(part.get('content')) or result_text(part.get('structuredContent'))
            status = word(said.get('status')).lower()
            label = OK
            if call in self.denied or status in _REFUSED:
                label = DECLINED
            elif status in _FAILED or status in _STOPPED or part.get('is_error') is True:
                label = ERROR
            self._result(call, label, text)
        elif kind not in ('image', 'file', 'step-start', 'step-finish'):
            self._unknown('part type %s' % (kind[:40] or 'missing'))

    def _result(self, call, label, text):
        self._add(TOOL_RESULT, label, call + '/result', text, ToolResult('%s/%s' % (self.sid, call), ''))

    def _unanswered(self, said):
        """What an answer says of calls that have no result of their own: refused, stopped or failed."""
        calls = said.get('toolCalls')
        for one in calls if type(calls) is list else ():
            call = first(one, 'id', *_NAMES_CALL) if type(one) is dict else ''
            status = word(one.get('status')).lower() if call else ''
            if (status in _REFUSED or status in _STOPPED or status in _FAILED) and call not in self.answered():
                self._result(call, DECLINED if status in _REFUSED or call in self.denied else ERROR, '')

    def _unknown(self, why):
        self.coverage.drift(self.line, why)
        self._add(UNKNOWN, why, None)

    def at(self, kind, number):
        """-> list of Events of the record that an offset names, [] when it is no longer this session's."""
        table, columns = {_SESSION_ROW: ('sessions', _SESSION), _MESSAGE_ROW: ('messages', _MESSAGE), _RUN_ROW: ('usage_run_stats', _RUN)}.get(kind, ('', ()))
        if not table or not self.have[table]:
            return []
        row = self.db.execute('select %s from %s where rowid = ? and sessionId = ?' % (sqlite_ro.fields(self.have[table], columns), table),
                              (number, self.sid)).fetchone()
        make = {'sessions': self._session, 'messages': self._message, 'usage_run_stats': self._run}[table]
        return make(number, dict(zip(columns, row))) if row else []


def _call_of(part):
    return first(part, 'tool_use_id', 'toolUseId', 'toolCallId', 'tool_call_id', 'callId', 'id')


def read(source, coverage):
    """See dim.read."""
    path = os.path.dirname(source.path)
    # A session is read whole: said to end in the middle of a line, it is never gone on with.
    coverage.open_end = True
    with sqlite_ro.held(path) as db:
        for events in Reader(db, path, source.session, coverage).records():
            yield events


def events_at(source, offset):
    """See dim.events_at."""
    from ..records import Coverage
    path = os.path.dirname(source.path)
    with sqlite_ro.held(path) as db:
        return Reader(db, path, source.session, Coverage(source.path)).at(offset % 4, offset // 4)
