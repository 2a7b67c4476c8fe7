"""What a command loads before it can answer: expressions, JSON and the like cost more than a search."""
import os
import subprocess
import sys

import pytest

from echolib.base.patterns import Pattern
from helpers import ROOT
from small import answer, text, user, write

# The package json is never wanted: records are read by its scanner alone.
HEAVY = ('re', 'json', 'argparse', 'typing', 'pathlib', 'subprocess', 'hashlib', 'tempfile', 'calendar')
PROGRAM = '''
import sys
before = set(sys.modules)
sys.path.insert(0, {root!r})
from echolib.cli import run, sd_recall
run.leave = lambda code: None
sys.argv = ['sd-recall.py'] + {args!r}
try:
    sd_recall.main(sys.argv[1:])
finally:
    sys.stdout.flush()
    sys.stderr.write('LOADED ' + ' '.join(set(sys.modules) - before))
'''
# name -> what is asked
SEARCHES = {
    'a word': ['search', 'kestrel'],
    'two words': ['search', 'kestrel answer'],
    'a phrase': ['search', '"the kestrel"'],
    'Chinese': ['search', '\u8d2d\u7269\u8f66'],
    'an identifier': ['search', 'kestrel_wing'],
    'camel case': ['search', 'kestrelWing'],
    'a part of a word': ['search', 'estrel_win'],
    'a hyphen': ['search', 'E-KES77::0240'],
    'a version': ['search', 'v1.2.3'],
    'nothing found': ['search', 'zzzzz'],
}


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp('home')
    write(home, [user('Where does the kestrel live? \u2014 \u8d2d\u7269\u8f66', 1, 1), answer([text(
        'An answer about kestrel_wing, E-KES77::0240 and v1.2.3: the kestrel lives here.')], 2, 2)])
    ask(home, ['search', 'first'])
    return home


def ask(home, args):
    env = dict((key, value) for key, value in os.environ.items() if key in ('PATH', 'SYSTEMROOT', 'LANG'))
    env.update(HOME=str(home), USERPROFILE=str(home), TZ='UTC', SESSION_DIGGER_DATA_DIR=str(home / 'data'),
               SESSION_DIGGER_ARCHIVE='0', PYTHONIOENCODING='utf-8')
    process = subprocess.Popen([sys.executable, '-S', '-c', PROGRAM.format(root=ROOT, args=args)], env=env,
                               cwd=str(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = [data.decode('utf-8') for data in process.communicate()]
    assert process.returncode == 0 and out, err
    return out, set(err.rpartition('LOADED ')[2].split())


@pytest.mark.parametrize('name', sorted(SEARCHES))
def test_search_loads_little(home, name):
    out, loaded = ask(home, SEARCHES[name])
    assert ('1 session matches' in out) == (name != 'nothing found')
    # What looks for other spellings of a word that nothing holds may take its time.
    heavy = loaded.intersection(HEAVY)
    assert not heavy or name == 'nothing found', heavy


def test_pattern_is_an_expression():
    one = Pattern(r'(?P<word>[a-z]+)\Z', 'IGNORECASE')
    assert vars(one).keys() == {'_source', '_flags'}
    assert one.match('ABC').group('word') == 'ABC' and one.search('1 x').start() == 2 and one.sub('-', '12ab') == '12-'
    assert one.pattern == r'(?P<word>[a-z]+)\Z'
    assert Pattern(br'\d').findall(b'a1b2') == [b'1', b'2']
    with pytest.raises(AttributeError):
        one.nothing
