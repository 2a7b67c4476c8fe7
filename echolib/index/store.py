"""The data folder: opening the index whatever state it is in, the one writer's lock, shards, and clean-up."""
import os
import sqlite3
import time

from ..base import paths
from ..base.errors import IndexUnusable
from ..base.files import make_private
from . import schema

_SIDE_FILES = ('-wal', '-shm', '-journal', '.words')


class Store(object):
    """The index in one data folder.

    folder: path.  note(text): called with one line for everything the user should know (a rebuild, a damaged file).
    db: connection to index.db after open(); None before.
    """

    def __init__(self, folder, note=None):
        if not folder:
            raise IndexUnusable('there is no home folder to keep an index in; set SESSION_DIGGER_DATA_DIR')
        self.folder = folder
        self.path = os.path.join(folder, schema.INDEX_NAME)
        self.note = note or (lambda text: None)
        self.db = None
        self.stale = False
        self._lock = None

    def open(self, create=True):
        """Open index.db, making it (or moving a damaged one aside) when `create`. -> True when it is usable as it is.

        False: it is new, or another version's (self.stale), and must be built. Raises IndexUnusable when there can be
        none here (folder not writable, newer version, no FTS5).
        """
        self.close()
        if not self._existing(create):
            return False
        if self.db is None:
            self._make()
            return False
        schema.settle(self.db)
        return True

    def _existing(self, create):
        """Open what is there; -> False when it is another version's. self.db stays None where one has to be made."""
        try:
            self.db = schema.open_index(self.path)
        except (FileNotFoundError, NotADirectoryError):
            if not create:
                raise IndexUnusable('there is no index yet')
        except schema.Foreign:
            if not create:
                raise IndexUnusable("%s is another program's database" % self.path)
            self.move_aside('.other')
            self.note("index.db was another program's database; it lies beside the new index as index.db.other")
        except schema.Stale:
            self.stale = True
            return False
        except sqlite3.OperationalError as error:
            self._open_read_only(error)
        except sqlite3.DatabaseError as error:
            if not create:
                raise IndexUnusable('the index is damaged (%s)' % error)
            self.note('index.db was damaged (%s); it was moved aside and is built again' % error)
            self.move_aside()
        except OSError as error:
            raise IndexUnusable('the index cannot be read: %s' % (error.strerror or error))
        return True

    def _make(self):
        """Make a new index.db beside its place and move it there, so that nobody meets a half-made one."""
        if not schema.has_fts5():
            raise IndexUnusable("this Python's SQLite has no FTS5")
        fresh = os.path.join(self.folder, 'new-%d.db' % os.getpid())
        try:
            make_private(self.folder)
            held = self._lock is not None
            if not held and not self.lock(20.0):
                raise IndexUnusable('another process is making the index')
            try:
                if os.path.exists(self.path):
                    # Somebody else was faster.
                    self.db = schema.open_index(self.path)
                else:
                    schema.create_index(fresh).close()
                    os.replace(fresh, self.path)
                    self.db = schema.open_index(self.path)
            finally:
                if not held:
                    self.unlock()
        except schema.Stale:
            raise IndexUnusable('another version is making the index')
        except (OSError, sqlite3.DatabaseError) as error:
            raise IndexUnusable('no index can be kept in %s: %s' % (self.folder, getattr(error, 'strerror', None) or error))
        schema.settle(self.db)

    def _open_read_only(self, error):
        try:
            self.db = schema.open_index(self.path, True)
            self.db.execute('select count(*) from files').fetchone()
        except (sqlite3.Error, OSError, schema.Stale):
            self.db = None
            raise IndexUnusable('the index cannot be opened: %s' % error)

    def move_aside(self, mark='.damaged'):
        """Put a damaged index.db out of the way (the next tidying up removes it), or, under another mark, one that is not ours."""
        target, number = self.path + mark, 1
        while mark != '.damaged' and os.path.exists(target):
            number += 1
            target = self.path + mark + '%d' % number
        for end in ('',) + _SIDE_FILES:
            try:
                os.replace(self.path + end, target + end)
            except FileNotFoundError:
                # Side files are there only sometimes.
                continue
            except OSError as failure:
                raise IndexUnusable('the damaged index cannot be moved aside: %s' % (failure.strerror or failure))

    def close(self):
        """Close the connection and let go of the lock."""
        if self.db is not None:
            self.db.close()
            self.db = None
        self.unlock()

    # one writer

    def lock(self, wait=0.0):
        """Become the one writer; -> False when another process is (still, after `wait` seconds).

        A lock of SQLite's own on a file of its own: it ends with its process, on every platform.
        """
        if self._lock is not None:
            return True
        deadline = time.time() + wait
        while True:
            db = None
            try:
                os.close(os.open(os.path.join(self.folder, 'lock.db'), os.O_RDWR | os.O_CREAT, 0o600))
                db = schema.connect(os.path.join(self.folder, 'lock.db'), timeout=0.0)
                db.execute('pragma journal_mode=memory')
                db.execute('begin exclusive')
                self._lock = db
                return True
            except sqlite3.OperationalError as error:
                if db is not None:
                    db.close()
                if 'locked' not in str(error) and 'busy' not in str(error):
                    raise IndexUnusable('the index cannot be written: %s' % error)
            except OSError as error:
                raise IndexUnusable('the index cannot be written: %s' % (error.strerror or error))
            except sqlite3.DatabaseError:
                db.close()
                os.unlink(os.path.join(self.folder, 'lock.db'))
                continue
            if time.time() >= deadline:
                return False
            time.sleep(0.05)

    def unlock(self):
        """Let the next writer in."""
        if self._lock is not None:
            self._lock.rollback()
            self._lock.close()
            self._lock = None

    # shards

    def shards(self):
        """-> {id: (path, docs_end)} of the shards that count."""
        return dict((number, (os.path.join(self.folder, name), end))
                    for number, name, end in self.db.execute('select id, file, docs_end from shards'))

    def add_shard(self):
        """Make a new, empty shard; -> its id. (Commits nothing: call inside or outside a transaction.)"""
        token = '%x-%x' % (int(time.time() * 1000), os.getpid())
        count = self.db.execute('select count(*) from shards').fetchone()[0]
        name = 'text-%s-%d.db' % (token, count)
        schema.create_shard(os.path.join(self.folder, name)).close()
        return self.db.execute('insert into shards (file, docs_end, docs, dead, bytes) values (?, 1, 0, 0, 0)', (name,)).lastrowid

    def clean(self):
        """Remove files that no index row names: shards of dead writers, leftovers of rebuilds, memos of what is gone. Needs the lock."""
        from ..base import memo
        memo.clean()
        keep = set(name for name, in self.db.execute('select file from shards'))
        for name in os.listdir(self.folder):
            base = name
            for end in _SIDE_FILES:
                if name.endswith(end):
                    base = name[:-len(end)]
            if base.startswith('text-') and base.endswith('.db') and base not in keep:
                remove(os.path.join(self.folder, name))
            elif name.startswith((schema.INDEX_NAME + '.damaged', 'new-')):
                remove(os.path.join(self.folder, name))
            elif name.startswith('rebuild-'):
                folder = os.path.join(self.folder, name)
                for inner in os.listdir(folder) if os.path.isdir(folder) else ():
                    remove(os.path.join(folder, inner))
                try:
                    os.rmdir(folder)
                except OSError:
                    # Somebody else's open file (Windows): the next build tries again.
                    continue


def remove(path):
    """Delete a file of ours, if it can be deleted."""
    try:
        os.unlink(path)
    except OSError:
        # Held open by a reader (Windows) or already gone; clean() comes by again.
        return


def default(note=None):
    """-> the Store of this user's data folder."""
    return Store(paths.data_dir(), note)
