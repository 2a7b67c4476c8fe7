"""The two codes of Zstandard (RFC 8878, section 4): tables of finite state entropy, and Huffman tables for literals."""
from .errors import EchoError

# From so many literals on several are looked up at once, by so many bits.
_MANY, _LOOK = 16384, 12
_WEIGHTS_LOG = 6


class ZstdError(EchoError):
    """Packed data that is cut off, damaged or needs more than it may; `done` is what it gave before (decompress)."""

    done = b''


def bits_of(data):
    """-> the bits of a stream that is read from its end, as a text of 0 and 1 in the order of reading."""
    if not data or not data[-1]:
        raise ZstdError('a stream of bits without an end')
    # The highest bit that is set only marks the beginning.
    return bin(int.from_bytes(data, 'little'))[3:]


def shares_of(data, at, most, symbols):
    """-> (shares of the symbols, log2 of their sum, where the description ends)."""
    value = int.from_bytes(data[at:at + 512], 'little')
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


def decoding_table(shares, log, values):
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


def huffman_at(data, at, end):
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
    shares, log, at = shares_of(data, 0, _WEIGHTS_LOG, 256)
    table = decoding_table(shares, log, [(symbol,) for symbol in range(256)])
    bits = bits_of(data[at:])
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
        table = []
        order = sorted((weight, symbol) for symbol, weight in enumerate(weights + [rest.bit_length()]) if weight)
        for weight, symbol in order:
            table += [(symbol, log + 1 - weight)] * (1 << weight - 1)
        self.log, self.table = log, table
        self.one, self.several = _One(table), _Several(table, log)

    def unpack(self, data, size, whole):
        """-> the `size` bytes of one stream of a block with `whole` literals."""
        bits = bits_of(data)
        end, pos, out, log = len(bits), 0, [], self.log
        found = b''
        if whole > _MANY:
            several, add = self.several, out.append
            width = several.width
            while pos + width <= end:
                piece, used = several[bits[pos:pos + width]]
                add(piece)
                pos += used
            found, out = b''.join(out), []
        bits += '0' * log
        one, add = self.one, out.append
        while pos < end:
            symbol, used = one[bits[pos:pos + log]]
            add(symbol)
            pos += used
        found += bytes(out)
        if pos != end or len(found) != size:
            raise ZstdError('a stream of literals that does not fit')
        return found


class _One(dict):
    """{as many bits as the longest code has, as text: (the byte they begin with, bits of that)}, filled when asked."""

    def __init__(self, table):
        dict.__init__(self)
        self.table = table

    def __missing__(self, bits):
        found = self[bits] = self.table[int(bits, 2)]
        return found


class _Several(dict):
    """{the next bits of a stream as text: (bytes they are for sure, bits of these)}, filled when asked."""

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
