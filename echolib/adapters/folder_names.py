"""The directory that a folder's name stands for where a client spells it with dashes for separators."""
import os

# Folders that are looked into for it.
_MOST = 400


def directory_of(slug, top=os.sep, dots=False):
    """-> the directory whose path with dashes for separators (dots: for dots too) is `slug`, where exactly one exists,
    else ''."""
    if not slug.startswith('-') or os.sep != '/':
        return ''
    found, waiting, looked = [], [(top, slug[1:])], 0
    while waiting and len(found) < 2 and looked < _MOST:
        path, rest = waiting.pop()
        looked += 1
        try:
            names = os.listdir(path)
        except OSError:
            # Not ours to look into.
            continue
        for name in names:
            spelt = name.replace('.', '-') if dots else name
            if rest == spelt and os.path.isdir(os.path.join(path, name)):
                found.append(os.path.join(path, name))
            elif rest.startswith(spelt + '-') and os.path.isdir(os.path.join(path, name)):
                waiting.append((os.path.join(path, name), rest[len(name) + 1:]))
    return found[0] if len(found) == 1 and not waiting else ''
