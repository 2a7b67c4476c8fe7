"""What records of agents nobody described may call their parts: role, text, tool calls and results, time, ids, tokens.

Every alias here was seen in a client's files. Nothing guesses from words in free text, whole objects are never made
into text, and no function raises on any JSON value.
"""
import re
from collections import namedtuple

from ..base import clock
from ..events import COLLATERAL, DECLINED, ERROR, OK, Usage
from .values import content_text, count, decoded, first, result_text, word

# kind: text, thinking, call or result. name, id: of the tool and its call; data: a call's input; status: a result's label.
Piece = namedtuple('Piece', 'kind text name id data status')

_WORDS = (('user', 'user human person customer client you me usermessage'),
          ('assistant', 'assistant ai model gemini bot agent gpt chatgpt chatbot llm copilot assistantmessage'),
          ('tool', 'tool toolresult toolresponse function functionresponse observation'),
          ('system', 'system developer instructions'))
ROLES = dict((name, role) for role, names in _WORDS for name in names.split())
_CALLS = frozenset('tool_use toolUse toolCall tool_call functionCall function_call tool-call custom_tool_call'.split())
_RESULTS = frozenset(('tool_result toolResult functionResponse function_call_output function_call_result tool-result '
                      'tool_response custom_tool_call_output').split())
_THOUGHTS = frozenset('thinking reasoning reasoning_text thought'.split())
_MEDIA = frozenset('image image_url input_image inline_data document audio video file'.split())
_TEXTS = ('content', 'text', 'parts', 'display', 'body', 'raw_content', 'rawContent', 'value', 'utterance', 'message', 'msg',
          'summary', 'prompt')
_CALL_IDS = ('tool_use_id', 'toolUseId', 'toolUseID', 'toolCallId', 'tool_call_id', 'callId', 'call_id', 'callID')
_TIMES = ('timestamp', 'ts', 'time', 'createdAt', 'created_at', 'created', 'message_summary_time', 'session_time', 'datetime',
          'date', 'at')
_SESSIONS = ('sessionId', 'session_id', 'sessionID', 'conversationId', 'conversation_id', 'thread_id', 'threadId')
_DIRECTORIES = ('cwd', 'workspace', 'workspace_root', 'directory', 'project', 'projectPath', 'workDir', 'work_dir')
_MODELS = ('model', 'modelId', 'model_id', 'modelName', 'modelID', 'requestModelId')
_BRANCHES = ('gitBranch', 'git_branch', 'branch')
_TITLES = ('customTitle', 'custom_title', 'aiTitle', 'ai_title', 'title', 'sessionTitle', 'topic')
_NEAR = ('message', 'payload', 'data', 'params', 'context', 'session', 'providerData', 'metadata')
_IDS = ('uuid', 'id', 'message_id', 'messageId', 'msg_id')
_FAILED = frozenset('error errored failed failure timeout timed_out'.split())
_DENIED = frozenset('denied rejected declined refused'.split())
_CANCELLED = frozenset('cancelled canceled aborted'.split())
_EXIT = re.compile(r'\s*(?:Process exited with |Command failed with )?exit code:? (-?\d{1,12})', re.I)
_ZONED = re.compile(r'(?:[Zz]|UTC|GMT|[+-]\d\d:?\d\d)\s*\Z')
_DRIVE = re.compile(r'[A-Za-z]:[\\/]')
_PARTS = re.compile(r'[A-Z]?[a-z]+|[A-Z]+|\d+')


def role_of(value):
    """-> user, assistant, tool or system for what a record calls its writer, '' for anything else."""
    if type(value) is dict:
        value = value.get('role') or value.get('type') or value.get('name')
    if type(value) is not str:
        return ''
    return ROLES.get(value.strip().lower().replace('_', '').replace('-', ''), '')


def parts_of(name):
    """-> the words of a name such as `user.message` or `toolExecution_end`, in lower case."""
    return [part.lower() for part in _PARTS.findall(name[:80])]


def places_of(data):
    """-> list of a record and the objects inside it that may tell of its session, the nearest first."""
    near = [data[name] for name in _NEAR if type(data.get(name)) is dict]
    return [data] + near + [one['context'] for one in near if type(one.get('context')) is dict]


def at(data, path):
    """-> what lies at a dotted path in a record, None when it ends earlier."""
    for name in path.split('.'):
        if type(data) is list and name.isdecimal() and len(name) < 10 and int(name) < len(data):
            data = data[int(name)]
        elif type(data) is dict:
            data = data.get(name)
        else:
            return None
    return data


def is_path(text):
    """True for a text that looks like an absolute path."""
    return text.startswith(('/', '~/', '\\\\')) and '\n' not in text or bool(_DRIVE.match(text))


def time_of(*places):
    """-> ms of the first time that one of these dicts has; a text without a zone is taken as this machine's."""
    for data in places:
        for name in _TIMES:
            value = data.get(name)
            if type(value) is dict:
                value = value.get('created') or value.get('start')
            if type(value) in (str, int, float):
                found = clock.parse_time(value)
                if found is not None:
                    return found if type(value) is not str or value.strip().isdecimal() else _zoned(value, found)
    return None


def _zoned(text, ms):
    if _ZONED.search(text) or len(text.strip()) < 13:
        return ms
    return ms - clock.zone().offset(ms) * 1000


def _first_in(names, places):
    for data in places:
        found = first(data, *names)
        if found:
            return found
    return ''


def session_of(*places):
    """-> the session's id in these dicts, ''."""
    found = _first_in(_SESSIONS, places)
    if not found and word(places[0].get('type')) in ('session', 'session_start', 'session-start', 'session_meta', 'session-meta'):
        found = first(places[0], 'id')
    return found


def model_of(*places):
    """-> the model's name in these dicts, ''; 'auto' and the like name none."""
    for data in places:
        found = data.get('model')
        found = first(found, 'modelID', 'id', 'name') if type(found) is dict else first(data, *_MODELS)
        if found and found not in ('auto', 'default', '<synthetic>'):
            return found
    return ''


def directory_of(*places):
    """-> the directory these dicts name, ''."""
    for data in places:
        for name in _DIRECTORIES:
            if type(data.get(name)) is str and is_path(data[name]):
                return data[name]
    return ''


def branch_of(*places):
    """-> the git branch in these dicts, ''."""
    for data in places:
        git = data.get('git')
        found = first(data, *_BRANCHES) or (first(git, 'branch') if type(git) is dict else '')
        if found:
            return found
    return ''


def title_of(data):
    """-> the session's title in a record that is no message, ''."""
    return first(data, *_TITLES)


def id_of(*places):
    """-> the record's own id, ''; numbers count too."""
    for data in places:
        for name in _IDS:
            value = data.get(name)
            if type(value) is str and value or type(value) is int:
                return str(value)
    return ''


def call_id(data):
    """-> the id of the tool call a record or block belongs to, ''."""
    return first(data, *_CALL_IDS)


def status_of(data, text):
    """-> ok, error, declined or collateral of a tool's result."""
    inner = data.get('response')
    places = [data] + [inner] * (type(inner) is dict)
    for one in places:
        if one.get('is_error') is True or one.get('isError') is True or one.get('success') is False or one.get('ok') is False:
            return ERROR
        state = word(one.get('status')).lower() or word(one.get('outcome')).lower()
        if state in _DENIED:
            return DECLINED
        if state in _CANCELLED:
            return COLLATERAL
        if state in _FAILED or one is not data and one.get('error'):
            return ERROR
        for name in ('exit_code', 'exitCode', 'exit'):
            if type(one.get(name)) is int:
                return ERROR if one[name] else OK
    found = _EXIT.match(text[:200])
    return ERROR if found and int(found.group(1)) else OK


def _call(data):
    inner = data.get('functionCall') or data.get('function_call') or data.get('function')
    inner = inner if type(inner) is dict else data
    name = first(inner, 'name', 'tool', 'toolName', 'tool_name') or first(data, 'name', 'toolName', 'tool_name')
    given = None
    for key in ('input', 'arguments', 'args', 'parameters', 'rawInput'):
        if inner.get(key) is not None:
            given = inner[key]
            break
    ident = call_id(data) or first(data, 'id') or first(inner, 'id')
    return Piece('call', '', name, ident, given, '')


def _result(data, role=''):
    inner = data.get('functionResponse') or data.get('function_response')
    inner = inner if type(inner) is dict else data
    answer = inner.get('response')
    text = ''
    if type(answer) is dict:
        text = result_text(answer.get('output')) or result_text(answer.get('error')) or result_text(answer.get('result'))
    for key in ('content', 'output', 'result', 'text', 'parts', 'message', 'error'):
        if text:
            break
        text = _output(inner.get(key))
    ident = call_id(data) or call_id(inner)
    if not ident and (inner is not data or not role):
        # The id of a message of role tool is its own, that of a block is its call's.
        ident = first(inner, 'id')
    return Piece('result', text, first(inner, 'name', 'tool_name', 'toolName'), ident, None, status_of(inner, text))


def _output(value):
    """The text of an output; answers of functions inside a list are taken out of their wrapping."""
    if type(value) is list and value and all(type(one) is dict and 'functionResponse' in one for one in value):
        return '\n'.join(_result(one).text for one in value)
    return '' if type(value) is bool else result_text(value)


def _block(block, out):
    """Add the pieces of one content block."""
    if type(block) is str:
        if block:
            out.append(Piece('text', block, '', '', None, ''))
        return
    if type(block) is not dict:
        return
    kind = word(block.get('type'))
    if kind in _CALLS or 'functionCall' in block:
        out.append(_call(block))
    elif kind in _RESULTS or 'functionResponse' in block:
        out.append(_result(block))
    elif kind in _THOUGHTS or block.get('thought') is True:
        text = first(block, 'thinking', 'text', 'reasoning') or content_text(
            block.get('content') or block.get('summary') or block.get('rawContent'))
        if text.strip():
            out.append(Piece('thinking', text, '', '', None, ''))
    elif kind in _MEDIA or 'inlineData' in block or 'inline_data' in block:
        out.append(Piece('text', '[document]' if kind in ('document', 'file') else '[image]', '', '', None, ''))
    else:
        text = content_text(block)
        if text:
            out.append(Piece('text', text, '', '', None, ''))


def text_value(data):
    """-> (key, value) of what holds a record's text, ('', None) when nothing does."""
    for name in _TEXTS:
        value = data.get(name)
        if type(value) is str and value.strip() or type(value) in (list, dict) and value:
            return name, value
    return '', None


def pieces(data, role):
    """-> list of Pieces of a message's own dict, in order: what was thought, said, called, answered."""
    out = []
    kind = word(data.get('type'))
    if role == 'tool' or kind in _RESULTS:
        listed = data.get('content') if type(data.get('content')) is list else data.get('parts')
        if type(listed) is list and any(type(b) is dict and (word(b.get('type')) in _RESULTS or 'functionResponse' in b) for b in listed):
            for block in listed:
                _block(block, out)
            return [p._replace(id=p.id or call_id(data)) if p.kind == 'result' else p for p in out]
        return [_result(data, role)]
    if kind in _CALLS:
        return [_call(data)]
    if kind in _THOUGHTS:
        _block(data, out)
        return out
    for name in ('reasoning_content', 'reasoning', 'thinking', 'reasoningText'):
        if type(data.get(name)) is str and data[name].strip():
            out.append(Piece('thinking', data[name], '', '', None, ''))
            break
    for thought in data['thoughts'] if type(data.get('thoughts')) is list else ():
        text = '\n'.join(t for t in (first(thought, 'subject'), first(thought, 'description')) if t) if type(thought) is dict else ''
        if text:
            out.append(Piece('thinking', text, '', '', None, ''))
    value = text_value(data)[1]
    if type(value) is dict and type(value.get('content')) in (str, list):
        value = value['content']
    elif type(value) is dict and type(value.get('parts')) is list:
        value = value['parts']
    for block in value if type(value) is list else (value,):
        _block(block, out)
    for name in ('tool_calls', 'toolCalls', 'toolRequests', 'toolInvocations'):
        for one in data[name] if type(data.get(name)) is list else ():
            if type(one) is dict:
                out.append(_call(one))
                if 'result' in one or 'output' in one:
                    answer = _result(one)
                    out.append(answer._replace(id=out[-1].id))
    if type(data.get('function_call')) is dict:
        out.append(_call(data))
    return [p for p in out if p.kind != 'text' or p.text.strip()]


# tokens

_SENT = ('input_tokens', 'inputTokens', 'prompt_tokens', 'promptTokens', 'promptTokenCount', 'input', 'tokensIn')
_MADE = ('output_tokens', 'outputTokens', 'completion_tokens', 'completionTokens', 'candidatesTokenCount', 'output', 'tokensOut')
_TOTAL = ('total_tokens', 'totalTokens', 'totalTokenCount', 'total')
# Spelt so, cached tokens stand beside the input; spelt so, they are a part of it; of the others the total tells.
_BESIDE = ('cache_read_input_tokens', 'cacheReadInputTokens', 'cache_creation_input_tokens', 'cacheCreationInputTokens')
_INSIDE = ('cached_tokens', 'cached_input_tokens', 'cachedInputTokens', 'cachedContentTokenCount', 'prompt_cache_hit_tokens')
_READ = _BESIDE[:2] + _INSIDE + ('cacheReadTokens', 'cacheRead', 'cache.read', 'cached', 'cacheReads',
                                 'prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens')
_WRITTEN = _BESIDE[2:] + ('cacheCreationTokens', 'cacheWriteTokens', 'cacheWrite', 'cache.write', 'cacheWrites')
# Reasoning that these name is not in the output.
_THOUGHT = ('thoughtsTokenCount', 'thoughts')
_PLACES = ('rawUsage', 'usage', 'usageMetadata', 'token_usage', 'tokenUsage', 'tokens')


def _counter(data, names):
    """-> (name, amount) of the first of these counters that a dict has, ('', 0)."""
    for name in names:
        value = at(data, name)
        if type(value) in (int, float, str):
            return name, count(value)
    return '', 0


def counters(*places):
    """-> the nearest dict that counts tokens, at most three levels down in these dicts, None without one."""
    waiting = [(data, 0) for data in places]
    while waiting:
        data, depth = waiting.pop(0)
        for name in _PLACES:
            found = data.get(name)
            if type(found) is dict and (_counter(found, _SENT)[0] or _counter(found, _MADE)[0]):
                return found
        if depth < 2:
            waiting += [(value, depth + 1) for name, value in data.items() if type(value) is dict and name not in ('input', 'args', 'arguments')]
    return None


def raw_counts(data):
    """-> (input, output) as a dict of counters has them, to see whether they are running totals."""
    return _counter(data, _SENT)[1], _counter(data, _MADE)[1]


def usage_of(data, model):
    """-> Usage of a dict of counters; without a model where nothing says whether cached tokens are part of the input."""
    sent, made, total = _counter(data, _SENT)[1], _counter(data, _MADE)[1], _counter(data, _TOTAL)[1]
    (read_name, read), (written_name, written), thought = _counter(data, _READ), _counter(data, _WRITTEN), _counter(data, _THOUGHT)[1]
    made += thought if thought and total != sent + made else 0
    kept = read + written
    if kept:
        names = (read_name, written_name)
        if any(name in _BESIDE for name in names):
            beside = True
        elif read_name.rpartition('.')[2] in _INSIDE and kept <= sent:
            beside = False
        elif total in (sent + made, sent + made + kept):
            beside = total != sent + made
        elif kept > sent:
            beside = True
        else:
            beside, model = True, ''
        if not beside:
            sent = max(0, sent - kept)
    long = count(at(data, 'cache_creation.ephemeral_1h_input_tokens'))
    return Usage(model, sent, made, read, max(0, written - long), min(long, written), 1, 0, '', '', '', 0, 0, '')


def nothing(model):
    """-> Usage of a response whose tokens no record tells."""
    return Usage(model, 0, 0, 0, 0, 0, 0, 0, '', '', '', 0, 0, '')


def text_of(value):
    """-> the text of anything that may hold some: text, content blocks, JSON text of either."""
    found = content_text(value)
    packed = decoded(found) if found[:1] in ('[', '{') else None
    return content_text(packed) or found if packed is not None else found
