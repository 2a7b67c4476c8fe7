"""Bytes to records: tolerant reading of JSON lines, with coverage, from any offset, forwards or backwards.

Owns the one rule of what a line gives (a record, damage, nothing yet).  Knows no agent: what is noise is told by
the caller.  Never raises on content; only opening a file may fail (OSError).
"""
import io
import os

from .base.bounded_json import LARGE, scan_once as _scan, too_much
from .base.files import open_regular
from .base.patterns import Pattern
from .base.shapes import shape

# Errors kept one by one; beyond that they are only counted.
MAX_ERRORS = 200
_BLOCK = 1 << 18
ZEROS = 'zero bytes'
_BOM = b'\xef\xbb\xbf'

Damage = shape('Damage', 'line reason')  # line number (from 1), what is wrong with it


class Record(shape('Record', 'data line offset length')):
    """One JSON object of a file: data (dict), line (from 1), byte offset and length of its line."""

    __slots__ = ()

    @property
    def type(self):
        """The record's own `type`, or ''."""
        kind = self.data.get('type')
        return kind if isinstance(kind, str) else ''

    @property
    def timestamp(self):
        """The record's own `timestamp` as written, or None."""
        return self.data.get('timestamp')

    @property
    def message(self):
        """The record's `message` object, {} when it has none."""
        message = self.data.get('message')
        return message if isinstance(message, dict) else {}


class Coverage(object):
    """What reading a file gave: counters, the first damaged lines, and where the next reading goes on.

    lines: non-blank lines; parse_errors: lines that gave no clean record; unknown_records: readable, not
    understood; damaged: list of Damage (at most MAX_ERRORS); unfinished: bytes of a last line still being written;
    offset: where a reader of the grown file starts; line: number of the last line before it;
    open_end: the last line had no line end but was whole.
    """

    __slots__ = ('path', 'lines', 'parse_errors', 'unknown_records', 'damaged', 'unfinished', 'offset', 'line',
                 'open_end', 'drifts')

    def __init__(self, path='', offset=0, line=0):
        self.path = path
        self.lines = self.parse_errors = self.unknown_records = self.unfinished = 0
        self.damaged = []
        self.drifts = []
        self.offset, self.line = offset, line
        self.open_end = False

    def damage(self, line, reason):
        """Count a damaged line."""
        self.parse_errors += 1
        if len(self.damaged) < MAX_ERRORS:
            self.damaged.append(Damage(line, reason))

    def drift(self, line, reason):
        """Count a record that is readable but not what its type promises, or of a type nobody knows."""
        self.unknown_records += 1
        if len(self.drifts) < MAX_ERRORS:
            self.drifts.append(Damage(line, reason))

    def add(self, other):
        """Sum another coverage (of another file of the tree) into this one."""
        self.lines += other.lines
        self.parse_errors += other.parse_errors
        self.unknown_records += other.unknown_records

    def messages(self):
        """The damage as texts 'path:line: reason'."""
        return ['%s:%d: %s' % (self.path, d.line, d.reason) for d in self.damaged]


_WHITE = ' \t\r\n'
_BETWEEN = Pattern('[\\0 \t\r\n]*')


def parse_line(line):
    """-> (list of dicts, reason or None) for one line of bytes.

    A clean line gives one object and no reason.  Damage gives a reason and whatever whole objects could be saved
    (a stub glued to the next record, two records on one line).  A line of blanks gives ([], None).  A line of more
    values than fit in memory is not looked into.
    """
    why = too_much(line)
    if why is not None:
        return (), why
    try:
        text = line.decode('utf-8')
    except UnicodeDecodeError:
        text = line.decode('utf-8', 'replace')
    try:
        value, end = _scan(text, 0)
        if end >= len(text) - 2 and not text[end:].strip(_WHITE):
            if type(value) is dict:
                return (value,), None
            return (), 'not an object'
    except (StopIteration, ValueError, RecursionError):
        # Not the plain case: the slow way says what it is.
        pass
    return _parse_hard(text)


def _parse_hard(text):
    """The slow way: byte order mark, NUL padding, blanks, damage and what can be saved of it."""
    text = text.strip('\ufeff').strip(_WHITE)
    if not text:
        return (), None
    bare = text.strip('\0' + _WHITE)
    if not bare:
        return (), ZEROS
    try:
        value, end = _scan(bare, 0)
    except StopIteration:
        return _salvage(bare, 'not JSON')
    except RecursionError:
        return (), 'nested too deep'
    except ValueError as error:
        value = _with_controls(bare) if 'control character' in str(error) else None
        if value is not None:
            return (value,), 'control characters within a text'
        return _salvage(bare, 'cut or broken JSON (%s)' % (str(error).split(':')[0][:60] or 'syntax'))
    if not bare[end:].strip('\0' + _WHITE):
        if type(value) is dict:
            return (value,), None
        return (), 'not an object'
    saved = []
    try:
        while True:
            if type(value) is dict:
                saved.append(value)
            # Only what may stand between records is stepped over, without copying the rest of a long line.
            end = _BETWEEN.match(bare, end).end()
            if end == len(bare):
                break
            value, end = _scan(bare, end)
    except (StopIteration, ValueError, RecursionError):
        saved.extend(_salvage(bare[end:], '')[0])
    return tuple(saved), 'several records on one line'


def _with_controls(text):
    """-> the object of a line whose texts hold control characters as they are (JSON has them escaped), None for other damage.

    Zeros are left out: they are what a power cut leaves, and no text.
    """
    from .base.bounded_json import scan_loose
    text = text.replace('\0', '')
    try:
        value, end = scan_loose(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return None
    return value if type(value) is dict and not text[end:].strip(_WHITE) else None


def _salvage(text, reason):
    """Whole objects that begin as a record begins (`{"type":` or `{"parentUuid":`) and reach the end of the text."""
    at = max(text.rfind('{"type":"'), text.rfind('{"parentUuid":'))
    # Nested objects begin like records too, so few tries from the back are enough.
    for _ in range(8):
        if at < 0:
            break
        try:
            value, end = _scan(text, at)
            if type(value) is dict and not text[end:].strip('\0' + _WHITE) and ('uuid' in value or at == 0):
                return (value,), reason
        except (StopIteration, ValueError, RecursionError):
            # No whole object begins here; an earlier place may do.
            pass
        at = max(text.rfind('{"type":"', 0, at), text.rfind('{"parentUuid":', 0, at))
    return (), reason


def open_bytes(path, block=-1):
    """-> a binary file object over the plain bytes of `path` (a name that ends in .gz is unpacked on the way). block: so many
    bytes are read at a time, -1: few."""
    if path.endswith('.gz'):
        return io.BufferedReader(_Packed(path))
    return open_regular(path, block)


class _Packed(io.RawIOBase):
    """The bytes inside a .gz file; every kind of damage to it is an OSError."""

    def __init__(self, path):
        import gzip
        import zlib
        self._damage = EOFError, zlib.error
        self._plain = open_regular(path)
        self._file = gzip.GzipFile(mode='rb', fileobj=self._plain)

    def readable(self):
        return True

    def seekable(self):
        return True

    def _try(self, method, *args):
        try:
            return method(*args)
        except self._damage as error:
            raise OSError('damaged archive (%s)' % str(error)[:60])

    def readinto(self, buffer):
        # No more than one step at a time, so that what comes before the damage is had.
        data = self._try(self._file.read1, len(buffer))
        buffer[:len(data)] = data
        return len(data)

    def seek(self, offset, whence=0):
        return self._try(self._file.seek, offset, whence)

    def tell(self):
        return self._file.tell()

    def close(self):
        if not self.closed:
            self._file.close()
            self._plain.close()
        io.RawIOBase.close(self)


def read_records(path, coverage=None, offset=0, line=0, skip=None, limit=0):
    """Yield the Records of a file in order, in constant memory.

    path: the file.  coverage: a Coverage that is filled while reading (its offset and line tell where to go on).
    offset, line: start behind this many bytes and lines (from an earlier coverage).  skip(line bytes) -> True
    leaves a line unparsed (it still counts as a line).  limit: stop after that many records, 0 for all.
    Raises OSError when the file cannot be opened.
    """
    with open_bytes(path, _BLOCK) as handle:
        if coverage is None:
            coverage = Coverage(path, offset, line)
        try:
            if offset:
                handle.seek(offset - 1)
                coverage.open_end = handle.read(1) not in (b'\n', b'')
            for record in scan(handle, coverage, offset, line, skip):
                yield record
                if limit:
                    limit -= 1
                    if not limit:
                        return
        except OSError as error:
            if not path.endswith('.gz'):
                raise
            # What a cut archive gave before its end stands.
            coverage.lines += 1
            coverage.damage(coverage.line + 1, str(error))


def scan(handle, coverage, offset=0, line=0, skip=None):
    """Yield Records of an open binary file whose position is `offset`; see read_records."""
    position, number = offset, line
    first = offset > 0
    resumed_open = first and coverage.open_end
    make, Rec = tuple.__new__, Record
    decoder = _scan
    for raw in handle:
        size = len(raw)
        if raw[-1] != 10:
            # No line end yet: a whole record is taken, anything else is a line still being written.
            found, reason = parse_line(raw)
            if (reason is not None or not found) and reason != ZEROS:
                coverage.unfinished = size
                break
            coverage.open_end = True
        elif resumed_open:
            coverage.open_end = False
        if first:
            first = False
            if resumed_open and not raw.strip(b'\0 \t\r\n'):
                # The rest of a line that was taken whole before its end was written.
                position += size
                coverage.offset = position
                continue
        number += 1
        start = position
        position += size
        if skip is not None and skip(raw):
            coverage.lines += 1
            coverage.offset, coverage.line = position, number
            continue
        if number == 1 and raw[:3] == _BOM:
            raw = raw[3:]
        try:
            if size >= LARGE and too_much(raw) is not None:
                raise ValueError
            text = raw.decode('utf-8')
            value, end = decoder(text, 0)
            clean = type(value) is dict and end >= len(text) - 2 and not text[end:].strip(_WHITE)
        except (StopIteration, ValueError, RecursionError):
            clean = False
        coverage.offset, coverage.line = position, number
        if clean:
            coverage.lines += 1
            if size >= LARGE:
                # What comes of the line takes memory enough.
                raw = text = None
            yield make(Rec, (value, number, start, size))
            value = None
            continue
        found, reason = parse_line(raw)
        if reason is not None:
            coverage.damage(number, reason)
            coverage.lines += 1
        elif found:
            coverage.lines += 1
        for value in found:
            yield Rec(value, number, start, size)


def read_at(path, offset, length=0):
    """-> the objects of the one line at `offset` (length bytes; 0: to the line end); () when there is none."""
    with open_bytes(path) as handle:
        handle.seek(offset)
        raw = handle.read(length) if length else handle.readline()
    return parse_line(raw)[0]


def read_backwards(path, limit=0, skip=None, block=1 << 16):
    """Yield Records from the end of a file towards its start, without reading what lies before the last wanted one.

    Line numbers are unknown from this side and given as 0.  Damaged lines are passed over.
    """
    with open_bytes(path) as handle:
        handle.seek(0, os.SEEK_END)
        position = end = handle.tell()
        pieces = []
        while position > 0:
            size = min(block, position)
            position -= size
            handle.seek(position)
            chunk = handle.read(size)
            if b'\n' not in chunk and position:
                # A line longer than a block: collect its parts and join them once.
                pieces.append(chunk)
                continue
            pieces.append(chunk)
            data = b''.join(reversed(pieces))
            lines = data.split(b'\n')
            pieces = [lines[0]] if position else []
            offset = position + len(data)
            for raw in reversed(lines[1:] if position else lines):
                offset -= len(raw) + 1
                start = offset + 1
                if not raw.strip() or skip is not None and skip(raw):
                    continue
                found, reason = parse_line(raw)
                size = len(raw) + 1
                if start + size > end:
                    # The last line has no end: as in reading forwards, only a whole record is taken.
                    size -= 1
                    if reason is not None:
                        continue
                for value in reversed(found):
                    yield Record(value, 0, start, size)
                    if limit:
                        limit -= 1
                        if not limit:
                            return
