"""Agents' own SQLite databases, opened for reading without leaving a trace beside them.

A database at rest is opened as immutable: no lock is taken and no -wal or -shm file appears. One that its agent has
open (a write-ahead log or a rollback journal lies beside it) is read through a private copy of both.
"""
import os
import sqlite3
from contextlib import contextmanager

from .errors import EchoError

_SIDES = ('-wal', '-journal')
_TRIES = 3


class Unreadable(EchoError, OSError):
    """A database that cannot be read; the message says why. An OSError as well: to its reader a file failed to open."""

    def __init__(self, path, reason):
        EchoError.__init__(self, reason)
        self.path = path


def _uri(path, options):
    from urllib.parse import quote
    return 'file:%s?%s' % (quote(os.path.abspath(path).replace(os.sep, '/')), options)


def _sides(path):
    """The files beside a database that hold a part of what it says."""
    out = []
    for side in _SIDES:
        try:
            if os.stat(path + side).st_size:
                out.append(side)
        except OSError:
            # Not there: the database says it all.
            continue
    return out


def _state(path, sides):
    return [(stat.st_size, stat.st_mtime_ns) for stat in (os.stat(path + side) for side in [''] + sides)]


def _copy(path, folder):
    """Copy a database with its log into a folder, again where it changed meanwhile; -> path of the copy."""
    import shutil
    target = os.path.join(folder, 'copy.db')
    for last in range(_TRIES):
        sides = _sides(path)
        try:
            before = _state(path, sides)
            for side in [''] + sides:
                shutil.copyfile(path + side, target + side)
            if before == _state(path, sides) or last == _TRIES - 1:
                return target
        except FileNotFoundError:
            # The agent closed it meanwhile and took its log in.
            if not os.path.exists(path):
                raise
        for side in _SIDES:
            if os.path.exists(target + side):
                os.remove(target + side)
    raise Unreadable(path, 'the database changes faster than it can be read')


def _connect(target, options):
    db = sqlite3.connect(_uri(target, options), uri=True, isolation_level=None, timeout=1.0)
    db.text_factory = _text
    return db


def _text(raw):
    return raw.decode('utf-8', 'replace')


@contextmanager
def opened(path):
    """Give a connection to the database at `path` that only reads. Raises Unreadable where that cannot be.

    Errors of SQLite inside the block (damage, a schema not known) come out as Unreadable as well. Text that is not
    UTF-8 is read with replacement characters.
    """
    folder = db = None
    try:
        if _sides(path):
            import tempfile
            folder = tempfile.mkdtemp(prefix='session-digger-')
            db = _connect(_copy(path, folder), 'mode=rw')
        else:
            with open(path, 'rb'):
                db = _connect(path, 'mode=ro&immutable=1')
        db.execute('select count(*) from sqlite_master').fetchone()
        yield db
    except sqlite3.Error as error:
        raise Unreadable(path, 'the database cannot be read (%s)' % str(error)[:80])
    except OSError as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(path, 'the database cannot be read (%s)' % (error.strerror or str(error)))
    finally:
        if db is not None:
            db.close()
        if folder is not None:
            import shutil
            shutil.rmtree(folder, ignore_errors=True)


def columns(db, table):
    """-> names of the columns of a table, () when there is no such table."""
    return tuple(row[1] for row in db.execute('pragma table_info(%s)' % quoted(table)))


def quoted(name):
    """A name as SQL takes it."""
    return '"%s"' % name.replace('"', '""')


def rows(path, table, wanted):
    """-> list of tuples of the wanted columns of a whole table, None for a column it lacks; [] when it cannot be read."""
    try:
        with opened(path) as db:
            have = columns(db, table)
            if not have:
                return []
            names = ', '.join(quoted(name) if name in have else 'null' for name in wanted)
            return db.execute('select %s from %s' % (names, quoted(table))).fetchall()
    except Unreadable:
        # What a side table adds is left out.
        return []
