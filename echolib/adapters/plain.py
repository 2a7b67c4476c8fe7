"""What most adapters answer in the same way: sessions of one file each, nothing spilled, no ledger, no branches."""
import os
from stat import S_ISREG

from ..base.files import open_regular
from . import Session, Source


def listing(path, problems):
    """-> entries of a folder, by name; [] when it is not there, and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def is_missing(root, problems):
    """True for a root that is no folder that can be listed, which is noted as a problem."""
    if os.path.isdir(root):
        return False
    try:
        os.listdir(root)
    except OSError as error:
        problems.append((root, error.strerror or str(error)))
    return True


def stamp(path, *beside):
    """-> (size, mtime_ns) of a file together with those beside it that are there; None when it is gone, or no file, itself."""
    size = mtime = 0
    for one in (path,) + beside:
        try:
            stat = os.stat(one)
        except (OSError, ValueError):
            stat = None
        if stat is None or not S_ISREG(stat.st_mode):
            if one == path:
                return None
            # What may lie beside it need not.
            continue
        size, mtime = size + stat.st_size, max(mtime, stat.st_mtime_ns)
    return size, mtime


def by_session(rows):
    """-> {(folder, session id): [Source]} of the rows of a scan, in their order."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in rows:
        trees.setdefault((folder, session), []).append(Source(path, role, chain, session, size, mtime))
    return trees


def sessions_of(name, root, trees):
    """Yield the Sessions of {(folder, session id): [Source]}, main files first."""
    for (folder, session), files in trees.items():
        yield Session(name, root, session, folder, tuple(sorted(files, key=lambda source: (source.role != 'main', source.path))))


def grouped(name, root, rows):
    """Yield the Sessions that the rows of a scan make, by folder and id."""
    trees = by_session(rows)
    return sessions_of(name, root, dict((key, trees[key]) for key in sorted(trees)))


def folders(environ, variable, default):
    """-> list of the folders that a variable names (separated by commas), else of the default; '' is left out."""
    named = [one.strip() for one in (environ.get(variable) or '').split(',') if one.strip()] or [default]
    found = [os.path.abspath(os.path.expanduser(one)) for one in named if one]
    return [path for n, path in enumerate(found) if path not in found[:n]]


def file_below(folder, *names):
    """-> the file of these names below a folder, '' when there is none; links that lead out are refused."""
    path = os.path.join(folder, *names)
    try:
        inside = os.path.realpath(path) == os.path.join(os.path.realpath(folder), *names) and os.path.isfile(path)
    except ValueError:      # a NUL or a lone surrogate, which no file name has
        return ''
    return path if inside else ''


def file_text(path, limit=0):
    """-> the text of a file, of its first `limit` bytes where that is not 0."""
    with open_regular(path) as handle:
        raw = handle.read(limit) if limit else handle.read()
    return raw.decode('utf-8', 'replace')


def told_files(tools, name, given):
    """-> list of (what, path) a tool call does to files; tools: {tool: (edit, write or read, key of the path)}."""
    found = tools.get(name)
    path = given.get(found[1]) if found and type(given) is dict else None
    return [(found[0], path)] if type(path) is str and path else []


def spill_path(source, named):
    """Nothing is spilled: ''."""
    return ''


def spill_text(path, limit=0):
    """Nothing is spilled: ''."""
    return ''


def side_files(path):
    """Sessions are not archived (the client does not clean up): none."""
    return []


def billed(session):
    """No ledger is kept: None."""
    return None


def branches(path):
    """Branches are not told apart: (1, nothing)."""
    return 1, set()


def inherited(path, session):
    """No row tells that it was copied: 0."""
    return 0


def marked_time(mtime, text):
    """-> mtime_ns that also changes with a text that the reading of the file depends on; as it is for an empty one."""
    from zlib import crc32
    return mtime // 1000000 * 1000000 + (mtime + crc32(text.encode('utf-8', 'replace'))) % 1000000 if text.strip('\n') else mtime
