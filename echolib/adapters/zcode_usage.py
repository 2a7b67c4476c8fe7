"""ZCode's own ledger: the table model_usage, one row a model call, each with its own tokens (no running totals).

Whether a provider's input counter holds what came from the cache differs; see conventions. Failed attempts are kept
where they cost tokens: both tries of a retried request were billed.
"""
import os

from ..base import sqlite_ro
from ..base.clock import parse_time
from ..events import cache_hit_rate
from .values import count, uncached, usage, word

TABLE = 'model_usage'
COLUMNS = ('id', 'logical_request_id', 'attempt_index', 'session_id', 'query_source', 'provider_id', 'model_id', 'status',
           'started_at', 'completed_at', 'input_tokens', 'output_tokens', 'reasoning_tokens', 'cache_creation_input_tokens',
           'cache_read_input_tokens', 'provider_total_tokens', 'computed_total_tokens')
_RAW = COLUMNS[10:]


def conventions(db, have):
    """-> {provider: True where its input counter leaves out what came from the cache}, by what most of its calls say.

    A call that read more from the cache than its input shows cannot count the one within the other. have: columns of
    the table.
    """
    return decided((row[1], row[6], row[7]) for row in by_session(db, have, False))


def decided(votes):
    """-> {provider: beside} of (provider, calls whose cache lies beside their input, calls whose may lie within it)."""
    sums = {}
    for provider, beside, within in votes:
        one = sums.setdefault(word(provider), [0, 0])
        one[0] += beside or 0
        one[1] += within or 0
    return dict((provider, one[0] > one[1]) for provider, one in sums.items())


def by_session(db, have, sessions=True):
    """-> rows (session id, provider, calls, highest row id, time of the last, output, cache beside, cache within) of the
    ledger, one a session and provider (sessions=False: one a provider); [] where there is no ledger."""
    if not have:
        return []
    last = [name for name in ('completed_at', 'started_at') if name in have]
    cached = 'cache_read_input_tokens' in have and 'input_tokens' in have
    return db.execute('select %s, %s, count(*), max(rowid), %s, %s, %s from %s group by 1, 2' % (
        'session_id' if sessions else 'null', 'provider_id' if 'provider_id' in have else 'null',
        'max(coalesce(%s))' % ', '.join(last + ['null']) if last else 'null', 'total(output_tokens)' if 'output_tokens' in have else '0',
        'sum(cache_read_input_tokens > input_tokens), sum(cache_read_input_tokens > 0 and cache_read_input_tokens <= input_tokens)'
        if cached else '0, 0', TABLE)).fetchall()


def rows_of(db, have, session):
    """Yield (row id, dict of COLUMNS) of a session's calls, in the order they were written."""
    for row in db.execute('select rowid, %s from %s where session_id = ? order by rowid' % (sqlite_ro.fields(have, COLUMNS), TABLE),
                          (session,)):
        yield row[0], dict(zip(COLUMNS, row[1:]))


def row_at(db, have, number):
    """-> dict of COLUMNS of the row with this row id, None when there is none."""
    row = db.execute('select %s from %s where rowid = ?' % (sqlite_ro.fields(have, COLUMNS), TABLE), (number,)).fetchone()
    return dict(zip(COLUMNS, row)) if row else None


def usage_of(row, beside):
    """-> Usage of a ledger row, None for an attempt that cost nothing. beside: see conventions."""
    sent, output = count(row['input_tokens']), count(row['output_tokens'])
    read, written = count(row['cache_read_input_tokens']), count(row['cache_creation_input_tokens'])
    status = word(row['status']).lower()
    if not (sent or output or read or written) and status not in ('completed', ''):
        return None
    return usage(word(row['model_id']).strip(), uncached(sent, read, written, beside), output, read, written, count(row['reasoning_tokens']))


def time_of(row):
    """-> when a call ended, else began (ms), None unknown."""
    ended = parse_time(row['completed_at'])
    return parse_time(row['started_at']) if ended is None else ended


def key_of(row, number):
    """-> what names a call inside its session: the row's id, else its request and attempt, else its place."""
    if row['id'] not in (None, ''):
        return 'call/%s' % row['id']
    if row['logical_request_id'] not in (None, ''):
        return 'call/%s/%s' % (row['logical_request_id'], row['attempt_index'])
    return 'call/row/%d' % number


def billed_rows(path, sessions=None):
    """-> list of dicts of the ledger at `path`: session, key, time, model, provider, source, the four counts that do not
    overlap (input, output, cache_read, cache_write) and raw (the ledger's own counters).

    sessions: ids, None for all. Raises sqlite_ro.Unreadable where the database cannot be read.
    """
    out = []
    with sqlite_ro.opened(path) as db:
        have = sqlite_ro.columns(db, TABLE)
        if 'session_id' not in have:
            return []
        beside = conventions(db, have)
        for row in db.execute('select rowid, %s from %s order by rowid' % (sqlite_ro.fields(have, COLUMNS), TABLE)):
            number, row = row[0], dict(zip(COLUMNS, row[1:]))
            session = word(row['session_id'])
            if sessions is not None and session not in sessions:
                continue
            use = usage_of(row, beside.get(word(row['provider_id']), False))
            if use is not None:
                out.append({'session': session, 'key': '%s/%s' % (session, key_of(row, number)), 'time': time_of(row), 'model': use.model,
                            'provider': word(row['provider_id']), 'source': word(row['query_source']), 'input': use.input,
                            'output': use.output, 'cache_read': use.cache_read, 'cache_write': use.cache_write_5m,
                            'raw': dict((name, count(row[name])) for name in _RAW)})
    return out


def zcode_aggregate_model_usage(mode='family', root=None):
    """-> {model: totals} over the whole ledger; {} when there is none.

    A total has input_tokens (all that was sent), uncached_input_tokens, output_tokens (reasoning included),
    cache_read_tokens, cache_write_tokens, total_tokens (input + output), model_calls, sessions, cache_hit_rate
    (cache_read_tokens / input_tokens, None when nothing was sent) and raw (sums of the ledger's own counters).

    mode: 'family' counts a session together with its subagents, 'raw' counts each of them; tokens are the same, as every
    call stands in the ledger once. root: the .zcode folder, by default the user's. Raises sqlite_ro.Unreadable where the
    database cannot be read, ValueError for another mode.
    """
    if mode not in ('family', 'raw'):
        raise ValueError("mode is 'family' or 'raw'")
    from . import zcode, zcode_db
    table, members = {}, {}
    for folder in [root] if root else zcode.roots():
        path = os.path.join(folder, zcode.DB)
        if not os.path.exists(path):
            continue
        top = zcode_db.tops(path) if mode == 'family' else {}
        for row in billed_rows(path):
            model = row['model'] or 'unknown'
            one = table.setdefault(model, dict((name, 0) for name in (
                'input_tokens', 'uncached_input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'total_tokens',
                'model_calls')))
            sent = row['input'] + row['cache_read'] + row['cache_write']
            for name, amount in (
                    ('input_tokens', sent), ('uncached_input_tokens', row['input']), ('output_tokens', row['output']),
                    ('cache_read_tokens', row['cache_read']), ('cache_write_tokens', row['cache_write']),
                    ('total_tokens', sent + row['output']), ('model_calls', 1)):
                one[name] += amount
            raw = one.setdefault('raw', {})
            for name, amount in row['raw'].items():
                raw[name] = raw.get(name, 0) + amount
            members.setdefault(model, set()).add((folder, top.get(row['session'], row['session'])))
    for model, one in table.items():
        one['sessions'] = len(members[model])
        one['cache_hit_rate'] = cache_hit_rate(one['cache_read_tokens'], one['uncached_input_tokens'], one['cache_write_tokens'])
    return dict((model, table[model]) for model in sorted(table))
