"""Qwen Code's records to events.

Calls are counted by the rows of telemetry, which stand for every one of them; an answer's own counters only where no such
row speaks of it. What subagents without a transcript of their own did is told by the same rows.
"""
import os

from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, COMPACTION, INJECTED, META, PROMPT, QUEUED, RECAP, REPLY, SLASH, THINKING, TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN,
    USAGE, Compaction, Event, ToolResult)
from . import qwen
from .parts import calls, listed, outcome, prompt, responses, spoken, thought, usage_of
from .values import classify, count, images, inner, tool_input, without_blocks, word

# Rows without conversation in them.
_BOOKKEEPING = frozenset((
    'attribution_snapshot', 'file_history_snapshot', 'session_sources_snapshot', 'session_model', 'parent_session', 'rewind',
    'branch_checkpoint', 'goal_state', 'goal_turn_end', 'omni_recall', 'turn_result', 'user_text_elements',
    'session_artifact_event', 'session_artifact_snapshot', 'session_approval_mode', 'session_execution_engine', 'session_notes',
    'agent_bootstrap', 'agent_launch_prompt', 'agent_retry', 'agent_session_ready', 'managed_session_header_v1',
    'managed_session_event_v1', 'managed_session_commit_v1'))
# What stands in a user's place and no person typed there, and our label.
_INJECTED = {'notification': 'notification', 'background_task_completed': 'notification', 'cron': 'notification', 'goal_runtime': 'meta',
             'realtime_message': 'peer'}
# Calls that the client makes for itself.
_CLIENTS_OWN = 'managed-'
_SPILLED = 'The full output has been saved to: '
# Telemetry rows and answers that wait for each other, at most.
_WAITING = 8


class Maker(object):
    """Makes the events of one record."""

    def __init__(self, parser, data, line, offset, length):
        self.parser, self.line, self.offset, self.length = parser, line, offset, length
        self.time = parse_time(data.get('timestamp'))
        self.uuid = word(data.get('uuid')).replace('/', '.') or '%s.%d' % (parser.session, offset)
        self.out = []

    def add(self, kind, label, ident, text='', data=None, chain=None, message=False):
        """Append an event. chain: another than the file's own; message: it belongs to the answer of this record."""
        chain = self.parser.chain if chain is None else chain
        self.out.append(Event(kind, label, self.time, chain, 0 if chain else self.parser.turn, ident,
                              self.uuid if message else None, text, data, self.line, self.offset, self.length, len(self.out)))

    def unknown(self, why):
        """Append what is not understood."""
        self.parser.coverage.drift(self.line, why)
        self.add(UNKNOWN, why, None)


class Parser(object):
    """Turns records into events.

    source: a Source. state (dict of plain values): turn; cwd, branch, version as last said; told, said (counters of calls
    that only telemetry, or only an answer has spoken of); uses (how often a short call id was used); command (typed, its
    expansion follows); context; named (subagents).
    """

    def __init__(self, coverage, source, state):
        self.coverage, self.state = coverage, state
        self.path, self.session = source.path, source.session or ''
        self.chain = source.chain if source.role != 'main' else ''
        self.turn = state.get('turn', 0)
        self._own, self._model = {}, None

    def events(self, record):
        """-> list of Events of a record."""
        data, line, offset, length = record
        make = Maker(self, data, line, offset, length)
        kind, subtype = word(data.get('type')), word(data.get('subtype'))
        if kind == 'user':
            self._user(make, data, subtype)
        elif kind == 'assistant':
            self._assistant(make, data)
        elif kind == 'tool_result':
            self._result(make, data)
        elif kind == 'system':
            handler = _SYSTEM.get(subtype)
            if handler is not None:
                handler(self, make, inner(data, 'systemPayload'))
            elif subtype not in _BOOKKEEPING:
                make.unknown('system record %s' % (subtype[:40] or 'without a subtype'))
        else:
            make.unknown('record type %s' % (kind[:40] or 'missing'))
        self._news(make, data)
        return make.out

    def _news(self, make, data):
        """Append what a record says of its session and the one before did not (behind all else, whose places stay)."""
        state = self.state
        for label, name in (('cwd', 'cwd'), ('branch', 'gitBranch'), ('version', 'version')):
            value = word(data.get(name))
            if value and state.get(label) != value:
                state[label] = value
                make.add(META, label, None, value)
        if type(data.get('forkedFrom')) is dict and not state.get('foreign'):
            state['foreign'] = True
            make.add(META, 'foreign', None)
        if self.chain and not state.get('alone') and not self._there(self.session):
            # Its session is gone: only this file speaks of the subagent.
            state['alone'] = True
            make.add(META, 'subagent', '%s#%s' % (self.session, self.chain))

    def _there(self, session):
        """True when the transcript of a session of this project is there."""
        if session not in self._own:
            self._own[session] = os.path.isfile(qwen.transcript_of(self.path, session))
        return self._own[session]

    # what stands in a user's place

    def _user(self, make, data, subtype):
        found = listed(inner(data, 'message').get('parts'))
        payload = inner(data, 'systemPayload')
        text = spoken(found)
        if not text.strip():
            for _, name, said, failed in responses(found):
                make.unknown('a result of %s in a user record' % (name or 'a tool'))
            return
        source = word(data.get('provenance'))
        if self.chain:
            make.add(INJECTED, 'notification' if data.get('externalInputKind') == 'notification' else 'task', make.uuid, text)
            return
        if subtype in _INJECTED or subtype not in ('', 'mid_turn_user_message') or source not in ('', 'real_user'):
            make.add(INJECTED, _INJECTED.get(subtype, 'meta'), make.uuid, word(payload.get('displayText')) or text)
            return
        command = self.state.pop('command', '')
        typed, added = prompt(found, word(payload.get('displayText')))
        typed = without_blocks(typed, 'hook_context')
        kind, label, shown = classify(typed)
        if kind == PROMPT:
            self.turn += 1
            self.state['turn'] = self.turn
            # Commands that the client knows have rows of their own; what else begins with a slash was sent as it is.
            label = SLASH if command and typed.startswith(command) else QUEUED if subtype else TYPED
        make.add(kind, label, make.uuid, shown, images(shown) if kind == PROMPT else None)
        if added:
            make.add(INJECTED, ATTACHMENT, make.uuid + '/files', added)

    def _slash(self, make, payload):
        raw = word(payload.get('rawCommand')).strip()
        if payload.get('phase') == 'result':
            items = payload.get('outputHistoryItems')
            text = '\n'.join(item['text'] for item in items if type(item) is dict and type(item.get('text')) is str) if type(items) is list else ''
            if text:
                make.add(INJECTED, 'command_output', make.uuid, text)
        elif raw:
            if payload.get('sentToModel') is True:
                self.state['command'] = raw
            make.add(INJECTED, 'local_command', make.uuid, raw)

    def _files(self, make, payload):
        names = payload.get('filesRead')
        names = [name for name in names if type(name) is str] if type(names) is list else []
        if names:
            make.add(INJECTED, ATTACHMENT, make.uuid, '\n'.join(names))

    def _notice(self, make, payload):
        text = word(payload.get('displayText'))
        if text:
            make.add(INJECTED, 'notification', make.uuid, text)

    # the model's answers and its calls of tools

    def _assistant(self, make, data):
        found = listed(inner(data, 'message').get('parts'))
        text = thought(found)
        if text:
            make.add(THINKING, '', make.uuid + '/thought', text, message=True)
        text = spoken(found)
        if text:
            make.add(REPLY, '', make.uuid + '/text', text, message=True)
        for number, (call, name, given) in enumerate(calls(found)):
            given, text = tool_input(given)
            make.add(TOOL_CALL, name or '(unnamed)', self._call_id(make, call or '%s.%d' % (make.uuid, number), True), text, given, message=True)
        counters = data.get('usageMetadata')
        # Of a subagent's calls the telemetry of its session tells.
        if type(counters) is dict and not (self.chain and self._there(self.session)):
            use = _usage(counters, word(data.get('model')) or self._agents_model(), ('promptTokenCount', 'candidatesTokenCount', 'cachedContentTokenCount',
                                                            'thoughtsTokenCount', 'toolUsePromptTokenCount', 'totalTokenCount'))
            if not self._spoken_of('told', 'said', use):
                self._spend(make, make.uuid, use, self.chain)

    def _agents_model(self):
        """-> the model in the sidecar of a subagent's transcript, whose answers name none."""
        if self._model is None:
            self._model = ''
            if self.chain and self.path.endswith('.jsonl'):
                from .qwen_usage import sidecar
                self._model = word(sidecar(self.path).get('model'))
        return self._model

    def _spoken_of(self, ours, others, use):
        """True when the other kind of record (those waiting under `ours`) spoke of this call already; else it waits."""
        mark = '%d %d %d' % (use.input, use.output, use.cache_read)
        waiting = self.state.get(ours) or []
        if mark in waiting:
            waiting.remove(mark)
            return True
        self.state[others] = ((self.state.get(others) or []) + [mark])[-_WAITING:]
        return False

    def _spend(self, make, ident, use, chain):
        if not (use.input or use.output or use.cache_read):
            return
        if not chain:
            self.state['context'] = use.input + use.output + use.cache_read
        make.add(USAGE, '', ident, '', use, chain)

    def _call_id(self, make, call, opens):
        """-> the id of a call. Short ones ('call_0') come again in every answer of some models: the answer's id tells them."""
        if len(call) >= 16:
            return call
        opened = self.state.setdefault('opened', {})
        if opens:
            opened[call] = make.uuid
        return '%s/%s' % (opened.get(call, self.session), call)

    def _result(self, make, data):
        told = inner(data, 'toolCallResult')
        found = responses(listed(inner(data, 'message').get('parts')))
        call = word(told.get('callId')) or next((one[0] for one in found if one[0]), '')
        name = next((one[1] for one in found if one[1]), '')
        text = '\n'.join(one[2] for one in found if one[2]) or word(told.get('resultDisplay'))
        if not call:
            make.unknown('a result that names no call')
            return
        label = outcome(name, word(told.get('status')), text, any(one[3] for one in found))
        spill, at = '', text.find(_SPILLED, 0, 1000)
        if at >= 0:
            spill = text[at + len(_SPILLED):].split('\n', 1)[0].strip()
        ident = self._call_id(make, call, False)
        make.add(TOOL_RESULT, label, ident + '/result', text, ToolResult(ident, spill))

    # telemetry

    def _telemetry(self, make, payload):
        event = inner(payload, 'uiEvent')
        name = word(event.get('event.name')).rpartition('.')[2]
        origin, agent = self._agent_of(event)
        chain = agent or self.chain
        if name == 'api_response':
            use = _usage(event, word(event.get('model')), ('input_token_count', 'output_token_count', 'cached_content_token_count',
                                                          'thoughts_token_count', 'tool_token_count', 'total_token_count'))
            if agent or not self._spoken_of('said', 'told', use):
                self._spend(make, make.uuid, use, chain)
        if not agent:
            if name == 'api_error':
                make.add(REPLY, 'api_error', make.uuid, word(event.get('error_message')), message=True)
            elif name == 'api_retry':
                make.add(META, 'retry', make.uuid, word(event.get('error_message')))
            return
        if agent.startswith(_CLIENTS_OWN):
            return
        if name in ('api_response', 'tool_call', 'api_error') and not self._has_transcript(origin, agent):
            self._done_by(make, name, event, agent)
        if agent not in self.state.setdefault('named', []):
            self.state['named'].append(agent)
            make.add(META, 'subagent', '%s#%s' % (origin, agent))

    def _agent_of(self, event):
        """-> (session it belongs to, id of the subagent) of a row of telemetry; the id is '' for the session's own."""
        pieces = word(event.get('prompt_id')).split('#')
        if len(pieces) == 3 and pieces[1]:
            # In a branch's copy it still is the session that was left.
            return pieces[0], pieces[1].replace('/', '.')
        return self.session, word(event.get('subagent_name')).replace('/', '.')

    def _has_transcript(self, session, agent):
        """True when a subagent of this kind wrote a transcript of its own."""
        kind = agent.rpartition('-')[0] or agent
        if (session, kind) not in self._own:
            try:
                names = os.listdir(qwen.agents_dir(self.path, session))
            except (OSError, ValueError):
                names = []
            self._own[session, kind] = any(name.startswith('agent-' + kind) and name.endswith('.jsonl') for name in names)
        return self._own[session, kind]

    def _done_by(self, make, name, event, agent):
        """What a subagent without a transcript did, as far as telemetry tells it."""
        if name == 'tool_call':
            tool = word(event.get('function_name')) or '(unnamed)'
            given, text = tool_input(event.get('function_args'))
            make.add(TOOL_CALL, tool, make.uuid, text, given, agent, True)
            error = word(event.get('error'))
            status = 'cancelled' if event.get('decision') == 'reject' else word(event.get('status'))
            label = outcome(tool, status, 'rejected' if event.get('decision') == 'reject' else error)
            make.add(TOOL_RESULT, label, make.uuid + '/result', error, ToolResult(make.uuid, ''), agent)
        elif name == 'api_error':
            make.add(REPLY, 'api_error', make.uuid, word(event.get('error_message')), None, agent, True)
        elif word(event.get('response_text')):
            make.add(REPLY, '', make.uuid + '/text', event['response_text'], None, agent, True)

    # the rest

    def _compaction(self, make, payload):
        info = inner(payload, 'info')
        # Attempts that failed leave no such row.
        before = count(info.get('originalTokenCount'))
        make.add(COMPACTION, '', make.uuid, '', Compaction('', before or self.state.get('context') or None))
        history = payload.get('compressedHistory')
        first = history[0] if type(history) is list and history and type(history[0]) is dict else {}
        text = spoken(listed(first.get('parts')))
        if text:
            make.add(INJECTED, RECAP, make.uuid + '/recap', text)

    def _title(self, make, payload):
        title = word(payload.get('customTitle')).strip()
        if title and not self.chain:
            make.add(META, 'ai-title' if payload.get('titleSource') == 'auto' else 'custom-title', None, title)

    def _origin(self, make, payload):
        kind = word(payload.get('sourceType'))
        if kind:
            make.add(META, 'entrypoint', None, kind)


_SYSTEM = {'ui_telemetry': Parser._telemetry, 'chat_compression': Parser._compaction, 'custom_title': Parser._title,
           'slash_command': Parser._slash, 'at_command': Parser._files, 'session_source': Parser._origin,
           'background_task_completed': Parser._notice, 'notification': Parser._notice}


def _usage(counters, model, names):
    return usage_of(model, *[count(counters.get(name)) for name in names])
