"""OpenCode's JSON tree (builds before 1.2): storage/session/<project>/<session>.json, storage/message/<session>/*.json,
storage/part/<message>/*.json. Ids grow with time, so that names in order are messages in order."""
import os
from contextlib import contextmanager

from ..base.files import open_regular
from .inside import top_of
from .opencode import Entry, listing
from .opencode_db import reverted
from .opencode_parse import Parser, bills, is_copy
from .values import decoded, inner, word


def entries(storage, known, problems):
    """-> {session id: Entry} of the sessions of a tree that are not among the known ones; whose child one is only its file
    says (see top).

    What changes of a session: its own file, the number of its messages, and the last of these with its parts.
    """
    out = {}
    for project in listing(os.path.join(storage, 'session'), problems):
        for entry in listing(project.path, problems):
            sid = entry.name[:-5]
            if not entry.name.endswith('.json') or not sid or sid in known:
                continue
            folder = os.path.join(storage, 'message', sid)
            names = _names(folder)
            files = [entry.path]
            if names:
                files += [folder, os.path.join(folder, names[-1] + '.json')]
                above = os.path.join(storage, 'part', names[-1])
                files += [above] + [os.path.join(above, name + '.json') for name in _names(above)]
            stats = [stat for stat in map(_stat, files) if stat is not None]
            if stats:
                size = sum(stat.st_size for stat in stats) + 1000 * len(names) if names else 0
                out[sid] = Entry(entry.path, '', size, max(stat.st_mtime_ns for stat in stats))
    return out


def _names(folder):
    """-> ids of the JSON files of a folder in order, [] when there is none."""
    try:
        return sorted(name[:-5] for name in os.listdir(folder) if name.endswith('.json'))
    except (OSError, ValueError):
        return []


def _stat(path):
    try:
        return os.stat(path)
    except (OSError, ValueError):
        # Removed meanwhile.
        return None


def load(path):
    """-> (the JSON object of a file or None where it holds none, its size)."""
    try:
        with open_regular(path) as handle:
            raw = handle.read()
    except (OSError, ValueError):
        return None, 0
    value = decoded(raw.decode('utf-8', 'replace'))
    return (value if type(value) is dict else None), len(raw)


def top(path, sid):
    """-> the id of the session at the top of the family of the one with this file."""
    projects = os.path.dirname(os.path.dirname(path))

    def parent_of(one):
        if os.path.basename(one) != one or '\0' in one:
            # An id is a name here, and leads nowhere else.
            return ''
        places = [os.path.join(os.path.dirname(path), one + '.json')]
        if not os.path.isfile(places[0]):
            places = [os.path.join(project.path, one + '.json') for project in listing(projects, [])]
        return next((word(found.get('parentID')) for found in (load(place)[0] for place in places) if found is not None), '')
    return top_of(sid, parent_of)


@contextmanager
def reading(source, coverage, state):
    """Give a Reader of the session whose file a Source names. Raises OSError when that cannot be opened."""
    with open_regular(source.path):
        yield Reader(source.path, Parser('' if source.role == 'main' else source.chain, coverage, state))


class Reader(object):
    """Reads one session of a tree. An event's offset is the number of its message, 0 for the session itself."""

    def __init__(self, path, parser):
        self.path, self.parser, self.coverage = path, parser, parser.coverage
        self.sid = os.path.basename(path)[:-5]
        self.storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))

    def session(self):
        """-> list of Events of the session's own file."""
        data = load(self.path)[0]
        if data is None:
            self.coverage.lines += 1
            self.coverage.damage(1, 'a session that is no JSON object')
            return []
        directory = word(data.get('directory'))
        if not directory:
            project = os.path.basename(os.path.dirname(self.path))
            directory = word((load(os.path.join(self.storage, 'project', project + '.json'))[0] or {}).get('worktree'))
        return self.parser.session({'directory': directory, 'title': data.get('title'), 'version': data.get('version'),
                                    'created': inner(data, 'time').get('created')}, 0)

    def records(self):
        """Yield lists of Events, one a message, in order."""
        for number, ident, _, data, parts in self._messages():
            coverage = self.coverage
            coverage.lines += 1 + len(parts)
            coverage.line += 1
            if data is None:
                coverage.damage(coverage.line, 'a message that is no JSON object')
                yield []
            else:
                yield self.parser.message(ident, data, None, parts, coverage.line, number)

    def _messages(self, number=None):
        """Yield (number, id, None, data, parts) of the messages in order, or of one; as of a database."""
        folder = os.path.join(self.storage, 'message', self.sid)
        for place, ident in enumerate(_names(folder), 1):
            if number is not None and place != number:
                continue
            data, size = load(os.path.join(folder, ident + '.json'))
            above = os.path.join(self.storage, 'part', ident)
            parts = [load(os.path.join(above, name + '.json')) for name in _names(above)]
            self.coverage.offset += size + sum(one[1] for one in parts)
            yield place, ident, None, data, [one[0] for one in parts]

    def at(self, offset):
        """-> list of Events of the record that an offset names."""
        if not offset:
            return self.session()
        for _, ident, _, data, parts in self._messages(offset):
            return self.parser.message(ident, data, None, parts, 0, offset) if data is not None else []
        return []

    def bills(self):
        """-> rows of what the client says the session's calls took and cost."""
        return [row for _, _, _, data, parts in self._messages() if data is not None
                for row in bills(self.sid, data, [part for part in parts if part is not None])]

    def reverted(self):
        """-> ids of the messages behind the one the person went back to; they go when the session goes on."""
        return reverted(inner(load(self.path)[0] or {}, 'revert'), self._messages())

    def copied(self):
        """-> number of messages that a fork copied."""
        return sum(1 for _, ident, _, data, _ in self._messages() if data is not None and is_copy(ident, data))
