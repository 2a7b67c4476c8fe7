"""Scratch homes and indexes for tests of echolib.index: built in this process, compared key by key."""
import json
import os
import shutil

from echolib import analysis
from echolib.index import access, build, store
from echolib.index.catalog import Catalog


class Home(object):
    """A home folder with its own data folder; `environment` must be active (see fixture `home` in test files)."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.data = os.path.join(self.folder, 'data')
        self.projects = os.path.join(self.folder, '.claude', 'projects')

    def path(self, *parts):
        """-> path below the projects folder; its folder is made."""
        path = os.path.join(self.projects, *parts)
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        return path

    def write(self, data, *parts):
        """Write bytes to a file below projects."""
        with open(self.path(*parts), 'wb') as handle:
            handle.write(data)

    def append(self, data, *parts):
        """Add bytes to a file below projects."""
        with open(self.path(*parts), 'ab') as handle:
            handle.write(data)

    def copy(self, folder):
        """Lay the .claude folder of another home into this one."""
        shutil.copytree(os.path.join(folder, '.claude'), os.path.join(self.folder, '.claude'))

    def build(self, jobs=1):
        """Bring this home's index up to date; -> Result."""
        from echolib.index.upkeep import tidy
        one = store.Store(self.data)
        one.open()
        try:
            result = build.refresh(one, jobs=jobs)
            tidy(one, lambda text: None)
            return result
        finally:
            one.close()

    def state(self):
        """-> everything the index says: each session's row and tally, and every fact with its owner's file name."""
        view = access.open_view(lambda text: None, refresh=False)
        try:
            return snapshot(view.db)
        finally:
            view.store.close()


def snapshot(db):
    """-> comparable content of an index.db, without numbers that depend on the order of building."""
    sessions = {}
    for row in Catalog(db).rows():
        values = row._asdict()
        for name in ('id', 'root', 'copy_of'):
            values.pop(name)
        values['tally'] = json.loads(values['tally'])
        sessions[row.sid] = values
    facts = []
    for row in db.execute('select files.path, facts.key, facts.owned, facts.kind, facts.time, facts.side, names.name, facts.status,'
                          ' facts.input, facts.output, facts.cache_read, facts.cache_write_5m, facts.cache_write_1h, facts.visible,'
                          ' facts.extra from facts join files on files.id = facts.file left join names on names.id = facts.name'):
        facts.append(tuple(row))
    files = sorted(db.execute('select path, size, offset, line, lines, parse_errors, unknown_records, damaged, profile from files').fetchall(),
                   key=repr)
    rivals = sorted(db.execute('select a.path, b.path from rivals join files a on a.id = rivals.file join files b on b.id = rivals.other').fetchall(), key=repr)
    return {'sessions': sessions, 'facts': sorted(facts, key=repr), 'files': files, 'rivals': rivals}


def totals(state):
    """-> shared keys over all sessions of a state."""
    tally = {}
    for row in state['sessions'].values():
        analysis.add_tally(tally, row['tally'])
    return analysis.shared_keys(tally)
