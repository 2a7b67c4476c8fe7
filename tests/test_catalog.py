"""Choosing and ordering sessions in SQL: against a look at every row by itself."""
import itertools
import random
import sqlite3

import pytest

from echolib.index import schema
from echolib.index.catalog import Catalog, Filter, same_project

NOW = 1700000000000
DAY = 86400000
# One directory in two spellings, twice.
PROJECTS = ('/home/a', '/home/a/', '/home/b', 'C:\\work\\', 'c:\\work', '/home/caf\u00e9', '/home/cafe\u0301', '/', '', None)


@pytest.fixture(scope='module')
def home():
    """-> (Catalog, list of dicts of all sessions) of an index with odd rows."""
    db = sqlite3.connect(':memory:', isolation_level=None)
    for statement in schema.statements(schema.INDEX_SCHEMA):
        db.execute(statement)
    pick, rows = random.Random(3), []
    for number in range(1, 121):
        # Few times, so that many are the same.
        modified = pick.choice((None, 0, NOW - 30 * DAY, NOW - 3 * DAY, NOW, NOW + 2 * DAY))
        row = dict(id=number, agent=pick.choice(('claude', 'codex')), root=number % 2, folder='f', sid='s%03d' % (number // 2), modified=modified,
                   project=pick.choice(PROJECTS), created=pick.choice((None, NOW - 40 * DAY, NOW - 3 * DAY)),
                   title=pick.choice((None, 'Fix ÉCOLE', 'other')), first_prompt=pick.choice(('', 'école 登录', 'x')),
                   path=pick.choice(('/t/a.jsonl', b'/t/\xffecole.jsonl')), msg_count=pick.choice((None, 0, 1, 7)), readable=pick.choice((0, 1, 1, 1, 2)),
                   copy_of=pick.choice((None, None, None, 1)), machine=pick.choice((None, 0, 1)), tally=pick.choice((None, '', '{}', '{"a":1}')))
        rows.append(row)
        db.execute('insert into sessions (%s) values (%s)' % (', '.join(sorted(row)), ', '.join('?' * len(row))), [row[k] for k in sorted(row)])
        db.execute('insert into files (id, session, path) values (?, ?, ?)', (number, number, 'p%d' % number))
        row['dated'] = [pick.choice((None, NOW - 35 * DAY, NOW - 2 * DAY)) for _ in range(pick.choice((0, 1, 3)))]
        for at, time in enumerate(row['dated']):
            db.execute('insert into facts (key, file, time) values (?, ?, ?)', (number * 10 + at, number, time))
    return Catalog(db), rows


def test_one_project_in_its_spellings():
    for one, other in (('C:\\work', 'c:\\work\\'), ('/home/caf\u00e9', '/home/cafe\u0301/'), ('d:/\u00e9', 'D:/e\u0301'), ('/home/a', '/home/a')):
        assert same_project(one, other) and same_project(other, one)
    for one, other in (('C:\\work', 'D:\\work'), ('C:\\Work', 'C:\\work'), ('/home/cafe', '/home/caf\u00e9'), ('', ''), (None, '/')):
        assert not same_project(one, other)


def expected(rows, which, now):
    """-> ids of the chosen rows in order."""
    def fits(row):
        texts = [row['path'].decode('utf-8', 'replace') if isinstance(row['path'], bytes) else row['path']]
        texts += [row[name] or '' for name in ('title', 'sid', 'project', 'first_prompt')]
        inside = [t for t in row['dated'] if t is not None and (which.since is None or t >= which.since) and (which.until is None or t < which.until)]
        bounded = which.since is not None or which.until is not None
        return (row['readable'] == 1 and row['copy_of'] is None and (which.agent in (None, row['agent']))
                and (which.machine is None or row['machine'] == int(which.machine))
                and (which.since is None or row['modified'] is not None and row['modified'] >= which.since)
                and (which.until is None or row['created'] is not None and row['created'] < which.until)
                and (not bounded or inside or row['tally'] in (None, '', '{}'))
                and (which.project is None or same_project(row['project'], which.project))
                and (which.grep is None or any(which.grep in text.lower().replace('é', 'e') for text in texts)))
    late = lambda row: now is not None and (row['modified'] or 0) > now + DAY
    return [row['id'] for row in sorted(filter(fits, rows), key=lambda r: (
        r['machine'] or 0, not r['msg_count'], late(r), -(r['modified'] or 0), r['sid'], r['id']))]


FILTERS = [Filter(project, agent, since, until, grep, machine) for project, agent, (since, until), grep, machine in itertools.product(
    (None, '/home/a', '/home/a/', 'C:\\work', 'c:\\work\\', '/home/caf\u00e9', '/', '/nowhere\udcff'), (None, 'codex'),
    ((None, None), (NOW - 10 * DAY, None), (None, NOW - 10 * DAY), (NOW - 38 * DAY, NOW - 1 * DAY)), (None, 'ecole'), (None, True, False))]


def test_rows_and_pages(home):
    catalog, rows = home
    for which in random.Random(1).sample(FILTERS, 90):
        wanted = expected(rows, which, NOW)
        assert [row.id for row in catalog.rows(which, NOW)] == wanted
        assert sorted(row[0] for row in catalog.values(('id', 'sid'), which)) == sorted(wanted)
        late = sum(1 for row in rows if row['id'] in set(wanted) and (row['modified'] or 0) > NOW + DAY)
        for limit in (0, 7):
            page = catalog.page(which, NOW, limit)
            assert ([row.id for row in page.rows], page.total, page.late) == (wanted[:limit or None], len(wanted), late)
    assert [row.id for row in catalog.rows()] == expected(rows, Filter(None, None, None, None, None, None), None)


def test_a_page_reads_no_more_rows_than_it_shows(home):
    catalog, _ = home
    steps = []
    catalog.db.set_trace_callback(lambda sql: steps.append(sql))
    catalog.page(Filter(None, None, None, None, None, None), NOW, 3)
    catalog.db.set_trace_callback(None)
    whole = [sql for sql in steps if 'first_prompt' in sql]
    assert len(whole) == 1 and 'where id in (' in whole[0] and whole[0].count(',', whole[0].index(' in (')) == 2
    for sql in steps:
        if sql not in whole:
            plan = ' '.join(row[3] for row in catalog.db.execute('explain query plan ' + sql))
            assert 'COVERING INDEX sessions_listed' in plan, plan
