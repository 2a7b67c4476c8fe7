"""One pass over one file: events go to the shard as documents and to the analysis as facts.

Used by a build's worker processes and, for small updates, in the process that asks. Writes to a shard only; what it
learns about the file comes back as Pieces, which the one writer of index.db takes in (see ownership).
"""
from zlib import crc32

from .. import analysis
from ..adapters import registry
from ..base.fold import fold_by_runs
from ..base.identity import key_of
from ..base.shapes import shape
from ..events import TOOL_RESULT
from ..records import Coverage
from . import schema
from .documents import document_kind, document_text, ident_of

# A piece is cut after this much, so that a killed build loses little and memory stays bounded.
PIECE_BYTES = 24 << 20
PIECE_FACTS = 20000
_FLUSH_CHARS = 2 << 20
# What code raises that meets a value it was not made for: such a file is named, and the others go on.
FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
# Bytes before the offset that are compared before a grown file is gone on with.
CHECK_BYTES = 4096

Job = shape('Job', (
    'agent', 'source', 'file',       # adapter name, adapters.Source, file id
    'offset', 'line', 'state', 'profile',   # where and how the last reading ended (0, 0, None, None: from the start)
    'searchable',                    # False: analysed, not indexed (replays of a parent conversation)
))
Piece = shape('Piece', (
    'file', 'fresh',                 # fresh: what is known of the file so far is to be replaced
    'offset', 'line', 'open_end', 'check_sum',
    'lines', 'parse_errors', 'unknown_records', 'damaged',   # of this piece alone
    'state', 'profile', 'facts',     # facts: list of (key, Fact)
    'docs',                          # (first, end) document ids of this piece
    'bytes', 'last', 'error',        # last: the file is read to its end; error: why it could not be
))


def check_sum(path, offset):
    """A check sum over the bytes before `offset`: tells a grown file from a rewritten one."""
    start = max(0, offset - CHECK_BYTES)
    from ..records import open_bytes
    with open_bytes(path) as handle:
        handle.seek(start)
        tail = handle.read(offset - start)
        handle.seek(0)
        return crc32(handle.read(min(offset, 512)), crc32(tail))


class ShardWriter(object):
    """Inserts documents into one shard; everything since begin() becomes visible with commit().

    where: path of a shard, or an open connection to one (which stays open).
    """

    def __init__(self, where):
        self.owner = isinstance(where, str)
        self.db = schema.connect(where) if self.owner else where
        if self.owner:
            schema.settle(self.db, wipe=False)
        self.open = False

    def begin(self, docs_end=None):
        """Start a transaction; documents from `docs_end` on belong to a writer that died and go."""
        self.db.execute('begin immediate')
        self.open = True
        self.next = self.db.execute('select id from next_doc').fetchone()[0]
        if docs_end is not None and docs_end < self.next:
            self.db.execute('delete from docs where id >= ?', (docs_end,))
        self._docs, self._prose, self._tools, self._chars = [], [], [], 0

    def add(self, file, event, kind, text):
        """Queue one document."""
        number = self.next
        self.next += 1
        _, _, time, _, _, ident, message, _, _, line, offset, length, part = event
        self._docs.append((number, file, line, offset, length, part, kind, time,
                           ident_of(message or '' if kind == schema.HISTORY_DOC else ident or text)))
        (self._prose if kind < schema.TOOL_KINDS else self._tools).append((number, fold_by_runs(text)))
        self._chars += len(text)
        if self._chars > _FLUSH_CHARS:
            self.flush()

    def flush(self):
        """Hand what is queued to the database."""
        db = self.db
        schema.insert(db, 'insert or replace into docs values (?,?,?,?,?,?,?,?,?)', self._docs)
        db.executemany('insert into prose(rowid, body) values (?,?)', self._prose)
        db.executemany('insert into tools(rowid, body) values (?,?)', self._tools)
        self._docs, self._prose, self._tools, self._chars = [], [], [], 0

    def commit(self):
        """Make everything since begin() durable."""
        self.flush()
        self.db.execute('update next_doc set id = ?', (self.next,))
        self.db.execute('commit')
        self.open = False

    def close(self):
        """Close without keeping an open transaction."""
        if self.open:
            self.db.execute('rollback')
        if self.owner:
            self.db.close()


class NoWriter(object):
    """Stands for a shard where only numbers are wanted."""

    next = 1

    def begin(self, docs_end=None):
        """Nothing to begin."""

    def commit(self):
        """Nothing to keep."""

    def close(self):
        """Nothing to close."""

    def add(self, file, event, kind, text):
        """Drop the document."""


def pieces(job, adapter, writer):
    """Yield the Pieces of one job in order; the last one has last=True. Never raises on content.

    writer: a ShardWriter inside a transaction, or NoWriter(). A file that cannot be opened gives one Piece with error.
    """
    source = job.source
    coverage = Coverage(source.path, job.offset, job.line)
    state = dict(job.state or {})
    fold_ = analysis.FileAnalysis(dict(job.profile or {}))
    fresh = not job.offset and job.profile is None
    searchable = job.searchable and not isinstance(writer, NoWriter)
    if (fresh and source.role in ('agent', 'loose') and not analysis.is_replay(source.chain)
            and not getattr(adapter, 'NAMES_AGENTS', False)):
        fold_.add_agent(source.chain)
    start, first_doc, add = job.offset, writer.next, fold_.add
    counted = [0, 0, 0, 0, 0]
    try:
        for events in adapter.read(source, coverage, job.offset, job.line, state):
            for event in events:
                add(event)
                if searchable and (event.text or event.kind == TOOL_RESULT):
                    kind = document_kind(event)
                    if kind:
                        writer.add(job.file, event, kind, document_text(adapter, source, event))
            if coverage.offset - start > PIECE_BYTES or len(fold_.facts) > PIECE_FACTS:
                yield _piece(job, fresh, coverage, counted, state, fold_, (first_doc, writer.next), start, False)
                fresh, start, first_doc = False, coverage.offset, writer.next
                fold_ = analysis.FileAnalysis(fold_.profile)
                add = fold_.add
    except OSError as error:
        yield _failed(job, first_doc, writer, error.strerror or str(error))
        return
    except FAULTS as error:
        yield _failed(job, first_doc, writer, 'line %d is not understood (%s: %s)' % (coverage.line, type(error).__name__, str(error)[:200]))
        return
    if fresh and not coverage.lines:
        fold_.facts.clear()
    yield _piece(job, fresh, coverage, counted, state, fold_, (first_doc, writer.next), start, True)


def _failed(job, first_doc, writer, why):
    return Piece(job.file, False, job.offset, job.line, 0, 0, 0, 0, 0, [], job.state, job.profile, [], (first_doc, writer.next), 0, True, why)


def _mark(job, offset):
    """-> the check sum a grown file is compared with; 0 where files are never gone on with."""
    if not registry.get(job.agent).GROWS:
        return 0
    try:
        return check_sum(job.source.path, offset)
    except OSError:
        # It went while it was read: the next build sees that.
        return 0


def _piece(job, fresh, coverage, counted, state, fold_, docs, start, last):
    facts = []
    for key, fact in fold_.facts.items():
        if fact[0] == analysis.TURN and fact.extra:
            fact = fact._replace(extra=str(key_of(fact.extra)))
        facts.append((key_of(key), tuple(fact)))
    damaged = [tuple(d) for d in coverage.damaged[counted[3]:]] + [tuple(d) for d in coverage.drifts[counted[4]:]]
    piece = Piece(
        job.file, fresh, coverage.offset, coverage.line, 1 if coverage.open_end else 0,
        _mark(job, coverage.offset), coverage.lines - counted[0], coverage.parse_errors - counted[1],
        coverage.unknown_records - counted[2], damaged, dict(state), dict(fold_.profile), facts, docs,
        coverage.offset - start, last, None)
    counted[:] = [coverage.lines, coverage.parse_errors, coverage.unknown_records, len(coverage.damaged), len(coverage.drifts)]
    return piece
