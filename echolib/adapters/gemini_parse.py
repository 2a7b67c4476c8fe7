"""Gemini CLI's records to events: messages that are written again as they grow, patches, steps back."""
import re
from hashlib import blake2b
from zlib import crc32

from ..base.clock import parse_time
from ..events import (
    ATTACHMENT, COMPACTION, INJECTED, INTERRUPTION, META, PROMPT, RECAP, REPLY, THINKING, TOOL_CALL, TOOL_RESULT, TYPED, UNKNOWN,
    USAGE, Compaction, Event, ToolResult)
from .parts import is_thought, listed, outcome, prompt, responses, spoken, usage_of as google_usage
from .values import classify, count, images, inner, tool_input, without_blocks, word

# Texts that the client puts into a user slot, by how they begin.
_MACHINE = (
    ('<session_context>', 'meta'), ('This is the Gemini CLI. We are setting up the context', 'meta'),
    ("Here is the user's editor context", 'reminder'), ("Here is a summary of changes in the user's editor context", 'reminder'),
    ('System: Potential loop detected', 'notice'), ('I ran the following shell command:', 'shell'))
_SNAPSHOT = '<state_snapshot>'
_AGREED = 'Got it. Thanks for the additional context!'
_CONTINUE = 'Please continue.'
_STOPPED = ('Request cancelled.', 'User cancelled the request.')
_SPILLED = 'For full output see: '
_DIRECTORY = re.compile(r'Workspace Directories:\*\*\s+- ([^\n]+)')


class Maker(object):
    """Makes the events of one record; part numbers go on over all messages of it."""

    def __init__(self, parser, line, offset, length):
        self.parser, self.line, self.offset, self.length = parser, line, offset, length
        self.time = None
        self.ident = None
        self.out = []

    def add(self, kind, label, place, text='', data=None, time=None, message=False):
        """Append an event; place tells it from the others of its message ('' for the message itself)."""
        parser = self.parser
        ident = self.ident
        if ident is not None and place:
            ident = '%s/%s' % (ident, place)
        self.out.append(Event(kind, label, self.time if time is None else time, parser.chain, 0 if parser.chain else parser.turn, ident,
                              self.ident if message else None, text, data, self.line, self.offset, self.length, len(self.out)))

    def unknown(self, why):
        """Append what is not understood."""
        self.parser.coverage.drift(self.line, why)
        self.add(UNKNOWN, why, 'unknown')


class Parser(object):
    """Turns records into events.

    source: a Source; project: its directory, '' where only the records say it. state (dict of plain values): seen (hashes
    of the ids of messages that were read), last (id and what was said of the message read last), turn, context.
    """

    def __init__(self, coverage, source, project, state):
        self.coverage, self.project, self.state = coverage, project, state
        self.session, self.chain = source.session, source.chain if source.role != 'main' else ''
        self.turn = state.get('turn', 0)
        self.seen = None

    # what is new

    def news(self, record):
        """-> list of Events of a record that no earlier one gave."""
        if self.seen is None:
            self.seen = set(self.state.get('seen', ()))
        events = self.events(record)
        patched = inner(record.data, '$set').get('messages')
        if type(patched) is list:
            events = self._restated(events)
        elif type(record.data.get('id')) is str:
            events = self._repeated(_named(record.data), events)
        for event in events:
            if event.kind == USAGE and not self.chain:
                self.state['context'] = event.data.input + event.data.output + event.data.cache_read
        return self._numbered(events)

    def _numbered(self, events):
        """Count turns; a record is parsed before it is known which of its prompts are new."""
        out = []
        for event in events:
            if event.kind == PROMPT and not self.chain:
                self.turn += 1
                self.state['turn'] = self.turn
            out.append(event if self.chain else event._replace(turn=self.turn))
        return out

    def _note(self, ident):
        """-> True for a message id that was not read before."""
        short = blake2b(ident.encode('utf-8', 'replace'), digest_size=4).hexdigest()
        if short in self.seen:
            return False
        self.seen.add(short)
        self.state.setdefault('seen', []).append(short)
        return True

    def _repeated(self, ident, events):
        """The events of a message's record that its earlier ones did not give."""
        marks = ['%s %s %s %08x' % (event.kind, event.id, event.label, crc32(event.text.encode('utf-8', 'replace'))) for event in events]
        last = self.state.get('last') or ['']
        if self._note(ident):
            self.state['last'] = [ident] + marks
            return events
        if last[0] == ident:
            fresh = [event for event, mark in zip(events, marks) if mark not in last or event.kind == USAGE]
            self.state['last'] = [ident] + sorted(set(last[1:] + marks))
            return fresh
        # An older message once more: its calls may have ended meanwhile.
        return [event for event in events if event.kind in (USAGE, TOOL_CALL, TOOL_RESULT)]

    def _restated(self, events):
        """The events of messages that a patch lists and that were not read before."""
        begun = bool(self.seen)
        out, fresh = [], {}
        for event in events:
            ident = (event.id or '').split('/')[0]
            if ident not in fresh:
                fresh[ident] = not ident or self._note(ident)
            if fresh[ident]:
                if event.kind == PROMPT and begun:
                    # What a person types is always written by itself, too.
                    event = event._replace(kind=INJECTED, label='meta', data=None)
                out.append(event)
            elif event.kind == USAGE:
                out.append(event)
        return out

    # records

    def events(self, record):
        """-> list of all Events of a record, whether or not an earlier one gave them."""
        data, line, offset, length = record
        make = Maker(self, line, offset, length)
        if type(data.get('$rewindTo')) is str:
            return []
        patch = data.get('$set')
        if type(patch) is dict:
            self._about(make, patch)
            messages = patch.get('messages')
            messages = [one for one in messages if type(one) is dict] if type(messages) is list else []
            for number, one in enumerate(messages):
                self._message(make, one, messages[number + 1] if number + 1 < len(messages) else {})
            make.ident = None
        elif type(data.get('id')) is str:
            self._message(make, data, {})
        elif type(data.get('sessionId')) is str:
            make.time = parse_time(data.get('startTime'))
            if self.project:
                make.add(META, 'cwd', '', self.project)
            self._about(make, data)
        else:
            make.unknown('a record that is neither message nor patch')
        return make.out

    def _about(self, make, data):
        title = word(data.get('summary')).strip()
        if title and not self.chain:
            make.add(META, 'ai-title', '', title)

    def _message(self, make, data, after):
        make.ident = _named(data) or '%s.%d.%d' % (self.session, make.offset, len(make.out))
        make.time = parse_time(data.get('timestamp'))
        kind = word(data.get('type'))
        if kind == 'user':
            self._user(make, data, after)
        elif kind == 'gemini':
            self._model(make, data)
        elif kind in ('info', 'warning', 'error'):
            text = spoken(listed(data.get('content')))
            if kind == 'error':
                make.add(REPLY, 'api_error', '', text, message=True)
            elif text.strip() in _STOPPED:
                if not self.chain:
                    make.add(INTERRUPTION, '', '', text)
            elif text:
                make.add(INJECTED, 'notice', '', text)
        else:
            make.unknown('message type %s' % (kind[:40] or 'missing'))

    def _user(self, make, data, after):
        text = spoken(listed(data.get('content')))
        if not text.strip():
            return
        bare = text.lstrip()
        said = _SNAPSHOT in bare[:40] or spoken(listed(after.get('content'))).strip() == _AGREED
        if said:
            make.add(COMPACTION, '', 'compaction', '', Compaction('', self.state.get('context') or None))
            make.add(INJECTED, RECAP, '', text)
            return
        for start, label in _MACHINE:
            if bare.startswith(start):
                if label == 'shell':
                    self._shell(make, bare)
                    return
                make.add(INJECTED, label, '', text)
                found = _DIRECTORY.search(text) if label == 'meta' and not self.project else None
                if found:
                    make.add(META, 'cwd', 'cwd', found.group(1).strip())
                return
        display = [part for part in listed(data.get('displayContent')) if 'text' in part]
        typed, added = prompt(listed(data.get('content')), spoken(display))
        typed = without_blocks(typed, 'hook_context')
        if self.chain:
            make.add(INJECTED, 'task', '', typed or text)
        elif not typed.strip() or typed.strip() == _CONTINUE:
            make.add(INJECTED, 'meta', '', typed or text)
        else:
            kind, label, shown = classify(typed)
            # Commands that the client knows are not sent; a prompt that begins with a slash is one like others.
            make.add(kind, TYPED if kind == PROMPT else label, '', shown, images(shown) if kind == PROMPT else None)
        if added:
            make.add(INJECTED, ATTACHMENT, 'files', added)

    def _shell(self, make, text):
        """What the client says of a command that the person ran (`!ls`): the command and its output, each fenced."""
        pieces = text.split('```')
        command = pieces[1].partition('\n')[2].strip() if len(pieces) > 1 else text
        make.add(INJECTED, 'shell', '', '! ' + command)
        output = '```'.join(pieces[3:-1]).strip()
        if output:
            make.add(INJECTED, 'shell_output', 'output', output)

    def _model(self, make, data):
        parts = listed(data.get('content'))
        thoughts = data.get('thoughts')
        if type(thoughts) is list and thoughts:
            for number, one in enumerate(thoughts):
                if type(one) is dict:
                    text = '\n'.join(one[key] for key in ('subject', 'description') if type(one.get(key)) is str and one[key])
                    if text:
                        make.add(THINKING, '', 'thought%d' % number, text, None, parse_time(one.get('timestamp')), True)
        else:
            text = '\n'.join(word(part.get('text')) for part in parts if is_thought(part))
            if text:
                make.add(THINKING, '', 'thought0', text, message=True)
        text = spoken(parts)
        if text:
            make.add(INJECTED if text.strip() == _AGREED else REPLY, 'meta' if text.strip() == _AGREED else '', 'text', text, message=True)
        calls = data.get('toolCalls')
        for number, call in enumerate(calls if type(calls) is list else ()):
            if type(call) is dict:
                self._call(make, call, number)
        tokens = data.get('tokens')
        if type(tokens) is dict:
            use = usage_of(tokens, word(data.get('model')))
            if use.input or use.output or use.cache_read:
                make.add(USAGE, '', '', '', use, message=True)

    def _call(self, make, call, number):
        name = word(call.get('name')) or '(unnamed)'
        time = parse_time(call.get('timestamp'))
        given, text = tool_input(call.get('args'))
        place = (word(call.get('id')) or str(number)).replace('/', '.')
        make.add(TOOL_CALL, name, place, text, given, None, True)
        status = word(call.get('status'))
        if status not in ('success', 'error', 'cancelled'):
            return
        found = responses(listed(call.get('result')))
        text = '\n'.join(one[2] for one in found if one[2])
        text = text or word(call.get('resultDisplay'))
        label = outcome(name, status, text)
        spill = ''
        at = text.find(_SPILLED, 0, 1000)
        if at >= 0:
            spill = text[at + len(_SPILLED):].split('\n', 1)[0].split('<', 1)[0].strip()
        make.add(TOOL_RESULT, label, place + '/result', _unwrapped(text), ToolResult('%s/%s' % (make.ident, place), spill), time)


def _named(data):
    return word(data.get('id')).replace('/', '.')


def _unwrapped(text):
    """A result without the marks that say it is not to be trusted."""
    head, tail = '<untrusted_context>\n', '\n</untrusted_context>'
    if head in text and text.endswith(tail):
        return text.replace(head, '', 1)[:-len(tail)]
    return text


def usage_of(tokens, model):
    """-> Usage of a call (see parts.usage_of)."""
    return google_usage(model, *[count(tokens.get(name)) for name in ('input', 'output', 'cached', 'thoughts', 'tool', 'total')])
