"""trend-engine.py usage."""
from ..base import text as texts
from . import columns
from . import options as opt
from .common import Cleaner, amount, compact, dump, money
from .trends_common import TZ, Opened, cost, model, most, name

# Names in insights.usage.BY, without importing it to print the help.
_BY = ('day', 'week', 'month', 'hour', 'session', 'model', 'agent', 'project')
_PERIODS = ('day', 'week', 'month', 'hour')
_COLUMNS = ('KEY SESSIONS API_CALLS INPUT OUTPUT CACHE_READ CACHE_WRITE_5M CACHE_WRITE_1H TOTAL_TOKENS COST_USD KNOWN_COST_USD '
            'MODELS').split()
_ROWS, _WIDEST_NAME, _WIDEST_MODELS = 20, 40, 36
# From this width on heads are written out.
_WIDE = 110


def command():
    """-> Command."""
    return opt.Command(
        'usage', 'Tokens and cost by day, week, month or hour, or by session, model, agent or project.', (),
        (opt.option('--by', 'text', 'day', 'what a row is (default day)', 'WHAT', _BY), TZ,
         opt.option('--limit', 'int', None, 'at most this many rows, of periods the latest (0: all; default %d in text)' % _ROWS, 'N'),
         ) + opt.SELECTION + opt.COMMON,
        ('usage --by day --since 14d', 'usage --by model --tz UTC', 'usage --by month --format json'), _run)


def gather(args, view):
    """-> the JSON object of usage; rows are all there are."""
    from ..insights.activity import is_session
    from ..insights.usage import figures, usage
    by_id = dict((row.id, row) for row in view.rows)
    groups, total = usage(view.catalog, view.rows, args.by, view.zone, view.since, view.until, view.price)
    found, all_sessions = [], set()
    for group in groups:
        one = {'key': view.clean(group.key)}
        if group.start:
            one['start'] = group.start
        if args.by == 'session':
            row = by_id[next(iter(group.sessions))]
            one.update(short_id=view.catalog.short_id(row.sid), agent=row.agent, project_path=view.clean(row.project),
                       title=view.clean(row.title or row.first_prompt))
        sessions = set(number for number in group.sessions if is_session(by_id[number]))
        all_sessions |= sessions
        one['sessions_with_calls'] = len(sessions)
        one.update(figures(group.tally), models=_models(group.tally, view.clean))
        found.append(one)
    whole = dict(figures(total), models=_models(total, view.clean), sessions_with_calls=len(all_sessions))
    return dict(view.head(), by=args.by, rows=found, total=whole)


def _models(tally, clean):
    from ..analysis import models_of
    return dict((clean(key), dict((k, row[k]) for k in ('api_calls', 'tokens', 'cost_usd', 'known_cost_usd')))
                for key, row in models_of(tally).items())


def _cut(rows, count, by):
    """The rows to show: of periods the latest, of names the largest."""
    if not count or len(rows) <= count:
        return rows
    return rows[-count:] if by in _PERIODS else rows[:count]


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        data['total_rows'] = len(data['rows'])
        data['rows'] = _cut(data['rows'], most(args, _ROWS), args.by)
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            clean = Cleaner(args)
            out.line('\t'.join(_COLUMNS))
            for row in data['rows']:
                out.line('\t'.join(clean.cell(v) for v in _cells(row)))
        else:
            _text(args, out, view, data)


def _cells(row):
    tokens = row['tokens']
    return [row['key'], str(row['sessions_with_calls']), str(row['api_calls'])] + [str(tokens[b]) for b in (
        'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')] + [
        str(row['total_tokens']), '' if row['cost_usd'] is None else '%.6f' % row['cost_usd'], '%.6f' % row['known_cost_usd'],
        ' '.join(sorted(row['models']))]


def _text(args, out, view, data):
    rows, total, timed = data['rows'], data['total'], args.by in _PERIODS
    if not rows:
        out.line('no API calls in these sessions%s; widen with --scope all, without --since, --until and --agent' % (
            ' in that time' if args.since or args.until else ''))
        return
    if data['total_rows'] > len(rows) and timed:
        out.line('the last %d of %d; all: --limit 0' % (len(rows), data['total_rows']))
    every = rows + [total]

    def tokens(*buckets):
        return [compact(sum(row['tokens'][bucket] for bucket in buckets)) for row in every]
    table = [columns.name('date' if args.by == 'day' else args.by, [_name(view, row, args.by) for row in rows] + ['total'], 0, args.by == 'project')]
    cache = 'cache ' if out.width() >= _WIDE else 'c.'
    if args.by != 'model':
        table.append(columns.name('models', [_used(view, row) for row in rows] + [''], 5))
    table += [columns.number('calls', [amount(row['api_calls']) for row in every], 7), columns.number('input', tokens('input'), 2),
              columns.number('output', tokens('output'), 1), columns.number(cache + 'create', tokens('cache_write_5m', 'cache_write_1h'), 4),
              columns.number(cache + 'read', tokens('cache_read'), 3), columns.number('total', [compact(row['total_tokens']) for row in every]),
              columns.number('cost', [cost(row) for row in every]), columns.bar([row['total_tokens'] for row in rows] + [0], 6)]
    drawn = columns.lines(out, table)
    for line in drawn[:-1]:
        out.drawn(line)
    if data['total_rows'] > len(rows) and not timed:
        out.line('  and %d more (--limit 0)' % (data['total_rows'] - len(rows)))
    out.drawn(drawn[-1])
    if total['cost_usd'] is None:
        out.line('cost: %s' % money(total))
    if total['output_known_calls'] < total['api_calls']:
        out.line('output is known for %s of %s calls; the rest is a lower bound' % (
            amount(total['output_known_calls']), amount(total['api_calls'])))
    out.line('cost at API list prices of %s%s' % (data['prices_as_of'], '; times of zone %s' % data['tz'] if timed else ''))
    out.line('Where a total comes from: sd-recall.py explain')


def _name(view, row, by):
    if by == 'session':
        return name(view, '%s %s' % (row['short_id'], row['title'] or ''), _WIDEST_NAME)
    if by == 'hour':
        return row['key'][:16].replace('T', ' ')
    if by == 'week' and 'start' in row:
        return '%s %s' % (row['key'], row['start'][5:])
    return name(view, row['key'], _WIDEST_NAME, by == 'project')


def _used(view, row):
    """The models of a row in few characters, those with most tokens first."""
    names = []
    for key in sorted(row['models'], key=lambda k: (-sum(row['models'][k]['tokens'].values()), k)):
        short = model(view, key)
        short = short[len('claude-'):] if short.startswith('claude-') else short
        if short not in names:
            names.append(short)
    return texts.cut(', '.join(names), _WIDEST_MODELS)
