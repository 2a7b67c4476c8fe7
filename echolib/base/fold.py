"""The one search normalisation: the same function folds what is indexed and what is asked.

ASCII text is left to the index's own tokeniser (which splits on everything but letters and digits and ignores
case).  Everything else is decided here, so that no SQLite version can differ: width, case and accents folded,
scripts without word gaps cut into single characters, emoji made into tokens, all other symbols into gaps.
"""
from .patterns import Pattern

# Baked into every index: a change here makes old indexes rebuild.
FOLD_VERSION = 1

_RUN = Pattern('[^\x00-\x7f]+')
# Chinese, Japanese, Korean, and the South-East Asian scripts that write no gaps: one token a character, so that any
# part of a sentence is a phrase of the index. First and last code points, in order.
_SINGLE = (
    (0x0E01, 0x0E3A), (0x0E40, 0x0E4E), (0x0E81, 0x0EDF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17D3),
    (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3041, 0x3096), (0x309D, 0x309F),
    (0x30A1, 0x30FA), (0x30FC, 0x312F), (0x3131, 0x318E), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xA960, 0xA97F), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
# Emoji and pictographs become private-use letters: a symbol the tokeniser would drop is a word here.
_EMOJI = ((0x2600, 0x27BF), (0x2B50, 0x2B50), (0x2B55, 0x2B55), (0x1F000, 0x1FAFF))


def _within(code, ranges):
    for first, last in ranges:
        if first <= code <= last:
            return True
    return False


class _Folds(dict):
    """Code point -> what it becomes; filled as characters are met."""

    def __missing__(self, code):
        self[code] = folded = _fold_char(chr(code))
        return folded


_FOLDS = _Folds()


def _fold_char(char):
    from unicodedata import category, normalize
    out = []
    # Folding Cherokee gives capitals; everything else is small already.
    for part in normalize('NFKC', char).casefold().lower():
        code = ord(part)
        if code < 128:
            out.append(part)
        elif code < 0x0590 or 0x1E00 <= code < 0x2000:
            # Latin, Greek, Cyrillic, Armenian: the letter without its accents.
            for piece in normalize('NFKD', part):
                kind = category(piece)
                if kind[0] in 'LN':
                    out.append(piece)
                elif kind not in ('Mn', 'Cf'):
                    out.append(' ')
        elif _within(code, _SINGLE):
            out.append(' ' + part + ' ')
        elif _within(code, _EMOJI):
            out.append(' ' + chr(0xF0000 + (code & 0xFFFF)) + ' ')
        else:
            kind = category(part)
            if kind[0] in 'LN' or kind == 'Mc':
                out.append(part)
            elif kind == 'Mn':
                # Vowel signs belong to a word in Indic scripts; Arabic and Hebrew points are written or not.
                if code >= 0x0900 and not 0xFE00 <= code <= 0xFE2F:
                    out.append(part)
            elif kind != 'Cf':
                out.append(' ')
    return ''.join(out)


class _Apart(_Folds):
    """The same of characters that stand by themselves (ASCII stays as it is); NUL of NUL and of those that may become one with
    the character before."""

    def __missing__(self, code):
        self[code] = folded = chr(code) if code < 128 else '\0' if _joins(chr(code)) else _FOLDS[code]
        return folded


_APART = _Apart()


def _joins(char):
    """True where a character, or what it stands for, may be put together with the one before: marks, and parts of Korean syllables."""
    from unicodedata import category, normalize
    first = normalize('NFKD', char)[:1]
    return category(first)[0] == 'M' and not '\ufe00' <= first <= '\ufe0f' or '\u1160' <= first <= '\u11ff'


def fold_piece(run):
    """What a run of characters outside ASCII becomes."""
    if len(run) == 1:
        return _FOLDS[ord(run)]
    folded = run.translate(_APART)
    if '\0' in folded:
        # Decomposed syllables and letters are put together first (macOS file names).
        return _normalize('NFKC', run).translate(_FOLDS)
    return folded


def _fold_run(match):
    return fold_piece(match.group())


def _normalize(form, text):
    """unicodedata.normalize, imported when the first text outside ASCII is met."""
    global _normalize
    from unicodedata import normalize as _normalize
    return _normalize(form, text)


try:
    str.isascii
except AttributeError:
    # 3.6 has no str.isascii.
    def is_ascii(text):
        """True when every character of `text` is ASCII."""
        try:
            text.encode('ascii')
        except UnicodeEncodeError:
            return False
        return True
else:
    is_ascii = str.isascii


def fold(text):
    """`text` as the index sees it: a string whose ASCII part is unchanged (case too: the tokeniser folds it)
    and whose other characters are folded, split or dropped as the module says.  Never raises; surrogates go."""
    if is_ascii(text):
        return text
    folded = text.translate(_APART)
    return folded if '\0' not in folded else fold_by_runs(text)


def fold_by_runs(text):
    """What fold gives, found faster where much is folded; the expression it needs takes its time to load."""
    return text if is_ascii(text) else _RUN.sub(_fold_run, text)


def tokens(text):
    """The list of index tokens of `text`, in order: what the index's `ascii` tokeniser makes of fold(text)."""
    return fold(text).lower().translate(_GAPS).split()


def words(text):
    """The words of `text`, folded, in order: its tokens, but of scripts that write no gaps each pair of neighbours."""
    out, before, gap = [], None, 0
    for word in fold(text).lower().translate(_GAPS).split(' '):
        if not word:
            gap += 1
            continue
        if len(word) == 1 and word > '\x7f' and _within(ord(word), _SINGLE):
            # Each stands between spaces of its own: two lie between neighbours, more where something else was.
            if before is not None and gap == 1:
                out.append(before + word)
            before = word
        else:
            before = None
            out.append(word)
        gap = 0
    return out


# ASCII that is part of no token, to str.translate, which leaves what the table does not hold.
_GAPS = ''.join(chr(c) if chr(c).isalnum() else ' ' for c in range(128))
