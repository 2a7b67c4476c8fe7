"""Builds records of Claude Code, so that a test shows only what matters.

    make.user('hi')                          a prompt                make.result('toolu_1', 'out', error=True)
    make.assistant('text', tool='Bash')      an answer that calls    make.system('compact_boundary', ...)
    make.attachment('queued_command', ...)   a row of that kind      make.write(path, [record, b'raw bytes', ...])

The fields stand in the order in which the clients write them: generation NEW (2.1.74 and later: the common fields come
last, an assistant's `type` after its `message`) or OLD (they come first). Any field can be given by name or taken out
with ABSENT. A Session keeps the ids, times and parents of one file running; the functions of the module use one Session.
"""
import datetime
import json
import os

OLD, NEW = 'old', 'new'
ABSENT = object()
ID = '11111111-1111-4111-8111-111111111111'
MODEL = 'claude-sonnet-4-5-20250929'
START = datetime.datetime(2026, 3, 1, 10)
_HEAD = 'parentUuid logicalParentUuid isSidechain'.split()
_COMMON = 'userType entrypoint cwd sessionId version gitBranch slug'.split()
_TAIL = 'uuid timestamp'.split()
# Flags of user rows, which stand before those two.
_FLAGS = 'isMeta isVisibleInTranscriptOnly isCompactSummary'.split()


def stamp(seconds):
    """Return the text of a time `seconds` after START, as clients write it."""
    when = START + datetime.timedelta(seconds=seconds)
    return when.strftime('%Y-%m-%dT%H:%M:%S.') + '%03dZ' % (when.microsecond // 1000)


def usage(output=20, input=10, read=0, write=0, hour=None, **more):
    """Return an API usage object; hour: how much of `write` is kept for an hour (no split is written without it)."""
    found = dict((('input_tokens', input), ('cache_creation_input_tokens', write),
                         ('cache_read_input_tokens', read)))
    if hour is not None:
        found['cache_creation'] = dict((('ephemeral_5m_input_tokens', write - hour),
                                               ('ephemeral_1h_input_tokens', hour)))
    found['output_tokens'] = output
    found.update(sorted(more.items()))
    return found


class Session(object):
    """The rows of one file. id: what sessionId says; agent: the id of a subagent, whose rows are sidechain rows."""

    def __init__(self, id=ID, cwd='/home/dev/app', version='2.1.112', branch='main', agent=None, generation=NEW,
                 start=0, mark='a'):
        self.id, self.cwd, self.version, self.branch = id, cwd, version, branch
        self.agent, self.generation, self.mark = agent, generation, mark
        self.clock = start
        self.rows = self.calls = self.answers = 0
        self.parent = None

    def _row(self, kind, body, fields, body_first=False):
        """One chain row: head, then common fields and `type` + body in the generation's order, then what else is given."""
        self.rows += 1
        self.clock += fields.pop('later', 1)
        row = dict()
        values = {
            'parentUuid': self.parent, 'isSidechain': self.agent is not None, 'userType': 'external', 'cwd': self.cwd,
            'sessionId': self.id, 'version': self.version, 'gitBranch': self.branch,
            'uuid': '%s%07x-0000-4000-8000-000000000000' % (self.mark, self.rows), 'timestamp': stamp(self.clock)}
        if self.agent is not None:
            values['agentId'] = self.agent
        if self.generation == NEW:
            values['entrypoint'] = 'cli'
        values.update(fields)
        own = [('type', kind)] + body if not body_first else body + [('type', kind)]
        middle = ['promptId', 'agentId']
        order = _HEAD + middle if self.generation == NEW else _HEAD + _COMMON + middle
        for name in order:
            if name in values:
                row[name] = values[name]
        row.update(own)
        for name in [name for name in _FLAGS if kind == 'user' and name in values] + _TAIL:
            row[name] = values[name]
        for name in sorted(set(values) - set(_HEAD + _COMMON + middle + _TAIL)):
            row.setdefault(name, values[name])
        for name in _COMMON:
            if name in values:
                row.setdefault(name, values[name])
        row.update((name, values[name]) for name, _ in own if name in values)
        for name in [name for name in row if row[name] is ABSENT]:
            del row[name]
        self.parent = row.get('uuid', self.parent)
        return row

    def user(self, content='hi', **fields):
        """A user row: text, or a list of blocks."""
        return self._row('user', [('message', dict((('role', 'user'), ('content', content))))], fields)

    def assistant(self, text='', tool=None, input=None, thinking=None, blocks=None, id=None, call=None, model=MODEL,
                  usage=usage(), stop='end_turn', **fields):
        """An assistant row: text, thinking and a tool call make its blocks, or `blocks` are given."""
        if blocks is None:
            blocks = []
            if thinking is not None:
                blocks.append(dict((('type', 'thinking'), ('thinking', thinking), ('signature', 'c2ln'))))
            if text:
                blocks.append(dict((('type', 'text'), ('text', text))))
            if tool is not None:
                self.calls += 1
                stop = 'tool_use' if stop == 'end_turn' else stop
                blocks.append(dict((('type', 'tool_use'), ('id', call or 'toolu_%s%d' % (self.mark, self.calls)),
                                           ('name', tool), ('input', {} if input is None else input))))
        if id is None:
            self.answers += 1
            id = 'msg_%s%d' % (self.mark, self.answers)
        message = dict((('model', model), ('id', id), ('type', 'message'), ('role', 'assistant'),
                               ('content', blocks), ('stop_reason', stop), ('stop_sequence', None), ('usage', usage)))
        for name in [name for name in message if message[name] is ABSENT]:
            del message[name]
        request = fields.pop('requestId', 'req_%s' % id)
        body = [('message', message)] + ([] if request is ABSENT else [('requestId', request)])
        return self._row('assistant', body, fields, body_first=True)

    def result(self, call=None, content='ok', error=None, extra=ABSENT, **fields):
        """The user row of a tool result (of the last call); error: is_error as given, None leaves it out."""
        block = dict((('tool_use_id', call or 'toolu_%s%d' % (self.mark, self.calls)), ('type', 'tool_result'),
                             ('content', content)))
        if error is not None:
            block['is_error'] = error
        return self.user([block], toolUseResult=extra, **fields)

    def system(self, subtype=None, content=None, **fields):
        """A system row."""
        body = [(name, value) for name, value in (('subtype', subtype), ('content', content)) if value is not None]
        fields.setdefault('isMeta', False)
        fields.setdefault('level', 'info')
        return self._row('system', body, fields)

    def compaction(self, trigger='auto', before=150000, **fields):
        """A compact_boundary."""
        fields.setdefault('parentUuid', None)
        fields.setdefault('logicalParentUuid', self.parent)
        fields.setdefault('compactMetadata', dict((('trigger', trigger), ('preTokens', before))))
        return self.system('compact_boundary', 'Conversation compacted', **fields)

    def attachment(self, kind, row=None, **inside):
        """An attachment row; the fields of the attachment by name, those of the row in `row`."""
        attached = dict((('type', kind),))
        attached.update(sorted(inside.items()))
        return self._row('attachment', [('attachment', attached)], dict(row or {}), body_first=True)

    def progress(self, kind='bash_progress', data_first=False, row=None, **inside):
        """A progress row (2.1.9 to 2.1.81)."""
        data = dict((('type', kind),))
        data.update(sorted(inside.items()))
        fields = dict(row or {}, toolUseID='toolu_x', parentToolUseID='toolu_x')
        return self._row('progress', [('data', data)], fields, body_first=data_first)

    def meta(self, kind, **fields):
        """A row outside the chain: its type, its fields, the session's id."""
        row = dict((('type', kind),))
        row.update(sorted(fields.items()))
        if kind not in ('summary', 'file-history-snapshot'):
            row.setdefault('sessionId', self.id)
        return row


_one = Session()
user, assistant, result, system, compaction = _one.user, _one.assistant, _one.result, _one.system, _one.compaction
attachment, progress, meta = _one.attachment, _one.progress, _one.meta


def line(record):
    """Return the bytes of a record as clients write it; bytes stay as they are (without an end of line put to them)."""
    if isinstance(record, bytes):
        return record
    text = json.dumps(record, ensure_ascii=False, separators=(',', ':'))
    try:
        return text.encode('utf-8') + b'\n'
    except UnicodeEncodeError:
        # A lone surrogate is the one thing outside control characters that clients escape.
        return json.dumps(record, separators=(',', ':')).encode('ascii') + b'\n'


def write(path, records):
    """Write records (and raw bytes) as a file, making its folders; return the path as text."""
    path = str(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder)
    with open(path, 'wb') as out:
        for record in records:
            out.write(line(record))
    return path
