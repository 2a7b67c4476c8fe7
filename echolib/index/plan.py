"""What has to be read: the files on disk against the files the index knows, by stat alone."""
import os
from collections import namedtuple

from ..adapters import registry
from ..base import paths

# What a build has to do. new, grown, reset: lists of (agent, root, folder, Source, known row or None); gone: ids of
# files to forget; purged: True when a transcript was deleted by its user; found: files seen; problems: folders that
# cannot be listed, as (path, reason); known: number of files in the index.
Plan = namedtuple('Plan', 'new grown reset gone purged found problems known roots')

Known = namedtuple('Known', 'id root path size mtime_ns offset open_end check_sum sid role shard')


def known_files(db):
    """-> {path: Known} of every file in the index."""
    out = {}
    for row in db.execute('select id, root, path, size, mtime_ns, offset, open_end, check_sum, sid, role, shard from files'):
        path = paths.restored(row[2])
        out[path] = Known(row[0], row[1], path, *row[3:])
    return out


def configured(environ=os.environ):
    """-> list of (adapter, root path) of every configured root."""
    return [(adapter, root) for adapter in registry.ADAPTERS for root in adapter.roots(environ)]


def make(db, agent=None, environ=os.environ):
    """-> Plan of what a build must do. agent: look at this agent's roots only."""
    known = known_files(db)
    new, changed, problems, seen = [], [], [], set()
    root_ids = dict(((a, paths.restored(p)), i) for i, a, p in db.execute('select id, agent, path from roots'))
    all_roots = configured(environ)
    for adapter, root in all_roots:
        if agent is not None and adapter.NAME != agent:
            continue
        for session in adapter.discover(root, problems):
            for source in session.sources:
                if source.role == 'sidecar':
                    continue
                row = known.get(source.path)
                seen.add(source.path)
                if row is None:
                    new.append((adapter, root, session.folder, source, None))
                elif row.size != source.size or row.mtime_ns != source.mtime_ns:
                    changed.append((adapter, root, session.folder, source, row))
    grown, reset = [], []
    for item in changed:
        (grown if continues(item[3], item[4]) else reset).append(item)
    unlisted = [path for path, _ in problems]
    live = set(root_ids.get((adapter.NAME, root)) for adapter, root in all_roots)
    looked = set(root_ids.get((adapter.NAME, root)) for adapter, root in all_roots if agent in (None, adapter.NAME))
    gone, purged = [], False
    for path, row in known.items():
        if path in seen:
            continue
        if row.root not in live:
            gone.append(row)
        elif row.root in looked and not any(path.startswith(os.path.join(p, '')) for p in unlisted):
            gone.append(row)
            purged = True
    return Plan(new, grown, reset, gone, purged, len(seen), problems, len(known), all_roots)


def continues(source, row):
    """True when a changed file only grew behind what was read of it (the bytes before are compared)."""
    from .ingest import check_sum
    if source.size < row.offset or not row.offset or source.size == row.size:
        return False
    try:
        if check_sum(source.path, row.offset) != row.check_sum:
            return False
        if row.open_end:
            with open(source.path, 'rb') as handle:
                handle.seek(row.offset)
                return handle.read(1) in (b'\n', b'\r')
    except OSError:
        return False
    return True


def nothing_to_do(plan):
    """True when the index already shows what is on disk."""
    return not (plan.new or plan.grown or plan.reset or plan.gone)
