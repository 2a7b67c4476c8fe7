"""Droid's sessions to events. A session's tokens are known as one sum, which its last call carries."""
from ..base.clock import parse_time
from ..events import SUMMED
from ..records import read_records
from .droid import settings_of
from .talk import Talk, beside, nothing, pieces
from .values import count, first, inner, usage, word

# So begins the title of a session that another one's tool started (seen in one program that reads them).
_TASK = '# Task Tool Invocation'


class Parser(Talk):
    """Turns records into events."""

    def __init__(self, source, coverage, state):
        Talk.__init__(self, source, coverage, state)
        self.settings = beside(settings_of(source.path))
        self.model = word(self.settings.get('model'))
        if self.model.startswith('custom:'):
            self.model = self.model[len('custom:'):]
        self.calls = []
        self.is_task = _title(source.path).startswith(_TASK)

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        kind, ident = word(data.get('type')), word(data.get('id'))
        self.at(line, offset, length, '%s/%s' % (self.session, ident) if ident else '', parse_time(data.get('timestamp')))
        body = inner(data, 'message')
        if kind == 'session_start':
            self._start(data)
        elif kind == 'message' and body.get('role') == 'user':
            self._user(body)
        elif kind == 'message' and body.get('role') == 'assistant':
            self._assistant(body)
        else:
            self.unknown('record %s' % (kind[:40] or 'without a type'))
        return self.out

    def _start(self, data):
        self.says('cwd', first(data, 'cwd'))
        self.says('ai-title', first(data, 'sessionTitle', 'title'))

    def _user(self, body):
        found = pieces(body, 'user')
        for piece in found:
            if piece.kind == 'result':
                self.result(piece)
        text = '\n'.join(piece.text for piece in found if piece.kind == 'text')
        if self.is_task:
            # Another session's model wrote it.
            self.injected('task', text, '')
        else:
            self.typed(text)

    def _assistant(self, body):
        model = first(body, 'model') or self.model
        self.calls.append((self.ident, model))
        self.answer(pieces(body, 'assistant'), self.ident)
        self.spend(self.ident, nothing(model))

    def sums(self):
        """-> list with the usage of the whole session, given to its last call; no other has any of its own."""
        counters = inner(self.settings, 'tokenUsage')
        sent, made, read, written = (count(counters.get(name)) for name in (
            'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens'))
        self.out = []
        if self.calls and (sent or made or read or written):
            for ident, model in self.calls[:-1]:
                self.spend(ident, usage(model, 0, 0))
            self.spend(self.calls[-1][0], usage(self.calls[-1][1], sent, made, read, written)._replace(tier=SUMMED))
        return self.out


def _title(path):
    """-> the title in the first record of a session, ''."""
    for record in read_records(path, limit=1):
        return first(record.data, 'title')
    return ''


def read(source, coverage, state):
    """See droid.read."""
    parser = Parser(source, coverage, state)
    for record in read_records(source.path, coverage):
        yield parser.events(record)
    if parser.calls:
        yield parser.sums()
