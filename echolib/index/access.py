"""How a command gets at sessions: through the index, brought up to date first; without one, by reading the files.

Both ways end in the same tables, so every number has one definition whichever way it was reached.
"""
import os
import sqlite3
import time

from ..base import paths
from ..base.errors import IndexUnusable
from ..base.shapes import shape
from . import schema, sweep
from .store import Store

# Without an index this much of the newest text is read for a search.
SCAN_BYTES = 96 << 20


class MemoryStore(Store):
    """An index that lives as long as its process: for homes where none can be kept.

    text: whether the texts are to be searched too (SCAN_BYTES of the newest at most).
    """

    def __init__(self, note=None, text=False):
        Store.__init__(self, paths.data_dir() or os.curdir, note)
        self.text = text and schema.has_fts5()
        self.connections = {}
        self.db = sqlite3.connect(':memory:', isolation_level=None)
        for statement in schema.statements(schema.INDEX_SCHEMA):
            self.db.execute(statement)

    def lock(self, wait=0.0):
        """Nobody else can write here."""
        return True

    def unlock(self):
        """See lock."""

    def shards(self):
        """-> {id: (connection or None, docs_end)}."""
        return dict((number, (self.connections.get(number), end))
                    for number, end in self.db.execute('select id, docs_end from shards'))

    def add_shard(self):
        """Make the text tables, where they are wanted."""
        name = 'memory-%d' % self.db.execute('select count(*) from shards').fetchone()[0]
        number = self.db.execute('insert into shards (file, docs_end, docs, dead, bytes) values (?, 1, 0, 0, 0)', (name,)).lastrowid
        if self.text:
            db = sqlite3.connect(':memory:', isolation_level=None)
            for statement in schema.statements(schema.SHARD_SCHEMA):
                db.execute(statement)
            self.connections[number] = db
        return number


# What a command works on. db: index.db or its stand-in; shards: [(id, connection, docs_end)]; state: 'current', 'not
# refreshed', 'busy' (another process is writing), 'none' (the files were read); result: plan.Result, None where nothing had to
# be done; problems: folders that could not be listed; covered: '' or what a scan left out; age: seconds since all files were
# looked at.
View = shape('View', 'store db shards state result problems covered age')


def open_view(note, refresh=True, text=False, agent=None, progress=None):
    """-> View of everything there is to know.

    note(text): gets lines for the user.  refresh=False: the index as it is; 'full': every file is looked at, however many
    there are.  text: shards are needed.  Never fails for want of an index; raises EchoError only when there is nothing to
    look at.
    """
    folder = paths.data_dir()
    store = Store(folder, note) if folder else None
    try:
        if store is None:
            raise IndexUnusable('there is no home folder to keep an index in; set SESSION_DIGGER_DATA_DIR')
        try:
            return _opened(store, note, refresh, text, agent, progress)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and 'malformed' not in str(error):
                raise
            note('the index was damaged (%s); the damaged part is built again' % error)
            repair(store)
            return _opened(store, note, refresh, text, agent, progress)
    except IndexUnusable as error:
        reason = str(error)
    except sqlite3.DatabaseError as error:
        reason = 'the index cannot be used (%s)' % error
    if store is not None:
        store.close()
    note('%s; the files are read instead' % reason)
    return _scanned(note, text, progress)


def _opened(store, note, refresh, text, agent, progress):
    usable = store.open(create=refresh)
    if usable and store.db.execute("select 1 from meta where key = 'built'").fetchone() is None:
        usable = False
    if store.stale:
        from . import build
        note('the index was made by another version; it is built again')
        result = build.rebuild(store, progress)
        if result.busy:
            raise IndexUnusable('another process is building the index')
        store.open()
        return _view(store, 'current', result, text)
    if not refresh:
        return _view(store, 'not refreshed', None, text)
    look = sweep.look(store.db, agent, whole=refresh == 'full')
    todo = None
    if not look.same:
        from . import plan
        todo = plan.make(store.db, agent, folder=store.folder, look=look)
    if (todo is None or plan.nothing_to_do(todo)) and not sweep.prices_changed(store.db, store.folder):
        if agent is None and (todo is not None or sweep.due(look)):
            sweep.remember(store, look)
        _archive(store)
        return _view(store, 'current', None, text, look)
    from . import build
    # A first build in another process is worth waiting for.
    result = build.refresh(store, agent, progress, wait=0.0 if usable else 30.0, todo=todo)
    if not result.busy:
        _archive(store)
    return _view(store, 'busy' if result.busy else 'current', result, text, look)


def _archive(store):
    """Once a day, keep what the agents' clean-up is about to take."""
    row = store.db.execute("select value from meta where key = 'archived'").fetchone()
    if row is None or not 0 <= time.time() - row[0] < 20 * 3600:
        from . import archive
        archive.daily(store)


def mend(note, error, anew):
    """Repair the index after an error that told damage; anew: give it up, the next opening builds another."""
    store = Store(paths.data_dir(), note)
    note('the index was damaged (%s); %s' % (error, 'it is built again' if anew else 'the damaged part is built again'))
    try:
        if anew:
            store.move_aside()
        else:
            repair(store)
    finally:
        store.close()


def repair(store):
    """Make an index usable again whose databases are damaged: a shard is written anew, index.db starts from nothing."""
    from . import upkeep
    if store.db is None:
        store.open()
    if not store.lock(20.0):
        raise IndexUnusable('the index is damaged and another process is writing it')
    try:
        sound = upkeep.is_sound(store.db)
        if sound:
            for number in upkeep.damaged_shards(store):
                upkeep.rewrite_shard(store, number)
    finally:
        store.unlock()
    if not sound:
        store.close()
        store.move_aside()


def _scanned(note, text, progress):
    from . import build, plan
    store = MemoryStore(note, text)
    todo = plan.make(store.db, folder=paths.data_dir())
    covered = ''
    if text and store.text:
        todo, covered = _newest(todo)
    builder = build.Builder(store, progress, 1)
    builder.run(todo)
    result = plan.Result(len(builder.read), len(builder.read), 0, 0, 0, builder.errors, 0.0, todo.problems, False)
    shards = [(number, db, end) for number, (db, end) in sorted(store.shards().items()) if db is not None]
    return View(store, store.db, shards, 'none', result, todo.problems, covered, 0)


def _newest(todo):
    """-> the plan cut to SCAN_BYTES of the newest files, and what that leaves out."""
    items = sorted(todo.new, key=lambda item: -item[3].mtime_ns)
    size, count = 0, 0
    for item in items:
        size += item[3].size
        if size > SCAN_BYTES and count:
            break
        count += 1
    if count == len(items):
        return todo, ''
    return todo._replace(new=items[:count]), 'only the newest %d of %d files were read' % (count, len(items))


def _view(store, state, result, text, look=None):
    shards = []
    if text:
        for number, (path, end) in sorted(store.shards().items()):
            if not os.path.exists(path):
                raise sqlite3.DatabaseError('a part of it is missing')
            db = schema.connect(path, True)
            # The first look at a database tells a file that is none.
            db.execute('select id from next_doc').fetchone()
            shards.append((number, db, end))
    return View(store, store.db, shards, state, result, look.problems if look else result.problems if result else [], '', sweep.age(look) if look else 0)
