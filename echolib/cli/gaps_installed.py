"""skill-gap-finder.py installed."""
from ..base import text as texts
from . import options as opt
from .common import amount, dump, iso, text_path
from .gaps_analyze import SKILLS_DIR
from .habits import Opened, times

COLUMNS = 'VERDICT KIND NAME SOURCE USES ERRORS SESSIONS LAST SESSIONS_SINCE REACH CHARS PATH REFS'.split()
_MOST, _BUDGET = 30, 7000
_SAYS = {'missing': 'used, but nothing of this name is installed', 'failing': 'fails often', 'unused': 'never used', 'stale': 'no longer used',
         'used': 'in use', 'young': 'not used yet, too few sessions to judge'}


def command():
    """-> Command."""
    return opt.Command(
        'installed', 'Installed skills, commands, agents and MCP servers against their use: missing, failing, unused, stale.', (),
        (opt.limit(_MOST, 'rows'), SKILLS_DIR) + opt.SELECTION + opt.COMMON,
        ('installed', 'installed --scope current', 'installed --format json'), _run)


def _run(args, out):
    from ..adapters.claude_extensions import AGENT, installed
    from ..insights import asks, extension_use
    if args.agent == 'cross':
        # What is installed is this client's, so its sessions are those that could have used it.
        args.agent = AGENT
    with Opened(args, out) as view:
        found = installed(set(row.project for row in view.rows if row.project), args.skills_dir)
        rows = extension_use.survey(view.harvest, found, view.harvest.prompts(asks.PROMPTS))
        counts = dict((verdict, sum(1 for row in rows if row.verdict == verdict)) for verdict in extension_use.VERDICTS)
        some = rows[:args.limit] if args.limit else rows
        if args.format == 'json':
            dump(out, {'sessions_analyzed': len(view.rows), 'counts': counts, 'total_rows': len(rows), 'extensions': [_json(view, row) for row in some],
                       'newest_read_only': view.harvest.cut, 'index': view.asked.index_state()})
        elif args.format == 'tsv':
            out.line('\t'.join(COLUMNS))
            for row in some:
                one = row.extension
                out.line('\t'.join(view.clean.cell(value) for value in (
                    row.verdict, row.kind, row.name, one.source if one else '', row.uses, row.errors, len(row.sessions), iso(row.last), row.since_last,
                    row.reach, one.size if one else '', one.path if one else '', ' '.join(view.ref(place) for place in row.places[:3]))))
        else:
            _text(out, view, rows, some, counts)


def _json(view, row):
    one = row.extension
    return {'verdict': row.verdict, 'kind': row.kind, 'name': view.clean(row.name), 'source': one.source if one else None,
            'path': text_path(one.path) if one and one.path else None, 'project_path': one.project or None if one else None,
            'description_chars': one.size if one else None, 'uses': row.uses, 'errors': row.errors, 'sessions': len(row.sessions), 'last': iso(row.last) or None,
            'sessions_since': row.since_last, 'reach': row.reach, 'evidence': [view.place(place) for place in row.places[:10]]}


def _text(out, view, rows, some, counts):
    if not rows:
        out.line('nothing is installed, and %s sessions used no skill, agent or MCP server' % amount(len(view.rows)))
        return
    out.line('%s against %s sessions: %s' % (
        amount(len(rows)), amount(len(view.rows)), ', '.join('%d %s' % (counts[verdict], verdict) for verdict in counts if counts[verdict])))
    lines, used, before = [], 0, None
    for row in some:
        head = [] if row.verdict == before else ['%s: %s' % (row.verdict, _SAYS[row.verdict])]
        told = head + ['  %s' % _line(view, row)]
        used += sum(len(line) + 1 for line in told)
        if used > _BUDGET:
            break
        lines += told
        before = row.verdict
    shown = sum(1 for line in lines if line.startswith('  '))
    out.line(texts.fence('\n'.join(lines), 'several', view.day(view.asked.now)))
    if shown < len(rows):
        out.line('%d more: --limit 0 --format tsv' % (len(rows) - shown))
    quiet = [row for row in rows if row.verdict in ('unused', 'stale') and row.extension.size]
    if quiet:
        out.line('descriptions of what is unused or stale take %s characters of every context' % amount(sum(row.extension.size for row in quiet)))
    for what, number in sorted(view.harvest.cut.items()):
        out.line('of %s only the newest %s were read' % (what, amount(number)))


def _line(view, row):
    one = row.extension
    told = ['%s %s' % (row.kind, view.quote(row.name, 60))]
    if one is not None:
        told.append('(%s%s)' % (one.source, ', ' + view.quote(one.project, 60) if one.project else ''))
    parts = []
    if row.uses:
        parts.append('used %s, last %s' % (times(row.uses, len(row.sessions)), view.day(row.last)))
        if row.errors:
            parts.append('%d failed' % row.errors)
        if row.verdict == 'stale':
            parts.append('%d sessions since' % row.since_last)
        if row.places and row.verdict in ('missing', 'failing'):
            parts.append('such as %s' % view.ref(row.places[0], True))
    else:
        parts.append('0 of %s sessions since it is there' % amount(row.reach))
    return '%s: %s' % (' '.join(told), ', '.join(parts))
