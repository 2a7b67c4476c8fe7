"""Search against a model of it: homes that come about, grow, fork and shrink by chance, asked whatever the query language has.

The model keeps every message as words and knows nothing of indexes: a session answers when it holds every term in messages that
pass the filters, unless all of them are copies of what an older session holds. What the asking session said itself since its last
compaction is in its context still, and does not count.
"""
import json
import os
import random
import shutil

import pytest

import small
from recalling import Recall

WORDS = ('amber', 'basalt', 'cobalt', 'dahlia', 'ember', 'fjord', 'garnet', 'hazel')
PLACES = ('/home/dev/app', '/home/dev/web', '/srv/api')
SPOKEN, WORKED = {'prompt', 'reply', 'thinking', 'title'}, {'call', 'result', 'error', 'task', 'recap'}
ROLES = {'user': {'prompt'}, 'assistant': {'reply'}, 'thinking': {'thinking'}, 'tool': {'call', 'result', 'error'}, 'title': {'title'}}


class Message(object):
    """What one record says. number: its identity; time: seconds from the start, None of a title; row: the record."""

    def __init__(self, number, kind, text, time, row):
        self.number, self.kind, self.words, self.time, self.row = number, kind, text.split(), time, row

    def copied(self, fork, origin):
        """-> the same message in a fork."""
        row = dict(self.row, sessionId=fork, forkedFrom={'sessionId': origin, 'messageUuid': self.row['uuid']})
        return Message(self.number, self.kind, ' '.join(self.words), self.time, row)


class Conversation(object):
    """One session. agents: {subagent: [Message]}."""

    def __init__(self, name, place, messages, forked):
        self.name, self.place, self.messages, self.forked = name, place, messages, forked
        self.titles, self.agents = [], {}

    def all(self):
        """-> every Message, titles and subagents' too."""
        return (self.messages + [Message('title ' + title, 'title', title, None, None) for title in self.titles]
                + [message for messages in self.agents.values() for message in messages])

    def out_of_context(self):
        """-> the Messages that are not in the session's context any more: before its last recap, and its subagents'."""
        recaps = [at for at, message in enumerate(self.messages) if message.kind == 'recap']
        return self.messages[:recaps[-1] if recaps else 0] + [message for messages in self.agents.values() for message in messages]

    def shares(self, other):
        """True where both hold a message."""
        return bool(set(one.number for one in self.messages) & set(one.number for one in other.messages))


class World(object):
    """A home and what is in it, oldest session first."""

    def __init__(self, folder, dice):
        self.home, self.dice, self.sessions, self.clock, self.number, self.made = Recall(folder), dice, [], 0, 0, 0

    def say(self):
        """-> a few words."""
        return ' '.join(self.dice.choice(WORDS) for _ in range(self.dice.randint(1, 4)))

    def speak(self, name, place, most, agent=None):
        """-> up to so many new Messages of a session, or of its subagent."""
        out, fields = [], dict(sid=self.home.sid(name), cwd=place)
        if agent is not None:
            fields.update(isSidechain=True, agentId=agent)
        for _ in range(self.dice.randint(1, most)):
            text, kind = self.say(), self.dice.choice(('prompt', 'prompt', 'reply', 'reply', 'thinking', 'call', 'call'))
            number, time = self._next()
            if kind == 'prompt':
                row = small.user(text, number, time, **fields)
                out.append(Message(number, kind if agent is None else 'task', text, time, row))
                continue
            block = {'reply': small.text(text), 'thinking': {'type': 'thinking', 'thinking': text, 'signature': 's'},
                     'call': small.call('Zed', {'command': text}, 'toolu_%d' % number)}[kind]
            out.append(Message(number, kind, text, time, small.answer([block], number, time, 'msg_%d' % number, **fields)))
            if kind == 'call':
                call, text, wrong = 'toolu_%d' % number, self.say(), self.dice.random() < 0.3
                number, time = self._next()
                out.append(Message(number, 'error' if wrong else 'result', text, time, small.result(text, number, time, call, wrong, **fields)))
        return out

    def _next(self):
        self.number += 1
        self.clock += self.dice.randint(1, 200)
        return self.number, self.clock

    def begin(self):
        """A new session, or a fork of one that is none."""
        name, dice = 's%d' % self.made, self.dice
        self.made += 1
        origins = [one for one in self.sessions if not one.forked]
        if origins and dice.random() < 0.5:
            origin = dice.choice(origins)
            copied = [message.copied(self.home.sid(name), self.home.sid(origin.name)) for message in origin.messages[:dice.randint(1, len(origin.messages))]]
            self.sessions.append(Conversation(name, origin.place, copied + self.speak(name, origin.place, 3), True))
        else:
            place = dice.choice(PLACES)
            self.sessions.append(Conversation(name, place, self.speak(name, place, 5), False))

    def change(self):
        """Something happens."""
        one, chance = self.dice.choice(self.sessions), self.dice.random()
        if chance < 0.35:
            self.begin()
        elif chance < 0.6:
            one.messages += self.speak(one.name, one.place, 3)
        elif chance < 0.75:
            one.titles.append(self.say())
        elif chance < 0.8:
            text, (number, time) = self.say(), self._next()
            row = small.user(text, number, time, sid=self.home.sid(one.name), cwd=one.place, isCompactSummary=True)
            one.messages.append(Message(number, 'recap', text, time, row))
        elif chance < 0.92:
            agent = 'a%d' % self.dice.randint(1, 2)
            one.agents.setdefault(agent, []).extend(self.speak(one.name, one.place, 3, agent))
        elif len(self.sessions) > 2 and (one.forked or not any(other.shares(one) for other in self.sessions if other is not one)):
            self.sessions.remove(one)
            path = self._path(one)
            if os.path.exists(path):
                os.remove(path)
            shutil.rmtree(path[:-6], ignore_errors=True)

    def _path(self, one):
        return os.path.join(self.home.folder, '.claude', 'projects', one.place.replace('/', '-'), self.home.sid(one.name) + '.jsonl')

    def write(self):
        """Bring the home's files to what is so now; what did not change is left alone."""
        for one in self.sessions:
            titles = [{'type': 'custom-title', 'customTitle': title, 'sessionId': self.home.sid(one.name)} for title in one.titles]
            _put(self._path(one), [message.row for message in one.messages] + titles)
            for agent, messages in one.agents.items():
                _put(os.path.join(self._path(one)[:-6], 'subagents', 'agent-%s.jsonl' % agent), [message.row for message in messages])

    def answering(self, terms, without, kinds, since, until, place, asking):
        """-> names of the sessions that answer; None where none holds every term (the best of the others are answered then)."""
        def fits(message):
            return (message.kind in kinds and not without & set(message.words)
                    and (since is None or message.time is not None and message.time >= since)
                    # An end includes the second it names.
                    and (until is None or message.time is not None and message.time <= until))
        found, holding = [], [set() for _ in terms]
        for one in self.sessions:
            if place in (None, one.place):
                known = one.out_of_context() if one.name == asking else one.all()
                messages = [message for message in known if fits(message) and any(term.held(message.words) for term in terms)]
                for term, names in zip(terms, holding):
                    if any(term.held(message.words) for message in messages):
                        names.add(one.name)
                found.append((one, messages))
        whole = set.intersection(*holding)
        if not whole:
            return None
        out = set()
        for at, (one, messages) in enumerate(found):
            older = set((message.number, message.kind) for other, theirs in found[:at] if other.shares(one) for message in theirs)
            if one.name in whole and any((message.number, message.kind) not in older for message in messages):
                out.add(one.name)
        return out


class Term(object):
    """A part of a query: a word, a phrase, a beginning or alternatives."""

    def __init__(self, dice):
        self.kind = dice.choice(('word', 'word', 'word', 'phrase', 'beginning', 'either'))
        self.words = [dice.choice(WORDS) for _ in range({'phrase': 2, 'either': 2}.get(self.kind, 1))]
        if self.kind == 'beginning':
            self.words = [self.words[0][:dice.randint(2, 4)]]

    def __str__(self):
        return {'phrase': '"%s"', 'beginning': '%s*'}.get(self.kind, '%s') % (' OR ' if self.kind == 'either' else ' ').join(self.words)

    def held(self, words):
        """True where a message of these words holds it."""
        if self.kind == 'phrase':
            return any(words[at:at + 2] == self.words for at in range(len(words)))
        if self.kind == 'beginning':
            return any(word.startswith(self.words[0]) for word in words)
        return any(word in words for word in self.words)


def _put(path, rows):
    data = b''.join(json.dumps(row).encode('ascii') + b'\n' for row in rows)
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    if os.path.exists(path):
        with open(path, 'rb') as handle:
            if handle.read() == data:
                return
    with open(path, 'wb') as handle:
        handle.write(data)


def _iso(seconds):
    return small.row('', 0, int(seconds))['timestamp']


def asked(dice, world):
    """-> (arguments of a search, what the model is asked); the last thing it is asked is the session that asks, or None."""
    terms, without = [Term(dice) for _ in range(dice.randint(1, 3))], set([dice.choice(WORDS)] if dice.random() < 0.25 else [])
    role, place = dice.choice([None] * 5 + sorted(ROLES)), dice.choice((None, None) + PLACES)
    tools = dice.random() < 0.5 or role == 'tool'
    since = int(world.clock * dice.random()) if dice.random() < 0.25 else None
    until = int(world.clock * dice.random()) if dice.random() < 0.25 else None
    argv = [' '.join([str(term) for term in terms] + ['-' + word for word in without]), '--limit', '0', '--per-session', '0']
    argv += (['--include-tools'] if tools else []) + (['--role', role] if role else []) + (['--project', place] if place else [])
    argv += (['--since', _iso(since)] if since is not None else []) + (['--until', _iso(until)] if until is not None else [])
    kinds = ROLES[role] if role else SPOKEN | WORKED if tools else SPOKEN
    return argv, (terms, without, kinds, since, until, place, dice.choice(world.sessions).name if dice.random() < 0.3 else None)


@pytest.mark.parametrize('seed', range(24))
def test_search_answers_as_the_model_does(tmp_path, seed):
    dice = random.Random(seed)
    world = World(str(tmp_path), dice)
    for _ in range(dice.randint(2, 5)):
        world.begin()
    for _ in range(4):
        for _ in range(dice.randint(1, 4)):
            world.change()
        world.write()
        for _ in range(4):
            argv, question = asked(dice, world)
            expected = world.answering(*question)
            if expected is not None:
                env = {'CLAUDE_CODE_SESSION_ID': world.home.sid(question[-1])} if question[-1] is not None else {}
                got = world.home.search(*argv, **env)
                assert sorted(set(world.home.name(hit['session_id']) for hit in got['hits'])) == sorted(expected), argv
                assert got['total_sessions'] == len(expected) and not got['partial'], argv
