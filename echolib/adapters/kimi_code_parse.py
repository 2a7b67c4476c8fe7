"""Records of Kimi Code (the TypeScript client, wire protocol 1.0 to 1.5) to events.

Everything is on disk two or three times; one family is read: turn.* rows for what was typed, loop events for what the
model wrote and tools answered, usage.record rows for what it cost. Rows with kind "event" repeat them.
"""
import re

from ..base.clock import parse_time
from ..events import (
    COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, QUEUED, RECAP, REPLY, SLASH, THINKING, TOOL_CALL,
    TOOL_RESULT, TYPED, UNKNOWN, USAGE, Compaction, Event, ToolResult, counter)
from ..records import Record
from .kimi_text import REFUSED, call_id, content_text, images, machine_text, mark, result_label, tool_input, usage, word

# Families of records that only steer or trace the client.
_QUIET = frozenset((
    'agent config context cron environment file_history forked full_compaction goal interaction interruptionReminder llm mcp '
    'micro_compaction monitor permission plan plan_mode plugin profile prompt review runtime skill staleGuard subagent '
    'swarm_mode task token_counting tools tower_mode turn workflow').split())
# Rows that are large and hold the client's own words only: known by how they begin.
_LARGE = (b'{"type":"llm.tools_snapshot"', b'{"type":"mcp.tools_discovered"')
_REPEATED = b'{"message":{"message":{"role":'
_SPILL_HEAD = 'Tool output exceeded'
_SPILL = re.compile(r'^output_path: *(.+)$', re.M)
_NOT_RUN = re.compile(r'Tool "[^"\n]*" was (?:not run because the (?:user rejected the approval request|approval request was '
                      r'cancelled)|denied by permission policy)')
# Labels of what the client put into the user's place, by its origin.
_LABELS = {'injection': 'reminder', 'compaction_summary': RECAP, 'background_task': 'notification', 'task': 'notification',
           'cron_job': 'cron', 'cron_missed': 'cron', 'hook_result': 'hook', 'skill_activation': 'skill',
           'plugin_command': 'skill', 'system_trigger': 'trigger', 'retry': 'retry'}


class CodeParser(object):
    """Turns the records of one agent's wire.jsonl into events. `state` (a dict of plain values) lets a grown file go on.

    source: its Source.  scope: what its call ids are told apart by from those of other sessions, the same in a fork.
    imported: facts about the session of the older client that this one was made from, or None (see kimi.read).
    """

    def __init__(self, coverage, source, state, scope, imported=None):
        self.coverage, self.source, self.state, self.scope = coverage, source, state, scope
        self.imported = imported
        self.chain = source.chain if source.role != 'main' else ''
        self.turn = state.get('turn', 0)

    def skip(self, line):
        """True for a line of bytes that holds no conversation, told from its head (and end) alone."""
        if line.startswith(_REPEATED):
            return line.rstrip(b'\r\n \t').endswith(b'"kind":"event"}') and line.find(b'}{"') < 0
        if line.startswith(_LARGE):
            return line.rstrip(b'\r\n \t').endswith(b'}') and line.find(b'}{"type":"') < 0
        return False

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        kind = data.get('type')
        if data.get('kind') == 'event':
            return []
        time = parse_time(data.get('time'))
        place = (line, offset, length)
        handler = _HANDLERS.get(kind) if type(kind) is str else None
        if handler is not None:
            out = []
            handler(self, data, time, place, out)
            return out
        if type(kind) is str and (kind in _QUIET or kind.split('.')[0] in _QUIET):
            return []
        what = 'record type %s' % kind[:60] if type(kind) is str and kind else 'row without a type'
        self.coverage.drift(line, what)
        return [self._event(UNKNOWN, what, time, None, '', None, place)]

    def at(self, found, offset, length):
        """-> list of Events of the objects found in the line at `offset`."""
        out = []
        for data in found:
            out.extend(self.events(Record(data, 0, offset, length)))
        return out

    def close(self):
        """Nothing is left at the end of a file: []."""
        return []

    def _event(self, kind, label, time, ident, text, data, place, part=0, message=None):
        return Event(kind, label, time, self.chain, 0 if self.chain else self.turn, ident, message, text, data, place[0],
                     place[1], place[2], part)

    def _from_older(self, data):
        """The facts of the older client's session for a row that was made from it, else None."""
        if self.imported is not None and data.get('time', self.imported['time']) == self.imported['time']:
            return self.imported
        return None

    def _call_id(self, call, data):
        older = self._from_older(data)
        return call_id(call, self.state.get('older') or older['scope'] if older else self.scope)

    def _older_prompt(self, older, text):
        """The identity that a prompt has in the older client's session; its calls are told apart by its time."""
        ident = older['id'](text, self.state)
        self.state['older'] = ident.partition('/turn/')[0] if '/turn/' in ident else ''
        return ident

    def _metadata(self, data, time, place, out):
        version = word(data.get('protocol_version'))
        out.append(self._event(META, 'version', parse_time(data.get('created_at')), None, 'wire ' + version if version else '',
                               None, place, -1))

    # what was typed, and what stands in its place

    def _prompt(self, data, time, place, out):
        text = content_text(data.get('input'))
        kind, label, shown = self._origin(data.get('origin'), text, TYPED if data['type'] == 'turn.prompt' else QUEUED)
        self.state['typed'] = 1
        self.state.pop('stopped', None)
        told = self.state.setdefault('told', [])
        told.append(mark(text))
        del told[:-8]
        if not shown.strip():
            return
        older = self._from_older(data)
        if older is not None and kind == PROMPT:
            label_of = machine_text(text)
            if label_of:
                kind, label = INJECTED, label_of
        if kind == PROMPT:
            self._open_turn()
        out.append(self._event(kind, label, time, self._prompt_id(data, time, text, kind), shown, images(shown), place))

    def _prompt_id(self, data, time, text, kind):
        ident = word(data.get('promptId')) or word(data.get('messageId'))
        older = self._from_older(data)
        if older is not None and kind == PROMPT:
            return self._older_prompt(older, text)
        return '%s/%s' % (self.scope, ident or '%s/%s/%s' % (data['type'], time, mark(text)))

    def _open_turn(self):
        self.turn += 1
        self.state['turn'] = self.turn

    def _origin(self, origin, text, label):
        """-> (kind, label, shown text) of a text in the user's place."""
        origin = origin if type(origin) is dict else {}
        kind = word(origin.get('kind', 'user'))
        if self.chain:
            return INJECTED, 'task' if kind in ('user', 'system_trigger') else _LABELS.get(kind, 'meta'), text
        if kind == 'user':
            return PROMPT, label, text
        by_hand = origin.get('trigger') == 'user-slash'
        if kind == 'skill_activation' and by_hand or kind == 'plugin_command':
            name = word(origin.get('skillName')) or ':'.join(
                n for n in (word(origin.get('pluginId')), word(origin.get('commandName'))) if n)
            args = word(origin.get('skillArgs')) or word(origin.get('commandArgs'))
            # The text is the skill's own, the command is what was typed.
            return PROMPT, SLASH, ('/%s %s' % (name, args)).strip() if name else text
        if kind == 'shell_command':
            if origin.get('phase') == 'output':
                return INJECTED, 'shell_output', text
            return (PROMPT, label, '! ' + text) if label else (INJECTED, 'shell', '! ' + text)
        return INJECTED, _LABELS.get(kind, 'meta'), text

    def _message(self, data, time, place, out):
        message = data.get('message')
        if type(message) is not dict:
            self.coverage.drift(place[0], 'context.append_message without a message')
            out.append(self._event(UNKNOWN, 'no message', time, None, '', None, place))
            return
        role = message.get('role')
        text = content_text(message.get('content'))
        if role == 'user':
            self._user_message(message, data, text, time, place, out)
        elif role == 'assistant':
            self._assistant_message(message, data, text, time, place, out)
        elif role == 'tool':
            label = result_label(text)
            if label == OK and message.get('isError') is True:
                label = self._failure(text, '')
            call = word(message.get('toolCallId'))
            here = '%s:%d' % (self.scope, place[1])
            out.append(self._event(TOOL_RESULT, label, time, here, text,
                                   ToolResult(self._call_id(call, data) if call else here, ''), place))

    def _user_message(self, message, data, text, time, place, out):
        if not text.strip():
            return
        kind, label, shown = self._origin(message.get('origin'), text, '')
        told = self.state.get('told', ())
        if mark(text) in told:
            # turn.prompt or turn.steer has told it already.
            told.remove(mark(text))
            return
        if kind == PROMPT or self.chain and label == 'task':
            if self.state.get('typed') and label != SLASH:
                # Where the client writes such rows, no other text was typed.
                return
            if kind == PROMPT:
                label = label or TYPED
                machine = machine_text(text)
                if machine:
                    kind, label = INJECTED, machine
                else:
                    self._open_turn()
        ident = word(message.get('id')) if kind == PROMPT else ''
        older = self._from_older(data)
        if older is not None and kind == PROMPT:
            ident = self._older_prompt(older, text)
        else:
            ident = '%s/%s' % (self.scope, ident or place[1])
        out.append(self._event(kind, label, time, ident, shown, images(shown), place))

    def _assistant_message(self, message, data, text, time, place, out):
        key = word(message.get('providerMessageId')) or '%s:%d' % (self.scope, place[1])
        content = message.get('content')
        for part in content if type(content) is list else ():
            if type(part) is dict and part.get('type') == 'think' and word(part.get('think')):
                out.append(self._event(THINKING, '', time, '%s/%d' % (key, len(out)), part['think'], None, place, len(out), key))
        if text.strip():
            out.append(self._event(REPLY, '', time, '%s/%d' % (key, len(out)), text, None, place, len(out), key))
        calls = message.get('toolCalls')
        for call in calls if type(calls) is list else ():
            if type(call) is not dict:
                continue
            # 1.0 keeps name and arguments one level deeper.
            function = call.get('function') if type(call.get('function')) is dict else call
            given, words = tool_input(function.get('arguments'))
            ident = word(call.get('id'))
            out.append(self._event(TOOL_CALL, word(function.get('name')) or '(unnamed)', time,
                                   self._call_id(ident, data) if ident else '%s/%d' % (key, len(out)), words, given, place,
                                   len(out), key))

    # the model's steps

    def _loop(self, data, time, place, out):
        event = data.get('event')
        handler = _LOOP.get(word(event.get('type'))) if type(event) is dict and type(event.get('type')) is str else None
        if handler is None:
            what = 'loop event %s' % word(event.get('type'))[:40] if type(event) is dict else 'no loop event'
            self.coverage.drift(place[0], what)
            out.append(self._event(UNKNOWN, what, time, None, '', None, place))
            return
        handler(self, event, data, time, place, out)

    def _step_begin(self, event, data, time, place, out):
        self.state['step'], self.state['records'] = word(event.get('uuid')), 0

    def _step_end(self, event, data, time, place, out):
        uuid = word(event.get('uuid'))
        if uuid != self.state.get('step'):
            self.state['step'], self.state['records'] = uuid, 0
        if type(event.get('usage')) is dict and not self.state.get('records'):
            # Repeated by a usage.record under the same identity, before or after it; old files have only this.
            out.append(self._usage(self.state.get('model', ''), event['usage'], time, self._step_id(), place))

    def _part(self, event, data, time, place, out):
        part = event.get('part')
        part = part if type(part) is dict else {}
        think = part.get('type') == 'think'
        text = word(part.get('think') if think else part.get('text'))
        if text:
            key = word(event.get('stepUuid')) or None
            out.append(self._event(THINKING if think else REPLY, '', time, word(event.get('uuid')) or '%s:%d' % (self.scope, place[1]),
                                   text, None, place, 0, key))

    def _call(self, event, data, time, place, out):
        given, text = tool_input(event.get('args'))
        call, uuid = word(event.get('toolCallId')), word(event.get('uuid'))
        if call and uuid:
            # The model's own id (often 'Bash:0') counts anew after a compaction; the row's is one of its kind.
            open_calls = self.state.setdefault('calls', {})
            if len(open_calls) < 200:
                open_calls[call] = uuid
        out.append(self._event(TOOL_CALL, word(event.get('name')) or '(unnamed)', time,
                               call_id(uuid or call or place[1], self.scope), text, given, place, 0,
                               word(event.get('stepUuid')) or None))

    def _result(self, event, data, time, place, out):
        result = event.get('result')
        result = result if type(result) is dict else {'output': result}
        text = content_text(result.get('output'))
        said = word(result.get('message'))
        call = word(event.get('toolCallId'))
        named = self.state.get('calls', {}).pop(call, '')
        ident = word(event.get('parentUuid')) or named or call or '%d' % place[1]
        label = OK
        if result.get('isError') is True:
            label = self._failure(text, call)
        if said and said not in text and (label != OK or not text.strip()):
            text = '%s\n%s' % (text.rstrip('\n'), said) if text.strip() else said
        spill = ''
        if text.startswith(_SPILL_HEAD):
            found = _SPILL.search(text[:4000])
            spill = found.group(1).strip() if found else ''
        out.append(self._event(TOOL_RESULT, label, time, '%s/result/%s' % (self.scope, ident), text,
                               ToolResult(call_id(ident, self.scope), spill), place))

    def _failure(self, text, call):
        """-> label of a result that is marked as an error: what the person refused or stopped did not fail."""
        refused = self.state.get('refused', ())
        if call and call in refused:
            refused.remove(call)
            return DECLINED
        return DECLINED if _NOT_RUN.match(text) or text.startswith(REFUSED) else ERROR

    def _approval(self, data, time, place, out):
        result = data.get('result')
        call = word(data.get('toolCallId'))
        if call and type(result) is dict and result.get('decision') in ('rejected', 'cancelled'):
            refused = self.state.setdefault('refused', [])
            refused.append(call)
            del refused[:-50]

    # what it cost

    def _usage(self, model, spent, time, ident, place):
        get = spent.get
        return self._event(USAGE, '', time, ident, '', usage(
            model, get('inputOther'), get('output'), get('inputCacheRead'), get('inputCacheCreation')), place, 0, ident)

    def _step_id(self):
        """The identity of the step's next call: a step that was tried again has several."""
        number = self.state.get('records', 0)
        return '%s/step/%s' % (self.scope, self.state.get('step', '')) + ('#%d' % number if number else '')

    def _record(self, data, time, place, out):
        spent = data.get('usage')
        if type(spent) is not dict:
            self.coverage.drift(place[0], 'usage.record without usage')
            out.append(self._event(UNKNOWN, 'no usage', time, None, '', None, place))
            return
        model = word(data.get('model'))
        model = self.state.get('models', {}).get(model, model) or self.state.get('model', '')
        if data.get('usageScope') == 'session' or not self.state.get('step'):
            # The client's own call (a compaction), or a file without steps.
            ident = '%s/usage/%s/%s' % (self.scope, time if time is not None else place[1], '-'.join(
                str(spent.get(name)) for name in ('inputOther', 'output', 'inputCacheRead', 'inputCacheCreation')))
        else:
            ident = self._step_id()
            self.state['records'] = self.state.get('records', 0) + 1
        out.append(self._usage(model, spent, time, ident, place))

    def _request(self, data, time, place, out):
        # usage.record may name an alias; the request says which model it stands for.
        model, alias = word(data.get('model')), word(data.get('modelAlias'))
        if model:
            self.state['model'] = model
            if alias:
                self.state.setdefault('models', {})[alias] = model

    def _config(self, data, time, place, out):
        alias = word(data.get('modelAlias'))
        if alias:
            self.state['model'] = self.state.get('models', {}).get(alias, alias)
        found = data.get('environmentDisclosure')
        cwd = word(data.get('cwd')) or word(found.get('cwd') if type(found) is dict else None)
        if cwd and not self.state.get('cwd'):
            self.state['cwd'] = cwd
            out.append(self._event(META, 'cwd', time, None, cwd, None, place, -1))

    # turns and the rest

    def _cancel(self, data, time, place, out):
        if data.get('target') != 'queued' and not self.chain:
            self._stopped(data, time, place, out)

    def _turn_ended(self, data, time, place, out):
        out.append(self._event(META, 'turn', time, None, '', None, place, -1))
        if data.get('reason') == 'cancelled' and not self.chain:
            self._stopped(data, time, place, out)
        error = data.get('error')
        text = word(error.get('message')) if type(error) is dict else ''
        if text:
            ident = '%s/error/%s' % (self.scope, time)
            out.append(self._event(REPLY, 'api_error', time, ident, text, None, place, 0, ident))

    def _stopped(self, data, time, place, out):
        if self.state.get('stopped'):
            return
        self.state['stopped'] = 1
        out.append(self._event(INTERRUPTION, '', time, '%s/stop/%s' % (self.scope, data.get('turnId', time)), 'Interrupted', None,
                               place, -1))

    def _retrying(self, data, time, place, out):
        if not self.chain:
            out.append(self._event(META, 'retry', time, '%s/retry/%s/%s' % (self.scope, data.get('stepId'), data.get('failedAttempt')),
                                   '', None, place, -1))

    def _compaction_begin(self, data, time, place, out):
        self.state['source'] = word(data.get('source'))

    def _compaction(self, data, time, place, out):
        trigger = self.state.pop('source', '')
        before = counter(data.get('tokensBefore')) or None
        ident = '%s/compaction/%s' % (self.scope, time if time is not None else place[1])
        out.append(self._event(COMPACTION, trigger, time, ident, '', Compaction(trigger, before), place))
        summary = data.get('summary')
        text = content_text(summary.get('content')) if type(summary) is dict else word(summary) or word(data.get('contextSummary'))
        if text:
            out.append(self._event(INJECTED, RECAP, time, ident + '/summary', text, None, place, 1))

    def _goal(self, data, time, place, out):
        text = word(data.get('objective'))
        if text and data.get('actor', 'user') == 'user':
            out.append(self._event(INJECTED, 'goal', time, '%s/goal/%s' % (self.scope, time), text, None, place))

    def _mode(self, data, time, place, out):
        out.append(self._event(META, 'mode', time, None, word(data.get('mode')), None, place, -1))

    def _forked(self, data, time, place, out):
        # Everything above is another session's, and keeps its times and identities.
        out.append(self._event(META, 'foreign', time, None, '', None, place, -1))


_HANDLERS = {
    'metadata': CodeParser._metadata, 'turn.prompt': CodeParser._prompt, 'turn.steer': CodeParser._prompt,
    'context.append_message': CodeParser._message, 'context.append_loop_event': CodeParser._loop,
    'context.apply_compaction': CodeParser._compaction, 'full_compaction.begin': CodeParser._compaction_begin,
    'usage.record': CodeParser._record, 'llm.request': CodeParser._request, 'config.update': CodeParser._config,
    'profile.bind': CodeParser._config, 'turn.cancel': CodeParser._cancel, 'turn.ended': CodeParser._turn_ended,
    'turn.step.retrying': CodeParser._retrying, 'permission.record_approval_result': CodeParser._approval,
    'permission.set_mode': CodeParser._mode, 'goal.create': CodeParser._goal, 'forked': CodeParser._forked,
}
_LOOP = {'step.begin': CodeParser._step_begin, 'step.end': CodeParser._step_end, 'content.part': CodeParser._part,
         'tool.call': CodeParser._call, 'tool.result': CodeParser._result}
