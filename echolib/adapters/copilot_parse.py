"""Copilot CLI's events to ours.

A message says its output tokens at most; all else is said a model at the end of a run of the client, which a resume makes
several of. The last call of a model carries what its messages did not say.
"""
import os

from ..base.clock import parse_time
from ..base.files import open_regular
from ..events import ATTACHMENT, COMPACTION, DECLINED, INTERRUPTION, RECAP, SUMMED, Compaction
from .copilot import WORKSPACE
from .talk import Talk, fields, nothing, pieces
from .values import count, first, inner, texts_of, uncached, usage, word

# Events without conversation in them.
_BOOKKEEPING = frozenset((
    'assistant.turn_start', 'assistant.turn_end', 'assistant.intent', 'assistant.usage', 'assistant.message_delta',
    'assistant.reasoning_delta', 'hook.start', 'hook.end', 'pending_messages.modified', 'permission.completed',
    'permission.requested', 'session.compaction_start', 'session.context_changed', 'session.handoff', 'session.idle', 'session.info',
    'session.mode_changed', 'session.plan_changed', 'session.resume', 'session.snapshot_rewind', 'session.task_complete', 'session.truncation',
    'session.usage_info', 'session.warning', 'session.workspace_file_changed', 'skill.invoked', 'subagent.completed', 'subagent.failed',
    'subagent.selected', 'subagent.started', 'tool.execution_partial_result', 'tool.execution_progress', 'tool.user_requested'))
_REFUSED = frozenset(('rejected', 'denied'))
# Calls of a run that are kept until its end, at most.
_MOST = 2000


class Parser(Talk):
    """Turns events of a log into ours. More in `state`: model; run ([id, model, output or -1] of the calls since the client
    started); made ({model: output of all messages}); ended ({model: counters at the last end})."""

    named = False

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        self.at(line, offset, length, word(data.get('id')), parse_time(data.get('timestamp')))
        if not self.named:
            self.named = True
            self.says('custom-title', self._name())
        kind, body = word(data.get('type')), inner(data, 'data')
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, body)
        elif kind not in _BOOKKEEPING:
            self.unknown('event %s' % (kind[:40] or 'without a type'))
        return self.out

    def _name(self):
        """-> the name in the workspace.yaml beside a log, '' without one."""
        try:
            with open_regular(os.path.join(os.path.dirname(self.path), WORKSPACE)) as handle:
                text = handle.read(1 << 16).decode('utf-8', 'replace')
        except OSError:
            # Older clients wrote none.
            return ''
        for line in text.split('\n'):
            if line.startswith('name:'):
                return line[5:].strip().strip('"\'')
        return ''

    def _start(self, body):
        context = inner(body, 'context')
        self.says('cwd', first(context, 'cwd'))
        self.says('branch', first(context, 'branch'))
        self.says('version', first(body, 'copilotVersion'))
        self._model(body)

    def _model(self, body):
        model = first(body, 'newModel', 'selectedModel')
        if model:
            self.state['model'] = model

    # messages

    def _user(self, body):
        text = fields.text_of(body.get('content'))
        source = word(body.get('source'))
        if source.startswith('skill-') or text.lstrip().startswith('<skill-context'):
            self.injected('skill', text, '')
            return
        self.typed(text)
        listed = body.get('attachments')
        names = [first(one, 'path', 'displayName') for one in listed if type(one) is dict] if type(listed) is list else []
        self.injected(ATTACHMENT, '\n'.join(texts_of(names)), '/files')

    def _system(self, body):
        self.injected('system', fields.text_of(body.get('content')), '')

    def _said(self, body):
        state = self.state
        model = first(body, 'model') or state.get('model', '')
        self.answer(pieces(body, 'assistant'), self.ident)
        made = count(body.get('outputTokens'))
        self.spend(self.ident, usage(model, 0, made) if made else nothing(model))
        state['run'] = (state.get('run') or [])[1 - _MOST:] + [[self.ident, model, made or -1]]
        total = state.setdefault('made', {})
        total[model] = total.get(model, 0) + made

    def _thought(self, body):
        self.answer([fields.Piece('thinking', text, '', '', None, '') for text in texts_of(fields.text_of(body.get('content')))], None)

    # tools

    def _started(self, body):
        call = first(body, 'toolCallId')
        # Calls that the model asks for stand in its message; this one it did not.
        if call and self.scoped(call) not in self.state.get('waiting', ()):
            self.call(fields.Piece('call', '', first(body, 'toolName', 'name'), call, body.get('arguments'), ''))

    def _ended(self, body):
        result, error = body.get('result'), inner(body, 'error')
        text = first(result, 'content', 'detailedContent') if type(result) is dict else ''
        text = text or fields.result_text(result) if result else text
        label = DECLINED if word(error.get('code')) in _REFUSED else fields.status_of({'success': body.get('success')}, '')
        self.result(fields.Piece('result', text or fields.result_text(body.get('error')), '', first(body, 'toolCallId'), None, label))

    # the rest

    def _error(self, body):
        self.error(first(body, 'message') or fields.result_text(body))

    def _stopped(self, body):
        if not self.chain:
            self.add(INTERRUPTION, '', self.ident, first(body, 'reason'))

    def _compacted(self, body):
        if body.get('success') is False:
            return
        before = count(body.get('preCompactionTokens'))
        self.add(COMPACTION, '', self.ident, '', Compaction('', before or None))
        self.injected(RECAP, first(body, 'summaryContent'), '/recap')

    def _shutdown(self, body):
        """The end of a run: what its calls cost, a model."""
        metrics, state = inner(body, 'modelMetrics'), self.state
        run, state['run'] = state.get('run') or [], []
        for model in sorted(metrics):
            counters = inner(metrics, model, 'usage')
            now = [count(counters.get(name)) for name in ('inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens')]
            if any(now):
                calls = [call for call in run if call[1] == model or not call[1] and len(metrics) == 1]
                self._sums(model, self._since(model, now, len(metrics)), calls)
        self.state.pop('open', None)

    def _since(self, model, now, models):
        """-> counters of this run: they may begin anew with each run or go on from the last one's."""
        state = self.state
        before = state.setdefault('ended', {}).get(model)
        state['ended'][model] = now
        made = state.get('made', {})
        said = made.get(model, 0) + (made.get('', 0) if models == 1 else 0)
        if before is not None and now[1] >= said and all(new >= old for new, old in zip(now, before)):
            return [new - old for new, old in zip(now, before)]
        return now

    def _sums(self, model, spent, calls):
        """Give a run's sums to its last call of a model; the outputs of the others are known by then."""
        sent, made, read, written = spent
        for ident, _, output in calls[:-1]:
            self.spend(ident, usage(model, 0, max(0, output)))
        if calls:
            own = max(0, calls[-1][2])
            made = own + max(0, made - sum(max(0, call[2]) for call in calls))
        use = usage(model, uncached(sent, read, written), made, read, written)
        if any(use[1:6]):
            self.spend(calls[-1][0] if calls else '%s/%s' % (self.ident, model), use._replace(tier=SUMMED))


_HANDLERS = {
    'session.start': Parser._start, 'session.model_change': Parser._model, 'user.message': Parser._user, 'system.message': Parser._system,
    'assistant.message': Parser._said, 'assistant.reasoning': Parser._thought, 'tool.execution_start': Parser._started,
    'tool.execution_complete': Parser._ended, 'session.error': Parser._error, 'abort': Parser._stopped,
    'session.compaction_complete': Parser._compacted, 'session.shutdown': Parser._shutdown}
