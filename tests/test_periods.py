"""Periods in the reader's zone, and the same part of each."""
import pytest

from echolib.base import clock
from echolib.insights import periods

UTC, BERLIN = clock.zone('UTC'), clock.zone('Europe/Berlin')


def at(text):
    return clock.parse_time(text)


def spans(unit, end, count, zone=UTC):
    return [(one.key, clock.format_time(one.start), clock.format_time(one.end), clock.format_time(one.part_end))
            for one in periods.periods(unit, at(end), count, zone)]


def test_weeks_begin_on_monday_and_the_last_is_unfinished():
    assert spans('week', '2026-03-04T15:30:00Z', 1) == [
        ('2026-W09', '2026-02-23T00:00:00Z', '2026-03-02T00:00:00Z', '2026-02-25T15:30:00Z'),
        ('2026-W10', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z', '2026-03-04T15:30:00Z')]


def test_a_bound_at_the_end_leaves_all_finished():
    assert spans('week', '2026-03-09T00:00:00Z', 1) == [
        ('2026-W09', '2026-02-23T00:00:00Z', '2026-03-02T00:00:00Z', '2026-03-02T00:00:00Z'),
        ('2026-W10', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z', '2026-03-09T00:00:00Z')]


def test_the_same_part_of_a_shorter_month_is_all_of_it():
    assert [row[3] for row in spans('month', '2026-03-30T12:00:00Z', 2)] == [
        '2026-01-30T12:00:00Z', '2026-03-01T00:00:00Z', '2026-03-30T12:00:00Z']
    assert [row[0] for row in spans('month', '2026-01-01T00:00:01Z', 2)] == ['2025-11', '2025-12', '2026-01']


def test_days_keep_the_time_of_day_through_summer_time():
    # 2026-03-29 has 23 hours in Berlin; noon is noon.
    assert [row[3] for row in spans('day', '2026-03-30T10:00:00Z', 2, BERLIN)] == [
        '2026-03-28T11:00:00Z', '2026-03-29T10:00:00Z', '2026-03-30T10:00:00Z']


def test_periods_meet():
    for unit in periods.UNITS:
        found = periods.periods(unit, at('2026-11-05T03:04:05Z'), 30, BERLIN)
        assert len(found) == 31 and all(a.end == b.start for a, b in zip(found, found[1:]))
        assert all(one.start < one.part_end <= one.end for one in found)


@pytest.mark.parametrize('count', [0, 1])
def test_few(count):
    assert len(periods.periods('day', at('2026-11-05T03:04:05Z'), count, UTC)) == count + 1
