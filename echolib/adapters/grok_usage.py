"""What Grok Build sessions cost, a family (a session and its subagents) at a time, and over all of them.

A parent's bills hold the subagents that ended while a prompt was open (rollup); a subagent that went on in the background
is on its own bills only (separate). Which it is, is decided for each subagent by the order of the rows in its parent's
stream. Figures have the client's meaning: input_tokens includes what came from the cache.
"""
import os

from ..events import USAGE
from . import Source, grok
from .grok_ledger import FIELDS, add, bills_of
from .grok_side import cards, find
from .grok_text import word

_WANTED = (b'"turn_completed"', b'"subagent_', b'"user_message_chunk"', b'"model_changed"', b'"model_auto_switched"')


def _unwanted(line):
    """True for a row that says nothing of spending."""
    return not any(mark in line for mark in _WANTED)


def _read(folder, role='main'):
    """-> (parser, list of usage events) of a session folder, decoding only the rows that tell of spending."""
    from ..records import Coverage, read_records
    found = grok.transcript(folder)
    name = os.path.basename(folder)
    if found is None:
        return None, []
    source = Source(found[0], role, '' if role == 'main' else name, name, found[1], found[2])
    parser = grok.parser_of(source, Coverage(found[0]), {})
    out = [event for event in parser.said() if event.kind == USAGE]
    try:
        for record in read_records(found[0], skip=_unwanted if os.path.basename(found[0]) == grok.STREAM else None):
            out.extend(event for event in parser.events(record) if event.kind == USAGE)
    except OSError:
        # Gone since it was listed.
        return parser, out
    return parser, out


def _legs(events):
    """-> {model: [input with cache, output, cached, created, calls, reasoning]} of usage events."""
    out = {}
    for event in events:
        use = event.data
        add(out, {use.model: [use.input + use.cache_read + use.cache_write_5m, use.output, use.cache_read, use.cache_write_5m, 1, use.reasoning]})
    return out


def figures(leg):
    """-> dict of one row of figures: input_tokens (cache included), output_tokens, cache_read_tokens, cache_write_tokens,
    total_tokens, model_calls, cache_hit_rate (None without input)."""
    total, output, cached, created, calls, _ = leg
    return {'input_tokens': total, 'output_tokens': output, 'cache_read_tokens': cached, 'cache_write_tokens': created,
            'total_tokens': total + output, 'model_calls': calls, 'cache_hit_rate': cached / float(total) if total else None}


def _sum(legs):
    out = [0] * len(FIELDS)
    for leg in legs.values():
        out = [a + b for a, b in zip(out, leg)]
    return out


def _by_model(legs):
    return dict((model, figures(legs[model])) for model in sorted(legs))


def _raw(folder):
    """-> legs of a session's bills as the client wrote them."""
    out = {}
    for _, _, bill in bills_of(folder):
        add(out, bill)
    return out


def grok_list_subagents(session_dir):
    """-> list of dicts of a session's subagents: subagent_id, session_id, type, description, status, model, path ('' when
    their session is gone); from their cards, and from the stream for those without one."""
    session_dir = _folder(session_dir)
    out, seen = [], set()
    for card in cards(session_dir):
        child = word(card.get('child_session_id')) or card['subagent_id']
        seen.add(child)
        out.append(_subagent(session_dir, card['subagent_id'], child, card))
    if os.path.basename((grok.transcript(session_dir) or ('',))[0]) == grok.STREAM:
        from ..records import read_records
        from .grok_text import unwrap
        for record in read_records(grok.transcript(session_dir)[0], skip=lambda line: b'"subagent_spawned"' not in line):
            update = unwrap(record.data)[0] or {}
            child = word(update.get('child_session_id'))
            if update.get('sessionUpdate') == 'subagent_spawned' and child and child not in seen:
                seen.add(child)
                out.append(_subagent(session_dir, word(update.get('subagent_id')) or child, child, update))
    return out


def _subagent(session_dir, agent, child, card):
    return {'subagent_id': agent, 'session_id': child, 'type': word(card.get('subagent_type')),
            'description': word(card.get('description')), 'status': word(card.get('status')),
            'model': word(card.get('effective_model_id')) or word(card.get('model')), 'path': find(os.path.dirname(session_dir), child)}


def grok_family_usage_report(session_dir):
    """-> dict of what a session and its subagents cost.

    session_dir: a session's folder, or a file in it.  session_id; mode: none, rollup, separate or mixed; parent: the
    session's bills as written; main: what its own calls cost; subagents: what all subagents cost; family: both, each call
    once; model_usage: the family by model; children: one dict a subagent, with decision (rollup or separate) and usage.
    """
    session_dir = _folder(session_dir)
    parser, events = _read(session_dir)
    own, below = _legs(events), {}
    folded = getattr(parser, 'folded', {})
    children = []
    for child in grok_list_subagents(session_dir):
        row = dict(child, decision='rollup' if child['session_id'] in folded else 'separate', usage=figures(_sum({})), model_usage={})
        if child['path']:
            raw = _raw(child['path'])
            row.update(usage=figures(_sum(raw)), model_usage=_by_model(raw))
        children.append(row)
    for folder in _below(session_dir):
        add(below, _legs(_read(folder, 'agent')[1]))
    family = {}
    add(family, own)
    add(family, below)
    kinds = set(row['decision'] for row in children)
    return {'session_id': os.path.basename(session_dir), 'session_dir': session_dir,
            'mode': 'none' if not kinds else 'mixed' if len(kinds) > 1 else kinds.pop(),
            'parent': figures(_sum(_raw(session_dir))), 'main': figures(_sum(own)), 'subagents': figures(_sum(below)),
            'family': figures(_sum(family)), 'model_usage': _by_model(family), 'main_model_usage': _by_model(own),
            'children': children}


def _below(session_dir):
    """-> folders of all subagents below a session, at any depth, each once."""
    out, waiting, seen = [], [session_dir], set((os.path.basename(session_dir),))
    while waiting:
        for child in grok_list_subagents(waiting.pop(0)):
            if child['path'] and child['session_id'] not in seen:
                seen.add(child['session_id'])
                out.append(child['path'])
                waiting.append(child['path'])
    return out


def grok_aggregate_model_usage(mode='family', root=None):
    """-> {model: figures and sessions} over all sessions.

    mode: 'family' counts every call once: a subagent's not beside its parent's bill that holds it, a fork's copied prompts
    in one session only; `sessions` counts families.  'raw' sums every session's bills as they are written, which counts
    such calls twice (to compare with).  root: a Grok home, by default those of this machine.
    """
    if mode not in ('family', 'raw'):
        raise ValueError("mode is 'family' or 'raw', not %r" % (mode,))
    legs, sessions, seen = {}, {}, set()
    for where in [root] if root else grok.roots():
        for session in grok.discover(where, []):
            used = {}
            for source in session.sources:
                folder = os.path.dirname(source.path)
                if mode == 'raw':
                    add(used, _raw(folder))
                    continue
                mine = []
                for event in _read(folder, source.role)[1]:
                    if event.id not in seen:
                        seen.add(event.id)
                        mine.append(event)
                add(used, _legs(mine))
            add(legs, used)
            for model in used:
                sessions[model] = sessions.get(model, 0) + 1
    return dict((model, dict(figures(legs[model]), sessions=sessions[model])) for model in sorted(legs))


def _folder(path):
    path = os.path.abspath(os.path.expanduser(path))
    return path if os.path.isdir(path) else os.path.dirname(path)
