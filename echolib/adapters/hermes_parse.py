"""Hermes' messages to events: roles as in OpenAI's interface, from a row of the database or a line of an older file."""
from ..base import clock
from .talk import Talk, fields, nothing, pieces
from .values import decoded, first, inner, word

# So begins what a skill puts into a user's place.
_SKILL = '[SYSTEM: The user has invoked the '
_SYSTEM = '[SYSTEM: '


class Parser(Talk):
    """Turns messages into events. More in `state`: model. calls: the identities of the model's answers so far."""

    def __init__(self, source, coverage, state):
        Talk.__init__(self, source, coverage, state)
        self.calls = []

    def events(self, record):
        """-> list of Events of a line of an older file."""
        data, line, offset, length = record
        # A time without a zone is this machine's.
        self.at(line, offset, length, '', fields.time_of(data))
        if data.get('role') == 'session_meta':
            self.state['model'] = first(data, 'model')
            self.says('entrypoint', first(data, 'platform'))
            return self.out
        return self.message(data)

    def message(self, data):
        """-> list of Events of a message (at() was called). data: its columns, or its line."""
        role = word(data.get('role'))
        if role == 'user':
            self._user(fields.text_of(data.get('content')))
        elif role == 'assistant':
            self._assistant(data)
        elif role == 'tool':
            for piece in pieces(dict(data, type='tool_result', id=''), 'tool'):
                self.result(piece._replace(id=first(data, 'tool_call_id'), status=_status(data, piece)))
        elif role == 'system':
            self.injected('system', fields.text_of(data.get('content')), '')
        else:
            self.unknown('message of role %s' % (role[:40] or '(none)'))
        return self.out

    def _user(self, text):
        if text.startswith(_SKILL):
            self.injected('skill', text, '')
        elif text.startswith(_SYSTEM):
            self.injected('meta', text, '')
        else:
            self.typed(text)

    def _assistant(self, data):
        body = dict((name, data[name]) for name in ('content', 'reasoning', 'reasoning_content') if name in data)
        listed = data.get('tool_calls')
        body['tool_calls'] = decoded(listed) if type(listed) is str else listed
        self.calls.append(self.ident)
        self.answer(pieces(body, 'assistant'), self.ident)
        self.spend(self.ident, nothing(self.state.get('model', '')))


def _status(data, piece):
    """-> the label of a result: its text is an object that says how it went, in most tools."""
    told = decoded(piece.text)
    if type(told) is not dict:
        return piece.status
    if told.get('error') and not inner(told, 'error') and told.get('success') is not True:
        return fields.ERROR
    return fields.status_of(told, '')


def seconds(value):
    """-> ms of a time in seconds since 1970, None for anything else."""
    return clock.parse_time(value) if type(value) in (int, float) else None
