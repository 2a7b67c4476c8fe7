"""topic_classify.py: which named topics sessions belong to, and what each topic takes over a period."""
from ..base import paths
from ..base import text as texts
from ..base.errors import UsageError
from ..insights.topic_set import load, write
from ..insights.topics import UNCLASSIFIED, Classifier, beside, classify, of_sessions
from . import options as opt
from .common import Asked, Cleaner, amount, compact, dump, iso, text_path, when
from .run import run
from .trends_common import cost

__all__ = ['classify', 'Classifier', 'load', 'main']

SUMMARY = 'Route sessions to named topics by words and tools, with counts and costs of each topic.'
# Sessions of a topic that are listed, and evidence of each topic.
_SESSIONS, _EVIDENCE = 15, 5
_COLUMNS = 'TOPIC SESSIONS SHARE ALSO API_CALLS TOTAL_TOKENS KNOWN_COST_USD COST_SHARE FIRST LAST'.split()
_SESSION_COLUMNS = 'SESSION_ID DATE TOPIC SHARE OTHERS KNOWN_COST_USD EVIDENCE PROJECT_PATH'.split()


def command():
    """-> Command."""
    return opt.Command(
        '', SUMMARY, (('ref', False, 'one session: its topics and what speaks for each'),),
        (opt.option('--topic', 'text', None, 'the sessions of one topic, with what speaks for it', 'NAME'),
         opt.option('--text', 'text', None, 'classify this text', 'TEXT'),
         opt.option('--days', 'int', None, 'the last so many days (as --since Nd)', 'N'),
         opt.option('--init', 'flag', False, 'write the built-in topics to topics.json in the data folder, to edit; never over a file'),
         opt.option('--limit', 'int', None, 'at most this many topics, or sessions of a topic (0: all; default %d sessions)' % _SESSIONS, 'N'),
         ) + opt.SELECTION + opt.COMMON,
        ('--since 30d', '--topic debugging --since 30d', 'SESSION'), _run)


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('topic_classify.py', SUMMARY, {}, argv, command())


def _run(args, out):
    if sum(1 for one in (args.ref, args.topic, args.text, args.init or None) if one is not None) > 1:
        raise UsageError('REF, --topic, --text and --init are different questions; ask one')
    if args.init:
        return _init(args, out)
    topics, path = load(paths.data_dir())
    if args.topic is not None:
        _known(args.topic, topics)
    if args.text is not None:
        _print_one(args, out, None, classify(args.text, topics), path)
        return
    if args.days is not None:
        if args.since is not None:
            raise UsageError('--days and --since say the same; give one')
        args.since = '%dd' % args.days
    asked = Asked(args, out, text=True)
    try:
        if args.ref is not None:
            row = asked.catalog.resolve(args.ref).row
            _print_one(args, out, row, of_sessions(asked.view, asked.catalog, [row], topics)[row.id], path)
            return
        rows = asked.rows()
        found = of_sessions(asked.view, asked.catalog, rows, topics)
        if args.topic is not None:
            _sessions(args, out, asked, rows, found)
        else:
            _overview(args, out, asked, rows, found, topics, path)
    finally:
        asked.close()


def _known(name, topics):
    import difflib
    names = [topic.name for topic in topics] + [UNCLASSIFIED]
    if name not in names:
        near = difflib.get_close_matches(name, names, 1, 0.5)
        raise UsageError("unknown topic '%s'%s; known: %s" % (name, ' (did you mean %s?)' % near[0] if near else '', ', '.join(names)))


def _init(args, out):
    path, written = write(paths.data_dir())
    if args.format == 'json':
        dump(out, {'path': text_path(path), 'written': written})
    elif args.format == 'tsv':
        out.line('PATH\tWRITTEN')
        out.line('%s\t%s' % (texts.cell(text_path(path)), 'yes' if written else 'no'))
    else:
        out.line('%s: %s' % (text_path(path), 'the built-in topics, to edit' if written else 'is there already and stays as it is'))


def _evidence_json(one, sid, clean):
    return {'kind': one.kind, 'what': clean(one.what), 'points': round(one.points, 3), 'count': one.count,
            'ref': '%s:%d' % (sid, one.line) if sid and one.line else None, 'in': 'title' if one.line == 0 else one.kind == 'tool' and 'calls' or 'prompt'}


def _found_json(found, sid, clean):
    return {'topic': found.best or UNCLASSIFIED, 'also': [score.topic for score in beside(found)] if found.best else [],
            'scores': [{'topic': score.topic, 'points': score.points, 'share': round(score.share, 4),
                        'evidence': [_evidence_json(one, sid, clean) for one in score.evidence]} for score in found.scores]}


def _says(one, sid):
    """-> a piece of evidence in few characters."""
    if one.kind == 'tool':
        return 'tool %s %d times' % (one.what, one.count)
    return '"%s"%s%s' % (one.what, ' in the title' if one.line == 0 else ' %s:%d' % (sid, one.line) if sid else '',
                          ' and %d more' % (one.count - 1) if one.count > 1 else '')


def _print_one(args, out, row, found, path):
    clean, sid = Cleaner(args), row.sid if row is not None else ''
    if args.format == 'json':
        data = {'session_id': sid or None, 'topics_file': text_path(path) if path else None}
        data.update(_found_json(found, sid, clean))
        dump(out, data)
    elif args.format == 'tsv':
        out.line('TOPIC\tPOINTS\tSHARE\tEVIDENCE')
        for score in found.scores:
            out.line('\t'.join(clean.cell(value) for value in (
                score.topic, '%.3f' % score.points, '%.4f' % score.share, '; '.join(_says(one, sid) for one in score.evidence))))
    elif not found.scores:
        out.line('%s: no keyword and no tool of any topic; the topics: %s' % (UNCLASSIFIED, text_path(path) if path else 'topic_classify.py --init writes them'))
    else:
        for score in found.scores[:6]:
            out.line('%-12s %3.0f %%  %s' % (texts.cut(clean.line(score.topic), 40), 100 * score.share, texts.cut(clean.line(
                ', '.join(_says(one, sid[:8]) for one in score.evidence[:_EVIDENCE])), 400)))
        line = next((one.line for one in found.scores[0].evidence if one.line), None)
        if sid and line:
            out.line('Read it: sd-recall.py show %s:%d' % (sid[:8], line))


def _sessions(args, out, asked, rows, found):
    clean = Cleaner(args)
    wanted = None if args.topic == UNCLASSIFIED else args.topic
    chosen = [row for row in rows if found[row.id].best == wanted]
    most = args.limit if args.limit is not None else _SESSIONS if args.format is None or args.format == 'text' else 0
    shown = chosen[:most] if most else chosen
    if args.format == 'json':
        dump(out, {'topic': args.topic, 'session_count': len(chosen), 'sessions': [dict(
            _found_json(found[row.id], row.sid, clean), session_id=row.sid, agent=row.agent, created=iso(row.created) or None,
            modified=iso(row.modified) or None, title=clean(row.title or row.first_prompt or ''), project_path=row.project,
            known_cost_usd=(row.known_cost or 0) / 1e12) for row in shown]})
    elif args.format == 'tsv':
        out.line('\t'.join(_SESSION_COLUMNS))
        for row in shown:
            one = found[row.id]
            out.line('\t'.join(clean.cell(value) for value in (
                row.sid, iso(row.created), one.best or UNCLASSIFIED, '%.4f' % one.scores[0].share if one.scores else '',
                ' '.join(score.topic for score in beside(one)) if one.best else '', '%.6f' % ((row.known_cost or 0) / 1e12),
                '; '.join(_says(e, row.sid) for e in one.scores[0].evidence) if one.scores else '', row.project or '')))
    elif not chosen:
        out.line('No session of topic %s%s; all topics: topic_classify.py' % (args.topic, ' in that time' if args.since or args.until else ''))
    else:
        out.line('%s: %s sessions%s' % (args.topic, amount(len(chosen)), ', the newest %d' % len(shown) if len(shown) < len(chosen) else ''))
        lines = []
        for row in shown:
            short = asked.catalog.short_id(row.sid)
            lines.append('%s  %s  %s  %s' % (short, when(row.created, asked.now, asked.zone)[:10], texts.cut(clean.line(row.project or ''), 40),
                                             texts.cut(clean.line(row.title or row.first_prompt or '')[:400], 80)))
            if found[row.id].scores:
                others = ' '.join(score.topic for score in beside(found[row.id]))
                lines.append('    %s%s' % (texts.cut(clean.line(', '.join(_says(e, short) for e in found[row.id].scores[0].evidence[:_EVIDENCE])), 200),
                                           '; also %s' % texts.cut(clean.line(others), 60) if others else ''))
        kept, used = [], 0
        for line in lines:
            used += len(line) + 1
            if used > 7000:
                break
            kept.append(line)
        out.line(texts.fence('\n'.join(kept), 'several', when(asked.now, asked.now, asked.zone)))
        out.line('Why one: topic_classify.py %s' % asked.catalog.short_id(shown[0].sid))


def _overview(args, out, asked, rows, found, topics, path):
    from ..index import sums as summing
    clean = Cleaner(args)
    of = dict((row.id, found[row.id].best or UNCLASSIFIED) for row in rows)
    by_topic = summing.sums(asked.catalog, asked.which, lambda part: of.get(part.id), price=asked.prices().cost)
    sums = dict((name, by_topic[name].figures()) for name in sorted(by_topic))
    also = {}
    for row in rows:
        for score in beside(found[row.id]) if found[row.id].best else ():
            also[score.topic] = also.get(score.topic, 0) + 1
    whole = sum(one['known_cost_usd'] for one in sums.values())
    table = []
    for name in sorted(sums, key=lambda n: (n == UNCLASSIFIED, -sums[n]['sessions'], n)):
        mine = [row for row in rows if of[row.id] == name]
        one = dict(topic=clean(name), sessions=len(mine), share=len(mine) / float(len(rows)), also=also.get(name, 0))
        one.update((key, sums[name][key]) for key in ('api_calls', 'tokens', 'cost_usd', 'known_cost_usd', 'tokens_unknown'))
        one['cost_share'] = one['known_cost_usd'] / whole if whole else None
        times = [row.created for row in mine if row.created is not None] + [row.modified for row in mine if row.modified is not None]
        one.update(first=iso(min(times)) if times else None, last=iso(max(times)) if times else None)
        one['newest'] = [{'session_id': row.sid, 'evidence': [_evidence_json(e, row.sid, clean) for e in found[row.id].scores[0].evidence[:3]]
                          if found[row.id].scores else []} for row in mine[:3]]
        table.append(one)
    total = len(table)
    table = table[:args.limit] if args.limit else table
    if args.format == 'json':
        dump(out, {'sessions': len(rows), 'unclassified': sum(1 for name in of.values() if name == UNCLASSIFIED),
                   'topics_file': text_path(path) if path else None, 'known_topics': [topic.name for topic in topics],
                   'since': iso(asked.since) or None, 'until': iso(asked.until) or None, 'known_cost_usd': whole, 'topics': table,
                   'index': asked.index_state()})
    elif args.format == 'tsv':
        out.line('\t'.join(_COLUMNS))
        for one in table:
            out.line('\t'.join(clean.cell(value) for value in (
                one['topic'], str(one['sessions']), '%.4f' % one['share'], str(one['also']), str(one['api_calls']), str(sum(one['tokens'].values())),
                '%.6f' % one['known_cost_usd'], '' if one['cost_share'] is None else '%.4f' % one['cost_share'], one['first'] or '', one['last'] or '')))
    elif not rows:
        out.line('no sessions%s; widen with --scope all, without --since, --until and --agent' % (' in that time' if args.since or args.until else ''))
    else:
        room = max(12, max(texts.width(texts.cut(clean.line(one['topic']), 30)) for one in table))
        out.line('%s sessions  share    also   calls  tokens        cost  share' % texts.pad('topic', room))
        for one in table[:40]:
            out.line('%s %8s %6s %7s %7s %7s %11s %6s' % (
                texts.pad(texts.cut(clean.line(one['topic']), 30), room), amount(one['sessions']), '%.0f %%' % (100 * one['share']), amount(one['also']),
                amount(one['api_calls']), compact(sum(one['tokens'].values())), cost(one),
                '-' if one['cost_share'] is None else '%.0f %%' % (100 * one['cost_share'])))
        if total > 40 or len(table) < total:
            out.line('  and %d more (--limit 0 --format tsv)' % (total - min(40, len(table))))
        out.line('a session counts once, at its best topic; also: sessions in which it comes close behind another. Topics: %s' % (
            text_path(path) if path else 'built in (--init writes them to a file to edit)'))
        out.line('Sessions of one: topic_classify.py --topic %s' % texts.cut(clean.line(table[0]['topic']), 60))
