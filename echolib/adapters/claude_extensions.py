"""What is installed for Claude Code to use: skills, slash commands, agents, MCP servers; of the user, of projects, of plugins.

Only names, descriptions and dates are read. Of the MCP settings nothing but the servers' names is kept: the rest may hold
keys. Checked with 2.1.332.
"""
import os
import re
from collections import namedtuple

from ..base.files import is_dir, open_regular, read_json
from . import registry
from .claude import NAME as AGENT
from .claude import roots

# kind: skill, command, agent, server; name: as it is called (plugin:name for a plugin's); source: user, project, plugin, other;
# path: its file ('' for a server); project: the directory it holds for, '' everywhere; size: characters of name and
# description, which every context carries; changed: ms.
Extension = namedtuple('Extension', 'kind name source path description project size changed')

# Agents that the client brings.
BUILT_IN_AGENTS = frozenset('general-purpose explore plan statusline-setup output-style-setup claude-code-guide claude fork worker '
                            'workflow-subagent'.split())
_HEAD = 1 << 16
_SETTINGS = 64 << 20
_MOST_PROJECTS = 500
_ODD = re.compile('[^A-Za-z0-9_-]')


def installed(projects=(), skill_folders=()):
    """-> list of Extensions. projects: directories whose own are wanted; skill_folders: further folders of skills."""
    found = []
    home = os.path.expanduser('~')
    for root in roots():
        _of_folder(found, root, 'user', '', '')
        settings = read_json(os.path.join(root, 'settings.json'), _SETTINGS)
        _of_plugins(found, root, settings if type(settings) is dict else {})
        for path in (os.path.join(root, '.claude.json'), os.path.join(os.path.dirname(root), '.claude.json')):
            _servers_of_user(found, read_json(path, _SETTINGS), set(projects))
    # Other programs' skills, and those that several share.
    others = [os.path.join(root, 'skills') for name in registry.names() if name != AGENT for root in registry.get(name).roots()]
    for folder in others + [os.path.join(home, '.agents', 'skills')] + list(skill_folders):
        _skills(found, folder, 'other', '', '')
    for project in sorted(projects)[:_MOST_PROJECTS]:
        for folder in _upwards(project, home):
            _of_folder(found, os.path.join(folder, '.claude'), 'project', '', project)
            _servers(found, read_json(os.path.join(folder, '.mcp.json'), _SETTINGS), 'project', '', project)
    return _each_once(found)


def server_of(tool):
    """-> the MCP server of a tool's name (mcp__server__tool), '' for another tool."""
    parts = tool.split('__')
    return parts[1] if len(parts) > 2 and parts[0] == 'mcp' else ''


def front_matter(text):
    """-> {key: text} of a Markdown file's head; a value that goes on over several lines is joined with blanks."""
    lines = text.lstrip('\ufeff').splitlines()
    if not lines or lines[0].strip() != '---':
        return {}
    out, key = {}, None
    for line in lines[1:]:
        if line.strip() in ('---', '...'):
            break
        found = re.match(r'([A-Za-z][\w-]*)\s*:(?:\s+(.*))?$', line)
        if found:
            key = found.group(1)
            out[key] = (found.group(2) or '').strip()
        elif key and line.strip():
            # What stood behind the colon was a mark of YAML (> or |), or the first line.
            out[key] = ('' if re.match(r'[>|][+-]?$', out[key]) else out[key] + ' ') + line.strip()
    return dict((name, value.strip().strip('"\'')) for name, value in out.items())


def _each_once(found):
    seen, out = set(), []
    for one in found:
        key = (one.kind, one.name, os.path.realpath(one.path) if one.path else '', one.project if not one.path else '')
        if key not in seen:
            seen.add(key)
            out.append(one)
    return out


def _upwards(project, home):
    """Yield a project's directory and those above it up to its repository's top."""
    folder = project
    for _ in range(20):
        if not os.path.isabs(folder) or folder == home or not is_dir(folder):
            return
        yield folder
        above = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, '.git')) or above == folder:
            return
        folder = above


def _of_folder(found, folder, source, plugin, project):
    _skills(found, os.path.join(folder, 'skills'), source, plugin, project)
    _pages(found, os.path.join(folder, 'commands'), 'command', source, plugin, project)
    _pages(found, os.path.join(folder, 'agents'), 'agent', source, plugin, project)


def _names(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        # Most of the places do not exist.
        return []


def _skills(found, folder, source, plugin, project):
    for name in _names(folder):
        below = os.path.join(folder, name)
        if not plugin and os.path.isfile(os.path.join(below, '.claude-plugin', 'plugin.json')):
            _plugin(found, below, name, project)
        else:
            _page(found, os.path.join(below, 'SKILL.md'), 'skill', name, source, plugin, project)


def _pages(found, folder, kind, source, plugin, project, before=''):
    for name in _names(folder):
        path = os.path.join(folder, name)
        if name.endswith('.md'):
            _page(found, path, kind, before + name[:-3], source, plugin, project)
        elif before.count(':') < 3 and is_dir(path) and not os.path.islink(path):
            _pages(found, path, kind, source, plugin, project, before + name + ':')


def _page(found, path, kind, name, source, plugin, project):
    try:
        with open_regular(path) as handle:
            text = handle.read(_HEAD).decode('utf-8', 'replace')
            changed = int(os.fstat(handle.fileno()).st_mtime * 1000)
    except OSError:
        # A folder without the page, or one that may not be read, offers nothing.
        return
    head = front_matter(text)
    if kind == 'agent':
        # An agent goes by the name in its head.
        name = head.get('name') or name
    told = ' '.join(part for part in (head.get('description', ''), head.get('when_to_use', '')) if part)
    name = '%s:%s' % (plugin, name) if plugin else name
    found.append(Extension(kind, name, 'plugin' if plugin else source, path, told, project, len(name) + len(told), changed))


def _servers(found, settings, source, plugin, project):
    named = settings.get('mcpServers') if type(settings) is dict else None
    for name in sorted(named) if type(named) is dict else ():
        full = _ODD.sub('_', 'plugin_%s_%s' % (plugin, name) if plugin else name)
        found.append(Extension('server', full, 'plugin' if plugin else source, '', '', project, 0, None))


def _servers_of_user(found, settings, projects):
    _servers(found, settings, 'user', '', '')
    by_project = settings.get('projects') if type(settings) is dict else None
    for project in sorted(by_project) if type(by_project) is dict else ():
        if project in projects:
            _servers(found, by_project[project], 'project', '', project)


def _of_plugins(found, root, settings):
    state = read_json(os.path.join(root, 'plugins', 'installed_plugins.json'), _SETTINGS)
    plugins = state.get('plugins') if type(state) is dict else None
    enabled = settings.get('enabledPlugins')
    markets = read_json(os.path.join(root, 'plugins', 'known_marketplaces.json'), _SETTINGS)
    for key in sorted(plugins) if type(plugins) is dict else ():
        if type(enabled) is dict and enabled.get(key) is False:
            continue
        name, _, market = key.partition('@')
        for one in plugins[key] if type(plugins[key]) is list else [plugins[key]]:
            if type(one) is not dict:
                continue
            project = one.get('projectPath')
            folder = _live(markets, market, name) or one.get('installPath')
            if type(folder) is str and is_dir(folder):
                _plugin(found, folder, name, project if type(project) is str else '')


def _live(markets, market, name):
    """-> the folder a plugin of a directory marketplace is read from, None for one that is read from the cache."""
    known = markets.get(market) if type(markets) is dict else None
    source = known.get('source') if type(known) is dict else None
    top = source.get('path') if type(source) is dict and source.get('source') == 'directory' else None
    listed = read_json(os.path.join(top, '.claude-plugin', 'marketplace.json'), _SETTINGS) if type(top) is str else None
    for plugin in listed.get('plugins') or () if type(listed) is dict else ():
        if type(plugin) is dict and plugin.get('name') == name and type(plugin.get('source')) is str:
            folder = os.path.normpath(os.path.join(top, plugin['source']))
            return folder if is_dir(folder) else None
    return None


def _plugin(found, folder, name, project):
    manifest = read_json(os.path.join(folder, '.claude-plugin', 'plugin.json'), _SETTINGS)
    manifest = manifest if type(manifest) is dict else {}
    name = manifest['name'] if type(manifest.get('name')) is str else name
    _of_folder(found, folder, 'plugin', name, project)
    if os.path.isfile(os.path.join(folder, 'SKILL.md')):
        _page(found, os.path.join(folder, 'SKILL.md'), 'skill', os.path.basename(folder), 'plugin', name, project)
    for field, read in (('skills', _skills), ('commands', None), ('agents', None)):
        more = manifest.get(field)
        for one in more if type(more) is list else [more]:
            path = os.path.normpath(os.path.join(folder, one)) if type(one) is str else ''
            if path and is_dir(path):
                if read:
                    read(found, path, 'plugin', name, project)
                else:
                    _pages(found, path, field[:-1], 'plugin', name, project)
            elif path.endswith('.md'):
                _page(found, path, field.rstrip('s'), os.path.basename(path)[:-3], 'plugin', name, project)
    servers = manifest.get('mcpServers')
    _servers(found, {'mcpServers': servers} if type(servers) is dict else read_json(os.path.join(folder, servers), _SETTINGS) if type(servers) is str else None,
             'plugin', name, project)
    _servers(found, read_json(os.path.join(folder, '.mcp.json'), _SETTINGS), 'plugin', name, project)
