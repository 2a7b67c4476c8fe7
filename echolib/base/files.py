"""Opening the files of others: only what is a file is opened, so that nothing waits for a pipe or reads a device for ever."""
import errno
import os
from stat import S_ISDIR, S_ISREG

# Without it a pipe would keep us until somebody writes into it.
_WAITLESS = getattr(os, 'O_NONBLOCK', 0) | getattr(os, 'O_NOCTTY', 0)
_shunned = ()


def shun(folder):
    """Have nothing below a folder opened any more: its file system does not answer, and would keep whoever asks it."""
    global _shunned
    _shunned += (os.path.join(folder, ''),)


def open_regular(path, buffering=-1):
    """-> a binary file object over a regular file; OSError for a folder, a pipe, a device, a socket and an impossible name."""
    if _shunned and path.startswith(_shunned):
        raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), path)
    try:
        return open(path, 'rb', buffering, opener=_opened)
    except ValueError:
        # A zero byte or half a character, which no file name has.
        raise OSError(errno.EINVAL, 'no name a file can have', path)


def _opened(path, flags):
    fd = os.open(path, flags | _WAITLESS)
    mode = os.fstat(fd).st_mode
    if not S_ISREG(mode):
        os.close(fd)
        raise OSError(errno.EISDIR if S_ISDIR(mode) else errno.EINVAL, 'is no regular file', path)
    return fd


def read_json(path, most=-1):
    """-> the JSON value in a file, None where there is none: not there, cut, broken, nested too deeply, or longer than `most` bytes.

    A byte order mark is no damage, and bytes that are no UTF-8 spoil only the text they are in.
    """
    from . import bounded_json
    try:
        with open_regular(path) as handle:
            return bounded_json.loads(handle.read(most).decode('utf-8-sig', 'replace'), bounded_json.DOCUMENT)
    except (OSError, ValueError, RecursionError):
        return None


def json_object(path, most=-1):
    """-> the JSON object in a file, {} where read_json() finds none."""
    value = read_json(path, most)
    return value if type(value) is dict else {}


def is_dir(path):
    """True where a folder is on this machine. A name no system takes is none, nor is another machine's share: looking at a
    path of the kind \\\\server\\share, which a transcript may name, would have Windows sign in there."""
    try:
        return path[:2] not in ('\\\\', '//') and os.path.isdir(path)
    except ValueError:
        return False


def make_private(folder):
    """Make a folder, and those above it that are missing, for their owner alone. (makedirs gives its mode to the last only.)"""
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above != folder:
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        # Another process was faster; anything else in its place shows when it is used.
        return
