"""ZCode's files beside the database: traces of subagents, logs of model requests (rollouts), snapshots of the old desktop.

All three tell what the database tells of its sessions; they are read for what it does not hold.
"""

from ..base import bounded_json
from ..base.clock import parse_time
from ..base.files import open_regular
from ..events import DECLINED, ERROR, INJECTED, META, OK, PROMPT, REPLY, THINKING, TOOL_CALL, USAGE
from ..records import Coverage, read_records
from .values import classify, content_text, count, first, images, inner, result_text, tool_input, uncached, usage, word
from .zcode_parse import ROLLOUT, SNAPSHOT, TRACE, Maker, code, refused

_SILENT = frozenset('model_request model_network_status'.split())


def _usage(model, found):
    """-> Usage of an object of counters in the client's camel case; None when it holds no counter."""
    if type(found) is not dict or not any(count(found.get(name)) for name in ('inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens')):
        return None
    sent, read, written = count(found.get('inputTokens')), count(found.get('cacheReadTokens')), count(found.get('cacheWriteTokens'))
    return usage(model, uncached(sent, read, written), count(found.get('outputTokens')), read, written)


def _plain(ref):
    """-> the model of a reference `provider/model`, or of an object."""
    if type(ref) is dict:
        ref = first(ref, 'modelId', 'modelID', 'id', 'name')
    return word(ref).rsplit('/', 1)[-1].strip()


class Trace(object):
    """Turns the rows of an agent's transcript.jsonl into events.

    Text that was streamed is put together and stands at the offset where its stream began. parser: Parser of the session;
    text, counted: what is wanted of it.
    """

    def __init__(self, parser, text=True, counted=True):
        self.parser, self.text, self.counted = parser, text, counted
        self.model = ''
        self.turn = 0
        self.calls = []         # (Usage, time, line, offset) of the turn so far
        self.stream = None      # [Maker, thinking, text] of what is being streamed

    def events(self, record):
        """-> list of Events of one Record."""
        data, line, offset, length = record
        payload = inner(data, 'payload')
        kind = word(data.get('type'))
        make = Maker(self.parser, parse_time(data.get('timestamp')), line, code(TRACE, offset), 0)
        ident = 'trace/%d' % offset
        out = []
        if kind not in _SILENT and kind != 'model_complete' and (kind != 'model_streaming' or payload.get('kind') == 'start'):
            # What an earlier stream left behind was said too.
            out = self.streamed()
        if kind == 'turn_started':
            self.turn = offset
            text = content_text(payload.get('input'))
            if text:
                make.add(INJECTED, 'task', ident, text)
        elif kind in _SILENT:
            self.model = _plain(payload.get('modelRef') or payload.get('model')) or self.model
        elif kind == 'model_streaming':
            self._stream(make, payload)
        elif kind == 'model_complete':
            text = content_text(payload.get('content'))
            out = self.streamed(text)
            if text:
                make.add(REPLY, '', ident, text)
            use = _usage(_plain(payload.get('modelRef') or payload.get('model')) or self.model, payload.get('usage'))
            if use is not None:
                self.calls.append((use, make.time, line, make.offset))
        elif kind == 'tool_call_scheduled':
            given, text = tool_input(payload.get('input'))
            make.add(TOOL_CALL, first(payload, 'toolName', 'name') or '(unnamed)', first(payload, 'toolCallId') or ident, text, given)
        elif kind == 'tool_batch_complete':
            self._batch(make, payload)
        elif kind == 'turn_complete':
            out += self.counts(_usage(self.model, payload.get('usage')), make)
        else:
            make.unknown('trace record %s' % (kind[:40] or 'without a type'))
        found = [one for one in make.out if self.text or one.kind in (USAGE, META)]
        return out + found

    def _stream(self, make, payload):
        kind = payload.get('kind')
        if self.stream is None:
            self.stream = [make, '', '']
        if kind == 'reasoning_delta':
            self.stream[1] += word(payload.get('delta'))
        elif kind == 'text_delta':
            self.stream[2] += word(payload.get('delta'))

    def streamed(self, complete=''):
        """-> list of Events of what was streamed so far, without its text where the finished message gives that."""
        if self.stream is None:
            return []
        make, thinking, text = self.stream
        self.stream = None
        at = 'trace/%d' % (make.offset // 8)
        if thinking:
            make.add(THINKING, '', at + '/thinking', thinking)
        if text and not complete:
            make.add(REPLY, '', at + '/text', text)
        return make.out if self.text else []

    def _batch(self, make, payload):
        # Which call of a batch failed is not said: only a batch of one, or one that failed whole or not at all, is known.
        calls = [one for one in payload.get('toolCallIds') or () if type(one) is str] if type(payload.get('toolCallIds')) is list else []
        failed = count(payload.get('errorCount'))
        if not failed or failed >= len(calls):
            for call in calls:
                make.result(call, ERROR if failed else OK, '')

    def counts(self, total, make):
        """-> list of USAGE events of the calls of a turn that ended; where its own total says something else, that is made instead."""
        calls, self.calls = self.calls, []
        if not self.counted:
            return []
        if total is not None and _sum(one[0] for one in calls) != _sum((total,)):
            make.add(USAGE, '', 'trace/turn/%d' % self.turn, '', total)
            return []
        out = []
        for use, time, line, offset in calls:
            one = Maker(self.parser, time, line, offset, 0)
            one.add(USAGE, '', 'trace/call/%d' % (offset // 8), '', use)
            out += one.out
        return out

    def rest(self):
        """-> list of Events of what the file ended in the middle of."""
        return self.streamed() + self.counts(None, None)

    @property
    def unfinished(self):
        """True in the middle of a stream."""
        return self.stream is not None


def _sum(found):
    found = list(found)
    return tuple(sum(getattr(one, name) for one in found) for name in ('input', 'output', 'cache_read', 'cache_write_5m'))


class Rollout(object):
    """Turns the rows of a model-io-*.jsonl into events: each holds one request with the whole conversation before it.

    parser: Parser of the session; text, counted: what is wanted of it.
    """

    def __init__(self, parser, text=True, counted=True):
        self.parser, self.text, self.counted = parser, text, counted
        self.asked = None

    def events(self, record):
        """-> list of Events of one Record."""
        data, line, offset, length = record
        parser = self.parser
        began = parse_time(data.get('startedAt'))
        ended = parse_time(data.get('completedAt'))
        call = '%s/%s' % (data.get('requestId') or 'line%d' % offset, data.get('attempt') if data.get('attempt') is not None else '')
        make = Maker(parser, began, line, code(ROLLOUT, offset), 0, '%s/%s' % (parser.sid, call))
        if data.get('type') != 'model_io':
            make.unknown('rollout record %s' % (word(data.get('type'))[:40] or 'without a type'))
            return make.out
        if self.text:
            self._asked(make, inner(data, 'request').get('messages'), 'asked/%s' % call)
        # Whether the question is news depends on the rows before: what follows is numbered as if it were.
        make.base = 1 - len(make.out)
        make.time = began if ended is None else ended
        response = inner(data, 'response')
        if self.text:
            self._answered(make, response, 'io/%s' % call)
        if self.counted:
            use = _usage(first(inner(data, 'model'), 'modelId', 'modelID') or _plain(data.get('model')), response.get('usage'))
            if use is not None:
                make.add(USAGE, '', 'io/' + call, '', use)
            elif data.get('error'):
                make.add(META, 'retry', 'io/' + call)
        return make.out

    def _answered(self, make, response, ident):
        thought = content_text(response.get('reasoning') or response.get('reasoningText'))
        text = content_text(response.get('text'))
        if thought:
            make.add(THINKING, '', ident + '/thinking', thought)
        if text:
            make.add(REPLY, '', ident, text)
        for place, one in enumerate(response.get('toolCalls') if type(response.get('toolCalls')) is list else ()):
            if type(one) is dict:
                given, shown = tool_input(one.get('input'))
                make.add(TOOL_CALL, first(one, 'name', 'toolName') or '(unnamed)', first(one, 'id', 'toolCallId') or '%s/%d' % (ident, place),
                         shown, given)

    def rest(self):
        """Rows stand alone: nothing is left."""
        return []

    unfinished = False

    def _asked(self, make, messages, ident):
        """The last user message of a request, where it is another one than in the request before."""
        messages = messages if type(messages) is list else []
        for place in range(len(messages) - 1, -1, -1):
            one = messages[place]
            if type(one) is not dict or one.get('role') != 'user':
                continue
            text = content_text(one.get('content'))
            if not text:
                # Results of tools stand in the user's place in some dialects.
                continue
            news = (text, sum(1 for other in messages if type(other) is dict and other.get('role') == 'user'))
            if self.asked is not None and (news == self.asked or news[0] == self.asked[0] and news[1] <= self.asked[1]):
                return
            self.asked = news
            kind, label, shown = (INJECTED, 'task', text) if self.parser.chain else classify(text)
            if kind == PROMPT:
                self.parser.turn += 1
            make.add(kind, label, ident, shown, images(shown) if kind == PROMPT else None)
            return


def has_calls(path):
    """True when a rollout holds the tokens of any call."""
    try:
        return any(_usage('', inner(record.data, 'response').get('usage')) for record in read_records(path))
    except OSError:
        return False


def read_lines(path, coverage, machine):
    """Yield lists of Events of a file of lines by a Trace or a Rollout. coverage: sums up what is read."""
    own = Coverage(path)
    before = (0, 0, 0)
    for record in read_records(path, own):
        coverage.line = record.line
        coverage.offset += record.length
        found = machine.events(record)
        before = _carry(coverage, own, before)
        yield found
    _carry(coverage, own, before)
    rest = machine.rest()
    if rest:
        yield rest


def _carry(coverage, own, before):
    coverage.lines += own.lines - before[0]
    coverage.parse_errors += own.parse_errors - before[1]
    coverage.damaged.extend(own.damaged[before[2]:])
    coverage.unfinished = own.unfinished
    return own.lines, own.parse_errors, len(own.damaged)


def events_from(path, offset, machine):
    """-> list of the Events that stand at a byte offset of a file of lines (as coded by zcode_parse.code)."""
    for record in read_records(path, Coverage(path), offset):
        found = [one for one in machine.events(record) if one.offset // 8 == offset]
        if found or not machine.unfinished:
            return found
    return [one for one in machine.rest() if one.offset // 8 == offset]


# snapshots of the old desktop


def snapshot(path):
    """-> (meta, list of messages) of a v2 session file; ({}, None) where it is something else."""
    with open_regular(path) as handle:
        raw = handle.read()
    try:
        value = bounded_json.loads(raw.decode('utf-8-sig', 'replace'), bounded_json.DOCUMENT)
    except (ValueError, RecursionError):
        return {}, None
    messages = value.get('messages') if type(value) is dict else None
    return (inner(value, 'meta'), messages) if type(messages) is list else ({}, None)


def restored_as(path):
    """-> the id under which the database holds the conversation of a snapshot since it was restored, ''."""
    try:
        return word(snapshot(path)[0].get('acpSessionId'))
    except OSError:
        # Whoever reads it says so.
        return ''


def snapshot_head(parser, meta):
    """-> list of Events of what a snapshot says of its session."""
    make = Maker(parser, parse_time(meta.get('createdAt')), 0, code(SNAPSHOT, 0), 0)
    for label, name in (('cwd', 'workspacePath'), ('ai-title', 'title')):
        if word(meta.get(name)).strip():
            make.add(META, label, None, meta[name].strip())
    return make.out


def snapshot_message(parser, data, place):
    """-> list of Events of the message at a place of a snapshot (from 1)."""
    ident = 'v2/%d' % place
    make = Maker(parser, None, place, code(SNAPSHOT, place), 0, '%s/%s' % (parser.sid, ident))
    if type(data) is not dict:
        make.unknown('a message that is no object')
        return make.out
    make.time = parse_time(data.get('timestamp'))
    role = word(data.get('role')).lower()
    text = content_text(data.get('content'))
    if role == 'user':
        if text.strip():
            kind, label, shown = classify(text)
            if kind == PROMPT:
                parser.turn += 1
            make.add(kind, label, ident, shown, images(shown) if kind == PROMPT else None)
    elif role == 'assistant':
        tools = data.get('tools') if type(data.get('tools')) is list else []
        parts = [one for one in data.get('parts') if type(one) is dict] if type(data.get('parts')) is list else []
        if not parts:
            parts = [{'type': 'thought', 'content': data.get('thought')}]
            parts += [{'type': 'tool-call', 'toolIndex': n} for n in range(len(tools))] + [{'type': 'content', 'content': text}]
        for number, part in enumerate(parts):
            _part(make, '%s.%d' % (ident, number), part, tools)
    else:
        make.unknown('message role %s' % (role[:40] or 'missing'))
    return make.out


def _part(make, ident, part, tools):
    kind = part.get('type')
    text = word(part.get('content'))
    if kind == 'thought':
        if text.strip():
            make.add(THINKING, '', ident, text)
    elif kind == 'content':
        if text.strip():
            make.add(REPLY, '', ident, text)
    elif kind == 'tool-call':
        place = part.get('toolIndex')
        tool = tools[place] if type(place) is int and 0 <= place < len(tools) and type(tools[place]) is dict else {}
        given, shown = tool_input(tool.get('input'))
        make.add(TOOL_CALL, first(tool, 'kind', 'name', 'title') or '(unnamed)', ident, '\n'.join(filter(None, (word(tool.get('title')), shown))), given)
        status = word(tool.get('status'))
        if status in ('completed', 'failed'):
            output = tool.get('output')
            if type(output) is dict and type(output.get('content')) is str:
                output = output['content']
            text = result_text(output)
            make.result(ident, OK if status == 'completed' else DECLINED if refused(text) else ERROR, text)
    else:
        make.unknown('part type %s' % (word(kind)[:40] or 'missing'))
