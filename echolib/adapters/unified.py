"""One interface to the sessions of every agent, made from the one protocol: what needs no index.

Which agent a path belongs to, one session from whatever names it, and a look at all agents' folders at once.
"""
import os
import threading
import time

from ..base import paths, sqlite_ro
from ..base.errors import EchoError, UnknownReference
from ..events import META
from ..records import Coverage
from . import Session, lookup, registry

# Records of a session that are looked at for the directory it ran in.
_FIRST = 40
_LEVELS = 4


def resolve_agent(path):
    """See echolib.dispatch_resolve_agent."""
    path = os.path.abspath(os.path.expanduser(path))
    adapter = registry.detect(path)
    if adapter is not None:
        return adapter.NAME
    best = ('', '')
    for adapter in registry.adapters():
        for root in adapter.roots():
            if paths.same_or_below(path, root) and len(root) > len(best[0]):
                best = (root, adapter.NAME)
    if best[1]:
        return best[1]
    if os.path.isdir(path):
        return lookup.agent_type(path)
    adapter = registry.detect_by_shape(path)
    return adapter.NAME if adapter is not None else 'unknown'


def session_of(given, agent=None):
    """-> Session of what names one: a Session, a transcript, the session's own folder, or its id.

    agent: the agent it is of; None: told from the path, an id is looked for everywhere. Raises OSError for a path that is
    not there, EchoError for one that names no session.
    """
    if isinstance(given, Session):
        return given
    path = os.path.abspath(os.path.expanduser(given))
    if os.path.isdir(path):
        return _in_folder(path, agent)
    if os.path.exists(path) or os.path.isfile(os.path.dirname(path)):
        return lookup.session_at(path) if agent is None else registry.get(agent).session_at(path)
    if os.path.basename(given) != given:
        os.stat(path)
    for adapter in registry.adapters():
        if agent in (None, adapter.NAME):
            for _, row in _called(adapter, given):
                return adapter.session_at(row[0])
    raise UnknownReference(given, "no session '%s'%s" % (given, ' of %s' % agent if agent else ''))


def _called(adapter, session_id):
    """Yield (root, row of scan) of the main files of sessions of this id."""
    left = []
    for root in adapter.roots():
        for row in adapter.scan(root, []):
            if row[3] == 'main':
                if row[5] == session_id:
                    yield root, row
                else:
                    left.append((root, row))
    if getattr(adapter, 'PLACED_BY_HEAD', False):
        for root, row in left:
            if adapter.head(row[0])['session'] == session_id:
                yield root, row


def _in_folder(path, agent):
    """-> the Session whose own folder this is, or the only one in it."""
    adapters = [registry.get(agent)] if agent is not None else registry.adapters()
    found = {}
    for adapter in adapters:
        if adapter.owns(path):
            return adapter.session_at(path)
        for root in adapter.roots():
            if paths.same_or_below(path, root):
                for row in adapter.scan(root, []):
                    if row[3] == 'main' and row[0].startswith(os.path.join(path, '')):
                        found.setdefault((adapter.NAME, row[5]), []).append(adapter.session_at(row[0]))
    if not found:
        for one in _files(path, 0):
            adapter = next((adapter for adapter in adapters if adapter.owns(one)), None)
            session = adapter.session_at(one) if adapter is not None else None
            if session is not None and session.sources[0].role == 'main':
                found.setdefault((adapter.NAME, session.id), []).append(session)
    named = [key for key in found if key[1] == os.path.basename(path)] or list(found)
    if len(named) != 1:
        raise EchoError('%s holds %s' % (path, '%d sessions; name one of them' % len(named) if named else 'no session of a known agent'))
    # Of several files that can be read as the session, the one that knows most of it.
    return max(found[named[0]], key=lambda session: (len(session.sources), sum(source.size for source in session.sources)))


def _files(path, depth):
    """Yield the files in a folder and a few levels below, by name."""
    try:
        names = sorted(os.listdir(path))
    except OSError:
        # Not to be listed: nothing of it can be read either.
        return
    for name in names:
        one = os.path.join(path, name)
        if os.path.isfile(one):
            yield one
        elif depth < _LEVELS and os.path.isdir(one) and not os.path.islink(one):
            for inner in _files(one, depth + 1):
                yield inner


def session_path(agent, cwd, session_id):
    """-> the folder of an agent's session where it has one of its own, else its transcript; '' when there is none.

    cwd: the directory it ran in (a session that is known to have run elsewhere is passed over), None for any.
    """
    adapter = registry.get(agent)
    for root, row in _called(adapter, session_id):
        if cwd is None or _ran_in(adapter, row[0], os.path.abspath(os.path.expanduser(cwd))):
            return _own_folder(row[0], root, session_id)
    return ''


def _own_folder(path, root, session_id):
    folder = os.path.dirname(path)
    while paths.same_or_below(folder, root) and folder != root:
        if os.path.basename(folder) == session_id:
            return folder
        folder = os.path.dirname(folder)
    return path


def _ran_in(adapter, path, cwd):
    """True unless the first records of a session say that it ran in other directories only."""
    known = False
    source = adapter.session_at(path).sources[0]
    try:
        for count, events in enumerate(adapter.read(source, Coverage(source.path))):
            for event in events:
                if event.kind == META and event.label == 'cwd' and event.text:
                    known = True
                    if event.text.rstrip('/\\') == cwd.rstrip('/\\'):
                        return True
            if count > _FIRST:
                break
    except OSError:
        # Gone meanwhile, or not to be read: nothing speaks against it.
        return not known
    return not known


# the agents' folders

def look(adapter, root):
    """-> dict of what one root of an agent holds, by listing and stat alone: agent, root, found, readable, sessions, files,
    bytes, reason ('' when all is well), status (ok, empty, missing, unreadable)."""
    problems, sessions, files, size = [], set(), 0, 0
    found = os.path.isdir(root)
    if found:
        for session in adapter.discover(root, problems):
            if session.id is not None and any(source.size for source in session.sources):
                sessions.add((session.folder, session.id))
            for source in session.sources:
                files += 1
                size += source.size
    real = [(path, why) for path, why in problems if why not in paths.NOT_THERE]
    if not found:
        status, reason = 'missing', 'a file, not a folder' if os.path.exists(root) else 'not there'
    elif real:
        status, reason = 'unreadable', '%s: %s' % real[0] + (' and %d more' % (len(real) - 1) if real[1:] else '')
    else:
        status, reason = ('ok', '') if files else ('empty', 'no sessions in it')
    return {'agent': adapter.NAME, 'root': root, 'found': found, 'readable': found and not real, 'sessions': len(sessions), 'files': files,
            'bytes': size, 'status': status, 'reason': reason}


def _nothing(agent, root, status, reason):
    return {'agent': agent, 'root': root, 'found': False, 'readable': False, 'sessions': 0, 'files': 0, 'bytes': 0, 'status': status,
            'reason': reason}


def environments(timeout):
    """See echolib.scan_all_environments_parallel."""
    until = time.monotonic() + timeout
    rows = []
    asked = [(adapter, _Look(adapter.NAME, '', _looks, adapter)) for adapter in registry.adapters()]
    others = _Look('', '', _unadapted)
    for adapter, one in asked:
        one.wait(until)
        if type(one.got) is not list:
            rows.append(one.answer(timeout))
            continue
        if not one.got:
            rows.append(dict(_nothing(one.agent, '', 'missing', getattr(adapter, 'UNNAMED', 'no folder is named')), seconds=0.0))
        for inner in one.got:
            inner.wait(until)
            rows.append(inner.answer(timeout))
    others.wait(until)
    seen = [row['root'] for row in rows if row['root']]
    return rows + [row for row in others.got or () if not any(
        paths.same_or_below(row['root'], root) or paths.same_or_below(root, row['root']) for root in seen)]


def _looks(adapter):
    """-> list of _Look, one for each root of an agent."""
    return [_Look(adapter.NAME, root, look, adapter, root) for root in adapter.roots()]


def _unadapted():
    """-> rows of the folders of agents that are known by name only."""
    home = paths.home()
    rows = []
    for name, where, family in registry.UNADAPTED if home else ():
        root = os.path.join(home, *where.split('/'))
        if os.path.isdir(root):
            reason = 'no adapter; agents.json can name it%s' % (' (family %s)' % family if family else '')
            rows.append(dict(_nothing(name, root, 'unadapted', reason), found=True, seconds=0.0))
    return rows


class _Look(object):
    """One question asked in a thread of its own, which is left behind when it does not come back."""

    def __init__(self, agent, root, ask, *args):
        self.agent, self.root, self.got, self.row = agent, root, None, None
        self.began, self.seconds = time.monotonic(), 0.0
        self.thread = threading.Thread(target=self._run, args=(ask, args))
        self.thread.daemon = True
        self.thread.start()

    def _run(self, ask, args):
        try:
            self.got = ask(*args)
        except Exception as error:
            # Whatever is wrong with one agent must not hide the others.
            self.row = _nothing(self.agent, self.root, 'failed', '%s: %s' % (type(error).__name__, error))
        finally:
            self.seconds = time.monotonic() - self.began
            sqlite_ro.let_go()

    def wait(self, until):
        """Wait for the answer, at most until a time."""
        self.thread.join(max(0.0, until - time.monotonic()))

    def answer(self, timeout):
        """-> the row to report."""
        row = self.row or self.got
        if type(row) is not dict:
            row = _nothing(self.agent, self.root, 'hanging', 'no answer within %g s' % timeout)
        return dict(row, seconds=round(self.seconds or timeout, 3))
