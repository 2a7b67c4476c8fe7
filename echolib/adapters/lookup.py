"""From a path to what it is: the session it belongs to, the agent, the folder of a project."""
import os

from ..base import paths
from ..base.errors import EchoError
from ..base.files import read_json
from . import Session, registry


def session_at(path):
    """-> Session of the transcript at `path` with all files of its tree.

    A Session is given back as it is. Raises EchoError when no adapter knows the file, OSError when it is not there.
    """
    if isinstance(path, Session):
        return path
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(os.path.dirname(path)):
        # Below a file lie the sessions of a database.
        os.stat(path)
    adapter = registry.detect(path) or registry.detect_by_shape(path)
    if adapter is None:
        raise EchoError('%s is no transcript of a known agent' % path)
    return adapter.session_at(path)


def client_index(folder):
    """See echolib.load_index."""
    value = read_json(os.path.join(folder, 'sessions-index.json'))
    entries = value.get('entries') if isinstance(value, dict) else value
    return [e for e in entries if isinstance(e, dict)] if isinstance(entries, list) else []


def project_dir(path):
    """See echolib.find_project_dir."""
    path = os.path.abspath(os.path.expanduser(path))
    fitting = []
    for root in registry.get('claude').roots():
        folder = os.path.join(root, 'projects')
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            # A root that is not there holds no project.
            continue
        fitting += [os.path.join(folder, name) for name in names if paths.key_fits(name, path)]
    for folder in fitting:
        for entry in client_index(folder)[:1]:
            if entry.get('projectPath') == path:
                return folder
    return fitting[0] if fitting else None


def agent_type(path):
    """See echolib.detect_agent_type."""
    if os.path.isdir(path):
        found = set()
        for base, _, names in os.walk(path):
            for name in sorted(names)[:20]:
                adapter = registry.detect(os.path.join(base, name))
                if adapter is not None:
                    found.add(adapter.NAME)
            if len(found) > 1:
                return 'both'
        return found.pop() if found else 'unknown'
    adapter = registry.detect(path)
    return adapter.NAME if adapter is not None else 'unknown'
