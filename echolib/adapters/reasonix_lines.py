"""Reasonix's line files: conversations of 0.x and 1.x and the files of subagents (a message a line), event logs of 0.x.

Beside a conversation lie the facts that its lines lack: name.meta.json (0.x, subagents), name.jsonl.meta (1.x).
"""
import os

from ..base.files import open_regular
from ..events import COMPACTION, DECLINED, ERROR, INJECTED, OK, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, TYPED, USAGE
from ..events import Compaction, ToolResult
from ..records import parse_line, read_records
from . import reasonix_ledger
from .reasonix_parse import Names, Parser, time_of
from .values import content_text, count, first, images, inner, tool_input, usage, word

_LOG = '.events.jsonl'
_MOST_FORKS = 32
# Rows of the event log of 0.x that say nothing about the conversation, or say it once more.
_QUIET = frozenset((
    'model.delta tool.preparing tool.dispatched tool.call tool.confirm.allow tool.confirm.deny tool.confirm.always_allow '
    'effect.file.touched effect.memory.written plan.submitted plan.step.completed checkpoint.created checkpoint.restored '
    'hook.fired policy.budget.warning policy.budget.blocked policy.escalated capability.registered capability.removed '
    'status log writer head session.opened').split())


def stem(path):
    """-> the path of a conversation without its ending, whichever of its files is named."""
    for end in (_LOG, '.jsonl.meta', '.jsonl', '.meta.json'):
        if path.endswith(end):
            return path[:-len(end)]
    return path


def loaded(path):
    """-> the JSON object in a small file, {} where there is none."""
    try:
        with open_regular(path) as handle:
            raw = handle.read(1 << 24)
    except OSError:
        # Most conversations lack most of their side files.
        return {}
    found, _ = parse_line(raw)
    return found[0] if found else {}


def facts(path):
    """-> dict of what the side files of a conversation say: cwd, title, branch, model, began, ended (ms), parent, forked
    (number of messages), imported, and `counters` (the running totals of 0.x)."""
    base = stem(path)
    old, new = loaded(base + '.meta.json'), loaded(base + '.jsonl.meta')
    name = os.path.basename(base)
    title = first(new, 'topic_title') or first(new, 'name') or word(old.get('summary'))
    return {
        'cwd': first(new, 'workspace_root') or first(old, 'workspaceRoot', 'workspace'),
        'title': title if title != name else '', 'branch': word(old.get('branch')),
        'model': first(new, 'model') or first(old, 'model'),
        'began': time_of(new.get('created_at')) or time_of(old.get('createdAt')),
        'ended': time_of(new.get('updated_at')) or time_of(old.get('updatedAt')),
        'parent': word(new.get('parent_id')), 'forked': count(new.get('fork_message_index')),
        'imported': word(old.get('importedSource')), 'counters': old}


def origins(path, known):
    """-> [(messages, name)] of the conversations this one was forked from, see Names; their facts lie beside it."""
    out, folder = [], os.path.dirname(path)
    for _ in range(_MOST_FORKS):
        parent = known['parent']
        if not parent or not known['forked'] or os.sep in parent or any(parent == name for _, name in out):
            break
        out.append((known['forked'], parent))
        known = facts(os.path.join(folder, parent + '.jsonl'))
    return out


def read_lines(source, coverage, state):
    """Yield the lists of events of one line file, from its start: the file is written anew at every change."""
    known = facts(source.path)
    reader = Lines(source, coverage, state, known)
    last = None
    for record in read_records(source.path, coverage):
        out = reader.events(record)
        last = record
        yield out
    coverage.open_end = True
    if last is not None:
        out = reader.rest(last)
        if out:
            yield out


class Lines(object):
    """Turns the records of one line file into lists of Events."""

    def __init__(self, source, coverage, state, known):
        self.source, self.known, self.state = source, known, state
        base = os.path.basename(stem(source.path))
        self.parser = Parser(coverage, source, state, Names(base, origins(source.path, known)).of)
        self.coverage, self.name = coverage, base
        self.log = source.path.endswith(_LOG)
        self.bills = None

    def events(self, record):
        """-> list of Events of one Record."""
        parser, state = self.parser, self.state
        data, line, offset, length = record
        out = parser.start(line, offset, length, time_of(data.get('at') or data.get('ts')) or state.get('time', self.known['began']))
        if not state.get('said'):
            state['said'] = 1
            self._say()
        if not self.log and 'role' in data:
            parser.message(data)
        elif 'msgs' in data:
            for message in data['msgs'] if type(data['msgs']) is list else ():
                if type(message) is dict:
                    parser.message(message)
        else:
            self._row(data, line)
        if parser.time is not None:
            state['time'] = parser.time
        return out

    def _say(self):
        """What the side files say, with the first record."""
        parser, known = self.parser, self.known
        for label, name in (('cwd', 'cwd'), ('branch', 'branch'), ('model', 'model'), ('ai-title', 'title')):
            parser.meta(label, known[name])
        if known['parent'] or known['imported']:
            parser.meta('foreign', known['parent'] or known['imported'])
        if parser.time is None:
            parser.time = dated(self.name)
        if parser.time is not None:
            parser.meta('began', str(parser.time))
        self.bills = () if parser.in_agent else reasonix_ledger.of_session(self.source.path, self.name)
        for bill in self.bills:
            parser.out.append(bill.event(parser.where, -1))
            self.state['billed'] = 1

    def rest(self, record):
        """-> what comes behind the last record: when it ended, and the totals where no call is billed."""
        parser = self.parser
        out = parser.start(record.line, record.offset, record.length, self.state.get('time'))
        if self.known['ended'] is not None:
            parser.meta('ended', str(self.known['ended']), time=self.known['ended'])
        counters = self.known['counters']
        fresh, read, output = (count(counters.get(name)) for name in ('cacheMissTokens', 'cacheHitTokens', 'totalCompletionTokens'))
        if not self.state.get('billed') and not parser.in_agent and fresh + read + output:
            # Running totals of the whole session are all that is left: one entry for all its calls.
            event = reasonix_ledger.Bill(self.state.get('time'), self.state.get('model', ''), fresh, read, output, '',
                                         'reasonix/total/%s' % self.name)
            out.append(event.event(parser.where, -1))
        return out

    # rows of the event log of 0.x

    def _row(self, data, line):
        kind = word(data.get('type'))
        handler = _ROWS.get(kind)
        if handler is not None:
            handler(self, data)
        elif kind not in _QUIET:
            self.parser.drift('row %s' % (kind or 'without a type')[:40], line)
        if kind == 'session.opened':
            # Ids of calls begin anew with every start of the client.
            self.state['run'] = self.state.get('run', 0) + 1

    def _ident(self, data):
        return '%s/%s/%s' % (self.name, word(data.get('ts')), data.get('id') if type(data.get('id')) is int else '')

    def _call(self, data):
        return '%s/%d/%s' % (self.name, self.state.get('run', 0), word(data.get('callId')))

    def _user(self, data):
        text = word(data.get('text'))
        if text.strip():
            self.state['turn'] = self.state.get('turn', 0) + 1
            self.parser.add(PROMPT, TYPED, self._ident(data), text, images(text))

    def _slash(self, data):
        text = ('/%s %s' % (word(data.get('name')).lstrip('/'), word(data.get('args')))).strip()
        self.parser.add(INJECTED, 'local_command', self._ident(data), text)

    def _started(self, data):
        self.parser.meta('model', word(data.get('model')))

    def _final(self, data):
        ident, parser = self._ident(data), self.parser
        thought = word(data.get('reasoningContent'))
        if thought:
            parser.add(THINKING, '', ident + '/t', thought, message=ident)
        text = content_text(data.get('content'))
        if text:
            parser.add(REPLY, '', ident, text, message=ident)
        spent = inner(data, 'usage')
        sent, output = count(spent.get('prompt_tokens')), count(spent.get('completion_tokens'))
        if not self.bills and sent + output:
            read = min(sent, count(spent.get('prompt_cache_hit_tokens')))
            parser.add(USAGE, '', ident, data=usage(self.state.get('model', ''), sent - read, output, read), message=ident)
            self.state['billed'] = 1

    def _intent(self, data):
        given, shown = tool_input(data.get('args'))
        self.parser.add(TOOL_CALL, word(data.get('name')) or '(unnamed)', self._call(data), shown, given)

    def _result(self, data):
        self.parser.add(TOOL_RESULT, ERROR if data.get('ok') is False else OK, self._ident(data), content_text(data.get('output')),
                        ToolResult(self._call(data), ''))

    def _denied(self, data):
        reason = word(data.get('reason'))
        self.parser.add(TOOL_RESULT, DECLINED if reason == 'permission' else ERROR, self._ident(data), 'denied: %s' % reason,
                        ToolResult(self._call(data), ''))

    def _compacted(self, data):
        trigger = {'user': 'manual', 'auto-context-pressure': 'auto'}.get(word(data.get('reason')), '')
        ident = self._ident(data)
        self.parser.add(COMPACTION, trigger, ident, data=Compaction(trigger, None))
        messages = data.get('replacementMessages')
        for message in messages if type(messages) is list else ():
            # The summary takes the place of the oldest messages behind the system's.
            if type(message) is dict and message.get('role') != 'system':
                text = content_text(message.get('content'))
                if text:
                    self.parser.add(INJECTED, RECAP, ident + '/s', text)
                break

    def _error(self, data):
        text = word(data.get('message'))
        if data.get('recoverable') is True:
            self.parser.add(INJECTED, 'notice', self._ident(data), text)
        else:
            self.parser.add(REPLY, 'api_error', self._ident(data), text)


_ROWS = {
    'user.message': Lines._user, 'slash.invoked': Lines._slash, 'model.turn.started': Lines._started, 'model.final': Lines._final,
    'tool.intent': Lines._intent, 'tool.result': Lines._result, 'tool.denied': Lines._denied, 'session.compacted': Lines._compacted,
    'error': Lines._error,
}


def dated(name):
    """-> ms of the local time in a session's name (-YYYYMMDDHHmm or with seconds at its end), None without one."""
    digits = name.rpartition('-')[2]
    if len(digits) not in (12, 14) or not digits.isdecimal() or digits[:2] != '20':
        return None
    parts = tuple(int(digits[a:b] or 0) for a, b in ((0, 4), (4, 6), (6, 8), (8, 10), (10, 12), (12, 14)))
    if not (1 <= parts[1] <= 12 and 1 <= parts[2] <= 31 and parts[3] < 24 and parts[4] < 60 and parts[5] < 60):
        return None
    import time
    try:
        return int(time.mktime(parts + (0, 0, -1))) * 1000
    except (ValueError, OverflowError):
        return None
