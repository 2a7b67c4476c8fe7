"""sd-recall.py search."""
from ..base import text as texts
from ..base.errors import UsageError
from . import options as opt
from .common import Asked, Cleaner, dump, iso, text_path, when

_ROLES = {'user': 'prompt', 'prompt': 'prompt', 'prompts': 'prompt', 'human': 'prompt', 'assistant': 'reply', 'reply': 'reply',
          'thinking': 'thinking', 'tool': 'tool', 'tools': 'tool', 'title': 'title', 'error': 'error', 'recap': 'recap',
          'attachment': 'attachment', 'injected': 'injected', 'system': 'injected'}
_ROLE_OF = {'title': 'title', 'prompt': 'user', 'history': 'user', 'reply': 'assistant', 'thinking': 'assistant', 'task': 'assistant',
            'tool_call': 'tool', 'tool_result': 'tool', 'tool_error': 'tool', 'recap': 'recap', 'attachment': 'attachment',
            'injected': 'system'}
DEFAULT_BUDGET = 7600
_FRAME = 420    # characters of a text answer around its blocks: the fence and the lines after it


def command():
    """-> Command."""
    return opt.Command(
        'search', 'Find past conversations by their words, best first.',
        (('query', opt.WORDS, 'words, "a phrase", -word, OR, prefix*, role: tool: project: agent: file: model: is:error before: after:'),),
        (opt.limit(10, 'hits'),
         opt.option('--per-session', 'int', 3, 'at most this many hits of one session (0: all; default 3)', 'N'),
         opt.option('--or', 'list', None, 'another wording of the same question (repeatable); all are ranked together', 'WORDS'),
         opt.option('--role', 'text', None, 'only words of: user, assistant, thinking, tool, title', 'ROLE', tuple(sorted(_ROLES))),
         opt.option('--tool', 'text', None, 'only calls and results of this tool', 'NAME'),
         opt.option('--errors', 'flag', False, 'only tool errors'),
         opt.option('--project', 'text', None, 'only sessions whose project directory holds this text', 'TEXT'),
         opt.option('--file', 'text', None, 'only sessions that name this file in a tool call', 'PATH'),
         opt.option('--model', 'text', None, 'only sessions that used a model whose name holds this text', 'TEXT'),
         opt.option('--sort', 'text', 'relevance', 'relevance or recent', 'ORDER', ('relevance', 'recent')),
         opt.option('--context', 'int', 0, 'also show this many messages around each hit', 'N'),
         opt.option('--budget', 'int', DEFAULT_BUDGET, 'at most this many characters of text output', 'CHARS'),
         opt.option('--include-tools', 'flag', False, 'search tool input and output, errors, recaps and attachments too'),
         opt.option('--include-injected', 'flag', False, 'search what the harness put in as well'),
         opt.option('--include-current', 'flag', False, 'answer from the asking session as well, also what its context still holds'),
         ) + opt.SELECTION + opt.COMMON,
        ('search "retry queue" --limit 5', 'search "why was login slow" --or "登录 慢" --scope current',
         'search "timeout is:error" --include-tools --since 30d'),
        _run)


def _run(args, out):
    from ..index.query import parse
    if not (args.query or '').strip():
        raise UsageError('nothing to search for; give some words: sd-recall.py search "retry queue"')
    query = parse(args.query)
    queries = [query] + [parse(words) for words in getattr(args, 'or')]
    asked = Asked(args, out, text=True)
    try:
        answer, rows = find(args, asked, queries)
        clean = Cleaner(args)
        if args.format == 'json':
            dump(out, as_json(args, asked, answer, rows, clean))
        elif args.format == 'tsv':
            _tsv(out, asked, answer, rows, clean)
        else:
            _text(args, out, asked, answer, rows, clean)
    finally:
        asked.close()


def find(args, asked, queries):
    """-> (Answer, {session row id: Row}) of one or several wordings under the command's options."""
    import os
    from ..index import schema
    from ..index.matching import Matcher
    from ..index.search import Options, merge_answers, searcher_of
    filters = _filters(args, queries[0])
    since, until = _bounds(asked, filters)
    allowed, kinds = _allowed(asked, filters), _kinds(filters)
    searcher = searcher_of(asked.view)
    tools = args.include_tools or args.include_injected or any(kind >= schema.TOOL_KINDS for kind in kinds or ())
    hide = {}
    current = os.environ.get('CLAUDE_CODE_SESSION_ID')
    if current and not args.include_current:
        hide = searcher.still_in_context(current)
    machine = frozenset(row[0] for row in asked.view.db.execute('select id from sessions where machine = 1'))
    options = Options(allowed, kinds, since, until, tools, args.include_injected, args.per_session, args.limit,
                      args.sort == 'recent', hide, None, machine)
    for value in filters.get('file', ()):
        touching = searcher.sessions_naming(value)
        options = options._replace(sessions=touching if options.sessions is None else options.sessions & touching)
    if filters.get('tool'):
        options = options._replace(accept=searcher.uses_tool(filters['tool'][0]))
    answers = [searcher.search(query, options) for query in queries]
    answer = answers[0] if len(answers) == 1 else merge_answers(answers, args.limit, args.per_session)
    terms = [t for alternatives in list(answer.terms) + [a for q in queries for a in q.terms] for t in alternatives]
    asked.matchers, asked.texts, asked.searcher = [Matcher(t) for t in terms], searcher.texts, searcher
    wanted = set(h.session for h in answer.hits if h.session is not None) | set(c for h in answer.hits for c in h.copies)
    return answer, dict((number, asked.catalog.row(number)) for number in wanted)


def _filters(args, query):
    """-> {filter: [value]}: those inside the query and those that options name."""
    filters = dict((k, list(v)) for k, v in query.filters.items())
    for name in ('project', 'file', 'model', 'tool', 'role'):
        value = getattr(args, name, None)
        if value:
            filters.setdefault(name, []).append(value)
    if getattr(args, 'errors', False):
        filters.setdefault('is', []).append('error')
    return filters


def _bounds(asked, filters):
    """-> (since, until): the command's own, narrowed by the query's after: and before:."""
    from ..base import clock
    since, until = asked.since, asked.until
    for value in filters.get('after', ()):
        bound = clock.parse_bound(value, asked.zone, asked.now)
        since = bound if since is None else max(since, bound)
    for value in filters.get('before', ()):
        bound = clock.parse_bound(value, asked.zone, asked.now, end=True)
        until = bound if until is None else min(until, bound)
    return since, until


def _allowed(asked, filters):
    """-> the row ids of the sessions that may answer; None for all."""
    which = asked.which
    if (which.project, which.agent, which.machine) == (None, None, None) and not any(filters.get(k) for k in ('project', 'agent', 'model')):
        return None
    known = dict((row[0], row[1:]) for row in asked.catalog.values(
        ('id', 'project', 'agent') + (('tally',) if filters.get('model') else ()), which._replace(since=None, until=None)))
    allowed = set(known)
    from ..base.fold import fold
    for value in filters.get('project', ()):
        wanted = fold(value).lower()
        allowed = set(i for i in allowed if wanted in fold(known[i][0] or '').lower())
    for value in filters.get('agent', ()):
        from .common import resolve_agent
        name = resolve_agent(value)
        allowed = set(i for i in allowed if name is None or known[i][1] == name)
    for value in filters.get('model', ()):
        allowed = set(i for i in allowed if any(k.startswith('m|') and value.lower() in k.lower() for k in _tally(known[i][2])))
    return allowed


def _tally(text):
    import json
    return json.loads(text or '{}')


def _kinds(filters):
    """-> the document kinds that may answer; None for every kind.

    Raises UsageError for a role that there is not.
    """
    from ..index import schema
    kinds = None
    for value in filters.get('role', ()):
        kinds = _kinds_of(value) if kinds is None else kinds & _kinds_of(value)
    if filters.get('is'):
        kinds = {schema.ERROR_DOC} if kinds is None else kinds & {schema.ERROR_DOC}
    if filters.get('tool') and kinds is None:
        kinds = {schema.CALL_DOC, schema.RESULT_DOC, schema.ERROR_DOC}
    return kinds


def _kinds_of(role):
    from ..index import schema
    name = _ROLES.get(role.lower())
    table = {'prompt': {schema.PROMPT_DOC}, 'reply': {schema.REPLY_DOC}, 'thinking': {schema.THINKING_DOC}, 'title': {schema.TITLE},
             'tool': {schema.CALL_DOC, schema.RESULT_DOC, schema.ERROR_DOC}, 'error': {schema.ERROR_DOC},
             'recap': {schema.RECAP_DOC}, 'attachment': {schema.ATTACHED_DOC}, 'injected': {schema.INJECTED_DOC}}
    if name is None:
        raise UsageError("unknown role '%s'; known: user, assistant, thinking, tool, title, error, recap" % role)
    return table[name]


def reference(row, source, line):
    """-> the text that names a line: SESSION:LINE, or SESSION/AGENT:LINE in a subagent's file."""
    if source is None or source.role in ('main', 'history'):
        return '%s:%d' % (row.sid, line)
    return '%s/%s:%d' % (row.sid, source.chain, line)


def _hit(asked, hit, rows, clean, tame=None):
    from ..index import schema
    from ..index.matching import near, snippet
    row = rows[hit.session] if hit.session is not None else _remembered(asked, hit)
    found = asked.texts.file(hit.file)
    source = found[1] if found else None
    # Wide enough for every secret that reaches into what is shown.
    body = near(asked.texts.text(hit.file, hit.offset, hit.length, hit.part), asked.matchers, 1 << 18)
    kind = schema.KIND_NAMES[hit.kind]
    body = clean(body) if tame is None else tame(clean(body))
    return row, source, kind, snippet(body, asked.matchers) if body else ''


def _remembered(asked, hit):
    """-> a Row for a prompt whose session is known from the agent's prompt history alone."""
    from ..index.catalog import Row
    adapter, source, _ = asked.texts.file(hit.file)
    event = asked.texts.event(hit.file, hit.offset, hit.length, hit.part)
    return Row(*[None] * len(Row._fields))._replace(
        agent=adapter.NAME, sid=event.message if event is not None and event.message else '(unknown)', gone=1, machine=0,
        project=event.data if event is not None else '', title='', first_prompt=event.text if event is not None else '',
        path=source.path, modified=hit.time)


def as_json(args, asked, answer, rows, clean):
    """-> the JSON object of a search."""
    hits = []
    for hit in answer.hits:
        row, source, kind, snippet = _hit(asked, hit, rows, clean)
        hits.append({
            'ref': reference(row, source, hit.line), 'session_id': row.sid, 'agent': row.agent, 'project_path': row.project,
            'full_path': _path(source, row), 'line': hit.line, 'role': _ROLE_OF[kind], 'kind': kind,
            'timestamp': iso(hit.time), 'title': clean.title(row), 'snippet': snippet,
            'score': round(hit.score, 4), 'missing': list(hit.missing), 'gone': bool(row.gone), 'machine': bool(row.machine),
            'copies': [rows[c].sid for c in hit.copies if c in rows]})
    return {'query': args.query, 'total_sessions': answer.total, 'partial': answer.partial, 'index': asked.index_state(),
            'notes': answer.notes, 'hits': hits}


def _path(source, row):
    from ..base.paths import restored
    path = source.path if source is not None else restored(row.path)
    return path.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace')


def _tsv(out, asked, answer, rows, clean):
    out.line('\t'.join(('REF', 'DATE', 'AGENT', 'ROLE', 'PROJECT_PATH', 'TITLE', 'SNIPPET')))
    for hit in answer.hits:
        row, source, kind, snippet = _hit(asked, hit, rows, clean)
        out.line('\t'.join(clean.cell(v) for v in (
            reference(row, source, hit.line), iso(hit.time), row.agent, _ROLE_OF[kind], row.project,
            clean.title(row), snippet)))


def _text(args, out, asked, answer, rows, clean):
    for note in answer.notes:
        out.note(note)
    if not answer.hits:
        out.line('Nothing found for: %s' % clean.line(args.query))
        out.line(_widen(args, asked))
        return
    headline = _headline(args, answer)
    out.line(headline)
    ids = dict((row.sid, asked.catalog.short_id(row.sid)) for row in rows.values())
    room = (args.budget or 1 << 60) - len(headline) - 1 - _FRAME
    groups = _grouped(answer.hits)
    blocks, shown, first = [], [], None
    for session, hits in groups:
        row = rows[session] if session is not None else _remembered(asked, hits[0])
        block, ref = _block(args, asked, row, hits, rows, ids, clean)
        if blocks and len(block) + 1 > room:
            break
        blocks.append(block[:max(0, room)])
        shown.append((row.sid, hits[0].time or row.modified))
        room -= len(block) + 1
        first = first or (ref if session is not None else None)
    sid, date = shown[0] if len(shown) == 1 else ('several', asked.now)
    out.line(texts.fence('\n'.join(blocks), sid, when(date, asked.now, asked.zone)))
    if len(blocks) < len(groups):
        out.line('%d more sessions left out to stay within %d characters (--budget 0 shows all).' % (len(groups) - len(blocks), args.budget))
    if first:
        out.line('Read on: sd-recall.py show %s' % first)


def _grouped(hits):
    """-> [(session row id, [Hit])] in the order of each session's first hit; a prompt known from a history alone stands for itself."""
    groups, places = [], {}
    for hit in hits:
        place = places.get(hit.session) if hit.session is not None else None
        if place is None:
            place = places[hit.session] = len(groups)
            groups.append((hit.session, []))
        groups[place][1].append(hit)
    return groups


def _block(args, asked, row, hits, rows, ids, clean):
    """-> (text, reference of the first hit): what is shown of one session.

    ids: {session id: its short form}, of every session of the answer.
    """
    title = clean.line(clean.title(row)) or '(no title)'
    marks = ''.join(m for flag, m in ((row.gone, ' [transcript gone]'), (row.machine, ' [machine-made session]')) if flag)
    lines = ['%s  %s  %s  %s' % (row.sid, when(hits[0].time or row.modified, asked.now, asked.zone), row.agent, clean.line(row.project)),
             '  %s%s' % (title, marks)]
    first = None
    for hit in hits:
        # Before the marks: a mark inside a tag would hide it.
        _, source, kind, snippet = _hit(asked, hit, rows, clean, texts.neutralise)
        ref = ids.get(row.sid, row.sid) + reference(row, source, hit.line)[len(row.sid):]
        first = first or ref
        lack = ' (lacks: %s)' % ', '.join(hit.missing) if hit.missing else ''
        lines.append('  %s  %s%s' % (ref, kind, clean.line(lack)))
        lines.append('    ' + (texts.printable(snippet) or '(cannot be read now: %s)' % text_path(_path(source, row))))
        lines.extend(_around(args, asked, row, source, hit, clean))
        if hit.copies:
            lines.append('    also in %s' % ', '.join(ids[rows[c].sid] for c in hit.copies[:4] if c in rows))
    return '\n'.join(lines), first


def _around(args, asked, row, source, hit, clean):
    """The messages before and after a hit, one line each."""
    if not args.context:
        return []
    from collections import deque
    from ..transcript import items
    chain = '' if source is None or source.role == 'main' else source.chain
    before, after = deque(maxlen=args.context), []
    for item in items(row.agent, asked.catalog.sources(row)):
        if item.kind in ('prompt', 'reply') and item.chain == chain:
            if item.line < hit.line:
                before.append(item)
            elif item.line > hit.line:
                after.append(item)
                if len(after) == args.context:
                    break
    return ['      %s %s: %s' % (mark, i.role, texts.cut(clean.line(i.body), 110)) for mark, some in (('<', before), ('>', after)) for i in some]


def _headline(args, answer):
    if answer.partial:
        return 'No session holds every word; the best partial matches (%d sessions):' % answer.total
    return '%d session%s match%s:' % (answer.total, '' if answer.total == 1 else 's', 'es' if answer.total == 1 else '')


def _widen(args, asked):
    tips = []
    if not args.include_tools:
        tips.append('--include-tools searches tool input and output too')
    if args.since or args.until or args.scope not in ('all', None) or args.agent not in ('cross', None):
        tips.append('drop --since, --until, --scope or --agent')
    tips.append('try other words with --or "...", or a beginning with word*')
    files = asked.view.db.execute('select count(*) from files').fetchone()[0]
    if not files:
        return 'There are no transcripts on this machine yet. Where they are looked for: sd-recall.py environments'
    whole = 'Searched all %d transcript files' % files if not asked.view.covered else 'Searched: ' + asked.view.covered
    return '%s. To widen: %s.' % (whole, '; '.join(tips))
