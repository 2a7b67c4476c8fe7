"""trend-engine.py digest."""
from ..base import clock
from ..base.errors import UsageError
from . import columns
from . import options as opt
from .common import amount, compact, iso, money, when
from .trends_common import TZ, Opened, cost, factor, model, name, print_data, quantity
from .trends_periods import LABELS

_COLUMNS = 'KEY VALUE PREVIOUS MEDIAN_BEFORE RATIO'.split()
_DAY_NAMES = 'Mon Tue Wed Thu Fri Sat Sun'.split()
_WEEK = 7 * 86400000


def command():
    """-> Command."""
    return opt.Command(
        'digest', 'One week: figures beside the weeks before, where the work went, what is new, what changed.', (),
        (opt.option('--week', 'text', None, 'a day of the week, Monday to Sunday (default: the last complete week)', 'DATE'), TZ,
         opt.SCOPE, opt.AGENT, opt.MACHINE) + opt.COMMON,
        ('digest', 'digest --week 2026-11-02', 'digest --week today --scope current --format json'), _run)


def bounds(args, view):
    """-> (first day, day after the last, ms at which the week, or what there is of it, ends)."""
    from ..insights.activity import day_of, day_start, monday
    if args.week:
        day = day_of(clock.parse_bound(args.week, view.zone, view.now), view.zone)
    else:
        day = monday(day_of(view.now, view.zone)) - 1
    first = monday(day)
    start, end = day_start(first, view.zone), day_start(first + 7, view.zone)
    if start >= view.now:
        raise UsageError('the week of %s has not begun yet' % clock.day_name(first))
    return first, first + 7, min(end, view.now)


def gather(args, view):
    """-> the JSON object."""
    from ..insights import digest, measures, periods
    from .trends_change import change_of
    from .trends_regressions import alarm_keys
    first, after, end = bounds(args, view)
    found = digest.digest(view.catalog, view.rows, view.which, view.zone, end, view.price, view.prices)
    data = dict(view.head(), week=found.week.period.key, start=clock.day_name(first), end=clock.day_name(after - 1),
                complete=found.week.state != 'unfinished', up_to=iso(end))
    data.update(measures.figures(found.week.whole))
    data['sessions'] = found.week.sessions
    data['active_ms'] = found.active
    data['against'] = periods.against(found.sides)
    previous = found.sides[-2]
    data['previous'] = None if previous.state == 'before' else dict(measures.figures(previous.whole), week=previous.period.key,
                                                                    sessions=previous.sessions)
    data['days'] = [{'day': clock.day_name(day), 'prompts': one.turns, 'api_calls': one.calls, 'total_tokens': sum(
        sum(m.buckets) for m in one.models.values()), 'known_cost_usd': one.cost / 1e12} for day, one in digest.days(found, first, 7)]
    for by, rows in sorted(digest.tables(found, after).items()):
        data['by_' + by] = [dict(theme.keys, key=view.clean(theme.key), sessions=len(theme.sessions)) for theme in rows]
    data['top_sessions'] = [{
        'session_id': row.sid, 'short_id': view.catalog.short_id(row.sid), 'project_path': view.clean(row.project),
        'title': view.clean(row.title or (row.first_prompt or '')[:200]), 'prompts': one.turns, 'api_calls': one.calls,
        'known_cost_usd': one.cost / 1e12, 'tool_errors': one.tool_errors, 'active_ms': signal.active if signal else 0}
        for row, one, signal in digest.sessions(found)[:10]]
    data['new'] = dict((kind, [view.clean(value) for value in values]) for kind, values in found.new.items())
    data['changes'] = [alarm_keys(view, alarm) for alarm in found.changes.alarms if first <= alarm.day < after]
    data['cost_change'] = None
    before, now = found.works
    if before and now:
        data['cost_change'] = change_of(view, before, now, 'cost', (first - 7, first - 7 + found.days), (first, first + found.days), {
            'metric': 'cost', 'unit': 'usd', 'at': clock.day_name(first)})
    return data


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        print_data(args, out, data, _COLUMNS, _rows(data), lambda: _text(out, view, data))


def _rows(data):
    for key, one in data['against'].items():
        yield [key] + ['' if value is None else '%.6f' % value if isinstance(value, float) else str(value) for value in (
            one['value'], one['previous'], one['median'], one['ratio'])]


def _text(out, view, data):
    end = '' if data['complete'] else ', so far (to %s)' % when(clock.parse_time(data['up_to']), view.now, view.zone)
    out.line('%s, %s to %s%s' % (data['week'], data['start'], data['end'], end))
    if not data['sessions']:
        out.line('no sessions in this week; another one: --week DATE, all projects: --scope all')
        return
    out.line('%s sessions, %s prompts, %s API calls, %s tokens, %s active' % (
        amount(data['sessions']), amount(data['turns']), amount(data['api_calls']), compact(data['total_tokens']),
        clock.human_duration(data['active_ms'])))
    out.line('cost at API list prices of %s: %s' % (data['prices_as_of'], money(data)))
    out.line()
    same = '' if data['complete'] else ' (the same part of each)'
    shown = [(LABELS[key], one) for key, one in data['against'].items() if one['value'] or one['previous'] or one['median']]
    for line in columns.lines(out, [
            columns.note('against before' + same, [label for (label, _), _ in shown]),
            columns.number('', [quantity(one['value'], unit) for (_, unit), one in shown]),
            columns.number('week before', [quantity(one['previous'], unit) for (_, unit), one in shown], 3),
            columns.number('change', [_ratio(one['value'], one['previous']) for _, one in shown], 2),
            columns.number('middle of %d' % max(one['of'] for one in data['against'].values()), [
                quantity(one['median'], unit) for (_, unit), one in shown], 4),
            columns.number('to middle', [_ratio(one['value'], one['median']) for _, one in shown], 1)]):
        out.drawn(line)
    out.line()
    for line in columns.lines(out, [
            columns.note('day', ['%s %s' % (_DAY_NAMES[at], day['day'][5:]) for at, day in enumerate(data['days'])]),
            columns.number('prompts', [amount(day['prompts']) for day in data['days']], 2),
            columns.number('tokens', [compact(day['total_tokens']) for day in data['days']]),
            columns.number('cost', [quantity(day['known_cost_usd'], 'usd') for day in data['days']]),
            columns.bar([day['total_tokens'] for day in data['days']])]):
        out.drawn(line)
    _tables(out, view, data)
    _what_changed(out, view, data)
    out.line()
    out.line('What deserves a look: trend-engine.py insights. Open a session: sd-recall.py show SESSION')


def _ratio(value, base):
    if value is None or base is None:
        return '-'
    if not base:
        return 'new' if value else '-'
    return factor(value / float(base))


def _tables(out, view, data):
    for by, count in (('project', 6), ('model', 4)):
        rows = data['by_' + by]
        if not rows:
            continue
        out.line()
        path = by == 'project'
        for line in columns.lines(out, [
                columns.name(by, [name(view, row['key'], 40, path) if path else model(view, row['key'], 40) for row in rows[:count]], 0, path),
                columns.number('calls', [amount(row['api_calls']) for row in rows[:count]], 2),
                columns.number('tokens', [compact(row['total_tokens']) for row in rows[:count]], 1),
                columns.number('cost', [cost(row) for row in rows[:count]])]):
            out.drawn(line)
        if len(rows) > count:
            out.line('  and %d more %ss' % (len(rows) - count, by))
    failing = [row for row in data['by_tool'] if row['errors']]
    if failing:
        failing.sort(key=lambda row: (-row['errors'], row['key']))
        out.line()
        out.line('failed: ' + ', '.join('%s %d of %d' % (name(view, row['key'], 30), row['errors'], row['calls']) for row in failing[:5]))
    out.line()
    top = data['top_sessions'][:5]
    for line in columns.lines(out, [
            columns.note('session', [row['short_id'] for row in top]),
            columns.number('cost', [quantity(row['known_cost_usd'], 'usd') for row in top]),
            columns.number('prompts', [amount(row['prompts']) for row in top], 1),
            columns.name('', [name(view, row['title'] or '(no title)', 60) for row in top])]):
        out.drawn(line)


def _what_changed(out, view, data):
    from .trends_change import lines
    from .trends_regressions import sentence
    for kind, names in sorted(data['new'].items()):
        if names:
            shown = ', '.join(name(view, value, 40, kind == 'project') for value in names[:4])
            out.line('new %s%s: %s%s' % (kind, '' if len(names) == 1 else 's', shown, ' and %d more' % (len(names) - 4) if len(names) > 4 else ''))
    for one in data['changes'][:4]:
        out.line('changed: %s: %s -> %s' % (sentence(view, one), quantity(one['before'], one['unit']), quantity(one['after'], one['unit'])))
    if data['cost_change'] and data['cost_change']['change']:
        out.line()
        out.line('why the cost changed against the week before:')
        for line in lines(view, data['cost_change'], out.width())[4:]:
            out.line(line)
