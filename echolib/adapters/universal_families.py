"""The shapes that conversations of unknown agents come in: for each, which records have it and where the message is."""
from collections import namedtuple

from . import universal_fields as fields
from .universal_dialog import is_record
from .values import content_text, first, inner, word

# name; says: what its records look like; fits(record) -> bool; unfold(record, told) -> list of (role, dict that holds the
# message), None for a record that is no message. told: {speaker: role}. needs(record): true for one record at least.
# speaker(record) -> who speaks where that is a name, '' elsewhere; None: roles are told by words.
Family = namedtuple('Family', 'name says fits unfold needs speaker')
_SPEAKER = ('speaker', 'from', 'sender', 'author', 'who', 'participant')
_PAIRS = (('prompt', 'response'), ('prompt', 'completion'), ('prompt', 'answer'), ('question', 'answer'), ('question', 'response'),
          ('query', 'answer'), ('query', 'response'), ('instruction', 'output'), ('instruction', 'response'), ('user', 'assistant'),
          ('human', 'assistant'), ('human', 'ai'), ('human', 'bot'), ('user', 'bot'), ('request', 'reply'),
          ('user_message', 'assistant_message'))
_LISTS = ('messages', 'conversation', 'conversations', 'turns', 'history', 'items', 'chat', 'entries')


def _has_text(data):
    return bool(fields.text_value(data)[0])


def _role(data, *places):
    for one in (data,) + places:
        role = fields.role_of(one.get('role')) or fields.role_of(one.get('type'))
        if role:
            return role
    return ''


# Each family: does a record belong to it, and the message in it.

def _is_rollout(r):
    return type(r.get('payload')) is dict and 'timestamp' in r and r.get('type') in (
        'session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted', 'world_state', 'token_usage_record')


def _is_enveloped(r):
    message = r.get('message')
    return r.get('type') in ('user', 'assistant') and type(message) is dict and 'parts' not in message and ('uuid' in r or 'sessionId' in r)


def _is_envelope(r):
    # Beside messages such files hold much bookkeeping.
    return _is_enveloped(r) or type(r.get('type')) is str and 'parts' not in inner(r, 'message') and (
        'sessionId' in r or 'leafUuid' in r or 'snapshot' in r)


def _is_google_line(r):
    message = r.get('message')
    if type(message) is dict:
        return type(message.get('parts')) is list and type(r.get('type')) is str
    return 'uuid' in r and type(r.get('type')) is str and ('subtype' in r or 'systemPayload' in r)


def _is_google_session(r):
    return ('projectHash' in r and 'sessionId' in r or '$set' in r or '$rewindTo' in r
            or r.get('type') in ('user', 'gemini', 'info', 'error', 'warning') and 'content' in r and 'id' in r)


def _google_session(r, told):
    patch = r.get('$set')
    if type(patch) is dict:
        listed = patch.get('messages')
        return _all(listed, told) if type(listed) is list else None
    return _flat(r, told)


def _is_item(r):
    kind = r.get('type')
    if kind == 'message':
        return 'role' in r and 'content' in r
    return kind in ('function_call', 'function_call_result', 'function_call_output', 'reasoning') or kind in (
        'ai-title', 'topic', 'session-meta', 'file-history-snapshot', 'summary') and 'sessionId' in r


def _is_tree(r):
    message = r.get('message')
    if r.get('type') == 'message' and type(message) is dict:
        return bool(fields.role_of(message.get('role')))
    return r.get('type') in ('session', 'session_start', 'session_info', 'model_change', 'thinking_level_change', 'compaction',
                             'branch_summary', 'custom', 'title') and ('id' in r or 'timestamp' in r)


def _nested(r, told):
    message = r.get('message')
    if type(message) is not dict:
        return None
    role = _role(message, r)
    if word(message.get('role')).lower() in ('toolresult', 'tool_result'):
        role = 'tool'
    return [(role, message)] if role else None


def _is_acp(r):
    params = r.get('params')
    return r.get('method') in ('session/update', '_x.ai/session/update') or type(params) is dict and 'sessionUpdate' in inner(params, 'update')


def _acp(r, told):
    update = inner(r, 'params', 'update')
    kind = word(update.get('sessionUpdate'))
    if kind.endswith('_message_chunk') or kind.endswith('_thought_chunk'):
        role = 'user' if kind.startswith('user') else 'assistant'
        data = {'content': update.get('content')}
        return [(role, {'type': 'thinking', 'text': content_text(data['content'])} if 'thought' in kind else data)]
    if kind == 'tool_call':
        return [('assistant', {'type': 'tool_call', 'id': update.get('toolCallId'), 'name': first(update, 'title', 'kind'),
                               'input': update.get('rawInput')})]
    if kind == 'tool_call_update' and update.get('status') in ('completed', 'failed'):
        content = [one.get('content') for one in update['content'] if type(one) is dict] if type(update.get('content')) is list else None
        return [('tool', {'toolCallId': update.get('toolCallId'), 'status': update.get('status'),
                          'content': content or update.get('rawOutput') or ''})]
    return None


def chunk_of(r):
    """-> (what a record goes on with, its text) of one that holds a piece of a streamed message, ('', '') for any other."""
    update = inner(r, 'params', 'update')
    kind = word(update.get('sessionUpdate'))
    text = content_text(update.get('content')) if kind.endswith('_chunk') else ''
    return ('%s %s' % (word(inner(r, 'params').get('sessionId')), kind), text) if text else ('', '')


def with_chunk(r, text):
    """-> such a record with another text."""
    params = r['params']
    return dict(r, params=dict(params, update=dict(params['update'], content={'type': 'text', 'text': text})))


def _is_wire_head(r):
    return 'payload' in inner(r, 'message') and 'timestamp' in r or r.get('type') == 'metadata' and 'protocol_version' in r


def _is_wire(r):
    return _is_wire_head(r) or type(r.get('type')) is str and 'time' in r


def _wire(r, told):
    message = inner(r, 'message')
    payload = inner(message, 'payload')
    kind = word(message.get('type'))
    if payload and kind in ('TurnBegin', 'UserInput', 'ContentPart'):
        return [('assistant' if kind == 'ContentPart' else 'user', {'content': payload.get('user_input') or payload.get('text')})]
    data = inner(r, 'message') or inner(r, 'event', 'message') or inner(r, 'event', 'part') or r
    role = fields.role_of(data.get('role')) or ('assistant' if data is not r and data.get('type') == 'text' else
                                                'user' if word(r.get('type')).startswith('turn.') else '')
    text = data if _has_text(data) else {'content': r.get('input')}
    return [(role, text)] if role and _has_text(text) else None


def _is_chat(r):
    return bool(fields.role_of(r.get('role'))) and ('content' in r or 'tool_calls' in r or 'parts' in r or 'reasoning_content' in r)


def _dialog(r, told):
    return [('user', {'content': r['text']})] if _has_text(r) and is_record(r) else None


def _flat(r, told):
    kind = word(r.get('type'))
    role = fields.role_of(r.get('role')) or ('assistant' if kind in ('function_call', 'reasoning', 'tool_use', 'tool_call') else
                                             'tool' if kind in ('function_call_output', 'function_call_result', 'tool_result')
                                             else fields.role_of(kind))
    return [(role, r)] if role else None


def _is_card(r):
    return type(r.get('intent')) is str and ('actions' in r or 'outcome' in r)


def _card(r, told):
    if not _is_card(r):
        return None
    done = []
    for key in ('actions', 'outcome', 'learned'):
        value = r.get(key)
        for one in value if type(value) is list else (value,):
            text = ' '.join(first(one, name) for name in ('name', 'input', 'result', 'error')).strip() if type(one) is dict else word(one)
            if text:
                done.append(text)
    return [('user', {'content': r['intent']}), ('assistant', {'content': '\n'.join(done)})]


def _is_display(r):
    return type(r.get('display')) is str and 'timestamp' in r


def _display(r, told):
    return [('user', {'content': r['display']})] if _is_display(r) else None


def _is_prompt_line(r):
    return (type(r.get('text')) is str or type(r.get('prompt')) is str) and 'role' not in r and ('ts' in r or 'timestamp' in r) \
        and bool(fields.session_of(r))


def _prompt_line(r, told):
    return [('user', {'content': first(r, 'text', 'prompt')})] if _is_prompt_line(r) else None


def _is_event(r):
    kind = r.get('type') or r.get('kind') or r.get('event')
    return type(kind) is str and ('.' in kind or '/' in kind) and type(r.get('data') or r.get('payload')) is dict


def _event(r, told):
    data = r.get('data') or r.get('payload')
    words = fields.parts_of(word(r.get('type') or r.get('kind') or r.get('event')))
    if type(data) is not dict or not words or words[-1] in ('chunk', 'delta', 'chunks'):
        return None
    if words[0] == 'tool' or 'tool' in words[:2]:
        if words[-1] in ('complete', 'completed', 'result', 'output', 'end', 'response'):
            return [('tool', data)]
        if words[-1] in ('call', 'start', 'request'):
            # Only one that says what is called is a call: others announce it.
            return [('assistant', dict(data, type='tool_call'))] if fields.pieces(dict(data, type='tool_call'), '')[0].name else None
        return None
    message = data.get('message')
    role = ROLE_FIRST.get(words[0], '') or _role(data)
    if not role:
        return None
    if words[-1] in ('reasoning', 'thinking'):
        return [(role, dict(data, type='thinking', text=content_text(data.get('content') or data.get('text'))))]
    return [(role, message if type(message) is dict else data)] if _has_text(data) else None


ROLE_FIRST = {'user': 'user', 'human': 'user', 'assistant': 'assistant', 'agent': 'assistant', 'ai': 'assistant', 'model': 'assistant',
              'message': ''}


def _inside(r):
    """The object inside a record that holds its message."""
    for key in ('payload', 'data', 'body', 'event', 'item', 'record', 'message'):
        found = r.get(key)
        if type(found) is dict and (_role(found) or _role(r) and _has_text(found)):
            return found
    return None


def _is_inside(r):
    return _inside(r) is not None


def _payload(r, told):
    found = _inside(r)
    return [(_role(found, r), found)] if found is not None else None


def _is_flat(r):
    return bool(_flat(r, None))


def _pair(r):
    for asked, answered in _PAIRS:
        if asked in r and answered in r:
            question, answer = (fields.text_of(r[key]) for key in (asked, answered))
            if question.strip() and answer.strip():
                return question, answer
    return None


def _is_pair(r):
    return 'role' not in r and _pair(r) is not None


def _pairs(r, told):
    found = _pair(r)
    return None if found is None else [('user', {'content': found[0]}), ('assistant', {'content': found[1]})]


def speaker_of(r):
    """-> who speaks in a record of speaker turns, ''."""
    for key in _SPEAKER:
        value = r.get(key)
        if type(value) is dict:
            value = first(value, 'role', 'name', 'type')
        elif key == 'author' and not fields.role_of(value):
            # Commits and posts have authors too.
            continue
        if type(value) is str and value.strip():
            return value.strip()
    return ''


def _is_turn(r):
    return bool(speaker_of(r)) and _has_text(r) and 'role' not in r and 'subject' not in r


def _turn(r, told):
    if not _is_turn(r):
        return None
    name = speaker_of(r)
    return [(told.get(name) or fields.role_of(name) or 'assistant', r)]


def listed(r):
    """-> the list of messages inside a record or document, None without one."""
    for key in _LISTS:
        found = r.get(key)
        if type(found) is list and any(type(one) is dict and (_role(one) or speaker_of(one) or _role(inner(one, 'message'))) for one in found[:5]):
            return found
    return None


def _is_list(r):
    return listed(r) is not None


def _all(found, told):
    out = []
    for one in found:
        if type(one) is dict:
            out += _flat(one, told) or _nested(one, told) or _turn(one, told or {}) or []
    return out


def _messages(r, told):
    found = listed(r)
    return None if found is None else _all(found, told)


def _family(name, says, fits, unfold, needs=None, speaker=None):
    return Family(name, says, fits, unfold, needs, speaker)


FAMILIES = (
    _family('dialog', 'an imported conversation between people', is_record, _dialog),
    _family('codex_rollout', 'an envelope of timestamp, type and payload', _is_rollout, _payload),
    _family('claude_envelope', 'type, message, uuid and sessionId', _is_envelope, _nested, _is_enveloped),
    _family('google_envelope', 'type and a message of parts', _is_google_line, _nested, lambda r: type(r.get('message')) is dict),
    _family('google_session', 'messages of type user and gemini, patches of $set', _is_google_session, _google_session,
            lambda r: 'projectHash' in r),
    _family('item_list', 'items of type message, function_call, reasoning', _is_item, _flat, lambda r: r.get('type') == 'message'),
    _family('tree_message', 'type message around a message, id and parentId', _is_tree, _nested, lambda r: type(r.get('message')) is dict),
    _family('acp_updates', 'session/update notifications', _is_acp, _acp),
    _family('kimi_wire', 'a wire of typed messages', _is_wire, _wire, _is_wire_head),
    _family('openai_chat', 'role and content', _is_chat, _flat),
    _family('summary_card', 'intent with actions or outcome', _is_card, _card),
    _family('history_display', 'display and timestamp, prompts only', _is_display, _display),
    _family('history_prompt', 'text, time and session, prompts only', _is_prompt_line, _prompt_line),
    _family('event_log', 'named events with data', _is_event, _event),
    _family('nested_payload', 'a message inside payload, data or the like', _is_inside, _payload),
    _family('flat_role', 'a role, or a type that is one, and text', _is_flat, _flat),
    _family('message_list', 'a list of messages in each record', _is_list, _messages),
    _family('prompt_response', 'a prompt and its response in one record', _is_pair, _pairs),
    _family('speaker_turns', 'a speaker and what was said', _is_turn, _turn, None, speaker_of),
)
BY_NAME = dict((family.name, family) for family in FAMILIES)
# Prompts only, of many sessions in one file.
HISTORIES = ('history_display', 'history_prompt')
CUSTOM = 'mapping'
# Its messages come in pieces, a record each.
CHUNKED = 'acp_updates'
# Its records hold a list of messages each.
MANY = 'message_list'


def mapped(mapping):
    """-> Family of a mapping in which the user says where things lie (see references/universal.md)."""
    where = mapping.fields
    roles = dict((name.lower(), role) for name, role in mapping.roles.items())

    def value(r, key):
        return fields.at(r, where[key]) if key in where else None

    def name_of(r):
        name = value(r, 'role')
        return name.strip() if type(name) is str else str(name) if type(name) is int else ''

    def unfold(r, told):
        out = []
        for role, key in (('user', 'prompt'), ('assistant', 'response')):
            text = fields.text_of(value(r, key))
            if text.strip():
                out.append((role, {'content': text}))
        content = value(r, 'text')
        if content:
            name = name_of(r)
            role = roles.get(name.lower()) or fields.role_of(name) or told.get(name) or ('user' if not out and 'role' not in where else '')
            if role:
                out.append((role, content if type(content) is dict else {'content': content, 'status': r.get('status')}))
        return out or None

    def speaker(r):
        name = name_of(r)
        return '' if name.lower() in roles else name
    return _family(CUSTOM, 'as agents.json says', lambda r: bool(value(r, 'text') or value(r, 'prompt') or value(r, 'response')), unfold,
                   None, speaker)


def family_of(name, mapping=None):
    """-> the Family of a name that probe() gave."""
    return mapped(mapping) if name == CUSTOM else BY_NAME[name]
