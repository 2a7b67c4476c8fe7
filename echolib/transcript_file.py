"""One transcript's messages, tool calls and files as plain values, read now, without an index."""
from . import transcript
from .adapters import lookup, registry
from .base import clock


def _items(path, coverages=None):
    session = lookup.session_at(path)
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
    session = lookup.session_at(path)
    adapter = registry.get(session.agent)
    files_of = getattr(adapter, 'files_of', None)
    for row in tools(path) if files_of is not None else ():
        for what, name in files_of(row['name'], row['input']):
            if what == 'read' or row['status'] not in ('ok', 'open'):
                continue
            one = out.setdefault(name, {'path': name, 'edits': 0, 'writes': 0, 'last': '', 'versions': 0})
            one[what + 's'] += 1
            one['last'] = max(one['last'], row['timestamp'])
    if hasattr(adapter, 'file_versions'):
        for name, version in adapter.file_versions(path).items():
            if name in out:
                out[name]['versions'] = version
    found = sorted(out.values(), key=lambda r: (r['last'], r['path']), reverse=True)
    return found[:limit] if limit else found


def parse(path):
    """See echolib.parse_session."""
    session = lookup.session_at(path)
    from .analysis_file import stats
    numbers = stats(path)
    return {'session_id': session.id, 'agent': session.agent, 'project': numbers['project'], 'title': numbers['title'],
            'files': [s.path for s in session.sources], 'messages': list(messages(path)), 'tools': list(tools(path)), 'stats': numbers}


def transcript_items(path):
    """See echolib.build_transcript."""
    return list(_items(path)[1])
