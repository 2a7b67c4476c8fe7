"""Trae (ByteDance): where its sessions lie and how they are read. Three stores that have little in common:

cards that a memory agent of Trae CN writes of each conversation, chats of the editors (in databases of the kind VS Code
keeps), and rollouts of the command line client, which are those of the client it is a fork of. A chat has a path of its
own below its database's: .../state.vscdb/<session id>.
"""
import os
from collections import namedtuple

from ..base.files import open_regular
from . import Session, Source, Store, registry
from .plain import billed, listing as _listing, sessions_of, side_files, spill_path, spill_text  # noqa: F401

NAME = 'trae_cn'
# Cards and rollouts do; a chat says for itself that it does not (see read).
GROWS = True
CLEANED = False
TOKENS = 'cards and chats of Trae hold no token counts'
# Which rollouts are subagents' only their first records tell.
PLACED_BY_HEAD = True
STORES = (
    Store('trae_cn.memory_cards.v1', 'memory/projects/<slug>/<day>/session_memory_<id>.jsonl', True,
          'a summary of each exchange, not a transcript: no tokens, no tools'),
    Store('trae_cn.chats_vscdb.v1', 'workspaceStorage/<id>/state.vscdb, globalStorage/state.vscdb', True, 'chats of the editors; prompts and answers only'),
    Store('trae_cn.cli_rollouts.v2', 'cli/sessions/<year>/<month>/<day>/rollout-*.jsonl, cli/archived_sessions/rollout-*', True,
          'the command line client (TraeX): the same files as Codex writes'),
    Store('trae_cn.chats_encrypted', '../ModularData/ai-agent/database.db', False, 'chats of recent editors: encrypted'),
    Store('trae_cn.input_history', 'state.vscdb: icube-ai-agent-storage-input-history', False, 'typed texts without times or sessions'),
    Store('trae_cn.memory_notes', 'memory/user_profile.md, memory/projects/<slug>/project_memory.md, memory/projects/<slug>/<day>/topics.md',
          False, 'what the memory agent keeps for itself'),
)
_PROFILES = ('Trae', 'Trae CN', 'TRAE SOLO CN')
_DB_NAME = 'state.vscdb'
# A chat that holds anything. rank: the greater of two copies is the one to read.
Entry = namedtuple('Entry', 'id size mtime_ns rank')
_CARDS = 'session_memory_'
_SUFFIX = '.jsonl'


def roots(environ=os.environ):
    """-> list of root folders, whether they exist or not: ~/.trae-cn, ~/.trae, and the editors' profiles."""
    from ..base import paths
    home = paths.home()
    found = [os.path.join(home, name) for name in ('.trae-cn', '.trae')] if home else []
    base = config_folder(environ, home)
    return found + [os.path.join(base, name, 'User') for name in _PROFILES] if base else found


def config_folder(environ, home):
    """Where programs like VS Code keep their profiles on this system; '' without a home."""
    import sys
    if os.name == 'nt':
        return environ.get('APPDATA') or ''
    if not home:
        return ''
    if sys.platform == 'darwin':
        return os.path.join(home, 'Library', 'Application Support')
    return environ.get('XDG_CONFIG_HOME') or os.path.join(home, '.config')


def owns(path):
    """True for a path that looks like one of Trae's, by its name and place."""
    kind, parts = kind_of(path), path.replace('\\', '/').split('/')
    if kind == 'cards':
        return True
    if kind == 'rollout':
        return '.trae' in parts and 'cli' in parts
    return kind == 'chat' and any(name in parts for name in _PROFILES)


def kind_of(path):
    """-> cards, chat (also the database itself) or rollout."""
    parts = path.replace('\\', '/').rstrip('/').split('/')
    if parts[-1].startswith(_CARDS) and parts[-1].endswith(_SUFFIX):
        return 'cards'
    if _DB_NAME in parts[-2:]:
        return 'chat'
    return 'rollout' if parts[-1].startswith('rollout-') else ''


def scan(root, problems):
    """Yield (path, size, mtime_ns, role, chain, session, folder) of every session under a root.

    Cards and rollouts by folder listings and stat; of the editors' databases one value is read. A session of cards that
    goes over midnight has a file a day. problems: list that gets (path, reason) for each folder that cannot be listed
    and each database that cannot be read; a missing root is one.
    """
    if not os.path.isdir(root):
        try:
            os.listdir(root)
        except OSError as error:
            problems.append((root, error.strerror or str(error)))
        return
    for slug in _listing(os.path.join(root, 'memory', 'projects'), problems):
        for day in _listing(slug.path, problems):
            for entry in _listing(day.path, problems):
                if kind_of(entry.name) == 'cards':
                    try:
                        stat = entry.stat()
                    except OSError:
                        # Removed since the folder was listed.
                        continue
                    yield entry.path, stat.st_size, stat.st_mtime_ns, 'main', '', entry.name[len(_CARDS):-len(_SUFFIX)], slug.name
    cli = os.path.join(root, 'cli')
    if os.path.isdir(os.path.join(cli, 'sessions')) or os.path.isdir(os.path.join(cli, 'archived_sessions')):
        from . import codex
        for row in codex.scan(cli, problems):
            yield row
    for row in _chats(root, problems):
        yield row


def entries(path):
    """-> list of the Entries of a database, asked when it or its workspace changed. Raises sqlite_ro.Unreadable."""
    from ..base import memo, paths

    def ask():
        from .trae_chats import asked
        return asked(path)
    return [Entry(*row) for row in memo.kept(NAME, registry.version(NAME), paths.database_files(path) + (workspace_file(path),), ask)]


def workspace_file(path):
    """The file that names the workspace of a database."""
    return os.path.join(os.path.dirname(path), 'workspace.json')


def _chats(root, problems):
    """Yield the rows of the chats of an editor's profile: of one that lies in several databases the one changed last."""
    paths = [os.path.join(entry.path, _DB_NAME) for entry in _listing(os.path.join(root, 'workspaceStorage'), problems)]
    paths.append(os.path.join(root, 'globalStorage', _DB_NAME))
    best = {}
    for path in paths:
        if not os.path.isfile(path):
            continue
        try:
            for entry in entries(path):
                have = best.get(entry.id)
                if have is None or entry.rank > have[0].rank:
                    best[entry.id] = (entry, path)
        except OSError as error:
            problems.append((path, str(error)))
    for sid in sorted(best):
        from .inside import quoted
        entry, path = best[sid]
        yield os.path.join(path, quoted(sid)), entry.size, entry.mtime_ns, 'main', '', sid, ''


def encrypted(root):
    """-> path of the database in which recent editors of this profile keep their chats encrypted, '' when there is none."""
    path = os.path.join(os.path.dirname(root), 'ModularData', 'ai-agent', 'database.db')
    try:
        with open_regular(path) as handle:
            return path if handle.read(16) not in (b'', b'SQLite format 3\0') else ''
    except OSError:
        # Older editors have none.
        return ''


def discover(root, problems):
    """Yield the Sessions under a root (see scan); chats that are there and cannot be read are a problem."""
    if encrypted(root):
        problems.append((encrypted(root), 'chats of recent versions are encrypted and cannot be read'))
    trees = {}
    for path, size, mtime, role, chain, session, folder in scan(root, problems):
        if kind_of(path) == 'rollout':
            facts = head(path)
            role, chain, session = facts['role'], facts['chain'], facts['session'] or session
        trees.setdefault((folder, session), []).append(Source(path, role, chain, session, size, mtime))
    yield from sessions_of(NAME, root, trees)


def session_at(path):
    """-> Session with all files of the session whose file (or place in a database) `path` is.

    Raises EchoError for a database itself, which holds many.
    """
    kind = kind_of(path)
    if kind == 'rollout':
        from . import codex
        return codex.session_at(path)._replace(agent=NAME)
    if kind == 'chat':
        db, name = os.path.split(path)
        if name == _DB_NAME:
            from ..base.errors import EchoError
            raise EchoError('%s holds many chats; name one: %s' % (path, os.path.join(path, 'SESSION')))
        from .inside import unquoted
        sid = unquoted(name)
        return Session(NAME, os.path.dirname(os.path.dirname(os.path.dirname(db))), sid, '', (Source(path, 'main', '', sid, 0, 0),))
    day, name = os.path.split(path)
    slug = os.path.dirname(day)
    sid = name[len(_CARDS):-len(_SUFFIX)]
    files = [os.path.join(entry.path, name) for entry in _listing(slug, [])]
    files = [one for one in files if os.path.isfile(one)] or [path]
    return Session(NAME, os.path.dirname(os.path.dirname(os.path.dirname(slug))), sid, os.path.basename(slug),
                   tuple(Source(one, 'main', '', sid, 0, 0) for one in files))


def head(path, also=()):
    """-> {'session': id, 'role': main or agent, 'chain': id of the subagent or ''} of a file."""
    if kind_of(path) == 'rollout':
        from . import codex
        return codex.head(path, also)
    return {'session': session_at(path).id, 'role': 'main', 'chain': ''}


def read(source, coverage, offset=0, line=0, state=None):
    """Yield the events of one file or chat, in order: a list for each record (see the protocol)."""
    kind = kind_of(source.path)
    if kind == 'rollout':
        from . import codex as reader
        return reader.read(source, coverage, offset, line, state)
    if kind == 'chat':
        from .trae_chats import read as read_chat
        return read_chat(source, coverage)
    from .trae_cards import read as read_cards
    return read_cards(source, coverage, offset, line, {} if state is None else state)


def events_at(source, offset, length, state=None):
    """-> list of events of the one record at `offset`, as read() gives them (turn numbers apart)."""
    kind = kind_of(source.path)
    if kind == 'rollout':
        from . import codex
        return codex.events_at(source, offset, length, state)
    if kind == 'chat':
        from .trae_chats import events_at as found
        return found(source, offset)
    from .trae_cards import events_at as found
    return found(source, offset, length)


def resume(session_id, project):
    """-> argument list of the command that reopens a session of the command line client.

    Raises EchoError for any other: cards are no transcripts, and editors open chats themselves.
    """
    from . import codex
    for root in roots():
        for row in codex.scan(os.path.join(root, 'cli'), []):
            if row[5] == session_id:
                return ['traex', 'resume', session_id]
    from ..base.errors import EchoError
    raise EchoError('session %s cannot be reopened from a command line: it is a chat of the editor, or only cards about one' % session_id)


def files_of(name, given):
    """-> list of (edit or write, path) of the files that a tool call of the command line client changes."""
    from . import codex
    return codex.files_of(name, given)


def branches(path):
    """-> (number of branch ends, ids of turns that the person went back behind)."""
    if kind_of(path) == 'rollout':
        from . import codex
        return codex.branches(path)
    return 1, set()


def inherited(path, session):
    """-> number of records that a fork copied from its parent."""
    if kind_of(path) == 'rollout':
        from . import codex
        return codex.inherited(path, session)
    return 0
