"""Tokens of Codex rollouts: which lines speak of which model response, and what each response cost.

Two kinds of lines tell. token_usage_record (0.171) is one response each. token_count (every build since September 2025)
is written again and again, unchanged, and carries a running total that goes on from the parent in forks and restarts
at times: its `last` counts, and only when the total moved.

Responses have no id that all builds write, so they are numbered within their turn: a fork that repeats a turn gives
its responses the same names, and none of them counts twice.
"""
from ..events import Usage, counter

_FIELDS = ('input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_output_tokens', 'total_tokens',
           'cache_write_input_tokens')
# The part of a usage event among those of its line: behind everything that has text.
USAGE_PART = 90


def fields(usage):
    """-> list of the counters of a usage object, None when it is none."""
    if type(usage) is not dict:
        return None
    return [counter(usage.get(name)) for name in _FIELDS]


def spent(values, model):
    """-> Usage of one response: cached and written tokens are part of the input there, reasoning of the output."""
    entered, cached, output, reasoning, _, written = values
    return Usage(model, max(0, entered - cached - written), output, cached, written, 0, 1, 0, '', '', '', 0, 0, '', min(reasoning, output))


def nothing(model):
    """-> Usage of a response of which no line tells the tokens (yet)."""
    return Usage(model, 0, 0, 0, 0, 0, 0, 0, '', '', '', 0, 0, '')


class Calls(object):
    """The responses of a turn in order. state: the parser's, with what a grown file needs."""

    def __init__(self, state):
        self.state = state

    def new_turn(self):
        """Start counting anew."""
        self.state.update(call=0, filled=0, gap=1)

    def request(self):
        """Something went to the model (a prompt, a tool's output): what comes next is another response."""
        self.state['gap'] = 1

    def output(self):
        """The model wrote something; -> (number of the response it belongs to, True when it is its first sign)."""
        state = self.state
        if state.get('gap', 1) or not state.get('call'):
            state.update(call=state.get('call', 0) + 1, filled=0, gap=0)
            return state['call'], True
        return state['call'], False

    def _fill(self):
        """Tokens came: they are those of the response that has none yet, else of one that wrote nothing we see."""
        state = self.state
        if not state.get('call') or state.get('filled'):
            state.update(call=state.get('call', 0) + 1, gap=0)
        state['filled'] = 1
        return state['call']

    def token_count(self, info):
        """-> (number of the response, its counters) of the info of a token_count line, None when it adds nothing."""
        state = self.state
        if type(info) is not dict:
            return None
        total, last = fields(info.get('total_token_usage')), fields(info.get('last_token_usage'))
        before = state.get('total')
        moved = total or last
        if moved is None or moved == before:
            return None
        state['total'] = moved
        if state.get('records'):
            return None
        if last is None:
            # No build seen leaves it out; then the step of the total is all there is.
            grown = before is not None and all(now >= old for now, old in zip(total, before))
            last = [now - old for now, old in zip(total, before)] if grown else total
        if not last[0] and not last[2]:
            # An estimate of the context after a compaction, or after it overflowed: nothing was spent.
            return None
        self._context(last)
        return self._fill(), last

    def record(self, payload):
        """-> (number of the response or None, its counters) of a token_usage_record, None when it adds nothing.

        The number is None for a response of another turn than the present one.
        """
        state = self.state
        total, usage = fields(payload.get('thread_token_usage')), fields(payload.get('usage'))
        response = payload.get('response_id') if type(payload.get('response_id')) is str else ''
        known = total is not None and total == state.get('total') or response and response == state.get('response')
        state['records'] = 1
        if total is not None:
            state['total'] = total
        if known or usage is None or not usage[0] and not usage[2]:
            return None
        self._context(usage)
        state['response'] = response
        turn = payload.get('turn_id')
        if type(turn) is str and state.get('turn_id') and turn != state['turn_id']:
            return None, usage
        return self._fill(), usage

    def _context(self, usage):
        before = self.state.get('context', (0, 0))
        self.state['context'] = [before[1], usage[0] + usage[2]]

    def context_before(self, response):
        """-> tokens in the context before a compaction that the response of this id wrote ('' unknown), None unknown."""
        before = self.state.get('context', (0, 0))
        return (before[0] if response and response == self.state.get('response') else before[1]) or None
