"""Rows of a session's stream (updates.jsonl) to events.

A row is an envelope around one update: ACP's session/update kinds and the client's own. Consecutive chunks of a message are
joined by the client before it writes them, so a row is a message. Unknown fields are ignored, an unknown kind becomes an
`unknown` event and is counted once. Facts from the client's published source and from sessions of build 1.0.41.
"""
import os
from zlib import crc32

from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, COLLATERAL, COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, RECAP, REPLY, THINKING,
    TOOL_CALL, TOOL_RESULT, UNKNOWN, USAGE, Compaction, Event, ToolResult, Usage, counter)
from ..records import read_records
from .grok_ledger import Bills, Children, add, legs
from .grok_side import Card, recap
from .grok_text import block_text, classify, failed, inside, origin_of, result_text, strings, time_of, unwrap, word
from .repeats import Repeats

# Kinds without conversation in them: known, and nothing to tell.
_BOOKKEEPING = frozenset((
    'plan plan_update plan_removed available_commands_update session_info_update background_tasks turn_started response_started '
    'response_completed pending_interaction interaction_resolved user_cancelled unknown session_summary_generated '
    'session_recap_unavailable rewind_marker auto_continue_completed auto_compact_started auto_compact_failed auto_compact_cancelled '
    'subagent_progress subagent_resumed tool_call_delta_chunk retry_states session_status model_auto_switch_failed').split())
_BOOKKEEPING_HEADS = ('auto_recovery_', 'memory_', 'scheduled_task_', 'hook_', 'goal_', 'workflow_', 'image_', 'task_', 'plugin_',
                      'monitor_', 'mcp_', 'git_', 'queue_', 'usage_')
# Parts of a record that come from other files of the folder are numbered from here.
ASIDE = 1000
_REFUSED = ('User rejected the execution', 'User cancelled the execution', 'The user rejected', 'User rejected')
_COLLATERAL = ('Tool execution cancelled due to earlier',)
_SHORT_ID = 24


class Parser(object):
    """Turns the rows of one stream into events. `state` (a dict of plain values) lets a grown file go on."""

    def __init__(self, source, coverage, state):
        self.coverage, self.state = coverage, state
        self.folder = os.path.dirname(source.path)
        self.session = source.session if source.role == 'main' and source.session else os.path.basename(self.folder)
        self.chain = source.chain if source.role != 'main' else ''
        self.card = Card(self.folder)
        self.in_agent = source.role != 'main' or self.card.is_subagent()
        # Names rows that carry no id, the same in a fork as in the session it was made from.
        self.place = self.card.origin(self.session)
        self.repeats = Repeats(state, lambda: read_records(source.path))
        self.turn = state.get('turn', 0)
        self.bills = Bills(state)
        self.children = Children(self.folder, state)
        self.folded = {}        # session of a subagent -> what of its spending was on a bill that was read

    skip = None

    @property
    def family(self):
        """True for a session that has subagents."""
        return 'spawns' in self.state or os.path.isdir(os.path.join(self.folder, 'subagents'))

    def said(self):
        """-> list of Events of what the session's card says, as far as it is new."""
        card, state, out = self.card, self.state, []
        pairs = [('cwd', card.cwd), ('branch', card.branch)]
        if not self.chain:
            pairs += [('entrypoint', card.kind), (card.title_kind, card.title)]
            if card.parent and not card.is_subagent():
                pairs.append(('foreign', card.parent))
        told = state.setdefault('said', {})
        for number, (label, text) in enumerate(pairs):
            if text and told.get(label) != text:
                told[label] = text
                out.append(Event(META, label, None, '', 0, None, None, text, None, 1, 0, 0, ASIDE + number))
        return out

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        update, meta, stamp = unwrap(data)
        kind = update.get('sessionUpdate') if update is not None else None
        if type(kind) is not str:
            return self._unknown('no update', stamp, line, offset, length)
        row = _Row(self, update, meta, stamp, line, offset, length)
        if self.repeats.holds(row.time, record):
            return []
        out = row.out
        origin = origin_of(meta)
        if origin and origin != self.session and not self.chain and 'foreign' not in self.state and not self.card.parent:
            self.state['foreign'] = 1
            row.add(META, 'foreign', origin, part=-1)
        pending = self.state.get('checkpoint')
        if pending and kind != 'auto_compact_completed':
            # A compaction whose end was not told.
            del self.state['checkpoint']
            row.add(COMPACTION, '', '', pending, data=Compaction('', None), part=-1)
        if kind != 'user_message_chunk':
            self.state.pop('prompt', None)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, row, update)
        elif kind not in _BOOKKEEPING and not kind.startswith(_BOOKKEEPING_HEADS):
            return out + self._unknown('update %s' % kind[:50], stamp, line, offset, length)
        return out

    def _unknown(self, why, stamp, line, offset, length):
        self.coverage.drift(line, why)
        return [Event(UNKNOWN, why, parse_time(stamp), self.chain, 0, None, None, '', None, line, offset, length, 0)]

    def _user(self, row, update):
        text = block_text(update.get('content'))
        if not text.strip():
            return
        kind, label, shown = classify(update, row.meta, text, self.in_agent)
        ident = row.ident(text)
        if kind == PROMPT:
            extra = inside(update, '_meta')
            number = extra.get('promptIndex')
            same = 'n%d' % number if type(number) is int else word(row.meta.get('eventId'))
            if same and self.state.get('prompt') == same:
                # One row a block: what was sent along with a prompt.
                kind, label = INJECTED, ATTACHMENT
                ident = '%s+%08x' % (ident, crc32(text.encode('utf-8', 'replace')))
            else:
                self.state['prompt'] = same
                self.turn += 1
                self.state['turn'] = self.turn
                model = word(extra.get('modelId'))
                if model:
                    self.state['model'] = model
        row.add(kind, label, shown, ident, data=text.count('[image]') or None)

    def _reply(self, row, update):
        text = block_text(update.get('content'))
        if not text:
            return
        extra = inside(update, '_meta')
        if extra.get('hostTurn') is True:
            row.add(INJECTED, 'command_output', text, row.ident(text))
        else:
            row.add(REPLY, '', text, row.ident(text), row.message())

    def _thought(self, row, update):
        text = block_text(update.get('content'))
        if text:
            row.add(THINKING, '', text, row.ident(text), row.message())

    def _call(self, row, update):
        extra = inside(update, '_meta')
        if extra.get('bash_mode') is True:
            return self._result(row, update)
        tool = extra.get('x.ai/tool')
        given = update.get('rawInput')
        name = word(tool.get('name')) if type(tool) is dict else ''
        name = name or word(update.get('title')) or '(unnamed)'
        row.add(TOOL_CALL, name, '\n'.join(strings(given)), row.call(update), row.message(), given)
        self._result(row, update)

    def _result(self, row, update):
        status = update.get('status')
        if status not in ('completed', 'failed'):
            return
        raw = update.get('rawOutput')
        text = result_text(update.get('content'), raw)
        if word(update.get('toolCallId')).startswith('bash-mode-'):
            row.add(INJECTED, 'shell_output', text or '(no output)', row.ident(text))
            return
        label = ERROR if status == 'failed' or failed(raw) else OK
        if label == ERROR and text.startswith(_REFUSED):
            label = DECLINED
        elif label == ERROR and text.startswith(_COLLATERAL):
            label = COLLATERAL
        spill = ''
        if type(raw) is dict and raw.get('truncated') is True:
            spill = word(raw.get('output_file'))
        row.add(TOOL_RESULT, label, text, '%s:result' % row.call(update), None, ToolResult(row.call(update), spill), part=1)

    def _completed(self, row, update):
        prompt = word(update.get('prompt_id'))
        # A person's program may number prompts by itself: the session they were written in tells them apart.
        writer = origin_of(row.meta) or (self.place if len(prompt) < _SHORT_ID else '')
        key = '%s:%s' % (writer, prompt) if writer else prompt
        stop = word(update.get('stop_reason'))
        wrong = word(update.get('agent_result')) if stop == 'error' else ''
        if wrong and self.state.pop('failed', None) != wrong:
            row.add(REPLY, 'api_error', wrong, row.ident(wrong))
        if stop == 'cancelled' and row.meta.get('cancellationCategory') != 'HookDenied':
            row.add(INJECTED if self.in_agent else INTERRUPTION, 'interruption', '', 'stop:%s' % (key or row.ident(stop)), part=1)
        running = self.children.running()
        on_bill = self.children.on_bill(prompt, row.time)
        usage = update.get('usage')
        if type(usage) is not dict:
            return
        bill = legs(usage, self.state.get('model') or self.card.model)
        if not prompt:
            bill, key = self.bills.without_id(bill), row.ident('bill')
        children = {}
        for _, spent in on_bill:
            add(children, spent)
        calls = self.bills.take(key, bill, children)
        if self.bills.held:
            for child, spent in on_bill:
                add(self.folded.setdefault(child, {}), spent)
        # A bill the client calls incomplete lacks the call that failed; one that lacks a subagent only is whole without it.
        partial = usage.get('usageIsIncomplete') is True and not running
        for number, (model, k, (total, output, cached, created, reasoning)) in enumerate(calls):
            last = number == len(calls) - 1
            final = 0 if partial and last else 1
            row.add(USAGE, '', '', '%s:%s:%d' % (key, model, k), None, Usage(
                model, max(0, total - cached - created), output, cached, created, 0, final, 0 if final else 8 * output + 8,
                '', '', '', 0, 0, stop if last else '', min(reasoning, output)), part=2 + number)

    def _checkpoint(self, row, update):
        ident = word(update.get('checkpoint_id')) or row.ident('checkpoint')
        self.state['checkpoint'] = ident
        text = recap(self.folder, word(update.get('checkpoint_file')))
        if text:
            row.add(INJECTED, RECAP, text, 'recap:%s' % ident)

    def _compacted(self, row, update):
        before = counter(update.get('tokens_before'))
        ident = self.state.pop('checkpoint', None) or row.ident('compacted')
        preview = word(update.get('summary_preview'))
        row.add(COMPACTION, '', preview, ident, data=Compaction('', before or None))

    def _retry(self, row, update):
        text = word(update.get('reason')) or word(update.get('message'))
        if update.get('type') == 'failed':
            if text:
                self.state['failed'] = text
                row.add(REPLY, 'api_error', text, row.ident(text))
        elif update.get('type') == 'retrying':
            row.add(META, 'retry', text, row.ident(text))

    def _spawned(self, row, update):
        child = word(update.get('child_session_id')) or word(update.get('subagent_id'))
        prompt = update.get('parent_prompt_id')
        if child:
            self.children.spawned(word(update.get('subagent_id')) or child, child, prompt if type(prompt) is str else None, row.time)
            row.add(META, 'subagent', word(update.get('description')), child)

    def _finished(self, row, update):
        child = word(update.get('child_session_id')) or word(update.get('subagent_id'))
        if child:
            self.children.finished(word(update.get('subagent_id')) or child, child, row.time)

    def _told(self, row, update):
        text = word(update.get('summary')) or word(update.get('recap')) or word(update.get('text'))
        if text:
            row.add(INJECTED, RECAP, text, row.ident(text), data='away')

    def _mode(self, row, update):
        row.add(META, 'mode', word(update.get('currentModeId')))

    def _model(self, row, update):
        model = word(update.get('model_id')) or word(update.get('modelId')) or word(update.get('to_model')) or word(update.get('model'))
        if model:
            self.state['model'] = model
            row.add(META, 'model', model)


class _Row(object):
    """One row in the making: what its events share."""

    def __init__(self, parser, update, meta, stamp, line, offset, length):
        self.parser, self.meta = parser, meta
        self.time = time_of(meta, stamp)
        self.where = line, offset, length
        self.origin = origin_of(meta) or parser.place
        self.out = []

    def ident(self, text):
        """-> identity of what the row tells, the same in every copy: the client counts events anew after a resume, so
        their time belongs to it; a row without an event id is told by its place and text."""
        event = self.meta.get('eventId')
        if type(event) is str and event:
            return '%s@%s' % (event, self.meta.get('agentTimestampMs') or self.time)
        return '%s@%d.%08x' % (self.parser.place, self.where[1], crc32(text.encode('utf-8', 'replace')))

    def call(self, update):
        """-> identity of a tool call: short ids are given out again in other sessions."""
        call = word(update.get('toolCallId'))
        if not call:
            return self.ident('call')
        return call if len(call) >= _SHORT_ID else '%s:%s' % (self.origin, call)

    def message(self):
        """-> identity of the model response a row belongs to, None when it does not tell."""
        start = self.meta.get('streamStartMs')
        return '%s@%s' % (self.meta.get('promptId'), start) if start is not None else None

    def add(self, kind, label, text, ident=None, message=None, data=None, part=0):
        """Append an event."""
        chain = self.parser.chain
        self.out.append(Event(kind, label, self.time, chain, 0 if chain else self.parser.turn, ident, message, text, data,
                              self.where[0], self.where[1], self.where[2], part))


_HANDLERS = {
    'user_message_chunk': Parser._user, 'agent_message_chunk': Parser._reply, 'agent_thought_chunk': Parser._thought,
    'tool_call': Parser._call, 'tool_call_update': Parser._result, 'turn_completed': Parser._completed,
    'compaction_checkpoint': Parser._checkpoint, 'auto_compact_completed': Parser._compacted, 'retry_state': Parser._retry,
    'subagent_spawned': Parser._spawned, 'subagent_finished': Parser._finished, 'session_recap': Parser._told,
    'last_turn_summary': Parser._told, 'current_mode_update': Parser._mode, 'model_changed': Parser._model,
    'model_auto_switched': Parser._model,
}
