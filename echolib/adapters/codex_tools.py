"""Tool records of Codex rollouts: calls, their outputs, and the end records that say how a tool ended.

A tool's output is told by up to two records: its end as the screen saw it (exit status, the whole output) and what the
model got (a header, the output cut to a budget). Each says something the other may lack; what only repeats is dropped.
"""
from ..events import DECLINED, ERROR, OK, TOOL_CALL, TOOL_RESULT, ToolResult
from .codex_text import arguments, mark, result_of, strings, word


class ToolRecords(object):
    """The part of the parser that reads tool records (see codex_parse.Parser, which has state and the helpers)."""

    def _tool_id(self, call, fallback=''):
        """A call's id where it is unlike any other, else with its turn in front (some providers number calls)."""
        call = word(call)
        if len(call) >= 12:
            return call
        return '%s/%s' % (self._scope(), call or fallback)

    def _tool(self, name, given, call, waits=True):
        out = []
        message = self._call(out)
        text = strings(given)
        ident = self._tool_id(call, 't' + mark(name + text))
        if waits and word(call):
            self.state.setdefault('open', {})[call] = [OK, 0]
        out.insert(0, self._event(TOOL_CALL, name, ident, message, text, given, 0))
        return out

    def _function_call(self, payload):
        name, space = word(payload.get('name')) or '(unnamed)', word(payload.get('namespace'))
        given = payload.get('arguments') if 'arguments' in payload else payload.get('input')
        return self._tool('%s.%s' % (space, name) if space else name, arguments(given), payload.get('call_id') or payload.get('id'))

    def _custom_call(self, payload):
        name, space = word(payload.get('name')) or '(unnamed)', word(payload.get('namespace'))
        given = word(payload.get('input'))
        return self._tool('%s.%s' % (space, name) if space else name, given, payload.get('call_id') or payload.get('id'))

    def _shell_call(self, payload):
        return self._tool('local_shell', payload.get('action'), payload.get('call_id') or payload.get('id'))

    def _server_call(self, payload):
        kind = payload['type'][:-len('_call')]
        given = payload.get('action') if 'action' in payload else payload.get('arguments', payload.get('revised_prompt'))
        return self._tool(kind, given, payload.get('call_id') or payload.get('id'), kind == 'tool_search')

    def _output(self, payload):
        call = word(payload.get('call_id'))
        seen, length = self.state.get('open', {}).pop(call, (OK, 0))
        self.calls.request()
        text, label = result_of(payload.get('output'))
        if length and len(text) <= length + 600 and 'truncated' not in text[:400]:
            # The command's own record has told it all, this repeats it under a header.
            if label in (OK, seen):
                return []
            text = ''
        label = seen if label == OK else label
        return [self._event(TOOL_RESULT, label, '%s/o' % self._tool_id(call), None, text, ToolResult(self._tool_id(call), ''), 0)]

    def _search_output(self, payload):
        found = payload.get('tools')
        names = [t.get('name') for t in found if type(t) is dict and type(t.get('name')) is str] if type(found) is list else []
        return self._output({'call_id': payload.get('call_id'), 'output': '\n'.join(names)})

    def _ended(self, call, label, text=''):
        """A tool's end as the screen saw it: the outcome for the output that follows, or a text of its own."""
        waiting = self.state.get('open', {}).get(word(call))
        if waiting is not None:
            waiting[0] = label
            waiting[1] = len(text)
        if not text:
            return []
        # Commands run inside another tool, or on after their turn, have no call that waits: no failure is counted.
        return [self._event(TOOL_RESULT, label if waiting is not None else OK, '%s/x' % self._tool_id(call), None, text,
                            ToolResult(self._tool_id(call), ''), 0)]

    def _exec_end(self, payload):
        return self._ended(payload.get('call_id'), status_of(payload, payload.get('exit_code')))

    def _patch_end(self, payload):
        return self._ended(payload.get('call_id'), status_of(payload, 1 if payload.get('success') is False else 0))

    def _mcp_end(self, payload):
        result = payload.get('result')
        failed = type(result) is dict and ('Err' in result or type(result.get('Ok')) is dict and (
            result['Ok'].get('isError') is True or result['Ok'].get('is_error') is True))
        return self._ended(payload.get('call_id'), status_of(payload, 1 if failed else 0))

    def _done_command(self, item):
        if item.get('source') == 'user_shell':
            # The person's own command; a message in her slot tells it with its output.
            return []
        return self._ended(item.get('id'), status_of(item, item.get('exit_code')), word(item.get('aggregated_output')))

    def _done_tool(self, item):
        failed = item.get('success') is False or item.get('error') not in (None, '')
        return self._ended(item.get('id'), status_of(item, 1 if failed else 0))


def status_of(item, code):
    """The outcome an end record states: by its status, else by an exit code."""
    if item.get('status') == 'declined':
        return DECLINED
    return ERROR if item.get('status') == 'failed' or type(code) is int and code else OK
