"""The words an index knows: near spellings of an unknown word, and longer words that hold a part."""

_LETTERS = 'abcdefghijklmnopqrstuvwxyz'
# Longer words that one part stands for, at most.
_MOST = 40


def _open(db):
    db.execute("create virtual table if not exists temp.prose_words using fts5vocab('main', 'prose', 'row')")
    db.execute("create virtual table if not exists temp.tool_words using fts5vocab('main', 'tools', 'row')")


def frequency(shards, word):
    """-> number of documents that hold a word (token)."""
    total = 0
    for _, db, _ in shards:
        _open(db)
        for table in ('prose_words', 'tool_words'):
            row = db.execute('select doc from temp.%s where term = ?' % table, (word,)).fetchone()
            total += row[0] if row else 0
    return total


def correct(shards, word):
    """-> the known word one edit away that most documents hold, '' when there is none (or the word is short, or a number)."""
    if len(word) < 4 or not word.isalpha() or word > '\x7f':
        return ''
    best, most = '', 0
    for candidate in sorted(_edits(word)):
        count = frequency(shards, candidate)
        if count > most:
            best, most = candidate, count
    return best


def _edits(word):
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    out = set(a + b[1:] for a, b in cuts if b)
    out |= set(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    out |= set(a + c + b[1:] for a, b in cuts if b for c in _LETTERS)
    out |= set(a + c + b for a, b in cuts for c in _LETTERS)
    out.discard(word)
    return out


def containing(shards, words):
    """-> list of token sequences in which the first and last of `words` are completed to longer known words.

    words: tokens next to each other; the ones between must stand as they are.
    """
    if len(words) == 1:
        return [(w,) for w in _holding(shards, '%' + _plain(words[0]) + '%')]
    firsts = _holding(shards, '%' + _plain(words[0])) or [words[0]]
    lasts = _holding(shards, _plain(words[-1]) + '%') or [words[-1]]
    return [(a,) + tuple(words[1:-1]) + (b,) for a in firsts[:6] for b in lasts[:6]]


def _plain(word):
    return word.replace('%', '').replace('_', '')


def _holding(shards, like):
    if len(like.strip('%')) < 3:
        return []
    found = {}
    for _, db, _ in shards:
        _open(db)
        for table in ('prose_words', 'tool_words'):
            for term, count in db.execute('select term, doc from temp.%s where term like ? limit %d' % (table, 4 * _MOST), (like,)):
                found[term] = found.get(term, 0) + count
    return sorted(found, key=lambda t: (-found[t], t))[:_MOST]
