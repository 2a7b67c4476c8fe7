"""trend-engine.py report."""
import os

from ..base import clock, paths
from ..base.errors import EchoError, UsageError
from . import options as opt
from .common import amount, dump, text_path, when
from .export import is_agents, write
from .trends_common import TZ, Opened, name


def command():
    """-> Command."""
    return opt.Command(
        'report', 'One self-contained HTML page: totals, calendar, cost and tokens over time, tools, projects, findings.', (),
        (opt.option('--html', 'text', None, 'write this file (-: to stdout)', 'FILE'),
         opt.option('--force', 'flag', False, 'replace the file where there is one'), TZ) + opt.SELECTION + opt.COMMON,
        ('report --html -', 'report --html - --since 30d --scope current', 'report --format json'), _run)


def gather(view):
    """-> (Report, JSON of insights) of the chosen sessions."""
    from ..insights import report
    from ..insights.activity import day_of
    from .trends_insights import case, gather as find
    hours = report.Hours(view.zone)
    looked_at = case(view, hours)
    return report.build(looked_at.activity, hours, day_of(view.end, view.zone), looked_at.signals), find(view, looked_at)


def _data(view, report, found):
    """-> the JSON object of a report."""
    from ..insights import measures

    def bar(one):
        return {'start': clock.day_name(one.first), 'api_calls': one.sums.calls, 'prompts': one.sums.turns,
                'total_tokens': sum(sum(m.buckets) for m in one.sums.models.values()), 'known_cost_usd': one.sums.cost / 1e12,
                'cache_read': measures.bucket(one.sums, 'cache_read'), 'sent': measures.prompt_tokens(one.sums),
                'models': dict((view.clean(key), {'total_tokens': sum(m.buckets), 'known_cost_usd': sum(m.costs) / 1e12})
                               for key, m in one.sums.models.items())}
    data = dict(report.figures, **view.head())
    data['unit'], data['over_time'] = report.unit, [bar(one) for one in report.bars]
    data['days'] = dict((clock.day_name(day), one.calls) for day, one in report.days.items())
    data['hours'] = report.hours
    data['tools'] = dict((view.clean(theme.key), dict(theme.keys)) for theme in report.tools)
    data['by_project'] = dict((view.clean(theme.key), dict(theme.keys, sessions=len(theme.sessions))) for theme in report.projects)
    data['context'] = dict((view.clean(one.project), {'sessions': one.sessions, 'first_call_tokens': {'median': one.median, 'p90': one.p90}})
                           for one in report.contexts)
    data['streak'] = {'days': report.streak[0], 'last': view.day(report.streak[1])}
    data['findings'] = found['findings']
    return data


def _facts(args, view):
    """-> lines that say what the report is of."""
    chosen = []
    if args.scope not in (None, '', 'all', 'cross'):
        chosen.append('project %s' % name(view, view.which.project or args.scope, 100, True))
    if view.which.agent:
        chosen.append('agent %s' % view.which.agent)
    if args.machine == 'none':
        chosen.append('without sessions that other programs started')
    elif args.machine == 'only':
        chosen.append('only sessions that other programs started')
    for word, bound in (('from', view.since), ('to', view.until)):
        if bound is not None:
            chosen.append('%s %s' % (word, when(bound, view.now, view.zone)))
    zone = 'the machine that made this page' if view.zone.name == 'local' else view.zone.name
    return ['Selection: %s.' % (', '.join(chosen) or 'everything that is known'),
            'Made on %s; days and hours are those of %s.' % (when(view.now, view.now, view.zone), zone)]


def _run(args, out):
    if args.html is None and args.format != 'json':
        raise UsageError('a file to write is needed: report --html FILE (or --format json)')
    with Opened(args, out) as view:
        target = _target(args.html, args.force, view.catalog.db) if args.html not in (None, '-') else None
        report, found = gather(view)
        if args.html is None:
            dump(out, _data(view, report, found))
            return
        from .trends_report_page import pages
        parts = pages(view, report, found, 'Coding sessions', _facts(args, view))
        if target is None:
            for part in parts:
                out.write(part)
            return
        size = write(target, parts, args.force)
        out.line('%s (%s bytes; %s sessions)' % (text_path(target), amount(size), amount(view.sessions)))


def _target(given, force, db):
    """-> the path to write; EchoError where there must not be written."""
    path = paths.typed(given)
    if os.path.isdir(path):
        path = os.path.join(path, 'session-report.html')
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise EchoError('there is no folder %s to write into; make it first' % text_path(folder))
    if is_agents(db, os.path.realpath(folder)):
        raise EchoError('%s holds transcripts, which are only read here; choose another folder' % text_path(folder))
    if os.path.lexists(path) and not force and (os.path.isfile(path) or os.path.islink(path)):
        raise EchoError('%s exists; --force replaces it' % text_path(path))
    return path
