"""One transcript's numbers and shape, read now, without an index."""
import os

from . import analysis, pricing
from .adapters import lookup, registry
from .base import clock, paths
from .records import Coverage, read_records


def stats(path):
    """See echolib.session_stats."""
    session = lookup.session_at(path)
    adapter = registry.get(session.agent)
    table = pricing.load(paths.data_dir())
    facts, profiles, total = {}, [], Coverage(path)
    for source in session.sources:
        coverage = Coverage(source.path)
        one = analysis.FileAnalysis()
        if (source.role in ('agent', 'loose') and not analysis.is_replay(source.chain)
                and not getattr(adapter, 'NAMES_AGENTS', False)):
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
    path = os.path.abspath(os.path.expanduser(path))
    session = lookup.session_at(path)
    coverage = Coverage(path)
    for _ in registry.get(session.agent).read(session.sources[0], coverage):
        continue
    odd = set(drift.line for drift in coverage.drifts)
    types, unknown, versions, models, times = {}, set(), [], [], []
    for record in read_records(path):
        data = record.data
        kind = record.type or '(no type)'
        inner = data.get('subtype') if kind == 'system' else data.get('attachment') if kind == 'attachment' else None
        inner = inner.get('type') if isinstance(inner, dict) else inner
        if isinstance(inner, str) and inner:
            kind = '%s/%s' % (kind, inner)
        row = types.setdefault(kind, {'count': 0, 'fields': set()})
        row['count'] += 1
        if row['count'] <= 50:
            row['fields'].update(str(k) for k in data)
        if record.line in odd:
            unknown.add(kind)
        for value, into in ((data.get('version'), versions), (record.message.get('model'), models)):
            if isinstance(value, str) and value not in into and value != '<synthetic>':
                into.append(value)
        time = clock.parse_time(data.get('timestamp'))
        if time is not None:
            times.append(time)
    return {'file': path, 'agent': session.agent, 'lines': coverage.lines, 'bytes': os.path.getsize(path),
            'parse_errors': coverage.parse_errors, 'unknown_records': coverage.unknown_records,
            'damaged': [list(d) for d in coverage.damaged], 'drifts': [list(d) for d in coverage.drifts],
            'first_timestamp': clock.format_time(min(times)) if times else '',
            'last_timestamp': clock.format_time(max(times)) if times else '', 'versions': versions, 'models': models,
            'unknown_types': sorted(unknown),
            'record_types': dict((k, {'count': v['count'], 'fields': sorted(v['fields'])}) for k, v in types.items())}
