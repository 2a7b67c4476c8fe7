"""One session read now: its facts in order, and of each the place and the words that the index does not keep."""
from collections import namedtuple

from . import analysis, analysis_work
from .adapters import registry
from .adapters.values import files_of
from .analysis_table import Gathered
from .base.identity import key_of
from .base.shelf import FEW, Shelf
from .events import ERROR, INJECTED, INTERRUPTION, META, TOOL_CALL, TOOL_RESULT, opens_turn
from .records import Coverage

# Of a prompt, a call's input and an error so many characters are kept.
_CHARS = 600
_TASK = 200
DEFAULT_MODE = 'default'

# Where a fact stands and what it says. chain: '' or a subagent's id; line; text: a prompt, a call's input; data: a call's input
# as it was where that is small, else None; error: what a failed call said, else ''; files: [(what, path)] of a call; call: told
# by the call itself.
Note = namedtuple('Note', 'chain line text data error files call')


class Reading(object):
    """A session's facts (in order) and their keys (see Gathered); Notes; branches, versions: in the order they came.

    modes: {64-bit key: mode} of turns in another than the default one. few: as many are held as they are.
    """

    def __init__(self, few=FEW):
        self.facts, self.keys, self.notes = [], [], Shelf(_join, few)
        self.modes, self.branches, self.versions = {}, [], []
        # {chain: its task's beginning}, {chain: time of its first event}; types: {chain: type of subagent}.
        self.tasks, self.began, self.types = {}, {}, {}

    def note(self, place):
        """-> Note of a place in facts, None where nothing is told of it."""
        found = self.notes.get(self.keys[place])
        return None if found is None else Note(*found)

    def mode(self, place):
        """-> the permission mode of a turn."""
        key = self.keys[place]
        return self.modes.get(key_of(key) if type(key) is str else key, DEFAULT_MODE)

    def places(self, keys):
        """-> {key: place in facts} of some 64-bit keys."""
        wanted = set(keys)
        mine = map(key_of, self.keys) if type(self.keys) is list else self.keys
        return dict((key, place) for place, key in enumerate(mine) if key in wanted)

    def files(self):
        """-> {path: [reads, edits, writes]} of calls that did not fail."""
        out = {}
        for place, fact in enumerate(self.facts):
            if fact.kind == analysis.TOOL and fact.status not in (analysis.FAILED, analysis.REFUSED):
                for what, path in self.note(place).files:
                    row = out.setdefault(path, [0, 0, 0])
                    row[('read', 'edit', 'write').index(what)] += 1
        return out

    def subagents(self, cost):
        """-> {type: [subagents, Chain]} of the session's subagents. cost(fact) -> pico-USD or None."""
        named = dict((fact.side, fact.name) for fact in self.facts if fact.kind == analysis.AGENT)
        seen = dict((analysis.side_of(chain), chain) for chain in self.began if chain)
        calls = analysis_work.chains(self.facts, cost)
        # Some clients name their subagents otherwise than the chains of their rows, or all chains the same (1.0.60 to 2.0.22).
        nameless = [side for side in calls if side not in named]
        lost = [side for side in named if side not in seen and side not in calls]
        counts = dict((side, 1) for side in calls)
        if len(nameless) == 1 and lost:
            counts[nameless[0]] = len(lost)
        elif not nameless:
            counts.update((side, 1) for side in named)
        out = {}
        for side, count in counts.items():
            row = out.setdefault(self.types.get(seen.get(side) or named.get(side), ''), [0, analysis_work.Chain(0, 0, 0, 0)])
            row[0] += count
            row[1] = analysis_work.Chain(*[a + b for a, b in zip(row[1], calls.get(side, (0, 0, 0, 0)))])
        return out


def _join(a, b):
    """-> the one Note (as a tuple) that two lines make of one key: the first tells, but a call tells more than its result."""
    a, b = Note(*a), Note(*b)
    best = b if b.call and not a.text else a
    return tuple(best._replace(error=b.error or a.error))


def read(agent, sources, few=FEW):
    """-> Reading of a session's files. Content never raises; a file that cannot be read is left out. few: see Reading."""
    adapter = registry.get(agent)
    out, gathered, spawned = Reading(few), Gathered(few), {}
    told = getattr(adapter, 'files_of', files_of)
    for number, source in enumerate(sources, 1):
        one = analysis.FileAnalysis()
        if source.role in ('agent', 'loose') and not analysis.is_replay(source.chain) and not getattr(adapter, 'NAMES_AGENTS', False):
            one.add_agent(source.chain)
        look = _Look(out, told, spawned)
        try:
            for events in adapter.read(source, Coverage(source.path)):
                for event in events:
                    one.add(event)
                    look(event)
                if len(one.facts) > gathered.limit:
                    gathered.take(one.facts, number)
                    one = analysis.FileAnalysis(one.profile)
        except OSError:
            # It went while it was read; what there was counts.
            pass
        declared = adapter.agent_type(source) if source.role != 'main' and hasattr(adapter, 'agent_type') else ''
        if declared:
            out.types[source.chain] = declared
        gathered.take(one.facts, number)
    one = None
    out.facts, out.keys = gathered.ordered()
    if type(out.keys) is not list:
        out.notes.pack()
    _name_types(out, spawned)
    return out


class _Look(object):
    """Notes what one file's events say beside their facts."""

    def __init__(self, out, told, spawned):
        self.out, self.told, self.spawned = out, told, spawned
        self.mode, self.prompt = DEFAULT_MODE, None

    def __call__(self, event):
        """Take one event in."""
        out, kind = self.out, event.kind
        if event.chain and event.time is not None and event.time < out.began.get(event.chain, event.time + 1):
            out.began[event.chain] = event.time
        if kind == TOOL_CALL:
            found = self.told(event.label, event.data)
            key = 't' + event.id
            self._put(key, event, found)
            if type(event.data) is dict and event.label.lower().rsplit('.', 1)[-1] in ('task', 'agent') or 'agent' in event.label.lower():
                self.spawned[key_of(key)] = event.time or 0, event.line, _task(event.data)
        elif kind == TOOL_RESULT:
            key = 't' + event.data.call_id
            # 178 of 65,287 real results stand before their call.
            if event.label == ERROR:
                out.notes.add(key, (event.chain, event.line, '', None, event.text[:_CHARS], [], False))
            elif not out.notes.holds(key):
                out.notes.add(key, (event.chain, event.line, '', None, '', [], False))
        elif opens_turn(event):
            self._put('p' + event.id, event, [])
            self.prompt = event
            self._in_mode(self.mode)
        elif kind == INTERRUPTION:
            self._put('i' + event.id, event, [])
        elif kind == META:
            self._meta(event)
        elif kind == INJECTED and event.label == 'task' and event.chain not in out.tasks:
            out.tasks[event.chain] = _folded(event.text)

    def _put(self, key, event, files):
        small = event.data if type(event.data) is dict and len(event.text) < _CHARS else None
        self.out.notes.add(key, (event.chain, event.line, event.text[:_CHARS], small, '', files, event.kind == TOOL_CALL))

    def _in_mode(self, mode):
        key = key_of('p' + self.prompt.id)
        if mode != DEFAULT_MODE:
            self.out.modes[key] = mode
        else:
            self.out.modes.pop(key, None)

    def _meta(self, event):
        out, label, text = self.out, event.label, event.text
        if label == 'mode' and text and not event.chain:
            self.mode = text
            if self.prompt is not None and self.prompt.line == event.line:
                self._in_mode(text)
        elif label in ('branch', 'version') and text:
            known = out.branches if label == 'branch' else out.versions
            if text not in known:
                known.append(text)


def _folded(text):
    return ' '.join(text[:4 * _TASK].split())[:_TASK]


def _task(given):
    """-> how the task begins that a call gives to a subagent."""
    given = given if type(given) is dict else {}
    return next((_folded(given[name]) for name in ('prompt', 'task', 'message', 'description') if type(given.get(name)) is str), '')


def _name_types(out, spawned):
    """Tell the types of subagents that nothing declares: by their task, else by order where there are as many calls as chains."""
    places, left = out.places(spawned), []
    for key, (time, line, task) in spawned.items():
        fact = out.facts[places[key]] if key in places else None
        if fact is None or not fact.extra:
            continue
        same = [chain for chain in sorted(out.tasks) if chain and task and chain not in out.types and out.tasks[chain] == task]
        if same:
            out.types[same[0]] = fact.extra
        else:
            left.append((time, line, fact.extra))
    unnamed = sorted((time, chain) for chain, time in out.began.items() if chain not in out.types and not analysis.is_replay(chain))
    if len(unnamed) == len(left):
        for (_, chain), (_, _, word) in zip(unnamed, sorted(left)):
            out.types[chain] = word
