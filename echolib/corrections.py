"""Corrections: whether a prompt tells the agent that what it did was wrong, and how. The one rule for it.

Works for English, Chinese, Japanese, Korean, Spanish, German, French, Portuguese and Russian by markers at a prompt's
beginning (corrections_markers). It knows words, not what went before: short answers such as "no" count, irony does not.
"""
import re

from .analysis_versions import CORRECTIONS as VERSION
from .base.shapes import shape
from .corrections_markers import ANYWHERE, ENGLISH_SIGNALS, FILLERS, HYPOTHETICAL, KINDS, NO, POLITE, SIGNALS, START

__all__ = ('KINDS', 'VERSION', 'code', 'kind_of', 'opening')

# Only so much of a prompt is looked at: what comes later is its task.
WINDOW = 120
_MARKS = "[\\s,.!;:\u2026\u3001\u3002\uff0c\uff01\u2014\u2013-]"
_MARKUP = ('<', '/', '[')
_PASTED = ('[image]', '[document]')

_SAME = {ord(a): b for a, b in zip('\u2019\u2018\u02bc\u00b4`\u2032\uff07', "'" * 7)}
_SAME.update({ord(a): b for a, b in zip(
    '\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5\u00e7\u00e8\u00e9\u00ea\u00eb\u00ec\u00ed\u00ee\u00ef\u00f1\u00f2\u00f3\u00f4\u00f5\u00f6\u00f9\u00fa\u00fb\u00fc\u00fd\u0451\u00a1\u00bf',
    'aaaaaaceeeeiiiinooooouuuuy\u0435  ')})
_SAME[0xdf], _SAME[0x153] = 'ss', 'oe'
# Traditional characters and wide marks that the markers use.
_SIMPLE = {ord(a): b for a, b in zip(
    '\uff0c\uff01\uff1a\uff1b對錯還報這個樣說講讓沒誤們銷滾來過經剛應問題敗壞試變動給無並會現運顯換復們時嗎寫刪幫煩別亂後從崩應關點謝緊實內請係裡',
    ',!:;对错还报这个样说讲让没误们销滚来过经刚应问题败坏试变动给无并会现运显换复们时吗写删帮烦别乱后从崩应关点谢紧实内请系里')}
_SAME.update(_SIMPLE)


def opening(text):
    """-> the beginning of a prompt in the form the markers are written in; '' for what is markup, a command or a path."""
    text = text[:WINDOW + 200].lstrip()
    while text.startswith(_PASTED):
        # Marks of pasted pictures stand before the words.
        text = text[text.index(']') + 1:].lstrip()
    if text.startswith(_MARKUP):
        return ''
    text = text.lower()
    return (text if _is_plain(text) else text.translate(_SAME)).strip()[:WINDOW]


def _is_plain(text):
    return len(text.encode('utf-8', 'surrogatepass')) == len(text) and '`' not in text


def _any_of(sources):
    return '(?:%s)' % '|'.join(source.translate(_SIMPLE) for source in sources)


# Languages are tried by script; Latin ones always, as English stands among all others, which wait for a word of theirs.
_LANGUAGES = {'latin': ('en', 'es', 'de', 'fr', 'pt'), 'en': ('en',), 'ru': ('ru',), 'ja': ('ja',), 'ko': ('ko',), 'zh': ('zh',)}
_CHARS = (('ru', '[\u0400-\u04ff]'), ('ja', '[\u3040-\u30ff]'), ('ko', '[\uac00-\ud7a3]'), ('zh', '[\u4e00-\u9fff]'))
_WORD = re.compile(r'\w+')
_SENTENCE = '[.!?\n;\u3002\uff1f]'
_SIGNALS, _ENGLISH = frozenset(SIGNALS), frozenset(ENGLISH_SIGNALS)
# filler, no, refusal (a no by itself or with a mark behind it), polite, case: patterns; scripts: [(group, pattern)]; start,
# anywhere: {group: pattern with a group a kind}. Compiling them takes longer than reading a prompt: each waits until it is needed.
_Patterns = shape('_Patterns', 'filler no refusal polite case scripts start anywhere')


def _patterns(_made=[]):
    """-> _Patterns."""
    if not _made:
        no = _any_of(NO)
        _made.append(_Patterns(
            re.compile('(?:%s(?:%s+|$))' % (_any_of(FILLERS), _MARKS)), re.compile('%s(?:(?:(?!-)%s)+|$)' % (no, _MARKS)),
            re.compile('%s\\s*(?:[,.!;:\u2026\u3001\u3002\u2014\u2013]|$)' % no, re.M), re.compile(_any_of(POLITE)), re.compile(HYPOTHETICAL),
            [(name, re.compile(chars)) for name, chars in _CHARS], _Markers(START), _Markers(ANYWHERE)))
    return _made[0]


class _Markers(dict):
    """{group: pattern} of a table of markers, one named group a kind; Latin languages stand together."""

    def __init__(self, table):
        dict.__init__(self)
        self._table = table

    def __missing__(self, group):
        table = self._table
        kinds = [(kind, [one for language in _LANGUAGES[group] for one in table[language].get(kind, ())]) for kind in KINDS]
        found = self[group] = re.compile('|'.join('(?P<%s>%s)' % (kind, _any_of(sources)) for kind, sources in kinds if sources), re.M)
        return found


def _groups(text, scripts):
    """-> the groups of languages a text can be in."""
    found = [] if _is_plain(text) else [name for name, pattern in scripts if pattern.search(text)]
    # Japanese is written with Chinese characters too.
    found = [name for name in found if name != 'zh' or 'ja' not in found]
    words = _WORD.findall(text)
    if not _SIGNALS.isdisjoint(words):
        found.append('latin')
    elif not _ENGLISH.isdisjoint(words):
        found.append('en')
    return found


def _silent(text):
    words = _WORD.findall(text)
    return _SIGNALS.isdisjoint(words) and _ENGLISH.isdisjoint(words)


def kind_of(text):
    """-> the kind of correction a prompt's text is, None for none.

    'undo': what was done is to be taken back; 'again': it was said before, or is to be done once more; 'broken': it still does
    not work; 'stop': the agent is to leave something be; 'wrong': any other no.
    """
    text = opening(text)
    if not text or _is_plain(text) and _silent(text):
        return None
    known = _patterns()
    at = 0
    found = known.filler.match(text)
    while found is not None:
        at = found.end()
        found = known.filler.match(text, at)
    refused = polite = None
    places = [0, at] if at else [0]
    found = known.no.match(text, at)
    if found is not None:
        refused, polite = known.refusal.match(text, at), known.polite.match(text, found.end())
        if polite is None:
            places.append(found.end())
    groups = _groups(text, known.scripts)
    for group in groups:
        for place in places:
            found = known.start[group].match(text, place)
            if found is not None:
                return found.lastgroup
    for group in groups:
        for found in known.anywhere[group].finditer(text):
            if not known.case.search(re.split(_SENTENCE, text[:found.start()])[-1]):
                return found.lastgroup
    return 'wrong' if refused is not None and polite is None else None


def code(text):
    """-> the kind as it is stored: its place in KINDS from 1, 0 for no correction."""
    kind = kind_of(text)
    return KINDS.index(kind) + 1 if kind else 0
