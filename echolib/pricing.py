"""What a call would cost at API list prices: the built-in table, the user's pricing.json, exact sums.

Costs are integers in picodollars (1e-12 USD), so that totals do not depend on the order of adding.  A model
without a price costs None, never 0 and never another model's rate.  Nothing here knows sessions or events.
"""
import os
from collections import namedtuple
from math import gcd
from zlib import crc32

from echolib.base.clock import days_from_civil
from echolib.base.shapes import shape
from echolib.events import SUMMED

# Part of every fingerprint: raise it when a rule here or in pricing_names changes what a call costs.
PRICING_VERSION = 2

BUCKETS = ('input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')

_DATA_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'prices.json')
_DAY_MS = 86400000
_FOREVER = float('inf')
_WEEKDAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
_MULTIPLIERS = ('fast_multiplier', 'us_multiplier', 'priority_multiplier', 'region_multiplier')
_UNKNOWN = (None, (), (1, (), None))


class Cost(namedtuple('Cost', BUCKETS)):
    """Picodollars of one call, one integer for each token bucket."""

    __slots__ = ()

    @property
    def total(self):
        """The call's picodollars."""
        return sum(self)


_FREE = Cost(0, 0, 0, 0, 0)
_new_cost = tuple.__new__

_Prices = shape('_Prices', (
    'plain',        # _RateSet of the newest plain rates
    'dated',        # [(first day, day after the last, _RateSet)]: the first that covers a day wins over `plain`
    'redirect',     # (first day, name of the model it is priced as from then on) or None
    'multipliers',  # name -> millionths
))
_RateSet = shape('_RateSet', (
    'rates',    # picodollars per token, in the order of BUCKETS
    'tiers',    # ((shortest prompt in tokens, rates), ...), highest first
    'peak',     # (weekdays, ((from ms of day, until ms of day), ...), rates, tiers) or None
))


def load(data_dir=None):
    """The PriceTable of `<data_dir>/pricing.json` (where it exists) over the built-in prices.

    data_dir: str or path object; None = built-in prices only.  Files are read at the first question asked.
    """
    return PriceTable(data_dir)


def usd(pico):
    """Dollars (float) of `pico` picodollars; None stays None."""
    return None if pico is None else pico / 10**12


def format_usd(pico):
    """`pico` picodollars for people: '$1,234.56', '$0.0123', '$0.000040'; 'unknown' for None.

    Only zero prints as '$0.00'.
    """
    if pico is None:
        return 'unknown'
    sign, amount = ('-', -pico) if pico < 0 else ('', pico)
    if amount == 0:
        return '$0.00'
    if amount >= 999950000000:
        digits = 2
    elif amount >= 10**8:
        digits = 4
    else:
        # Two significant digits.
        digits = min(12, 14 - len(str(amount)))
    unit = 10**(12 - digits)
    whole, part = divmod((amount + unit // 2) // unit, 10**digits)
    return '%s$%s.%0*d' % (sign, format(whole, ','), digits, part)


class PriceTable:
    """Prices by model name.  Answers are memoised; a table never rereads its files (take a new one from load())."""

    def __init__(self, data_dir=None):
        self._path = None if data_dir is None else os.path.join(str(data_dir), 'pricing.json')
        self._read = False
        self._bytes = None      # of pricing.json
        self._problem = None
        self._names = None      # pricing_names.Names of both files, once loaded
        self._found = {}        # logged name -> what Names.look_up says
        self._plans = {}        # (model, day, speed, geo, tier) -> what _scaled returns; _UNKNOWN

    @property
    def as_of(self):
        """Date of the built-in prices, 'YYYY-MM-DD'."""
        return _built_in()['as_of']

    @property
    def fingerprint(self):
        """Eight hex digits that change when a price may have changed.  Parses nothing, so it is cheap to ask."""
        seed = crc32(str(PRICING_VERSION).encode('ascii'))
        return '%08x' % (crc32(self._user_bytes(), crc32(_built_in_bytes(), seed)) & 0xffffffff)

    @property
    def problem(self):
        """One line about what could not be used of pricing.json, or None."""
        self._load()
        return self._problem

    def canonical(self, model, time_ms=None):
        """The id under which `model` (a name as logged) is priced, or None when it is unknown.

        time_ms matters only for names that move (`gemini-flash-latest`): what they meant before the table's
        note of them is unknown.  None = now.
        """
        found = self._find(model, None if time_ms is None else time_ms // _DAY_MS)
        return found.id if found else None

    def context_window(self, model):
        """The context window of `model` in tokens, or None."""
        found = self._find(model, None)
        return found.sheet.get('context_window') if found else None

    def cost(self, model, time_ms, input, output, cache_read, cache_write_5m, cache_write_1h,
             speed=None, geo=None, tier=None):
        """The Cost of one API call, or None when the model has no price and any bucket has tokens.

        model: the name as logged, or None.  time_ms: UTC milliseconds; None = the newest plain rates.
        Buckets are integers that do not overlap.  speed, geo and tier are the logged `speed`, `inference_geo`
        and `service_tier` (str or None); only 'fast', 'us' and 'priority' change a price, and so does a region that
        Bedrock's name of a Claude model begins with (`eu.anthropic.claude-...`). A tier of SUMMED says that the
        buckets are several calls' together, so that their prompts' lengths are unknown: the plain rates hold.
        """
        plan = self._plans.get((model, time_ms if time_ms is None else time_ms // _DAY_MS, speed, geo, tier))
        if plan is None:
            plan = self._plan(model, time_ms if time_ms is None else time_ms // _DAY_MS, speed, geo, tier)
        rates, tiers, special = plan
        if special is not None:
            if rates is None:
                return None if input or output or cache_read or cache_write_5m or cache_write_1h else _FREE
            den, windows, peak = special
            for start, end in windows:
                if start <= time_ms % _DAY_MS < end:
                    rates, tiers = peak
        if tiers and tier != SUMMED:
            prompt = input + cache_read + cache_write_5m + cache_write_1h
            for least, tier_rates in tiers:
                if prompt >= least:
                    rates = tier_rates
                    break
        for_input, for_output, for_read, for_5m, for_1h = rates
        cost = _new_cost(Cost, (input * for_input, output * for_output, cache_read * for_read,
                                cache_write_5m * for_5m, cache_write_1h * for_1h))
        return cost if special is None or den == 1 else Cost(*[(part + den // 2) // den for part in cost])

    def _plan(self, model, day, speed, geo, tier):
        """Resolve, memoise and return the rates for one model, day and set of multipliers."""
        prices = self._priced_as(model, day)
        if prices is None:
            plan = _UNKNOWN
        else:
            dated = prices.dated if day is not None else ()
            chosen = next((rate_set for first, end, rate_set in dated if first <= day < end), prices.plain)
            times, den = 1, 1
            # A region in a cloud's name for the model, and one in the record, are one surcharge.
            regional = geo != 'us' and model is not None and self._names.in_region(model)
            for name, applies in zip(_MULTIPLIERS, (speed == 'fast', geo == 'us', tier == 'priority', regional)):
                if applies and name in prices.multipliers:
                    times, den = times * prices.multipliers[name], den * 10**6
            plan = _scaled(chosen, day, times, den)
        self._plans[model, day, speed, geo, tier] = plan
        return plan

    def _priced_as(self, model, day):
        """The _Prices that hold for `model` on `day`, behind redirects; None when unknown."""
        seen = set()
        while model not in seen:
            seen.add(model)
            found = self._find(model, day)
            if found is None:
                return None
            if found.prices is None:
                found.prices = _prepare(found.sheet)
            redirect = found.prices.redirect
            if day is None or redirect is None or day < redirect[0]:
                return found.prices
            model = redirect[1]
        return None

    def _find(self, model, day):
        """The Model that the logged name meant on `day` (None = now), or None."""
        try:
            found, first_day = self._found[model]
        except KeyError:
            self._load()
            found, first_day = self._found[model] = self._names.look_up(model)
        return None if first_day is not None and day is not None and day < first_day else found

    def _user_bytes(self):
        """The bytes of pricing.json, b'' when there are none to be had."""
        if not self._read:
            self._read = True
            try:
                if self._path is not None:
                    with open(self._path, 'rb') as file:
                        self._bytes = file.read()
            except (FileNotFoundError, NotADirectoryError):
                # The user has no prices of her own.
                pass
            except OSError as error:
                self._complain('cannot be read (%s); the built-in prices are used' % (error.strerror or error))
        return self._bytes or b''

    def _complain(self, what):
        self._problem = ' '.join(('%s: %s' % (self._path, what)).split())

    def _load(self):
        """Read both files, once."""
        if self._names is not None:
            return
        # Imported by who prices; who only compares fingerprints does without.
        import json
        from echolib.pricing_names import Names
        built_in, raw = _built_in(), self._user_bytes()
        names = Names(built_in['models'])
        moving = built_in['moving_aliases']
        names.add_moving(moving['names'], _day(moving['as_of']))
        # An empty file is a broken one, no file is none.
        if self._bytes is not None:
            try:
                models = _dict(_dict(json.loads(raw.decode('utf-8-sig')), 'the file').get('models'), '"models"')
            except (ValueError, RecursionError) as error:
                self._complain('not a price table (%s); the built-in prices are used' % error)
            else:
                names.replace(self._usable(models))
        self._names = names

    def _usable(self, models):
        """The user's entries that make sense; `problem` names the first of the others."""
        good, bad = {}, []
        for name in sorted(models):
            try:
                _prepare(_dict(models[name], 'the entry'))
            except ValueError as error:
                bad.append('models.%s: %s' % (name, error))
            else:
                good[name] = models[name]
        if bad:
            more = ' (%d more like it)' % (len(bad) - 1) if bad[1:] else ''
            self._complain('%s; this entry is ignored%s' % (bad[0], more))
        return good


def _scaled(rate_set, day, times, den):
    """The plan of `rate_set` on `day` (None = no peak hours) with every rate multiplied by times / den.

    (rates, tiers, special); special is None, or (what the products are still to be divided by, windows of
    the day in ms, (rates, tiers) in those).
    """
    rates, tiers, windows, peak = rate_set.rates, rate_set.tiers, (), None
    # 1970-01-01, day 0, was a Thursday.
    if rate_set.peak is not None and day is not None and (day + 3) % 7 in rate_set.peak[0]:
        windows, peak = rate_set.peak[1], rate_set.peak[2:]
    sets = [(rates, tiers), peak or (rates, tiers)]
    common = den
    for base, steps in sets:
        for rate in sum([row for _, row in steps], base):
            common = gcd(common, rate * times)

    def scale(row):
        return tuple(rate * times // common for rate in row)

    (rates, tiers), peak = [(scale(base), tuple((least, scale(row)) for least, row in steps)) for base, steps in sets]
    den //= common
    return rates, tiers, ((den, windows, peak) if windows or den != 1 else None)


def _prepare(sheet):
    """The _Prices of one model's JSON entry; ValueError says which field makes no sense."""
    dated = [(_day(entry.get('from')), _FOREVER, _rate_set(entry))
             for entry in _list(sheet.get('scheduled'), 'scheduled', dict)]
    dated.sort(key=lambda row: -row[0])
    for entry in _list(sheet.get('history'), 'history', dict):
        first = _day(entry['from']) if 'from' in entry else -_FOREVER
        dated.append((first, _day(entry.get('until')), _rate_set(entry)))
    redirect = None
    if sheet.get('redirect') is not None:
        entry = _dict(sheet['redirect'], 'redirect')
        _require(isinstance(entry.get('to'), str), 'redirect has no "to"')
        redirect = _day(entry.get('from')), entry['to']
    multipliers = dict((name, _millionths(sheet[name], name)) for name in _MULTIPLIERS if name in sheet)
    _require(isinstance(sheet.get('context_window', 0), int), 'context_window is not a number of tokens')
    _list(sheet.get('aliases'), 'aliases', str)
    return _Prices(_rate_set(sheet), dated, redirect, multipliers)


def _rate_set(sheet, under=(None,) * 5):
    """The _RateSet of a sheet whose unstated buckets are as in `under` (stated rates or None)."""
    stated = _stated(sheet, under)
    tiers = []
    for key in sheet:
        if key.startswith('above_'):
            _require(key.endswith('k') and key[6:-1].isdecimal(), '%s is not written above_<N>k' % key)
            tier = _dict(sheet[key], key)
            # A prompt is a whole number: longer than N is N + 1 or more.
            least = int(key[6:-1]) * 1000 + (0 if tier.get('inclusive') else 1)
            tiers.append((least, _filled(_stated(tier, stated))))
    tiers = tuple(sorted(tiers, reverse=True))
    peak = None
    if sheet.get('peak') is not None:
        entry = _dict(sheet['peak'], 'peak')
        hours = _rate_set(entry, stated)
        windows = tuple(_window(pair) for pair in _list(entry.get('utc'), 'utc', list))
        peak = _days(entry.get('days')), windows, hours.rates, hours.tiers or tiers
    return _RateSet(_filled(stated), tiers, peak)


def _stated(sheet, under):
    """Picodollars per token of the buckets in `sheet`, of `under` where it is silent, None where both are."""
    stated = tuple(lower if sheet.get(bucket) is None else _millionths(sheet[bucket], bucket)
                   for bucket, lower in zip(BUCKETS, under))
    for bucket, rate in zip(BUCKETS, stated[:2]):
        _require(rate is not None, 'it has no %s rate' % bucket)
    return stated


def _filled(stated):
    """No published cache price means the price of ordinary input."""
    return tuple(stated[0] if rate is None else rate for rate in stated)


def _millionths(value, name):
    """USD per million tokens as whole picodollars per token (or a factor in millionths)."""
    _require(isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10**9,
             '%s is not a number of USD per million tokens' % name if name in BUCKETS else '%s is not a number' % name)
    return int(round(value * 1000000))


def _day(date):
    """Days from 1970-01-01 to 'YYYY-MM-DD'."""
    parts = date.split('-') if isinstance(date, str) else ()
    _require([len(part) for part in parts] == [4, 2, 2] and all(part.isdecimal() for part in parts)
             and '01' <= parts[1] <= '12' and '01' <= parts[2] <= '31', '%r is not a date like 2026-11-30' % (date,))
    return days_from_civil(*[int(part) for part in parts])


def _days(days):
    """Weekday numbers (Monday = 0) of 'mon-fri' or 'sun'; None is every day."""
    ends = str(days or 'mon-sun').lower().split('-')
    _require(len(ends) < 3 and all(end in _WEEKDAYS for end in ends), 'days %r are not like mon-fri' % (days,))
    start, end = _WEEKDAYS.index(ends[0]), _WEEKDAYS.index(ends[-1])
    return frozenset((start + step) % 7 for step in range((end - start) % 7 + 1))


def _window(pair):
    """(start, end) in milliseconds of the UTC day from ['01:00', '04:00']; '24:00' ends a day."""
    clocks = [str(text).split(':') for text in pair]
    _require([len(clock) for clock in clocks] == [2, 2] and all(part.isdecimal() for part in clocks[0] + clocks[1]),
             'utc window %r is not like ["01:00", "04:00"]' % (pair,))
    start, end = [(int(hour) * 60 + int(minute)) * 60000 for hour, minute in clocks]
    _require(start < end <= _DAY_MS, 'utc window %r is no time span of a day' % (pair,))
    return start, end


def _require(condition, message):
    if not condition:
        raise ValueError(message)


def _dict(value, name):
    _require(isinstance(value, dict), '%s is not an object' % name)
    return value


def _list(value, name, kind):
    """`value` when it is a list of `kind`; [] for None."""
    _require(value is None or isinstance(value, list) and all(isinstance(item, kind) for item in value),
             '%s is not a list of %ss' % (name, {dict: 'object', list: 'pair', str: 'name'}[kind]))
    return value or []


_built_in_data = []     # the file's bytes, then its parsed JSON


def _built_in_bytes():
    if not _built_in_data:
        with open(_DATA_FILE, 'rb') as file:
            _built_in_data.append(file.read())
    return _built_in_data[0]


def _built_in():
    raw = _built_in_bytes()
    if len(_built_in_data) < 2:
        import json
        _built_in_data.append(json.loads(raw.decode('utf-8')))
    return _built_in_data[1]
