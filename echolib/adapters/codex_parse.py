"""Codex rollout records to events: builds 0.2 to 0.171, three eras of one file format.

Builds write most texts twice (as an item the model saw and as an event for the screen), in either order, and some only
once. Both are read; the second word for a text is dropped. A text is told by its turn and its words, so a fork that
repeats a turn gives the same identities. Loose by design: an unknown record becomes an `unknown` event, counted once.
"""
import os
import re

from ..base.clock import parse_time
from ..events import COMPACTION, INJECTED, INTERRUPTION, META, RECAP, REPLY, THINKING, UNKNOWN, USAGE, Compaction, Event
from ..records import Coverage
from .codex import home_of, records, thread_of
from .codex_head import find_thread, kinship, origin_of, turns_of
from .codex_text import content_text, mark, user_parts, word
from .codex_tools import ToolRecords
from .codex_user import DONE, EVENT, ITEM, UserRecords, origins_of
from .codex_usage import USAGE_PART, Calls, nothing, spent
from .repeats import Repeats

# A fork writes what it copied from its parent at once, under new times.
_COPY_MS = 1500
# A turn's id that is shorter says nothing outside its thread.
_UNIQUE = 16
TITLE_PART = -2
# Kinds without conversation, or that only repeat what another record says (persisted by some build, 0.34 to 0.171).
_QUIET_EVENTS = frozenset((
    'thread_settings_applied thread_goal_updated thread_rolled_back context_compacted entered_review_mode exited_review_mode '
    'web_search_begin web_search_end image_generation_begin image_generation_end sub_agent_activity view_image_tool_call '
    'dynamic_tool_call_request guardian_assessment guardian_warning warning stream_error '
    'exec_command_begin exec_command_output_delta mcp_tool_call_begin patch_apply_begin patch_apply_updated turn_diff '
    'collab_agent_spawn_begin collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end '
    'collab_waiting_begin collab_waiting_end collab_close_begin collab_close_end collab_resume_begin collab_resume_end '
    'agent_reasoning_section_break session_configured raw_response_item item_started plan_update plan_delta hook_started '
    'hook_completed model_reroute model_verification turn_moderation_metadata safety_buffering shutdown_complete '
    'deprecation_notice background_event exec_approval_request apply_patch_approval_request request_permissions '
    'request_user_input elicitation_request terminal_interaction mcp_startup_update mcp_startup_complete').split())
_QUIET_ITEMS = frozenset((
    'ghost_snapshot additional_tools compaction compaction_summary context_compaction compaction_trigger other').split())
_QUIET_DONE = frozenset((
    'WebSearch ImageView ImageGeneration ContextCompaction SubAgentActivity Sleep EnteredReviewMode ExitedReviewMode '
    'HookPrompt').split())
_QUIET_TYPES = frozenset(('world_state', 'inter_agent_communication_metadata', 'inter_agent_communication'))
_HEAD = re.compile(rb'\{"timestamp":"[^"]{1,40}",(?:"ordinal":\d+,)?"type":"([a-z_]+)","payload":\{(?:"type":"([a-z_]+)")?')
_NOISE = frozenset(name.encode('ascii') for name in _QUIET_TYPES)
_NOISE_INSIDE = frozenset(name.encode('ascii') for name in _QUIET_EVENTS | _QUIET_ITEMS)


def is_noise_line(line):
    """True for a line of bytes that holds no conversation, told from its head alone (no JSON is decoded)."""
    found = _HEAD.match(line)
    if found is None:
        return line.startswith(b'{"record_type":"state"') and line.rstrip().endswith(b'}')
    outer, inner = found.groups()
    return ((outer in _NOISE or outer in (b'event_msg', b'response_item') and inner in _NOISE_INSIDE)
            and line[-2:] == b'}\n' and line.find(b'{"timestamp":"', 1) < 0)


class Parser(UserRecords, ToolRecords):
    """Turns the records of one rollout into events. `state` (a dict of plain values) lets a grown file go on."""

    def __init__(self, coverage, source, state):
        self.coverage, self.state, self.path, self._known = coverage, state, source.path, None
        self.chain = state.get('chain', source.chain if source.role != 'main' else '')
        self.calls = Calls(state)
        self.turn = state.get('turn', 0)
        # Names the thread until its first record does.
        self.thread = state.get('id') or source.chain or source.session or thread_of(source.path)
        self.repeats = Repeats(state, lambda: records(source.path, Coverage(source.path), 0, 0, is_noise_line))

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, self.line, self.offset, self.length = record
        self.time = parse_time(data.get('timestamp'))
        kind, payload = data.get('type'), data.get('payload')
        if type(payload) is not dict:
            return self._bare(data, kind)
        if self.repeats.holds(self.time, record):
            return []
        state = self.state
        if 'copied' in state and self.time is not None and self.time > state['copied'] + _COPY_MS:
            # The copy ends without a mark; what follows is the thread's own.
            state['origin'] = self.thread
            del state['copied']
        if kind == 'response_item':
            return self._item(payload, payload.get('type'))
        if kind == 'event_msg':
            handler = _EVENTS.get(word(payload.get('type'))) if type(payload.get('type')) is str else None
            if handler is not None:
                return handler(self, payload)
            if word(payload.get('type')) in _QUIET_EVENTS:
                return []
            return self._unknown('event_msg %s' % word(payload.get('type'))[:40])
        handler = _RECORDS.get(kind) if type(kind) is str else None
        if handler is not None:
            return handler(self, payload)
        return [] if word(kind) in _QUIET_TYPES else self._unknown('record type %s' % (word(kind)[:60] or 'none'))

    def title(self, text, record):
        """-> the event of a name that was given to the thread, placed at a record."""
        self.line, self.offset, self.length, self.time = record.line, record.offset, record.length, None
        return self._event(META, 'custom-title', None, None, text, None, TITLE_PART)

    # helpers

    def _event(self, kind, label, ident, message, text, data, part):
        return Event(kind, label, self.time, self.chain, 0 if self.chain else self.turn, ident, message, text, data,
                     self.line, self.offset, self.length, part)

    def _unknown(self, why):
        self.coverage.drift(self.line, why)
        return [self._event(UNKNOWN, why, None, None, '', None, 0)]

    def _scope(self):
        """What the present turn is called in every copy of it."""
        state = self.state
        turn, origin = state.get('turn_id'), state.get('origin') or self.thread
        if turn is None:
            return '%s#%d' % (origin, state.get('asked', 0))
        return turn if len(turn) >= _UNIQUE else '%s#%s' % (state.get('borrowed') or origin, turn)

    def _turn_of(self, payload):
        """Note the turn a record says it belongs to."""
        turn = payload.get('turn_id')
        if type(turn) is str and turn and turn != self.state.get('turn_id'):
            self.state['turn_id'] = turn
            if len(turn) < _UNIQUE and 'kin' in self.state:
                self._borrow(turn)
            self._fresh()

    def _borrow(self, turn):
        """Note whose turn it is, where the thread may begin with turns of another one whose ids say nothing by themselves."""
        state = self.state
        state.pop('borrowed', None)
        if self._known is None:
            above = find_thread(home_of(self.path), state['kin'], os.path.dirname(self.path))
            self._known = turns_of(above) if above else {}
        if turn in self._known and 'own' not in state:
            state['borrowed'] = self._known[turn]
        elif self._known:
            state['own'] = 1

    def _fresh(self):
        state = self.state
        state['seen'] = {}
        state.pop('aborted', None)
        state.pop('prompted', None)
        self.calls.new_turn()

    def _first(self, family, ident):
        """-> the identity of a text, '' when another family of records has told it already."""
        counts = self.state.setdefault('seen', {}).setdefault(ident, [0, 0, 0])
        known = max(n for place, n in enumerate(counts) if place != family)
        counts[family] += 1
        if counts[family] <= known:
            return ''
        return '%s/%s%s' % (self._scope(), ident, '.%d' % counts[family] if counts[family] > 1 else '')

    def _call(self, out):
        """-> identity of the response the model is writing; its first sign adds a usage event without tokens yet."""
        number, fresh = self.calls.output()
        key = '%s/r%d' % (self._scope(), number)
        if fresh:
            out.append(self._event(USAGE, '', key, key, '', nothing(self.state.get('model', '')), USAGE_PART))
        return key

    # records

    def _meta(self, payload):
        state, out = self.state, []
        named = word(payload.get('id')) or word(payload.get('session_id'))
        if 'id' in state and named and named != state['id']:
            # A copied header: what follows is another thread's history.
            state.update(origin=named, copied=self.time or 0)
            return self._foreign(named, out)
        begun = 'id' not in state
        if begun:
            state['id'] = self.thread = named or self.thread
            parent, _, machine = kinship(payload)
            if machine:
                state['machine'] = 1
            # Written when the thread first had something to say; it began a little before.
            self.time = parse_time(payload.get('timestamp')) or self.time
            if parent:
                self.chain = state['chain'] = self.thread
                out.append(self._event(META, 'subagent', self.thread, None, '', None, -1))
            if origin_of(payload):
                state['kin'] = origin_of(payload)
            if word(payload.get('forked_from_id')):
                self._foreign(payload['forked_from_id'], out)
        git = payload.get('git')
        for label, value in (('cwd', payload.get('cwd')), ('branch', git.get('branch') if type(git) is dict else None),
                             ('version', payload.get('cli_version')), ('entrypoint', payload.get('originator'))):
            self._note(label, value, out)
        if begun and not out:
            # The only time a thread of the oldest builds has.
            out.append(self._event(META, 'begun', None, None, '', None, -1))
        return out

    def _foreign(self, thread, out):
        if 'foreign' not in self.state:
            self.state['foreign'] = 1
            out.append(self._event(META, 'foreign', None, None, thread, None, -1))
        return out

    def _note(self, label, value, out):
        """Add a meta event where one of the thread's surroundings changes."""
        if type(value) is str and value and value != self.state.get(label):
            self.state[label] = value
            out.append(self._event(META, label, None, None, value, None, -1))

    def _context(self, payload):
        out = []
        self._turn_of(payload)
        if 'borrowed' in self.state:
            self._foreign(self.state['kin'], out)
        model = payload.get('model')
        if type(model) is str:
            self.state['model'] = model
        self._note('cwd', payload.get('cwd'), out)
        self._note('mode', payload.get('approval_policy'), out)
        return out

    def _compacted(self, payload):
        before = self.calls.context_before(word(payload.get('compaction_response_id')))
        self.state['squeezed'] = self.state.get('squeezed', 0) + 1
        ident = word(payload.get('window_id')) or '%s/k%d' % (self._scope(), self.state['squeezed'])
        what = Compaction('', before)
        out = [self._event(COMPACTION, '', ident, None, '', what, 0)]
        text = word(payload.get('message'))
        if text.strip():
            out.append(self._event(INJECTED, RECAP, ident + '/m', None, text, None, 1))
        self.calls.request()
        return out

    def _usage_record(self, payload):
        found = self.calls.record(payload)
        if found is None:
            return []
        number, values = found
        if number is None:
            key = '%s/%s' % (payload['turn_id'], word(payload.get('response_id')) or self.offset)
        else:
            key = '%s/r%d' % (self._scope(), number)
        return [self._event(USAGE, '', key, key, '', spent(values, self.state.get('model', '')), USAGE_PART)]

    # what the model wrote

    def _say(self, family, kind, texts):
        """Events of what the model wrote: one for each text."""
        out = []
        for part, text in enumerate(texts if type(texts) in (list, tuple) else ()):
            if type(text) is str and text.strip():
                ident = self._first(family, ('m' if kind == REPLY else 'h') + mark(text))
                if ident:
                    out.append(self._event(kind, '', ident, self._call(out), text, None, part))
        return out

    def _item(self, payload, kind):
        handler = _ITEMS.get(kind) if type(kind) is str else None
        if handler is not None:
            return handler(self, payload)
        return [] if word(kind) in _QUIET_ITEMS else self._unknown('item %s' % (word(kind)[:40] or 'without type'))

    def _message(self, payload):
        role = payload.get('role')
        if role == 'assistant':
            return self._say(ITEM, REPLY, (content_text(payload.get('content')),))
        content = payload.get('content')
        if role == 'user':
            return self._user(ITEM, *user_parts(content, origins_of(payload)))
        # Instructions of the client begin with a tag and are the same everywhere; a person's own do not.
        origins = origins_of(payload)
        text = '\n'.join(
            p['text'] for place, p in enumerate(content if type(content) is list else ({'text': content},))
            if type(p) is dict and word(p.get('text')).strip() and not p['text'].lstrip().startswith('<')
            and origins[place:place + 1] not in (('harness',), ('tool',), ('skills',)))
        ident = self._first(ITEM, 'j' + mark(text)) if text else ''
        return [self._event(INJECTED, 'system', ident, None, text, None, 0)] if ident else []

    def _reasoning(self, payload):
        texts = []
        for key in ('summary', 'content'):
            parts = payload.get(key)
            found = [p if type(p) is str else p.get('text') for p in parts if type(p) in (str, dict)] if type(parts) is list else []
            texts = texts or found
        out = self._say(ITEM, THINKING, texts)
        if not out:
            self._call(out)
        return out

    def _agent_message(self, payload):
        """A message between agents: a task for a subagent, or its answer to the one that started it."""
        self.calls.request()
        content = payload.get('content')
        texts = [p.get('text') or p.get('encrypted_content') for p in content if type(p) is dict] if type(content) is list else []
        # Real ones are encrypted.
        text = '\n'.join(t for t in texts if type(t) is str and t and not t.startswith('gAAAA'))
        ident = self._first(ITEM, 'j' + mark(text)) if text.strip() else ''
        return [self._event(INJECTED, 'task' if self.chain else 'notification', ident, None, text, None, 0)] if ident else []

    def _completed(self, payload):
        item = payload.get('item')
        kind = item.get('type') if type(item) is dict else None
        handler = DONE_ITEMS.get(kind) if type(kind) is str else None
        if handler is not None:
            return handler(self, item)
        return [] if word(kind) in _QUIET_DONE else self._unknown('item_completed %s' % (word(kind)[:40] or 'without item'))

    # turns

    def _started(self, payload):
        self._turn_of(payload)
        self.state['running'] = 1
        return []

    def _finished(self, payload):
        self.state.pop('running', None)
        return self._failed(payload.get('error'))

    def _failed(self, error):
        """The words of a request that failed."""
        text = word(error.get('message')) if type(error) is dict else ''
        ident = self._first(EVENT, 'e' + mark(text)) if text.strip() else ''
        return [self._event(REPLY, 'api_error', ident, None, text, None, 0)] if ident else []

    def _aborted(self, payload):
        self.state.pop('running', None)
        self.state['aborted'] = 1
        if payload.get('reason') not in (None, 'interrupted') or self.chain:
            return []
        return [self._event(INTERRUPTION, '', '%s/x' % (word(payload.get('turn_id')) or self._scope()), None, '', None, 0)]

    def _tokens(self, payload):
        found = self.calls.token_count(payload.get('info'))
        if found is None:
            return []
        key = '%s/r%d' % (self._scope(), found[0])
        return [self._event(USAGE, '', key, key, '', spent(found[1], self.state.get('model', '')), USAGE_PART)]

    def _renamed(self, payload):
        out, name = [], payload.get('thread_name')
        # The list of names, where it has one, is newer.
        if not self.chain and not self.state.get('named') and word(payload.get('thread_id')) in ('', self.thread):
            self._note('custom-title', name, out)
        return out

    # before September 2025

    def _bare(self, data, kind):
        """A record without an envelope: an item as it is, the header, or a marker."""
        if kind == 'message' or kind is None and 'role' in data:
            return self._chat(data)
        if type(kind) is str and (kind in _ITEMS or kind in _QUIET_ITEMS):
            return self._item(data, kind)
        if 'record_type' in data:
            return []
        if kind is None and type(data.get('id')) is str:
            return self._meta(data)
        return self._unknown('record type %s' % (word(kind)[:60] or 'none'))

    def _chat(self, data):
        """An item in the style of chat completions: role, content, reasoning, tool_calls, tool_call_id."""
        if data.get('role') == 'tool':
            return self._output({'call_id': data.get('tool_call_id'), 'output': data.get('content')})
        # Parts are places in the record, so that what was read before cannot move them.
        out = [e._replace(part=e.part or 50) for e in self._say(ITEM, THINKING, (data.get('reasoning'),))]
        out += self._message(data)
        calls = data.get('tool_calls')
        for place, call in enumerate(calls if type(calls) is list else ()):
            function = call.get('function') if type(call) is dict else None
            if type(function) is dict:
                out += [e._replace(part=e.part or 60 + place) for e in self._function_call(dict(function, call_id=call.get('id')))]
        return out


_RECORDS = {
    'session_meta': Parser._meta, 'turn_context': Parser._context, 'compacted': Parser._compacted,
    'token_usage_record': Parser._usage_record,
}
_ITEMS = {
    'message': Parser._message, 'reasoning': Parser._reasoning, 'agent_message': Parser._agent_message,
    'function_call': Parser._function_call, 'custom_tool_call': Parser._custom_call, 'local_shell_call': Parser._shell_call,
    'web_search_call': Parser._server_call, 'image_generation_call': Parser._server_call, 'tool_search_call': Parser._server_call,
    'function_call_output': Parser._output, 'custom_tool_call_output': Parser._output, 'tool_search_output': Parser._search_output,
}
_EVENTS = {
    'user_message': Parser._user_event, 'item_completed': Parser._completed, 'token_count': Parser._tokens,
    'agent_message': lambda self, payload: self._say(EVENT, REPLY, (payload.get('message'),)),
    'agent_reasoning': lambda self, payload: self._say(EVENT, THINKING, (payload.get('text'),)),
    'agent_reasoning_raw_content': lambda self, payload: self._say(EVENT, THINKING, (payload.get('text'),)),
    'error': Parser._failed, 'task_started': Parser._started, 'turn_started': Parser._started, 'task_complete': Parser._finished,
    'turn_complete': Parser._finished, 'turn_aborted': Parser._aborted, 'thread_name_updated': Parser._renamed,
    'exec_command_end': Parser._exec_end, 'patch_apply_end': Parser._patch_end, 'mcp_tool_call_end': Parser._mcp_end,
    'dynamic_tool_call_response': Parser._patch_end,
}
DONE_ITEMS = {
    'UserMessage': lambda self, item: self._user(DONE, *user_parts(item.get('content'), (), True)),
    'AgentMessage': lambda self, item: self._say(DONE, REPLY, (content_text(item.get('content')),)),
    'Reasoning': lambda self, item: self._say(DONE, THINKING, item.get('summary_text') or item.get('raw_content') or ()),
    'Plan': lambda self, item: self._say(DONE, REPLY, (item.get('text'),)),
    'CommandExecution': Parser._done_command, 'FileChange': Parser._done_tool, 'McpToolCall': Parser._done_tool,
    'CollabAgentToolCall': Parser._done_tool, 'DynamicToolCall': Parser._done_tool,
}
