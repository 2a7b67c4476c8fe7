"""How well everything was read, and what will be lost: answers for doctor, from the index and the folders beside it."""
import json
import os
from collections import namedtuple

from ..adapters import registry
from ..base import paths
from . import archive as archives

_DAY = 86400000
# How the reasons begin that records gives for a damaged line; any other is about a record that was not understood.
_DAMAGE = ('not JSON', 'not an object', 'cut or broken JSON', 'several records', 'zero bytes', 'nested too deep', 'damaged archive')

# One client version of one agent. sessions, files, lines, parse_errors, unknown_records: counts.
Coverage = namedtuple('Coverage', 'agent version sessions files lines parse_errors unknown_records')
# A reason for which records were not understood: how often among the remembered ones, and some places (path, line).
Unknown = namedtuple('Unknown', 'agent reason count places')
# What an agent's clean-up takes of a root within archive.WINDOW_DAYS. named: its user set the days; archived: a copy is kept
# first; sessions, files, bytes: what goes; first: ms of the earliest, None without any.
Leaving = namedtuple('Leaving', 'agent root days named archived sessions files bytes first')


def coverage(db):
    """-> (list of Coverage, list of Unknown, list of damage as (agent, path, line, reason)), the worst first."""
    groups, unknown, damage = {}, {}, []
    for agent, session, path, lines, bad, odd, damaged, profile in db.execute(
            'select r.agent, f.session, f.path, f.lines, f.parse_errors, f.unknown_records, f.damaged, f.profile'
            ' from files f join roots r on r.id = f.root order by f.path'):
        version = json.loads(profile or '{}').get('version') or ''
        row = groups.setdefault((agent, version), [set(), 0, 0, 0, 0])
        row[0].add(session)
        for place, value in enumerate((1, lines or 0, bad or 0, odd or 0), 1):
            row[place] += value
        path = paths.restored(path)
        for line, reason in json.loads(damaged or '[]'):
            if not line or reason.startswith(_DAMAGE):
                damage.append((agent, path, line, reason))
            else:
                found = unknown.setdefault((agent, reason), [0, []])
                found[0] += 1
                if len(found[1]) < 5:
                    found[1].append((path, line))
    rows = [Coverage(agent, version, len(row[0]), *row[1:]) for (agent, version), row in groups.items()]
    rows.sort(key=lambda r: (r.agent, -r.lines, r.version))
    odd = [Unknown(agent, reason, row[0], row[1]) for (agent, reason), row in unknown.items()]
    odd.sort(key=lambda u: (-u.count, u.agent, u.reason))
    return rows, odd, damage


class Rows(object):
    """Which ids of rows stand in no file of an agent: all its files of JSON lines are looked through when the first is asked for."""

    def __init__(self, db):
        self._db, self._known = db, {}

    def of(self, agent):
        """-> function that gives those of a set of ids which are in no file of the agent."""
        return lambda ids: ids - self._all(agent) if ids else ids

    def _all(self, agent):
        if agent not in self._known:
            import re
            from ..records import open_bytes
            found = self._known[agent] = set()
            uuid = re.compile(br'"uuid": ?"([^"\\]{1,80})"')
            for path, in self._db.execute('select f.path from files f join roots r on r.id = f.root where r.agent = ?', (agent,)).fetchall():
                try:
                    with open_bytes(paths.restored(path)) as handle:
                        for line in handle:
                            found.update(m.decode('utf-8', 'replace') for m in uuid.findall(line))
                except OSError:
                    # Named where unreadable files are.
                    continue
        return self._known[agent]


def without_records(db, agent=None):
    """-> list of (agent, session id, path) of main files in which nothing could be read as a record.

    Clients leave empty ones (2.0.77), and conversations without a message: those are no damage.
    """
    found = db.execute("select r.agent, f.sid, f.path from files f join roots r on r.id = f.root join sessions s on s.id = f.session"
                       " where f.role = 'main' and s.readable = 0 and f.parse_errors > 0 order by f.path").fetchall()
    return [(who, sid, paths.restored(path)) for who, sid, path in found if agent in (None, who)]


def leaving(db, now, environ=os.environ):
    """-> list of Leaving, one for each root whose agent deletes old transcripts."""
    out = []
    for number, agent, root in db.execute('select id, agent, path from roots where archive = 0 order by agent, path').fetchall():
        root = paths.restored(root)
        if not getattr(registry.get(agent), 'CLEANED', False):
            continue
        days, named = archives.cleanup_days(root)
        latest = now + int((archives.WINDOW_DAYS - days) * _DAY)
        sessions, files, size, first = set(), 0, 0, None
        for session, role, amount, changed in db.execute(
                'select f.session, f.role, f.size, f.mtime_ns / 1000000 from files f where f.root = ? and f.mtime_ns / 1000000 < ?',
                (number, latest)):
            files += 1
            size += max(0, amount or 0)
            if role == 'main':
                sessions.add(session)
            goes = changed + int(days * _DAY)
            first = goes if first is None else min(first, goes)
        out.append(Leaving(agent, root, days, named, archives.wanted(root, environ), len(sessions), files, size, first))
    return out


def remembered(db, agent=None):
    """-> (number of texts, number of sessions) that only an agent's prompt history knows: their transcript is gone."""
    from ..adapters import Source
    from ..records import Coverage as Reading
    known = set(sid for sid, in db.execute('select sid from sessions where readable = 1'))
    count, sessions = 0, set()
    for name, path, role, chain in db.execute("select r.agent, f.path, f.role, f.chain from files f join roots r on r.id = f.root"
                                              " where f.role = 'history' and r.archive = 0").fetchall():
        if agent not in (None, name):
            continue
        path = paths.restored(path)
        try:
            for events in registry.get(name).read(Source(path, role, chain, role, 0, 0), Reading(path), 0, 0, {}):
                for event in events:
                    if event.label == 'history' and event.message and event.message not in known:
                        count += 1
                        sessions.add((name, event.message))
        except OSError:
            # Gone or locked now: what it held is not known.
            continue
    return count, len(sessions)


def folder_size(folder):
    """-> (files, bytes) of a folder and what is below it; (0, 0) where there is none."""
    count = size = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                # Gone meanwhile: another process tidies up.
                continue
            count += 1
    return count, size


def archive(folder, leaves, environ=os.environ):
    """-> (on, why, files, bytes) of the archive in a data folder (None: there is none). leaves: list of Leaving."""
    if folder is None:
        return False, 'there is no data folder', 0, 0
    word = environ.get('SESSION_DIGGER_ARCHIVE')
    if word in ('0', '1'):
        why = 'SESSION_DIGGER_ARCHIVE=%s' % word
    else:
        why = 'the settings name a clean-up period' if any(one.named for one in leaves) else 'default'
    return (any(one.archived for one in leaves), why) + folder_size(os.path.join(folder, archives.FOLDER))
