"""Sessions that lie inside another file, most often a database: their paths below it, and their families.

Light, because every refresh comes by here.
"""
import re


def quoted(ident):
    """An id as the last part of a path: anything but letters, digits, _ and - is spelt out."""
    if ident.replace('_', '').replace('-', '').isalnum():
        return ident
    return ''.join(c if c.isalnum() or c in '_-' else '%%%X;' % ord(c) for c in ident)


def unquoted(name):
    """The inverse of quoted."""
    return re.sub('%([0-9A-F]{1,6});', lambda found: chr(min(int(found.group(1), 16), 0x10ffff)), name) if '%' in name else name


def top_of(sid, parent_of):
    """-> the id of the session at the top of a family. parent_of(id) -> id or ''."""
    seen = set()
    while sid not in seen:
        seen.add(sid)
        above = parent_of(sid)
        if not above:
            break
        sid = above
    return sid
