"""Search over the shards: which sessions hold every term, which of their messages to show, best first.

Messages are indexed, sessions are answered. Filters are part of the selection: a document that does not fit them is
never a candidate. A message that lies in several files (fork, resume, copy) is one hit, the oldest file's.
"""
from math import log

from ..base.shapes import shape
from . import matching, schema
from .placement import pieces_in
from .query import alternatives_expression
from .selection import FEW, PROSE, TOOLS, Hit, Options, Selection, holds

# Weight of a document's kind: words that a person or the model said come first.
WEIGHTS = {schema.TITLE: 1.25, schema.PROMPT_DOC: 1.1, schema.REPLY_DOC: 1.0, schema.THINKING_DOC: 0.7,
            schema.RECAP_DOC: 0.5, schema.ATTACHED_DOC: 0.4, schema.TASK_DOC: 0.4, schema.ERROR_DOC: 0.4,
            schema.CALL_DOC: 0.4, schema.RESULT_DOC: 0.35, schema.INJECTED_DOC: 0.2}
# Documents whose score is looked at more closely.
_CANDIDATES = 250
# So many of a shard's best are asked for at first.
_BEST = 400
# Gently: a year costs a tenth.
YEAR, AGEING = 31536000000.0, 0.1
# With more terms than this no other words are tried.
_FEW_TERMS = 8
# Prompts of a prompt history that hold only some words of a question, at most.
_FEW_PROMPTS = 3
# Documents of a shard's prose, best first. A score as _scored works it out needs the weight of the words and the newest time.
# The cast rounds to thousandths (round() goes through text).
_BY_SCORE = ('select d.id, (? + cast(0.5 - bm25(prose) * 1000.0 as integer) / 1000.0) * case d.kind %s end'
             ' * (1.0 - %r * case when d.time > 0 then max(0.0, min(1.0, (? - d.time) / %r)) else 0.0 end) from prose join docs d on d.id = prose.rowid where prose match ? and d.id < ? and d.kind < %d order by 2 desc, d.time desc, 1') % (
    ' '.join('when %d then %r' % (kind, WEIGHTS[kind]) for kind in sorted(WEIGHTS) if kind < schema.HISTORY_DOC), AGEING, YEAR, schema.HISTORY_DOC)
_BY_RANK = 'select rowid, -bm25(prose) from prose where prose match ? and rowid < ?%s order by 2 desc, 1'

# total: number of sessions that answer; partial: no session holds every term; notes: what to tell the reader; terms: what
# was looked for in the end (other forms, another spelling, ...); sessions: what `total` counts, where that is known.
Answer = shape('Answer', 'hits total partial notes terms sessions', ((), frozenset()))


def _rows(db, statement, values, few):
    """Yield the rows of a ranking; few: the best first, which spares sorting the others."""
    at = 0
    if few:
        for row in db.execute(statement + ' limit %d' % _BEST, values):
            at += 1
            yield row
        if at < _BEST:
            return
    for row in db.execute(statement + ' limit -1 offset %d' % at, values):
        yield row


def freshness(time, newest):
    """-> the share of a score that is left at the age of a time (ms; what has none counts as new), told from `newest`."""
    return 1.0 - AGEING * max(0.0, min(1.0, (newest - time) / YEAR)) if time and time > 0 else 1.0


def in_order(rows, options):
    """-> [(order, score, shard, document, session)] of rows with a time at the end, best (or newest) first."""
    if options.recent:
        rows.sort(key=lambda r: (r[0][:2], -r[5], r[2], r[3]))
    else:
        rows.sort(key=lambda r: (r[0], -r[1], -r[5], r[2], r[3]))
    return [r[:5] for r in rows]


class Searcher(Selection):
    """One search over an index; see Selection for what it is made of."""

    def __init__(self, db, shards, texts):
        Selection.__init__(self, db, shards, texts)
        # The age of what was said is told from the newest session on.
        self.newest = db.execute('select max(modified) from sessions').fetchone()[0] or 0

    def search(self, query, options):
        """-> Answer of a Query under Options; where nothing holds it as typed, the next best way is tried, and said."""
        if not query.terms:
            return Answer([], 0, False, ['nothing in this query can be searched'])
        answer = self._best(query, options)
        if self.history and options.sessions is None and (options.kinds is None or schema.PROMPT_DOC in options.kinds):
            answer = self._with_history(query, options, answer)
        return answer

    def _with_history(self, query, options, answer):
        """-> the answer with prompts of sessions whose transcript is gone, from the agents' own prompt histories."""
        found, whole = self._in_history(query, ' AND ', options), True
        if not found and query.question and (not options.limit or len(answer.hits) < options.limit):
            found, whole = self._in_history(query, ' OR ', options)[:_FEW_PROMPTS], False
        if not found:
            return answer
        if answer.partial and whole:
            # Whole matches, though of sessions that are gone, say more than parts.
            answer = Answer([], 0, False, [])
        room = options.limit - len(answer.hits) if options.limit else len(found)
        gone = set(('gone', ident) for _, ident in found)
        return Answer(answer.hits + [hit for hit, _ in found[:max(0, room)]], answer.total + len(gone),
                      not whole and (answer.partial or not answer.hits),
                      answer.notes + ['%d prompt%s of sessions whose transcript is gone, from the prompt history' % (
                          len(found), '' if len(found) == 1 else 's')], answer.terms, answer.sessions | gone)

    def _in_history(self, query, glue, options):
        """-> list of (Hit, ident) of prompts of unknown sessions: newest first, where parts will do (' OR ') best first."""
        from zlib import crc32
        found, known = [], None
        expression = glue.join(alternatives_expression(a) for a in query.terms)
        if query.without:
            expression = '(%s) NOT %s' % (expression, alternatives_expression(query.without))
        where, values = self.filter(PROSE, options._replace(kinds={schema.HISTORY_DOC}))
        places = dict((number, i) for i, (number, _, _) in enumerate(self.shards))
        for number, (first, last) in self.remembered:
            shard = places[number]
            # The numbers of a history's documents, said to the full-text table, spare it all others.
            ask = ('select %%s from prose join docs d on d.id = prose.rowid where prose match ? and prose.rowid >= %d'
                   ' and prose.rowid < %d%s' % (first, last, where))
            # In one text, since a row each costs more than the search; mostly all are of sessions that are there.
            idents = self.shards[shard][1].execute(ask % 'group_concat(d.ident)', [expression] + values).fetchone()[0]
            if not idents:
                continue
            if known is None:
                text = self.db.execute('select group_concat(sid, ?) from sessions where readable = 1', ('\0',)).fetchone()[0] or ''
                known = set(map(crc32, text.encode('utf-8', 'replace').split(b'\0')))
            if known.issuperset(map(int, idents.split(','))):
                continue
            for doc, ident, rank in self.shards[shard][1].execute(ask % ('d.id, d.ident, %s' % ('0' if glue == ' AND ' else 'rank')),
                                                                  [expression] + values).fetchall():
                if ident not in known:
                    row = self.doc(shard, doc)
                    found.append((Hit(row[0], None, row[1], row[2], row[3], row[4], row[5], row[6], -rank, (), ()), ident))
        return sorted(found, key=lambda f: (-f[0].score, -(f[0].time or 0), f[0].file, f[0].line))

    def _best(self, query, options):
        answer = self._search(query, options)
        if query.question or answer.hits and not answer.partial:
            return answer
        wide = options._replace(tools=True)
        narrow = not (options.tools or options.injected or options.kinds is not None)
        if narrow:
            wider = self._search(query, wide)
            if wider.hits and not wider.partial:
                return wider._replace(notes=wider.notes + [
                    'found only in tool input and output' if not answer.hits else
                    'all words together were found only with tool input and output'])
        if len(query.terms) > _FEW_TERMS:
            return answer
        from .widening import other_words
        for changed, note in other_words(self, query, wide if narrow else options):
            other = self._search(changed, options)
            if other.hits and (changed.question or not other.partial):
                return other._replace(notes=other.notes + [note])
        return answer

    def _search(self, query, options):
        tables = [PROSE] + ([TOOLS] if options.tools or options.injected else [])
        if options.kinds is not None:
            tables = [t for t in (PROSE, TOOLS) if any((k < schema.TOOL_KINDS) == (t == PROSE) for k in options.kinds)]
        self.notes = []
        if query.question:
            from . import question
            return question.answer(self, query, tables, options)
        found = [self.documents(alternatives, tables, options, True) for alternatives in query.terms]
        self.without(query, found, tables, options)
        sessions = [self.sessions(docs) for docs in found]
        union = set().union(*sessions)
        full = set(sessions[0]).intersection(*sessions[1:])
        partial = not full and bool(union) and len(query.terms) > 1
        answering = union if partial else full
        best = answering
        if partial:
            held = dict((s, sum(1 for one in sessions if s in one)) for s in union)
            best = set(s for s in union if held[s] == max(held.values()))
        everywhere = float(sum(end for _, _, end in self.shards)) or 1.0
        weights = [log(1.0 + everywhere / (1.0 + sum(len(ids) for ids in docs.values()))) for docs in found]
        scores, ranks = self.best_of(query, found, weights, options, best, answering)
        chosen = self.shortlist(found, set(scores).union(ranks), options, answering)
        copies = self.copies(found, chosen)
        answering -= self._only_copies(found, copies, answering)
        rows = self._scored(found, weights, scores, ranks, chosen - set(copies), answering, sessions, options, partial)
        hits = self.rank(query, rows, sessions, copies, options)
        return Answer(hits, len(answering), partial, self.notes, query.terms, frozenset(answering))

    # in which order

    def best_of(self, query, found, weights, options, best, answering):
        """-> ({(shard, id): score}, {(shard, id): bm25}) of the best documents of the prose table (all of them without a limit).

        weights: what a document gets for holding each term, None for a question; best: of the answering sessions those that
        come first.
        """
        parts = [alternatives_expression(a) for a in query.terms]
        # What holds every word comes first, so that is often enough.
        rounds = [(' OR ', best)] + ([(' OR ', answering)] if len(best) < len(answering) else [])
        if best and not query.question and len(parts) > 1 and len(best) == len(answering):
            rounds.insert(0, (' AND ', best))
        scores, ranks = {}, {}
        flat = weights is not None and len(parts) == 1 and self._is_flat(query.terms[0], found[0])
        for glue, sessions in rounds:
            # Only of documents that hold the same words the score is known beforehand.
            weight = sum(weights) if weights is not None and (glue == ' AND ' or len(parts) == 1) else None
            into, need = ranks if weight is None else scores, all if glue == ' AND ' else any
            for shard, (number, db, end) in enumerate(self.shards):
                lists = [docs[PROSE, shard] for docs in found if (PROSE, shard) in docs]
                if lists and (need is any or len(lists) == len(parts)):
                    if weight is None:
                        rows = _rows(db, _BY_RANK % self._beside_history(number), (glue.join(parts), end), options.limit)
                    elif flat:
                        from .flat import by_kind_and_time
                        rows = by_kind_and_time(db, end, weight, self.newest, options.kinds)
                    else:
                        rows = _rows(db, _BY_SCORE, (weight, self.newest, glue.join(parts), end), options.limit)
                    self._take(into, shard, rows, lists, need, sessions, options)
            if options.limit and len(set(self.session(*d) for d in into)) >= options.limit:
                break
        return scores, ranks

    def _is_flat(self, alternatives, docs):
        """True for a word that half of the prose holds: bm25 then gives next to nothing for it."""
        held = sum(len(ids) for (table, _), ids in docs.items() if table == PROSE)
        if held <= FEW or len(alternatives) > 1 or alternatives[0].other:
            return False
        prose = sum(db.execute('select count(*) from prose_docsize').fetchone()[0] for _, db, _ in self.shards)
        return 2 * held >= prose - sum(end - first for _, (first, end) in self.remembered)

    def _beside_history(self, number):
        """-> the condition that leaves out documents of prompt histories, which have no place among the others."""
        return ''.join(' and not (rowid >= %d and rowid < %d)' % piece for shard, piece in self.remembered if shard == number)

    def _take(self, into, shard, ranked, lists, need, sessions, options):
        """Keep the first _CANDIDATES of a ranking that were selected, and so many more that several times the hits asked for
        can be made of them: one session that speaks of nothing else must not hide the others."""
        most, per, taken, usable = options.per_session or options.limit, {}, 0, 0
        for doc, value in ranked:
            if not need(holds(ids, doc) for ids in lists):
                continue
            session = self.session(shard, doc)
            if session not in sessions:
                continue
            into.setdefault((shard, doc), value)
            if options.limit and session not in options.behind:
                taken += 1
                per[session] = per.get(session, 0) + 1
                usable += per[session] <= most
                if taken >= _CANDIDATES and usable >= min(3 * options.limit, most * len(sessions)):
                    break

    def shortlist(self, found, chosen, options, answering):
        """-> set of (shard, id) worth an exact score: the best by bm25, and of the other table what holds most terms."""
        if not options.limit or options.recent:
            return set((shard, n) for docs in found for (_, shard), ids in docs.items() for n in ids)
        chosen = set(chosen)
        for shard in range(len(self.shards)):
            lists = [docs.get((TOOLS, shard), ()) for docs in found]
            if any(lists):
                chosen.update((shard, n) for n in self._of_files(shard, lists, options, answering))
        return chosen

    def _of_files(self, shard, lists, options, answering):
        """-> set of ids: what holds all terms and, where that is much, or too little, the last documents of each file (of the
        newest files, where there are many) that do, or hold any."""
        whole = set(lists[0]).intersection(*lists[1:])
        out = whole if len(whole) <= 4 * _CANDIDATES else set()
        files, most = {}, 3 * (options.per_session or options.limit)
        for i, ids in enumerate(lists):
            for file, _, low, high in pieces_in(self.placement.spread(shard, ids), 'sessions', answering):
                files.setdefault(file, {}).setdefault(i, []).extend(ids[low:high])
        names = list(files)
        if len(names) * most > 4 * _CANDIDATES:
            last = dict(self.db.execute('select id, last from files'))
            names.sort(key=lambda f: (-len(files[f]), -(last.get(f) or 0), f))
        for file in names[:max(2 * options.limit, 4 * _CANDIDATES // most)]:
            parts = files[file]
            good = [n for n in parts[0] if n in whole][-most:] if 0 in parts else []
            out.update(good)
            if len(good) < most:
                out.update(n for inside in parts.values() for n in inside[-most:])
        return out

    def _scored(self, found, weights, scores, ranks, chosen, answering, sessions, options, partial):
        """-> sorted list of (order, score, shard, document, session)."""
        depth = dict((s, sum(1 for one in sessions if s in one)) for s in answering) if partial else {}
        self.load(chosen)
        rows = []
        for place in chosen:
            shard, number = place
            session = self.session(shard, number)
            if session not in answering:
                continue
            doc = self.doc(shard, number)
            score = scores.get(place)
            # A message that holds every word comes before sessions that hold them here and there.
            apart = False
            if score is None or doc is None:
                held = [w for w, docs in zip(weights, found) if any(holds(docs.get((t, shard), ()), number) for t in (PROSE, TOOLS))]
                apart = len(held) < len(found) or doc is None or doc[5] >= schema.TOOL_KINDS
                score, rank = sum(held), ranks.get(place)
                score = score * 0.1 if rank is None else score + rank
                if doc is not None:
                    score *= WEIGHTS.get(doc[5], 0.3)
                    score *= freshness(doc[6], self.newest)
            rows.append(((session in options.behind, -depth.get(session, 0), apart), score, shard, number, session, doc[6] or 0 if doc else 0))
        return in_order(rows, options)

    def rank(self, query, rows, sessions, copies, options):
        """-> list of Hits from sorted rows, best first."""
        whole = {}
        for doc, oldest in copies.items():
            whole.setdefault(oldest, set()).add(self.session(*doc))
        hits, per, shown = [], {}, set()
        for _, score, shard, number, session in rows:
            if options.per_session and per.get(session, 0) >= options.per_session:
                continue
            row = self.doc(shard, number)
            # A block of records may stand in a file twice; of the titles a session had one is enough.
            same = (session, 0 if row[5] == schema.TITLE else row[7], row[5], row[4]) if row is not None else None
            if same is None or same in shown:
                continue
            shown.add(same)
            if query.question:
                low = matching.folded(self.text(shard, number))
                missing = tuple(alternatives[0].text for alternatives in query.terms
                                if not any(matching.Matcher(one).find(low) for one in alternatives))
            else:
                missing = tuple(' OR '.join(t.text for t in alternatives)
                                for alternatives, having in zip(query.terms, sessions) if session not in having)
            hit = Hit(row[0], session, row[1], row[2], row[3], row[4], row[5], row[6], score, missing,
                      tuple(sorted(whole.get((shard, number), set()) - {session})))
            hits.append(hit)
            per[session] = per.get(session, 0) + 1
            if options.limit and len(hits) >= options.limit:
                break
        return hits

    # filters that need more than a document's row

    def still_in_context(self, sid):
        """-> {file id: line}: what the asking session still has in its context (behind its last compaction)."""
        out, shards = {}, dict((number, (db, end)) for number, db, end in self.shards)
        for file, in self.db.execute("select f.id from files f join sessions s on s.id = f.session where s.sid = ? and f.role = 'main'", (sid,)):
            out[file] = 0
            shard, pieces = self.placement.of_file(file)
            for first, end in reversed(pieces if shard in shards else ()):
                db, counted = shards[shard]
                row = db.execute('select line from docs where id >= ? and id < ? and kind = %d order by id desc limit 1' % schema.RECAP_DOC,
                                 (first, min(end, counted))).fetchone()
                if row is not None:
                    out[file] = row[0]
                    break
        return out

    def sessions_naming(self, path):
        """-> ids of sessions that have a tool call whose input names this file."""
        from .query import _term
        term = _term(path, True)
        if term is None:
            return set()
        options = Options(None, {schema.CALL_DOC}, None, None, True, False, 0, 0, False, {}, None, frozenset())
        return self.sessions(self.documents((term,), [TOOLS], options, True))

    def uses_tool(self, name):
        """-> a test of Hits: is it a call, or a result of a call, of this tool?"""
        from ..base.identity import key_of
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


def searcher_of(view):
    """-> what searches an opened View: its shards, or the files where there are none."""
    from .texts import Texts
    if view.shards or not view.db.execute('select 1 from files limit 1').fetchone():
        return Searcher(view.db, view.shards, Texts(view.db))
    from .scan import Scanner
    return Scanner(view.db, Texts(view.db))


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
    sessions = frozenset(h.session for h in hits.values()).union(*[a.sessions for a in answers])
    return Answer(out, len(sessions - {None}), not full and any(a.partial for a in answers),
                  list(dict.fromkeys(n for a in answers for n in a.notes)), [t for a in answers for t in a.terms], sessions)
