"""skill-gap-finder.py analyze."""
from ..base import text as texts
from ..base.errors import UsageError
from ..insights.recurrence import LEAST_SESSIONS, name_of, spaced, span
from . import options as opt
from .common import amount, dump, iso
from .habits import Opened, times

LEAST = opt.option('--min-occurrences --min-sessions', 'int', LEAST_SESSIONS,
                   'a finding must lie in so many different sessions (at least 2; default %d)' % LEAST_SESSIONS, 'N')
SKILLS_DIR = opt.option('--skills-dir', 'list', None, 'a further folder of skills (repeatable)', 'DIR')
COLUMNS = 'FINDING KIND COUNT SESSIONS FIRST LAST QUOTE REFS SKILL CONFIDENCE SKILL_PATH'.split()
_BUDGET, _MOST, _PLACES = 6600, 10, 50
_WHAT = {'error': 'error that comes back', 'correction': 'repeated correction', 'retry': 'retry loop', 'tool': 'tool that fails often', 'sequence': 'commands run by hand',
         'prompt': 'long prompt typed again'}


def command():
    """-> Command."""
    return opt.Command(
        'analyze', 'Errors, corrections, retry loops, failing tools, command sequences and long prompts that recur across sessions, with evidence.', (),
        (opt.limit(_MOST, 'findings'), LEAST, SKILLS_DIR) + opt.SELECTION + opt.COMMON,
        ('analyze', 'analyze --scope current --since 30d', 'analyze --format json --limit 3'), _run)


class Found(object):
    """The findings of an opened view, each with its remedy and the skill that nearly covers it."""

    def __init__(self, view):
        from ..adapters.claude_extensions import installed
        from ..insights import asks, gaps
        least = view.args.min_sessions
        if least < 2:
            raise UsageError('--min-sessions takes at least 2: what happened once does not recur')
        self.view = view
        said = view.harvest.prompts(asks.PROMPTS)
        self.gaps = gaps.find(view.harvest, said, least)
        self.extensions = installed(set(row.project for row in view.rows if row.project), view.args.skills_dir)

    def match(self, found):
        """-> Match or None; another project's skill covers nothing here."""
        from ..insights.skill_match import match
        projects = set(self.view.harvest.rows[session].project for session in found.sessions)
        return match(found, [one for one in self.extensions if not one.project or one.project in projects])

    def remedy(self, found):
        """-> dict of what came after an error: between (list), worked, ref; None where nothing worked, or for other kinds."""
        from ..insights import gaps
        if found.kind != 'error':
            return None
        told, failed = gaps.remedy(self.view.look, found)
        if told is None:
            return None
        place = failed.place._replace(file=told.row[0], session=self.view.look.searcher.session_of(told.row[0]), line=told.row[1])
        if place.session not in self.view.harvest.rows:
            return None
        return {'between': [self.view.quote(gaps.said_by(call), 160) for call in told.between],
                'worked': self.view.quote(gaps.said_by(told.worked), 160), 'place': place}


def as_json(found, view, one, rich=True):
    """-> JSON object of a finding."""
    first, last = span(one)
    best = found.match(one)
    out = {'finding': name_of(one), 'kind': one.kind, 'count': one.count, 'sessions': len(one.sessions), 'first': iso(first), 'last': iso(last),
           'quote': view.clean(one.quote), 'evidence': [view.place(place) for place in one.places[:_PLACES]],
           'matched_skill': None if best is None else {'name': best.extension.name, 'path': best.extension.path, 'confidence': best.confidence,
                                                       'shared_words': best.shared}}
    if one.kind == 'error':
        out['tools'] = one.detail['tools']
        fix = found.remedy(one) if rich else None
        out['remedy'] = None if fix is None else dict(view.place(fix['place']), between=fix['between'], worked=fix['worked'])
    elif one.kind == 'correction':
        out['kinds'] = one.detail['kinds']
        out['quotes'] = [dict(view.place(place), text=view.clean(text)) for place, text in one.detail['quotes'][:10]]
    elif one.kind == 'retry':
        out.update((key, one.detail[key]) for key in ('tool', 'program', 'calls', 'longest'))
    elif one.kind == 'tool':
        out.update(one.detail)
    elif one.kind == 'sequence':
        out['steps'] = [view.clean(step) for step in one.detail['steps']]
    return out


def _run(args, out):
    with Opened(args, out) as view:
        found = Found(view)
        told = found.gaps
        some = told.findings[:args.limit] if args.limit else told.findings
        if args.format == 'json':
            dump(out, {'sessions_analyzed': told.sessions, 'min_sessions': args.min_sessions, 'total_findings': len(told.findings),
                       'skills_scanned': sum(1 for one in found.extensions if one.kind in ('skill', 'command')),
                       'findings': [as_json(found, view, one) for one in some], 'client_checks_left_out': told.checks,
                       'corrections': dict((kind, {'count': count, 'sessions': len(sessions)}) for kind, (count, sessions) in sorted(told.kinds.items())),
                       'newest_read_only': told.cut, 'index': view.asked.index_state()})
        elif args.format == 'tsv':
            out.line('\t'.join(COLUMNS))
            for one in some:
                first, last = span(one)
                best = found.match(one)
                out.line('\t'.join(view.clean.cell(value) for value in (
                    name_of(one), one.kind, one.count, len(one.sessions), iso(first), iso(last), view.clean.head(one.quote, 500),
                    ' '.join(view.ref(place) for place in spaced(one)), best.extension.name if best else '', best.confidence if best else '',
                    best.extension.path if best else '')))
        else:
            _text(out, args, view, found, some)


def _text(out, args, view, found, some):
    told = found.gaps
    if not view.rows:
        out.line('no sessions; widen with --scope all, without --since, --until and --agent')
        return
    if not told.findings:
        out.line('nothing recurs in %s session%s (a finding needs %d different ones; --min-sessions lowers that)' % (
            amount(told.sessions), '' if told.sessions == 1 else 's', args.min_sessions))
    else:
        out.line('%d finding%s in %s sessions, each in at least %d of them' % (
            len(told.findings), '' if len(told.findings) == 1 else 's', amount(told.sessions), args.min_sessions))
        blocks, used = [], 0
        for number, one in enumerate(some, 1):
            block = '\n'.join(_block(view, found, number, one))
            used += len(block) + 1
            if used > _BUDGET and blocks:
                break
            blocks.append(block)
        out.line(texts.fence('\n'.join(blocks), 'several', view.day(view.asked.now)))
        if len(blocks) < len(told.findings):
            out.line('%d more: --limit 0 --format tsv' % (len(told.findings) - len(blocks)))
        out.line('A skill for one: skill-gap-finder.py propose %s' % name_of(some[0]))
    _left_out(out, told)


def _left_out(out, told):
    if told.checks:
        out.line('not counted: %s errors that the client\'s own checks of a call raised (file not read yet, text not found)' % amount(told.checks))
    for what, number in sorted(told.cut.items()):
        out.line('of %s only the newest %s were read' % (what, amount(number)))


def _block(view, found, number, one):
    first, last = span(one)
    lines = ['%d. %s: %s, %s, %s' % (number, name_of(one), _WHAT[one.kind], times(one.count, len(one.sessions)),
                                     view.day(first) if view.day(first) == view.day(last) else '%s to %s' % (view.day(first), view.day(last)))]
    if one.kind == 'error':
        lines.append('   %s: %s' % (', '.join(sorted(one.detail['tools'], key=lambda t: (-one.detail['tools'][t], t))[:3]), view.quote(one.quote)))
        fix = found.remedy(one)
        if fix is not None:
            lines.append('   %sworked: %s (%s)' % ('then: %s; ' % '; '.join(fix['between']) if fix['between'] else '', fix['worked'], view.ref(fix['place'], True)))
    elif one.kind == 'correction':
        lines += ['   "%s"' % view.quote(text, 140) for _, text in one.detail['quotes'][:3]]
    elif one.kind == 'retry':
        lines.append('   %s: %d failing calls in %d loops, up to %d on end; such as: %s' % (
            ' '.join(part for part in (one.detail['tool'], one.detail['program']) if part), one.detail['calls'], one.count, one.detail['longest'],
            view.quote(one.quote, 120)))
    elif one.kind == 'tool':
        lines.append('   %s: %d of %d calls failed; such as: %s' % (one.detail['tool'], one.count, one.detail['calls'], view.quote(one.quote, 120)))
    elif one.kind == 'sequence':
        lines.append('   %s' % view.quote(' > '.join(one.detail['steps'])))
    else:
        lines.append('   "%s"' % view.quote(one.quote, 240))
    lines.append('   seen: %s' % ', '.join(view.ref(place, True) for place in spaced(one)))
    lines.append('   %s' % _against(view, found.match(one)))
    return lines


def _against(view, best):
    from ..insights.skill_match import covers
    if best is None:
        return 'no installed skill speaks of it: propose a new one'
    told = '%s (%s: %s)' % (view.quote(best.extension.name, 60), best.confidence, view.quote(', '.join(best.shared[:4]), 80))
    return 'skill that nearly covers it: %s' % told if covers(best) else 'nearest skill, hardly: %s' % told
