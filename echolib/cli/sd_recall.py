"""sd-recall.py: find, list and read past sessions."""
from .run import run

SUMMARY = 'Total recall over the coding-agent sessions on this machine: search, list, read, count.'


def _of(module, name='command'):
    def load():
        import importlib
        return getattr(importlib.import_module('echolib.cli.' + module), name)()
    return load


COMMANDS = {
    'search': _of('search'), 'sessions': _of('sessions'), 'show': _of('session', 'show'), 'messages': _of('session', 'messages'),
    'tools': _of('session', 'tools'), 'files': _of('session', 'files'), 'session-stats': _of('session_stats', 'stats'),
    'schema': _of('session', 'schema'), 'stats': _of('totals'), 'errors': _of('lookback', 'errors'),
    'touched': _of('lookback', 'touched'), 'decisions': _of('lookback', 'decisions'), 'resume': _of('session', 'resume'), 'export': _of('export'),
    'environments': _of('health', 'environments'), 'explain': _of('explain'), 'doctor': _of('health', 'doctor'),
}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('sd-recall.py', SUMMARY, COMMANDS, argv)
