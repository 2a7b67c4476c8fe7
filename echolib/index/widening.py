"""Other words for a query that nothing holds as it was typed."""
from ..base.fold import is_ascii, tokens
from .query import as_question, with_forms
from .selection import PROSE, TOOLS
from .vocabulary import Vocabulary


def other_words(searcher, query, options):
    """Yield (changed query, what to say) for a query that nothing holds as typed: other forms of its words, a last part that
    goes on, a spelling that the index knows, longer words that hold it, and the characters of an unspaced script apart."""
    known = Vocabulary(searcher.shards, _words_from(searcher))
    forms = query._replace(terms=[tuple(with_forms(t) for t in alternatives) for alternatives in query.terms])
    if forms.terms != query.terms:
        yield forms, 'with other forms of these words'
    onward = query._replace(terms=[tuple(t._replace(prefix=True) if len(t.words) > 1 and not t.quoted and t.words[-1].isdigit() else t
                                         for t in alternatives) for alternatives in query.terms])
    if onward.terms != query.terms:
        # 2026-03-02 in 2026-03-02T10:00:00Z, v1.2 in v1.2rc1.
        yield onward, 'found where the text goes on'
    unknown = [i for i, alternatives in enumerate(query.terms)
               if len(alternatives) == 1 and len(alternatives[0].words) == 1 and not alternatives[0].quoted
               and not any(searcher.documents(alternatives, [PROSE, TOOLS], options, False).values())]
    if len(unknown) == 1:
        term = query.terms[unknown[0]][0]
        better = known.correct(term.words[0])
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
            longer = known.containing(term.words)
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


def _words_from(searcher):
    """-> a function that gives the words of a shard's documents from a number on."""
    def words(shard, first):
        number, db, end = searcher.shards[shard]
        out = set()
        for doc, in db.execute('select id from docs where id >= ? and id < ?', (first, end)).fetchall():
            out.update(tokens(searcher.text(shard, doc)))
        return out
    return words
