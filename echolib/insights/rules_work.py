"""Rules about how the work goes: errors, interruptions, contexts that fill up, what got worse, how well files are understood."""
from ..base.clock import day_name
from . import regressions
from .findings import NOTICE, WARNING, finding, share

TOOL_CALLS, TOOL_RATE = 50, 0.2
DECLINED_CALLS, DECLINED_RATE = 50, 0.1
STOP_TURNS, STOP_RATE = 100, 0.15
COMPACT_SESSIONS, COMPACT_SHARE = 5, 0.5
PRESSURE, PRESSURE_WARNING, PRESSURE_SESSIONS, PRESSURE_SHARE = 0.75, 0.9, 10, 0.1
JUMP, JUMP_SESSIONS, JUMP_SHARE = 0.25, 5, 0.1
REFILL_COUNT, REFILL_SHARE = 3, 0.5
STREAK, STREAK_SESSIONS, STREAK_SHARE = 4, 3, 0.1
RETRIES, RETRY_SESSIONS = 20, 3
CUT_CALLS, CUT_COUNT, CUT_SHARE = 200, 5, 0.01
BOUND_CALLS, BOUND_SHARE = 100, 0.8
COVERAGE_LINES, COVERAGE_SHARE = 10000, 0.01
REPEATS, REPEAT_SESSIONS = 20, 3
TEST_STREAK, TEST_SESSIONS, TEST_SHARE = 3, 3, 0.1
READS, READ_SESSIONS, READ_SHARE = 200, 10, 0.1
CORRECTION_TURNS, CORRECTION_SHARE = 200, 0.15

_ACTIONS = {
    'tool_error_rate': 'see what its errors say in a session since then', 'tool_errors': 'see what the errors say in a session since then',
    'model_share': 'see whether that was meant, and what it does to the cost (trend-engine.py change)',
    'cache_miss': 'look for what now changes at the beginning of prompts, and for longer pauses',
    'declined': 'allow what is always wanted, or tell the agent what is not', 'interruptions': 'see where the agent went astray since then'}


def got_worse(case):
    """What regressions found."""
    for group in regressions.together(case.changes.alarms):
        first = group[0]
        subject = first.series.subject
        names = [subject[key] for key in ('tool', 'model', 'project') if subject.get(key)]
        words = first.series.label
        if subject.get('tool') or subject.get('model'):
            words = '{0}: ' + words
        if subject.get('project'):
            words += ' in {%d}' % (len(names) - 1)
        switch = first.series.measure == 'model_share'
        others = sorted(set(alarm.series.label for alarm in group[1:]) - {first.series.label})
        yield finding(
            'model-switch' if switch else 'got-worse', WARNING,
            '%s %s on %s' % (words[0].upper() + words[1:], 'changed' if switch else 'got worse', day_name(first.day)),
            '%s before (%d sessions), %s since (%d sessions)%s' % (
                _figure(first.before, first.series), first.before_sessions, _figure(first.after, first.series), first.after_sessions,
                '; with it: ' + ', '.join(others) if others else ''),
            'chance gives as much in at most %g of 100 histories, all comparisons counted in' % (100 * regressions.ALLOWED),
            _ACTIONS.get(first.series.measure, 'see what it is made of (trend-engine.py change)'), names, None, first.sessions,
            '%d and %d sessions' % (first.before_sessions, first.after_sessions))


def _figure(value, series):
    if series.unit == 'usd':
        return '$%.4g' % value
    return share(value) if series.unit == 'share' else '{:,.0f}'.format(value) if value >= 100 else '%.3g' % value


def tool_fails(case):
    """Tools that fail often."""
    for tool, (calls, errors, _) in sorted(case.total.tools.items()):
        if calls >= TOOL_CALLS and errors >= TOOL_RATE * calls:
            worst = [n for n in case.sessions if tool in case.sessions[n].tools]
            worst.sort(key=lambda n: (-case.sessions[n].tools[tool][1], case.rows[n].sid))
            yield finding(
                'tool-fails', WARNING, '{0} fails often', '%s of %s calls (%s), in %d sessions' % (
                    '{:,}'.format(errors), '{:,}'.format(calls), share(errors / float(calls)), len(worst)),
                'at least %s of at least %d calls' % (share(TOOL_RATE), TOOL_CALLS),
                'see what the errors have in common (sd-recall.py errors); a note in the memory file may prevent them', [tool], None,
                worst, '%d calls' % calls)


def tool_declined(case):
    """Tools whose use is often refused."""
    for tool, (calls, _, declined) in sorted(case.total.tools.items()):
        if calls >= DECLINED_CALLS and declined >= DECLINED_RATE * calls:
            worst = [n for n in case.sessions if tool in case.sessions[n].tools]
            worst.sort(key=lambda n: (-case.sessions[n].tools[tool][2], case.rows[n].sid))
            yield finding(
                'tool-declined', NOTICE, 'The use of {0} is often refused', '%s of %s calls (%s)' % (
                    '{:,}'.format(declined), '{:,}'.format(calls), share(declined / float(calls))),
                'at least %s of at least %d calls' % (share(DECLINED_RATE), DECLINED_CALLS),
                'say in the memory file what is not wanted, or deny it in the settings', [tool], None, worst, '%d calls' % calls)


def interruptions(case):
    """Projects in which prompts are often interrupted."""
    judged = False
    for project in case.order:
        numbers = case.projects[project]
        turns, stops = sum(case.sessions[n].turns for n in numbers), sum(case.sessions[n].interruptions for n in numbers)
        judged = judged or turns >= STOP_TURNS
        if turns >= STOP_TURNS and stops >= STOP_RATE * turns:
            worst = sorted(numbers, key=lambda n: (-case.sessions[n].interruptions, case.rows[n].sid))
            yield finding(
                'interruptions', WARNING, 'The agent is often stopped in {0}', '%d of %s prompts (%s)' % (
                    stops, '{:,}'.format(turns), share(stops / float(turns))), 'at least %s of at least %d prompts' % (share(STOP_RATE), STOP_TURNS),
                'say more at the beginning, or let it plan first; see what was wanted after the stops', [project], None, worst, '%d prompts' % turns)
    if not judged and case.total.interruptions:
        case.small('interruptions', 'no project with %d prompts' % STOP_TURNS)


def compaction_pressure(case):
    """Projects whose sessions mostly run into compaction."""
    for project in case.order:
        numbers = case.projects[project]
        full = [n for n in numbers if case.sessions[n].compactions]
        if len(numbers) >= COMPACT_SESSIONS and len(full) >= COMPACT_SHARE * len(numbers):
            full.sort(key=lambda n: (-case.sessions[n].compactions, case.rows[n].sid))
            yield finding(
                'compaction-pressure', WARNING, 'Sessions in {0} mostly run into compaction', '%d of %d sessions were compacted, %d times' % (
                    len(full), len(numbers), sum(case.sessions[n].compactions for n in full)),
                'at least %s of at least %d sessions' % (share(COMPACT_SHARE), COMPACT_SESSIONS),
                'begin a new session for a new task, and keep what must be remembered in files', [project], None, full, '%d sessions' % len(numbers))


def context_pressure(case):
    """Sessions whose context nearly fills the window."""
    judged = [n for n, s in case.signals.items() if s.peak is not None]
    full = [n for n in judged if case.signals[n].peak >= PRESSURE]
    if len(judged) >= PRESSURE_SESSIONS and len(full) >= PRESSURE_SHARE * len(judged):
        brim = sum(1 for n in full if case.signals[n].peak >= PRESSURE_WARNING)
        full.sort(key=lambda n: (-case.signals[n].peak, case.rows[n].sid))
        yield finding(
            'context-pressure', WARNING if brim else NOTICE, 'Contexts nearly fill the window',
            '%d of %d sessions filled at least %s of it, %d of them %s' % (len(full), len(judged), share(PRESSURE), brim, share(PRESSURE_WARNING)),
            'at least %s of at least %d sessions' % (share(PRESSURE_SHARE), PRESSURE_SESSIONS),
            'compact at a point of your choice, or hand over to a new session', (), None, full, '%d sessions' % len(judged))


def context_jump(case):
    """Sessions in which one step filled much of the window."""
    judged = [n for n, s in case.signals.items() if s.peak is not None and s.calls > 1]
    found = [n for n in judged if case.signals[n].jump >= JUMP]
    if len(found) >= JUMP_SESSIONS and len(found) >= JUMP_SHARE * len(judged):
        found.sort(key=lambda n: (-case.signals[n].jump, case.rows[n].sid))
        yield finding(
            'context-jump', NOTICE, 'Single steps fill much of the context',
            '%d of %d sessions grew by at least %s of the window from one call to the next' % (len(found), len(judged), share(JUMP)),
            'at least %d sessions and %s of them' % (JUMP_SESSIONS, share(JUMP_SHARE)),
            'read large files and outputs in parts, or in a subagent', (), None, found, '%d sessions' % len(judged))


def refill(case):
    """Compactions after which the context is as large as before."""
    done, again = sum(s.compactions for s in case.signals.values()), sum(s.refills for s in case.signals.values())
    if again >= REFILL_COUNT and again >= REFILL_SHARE * done:
        found = sorted((n for n, s in case.signals.items() if s.refills), key=lambda n: (-case.signals[n].refills, case.rows[n].sid))
        yield finding(
            'compaction-refill', NOTICE, 'Compaction frees little',
            'after %d of %d compactions the next call already sent at least 75 %% of what there was before' % (again, done),
            'at least %d compactions and %s of them' % (REFILL_COUNT, share(REFILL_SHARE)),
            'see what is loaded each time (memory files, tools, files read again)', (), None, found, '%d compactions' % done)


def error_streaks(case):
    """Sessions in which a tool failed again and again."""
    judged = [n for n in case.sessions if case.sessions[n].tool_calls and n in case.signals]
    found = [n for n in judged if case.signals[n].streak[0] >= STREAK]
    if len(found) >= STREAK_SESSIONS and len(found) >= STREAK_SHARE * len(judged):
        found.sort(key=lambda n: (-case.signals[n].streak[0], case.rows[n].sid))
        length, tool = case.signals[found[0]].streak
        yield finding(
            'error-streak', WARNING, 'Tools fail again and again in one go',
            'in %d of %d sessions a tool failed at least %d times in a row within one prompt; the longest: {0}, %d times' % (
                len(found), len(judged), STREAK, length),
            'at least %d sessions and %s of them' % (STREAK_SESSIONS, share(STREAK_SHARE)),
            'stop such a loop early and say what is wrong; write down the command that works', [tool], None, found, '%d sessions' % len(judged))


def retries(case):
    """Calls that the client had to send again."""
    found = dict((n, s.retries) for n, s in case.signals.items() if s.retries)
    total = sum(found.values())
    if total >= RETRIES and len(found) >= RETRY_SESSIONS:
        yield finding(
            'api-retries', NOTICE, 'The client often had to repeat its calls', '%d retries in %d sessions' % (total, len(found)),
            'at least %d retries in at least %d sessions' % (RETRIES, RETRY_SESSIONS),
            'the service or the network was in trouble; nothing to do about past ones', (), None,
            sorted(found, key=lambda n: (-found[n], case.rows[n].sid)), '%d sessions' % len(case.signals))


def cut_replies(case):
    """Replies that ended at the output limit."""
    found = dict((n, s.cut) for n, s in case.signals.items() if s.cut)
    total, calls = sum(found.values()), case.total.calls
    if calls >= CUT_CALLS and total >= CUT_COUNT and total >= CUT_SHARE * calls:
        yield finding(
            'cut-replies', WARNING, 'Replies end at the output limit',
            '%d of %s calls (%s)' % (total, '{:,}'.format(calls), share(total / float(calls))),
            'at least %d and %s of at least %d calls' % (CUT_COUNT, share(CUT_SHARE), CUT_CALLS), 'ask for smaller pieces, or raise the limit',
            (), None, sorted(found, key=lambda n: (-found[n], case.rows[n].sid)), '%d calls' % calls)


def output_unknown(case):
    """Output counts that clients did not write to the end."""
    known, calls = case.total.known_outputs, case.total.calls
    if calls >= BOUND_CALLS and known < BOUND_SHARE * calls:
        yield finding(
            'output-lower-bound', NOTICE, 'Output tokens and cost are lower bounds', 'the final output count is known for %s of %s calls (%s)' % (
                '{:,}'.format(known), '{:,}'.format(calls), share(known / float(calls))),
            'less than %s of at least %d calls' % (share(BOUND_SHARE), BOUND_CALLS),
            'nothing can be done about past sessions; newer clients write the final count', (), None, (), '%d calls' % calls)


def coverage(case):
    """Versions of a client whose records are not understood."""
    counts = {}
    for number in case.rows:
        row = case.rows[number]
        have = counts.setdefault((row.agent, row.version or ''), [0, 0, []])
        have[0] += row.lines or 0
        have[1] += (row.parse_errors or 0) + (row.unknown_records or 0)
        if (row.parse_errors or 0) + (row.unknown_records or 0):
            have[2].append(number)
    newest = {}
    for agent, version in counts:
        if version and counts[agent, version][0] >= COVERAGE_LINES:
            newest[agent] = max(newest.get(agent, ''), version, key=_version)
    for agent in sorted(newest):
        lines, bad, numbers = counts[agent, newest[agent]]
        if bad >= COVERAGE_SHARE * lines:
            yield finding(
                'coverage', WARNING, 'Records of {0} {1} are not understood', '%s of %s lines (%s) are damaged or unknown' % (
                    '{:,}'.format(bad), '{:,}'.format(lines), share(bad / float(lines))),
                'at least %s of at least %s lines of the newest version' % (share(COVERAGE_SHARE), '{:,}'.format(COVERAGE_LINES)),
                'figures of such sessions may be too small; see sd-recall.py doctor, and whether session-digger has an update',
                [agent, newest[agent]], None, sorted(numbers, key=lambda n: case.rows[n].sid), '%d lines' % lines)


def _version(text):
    """Numbers compare as numbers, words as words."""
    return [(1, int(part), '') if part.isdecimal() and len(part) < 20 else (0, 0, part) for part in text.replace('-', '.').split('.')]


def failing_tests(case):
    """Sessions in which tests failed again and again."""
    testing = [n for n, s in case.signals.items() if s.tests]
    found = [n for n in testing if case.signals[n].failing >= TEST_STREAK]
    if len(found) >= TEST_SESSIONS and len(found) >= TEST_SHARE * len(testing):
        found.sort(key=lambda n: (-case.signals[n].failing, case.rows[n].sid))
        yield finding(
            'test-thrash', WARNING, 'Tests fail again and again',
            'in %d of %d sessions that ran tests they failed at least %d times in a row within one prompt; at most %d times' % (
                len(found), len(testing), TEST_STREAK, case.signals[found[0]].failing),
            'at least %d sessions and %s of those that run tests' % (TEST_SESSIONS, share(TEST_SHARE)),
            'stop such a loop early: let it read the failure and say what it expects before it edits again', (), None, found, '%d sessions' % len(testing))


def rereading(case):
    """Files that are read again and again."""
    reads, again = sum(s.reads for s in case.signals.values()), sum(s.rereads for s in case.signals.values())
    readers = [n for n, s in case.signals.items() if s.reads]
    if reads >= READS and len(readers) >= READ_SESSIONS and again >= READ_SHARE * reads:
        found = sorted((n for n in readers if case.signals[n].rereads), key=lambda n: (-case.signals[n].rereads, case.rows[n].sid))
        yield finding(
            'reread-heavy', NOTICE, 'Files are read again and again', '%s of %s readings were of a part read twice before and not changed since, in %d sessions' % (
                '{:,}'.format(again), '{:,}'.format(reads), len(found)),
            'at least %s of at least %d readings in at least %d sessions' % (share(READ_SHARE), READS, READ_SESSIONS),
            'say in the memory file what such a file holds, or have it summed up once', (), None, found, '%d readings' % reads)


def repeating(case):
    """Tools that are called again with the same input."""
    tools = set(tool for signal in case.signals.values() for tool in signal.repeats)
    for tool in sorted(tools):
        found = dict((n, s.repeats[tool]) for n, s in case.signals.items() if s.repeats.get(tool))
        total = sum(found.values())
        if total >= REPEATS and len(found) >= REPEAT_SESSIONS:
            yield finding(
                'retry-churn', NOTICE, '{0} is called again with the same input', '%s calls in %d sessions only repeated the one before' % (
                    '{:,}'.format(total), len(found)), 'at least %d such calls of a tool in at least %d sessions' % (REPEATS, REPEAT_SESSIONS),
                'see what it waits for, or what the answer did not tell it (index-builder.py anomalies)', [tool], None,
                sorted(found, key=lambda n: (-found[n], case.rows[n].sid)), '%d sessions' % len(case.signals))


def corrected(case):
    """Many prompts that correct the agent."""
    turns, wrong = case.total.turns, sum(s.corrections for s in case.signals.values())
    if turns >= CORRECTION_TURNS and wrong >= CORRECTION_SHARE * turns:
        found = sorted((n for n, s in case.signals.items() if s.corrections), key=lambda n: (-case.signals[n].corrections, case.rows[n].sid))
        yield finding(
            'correction-heavy', WARNING, 'Many prompts correct the agent', '%s of %s prompts (%s)' % (
                '{:,}'.format(wrong), '{:,}'.format(turns), share(wrong / float(turns))),
            'at least %s of at least %d prompts' % (share(CORRECTION_SHARE), CORRECTION_TURNS),
            'see what the corrections have in common (analyze-session.py) and write it down once', (), None, found, '%d prompts' % turns)


RULES = (got_worse, tool_fails, tool_declined, interruptions, compaction_pressure, context_pressure, context_jump, refill, error_streaks, retries,
         cut_replies, output_unknown, coverage, failing_tests, rereading, repeating, corrected)
