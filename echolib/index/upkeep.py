"""Care of the index: rewriting shards that hold dead text, checking, pruning, optimising."""
import os
import sqlite3

from ..base import paths
from ..base.errors import EchoError
from . import archive, build, ingest, plan, schema
from .documents import document_kind, document_text
from .store import remove

# A shard is rewritten when more than this share of its documents is dead.
DEAD_SHARE = 0.2


def tidy(store, note):
    """After a build: rewrite shards that hold text of deleted transcripts, or too much dead text. Needs no lock yet."""
    marked = set(int(key.split(':')[1]) for key, in store.db.execute("select key from meta where key like 'purge:%'"))
    for number, docs, dead in store.db.execute('select id, docs, dead from shards').fetchall():
        if docs and dead > DEAD_SHARE * docs and dead > 500:
            marked.add(number)
    if marked and store.lock(10.0):
        try:
            for number in sorted(marked):
                rewrite_shard(store, number)
            wipe(store.db)
        finally:
            store.unlock()
    if store.lock(0.0):
        try:
            store.clean()
            archive.keep(store)
        finally:
            store.unlock()


def wipe(db):
    """Let no byte of what was deleted stay in index.db or its log."""
    try:
        db.execute('vacuum')
    except sqlite3.OperationalError:
        # Not enough room for a copy: deleted pages are wiped in place all the same (secure_delete).
        db.execute('pragma incremental_vacuum')
    db.execute('pragma wal_checkpoint(truncate)').fetchall()


def is_sound(db):
    """True when a database passes SQLite's quick check."""
    try:
        return db.execute('pragma quick_check(1)').fetchone()[0] == 'ok'
    except sqlite3.DatabaseError:
        return False


def damaged_shards(store):
    """-> ids of shards that are missing or damaged."""
    found = []
    for number, (path, _) in store.shards().items():
        if not os.path.exists(path):
            found.append(number)
            continue
        db = schema.connect(path)
        try:
            if not is_sound(db) or not _holds_text(db):
                found.append(number)
        finally:
            db.close()
    return found


def _holds_text(db):
    """True when both text tables of a shard pass FTS5's own check, which SQLite's does not make."""
    try:
        for table in ('prose', 'tools'):
            db.execute("insert into %s(%s) values ('integrity-check')" % (table, table))
    except sqlite3.DatabaseError:
        return False
    return True


def rewrite_shard(store, number):
    """Read the files of one shard again into a new shard, and put it in the old one's place. Needs the lock."""
    db = store.db
    old = db.execute('select file from shards where id = ?', (number,)).fetchone()
    if old is None:
        db.execute('delete from meta where key = ?', ('purge:%d' % number,))
        return
    from ..adapters import Source
    agents = dict(db.execute('select id, agent from roots'))
    rows = db.execute('select id, root, path, role, chain, sid, offset from files where shard = ? order by id', (number,)).fetchall()
    db.execute('begin immediate')
    fresh = store.add_shard()
    db.execute('commit')
    path, end = store.shards()[fresh]
    writer = ingest.ShardWriter(path)
    ranges = {}
    try:
        writer.begin(end)
        for row in rows:
            source = Source(paths.restored(row[2]), row[3], row[4], row[5], 0, 0)
            first = writer.next
            size = _copy_documents(build.registry.get(agents[row[1]]), source, row[0], row[6], writer)
            if writer.next > first:
                ranges[row[0]] = '%d-%d' % (first, writer.next)
            if size > build.BATCH_BYTES:
                writer.commit()
                writer.begin()
        writer.commit()
        docs_end = writer.next
    finally:
        writer.close()
    db.execute('begin immediate')
    for file, got in ((r[0], ranges.get(r[0], '')) for r in rows):
        db.execute('update files set shard = ?, ranges = ? where id = ?', (fresh, got, file))
    db.execute('update shards set docs_end = ?, docs = ?, dead = 0, bytes = (select bytes from shards where id = ?) where id = ?',
               (docs_end, docs_end - 1, number, fresh))
    db.execute('delete from shards where id = ?', (number,))
    db.execute('delete from meta where key = ?', ('purge:%d' % number,))
    db.execute('commit')
    for suffix in ('', '-wal', '-shm', '.words'):
        remove(os.path.join(store.folder, old[0] + suffix))


def _copy_documents(adapter, source, file, upto, writer):
    """Write the documents of a file up to a byte offset; -> bytes read. What cannot be read is left to the next build."""
    from ..records import Coverage
    coverage = Coverage(source.path)
    try:
        for events in adapter.read(source, coverage):
            if coverage.offset > upto:
                break
            for event in events:
                kind = document_kind(event)
                if kind and (event.text or event.kind == 'tool_result'):
                    writer.add(file, event, kind, document_text(adapter, source, event))
    except OSError:
        return 0
    return coverage.offset


def verify(store, limit):
    """-> {databases, sessions, damage: [text]}: integrity of every database, and `limit` sessions counted anew (0: all)."""
    from .. import analysis_file
    if store.db is None:
        raise EchoError('the index is of another version; run index-builder.py build')
    damage = []
    count = 1
    for what, db in [('index.db', store.db)]:
        _check(what, db, damage)
    for number, (path, end) in store.shards().items():
        count += 1
        try:
            db = schema.connect(path, True)
        except sqlite3.Error as error:
            damage.append('%s: %s' % (os.path.basename(path), error))
            continue
        try:
            _check(os.path.basename(path), db, damage)
        finally:
            db.close()
    if not plan.nothing_to_do(plan.make(store.db, folder=store.folder)):
        damage.append('the index is behind the files: run index-builder.py build')
        return {'databases': count, 'sessions': 0, 'damage': damage}
    from .catalog import Catalog, session_keys
    catalog = Catalog(store.db)
    rows = catalog.rows()
    read = 0
    for row in rows[:limit] if limit else rows:
        sources = catalog.sources(row)
        if not sources or sources[0].role != 'main':
            continue
        now = analysis_file.stats(sources[0].path)
        then = session_keys(row, catalog.whole_tally(row))
        read += 1
        for key in ('user_prompts', 'api_calls', 'tool_calls', 'tool_errors', 'tokens'):
            if then[key] != now[key]:
                damage.append('%s: %s is %s in the index and %s in the file' % (row.sid, key, then[key], now[key]))
    return {'databases': count, 'sessions': read, 'damage': damage}


def _check(what, db, damage):
    try:
        found = db.execute('pragma integrity_check').fetchone()[0]
        if found != 'ok':
            damage.append('%s: %s' % (what, found))
    except sqlite3.DatabaseError as error:
        damage.append('%s: %s' % (what, error))


def prune(store, gone=False):
    """Drop what is no longer on disk; with `gone` archived transcripts too. -> {files, archived}."""
    if not store.lock(10.0):
        raise EchoError('another process is writing the index')
    archived = 0
    try:
        if gone:
            archived = archive.empty(store.folder)
    finally:
        store.unlock()
    before = store.db.execute('select count(*) from files').fetchone()[0]
    build.refresh(store, wait=10.0, todo=plan.make(store.db, folder=store.folder, whole=True), whole=True)
    tidy(store, lambda text: None)
    return {'files': max(0, before - store.db.execute('select count(*) from files').fetchone()[0]), 'archived': archived}


def optimize(store):
    """Rewrite shards with dead text, merge the others' segments; -> {before, after} bytes."""
    before = _size(store.folder)
    if not store.lock(10.0):
        raise EchoError('another process is writing the index')
    try:
        for number, dead in store.db.execute('select id, dead from shards').fetchall():
            if dead:
                rewrite_shard(store, number)
            else:
                path, _ = store.shards()[number]
                db = schema.connect(path)
                schema.settle(db)
                db.execute("insert into prose(prose) values ('optimize')")
                db.execute("insert into tools(tools) values ('optimize')")
                db.execute('vacuum')
                db.close()
        wipe(store.db)
        store.clean()
    finally:
        store.unlock()
    return {'before': before, 'after': _size(store.folder)}


def _size(folder):
    return sum(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder) if os.path.isfile(os.path.join(folder, n)))
