"""What is packed with zstd, unpacked with whatever can: Python itself (3.14), a module, a program, else our own decoder.

Owns the one chain of attempts. Unpacks as it is read, in constant memory, and never writes beside what it reads.
"""
import io
import os

from .files import open_regular

MAGIC = b'\x28\xb5\x2f\xfd'
# A frame of any content that readers step over begins with 0x184D2A5?, low byte first.
_SKIPPABLE = b'\x2a\x4d\x18'
_MODULES = ('compression.zstd', 'backports.zstd', 'zstandard')
_PROGRAMS = ('zstd', 'zstdcat')
_BLOCK = 1 << 18
# So many packed bytes are worth starting a program for.
_WORTH = 1 << 16

_found = {}


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
    handle = open_regular(path)
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
    with open_regular(path) as handle:
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


def _by_hand(path):
    from . import zstd_pure
    handle = open_regular(path)
    return _Stream(zstd_pure.Reader(handle).read, handle.close, (zstd_pure.ZstdError,))


# Tried in this order; each gives a raw stream, or None where this machine lacks what it needs. The last always works.
_WAYS = (_by_module, _by_program, _by_hand)


def open_zstd(path):
    """-> a binary file object (buffered, forwards only) over the unpacked bytes of `path`.

    Raises OSError when the file cannot be opened or is no zstd file. Damage shows while reading, as OSError.
    """
    with open_regular(path) as handle:
        head = handle.read(4)
    if head != MAGIC and head[1:] != _SKIPPABLE:
        raise OSError('not a zstd file')
    for way in _WAYS:
        stream = way(path)
        if stream is not None:
            return io.BufferedReader(stream, _BLOCK)


def unpack_frames(frames):
    """Yield what each of a list of (one packed frame, size of its content) holds: bytes, or None for a damaged one."""
    module = _module()
    if module is None and sum(len(data) for data, _ in frames) > _WORTH:
        whole = _at_once(frames)
        if whole is not None:
            at = 0
            for _, size in frames:
                yield whole[at:at + size]
                at += size
            return
    if module is None:
        from .zstd_pure import ZstdError as damage, decompress
    else:
        decompress, damage = _one_by_module, (module.ZstdError, EOFError, ValueError)
    for data, size in frames:
        try:
            found = decompress(data, size)
        except damage:
            found = None
        yield found if found is not None and len(found) == size else None


def _one_by_module(data, size):
    # One byte more than there should be shows that there is more.
    decoder = _module().ZstdDecompressor()
    if hasattr(_module(), 'ZstdFile'):
        return decoder.decompress(data, size + 1)
    return decoder.stream_reader(data).read(size + 1)


def _at_once(frames):
    """-> what all frames hold together, by a program; None where that does not work, or gives another size."""
    program = _program()
    if not program:
        return None
    import subprocess
    import tempfile
    try:
        with tempfile.TemporaryFile() as packed:
            for data, _ in frames:
                packed.write(data)
            packed.seek(0)
            process = subprocess.Popen([program, '-dcq'], stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        # No room for a temporary file, or no further process: the other way needs neither.
        return None
    size = sum(size for _, size in frames)
    whole = process.stdout.read(size + 1)
    # A program that has more to say ends at the closed pipe.
    process.stdout.close()
    failed = process.wait()
    return whole if not failed and len(whole) == size else None


def way():
    """-> what unpacks zstd here: a module's name, a program's path, or 'zstd_pure'."""
    module = _module()
    return module.__name__ if module is not None else _program() or 'zstd_pure'
