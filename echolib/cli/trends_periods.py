"""trend-engine.py period-over-period."""
from . import columns
from . import options as opt
from .common import amount, compact, iso, money, when
from .trends_common import TZ, Opened, cost, factor, nothing, print_data, quantity

LABELS = {
    'sessions': ('sessions', 'number'), 'turns': ('prompts', 'number'), 'api_calls': ('API calls', 'number'),
    'total_tokens': ('tokens', 'tokens'), 'output': ('output tokens', 'tokens'), 'known_cost_usd': ('cost', 'usd'),
    'cost_per_prompt_usd': ('cost per prompt', 'usd'), 'output_per_prompt': ('output per prompt', 'tokens'),
    'cache_hit_rate': ('cache hit rate', 'share'), 'tool_error_rate': ('tool calls that fail', 'share'),
    'interruptions': ('interruptions', 'number'), 'compactions': ('compactions', 'number')}
_STATES = {'': '', 'unfinished': 'unfinished', 'begins': 'the history begins in it', 'before': 'before the history'}
_COLUMNS = ('PERIOD START STATE SESSIONS PROMPTS API_CALLS TOTAL_TOKENS OUTPUT KNOWN_COST_USD COST_PER_PROMPT_USD OUTPUT_PER_PROMPT '
            'CACHE_HIT_RATE TOOL_ERROR_RATE INTERRUPTIONS COMPACTIONS').split()
_ROWS = 30


def command():
    """-> Command."""
    return opt.Command(
        'period-over-period', 'Days, weeks or months side by side, and where they are going.', (),
        (opt.option('--unit', 'text', 'week', 'day, week (from Monday) or month (default week)', 'UNIT', ('day', 'week', 'month')),
         opt.option('--lookback', 'int', None, 'so many periods before the last one (default: 14 days, 8 weeks, 6 months)', 'N'),
         TZ) + opt.SELECTION + opt.COMMON,
        ('period-over-period --unit week --lookback 8', 'period-over-period --unit month --scope current --format json'), _run)


def gather(args, view):
    """-> the JSON object."""
    from ..insights import measures, periods
    count = periods.LOOKBACK[args.unit] if args.lookback is None else min(args.lookback, 400)
    spans = periods.periods(args.unit, view.end, count, view.zone)
    sides = periods.compare(view.catalog, view.rows, view.which, spans, view.end, view.zone, view.since, view.price)
    data = dict(view.head(), unit=args.unit, lookback=count, end=iso(view.end))
    data['periods'] = []
    for side in sides:
        one = {'key': side.period.key, 'start': side.period.first, 'from': iso(side.period.start), 'to': iso(side.period.end),
               'state': side.state, 'complete': not side.state, 'sessions': side.sessions}
        one.update(measures.figures(side.whole))
        if sides[-1].state == 'unfinished' and side.state != 'before':
            one['same_part'] = dict(periods.values(side, True), to=iso(side.period.part_end))
        data['periods'].append(one)
    data['current'] = {'key': sides[-1].period.key, 'unfinished': sides[-1].state == 'unfinished', 'up_to': iso(sides[-1].period.part_end),
                       'against': periods.against(sides)}
    steady = periods.directions(sides)
    data['directions'] = dict((key, {
        'direction': one.word, 'slope_per_period': one.slope, 'change_over_all': one.over, 'rising_pairs': one.rising,
        'falling_pairs': one.falling, 'chance': one.chance, 'periods': one.count}) for key, one in steady.items())
    data['method'] = ('direction: Theil-Sen slope (middle of the slopes of all pairs) of the complete periods; rising or falling where chance'
                      ' gives as many concordant pairs in at most 1 of 100 series (Kendall), perhaps: 1 of 20, and the change is at least'
                      ' a tenth; an unfinished period is compared with the same part of the earlier ones')
    return data


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        print_data(args, out, data, _COLUMNS, (_cells(row) for row in data['periods']), lambda: _text(out, args, view, data))


def _cells(row):
    def number(value):
        return '' if value is None else '%.6f' % value if isinstance(value, float) else str(value)
    return [row['key'], row['start'], row['state'] or 'complete'] + [number(value) for value in (
        row['sessions'], row['turns'], row['api_calls'], row['total_tokens'], row['tokens']['output'], row['known_cost_usd'],
        row['cost_per_prompt_usd'], row['output_per_prompt'], row['cache_hit_rate'], row['tool_error_rate'], row['interruptions'],
        row['compactions'])]


def _text(out, args, view, data):
    rows = [row for row in data['periods'] if row['state'] != 'before']
    if not view.rows or not any(row['api_calls'] or row['turns'] or row['sessions'] for row in rows):
        nothing(out, args)
        if view.rows:
            out.line('nothing in the last %d %ss; a longer look back: --lookback %d' % (
                data['lookback'] + 1, args.unit, 4 * data['lookback'] + 4))
        return
    shown = rows[-_ROWS:]
    if len(rows) > _ROWS:
        out.line('  %d earlier ones (--format tsv)' % (len(rows) - _ROWS))

    def figures(head, form, rank):
        return columns.number(head, [form(row) for row in shown], rank)
    for line in columns.lines(out, [
            columns.note(args.unit, [row['key'] for row in shown]), figures('sessions', lambda r: amount(r['sessions']), 4),
            figures('prompts', lambda r: amount(r['turns']), 3), figures('calls', lambda r: amount(r['api_calls']), 6),
            figures('tokens', lambda r: compact(r['total_tokens']), 1), figures('output', lambda r: compact(r['tokens']['output']), 8),
            figures('cost', cost, 0), figures('$/prompt', _per_prompt, 2), figures('failed', lambda r: quantity(r['tool_error_rate'], 'share'), 5),
            figures('cached', lambda r: quantity(r['cache_hit_rate'], 'share'), 7),
            columns.note('', [_STATES[row['state']] for row in shown], 1 if any(row['state'] for row in shown) else 10),
            columns.bar([row['known_cost_usd'] for row in shown])]):
        out.drawn(line)
    if rows[-1]['cost_usd'] is None:
        out.line('  cost: %s' % money(rows[-1]))
    current = data['current']
    out.line()
    earlier = any(one['of'] for one in current['against'].values())
    if not earlier:
        out.line('nothing earlier to compare %s with' % current['key'])
    elif current['unfinished']:
        end = when(view.end, view.now, view.zone)
        out.line('%s so far (to %s) against the same part of the %s before' % (current['key'], end, _number(data, current)))
    else:
        out.line('%s against the %s before' % (current['key'], _number(data, current)))
    if earlier:
        out.line('  %-21s %10s %10s  %s' % ('', 'now', 'middle', 'change'))
    for key, one in current['against'].items():
        label, unit = LABELS[key]
        if not earlier or not one['value'] and not one['median']:
            continue
        place = 'more than %d of %d' % (one['above'], one['of']) if one['above'] is not None and one['of'] else ''
        out.line(('  %-21s %10s %10s  %-9s %s' % (
            label, quantity(one['value'], unit), quantity(one['median'], unit), factor(one['ratio']), place)).rstrip())
    out.line()
    out.line('direction over the complete %ss (slope: middle of all pairs of periods, in %% of the middle value over the whole time)' % args.unit)
    quiet = []
    for key, one in data['directions'].items():
        label, unit = LABELS[key]
        if one['direction'] in ('no clear direction', 'too few periods'):
            quiet.append((one['direction'], label))
            continue
        pairs = one['rising_pairs'] + one['falling_pairs']
        out.line('  %-21s %-16s %s over %d %ss; %d of %d pairs rise; by chance 1 in %s' % (
            label, one['direction'], '' if one['change_over_all'] is None else '%+.0f %%' % (100 * one['change_over_all']), one['periods'],
            args.unit, one['rising_pairs'], pairs, amount(int(1 / one['chance'])) if one['chance'] > 1e-9 else '1,000,000,000'))
    for word in ('no clear direction', 'too few periods'):
        labels = [label for found, label in quiet if found == word]
        if labels:
            few = ' (fewer than 5, or fewer than 20 prompts, calls or tool calls in them)' if word.startswith('too') else ''
            out.line('  %s%s: %s' % (word, few, ', '.join(labels)))
    out.line()
    out.line('Why it changed: trend-engine.py change. What got worse: trend-engine.py regressions')


def _per_prompt(row):
    """The cost of a prompt, at least what is known of it."""
    known = quantity(row['known_cost_usd'] / row['turns'], 'usd') if row['turns'] else '-'
    return known if row['cost_usd'] is not None or not row['turns'] else '>= ' + known


def _number(data, current):
    count = max([one['of'] for one in current['against'].values()] or [0])
    return '%d %ss' % (count, data['unit']) if count != 1 else data['unit']
