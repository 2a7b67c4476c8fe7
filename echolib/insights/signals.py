"""What the course of single sessions shows: contexts, pauses, turns, streaks of errors. Fed with a session at a time."""
from collections import namedtuple

from .. import analysis
from .. import analysis_work as work
from ..analysis_calls import READ

# Of one session. first_context: tokens sent with its first call of the main chain, None without one; peak: largest share
# of a context window a call filled, None where no window is known; jump: largest growth from one call to the next as a
# share of the window; rewrites: calls after a pause longer than the cache lives that wrote most of their prompt anew;
# rewrite_cost: pico-USD of what they wrote; refills: compactions after which the context was nearly as large again;
# compactions: with a size before and a call after; top_turn: (share, cost) of the most expensive turn of at least three, or
# None; streak: (length, tool) of the longest run of failures of one tool in one turn; cut: replies that ended at the output
# limit; fast_cost: pico-USD of fast mode; retries; cost: pico-USD; active: ms, see analysis_work.active; corrections: prompts
# that correct; tests: test runs that ended; failing: the longest row of failing ones; rereads: readings again; reads: all readings;
# repeats: {tool: calls made again with the same input directly after}.
Signals = namedtuple('Signals', 'first_context peak jump rewrites rewrite_cost refills compactions top_turn streak cut fast_cost retries '
                                'cost active calls corrections tests failing rereads reads repeats')

MINUTE = 60000
# A five-minute cache is gone after this, an hour's cache after that.
_SHORT, _LONG = 5 * MINUTE, 60 * MINUTE
_REWRITTEN, _REFILLED = 0.5, 0.75
# A call this far over a model's window shows that its window is another one.
_NOT_THE_WINDOW = 1.1


class Watch(object):
    """Collects Signals by session row id; use as a watcher of activity.load. table: PriceTable."""

    def __init__(self, table):
        self._table = table
        self._windows = {}
        self.sessions = {}

    def __call__(self, row, facts):
        self.sessions[row.id] = self._look(facts)

    def _window(self, model):
        window = self._windows.get(model, 0)
        if window == 0:
            window = self._windows[model] = self._table.context_window(model) if model else None
        return window

    def _cost(self, fact):
        return analysis.cost_of(fact, self._table.cost)

    def _look(self, facts):
        course = _Course(self._window)
        cut = fast = retries = total = count = 0
        for fact in facts:
            if fact.kind == analysis.CALL:
                cost = self._cost(fact)
                amount = sum(cost) if cost else 0
                count += 1
                total += amount
                speed, _, _, _, _, stop = (fact.extra.split('|') + [''] * 6)[:6]
                fast += amount if speed == 'fast' else 0
                cut += stop == 'max_tokens'
                if not fact.side:
                    course.call(fact, cost)
            elif fact.kind == analysis.COMPACT and not fact.side:
                course.compacted(fact.input)
            elif fact.kind == analysis.RETRY:
                retries += 1
        costs = [amount for amount, _ in work.turn_costs(facts, lambda fact: sum(self._cost(fact) or ()))]
        top = (max(costs) / float(total), max(costs)) if len(costs) > 2 and total else None
        streak, tests = work.error_streak(facts), work.test_runs(facts)
        return Signals(work.first_prompt_tokens(facts), course.peak, course.jump, course.rewrites, course.rewrite_cost, course.refills,
                       course.compactions, top, (len(streak.places), streak.tool), cut, fast, retries, total, work.active(facts)[0], count,
                       len(work.corrections(facts)), tests[0], len(work.test_fail_streak(facts).places), len(work.redundant_reads(facts)),
                       sum(1 for fact in facts if fact.kind == analysis.TOOL and fact.input == READ), _repeats(facts))


def _repeats(facts):
    found = {}
    for run in work.repeated_calls(facts):
        found[run.tool] = found.get(run.tool, 0) + len(run.places) - 1
    return found


class _Course(object):
    """The calls of a main chain one after the other."""

    def __init__(self, window):
        self._window_of = window
        self.peak = None
        self.jump = 0.0
        self.rewrites = self.rewrite_cost = self.refills = self.compactions = 0
        self._before = self._time = self._compacted = None
        self._keeps = _SHORT

    def call(self, fact, cost):
        """Take in a call of the main chain; cost: its Cost or None."""
        sent = work.sent(fact)
        if not sent:
            return
        window = self._window_of(fact.name)
        if window and sent > _NOT_THE_WINDOW * window:
            window = None
        if window:
            self.peak = max(self.peak or 0.0, sent / float(window))
            if self._before is not None and not self._compacted:
                self.jump = max(self.jump, (sent - self._before) / float(window))
        written = fact.cache_write_5m + fact.cache_write_1h
        if self._time is not None and fact.time is not None and fact.time - self._time > self._keeps and written >= _REWRITTEN * sent:
            self.rewrites += 1
            self.rewrite_cost += cost.cache_write_5m + cost.cache_write_1h if cost else 0
        if self._compacted:
            self.compactions += 1
            self.refills += sent >= _REFILLED * self._compacted
        self._before, self._compacted = sent, None
        self._time = fact.time if fact.time is not None else self._time
        self._keeps = _LONG if fact.cache_write_1h else _SHORT

    def compacted(self, before):
        """Take in a compaction; before: tokens at its time, 0 unknown."""
        self._compacted = before or None
