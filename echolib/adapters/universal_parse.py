"""Records of an unknown agent to events, once its shape is known (see universal_shapes).

A message counts once wherever it is copied to, as far as the agent gives it an id, or a session id and a time. What the
model wrote up to the next prompt or tool result is one response, unless the records tell responses apart.
"""
import re
from hashlib import md5
from zlib import crc32

from ..base.clock import parse_time
from ..events import (
    COMPACTION, INJECTED, META, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, UNKNOWN, USAGE, Compaction, Event, ToolResult)
from . import universal_fields as fields
from .universal_families import MANY, family_of
from .values import blocks, classify, first, images, inner, tool_input, word

# Ids at least this long are the same thing wherever they stand; shorter ones count from the start in every session.
_LONG = 16
_USAGE_PART = 900
_COMPACTIONS = frozenset(('compaction', 'compact', 'compacted', 'compact_boundary', 'compact-boundary', 'context_compaction',
                          'chat_compression', 'condense_context'))
# A text in a user slot that is one block of the client's making.
_WRAPPED = re.compile(r'\s*<([a-z]+(?:[_-][a-z]+)+)>')
_PLACE = re.compile(r'(?:<cwd>|Working directory: ?)(/[^\n<]{1,300}|[A-Za-z]:\\[^\n<]{1,300})')


class Parser(object):
    """Turns the records of one file into events. `state` is a dict of plain values, all that is kept between records.

    shape: a Shape that has a family.  mapping: a Mapping.  scope: names the file where its records do not name the session.
    """

    def __init__(self, coverage, source, state, shape, mapping, scope):
        self.coverage, self.state, self.shape, self.scope = coverage, state, shape, scope
        self.where = mapping.fields
        self.name = mapping.name
        self.family = family_of(shape.family, mapping)
        self.history = source.role == 'history'

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, self.line, self.offset, self.length = record
        self.out, self.part, self.calls = [], 0, 0
        places = fields.places_of(data)
        self.time = parse_time(self._at(data, 'time')) if 'time' in self.where else fields.time_of(*places)
        self.session = word(self._at(data, 'session')) or fields.session_of(*places) or self.state.get('session', '')
        self.state['session'] = self.session
        found = self.family.unfold(data, self.shape.speakers)
        self._facts(data, places, found)
        if found:
            self._messages(data, found)
        elif not self._other(data, places) and not self.family.fits(data) and (self.length or self.line > 1):
            self.coverage.drift(self.line, 'a record without the shape %s' % self.family.name)
            self._add(UNKNOWN, 'shape', None, None, '', None)
        return self.out

    def _at(self, data, key):
        return fields.at(data, self.where[key]) if key in self.where else None

    def _add(self, kind, label, ident, message, text, data, part=None):
        if part is None:
            part = self.part
            self.part += 1
        turn = self.state.get('turn', 0)
        self.out.append(Event(kind, label, self.time, 'history' if self.history else '', 0 if self.history else turn, ident, message, text,
                              data, self.line, self.offset, self.length, part))

    # what is said of the session

    def _facts(self, data, places, found):
        state = self.state
        told = [('cwd', word(self._at(data, 'cwd')) or fields.directory_of(*places)), ('branch', fields.branch_of(*places))]
        if 'begun' not in state:
            state['begun'] = 1
            told += [('entrypoint', self.name), ('version', '%s, %s' % (self.shape.family, self.shape.sure))]
        if not found:
            told.append(('ai-title', word(self._at(data, 'title')) or fields.title_of(data) or fields.title_of(inner(data, '$set'))))
        model = word(self._at(data, 'model')) or fields.model_of(*places)
        if model:
            state['model'] = model
        for label, text in told:
            if text and state.get(label) != text:
                state[label] = text
                self._add(META, label, None, None, text, None, -1)

    def _other(self, data, places):
        """A record that is no message: True when it says something all the same."""
        kinds = [word(data.get(key)) for key in ('type', 'subtype', 'event')]
        if any(kind in _COMPACTIONS for kind in kinds):
            ident = self._base(data, {}, 'compaction')
            self._add(COMPACTION, '', ident, None, '', Compaction('', None))
            text = fields.text_of(fields.text_value(data)[1])
            if text.strip():
                self._add(INJECTED, RECAP, ident + '/m', None, text, None)
            return True
        if self.shape.usage == 'rows':
            costs = fields.counters(*places)
            if costs is not None:
                state = self.state
                if not state.get('call') or state.get('used'):
                    self._open(self._base(data, {}, ''), costs)
                self._spend(costs)
                return True
        return False

    # identities

    def _scoped(self, ident):
        return ident if len(ident) >= _LONG else '%s/%s' % (self.session or self.scope, ident)

    def _base(self, data, body, text, path=''):
        """-> the identity of a record's message."""
        ident = word(self._at(data, 'id')) or (fields.id_of(body, {} if path else data) if self.shape.own_ids else '')
        if ident:
            return self._scoped(ident)
        where = self.session or self.scope
        if path:
            return '%s#%s' % (where, path)
        if self.time is None:
            return '%s:%d' % (where, self.line)
        mark = '%d.%08x' % (self.time, crc32(text.encode('utf-8', 'replace')))
        state = self.state
        if state.get('when') != self.time:
            state['when'], state['same'] = self.time, {}
        count = state['same'][mark] = state['same'].get(mark, 0) + 1
        return '%s@%s%s' % (where, mark, '.%d' % count if count > 1 else '')

    # messages

    def _messages(self, data, found):
        # What lies above a list of messages speaks of the last of them.
        many, path, outer, time = self.family.name == MANY, '', data, self.time
        if many:
            self.state['call'] = None
        for place, (role, body) in enumerate(found):
            if many:
                outer = data if place == len(found) - 1 else {}
                path = md5(('%s\0%s\0%s' % (path, role, fields.text_of(fields.text_value(body)[1]))).encode('utf-8', 'replace')).hexdigest()
            if body is not data and 'time' not in self.where:
                own = fields.time_of(body)
                self.time = time if own is None else own
            self._message(outer, role, body, path)

    def _message(self, data, role, body, path):
        """path: tells a message of a list by all that lies before it, as each record may repeat the list so far."""
        found = fields.pieces(body, role)
        text = '\n'.join(p.text for p in found if p.kind == 'text')
        base = self._base(data, body, role + text, path)
        if role == 'user':
            for piece in found:
                if piece.kind == 'result':
                    self._result(piece, base)
            self._user(data, body, text, base)
        elif role == 'system':
            self._system(text, base)
        else:
            self._model(data, body, role, found, base)

    def _user(self, data, body, text, base):
        asked = blocks(text, 'user_query')
        if asked:
            text = '\n'.join(asked)
        if not text.strip():
            return
        self.state['call'] = None
        if self.history:
            self._add(PROMPT, 'history', 'h' + base, self.session or None, text, None)
            return
        kind, label, shown = classify(text)
        wrapped = _WRAPPED.match(text)
        if data.get('isCompactSummary') is True:
            kind, label = INJECTED, RECAP
        elif kind == PROMPT and (data.get('isMeta') is True or body.get('synthetic') is True or data.get('subtype') not in (
                None, '', 'mid_turn_user_message') or wrapped and text.rstrip().endswith('</%s>' % wrapped.group(1))):
            kind, label = INJECTED, 'meta'
        if kind == PROMPT:
            self.state['turn'] = self.state.get('turn', 0) + 1
        self._add(kind, label, base, None, shown, images(shown) if kind == PROMPT else None)

    def _system(self, text, base):
        if not text.strip():
            return
        self._add(INJECTED, 'system', base, None, text, None)
        place = _PLACE.search(text[:20000])
        if place and not self.state.get('cwd'):
            self.state['cwd'] = place.group(1).strip()
            self._add(META, 'cwd', None, None, self.state['cwd'], None, -1)

    def _model(self, data, body, role, found, base):
        said = any(p.kind in ('text', 'thinking', 'call') for p in found)
        key = self._call(data, body, base) if said and self.family.name != 'summary_card' else None
        texts = [p.text for p in found if p.kind == 'text']
        for piece in found:
            if piece.kind == 'thinking':
                self._add(THINKING, '', '%s/%d' % (base, self.part), key, piece.text, None)
            elif piece.kind == 'text':
                if texts:
                    label = 'api_error' if data.get('isApiErrorMessage') is True else ''
                    self._add(REPLY, label, '%s/%d' % (base, self.part), key, '\n'.join(texts), None)
                    texts = []
            elif piece.kind == 'call':
                ident = self._scoped(piece.id) if piece.id else '%s/c%d' % (base, self.part)
                given, shown = tool_input(piece.data)
                self.state.setdefault('waiting', []).append(ident)
                del self.state['waiting'][:-50]
                self._add(TOOL_CALL, piece.name or 'unknown', ident, key, shown, given)
            else:
                self._result(piece, base)

    def _result(self, piece, base):
        waiting = self.state.setdefault('waiting', [])
        call = self._scoped(piece.id) if piece.id else waiting[0] if waiting else base + '/c'
        if call in waiting:
            waiting.remove(call)
        self.state['call'] = None
        self._add(TOOL_RESULT, piece.status, '%s/%d' % (base, self.part), None, piece.text, ToolResult(call, ''))

    # responses of the model and what they cost

    def _call(self, data, body, base):
        """-> identity of the response this message is part of."""
        state = self.state
        costs = None
        if self.shape.usage == 'messages':
            costs = self._at(data, 'usage') if 'usage' in self.where else fields.counters(body, data)
        named = first(body, 'response_id', 'responseId') or first(inner(data, 'providerData'), 'messageId') or first(data, 'response_id')
        if named:
            if state.get('call') != self._scoped(named):
                self._open(self._scoped(named), costs)
        elif not state.get('call') or costs is not None and state.get('used'):
            self._open(base, costs)
        if type(costs) is dict:
            self._spend(costs)
        return state['call']

    def _open(self, key, costs):
        self.state['call'], self.state['used'] = key, 0
        if type(costs) is not dict:
            self._use(fields.nothing(self.state.get('model', '')))

    def _spend(self, costs):
        spent = fields.usage_of(costs, fields.model_of(costs) or self.state.get('model', ''))
        if self.shape.running:
            total = [spent.input, spent.output, spent.cache_read, spent.cache_write_5m, spent.cache_write_1h]
            before = self.state.get('total') or [0] * 5
            self.state['total'] = total
            if all(now >= then for now, then in zip(total, before)):
                total = [now - then for now, then in zip(total, before)]
            spent = spent._replace(input=total[0], output=total[1], cache_read=total[2], cache_write_5m=total[3], cache_write_1h=total[4])
        self.state['used'] = 1
        self._use(spent)

    def _use(self, usage):
        key = self.state['call']
        self._add(USAGE, '', key, key, '', usage, _USAGE_PART + self.calls)
        self.calls += 1
