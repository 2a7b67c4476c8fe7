"""sd-recall.py session-stats: one session's numbers, and how its work went."""
import json
import os

from .. import analysis, pricing
from .. import analysis_session
from ..base import clock
from ..base import text as texts
from ..base.paths import restored
from ..index.catalog import session_keys, tokens_unknown
from ..insights import session_work
from .common import amount, compact, dump, iso, money, when
from .session import Session, adapter_of, command, segment_json
from .totals import own_counters

# Models that are listed, and words (skills, commands, kinds) of a line.
_MODELS, _WORDS = 12, 6
# Topics that detail lists.
_TOPICS = 12
# Turns whose depth is printed one by one.
_DEPTHS = 200
# Ends of a call that need no word.
_USUAL = frozenset(('end_turn', 'tool_use', 'stop', 'toolUse', 'tool-calls', 'STOP'))


def stats():
    """-> Command session-stats."""
    return command('session-stats', "One session's numbers: what it adds to totals and, where it repeats another session, the whole transcript.", (),
                    ('session-stats SESSION', 'session-stats SESSION --format json'), _stats)


def detail():
    """-> Command detail of index-builder.py: session-stats with the session's topics."""
    return stats()._replace(name='detail', summary='Everything the index knows of one session.',
                            examples=('detail SESSION', 'detail SESSION --format json'), run=lambda args, out: _stats(args, out, True))


def numbers(session):
    """-> the JSON object of session-stats."""
    row, asked = session.row, session.asked
    price = asked.prices().cost
    tally = json.loads(row.tally or '{}')
    own = session_keys(row, tally)
    whole = session_keys(row, asked.catalog.whole_tally(row, price))
    out = {'session_id': row.sid, 'agent': row.agent, 'project_path': row.project, 'full_path': session.sources[0].path.encode(
        'utf-8', 'surrogateescape').decode('utf-8', 'replace'), 'title': session.clean(row.title),
        'first_prompt': session.clean(row.first_prompt), 'created': iso(row.created), 'modified': iso(row.modified),
        'duration_s': ((row.modified or 0) - (row.created or 0)) // 1000, 'branch': session.clean(row.branch),
        'version': row.version or None, 'entrypoint': row.entrypoint or None, 'gone': bool(row.gone), 'machine': bool(row.machine)}
    if tokens_unknown(row):
        out['tokens_note'] = getattr(adapter_of(session), 'TOKENS', 'the transcript holds no token counts')
    out.update(own)
    own_counters(out, row.agent, own)
    out['sessions'] = 1
    for name in ('lines', 'parse_errors', 'unknown_records'):
        out[name] = getattr(row, name) or 0
    out['models'] = analysis.models_of(tally)
    out['tools'] = analysis.tools_of(tally)
    out['last_context_tokens'] = row.context
    leaves, _ = session.abandoned()
    out['leaves'] = leaves
    whole_facts = json.loads(row.tally or '{}').get('w|facts', 0)
    owned = json.loads(row.tally or '{}').get('w|owned', 0)
    if any(own[k] != whole[k] for k in ('user_prompts', 'api_calls', 'tool_calls', 'compactions', 'slash_commands', 'tokens')):
        out['own'], out['whole'] = own, whole
    out['inherited_facts'] = whole_facts - owned
    damaged = []
    for path, text in asked.catalog.db.execute('select path, damaged from files where session = ?', (row.id,)):
        damaged += ['%s:%d: %s' % (os.path.basename(restored(path)), line, why) for line, why in json.loads(text or '[]')]
    out['damaged'] = damaged[:50]
    if session.row.agent and hasattr(adapter_of(session), 'inherited'):
        main = [s for s in session.sources if s.role == 'main']
        out['inherited_records'] = adapter_of(session).inherited(main[0].path, row.sid) if main else 0
    lost = session.orphan_parents()
    if lost is not None:
        out['orphan_parents'] = lost
    out.update(working(session, out))
    return out


def working(session, numbers):
    """-> the working figures as JSON: see insights.session_work; places are references. Adds windows to numbers' models."""
    reading = analysis_session.read(session.row.agent, session.sources)
    folder = session.asked.view.store.folder
    table, clean = pricing.load(folder), session.clean
    found = session_work.figures(reading, table.cost, table.context_window)
    places = found.pop('places')
    for model, window in found.pop('context_windows').items():
        if model in numbers['models']:
            numbers['models'][model]['context_window'] = window

    def refs(some):
        return [session.reference(reading.note(place)) for place in some]

    def runs(some):
        return [{'tool': clean(run.tool), 'command': clean(run.word), 'calls': len(run.places), 'refs': refs(run.places[:5])} for run in some[:20]]

    depths = found['turn_depths']
    found['turn_depths'], found['turn_depths_left_out'] = depths[:_DEPTHS], max(0, len(depths) - _DEPTHS)
    found['turn_depth'] = {'mean': sum(depths) / float(len(depths)), 'most': max(depths)} if depths else None
    for name in ('skills', 'subagent_types', 'commands', 'files', 'permission_modes', 'stop_reasons'):
        found[name] = dict((clean(key), value) for key, value in sorted(found[name].items()))
    for name in ('branches', 'versions'):
        found[name] = [clean(value) for value in found[name]]
    found['retry_loops'], found['repeats'] = runs(places['retry_loops']), runs(places['repeated_calls'])
    found['reread_files'] = [{'path': clean(path), 'reads': count} for path, count in session_work.reread_files(reading, places['rereads'])]
    found['correction_refs'], found['interruption_refs'] = refs(places['correction_turns'][:50]), refs(places['interruption_turns'][:50])
    return found


def _stats(args, out, topics=False):
    session = Session(args, out)
    try:
        data = numbers(session)
        found = session.segments() if topics else []
        if topics:
            data['segments'] = [segment_json(session, found, place) for place in range(len(found))]
        if args.format == 'json':
            dump(out, data)
            return
        if args.format == 'tsv':
            out.line('KEY\tVALUE')
            for key in sorted(data):
                if not isinstance(data[key], (dict, list)):
                    out.line('%s\t%s' % (key, session.clean.cell('' if data[key] is None else str(data[key]))))
            for key, value in sorted(data['tokens'].items()):
                out.line('tokens.%s\t%s' % (key, '' if value is None else value))
            return
        clean = session.clean
        out.line('%s  %s' % (data['session_id'], clean.line(data['title'] or data['first_prompt'])[:80]))
        out.line('%s, %s, %s to %s%s' % (data['agent'], texts.cut(clean.line(data['project_path']), 300),
                                         when(session.row.created, session.asked.now, session.asked.zone),
                                         when(session.row.modified, session.asked.now, session.asked.zone),
                                         ' [transcript gone]' if data['gone'] else ''))
        out.line('%d prompts, %d slash commands, %d replies, %s API calls, %d subagents' % (
            data['user_prompts'], data['slash_commands'], data['assistant_messages'],
            'unknown' if data['api_calls'] is None else data['api_calls'], data['subagents']))
        out.line('%d tool calls, %d failed, %d declined; %d interruptions, %d compactions' % (
            data['tool_calls'], data['tool_errors'], data['declined'], data['interruptions'], data['compactions']))
        _spent(out, data)
        if data['output_known_calls'] < (data['api_calls'] or 0):
            out.line('output is known for %d of %d calls; the rest is a lower bound' % (data['output_known_calls'], data['api_calls']))
        out.line('%s lines, %d damaged, %d not understood%s' % (amount(data['lines']), data['parse_errors'], data['unknown_records'],
                                                                '; %d branches' % data['leaves'] if data['leaves'] > 1 else ''))
        for line in data['damaged'][:5]:
            out.line('  ' + clean.line(line))
        if 'own' in data:
            w = data['whole']
            out.line('Above is what this session adds to totals. The transcript also repeats another session (fork, resume or copy):'
                     ' in all it shows %d prompts, %d calls, %s tokens.' % (
                         w['user_prompts'], w['api_calls'] or 0, amount(sum(v or 0 for v in w['tokens'].values()))))
        models = sorted(data['models'].items(), key=lambda i: (-i[1]['api_calls'], i[0]))
        for model, row in models[:_MODELS]:
            out.line('  %s: %d calls, %s tokens' % (texts.cut(clean.line(model), 80), row['api_calls'], compact(sum(row['tokens'].values()))))
        if len(models) > _MODELS:
            out.line('  and %d more models: --format json' % (len(models) - _MODELS))
        top = sorted(data['tools'].items(), key=lambda i: (-i[1]['calls'], i[0]))[:8]
        if top:
            out.line('  tools: ' + ', '.join('%s %d%s' % (texts.cut(clean.line(n), 60), r['calls'], ' (%d failed)' % r['errors'] if r['errors'] else '')
                                             for n, r in top))
        for line in _work_lines(data, clean):
            out.line(line)
        if len(found) > 1:
            out.line('%d topics, each with its first line:' % len(found))
            for one in found[:_TOPICS]:
                out.line('  %s:%d %s' % (session.short, one.line, texts.cut(texts.neutralise(clean.line(one.label)), 90)))
            if len(found) > _TOPICS:
                out.line('  and %d more: topic-segmenter.py %s' % (len(found) - _TOPICS, session.short))
        out.line('Read it: sd-recall.py show %s; what to change: analyze-session.py %s' % (session.short, session.short))
    finally:
        session.asked.close()


def _spent(out, data):
    t = data['tokens']
    if data.get('tokens_note'):
        out.line('tokens and cost: unknown; %s' % data['tokens_note'])
    else:
        out.line('tokens: %s input, %s output, %s cache read, %s cache write; cost %s' % (
            compact(t['input']), compact(t['output']), compact(t['cache_read']), compact(t['cache_write_5m'] + t['cache_write_1h']), money(data)))


def _work_lines(data, clean):
    """-> lines of what is telling of the working figures."""
    lines = []
    head = 'active %s, idle %s' % (clock.human_duration(data['active_ms']), clock.human_duration(data['idle_ms']))
    if data['first_prompt_tokens'] is not None:
        head += '; first call sent %s tokens' % compact(data['first_prompt_tokens'])
    if data['turn_depth']:
        head += '; calls a turn: %.1f, at most %d' % (data['turn_depth']['mean'], data['turn_depth']['most'])
    lines.append(head)
    trouble = ['%d %s' % (data[key], word) for key, word in (
        ('correction_turns', 'corrections'), ('interruption_turns', 'interrupted turns'), ('retries', 'API retries'),
        ('repeated_calls', 'calls repeated unchanged')) if data[key]]
    if data['retry_loops']:
        trouble.append('%d retry loops (longest %d)' % (len(data['retry_loops']), data['retry_loops'][0]['calls']))
    if data['test_fail_streak'] >= session_work.TEST_STREAK:
        trouble.append('tests failed %d times in a row' % data['test_fail_streak'])
    if data['redundant_reads'] >= session_work.REREADS:
        trouble.append('%d needless readings' % data['redundant_reads'])
    if trouble:
        lines.append('trouble: ' + ', '.join(trouble))
    if data['test_runs']['runs']:
        lines.append('  test runs: %d, %d failed' % (data['test_runs']['runs'], data['test_runs']['failed']))
    if data['web_searches'] or data['web_fetches']:
        lines.append('  web: %d searches, %d fetches' % (data['web_searches'], data['web_fetches']))
    for key, what in (('skills', 'skills'), ('subagent_types', 'subagents')):
        rows = sorted(data[key].items(), key=lambda item: (-item[1]['known_cost_usd'], item[0]))
        if rows:
            lines.append('  %s: %s' % (what, ', '.join('%s %d%s, %s' % (
                texts.cut(clean.line(name), 40), row.get('subagents', row.get('calls')),
                ' (%d failed)' % row['errors'] if row.get('errors') else '', _usd(row)) for name, row in rows[:_WORDS])))
    modes = data['permission_modes']
    if set(modes) - {analysis_session.DEFAULT_MODE}:
        lines.append('  permission modes (turns): ' + _counts(modes, clean))
    unusual = dict((reason, count) for reason, count in data['stop_reasons'].items() if reason not in _USUAL)
    if unusual:
        lines.append('  calls that ended otherwise: ' + _counts(unusual, clean))
    if data['reread_files']:
        lines.append('  read again: ' + ', '.join('%s (%d times)' % (texts.cut(clean.line(one['path']), 60), one['reads']) for one in data['reread_files'][:3]))
    return lines


def _usd(row):
    known = pricing.format_usd(int(round(row['known_cost_usd'] * 1e12)))
    return known if row['cost_usd'] is not None else 'at least ' + known


def _counts(table, clean):
    rows = sorted(table.items(), key=lambda item: (-item[1], item[0]))
    return ', '.join('%s %d' % (texts.cut(clean.line(name), 40), count) for name, count in rows[:_WORDS])
