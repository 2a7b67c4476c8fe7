"""Amp's threads to events. Newer threads say what a call cost in its message, older ones in a ledger of the thread."""
from ..base.clock import parse_time
from ..events import COLLATERAL, COMPACTION, DECLINED, INTERRUPTION, RECAP, Compaction
from .talk import Talk, at_place, document, fields, nothing, pieces, read_list
from .values import count, first, inner, usage, word

_STATUS = {'cancelled': COLLATERAL, 'rejected-by-user': DECLINED}


class Parser(Talk):
    """Turns a thread's own facts and its messages into events. An event's offset is 1 for the former, then the message's place."""

    def __init__(self, source, coverage, state, thread):
        Talk.__init__(self, source, coverage, state)
        self.thread, self.ledger = thread, {}
        rows = inner(thread, 'usageLedger').get('events')
        for row in rows if type(rows) is list else ():
            if type(row) is dict and type(row.get('toMessageId')) in (int, str):
                self.ledger.setdefault(row['toMessageId'], []).append(row)

    def events(self, record):
        """-> list of Events of a Record."""
        data, line, offset, length = record
        if offset == 1:
            return self._about(data)
        number = data.get('messageId')
        self.at(line, offset, length, '%s/%s' % (self.session, number if type(number) in (int, str) else 'm%d' % offset))
        self.time = self._time(data)
        role = word(data.get('role'))
        if role == 'user':
            self._user(data)
        elif role == 'assistant':
            self._assistant(data, number)
        elif role == 'info':
            self._info(data)
        else:
            self.unknown('message of role %s' % (role[:40] or '(none)'))
        return self.out

    def _time(self, data):
        rows = self.ledger.get(data.get('messageId'), ()) if type(data.get('messageId')) in (int, str) else ()
        for value in [inner(data, 'meta').get('sentAt'), inner(data, 'usage').get('timestamp')] + [row.get('timestamp') for row in rows]:
            found = parse_time(value)
            if found is not None:
                return found
        # The first prompt of a thread begins it.
        return parse_time(self.thread.get('created')) if self.offset == 2 else None

    def _about(self, data):
        self.at(1, 1, 0, self.session, parse_time(data.get('created')))
        start = inner(data, 'env', 'initial')
        trees = start.get('trees')
        tree = trees[0] if type(trees) is list and trees and type(trees[0]) is dict else {}
        self.says('cwd', first(start, 'cwd') or _path(tree.get('uri')))
        self.says('branch', word(inner(tree, 'repository').get('ref')).replace('refs/heads/', '', 1))
        self.says('version', first(inner(start, 'platform'), 'clientVersion'))
        self.says('ai-title', first(data, 'title'))
        return self.out

    def _user(self, data):
        rest = dict(data)
        if type(data.get('content')) is list:
            for block in data['content']:
                if type(block) is dict and block.get('type') == 'tool_result':
                    self._result(block)
            rest['content'] = [block for block in data['content'] if type(block) is not dict or block.get('type') != 'tool_result']
        self.typed('\n'.join(piece.text for piece in pieces(rest, 'user') if piece.kind == 'text'))

    def _result(self, block):
        if type(block.get('run')) is not dict:
            for piece in pieces({'content': [block]}, 'user'):
                self.result(piece)
            return
        run = block['run']
        status, given = word(run.get('status')), run.get('result')
        text = first(given, 'output', 'content') if type(given) is dict else ''
        text = text or (fields.result_text(given) if given else '') or first(inner(run, 'error'), 'message') or fields.result_text(run.get('progress'))
        label = _STATUS.get(status) or fields.status_of(dict(given if type(given) is dict else {}, status=status), text)
        self.result(fields.Piece('result', text, '', fields.call_id(block), None, label))

    def _assistant(self, data, number):
        self.answer(pieces({'content': data.get('content')}, 'assistant'), self.ident)
        rows = self.ledger.get(number, ()) if type(number) in (int, str) else ()
        self.spend(self.ident, spent(inner(data, 'usage'), rows))
        if inner(data, 'state').get('type') == 'cancelled':
            self.add(INTERRUPTION, '', self.ident)

    def _info(self, data):
        for block in data['content'] if type(data.get('content')) is list else ():
            summary = inner(block, 'summary') if type(block) is dict else {}
            if summary.get('type') == 'message':
                self.add(COMPACTION, '', '%s/%d' % (self.ident, self.part), '', Compaction('', None))
                self.injected(RECAP, word(summary.get('summary')), '/recap')
            elif summary:
                self.injected('notice', fields.result_text(summary), '/notice%d' % self.part)


def spent(own, rows):
    """-> Usage of a call by its message's counters, else by the rows of the ledger that lead to it; the ledger knows no cache.
    What was cached stands beside the input."""
    tokens = [inner(row, 'tokens') for row in rows]
    sent = count(own.get('inputTokens')) or sum(count(one.get('input')) for one in tokens)
    made = count(own.get('outputTokens')) or sum(count(one.get('output')) for one in tokens)
    read, written = count(own.get('cacheReadInputTokens')), count(own.get('cacheCreationInputTokens'))
    model = first(own, 'model') or next((first(row, 'model') for row in rows if first(row, 'model')), '')
    return usage(model, sent, made, read, written) if sent or made or read or written else nothing(model)


def _path(uri):
    """-> the path in a tree's uri, ''."""
    if type(uri) is dict:
        return first(uri, 'fsPath', 'path')
    text = word(uri)
    if not text.startswith('file://'):
        return text
    from urllib.parse import unquote
    path = unquote(text[len('file://'):])
    # On Windows a drive stands behind the slash.
    return path[1:] if path[:1] == '/' and path[2:3] == ':' else path


def _thread(source, coverage):
    """-> (the thread, its own facts and its messages as one list); (None, []) where the file holds none."""
    thread = document(source.path, coverage)
    if type(thread) is not dict or type(thread.get('messages')) is not list:
        if thread is not None:
            coverage.lines += 1
            coverage.damage(1, 'not a thread')
        return {}, []
    return thread, [thread] + thread['messages']


def read(source, coverage, state):
    """See amp.read."""
    thread, rows = _thread(source, coverage)
    return read_list(Parser(source, coverage, state, thread), rows, coverage)


def events_at(source, offset):
    """See amp.events_at."""
    from ..records import Coverage
    coverage = Coverage(source.path)
    thread, rows = _thread(source, coverage)
    return at_place(Parser(source, coverage, {}, thread), rows, offset)
