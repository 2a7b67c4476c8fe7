"""A scratch home whose commands run in this process: for tests of what search and its kin answer."""
import io
import os
import sys

import small
from helpers import Result, environment


class Recall(object):
    """A home of Claude Code; sessions go by short names."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.names = {}
        self.rows = 0

    def sid(self, name):
        """-> the session id of a name."""
        if name not in self.names:
            self.names[name] = '%08x-0000-4000-8000-%012x' % (0x10000001 * (1 + len(self.names) % 14) + len(self.names), len(self.names))
        return self.names[name]

    def say(self, name, *content, **fields):
        """Write a session: text is a prompt, a list of blocks an answer, a dict a record as it is. -> its id.

        cwd, folder, path (below the project's folder) and start (seconds, or ISO text of the first record) can be given.
        """
        sid, records = self.sid(name), []
        folder, path, start = fields.pop('folder', '-home-dev-app'), fields.pop('path', None), fields.pop('start', 0)
        fields.setdefault('sid', sid)
        for place, one in enumerate(content):
            self.rows += 1
            time = start + place if isinstance(start, int) else start
            if isinstance(one, str):
                one = small.user(one, self.rows, time, **fields)
            elif isinstance(one, list):
                one = small.answer(one, self.rows, time, 'msg_%d' % self.rows, **fields)
            records.append(one)
        small.write(self.folder, records, sid, folder, path)
        return sid

    def call(self, name, given, output, error=False, **fields):
        """-> [record, record] of a tool call with its result, for say()."""
        self.rows += 2
        ident = 'toolu_%d' % self.rows
        time = fields.pop('time', 0)
        return [small.answer([small.call(name, given, ident)], self.rows - 1, time, 'msg_%d' % self.rows, **fields),
                small.result(output, self.rows, time + 1, ident, error, **fields)]

    def run(self, *argv, **env):
        """Run a command of sd-recall.py in this process; -> Result."""
        from echolib.cli import sd_recall
        program = env.pop('program', sd_recall)
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding='utf-8') for _ in range(2))
        kept, streams = dict(os.environ), (sys.stdout, sys.stderr)
        os.environ.clear()
        os.environ.update(environment(self.folder, SESSION_DIGGER_ARCHIVE='0', **env))
        sys.stdout, sys.stderr = out, err
        try:
            code = program.main([str(word) for word in argv])
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout, sys.stderr = streams
            os.environ.clear()
            os.environ.update(kept)
        out.flush()
        err.flush()
        return Result(list(argv), code, out.buffer.getvalue().decode('utf-8'), err.buffer.getvalue().decode('utf-8'))

    def search(self, query, *more, **env):
        """-> the JSON object of a search."""
        got = self.run('search', '--format', 'json', *(more + ('--', query)), **env)
        assert got.rc == 0, got
        return got.json()

    def name(self, sid):
        """-> the name of a session id."""
        return next((name for name, one in self.names.items() if one == sid), sid)

    def found(self, query, *more, **env):
        """-> names of the sessions in a search's hits, best first, each once."""
        return list(dict.fromkeys(self.name(hit['session_id']) for hit in self.search(query, *more, **env)['hits']))

    def hits(self, query, *more, **env):
        """-> [(session's name, line)] of a search's hits."""
        return [(self.name(hit['session_id']), hit['line']) for hit in self.search(query, *more, **env)['hits']]

    def snippets(self, query, *more, **env):
        """-> the snippets of a search's hits."""
        return [hit['snippet'] for hit in self.search(query, *more, **env)['hits']]


def exhaustive(patch):
    """Make every document a candidate of an exact score (patch: pytest's monkeypatch)."""
    from echolib.index import search
    patch.setattr(search, '_CANDIDATES', 10 ** 9)
