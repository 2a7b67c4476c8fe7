"""The query language: what each form of words becomes, and that no text is an error."""
import random
import re

import pytest

from echolib.index import matching
from echolib.index.query import (ALL_WORDS, OPERATORS, STOP_WORDS, alternatives_expression, as_question, dates_in,
                                 is_single, match_expression, parse, with_forms, word_forms, _humps, _is_hyphened, _is_version)


def words(text):
    """-> the token sequences a text's terms ask for, one list of alternatives a term."""
    return [[t.words for t in alternatives] for alternatives in parse(text).terms]


def only(text):
    """-> the single Term of a text."""
    (alternatives,) = parse(text).terms
    (term,) = alternatives
    return term


def spellings(text):
    """-> every token sequence that the single term of a text matches."""
    term = only(text)
    return set((term.words,) + term.other)


# words, phrases, exclusions

PLAIN = {
    'login timeout': [[('login',)], [('timeout',)]],
    '  login \t timeout\n': [[('login',)], [('timeout',)]],
    '"login timeout"': [[('login', 'timeout')]],
    'a "b c" d': [[('a',)], [('b', 'c')], [('d',)]],
    'one OR two': [[('one',), ('two',)]],
    'one OR two OR "three four"': [[('one',), ('two',), ('three', 'four')]],
    'x one OR two y': [[('x',)], [('one',), ('two',)], [('y',)]],
    'one OR OR two': [[('one',), ('two',)]],
    # OR is a word where it joins nothing, and in small letters.
    'OR one': [[('or',)], [('one',)]],
    'one OR': [[('one',)]],
    'one or two': [[('one',)], [('or',)], [('two',)]],
    # Words that mean something elsewhere mean themselves.
    'not AND near': [[('not',)], [('and',)], [('near',)]],
    '""': [], '': [], ' ': [], '*': [], '"': [], '-"': [], '_ $': [], '\ud800': [],
}


@pytest.mark.parametrize('text', sorted(PLAIN))
def test_words_and_phrases(text):
    query = parse(text)
    assert words(text) == PLAIN[text]
    assert (query.without, query.filters, query.question, query.raw, query.dates) == ([], {}, False, text, ())


def test_a_quote_that_is_never_closed_is_text():
    assert words('say "hello there') == [[('say',)], [('hello',)], [('there',)]]
    assert only('"hello').literal == '"hello'
    assert words('5" disk') == [[('5',)], [('disk',)]]
    assert words('a "b c" "d e') == [[('a',)], [('b', 'c')], [('d',)], [('e',)]]


def test_exclusions():
    query = parse('cache -redis -"memory limit" -登录')
    assert [t.words for t in query.without] == [('redis',), ('memory', 'limit'), ('登', '录')]
    assert [a[0].words for a in query.terms] == [('cache',)]
    assert parse('-redis').terms == []
    # Options, numbers and ranges are text.
    for text in ('--no-verify', '-1', '-15', '-', '--', '-x=1', 'a-b', '-no-verify'):
        assert parse(text).without == [], text
    assert only('--no-verify').words == ('no', 'verify')
    assert only('-15').words == ('15',)


def test_prefixes():
    assert only('organi*')[:2] == ('organi', ('organi',)) and only('organi*').prefix
    assert only('"log in"*').prefix and only('"log in"*').words == ('log', 'in')
    assert only('parse_li*').words == ('parse', 'li') and only('parse_li*').prefix
    for text in ('foo**', 'src/*', '*.py', 'a*b'):
        assert not only(text).prefix, text


# operators

OPERATED = {
    'role:user': {'role': ['user']}, 'Role:USER': {'role': ['USER']}, 'tool:Bash': {'tool': ['Bash']},
    'file:src/app.py': {'file': ['src/app.py']}, 'project:"/home/ann/my app"': {'project': ['/home/ann/my app']},
    'agent:codex': {'agent': ['codex']}, 'model:opus': {'model': ['opus']}, 'is:error': {'is': ['error']},
    'is:ERRORS': {'is': ['ERRORS']}, 'before:2026-03-01': {'before': ['2026-03-01']}, 'after:7d': {'after': ['7d']},
    'before:today after:yesterday': {'before': ['today'], 'after': ['yesterday']},
    'after:2026-03-01T10:00': {'after': ['2026-03-01T10:00']}, 'tool:Bash tool:Read': {'tool': ['Bash', 'Read']},
}


@pytest.mark.parametrize('text', sorted(OPERATED))
def test_operators_are_no_words(text):
    query = parse('one ' + text + ' two three')
    assert query.filters == OPERATED[text]
    assert [a[0].text for a in query.terms] == ['one', 'two', 'three'] and not query.question
    assert parse(text).terms == []


@pytest.mark.parametrize('text', ['role:', 'is:fast', 'before:noon', 'after:x', 'name:value', 'http://x', 'a::b', 'std::vector', ':x', '项目:x',
                                  '"role:user"', 'before:2026'])
def test_what_only_looks_like_an_operator_is_text(text):
    query = parse(text)
    assert query.filters == {} and len(query.terms) == 1


def test_every_operator_is_known():
    assert sorted(set(key for filters in OPERATED.values() for key in filters)) == sorted(OPERATORS)


def test_or_goes_on_over_an_operator():
    query = parse('one OR role:user two')
    assert [t.words for t in query.terms[0]] == [('one',), ('two',)] and query.filters == {'role': ['user']}


# identifiers and other technical text

IDENTIFIERS = {
    'parse_line_outcome': {('parse', 'line', 'outcome'), ('parselineoutcome',)},
    'parseLineOutcome': {('parse', 'line', 'outcome'), ('parselineoutcome',)},
    'ParseLineOutcome': {('parse', 'line', 'outcome'), ('parselineoutcome',)},
    'PARSE_LINE_OUTCOME': {('parse', 'line', 'outcome'), ('parselineoutcome',)},
    'parse-line-outcome': {('parse', 'line', 'outcome'), ('parselineoutcome',)},
    're-index': {('re', 'index'), ('reindex',)},
    'HTMLParser': {('htmlparser',), ('html', 'parser')},
    'utf8Decode': {('utf8decode',), ('utf', '8', 'decode')},
    '__init__': {('init',)},
    'ECONNREFUSED': {('econnrefused',)},
    'v1.2.3': {('v1', '2', '3'), ('1', '2', '3')},
    '1.2.3': {('v1', '2', '3'), ('1', '2', '3')},
    'login': {('login',)},
}


@pytest.mark.parametrize('text', sorted(IDENTIFIERS))
def test_spellings_of_an_identifier(text):
    assert spellings(text) == IDENTIFIERS[text]


def test_spellings_meet_each_other():
    for one in ('parse_line_outcome', 'parseLineOutcome', 'ParseLineOutcome', 'PARSE_LINE_OUTCOME', 'parse-line-outcome'):
        found = matching.Matcher(only(one))
        for other in ('parse_line_outcome', 'parseLineOutcome', 'parse line outcome', 'parse-line-outcome', 'Parse.Line.Outcome'):
            assert found.find(matching.folded('call %s here' % other)), (one, other)
        assert not found.find('parse the line outcome') and not found.find('xparselineoutcomes')
    # In quotes, the words are asked for as they are.
    assert only('"parseLineOutcome"').other == ()


LITERALS = {
    'C++': 'c++', 'C#': 'c#', '.NET': '.net', 'src/app.py': 'src/app.py', '--no-verify': '--no-verify', 'v1.2.3': 'v1.2.3',
    '127.0.0.1:5432': '127.0.0.1:5432', 'what?': 'what?', 'foo(bar)': 'foo(bar)', "don't": "don't", '@dataclass': '@dataclass',
    'https://example.com/a?b=c#d': 'https://example.com/a?b=c#d', 'std::vector<int>': 'std::vector<int>', '登录?': '登录?', 'x&&y': 'x&&y',
}


@pytest.mark.parametrize('text', sorted(LITERALS))
def test_punctuation_is_kept_to_be_checked(text):
    assert only(text).literal == LITERALS[text]


def test_plain_words_need_no_check():
    for text in ('login', '登录', 'parse_line', 'ёлка', 'v2', '"two words"'):
        assert only(text).literal == ''


# scripts

SCRIPTS = {
    'ＡＰＩ': ('api',), 'café': ('cafe',), 'cafe\u0301': ('cafe',), 'ÅNGSTRÖM': ('angstrom',), 'СЕРВЕР': ('сервер',), 'ёлка': ('елка',),
    'ΌΛΟΣ': ('ολοσ',), 'كِتَاب': ('كتاب',), 'שָׁלוֹם': ('שלום',), 'straße': ('strasse',), 'ﬁle': ('file',), '登录': ('登', '录'),
    '用React写': ('用', 'react', '写'), 'ｶﾞ': ('ガ',), '로그인': ('로', '그', '인'), 'ล่ม': ('ล', '่', 'ม'), 'सर्वर': ('सर्वर',), '🚀': ('\U000ff680',),
    '\U0001f469\u200d\U0001f4bb': ('\U000ff469', '\U000ff4bb'), '1₂': ('12',),
}


@pytest.mark.parametrize('text', sorted(SCRIPTS))
def test_scripts_are_folded(text):
    assert only(text).words == SCRIPTS[text]


def test_a_short_run_is_a_phrase_and_a_long_one_a_question():
    assert not parse('登录超时').question and words('登录超时') == [[('登', '录', '超', '时')]]
    long = parse('登录超时的问题是怎么修的')
    assert long.question
    asked = [t.words for alternatives in long.terms for t in alternatives]
    assert ('登',) in asked and ('登', '录') in asked and ('修', '的') in asked and len(asked) == len(set(asked))
    # Quoted, it stays whole.
    assert words('"登录超时的问题是怎么修的"') == [[tuple('登录超时的问题是怎么修的')]]


def test_is_single():
    assert is_single('登') and is_single('ガ') and is_single('로') and is_single('ก')
    assert not is_single('a') and not is_single('я') and not is_single('登录') and not is_single('א')


# questions

def test_more_than_three_words_are_a_question():
    assert ALL_WORDS == 3
    assert not parse('one two three').question and parse('one two three four').question
    assert not parse('one two three "four five" role:user -six').question
    assert not parse('a OR b c OR d e OR f g OR h').question


def test_words_that_say_nothing_are_left_out_of_questions():
    query = parse('why does the build fail in the CI')
    assert [a[0].text for a in query.terms] == ['build', 'fail', 'CI'] and query.question
    # Where there is nothing else they stay.
    assert [a[0].text for a in parse('what is it that').terms] == ['what', 'is', 'it', 'that']
    # Short queries keep them: someone may look for them.
    assert [a[0].text for a in parse('the who').terms] == ['the', 'who']
    assert [a[0].text for a in parse('one one two two three').terms] == ['one', 'two', 'three']
    assert all(word == word.lower() for word in STOP_WORDS)


def test_questions_allow_other_forms():
    term = [a[0] for a in parse('which retries failed in staging yesterday').terms if a[0].text == 'retries'][0]
    assert ('retry',) in term.other and ('retrying',) in term.other
    phrase = [a[0] for a in parse('"retries failed" in the staging cluster yesterday').terms if a[0].quoted][0]
    assert phrase.other == ()


def test_as_question_of_a_short_query():
    assert as_question(parse('登录超时')).question
    assert [a[0].words for a in as_question(parse('登录超时')).terms] == [
        ('登',), ('录',), ('登', '录'), ('超',), ('录', '超'), ('时',), ('超', '时')]


def test_a_long_paste_asks_for_a_bounded_number_of_terms():
    rng = random.Random(5)
    chinese = ''.join(chr(rng.randrange(0x4e00, 0x9000)) for _ in range(20000))
    many = ' '.join('word%d' % i for i in range(5000))
    for text in (chinese, chinese[:70], many, many.replace(' ', ' OR '), many.replace(' ', ' -'), many.replace(' ', '" "'), 'x' * 100000):
        query = parse(text)
        assert len(query.terms) <= 64 and len(query.without) <= 64 and all(len(a) <= 64 for a in query.terms)
    # Of up to 64 characters every pair is kept.
    pairs = [a[0].words for a in parse(chinese[:60]).terms]
    assert [tuple(chinese[i:i + 2]) for i in range(59)] == pairs
    assert len(parse(chinese[:120]).terms) == 60


FORMS = {
    'retries': 'retry retrying retried', 'retried': 'retry retries retrying', 'running': 'run runs', 'run': 'runs running', 'caching': 'cache caches cached',
    'cached': 'cache caching', 'cache': 'caches cached caching', 'stopped': 'stop', 'boxes': 'box', 'errors': 'error', 'parser': 'parse parsing parsers',
    'quickly': 'quick', 'fixed': 'fix fixes fixing', 'applied': 'apply applies', 'class': 'classes', 'timeout': 'timeouts', 'migration': 'migrations',
}


@pytest.mark.parametrize('word', sorted(FORMS))
def test_word_forms(word):
    found = word_forms(word)
    assert set(FORMS[word].split()) <= set(found), found
    assert word not in found and len(found) == len(set(found)) <= 16 and all(len(f) > 2 for f in found)


def test_word_forms_of_what_has_none():
    assert word_forms('is') == [] and word_forms('s') == []
    assert 'clas' not in word_forms('class')
    for text in ('登录', 'E0308', 'parse_line', '"errors"', 'err*'):
        assert with_forms(only(text)) == only(text)


# days

DAYS = {
    'what did we do on 5 March': [(None, 3, 5)], 'on March 5th, 2026': [(2026, 3, 5)], 'the 3rd of June 2025': [(2025, 6, 3)],
    'Dec 12': [(None, 12, 12)], '12 dec': [(None, 12, 12)], 'sept 3': [(None, 9, 3)], 'in September': [(None, 9, None)],
    'May 2026': [(2026, 5, None)], 'may 4': [(None, 5, 4)], '2026-03-05': [(2026, 3, 5)], 'since 2026-03': [(2026, 3, None)],
    '2026-03-05T10:00': [(2026, 3, 5)], '12月5日': [(None, 12, 5)], '2026年3月': [(2026, 3, None)], '2026年3月5号的': [(2026, 3, 5)],
    '7月8号和7月9号': [(None, 7, 8), (None, 7, 9)], '3월 5일': [(None, 3, 5)], '5 March and 5 March': [(None, 3, 5)],
    'March 3 or 4 April': [(None, 3, 3), (None, 4, 4)],
}


@pytest.mark.parametrize('text', sorted(DAYS))
def test_days_a_question_names(text):
    assert list(dates_in(text)) == DAYS[text]


@pytest.mark.parametrize('text', [
    '', 'may we', 'you may', 'mar', 'dec', 'sept fichiers', 'version 1.2.3', '13月', '12月32日', 'March 32', '2026-13-01', '2026年13月',
    '10.20.30', 'mayor 5', 'decimal 5', '5 marching bands', '192.168.1.1', 'a-2026-3', '1234-56-78-90'])
def test_what_is_no_day(text):
    assert dates_in(text) == ()


def test_only_questions_name_days():
    assert parse('login 5 March').dates == ()
    assert parse('what happened on 5 March with the login').dates == ((None, 3, 5),)
    assert parse('12月5日我们讨论了什么问题').dates == ((None, 12, 5),)


# words of a MATCH

def test_match_expressions():
    assert match_expression(only('login')) == '"login"'
    assert match_expression(only('log*')) == '"log"*'
    assert match_expression(only('"log in"*')) == '"log in"*'
    assert match_expression(only('parse_line')) == '("parse line" OR "parseline")'
    # A table without positions can only say that all tokens are there.
    assert match_expression(only('parse_line'), False) == '(("parse" AND "line") OR "parseline")'
    assert match_expression(only('"log in"*'), False) == '("log" AND "in"*)'
    assert alternatives_expression(parse('one OR two').terms[0]) == '("one" OR "two")'


# any text is a query

PIECES = ('"', '""', '*', '-', 'OR', 'AND', 'NOT', 'NEAR', '(', ')', '{', '}', '[', ']', ':', '^', '+', '\\', '/', ' ', '\t', '\n', '\0', '\x1b',
          '%', '_', "'", ';', '--', 'alpha', 'parse_line', 'parseLine', '登', '登录超时', '\ud800', '\udfff', '😀', '👩\u200d💻', '\u200b', '\u0301',
          'é', 'ß', 'İ', 'ﬁ', '½', 'role:', 'role:user', 'tool:Bash', 'is:error', 'is:', 'before:', 'before:2026-01-01', 'project:"', 'file:a', '1.2.3',
          '-x', '-"', '"*', '*"', 'กา', 'हि', 'ｱ', '각', 'a' * 80, '::', 'http://a/b?c=d', 'C++', '…', '—', '«', '\U000f0000', '\uffff', 'rowid', 'prose',
          'body:', '^alpha', 'NEAR(alpha, 2)', '-"a b"', '٣', '५', '5月', '2026-03-05', 'March 5')


def random_query(rng):
    """-> any text: pieces that mean something somewhere, or any characters at all."""
    if rng.random() < 0.15:
        ranges = ((0, 128), (0, 0x3000), (0x4e00, 0x9fff), (0x1f000, 0x1ffff), (0, 0x110000))
        return ''.join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(rng.randrange(1, 14)))
    return ''.join(rng.choice(PIECES) + rng.choice(('', ' ', '')) for _ in range(rng.randrange(1, 9)))


@pytest.mark.slow
def test_any_text_is_a_query():
    import sqlite3
    db = sqlite3.connect(':memory:')
    try:
        db.execute("create virtual table prose using fts5(body, content='', tokenize='ascii')")
    except sqlite3.OperationalError:
        db = None
    rng = random.Random(20261130)
    for _ in range(4000):
        text = random_query(rng)
        query = parse(text)
        assert parse(text) == query
        for alternatives in query.terms + [tuple(query.without)] * bool(query.without):
            for positions in (True, False):
                expression = alternatives_expression(alternatives, positions)
                if db is not None:
                    # Legal in SQLite, whatever was typed.
                    assert db.execute('select rowid from prose where prose match ?', (expression,)).fetchall() == []
            for term in alternatives:
                assert term.words and all(word and not re.search('[\x00-/:-`{-\x7f]', word) for word in term.words), text
                # What was typed matches itself.
                assert matching.Matcher(term).find(matching.folded(text)), (text, term)
        assert as_question(query).question


# told without expressions, as these expressions tell it
def as_expression(term):
    """-> what a Matcher looks for, as a regular expression over folded text."""
    def begin(text):
        return re.escape(text) + ('(?<![^\\W_]%s)' % re.escape(text) if text[0].isalnum() or text[0] >= '\x80' else '')

    def end(text):
        return '' if term.prefix or not (text[-1].isalnum() or text[-1] >= '\x80') else r'(?![^\W_])'

    forms = []
    if term.literal and term.literal < '\x80' and all(c < '\x80' for c in term.literal):
        parts = term.literal.split(' ')
        forms.append(begin(parts[0]) + ''.join(r'\s+' + re.escape(part) for part in parts[1:]) + end(parts[-1]))
    for pieces in (term.words,) + term.other:
        out = begin(pieces[0])
        for before, piece in zip(pieces, pieces[1:]):
            spaced = before[-1] < '\u0e01' and piece[0] < '\u0e01'
            out += '[\x00-/:-`{-\x7f]{%d,40}?' % spaced + re.escape(piece)
        forms.append(out + end(pieces[-1]))
    return re.compile('|'.join(forms))


PIECES = ['a', 'b', 'ab', 'foo', 'Foo', 'fooBar', 'C++', '--no-verify', 'v1.2', '1.2', 'src/app.py', '\u6d4b', '\u6d4b\u8bd5', '\xe9', '_', '-', ' ', '  ', '.',
          '\n', 'e\u0301', '\ud55c', 'x_y', '*', '"a b"', '"c++ d"', '+', '\t', ' ' * 41, 'A1', '\xdf', '\u0130', '\u0e14']


def test_matchers_find_what_expressions_find():
    dice, hits = random.Random(5), 0
    for _ in range(6000):
        query = ''.join(dice.choice(PIECES) for _ in range(dice.randrange(1, 5)))
        if dice.random() < 0.3:
            query = '"%s"' % query.replace('"', '')
        low = matching.folded(''.join(dice.choice(PIECES + [query.strip('"*'), query.lower()]) for _ in range(dice.randrange(1, 12))))
        for alternatives in parse(query).terms:
            for term in map(with_forms, alternatives):
                wanted = [found.span() for found in as_expression(term).finditer(low)]
                assert list(matching.Matcher(term).spans(low)) == wanted, (query, low)
                assert matching.Matcher(term).find(low) == (wanted[0] if wanted else None), (query, low)
                hits += len(wanted)
    assert hits > 1500


def test_parts_of_identifiers_and_kinds_of_words():
    dice, count = random.Random(6), 0
    for _ in range(20000):
        word = ''.join(dice.choice('aabBCc12_$-.vV\xe9\u0663') for _ in range(dice.randrange(1, 9)))
        if re.match(r'[A-Za-z_$][A-Za-z0-9_$]*\Z', word):
            assert _humps(word) == re.findall('[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+', word), word
            count += 1
        if '-' in word:
            assert _is_hyphened(word) == bool(re.match(r'[A-Za-z]\w*(-\w+)+\Z', word)), word
        if '.' in word:
            assert _is_version(word) == bool(re.match(r'[vV]?[0-9]+(\.[0-9]+)+\Z', word)), word
    assert count > 4000
