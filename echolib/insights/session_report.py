"""What went wrong in one session and what to change: errors, loops, corrections, interruptions, dear turns, candidate rules.

Made from a Reading (analysis_session). Places are those of reading.facts; words are the transcript's own.
"""
from array import array
from bisect import bisect_right
from collections import namedtuple
from heapq import nsmallest

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
    total = float(sum(amount for amount, _ in work.turn_costs(facts, cost)))
    return nsmallest(most, _turns(facts, cost, total), key=lambda one: (-one.cost, -one.calls, one.place))


def _turns(facts, cost, total):
    """Yield the DearTurn of each turn in which a model was called."""
    for (amount, unpriced), turn in zip(work.turn_costs(facts, cost), work.prompted(facts)):
        part = facts[turn.first:turn.end]
        calls = sum(1 for fact in part if fact.kind == analysis.CALL)
        if amount or calls:
            yield DearTurn(turn.prompt, amount, unpriced, calls, sum(1 for fact in part if fact.kind == analysis.TOOL and fact.name),
                           amount / total if total else None)


def next_prompts(facts, places):
    """-> {place of a prompt: place of the prompt after its turn, None for the last} of some prompts."""
    out, last = dict.fromkeys(places), None
    for turn in work.prompted(facts):
        if last in out:
            out[last] = turn.prompt
        last = turn.prompt
    return out


def fixes(facts, loops):
    """-> list: of each loop the place of the next call of the same tool and program that worked, None without one."""
    passed = dict((_what(facts[run.places[0]]), array('L')) for run in loops)
    for place, fact in enumerate(facts) if loops else ():
        if fact.kind == analysis.TOOL and fact.status == analysis.STATUS['ok']:
            for key in ((fact.side, fact.name, fact.extra), (fact.side, fact.name, fact.cache_read)):
                if key in passed:
                    passed[key].append(place)
    out = []
    for run in loops:
        places = passed[_what(facts[run.places[0]])]
        at = bisect_right(places, run.places[-1])
        out.append(places[at] if at < len(places) else None)
    return out


def _what(fact):
    """What tells calls of one program apart from others: the command's head, else what the call is about."""
    return fact.side, fact.name, fact.extra or fact.cache_read


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
    loops = work.retry_loops(facts)
    for run, fix in zip(loops, fixes(facts, loops)):
        if fix is not None:
            out.append(Rule('command', [run.places[-1], fix], len(run.places)))
    out.sort(key=lambda rule: (-rule.count, rule.places))
    return out[:most]
