"""What went wrong in one session and what to change: errors, loops, corrections, interruptions, dear turns, candidate rules.

Made from a Reading (analysis_session). Places are those of reading.facts; words are the transcript's own.
"""
from collections import namedtuple

from .. import analysis
from .. import analysis_work as work
from .. import corrections

TURNS, EXAMPLES, RULES = 5, 3, 10
# A correction is a candidate for a rule when it says more than that something was wrong.
_RULE_CHARS = 16

# tool; calls; errors; places: of failed calls.
ToolErrors = namedtuple('ToolErrors', 'tool calls errors places')
# A turn: place of its prompt; cost, unpriced, calls, tools; share of the session's cost.
DearTurn = namedtuple('DearTurn', 'place cost unpriced calls tools share')
# kind: 'correction' or 'command'; places: what it rests on, the words to quote first; count.
Rule = namedtuple('Rule', 'kind places count')


def errors_by_tool(facts):
    """-> ToolErrors of the tools that failed, most failures first."""
    calls, failed = {}, {}
    for place, fact in enumerate(facts):
        if fact.kind == analysis.TOOL:
            name = fact.name or '(unknown)'
            calls[name] = calls.get(name, 0) + bool(fact.name)
            if fact.status == analysis.FAILED:
                failed.setdefault(name, []).append(place)
    out = [ToolErrors(name, calls[name], len(places), places) for name, places in failed.items()]
    out.sort(key=lambda one: (-one.errors, one.tool))
    return out


def dear_turns(facts, cost, most=TURNS):
    """-> the most expensive turns, dearest first. cost(fact) -> pico-USD or None."""
    costs, spans = work.turn_costs(facts, cost), work.turns(facts)[1:]
    total = float(sum(amount for amount, _ in costs))
    out = []
    for (amount, unpriced), turn in zip(costs, spans):
        part = facts[turn.first:turn.end]
        out.append(DearTurn(turn.prompt, amount, unpriced, sum(1 for fact in part if fact.kind == analysis.CALL),
                            sum(1 for fact in part if fact.kind == analysis.TOOL and fact.name), amount / total if total else None))
    out.sort(key=lambda one: (-one.cost, -one.calls, one.place))
    return [one for one in out if one.cost or one.calls][:most]


def next_prompt(facts, place):
    """-> the place of the prompt after a turn's, None for the last."""
    return next((turn.prompt for turn in work.turns(facts)[1:] if turn.prompt > place), None)


def fix_of(facts, run):
    """-> place of the next call of the same tool and program after a loop that worked, None without one."""
    first = facts[run.places[0]]
    for place in range(run.places[-1] + 1, len(facts)):
        fact = facts[place]
        if (fact.kind == analysis.TOOL and fact.name == run.tool and fact.side == first.side and fact.status == analysis.STATUS['ok']
                and (fact.extra == first.extra if first.extra else fact.cache_read == first.cache_read)):
            return place
    return None


def rules(reading, most=RULES):
    """-> candidate Rules: corrections that say what is wanted, the same words once; loops that ended in a call that works."""
    facts, out, seen = reading.facts, [], {}
    for place in work.corrections(facts):
        text = reading.note(place).text
        # Chinese, Japanese and Korean say as much in half the characters.
        wide = any(char >= '\u3000' for char in text[:_RULE_CHARS])
        if len(text.strip()) < (_RULE_CHARS // 2 if wide else _RULE_CHARS):
            continue
        if corrections.KINDS[facts[place].input - 1] in ('broken', 'undo') and len(text) < 3 * _RULE_CHARS:
            continue
        key = ' '.join(text.lower().split())[:80]
        if key in seen:
            seen[key].append(place)
        else:
            seen[key] = [place]
    out.extend(Rule('correction', places, len(places)) for places in seen.values())
    for run in work.retry_loops(facts):
        fix = fix_of(facts, run)
        if fix is not None:
            out.append(Rule('command', [run.places[-1], fix], len(run.places)))
    out.sort(key=lambda rule: (-rule.count, rule.places))
    return out[:most]
