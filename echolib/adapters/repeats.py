"""Blocks of a stream that a client wrote a second time at its end, times and all, as some do when a session is reopened."""
import json
from zlib import crc32

# So far back (ms) a stream goes only where its clock was set or something is written again; two writers differ by less.
_BACK = 1000
# So often a stream may go back without a repeat before nobody looks any more.
_LOOKS = 3


class Repeats(object):
    """state: the parser's, for a grown file.  earlier(): the Records of the file from its start."""

    def __init__(self, state, earlier):
        self.state, self.earlier = state, earlier
        self.marks = None

    def holds(self, time, record):
        """True for a Record, of a time (ms or None), that repeats an earlier one in a block that does."""
        state = self.state
        again = state.get('again')
        if again is not None:
            marks = self._marks(again[1])
            if again[0] < len(marks) and marks[again[0]] == _mark(record.data):
                again[0] += 1
                return True
            del state['again']
        latest = state.get('latest')
        if time is None or latest is not None and latest - _BACK <= time <= latest:
            return False
        state['latest'] = time
        if latest is None or time > latest:
            return False
        # Where nothing is repeated the clock was set: it goes on from here.
        if state.get('looks', 0) >= _LOOKS:
            return False
        marks, mark = self._marks(record.offset), _mark(record.data)
        if mark not in marks:
            state['looks'] = state.get('looks', 0) + 1
            return False
        state['again'], state['latest'] = [marks.index(mark) + 1, record.offset], latest
        return True

    def _marks(self, end):
        """-> the marks of the records before an offset."""
        if self.marks is None or self.marks[0] != end:
            found = []
            for record in self.earlier():
                if record.offset >= end:
                    break
                found.append(_mark(record.data))
            self.marks = end, found
        return self.marks[1]


def _mark(data):
    """-> a check sum of a record; the directory may be another one the second time."""
    payload = data.get('payload')
    if type(payload) is dict and 'cwd' in payload:
        data = dict(data, payload=dict(payload, cwd=None))
    return crc32(json.dumps(data, sort_keys=True).encode('ascii'))
