"""Qwen Code: where its sessions lie and how its files are read.

<root>/projects/<key>/chats/<session>.jsonl holds a session: an envelope around Google's contents, and a row of telemetry for
every call, also of subagents and of the client itself. Newer clients write subagents' own transcripts beside it, in
<root>/projects/<key>/subagents/<session>/.
"""
import os

from . import Session, Source, Store
from .plain import by_session, file_below, file_text, listing as _listing, sessions_of, side_files, told_files  # noqa: F401

NAME = 'qwen'
GROWS = True
CLEANED = False
# A session's telemetry names its subagents, whether or not they have transcripts.
NAMES_AGENTS = True
STORES = (
    Store('qwen.chats_jsonl.v1', 'projects/<key>/chats/<session>.jsonl', True, 'sessions, with a row of telemetry for every call'),
    Store('qwen.subagents_jsonl.v1', 'projects/<key>/subagents/<session>/agent-<id>.jsonl', True, 'what subagents said and did (newer clients)'),
    Store('qwen.tool_outputs', 'tmp/<hash>/*.output', True, 'whole outputs that a result was cut from'),
    Store('qwen.usage_record.v1', 'usage_record.jsonl', True, "the client's own sums of a session, a row each time it ended"),
    Store('qwen.subagents_meta.v1', 'projects/<key>/subagents/<session>/agent-<id>.meta.json', True, 'the model of a subagent whose session is gone'),
    Store('qwen.stream', 'projects/<key>/subagents/<session>/agent-<id>.jsonl.stream', False, 'text that is still being written'),
    Store('qwen.tmp_chats', 'tmp/<hash>/chats/*, tmp/<hash>/logs.json', False, 'clients before late 2025'),
    Store('qwen.project_files', 'projects/<key>/memory/*, projects/<key>/meta.json, projects/<key>/extract-cursor.json, todos/*', False, 'memory, to-do lists'),
    Store('qwen.settings', 'settings.json, oauth_creds.json', False, 'settings and credentials, never opened'),
)
# Tools that touch a file: (what they do, field of their input that names it).
FILE_TOOLS = {'edit': ('edit', 'file_path'), 'replace': ('edit', 'file_path'), 'write_file': ('write', 'file_path'), 'read_file': ('read', 'file_path')}
_END = '.jsonl'
_AGENT = 'agent-'


def roots(environ=os.environ):
    """-> list of data folders, whether they exist or not: $QWEN_DATA_DIR, else $QWEN_RUNTIME_DIR and $QWEN_HOME (~/.qwen)."""
    found = []
    if environ.get('QWEN_DATA_DIR'):
        found = environ['QWEN_DATA_DIR'].split(',')
    else:
        from ..base import paths
        home = paths.home()
        found = [environ.get('QWEN_RUNTIME_DIR') or '', environ.get('QWEN_HOME') or (os.path.join(home, '.qwen') if home else '')]
    found = [os.path.abspath(os.path.expanduser(one.strip())) for one in found if one.strip()]
    return [path for n, path in enumerate(found) if path not in found[:n]]


def owns(path):
    """True for a path that looks like one of Qwen Code's transcripts: by its place, else by its first records."""
    parts = path.replace('\\', '/').split('/')
    if not parts[-1].endswith(_END):
        return False
    if 'projects' in parts[:-1] and len(parts) > 3:
        if parts[-4] == 'projects' and parts[-2] == 'chats':
            return True
        if len(parts) > 4 and parts[-5] == 'projects' and parts[-3] == 'subagents' and parts[-1].startswith(_AGENT):
            return True
    if not os.path.isfile(path):
        return False
    from ..records import read_records
    try:
        for record in read_records(path, limit=5):
            if type(record.data.get('sessionId')) is str and (type(record.message.get('parts')) is list or 'systemPayload' in record.data):
                return True
    except OSError:
        return False
    return False


def _row(entry, *more):
    try:
        if not entry.is_file():
            return ()
        stat = entry.stat()
    except OSError:
        # Removed since the folder was listed.
        return ()
    return ((entry.path, stat.st_size, stat.st_mtime_ns) + more,)


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session and subagent under a root.

    By folder listings and stat alone. problems: list that gets (path, reason) for each folder that cannot be listed; a
    missing projects folder is one.
    """
    projects = os.path.join(root, 'projects')
    if not os.path.isdir(projects):
        try:
            os.listdir(projects)
        except OSError as error:
            problems.append((projects, error.strerror or str(error)))
        return
    for project in _listing(projects, problems):
        for entry in _listing(os.path.join(project.path, 'chats'), problems):
            if entry.name.endswith(_END) and entry.name != _END:
                for row in _row(entry, 'main', '', entry.name[:-6], project.name):
                    yield row
        for session in _listing(os.path.join(project.path, 'subagents'), problems):
            for entry in _listing(session.path, problems):
                if entry.name.startswith(_AGENT) and entry.name.endswith(_END):
                    for row in _row(entry, 'agent', entry.name[len(_AGENT):-6], session.name, project.name):
                        yield row


def discover(root, problems):
    """Yield the Sessions under a root, by listing folders and stat alone (see scan)."""
    yield from sessions_of(NAME, root, by_session(scan(root, problems)))


def project_dir(path):
    """-> the project's folder (below projects) that a transcript lies in."""
    folder = os.path.dirname(os.path.dirname(path))
    return os.path.dirname(folder) if os.path.basename(folder) == 'subagents' else folder


def agents_dir(path, session):
    """-> the folder of the transcripts of a session's subagents."""
    return os.path.join(project_dir(path), 'subagents', session)


def transcript_of(path, session):
    """-> the path a session of the same project has its transcript at, whether or not there is one."""
    return os.path.join(project_dir(path), 'chats', session + _END)


def session_at(path):
    """-> Session of the transcript at `path` with its subagents' (or of one subagent's alone)."""
    facts = head(path)
    project = project_dir(path)
    files = [Source(path, facts['role'], facts['chain'], facts['session'], 0, 0)]
    if facts['role'] == 'main':
        for entry in _listing(agents_dir(path, facts['session']), []):
            if entry.name.startswith(_AGENT) and entry.name.endswith(_END):
                files += [Source(row[0], 'agent', entry.name[len(_AGENT):-6], facts['session'], row[1], row[2]) for row in _row(entry)]
    return Session(NAME, os.path.dirname(os.path.dirname(project)), facts['session'], os.path.basename(project), tuple(files))


def head(path, also=()):
    """-> {'session': id, 'role': main or agent, 'chain': the subagent's id or ''} of a transcript, by its place."""
    name = os.path.basename(path)
    stem = name[:-6] if name.endswith(_END) else name
    if os.path.basename(os.path.dirname(os.path.dirname(path))) == 'subagents' and stem.startswith(_AGENT):
        return {'session': os.path.basename(os.path.dirname(path)), 'role': 'agent', 'chain': stem[len(_AGENT):]}
    return {'session': stem, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one transcript, in file order: a list for each record (see the protocol)."""
    from ..records import read_records
    from .qwen_parse import Parser
    parser = Parser(coverage, source, {} if state is None else state)
    for record in read_records(source.path, coverage, offset, line):
        yield parser.events(record)


def events_at(source, offset, length, state=None):
    """-> list of events of the one line at `offset`, as read() gives them (turn numbers apart)."""
    from ..records import Coverage, Record, read_at
    from .qwen_parse import Parser
    parser = Parser(Coverage(source.path), source, {})
    out = []
    for data in read_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def spill_path(source, named):
    """-> the file below the root's own tmp folder that a result names, '' when there is none there.

    Only the names are taken from the record (the path may be another machine's), and links that lead out are refused.
    """
    inside = [part for part in named.replace('\\', '/').split('/') if part][-2:]
    if len(inside) < 2 or any(part.startswith('.') for part in inside):
        return ''
    folder = os.path.join(os.path.dirname(os.path.dirname(project_dir(source.path))), 'tmp')
    return file_below(folder, *inside)
    return ''


def spill_text(path, limit=0):
    """-> the text of a spilled tool result."""
    return file_text(path, limit)


def resume(session_id, project):
    """-> argument list of the command that reopens a session (run in its project directory)."""
    return ['qwen', '--resume', session_id]


def billed(session):
    """-> the client's own sums of a session, one row a model {model, time, calls, input, output, cache_read, thoughts}; None
    without any. input holds what came from the cache; thoughts may be part of output."""
    from .qwen_usage import sums
    return sums(os.path.join(session.root, 'usage_record.jsonl'), session.id)


def branches(path):
    """-> (number of branch ends, ids of rows that the person went back behind)."""
    from .qwen_usage import rewound
    return rewound(path)


def inherited(path, session):
    """-> number of rows that a branch copied from the session it left."""
    from .qwen_usage import copied
    return copied(path)


def files_of(name, given):
    """-> list of (what, path) a tool call does to files: what is edit, write or read."""
    return told_files(FILE_TOOLS, name, given)
