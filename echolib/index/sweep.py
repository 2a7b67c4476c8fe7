"""One look at the agents' files, by listing and stat alone, and whether it shows anything that the index has not taken in.

What a whole look saw is kept in index.db, so that the next one is told from it at once. Above PARTIAL files, for a minute
after a whole look, only folders and the files that changed last are looked at.
"""
import marshal
import os
import sqlite3
import time

from ..adapters import registry
from ..base import paths
from ..base.errors import IndexUnusable
from ..base.files import shun
from ..base.patience import NoAnswer, patiently
from ..base.shapes import shape

PARTIAL = 2000
_LATEST = 300
_LASTS = 60
# After so many seconds without a sign of life a file system counts as gone.
PATIENCE = 20
# As coarse as file systems' times may be, in seconds.
_TICK = 2

# roots: [(adapter, root path)] of every configured root; files: {number of a root: list of rows as scan() yields them}, of a
# partial look only what changed; problems: [(path, reason)] of folders that cannot be listed; same: True when the index
# shows all of it; kept: what a partial look was held against, None of a whole one; version: the index's state before; at: when
# all files were looked at, in seconds.
Look = shape('Look', 'roots files problems same kept version at')


def look(db, agent=None, environ=os.environ, whole=True):
    """-> Look. agent: at this agent's roots only. whole: at every file, however many there are."""
    now, began = version(db), time.time()
    known = {}
    for name, root, archive in db.execute('select agent, path, archive from roots'):
        known.setdefault(name, []).extend([] if archive else [paths.restored(root)])
    adapters = list(registry.asked(environ, known))
    kept = None if agent is not None or whole else _stored(db, 'swept')
    if kept is not None:
        try:
            part = patiently(lambda alive: _partial(kept, _configured(adapters, environ), now, alive), PATIENCE)
        except NoAnswer:
            # Which folder it is shows below.
            part = None
        if part is not None:
            return part
    roots, files, problems = [], {}, []
    for adapter, found in _visits(adapters, agent, environ, known):
        for root, rows, bad in found:
            if agent in (None, adapter.NAME):
                files[len(roots)] = rows
            roots.append((adapter, root))
            problems += bad
    same = agent is None and _stored(db, 'seen') == _mark(roots, files, problems)
    return Look(roots, files, problems, same, None, now, began)


def _visits(adapters, agent, environ, known):
    """-> [(adapter, [(root, rows as scan() yields them, problems)])]. Where a file system does not answer, the agent's
    known roots stand with that as their problem, and are not gone into again."""
    visited = []
    while len(visited) < len(adapters):
        done = []
        try:
            patiently(lambda alive: _visit(adapters[len(visited):], agent, environ, alive, done), PATIENCE)
        except NoAnswer:
            # What was left behind may come back to its own list, and must not write into this one.
            done = list(done)
            if len(visited) + len(done) < len(adapters):
                mute = adapters[len(visited) + len(done)]
                why = 'no answer for %d s' % PATIENCE
                roots = known.get(mute.NAME) or [registry.usual_root(mute.NAME)]
                for root in roots:
                    shun(root)
                done.append((mute, [(root, [], [(root, why)]) for root in roots]))
        visited += done
    return visited


def _visit(adapters, agent, environ, alive, done):
    for adapter in adapters:
        found = []
        for root in adapter.roots(environ):
            rows, problems = [], []
            for row in adapter.scan(root, problems) if agent in (None, adapter.NAME) else ():
                rows.append(row)
                alive()
            found.append((root, rows, problems))
            alive()
        done.append((adapter, found))


def age(seen):
    """-> seconds since all files were looked at; 0 of a whole look."""
    return int(time.time() - seen.at) if seen.kept else 0


def version(db):
    """-> a number that another one follows when another process has written to the index."""
    return db.execute('pragma data_version').fetchone()[0]


def remember(store, seen):
    """Keep a whole look at what the index shows already; nothing is kept where another process writes, or nobody can."""
    try:
        if not store.lock():
            return
    except IndexUnusable:
        return
    try:
        if version(store.db) == seen.version:
            keep(store.db, seen)
    finally:
        store.unlock()


def due(seen):
    """True for a look that has to be kept, though it shows nothing new: the partial ones that follow lean on it."""
    return seen.kept is None and _count(seen) > PARTIAL


def keep(db, seen):
    """Keep a look that the index has taken in; the caller is the one writer, outside of a transaction. Where nothing can be
    written, the next look is told the long way."""
    try:
        db.execute('begin immediate')
        for key, value in _worth(seen):
            db.execute('insert or replace into meta values (?, ?)', (key, value))
        db.execute('commit')
    except sqlite3.OperationalError:
        if db.in_transaction:
            db.execute('rollback')


def _worth(seen):
    """Yield (key, value) of what is kept of a look."""
    if seen.kept is not None:
        swept = dict(seen.kept, latest=[[number, _again(seen, number, row)] for number, row in seen.kept['latest']])
    else:
        if not seen.same:
            yield 'seen', _mark(seen.roots, seen.files, seen.problems)
        swept = _swept(seen) if _count(seen) > PARTIAL else None
    if swept is not None:
        import json
        yield 'swept', json.dumps(swept)


def _count(seen):
    return sum(len(rows) for rows in seen.files.values())


def _stored(db, key):
    row = db.execute('select value from meta where key = ?', (key,)).fetchone()
    return row and row[0]


def _mark(roots, files, problems):
    # Version 2 of the format depends on nothing but the values. It is compared and never read.
    return marshal.dumps([_named(roots), sorted(files.items()), problems], 2)


def _named(roots):
    return [[adapter.NAME, root] for adapter, root in roots]


def _configured(adapters, environ):
    return [(adapter, root) for adapter in adapters for root in adapter.roots(environ)]


def _partial(kept, roots, now, alive):
    """-> Look at folders and the files that changed last, None where that cannot tell what has changed."""
    import json
    kept = json.loads(kept)
    if not 0 <= time.time() - kept['at'] < _LASTS or kept['roots'] != _named(roots):
        return None
    for path, mtime in kept['folders']:
        if _mtime(path) != mtime:
            return None
        alive()
    for number, rows in kept['listed']:
        adapter, root = roots[number]
        problems = []
        # A folder that could not be listed may be open by now, and its time does not tell.
        if [list(row) for row in adapter.scan(root, problems)] != rows or [one for one in _under(root, kept['problems']) if tuple(one) not in problems]:
            return None
    files = {}
    for number, row in kept['latest']:
        stat = _stat(row[0])
        if stat is None:
            return None
        alive()
        if stat.st_size != row[1] or stat.st_mtime_ns != row[2]:
            files.setdefault(number, []).append((row[0], stat.st_size, stat.st_mtime_ns) + tuple(row[3:]))
    return Look(roots, files, [tuple(one) for one in kept['problems']], not files, kept, now, kept['at'])


def _swept(seen):
    """-> what partial looks are held against: roots, problems, folders [[path, mtime_ns or None]], listed [[number of a root, its
    rows]] of roots that only their adapters can look at, and latest [[number of a root, row]]."""
    listed, folders, latest = [], set(path for path, _ in seen.problems), []
    for number, (adapter, root) in enumerate(seen.roots):
        rows = sorted(seen.files[number], key=lambda row: -row[2])
        if not adapter.GROWS or any(os.path.exists(path) for path, _ in _under(root, seen.problems)) or not _plain(rows[:_LATEST]):
            listed.append([number, seen.files[number]])
            continue
        folders.add(root)
        above = set()
        latest += [[number, row] for row in rows[:_LATEST]]
        for row in rows:
            folder = os.path.dirname(row[0])
            if row[3] == 'main':
                above.add(os.path.dirname(folder))
            while folder not in folders and folder.startswith(root):
                folders.add(folder)
                folder = os.path.dirname(folder)
        # Their neighbours may be empty, and not stay it.
        for folder in above & folders:
            folders.update(_folders_in(folder))
    latest.sort(key=lambda one: -one[1][2])
    # What has changed since the look began may have come after it: that must not count as seen.
    late = (seen.at - _TICK) * 1e9
    return {'at': seen.at, 'roots': _named(seen.roots), 'problems': seen.problems, 'listed': listed, 'latest': latest[:_LATEST],
            'folders': [[path, 0 if mtime is not None and mtime > late else mtime]
                        for path, mtime in ((path, _mtime(path)) for path in sorted(folders))]}


def _under(root, problems):
    return [one for one in problems if one[0].startswith(root)]


def _folders_in(path):
    try:
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if entry.is_dir()]
    except OSError:
        # Gone since: its parent's time tells.
        return []


def _plain(rows):
    """True where size and time of these rows are their files' own (one or another may have changed just now)."""
    stats = [(_stat(row[0]), row) for row in rows]
    return 2 * sum(stat is not None and (stat.st_size, stat.st_mtime_ns) == (row[1], row[2]) for stat, row in stats) >= len(rows)


def _again(seen, number, row):
    """-> a row as a partial look saw it."""
    for now in seen.files.get(number, ()):
        if now[0] == row[0]:
            return now
    return row


def _stat(path):
    try:
        return os.stat(path)
    except OSError:
        # Gone: its folder changed, which tells more.
        return None


def _mtime(path):
    stat = _stat(path)
    return stat and stat.st_mtime_ns


def prices_changed(db, folder):
    """True when stored costs were worked out with other price tables than today's."""
    stored = db.execute("select value from meta where key = 'prices'").fetchone()
    return stored is None or stored[0] != price_mark(folder)


def price_mark(folder):
    """What tells, without reading prices, that the price tables are the ones costs were worked out with."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    marks = []
    for path in (os.path.join(here, 'data', 'prices.json'), os.path.join(folder, 'pricing.json')):
        try:
            stat = os.stat(path)
            marks.append('%d:%d' % (stat.st_size, stat.st_mtime_ns))
        except OSError:
            marks.append('-')
    return '|'.join(marks)
