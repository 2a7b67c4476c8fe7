"""usage: each call at its own time in the reader's zone, and the sum of stats."""
import pytest

from echolib.base import clock
from echolib.insights import usage as insight
from helpers import call_script
from small import MODEL, OTHER, SID, answer, text, user, write

slow = pytest.mark.slow
HAIKU = 'claude-haiku-4-5-20251001'
BUCKETS = ('input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    """Two projects, three models, calls around midnight, one without a time."""
    tmp_path = tmp_path_factory.mktemp('usage')
    write(tmp_path, [
        user('late', 1, '2026-01-24T23:00:00Z'),
        answer([text('a')], 2, '2026-01-24T23:30:00Z', 'msg_1', (10, 1, 0, 0)),
        answer([text('b')], 3, '2026-01-25T00:30:00Z', 'msg_2', (20, 2, 5, 7)),
        answer([text('c')], 4, '2026-01-25T12:00:00Z', 'msg_3', (40, 4, 0, 0), model=HAIKU)])
    write(tmp_path, [
        user('other', 5, '2026-02-02T10:00:00Z', sid=OTHER, cwd='/home/dev/other'),
        answer([text('d')], 6, '2026-02-02T10:00:01Z', 'msg_4', (80, 8, 0, 0), model='nobody-knows-1', sid=OTHER, cwd='/home/dev/other'),
        answer([text('e')], 7, 'never', 'msg_5', (160, 16, 0, 0), sid=OTHER, cwd='/home/dev/other')], OTHER, '-home-dev-other')
    return tmp_path


def usage(home, *args, **env):
    got = call_script('trend-engine', 'usage', '--format', 'json', *args, home=home, **env)
    assert (got.rc, got.err) == (0, ''), got
    return got.json()


def inputs(data):
    return dict((row['key'], row['tokens']['input']) for row in data['rows'])


@slow
def test_days_are_those_of_the_zone(home):
    assert inputs(usage(home, '--tz', 'UTC')) == {'(no time)': 160, '2026-01-24': 10, '2026-01-25': 60, '2026-02-02': 80}
    new_york = {'(no time)': 160, '2026-01-24': 30, '2026-01-25': 40, '2026-02-02': 80}
    assert inputs(usage(home, '--by', 'day', '--tz', 'America/New_York')) == new_york
    assert inputs(usage(home, TZ='America/New_York')) == new_york
    data = usage(home, '--tz', '+09:00')
    assert inputs(data) == {'(no time)': 160, '2026-01-25': 70, '2026-02-02': 80} and data['tz'] == '+09:00'


GROUPS = {
    'week': {'(no time)': 160, '2026-W04': 70, '2026-W06': 80},
    'month': {'(no time)': 160, '2026-01': 70, '2026-02': 80},
    'hour': {'(no time)': 160, '2026-01-24T23:00+00:00': 10, '2026-01-25T00:00+00:00': 20, '2026-01-25T12:00+00:00': 40,
             '2026-02-02T10:00+00:00': 80},
    'session': {SID: 70, OTHER: 240}, 'agent': {'claude': 310},
    'model': {MODEL: 190, HAIKU: 40, 'nobody-knows-1': 80}, 'project': {'/home/dev/app': 70, '/home/dev/other': 240},
}


@slow
@pytest.mark.parametrize('by', sorted(GROUPS))
def test_groups(home, by):
    data = usage(home, '--by', by, '--tz', 'UTC')
    assert inputs(data) == GROUPS[by]
    keys = [row['key'] for row in data['rows']]
    if by in insight.PERIODS:
        assert keys == sorted(keys)
    else:
        sizes = [row['total_tokens'] for row in data['rows']]
        assert sizes == sorted(sizes, reverse=True)
    for bucket in BUCKETS:
        assert sum(row['tokens'][bucket] for row in data['rows']) == data['total']['tokens'][bucket]


@slow
def test_totals_are_those_of_stats(home):
    for args in ((), ('--since', '2026-01-25'), ('--until', '2026-01-24'), ('--since', '2026-01-25', '--until', '2026-01-25'),
                 ('--scope', '/home/dev/app')):
        stats = call_script('sd-recall', 'stats', '--format', 'json', *args, home=home).json()
        for by in ('day', 'model', 'session'):
            total = usage(home, '--by', by, *args)['total']
            for key in ('tokens', 'api_calls', 'assistant_messages', 'output_known_calls', 'cost_usd', 'known_cost_usd', 'unpriced',
                        'total_is_lower_bound', 'cache_hit_rate'):
                assert total[key] == stats[key], (args, by, key)


@slow
def test_the_last_day_counts_whole_and_in_the_zone(home):
    day = ('--since', '2026-01-24', '--until', '2026-01-24')
    assert inputs(usage(home, *day)) == {'2026-01-24': 10}
    assert inputs(usage(home, '--tz', 'America/New_York', *day)) == {'2026-01-24': 30}


@slow
def test_an_unknown_price_is_not_nothing(home):
    rows = dict((row['key'], row) for row in usage(home, '--by', 'model')['rows'])
    odd = rows['nobody-knows-1']
    assert (odd['cost_usd'], odd['known_cost_usd'], odd['unpriced']) == (None, 0, {'calls': 1, 'tokens': 88})
    assert rows[MODEL]['cost_usd'] > 0
    day = usage(home)['rows'][-1]
    assert list(day['models']) == ['nobody-knows-1'] and day['sessions_with_calls'] == 1


@slow
def test_text_fits_and_has_bars(home):
    got = call_script('trend-engine', 'usage', home=home)
    lines = got.out.splitlines()
    assert got.rc == 0 and max(map(len, lines)) <= 100
    assert lines[0].split() == ['date', 'models', 'calls', 'input', 'output', 'c.create', 'c.read', 'total', 'cost']
    rows = [line for line in lines if line.startswith(('2026', '(no'))]
    assert rows[2].split()[:10] == ['2026-01-25', 'haiku-4-5,', 'sonnet-4-5', '2', '60', '6', '7', '5', '78', '$0.0002']     # 117.75 and 60 millionths
    size = rows[0].count('#')
    # Of 176 tokens: all of them, 11, 78, 88.
    assert size >= 6 and [line.count('#') for line in rows] == [size] + [max(1, int(size * part / 176.0 + 0.5)) for part in (11, 78, 88)]
    assert lines[-1].endswith('explain') and 'zone UTC' in lines[-2]
    got = call_script('trend-engine', 'usage', '--by', 'project', '--limit', '1', home=home)
    assert '/home/dev/other' in got.out and 'and 1 more' in got.out and '/home/dev/app' not in got.out
    got = call_script('trend-engine', 'usage', '--limit', '1', home=home)
    assert 'the last 1 of 4' in got.out and '2026-02-02' in got.out and '2026-01-24' not in got.out


@slow
def test_tsv(home):
    got = call_script('trend-engine', 'usage', '--format', 'tsv', home=home)
    rows = [line.split('\t') for line in got.out.splitlines()]
    assert [len(row) for row in rows] == [12] * 5 and rows[0][:3] == ['KEY', 'SESSIONS', 'API_CALLS']
    assert rows[3][:9] == ['2026-01-25', '1', '2', '60', '6', '5', '7', '0', '78']
    assert rows[4][9:11] == ['', '0.000000']


@slow
def test_nothing_and_wrong_arguments(home):
    got = call_script('trend-engine', 'usage', '--since', '2030-01-01', home=home)
    assert got.rc == 0 and got.out.startswith('no API calls')
    for args in (('usage', '--tz', 'Mars/Olympus'), ('usage', '--by', 'decade'), ('usage', '--since', 'whenever'), ('usages',), ()):
        assert call_script('trend-engine', *args, home=home).rc == 2, args
    assert 'did you mean usage' in call_script('trend-engine', 'usages', home=home).err


def test_the_hour_that_comes_twice_is_two():
    berlin = clock.zone('Europe/Berlin')
    first = clock.parse_time('2026-10-25T00:30:00Z')
    name = insight._names('hour', berlin)

    class Call(object):
        time = first
    keys = []
    for Call.time in (first, first + 3600000):
        keys.append(name(None, Call)[0])
    assert keys == ['2026-10-25T02:00+02:00', '2026-10-25T02:00+01:00']


def test_zones_with_quarters():
    name = insight._names('day', clock.zone('+05:45'))

    class Call(object):
        time = clock.parse_time('2026-03-01T18:14:59Z')
    assert name(None, Call) == ('2026-03-01', '2026-03-01')
    Call.time += 1000
    assert name(None, Call) == ('2026-03-02', '2026-03-02')


@slow
def test_what_is_wrong_with_the_prices_of_the_user_is_said_in_a_line(tmp_path):
    write(tmp_path, [user('a', 1, 0), answer([text('b')], 2, 1, tokens=(1000000, 0, 0, 0), model=HAIKU)])
    data = tmp_path / 'data'
    data.mkdir()
    sheets = {'{': 'not a price table', '{"models": {"%s": {"input": "two", "output": 1}}}' % HAIKU: 'this entry is ignored',
              '{"models": {"%s": {"input": 7, "output": 1}}}' % HAIKU: ''}
    for sheet, problem in sorted(sheets.items()):
        (data / 'pricing.json').write_text(sheet, encoding='utf-8')
        for command in (('trend-engine', 'usage'), ('sd-recall', 'stats'), ('sd-recall', 'session-stats', SID)):
            got = call_script(*(command + ('--format', 'json')), home=tmp_path, SESSION_DIGGER_DATA_DIR=data)
            assert got.rc == 0 and len(got.err.splitlines()) == (1 if problem else 0) and problem in got.err, got
            assert 'pricing.json' in got.err or not problem
            keys = got.json()
            assert keys.get('total', keys)['known_cost_usd'] == (1 if problem else 7), (command, sheet)
