"""The one event stream: the contract between the adapters and everything above them.

An adapter turns every agent's files into these events; nothing above an adapter looks at an agent's own records.
Kinds and labels are plain strings, so that hot paths need no enum.
"""
from collections import namedtuple

from .base.shapes import shape

# kind
PROMPT = 'prompt'              # something a person typed; label: typed, queued, slash
INJECTED = 'injected'          # text the harness put into a user slot; label says which
REPLY = 'reply'                # what the model wrote; label: '' or 'api_error' (written by the client)
THINKING = 'thinking'
TOOL_CALL = 'tool_call'        # label: tool name; data: the input as it was
TOOL_RESULT = 'tool_result'    # label: ok, error, declined, collateral; data: ToolResult
USAGE = 'usage'                # one line of one API call; data: Usage
COMPACTION = 'compaction'      # data: Compaction
INTERRUPTION = 'interruption'  # the person stopped a turn
META = 'meta'                  # label: title, summary, cwd, branch, version, mode, pr, retry, ...; text: the value
UNKNOWN = 'unknown'            # readable but not understood; label: why
KINDS = (PROMPT, INJECTED, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, USAGE, COMPACTION, INTERRUPTION, META, UNKNOWN)

# Labels of prompts that open a turn. `slash` is a typed command that starts a model turn.
TYPED, QUEUED, SLASH = 'typed', 'queued', 'slash'
# Labels of tool results.
OK, ERROR, DECLINED, COLLATERAL = 'ok', 'error', 'declined', 'collateral'
# Labels of injected text that a search with tools covers; the other labels need a wider search.
RECAP = 'recap'
ATTACHMENT = 'attachment'

Event = namedtuple('Event', (
    'kind',      # one of KINDS
    'label',     # finer than kind, see above
    'time',      # int ms UTC, None when the record has none
    'chain',     # '' for the main chain, else the subagent's id
    'turn',      # number of the main chain's turn it was read in (0 before the first); subagents: 0
    'id',        # identity of the thing itself: record uuid, tool use id, boundary uuid; None when it has none
    'message',   # identity of the API response it belongs to (reply, thinking, tool_call, usage), else None
    'text',      # what is shown and searched; '' when there is none
    'data',      # kind-specific: see the kinds
    'line',      # line of the source file, from 1
    'offset',    # byte offset of that line
    'length',    # bytes of that line
    'part',      # place among the events of that line, from 0
))

# One line's word about one API call. The five buckets never overlap; total = their sum.
Usage = namedtuple('Usage', (
    'model',            # as logged; '' when unknown
    'input',            # uncached
    'output',           # reasoning included
    'cache_read', 'cache_write_5m', 'cache_write_1h',
    'final',            # 1 when the agent says the output count is final
    'visible',          # bytes of content on this line, to judge an output count that is not final
    'speed', 'geo', 'tier',                 # price modifiers the record shows, '' when none
    'web_searches', 'web_fetches',
    'stop_reason',
    'reasoning',        # tokens of the output that were reasoning, 0 where the record does not tell
))
Usage.__new__.__defaults__ = (0,)

# A tier that marks the sums of several calls, given to one of them because their agent keeps no other figures.
SUMMED = 'summed'

# Result of a tool call. spill: path of the file that holds the whole output, '' when the text is whole.
ToolResult = shape('ToolResult', 'call_id spill')

# trigger: 'auto' or 'manual' ('' unknown); pre_tokens: context before, None unknown; own: False when it was copied.
Compaction = shape('Compaction', 'trigger pre_tokens')

BUCKETS = ('input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')


def opens_turn(event):
    """True when the event starts a turn: a prompt of the main chain (the one rule everything above uses)."""
    return event.kind == PROMPT and not event.chain


def cache_hit_rate(cache_read, input_tokens, cache_writes):
    """cache_read / (input + cache_read + cache writes), rounded to nothing; None when nothing was sent."""
    sent = input_tokens + cache_read + cache_writes
    return cache_read / float(sent) if sent else None


def is_lower_bound(output, final, visible):
    """True when an output count is only where the stream began: no final word on it, and less than could be.

    Clients 2.1.9 to 2.1.50 never write the last count; 8 bytes a token is far above what any final count shows
    (medians 0.7 to 3.9).
    """
    return not final and (output <= 8 or visible > 8 * output)


def counter(value):
    """-> a token counter as Usage holds it: a whole number of at least 0 that doubles hold too; 0 for anything else."""
    if type(value) is int:
        return value if 0 <= value < 1 << 53 else 0
    if type(value) is float and 0 <= value < 1 << 53:
        return int(value)
    return 0
