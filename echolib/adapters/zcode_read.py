"""One ZCode session from all places that hold a part of it: which is read for what, and the events of each."""
import os

from ..base import sqlite_ro
from . import zcode
from .zcode_parse import ROLLOUT, SNAPSHOT, TRACE, Parser


class _Places(object):
    """Where a session can be read: db, trace, rollout ('' where there is none)."""

    def __init__(self, path):
        self.kind, root, self.sid = zcode.place_of(path)
        self.path = path
        self.db = os.path.dirname(path) if self.kind == 'db' else ''
        self.trace = path if self.kind == 'trace' else ''
        self.rollout = path if self.kind == 'rollout' else ''
        if root:
            self.rollout = self.rollout or _there(os.path.join(root, 'cli', 'rollout', 'model-io-%s.jsonl' % self.sid))
            if not self.trace and self.kind == 'db':
                self.trace = _trace(os.path.join(root, 'cli', 'agents'), self.sid)


def _there(path):
    try:
        return path if os.path.isfile(path) else ''
    except ValueError:
        return ''


def _trace(top, sid):
    """-> the trace of a subagent, whichever session's folder it lies in."""
    name = sid[len('sess_subagent_'):] if sid.startswith('sess_subagent_') else sid
    try:
        for session in sorted(os.listdir(top)):
            for one in (name, sid):
                found = _there(os.path.join(top, session, one, 'transcript.jsonl'))
                if found:
                    return found
    except OSError:
        # Most homes have no such folder.
        return ''
    return ''


def read(source, coverage, state):
    """See zcode.read."""
    from . import zcode_trace
    places = _Places(source.path)
    chain = source.chain if source.role != 'main' else ''
    if places.kind == 'snapshot':
        return _snapshot(places, chain, coverage, state)
    calls = ''
    if places.rollout and zcode_trace.has_calls(places.rollout):
        calls = 'rollout'
    elif places.trace:
        calls = 'trace'
    if places.kind == 'db':
        return _database(places, chain, coverage, state, calls)
    parser = Parser(places.sid, chain, coverage, state=state)
    return _files(places, parser, coverage, 'trace' if places.trace else 'rollout', calls)


def _files(places, parser, coverage, text, calls):
    """Yield what the files beside the database say. text, calls: which of them each is taken from ('' for neither)."""
    from . import zcode_trace
    for name, path, machine in (('trace', places.trace, zcode_trace.Trace), ('rollout', places.rollout, zcode_trace.Rollout)):
        if path and name in (text, calls):
            for events in zcode_trace.read_lines(path, coverage, machine(parser, name == text, name == calls)):
                yield events


def _database(places, chain, coverage, state, calls):
    from .zcode_db import Reader
    with sqlite_ro.held(places.db) as db:
        reader = Reader(db, places.db, places.sid, chain, coverage, state)
        yield reader.session()
        ledger, messages = reader.counts['model_usage'], reader.counts['message']
        for events in reader.records(not ledger and not calls):
            yield events
        text = '' if messages else 'trace' if places.trace else 'rollout'
        for events in _files(places, reader.parser, coverage, text, '' if ledger else calls):
            yield events


def _snapshot(places, chain, coverage, state):
    from . import zcode_trace
    meta, messages = zcode_trace.snapshot(places.path)
    if messages is None:
        coverage.lines += 1
        coverage.damage(1, 'not an object with messages')
        return
    parser = Parser(places.sid, chain, coverage, state=state)
    yield zcode_trace.snapshot_head(parser, meta)
    for number, message in enumerate(messages, 1):
        coverage.lines += 1
        coverage.line = number
        coverage.offset += 1
        yield zcode_trace.snapshot_message(parser, message, number)


def events_at(source, offset):
    """See zcode.events_at."""
    from ..records import Coverage
    from . import zcode_trace
    places = _Places(source.path)
    kind, value = offset % 8, offset // 8
    parser = Parser(places.sid, source.chain if source.role != 'main' else '', Coverage(source.path))
    if kind == SNAPSHOT:
        meta, messages = zcode_trace.snapshot(places.path)
        if not value:
            return zcode_trace.snapshot_head(parser, meta)
        return zcode_trace.snapshot_message(parser, messages[value - 1], value) if messages and value <= len(messages) else []
    if kind in (TRACE, ROLLOUT):
        path = places.trace if kind == TRACE else places.rollout
        machine = zcode_trace.Trace(parser) if kind == TRACE else zcode_trace.Rollout(parser)
        return zcode_trace.events_from(path, value, machine) if path else []
    if not places.db:
        return []
    from .zcode_db import Reader
    with sqlite_ro.held(places.db) as db:
        return Reader(db, places.db, places.sid, parser.chain, parser.coverage).at(kind, value)
