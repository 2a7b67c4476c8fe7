"""Zstandard (RFC 8878) unpacked in plain Python, for machines on which nothing else does.

Owns the format: frames one after the other, frames to step over, raw, repeated and compressed blocks, checksums. Frames
that need a dictionary are refused. Bounded: a block at a time, and no more of what came before than a window's worth.
"""
import io

from . import xxh64
from .zstd_entropy import ZstdError, bits_of, decoding_table, huffman_at, shares_of

MAGIC = b'\x28\xb5\x2f\xfd'
_BLOCK_MAX = 1 << 17
# As much of what came before is kept as a frame asks for, and never more than this.
WINDOW = 1 << 25
_SIZES = (0, 1, 2, 4)


def decompress(data, limit=None, window=WINDOW):
    """-> the unpacked bytes of all frames in `data`.

    limit: refuse to unpack more bytes than this. window: see blocks. Raises ZstdError, which holds in
    `done` what came before the damage or the limit.
    """
    out, size = [], 0
    try:
        for piece in blocks(io.BytesIO(data).read, window):
            size += len(piece)
            if limit is not None and size > limit:
                out.append(piece[:len(piece) - size + limit])
                raise ZstdError('more than %d bytes' % limit)
            out.append(piece)
    except ZstdError as error:
        error.done = b''.join(out)
        raise
    return b''.join(out)


class Reader(object):
    """The unpacked bytes of what `handle` (a binary file object) holds, read forwards; damage raises ZstdError."""

    def __init__(self, handle, window=WINDOW):
        self._blocks = blocks(handle.read, window)
        self._piece, self._at = b'', 0

    def read(self, size):
        """-> the next bytes, at least one and at most `size` of them; b'' at the end."""
        while self._at >= len(self._piece):
            piece = next(self._blocks, None)
            if piece is None:
                return b''
            self._piece, self._at = piece, 0
        piece = self._piece[self._at:self._at + size]
        self._at += len(piece)
        return piece


def blocks(read, window=WINDOW):
    """Yield the unpacked bytes of a row of frames, a block at a time.

    read(n) -> the next n packed bytes, fewer only at the end. window: most bytes that are kept for later blocks to
    refer to; a frame that refers to more than that is refused. Raises ZstdError.
    """
    while True:
        magic = read(4)
        if not magic:
            return
        if magic == MAGIC:
            for piece in _frame(read, window):
                yield piece
        elif len(magic) == 4 and magic[0] & 0xF0 == 0x50 and magic[1:] == b'\x2a\x4d\x18':
            left = _number(_exactly(read, 4))
            while left:
                left -= len(_exactly(read, min(left, _BLOCK_MAX)))
        else:
            raise ZstdError('no frame begins here')


def _exactly(read, size):
    data = read(size)
    if len(data) != size:
        raise ZstdError('the data ends too early')
    return data


def _number(data):
    return int.from_bytes(data, 'little')


def _frame(read, window):
    """Yield the blocks of one frame whose magic number is read."""
    flags = _exactly(read, 1)[0]
    if flags & 0x08:
        raise ZstdError('a reserved bit is set')
    single = flags & 0x20
    size = None
    if not single:
        descriptor = _exactly(read, 1)[0]
        base = 1 << (10 + (descriptor >> 3))
        size = base + (base >> 3) * (descriptor & 7)
    if _number(_exactly(read, _SIZES[flags & 3])):
        raise ZstdError('packed with a dictionary')
    length = flags >> 6
    content = None
    if length or single:
        content = _number(_exactly(read, 1 << length)) + (256 if length == 1 else 0)
        if single:
            size = content
    state = _State(min(size, _BLOCK_MAX), min(size, window))
    check = xxh64.Sum() if flags & 0x04 else None
    done = 0
    last = False
    while not last:
        head = _number(_exactly(read, 3))
        last, kind, size = head & 1, head >> 1 & 3, head >> 3
        if kind == 3 or size > state.most:
            raise ZstdError('a block of an unknown kind' if kind == 3 else 'a block of %d bytes' % size)
        if kind == 0:
            piece = _exactly(read, size)
            state.keep(piece)
        elif kind == 1:
            piece = _exactly(read, 1) * size
            state.keep(piece)
        else:
            piece = state.unpack(_exactly(read, size))
        done += len(piece)
        if content is not None and done > content:
            raise ZstdError('more than the %d bytes that were announced' % content)
        if check is not None:
            check.add(piece)
        if piece:
            yield piece
    if content is not None and done != content:
        raise ZstdError('%d bytes where %d were announced' % (done, content))
    if check is not None and _number(_exactly(read, 4)) != check.value() & 0xFFFFFFFF:
        raise ZstdError('the checksum is another one')


class _State(object):
    """What a frame's blocks hand on to the next: what came before, the tables, the last three offsets.

    most: bytes in a block. window: bytes to keep.
    """

    def __init__(self, most, window):
        self.most, self.window = most, window
        self.past = bytearray()
        self.offsets = (1, 4, 8)
        self.huffman = None
        self.tables = [None, None, None]    # of literal lengths, offsets, match lengths

    def keep(self, piece):
        """Remember a piece of output that came without unpacking."""
        self.past += piece
        self._forget()

    def _forget(self):
        # Rarely, as it moves all of what stays.
        if len(self.past) > self.window + max(self.window, 8 * _BLOCK_MAX) // 4:
            del self.past[:len(self.past) - self.window]

    def unpack(self, data):
        """-> what one compressed block gives."""
        try:
            literals, at = self._literals(data)
            start = len(self.past)
            self._sequences(data, at, literals)
        except IndexError:
            # Every way to run past the end of a block.
            raise ZstdError('a block ends too early')
        piece = bytes(self.past[start:])
        self._forget()
        return piece

    # literals

    def _literals(self, data):
        """-> (the literals of a block, where its sequences begin)."""
        first = data[0]
        kind, form = first & 3, first >> 2 & 3
        if kind < 2:
            width = (1, 2, 1, 3)[form]
            size = _number(data[:width]) >> (3 if width == 1 else 4)
            at = width
            if size > self.most:
                raise ZstdError('%d literals' % size)
            if kind == 1:
                return bytes((data[at],)) * size, at + 1
            if at + size > len(data):
                raise ZstdError('a block ends too early')
            return data[at:at + size], at + size
        width, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
        head = _number(data[:width]) >> 4
        size, packed = head & (1 << bits) - 1, head >> bits & (1 << bits) - 1
        at, end = width, width + packed
        if end > len(data) or size > self.most:
            raise ZstdError('%d literals in %d bytes' % (size, packed))
        if kind == 2:
            self.huffman, at = huffman_at(data, at, end)
        elif self.huffman is None:
            raise ZstdError('the table of literals is missing')
        if form == 0:
            return self.huffman.unpack(data[at:end], size, size), end
        # Four streams of equal output; the sizes of three of them come first.
        sizes = [_number(data[at + i:at + i + 2]) for i in (0, 2, 4)]
        at += 6
        sizes.append(end - at - sum(sizes))
        each = (size + 3) // 4
        if sizes[3] < 0 or size < 3 * each:
            raise ZstdError('streams of literals that do not fit')
        out = []
        for number, length in enumerate(sizes):
            out.append(self.huffman.unpack(data[at:at + length], each if number < 3 else size - 3 * each, size))
            at += length
        return b''.join(out), end

    # sequences

    def _sequences(self, data, at, literals):
        """Carry out the sequences of a block: literals and copies of what came before, behind what is kept."""
        past = self.past
        count = data[at]
        at += 1
        if count > 127:
            if count < 255:
                count, at = (count - 128 << 8) + data[at], at + 1
            else:
                count, at = data[at] + (data[at + 1] << 8) + 0x7F00, at + 2
        if not count:
            if at != len(data):
                raise ZstdError('a block goes on behind its end')
            past += literals
            return
        modes = data[at]
        at += 1
        if modes & 3:
            raise ZstdError('a reserved bit is set')
        for kind, shift in ((0, 6), (1, 4), (2, 2)):
            at = self._table(kind, modes >> shift & 3, data, at)
        bits = bits_of(data[at:])
        (of_lit, log_lit), (of_off, log_off), (of_len, log_len) = self.tables
        end, pos = len(bits), log_lit + log_off + log_len
        # Behind the end only zeros are read; that it was overrun is seen when all is done.
        bits += '0' * (pos + 128)
        lit = int(bits[:log_lit] or '0', 2)
        off = int(bits[log_lit:log_lit + log_off] or '0', 2)
        size = int(bits[log_lit + log_off:pos] or '0', 2)
        near, second, third = self.offsets
        spent, length = 0, len(past)
        most = length + self.most
        masks = _MASKS
        for left in range(count - 1, -1, -1):
            lit_base, lit_more, lit_step, lit_next = of_lit[lit]
            off_base, off_more, off_step, off_next = of_off[off]
            size_base, size_more, size_step, size_next = of_len[size]
            if left:
                upto = pos + off_more + size_more + lit_more + lit_step + size_step + off_step
                # The leading one keeps an empty slice from being no number.
                value = int('1' + bits[pos:upto], 2)
                off = off_next + (value & masks[off_step])
                value >>= off_step
                size = size_next + (value & masks[size_step])
                value >>= size_step
                lit = lit_next + (value & masks[lit_step])
                value >>= lit_step
            else:
                upto = pos + off_more + size_more + lit_more
                value = int('1' + bits[pos:upto], 2)
            if upto > end:
                raise ZstdError('a block ends too early')
            pos = upto
            run = lit_base + (value & masks[lit_more])
            value >>= lit_more
            copy = size_base + (value & masks[size_more])
            offset = off_base + (value >> size_more & masks[off_more])
            if offset > 3:
                offset -= 3
                near, second, third = offset, near, second
            else:
                # The last three offsets; without literals before it a repeat of the last one has no sense.
                if not run:
                    offset += 1
                if offset == 1:
                    offset = near
                elif offset == 2:
                    near, second, offset = second, near, second
                else:
                    offset = third if offset == 3 else near - 1
                    near, second, third = offset, near, second
            if run:
                past += literals[spent:spent + run]
                spent += run
                length += run
            start = length - offset
            if start < 0 or not offset:
                raise ZstdError('a copy from %d bytes before what is kept' % -start)
            if offset >= copy:
                past += past[start:start + copy]
            else:
                past += (past[start:length] * (copy // offset + 1))[:copy]
            length += copy
            if length > most:
                raise ZstdError('a block of more than %d bytes' % self.most)
        if pos != end or spent > len(literals):
            raise ZstdError('sequences that do not fit their block')
        past += literals[spent:]
        if len(past) > most:
            raise ZstdError('a block of more than %d bytes' % self.most)
        self.offsets = near, second, third

    def _table(self, kind, mode, data, at):
        """Set the table of one kind of code as the block says; -> where its description ends."""
        values, log, most, normal = _CODES[kind]
        if mode == 0:
            if _normal[kind] is None:
                _normal[kind] = decoding_table(normal, log, values), log
            self.tables[kind] = _normal[kind]
        elif mode == 1:
            if data[at] >= len(values):
                raise ZstdError('an unknown code')
            self.tables[kind] = [values[data[at]] + (0, 0)], 0
            at += 1
        elif mode == 2:
            shares, log, at = shares_of(data, at, most, len(values))
            self.tables[kind] = decoding_table(shares, log, values), log
        elif self.tables[kind] is None:
            raise ZstdError('a table is missing')
        return at


# codes of sequences: (value, bits that are added to it) by code

def _growing(plain, first, more):
    """-> ((value, bits), ...): `plain` codes without added bits from `first` on, then those with `more`."""
    out = [(first + code, 0) for code in range(plain)]
    value = first + plain
    for bits in more:
        out.append((value, bits))
        value += 1 << bits
    return out


_MASKS = tuple((1 << bits) - 1 for bits in range(65))
# values, log2 of the states of the usual table, of the largest one, shares in the usual table.
_CODES = (
    (_growing(16, 0, (1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), 6, 9,
     [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    ([(1 << code, code) for code in range(32)], 5, 8, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    (_growing(32, 3, (1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), 6, 9,
     [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7))
_normal = [None, None, None]
