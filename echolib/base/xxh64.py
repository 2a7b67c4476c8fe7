"""The 64-bit xxHash of bytes that come in pieces: the checksum of Zstandard frames."""
from struct import unpack_from

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_ALL = (1 << 64) - 1
# The four lanes of the sum are kept in one number, each in the lower half of 128 bits.
_LOW = sum(_ALL << 128 * lane for lane in range(4))
# Bytes that are taken at once.
_STEP = 1 << 13


class Sum(object):
    """A sum (seed 0) that pieces are added to."""

    def __init__(self):
        self._lanes = (_P1 + _P2 & _ALL) | _P2 << 128 | (-_P1 & _ALL) << 384
        self._rest = b''
        self._size = 0

    def add(self, data):
        """Go on with more bytes."""
        self._size += len(data)
        if self._rest:
            data = self._rest + bytes(data)
        whole = len(data) // 32 * 32
        lanes, only, prime = self._lanes, _LOW, _P1
        for first in range(0, whole, _STEP):
            part = data[first:min(first + _STEP, whole)]
            # Each word gets as many zero bytes behind it, so that one product of it all is the product of each word.
            wide = bytearray(2 * len(part))
            for place in range(8):
                wide[place::16] = part[place::8]
            product = (int.from_bytes(wide, 'little') * _P2).to_bytes(len(wide) + 8, 'little')
            for at in range(0, len(wide), 64):
                lanes = lanes + (int.from_bytes(product[at:at + 64], 'little') & only) & only
                lanes = (lanes << 31 | lanes >> 33) & only
                lanes = lanes * prime & only
        self._lanes = lanes
        self._rest = bytes(data[whole:])

    def value(self):
        """-> the sum of what was added so far."""
        if self._size < 32:
            found = _P5
        else:
            a, b, c, d = lanes = [self._lanes >> 128 * lane & _ALL for lane in range(4)]
            found = _turn(a, 1) + _turn(b, 7) + _turn(c, 12) + _turn(d, 18) & _ALL
            for lane in lanes:
                found = ((found ^ _turn(lane * _P2 & _ALL, 31) * _P1 & _ALL) * _P1 + _P4) & _ALL
        found = found + self._size & _ALL
        rest, at = self._rest, 0
        while at + 8 <= len(rest):
            word = unpack_from('<Q', rest, at)[0]
            found = (_turn(found ^ _turn(word * _P2 & _ALL, 31) * _P1 & _ALL, 27) * _P1 + _P4) & _ALL
            at += 8
        if at + 4 <= len(rest):
            found = (_turn(found ^ unpack_from('<I', rest, at)[0] * _P1 & _ALL, 23) * _P2 + _P3) & _ALL
            at += 4
        for byte in rest[at:]:
            found = _turn(found ^ byte * _P5 & _ALL, 11) * _P1 & _ALL
        found = (found ^ found >> 33) * _P2 & _ALL
        found = (found ^ found >> 29) * _P3 & _ALL
        return found ^ found >> 32


def _turn(value, bits):
    return (value << bits | value >> 64 - bits) & _ALL
