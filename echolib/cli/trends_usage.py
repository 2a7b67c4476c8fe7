"""trend-engine.py usage."""
from ..base import clock
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, amount, compact, dump, iso, money

# Names in insights.usage.BY, without importing it to print the help.
_BY = ('day', 'week', 'month', 'hour', 'session', 'model', 'agent', 'project')
_PERIODS = ('day', 'week', 'month', 'hour')
_COLUMNS = ('KEY SESSIONS API_CALLS INPUT OUTPUT CACHE_READ CACHE_WRITE_5M CACHE_WRITE_1H TOTAL_TOKENS COST_USD KNOWN_COST_USD '
            'MODELS').split()
_ROWS, _BAR, _WIDEST_NAME = 20, 24, 30
# Columns that stand behind the name of a row.
_FIGURES = 60


def command():
    """-> Command."""
    return opt.Command(
        'usage', 'Tokens and cost by day, week, month or hour, or by session, model, agent or project.', (),
        (opt.option('--by', 'text', 'day', 'what a row is (default day)', 'WHAT', _BY),
         opt.option('--tz', 'text', None, "zone of the days: UTC, +02:00, Europe/Berlin (default: this machine's)", 'ZONE'),
         opt.option('--limit', 'int', None, 'at most this many rows, of periods the latest (0: all; default %d in text)' % _ROWS, 'N'),
         ) + opt.SELECTION + opt.COMMON,
        ('usage --by day --since 14d', 'usage --by model --tz UTC', 'usage --by month --format json'), _run)


def gather(args, out):
    """-> the JSON object of usage; rows are all there are."""
    from ..index.build import load_price
    from ..insights.usage import figures, usage
    zone = clock.zone(args.tz)
    asked = Asked(args, out)
    try:
        # The days of --since and --until are those of --tz as well.
        since = clock.parse_bound(args.since, zone, asked.now) if args.since else None
        until = clock.parse_bound(args.until, zone, asked.now, end=True) if args.until else None
        asked.which = asked.which._replace(since=since, until=until)
        rows, clean = asked.counted(), Cleaner(args)
        by_id = dict((row.id, row) for row in rows)
        groups, total = usage(asked.catalog, rows, args.by, zone, since, until, load_price(asked.view.store.folder))
        found = []
        for group in groups:
            one = {'key': clean(group.key)}
            if group.start:
                one['start'] = group.start
            if args.by == 'session':
                row = by_id[next(iter(group.sessions))]
                one.update(short_id=asked.catalog.short_id(row.sid), agent=row.agent, project_path=clean(row.project),
                           title=clean(row.title or row.first_prompt))
            one['sessions_with_calls'] = len(group.sessions)
            one.update(figures(group.tally), models=_models(group.tally, clean))
            found.append(one)
        whole = dict(figures(total), models=_models(total, clean))
        whole['sessions_with_calls'] = len(set().union(*(group.sessions for group in groups)))
        from ..pricing import load
        return {'by': args.by, 'tz': zone.name, 'since': iso(since) or None, 'until': iso(until) or None, 'rows': found, 'total': whole,
                'prices_as_of': load(asked.view.store.folder).as_of, 'index': asked.index_state()}
    finally:
        asked.close()


def _models(tally, clean):
    from ..analysis import models_of
    return dict((clean(name), dict((k, row[k]) for k in ('api_calls', 'tokens', 'cost_usd', 'known_cost_usd')))
                for name, row in models_of(tally).items())


def _cut(rows, most, by):
    """The rows to show: of periods the latest, of names the largest."""
    if not most or len(rows) <= most:
        return rows
    return rows[-most:] if by in _PERIODS else rows[:most]


def _run(args, out):
    data = gather(args, out)
    most = args.limit if args.limit is not None or args.format in ('json', 'tsv') else _ROWS
    found = len(data['rows'])
    data['rows'] = _cut(data['rows'], most, args.by)
    if args.format == 'json':
        dump(out, dict(data, total_rows=found))
    elif args.format == 'tsv':
        clean = Cleaner(args)
        out.line('\t'.join(_COLUMNS))
        for row in data['rows']:
            out.line('\t'.join(clean.cell(v) for v in _cells(row)))
    else:
        _text(args, out, data, found)


def _cells(row):
    tokens = row['tokens']
    return [row['key'], str(row['sessions_with_calls']), str(row['api_calls'])] + [str(tokens[b]) for b in (
        'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')] + [
        str(row['total_tokens']), '' if row['cost_usd'] is None else '%.6f' % row['cost_usd'], '%.6f' % row['known_cost_usd'],
        ' '.join(sorted(row['models']))]


def _text(args, out, data, found):
    rows = data['rows']
    if not rows:
        out.line('no API calls in these sessions%s; widen with --scope all, without --since, --until and --agent' % (
            ' in that time' if args.since or args.until else ''))
        return
    names = [_name(row, args.by) for row in rows]
    room = max(8, min(max(texts.width(name) for name in names), _WIDEST_NAME, out.width() - _FIGURES - 2))
    bar = max(0, min(_BAR, out.width() - room - _FIGURES - 2))
    if found > len(rows) and args.by in _PERIODS:
        out.line('the last %d of %d; all: --limit 0' % (len(rows), found))
    out.line(texts.pad(args.by, room) + '   calls   input  output c.write  c.read   total        cost')
    largest = max(row['total_tokens'] for row in rows) or 1
    for row, name in zip(rows, names):
        size = row['total_tokens'] * bar // largest
        out.line((_line(texts.pad(_fit(name, room, args.by), room), row) + '  ' + '#' * max(size, 1 if bar and row['total_tokens'] else 0)).rstrip())
    if found > len(rows) and args.by not in _PERIODS:
        out.line('  and %d more (--limit 0)' % (found - len(rows)))
    out.line(_line(texts.pad('total', room), data['total']))
    total = data['total']
    if total['cost_usd'] is None:
        out.line('cost: %s' % money(total))
    if total['output_known_calls'] < total['api_calls']:
        out.line('output is known for %s of %s calls; the rest is a lower bound' % (
            amount(total['output_known_calls']), amount(total['api_calls'])))
    out.line('cost at API list prices of %s%s' % (data['prices_as_of'], '; times of zone %s' % data['tz'] if args.by in _PERIODS else ''))
    out.line('Where a total comes from: sd-recall.py explain')


def _name(row, by):
    if by == 'session':
        return '%s %s' % (texts.printable(row['short_id']), texts.neutralise(texts.printable(row['title'] or '')))
    if by == 'hour':
        return row['key'][:16].replace('T', ' ')
    if by == 'week':
        return '%s %s' % (row['key'], row['start'][5:])
    return texts.neutralise(texts.printable(row['key']))


def _fit(name, room, by):
    """A name cut to its room: of a directory the end, which tells it apart, is kept."""
    if by != 'project' or texts.width(name) <= room:
        return texts.cut(name, room)
    while texts.width(name) > room - 1:
        name = name[1:]
    return '\u2026' + name


def _line(name, row):
    from ..pricing import format_usd
    tokens = row['tokens']
    known = int(round(row['known_cost_usd'] * 1e12))
    cost = format_usd(known) if row['cost_usd'] is not None else '>= ' + format_usd(known) if known else 'unknown'
    return '%s %7s %7s %7s %7s %7s %7s %11s' % (
        name, amount(row['api_calls']), compact(tokens['input']), compact(tokens['output']),
        compact(tokens['cache_write_5m'] + tokens['cache_write_1h']), compact(tokens['cache_read']), compact(row['total_tokens']), cost)
