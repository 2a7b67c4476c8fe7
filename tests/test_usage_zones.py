"""Days, weeks and months of usage in any zone, held against the standard library's own calendar."""
import datetime
import random

import pytest

from helpers import call_script
from small import answer, text, user, write

pytestmark = pytest.mark.slow

UTC = datetime.timezone.utc
# Clocks that go forward or back, at midnight too; quarters of an hour; a day that never was.
CHANGES = {
    'Europe/Berlin': ('2026-03-29', '2026-10-25'), 'America/New_York': ('2026-03-08', '2026-11-01'), 'America/Sao_Paulo': ('2018-11-04', '2019-02-17'),
    'Africa/Cairo': ('2024-04-26', '2024-11-01'), 'Australia/Lord_Howe': ('2026-04-05', '2026-10-04'), 'Asia/Kathmandu': ('2026-01-01',),
    'America/Havana': ('2026-03-08', '2026-11-01'), 'Pacific/Apia': ('2011-12-30',), 'America/St_Johns': ('2006-04-02', '2006-10-29')}
OFFSETS = {'UTC': 0, '+05:45': 345, '-03:30': -210, '+14:00': 840, '-12:00': -720}


def moments():
    """-> UTC datetimes, one a call: around each change of the clocks, at both ends of years and of days."""
    rng = random.Random(20261130)
    days = [day for changes in CHANGES.values() for day in changes] + ['2025-12-29', '2026-01-01', '2024-12-31', '2021-01-03', '2024-02-29']
    found = []
    for day in sorted(set(days)):
        start = datetime.datetime.strptime(day, '%Y-%m-%d').replace(tzinfo=UTC)
        for hours in range(-30, 55, 5):
            found.append(start + datetime.timedelta(hours=hours, seconds=rng.choice((-1, 0, 1, 1800, 3599))))
    return found


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp('zones')
    records = []
    for number, moment in enumerate(moments()):
        stamp = moment.strftime('%Y-%m-%dT%H:%M:%S.000Z')
        records += [user('q', 2 * number, stamp), answer([text('a')], 2 * number + 1, stamp, 'msg_%d' % number, (number + 1, 0, 0, 0))]
    write(folder, records)
    return folder


def names(local):
    """-> {'day', 'week', 'month': the period a local datetime lies in}."""
    year, week, _ = local.isocalendar()
    return {'day': local.strftime('%Y-%m-%d'), 'week': '%d-W%02d' % (year, week), 'month': local.strftime('%Y-%m')}


def check(home, zone, local_of):
    for unit in ('day', 'week', 'month'):
        expected = {}
        for number, moment in enumerate(moments()):
            key = names(local_of(moment))[unit]
            expected[key] = expected.get(key, 0) + number + 1
        rows = call_script('trend-engine', 'usage', '--by', unit, '--tz', zone, '--format', 'json', home=home).json()['rows']
        assert dict((row['key'], row['tokens']['input']) for row in rows) == expected, unit


@pytest.mark.parametrize('zone', sorted(OFFSETS))
def test_offsets(home, zone):
    check(home, zone, lambda moment: moment.astimezone(datetime.timezone(datetime.timedelta(minutes=OFFSETS[zone]))))


@pytest.mark.parametrize('zone', sorted(CHANGES))
def test_zones(home, zone):
    zoneinfo = pytest.importorskip('zoneinfo')
    try:
        known = zoneinfo.ZoneInfo(zone)
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip('no zone data on this platform')
    check(home, zone, lambda moment: moment.astimezone(known))
    # A day asked for by its name is that of the zone.
    day = CHANGES[zone][0]
    expected = sum(number + 1 for number, moment in enumerate(moments()) if names(moment.astimezone(known))['day'] == day)
    got = call_script('trend-engine', 'usage', '--since', day, '--until', day, '--tz', zone, '--format', 'json', home=home).json()
    assert got['total']['tokens']['input'] == expected


def test_the_machines_zone_is_the_default(home):
    zoneinfo = pytest.importorskip('zoneinfo')
    known = zoneinfo.ZoneInfo('America/New_York')
    rows = call_script('trend-engine', 'usage', '--by', 'day', '--format', 'json', home=home, TZ='America/New_York').json()['rows']
    assert set(row['key'] for row in rows) == set(names(moment.astimezone(known))['day'] for moment in moments())
