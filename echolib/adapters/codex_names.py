"""Names that their user gave to Codex threads: from session_index.jsonl, else from the client's state database."""
import os

_known = {}


def names_of(home, database):
    """-> {thread id: name} of a home, kept in memory until the file changes.

    database: False leaves the state database alone where there is no session_index.jsonl.
    """
    path = os.path.join(home, 'session_index.jsonl')
    try:
        stat = os.stat(path)
        state = (stat.st_size, stat.st_mtime_ns)
    except OSError:
        # The newest builds may not write it.
        state = None
        if not database:
            return {}
    have = _known.get(home)
    if have is None or have[0] != state:
        have = _known[home] = (state, _listed(path) if state else _stored(home))
    return have[1]


def _listed(path):
    """The last name of each id; an empty one takes the name away."""
    from ..records import read_records
    out = {}
    try:
        for record in read_records(path):
            thread, name = record.data.get('id'), record.data.get('thread_name')
            if type(thread) is str and (name is None or type(name) is str):
                out[thread] = (name or '').strip()
    except OSError:
        # Removed meanwhile: the threads stay without names.
        return out
    return out


def _stored(home):
    """Names in the newest state_<n>.sqlite ($CODEX_SQLITE_HOME moves it); {} where it cannot be read."""
    folder = os.environ.get('CODEX_SQLITE_HOME') or home
    best = (-1, '')
    try:
        for name in os.listdir(folder):
            number = name[6:-7]
            if name.startswith('state_') and name.endswith('.sqlite') and number.isdecimal() and len(number) < 10:
                best = max(best, (int(number), name))
    except OSError:
        # No such folder: no database.
        return {}
    if best[0] < 0:
        return {}
    from ..base import sqlite_ro
    rows = sqlite_ro.rows(os.path.join(folder, best[1]), 'threads', ('id', 'name'))
    return dict((thread, name.strip()) for thread, name in rows if type(thread) is str and type(name) is str)
