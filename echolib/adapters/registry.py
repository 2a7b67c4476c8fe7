"""The list of agents; the one place that names them all."""
import os
from importlib import import_module

from ..base import paths
from ..base.shapes import shape

# One agent. module: its adapter's, of this package; version: raised when the same bytes give other events; folders below
# the home, variables and ours, in our own data folder: where none is there, nothing of this agent can be, and its adapter need
# not be imported; name: what --agent takes and every output prints.
Agent = shape('Agent', 'module version folders variables name ours')


def _agent(module, version, folders=(), variables=(), name=None, ours=()):
    return Agent(module, version, folders, variables, name or module, ours)


# Below the home, where programs keep their settings.
_CONFIG = ('.config/', 'Library/Application Support/')
# Where editors like VS Code keep the data of their extensions, and the extensions of one family.
_EDITORS = tuple(base + host + '/User/globalStorage/' for base in _CONFIG for host in ('Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf')
                 ) + ('.vscode-server/data/User/globalStorage/',)
_CLINES = ('saoudrizwan.claude-dev', 'rooveterinaryinc.roo-cline', 'kilocode.kilo-code')
# Those whose files lie as another's do come before that one: detection asks in this order. What the user named is first.
AGENTS = (
    _agent('universal', 1, variables=('SESSION_DIGGER_UNIVERSAL',), ours=('agents.json', 'dialogs')),
    _agent('zcode', 1, ('.zcode',), ('ZCODE_HOME',)),
    _agent('workbuddy', 1, ('.workbuddy', '.codebuddy', '.codebuddy-cn'), ('WORKBUDDY_DIR', 'CODEBUDDY_CONFIG_DIR')),
    _agent('reasonix', 1, ('.reasonix',), ('REASONIX_STATE_HOME', 'REASONIX_HOME', 'APPDATA')),
    _agent('trae_cn', 1, ('.trae-cn', '.trae') + tuple(base + name for base in _CONFIG for name in ('Trae', 'Trae CN', 'TRAE SOLO CN')),
           ('APPDATA', 'XDG_CONFIG_HOME')),
    _agent('dim', 1, ('.dim', '.dimcode')),
    _agent('qwen', 1, ('.qwen',), ('QWEN_DATA_DIR', 'QWEN_RUNTIME_DIR', 'QWEN_HOME')),
    _agent('cursor', 1, ('.cursor',) + tuple(base + 'Cursor' for base in _CONFIG), ('APPDATA', 'XDG_CONFIG_HOME')),
    _agent('copilot', 1, ('.copilot',), ('COPILOT_HOME',)),
    _agent('cline', 1, ('.cline',) + tuple(editor + name for editor in _EDITORS for name in _CLINES), ('APPDATA', 'XDG_CONFIG_HOME')),
    _agent('pi', 1, ('.pi', '.omp', '.prime'), ('PI_CODING_AGENT_DIR', 'PRIME_AGENT_DIR')),
    _agent('droid', 1, ('.factory',)),
    _agent('amp', 1, ('.local/share/amp',), ('AMP_DATA_DIR', 'XDG_DATA_HOME')),
    _agent('dsh', 1, ('.dsh',), ('DSH_HOME',)),
    _agent('hermes', 1, ('.hermes',), ('HERMES_HOME',)),
    _agent('claude', 5, ('.claude', '.config/claude'), ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME')),
    _agent('grok', 2, ('.grok',), ('GROK_HOME',)),
    _agent('kimi', 2, ('.kimi', '.kimi-code', '.kimix', '.config/kimi-desktop', '.local/share/kimi-desktop',
                       'Library/Application Support/kimi-desktop', 'AppData/Roaming/kimi-desktop'),
           ('KIMI_SHARE_DIR', 'KIMI_CODE_HOME'), 'kimi_code'),
    _agent('codex', 3, ('.codex',), ('CODEX_HOME',)),
    _agent('gemini', 1, ('.gemini',), ('GEMINI_DATA_DIR', 'GEMINI_DIR', 'GEMINI_CLI_HOME')),
    _agent('opencode', 1, ('.local/share/opencode',), ('OPENCODE_DATA_DIR', 'XDG_DATA_HOME', 'OPENCODE_DB')),
)
# Other names that --agent takes.
ALIASES = {'claude-code': 'claude', 'claude_code': 'claude', 'kimi': 'kimi_code', 'trae': 'trae_cn', 'dimcode': 'dim', 'roo': 'cline',
           'roo_code': 'cline', 'kilo_legacy': 'cline', 'omp': 'pi', 'prime': 'pi', 'factory': 'droid'}
# Whose reader takes files of a shape that other programs write as well (see universal_families).
SHAPES = {'claude_envelope': 'claude', 'codex_rollout': 'codex', 'kimi_wire': 'kimi_code', 'google_envelope': 'qwen', 'google_session': 'gemini'}
# Agents that are known to keep sessions but have no adapter: name, folder below the home, the shape of its files where that
# is known (see universal_families).
UNADAPTED = (
    ('mimo', '.mimo', ''), ('qoder', '.qoder/cache/projects', 'claude_envelope'),
    ('qoder_cn', '.qoder-cn', 'claude_envelope'), ('openclaw', '.openclaw-autoclaw/agents', 'tree_message'), ('gstack', '.gstack', ''),
    ('commandcode', '.commandcode', 'claude_envelope'), ('cc_switch', '.cc-switch', ''),
    ('newmax', '.newmax/conversations', ''), ('proma', '.proma/agent-sessions', ''), ('iflow', '.iflow/projects', 'claude_envelope'),
    ('deepcode', '.deepcode/projects', ''), ('kigi', '.kigi/sessions', ''))

_by_name = {}
for _one in AGENTS:
    if _one.name in _by_name:
        raise ValueError('two adapters are called %s' % _one.name)
    _by_name[_one.name] = _one


def get(name):
    """-> the adapter of that name (KeyError when there is none)."""
    return import_module('%s.%s' % (__package__, _by_name[name].module))


def adapters():
    """-> tuple of all adapters, in the registry's order."""
    return tuple(get(agent.name) for agent in AGENTS)


def asked(environ=os.environ, known=()):
    """-> iterator of the adapters that can have something on this machine, and those of the agents named in `known`."""
    home, own = paths.home(), paths.data_dir(environ)
    for agent in AGENTS:
        if (agent.name in known or any(environ.get(name) for name in agent.variables)
                or home and any(_may_be(os.path.join(home, folder)) for folder in agent.folders)
                or own and any(_may_be(os.path.join(own, name)) for name in agent.ours)):
            yield get(agent.name)


def usual_root(name):
    """-> where an agent's folder is when nothing says otherwise; its name where it has no such place."""
    folders = _by_name[name].folders
    return os.path.join(paths.home() or '~', folders[0]) if folders else name


def _may_be(path):
    """False where nothing is at a path; what cannot be looked at may be there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def names():
    """-> list of agent names, in the registry's order."""
    return [agent.name for agent in AGENTS]


def resolve(name):
    """-> the agent name that a user's word means; None for all agents. Raises KeyError for an unknown one."""
    if name in (None, '', 'cross', 'all', 'auto'):
        return None
    name = name.lower()
    name = name if name in _by_name else ALIASES.get(name, name)
    if name not in _by_name:
        raise KeyError(name)
    return name


def version(name):
    """-> the version of an agent's parser: raised when the same bytes give other events."""
    return _by_name[name].version


def versions():
    """-> short text of all parser versions, part of what tells whether an index is up to date."""
    return '-'.join('%s%d' % (agent.name, agent.version) for agent in AGENTS)


def detect(path):
    """-> the adapter whose file `path` looks like, or None."""
    for adapter in adapters():
        if adapter.owns(path):
            return adapter
    return None


def detect_by_shape(path):
    """-> the adapter for a file that none owns but whose records have a known shape, or None."""
    universal = get('universal')
    return universal if universal.fits(path) else None
