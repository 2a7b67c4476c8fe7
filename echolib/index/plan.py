"""What has to be read: the files on disk against the files the index knows, by stat alone."""
import os

from ..adapters import Source
from ..base import paths
from ..base.files import open_regular
from ..base.shapes import shape
from . import sweep

# What a build has to do. new, grown, reset, moved: lists of (agent, root, folder, Source, known row or None), moved those
# that now belong to another session, or otherwise to theirs; gone: known rows to forget; purged: True when a transcript was deleted by its user; found: files seen; problems: folders that
# cannot be listed, as (path, reason); known: number of files in the index.
# archives: {archive folder: live root}; look: the sweep.Look it was made from.
Plan = shape('Plan', 'new grown reset gone purged found problems known archives moved look')

Known = shape('Known', 'id root path size mtime_ns offset open_end check_sum sid role shard chain')


def known_rows(db, ids):
    """-> {id: Known} of these files."""
    out = {}
    for number in ids:
        row = db.execute('select id, root, path, size, mtime_ns, offset, open_end, check_sum, sid, role, shard, chain from files'
                         ' where id = ?', (number,)).fetchone()
        out[number] = Known(row[0], row[1], paths.restored(row[2]), *row[3:])
    return out


def make(db, agent=None, environ=os.environ, folder=None, whole=False, look=None):
    """-> Plan of what a build must do.

    agent: look at this agent's roots only.  folder: our own, for its archive.  whole: look at the archive's files too when
    nothing else has changed (only we write there).  look: a sweep.Look made just now.
    """
    look = look or sweep.look(db, agent, environ)
    new, changed, moved, problems = [], [], [], look.problems
    known = _known(db, look)
    root_ids = dict(((a, paths.restored(p)), i) for i, a, p in db.execute('select id, agent, path from roots'))
    left = dict(known)
    for place, rows in look.files.items():
        adapter, root = look.roots[place]
        number, by_head = root_ids.get((adapter.NAME, root)), getattr(adapter, 'PLACED_BY_HEAD', False)
        for path, size, mtime, role, chain, session, group in rows:
            if (size | mtime) >> 62 not in (0, -1):
                # A time that stands in an agent's database may be any number; ours holds 63 bits.
                size, mtime = size % (1 << 62), mtime % (1 << 62)
            row = left.pop(path, None)
            if row is None:
                if path not in known:
                    new.append((adapter, root, group, Source(path, role, chain, session, size, mtime), None))
            elif row[7] != number or not by_head and (row[4] != role or row[5] != chain or row[6] != session and role != 'loose'):
                moved.append((adapter, root, group, Source(path, role, chain, session, size, mtime), row[1]))
            elif row[2] != size or row[3] != mtime:
                changed.append((adapter, root, group, Source(path, role, chain, session, size, mtime), row[1]))
    kept, archives = set(), {}
    packed = os.path.join(folder or '', 'archive', '')
    gone_before = dict((path, left.pop(path)) for path in [p for p in left if p.startswith(packed)]) if folder is not None and left else {}
    if folder is not None and look.kept is None and (whole or new or left) and os.path.isdir(packed):
        left.update(gone_before)
        from . import archive
        places = list(archive.roots(folder, look.roots))
        archives = dict((where, root) for _, root, where in places)
        kept = _archived(places, agent, known, left, new, changed, problems)
    rows = known_rows(db, [item[4] for item in changed + moved])
    changed, moved = ([item[:4] + (rows[item[4]],) for item in items] for items in (changed, moved))
    grown, reset = [], []
    for item in changed:
        (grown if item[0].GROWS and continues(item[3], item[4]) else reset).append(item)
    gone, purged = [], False
    if left:
        live = set(root_ids.get((adapter.NAME, root)) for adapter, root in look.roots)
        looked = set(root_ids.get((adapter.NAME, root)) for adapter, root in look.roots if agent in (None, adapter.NAME))
        archived = set(i for i, in db.execute('select id from roots where archive = 1'))
        unlisted = tuple(os.path.join(path, '') for path, _ in problems)
        for row in known_rows(db, [row[1] for row in left.values()]).values():
            if row.root in archived:
                # The original is back, or the archive was emptied.
                gone.append(row)
                purged = purged or (row.path not in kept)
            elif row.root not in live:
                gone.append(row)
            elif row.root in looked and not row.path.startswith(unlisted):
                gone.append(row)
                purged = purged or row.path not in kept
    return Plan(new, grown, reset, gone, purged, len(known) - len(left) + len(new), problems, len(known), archives, moved, look)


def _known(db, look):
    """-> {path: row} of the files the index knows; of a partial look's files only."""
    ask = 'select path, id, size, mtime_ns, role, chain, sid, root from files'
    if look.kept is None:
        return dict((paths.restored(row[0]), row) for row in db.execute(ask))
    found = {}
    for rows in look.files.values():
        for row in rows:
            for stored in db.execute(ask + ' where path = ?', (paths.storable(row[0]),)):
                found[row[0]] = stored
    return found


def _archived(places, agent, known, left, new, changed, problems):
    """Add archived transcripts whose original is gone to a plan in the making; -> paths of originals that are archived."""
    kept = set()
    for adapter, root, where in places:
        if agent not in (None, adapter.NAME):
            continue
        unlisted = tuple(os.path.join(path, '') for path, _ in problems)
        for path, size, mtime, role, chain, session, group in adapter.scan(where, []):
            original = os.path.join(root, os.path.relpath(path, where))[:-3]
            if original in left:
                # Known and no longer seen: unless its folder could not be listed, the agent has removed it.
                if original.startswith(unlisted):
                    continue
                kept.add(original)
            elif original in known or os.path.exists(original):
                continue
            row = left.pop(path, None)
            kept.add(path)
            item = (adapter, where, group, Source(path, role, chain, session, size, mtime))
            if row is None:
                new.append(item + (None,))
            elif row[2] != size or row[3] != mtime:
                changed.append(item + (row[1],))
    return kept


def continues(source, row):
    """True when a changed file only grew behind what was read of it (the bytes before are compared)."""
    from .ingest import check_sum
    if source.size < row.offset or not row.offset or source.size == row.size:
        return False
    try:
        if check_sum(source.path, row.offset) != row.check_sum:
            return False
        if row.open_end:
            with open_regular(source.path) as handle:
                handle.seek(row.offset)
                return handle.read(1) in (b'\n', b'\r')
    except OSError:
        return False
    return True


def nothing_to_do(plan):
    """True when the index already shows what is on disk."""
    return not (plan.new or plan.grown or plan.reset or plan.gone or plan.moved)


# What a build did. total: files known; indexed: read now; skipped: unchanged; deleted: taken out; gone: archived and no
# longer on disk; errors: [(path, reason)]; problems: folders that cannot be listed; busy: another process was writing.
Result = shape('Result', 'total indexed skipped deleted gone errors seconds problems busy')
