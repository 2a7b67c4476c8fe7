"""Records of the Python client (kimi-cli, wire protocol 1.1 to 1.10) to events.

wire.jsonl is the stream of what the client showed: one row an event, with its time. context.jsonl is what the model
was sent, without times and numbers; it is read only where a session has no wire.jsonl.
"""
from ..base.clock import parse_time
from ..events import (
    COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, QUEUED, RECAP, REPLY, SLASH, THINKING, TOOL_CALL,
    TOOL_RESULT, UNKNOWN, USAGE, Compaction, Event, ToolResult, counter)
from ..records import Record, read_at
from .kimi_context_parse import recap
from .kimi_lookback import compactions_before, turn_before
from .kimi_text import (
    REFUSED, call_id, classify, command_name, content_text, images, machine_text, mark, tool_input, usage, word)

# Message types with nothing to tell that another row does not tell better.
_QUIET = frozenset((
    'HookTriggered', 'ApprovalRequest', 'ApprovalResponse', 'ApprovalRequestResolved', 'QuestionRequest',
    'QuestionResponse', 'ToolCallRequest', 'MCPLoadingBegin', 'MCPLoadingEnd'))
# What ends a tool call that is still being written: the model goes on with something else.
_CLOSES = frozenset((
    'TurnBegin', 'SteerInput', 'StepBegin', 'StepInterrupted', 'ContentPart', 'ToolCall', 'StatusUpdate', 'TurnEnd',
    'CompactionBegin'))


class WireParser(object):
    """Turns the records of one wire.jsonl into events. `state` (a dict of plain values) lets a grown file go on.

    source: its Source.  scope: what its own call ids are told apart by from those of other sessions.  model: name of the
    model, which no row tells.  has_file(agent id): does this subagent have a wire.jsonl of its own?
    """

    def __init__(self, coverage, source, state, scope, model, has_file):
        self.coverage, self.source, self.state, self.scope = coverage, source, state, scope
        self.model, self.has_file = model, has_file
        self.before = 0     # compactions before the one line that is read
        self.chain = source.chain if source.role != 'main' else ''
        self.turn = state.get('turn', 0)

    # the rows of a file

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        message = data.get('message')
        time = parse_time(data.get('timestamp'))
        place = (line, offset, length)
        if type(message) is not dict or type(message.get('type')) is not str:
            if data.get('type') == 'metadata':
                self.state['wire'] = version = word(data.get('protocol_version'))
                return [self._event(META, 'version', time, self.chain, None, 'wire ' + version, None, place, -1)] if version else []
            return self._drift('row without a message', time, place)
        kind, payload, chain, scope = message['type'], message.get('payload'), self.chain, self.scope
        out = []
        if kind == 'SubagentEvent':
            found = self._nested(payload)
            if found is None:
                return self._drift('SubagentEvent without an event', time, place)
            kind, payload, chain, scope = found
            if chain == '':
                return []
            agents = self.state.setdefault('agents', [])
            if chain not in agents:
                agents.append(chain)
                ident = chain if scope == chain else scope
                out.append(self._event(META, 'subagent', time, chain, ident, '', None, place, -1))
        if type(payload) is not dict:
            payload = {}
        if kind in _CLOSES or kind == 'ToolResult' and self._held_id(chain) == payload.get('tool_call_id'):
            self._release(chain, out)
        if kind == 'ToolCallPart':
            held = self.state.get('held', {}).get(chain)
            if held is not None:
                held[2] = offset + length
            return out
        handler = _HANDLERS.get(kind)
        if handler is not None:
            stamp = '%r' % data.get('timestamp') if time is not None else '%s:%d' % (self.scope, offset)
            handler(self, payload, time, stamp, chain, scope, place, out)
        elif kind not in _QUIET:
            out.extend(self._drift('message type %s' % kind[:60], time, place))
        if time is not None:
            self.state['last'] = time
        return out

    def _nested(self, payload):
        """-> (type, payload, chain, scope) of the subagent's own event in a SubagentEvent; chain '' where its own file
        tells it too, None where there is no event."""
        chain = scope = ''
        for _ in range(6):
            event = payload.get('event') if type(payload) is dict else None
            if type(event) is not dict or type(event.get('type')) is not str:
                return None
            agent = word(payload.get('agent_id'))
            call = word(payload.get('parent_tool_call_id')) or word(payload.get('task_tool_call_id')) or 'subagent'
            if agent and self.has_file(agent):
                return '', None, '', ''
            chain = agent or call
            scope = agent or '%s@%s' % (call, scope or self.scope)
            payload = event.get('payload')
            if event['type'] != 'SubagentEvent':
                return event['type'], payload, chain, scope
        return None

    def close(self):
        """-> list of Events for what the end of the file cut off: a call whose input is not all there is counted."""
        out = []
        for chain in sorted(self.state.get('held', {})):
            event = self._call_at(chain)
            if event is not None:
                out.append(event._replace(text='', data=None))
        return out

    def at(self, found, offset, length):
        """-> list of Events of the objects found in the line (or the lines of one call) at `offset`."""
        out = []
        kinds = [_kind(data) for data in found]
        if 'CompactionEnd' in kinds:
            self.before = compactions_before(self.source.path, offset)
        if not self.chain and ('ToolCall' in kinds or 'ToolResult' in kinds):
            self.state['began'] = turn_before(self.source.path, offset)
        for number, data in enumerate(found):
            call = self._call_in(data)
            if call is not None and not _whole(_function(call[0])):
                out.append(self._call(found[number:], (0, offset, length)))
                break
            out.extend(self.events(Record(data, 0, offset, length)))
        return [event for event in out if event is not None]

    def _event(self, kind, label, time, chain, ident, text, data, place, part=0, message=None):
        return Event(kind, label, time, chain, 0 if chain else self.turn, ident, message, text, data, place[0], place[1],
                     place[2], part)

    def _drift(self, why, time, place):
        self.coverage.drift(place[0], why)
        return [self._event(UNKNOWN, why, time, self.chain, None, '', None, place)]

    # turns

    def _turn_begin(self, payload, time, stamp, chain, scope, place, out):
        text = content_text(payload.get('user_input'))
        state = self.state
        ident = '%s/turn/%s' % (stamp, mark(text))
        if chain:
            if text.strip():
                out.append(self._event(INJECTED, 'task', time, chain, ident, text, None, place))
            return
        self._stop(state.get('last', time), place, out)
        kind, label = classify(text)
        if state.get('open') == 'script' and _tells_ends(state.get('wire')):
            # /init and flows begin turns of their own inside the one that was typed.
            kind, label = INJECTED, 'flow'
        else:
            name = command_name(text)
            state['open'] = ('local' if label == 'local_command' else
                             'script' if label == SLASH and (name in ('init', 'begin') or name.startswith('flow:')) else 'turn')
            state['manual'] = name == 'compact'
        state['began'] = stamp
        for key in ('step', 'failed', 'calls'):
            state.pop(key, None)
        if not text.strip():
            return
        if kind == PROMPT:
            self._open_turn()
        out.append(self._event(kind, label, time, '', ident, text, images(text), place))

    def _open_turn(self):
        self.turn += 1
        self.state['turn'] = self.turn

    def _steer(self, payload, time, stamp, chain, scope, place, out):
        text = content_text(payload.get('user_input'))
        if not text.strip():
            return
        kind, label = PROMPT, QUEUED
        if chain:
            kind, label = INJECTED, 'task'
        elif machine_text(text):
            kind, label = INJECTED, machine_text(text)
        else:
            self._open_turn()
        out.append(self._event(kind, label, time, chain, '%s/steer/%s' % (stamp, mark(text)), text, images(text), place))

    def _turn_end(self, payload, time, stamp, chain, scope, place, out):
        if chain:
            return
        self._stop(time, place, out)
        self.state.pop('open', None)
        out.append(self._event(META, 'turn', time, '', None, '', None, place, -1))

    def _stop(self, time, place, out):
        """A turn that was left while the model wrote or a tool ran, and not for an error, was stopped by the person."""
        state = self.state
        if (state.get('open') and not state.get('failed') and state.get('began')
                and (state.get('step') and state.get('status') or state.get('calls'))):
            out.append(self._event(INTERRUPTION, '', time, '', 'stop/%s' % state['began'], 'Interrupted', None, place, -1))

    def _step_begin(self, payload, time, stamp, chain, scope, place, out):
        if chain == self.chain:
            self.state['key'] = stamp
        if not chain:
            self.state['step'] = 1

    def _step_interrupted(self, payload, time, stamp, chain, scope, place, out):
        # Written for errors; a person's interruption leaves the step open instead.
        if not chain:
            self.state['failed'] = 1

    def _retry(self, payload, time, stamp, chain, scope, place, out):
        if not chain:
            out.append(self._event(META, 'retry', time, '', '%s/retry' % stamp, '', None, place, -1))

    # what the model wrote

    def _content(self, payload, time, stamp, chain, scope, place, out):
        kind = payload.get('type')
        text = payload.get('think') if kind == 'think' else payload.get('text')
        if type(text) is not str or not text:
            return
        ident = '%s/part/%s' % (stamp, mark(text))
        if not chain and kind != 'think' and self.state.get('open') == 'local':
            out.append(self._event(INJECTED, 'command_output', time, chain, ident, text, None, place))
        else:
            out.append(self._event(THINKING if kind == 'think' else REPLY, '', time, chain, ident, text, None, place, 0,
                                   self._key(chain, ident)))

    def _key(self, chain, ident):
        """What stands for the response (its own id comes only at its end): its step, else the thing itself."""
        key = self.state.get('key') if chain == self.chain else None
        return '%s/%s' % (self.scope, key) if key else ident

    def _tool_call(self, payload, time, stamp, chain, scope, place, out):
        call = word(payload.get('id'))
        if not chain:
            self.state['calls'] = (self.state.get('calls', []) + [call])[-100:]
        function = _function(payload)
        data, text = tool_input(function.get('arguments'))
        if _whole(function, data):
            out.append(self._made(call, function, data, text, time, chain, scope, place))
        else:
            # The rest of its input may follow in rows of its own (wire 1.3).
            self.state.setdefault('held', {})[chain] = [place[0], place[1], place[1] + place[2], call]

    def _call_id(self, call, chain, scope):
        """The identity of a call. The model's own id (often 'Shell:0') counts anew after a cleared context, and goes on
        in a fork as in its origin: only the turn makes it one."""
        return call_id(call, scope if chain else self.state.get('began') or scope)

    def _made(self, call, function, data, text, time, chain, scope, place):
        ident = self._call_id(call or place[1], chain, scope)
        return self._event(TOOL_CALL, word(function.get('name')) or '(unnamed)', time, chain, ident, text, data, place, 0,
                           self._key(chain, ident))

    def _held_id(self, chain):
        held = self.state.get('held', {}).get(chain)
        return held[3] if held is not None else None

    def _release(self, chain, out):
        """Add the call of this chain that was waiting for the rest of its input."""
        held = self.state.get('held')
        if held and chain in held:
            event = self._call_at(chain)
            del held[chain]
            if event is not None:
                out.append(event)

    def _call_at(self, chain):
        line, offset, end, _ = self.state['held'][chain]
        return self._call(read_at(self.source.path, offset, end - offset), (line, offset, end - offset))

    def _call_in(self, data):
        """-> (payload, chain, scope) of a row that is a tool call, else None."""
        message = data.get('message')
        if type(message) is not dict:
            return None
        if message.get('type') == 'ToolCall':
            found = message.get('payload'), self.chain, self.scope
        elif message.get('type') == 'SubagentEvent':
            nested = self._nested(message.get('payload'))
            if nested is None or nested[0] != 'ToolCall':
                return None
            found = nested[1:]
        else:
            return None
        return found if type(found[0]) is dict else None

    def _part_in(self, data, chain):
        """-> the piece of input in a row of this chain, None for any other row."""
        message = data.get('message')
        if type(message) is not dict:
            return None
        kind, payload, of = message.get('type'), message.get('payload'), self.chain
        if kind == 'SubagentEvent':
            nested = self._nested(payload)
            if nested is None:
                return None
            kind, payload, of = nested[:3]
        return word(payload.get('arguments_part')) if kind == 'ToolCallPart' and of == chain and type(payload) is dict else None

    def _call(self, found, place):
        """-> the event of a call from its row and those with the rest of its input."""
        call = self._call_in(found[0]) if found else None
        if call is None:
            return None
        payload, chain, scope = call
        function = _function(payload)
        given = [word(function.get('arguments'))]
        for data in found[1:]:
            given.append(self._part_in(data, chain) or '')
        data, text = tool_input(''.join(given))
        return self._made(word(payload.get('id')), function, data, text, parse_time(found[0].get('timestamp')), chain, scope, place)

    # what tools and the client answered

    def _tool_result(self, payload, time, stamp, chain, scope, place, out):
        value = payload.get('return_value')
        value = value if type(value) is dict else {}
        said = word(value.get('message'))
        text = content_text(value.get('output'))
        label = OK
        if value.get('is_error') is True:
            label = DECLINED if said.startswith(REFUSED) or text.startswith(REFUSED) else ERROR
        if said and (label != OK or not text.strip()):
            text = '%s\n%s' % (text.rstrip('\n'), said) if text.strip() else said
        call = word(payload.get('tool_call_id'))
        if not chain and call in self.state.get('calls', ()):
            self.state['calls'].remove(call)
        ident = '%s/result/%s' % (stamp, call)
        out.append(self._event(TOOL_RESULT, label, time, chain, ident, text,
                               ToolResult(self._call_id(call, chain, scope) if call else ident, ''), place))

    def _status(self, payload, time, stamp, chain, scope, place, out):
        if not chain:
            self.state['status'] = 1
            self.state.pop('step', None)
            if counter(payload.get('context_tokens')):
                self.state['context'] = counter(payload['context_tokens'])
        spent = payload.get('token_usage')
        if type(spent) is dict:
            get = spent.get
            ident = '%s@%s' % (word(payload.get('message_id')) or stamp, scope)
            out.append(self._event(USAGE, '', time, chain, ident, '', usage(
                self.model, get('input_other'), get('output'), get('input_cache_read'), get('input_cache_creation')),
                place, 0, self._key(chain, ident)))

    def _compaction_begin(self, payload, time, stamp, chain, scope, place, out):
        if not chain:
            self.state['before'] = self.state.get('context')

    def _compaction_end(self, payload, time, stamp, chain, scope, place, out):
        trigger = 'manual' if not chain and self.state.get('open') == 'local' and self.state.get('manual') else 'auto'
        before = None if chain else self.state.pop('before', None)
        out.append(self._event(COMPACTION, trigger, time, chain, '%s/compaction' % stamp, '', Compaction(trigger, before), place))
        if chain == self.chain:
            self.state['recaps'] = number = self.state.get('recaps', self.before) + 1
            text = recap(self.source.path, number)
            if text:
                out.append(self._event(INJECTED, RECAP, time, chain, '%s/recap' % stamp, text, None, place, 1))

    def _aside(self, payload, time, stamp, chain, scope, place, out):
        text = word(payload.get('question'))
        if text.strip() and not chain:
            self._open_turn()
            out.append(self._event(PROMPT, SLASH, time, '', '%s/btw' % stamp, '/btw ' + text, None, place))

    def _aside_end(self, payload, time, stamp, chain, scope, place, out):
        text = word(payload.get('response'))
        if text:
            out.append(self._event(REPLY, '', time, chain, '%s/btw' % stamp, text, None, place, 0, '%s/btw' % stamp))

    def _plan(self, payload, time, stamp, chain, scope, place, out):
        text = word(payload.get('content'))
        if text:
            out.append(self._event(REPLY, '', time, chain, '%s/plan' % stamp, text, None, place, 0, '%s/plan' % stamp))

    def _notice(self, payload, time, stamp, chain, scope, place, out):
        text = '\n'.join(t for t in (word(payload.get('title')), word(payload.get('body'))) if t)
        if text:
            out.append(self._event(INJECTED, 'notification', time, chain, '%s/notice' % stamp, text, None, place))

    def _hook(self, payload, time, stamp, chain, scope, place, out):
        text = word(payload.get('reason'))
        if text:
            out.append(self._event(INJECTED, 'hook', time, chain, '%s/hook' % stamp, text, None, place))


_HANDLERS = {
    'TurnBegin': WireParser._turn_begin, 'SteerInput': WireParser._steer, 'TurnEnd': WireParser._turn_end,
    'StepBegin': WireParser._step_begin, 'StepInterrupted': WireParser._step_interrupted, 'StepRetry': WireParser._retry,
    'ContentPart': WireParser._content, 'ToolCall': WireParser._tool_call, 'ToolResult': WireParser._tool_result,
    'StatusUpdate': WireParser._status, 'CompactionBegin': WireParser._compaction_begin,
    'CompactionEnd': WireParser._compaction_end, 'BtwBegin': WireParser._aside, 'BtwEnd': WireParser._aside_end,
    'PlanDisplay': WireParser._plan, 'Notification': WireParser._notice, 'HookResolved': WireParser._hook,
}


def _kind(data):
    message = data.get('message')
    return message.get('type') if type(message) is dict else None


def _function(payload):
    """What a tool call calls: its name and input ({} where the row does not say)."""
    function = payload.get('function')
    return function if type(function) is dict else {}


def _whole(function, data=None):
    """True for a tool call whose input is all there: an object (data: what it decodes to, where that is known)."""
    if data is None:
        data = tool_input(function.get('arguments'))[0]
    return type(data) in (dict, list)


def _tells_ends(version):
    """True for wire versions that say where a turn ends (1.2 and later)."""
    parts = (version or '').split('.')
    return len(parts) > 1 and parts[0] == '1' and parts[1].isdecimal() and len(parts[1]) < 10 and int(parts[1]) >= 2
