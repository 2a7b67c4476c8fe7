"""Records to events where they are plain messages: what the parsers of several agents share.

Nothing here knows an agent. A parser derives from Talk, begins each record with at() and adds what is in it. Places in a
record (`part`) do not depend on what was read before, so that an event is found again from its record alone.
"""

from ..base import bounded_json
from ..base.files import open_regular
from ..events import INJECTED, META, PROMPT, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, UNKNOWN, USAGE, Event, ToolResult
from ..records import Coverage, Record, read_at, read_records
from . import universal_fields as fields
from .values import classify, images, tool_input

nothing = fields.nothing
# Ids of calls at least this long are the same thing wherever they stand; shorter ones count from the start in each session.
_LONG = 16
# Behind all that a record can hold otherwise: usage, and what is said of the session.
_USAGE_PART, _SAID_PART = 800, 900
_SAID = ('cwd', 'branch', 'version', 'entrypoint', 'ai-title', 'custom-title', 'foreign', 'subagent')
# Calls that wait for a result without an id, at most.
_WAITING = 50


class Talk(object):
    """Makes the events of one record after the other.

    state (dict of plain values, all that is kept between records): turn; said (what was last told of the session);
    open (identity of the response that is being written); waiting (ids of calls without a result yet).
    """

    def __init__(self, source, coverage, state):
        self.coverage, self.state, self.path = coverage, state, source.path
        self.session = source.session or ''
        self.chain = source.chain if source.role != 'main' else ''

    def at(self, line, offset, length, ident='', time=None):
        """Begin a record. ident: its identity, the same in every copy ('': told by its place); time: ms or None."""
        self.line, self.offset, self.length = line, offset, length
        self.ident = ident or '%s.%d' % (self.session, offset)
        self.time, self.out, self.part, self.bills = time, [], 0, 0

    def add(self, kind, label, ident, text='', data=None, message=None, part=None):
        """Append an event. message: identity of the response it is part of; part: a place of its own."""
        if part is None:
            part = self.part
            self.part += 1
        turn = 0 if self.chain else self.state.get('turn', 0)
        self.out.append(Event(kind, label, self.time, self.chain, turn, ident, message, text, data, self.line, self.offset, self.length, part))

    def unknown(self, why):
        """Append what is not understood, and count it."""
        self.coverage.drift(self.line, why)
        self.add(UNKNOWN, why, None)

    def says(self, label, text):
        """Append what is said of the session (cwd, branch, version, a title, ...) where it is new."""
        said = self.state.setdefault('said', {})
        if text and said.get(label) != text:
            said[label] = text
            self.add(META, label, text if label == 'subagent' else None, text, part=_SAID_PART + _SAID.index(label))

    # what stands in a user's place

    def typed(self, text, label=''):
        """Append what stands in a user's place: a prompt, or what the client put there. label: how a prompt came, if told."""
        if not text.strip():
            return
        self.state.pop('open', None)
        if self.chain:
            self.add(INJECTED, 'task', self.ident, text)
            return
        kind, found, shown = classify(text)
        if kind == PROMPT:
            self.state['turn'] = self.state.get('turn', 0) + 1
        self.add(kind, label if label and kind == PROMPT else found, self.ident, shown, images(shown) if kind == PROMPT else None)

    def injected(self, label, text, place='/injected'):
        """Append what the client put into a user's place."""
        if text.strip():
            self.add(INJECTED, label, self.ident + place, text)

    # what the model wrote

    def response(self, model='', use=None):
        """-> identity of the response that this record is part of: one that is open, else a new one. Until some record
        tells its usage (use: Usage), nothing is known of it."""
        state = self.state
        if use is not None or 'open' not in state:
            if 'open' not in state:
                state['open'] = self.ident
            self.spend(state['open'], nothing(model) if use is None else use)
        return state['open']

    def spend(self, key, use):
        """Append the usage of the API call `key`."""
        self.add(USAGE, '', key, '', use, key, _USAGE_PART + self.bills)
        self.bills += 1

    def answer(self, found, key):
        """Append what the model wrote and called. found: Pieces; key: identity of the response."""
        texts = [piece.text for piece in found if piece.kind == 'text' and piece.text.strip()]
        for piece in found:
            if piece.kind == 'thinking':
                self.add(THINKING, '', '%s/%d' % (self.ident, self.part), piece.text, message=key)
            elif piece.kind == 'text':
                if texts:
                    self.add(REPLY, '', '%s/%d' % (self.ident, self.part), '\n'.join(texts), message=key)
                    texts = []
            elif piece.kind == 'call':
                self.call(piece, key)
            else:
                self.result(piece)

    def error(self, text):
        """Append an API error."""
        self.add(REPLY, 'api_error', '%s/error' % self.ident, text, message=self.ident)

    def scoped(self, call):
        """-> the identity of a call by its id."""
        return call if len(call) >= _LONG else '%s/%s' % (self.session, call)

    def call(self, piece, key=None):
        """Append a call of a tool; -> its identity."""
        ident = self.scoped(piece.id) if piece.id else '%s/c%d' % (self.ident, self.part)
        given, shown = tool_input(piece.data)
        waiting = self.state.setdefault('waiting', [])
        waiting.append(ident)
        del waiting[:-_WAITING]
        self.add(TOOL_CALL, piece.name or '(unnamed)', ident, shown, given, key)
        return ident

    def result(self, piece):
        """Append the result of a call: the one it names, else the one that waits longest."""
        waiting = self.state.setdefault('waiting', [])
        call = self.scoped(piece.id) if piece.id else waiting[0] if waiting else self.ident + '/c'
        if call in waiting:
            waiting.remove(call)
        self.add(TOOL_RESULT, piece.status, '%s/%d' % (self.ident, self.part), piece.text, ToolResult(call, ''))


class CopiedTalk(Talk):
    """A Talk of an agent whose forks repeat records: a short id of a call ("call_0"), which may come again, is told by the record
    of its call, whose identity copies keep. More in `state`: opened ({short id: identity}). lost: True once a short id was
    met whose call was not."""

    lost = False

    def call(self, piece, key=None):
        """Append a call of a tool; -> its identity."""
        if piece.id and len(piece.id) < _LONG:
            self.state.setdefault('opened', {})[piece.id] = '%s/%s' % (self.ident, piece.id)
        return Talk.call(self, piece, key)

    def scoped(self, call):
        """-> the identity of a call by its id."""
        found = self.state.get('opened', {}).get(call)
        self.lost = self.lost or found is None and len(call) < _LONG
        return found or Talk.scoped(self, call)

    def result(self, piece):
        """Append the result of a call."""
        Talk.result(self, piece)
        self.state.get('opened', {}).pop(piece.id, None)


def pieces(body, role):
    """-> list of Pieces (see universal_fields) of a message's own dict."""
    return fields.pieces(body, role)


def read_lines(parser, source, coverage, offset, line):
    """Yield a list of events for each record of a file of JSON lines. parser: has events(record)."""
    for record in read_records(source.path, coverage, offset, line):
        yield parser.events(record)


def at_line(make, source, offset, length):
    """-> list of events of the one line at `offset`. make(source, coverage, state) -> a parser. Where that holds the result of a
    call that only the lines before it tell, those are gone through as well."""
    parser = make(source, Coverage(source.path), {})
    found = [event for data in read_at(source.path, offset, length) for event in parser.events(Record(data, 0, offset, length))]
    if getattr(parser, 'lost', False):
        parser = make(source, Coverage(source.path), {})
        for record in read_records(source.path):
            if record.offset >= offset:
                break
            parser.events(record)
        found = [event for data in read_at(source.path, offset, length) for event in parser.events(Record(data, 0, offset, length))]
    return found


def document(path, coverage):
    """-> the JSON value of a file, None where it holds none (which is counted as damage unless the file is empty)."""
    with open_regular(path) as handle:
        raw = handle.read()
    try:
        return bounded_json.loads(raw.decode('utf-8-sig', 'replace'), bounded_json.DOCUMENT)
    except (ValueError, RecursionError):
        if raw.strip():
            coverage.lines += 1
            coverage.damage(1, 'cut or broken JSON')
        return None


def beside(path):
    """-> the JSON object of a file beside a transcript, {} where there is none."""
    try:
        value = document(path, Coverage(path))
    except OSError:
        # Not every session has one.
        return {}
    return value if type(value) is dict else {}


def read_list(parser, rows, coverage):
    """Yield a list of events for each object of a list; an event's offset is its place in the list, from 1."""
    for number, row in enumerate(rows, 1):
        coverage.lines += 1
        coverage.line = number
        if type(row) is dict:
            yield parser.events(Record(row, number, number, 0))
        else:
            coverage.damage(number, 'not an object')


def at_place(parser, rows, offset):
    """-> list of events of the object at one place of a list (see read_list). Those before it are gone through as well: results
    may name no call, and the list had to be read whole anyway."""
    found = []
    for number, row in enumerate(rows[:max(0, offset)], 1):
        found = parser.events(Record(row, number, number, 0)) if type(row) is dict else []
    return found if 0 < offset <= len(rows) else []
