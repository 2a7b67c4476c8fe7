"""What Grok Build still knows of sessions whose folder is gone: their prompts, and the texts of its own search index.

Searched only where no transcript of the session is there. The search index holds one text a session: prompts, replies and
names of tools; prompts that the prompt history has too are not told twice.
"""
import os

from ..base.clock import parse_time
from ..events import PROMPT, Event
from ..records import Record, read_at, read_records
from .grok_side import project_of, searched, word

PROMPTS = 'prompt_history.jsonl'
INDEX = 'session_search.sqlite'


def _event(session, time, text, project, line, offset, length):
    return Event(PROMPT, 'history', time, 'history', 0, 'h%s:%d' % (session, offset), session, text, project, line, offset, length, 0)


def _prompt(record, project):
    """-> list of Events of a row of a prompt history."""
    data = record.data
    session, text = word(data.get('session_id')), word(data.get('prompt'))
    if not session or not text.strip():
        return []
    text = '!' + text if data.get('is_bash') is True else text
    return [_event(session, parse_time(data.get('timestamp')), text, project, record.line, record.offset, record.length)]


def _lost(path, number=None):
    """Yield lists of Events of the sessions in the search index whose folder is gone. number: of one row alone."""
    top = os.path.dirname(path)
    groups = [os.path.join(top, name) for name in sorted(os.listdir(top))]
    groups = [group for group in groups if os.path.isdir(group)]
    there = set(name for group in groups for name in os.listdir(group))
    typed = None
    for row, session, cwd, updated, title, text in searched(top, '' if number is None else ' where rowid = ?', () if number is None else (number,)):
        if not session or session in there:
            continue
        if typed is None:
            typed = _typed(groups, there)
        for prompt in typed.get(session, ()):
            if text.startswith(prompt):
                text = text[len(prompt):].lstrip('\n')
        said = '\n'.join(part for part in (title.strip(), text.strip()) if part)
        yield [_event(session, parse_time(updated), said, cwd, row, row, 0)] if said else []


def _typed(groups, there):
    """-> {session id: its prompts in order} of the prompt histories, of sessions that are not there."""
    out = {}
    for group in groups:
        try:
            for record in read_records(os.path.join(group, PROMPTS)):
                session = word(record.data.get('session_id'))
                if session and session not in there:
                    out.setdefault(session, []).append(word(record.data.get('prompt')))
        except OSError:
            # Groups made by other means than typing have none.
            continue
    return out


def read(source, coverage, offset, line):
    """Yield lists of Events of a prompt history, or of the client's search index. Raises OSError."""
    if os.path.basename(source.path) == PROMPTS:
        project = project_of(os.path.dirname(source.path))
        for record in read_records(source.path, coverage, offset, line):
            yield _prompt(record, project)
        return
    for events in _lost(source.path):
        coverage.lines += 1
        coverage.line += 1
        yield events


def events_at(source, offset, length):
    """-> list of Events of the one row at `offset` (in the search index: the row of that number)."""
    if os.path.basename(source.path) == PROMPTS:
        project = project_of(os.path.dirname(source.path))
        return [event for data in read_at(source.path, offset, length) for event in _prompt(Record(data, 0, offset, length), project)]
    return next(_lost(source.path, offset), [])
