"""records: what each kind of line gives, where it lies, and that reading on, backwards or in part gives the same."""
import gzip
import io
import json
import random

import pytest

import make
from echolib import records
from echolib.records import Coverage, Damage, read_at, read_backwards, read_records

BOM = b'\xef\xbb\xbf'
CHAIN = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"x"},"uuid":"u1","n":%d}'
DEEP = 100000


def good(*numbers):
    return b''.join(b'{"n":%d}\n' % n for n in numbers)


# name -> (bytes, [(n of the record, its line)], non-blank lines, [damaged lines], unfinished bytes)
CASES = {
    'clean': (good(1, 2), [(1, 1), (2, 2)], 2, [], 0),
    'empty file': (b'', [], 0, [], 0),
    'line ends only': (b'\n\n\n', [], 0, [], 0),
    'blank lines': (b'{"n":1}\n\n  \n\t\r\n{"n":2}\n', [(1, 1), (2, 5)], 2, [], 0),
    'CRLF': (b'{"n":1}\r\n{"n":2}\r\n', [(1, 1), (2, 2)], 2, [], 0),
    'no line end at the end': (b'{"n":1}\n{"n":2}', [(1, 1), (2, 2)], 2, [], 0),
    'CRLF, no line end at the end': (b'{"n":1}\r\n{"n":2}\r', [(1, 1), (2, 2)], 2, [], 0),
    'blanks around': (b'  {"n":1}  \n\t{"n":2}\t \n', [(1, 1), (2, 2)], 2, [], 0),
    'byte order mark': (BOM + good(1, 2), [(1, 1), (2, 2)], 2, [], 0),
    'byte order mark in the middle': (good(1) + BOM + good(2), [(1, 1), (2, 2)], 2, [], 0),
    'byte order mark alone': (BOM + b'\n', [], 0, [], 0),
    'byte order mark, no line end': (BOM + b'{"n":1}', [(1, 1)], 1, [], 0),
    # Zero bytes: power cuts leave blocks of them.
    'zeros behind a record': (b'{"n":1}' + b'\0' * 300 + b'\n' + good(2), [(1, 1), (2, 2)], 2, [], 0),
    'zeros before a record': (b'\0' * 300 + good(1), [(1, 1)], 1, [], 0),
    'zeros alone': (good(1) + b'\0' * 500 + b'\n' + good(2), [(1, 1), (2, 3)], 3, [2], 0),
    'zeros alone at the end': (good(1) + b'\0' * 500, [(1, 1)], 2, [2], 0),
    # Torn lines.
    'torn tail': (good(1) + b'{"n":2', [(1, 1)], 1, [], 6),
    'torn tail in a character': (good(1) + b'{"n":"\xe4\xb8', [(1, 1)], 1, [], 8),
    'torn tail that ends as an object does': (good(1) + b'{"n":2,"a":{}', [(1, 1)], 1, [], 13),
    'torn middle': (good(1) + b'{"n":2,"text":"abc\n' + good(3), [(1, 1), (3, 3)], 3, [2], 0),
    'torn first line': (b'":2}\n' + good(2), [(2, 2)], 2, [1], 0),
    'torn line that ends with an inner object': (
        b'{"type":"user","message":{"type":"text","n":2}\n' + good(3), [(3, 2)], 2, [1], 0),
    'blank tail': (good(1) + b'  ', [(1, 1)], 1, [], 2),
    # Control characters that JSON has escaped, as they are: kept, and still damage.
    'a tab in a text': (b'{"n":1,"a":"x\ty"}\n' + good(2), [(1, 1), (2, 2)], 2, [1], 0),
    'zeros in a text': (b'{"n":1,"a":"x\0\0\0y"}\n' + good(2), [(1, 1), (2, 2)], 2, [1], 0),
    'zeros where a text was torn, and a record': (b'{"type":"user","a":"x\0\0\0' + CHAIN % 2 + b'\n' + good(3), [(2, 1), (3, 2)], 2, [1], 0),
    'a control character in a list': (b'["a\x1b"]\n' + good(2), [(2, 2)], 2, [1], 0),
    # Glued lines.
    'stub glued to a record': (b'{"type":"user","mess' + CHAIN % 2 + b'\n' + good(3), [(2, 1), (3, 2)], 2, [1], 0),
    'stub glued to a record with a record inside': (
        b'{"type":"us{"parentUuid":null,"a":[{"type":"text"},{"type":"text"}],"uuid":"u","n":2}\n', [(2, 1)], 1, [1], 0),
    'stub glued to a stub': (b'{"type":"us' + (CHAIN % 2)[:-9] + b'\n' + good(3), [(3, 2)], 2, [1], 0),
    'two on one line': (b'{"n":1}{"n":2}\n' + good(3), [(1, 1), (2, 1), (3, 2)], 2, [1], 0),
    'three on one line': (b'{"n":1}{"n":2}{"n":3}\n', [(1, 1), (2, 1), (3, 1)], 1, [1], 0),
    'two on one line, gap between': (b'{"n":1} \0\t{"n":2}\n', [(1, 1), (2, 1)], 1, [1], 0),
    'two on one line and a stub': (b'{"n":1}{"n":2}{"n":\n', [(1, 1), (2, 1)], 1, [1], 0),
    'two on one line, a stub between': (b'{"n":1}{"ty' + CHAIN % 2 + b'\n', [(1, 1), (2, 1)], 1, [1], 0),
    'record and rubbish': (b'{"n":1} rubbish\n' + good(2), [(1, 1), (2, 2)], 2, [1], 0),
    # JSON that is no record.
    'no objects': (b'null\n42\n"hi"\n[]\n[{"n":1}]\ntrue\n' + good(7), [(7, 7)], 7, [1, 2, 3, 4, 5, 6], 0),
    'rubbish': (b'not json\n{]\n\x80\x81\n' + good(4), [(4, 4)], 4, [1, 2, 3], 0),
    'nested too deep': (b'[' * DEEP + b'\n' + b'{"a":' * DEEP + b'\n' + b'{"n":1,"a":' + b'[' * DEEP + b']' * DEEP
                        + b'}\n' + good(4), [(4, 4)], 4, [1, 2, 3], 0),
    'giant number': (b'{"n":' + b'9' * 5000 + b'}\n' + good(2), [(2, 2)], 2, [1], 0),
    'large number': (b'{"n":1,"x":' + b'9' * 4000 + b'}\n', [(1, 1)], 1, [], 0),
    'numbers of JavaScript': (b'{"n":1,"x":1e999,"y":NaN,"z":-Infinity}\n', [(1, 1)], 1, [], 0),
    # Characters.
    'lone surrogate escaped': (b'{"n":1,"t":"\\ud83d"}\n' + good(2), [(1, 1), (2, 2)], 2, [], 0),
    'lone surrogate in bytes': (b'{"n":1,"t":"\xed\xa0\xbd"}\n', [(1, 1)], 1, [], 0),
    'invalid UTF-8 in a string': (b'{"n":1,"t":"\xff\xe4\xb8"}\n' + good(2), [(1, 1), (2, 2)], 2, [], 0),
    'separators of Unicode': ('{"n":1,"t":"a\u2028b\u2029c\u0085d"}\n'.encode('utf-8') + good(2), [(1, 1), (2, 2)], 2, [], 0),
    # No white space of JSON; the record behind it does not begin as records do.
    'form feed and vertical tab': (b'{"n":1}\x0c\n\x0b{"n":2}\n', [(1, 1)], 2, [1, 2], 0),
}


class Memory(str):
    """A path whose file is these bytes; as fast as the many files of these tests want it."""

    def __new__(cls, data):
        self = str.__new__(cls, '/memory/x.jsonl')
        self.data = data
        return self


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Opens the files of Memory paths."""
    real = records.open_bytes
    monkeypatch.setattr(records, 'open_bytes', lambda path, *block: io.BytesIO(path.data) if isinstance(path, Memory) else real(path, *block))


def put(folder, data):
    return make.write(folder.join('x.jsonl'), [data])


def read(path, offset=0, line=0, **how):
    """Return (records, coverage) of reading a file from an offset on."""
    coverage = Coverage(path, offset, line)
    return list(read_records(path, coverage, offset, line, **how)), coverage


@pytest.mark.parametrize('name', sorted(CASES))
def test_lines(name):
    data, found, lines, damaged, unfinished = CASES[name]
    got, coverage = read(Memory(data))
    assert [(record.data.get('n'), record.line) for record in got] == found
    assert [one.line for one in coverage.damaged] == damaged
    assert (coverage.lines, coverage.parse_errors, coverage.unfinished) == (lines, len(damaged), unfinished)
    assert coverage.offset == len(data) - unfinished
    assert all(type(one.reason) is str and one.reason for one in coverage.damaged)


@pytest.mark.parametrize('name', sorted(CASES))
def test_offsets_point_at_the_lines(name):
    data = CASES[name][0]
    path = Memory(data)
    starts = [0]
    for piece in data.split(b'\n'):
        starts.append(starts[-1] + len(piece) + 1)
    for record in read(path)[0]:
        assert record.offset == starts[record.line - 1]
        assert record.length == min(starts[record.line], len(data)) - record.offset
        assert record.data in read_at(path, record.offset, record.length)
        assert record.data in read_at(path, record.offset)


@pytest.mark.parametrize('name', sorted(set(CASES) - {'nested too deep'}))
def test_backwards_is_forwards_reversed(name):
    path = Memory(CASES[name][0])
    forwards = [(record.data, record.offset, record.length) for record in read(path)[0]]
    for block in (1, 2, 7, 64, 1 << 16):
        backwards = [(record.data, record.offset, record.length) for record in read_backwards(path, block=block)]
        assert repr(backwards) == repr(forwards[::-1]), block      # as text, since NaN is unlike itself


def test_text_survives():
    text = 'a\u2028b\u2029c\u0085d \u4e2d\u6587 \U0001f600 tab\t quote" back\\'
    (record,), coverage = read(Memory(make.line({'t': text})))
    assert record.data == {'t': text}
    (record,), coverage = read(Memory(b'{"t":"\\ud83d"}\n'))
    assert record.data == {'t': '\ud83d'}
    (record,), coverage = read(Memory(b'{"t":"a\xffb"}\n'))
    assert record.data == {'t': 'a\ufffdb'}


@pytest.mark.slow
def test_a_line_of_30_megabytes(tmpdir):
    data = good(1) + b'{"n":2,"t":"' + b'x' * (30 << 20) + b'"}\n' + good(3)
    path = put(tmpdir, data)
    got, coverage = read(path)
    assert [record.data['n'] for record in got] == [1, 2, 3]
    assert (coverage.lines, coverage.parse_errors) == (3, 0)
    assert [record.data['n'] for record in read_backwards(path)] == [3, 2, 1]


# One file with most of what can happen, for reading it in parts.
MIXED = (BOM + good(1) + b'\n{"n":2}\r\n' + '{"n":3,"t":"\u4e2d\u2028\U0001f600"}\n'.encode('utf-8') + b'{"n":4,"te\n'
         + b'\0\0\0\n' + b'{"n":5}\0\0\n' + b'  \n' + b'\0\0{"n":6}\n' + b'{"n":7}{"n":8}\n' + b'null\n'
         + b'{"type":"us' + CHAIN % 9 + b'\n' + good(10) + b'{"n":11}  \n' + b'{"n":12}')


def places(found):
    """Return what must be the same however a file is read; the length of a last line grows with its line end."""
    return [(record.data, record.line, record.offset) for record in found]


def parts_of(data, cuts):
    """Read a file that grows at these places; return (records, coverages), None where a line changed its meaning.

    A last line that was whole and then goes on is what a reader of a grown file cannot know: the caller looks at the
    next byte and starts again.
    """
    records_, coverages, offset, line, state = [], [], 0, 0, None
    for cut in cuts:
        if state is not None and state.open_end:
            rest = data[offset:cut].split(b'\n')[0]
            if rest.strip(b'\0 \t\r'):
                return None
        got, state = read(Memory(data[:cut]), offset, line)
        records_ += got
        coverages.append(state)
        offset, line = state.offset, state.line
    return records_, coverages


def summed(coverages):
    """Return what several coverages say together: lines, errors, damaged lines, how far, the last line's number."""
    return (sum(one.lines for one in coverages), sum(one.parse_errors for one in coverages),
            [damage for one in coverages for damage in one.damaged],
            coverages[-1].offset, coverages[-1].line, coverages[-1].unfinished, coverages[-1].open_end)


def test_reading_on_from_every_cut_is_reading_whole():
    whole, coverage = read(Memory(MIXED))
    compared = 0
    for cut in range(len(MIXED) + 1):
        parts = parts_of(MIXED, [cut, len(MIXED)])
        if parts is not None:
            assert places(parts[0]) == places(whole), cut
            assert summed(parts[1]) == summed([coverage]), cut
            compared += 1
    # Zeros before a record, two records on a line, a stub that reads as whole: 2 + 1 cuts.
    assert len(MIXED) + 1 - compared == 3


def test_reading_on_step_by_step_is_reading_whole():
    whole, coverage = read(Memory(MIXED))
    chance = random.Random(1)
    compared = 0
    for _ in range(60):
        cuts = sorted(chance.sample(range(len(MIXED)), chance.randint(2, 12))) + [len(MIXED)] * 2
        parts = parts_of(MIXED, cuts)
        if parts is not None:
            assert places(parts[0]) == places(whole), cuts
            assert summed(parts[1]) == summed([coverage]), cuts
            compared += 1
    assert compared > 30


def test_a_line_end_that_comes_later_is_no_line():
    # A file may end without a line end; what is appended begins with one ("seal"), and line numbers must not move.
    got, coverage = read(Memory(b'{"n":1}'))
    assert (coverage.open_end, coverage.line) == (True, 1)
    got, coverage = read(Memory(b'{"n":1}\n' + good(2)), coverage.offset, coverage.line)
    assert [(record.line, record.offset) for record in got] == [(2, 8)]
    assert (coverage.open_end, coverage.lines) == (False, 1)


def test_nothing_new_keeps_the_open_end():
    path = Memory(b'{"n":1}')
    _, coverage = read(path)
    got, coverage = read(path, coverage.offset, coverage.line)
    assert (got, coverage.open_end, coverage.offset, coverage.line) == ([], True, 7, 1)


def test_offset_behind_the_end():
    got, coverage = read(Memory(good(1)), 1000, 7)
    assert (got, coverage.lines, coverage.offset, coverage.line) == ([], 0, 1000, 7)


class Counting(io.FileIO):
    """A file that counts the bytes read from it."""

    taken = 0

    def readinto(self, buffer):
        count = super(Counting, self).readinto(buffer)
        self.taken += count
        return count


@pytest.fixture
def counted(monkeypatch):
    """Returns the list of files that records opens, each of which counts what is read."""
    opened = []

    def open_counting(path, block=-1):
        opened.append(Counting(path))
        return io.BufferedReader(opened[-1], 512)
    monkeypatch.setattr(records, 'open_bytes', open_counting)
    return opened


def test_limit_leaves_the_rest_unread(tmpdir, counted):
    path = put(tmpdir, good(*range(10000)))
    got, coverage = read(path, limit=3)
    assert [record.data['n'] for record in got] == [0, 1, 2]
    assert (coverage.lines, coverage.offset) == (3, len(good(0, 1, 2)))
    assert counted[0].taken <= 1024
    assert counted[0].closed


def test_reading_backwards_leaves_the_rest_unread(tmpdir, counted):
    path = put(tmpdir, good(*range(100000)))
    got = list(read_backwards(path, limit=2, block=4096))
    assert [record.data['n'] for record in got] == [99999, 99998]
    assert counted[0].taken <= 3 * 4096


def test_backwards_skips_like_forwards():
    path = Memory(good(1, 2, 3))
    assert [record.data['n'] for record in read_backwards(path, skip=lambda line: b'2' in line)] == [3, 1]


def test_a_long_line_is_joined_once(tmpdir, counted):
    data = b'{"n":1,"t":"' + b'x' * 200000 + b'"}\n'
    path = put(tmpdir, data + good(2))
    assert [record.data['n'] for record in read_backwards(path, block=1000)] == [2, 1]
    assert counted[0].taken <= len(data) + 8 + 512 * 210


def test_skipped_lines_count_and_are_not_parsed():
    seen = []

    def skip(line):
        seen.append(line)
        return line.startswith(b'{"skip"')
    data = good(1) + b'{"skip":not json}\n' + b'broken\n' + good(4)
    got, coverage = read(Memory(data), skip=skip)
    assert [(record.data['n'], record.line) for record in got] == [(1, 1), (4, 4)]
    assert (coverage.lines, coverage.parse_errors, [one.line for one in coverage.damaged]) == (4, 1, [3])
    assert b''.join(seen) == data


def test_a_skipped_torn_tail_stays_unfinished():
    got, coverage = read(Memory(good(1) + b'{"skip":'), skip=lambda line: True)
    assert (got, coverage.lines, coverage.unfinished) == ([], 1, 8)


def test_only_the_first_errors_are_kept():
    _, coverage = read(Memory(b'x\n' * 300))
    assert (coverage.lines, coverage.parse_errors, len(coverage.damaged)) == (300, 300, records.MAX_ERRORS)


def test_messages_and_sums():
    one, two = Coverage('/a/b.jsonl'), Coverage('/a/c.jsonl')
    one.lines, two.lines = 3, 4
    one.damage(2, 'not JSON')
    two.drift(1, 'record type x')
    assert one.messages() == ['/a/b.jsonl:2: not JSON']
    assert two.drifts == [Damage(1, 'record type x')]
    one.add(two)
    assert (one.lines, one.parse_errors, one.unknown_records) == (7, 1, 1)


def test_only_opening_fails(tmpdir):
    with pytest.raises(OSError):
        list(read_records(str(tmpdir.join('missing.jsonl'))))
    with pytest.raises(OSError):
        list(read_records(str(tmpdir)))


def test_fields_of_a_record():
    record = records.Record({'type': 5, 'message': 'x', 'timestamp': 7}, 1, 0, 3)
    assert (record.type, record.message, record.timestamp) == ('', {}, 7)
    record = records.Record({'type': 'user', 'message': {'a': 1}}, 1, 0, 3)
    assert (record.type, record.message, record.timestamp) == ('user', {'a': 1}, None)


def test_read_at_where_nothing_is():
    path = Memory(good(1))
    assert list(read_at(path, 100)) == []
    assert list(read_at(path, 3, 5)) == []


# Packed files.

def pack(folder, data):
    path = str(folder.join('x.jsonl.gz'))
    with gzip.open(path, 'wb') as out:
        out.write(data)
    return path


def test_packed_file_reads_like_a_plain_one(tmpdir):
    path = pack(tmpdir, MIXED)
    plain, coverage = read(put(tmpdir, MIXED))
    packed, other = read(path)
    assert packed == plain and summed([other]) == summed([coverage])
    middle = plain[4]
    assert read(path, middle.offset, middle.line - 1)[0] == plain[4:]
    assert middle.data in read_at(path, middle.offset, middle.length)
    assert [record.offset for record in read_backwards(path)] == [record.offset for record in plain[::-1]]


def test_damaged_packed_file_gives_what_it_holds(tmpdir):
    data = b''.join(b'{"n":%d,"t":"%s"}\n' % (n, ('%x' % random.Random(n).getrandbits(4000)).encode()) for n in range(200))
    path = pack(tmpdir, data)
    with open(path, 'rb') as packed:
        whole = packed.read()
    for broken in (whole[:len(whole) // 2], whole[:-4], whole[:5000] + b'\0' * 64 + whole[5064:], b'no archive'):
        make.write(path, [broken])
        got, coverage = read(path)
        assert coverage.parse_errors >= 1
        assert coverage.lines == len(got) + coverage.parse_errors
        assert [record.data['n'] for record in got] == list(range(len(got)))
        for reading in (lambda: read_at(path, len(data) - 10), lambda: list(read_backwards(path)), lambda: read(path, len(data))[0]):
            try:
                reading()
            except OSError:
                # The one error that readers of files expect.
                pass


# Any bytes at all, against the json module line by line.

def expected_of(data):
    """Return (clean objects, lines, errors, unfinished bytes) by json.loads of every line."""
    clean, lines, errors = [], 0, 0
    pieces = data.split(b'\n')
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        text = piece.decode('utf-8', 'replace').strip('\ufeff').strip(' \t\r')
        if last and not piece:
            break
        if not text:
            if last:
                return clean, lines, errors, len(piece)
            continue
        bare = text.strip('\0 \t\r')
        try:
            value = json.loads(bare)
        except (ValueError, RecursionError):
            value = None
        if last and bare and not isinstance(value, dict):
            return clean, lines, errors, len(piece)
        lines += 1
        if isinstance(value, dict):
            clean.append((number + 1, value))
        else:
            errors += 1
    return clean, lines, errors, 0


PIECES = [b'\n', b'\n', b'\r\n', b'{"n":1}\n', b'{"n":1}', b'{"parentUuid":null,"uuid":"u"}', b'{"type":"x"', b'}', b'{', b'[',
          b']', b'"', b'\\', b'\\ud800', b'null', b',', b':', b'\0', b'\0\0\0\n', BOM, b'\xff', b'\xe4\xb8', b' ', b'\t',
          b'\xe2\x80\xa8', b'1e9', b'-', b'"a":', b'{"a":[{"b":"c"}]}\n']


@pytest.mark.parametrize('seed', range(8))
def test_any_bytes(seed):
    chance = random.Random(seed)
    for _ in range(50):
        data = b''.join(
            chance.choice(PIECES) if chance.random() < 0.9 else bytes(bytearray(chance.getrandbits(8) for _ in range(5)))
            for _ in range(chance.randint(1, 60)))
        path = Memory(data)
        got, coverage = read(path)
        clean, lines, errors, unfinished = expected_of(data)
        assert (coverage.lines, coverage.parse_errors, coverage.unfinished) == (lines, errors, unfinished), data
        bad = {one.line for one in coverage.damaged}
        assert [(one.line, one.data) for one in got if one.line not in bad] == clean, data
        assert coverage.lines == len(clean) + coverage.parse_errors
        backwards = [(one.data, one.offset, one.length) for one in read_backwards(path, block=chance.randint(1, 40))]
        assert backwards == [(one.data, one.offset, one.length) for one in got][::-1], data


@pytest.mark.parametrize('line', [b'{"type":"', b'{"parentUuid":', b'{"n":', b'{"type":"a"}x', b'[{"type":"'])
def test_work_on_a_damaged_line_does_not_grow_with_its_parts(line, monkeypatch):
    tries = []
    scan = records._scan

    def counting(text, at):
        tries.append(at)
        return scan(text, at)
    monkeypatch.setattr(records, '_scan', counting)
    for count in (50, 500):
        del tries[:]
        records.parse_line(line * count)
        assert len(tries) <= 12
