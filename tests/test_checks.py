"""doctor SESSION, --checks and --new: thirteen kinds of damage and drift, none in healthy files; what newer clients brought."""
import os
import shutil
import sys

import pytest

from helpers import ROOT, call_script, shared
from small import OTHER, SID, answer, call, result, row, text, user, write

sys.path.insert(0, ROOT)
from echolib import analysis_health, analysis_news
from echolib.adapters import lookup

STRAY = '00000000-0000-4000-8000-00000000dead'


def uuid_of(number):
    return user('', number, 0)['uuid']


def linked(*records):
    """-> the records, each following the one before, as the client writes them."""
    last = None
    for record in records:
        record['parentUuid'], last = last, record['uuid']
    return list(records)


ASK, SAY = user('one', 1, 0), answer([text('a')], 2, 1)
# name -> (records, {code: count}); a healthy session has no finding.
CASES = {
    'healthy': (linked(user('one', 1, 0), answer([call('Bash', {'command': 'ls'})], 2, 1, stop='tool_use'), result('ok', 3, 2), answer([text('a')], 4, 3, 'msg_2')), {}),
    'a kind of record nobody passes over': ([ASK, SAY, row('hologram', 3, 2)], {'schema-drift': 1}),
    'kinds that are bookkeeping': ([ASK, SAY, {'type': 'progress', 'uuid': STRAY, 'data': {'type': 'bash_progress'}}, {'type': 'pr-link', 'prNumber': 1, 'sessionId': SID},
                                    {'type': 'custom-title', 'customTitle': 'x', 'sessionId': SID}, {'type': 'queue-operation', 'operation': 'enqueue', 'sessionId': SID}], {}),
    'a torn line': ([ASK, b'{"type":"user","mess\n', SAY], {'unparseable-lines': 1}),
    'an array, a number': ([ASK, b'[1]\n', b'7\n', SAY], {'unparseable-lines': 2}),
    'nothing but garbage': ([b'\xff\xfe garbage\n'], {'unparseable-lines': 1, 'empty-session': 1}),
    'answers without a prompt': ([SAY], {'no-user-prompt': 1}),
    'a prompt without an answer': ([ASK], {'no-assistant-response': 1}),
    'a prompt at the end': ([ASK, SAY, user('two', 3, 9)], {'unanswered-prompt': 1}),
    'stopped by its person': ([ASK, SAY, user('two', 3, 9), user([text('[Request interrupted by user]')], 4, 10)], {}),
    'a call at the end': ([ASK, answer([call('Bash', {'command': 'ls'})], 2, 1, stop='tool_use')], {'interrupted-response': 1}),
    'a call that was never answered': ([ASK, answer([call('Bash', {'command': 'ls'})], 2, 1, stop='tool_use'), user('two', 3, 5), answer([text('b')], 4, 6, 'msg_2')],
                                       {'unmatched-tool-use': 1}),
    'a call that was stopped': ([ASK, answer([call('Bash', {'command': 'ls'})], 2, 1, stop='tool_use'), user([text('[Request interrupted by user for tool use]')], 3, 5),
                                 user('two', 4, 6), answer([text('b')], 5, 7, 'msg_2')], {}),
    'calls side by side': ([ASK, answer([call('Bash', {'command': 'a'}, 'toolu_a')], 2, 1, stop='tool_use'), answer([call('Bash', {'command': 'b'}, 'toolu_b')], 3, 1, stop='tool_use'),
                            result('ok', 4, 2, 'toolu_b'), result('ok', 5, 3, 'toolu_a'), answer([text('b')], 6, 4, 'msg_2')], {}),
    'a result of nothing': ([ASK, result('ok', 3, 2, 'toolu_none'), SAY], {'orphan-tool-result': 1}),
    'an answer that breaks off': ([ASK, answer([text('a')], 2, 1), user('two', 3, 5), answer([text('b')], 4, 6, 'msg_2', stop=None)], {'interrupted-response': 1}),
    'one id, two rows': ([ASK, SAY, user('other words', 1, 9), answer([text('b')], 4, 10, 'msg_2')], {'duplicate-uuid': 1}),
    'one row, twice': ([ASK, SAY, SAY], {}),
    'a parent that is nowhere': ([ASK, dict(SAY, parentUuid=STRAY)], {'missing-parent': 1}),
    'a title of a row that is nowhere': ([ASK, SAY, {'type': 'summary', 'summary': 'x', 'leafUuid': STRAY}], {'missing-leaf': 1}),
    'a title of a row that is here': ([ASK, SAY, {'type': 'summary', 'summary': 'x', 'leafUuid': uuid_of(2)}], {}),
    'a fork, copies among its own': (linked(user('one', 1, 0, sid=OTHER), answer([text('a')], 2, 1), user('two', 3, 5, sid=OTHER), answer([text('b')], 4, 6, 'msg_2')), {}),
    'two conversations in one file': (linked(user('one', 1, 0), answer([text('a')], 2, 1)) + linked(user('two', 3, 5, sid=OTHER), answer([text('b')], 4, 6, 'msg_2', sid=OTHER)),
                                      {'multiple-session-ids': 1})}


def examine(home, sid=SID, live=False):
    session = lookup.session_at(os.path.join(str(home), '.claude', 'projects', '-home-dev-app', sid + '.jsonl'))
    return analysis_health.check('claude', session.sources, lambda ids: set(ids), live)


@pytest.mark.parametrize('name', sorted(CASES))
def test_each_check(name, tmp_path):
    records, expected = CASES[name]
    write(tmp_path, records)
    assert dict((f.code, f.count) for f in examine(tmp_path)) == expected


def test_every_check_is_tried():
    tried = set(code for _, expected in CASES.values() for code in expected)
    assert tried == set(check.code for check in analysis_health.CHECKS) and len(tried) == 13


def test_a_session_that_goes_on_is_not_unfinished(tmp_path):
    write(tmp_path, [ASK])
    assert examine(tmp_path, live=True) == []


def age(home):
    """Make all files of a home old, so that none of its sessions looks as if it went on."""
    for where, _, names in os.walk(str(home)):
        for name in names:
            path = os.path.join(where, name)
            os.chmod(path, 0o644)
            os.utime(path, (1772000000, 1772000000))


@pytest.mark.slow
@pytest.mark.parametrize('corpus', ['claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332', 'codex-0.171.0', 'gemini-cli-0.61.0', 'grok-1.0.41', 'kimi-cli-1.49.0',
                                    'kimi-code-2.1.0', 'opencode-1.18.33', 'qwen-code-0.15.10', 'reasonix-1.38.11'])
def test_real_files_are_healthy(corpus, tmp_path):
    home = str(tmp_path / 'home')
    shutil.copytree(shared('corpus', corpus, 'home', 'dev'), home)
    age(home)
    data = call_script('sd-recall', 'doctor', '--checks', '--format', 'json', home=home).json()
    assert data['sessions'] >= 10 and data['damaged_sessions'] == 0
    # One session of kimi-cli was ended before the model said anything.
    assert dict((c['code'], c['count']) for c in data['checks'] if c['count']) == ({'no-assistant-response': 1} if corpus == 'kimi-cli-1.49.0' else {})


@pytest.fixture
def home(tmp_path):
    write(tmp_path, CASES['a torn line'][0] + [row('hologram', 3, 2)])
    write(tmp_path, [dict(ASK, version='1.0.128', sessionId=OTHER), dict(SAY, version='1.0.128', sessionId=OTHER)], OTHER)
    write(tmp_path, CASES['nothing but garbage'][0], 'feed0000-0000-4000-8000-000000000000')
    age(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_all_sessions_by_version(home):
    data = call_script('sd-recall', 'doctor', '--checks', '--format', 'json', home=home).json()
    assert (data['sessions'], data['damaged_sessions'], len(data['checks'])) == (2, 2, 13)
    found = dict((c['code'], [(p['version'], p['sessions'], p['count']) for p in c['by_version']]) for c in data['checks'] if c['count'])
    version = ASK['version']
    assert found == {'unparseable-lines': [(version, 1, 1)], 'schema-drift': [(version, 1, 1)], 'empty-session': [(None, 1, 1)]}
    text_ = call_script('sd-recall', 'doctor', '--checks', home=home).out
    assert text_.startswith('2 sessions checked: 2 damaged\nunparseable-lines (damage): 1 in 1 session') and 'nothing found: ' in text_
    rows = call_script('sd-recall', 'doctor', '--checks', '--format', 'tsv', home=home).out.splitlines()
    assert len(rows) == 4 and set(line.count('\t') for line in rows) == {6}


@pytest.mark.slow
def test_one_session(home):
    data = call_script('sd-recall', 'doctor', SID, '--format', 'json', home=home).json()
    assert (data['healthy'], [(c['code'], c['level'], c['places'][0]['line']) for c in data['checks']]) == (
        False, [('unparseable-lines', 'damage', 2), ('schema-drift', 'drift', 4)])
    assert call_script('sd-recall', 'doctor', OTHER, '--format', 'json', home=home).json()['healthy'] is True
    got = call_script('sd-recall', 'doctor', SID, home=home)
    assert got.rc == 0 and 'DAMAGED' in got.out and got.out.endswith('schema %s\n' % SID[:8])
    assert call_script('sd-recall', 'doctor', 'ffffffff', home=home).rc == 1


# what is new

FIELDS = {
    'nothing': ({}, set()), 'flat': ({'a': 1, 'b_c': None}, {'a', 'b_c'}), 'nested': ({'a': {'b': {'c': 1}}}, {'a', 'a.b', 'a.b.c'}),
    'items by type': ({'m': [{'type': 'text', 'text': 'x'}, {'type': 'img'}, 'y']}, {'m', 'm[text]', 'm[text].type', 'm[text].text', 'm[img]', 'm[img].type'}),
    'names that are data': ({'src/app.py': 1, 'ok': {'a b': 1, '': 2}}, {'ok'}), 'input of tools': ({'input': {'file_path': 1}}, {'input'}),
    'a map': ({'m': dict(('k%d' % n, 1) for n in range(200))}, {'m'})}


@pytest.mark.parametrize('name', sorted(FIELDS))
def test_fields_of_a_record(name):
    value, expected = FIELDS[name]
    assert analysis_news.fields(value) == expected


@pytest.mark.slow
def test_what_a_newer_client_brought(tmp_path):
    old = [user('one', 1, 0, version='2.1.9'), answer([text('a')], 2, 1, version='2.1.9')]
    new = [user('one', 1, 0, version='2.1.10', sid=OTHER, mood='sunny', nest={'deep': 1}), answer([text('a')], 2, 1, version='2.1.10', sid=OTHER),
           row('hologram', 3, 2, version='2.1.10', sid=OTHER), dict(row('ai-title', 4, 3, version='2.1.10', sid=OTHER), aiTitle='sk-ant-api03-' + 'a1B2' * 24)]
    write(tmp_path, old)
    write(tmp_path, new, OTHER)
    (one,) = call_script('sd-recall', 'doctor', '--new', '--format', 'json', home=tmp_path).json()['agents']
    assert (one['agent'], one['newest'], one['after'], one['records_before'], one['records_behind']) == ('claude', '2.1.10', '2.1.9', 2, 4)
    assert [(n['what'], n['kind'], n['first_version'], n['count'], n['before'], n['understood'], n['line']) for n in one['new']] == [
        ('hologram', 'record', '2.1.10', 1, 0, False, 3), ('ai-title', 'record', '2.1.10', 1, 0, True, 4),
        ('user: mood', 'field', '2.1.10', 1, 1, True, 1), ('user: nest', 'field', '2.1.10', 1, 1, True, 1)]
    assert [n['example'] for n in one['new']][2:] == ['"sunny"', '{"deep": 1}'] and 'sk-ant' not in str(one)
    got = call_script('sd-recall', 'doctor', '--new', '--after', '2.1.9', home=tmp_path).out
    assert 'hologram (NOT UNDERSTOOD)  first in 2.1.10, 1 time' in got and 'user: mood  first in 2.1.10, 1 time; none of 1 older such records has it' in got
    (one,) = call_script('sd-recall', 'doctor', '--new', '--after', '2.1.10', '--format', 'json', home=tmp_path).json()['agents']
    assert one['new'] == []
    got = call_script('sd-recall', 'doctor', '--new', '--after', '1.0', home=tmp_path)
    assert got.rc == 0 and 'nothing to compare with' in got.out
