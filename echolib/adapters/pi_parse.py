"""Rows of Pi's sessions to events.

A row is known by its short id and its time, which copies in a branch's file keep.
"""
from ..base.clock import parse_time
from ..events import COMPACTION, INTERRUPTION, RECAP, Compaction
from ..records import read_records
from .talk import CopiedTalk, fields, nothing, pieces
from .values import count, first, inner, usage, word

# Rows without conversation in them; what a subagent spent stands in its own file as well.
_BOOKKEEPING = frozenset((
    'agent_status', 'child_usage_attributed', 'custom', 'git_state', 'label', 'mode_change', 'service_tier_change', 'session_state',
    'thinking_level_change'))


def identity(data):
    """-> what a row is known by, '' where it has no id (the first version of the format)."""
    ident = word(data.get('id'))
    return '%s@%s' % (ident.replace('/', '.'), word(data.get('timestamp')).replace('/', '.')) if ident else ''


class Parser(CopiedTalk):
    """Turns rows into events. More in `state`: model."""

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        kind = word(data.get('type'))
        self.at(line, offset, length, '' if kind == 'session' else identity(data), parse_time(data.get('timestamp')))
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, data)
        elif kind not in _BOOKKEEPING:
            self.unknown('row %s' % (kind[:40] or 'without a type'))
        return self.out

    def _header(self, data):
        self.says('cwd', first(data, 'cwd'))
        self.says('foreign', first(data, 'branchedFrom', 'parentSession'))

    def _model(self, data):
        self.state['model'] = first(data, 'modelId')

    def _compaction(self, data):
        before = count(data.get('tokensBefore'))
        self.add(COMPACTION, '', self.ident, '', Compaction('', before or None))
        self._summary(data)

    def _summary(self, data):
        self.injected(RECAP, word(data.get('summary')), '/recap')

    def _named(self, data):
        self.says('custom-title', first(data, 'name', 'title'))

    def _added(self, data):
        self.injected('meta', fields.text_of(data.get('content')), '')

    # messages

    def _message(self, data):
        body = inner(data, 'message')
        role = word(body.get('role'))
        if self.time is None:
            self.time = parse_time(body.get('timestamp'))
        if role == 'user':
            self.typed('\n'.join(piece.text for piece in pieces(body, role) if piece.kind == 'text'))
        elif role == 'assistant':
            self._assistant(body)
        elif role == 'toolResult':
            for piece in pieces(body, 'tool'):
                self.result(piece)
        elif role == 'bashExecution':
            # Typed behind an exclamation mark, run without the model.
            self.injected('shell', word(body.get('command')), '/command')
            self.injected('shell_output', word(body.get('output')), '/output')
        elif role in ('custom', 'hookMessage'):
            self._added(body)
        elif role in ('branchSummary', 'compactionSummary'):
            self._summary(body)
        else:
            self.unknown('message of role %s' % (role[:40] or '(none)'))

    def _assistant(self, body):
        self.answer(pieces(body, 'assistant'), self.ident)
        self.spend(self.ident, spent(inner(body, 'usage'), first(body, 'model') or self.state.get('model', '')))
        reason = word(body.get('stopReason'))
        if reason == 'error' and first(body, 'errorMessage'):
            self.error(first(body, 'errorMessage'))
        elif reason == 'aborted' and not self.chain:
            self.add(INTERRUPTION, '', self.ident)


_HANDLERS = {
    'session': Parser._header, 'message': Parser._message, 'model_change': Parser._model, 'compaction': Parser._compaction,
    'branch_summary': Parser._summary, 'session_info': Parser._named, 'title': Parser._named, 'custom_message': Parser._added}


def spent(counters, model):
    """-> Usage of an answer by its counters; what was cached stands beside the input."""
    cache = inner(counters, 'cache')
    sent, made = count(counters.get('input')), count(counters.get('output'))
    read, written = count(counters.get('cacheRead', cache.get('read'))), count(counters.get('cacheWrite', cache.get('write')))
    return usage(model, sent, made, read, written) if sent or made or read or written else nothing(model)


def left(path):
    """See pi.branches: rows that do not lead to the last one were left."""
    parents, names, last = {}, {}, None
    for record in read_records(path):
        ident = word(record.data.get('id'))
        if ident and record.type != 'session':
            parents[ident], names[ident], last = word(record.data.get('parentId')), identity(record.data), ident
    ends = len(set(parents) - set(parents.values()))
    while last in parents:
        names.pop(last, None)
        last = parents.pop(last)
    return max(1, ends), set(names.values())
