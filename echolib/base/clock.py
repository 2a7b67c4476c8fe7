"""Times and zones: every time in echolib is an int, milliseconds UTC since 1970-01-01.

Owns parsing, printing, calendar arithmetic and the meaning of --since and --until. It never imports datetime or
calendar: their import alone costs a tenth of a search.
"""

import time

from .errors import UsageError
from .patterns import Pattern

_DAY = 86400000
_MIN = -62135596800000      # 0001-01-01T00:00:00.000Z
_MAX = 253402300799999      # 9999-12-31T23:59:59.999Z

_days = {}                  # 'YYYY-MM-DDT' -> ms, filled as the slow way meets them, like the others
_clocks = {}                # 'HH:MM:' -> ms
_seconds = {'%02d.' % s: s * 1000 for s in range(60)}
_fractions = {}             # 'mmmZ' -> ms


class _Minutes(dict):
    """'YYYY-MM-DDTHH:MM:' -> ms; a KeyError where the day or the minute was not met yet."""

    def __missing__(self, key):
        if len(self) > 20000:
            self.clear()
        ms = self[key] = _days[key[:11]] + _clocks[key[11:]]
        return ms


_minutes = _Minutes()


def now():
    """The current time in ms."""
    return int(time.time() * 1000)


def parse_time(value):
    """Return ms UTC, or None where `value` is no time; never raises.

    Text is ISO 8601 in any of its spellings, without a zone taken as UTC; digits beyond ms are cut. Numbers (also as
    text) are epoch s, ms, us or ns by magnitude; below 1e8 (1973 in seconds) they are no date but a count or a gap.
    """
    try:                    # the shape 'YYYY-MM-DDTHH:MM:SS.mmmZ', nearly every record of every agent
        return _minutes[value[:17]] + _seconds[value[17:20]] + _fractions[value[20:]]
    except (KeyError, TypeError):
        # Any other spelling, or no text at all: the slow ways below.
        pass
    if isinstance(value, str):
        return _parse_text(value)
    if isinstance(value, (int, float)):
        return _from_epoch(value)
    return None


def _from_epoch(number):
    try:
        if not 1e8 <= number < 1e20:
            return None
        if number < 1e11:
            return int(round(number * 1000))
        if number < 1e14:
            return int(number)
        return int(number // 1000) if number < 1e17 else int(number // 1000000)
    except (OverflowError, ValueError):
        return None


_ISO = Pattern(
    r'(\d{4})(?:-(\d\d)-(\d\d)|(\d\d)(\d\d))'
    r'(?:(?:[Tt]|[ ]+)(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?'
    r'[ ]*([Zz]|UTC|GMT|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?)?\Z', 'ASCII')


def _usual(text):
    """The groups of _ISO for 'YYYY-MM-DDTHH:MM:SS.mmmZ', told without it; None for any other spelling."""
    if len(text) != 24 or text[4] + text[7] + text[10] + text[13] + text[16] + text[19] + text[23] != '--T::.Z':
        return None
    parts = text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19], text[20:23]
    digits = ''.join(parts)
    if not digits.isdigit() or max(digits) > '9':
        return None
    return parts[:3] + (None, None) + parts[3:] + ('Z',)


def _fields(text):
    """(ms without regard to the zone, zone offset in s or None, unit in ms of the last part given), or None."""
    groups = _usual(text)
    if groups is None:
        m = _ISO.match(text)
        if not m:
            return None
        groups = m.groups()
    year, month, day, month2, day2, hour, minute, second, fraction, off = groups
    year, month, day = int(year), int(month or month2), int(day or day2)
    if not (year and 1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        return None
    h, mi, s = int(hour or 0), int(minute or 0), int(second or 0)
    ms = int((fraction or '0')[:3].ljust(3, '0'))
    if h > 24 or mi > 59 or s > 60 or (h == 24 and (mi or s or ms)):
        return None
    unit = 1 if fraction else 1000 if second else 60000 if minute else 3600000 if hour else _DAY
    offset = None
    if off:
        offset = 0
        if off[0] in '+-':
            digits = off[1:].replace(':', '').ljust(6, '0')
            oh, om, osec = int(digits[:2]), int(digits[2:4]), int(digits[4:])
            if oh > 24 or om > 59 or osec > 59:
                return None
            offset = (oh * 3600 + om * 60 + osec) * (-1 if off[0] == '-' else 1)
    return days_from_civil(year, month, day) * _DAY + (h * 3600 + mi * 60 + s) * 1000 + ms, offset, unit


def _parse_text(text):
    text = text.strip()
    parts = _fields(text)
    if parts is None:
        return _parse_digits(text)
    ms, offset, _unit = parts
    if len(text) == 24 and text[23] == 'Z' and text[16] == ':' and text[11:13] != '24' and text[17:20] in _seconds:
        if len(_days) > 20000:
            _days.clear()
        minute = ms - int(text[20:23]) - _seconds[text[17:20]]
        _fractions[text[20:]] = int(text[20:23])
        _clocks[text[11:17]] = minute % _DAY
        _days[text[:11]] = minute - minute % _DAY
    ms -= (offset or 0) * 1000
    return ms if _MIN <= ms <= _MAX else None


_DIGITS = Pattern(r'\d{9,20}(\.\d{0,9})?\Z', 'ASCII')


def _parse_digits(text):
    m = _DIGITS.match(text)
    return m and _from_epoch(float(text) if m.group(1) else int(text))


def days_from_civil(year, month, day):
    """Days since 1970-01-01 of a date in the proleptic Gregorian calendar."""
    year -= month <= 2
    era, yoe = divmod(year, 400)
    doy = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468


def civil_from_days(days):
    """(year, month, day) of a count of days since 1970-01-01."""
    era, doe = divmod(days + 719468, 146097)
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def days_in_month(year, month):
    """28 to 31; `month` is 1 to 12."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def format_time(ms, zone=None):
    """ISO text such as 2026-03-02T09:00:00Z, with .mmm where not zero; None and what lies outside years 1..9999 are ''.

    `zone` is an object of zone(); without one, and in UTC, the time ends in Z, else in +hh:mm.
    """
    if ms is None:
        return ''
    offset = zone.offset(ms) if zone is not None else 0
    local = ms + offset * 1000
    if not _MIN <= local <= _MAX:
        return ''
    days, rest = divmod(local, _DAY)
    seconds, millis = divmod(rest, 1000)
    text = '%04d-%02d-%02dT%02d:%02d:%02d' % (civil_from_days(days)
                                              + (seconds // 3600, seconds // 60 % 60, seconds % 60))
    if millis:
        text += '.%03d' % millis
    if zone is None or zone.name == 'UTC':
        return text + 'Z'
    return text + offset_name(offset)


def offset_name(seconds):
    """'+02:00' for 7200; seconds appear only where there are some (local mean time before about 1900)."""
    minutes, rest = divmod(abs(seconds), 60)
    return '%s%02d:%02d%s' % ('-' if seconds < 0 else '+', minutes // 60, minutes % 60, ':%02d' % rest if rest else '')


class Zone:
    """A zone with one offset; the base of all zones. `name` is text, times are ms, offsets are seconds east of UTC."""

    def __init__(self, name, seconds=0):
        self.name = name
        self._offset = seconds

    def offset(self, ms):
        """Seconds east of UTC at the instant `ms`."""
        return self._offset

    def to_utc(self, y, m, d, h=0, mi=0, s=0):
        """ms of a local wall time: the first where it comes twice, moved on by the gap where it never comes."""
        wall = (days_from_civil(y, m, d) * 86400 + h * 3600 + mi * 60 + s) * 1000
        before, after = self.offset(wall - _DAY), self.offset(wall + _DAY)
        for offset in (max(before, after), min(before, after)):
            ms = wall - offset * 1000
            if self.offset(ms) == offset:
                return ms
        return wall - before * 1000


class _LocalZone(Zone):
    """The machine's zone, asked from the C library."""

    def offset(self, ms):
        try:
            return time.localtime(ms // 1000).tm_gmtoff
        except (OverflowError, ValueError, OSError):    # Windows refuses times before 1970
            return -time.timezone


UTC = Zone('UTC')


def zone(name=None):
    """The zone of None or 'local' (this machine's, honours TZ), 'UTC', '+02:00', '-0730', 'UTC+3' or 'Europe/Berlin'.

    In 'UTC+3' plus means east, as people write it. Raises UsageError for anything else.
    """
    if name is None or name == 'local':
        import os
        if hasattr(time, 'tzset'):
            time.tzset()
        return _LocalZone(os.environ.get('TZ') or 'local')
    text = name.strip()
    if text.upper() in ('UTC', 'Z', 'GMT'):
        return UTC
    m = _OFFSET.match(text)
    if m and int(m.group(2)) < 24:
        seconds = int(m.group(2)) * 3600 + int(m.group(3) or 0) * 60
        seconds = -seconds if m.group(1) == '-' else seconds
        return Zone(offset_name(seconds), seconds)
    found = _zones.get(text.lower())
    if found is None:
        found = _file_zone(text) or _library_zone(text)
        if found is None:
            raise UsageError("time zone '%s' is not known here; give UTC, an offset such as +02:00, or a name such as "
                             "Europe/Berlin" % name)
        _zones[text.lower()] = found
    return found


_OFFSET = Pattern(r'(?:UTC|GMT)?([+-])(\d\d?)(?::?([0-5]\d))?\Z', 'ASCII', 'IGNORECASE')
# No way out of the folder.
_ZONE_NAME = Pattern(r'[A-Za-z][\w+-]{0,40}(?:/[\w+-]{1,40}){0,3}\Z', 'ASCII')
_zones = {}
_ZONE_FOLDERS = ('/usr/share/zoneinfo', '/usr/lib/zoneinfo', '/usr/share/lib/zoneinfo', '/etc/zoneinfo')


def _file_zone(name):
    """The zone read from the system's compiled database (the data zoneinfo reads, without datetime), or None."""
    import os
    if not _ZONE_NAME.match(name):
        return None
    for path in os.environ.get('PYTHONTZPATH', '').split(os.pathsep) + list(_ZONE_FOLDERS):
        if not os.path.isabs(path):
            continue
        exact = []
        try:
            for part in name.split('/'):
                entries = os.listdir(path)
                part = part if part in entries else [e for e in entries if e.lower() == part.lower()][0]
                path = os.path.join(path, part)
                exact.append(part)
            with open(path, 'rb') as f:
                return _decode_tzif('/'.join(exact), f.read(1 << 20))
        except (OSError, IndexError):
            # This folder does not have it; the next one may.
            continue
    return None


def _decode_tzif(name, data):
    """A zone from the bytes of a TZif file (RFC 8536, any version), or None where they are none."""
    import struct
    try:
        if data[:4] != b'TZif':
            return None
        at, size = 0, 4
        utcs, stds, leaps, count, types, chars = struct.unpack('>6l', data[20:44])
        if data[4:5] >= b'2':                           # the same once more with 64-bit times; those count
            at, size = 44 + count * 5 + types * 6 + chars + leaps * 8 + stds + utcs, 8
            utcs, stds, leaps, count, types, chars = struct.unpack('>6l', data[at + 20:at + 44])
        at += 44
        times = struct.unpack('>%d%s' % (count, 'lq'[size == 8]), data[at:at + count * size])
        at += count * size
        kinds, at = data[at:at + count], at + count
        offsets = [struct.unpack('>l', data[at + 6 * n:at + 6 * n + 4])[0] for n in range(types)]
        at += types * 6 + chars + leaps * (size + 4) + stds + utcs
        rule = _decode_rule(data[at:].decode('ascii', 'replace').strip('\n')) if size == 8 else None
        return _FileZone(name, times, [offsets[0]] + [offsets[k] for k in kinds], rule)
    except (struct.error, IndexError):
        return None


_LABEL, _CLOCK = r'(?:<[^<>]{1,20}>|[A-Za-z]{3,20})', r'([+-]?\d{1,3}(?::\d\d){0,2})'
_DATE = r',(?:M(\d\d?)\.(\d)\.(\d)|(J?)(\d{1,3}))(?:/%s)?' % _CLOCK
_RULE = Pattern('%s%s(?:%s%s?%s%s)?\\Z' % (_LABEL, _CLOCK, _LABEL, _CLOCK, _DATE, _DATE), 'ASCII')


def _decode_rule(text):
    """(standard offset, summer offset or None, start, end) of a POSIX TZ string such as CET-1CEST,M3.5.0,M10.5.0/3.

    start and end are (month, week, weekday, s), ('J', day, s) or ('', day, s); None where the text is no such string.
    """
    m = _RULE.match(text)
    if not m:
        return None

    def seconds(word):
        parts = [int(p) for p in word.lstrip('+-').split(':')] + [0, 0]
        return (parts[0] * 3600 + parts[1] * 60 + parts[2]) * (-1 if word[0] == '-' else 1)

    def day(groups):
        month, week, weekday, julian, number, at = groups
        at = seconds(at) if at else 7200
        return (int(month), int(week), int(weekday), at) if month else (julian, int(number), at)

    standard = -seconds(m.group(1))                     # POSIX counts west of Greenwich
    if m.group(3) is None and m.group(7) is None:
        return standard, None, None, None
    summer = -seconds(m.group(2)) if m.group(2) else standard + 3600
    return standard, summer, day(m.groups()[2:8]), day(m.groups()[8:14])


def _rule_seconds(year, rule):
    """The wall time, in s since 1970, at which a rule of _decode_rule strikes in a year."""
    if rule[0] == '':
        days = days_from_civil(year, 1, 1) + rule[1]
    elif rule[0] == 'J':                                # day 60 is 1 March in every year
        days = days_from_civil(year, 1, 1) + rule[1] - 1 + (rule[1] >= 60 and days_in_month(year, 2) == 29)
    else:
        month, week, weekday, _at = rule
        first = days_from_civil(year, month, 1)
        days = first + (weekday - first - 4) % 7 + (week - 1) * 7
        if days >= first + days_in_month(year, month):  # week 5 means the last one
            days -= 7
    return days * 86400 + rule[-1]


class _FileZone(Zone):
    """Transitions of a TZif file, and the rule of its footer for what comes after the last one."""

    def __init__(self, name, times, offsets, rule):
        Zone.__init__(self, name)
        self._times = times                             # ascending, s
        self._offsets = offsets                         # [n] holds before times[n]; one more than times
        self._rule = rule
        self._years = {}                                # year -> (first s of summer time, first s after it)
        self._span = (0, 0, 0)                          # from, before, offset: most calls ask about one span

    def offset(self, ms):
        at = ms // 1000
        low, high, offset = self._span
        if low <= at < high:
            return offset
        import bisect
        n = bisect.bisect_right(self._times, at)
        if n == len(self._times) and self._rule:
            return self._by_rule(at)
        if 0 < n < len(self._times):
            self._span = (self._times[n - 1], self._times[n], self._offsets[n])
        return self._offsets[n]

    def _by_rule(self, at):
        standard, summer, start, end = self._rule
        if summer is None:
            return standard
        year = civil_from_days((at + standard) // 86400)[0]
        if year not in self._years:
            self._years[year] = (_rule_seconds(year, start) - standard, _rule_seconds(year, end) - summer)
        start, end = self._years[year]
        in_summer = start <= at < end if start < end else not end <= at < start
        return summer if in_summer else standard


class _LibraryZone(Zone):
    """A zone of the standard library, where the system has no database but Python has one (Windows with tzdata)."""

    def __init__(self, name, info):
        Zone.__init__(self, name)
        self._info = info

    def offset(self, ms):
        from datetime import datetime, timedelta
        utc = datetime(1970, 1, 1) + timedelta(seconds=min(max(ms, _MIN + _DAY), _MAX - _DAY) // 1000)
        return int(self._info.fromutc(utc.replace(tzinfo=self._info)).utcoffset().total_seconds())


def _library_zone(name):
    try:
        import zoneinfo
        return _LibraryZone(name, zoneinfo.ZoneInfo(name))
    except (ImportError, KeyError, ValueError, OSError):    # Python before 3.9; no such zone; no legal name
        return None


_day_names = {}


def day_name(days):
    """'YYYY-MM-DD' of a count of days since 1970-01-01."""
    name = _day_names.get(days)
    if name is None:
        if len(_day_names) > 20000:
            _day_names.clear()
        name = _day_names[days] = '%04d-%02d-%02d' % civil_from_days(days)
    return name


def _local_days(ms, zone):
    return (ms // 1000 + zone.offset(ms)) // 86400


def local_day(ms, zone):
    """'YYYY-MM-DD' of an instant in a zone; '' for None."""
    return '' if ms is None else day_name(_local_days(ms, zone))


def local_hour(ms, zone):
    """0 to 23; None for None."""
    return None if ms is None else (ms // 1000 + zone.offset(ms)) // 3600 % 24


def week_of(ms, zone):
    """('YYYY-Www' by ISO 8601, 'YYYY-MM-DD' of its Monday); ('', '') for None."""
    if ms is None:
        return '', ''
    days = _local_days(ms, zone)
    monday = days - (days + 3) % 7
    year = civil_from_days(monday + 3)[0]               # a week belongs to the year of its Thursday
    first = days_from_civil(year, 1, 4)
    return '%04d-W%02d' % (year, (monday - (first - (first + 3) % 7)) // 7 + 1), day_name(monday)


def month_of(ms, zone):
    """'YYYY-MM'; '' for None."""
    return local_day(ms, zone)[:7]


_AGO = Pattern(r'(\d{1,6})\s*(h|d|w|m|y|hours?|days?|weeks?|mo|months?|years?)(?:\s+ago)?\Z', 'ASCII')
_MONTH = Pattern(r'(\d{4})-(\d\d)\Z', 'ASCII')
_BOUND_HELP = ('give a day (2026-07-04), a time (2026-07-04T10:00), today, yesterday, now, '
               'or an age such as 12h, 7d, 2w, 3m, 1y')


def parse_bound(text, zone, now_ms, end=False):
    """ms for --since, or with `end` for --until: the two make the half-open span [since, until).

    An end includes all it names: the whole day, the whole month of '2026-07', the whole minute of '10:00', the second
    of '10:00:00'. Days, and times without a zone, are those of `zone`. An age counts back from `now_ms`: h, d and w
    are exact, m (months) and y keep the local day and time of day. Raises UsageError.
    """
    word = text.strip().lower()
    if word == 'now':
        return now_ms
    if word in ('today', 'yesterday'):
        days = _local_days(now_ms, zone) - (word == 'yesterday')
        return _day_start(days + 1 if end else days, zone)
    m = _AGO.match(word)
    if m:
        return _back(now_ms, int(m.group(1)), m.group(2)[0], zone)
    m = _MONTH.match(word)
    if m and int(m.group(1)) and 1 <= int(m.group(2)) <= 12:
        months = int(m.group(1)) * 12 + int(m.group(2)) - 1 + bool(end)
        return zone.to_utc(months // 12, months % 12 + 1, 1)
    parts = _fields(text.strip())
    if parts is None:
        ms = _parse_digits(word)
        if ms is None:
            raise UsageError("'%s' is no time; %s" % (text, _BOUND_HELP))
        return ms
    ms, offset, unit = parts
    if unit == _DAY:
        return _day_start(ms // _DAY + bool(end), zone)
    if offset is None:
        year, month, day = civil_from_days(ms // _DAY)
        second = ms % _DAY // 1000
        ms = zone.to_utc(year, month, day, 0, 0, second) + ms % 1000
    else:
        ms -= offset * 1000
    return ms + unit if end else ms


def _day_start(days, zone):
    year, month, day = civil_from_days(days)
    return zone.to_utc(year, month, day)


def _back(now_ms, count, unit, zone):
    if unit in 'hdw':
        return max(_MIN, now_ms - count * {'h': 3600000, 'd': _DAY, 'w': 7 * _DAY}[unit])
    local = now_ms + zone.offset(now_ms) * 1000
    year, month, day = civil_from_days(local // _DAY)
    months = year * 12 + month - 1 - count * (12 if unit == 'y' else 1)
    year, month = months // 12, months % 12 + 1
    if year < 1:
        return _MIN
    return zone.to_utc(year, month, min(day, days_in_month(year, month)), 0, 0, local % _DAY // 1000) + local % 1000


def human_age(ms, now_ms, zone=None):
    """'just now', '5 min ago', '3 h ago', '2 days ago', and the date (UTC, or of `zone`) from 30 days on; '' for None.

    A time after `now_ms` comes from a wrong clock: its date with ' (after this clock)', never a negative age.
    """
    if ms is None:
        return ''
    age = now_ms - ms
    if age < 0 or age >= 30 * _DAY:
        return local_day(ms, zone or UTC) + (' (after this clock)' if age < 0 else '')
    if age < 60000:
        return 'just now'
    if age < 3600000:
        return '%d min ago' % (age // 60000)
    if age < _DAY:
        return '%d h ago' % (age // 3600000)
    return '1 day ago' if age < 2 * _DAY else '%d days ago' % (age // _DAY)


def human_duration(ms):
    """The two largest parts of a span: '3 h 12 min', '2 days 4 h', '45 s', '850 ms'; below zero is '0 s', None ''."""
    if ms is None:
        return ''
    if 0 < ms < 1000:
        return '%d ms' % ms
    seconds = max(0, int(ms) // 1000)
    parts = [(seconds // 86400, 'day' if seconds < 172800 else 'days'), (seconds // 3600 % 24, 'h'),
             (seconds // 60 % 60, 'min'), (seconds % 60, 's')]
    while len(parts) > 1 and not parts[0][0]:
        del parts[0]
    return ' '.join('%d %s' % p for n, p in enumerate(parts[:2]) if p[0] or not n)
