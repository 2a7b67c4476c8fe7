"""The public functions over one transcript file, without an index: what echolib/__init__ names."""
import json
import os

from . import analysis, pricing, transcript
from .adapters import registry
from .base import clock, paths
from .base.errors import EchoError
from .records import Coverage, read_records


def tree(path):
    """-> Session of the transcript at `path` with all files of its tree.

    Raises EchoError when no adapter knows the file, OSError when it is not there.
    """
    path = os.path.abspath(os.path.expanduser(path))
    os.stat(path)
    adapter = registry.detect(path)
    if adapter is None:
        raise EchoError('%s is no transcript of a known agent' % path)
    return adapter.session_at(path)


def _items(path, coverages=None):
    session = tree(path)
    return session, transcript.items(session.agent, session.sources, coverages)


def messages(path, role=None, limit=0, include_thinking=False):
    """See echolib.extract_messages."""
    _, found = _items(path)
    kinds = ('prompt', 'reply', 'thinking') if include_thinking else ('prompt', 'reply')
    count = 0
    for item in found:
        if item.kind not in kinds or role is not None and item.role != role:
            continue
        yield {'role': item.role, 'text': item.body, 'timestamp': clock.format_time(item.time), 'kind': item.kind,
               'label': item.status or item.label, 'turn': item.turn, 'line': item.line, 'chain': item.chain,
               'uuid': (item.id or '').split('/')[0]}
        count += 1
        if limit and count >= limit:
            return


def tools(path, tool_filter=None, errors_only=False, limit=0):
    """See echolib.extract_tools."""
    _, found = _items(path)
    rows, by_id = [], {}
    for item in found:
        if item.kind not in ('tool_call', 'tool_result'):
            continue
        row = by_id.get(item.call)
        if row is None:
            row = by_id[item.call] = {'name': item.label, 'id': item.call, 'status': 'open', 'input': None, 'output': '',
                                      'timestamp': clock.format_time(item.time), 'line': item.line, 'chain': item.chain}
            rows.append(row)
        if item.kind == 'tool_call':
            row.update(name=item.label, input=item.data)
        else:
            row.update(status=item.status, output=item.body)
    count = 0
    for row in rows:
        if tool_filter and row['name'].lower() != tool_filter.lower() or errors_only and row['status'] != 'error':
            continue
        row['output_preview'] = row['output'][:200]
        yield row
        count += 1
        if limit and count >= limit:
            return


def files_changed(path, limit=0):
    """See echolib.extract_files_changed."""
    out = {}
    for row in tools(path):
        given = row['input'] if isinstance(row['input'], dict) else {}
        name = given.get('file_path') or given.get('notebook_path')
        if row['name'] not in ('Edit', 'Write', 'MultiEdit', 'NotebookEdit') or not isinstance(name, str) or row['status'] not in ('ok', 'open'):
            continue
        one = out.setdefault(name, {'path': name, 'edits': 0, 'writes': 0, 'last': '', 'versions': 0})
        one['writes' if row['name'] == 'Write' else 'edits'] += 1
        one['last'] = max(one['last'], row['timestamp'])
    session = tree(path)
    adapter = registry.get(session.agent)
    if hasattr(adapter, 'file_versions'):
        for name, version in adapter.file_versions(path).items():
            if name in out:
                out[name]['versions'] = version
    found = sorted(out.values(), key=lambda r: (r['last'], r['path']), reverse=True)
    return found[:limit] if limit else found


def stats(path):
    """See echolib.session_stats."""
    session = tree(path)
    adapter = registry.get(session.agent)
    table = pricing.load(paths.data_dir())
    facts, profiles, total = {}, [], Coverage(path)
    for source in session.sources:
        coverage = Coverage(source.path)
        one = analysis.FileAnalysis()
        if source.role != 'main' and not analysis.is_replay(source.chain):
            one.add_agent(source.chain)
        try:
            for events in adapter.read(source, coverage):
                for event in events:
                    one.add(event)
        except OSError as error:
            coverage.damage(0, error.strerror or str(error))
        total.add(coverage)
        profiles.append(one.profile)
        for key, fact in one.facts.items():
            have = facts.get(key)
            facts[key] = fact if have is None or fact.side < have.side else have
    tally = {}
    for fact in facts.values():
        analysis.apply(tally, fact, 1, table.cost)
    out = analysis.shared_keys(tally)
    tokens = out['tokens']
    first = [p['first'] for p in profiles if p.get('first') is not None]
    last = [p['last'] for p in profiles if p.get('last') is not None]
    main = profiles[0] if profiles else {}
    models = analysis.models_of(tally)
    out.update(
        sessions=1, session_id=session.id, agent=session.agent, lines=total.lines, parse_errors=total.parse_errors,
        unknown_records=total.unknown_records, tools=analysis.tools_of(tally), models=models,
        model_usage=dict((m, dict(input_tokens=r['tokens']['input'], output_tokens=r['tokens']['output'],
                                  cache_read_tokens=r['tokens']['cache_read'],
                                  cache_write_tokens=r['tokens']['cache_write_5m'] + r['tokens']['cache_write_1h'],
                                  api_calls=r['api_calls'], cost_usd=r['cost_usd'], cache_hit_rate=r['cache_hit_rate']))
                         for m, r in models.items()),
        input_tokens=tokens['input'], output_tokens=tokens['output'], cache_read_tokens=tokens['cache_read'],
        cache_write_tokens=tokens['cache_write_5m'] + tokens['cache_write_1h'], total_tokens=sum(tokens.values()),
        started=clock.format_time(min(first)) if first else '', ended=clock.format_time(max(last)) if last else '',
        project=main.get('cwd') or '', branch=main.get('last_branch') or '', version=main.get('version') or '',
        title=main.get('custom-title') or main.get('ai-title') or '', first_prompt=main.get('first_prompt') or '')
    return out


def schema(path):
    """See echolib.detect_schema."""
    from .adapters.claude_parse import Parser
    path = os.path.abspath(os.path.expanduser(path))
    coverage = Coverage(path)
    types, unknown, versions, models, times = {}, set(), [], [], []
    parser = Parser(coverage, 'main', '', os.path.basename(path).split('.')[0], {})
    for record in read_records(path, coverage):
        data = record.data
        kind = record.type or '(no type)'
        if kind in ('system', 'attachment'):
            inner = data.get('subtype') if kind == 'system' else (data.get('attachment') or {}).get('type') if isinstance(
                data.get('attachment'), dict) else None
            kind = '%s/%s' % (kind, inner) if isinstance(inner, str) and inner else kind
        row = types.setdefault(kind, {'count': 0, 'fields': set()})
        row['count'] += 1
        if row['count'] <= 50:
            row['fields'].update(str(k) for k in data)
        before = coverage.unknown_records
        parser.events(record)
        if coverage.unknown_records > before:
            unknown.add(kind)
        for value, into in ((data.get('version'), versions), (record.message.get('model'), models)):
            if isinstance(value, str) and value not in into and value != '<synthetic>':
                into.append(value)
        time = clock.parse_time(data.get('timestamp'))
        if time is not None:
            times.append(time)
    return {'file': path, 'lines': coverage.lines, 'bytes': os.path.getsize(path), 'parse_errors': coverage.parse_errors,
            'unknown_records': coverage.unknown_records, 'damaged': [list(d) for d in coverage.damaged],
            'drifts': [list(d) for d in coverage.drifts], 'first_timestamp': clock.format_time(min(times)) if times else '',
            'last_timestamp': clock.format_time(max(times)) if times else '', 'versions': versions, 'models': models,
            'unknown_types': sorted(unknown),
            'record_types': dict((k, {'count': v['count'], 'fields': sorted(v['fields'])}) for k, v in types.items())}


def client_index(folder):
    """See echolib.load_index."""
    try:
        with open(os.path.join(folder, 'sessions-index.json'), 'rb') as handle:
            value = json.loads(handle.read().decode('utf-8', 'replace'))
    except (OSError, ValueError, RecursionError):
        return []
    entries = value.get('entries') if isinstance(value, dict) else value
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def listing(scope='all', agent=None, limit=0, grep=None):
    """See echolib.list_sessions."""
    from .index import access
    from .index.catalog import Catalog, Filter
    view = access.open_view(lambda text: None)
    try:
        catalog = Catalog(view.db)
        project = None if scope == 'all' else catalog.project_of(os.getcwd()) if scope == 'current' else os.path.abspath(scope)
        rows = catalog.rows(Filter(project, registry.resolve(agent), None, None, grep, None), clock.now())
        return [{'session_id': r.sid, 'agent': r.agent, 'created': clock.format_time(r.created), 'modified': clock.format_time(r.modified),
                 'msg_count': r.msg_count, 'branch': r.branch, 'summary': r.title, 'first_prompt': r.first_prompt,
                 'project_path': r.project, 'full_path': paths.restored(r.path)} for r in (rows[:limit] if limit else rows)]
    finally:
        view.store.close()


def project_dir(path):
    """See echolib.find_project_dir."""
    path = os.path.abspath(os.path.expanduser(path))
    fitting = []
    for root in registry.get('claude').roots():
        folder = os.path.join(root, 'projects')
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            # A root that is not there holds no project.
            continue
        fitting += [os.path.join(folder, name) for name in names if paths.key_fits(name, path)]
    for folder in fitting:
        for entry in client_index(folder)[:1]:
            if entry.get('projectPath') == path:
                return folder
    return fitting[0] if fitting else None


def agent_type(path):
    """See echolib.detect_agent_type."""
    if os.path.isdir(path):
        found = set()
        for base, _, names in os.walk(path):
            for name in sorted(names)[:20]:
                adapter = registry.detect(os.path.join(base, name))
                if adapter is not None:
                    found.add(adapter.NAME)
            if len(found) > 1:
                return 'both'
        return found.pop() if found else 'unknown'
    adapter = registry.detect(path)
    return adapter.NAME if adapter is not None else 'unknown'


def parse(path):
    """See echolib.parse_session."""
    session = tree(path)
    numbers = stats(path)
    return {'session_id': session.id, 'agent': session.agent, 'project': numbers['project'], 'title': numbers['title'],
            'files': [s.path for s in session.sources], 'messages': list(messages(path)), 'tools': list(tools(path)), 'stats': numbers}


def transcript_items(path):
    """See echolib.build_transcript."""
    return list(_items(path)[1])
