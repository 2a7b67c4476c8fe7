"""Kimi: where its sessions lie and how its files are read, in both layouts.

Kimi CLI (Python, ~/.kimi): sessions/<md5 of the directory>/<id>/wire.jsonl, subagents below it. Kimi Code (TypeScript,
~/.kimi-code): sessions/wd_<name>_<hash>/<id>/agents/<agent>/wire.jsonl. What a folder holds tells which one it is.
"""
import os
import sys

from ..base import paths
from ..base.files import json_object, open_regular
from . import Session, Source, Store
from .plain import by_session, file_below, file_text, marked_time, sessions_of

# What --agent takes and every output prints, for both clients.
NAME = 'kimi_code'
CLEANED = False
GROWS = True
STORES = (
    Store('kimi.cli_wire_jsonl.v1', 'sessions/<md5>/<session>/wire.jsonl', True, 'Kimi CLI: the stream of events; wire 1.1 to 1.10'),
    Store('kimi.cli_subagents.v1', 'sessions/<md5>/<session>/subagents/<agent>/wire.jsonl', True,
          'Kimi CLI 1.6 wire and later; older ones nest subagents in the main file'),
    Store('kimi.cli_context_jsonl.v1', 'sessions/<md5>/<session>/context.jsonl', True,
          'what the model was sent: read where there is no wire.jsonl, and for summaries of compactions'),
    Store('kimi.cli_context_jsonl.v0', 'sessions/<md5>/<session>.jsonl', True, 'the same, before sessions had folders'),
    Store('kimi.cli_context_old', 'sessions/<md5>/<session>/context_<n>.jsonl', True,
          'contexts before a compaction: only for the summary they begin with'),
    Store('kimi.cli_context_sub', 'sessions/<md5>/<session>/context_sub_<n>.jsonl', False,
          'contexts of subagents; the main file tells their events'),
    Store('kimi.cli_state.v1', 'sessions/<md5>/<session>/state.json', True, 'title (metadata.json before wire 1.9)'),
    Store('kimi.cli_index.v1', 'kimi.json', True, 'directories of sessions, whose names are only their md5'),
    Store('kimi.cli_config', 'config.toml, config.json', True, 'the default model: no transcript of this client names one'),
    Store('kimi.code_wire_jsonl.v1', 'sessions/wd_*/<session>/agents/<agent>/wire.jsonl', True, 'Kimi Code: wire 1.0 to 1.5'),
    Store('kimi.code_state.v1', 'sessions/wd_*/<session>/state.json', True, 'title, directory, fork; versions 1 and 2'),
    Store('kimi.code_index.v1', 'session_index.jsonl, workspaces.json', True, 'the directory, where state.json has none'),
    Store('kimi.code_tasks.v1', 'sessions/wd_*/<session>/agents/<agent>/tasks/<task>/output.log', True,
          'large tool output, read where a result names it'),
    Store('kimi.code_blobs', 'sessions/wd_*/<session>/agents/<agent>/blobs/*', False, 'pictures and other media'),
    Store('kimi.code_file_history', 'file-history/, sessions/wd_*/<session>/agents/<agent>/file-history/*', False,
          'backups of edited files'),
    Store('kimi.user_history', 'user-history/<md5>.jsonl', False, 'typed lines without time or session'),
    Store('kimi.code_caches', 'sessions/.index-cache/, cache/, telemetry/, logs/', False, 'made from the transcripts, or traces'),
)
_WIRE, _CONTEXT, _STATE = 'wire.jsonl', 'context.jsonl', 'state.json'
_AGENTS, _SUBAGENTS, _STATE_PATH = os.sep + 'agents', os.sep + 'subagents', os.sep + _STATE
# Where programs with Kimi Code inside keep its home; looked at where they are there.
_EMBEDDED = {'darwin': ('Library/Application Support/kimi-desktop',), 'win32': ('AppData/Roaming/kimi-desktop',)}
_EMBEDDED_HOME = 'daimon-share/daimon/runtime/kimi-code/home'


def roots(environ=os.environ):
    """-> list of root folders: $KIMI_SHARE_DIR or ~/.kimi, and $KIMI_CODE_HOME or ~/.kimi-code, whether they exist or not;
    then those of programs that have Kimi Code inside, where they exist."""
    home = paths.home()
    found = []
    for name, default in (('KIMI_SHARE_DIR', '.kimi'), ('KIMI_CODE_HOME', '.kimi-code')):
        named = environ.get(name)
        if named:
            found.append(os.path.abspath(os.path.expanduser(named)))
        elif home:
            found.append(os.path.join(home, default))
    if home:
        more = [os.path.join(home, where, _EMBEDDED_HOME)
                for where in _EMBEDDED.get(sys.platform, ('.config/kimi-desktop', '.local/share/kimi-desktop'))]
        found.extend(where for where in more + [os.path.join(home, '.kimix')] if os.path.isdir(where))
    return [where for number, where in enumerate(found) if where not in found[:number]]


def owns(path):
    """True for a path that looks like a transcript of Kimi: by its place, else by its first record."""
    parts = path.replace('\\', '/').split('/')
    if not parts[-1].endswith('.jsonl'):
        return False
    if 'sessions' in parts[:-1] and parts[-1] in (_WIRE, _CONTEXT):
        if len(parts) > 5 and parts[-3] == 'agents' and parts[-6] == 'sessions' or len(parts) > 5 and parts[-3] == 'subagents':
            return True
        if len(parts) > 3 and parts[-4] == 'sessions' and _is_hash(parts[-3]):
            return True
    if not os.path.isfile(path):    # opening a pipe would wait for its writer
        return False
    from ..records import parse_line
    try:
        with open_regular(path) as handle:
            found = parse_line(handle.readline(1 << 16))[0]
    except OSError:
        return False
    if not found:
        return False
    first = found[0]
    return (first.get('type') == 'metadata' and 'protocol_version' in first
            or 'timestamp' in first and type(first.get('message')) is dict and 'payload' in first['message'])


def _is_hash(name):
    """True for the folder name of a directory: 32 hexadecimal digits, behind the name of a remote host or not."""
    tail = name.rsplit('_', 1)[-1]
    return len(tail) == 32 and all(c in '0123456789abcdef' for c in tail)


def _listing(path, problems):
    """The entries of a folder; [] and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every transcript under a root.

    By folder listings and stat alone (and kimi.json, for Kimi CLI); see the protocol. A main file's size and time hold those of
    the session's state.json, so that a new title is seen; of Kimi CLI the time also tells which directory the folder stands
    for and which subagents have files, since what the main file says of those is then not counted.
    """
    top, known = os.path.join(root, 'sessions'), None
    for folder in _listing(top, problems):
        if folder.name.startswith('.') or not _is_folder(folder, top):
            continue
        directory = ''
        if _is_hash(folder.name):
            known = directories(root) if known is None else known
            directory = known.get(folder.name.rsplit('_', 1)[-1], '')
        for entry in _listing(folder.path, problems):
            if entry.name.endswith('.jsonl'):
                stat = _stat_of(entry.path)
                if stat is not None and entry.name != '.jsonl' and not _is_folder(entry, top):
                    yield entry.path, stat.st_size, marked_time(stat.st_mtime_ns, directory), 'main', '', entry.name[:-6], folder.name
            elif '.' not in entry.name and _is_folder(entry, top):
                for found in _session(entry.path, entry.name, folder.name, problems, directory):
                    yield found


def _is_folder(entry, top):
    """True for a folder that is to be looked into: a link to what lies under `top` is visited in its own place."""
    try:
        if not entry.is_dir():
            return False
        if not entry.is_symlink():
            return True
    except OSError:
        # Gone, or a link that leads nowhere.
        return False
    target, above = os.path.realpath(entry.path) + os.sep, os.path.realpath(top) + os.sep
    return not target.startswith(above) and not above.startswith(target)


def directories(root):
    """-> {md5: directory} of the directories in kimi.json, by which Kimi CLI names the folders of their sessions."""
    from hashlib import md5
    listed, found = json_object(os.path.join(root, 'kimi.json')).get('work_dirs'), {}
    for one in listed if type(listed) is list else ():
        path = one.get('path') if type(one) is dict else None
        if type(path) is str and path:
            found.setdefault(md5(path.encode('utf-8', 'surrogatepass')).hexdigest(), path)
    return found


def _session(path, sid, folder, problems, directory=''):
    """Yield the rows of one session folder of either layout, without listing the folder itself (each call counts)."""
    agents = _members(path + _AGENTS, problems)
    if agents is not None:
        for chain, wire, stat in agents:
            if chain == 'main':
                yield _main(path, wire, stat, sid, folder)
            else:
                yield wire, stat.st_size, stat.st_mtime_ns, 'agent', _chain(chain, sid), sid, folder
        return
    found = None
    for name in (_WIRE, _CONTEXT):
        wire = os.path.join(path, name)
        stat = _stat_of(wire)
        if stat is not None and (found is None or stat.st_size):
            found = wire, stat
            if stat.st_size:
                # An empty wire.jsonl tells less than the context beside it.
                break
    members = _members(path + _SUBAGENTS, problems) or ()
    if found is not None:
        wire, size, mtime, role, chain, sid, folder = _main(path, found[0], found[1], sid, folder)
        yield wire, size, marked_time(mtime, '\n'.join([directory] + [name for name, _, _ in members])), role, chain, sid, folder
    for chain, wire, stat in members:
        yield wire, stat.st_size, marked_time(stat.st_mtime_ns, directory), 'agent', chain, sid, folder


def _stat_of(path):
    try:
        return os.stat(path)
    except OSError:
        # Not there, or a link that leads nowhere.
        return None


def _main(path, wire, stat, sid, folder):
    size, mtime = stat.st_size, stat.st_mtime_ns
    state = _stat_of(path + _STATE_PATH) if size else None
    if state is not None:
        size, mtime = size + state.st_size, max(mtime, state.st_mtime_ns)
    return wire, size, mtime, 'main', '', sid, folder


def _members(path, problems):
    """-> list of (name, path, stat) of the agents' wire.jsonl below a folder by name, None where there is no such folder."""
    try:
        with os.scandir(path) as entries:
            names = sorted(entry.name for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []
    found = [(name, os.path.join(path, name, _WIRE)) for name in names if not name.startswith('.')]
    found = [(name, wire, _stat_of(wire)) for name, wire in found]
    return [one for one in found if one[2] is not None]


def _chain(agent, sid):
    """The id of a subagent of Kimi Code, which counts them anew in each session."""
    return '%s.%s' % (agent, sid.replace('-', '')[-12:])


def discover(root, problems):
    """Yield the Sessions under a root, by listing folders and stat alone (see scan)."""
    yield from sessions_of(NAME, root, by_session(scan(root, problems)))


def session_at(path):
    """-> Session with the whole tree of the transcript at `path` (a main file, or one subagent's)."""
    folder = _folder_of(path)
    if not folder:
        sid = os.path.basename(path)[:-6]
        return Session(NAME, '', sid, os.path.basename(os.path.dirname(path)), (Source(path, 'main', '', sid, 0, 0),))
    sid, group = os.path.basename(folder), os.path.dirname(folder)
    files = [Source(*(found[:1] + found[3:6] + found[1:3])) for found in _session(folder, sid, os.path.basename(group), [])]
    mine = [f for f in files if os.path.abspath(f.path) == os.path.abspath(path)]
    if not mine or mine[0].role != 'main':
        # Another file of the session than those that are listed, or a subagent's: that one alone.
        files = mine or [Source(path, 'main', '', sid, 0, 0)]
    files.sort(key=lambda f: (f.role != 'main', f.path))
    root = os.path.dirname(os.path.dirname(group)) if os.path.basename(os.path.dirname(group)) == 'sessions' else ''
    return Session(NAME, root, sid, os.path.basename(group), tuple(files))


def _folder_of(path):
    """-> the session folder of a transcript, '' for one that has none (a flat context file)."""
    folder, name = os.path.split(path)
    above = os.path.dirname(folder)
    if name == _WIRE and os.path.basename(above) in ('agents', 'subagents'):
        return os.path.dirname(above)
    return folder if name in (_WIRE, _CONTEXT) else ''


def head(path, also=()):
    """No file of Kimi is tied to its session by content alone: the session is the folder's name."""
    return {'session': os.path.basename(_folder_of(path)) or None}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file of a session, in file order: a list for each record; what state.json says comes first.

    source: a Source.  coverage: filled while reading; after each list it says how far the file is read.  offset, line,
    state: where and how an earlier reading ended (state is changed in place).  Raises OSError when the file cannot be
    opened.
    """
    from ..records import read_records
    from .kimi_files import parser_of
    state = {} if state is None else state
    parser, facts = parser_of(source, coverage, state)
    found = facts(state)
    if found:
        yield found
    make = parser.events
    for record in read_records(source.path, coverage, offset, line, getattr(parser, 'skip', None)):
        yield make(record)
    found = parser.close()
    if found:
        yield found


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turn numbers apart); length 0: of state.json."""
    from ..records import Coverage, read_at
    from .kimi_files import parser_of
    state = dict(state or ())
    parser, facts = parser_of(source, Coverage(source.path), state)
    if not length:
        return facts({})
    return parser.at(read_at(source.path, offset, length), offset, length)


def spill_path(source, named):
    """-> the file below the agent's own tasks folder that a result names, '' when there is none there.

    Only the last two names are taken from the record (the path may be another machine's); links that lead out are refused.
    """
    parts = named.replace('\\', '/').split('/')
    if len(parts) < 2 or any(not part or part.startswith('.') for part in parts[-2:]):
        return ''
    folder = os.path.join(os.path.dirname(source.path), 'tasks')
    return file_below(folder, parts[-2], parts[-1])


def spill_text(path, limit=0):
    """-> the text of a tool's whole output."""
    return file_text(path, limit)


def listed(root):
    """-> set of ids of the sessions that Kimi Code's session_index.jsonl names; the last row of an id counts."""
    from .kimi_files import listed as found
    return found(root)


def side_files(path):
    """Other files of a main transcript that are worth keeping with it: the session's state.json."""
    state = os.path.join(_folder_of(path), _STATE)
    return [state] if os.path.isfile(state) else []


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['kimi', '-S', session_id]


def billed(session):
    """The transcripts are the only ledger (usage.record and StatusUpdate rows): None."""
    return None
