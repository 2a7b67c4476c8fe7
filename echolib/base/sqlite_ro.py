"""Agents' own SQLite databases, opened for reading without leaving a trace beside them.

A database at rest is opened as immutable: no lock is taken and no -wal or -shm file appears. One that its agent has
open, or left without closing it (a write-ahead log or a rollback journal lies beside it), is read through a private
copy of both. A large one that is open right now is not copied: it is read through the index of its log that the agent
keeps (-shm), which is opened for reading only; that is consistent too, and the connection is closed at once.
"""
import os
import sqlite3
from _thread import get_ident
from contextlib import contextmanager

from .files import open_regular
from .errors import EchoError
from .paths import DATABASE_SIDES as _SIDES
from .patience import at_end

_MAGIC = b'SQLite format 3\0'
_TRIES = 3
# Above this size a database in use is read in place.
COPY_BYTES = 32 << 20
# Connections kept by held(), in each thread.
_KEPT = 2


class Unreadable(EchoError, OSError):
    """A database that cannot be read; the message says why. An OSError as well: to its reader a file failed to open."""

    def __init__(self, path, reason):
        EchoError.__init__(self, reason)
        self.path = path


def uri(path, options):
    """-> the address of a database for sqlite3.connect(uri=True), whatever bytes its path has."""
    path = os.fsencode(os.path.abspath(path).replace(os.sep, '/'))
    safe = b'/:.-_~' if os.sep == '\\' else b'/.-_~'
    name = ''.join(chr(c) if chr(c).isalnum() and c < 128 or c in safe else '%%%02X' % c for c in bytearray(path))
    # A drive's letter stands behind an empty host and a slash.
    return 'file:%s%s?%s' % ('' if name.startswith('/') else '///', name, options)


def state(path):
    """-> what tells whether a database changed: (size, mtime_ns) of it, its log and its journal, None for those not there.

    Raises OSError when the database itself is not there.
    """
    out = [os.stat(path)]
    for side in _SIDES:
        try:
            out.append(os.stat(path + side))
        except OSError:
            # Not there: the database says it all.
            out.append(None)
    return tuple(stat and (stat.st_size, stat.st_mtime_ns) for stat in out)


def _sides(path):
    """The files beside a database that hold a part of what it says."""
    return [side for side, stat in zip(_SIDES, state(path)[1:]) if stat and stat[0]]


def _copy(path, folder):
    """Copy a database with its log into a folder, again where it changed meanwhile; -> path of the copy, '' when it
    changed every time."""
    import shutil
    import time
    target = os.path.join(folder, 'copy.db')
    for again in range(_TRIES):
        if again:
            time.sleep(0.02)
        try:
            before = state(path)
            for side in [''] + _sides(path):
                shutil.copyfile(path + side, target + side)
            if before == state(path):
                return target
        except FileNotFoundError:
            # The agent closed it meanwhile and took its log in.
            if not os.path.exists(path):
                raise
        for side in _SIDES:
            if os.path.exists(target + side):
                os.remove(target + side)
    return ''


def _connect(target, options):
    db = sqlite3.connect(uri(target, options), uri=True, isolation_level=None, timeout=1.0)
    db.text_factory = _text
    try:
        db.execute('select count(*) from sqlite_master').fetchone()
    except sqlite3.Error:
        db.close()
        raise
    return db


def _text(raw):
    return raw.decode('utf-8', 'replace')


class _Way(object):
    """An open connection and what must be removed with it."""

    def __init__(self, path):
        self.db = self.folder = None
        self.keep = True
        self.users = 0
        try:
            self._open(path)
        except Exception:
            self.close()
            raise

    def _open(self, path):
        with open_regular(path) as handle:
            head = handle.read(16)
        if head and head != _MAGIC:
            raise Unreadable(path, 'the file is not a database, or is encrypted')
        self.state = state(path)
        if not _sides(path):
            self.db = _connect(path, 'mode=ro&immutable=1')
            return
        in_use = os.path.exists(path + '-shm') and sqlite3.sqlite_version_info >= (3, 22)
        if in_use and self.state[0][0] > COPY_BYTES and self._in_place(path):
            return
        import tempfile
        self.folder = tempfile.mkdtemp(prefix='session-digger-')
        copy = _copy(path, self.folder)
        if copy:
            self.db = _connect(copy, 'mode=rw')
        elif not (in_use and self._in_place(path)):
            raise Unreadable(path, 'the database changes faster than it can be read')

    def _in_place(self, path):
        try:
            self.db = _connect(path, 'mode=ro&readonly_shm=1')
        except sqlite3.OperationalError:
            # Its agent is just closing it, or holds it locked.
            return False
        # An agent that closes its database while another has it open leaves its log: let go soon.
        self.keep = False
        return True

    def close(self):
        """Let go of the database and of a copy."""
        if self.db is not None:
            self.db.close()
            self.db = None
        if self.folder is not None:
            import shutil
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None


@contextmanager
def _said(path):
    """Errors of SQLite and of the file system come out as Unreadable."""
    try:
        yield
    except sqlite3.Error as error:
        raise Unreadable(path, 'the database cannot be read (%s)' % str(error)[:80])
    except OSError as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(path, 'the database cannot be read (%s)' % (error.strerror or str(error)))


@contextmanager
def opened(path):
    """Give a connection to the database at `path` that only reads. Raises Unreadable where that cannot be.

    Errors of SQLite inside the block (damage, a schema not known) come out as Unreadable as well. Text that is not
    UTF-8 is read with replacement characters.
    """
    with _said(path):
        way = _Way(path)
        try:
            yield way.db
        finally:
            way.close()


# (thread, path) -> _Way: a connection may only be used in the thread that opened it.
_kept = {}


@contextmanager
def held(path):
    """Like opened, for a database that is asked many times: the connection (and a copy, where one was needed) stays
    until the database changes or the process ends. A thread other than the main one calls let_go() before it ends."""
    with _said(path):
        key = (get_ident(), path)
        way = _kept.get(key)
        if way is None or way.state != state(path):
            _drop(key)
            mine = _mine()
            if len(mine) >= _KEPT:
                _drop(mine[0])
            if not mine:
                import atexit
                atexit.unregister(let_go)
                atexit.register(let_go)
                at_end(let_go)
            way = _Way(path)
            if way.keep:
                _kept[key] = way
        way.users += 1
        try:
            yield way.db
        finally:
            way.users -= 1
            if not way.users and _kept.get(key) is not way:
                way.close()


def _mine():
    """The keys of this thread's connections, by path."""
    me = get_ident()
    return sorted(key for key in list(_kept) if key[0] == me)


def _drop(key):
    way = _kept.pop(key, None)
    if way is not None and not way.users:
        way.close()


def let_go():
    """Close what held() keeps in this thread."""
    for key in _mine():
        _kept[key].users = 0
        _drop(key)


def columns(db, table):
    """-> names of the columns of a table, () when there is no such table."""
    return tuple(row[1] for row in db.execute('pragma table_info(%s)' % quoted(table)))


def quoted(name):
    """A name as SQL takes it."""
    return '"%s"' % name.replace('"', '""')


def fields(have, wanted):
    """-> the select list of the wanted columns: null for one that the table (columns: have) lacks."""
    return ', '.join(quoted(name) if name in have else 'null' for name in wanted)


def rows(path, table, wanted):
    """-> list of tuples of the wanted columns of a whole table, None for a column it lacks; [] when it cannot be read."""
    try:
        with opened(path) as db:
            have = columns(db, table)
            if not have:
                return []
            return db.execute('select %s from %s' % (fields(have, wanted), quoted(table))).fetchall()
    except Unreadable:
        # What a side table adds is left out.
        return []
