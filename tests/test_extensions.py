"""What is installed for Claude Code is found where 2.1.332 has it, and judged by its use."""
import json
import os

import pytest

from echolib.adapters import claude_extensions
from echolib.cli import skill_gap_finder
from recalling import Recall
from story import Story


def put(path, text):
    """Write a file, folders included."""
    if not os.path.isdir(os.path.dirname(path)):
        os.makedirs(os.path.dirname(path))
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text if isinstance(text, str) else json.dumps(text))


def page(description, name='x'):
    return '---\nname: %s\ndescription: %s\n---\n\nBody\n' % (name, description)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """-> (home, project) with one of everything."""
    home, project = str(tmp_path / 'home'), str(tmp_path / 'repo' / 'part')
    claude, cache, live = os.path.join(home, '.claude'), str(tmp_path / 'cache'), str(tmp_path / 'market')
    put(claude + '/skills/mine/SKILL.md', page('>-\n  Does one thing.\n  And more.'))
    put(claude + '/skills/broken/README.md', 'no skill')
    put(claude + '/skills/folded/.claude-plugin/plugin.json', {'name': 'folded'})
    put(claude + '/skills/folded/skills/inner/SKILL.md', page('inner'))
    put(claude + '/commands/ship.md', 'no head')
    put(claude + '/commands/front/part.md', page('a part'))
    put(claude + '/agents/file-name.md', page('"reviews"', 'reviewer'))
    put(home + '/.claude.json', {'mcpServers': {'git hub': {'env': {'TOKEN': 'secret'}}}, 'projects': {project: {'mcpServers': {'local': {}}}, '/x': {'mcpServers': {'no': {}}}}})
    put(claude + '/settings.json', {'enabledPlugins': {'cached@m': True, 'off@m': False}})
    put(claude + '/plugins/installed_plugins.json', {'version': 2, 'plugins': {
        'cached@m': [{'scope': 'user', 'installPath': cache + '/cached'}], 'off@m': [{'installPath': cache + '/off'}],
        'live@d': [{'scope': 'project', 'projectPath': project, 'installPath': cache + '/old'}], 'odd@m': 7, 'lost@m': [{'installPath': '/nowhere'}]}})
    put(claude + '/plugins/known_marketplaces.json', {'d': {'source': {'source': 'directory', 'path': live}}, 'm': {'source': {'source': 'github'}}})
    put(live + '/.claude-plugin/marketplace.json', {'plugins': [{'name': 'live', 'source': './plugins/live'}]})
    put(live + '/plugins/live/skills/fresh/SKILL.md', page('fresh'))
    put(cache + '/old/skills/stale/SKILL.md', page('old'))
    put(cache + '/off/skills/off/SKILL.md', page('off'))
    put(cache + '/cached/.claude-plugin/plugin.json', {'name': 'cached', 'skills': ['./more'], 'mcpServers': {'db': {}}})
    put(cache + '/cached/skills/one/SKILL.md', page('one'))
    put(cache + '/cached/more/two/SKILL.md', page('two'))
    put(cache + '/cached/agents/helper.md', page('helps', 'helper'))
    put(str(tmp_path / 'repo/.git/HEAD'), '')
    put(str(tmp_path / 'repo/.claude/skills/above/SKILL.md'), page('above'))
    put(project + '/.claude/skills/here/SKILL.md', page('here'))
    put(project + '/.mcp.json', {'mcpServers': {'shared': {}}})
    put(str(tmp_path / '.claude/skills/outside/SKILL.md'), page('outside the repository'))
    put(home + '/.agents/skills/common/SKILL.md', page('common'))
    put(str(tmp_path / 'extra/further/SKILL.md'), page('further'))
    for name in ('HOME', 'USERPROFILE'):
        monkeypatch.setenv(name, home)
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME'):
        monkeypatch.delenv(name, raising=False)
    return home, project


def test_everything_is_found(place, tmp_path):
    home, project = place
    found = claude_extensions.installed([project], [str(tmp_path / 'extra')])
    assert sorted((one.kind, one.name, one.source, one.project and 'project') for one in found) == sorted([
        ('skill', 'mine', 'user', ''), ('skill', 'folded:inner', 'plugin', ''), ('command', 'ship', 'user', ''), ('command', 'front:part', 'user', ''),
        ('agent', 'reviewer', 'user', ''), ('server', 'git_hub', 'user', ''), ('server', 'local', 'project', 'project'),
        ('skill', 'live:fresh', 'plugin', 'project'), ('skill', 'cached:one', 'plugin', ''), ('skill', 'cached:two', 'plugin', ''),
        ('agent', 'cached:helper', 'plugin', ''), ('server', 'plugin_cached_db', 'plugin', ''), ('skill', 'above', 'project', 'project'),
        ('skill', 'here', 'project', 'project'), ('server', 'shared', 'project', 'project'), ('skill', 'common', 'other', ''), ('skill', 'further', 'other', '')])
    (mine,) = [one for one in found if one.name == 'mine']
    assert mine.description == 'Does one thing. And more.' and mine.size == len('mineDoes one thing. And more.')
    assert 'secret' not in str(found)


def test_odd_settings_are_passed_over(tmp_path, monkeypatch):
    claude = str(tmp_path / '.claude')
    for name in ('HOME', 'USERPROFILE'):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv('CLAUDE_CONFIG_DIR', raising=False)
    for text in ('', '{', '[]', '7', '[' * 100000, '{"mcpServers": 3, "projects": [1]}', '{"plugins": [], "version": 2}', '{"plugins": {"a": {"installPath": 3}}}'):
        for name in ('.claude.json', '.claude/settings.json', '.claude/plugins/installed_plugins.json', '.claude/plugins/known_marketplaces.json'):
            put(str(tmp_path / name), text)
        assert claude_extensions.installed(['relative', '/no/such']) == []
    put(claude + '/skills/a/SKILL.md', '---\ndescription\nname: [\n\ud7ff')
    assert [one.description for one in claude_extensions.installed()] == ['']


FRONT = {
    'plain': ('---\na: b\nc: "d"\n---\nx: y', {'a': 'b', 'c': 'd'}), 'folded': ('---\na: >-\n  b\n  c: d e\n---', {'a': 'b c: d e'}),
    'continued': ('---\na: b\n  c\n---', {'a': 'b c'}), 'none': ('# Title', {}), 'not closed': ('---\na: b', {'a': 'b'}), 'empty': ('', {}),
    'a mark in front': ('\ufeff---\na: b\n---', {'a': 'b'})}


@pytest.mark.parametrize('name', sorted(FRONT))
def test_front_matter(name):
    assert claude_extensions.front_matter(FRONT[name][0]) == FRONT[name][1]


def test_server_of():
    assert [claude_extensions.server_of(n) for n in ('mcp__a_b__c', 'mcp__x', 'Bash', 'mcp__plugin_p_s__t__u')] == ['a_b', '', '', 'plugin_p_s']


# use

def test_use_is_judged(tmp_path):
    home = Recall(tmp_path)
    claude = os.path.join(home.folder, '.claude')
    for name in ('used', 'idle', 'shaky', 'late'):
        put('%s/skills/%s/SKILL.md' % (claude, name), page('the skill ' + name))
        os.utime('%s/skills/%s/SKILL.md' % (claude, name), (1e9, 2e9 if name == 'late' else 1e9))
    for number in range(12):
        one = Story(home, 's%d' % number, number * 1200).user('part %d' % number)
        one.call('Skill', {'skill': 'used'})
        if number < 6:
            one.call('Skill', {'skill': 'shaky'}, 'it broke', number < 3)
        if number < 2:
            one.call('Skill', {'skill': 'gone:away'}, '<tool_use_error>Unknown skill: gone:away</tool_use_error>', True)
            one.call('Task', {'subagent_type': 'Explore', 'prompt': 'x'}).call('Task', {'subagent_type': 'lawyer', 'prompt': 'x'})
            one.call('mcp__lost__find', {'q': 'x'}).call('Skill', {'skill': 'simplify'})
        one.write()
    got = home.run('installed', '--format', 'json', program=skill_gap_finder).json()
    rows = dict((row['name'], row) for row in got['extensions'])
    assert dict((name, rows[name]['verdict']) for name in rows) == {
        'used': 'used', 'idle': 'unused', 'shaky': 'failing', 'late': 'young', 'gone:away': 'missing', 'lawyer': 'missing', 'lost': 'missing'}
    assert (rows['used']['uses'], rows['used']['sessions'], rows['shaky']['errors'], rows['gone:away']['errors']) == (12, 12, 3, 2)
    assert rows['idle']['reach'] == 12 and rows['idle']['description_chars'] == len('idle' + 'the skill idle')
    assert [place['ref'] for place in rows['lawyer']['evidence']] == ['%s:%d' % (home.sid('s1'), 10), '%s:%d' % (home.sid('s0'), 10)]
    assert got['counts'] == {'missing': 3, 'failing': 1, 'unused': 1, 'stale': 0, 'used': 1, 'young': 1}
    text = home.run('installed', program=skill_gap_finder).out
    assert '0 of 12 sessions since it is there' in text and 'take 18 characters of every context' in text
