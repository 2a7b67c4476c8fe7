"""Sessions in which something went wrong again and again: errors, retry loops, failing tests, files read again, corrections.

Chosen from the counted facts of the index; what is shown of them is read from the transcript (evidence).
"""
from collections import namedtuple

from .. import analysis
from .. import analysis_work as work
from ..analysis_calls import READ
from .activity import histories, is_session

# Many errors: at least so many failed calls, and such a share of those that ended.
ERRORS, ERROR_SHARE = 10, 0.25
# Failures of one tool about one thing in a row; test runs that fail in a row; readings again, and their share of all.
LOOP, STREAK, REREADS, REREAD_SHARE = work.LOOP, 3, 4, 0.05
# The same call over and over, directly one after the other.
REPEATS = 4
# Corrections: so many, and such a share of the prompts.
CORRECTIONS, CORRECTION_SHARE = 3, 0.25
KINDS = ('errors', 'retry-loop', 'failing-tests', 'rereading', 'repeats', 'corrections')
THRESHOLDS = {
    'errors': 'at least %d failed calls and %.0f %% of those that ended' % (ERRORS, 100 * ERROR_SHARE),
    'retry-loop': 'at least %d failures of one tool about one thing within a prompt, none that worked between' % LOOP,
    'failing-tests': 'at least %d test runs of one agent within a prompt that failed in a row' % STREAK,
    'rereading': 'at least %d readings, and %.0f %% of all, of a part of a file that was read twice before and not changed since' % (
        REREADS, 100 * REREAD_SHARE),
    'repeats': 'the same call at least %d times directly one after the other' % REPEATS,
    'corrections': 'at least %d prompts that correct, and %.0f %% of all' % (CORRECTIONS, 100 * CORRECTION_SHARE)}

# row: the session's Row; tally; streak, loops, repeats: see analysis_work; rereads, corrections, stops: numbers of places.
Survey = namedtuple('Survey', 'row tally streak loops repeats rereads corrections stops cost unpriced')
# kind; row; score: the count against its threshold, larger is worse; count of whole; tool, word: of loops and streaks; keys: of
# the facts it rests on.
Anomaly = namedtuple('Anomaly', 'kind row score count whole tool word keys')


def surveys(catalog, rows, since=None, until=None, price=None):
    """Yield (Survey, keys of its facts in order, facts) of each session, of what is dated in [since, until) where given."""
    def cost(fact):
        found = analysis.cost_of(fact, price) if price is not None else None
        return None if found is None else sum(found)
    for row, facts, keys in histories(catalog, rows, since, until, keys=True):
        if not is_session(row):
            continue
        tally = {}
        for fact in facts:
            analysis.apply(tally, fact, 1, None)
        amount = unpriced = 0
        for fact in facts:
            if fact.kind == analysis.CALL and sum(fact[5:10]):
                one = cost(fact)
                amount, unpriced = amount + (one or 0), unpriced + (one is None)
        yield Survey(row, tally, work.test_fail_streak(facts), work.retry_loops(facts), work.repeated_calls(facts), work.redundant_reads(facts),
                     work.corrections(facts), work.interrupted(facts), amount, unpriced), keys, facts


def find(catalog, rows, since=None, until=None, kinds=KINDS):
    """-> Anomalies, the worst first."""
    out = []
    for one, keys, facts in surveys(catalog, rows, since, until):
        out.extend(found for found in _of(one, keys, facts) if found.kind in kinds)
    out.sort(key=lambda a: (-a.score, -a.count, a.kind, a.row.sid))
    return out


def _of(one, keys, facts):
    """Yield the Anomalies of a Survey."""
    row, get = one.row, one.tally.get

    def found(kind, score, count, whole, places, tool='', word=''):
        return Anomaly(kind, row, score, count, whole, tool, word, [keys[place] for place in places])

    ended = sum(1 for fact in facts if fact.kind == analysis.TOOL and fact.status in (analysis.STATUS['ok'], analysis.FAILED))
    errors = get('tool_errors', 0)
    if errors >= ERRORS and errors >= ERROR_SHARE * ended:
        failed = [place for place, fact in enumerate(facts) if fact.kind == analysis.TOOL and fact.status == analysis.FAILED]
        yield found('errors', errors / float(ERRORS), errors, ended, failed)
    if one.loops:
        run = one.loops[0]
        yield found('retry-loop', len(run.places) / float(LOOP), len(run.places), len(one.loops), run.places, run.tool, run.word)
    if len(one.streak.places) >= STREAK:
        yield found('failing-tests', len(one.streak.places) / float(STREAK), len(one.streak.places), work.test_runs(facts)[0],
                    one.streak.places, one.streak.tool, one.streak.word)
    reads = sum(1 for fact in facts if fact.kind == analysis.TOOL and fact.input == READ)
    if len(one.rereads) >= REREADS and len(one.rereads) >= REREAD_SHARE * reads:
        yield found('rereading', len(one.rereads) / float(REREADS), len(one.rereads), reads, one.rereads)
    if one.repeats and len(one.repeats[0].places) >= REPEATS:
        run = one.repeats[0]
        yield found('repeats', len(run.places) / float(REPEATS), len(run.places), get('tool_calls', 0), run.places, run.tool, run.word)
    turns = get('user_prompts', 0) + get('slash_commands', 0)
    if len(one.corrections) >= CORRECTIONS and len(one.corrections) >= CORRECTION_SHARE * turns:
        yield found('corrections', len(one.corrections) / float(CORRECTIONS), len(one.corrections), turns, one.corrections)


def trouble(one):
    """-> how much of a Survey is trouble: for the order of a list."""
    return (3 * sum(len(run.places) for run in one.loops) + 3 * max(0, len(one.streak.places) - 1) + 4 * len(one.corrections) + 2 * len(one.stops)
            + one.tally.get('tool_errors', 0) + len(one.rereads))
