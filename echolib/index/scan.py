"""Search without full-text tables (an SQLite that has no FTS5): the files are read, newest first, within a time budget.

The same query language and the same answers, slower; what was not reached is said.
"""
import time

from ..adapters import Source, registry
from ..base import paths
from ..records import Coverage
from . import matching, schema
from .documents import document_kind, document_text
from .search import Answer, Hit

# Seconds of reading.
BUDGET = 15.0
_WEIGHTS = {schema.TITLE: 1.25, schema.PROMPT_DOC: 1.1, schema.REPLY_DOC: 1.0, schema.THINKING_DOC: 0.7}


class Scanner(object):
    """Answers like a Searcher from the files an index knows of. db: connection to index.db (or its stand-in)."""

    def __init__(self, db, texts, budget=BUDGET):
        self.db, self.texts, self.budget = db, texts, budget
        self.history = self.rivals = self.copied = set()

    def search(self, query, options):
        """-> Answer of a Query under Options."""
        if not query.terms:
            return Answer([], 0, False, ['nothing in this query can be searched'])
        terms = [[(matching.Matcher(t), t.literal) for t in alternatives] for alternatives in query.terms]
        barred = [matching.Matcher(t) for t in query.without]
        agents = dict(self.db.execute('select id, agent from roots'))
        files = self.db.execute("select id, root, path, role, chain, sid, session, mtime_ns from files where role != 'history'"
                                ' order by mtime_ns desc').fetchall()
        deadline = time.time() + self.budget
        found, held, notes = [], {}, []
        for place, row in enumerate(files):
            if options.sessions is not None and row[6] not in options.sessions:
                continue
            if time.time() > deadline:
                notes.append('only the newest %d of %d files were read in the time there is; build an index: index-builder.py build'
                             % (place, len(files)))
                break
            self._read(registry.get(agents[row[1]]), row, options, terms, barred, found, held)
        full = set(s for s, have in held.items() if len(have) == len(terms))
        partial = not full and bool(held) and len(terms) > 1
        answering = set(held) if partial or query.question else full
        rows = [(len(have) * _WEIGHTS.get(hit.kind, 0.4), hit, have) for hit, have in found if hit.session in answering]
        rows.sort(key=lambda r: (r[1].session in options.behind, -r[0] if not options.recent else 0, -(r[1].time or 0), r[1].file, r[1].line))
        hits, per, seen = [], {}, set()
        for score, hit, have in rows:
            same = (hit.session, hit.line, hit.part)
            if same in seen or options.per_session and per.get(hit.session, 0) >= options.per_session:
                continue
            seen.add(same)
            lacking = have if query.question else held[hit.session]
            missing = tuple(alternatives[0].text for i, alternatives in enumerate(query.terms) if i not in lacking)
            hits.append(hit._replace(score=score, missing=missing))
            per[hit.session] = per.get(hit.session, 0) + 1
            if options.limit and len(hits) >= options.limit:
                break
        return Answer(hits, len(answering), partial, notes, query.terms)

    def _read(self, adapter, row, options, terms, barred, found, held):
        source = Source(paths.restored(row[2]), row[3], row[4], row[5], 0, 0)
        try:
            for events in adapter.read(source, Coverage(source.path)):
                for event in events:
                    kind = document_kind(event)
                    if not kind or not event.text or not _wanted(kind, event, options, row[0]):
                        continue
                    text = document_text(adapter, source, event)
                    low = matching.folded(text)
                    if any(one.find(low) for one in barred):
                        continue
                    have = set(i for i, alternatives in enumerate(terms)
                               if any(one.find(low) and (not literal or matching.holds_literal(text, literal)) for one, literal in alternatives))
                    if have:
                        hit = Hit(row[0], row[6], event.line, event.offset, event.length, event.part, kind, event.time, 0.0, (), ())
                        if options.accept is None or options.accept(hit):
                            found.append((hit, have))
                            held.setdefault(row[6], set()).update(have)
        except OSError:
            # Named where the view was opened; the other files go on.
            return

    def still_in_context(self, sid):
        """-> {file id: line} of what the asking session still has in its context: all of it, as far as is known here."""
        return dict((file, 0) for file, in self.db.execute(
            "select f.id from files f join sessions s on s.id = f.session where s.sid = ? and f.role = 'main'", (sid,)))

    def sessions_naming(self, path):
        """-> ids of sessions with a tool call that names a file."""
        from .query import parse
        from .search import Options
        query = parse('"%s"' % path.replace('"', ' '))
        found = self.search(query, Options(None, {schema.CALL_DOC}, None, None, True, False, 0, 0, False, {}, None, frozenset()))
        return set(hit.session for hit in found.hits)

    def uses_tool(self, name):
        """-> a test of Hits: a call of this tool?"""
        wanted = name.lower()

        def accept(hit):
            event = self.texts.event(hit.file, hit.offset, hit.length, hit.part)
            return event is not None and hit.kind == schema.CALL_DOC and event.label.lower() == wanted
        return accept


def _wanted(kind, event, options, file):
    if options.kinds is not None:
        if kind not in options.kinds:
            return False
    elif kind >= schema.TOOL_KINDS and not options.injected and (not options.tools or kind >= schema.INJECTED_DOC):
        return False
    if options.since is not None and (event.time is None or event.time < options.since):
        return False
    if options.until is not None and (event.time is None or event.time >= options.until):
        return False
    return not (file in options.hide and event.line >= options.hide[file])
