"""Sums over chosen sessions. A session's stored tally is read and added once, however many tables are made of the sums."""
import json
from collections import namedtuple
from operator import add

from .. import analysis

# What sessions are told apart by. modified: ms or None; see schema for the others.
Part = namedtuple('Part', 'id agent project readable machine modified')
# Tallies that are read at a time.
_AT_ONCE = 500
_COVERAGE = ('lines', 'parse_errors', 'unknown_records')


class Sum(object):
    """What some sessions add up to.

    rows: how many there are; sessions: without ledgers; coverage: (lines, parse_errors, unknown_records); unknown: {agent:
    those that hold no token counts}; answers: the responses seen in those; tally: see analysis.
    """

    def __init__(self):
        self.rows = self.sessions = self.answers = 0
        self.coverage = (0,) * len(_COVERAGE)
        self.unknown, self.tally, self.waiting = {}, {}, []

    def count(self, part, coverage, tokens):
        """Count a session; tokens: the column's text."""
        self.rows += 1
        self.sessions += part.readable == 1
        lines, errors, unknown = self.coverage
        self.coverage = lines + (coverage[0] or 0), errors + (coverage[1] or 0), unknown + (coverage[2] or 0)
        if tokens == 'null':
            self.unknown[part.agent] = self.unknown.get(part.agent, 0) + 1

    def add_text(self, text, messages, tokens):
        """Add a tally as it is stored. messages: the session's msg_count; tokens: the column's text."""
        if tokens == 'null':
            tally = json.loads(text or '{}')
            if not analysis.shared_keys(tally)['assistant_messages']:
                # As its session-stats say.
                self.answers += (messages or 0) - tally.get('w|messages', 0)
        if text:
            self.waiting.append(text)
            if len(self.waiting) >= _AT_ONCE:
                self.settle()

    def settle(self):
        """Add up what waits."""
        for tally in json.loads('[%s]' % ','.join(self.waiting)):
            analysis.add_tally(self.tally, tally)
        self.waiting = []

    def add(self, other):
        """Add another Sum."""
        self.rows += other.rows
        self.sessions += other.sessions
        self.answers += other.answers
        self.coverage = tuple(map(add, self.coverage, other.coverage))
        analysis.add_tally(self.unknown, other.unknown)
        analysis.add_tally(self.tally, other.tally)

    def totals(self):
        """-> dict of the design's shared keys, with lines and coverage, tools and models."""
        out = analysis.shared_keys(self.tally)
        out['sessions'] = self.sessions
        out['assistant_messages'] += self.answers
        out.update(zip(_COVERAGE, self.coverage))
        out['tools'] = analysis.tools_of(self.tally)
        out['by_model'] = analysis.models_of(self.tally)
        out['tokens_unknown'] = dict((agent, self.unknown[agent]) for agent in sorted(self.unknown))
        return out

    def figures(self):
        """-> {sessions, api_calls, tokens, reasoning_inside_output, cost_usd, known_cost_usd, tokens_unknown} of a row of a table.

        tokens_unknown: how many of them hold no token counts; the tokens are those of the others.
        """
        keys = analysis.shared_keys(self.tally)
        out = dict((k, keys[k]) for k in ('api_calls', 'tokens', 'reasoning_inside_output', 'cost_usd', 'known_cost_usd'))
        out['sessions'] = self.sessions
        out['tokens_unknown'] = sum(self.unknown.values())
        return out


def sums(catalog, which, key, ledgers=False, price=None):
    """-> {key(Part): Sum} of the sessions a Filter takes, those whose key is None left out.

    With bounds in the Filter only what is dated inside them is in the tallies.  price: see analysis.contributions.
    """
    found, key_of = {}, {}
    dated = which.since is not None or which.until is not None
    columns = Part._fields + _COVERAGE + ('tokens',) + (() if dated else ('tally', 'msg_count'))
    size, end = len(Part._fields), len(Part._fields) + len(_COVERAGE)
    for row in catalog.values(columns, which, ledgers):
        part = Part(*row[:size])
        name = key(part)
        if name is None:
            continue
        mine = found.get(name)
        if mine is None:
            mine = found[name] = Sum()
        mine.count(part, row[size:end], row[end])
        if dated:
            key_of[part.id] = name
        else:
            mine.add_text(row[end + 1], row[end + 2], row[end])
    for mine in found.values():
        mine.settle()
    for session, fact, _, _ in catalog.facts(set(key_of), which.since, which.until) if dated else ():
        analysis.apply(found[key_of[session]].tally, fact, 1, price)
    return found


def merged(found, key):
    """-> {key(name): Sum} of Sums by name, put together; sorted, those whose key is None left out."""
    out = {}
    for name in found:
        wider = key(name)
        if wider is not None:
            out.setdefault(wider, Sum()).add(found[name])
    return dict((name, out[name]) for name in sorted(out))
