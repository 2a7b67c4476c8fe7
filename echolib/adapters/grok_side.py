"""The files beside a session's stream: cards, ledger, saved files, and what is left of sessions that are gone.

Every function answers with less when a file is missing or damaged; none raises on content.
"""
import os

from ..base.clock import parse_time
from ..base.files import json_object, open_regular
from .grok_text import inside, origin_of, unwrap, word

# Cards and checkpoints are read whole; a larger file is none.
_MOST = 64 << 20


def load(path):
    """-> dict in a JSON file, {} when it cannot be read or holds something else."""
    return json_object(path, _MOST)


def encoded(cwd):
    """-> the name of the group that holds a directory's sessions (names over 255 bytes are cut by the client)."""
    from urllib.parse import quote
    return quote(cwd, safe='~')


def project_of(group):
    """-> the directory whose sessions a group folder holds, '' when neither its name nor its .cwd file tells."""
    from urllib.parse import unquote
    path = unquote(os.path.basename(group))
    if path[:1] == '/' or path[1:2] == ':' and path[:1].isalpha():
        return path
    try:
        with open_regular(os.path.join(group, '.cwd')) as handle:
            return handle.read(1 << 16).decode('utf-8', 'replace').strip()
    except OSError:
        return ''


def find(group, session):
    """-> the folder of a session: in this group, else in another one beside it; '' when there is none."""
    if not session or session in ('.', '..') or '/' in session or os.sep in session or '\0' in session:
        return ''
    path = os.path.join(group, session)
    if os.path.isdir(path):
        return path
    top = os.path.dirname(group)
    try:
        names = sorted(os.listdir(top))
    except OSError:
        return ''
    for name in names:
        path = os.path.join(top, name, session)
        if os.path.isdir(path):
            return path
    return ''


class Card(object):
    """What summary.json says of a session: title and its kind, cwd, branch, kind, parent, model, created, ended (ms)."""

    def __init__(self, folder):
        self.folder = folder
        value = load(os.path.join(folder, 'summary.json'))
        info = inside(value, 'info')
        self.cwd = word(info.get('cwd')) or project_of(os.path.dirname(folder))
        title = word(value.get('generated_title'))
        self.title = title if title.strip() else word(value.get('session_summary'))
        self.title_kind = 'custom-title' if value.get('title_is_manual') is True else 'ai-title'
        if not self.title.strip():
            self.title = '' if value else searched_title(folder)
        self.branch = word(value.get('head_branch'))
        self.kind = word(value.get('session_kind'))
        self.parent = word(value.get('parent_session_id'))
        self.model = word(value.get('current_model_id'))
        self.created = parse_time(value.get('created_at'))
        self.ended = parse_time(value.get('last_active_at')) or parse_time(value.get('updated_at'))

    def is_subagent(self):
        """True for a session that a session started, also where that one is gone."""
        return self.kind.startswith('subagent')

    def origin(self, session):
        """-> id of the session that this one (`session`) is a fork of, at any remove, as far as the cards are there; its own for one
        that is no fork."""
        card, found = self, [session]
        while card.parent and not card.is_subagent() and card.parent not in found and len(found) < 64:
            found.append(card.parent)
            folder = find(os.path.dirname(card.folder), card.parent)
            if not folder:
                break
            card = Card(folder)
        return found[-1]


def cards(folder):
    """-> the cards (dicts of meta.json) of a session's subagents, by name; their ids are texts, the name where they tell none."""
    path = os.path.join(folder, 'subagents')
    try:
        names = sorted(os.listdir(path))
    except OSError:
        # Most sessions have none.
        return []
    found = []
    for name in names:
        card = load(os.path.join(path, name, 'meta.json'))
        for field in ('subagent_id', 'child_session_id'):
            if type(card.get(field)) is not str:
                card[field] = name
        found.append(card)
    return found


def ledger(folder):
    """-> list of dicts of a session's usage.json, one a turn and model (see grok.billed)."""
    turns = load(os.path.join(folder, 'usage.json')).get('turns')
    if type(turns) is not list:
        return []
    from .grok_ledger import legs
    rows = []
    for turn in turns:
        if type(turn) is not dict:
            continue
        for model, (total, output, cached, created, calls, reasoning) in sorted(legs(turn).items()):
            rows.append({'turn': turn.get('turnNumber'), 'time': parse_time(turn.get('endedAt')), 'model': model,
                         'input': max(0, total - cached - created), 'output': output, 'cache_read': cached,
                         'cache_write': created, 'calls': calls, 'reasoning': reasoning})
    return rows


def recap(folder, named):
    """-> the summary in a compaction checkpoint that a row names, '' when there is none."""
    name = named.replace('\\', '/').rsplit('/', 1)[-1]
    if not name.endswith('.json'):
        return ''
    history = load(os.path.join(folder, 'compaction_checkpoints', name)).get('compacted_history')
    from .grok_chat import item_text
    out = []
    for item in history if type(history) is list else ():
        if type(item) is dict and item.get('synthetic_reason') == 'compaction_meta':
            text = item_text(item.get('content'))
            if text.strip() and not text.startswith('<user_info>'):
                out.append(text)
    return '\n\n'.join(out)


def file_versions(folder):
    """-> {path: number of prompts before which it was saved}; paths inside the project are relative to it."""
    from ..records import read_records
    out = {}
    try:
        for record in read_records(os.path.join(folder, 'rewind_points.jsonl')):
            saved = record.data.get('file_snapshots')
            for name in saved if type(saved) is dict else ():
                out[name] = out.get(name, 0) + 1
    except OSError:
        # Nothing was changed, or the points were cleaned up.
        return out
    return out


def _updates(path):
    """Yield (record, its update, notification metadata) of a stream."""
    from ..records import read_records
    for record in read_records(path):
        update, meta, _ = unwrap(record.data)
        if update is not None:
            yield record, update, meta


def branches(path):
    """-> (number of branch ends, ids of events that a rewind took off the conversation).

    A rewind goes back to a prompt: that one and all after it are left.
    """
    if os.path.basename(path) != 'updates.jsonl':
        return 1, set()
    from ..records import Coverage
    from . import Source
    from .grok_parse import Parser
    folder = os.path.dirname(path)
    parser = Parser(Source(path, 'main', '', os.path.basename(folder), 0, 0), Coverage(path), {})
    left, ends, live, starts = set(), 1, [], {}
    for record, update, _ in _updates(path):
        kind = update.get('sessionUpdate')
        number = inside(update, '_meta').get('promptIndex')
        if kind == 'user_message_chunk' and type(number) is int and number not in starts:
            starts[number] = len(live)
        if kind == 'rewind_marker' and type(update.get('target_prompt_index')) is int:
            gone = [n for n in starts if n >= update['target_prompt_index']]
            if gone:
                at = min(starts[n] for n in gone)
                left.update(live[at:])
                del live[at:]
                for n in gone:
                    del starts[n]
                ends += 1
            continue
        live.extend(event.id for event in parser.events(record) if event.id is not None)
    return ends, left


def inherited(path, session):
    """-> number of rows that name another session as the one they were written in."""
    if os.path.basename(path) != 'updates.jsonl':
        return 0
    return sum(1 for _, _, meta in _updates(path) if origin_of(meta) not in ('', session))


def searched_title(folder):
    """-> the title that the client's search index has of a session, ''."""
    top = os.path.dirname(os.path.dirname(folder))
    try:
        return next((row[4] for row in searched(top, ' where session_id = ?', (os.path.basename(folder),))), '')
    except OSError:
        # Most homes have none, or it is being written: the session has no title then.
        return ''


def searched(top, where, values):
    """-> list of rows (number, session_id, cwd, updated_at, title, content) of the client's search index. Raises OSError."""
    from ..base import sqlite_ro
    with sqlite_ro.opened(os.path.join(top, 'session_search.sqlite')) as db:
        rows = db.execute('select rowid, session_id, cwd, updated_at, title, content from session_docs' + where, values).fetchall()
    return [tuple(value if i in (0, 3) else word(value) for i, value in enumerate(row)) for row in rows]
