"""sd-recall.py sessions."""
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, dump, iso, short_ids, text_path, when

_LIMIT = 20
# Characters of the default output.
_MOST = 7800
COLUMNS = 'SESSION_ID CREATED MODIFIED MSG_COUNT BRANCH SUMMARY FIRST_PROMPT PROJECT_PATH FULL_PATH'.split()


def command():
    """-> Command."""
    return opt.Command(
        'sessions', 'List sessions, newest first (tab-separated by default).', (),
        (opt.limit(_LIMIT, 'sessions'),
         opt.option('--grep', 'text', None, 'only sessions whose title, id, path or first prompt holds this text', 'TEXT'),
         ) + opt.SELECTION + opt.COMMON,
        ('sessions --scope current --limit 10', 'sessions --since 7d --format text', 'sessions --grep login --format json'),
        _run)


def _run(args, out):
    from ..base.paths import restored
    from ..index.catalog import tokens_of, tokens_unknown
    asked = Asked(args, out)
    try:
        shown, total, late = asked.catalog.page(asked.which, asked.now, args.limit)
        clean = Cleaner(args)
        form = args.format or 'tsv'
        if late:
            out.note('%d session%s dated after this machine\'s clock' % (late, ' is' if late == 1 else 's are'))
        if form == 'json':
            dump(out, {'sessions': [{
                'session_id': row.sid, 'agent': row.agent, 'created': iso(row.created), 'modified': iso(row.modified),
                'msg_count': row.msg_count, 'branch': clean(row.branch), 'summary': clean(row.title),
                'first_prompt': clean(row.first_prompt), 'project_path': row.project, 'full_path': text_path_plain(restored(row.path)),
                'tokens': tokens_of(row), 'cost_usd': None if row.unpriced or tokens_unknown(row) else (row.known_cost or 0) / 1e12,
                'gone': bool(row.gone), 'machine': bool(row.machine), 'entrypoint': row.entrypoint or None,
                'version': row.version or None} for row in shown], 'total': total})
        elif form == 'tsv':
            lines = ['\t'.join(COLUMNS)]
            for row in shown:
                lines.append('\t'.join(clean.cell(v) for v in (
                    row.sid, iso(row.created), iso(row.modified), str(row.msg_count or 0), row.branch, texts.clip(clean(row.title or ''), 80),
                    texts.clip(clean(row.first_prompt or ''), 80), row.project, text_path_plain(restored(row.path)))))
            if args.format is None and args.limit == _LIMIT:
                # Asked for nothing in particular: as many as fit.
                while len(lines) > 2 and sum(len(line) + 1 for line in lines) > _MOST:
                    lines.pop()
                shown = shown[:len(lines) - 1]
            for line in lines:
                out.line(line)
        else:
            _text(out, asked, shown, total, clean)
        if len(shown) < total and form != 'text':
            out.note('%d of %d sessions shown; --limit 0 shows all' % (len(shown), total))
        elif not total and form == 'tsv':
            out.note(nothing(args, asked))
    finally:
        asked.close()


def text_path_plain(path):
    """-> a path as encodable text."""
    return path.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')


def nothing(args, asked):
    """-> what to say when no session fits."""
    known = asked.catalog.db.execute('select count(*) from sessions where readable = 1').fetchone()[0]
    if not known:
        return 'no transcripts on this machine yet; where they are looked for: sd-recall.py environments'
    where = ' in %s' % text_path(asked.which.project) if asked.which.project else ''
    return 'no sessions%s; %d are known in all (--scope all, without --since, --agent or --grep)' % (where, known)


def _text(out, asked, shown, total, clean):
    if not shown:
        out.line(nothing(asked.args, asked))
        return
    ids = short_ids([row.sid for row in shown], [row[0] for row in asked.catalog.values(('sid',), asked.which)])
    for row in shown:
        title = clean.line(row.title or row.first_prompt) or ('(no prompt)' if row.msg_count else '(no conversation)')
        marks = ''.join(m for flag, m in ((row.gone, ' [gone]'), (row.machine, ' [machine-made]')) if flag)
        line = '%s  %s  %4d  %s%s' % (ids[row.sid], when(row.modified, asked.now, asked.zone), row.msg_count or 0,
                                     texts.cut(title, 78), marks)
        out.line(line)
        out.line('          %s  %s' % (row.agent, clean.line(row.project)))
    out.line('%d of %d sessions (id, last activity, messages, title). Open one: sd-recall.py show %s' % (
        len(shown), total, ids[shown[0].sid]))
