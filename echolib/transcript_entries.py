"""Items made ready for a page: masked, printable, each tool call together with its result, with places to link to."""
import json
import re
from collections import namedtuple

from . import events as ev
from . import transcript
from .base.text import printable

_Entry = namedtuple('Entry', (
    'item',      # the transcript.Item
    'body',      # its text, fit to print; '' for tool calls, whose text is in `fields`
    'fields',    # tool calls: list of (name, text) of their input; else ()
    'title',     # one line that tells what it is about
    'ref',       # SESSION:LINE, as commands take it
    'anchor',    # L12, L12-2 for the second of a line, subagent-L12 in another file
    'marks',     # list of words: error, declined, queued, abandoned branch, ...
    'result',    # tool calls: the Entry of the result where it follows, else None
))
# What a page is about. numbers: analysis.shared_keys or {}; cost: text; models: names; notes: lines for the reader; zone: see clock.
Head = namedtuple('Head', 'session_id agent title project branch version created modified models numbers cost gone notes zone')

# Calls that may wait for their results at once, and characters that they may hold.
_WAITING, _HELD = 40, 4 << 20
_DEEPEST = 12
_SMALL = 4096
_WORD = re.compile(r'\w')


class Entry(_Entry):
    """What a page shows in one place."""

    __slots__ = ()

    def is_brief(self):
        """True for a note of the client that is no longer than its own title."""
        return self.item.role == 'system' and len(self.body) < 120 and '\n' not in self.body


def masked(value, clean, key='', depth=0, hidden=None):
    """-> a JSON value whose strings went through `clean`, those under a name that says secret masked whole.

    What is nested deeper than 12 levels, and numbers that JSON does not have, come out as null. hidden: list that gets
    (text, what stands for it) of what was masked for its name.
    """
    if isinstance(value, str):
        text = clean(value)
        shown = _by_name(key, text, clean) if key and text and text == value and len(text) < _SMALL else text
        if shown != text and hidden is not None:
            hidden.append((text, shown))
        return shown
    if isinstance(value, float) and (value != value or value in (float('inf'), float('-inf'))):
        return None
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth >= _DEEPEST:
        return None
    if isinstance(value, dict):
        return dict((clean(str(k)), masked(v, clean, str(k), depth + 1, hidden)) for k, v in value.items())
    return [masked(v, clean, key, depth + 1, hidden) for v in value]


def masked_call(text, data, clean):
    """-> (text, input) of a tool call: the input masked, and its text, which has no names in it, masked alike."""
    hidden = []
    given = masked(data, clean, hidden=hidden)
    text = clean(text)
    for was, shown in hidden:
        text = text.replace(was, shown)
    return text, given


def _by_name(key, text, clean):
    """A value as `clean` leaves it when it stands behind its name."""
    probe = json.dumps({key: text}, ensure_ascii=False)
    found = clean(probe)
    if found == probe:
        return text
    try:
        (value,) = json.loads(found).values()
    except ValueError:
        return '[redacted]'
    return value if isinstance(value, str) else '[redacted]'


def input_fields(data, clean):
    """-> list of (name, text) of a tool's input: strings as they are, other values as JSON."""
    data = masked(data, clean)
    if not isinstance(data, dict):
        return [('', data if isinstance(data, str) else _json(data))] if data not in (None, '') else []
    return [(key, value if isinstance(value, str) else _json(value)) for key, value in data.items()]


def _json(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else json.dumps(value, ensure_ascii=False, indent=1)


def entries(items, clean, reference, left=(), cut=0, whole=None):
    """Yield Entries of Items in order; results directly behind their calls become part of them.

    clean(text) -> masked, printable lines.  reference(item) -> what commands take for it.  left: ids of rows on
    abandoned branches.  cut: most characters of a tool's text, 0 for all.  whole(item) -> a result's whole text.
    """
    make = _Maker(clean, reference, left, cut, whole)
    waiting, held = [], 0
    for item in items:
        if item.kind == ev.TOOL_RESULT:
            entry = make.entry(item)
            held += len(entry.body)
            for place, call in enumerate(waiting):
                if call.item.call == item.call and call.result is None:
                    waiting[place] = call._replace(result=entry)
                    break
            else:
                waiting.append(entry)
        elif item.kind == ev.TOOL_CALL:
            entry = make.entry(item)
            held += sum(len(text) for _, text in entry.fields)
            waiting.append(entry)
        else:
            for entry in waiting:
                yield entry
            waiting, held = [], 0
            yield make.entry(item)
        if len(waiting) > _WAITING or held > _HELD:
            for entry in waiting:
                yield entry
            waiting, held = [], 0
    for entry in waiting:
        yield entry


class _Maker(object):
    """Makes the Entry of an Item; remembers which places it has given away."""

    def __init__(self, clean, reference, left, cut, whole):
        self.clean, self.reference, self.left, self.cut, self.whole = clean, reference, left, cut, whole
        self.places = {}

    def entry(self, item):
        """-> Entry of one Item, without its result."""
        ref = printable(self.reference(item))
        if item.kind == ev.TOOL_CALL:
            fields = [(key, self._cut(self.clean(text))) for key, text in input_fields(item.data, self.clean)]
            body, title = '', _first_line(text for _, text in fields)
        else:
            fields = ()
            text = self.whole(item) if self.whole is not None and item.kind == ev.TOOL_RESULT else item.body
            body = self.clean(text)
            if item.role in ('tool', 'system'):
                body = self._cut(body)
            title = _first_line((body,))
        return Entry(item, body, fields, title, ref, self._anchor(item, ref), self._marks(item), None)

    def _cut(self, text):
        if not self.cut or len(text) <= self.cut:
            return text
        return '%s\n[... %d more characters]' % (text[:self.cut], len(text) - self.cut)

    def _anchor(self, item, ref):
        file = ref.rsplit(':', 1)[0]
        chain = re.sub('[^A-Za-z0-9_-]', '-', file.split('/', 1)[1])[:40] + '-' if '/' in file else ''
        place = '%sL%d' % (chain, item.line)
        # Within a file lines only go up, so the last line's count is all there is to remember.
        line, count = self.places.get(chain, (None, 0))
        count = count + 1 if line == item.line else 1
        self.places[chain] = (item.line, count)
        return place if count == 1 else '%s-%d' % (place, count)

    def _marks(self, item):
        marks = []
        if item.error:
            marks.append('error')
        if item.status in ('declined', 'collateral', 'queued', 'slash'):
            marks.append(item.status)
        if (item.id or '').split('/')[0] in self.left:
            marks.append('abandoned branch')
        if item.chain:
            marks.append('subagent %s' % self.clean(item.chain)[:12].replace('\n', ' '))
        return marks


def _first_line(parts):
    """The first line that says something, of the first text that has one."""
    for text in parts:
        for line in text[:2000].split('\n'):
            if _WORD.search(line):
                return ' '.join(line.split())
    return ''


def wanted(item, thinking=True, tools=True, background=False):
    """True for an item that belongs on a page."""
    if item.kind == ev.THINKING:
        return thinking
    if item.role == 'tool':
        return tools
    if item.role == 'system':
        return background or item.status not in transcript.BACKGROUND
    return True
