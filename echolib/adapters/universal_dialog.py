"""Conversations between people that were imported (insights.dialogs writes them): each message is a prompt, as a person typed it.

What a program said is a reply; no calls and no tokens are made of anything. The first record names the conversation.
"""
from ..base.clock import parse_time
from ..events import INJECTED, META, PROMPT, REPLY, TYPED, UNKNOWN, Event
from ..records import read_at, read_records
from .values import word

FAMILY = 'dialog'
# What is no message of a person: who joined, what was taken back.
_ASIDE = ('system', 'deleted')


def is_record(data):
    """True for a record of an imported conversation."""
    return word(data.get('dialog')) != '' and ('title' in data or 'name' in data)


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of each record (see universal.read)."""
    state = {} if state is None else state
    for record in read_records(source.path, coverage, offset, line):
        yield _events(record.data, record.line, record.offset, record.length, state, coverage)


def events_at(source, offset, length, state=None):
    """-> list of events of the record at an offset."""
    out = []
    for data in read_at(source.path, offset, length):
        out += _events(data, 0, offset, length, {}, None)
    return out


def _events(data, line, offset, length, state, coverage):
    time, turn = parse_time(data.get('time')), state.get('turn', 0)
    make = lambda kind, label, ident, text, part: Event(kind, label, time, '', turn, ident, None, text, None, line, offset, length, part)
    if not is_record(data):
        if coverage is not None:
            coverage.drift(line, 'a record without the shape %s' % FAMILY)
        return [make(UNKNOWN, 'shape', None, '', 0)]
    if 'title' in data and 'name' not in data:
        return [make(META, label, None, text, part) for part, (label, text) in enumerate((
            ('custom-title', word(data['title'])), ('entrypoint', FAMILY), ('version', '%s, told' % (word(data.get('format')) or FAMILY))))]
    name, text = word(data.get('name')), word(data.get('text'))
    if not text:
        return []
    kind, label = (INJECTED, 'system') if data.get('kind') in _ASIDE else (REPLY, '') if data.get('bot') else (PROMPT, TYPED)
    if kind == PROMPT:
        state['turn'] = turn = turn + 1
    ident = '%s#%s' % (data['dialog'], word(data.get('id')) or word(data.get('key')) or line)
    return [make(kind, label, ident, '%s: %s' % (name, text) if name else text, 0)]
