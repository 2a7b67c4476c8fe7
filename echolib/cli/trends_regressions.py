"""trend-engine.py regressions."""
from . import options as opt
from .common import amount
from .trends_common import TZ, Opened, most, name, nothing, print_data, quantity

_COLUMNS = 'KIND MEASURE PROJECT TOOL MODEL SINCE BEFORE AFTER BEFORE_OF AFTER_OF BEFORE_SESSIONS AFTER_SESSIONS CHANCE SESSION'.split()
_WHOLES = {'tool_error_rate': 'calls', 'tool_errors': 'tool calls', 'declined': 'tool calls', 'model_share': 'API calls',
           'cost_per_call': 'API calls', 'context_per_call': 'API calls', 'cost_per_model_call': 'API calls',
           'output_per_model_call': 'API calls', 'cache_miss': 'tokens sent'}
_MOST = 12


def command():
    """-> Command."""
    return opt.Command(
        'regressions', 'What got worse, since which day, with the figures before and after, and a session to open.', (),
        (opt.option('--limit', 'int', None, 'at most this many changes (0: all; default %d in text)' % _MOST, 'N'), TZ) + opt.SELECTION + opt.COMMON,
        ('regressions', 'regressions --scope current --since 90d', 'regressions --format json'), _run)


def gather(args, view, activity=None):
    """-> the JSON object."""
    from ..insights import regressions
    activity = activity or view.activity()
    found = regressions.find(activity)
    data = dict(view.head(), allowed=regressions.ALLOWED, compared=found.compared, too_small=found.too_small, corrected_for=found.factor)
    span = activity.days()
    data['first'], data['last'] = [view.day(day) for day in span] if span else ('', '')
    data['alarms'] = []
    for number, group in enumerate(regressions.together(found.alarms), 1):
        data['alarms'].extend(dict(alarm_keys(view, alarm), event=number) for alarm in group)
    data['better'] = [alarm_keys(view, alarm) for alarm in found.better]
    data['unclear'] = [alarm_keys(view, alarm) for alarm in found.unclear if alarm.worse or alarm.series.bad == 0][:20]
    data['small'] = [dict(one, project=view.clean(one['project'])) for one in small_projects(activity)]
    data['method'] = (
        'units: a session on a day; for every series the day that parts it best; its chance is that of the permutation distribution of the'
        ' units (differences reduced where neighbours are alike), times the days that could have been chosen, times the comparisons made; all projects:'
        ' each project against itself. At most %g of 100 histories without a change give any alarm. A side needs 4 sessions on 3 days.' %
        (100 * regressions.ALLOWED))
    return data


def small_projects(activity):
    """-> list of projects with too few sessions and days to judge any change in them: {project, sessions, days}."""
    from ..insights import shifts
    from ..insights.activity import is_session, project_of
    counts = {}
    for cell in activity.cells:
        row = activity.rows[cell.session]
        if cell.day is not None and is_session(row):
            have = counts.setdefault(project_of(row), (set(), set(), set()))
            have[0].add(cell.session)
            have[1].add(cell.day)
            have[2].add((cell.session, cell.day))
    return [{'project': project, 'sessions': len(have[0]), 'days': len(have[1])} for project, have in sorted(counts.items())
            if len(have[2]) < 2 * shifts.LEAST_UNITS or len(have[1]) < 2 * shifts.LEAST_DAYS]


def alarm_keys(view, alarm):
    """-> the JSON object of an Alarm."""
    series = alarm.series
    kind = 'model-switch' if series.measure == 'model_share' else 'worse' if alarm.worse else 'better' if series.bad else 'change'
    out = {'kind': kind, 'measure': series.measure, 'label': series.label, 'unit': series.unit}
    for key in ('project', 'tool', 'model'):
        out[key] = view.clean(series.subject.get(key)) or None
    out.update(
        since=view.day(alarm.day), before=alarm.before, after=alarm.after, before_of=alarm.before_whole, after_of=alarm.after_whole,
        of=_WHOLES.get(series.measure, 'prompts'), before_sessions=alarm.before_sessions, after_sessions=alarm.after_sessions,
        chance=alarm.chance, like_for_like=alarm.like_for_like, sessions=[view.short(number) for number in alarm.sessions])
    out['open'] = _open(out)
    return out


def _open(one):
    """The command that shows a session in which the change is plain."""
    if not one['sessions']:
        return ''
    if one['tool']:
        return 'sd-recall.py tools %s --errors-only --tool %s' % (one['sessions'][0], one['tool'])
    if one['measure'] == 'tool_errors':
        return 'sd-recall.py tools %s --errors-only' % one['sessions'][0]
    return 'sd-recall.py session-stats %s' % one['sessions'][0]


def sentence(view, one):
    """-> an alarm in words: what, where, since when."""
    where = ' in ' + name(view, one['project'], 44, True) if one['project'] else ' in all projects'
    if one['measure'] == 'model_share':
        text = '%s is used %s' % (name(view, one['model'], 40), 'more' if one['after'] > one['before'] else 'less')
    elif one['tool']:
        text = '%s fails %s often' % (name(view, one['tool'], 40), 'more' if one['after'] > one['before'] else 'less')
    else:
        text = '%s %s' % (one['label'], 'rose' if one['after'] > one['before'] else 'fell')
        if one['model']:
            text = '%s: %s' % (name(view, one['model'], 40), text)
    return '%s%s since %s' % (text[0].upper() + text[1:] if not one['tool'] and not one['model'] else text, where, one['since'])


def figures(one):
    """-> an alarm's figures with their sample sizes."""
    def side(key):
        whole = one[key + '_of']
        return '%s (%s %s, %s session%s)' % (
            quantity(one[key], one['unit']), quantity(whole, 'tokens') if isinstance(whole, int) else whole, one['of'],
            amount(one[key + '_sessions']), '' if one[key + '_sessions'] == 1 else 's')
    return 'before %s, after %s%s' % (side('before'), side('after'), '; each project weighs what it weighs now' if one['like_for_like'] else '')


def chance(value):
    """-> a small probability in words."""
    if value < 1e-9:
        return 'less than 1 in 1,000,000,000'
    return '1 in %s' % amount(int(1 / value)) if value < 0.5 else 'likely'


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        data['total_alarms'] = len(data['alarms'])
        data['alarms'] = data['alarms'][:most(args, _MOST)]
        print_data(args, out, data, _COLUMNS, _rows(data), lambda: _text(out, args, view, data))


def _rows(data):
    for one in data['alarms'] + data['better']:
        yield [one['kind'], one['measure'], one['project'], one['tool'], one['model'], one['since'], '%.6g' % one['before'],
               '%.6g' % one['after'], one['before_of'], one['after_of'], one['before_sessions'], one['after_sessions'],
               '%.3g' % one['chance'], one['sessions'][0] if one['sessions'] else '']


def _text(out, args, view, data):
    if not view.rows:
        nothing(out, args)
        return
    events = {}
    for one in data['alarms']:
        events.setdefault(one['event'], []).append(one)
    head = '%s sessions from %s to %s, %s comparisons' % (
        amount(view.sessions), data['first'] or '-', data['last'] or '-', amount(data['compared']))
    if events:
        out.line('%d change%s for the worse or of the model in %s' % (len(events), '' if len(events) == 1 else 's', head))
    else:
        out.line('nothing got clearly worse in %s' % head)
    for number in sorted(events):
        first = events[number][0]
        out.line()
        out.line('%d. %s' % (number, sentence(view, first)))
        out.line('   %s' % figures(first))
        out.line('   by chance: %s, all comparisons counted in' % chance(first['chance']))
        for other in events[number][1:6]:
            out.line('   with it: %s: %s -> %s (%s)' % (
                sentence(view, other), quantity(other['before'], other['unit']), quantity(other['after'], other['unit']), chance(other['chance'])))
        if first['open']:
            out.line('   open: %s' % view.clean.line(first['open']))
    if data['total_alarms'] > len(data['alarms']):
        out.line('  and %d more figures (--limit 0)' % (data['total_alarms'] - len(data['alarms'])))
    out.line()
    for one in data['better'][:4]:
        out.line('better: %s: %s -> %s' % (sentence(view, one), quantity(one['before'], one['unit']), quantity(one['after'], one['unit'])))
    if data['unclear']:
        out.line('%d other difference%s could be chance (--format json lists them under unclear)' % (
            len(data['unclear']), '' if len(data['unclear']) == 1 else 's'))
    small = data['small']
    if small:
        shown = ', '.join('%s (%d session%s)' % (name(view, one['project'], 32, True), one['sessions'], '' if one['sessions'] == 1 else 's')
                          for one in small[:6])
        out.line('too few sessions to judge: %s%s' % (shown, ', and %d more' % (len(small) - 6) if len(small) > 6 else ''))
    out.line('%d of the comparisons had too few sessions to show anything; a side needs 4 sessions on 3 days' % data['too_small'])
    out.line('A change is told when a history without any would show one in at most %g of 100 cases (permutation test of the best day,' % (
        100 * data['allowed']))
    out.line('one session and day a unit, corrected for all days and comparisons). What made a figure change: trend-engine.py change')
