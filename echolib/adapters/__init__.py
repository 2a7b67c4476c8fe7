"""One module per agent behind one protocol; nothing above this package knows an agent's own files.

Protocol of an adapter module (its parser's version and where it may be found stand in the registry):
    NAME             what --agent takes and every output prints
    STORES           tuple of Store: every known place of this agent, also those that are not read, and why
    CLEANED          True: the agent removes old transcripts by itself, so they are archived before
    GROWS            True: its files grow at the end, line by line, and a grown one is gone on with; False: any change
                     makes a file be read again
    roots(environ)   -> list of existing or configured root folders, environment variables first
    BY_STAT          True: what scan() yields only folders and each file's own size and time tell, and scan() takes a third
                     list, which gets the places to watch: folders looked into or missing (optional)
    scan(root, problems)      -> iterator of (path, size, mtime_ns, role, chain, session id, folder), by stat and
                     directory listing only; folders that cannot be listed are appended to problems as (path, reason)
    discover(root, problems)  -> the same as Sessions
    side_files(path) -> other files of a main transcript that are worth keeping with it
    session_at(path) -> Session with the whole tree of one transcript
    PLACED_BY_HEAD   True: which of its files are subagents' only their first records tell; head() says (optional)
    NAMES_AGENTS     True: its own events name the subagents that count (META subagent), their files do not (optional)
    files_of(name, given) -> [(edit, write or read, path)] of what one tool call does to files (optional)
    PUBLIC           {function: module of this package}: what the library offers of this agent alone (optional)
    client_counts(session)     -> dict of counters that the agent keeps of a session itself (optional)
    durations(session, calls)  -> {id of a tool call: milliseconds}, where the agent tells (optional)
    orphan_parents(path)       -> number of rows that others of a main file follow and that are not in it (optional)
    listed(root)     -> set of ids of the sessions that the agent's own lists name, there or not (optional)
    own_counters(tokens, reasoning)  -> {the agent's own name: tokens} of figures in our buckets, with that name's meaning, where
                     its counters overlap (optional)
    owns(path)       -> bool: does this path look like one of this agent's files (names before content)
    head(path, also) -> dict of facts needed to place a loose file (session id), read from its first records
    read(source, coverage, offset, line, state)  -> iterator of lists of Event, one list a record; state (dict of plain
                     values) is what a grown file needs to go on; coverage says how far the file is read
    events_at(source, offset, length, state)     -> the events of one line again
    spill_path(source, named), spill_text(path)  -> where a result's whole output lies, and its text
    resume(session_id, project)  -> argument list that reopens a session
    UNNAMED          what to do so that it has a root, where it has none of its own (optional)
    TOKENS           why a session's tokens may be unknown, for the user to read (optional)
    billed(session)  -> usage rows of the agent's own ledger, or None
"""
from ..base.shapes import shape

Store = shape('Store', 'id pattern read note')

# A file of a session tree. role: main, agent, loose (an agent file that only its content ties to a session), or history
# (prompts of all sessions in one file: searched where the session itself is gone), or ledger (usage rows that name no
# session: they count in totals, and are no session).
Source = shape('Source', 'path role chain session size mtime_ns')
# A session as found on disk: the id it is asked for by, its root, the folder that groups it, its files (main first).
Session = shape('Session', 'agent root id folder sources')
