"""Paths: homes, project directory names, and paths as the index keeps them."""
import os

# Longer names are cut by the client, which adds a hash that depends on its runtime (2.1.50 and later).
MAX_PROJECT_KEY = 200
# What SQLite keeps beside a database and that holds a part of what it says.
DATABASE_SIDES = ('-wal', '-journal')
# What a system says of a folder that is simply not there.
NOT_THERE = ('No such file or directory', 'The system cannot find the path specified')


def home(environ=None):
    """The user's home folder; None when there is none."""
    if environ is None and os.environ.get('HOME') == '' and os.name == 'posix':
        # Python would take the root of the file system for it.
        return None
    found = os.path.expanduser('~') if environ is None else environ.get('HOME') or environ.get('USERPROFILE')
    return found if found and found != '~' else None


def data_dir(environ=os.environ):
    """Where our own files live: $SESSION_DIGGER_DATA_DIR, else ~/.claude/.session-digger; None without a home folder."""
    named = environ.get('SESSION_DIGGER_DATA_DIR')
    if named:
        return os.path.abspath(os.path.expanduser(named))
    base = home()
    return os.path.join(base, '.claude', '.session-digger') if base and os.path.isdir(base) else None


def typed(word):
    """-> the absolute path of one that a person typed, as system calls take it where Python believes the system to be ASCII
    (3.6 with LC_ALL=C)."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        word = os.fsdecode(word.encode('utf-8', 'surrogateescape'))
    return os.path.abspath(os.path.expanduser(word))


def project_key(path):
    """The folder name under which Claude Code keeps the sessions of a directory: every UTF-16 unit outside A-Za-z0-9
    becomes one dash; names over 200 characters are cut there (a hash follows that is not ours to compute)."""
    return ''.join(c if c.isalnum() and c < '\x80' else '-' if c <= '\uffff' else '--' for c in path)[:MAX_PROJECT_KEY]


def key_fits(folder, path):
    """True when the project folder name `folder` can belong to the directory `path`."""
    key = project_key(path)
    return folder == key or len(key) == MAX_PROJECT_KEY and folder.startswith(key + '-')


def guess_project(folder):
    """A directory for a project folder whose sessions name none: dashes read as separators, marked as a guess only by
    being the best there is (the encoding loses what the characters were)."""
    if folder[1:3] == '--' and folder[0].isalpha() and folder[0] < '\x80':
        return folder[0] + ':\\' + folder[3:].replace('-', '\\')
    return folder.replace('-', '/') if folder.startswith('-') else folder


def database_files(path):
    """-> tuple of the files that tell together what a database says, whether there or not; itself first."""
    return (path,) + tuple(path + side for side in DATABASE_SIDES)


def folders_and_files(problems):
    """-> (those of a scan's problems, as (path, reason), that are about folders, those about files such as databases)."""
    files = [one for one in problems if os.path.isfile(one[0])]
    return [one for one in problems if one not in files], files


def storable(path):
    """`path` as a database value: text where it is UTF-8, else bytes; what no file system gave loses its half characters."""
    try:
        path.encode('utf-8')
    except UnicodeEncodeError:
        try:
            return os.fsencode(path)
        except UnicodeEncodeError:
            return path.encode('utf-8', 'replace').decode('utf-8')
    return path


def restored(value):
    """The inverse of storable."""
    return os.fsdecode(value) if isinstance(value, bytes) else value


def spellings(path):
    """-> set of the ways one directory is written in records, trailing separators apart: a drive's letter in either case, letters
    with their marks in one character (as people type them) or in two (as macOS keeps names)."""
    path = path.rstrip('/\\')
    out = {path}
    if any(ord(c) > 127 for c in path):
        from unicodedata import normalize
        out.update([normalize('NFC', path), normalize('NFD', path)])
    if path[1:2] == ':':
        out.update([change(one[:1]) + one[1:] for one in out for change in (type(path).lower, type(path).upper)])
    return out


def same_or_below(path, top):
    """True when `path` is `top` or lies below it; both as written in records (either separator)."""
    if path == top:
        return True
    top = top.rstrip('/\\')
    return path.startswith(top) and path[len(top):len(top) + 1] in ('/', '\\')
