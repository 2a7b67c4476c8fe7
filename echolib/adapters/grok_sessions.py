"""What Grok Build itself keeps about a session beside its stream: its own counters, and how long tools ran."""
import os

from .grok_side import load
from .grok_text import word

# Counters of signals.json: the client's name, and what it is called here.
_COUNTERS = (('turnCount', 'turns'), ('userMessageCount', 'user_prompts'), ('assistantMessageCount', 'assistant_messages'),
             ('toolCallCount', 'tool_calls'), ('toolFailureCount', 'tool_errors'), ('compactionCount', 'compactions'),
             ('cancellationCount', 'cancellations'), ('contextTokensUsed', 'context_tokens'), ('contextWindowTokens', 'context_window'))


def client_counts(session):
    """-> dict of the client's own counters of a session (0 without them): turns, user_prompts, assistant_messages,
    tool_calls, tool_errors (without commands that failed), compactions, cancellations, context_tokens (how full the window
    last was, which is no spending), context_window."""
    signals = load(os.path.join(os.path.dirname(session.sources[0].path), 'signals.json'))
    return dict((name, signals[key] if type(signals.get(key)) is int else 0) for key, name in _COUNTERS)


def durations(session, calls):
    """-> {id of a tool call: milliseconds} of these calls, as the client's telemetry (events.jsonl) of a session tells."""
    from ..records import read_records
    timed = {}
    path = session.sources[0].path
    try:
        for record in read_records(os.path.join(os.path.dirname(path), 'events.jsonl'), skip=lambda line: b'"tool_completed"' not in line):
            call = word(record.data.get('tool_call_id'))
            # The workspace times the same call a second time.
            if call and record.data.get('source') != 'workspace' and type(record.data.get('duration_ms')) is int:
                timed[call] = record.data['duration_ms']
    except OSError:
        # No telemetry.
        return {}
    # Ids of calls carry the name of their prompt in front where the client counts them anew in each.
    return dict((call, timed[call.rsplit(':', 1)[-1]]) for call in calls if call.rsplit(':', 1)[-1] in timed)
