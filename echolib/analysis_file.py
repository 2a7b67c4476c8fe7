"""One transcript's numbers and shape, read now, without an index."""
import os

from . import analysis, pricing
from .adapters import lookup, registry
from .analysis_table import Gathered
from .base import clock, paths
from .events import META, USAGE
from .records import Coverage, read_records

# Of every type so many records are looked at for their fields.
_SAMPLE = 50


def stats(path):
    """See echolib.session_stats."""
    session = lookup.session_at(path)
    adapter = registry.get(session.agent)
    table = pricing.load(paths.data_dir())
    gathered, profiles, total = Gathered(), [], Coverage(path)
    for number, source in enumerate(session.sources, 1):
        coverage = Coverage(source.path)
        one = analysis.FileAnalysis()
        if (source.role in ('agent', 'loose') and not analysis.is_replay(source.chain)
                and not getattr(adapter, 'NAMES_AGENTS', False)):
            one.add_agent(source.chain)
        try:
            for events in adapter.read(source, coverage):
                for event in events:
                    one.add(event)
                if len(one.facts) > gathered.limit:
                    gathered.take(one.facts, number)
                    one = analysis.FileAnalysis(one.profile)
        except OSError as error:
            coverage.damage(0, error.strerror or str(error))
        total.add(coverage)
        profiles.append(one.profile)
        gathered.take(one.facts, number)
    tally = {}
    for fact in gathered.facts():
        analysis.apply(tally, fact, 1, table.cost)
    out = analysis.shared_keys(tally)
    if analysis.tokens_unknown(profiles):
        out = analysis.without_tokens(out, analysis.responses(profiles))
        out['tokens_note'] = getattr(adapter, 'TOKENS', 'the transcript holds no token counts')
    tokens = out['tokens']
    unknown = None in tokens.values()
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
        cache_write_tokens=None if unknown else tokens['cache_write_5m'] + tokens['cache_write_1h'],
        total_tokens=None if unknown else sum(tokens.values()),
        started=clock.format_time(min(first)) if first else '', ended=clock.format_time(max(last)) if last else '',
        project=main.get('cwd') or '', branch=main.get('last_branch') or '', version=main.get('version') or '',
        title=main.get('custom-title') or main.get('ai-title') or '', first_prompt=main.get('first_prompt') or '')
    return out


def schema(path):
    """See echolib.detect_schema."""
    path = os.path.abspath(os.path.expanduser(path))
    session = lookup.session_at(path)
    coverage = Coverage(path)
    kinds, versions, models, first, last = {}, [], [], None, None
    for events in registry.get(session.agent).read(session.sources[0], coverage):
        for event in events:
            row = kinds.setdefault('%s/%s' % (event.kind, event.label) if event.label else event.kind, {'count': 0, 'fields': set()})
            row['count'] += 1
            if row['count'] <= _SAMPLE:
                row['fields'].update(event.data if isinstance(event.data, dict) else getattr(event.data, '_fields', ()))
            value = event.text if event.kind == META and event.label == 'version' else event.data.model if event.kind == USAGE else ''
            into = versions if event.kind == META else models
            if value and value not in into:
                into.append(value)
            if event.time is not None:
                first = event.time if first is None else min(first, event.time)
                last = event.time if last is None else max(last, event.time)
    odd = set(drift.line for drift in coverage.drifts)
    types, unknown = _record_types(path, odd) if os.path.isfile(path) else ({}, set())
    # No lines of JSON (a database, packed frames): what was read of it is told instead.
    types = types or kinds
    return {'file': path, 'agent': session.agent, 'lines': coverage.lines, 'bytes': session.sources[0].size,
            'parse_errors': coverage.parse_errors, 'unknown_records': coverage.unknown_records,
            'damaged': [list(d) for d in coverage.damaged], 'drifts': [list(d) for d in coverage.drifts],
            'first_timestamp': clock.format_time(first) if first is not None else '',
            'last_timestamp': clock.format_time(last) if last is not None else '', 'versions': versions, 'models': models,
            'unknown_types': sorted(unknown),
            'record_types': dict((k, {'count': v['count'], 'fields': sorted(str(f) for f in v['fields'])}) for k, v in types.items())}


def _record_types(path, odd):
    """-> ({type: {count, fields}}, types of the lines in `odd`) of a file of JSON lines."""
    types, unknown = {}, set()
    for record in read_records(path):
        data = record.data
        kind = record_kind(record)
        row = types.setdefault(kind, {'count': 0, 'fields': set()})
        row['count'] += 1
        if row['count'] <= _SAMPLE:
            row['fields'].update(data)
        if record.line in odd:
            unknown.add(kind)
    return types, unknown


def record_kind(record):
    """-> what a Record is called in lists of kinds: its type, and behind a slash the finer one inside of it."""
    kind, inner = record.type or '(no type)', _inner_type(record)
    return '%s/%s' % (kind, inner) if isinstance(inner, str) and inner else kind


def _inner_type(record):
    """-> the finer type that a record of Claude Code, Codex, Kimi or Grok names inside itself, None without."""
    data = record.data
    if record.type == 'system':
        return data.get('subtype')
    update = data['params'].get('update') if isinstance(data.get('params'), dict) else None
    if isinstance(update, dict):
        return update.get('sessionUpdate')
    for key in ('attachment', 'payload') + (() if record.type else ('message',)):
        if isinstance(data.get(key), dict):
            return data[key].get('type')
    return None
