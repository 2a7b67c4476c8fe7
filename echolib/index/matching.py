"""Where a term stands in a text as it is displayed: for marks in snippets, and to check what tokens cannot say."""
import re

from ..base.fold import fold, fold_piece, is_ascii

# What goes on a word; the scripts without gaps stand apart in folded text.
_WORD = r'[^\W_]'
# ASCII that is part of no token.
_GAP = '[\x00-/:-`{-\x7f]'
OPEN_MARK, CLOSE_MARK = '\u00ab', '\u00bb'


def pattern(term):
    """-> compiled pattern of a term over folded, lower-cased text: tokens next to each other, whole, in every spelling."""
    forms = [_sequence(words, term.prefix) for words in (term.words,) + term.other]
    if term.literal and is_ascii(term.literal):
        # C++ whole, where it stands so.
        parts = term.literal.split(' ')
        forms.insert(0, _begin(parts[0]) + ''.join(r'\s+' + re.escape(part) for part in parts[1:]) + _end(parts[-1], term.prefix))
    return re.compile('|'.join(forms))


def _sequence(words, prefix):
    out = [_begin(words[0])]
    for before, word in zip(words, words[1:]):
        # Between two tokens stands something that is none; characters of unspaced scripts touch.
        both = _is_spaced(before[-1]) and _is_spaced(word[0])
        out.append(_GAP + ('{1,40}?' if both else '{0,40}?') + re.escape(word))
    return ''.join(out) + _end(words[-1], prefix)


def _begin(text):
    """A pattern of a first piece with no word going on before it (looked at last: plain text at the front is found fast)."""
    plain = re.escape(text)
    return plain + '(?<!%s%s)' % (_WORD, plain) if _is_letter(text[0]) else plain


def _end(text, prefix):
    return '' if prefix or not _is_letter(text[-1]) else '(?!%s)' % _WORD


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


def spans(text, patterns, limit=400):
    """-> sorted list of (start, end) in `text` where any pattern matches, at most `limit`."""
    low, where = folded_map(text)
    found = []
    for one in patterns:
        for match in one.finditer(low):
            start, end = match.span()
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


def snippet(text, patterns, around=90, most=260):
    """-> one line of `text` around its best matches, marked, cut with an ellipsis where something is left out."""
    # A long text is looked at in the neighbourhood of its first match only.
    if len(text) > 40000:
        low = folded(text)
        first = min([m.start() for m in (p.search(low) for p in patterns) if m] or [0])
        guess = int(first * len(text) / float(len(low) or 1))
        window = 20000
        part = text[max(0, guess - window):guess + window]
        if not spans(part, patterns, 1):
            part = next((text[i:i + 40000] for i in range(0, len(text), 39000) if spans(text[i:i + 40000], patterns, 1)), part)
        text = part
    found = spans(text, patterns)
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
