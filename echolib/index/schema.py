"""The files of the index and how they are opened.

index.db holds everything structured (sessions, files, facts); text-<generation>-<n>.db are shards of the full-text
index, each written by one process at a time. index.db says which shards count and up to which document, so a writer
that dies leaves nothing a reader could see.
"""
import os
import sqlite3

from ..base import paths
from ..base.errors import IndexUnusable

SCHEMA_VERSION = 10
_LARGEST = (1 << 63) - 1
INDEX_NAME = 'index.db'

INDEX_SCHEMA = '''
create table meta (key text primary key, value) without rowid;
create table roots (id integer primary key, agent text, path, archive integer, unique (agent, path));
create table swept (
    at real, complete integer, mark blob, told blob, problems blob, folders integer, paths blob, stats blob, rows blob);
create table names (id integer primary key, name text unique);
create table shards (id integer primary key, file text unique, docs_end integer, docs integer, dead integer, bytes integer);
create table files (
    id integer primary key, root integer, folder text, path, role text, chain text, sid text, session integer,
    size integer, mtime_ns integer, offset integer, line integer, open_end integer, check_sum integer,
    lines integer, parse_errors integer, unknown_records integer, damaged text, state text, profile text,
    birth integer, last integer, flags integer, shard integer, ranges text, spilled integer, error text, unique (path));
create index files_session on files (session);
create index files_history on files (role) where role = 'history';
create trigger files_added after insert on files begin delete from meta where key = 'seen'; delete from swept; end;
create trigger files_changed after update of root, path, role, chain, sid, size, mtime_ns on files
    begin delete from meta where key = 'seen'; delete from swept; end;
create trigger files_removed after delete on files begin delete from meta where key = 'seen'; delete from swept; end;
create index files_documents on files (shard, ranges, session);
create table sessions (
    id integer primary key, agent text, root integer, folder text, sid text, project text, created integer,
    modified integer, msg_count integer, branch text, title text, title_kind text, first_prompt text, path,
    lines integer, parse_errors integer, unknown_records integer, readable integer, copy_of integer, gone integer,
    machine integer, entrypoint text, version text, model text, context integer, tokens text, known_cost integer,
    unpriced integer, tally text, unique (root, folder, sid));
create index sessions_sid on sessions (sid);
create index sessions_modified on sessions (modified);
create index sessions_listed on sessions (readable, copy_of, modified, sid, machine, created, agent, project, msg_count);
create index sessions_copies on sessions (copy_of) where copy_of is not null;
create index sessions_machine on sessions (machine) where machine = 1;
create table facts (
    key integer, file integer, owned integer, kind integer, time integer, side integer, name integer, status integer,
    input integer, output integer, cache_read integer, cache_write_5m integer, cache_write_1h integer, visible integer,
    extra text, primary key (key, file)) without rowid;
create index facts_file on facts (file);
create table rivals (file integer, other integer, primary key (file, other)) without rowid;
create table segments (session integer primary key, version integer, found text);
create table summaries (leaf text, file integer, text text, target integer, primary key (leaf, file)) without rowid;
'''

SHARD_SCHEMA = '''
create table docs (
    id integer primary key, file integer, line integer, offset integer, length integer, part integer, kind integer,
    time integer, ident integer);
create index docs_ranked on docs (kind, time desc) where kind < 5;
create table next_doc (id integer);
insert into next_doc values (1);
create virtual table prose using fts5(body, content='', tokenize='ascii');
create virtual table tools using fts5(body, content='', tokenize='ascii', detail='none', columnsize=0);
insert into prose(prose, rank) values ('hashsize', 33554432);
insert into tools(tools, rank) values ('hashsize', 33554432);
insert into prose(prose, rank) values ('automerge', 8);
insert into tools(tools, rank) values ('automerge', 8);
'''

# Document kinds of a shard; those below TOOL_KINDS lie in the table `prose`, the others in `tools`.
TITLE, PROMPT_DOC, REPLY_DOC, THINKING_DOC, HISTORY_DOC = 1, 2, 3, 4, 5
TOOL_KINDS = 10
CALL_DOC, RESULT_DOC, ERROR_DOC, RECAP_DOC, ATTACHED_DOC, TASK_DOC, INJECTED_DOC = 10, 11, 12, 13, 14, 15, 20
KIND_NAMES = {TITLE: 'title', PROMPT_DOC: 'prompt', REPLY_DOC: 'reply', THINKING_DOC: 'thinking', HISTORY_DOC: 'history', TASK_DOC: 'task',
              CALL_DOC: 'tool_call', RESULT_DOC: 'tool_result', ERROR_DOC: 'tool_error', RECAP_DOC: 'recap',
              ATTACHED_DOC: 'attachment', INJECTED_DOC: 'injected'}


def pieces(ranges):
    """-> [(first document, the one behind the last)] of a file's text `ranges`, in order."""
    return [tuple(map(int, piece.split('-'))) for piece in ranges.split(',')] if ranges else []


def versions():
    """-> the text that tells whether an index was made by this code: schema, fold, parsers, what is told of corrections and
    commands; prices are not part of it."""
    from .. import analysis_versions
    from ..adapters import registry
    from ..base.fold import FOLD_VERSION
    return '%d.%d.%d.%d.%s' % (SCHEMA_VERSION, FOLD_VERSION, analysis_versions.CORRECTIONS, analysis_versions.COMMANDS, registry.versions())


def connect(path, read_only=False, timeout=20.0):
    """-> connection to one of our databases (autocommit; transactions are opened by hand)."""
    if read_only:
        return sqlite3.connect(_address(path, 'mode=ro'), uri=True, timeout=timeout, isolation_level=None)
    if paths.storable(path) is not path:
        # Python 3.6 takes no path here that is not UTF-8.
        return sqlite3.connect(_address(path, 'mode=rwc'), uri=True, timeout=timeout, isolation_level=None)
    return sqlite3.connect(path, timeout=timeout, isolation_level=None)


def _address(path, options):
    if paths.storable(path) is not path:
        from ..base.sqlite_ro import uri
        return uri(path, options)
    return 'file:%s?%s' % (os.path.abspath(path).replace('%', '%25').replace('?', '%3f').replace('#', '%23'), options)


def create(path, script, page_size=8192):
    """Make a new database file with our settings and the given schema; -> its connection.

    Write-ahead logging is asked for and whatever mode the file system gives is worked with.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.close(fd)
    db = connect(path)
    db.execute('pragma page_size=%d' % page_size)
    db.execute('pragma auto_vacuum=none')
    db.execute('pragma journal_mode=wal')
    settle(db)
    db.execute('begin immediate')
    for statement in statements(script):
        db.execute(statement)
    db.execute('commit')
    return db


def statements(script):
    """-> list of a schema's statements as this SQLite takes them."""
    if sqlite3.sqlite_version_info < (3, 8, 2):
        script = script.replace(' without rowid', '')
    return [statement for statement in script.split(';\n') if statement.strip()]


def settle(db, wipe=True):
    """Per-connection settings of a writer: a killed process loses nothing.

    wipe: freed bytes are overwritten. Shards need it not: where text has to go, a shard is written anew.
    """
    db.execute('pragma synchronous=off')
    db.execute('pragma secure_delete=%s' % ('on' if wipe else 'off'))
    db.execute('pragma cache_size=-8192')


def create_index(path):
    """-> connection to a new, empty index.db at `path`."""
    db = create(path, INDEX_SCHEMA, 4096)
    db.execute("insert into meta values ('versions', ?)", (versions(),))
    db.execute("insert into meta values ('schema', ?)", (SCHEMA_VERSION,))
    return db


def create_shard(path):
    """-> connection to a new, empty shard at `path`. Raises sqlite3.OperationalError where FTS5 is missing."""
    return create(path, SHARD_SCHEMA)


def open_index(path, read_only=False):
    """-> connection to an existing index.db made by this code.

    Raises FileNotFoundError when there is none, Stale when it is another version's, IndexUnusable('newer ...') when
    it is newer than this code, Foreign when another program made it, sqlite3.DatabaseError when it is damaged.
    """
    if not os.path.getsize(path):
        raise sqlite3.DatabaseError('empty file')
    db = connect(path, read_only)
    try:
        row = dict(db.execute("select key, value from meta where key in ('versions', 'schema')"))
    except sqlite3.DatabaseError as error:
        db.close()
        if isinstance(error, sqlite3.OperationalError) and str(error).startswith(('no such table', 'no such column')):
            raise Foreign(path)
        raise
    if row.get('versions') != versions():
        db.close()
        if isinstance(row.get('schema'), int) and row['schema'] > SCHEMA_VERSION:
            raise IndexUnusable('the index %s was made by a newer version of session-digger' % path)
        raise Stale(path)
    return db


def storable(value):
    """-> a value as a column can hold it: no half a character, no number of more than 63 bits."""
    if type(value) is str:
        try:
            value.encode('utf-8')
        except UnicodeEncodeError:
            return value.encode('utf-8', 'replace').decode('utf-8')
    elif type(value) is int:
        return max(-_LARGEST, min(_LARGEST, value))
    return value


def insert(db, statement, rows):
    """Run an `insert or replace` for each row; where one holds what no column can, all go in as storable() has them."""
    try:
        db.executemany(statement, rows)
    except (OverflowError, UnicodeEncodeError):
        # Half a character in what a record says of a call; a row's number in another program's database may be any.
        db.executemany(statement, [tuple(map(storable, row)) for row in rows])


def rows_of(db, ask, ids):
    """Yield the rows of a statement that takes a list of ids, however many there are."""
    ids = sorted(ids)
    for at in range(0, len(ids), 500):
        for row in db.execute(ask % ','.join('%d' % one for one in ids[at:at + 500])):
            yield row


class Stale(Exception):
    """The index was made by another version of this code and must be rebuilt."""


class Foreign(Stale):
    """A sound database, which this code did not make."""


def has_fts5():
    """True when this Python's SQLite can make FTS5 tables."""
    db = sqlite3.connect(':memory:')
    try:
        db.execute('create virtual table t using fts5(x)')
    except sqlite3.OperationalError:
        return False
    finally:
        db.close()
    return True
