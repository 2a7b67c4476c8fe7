"""The records of a file of an unknown agent, its shape, and its events: lines, packed lines, or one JSON document."""
import os

from ..base import bounded_json
from ..base.files import open_regular
from ..records import Coverage, Record, parse_line, read_at, read_records, scan
from . import universal_dialog
from . import universal_fields as fields
from .universal import Mapping, bare, below
from .universal_families import CHUNKED, HISTORIES, chunk_of, listed, with_chunk
from .universal_shapes import BYTES, RECORDS, is_running, probe

_LARGEST_JSON = 256 << 20
# So much more is looked at to see whether counters are running totals.
_MORE = 4 << 20
_WIDE = (b'\xff\xfe', b'\xfe\xff')
_KEPT = 64

_shapes = {}


def is_document(path):
    """True for a file that is one JSON value."""
    return path.endswith('.json')


def is_packed(path):
    """True for a file packed with zstd."""
    return path.endswith(('.zst', '.zstd'))


def document(path):
    """-> (list of records of a JSON document, '' or what is wrong): the messages in it, one a record, behind the rest of it."""
    if os.path.getsize(path) > _LARGEST_JSON:
        return [], 'a JSON document of more than %d MB' % (_LARGEST_JSON >> 20)
    with open_regular(path) as handle:
        raw = handle.read()
    try:
        text = raw.decode('utf-16' if raw[:2] in _WIDE else 'utf-8-sig', 'replace')
        value = bounded_json.loads(text.strip('\0 \t\r\n'), bounded_json.DOCUMENT)
    except (ValueError, RecursionError) as error:
        return [], 'broken JSON (%s)' % str(error)[:60]
    if type(value) is list:
        return [one for one in value if type(one) is dict], ''
    if type(value) is not dict:
        return [], 'not an object'
    found = listed(value)
    if found is None:
        return [value], ''
    rest = dict((key, one) for key, one in value.items() if one is not found)
    return [rest] + [one for one in found if type(one) is dict], ''


def records(path, coverage):
    """Yield the Records of a file from its start; in a document the offset is the place in its list."""
    if is_document(path):
        found, wrong = document(path)
        if wrong:
            coverage.lines += 1
            coverage.damage(1, wrong)
        for number, data in enumerate(found):
            coverage.lines += 1
            coverage.line, coverage.offset = number + 1, number + 1
            yield Record(data, number + 1, number, 0)
    elif is_packed(path):
        from ..base.zstd import open_zstd
        with open_zstd(path) as handle:
            try:
                for record in scan(handle, coverage):
                    yield record
            except OSError as error:
                # What came before the damage stands.
                coverage.lines += 1
                coverage.damage(coverage.line + 1, str(error))
    else:
        for record in read_records(path, coverage):
            yield record


def first_records(path):
    """-> (dicts of the first records, list of (input, output) counters in them and behind them)."""
    found, counts, size, coverage = [], [], 0, Coverage(path)
    for record in records(path, coverage):
        size += record.length
        if len(found) < RECORDS and (size <= BYTES or len(found) < 5):
            found.append(record.data)
        elif not 1 < len(counts) < 5 or size > _MORE:
            break
        costs = fields.counters(record.data)
        if costs is not None and (not counts or fields.raw_counts(costs) != counts[-1]):
            counts.append(fields.raw_counts(costs))
            if len(counts) > 1 and not (counts[-1][0] > counts[-2][0] and counts[-1][1] > counts[-2][1]) and len(found) >= RECORDS:
                break
    return found, counts


def shape_of(path, mapping):
    """-> Shape of a file. mapping: the user's word for it, or None. Raises OSError when it cannot be opened."""
    stat = os.stat(path)
    key = (path, stat.st_size, stat.st_mtime_ns, repr(mapping))
    if key not in _shapes:
        if len(_shapes) >= _KEPT:
            _shapes.clear()
        found, counts = first_records(path)
        _shapes[key] = probe(found, mapping)._replace(running=is_running(counts))
    return _shapes[key]


def is_history(shape):
    """True for a file that holds the prompts of several sessions."""
    return shape.family in HISTORIES and len(shape.sessions) > 1


def _reader(shape):
    """-> the adapter, or the reader of ours, whose own files have this shape, None where there is none."""
    if shape.family == universal_dialog.FAMILY:
        return universal_dialog
    from . import registry
    name = registry.SHAPES.get(shape.family)
    return registry.get(name) if name else None


def _parser(source, coverage, mapping, shape, state):
    from .universal_parse import Parser
    return Parser(coverage, source, state, shape, mapping or Mapping('', '', '', '', {}, {}, ()),
                  bare(below(mapping, source.path)).replace(os.sep, '/'))


def read(source, coverage, mapping, state):
    """See universal.read."""
    shape = shape_of(source.path, mapping)
    if not shape.family:
        reason = shape.why
        if os.path.getsize(source.path):
            with open_regular(source.path) as handle:
                if handle.read(2) in _WIDE and not is_document(source.path):
                    reason = 'UTF-16 text, of which only whole JSON documents are read'
            coverage.drift(1, 'no shape of a conversation: %s' % reason)
        return
    reader = None if mapping is not None and mapping.fields or is_document(source.path) else _reader(shape)
    if reader is not None:
        for events in reader.read(source, coverage, 0, 0, {}):
            yield events
        return
    parser = _parser(source, coverage, mapping, shape, {} if state is None else state)
    found = records(source.path, coverage)
    for record in joined(found) if shape.family == CHUNKED else found:
        yield parser.events(record)


def events_at(source, offset, length, mapping):
    """See universal.events_at."""
    shape = shape_of(source.path, mapping)
    if not shape.family:
        return []
    reader = None if mapping is not None and mapping.fields or is_document(source.path) else _reader(shape)
    if reader is not None:
        return reader.events_at(source, offset, length, {})
    parser = _parser(source, Coverage(source.path), mapping, shape, {})
    if shape.family == CHUNKED:
        for record in joined(_lines_from(source.path, offset)):
            return parser.events(record)
    out = []
    for data in _data_at(source.path, offset, length):
        out.extend(parser.events(Record(data, 0, offset, length)))
    return out


def joined(found):
    """Yield Records with a message that was streamed in pieces as one record, in the place of its first piece."""
    held, texts = None, []
    for record in found:
        kind, text = chunk_of(record.data)
        if held is not None and (not kind or kind != chunk_of(held.data)[0]):
            yield held._replace(data=with_chunk(held.data, ''.join(texts)))
            held = None
        if not kind:
            yield record
        elif held is None:
            held, texts = record, [text]
        else:
            texts.append(text)
    if held is not None:
        yield held._replace(data=with_chunk(held.data, ''.join(texts)))


def _lines_from(path, offset):
    coverage = Coverage(path)
    if is_packed(path):
        return (record for record in records(path, coverage) if record.offset >= offset)
    return read_records(path, coverage, offset, 0)


def _data_at(path, offset, length):
    if is_document(path):
        return document(path)[0][offset:offset + 1]
    if not is_packed(path):
        return read_at(path, offset, length)
    from ..base.zstd import open_zstd
    with open_zstd(path) as handle:
        while offset > 0:
            block = handle.read(min(offset, 1 << 18))
            if not block:
                break
            offset -= len(block)
        return parse_line(handle.read(length) if length else handle.readline())[0]
