"""What a single line of a wire.jsonl of the Python client needs to know of the lines before it."""
from ..base.files import open_regular
from ..records import parse_line

_BLOCK = 1 << 18
# Quotes inside JSON texts are escaped, so only a row's own type looks like this.
_TURN = b'"TurnBegin"'


def compactions_before(wire, offset):
    """-> number of compactions whose rows lie before this byte of a wire.jsonl."""
    count = at = 0
    with open_regular(wire) as handle:
        for line in handle:
            at += len(line)
            if at > offset:
                break
            if b'"CompactionEnd"' in line[:200] and b'"SubagentEvent"' not in line[:200]:
                count += 1
    return count


def turn_before(wire, offset):
    """-> the time, as text, of the row that began the turn a byte of a wire.jsonl lies in; '' before the first."""
    with open_regular(wire) as handle:
        end, tail = offset, b''
        while end > 0:
            start = max(0, end - _BLOCK)
            handle.seek(start)
            block = handle.read(end - start) + tail
            whole = block.find(b'\n') + 1 if start else 0
            found = _last_turn(block[whole:] if whole or not start else b'')
            if found:
                return found
            tail = block[:whole] if whole else block
            end = start
    return ''


def _last_turn(block):
    at = block.rfind(_TURN)
    while at >= 0:
        first = block.rfind(b'\n', 0, at) + 1
        last = block.find(b'\n', at)
        for data in parse_line(block[first:last if last >= 0 else len(block)])[0]:
            message = data.get('message')
            # A subagent's turn lies inside a row of another type.
            if type(message) is dict and message.get('type') == 'TurnBegin' and data.get('timestamp') is not None:
                return '%r' % data['timestamp']
        at = block.rfind(_TURN, 0, first)
    return ''
