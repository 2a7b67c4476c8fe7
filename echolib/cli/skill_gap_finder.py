"""skill-gap-finder.py: what recurs over sessions, and what skills there are against it."""
from .run import run

SUMMARY = 'What goes wrong or is done by hand again and again, and which skill could help.'


def _of(module):
    def load():
        import importlib
        return importlib.import_module('echolib.cli.' + module).command()
    return load


COMMANDS = {'analyze': _of('gaps_analyze'), 'propose': _of('gaps_propose'), 'installed': _of('gaps_installed')}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('skill-gap-finder.py', SUMMARY, COMMANDS, argv)
