"""What a session's prompts cost: the figures of turn_completed rows, told apart from what its subagents spent.

The client keeps one bill a prompt, begun anew at the next prompt, so a row is not a running total: the prompts of a session
are summed, and a prompt that is written twice counts once. The bill of a prompt also holds the subagents that ended while
it was open (their own files have the same calls); subagents that go on in the background are in no bill but their own.
"""
import os

from ..base.clock import parse_time
from ..events import counter
from .grok_text import time_of, unwrap

# Figures of one model on a bill, in this order. input is the whole prompt side, cached and created are parts of it, reasoning is
# a part of the output.
FIELDS = ('inputTokens', 'outputTokens', 'cachedReadTokens', 'cacheCreationTokens', 'modelCalls', 'reasoningTokens')
_NONE = (0,) * len(FIELDS)
# Those of them that are shared out among the calls of a bill.
_SHARED = (0, 1, 2, 3, 5)
# More calls than this in one prompt are a damaged counter.
_MOST_CALLS = 20000
# Bills kept to compare with when a prompt is written again.
_KEPT = 8
# The clocks of a session and its subagent are one, but their rows are written by two tasks (ms).
_SLACK = 2000


def _figures(usage):
    total, output, cached, created, calls, reasoning = (counter(usage.get(name)) for name in FIELDS)
    if cached + created > total:
        # Counted without the cached part, as the client's headless output has it.
        total += cached + created
    return [total, output, cached, created, min(calls, _MOST_CALLS), min(reasoning, output)]


def legs(usage, model=''):
    """-> {model: [input with cache, output, cached, created, calls, reasoning]} of a bill; what no model is named for is `model`'s."""
    whole = _figures(usage)
    out = {}
    named = usage.get('modelUsage')
    for name, leg in named.items() if type(named) is dict else ():
        if type(name) is str and type(leg) is dict:
            mine = _figures(leg)
            if any(mine):
                out[name] = mine
    if not out:
        return {model: whole} if any(whole) else {}
    rest = [max(0, a - sum(leg[i] for leg in out.values())) for i, a in enumerate(whole)]
    if rest[0] or rest[1]:
        mine = out.setdefault(model, list(_NONE))
        out[model] = [a + b for a, b in zip(mine, rest)]
    elif len(out) == 1:
        for leg in out.values():
            leg[4] += rest[4]
            leg[5] = min(leg[1], leg[5] + rest[5])
    return out


def add(into, more):
    """Sum one set of legs into another."""
    for model, leg in more.items():
        into[model] = [a + b for a, b in zip(into.get(model, _NONE), leg)]


def without(whole, part):
    """-> legs of a bill less those of subagents on it; None where it cannot hold them (less spent than they did)."""
    out = dict((model, list(leg)) for model, leg in whole.items())
    for model, leg in part.items():
        have = out.get(model, list(_NONE))
        if any(have[i] < leg[i] for i in (0, 1, 4)):
            return None
        out[model] = [max(0, a - b) for a, b in zip(have, leg)]
    return out


def split(leg, calls):
    """Yield `calls` equal shares (input with cache, output, cached, created, reasoning) of a leg; their sum is the leg."""
    for k in range(calls):
        yield tuple(leg[i] * (k + 1) // calls - leg[i] * k // calls for i in _SHARED)


class Bills(object):
    """The prompts of one session as they are read. state: dict of plain values that a later reading goes on with."""

    def __init__(self, state):
        self.state = state
        self.known = state.setdefault('bills', [])
        self.held = True        # the last bill could hold the subagents on it

    def take(self, key, bill, children):
        """-> list of (model, number of the call, share) that a row adds to what is known of its prompt.

        bill: legs of the row; children: legs of subagents that are newly on it.
        """
        for mine in self.known:
            if mine[0] == key:
                break
        else:
            mine = [key, {}, {}, {}]
            self.known.append(mine)
            del self.known[:-_KEPT]
        add(mine[3], children)
        own = without(bill, mine[3])
        self.held = own is not None
        if own is None:
            own = bill
        out = []
        for model in sorted(own):
            before = mine[1].get(model, _NONE)
            more = [max(0, a - b) for a, b in zip(own[model], before)]
            if not any(more):
                continue
            calls = more[4] or 1
            first = mine[2].get(model, 0)
            out.extend((model, first + k, share) for k, share in enumerate(split(more, calls)))
            mine[1][model] = [max(a, b) for a, b in zip(own[model], before)]
            mine[2][model] = first + calls
        return out

    def without_id(self, bill):
        """-> what a row without a prompt id adds: the step from the row before while every figure rises (a running
        total), the whole row once one has fallen."""
        before, state = self.state.get('row'), self.state
        now = list(_NONE)
        for leg in bill.values():
            now = [a + b for a, b in zip(now, leg)]
        last = state.get('row_legs') or {}
        state['row'], state['row_legs'] = now, bill
        if before is None or state.get('fell'):
            return bill
        if any(a < b for a, b in zip(now, before)) or now[4] == before[4]:
            state['fell'] = 1
            return bill
        return dict((model, [max(0, a - b) for a, b in zip(leg, last.get(model, _NONE))]) for model, leg in bill.items())


class Children(object):
    """The subagents of a session as its stream tells of them, and what those that are on a bill have spent.

    folder: the session's folder.  state: as in Bills; `kids` {subagent: [session, prompt, spawned, finished]} holds those
    that no bill has closed yet.
    """

    def __init__(self, folder, state):
        self.folder, self.state = folder, state
        self.kids = state.setdefault('kids', {})
        self.rows = {}

    def spawned(self, agent, session, prompt, time):
        """Note a subagent that began."""
        self.state['spawns'] = 1
        self.kids[agent] = [session, prompt, time, None]

    def finished(self, agent, session, time):
        """Note a subagent that ended."""
        if agent in self.kids:
            self.kids[agent][3] = time

    def running(self):
        """True while a subagent goes on."""
        return any(row[3] is None for row in self.kids.values())

    def on_bill(self, prompt, time):
        """-> list of (session, legs) of the subagents that a prompt's bill holds, which `time` closes."""
        found = []
        for agent in sorted(self.kids):
            session, of, spawned, finished = self.kids[agent]
            if of is not None and of == prompt:
                del self.kids[agent]
                if finished is not None:
                    found.append((session, spawned, finished))
        if 'spawns' not in self.state:
            found.extend(self._from_cards(time))
        self.state['turned'] = time
        out = []
        for session, since, until in found:
            spent = {}
            for of, when, bill in self.spent(session):
                if of != prompt and when is not None and (since is None or when >= since - 1000) and (until is None or when <= until + _SLACK):
                    add(spent, bill)
            out.append((session, spent))
        return out

    def _from_cards(self, time):
        """Subagents of clients that do not write of them in the stream: those that began and ended within the turn."""
        from .grok_side import cards
        since = self.state.get('turned') or 0
        for card in cards(self.folder):
            began, ended = parse_time(card.get('started_at')), parse_time(card.get('completed_at'))
            if began is not None and ended is not None and time is not None and since <= began and ended <= time + _SLACK:
                yield card['child_session_id'], began, ended

    def spent(self, session):
        """-> list of (prompt id, ms, legs) of a subagent's own bills, its subagents included."""
        if session not in self.rows:
            from .grok_side import find
            where = find(os.path.dirname(self.folder), session)
            self.rows[session] = bills_of(where) if where else []
        return self.rows[session]


def bills_of(folder):
    """-> list of (prompt id, ms, legs) of a session's bills as written, the last of a prompt only: from its stream, from
    usage.json where that has none."""
    from ..records import read_records
    out, place = [], {}
    try:
        for record in read_records(os.path.join(folder, 'updates.jsonl'), skip=_no_bill):
            update, meta, stamp = unwrap(record.data)
            if update is None or update.get('sessionUpdate') != 'turn_completed' or type(update.get('usage')) is not dict:
                continue
            prompt = update.get('prompt_id') if type(update.get('prompt_id')) is str else ''
            row = (prompt, time_of(meta, stamp), legs(update['usage']))
            if prompt and prompt in place:
                out[place[prompt]] = row
            else:
                place[prompt] = len(out)
                out.append(row)
    except OSError:
        # No stream: the ledger may tell.
        out = []
    if not out:
        from .grok_side import load
        turns = load(os.path.join(folder, 'usage.json')).get('turns')
        for turn in turns if type(turns) is list else ():
            if type(turn) is dict:
                out.append(('', parse_time(turn.get('endedAt')), legs(turn)))
    return out


def _no_bill(line):
    return b'"turn_completed"' not in line
