"""Where a term stands in a text as it is displayed: for marks in snippets, and to check what tokens cannot say."""
from ..base.fold import fold, fold_piece, is_ascii

# ASCII that is part of no token.
_GAP = frozenset(map(chr, range(128))) - frozenset('0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
# Between two tokens stands at most so much that is none.
_WIDEST = 40
OPEN_MARK, CLOSE_MARK = '\u00ab', '\u00bb'


class Matcher(object):
    """Finds a term in folded, lower-cased text: tokens next to each other, whole, in every spelling.

    Written by hand, since an expression takes longer to compile than most searches have to look.
    """

    def __init__(self, term):
        self._forms = [_Words(words, term.prefix) for words in (term.words,) + term.other]
        if term.literal and is_ascii(term.literal):
            # C++ whole, where it stands so.
            self._forms.insert(0, _Literal(term.literal.split(' '), term.prefix))

    def find(self, text, at=0):
        """-> (start, end) of the first place from `at` on, or None; where several spellings begin there, the first of them."""
        best = None
        for form in self._forms:
            found = form.find(text, at)
            if found is not None and (best is None or found[0] < best[0]):
                best = found
        return best

    def spans(self, text):
        """Yield (start, end) of all places, in order and without overlap."""
        found = [form.find(text, 0) for form in self._forms]
        while any(found):
            start, end = min((one for one in found if one), key=_start)
            yield start, end
            found = [one and (form.find(text, end) if one[0] < end else one) for form, one in zip(self._forms, found)]


def _start(span):
    return span[0]


class _Words(object):
    """One spelling: pieces that follow each other, the first and last of them whole."""

    def __init__(self, pieces, prefix):
        self.pieces = pieces
        self.bare_start = not _is_letter(pieces[0][0])
        self.open_end = prefix or not _is_letter(pieces[-1][-1])

    def find(self, text, at):
        """-> (start, end) of the first place from `at` on, or None."""
        first = self.pieces[0]
        start = text.find(first, at)
        while start >= 0:
            if self.bare_start or not start or not text[start - 1].isalnum():
                end = self._rest(text, start + len(first))
                if end is not None and (self.open_end or not text[end:end + 1].isalnum()):
                    return start, end
            start = text.find(first, start + 1)
        return None

    def _rest(self, text, end):
        """-> where the other pieces end, None where they do not follow."""
        for before, piece in zip(self.pieces, self.pieces[1:]):
            end = self._after_gap(text, end, before, piece)
            if end is None or not text.startswith(piece, end):
                return None
            end += len(piece)
        return end

    def _after_gap(self, text, at, before, piece):
        end = at
        while text[end:end + 1] in _GAP and end < at + _WIDEST:
            end += 1
        # Characters of unspaced scripts touch.
        return None if end == at and _is_spaced(before[-1]) and _is_spaced(piece[0]) else end


class _Literal(_Words):
    """Text as it stands, white space apart."""

    def _after_gap(self, text, at, before, piece):
        end = at
        while text[end:end + 1].isspace():
            end += 1
        return end if end > at else None


def _is_letter(char):
    return char.isalnum() or char >= '\x80'


def _is_spaced(char):
    return char < '\u0e01'


def folded(text):
    """-> text as terms are looked for in it (positions are not those of the original)."""
    return fold(text).lower()


def folded_map(text):
    """-> (folded text, list of original positions, one for each of its characters)."""
    if is_ascii(text):
        return text.lower(), None
    out, where = [], []
    size = len(text)
    at = 0
    while at < size:
        char = text[at]
        if char < '\x80':
            out.append(char.lower())
            where.append(at)
            at += 1
            continue
        end = at + 1
        while end < size and text[end] >= '\x80' and _joins(text[end]):
            end += 1
        piece = fold_piece(text[at:end])
        for c in piece.lower():
            out.append(c)
            where.append(at)
        at = end
    return ''.join(out), where


def _joins(char):
    """True for characters that combine with the one before: accents, conjoining jamo, sound marks."""
    return ('\u0300' <= char <= '\u036f' or '\u1160' <= char <= '\u11ff' or char in '\u3099\u309a\uff9e\uff9f'
            or '\ufe00' <= char <= '\ufe0f')


def spans(text, matchers, limit=400):
    """-> sorted list of (start, end) in `text` where any Matcher finds something, at most `limit` of each."""
    low, where = folded_map(text)
    found = []
    for one in matchers:
        for start, end in one.spans(low):
            if where is not None:
                start, end = where[start], where[end - 1] + 1
                while end < len(text) and _joins(text[end]):
                    end += 1
            found.append((start, end))
            if len(found) >= limit:
                break
    found.sort()
    merged = []
    for start, end in found:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def near(text, matchers, window):
    """-> of a long text what lies around its first match, `window` characters to both sides; a shorter text as it is."""
    if len(text) <= 2 * window:
        return text
    low = folded(text)
    first = min([found[0] for found in (one.find(low) for one in matchers) if found] or [0])
    guess = int(first * len(text) / float(len(low) or 1))
    part = text[max(0, guess - window):guess + window]
    if not spans(part, matchers, 1):
        pieces = (text[i:i + 2 * window] for i in range(0, len(text), 2 * window - 1000))
        part = next((piece for piece in pieces if spans(piece, matchers, 1)), part)
    return part


def snippet(text, matchers, around=90, most=260):
    """-> one line of `text` around its best matches, marked, cut with an ellipsis where something is left out."""
    text = near(text, matchers, 20000)
    found = spans(text, matchers)
    if not found:
        return _one_line(text[:most]) + ('\u2026' if len(text) > most else '')
    best, best_count = 0, 0
    for i, (start, _) in enumerate(found):
        count = sum(1 for s, e in found[i:i + 12] if e <= start + most - around)
        if count > best_count:
            best, best_count = i, count
    start = max(0, found[best][0] - around)
    if start:
        gap = text.find(' ', start, found[best][0])
        if 0 <= gap - start < 20:
            start = gap + 1
    end = min(len(text), max(start + most, found[best][1] + around))
    out, at = [], start
    for s, e in found:
        if s < start or e > end:
            continue
        out.append(text[at:s])
        out.append(OPEN_MARK + text[s:e] + CLOSE_MARK)
        at = e
    out.append(text[at:end])
    return ('\u2026' if start else '') + _one_line(''.join(out)) + ('\u2026' if end < len(text) else '')


def _one_line(text):
    return ' '.join(text.split())


def holds_literal(text, literal):
    """True when the text holds the literal as it is, white space and case apart."""
    if not is_ascii(text):
        from unicodedata import normalize
        text = normalize('NFC', text)
    low = text.casefold()
    if literal in low:
        return True
    return '\n' in low and literal in ' '.join(low.split())
