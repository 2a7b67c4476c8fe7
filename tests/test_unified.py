"""One interface to every agent: functions made from the protocol, any path to its agent, all folders at once; a new agent.

The home of these tests holds the fixtures of several agents side by side.
"""
import inspect
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import types

import pytest

import echolib
import folding
from echolib import per_agent
from echolib.adapters import Source, registry, unified, universal
from echolib.base import sqlite_ro
from echolib.base.errors import EchoError, UnknownReference
from helpers import FIXTURES, ROOT, environment, run

KINDS = ('list_sessions', 'session_stats', 'extract_messages', 'extract_tools', 'session_path')
AGENTS = ('claude', 'codex', 'grok', 'kimi', 'opencode', 'reasonix', 'workbuddy', 'zcode')
KIMI = '0a000001-0000-4000-8000-000000000001'
KIMI_CODE = 'session_0c000001-0000-4000-8000-00000000c001'
GROK = '0f000001-0000-4000-8000-000000000001'


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A home with the fixtures of several agents, databases made."""
    home = str(tmp_path_factory.mktemp('unified') / 'home')
    os.makedirs(home)
    for agent in AGENTS:
        for name in os.listdir(os.path.join(FIXTURES, agent, 'home')):
            shutil.copytree(os.path.join(FIXTURES, agent, 'home', name), os.path.join(home, name))
    for agent, place in (('zcode', '.zcode/cli/db/db.sqlite'), ('opencode', '.local/share/opencode/opencode.db')):
        path = os.path.join(home, *place.split('/'))
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        db = sqlite3.connect(path)
        with open(os.path.join(FIXTURES, agent, 'db.sql'), encoding='utf-8') as script:
            db.executescript(script.read())
        db.close()
    shutil.copytree(os.path.join(FIXTURES, 'universal', 'logs'), os.path.join(home, 'logs'))
    yield home
    sqlite_ro.let_go()


@pytest.fixture
def home(folder, monkeypatch):
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    for name in list(os.environ):
        if name.startswith(('CLAUDE_', 'CODEX_', 'GROK_', 'KIMI_', 'ZCODE_', 'REASONIX_', 'OPENCODE_', 'XDG_', 'WORKBUDDY_')):
            monkeypatch.delenv(name)
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    monkeypatch.setenv(universal.VARIABLE, os.path.join(folder, 'logs'))
    return folder


# names

def test_every_public_name_is_there():
    names = echolib.__all__
    assert len(names) == len(set(names))
    for name in names:
        made = getattr(echolib, name)
        assert callable(made) and made.__name__ == name and inspect.getdoc(made), name
        assert not name.startswith('_')
    assert set(names) <= set(dir(echolib))


@pytest.mark.parametrize('prefix', ('grok', 'kimi', 'kimi_code', 'codex', 'zcode', 'claude', 'universal'))
def test_five_functions_an_agent(prefix):
    signatures = {'list_sessions': "(cwd=None, limit=20, keyword='')", 'session_stats': '(session)',
                  'extract_messages': '(session, role=None, limit=0, include_thinking=False)',
                  'extract_tools': '(session, tool_filter=None, errors_only=False, limit=0)', 'session_path': '(cwd, session_id)'}
    for kind in KINDS:
        name = '%s_%s' % (prefix, kind)
        assert name in echolib.__all__ and str(inspect.signature(getattr(echolib, name))) == signatures[kind]
        assert getattr(echolib, name) is getattr(echolib, name)


def test_there_is_one_implementation():
    made = [getattr(echolib, '%s_session_stats' % prefix) for prefix in per_agent.prefixes()]
    assert len(set(function.__code__ for function in made)) == 1
    for adapter in registry.adapters():
        for name in getattr(adapter, 'PUBLIC', ()):
            assert getattr(echolib, name).__module__ == 'echolib.adapters.' + adapter.PUBLIC[name]


@pytest.mark.parametrize('name', ['nobody_list_sessions', '_list_sessions', 'list_session', 'cross_list_sessions', 'claude-code_session_stats', '__path'])
def test_other_names_are_not_there(name):
    assert not hasattr(echolib, name)
    with pytest.raises(AttributeError):
        getattr(echolib, name)


def test_the_import_is_cheap():
    code = ('import sys; sys.path.insert(0, %r); import echolib, echolib.base.text\n'
            'print(sorted(name for name in sys.modules if name.startswith("echolib")), "json" in sys.modules)\n'
            'from echolib import *; print(kimi_session_stats.__name__, grok_family_usage_report.__name__)' % ROOT)
    assert run([sys.executable, '-S', '-c', code]).out.splitlines() == [
        "['echolib', 'echolib.base', 'echolib.base.patterns', 'echolib.base.text'] False",
        'kimi_session_stats grok_family_usage_report']


# from a path to its agent

PLACES = [
    ('.claude/projects/-home-dev-shop', 'claude'), ('.codex', 'codex'), ('.codex/history.jsonl', 'codex'), ('.grok/sessions', 'grok'),
    ('.kimi', 'kimi_code'), ('.kimi-code/sessions', 'kimi_code'), ('.zcode/cli/db/db.sqlite', 'zcode'), ('logs/turns.jsonl', 'universal'),
    ('logs', 'universal'), ('nowhere.jsonl', 'unknown'), ('other.jsonl', 'universal'), ('words.jsonl', 'unknown')]


@pytest.mark.parametrize('place, agent', PLACES)
def test_agent_of_a_path(home, place, agent):
    with open(os.path.join(home, 'other.jsonl'), 'w', encoding='utf-8') as out:
        out.write('{"role":"user","content":"grok and codex, claude"}\n{"role":"assistant","content":"b"}\n')
    with open(os.path.join(home, 'words.jsonl'), 'w', encoding='utf-8') as out:
        out.write('{"note":"type user message claude sessionId"}\n{"note":"grok"}\n')
    try:
        assert echolib.dispatch_resolve_agent(os.path.join(home, *place.split('/'))) == agent
    finally:
        for name in ('other.jsonl', 'words.jsonl'):
            os.remove(os.path.join(home, name))


def test_agent_of_every_listed_session(home):
    rows = echolib.cross_tool_list_sessions(0)
    assert set(row['agent'] for row in rows) == set(('claude', 'codex', 'grok', 'kimi_code', 'opencode', 'reasonix', 'workbuddy', 'zcode', 'universal'))
    for row in rows:
        assert echolib.dispatch_resolve_agent(row['full_path']) == row['agent'], row['full_path']


# lists

def test_sessions_of_all_agents_newest_first(home):
    rows = echolib.cross_tool_list_sessions(0)
    for key in ('agent', 'session_id', 'created', 'summary', 'first_prompt', 'msg_count', 'full_path'):
        assert all(key in row for row in rows), key
    times = [row['modified'] for row in rows if row['modified'] <= '2026-12']
    assert times == sorted(times, reverse=True) and len(times) > 30
    assert echolib.cross_tool_list_sessions(5) == rows[:5] and echolib.cross_tool_list_sessions() == rows[:50]
    for agent in ('grok', 'zcode'):
        assert echolib.cross_tool_list_sessions(0, agent_filter=agent) == [row for row in rows if row['agent'] == agent]
    assert echolib.cross_tool_list_sessions(0, agent_filter='kimi') == echolib.kimi_code_list_sessions(limit=0) == echolib.kimi_list_sessions(limit=0)
    with pytest.raises(KeyError):
        echolib.cross_tool_list_sessions(agent_filter='nobody')


def test_keyword_and_directory(home):
    found = echolib.cross_tool_list_sessions(0, 'okapi')
    # The needle stands in a prompt of one session, and in spilled output of another, which is not searched here.
    assert [row['session_id'] for row in found] == ['chat-with-tools-0001']
    assert [row['session_id'] for row in echolib.universal_list_sessions(keyword='harbour')] == ['acp-1']
    assert echolib.universal_list_sessions(keyword='MAP OF THE harb') == []
    assert [row['session_id'] for row in echolib.universal_list_sessions(keyword='"map of the harbour')] == ['acp-1']
    assert set(row['project_path'] for row in echolib.grok_list_sessions('/home/dev/app')) == {'/home/dev/app'}
    assert echolib.grok_list_sessions('/home/dev') == [] and len(echolib.grok_list_sessions(limit=2)) == 2
    assert echolib.codex_list_sessions(keyword='no such words at all') == []


# one session

def by_path(prefix, agent):
    return next(row for row in echolib.cross_tool_list_sessions(0) if row['agent'] == agent and row['msg_count'] > 2
                and echolib.cross_tool_session_stats(row['full_path'])['api_calls'])


@pytest.mark.parametrize('prefix, agent', [('claude', 'claude'), ('codex', 'codex'), ('grok', 'grok'), ('kimi', 'kimi_code'), ('zcode', 'zcode'),
                                           ('universal', 'universal'), ('opencode', 'opencode'), ('reasonix', 'reasonix')])
def test_a_session_by_path_folder_and_id(home, prefix, agent):
    row = by_path(prefix, agent)
    functions = dict((kind, getattr(echolib, '%s_%s' % (prefix, kind))) for kind in KINDS)
    path = functions['session_path'](None, row['session_id'])
    # A folder of its own, or the very file.
    assert path == row['full_path'] or os.path.isdir(path) and os.path.basename(path) == row['session_id'] and row['full_path'].startswith(path)
    assert functions['session_path'](row['project_path'] or None, row['session_id']) == path
    whole = functions['session_stats'](row['full_path'])
    assert whole['session_id'] == row['session_id'] and whole['agent'] == agent and whole['api_calls'] > 0
    for given in (path, row['session_id'], unified.session_of(path, agent)):
        assert functions['session_stats'](given) == whole
    assert echolib.cross_tool_session_stats(row['full_path']) == echolib.cross_tool_session_stats(path) == whole
    assert echolib.cross_tool_session_stats(row['session_id']) == whole
    plain = dict(whole)
    plain.pop('client', None)
    assert echolib.session_stats(row['full_path']) == plain
    messages = functions['extract_messages'](path)
    assert messages == list(echolib.extract_messages(row['full_path'])) and messages
    assert functions['extract_messages'](row['session_id'], 'user', 1) == [m for m in messages if m['role'] == 'user'][:1]
    tools = functions['extract_tools'](path)
    timed = [dict((key, value) for key, value in tool.items() if key != 'duration_ms') for tool in tools]
    assert timed == list(echolib.extract_tools(row['full_path']))
    assert functions['extract_tools'](path, errors_only=True) == [tool for tool in tools if tool['status'] == 'error']


def test_what_names_no_session(home):
    with pytest.raises(OSError):
        echolib.cross_tool_session_stats(os.path.join(home, 'nowhere', 'x.jsonl'))
    with pytest.raises(UnknownReference):
        echolib.kimi_session_stats('0a0b0c0d-0000-4000-8000-000000000000')
    with pytest.raises(EchoError):
        echolib.cross_tool_session_stats(os.path.join(home, '.codex'))
    with pytest.raises(EchoError):
        echolib.grok_session_stats(os.path.join(home, 'logs', 'day'))
    for prefix in ('grok', 'kimi', 'zcode', 'codex', 'universal'):
        path_of = getattr(echolib, prefix + '_session_path')
        assert path_of(None, '../x') == path_of(None, '') == path_of('/home/dev', 'x' * 300) == ''


def test_a_session_that_ran_elsewhere_is_passed_over(home):
    assert echolib.grok_session_path('/home/dev/app', GROK) == echolib.grok_session_path('/home/dev/app/', GROK) == os.path.join(
        home, '.grok', 'sessions', '%2Fhome%2Fdev%2Fapp', GROK)
    assert echolib.grok_session_path('/home/dev/other', GROK) == ''


@pytest.mark.parametrize('sid', [KIMI, KIMI_CODE])
def test_a_session_folder_that_was_copied_elsewhere(home, tmp_path, sid):
    whole = echolib.kimi_session_path(None, sid)
    target = str(tmp_path / sid)
    shutil.copytree(whole, target)
    assert os.path.isdir(whole) and len(echolib.kimi_extract_messages(target)) == len(echolib.kimi_extract_messages(whole)) > 0


def test_what_an_agent_alone_has(home):
    folder = echolib.grok_session_path(None, GROK)
    stats = echolib.grok_session_stats(folder)
    assert stats['client']['turns'] == 3 and 'client' not in echolib.codex_session_stats(by_path('codex', 'codex')['full_path'])
    assert echolib.grok_family_usage_report(folder)['session_id'] == GROK
    assert set(echolib.grok_aggregate_model_usage()) == set(echolib.grok_aggregate_model_usage('raw'))
    assert echolib.zcode_aggregate_model_usage()


def test_time_that_tools_took(home, tmp_path):
    target = str(tmp_path / GROK)
    shutil.copytree(echolib.grok_session_path(None, GROK), target)
    tools = echolib.grok_extract_tools(target)
    call = tools[0]['id']
    with open(os.path.join(target, 'events.jsonl'), 'w', encoding='utf-8') as out:
        for source, value in (('agent', 1200), ('workspace', 7), ('agent', 'x')):
            out.write(json.dumps({'type': 'tool_completed', 'tool_call_id': call.rsplit(':', 1)[-1], 'source': source, 'duration_ms': value}) + '\n')
    found = echolib.grok_extract_tools(target)
    assert [tool.pop('duration_ms', None) for tool in found] == [1200] + [None] * (len(tools) - 1) and found == tools


# cache hit rates

def test_rates():
    stats = {'input_tokens': 60, 'cache_read_tokens': 30, 'cache_write_tokens': 10,
             'model_usage': {'a': {'input_tokens': 5, 'cache_read_tokens': 15}, 'b': {'input_tokens': 0}, 'c': None},
             'models': {'a': {'tokens': {'input': 1, 'cache_read': 3, 'cache_write_5m': 0, 'cache_write_1h': 4}}}}
    assert echolib.attach_cache_hit_rates(stats) is stats
    assert stats['cache_hit_rate'] == 0.3
    assert [stats['model_usage'][name]['cache_hit_rate'] for name in 'ab'] == [0.75, None]
    assert stats['models']['a']['cache_hit_rate'] == 0.375
    # The cached part is in the input: 7000 of 10000.
    both = {'input_tokens': 10000, 'cache_read_tokens': 7000, 'model_usage': {'m': {'input_tokens': 100, 'cache_read_tokens': 50}}}
    assert echolib.attach_cache_hit_rates(dict(both), True)['cache_hit_rate'] == 0.7 and both['model_usage']['m']['cache_hit_rate'] == 0.5
    assert echolib.attach_cache_hit_rates({'input_tokens': 10, 'cache_read_tokens': 5, 'input_includes_cache': True})['cache_hit_rate'] == 0.5
    for odd in ({}, {'input_tokens': None}, {'input_tokens': 'x', 'cache_read_tokens': True}, {'tokens': {}}):
        assert echolib.attach_cache_hit_rates(dict(odd)).get('cache_hit_rate') is None


def test_rates_of_real_stats(home):
    stats = echolib.grok_session_stats(echolib.grok_session_path(None, GROK))
    rate, legs = stats['cache_hit_rate'], dict((m, leg['cache_hit_rate']) for m, leg in stats['model_usage'].items())
    echolib.attach_cache_hit_rates(stats)
    assert stats['cache_hit_rate'] == rate and dict((m, leg['cache_hit_rate']) for m, leg in stats['model_usage'].items()) == legs
    report = echolib.grok_family_usage_report(echolib.grok_session_path(None, GROK))['main']
    assert echolib.attach_cache_hit_rates(dict(report), True)['cache_hit_rate'] == report['cache_hit_rate']


# all folders at once

def adapter_of(name, roots=None, discover=None):
    """Return something that looks like an adapter."""
    made = types.ModuleType(name)
    made.NAME, made.STORES = name, ()
    made.roots = roots or (lambda: ['/'])
    made.discover = discover or (lambda root, problems: iter(()))
    return made


def test_status_of_every_environment(home):
    rows = echolib.scan_all_environments_parallel()
    status = dict(((row['agent'], os.path.relpath(row['root'], home)), row['status']) for row in rows)
    for agent, place in (('claude', '.claude'), ('codex', '.codex'), ('grok', '.grok'), ('kimi_code', '.kimi'), ('kimi_code', '.kimi-code'),
                         ('zcode', '.zcode'), ('opencode', os.path.join('.local', 'share', 'opencode')), ('universal', 'logs')):
        assert status[agent, place] == 'ok', agent
    assert status['claude', os.path.join('.config', 'claude')] == 'missing'
    assert set(row['agent'] for row in rows) >= set(registry.names())
    listed = dict((agent, len([row for row in echolib.cross_tool_list_sessions(0) if row['agent'] == agent])) for agent in ('grok', 'zcode'))
    for agent in listed:
        assert sum(row['sessions'] for row in rows if row['agent'] == agent) >= listed[agent] > 0
    again = echolib.scan_all_environments_parallel()
    assert [dict(row, seconds=0) for row in again] == [dict(row, seconds=0) for row in rows]
    # Databases that were asked in threads are asked here as well.
    assert echolib.zcode_list_sessions() and echolib.zcode_aggregate_model_usage()


def test_a_home_without_agents(tmp_path, monkeypatch):
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    (tmp_path / '.iflow' / 'projects').mkdir(parents=True)
    rows = echolib.scan_all_environments_parallel()
    assert set(row['agent'] for row in rows) == set(registry.names()) | set(('iflow',))
    assert set(row['status'] for row in rows if row['agent'] != 'iflow') == {'missing'}
    (odd,) = [row for row in rows if row['agent'] == 'iflow']
    assert odd['status'] == 'unadapted' and odd['found'] and 'claude_envelope' in odd['reason']


def test_one_that_fails_or_hangs_hides_no_other(monkeypatch):
    release = threading.Event()

    def hangs(root, problems):
        release.wait(20)
        return iter(())

    def fails(root, problems):
        raise RuntimeError('boom')

    def denied(root, problems):
        problems.append((root, 'Permission denied'))
        yield from ()

    def fine(root, problems):
        from echolib.adapters import Session
        yield Session('fine', root, 's', '', (Source('/s', 'main', '', 's', 5, 0),))

    def no_roots():
        raise OSError('no home')
    listed = (
        adapter_of('slow', lambda: release.wait(20) and []), adapter_of('hangs', None, hangs), adapter_of('fails', None, fails),
        adapter_of('lost', no_roots), adapter_of('denied', None, denied), adapter_of('none', lambda: []),
        adapter_of('gone', lambda: ['/no/such/folder']), adapter_of('fine', None, fine))
    monkeypatch.setattr(registry, 'adapters', lambda: listed)
    monkeypatch.setattr(registry, 'UNADAPTED', ())
    began = time.monotonic()
    try:
        rows = echolib.scan_all_environments_parallel(0.5)
    finally:
        release.set()
    assert time.monotonic() - began < 5
    assert [(row['agent'], row['status']) for row in rows] == [
        ('slow', 'hanging'), ('hangs', 'hanging'), ('fails', 'failed'), ('lost', 'failed'), ('denied', 'unreadable'), ('none', 'missing'),
        ('gone', 'missing'), ('fine', 'ok')]
    reasons = dict((row['agent'], row['reason']) for row in rows)
    assert 'boom' in reasons['fails'] and 'no home' in reasons['lost'] and 'Permission denied' in reasons['denied'] and '0.5 s' in reasons['hangs']
    assert rows[-1]['sessions'] == 1 and rows[-1]['bytes'] == 5


def test_all_are_asked_at_once(monkeypatch):
    # Each waits until every other one has begun: one after the other none would ever end.
    meeting = threading.Barrier(6)

    def meets(root, problems):
        meeting.wait(20)
        return iter(())
    listed = tuple(adapter_of('a%d' % n, None, meets) for n in range(6))
    monkeypatch.setattr(registry, 'adapters', lambda: listed)
    monkeypatch.setattr(registry, 'UNADAPTED', ())
    assert [row['status'] for row in echolib.scan_all_environments_parallel(20)] == ['empty'] * 6


# a new agent

TOY = '''"""Toy: one JSON list of [who, words] a session."""
import json
import os

from ..base import paths
from ..events import PROMPT, REPLY, TYPED, USAGE, Event, Usage
from . import Session, Source, Store

NAME = 'toy'
GROWS = False
CLEANED = False
STORES = (Store('toy.json.v1', 'talks/<session>.toy', True, 'a session'),)


def roots(environ=os.environ):
    return [os.path.join(paths.home(), '.toy')]


def owns(path):
    return path.endswith('.toy')


def scan(root, problems):
    try:
        names = sorted(os.listdir(os.path.join(root, 'talks')))
    except OSError as error:
        problems.append((root, error.strerror))
        return
    for name in names:
        path = os.path.join(root, 'talks', name)
        stat = os.stat(path)
        yield path, stat.st_size, stat.st_mtime_ns, 'main', '', name[:-4], ''


def discover(root, problems):
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        yield Session(NAME, root, session, folder, (Source(path, role, chain, session, size, mtime),))


def session_at(path):
    sid = os.path.basename(path)[:-4]
    return Session(NAME, '', sid, '', (Source(path, 'main', '', sid, 0, 0),))


def head(path, also=()):
    return {'session': os.path.basename(path)[:-4]}


def read(source, coverage, offset=0, line=0, state=None):
    with open(source.path, encoding='utf-8') as handle:
        said = json.load(handle)
    for number, (who, words) in enumerate(said):
        coverage.lines += 1
        coverage.offset = coverage.line = number + 1
        yield _events(source, number, who, words)


def _events(source, number, who, words):
    ident = '%s/%d' % (source.session, number)
    place = (number + 1, number, 0)
    if who == 'me':
        return [Event(PROMPT, TYPED, 1772355600000 + number, '', 0, ident, None, words, None, *(place + (0,)))]
    spent = Usage('toy-1', 10, 5, 0, 0, 0, 1, 0, '', '', '', 0, 0, '')
    return [Event(REPLY, '', 1772355600000 + number, '', 0, ident, ident, words, None, *(place + (0,))),
            Event(USAGE, '', 1772355600000 + number, '', 0, ident, ident, '', spent, *(place + (1,)))]


def events_at(source, offset, length, state=None):
    with open(source.path, encoding='utf-8') as handle:
        return _events(source, offset, *json.load(handle)[offset])


def spill_path(source, named):
    return ''


def spill_text(path, limit=0):
    return ''


def side_files(path):
    return []


def resume(session_id, project):
    return ['toy', session_id]


def billed(session):
    return None
'''


@pytest.mark.slow
def test_an_agent_is_one_file_and_its_registration(tmp_path):
    copy = str(tmp_path / 'plugin')
    for name in ('echolib', 'scripts'):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(copy, name), ignore=shutil.ignore_patterns('__pycache__'))
    with open(os.path.join(copy, 'echolib', 'adapters', 'toy.py'), 'w', encoding='utf-8') as out:
        out.write(TOY)
    listed = os.path.join(copy, 'echolib', 'adapters', 'registry.py')
    with open(listed, encoding='utf-8') as lines:
        text = lines.read()
    text = text.replace('\nAGENTS = (\n', "\nAGENTS = (\n    _agent('toy', 1, ('.toy',)),\n", 1)
    with open(listed, 'w', encoding='utf-8') as out:
        out.write(text)
    home = tmp_path / 'home'
    (home / '.toy' / 'talks').mkdir(parents=True)
    for sid, words in (('first', 'where is the quokka'), ('second', 'somewhere else')):
        with open(str(home / '.toy' / 'talks' / (sid + '.toy')), 'w', encoding='utf-8') as out:
            json.dump([['me', words], ['it', 'behind the shed'], ['me', 'thanks']], out)
    before = folding.photograph(home)

    def script(name, *args):
        process = subprocess.Popen([sys.executable, os.path.join(copy, 'scripts', name + '.py')] + list(args), env=environment(home),
                                   cwd=str(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return out
    rows = json.loads(script('sd-recall', 'sessions', '--agent', 'toy', '--format', 'json'))['sessions']
    assert [(row['session_id'], row['agent'], row['first_prompt']) for row in rows] == [
        ('first', 'toy', 'where is the quokka'), ('second', 'toy', 'somewhere else')]
    stats = json.loads(script('sd-recall', 'stats', '--format', 'json'))
    assert (stats['user_prompts'], stats['api_calls'], stats['tokens']['output'], list(stats['by_agent'])) == (4, 2, 10, ['toy'])
    assert [hit['session_id'] for hit in json.loads(script('sd-recall', 'search', 'quokka', '--format', 'json'))['hits']] == ['first']
    assert 'behind the shed' in script('sd-recall', 'show', 'first') and 'toy second' in script('sd-recall', 'resume', 'second')
    assert 'behind the shed' in script('sd-recall', 'export', 'first')
    assert any(row.split('\t')[:2] == ['toy', str(home / '.toy')] for row in script('sd-recall', 'environments', '--format', 'tsv').splitlines())
    assert 'toy' in script('trend-engine', 'usage', '--by', 'agent')
    (found,) = json.loads(script('format-detector', str(home / '.toy' / 'talks' / 'first.toy'), '--format', 'json'))['files']
    assert (found['format'], found['agent'], found['confidence'], found['read']) == ('toy.json.v1', 'toy', 'high', True)
    code = ('import sys; sys.path.insert(0, %r); import echolib\n'
            'print([row["text"] for row in echolib.toy_extract_messages("first", "user")], echolib.toy_session_stats("second")["agent"],\n'
            '      len(echolib.toy_list_sessions()), "toy_session_path" in echolib.__all__)' % copy)
    assert run([sys.executable, '-c', code], home=home).out == "['where is the quokka', 'thanks'] toy 2 True\n"
    assert folding.photograph(home) == before
