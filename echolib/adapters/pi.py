"""Pi, Oh My Pi and Prime: where their sessions lie and how their files are read.

<root>/sessions/--<directory>--/<time>_<session>.jsonl holds a session: a tree of rows in one file. A branch that became a file
of its own begins with copies of its parent's rows. Oh My Pi writes subagents into a folder named after their session's file.
"""
import os

from . import Session, Source, Store
from .plain import (  # noqa: F401
    billed, folders, grouped, inherited, is_missing, listing, side_files, spill_path, spill_text, stamp)

NAME = 'pi'
GROWS = True
CLEANED = False
STORES = (
    Store('pi.sessions_jsonl.v3', 'sessions/<folder>/<session>.jsonl, sessions/<session>.jsonl', True, 'sessions: a tree of rows each'),
    Store('pi.subagents_jsonl.v1', 'sessions/<folder>/<session>/<subagent>.jsonl', True, 'subagents (Oh My Pi)'),
    Store('pi.artifacts', 'sessions/<folder>/subagent-artifacts/*, session-artifacts/**', False, 'what extensions keep'),
    Store('pi.settings', 'settings.json, auth.json, models.json', False, 'settings and credentials, never opened'),
)
_FOLDER = 'sessions'
_END = '.jsonl'
# Folders below the home of programs that keep their sessions in this form, and the command of each.
_PROGRAMS = {'.pi': 'pi', '.omp': 'omp', '.prime': 'prime-agent'}
# Subagents that start subagents: so many folders deep.
_DEEPEST = 4


def roots(environ=os.environ):
    """-> list of data folders: $PI_CODING_AGENT_DIR, else ~/.pi/agent, whether it exists or not; ~/.omp/agent and
    $PRIME_AGENT_DIR (~/.prime/agent) where they do."""
    from ..base import paths
    home = paths.home()
    found = folders(environ, 'PI_CODING_AGENT_DIR', os.path.join(home, '.pi', 'agent') if home else '')
    for one in folders({}, '', os.path.join(home, '.omp', 'agent') if home else '') + folders(
            environ, 'PRIME_AGENT_DIR', os.path.join(home, '.prime', 'agent') if home else ''):
        if one not in found and os.path.isdir(one):
            found.append(one)
    return found


def owns(path):
    """True for a path that looks like a session's or a subagent's, by its place."""
    parts = path.replace('\\', '/').split('/')
    if not parts[-1].endswith(_END) or _FOLDER not in parts[-6:-1]:
        return False
    at = len(parts) - 1 - parts[::-1].index(_FOLDER)
    if len(parts) > at + 2 and parts[at + 1].startswith('--') and parts[at + 1].endswith('--'):
        return True
    return parts[at - 1:at] == ['agent'] and any(name in parts[:at] for name in _PROGRAMS)


def session_of(name):
    """-> the session's id in the name of its file: what stands behind the time."""
    stem = name[:-6] if name.endswith(_END) else name
    return stem.partition('_')[2] or stem


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session and subagent under a root, by listings and
    stat."""
    if is_missing(root, problems):
        return
    top = os.path.join(root, _FOLDER)
    for entry in listing(top, problems):
        if entry.name.endswith(_END):
            inside, group = [entry], ''
        else:
            inside, group = listing(entry.path, problems), entry.name
        names = set(one.name for one in inside)
        for one in inside:
            if one.name.endswith(_END) and one.name != _END:
                for row in _rows(one, 'main', '', session_of(one.name), group):
                    yield row
            elif one.name + _END in names:
                for row in _subagents(one.path, '', session_of(one.name), group, problems, 1):
                    yield row


def _subagents(path, above, session, group, problems, depth):
    for entry in listing(path, problems):
        if entry.name.endswith(_END):
            for row in _rows(entry, 'agent', above + entry.name[:-6], session, group):
                yield row
        elif depth < _DEEPEST and '.' not in entry.name:
            for row in _subagents(entry.path, '%s%s.' % (above, entry.name), session, group, problems, depth + 1):
                yield row


def _rows(entry, role, chain, session, group):
    found = stamp(entry.path)
    # --home-ann-shop-- stands for /home/ann/shop.
    folder = group[1:-2] if group.startswith('--') and group.endswith('--') and len(group) > 4 else ''
    return ((entry.path, found[0], found[1], role, chain, session, folder),) if found is not None else ()


def discover(root, problems):
    """Yield the Sessions under a root, each with its subagents (see scan)."""
    return grouped(NAME, root, scan(root, problems))


def _root_of(path):
    top = os.path.dirname(path)
    while os.path.basename(top) != _FOLDER and os.path.dirname(top) != top:
        top = os.path.dirname(top)
    return os.path.dirname(top)


def session_at(path):
    """-> Session of the file at `path` with its subagents' (or of one subagent's alone)."""
    facts, root = head(path), _root_of(path)
    if facts['role'] == 'main':
        for session in discover(root, []):
            if session.sources[0].path == path:
                return session
    return Session(NAME, root, facts['session'], '', (Source(path, facts['role'], facts['chain'], facts['session'], 0, 0),))


def head(path, also=()):
    """-> {'session': id, 'role': main or agent, 'chain': the subagent's id or ''} of a file, by its place."""
    place = os.path.relpath(path, os.path.join(_root_of(path), _FOLDER)).split(os.sep)
    name = place[-1][:-6] if place[-1].endswith(_END) else place[-1]
    if len(place) < 3:
        return {'session': session_of(place[-1]), 'role': 'main', 'chain': ''}
    return {'session': session_of(place[1]), 'role': 'agent', 'chain': '.'.join(place[2:-1] + [name])}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file, in file order: a list for each record (see the protocol)."""
    from .pi_parse import Parser
    from .talk import read_lines
    return read_lines(Parser(source, coverage, {} if state is None else state), source, coverage, offset, line)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turns apart)."""
    from .pi_parse import Parser
    from .talk import at_line
    return at_line(Parser, source, offset, length)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    for root in roots():
        if any(row[5] == session_id for row in scan(root, [])):
            return [_PROGRAMS.get(os.path.basename(os.path.dirname(root)), 'pi'), '--session', session_id]
    return ['pi', '--session', session_id]


def branches(path):
    """-> (number of branch ends, identities of the rows on branches that were left)."""
    from .pi_parse import left
    return left(path)


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    from .codex_text import patched
    from .values import files_of as told
    return told(name, given) or patched(given)
