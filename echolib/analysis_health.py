"""What is wrong with a session's files, told apart: damage, drift of the format, and what is merely worth a note.

Newer kinds of records are no damage: what an adapter knows to pass over counts as nothing here, what it does not know as
drift. Copies by forks and resumed sessions are no damage either.
"""
from collections import namedtuple
from zlib import crc32

from .adapters import registry
from .events import (
    COMPACTION, INTERRUPTION, META, PROMPT, REPLY, SLASH, THINKING, TOOL_CALL, TOOL_RESULT, USAGE, opens_turn)
from .records import Coverage, read_records

# NOTE: nothing is broken; how the session ended, or what lies elsewhere.
DAMAGE, DRIFT, NOTE = 'damage', 'drift', 'note'
Check = namedtuple('Check', 'code level says')
# What a check found in one session. places: some (path, line, what).
Finding = namedtuple('Finding', 'code level count places')
CHECKS = (
    Check('unparseable-lines', DAMAGE, 'lines that are no JSON object, cut or run together'),
    Check('schema-drift', DRIFT, 'records that can be read and are not understood'),
    Check('empty-session', DAMAGE, 'damaged lines, and not one readable record'),
    Check('no-user-prompt', NOTE, 'answers, and no prompt'),
    Check('no-assistant-response', NOTE, 'prompts, and no answer'),
    Check('multiple-session-ids', DAMAGE, 'rows of several sessions mixed, as no copy does'),
    Check('duplicate-uuid', DAMAGE, 'different rows of one id in one file'),
    Check('missing-parent', DAMAGE, 'rows that follow one which is in no file of the agent'),
    Check('missing-leaf', NOTE, 'titles that name a row which is in no file of the agent'),
    Check('unmatched-tool-use', NOTE, 'tool calls without a result, with work going on behind them: the client was ended, or a line is lost'),
    Check('orphan-tool-result', DAMAGE, 'results without a tool call'),
    Check('interrupted-response', NOTE, 'the transcript ends within an answer or a tool call'),
    Check('unanswered-prompt', NOTE, 'the transcript ends behind a prompt'))
LEVELS = dict((check.code, check.level) for check in CHECKS)
_PLACES = 20
_NOBODY = '00000000-0000-0000-0000-000000000000'
_SIGNS = (REPLY, THINKING, TOOL_CALL)


class _End(object):
    """How far a chain of one file went: kind and place of its last event, calls still open {id: place}, why the model stopped."""

    __slots__ = ('kind', 'place', 'open', 'stop')

    def __init__(self):
        self.kind, self.place, self.open, self.stop = None, None, {}, ''


class Health(object):
    """Collects the findings of one session. rows(ids) -> those of these row ids that no file of the agent holds."""

    def __init__(self, agent, rows):
        self.adapter, self.rows = registry.get(agent), rows
        self.found = {}
        self.calls, self.results, self.ends = {}, {}, {}
        self.prompts = self.replies = self.lines = self.bad = 0
        self.stops = False

    def put(self, code, path, line, what=''):
        """Count one thing a check is about."""
        row = self.found.setdefault(code, [0, []])
        row[0] += 1
        if len(row[1]) < _PLACES:
            row[1].append((path, line, what))

    def read(self, source):
        """Take in one file of the session; OSError when it cannot be opened."""
        coverage = Coverage(source.path)
        for events in self.adapter.read(source, coverage):
            for event in events:
                self._event(source, event)
        self.lines += coverage.lines
        self.bad += coverage.parse_errors
        for code, places, count in (('unparseable-lines', coverage.damaged, coverage.parse_errors),
                                    ('schema-drift', coverage.drifts, coverage.unknown_records)):
            for line, why in places:
                self.put(code, source.path, line, why)
            if count > len(places):
                self.found.setdefault(code, [0, []])[0] += count - len(places)
        if source.path.endswith('.jsonl'):
            self._links(source.path)

    def _event(self, source, event):
        kind = event.kind
        if kind == META:
            return
        place = source.path, event.line
        end = self.ends.setdefault((source.path, event.chain), _End())
        if kind == TOOL_CALL:
            self.calls.setdefault(event.id, place)
            end.open[event.id] = place
        elif kind == TOOL_RESULT:
            self.results.setdefault(event.data.call_id, place)
            end.open.pop(event.data.call_id, None)
        elif kind == USAGE:
            end.stop = event.data.stop_reason
            self.stops |= bool(event.data.stop_reason)
            return
        elif kind in (PROMPT, INTERRUPTION, COMPACTION) or kind == REPLY:
            for ident, where in end.open.items():
                # Whoever stops a turn leaves its calls open.
                self.calls[ident] = None if kind == INTERRUPTION else where
            if kind != REPLY:
                end.open.clear()
        if kind == PROMPT and opens_turn(event):
            self.prompts += 1
        if kind in _SIGNS:
            self.replies += 1
        if kind == REPLY and event.label:
            # The client wrote it, whole.
            end.stop = event.label
        if kind in _SIGNS + (PROMPT, INTERRUPTION, TOOL_RESULT, COMPACTION):
            end.kind, end.place = (SLASH if kind == PROMPT and event.label == SLASH else kind), place

    def _links(self, path):
        """What the rows of a file say of each other, where they name each other."""
        seen, wanted, mine = {}, [], []
        for record in read_records(path):
            data = record.data
            uuid, parent, leaf, sid = (data.get(key) for key in ('uuid', 'parentUuid', 'leafUuid', 'sessionId'))
            if isinstance(uuid, str):
                what = crc32(('%s %s' % (record.type, data.get('message')))[:4000].encode('utf-8', 'replace'))
                if seen.setdefault(uuid, what) != what:
                    self.put('duplicate-uuid', path, record.line, uuid)
                if isinstance(sid, str):
                    mine.append((uuid, [key for key in (parent, data.get('logicalParentUuid')) if isinstance(key, str)], sid, record.line))
            if isinstance(parent, str):
                wanted.append((parent, record.line, 'missing-parent'))
            if isinstance(leaf, str) and leaf != _NOBODY:
                wanted.append((leaf, record.line, 'missing-leaf'))
        for sid, line in _strangers(mine):
            self.put('multiple-session-ids', path, line, sid)
        away = self.rows(set(ident for ident, _, _ in wanted if ident not in seen))
        for ident, line, code in wanted:
            if ident in away:
                self.put(code, path, line, ident)

    def findings(self, main, live=False):
        """-> list of Findings in the order of CHECKS. main: path of the main file; live: it may still be written to."""
        if self.bad and self.lines <= self.bad:
            self.put('empty-session', main, 0)
        for ident, place in self.results.items():
            if ident not in self.calls:
                self.put('orphan-tool-result', place[0], place[1], ident)
        left = {}
        for end in self.ends.values():
            for ident, place in end.open.items():
                if ident not in self.results:
                    left[ident] = place
        for ident, place in self.calls.items():
            if place is not None and ident not in self.results and ident not in left:
                self.put('unmatched-tool-use', place[0], place[1], ident)
        if self.replies and not self.prompts and (main, '') in self.ends:
            self.put('no-user-prompt', main, 0)
        if not live:
            self._unfinished(main, left)
        return [Finding(check.code, check.level, *self.found[check.code]) for check in CHECKS if check.code in self.found]

    def _unfinished(self, main, left):
        last = self.ends.get((main, ''))
        if last is None:
            return
        if last.kind == PROMPT:
            self.put('unanswered-prompt' if self.replies else 'no-assistant-response', *last.place)
        mine = [place for ident, place in sorted(left.items()) if ident in last.open]
        if mine:
            for place in mine:
                self.put('interrupted-response', *place)
        elif last.kind in _SIGNS and self.stops and not last.stop:
            self.put('interrupted-response', *last.place)


def _strangers(rows):
    """-> list of (session id, line) of conversations in a file that hang together neither by a row nor by a session with its
    first one. A fork's copies, mixed as they may be, follow each other. rows: list of (id, ids before it, session, line)."""
    top = {}

    def root(key):
        while top.setdefault(key, key) != key:
            top[key] = key = top[top[key]]
        return key
    if len(set(sid for _, _, sid, _ in rows)) < 2:
        return []
    for uuid, before, sid, _ in rows:
        for other in before + [('session', sid)]:
            top[root(other)] = root(uuid)
    first, out = root(rows[0][0]), {}
    for uuid, _, sid, line in rows:
        if root(uuid) != first:
            out.setdefault(root(uuid), (sid, line))
    return sorted(out.values(), key=lambda entry: entry[1])


def check(agent, sources, rows, live=False):
    """-> list of Findings of one session. sources: its files, the main one first; rows: see Health. OSError when its main
    file cannot be opened."""
    health = Health(agent, rows)
    for source in sources:
        health.read(source)
    return health.findings(sources[0].path, live)
