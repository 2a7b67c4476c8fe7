"""DSH's logs to events.

A fork's first events are its parent's: what they cost is not counted, and the rest is known by its time and content, which the
copy keeps.
"""
import os

from ..base.clock import parse_time
from ..events import COMPACTION, INTERRUPTION, META, RECAP, Compaction
from ..records import Coverage
from .dsh import PACKED, PLAIN, named
from .talk import CopiedTalk, fields, pieces
from .universal_read import records
from .values import as_json, count, first, inner, mark, word

# Events without conversation in them, by the first part of their type; pieces of what a whole event says later.
_BOOKKEEPING = frozenset(('agent', 'approval', 'assistant', 'compaction', 'hook', 'llm', 'permission', 'request', 'sandbox', 'session', 'step',
                          'subagent', 'todo', 'turn'))
_PIECES = frozenset(('text-chunks', 'reasoning-chunks', 'tool-call-chunks'))
_STOPPED = frozenset(('aborted', 'cancelled', 'canceled', 'interrupted'))
# Subagents of subagents: so many steps up.
_DEEPEST = 8


class Parser(CopiedTalk):
    """Turns records into events. More in `state`: seeded (number of events that were copied); told ([key, counters] of a response
    whose pieces said what it cost, and that has not come as a whole)."""

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        kind, body = word(data.get('type')), inner(data, 'data')
        time = data.get('time', data.get('createdAt'))
        ident = '%s.%s.%s' % (time, kind.replace('/', '.'), mark(as_json(body))) if type(time) is int and kind != 'session' else ''
        self.at(line, offset, length, ident, parse_time(time))
        self.copied = count(data.get('seq')) < self.state.get('seeded', 0)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, data, body)
        elif kind.partition('/')[0] not in _BOOKKEEPING and kind not in _PIECES and data.get('ignorable') is not True:
            self.unknown('event %s' % (kind[:40] or 'without a type'))
        return self.out

    def _header(self, data, body):
        self.state['seeded'] = count(data.get('seedLength'))
        self.says('cwd', first(data, 'cwd'))
        if self.state['seeded']:
            self.says('foreign', first(data, 'parentSession') or 'seeded')

    def _user(self, data, body):
        text = _text(body, 'user')
        if word(inner(body, 'source').get('kind')) in ('', 'user'):
            self.typed(text)
        else:
            self.injected('meta', text, '')

    def _system(self, data, body):
        self.injected('system', _text(body, 'system'), '')

    def _assistant(self, data, body):
        source = inner(body, 'source')
        # Calls of tools have events of their own.
        found = [piece for piece in pieces(_message(body), 'assistant') if piece.kind in ('text', 'thinking')]
        self.answer(found, self.ident)
        told = self.state.pop('told', None)
        counters = inner(body, 'usage') or (told[1] if told else {})
        self._spend(self.ident, counters, first(source, 'model') or first(body, 'model'))

    def _chunk(self, data, body):
        counters = fields.counters(body) or (body if body.get('type') == 'usage' else None)
        if counters is not None and not self.copied:
            self.state['told'] = [self.ident, dict((name, count(value)) for name, value in counters.items() if name.endswith('Tokens'))]

    def _spend(self, key, counters, model):
        if not self.copied:
            self.spend(key, fields.usage_of(counters, model) if any(count(value) for value in counters.values()) else fields.nothing(model))

    def _unfinished(self):
        """A response that ended without coming as a whole: what its pieces said."""
        told = self.state.pop('told', None)
        if told:
            self._spend(told[0], told[1], '')

    def _step(self, data, body):
        self._unfinished()

    def _turn(self, data, body):
        self._unfinished()
        reason = body.get('reason')
        kind = word(reason) or first(inner(body, 'reason'), 'type', 'kind')
        if kind in _STOPPED and not self.chain:
            self.add(INTERRUPTION, '', self.ident, kind)
        elif kind == 'error':
            self.error(first(inner(body, 'error'), 'message') or first(inner(body, 'reason'), 'message') or kind)

    def _call(self, data, body):
        for piece in pieces(dict(body, type='tool_call'), 'assistant'):
            self.call(piece)

    def _result(self, data, body):
        for piece in pieces(dict(body, type='tool_result'), 'tool'):
            self.result(piece)

    def _compacted(self, data, body):
        before = count(body.get('tokensBefore'))
        self.add(COMPACTION, '', self.ident, '', Compaction('', before or None))
        self.injected(RECAP, fields.text_of(body.get('summary')), '/recap')
        if inner(body, 'usage'):
            self._spend(self.ident + '/summary', inner(body, 'usage'), first(body, 'model'))

    def _title(self, data, body):
        self.says('custom-title' if inner(body, 'source').get('kind') == 'user' else 'ai-title', first(body, 'title'))

    def _retry(self, data, body):
        self.add(META, 'retry', self.ident, first(body, 'message', 'error'))


_HANDLERS = {
    'session': Parser._header, 'user/message': Parser._user, 'system/message': Parser._system, 'assistant/message': Parser._assistant,
    'assistant/chunk': Parser._chunk, 'tool/call': Parser._call, 'tool/result': Parser._result, 'step/end': Parser._step,
    'turn/end': Parser._turn, 'compaction/end': Parser._compacted, 'session/title': Parser._title, 'llm/retry': Parser._retry}


def _message(body):
    """-> the dict that holds a message's content."""
    return inner(body, 'message') or dict((name, body[name]) for name in ('content', 'text', 'reasoning') if name in body)


def _text(body, role):
    return '\n'.join(piece.text for piece in pieces(_message(body), role) if piece.kind == 'text')


def header(path):
    """-> the first record of a log, {} where it cannot be read."""
    try:
        for record in records(path, Coverage(path)):
            return record.data if record.type == 'session' else {}
    except OSError:
        # Told by whoever reads the log itself.
        return {}
    return {}


def top_of(path):
    """See dsh.head. A subagent's parent lies in the same folder."""
    own = header(path)
    sid = (word(own.get('id')) or named(path)).replace('/', '.')
    above, found = sid, own
    folder = os.path.dirname(os.path.dirname(path))
    for _ in range(_DEEPEST):
        parent = word(found.get('parentSession'))
        if word(found.get('origin')) != 'subagent' or not parent:
            break
        above, found = parent.replace('/', '.'), {}
        for name in (PACKED, PLAIN):
            where = os.path.join(folder, parent, name)
            if os.sep not in parent and '\0' not in parent and os.path.isfile(where):
                found = header(where)
                break
    role = 'main' if above == sid else 'agent'
    return {'session': above, 'role': role, 'chain': '' if role == 'main' else sid}


def read(source, coverage, state):
    """See dsh.read. (A packed log gives the places in what was unpacked; where one was cut, what came before stands.)"""
    parser = Parser(source, coverage, state)
    for record in records(source.path, coverage):
        yield parser.events(record)


def events_at(source, offset):
    """See dsh.events_at. (Results name calls by short ids, which the events before tell.)"""
    parser = Parser(source, Coverage(source.path), {})
    for record in records(source.path, Coverage(source.path)):
        found = parser.events(record)
        if record.offset == offset:
            return found
    return []
