"""Near spellings: every word one edit away is thought of, wherever the edit is."""
import random
import sqlite3

import pytest

from echolib.index import schema
from echolib.index.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(not schema.has_fts5(), reason='this SQLite makes no full-text tables')


def vocabulary(words):
    """-> the Vocabulary of a shard whose document of number n holds the n first words."""
    db = sqlite3.connect(':memory:', isolation_level=None)
    for statement in schema.statements(schema.SHARD_SCHEMA):
        db.execute(statement)
    for number in range(1, len(words) + 1):
        db.execute('insert into prose(rowid, body) values (?, ?)', (number, ' '.join(words[:number])))
    return Vocabulary([(1, db, len(words) + 1)])


def one_edit(a, b):
    """True for words that one letter left out, added, replaced or exchanged with the next makes the same."""
    if len(a) == len(b):
        apart = [i for i in range(len(a)) if a[i] != b[i]]
        return len(apart) == 1 or len(apart) == 2 and apart[1] == apart[0] + 1 and a[apart[0]] == b[apart[1]] and a[apart[1]] == b[apart[0]]
    short, long = sorted((a, b), key=len)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1:] == short for i in range(len(long)))


@pytest.mark.parametrize('seed', range(10))
def test_the_commonest_of_the_words_one_edit_away(seed):
    chance = random.Random(seed)
    words = [''.join(chance.choice('abc') for _ in range(chance.randrange(3, 7))) for _ in range(60)]
    words = list(dict.fromkeys(words))
    known = vocabulary(words)
    for _ in range(60):
        asked = ''.join(chance.choice('abc') for _ in range(chance.randrange(4, 7)))
        near = [word for word in words if one_edit(word, asked)]
        # The earlier a word, the more documents hold it.
        assert known.correct(asked) == (near[0] if near else ''), asked


@pytest.mark.parametrize('at', range(9))
def test_an_edit_anywhere(at):
    known, word = vocabulary(['keepalive']), 'keepalive'
    assert known.correct(word[:at] + word[at + 1:]) == word
    assert known.correct(word[:at] + 'z' + word[at + 1:]) == word
    assert known.correct(word[:at] + 'z' + word[at:]) == word
    if at < 8 and word[at] != word[at + 1]:
        assert known.correct(word[:at] + word[at + 1] + word[at] + word[at + 2:]) == word


def test_words_that_are_not_corrected():
    known = vocabulary(['abc', 'abcde1', '\u00e9tude'])
    assert known.correct('abd') == known.correct('abcde2') == known.correct('\u00e8tude') == ''
    assert known.correct('x' * 40) == ''
