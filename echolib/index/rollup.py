"""From the profiles of a session's files to its one row: title, project, dates, counts, cost."""
import json

from .. import analysis
from ..base import paths
from .documents import ident_of
from .schema import storable
from .seniority import age

# Titles in the order the client's own picker takes them.
_TITLES = ('custom-title', 'ai-title')
# How a client says that a program runs it: its kits, and its own print mode.
_MACHINES = ('sdk-ts', 'sdk-py', 'sdk-cli', 'codex_exec')


def sessions(db, ids, loads=json.loads):
    """Write the rows of these sessions from their files; sessions without files go."""
    for number in ids:
        files = db.execute(
            'select path, role, chain, lines, parse_errors, unknown_records, profile, mtime_ns, birth, root from files'
            ' where session = ?', (number,)).fetchall()
        if not files:
            db.execute('delete from sessions where id = ?', (number,))
            continue
        # The main file speaks first; then the subagents, oldest first.
        files.sort(key=lambda f: (f[1] != 'main', f[8] is None, f[8] or 0, f[2]))
        profiles = [loads(f[6]) if f[6] else {} for f in files]
        main = profiles[0] if files[0][1] == 'main' else {}
        tally = loads(db.execute('select tally from sessions where id = ?', (number,)).fetchone()[0] or '{}')
        first = [p['first'] for p in profiles if p.get('first') is not None]
        last = [p['last'] for p in profiles if p.get('last') is not None]
        stamp = max(f[7] or 0 for f in files) // 1000000
        title, kind = _title(db, number, main)
        prompt = main.get('first_prompt') or main.get('first_slash') or ''
        project = next((p['cwd'] for p in profiles if p.get('cwd')), None)
        folder = db.execute('select folder from sessions where id = ?', (number,)).fetchone()[0]
        known, unpriced = _cost(tally)
        unknown = analysis.tokens_unknown(profiles)
        tokens = None if unknown else _tokens(tally)
        lines = sum(f[3] or 0 for f in files)
        db.execute(
            'update sessions set project=?, created=?, modified=?, msg_count=?, branch=?, title=?, title_kind=?,'
            ' first_prompt=?, path=?, lines=?, parse_errors=?, unknown_records=?, readable=?, gone=?, machine=?,'
            ' entrypoint=?, version=?, context=?, tokens=?, known_cost=?, unpriced=? where id=?',
            (storable(project if project else paths.guess_project(folder)), min(first) if first else stamp,
             max(last) if last else stamp, tally.get('w|messages', 0) + (analysis.responses(profiles[:1] if main else []) if unknown else 0),
             storable(main.get('last_branch') or ''), storable(title), kind,
             storable(prompt), files[0][0], lines, sum(f[4] or 0 for f in files), sum(f[5] or 0 for f in files),
             # What was saved of damaged lines is readable too.
             _readable(lines - sum(f[4] or 0 for f in files) or tally.get('w|facts', 0), files[0][1]),
             db.execute('select archive from roots where id = ?', (files[0][9],)).fetchone()[0], _machine(main), storable(main.get('entrypoint') or ''),
             storable(main.get('version') or ''), main.get('context'), json.dumps(tokens), _fits(known), _fits(unpriced), number))


def _fits(number):
    """A sum as SQLite can hold it: absurd counters of a transcript can exceed its integers."""
    return number if abs(number) < 1 << 63 else float(number)


def _readable(lines, role):
    """1 for a session with a readable record, 2 for a ledger (it counts, and is no session), 0 for anything else."""
    if lines <= 0 or role == 'history':
        return 0
    return 2 if role == 'ledger' else 1


def _machine(profile):
    """1 for a session another program started: an entry point for programs, and a hidden folder as directory."""
    entry = profile.get('entrypoint') or ''
    cwd = (profile.get('cwd') or '').replace('\\', '/')
    hidden = any(part.startswith('.') and len(part) > 1 for part in cwd.split('/')) and '/.claude/worktrees/' not in cwd
    return 1 if entry in _MACHINES and hidden else 0


def _title(db, number, profile):
    for kind in _TITLES:
        text = profile.get(kind) or ''
        if text.strip():
            return text, kind
    # A summary titles the session that holds the row it names, wherever the summary itself was written.
    # Of several the one in the youngest file counts.
    rows = db.execute('select s.text from summaries s join files f on f.id = s.target join files w on w.id = s.file where f.session = ?'
                      ' order by ifnull(w.birth, -1) desc, w.path desc, s.leaf', (number,))
    text = next((row[0] for row in rows if not _is_error_text(row[0])), '')
    return text, 'summary' if text else ''


def _is_error_text(text):
    # 1.0.0 and 1.0.60 stored the failure of the title call itself.
    return text.startswith(('Invalid API key', 'API Error', 'Please run /login', 'Credit balance'))


def _cost(tally):
    known = unpriced = 0
    for name, amount in tally.items():
        if name.startswith('m|'):
            field = name.rsplit('|', 1)[1]
            if field.startswith('cost_'):
                known += amount
            elif field == 'unpriced_calls':
                unpriced += amount
    return known, unpriced


def _tokens(tally):
    tokens = dict((b, 0) for b in analysis.BUCKETS)
    for name, amount in tally.items():
        if name.startswith('m|'):
            field = name.rsplit('|', 1)[1]
            if field in tokens:
                tokens[field] += amount
    return tokens


def mark_copies(db):
    """Mark sessions that are the same transcript in a second place (same id, nothing of their own)."""
    db.execute('update sessions set copy_of = null where copy_of is not null')
    # The inner query is answered from the index on sid.
    same = db.execute('select agent, sid from sessions where sid in (select sid from sessions group by sid having count(*) > 1)'
                      ' group by agent, sid having count(*) > 1').fetchall()
    for agent, sid in same:
        rows = db.execute('select id, tally, root from sessions where agent = ? and sid = ? order by root, id', (agent, sid)).fetchall()
        owners = [row for row in rows if json.loads(row[1] or '{}').get('w|owned')]
        keeper = owners[0][0] if owners else rows[0][0]
        for number, tally, _ in rows:
            if number != keeper and not json.loads(tally or '{}').get('w|owned'):
                db.execute('update sessions set copy_of = ? where id = ?', (keeper, number))


def resolve_summaries(db, shards, read_uuid, unseen=None):
    """Tie summaries to the file that holds the row they name.

    shards: list of (open shard connection, document from which it is new).  read_uuid(file id, offset, length) -> the uuid of
    that line, or None.  unseen: the rows to look for in all documents, the others only in new ones; None for all.
    -> set of session ids whose title may have changed.
    """
    waiting = set(leaf for leaf, in db.execute('select leaf from summaries where target is null'))
    unseen = waiting if unseen is None else waiting & unseen
    changed = set()
    for shard, start in shards:
        changed |= _tie(db, shard, 0, unseen, read_uuid) | _tie(db, shard, start, waiting - unseen, read_uuid)
    return changed


def read_for_summaries(db):
    """What resolve_summaries() does, where there are no documents to look in: by reading the files. -> set of session ids."""
    from ..records import read_records
    waiting = dict((leaf.encode('utf-8'), leaf) for leaf, in db.execute('select leaf from summaries where target is null'))
    changed = set()

    def is_other(line):
        at = line.rfind(b'"uuid":"')
        return line[at + 8:at + 44] not in waiting if at > 0 else b'"uuid"' not in line
    files = db.execute("select flags, birth, last, path, id, session from files where role = 'main' and root in"
                       ' (select f.root from summaries s join files f on f.id = s.file)').fetchall()
    for row in sorted(files, key=lambda row: age(*row[:4])):
        try:
            for record in read_records(paths.restored(row[3]), skip=is_other):
                leaf = record.data.get('uuid')
                if type(leaf) is str and waiting.pop(leaf.encode('utf-8', 'replace'), None):
                    db.execute('update summaries set target = ? where leaf = ?', (row[4], leaf))
                    changed.add(row[5])
        except OSError:
            # Gone since it was read.
            continue
    return changed


def _tie(db, shard, start, leaves, read_uuid):
    wanted, changed = {}, set()
    for leaf in leaves:
        for form in (leaf, leaf + '/0', leaf + '/1', leaf + '/2', leaf + '/3', leaf + '/4'):
            wanted[ident_of(form)] = leaf
    if leaves:
        shard.execute('create temp table if not exists wanted (ident integer primary key)')
        shard.execute('delete from wanted')
        shard.executemany('insert or ignore into wanted values (?)', ((i,) for i in wanted))
        found = []
        for file, offset, length, ident in shard.execute(
                'select file, offset, length, ident from docs where id >= ? and ident in (select ident from wanted)', (start,)).fetchall():
            row = db.execute('select session, role, flags, birth, last, path from files where id = ?', (file,)).fetchone()
            if row is not None and row[1] == 'main':
                found.append((age(*row[2:]), offset, length, file, wanted[ident], row))
        # A row that forks repeat is the oldest file's.
        for _, offset, length, file, leaf, row in sorted(found):
            if read_uuid(file, offset, length) != leaf:
                continue
            db.execute('update summaries set target = ? where leaf = ? and target is null', (file, leaf))
            changed.add(row[0])
    return changed
