"""sd-recall.py stats."""
from ..base.paths import folders_and_files
from . import options as opt
from .common import Asked, Cleaner, amount, compact, dump, money


def command():
    """-> Command."""
    return opt.Command(
        'stats', 'Totals over sessions: counts, tokens, cost, by agent, model, project and tool.', (),
        (opt.option('--top --limit', 'int', 8, 'at most this many rows a table in text output (0: all; default 8)', 'N'),) + opt.SELECTION + opt.COMMON,
        ('stats', 'stats --scope current --since 30d', 'stats --format json'), _run)


def gather(asked):
    """-> the JSON object of stats."""
    from ..index.sums import Sum, merged, sums
    table, tomorrow = asked.prices(), asked.now + 86400000
    found = sums(asked.catalog, asked.which, lambda part: (
        part.agent, part.project if part.readable == 1 and part.project else '(no project)', bool(part.machine), (part.modified or 0) > tomorrow),
        True, table.cost)
    every, machine = (merged(found, key).get(True, Sum()) for key in (lambda name: True, lambda name: name[2] or None))
    out = every.totals()
    for place, name in enumerate(('by_agent', 'by_project')):
        out[name] = dict((key, one.figures()) for key, one in merged(found, lambda key: key[place]).items())
    _canonical(out, table)
    for agent, row in out['by_agent'].items():
        own_counters(row, agent, row)
    share = machine.totals()
    out['machine'] = {'sessions': machine.rows, 'tokens': share['tokens'], 'cost_usd': share['cost_usd']}
    out['machine_sessions'] = machine.rows
    out['future_sessions'] = sum(one.rows for name, one in found.items() if name[3])
    folders, files = folders_and_files(asked.problems)
    out['unreadable_dirs'] = len(folders)
    out['unreadable'] = len(asked.catalog.unreadable()) + len(files)
    out['prices_as_of'] = table.as_of
    out['index'] = asked.index_state()
    return out


def own_counters(out, agent, figures):
    """Add figures with tokens under the agent's own names, as `raw`, where its counters overlap and ours do not."""
    from ..adapters import registry
    adapter = registry.get(agent)
    if hasattr(adapter, 'own_counters') and None not in figures['tokens'].values():
        out['raw'] = adapter.own_counters(figures['tokens'], figures['reasoning_inside_output'])


def _canonical(out, table):
    """Name the model each spelling stands for, where the price table knows it."""
    for model, row in out['by_model'].items():
        row['canonical'] = table.canonical(model) or model


def _run(args, out):
    asked = Asked(args, out)
    try:
        data = gather(asked)
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            _tsv(out, data, Cleaner(args))
        else:
            _text(args, out, data, Cleaner(args))
    finally:
        asked.close()


def _tsv(out, data, clean):
    out.line('KEY\tVALUE')
    for key in ('sessions', 'subagents', 'lines', 'parse_errors', 'unknown_records', 'user_prompts', 'slash_commands', 'turns',
                'assistant_messages', 'api_calls', 'output_known_calls', 'tool_calls', 'tool_errors', 'declined', 'interruptions',
                'compactions', 'known_cost_usd'):
        out.line('%s\t%s' % (key, data[key]))
    for key, value in sorted(data['tokens'].items()):
        out.line('tokens.%s\t%d' % (key, value))


def _text(args, out, data, clean):
    t = data['tokens']
    out.line('%s sessions (%s subagents), %s prompts, %s replies, %s tool calls (%s failed, %s declined)' % tuple(
        amount(n) for n in (data['sessions'], data['subagents'], data['turns'], data['assistant_messages'], data['tool_calls'],
                            data['tool_errors'], data['declined'])))
    out.line('tokens: %s input, %s output, %s cache read, %s cache write; cache hit rate %s' % (
        compact(t['input']), compact(t['output']), compact(t['cache_read']), compact(t['cache_write_5m'] + t['cache_write_1h']),
        '%.1f %%' % (100 * data['cache_hit_rate']) if data['cache_hit_rate'] is not None else 'none'))
    out.line('cost at API list prices of %s: %s' % (data['prices_as_of'], money(data)))
    if data['tokens_unknown']:
        by_agent = sorted(data['tokens_unknown'].items())
        out.line('%d sessions hold no token counts and add none (%s); why: session-stats SESSION' % (
            sum(n for _, n in by_agent), ', '.join('%s %d' % pair for pair in by_agent)))
    if data['output_known_calls'] < data['api_calls']:
        out.line('output tokens are known for %s of %s calls; the rest is a lower bound' % (
            amount(data['output_known_calls']), amount(data['api_calls'])))
    out.line('%s interruptions, %s compactions; %s lines, %s damaged, %s not understood' % tuple(
        amount(n) for n in (data['interruptions'], data['compactions'], data['lines'], data['parse_errors'], data['unknown_records'])))
    if data['machine_sessions']:
        m = data['machine']['tokens']
        out.line('machine-made sessions (started by other programs): %d, with %s of the input tokens' % (
            data['machine_sessions'], amount(m['input'])))
    if data['future_sessions']:
        out.line('%d sessions are dated after this clock' % data['future_sessions'])
    for title, table in (('agent', data['by_agent']), ('model', data['by_model']), ('project', data['by_project'])):
        if len(table) > 1 or title != 'agent':
            _table(out, clean, title, table, args.limit)
    tools = sorted(data['tools'].items(), key=lambda i: (-i[1]['calls'], i[0]))
    if tools:
        out.line()
        out.line('tool' + ' ' * 32 + 'calls  failed')
        for name, row in tools[:args.limit or None]:
            out.line('%-32.32s %8s %7s' % (clean.line(name), amount(row['calls']), amount(row['errors'])))
        if args.limit and len(tools) > args.limit:
            out.line('  and %d more (--top 0)' % (len(tools) - args.limit))
    out.line()
    out.line('Where a total comes from: sd-recall.py explain. Per day: trend-engine.py usage --by day')


def _table(out, clean, title, table, top):
    from ..base import text as texts
    from ..pricing import format_usd
    out.line()
    out.line(texts.pad(title, 44) + '   calls     tokens        cost')
    rows = sorted(table.items(), key=lambda i: (-sum(i[1]['tokens'].values()), i[0]))
    for name, row in rows[:top or None]:
        known = int(round(row['known_cost_usd'] * 1e12))
        cost = format_usd(known) if row['cost_usd'] is not None else ('>= ' + format_usd(known) if known else 'unknown')
        out.line('%s %7s %10s %11s' % (texts.pad(texts.cut(clean.line(name), 44), 44), amount(row['api_calls']),
                                       'unknown' if row.get('tokens_unknown') and not row['api_calls'] else compact(sum(row['tokens'].values())), cost))
    if top and len(rows) > top:
        out.line('  and %d more (--top 0)' % (len(rows) - top))
