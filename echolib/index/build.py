"""Bring the index up to what is on disk: small changes in this process, much of it in worker processes.

A shard is committed before index.db learns of it, so a build that is killed keeps what index.db has and the next one
goes on from there.
"""
import json
import os
import sqlite3
import time

from .. import analysis
from ..adapters import Source, registry
from ..base import paths
from ..base.errors import IndexUnusable
from ..base.files import make_private
from . import ingest, plan, rollup, schema, sweep
from .ownership import Ledger
from .store import Store, remove

# More than this much to read is worth worker processes.
PARALLEL_BYTES = 12 << 20
_SHARD_BYTES = 160 << 20
_MAX_SHARDS = 8
# A commit comes after this much was read.
BATCH_BYTES, BATCH_FACTS = 40 << 20, ingest.PIECE_FACTS


def load_price(folder):
    """-> price function for analysis, of the price table of this data folder."""
    from .. import pricing
    return pricing.load(folder).cost


def refresh(store, agent=None, progress=None, wait=0.0, jobs=None, todo=None, whole=False):
    """Bring an open store up to date; -> plan.Result.

    agent: only this agent's roots.  progress(done bytes, all bytes): called now and then.  wait: seconds to wait for
    another writer; when there still is one, nothing is written and the result says busy.  jobs: number of worker
    processes (None: as many as there are processors, at most four).  todo: a Plan made just now.
    whole: see plan.make.
    """
    began = time.time()
    todo = todo or plan.make(store.db, agent, folder=store.folder, whole=whole)
    price_stale = sweep.prices_changed(store.db, store.folder)
    if plan.nothing_to_do(todo) and not price_stale:
        return plan.Result(todo.known, 0, todo.found, 0, 0, [], time.time() - began, todo.problems, False)
    if not store.lock(wait):
        return plan.Result(todo.known, 0, todo.found, 0, 0, [], time.time() - began, todo.problems, True)
    try:
        if sweep.version(store.db) != todo.look.version:
            # What another writer did meanwhile need not be done again.
            todo = plan.make(store.db, agent, folder=store.folder, whole=whole)
        builder = Builder(store, progress, jobs)
        builder.run(todo, price_stale)
        if agent is None:
            sweep.keep(store.db, todo.look)
        total = store.db.execute('select count(*) from files').fetchone()[0]
        return plan.Result(total, len(builder.read), todo.found - len(builder.read), len(todo.gone), 0, builder.errors,
                      time.time() - began, todo.problems, False)
    finally:
        store.unlock()


class Builder(object):
    """One build by the one writer."""

    def __init__(self, store, progress=None, jobs=None, home=None):
        self.store, self.db = store, store.db
        self.home = home or store.folder
        self.progress = progress
        self.workers = jobs if jobs is not None else min(4, os.cpu_count() or 1)
        self.errors = []
        self.read = set()
        self.done = self.all = 0

    def run(self, todo, price_stale=False):
        """Do what a plan says."""
        db = self.db
        price = load_price(self.home)
        # Where a build was killed, what it read was not looked through for rows that summaries name.
        killed = db.execute("select 1 from meta where key = 'unfinished'").fetchone()
        self.before = {} if killed else dict((number, end) for number, (_, end) in self.store.shards().items())
        self.ledger = Ledger(db, price)
        if price_stale:
            self._reprice()
        self.archives = todo.archives
        todo = self._tie_again(todo)
        self._forget(todo.gone, todo.purged)
        work = self._register(todo)
        self.all = sum(source.size - job.offset for job, source in work)
        self._read(work)
        db.execute('begin immediate')
        self._finish()
        db.execute('commit')

    def _reprice(self):
        """Work every cost out anew: the price table changed."""
        db, ledger = self.db, self.ledger
        db.execute('begin immediate')
        for number, text in db.execute('select id, tally from sessions').fetchall():
            tally = dict((k, v) for k, v in json.loads(text or '{}').items()
                         if not (k.startswith('m|') and k.rsplit('|', 1)[1].startswith(('cost_', 'unpriced'))) and k != 'side_cost')
            for row in db.execute(
                    'select facts.kind, facts.time, facts.side, facts.name, facts.status, facts.input, facts.output, facts.cache_read,'
                    ' facts.cache_write_5m, facts.cache_write_1h, facts.visible, facts.extra from facts join files on'
                    ' files.id = facts.file where files.session = ? and facts.owned = 1 and facts.kind = 1', (number,)).fetchall():
                for name, amount in analysis.contributions(ledger.fact(row), ledger.price):
                    if name == 'side_cost' or name.startswith('m|') and name.rsplit('|', 1)[1].startswith(('cost_', 'unpriced')):
                        tally[name] = tally.get(name, 0) + amount
            ledger.tallies[number] = tally
        self._roll_up()
        db.execute("insert or replace into meta values ('prices', ?)", (sweep.price_mark(self.home),))
        db.execute('commit')

    def _tie_again(self, todo):
        """-> the plan with files moved to the session they now belong to: forgotten where they were, and read anew.

        Of loose agent files that depends on their first records and on which main files there are, so it is decided again
        when either changed; of others on what their adapter says.
        """
        todo = self._move(todo)
        folders = set((item[1], item[2]) for item in todo.new if item[3].role == 'main')
        folders |= set((self._root_path(row.root), os.path.basename(os.path.dirname(row.path))) for row in todo.gone if row.role == 'main')
        grown = dict((item[4].id, item) for item in todo.grown + todo.reset if item[3].role == 'loose')
        if not folders and not grown:
            return todo
        leaving = set(row.id for row in todo.gone)
        new, gone, moved = list(todo.new), list(todo.gone), set()
        for number, root, folder, path, chain, sid in self.db.execute(
                "select id, root, folder, path, chain, sid from files where role = 'loose'").fetchall():
            if number in leaving or number not in grown and (self._root_path(root), folder) not in folders:
                continue
            path = paths.restored(path)
            agent = self.db.execute('select agent from roots where id = ?', (root,)).fetchone()[0]
            adapter = registry.get(agent)
            now = self._head(adapter, path) or chain
            if now == sid:
                continue
            try:
                stat = os.stat(path)
            except OSError:
                # Gone since the plan was made: the next build sees that.
                continue
            moved.add(number)
            gone.extend(plan.known_rows(self.db, [number]).values())
            new.append((adapter, self._root_path(root), folder, Source(path, 'loose', chain, None, stat.st_size, stat.st_mtime_ns), None))
        return todo._replace(new=new, gone=gone, grown=[i for i in todo.grown if i[4].id not in moved],
                             reset=[i for i in todo.reset if i[4].id not in moved])

    def _move(self, todo):
        """-> the plan with what moved, and what changed and is elsewhere by its first records, among the gone and the new."""
        moved = list(todo.moved)
        for item in todo.grown + todo.reset:
            adapter, source, row = item[0], item[3], item[4]
            if getattr(adapter, 'PLACED_BY_HEAD', False) and _placed(adapter, source)[1:4] != (row.role, row.chain, row.sid):
                moved.append(item)
        if not moved:
            return todo
        ids = set(item[4].id for item in moved)
        return todo._replace(new=todo.new + [item[:4] + (None,) for item in moved], gone=todo.gone + [item[4] for item in moved], moved=[],
                             grown=[item for item in todo.grown if item[4].id not in ids],
                             reset=[item for item in todo.reset if item[4].id not in ids])

    def _head(self, adapter, path):
        """-> the session of a loose file, None when it names none."""
        folder = os.path.dirname(path)
        also = [os.path.join(where, os.path.relpath(folder, root)) for where, root in self.archives.items()
                if folder.startswith(os.path.join(root, ''))]
        also += [os.path.join(root, os.path.relpath(folder, where)) for where, root in self.archives.items()
                 if folder.startswith(os.path.join(where, ''))]
        return adapter.head(path, also).get('session')

    def _root_path(self, number):
        row = self.db.execute('select path from roots where id = ?', (number,)).fetchone()
        return paths.restored(row[0]) if row else ''

    # what is known of files

    def _root_id(self, agent, path):
        value = paths.storable(path)
        row = self.db.execute('select id from roots where agent = ? and path = ?', (agent, value)).fetchone()
        if row is not None:
            return row[0]
        packed = 1 if path.startswith(os.path.join(self.home, 'archive', '')) else 0
        return self.db.execute('insert into roots (agent, path, archive) values (?,?,?)', (agent, value, packed)).lastrowid

    def _session_id(self, agent, root, folder, sid):
        row = self.db.execute('select id from sessions where root = ? and folder = ? and sid = ?', (root, folder, sid)).fetchone()
        if row is not None:
            return row[0]
        return self.db.execute("insert into sessions (agent, root, folder, sid, tally, path, lines) values (?,?,?,?,'{}','',0)",
                               (agent, root, folder, sid)).lastrowid

    def _shard_for(self, sizes, amount):
        number = min(sizes, key=lambda n: (sizes[n], n))
        sizes[number] += amount
        return number

    def _register(self, todo):
        """Give every file to be read its rows; -> list of (Job, Source), newest first."""
        db = self.db
        work = []
        fresh = sum(item[3].size for item in todo.new + todo.reset)
        db.execute('begin immediate')
        self._set_out()
        sizes = dict((number, size) for number, size in db.execute('select id, bytes from shards'))
        wanted = 1
        if fresh + sum(sizes.values()) > PARALLEL_BYTES:
            wanted = max(2, min(_MAX_SHARDS, -(-(fresh + sum(sizes.values())) // _SHARD_BYTES)))
        while (todo.new or todo.reset) and len(sizes) < wanted:
            sizes[self.store.add_shard()] = 0
        roots, sessions, shard_of = {}, {}, {}
        for adapter, root, folder, source, row in sorted(todo.new + todo.reset, key=lambda i: -i[3].size):
            if row is not None:
                self._undocument(row.id)
                number, sid = row.id, row.sid
                source = source._replace(role=row.role, chain=row.chain)
            else:
                if (adapter.NAME, root) not in roots:
                    roots[adapter.NAME, root] = self._root_id(adapter.NAME, root)
                root_id = roots[adapter.NAME, root]
                sid = source.session
                if source.role == 'loose':
                    sid = self._head(adapter, source.path) or source.chain
                elif getattr(adapter, 'PLACED_BY_HEAD', False):
                    source = _placed(adapter, source)
                    sid = source.session
                home = self.archives.get(root, root)
                if (adapter.NAME, home) not in roots:
                    roots[adapter.NAME, home] = self._root_id(adapter.NAME, home)
                # An archived transcript belongs to the session it was, whatever is left of that on disk.
                key = (roots[adapter.NAME, home], folder, sid)
                if key not in sessions:
                    sessions[key] = self._session_id(adapter.NAME, key[0], schema.storable(folder), schema.storable(sid))
                number = db.execute(
                    'insert into files (root, folder, path, role, chain, sid, session, size, mtime_ns, offset, ranges, damaged)'
                    " values (?,?,?,?,?,?,?,-1,0,0,'','[]')",
                    (root_id, schema.storable(folder), paths.storable(source.path), source.role, schema.storable(source.chain),
                     schema.storable(sid), sessions[key])).lastrowid
            source = source._replace(session=sid)
            shard = self._shard_for(sizes, source.size)
            db.execute('update files set shard = ? where id = ?', (shard, number))
            work.append((ingest.Job(adapter.NAME, source, number, 0, 0, None, None, True), source, shard))
        for adapter, root, folder, source, row in todo.grown:
            got = db.execute('select offset, line, state, profile, shard from files where id = ?', (row.id,)).fetchone()
            source = source._replace(session=row.sid, role=row.role, chain=row.chain)
            work.append((ingest.Job(adapter.NAME, source, row.id, got[0], got[1], json.loads(got[2] or '{}'),
                                    json.loads(got[3] or '{}'), True), source, got[4]))
            sizes[got[4]] = sizes.get(got[4], 0) + source.size - got[0]
        for number, size in sizes.items():
            db.execute('update shards set bytes = ? where id = ?', (size, number))
        db.execute('commit')
        self.shard_of = dict((job.file, shard) for job, _, shard in work)
        self.sources = dict((job.file, source) for job, source, _ in work)
        work.sort(key=lambda w: -w[1].mtime_ns)
        return [(self._searchable(job), source) for job, source, _ in work]

    def _searchable(self, job):
        """Replays of a parent conversation are not searched while the parent is there."""
        if not analysis.is_replay(job.source.chain):
            return job
        have = self.db.execute("select 1 from files a join files b on b.session = a.session where a.id = ? and b.role = 'main'",
                               (job.file,)).fetchone()
        return job._replace(searchable=have is None)

    def _undocument(self, file):
        """Take a file's documents out of its shard; their words stay there, unreachable, until the shard is rewritten."""
        row = self.db.execute('select shard, ranges from files where id = ?', (file,)).fetchone()
        if row is None or row[0] is None:
            return
        ranges = schema.pieces(row[1])
        if ranges:
            self.dead.setdefault(row[0], []).extend(ranges)
            self.db.execute('update shards set dead = dead + ? where id = ?', (sum(b - a for a, b in ranges), row[0]))
            self.db.execute("update files set ranges = '' where id = ?", (file,))

    @property
    def dead(self):
        """Document ranges to delete, by shard."""
        if not hasattr(self, '_dead'):
            self._dead = {}
        return self._dead

    def _bury(self):
        """Delete the documents of files that went or are read anew."""
        shards = self.store.shards()
        for number, ranges in self.dead.items():
            path, end = shards[number]
            db = schema.connect(path)
            schema.settle(db)
            try:
                db.execute('begin immediate')
                for first, last in ranges:
                    db.execute('delete from docs where id >= ? and id < ?', (first, last))
                db.execute('commit')
            finally:
                db.close()
        self.dead.clear()

    def _set_out(self):
        self.db.execute("insert or ignore into meta values ('unfinished', 1)")

    def _forget(self, gone, purged):
        if not gone:
            return
        db = self.db
        db.execute('begin immediate')
        self._set_out()
        for row in gone:
            self._undocument(row.id)
            self.ledger.forget(row.id)
            db.execute('update shards set bytes = max(0, bytes - ?) where id = ?', (max(row.size, 0), row.shard))
            if row.shard is not None and purged:
                db.execute("insert or replace into meta values (?, 1)", ('purge:%d' % row.shard,))
        self.ledger.settle()
        self._roll_up()
        db.execute('commit')
        self._bury()

    # reading

    def _read(self, work):
        self._bury()
        if not work:
            return
        if self.all > PARALLEL_BYTES and self.workers > 1:
            from .workers import read_in_workers
            read_in_workers(self, work)
        else:
            self._read_here([job for job, _ in work])

    def _read_here(self, jobs):
        by_shard = {}
        for job in jobs:
            by_shard.setdefault(self.shard_of[job.file], []).append(job)
        for shard, mine in by_shard.items():
            path, end = self.store.shards()[shard]
            for batch, docs_end in read_jobs(path, end, mine):
                self.take(shard, batch, docs_end)

    def take(self, shard, batch, docs_end):
        """Take in a batch of Pieces whose documents their shard has committed."""
        db, ledger = self.db, self.ledger
        db.execute('begin immediate')
        try:
            count = 0
            for piece in batch:
                ledger.take(piece)
                source = self.sources[piece.file]
                count += piece.docs[1] - piece.docs[0]
                self.done += piece.bytes
                if piece.error is not None:
                    self.errors.append((source.path, piece.error))
                    # Tried again when it changes, not at every look.
                    db.execute('update files set size = ?, mtime_ns = ? where id = ?', (source.size, source.mtime_ns, piece.file))
                elif piece.last:
                    db.execute('update files set size = ?, mtime_ns = ? where id = ?', (source.size, source.mtime_ns, piece.file))
                    self.read.add(piece.file)
            db.execute('update shards set docs_end = ?, docs = docs + ? where id = ?', (docs_end, count, shard))
            ledger.settle()
            self._roll_up()
            db.execute('commit')
        except BaseException:
            db.execute('rollback')
            raise
        if self.progress is not None:
            self.progress(self.done, self.all)

    def _roll_up(self):
        ids = self.ledger.changed_sessions()
        self.ledger.store()
        rollup.sessions(self.db, ids)
        self.rolled = True

    def _finish(self):
        self.ledger.settle()
        self._roll_up()
        if self.db.execute('select 1 from summaries where target is null limit 1').fetchone():
            self._resolve()
        rollup.mark_copies(self.db)
        self.db.execute("insert or replace into meta values ('built', ?)", (int(time.time() * 1000),))
        self.db.execute("delete from meta where key = 'unfinished'")
        self.db.execute("insert or replace into meta values ('prices', ?)", (sweep.price_mark(self.home),))

    def _resolve(self):
        if any(not isinstance(shard, str) for shard, _ in self.store.shards().values()):
            rollup.sessions(self.db, rollup.read_for_summaries(self.db))
            return
        from ..records import read_at
        shards, unseen = [], self.ledger.unseen if self.before else None
        try:
            for number, (shard, end) in self.store.shards().items():
                start = self.before.get(number, 0)
                if unseen is None or unseen or end > start:
                    shards.append((schema.connect(shard, True), start))

            def read_uuid(file, offset, length):
                row = self.db.execute('select path from files where id = ?', (file,)).fetchone()
                try:
                    found = read_at(paths.restored(row[0]), offset, length)
                except OSError:
                    return None
                return found[0].get('uuid') if found else None
            changed = rollup.resolve_summaries(self.db, shards, read_uuid, unseen)
        finally:
            for shard, _ in shards:
                shard.close()
        rollup.sessions(self.db, changed)


def _placed(adapter, source):
    """-> the Source with the place in its tree that its first records give it."""
    try:
        facts = adapter.head(source.path)
    except (OSError,) + ingest.FAULTS:
        # Reading it will say why.
        return source
    return source._replace(role=facts['role'], chain=facts['chain'], session=facts['session'] or source.session)


def read_jobs(shard, docs_end, jobs):
    """Yield (list of Pieces, docs_end) of the jobs of one shard, each batch after its documents are committed.

    shard: its path, an open connection to it, or None where no text is to be searched.
    """
    writer = ingest.NoWriter() if shard is None else ingest.ShardWriter(shard)
    try:
        writer.begin(docs_end)
        batch, size, facts = [], 0, 0
        for job in jobs:
            adapter = registry.get(job.agent)
            for piece in ingest.pieces(job, adapter, writer):
                batch.append(piece)
                size += piece.bytes
                facts += len(piece.facts)
                if size > BATCH_BYTES or facts > BATCH_FACTS:
                    writer.commit()
                    yield batch, writer.next
                    piece, batch, size, facts = None, [], 0, 0
                    writer.begin()
        writer.commit()
        if batch:
            yield batch, writer.next
    finally:
        writer.close()


def rebuild(store, progress=None, wait=20.0, jobs=None):
    """Build everything anew beside the old index, then put it in its place in one transaction; -> plan.Result.

    The old index answers until then. The folder of a rebuild that was killed is removed by the next build.
    """
    began = time.time()
    if store.db is None:
        if not store.stale:
            raise IndexUnusable('there is no open index to rebuild')
        store.db = schema.connect(store.path)
        schema.settle(store.db)
    if not store.lock(wait):
        return plan.Result(0, 0, 0, 0, 0, [], time.time() - began, [], True)
    folder = os.path.join(store.folder, 'rebuild-%d' % os.getpid())
    try:
        make_private(folder)
        for name in os.listdir(folder):
            # Of a killed process that had our number.
            remove(os.path.join(folder, name))
        fresh = Store(folder, store.note)
        fresh.open()
        todo = plan.make(fresh.db, folder=store.folder, whole=True)
        builder = Builder(fresh, progress, jobs, store.folder)
        builder.run(todo)
        total = fresh.db.execute('select count(*) from files').fetchone()[0]
        names = [name for name, in fresh.db.execute('select file from shards')]
        fresh.close()
        for name in names:
            _at_rest(os.path.join(folder, name))
            os.replace(os.path.join(folder, name), os.path.join(store.folder, name))
        _replace_content(store.db, os.path.join(folder, schema.INDEX_NAME))
        store.stale = False
        store.clean()
        return plan.Result(total, len(builder.read), 0, 0, 0, builder.errors, time.time() - began, todo.problems, False)
    finally:
        if store.db is not None and os.path.isdir(folder):
            for name in os.listdir(folder):
                remove(os.path.join(folder, name))
            try:
                os.rmdir(folder)
            except OSError:
                store.note('the folder %s could not be removed' % folder)
        store.unlock()


def _at_rest(path):
    """Fold a database's write-ahead log into it, so that its one file can be moved."""
    db = schema.connect(path)
    db.execute('pragma journal_mode=delete')
    db.execute('pragma journal_mode')
    db.close()


def _replace_content(db, path):
    """Make index.db say what the database at `path` says, in one transaction."""
    db.execute('attach database ? as fresh', (paths.storable(path),))
    db.execute('begin immediate')
    try:
        for name, in db.execute("select name from main.sqlite_master where type = 'table' and name not like 'sqlite_%'").fetchall():
            db.execute('drop table main.%s' % name)
        for sql, in db.execute("select sql from fresh.sqlite_master where type = 'table' and name not like 'sqlite_%'").fetchall():
            db.execute(sql)
        for name, in db.execute("select name from fresh.sqlite_master where type = 'table' and name not like 'sqlite_%'").fetchall():
            db.execute('insert into main.%s select * from fresh.%s' % (name, name))
        for sql, in db.execute("select sql from fresh.sqlite_master where type in ('index', 'trigger') and sql is not null").fetchall():
            db.execute(sql)
        db.execute('commit')
    except sqlite3.Error:
        db.execute('rollback')
        raise
    finally:
        db.execute('detach database fresh')
