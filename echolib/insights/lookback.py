"""Looking back: past errors with what helped, who touched a file and why, what was decided.

All three start from documents of the index and walk the documents around them (a file's documents are numbered in the
order of its lines), so no transcript is read whole.
"""
import re
from collections import namedtuple
from unicodedata import normalize

from ..index import schema
from ..index.documents import ident_of
from ..index.query import parse
from ..index.selection import TOOLS, Options
from ..shell import command_of, read

# One past failure. count: how often it happened in this form; fix: the next call of the same kind that worked, or None;
# reply: what the model said between; place of the fix: '' same session, 'project' another session of the same project,
# 'earlier' after an earlier time it happened.
Failure = namedtuple('Failure', 'hit call error count fix reply place')
Touch = namedtuple('Touch', 'hit what path prompt prompt_hit')
Decision = namedtuple('Decision', 'hit kind question answer')

# How far behind a failure its remedy is looked for, in documents of its file.
_AHEAD = 120
# So many failures at least are counted, however few are asked for: one that comes all the time must not hide the others.
_ERRORS = 2000
# So many earlier times an error happened are asked for a remedy.
_REPEATS = 5
# So many calls of other sessions are looked at for it.
_ELSEWHERE = 25
# Of so many questions of a kind the answers are looked at.
_ANSWERS = 200
_QUESTIONS = {'askuserquestion': 'question', 'ask_user_question': 'question', 'ask_user': 'question',
              'request_user_input': 'question', 'exitplanmode': 'plan', 'exit_plan_mode': 'plan'}
_FOLDS = (
    (re.compile(r'\x1b\[[0-9;]*m'), ''),
    (re.compile(r'\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b', re.I), 'ID'),
    (re.compile(r'\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?\b', re.I), 'TIME'),
    (re.compile(r'\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b', re.I), 'HASH'),
    (re.compile(r'0x[0-9a-f]+', re.I), 'HEX'),
    (re.compile(r'(?:[A-Za-z]:)?(?:[\\/][\w.@+~-]+){2,}'), 'PATH'),
    (re.compile(r'\d+(\.\d+)?'), 'N'),
    (re.compile(r'\s+'), ' '),
)
_MANAGERS = frozenset(('npm', 'pnpm', 'yarn', 'bun', 'uv', 'poetry', 'pipenv'))


def normalise(text):
    """-> an error text with paths, numbers, hashes, ids and times folded, so that one error in other clothes is the same."""
    text = text[:2000].lower()
    for pattern, what in _FOLDS:
        text = pattern.sub(what, text)
    return text.strip()[:300]


def call_kind(name, given):
    """-> what makes two tool calls the same kind: the tool, and its program (a shell's) or its file."""
    if isinstance(given, dict):
        command = command_of(given)
        if command:
            return name, program(command)
        for field in ('file_path', 'notebook_path', 'path', 'target_file', 'url', 'skill', 'subagent_type'):
            if isinstance(given.get(field), str):
                return name, given[field]
    return name, ''


def program(command):
    """-> the program a shell line runs (see shell), of a package manager the script or verb: build of `npm run build`."""
    head = read(command).head.split(' ')
    return head[-1] if head[0] in _MANAGERS else head[0]


class Lookback(object):
    """Answers over an opened index. searcher: a Searcher; catalog: a Catalog; allowed: set of session ids or None."""

    def __init__(self, searcher, catalog, allowed=None, since=None, until=None):
        self.searcher, self.catalog, self.allowed = searcher, catalog, allowed
        self.since, self.until = since, until
        self.texts = searcher.texts
        self.projects = {}

    def _options(self, kinds):
        return Options(self.allowed, kinds, self.since, self.until, True, False, 0, 0, False, {}, None, frozenset())

    def _newest(self, kinds, most):
        """-> the newest documents of some kinds: [(shard, id)]."""
        found, options = [], self._options(kinds)
        where, values = self.searcher.filter(TOOLS, options)
        for shard, (number, db, end) in enumerate(self.searcher.shards):
            taken = 0
            for doc, file, time in db.execute('select d.id, d.file, d.time from docs d where d.id < ?%s order by d.time desc' % where,
                                              [end] + values):
                # A document that was read anew belongs to no file.
                if self.searcher.allowed(file, options) and self.searcher.session_of(file) is not None:
                    found.append((time or 0, shard, doc))
                    taken += 1
                    if taken >= most:
                        break
        found.sort(reverse=True)
        return [(shard, doc) for _, shard, doc in found[:most]]

    def _matching(self, text, kinds, most, first=''):
        """-> documents of some kinds that hold the words of `text` (and the token `first`), newest first, at most `most`."""
        query = parse(text)
        if not query.terms and not first:
            return self._newest(kinds, most)
        terms = list(query.terms)
        if first:
            terms = list(parse(first).terms) + terms
        options = self._options(kinds)
        sets = []
        for alternatives in terms:
            docs = self.searcher.documents(alternatives, [TOOLS], options, True)
            sets.append(set((place[1], n) for place, ids in docs.items() for n in ids))
        held = {}
        for one in sets:
            for doc in one:
                held[doc] = held.get(doc, 0) + 1
        need = len(sets) if not query.question else max(1, (len(sets) + 1) // 2)
        best = [doc for doc, n in held.items() if n >= need and (not first or doc in sets[0])]
        self.searcher.load(best)
        best.sort(key=lambda d: (-held[d], -(self.searcher.doc(*d)[6] or 0), d))
        return best[:most]

    def _originals(self, docs):
        """-> the documents without those that repeat one of an older file (fork, resume), or an earlier one of their own."""
        places = {}
        for shard, number in docs:
            places.setdefault((TOOLS, shard), []).append(number)
        for ids in places.values():
            ids.sort()
        copies = self.searcher.copies([places], set(docs))
        self.searcher.load(docs)
        first = {}
        for doc in docs:
            row = self.searcher.doc(*doc)
            if row is not None:
                what = row[0], row[7], row[5], row[4]
                first[what] = min(doc, first.get(what, doc))
        kept = set(first.values()).difference(copies)
        return [doc for doc in docs if doc in kept]

    def _event(self, shard, number):
        row = self.searcher.doc(shard, number)
        return (row, self.texts.event(row[0], row[2], row[3], row[4])) if row is not None else (None, None)

    def _around(self, shard, file, number, kinds, ahead):
        """-> ids of a file's documents of some kinds among the _AHEAD behind (ahead=True) or before a document, nearest first."""
        out = []
        for first, end in self.searcher.placement.beside(file, number, ahead, _AHEAD):
            out.extend(row[0] for row in self.searcher.shards[shard][1].execute(
                'select id from docs where id >= ? and id < ? and kind in (%s) order by id%s' % (
                    ','.join('%d' % kind for kind in kinds), '' if ahead else ' desc'), (first, end)))
        return out

    def _call_of(self, shard, file, number, call_id):
        # Some clients wrote a result before its call.
        for ahead in (False, True):
            for first, end in self.searcher.placement.beside(file, number, ahead):
                for doc, in self.searcher.shards[shard][1].execute(
                        'select id from docs where id >= ? and id < ? and kind = ? and ident = ? order by id desc',
                        (first, end, schema.CALL_DOC, ident_of(call_id))):
                    _, event = self._event(shard, doc)
                    if event is not None and event.id == call_id:
                        return event
        return None

    def _result_of(self, shard, file, number, call_id, kinds):
        """-> the event of a call's result that is a document of some kinds, None without one."""
        for ahead in (True, False):
            for doc in self._around(shard, file, number, kinds, ahead):
                _, result = self._event(shard, doc)
                if result is not None and result.kind == 'tool_result' and result.data.call_id == call_id:
                    return result
        return None

    def errors(self, text, limit):
        """-> list of Failures that match, newest first, the same error once."""
        out, seen = [], {}
        wanted = normalise(text) if text else ''
        docs = self._matching(text, {schema.ERROR_DOC}, max(_ERRORS, 60 * limit))
        for shard, number in self._originals(docs):
            row, event = self._event(shard, number)
            if event is None or event.kind != 'tool_result' or event.label != 'error':
                continue
            call = self._call_of(shard, row[0], number, event.data.call_id)
            name = call.label if call is not None else 'tool'
            key = (name, normalise(event.text))
            if key in seen:
                known = seen[key]
                if known.fix is None and known.count < _REPEATS:
                    # It happened again; what helped an earlier time still says how.
                    earlier = self._failure(shard, row, number, event, call)
                    known = known._replace(fix=earlier.fix, reply=earlier.reply, place='earlier' if earlier.fix is not None else '')
                seen[key] = known._replace(count=known.count + 1)
                continue
            if limit and len(seen) >= limit:
                continue
            seen[key] = self._failure(shard, row, number, event, call)
        out = list(seen.values())
        if wanted:
            out.sort(key=lambda f: wanted not in normalise(f.error))
        return out[:limit] if limit else out

    def failure_at(self, shard, number, same):
        """-> Failure of a document, with what came after; None when the document is no failed call any more.

        same(failed call, later call): says which calls of the kind did what it tried.
        """
        row, event = self._event(shard, number)
        if event is None or event.kind != 'tool_result':
            return None
        return self._failure(shard, row, number, event, self._call_of(shard, row[0], number, event.data.call_id), same)

    def calls_between(self, shard, number, line):
        """-> the calls of a document's file between it and a later line, in order."""
        row = self.searcher.doc(shard, number)
        out = []
        for doc in self._around(shard, row[0], number, (schema.CALL_DOC,), True):
            found, event = self._event(shard, doc)
            if event is None or found[1] >= line:
                break
            out.append(event)
        return out

    def _failure(self, shard, row, number, event, call, same=None):
        fix = reply = None
        place = ''
        if call is not None:
            kind = call_kind(call.label, call.data)
            replies, waiting, ended = [], {}, set()
            for doc in self._around(shard, row[0], number, (schema.CALL_DOC, schema.RESULT_DOC, schema.REPLY_DOC), True):
                found, later = self._event(shard, doc)
                if later is None:
                    continue
                if later.kind == 'reply':
                    replies.append(later.text)
                elif later.kind == 'tool_call' and call_kind(later.label, later.data) == kind and (same is None or same(call, later)):
                    waiting[later.id] = (found, later)
                    fix = waiting[later.id] if later.id in ended else None
                elif later.kind == 'tool_result':
                    ended.add(later.data.call_id)
                    fix = waiting.get(later.data.call_id)
                if fix is not None:
                    break
            if fix is not None:
                reply = replies[0] if replies else None
            else:
                fix = self._elsewhere(row, kind)
                # A subagent's place is its session.
                elsewhere = fix is not None and self.searcher.session_of(fix[0][0]) != self.searcher.session_of(row[0])
                place = 'project' if elsewhere else ''
        return Failure(self._hit(shard, row, number), call, event.text, 1, fix, reply, place)

    def _elsewhere(self, row, kind):
        """-> (row, event) of the newest later call of a kind that worked in another session of the same project, or None."""
        if not kind[1]:
            return None
        project = self.catalog.row(self.searcher.session_of(row[0])).project
        sessions = self._of_project(project)
        from ..index.query import _term
        term = _term(kind[1], True)
        if term is None:
            return None
        options = self._options({schema.CALL_DOC})._replace(sessions=sessions, since=row[6], until=None)
        docs = self.searcher.documents((term._replace(literal=''),), [TOOLS], options, False)
        found = [(place[1], n) for place, ids in docs.items() for n in ids]
        self.searcher.load(found)
        found.sort(key=lambda d: (-(self.searcher.doc(*d)[6] or 0), d))
        for shard, number in found[:_ELSEWHERE]:
            other, event = self._event(shard, number)
            if event is None or other[0] == row[0] or event.kind != 'tool_call' or call_kind(event.label, event.data) != kind:
                continue
            if self._result_of(shard, other[0], number, event.id, (schema.RESULT_DOC,)) is not None:
                return other, event
        return None

    def _of_project(self, project):
        if project not in self.projects:
            self.projects[project] = set(i for i, in self.catalog.db.execute('select id from sessions where project = ?', (project,)))
        return self.projects[project]

    def _hit(self, shard, row, number):
        from ..index.selection import Hit
        return Hit(row[0], self.searcher.session_of(row[0]), row[1], row[2], row[3], row[4], row[5], row[6], 0.0, (), ())

    def touched(self, path, limit):
        """-> list of Touches: calls that edited or wrote a file (a path, or its last parts), newest first, one a session and turn."""
        parts = path.replace('\\', '/').rstrip('/')
        out, seen = [], set()
        from ..index.query import _term
        term = _term(parts, True)
        if term is None:
            return []
        docs = self.searcher.documents((term._replace(literal=''),), [TOOLS], self._options({schema.CALL_DOC}), False)
        found = [(place[1], n) for place, ids in docs.items() for n in ids]
        self.searcher.load(found)
        found.sort(key=lambda d: (-(self.searcher.doc(*d)[6] or 0), d))
        for shard, number in self._originals(found):
            row, event = self._event(shard, number)
            adapter = self.texts.file(row[0])[0] if row is not None else None
            if event is None or not hasattr(adapter, 'files_of'):
                continue
            for what, name in adapter.files_of(event.label, event.data):
                if what == 'read' or not _same_file(name, parts) or self._failed(shard, row[0], number, event.id):
                    continue
                prompt, prompt_hit = self._prompt_before(shard, row, number)
                key = (self.searcher.session_of(row[0]), prompt_hit.line if prompt_hit else None, name)
                if key not in seen:
                    seen.add(key)
                    out.append(Touch(self._hit(shard, row, number), what, name, prompt, prompt_hit))
            if limit and len(out) >= limit:
                break
        return out[:limit] if limit else out

    def _failed(self, shard, file, number, call_id):
        """-> True when a call ended in an error or was declined."""
        return self._result_of(shard, file, number, call_id, (schema.ERROR_DOC,)) is not None

    def _prompt_before(self, shard, row, number):
        for first, end in self.searcher.placement.beside(row[0], number, False):
            found = self.searcher.shards[shard][1].execute(
                'select max(id) from docs where id >= ? and id < ? and kind = ?', (first, end, schema.PROMPT_DOC)).fetchone()[0]
            if found is not None:
                break
        else:
            return '', None
        before, event = self._event(shard, found)
        return (event.text if event is not None else ''), self._hit(shard, before, found)

    def decisions(self, text, limit):
        """-> list of Decisions: questions put to the person with the answer, and plans with their approval, newest first."""
        out, seen = [], set()
        docs, asked = [], set()
        for name in _QUESTIONS:
            asked.update(self._matching(text, {schema.CALL_DOC}, 40 * max(1, limit) if limit else 5000, name))
            if text:
                # The words may stand in the answer.
                docs += self._matching('', {schema.CALL_DOC}, _ANSWERS if limit else 5000, name)
        docs = sorted(asked.union(docs), key=lambda d: (-(self.searcher.doc(*d)[6] or 0), d))
        for shard, number in self._originals(docs):
            row, event = self._event(shard, number)
            if event is None or event.kind != 'tool_call' or event.label.lower() not in _QUESTIONS or event.id in seen:
                continue
            seen.add(event.id)
            result = self._result_of(shard, row[0], number, event.id, (schema.RESULT_DOC, schema.ERROR_DOC))
            answer = '' if result is None else ('declined: ' if result.label == 'declined' else '') + result.text
            if (shard, number) not in asked and not _holds(parse(text), answer):
                continue
            out.append(Decision(self._hit(shard, row, number), _QUESTIONS[event.label.lower()], _question(event), answer))
            if limit and len(out) >= limit:
                break
        return out


def _holds(query, text):
    """True when a text holds every term (of a question: half of them)."""
    from ..index.matching import Matcher, folded
    low = folded(text)
    held = sum(1 for alternatives in query.terms if any(Matcher(t).find(low) for t in alternatives))
    return bool(held) and held >= (len(query.terms) + 1 if query.question else 2 * len(query.terms)) // 2


def _same_file(name, wanted):
    name, wanted = (normalize('NFC', one.replace('\\', '/')) for one in (name, wanted))
    return name == wanted or name.endswith('/' + _bare(wanted)) or wanted.endswith('/' + _bare(name))


def _bare(path):
    while path.startswith('./'):
        path = path[2:]
    return path.lstrip('/')


def _question(event):
    """The question of a call as text: each question with its options, or the plan."""
    given = event.data if isinstance(event.data, dict) else {}
    questions = given.get('questions')
    if isinstance(questions, list):
        out = []
        for one in questions:
            if isinstance(one, dict):
                labels = [str(o.get('label')) for o in one.get('options') or () if isinstance(o, dict) and o.get('label')]
                out.append('%s%s' % (one.get('question') or one.get('header') or '', ' [%s]' % ' | '.join(labels) if labels else ''))
        if out:
            return '\n'.join(out)
    return given.get('plan') or given.get('question') or event.text
