"""Reasonix's event log events.frames (client 1.2x and later): frames to batches of records.

A frame is the letters RX4F, the packed and the plain size (32 bits each, high byte first) and one zstd frame that holds
one JSON object. Objects come in batches (begin, events, end); a batch without its end was never finished. A batch is what
a line is elsewhere: read from its offset alone it gives the same again.
"""
import os
import struct
from binascii import Error as NotBase64, a2b_base64

from ..base.files import open_regular
from ..base.zstd import unpack_frames
from ..records import parse_line

MAGIC = b'RX4F'
CODEC = 'reasonix.session.linear/v4'
_HEAD = 12
# The client writes frames up to 8 MB.
_MAX_FRAME = 64 << 20
# So much is unpacked at a time.
_GATHER = 1 << 20
_GATHER_PLAIN = 8 << 20
_BLOCK = 1 << 18


class Batch(object):
    """One finished batch. time: as written; events: list of (dict, frame number); line: number of its first frame."""

    __slots__ = ('time', 'turn', 'events', 'line', 'offset', 'length', 'foreign')

    def __init__(self, line, offset, foreign=''):
        self.time, self.turn, self.events = None, '', []
        self.line, self.offset, self.length = line, offset, 0
        self.foreign = foreign      # the codec's name where it is not the one known here


def batches(handle, coverage, offset=0, line=0):
    """Yield the finished Batches of an open events.frames whose position is `offset`.

    coverage: says after each batch how far the file is read; an unfinished last batch is left for a later reading.
    """
    batch, damage, frames = None, [], 0
    start, before, base = offset, line, offset - handle.tell()
    for at, size, raw, why in _frames(handle, offset):
        line += 1
        frames += 1
        record = _record(raw, why)
        if type(record) is not dict:
            damage.append((line, record))
            continue
        kind = record.get('recordType')
        if record.get('codec') != CODEC:
            # Another version of the log: refused, not guessed.
            _settle(coverage, damage, frames, at + size, line)
            coverage.open_end = True
            yield Batch(line, at, _word(record.get('codec')) or 'none')
            return
        if kind == 'batch/begin':
            if batch is not None:
                damage.append((batch.line, 'a batch without its end'))
            batch = Batch(line, at)
            batch.time, batch.turn = record.get('createdAt'), _word(record.get('turnId'))
            # What came before it and belongs to no batch is done with.
            _settle(coverage, damage, frames - 1, at, line - 1)
            start, before, frames = at, line - 1, 1
        elif batch is None:
            damage.append((line, 'a record outside a batch'))
        elif kind == 'batch/event':
            event = record.get('event')
            if type(event) is dict:
                batch.events.append((event, line))
            else:
                damage.append((line, 'an event without content'))
        elif kind == 'batch/end':
            count = record.get('eventCount')
            if count != len(batch.events) and not damage:
                damage.append((line, 'a batch of %d events that announces %s' % (len(batch.events), str(count)[:20])))
            _settle(coverage, damage, frames, at + size, line)
            batch.length = at + size - batch.offset
            start, before, frames = at + size, line, 0
            done, batch = batch, None
            yield done
        else:
            coverage.drift(line, 'record type %s' % _word(kind)[:40])
    if damage:
        # Certain damage does not wait for the end of its batch; a file that grows behind it is read anew.
        _settle(coverage, damage, frames, base + handle.tell(), line)
        coverage.open_end = True
    else:
        coverage.offset, coverage.line = start, before
        coverage.unfinished = base + handle.tell() - start


def _settle(coverage, damage, frames, offset, line):
    coverage.lines += frames
    for place, why in damage:
        coverage.damage(place, why)
    del damage[:]
    coverage.offset, coverage.line = offset, line


def _word(value):
    return value if type(value) is str else ''


def _record(raw, why):
    """-> the object in a frame, or what is wrong with it."""
    if raw is None:
        return why
    found, reason = parse_line(raw)
    return found[0] if found and reason is None else reason or 'an empty frame'


def _frames(handle, offset):
    """Yield (offset, bytes it takes, plain bytes or None, what is wrong) of the frames from here on; a cut last one is
    left out."""
    waiting, held, plain = [], 0, 0
    base = offset - handle.tell()
    while True:
        head = handle.read(_HEAD)
        if len(head) < _HEAD:
            break
        packed, size = struct.unpack('>II', head[4:])
        if head[:4] != MAGIC or not 0 < packed <= _MAX_FRAME or not 0 < size <= _MAX_FRAME:
            for done in _unpacked(waiting):
                yield done
            waiting, held, plain = [], 0, 0
            skipped = _next_magic(handle, offset - base)
            yield offset, skipped, None, '%d bytes that are no frame' % skipped
            offset += skipped
            continue
        data = handle.read(packed)
        if len(data) < packed:
            break
        waiting.append((offset, _HEAD + packed, data, size))
        offset += _HEAD + packed
        held, plain = held + packed, plain + size
        if held > _GATHER or plain > _GATHER_PLAIN:
            for done in _unpacked(waiting):
                yield done
            waiting, held, plain = [], 0, 0
    for done in _unpacked(waiting):
        yield done


def _unpacked(waiting):
    for one, raw in zip(waiting, unpack_frames([(data, size) for _, _, data, size in waiting])):
        yield one[0], one[1], raw, 'a frame that cannot be unpacked'


def _next_magic(handle, offset):
    """Move to the next frame behind a place in the file, or to its end; -> how many bytes that is."""
    position = offset + 1
    handle.seek(position)
    rest = b''
    while True:
        block = handle.read(_BLOCK)
        if not block:
            # A beginning of the letters may stand at the very end.
            return position + len(rest) - offset
        rest += block
        found = rest.find(MAGIC)
        if found >= 0:
            handle.seek(position + found)
            return position + found - offset
        position += max(0, len(rest) - 3)
        rest = rest[-3:]


def payload(event, folder):
    """-> the payload of an event (dict), or text that says why there is none.

    folder: the session's own; large payloads lie in a store beside it, under the name of their sum.
    """
    named = event.get('payloadRef')
    if type(named) is dict:
        raw = _stored(named.get('digest'), folder)
        if raw is None:
            return 'the content %s is missing' % _word(named.get('digest'))[:12]
    else:
        text = event.get('payload')
        if text is None:
            return {}
        try:
            raw = a2b_base64(text)
        except (NotBase64, ValueError, TypeError):
            return 'a payload that is no base64'
    found, reason = parse_line(raw)
    return found[0] if found else 'a payload that is %s' % (reason or 'empty')


def _stored(digest, folder):
    """The bytes of a stored payload, None when they are not there. Only hex digits reach the path."""
    digest = _word(digest)
    if len(digest) != 64 or digest.strip('0123456789abcdef'):
        return None
    for store in (os.path.join(os.path.dirname(folder), '.content-v1'), os.path.join(folder, '.content-v1')):
        try:
            with open_regular(os.path.join(store, 'objects', digest[:2], digest[2:4], digest)) as handle:
                return handle.read(_MAX_FRAME)
        except OSError:
            # The other of the two places the client uses.
            continue
    return None
