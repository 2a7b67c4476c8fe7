"""Originals that the agents' own clean-up is about to take, kept compressed, laid out like the agent's own root.

Once a transcript is gone, the ordinary adapters read it here and its session is marked `gone`. A transcript that the
user deletes earlier was never here, and leaves no trace.
"""
import os
import time
from zlib import crc32

from ..adapters import registry
from ..base import paths
from ..base.files import json_object, make_private, open_regular

FOLDER = 'archive'
# The client removes transcripts this many days after their last change, unless told otherwise (2.1.332 and before).
DEFAULT_CLEANUP_DAYS = 30
WINDOW_DAYS = 7
# Of what is overdue already this many bytes are taken in one go: the rest next time.
OVERDUE_BYTES = 24 << 20
# Seconds between two looks at what is overdue (and, outside of builds, at what is due).
EVERY = 20 * 3600


def cleanup_days(root):
    """-> (days after which the agent removes transcripts of a root, whether its user set that)."""
    value = json_object(os.path.join(root, 'settings.json')).get('cleanupPeriodDays')
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return value, True
    return DEFAULT_CLEANUP_DAYS, False


def wanted(root, environ=os.environ):
    """True when transcripts of a root are to be archived: not where their user set a clean-up period, unless
    SESSION_DIGGER_ARCHIVE=1; never with SESSION_DIGGER_ARCHIVE=0."""
    said = environ.get('SESSION_DIGGER_ARCHIVE')
    if said in ('0', '1'):
        return said == '1'
    return not cleanup_days(root)[1]


def place(folder, agent, root):
    """-> the archive's folder for one root."""
    return os.path.join(folder, FOLDER, '%s-%08x' % (agent, crc32(root.encode('utf-8', 'surrogateescape'))))


def roots(folder, configured):
    """-> list of (adapter, live root, archive root) of the configured roots that have an archive."""
    if not os.path.isdir(os.path.join(folder, FOLDER)):
        return []
    found = []
    for adapter, root in configured:
        where = place(folder, adapter.NAME, root)
        if os.path.isdir(where):
            found.append((adapter, root, where))
    return found


def keep(store, environ=os.environ, now=None):
    """Copy what the clean-up takes within WINDOW_DAYS into the archive; -> number of sessions copied.

    A copy is written whole or not at all. Needs the lock.
    """
    now = time.time() if now is None else now
    count = 0
    row = store.db.execute("select value from meta where key = 'archived'").fetchone()
    overdue_too = row is None or not 0 <= now - row[0] < EVERY
    for number, agent, root in store.db.execute('select id, agent, path from roots where archive = 0').fetchall():
        root = paths.restored(root)
        if not getattr(registry.get(agent), 'CLEANED', False) or not wanted(root, environ):
            continue
        days = cleanup_days(root)[0]
        due = int((now - (days - WINDOW_DAYS) * 86400) * 1e9)
        over = int((now - days * 86400) * 1e9)
        rows = store.db.execute(
            "select session, path, mtime_ns, size from files where root = ? and role = 'main' and mtime_ns < ? and size > 0"
            ' order by mtime_ns desc', (number, due)).fetchall()
        where, taken = place(store.folder, agent, root), 0
        for session, path, mtime, size in rows:
            if mtime < over and (taken > OVERDUE_BYTES or not overdue_too):
                break
            if _copy_session(store.db, session, registry.get(agent), root, where):
                count += 1
                taken += size
    if overdue_too:
        store.db.execute("insert or replace into meta values ('archived', ?)", (int(now),))
    return count


def daily(store):
    """Archive what is due, at most once in EVERY seconds; for commands that are not builds."""
    row = store.db.execute("select value from meta where key = 'archived'").fetchone()
    if row is not None and 0 <= time.time() - row[0] < EVERY or not store.lock():
        return
    try:
        keep(store)
    finally:
        store.unlock()


def _copy_session(db, session, adapter, root, where):
    """Copy a session's files; -> True when anything had to be copied."""
    copied = False
    for path, role, chain, sid in db.execute('select path, role, chain, sid from files where session = ?', (session,)).fetchall():
        path = paths.restored(path)
        copied |= _copy(path, root, where)
        if role == 'main':
            for extra in adapter.side_files(path):
                copied |= _copy(extra, root, where)
    return copied


def _copy(path, root, where):
    import gzip
    import shutil
    relative = os.path.relpath(path, root)
    if relative.startswith(os.pardir):
        return False
    target = os.path.join(where, relative + '.gz')
    try:
        stat = os.stat(path)
        if os.path.exists(target) and os.stat(target).st_mtime_ns == stat.st_mtime_ns:
            return False
        make_private(os.path.dirname(target))
        part = target + '.part'
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, 'wb') as out, gzip.GzipFile(os.path.basename(path), 'wb', 4, out, 0) as packed, open_regular(path) as handle:
            shutil.copyfileobj(handle, packed, 1 << 18)
        os.utime(part, ns=(stat.st_mtime_ns, stat.st_mtime_ns))
        os.replace(part, target)
    except OSError:
        # Vanished meanwhile, or no room: the next build tries again, and the original is still what counts.
        return False
    return True


def empty(folder):
    """Drop every archived transcript; -> number of transcripts dropped."""
    import shutil
    count = 0
    top = os.path.join(folder, FOLDER)
    for base, _, names in os.walk(top):
        count += sum(1 for name in names if name.endswith('.jsonl.gz') and not name.startswith('agent-'))
    shutil.rmtree(top, ignore_errors=True)
    return count
