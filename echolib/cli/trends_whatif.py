"""trend-engine.py what-if."""
from ..base import text as texts
from ..base.errors import UsageError
from . import options as opt
from .common import amount, compact
from .trends_common import TZ, Opened, factor, model, nothing, print_data

_COLUMNS = 'MODEL CALLS TOKENS KNOWN_COST_USD UNPRICED_CALLS OTHER COST_TODAY_USD RATIO'.split()
_MODELS, _OTHERS = 8, 4


def command():
    """-> Command."""
    return opt.Command(
        'what-if', 'What the calls of each model would cost at the rates that other models have today.', (),
        (opt.option('--to', 'list', None, 'also at the rates of this model (repeatable)', 'MODEL'), TZ) + opt.SELECTION + opt.COMMON,
        ('what-if', 'what-if --to claude-haiku-5-5 --since 30d', 'what-if --format json'), _run)


def gather(args, view):
    """-> the JSON object."""
    from ..insights import whatif
    from ..insights.activity import histories
    from ..pricing import usd
    table, asked = view.prices, []
    for name in args.to:
        found = table.canonical(name)
        if found is None:
            raise UsageError("no price for a model '%s'; names are those of the logs, prices can be added in pricing.json" % name)
        asked.append(found)
    usual = [name for name in whatif.USUAL if table.canonical(name) == name]
    reprice = whatif.Reprice(table, whatif.models_of(view.rows, table).union(asked, usual), view.now)
    for row, facts in histories(view.catalog, view.rows, view.since, view.until):
        reprice(row, facts)
    mixes = reprice.mixes()
    used = whatif.used(mixes)
    names = used + [name for name in asked if name not in used]
    if len(names) < 2:
        names.extend(name for name in usual if name not in names)
    data = dict(view.head(), models=[], candidates=names, used=used)
    single = dict((name, 0) for name in names)
    base = actual = left = 0
    for mix in mixes:
        own = mix.own
        one = {'model': view.clean(mix.model), 'canonical': own, 'api_calls': mix.calls, 'total_tokens': mix.tokens,
               'known_cost_usd': usd(mix.cost), 'unpriced_calls': mix.unpriced,
               'today_usd': usd(mix.today[own]) if own in mix.today else None, 'others': []}
        if own is None:
            # Without its own price there is nothing to compare with.
            left += mix.calls
        else:
            base += mix.today[own]
            actual += mix.cost
            for name in names:
                single[name] += mix.today[name]
        for name in sorted(names, key=lambda n: (mix.today[n], n)):
            if name != own:
                one['others'].append({'model': name, 'cost_usd': usd(mix.today[name]), 'ratio': mix.today[name] / float(mix.today[own])
                                      if own in mix.today and mix.today[own] else None})
        data['models'].append(one)
    data['total'] = {'known_cost_usd': usd(actual), 'today_usd': usd(base), 'left_out_calls': left, 'single': [
        {'model': name, 'cost_usd': usd(single[name]), 'ratio': single[name] / float(base) if base else None}
        for name in sorted(single, key=lambda n: (single[n], n))]}
    data['method'] = ('every call by itself at the standard rates of today (off-peak, no fast mode, no region), long prompts at the rates for'
                      ' long prompts; the same tokens: another model would count and write differently')
    return data


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(args, view)
        print_data(args, out, data, _COLUMNS, _rows(data), lambda: _text(out, args, view, data))


def _rows(data):
    for row in data['models']:
        for other in row['others']:
            yield [row['model'], row['api_calls'], row['total_tokens'], '%.6f' % row['known_cost_usd'], row['unpriced_calls'],
                   other['model'], '%.6f' % other['cost_usd'], '' if other['ratio'] is None else '%.4f' % other['ratio']]


def _usd(value):
    from ..pricing import format_usd
    return format_usd(int(round(value * 1e12)))


def _text(out, args, view, data):
    if not data['models']:
        nothing(out, args)
        return
    total = data['total']
    if total['today_usd']:
        out.line('all priced calls cost %s; at the rates of today the same models cost %s, and a single model would:' % (
            _usd(total['known_cost_usd']), _usd(total['today_usd'])))
        for one in total['single'][:6]:
            out.line('  %-28s %11s  %s' % (model(view, one['model'], 28), _usd(one['cost_usd']), factor(one['ratio'])))
        if total['left_out_calls']:
            out.line('  left out: %s calls of models without a price' % amount(total['left_out_calls']))
        out.line()
    out.line('model                          calls  tokens        cost       today   at the rates of')
    for row in data['models'][:_MODELS]:
        out.line('%s %7s %7s %11s %11s   %s' % (
            texts.pad(model(view, row['model'], 28), 28), amount(row['api_calls']), compact(row['total_tokens']),
            _usd(row['known_cost_usd']) if row['unpriced_calls'] < row['api_calls'] else 'unknown',
            '-' if row['today_usd'] is None else _usd(row['today_usd']), '' if row['others'] else '(no other model with a price)'))
        for other in row['others'][:_OTHERS]:
            out.line('%s%s %11s  %s' % (' ' * 43, texts.pad(model(view, other['model'], 24), 24), _usd(other['cost_usd']), factor(other['ratio'])))
    if len(data['models']) > _MODELS:
        out.line('  and %d more models (--format json)' % (len(data['models']) - _MODELS))
    out.line()
    out.line('The same tokens at the standard list prices of today (table of %s). Another model would count tokens its own way, write' % (
        data['prices_as_of']))
    out.line('more or less, and need more or fewer calls: a smaller model is no saving where it fails. Any model: --to NAME')
