"""Search over the shards: which sessions hold every term, which of their messages to show, best first.

Messages are indexed, sessions are answered. Filters are part of the selection: a document that does not fit them is
never a candidate.
"""
import json
from bisect import bisect_left
from collections import namedtuple

from . import matching, schema
from .query import alternatives_expression

# Weight of a document's kind: words that a person or the model said come first.
_WEIGHTS = {schema.TITLE: 1.25, schema.PROMPT_DOC: 1.1, schema.REPLY_DOC: 1.0, schema.THINKING_DOC: 0.6,
            schema.RECAP_DOC: 0.5, schema.ATTACHED_DOC: 0.4, schema.TASK_DOC: 0.4, schema.ERROR_DOC: 0.4,
            schema.CALL_DOC: 0.4, schema.RESULT_DOC: 0.35, schema.INJECTED_DOC: 0.2}
_CANDIDATES = 400
_VERIFY = 4000

# What may be found. sessions: set of session row ids or None for all; kinds: set of document kinds or None for those
# of the chosen tables; since, until: ms bounds or None; tools: tool output and the like too; injected: everything;
# per_session, limit: 0 for all; recent: newest first; hide: {file id: line}: only lines before it may be shown.
Options = namedtuple('Options', 'sessions kinds since until tools injected per_session limit recent hide accept')

# One answer line. doc: (shard, id); score: larger is better; missing: texts of terms its session (a question: it) lacks;
# copies: session ids that hold the same message.
Hit = namedtuple('Hit', 'file session line offset length part kind time score missing copies')

# total: number of sessions that answer; partial: no session holds every term; note: texts to tell the reader.
Answer = namedtuple('Answer', 'hits total partial notes')


class Searcher(object):
    """One search over an index.

    db: connection to index.db.  shards: list of (connection, docs_end).  texts: a Texts over the same index.
    """

    def __init__(self, db, shards, texts):
        self.db, self.shards, self.texts = db, shards, texts
        self._load_files()

    def _load_files(self):
        """The document ranges of every file, by shard, in order: a document's file without a look at its row."""
        self.ranges = []
        self.session_of = {}
        by_shard = {}
        for file, session, shard, ranges in self.db.execute(
                'select f.id, f.session, f.shard, f.ranges from files f join sessions s on s.id = f.session where s.copy_of is null'):
            self.session_of[file] = session
            if ranges and ranges != '[]':
                for first, end in json.loads(ranges):
                    by_shard.setdefault(shard, []).append((first, end, file))
        for number, _, _ in self.shards:
            mine = sorted(by_shard.get(number, ()))
            self.ranges.append(mine)

    def search(self, query, options):
        """-> Answer of a Query under Options."""
        notes = []
        if not query.terms:
            return Answer([], 0, False, ['nothing in the query can be searched'])
        answer = self._search(query, options)
        if not answer.hits and not options.tools and not options.injected:
            wider = self._search(query, options._replace(tools=True))
            if wider.hits and not wider.partial:
                notes.append('found only in tool input and output')
                return wider._replace(notes=notes + wider.notes)
        elif answer.partial and not options.tools and not options.injected and not query.question:
            wider = self._search(query, options._replace(tools=True))
            if not wider.partial:
                notes.append('all words together were found only with tool input and output')
                return wider._replace(notes=notes + wider.notes)
        return answer

    def _search(self, query, options):
        tables = ['prose'] + (['tools'] if options.tools or options.injected else [])
        found = [self._documents(alternatives, tables, options) for alternatives in query.terms]
        barred = set()
        for term in query.without:
            for shard, number in self._documents((term,), tables, options):
                barred.add((shard, number))
        if barred:
            found = [docs - barred for docs in found]
        sessions = [self._sessions(docs, options) for docs in found]
        union = set()
        for one in sessions:
            union |= one
        full = set.intersection(*sessions) if sessions else set()
        partial = not full and bool(union) and len(query.terms) > 1
        answering = union if query.question or partial else full
        hits = self._rank(query, found, answering, full, sessions, options, partial)
        if options.accept is not None:
            answering = set(h.session for h in hits) if not options.limit else answering
        return Answer(hits, len(answering), partial, [])

    def _documents(self, alternatives, tables, options):
        """-> set of (shard number, document id) that hold any of the alternatives, literally where that can be."""
        out = set()
        for table in tables:
            positions = table == 'prose'
            expression = alternatives_expression(alternatives, positions)
            for i, (number, db, end) in enumerate(self.shards):
                for doc in self._matching(db, end, table, expression, options, i):
                    out.add((i, doc))
        strict = [t for t in alternatives if t.literal]
        loose = [t for t in alternatives if len(t.words) > 1 or t.other]
        if out and (strict or 'tools' in tables and loose):
            out = self._verified(out, alternatives, bool(strict))
        return out

    def _matching(self, db, end, table, expression, options, shard):
        where, values = self._filter(options, table)
        if where:
            sql = ('select d.id from %s join docs d on d.id = %s.rowid where %s match ? and d.id < ?%s order by d.id'
                   % (table, table, table, where))
            rows = db.execute(sql, [expression, end] + values)
        else:
            rows = db.execute('select rowid from %s where %s match ? and rowid < ? order by rowid' % (table, table), (expression, end))
        ids = [row[0] for row in rows]
        if not ids:
            return ids
        # Documents outside every known range belong to files that went or were read anew.
        keep = []
        for first, last, file in self.ranges[shard]:
            low = bisect_left(ids, first)
            high = bisect_left(ids, last, low)
            if high > low:
                if options.sessions is not None and self.session_of[file] not in options.sessions:
                    continue
                keep.extend(ids[low:high])
        return keep

    def _filter(self, options, table):
        where, values = '', []
        kinds = options.kinds
        if table == 'tools' and kinds is None and not options.injected:
            where += ' and d.kind < ?'
            values.append(schema.INJECTED_DOC)
        if kinds is not None:
            where += ' and d.kind in (%s)' % ','.join('%d' % k for k in sorted(kinds))
        if options.since is not None:
            where += ' and d.time >= ?'
            values.append(options.since)
        if options.until is not None:
            where += ' and d.time < ?'
            values.append(options.until)
        if options.hide:
            for file, line in options.hide.items():
                where += ' and not (d.file = ? and d.line >= ?)'
                values.extend((file, line))
        return where, values

    def _verified(self, docs, alternatives, strict):
        """Keep documents that hold a term as it was typed; where none does, those whose tokens stand next to each other."""
        patterns = [matching.pattern(t) for t in alternatives]
        literals = [t.literal for t in alternatives if t.literal]
        exact, near = set(), set()
        todo = sorted(docs, key=lambda d: -d[1])
        for shard, number in todo[:_VERIFY]:
            row = self._doc(shard, number)
            text = self.texts.text(row[0], row[2], row[3], row[4])
            low = matching.folded(text)
            if any(p.search(low) for p in patterns):
                near.add((shard, number))
                if literals and any(matching.holds_literal(text, one) for one in literals):
                    exact.add((shard, number))
        if strict and exact:
            return exact
        if near:
            return near
        return set(todo[_VERIFY:]) if len(todo) > _VERIFY else set()

    def _doc(self, shard, number):
        return self.shards[shard][1].execute(
            'select file, line, offset, length, part, kind, time, ident from docs where id = ?', (number,)).fetchone()

    def _file(self, shard, number):
        ranges = self.ranges[shard]
        at = bisect_left(ranges, (number + 1,)) - 1
        return ranges[at][2]

    def _sessions(self, docs, options):
        """-> set of session ids that hold any of the documents."""
        out = set()
        by_shard = {}
        for shard, number in docs:
            by_shard.setdefault(shard, []).append(number)
        for shard, numbers in by_shard.items():
            numbers.sort()
            for first, last, file in self.ranges[shard]:
                low = bisect_left(numbers, first)
                if low < len(numbers) and numbers[low] < last:
                    out.add(self.session_of[file])
        return out

    # ranking

    def _rank(self, query, found, answering, full, sessions, options, partial):
        counts = {}
        total = float(sum(end for _, _, end in self.shards)) or 1.0
        import math
        for docs in found:
            weight = math.log(1.0 + total / (1.0 + len(docs)))
            for doc in docs:
                counts[doc] = counts.get(doc, 0.0) + weight
        if not counts:
            return []
        scored = self._scores(query, counts, options)
        rows = []
        for (shard, number), score in scored:
            file = self._file(shard, number)
            session = self.session_of[file]
            if session in answering:
                rows.append((score, shard, number, file, session))
        if options.recent:
            rows = [(self._doc(s, n)[6] or 0, s, n, f, session) for _, s, n, f, session in rows]
        rows.sort(key=lambda r: (-r[0], r[1], r[2]))
        hits, per, seen, places = [], {}, {}, {}
        for score, shard, number, file, session in rows:
            if options.per_session and per.get(session, 0) >= options.per_session:
                continue
            row = self._doc(shard, number)
            if row is None:
                continue
            same = (row[7], row[5] , row[4])
            if same in seen:
                # The same message in another file: a fork, a resume or a copy.
                at = seen[same]
                if hits[at].session != session and session not in hits[at].copies:
                    hits[at] = hits[at]._replace(copies=hits[at].copies + (session,))
                if not options.per_session and hits[at].session != session and options.limit == 0:
                    pass
                continue
            if options.limit and len(hits) >= options.limit:
                break
            hit = Hit(row[0], session, row[1], row[2], row[3], row[4], row[5], row[6], score,
                      self._missing(query, found, sessions, session, (shard, number)), ())
            if options.accept is not None and not options.accept(hit):
                continue
            per[session] = per.get(session, 0) + 1
            seen[same] = len(hits)
            hits.append(hit)
        return hits

    def _missing(self, query, found, sessions, session, doc):
        out = []
        for alternatives, docs, having in zip(query.terms, found, sessions):
            if query.question and doc not in docs or not query.question and session not in having:
                out.append(' OR '.join(t.text for t in alternatives))
        return tuple(out)

    def _scores(self, query, counts, options):
        """-> list of ((shard, document), score): bm25 in the prose table, the weight of the terms held elsewhere."""
        expression = ' OR '.join(alternatives_expression(a) for a in query.terms)
        ranks = {}
        for i, (number, db, end) in enumerate(self.shards):
            limit = -1 if not options.limit else _CANDIDATES
            mine = [d for s, d in counts if s == i]
            if not mine:
                continue
            for doc, rank in db.execute('select rowid, rank from prose where prose match ? and rowid < ? order by rank limit ?',
                                        (expression, end, limit)):
                if (i, doc) in counts:
                    ranks[i, doc] = -rank
        out = []
        for doc, weight in counts.items():
            rank = ranks.get(doc)
            out.append((doc, weight * 0.02 if rank is None else weight + rank))
        return out

    # filters that need more than a document's row

    def still_in_context(self, sid):
        """-> {file id: line}: what the asking session still has in its context (behind its last compaction)."""
        out = {}
        for file, shard in self.db.execute(
                "select f.id, f.shard from files f join sessions s on s.id = f.session where s.sid = ? and f.role = 'main'", (sid,)):
            line = 0
            for number, db, end in self.shards:
                if number == shard:
                    row = db.execute('select max(line) from docs where file = ? and kind = ? and id < ?',
                                     (file, schema.RECAP_DOC, end)).fetchone()
                    line = row[0] or 0
            out[file] = line
        return out

    def sessions_naming(self, path):
        """-> ids of sessions that have a tool call whose input names this file."""
        from .query import _term
        term = _term(path, True)
        if term is None:
            return set()
        options = Options(None, {schema.CALL_DOC}, None, None, True, False, 0, 0, False, {}, None)
        return self._sessions(self._documents((term,), ['tools'], options), options)

    def uses_tool(self, name):
        """-> a test of Hits: is it a call, or a result of a call, of this tool?"""
        from .ingest import key_of
        wanted = name.lower()

        def accept(hit):
            event = self.texts.event(hit.file, hit.offset, hit.length, hit.part)
            if event is None:
                return False
            if hit.kind == schema.CALL_DOC:
                return event.label.lower() == wanted
            call = getattr(event.data, 'call_id', None)
            row = self.db.execute('select n.name from facts f join names n on n.id = f.name where f.key = ? and f.file = ?',
                                  (key_of('t%s' % call), hit.file)).fetchone()
            return row is not None and row[0].lower() == wanted
        return accept


def merge_answers(answers, limit, per_session):
    """-> one Answer of several wordings: a hit counts by its best place, sessions found by several rise."""
    places, hits = {}, {}
    for answer in answers:
        for place, hit in enumerate(answer.hits):
            key = (hit.file, hit.offset, hit.part)
            places[key] = places.get(key, 0.0) + 1.0 / (10 + place)
            hits.setdefault(key, hit)
    ordered = sorted(hits, key=lambda k: (-places[k], k))
    out, per = [], {}
    for key in ordered:
        hit = hits[key]
        if per_session and per.get(hit.session, 0) >= per_session:
            continue
        per[hit.session] = per.get(hit.session, 0) + 1
        out.append(hit._replace(missing=()))
        if limit and len(out) >= limit:
            break
    full = [a for a in answers if not a.partial and a.hits]
    total = len(set(h.session for h in hits.values())) if not limit else max([a.total for a in answers] or [0])
    return Answer(out, total, not full and any(a.partial for a in answers), [n for a in answers for n in a.notes])
