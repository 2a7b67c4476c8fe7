"""skill-gap-finder.py propose."""
import os

from ..base import paths
from ..base import text as texts
from ..base.errors import EchoError, UnknownReference
from ..base.files import open_regular
from ..insights.recurrence import name_of, spaced, span
from . import options as opt
from .common import dump, text_path
from .gaps_analyze import LEAST, SKILLS_DIR, Found, as_json
from .habits import Opened, folder_of, times

_BUDGET = 7000


def command():
    """-> Command."""
    return opt.Command(
        'propose', 'A SKILL.md outline for a finding, or an addition to the skill that nearly covers it; printed, not written.',
        (('finding', False, 'the short name that analyze gives (error-1f3a5c), or its beginning; the first finding without it'),),
        (opt.option('--write', 'text', None, 'write it to this file, or into a folder of its own in this folder', 'PATH'),
         opt.option('--force', 'flag', False, 'replace the file where there is one; an addition is put behind what the file holds'),
         opt.option('--new', 'flag', False, 'a skill of its own, also where one nearly covers it'), LEAST, SKILLS_DIR) + opt.SELECTION + opt.COMMON,
        ('propose', 'propose --scope current --min-sessions 4', 'propose --format json'), _run)


def _run(args, out):
    from ..insights import skill_match, skill_outline
    with Opened(args, out) as view:
        found = Found(view)
        one = _chosen(args, found.gaps.findings)
        if one is None:
            if args.format == 'json':
                dump(out, {'finding': None, 'text': None, 'written': None})
            elif args.format == 'tsv':
                out.line('\t'.join(('FINDING', 'WHAT', 'NAME', 'SKILL_PATH', 'TEXT')))
            else:
                out.line('nothing recurs here, so there is nothing to propose (see: skill-gap-finder.py analyze)')
            return
        best = found.match(one)
        add = skill_match.covers(best) and not args.new
        name = best.extension.name if add else skill_outline.skill_name(one, name_of(one))
        text = (skill_outline.addition if add else skill_outline.outline)(name, one, _told(view, found, one))
        written = _write(args, view, text, name, add) if args.write else None
        if args.format == 'json':
            dump(out, dict(as_json(found, view, one), what='addition' if add else 'skill', name=name, text=text, written=written and text_path(written)))
        elif args.format == 'tsv':
            out.line('\t'.join(('FINDING', 'WHAT', 'NAME', 'SKILL_PATH', 'TEXT')))
            out.line('\t'.join(view.clean.cell(value) for value in (
                name_of(one), 'addition' if add else 'skill', name, best.extension.path if best else '', text.replace('\n', '\\n'))))
        elif written:
            out.line('%s written; the parts "to be filled in" are yours' % text_path(written))
        else:
            out.line('%s: %s' % (name_of(one), 'an addition to %s (%s, words in common: %s)' % (
                view.quote(name, 60), text_path(best.extension.path), view.quote(', '.join(best.shared[:5]), 100)) if add else 'a new skill, %s' % name))
            out.line(texts.fence(text[:_BUDGET], 'several', view.day(view.asked.now)))
            out.line('Nothing was written. To write it: --write PATH')


def _chosen(args, findings):
    if args.finding is None:
        return findings[0] if findings else None
    fitting = [one for one in findings if name_of(one).startswith(args.finding)]
    if len(fitting) != 1:
        raise UnknownReference(args.finding, "%s finding is called '%s'; list them with: skill-gap-finder.py analyze --limit 0 (and the same --scope, --since)" % (
            'more than one' if fitting else 'no', texts.printable(args.finding)))
    return fitting[0]


def _told(view, found, one):
    first, last = span(one)
    told = {'quote': view.quote(one.quote, 160), 'counted': '%s, %s to %s.' % (times(one.count, len(one.sessions)).capitalize(), view.day(first), view.day(last)),
            'evidence': ['%s, %s, %s' % (view.ref(place), view.day(place.time), view.quote(view.row(place).project or '', 80)) for place in spaced(one, 5)],
            'quotes': [view.quote(text, 240) for _, text in one.detail['quotes'][:5]] if one.kind == 'correction' else view.quoted(one.quote, 240, 12),
            'fix': [], 'steps': [view.quote(step, 80) for step in one.detail.get('steps', ())]}
    fix = found.remedy(one)
    if fix is not None:
        told['fix'] = fix['between'] + ['%s    (worked: %s)' % (fix['worked'], view.ref(fix['place']))]
    return told


def _write(args, view, text, name, add):
    """Write the proposal; -> its path. EchoError where there must not be written."""
    from .export import is_agents, write
    path = paths.typed(args.write)
    if is_agents(view.asked.catalog.db, os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))):
        raise EchoError('%s lies among transcripts, which are only read here; choose another folder' % text_path(path))
    if os.path.isdir(path):
        path = os.path.join(path, name.replace(':', '-'), 'SKILL.md')
        if not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
    folder_of(path, os.path.basename(path))
    if os.path.lexists(path) and not args.force:
        raise EchoError('%s exists; --force %s' % (text_path(path), 'puts the section behind what it holds' if add else 'replaces it'))
    if add and os.path.isfile(path):
        with open_regular(path) as handle:
            text = '%s\n\n%s' % (handle.read().decode('utf-8', 'surrogateescape').rstrip('\n'), text)
    write(path, [text], args.force)
    return path
