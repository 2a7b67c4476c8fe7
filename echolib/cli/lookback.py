"""sd-recall.py errors, touched, decisions."""
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, dump, iso, when
from .search import reference

_BUDGET = 7400


def _command(name, summary, place, examples, run):
    return opt.Command(name, summary, (place,), (opt.limit(10, 'answers'),) + opt.SELECTION + opt.COMMON, examples, run)


def errors():
    """-> Command errors."""
    return _command('errors', 'Past tool errors, each with the next call of the same kind that worked.',
                    ('text', opt.WORDS, 'words of the error, or the error pasted; all recent errors without it'),
                    ('errors "No module named"', 'errors --scope current --since 7d'), _errors)


def touched():
    """-> Command touched."""
    return _command('touched', 'Sessions that edited or wrote a file, and the prompt that led to it.',
                    ('path', True, 'the file: a path, or its last parts'), ('touched src/app.py', 'touched README.md --since 30d'), _touched)


def decisions():
    """-> Command decisions."""
    return _command('decisions', 'Questions put to the person with the answers, and plan approvals.',
                    ('text', opt.WORDS, 'words of the question or answer; all recent ones without it'),
                    ('decisions', 'decisions "database" --scope current'), _decisions)


class _View(object):
    """What the three commands share: the opened index and how a hit is printed."""

    def __init__(self, args, out):
        from ..index.search import Searcher
        from ..index.texts import Texts
        from ..insights.lookback import Lookback
        self.args, self.out = args, out
        self.asked = Asked(args, out, text=True)
        which = self.asked.which
        allowed = None
        if (which.project, which.agent, which.machine) != (None, None, None):
            allowed = set(row[0] for row in self.asked.catalog.values(('id',), which._replace(since=None, until=None)))
        view = self.asked.view
        self.searcher = Searcher(view.db, view.shards, Texts(view.db))
        self.look = Lookback(self.searcher, self.asked.catalog, allowed, self.asked.since, self.asked.until)
        self.clean = Cleaner(args)
        self.rows = {}

    def row(self, hit):
        """-> Row of a hit's session."""
        if hit.session not in self.rows:
            self.rows[hit.session] = self.asked.catalog.row(hit.session)
        return self.rows[hit.session]

    def ref(self, hit, short=False):
        """-> reference of a hit."""
        row = self.row(hit)
        full = reference(row, self.searcher.texts.file(hit.file)[1], hit.line)
        return self.asked.catalog.short_id(row.sid) + full[len(row.sid):] if short else full

    def base(self, hit):
        """-> JSON fields every answer has."""
        row = self.row(hit)
        return {'ref': self.ref(hit), 'session_id': row.sid, 'agent': row.agent, 'project_path': row.project,
                'timestamp': iso(hit.time), 'gone': bool(row.gone)}

    def head(self, hit):
        """-> 'REF  date  project' of a hit."""
        return '%s  %s  %s' % (self.ref(hit, True), when(hit.time, self.asked.now, self.asked.zone), self.clean.line(self.row(hit).project))

    def at(self, row, short=False):
        """-> reference of the place a row of a document names."""
        from ..index.search import Hit
        return self.ref(Hit(row[0], self.searcher.session_of(row[0]), *(tuple(row[1:7]) + (0.0, (), ()))), short)

    def text(self, blocks, nothing):
        """Print blocks of lines inside one fence, within the budget."""
        if not blocks:
            self.out.line(nothing)
            return
        kept, used = [], 0
        for block in blocks:
            body = '\n'.join(block)
            if used + len(body) > _BUDGET:
                break
            kept.append(body)
            used += len(body) + 1
        self.out.line(texts.fence('\n'.join(kept), 'several', when(self.asked.now, self.asked.now, self.asked.zone)))
        if len(kept) < len(blocks):
            self.out.line('%d of %d shown; more: --format tsv' % (len(kept), len(blocks)))
        self.out.line('Read on: sd-recall.py show %s' % blocks[0][0].split('  ')[0])


def _run(args, out, work):
    view = _View(args, out)
    try:
        return work(view)
    finally:
        view.asked.close()


def _errors(args, out):
    def work(view):
        found = view.look.errors(args.text or '', args.limit)
        clean = view.clean
        if args.format == 'json':
            dump(out, {'errors': [dict(
                view.base(f.hit), tool=clean(f.call.label if f.call else None), input=clean.head(f.call.text if f.call else '', 1000),
                error=clean.head(f.error, 2000), count=f.count, fix=None if f.fix is None else {
                    'input': clean.head(f.fix[1].text, 2000), 'timestamp': iso(f.fix[1].time), 'line': f.fix[0][1], 'place': f.place or 'session',
                    'ref': view.at(f.fix[0])},
                reply=clean.head(f.reply, 600)) for f in found]})
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'DATE', 'TOOL', 'COUNT', 'ERROR', 'INPUT', 'FIX')))
            for f in found:
                out.line('\t'.join(clean.cell(v) for v in (view.ref(f.hit), iso(f.hit.time), f.call.label if f.call else '', str(f.count),
                                                           clean.head(f.error, 500), clean.head(f.call.text if f.call else '', 500),
                                                           clean.head(f.fix[1].text if f.fix else '', 500))))
        else:
            blocks = []
            for f in found:
                block = [view.head(f.hit), '  %s%s: %s' % (clean.line(f.call.label if f.call else 'tool'),
                                                           ' (%d times)' % f.count if f.count > 1 else '',
                                                           texts.cut(clean.line(f.call.text[:400] if f.call else ''), 150)),
                         '  failed: ' + texts.cut(clean.line(f.error[:900]), 220)]
                if f.reply:
                    block.append('  then: ' + texts.cut(clean.line(f.reply[:600]), 200))
                block.append('  no later call of this kind worked' if f.fix is None else '  worked%s (%s): %s' % (
                    {'': '', 'project': ' elsewhere in the project', 'earlier': ' an earlier time'}[f.place], view.at(f.fix[0], True), texts.cut(clean.line(f.fix[1].text[:600]), 220)))
                blocks.append(block)
            view.text(blocks, 'No past error matches. To widen: fewer words, --scope all, an earlier --since.')
    return _run(args, out, work)


def _touched(args, out):
    def work(view):
        found = view.look.touched(args.path, args.limit)
        clean = view.clean
        if args.format == 'json':
            dump(out, {'touched': [dict(view.base(t.hit), what=t.what, path=clean(t.path), prompt=clean.head(t.prompt, 1000),
                                        prompt_ref=view.ref(t.prompt_hit) if t.prompt_hit else None) for t in found]})
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'DATE', 'WHAT', 'PATH', 'PROMPT', 'PROMPT_REF')))
            for t in found:
                out.line('\t'.join(clean.cell(v) for v in (view.ref(t.hit), iso(t.hit.time), t.what, t.path, clean.head(t.prompt, 500),
                                                           view.ref(t.prompt_hit) if t.prompt_hit else '')))
        else:
            view.text([[view.head(t.hit), '  %s %s' % (t.what, clean.line(t.path)), '  asked: ' + texts.cut(clean.line(t.prompt[:800]), 220)]
                       for t in found], 'No session edited or wrote %s. A shorter path (its last parts) may fit.' % clean.line(args.path))
    return _run(args, out, work)


def _decisions(args, out):
    def work(view):
        found = view.look.decisions(args.text or '', args.limit)
        clean = view.clean
        if args.format == 'json':
            dump(out, {'decisions': [dict(view.base(d.hit), kind=d.kind, question=clean(d.question), answer=clean(d.answer)) for d in found]})
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'DATE', 'KIND', 'QUESTION', 'ANSWER')))
            for d in found:
                out.line('\t'.join(clean.cell(v) for v in (view.ref(d.hit), iso(d.hit.time), d.kind, clean.head(d.question, 1000), clean.head(d.answer, 1000))))
        else:
            view.text([[view.head(d.hit), '  %s: %s' % (d.kind, texts.cut(clean.line(d.question[:900]), 260)),
                        '  answer: ' + (texts.cut(clean.line(d.answer[:900]), 260) or '(none)')] for d in found],
                      'No question to the person matches. To widen: fewer words, --scope all, an earlier --since.')
    return _run(args, out, work)
