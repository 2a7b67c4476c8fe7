"""Claude Code records to events: every record type of client generations 1.0, 2.0 and 2.1.

Loose by design: unknown fields are ignored, an unknown or drifted record becomes an `unknown` event and is counted
once. Facts about the format come from the client's own builds (0.2.126 to 2.1.332) and from real transcripts.
"""
from ..base.clock import parse_time
from ..base.fold import is_ascii
from ..base.patterns import Pattern
from ..events import (
    ATTACHMENT, COLLATERAL, COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, QUEUED, RECAP,
    REPLY, THINKING, TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN, USAGE, Compaction, Event, ToolResult, Usage, counter)
from .claude_user import block_text, classify_queued, classify_user

SYNTHETIC = '<synthetic>'
# Record types without conversation in them (2.1.332 and before): known, and nothing to tell.
_BOOKKEEPING = frozenset((
    'agent-color agent-setting repl-mode session-owner isolation-latch dev-mods memory-mode atis-latch '
    'hybrid-organization bridge-session frame-link attribution-snapshot content-replacement tools-used observer-ref '
    'host-row history-suppression ended-by-model resume-head-vouch artifact-comment-monitor artifact-autoreact-ledger '
    'data-flow-records data-flow-incomplete api-request-shape api-request-blob api-request api-request-resumed '
    'marble-origami-commit marble-origami-snapshot speculation-accept checkpoint agent_metadata agent-metadata '
    'last-prompt file-history-snapshot file-history-delta progress fork-context-ref tag continued-in derived-from '
    'cost-state worktree-state relocated').split())
# Attachments worth finding again; every other kind is the harness talking to the model about itself.
_ATTACHED = frozenset((
    'file edited_text_file selected_lines_in_ide plan_file_reference hook_blocking_error max_turns_reached goal_status '
    'directory nested_memory relevant_memories opened_file_in_ide compact_file_reference').split())
_REFUSED = ("The user doesn't want to", '[Request interrupted by user', 'Permission to use', 'Permission for',
            'Claude requested permissions', 'Interrupted by user', 'User rejected tool use')
_COLLATERAL = ('Sibling tool call errored', '<tool_use_error>Sibling tool call errored',
               'Cancelled: parallel tool call', '<tool_use_error>Cancelled: parallel tool call')
_SPILL = Pattern(r'saved to: *([^\n]+)')
# Clients that cut stdout beside a spilled result cut it to 30,000 characters (2.1.50 and later); more is all of it.
_STDOUT_KEPT = 32000
# No id shorter than this was made by the API, nor by a program that makes ids at random.
_ONE_OF_ITS_KIND = 20
_usage = Usage._make
_NO_USAGE = Usage('', 0, 0, 0, 0, 0, 0, 0, '', '', '', 0, 0, '')

_SKIPPED_HEADS = frozenset(
    t.encode('ascii') for t in _BOOKKEEPING if t not in ('worktree-state', 'relocated', 'cost-state'))
_ATTACHMENT_HEAD = b'"attachment":{"type":"'
_ATTACHED_HEADS = frozenset(t.encode('ascii') for t in _ATTACHED) | {b'queued_command'}


def is_noise_line(line):
    """True for a line of bytes that holds no conversation, told from its head alone (no JSON is decoded).

    Metadata rows begin with their type; chain rows carry `"type":"progress"` or the attachment's kind in their first
    400 bytes (0 false in 290,187 real rows). A message before that is a conversation whose content looks the same (a
    tool's input may hold such keys). A row that does not end as an object does, or that another one is glued to, is
    left to the parser, so that damage is seen and the other one kept.
    """
    if line[:9] == b'{"type":"':
        if line[9:line.find(b'"', 9, 50)] not in _SKIPPED_HEADS:
            return False
    else:
        head = line[:400]
        at = head.find(b'"type":"progress"')
        if at < 0:
            at = head.find(_ATTACHMENT_HEAD)
            kind = at + len(_ATTACHMENT_HEAD)
            end = head.find(b'"', kind)
            if at < 0 or end < 0 or head[kind:end] in _ATTACHED_HEADS:
                return False
        message = head.find(b'"message":', 0, at)
        if message >= 0 and head.find(b'"data":', 0, message) < 0:
            return False
    return ((line[-2:] == b'}\n' or line.rstrip(b'\r\n \t')[-1:] == b'}')
            and line.find(b'{"parentUuid":', 1) < 0 and line.find(b'}{"') < 0)


def _word(value):
    return value if type(value) is str else ''


def _size(text):
    return len(text) if is_ascii(text) else len(text.encode('utf-8', 'surrogatepass'))


def parse_usage(message, visible):
    """-> Usage of one assistant message (dict); the counters of `usage`, five buckets that do not overlap."""
    model = _word(message.get('model'))
    usage = message.get('usage')
    stop = _word(message.get('stop_reason'))
    if type(usage) is not dict:
        return _NO_USAGE._replace(model=model, visible=visible, stop_reason=stop)
    get = usage.get
    written = counter(get('cache_creation_input_tokens'))
    split = get('cache_creation')
    hour = 0
    if type(split) is dict:
        hour = counter(split.get('ephemeral_1h_input_tokens'))
        short = counter(split.get('ephemeral_5m_input_tokens'))
        if hour + short > written:
            written = hour + short
    details = get('output_tokens_details')
    server = get('server_tool_use')
    searches = fetches = 0
    if server is not None and type(server) is dict:
        searches = counter(server.get('web_search_requests'))
        fetches = counter(server.get('web_fetch_requests'))
    return _usage((model, counter(get('input_tokens')), counter(get('output_tokens')), counter(get('cache_read_input_tokens')),
                   written - hour, hour, 1 if stop else 0, visible, _word(get('speed')), _word(get('inference_geo')),
                   _word(get('service_tier')), searches, fetches, stop, counter(details.get('thinking_tokens')) if type(details) is dict else 0))


def _aside(message, key):
    """-> [(identity, Usage)] of what a response used beside its own counters: a second model that it asked (advisor), a
    compaction on the server. Iterations of other kinds are parts of the counters (the API's description of `iterations`)."""
    usage = message.get('usage')
    found = usage.get('iterations') if type(usage) is dict else None
    return [('%s+%d' % (key, place), parse_usage({'model': one.get('model') or message.get('model'), 'usage': one, 'stop_reason': 'end_turn'}, 0))
            for place, one in enumerate(found if type(found) is list else ())
            if type(one) is dict and one.get('type') in ('advisor_message', 'compaction')]


def result_text(content, depth=0):
    """The text of a tool result's content in every shape it comes in; images as `[image]`, other objects as JSON.

    Lists in lists are followed a dozen levels, no more.
    """
    if type(content) is str:
        return content
    if content is None:
        return ''
    if type(content) is dict:
        content = (content,)
    elif type(content) is not list:
        return str(content)
    out = []
    for block in content:
        if type(block) is str:
            out.append(block)
        elif type(block) is dict:
            kind = block.get('type')
            text = block.get('text')
            if type(text) is str:
                out.append(text)
            elif kind in ('image', 'document'):
                out.append('[%s]' % kind)
            elif kind == 'tool_reference':
                out.append(_word(block.get('tool_name')))
            elif kind != 'text' and block:
                out.append(_as_json(block))
        elif type(block) is list and depth < 12:
            out.append(result_text(block, depth + 1))
    return '\n'.join(out)


def _as_json(value):
    try:
        import json
        return json.dumps(value, ensure_ascii=False, sort_keys=True)[:4000]
    except RecursionError:
        # Nested nearly as deep as can be read: what can be read of it.
        return input_text(value)[:4000]


def input_text(value):
    """The searchable text of a tool's input: its strings, one a line, keys left out; other values as JSON."""
    if type(value) is str:
        return value
    if value is None:
        return ''
    out = []
    _strings(value, out, 0)
    return '\n'.join(out)


def _strings(value, out, depth):
    if type(value) is str:
        if value:
            out.append(value)
    elif type(value) is dict and depth < 12:
        for item in value.values():
            _strings(item, out, depth + 1)
    elif type(value) is list and depth < 12:
        for item in value:
            _strings(item, out, depth + 1)
    elif type(value) is int and not isinstance(value, bool) and depth < 2:
        out.append(str(value))


class Parser(object):
    """Turns the records of one file into events. `state` (a dict of plain values) lets a grown file go on.

    role: 'main' or 'agent'; chain: '' or the agent's id; session: the session the file belongs to.
    """

    def __init__(self, coverage, role, chain, session, state):
        self.coverage, self.role, self.chain, self.session = coverage, role, chain, session
        self.in_agent = role != 'main'
        # Names a record without an id of its own, together with its offset.
        self.place = '%s/%s' % (session, chain) if chain else session
        self.state = state
        self.turn = state.get('turn', 0)
        self._around = None

    def events(self, record):
        """-> list of Events of one Record, in order."""
        data, line, offset, length = record
        kind = data.get('type')
        if kind == 'assistant':
            return self._assistant(data, line, offset, length)
        if kind == 'user':
            return self._user(data, line, offset, length)
        handler = _HANDLERS.get(kind) if type(kind) is str else None
        if handler is not None:
            return handler(self, data, line, offset, length)
        if type(kind) is str and kind in _BOOKKEEPING:
            return self._meta_only(data, line, offset, length)
        what = kind if type(kind) is str and kind else 'no type'
        self.coverage.drift(line, 'record type %s' % what[:60])
        return [self._event(UNKNOWN, what[:60], parse_time(data.get('timestamp')), None, None, '', None, line, offset, length, 0)]

    def _event(self, kind, label, time, ident, message, text, data, line, offset, length, part, chain=None):
        chain = self.chain if chain is None else chain
        return Event(kind, label, time, chain, 0 if chain else self.turn, ident, message, text, data, line, offset, length, part)

    def _drift(self, data, why, line, offset, length):
        self.coverage.drift(line, why)
        return [self._event(UNKNOWN, why, parse_time(data.get('timestamp')), _word(data.get('uuid')) or None, None,
                            '', None, line, offset, length, 0)]

    def _surroundings(self, data, time, line, offset, length, out):
        """Meta events where the directory, branch, client or session of the rows changes."""
        get = data.get
        around = (get('cwd'), get('gitBranch'), get('version'), get('entrypoint'), get('sessionId'))
        if around == self._around and ('forkedFrom' not in data or 'foreign' in self.state):
            return
        self._around = around
        state = self.state
        for field, label in (('cwd', 'cwd'), ('gitBranch', 'branch'), ('version', 'version'), ('entrypoint', 'entrypoint')):
            value = data.get(field)
            if value is not None and value != state.get(label) and type(value) is str and value:
                state[label] = value
                out.append(self._event(META, label, time, None, None, value, None, line, offset, length, -1))
        if not self.in_agent:
            session = data.get('sessionId')
            if type(session) is str and session and session != self.session or 'forkedFrom' in data:
                # A fork's copied rows may keep the id of the session they come from (2.0.77 to 2.1.50) or name it.
                self._copied(data, time, line, offset, length, out)

    def _copied(self, data, time, line, offset, length, out):
        """Say, once, that the file holds rows of another session."""
        if 'foreign' not in self.state:
            self.state['foreign'] = 1
            out.append(self._event(META, 'foreign', time, None, None, _word(data.get('sessionId')), None, line, offset, length, -1))

    def _chain_of(self, data):
        """Rows of a subagent may lie in the main file (1.0.60 to 2.0.22): their chain is not the main one."""
        if self.in_agent:
            return self.chain
        if data.get('isSidechain') is True:
            return _word(data.get('agentId')) or 'sidechain'
        return ''

    def _assistant(self, data, line, offset, length):
        message = data.get('message')
        if type(message) is not dict or 'content' not in message or not ('role' in message or 'id' in message or 'model' in message):
            return self._drift(data, 'assistant record without a message', line, offset, length)
        content = message.get('content')
        if type(content) is str:
            content = ({'type': 'text', 'text': content},)
        elif type(content) is dict:
            content = (content,)
        elif content is None:
            content = ()
        elif type(content) is not list:
            return self._drift(data, 'assistant content is no list', line, offset, length)
        time = parse_time(data.get('timestamp'))
        out = []
        self._surroundings(data, time, line, offset, length, out)
        # Parts count from the first event of content: what the state adds before them must not move them.
        base = len(out)
        uuid = _word(data.get('uuid'))
        key = _word(message.get('id'))
        if not key:
            key = _word(data.get('requestId')) or uuid or '%s:%d' % (self.place, offset)
        elif len(key) < _ONE_OF_ITS_KIND:
            key = self._response(key, message, _word(data.get('requestId')))
        chain = self._chain_of(data)
        turn = 0 if chain else self.turn
        api_error = data.get('isApiErrorMessage') is True
        synthetic = message.get('model') == SYNTHETIC or api_error
        visible = 0
        for block in content:
            if type(block) is str:
                block = {'type': 'text', 'text': block}
            elif type(block) is not dict:
                continue
            kind = block.get('type')
            part = len(out) - base
            ident = '%s/%d' % (uuid or key, part)
            if kind == 'text':
                text = block.get('text')
                if type(text) is not str or not text:
                    continue
                visible += _size(text)
                label = ('api_error' if api_error else 'synthetic') if synthetic else ''
                out.append(Event(REPLY, label, time, chain, turn, ident, key, text, None, line, offset, length, part))
            elif kind == 'thinking':
                text = block.get('thinking')
                if type(text) is not str or not text:
                    continue
                visible += _size(text)
                out.append(Event(THINKING, '', time, chain, turn, ident, key, text, None, line, offset, length, part))
            elif kind in ('tool_use', 'server_tool_use', 'mcp_tool_use'):
                given = block.get('input')
                text = input_text(given)
                visible += _size(text)
                name = _word(block.get('name')) or '(unnamed)'
                out.append(Event(TOOL_CALL, name, time, chain, turn, _word(block.get('id')) or ident, key, text, given,
                                 line, offset, length, part))
            elif kind in ('web_search_tool_result', 'web_fetch_tool_result', 'mcp_tool_result', 'code_execution_tool_result'):
                text = result_text(block.get('content'))
                label = ERROR if block.get('is_error') is True else OK
                call = _word(block.get('tool_use_id')) or ident
                out.append(Event(TOOL_RESULT, label, time, chain, turn, ident, None, text, ToolResult(call, ''),
                                 line, offset, length, part))
            elif kind not in ('redacted_thinking', 'fallback', 'text'):
                out.append(Event(UNKNOWN, 'block %s' % _word(kind)[:40], time, chain, turn, ident, key, '', None,
                                 line, offset, length, part))
        if not synthetic:
            out.append(Event(USAGE, '', time, chain, turn, key, key, '', parse_usage(message, visible), line, offset,
                             length, len(out) - base))
            # Beside the conversation, as a subagent's calls are: what they were sent is not its context.
            out.extend(Event(USAGE, '', time, chain or 'aside', 0, ident, ident, '', use, line, offset, length, len(out) - base + more)
                       for more, (ident, use) in enumerate(_aside(message, key)))
        return out

    def _response(self, name, message, request):
        """-> the identity of a response whose id is too short to be the only one: some programs in between give every response the
        same. Another one begins behind a result or a prompt where the counters of what was sent are others."""
        use = parse_usage(message, 0)
        sent = [use.input, use.cache_read, use.cache_write_5m + use.cache_write_1h]
        last = self.state.get('response')
        if last is not None and last[0] == name and (not last[4] or sent == last[2] or not any(sent) or not any(last[2])
                                                     or request and request == last[3]):
            if not any(last[2]):
                last[2] = sent
        else:
            last = self.state['response'] = [name, '%s#%d.%d.%d' % tuple([name] + sent) if any(sent) else name, sent, request, 0]
        return last[1]

    def _user(self, data, line, offset, length):
        if 'response' in self.state:
            self.state['response'][4] = 1
        message = data.get('message')
        if type(message) is not dict or 'content' not in message:
            return self._drift(data, 'user record without content', line, offset, length)
        content = message.get('content')
        time = parse_time(data.get('timestamp'))
        out = []
        self._surroundings(data, time, line, offset, length, out)
        base = len(out)
        uuid = _word(data.get('uuid')) or None
        chain = self._chain_of(data)
        turn = 0 if chain else self.turn
        if chain and not self.in_agent and data.get('parentUuid') is None:
            out.append(Event(META, 'subagent', time, chain, 0, _word(data.get('agentId')) or uuid or '%s:%d' % (self.place, offset), None, '',
                             None, line, offset, length, -1))
            base = len(out)
        if type(content) in (list, dict):
            for block in content if type(content) is list else (content,):
                if type(block) is dict and block.get('type') == 'tool_result':
                    self._result(block, data, time, chain, turn, uuid, line, offset, length, out, base)
        text = block_text(content)
        if not text.strip():
            return out
        kind, label, shown = classify_user(data, text, self.in_agent)
        if kind == PROMPT:
            last = self.state.get('queued')
            if last is not None:
                del self.state['queued']
                if label == TYPED and last == shown[:200]:
                    # The client wrote a mid-turn prompt twice: as an attachment and as an ordinary row.
                    kind, label = INJECTED, 'duplicate'
        if kind == PROMPT:
            self._open_turn()
            turn = self.turn
            if not self.in_agent and not chain:
                given, size = [_word(data.get('promptId')), uuid], len(out)
                before = self.state.get('prompt')
                if given[0] and before and before[0] == given[0] and before != given:
                    # A fork gives the prompts it copies one new id, that of its first own one too (2.1.332).
                    self._copied(data, time, line, offset, length, out)
                    base += len(out) - size
                self.state['prompt'] = given
            mode = data.get('permissionMode')
            if type(mode) is str and mode != self.state.get('mode'):
                # Rows name the mode since 2.1.15.
                self.state['mode'] = mode
                out.append(self._event(META, 'mode', time, None, None, mode, None, line, offset, length, -1))
                base += 1
        images = text.count('[image]') if '[image]' in text else 0
        if kind == INTERRUPTION:
            chain_kind = INTERRUPTION if not chain else INJECTED
            out.append(Event(chain_kind, label or 'interruption', time, chain, turn, uuid or '%s:%d' % (self.place, offset), None, shown,
                             None, line, offset, length, len(out) - base))
        else:
            out.append(Event(kind, label, time, chain, turn, uuid or '%s:%d' % (self.place, offset), None, shown,
                             images or None, line, offset, length, len(out) - base))
        return out

    def _open_turn(self):
        self.turn += 1
        self.state['turn'] = self.turn

    def _result(self, block, data, time, chain, turn, uuid, line, offset, length, out, base):
        text = result_text(block.get('content'))
        extra = data.get('toolUseResult')
        label = OK
        if block.get('is_error') is True:
            label = _failure(text, extra, data)
        spill = ''
        if '<persisted-output>' in text[:200]:
            found = _SPILL.search(text[:2000])
            if found:
                spill = found.group(1).strip()
        if type(extra) is dict:
            path = extra.get('persistedOutputPath')
            stdout = extra.get('stdout')
            if type(path) is str and path:
                spill = path
            elif type(stdout) is str and len(stdout) > len(text) + 200 and (not spill or len(stdout) > _STDOUT_KEPT):
                # 2.0.77 and 2.1.14 cut the text the model saw and keep the whole output beside it.
                text, spill = text + '\n' + stdout, ''
        part = len(out) - base
        ident = '%s/%d' % (uuid or '%s:%d' % (self.place, offset), part)
        out.append(Event(TOOL_RESULT, label, time, chain, turn, ident, None, text,
                         ToolResult(_word(block.get('tool_use_id')) or ident, spill), line, offset, length, part))

    def _attachment(self, data, line, offset, length):
        attached = data.get('attachment')
        if type(attached) is not dict:
            return self._drift(data, 'attachment record without an attachment', line, offset, length)
        kind = _word(attached.get('type'))
        time = parse_time(data.get('timestamp'))
        uuid = _word(data.get('uuid')) or '%s:%d' % (self.place, offset)
        chain = self._chain_of(data)
        if kind == 'queued_command':
            what, label, text = classify_queued(attached)
            if chain and what == PROMPT:
                what, label = INJECTED, 'task'
            if not text.strip():
                return []
            if what == PROMPT:
                self._open_turn()
                if label == QUEUED:
                    self.state['queued'] = text[:200]
            return [self._event(what, label, time, uuid, None, text, None, line, offset, length, 0, chain)]
        if kind in _ATTACHED:
            text = _attached_text(attached)
            if text:
                return [self._event(INJECTED, ATTACHMENT, time, uuid, None, text, kind, line, offset, length, 0, chain)]
        return []

    def _system(self, data, line, offset, length):
        subtype = _word(data.get('subtype'))
        time = parse_time(data.get('timestamp'))
        uuid = _word(data.get('uuid')) or '%s:%d' % (self.place, offset)
        content = _word(data.get('content'))
        chain = self._chain_of(data)
        if subtype == 'compact_boundary':
            meta = data.get('compactMetadata')
            meta = meta if type(meta) is dict else {}
            what = Compaction(_word(meta.get('trigger')), counter(meta.get('preTokens')) or None)
            return [self._event(COMPACTION, what.trigger, time, uuid, None, content, what, line, offset, length, 0, chain)]
        if subtype == 'api_error':
            return [self._event(META, 'retry', time, uuid, None, '', None, line, offset, length, 0, chain)]
        if subtype == 'local_command' and content:
            return [self._event(INJECTED, 'command_output', time, uuid, None, content, None, line, offset, length, 0, chain)]
        if subtype == 'away_summary' and content:
            return [self._event(INJECTED, RECAP, time, uuid, None, content, 'away', line, offset, length, 0, chain)]
        if content and subtype in ('', 'informational', 'scheduled_task_fire', 'memory_saved', 'model_refusal_fallback',
                                   'model_fallback', 'instruction_size_warning', 'session_writes_lost'):
            return [self._event(INJECTED, subtype or 'notice', time, uuid, None, content, None, line, offset, length, 0, chain)]
        return []

    def _title(self, data, line, offset, length):
        kind = data['type']
        if kind == 'summary':
            text, label, extra = data.get('summary'), 'summary', _word(data.get('leafUuid'))
        elif kind == 'custom-title':
            text, label, extra = data.get('customTitle'), 'custom-title', None
        elif kind == 'ai-title':
            text, label, extra = data.get('aiTitle'), 'ai-title', None
        else:
            text, label, extra = data.get('agentName'), 'agent-name', None
        if type(text) is not str:
            if text is None and kind == 'agent-name':
                return []
            return self._drift(data, '%s record without its text' % kind, line, offset, length)
        # Metadata rows are written again and again (each 32 KiB and at exit): only a change is news.
        titles = self.state.setdefault('titles', {})
        news = [text, extra] if extra else text
        if titles.get(label) == news:
            return []
        titles[label] = news
        return [self._event(META, label, None, None, None, text, extra, line, offset, length, 0)]

    def _mode(self, data, line, offset, length):
        mode = _word(data.get('permissionMode'))
        if mode == self.state.get('mode'):
            # Written again and again, as titles are.
            return []
        self.state['mode'] = mode
        return [self._event(META, 'mode', None, None, None, mode, None, line, offset, length, 0)]

    def _pr(self, data, line, offset, length):
        return [self._event(META, 'pr', parse_time(data.get('timestamp')), None, None, _word(data.get('prUrl')), None,
                            line, offset, length, 0)]

    def _queue(self, data, line, offset, length):
        # Every prompt that was queued stands in a row of its own later; the queue's own rows would double it.
        time = parse_time(data.get('timestamp'))
        if time is None:
            return []
        return [self._event(META, 'queue', time, None, None, '', None, line, offset, length, 0)]

    def _meta_only(self, data, line, offset, length):
        if data['type'] == 'relocated':
            return [self._event(META, 'cwd', None, None, None, _word(data.get('relocatedCwd')), None, line, offset, length, 0)]
        return []


_HANDLERS = {
    'attachment': Parser._attachment, 'system': Parser._system, 'summary': Parser._title, 'custom-title': Parser._title,
    'ai-title': Parser._title, 'agent-name': Parser._title, 'permission-mode': Parser._mode, 'mode': Parser._meta_only,
    'pr-link': Parser._pr, 'queue-operation': Parser._queue,
}


def _failure(text, extra, data):
    """What an is_error result is: declined by the person, collateral of another failure, or an error."""
    if data.get('toolDenialKind') or text.startswith(_REFUSED):
        return DECLINED
    if type(extra) is str:
        if extra.startswith('User rejected tool use'):
            return DECLINED
        if extra.startswith(_COLLATERAL):
            return COLLATERAL
    if text.startswith(_COLLATERAL) or text == 'Warmup':
        return COLLATERAL
    return ERROR


def _attached_text(attached):
    """The readable part of an attachment: names and file content, never base64."""
    out = []
    for key in ('filename', 'path', 'displayPath', 'planFilePath', 'snippet', 'planContent', 'condition', 'reason',
                'blockingError', 'message'):
        value = attached.get(key)
        if type(value) is str and value:
            out.append(value)
        elif type(value) is dict and type(value.get('blockingError')) is str:
            out.append(value['blockingError'])
    content = attached.get('content')
    if type(content) is str:
        out.append(content)
    elif type(content) is dict:
        inner = content.get('file') if type(content.get('file')) is dict else content
        if type(inner.get('content')) is str:
            out.append(inner['content'])
        elif type(content.get('text')) is str:
            out.append(content['text'])
    return '\n'.join(out)


def history_events(record):
    """-> list of events of one row of history.jsonl: a prompt as it was typed, of whatever session.

    Its `message` is the session's id. Pasted text that the row still holds stands behind the prompt.
    """
    data, line, offset, length = record
    text = data.get('display')
    if type(text) is not str or not text.strip():
        return []
    pasted = data.get('pastedContents')
    for entry in pasted.values() if type(pasted) is dict else ():
        if type(entry) is dict and type(entry.get('content')) is str:
            text += '\n' + entry['content']
    session = _word(data.get('sessionId'))
    project = _word(data.get('project'))
    return [Event(PROMPT, 'history', parse_time(data.get('timestamp')), 'history', 0, 'h%s:%d' % (session, offset), session or None,
                  text, project, line, offset, length, 0)]
