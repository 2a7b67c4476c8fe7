"""Dim and DimCode: where their sessions lie and how they are read. Two stores, perhaps of two programs:

cards that sum up sessions, and a database of conversations with a ledger of their runs. A session of the database and a
card that was filled in later have paths of their own below the file's: .../dimcode.sqlite/<session id>.
"""
import os
from collections import namedtuple

from . import Session, Source, Store, registry
from .plain import branches, inherited, listing as _listing, side_files, spill_path, spill_text  # noqa: F401

NAME = 'dim'
# Cards do; what lies inside another file says for itself that it does not (see read).
GROWS = True
CLEANED = False
TOKENS = 'cards of Dim sum up sessions and hold no token counts'
STORES = (
    Store('dim.memory_cards.v1', 'memory/<id>/<date>/*.jsonl', True, 'summaries of sessions, not transcripts: no tokens'),
    Store('dim.memory_backfill.v1', 'memory/<id>/<date>/backfill.jsonl', True, 'the same, each line a session of its own'),
    Store('dim.dimcode_db.v2', 'v2/dimcode.sqlite', True, 'conversations, and tokens a run (usage_run_stats)'),
    Store('dim.dimcode_sums', 'v2/dimcode.sqlite: usage_daily_stats, usage_ledger, file_checkpoints', False,
          'sums of the same runs; data to undo changes of files'),
    Store('dim.dimcode_data', 'v2/data/sessions/*', False, 'working data beside the database'),
)
_DB_NAME = 'dimcode.sqlite'
DB = os.path.join('v2', _DB_NAME)
# A session of the database that holds anything. size stands for its rows; mtime_ns changes with it.
Entry = namedtuple('Entry', 'id size mtime_ns')
_BACKFILL = 'backfill.jsonl'
_SUFFIX = '.jsonl'


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: ~/.dim and ~/.dimcode."""
    from ..base import paths
    home = paths.home()
    return [os.path.join(home, name) for name in ('.dim', '.dimcode')] if home else []


def kind_of(path):
    """-> db (a session in the database, or the database itself), backfill (a line of one) or cards; '' for other names."""
    folder, name = os.path.split(path)
    if _DB_NAME in (name, os.path.basename(folder)):
        return 'db'
    if os.path.basename(folder) == _BACKFILL:
        return 'backfill'
    return 'cards' if name.endswith(_SUFFIX) and name != _SUFFIX else ''


def owns(path):
    """True for a path that looks like one of Dim's, by its name and place."""
    kind, parts = kind_of(path), path.replace('\\', '/').split('/')
    return kind == 'db' or kind != '' and any(a == '.dim' and b == 'memory' for a, b in zip(parts, parts[1:]))


def entries(path):
    """-> list of the Entries of a database, asked when it changed. Raises sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .dim_db import asked
        return asked(path)
    return [Entry(*row) for row in memo.kept(NAME, registry.version(NAME), paths.database_files(path), ask)]


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root.

    Cards by folder listings and stat, those filled in later by reading them; sessions of the database by a few counts
    asked of it. problems: list that gets (path, reason) for each folder that cannot be listed and for a database that
    cannot be read; a missing root is one.
    """
    if not os.path.isdir(root):
        try:
            os.listdir(root)
        except OSError as error:
            problems.append((root, error.strerror or str(error)))
        return
    for memory in _listing(os.path.join(root, 'memory'), problems):
        for date in _listing(memory.path, problems):
            for entry in _listing(date.path, problems):
                if kind_of(entry.name) != 'cards':
                    continue
                try:
                    if entry.name == _BACKFILL:
                        from .dim_cards import filled_in
                        for name, size, mtime in filled_in(entry.path):
                            yield os.path.join(entry.path, name), size, mtime, 'main', '', '%s-%s' % (memory.name, name), memory.name
                        continue
                    stat = entry.stat()
                    sid = '%s-%s-%s' % (memory.name, date.name, entry.name[:-len(_SUFFIX)])
                    yield entry.path, stat.st_size, stat.st_mtime_ns, 'main', '', sid, memory.name
                except OSError as error:
                    problems.append((entry.path, error.strerror or str(error)))
    db = os.path.join(root, DB)
    if os.path.isfile(db):
        from .inside import quoted
        try:
            for entry in entries(db):
                yield os.path.join(db, quoted(entry.id)), entry.size, entry.mtime_ns, 'main', '', entry.id, ''
        except OSError as error:
            problems.append((db, str(error)))


def discover(root, problems):
    """Yield the Sessions under a root (see scan); the size of a session of the database is its share of that."""
    db = os.path.join(root, DB)
    rows = list(scan(root, problems))
    inside = sum(row[1] for row in rows if os.path.dirname(row[0]) == db)
    for path, size, mtime, role, chain, session, folder in rows:
        if inside and os.path.dirname(path) == db:
            size = size * os.path.getsize(db) // inside
        yield Session(NAME, root, session, folder, (Source(path, role, chain, session, size, mtime),))


def session_at(path):
    """-> Session of the file, line or place in the database that `path` is.

    Raises EchoError for a file that holds many sessions.
    """
    kind = kind_of(path)
    folder, name = os.path.split(path)
    if name in (_DB_NAME, _BACKFILL):
        from ..base.errors import EchoError
        raise EchoError('%s holds many sessions; name one: %s' % (path, os.path.join(path, 'SESSION')))
    if kind == 'db':
        from .inside import unquoted
        return Session(NAME, os.path.dirname(os.path.dirname(folder)), unquoted(name), '', (Source(path, 'main', '', unquoted(name), 0, 0),))
    date = os.path.dirname(folder) if kind == 'backfill' else folder
    memory = os.path.basename(os.path.dirname(date))
    sid = '%s-%s' % (memory, name) if kind == 'backfill' else '%s-%s-%s' % (memory, os.path.basename(date), name[:-len(_SUFFIX)])
    root = os.path.dirname(os.path.dirname(os.path.dirname(date)))
    return Session(NAME, root, sid, memory, (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    """-> {'session': id} of a file. (No file of this agent is loose.)"""
    return {'session': session_at(path).id}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file or session, in order: a list for each record (see the protocol)."""
    if kind_of(source.path) == 'db':
        from .dim_db import read as read_session
        return read_session(source, coverage)
    from .dim_cards import read as read_cards
    return read_cards(source, coverage, offset, line, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record that an event's offset names, as read() gives them (turn numbers apart)."""
    if kind_of(source.path) == 'db':
        from .dim_db import events_at as found
        return found(source, offset)
    from .dim_cards import events_at as found
    return found(source, offset, length)


def resume(session_id, project):
    """No command that reopens a session is known: raises EchoError."""
    from ..base.errors import EchoError
    raise EchoError('no command is known that reopens session %s; open it in Dim' % session_id)


def billed(session):
    """-> rows of the ledger of runs for a session of the database (see dim_db.billed_rows), None without one."""
    for source in session.sources:
        if kind_of(source.path) == 'db':
            from .dim_db import billed_rows
            return billed_rows(os.path.dirname(source.path), source.session)
    return None


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .values import files_of as found
    return found(name, given)
