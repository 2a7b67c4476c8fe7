"""Which documents of the shards hold a term and may be answered, their rows and texts, and which of them are copies.

Filters are part of the selection: a document that does not fit them is never a candidate.
"""
from bisect import bisect_left
from collections import Counter
from itertools import compress

from ..base.shapes import shape
from . import matching, schema
from .catalog import between
from .placement import Placement, chosen, pieces_in
from .query import alternatives_expression
from .seniority import age

PROSE, TOOLS = 'prose', 'tools'
# Documents of a list that are checked at a time, and all of which are.
FEW = 300
# All of a file's documents are compared with its copies' where it holds at most this many.
_FEW_IN_FILE = 40
# Documents whose text is reread to check what tokens cannot say.
_VERIFY = 3000

# What may be found. sessions: set of session row ids or None for all; kinds: set of document kinds or None for those
# of the chosen tables; since, until: ms bounds or None; tools: tool output and the like too; injected: everything;
# per_session, limit: 0 for all; recent: newest first; hide: {file id: line}, only lines before it may be shown;
# accept: a test of Hits, or None; behind: sessions that come last whatever their score.
Options = shape('Options', 'sessions kinds since until tools injected per_session limit recent hide accept behind')

# One answer line. score: larger is better; missing: texts of the terms its session lacks (None: told from the text);
# copies: session row ids that hold the same message.
Hit = shape('Hit', 'file session line offset length part kind time score missing copies')


def holds(ids, number):
    """True when a sorted list holds a number."""
    at = bisect_left(ids, number)
    return at < len(ids) and ids[at] == number


class Selection(object):
    """What is selected of an index.

    db: connection to index.db.  shards: list of (id, connection, docs_end).  texts: a Texts over the same index.
    """

    def __init__(self, db, shards, texts):
        self.db, self.shards, self.texts = db, shards, texts
        self.placement = Placement(db, shards)
        self._rows, self._passed, self._hidden = {}, {}, {}
        self.rivals = set(row[0] for row in db.execute('select distinct file from rivals'))
        self.copied = set(row[0] for row in db.execute('select id from sessions where copy_of is not null'))
        rows = db.execute("select id, shard, ranges from files where role = 'history'").fetchall()
        # Files of prompts that were typed in whatever session, and where their documents lie: [(shard id, (first, end))].
        self.history = set(row[0] for row in rows)
        self.remembered = [(row[1], piece) for row in rows for piece in schema.pieces(row[2])]
        self.notes = []

    def session_of(self, file):
        """-> session row id of a file."""
        return self.placement.session_of(file)

    def documents(self, alternatives, tables, options, exact):
        """-> {(table, shard): sorted document ids} that hold any of the alternatives.

        exact: literally where any does, next to each other in a table without positions.
        """
        out = {}
        literal = any(t.literal for t in alternatives)
        apart = any(len(w) > 1 for t in alternatives for w in (t.words,) + t.other)
        for table in tables:
            expression = alternatives_expression(alternatives, table == PROSE)
            for shard in range(len(self.shards)):
                ids = self._matching(table, shard, expression, options)
                if ids:
                    out[table, shard] = ids
        if exact and out and (literal or apart and any(table == TOOLS for table, _ in out)):
            out = self._verified(out, alternatives, literal, options)
        return out

    def _matching(self, table, shard, expression, options):
        number, db, end = self.shards[shard]
        where, values = self.filter(table, options)
        if where:
            found = db.execute('select group_concat(id) from (select d.id from %s join docs d on d.id = %s.rowid where %s match ? and d.id < ?%s'
                               ' order by d.id)' % (table, table, table, where), [expression, end] + values).fetchone()[0]
        else:
            # In one text, since a row each costs more than the search; FTS5 gives its rows in order.
            found = db.execute('select group_concat(rowid) from %s where %s match ? and rowid < ?' % (table, table), (expression, end)).fetchone()[0]
        if not found:
            return []
        ids = list(map(int, found.split(',')))
        for first, behind in self.hidden(shard, options):
            del ids[bisect_left(ids, first):bisect_left(ids, behind)]
        ids = self._allowed_of(shard, ids, options)
        return ids if options.accept is None else self._accepted(shard, ids, options.accept)

    def _allowed_of(self, shard, ids, options):
        """-> those of a sorted list of documents that belong to a file which may be answered."""
        spread = self.placement.spread(shard, ids)
        # History aside, every file of an ordinary search may.
        bad, copied, sessions = self.history, self.copied, options.sessions
        wanted = [file not in bad and session not in copied and (sessions is None or session in sessions)
                  for file, session in zip(spread.files, spread.sessions)]
        ids, spread = chosen(ids, spread, wanted)
        self.placement.keep(ids, spread)
        return ids

    def _accepted(self, shard, ids, accept):
        """-> the documents among `ids` that pass a test of Hits."""
        self.load([(shard, number) for number in ids])
        for number in ids:
            key = (accept, shard, number)
            if key not in self._passed:
                row = self.doc(shard, number)
                self._passed[key] = row is not None and accept(
                    Hit(row[0], self.session_of(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], 0.0, (), ()))
        return [number for number in ids if self._passed[accept, shard, number]]

    def allowed(self, file, options):
        """True for a file (row id) whose documents may be answered under Options, as far as that is told of files."""
        session = self.session_of(file)
        return file not in self.history and session not in self.copied and (options.sessions is None or session in options.sessions)

    def filter(self, table, options):
        """-> (condition on docs d, its values) of what Options ask of a document's row; '' for nothing. What they hide is not
        part of it: that would join each document of a common word."""
        where = ''
        if options.kinds is not None:
            where += ' and d.kind in (%s)' % ','.join('%d' % k for k in sorted(options.kinds))
        elif table == TOOLS and not options.injected:
            where += ' and d.kind < %d' % schema.INJECTED_DOC
        dated, values = between('d.time', options.since, options.until)
        where += dated
        return where, values

    def hidden(self, shard, options):
        """-> [(first, the one behind the last)] of a shard's documents that Options hide."""
        key = (shard, tuple(options.hide.items()))
        if key not in self._hidden:
            self._hidden[key] = [piece for file, line in options.hide.items() for piece in self._from_line(shard, file, line)]
        return self._hidden[key]

    def _from_line(self, shard, file, line):
        number, db, _ = self.shards[shard]
        there, pieces = self.placement.of_file(file)
        for first, behind in pieces if there == number else ():
            if line:
                first = db.execute('select min(id) from docs where id >= ? and id < ? and line >= ?', (first, behind, line)).fetchone()[0]
            if first is not None:
                yield first, behind

    def _verified(self, docs, alternatives, literal, options):
        """Keep what holds a term as it was typed; where nothing does, what holds its tokens next to each other.

        Where very many may, the last ones of each session that can be shown are looked for; of files that share messages with
        others all, since copies are told by them.
        """
        matchers = [matching.Matcher(t) for t in alternatives]
        literals = [t.literal for t in alternatives if t.literal]
        exact, near = {}, {}
        budget, per = _VERIFY, {}
        many = options.limit and options.per_session and sum(len(ids) for ids in docs.values()) > FEW
        most = 2 * options.per_session if many else _VERIFY
        for place, ids in docs.items():
            shard, at = place[1], len(ids)
            while at and budget:
                some = [(n, self.file(shard, n)) for n in ids[max(0, at - FEW):at]]
                some = [(n, file, self.session_of(file)) for n, file in some]
                some = [row for row in some if per.get(row[2], 0) < most or row[1] in self.rivals]
                at = max(0, at - FEW)
                self.load([(shard, n) for n, _, _ in some])
                self.texts.load(file for _, file, _ in some)
                for number, file, session in reversed(some):
                    if not budget or per.get(session, 0) >= most and file not in self.rivals:
                        continue
                    budget -= 1
                    text = self.text(shard, number)
                    low = matching.folded(text)
                    if any(one.find(low) for one in matchers):
                        near.setdefault(place, []).append(number)
                        whole = not literals or any(matching.holds_literal(text, one) for one in literals)
                        if literals and whole:
                            exact.setdefault(place, []).append(number)
                        per[session] = per.get(session, 0) + whole
            if not budget:
                self.notes.append('very many places hold these words; only some were checked for the exact text')
                break
        best = exact if literal and exact else near
        for ids in best.values():
            ids.reverse()
        return best

    def text(self, shard, number):
        """-> the text of a document as it was searched, '' when it is gone."""
        row = self.doc(shard, number)
        return self.texts.text(row[0], row[2], row[3], row[4]) if row is not None else ''

    def doc(self, shard, number):
        """-> (file, line, offset, length, part, kind, time, ident) of a document, None when it is gone."""
        key = (shard, number)
        if key not in self._rows:
            self.load([key])
        return self._rows[key]

    def load(self, docs):
        """Look up the rows of many documents at once."""
        wanted = {}
        for shard, number in docs:
            if (shard, number) not in self._rows:
                wanted.setdefault(shard, []).append(number)
        for shard, numbers in wanted.items():
            self._rows.update(((shard, number), None) for number in numbers)
            for row in self.columns(shard, numbers, 'id, file, line, offset, length, part, kind, time, ident'):
                self._rows[shard, row[0]] = row[1:]

    def columns(self, shard, numbers, columns):
        """-> iterator of columns of those documents that are there."""
        return schema.rows_of(self.shards[shard][1], 'select %s from docs where id in (%%s)' % columns, numbers)

    def file(self, shard, number):
        """-> row id of a document's file, None without one."""
        return self.placement.file(shard, number)

    def session(self, shard, number):
        """-> row id of a document's session, None without one."""
        return self.placement.session(shard, number)

    def sessions(self, docs):
        """-> set of session ids that hold any of the documents ({(table, shard): sorted ids})."""
        return set().union(*[self.placement.spread(shard, ids).sessions for (_, shard), ids in docs.items()])

    def copies(self, found, chosen):
        """-> {(shard, id): (shard, id) of the oldest} of documents that repeat a message of an older file.

        Looked at are the chosen documents, and all of a file that holds few.
        """
        if not self.rivals:
            return {}
        suspects, same, out = {}, {}, {}
        for docs in found:
            for (_, shard), ids in docs.items():
                mine = suspects.setdefault(shard, {})
                for file, _, low, high in pieces_in(self.placement.spread(shard, ids), 'files', self.rivals):
                    few = high - low <= _FEW_IN_FILE
                    mine.update((number, file) for number in ids[low:high] if few or (shard, number) in chosen)
        for shard, numbers in self._alike(suspects):
            for number, ident, kind, part in self.columns(shard, numbers, 'id, ident, kind, part'):
                same.setdefault((ident, kind, part), {})[shard, number] = suspects[shard][number]
        same = dict((what, group) for what, group in same.items() if len(group) > 1)
        files = set(file for group in same.values() for file in group.values())
        ages = dict((row[0], age(*row[1:])) for row in schema.rows_of(self.db, 'select id, flags, birth, last, path from files where id in (%s)', files))
        titles = set(file for what, group in same.items() if what[1] == schema.TITLE for file in group.values())
        shared = set(schema.rows_of(self.db, 'select file, other from rivals where file in (%s)', titles))
        for (_, kind, _), group in same.items():
            order = sorted(group, key=lambda d: (ages[group[d]], d))
            for place, doc in enumerate(order[1:], 1):
                # A title has no id: the same words are a copy only where the files share messages.
                older = order[:1] if kind != schema.TITLE else [
                    one for one in order[:place] if group[one] == group[doc] or (group[one], group[doc]) in shared]
                if older:
                    out[doc] = older[0]
        return out

    def _alike(self, suspects):
        """-> [(shard, [ids])] of those documents ({shard: ids}) whose identity another one of them has too."""
        found, counts = [], Counter()
        for shard, numbers in suspects.items():
            # In one text, since a row each costs more; few are left.
            for text, in self.columns(shard, numbers, "group_concat(id || ',' || ident)"):
                values = (text or '').split(',')
                found.append((shard, values[0::2], values[1::2]))
                counts.update(values[1::2])
        twice = set(ident for ident, n in counts.items() if n > 1)
        return [(shard, list(map(int, compress(ids, map(twice.__contains__, idents))))) for shard, ids, idents in found]

    def _only_copies(self, found, copies, answering):
        """-> the sessions among `answering` that hold nothing but copies of what an older session holds."""
        if not copies:
            return set()
        doubtful, own = set(self.session(*doc) for doc in copies), set()
        for docs in found:
            for (_, shard), ids in docs.items():
                for _, session, low, high in pieces_in(self.placement.spread(shard, ids), 'sessions', doubtful):
                    if session not in own and any((shard, n) not in copies for n in ids[low:high]):
                        own.add(session)
        return doubtful - own

    def without(self, query, found, tables, options):
        """Take documents that hold an excluded term out of every term's documents; -> {(table, shard): set of them}."""
        barred = {}
        for term in query.without:
            for place, ids in self.documents((term,), tables, options, True).items():
                barred.setdefault(place, set()).update(ids)
        for docs in found if barred else ():
            for place in docs:
                docs[place] = [d for d in docs[place] if d not in barred.get(place, ())]
        return barred
