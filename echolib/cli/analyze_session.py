"""analyze-session.py: what went wrong in one session and what to change, or a list of sessions by their trouble."""
import os

from .. import analysis, pricing
from ..analysis_session import read
from ..base import clock, paths
from ..base import text as texts
from ..base.errors import EchoError, UsageError
from ..index.catalog import session_keys
from ..insights import session_report, session_work
from . import options as opt
from .common import Asked, Cleaner, amount, compact, dump, iso, money, when
from .evidence import reference, said
from .run import run

SUMMARY = 'What went wrong in one session and what to change; with --all: sessions by their trouble.'
_BUDGET, _QUOTE, _REFS, _ROWS = 6800, 220, 5, 10
_COLUMNS = 'SESSION_ID MODIFIED TURNS CORRECTIONS INTERRUPTIONS TOOL_ERRORS RETRY_LOOPS TEST_FAIL_STREAK REDUNDANT_READS KNOWN_COST_USD PROJECT_PATH'


def command():
    """-> Command."""
    return opt.Command(
        '', SUMMARY, (('ref', False, 'a session id (or its beginning) or a transcript file; without it as --all'),),
        (opt.option('--all', 'flag', False, 'list the newest sessions instead, most trouble first'),
         opt.limit(10, 'sessions of --all'),) + opt.SELECTION + opt.COMMON,
        ('SESSION', 'SESSION --format json', '--all --since 30d'), _run)


def _run(args, out):
    if args.all and args.ref:
        raise UsageError('a session or --all, not both')
    if not args.ref:
        return _all(args, out)
    target = _Target(args, out)
    try:
        data = target.report()
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            _tsv(out, data, target.clean)
        else:
            _text(out, data, target)
    finally:
        target.asked.close()


class _Target(object):
    """The session asked for: one the index knows, or a transcript that lies anywhere."""

    def __init__(self, args, out):
        self.asked = Asked(args, out)
        self.clean = Cleaner(args)
        try:
            try:
                ref = self.asked.catalog.resolve(args.ref)
                row = self.row = ref.row
                self.sid, self.agent, self.sources = row.sid, row.agent, self.asked.catalog.sources(row)
                self.project, self.title = row.project, row.title or row.first_prompt
            except EchoError:
                path = paths.typed(args.ref)
                if not os.path.exists(path):
                    raise
                from ..adapters import lookup
                found, self.row = lookup.session_at(path), None
                self.sid, self.agent, self.sources, self.project, self.title = found.id, found.agent, found.sources, '', ''
        except Exception:
            self.asked.close()
            raise
        self.short = self.asked.catalog.short_id(self.sid) if self.project else self.sid
        self.chains = set(source.chain for source in self.sources if source.role != 'main')
        self.reading = read(self.agent, self.sources)
        self.table = self.asked.prices()

    def cost(self, fact):
        """-> pico-USD of a call or None."""
        found = analysis.cost_of(fact, self.table.cost)
        return None if found is None else sum(found)

    def ref(self, place):
        """-> reference of a place in the facts."""
        return reference(self.sid, self.reading.note(place), self.chains)

    def quote(self, place, most=_QUOTE):
        """-> a prompt's words, cut."""
        return texts.cut(self.clean(self.reading.note(place).text), most)

    def _runs(self, runs):
        return [dict(said(self.reading.note(run.places[-1]), self.clean, _QUOTE), tool=self.clean(run.tool), command=self.clean(run.word), calls=len(run.places),
                     refs=[self.ref(place) for place in run.places[:_REFS]]) for run in runs]

    def report(self):
        """-> the JSON object."""
        from .. import corrections
        reading, facts, clean = self.reading, self.reading.facts, self.clean
        found = session_work.figures(reading, self.table.cost, self.table.context_window)
        places, tally = found['places'], {}
        for fact in facts:
            analysis.apply(tally, fact, 1, self.table.cost)
        data = {'session_id': self.sid, 'agent': self.agent, 'project_path': clean(self.project), 'title': texts.cut(clean(self.title or ''), 100),
                'full_path': texts.clean_surrogates(self.sources[0].path) if self.sources else ''}
        data.update(session_keys(self.row, tally) if self.row is not None else analysis.shared_keys(tally))
        for key in ('active_ms', 'idle_ms', 'first_prompt_tokens', 'test_runs', 'test_fail_streak', 'redundant_reads', 'repeated_calls',
                    'correction_turns', 'interruption_turns'):
            data[key] = found[key]
        data['errors_by_tool'] = [
            {'tool': clean(one.tool), 'calls': one.calls, 'errors': one.errors,
             'examples': [dict(said(reading.note(place), clean, _QUOTE), ref=self.ref(place)) for place in _spread(one.places)]}
            for one in session_report.errors_by_tool(facts)]
        data['retry_loops'], data['repeats'] = self._runs(places['retry_loops'][:10]), self._runs(places['repeated_calls'][:10])
        data['failing_tests'] = [self.ref(place) for place in places['test_fail_streak'][:_REFS]]
        data['reread_files'] = [{'path': clean(path), 'reads': count} for path, count in session_work.reread_files(reading, places['rereads'])]
        data['corrections'] = [{'kind': corrections.KINDS[facts[place].input - 1], 'ref': self.ref(place), 'text': self.quote(place)}
                               for place in places['correction_turns'][:50]]
        data['interruption_list'] = []
        following = session_report.next_prompts(facts, places['interruption_turns'][:50])
        for place in places['interruption_turns'][:50]:
            after = following[place]
            data['interruption_list'].append({'ref': self.ref(place), 'prompt': self.quote(place), 'next': self.quote(after) if after is not None else None,
                                              'next_ref': self.ref(after) if after is not None else None})
        data['dearest_turns'] = [
            {'ref': self.ref(one.place), 'prompt': self.quote(one.place), 'cost_usd': None if one.unpriced else analysis.usd(one.cost),
             'known_cost_usd': analysis.usd(one.cost), 'share': one.share, 'api_calls': one.calls, 'tool_calls': one.tools}
            for one in session_report.dear_turns(facts, self.cost)]
        data['candidate_rules'] = [self._rule(rule) for rule in session_report.rules(reading)]
        return data

    def _rule(self, rule):
        refs = [self.ref(place) for place in rule.places[:_REFS]]
        if rule.kind == 'correction':
            return {'kind': rule.kind, 'quote': self.quote(rule.places[0]), 'count': rule.count, 'refs': refs}
        failed, worked = (said(self.reading.note(place), self.clean, _QUOTE) for place in rule.places)
        return {'kind': rule.kind, 'quote': worked['input'], 'failed': failed['input'], 'error': failed.get('error', ''), 'count': rule.count, 'refs': refs}


def _spread(places):
    """The first, a middle and the last of a list."""
    if len(places) <= session_report.EXAMPLES:
        return places
    return [places[0], places[len(places) // 2], places[-1]]


def _tsv(out, data, clean):
    out.line('\t'.join(('KIND', 'REF', 'COUNT', 'WHAT', 'TEXT')))
    rows = [('error', one['ref'], row['errors'], row['tool'], one.get('error') or one['input']) for row in data['errors_by_tool'] for one in row['examples']]
    rows += [('retry-loop', run['refs'][0], run['calls'], ('%s %s' % (run['tool'], run['command'])).strip(), run['input']) for run in data['retry_loops']]
    rows += [('repeat', run['refs'][0], run['calls'], ('%s %s' % (run['tool'], run['command'])).strip(), run['input']) for run in data['repeats']]
    rows += [('failing-test', ref, data['test_fail_streak'], '', '') for ref in data['failing_tests']]
    rows += [('reread', '', one['reads'], '', one['path']) for one in data['reread_files']]
    rows += [('correction', one['ref'], 1, one['kind'], one['text']) for one in data['corrections']]
    rows += [('interruption', one['ref'], 1, '', one['prompt']) for one in data['interruption_list']]
    rows += [('dear-turn', one['ref'], one['api_calls'], '%.6f' % one['known_cost_usd'], one['prompt']) for one in data['dearest_turns']]
    rows += [('rule', one['refs'][0], one['count'], one['kind'], one['quote']) for one in data['candidate_rules']]
    for row in rows:
        out.line('\t'.join(clean.cell(str(value)) for value in row))


def _text(out, data, target):
    clean = target.clean
    out.line('%s  %s  %s' % (data['session_id'], clean.line(data['title']), texts.cut(clean.line(data['project_path']), 100)))
    out.line('%d prompts, %d slash commands, %s API calls, %s tool calls (%d failed, %d declined); active %s, idle %s; cost %s' % (
        data['user_prompts'], data['slash_commands'], 'unknown' if data['api_calls'] is None else amount(data['api_calls']), amount(data['tool_calls']), data['tool_errors'], data['declined'],
        clock.human_duration(data['active_ms']), clock.human_duration(data['idle_ms']),
        'unknown' if data['known_cost_usd'] is None else money(data)))
    out.line('%d corrections, %d interrupted turns, %d retry loops, %d calls repeated unchanged, %d API retries; tests: %d runs, %d failed, at most %d in a row; '
             '%d needless readings%s' % (
                 data['correction_turns'], data['interruption_turns'], len(data['retry_loops']), data['repeated_calls'], data['retries'], data['test_runs']['runs'],
                 data['test_runs']['failed'], data['test_fail_streak'], data['redundant_reads'],
                 '' if data['first_prompt_tokens'] is None else '; first call sent %s tokens' % compact(data['first_prompt_tokens'])))
    sections = [(title, lines) for title, lines in _sections(data, clean) if lines]
    if not sections:
        out.line('Nothing went wrong that these records show.')
    else:
        # Each section has its share first, what is left goes to the first ones.
        shown = [lines[:4] for _, lines in sections]
        used = sum(len(title) + 1 + sum(len(line) + 1 for line in lines) for (title, _), lines in zip(sections, shown))
        for (_, lines), some in zip(sections, shown):
            for line in lines[len(some):]:
                if used + len(line) + 1 > _BUDGET:
                    break
                some.append(line)
                used += len(line) + 1
        body = []
        for (title, lines), some in zip(sections, shown):
            body.append(title)
            body.extend(some)
            if len(some) < len(lines):
                body.append('  and %d more lines: --format json' % (len(lines) - len(some)))
        text = '\n'.join(body).replace(data['session_id'], target.short)
        out.line(texts.fence(text if len(text) <= _BUDGET else text[:_BUDGET].rsplit('\n', 1)[0], data['session_id'],
                             when(target.row.created, target.asked.now, target.asked.zone) if target.row is not None else ''))
    place = next((one['ref'] for one in data['corrections']), None) or next((run['refs'][0] for run in data['retry_loops']), None) or data['session_id']
    out.line('Read around a line: sd-recall.py show %s --tools' % place)


def _sections(data, clean):
    """Yield (title, lines) of what there is."""
    def line(text, most=150):
        return texts.cut(clean.line(text), most)

    rows = []
    for rule in data['candidate_rules']:
        if rule['kind'] == 'correction':
            rows.append('  %s%s: "%s"' % (rule['refs'][0], ' (%d times)' % rule['count'] if rule['count'] > 1 else '', line(rule['quote'])))
        else:
            rows.append('  %s: failed %d times: %s' % (rule['refs'][0], rule['count'], line(rule['failed'], 90)))
            rows.append('    worked (%s): %s' % (rule['refs'][-1], line(rule['quote'], 90)))
    yield 'candidate rules (words of the session: put them in your own before keeping them)', rows
    quoted = set(ref for rule in data['candidate_rules'] if rule['kind'] == 'correction' for ref in rule['refs'])
    yield 'other corrections' if quoted else 'corrections', [
        '  %s %s: %s' % (one['ref'], one['kind'], line(one['text'])) for one in data['corrections'] if one['ref'] not in quoted]
    yield 'interrupted', ['  %s: %s%s' % (one['ref'], line(one['prompt'], 90), '  then: ' + line(one['next'], 90) if one['next'] else '') for one in data['interruption_list']]
    rows = []
    for run in data['retry_loops']:
        rows.append('  %s %s, %d times: %s' % (run['refs'][0], line(run['tool'], 30), run['calls'], line(run['input'], 110)))
        if run.get('error'):
            rows.append('    said: ' + line(run['error']))
    yield 'retry loops', rows
    yield 'repeated unchanged', ['  %s %s, %d times: %s' % (run['refs'][0], line(run['tool'], 30), run['calls'], line(run['input'], 110)) for run in data['repeats']]
    if data['test_fail_streak'] >= session_work.TEST_STREAK:
        yield 'tests that kept failing', ['  ' + ' '.join(data['failing_tests'])]
    rows = []
    for one in data['errors_by_tool'][:8]:
        rows.append('  %s: %d of %d failed' % (line(one['tool'], 40), one['errors'], one['calls']))
        rows.extend('    %s: %s' % (example['ref'], line(example.get('error') or example['input'], 120)) for example in one['examples'])
    yield 'errors by tool', rows
    yield 'files read again', ['  %d times: %s' % (one['reads'], line(one['path'])) for one in data['reread_files'][:6]]
    yield 'dearest turns', ['  %s %s%s, %d calls: %s' % (
        one['ref'], pricing.format_usd(int(round(one['known_cost_usd'] * 1e12))), ' (%.0f %%)' % (100 * one['share']) if one['share'] else '', one['api_calls'],
        line(one['prompt'], 90)) for one in data['dearest_turns']]


def _all(args, out):
    from ..insights import anomalies
    asked = Asked(args, out)
    try:
        clean = Cleaner(args)
        rows = asked.rows()
        newest = rows[:args.limit] if args.limit else rows
        found = [one for one, _, _ in anomalies.surveys(asked.catalog, newest, asked.since, asked.until, asked.prices().cost)]
        found.sort(key=lambda one: (-anomalies.trouble(one), -(one.row.modified or 0), one.row.sid))
        data = [_summary(one, clean) for one in found]
        if args.format == 'json':
            dump(out, {'total': len(rows), 'sessions': data, 'index': asked.index_state()})
        elif args.format == 'tsv':
            out.line('\t'.join(_COLUMNS.split()))
            for one in data:
                out.line('\t'.join(clean.cell(str(one[name.lower()])) for name in _COLUMNS.split()))
        elif not data:
            out.line('no sessions; widen with --scope all, without --since and --agent')
        else:
            out.line('session   last          turns corrections stops errors loops failing-tests rereads      cost  title')
            for one, survey in list(zip(data, found))[:40]:
                out.line('%s %s %5d %11d %5d %6d %5d %13d %7d %9s  %s' % (
                    asked.catalog.short_id(one['session_id']), when(survey.row.modified, asked.now, asked.zone)[:13], one['turns'], one['corrections'],
                    one['interruptions'], one['tool_errors'], one['retry_loops'], one['test_fail_streak'], one['redundant_reads'],
                    pricing.format_usd(survey.cost), texts.cut(clean.line(one['title']), 50)))
            if len(data) > 40 or len(newest) < len(rows):
                out.line('%d of %d sessions, the newest; more: --limit 0 --format tsv' % (min(40, len(data)), len(rows)))
            out.line('One in full: analyze-session.py %s' % data[0]['session_id'])
    finally:
        asked.close()


def _summary(one, clean):
    get = one.tally.get
    return {'session_id': one.row.sid, 'agent': one.row.agent, 'project_path': clean(one.row.project), 'title': texts.cut(clean(one.row.title or one.row.first_prompt), 80),
            'modified': iso(one.row.modified), 'turns': get('user_prompts', 0) + get('slash_commands', 0), 'corrections': len(one.corrections),
            'interruptions': get('interruptions', 0), 'tool_calls': get('tool_calls', 0), 'tool_errors': get('tool_errors', 0), 'retry_loops': len(one.loops),
            'test_fail_streak': len(one.streak.places), 'redundant_reads': len(one.rereads),
            'repeated_calls': sum(len(run.places) - 1 for run in one.repeats), 'known_cost_usd': analysis.usd(one.cost),
            'cost_usd': None if one.unpriced else analysis.usd(one.cost)}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('analyze-session.py', SUMMARY, {}, argv, command())
