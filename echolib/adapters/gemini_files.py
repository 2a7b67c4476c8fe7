"""Gemini CLI's files to records: the log of a session, the single object of older clients, the list of prompts; and
where a project lies."""
import os

from ..base import bounded_json
from ..base.clock import parse_time
from ..base.files import open_regular, read_json
from ..events import PROMPT, Event
from ..records import Coverage, Record, read_at, read_records
from . import gemini
from .values import word

# Patches that only say the time or the session's id once more.
_NOISE = (b'{"$set":{"lastUpdated":', b'{"$set":{"sessionId":')


def _is_noise(raw):
    return raw.startswith(_NOISE) and len(raw) < 160


def session_id(path):
    """-> the id a session file's first records name, ''."""
    if path.endswith('.json'):
        value = read_json(path)
        return word(value.get('sessionId')) if type(value) is dict else ''
    try:
        for record in read_records(path, limit=5):
            found = record.data.get('sessionId')
            if type(found) is str and found and os.sep not in found:
                return found
    except OSError:
        # Gone, or not to be read: its name says the start of the id.
        return ''
    return ''


def project_of(path):
    """-> the directory a session file's project lies in, '' where nothing says it."""
    folder = gemini.project_dir(path)
    root = os.path.dirname(os.path.dirname(folder))
    name = os.path.basename(folder)
    for place in (folder, os.path.join(root, 'history', name)):
        try:
            with open_regular(os.path.join(place, '.project_root')) as handle:
                text = handle.read(8192).decode('utf-8', 'replace').strip()
        except OSError:
            # Older clients wrote none.
            continue
        if text:
            return text
    known = read_json(os.path.join(root, 'projects.json'))
    known = known.get('projects') if type(known) is dict else None
    known = known if type(known) is dict else {}
    for directory in sorted(known):
        if known[directory] == name:
            return directory
    if gemini.is_hash(name):
        from hashlib import sha256
        trusted = read_json(os.path.join(root, 'trustedFolders.json'))
        for directory in sorted(known) + (sorted(trusted) if type(trusted) is dict else []):
            if sha256(directory.encode('utf-8', 'replace')).hexdigest() == name:
                return directory
    return ''


def _parser(source, coverage, state):
    from .gemini_parse import Parser
    return Parser(coverage, source, project_of(source.path), state)


def read_log(source, coverage, offset, line, state):
    """Yield the events of a log, from an offset on; see gemini.read."""
    parser = _parser(source, coverage, state)
    for record in read_records(source.path, coverage, offset, line, _is_noise):
        yield parser.news(record)


def read_old(source, coverage, state):
    """Yield the events of an older client's session: first of the object itself, then a list for each message."""
    parser = _parser(source, coverage, {} if state is None else state)
    with open_regular(source.path) as handle:
        raw = handle.read()
    records = _old_records(raw)
    if records is None:
        coverage.lines += 1
        coverage.damage(1, 'not a session')
    else:
        for record in records:
            coverage.lines += 1
            coverage.line = record.line
            yield parser.news(record)
    # Said to end in the middle of a line: a changed file is read anew.
    coverage.offset, coverage.open_end = len(raw), True


def _old_records(raw):
    """-> list of Records of an older client's session (offset: place of the record), None where it is none."""
    try:
        value = bounded_json.loads(raw.decode('utf-8-sig', 'replace'), bounded_json.DOCUMENT)
    except (ValueError, RecursionError):
        return None
    if type(value) is not dict or type(value.get('messages')) is not list:
        return None
    own = dict((key, value[key]) for key in value if key != 'messages')
    return [Record(data if type(data) is dict else {}, number + 1, number, 0) for number, data in enumerate([own] + value['messages'])]


def events_at(source, offset, length):
    """See gemini.events_at."""
    if source.role == 'history':
        return [event for events in read_logs(source, Coverage(source.path)) for event in events if event.offset == offset]
    parser = _parser(source, Coverage(source.path), {})
    if source.path.endswith('.json'):
        with open_regular(source.path) as handle:
            found = _old_records(handle.read()) or []
        return [event for record in found if record.offset == offset for event in parser.events(record)]
    out = []
    for data in read_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def read_logs(source, coverage):
    """Yield a list with the prompt of each row of a project's logs.json; its `message` is the session's id."""
    rows = read_json(source.path)
    if type(rows) is not list:
        with open_regular(source.path) as handle:
            if handle.read(1):
                coverage.lines += 1
                coverage.damage(1, 'not a list of prompts')
        rows = []
    project = project_of(source.path)
    for number, row in enumerate(rows, 1):
        coverage.lines += 1
        coverage.line = number
        text = row.get('message') if type(row) is dict else None
        if type(text) is str and text.strip() and row.get('type', 'user') == 'user':
            session = word(row.get('sessionId'))
            yield [Event(PROMPT, 'history', parse_time(row.get('timestamp')), 'history', 0, 'h%s:%d' % (session, number), session or None,
                         text, project, number, number, 0, 0)]
    coverage.offset, coverage.open_end = os.path.getsize(source.path), True


def rewound(path):
    """See gemini.branches."""
    if path.endswith('.json'):
        return 1, set()
    order, left, ends = [], set(), 1
    placed = set()
    for record in read_records(path, skip=_is_noise):
        back, ident = record.data.get('$rewindTo'), record.data.get('id')
        if type(back) is str:
            # A step back to a message that is not there takes everything.
            at = order.index(back) if back in placed else 0
            ends += 1 if order[at:] else 0
            left.update(order[at:])
            placed.difference_update(order[at:])
            del order[at:]
        elif type(ident) is str and ident not in placed and ident not in left:
            placed.add(ident)
            order.append(ident)
    return ends, left
