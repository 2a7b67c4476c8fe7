"""Codex rollouts from before mid-2025: one JSON object a session, {"session": {...}, "items": [...]}.

A record's place is its number: the session is 0, items follow. Such a file is read whole (the largest seen has 60 kB).
"""
from ..base import bounded_json
from ..base.files import open_regular
from ..records import Record


def records_of(path, coverage):
    """-> list of the records (dicts) of a file, [] when it is no such object; damage is counted where coverage is given."""
    with open_regular(path) as handle:
        raw = handle.read()
    try:
        value = bounded_json.loads(raw.decode('utf-8', 'replace').lstrip('\ufeff'), bounded_json.DOCUMENT)
    except (ValueError, RecursionError) as error:
        if coverage is not None and raw.strip():
            coverage.lines += 1
            coverage.damage(1, 'broken JSON (%s)' % str(error).split(':')[0][:60])
        return []
    session = value.get('session') if type(value) is dict else None
    items = value.get('items') if type(value) is dict else None
    if type(session) is not dict or type(items) is not list:
        if coverage is not None:
            coverage.lines += 1
            coverage.damage(1, 'no session and items')
        return []
    return [session] + items


def read_old(path, coverage, offset):
    """Yield the Records of a file from number `offset` on."""
    for number, data in enumerate(records_of(path, coverage)):
        if number < offset:
            continue
        coverage.lines += 1
        coverage.offset, coverage.line = number + 1, number + 1
        if type(data) is dict:
            yield Record(data, number + 1, number, 0)
        else:
            coverage.damage(number + 1, 'not an object')
