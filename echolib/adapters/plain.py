"""What most adapters answer in the same way: sessions of one file each, nothing spilled, no ledger, no branches."""
import os
from stat import S_ISREG

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


def grouped(name, root, rows):
    """Yield the Sessions that the rows of a scan make, main files first."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in rows:
        trees.setdefault((folder, session), []).append(Source(path, role, chain, session, size, mtime))
    for folder, session in sorted(trees):
        files = sorted(trees[folder, session], key=lambda source: (source.role != 'main', source.path))
        yield Session(name, root, session, folder, tuple(files))


def folders(environ, variable, default):
    """-> list of the folders that a variable names (separated by commas), else of the default; '' is left out."""
    named = [one.strip() for one in (environ.get(variable) or '').split(',') if one.strip()] or [default]
    found = [os.path.abspath(os.path.expanduser(one)) for one in named if one]
    return [path for n, path in enumerate(found) if path not in found[:n]]


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
