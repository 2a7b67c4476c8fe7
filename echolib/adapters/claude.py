"""Claude Code: where its sessions lie and how its files are read.

Layouts (client builds 1.0 to 2.1.332): <root>/projects/<key>/<id>.jsonl, subagents inline, as agent-*.jsonl beside the
main file (2.0.x) or under <id>/subagents/** (2.1.14 and later), large tool output under <id>/tool-results/.
"""
import os
from errno import ELOOP

from ..base import paths
from ..base.files import json_object, open_regular
from . import Session, Source, Store

NAME = 'claude'
GROWS = True
BY_STAT = True
CLEANED = True
STORES = (
    Store('claude.projects_jsonl.v1', 'projects/<key>/<session>.jsonl', True, 'main transcripts'),
    Store('claude.subagents_jsonl.v1', 'projects/<key>/agent-<id>.jsonl', True, 'subagents of 2.0.x, tied by content'),
    Store('claude.subagents_jsonl.v2', 'projects/<key>/<session>/subagents/**/agent-<id>.jsonl', True, 'subagents since 2.1.14'),
    Store('claude.tool_results.v1', 'projects/<key>/<session>/tool-results/*', True, 'large tool output, read where a result names it'),
    Store('claude.history_jsonl.v1', 'history.jsonl', True, 'prompts; used for sessions whose transcript is gone'),
    Store('claude.sessions_index.v1', 'projects/<key>/sessions-index.json', True, 'adds titles (2.0.77 to 2.1.14), never decides what exists'),
    Store('claude.file_history', 'file-history/<session>/*', False, 'backups of edited files, named by snapshots'),
    Store('claude.todos', 'todos/, tasks/, plans/', False, 'task lists and plans, not conversation'),
    Store('claude.foreign_transcripts', 'transcripts/ses_*.jsonl', False, "another agent's plugin writes these"),
)
_SUFFIX = '.jsonl'
# As the archive keeps them.
_PACKED = '.jsonl.gz'
_ENDINGS = (_SUFFIX, _PACKED)
_AGENT_HEAD = 'agent-'


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: $CLAUDE_CONFIG_DIR (a comma list, each also as its projects
    folder), else ~/.claude and $XDG_CONFIG_HOME/claude (~/.config/claude)."""
    named = environ.get('CLAUDE_CONFIG_DIR')
    if named:
        found = []
        for one in named.split(','):
            one = os.path.abspath(os.path.expanduser(one.strip())) if one.strip() else ''
            if one and os.path.basename(one) == 'projects':
                one = os.path.dirname(one)
            if one and one not in found:
                found.append(one)
        return found
    home = paths.home()
    if not home:
        return []
    config = environ.get('XDG_CONFIG_HOME') or os.path.join(home, '.config')
    return [os.path.join(home, '.claude'), os.path.join(config, 'claude')]


def owns(path):
    """True for a path that looks like a Claude Code transcript: by its place, else by its first records."""
    parts = path.replace('\\', '/').split('/')
    if not parts[-1].endswith(_ENDINGS):
        return False
    if 'projects' in parts[:-1] and ('subagents' in parts or len(parts) > 2 and parts[-3] == 'projects'):
        return True
    if not os.path.isfile(path):    # opening a pipe would wait for its writer
        return False
    from ..records import parse_line
    try:
        with open_regular(path) as handle:
            for _ in range(20):
                line = handle.readline(1 << 20)
                if not line:
                    break
                for record in parse_line(line)[0]:
                    if record.get('type') in ('user', 'assistant', 'system', 'summary') and (
                            'sessionId' in record or 'leafUuid' in record):
                        message = record.get('message')
                        # Qwen Code's records differ from these in little else.
                        return not (type(message) is dict and 'parts' in message)
    except OSError:
        return False
    return False


def _agent_id(name):
    """-> the id in a subagent's file name, '' for any other name."""
    return stem(name)[6:] if name.startswith(_AGENT_HEAD) and name.endswith(_ENDINGS) else ''


def stem(name):
    """-> a transcript's name without its ending."""
    return name[:-9] if name.endswith(_PACKED) else name[:-6]


def _listing(path, problems):
    """The entries of a folder; [] and a problem when it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError as error:
        problems.append((path, error.strerror or str(error)))
        return []


def scan(root, problems, visited=None):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every transcript under a root.

    By folder listings and stat alone. problems: list that gets (path, reason) for each folder that cannot be listed; a
    missing projects folder is one. visited: list that gets every place where a transcript may come to be. role is main,
    agent or loose (an agent file whose session, None here, only its records name: see head).
    """
    visited = [] if visited is None else visited
    try:
        stat = os.stat(os.path.join(root, 'history.jsonl'))
        yield os.path.join(root, 'history.jsonl'), stat.st_size, stat.st_mtime_ns, 'history', 'history', 'history', ''
    except OSError:
        # Clients before 1.0.128 keep no history of prompts.
        visited.append(os.path.join(root, 'history.jsonl'))
    projects = os.path.join(root, 'projects')
    visited.append(projects)
    real_projects = None
    seen = set()
    for folder in _listing(projects, problems):
        if folder.is_symlink():
            visited.append(folder.path)
            real_projects = real_projects or os.path.realpath(projects)
            real = os.path.realpath(folder.path)
            # Its target is visited in its own place, or leads back up.
            if (real + os.sep).startswith(real_projects + os.sep) or (real_projects + os.sep).startswith(real + os.sep) or real in seen:
                continue
            seen.add(real)
        try:
            if not folder.is_dir():
                continue
        except OSError:
            # Gone, or a link that leads nowhere.
            continue
        for found in _project(folder.name, folder.path, problems, visited):
            yield found


def _project(folder, path, problems, visited):
    found, folders = [], []
    visited.append(path)
    for entry in _listing(path, problems):
        name = entry.name
        if name.endswith(_ENDINGS):
            if name == _SUFFIX:
                continue
            try:
                if not entry.is_file(follow_symlinks=False) and (
                        not entry.is_file() or _listed_elsewhere(os.path.realpath(entry.path), path)):
                    visited.append(entry.path)
                    continue
                stat = entry.stat()
            except OSError:
                # Removed since the folder was listed.
                continue
            if name.startswith(_AGENT_HEAD):
                found.append((entry.path, stat.st_size, stat.st_mtime_ns, 'loose', stem(name)[6:], None, folder))
            else:
                found.append((entry.path, stat.st_size, stat.st_mtime_ns, 'main', '', stem(name), folder))
        elif '.' not in name and name != 'memory':
            folders.append(entry)
    for entry in folders:
        _subagents(os.path.join(entry.path, 'subagents'), entry.name, folder, problems, found, visited)
    return found


def _listed_elsewhere(target, folder):
    """True when the target of a link is a transcript that stands in this project folder or in another one."""
    where = os.path.dirname(target)
    return target.endswith(_SUFFIX) and (
        where == os.path.realpath(folder) or os.path.dirname(where) == os.path.realpath(os.path.dirname(folder)))


def _subagents(path, session, folder, problems, found, visited, depth=0):
    """Add the transcripts of a session's subagents, however deep, to a list."""
    visited.append(path)
    try:
        with os.scandir(path) as entries:
            entries = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if error.errno != ELOOP:        # a link to itself holds nothing
            problems.append((path, error.strerror or str(error)))
        return
    for entry in entries:
        name = entry.name
        try:
            agent = _agent_id(name)
            if agent:
                if entry.is_file():
                    stat = entry.stat()
                    found.append((entry.path, stat.st_size, stat.st_mtime_ns, 'agent', agent, session, folder))
            elif '.' not in name and depth < 8 and entry.is_dir(follow_symlinks=False):
                _subagents(entry.path, session, folder, problems, found, visited, depth + 1)
        except OSError:
            # Removed since the folder was listed.
            continue


def discover(root, problems):
    """Yield the Sessions under a root, by listing folders and stat alone (see scan).

    A Session with id None holds one loose agent file. The parent transcript of subagents is often gone (cleaned up):
    their tree stands without it.
    """
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        if role == 'history':
            continue
        source = Source(path, role, chain, session, size, mtime)
        if session is None:
            yield Session(NAME, root, None, folder, (source,))
        else:
            trees.setdefault((folder, session), []).append(source)
    for folder, session in trees:
        files = trees[folder, session]
        files.sort(key=lambda f: (f.role != 'main', f.path))
        yield Session(NAME, root, session, folder, tuple(files))


def session_at(path):
    """-> Session with the whole tree of the transcript at `path` (a main file, or one subagent's)."""
    folder, name = os.path.split(path)
    agent = _agent_id(name)
    if agent:
        role = 'agent' if os.sep + 'subagents' + os.sep in path else 'loose'
        sid = head(path).get('session') if role == 'loose' else session_folder(Source(path, role, '', '', 0, 0)).rsplit(os.sep, 1)[-1]
        return Session(NAME, '', sid, os.path.basename(folder), (Source(path, role, agent, sid, 0, 0),))
    sid = stem(name) if name.endswith(_ENDINGS) else name
    files = [Source(path, 'main', '', sid, 0, 0)]
    problems, agents = [], []
    _subagents(os.path.join(folder, sid, 'subagents'), sid, '', problems, agents, [])
    for found in agents:
        files.append(Source(found[0], 'agent', found[4], sid, found[1], found[2]))
    for entry in _listing(folder, problems):
        loose = _agent_id(entry.name)
        if loose and head(entry.path).get('session') == sid:
            files.append(Source(entry.path, 'loose', loose, sid, 0, 0))
    files[1:] = sorted(files[1:], key=lambda s: s.path)
    return Session(NAME, os.path.dirname(os.path.dirname(folder)), sid, os.path.basename(folder), tuple(files))


def head(path, also=()):
    """-> {'session': id} of a loose agent file: the session its first records name.

    also: further folders where that session's main file may lie (the archive's).

    2.0.77 starts warm-up agents under a throw-away id whose own file stays empty, and names the real session a record
    later; so a session whose main file holds something wins.
    """
    from ..records import read_records
    first = None
    folder = os.path.dirname(path)
    try:
        for record in read_records(path, limit=6):
            session = record.data.get('sessionId')
            if type(session) is not str or not session or os.sep in session:
                continue
            first = first or session
            if any(_holds_something(os.path.join(where, session)) for where in (folder,) + tuple(also)):
                return {'session': session}
    except OSError:
        return {'session': None}
    return {'session': first}


def _holds_something(path):
    for end in _ENDINGS:
        try:
            if os.stat(path + end).st_size:
                return True
        except (OSError, ValueError):
            # No such file, or no possible file name.
            continue
    return False


def read(source, coverage, offset=0, line=0, state=None, noise=False):
    """Yield the events of one file of a tree, in file order: a list for each record.

    source: a Source.  coverage: filled while reading; after each list it says how far the file is read.  offset, line,
    state: where and how an earlier reading ended (state is changed in place).  noise=True decodes bookkeeping lines
    too.  Raises OSError when the file cannot be opened.
    """
    from ..records import read_records
    from .claude_parse import Parser, history_events, is_noise_line
    if source.role == 'history':
        for record in read_records(source.path, coverage, offset, line):
            yield history_events(record)
        return
    state = {} if state is None else state
    parser = Parser(coverage, 'main' if source.role == 'main' else 'agent', source.chain, source.session, state)
    make = parser.events
    for record in read_records(source.path, coverage, offset, line, None if noise else is_noise_line):
        yield make(record)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turn numbers apart)."""
    from ..records import Coverage, Record, read_at
    from .claude_parse import Parser, history_events
    if source.role == 'history':
        return [e for data in read_at(source.path, offset, length) for e in history_events(Record(data, 0, offset, length))]
    parser = Parser(Coverage(source.path), 'main' if source.role == 'main' else 'agent', source.chain, source.session,
                    dict(state or ()))
    out = []
    for data in read_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def spill_path(source, named):
    """-> the file under the session's own tool-results folder that a result names, '' when there is none there.

    Only the name is taken from the record (the path may be another machine's), and links that lead out are refused.
    """
    name = named.replace('\\', '/').rsplit('/', 1)[-1]
    if not name or name.startswith('.'):
        return ''
    folder = os.path.join(session_folder(source), 'tool-results')
    if source.path.endswith('.gz'):
        name += '.gz'
    path = os.path.join(folder, name)
    try:
        inside = os.path.realpath(path) == os.path.join(os.path.realpath(folder), name) and os.path.isfile(path)
    except ValueError:      # a NUL or a lone surrogate, which no file name has
        return ''
    return path if inside else ''


def session_folder(source):
    """The folder of a session's side files, for any file of its tree."""
    if source.role == 'main':
        return os.path.join(os.path.dirname(source.path), stem(os.path.basename(source.path)))
    if source.role == 'loose':
        return os.path.join(os.path.dirname(source.path), source.session or '')
    at = source.path.rfind(os.sep + 'subagents' + os.sep)
    return source.path[:at] if at > 0 else os.path.dirname(source.path)


def spill_text(path, limit=0):
    """-> the text of a spilled tool result (.txt as it is; .json: an array of text blocks)."""
    from ..records import open_bytes
    with open_bytes(path) as handle:
        raw = handle.read(limit) if limit else handle.read()
    text = raw.decode('utf-8', 'replace')
    if path.endswith(('.json', '.json.gz')):
        from ..base import bounded_json
        try:
            from .claude_parse import result_text
            return result_text(bounded_json.loads(text, bounded_json.DOCUMENT))
        except (ValueError, RecursionError):
            return text
    return text


def side_files(path):
    """-> paths of the spilled tool output of a main transcript."""
    folder = os.path.join(session_folder(Source(path, 'main', '', '', 0, 0)), 'tool-results')
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(('.txt', '.json'))]
    except OSError:
        # Most sessions spilled nothing.
        return []


def listed(root):
    """-> set of ids of the sessions that the client's lists name (sessions-index.json of each project's folder)."""
    from .lookup import client_index
    top = os.path.join(root, 'projects')
    try:
        folders = [os.path.join(top, name) for name in os.listdir(top)]
    except OSError:
        # No root, no list.
        return set()
    return set(entry['sessionId'] for folder in folders for entry in client_index(folder) if type(entry.get('sessionId')) is str)


def agent_facts(path):
    """-> dict of a subagent's sidecar (agentType, description, toolUseId, ...); {} when it cannot be read."""
    return json_object(path)


def agent_type(source):
    """-> the type a subagent's sidecar declares, '' without one."""
    kind = agent_facts(source.path[:-len('.jsonl')] + '.meta.json').get('agentType')
    return kind if type(kind) is str else ''


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['claude', '--resume', session_id]


def billed(session):
    """Claude Code keeps no ledger of its calls beside the transcript (cost-state is a running total): None."""
    return None


def branches(path):
    """-> (number of branch ends, ids of rows that lie on a branch the person went back from).

    Going back (Esc Esc) gives one row several prompts as children; the newest one leads on.
    """
    parent, order, prompts = {}, [], {}
    for uuid, above, is_prompt in _links(path):
        if is_prompt and above is not None and uuid not in parent:
            prompts.setdefault(above, []).append(uuid)
        if uuid not in parent:
            parent[uuid] = above
            order.append(uuid)
    left = set()
    for siblings in prompts.values():
        left.update(siblings[:-1])
    ends = 1 + len(left)
    if left:
        for uuid in order:
            if parent[uuid] in left:
                left.add(uuid)
    return ends, set(uuid.decode('utf-8', 'replace') for uuid in left)


def orphan_parents(path):
    """-> number of rows that others of the file follow and that are not in it."""
    ids, parents = set(), set()
    for uuid, above, _ in _links(path):
        ids.add(uuid)
        if above is not None:
            parents.add(above)
    return len(parents - ids)


def _links(path):
    """Yield (id, parent's id or None, whether a person typed it) of the rows of a file, ids as bytes.

    Only what may be a prompt is decoded; of other rows the ids are read from their bytes (a row begins with its parent's).
    """
    from ..records import open_bytes, parse_line
    from .claude_user import is_real_prompt
    with open_bytes(path) as handle:
        for line in handle:
            usual = line.startswith((b'{"parentUuid":"', b'{"parentUuid":null'))
            if usual:
                at = line.rfind(b'"uuid":"')
                uuid, above, typed = line[at + 8:at + 44] if at > 0 else b'', line[15:51] if line[14:15] == b'"' else None, False
            elif b'"parentUuid"' not in line:
                continue
            if not usual or b'"type":"user"' in line and b'"tool_result"' not in line and b'"isSidechain":true' not in line[:200]:
                found = parse_line(line)[0]
                ids = [_bytes(found[0].get(name)) for name in ('uuid', 'parentUuid')] if found else [b'', None]
                typed = bool(ids[0]) and is_real_prompt(found[0])
                if typed or not usual:
                    # Another program's hand, or a restored copy, has spaces and another order of fields.
                    uuid, above = ids
            if uuid:
                yield uuid, above, typed


def _bytes(text):
    return text.encode('utf-8', 'replace') if type(text) is str else None


_FILE_TOOLS = {'Edit': 'edit', 'Write': 'write', 'MultiEdit': 'edit', 'NotebookEdit': 'edit', 'Read': 'read', 'NotebookRead': 'read'}


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    what = _FILE_TOOLS.get(name)
    path = (given.get('file_path') or given.get('notebook_path')) if type(given) is dict else None
    return [(what, path)] if what and type(path) is str and path else []


def refusal_words(text):
    """-> what the person wrote when refusing a tool call, '' where the result of the call holds nothing of it."""
    return text.partition('the user said:\n')[2].strip()


def file_versions(path):
    """-> {path: highest version} of the files whose backups the session's snapshots name."""
    from ..records import read_records
    out = {}
    for record in read_records(path):
        data = record.data
        if data.get('type') == 'file-history-snapshot':
            snapshot = data.get('snapshot')
            backups = snapshot.get('trackedFileBackups') if type(snapshot) is dict else None
        elif data.get('type') == 'file-history-delta' and type(data.get('trackingPath')) is str:
            backups = {data['trackingPath']: data.get('backup')}
        else:
            continue
        for name, backup in backups.items() if type(backups) is dict else ():
            version = backup.get('version') if type(backup) is dict else None
            if type(version) is int:
                out[name] = max(version, out.get(name, 0))
    return out


def inherited(path, session):
    """-> number of rows in a main file that say they are another session's (copied by a fork)."""
    from ..records import read_records
    from .claude_parse import is_noise_line
    count = 0
    for record in read_records(path, skip=is_noise_line):
        named = record.data.get('sessionId')
        if 'uuid' in record.data and (type(named) is str and named != session or 'forkedFrom' in record.data):
            count += 1
    return count
