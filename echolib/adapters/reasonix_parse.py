"""Reasonix's messages to events, as every generation of the client since 1.0 writes them: one a line, or inside its event
log. Token counts are in none of them (see reasonix_ledger).

The same message keeps its id wherever it is written again (fork, import, edit), so it counts once.
"""
from ..base.clock import parse_time
from ..events import (
    COLLATERAL, COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL,
    TOOL_RESULT, TYPED, UNKNOWN, Compaction, Event, ToolResult)
from . import reasonix_frames
from .values import content_text, decoded, images, inner, tool_input, word

# What stands in place of a result that never came, and how the client itself tells a failure from text alone.
_INTERRUPTED = '[no result: the previous turn was interrupted'
_FAILED = ('error:', 'blocked:', '[hook block]', '{"error":', '{"error" :')
_CANCELLED = 'cancelled:'
_REFUSED = ('denied by user', 'denied by the user', 'rejected by user', 'rejected by the user', 'user denied', 'user rejected',
            'user declined', 'declined by the user')
_STATES = {'completed': OK, 'user_confirmed': OK, 'failed': ERROR, 'cancelled': COLLATERAL, 'not_started': COLLATERAL,
           'pending': COLLATERAL, 'started': COLLATERAL, 'running': COLLATERAL, 'unknown': COLLATERAL}
_LOCAL = '__reasonix_local_only__'
_SUMMARY = '<compaction-summary>'
# Texts in a user slot whose writer no field names (before 1.2x), by how they begin.
_MACHINE = ((_SUMMARY, RECAP), ('<session-context', 'meta'), ('<subagent-context', 'task'), ('<system-reminder', 'reminder'))
_WORKSPACE = 'Current workspace: '
# Tool ids that a provider numbers from the start in every session are this short.
_SHORT = 12
# Kinds of events of the log that only repeat what messages say, or are bookkeeping.
_QUIET = frozenset((
    'tool/call tool/start tool/result turn/start turn/end step/start step/end todo/write interaction/created '
    'interaction/resolved plan/state goal/state model/context-replace runtime/recovery diagnostic message/retract '
    'submission/accepted image/offload').split())


def time_of(value):
    """-> ms of a time in a record; None also for the zero time (year 1), which the client writes where it has none."""
    found = parse_time(value)
    return found if found is not None and found > 0 else None


class Names(object):
    """Identities of messages that have none of their own: by the conversation they first stood in, and their place.

    name: the session's, or its file's. origins: [(number of messages, name)] of the conversations it was forked from, the
    one it was forked from last first: that many messages at its head are another's.
    """

    def __init__(self, name, origins=()):
        self.name, self.origins = name[:-6] if name.endswith('.jsonl') else name, origins

    def of(self, index):
        """-> the identity of the message in this place, from 0."""
        name = self.name
        for count, origin in self.origins:
            if index >= count:
                break
            name = origin
        return '%s:%d' % (name, index)


class Parser(object):
    """Turns the records of one file into lists of Events. `state` (a dict of plain values) lets a grown file go on.

    source: the Source that is read.  names(index) -> the identity of a message without an id, by its place in the file.
    """

    def __init__(self, coverage, source, state, names=None):
        self.coverage, self.state, self.folder = coverage, state, source.path.rpartition('events.frames')[0].rstrip('/\\')
        self.in_agent = source.role in ('agent', 'loose')
        self.chain = source.chain if self.in_agent else ''
        self.session = source.session or ''
        self.names = names or Names(self.chain or self.session).of
        self.out, self.where, self.time, self.parts, self.foreign = [], (0, 0, 0), None, 0, ()

    def start(self, line, offset, length, time=None):
        """Begin the list of events of one record; time: when its content has none."""
        self.out, self.where, self.parts = [], (line, offset, length), 0
        self.time = time
        return self.out

    def add(self, kind, label, ident, text='', data=None, message=None, time=None):
        """Put one event in the list. META events come before their record's parts and are none of them."""
        part = self.parts
        if kind == META:
            part = -1
        else:
            self.parts += 1
        turn = 0 if self.chain else self.state.get('turn', 0)
        self.out.append(Event(kind, label, self.time if time is None else time, self.chain, turn, ident, message, text, data,
                              self.where[0], self.where[1], self.where[2], part))

    def meta(self, label, text, ident=None, time=None):
        """Say a fact of the session where it is new."""
        if text and (ident is not None or self.state.get(label) != text):
            if ident is None:
                self.state[label] = text
            self.add(META, label, ident, text, time=time)

    def drift(self, why, line):
        """Count a record that is not understood, and keep a mark of it."""
        self.coverage.drift(line, why)
        self.add(UNKNOWN, why[:60], None)

    # the event log

    def batch(self, batch):
        """-> list of Events of one finished batch of the log."""
        time = time_of(batch.time)
        out = self.start(batch.line, batch.offset, batch.length, time)
        if batch.foreign:
            self.drift('log of another version (%s)' % batch.foreign[:40], batch.line)
        self.foreign = self._of_subagents(batch.events)
        for event, line in batch.events:
            self.where, self.time = (line, batch.offset, batch.length), time
            self._logged(event, word(event.get('kind')), line)
        return out

    def _of_subagents(self, events):
        """-> ids of tool uses in a batch that are a subagent's: the log also gets their results, whose calls lie elsewhere."""
        out = set()
        for event, _ in events if len(events) > 1 else ():
            if event.get('kind') == 'tool/result':
                data = reasonix_frames.payload(event, self.folder)
                if type(data) is dict and data.get('parentId'):
                    out.add(word(data.get('id')).rpartition('/')[2])
        return out

    def _logged(self, event, kind, line):
        if kind in _QUIET:
            return
        handler = _HANDLERS.get(kind)
        if handler is None:
            if event.get('optional') is not True:
                self.drift('event %s' % (kind or 'without a kind')[:40], line)
            return
        data = reasonix_frames.payload(event, self.folder)
        if type(data) is dict:
            handler(self, data, event, line)
        else:
            self.drift(data, line)

    def _complete(self, data, event, line):
        message = data.get('message')
        if type(message) is not dict:
            self.drift('message event without a message', line)
            return
        turn = self.state.get('turn', 0)
        self.message(message)
        if event.get('kind') == 'message/upsert' and turn:
            # Said again: mostly a note of the client beside it.
            self.state['turn'] = turn

    def _list(self, data, event, line):
        """A whole conversation in place of the one so far: edited, or taken over from an older file."""
        messages = data.get('messages')
        kept, time = self.names, self.time
        path = word(inner(data, 'source').get('path'))
        if path:
            self.meta('foreign', path)
            self.names = Names(path.replace('\\', '/').rpartition('/')[2]).of
        self._model(data)
        self.state['turn'] = 0
        for index, message in enumerate(messages if type(messages) is list else ()):
            if type(message) is dict:
                self.time = time
                self.message(message, index)
        self.names = kept

    def _compaction(self, data, event, line):
        ident = word(event.get('id')) or '%s:%d' % (self.session, self.where[1])
        trigger = word(data.get('trigger'))
        trigger = 'manual' if 'manual' in trigger or trigger == 'user' else 'auto' if trigger else ''
        self.add(COMPACTION, trigger, ident, data=Compaction(trigger, None))
        messages = data.get('messages')
        for message in messages if type(messages) is list else ():
            if type(message) is dict and word(message.get('content')).lstrip().startswith(_SUMMARY):
                self.message(message)

    def _title(self, data, event, line):
        self.meta('ai-title', word(data.get('title')))

    def _model(self, data, event=None, line=0):
        self.meta('model', word(data.get('modelRef')).strip())

    def _attempt(self, data, event, line):
        if data.get('action') == 'discard':
            self.meta('retry', word(data.get('reason')) or 'retry', word(data.get('id')) or word(event.get('id')))

    # messages

    def message(self, message, index=None):
        """Put the events of one message in the list. index: its place in the file, for one without an id."""
        if index is None:
            index = self.state.get('index', 0)
            self.state['index'] = index + 1
        ident = word(message.get('id')) or self.names(index)
        role = message.get('role')
        time = time_of(message.get('createdAt'))
        if time is not None:
            self.time = time
        if message.get('local_only') is True or message.get('name') == _LOCAL:
            self._local(message, ident)
        elif role == 'user':
            self._user(message, ident)
        elif role == 'assistant':
            self._assistant(message, ident)
        elif role == 'tool':
            self._result(message, ident)
        elif role != 'system':
            self.drift('message of role %s' % word(role)[:20], self.where[0])

    def _user(self, message, ident):
        content = content_text(message.get('content'))
        pictures = message.get('images')
        pictures = len(pictures) if type(pictures) is list else 0
        # What was typed, where the client put more around it for the model.
        text = word(message.get('raw_content')) or content
        origin = word(message.get('origin'))
        label = next((name for head, name in _MACHINE if text.lstrip().startswith(head)), '')
        if origin == 'host' or _WORKSPACE in content and label in ('meta', 'task'):
            self._workspace(content)
        if pictures and '[image]' not in text:
            text = '\n'.join([text] * bool(text) + ['[image]'] * pictures)
        if not text.strip():
            return
        if label == RECAP:
            self.add(INJECTED, RECAP, ident, text)
        elif self.in_agent:
            self.add(INJECTED, 'task', ident, text)
        elif origin != 'user' and (origin or label):
            self.add(INJECTED, label or ('meta' if origin == 'host' else origin), ident, text)
        else:
            self.state['turn'] = self.state.get('turn', 0) + 1
            self.add(PROMPT, TYPED, ident, text, images(text))

    def _workspace(self, text):
        """The directory the client names to the model; it stands nowhere else in the log."""
        at = text.find(_WORKSPACE)
        if at >= 0:
            line = text[at + len(_WORKSPACE):].split('\n', 1)[0].strip()
            quoted = decoded('[%s]' % line)
            self.meta('cwd', word(quoted[0]) if quoted else line)

    def _assistant(self, message, ident):
        thought = word(message.get('reasoning_content')) or _thoughts(message.get('thinking_blocks'))
        if thought:
            self.add(THINKING, '', ident + '/t', thought, message=ident)
        text = content_text(message.get('content'))
        if text:
            self.add(REPLY, '', ident, text, message=ident)
        calls = message.get('tool_calls')
        for place, call in enumerate(calls if type(calls) is list else ()):
            if type(call) is not dict:
                continue
            nested = inner(call, 'function')
            given, shown = tool_input(call.get('arguments', nested.get('arguments')))
            ran = inner(call, 'tool_recovery')
            began = time_of(ran.get('started_at'))
            key = self.call_id(word(call.get('id')), ident, place)
            self.add(TOOL_CALL, word(call.get('name')) or word(nested.get('name')) or '(unnamed)', key, shown, given, ident, began)
            if began is not None:
                self.time = began
                self.state.setdefault('running', {})[key] = time_of(ran.get('finished_at'))

    def call_id(self, ident, message, place=0):
        """-> the identity of a tool use; one that others may have too is tied to its message."""
        if len(ident) >= _SHORT:
            return ident
        key = '%s/%s' % (message, ident or 'call%d' % place)
        self.state.setdefault('calls', {})[ident] = key
        return key

    def _result(self, message, ident):
        call = word(message.get('tool_call_id'))
        if call in self.foreign:
            return
        call = self.state.get('calls', {}).get(call) or call or ident
        ended = self.state.get('running', {}).pop(call, None)
        if ended is not None:
            self.time = ended
        text = word(message.get('raw_content')) or content_text(message.get('content'))
        self.add(TOOL_RESULT, outcome(message, text), ident, text, ToolResult(call, ''))

    def _local(self, message, ident):
        """What the client shows and never sends: a turn that failed or was stopped, and what had come of it."""
        broken = inner(message, 'interrupted_turn')
        if not broken:
            return
        text = content_text(message.get('content'))
        thought = word(message.get('reasoning_content'))
        if thought:
            self.add(THINKING, '', ident + '/t', thought, message=ident)
        if text:
            self.add(REPLY, '', ident + '/p', text, message=ident)
        if broken.get('terminalStatus') == 'failed':
            what = inner(broken, 'failureDiagnostic')
            told = ' '.join(str(what[name])[:200] for name in ('kind', 'status', 'code', 'message', 'providerId')
                            if type(what.get(name)) in (str, int) and what[name] != '')
            self.add(REPLY, 'api_error', ident, 'API error: %s' % (told or word(broken.get('cause')) or 'the request failed'))
        elif self.chain:
            self.add(INJECTED, 'interruption', ident, 'The turn was interrupted.')
        else:
            self.add(INTERRUPTION, '', ident, 'The turn was interrupted.')


def outcome(message, text):
    """-> the label of a tool result: its own state where it has one, else how its text begins."""
    state = _STATES.get(word(message.get('tool_run_state')))
    ran = inner(message, 'tool_execution')
    code = ran.get('exitCode')
    if (ran.get('state') in ('failed', 'timed_out') or type(code) is int and code or ran.get('failurePhase')) and state != COLLATERAL:
        state = ERROR
    head = text[:300].lstrip().lower()
    if state is None:
        if head.startswith((_INTERRUPTED, _CANCELLED)):
            state = COLLATERAL
        else:
            state = ERROR if head.startswith(_FAILED) else OK
    if state == ERROR and head.startswith(_FAILED) and any(words in head for words in _REFUSED):
        return DECLINED
    return state


def _thoughts(blocks):
    return '\n'.join(word(block.get('thinking')) or word(block.get('text')) for block in blocks if type(block) is dict) \
        if type(blocks) is list else ''


_HANDLERS = {
    'message/complete': Parser._complete, 'message/upsert': Parser._complete, 'message/interrupted': Parser._complete,
    'history/replace': Parser._list, 'legacy/import': Parser._list, 'compaction': Parser._compaction,
    'session/title': Parser._title, 'session/config': Parser._model, 'assistant/attempt': Parser._attempt,
}
