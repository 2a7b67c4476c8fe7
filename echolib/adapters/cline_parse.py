"""Messages of a task (ui_messages.json) to events.

A message of the client's screen is `say` or `ask` with a kind and a text, which is often JSON. What was asked for approval and
what was done without asking are the same call.
"""
import os
import re

from ..base.clock import parse_time
from ..events import COMPACTION, ERROR, INTERRUPTION, META, OK, RECAP, Compaction
from .cline import EXTENSIONS, HISTORY, METADATA, extension_of
from .talk import Talk, at_place, beside, document, fields, nothing, read_list
from .values import count, decoded, first, inner, uncached, usage, word

# Kinds without conversation in them: marks of the screen, and requests whose outcome other messages tell.
_BOOKKEEPING = frozenset((
    'api_req_deleted', 'api_req_finished', 'api_req_rate_limit_wait', 'api_req_retry_delayed', 'auto_approval_max_req_reached', 'browser_action_launch',
    'browser_session_status', 'checkpoint_created', 'checkpoint_saved', 'clineignore', 'codebase_search_result', 'deleted_api_reqs', 'hook_output',
    'hook_status', 'image', 'info', 'load_mcp_documentation', 'mcp_server_request_started', 'new_task', 'resume_completed_task', 'resume_task',
    'shell_integration_warning', 'task_progress', 'user_edit_todos'))
# What went wrong with the call before it; other errors are the client's own words.
_ERRORS = frozenset(('diff_error', 'rooignore_error', 'clineignore_error', 'shell_integration_error'))
_RESULTS = {'command_output': 'execute_command', 'mcp_server_response': 'use_mcp_server', 'subtask_result': 'newTask', 'browser_action_result': 'browser_action'}
_PLACE = re.compile(r'# Current (?:Working|Workspace) Directory \(([^\n]{1,500})\) Files')
_histories = {}     # path of a taskHistory.json -> (size, mtime_ns, {task: directory}), the last one read


class Parser(Talk):
    """Turns the messages of a task into events. More in `state`: calls ({kind of tool: id of its last call}); last (of those of
    the running request without a result); begun."""

    def __init__(self, source, coverage, state):
        Talk.__init__(self, source, coverage, state)
        folder = os.path.dirname(source.path)
        self.item = beside(os.path.join(folder, HISTORY))
        listed = beside(os.path.join(folder, METADATA)).get('model_usage')
        self.models = [(count(row.get('ts')), first(row, 'model_id')) for row in listed if type(row) is dict] if type(listed) is list else []

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        ts, kind = data.get('ts'), word(data.get('type'))
        kind = word(data.get(kind)) if kind in ('say', 'ask') else ''
        self.at(line, offset, length, '%s/%d.%s' % (self.session, ts, kind) if type(ts) is int else '', parse_time(ts))
        if 'begun' not in self.state:
            self.state['begun'] = 1
            self._about()
        if data.get('partial') is True:
            return self.out
        text = word(data.get('text'))
        if offset == 1 and kind in ('text', 'task'):
            self._task(text + _images(data))
        elif kind in _HANDLERS:
            _HANDLERS[kind](self, text, data)
        elif kind in _RESULTS:
            self._answered(kind, text)
        elif kind in _ERRORS:
            self._failed(text)
        elif kind not in _BOOKKEEPING:
            self.unknown('message %s' % (kind[:40] or 'that neither says nor asks'))
        return self.out

    def _about(self):
        self.says('entrypoint', EXTENSIONS.get(os.path.basename(extension_of(self.path)), ''))
        self.says('cwd', first(self.item, 'workspace', 'cwdOnTaskInitialization') or directory_of(self.path, self.session))

    # what was typed

    def _task(self, text):
        if first(self.item, 'parentTaskId'):
            # Another task's model wrote it.
            self.injected('task', text, '')
        else:
            self.typed(text)

    def _feedback(self, text, data):
        self.typed(text + _images(data))

    def _edited(self, text, data):
        found = decoded(text)
        self.injected('attachment', first(found, 'diff') or text if type(found) is dict else text, '')

    # requests

    def _request(self, text, data):
        """A request to the model; the message is written again when its figures are known."""
        info = decoded(text)
        info = info if type(info) is dict else {}
        state = self.state
        state['open'] = self.ident
        state.pop('last', None)
        model = first(inner(data, 'modelInfo'), 'modelId') or self._model_at(data.get('ts'))
        self.spend(self.ident, spent(info, model))
        place = _PLACE.search(word(info.get('request')))
        if place and 'cwd' not in state.get('said', {}):
            self.says('cwd', place.group(1))
        if word(info.get('cancelReason')) == 'user_cancelled':
            self.add(INTERRUPTION, '', self.ident)
        elif first(info, 'streamingFailedMessage'):
            self.error(first(info, 'streamingFailedMessage'))

    def _model_at(self, ts):
        """-> the model in use at a time, as far as the metadata beside the messages tell."""
        ts = ts if type(ts) is int else 0
        known = [model for since, model in self.models if since <= ts] or [model for _, model in self.models[:1]]
        return known[-1] if known else ''

    def _retried(self, text, data):
        self.add(META, 'retry', self.ident, text)

    def _request_failed(self, text, data):
        self.error(text)

    # what the model wrote

    def _said(self, text, data):
        found = [fields.Piece('thinking', word(data.get('reasoning')), '', '', None, ''), fields.Piece('text', text, '', '', None, '')]
        found = [piece for piece in found if piece.text.strip()]
        if found:
            self.answer(found, self.response())

    def _thought(self, text, data):
        self._said('', {'reasoning': text})

    def _planned(self, text, data):
        found = decoded(text)
        self._said(first(found, 'response') or text if type(found) is dict else text, data)

    # tools

    def _called(self, kind, name, given):
        ident = self.call(fields.Piece('call', '', name, '', given, ''), self.response())
        self.state.setdefault('calls', {})[kind] = self.state['last'] = ident

    def _tool(self, text, data):
        found = decoded(text)
        if type(found) is not dict:
            self.unknown('a tool that is no JSON object')
            return
        name = first(found, 'tool') or '(unnamed)'
        self._called(name, name, dict((key, found[key]) for key in found if key != 'tool'))

    def _command(self, text, data):
        self._called('execute_command', 'execute_command', {'command': text})

    def _mcp(self, text, data):
        found = decoded(text)
        found = found if type(found) is dict else {'text': text}
        given = found.get('arguments')
        self._called('use_mcp_server', first(found, 'toolName', 'uri') or 'use_mcp_server', found if given is None else given)

    def _browser(self, text, data):
        self._called('browser_action', 'browser_action', decoded(text) or text)

    def _question(self, text, data):
        self._called('ask_followup_question', 'ask_followup_question', decoded(text) or {'question': text})

    def _answered(self, kind, text):
        if not text.strip():
            return
        call = self.state.get('calls', {}).get(_RESULTS[kind]) or self.ident + '/c'
        self._resulted(call, text, OK)

    def _failed(self, text):
        self._resulted(self.state.pop('last', '') or self.ident + '/c', text, ERROR)

    def _resulted(self, call, text, label):
        if self.state.get('last') == call:
            del self.state['last']
        # Calls have no ids of their own: `call` is an identity already.
        self.answer([fields.Piece('result', text, '', call, None, label)], None)

    def scoped(self, call):
        """-> the identity of a call, which is one already."""
        return call

    # the rest

    def _condensed(self, text, data):
        info = inner(data, 'contextCondense') or inner(data, 'contextTruncation')
        before = count(info.get('prevContextTokens'))
        self.add(COMPACTION, '', self.ident, '', Compaction('', before or None))
        self.injected(RECAP, first(info, 'summary') or text, '/recap')

    def _notice(self, text, data):
        self.injected('notice', text, '')


_HANDLERS = {
    'text': Parser._said, 'completion_result': Parser._said, 'plan_mode_respond': Parser._planned, 'reasoning': Parser._thought,
    'user_feedback': Parser._feedback, 'user_feedback_diff': Parser._edited, 'api_req_started': Parser._request,
    'api_req_retried': Parser._retried, 'api_req_failed': Parser._request_failed, 'error': Parser._request_failed,
    'condense_context_error': Parser._request_failed, 'tool': Parser._tool, 'command': Parser._command, 'use_mcp_server': Parser._mcp,
    'browser_action': Parser._browser, 'followup': Parser._question, 'condense_context': Parser._condensed,
    'sliding_window_truncation': Parser._condensed, 'mistake_limit_reached': Parser._notice, 'condense': Parser._notice}


def spent(info, model):
    """-> Usage of a request by its info; the cache stands beside the input, unless the request speaks OpenAI's protocol."""
    sent, made, read, written = (count(info.get(name)) for name in ('tokensIn', 'tokensOut', 'cacheReads', 'cacheWrites'))
    if not (sent or made or read or written):
        # Still running, or cut off.
        return nothing(model)
    return usage(model, uncached(sent, read, written, info.get('apiProtocol') != 'openai'), made, read, written)


def _images(data):
    listed = data.get('images')
    return '\n[image]' * len(listed) if type(listed) is list else ''


def directory_of(path, task):
    """-> the directory of a task by the extension's list of all tasks, ''."""
    for place in (os.path.join('state', 'taskHistory.json'), 'taskHistory.json'):
        where = os.path.join(extension_of(path), place)
        try:
            stat = os.stat(where)
        except OSError:
            # Roo keeps none.
            continue
        mark = (stat.st_size, stat.st_mtime_ns)
        if where not in _histories or _histories[where][0] != mark:
            from ..records import Coverage
            rows = document(where, Coverage(where))
            found = {}
            for row in rows if type(rows) is list else ():
                if type(row) is dict and first(row, 'id'):
                    found[row['id']] = first(row, 'cwdOnTaskInitialization', 'workspace')
            _histories.clear()
            _histories[where] = (mark, found)
        if _histories[where][1].get(task):
            return _histories[where][1][task]
    return ''


def _messages(source, coverage):
    rows = document(source.path, coverage)
    if rows is not None and type(rows) is not list:
        coverage.lines += 1
        coverage.damage(1, 'not a list of messages')
    return rows if type(rows) is list else []


def read(source, coverage, state):
    """See cline.read."""
    return read_list(Parser(source, coverage, state), _messages(source, coverage), coverage)


def events_at(source, offset):
    """See cline.events_at."""
    from ..records import Coverage
    coverage = Coverage(source.path)
    return at_place(Parser(source, coverage, {}), _messages(source, coverage), offset)


def bills(source):
    """See cline.billed."""
    from ..records import Coverage
    coverage = Coverage(source.path)
    parser, out = Parser(source, coverage, {}), []
    for row in _messages(source, coverage):
        if type(row) is not dict or row.get('say') != 'api_req_started':
            continue
        info = decoded(row.get('text'))
        use = spent(info if type(info) is dict else {}, first(inner(row, 'modelInfo'), 'modelId') or parser._model_at(row.get('ts')))
        if any(use[1:6]):
            cost = info.get('cost')
            out.append({'model': use.model, 'time': parse_time(row.get('ts')), 'input': use.input, 'output': use.output,
                        'cache_read': use.cache_read, 'cache_write': use.cache_write_5m,
                        'cost': float(cost) if type(cost) in (int, float) and 0 <= cost < 1e9 else None})
    return out
