"""The functions that the library offers for each agent, made from the one protocol: `<agent>_list_sessions` and the like.

A prefix is an agent's name or another name it is known by. What an adapter offers beside (its PUBLIC) is found here too.
"""
_KINDS = ('list_sessions', 'session_stats', 'extract_messages', 'extract_tools', 'session_path')


def prefixes():
    """-> {prefix of function names: agent name}."""
    from .adapters import registry
    known = registry.names()
    found = dict((name, name) for name in known if name.isidentifier())
    found.update((other, name) for other, name in registry.ALIASES.items() if name in known and other.isidentifier())
    return found


def names():
    """-> sorted list of the names of all these functions."""
    from .adapters import registry
    found = ['%s_%s' % (prefix, kind) for prefix in prefixes() for kind in _KINDS]
    for adapter in registry.adapters():
        found.extend(getattr(adapter, 'PUBLIC', ()))
    return sorted(found)


def function(name):
    """-> the function of that name, None when there is none."""
    from .adapters import registry
    for kind in _KINDS:
        prefix = name[:-len(kind) - 1]
        if name.endswith('_' + kind) and prefix in prefixes():
            return _MAKERS[kind](name, prefixes()[prefix])
    for adapter in registry.adapters():
        if name in getattr(adapter, 'PUBLIC', ()):
            from importlib import import_module
            return getattr(import_module('.' + adapter.PUBLIC[name], registry.__name__.rpartition('.')[0]), name)
    return None


def stats(given, agent=None):
    """-> dict of one session's numbers; see echolib.cross_tool_session_stats."""
    from . import analysis_file
    from .adapters import registry, unified
    session = unified.session_of(given, agent)
    out = analysis_file.stats(session)
    counts = getattr(registry.get(session.agent), 'client_counts', None)
    if counts is not None:
        out['client'] = counts(session)
    return out


def attach_rates(stats, inside):
    """See echolib.attach_cache_hit_rates. inside: input_tokens holds what came from the cache."""
    from .events import cache_hit_rate
    inside = bool(stats.get('input_includes_cache', inside))
    if 'input_tokens' in stats or 'cache_read_tokens' in stats:
        sent, read, written = (_count(stats.get(key)) for key in ('input_tokens', 'cache_read_tokens', 'cache_write_tokens'))
        stats['cache_hit_rate'] = cache_hit_rate(read, max(0, sent - read - written) if inside else sent, written)
    elif isinstance(stats.get('tokens'), dict):
        tokens = stats['tokens']
        stats['cache_hit_rate'] = cache_hit_rate(_count(tokens.get('cache_read')), _count(tokens.get('input')),
                                                 _count(tokens.get('cache_write_5m')) + _count(tokens.get('cache_write_1h')))
    for key in ('model_usage', 'models', 'by_model', 'by_agent'):
        for leg in stats[key].values() if isinstance(stats.get(key), dict) else ():
            if isinstance(leg, dict):
                attach_rates(leg, inside)
    return stats


def _count(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0


def _named(made, name, doc):
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    made.__module__ = __package__
    return made


def _list_sessions(name, agent):
    def made(cwd=None, limit=20, keyword=''):
        from .index import listing
        return listing.listing('all' if cwd is None else cwd, agent, limit, None, keyword)
    return _named(made, name, """-> list of dicts of %s sessions, newest first: agent, session_id, created, modified, summary, first_prompt,
    msg_count, branch, project_path, full_path.

    cwd: only those of this directory.  limit: 0 for all.  keyword: only those whose title, id, project, path or first
    prompt holds it, or in whose conversation it is said.
    """ % agent)


def _session_stats(name, agent):
    def made(session):
        return stats(session, agent)
    return _named(made, name, """-> dict of the numbers of one %s session (its whole tree of files, read now), as of echolib.session_stats.

    session: its transcript, its own folder, or its id. `client`, where the agent keeps counters of its own: those.
    """ % agent)


def _extract_messages(name, agent):
    def made(session, role=None, limit=0, include_thinking=False):
        from . import transcript_file
        from .adapters import unified
        return list(transcript_file.messages(unified.session_of(session, agent), role, limit, include_thinking))
    return _named(made, name, """-> list of dicts of the messages of one %s session, as of echolib.extract_messages.

    session: its transcript, its own folder, or its id.  role: user, assistant or None for both.  limit: 0 for all.
    """ % agent)


def _extract_tools(name, agent):
    def made(session, tool_filter=None, errors_only=False, limit=0):
        from . import transcript_file
        from .adapters import registry, unified
        found = unified.session_of(session, agent)
        rows = list(transcript_file.tools(found, tool_filter, errors_only, limit))
        timed = getattr(registry.get(agent), 'durations', None)
        times = timed(found, [row['id'] for row in rows]) if timed is not None else {}
        for row in rows:
            if row['id'] in times:
                row['duration_ms'] = times[row['id']]
        return rows
    return _named(made, name, """-> list of dicts of the tool calls of one %s session, as of echolib.extract_tools.

    duration_ms: where the agent tells how long a call took.  session: its transcript, its own folder, or its id.  tool_filter: only this tool.  errors_only: only calls that failed.
    limit: 0 for all.
    """ % agent)


def _session_path(name, agent):
    def made(cwd, session_id):
        from .adapters import unified
        return unified.session_path(agent, cwd, session_id)
    return _named(made, name, """-> the folder of a %s session where it has one of its own, else its transcript; '' when there is none.

    cwd: the directory it ran in, None for any.  session_id: its whole id.
    """ % agent)


_MAKERS = {'list_sessions': _list_sessions, 'session_stats': _session_stats, 'extract_messages': _extract_messages,
           'extract_tools': _extract_tools, 'session_path': _session_path}
