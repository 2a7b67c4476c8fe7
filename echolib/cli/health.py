"""sd-recall.py environments and doctor: what there is, how well it was read, what will be lost."""
import os
import sys

from ..base import paths
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, amount, dump, iso, print_within, text_path, when

_ENVIRONMENT_COLUMNS = 'AGENT ROOT FOUND SESSIONS FILES BYTES READABLE REASON'.split()
_STORE_COLUMNS = 'AGENT ROOT STORE PATTERN PRESENT READ NOTE'.split()
_MOST = 7600
# A folder that does not answer (a share that is gone) is waited for so many seconds.
_PATIENCE = 30
# Folders below one another that are looked into for a kind of file.
_DEEPEST = 12


def environments():
    """-> Command environments."""
    return opt.Command(
        'environments', 'Every known agent: where its sessions are, whether they can be read, how many there are.', (),
        (opt.AGENT, opt.option('--stores', 'flag', False, 'every known kind of file, also those that are not read, and why'), opt.FORMAT),
        ('environments', 'environments --stores', 'environments --format json'), _environments)


def _looked(agent):
    """-> rows of unified.environments with the kinds of files of each root, of one agent or of all."""
    from ..adapters import registry, unified
    rows = []
    for row in unified.environments(_PATIENCE):
        if agent in (None, row['agent']):
            stores = registry.get(row['agent']).STORES if row['root'] and row['status'] != 'unadapted' else ()
            rows.append(dict(row, root=text_path(row['root']), reason=text_path(row['reason']), stores=[_store(s, row['root']) for s in stores]))
    return rows


def _store(store, root):
    return {'store': store.id, 'pattern': store.pattern, 'present': _present(store.pattern, root), 'read': store.read, 'note': store.note}


def _present(pattern, root):
    """True when anything lies where a store's pattern points."""
    import re
    return any(_lies(root, re.sub('<[^<>]*>', '*', one.strip()).rstrip('/').split('/')) for one in pattern.split(','))


def _lies(folder, parts, depth=0):
    """True when a path of these name patterns is below a folder. Links to folders are not gone through, so a loop ends."""
    from fnmatch import fnmatchcase
    name, rest = parts[0], parts[1:]
    if '*' not in name:
        path = os.path.join(folder, name)
        return _lies(path, rest, depth) if rest else os.path.exists(path)
    if name == '**' and _lies(folder, rest or ['*'], depth):
        return True
    try:
        entries = list(os.scandir(folder))
    except OSError:
        # No folder, or none that may be read: nothing is seen there.
        return False
    if name == '**':
        return depth < _DEEPEST and any(_lies(e.path, parts, depth + 1) for e in entries if e.is_dir(follow_symlinks=False))
    return any(fnmatchcase(e.name, name) and not e.name.startswith('.') and (not rest or _lies(e.path, rest, depth)) for e in entries)


def _environments(args, out):
    from .common import resolve_agent
    rows = _looked(resolve_agent(args.agent))
    if args.format == 'json':
        dump(out, {'environments': rows})
    elif args.format == 'tsv':
        clean = Cleaner(args)
        out.line('\t'.join(_STORE_COLUMNS if args.stores else _ENVIRONMENT_COLUMNS))
        for row in rows:
            if args.stores:
                for store in row['stores']:
                    out.line('\t'.join(clean.cell(v) for v in (
                        row['agent'], row['root'], store['store'], store['pattern'], _yes(store['present']), _yes(store['read']), store['note'])))
            else:
                out.line('\t'.join(clean.cell(v) for v in (
                    row['agent'], row['root'], _yes(row['found']), str(row['sessions']), str(row['files']), str(row['bytes']),
                    _yes(row['readable']), row['reason'])))
    else:
        _environments_text(out, rows, args.stores)


def _yes(value):
    return 'yes' if value else 'no'


def _environments_text(out, rows, stores):
    lines = []
    for row in sorted(rows, key=lambda r: not r['found']):
        if row['found']:
            lines.append('%-12s %s: %s, %s, %s%s' % (
                row['agent'], row['root'], _many(row['sessions'], 'session'), _many(row['files'], 'file'), _size(row['bytes']),
                '' if not row['reason'] else ' (%s)' % row['reason'] if row['readable'] else '; NOT ALL READABLE: %s' % row['reason']))
        else:
            lines.append('%-12s %s' % (row['agent'], ': '.join(part for part in (row['root'], row['reason']) if part)))
        if stores:
            for store in row['stores']:
                lines.append('    %-7s %-8s %s  %s' % ('there' if store['present'] else 'absent', 'read' if store['read'] else 'not read',
                                                       store['pattern'], store['note']))
    print_within(out, _MOST, lines, 'environments --format tsv')
    out.line('How well they were read: sd-recall.py doctor%s' % ('' if stores else '. Kinds of files: sd-recall.py environments --stores'))


def _many(count, what):
    return '%s %s%s' % (amount(count), what, '' if count == 1 else 's')


def _size(count):
    return '%.1f MB' % (count / 1e6) if count >= 100000 else '%s bytes' % amount(count)


def doctor():
    """-> Command doctor."""
    return opt.Command(
        'doctor', 'How well every transcript was read, the state of the index, what the clean-up takes, what Python offers.',
        (('ref', False, 'a session: what is wrong with its files'),),
        (opt.option('--checks', 'flag', False, 'read every session again and look for 13 kinds of damage and drift'),
         opt.option('--new', 'flag', False, 'kinds of records and fields that newer client versions brought, with evidence'),
         opt.option('--after', 'text', None, 'with --new: new behind this version (default: the last but one here)', 'VERSION'),
         opt.option('--limit', 'int', None, 'at most this many lines a list (0: all; default 8 in text)', 'N'), opt.AGENT) + opt.COMMON,
        ('doctor', 'doctor SESSION', 'doctor --checks --agent claude', 'doctor --new --after 2.1.14', 'doctor --limit 0', 'doctor --format json'), _doctor)


class _Listening(object):
    """An Output that remembers what was said beside the answer."""

    def __init__(self, out):
        self.out, self.notes = out, []

    def note(self, text):
        """Say it, and remember it."""
        self.notes.append(text)
        self.out.note(text)

    def progress(self, what):
        """See Output."""
        return self.out.progress(what)


def _doctor(args, out):
    if args.new or args.after is not None:
        from . import news
        return news.new(args, out)
    if args.ref is not None or args.checks:
        from . import checks
        return checks.session(args, out) if args.ref is not None else checks.everything(args, out)
    listening = _Listening(out)
    asked = Asked(args, listening)
    try:
        data = examine(asked, listening.notes)
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            _doctor_tsv(out, data, Cleaner(args))
        else:
            _doctor_text(out, data, asked, Cleaner(args), 8 if args.limit is None else args.limit)
    finally:
        asked.close()


def examine(asked, notes=()):
    """-> the JSON object of doctor."""
    from ..index import health
    db, agent = asked.view.db, asked.which.agent
    rows, unknown, damage = health.coverage(db)
    leaves = health.leaving(db, asked.now)
    future = [r for r in asked.catalog.rows(now=asked.now) if (r.modified or 0) > asked.now + 86400000 and agent in (None, r.agent)]
    fits = lambda row: agent in (None, row.agent)
    folders, files = paths.folders_and_files(asked.problems)
    unreadable = files + asked.catalog.unreadable()
    kept = health.remembered(db, agent)
    return {
        'index': _index(asked, notes), 'archive': _archive(asked, leaves),
        'coverage': [dict(r._asdict(), version=r.version or None) for r in rows if fits(r)],
        'unknown': [{'agent': u.agent, 'reason': u.reason, 'count': u.count, 'places': ['%s:%d' % (text_path(p), n) for p, n in u.places]}
                    for u in unknown if fits(u)],
        'damaged': ['%s:%d: %s' % (text_path(p), n, why) for who, p, n, why in damage if agent in (None, who)],
        'unreadable': len(unreadable), 'unreadable_files': [{'path': text_path(p), 'reason': why} for p, why in unreadable],
        'unreadable_dirs': len(folders), 'unreadable_folders': [{'path': text_path(p), 'reason': why} for p, why in folders],
        'history_only_prompts': kept[0], 'history_only_sessions': kept[1],
        'missing_sessions': sum(1 for name, _ in asked.catalog.missing() if agent in (None, name)),
        'future_sessions': len(future), 'future': [{'session_id': r.sid, 'modified': iso(r.modified)} for r in future],
        'cleanup': [dict(one._asdict(), root=text_path(one.root), first=iso(one.first) or None) for one in leaves if fits(one)],
        'python': _python()}


def _index(asked, notes):
    from ..index import health, plan
    store, db = asked.view.store, asked.view.db
    one = lambda sql: db.execute(sql).fetchone()[0]
    built = db.execute("select value from meta where key = 'built'").fetchone()
    state = asked.view.state
    size = 0
    if state != 'none':
        size = sum(health.folder_size(os.path.join(store.folder, n))[1] if n != 'archive' and os.path.isdir(os.path.join(store.folder, n))
                   else os.path.getsize(os.path.join(store.folder, n)) for n in os.listdir(store.folder) if n != 'archive')
    return {'state': state, 'reason': notes[0] if state == 'none' and notes else None,
            'folder': text_path(store.folder) if paths.data_dir() else None, 'files': one('select count(*) from files'),
            'sessions': one('select count(*) from sessions where readable = 1 and copy_of is null'), 'bytes': size,
            'built': iso(built[0]) if built else None, 'read': asked.index_state()['read'],
            'up_to_date': state == 'current' or state == 'not refreshed' and plan.nothing_to_do(plan.make(db))}


def _archive(asked, leaves):
    from ..index import health
    on, why, files, size = health.archive(paths.data_dir(), leaves)
    return {'on': on, 'why': why, 'files': files, 'bytes': size}


def _python():
    import platform
    import sqlite3
    from ..base import zstd
    from ..index import schema
    return {'version': platform.python_version(), 'executable': text_path(sys.executable or ''), 'platform': sys.platform,
            'sqlite': sqlite3.sqlite_version, 'fts5': schema.has_fts5(), 'zstd': text_path(zstd.way()),
            'encoding': sys.getfilesystemencoding(), 'utf8_output': (getattr(sys.stdout, 'encoding', None) or '').lower() in ('utf-8', 'utf8')}


def _doctor_tsv(out, data, clean):
    columns = ('agent', 'version', 'sessions', 'files', 'lines', 'parse_errors', 'unknown_records')
    out.line('\t'.join(c.upper() for c in columns))
    for row in data['coverage']:
        out.line('\t'.join(clean.cell('' if row[c] is None else str(row[c])) for c in columns))


def _doctor_text(out, data, asked, clean, most):
    index, archive, python = data['index'], data['archive'], data['python']
    lines = []
    if index['state'] == 'none':
        lines.append('index: none (%s)' % clean.line(index['reason'] or 'the files were read instead'))
    else:
        lines.append('index: %s, %s in %s, %s, %s' % (
            index['folder'], _many(index['sessions'], 'session'), _many(index['files'], 'file'), _size(index['bytes']),
            'up to date' if index['up_to_date'] else 'not up to date: index-builder.py build' if index['state'] != 'busy'
            else 'being written by another process'))
    lines.append('archive: %s (%s), %s, %s' % ('on' if archive['on'] else 'off', archive['why'], _many(archive['files'], 'file'),
                                               _size(archive['bytes'])))
    lines.append('Python %s on %s, SQLite %s, FTS5: %s, zstd: %s' % (
        python['version'], python['platform'], python['sqlite'], _yes(python['fts5']),
        'its own decoder (slow)' if python['zstd'] == 'zstd_pure' else clean.line(python['zstd'])))
    for one in data['cleanup']:
        lines.append(_leaving(one, asked))
    if data['history_only_sessions']:
        lines.append('gone, but for their prompts (search finds them): %s, %s' % (
            _many(data['history_only_sessions'], 'session'), _many(data['history_only_prompts'], 'prompt')))
    if data['missing_sessions']:
        lines.append('gone, named only by a list of their agent: %s' % _many(data['missing_sessions'], 'session'))
    _list(lines, 'dated after this clock', data['future_sessions'],
          ['%s  %s' % (clean.line(f['session_id']), f['modified']) for f in data['future']], most)
    _list(lines, 'folders that cannot be listed', data['unreadable_dirs'],
          ['%s: %s' % (f['path'], f['reason']) for f in data['unreadable_folders']], most)
    _list(lines, 'files that cannot be read', data['unreadable'], ['%s: %s' % (f['path'], f['reason']) for f in data['unreadable_files']], most)
    lines += ['', texts.pad('agent', 14) + texts.pad('client version', 20) + 'sessions   files      lines  damaged  not understood']
    read = [row for row in data['coverage'] if row['lines']]
    shown = read[:most or None]
    for row in shown:
        lines.append('%s%s%8s %7s %10s %8s %15s' % (
            texts.pad(row['agent'], 14), texts.pad(texts.cut(clean.line(row['version'] or '(not said)'), 19), 20), amount(row['sessions']),
            amount(row['files']), amount(row['lines']), amount(row['parse_errors']), amount(row['unknown_records'])))
    if len(shown) < len(read):
        lines.append('  and %d more versions (--limit 0)' % (len(read) - len(shown)))
    _list(lines, 'not understood', sum(r['unknown_records'] for r in data['coverage']),
          ['%sx %s, as in %s' % (amount(u['count']), texts.cut(texts.neutralise(clean.line(u['reason'])), 80), u['places'][0])
           for u in data['unknown']], most)
    _list(lines, 'damaged lines', sum(r['parse_errors'] for r in data['coverage']), [clean.line(text) for text in data['damaged']], most)
    if most:
        print_within(out, _MOST, lines, 'doctor --limit 0')
    else:
        for line in lines:
            out.line(line)
    out.line('One session: sd-recall.py schema SESSION, doctor SESSION. Inside of all: doctor --checks. The index itself: index-builder.py verify')


def _leaving(one, asked):
    from ..base.clock import parse_time
    rule = '%s deletes transcripts %g days after their last change (%s)' % (
        one['agent'], one['days'], 'as its settings say' if one['named'] else 'its default')
    if not one['files']:
        return rule + '; none within seven days'
    first = max(parse_time(one['first']) or 0, asked.now)
    return '%s; within seven days: %s (%s, %s), from %s on; %s' % (
        rule, _many(one['sessions'], 'session'), _many(one['files'], 'file'), _size(one['bytes']), when(first, asked.now, asked.zone)[:10],
        'copies go to the archive' if one['archived'] else
        'no copies are kept: raise cleanupPeriodDays in %s/settings.json, or set SESSION_DIGGER_ARCHIVE=1' % one['root'])


def _list(lines, title, total, rows, most):
    """A heading with a count and the first rows; nothing where there is nothing."""
    if not total and not rows:
        return
    lines += ['', '%s: %s' % (title, amount(total))]
    shown = rows[:most or None]
    lines += ['  ' + texts.cut(row, 400) for row in shown]
    if len(shown) < len(rows):
        lines.append('  and %d more (--limit 0)' % (len(rows) - len(shown)))
