"""What the commands of trend-engine.py share: their options, the opened view, small pieces of text."""
from ..base import clock
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, compact, dump, iso

TZ = opt.option('--tz', 'text', None, "zone of the days: UTC, +02:00, Europe/Berlin (default: this machine's)", 'ZONE')


class Opened(object):
    """An opened view whose days are those of --tz.

    rows: the chosen sessions, newest first, and ledgers, which count and are none; sessions: how many there are.
    """

    def __init__(self, args, out):
        self.args, self.out = args, out
        self.zone = clock.zone(getattr(args, 'tz', None))
        self.asked = Asked(args, out)
        try:
            now = self.now = self.asked.now
            since, until = getattr(args, 'since', None), getattr(args, 'until', None)
            self.since = clock.parse_bound(since, self.zone, now) if since else None
            self.until = clock.parse_bound(until, self.zone, now, end=True) if until else None
            self.which = self.asked.which = self.asked.which._replace(since=self.since, until=self.until)
            self.catalog = self.asked.catalog
            self.rows = self.asked.counted()
            self.sessions = sum(1 for row in self.rows if row.readable == 1)
            self.clean = Cleaner(args)
            self.prices = self.asked.prices()
            self.price = self.prices.cost
        except Exception:
            self.asked.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.asked.close()

    @property
    def end(self):
        """ms up to which there can be anything: --until or now."""
        return self.now if self.until is None else min(self.now, self.until)

    def activity(self, watchers=()):
        """-> Activity of the chosen sessions."""
        from ..insights.activity import load
        return load(self.catalog, self.rows, self.zone, self.since, self.until, self.price, watchers)

    def head(self):
        """-> what every JSON answer says of its selection."""
        return {'tz': self.zone.name, 'since': iso(self.since) or None, 'until': iso(self.until) or None, 'sessions': self.sessions,
                'prices_as_of': self.prices.as_of, 'index': self.asked.index_state()}

    def short(self, number):
        """-> the short id of a session by its row id."""
        return self.catalog.short_id(self.catalog.row(number).sid)

    def day(self, days):
        """-> the name of a count of days, '' for None."""
        return '' if days is None else clock.day_name(days)


def most(args, default):
    """-> how many rows to print at most, None for all: --limit, in text `default` without it."""
    if args.limit is not None:
        return args.limit or None
    return None if args.format in ('json', 'tsv') else default


def nothing(out, args):
    """Say that there is nothing, and how to look wider."""
    bounds = getattr(args, 'since', None) or getattr(args, 'until', None)
    out.line('no sessions%s; widen with --scope all, without --since, --until and --agent' % (' in that time' if bounds else ''))


def quantity(value, unit):
    """-> a figure as text: usd, share, tokens or number; '-' for None."""
    if value is None:
        return '-'
    if unit == 'usd':
        from ..pricing import format_usd
        return format_usd(int(round(value * 1e12)))
    if unit == 'share':
        return '%.1f %%' % (100 * value)
    if unit == 'tokens':
        return compact(int(round(value)))
    return '{:,}'.format(value) if isinstance(value, int) else '%.3g' % value if value < 10 else '{:,}'.format(int(round(value)))


def factor(ratio):
    """-> a ratio as a change: +50 %, -20 %, 0 %, x 3.2; '-' for None."""
    if ratio is None:
        return '-'
    if ratio >= 3:
        return 'x %.1f' % ratio
    change = 100 * (ratio - 1)
    return '0 %' if abs(change) < 0.5 else '%+.0f %%' % change


def name(view, value, room, path=False):
    """-> a name made printable, neutral and cut to its room; of a path its last parts are kept."""
    value = texts.neutralise(view.clean.line(value))
    if not path or texts.width(value) <= room:
        return texts.cut(value, room)
    parts = value.split('/')
    kept = parts[-1]
    for part in reversed(parts[1:-1]):
        if texts.width(part) + texts.width(kept) + 3 > room:
            break
        kept = '%s/%s' % (part, kept)
    return texts.cut('\u2026/' + kept, room)


def model(view, value, room=24):
    """-> a model's name without its date, made fit to print."""
    head, dash, tail = value.rpartition('-')
    return name(view, head if dash and len(tail) == 8 and tail.isdigit() else value, room)


def cost(keys):
    """-> the cost of shared keys in few characters."""
    from ..pricing import format_usd
    known = int(round(keys['known_cost_usd'] * 1e12))
    return format_usd(known) if keys['cost_usd'] is not None else '>= ' + format_usd(known) if known else 'unknown'


def spark(out, values):
    """-> a row of characters, one a value, '.' for 0, height by the largest."""
    top = max(values) if values else 0
    if not top:
        return '.' * len(values)
    marks = u'\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588'
    if not out.shows(marks):
        marks = '12345678'
    return ''.join('.' if value <= 0 else marks[min(7, int(8.0 * value / top))] for value in values)


def print_data(args, out, data, columns, rows, text):
    """Print an answer: JSON of all of it, TSV of `rows` (lists of cells) under their columns, or what text() prints."""
    if args.format == 'json':
        dump(out, data)
    elif args.format == 'tsv':
        out.line('\t'.join(columns))
        for cells in rows:
            out.line('\t'.join(texts.cell(cell) for cell in cells))
    else:
        text()
