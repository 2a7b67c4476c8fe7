"""A question, or a pasted line: messages ranked by how much of it they hold."""
from . import ranking, schema
from .placement import pieces_in
from .search import WEIGHTS, Answer, in_order
from .selection import PROSE, holds

# Documents among which the best for a question are chosen.
_ENOUGH = 2000


def answer(searcher, query, tables, options):
    """-> Answer: messages ranked by how much of the question they hold (see ranking.Question)."""
    found = [searcher.documents(alternatives, tables, options, False) for alternatives in query.terms]
    barred = searcher.without(query, found, tables, options)
    lists, holding = [], []
    for docs in found:
        one = {}
        for (table, shard), ids in docs.items():
            one[shard] = sorted(one.get(shard, []) + ids) if shard in one else ids
        lists.append(one)
        holding.append(searcher.sessions(docs))
    answering = set().union(*holding)
    if not answering and not query.dates:
        return Answer([], 0, False, searcher.notes)
    totals = [ranking.mean_length(db) for _, db, _ in searcher.shards]
    documents = sum(n for n, _ in totals) or 1
    mean = sum(n * m for n, m in totals) / float(documents)
    many, messages = searcher.db.execute('select count(*), sum(max(ifnull(msg_count, 0), 1)) from sessions where readable = 1').fetchone()
    question = ranking.Question(query.terms, lists, documents, mean, [len(one) for one in holding], many)
    rare, common = _by_rarity(found, options)
    rarest = query._replace(terms=[query.terms[i] for i in rare])
    _, ranks = searcher.best_of(rarest, [found[i] for i in rare], None, options, answering, answering)
    for shard, number in ranks if common else ():
        ranks[shard, number] += sum(question.idf[i] for i in common if holds(lists[i].get(shard, ()), number))
    chosen = searcher.shortlist(found, ranks, options, answering)
    copies = searcher.copies(found, chosen)
    chosen -= set(copies)
    days = set(d for d in _on_days(searcher, query.dates, options) if d[1] not in barred.get((PROSE, d[0]), ())) if query.dates else set()
    chosen |= days
    answering |= searcher.sessions({(PROSE, shard): sorted(n for s, n in days if s == shard) for shard in range(len(searcher.shards))})
    shares = _shares(searcher, question, found, set(searcher.session(*d) for d in chosen), (messages or 0) / float(many or 1))
    first = sorted(chosen, key=lambda d: (-ranks.get(d, 0.0) - shares.get(searcher.session(*d), 0.0), -question.score_unread(*d), d))
    read = sorted(days.union(first[:ranking.READ])) if options.limit else first
    searcher.load(read)
    searcher.texts.load(row[0] for row in (searcher.doc(*doc) for doc in read) if row is not None)
    scores = dict((doc, question.score_text(searcher.text(*doc))) for doc in read)
    around = _around(searcher, read)
    rows = []
    for doc in read:
        shard, number = doc
        row = searcher.doc(shard, number)
        if row is None:
            continue
        own = scores[doc]
        if number in around[shard]:
            near, far = around[shard][number]
            own += ranking.NEXT * sum(_score_of(question, scores, shard, n) for n in near)
            own += ranking.AFTER_NEXT * sum(_score_of(question, scores, shard, n) for n in far)
        rows.append(_row(searcher, query, doc, row, own, question, shares, options))
    hits = [] if options.recent else searcher.rank(query, in_order(rows, options), holding, copies, options)
    if options.recent or options.limit and len(hits) < options.limit and len(read) < len(first):
        searcher.load(first)
        rest = [(doc, searcher.doc(*doc)) for doc in first if doc not in scores]
        more = [_row(searcher, query, doc, row, question.score_unread(*doc), question, shares, options) for doc, row in rest if row is not None]
        # By worth, what was not read comes behind what was.
        rows = in_order(rows + more, options) if options.recent else in_order(rows, options) + in_order(more, options)
        hits = searcher.rank(query, rows, holding, copies, options)
    partial = not holding[0].intersection(*holding[1:])
    return Answer(hits, len(answering), partial, searcher.notes, query.terms, frozenset(answering))


def _around(searcher, read):
    """-> ranking.neighbours() of documents, a list by shards."""
    beside, placement = [{} for _ in searcher.shards], searcher.placement
    files = dict((doc, placement.file(*doc)) for doc in read)
    placement.load(set(files.values()) - {None})
    for (shard, number), file in files.items():
        if file is not None:
            beside[shard][number] = tuple(placement.beside(file, number, ahead, ranking.NEAR) for ahead in (False, True))
    return [ranking.neighbours(db, some) for (_, db, _), some in zip(searcher.shards, beside)]


def _shares(searcher, question, found, wanted, average):
    """-> {session: what its messages get for how much of a question it holds as a whole} of some sessions."""
    counts = dict((session, [0] * len(found)) for session in wanted)
    for i, docs in enumerate(found):
        for (_, shard), ids in docs.items():
            for _, session, low, high in pieces_in(searcher.placement.spread(shard, ids), 'sessions', wanted):
                counts[session][i] += high - low
    sizes = dict(schema.rows_of(searcher.db, 'select id, msg_count from sessions where readable = 1 and id in (%s)', wanted - {None}))
    return dict((session, ranking.SESSION * question.score_session(count, sizes.get(session) or 1, average)) for session, count in counts.items())


def _row(searcher, query, doc, row, own, question, shares, options):
    """-> (order, score, shard, document, session, time) of a message by its own score."""
    session = searcher.session(*doc)
    if query.dates and ranking.on_a_day(row[6], query.dates):
        own += ranking.DAY * question.whole
    return (session in options.behind,), own * WEIGHTS.get(row[5], 0.3) + shares.get(session, 0.0), doc[0], doc[1], session, row[6] or 0


def _on_days(searcher, dates, options):
    """-> documents of prompts and replies of the days a question names, at most READ."""
    out = set()
    for shard, (number, db, end) in enumerate(searcher.shards):
        span = db.execute('select min(time), max(time) from docs where time > 0').fetchone()
        if span[0] is None:
            continue
        where, values = searcher.filter(PROSE, options)
        hidden = searcher.hidden(shard, options)
        for since, until in ranking.spans(dates, span[0], span[1]):
            for doc, file in db.execute(
                    'select d.id, d.file from docs d where d.time >= ? and d.time < ? and d.id < ? and d.kind in (2, 3)%s'
                    ' order by d.time' % where, [since, until, end] + values):
                if (searcher.session_of(file) is not None and searcher.allowed(file, options)
                        and not any(first <= doc < behind for first, behind in hidden)):
                    out.add((shard, doc))
                    if len(out) >= ranking.READ:
                        return out
    return out


def _score_of(question, scores, shard, number):
    found = scores.get((shard, number))
    return question.score_unread(shard, number) if found is None else found


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
