"""What commands take: one description a command, read by a small fast parser; argparse, made from the same description,
owns help and errors."""

from ..base.errors import UsageError
from ..base.shapes import shape

# names: ('--limit',); kind: 'flag', 'text', 'int' or 'list' (repeatable); choices: tuple or ().
Option = shape('Option', 'names kind default help metavar choices')
# places: tuple of (dest, needed, help), needed MANY for the last one where it takes any number of words (a list), WORDS where they are one text; run(args, out) -> exit code. examples: command lines without the program's name.
Command = shape('Command', 'name summary places options examples run')


MANY, WORDS = 'many', 'words'
_SEVERAL = MANY, WORDS


def option(names, kind, default, help, metavar=None, choices=()):
    """-> Option; names as one text ('-o --output')."""
    return Option(tuple(names.split()), kind, default, help, metavar, choices)


def dest(opt):
    """The attribute an option's value lands in."""
    return opt.names[-1].lstrip('-').replace('-', '_')


class Args(object):
    """Parsed arguments as attributes."""

    def __init__(self, values):
        self.__dict__.update(values)


def parse(program, command, argv):
    """-> Args of a command line; prints help (SystemExit 0) or raises UsageError through argparse's own words."""
    found = _quick(command, argv)
    if found is None:
        found = _thorough(program, command, argv)
    return Args(found)


def _quick(command, argv):
    """The common case; None for anything unusual."""
    values = dict((dest(o), [] if o.kind == 'list' else o.default) for o in command.options)
    by_name = dict((name, o) for o in command.options for name in o.names)
    given = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == '--':
            given.extend(argv[at:])
            break
        if len(word) > 1 and word[0] == '-' and not word[1].isdigit():
            name, equals, value = word.partition('=')
            found = by_name.get(name)
            if found is None:
                return None
            if found.kind == 'flag':
                if equals:
                    return None
                values[dest(found)] = True
                continue
            if not equals:
                if at >= len(argv):
                    return None
                value = argv[at]
                at += 1
                if name == '--scope' and value == 'path' and at < len(argv) and argv[at][:1] in ('/', '~', '.'):
                    value = argv[at]
                    at += 1
            if found.kind == 'int':
                try:
                    value = int(value)
                except ValueError:
                    return None
                if not 0 <= value < _MOST:
                    return None
            if found.choices and value not in found.choices:
                return None
            if found.kind == 'list':
                values[dest(found)].append(value)
            else:
                values[dest(found)] = value
            continue
        given.append(word)
    many = command.places and command.places[-1][1] in _SEVERAL
    if len(given) > len(command.places) and not many or sum(1 for p in command.places if p[1] is True) > len(given):
        return None
    for place, (name, needed, _) in enumerate(command.places):
        values[name] = _rest(given[place:], needed) if needed in _SEVERAL else given[place] if place < len(given) else None
    return values


def _rest(words, needed):
    return words if needed == MANY else ' '.join(words) if words else None


def _thorough(program, command, argv):
    parser = make_parser(program, command)
    argv = list(argv)
    for at, word in enumerate(argv[:-2]):
        if word == '--scope' and argv[at + 1] == 'path' and argv[at + 2][:1] in ('/', '~', '.'):
            del argv[at + 1]
            break
    # argparse would take the -h of '-home-dev-app' for the question for help.
    more = [word for word in argv[:argv.index('--') if '--' in argv else None] if word[:2] == '-h' and len(word) > 2]
    if more:
        parser.error('unrecognized arguments: %s' % ' '.join(more))
    found, more = parser.parse_known_args(argv)
    values = vars(found)
    # argparse takes such words from one place of the line only; here they may stand on both sides of an option.
    name, needed = command.places[-1][:2] if command.places else ('', None)
    if more and needed in _SEVERAL and not any(word.startswith('-') for word in more):
        values[name] += more
    elif more:
        parser.error('unrecognized arguments: %s' % ' '.join(more))
    if needed == WORDS:
        values[name] = _rest(values[name], needed)
    for o in command.options:
        if o.kind == 'list' and values[dest(o)] is None:
            values[dest(o)] = []
        if o.kind == 'int' and values[dest(o)] is not None and not 0 <= values[dest(o)] < _MOST:
            raise UsageError('%s takes a number of at least 0%s' % (o.names[-1], '' if values[dest(o)] < 0 else ', of at most 15 digits'))
    return values


def make_parser(program, command):
    """-> argparse parser of a command, with examples in its help and 'did you mean' in its errors."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise UsageError('%s%s\n%s' % (message, _did_you_mean(message, command), 'help: %s --help' % self.prog))

    prog = program + (' ' + command.name if command.name else '')
    parser = Parser(prog=prog, description=command.summary, formatter_class=argparse.RawDescriptionHelpFormatter,
                    epilog='examples:\n' + '\n'.join('  python3 scripts/%s %s' % (program, e) for e in command.examples))
    for name, needed, text in command.places:
        parser.add_argument(name, metavar=name.upper(), help=text, nargs='*' if needed in _SEVERAL else None if needed else '?')
    for o in command.options:
        more = {'help': o.help, 'dest': dest(o)}
        if o.kind == 'flag':
            more.update(action='store_true', default=o.default)
        else:
            more.update(default=o.default, metavar=o.metavar)
            if o.kind == 'int':
                more['type'] = int
            if o.kind == 'list':
                more.update(action='append', default=None)
            if o.choices:
                more['choices'] = o.choices
        parser.add_argument(*o.names, **more)
    return parser


def _did_you_mean(message, command):
    import difflib
    import re
    words = [name for o in command.options for name in o.names] + [c for o in command.options for c in o.choices]
    for word in re.findall(r"(--?[\w-]+)|'([^']+)'", message):
        near = difflib.get_close_matches(word[0] or word[1], words, 1, 0.6)
        if near and near[0] != (word[0] or word[1]):
            return ' (did you mean %s?)' % near[0]
    if command.places and message.startswith('unrecognized arguments: -'):
        return ' (what begins with - and is no option goes behind --)'
    return ''


# Numbers are smaller than this: a database can hold them.
_MOST = 10 ** 15

# Options that mean the same everywhere.
FORMAT = option('--format', 'text', None, 'how to print', 'FORMAT', ('text', 'tsv', 'json'))
SCOPE = option('--scope', 'text', 'all', 'current (the project holding the working directory), all, or a project directory', 'SCOPE')
AGENT = option('--agent', 'text', 'cross', 'one agent, or cross for all', 'NAME')
SINCE = option('--since', 'text', None, 'from this date on: 2026-11-01, 7d, 2w, today, yesterday', 'WHEN')
UNTIL = option('--until', 'text', None, 'up to and with this date', 'WHEN')
NO_REFRESH = option('--no-refresh', 'flag', False, 'answer from the index as it is')
REFRESH = option('--refresh', 'text', None, 'full: look at every file now', 'HOW', ('full', 'auto'))
NO_REDACT = option('--no-redact', 'flag', False, 'show secrets as they are')
MACHINE = option('--machine', 'text', 'all', 'sessions that other programs started: all, only or none', 'WHICH', ('all', 'only', 'none'))


def limit(default, what):
    """-> the --limit option."""
    return option('--limit', 'int', default, 'at most this many %s (0: all; default %d)' % (what, default), 'N')


SELECTION = (SCOPE, AGENT, SINCE, UNTIL, MACHINE)
COMMON = (FORMAT, NO_REFRESH, REFRESH, NO_REDACT)
