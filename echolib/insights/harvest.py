"""The records that habits are told from: prompts, failed calls, calls of chosen tools. Each once, the copy of its owner.

What is read is chosen from facts and document rows, newest first up to a number; only those records are reread. Nothing is
judged here.
"""
from collections import namedtuple

from .. import analysis
from ..adapters.universal_dialog import FAMILY as DIALOG
from ..index import schema
from ..base.identity import key_of
from ..index.texts import Texts

# Where a record stands. shard and number name its document; file is the index's, line from 1, time ms or None.
Place = namedtuple('Place', 'session file line time shard number')
Said = namedtuple('Said', 'place label text')                 # label: typed, queued, slash, refused
Failed = namedtuple('Failed', 'place tool call_id text')
# status: see analysis.STATUS, 0 when nothing came back; given: the input as it was.
Called = namedtuple('Called', 'place tool call_id given text status adapter')
# One tool use as counted. status as above, time ms or None.
Use = namedtuple('Use', 'session file tool time side status')

SHELLS = frozenset(('bash', 'shell', 'shell_command', 'local_shell', 'run_terminal_cmd', 'run_terminal_command', 'run_shell_command',
                    'execute_command', 'exec_command', 'powershell'))


class Harvest(object):
    """view: an opened View with shards; rows: the Rows of the sessions that count; since, until: ms bounds or None."""

    def __init__(self, view, catalog, rows, since=None, until=None):
        self.view, self.catalog = view, catalog
        self.since, self.until = since, until
        # What people write to each other is no habit of working with an agent.
        self.rows = dict((row.id, row) for row in rows if row.entrypoint != DIALOG)
        self.texts = Texts(view.db)
        # Kinds of which not all there is was read: {what: how many were}.
        self.cut = {}
        self._sessions = dict((file, session) for file, session, role in view.db.execute('select id, session, role from files')
                              if session in self.rows and role != 'history')
        self._uses = self._turns = self._results = None
        self._docs = {}

    def uses(self):
        """-> {key: Use} of every counted tool use of these sessions."""
        self._count()
        return self._uses

    def _count(self):
        if self._uses is None:
            self._uses, self._turns = {}, {}
            for session, fact, key, file in self.catalog.facts(set(self.rows), self.since, self.until, kinds=(analysis.TOOL, analysis.TURN)):
                if fact.kind == analysis.TURN:
                    self._turns[key] = file
                else:
                    self._uses[key] = Use(session, file, fact.name, fact.time, fact.side, fact.status)

    def documents(self, kind):
        """-> list of (Place, offset, length, part) of the documents of a kind, in the order of their files."""
        if kind not in self._docs:
            found = []
            where, values = '', []
            for bound, sign in ((self.since, '>='), (self.until, '<')):
                if bound is not None:
                    where += ' and time %s ?' % sign
                    values.append(bound)
            for shard, (_, db, end) in enumerate(self.view.shards):
                for number, file, line, time, offset, length, part in db.execute(
                        'select id, file, line, time, offset, length, part from docs where kind = ? and id < ?%s' % where, [kind, end] + values):
                    # A document that was read anew belongs to no file.
                    session = self._sessions.get(file)
                    if session is not None:
                        found.append((Place(session, file, line, time, shard, number), offset, length, part))
            found.sort(key=lambda d: (d[0].shard, d[0].number))
            self._docs[kind] = found
        return self._docs[kind]

    def prompts(self, most):
        """-> list of Said: what the person typed, slash commands too, in the order of their files."""
        out = []
        self._count()
        # A session that another program started holds no person's words.
        docs = [doc for doc in self.documents(schema.PROMPT_DOC) if not self.rows[doc[0].session].machine]
        for place, event in self._read(docs, most, 'prompts'):
            if event.kind == 'prompt' and not event.chain and self._turns.get(key_of('p%s' % event.id)) == place.file:
                out.append(Said(place, event.label, event.text))
        return out

    def failures(self, most):
        """-> list of Failed: tool calls that ended in an error (a refusal by the person is none)."""
        return [Failed(place, use.tool, event.data.call_id, event.text) for place, event, use in self._unsuccessful(most)
                if event.label == 'error' and use.status == analysis.FAILED]

    def refusals(self, most):
        """-> list of Said: the words with which the person refused a call, label refused; those without words are left out."""
        out = []
        for place, event, _ in self._unsuccessful(most):
            if event.label == 'declined' and not self.rows[place.session].machine:
                told = getattr(self.texts.file(place.file)[0], 'refusal_words', None)
                words = told(event.text) if told is not None else ''
                if words:
                    out.append(Said(place, 'refused', words))
        return out

    def _unsuccessful(self, most):
        """-> list of (Place, event, Use) of results that are no success, as read the first time."""
        if self._results is None:
            uses, self._results = self.uses(), []
            for place, event in self._read(self.documents(schema.ERROR_DOC), most, 'errors'):
                use = uses.get(key_of('t%s' % event.data.call_id)) if event.kind == 'tool_result' else None
                if use is not None and use.file == place.file:
                    self._results.append((place, event, use))
        return self._results

    def calls(self, wanted, most, what):
        """-> list of Called that `wanted(Use)` chooses. what: their name where not all are read."""
        uses = self.uses()
        times = set((use.file, use.time) for use in uses.values() if wanted(use))
        docs = [doc for doc in self.documents(schema.CALL_DOC) if (doc[0].file, doc[0].time) in times]
        out = []
        for place, event in self._read(docs, most, what):
            use = uses.get(key_of('t%s' % event.id)) if event.kind == 'tool_call' else None
            if use is not None and use.file == place.file and wanted(use):
                out.append(Called(place, event.label, event.id, event.data, event.text, use.status, self.texts.file(place.file)[0]))
        return out

    def _read(self, docs, most, what):
        """Yield (Place, event) of the newest `most` documents, in the order of their files."""
        if len(docs) > most:
            self.cut[what] = most
            newest = sorted(docs, key=lambda d: (-(d[0].time or 0), d[0].shard, d[0].number))[:most]
            docs = sorted(newest, key=lambda d: (d[0].shard, d[0].number))
        for place, offset, length, part in docs:
            event = self.texts.event(place.file, offset, length, part)
            if event is not None:
                yield place, event
