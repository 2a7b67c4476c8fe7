"""ZCode's messages to events: a row of `message` with the rows of `part` that belong to it.

Newer builds say in `semantics` who wrote a user message and what it is; older rows are told by their text.
"""
from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, RECAP, REPLY, SLASH, THINKING,
    TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN, USAGE, Compaction, Event, ToolResult)
from .values import (
    classify, content_text, count, first, images, inner, is_command, result_text, tool_input, uncached, usage, without_blocks, word)

# What lies at an event's offset: the number in the low three bits; the rest is a row id, a byte offset or a place.
SESSION, MESSAGE, CALL, TURN, TRACE, ROLLOUT, SNAPSHOT = range(7)
# What the client says a user message is, and our label; prompts are told apart below.
_KINDS = {
    'system_reminder': 'reminder', 'todo_reminder': 'reminder', 'background_notification': 'notification',
    'subagent_notification': 'notification', 'rewind_notice': 'notice', 'fork_notice': 'notice', 'timeline_event': 'notice',
    'shared_context': ATTACHMENT}
_PERSON = ('real_user', 'migration', 'import')
# Parts without conversation in them.
_BOOKKEEPING = frozenset('step-start step-finish patch snapshot agent timeline subagent retry'.split())
_REFUSED = ('user rejected', 'rejected permission', 'permission denied by user', 'denied by the user', 'user declined',
            'user denied')
_STOPPED = ('MessageAbortedError', 'AbortError', 'turn_cancelled')


def code(kind, value):
    """-> the offset under which a record is found again."""
    return value * 8 + kind


def refused(text):
    """True when the error of a tool says that the person refused it."""
    head = text[:200].lower()
    return any(mark in head for mark in _REFUSED)


def model_of(data):
    """-> the model a message names, ''."""
    found = first(data, 'modelID', 'model_id') or first(inner(data, 'model'), 'modelID', 'id', 'name') or word(data.get('model'))
    return found.strip()


class Maker(object):
    """Makes the events of one record. The session's id in front of theirs keeps ids apart. base: number of the first part."""

    def __init__(self, parser, time, line, offset, length, message=None):
        self.parser, self.time, self.line, self.offset, self.length, self.message = parser, time, line, offset, length, message
        self.out = []
        self.base = 0

    def add(self, kind, label, ident, text='', data=None, time=None):
        """Append an event."""
        parser = self.parser
        if ident is not None:
            ident = '%s/%s' % (parser.sid, ident)
        message = self.message if kind in (REPLY, THINKING, TOOL_CALL, USAGE) else None
        self.out.append(Event(kind, label, self.time if time is None else time, parser.chain, 0 if parser.chain else parser.turn, ident,
                              message, text, data, self.line, self.offset, self.length, self.base + len(self.out)))

    def result(self, call, label, text, time=None):
        """Append the result of a call."""
        self.add(TOOL_RESULT, label, call + '/result', text, ToolResult('%s/%s' % (self.parser.sid, call), ''), time)

    def unknown(self, why):
        """Append what is not understood."""
        self.parser.coverage.drift(self.line, why)
        self.add(UNKNOWN, why, None)


class Parser(object):
    """Turns records of one session into events.

    sid: the session's own id; chain: '' or the subagent's id; turns: True where the table of turns says what was stopped.
    """

    def __init__(self, sid, chain, coverage, turns=False, state=None):
        self.sid, self.chain, self.coverage, self.turns = sid, chain, coverage, turns
        self.state = {} if state is None else state
        self.turn = self.state.get('turn', 0)

    def message(self, ident, data, created, parts, line, offset, counted=False):
        """-> list of Events of a message. parts: list of (id, dict or None where it is damaged, time created).

        counted: take the call's tokens from the message (there is no better source).
        """
        time = parse_time(inner(data, 'time').get('created')) or parse_time(created)
        make = Maker(self, time, line, offset, 0, '%s/%s' % (self.sid, ident))
        for _, part, _ in parts:
            if part is None:
                self.coverage.damage(line, 'not an object (a part)')
        parts = [(key or '%s.%d' % (ident, n), part, parse_time(when)) for n, (key, part, when) in enumerate(parts) if part is not None]
        role = word(data.get('role')).lower().strip()
        if role == 'user':
            self._user(make, ident, data, parts)
        elif role in ('assistant', 'model'):
            self._assistant(make, ident, data, parts, counted)
        elif role == 'system':
            text = _texts(parts, False)
            if text:
                make.add(INJECTED, 'system', ident, text)
        else:
            make.unknown('message role %s' % (role[:40] or 'missing'))
        return make.out

    def _user(self, make, ident, data, parts):
        said = inner(data, 'semantics')
        kind = word(said.get('kind'))
        summary = word(inner(data, 'summary').get('body'))
        marks = [part for _, part, _ in parts if part.get('type') == 'compaction']
        if kind == 'compact_summary' or summary or marks:
            self._compaction(make, ident, marks[0] if marks else {}, ident)
            text = summary or _texts(parts, False)
            if text:
                make.add(INJECTED, RECAP, ident, text)
            return
        own, added = _texts(parts, False), _texts(parts, True)
        what, label, text = self._slot(data, said, kind, own)
        if what == PROMPT:
            self.turn += 1
            self.state['turn'] = self.turn
        if text:
            make.add(what, label, ident, text, images(text) if what == PROMPT else None)
        if added:
            make.add(INJECTED, 'meta', ident + '/added', added)
        for key, part, when in parts:
            if part.get('type') == 'file' and not _is_image(part):
                name = first(part, 'filename', 'name', 'url')
                if name and not name.startswith('data:'):
                    make.add(INJECTED, ATTACHMENT, key, name, time=when)
            elif part.get('type') == 'subtask' and word(part.get('prompt')):
                make.add(INJECTED, 'task', key, part['prompt'], time=when)
            elif part.get('type') in ('tool_result', 'tool', 'tool_use'):
                self._tool(make, key, part, when)
            elif part.get('type') not in ('text', 'file', 'subtask', 'reasoning', 'thinking') and word(part.get('type')) not in _BOOKKEEPING:
                make.unknown('part type %s' % (word(part.get('type'))[:40] or 'missing'))

    def _slot(self, data, said, kind, text):
        """-> (kind, label, text) of what stands in a user's place."""
        if self.chain:
            return INJECTED, _KINDS.get(kind, 'task'), text
        if kind in _KINDS:
            return INJECTED, _KINDS[kind], text
        hidden = said.get('uiVisibility') == 'hidden' and said.get('transcriptVisibility') == 'hidden'
        launched = said.get('origin') in _PERSON
        if not launched and (data.get('synthetic') is True or data.get('visibility') == 'model-only' or hidden or said.get('origin')):
            return INJECTED, 'meta', text
        if not launched:
            return classify(text)
        shown = without_blocks(text)
        if not shown:
            return INJECTED, 'reminder', text
        if kind == 'slash_command':
            name = word(said.get('commandName')).lstrip('/')
            return PROMPT, SLASH, shown if is_command(shown) or not name else ('/%s %s' % (name, shown)).strip()
        return PROMPT, SLASH if is_command(shown) else TYPED, shown

    def _compaction(self, make, ident, mark, named):
        trigger = word(mark.get('trigger'))
        if not trigger and type(mark.get('auto')) is bool:
            trigger = 'auto' if mark['auto'] else 'manual'
        what = Compaction(trigger, count(mark.get('preCompactTokenCount')) or None)
        make.add(COMPACTION, trigger, 'compaction/' + named, '', what)

    def _assistant(self, make, ident, data, parts, counted):
        recap = data.get('summary') is True
        for key, part, when in parts:
            kind = word(part.get('type'))
            if kind == 'text':
                text = content_text(part)
                if text and part.get('synthetic') is not True and part.get('ignored') is not True:
                    make.add(INJECTED if recap else REPLY, RECAP if recap else '', key, text, time=when)
            elif kind in ('reasoning', 'thinking'):
                text = first(part, 'thinking', 'text', 'content')
                if text:
                    make.add(THINKING, '', key, text, time=when)
            elif kind in ('tool', 'tool_use', 'tool_result'):
                self._tool(make, key, part, when)
            elif kind == 'compaction':
                self._compaction(make, ident, part, word(part.get('summaryMessageId')) or ident)
            elif kind not in _BOOKKEEPING and kind not in ('file', 'subtask'):
                make.unknown('part type %s' % (kind[:40] or 'missing'))
        error = data.get('error')
        if error:
            self._error(make, ident, error)
        if counted:
            self._tokens(make, ident, data)

    def _tool(self, make, key, part, when):
        state = inner(part, 'state')
        kind = part.get('type')
        named = first(part, 'callID', 'callId', 'toolCallId', 'id' if kind == 'tool_use' else 'tool_use_id', 'tool_call_id', 'toolUseID')
        # A tool part holds its result too; blocks of their own are tied by the call's id.
        call = key if kind == 'tool' or not named else named
        if kind != 'tool_result':
            given, text = tool_input(state.get('input') if state.get('input') is not None else part.get('input'))
            make.add(TOOL_CALL, first(part, 'tool', 'name', 'toolName', 'tool_name') or '(unnamed)', call, text, given, when)
        status = word(state.get('status')) or word(part.get('status'))
        if kind == 'tool_use' or status in ('pending', 'running') or kind == 'tool' and not status:
            return
        failed = status == 'error' or part.get('is_error') is True
        text = result_text(_present(state, part, ('error', 'output', 'content', 'result') if failed else ('output', 'content', 'result', 'error')))
        label = DECLINED if failed and refused(text) else ERROR if failed else OK
        make.result(call, label, text, parse_time(inner(state, 'time').get('end')) or when)

    def _error(self, make, ident, error):
        name = word(error.get('name')) if type(error) is dict else ''
        text = error if type(error) is str else first(error, 'message') or first(inner(error, 'data'), 'message') or name if type(error) is dict else ''
        if name in _STOPPED:
            if not self.turns and not self.chain:
                make.add(INTERRUPTION, '', ident + '/stopped', text)
        elif text:
            make.add(REPLY, 'api_error', ident + '/error', text)

    def _tokens(self, make, ident, data):
        if word(inner(data, 'semantics').get('kind')) == 'timeline_event':
            return
        tokens = inner(data, 'tokens')
        sent, output = count(tokens.get('input')), count(tokens.get('output'))
        read, written = count(inner(tokens, 'cache').get('read')), count(inner(tokens, 'cache').get('write'))
        if sent or output or read or written:
            make.add(USAGE, '', 'call/' + ident, '', usage(model_of(data), uncached(sent, read, written), output, read, written))


def _present(state, part, names):
    for holder in (state, part):
        for name in names:
            if holder.get(name) not in (None, ''):
                return holder[name]
    return None


def _is_image(part):
    return word(part.get('mime')).startswith('image/') or word(part.get('mediaType')).startswith('image/')


def _texts(parts, synthetic):
    """The texts of a message's parts that a person wrote, or (synthetic) that the harness added; pictures as `[image]`."""
    out = []
    for _, part, _ in parts:
        kind = part.get('type')
        if kind == 'text' and (part.get('synthetic') is True or part.get('ignored') is True) == synthetic:
            text = content_text(part)
            if text:
                out.append(text)
        elif kind == 'file' and not synthetic and _is_image(part):
            out.append('[image]')
    return '\n'.join(out)


def session_events(parser, row, offset):
    """-> list of Events of a session's own row. row: dict of its columns."""
    make = Maker(parser, parse_time(row.get('time_created')), 0, offset, 0)
    for label, value in (('cwd', word(row.get('directory'))), ('version', word(row.get('version')))):
        if value:
            make.add(META, label, None, value)
    title = word(row.get('title')).strip() or word(row.get('slug')).strip()
    if title and not parser.chain:
        make.add(META, 'ai-title', None, title)
    return make.out
