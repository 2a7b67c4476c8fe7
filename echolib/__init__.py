"""Total recall over coding-agent sessions: the library behind session-digger's commands.

The functions here are the public interface; each imports what it needs when it is called, so that `import echolib` is cheap.
"""

__version__ = '0.1.0'

__all__ = (
    'iter_records', 'extract_messages', 'extract_tools', 'extract_files_changed', 'session_stats', 'detect_schema',
    'find_subagent_files', 'load_index', 'list_sessions', 'find_project_dir', 'detect_agent_type', 'parse_session',
    'build_transcript', 'is_real_prompt', 'compute_cache_hit_rate')


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
    unknown_types, record_types {type: {count, fields}}."""
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
