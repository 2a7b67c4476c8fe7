"""Times: every spelling of ISO 8601, epoch units, zones with and without zoneinfo, days, bounds and ages."""

import os
import struct
import subprocess
import sys
import time

import pytest

from echolib.base import clock
from echolib.base.errors import UsageError

HOUR, DAY = 3600000, 86400000
NINE = 1772442000000        # 2026-03-02T09:00:00Z, a Monday

SPELLINGS = {
    'the usual shape': ('2026-03-02T09:00:00.000Z', NINE),
    'ms': ('2026-03-02T09:00:00.123Z', NINE + 123),
    'z': ('2026-03-02T09:00:00Z', NINE),
    'lower case': ('2026-03-02t09:00:00z', NINE),
    'no zone is UTC': ('2026-03-02T09:00:00', NINE),
    'space': ('2026-03-02 09:00:00', NINE),
    'space and UTC': ('2026-03-02 09:00:00 UTC', NINE),
    'offset': ('2026-03-02T11:00:00+02:00', NINE),
    'offset without colon': ('2026-03-02T04:00:00-0500', NINE),
    'offset of hours': ('2026-03-02T11+02', NINE),
    'offset after a space': ('2026-03-02 11:00:00 +0200', NINE),
    'half hour': ('2026-03-02T14:30:00.5+05:30', NINE + 500),
    'no seconds': ('2026-03-02T09:00', NINE),
    'no seconds, zone': ('2026-03-02T09:00Z', NINE),
    'six digits': ('2026-03-02T09:00:00.123456Z', NINE + 123),
    'seven digits': ('2026-03-02T09:00:00.1234567Z', NINE + 123),
    'nine digits are cut, not rounded': ('2026-03-02T09:00:00.999999999Z', NINE + 999),
    'one digit': ('2026-03-02T09:00:00.5Z', NINE + 500),
    'comma': ('2026-03-02T09:00:00,25Z', NINE + 250),
    'six digits and offset': ('2026-03-02T09:00:00.123456+00:00', NINE + 123),
    'date only': ('2026-03-02', NINE - 9 * HOUR),
    'basic': ('20260302T090000Z', NINE),
    'basic date': ('20260302', NINE - 9 * HOUR),
    'blanks around': (' 2026-03-02T09:00:00Z\n', NINE),
    'leap second': ('2016-12-31T23:59:60Z', 1483228800000),
    'end of day': ('2026-03-01T24:00:00Z', NINE - 9 * HOUR),
    'leap day': ('2024-02-29T00:00:00Z', 1709164800000),
    'before 1970': ('1969-12-31T23:59:59.500Z', -500),
    'year 1': ('0001-01-01T00:00:00Z', -62135596800000),
    'year 9999': ('9999-12-31T23:59:59.999Z', 253402300799999),
    's': (1772442000, NINE),
    's, fraction': (1772442000.1234, NINE + 123),
    'ms number': (NINE + 123, NINE + 123),
    'ms float': (float(NINE), NINE),
    'us': (NINE * 1000 + 999, NINE),
    'ns': (NINE * 1000000 + 1, NINE),
    's as text': ('1772442000', NINE),
    's as text, fraction': ('1772442000.5', NINE + 500),
    'ms as text': ('1772442000123', NINE + 123),
    'ns as text': ('1772442000123456789', NINE + 123),
}


@pytest.mark.parametrize('name', sorted(SPELLINGS))
def test_parse_time(name):
    value, expected = SPELLINGS[name]
    assert clock.parse_time(value) == expected
    assert clock.parse_time(value) == expected      # again, from the cache
    assert type(clock.parse_time(value)) is int


@pytest.mark.parametrize('value', [
    None, '', ' ', 'yesterday', 'T', '2026', '2026-03', '2026-13-01', '2026-02-30', '2025-02-29', '2026-00-10',
    '2026-3-2',
    '0000-01-01T00:00:00Z', '2026-03-02T25:00:00Z', '2026-03-02T09:60:00Z', '2026-03-02T24:00:30.000Z',
    '2026-03-02T09:00:61Z', '2026-03-02T09:00:00+25:00', '2026-03-02T09:00:00 PST', '2026-03-02T09:00:00.Z',
    '2026-03-02T09:00:00.1x3Z', '0001-01-01T00:00:00+05:00', '9999-12-31T23:59:59-05:00', '٢٠٢٦-٠٣-٠٢',
    '2026-03-02T09:00:0٠.000Z',
    '12345678', '1' * 400, '1e12', 'nan', float('nan'), float('inf'), -float('inf'), 0, 1, -1, 4096, True, 10 ** 30,
    -10 ** 12,
    b'2026-03-02T09:00:00.000Z', [], {}, ['2026-03-02T09:00:00.000Z'], {'a': 1}, object(), 1j,
    '2026-03-02T09:00:00' + ' ' * 9999 + 'x',
])
def test_parse_time_refuses(value):
    assert clock.parse_time(value) is None
    assert clock.parse_time(value) is None


def test_a_cached_minute_and_second_do_not_make_an_impossible_time_good():
    assert clock.parse_time('2026-03-02T24:00:00.000Z') == NINE + 15 * HOUR
    assert clock.parse_time('2026-03-03T23:59:30.007Z') == NINE + 38 * HOUR + 59 * 60000 + 30007
    assert clock.parse_time('2026-03-02T24:00:30.007Z') is None
    assert clock.parse_time('2026-02-30T23:59:30.007Z') is None
    assert clock.parse_time('2026-03-02T09:00:00.000X') is None


def test_case_r051_order_and_duration():
    times = [clock.parse_time(t) for t in (
        '2026-03-02T09:00:00', '2026-03-02T09:00:10.123456Z', '2026-03-02T11:00:20+02:00',
        '2026-03-02T04:00:30-0500', '2026-03-02T09:00:40.1234567Z', None)]
    assert times == [NINE, NINE + 10123, NINE + 20000, NINE + 30000, NINE + 40123, None]


def test_format_time():
    assert clock.format_time(None) == ''
    assert clock.format_time(NINE) == '2026-03-02T09:00:00Z'
    assert clock.format_time(NINE + 7) == '2026-03-02T09:00:00.007Z'
    assert clock.format_time(-1) == '1969-12-31T23:59:59.999Z'
    assert clock.format_time(NINE, clock.UTC) == '2026-03-02T09:00:00Z'
    assert clock.format_time(NINE, clock.zone('+02:00')) == '2026-03-02T11:00:00+02:00'
    assert clock.format_time(NINE, clock.zone('-0730')) == '2026-03-02T01:30:00-07:30'
    assert clock.format_time(253402300800000) == clock.format_time(-62135596800001) == ''
    assert clock.format_time(10 ** 30) == ''


def test_format_and_parse_agree_on_every_day_of_4000_years():
    for days in range(clock.days_from_civil(1, 1, 1), clock.days_from_civil(4001, 1, 1), 397):
        assert clock.days_from_civil(*clock.civil_from_days(days)) == days
        assert clock.parse_time(clock.format_time(days * DAY + 1)) == days * DAY + 1
        assert tuple(time.gmtime(days * 86400)[:3]) == clock.civil_from_days(days)


OFFSETS = {'UTC': 0, 'utc': 0, 'Z': 0, 'GMT': 0, '+02:00': 7200, '-0730': -27000, 'UTC+3': 10800, 'UTC-03:30': -12600,
           'gmt+1': 3600, '+5': 18000, '-00:30': -1800, '+0545': 20700}


@pytest.mark.parametrize('name', sorted(OFFSETS))
def test_zone_of_an_offset(name):
    z = clock.zone(name)
    assert z.offset(NINE) == OFFSETS[name]
    assert z.to_utc(2026, 3, 2, 9, 0, 0) == NINE - OFFSETS[name] * 1000
    assert clock.zone(z.name).offset(0) == OFFSETS[name]


@pytest.mark.parametrize('name', ['', ' ', 'Mars/Olympus', '../../etc/passwd', '/etc/passwd', 'Europe',
                                  'Europe/../UTC', '+25:00',
                                  '+1:75', 'zone.tab', 'a' * 500, 'Europe/Berlin\0', '٣'])
def test_zone_refuses(name):
    with pytest.raises(UsageError) as e:
        clock.zone(name)
    assert 'Europe/Berlin' in str(e.value) and '+02:00' in str(e.value)


def _tzif(path, transitions, offsets, footer, version=b'2'):
    """Writes a TZif file: transitions [(s, index)], offsets in s. Version 1 has 32-bit times and no footer."""
    def block(size):
        head = b'TZif' + (b'\0' if version == b'1' else version) + b'\0' * 15
        head += struct.pack('>6l', 0, 0, 0, len(transitions), len(offsets), 4)
        body = b''.join(struct.pack('>l' if size == 4 else '>q', t) for t, _ in transitions)
        body += bytes(i for _, i in transitions)
        body += b''.join(struct.pack('>lBB', o, 0, 0) for o in offsets) + b'ABC\0'
        return head + body
    data = block(4) if version == b'1' else block(4) + block(8) + b'\n' + footer + b'\n'
    if not os.path.isdir(os.path.dirname(str(path))):
        os.makedirs(os.path.dirname(str(path)))
    with open(str(path), 'wb') as f:
        f.write(data)


@pytest.fixture
def zones(tmp_path, monkeypatch):
    """A database of our own, found before the system's."""
    monkeypatch.setenv('PYTHONTZPATH', str(tmp_path))
    monkeypatch.setattr(clock, '_zones', {})
    _tzif(tmp_path / 'Test' / 'Berlin', [(1000000000, 1), (1100000000, 0)], [3600, 7200],
          b'CET-1CEST,M3.5.0,M10.5.0/3')
    _tzif(tmp_path / 'Test' / 'Sydney', [], [36000], b'AEST-10AEDT,M10.1.0,M4.1.0/3')
    _tzif(tmp_path / 'Test' / 'Old', [(0, 1)], [-100, 7200], b'', version=b'1')
    _tzif(tmp_path / 'Test' / 'Fixed', [(0, 1)], [0, 20700], b'<+0545>-5:45')
    _tzif(tmp_path / 'Test' / 'Dublin', [], [0], b'IST-1GMT0,M10.5.0,M3.5.0/1')
    _tzif(tmp_path / 'Test' / 'Julian', [], [0], b'AAA0BBB,J60/0,J365/23')
    _tzif(tmp_path / 'Test' / 'Zero', [], [0], b'AAA0BBB-2,59/0,364/-1')
    _tzif(tmp_path / 'Test' / 'NoRule', [(0, 1)], [0, 3600], b'no such rule')
    (tmp_path / 'Test' / 'Cut').write_bytes((tmp_path / 'Test' / 'Berlin').read_bytes()[:70])
    (tmp_path / 'Test' / 'Empty').write_bytes(b'')
    return tmp_path


RULES = {   # zone, local wall time, offset in s
    'winter': ('Test/Berlin', '2026-01-15T12:00', 3600),
    'summer': ('Test/Berlin', '2026-07-15T12:00', 7200),
    'summer of a far year': ('Test/Berlin', '9000-07-15T12:00', 7200),
    'first second of summer': ('Test/Berlin', '2026-03-29T03:00', 7200),
    'last minute of winter': ('Test/Berlin', '2026-03-29T01:59', 3600),
    'stored transition': ('Test/Berlin', '2002-01-01T00:00', 7200),
    'before all transitions': ('Test/Berlin', '1950-07-01T00:00', 3600),
    'south, january': ('Test/Sydney', '2026-01-15T12:00', 39600),
    'south, july': ('Test/Sydney', '2026-07-15T12:00', 36000),
    'version 1': ('Test/Old', '2030-01-01T00:00', 7200),
    'version 1, before': ('Test/Old', '1969-06-01T00:00', -100),
    'quarter hours': ('Test/Fixed', '2026-01-01T00:00', 20700),
    'negative summer time': ('Test/Dublin', '2026-01-15T12:00', 0),
    'its summer': ('Test/Dublin', '2026-07-15T12:00', 3600),
    'J60 is 1 March, leap year': ('Test/Julian', '2024-02-29T23:00', 0),
    'J60, after': ('Test/Julian', '2024-03-01T02:00', 3600),
    'day 59 counts 29 February': ('Test/Zero', '2024-02-29T03:00', 7200),
    'day 59 in other years': ('Test/Zero', '2025-02-28T23:00', 0),
    'footer that is none': ('Test/NoRule', '2030-01-01T00:00', 3600),
}


@pytest.mark.parametrize('name', sorted(RULES))
def test_own_reader_of_zone_files(zones, name):
    zone, wall, offset = RULES[name]
    z = clock.zone(zone)
    assert z.name == zone
    y, m, d, h, mi = [int(x) for x in wall.replace('T', '-').replace(':', '-').split('-')]
    ms = z.to_utc(y, m, d, h, mi)
    assert z.offset(ms) == offset
    assert clock.format_time(ms, z)[:16] == wall


def test_wall_times_that_come_twice_or_never(zones):
    z = clock.zone('Test/Berlin')
    assert clock.format_time(z.to_utc(2026, 10, 25, 2, 30)) == '2026-10-25T00:30:00Z'      # the first of the two
    assert clock.format_time(z.to_utc(2026, 3, 29, 2, 30), z) == '2026-03-29T03:30:00+02:00'


def test_zone_names_in_another_case_and_damaged_files(zones):
    assert clock.zone('test/berlin').name == 'Test/Berlin'
    for name in ('Test/Cut', 'Test/Empty', 'Test'):
        with pytest.raises(UsageError):
            clock.zone(name)


def test_own_reader_agrees_with_zoneinfo():
    zoneinfo = pytest.importorskip('zoneinfo')
    from datetime import datetime, timedelta
    for name in ('Europe/Berlin', 'America/Los_Angeles', 'Asia/Kolkata', 'Africa/Casablanca', 'Pacific/Apia',
                 'Europe/Dublin',
                 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Asia/Tehran', 'Antarctica/Troll'):
        own = clock._file_zone(name)
        if own is None:
            pytest.skip('no zone files on this system')
        info = zoneinfo.ZoneInfo(name)
        for seconds in range(-3000000000, 8000000000, 19876543):
            local = info.fromutc((datetime(1970, 1, 1) + timedelta(seconds=seconds)).replace(tzinfo=info))
            assert own.offset(seconds * 1000) == local.utcoffset().total_seconds(), (name, seconds)
            wall = datetime(1970, 1, 1) + timedelta(seconds=seconds)
            utc = seconds - wall.replace(tzinfo=info).utcoffset().total_seconds()
            assert own.to_utc(*wall.timetuple()[:6]) == utc * 1000, (name, wall)


def test_zone_of_the_library_where_there_are_no_files(monkeypatch):
    zoneinfo = pytest.importorskip('zoneinfo')
    try:
        zoneinfo.ZoneInfo('Asia/Tokyo')
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip('no zone data at all')
    monkeypatch.setattr(clock, '_zones', {})
    monkeypatch.setattr(clock, '_ZONE_FOLDERS', ())
    monkeypatch.delenv('PYTHONTZPATH', raising=False)
    z = clock.zone('Asia/Tokyo')
    assert type(z).__name__ == '_LibraryZone'
    assert z.offset(NINE) == 32400 and z.to_utc(2026, 3, 2, 18) == NINE
    assert z.offset(clock._MAX) == z.offset(10 ** 18) == 32400


@pytest.fixture
def tz(monkeypatch):
    if not hasattr(time, 'tzset'):
        pytest.skip('no tzset here')

    def switch(name):
        monkeypatch.setenv('TZ', name)
        return clock.zone()
    yield switch
    monkeypatch.undo()
    time.tzset()


def test_local_zone_honours_tz(tz):
    z = tz('PST8PDT,M3.2.0,M11.1.0')
    assert z.name == 'PST8PDT,M3.2.0,M11.1.0'
    assert z.offset(NINE) == -28800 and z.offset(NINE + 100 * DAY) == -25200
    # case R048: 2026-01-25T04:08Z is the evening before on the west coast
    evening = clock.parse_time('2026-01-25T04:08:00.000Z')
    assert clock.local_day(evening, z) == '2026-01-24' and clock.local_hour(evening, z) == 20
    z = tz('JST-9')
    assert clock.local_day(clock.parse_time('2026-01-25T18:00:00Z'), z) == '2026-01-26'
    assert clock.local_day(evening, tz('UTC')) == '2026-01-25'


def test_local_zone_beyond_the_reach_of_the_c_library():
    for ms in (10 ** 25, -10 ** 25):
        assert isinstance(clock.zone().offset(ms), int)


def test_days_weeks_months():
    z = clock.zone('+02:00')
    late = clock.parse_time('2026-02-28T23:30:00Z')
    assert clock.local_day(late, z) == '2026-03-01' and clock.month_of(late, z) == '2026-03'
    assert clock.local_day(late, clock.UTC) == '2026-02-28' and clock.local_hour(late, z) == 1
    assert clock.week_of(NINE, clock.UTC) == ('2026-W10', '2026-03-02')
    for none in (clock.local_day, clock.month_of):
        assert none(None, z) == ''
    assert clock.local_hour(None, z) is None and clock.week_of(None, z) == ('', '')


WEEKS = {'2027-01-01': ('2026-W53', '2026-12-28'), '2024-12-30': ('2025-W01', '2024-12-30'),
         '2021-01-03': ('2020-W53', '2020-12-28'),
         '2026-01-01': ('2026-W01', '2025-12-29'), '2023-01-01': ('2022-W52', '2022-12-26'),
         '1970-01-01': ('1970-W01', '1969-12-29')}


@pytest.mark.parametrize('day', sorted(WEEKS))
def test_iso_weeks_at_the_turn_of_the_year(day):
    assert clock.week_of(clock.parse_time(day), clock.UTC) == WEEKS[day]


BOUNDS = {  # text -> since, until, both at 2026-03-02T09:00Z in +02:00 (11:00 there)
    '2026-07-04': ('2026-07-03T22:00:00Z', '2026-07-04T22:00:00Z'),
    '2026-03': ('2026-02-28T22:00:00Z', '2026-03-31T22:00:00Z'),
    '2025-12': ('2025-11-30T22:00:00Z', '2025-12-31T22:00:00Z'),
    'today': ('2026-03-01T22:00:00Z', '2026-03-02T22:00:00Z'),
    'Yesterday': ('2026-02-28T22:00:00Z', '2026-03-01T22:00:00Z'),
    'now': ('2026-03-02T09:00:00Z', '2026-03-02T09:00:00Z'),
    '12h': ('2026-03-01T21:00:00Z', '2026-03-01T21:00:00Z'),
    '7d': ('2026-02-23T09:00:00Z', '2026-02-23T09:00:00Z'),
    ' 7 days ago ': ('2026-02-23T09:00:00Z', '2026-02-23T09:00:00Z'),
    '2w': ('2026-02-16T09:00:00Z', '2026-02-16T09:00:00Z'),
    '3m': ('2025-12-02T09:00:00Z', '2025-12-02T09:00:00Z'),
    '1y': ('2025-03-02T09:00:00Z', '2025-03-02T09:00:00Z'),
    '999999y': ('0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'),
    '2026-07-04T10:00:00Z': ('2026-07-04T10:00:00Z', '2026-07-04T10:00:01Z'),
    '2026-07-04T10:00:00.250Z': ('2026-07-04T10:00:00.250Z', '2026-07-04T10:00:00.251Z'),
    '2026-07-04 10:00': ('2026-07-04T08:00:00Z', '2026-07-04T08:01:00Z'),
    '2026-07-04T10:00+05:00': ('2026-07-04T05:00:00Z', '2026-07-04T05:01:00Z'),
    '1772442000': ('2026-03-02T09:00:00Z', '2026-03-02T09:00:00Z'),
}


@pytest.mark.parametrize('text', sorted(BOUNDS))
def test_parse_bound(text):
    z = clock.zone('+02:00')
    since, until = clock.parse_bound(text, z, NINE), clock.parse_bound(text, z, NINE, end=True)
    assert (clock.format_time(since), clock.format_time(until)) == BOUNDS[text]


def test_months_back_end_on_a_day_that_exists():
    now = clock.parse_time('2026-03-31T10:00:00.500Z')
    assert clock.format_time(clock.parse_bound('1m', clock.UTC, now)) == '2026-02-28T10:00:00.500Z'
    assert clock.format_time(clock.parse_bound('25m', clock.UTC, now)) == '2024-02-29T10:00:00.500Z'


def test_a_day_of_23_hours(zones):
    z = clock.zone('Test/Berlin')
    since, until = [clock.parse_bound('2026-03-29', z, NINE, end) for end in (False, True)]
    assert until - since == 23 * HOUR


@pytest.mark.parametrize('text', ['', ' ', 'soon', '7', '7x', '-7d', '7d7d', '2026-02-30', '2026-13', '2026',
                                  '04.07.2026', '2026-07-04T99:00'])
def test_parse_bound_refuses_with_examples(text):
    with pytest.raises(UsageError) as e:
        clock.parse_bound(text, clock.UTC, NINE)
    assert '7d' in str(e.value) and '2026-07-04' in str(e.value)


AGES = {0: 'just now', 59999: 'just now', 5 * 60000: '5 min ago', 3 * HOUR + 1: '3 h ago', 25 * HOUR: '1 day ago',
        2 * DAY: '2 days ago', 30 * DAY - 1: '29 days ago', 30 * DAY: '2026-01-31',
        -1: '2026-03-02 (after this clock)',
        -36868 * DAY: '2127-02-09 (after this clock)'}


@pytest.mark.parametrize('age', sorted(AGES))
def test_human_age(age):
    assert clock.human_age(NINE - age, NINE) == AGES[age]


def test_human_age_without_a_time_and_in_a_zone():
    assert clock.human_age(None, NINE) == ''
    assert clock.human_age(NINE - 40 * DAY - 10 * HOUR, NINE, clock.zone('-12:00')) == '2026-01-20'


DURATIONS = {None: '', 0: '0 s', -5000: '0 s', 1: '1 ms', 850: '850 ms', 1000: '1 s', 45999: '45 s', 60000: '1 min',
             303000: '5 min 3 s',
             3600000: '1 h', 11520000: '3 h 12 min', 3605000: '1 h', 90000000: '1 day 1 h', 187200000: '2 days 4 h'}


@pytest.mark.parametrize('ms', sorted(DURATIONS, key=str))
def test_human_duration(ms):
    assert clock.human_duration(ms) == DURATIONS[ms]


def test_importing_the_base_modules_is_cheap():
    root = os.path.dirname(os.path.dirname(os.path.abspath(clock.__file__)))
    code = ("import sys, re; before = set(sys.modules); sys.path.insert(0, %r)\n"
            "from echolib.base import clock, text, redact\n"
            "print(sorted(m for m in set(sys.modules) - before if not m.startswith('echolib')))" % os.path.dirname(root))
    out = subprocess.check_output([sys.executable, '-I', '-S', '-c', code])
    assert out.strip() in (b'[]', b"['time']")
