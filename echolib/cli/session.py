"""sd-recall.py show, messages, tools, files, schema, resume: one session's parts."""
import itertools
import os
from collections import namedtuple

from .. import transcript
from ..base import text as texts
from ..base.errors import EchoError, UnknownReference
from ..base.shelf import Shelf
from ..transcript_entries import masked_call
from . import options as opt
from .common import BEYOND, Asked, Cleaner, dump, dump_list, iso, text_path, when

_REF = ('ref', True, 'a session id (or its beginning), SESSION:LINE, SESSION/AGENT:LINE, or a transcript path')
_BUDGET = 7600
# Of a larger conversation `show` does not work the topics out.
_SEGMENTED = 32 << 20
# Characters kept of a tool's input and output where calls are listed.
_OUTPUT = 2000


def command(name, summary, more, examples, run):
    """-> Command on one session."""
    return opt.Command(name, summary, (_REF,), more + opt.COMMON, examples, run)


class Session(object):
    """A resolved reference with its files."""

    def __init__(self, args, out):
        self.asked = Asked(args, out)
        try:
            self.ref = self.asked.catalog.resolve(args.ref)
            self.row = self.ref.row
            self.sources = self.asked.catalog.sources(self.row)
            self.short = self.asked.catalog.short_id(self.row.sid)
            self._known_chain(args.ref)
        except EchoError:
            self.asked.close()
            raise
        self.clean = Cleaner(args)

    def _known_chain(self, ref):
        """Raise UnknownReference where the reference names a subagent that the session has not."""
        chains = [source.chain for source in self.sources if source.role != 'main']
        # Old clients wrote a subagent's rows into the main file.
        if self.ref.chain and self.ref.chain not in chains and all(item.chain != self.ref.chain for item in self.items()):
            raise UnknownReference(ref, "session %s has no subagent '%s'%s" % (
                self.row.sid, self.ref.chain, '; it has: ' + ', '.join(sorted(chains)[:20]) if chains else ''))

    def items(self, coverages=None):
        """Yield the session's Items."""
        return transcript.items(self.row.agent, self.sources, coverages)

    def source_of(self, item):
        """-> the Source an item came from."""
        for source in self.sources:
            if (source.chain if source.role != 'main' else '') == item.chain:
                return source
        return self.sources[0]

    def reference(self, item, sid=None):
        """-> SESSION:LINE of an item, or SESSION/AGENT:LINE."""
        sid = sid or self.row.sid
        known = any(s.chain == item.chain for s in self.sources if s.role != 'main')
        return '%s/%s:%d' % (sid, item.chain, item.line) if item.chain and known else '%s:%d' % (sid, item.line)

    def segments(self, readable=None):
        """-> the topics of the main conversation one after the other, None where that is too much to read now."""
        from ..insights import segments
        return segments.of(self.asked.view, self.row, self.sources, readable=readable)

    def abandoned(self):
        """-> (number of branch ends, ids of rows on branches that were left by going back)."""
        from ..adapters import registry
        adapter = registry.get(self.row.agent)
        main = [s for s in self.sources if s.role == 'main']
        if not main or not hasattr(adapter, 'branches'):
            return 1, set()
        try:
            return adapter.branches(main[0].path)
        except OSError:
            return 1, set()

    def orphan_parents(self):
        """-> number of rows that others of the main file follow and that are not in it; None where the agent's rows name none."""
        from ..adapters import registry
        adapter = registry.get(self.row.agent)
        main = [s for s in self.sources if s.role == 'main']
        if not main or not hasattr(adapter, 'orphan_parents'):
            return None
        try:
            return adapter.orphan_parents(main[0].path)
        except OSError:
            # Gone since it was listed.
            return None


def show():
    """-> Command show."""
    return command(
        'show', 'Read the conversation around a reference, or a session from its start.',
        (opt.option('--context', 'int', 6, 'messages before and after the line (default 6)', 'N'),
         opt.option('--role', 'text', None, 'only: user, assistant, tool', 'ROLE', ('user', 'assistant', 'tool', 'system')),
         opt.option('--tools', 'flag', False, 'with tool input and output'),
         opt.option('--thinking', 'flag', False, 'with thinking'),
         opt.option('--from', 'int', 0, 'start at this item number', 'N'),
         opt.option('--budget', 'int', _BUDGET, 'at most this many characters', 'CHARS')),
        ('show SESSION:N', 'show SESSION --budget 20000', 'show SESSION --tools --role tool'), _show)


def _wanted(item, args):
    if args.role and item.role != args.role:
        return False
    if item.kind == 'thinking':
        return args.thinking or args.role == 'assistant' and args.thinking
    if item.role == 'tool':
        return args.tools or args.role == 'tool'
    if item.role == 'system':
        return args.role == 'system' or item.status not in transcript.BACKGROUND and (args.tools or item.status != 'attachment')
    return True


def _show(args, out):
    session = Session(args, out)
    try:
        ref, clean = session.ref, session.clean
        leaves, left = session.abandoned()
        hit = None
        if ref.line is not None:
            chosen, hit = _window(session, args)
        else:
            chosen = (i for i in session.items() if _wanted(i, args) and i.index >= getattr(args, 'from')
                      and (not ref.chain or i.chain == ref.chain))
        if args.format == 'json':
            dump_list(out, {'session_id': session.row.sid, 'agent': session.row.agent, 'project_path': session.row.project,
                            'title': clean(session.row.title), 'leaves': leaves, 'gone': bool(session.row.gone),
                            'segment': segment_json(session, *_segment(session))}, 'items',
                      (item_json(session, i, left) for i in chosen))
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'TIME', 'ROLE', 'LABEL', 'BODY')))
            for item in chosen:
                out.line('\t'.join(clean.cell(v) for v in (session.reference(item), iso(item.time), item.role, item.label, item.body)))
        else:
            _show_text(args, out, session, chosen, hit, left)
    finally:
        session.asked.close()


def _window(session, args):
    """-> (items around the reference's line, the item there or the next one: a title's line holds none)."""
    ref = session.ref
    before, after, hit = [], [], None
    for item in session.items():
        here = hit is None and item.chain == ref.chain and item.line >= ref.line
        if not (here or _wanted(item, args)):
            continue
        if here:
            hit = item
        elif hit is None:
            before.append(item)
            if len(before) > args.context:
                del before[0]
        else:
            after.append(item)
        if hit is not None and len(after) >= args.context:
            break
    if hit is None:
        if not before:
            raise EchoError('line %d of session %s holds nothing to show; the session: sd-recall.py show %s' % (
                ref.line, session.row.sid, session.row.sid))
        hit = before.pop()
    return before + [hit] + after, hit


def item_json(session, item, left=()):
    """-> JSON object of an Item."""
    clean = session.clean
    body = masked_call(item.body, item.data, clean)[0] if item.kind == 'tool_call' else clean(item.body)
    return {'index': item.index, 'turn': item.turn, 'role': item.role, 'kind': item.kind, 'label': clean(item.label),
            'body': body, 'error': item.error, 'timestamp': iso(item.time), 'ref': session.reference(item),
            'chain': item.chain, 'line': item.line, 'status': item.status,
            'abandoned': (item.id or '').split('/')[0] in left}


def _show_text(args, out, session, chosen, hit, left):
    clean, row, asked = session.clean, session.row, session.asked
    sid = row.sid
    head = '%s  %s%s' % (row.agent, clean.line(row.project), '  [transcript gone: read from the archive]' if row.gone else '')
    # A title is quoted like all that stands in a transcript.
    title = ['title: ' + clean.line(clean.title(row))] if row.title else []
    budget = args.budget or 1 << 60
    lines, used, day = title, len(head) + sum(map(len, title)) + 260, None
    next_item = None
    picked, items = {}, {}
    around = enumerate(chosen) if hit is None else ((n, chosen[n]) for n in _outwards(chosen.index(hit), len(chosen)))
    for place, item in around:
        items[place] = item
        block = _block(session, item, left, clean, 1500 if item is hit or hit is None else 600, item is hit)
        if used + len(block) + 1 > budget:
            if not picked:
                picked[place] = block[:max(200, budget - used)]
            next_item = item
            break
        used += len(block) + 1
        picked[place] = block
    for place in sorted(picked):
        item = items[place]
        stamp = when(item.time, asked.now, asked.zone)
        if item.time is not None and stamp[:10] != day:
            day = stamp[:10]
            lines.append('-- %s' % day)
        lines.append(picked[place])
    out.line(head)
    found, place = _segment(session)
    if place is not None:
        one = found[place]
        out.line('topic %d of %d, lines %d to %d: %s' % (place + 1, len(found), one.line, one.last_line,
                                                         texts.cut(texts.neutralise(clean.line(one.label)), 90)))
    elif found:
        out.line('%d topics: topic-segmenter.py %s' % (len(found), session.short))
    away = [source.path for source in session.sources if not os.path.exists(os.path.dirname(source.path))]
    nothing = '(cannot be read now: %s)' % text_path(away[0]) if away else '(nothing of that kind in this session)'
    out.line(texts.fence('\n'.join(lines if picked else lines + [nothing]), sid,
                         when(row.created, asked.now, asked.zone)))
    if next_item is not None and hit is None:
        out.line('Goes on: sd-recall.py show %s --from %d' % (sid, next_item.index))
    elif next_item is not None:
        out.line('Cut to %d characters; more with --budget.' % args.budget)


def _segment(session):
    """-> (the session's segments where there are several, else [], place of the one that holds the reference's line or None)."""
    from ..insights.segments import at
    found = session.segments(_SEGMENTED) or []
    if len(found) < 2:
        return [], None
    ref = session.ref
    return found, at(found, ref.line) if ref.line is not None and not ref.chain else None


def segment_json(session, found, place):
    """-> JSON object of the segment a reference lies in: its number, how many there are, label, first and last line; None without."""
    if place is None:
        return None
    one = found[place]
    return {'segment': place + 1, 'segment_count': len(found), 'label': session.clean(one.label), 'ref': '%s:%d' % (session.row.sid, one.line),
            'end_ref': '%s:%d' % (session.row.sid, one.last_line)}


def _outwards(start, size):
    out = [start]
    for step in range(1, size):
        if start + step < size:
            out.append(start + step)
        if start - step >= 0:
            out.append(start - step)
    return out


def _block(session, item, left, clean, most, whole):
    body = item.body if item.kind != 'tool_call' else masked_call(item.body, item.data, clean)[0]
    body = clean.block(body)
    if len(body) > most and not whole:
        body = body[:most].rstrip() + ' [... %d more characters]' % (len(body) - most)
    elif len(body) > 6000:
        body = body[:6000].rstrip() + ' [... %d more characters]' % (len(body) - 6000)
    time = when(item.time, session.asked.now, session.asked.zone)[11:16] if item.time is not None else '-----'
    marks = ''
    if item.error:
        marks += ' [error]'
    elif item.status in ('declined', 'collateral'):
        marks += ' [%s]' % item.status
    elif item.status in ('queued', 'slash'):
        marks += ' [%s]' % item.status
    if item.chain:
        marks += ' [subagent %s]' % item.chain[:12]
    if (item.id or '').split('/')[0] in left:
        marks += ' [abandoned branch]'
    name = item.label + (' result' if item.kind == 'tool_result' else '')
    return '%s %s (%s)%s\n%s' % (time, clean.line(name), session.reference(item, session.short), marks,
                                 '\n'.join('  ' + line for line in body.split('\n')))


def messages():
    """-> Command messages."""
    return command(
        'messages', "List a session's prompts and replies, one line each.",
        (opt.limit(40, 'messages'), opt.option('--role', 'text', None, 'user or assistant', 'ROLE', ('user', 'assistant')),
         opt.option('--thinking', 'flag', False, 'with thinking')),
        ('messages SESSION', 'messages SESSION --role user --limit 0', 'messages SESSION --format json'), _messages)


def _messages(args, out):
    session = Session(args, out)
    try:
        clean = session.clean
        kinds = ('prompt', 'reply', 'interruption') + (('thinking',) if args.thinking else ())
        found = (i for i in session.items() if i.kind in kinds and (not args.role or i.role == args.role))
        shown = itertools.islice(found, args.limit) if args.limit else found
        if args.format == 'json':
            dump_list(out, {'session_id': session.row.sid}, 'messages', (item_json(session, i) for i in shown))
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'TIME', 'ROLE', 'KIND', 'TEXT')))
            for i in shown:
                out.line('\t'.join(clean.cell(v) for v in (session.reference(i), iso(i.time), i.role, i.kind, i.body)))
        else:
            count = itertools.count()
            lines = ('%s %-9s %s  %s' % (when(i.time, session.asked.now, session.asked.zone), i.role, session.reference(i, session.short),
                                         texts.cut(clean.line(i.body[:2000]), 110)) for i, _ in zip(shown, count))
            _fenced(out, session, lines, lambda: next(count) + sum(1 for _ in found), 'messages')
    finally:
        session.asked.close()


def _fenced(out, session, lines, total, what):
    """Print the first lines, and how many of total() they are: asked when all that is shown was taken."""
    kept, used = [], 0
    for line in lines:
        used += len(line) + 1
        if used > 7000:
            break
        kept.append(line)
    out.line(texts.fence('\n'.join(kept) if kept else '(no %s)' % what, session.row.sid,
                         when(session.row.created, session.asked.now, session.asked.zone)))
    total = total()
    if len(kept) < total:
        out.line('%d of %d %s shown; all of them: --limit 0 --format tsv' % (len(kept), total, what))


def tools():
    """-> Command tools."""
    return command(
        'tools', "List a session's tool calls with their outcome.",
        (opt.limit(40, 'calls'), opt.option('--errors-only', 'flag', False, 'only calls that failed'),
         opt.option('--tool', 'text', None, 'only this tool', 'NAME')),
        ('tools SESSION', 'tools SESSION --errors-only', 'tools SESSION --tool Bash --format json'), _tools)


# A tool call as it is listed. name, status, input (as it was), text, output, time; chain, line: of what came first; called:
# told by the call itself.
_Call = namedtuple('_Call', 'name status input text output time chain line called')


def _join(a, b):
    """-> the one _Call (as a tuple) of what two lines say of it, the call or its result."""
    a, b = _Call(*a), _Call(*b)
    if b.called:
        a = a._replace(name=b.name, input=b.input, text=b.text)
    if b.status != 'open':
        a = a._replace(status=b.status, output=b.output)
    return tuple(a._replace(called=a.called or b.called))


def calls(session):
    """-> Shelf of a session's tool calls in order, as tuples of _Call."""
    found = Shelf(_join)
    for item in session.items():
        if item.kind == 'tool_call':
            found.add(item.call or '', (item.label, 'open', item.data, item.body[:_OUTPUT + BEYOND], '', item.time, item.chain, item.line, True))
        elif item.kind == 'tool_result':
            # 178 of 65,287 real results stand before their call.
            found.add(item.call or '', (item.label, item.status, None, '', item.body[:_OUTPUT + BEYOND], item.time, item.chain, item.line, False))
    return found


def _tools(args, out):
    session = Session(args, out)
    try:
        clean, kept = session.clean, calls(session)

        def chosen():
            for call in map(_Call._make, kept):
                if (not args.errors_only or call.status == 'error') and (not args.tool or call.name.lower() == args.tool.lower()):
                    yield call
        total = sum(1 for _ in chosen())
        shown = itertools.islice(chosen(), args.limit or None)
        if args.format == 'json':
            dump_list(out, {'session_id': session.row.sid, 'total': total}, 'tools', ({
                'name': clean(c.name), 'status': c.status, 'input': masked_call('', c.input, clean)[1], 'output': clean.head(c.output, _OUTPUT),
                'timestamp': iso(c.time), 'ref': session.reference(c), 'chain': c.chain} for c in shown))
        elif args.format == 'tsv':
            out.line('\t'.join(('REF', 'TIME', 'TOOL', 'STATUS', 'INPUT', 'OUTPUT')))
            for c in shown:
                out.line('\t'.join(clean.cell(v) for v in (session.reference(c), iso(c.time), c.name, c.status, _input(c, clean), clean.head(c.output, _OUTPUT))))
        else:
            _fenced(out, session, _tool_lines(session, shown), lambda: total, 'tool calls')
    finally:
        session.asked.close()


def _input(call, clean):
    """-> the text of a call's input, masked and cut."""
    return masked_call(call.text, call.input, clean)[0][:_OUTPUT]


def _tool_lines(session, shown):
    clean = session.clean
    for c in shown:
        yield '%s %s %s %s: %s' % (
            when(c.time, session.asked.now, session.asked.zone)[11:16], session.reference(c, session.short),
            clean.line(c.name), c.status, texts.cut(clean.line(_input(c, clean)[:400]), 90))
        if c.status == 'error':
            yield '      -> ' + texts.cut(clean.line(c.output[:600]), 110)


def _safe(value, clean, depth=0):
    """A tool's input with its strings made safe to print."""
    if isinstance(value, str):
        return clean(value)
    if depth > 12:
        return None
    if isinstance(value, dict):
        return dict((clean(str(k)), _safe(v, clean, depth + 1)) for k, v in value.items())
    if isinstance(value, list):
        return [_safe(v, clean, depth + 1) for v in value]
    if isinstance(value, float) and (value != value or value in (float('inf'), float('-inf'))):
        return None
    return value


def files():
    """-> Command files."""
    return command('files', 'List the files a session changed or read.',
                    (opt.option('--all', 'flag', False, 'files that were only read as well'),),
                    ('files SESSION', 'files SESSION --all --format json'), _files)


def touched(session):
    """-> {path: {edits, writes, reads, errors, first, last, versions, ref}} of the files a session's tools touched."""
    out = {}
    files_of = getattr(adapter_of(session), 'files_of', None)
    for call in map(_Call._make, calls(session) if files_of is not None else ()):
        for what, path in files_of(call.name, call.input):
            row = out.setdefault(path, {'edits': 0, 'writes': 0, 'reads': 0, 'errors': 0, 'first': call.time, 'last': None,
                                        'versions': 0, 'ref': session.reference(call)})
            if call.status == 'error':
                row['errors'] += 1
            else:
                row[what + 's'] += 1
            row['last'] = call.time or row['last']
    from ..adapters import registry
    adapter = registry.get(session.row.agent)
    if hasattr(adapter, 'file_versions'):
        for source in session.sources:
            if source.role != 'main':
                continue
            for path, version in adapter.file_versions(source.path).items():
                full = path if os.path.isabs(path) or not session.row.project else os.path.join(session.row.project, path)
                row = out.get(full) or out.get(path)
                if row is not None:
                    row['versions'] = max(row['versions'], version)
    return out


def _files(args, out):
    session = Session(args, out)
    try:
        clean = session.clean
        found = sorted((p, r) for p, r in touched(session).items() if args.all or r['edits'] or r['writes'])
        if args.format == 'json':
            dump(out, {'session_id': session.row.sid, 'files': [dict(
                path=clean(p), edits=r['edits'], writes=r['writes'], reads=r['reads'], errors=r['errors'], versions=r['versions'],
                first=iso(r['first']), last=iso(r['last']), ref=r['ref']) for p, r in found]})
        elif args.format == 'tsv':
            out.line('\t'.join(('PATH', 'EDITS', 'WRITES', 'READS', 'ERRORS', 'VERSIONS', 'LAST', 'REF')))
            for p, r in found:
                out.line('\t'.join(clean.cell(v) for v in (p, str(r['edits']), str(r['writes']), str(r['reads']), str(r['errors']),
                                                           str(r['versions']), iso(r['last']), r['ref'])))
        else:
            lines = ['%s  %d edits, %d writes, %d reads%s' % (clean.line(p), r['edits'], r['writes'], r['reads'],
                                                             ', %d versions' % r['versions'] if r['versions'] else '') for p, r in found]
            _fenced(out, session, lines, lambda: len(found), 'files')
    finally:
        session.asked.close()


def adapter_of(session):
    from ..adapters import registry
    return registry.get(session.row.agent)


def resume():
    """-> Command resume."""
    return command('resume', 'Print the command that reopens a session, and where to run it.', (),
                    ('resume SESSION', 'resume SESSION --format json'), _resume)


def _resume(args, out):
    import shlex
    from ..base.files import is_dir
    session = Session(args, out)
    try:
        row = session.row
        words = adapter_of(session).resume(row.sid, row.project)
        command = ' '.join(shlex.quote(w) for w in words)
        here = bool(row.project) and is_dir(row.project)
        if args.format == 'json':
            dump(out, {'session_id': row.sid, 'agent': row.agent, 'directory': row.project, 'directory_exists': here,
                       'command': command, 'gone': bool(row.gone)})
        elif args.format == 'tsv':
            out.line('DIRECTORY\tCOMMAND')
            out.line('%s\t%s' % (session.clean.cell(row.project), session.clean.cell(command)))
        else:
            out.line('cd %s && %s' % (shlex.quote(texts.printable(row.project or '.')), command))
            if not here:
                out.note('the directory %s does not exist on this machine' % texts.printable(row.project or ''))
            if row.gone:
                out.note('the transcript was removed by the agent, so it may refuse')
    finally:
        session.asked.close()


def schema():
    """-> Command schema."""
    return command('schema', 'What kinds of records a transcript holds, with their fields, and what is not understood.', (),
                    ('schema SESSION', 'schema SESSION --format json'), _schema)


def _schema(args, out):
    from ..analysis_file import schema as detect_schema
    from ..base import paths
    session = Session(args, out)
    try:
        data = detect_schema(session.sources[0].path)
        data['session_id'] = session.row.sid
        data['file'] = paths.storable(data['file']) if isinstance(paths.storable(data['file']), str) else repr(data['file'])
        clean = session.clean
        if args.format == 'json':
            dump(out, _safe(data, clean))
            return
        if args.format == 'tsv':
            out.line('TYPE\tCOUNT\tKNOWN\tFIELDS')
            for name, row in sorted(data['record_types'].items()):
                out.line('%s\t%d\t%s\t%s' % (clean.cell(name), row['count'], 'no' if name in data['unknown_types'] else 'yes',
                                             clean.cell(' '.join(row['fields']))))
            return
        out.line('%s: %d lines, %d damaged, client %s, models %s' % (
            session.row.sid, data['lines'], data['parse_errors'], clean.line(', '.join(data['versions']) or 'unknown'),
            clean.line(', '.join(data['models']) or 'none')))
        for name, row in sorted(data['record_types'].items(), key=lambda i: -i[1]['count']):
            mark = ' (not understood)' if name in data['unknown_types'] else ''
            out.line('%7d  %s%s: %s' % (row['count'], clean.line(name), mark, texts.cut(clean.line(' '.join(row['fields'])), 130)))
        for line, why in data['damaged'][:10]:
            out.line('line %d: %s' % (line, clean.line(why)))
    finally:
        session.asked.close()
