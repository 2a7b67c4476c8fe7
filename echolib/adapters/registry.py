"""The list of agents; the one place that names them all."""
from . import claude, codex, copilot, cursor, dim, gemini, grok, kimi, opencode, qwen, reasonix, trae_cn, universal, workbuddy, zcode

# Those whose files lie as another's do come before that one: detection asks in this order. What the user named is first.
ADAPTERS = (universal, zcode, workbuddy, reasonix, trae_cn, dim, qwen, cursor, copilot, claude, grok, kimi, codex, gemini, opencode)
# Other names that --agent takes.
ALIASES = {'claude-code': 'claude', 'claude_code': 'claude', 'kimi': 'kimi_code', 'trae': 'trae_cn', 'dimcode': 'dim'}
# Whose reader takes files of a shape that other programs write as well (see universal_families).
SHAPES = {'claude_envelope': claude, 'codex_rollout': codex, 'kimi_wire': kimi}
# Agents that are known to keep sessions but have no adapter: name, folder below the home, the shape of its files where that
# is known (see universal_families).
UNADAPTED = (
    ('mimo', '.mimo', ''), ('qoder', '.qoder/cache/projects', 'claude_envelope'),
    ('qoder_cn', '.qoder-cn', 'claude_envelope'), ('openclaw', '.openclaw-autoclaw/agents', 'tree_message'), ('gstack', '.gstack', ''),
    ('commandcode', '.commandcode', 'claude_envelope'), ('cc_switch', '.cc-switch', ''),
    ('newmax', '.newmax/conversations', ''), ('proma', '.proma/agent-sessions', ''), ('iflow', '.iflow/projects', 'claude_envelope'),
    ('deepcode', '.deepcode/projects', ''), ('kigi', '.kigi/sessions', ''),
    ('pi', '.pi/agent/sessions', 'tree_message'),
    ('droid', '.factory/sessions', 'tree_message'))

_by_name = {}
for _adapter in ADAPTERS:
    if _adapter.NAME in _by_name:
        raise ValueError('two adapters are called %s' % _adapter.NAME)
    _by_name[_adapter.NAME] = _adapter


def get(name):
    """-> the adapter of that name (KeyError when there is none)."""
    return _by_name[name]


def names():
    """-> list of agent names, in the registry's order."""
    return [adapter.NAME for adapter in ADAPTERS]


def resolve(name):
    """-> the agent name that a user's word means; None for all agents. Raises KeyError for an unknown one."""
    if name in (None, '', 'cross', 'all', 'auto'):
        return None
    name = name.lower()
    name = name if name in _by_name else ALIASES.get(name, name)
    if name not in _by_name:
        raise KeyError(name)
    return name


def versions():
    """-> short text of all parser versions, part of what tells whether an index is up to date."""
    return '-'.join('%s%d' % (adapter.NAME, adapter.PARSER_VERSION) for adapter in ADAPTERS)


def detect(path):
    """-> the adapter whose file `path` looks like, or None."""
    for adapter in ADAPTERS:
        if adapter.owns(path):
            return adapter
    return None


def detect_by_shape(path):
    """-> the adapter for a file that none owns but whose records have a known shape, or None."""
    return universal if universal.fits(path) else None
