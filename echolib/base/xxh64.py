"""The 64-bit xxHash of bytes that come in pieces: the checksum of Zstandard frames."""
from struct import unpack_from

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_ALL = (1 << 64) - 1
# Words that are unpacked at once.
_STEP = 1 << 12


class Sum(object):
    """A sum (seed 0) that pieces are added to."""

    def __init__(self):
        self._lanes = (_P1 + _P2 & _ALL, _P2, 0, -_P1 & _ALL)
        self._rest = b''
        self._size = 0

    def add(self, data):
        """Go on with more bytes."""
        self._size += len(data)
        if self._rest:
            data = self._rest + bytes(data)
        whole = len(data) // 32
        a, b, c, d = self._lanes
        p1, p2, every = _P1, _P2, _ALL
        for first in range(0, whole, _STEP):
            count = min(_STEP, whole - first)
            words = unpack_from('<%dQ' % (4 * count), data, 32 * first)
            for one, two, three, four in zip(words[::4], words[1::4], words[2::4], words[3::4]):
                a = a + one * p2 & every
                a = (a << 31 | a >> 33) * p1 & every
                b = b + two * p2 & every
                b = (b << 31 | b >> 33) * p1 & every
                c = c + three * p2 & every
                c = (c << 31 | c >> 33) * p1 & every
                d = d + four * p2 & every
                d = (d << 31 | d >> 33) * p1 & every
        self._lanes = a, b, c, d
        self._rest = bytes(data[32 * whole:])

    def value(self):
        """-> the sum of what was added so far."""
        if self._size < 32:
            found = _P5
        else:
            a, b, c, d = self._lanes
            found = _turn(a, 1) + _turn(b, 7) + _turn(c, 12) + _turn(d, 18) & _ALL
            for lane in self._lanes:
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
