"""sd-recall.py export: one session as Markdown, an HTML page, JSON or events, to stdout or to a file."""
import json
import os
import re

from .. import transcript
from ..base import clock, paths
from ..base import text as texts
from ..base.errors import EchoError
from . import options as opt
from .common import amount, iso, money, text_path
from .session import Session, item_json

FORMATS = ('md', 'html', 'json', 'ndjson', 'text')
# Tool text on a page is cut here unless the person says otherwise; data formats are always whole.
_CUT = 100000
_MAX_NAME = 120
_ODD = re.compile('[\x7f-\x9f\u2028\u2029]')


def command():
    """-> Command."""
    return opt.Command(
        'export', 'Export a session: Markdown, one self-contained HTML page, JSON, or an event a line.',
        (('ref', True, 'a session id (or its beginning), SESSION/AGENT:LINE for a subagent, or a transcript path'),),
        (opt.option('--format', 'text', 'md', 'md (also text), html, json or ndjson', 'FORMAT', FORMATS),
         opt.option('-o --output', 'text', None, 'write this file, or a file of its own in this folder', 'FILE'),
         opt.option('--force', 'flag', False, 'replace the file where there is one'),
         opt.option('--thinking', 'flag', False, 'with thinking, as without this option'),
         opt.option('--no-thinking', 'flag', False, 'without thinking'),
         opt.option('--no-tools', 'flag', False, 'without tool calls and results'),
         opt.option('--background', 'flag', False, 'with reminders and other text of the harness (pages; data has it)'),
         opt.option('--cut', 'int', _CUT, 'cut tool text on pages at this many characters (0: whole; default %d)' % _CUT, 'CHARS'),
         ) + opt.COMMON[1:],
        ('export SESSION', 'export SESSION --format html -o session.html', 'export SESSION --format ndjson'), _run)


def _run(args, out):
    session = Session(args, out)
    try:
        form = 'md' if args.format == 'text' else args.format
        target = _target(args, session, form) if args.output not in (None, '-') else None
        coverages = []
        parts = _PARTS[form](args, session, coverages, target is None)
        if target is None:
            for part in parts:
                out.write(part)
        else:
            size = write(target, parts, args.force)
            out.line('%s (%s bytes)' % (text_path(target), amount(size)))
        damaged = sum(c.parse_errors for c in coverages)
        if damaged:
            out.note('%d damaged line%s of this session could not be exported; sd-recall.py schema %s names them' % (
                damaged, '' if damaged == 1 else 's', session.row.sid))
    finally:
        session.asked.close()


# where it goes

def _target(args, session, form):
    """-> the path to write; EchoError where there must not be written."""
    path = paths.typed(args.output)
    if os.path.isdir(path):
        path = os.path.join(path, file_name(session.row.agent, session.row.sid, form))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder) or args.output.endswith(('/', os.sep)) and not os.path.isdir(args.output):
        raise EchoError('there is no folder %s to write into; make it first' % text_path(folder))
    if is_agents(session.asked.catalog.db, os.path.realpath(folder)):
        raise EchoError('%s holds transcripts, which are only read here; choose another folder' % text_path(folder))
    if os.path.lexists(path) and not args.force and not _is_device(path):
        raise EchoError('%s exists; --force replaces it' % text_path(path))
    return path


def file_name(agent, sid, form):
    """-> a file name of A-Za-z0-9._- and at most 120 bytes for a session, whatever its id holds."""
    safe = re.sub('[^A-Za-z0-9_-]+', '-', sid)
    name = '%s-%s' % (agent, safe)
    if len(name) + len(form) + 1 > _MAX_NAME or safe != sid:
        # What was cut or replaced must still tell two sessions apart.
        from zlib import crc32
        end = '-%08x' % crc32(sid.encode('utf-8', 'surrogateescape'))
        name = name[:_MAX_NAME - len(form) - 1 - len(end)] + end
    return '%s.%s' % (name, form)


def is_agents(db, folder):
    """True for a folder that holds transcripts, and for any folder inside of one."""
    folders = set(os.path.dirname(paths.restored(path)) for path, in db.execute('select path from files'))
    return any(paths.same_or_below(folder, os.path.realpath(where)) for where in folders)


def _is_device(path):
    return os.path.exists(path) and not os.path.isfile(path)


def write(path, parts, force=False):
    """Write texts as one UTF-8 file that appears whole or not at all; -> its size in bytes."""
    if _is_device(path):
        with open(path, 'wb') as handle:
            return sum(handle.write(part.encode('utf-8', 'replace')) for part in parts)
    scratch = os.path.join(os.path.dirname(path), '.session-digger-%d.tmp' % os.getpid())
    size = 0
    try:
        with open(scratch, 'xb') as handle:
            for part in parts:
                size += handle.write(part.encode('utf-8', 'replace'))
        if not force and os.path.lexists(path):
            raise EchoError('%s exists; --force replaces it' % text_path(path))
        os.replace(scratch, path)
    except OSError as error:
        raise EchoError('cannot write %s: %s' % (text_path(path), error.strerror or error))
    finally:
        if os.path.lexists(scratch):
            os.unlink(scratch)
    return size


# what goes there

def _chosen(args, session, coverages, background=True):
    from ..transcript_entries import wanted
    chain = session.ref.chain
    for item in session.items(coverages):
        if (not chain or item.chain == chain) and wanted(item, not args.no_thinking, not args.no_tools, background):
            yield item


def _whole(session):
    return lambda item: transcript.whole_output(session.row.agent, session.source_of(item), item)


def _numbers(session):
    """-> (shared keys of the whole transcript, names of its models)."""
    from .. import analysis
    from ..index.catalog import session_keys
    tally = session.asked.catalog.whole_tally(session.row, session.asked.prices().cost)
    return session_keys(session.row, tally), list(analysis.models_of(tally))


def _title(row, clean):
    lines = [line for line in clean.block(row.title or row.first_prompt).split('\n') if line.strip()]
    return texts.cut(clean.line(lines[0]), 100) if lines else ''


def _page(args, session, coverages, make):
    from ..transcript_entries import Head, entries
    row, clean = session.row, session.clean
    numbers, models = _numbers(session)
    notes = []
    if clean.mask:
        notes.append('Secrets were masked where they were recognised, which is a best effort.')
    if row.gone:
        notes.append('The agent has deleted this transcript; it was read from the archive.')
    left = [text for flag, text in ((args.no_thinking, 'thinking'), (args.no_tools, 'tool calls')) if flag]
    if left:
        notes.append('Left out: %s.' % ' and '.join(left))
    head = Head(clean.line(row.sid), row.agent, _title(row, clean), clean.line(row.project),
                clean.line(row.branch), clean.line(row.version), row.created, row.modified, [clean.line(m) for m in models], numbers,
                money(numbers), bool(row.gone), notes, session.asked.zone)
    chosen = (item._replace(label=clean.line(item.label)) for item in _chosen(args, session, coverages, args.background))
    sid = session.asked.catalog.short_id(row.sid)
    return make(head, entries(chosen, clean.block, lambda item: session.reference(item, sid), session.abandoned()[1], args.cut, _whole(session)))


def _markdown(args, session, coverages, shown):
    from ..transcript_markdown import pages
    parts = _page(args, session, coverages, pages)
    if not shown:
        return parts
    opening, _, closing = texts.fence('', session.row.sid, clock.format_time(session.row.created)[:10]).split('\n')
    return _around(opening + '\n\n', parts, '\n' + closing + '\n')


def _around(before, parts, after):
    yield before
    for part in parts:
        yield part
    yield after


def _html(args, session, coverages, shown):
    from ..transcript_html import pages
    return _page(args, session, coverages, pages)


def _header(session):
    row, clean = session.row, session.clean
    leaves, _ = session.abandoned()
    return {'session_id': row.sid, 'agent': row.agent, 'project_path': clean(row.project), 'title': clean(row.title),
            'first_prompt': clean(row.first_prompt), 'created': iso(row.created), 'modified': iso(row.modified), 'branch': clean(row.branch),
            'version': clean(row.version), 'gone': bool(row.gone), 'leaves': leaves}


def _json(args, session, coverages, shown):
    from ..transcript_entries import masked_call
    numbers, models = _numbers(session)
    head = dict(_header(session), models=[session.clean(m) for m in models], stats=dict(numbers, sessions=1))
    _, left = session.abandoned()
    whole = _whole(session)
    yield _dumps(head)[:-1] + ', "items": ['
    between = '\n'
    for item in _chosen(args, session, coverages):
        if item.kind == 'tool_result':
            item = item._replace(body=whole(item))
        row = item_json(session, item, left)
        row['call'] = session.clean(item.call)
        if item.kind == 'tool_call':
            row['body'], row['input'] = masked_call(item.body, item.data, session.clean)
        yield between + _dumps(row)
        between = ',\n'
    damaged = [session.clean(text) for c in coverages for text in c.messages()]
    yield '\n], "damaged": %s}\n' % _dumps(damaged)


def _events(args, session, coverages, shown):
    from ..transcript_json import event_objects

    def reference(chain, line):
        known = any(s.chain == chain for s in session.sources if s.role != 'main')
        return '%s/%s:%d' % (session.row.sid, chain, line) if chain and known else '%s:%d' % (session.row.sid, line)
    yield _dumps(dict(_header(session), kind='session')) + '\n'
    for event in event_objects(session.row.agent, session.sources, session.clean, reference, session.row.sid, coverages):
        if session.ref.chain and event['chain'] != session.ref.chain or event['kind'] == 'thinking' and args.no_thinking or \
                args.no_tools and event['kind'] in ('tool_call', 'tool_result'):
            continue
        yield _dumps(event) + '\n'


def _dumps(value):
    """JSON on one line, whatever a reader takes for the end of a line or a terminal for a command."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _ODD.sub(lambda found: '\\u%04x' % ord(found.group()), text)


_PARTS = {'md': _markdown, 'html': _html, 'json': _json, 'ndjson': _events}
