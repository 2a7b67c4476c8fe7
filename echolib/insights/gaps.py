"""What recurs in the sessions and what there is against it: the findings of a skill gap, in order."""
from collections import namedtuple

from ..shell import command_of
from . import asks, pains, recurrence, routines
from .harvest import SHELLS
from .lookback import program

# findings: in order; checks: errors left out because the client's own checks raised them; kinds: {kind of correction:
# [count, set of sessions]}; cut: {what: how many were read} where not all were; sessions: how many were looked at.
Gaps = namedtuple('Gaps', 'findings checks kinds cut sessions')
# What came after a failure. between: the calls between it and the one that worked, in order; worked: the Event of that call;
# row: of its document; reply: what the model said, or None; place: see lookback.Failure.
Remedy = namedtuple('Remedy', 'between worked row reply place')

# Of so many failures of a finding the remedy is looked for, and so many calls on the way are told.
_TRIED, _STEPS = 6, 4


def find(harvest, said, least=recurrence.LEAST_SESSIONS):
    """-> Gaps of what was said (Saids) and done. least: different sessions each finding needs."""
    errors, checks = pains.errors(harvest, least)
    corrected, kinds = asks.corrections(said + harvest.refusals(pains.ERRORS), least)
    found = errors + corrected + pains.retries(harvest, least) + pains.tools(harvest, least) + routines.sequences(harvest, least) + asks.prompts(said, least)
    return Gaps(recurrence.ranked(found), checks, kinds, dict(harvest.cut), sum(1 for row in harvest.rows.values() if row.readable == 1))


def remedy(look, found):
    """-> (Remedy, Failed) of the newest failure of an error finding that something worked after, (None, None) where nothing did."""
    for failed in found.detail['examples'][:_TRIED]:
        told = look.failure_at(failed.place.shard, failed.place.number, _same_step)
        if told is None or told.fix is None or not _same_step(told.call, told.fix[1]):
            continue
        row, worked = told.fix
        between = look.calls_between(failed.place.shard, failed.place.number, row[1]) if not told.place else []
        between = [call for call in between if _does_something(call)]
        # After much other work nobody can say what helped.
        return Remedy(between if len(between) <= _STEPS else [], worked, row, told.reply, told.place), failed
    return None, None


def _same_step(failed, worked):
    """True when a call that worked did what the failed one tried: of a shell the same step, not just the same program."""
    if failed is None or failed.label.lower() not in SHELLS:
        return True
    tried, done = (set(routines.steps(command_of(call.data))) for call in (failed, worked))
    return not tried or bool(tried & done)


def said_by(call):
    """-> a call in a line: a shell's command, else the tool and the first line of its input."""
    return command_of(call.data) or '%s %s' % (call.label, call.text.partition('\n')[0])


def _does_something(call):
    if call.label.lower() in SHELLS:
        return program(command_of(call.data)) not in routines.LOOKING
    return call.label.lower() not in ('read', 'glob', 'grep', 'todowrite', 'ls')
