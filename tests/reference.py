"""references/cli.md by command: what tests hold the commands against."""
import re

from helpers import read

_HEADING = re.compile(r'^(#{2,3}) (.*)$', re.M)


def sections(text):
    """Return {(script, command): its part of references/cli.md}; command is '' for the script's own part."""
    found, script = {}, ''
    marks = list(_HEADING.finditer(text))
    for mark, after in zip(marks, marks[1:] + [None]):
        title = mark.group(2).strip()
        if mark.group(1) == '##':
            script, title = title[:-len('.py')] if title.endswith('.py') else title, ''
        found[script, title] = text[mark.end():after.start() if after else len(text)]
    return found


REFERENCE = sections(read('references/cli.md'))
# Options that are described once for all.
COMMON = set(re.findall(r'`(--[\w-]+)', REFERENCE['Common options', '']))
SHARED = set(re.findall(r'\w+', REFERENCE['Shared keys', ''].partition('They mean')[0]))


def described(command):
    """Return what references/cli.md says of 'script command', and of the script as a whole."""
    script, _, name = command.partition(' ')
    assert (script, name) in REFERENCE, 'references/cli.md has no section for %s' % command
    return REFERENCE[script, name], REFERENCE.get((script, ''), '')


def keys_without_words(command, answer):
    """Return the keys of a JSON answer, and of the objects in its lists, that references/cli.md does not name for the command.

    A section that refers to another one by a link is taken with it.
    """
    own, script = described(command)
    texts = [own, script] + [REFERENCE[at] for link in re.findall(r'\]\(#([\w-]+)\)', own) for at in REFERENCE if link == (at[1] or at[0])]
    known = SHARED | set(re.findall(r'\w+', ' '.join(texts).lower()))
    given = set(answer)
    for value in answer.values():
        for one in value[:1] if isinstance(value, list) else ():
            given.update(one if isinstance(one, dict) else ())
    return sorted(given - known)


def heads_without_words(command, heads):
    """Return the heads of a table of TSV that references/cli.md does not name for the command, in their order."""
    if heads == ['KEY', 'VALUE']:
        return []
    words = iter(re.findall(r'\w+', described(command)[0].upper()))
    return [head for head in heads if head not in words]
