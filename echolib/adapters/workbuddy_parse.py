"""WorkBuddy and CodeBuddy records to events.

A flat list of items: messages, reasoning, calls and their results, tied by ids. Tokens stand on the answer or on the
calls it consists of, in up to three spellings; the first of them counts, once a response.
"""
import re

from ..base.clock import parse_time
from ..base.files import open_regular
from ..events import (
    COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, RECAP, REPLY, SLASH, THINKING, TOOL_CALL, TOOL_RESULT,
    TYPED, UNKNOWN, USAGE, Compaction, Event, ToolResult)
from .values import blocks, classify, content_text, count, first, images, inner, is_command, result_text, tool_input, uncached, usage, word

# What stands in <user_query> was typed; where a file has such messages, the others were not.
_QUERY = 'user_query'
# A file tells within this many bytes whether it marks what was typed.
DECIDING_BYTES = 1 << 20
# The first message of some sessions of the command line client, which nobody typed.
_PLACEHOLDER = 'code'
_FAILED = frozenset('failed error cancelled canceled'.split())
_CANCELLED = ('cancelled', 'canceled')
_EXIT = re.compile(r'^Exit Code: (-?\d{1,9})', re.M | re.I)
_NOISE = b'"type":"file-history-snapshot"'


def is_noise_line(line):
    """True for a line of bytes that holds no conversation: backups of files, told from the beginning of the line."""
    return line.find(_NOISE, 0, 300) >= 0 and line.rstrip(b'\r\n \t')[-1:] == b'}' and line.find(b'"message"', 0, 300) < 0


def asks(path):
    """True when a transcript marks what was typed (looked for in its first DECIDING_BYTES)."""
    from ..records import parse_line
    with open_regular(path) as handle:
        left = DECIDING_BYTES
        while left > 0:
            line = handle.readline(8 << 20)
            if not line:
                break
            left -= len(line)
            if b'<user_query>' in line and b'"user"' in line:
                for record in parse_line(line)[0]:
                    if record.get('type') == 'message' and record.get('role') == 'user' and '<user_query>' in content_text(record.get('content')):
                        return True
    return False


def model_of(data):
    """-> the model a record names, '' for none and for `auto`."""
    said = inner(data, 'providerData')
    for name in ('requestModelId', 'requestModelName', 'model'):
        model = word(said.get(name)).strip()
        if model.startswith('custom-local:'):
            model = model[len('custom-local:'):]
        if model and model != 'auto':
            return model
    return ''


def usage_of(data):
    """-> Usage of the call a record is part of, None when it holds no counters. Cached input is part of the input, in
    every spelling; reasoning is part of the output."""
    said = inner(data, 'providerData')
    raw = inner(said, 'rawUsage')
    reasoning = count(inner(raw, 'completion_tokens_details').get('reasoning_tokens'))
    if raw:
        details = inner(raw, 'prompt_tokens_details')
        sent, output = count(raw.get('prompt_tokens')), count(raw.get('completion_tokens'))
        read = count(raw.get('prompt_cache_hit_tokens')) or count(details.get('cached_tokens'))
        written = _first_count((raw, details), 'prompt_cache_write_tokens', 'cache_creation_input_tokens', 'cache_write_tokens', 'cache_creation_tokens')
        # Misses that are the whole prompt say that the hits lie beside it.
        beside = bool(read) and count(raw.get('prompt_cache_miss_tokens')) == sent
    else:
        beside = False
        plain = inner(said, 'usage')
        snake = inner(data, 'message', 'usage')
        if plain:
            details = _merged(plain.get('inputTokensDetails'))
            sent, output = count(plain.get('inputTokens')), count(plain.get('outputTokens'))
        elif snake:
            plain = snake
            details = _merged(snake.get('input_tokens_details'))
            sent, output = count(snake.get('input_tokens')), count(snake.get('output_tokens'))
        else:
            return None
        read = _first_count((plain, details), 'cached_tokens', 'cachedTokens', 'cache_read_input_tokens', 'cacheReadTokens', 'cacheReadInputTokens')
        written = _first_count((plain, details), 'cache_write_tokens', 'cacheWriteTokens', 'cache_creation_input_tokens', 'cacheCreationInputTokens')
    if not (sent or output or read or written):
        return None
    return usage(model_of(data), uncached(sent, read, written, beside), output, read, written, reasoning)


def _merged(details):
    """The counters of a list of objects as one object."""
    out = {}
    for one in details if type(details) is list else (details,):
        if type(one) is dict:
            for name, value in one.items():
                out[name] = out.get(name, 0) + count(value)
    return out


def _first_count(holders, *names):
    for holder in holders:
        for name in names:
            if count(holder.get(name)):
                return count(holder[name])
    return 0


class Parser(object):
    """Turns the records of one file into events. `state` (a dict of plain values) lets a grown file go on.

    chain: '' or the subagent's name; session: the session the file belongs to; listed(): its title in the list of
    sessions, asked for at the first record; asks(): does the file mark what was typed, asked for where the state does
    not say.
    """

    def __init__(self, coverage, chain, session, state, listed=None, asks=None):
        self.coverage, self.chain, self.session, self.state, self.listed, self.asks = coverage, chain, session, state, listed, asks
        self.turn = state.get('turn', 0)

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        self.line, self.offset, self.length = line, offset, length
        time = data.get('timestamp')
        self.time = parse_time(time) if type(time) in (int, float) else None
        self.out = []
        self._surroundings(data)
        # Parts count from the first event of content: what the state adds before them must not move them.
        self.base = len(self.out)
        kind = data.get('type')
        handler = _HANDLERS.get(kind) if type(kind) is str else None
        if handler is None:
            why = 'record type %s' % (word(kind)[:60] or 'missing')
            self.coverage.drift(line, why)
            self._add(UNKNOWN, why, None)
        else:
            handler(self, data, self._key(data, data.get('id')))
        return self.out

    def _key(self, data, ident):
        """-> what names a thing: its own id where that is long enough to be no other's, else with its session's."""
        if type(ident) is int:
            ident = str(ident)
        if type(ident) is not str or not ident:
            return '%s/%s:%d' % (self.session, self.chain, self.offset)
        return ident if len(ident) >= 16 else '%s/%s' % (word(data.get('sessionId')) or self.session, ident)

    def _add(self, kind, label, ident, text='', data=None, message=None, part=None):
        self.out.append(Event(kind, label, self.time, self.chain, 0 if self.chain else self.turn, ident, message, text, data, self.line,
                              self.offset, self.length, len(self.out) - self.base if part is None else part))

    def _surroundings(self, data):
        """Meta events where the directory changes, or the rows are another session's; at the very first, the listed title."""
        state = self.state
        if not self.offset and self.listed is not None and not self.chain:
            title = self.listed()
            if title:
                self._add(META, 'ai-title', None, title, part=-1)
        for field in ('cwd', 'version'):
            value = word(data.get(field))
            if value and value != state.get(field):
                state[field] = value
                self._add(META, field, None, value, part=-1)
        session = word(data.get('sessionId'))
        if not self.chain and session and session != self.session and 'foreign' not in state:
            state['foreign'] = 1
            self._add(META, 'foreign', None, session, part=-1)

    def _message(self, data, ident):
        role = word(data.get('role')).lower()
        text = content_text(data.get('content'))
        if role == 'user':
            self._user(data, ident, text)
        elif role == 'assistant':
            message = self._response(data, ident)
            if text:
                self._add(REPLY, '', ident, text, None, message)
            self._usage(data, message)
            if data.get('status') in _CANCELLED:
                self._stopped(data)
        elif role == 'system':
            if text:
                self._add(INJECTED, 'system', ident, text)
        else:
            why = 'message role %s' % (role[:40] or 'missing')
            self.coverage.drift(self.line, why)
            self._add(UNKNOWN, why, ident)

    def _user(self, data, ident, text):
        if not text.strip():
            return
        if self.chain:
            self._add(INJECTED, 'task', ident, '\n'.join(blocks(text, _QUERY)) or text)
            return
        typed = [one for one in blocks(text, _QUERY) if one]
        if typed:
            shown = '\n'.join(typed + ['[image]'] * text.count('[image]'))
            kind, label = PROMPT, SLASH if is_command(typed[0]) else TYPED
        else:
            kind, label, shown = classify(text)
            if kind == PROMPT and (self._marks() or shown.strip() == _PLACEHOLDER and not data.get('parentId')):
                kind, label = INJECTED, 'meta'
        if kind == PROMPT:
            self.turn += 1
            self.state['turn'] = self.turn
        self._add(kind, label, ident, shown, images(shown) if kind == PROMPT else None)

    def _marks(self):
        if 'asks' not in self.state and self.asks is not None:
            self.state['asks'] = self.asks()
        return self.state.get('asks')

    def _response(self, data, ident):
        """-> what names the response a record is part of."""
        found = inner(data, 'providerData').get('messageId')
        return self._key(data, found) if type(found) is str and found else ident

    def _usage(self, data, message):
        use = usage_of(data)
        if use is not None:
            self._add(USAGE, '', message, '', use, message)
        trace = word(inner(data, 'providerData').get('traceId'))
        if trace:
            self.state['trace'] = trace

    def _reasoning(self, data, ident):
        text = content_text(data.get('rawContent')) or content_text(data.get('content'))
        if text:
            self._add(THINKING, '', ident, text, None, self._response(data, ident))

    def _call(self, data, ident):
        message = self._response(data, ident)
        given, text = tool_input(data.get('arguments'))
        self._add(TOOL_CALL, word(data.get('name')) or '(unnamed)', self._called(data, ident), text, given, message)
        self._usage(data, message)

    def _called(self, data, ident):
        found = data.get('callId')
        return self._key(data, found) if type(found) is str and found else ident

    def _result(self, data, ident):
        status = word(data.get('status')).lower()
        text = result_text(data.get('output'))
        label = OK
        found = _EXIT.search(text[:2000])
        if data.get('skipRun') is True:
            label = DECLINED
        elif status in _FAILED or found and int(found.group(1)):
            label = ERROR
        self._add(TOOL_RESULT, label, ident + '/result', text, ToolResult(self._called(data, ident), ''))
        if status in _CANCELLED:
            self._stopped(data)

    def _stopped(self, data):
        """The person stopped the turn: once, however many of its calls were cancelled."""
        if not self.chain:
            turn = word(inner(data, 'providerData').get('traceId')) or self.state.get('trace') or 'turn %d' % self.turn
            self._add(INTERRUPTION, '', '%s/stopped/%s' % (self.session, turn))

    def _summary(self, data, ident):
        text = first(data, 'summary', 'text') or content_text(data.get('content'))
        self._add(COMPACTION, '', ident, '', Compaction('', None))
        if text:
            self._add(INJECTED, RECAP, ident, text)

    def _title(self, data, ident):
        # A topic is the second choice, whenever it comes; titles are written again and again.
        kind = data['type']
        text = first(data, 'aiTitle' if kind == 'ai-title' else 'topic', 'title').strip()
        if not text or self.state.get(kind) == text or self.chain:
            return
        self.state[kind] = text
        self._add(META, 'topic' if kind == 'topic' and 'ai-title' in self.state else 'ai-title', None, text)

    def _nothing(self, data, ident):
        """Known, and no conversation."""


_HANDLERS = {
    'message': Parser._message, 'reasoning': Parser._reasoning, 'function_call': Parser._call, 'function_call_result': Parser._result,
    'summary': Parser._summary, 'ai-title': Parser._title, 'topic': Parser._title, 'session-meta': Parser._nothing,
    'file-history-snapshot': Parser._nothing,
}
