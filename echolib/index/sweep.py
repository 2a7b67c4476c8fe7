"""One look at the agents' files, by listing and stat alone, and whether it shows anything that the index has not taken in.

What a whole look saw is kept in index.db, so that the next one is told from it at once. For a minute after a whole look
folders that have not changed are not listed again, and above PARTIAL files only those that changed last are looked at.
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
# The time of a folder that is not there, and of one that tells nothing.
_MISSING, _UNSURE = -1, -2

# roots: [(adapter, root path)] of every configured root; files: {number of a root: list of rows as scan() yields them}, of a
# short look only what changed; problems: [(path, reason)] of folders that cannot be listed; same: True when the index
# shows all of it; kept: the Kept of a short look, None of a whole one; version: the index's state before; at: when all files
# were looked at, in seconds; places: {number of a root: list of the places to watch}, where these and stat tell all.
Look = shape('Look', 'roots files problems same kept version at places')

# What a whole look saw, for short ones. at: when, in seconds; complete: 1 where every file is among these; mark: roots, and all
# rows of those that are listed each time; told: numbers of the others; problems: theirs, path and reason in turn; folders:
# how many of the paths are places to watch; paths: those and the files; stats: a time for each folder, size and time for each
# file; rows: the rest of each file's row. Texts are parted by zero bytes.
Kept = shape('Kept', 'at complete mark told problems folders paths stats rows')

_KEPT = [float, int, bytes, bytes, bytes, int, bytes, bytes, bytes]


def look(db, agent=None, environ=os.environ, whole=True):
    """-> Look. agent: at this agent's roots only. whole: at every file, however many there are."""
    now, began = version(db), time.time()
    known = {}
    for name, root, archive in db.execute('select agent, path, archive from roots'):
        known.setdefault(name, []).extend([] if archive else [paths.restored(root)])
    adapters = list(registry.asked(environ, known))
    kept = None if agent is not None or whole else _kept(db)
    if kept is not None and 0 <= began - kept.at < _LASTS:
        try:
            short = patiently(lambda alive: _short(kept, _configured(adapters, environ), now, alive), PATIENCE)
        except NoAnswer:
            # Which folder it is shows below.
            short = None
        if short is not None:
            return short
    roots, files, problems, places = [], {}, [], {}
    for adapter, found in _visits(adapters, agent, environ, known):
        for root, rows, bad, watched in found:
            if agent in (None, adapter.NAME):
                files[len(roots)] = rows
                places[len(roots)] = watched
            roots.append((adapter, root))
            problems += bad
    same = agent is None and _seen(db) == _mark(roots, files, problems)
    return Look(roots, files, problems, same, None, now, began, places)


def _visits(adapters, agent, environ, known):
    """-> [(adapter, [(root, rows as scan() yields them, problems, places to watch)])]. Where a file system does not answer, the agent's
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
                done.append((mute, [(root, [], [(root, why)], []) for root in roots]))
        visited += done
    return visited


def _visit(adapters, agent, environ, alive, done):
    for adapter in adapters:
        found = []
        for root in adapter.roots(environ):
            problems, watched = [], []
            rows = _scan(adapter, root, problems, watched, alive) if agent in (None, adapter.NAME) else []
            found.append((root, rows, problems, watched))
            alive()
        done.append((adapter, found))


def _scan(adapter, root, problems, watched, alive):
    rows = []
    for row in adapter.scan(root, problems, watched) if getattr(adapter, 'BY_STAT', False) else adapter.scan(root, problems):
        rows.append(row)
        alive()
    return rows


def age(seen):
    """-> seconds since all files were looked at; 0 where they just were."""
    return 0 if seen.kept is None or seen.kept.complete else int(time.time() - seen.at)


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
    """True for a look that has to be kept, though it shows nothing new: the short ones that follow lean on it."""
    return seen.kept is None and any(seen.places.values())


def keep(db, seen):
    """Keep a look that the index has taken in; the caller is the one writer, outside of a transaction. Where nothing can be
    written, the next look is told the long way."""
    kept = seen.kept or _worth(seen)
    try:
        db.execute('begin immediate')
        if seen.kept is None and not seen.same:
            db.execute("insert or replace into meta values ('seen', ?)", (_mark(seen.roots, seen.files, seen.problems),))
        if kept is not None and not (seen.same and kept[1:] == (_kept(db) or ())[1:]):
            db.execute('delete from swept')
            db.execute('insert into swept values (%s)' % ','.join('?' * len(kept)), kept)
        elif kept is not None:
            db.execute('update swept set at = ?', (kept.at,))
        db.execute('commit')
    except sqlite3.OperationalError:
        if db.in_transaction:
            db.execute('rollback')


def _seen(db):
    row = db.execute("select value from meta where key = 'seen'").fetchone()
    return row and row[0]


def _kept(db):
    """-> the Kept of the index, None where there is none, or a damaged one."""
    row = db.execute('select * from swept').fetchone()
    return Kept(*row) if row is not None and [type(value) for value in row] == _KEPT else None


def _mark(roots, files, problems):
    # Version 2 of the format depends on nothing but the values. It is compared and never read.
    return marshal.dumps([[[adapter.NAME, root] for adapter, root in roots], sorted(files.items()), problems], 2)


def _configured(adapters, environ):
    return [(adapter, root) for adapter in adapters for root in adapter.roots(environ)]


def _short(kept, roots, now, alive):
    """-> Look at places and files that are kept, at whole roots where these do not tell; None where that cannot tell what has
    changed."""
    folders = kept.folders
    try:
        told, known, watched = _parted(kept.told), _parted(kept.problems), _parted(kept.paths)
        stats = memoryview(kept.stats).cast('q').tolist()
    except (TypeError, ValueError):
        # Damaged: a whole look keeps another.
        return None
    if not 0 <= folders <= len(watched) or len(stats) != 2 * len(watched) - folders:
        return None
    for path, mtime in zip(watched[:folders], stats):
        if _mtime(path) != mtime:
            return None
        alive()
    files, problems = {}, []
    for number, (adapter, root) in enumerate(roots):
        if str(number) not in told:
            files[number] = _scan(adapter, root, problems, [], alive)
    if _mark(roots, files, problems) != kept.mark:
        return None
    changed = []
    try:
        for place, (path, size, mtime) in enumerate(zip(watched[folders:], stats[folders::2], stats[folders + 1::2])):
            stat = os.stat(path)
            if stat.st_mtime_ns != mtime or stat.st_size != size:
                changed.append((place, path, stat.st_size, stat.st_mtime_ns))
            alive()
    except (OSError, UnicodeEncodeError):
        # Gone, or its path cannot be said in this locale.
        return None
    problems += zip(known[::2], known[1::2])
    try:
        files = _changes(kept, changed)
    except ValueError:
        # Damaged, as above.
        return None
    return Look(roots, files, problems, not changed, _renewed(kept, stats, changed), now, kept.at, {})


def _changes(kept, changed):
    """-> {number of a root: rows as scan() would yield them} of [(place, path, size, mtime_ns)]; ValueError for damaged ones."""
    files, rows = {}, _parted(kept.rows) if changed else ()
    for place, path, size, mtime in changed:
        number, role, chain, session, folder = rows[5 * place:5 * place + 5]
        files.setdefault(int(number), []).append((path, size, mtime, role, chain, session[1:] if session else None, folder))
    return files


def _renewed(kept, stats, changed):
    """-> a Kept with other sizes and times of some files."""
    if not changed:
        return kept
    for place, _, size, mtime in changed:
        stats[kept.folders + 2 * place:kept.folders + 2 * place + 2] = size, mtime
    return kept._replace(stats=_numbers(stats))


def _worth(seen):
    """-> Kept of a whole look, None where no root can be told by places and stat."""
    # A folder that could not be listed may be open by now, and its time does not tell.
    told = [number for number in seen.files if seen.places[number] and not any(
        os.path.exists(path) for path, _ in seen.problems if paths.same_or_below(path, seen.roots[number][1]))]
    if not told:
        return None
    files = [(number, row) for number in told for row in seen.files[number]]
    complete = len(files) <= PARTIAL
    if not complete:
        files = sorted(files, key=lambda one: -one[1][2])[:_LATEST]
    folders = sorted(set(path for number in told for path in seen.places[number]))
    # What has changed since the look began may have come after it: that must not count as seen.
    late = (seen.at - _TICK) * 1e9
    times = [_UNSURE if mtime > late else mtime for mtime in (_mtime(path) for path in folders)]
    others = dict((number, rows) for number, rows in seen.files.items() if number not in told)
    problems = [one for one in seen.problems if any(paths.same_or_below(one[0], seen.roots[number][1]) for number in told)]
    return Kept(seen.at, int(complete), _mark(seen.roots, others, [one for one in seen.problems if one not in problems]),
                _joined(str(number) for number in told), _joined(text for one in problems for text in one),
                len(folders), _joined(folders + [row[0] for _, row in files]),
                _numbers(times + [number for _, row in files for number in row[1:3]]),
                _joined(text for number, row in files for text in (
                    str(number), row[3], row[4], '' if row[5] is None else '=' + row[5], row[6])))


def _joined(texts):
    return '\0'.join(texts).encode('utf-8', 'surrogatepass')


def _parted(raw):
    """-> list of the texts that _joined() joined; ValueError for damaged ones."""
    return raw.decode('utf-8', 'surrogatepass').split('\0') if raw else []


def _numbers(numbers):
    from array import array
    return array('q', numbers).tobytes()


def _mtime(path):
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, UnicodeEncodeError):
        # Also a path that cannot be said in this locale.
        return _MISSING


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
