"""Cursor's transcripts to events: rows of a role and blocks, or the same as text.

They hold no ids, times or results, so that a record is known by its place. What the model wrote up to a call or to the
next prompt is taken as one response.
"""
import os
import re

from ..base.files import open_regular
from ..events import ATTACHMENT
from ..records import Record, read_at, read_records
from .folder_names import directory_of
from .talk import Talk, at_place, pieces
from .values import blocks, inner, word

# Rows that only say that a turn ended.
_ENDS = frozenset(('turn_ended', 'turn_end'))
_ASKED = re.compile(r'<user_query>(.*?)(?:</user_query>|\Z)', re.S)
_SPEAKER = {'user:': 'user', 'assistant:': 'assistant'}
_MARK = re.compile(r'\[(Thinking|Tool call|Tool result)\] ?(.*)')


class Transcript(Talk):
    """Turns the records of one transcript into events."""

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        self.at(line, offset, length)
        role, body = word(data.get('role')), inner(data, 'message')
        if 'said' not in self.state:
            self.says('cwd', self._directory())
        if role == 'user' and body:
            found = pieces(body, role)
            for piece in found:
                if piece.kind == 'result':
                    self.result(piece)
            self.asked('\n'.join(piece.text for piece in found if piece.kind == 'text'))
        elif role == 'assistant' and body:
            found = pieces(body, role)
            if found:
                self.answered(found)
        elif word(data.get('type')) not in _ENDS:
            self.unknown('record %s' % (role or word(data.get('type')) or 'without a role')[:60])
        return self.out

    def asked(self, text):
        """Append what stands in a user's place: the query as typed, what the client put around it as an attachment."""
        typed = blocks(text, 'user_query')
        if typed:
            self.typed('\n'.join(typed))
            self.injected(ATTACHMENT, _ASKED.sub('', text).strip(), '/context')
        else:
            self.typed(text)

    def answered(self, found, model=''):
        """Append what the model wrote, and results; a call ends a response."""
        self.answer(found, self.response(model) if any(piece.kind != 'result' for piece in found) else None)
        if any(piece.kind == 'call' for piece in found):
            self.state.pop('open', None)

    def _directory(self):
        """-> the directory that the name of a transcript's project folder stands for, '' where that is not sure."""
        parts = self.path.split(os.sep)
        if 'agent-transcripts' not in parts:
            return ''
        return directory_of('-' + parts[parts.index('agent-transcripts') - 1], dots=True)


def spoken(text):
    """-> list of the records (dicts as a .jsonl has them) that a transcript kept as text holds."""
    rows, role, kind, name, held = [], '', '', '', []

    def flush():
        body = '\n'.join(held).strip('\n')
        if role and (body.strip() or kind in ('Tool call', 'Tool result')):
            rows.append({'role': role, 'message': {'content': [_block(kind, name, body)]}})
        del held[:]
    for line in text.split('\n'):
        mark = _MARK.match(line)
        if line.strip() in _SPEAKER and line[:1] != ' ':
            flush()
            role, kind, name = _SPEAKER[line.strip()], '', ''
        elif mark is not None and role:
            flush()
            kind, name = mark.group(1), mark.group(2)
            if kind == 'Thinking':
                held.append(name)
        elif kind and line and line[:1] not in ' \t':
            # Text again: what belongs to a mark is indented.
            flush()
            kind, name = '', ''
            held.append(line)
        else:
            held.append(line[2:] if kind and line[:2] == '  ' else line)
    flush()
    return rows


def _block(kind, name, body):
    if kind == 'Thinking':
        return {'type': 'thinking', 'thinking': body}
    if kind == 'Tool call':
        given = {}
        for line in body.split('\n'):
            key, colon, value = line.partition(':')
            if colon and key.strip():
                given[key.strip()] = value.strip()
        return {'type': 'tool_use', 'name': name.strip(), 'input': given or body}
    if kind == 'Tool result':
        return {'type': 'tool_result', 'name': name.strip(), 'content': body}
    return {'type': 'text', 'text': body}


def _text_rows(path, coverage):
    """Yield Records of a transcript kept as text; their offset is their place."""
    with open_regular(path) as handle:
        text = handle.read().decode('utf-8', 'replace')
    rows = spoken(text.replace('\r\n', '\n'))
    if text.strip() and not rows:
        coverage.lines += 1
        coverage.damage(1, 'text without a speaker')
    for number, row in enumerate(rows, 1):
        coverage.lines += 1
        coverage.line = number
        yield Record(row, number, number, 0)


def read(source, coverage, state):
    """See cursor.read."""
    parser = Transcript(source, coverage, state)
    text = source.path.endswith('.txt')
    for record in _text_rows(source.path, coverage) if text else read_records(source.path, coverage):
        yield parser.events(record)


def events_at(source, offset, length):
    """See cursor.events_at."""
    from ..records import Coverage
    coverage = Coverage(source.path)
    parser = Transcript(source, coverage, {})
    if source.path.endswith('.txt'):
        return at_place(parser, [record.data for record in _text_rows(source.path, coverage)], offset)
    return [event for data in read_at(source.path, offset, length) for event in parser.events(Record(data, 0, offset, length))]
