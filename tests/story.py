"""One invented session told step by step."""
import small


class Story(object):
    """Records of one session in their order, a few seconds apart."""

    def __init__(self, home, name, start=0, **fields):
        self.home, self.name, self.clock, self.records = home, name, start, []
        self.sid, self.fields = home.sid(name), fields

    def user(self, words):
        """Something typed."""
        return self._add(lambda: [small.user(words, self._number(), self.clock, sid=self.sid, **self._cwd())])

    def say(self, words):
        """Something answered."""
        number = self._number()
        return self._add(lambda: [small.answer([small.text(words)], number, self.clock, 'msg_%d' % number, sid=self.sid, **self._cwd())])

    def call(self, name, given, output='ok', error=False):
        """A call with its result."""
        return self._add(lambda: self.home.call(name, given, output, error, sid=self.sid, time=self.clock, **self._cwd()))

    def bash(self, command, output='ok', error=False):
        """A shell command with its result."""
        return self.call('Bash', {'command': command}, output, error)

    def edit(self, path, output='ok', error=False, tool='Edit'):
        """An edit with its result."""
        return self.call(tool, {'file_path': path, 'old_string': 'a', 'new_string': 'b'}, output, error)

    def write(self):
        """Put it on disk; -> the session's id."""
        return self.home.say(self.name, *self.records, **self.fields)

    def _number(self):
        self.home.rows += 1
        return self.home.rows

    def _cwd(self):
        return {'cwd': self.fields['cwd']} if 'cwd' in self.fields else {}

    def _add(self, make):
        self.records += make()
        self.clock += 3
        return self
