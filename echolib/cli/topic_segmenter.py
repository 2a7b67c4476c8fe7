"""topic-segmenter.py: what a session was about, one topic after the other."""
import os

from ..base import paths
from ..base import text as texts
from . import options as opt
from .common import Asked, Cleaner, amount, dump, dump_list, iso, when
from .run import run

SUMMARY = 'Cut sessions into topics where pauses, compactions and other words show that the talk turned to something else.'
COLUMNS = 'SESSION_ID SEGMENT START END MSG_COUNT REF LABEL KEYWORDS REASONS STRENGTH OPENING'.split()
# Sessions of a project that are told, and segments of each of them in text.
_SESSIONS, _EACH = 10, 8
_BUDGET = 7000


def command():
    """-> Command."""
    return opt.Command(
        '', SUMMARY,
        (('ref', False, 'a session id (or its beginning) or a transcript, without: the newest session; with --project a project directory,'
                       ' without: the one you are in'),),
        (opt.option('--project', 'flag', False, 'the sessions of a project, newest first'),
         opt.option('--min-gap', 'int', None, 'a pause of so many seconds always begins a topic (default 14400)', 'SECONDS'),
         opt.option('--max-topics', 'int', None, 'at most so many topics of a session, the weakest cuts go first (default 20, 0: all)', 'N'),
         opt.option('--limit', 'int', None, 'at most this many sessions of a project (0: all; default %d)' % _SESSIONS, 'N'),
         opt.AGENT, opt.SINCE, opt.UNTIL) + opt.COMMON,
        ('SESSION', '--project --since 30d', 'SESSION --format json'), _run)


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('topic-segmenter.py', SUMMARY, {}, argv, command())


def segment_json(session, segment, place, clean):
    """-> JSON object of a Segment. session: the id its references begin with; clean: a Cleaner."""
    return {'segment': place, 'start_ts': iso(segment.start) or None, 'end_ts': iso(segment.end) or None, 'msg_count': segment.messages,
            'prompts': segment.prompts, 'label': clean(segment.label), 'keywords': [clean(word) for word in segment.keywords],
            'ref': '%s:%d' % (session, segment.line), 'end_ref': '%s:%d' % (session, segment.last_line), 'reasons': segment.reasons,
            'strength': segment.strength, 'opening': clean(segment.opening)}


def session_json(row, numbered, clean):
    """-> JSON object of a session with its (number, Segment)s."""
    found = [one for _, one in numbered]
    return {'session': row.sid, 'session_id': row.sid, 'agent': row.agent, 'project_path': row.project, 'title': clean(row.title or ''),
            'total_messages': sum(segment.messages for segment in found), 'segment_count': len(found),
            'segments': [segment_json(row.sid, one, place, clean) for place, one in numbered]}


def _run(args, out):
    asked = Asked(args, out)
    try:
        return _project(args, out, asked) if args.project else _one(args, out, asked)
    finally:
        asked.close()


def _segments(args, asked, row, sources):
    """-> all Segments of a session: what is left out later keeps its number."""
    from ..insights import segments
    return segments.of(asked.view, row, sources, args.min_gap, args.max_topics)


def _found(args, asked):
    """-> (session row, its Sources), Nones where there is no session at all; a transcript outside the agents' folders is read where
    it is."""
    if not args.ref:
        row = next(iter(asked.rows()), None)
        return row, row and asked.catalog.sources(row)
    path = os.path.abspath(os.path.expanduser(args.ref))
    if not os.path.isfile(path) or asked.catalog.holds(path):
        row = asked.catalog.resolve(args.ref).row
        return row, asked.catalog.sources(row)
    from ..adapters import lookup
    from ..index.catalog import Row
    session = lookup.session_at(path)
    values = dict.fromkeys(Row._fields)
    values.update(sid=session.id, agent=session.agent, project='', title='')
    return Row(**values), session.sources


def _is_within(asked, segment):
    """True when a segment holds anything of the time asked for."""
    return ((asked.since is None or segment.end is None or segment.end >= asked.since)
            and (asked.until is None or segment.start is None or segment.start < asked.until))


def _one(args, out, asked):
    clean = Cleaner(args)
    row, sources = _found(args, asked)
    if row is None:
        if args.format == 'json':
            dump(out, {'session': None, 'session_id': None, 'total_messages': 0, 'segment_count': 0, 'segments': []})
        elif args.format == 'tsv':
            _header(out)
        else:
            out.line('No sessions%s; what is read: sd-recall.py environments' % (' in that time' if args.since or args.until else ' here'))
        return
    every = list(enumerate(_segments(args, asked, row, sources), 1))
    shown = [(place, one) for place, one in every if _is_within(asked, one)]
    if args.format == 'json':
        data = session_json(row, every, clean)
        data['segments'] = data['segments'][shown[0][0] - 1:shown[-1][0]] if shown else []
        dump(out, data)
    elif args.format == 'tsv':
        _header(out)
        _rows(out, clean, row, shown)
    else:
        short = asked.catalog.short_id(row.sid) if row.id is not None else row.sid
        if not args.ref:
            out.line('the newest session, %s: %s' % (short, texts.cut(texts.neutralise(clean.line(row.title or row.first_prompt or '')), 100)))
        out.line('%s, %s' % (_count(len(every), 'topic'), _count(sum(one.messages for _, one in every), 'message')))
        blocks = [_block(asked, clean, short, place, one, True) for place, one in shown]
        _fence(out, asked, blocks, row.sid, row.created, 'Nothing was said%s.' % (' in that time' if every else ''))
        if shown:
            out.line('Read one: sd-recall.py show %s:%d' % (short, shown[0][1].line))


def _rows_of(args, asked):
    """-> the sessions of the project asked for, newest first."""
    from ..index.catalog import same_project
    where = os.path.abspath(os.path.expanduser(args.ref)) if args.ref else asked.catalog.project_of(os.getcwd())
    inside = os.path.join(where, '')
    return where, [row for row in asked.rows() if same_project(row.project, where) or paths.restored(row.path or '').startswith(inside)]


def _project(args, out, asked):
    clean = Cleaner(args)
    where, rows = _rows_of(args, asked)
    most = _SESSIONS if args.limit is None else args.limit
    rows, total = (rows[:most] if most else rows), len(rows)
    each = ((row, [(place, one) for place, one in enumerate(_segments(args, asked, row, asked.catalog.sources(row)), 1)
                   if _is_within(asked, one)]) for row in rows)
    if args.format == 'json':
        dump_list(out, {'project': paths.storable(where) if isinstance(paths.storable(where), str) else repr(where), 'session_count': total},
                  'sessions', (session_json(row, found, clean) for row, found in each))
        return
    if args.format == 'tsv':
        _header(out)
        for row, found in each:
            _rows(out, clean, row, found)
        return
    if not rows:
        out.line('No sessions of %s%s. Other projects: sd-recall.py sessions --scope all' % (
            texts.cut(clean.line(str(where)), 300), ' in that time' if args.since or args.until else ''))
        return
    blocks = []
    for row, found in each:
        short = asked.catalog.short_id(row.sid)
        block = ['%s  %s  %s  %s' % (short, when(row.created, asked.now, asked.zone)[:10], _count(len(found), 'topic'),
                                     texts.cut(clean.line(row.title or row.first_prompt or ''), 70))]
        for place, one in found[:_EACH]:
            block += _block(asked, clean, short, place, one, False)
        if len(found) > _EACH:
            block.append('   and %d more: topic-segmenter.py %s' % (len(found) - _EACH, short))
        blocks.append(block)
    out.line('%s of %s%s' % (_count(total, 'session'), texts.cut(clean.line(str(where)), 300),
                             ', the newest %d of them' % len(rows) if len(rows) < total else ''))
    _fence(out, asked, blocks, 'several', asked.now, '')
    out.line('One session whole: topic-segmenter.py %s' % asked.catalog.short_id(rows[0].sid))


def _count(number, what):
    return '%s %s%s' % (amount(number), what, '' if number == 1 else 's')


def _header(out):
    out.line('\t'.join(COLUMNS))


def _rows(out, clean, row, numbered):
    for place, one in numbered:
        out.line('\t'.join(clean.cell(value) for value in (
            row.sid, str(place), iso(one.start), iso(one.end), str(one.messages), '%s:%d' % (row.sid, one.line), one.label,
            ' '.join(one.keywords), ' '.join(one.reasons), '' if one.strength is None else '%.3f' % one.strength, one.opening)))


def _block(asked, clean, short, place, one, opening):
    """-> lines of text about one segment."""
    more = ', '.join(one.keywords[3:])
    lines = ['%2d. %s  %s  %s  %s%s' % (
        place, when(one.start, asked.now, asked.zone), '%s:%d' % (short, one.line), _count(one.messages, 'message'),
        texts.cut(clean.line(one.label), 70), ' (%s)' % texts.cut(clean.line(more), 70) if more else '')]
    if opening and one.opening:
        lines.append('      %s%s' % ('[%s] ' % ' '.join(one.reasons) if one.reasons else '', texts.cut(clean.line(one.opening), 100)))
    return lines


def _fence(out, asked, blocks, sid, created, nothing):
    kept, used = [], 0
    for block in blocks:
        body = '\n'.join(block)
        used += len(body) + 1
        if used > _BUDGET and kept:
            break
        kept.append(body[:_BUDGET])
    out.line(texts.fence('\n'.join(kept) if kept else nothing, sid, when(created, asked.now, asked.zone)))
    if len(kept) < len(blocks):
        out.line('%d of %d shown; all of them: --format tsv' % (len(kept), len(blocks)))
