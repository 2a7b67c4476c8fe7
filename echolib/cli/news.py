"""sd-recall.py doctor --new: which kinds of records and which fields a newer client version brought, with evidence."""
import json
import os

from ..base import paths
from ..base import text as texts
from .common import Asked, Cleaner, amount, dump, text_path

_COLUMNS = 'AGENT WHAT KIND FIRST_VERSION COUNT BEFORE UNDERSTOOD PLACE EXAMPLE'.split()
_MOST, _EXAMPLE = 7400, 240


def new(args, out):
    """Answer doctor --new."""
    asked = Asked(args, out)
    try:
        agents = [_agent(asked, agent, seen, args.after) for agent, seen in _seen(asked, out)]
        clean = Cleaner(args)
        if args.format == 'json':
            dump(out, {'agents': [dict(one, new=[_object(news, clean) for news in one['new']]) for one in agents]})
        elif args.format == 'tsv':
            out.line('\t'.join(_COLUMNS))
            for one in agents:
                for news in one['new']:
                    row = _object(news, clean)
                    out.line('\t'.join(clean.cell(v) for v in (
                        one['agent'], row['what'], row['kind'], row['first_version'], str(row['count']), str(row['before']),
                        'yes' if row['understood'] else 'no', '%s:%d' % (row['path'], row['line']), row['example'])))
        else:
            _text(out, agents, clean, 30 if args.limit is None else args.limit)
    finally:
        asked.close()


def _seen(asked, out):
    """Yield (agent, analysis_news.Seen) of each agent whose files are JSON lines."""
    from ..analysis_news import Seen
    files = {}
    for agent, path, size, damaged, profile in asked.view.db.execute(
            "select r.agent, f.path, f.size, f.damaged, f.profile from files f join roots r on r.id = f.root order by f.path"):
        path = paths.restored(path)
        if path.endswith('.jsonl') and asked.which.agent in (None, agent):
            files.setdefault(agent, []).append((path, max(0, size or 0), damaged, profile))
    total, done, progress = sum(f[1] for mine in files.values() for f in mine), 0, out.progress('reading records')
    for agent in sorted(files):
        seen = Seen()
        for path, size, damaged, profile in files[agent]:
            try:
                seen.read(path, json.loads(profile or '{}').get('version') or '', frozenset(line for line, _ in json.loads(damaged or '[]')))
            except OSError as error:
                out.note('cannot read %s: %s' % (text_path(path), error.strerror or error))
            done += size
            if progress is not None:
                progress(done, total)
        yield agent, seen


def _agent(asked, agent, seen, after):
    from ..analysis_news import order
    newest = seen.newest()
    named = sorted((v for v in seen.versions if order(v)), key=order)
    if after is None:
        after = named[-2] if len(named) > 1 else newest
    older = sum(count for version, count in seen.versions.items() if order(version) and order(version) <= order(after))
    return {'agent': agent, 'newest': newest or None, 'after': after or None, 'records_before': older,
            'records_behind': sum(count for version, count in seen.versions.items() if order(version) > order(after)),
            'versions': named, 'new': seen.news(after) if older else []}


def _object(news, clean):
    return {'what': clean(news.what), 'kind': 'field' if news.field else 'record', 'first_version': news.version, 'count': news.count, 'before': news.before,
            'understood': news.understood, 'path': text_path(news.path), 'line': news.line, 'example': clean(_example(news))}


def _example(news):
    """-> the record, or the field's value in it, as JSON on one line, cut."""
    from ..records import read_at
    try:
        found = read_at(news.path, news.offset, news.length)
    except OSError:
        # Gone meanwhile.
        return ''
    value = found[0] if found else None
    return texts.clip(json.dumps(_at(value, news.what.partition(': ')[2]) if news.field else value, ensure_ascii=False), _EXAMPLE)


def _at(value, name):
    """-> what lies at a name as analysis_news.fields makes them; None when it is not there."""
    for part in name.split('.'):
        key, bracket, kind = part.partition('[')
        value = value.get(key) if isinstance(value, dict) else None
        if bracket:
            kind = kind.rstrip(']')
            items = value if isinstance(value, list) else ()
            value = next((one for one in items if isinstance(one, dict) and (not kind or one.get('type') == kind)), None)
    return value


def _text(out, agents, clean, most):
    used = 0

    def line(words):
        nonlocal used
        used += len(words) + 1
        if used <= _MOST:
            out.line(words)
    for one in agents:
        if not one['newest']:
            line('%s: no client version is named in its records' % one['agent'])
            continue
        if not one['records_before'] or not one['records_behind']:
            line('%s: only records %s %s; nothing to compare with (versions here: %s)' % (
                one['agent'], 'up to' if one['records_before'] else 'behind', one['after'], texts.cut(clean.line(', '.join(one['versions'])), 120)))
            continue
        line('%s, versions behind %s (to %s): %s new in %s records, against %s older ones' % (
            one['agent'], clean.line(one['after']), clean.line(one['newest']), amount(len(one['new'])), amount(one['records_behind']), amount(one['records_before'])))
        for news in one['new'][:most or None]:
            row = _object(news, clean)
            line('  %s%s  first in %s, %s%s' % (
                texts.cut(clean.line(row['what']), 80), '' if row['understood'] else ' (NOT UNDERSTOOD)', clean.line(row['first_version']),
                '%s time%s' % (amount(row['count']), '' if row['count'] == 1 else 's'),
                '; none of %s older such records has it' % amount(row['before']) if news.field else ''))
            line('      %s:%d  %s' % (texts.cut(os.path.basename(row['path']), 44), row['line'], texts.cut(texts.neutralise(clean.line(row['example'])), 110)))
        if most and len(one['new']) > most:
            line('  and %d more (--limit 0 --format tsv)' % (len(one['new']) - most))
    if used > _MOST:
        out.line('... more than fits: doctor --new --format tsv')
    out.line('Since a certain version: doctor --new --after 2.1.14 --agent claude. One session: sd-recall.py schema SESSION')
