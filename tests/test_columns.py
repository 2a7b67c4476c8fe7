"""Tables fit the terminal: what gives way first, bars, colour only where there is a terminal for it."""
import os
import re
import sys

import pytest

from echolib.base import text as texts
from echolib.cli import columns
from echolib.cli.run import Output
from helpers import ROOT, environment
from small import answer, text, user, write

NAMES = ['alpha', 'a name that is rather long for a column', '\u754c' * 30]


class Screen(Output):
    """An Output of a given width."""

    def __init__(self, wide):
        Output.__init__(self)
        self.wide = wide

    def width(self):
        return self.wide


def table(wide):
    return columns.lines(Screen(wide), [
        columns.name('name', NAMES), columns.number('calls', ['1', '22', '333'], 3), columns.number('tokens', ['10k', '2.2M', '3'], 1),
        columns.note('state', ['', 'unfinished', ''], 2), columns.number('cost', ['$1.00', '$22.00', '$0.01']), columns.bar([4, 2, 0])])


@pytest.mark.parametrize('wide', [40, 60, 80, 100, 200])
def test_no_line_is_wider(wide):
    for line in table(wide):
        assert texts.width(line) <= wide, line


def test_what_gives_way_and_in_what_order():
    assert table(200)[0].split() == ['name', 'calls', 'tokens', 'state', 'cost']
    assert table(200)[2].startswith(NAMES[1] + '  ') and table(200)[1].endswith('#' * 40) and table(200)[2].endswith(' ' + '#' * 20)
    assert table(200)[3].endswith('$0.01')
    # Names are cut before a column goes; then bars go first, and the rest by rank.
    assert table(66)[0].split() == ['name', 'calls', 'tokens', 'state', 'cost'] and '\u2026' in table(66)[2] and '#' in table(66)[1]
    heads = [table(wide)[0].split() for wide in range(200, 24, -1)]
    assert [len(one) for one in heads] == sorted((len(one) for one in heads), reverse=True)
    assert heads[-1] == ['name', 'cost']
    left = []
    for one in heads:
        left.extend(head for head in ('calls', 'tokens', 'state') if head not in one and head not in left)
    assert left == ['calls', 'state', 'tokens']


def test_figures_are_never_cut():
    for wide in range(20, 200, 7):
        for line, cost in zip(table(wide)[1:], ('$1.00', '$22.00', '$0.01')):
            assert cost in line


def test_the_end_of_a_path_is_kept():
    drawn = columns.lines(Screen(20), [columns.name('project', ['/home/dev/work/one', '/home/dev/work/two'], 0, True), columns.number('n', ['1000', '2'])])
    assert drawn[1].startswith('\u2026') and 'work/one' in drawn[1] and 'work/two' in drawn[2]


def test_bars_go_by_the_largest_and_show_whatever_is_there():
    out = Screen(100)
    assert [out.bar(share, 10) for share in (0, 0.001, 0.5, 1)] == ['', '#', '#' * 5, '#' * 10]
    assert columns.lines(out, [columns.note('', ['a', 'b']), columns.bar([0, 0])]) == ['', 'a', 'b']


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, 'openpty'), reason='no terminals here')
@pytest.mark.parametrize('wide', [40, 80, 200])
def test_in_a_terminal(wide, tmp_path):
    write(tmp_path, [user('a', 1, 0)] + [answer([text('b')], 2 + day, '2026-02-%02dT10:00:00Z' % day, 'msg_%d' % day, (day, 9, 9, 9)) for day in range(1, 20)])
    shown = terminal(wide, tmp_path, 'usage', TERM='xterm')
    rows = [line for line in shown.splitlines() if re.match('2026|date|total', line)]
    assert len(rows) == 21
    plain = [re.sub('\x1b\\[[0-9]*m', '', row) for row in rows]
    assert max(texts.width(row) for row in plain) <= wide
    assert all(word in plain[0].split() for word in ('date', 'total', 'cost'))
    if wide == 200:
        assert '\x1b[36m' in shown and '\u2588' in shown
        assert '\x1b' not in terminal(wide, tmp_path, 'usage', TERM='xterm', NO_COLOR='1') and '\x1b' not in terminal(wide, tmp_path, 'usage', TERM='dumb')


def terminal(wide, home, *words, **env):
    """-> what a command prints on a terminal of that many columns."""
    import fcntl
    import pty
    import struct
    import subprocess
    import termios
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 50, wide, 0, 0))
    process = subprocess.Popen([sys.executable, os.path.join(ROOT, 'scripts', 'trend-engine.py')] + list(words), env=environment(home, **env),
                               stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    found = b''
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            # The other end is closed.
            break
        if not piece:
            break
        found += piece
    os.close(ours)
    assert process.wait() == 0
    return found.decode('utf-8').replace('\r\n', '\n')
