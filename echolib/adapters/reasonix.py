"""Reasonix: where its sessions lie and how they are read.

Generations under one home: 0.x keeps sessions/<name>.jsonl with an event log beside it; 1.x kept messages in line files of
the same name, now in an event log of packed frames, one folder a session; subagents are line files. What calls cost is
kept apart from all of them, in ledgers: their rows are read as files of role ledger, which count in totals and are no
session (0.x names the session in each row, so a session that is still there takes its own).
"""
import os

from ..base.files import open_regular
from . import Session, Source, Store
from .plain import branches, inherited, side_files, spill_path, spill_text  # noqa: F401

NAME = 'reasonix'
# The event log and the day's ledger; line files are written anew and say so after each reading.
GROWS = True
# 1.x counts by day and model; 0.x has a ledger with sessions in it.
TOKENS = 'Reasonix 1.x counts tokens by day and model, not by session: stats has them, no session does'
CLEANED = False
STORES = (
    Store('reasonix.frames.v4', 'projects/<slug>/sessions-v4/<session>/events.frames, sessions-v4/<session>/events.frames', True,
          'event logs of packed frames (1.2x and later)'),
    Store('reasonix.desktop_frames.v5', 'desktop-sessions-v5/by-id/<session>/events.frames', True, 'the same logs, of the desktop'),
    Store('reasonix.content.v1', 'projects/<slug>/sessions-v4/.content-v1/objects/**', True, 'large payloads, read where a log names them'),
    Store('reasonix.header_json.v5', 'desktop-sessions-v5/by-id/<session>/header.json', True, 'directory of a desktop session'),
    Store('reasonix.subagents_jsonl.v1', 'sessions/subagents/sa_*.jsonl, projects/<slug>/sessions/subagents/sa_*.jsonl', True,
          'subagents, tied to their session by the .meta.json beside them'),
    Store('reasonix.sessions_jsonl.v1', 'sessions/<session>.jsonl, sessions/<session>/<session>.jsonl, projects/<slug>/sessions/<session>.jsonl, '
          'archive/<session>.jsonl', True, 'messages of 1.x, a line each; facts in the .jsonl.meta beside them'),
    Store('reasonix.sessions_jsonl.v0', 'sessions/<name>.jsonl', True, 'messages of 0.x without times, read where there is no event log'),
    Store('reasonix.events_jsonl.v0', 'sessions/<name>.events.jsonl', True, 'event logs of 0.x, with times'),
    Store('reasonix.stats_jsonl.v1', 'stats/<day>.jsonl', True, 'ledger of 1.x: what each call cost, without its session'),
    Store('reasonix.usage_jsonl.v0', 'usage.jsonl', True, 'ledger of 0.x: what each turn cost (a year of it at most)'),
    Store('reasonix.events_jsonl.v2', 'projects/<slug>/sessions/**/*.events.jsonl', False, 'event logs of the line files of 1.x, which say the same'),
    Store('reasonix.caches', 'projects/<slug>/sessions-v4/.query-cache/*, projects/<slug>/sessions-v4/.recovery-cache/*', False, 'derived from the logs'),
    Store('reasonix.desktop', 'desktop/*, session-catalog/**', False, 'window state and lists of sessions'),
    Store('reasonix.backups', 'sessions/*.jsonl.bak, sessions/*.damaged, sessions/*.conflicts.jsonl, sessions/*.guardian.jsonl', False,
          'earlier or damaged copies, and the traffic of the reviewer'),
)
FRAMES = 'events.frames'
# Tools that touch a file: (what they do, field of their input that names it).
FILE_TOOLS = {
    'read_file': ('read', 'path'), 'edit_file': ('edit', 'path'), 'multi_edit': ('edit', 'path'), 'write_file': ('write', 'path'),
    'delete_range': ('edit', 'path'), 'delete_symbol': ('edit', 'path'), 'notebook_edit': ('edit', 'path'), 'move_file': ('edit', 'source')}
_SUFFIX = '.jsonl'
_LOG = '.events.jsonl'
# Files that end like a conversation and are none.
_SIDE = (_LOG, '.conflicts.jsonl', '.guardian.jsonl', '.wire.jsonl', '.adjudication.jsonl', '.execution.jsonl', '.turns.jsonl')
_AGENT_HEADS = ('sa_', 'subagent-')
_ARCHIVED = '__archive_'
_LEDGER = 'ledger'
_MAX_DEPTH = 8


def roots(environ=os.environ):
    """-> list of homes, whether they exist or not: $REASONIX_STATE_HOME and $REASONIX_HOME; ~/.reasonix where the latter
    is not set (and %APPDATA%\\reasonix on Windows)."""
    from ..base import paths
    out = []
    for name in ('REASONIX_STATE_HOME', 'REASONIX_HOME'):
        named = (environ.get(name) or '').strip()
        if named:
            out.append(os.path.abspath(os.path.expanduser(named)))
    if not (environ.get('REASONIX_HOME') or '').strip():
        home = paths.home()
        if home:
            out.append(os.path.join(home, '.reasonix'))
        if os.name == 'nt' and environ.get('APPDATA'):
            out.append(os.path.join(environ['APPDATA'], 'reasonix'))
    return [path for place, path in enumerate(out) if path not in out[:place]]


def owns(path):
    """True for a path that looks like one of Reasonix's files, by its place (its lines alone look like other programs')."""
    parts = path.replace('\\', '/').split('/')
    name, above = parts[-1], parts[:-1]
    if name == FRAMES:
        return True
    if not _is_line_file(name) and not name.endswith(_LOG) and name != 'usage.jsonl' and above[-1:] != ['stats']:
        return False
    places = [parts.index(home) + 1 for home in ('.reasonix', 'reasonix') if home in above]
    for root in roots():
        if path.startswith(os.path.join(root, '')):
            places.append(len(root.replace('\\', '/').rstrip('/').split('/')))
    for at in places:
        below = parts[at:]
        if below[0] in ('sessions', 'archive') or below[0] == 'projects' and below[2:3] == ['sessions'] or _kind(below) == _LEDGER:
            return True
    return False


def _kind(below):
    """'ledger' for the parts of a ledger's path below its home, else ''."""
    name = below[-1]
    return _LEDGER if below == ['usage.jsonl'] or len(below) == 2 and below[0] == 'stats' and name.endswith(_SUFFIX) else ''


def _is_line_file(name):
    """True for the name of a conversation of messages, a line each."""
    return name.endswith(_SUFFIX) and name[0] != '.' and not name.endswith(_SIDE)


def _listing(path, problems):
    """-> entries of a folder by name; [] where there is none, and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def _stat(path):
    """-> (size, mtime_ns) of a file, None when there is none."""
    try:
        stat = os.stat(path)
    except (OSError, ValueError):
        return None
    return stat.st_size, stat.st_mtime_ns


def _is_folder(entry):
    try:
        return entry.is_dir()
    except OSError:
        # Removed since the folder was listed, or a link to itself.
        return False


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every file of a home that is read by itself.

    By folder listings and stat alone. problems: list that gets (path, reason) for each folder that cannot be listed; a
    missing home is one. role: main; loose (a subagent's file, whose session head() tells); ledger. A line file of a
    session that an event log has too (the client took it over under its id) is left out; so is an archived copy beside
    its original.
    """
    if not os.path.isdir(root):
        problems.append((root, 'No such file or directory'))
        return
    projects = [entry for entry in _listing(os.path.join(root, 'projects'), problems) if _is_folder(entry)]
    logs = set()
    for folder, store in [('', 'sessions-v4'), ('', os.path.join('desktop-sessions-v5', 'by-id'))] + [
            (entry.name, os.path.join('projects', entry.name, 'sessions-v4')) for entry in projects]:
        for entry in _listing(os.path.join(root, store), problems):
            path = os.path.join(entry.path, FRAMES)
            found = _stat(path) if entry.name[0] != '.' else None
            if found is not None:
                logs.add(entry.name)
                yield path, found[0], found[1], 'main', '', entry.name, folder
    lines = set()
    for folder, store in [('', 'sessions')] + [(entry.name, os.path.join('projects', entry.name, 'sessions')) for entry in projects]:
        for found in _conversations(os.path.join(root, store), folder, problems, logs):
            lines.add(found[5])
            yield found
    for found in _conversations(os.path.join(root, 'archive'), '', problems, logs | lines):
        yield found
    for entry in _listing(os.path.join(root, 'stats'), problems):
        found = _stat(entry.path) if entry.name.endswith(_SUFFIX) else None
        if found is not None:
            yield entry.path, found[0], found[1], _LEDGER, '', _LEDGER, ''
    path = os.path.join(root, 'usage.jsonl')
    found = _stat(path)
    if found is not None:
        yield path, found[0], found[1], _LEDGER, '', _LEDGER, ''


def _conversations(path, folder, problems, known):
    """Yield the rows of the line files in one folder of sessions, those of the `known` ids apart."""
    entries = _listing(path, problems)
    names = set(entry.name for entry in entries)
    for entry in entries:
        name = entry.name
        if name == 'subagents':
            for inner in _listing(entry.path, problems):
                if _is_line_file(inner.name):
                    found = _line_file(inner.path, ())
                    if found is not None:
                        yield found + ('loose', inner.name[:-6], None, folder)
            continue
        if _is_line_file(name):
            sid, where, beside = name[:-6], entry.path, names
        elif '.' not in name and _is_folder(entry):
            sid, where, beside = name, os.path.join(entry.path, name + _SUFFIX), ()
        else:
            continue
        if sid in known or sid.partition(_ARCHIVED)[1] and sid.partition(_ARCHIVED)[0] + _SUFFIX in names:
            continue
        found = _line_file(where, beside)
        if found is None:
            continue
        if sid.startswith(_AGENT_HEADS):
            yield found + ('loose', sid, None, folder)
        else:
            yield found + ('main', '', sid, folder)


def _line_file(path, beside):
    """-> (path, size, mtime_ns) of what is read of a conversation, None when it is not there.

    beside: names in its folder, () unknown. 0.x keeps an event log that has the times; 1.x has such a file too, with an
    index, and the messages are read. The time is the newest of it and of its side files; below a millisecond it tells their
    sizes as well, so that each change shows.
    """
    base = path[:-6]
    name = os.path.basename(base)
    if name + _LOG in beside and name + '.event-index.json' not in beside and name + '.jsonl.meta' not in beside:
        log = _stat(base + _LOG)
        if log is not None and log[0]:
            path = base + _LOG
    main = _stat(path)
    if main is None:
        return None
    sides = [_stat(base + end) for end in ('.meta.json', '.jsonl.meta') if not beside or name + end in beside]
    sides = [side for side in sides if side is not None]
    if not sides:
        return path, main[0], main[1]
    mtime = max(stat[1] for stat in sides + [main])
    return path, main[0], mtime // 1000000 * 1000000 + (mtime + sum(side[0] for side in sides)) % 1000000


def discover(root, problems):
    """Yield the Sessions under a home, by listing folders and stat alone (see scan); files that are loose or a ledger stand
    for themselves, without an id."""
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        source = Source(path, role, chain, session, size, mtime)
        if role == 'main':
            trees.setdefault((folder, session), []).append(source)
        else:
            yield Session(NAME, root, None, folder, (source,))
    for folder, session in trees:
        yield Session(NAME, root, session, folder, tuple(trees[folder, session]))


def session_at(path):
    """-> Session of the file at `path` (or of the folder of an event log) with its subagents."""
    if os.path.isdir(path):
        path = os.path.join(path, FRAMES)
    above, name = os.path.split(path)
    if name == FRAMES:
        store, sid = os.path.split(above)
        top, sessions = os.path.dirname(store), os.path.join(os.path.dirname(store), 'sessions')
    else:
        sid = name[:-len(_LOG)] if name.endswith(_LOG) else name[:-6]
        top, sessions = os.path.dirname(above), above
        if os.path.basename(above) in ('subagents', sid):
            sessions, top = os.path.dirname(above), os.path.dirname(os.path.dirname(above))
    inside = os.path.basename(os.path.dirname(top)) == 'projects'
    root, folder = (os.path.dirname(os.path.dirname(top)), os.path.basename(top)) if inside else (top, '')
    if os.path.basename(above) == 'stats' or name == 'usage.jsonl':
        return Session(NAME, os.path.dirname(above), _LEDGER, '', (Source(path, _LEDGER, '', _LEDGER, 0, 0),))
    if sid.startswith(_AGENT_HEADS):
        parent = head(path)['session']
        return Session(NAME, root, parent or sid, folder, (Source(path, 'loose', sid, parent or sid, 0, 0),))
    files = [Source(path, 'main', '', sid, 0, 0)]
    for entry in _listing(os.path.join(sessions, 'subagents'), []):
        if _is_line_file(entry.name) and head(entry.path)['session'] == sid:
            files.append(Source(entry.path, 'loose', entry.name[:-6], sid, 0, 0))
    return Session(NAME, root, sid, folder, tuple(files))


def head(path, also=()):
    """-> {'session': id} of a subagent's file: the session its .meta.json names (that of the subagent that started it, for
    a subagent's subagent); None where nothing says."""
    from .reasonix_lines import loaded
    folder, name = os.path.split(path)
    seen = set()
    while name not in seen and len(seen) < _MAX_DEPTH:
        seen.add(name)
        parent = loaded(os.path.join(folder, name[:-6] + '.meta.json')).get('parentSession')
        if type(parent) is not str or not parent or os.sep in parent:
            return {'session': None}
        if not parent.startswith(_AGENT_HEADS):
            return {'session': parent}
        name = parent + _SUFFIX
    return {'session': None}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file, in file order: a list for each record (see the protocol); of an event log, a list for
    each batch. Raises OSError when the file cannot be opened."""
    state = {} if state is None else state
    if source.role == _LEDGER:
        from .reasonix_ledger import read_ledger
        return read_ledger(source.path, coverage, offset, line)
    if os.path.basename(source.path) == FRAMES:
        return _read_log(source, coverage, offset, line, state)
    from .reasonix_lines import read_lines
    return read_lines(source, coverage, state)


def _read_log(source, coverage, offset, line, state):
    from .reasonix_frames import batches
    from .reasonix_parse import Parser
    parser = Parser(coverage, source, state)
    with open_regular(source.path) as handle:
        handle.seek(offset)
        for batch in batches(handle, coverage, offset, line):
            out = parser.batch(batch)
            if not state.get('cwd'):
                _place(parser, source)
            yield out


def _place(parser, source):
    """The directory of a desktop session, which its header names."""
    from .reasonix_lines import loaded
    cwd = loaded(os.path.join(os.path.dirname(source.path), 'header.json')).get('cwd')
    parser.meta('cwd', cwd if type(cwd) is str else '')


def events_at(source, offset, length, state=None):
    """-> list of events of the one record (or batch) at `offset`, as read() gives them (turns and what side files say apart)."""
    from io import BytesIO
    from ..records import Coverage, Record, parse_line
    coverage = Coverage(source.path)
    with open_regular(source.path) as handle:
        handle.seek(offset)
        raw = handle.read(length) if length else handle.readline()
    if source.role == _LEDGER:
        from .reasonix_ledger import events
        return [event for data in parse_line(raw)[0] for event in events(Record(data, 0, offset, length), coverage)]
    if os.path.basename(source.path) == FRAMES:
        from .reasonix_frames import batches
        from .reasonix_parse import Parser
        parser = Parser(coverage, source, dict(state or ()))
        return [event for batch in batches(BytesIO(raw), coverage, offset) for event in parser.batch(batch)]
    from .reasonix_lines import Lines, facts
    reader = Lines(source, coverage, dict(state or (), said=1), facts(source.path))
    return [event for data in parse_line(raw)[0] for event in reader.events(Record(data, 0, offset, length))]


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['reasonix', '--resume', session_id]


def billed(session):
    """-> list of reasonix_ledger.Bill of a 0.x session; None for others, whose ledger names no session."""
    from .reasonix_ledger import of_session
    for source in session.sources:
        if source.role == 'main' and source.path.endswith(_SUFFIX):
            return of_session(source.path, session.id) or None
    return None


def file_versions(path):
    """-> {path: number of versions kept}: checkpoints of files are not read."""
    return {}
