"""The list of agents: an adapter is imported where something of its agent can be, and never passed over there."""
import os
import sys

import pytest

from helpers import ROOT, run
from echolib.adapters import registry


class Environment(dict):
    """Variables, and which of them were asked for."""

    def __init__(self, *args):
        dict.__init__(self, *args)
        self.wanted = set()

    def get(self, name, default=None):
        self.wanted.add(name)
        return dict.get(self, name, default)

    def __getitem__(self, name):
        self.wanted.add(name)
        return dict.__getitem__(self, name)

    def __contains__(self, name):
        self.wanted.add(name)
        return dict.__contains__(self, name)


def asked(environ, *known):
    return [adapter.NAME for adapter in registry.asked(environ, known)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in [n for n in os.environ if n.startswith('XDG_') or n in sum((a.variables for a in registry.AGENTS), ())]:
        monkeypatch.delenv(name)
    return tmp_path


def test_names_are_those_of_the_adapters():
    assert [adapter.NAME for adapter in registry.adapters()] == registry.names() == [agent.name for agent in registry.AGENTS]
    assert len(set(registry.names())) == len(registry.names())
    assert set(registry.SHAPES.values()) < set(registry.names()) and set(registry.ALIASES.values()) < set(registry.names())


def test_nothing_there_nothing_asked(home):
    assert asked({}) == []
    # Where the index knows some of an agent, it is asked about what became of it.
    assert asked({}, 'codex') == ['codex']


@pytest.mark.parametrize('ours', ['agents.json', 'dialogs'])
def test_what_lies_in_our_own_folder_is_enough(home, ours):
    (home / '.claude' / '.session-digger' / ours).mkdir(parents=True)
    assert 'universal' in asked({})
    assert asked({'SESSION_DIGGER_DATA_DIR': str(home / 'elsewhere')}) == ['claude']
    assert 'universal' in asked({'SESSION_DIGGER_DATA_DIR': str(home / 'elsewhere'), 'SESSION_DIGGER_UNIVERSAL': str(home)})


@pytest.mark.parametrize('agent', [agent for agent in registry.AGENTS if agent.folders], ids=lambda agent: agent.name)
def test_each_root_alone_is_enough(home, agent):
    adapter = registry.get(agent.name)
    assert agent.name not in asked({})
    environ = Environment()
    roots = adapter.roots(environ)
    assert roots
    for root in roots:
        # What else lies in a folder that programs share says whose it is.
        os.makedirs(os.path.join(root, *sorted(getattr(adapter, 'EXTENSIONS', ()))[-1:]))
        assert agent.name in asked({}), root
        top = os.path.join(str(home), os.path.relpath(root, str(home)).split(os.sep)[0])
        os.rename(top, str(home.parent / ('away-%d' % len(os.listdir(str(home.parent))))))
        assert agent.name not in asked({}), root
    for name in environ.wanted - {'HOME', 'USERPROFILE'}:
        assert agent.name in asked({name: str(home / 'elsewhere')}), name


@pytest.mark.skipif(os.name == 'nt', reason='links')
def test_what_cannot_be_looked_at_may_be_there(home):
    os.symlink('/no/such/place', str(home / '.codex'))
    assert 'codex' in asked({})


def test_a_search_imports_no_adapter_without_need(tmp_path):
    (tmp_path / '.claude' / 'projects').mkdir(parents=True)
    code = ('import sys; sys.path.insert(0, %r); from echolib.cli import sd_recall; sd_recall.main(["search", "x"])\n'
            'print(sorted(n.rpartition(".")[2] for n in sys.modules if n.startswith("echolib.adapters.")))' % ROOT)
    assert run([sys.executable, '-c', code], home=tmp_path).out.splitlines()[-1] == "['claude', 'registry']"
