"""The order of a shard's prose where half of it holds the word: who said it, and when."""
import random
import sqlite3

import pytest

from echolib.index import schema
from echolib.index.flat import by_kind_and_time
from echolib.index.search import AGEING, WEIGHTS, YEAR

NEWEST = 1700000000000


def score(kind, time, weight=2.5):
    age = 0.0 if time is None or time <= 0 else max(0.0, min(1.0, (NEWEST - time) / YEAR))
    return weight * WEIGHTS[kind] * (1.0 - AGEING * age)


@pytest.fixture
def shard():
    db = sqlite3.connect(':memory:', isolation_level=None)
    for statement in schema.statements(schema.SHARD_SCHEMA):
        if 'docs' in statement:
            db.execute(statement)
    yield db
    db.close()


def fill(db, rows):
    db.executemany('insert into docs (id, file, kind, time) values (?, 1, ?, ?)', rows)


@pytest.mark.parametrize('seed', range(20))
def test_the_order_is_that_of_the_scores(shard, seed):
    chance = random.Random(seed)
    times = [None, 0, -5, NEWEST, NEWEST + 10 ** 9, NEWEST - int(3 * YEAR)] + [NEWEST - chance.randrange(int(2 * YEAR)) for _ in range(30)]
    rows = [(number, chance.choice((1, 2, 3, 4, 5, 10, 11)), chance.choice(times)) for number in range(1, 200)]
    fill(shard, rows)
    wanted = [(-score(kind, time), float('inf') if time is None else -time, number) for number, kind, time in rows if kind < 5 and number < 150]
    assert list(by_kind_and_time(shard, 150, 2.5, NEWEST)) == [(number, -worth) for worth, _, number in sorted(wanted)]


def test_only_the_kinds_that_were_asked_for(shard):
    fill(shard, [(1, schema.PROMPT_DOC, NEWEST), (2, schema.REPLY_DOC, NEWEST), (3, schema.HISTORY_DOC, NEWEST)])
    assert [doc for doc, _ in by_kind_and_time(shard, 9, 1.0, NEWEST, {schema.REPLY_DOC, schema.HISTORY_DOC})] == [2]


def test_what_is_taken_is_read_and_nothing_else(shard):
    fill(shard, [(number, schema.PROMPT_DOC, NEWEST - number) for number in range(1, 20001)])
    steps = []
    shard.set_progress_handler(lambda: steps.append(1) and None, 1000)
    ordered = by_kind_and_time(shard, 99999, 1.0, NEWEST)
    assert [next(ordered)[0] for _ in range(300)] == list(range(1, 301))
    assert len(steps) < 10
