"""index-builder.py anomalies: sessions in which something went wrong again and again, with the lines to open."""
from ..base import text as texts
from ..base.errors import UsageError
from . import options as opt
from .common import Asked, Cleaner, dump, iso, when
from .evidence import Evidence, said

_BUDGET, _REFS = 7000, 5
_WORDS = {'errors': '{count} of {whole} calls failed', 'retry-loop': '{what} failed {count} times in a row about one thing',
          'failing-tests': 'tests failed {count} times in a row ({what})', 'rereading': '{count} of {whole} readings were needless',
          'repeats': '{what}: the same call {count} times in a row', 'corrections': '{count} of {whole} prompts correct the agent'}
_KINDS = ('errors', 'retry-loop', 'failing-tests', 'rereading', 'repeats', 'corrections')


def command():
    """-> Command."""
    return opt.Command(
        'anomalies', 'Sessions full of errors, retry loops, failing tests, needless reading or corrections, with the lines to open.', (),
        (opt.limit(20, 'anomalies'), opt.option('--kind', 'list', None, 'only this kind (repeatable): ' + ', '.join(_KINDS), 'KIND'))
        + opt.SELECTION + opt.COMMON,
        ('anomalies', 'anomalies --kind retry-loop --since 30d', 'anomalies --scope current --format json'), _run)


def _run(args, out):
    from ..insights import anomalies
    wrong = [kind for kind in args.kind or () if kind not in _KINDS]
    if wrong:
        import difflib
        near = difflib.get_close_matches(wrong[0], _KINDS, 1, 0.5)
        raise UsageError("unknown kind '%s'%s; the kinds are: %s" % (wrong[0], ' (did you mean %s?)' % near[0] if near else '', ', '.join(_KINDS)))
    asked = Asked(args, out)
    try:
        rows = asked.rows()
        found = anomalies.find(asked.catalog, rows, asked.since, asked.until, tuple(args.kind or _KINDS))
        clean = Cleaner(args)
        evidence = Evidence(asked.catalog, clean)
        shown = found[:args.limit] if args.limit else found
        data = [None] * len(shown)
        # A session is read once, however many of its anomalies are shown.
        for place in sorted(range(len(shown)), key=lambda n: shown[n].row.id):
            data[place] = _row(shown[place], evidence, clean)
        if args.format == 'json':
            kinds = dict((kind, sum(1 for one in found if one.kind == kind)) for kind in _KINDS)
            dump(out, {'total': len(found), 'sessions': len(rows), 'by_kind': kinds, 'thresholds': anomalies.THRESHOLDS, 'anomalies': data,
                       'index': asked.index_state()})
        elif args.format == 'tsv':
            out.line('\t'.join('KIND SESSION_ID MODIFIED COUNT OF TOOL COMMAND REFS INPUT ERROR PROJECT_PATH'.split()))
            for one in data:
                out.line('\t'.join(clean.cell(value) for value in (
                    one['kind'], one['session_id'], one['modified'], str(one['count']), str(one['of']), one['tool'], one['command'],
                    ' '.join(one['refs']), one['example'].get('input', ''), one['example'].get('error', ''), one['project_path'])))
        else:
            _text(out, asked, shown, data, len(found), len(rows), clean)
    finally:
        asked.close()


def _row(one, evidence, clean):
    notes = evidence.notes(one.row, one.keys[:40])
    example = {}
    if notes:
        example = {'input': texts.cut(clean(notes[-1][1].text), 300)} if one.kind == 'corrections' else said(notes[-1][1], clean)
    return {'kind': one.kind, 'session_id': one.row.sid, 'agent': one.row.agent, 'project_path': clean(one.row.project), 'title': clean(
        one.row.title or one.row.first_prompt[:80]), 'modified': iso(one.row.modified), 'count': one.count, 'of': one.whole,
        'score': round(one.score, 2), 'tool': clean(one.tool), 'command': clean(one.word), 'refs': [ref for ref, _ in notes[:_REFS]], 'example': example}


def _text(out, asked, shown, data, total, sessions, clean):
    if not data:
        out.line('Nothing stands out in %d sessions. What is looked for: references/metrics.md#anomalies' % sessions)
        return
    blocks, used = [], 0
    for anomaly, one in zip(shown, data):
        what = ' '.join(word for word in (one['tool'], one['command']) if word)
        lines = ['%s  %s  %s' % (one['refs'][0] if one['refs'] else one['session_id'], when(anomaly.row.modified, asked.now, asked.zone),
                                 texts.cut(clean.line(one['project_path']), 60)),
                 '  ' + clean.line(_WORDS[one['kind']].format(count=one['count'], whole=one['of'], what=texts.cut(what, 80)))]
        if one['example'].get('input'):
            lines.append('  last: ' + texts.cut(clean.line(one['example']['input']), 150))
        if one['example'].get('error'):
            lines.append('  said: ' + texts.cut(clean.line(one['example']['error']), 150))
        block = '\n'.join(lines)
        if used + len(block) > _BUDGET:
            break
        blocks.append(block)
        used += len(block) + 1
    out.line('%d anomalies in %d sessions, worst first' % (total, sessions))
    out.line(texts.fence('\n'.join(blocks), 'several', when(asked.now, asked.now, asked.zone)))
    if len(blocks) < total:
        out.line('%d of %d shown; all: --limit 0 --format tsv' % (len(blocks), total))
    out.line('One session in full: analyze-session.py %s' % data[0]['session_id'])
