"""What tests of several adapters need: a session's events folded into numbers, and photographs of folders."""
import os

from helpers import run_script

from echolib import analysis
from echolib.records import Coverage


def photograph(top):
    """Return {path: (mode, size, mtime)} of everything below a folder."""
    out = {}
    for where, folders, files in os.walk(str(top)):
        for name in folders + files:
            path = os.path.join(where, name)
            stat = os.lstat(path)
            out[path] = (stat.st_mode, stat.st_size, stat.st_mtime_ns)
    return out


def sessions(adapter, root, problems=None):
    """Return {id: Session} of a root."""
    return dict((s.id, s) for s in adapter.discover(str(root), [] if problems is None else problems))


def events(adapter, source, coverage=None, state=None):
    """Return the list of events of one file."""
    return [event for some in adapter.read(source, coverage or Coverage(source.path), state=state) for event in some]


def numbers(adapter, session, roles=('main', 'agent', 'loose')):
    """Return (shared keys of a session, its models, profile of its first file, Coverage of all)."""
    facts, profiles, total = {}, [], Coverage()
    for source in session.sources:
        if source.role not in roles:
            continue
        one, coverage = analysis.FileAnalysis(), Coverage(source.path)
        if source.role != 'main':
            one.add_agent(source.chain)
        for event in events(adapter, source, coverage):
            one.add(event)
        total.add(coverage)
        facts.update(one.facts)
        profiles.append(one.profile)
    tally = {}
    for fact in facts.values():
        analysis.apply(tally, fact, 1)
    return analysis.shared_keys(tally), analysis.models_of(tally), profiles[0], total


def found_for(adapter, session, expected):
    """Return what was found in a session for each key of an expected.json's entry."""
    keys, models, profile, coverage = numbers(adapter, session)
    found = dict((name, keys.get(name)) for name in expected if name in keys)
    found.update(models=dict((m, row['api_calls']) for m, row in models.items()), title=profile.get('ai-title', ''),
                 project=profile.get('cwd', ''), first_prompt=profile.get('first_prompt', ''), parse_errors=coverage.parse_errors,
                 unknown_records=coverage.unknown_records)
    if 'own' in expected:
        own = numbers(adapter, session, ('main',))[0]
        found['own'] = dict((name, own[name]) for name in expected['own'])
    return found


def added_up(adapter, found):
    """Return {sessions, api_calls, tokens} of all readable sessions of a list."""
    total = {'sessions': 0, 'api_calls': 0, 'tokens': {}}
    for session in found:
        keys, _, _, coverage = numbers(adapter, session)
        total['sessions'] += 1 if coverage.lines - coverage.parse_errors > 0 else 0
        total['api_calls'] += keys['api_calls']
        for bucket, amount in keys['tokens'].items():
            total['tokens'][bucket] = total['tokens'].get(bucket, 0) + amount
    return total


def found_again(adapter, source):
    """Check that each event with text is what events_at() gives for its place; return how many there were."""
    count = 0
    for event in events(adapter, source):
        if event.text:
            again = [one for one in adapter.events_at(source, event.offset, event.length) if one.part == event.part and one.text]
            assert [one._replace(turn=event.turn, line=event.line, label=event.label) for one in again if one.text == event.text] == [event], event
            count += 1
    return count


def asked(home, agent, *args, **env):
    """Return (stats of an agent as a user gets them, what was said on stderr); stats are cut to what added_up() gives."""
    result = run_script('sd-recall', 'stats', '--scope', 'all', '--agent', agent, '--format', 'json', *args, home=home, **env)
    assert result.rc == 0 and 'Traceback' not in result.err, result
    found = result.json()
    return dict((key, found[key]) for key in ('sessions', 'api_calls', 'tokens')), result.err
