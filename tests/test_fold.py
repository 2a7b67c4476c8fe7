"""fold: what is indexed and what is asked become the same tokens, in every script."""
import random
import sqlite3
import sys
import unicodedata
from zlib import crc32

import pytest

from echolib.base.fold import FOLD_VERSION, _joins, fold, fold_piece, is_ascii, tokens


def kanji(text):
    """Return the characters of a text as the tokens they become."""
    return [char for char in text if char != ' ']


def emoji(*codes):
    """Return the private letters that stand for emoji."""
    return [chr(0xF0000 + (code & 0xFFFF)) for code in codes]


# name -> (text, tokens)
CASES = {
    'words': ('Fix the Login-Test, now!', ['fix', 'the', 'login', 'test', 'now']),
    'identifiers': ('parse_line_outcome v1.2.3 src/app.py C++', ['parse', 'line', 'outcome', 'v1', '2', '3', 'src', 'app', 'py', 'c']),
    'nothing': (' \n\t-- !?', []),
    'accents': ('Caf\u00e9 na\u00efve \u00c5ngstr\u00f6m Dvo\u0159\u00e1k', ['cafe', 'naive', 'angstrom', 'dvorak']),
    'accents apart': ('Cafe\u0301 nai\u0308ve', ['cafe', 'naive']),
    'Vietnamese': ('Ti\u1ebfng Vi\u1ec7t', ['tieng', 'viet']),
    'sharp s and ligatures': ('Stra\u00dfe \ufb01le \u1e9e', ['strasse', 'file', 'ss']),
    'dotted I': ('\u0130stanbul', ['istanbul']),
    'Greek': ('\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03cc\u03c2', ['\u03bf\u03b4\u03bf\u03c3', '\u03bf\u03b4\u03bf\u03c3']),
    'Cyrillic': ('\u041f\u0440\u0438\u0432\u0435\u0442, \u0401\u043b\u043a\u0430',
                 ['\u043f\u0440\u0438\u0432\u0435\u0442', '\u0435\u043b\u043a\u0430']),
    'full width': ('\uff21\uff22\uff43\uff11\uff12', ['abc12']),
    'numbers of other shapes': ('x\u00b2 \u2163 \u2460 \u00bd', ['x2', 'iv', '1', '1', '2']),
    'mathematical letters': ('\U0001d400\U0001d401', ['ab']),
    'Kelvin': ('300 \u212a', ['300', 'k']),
    # Scripts without gaps: a token a character.
    'Chinese': ('\u4fee\u590d\u8d2d\u7269\u8f66 bug', kanji('\u4fee\u590d\u8d2d\u7269\u8f66') + ['bug']),
    'Chinese glued to words': ('\u7528pytest\u6d4b\u8bd5', ['\u7528', 'pytest', '\u6d4b', '\u8bd5']),
    'Chinese marks': ('\u4f60\u597d\uff0c\u300a\u4e16\u754c\u300b\u3002', kanji('\u4f60\u597d\u4e16\u754c')),
    'rare ideographs': ('\U00020000\U0002f800', ['\U00020000', unicodedata.normalize('NFKC', '\U0002f800')]),
    'compatibility ideographs': ('\uf900', [unicodedata.normalize('NFKC', '\uf900')]),
    'Japanese': ('\u30c6\u30b9\u30c8\u3092\u66f8\u304f', kanji('\u30c6\u30b9\u30c8\u3092\u66f8\u304f')),
    'half width kana': ('\uff83\uff7d\uff84 \uff76\uff9e', ['\u30c6', '\u30b9', '\u30c8', '\u30ac']),
    'kana in two parts': ('\u304b\u3099', ['\u304c']),
    'Korean': ('\ud55c\uad6d\uc5b4', kanji('\ud55c\uad6d\uc5b4')),
    'Korean in parts': (unicodedata.normalize('NFD', '\ud55c\uad6d'), kanji('\ud55c\uad6d')),
    'Thai': ('\u0e17\u0e14\u0e2a\u0e2d\u0e1a', kanji('\u0e17\u0e14\u0e2a\u0e2d\u0e1a')),
    # Scripts with gaps: a token a word; points that may be left out are.
    'Hebrew': ('\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd', ['\u05e9\u05dc\u05d5\u05dd']),
    'Arabic': ('\u0645\u064e\u0631\u0652\u062d\u064e\u0628\u0627', ['\u0645\u0631\u062d\u0628\u0627']),
    'Arabic joined forms': ('\ufedf\ufe8e', ['\u0644\u0627']),
    'Persian joiner': ('\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645', ['\u0645\u06cc\u062e\u0648\u0627\u0647\u0645']),
    'Hindi': ('\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e',
              ['\u0928\u092e\u0938\u094d\u0924\u0947', '\u0926\u0941\u0928\u093f\u092f\u093e']),
    'Cherokee': ('\u13e3\u13b3\u13a9', ['\uabb3\uab83\uab79']),
    # Symbols.
    'emoji': ('done \u2705\U0001f680', ['done'] + emoji(0x2705, 0x1f680)),
    'emoji glued to a word': ('go\U0001f680go', ['go'] + emoji(0x1f680) + ['go']),
    'joined emoji': ('\U0001f469\u200d\U0001f4bb', emoji(0x1f469, 0x1f4bb)),
    'heart with a selector': ('\u2764\ufe0f', emoji(0x2764)),
    'flag': ('\U0001f1ef\U0001f1f5', emoji(0x1f1ef, 0x1f1f5)),
    'other symbols are gaps': ('a\u2014b\u2026c\u20acd\u2192e', ['a', 'b', 'c', 'd', 'e']),
    'spaces of other kinds': ('a\u00a0b\u3000c\u2028d', ['a', 'b', 'c', 'd']),
    'invisible characters': ('pass\u00adword re\u200bset \ufeffx', ['password', 'reset', 'x']),
    'zero byte': ('a\0b', ['a', 'b']),
    'lone surrogates': ('a\ud83db\udc00', ['a', 'b']),
    'private use': ('a\ue000b\U000f0000c', ['a', 'b', 'c']),
}


@pytest.mark.parametrize('name', sorted(CASES))
def test_tokens(name):
    text, expected = CASES[name]
    assert tokens(text) == expected


def test_ascii_is_left_to_the_tokeniser():
    text = 'Fix THE Login-Test \t\n~'
    assert fold(text) is text
    assert fold('') == ''


@pytest.mark.parametrize('text, expected', [('', True), ('abc\0\x7f', True), ('\x80', False), ('a\u4e2d', False), ('\ud800', False)])
def test_is_ascii(text, expected):
    assert is_ascii(text) is expected


SAMPLES = [text for text, _ in CASES.values()]


@pytest.mark.parametrize('name', sorted(CASES))
def test_composition_does_not_matter(name):
    text = CASES[name][0]
    for form in ('NFC', 'NFD', 'NFKC', 'NFKD'):
        assert tokens(unicodedata.normalize(form, text)) == tokens(text), form


@pytest.mark.parametrize('name', sorted(CASES))
def test_case_does_not_matter(name):
    text = CASES[name][0]
    assert tokens(text.upper()) == tokens(text.lower()) == tokens(text)


def test_pieces_fold_as_the_whole():
    # A query is a piece of a text: cut between words, it must give a part of the text's tokens.
    text = ' '.join(SAMPLES)
    words = text.split()
    chance = random.Random(4)
    whole = tokens(text)
    for _ in range(300):
        start = chance.randrange(len(words))
        part = tokens(' '.join(words[start:start + chance.randint(1, 6)]))
        assert not part or any(whole[at:at + len(part)] == part for at in range(len(whole)))


def test_any_piece_of_text_without_gaps_is_found():
    text = '\u5728\u8d2d\u7269\u8f66\u91cc\u4fee\u590d\u56db\u820d\u4e94\u5165'
    whole = tokens(text)
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            assert tokens(text[start:end]) == whole[start:end]


@pytest.fixture(scope='module')
def index():
    """A full-text table as the index has them, and a view of its terms."""
    db = sqlite3.connect(':memory:')
    try:
        db.execute("create virtual table t using fts5(body, tokenize='ascii')")
        db.execute("create virtual table terms using fts5vocab(t, 'instance')")
        db.execute('select * from terms').fetchall()
    except sqlite3.OperationalError:
        pytest.skip('this SQLite has no FTS5 that shows its terms')
    return db


def terms_of(db, texts):
    """Return the terms of each text in order, as SQLite's tokeniser makes them of the folded text."""
    db.execute('delete from t')
    db.executemany('insert into t(rowid, body) values (?, ?)', enumerate(map(fold, texts)))
    out = [[] for _ in texts]
    for term, doc, place in sorted(db.execute('select term, doc, offset from terms'), key=lambda row: row[1:]):
        out[doc].append(term)
    return out


def test_tokens_are_the_terms_of_the_index(index):
    for text, terms in zip(SAMPLES, terms_of(index, SAMPLES)):
        assert terms == tokens(text)


def test_a_query_finds_its_text(index):
    texts = [text for text in SAMPLES if tokens(text)]
    terms_of(index, texts)
    for number, text in enumerate(texts):
        phrase = '"%s"' % ' '.join(tokens(text))
        found = [row for row, in index.execute('select rowid from t where t match ?', (phrase,))]
        assert number in found, text


def check_all(db, codes):
    """Compare tokens with terms for single characters between letters; surrogates too, which SQLite cannot store."""
    texts = ['x%cy %c' % (code, code) for code in codes]
    for text, terms in zip(texts, terms_of(db, texts)):
        assert terms == tokens(text), ascii(text)
        fold(text).encode('utf-8')


@pytest.mark.slow
def test_characters_of_the_scripts_in_daily_use(index):
    check_all(index, list(range(0x3100)) + list(range(0xA640, 0xAC00)) + list(range(0xD7A0, 0xE010)) + list(range(0xF900, 0x10000)))


@pytest.mark.slow
def test_other_characters(index):
    # Ideographs and what nobody uses: samples.
    check_all(index, list(range(0x3100, 0xA640, 7)) + list(range(0xAC00, 0xD7A0, 7)) + list(range(0x10000, 0x20000, 7))
              + list(range(0x20000, sys.maxunicode + 1, 97)))


def test_a_change_of_folding_changes_its_version():
    # Old indexes are rebuilt only when FOLD_VERSION says so: change both together.
    text = ''.join(map(chr, list(range(0x3100)) + list(range(0x1F000, 0x1FB00))))
    # Characters that are newer than the oldest Python's tables differ by Python version.
    text = ''.join(char for char in text if unicodedata.ucd_3_2_0.category(char) != 'Cn')
    assert (FOLD_VERSION, crc32(fold(text).encode('utf-8'))) == (1, 93005374)


def test_characters_that_may_join_the_one_before_are_known():
    chars = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    firsts = [(char, unicodedata.normalize('NFKD', char)[0]) for char in chars]
    # What the database composes or reorders: second parts of composed characters, and marks with a class.
    seconds = set(whole[-1] for whole in (unicodedata.normalize('NFD', char) for char in chars) if len(whole) > 1)
    assert [char for char, first in firsts if (first in seconds or unicodedata.combining(first)) and not _joins(char)] == []


@pytest.mark.parametrize('run', ['\u4f60\u597d\uff0c\u4e16\u754c', '\u1112\u1161\u11ab\u1100\u1173\u11af', '\u3131\u314f', '\u00e9\u0301\u00fc', '\uff76\uff9e\uff77', '\u2714\ufe0f\u2192',
                                 '\ud55c\uae00\u11a8', '\u30ab\u3099', '\u0915\u093c\u094d\u0937', '\u0e01\u0e33\u0e49', '\u00b4\u0301', '\uff21\uff22'])
def test_a_run_folds_as_its_normal_form_does(run):
    assert fold_piece(run) == ''.join(fold_piece(char) for char in unicodedata.normalize('NFKC', run))
