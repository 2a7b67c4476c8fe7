"""The query language: any text is a query. Text in, a Query out; knows no SQL beyond the words of a MATCH.

Up to three bare words mean all of them; a longer text is a question whose passages are ranked by how much of it they
hold. "a phrase", -word, OR, prefix*, and the operators below. Anything else is literal text.
"""
from ..base.fold import is_ascii, tokens
from ..base.patterns import Pattern
from ..base.shapes import shape

OPERATORS = ('role', 'tool', 'project', 'agent', 'file', 'model', 'is', 'before', 'after')
# More bare words than this are a question.
ALL_WORDS = 3
# So is a run of more characters than this in a script without gaps.
LONG_RUN = 7
# More terms, alternatives and exclusions than this are left out.
_MAX_TERMS = 64

# One thing asked for. text: as typed; words: its tokens, matched next to each other; other: further token sequences that
# are the same thing in another spelling; literal: text that must stand there as it is where any hit has it, '' when the
# tokens say it all; prefix: the last token may go on; quoted: the person put it in quotes.
Term = shape('Term', 'text words other literal prefix quoted')
# terms: list of tuples of alternatives (one Term where there is no OR); without: Terms that must not occur in the hit;
# filters: {operator: [values]}; question: passages are ranked by coverage; raw: as typed.
# dates: (year or None, month, day or None) that a question names.
Query = shape('Query', 'terms without filters question raw dates')

_PIECE = Pattern(r'([A-Za-z]+:)"([^"]*)"|(-?)"([^"]*)"(\*?)|(\S+)')
_WHEN = Pattern(r'\d+(-|[hdwmy]$)|today$|yesterday$')
# Words that say nothing in a question (English; other languages are left to the ranking).
STOP_WORDS = frozenset((
    'a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of on or '
    'our so than that the their them then there these they this to was we were what when where which who whom whose why '
    'will with would you your').split())


def parse(text):
    """-> Query of any text; its terms are empty when nothing in it can be searched."""
    terms, without, filters = [], [], {}
    if not is_ascii(text):
        from unicodedata import normalize
        text = normalize('NFC', text)
    pending_or = False
    for whole, (name, value, minus, phrase, star, word) in _pieces(text):
        if word is not None:
            if word == 'OR' and terms:
                pending_or = True
                continue
            name, colon, value = word.partition(':')
            name = name + colon
        if name and _is_filter(name, value):
            filters.setdefault(name[:-1].lower(), []).append(value)
            continue
        if word is not None and len(word) > 1 and word[0] == '-' and word[1:].isalnum() and not word[1:].isdigit():
            term = _term(word[1:], False)
            if term is not None and len(without) < _MAX_TERMS:
                without.append(term)
            continue
        if word is not None or phrase is None:
            term = _term(word if word is not None else whole, False)
        else:
            term = _term(phrase, True)
            if term is not None and star:
                term = term._replace(prefix=True)
            if term is not None and minus:
                if len(without) < _MAX_TERMS:
                    without.append(term)
                continue
        if term is None:
            continue
        if pending_or:
            if len(terms[-1]) < _MAX_TERMS:
                terms[-1] = terms[-1] + (term,)
            pending_or = False
        elif len(terms) < _MAX_TERMS:
            terms.append((term,))
    bare = [t for t in terms if len(t) == 1 and not t[0].quoted]
    # A long run of an unspaced script is a sentence, too.
    question = len(bare) > ALL_WORDS or any(sum(1 for w in t[0].words if is_single(w)) > LONG_RUN for t in bare)
    if question:
        kept = [t for t in terms if len(t) > 1 or t[0].quoted or t[0].text.lower() not in STOP_WORDS]
        terms = _distinct(kept or terms)
    query = Query(terms, without, filters, question, text, ())
    return as_question(query) if question else query


def as_question(query):
    """-> the query as a question: unspaced scripts cut into pairs and single characters, other forms of words allowed."""
    terms = []
    for alternatives in query.terms:
        if len(alternatives) > 1 or alternatives[0].quoted:
            terms.append(alternatives)
            continue
        term = alternatives[0]
        if len(term.words) > 2 and sum(1 for w in term.words if is_single(w)) > len(term.words) // 2:
            for i, word in enumerate(term.words):
                terms.append((Term(word, (word,), (), '', False, False),))
                if i and is_single(word) and is_single(term.words[i - 1]):
                    pair = term.words[i - 1:i + 1]
                    terms.append((Term(''.join(pair), pair, (), '', False, False),))
        else:
            terms.append((with_forms(term),))
    return query._replace(terms=_fewer(_distinct(terms)), question=True, dates=dates_in(query.raw))


def _fewer(terms):
    """-> at most _MAX_TERMS terms: of a long text in an unspaced script pairs alone, then every other pair, then its beginning."""
    if len(terms) > _MAX_TERMS:
        terms = [t for t in terms if len(t) > 1 or t[0].quoted or len(t[0].words) > 1 or not is_single(t[0].words[0])]
    if len(terms) > _MAX_TERMS:
        pairs = [t for t in terms if len(t) == 1 and not t[0].quoted and len(t[0].words) == 2 and is_single(t[0].words[0])]
        left = set(map(id, pairs[1::2]))
        terms = [t for t in terms if id(t) not in left]
    return terms[:_MAX_TERMS]


_MONTHS = ('january', 'february', 'march', 'april', 'may', 'june', 'july', 'august', 'september', 'october', 'november',
           'december')
_NUMBERS = (
    Pattern('(?:(\\d{4})\\s*\u5e74\\s*)?(?<!\\d)(\\d{1,2})\\s*[\u6708\uc6d4]\\s*(?:(\\d{1,2})\\s*[\u65e5\u53f7\u865f\uc77c]?)?'),
    Pattern(r'(?<![\d-])(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?![\d-])'))
_NAMES = Pattern(r'(?<!\d)(?:(\d{1,2})(?:st|nd|rd|th)?(?: of)? )?\b(%s)\b\.?(?: (\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,? (\d{4}))?'
                 % '|'.join(['sept'] + [m[:3] + '(?:' + m[3:] + ')?' for m in _MONTHS]), 'IGNORECASE')


def dates_in(text):
    """-> tuple of (year or None, month, day or None) of the dates a question names, in digits, Chinese or English."""
    out, low = [], text.lower()
    # Most questions name none, and these expressions are slow to compile.
    for form in _NUMBERS if any(char.isdecimal() for char in text) else ():
        for year, month, day in form.findall(text):
            out.append((int(year) if year else None, int(month), int(day) if day else None))
    for before, name, after, year in _NAMES.findall(text) if any(month[:3] in low for month in _MONTHS) else ():
        if name.lower() in ('may', 'sept') and not (before or after or year) or not (before or after or year or len(name) > 3):
            continue
        month = [m[:3] for m in _MONTHS].index(name.lower()[:3]) + 1
        out.append((int(year) if year else None, month, int(before or after) if before or after else None))
    return tuple(d for d in dict.fromkeys(out) if 1 <= d[1] <= 12 and (d[2] is None or 1 <= d[2] <= 31))


def is_single(word):
    """True for a token of a script that is indexed character by character."""
    return len(word) == 1 and word >= '\u0e01'


def with_forms(term):
    """-> the term with other forms of its word (plural, -ing, -ed) as further spellings."""
    if term.quoted or term.prefix or len(term.words) != 1 or not _is_latin(term.words[0]):
        return term
    forms = word_forms(term.words[0])
    return term._replace(other=term.other + tuple((form,) for form in forms if (form,) not in term.other))


def _is_latin(word):
    return len(word) > 2 and is_ascii(word) and word.isalpha() and word.islower()


def word_forms(word):
    """-> other forms of an English word, likeliest first; wrong ones do no harm, since nobody wrote them."""
    if len(word) < 3:
        return []
    stems = [word]
    if word.endswith(('ies', 'ied')) and len(word) > 4:
        stems.append(word[:-3] + 'y')
    if word.endswith('es') and len(word) > 4:
        stems.append(word[:-2])
    if word.endswith('s') and not word.endswith('ss') and len(word) > 3:
        stems.append(word[:-1])
    for end in ('ing', 'ed'):
        if word.endswith(end) and len(word) > len(end) + 2:
            stem = word[:-len(end)]
            stems += [stem, stem + 'e']
            if stem[-1] == stem[-2]:
                stems.append(stem[:-1])
    if word.endswith('ly') and len(word) > 5:
        stems.append(word[:-2])
    if word.endswith('er') and len(word) > 4:
        stems += [word[:-2], word[:-1]]
    out = []
    for stem in stems:
        forms = [stem, stem + 's', stem + 'ed', stem + 'ing', stem + 'es']
        if stem.endswith('e'):
            forms += [stem + 'd', stem[:-1] + 'ing', stem + 'r']
        elif stem.endswith('y'):
            forms += [stem[:-1] + 'ies', stem[:-1] + 'ied']
        elif len(stem) > 2 and stem[-1] not in 'aeiouwxy' and stem[-2] in 'aeiou' and stem[-3] not in 'aeiou':
            forms += [stem + stem[-1] + 'ing', stem + stem[-1] + 'ed']
        out += [f for f in forms if f != word and f not in out and len(f) > 2]
    return out[:16]


def _pieces(text):
    """Yield (piece as typed, (operator, its quoted value, minus, phrase, star, word)) of a query, None for what a piece has not."""
    if '"' not in text:
        for word in text.split():
            yield word, (None, None, None, None, None, word)
        return
    if text[0] == text[-1] == '"' and text.count('"') == 2:
        yield text, (None, None, '', text[1:-1], '', None)
        return
    for piece in _PIECE.finditer(text):
        yield piece.group(), piece.groups()


def _is_filter(name, value):
    """True when `name` (with its colon) is an operator and `value` one it can take; else both are literal text."""
    name = name[:-1].lower()
    if name not in OPERATORS or not value:
        return False
    if name == 'is':
        return value.lower() in ('error', 'errors')
    if name in ('before', 'after'):
        return bool(_WHEN.match(value))
    return True


def _distinct(terms):
    seen, out = set(), []
    for alternatives in terms:
        key = tuple(t.words for t in alternatives)
        if key not in seen:
            seen.add(key)
            out.append(alternatives)
    return out


def _term(text, quoted):
    prefix = False
    if not quoted and len(text) > 1 and text.endswith('*') and text[-2] not in '*/.':
        prefix, text = True, text[:-1]
    words = tuple(tokens(text))
    if not words:
        return None
    other = []
    literal = ''
    if quoted or not text.islower() or not text.isalpha() or not is_ascii(text):
        if not quoted and is_ascii(text) and text.replace('$', '_').isidentifier():
            parts = tuple(part.lower() for part in _humps(text))
            if len(parts) > 1:
                for form in (parts, (''.join(parts),)):
                    if form != words:
                        other.append(form)
        elif not text.replace(' ', 'x').isalnum():
            literal = ' '.join(text.casefold().split())
    if not quoted and len(words) > 1 and '-' in text and _is_hyphened(text):
        other.append((''.join(words),))
    elif not quoted and '.' in text and _is_version(text):
        # v1.2.3 and 1.2.3 are the same version.
        other.append((words[0][1:] if words[0][0] == 'v' else 'v' + words[0],) + words[1:])
    return Term(text, words, tuple(other), literal, prefix, quoted)


def _humps(text):
    """-> the parts of an identifier: HTMLParser_v2 is HTML, Parser, v, 2."""
    out, start = [], 0
    for at in range(1, len(text) + 1):
        if at == len(text) or _parts(text[at - 1], text[at], text[at + 1:at + 2]):
            if text[start].isalnum():
                out.append(text[start:at])
            start = at
    return out


def _parts(before, char, after):
    """True where an identifier's next part begins with `char`."""
    if before.isupper():
        return not char.islower() and not char.isupper() or char.isupper() and after.islower()
    return not (before.islower() and char.islower() or before.isdigit() and char.isdigit())


def _is_hyphened(text):
    parts = text.split('-')
    return all(part and part.replace('_', 'x').isalnum() for part in parts) and parts[0][0].isalpha() and parts[0][0] < '\x80'


def _is_version(text):
    parts = text[text[0] in 'vV':].split('.')
    return is_ascii(text) and all(part.isdigit() for part in parts)


def match_expression(term, positions=True):
    """-> the MATCH text of a term. positions=False: for a table without positions (all tokens, in any place)."""
    forms = []
    for words in (term.words,) + term.other:
        if positions or len(words) == 1:
            form = '"%s"' % ' '.join(words)
            forms.append(form + '*' if term.prefix else form)
        else:
            ends = ['"%s"' % w for w in words]
            if term.prefix:
                ends[-1] += '*'
            forms.append('(%s)' % ' AND '.join(ends))
    return forms[0] if len(forms) == 1 else '(%s)' % ' OR '.join(forms)


def alternatives_expression(alternatives, positions=True):
    """-> the MATCH text of a tuple of alternatives."""
    forms = [match_expression(term, positions) for term in alternatives]
    return forms[0] if len(forms) == 1 else '(%s)' % ' OR '.join(forms)
