"""A transcript as data: its events, one plain object each (references/events.md is their description)."""
from . import events as ev
from .adapters import registry, tree
from .base import clock
from .transcript_entries import masked_call


def event_objects(agent, sources, clean, reference, session_id, coverages=None):
    """Yield a dict for each event of a session, files merged by time.

    clean(text) -> text fit to be printed.  reference(chain, line) -> what commands take for the place.  Events are
    given as they are read: a response that was written over several lines has several usage events of one id.
    """
    adapter = registry.get(agent)
    turn = number = 0
    for source, event in tree.merged(agent, sources, coverages):
        if ev.opens_turn(event):
            turn += 1
        out = {'session_id': session_id, 'number': number, 'kind': event.kind, 'label': clean(event.label),
               'time': clock.format_time(event.time) or None, 'turn': turn, 'chain': clean(event.chain),
               'ref': reference(event.chain, event.line), 'id': clean(event.id), 'message': clean(event.message),
               'text': clean(_text(adapter, source, event)), 'line': event.line, 'offset': event.offset}
        if event.kind == ev.TOOL_CALL:
            out['text'], out['input'] = masked_call(event.text, event.data, clean)
        else:
            out.update(_own_fields(event, clean))
        number += 1
        yield out


def _text(adapter, source, event):
    if event.kind == ev.TOOL_RESULT and event.data.spill:
        path = adapter.spill_path(source, event.data.spill)
        if path:
            try:
                return adapter.spill_text(path)
            except OSError:
                return event.text
    return event.text


def _own_fields(event, clean):
    """What events of one kind have beside what all have."""
    kind, data = event.kind, event.data
    if kind == ev.TOOL_RESULT:
        return {'call': clean(data.call_id), 'spilled': bool(data.spill)}
    if kind == ev.USAGE:
        return {'model': clean(data.model), 'tokens': dict((b, getattr(data, b)) for b in ev.BUCKETS), 'final': bool(data.final),
                'stop_reason': clean(data.stop_reason), 'speed': clean(data.speed), 'geo': clean(data.geo), 'tier': clean(data.tier),
                'web_searches': data.web_searches, 'web_fetches': data.web_fetches}
    if kind == ev.COMPACTION:
        return {'trigger': clean(data.trigger), 'pre_tokens': data.pre_tokens}
    if kind == ev.PROMPT:
        return {'images': data if isinstance(data, int) else 0}
    if isinstance(data, str):
        return {'about': clean(data)}
    return {}
