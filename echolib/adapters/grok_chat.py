"""Chat histories (chat_history.jsonl) to events, for sessions that left no stream.

The client rewrites this file at each compaction, so it holds what the model last saw, without times. Two shapes: items with
a `type` (format 1), and OpenAI's messages with a `role` (format 0). What the prompts cost comes from usage.json.
"""
import os
from zlib import crc32

from ..base import bounded_json
from ..events import (
    COLLATERAL, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, QUEUED, RECAP, REPLY, SLASH, THINKING, TOOL_CALL,
    TOOL_RESULT, TYPED, UNKNOWN, USAGE, Event, ToolResult, Usage)
from .grok_ledger import split
from .grok_side import Card, ledger
from .grok_text import COMMAND, block_text, inside, prompt_words, strings, word

# What the client put into a user slot, by its reason.
_REASONS = {'compaction_meta': RECAP, 'task_completed': 'notification', 'subagent_completed': 'notification',
            'notification_drain': 'notification', 'scheduler_fired': 'notification', 'agent_message': 'peer',
            'stop_hook_feedback': 'hook', 'system_reminder': 'reminder', 'project_instructions': 'reminder'}
_SHELL = 'I executed a terminal command:'
ASIDE = 1000


def item_text(content):
    """The text of an item's content: a string, or blocks of texts and images."""
    return block_text(content)


class Parser(object):
    """Turns the items of one chat history into events."""

    family = False

    def __init__(self, source, coverage, state):
        self.coverage, self.state = coverage, state
        self.folder = os.path.dirname(source.path)
        self.session = os.path.basename(self.folder)
        self.chain = source.chain if source.role != 'main' else ''
        self.card = Card(self.folder)
        self.in_agent = source.role != 'main' or self.card.is_subagent()
        self.place = self.card.origin(self.session)
        self.turn = state.get('turn', 0)

    skip = None

    def said(self):
        """-> list of Events of what the session's card and ledger say; [] when it was said before."""
        card, out = self.card, []
        if self.state.get('said'):
            return out
        self.state['said'] = 1
        pairs = [('created', '', card.created), ('cwd', card.cwd, None), ('branch', card.branch, None)]
        if not self.chain:
            pairs += [('entrypoint', card.kind, None), (card.title_kind, card.title, None), ('ended', '', card.ended)]
            if card.parent and not card.is_subagent():
                pairs.append(('foreign', card.parent, None))
        for number, (label, text, time) in enumerate(pairs):
            if text or time is not None:
                out.append(Event(META, label, time, '', 0, None, None, text, None, 1, 0, 0, ASIDE + number))
        for row in ledger(self.folder):
            calls = row['calls'] or 1
            leg = (row['input'] + row['cache_read'] + row['cache_write'], row['output'], row['cache_read'], row['cache_write'], calls, row['reasoning'])
            for k, (total, output, cached, created, reasoning) in enumerate(split(leg, calls)):
                # A fork copies turns as they ended: their time and sum tell them.
                key = 'turn@%s.%d.%d:%s:%d' % (row['time'], leg[0], leg[1], row['model'], k)
                out.append(Event(USAGE, '', row['time'], self.chain, 0, key, None, '', Usage(
                    row['model'], max(0, total - cached - created), output, cached, created, 0, 1, 0, '', '', '', 0, 0, '', min(reasoning, output)), 1, 0, 0,
                    ASIDE + len(pairs) + len(out)))
        return out

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data = record.data
        kind = word(data.get('type')) or word(data.get('role'))
        out = _Out(self, record)
        if kind == 'user':
            self._user(out, data)
        elif kind == 'assistant':
            self._assistant(out, data)
        elif kind in ('tool_result', 'tool'):
            text = item_text(data.get('content')) or item_text(data.get('raw_output'))
            call = self._call_id(data.get('tool_call_id'), out)
            out.add(TOOL_RESULT, _outcome(text), text, '%s:result' % call, ToolResult(call, ''))
        elif kind == 'reasoning':
            out.add(THINKING, '', _reasoning(data), out.ident('thinking'))
        elif kind == 'backend_tool_call':
            tool = inside(data, 'kind')
            call = self._call_id(tool.get('id'), out)
            given = dict((k, v) for k, v in tool.items() if k not in ('id', 'tool_type'))
            out.add(TOOL_CALL, word(tool.get('tool_type')) or '(unnamed)', '\n'.join(strings(given)), call, given)
        elif kind not in ('system', 'developer'):
            what = 'item type %s' % kind[:50] if kind else 'no type'
            self.coverage.drift(record.line, what)
            out.add(UNKNOWN, what, '', None)
        return out.events

    def _call_id(self, value, out):
        call = word(value) or out.ident('call')
        return call if len(call) >= 24 else '%s:%s' % (self.place, call)

    def _user(self, out, data):
        text = item_text(data.get('content'))
        if word(data.get('prior_turn_interrupt')) and not self.in_agent:
            out.add(INTERRUPTION, 'interruption', '', out.ident('stop'))
        if not text.strip():
            return
        reason = word(data.get('synthetic_reason'))
        words, mid_turn = prompt_words(text)
        if reason and reason != 'interjection':
            label = _REASONS.get(reason, 'meta')
            if label == RECAP and (text.startswith('<user_info>') or '<user_query>' in text):
                label = 'reminder'
            out.add(INJECTED, label, text, out.ident(text))
        elif text.startswith(_SHELL):
            out.add(INJECTED, 'shell', text, out.ident(text))
        elif not words.strip() or text.lstrip().startswith('<user_info>') and '<user_query>' not in text:
            out.add(INJECTED, 'reminder', text, out.ident(text))
        elif self.in_agent:
            out.add(INJECTED, 'task', words, out.ident(text))
        else:
            self.turn += 1
            self.state['turn'] = self.turn
            label = QUEUED if mid_turn or reason else SLASH if COMMAND.match(words) else TYPED
            out.add(PROMPT, label, words, out.ident(text), text.count('[image]') or None)

    def _assistant(self, out, data):
        thought = word(data.get('reasoning_content'))
        if thought:
            out.add(THINKING, '', thought, out.ident('thinking'))
        text = item_text(data.get('content'))
        if text:
            out.add(REPLY, '', text, out.ident(text))
        calls = data.get('tool_calls')
        for number, call in enumerate(calls if type(calls) is list else ()):
            if type(call) is not dict:
                continue
            function = inside(call, 'function') or call
            given = function.get('arguments')
            if type(given) is str:
                try:
                    given = bounded_json.loads(given)
                except (ValueError, RecursionError):
                    # Cut while it was streamed: its text is all there is.
                    given = function['arguments']
            ident = self._call_id(call.get('id') or '%s.%d' % (out.ident('call'), number), out)
            out.add(TOOL_CALL, word(function.get('name')) or '(unnamed)', '\n'.join(strings(given)), ident, given)


class _Out(object):
    """The events of one item in the making."""

    def __init__(self, parser, record):
        self.parser, self.record, self.events = parser, record, []

    def ident(self, text):
        return '%s@%d.%08x' % (self.parser.place, self.record.offset, crc32(text.encode('utf-8', 'replace')))

    def add(self, kind, label, text, ident, data=None):
        chain, at = self.parser.chain, self.record
        if text or kind in (TOOL_CALL, TOOL_RESULT, INTERRUPTION, UNKNOWN):
            self.events.append(Event(kind, label, None, chain, 0 if chain else self.parser.turn, ident, None, text, data,
                                     at.line, at.offset, at.length, len(self.events)))


def _reasoning(data):
    parts = data.get('summary')
    text = '\n'.join(word(part.get('text')) for part in parts if type(part) is dict) if type(parts) is list else word(parts)
    return text or item_text(data.get('content'))


def _outcome(text):
    """What a result's text says of its end; this file has no other word on it."""
    if text.startswith(('User rejected the execution', 'User cancelled the execution')):
        return DECLINED
    if text.startswith('Tool execution cancelled due to earlier'):
        return COLLATERAL
    if text.startswith('exit: '):
        code = text[6:16].split('\n')[0].split(' ')[0]
        return ERROR if code.lstrip('-').isdigit() and code != '0' else OK
    return OK
