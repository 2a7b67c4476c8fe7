"""What records of newer client versions hold that those of older ones do not: kinds of records, and fields in them."""
import re
from collections import namedtuple

from .records import read_records
from .analysis_file import record_kind

# what: a kind of record (`system/compact_boundary`), or a field of one (`assistant: message.usage.speed`). field: True for the
# latter. version: the oldest it was seen in. count: records; before: records of that kind in older versions, which lack it.
# path, line, offset, length: of the first such record. understood: False when an adapter did not know such a record.
News = namedtuple('News', 'what field version count before path line offset length understood')

_NAME = re.compile(r'[A-Za-z_$@][\w$.-]{0,48}\Z', re.A)
# What tools are given and answer is theirs, not the client's.
_FOREIGN = frozenset(('input', 'arguments', 'args', 'toolUseResult', 'rawInput', 'rawOutput', 'output', 'result', 'snapshot', 'parameters', 'env'))
_DEEPEST, _WIDEST, _ITEMS = 3, 80, 20


def order(version):
    """-> what versions are compared by: their numbers; () where there are none."""
    return tuple(int(part) for part in re.findall(r'\d{1,9}', version)[:6])


def fields(value, prefix='', depth=0):
    """-> set of dotted names of what a record holds, lists of objects by the `type` of their items; data is not gone into."""
    out = set()
    if len(value) > _WIDEST:
        # Names of that many things are data.
        return out
    for key, inner in value.items():
        if not isinstance(key, str) or not _NAME.match(key):
            continue
        name = prefix + key
        out.add(name)
        if depth >= _DEEPEST or key in _FOREIGN:
            continue
        if isinstance(inner, dict):
            out |= fields(inner, name + '.', depth + 1)
        elif isinstance(inner, list):
            for item in inner[:_ITEMS]:
                if isinstance(item, dict):
                    kind = item.get('type')
                    place = '%s[%s]' % (name, kind if isinstance(kind, str) and _NAME.match(kind) else '')
                    out.add(place)
                    out |= fields(item, place + '.', depth + 1)
    return out


class Seen(object):
    """What was seen in one agent's files, by version."""

    def __init__(self):
        self.versions, self._kinds, self._fields = {}, {}, {}

    def read(self, path, version='', odd=()):
        """Take in a file of JSON lines. version: of its records that name none; odd: lines that were not understood."""
        for record in read_records(path):
            data = record.data
            if isinstance(data.get('version'), str) and order(data['version']):
                version = data['version']
            self.versions[version] = self.versions.get(version, 0) + 1
            kind = record_kind(record)
            self._put(self._kinds, kind, version, path, record, record.line not in odd)
            for name in fields(data):
                self._put(self._fields, (kind, name), version, path, record, True)

    def _put(self, into, what, version, path, record, understood):
        by = into.setdefault(what, {})
        row = by.get(version)
        if row is None:
            by[version] = [1, (path, record.line, record.offset, record.length), understood]
        else:
            row[0] += 1
            row[2] = row[2] and understood

    def newest(self):
        """-> the newest version, '' where none is named."""
        return max((v for v in self.versions if order(v)), key=order, default='')

    def news(self, after):
        """-> list of News of versions behind `after`, kinds of records first; fields of new kinds are not told one by one."""
        edge, out = order(after), []
        new = set(kind for kind, by in self._kinds.items() if not any(order(v) <= edge for v in by))
        for kind in new:
            out.append(self._row(kind, False, self._kinds[kind], 0))
        for (kind, name), by in self._fields.items():
            if kind not in new and not any(order(v) <= edge for v in by) and not self._within_new(kind, name, edge):
                out.append(self._row('%s: %s' % (kind, name), True, by, sum(r[0] for v, r in self._kinds[kind].items() if order(v) <= edge)))
        out.sort(key=lambda n: (n.field, n.understood, order(n.version), n.what))
        return out

    def _within_new(self, kind, name, edge):
        """True for a field inside of one that is new itself."""
        for place in range(len(name) - 1, 0, -1):
            if name[place] in '.[':
                by = self._fields.get((kind, name[:place]))
                if by is not None and not any(order(v) <= edge for v in by):
                    return True
        return False

    @staticmethod
    def _row(what, field, by, before):
        first = min(by, key=order)
        return News(what, field, first, sum(row[0] for row in by.values()), before,
                    *by[first][1] + (all(row[2] for row in by.values()),))
