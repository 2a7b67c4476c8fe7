"""The one writer of index.db: takes in what was read, and keeps every total exact while files come, grow and go.

A fact's key may lie in several files (forks, resumes, copies). Of its claimants the oldest owns it; only owned facts
count in a session's tally. All changes are deltas over the keys they touch, so a live session costs its new lines and
the order of arrival cannot change a number.
"""
import json

from .. import analysis
from ..analysis import Fact, apply, merge
from . import schema
from .seniority import FOREIGN, RENAMES, age

_FACT_COLUMNS = ('kind, time, side, name, status, input, output, cache_read, cache_write_5m, cache_write_1h, visible, extra')
_INSERT = 'insert or replace into facts values (%s)' % ','.join('?' * 15)


class Ledger(object):
    """Changes index.db inside a transaction that the caller opens and commits.

    db: connection to index.db.  price: see analysis.contributions, or None for no costs.
    """

    def __init__(self, db, price=None):
        self.db, self.price = db, price
        self.tallies = {}       # session id -> tally, those touched
        self.touched = set()    # keys whose owner must be looked at
        self.names = {}
        self.ids = {}
        self.sessions_of = {}   # file id -> session id
        self.unseen = set()     # rows that summaries name which nobody has looked for yet
        self.recheck = set()    # files whose prompts depend on who owns the response after them

    # names

    def _name_id(self, name):
        if not name:
            return 0
        found = self.ids.get(name)
        if found is None:
            name = schema.storable(name)
            row = self.db.execute('select id from names where name = ?', (name,)).fetchone()
            if row is None:
                found = self.db.execute('insert into names (name) values (?)', (name,)).lastrowid
            else:
                found = row[0]
            self.ids[name] = found
        return found

    def _name(self, number):
        if not number:
            return ''
        found = self.names.get(number)
        if found is None:
            found = self.names[number] = self.db.execute('select name from names where id = ?', (number,)).fetchone()[0]
        return found

    def fact(self, row):
        """-> Fact of the columns kind..extra of a row."""
        return Fact(row[0], row[1], row[2], self._name(row[3]), *row[4:])

    def _row(self, key, file, owned, fact):
        return (key, file, owned) + fact[:3] + (self._name_id(fact[3]),) + fact[4:]

    # tallies

    def _tally(self, session):
        tally = self.tallies.get(session)
        if tally is None:
            row = self.db.execute('select tally from sessions where id = ?', (session,)).fetchone()
            tally = self.tallies[session] = json.loads(row[0]) if row and row[0] else {}
        return tally

    def _session(self, file):
        found = self.sessions_of.get(file)
        if found is None:
            found = self.sessions_of[file] = self.db.execute('select session from files where id = ?', (file,)).fetchone()[0]
        return found

    def _count(self, file, fact, sign):
        """What a session's own view counts, owned or not: facts, and messages of its main chain."""
        tally = self._tally(self._session(file))
        _add(tally, 'w|facts', sign)
        if fact.kind == analysis.TURN and fact.name or fact.kind == analysis.CALL and not fact.side:
            _add(tally, 'w|messages', sign)

    def _own(self, file, fact, sign):
        tally = self._tally(self._session(file))
        apply(tally, fact, sign, self.price)
        _add(tally, 'w|owned', sign)

    # files

    def take(self, piece):
        """Take in one Piece of a file whose row exists. Does nothing but note the error where it could not be read."""
        db, file = self.db, piece.file
        if piece.error is not None:
            db.execute('update files set error = ? where id = ?', (piece.error, file))
            return
        if piece.fresh:
            self._drop_facts(file)
        self._drop_segments(file)
        rows, make = [], tuple.__new__
        for key, values in piece.facts:
            fact = make(Fact, values)
            if not piece.fresh:
                have = db.execute('select owned, %s from facts where key = ? and file = ?' % _FACT_COLUMNS, (key, file)).fetchone()
                if have is not None:
                    old = self.fact(have[1:])
                    new = merge(old, fact)
                    if new == old:
                        continue
                    if have[0]:
                        self._own(file, old, -1)
                        self._own(file, new, 1)
                    self._count(file, old, -1)
                    self._count(file, new, 1)
                    rows.append(self._row(key, file, have[0], new))
                    self.touched.add(key)
                    continue
            self._count(file, fact, 1)
            self._own(file, fact, 1)
            rows.append(self._row(key, file, 1, fact))
            self.touched.add(key)
        schema.insert(db, _INSERT, rows)
        profile = piece.profile
        flags = (FOREIGN if profile.get('foreign') else 0) | (RENAMES if profile.get('renames') else 0)
        if flags & RENAMES:
            self.recheck.add(file)
        old = db.execute('select lines, parse_errors, unknown_records, damaged, ranges, birth, flags, last from files where id = ?',
                         (file,)).fetchone()
        if piece.fresh or old[0] is None:
            old = (0, 0, 0, '[]', '') + tuple(old[5:])
        self._reorder(file, (old[6] or 0, old[5], old[7]), (flags, profile.get('birth'), profile.get('last')))
        damaged = (json.loads(old[3]) + [list(d) for d in piece.damaged])[:200]
        ranges = old[4]
        if piece.docs[1] > piece.docs[0]:
            if ranges.endswith('-%d' % piece.docs[0]):
                ranges = ranges[:ranges.rindex('-')] + '-%d' % piece.docs[1]
            else:
                ranges += '%s%d-%d' % (',' if ranges else '', piece.docs[0], piece.docs[1])
        db.execute(
            'update files set offset=?, line=?, open_end=?, check_sum=?, lines=?, parse_errors=?, unknown_records=?,'
            ' damaged=?, state=?, profile=?, birth=?, last=?, flags=?, ranges=?, error=null where id=?',
            (piece.offset, piece.line, piece.open_end, piece.check_sum, old[0] + piece.lines, old[1] + piece.parse_errors,
             old[2] + piece.unknown_records, _json(damaged), _json(piece.state), _json(profile), profile.get('birth'),
             profile.get('last'), flags, ranges, file))
        self._summaries(file, profile.get('summaries') or ())
        self._tally(self._session(file))

    def _reorder(self, file, before, after):
        """Look at a file's facts again where its age against a file that shares some has changed."""
        if before == after:
            return
        for other, flags, birth, last, path in self.db.execute(
                'select f.id, f.flags, f.birth, f.last, f.path from rivals r join files f on f.id = r.other where r.file = ?',
                (file,)).fetchall():
            rival = age(flags, birth, last, path)
            if (age(*before, '') < rival) != (age(*after, '') < rival):
                self.touched.update(k for k, in self.db.execute('select key from facts where file = ?', (file,)))
                return

    def _summaries(self, file, summaries):
        for leaf, text in summaries:
            leaf, text = schema.storable(leaf), schema.storable(text)
            # The last one a file holds counts, as of other titles.
            if (self.db.execute('insert or ignore into summaries values (?,?,?,null)', (leaf, file, text)).rowcount
                    or self.db.execute('update summaries set text = ?, target = null where leaf = ? and file = ? and text != ?',
                                       (text, leaf, file, text)).rowcount):
                self.unseen.add(leaf)

    def _drop_facts(self, file):
        rows = self.db.execute('select key, owned, %s from facts where file = ?' % _FACT_COLUMNS, (file,)).fetchall()
        for row in rows:
            fact = self.fact(row[2:])
            self.touched.add(row[0])
            self._count(file, fact, -1)
            if row[1]:
                self._own(file, fact, -1)
        self.db.execute('delete from facts where file = ?', (file,))
        # Whom it still shares facts with shows when its new ones are settled.
        self.db.execute('delete from rivals where other = ? and file in (select other from rivals where file = ?)', (file, file))
        self.db.execute('delete from rivals where file = ?', (file,))
        for session, in self.db.execute('select f.session from summaries s join files f on f.id = s.target where s.file = ?', (file,)).fetchall():
            # It loses a title.
            self._tally(session)
        self.db.execute('delete from summaries where file = ?', (file,))
        if rows:
            # Another file may hold the row too.
            self.unseen.update(leaf for leaf, in self.db.execute('select leaf from summaries where target = ?', (file,)).fetchall())
            self.db.execute('update summaries set target = null where target = ?', (file,))

    def _drop_segments(self, file):
        self.db.execute('delete from segments where session = ?', (self._session(file),))

    def forget(self, file):
        """Take a file out: its facts are freed for whoever else holds them."""
        session = self._session(file)
        self._tally(session)
        self._drop_facts(file)
        self._drop_segments(file)
        self.recheck.discard(file)
        self.db.execute('delete from files where id = ?', (file,))
        # The next file may get its number.
        del self.sessions_of[file]

    # owners

    def settle(self):
        """Decide who owns every touched key, and correct the tallies."""
        db = self.db
        if self.touched:
            db.execute('create temp table if not exists touched (key integer primary key)')
            db.execute('delete from touched')
            db.executemany('insert into touched values (?)', ((k,) for k in self.touched))
            disputed = db.execute(
                'select t.key from touched t join facts f on f.key = t.key group by t.key'
                ' having count(*) > 1 or sum(f.owned) != 1').fetchall()
            for key, in disputed:
                self._decide(key)
            self.touched.clear()
        if self.recheck:
            self._inherited_prompts()

    def _claimants(self, key):
        return self.db.execute(
            'select facts.file, facts.owned, facts.kind, facts.time, facts.side, facts.name, facts.status, facts.input,'
            ' facts.output, facts.cache_read, facts.cache_write_5m, facts.cache_write_1h, facts.visible, facts.extra,'
            ' files.flags, files.birth, files.last, files.path, files.sid, files.chain from facts join files on files.id = facts.file'
            ' where facts.key = ?', (key,)).fetchall()

    def _decide(self, key):
        rows = self._claimants(key)
        if not rows:
            return
        owner = min(rows, key=_seniority)
        # The same transcript in another place, and one of them was gone on with: that one is the session.
        owner = min((row for row in rows if row[18:] == owner[18:]), key=_furthest)
        if len(rows) > 1:
            for row in rows:
                self.db.executemany('insert or ignore into rivals values (?,?)',
                                    ((row[0], other[0]) for other in rows if other[0] != row[0]))
        for row in rows:
            wanted = 1 if row is owner else 0
            if row[1] != wanted:
                fact = self.fact(row[2:14])
                self._own(row[0], fact, 1 if wanted else -1)
                self.db.execute('update facts set owned = ? where key = ? and file = ?', (wanted, key, row[0]))
                if (row[14] or 0) & RENAMES:
                    self.recheck.add(row[0])

    def _inherited_prompts(self):
        # A copied prompt with a new id belongs to the file that owns the response after it; one with its own id to the owner
        # of that, whatever came after it in the copy.
        for file in sorted(self.recheck):
            for row in self.db.execute(
                    "select key, owned, %s from facts where file = ? and kind = ? and extra != ''" % _FACT_COLUMNS,
                    (file, analysis.TURN)).fetchall():
                fact = self.fact(row[2:])
                owners = self.db.execute('select file from facts where key = ? and owned = 1', (int(fact.extra),)).fetchone()
                wanted = 0 if owners is not None and owners[0] != file or not row[1] and self._is_owned(row[0]) else 1
                if row[1] != wanted:
                    self._own(file, fact, 1 if wanted else -1)
                    self.db.execute('update facts set owned = ? where key = ? and file = ?', (wanted, row[0], file))
        self.recheck.clear()

    def _is_owned(self, key):
        return self.db.execute('select 1 from facts where key = ? and owned = 1', (key,)).fetchone() is not None

    def changed_sessions(self):
        """-> ids of the sessions whose tally was touched since the last store()."""
        return sorted(self.tallies)

    def store(self):
        """Write the touched tallies to their sessions."""
        for session, tally in self.tallies.items():
            self.db.execute('update sessions set tally = ? where id = ?', (_json(tally), session))
        self.tallies.clear()


def _add(tally, name, amount):
    value = tally.get(name, 0) + amount
    if value:
        tally[name] = value
    else:
        tally.pop(name, None)


def _seniority(row):
    """The order of claimants: a main chain before a subagent's replay, then the older file."""
    return (row[4] > 0,) + age(*row[14:18])


def _furthest(row):
    """The order of claimants that are copies of one transcript: as _seniority, but that which ended later comes first."""
    chain, foreign, unborn, birth, last, path = _seniority(row)
    return chain, foreign, unborn, birth, -last, path


def _json(value):
    # ASCII, so that a lone surrogate in a title can be stored as the escape it came as.
    return json.dumps(value, separators=(',', ':'), sort_keys=True)
