"""OpenCode's messages to events: a message with its parts, wherever both are kept."""
from hashlib import blake2b

from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, COLLATERAL, COMPACTION, DECLINED, ERROR, INJECTED, INTERRUPTION, META, OK, PROMPT, RECAP, REPLY, SLASH, THINKING,
    TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN, USAGE, Compaction, Event, ToolResult)
from .values import classify, count, first, images, inner, result_text, tool_input, usage, word

# Parts without conversation in them.
_BOOKKEEPING = frozenset(('step-start', 'step-finish', 'snapshot', 'patch', 'agent'))
# How the error of a tool begins that the person refused, and of one that never ran to its end.
_REFUSED = ('The user rejected permission', 'The user dismissed this question')
_STOPPED = ('Tool execution aborted', 'Cancelled', 'Tool execution was interrupted')
_SHELL = 'The following tool was executed by the user'
_SHELL_TOOLS = ('bash', 'shell')
_PLACEHOLDERS = ('New session - ', 'Child session - ')
# Parts that go into a message's identity, and characters of each.
_SIGNED_PARTS, _SIGNED_CHARS = 8, 200


def model_of(data):
    """-> the model a message names, ''."""
    return (first(data, 'modelID') or first(inner(data, 'model'), 'modelID', 'id') or word(data.get('model'))).strip()


def identity(data, parts, named):
    """-> the id under which a message is the same in every copy of it.

    A fork writes its parent's messages again with new ids and all else as it was, so the id is made from what stays.
    parts: the message's parts (dicts). named: the id of a message that does not say when it was created.
    """
    created = parse_time(inner(data, 'time').get('created'))
    if created is None:
        return named.replace('/', '.')
    said = [data.get('role'), created, inner(data, 'time').get('completed'), data.get('agent'), data.get('mode'), model_of(data),
            sorted((key, repr(value)) for key, value in inner(data, 'tokens').items())]
    for part in parts[:_SIGNED_PARTS]:
        said.append((word(part.get('type')), first(part, 'callID', 'text', 'prompt')[:_SIGNED_CHARS]))
    return '%d-%s' % (created, blake2b(repr(said).encode('utf-8', 'replace'), digest_size=6).hexdigest())


def is_copy(ident, data):
    """True for a message whose id was made at another time than the message: a fork's copy."""
    created = inner(data, 'time').get('created')
    digits = ident[4:16]
    if not ident.startswith('msg_') or type(created) is not int:
        return False
    try:
        made = int(digits, 16) >> 12
    except ValueError:
        return False
    # An id holds the lower 36 bits of its time in ms; a client that makes several in one ms counts on.
    return abs(made - (created & (1 << 36) - 1)) > 2000


class Maker(object):
    """Makes the events of one message: base is its id, in front of theirs."""

    def __init__(self, parser, base, time, line, offset):
        self.parser, self.base, self.time, self.line, self.offset = parser, base, time, line, offset
        self.step = 0
        self.out = []

    def add(self, kind, label, place, text='', data=None, time=None):
        """Append an event; place tells it from the others of its message ('' for the message itself)."""
        parser = self.parser
        message = None
        if kind in (REPLY, THINKING, TOOL_CALL, USAGE):
            message = '%s.%d' % (self.base, self.step) if self.step else self.base
        ident = '%s/%s' % (self.base, place) if place else self.base
        self.out.append(Event(kind, label, self.time if time is None else time, parser.chain, 0 if parser.chain else parser.turn,
                              ident, message, text, data, self.line, self.offset, 0, len(self.out)))

    def unknown(self, why, place):
        """Append what is not understood."""
        self.parser.coverage.drift(self.line, why)
        self.add(UNKNOWN, why, place)


class Parser(object):
    """Turns the messages of one session into events.

    chain: '' or the subagent's id. state: plain values that carry on from message to message.
    """

    def __init__(self, chain, coverage, state=None):
        self.chain, self.coverage = chain, coverage
        self.state = {} if state is None else state
        self.turn = self.state.get('turn', 0)

    def session(self, row, offset):
        """-> list of Events of a session's own row (dict: directory, title, version, created)."""
        time = parse_time(row.get('created'))
        out = []
        title = word(row.get('title')).strip()
        if self.chain or title.startswith(_PLACEHOLDERS):
            title = ''
        for label, value in (('cwd', word(row.get('directory'))), ('version', word(row.get('version'))), ('ai-title', title)):
            if value:
                out.append(Event(META, label, time, self.chain, 0, None, None, value, None, 1, offset, 0, len(out)))
        return out

    def message(self, named, data, created, parts, line, offset):
        """-> list of Events of a message. parts: list of dicts, None for one that is damaged."""
        if None in parts:
            self.coverage.damage(line, 'a part that is no JSON object')
            parts = [part for part in parts if part is not None]
        time = parse_time(inner(data, 'time').get('created')) or parse_time(created)
        make = Maker(self, identity(data, parts, named), time, line, offset)
        role = word(data.get('role'))
        if role == 'user':
            self._user(make, data, parts)
        elif role == 'assistant':
            self._assistant(make, data, parts)
        else:
            make.unknown('message role %s' % (role[:40] or 'missing'), '')
        return make.out

    # what stands in a user's place

    def _user(self, make, data, parts):
        own, added, named = [], [], []
        for number, part in enumerate(parts):
            kind, text = word(part.get('type')), word(part.get('text'))
            if kind == 'text':
                if part.get('synthetic') is True or part.get('ignored') is True:
                    added.append((number, text))
                elif text:
                    own.append(text)
            elif kind == 'file':
                if word(part.get('mime')).startswith('image/'):
                    own.append('[image]')
                else:
                    named.append((number, first(part, 'filename') or first(inner(part, 'source'), 'path') or word(part.get('url'))))
            elif kind == 'subtask':
                command = word(part.get('command')).lstrip('/')
                if command:
                    own.append('/' + command)
                added.append((number, word(part.get('prompt'))))
            elif kind not in _BOOKKEEPING and kind != 'compaction':
                make.unknown('part type %s' % (kind[:40] or 'missing'), '%d' % number)
        replayed = self.state.pop('replays', False)
        for part in parts:
            if part.get('type') == 'compaction':
                self.state['compacting'] = 'auto' if part.get('auto') is True else 'manual' if part.get('auto') is False else ''
                self.state['replays'] = part.get('overflow') is True
        self._typed(make, '\n'.join(own), any(part.get('type') == 'subtask' for part in parts), replayed)
        for number, text in added:
            if text and text != _SHELL:
                label = 'reminder' if text.lstrip().startswith('<system-reminder') else ATTACHMENT if named else 'meta'
                if parts[number].get('type') == 'subtask':
                    label = 'task'
                elif parts[number].get('ignored') is True:
                    label = 'notice'
                make.add(INJECTED, label, '%d' % number, text)
        for number, name in named:
            if name and not name.startswith('data:'):
                make.add(INJECTED, ATTACHMENT, '%d' % number, name)

    def _typed(self, make, text, subtask, replayed):
        """Append the words of a user message: a person's, or (in a subagent) the task it was given.

        replayed: it may be the prompt that made the context overflow, which the client writes again behind the summary.
        """
        if not text.strip():
            return
        if self.chain:
            make.add(INJECTED, 'task', '', text)
            return
        kind, label, shown = classify(text)
        if kind == PROMPT:
            sign = blake2b(text.encode('utf-8', 'replace'), digest_size=8).hexdigest()
            if replayed and sign == self.state.get('prompt'):
                make.add(INJECTED, 'duplicate', '', shown)
                return
            self.state['prompt'] = sign
            self.turn += 1
            self.state['turn'] = self.turn
            # The client expands its commands before it writes them; what still begins with a slash was sent as it is.
            label = SLASH if subtask and shown.startswith('/') else TYPED
        make.add(kind, label, '', shown, images(shown) if kind == PROMPT else None)

    # the model's answer

    def _assistant(self, make, data, parts):
        recap = data.get('summary') is True
        if _is_shell_line(data, parts):
            self._shell(make, parts)
            return
        completed = parse_time(inner(data, 'time').get('completed'))
        calls = _calls(data, parts)
        for number, part in enumerate(parts):
            kind, place = word(part.get('type')), '%d' % number
            began = parse_time(inner(part, 'time').get('start'))
            if kind == 'text':
                text = word(part.get('text'))
                if text and part.get('synthetic') is not True and part.get('ignored') is not True:
                    make.add(INJECTED if recap else REPLY, RECAP if recap else '', place, text, None, began)
            elif kind == 'reasoning':
                if word(part.get('text')):
                    make.add(THINKING, '', place, part['text'], None, began)
            elif kind == 'tool':
                self._tool(make, place, part)
            elif kind == 'retry':
                make.add(META, 'retry', place, _message_of(part.get('error')), None, parse_time(inner(part, 'time').get('created')))
            elif kind == 'step-finish':
                if number in calls:
                    self._spent(make, calls[number], data, place, completed)
                make.step += 1
            elif kind not in _BOOKKEEPING and kind not in ('file', 'compaction', 'subtask'):
                make.unknown('part type %s' % (kind[:40] or 'missing'), place)
        if None in calls:
            self._spent(make, calls[None], data, 'call', completed)
        self._ended(make, data, recap, completed)

    def _ended(self, make, data, recap, completed):
        error = data.get('error')
        if error:
            name = word(error.get('name')) if type(error) is dict else ''
            text = _message_of(error)
            if name == 'MessageAbortedError':
                if not self.chain:
                    make.add(INTERRUPTION, '', 'stopped', text, None, completed)
            elif text or name:
                make.add(REPLY, 'api_error', 'error', text or name, None, completed)
        elif recap and completed is not None:
            trigger = self.state.pop('compacting', '')
            make.add(COMPACTION, trigger, 'compaction', '', Compaction(trigger, self.state.get('context') or None), completed)

    def _spent(self, make, tokens, data, place, completed):
        use = usage_of(tokens, model_of(data))
        if not (use.input or use.output or use.cache_read or use.cache_write_5m):
            # The call was made, but its provider counted nothing: a lower bound.
            use = use._replace(final=0)
        elif data.get('summary') is not True:
            self.state['context'] = use.input + use.output + use.cache_read + use.cache_write_5m
        make.add(USAGE, '', 'call/' + place, '', use, completed)

    def _tool(self, make, place, part):
        state = inner(part, 'state')
        given, text = tool_input(state.get('input'))
        name = word(part.get('tool')) or '(unnamed)'
        make.add(TOOL_CALL, name, place, text, given, parse_time(inner(state, 'time').get('start')))
        status, meta = word(state.get('status')), inner(state, 'metadata')
        if status not in ('completed', 'error'):
            return
        label = OK
        if status == 'error':
            text = result_text(state.get('error'))
            bare = text[7:] if text.startswith('Error: ') else text
            label = DECLINED if bare.startswith(_REFUSED) else ERROR
            if meta.get('interrupted') is True or bare.startswith(_STOPPED):
                label = COLLATERAL
        else:
            text = result_text(state.get('output'))
            # A call that named no tool or had the wrong input ends in a tool of this name; a failed command as completed.
            if name == 'invalid' or name in _SHELL_TOOLS and type(meta.get('exit')) is int and meta['exit'] != 0:
                label = ERROR
        self._result(make, place, label, text, word(meta.get('outputPath')) if meta.get('truncated') is True else '',
                     parse_time(inner(state, 'time').get('end')))

    def _result(self, make, place, label, text, spill, time):
        make.add(TOOL_RESULT, label, place + '/result', text, ToolResult('%s/%s' % (make.base, place), spill), time)

    def _shell(self, make, parts):
        """A command that the person ran in the client (`!ls`): no call of the model's."""
        for number, part in enumerate(parts):
            state = inner(part, 'state')
            make.add(INJECTED, 'shell', '%d' % number, '! ' + word(inner(state, 'input').get('command')))
            output = result_text(state.get('output') or state.get('error'))
            if output:
                make.add(INJECTED, 'shell_output', '%d/result' % number, output, None, parse_time(inner(state, 'time').get('end')))


def _is_shell_line(data, parts):
    """True for the answer that the client makes up for a person's own shell command: a tool, no step and no call."""
    return bool(parts) and not data.get('finish') and not data.get('error') and all(
        part.get('type') == 'tool' and part.get('tool') in _SHELL_TOOLS for part in parts) and not _total(inner(data, 'tokens'))


def _message_of(error):
    if type(error) is str:
        return error
    if type(error) is not dict:
        return ''
    return first(inner(error, 'data'), 'message') or first(error, 'message') or word(error.get('name'))


def _total(tokens):
    cache = inner(tokens, 'cache')
    return sum(count(value) for value in (tokens.get('input'), tokens.get('output'), tokens.get('reasoning'), cache.get('read'), cache.get('write')))


def _calls(data, parts):
    """-> {number of the part that ends a call, or None for the message itself: its tokens}.

    A message says what its last call took; older builds made several calls in one, and each step says its own. Both
    name the same call where there is one.
    """
    steps = dict((number, inner(part, 'tokens')) for number, part in enumerate(parts) if part.get('type') == 'step-finish')
    whole = inner(data, 'tokens')
    if _total(whole) > sum(_total(tokens) for tokens in steps.values()):
        return {None: whole}
    return steps


def usage_of(tokens, model):
    """-> Usage of a call. The cache stands beside the input, the reasoning beside the output, unless `total` says that
    the output holds it."""
    cache = inner(tokens, 'cache')
    sent, output, thought = count(tokens.get('input')), count(tokens.get('output')), count(tokens.get('reasoning'))
    read, written, reasoning = count(cache.get('read')), count(cache.get('write')), thought
    if thought and thought <= output and count(tokens.get('total')) == sent + output + read + written:
        thought = 0
    return usage(model, sent, output + thought, read, written, reasoning)


def bills(session, data, parts):
    """-> rows of what the client says a message's calls took and cost (see opencode.billed)."""
    rows = []
    for number, tokens in _calls(data, parts).items():
        use = usage_of(tokens, model_of(data))
        cost = (data if number is None else parts[number]).get('cost')
        if use.input or use.output or use.cache_read or use.cache_write_5m:
            rows.append({'session': session, 'model': use.model, 'time': parse_time(inner(data, 'time').get('created')), 'input': use.input,
                         'output': use.output, 'cache_read': use.cache_read, 'cache_write': use.cache_write_5m,
                         'cost': cost if type(cost) in (int, float) else None})
    return rows
