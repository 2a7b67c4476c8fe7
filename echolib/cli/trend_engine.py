"""trend-engine.py: how usage and habits change over time."""
from .run import run

SUMMARY = 'Usage and trends over many sessions.'


def _of(module, name='command'):
    def load():
        import importlib
        return getattr(importlib.import_module('echolib.cli.' + module), name)()
    return load


COMMANDS = {'usage': _of('trends_usage')}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('trend-engine.py', SUMMARY, COMMANDS, argv)
