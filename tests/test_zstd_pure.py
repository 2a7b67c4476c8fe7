"""Unpacking zstd by hand: against frames the program made, frames written byte by byte, and damaged ones."""
import io
import os
import random
import shutil
import subprocess

import pytest

from echolib.base import xxh64, zstd_entropy, zstd_pure
from echolib.base.zstd_pure import ZstdError, decompress
from helpers import FIXTURES

FOLDER = os.path.join(FIXTURES, 'zstd')
PROGRAM = shutil.which('zstd')
WORDS = 'the a session file turn prompt read wrote edit cart total price of in and found missing error line ok'.split()
MAGIC = b'\x28\xb5\x2f\xfd'


def numbers(seed):
    """Yield whole numbers from 0 to 32767, the same on every Python."""
    while True:
        seed = (seed * 1103515245 + 12345) & 0x7FFFFFFF
        yield seed >> 16


def lines(count, seed=1):
    """Return text of `count` lines as a log has them."""
    take = numbers(seed)
    out = []
    for row in range(count):
        out.append('{"n":%d,"text":"%s"}\n' % (row, ' '.join(WORDS[next(take) % len(WORDS)] for _ in range(4 + next(take) % 9))))
    return ''.join(out).encode('ascii')


def noise(count, seed=2):
    """Return bytes that cannot be packed."""
    take = numbers(seed)
    return bytes(next(take) & 255 for _ in range(count))


def letters(count, seed=3):
    """Return text whose letters are unequally frequent and never repeat for long."""
    take = numbers(seed)
    return bytes(97 + (next(take) % 26) * (next(take) % 26) // 26 for _ in range(count))


def small(count):
    """Return bytes from 0 to 4, unequally frequent."""
    take = numbers(6)
    return bytes((next(take) % 5) * (next(take) % 5) // 4 for _ in range(count))


def rows(count):
    """Return text that packs well and has no long repeats."""
    take = numbers(4)
    return ''.join(WORDS[next(take) % 4] + '\n' for _ in range(count)).encode('ascii')


# What each fixture holds. Made with zstd 1.5.4: `zstd -q LEVEL < content`, levels as in the name, -n for --no-check.
CONTENT = {
    'empty-3': b'',
    'byte-3': b'x',
    'zeros-3': bytes(200000),                       # repeated blocks
    'noise-3': noise(700),                          # a raw block
    'lines-1': lines(120),
    'lines-3-n': lines(120),
    'lines-19': lines(300),
    'long-3': rows(37000),                          # two blocks, the second with tables of the first
    'letters-3': letters(3000),                     # four streams of literals
    'letters-3-n': letters(150, 9),                 # one stream
    'small-3': small(400),                          # a table of literals that is not packed itself
    'bytes-19': noise(600, 5) + letters(900) + noise(600, 5),
    'window-19-n': lines(40) + noise(900, 7) + lines(40),   # --zstd=wlog=10
}


@pytest.mark.parametrize('name', sorted(CONTENT))
def test_fixtures(name):
    with open(os.path.join(FOLDER, name + '.zst'), 'rb') as data:
        assert decompress(data.read()) == CONTENT[name]


@pytest.mark.parametrize('name', ['letters-3', 'lines-3-n', 'bytes-19', 'long-3'])
def test_literals_looked_up_several_at_once(name, monkeypatch):
    monkeypatch.setattr(zstd_entropy, '_MANY', 0)
    test_fixtures(name)


@pytest.mark.slow
@pytest.mark.skipif(PROGRAM is None, reason='no zstd program here')
@pytest.mark.parametrize('level', ['-1', '-3', '-9', '-19', '--fast=4', '--no-compress-literals', '--zstd=wlog=10', '--no-check'])
def test_against_the_program(level):
    take = random.Random(level)
    for size in (1, 5, 63, 64, 700, 9000, 150000):
        text = lines(size // 40 + 1, size)[:size]
        mixed = b''.join(take.choice((text[:900], noise(80, size), bytes(500), letters(300))) for _ in range(size // 300 + 1))
        for data in (text, mixed[:size], letters(min(size, 20000), size)):
            process = subprocess.Popen([PROGRAM, '-q', '-c', level], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            packed = process.communicate(data)[0]
            assert decompress(packed) == data


def test_frames_one_after_the_other_and_those_to_step_over():
    one = MAGIC + b'\x00\x58' + b'\x19\x00\x00' + b'abc'            # window 2 MB, one raw block of 3 bytes, the last
    two = MAGIC + b'\x20\x04' + b'\x22\x00\x00' + b'z' + b'\x01\x00\x00'    # content size 4: a repeated byte, an empty last block
    aside = b'\x5a\x2a\x4d\x18' + b'\x05\x00\x00\x00' + b'notes'
    assert decompress(one) == b'abc'
    assert decompress(two) == b'zzzz'
    assert decompress(aside + one + aside + aside + two) == b'abczzzz'
    assert decompress(aside) == decompress(b'') == b''


def test_a_sequence_by_hand():
    # Literals `ab`; one sequence: 2 literals, a copy of 6 bytes from 2 back. All three codes by the byte (mode 1):
    # literal length 2; offset code 2 with bits 01, so 4 + 1 - 3; match length code 3, so 6. The stream: 01 behind a one.
    block = b'\x10ab' + b'\x01\x54\x02\x02\x03' + b'\x05'
    frame = MAGIC + b'\x00\x58' + b'\x4d\x00\x00'     # 9 bytes, packed, the last
    assert decompress(frame + block) == b'abababab'
    # Literals alone.
    assert decompress(MAGIC + b'\x00\x58' + b'\x25\x00\x00' + b'\x10ab\x00') == b'ab'


BAD = {
    'nothing known': b'PK\x03\x04',
    'half a magic number': MAGIC[:3],
    'no header': MAGIC,
    'a reserved bit': MAGIC + b'\x28\x00\x01\x00\x00',
    'a dictionary': MAGIC + b'\x21\x07\x00\x01\x00\x00',
    'a block of kind 3': MAGIC + b'\x20\x01\x0f\x00\x00x',
    'a block that is too large': MAGIC + b'\x20\x02\x19\x00\x00abc',
    'less than announced': MAGIC + b'\x20\x04\x19\x00\x00abc',
    'a cut block': MAGIC + b'\x00\x58\x29\x00\x00abc',
    'no last block': MAGIC + b'\x00\x58\x18\x00\x00abc',
    'an empty packed block': MAGIC + b'\x00\x58\x05\x00\x00',
    'a cut frame to step over': b'\x50\x2a\x4d\x18\x09\x00\x00\x00abc',
    'a wrong checksum': MAGIC + b'\x24\x03\x19\x00\x00abc\x00\x00\x00\x00',
    # The sequence above with offset code 3 (at least 5 back), where 2 bytes stand.
    'a copy from before the start': MAGIC + b'\x00\x58\x4d\x00\x00' + b'\x10ab\x01\x54\x02\x03\x03\x09',
    'repeated tables that are not there': MAGIC + b'\x00\x58\x35\x00\x00' + b'\x10ab\x01\xfc\x09',
    'literals of a table that is not there': MAGIC + b'\x00\x58\x2d\x00\x00' + b'\x23\x40\x00\x05\x00',
}


@pytest.mark.parametrize('name', sorted(BAD))
def test_damage(name):
    good = MAGIC + b'\x00\x58\x19\x00\x00abc'
    with pytest.raises(ZstdError) as caught:
        decompress(good + BAD[name])
    assert caught.value.done[:3] == b'abc'
    assert str(caught.value)


def test_what_came_before_the_damage_is_kept():
    with open(os.path.join(FOLDER, 'long-3.zst'), 'rb') as handle:
        data = handle.read()
    with pytest.raises(ZstdError) as caught:
        decompress(data[:-40])
    # The first of two blocks.
    assert caught.value.done == CONTENT['long-3'][:1 << 17]


def test_limits():
    with open(os.path.join(FOLDER, 'zeros-3.zst'), 'rb') as handle:
        data = handle.read()
    assert len(decompress(data, 200000)) == 200000
    with pytest.raises(ZstdError) as caught:
        decompress(data, 1000)
    assert caught.value.done == bytes(1000)
    # Three bytes, four blocks of 131,072 zeros, then a copy of 6 bytes from 2 ** 19 + 5 - 3 back: offset code 19, its bits 101.
    bits = 0x80000 | 5
    frame = MAGIC + b'\x00\x58' + b'\x18\x00\x00abc' + b'\x02\x00\x10\x00' * 4
    block = b'\x00\x01\x54\x00\x13\x03' + bits.to_bytes(3, 'little')
    frame += bytes((len(block) << 3 | 5, 0, 0)) + block
    assert decompress(frame)[-6:] == b'bc' + bytes(4)
    with pytest.raises(ZstdError):
        decompress(frame, window=1 << 16)


def test_little_is_held_of_a_frame_that_asks_for_much():
    # 500 blocks of a repeated byte, 128 KB each, in a frame with a window of 3.75 TB, which nothing needs.
    block = b'\x02\x00\x10\x00'
    frame = MAGIC + b'\x00\xff' + block * 500 + b'\x01\x00\x00'
    seen = []

    def watch(size):
        seen.append(size)
        return data.read(size)
    data = io.BytesIO(frame)
    total = sum(len(piece) for piece in zstd_pure.blocks(watch, 1 << 16))
    assert total == 500 << 17
    assert max(seen) <= 4


def test_reader():
    with open(os.path.join(FOLDER, 'lines-19.zst'), 'rb') as handle:
        reader = zstd_pure.Reader(handle)
        out = []
        while True:
            piece = reader.read(777)
            if not piece:
                break
            assert len(piece) <= 777
            out.append(piece)
    assert b''.join(out) == CONTENT['lines-19']


@pytest.mark.parametrize('name', ['lines-1', 'lines-3-n', 'letters-3', 'letters-3-n', 'bytes-19', 'noise-3'])
def test_changed_bytes_give_one_kind_of_error(name):
    with open(os.path.join(FOLDER, name + '.zst'), 'rb') as handle:
        data = handle.read()
    take = random.Random(name)
    for _ in range(60):
        changed = bytearray(data)
        for _ in range(take.choice((1, 1, 3))):
            at = min(int(take.expovariate(0.02)), len(changed) - 1) if take.random() < 0.5 else take.randrange(len(changed))
            how = take.randrange(4)
            if how == 0:
                changed[at] ^= 1 << take.randrange(8)
            elif how == 1:
                changed[at] = take.randrange(256)
            elif how == 2:
                del changed[max(at, 1):]
            else:
                changed[at:at] = bytes(take.randrange(256) for _ in range(1 + take.randrange(4)))
        try:
            assert len(decompress(bytes(changed), 1 << 20)) <= 1 << 20
        except ZstdError as error:
            assert len(error.done) <= 1 << 20


# Known sums of the algorithm (seed 0).
SUMS = {b'': 0xEF46DB3751D8E999, b'a': 0xD24EC4F1A98C6E5B, b'abc': 0x44BC2CF5AD770999,
        b'Nobody inspects the spammish repetition': 0xFBCEA83C8A378BF1}


@pytest.mark.parametrize('data', sorted(SUMS))
def test_checksum(data):
    for cut in range(len(data) + 1):
        total = xxh64.Sum()
        total.add(data[:cut])
        total.add(data[cut:])
        assert total.value() == SUMS[data]
