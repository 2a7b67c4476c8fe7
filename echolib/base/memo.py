"""What was worked out from files that have not changed since, kept in our data folder from one command to the next.

A memo is a convenience: whatever is wrong with one, or where none can be written, the thing is worked out anew. It may
only hold what the index may hold of the files as well.
"""
import json
import os
import time
from zlib import crc32

from .files import make_private, open_regular
from . import paths

_FOLDER = 'memos'
_SUFFIX = '.json'
# A file that changed this shortly ago (ns) may change again without its times telling: some file systems count in
# steps of two seconds.
_UNSETTLED = 2 * 10 ** 9


def _state(files):
    """-> what tells whether files changed, or were replaced: a list for each, None for one that is not there."""
    out = []
    for path in files:
        try:
            stat = os.stat(path)
        except OSError:
            # Not there: that is its state.
            out.append(None)
            continue
        out.append([stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino])
    return out


def kept(what, version, files, make):
    """-> list of rows (tuples of plain values) that make() gives, worked out only when one of the files changed.

    what, version: name the kind of rows, and how they are worked out.  files: paths they depend on, the one they are about
    first.  What make() raises is passed on, and nothing is kept of it.
    """
    folder = _folder()
    if folder is None:
        return make()
    before = _state(files)
    key = [version, list(files), before]
    place = os.path.join(folder, '%s-%08x%s' % (what, crc32(repr(key[1]).encode('ascii', 'backslashreplace')), _SUFFIX))
    have = _read(place)
    if have is not None and have[0] == key:
        return [tuple(row) for row in have[1]]
    rows = make()
    newest = max(max(one[1:3]) for one in before if one) if any(before) else None
    if newest is not None and newest < time.time() * 10 ** 9 - _UNSETTLED and before == _state(files):
        _write(place, [key, rows])
    return rows


def _folder():
    """-> the folder of the memos (it need not exist), None where we have no data folder yet."""
    data = paths.data_dir()
    return os.path.join(data, _FOLDER) if data and os.path.isdir(data) else None


def _read(place):
    """-> [key, rows] of a memo; None when there is none that makes sense."""
    try:
        with open_regular(place) as handle:
            value = json.loads(handle.read().decode('ascii'))
    except (OSError, ValueError, RecursionError):
        # The next memo replaces it.
        return None
    sound = type(value) is list and len(value) == 2 and type(value[0]) is list and len(value[0]) == 3 and type(value[1]) is list
    return value if sound and all(type(row) is list for row in value[1]) else None


def _write(place, value):
    fresh = '%s.%d' % (place, os.getpid())
    try:
        make_private(os.path.dirname(place))
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'wb') as handle:
            handle.write(json.dumps(value, separators=(',', ':')).encode('ascii'))
        os.replace(fresh, place)
    except OSError:
        # A folder that cannot be written, or a full disk: it is worked out again next time.
        _remove(fresh)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        # Held open by somebody (Windows), or gone already.
        return


def clean():
    """Remove memos about files that are gone, and what a killed process left half written."""
    folder = _folder()
    try:
        names = os.listdir(folder) if folder is not None else ()
    except OSError:
        # There is none yet.
        return
    for name in names:
        path = os.path.join(folder, name)
        have = _read(path) if name.endswith(_SUFFIX) else None
        if have is None or not (type(have[0][1]) is list and have[0][1] and os.path.exists(str(have[0][1][0]))):
            _remove(path)
