"""sd-recall.py doctor SESSION and doctor --checks: what is wrong inside of sessions, by kind and by client version."""
from ..base import text as texts
from .common import Asked, Cleaner, amount, dump, print_within, text_path
from .session import Session

_COLUMNS = 'CODE LEVEL AGENT VERSION SESSIONS COUNT PLACE'.split()
_MOST = 7400
# A session whose file changed so lately, in ms, may be going on.
_LIVE = 600000


def _check(asked, rows, row, sources):
    """-> (list of Findings of a session, list of files that could not be read)."""
    from .. import analysis_health
    health, unreadable = analysis_health.Health(row.agent, rows.of(row.agent)), []
    for source in sources:
        try:
            health.read(source)
        except OSError as error:
            unreadable.append((source.path, error.strerror or str(error)))
    live = any(source.mtime_ns // 1000000 > asked.now - _LIVE for source in sources)
    return ([] if unreadable else health.findings(sources[0].path, live)), unreadable


def session(args, out):
    """Answer doctor SESSION."""
    from ..index.health import Rows
    one = Session(args, out)
    try:
        row, clean = one.row, one.clean
        found, unreadable = _check(one.asked, Rows(one.asked.view.db), row, one.sources)
        where = dict((source.path, source) for source in one.sources)
        place = lambda path, line: '%s:%d' % (one.short + ('' if where[path].role == 'main' else '/' + where[path].chain), line)
        data = {'session_id': row.sid, 'agent': row.agent, 'version': row.version or None, 'files': len(one.sources),
                'healthy': not unreadable and not any(f.level == 'damage' for f in found),
                'unreadable_files': [{'path': text_path(path), 'reason': why} for path, why in unreadable],
                'checks': [{'code': f.code, 'level': f.level, 'says': _says(f.code), 'count': f.count,
                            'places': [{'ref': clean(place(path, line)), 'path': text_path(path), 'line': line, 'what': clean(what)}
                                       for path, line, what in f.places]} for f in found]}
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            out.line('\t'.join(_COLUMNS))
            for check in data['checks']:
                out.line('\t'.join(clean.cell(v) for v in (check['code'], check['level'], row.agent, row.version or '', '1', str(check['count']),
                                                           check['places'][0]['ref'])))
        else:
            lines = ['%s (%s %s, %d file%s): %s' % (
                clean.line(row.sid), row.agent, clean.line(row.version or '(version not said)'), data['files'], '' if data['files'] == 1 else 's',
                'no damage' if data['healthy'] else 'DAMAGED')]
            lines += ['cannot be read: %s: %s' % (f['path'], f['reason']) for f in data['unreadable_files']]
            for check in data['checks']:
                lines.append('%s (%s): %s, %s' % (check['code'], check['level'], amount(check['count']), check['says']))
                lines += ['  %s  %s' % (clean.line(p['ref']), texts.cut(texts.neutralise(clean.line(p['what'])), 100)) for p in check['places'][:args.limit or 5]]
            print_within(out, _MOST, lines, 'doctor %s --format json' % one.short)
            out.line('Record types and fields: sd-recall.py schema %s' % one.short)
    finally:
        one.asked.close()


def _says(code):
    from ..analysis_health import CHECKS
    return next(check.says for check in CHECKS if check.code == code)


def everything(args, out):
    """Answer doctor --checks."""
    from ..analysis_health import CHECKS
    from ..index import health
    asked = Asked(args, out)
    try:
        clean, rows = Cleaner(args), health.Rows(asked.view.db)
        found, versions, damaged, unreadable, sessions = {}, {}, set(), [], asked.rows()
        progress, size = out.progress('checking sessions'), 0
        sources = dict((row.id, asked.catalog.sources(row)) for row in sessions)
        total = sum(source.size for mine in sources.values() for source in mine)
        for row in sessions:
            mine, wrong = _check(asked, rows, row, sources[row.id])
            unreadable += wrong
            key = (row.agent, row.version or '')
            versions.setdefault(key, [0, 0])[0] += 1
            if any(f.level == 'damage' for f in mine):
                damaged.add(row.id)
                versions[key][1] += 1
            for finding in mine:
                part = found.setdefault(finding.code, {}).setdefault(key, [0, 0, []])
                part[0] += 1
                part[1] += finding.count
                if len(part[2]) < 3:
                    path, line, what = finding.places[0]
                    part[2].append({'session_id': row.sid, 'path': text_path(path), 'line': line, 'what': clean(what)})
            size += sum(source.size for source in sources[row.id])
            if progress is not None:
                progress(size, total)
        for agent, sid, path in health.without_records(asked.view.db, asked.which.agent):
            part = found.setdefault('empty-session', {}).setdefault((agent, ''), [0, 0, []])
            part[0] += 1
            part[1] += 1
            part[2] = part[2][:2] + [{'session_id': sid, 'path': text_path(path), 'line': 0, 'what': ''}]
            damaged.add(path)
        data = {'sessions': len(sessions), 'damaged_sessions': len(damaged), 'unreadable_files': [
            {'path': text_path(path), 'reason': why} for path, why in unreadable],
            'versions': [{'agent': agent, 'version': version or None, 'sessions': n, 'damaged_sessions': bad}
                         for (agent, version), (n, bad) in sorted(versions.items())],
            'checks': [_object(check, found.get(check.code, {})) for check in CHECKS]}
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            out.line('\t'.join(_COLUMNS))
            for check in data['checks']:
                for part in check['by_version']:
                    first = part['places'][0]
                    out.line('\t'.join(clean.cell(v) for v in (
                        check['code'], check['level'], part['agent'], part['version'] or '', str(part['sessions']), str(part['count']),
                        '%s:%d' % (first['session_id'], first['line']))))
        else:
            print_within(out, _MOST, _lines(data, clean, args.limit), 'doctor --checks --format json')
            out.line('One of them: sd-recall.py doctor SESSION')
    finally:
        asked.close()


def _object(check, parts):
    return {'code': check.code, 'level': check.level, 'says': check.says, 'sessions': sum(p[0] for p in parts.values()),
            'count': sum(p[1] for p in parts.values()),
            'by_version': [{'agent': agent, 'version': version or None, 'sessions': n, 'count': count, 'places': places}
                           for (agent, version), (n, count, places) in sorted(parts.items(), key=lambda item: (-item[1][1], item[0]))]}


def _lines(data, clean, limit):
    most = 4 if limit is None else limit
    lines = ['%s session%s checked: %s damaged' % (amount(data['sessions']), '' if data['sessions'] == 1 else 's', amount(data['damaged_sessions']) if data['damaged_sessions'] else 'none')]
    if data['unreadable_files']:
        lines.append('%s files cannot be read (sd-recall.py doctor names them)' % amount(len(data['unreadable_files'])))
    for check in data['checks']:
        if not check['sessions']:
            continue
        lines.append('%s (%s): %s in %s session%s; %s' % (check['code'], check['level'], amount(check['count']), amount(check['sessions']),
                                                         '' if check['sessions'] == 1 else 's', check['says']))
        shown = check['by_version'][:most or None]
        for part in shown:
            first = part['places'][0]
            lines.append('  %s %s: %s in %s, as in %s:%d %s' % (
                part['agent'], texts.cut(clean.line(part['version'] or '(not said)'), 24), amount(part['count']), amount(part['sessions']),
                texts.cut(clean.line(first['session_id']), 40), first['line'], texts.cut(texts.neutralise(clean.line(first['what'])), 70)))
        if len(shown) < len(check['by_version']):
            lines.append('  and %d more versions (--limit 0)' % (len(check['by_version']) - len(shown)))
    clear = [check['code'] for check in data['checks'] if not check['sessions']]
    if clear:
        lines.append('nothing found: ' + ', '.join(clear))
    return lines
