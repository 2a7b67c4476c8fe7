"""Grok Build sessions by themselves: list them, find one, its counters, messages and tool calls. No index is used.

A session is named by its folder, or by a file in it.
"""
import os

from ..base.clock import format_time
from ..events import PROMPT, REPLY, TOOL_CALL, TOOL_RESULT
from . import grok
from .grok_side import Card, encoded, find, load, project_of, searched
from .grok_text import word


def grok_session_path(cwd, session_id):
    """-> the folder of a session of a directory, '' when there is none; cwd None: in whatever directory it ran."""
    for root in grok.roots():
        top = os.path.join(root, 'sessions')
        if cwd is not None:
            for group in _groups(top, cwd):
                path = os.path.join(group, session_id)
                if os.path.isdir(path):
                    return path
        else:
            path = find(os.path.join(top, '-'), session_id)
            if path:
                return path
    return ''


def _groups(top, cwd):
    """-> folders that may hold the sessions of a directory: by name, else by what their .cwd file says."""
    path = os.path.join(top, encoded(cwd))
    try:
        if os.path.isdir(path):
            return [path]
        return [where for where in (os.path.join(top, name) for name in sorted(os.listdir(top))) if project_of(where) == cwd]
    except (OSError, ValueError):
        return []


def grok_list_sessions(cwd=None, limit=0, keyword=None):
    """-> list of dicts of sessions, newest first: session_id, title, cwd, branch, model, created, modified (ISO), path.

    cwd: of this directory only.  limit: 0 for all.  keyword: only those whose title, prompts or replies hold it (asked of
    the client's own search index, and of titles).  Subagents are left out.
    """
    rows = []
    for root in grok.roots():
        texts = {}
        if keyword:
            for row in searched(os.path.join(root, 'sessions'), '', (), []):
                texts[row[0]] = '%s\n%s' % (row[3], row[4])
        for session in grok.discover(root, []):
            source = session.sources[0]
            if source.role != 'main' or not source.size:
                continue
            folder = os.path.dirname(source.path)
            card = Card(folder)
            if card.is_subagent() or cwd is not None and card.cwd != cwd:
                continue
            if keyword and keyword.lower() not in ('%s\n%s' % (card.title, texts.get(session.id, ''))).lower():
                continue
            modified = card.ended or source.mtime_ns // 1000000
            rows.append((modified, {'session_id': session.id, 'title': card.title, 'cwd': card.cwd, 'branch': card.branch,
                                    'model': card.model, 'created': format_time(card.created) if card.created else '',
                                    'modified': format_time(modified), 'path': folder}))
    rows.sort(key=lambda row: (row[0], row[1]['session_id']), reverse=True)
    return [row for _, row in (rows[:limit] if limit else rows)]


def grok_session_stats(session_dir):
    """-> dict of a session: what its card and the client's counters (signals.json) say, and what it cost.

    session_id, title, cwd, branch, model, created, modified; turns, user_prompts, assistant_messages, tool_calls, tool_errors,
    compactions, cancellations (the client's own counts, 0 without them; its tool_errors leave out commands that failed);
    input_tokens (cache included), output_tokens, cache_read_tokens, total_tokens, model_calls, cache_hit_rate and model_usage
    of the session's own calls; context_tokens: how full the window last was, which is no spending.
    """
    from .grok_usage import grok_family_usage_report
    report = grok_family_usage_report(session_dir)
    folder = report['session_dir']
    card = Card(folder)
    signals = load(os.path.join(folder, 'signals.json'))

    def counter(name):
        value = signals.get(name)
        return value if type(value) is int else 0
    out = {'agent': grok.NAME, 'session_id': report['session_id'], 'title': card.title, 'cwd': card.cwd, 'branch': card.branch,
           'model': card.model, 'created': format_time(card.created) if card.created else '',
           'modified': format_time(card.ended) if card.ended else '', 'turns': counter('turnCount'),
           'user_prompts': counter('userMessageCount'), 'assistant_messages': counter('assistantMessageCount'),
           'tool_calls': counter('toolCallCount'), 'tool_errors': counter('toolFailureCount'),
           'compactions': counter('compactionCount'), 'cancellations': counter('cancellationCount'),
           'context_tokens': counter('contextTokensUsed'), 'context_window': counter('contextWindowTokens')}
    out.update(report['main'])
    out['family'] = report['family']
    out['model_usage'] = report['main_model_usage']
    return out


def _events(session_dir):
    from ..records import Coverage
    session = grok.session_at(session_dir)
    source = session.sources[0]
    for events in grok.read(source, Coverage(source.path)):
        for event in events:
            yield event


def grok_extract_messages(session_dir, role=None, limit=0):
    """Yield a session's messages as dicts: role (user, assistant), text, timestamp (ISO), label, line."""
    count = 0
    for event in _events(session_dir):
        who = {PROMPT: 'user', REPLY: 'assistant'}.get(event.kind)
        if who is None or role is not None and who != role:
            continue
        yield {'role': who, 'text': event.text, 'timestamp': format_time(event.time) if event.time else '', 'label': event.label,
               'line': event.line}
        count += 1
        if limit and count >= limit:
            return


def grok_extract_tools(session_dir, tool_filter=None, errors_only=False, limit=0):
    """-> list of dicts of a session's tool calls: name, id, status (ok, error, declined, collateral, open), input, output,
    timestamp, line, and duration_ms where the client's telemetry (events.jsonl) tells."""
    rows, by_id = [], {}
    for event in _events(session_dir):
        if event.kind == TOOL_CALL:
            row = by_id.get(event.id)
            if row is None:
                row = by_id[event.id] = {'name': event.label, 'id': event.id, 'status': 'open', 'input': event.data, 'output': '',
                                         'timestamp': format_time(event.time) if event.time else '', 'line': event.line}
                rows.append(row)
        elif event.kind == TOOL_RESULT and event.data.call_id in by_id:
            by_id[event.data.call_id].update(status=event.label, output=event.text)
    _durations(session_dir, rows)
    found = [row for row in rows if (not tool_filter or row['name'].lower() == tool_filter.lower())
             and (not errors_only or row['status'] == 'error')]
    return found[:limit] if limit else found


def _durations(session_dir, rows):
    from ..records import read_records
    folder = session_dir if os.path.isdir(session_dir) else os.path.dirname(session_dir)
    timed = {}
    try:
        for record in read_records(os.path.join(folder, 'events.jsonl'), skip=lambda line: b'"tool_completed"' not in line):
            call = word(record.data.get('tool_call_id'))
            # The workspace times the same call a second time.
            if call and record.data.get('source') != 'workspace' and type(record.data.get('duration_ms')) is int:
                timed[call] = record.data['duration_ms']
    except OSError:
        # No telemetry.
        return
    for row in rows:
        found = timed.get(row['id'].rsplit(':', 1)[-1])
        if found is not None:
            row['duration_ms'] = found
