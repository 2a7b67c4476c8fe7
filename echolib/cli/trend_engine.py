"""trend-engine.py: how usage and habits change over time."""
from .run import run

SUMMARY = 'Usage and trends over many sessions.'


def _of(module, name='command'):
    def load():
        import importlib
        return getattr(importlib.import_module('echolib.cli.' + module), name)()
    return load


COMMANDS = {
    'usage': _of('trends_usage'), 'period-over-period': _of('trends_periods'),
    'by-theme': _of('trends_themes'),
    'regressions': _of('trends_regressions'), 'change': _of('trends_change'),
    'what-if': _of('trends_whatif'), 'insights': _of('trends_insights'),
    'digest': _of('trends_digest'), 'report': _of('trends_report')}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('trend-engine.py', SUMMARY, COMMANDS, argv)
