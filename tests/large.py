"""A large home, made once a run: for tests of what only shows on many sessions."""
import os
import subprocess
import sys

from helpers import environment, run, scratch, shared

_made = {}


def large_home(sessions=60):
    """-> a home of `sessions` invented sessions (about 20 MB for 60) that is indexed; skips without the reference data."""
    if sessions not in _made:
        maker = shared('bench', 'make_corpus.py')
        home = os.path.join(scratch(), 'large')
        subprocess.check_output([sys.executable, maker, '--out', home, '--sessions', str(sessions), '--quiet'])
        built = run([sys.executable, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'scripts', 'index-builder.py'), 'build'], home=home)
        assert built.rc == 0, built
        _made[sessions] = home
    return _made[sessions]


def data_dir(home):
    """-> the folder of a home's index."""
    return environment(home)['SESSION_DIGGER_DATA_DIR']
