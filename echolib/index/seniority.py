"""Which of several files that hold the same thing is the older one, told from their records alone."""
from ..base import paths

# Bits of files.flags: its rows name another session; its client gives copied prompts new ids.
FOREIGN, RENAMES = 1, 2


def age(flags, birth, last, path):
    """How old a file is, told from its records: not one that names another session's rows, the earliest first record,
    then the one that ended earlier (a fork goes on after what it copied)."""
    return ((flags or 0) & FOREIGN, birth is None, birth or 0, last or 0, paths.restored(path))
