"""Sums over sessions, made in one pass and put together: against plain additions for each table."""
import json
import sqlite3

from echolib import analysis
from echolib.index import schema
from echolib.index.catalog import Catalog, Filter
from echolib.index.sums import Part, Sum, merged, sums

ALL = Filter(None, None, None, None, None, None)
BIG = 1 << 70


def _model(name, calls, tokens, cost=0, unpriced=0):
    out = {'api_calls': calls, 'assistant_messages': calls, 'output_known_calls': calls, 'm|%s|calls' % name: calls, 'm|%s|input' % name: tokens}
    if unpriced:
        out.update({'m|%s|unpriced_calls' % name: unpriced, 'm|%s|unpriced_tokens' % name: tokens})
    elif cost:
        out['m|%s|cost_input' % name] = cost
    return out


# agent, project, readable, copy_of, machine, lines, tokens column, tally
SESSIONS = (
    ('claude', '/a', 1, None, 0, 10, '{}', dict(_model('x', 2, 30, 5), tool_calls=2, **{'t|Bash|calls': 2, 't|Bash|errors': 1, 'tool_errors': 1})),
    ('claude', '/a', 1, None, 1, 20, '{}', _model('x', 1, BIG, 7)),
    ('claude', '/b', 1, None, 0, None, '{}', _model('y|z', 3, 9, unpriced=3)),
    ('codex', '/b', 1, None, None, 5, 'null', {'user_prompts': 4}),
    ('codex', None, 2, None, 0, 1, '{}', _model('x', 1, 1, 1)),
    ('codex', '/b', 1, 1, 0, 1000, '{}', _model('copy', 100, 100, 100)),
    ('codex', '/b', 0, None, 0, 1000, '{}', _model('unread', 100, 100, 100)),
    ('grok', '/a', 1, None, 0, 3, '{}', None),
)


def _catalog(times=1):
    db = sqlite3.connect(':memory:', isolation_level=None)
    for statement in schema.statements(schema.INDEX_SCHEMA):
        db.execute(statement)
    for number, (agent, project, readable, copy_of, machine, lines, tokens, tally) in enumerate(SESSIONS * times):
        db.execute('insert into sessions (id, agent, project, readable, copy_of, machine, lines, tokens, tally, modified, created, root, folder, sid)'
                   ' values (?, ?, ?, ?, ?, ?, ?, ?, ?, 5000, 1000, ?, ?, ?)', (
                       number + 1, agent, project, readable, copy_of, machine, lines, tokens, '' if tally is None else json.dumps(tally), number, '', ''))
    return Catalog(db)


def _plain(wanted):
    """-> tally of the sessions that count and for which wanted(session) is true."""
    out = {}
    for one in SESSIONS:
        if one[2] and one[3] is None and wanted(one):
            for name, value in (one[7] or {}).items():
                out[name] = out.get(name, 0) + value
    return out


def test_one_pass_gives_every_table():
    found = sums(_catalog(), ALL, lambda part: (part.agent, part.project), True)
    whole = merged(found, lambda name: 1)[1]
    assert whole.tally == _plain(lambda one: True)
    assert (whole.rows, whole.sessions, whole.coverage, whole.unknown) == (6, 5, (39, 0, 0), {'codex': 1})
    out = whole.totals()
    # 30 + 2**70 + 9 + 1 tokens; 5 + 7 + 1 millionths of a millionth; three calls without a price.
    assert out['tokens']['input'] == BIG + 40 and out['cost_usd'] is None and out['known_cost_usd'] == 13 / 1e12
    assert out['unpriced'] == {'calls': 3, 'tokens': 9} and out['total_is_lower_bound']
    assert out['tools'] == {'Bash': {'calls': 2, 'errors': 1, 'declined': 0}} and sorted(out['by_model']) == ['x', 'y|z']
    assert (out['lines'], out['sessions'], out['user_prompts'], out['tokens_unknown']) == (39, 5, 4, {'codex': 1})
    by_agent = merged(found, lambda name: name[0])
    assert list(by_agent) == ['claude', 'codex', 'grok']
    for agent, one in by_agent.items():
        assert one.tally == _plain(lambda row: row[0] == agent)
    figures = by_agent['codex'].figures()
    assert (figures['sessions'], figures['api_calls'], figures['cost_usd'], figures['tokens_unknown']) == (1, 1, 1 / 1e12, 1)


def test_what_is_left_out():
    catalog = _catalog()
    found = sums(catalog, ALL, lambda part: part.machine or None)
    assert list(found) == [1] and found[1].tally == _plain(lambda one: one[4] == 1)
    assert sums(catalog, ALL._replace(agent='grok'), lambda part: part)[Part(8, 'grok', '/a', 1, 0, 5000)].tally == {}
    assert merged({}, lambda name: name) == {} and Sum().totals()['cost_usd'] == 0


def test_many_sessions_are_added_in_pieces():
    # 6 of 8 rows count, 200 times: more than are read at a time.
    found = sums(_catalog(200), ALL, lambda part: 1, True)[1]
    assert found.rows == 1200 and found.tally == dict((name, 200 * value) for name, value in _plain(lambda one: True).items())


def test_only_what_is_dated_inside():
    catalog = _catalog()
    catalog.db.execute("insert into names values (1, 'x')")
    for number, (session, time) in enumerate(((1, 1500), (1, 2500), (1, None), (2, 2600), (6, 2700))):
        catalog.db.execute('insert or ignore into files (id, session, path) values (?, ?, ?)', (session, session, str(session)))
        catalog.db.execute('insert into facts values (?, ?, 1, ?, ?, 0, 1, 1, 10, 1, 0, 0, 0, 0, ?)', (number, session, analysis.CALL, time, ''))
    found = sums(catalog, ALL._replace(since=2000, until=3000), lambda part: part.id, price=lambda *call: (3, 0, 0, 0, 0))
    # The session without any tally is dated nowhere, and so everywhere; a copy and what has nothing there are not chosen.
    assert sorted(found) == [1, 2, 8] and found[8].tally == {}
    assert [found[n].tally['m|x|input'] for n in (1, 2)] == [10, 10] and found[1].figures()['known_cost_usd'] == 3 / 1e12
