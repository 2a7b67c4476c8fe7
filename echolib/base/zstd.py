"""Files packed with zstd, opened for reading with whatever can unpack them: Python itself (3.14), a module, a program.

Owns the one chain of attempts and the words for a machine on which none of them works. Unpacks as it is read, in
constant memory, and never writes.
"""
import io
import os

from .errors import EchoError

MAGIC = b'\x28\xb5\x2f\xfd'
# A frame of any content that readers step over begins with 0x184D2A5?, low byte first.
_SKIPPABLE = b'\x2a\x4d\x18'
_MODULES = ('compression.zstd', 'backports.zstd', 'zstandard')
_PROGRAMS = ('zstd', 'zstdcat')
_BLOCK = 1 << 18
HELP = 'packed with zstd, and nothing here unpacks it: install the program zstd, or use Python 3.14 or later'

_found = {}


class NoDecoder(EchoError, OSError):
    """Nothing on this machine unpacks zstd. An OSError as well: to its reader the file just cannot be opened."""

    def __init__(self, path):
        EchoError.__init__(self, HELP)
        self.path = path


class _Stream(io.RawIOBase):
    """The bytes that `read(n)` gives; what goes wrong in there comes out as OSError."""

    def __init__(self, read, close, damage):
        io.RawIOBase.__init__(self)
        self._read, self._close, self._damage = read, close, damage

    def readable(self):
        """True: made for reading."""
        return True

    def readinto(self, buffer):
        """Fill `buffer` with the next bytes; -> how many."""
        try:
            data = self._read(len(buffer))
        except self._damage as error:
            raise OSError('damaged zstd data (%s)' % str(error)[:60])
        buffer[:len(data)] = data
        return len(data)

    def close(self):
        """Close what lies below."""
        if not self.closed:
            io.RawIOBase.close(self)
            self._close()


def _module():
    """-> the first module that unpacks zstd, None when there is none."""
    if 'module' not in _found:
        from importlib import import_module
        _found['module'] = None
        for name in _MODULES:
            try:
                _found['module'] = import_module(name)
                break
            except ImportError:
                # This Python has no such module: the next one may be there.
                continue
    return _found['module']


def _program():
    """-> path of a program that unpacks zstd, '' when there is none. Only absolute folders of PATH are looked at."""
    path = os.environ.get('PATH', os.defpath)
    if _found.get('path') != path:
        _found['path'], _found['program'] = path, ''
        endings = ('.exe',) if os.name == 'nt' else ('',)
        candidates = [os.path.join(folder, name + end) for name in _PROGRAMS for folder in path.split(os.pathsep)
                      if os.path.isabs(folder) for end in endings]
        for candidate in candidates:
            if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
                _found['program'] = candidate
                break
    return _found['program']


def _by_module(path):
    module = _module()
    if module is None:
        return None
    handle = open(path, 'rb')
    try:
        if hasattr(module, 'ZstdFile'):
            inner = module.ZstdFile(handle, 'rb')
        else:
            inner = module.ZstdDecompressor().stream_reader(handle, read_across_frames=True)
    except Exception:
        handle.close()
        raise
    return _Stream(inner.read, handle.close, (module.ZstdError, EOFError))


def _by_program(path):
    program = _program()
    if not program:
        return None
    import subprocess
    with open(path, 'rb') as handle:
        # The file is given as standard input: no name of a transcript reaches a command line.
        process = subprocess.Popen([program, '-dcq'], stdin=handle, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read(size):
        data = process.stdout.read(size)
        if not data and process.wait():
            raise EOFError('%s ended with %d' % (os.path.basename(program), process.returncode))
        return data

    def close():
        process.stdout.close()
        if process.poll() is None:
            process.kill()
        process.wait()
    return _Stream(read, close, (EOFError,))


# Tried in this order; each gives a raw stream, or None where this machine lacks what it needs.
_WAYS = (_by_module, _by_program)


def open_zstd(path):
    """-> a binary file object (buffered, forwards only) over the unpacked bytes of `path`.

    Raises OSError when the file cannot be opened or is no zstd file, NoDecoder (an EchoError and an OSError) when
    nothing here unpacks it. Damage shows while reading, as OSError.
    """
    with open(path, 'rb') as handle:
        head = handle.read(4)
    if head != MAGIC and head[1:] != _SKIPPABLE:
        raise OSError('not a zstd file')
    for way in _WAYS:
        stream = way(path)
        if stream is not None:
            return io.BufferedReader(stream, _BLOCK)
    raise NoDecoder(path)


def way():
    """-> what unpacks zstd here: a module's name, a program's path, or '' for nothing."""
    module = _module()
    return module.__name__ if module is not None else _program()
