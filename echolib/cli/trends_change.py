"""trend-engine.py change."""
from ..base import text as texts
from ..base.errors import UsageError
from . import options as opt
from .common import amount
from .trends_common import TZ, Opened, factor, model, name, nothing, print_data, quantity

# Names in insights.change.METRICS, without importing it to print the help.
_METRICS = ('cost-per-prompt', 'output-per-prompt', 'tokens-per-prompt', 'cost', 'output', 'tokens', 'tool-errors')
_UNITS = {'cost': 'usd', 'cost-per-prompt': 'usd', 'tool-errors': 'share'}
_COLUMNS = 'KIND PROJECT NAME AMOUNT SHARE BEFORE AFTER'.split()
_MOST, _LEAST, _CANCEL = 8, 0.02, 3.0
_WORDS = {
    'prompts': 'number of prompts a day', 'mix': 'which projects were worked in', 'calls': 'API calls per prompt', 'model': 'models',
    'output': 'output tokens per call', 'sent': 'tokens sent per call', 'cache': 'share read from the cache',
    'price': 'price per token', 'tools': 'which tools were used', 'errors': 'calls that fail'}
_PART_UNITS = {'calls': 'number', 'output': 'tokens', 'sent': 'tokens', 'cache': 'share', 'errors': 'share'}


def command():
    """-> Command."""
    return opt.Command(
        'change', 'Why a figure changed: its change split into parts that add up, by project and model.', (),
        (opt.option('--metric', 'text', 'cost-per-prompt', ', '.join(_METRICS) + ' (default cost-per-prompt)', 'METRIC', _METRICS),
         opt.option('--at', 'text', None, 'first day of the new state (default: the day that parts the figure most)', 'DATE'),
         opt.option('--days', 'int', None, 'only so many days on each side', 'N'), TZ) + opt.SELECTION + opt.COMMON,
        ('change', 'change --metric output-per-prompt --at 14d', 'change --metric cost --at 14d --days 14 --format json'), _run)


def gather(args, view, activity=None):
    """-> the JSON object."""
    from ..base import clock
    from ..insights import comparisons
    from ..insights.activity import day_of
    from ..insights.change import best_day
    activity = activity or view.activity()
    works = comparisons.works(activity)
    data = dict(view.head(), metric=args.metric, unit=_UNITS.get(args.metric, 'tokens'))
    chance, found = None, False
    if args.at:
        day = day_of(clock.parse_bound(args.at, view.zone, view.now), view.zone)
    else:
        day, chance, found = best_day(works, args.metric)
    data.update(at=view.day(day), at_given=bool(args.at), at_chance=chance, at_found=found)
    span = activity.days()
    if day is None or span is None:
        data['at'] = ''
        return dict(data, before=None, after=None, change=None, ratio=None, parts=[])
    # Without --until the work itself ends the time: days on which nothing was done yet are no days of less work.
    end = day_of(view.end - 1, view.zone) + 1 if view.until is not None else span[1] + 1
    start = span[0] if view.since is None else day_of(view.since, view.zone)
    return split(view, works, args.metric, max(start, day - args.days) if args.days else start, day,
                 min(end, day + args.days) if args.days else end, data)


def split(view, works, metric, start, day, end, data):
    """-> `data` with the change of a metric from the days [start, day) to the days [day, end)."""
    if not start < day < end:
        raise UsageError('%s leaves no days on one side; there is something from %s to %s' % (
            view.day(day), view.day(start), view.day(end - 1)))
    before = [work for work in works if start <= work.day < day]
    after = [work for work in works if day <= work.day < end]
    return change_of(view, before, after, metric, (start, day), (day, end), data)


def change_of(view, before, after, metric, days_before, days_after, data):
    """-> `data` with the change of a metric between two lists of Work on these days (first, day after the last)."""
    from ..insights import change
    found = change.explain(before, after, metric, days_before[1] - days_before[0], days_after[1] - days_after[0])
    for key, (first, end), side in (('before', days_before, before), ('after', days_after, after)):
        data[key + '_days'] = {'from': view.day(first), 'to': view.day(end - 1), 'days': end - first,
                               'sessions': len(set(work.session for work in side)), 'prompts': sum(work.sums.turns for work in side),
                               'api_calls': sum(work.sums.calls for work in side), 'tool_calls': sum(work.sums.tool_calls for work in side),
                               'unpriced_calls': sum(work.sums.unpriced_calls for work in side)}
    data['per'] = 'tool call' if metric == 'tool-errors' else 'prompt' if metric.endswith('prompt') else 'day'
    data['method'] = ('logarithmic mean Divisia index over project x model x kind of tokens: a term is prompts a day x share of the project x'
                      ' calls per prompt x share of the model x tokens per call x price; its change is divided by the logarithms of the'
                      ' ratios of these factors; a term that begins or ends goes to the first factor that was 0. The parts add up to the'
                      ' change; they describe, they do not prove a cause.')
    if found is None:
        return dict(data, before=None, after=None, change=None, ratio=None, parts=[])
    delta = found.after - found.before
    data.update(before=found.before, after=found.after, change=delta, ratio=found.after / found.before if found.before else None)
    data['parts'] = []
    for part in found.parts:
        one = {'kind': part.kind, 'what': _WORDS[part.kind], 'project': view.clean(part.project) or None, 'name': view.clean(part.name) or None,
               'amount': part.amount, 'share': part.amount / delta if delta else None, 'before': change.level(before, part),
               'after': change.level(after, part)}
        if part.kind in ('model', 'mix'):
            tables = [change.shares(side, part.project) if part.kind == 'model' else change.project_shares(side) for side in (before, after)]
            moved = dict((key, tables[1].get(key, 0.0) - tables[0].get(key, 0.0)) for key in set(tables[0]) | set(tables[1]))
            one['shares'] = [{'name': view.clean(key), 'before': tables[0].get(key, 0.0), 'after': tables[1].get(key, 0.0)}
                             for key in sorted(moved, key=lambda k: (-abs(moved[k]), k))]
        data['parts'].append(one)
    return data


def _run(args, out):
    with Opened(args, out) as view:
        if not view.rows or not any(row.tally not in (None, '', '{}') for row in view.rows):
            data = dict(view.head(), metric=args.metric, parts=[])
            return print_data(args, out, data, _COLUMNS, (), lambda: nothing(out, args))
        data = gather(args, view)
        print_data(args, out, data, _COLUMNS, _rows(data), lambda: _text(out, view, data))


def _rows(data):
    for one in data['parts']:
        yield [one['kind'], one['project'], one['name']] + ['' if one[key] is None else '%.8g' % one[key] for key in (
            'amount', 'share', 'before', 'after')]


def _text(out, view, data):
    if data['at'] == '':
        out.line('all work lies on one day; there is nothing to compare it with')
        return
    for line in lines(view, data, out.width()):
        out.line(line)
    out.line()
    out.line('The parts add up (logarithmic mean Divisia index over project x model x kind of tokens); they describe, they do not prove a cause.')
    out.line('Other figures: --metric %s' % ', '.join(metric for metric in _METRICS if metric != data['metric']))
    out.line('A day is clear of chance or not: trend-engine.py regressions')


def lines(view, data, width=100):
    """-> the text of an explained change."""
    unit, per = data['unit'], data['per']
    if data['before'] is None:
        return ['one side has no %ss; nothing to divide by' % per]
    title = '%s%s' % (data['metric'].replace('-', ' '), '' if per != 'day' else ' a day')
    out = ['%s %s: %s before, %s from %s on (%s)' % (
        title, 'rose' if data['change'] > 0 else 'fell' if data['change'] < 0 else 'stayed', quantity(data['before'], unit),
        quantity(data['after'], unit), data['at'], factor(data['ratio']))]
    for key in ('before', 'after'):
        side = data[key + '_days']
        out.append('  %-6s %s to %s: %s sessions, %s prompts, %s API calls%s' % (
            key, side['from'], side['to'], amount(side['sessions']), amount(side['prompts']), amount(side['api_calls']),
            '; without a price, left out: %s' % amount(side['unpriced_calls']) if side['unpriced_calls'] and unit == 'usd' else ''))
    if not data.get('at_given', True):
        if not data['at_found']:
            out.append('  too few sessions to find a day; the middle of the time is taken (another day: --at DATE)')
        elif data['at_chance'] > 0.05:
            out.append('  no day stands out clearly; this one differs most (another day: --at DATE)')
    out.append('')
    if not data['change']:
        return out
    shown = [one for one in data['parts'] if abs(one['share']) >= _LEAST][:_MOST]
    # Where parts cancel each other the change is small beside them, and shares of it say nothing.
    told = all(abs(one['share']) <= _CANCEL for one in shown)
    out.append('   of it  amount' if told else '  amount')
    rows = [(one['share'], one['amount'], _what(view, one, width - (23 if told else 14))) for one in shown]
    rest = [one for one in data['parts'] if one not in shown]
    if rest:
        left = sum(one['amount'] for one in rest)
        rows.append((left / data['change'], left, '%d smaller part%s' % (len(rest), '' if len(rest) == 1 else 's')))
    rows.append((1.0, data['change'], '' if told else 'in all; the parts mostly cancel each other'))
    for share, value, words in rows:
        out.append(('%s%s  %s' % ('%7.0f %%  ' % (100 * share) if told else '', _signed(value, unit), words)).rstrip())
    return out


def _signed(value, unit):
    text = quantity(abs(value), unit)
    return '%10s' % (('+' if value >= 0 else '-') + text)


def _what(view, one, room):
    where = ' in %s' % name(view, one['project'], 24, True) if one['project'] else ''
    if one['kind'] in ('model', 'mix'):
        moved = [row for row in one['shares'] if abs(row['after'] - row['before']) >= 0.005][:2]
        detail = ', '.join('%s %.0f -> %.0f %%' % (
            name(view, row['name'], 22, True) if one['kind'] == 'mix' else model(view, row['name'], 20), 100 * row['before'], 100 * row['after'])
            for row in moved)
        return texts.cut('%s%s%s' % (one['what'], where, ': ' + detail if detail else ''), max(40, room))
    text = one['what'] + where
    if one['name']:
        text += ', ' + model(view, one['name'])
    if one['before'] is not None and one['after'] is not None:
        unit = _PART_UNITS[one['kind']]
        text += ': %s -> %s' % (quantity(one['before'], unit), quantity(one['after'], unit))
    return texts.cut(text, max(40, room))
