"""trend-engine.py by-theme."""
from . import columns
from . import options as opt
from .common import amount, compact
from .trends_common import TZ, Opened, cost, factor, most, name, nothing, print_data, quantity, spark

_BY = ('project', 'agent', 'model', 'tool', 'branch', 'skill')
_ROWS, _WEEKS, _WIDEST = 20, 12, 40
_COLUMNS = ('KEY SESSIONS FIRST LAST CALLS ERRORS DECLINED ERROR_RATE PROMPTS API_CALLS TOTAL_TOKENS KNOWN_COST_USD CACHE_HIT_RATE '
            'RECENT EARLIER DIRECTION').split()


def command():
    """-> Command."""
    return opt.Command(
        'by-theme', 'Work by project, agent, model, tool, branch or skill, with the course of its weeks.', (),
        (opt.option('--group-by', 'text', 'project', 'what a row is (default project)', 'WHAT', _BY), TZ,
         opt.option('--limit', 'int', None, 'at most this many rows, the largest (0: all; default %d in text)' % _ROWS, 'N'),
         ) + opt.SELECTION + opt.COMMON,
        ('by-theme --group-by project', 'by-theme --group-by tool --since 30d', 'by-theme --group-by skill --format json'), _run)


def gather(args, view):
    """-> the JSON object; rows are all there are."""
    from ..insights.activity import day_of
    from ..insights.themes import SkillTurns, themes
    watch = SkillTurns(view.zone, view.price)
    activity = view.activity((watch,) if args.group_by == 'skill' else ())
    found = themes(activity, args.group_by, day_of(view.end, view.zone), watch.cells)
    data = dict(view.head(), group_by=args.group_by, total_rows=len(found), rows=[])
    whole = float(sum(theme.keys.get('known_cost_usd', 0) for theme in found))
    for theme in found:
        one = {'key': view.clean(theme.key), 'sessions': len(theme.sessions), 'projects': theme.projects, 'first': view.day(theme.first),
               'last': view.day(theme.last)}
        one.update(theme.keys)
        if args.group_by not in ('tool', 'skill'):
            one['cost_share'] = theme.keys['known_cost_usd'] / whole if whole else None
        one['size'] = 'calls' if args.group_by == 'tool' else 'tokens'
        one['weeks'] = [{'start': view.day(week), 'size': size} for week, size in theme.weeks]
        one['recent'], one['earlier'] = theme.recent, theme.earlier
        one['direction'] = {'direction': theme.direction.word, 'change_over_all': theme.direction.over, 'weeks': theme.direction.count,
                            'rising_pairs': theme.direction.rising, 'falling_pairs': theme.direction.falling,
                            'chance': theme.direction.chance}
        data['rows'].append(one)
    return data


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        data['rows'] = data['rows'][:most(args, _ROWS)]
        print_data(args, out, data, _COLUMNS, (_cells(row) for row in data['rows']), lambda: _text(out, args, view, data))


def _cells(row):
    out = [row['key'], row['sessions'], row['first'], row['last']]
    for key in ('calls', 'errors', 'declined', 'error_rate', 'turns', 'api_calls', 'total_tokens', 'known_cost_usd', 'cache_hit_rate'):
        value = row.get(key)
        out.append('%.6f' % value if isinstance(value, float) else value)
    return out + [row['recent'], row['earlier'], row['direction']['direction']]


def _text(out, args, view, data):
    rows, tool, skill = data['rows'], args.group_by == 'tool', args.group_by == 'skill'
    if not rows and skill and view.sessions:
        out.line('no session used a skill')
        return
    if not rows:
        nothing(out, args)
        return
    path = args.group_by == 'project'
    table = [columns.name(args.group_by, [name(view, row['key'], _WIDEST, path) for row in rows], 0, path)]
    if tool:
        table += [columns.number('calls', [amount(row['calls']) for row in rows]), columns.number('failed', [amount(row['errors']) for row in rows], 3),
                  columns.number('share', [quantity(row['error_rate'], 'share') for row in rows]),
                  columns.number('declined', [amount(row['declined']) for row in rows], 5),
                  columns.number('sessions', [amount(row['sessions']) for row in rows], 6)]
    elif skill:
        table += [columns.number('uses', [amount(row['calls']) for row in rows]), columns.number('failed', [amount(row['errors']) for row in rows], 3),
                  columns.number('turns', [amount(row['turns']) for row in rows]), columns.number('tokens', [compact(row['total_tokens']) for row in rows]),
                  columns.number('cost', [cost(row) for row in rows]), columns.number('sessions', [amount(row['sessions']) for row in rows], 5)]
    else:
        table += [columns.number('sessions', [amount(row['sessions']) for row in rows], 5),
                  columns.number('calls', [amount(row['api_calls']) for row in rows], 6),
                  columns.number('tokens', [compact(row['total_tokens']) for row in rows]), columns.number('cost', [cost(row) for row in rows]),
                  columns.number('share', ['-' if row['cost_share'] is None else '%.0f %%' % (100 * row['cost_share']) for row in rows], 4)]
    table += [columns.note('last %d weeks' % _WEEKS, [spark(out, [week['size'] for week in row['weeks'][-_WEEKS:]]) for row in rows], 2),
              columns.number('4 weeks', [_lately(row) for row in rows], 1),
              columns.note('', [_word(row['direction']['direction']) for row in rows], 3)]
    for line in columns.lines(out, table):
        out.drawn(line)
    if data['total_rows'] > len(rows):
        out.line('  and %d more (--limit 0)' % (data['total_rows'] - len(rows)))
    size = 'calls' if tool else 'tokens'
    out.line('weeks: %s, the last one unfinished; 4 weeks: the last 4 complete weeks against the 4 before; rising, falling: over all' % size)
    out.line('complete weeks (Theil-Sen, at most 1 of 100 by chance). cost at API list prices of %s' % data['prices_as_of'])
    if skill:
        out.line('turns, tokens and cost: of the whole turns that used it, subagents included; a turn with two skills counts under both')
    if args.group_by == 'model':
        out.line('What another model would have cost: trend-engine.py what-if')
    else:
        out.line('What got worse, since when: trend-engine.py regressions')


def _lately(row):
    """How the last complete weeks stand to those before them."""
    if row['earlier']:
        return factor(row['recent'] / float(row['earlier']))
    return 'new' if row['recent'] and row['earlier'] == 0 else '-'


def _word(direction):
    return direction if direction.endswith(('rising', 'falling')) else ''
