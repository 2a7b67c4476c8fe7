"""The one search normalisation: the same function folds what is indexed and what is asked.

ASCII text is left to the index's own tokeniser (which splits on everything but letters and digits and ignores
case).  Everything else is decided here, so that no SQLite version can differ: width, case and accents folded,
scripts without word gaps cut into single characters, emoji made into tokens, all other symbols into gaps.
"""
import re

# Baked into every index: a change here makes old indexes rebuild.
FOLD_VERSION = 1

_RUN = re.compile('[^\x00-\x7f]+')
# Chinese, Japanese, Korean, and the South-East Asian scripts that write no gaps: one token a character,
# so that any part of a sentence is a phrase of the index.
_SINGLE = re.compile(
    '([\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa'
    '\u30fc-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff'
    '\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3'
    '\U00020000-\U0003ffff])')
# Emoji and pictographs become private-use letters: a symbol the tokeniser would drop is a word here.
_EMOJI = re.compile('[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff]')


class _Folds(dict):
    """Code point -> what it becomes; filled as characters are met."""

    def __missing__(self, code):
        self[code] = folded = _fold_char(chr(code))
        return folded


_FOLDS = _Folds()


def _fold_char(char):
    from unicodedata import category, normalize
    out = []
    for part in normalize('NFKC', char).casefold():
        code = ord(part)
        if code < 128:
            out.append(part)
        elif code < 0x0590 or 0x1E00 <= code < 0x2000:
            # Latin, Greek, Cyrillic, Armenian: the letter without its accents.
            for piece in normalize('NFKD', part):
                kind = category(piece)
                if kind[0] in 'LN':
                    out.append(piece)
                elif kind != 'Mn':
                    out.append(' ')
        elif _SINGLE.match(part):
            out.append(' ' + part + ' ')
        elif _EMOJI.match(part):
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


def fold_piece(run):
    """What a run of characters outside ASCII becomes."""
    if len(run) > 1:
        # Decomposed syllables and letters are put together first (macOS file names).
        run = _normalize('NFKC', run)
    return run.translate(_FOLDS)


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
    return _RUN.sub(_fold_run, text)


def tokens(text):
    """The list of index tokens of `text`, in order: what the index's `ascii` tokeniser makes of fold(text)."""
    return _TOKEN.findall(fold(text).lower())


_TOKEN = re.compile('[a-z0-9\x80-\U0010ffff]+')
