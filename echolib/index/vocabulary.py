"""The words an index knows: near spellings of an unknown word, and longer words that hold a part."""
import os

# The list of a shard's words lies beside it, and goes with it.
LIST_ENDING = '.words'
# So many bytes before the words tell up to which document they go.
_HEAD = 12
# With more new documents than this the list is made again.
_NEW_DOCUMENTS = 1000
_LETTERS = 'abcdefghijklmnopqrstuvwxyz'
# Letters of a word whose spelling is looked into (each costs 53 spellings).
_LONGEST = 30
# Longer words that one part stands for, at most.
_MOST = 40


def _open(db):
    db.execute("create virtual table if not exists temp.prose_words using fts5vocab('main', 'prose', 'row')")
    db.execute("create virtual table if not exists temp.tool_words using fts5vocab('main', 'tools', 'row')")


class Vocabulary(object):
    """The words of an index.

    shards: list of (id, connection, docs_end).  unlisted(shard index, first document) -> words of the documents from that
    one on, for what came after the list was made.
    """

    def __init__(self, shards, unlisted=None):
        self.shards, self.unlisted = shards, unlisted
        self._texts = None

    @property
    def texts(self):
        """All words of each shard, a line each, as bytes."""
        if self._texts is None:
            newer = self.unlisted
            self._texts = [_listed(db, end, (lambda first, i=i: newer(i, first)) if newer is not None else None)
                           for i, (_, db, end) in enumerate(self.shards)]
        return self._texts

    def frequency(self, word):
        """-> number of documents that hold a word (token)."""
        total = 0
        for _, db, _ in self.shards:
            _open(db)
            for table in ('prose_words', 'tool_words'):
                row = db.execute('select doc from temp.%s where term = ?' % table, (word,)).fetchone()
                total += row[0] if row else 0
        return total

    def correct(self, word):
        """-> the known word one edit away that most documents hold, '' when there is none (or the word is short, or a number)."""
        if not 4 <= len(word) <= _LONGEST or not word.isalpha() or word > '\x7f':
            return ''
        # An edit leaves one half of a word as it is, or exchanges the letters where they meet.
        half = len(word) // 2
        near = set(self._all_holding(word[:half], b'\n', b'')).union(self._all_holding(word[half:], b'', b'\n'))
        near.add(word[:half - 1] + word[half] + word[half - 1] + word[half + 1:])
        best, most = '', 0
        for candidate in sorted(near & _edits(word)):
            count = self.frequency(candidate)
            if count > most:
                best, most = candidate, count
        return best

    def containing(self, words):
        """-> list of token sequences in which the first and last of `words`, or all of them together, are completed to longer
        known words. words: tokens next to each other; the ones between must stand as they are."""
        if len(words) == 1:
            return [(w,) for w in self._holding(words[0], b'', b'')]
        firsts = self._holding(words[0], b'', b'\n') or [words[0]]
        lasts = self._holding(words[-1], b'\n', b'') or [words[-1]]
        out = [(a,) + tuple(words[1:-1]) + (b,) for a in firsts[:6] for b in lasts[:6]]
        # parse_line in parseLineOutcome, but not 1.2.3 in abc1234.
        return out + ([] if any(word.isdigit() for word in words) else [(w,) for w in self._holding(''.join(words), b'', b'')])

    def _holding(self, part, before, after):
        """-> words that hold a part (at their beginning or end, where a line break is asked for there), shortest first."""
        if len(part) < 3:
            return []
        found = set()
        for word in self._all_holding(part, before, after):
            found.add(word)
            if len(found) >= 20 * _MOST:
                break
        return sorted(found, key=lambda w: (len(w), w))[:_MOST]

    def _all_holding(self, part, before, after):
        wanted = before + part.encode('utf-8') + after
        for text in self.texts:
            at = text.find(wanted)
            while at >= 0:
                start = text.rfind(b'\n', 0, at + len(before)) + 1
                end = text.find(b'\n', at + len(before))
                yield text[start:end if end >= 0 else len(text)].decode('utf-8', 'replace')
                if end < 0:
                    break
                at = text.find(wanted, end)


def _edits(word):
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    out = set(a + b[1:] for a, b in cuts if b)
    out |= set(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1)
    out |= set(a + c + b[1:] for a, b in cuts if b for c in _LETTERS)
    out |= set(a + c + b for a, b in cuts for c in _LETTERS)
    out.discard(word)
    return out


def _listed(db, end, newer):
    """-> all words of a shard, a line each, as bytes: from the list beside it, which is made when first needed."""
    path = db.execute('pragma database_list').fetchone()[2]
    name = path + LIST_ENDING if path else ''
    text, upto = b'', 0
    if name:
        try:
            # Read as it is, since a copy of it costs more than all that is looked for in it.
            with open(name, 'rb', buffering=0) as handle:
                upto = int(handle.read(_HEAD))
                text = handle.read()
        except (OSError, ValueError):
            text, upto = b'', 0
    if not upto or upto > end or end - upto > _NEW_DOCUMENTS:
        _open(db)
        words = set(row[0] for table in ('prose_words', 'tool_words') for row in db.execute('select term from temp.%s' % table))
        text = b'\n' + '\n'.join(sorted(words)).encode('utf-8', 'replace') + b'\n'
        upto = end
        if name:
            _keep(name, b'%*d\n' % (_HEAD - 1, upto) + text)
    if upto < end and newer is not None:
        text += '\n'.join(newer(upto)).encode('utf-8', 'replace') + b'\n'
    return text


def _keep(name, data):
    part = '%s.%d' % (name, os.getpid())
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, 'wb') as handle:
            handle.write(data)
        os.replace(part, name)
    except OSError:
        # A list that cannot be kept is made again next time.
        return
