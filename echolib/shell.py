"""Shell command lines: which program one runs, what about, and whether it runs tests. Looks through wrappers.

The one reading of commands: what a call is about for retries and streaks, the heads that are listed, test runs. It reads,
it never expands or runs. Verdicts are stored in the index: a change of the rules needs a new version (analysis_versions).
"""
import re

from .analysis_versions import COMMANDS as VERSION
from .base.shapes import shape
from .shell_programs import (
    INTERPRETERS, OPTIONS_WITH_VALUE, SETTING, SUBCOMMANDS, TEST_ARGUMENTS, TEST_PROGRAMS, TEST_SCRIPT, NO_TEST_OPTIONS, TEST_WORDS,
    WRAPPERS)

__all__ = ('Command', 'VERSION', 'command_of', 'read')

# head: program and subcommand, such as 'git push' or 'pytest'; target: head and what it works on, options and numbers left out: two
# commands with one target are attempts at one thing; test: whether it runs tests.
Command = shape('Command', 'head target test')
NOTHING = Command('', '', False)

_CHARS, _WORDS, _DEPTH, _HEAD = 2000, 80, 4, 60
# Patterns are texts: compiling them takes longer than reading a few commands, and a process that reads none does without.
_TOKEN = (
    r'[ \t\r]*(?:(?P<end>&&|\|\|?&?|;;?|[\n()&])|(?P<here><<-?[ ]?)|(?P<redirect>\d?(?:>>?&?|<)[ \t]*(?:[^\s;|&()<>]+)?)'
    r"""|(?P<word>(?:[^\s;|&()<>'"\\]+|\\.|'[^']*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$)|\\$)+))""")
_QUOTES = r"""'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.)"""
_ASSIGNMENT = r'[A-Za-z_]\w*\+?='
_NUMBER = r'[\d.]+[smhd]?$'
_WORD = r'[a-z][a-z0-9:_.-]*$'
_OPENERS = frozenset(('if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', '{'))
_CLOSERS = frozenset(('for', 'case', 'fi', 'done', 'esac', '}', 'function', 'select', 'in'))


def _compiled(source, flags=0, _made={}):
    found = _made.get(source)
    if found is None:
        found = _made[source] = re.compile(source, flags)
    return found


def command_of(given):
    """-> the command line in a tool's input (its `command` or `cmd`, a list joined), '' when it holds none."""
    if type(given) is not dict:
        return ''
    command = given.get('command')
    if command is None:
        command = given.get('cmd')
    if type(command) is list:
        words = [word for word in command if type(word) is str]
        # bash -lc 'command': the command is the last word.
        return words[-1] if len(words) == 3 and words[1][:1] == '-' and words[1].endswith('c') else ' '.join(words)
    # Editors that take a verb as their command name the file beside it.
    return command if type(command) is str and not ('path' in given and ' ' not in command) else ''


def read(line, _made={}):
    """-> Command of a command line. What only sets the scene (cd, export, echo) is passed over where more follows."""
    made = _made.get(line)
    if made is None:
        made = _read(line, 0)
        if len(_made) > 2000:
            _made.clear()
        if len(line) < 500:
            _made[line] = made
    return made


def _read(line, depth):
    first = setting = None
    for words in _segments(line[:_CHARS]):
        found = _command(words, depth)
        if found is None:
            continue
        if found.test:
            return found
        if found.head.split(' ', 1)[0] in SETTING:
            setting = setting or found
        else:
            first = first or found
    return first or setting or NOTHING


def _segments(text):
    """Yield the words of each simple command of a line."""
    words, at, count, size = [], 0, 0, len(text)
    token = _compiled(_TOKEN, re.S).match
    while at < size and count < _WORDS:
        found = token(text, at)
        if found is None:
            # A character no rule takes (a lone space at the end).
            at += 1
            continue
        at, kind = found.end(), found.lastgroup
        if kind == 'word':
            words.append(found.group('word'))
            count += 1
        elif kind == 'end':
            if words:
                yield words
            words = []
        elif kind == 'here':
            # A here-document: what follows is text.
            break
    if words:
        yield words


def _bare(word):
    """A word without its quotes."""
    return _compiled(_QUOTES, re.S).sub(lambda m: m.group(1) or m.group(2) or m.group(3) or '', word) if "'" in word or '"' in word or '\\' in word else word


def _name(word):
    """The program a word names: without its folder and ending, in lower case."""
    name = _bare(word).replace('\\', '/').rsplit('/', 1)[-1].lower()
    return name[:-4] if name.endswith(('.exe', '.cmd', '.bat')) else name


def _command(words, depth):
    """-> Command of one simple command, None when it is none."""
    at, size = 0, len(words)
    while at < size:
        word = words[at]
        if word in _CLOSERS:
            return None
        if word in _OPENERS or _compiled(_ASSIGNMENT).match(word):
            at += 1
            continue
        name = _name(word)
        behind = _behind(words, at + 1, name) if name in WRAPPERS else None
        if behind is None:
            return _inner(name, words[at + 1:], depth) or _plain(word, name, words[at + 1:])
        at = behind
    return None


def _behind(words, at, name):
    """-> where the command behind a wrapper's name begins, None when that name is the command itself here."""
    own, size, valued = WRAPPERS[name], len(words), OPTIONS_WITH_VALUE.get(name, ())
    if type(own) is tuple:
        verbs, own = own
        at = _past_options(words, at, name, valued)
        if at < size and words[at] == 'compose':
            while at < size and words[at] not in ('exec', 'run'):
                at += 1
        if at >= size or words[at] not in verbs:
            return None
        at += 1
    at = _past_options(words, at, name, valued)
    if own == 'name' or own == 'number' and at < size and _compiled(_NUMBER).match(words[at]):
        at += 1
        if at < size and words[at] == '--':
            at += 1
    return at if at < size else None


def _past_options(words, at, name, valued):
    size = len(words)
    while at < size and (words[at][:1] == '-' or name == 'env' and _compiled(_ASSIGNMENT).match(words[at])):
        if words[at] == '--':
            return at + 1
        at += 2 if words[at] in valued else 1
    return at


def _inner(name, rest, depth):
    """-> Command of what an interpreter runs: a module, or another line; None when it is neither."""
    if name not in INTERPRETERS:
        return None
    for at, word in enumerate(rest):
        if word[:1] != '-' or word == '-':
            break
        if word == '-m' and at + 1 < len(rest) and name.startswith('py'):
            return _plain('', _bare(rest[at + 1]).lower(), rest[at + 2:])
        if INTERPRETERS[name] == 'shell' and not word.startswith('--') and word.endswith('c') and at + 1 < len(rest):
            return _read(_bare(rest[at + 1]), depth + 1) if depth < _DEPTH else None
        if word in ('--test', '-test') and name == 'node':
            return Command('node --test', 'node --test', True)
    return None


def _plain(word, name, rest):
    """-> Command of a program (as it was written, and its name) and the words behind it."""
    args, options, valued, skip = [], [], OPTIONS_WITH_VALUE.get(name, ()), False
    for one in rest[:30]:
        if skip:
            skip = False
        elif one[:1] == '-' and len(one) > 1:
            options.append(one)
            skip = one in valued
        else:
            args.append(_bare(one))
    head, deep, taken = name, SUBCOMMANDS.get(name, 0), 0
    while taken < deep and taken < len(args) and _compiled(_WORD).match(args[taken]):
        head += ' ' + args[taken]
        if taken == 0 and args[0] in ('run', 'compose', 'exec'):
            deep += 1
        taken += 1
    about = [arg for arg in args[taken:] if len(arg) <= _HEAD and ' ' not in arg and '\n' not in arg and not _compiled(_NUMBER).match(arg)]
    # Of a script's own words nothing is known: the script is what it is about.
    about = about[:1] if name in INTERPRETERS else about[:3]
    test = _is_test(word, name, args) and NO_TEST_OPTIONS.isdisjoint(options)
    return Command(head[:_HEAD], ' '.join([head] + about)[:200], test)


def _is_test(word, name, args):
    if name in TEST_PROGRAMS or args and args[0] in TEST_WORDS.get(name, ()):
        return True
    # `test` alone is the shell's own.
    if ('/' in word or '.' in name) and _compiled(TEST_SCRIPT).match(name):
        return True
    pattern = TEST_ARGUMENTS.get(name)
    if pattern is not None and _compiled(pattern).match(' '.join(args[:6])):
        return True
    return bool(name in INTERPRETERS and args and _compiled(TEST_SCRIPT).match(args[0].replace('\\', '/').rsplit('/', 1)[-1].lower()))
