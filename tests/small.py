"""Records of Claude Code in a few words, for tests that look at what commands print."""
import json
import os

SID = '0a0a0a0a-0001-4001-8001-000000000001'
OTHER = '0b0b0b0b-0002-4002-8002-000000000002'
MODEL = 'claude-sonnet-4-5-20250929'


def row(kind, number, time, sid=SID, **fields):
    """A chain row; number makes its uuid, time is ISO text or seconds after 2026-03-02T10:00:00Z."""
    if isinstance(time, int):
        time = '2026-03-02T%02d:%02d:%02d.000Z' % (10 + time // 3600, time // 60 % 60, time % 60)
    out = {'type': kind, 'uuid': '%08x-0000-4000-8000-000000000000' % number, 'parentUuid': None, 'isSidechain': False,
           'sessionId': sid, 'cwd': '/home/dev/app', 'gitBranch': 'main', 'version': '2.1.112', 'timestamp': time}
    out.update(fields)
    return out


def user(content, number, time, **fields):
    """What a person typed."""
    return row('user', number, time, message={'role': 'user', 'content': content}, **fields)


def text(words):
    """A text block."""
    return {'type': 'text', 'text': words}


def call(name, given, ident='toolu_1'):
    """A tool use block."""
    return {'type': 'tool_use', 'id': ident, 'name': name, 'input': given}


def answer(blocks, number, time, ident='msg_1', tokens=(10, 20, 0, 0), stop='end_turn', model=MODEL, **fields):
    """A model's row; tokens: input, output, cache read, cache write."""
    return row('assistant', number, time, requestId='req_' + ident, message={
        'id': ident, 'type': 'message', 'role': 'assistant', 'model': model, 'content': blocks, 'stop_reason': stop,
        'usage': {'input_tokens': tokens[0], 'output_tokens': tokens[1], 'cache_read_input_tokens': tokens[2],
                  'cache_creation_input_tokens': tokens[3]}}, **fields)


def result(content, number, time, ident='toolu_1', error=False, **fields):
    """The row of a tool's result."""
    return user([{'type': 'tool_result', 'tool_use_id': ident, 'content': content, 'is_error': error}], number, time, **fields)


def write(home, records, sid=SID, folder='-home-dev-app', name=None):
    """Write a transcript into a home; bytes stay as they are. -> its path."""
    path = os.path.join(str(home), '.claude', 'projects', folder, name or sid + '.jsonl')
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, 'wb') as out:
        for record in records:
            out.write(record if isinstance(record, bytes) else json.dumps(record).encode('ascii') + b'\n')
    return path
