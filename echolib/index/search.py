"""Search over the shards: which sessions hold every term, which of their messages to show, best first.

Messages are indexed, sessions are answered. Filters are part of the selection: a document that does not fit them is
never a candidate. A message that lies in several files (fork, resume, copy) is one hit, the oldest file's.
"""
from bisect import bisect_left
from math import log

from ..base.fold import is_ascii, tokens
from ..base.shapes import shape
from . import matching, placement, schema
from .placement import Placement, pieces_in
from .catalog import between
from .seniority import age
from .query import alternatives_expression, as_question, with_forms

# Weight of a document's kind: words that a person or the model said come first.
_WEIGHTS = {schema.TITLE: 1.25, schema.PROMPT_DOC: 1.1, schema.REPLY_DOC: 1.0, schema.THINKING_DOC: 0.7,
            schema.RECAP_DOC: 0.5, schema.ATTACHED_DOC: 0.4, schema.TASK_DOC: 0.4, schema.ERROR_DOC: 0.4,
            schema.CALL_DOC: 0.4, schema.RESULT_DOC: 0.35, schema.INJECTED_DOC: 0.2}
# Documents whose score is looked at more closely.
_CANDIDATES = 250
# So many of a shard's best are asked for at first.
_BEST = 400
# Gently: a year costs a tenth.
_YEAR, _AGEING = 31536000000.0, 0.1
# Documents among which the best for a question are chosen.
_ENOUGH = 2000
# With more terms than this no other words are tried.
_FEW_TERMS = 8
# Documents of a list that are checked at a time, and all of which are.
_FEW = 300
# All of a file's documents are compared with its copies' where it holds at most this many.
_FEW_IN_FILE = 40
# Prompts of a prompt history that hold only some words of a question, at most.
_FEW_PROMPTS = 3
# Documents whose text is reread to check what tokens cannot say.
_VERIFY = 3000
PROSE, TOOLS = 'prose', 'tools'
# Documents of a shard's prose, best first. A score as _scored works it out needs the weight of the words and the newest time.
_SCORE = '(? %%s) * case d.kind %s else 0.3 end * (1.0 - %r * case when d.time > 0 then max(0.0, min(1.0, (? - d.time) / %r)) else 0.0 end)' % (
    ' '.join('when %d then %r' % (kind, _WEIGHTS[kind]) for kind in sorted(_WEIGHTS) if kind < schema.TOOL_KINDS), _AGEING, _YEAR)
_RANKING = 'select d.id, %s from prose join docs d on d.id = prose.rowid where prose match ? and d.id < ? order by 2 desc, d.time desc, 1'
_BY_SCORE = _RANKING % _SCORE % '- round(bm25(prose), 3)'
# Where half of all documents hold a word, bm25 tells nothing apart.
_FLAT = _RANKING % _SCORE % ''
_BY_RANK = 'select rowid, -bm25(prose) from prose where prose match ? and rowid < ? order by 2 desc, 1'

# What may be found. sessions: set of session row ids or None for all; kinds: set of document kinds or None for those
# of the chosen tables; since, until: ms bounds or None; tools: tool output and the like too; injected: everything;
# per_session, limit: 0 for all; recent: newest first; hide: {file id: line}, only lines before it may be shown;
# accept: a test of Hits, or None; behind: sessions that come last whatever their score.
Options = shape('Options', 'sessions kinds since until tools injected per_session limit recent hide accept behind')

# One answer line. score: larger is better; missing: texts of the terms its session lacks (None: told from the text);
# copies: session row ids that hold the same message.
Hit = shape('Hit', 'file session line offset length part kind time score missing copies')

# total: number of sessions that answer; partial: no session holds every term; notes: what to tell the reader; terms: what
# was looked for in the end (other forms, another spelling, ...); sessions: what `total` counts, where that is known.
Answer = shape('Answer', 'hits total partial notes terms sessions', ((), frozenset()))


def _holds(ids, number):
    """True when a sorted list holds a number."""
    at = bisect_left(ids, number)
    return at < len(ids) and ids[at] == number


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


def _is_flat(db, alternatives, held):
    """True for a word that half of a shard's prose holds: bm25 then gives nothing for it."""
    return len(alternatives) == 1 and not alternatives[0].other and 2 * held >= db.execute('select count(*) from prose_docsize').fetchone()[0]


def _rows_of(db, ask, ids):
    """Yield the rows of a statement that takes a list of ids, however many there are."""
    ids = sorted(ids)
    for at in range(0, len(ids), 500):
        for row in db.execute(ask % ','.join('%d' % one for one in ids[at:at + 500])):
            yield row


def _by_rarity(found, options):
    """-> (places of the terms by which the best are chosen, places of the others).

    The rarest that are held by enough documents: what holds none of them hardly ever comes first, and ranking all that holds
    a common word is the dearest part of a search.
    """
    counts = [sum(len(ids) for ids in docs.values()) for docs in found]
    order = sorted(range(len(found)), key=lambda i: (counts[i], i))
    total, enough = 0, len(order)
    for place, i in enumerate(order):
        total += counts[i]
        if options.limit and total >= _ENOUGH:
            enough = place + 1
            break
    return order[:enough], order[enough:]


def _in_order(rows, options):
    """-> [(order, score, shard, document, session)] of rows with a time at the end, best (or newest) first."""
    if options.recent:
        rows.sort(key=lambda r: (r[0][:2], -r[5], r[2], r[3]))
    else:
        rows.sort(key=lambda r: (r[0], -r[1], -r[5], r[2], r[3]))
    return [r[:5] for r in rows]


class Searcher(object):
    """One search over an index.

    db: connection to index.db.  shards: list of (id, connection, docs_end).  texts: a Texts over the same index.
    """

    def __init__(self, db, shards, texts):
        self.db, self.shards, self.texts = db, shards, texts
        self.placement = Placement(db, shards)
        self._rows, self._passed = {}, {}
        self.rivals = set(row[0] for row in db.execute('select distinct file from rivals'))
        self.copied = set(row[0] for row in db.execute('select id from sessions where copy_of is not null'))
        self.history = set(row[0] for row in db.execute("select id from files where role = 'history'"))
        # The age of what was said is told from the newest session on.
        self.newest = db.execute('select max(modified) from sessions').fetchone()[0] or 0
        self.notes = []

    def session_of(self, file):
        """-> session row id of a file."""
        return self.placement.session_of(file)

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
        known, found = None, []
        expression = glue.join(alternatives_expression(a) for a in query.terms)
        if query.without:
            expression = '(%s) NOT %s' % (expression, alternatives_expression(query.without))
        where, values = self._filter(PROSE, options._replace(kinds={schema.HISTORY_DOC}, hide={}))
        places = dict((number, i) for i, (number, _, _) in enumerate(self.shards))
        for number, ranges in self.db.execute("select shard, ranges from files where role = 'history' and ranges != ''"):
            shard = places[number]
            db = self.shards[shard][1]
            for piece in ranges.split(','):
                first, _, last = piece.partition('-')
                # The numbers of a history's documents, said to the full-text table, spare it all others.
                rows = db.execute('select d.id, d.ident, %s from prose join docs d on d.id = prose.rowid where prose match ? and prose.rowid >= ?'
                                  ' and prose.rowid < ?%s' % ('0' if glue == ' AND ' else 'rank', where), [expression, int(first), int(last)] + values)
                for doc, ident, rank in rows.fetchall():
                    if known is None:
                        # In one text, since a row each costs more.
                        text = self.db.execute('select group_concat(sid, ?) from sessions where readable = 1', ('\0',)).fetchone()[0] or ''
                        known = set(map(crc32, text.encode('utf-8', 'replace').split(b'\0')))
                    if ident not in known:
                        row = self._doc(shard, doc)
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
        for changed, note in self._other_words(query, wide if narrow else options) if len(query.terms) <= _FEW_TERMS else ():
            other = self._search(changed, options)
            if other.hits and (changed.question or not other.partial):
                return other._replace(notes=other.notes + [note])
        return answer

    def _other_words(self, query, options):
        """Yield (changed query, what to say) for a query that nothing holds as typed: other forms of its words, a spelling
        that the index knows, longer words that hold it, and the characters of an unspaced script apart."""
        from . import vocabulary
        forms = query._replace(terms=[tuple(with_forms(t) for t in alternatives) for alternatives in query.terms])
        if forms.terms != query.terms:
            yield forms, 'with other forms of these words'
        unknown = [i for i, alternatives in enumerate(query.terms)
                   if len(alternatives) == 1 and len(alternatives[0].words) == 1 and not alternatives[0].quoted
                   and not any(self._documents(alternatives, [PROSE, TOOLS], options, False).values())]
        if len(unknown) == 1:
            term = query.terms[unknown[0]][0]
            better = vocabulary.correct(self.shards, term.words[0])
            if better:
                terms = list(query.terms)
                terms[unknown[0]] = (term._replace(text=better, words=(better,), other=(), literal=''),)
                yield query._replace(terms=terms), 'nothing holds %s; showing results for %s' % (term.text, better)
        bare = [t[0].words[0] for t in query.terms if len(t) == 1 and not (t[0].quoted or t[0].prefix) and len(t[0].words) == 1]
        whole = ''.join(bare) if 1 < len(bare) == len(query.terms) else ''
        joined = [tuple(t._replace(other=t.other + ((whole or ''.join(t.words),),))
                        if (whole or len(t.words) > 1) and is_ascii(whole or ''.join(t.words)) else t
                        for t in alternatives) for alternatives in query.terms]
        if joined != query.terms:
            yield query._replace(terms=joined), 'found written as one word'
        inside, changed = [], False
        for i, alternatives in enumerate(query.terms):
            term = alternatives[0]
            if len(alternatives) == 1 and not term.quoted and (i in unknown or len(term.words) > 1):
                longer = vocabulary.containing(self.shards, term.words, self._words_from)
                if longer:
                    changed = True
                    inside.append(tuple(term._replace(words=words, other=(), literal='') for words in longer))
                    continue
            inside.append(alternatives)
        if changed:
            yield query._replace(terms=inside), 'found inside longer words'
        apart = as_question(query)
        if apart.terms != query.terms and any(len(t[0].words) > 2 for t in query.terms):
            yield apart, 'no place holds this text as it is; the nearest'

    def _words_from(self, shard, first):
        """-> words of a shard's documents from a number on."""
        number, db, end = self.shards[shard]
        out = set()
        for doc, in db.execute('select id from docs where id >= ? and id < ?', (first, end)).fetchall():
            out.update(tokens(self._text(shard, doc)))
        return out

    def _search(self, query, options):
        tables = [PROSE] + ([TOOLS] if options.tools or options.injected else [])
        if options.kinds is not None:
            tables = [t for t in (PROSE, TOOLS) if any((k < schema.TOOL_KINDS) == (t == PROSE) for k in options.kinds)]
        self.notes = []
        if query.question:
            return self._answer_question(query, tables, options)
        found = [self._documents(alternatives, tables, options, True) for alternatives in query.terms]
        self._without(query, found, tables, options)
        sessions = [self._sessions(docs) for docs in found]
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
        scores, ranks = self._best_of(query, found, weights, options, best, answering)
        chosen = self._shortlist(found, set(scores).union(ranks), options, answering)
        copies = self._copies(found, chosen)
        answering -= self._only_copies(found, copies, answering)
        rows = self._scored(found, weights, scores, ranks, chosen - set(copies), answering, sessions, options, partial)
        hits = self._rank(query, rows, sessions, copies, options)
        return Answer(hits, len(answering), partial, self.notes, query.terms, frozenset(answering))

    def _without(self, query, found, tables, options):
        """Take documents that hold an excluded term out of every term's documents; -> {(table, shard): set of them}."""
        barred = {}
        for term in query.without:
            for place, ids in self._documents((term,), tables, options, True).items():
                barred.setdefault(place, set()).update(ids)
        for docs in found if barred else ():
            for place in docs:
                docs[place] = [d for d in docs[place] if d not in barred.get(place, ())]
        return barred

    def _answer_question(self, query, tables, options):
        """-> Answer: messages ranked by how much of the question they hold (see ranking)."""
        from . import ranking
        found = [self._documents(alternatives, tables, options, False) for alternatives in query.terms]
        barred = self._without(query, found, tables, options)
        lists, holding = [], []
        for docs in found:
            one = {}
            for (table, shard), ids in docs.items():
                one[shard] = sorted(one.get(shard, []) + ids) if shard in one else ids
            lists.append(one)
            holding.append(self._sessions(docs))
        answering = set().union(*holding)
        if not answering and not query.dates:
            return Answer([], 0, False, self.notes)
        totals = [ranking.mean_length(db) for _, db, _ in self.shards]
        documents = sum(n for n, _ in totals) or 1
        mean = sum(n * m for n, m in totals) / float(documents)
        many, messages = self.db.execute('select count(*), sum(max(ifnull(msg_count, 0), 1)) from sessions where readable = 1').fetchone()
        question = ranking.Question(query.terms, lists, documents, mean, [len(one) for one in holding], many)
        rare, common = _by_rarity(found, options)
        rarest = query._replace(terms=[query.terms[i] for i in rare])
        _, ranks = self._best_of(rarest, [found[i] for i in rare], None, options, answering, answering)
        for shard, number in ranks if common else ():
            ranks[shard, number] += sum(question.idf[i] for i in common if _holds(lists[i].get(shard, ()), number))
        chosen = self._shortlist(found, ranks, options, answering)
        copies = self._copies(found, chosen)
        chosen -= set(copies)
        days = set(d for d in self._on_days(query.dates, options) if d[1] not in barred.get((PROSE, d[0]), ())) if query.dates else set()
        chosen |= days
        answering |= self._sessions({(PROSE, shard): sorted(n for s, n in days if s == shard) for shard in range(len(self.shards))})
        shares = self._shares(question, found, set(self._session(*d) for d in chosen), (messages or 0) / float(many or 1))
        first = sorted(chosen, key=lambda d: (-ranks.get(d, 0.0) - shares.get(self._session(*d), 0.0), -question.score_unread(*d), d))
        read = sorted(days.union(first[:ranking.READ])) if options.limit else first
        self._load(read)
        scores = dict((doc, question.score_text(self._text(*doc))) for doc in read)
        rows = []
        for doc in read:
            shard, number = doc
            row = self._doc(shard, number)
            if row is None:
                continue
            own = scores[doc]
            if row[5] < schema.TOOL_KINDS:
                near, far = ranking.neighbours(self.shards[shard][1], row[0], number)
                own += ranking.NEXT * sum(self._score_of(question, scores, shard, n) for n in near)
                own += ranking.AFTER_NEXT * sum(self._score_of(question, scores, shard, n) for n in far)
            rows.append(self._question_row(query, doc, row, own, question, shares, options))
        hits = [] if options.recent else self._rank(query, _in_order(rows, options), holding, copies, options)
        if options.recent or options.limit and len(hits) < options.limit and len(read) < len(first):
            self._load(first)
            rest = [(doc, self._doc(*doc)) for doc in first if doc not in scores]
            more = [self._question_row(query, doc, row, question.score_unread(*doc), question, shares, options) for doc, row in rest if row is not None]
            # By worth, what was not read comes behind what was.
            rows = _in_order(rows + more, options) if options.recent else _in_order(rows, options) + _in_order(more, options)
            hits = self._rank(query, rows, holding, copies, options)
        partial = not holding[0].intersection(*holding[1:])
        return Answer(hits, len(answering), partial, self.notes, query.terms, frozenset(answering))

    def _shares(self, question, found, wanted, average):
        """-> {session: what its messages get for how much of a question it holds as a whole} of some sessions."""
        from . import ranking
        counts = dict((session, [0] * len(found)) for session in wanted)
        for i, docs in enumerate(found):
            for (_, shard), ids in docs.items():
                for _, session, low, high in pieces_in(self.placement.spread(shard, ids), 'sessions', wanted):
                    counts[session][i] += high - low
        sizes = dict(_rows_of(self.db, 'select id, msg_count from sessions where readable = 1 and id in (%s)', wanted - {None}))
        return dict((session, ranking.SESSION * question.score_session(count, sizes.get(session) or 1, average)) for session, count in counts.items())

    def _question_row(self, query, doc, row, own, question, shares, options):
        """-> (order, score, shard, document, session, time) of a message by its own score."""
        from . import ranking
        session = self.session_of(row[0])
        if query.dates and ranking.on_a_day(row[6], query.dates):
            own += ranking.DAY * question.whole
        return (session in options.behind,), own * _WEIGHTS.get(row[5], 0.3) + shares.get(session, 0.0), doc[0], doc[1], session, row[6] or 0

    def _on_days(self, dates, options):
        """-> documents of prompts and replies of the days a question names, at most READ."""
        from . import ranking
        out = set()
        for shard, (number, db, end) in enumerate(self.shards):
            span = db.execute('select min(time), max(time) from docs where time > 0').fetchone()
            if span[0] is None:
                continue
            where, values = self._filter(PROSE, options)
            for since, until in ranking.spans(dates, span[0], span[1]):
                for doc, file in db.execute(
                        'select d.id, d.file from docs d where d.time >= ? and d.time < ? and d.id < ? and d.kind in (2, 3)%s'
                        ' order by d.time' % where, [since, until, end] + values):
                    if self.session_of(file) is not None and self._allowed(file, options):
                        out.add((shard, doc))
                        if len(out) >= ranking.READ:
                            return out
        return out

    def _score_of(self, question, scores, shard, number):
        found = scores.get((shard, number))
        return question.score_unread(shard, number) if found is None else found

    # which documents

    def _documents(self, alternatives, tables, options, exact):
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
        where, values = self._filter(table, options)
        if where:
            found = db.execute('select group_concat(id) from (select d.id from %s join docs d on d.id = %s.rowid where %s match ? and d.id < ?%s'
                               ' order by d.id)' % (table, table, table, where), [expression, end] + values).fetchone()[0]
        else:
            # In one text, since a row each costs more than the search; FTS5 gives its rows in order.
            found = db.execute('select group_concat(rowid) from %s where %s match ? and rowid < ?' % (table, table), (expression, end)).fetchone()[0]
        if not found:
            return []
        ids = list(map(int, found.split(',')))
        ids = self._allowed_of(shard, ids, options)
        return ids if options.accept is None else self._accepted(shard, ids, options.accept)

    def _allowed_of(self, shard, ids, options):
        """-> those of a sorted list of documents that belong to a file which may be answered."""
        spread = self.placement.spread(shard, ids)
        # History aside, every file of an ordinary search may.
        bad, copied, sessions = self.history, self.copied, options.sessions
        wanted = [file not in bad and session not in copied and (sessions is None or session in sessions)
                  for file, session in zip(spread.files, spread.sessions)]
        ids, spread = placement.chosen(ids, spread, wanted)
        self.placement.keep(ids, spread)
        return ids

    def _accepted(self, shard, ids, accept):
        """-> the documents among `ids` that pass a test of Hits."""
        self._load([(shard, number) for number in ids])
        for number in ids:
            key = (accept, shard, number)
            if key not in self._passed:
                row = self._doc(shard, number)
                self._passed[key] = row is not None and accept(
                    Hit(row[0], self.session_of(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], 0.0, (), ()))
        return [number for number in ids if self._passed[accept, shard, number]]

    def _allowed(self, file, options):
        session = self.session_of(file)
        return file not in self.history and session not in self.copied and (options.sessions is None or session in options.sessions)

    def _filter(self, table, options):
        where = ''
        if options.kinds is not None:
            where += ' and d.kind in (%s)' % ','.join('%d' % k for k in sorted(options.kinds))
        elif table == TOOLS and not options.injected:
            where += ' and d.kind < %d' % schema.INJECTED_DOC
        dated, values = between('d.time', options.since, options.until)
        where += dated
        for file, line in options.hide.items():
            where += ' and not (d.file = ? and d.line >= ?)'
            values.extend((file, line))
        return where, values

    def _verified(self, docs, alternatives, literal, options):
        """Keep what holds a term as it was typed; where nothing does, what holds its tokens next to each other.

        Where very many may, the last ones of each session that can be shown are looked for; of files that share messages with
        others all, since copies are told by them.
        """
        matchers = [matching.Matcher(t) for t in alternatives]
        literals = [t.literal for t in alternatives if t.literal]
        exact, near = {}, {}
        budget, per = _VERIFY, {}
        many = options.limit and options.per_session and sum(len(ids) for ids in docs.values()) > _FEW
        most = 2 * options.per_session if many else _VERIFY
        for place, ids in docs.items():
            shard, at = place[1], len(ids)
            while at and budget:
                some = [(n, self._file(shard, n)) for n in ids[max(0, at - _FEW):at]]
                some = [(n, file, self.session_of(file)) for n, file in some]
                some = [row for row in some if per.get(row[2], 0) < most or row[1] in self.rivals]
                at = max(0, at - _FEW)
                self._load([(shard, n) for n, _, _ in some])
                for number, file, session in reversed(some):
                    if not budget or per.get(session, 0) >= most and file not in self.rivals:
                        continue
                    budget -= 1
                    text = self._text(shard, number)
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

    def _text(self, shard, number):
        row = self._doc(shard, number)
        return self.texts.text(row[0], row[2], row[3], row[4]) if row is not None else ''

    def _doc(self, shard, number):
        """-> (file, line, offset, length, part, kind, time, ident) of a document, None when it is gone."""
        key = (shard, number)
        if key not in self._rows:
            self._load([key])
        return self._rows[key]

    def _load(self, docs):
        """Look up the rows of many documents at once."""
        wanted = {}
        for shard, number in docs:
            if (shard, number) not in self._rows:
                wanted.setdefault(shard, []).append(number)
        for shard, numbers in wanted.items():
            self._rows.update(((shard, number), None) for number in numbers)
            for row in self._columns(shard, numbers, 'id, file, line, offset, length, part, kind, time, ident'):
                self._rows[shard, row[0]] = row[1:]

    def _columns(self, shard, numbers, columns):
        """-> iterator of columns of those documents that are there."""
        return _rows_of(self.shards[shard][1], 'select %s from docs where id in (%%s)' % columns, numbers)

    def _file(self, shard, number):
        return self.placement.file(shard, number)

    def _session(self, shard, number):
        return self.placement.session(shard, number)

    def _sessions(self, docs):
        """-> set of session ids that hold any of the documents ({(table, shard): sorted ids})."""
        return set().union(*[self.placement.spread(shard, ids).sessions for (_, shard), ids in docs.items()])

    def _copies(self, found, chosen):
        """-> {(shard, id): (shard, id) of the oldest} of documents that repeat a message of an older file.

        Looked at are the chosen documents, and all of a file that holds few.
        """
        if not self.rivals:
            return {}
        suspects, same = {}, {}
        for docs in found:
            for (_, shard), ids in docs.items():
                mine = suspects.setdefault(shard, {})
                for file, _, low, high in pieces_in(self.placement.spread(shard, ids), 'files', self.rivals):
                    few = high - low <= _FEW_IN_FILE
                    mine.update((number, file) for number in ids[low:high] if few or (shard, number) in chosen)
        for shard, mine in suspects.items():
            for number, ident, kind, part in self._columns(shard, mine, 'id, ident, kind, part'):
                same.setdefault((ident, kind, part), {})[shard, number] = mine[number]
        out, ages = {}, {}
        for group in same.values():
            if len(group) < 2:
                continue
            for file in group.values():
                if file not in ages:
                    ages[file] = age(*self.db.execute('select flags, birth, last, path from files where id = ?', (file,)).fetchone())
            oldest = min(group, key=lambda d: (ages[group[d]], d))
            for doc in group:
                if doc != oldest:
                    out[doc] = oldest
        return out

    def _only_copies(self, found, copies, answering):
        """-> the sessions among `answering` that hold nothing but copies of what an older session holds."""
        if not copies:
            return set()
        doubtful, own = set(self._session(*doc) for doc in copies), set()
        for docs in found:
            for (_, shard), ids in docs.items():
                for _, session, low, high in pieces_in(self.placement.spread(shard, ids), 'sessions', doubtful):
                    if session not in own and any((shard, n) not in copies for n in ids[low:high]):
                        own.add(session)
        return doubtful - own

    # in which order

    def _best_of(self, query, found, weights, options, best, answering):
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
        for glue, sessions in rounds:
            # Only of documents that hold the same words the score is known beforehand.
            weight = sum(weights) if weights is not None and (glue == ' AND ' or len(parts) == 1) else None
            into, need = ranks if weight is None else scores, all if glue == ' AND ' else any
            for shard, (number, db, end) in enumerate(self.shards):
                lists = [docs[PROSE, shard] for docs in found if (PROSE, shard) in docs]
                if lists and (need is any or len(lists) == len(parts)):
                    if weight is None:
                        rows = _rows(db, _BY_RANK, (glue.join(parts), end), options.limit)
                    else:
                        flat = len(parts) == 1 and len(lists[0]) > _FEW and _is_flat(db, query.terms[0], len(lists[0]))
                        rows = _rows(db, _FLAT if flat else _BY_SCORE, (weight, self.newest, glue.join(parts), end), options.limit)
                    self._take(into, shard, rows, lists, need, sessions, options)
            if options.limit and len(set(self._session(*d) for d in into)) >= options.limit:
                break
        return scores, ranks

    def _take(self, into, shard, ranked, lists, need, sessions, options):
        """Keep the first _CANDIDATES of a ranking that were selected, and so many more that several times the hits asked for
        can be made of them: one session that speaks of nothing else must not hide the others."""
        most, per, taken, usable = options.per_session or options.limit, {}, 0, 0
        for doc, value in ranked:
            if not need(_holds(ids, doc) for ids in lists):
                continue
            session = self._session(shard, doc)
            if session not in sessions:
                continue
            into.setdefault((shard, doc), value)
            if options.limit and session not in options.behind:
                taken += 1
                per[session] = per.get(session, 0) + 1
                usable += per[session] <= most
                if taken >= _CANDIDATES and usable >= min(3 * options.limit, most * len(sessions)):
                    break

    def _shortlist(self, found, chosen, options, answering):
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
        self._load(chosen)
        rows = []
        for place in chosen:
            shard, number = place
            session = self._session(shard, number)
            if session not in answering:
                continue
            doc = self._doc(shard, number)
            score = scores.get(place)
            # A message that holds every word comes before sessions that hold them here and there.
            apart = False
            if score is None or doc is None:
                held = [w for w, docs in zip(weights, found) if any(_holds(docs.get((t, shard), ()), number) for t in (PROSE, TOOLS))]
                apart = len(held) < len(found) or doc is None or doc[5] >= schema.TOOL_KINDS
                score, rank = sum(held), ranks.get(place)
                score = score * 0.1 if rank is None else score + rank
                if doc is not None:
                    score *= _WEIGHTS.get(doc[5], 0.3)
                    if doc[6] and doc[6] > 0:
                        score *= 1.0 - _AGEING * max(0.0, min(1.0, (self.newest - doc[6]) / _YEAR))
            rows.append(((session in options.behind, -depth.get(session, 0), apart), score, shard, number, session, doc[6] or 0 if doc else 0))
        return _in_order(rows, options)

    def _rank(self, query, rows, sessions, copies, options):
        """-> list of Hits from sorted rows, best first."""
        whole = {}
        for doc, oldest in copies.items():
            whole.setdefault(oldest, set()).add(self._session(*doc))
        hits, per, shown = [], {}, set()
        for _, score, shard, number, session in rows:
            if options.per_session and per.get(session, 0) >= options.per_session:
                continue
            row = self._doc(shard, number)
            # A block of records may stand in a file twice.
            same = (session, row[7], row[5], row[4]) if row is not None else None
            if same is None or same in shown:
                continue
            shown.add(same)
            if query.question:
                low = matching.folded(self._text(shard, number))
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
        options = Options(None, {schema.CALL_DOC}, None, None, True, False, 0, 0, False, {}, None, frozenset())
        return self._sessions(self._documents((term,), [TOOLS], options, True))

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
