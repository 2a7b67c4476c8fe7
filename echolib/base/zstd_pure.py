"""Zstandard (RFC 8878) unpacked in plain Python, for machines on which nothing else does.

Owns the format: frames one after the other, frames to step over, raw, repeated and compressed blocks, checksums. Frames
that need a dictionary are refused. Bounded: a block at a time, and no more of what came before than a window's worth.
"""
import io

from . import xxh64
from .errors import EchoError

MAGIC = b'\x28\xb5\x2f\xfd'
_BLOCK_MAX = 1 << 17
# As much of what came before is kept as a frame asks for, and never more than this.
WINDOW = 1 << 25
# How many bits of a Huffman stream are looked up at once, at least.
_LOOK = 12
_WEIGHTS_LOG = 6
_SIZES = (0, 1, 2, 4)


class ZstdError(EchoError):
    """Packed data that is cut off, damaged or needs more than it may; `done` is what it gave before (decompress)."""

    done = b''


def decompress(data, limit=0, window=WINDOW):
    """-> the unpacked bytes of all frames in `data`.

    limit: refuse to unpack more bytes than this, 0 for no limit. window: see blocks. Raises ZstdError, which holds in
    `done` what came before the damage or the limit.
    """
    out, size = [], 0
    try:
        for piece in blocks(io.BytesIO(data).read, window):
            size += len(piece)
            if limit and size > limit:
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
            self.huffman, at = _huffman(data, at, end)
        elif self.huffman is None:
            raise ZstdError('the table of literals is missing')
        if form == 0:
            return self.huffman.unpack(data[at:end], size), end
        # Four streams of equal output; the sizes of three of them come first.
        sizes = [_number(data[at + i:at + i + 2]) for i in (0, 2, 4)]
        at += 6
        sizes.append(end - at - sum(sizes))
        each = (size + 3) // 4
        if sizes[3] < 0 or size < 3 * each:
            raise ZstdError('streams of literals that do not fit')
        out = []
        for number, length in enumerate(sizes):
            out.append(self.huffman.unpack(data[at:at + length], each if number < 3 else size - 3 * each))
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
        bits = _bits(data[at:])
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
                _normal[kind] = _decoding(normal, log, values), log
            self.tables[kind] = _normal[kind]
        elif mode == 1:
            if data[at] >= len(values):
                raise ZstdError('an unknown code')
            self.tables[kind] = [values[data[at]] + (0, 0)], 0
            at += 1
        elif mode == 2:
            shares, log, at = _shares(data, at, most, len(values))
            self.tables[kind] = _decoding(shares, log, values), log
        elif self.tables[kind] is None:
            raise ZstdError('a table is missing')
        return at


def _bits(data):
    """-> the bits of a stream that is read from its end, as a text of 0 and 1 in the order of reading."""
    if not data or not data[-1]:
        raise ZstdError('a stream of bits without an end')
    # The highest bit that is set only marks the beginning.
    return bin(_number(data))[3:]


# tables of finite state entropy

def _shares(data, at, most, symbols):
    """-> (shares of the symbols, log2 of their sum, where the description ends)."""
    value = _number(data[at:at + 512])
    log, pos = (value & 15) + 5, 4
    if log > most:
        raise ZstdError('a table of 2^%d states' % log)
    left, shares = 1 << log, []
    while left > 0:
        if len(shares) >= symbols:
            raise ZstdError('a table of more than %d symbols' % symbols)
        bits = (left + 1).bit_length()
        found = value >> pos & (1 << bits) - 1
        low = (1 << bits - 1) - 1
        spare = (1 << bits) - 2 - left
        if found & low < spare:
            found &= low
            pos += bits - 1
        else:
            if found > low:
                found -= spare
            pos += bits
        share = found - 1
        shares.append(share)
        left -= 1 if share < 0 else share
        while not share:
            zeros = value >> pos & 3
            pos += 2
            shares += [0] * zeros
            if zeros < 3:
                break
            if len(shares) > symbols:
                raise ZstdError('a table of more than %d symbols' % symbols)
    at += (pos + 7) // 8
    if left or at > len(data) or len(shares) > symbols:
        raise ZstdError('a table that does not add up')
    return shares, log, at


def _decoding(shares, log, values):
    """-> the states of a table, each its symbol's value with (bits to read, added to what) for the next state."""
    size = 1 << log
    states, high = [0] * size, size
    for symbol, share in enumerate(shares):
        if share < 0:
            high -= 1
            states[high] = symbol
    at, step = 0, (size >> 1) + (size >> 3) + 3
    for symbol, share in enumerate(shares):
        for _ in range(share):
            states[at] = symbol
            at = at + step & size - 1
            while at >= high:
                at = at + step & size - 1
    following = [1 if share < 0 else share for share in shares]
    for place, symbol in enumerate(states):
        number = following[symbol]
        following[symbol] = number + 1
        bits = log + 1 - number.bit_length()
        states[place] = values[symbol] + (bits, (number << bits) - size)
    return states


# Huffman tables

def _huffman(data, at, end):
    """-> (the table that a description gives, where it ends)."""
    size = data[at]
    at += 1
    if size < 128:
        if at + size > end:
            raise ZstdError('a table of literals ends too early')
        weights = _weights(data[at:at + size])
        at += size
    else:
        count = size - 127
        weights = []
        for byte in data[at:at + (count + 1) // 2]:
            weights += (byte >> 4, byte & 15)
        at += (count + 1) // 2
        if at > end:
            raise ZstdError('a table of literals ends too early')
        del weights[count:]
    return _Huffman(weights), at


def _weights(data):
    """-> the weights of a Huffman table that are packed themselves: two states take turns until the bits are used up."""
    shares, log, at = _shares(data, 0, _WEIGHTS_LOG, 256)
    table = _decoding(shares, log, [(symbol,) for symbol in range(256)])
    bits = _bits(data[at:])
    end, pos = len(bits), 2 * log
    if pos > end:
        raise ZstdError('a table of literals ends too early')
    bits += '0' * 16
    one, other = int(bits[:log], 2), int(bits[log:pos], 2)
    weights = []
    while len(weights) < 255:
        symbol, step, base = table[one]
        weights.append(symbol)
        one, pos = base + int('0' + bits[pos:pos + step], 2), pos + step
        if pos > end:
            weights.append(table[other][0])
            break
        one, other = other, one
    if len(weights) > 255:
        raise ZstdError('a table of more than 256 literals')
    return weights


class _Huffman(object):
    """A table of literals: the bits of a stream to bytes, several at a time.

    weights: those of the symbols from 0 on; the last symbol's follows from them.
    """

    def __init__(self, weights):
        total = sum(1 << weight - 1 for weight in weights if weight)
        log = total.bit_length()
        rest = (1 << log) - total
        if not total or log > 11 or rest & rest - 1:
            raise ZstdError('a table of literals that does not add up')
        weights = weights + [rest.bit_length()]
        table = []
        for weight in range(1, log + 1):
            for symbol, one in enumerate(weights):
                if one == weight:
                    table += [(symbol, log + 1 - weight)] * (1 << weight - 1)
        self.log, self.table = log, table
        self.windows = _Windows(table, log)

    def unpack(self, data, size):
        """-> the `size` bytes of one stream."""
        bits = _bits(data)
        windows = self.windows
        width = windows.width
        end, pos, out = len(bits), 0, []
        add = out.append
        while pos + width <= end:
            piece, used = windows[bits[pos:pos + width]]
            add(piece)
            pos += used
        table, log = self.table, self.log
        bits += '0' * log
        rest = []
        while pos < end:
            symbol, used = table[int(bits[pos:pos + log], 2)]
            rest.append(symbol)
            pos += used
        add(bytes(rest))
        out = b''.join(out)
        if pos != end or len(out) != size:
            raise ZstdError('a stream of literals that does not fit')
        return out


class _Windows(dict):
    """{the next bits of a stream as text: (bytes they are for sure, bits of these)}, worked out when first seen."""

    def __init__(self, table, log):
        dict.__init__(self)
        self.table, self.log = table, log
        self.width = max(_LOOK, log)

    def __missing__(self, bits):
        table, log, left = self.table, self.log, self.width
        value, mask = int(bits, 2) << log, (1 << log) - 1
        out = []
        while True:
            symbol, used = table[value >> left & mask]
            if used > left:
                break
            out.append(symbol)
            left -= used
        found = self[bits] = bytes(out), self.width - left
        return found


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
