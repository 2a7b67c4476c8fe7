"""Total recall over coding-agent sessions: the library behind session-digger's commands.

The functions here are the public interface; each imports what it needs when it is called, so that `import echolib` is cheap.
Beside them there are, for every agent, <agent>_list_sessions, <agent>_session_stats, <agent>_extract_messages,
<agent>_extract_tools and <agent>_session_path, and what an agent alone has (grok_family_usage_report): see per_agent.
"""
import sys

__version__ = '0.1.0'

_FIXED = (
    'iter_records', 'extract_messages', 'extract_tools', 'extract_files_changed', 'session_stats', 'detect_schema',
    'find_subagent_files', 'load_index', 'list_sessions', 'find_project_dir', 'detect_agent_type', 'parse_session',
    'build_transcript', 'is_real_prompt', 'compute_cache_hit_rate', 'attach_cache_hit_rates', 'dispatch_resolve_agent',
    'cross_tool_list_sessions', 'cross_tool_session_stats', 'scan_all_environments_parallel')


class _Package(type(sys)):
    """This module, which makes the functions of each agent when they are first asked for (Python 3.6 has no other way)."""

    @property
    def __all__(self):
        """Every public name; to tell them the list of agents is read."""
        from . import per_agent
        return list(_FIXED) + per_agent.names()

    def __getattr__(self, name):
        if name.endswith(_ENDINGS):
            from . import per_agent
            found = per_agent.function(name)
            if found is not None:
                setattr(self, name, found)
                return found
        raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))

    def __dir__(self):
        return sorted(set(type(sys).__dir__(self)) | set(self.__all__))


# How the names end that are made: any other, such as a module's, costs nothing.
_ENDINGS = ('_list_sessions', '_session_stats', '_extract_messages', '_extract_tools', '_session_path', '_usage_report',
            '_model_usage', '_list_subagents')
sys.modules[__name__].__class__ = _Package


def iter_records(path, types=None, skip_noise=True, limit=0, offset=0, line=0, coverage=None):
    """Yield the records of a JSONL transcript: named tuples (data, line, offset, length) with .type .timestamp .message.

    types: a set of record types to keep, or None.  skip_noise: bookkeeping lines are told from their first bytes and
    never decoded (user and assistant records are never among them).  limit: stop after that many, 0 for all.  offset,
    line: go on behind these.  coverage: a records.Coverage to fill.  Damaged lines are counted there, never raised;
    OSError when the file cannot be opened.
    """
    from .adapters.claude_parse import is_noise_line
    from .records import read_records
    count = 0
    for record in read_records(path, coverage, offset, line, is_noise_line if skip_noise else None):
        if types is None or record.type in types:
            yield record
            count += 1
            if limit and count >= limit:
                return


def extract_messages(path, role=None, limit=0, include_thinking=False):
    """Yield a session's messages as dicts: role, text, timestamp (ISO), kind, label, turn, line, chain, uuid.

    path: a transcript (of any agent that is read).  role: 'user', 'assistant' or None.  limit: 0 for all; a small one
    is answered without reading on.
    """
    from . import transcript_file
    return transcript_file.messages(path, role, limit, include_thinking)


def extract_tools(path, tool_filter=None, errors_only=False, limit=0):
    """Yield a session's tool calls as dicts: name, id, status (ok, error, declined, collateral, open), input, output
    (whole text of the result), output_preview (its first 200 characters), timestamp, line, chain."""
    from . import transcript_file
    return transcript_file.tools(path, tool_filter, errors_only, limit)


def extract_files_changed(path, limit=0):
    """-> list of dicts of the files a session edited or wrote, last change first: path, edits, writes, last, versions."""
    from . import transcript_file
    return transcript_file.files_changed(path, limit)


def session_stats(path):
    """-> dict of one session's numbers (its whole tree of files, read now): the shared keys of references/cli.md, and
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens, model_usage, started, ended."""
    from . import analysis_file
    return analysis_file.stats(path)


def detect_schema(path):
    """-> dict: file, lines, bytes, parse_errors, damaged, first_timestamp, last_timestamp, versions, models,
    unknown_types, record_types {type: {count, fields}}. Of what is no file of JSON lines (a database, packed frames) the
    kinds of events are told instead."""
    from . import analysis_file
    return analysis_file.schema(path)


def find_subagent_files(path):
    """-> sorted list of the subagent transcripts of a main transcript, in every layout."""
    from .adapters import lookup
    return [s.path for s in lookup.session_at(path).sources if s.role in ('agent', 'loose')]


def load_index(folder):
    """-> list of dicts of the entries of a project folder's sessions-index.json (sessionId, firstPrompt, summary, ...);
    [] when there is none or it cannot be read. It may add facts; which sessions exist is for the folder to say."""
    from .adapters import lookup
    return lookup.client_index(folder)


def list_sessions(scope='all', agent=None, limit=0, grep=None):
    """-> list of dicts of known sessions, newest first, as `sd-recall.py sessions --format json` gives them."""
    from .index import listing
    return listing.listing(scope, agent, limit, grep)


def find_project_dir(path):
    """-> the folder that holds the Claude Code sessions of a project directory, or None.

    The name is the path with a dash for every character outside A-Za-z0-9, long ones cut; where several folders fit,
    the one whose records name the directory.
    """
    from .adapters import lookup
    return lookup.project_dir(path)


def detect_agent_type(path):
    """-> the agent a file or folder belongs to ('claude', ...), 'both' for a folder of several, or 'unknown'."""
    from .adapters import lookup
    return lookup.agent_type(path)


def parse_session(path):
    """-> dict of a session: session_id, agent, project, title, files, messages, tools, stats."""
    from . import transcript_file
    return transcript_file.parse(path)


def build_transcript(path):
    """-> list of transcript.Item of a session's whole tree, merged by time: what every display uses."""
    from . import transcript_file
    return transcript_file.transcript_items(path)


def is_real_prompt(record):
    """True when a Claude Code record (dict) is something a person typed to the model: the one test of turn boundaries."""
    from .adapters.claude_user import is_real_prompt as test
    return test(record)


def compute_cache_hit_rate(cache_read_tokens, input_tokens, cache_write_tokens=0):
    """cache_read / (input + cache_read + cache writes), None when nothing was sent."""
    from .events import cache_hit_rate
    return cache_hit_rate(cache_read_tokens, input_tokens, cache_write_tokens)


def attach_cache_hit_rates(stats, input_includes_cache=False):
    """Put `cache_hit_rate` into stats and into each row of its model_usage and models (None without input); -> stats.

    stats: a dict with input_tokens, cache_read_tokens, cache_write_tokens, or with the shared `tokens`.
    input_includes_cache: input_tokens holds what came from the cache, as some agents count (a key of that name says so too).
    """
    from . import per_agent
    return per_agent.attach_rates(stats, input_includes_cache)


def dispatch_resolve_agent(path):
    """-> the agent a file or folder belongs to: by its place and name, its first records, then its shape ('universal');
    'both' for a folder of several, 'unknown' for anything else. Never by words in its texts."""
    from .adapters import unified
    return unified.resolve_agent(path)


def cross_tool_list_sessions(limit=50, keyword='', agent_filter=None):
    """-> list of dicts of the sessions of all agents, newest first: agent, session_id, created, modified, summary,
    first_prompt, msg_count, branch, project_path, full_path. Sessions that other programs started come last.

    limit: 0 for all.  keyword: only those whose title, id, project, path or first prompt holds it, or in whose conversation
    it is said.  agent_filter: one agent's name.
    """
    from .index import listing
    return listing.listing('all', agent_filter, limit, None, keyword)


def cross_tool_session_stats(path):
    """-> dict of one session's numbers, whichever agent it is of, as of session_stats.

    path: its transcript, its own folder, or its id. `client`, where the agent keeps counters of its own: those.
    """
    from . import per_agent
    return per_agent.stats(path)


def scan_all_environments_parallel(timeout=10.0):
    """-> list of dicts, one for each folder in which an agent keeps sessions: agent, root, status, reason, found, readable,
    sessions, files, bytes, seconds.

    All are looked at at once, each in a thread of its own: one that fails or hangs hides no other. timeout: seconds after
    which a folder is given up.  status: ok, empty, missing, unreadable, failed, hanging, or unadapted (an agent that is
    known to keep sessions there, without an adapter).
    """
    from .adapters import unified
    return unified.environments(timeout)
