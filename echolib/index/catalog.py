"""What the index knows of sessions: listing, references, totals. Reads index.db; computes nothing that is stored."""
import os

from ..adapters import Source
from ..base import paths
from ..base.errors import AmbiguousReference, UnknownReference, UsageError
from ..base.files import open_regular
from ..base.shapes import shape
from ..base.text import clean_surrogates

_COLUMNS = ('id agent root folder sid project created modified msg_count branch title title_kind first_prompt path lines '
            'parse_errors unknown_records readable copy_of gone machine entrypoint version model context tokens known_cost '
            'unpriced tally').split()
Row = shape('Row', _COLUMNS)
# What a reference names: a session row, the chain ('' main) and the line in that chain's file (None: the whole session).
Reference = shape('Reference', 'row chain line')

# Which sessions: project (exact directory) or None, agent or None, since/until ms or None, grep text or None,
# machine: True only those, False none of those other programs started, None all.
Filter = shape('Filter', 'project agent since until grep machine')
ALL = Filter(None, None, None, None, None, None)
# The first of the chosen sessions. rows: their Rows; total: how many there are; late: how many of all are dated after this clock.
Page = shape('Page', 'rows total late')
# Up to so many rows are looked up by their ids.
_FEW = 500


class Catalog(object):
    """Read access to an open index.db."""

    def __init__(self, db):
        self.db = db

    def rows(self, which=ALL, now=None, ledgers=False):
        """-> list of Rows that have something readable, newest first; those dated after `now` (ms) come behind them, those
        without a conversation last.

        ledgers: also what counts without being a session (usage rows that name none).
        """
        return self._of(self._numbers(which, now, ledgers))

    def page(self, which, now, limit):
        """-> Page of the first `limit` (0: all) of rows(which, now); no more than those are read whole."""
        where, values = _chosen(which)
        if which.grep:
            numbers = self._numbers(which, now)
            late = set(row[0] for row in self.db.execute('select id from sessions where %s and modified > ?' % where, values + [_tomorrow(now)]))
            return Page(self._of(numbers[:limit or None]), len(numbers), len(late.intersection(numbers)))
        total, late = self.db.execute('select count(*), sum(ifnull(modified, 0) > ?) from sessions where %s' % where, [_tomorrow(now)] + values).fetchone()
        return Page(self._of(self._numbers(which, now, limit=limit)), total, late or 0)

    def values(self, names, which=ALL, ledgers=False):
        """-> iterator of tuples of these columns (and the row id at the end) of the sessions of rows(), in no order."""
        where, values = _chosen(which, ledgers)
        # Where the index of listed sessions has not all of it, going through it costs more than going through the table.
        path = ' not indexed' if 'tally' in names and which.since is None and which.until is None else ''
        rows = self.db.execute('select %s from sessions%s where %s' % (', '.join(names + ('id',)), path, where), values)
        if not which.grep:
            return rows
        holding = self._holding(which, ledgers)
        return (row for row in rows if row[-1] in holding)

    def _numbers(self, which, now, ledgers=False, limit=0):
        """-> the row ids of rows(), in its order."""
        where, values = _chosen(which, ledgers)
        # What holds no conversation (a title, a snapshot) is dated by its file, which says nothing.
        order = 'ifnull(machine, 0), ifnull(msg_count, 0) = 0, %sifnull(modified, 0) desc, sid, id' % ('ifnull(modified, 0) > ?, ' if now is not None else '')
        if now is not None:
            values = values + [_tomorrow(now)]
        found = [row[0] for row in self.db.execute('select id from sessions where %s order by %s limit %d' % (where, order, limit or -1), values)]
        if which.grep:
            holding = self._holding(which, ledgers)
            found = [number for number in found if number in holding]
        return found

    def _holding(self, which, ledgers):
        """-> ids of the chosen sessions whose title, id, directory, first prompt or path holds a text."""
        from ..base.fold import fold
        wanted = fold(which.grep).lower()
        where, values = _chosen(which, ledgers)
        return set(row[0] for row in self.db.execute('select id, title, sid, project, first_prompt, path from sessions where %s' % where, values)
                   if any(wanted in fold(paths.restored(text or '')).lower() for text in row[1:]))

    def _of(self, numbers):
        """-> Rows of row ids, in the same order."""
        sql = 'select %s from sessions' % ', '.join(_COLUMNS)
        if len(numbers) <= _FEW:
            sql += ' where id in (%s)' % ','.join('%d' % number for number in numbers)
        wanted = set(numbers)
        found = dict((row[0], Row(*row)) for row in self.db.execute(sql) if row[0] in wanted)
        # Another process may have taken one out since it was chosen.
        return [found[number] for number in numbers if number in found]

    def projects(self):
        """-> list of known project directories."""
        return [row[0] for row in self.db.execute('select distinct project from sessions where readable = 1 order by project')]

    def project_of(self, directory):
        """-> the known project that is or holds `directory` (the longest), or the directory itself."""
        best = None
        candidates = [directory, os.path.realpath(directory)]
        for project in self.projects():
            if project and any(paths.same_or_below(c, project) for c in candidates) and (best is None or len(project) > len(best)):
                best = project
        return best or directory

    def row(self, number):
        """-> the Row of a session's row id."""
        return Row(*self.db.execute('select %s from sessions where id = ?' % ', '.join(_COLUMNS), (number,)).fetchone())

    def short_id(self, sid):
        """-> the beginning of a session id that is enough to name it, at least 8 characters."""
        size = 8
        for sql in ('select sid from sessions where sid > ? order by sid limit 1', 'select sid from sessions where sid < ? order by sid desc limit 1'):
            row = self.db.execute(sql, (sid,)).fetchone()
            if row is not None:
                same = 0
                while same < len(sid) and same < len(row[0]) and sid[same] == row[0][same]:
                    same += 1
                size = max(size, same + 1)
        return sid[:size]

    # references

    def resolve(self, ref):
        """-> Reference of SESSION, SESSION:LINE, SESSION/AGENT:LINE, a unique prefix of a session id, or a path.

        Raises UnknownReference, AmbiguousReference (EchoError) or UsageError for an empty one.
        """
        ref = (ref or '').strip()
        if not ref:
            raise UsageError('a session id is needed (see: sd-recall.py sessions)')
        if os.sep in ref or ref.endswith('.jsonl') or '\\' in ref:
            found = self._by_path(ref)
            if found is not None:
                return found
            ref = clean_surrogates(ref)
            if ref.startswith(os.sep):
                raise UnknownReference(ref, "'%s' is no transcript that is known; list them with: sd-recall.py sessions --scope all" % ref)
        body, chain, line = ref, '', None
        head, colon, tail = ref.rpartition(':')
        if colon and tail.isdecimal() and len(tail) < 16:
            body, line = head, int(tail)
        if '/' in body:
            body, _, chain = body.partition('/')
        if not body:
            raise UnknownReference(ref, "no transcript '%s' is known; sessions: sd-recall.py sessions --scope all" % ref)
        exact = self._sid('sid = ?', body)
        rows = exact or self._sid("lower(sid) = ?", body.lower())
        if not rows:
            rows = self._sid("substr(lower(sid), 1, ?) = ?", len(body), body.lower())
        if not rows:
            gone = self._listed_elsewhere(body)
            if gone:
                raise UnknownReference(ref, 'session %s: its transcript is no longer on disk (only an old index of the client names it)' % gone)
            if len(body) >= 8 and self.db.execute("select 1 from files where role = 'history'").fetchone() and self._in_history(body):
                raise UnknownReference(ref, 'session %s: its transcript is no longer on disk; only its prompts are known, from the'
                                            ' prompt history (search finds them)' % body)
            raise UnknownReference(ref, "no session '%s'; list them with: sd-recall.py sessions --scope all" % body)
        if len(rows) > 1:
            raise AmbiguousReference(ref, [(r.sid, r.agent, clean_surrogates(paths.restored(r.path)), (r.first_prompt or '')[:60].replace('\n', ' '))
                                           for r in rows[:20]])
        return Reference(rows[0], chain, line)

    def _sid(self, where, *values):
        return [Row(*row) for row in self.db.execute(
            'select %s from sessions where %s and copy_of is null and readable = 1 order by sid' % (', '.join(_COLUMNS), where), values)]

    def holds(self, path):
        """True when a file is one of a session's."""
        return self._by_path(path) is not None

    def _by_path(self, ref):
        path, line = ref, None
        head, colon, tail = ref.rpartition(':')
        if colon and tail.isdecimal() and len(tail) < 16 and not os.path.exists(ref):
            path, line = head, int(tail)
        for one in (os.path.abspath(os.path.expanduser(path)), os.path.realpath(os.path.expanduser(path))):
            row = self.db.execute('select session, chain, role from files where path = ?', (paths.storable(one),)).fetchone()
            if row is not None:
                found = self.db.execute('select %s from sessions where id = ?' % ', '.join(_COLUMNS), (row[0],)).fetchone()
                return Reference(Row(*found), '' if row[2] == 'main' else row[1], line)
        return None

    def _in_history(self, sid):
        """True when an agent's prompt history names a session."""
        for path, in self.db.execute("select path from files where role = 'history'"):
            try:
                with open_regular(paths.restored(path)) as handle:
                    if ('"%s' % sid.lower()).encode('utf-8', 'replace') in handle.read().lower():
                        return True
            except OSError:
                # Gone since the index was made.
                continue
        return False

    def _listed_elsewhere(self, sid):
        """The full id when an agent's own list still names a session that is not on disk."""
        return next((one for _, one in self.missing() if one.lower().startswith(sid.lower())), None) if len(sid) >= 8 else None

    def missing(self):
        """-> sorted list of (agent, id) of the sessions that an agent's own list names and that are not there."""
        from ..adapters import registry
        there = set((agent, sid.lower()) for agent, sid in self.db.execute(
            "select agent, sid from sessions union select agent, chain from files join roots on roots.id = files.root where chain != ''"))
        found = set()
        for adapter in registry.adapters():
            if hasattr(adapter, 'listed'):
                for root in adapter.roots():
                    found.update((adapter.NAME, sid) for sid in adapter.listed(root))
        return sorted(one for one in found if (one[0], one[1].lower()) not in there)

    # files and facts

    def sources(self, row):
        """-> list of Sources of a session's files, main first, then subagents by age."""
        found = self.db.execute('select path, role, chain, sid, size, mtime_ns, birth from files where session = ?', (row.id,)).fetchall()
        found.sort(key=lambda f: (f[1] != 'main', f[6] is None, f[6] or 0, f[2]))
        return [Source(paths.restored(f[0]), f[1], f[2], f[3], f[4], f[5]) for f in found]

    def facts(self, sessions=None, since=None, until=None, owned=True, kinds=(), order=''):
        """Yield (session id, Fact, key, file id) of facts.

        sessions: set of session ids or None; since, until: ms bounds; owned: only facts that count in totals; kinds: only
        facts of these kinds (all where it is empty); order: SQL of what they are sorted by.
        """
        from ..analysis import Fact
        names = dict(self.db.execute('select id, name from names'))
        sql = ('select files.session, facts.kind, facts.time, facts.side, facts.name, facts.status, facts.input, facts.output,'
               ' facts.cache_read, facts.cache_write_5m, facts.cache_write_1h, facts.visible, facts.extra, facts.key, facts.file'
               ' from files join facts on facts.file = files.id where 1')
        if owned:
            sql += ' and facts.owned = 1'
        if kinds:
            sql += ' and facts.kind in (%s)' % ','.join('%d' % kind for kind in kinds)
        dated, values = between('facts.time', since, until)
        sql += dated
        if sessions is not None and len(sessions) <= 500:
            sql += ' and files.session in (%s)' % ','.join('%d' % s for s in sorted(sessions))
        if order:
            sql += ' order by ' + order
        for row in self.db.execute(sql, values):
            if sessions is None or row[0] in sessions:
                yield row[0], Fact(row[1], row[2], row[3], names.get(row[4], ''), *row[5:13]), row[13], row[14]

    def tally(self, rows, since=None, until=None, price=None):
        """-> the tally of these sessions, each fact once; inside [since, until) only what is dated there."""
        from .. import analysis
        total = {}
        if since is None and until is None:
            for row in rows:
                analysis.add_tally(total, _loads(row.tally or '{}'))
            return total
        wanted = set(row.id for row in rows)
        for _, fact, _, _ in self.facts(wanted, since, until):
            analysis.apply(total, fact, 1, price)
        return total

    def whole_tally(self, row, price=None):
        """-> the tally of one session's whole transcript: what it shares with other sessions counts too, once."""
        from .. import analysis
        total = {}
        for fact, _ in self.whole_facts(row):
            analysis.apply(total, fact, 1, price)
        return total

    def whole_facts(self, row):
        """Yield (Fact, key) of one session's whole transcript, each key once."""
        from ..analysis import first_of
        best = last = None
        # By key, so that no more than one is held.
        for _, fact, key, _ in self.facts({row.id}, owned=False, order='facts.key'):
            if best is not None and key == last:
                best = first_of(best, fact)
                continue
            if best is not None:
                yield best, last
            best, last = fact, key
        if best is not None:
            yield best, last

    def unreadable(self):
        """-> list of (path, reason) of files that could not be read."""
        return [(paths.restored(p), e) for p, e in self.db.execute('select path, error from files where error is not null')]


def between(column, since, until):
    """-> (SQL that begins with ' and ', '' for none; its values) of a time in [since, until), None for no bound."""
    bounds = [(sign, bound) for sign, bound in (('>=', since), ('<', until)) if bound is not None]
    return ''.join(' and %s %s ?' % (column, sign) for sign, _ in bounds), [bound for _, bound in bounds]


def _tomorrow(now):
    """-> ms from which on a session counts as dated after this clock."""
    return now + 86400000


def _chosen(which, ledgers=False):
    """-> (SQL condition, its values) of the sessions a Filter takes, its text apart."""
    sql, values = 'readable %s and copy_of is null' % ('>= 1' if ledgers else '= 1'), []
    if which.agent is not None:
        sql += ' and agent = ?'
        values.append(which.agent)
    if which.since is not None:
        sql += ' and modified >= ?'
        values.append(which.since)
    if which.until is not None:
        sql += ' and created < ?'
        values.append(which.until)
    if which.machine is not None:
        sql += ' and machine = %d' % which.machine
    if which.project is not None:
        # See same_project().
        wanted = sorted(paths.storable(one) for one in paths.spellings(which.project))
        sql += " and project != '' and rtrim(project, '/\\') in (%s)" % ','.join('?' * len(wanted))
        values.extend(wanted)
    if which.since is not None or which.until is not None:
        # Something of it is dated there, or nothing of it is dated at all.
        dated, bounds = between('facts.time', which.since, which.until)
        values += bounds
        sql += (" and (exists (select 1 from files cross join facts on facts.file = files.id where files.session = sessions.id%s)"
                " or tally is null or tally in ('', '{}'))" % dated)
    return sql, values


def tokens_of(row):
    """-> {bucket: tokens} of a session's Row, None each where nobody wrote them down."""
    from ..events import BUCKETS
    return _loads(row.tokens or '{}') or dict.fromkeys(BUCKETS)


def tokens_unknown(row):
    """True for the Row of a session with answers of a model and without any token count."""
    return row.tokens == 'null'


def session_keys(row, tally):
    """-> the design's shared keys of one session's tally, unknown (None) where nobody wrote its tokens down."""
    from .. import analysis
    keys = analysis.shared_keys(tally)
    if not tokens_unknown(row):
        return keys
    return analysis.without_tokens(keys, (row.msg_count or 0) - _loads(row.tally or '{}').get('w|messages', 0))


def same_project(project, wanted):
    """True when two directory texts name the same project (see paths.spellings)."""
    return bool(project) and project.rstrip('/\\') in paths.spellings(wanted)


def _loads(text):
    # A search tells nothing that is stored as JSON.
    import json
    return json.loads(text)
