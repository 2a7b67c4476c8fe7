"""How the work in a session went, from its facts: pauses, turns, retries, tests that keep failing, files read again.

One function a figure. All take a session's facts in order (in_order); what they point at are places in that list, so that
whoever has the keys can find the lines. references/metrics.md says what each figure means.
"""
from collections import namedtuple
from itertools import islice

from .analysis import CALL, COMPACT, FAILED, REFUSED, STATUS, STOP, TOOL, TURN
from .analysis_calls import CHANGE, READ, SKILL, TEST
from .events import BUCKETS, OK

# A pause longer than this is idle time (ms).
IDLE = 5 * 60000
# A loop: so many failures of one tool about one thing within a turn.
LOOP = 3
# The first readings of one part of a file are no waste; a file read so often by one agent is listed, at most so many.
FREE_READS, REREAD, REREAD_FILES = 2, 3, 20
_PASSED = STATUS[OK]
# Tools whose use is to ask again.
_ASKING = ('output', 'wait', 'poll', 'status', 'stdin', 'sleep')

# A turn: prompt, its place, None for what came before the first; first, end: places of its facts.
Turn = namedtuple('Turn', 'prompt first end')
# Failures in a row. tool; places: of the failed calls; word: a command's head, or ''.
Run = namedtuple('Run', 'tool places word')
Skill = namedtuple('Skill', 'calls errors turns cost unpriced')
# Of a chain: API calls, tokens of all buckets, cost and calls without a price.
Chain = namedtuple('Chain', 'calls tokens cost unpriced')


def order(fact):
    """The order of a session's facts: by time; of one moment the prompt comes first, what has no time before all that has."""
    return fact.time or 0, fact.kind != TURN, fact.kind, fact.side, fact.name, fact[4:]


def in_order(facts):
    """-> list of facts as the functions below take them."""
    return sorted(facts, key=order)


def turns(facts):
    """Yield the Turns in order, the first one without a prompt."""
    start = None
    for place, fact in enumerate(facts):
        if fact.kind == TURN and fact.name:
            yield Turn(start, start or 0, place)
            start = place
    yield Turn(start, start or 0, len(facts))


def prompted(facts):
    """Yield the Turns that have a prompt, in order."""
    return islice(turns(facts), 1, None)


def active(facts):
    """-> (active, idle) ms: the pauses between what is dated, calls, prompts, tool uses and their results, up to IDLE long and longer."""
    times = [fact.time for fact in facts if fact.time is not None]
    times.extend(fact.cache_write_1h for fact in facts if fact.kind == TOOL and fact.cache_write_1h)
    times.sort()
    idle = sum(later - earlier for earlier, later in zip(times, islice(times, 1, None)) if later - earlier > IDLE)
    return times[-1] - times[0] - idle if times else 0, idle


def sent(fact):
    """-> tokens sent with a call."""
    return fact.input + fact.cache_read + fact.cache_write_5m + fact.cache_write_1h


def first_prompt_tokens(facts):
    """-> tokens sent with the first call of the main chain: what a session costs before it begins; None when there is none."""
    return next((sent(fact) for fact in facts if fact.kind == CALL and not fact.side and sent(fact)), None)


def turn_depths(facts):
    """-> list: of each turn the number of calls of the main chain."""
    return [sum(1 for fact in facts[turn.first:turn.end] if fact.kind == CALL and not fact.side) for turn in prompted(facts)]


def turn_costs(facts, cost):
    """Yield of each turn (cost, calls without a price), subagents' calls included. cost(fact) -> pico-USD or None."""
    return (_cost(facts[turn.first:turn.end], cost) for turn in prompted(facts))


def _cost(facts, cost):
    total = unpriced = 0
    for fact in facts:
        if fact.kind == CALL and (sent(fact) or fact.output):
            amount = cost(fact)
            if amount is None:
                unpriced += 1
            else:
                total += amount
    return total, unpriced


def corrections(facts):
    """-> places of the prompts that correct the agent."""
    return [place for place, fact in enumerate(facts) if fact.kind == TURN and fact.name and fact.input]


def interrupted(facts):
    """-> places of the prompts whose turn the person stopped, each once."""
    return [turn.prompt for turn in prompted(facts) if any(fact.kind == STOP for fact in facts[turn.first:turn.end])]


def test_fail_streak(facts):
    """-> the longest Run of test runs of one chain that failed one after the other within a turn; other calls between do not
    end it, a run that passes does."""
    return _longest(facts, lambda fact: fact.side if fact.input == TEST else None)


def error_streak(facts):
    """-> the longest Run of failures of one tool of one chain within a turn; a use of it that works ends it."""
    return _longest(facts, lambda fact: (fact.side, fact.name))


def _longest(facts, what):
    """The longest Run of failures of what has one key; what(fact) -> key or None for what does not count."""
    best = Run('', (), '')
    for run, _ in _runs(facts, what):
        if len(run) > len(best.places):
            best = Run(facts[run[0]].name, tuple(run), facts[run[0]].extra if facts[run[0]].input not in (SKILL, 0) else '')
    return best


def _runs(facts, what):
    """Yield (places, key) of each run of failures with one key inside a turn."""
    for turn in turns(facts):
        running = {}
        for place, fact in enumerate(facts[turn.first:turn.end], turn.first):
            if fact.kind != TOOL:
                continue
            key = what(fact)
            if key is None:
                continue
            if fact.status == FAILED:
                running.setdefault(key, []).append(place)
            elif fact.status == _PASSED and key in running:
                yield running.pop(key), key
        for key in sorted(running, key=lambda k: running[k][0]):
            yield running[key], key


def retry_loops(facts):
    """-> Runs of at least LOOP failures of one tool about one thing (a command's program and arguments, a file, an address;
    else the same input), longest first; such a call that works ends a run, other calls do not."""
    found = [Run(facts[run[0]].name, tuple(run), facts[run[0]].extra)
             for run, _ in _runs(facts, lambda fact: (fact.side, fact.name, fact.cache_read or fact.output)) if len(run) >= LOOP]
    found.sort(key=lambda run: (-len(run.places), run.places))
    return found


def repeated_calls(facts):
    """-> Runs of calls with the same tool and input directly one after the other on one chain within a turn (at least two);
    tools that ask for the state of something are left out."""
    found = []
    for turn in turns(facts):
        last = {}
        for place, fact in enumerate(facts[turn.first:turn.end], turn.first):
            if fact.kind != TOOL or not fact.name:
                continue
            key, have = (fact.name, fact.output), last.get(fact.side)
            if have is not None and have[0] == key and fact.output and not _asks(fact.name):
                if len(have[1]) == 1:
                    found.append(have)
                have[1].append(place)
            else:
                last[fact.side] = (key, [place])
    runs = [Run(key[0], tuple(places), facts[places[0]].extra) for key, places in found]
    runs.sort(key=lambda run: (-len(run.places), run.places))
    return runs


def _asks(name):
    low = name.lower()
    return any(word in low for word in _ASKING)


def redundant_reads(facts):
    """-> places of readings that one chain had made FREE_READS times already: the same part of a file, not changed by it since,
    its context not compacted since. Readings that failed do not count."""
    seen, found = {}, []        # {chain: {file: {part: readings}}}
    for place, fact in enumerate(facts):
        if fact.kind == COMPACT:
            seen.pop(fact.side, None)
        elif fact.kind == TOOL and fact.input == CHANGE:
            seen.get(fact.side, {}).pop(fact.cache_read, None)
        elif fact.kind == TOOL and fact.input == READ and fact.cache_read and fact.status not in (FAILED, REFUSED):
            parts = seen.setdefault(fact.side, {}).setdefault(fact.cache_read, {})
            parts[fact.cache_write_5m] = parts.get(fact.cache_write_5m, 0) + 1
            if parts[fact.cache_write_5m] > FREE_READS:
                found.append(place)
    return found


def rereads(facts):
    """-> list of places, of each file that one chain read REREAD times or more: of all its readings; most read first, at most
    REREAD_FILES. Any part counts; of several chains the one that read it most."""
    reads = {}
    for place, fact in enumerate(facts):
        if fact.kind == TOOL and fact.input == READ and fact.cache_read and fact.status not in (FAILED, REFUSED):
            reads.setdefault(fact.cache_read, {}).setdefault(fact.side, []).append(place)
    most = [max(sides.values(), key=lambda places: (len(places), -places[0])) for sides in reads.values()]
    found = sorted((places for places in most if len(places) >= REREAD), key=lambda places: (-len(places), places[0]))
    return found[:REREAD_FILES]


def stop_reasons(facts):
    """-> {reason: calls} of the calls that say why they ended."""
    out = {}
    for fact in facts:
        if fact.kind == CALL and fact.extra:
            reason = (fact.extra.split('|') + [''] * 6)[5]
            if reason:
                out[reason] = out.get(reason, 0) + 1
    return out


def skills(facts, cost):
    """-> {name: Skill}: uses of each skill, those that failed, and the turns that used it with all their calls' cost, each turn
    once. What came before the first prompt belongs to no turn. cost(fact) -> pico-USD or None."""
    out = {}
    for turn in turns(facts):
        used = set()
        for fact in facts[turn.first:turn.end]:
            if fact.kind == TOOL and fact.input == SKILL and fact.name:
                name = fact.extra or '(unnamed)'
                have = out.get(name, Skill(0, 0, 0, 0, 0))
                out[name] = have._replace(calls=have.calls + 1, errors=have.errors + (fact.status == FAILED))
                used.add(name)
        if used and turn.prompt is not None:
            amount, unpriced = _cost(facts[turn.first:turn.end], cost)
            for name in used:
                have = out[name]
                out[name] = have._replace(turns=have.turns + 1, cost=have.cost + amount, unpriced=have.unpriced + unpriced)
    return out


def commands(facts):
    """-> {head: [calls, errors]} of the shell commands."""
    out = {}
    for fact in facts:
        if fact.kind == TOOL and fact.extra and fact.input not in (SKILL, READ, CHANGE) and fact.input <= TEST:
            have = out.setdefault(fact.extra, [0, 0])
            have[0] += 1
            have[1] += fact.status == FAILED
    return out


def test_runs(facts):
    """-> (test runs that ended, those of them that failed)."""
    ended = [fact for fact in facts if fact.kind == TOOL and fact.input == TEST and fact.status in (_PASSED, FAILED)]
    return len(ended), sum(1 for fact in ended if fact.status == FAILED)


def chains(facts, cost):
    """-> {number of a subagent's chain: Chain} of its calls. cost(fact) -> pico-USD or None."""
    out = {}
    for fact in facts:
        if fact.side and fact.kind == CALL:
            have = out.setdefault(fact.side, [0, 0, 0, 0])
            amount, unpriced = _cost((fact,), cost)
            have[0] += 1
            have[1] += sum(fact[5:5 + len(BUCKETS)])
            have[2] += amount
            have[3] += unpriced
    return dict((side, Chain(*have)) for side, have in out.items())
