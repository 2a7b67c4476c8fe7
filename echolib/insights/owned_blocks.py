"""Blocks in a text file that this program alone owns, between marks on lines of their own; all else stays byte for byte."""
import re

from ..base.errors import EchoError

_MARK = '<!-- session-digger:%s %s -->'
_ANY = re.compile(br'^[ \t]*<!-- session-digger:([a-z-]+) (begin|end) -->[ \t]*\r?$', re.M)


class Damaged(EchoError):
    """The marks in a file do not pair, so nobody can say what is ours."""


def spans(data):
    """-> {name: (start, end)} of the blocks in a file's bytes, marks included. Raises Damaged."""
    found, opened = {}, None
    for mark in _ANY.finditer(data):
        name, what = mark.group(1).decode('ascii'), mark.group(2)
        line = data.count(b'\n', 0, mark.start()) + 1
        if what == b'begin':
            if opened is not None or name in found:
                raise Damaged('line %d: a block begins that has begun already' % line)
            opened = name, mark.start()
        else:
            if opened is None or opened[0] != name:
                raise Damaged('line %d: a block ends that has not begun' % line)
            found[name] = opened[1], mark.end() - mark.group().endswith(b'\r')
            opened = None
    if opened is not None:
        raise Damaged('line %d: a block begins and does not end' % (data.count(b'\n', 0, opened[1]) + 1))
    return found


def replaced(data, blocks):
    """-> a file's bytes with some blocks exchanged. blocks: list of (name, text or None to take it out); new ones come last."""
    end = b'\r\n' if b'\r\n' in data else b'\n'
    for name, text in blocks:
        at = spans(data).get(name)
        if text is None:
            if at is not None:
                data = _without(data, at, end)
            continue
        body = '\n'.join((_MARK % (name, 'begin'), text.strip('\n'), _MARK % (name, 'end'))).encode('utf-8', 'replace').replace(b'\n', end)
        if at is not None:
            data = data[:at[0]] + body + data[at[1]:]
        else:
            gap = b'' if not data else end if data.endswith(b'\n') else end + end
            data += gap + body + end
    return data


def _without(data, at, end):
    """Take a block out with the line end behind it and the empty line that was put before it."""
    before, after = data[:at[0]], data[at[1]:]
    if after.startswith(end):
        after = after[len(end):]
    if before.endswith(end + end) or before == end:
        before = before[:-len(end)]
    return before + after
