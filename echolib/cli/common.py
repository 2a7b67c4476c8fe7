"""What commands share: opening the view, choosing sessions, and making text fit for a reader."""
import os
from bisect import bisect_left

from ..base import clock, paths, text
from ..base.errors import UsageError


class Asked(object):
    """An opened view with the arguments that choose sessions from it.

    view, catalog, which (Filter), now (ms), since, until.
    """

    def __init__(self, args, out, text=False, refresh=True):
        # Not sooner: where Python has no sqlite3, help and errors still come.
        from ..index import access
        from ..index.catalog import Catalog, Filter
        self.args, self.out = args, out
        self.now = clock.now()
        self.zone = clock.zone()
        agent = resolve_agent(getattr(args, 'agent', None))
        since = getattr(args, 'since', None)
        until = getattr(args, 'until', None)
        self.since = clock.parse_bound(since, self.zone, self.now) if since else None
        self.until = clock.parse_bound(until, self.zone, self.now, end=True) if until else None
        if refresh:
            refresh = not getattr(args, 'no_refresh', False) and (getattr(args, 'refresh', None) or True)
        self.view = access.open_view(out.note, refresh, text, progress=out.progress('building the index'))
        self.catalog = Catalog(self.view.db)
        project = self._project(getattr(args, 'scope', 'all'))
        machine = {'only': True, 'none': False}.get(getattr(args, 'machine', 'all'))
        self.which = Filter(project, agent, self.since, self.until, getattr(args, 'grep', None), machine)
        self.problems = [(path, why) for path, why in self.view.problems if why not in paths.NOT_THERE]
        for path, why in self.problems:
            out.note('cannot read %s: %s' % (text_path(path), why))
        if self.view.result is not None:
            for path, why in self.view.result.errors[:3]:
                out.note('cannot read %s: %s' % (text_path(path), why))
        if self.view.state == 'busy':
            out.note('another process is bringing the index up to date; this answer shows what it had')
        if self.view.age:
            out.note('what changed elsewhere in the last %d s may be missing (--refresh full looks at every file)' % self.view.age)
        if self.view.covered:
            out.note(self.view.covered)

    def _project(self, scope):
        if scope in (None, '', 'all', 'cross'):
            return None
        if scope == 'current':
            return self.catalog.project_of(os.getcwd())
        if scope == 'path':
            return os.getcwd()
        if len(scope) > 2 and scope[1] == ':' and scope[2] in '\\/':
            return scope
        return os.path.abspath(os.path.expanduser(scope))

    def rows(self):
        """-> the chosen sessions' Rows, newest first."""
        return self.catalog.rows(self.which, self.now)

    def counted(self):
        """-> rows() and what counts in totals without being a session."""
        return self.catalog.rows(self.which, self.now, ledgers=True)

    def index_state(self):
        """-> the `index` object of JSON answers."""
        result = self.view.result
        return {'state': self.view.state, 'refreshed': self.view.state in ('current', 'none'),
                'read': result.indexed if result is not None else 0, 'age_seconds': self.view.age}

    def prices(self):
        """-> the PriceTable of the data folder; what could not be used of pricing.json is said."""
        from ..pricing import load
        table = load(self.view.store.folder)
        if table.problem:
            self.out.note(table.problem)
        return table

    def close(self):
        """Let go of the databases."""
        for _, db, _ in self.view.shards:
            db.close()
        self.view.store.close()


def resolve_agent(name):
    """-> agent name or None for all; UsageError for an unknown one."""
    from ..adapters import registry
    try:
        return registry.resolve(name)
    except KeyError:
        import difflib
        near = difflib.get_close_matches(name, registry.names(), 1, 0.5)
        raise UsageError("unknown agent '%s'%s; known: %s, or cross for all" % (
            name, ' (did you mean %s?)' % near[0] if near else '', ', '.join(registry.names())))


# What is looked at behind a cut: longer than secrets are.
BEYOND = 8192
_TITLE = 300


class Cleaner(object):
    """Makes transcript text fit to print: secrets masked, controls visible."""

    def __init__(self, args):
        self.mask = not getattr(args, 'no_redact', False)

    def __call__(self, value):
        """-> text safe inside JSON: secrets masked, lone surrogates replaced; everything else as it is."""
        if not value:
            return value
        value = text.clean_surrogates(value)
        if self.mask:
            from ..base.redact import redact
            value = redact(value)
        return value

    def head(self, value, size):
        """-> the first characters of a text, masked before it is cut: of a secret across the cut no part shows."""
        return self(value[:size + BEYOND] if value else value or '')[:size]

    def title(self, row, size=80):
        """-> the title of a session's Row, else how its first prompt begins: not longer than anybody reads."""
        return self.head(row.title, _TITLE) if row.title else text.clip(self.head(row.first_prompt or '', size + 8), size)

    def line(self, value):
        """-> one printable line, in which nothing passes for structure to a model."""
        return text.neutralise(text.printable(self(value or '')))

    def block(self, value):
        """-> printable lines."""
        return text.printable(self(value or ''), multiline=True)

    def cell(self, value):
        """-> a TSV field."""
        return text.neutralise(text.cell(self(value) if isinstance(value, str) else '' if value is None else str(value)))


def text_path(path):
    """-> a path as text for the reader."""
    return text.printable(path.encode('utf-8', 'surrogateescape').decode('utf-8', 'replace'))


def iso(ms):
    """-> ISO text of a time, '' for none."""
    return clock.format_time(ms) if ms is not None else ''


def dump(out, value):
    """Write one JSON object."""
    out.write(_json(out, value, 1) + '\n')


def _json(out, value, indent=None):
    """-> JSON text whose strings (and names) hold no secret that is known as one, whoever put them there."""
    import json
    found = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    if out.mask:
        from ..base.redact import redact
        if redact(found) is not found:
            # Value by value: a mask must not take what stands between two strings.
            found = json.dumps(_masked(value, redact), ensure_ascii=False, indent=indent, allow_nan=False)
    return found


def _masked(value, redact):
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        out = {}
        for key, one in value.items():
            name = plain = redact(key) if isinstance(key, str) else key
            while name in out:
                # Two names whose masks are alike stay two.
                name = '%s (%d)' % (plain, len(out) + 1)
            out[name] = _masked(one, redact)
        return out
    return [_masked(one, redact) for one in value] if isinstance(value, (list, tuple)) else value


def dump_list(out, head, name, values):
    """Write one JSON object whose list `name` is written as it comes: head (dict), then the list."""
    out.write('%s,\n "%s": [' % (_json(out, head, 1)[:-2], name))
    first = True
    for value in values:
        out.write(('\n  ' if first else ',\n  ') + _json(out, value))
        first = False
    out.write(']\n}\n' if first else '\n ]\n}\n')


def short_ids(wanted, among):
    """-> {session id: its shortest beginning of at least 8 characters that is unique among these ids}."""
    ids = sorted(among)
    out = {}
    for sid in wanted:
        size, at = 8, bisect_left(ids, sid)
        for other in (ids[at - 1] if at else '', ids[at + 1] if at + 1 < len(ids) else ''):
            same = 0
            while same < len(sid) and same < len(other) and sid[same].lower() == other[same].lower():
                same += 1
            size = max(size, same + 1)
        out[sid] = sid[:size]
    return out


def when(ms, now, zone):
    """-> 'YYYY-MM-DD HH:MM' in the reader's zone, marked when it lies after this clock."""
    if ms is None:
        return '-'
    local = clock.format_time(ms, zone)
    mark = ' (after this clock)' if ms > now + 86400000 else ''
    return local[:16].replace('T', ' ') + mark


def amount(number):
    """-> a count with thousands separators."""
    return '{:,}'.format(number)


def compact(number):
    """-> a token count in few characters: 950, 12.3k, 4.5M."""
    for size, unit in ((1000000000, 'G'), (1000000, 'M'), (1000, 'k')):
        if number >= size:
            return ('%.1f%s' % (number / float(size), unit)).replace('.0', '')
    return str(number)


def money(keys):
    """-> the cost of shared keys as text: a sum, or what is known of it."""
    from ..pricing import format_usd
    known = int(round(keys['known_cost_usd'] * 1e12))
    if keys['cost_usd'] is None:
        return 'at least %s (no price for %s calls)' % (format_usd(known), amount(keys['unpriced']['calls'])) if known else 'unknown'
    return format_usd(known)


def print_within(out, most, lines, more):
    """Print lines of at most so many characters; of more, how many are left and the command that has them."""
    used = 0
    for place, line in enumerate(lines):
        used += len(line) + 1
        if used > most:
            out.line('... %d more lines: sd-recall.py %s' % (len(lines) - place, more))
            return
        out.line(line)
