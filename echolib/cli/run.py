"""The frame around every command: output, errors, exit codes."""
import gc
import os
import sys

from ..base.errors import EchoError, UsageError
from . import options

# What bars are made of in a terminal.
_BLOCK = '\u2588'


class Output(object):
    """Where a command's words go: answers to stdout, everything else to stderr.

    Text is written as UTF-8 unless the terminal, or PYTHONIOENCODING, says otherwise; what cannot be shown is replaced.
    Lines and notes pass a last gate: whoever wrote them, they hold no control character and no secret that is known as one.
    mask: False where the person asked for secrets.
    """

    def __init__(self):
        self._parts, self._lines, self._size = [], [], 0
        self._notes, self._flushed, self._fenced = [], False, False
        self.mask = True

    def write(self, text):
        """Add to the answer what was made fit to print already (a page, JSON)."""
        self._pass_lines()
        self._parts.append(text)
        self._grow(len(text))

    def line(self, text=''):
        """Add one line (or several) to the answer."""
        self._lines.append(text)
        self._grow(len(text) + 1)

    def _grow(self, size):
        self._size += size
        if self._size > 1 << 18:
            self.flush()

    def _pass_lines(self):
        if self._lines:
            self._parts.append('\n'.join(self._tamed(line) for line in self.fit('\n'.join(self._lines)).split('\n')) + '\n')
            self._lines = []

    def fit(self, text):
        """-> lines as they may be printed: the gate itself."""
        from ..base.text import printable
        text = printable(text, multiline=True)
        if self.mask:
            from ..base.redact import redact
            if redact(text) is not text:
                # Line by line, so that no mask takes the lines between two halves of something that is none.
                text = '\n'.join(redact(line) for line in text.split('\n'))
        return text

    def _tamed(self, line):
        """-> a line in which only our own fence passes for structure."""
        if '<' not in line and '\uff1c' not in line and '\ufe64' not in line:
            return line
        from ..base.text import is_fence, neutralise
        if is_fence(line, self._fenced):
            self._fenced = not self._fenced
            return line
        return neutralise(line)

    def note(self, text):
        """Say something beside the answer, once: one line, whatever another program's error holds."""
        if text not in self._notes:
            self._notes.append(text)
            from ..base.text import neutralise
            _write(sys.stderr, 'session-digger: %s\n' % neutralise(self.fit(text.replace('\n', ' '))))

    def flush(self):
        """Hand what was written to stdout."""
        self._pass_lines()
        text, self._parts, self._size = ''.join(self._parts), [], 0
        if not text:
            return
        self._flushed = True
        try:
            _write(sys.stdout, text)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.errno in (9, 22):
                raise
            # Nor would the interpreter get rid of the rest when it ends.
            _closed()
            raise EchoError('the answer cannot be written: %s' % (error.strerror or error))

    def forget(self):
        """Drop what was said so far; -> False where some of it is out already."""
        self._parts, self._lines, self._size, self._fenced = [], [], 0, False
        return not self._flushed

    def width(self):
        """Columns of the terminal, 100 where there is none."""
        if sys.stdout is not None and sys.stdout.isatty():
            try:
                return max(40, os.get_terminal_size(sys.stdout.fileno()).columns)
            except (OSError, ValueError):
                return 100
        return 100

    def colored(self):
        """True where colour is wanted: a terminal that knows it, and nothing that says otherwise (NO_COLOR)."""
        return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get('NO_COLOR') and os.environ.get('TERM') not in (None, 'dumb')

    def shows(self, text):
        """True where the terminal's encoding has these characters."""
        try:
            text.encode(_encoding(sys.stdout) if sys.stdout is not None else 'utf-8')
        except UnicodeEncodeError:
            return False
        return True

    def bar(self, share, columns):
        """-> a bar of a share (0 to 1) of so many columns; what is more than 0 shows."""
        size = int(share * columns + 0.5)
        return (_BLOCK if self.colored() and self.shows(_BLOCK) else '#') * max(size, 1 if share > 0 else 0)

    def drawn(self, line):
        """Add one line of a table, the bar at its end in colour where there is colour."""
        line = self.fit(line)
        bare = line.rstrip(_BLOCK)
        if len(bare) < len(line) and self.colored():
            line = '%s\x1b[36m%s\x1b[0m' % (bare, line[len(bare):])
        self.write(line + '\n')

    def progress(self, what):
        """-> a function for progress figures: a line on stderr, only on a terminal."""
        if sys.stderr is None or not sys.stderr.isatty():
            return None

        def show(done, total):
            share = 100 * done // total if total else 100
            sys.stderr.write('\r%s: %3d %% of %d MB%s' % (what, min(100, share), total >> 20, '\n' if done >= total else ''))
            sys.stderr.flush()
        return show


def _encoding(stream):
    if stream.isatty() or os.environ.get('PYTHONIOENCODING'):
        return stream.encoding or 'utf-8'
    return 'utf-8'


def _write(stream, text):
    if stream is None:
        return
    data = text.encode(_encoding(stream), 'replace')
    raw = getattr(stream, 'buffer', None)
    if raw is None:
        stream.write(text)
        return
    stream.flush()
    raw.write(data)
    raw.flush()


def run(program, summary, commands, argv, default=None):
    """Run one of a program's commands; -> exit code (0 answered, 1 could not be, 2 wrong arguments).

    commands: {name: function giving its Command}, in the order of the help. default: the command of a program that has
    only one.
    """
    # Little of what a command makes is garbage in circles: looking for it at every 700 objects costs more than it frees.
    gc.set_threshold(50000, 20, 50)
    out = Output()
    argv = [_as_typed(word) for word in argv]
    try:
        code = _repaired(out, lambda: _dispatch(program, summary, commands, argv, default, out))
        out.flush()
        return code
    except BrokenPipeError:
        return _closed()
    except UsageError as error:
        return _say(out, error, 2)
    except EchoError as error:
        return _say(out, error, 1)
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        return _say(out, 'not enough memory', 1)
    except RecursionError:
        return _say(out, 'a record is nested too deep to be shown', 1)
    except ImportError as error:
        if 'sqlite3' not in str(error):
            raise
        return _say(out, 'this Python (%s) has no sqlite3 module, which is needed; run the script with another Python 3.6 or later' % sys.executable, 1)
    except OSError as error:
        if sys.stdout is None or error.errno in (9, 22, 32) and _stdout_gone():
            return _closed()
        return _say(out, error, 1)


def leave(code):
    """End the process with an exit code. Taking the interpreter down object by object would cost a search a tenth of its time."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            # Closed by its reader: run() has dealt with that.
            continue
    if 'atexit' in sys.modules:
        sys.modules['atexit']._run_exitfuncs()
    os._exit(code)


def _repaired(out, answer):
    """-> answer(); where that meets damage inside the index, the index is repaired and asked again.

    Damage that shows when the index is opened is dealt with there; this is for pages that are only met on the way.
    """
    for step in (False, True, None):
        try:
            return answer()
        except Exception as error:
            sqlite = sys.modules.get('sqlite3')
            if sqlite is None or not isinstance(error, sqlite.DatabaseError):
                raise
            if step is None or not out.forget():
                raise EchoError('the index is damaged (%s); make it anew: index-builder.py build --rebuild' % error)
            from ..index import access
            access.mend(out.note, error, step)


def _as_typed(word):
    """An argument's text where Python took its bytes for another encoding's (LC_ALL=C); a path of other bytes stays it."""
    try:
        word.encode('utf-8')
        return word
    except UnicodeEncodeError:
        try:
            data = os.fsencode(word)
        except UnicodeEncodeError:
            # Half a character, as Windows takes it.
            return word.encode('utf-8', 'replace').decode('utf-8')
    text = data.decode('utf-8', 'replace')
    return word if '\ufffd' in text and os.path.lexists(word) else text


def _say(out, error, code):
    try:
        out.flush()
        from ..base.text import neutralise
        _write(sys.stderr, 'session-digger: %s\n' % neutralise(out.fit(str(error))))
    except (BrokenPipeError, OSError):
        return _closed()
    return code


def _stdout_gone():
    try:
        os.fstat(1)
    except OSError:
        return True
    return False


def _closed():
    """The reader has left (`| head`): end quietly, and keep the interpreter from trying again."""
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
    except OSError:
        return 0
    return 0


def _dispatch(program, summary, commands, argv, default, out):
    if default is None:
        if not argv or argv[0] in ('-h', '--help', 'help') and len(argv) == 1:
            _help(program, summary, commands, out)
            return 0 if argv else 2
        name = argv[0]
        if name == '--version':
            from .. import __version__
            out.line('session-digger %s' % __version__)
            return 0
        if name in ('help', '-h', '--help'):
            argv = [argv[1], '--help']
            name = argv[0]
        if name not in commands:
            import difflib
            near = difflib.get_close_matches(name, list(commands), 1, 0.5)
            raise UsageError("unknown command '%s'%s; the commands are: %s" % (
                name, ' (did you mean %s?)' % near[0] if near else '', ', '.join(commands)))
        command = commands[name]()
        argv = argv[1:]
    else:
        command = default
    if '-h' in argv or '--help' in argv:
        out.write(options.make_parser(program, command).format_help())
        return 0
    args = options.parse(program, command, argv)
    out.mask = not getattr(args, 'no_redact', False)
    return command.run(args, out) or 0


def _help(program, summary, commands, out):
    out.line(summary)
    out.line()
    out.line('usage: %s COMMAND [options]' % program)
    out.line()
    examples, room = [], max(len(name) for name in commands)
    for name in commands:
        command = commands[name]()
        out.line('  %-*s  %s' % (room, name, command.summary))
        examples.extend(command.examples[:1])
    out.line()
    out.line('%s COMMAND --help tells a command\'s options.' % program)
    out.line()
    out.line('examples:')
    for example in examples[:3]:
        out.line('  python3 scripts/%s %s' % (program, example))
