"""What is done by hand again and again: the same shell commands one after the other."""
import re
from math import log

from ..shell import command_of
from .harvest import SHELLS
from .likeness import words
from .recurrence import finding

# Shell calls that are read, newest first.
COMMANDS = 4000
# Steps of a sequence.
SHORTEST, LONGEST = 3, 6
# A sequence is told when chance alone (each project's steps in any order) brings one of its length as often in fewer than
# one home of so many.
HOMES = 50
# Words in front of the program of a step.
WRAPPERS = frozenset('sudo time timeout env nice nohup command exec xargs uv poetry pipenv npx bunx pnpm yarn npm run python python3 -m'.split())
# Programs that only look around, or move things: no step of a routine.
LOOKING = frozenset((
    'ls ll dir cat bat grep egrep rg ag find fd head tail less more sed awk cut sort uniq tr wc pwd echo printf which type file stat tree du df env '
    'export set cd pushd popd sleep wait true false test date clear history man jq diff tee xargs ps kill mkdir rm rmdir cp mv touch chmod chown ln '
    'source . for while if do done then else fi [ read exit return').split())
_SPLIT = re.compile(r'&&|\|\||;|\n')
_WORD = re.compile(r'[A-Za-z][\w:-]*\Z')


def steps(line):
    """-> the steps of a shell line: each part's program with the plain words behind it (git commit, npm run build)."""
    out = []
    # What follows a here-document's mark is its text.
    for part in _SPLIT.split(line.split('<<')[0][:2000]):
        told = part.split('|')[0].split()
        while told and ('=' in told[0].split('/')[0] or told[0] in WRAPPERS and len(told) > 1 and told[0] not in _MANAGERS or told[0].replace('.', '').isdigit()):
            del told[0]
        if not told:
            continue
        head = told[0].rsplit('/', 1)[-1].strip('"\'(){}')
        if not head or head in LOOKING or head.startswith(('#', '-', '$')):
            continue
        step = [head]
        for word in told[1:3]:
            if not _WORD.match(word):
                break
            step.append(word)
        out.append(' '.join(step))
    return out


# Wrappers whose next word is what they do.
_MANAGERS = frozenset('npm pnpm yarn npx bunx uv poetry pipenv'.split())


def sequences(harvest, least):
    """-> list of sequence Findings. quote: the commands of the newest time; detail: steps."""
    done, counts = {}, {}
    for call in harvest.calls(lambda use: use.tool.lower() in SHELLS, COMMANDS, 'shell commands'):
        mine = done.setdefault(call.place.file, [])
        own = counts.setdefault(harvest.rows[call.place.session].project, {})
        for step in steps(command_of(call.given)):
            if not mine or mine[-1][0] != step:
                mine.append((step, call))
                own[step] = own.get(step, 0) + 1
    found, kinds = {}, {}
    for _, mine in sorted(done.items()):
        for size in range(SHORTEST, LONGEST + 1):
            last = {}
            for at in range(len(mine) - size + 1):
                names = tuple(name for name, _ in mine[at:at + size])
                # Times that overlap count once.
                if len(set(names)) >= SHORTEST and last.get(names, -size) + size <= at:
                    last[names] = at
                    found.setdefault(names, []).append([call for _, call in mine[at:at + size]])
    for names in found:
        kinds[len(names)] = kinds.get(len(names), 0) + 1
    out = []
    for names, some in sorted(found.items()):
        if len(set(calls[0].place.session for calls in some)) < least or not _beyond_chance(
                len(some), _expected(names, counts), kinds[len(names)]):
            continue
        quoted = [(calls[0].place, '\n'.join(dict.fromkeys(command_of(call.given) for call in calls))) for calls in some]
        out.append(finding('sequence', ' > '.join(names), quoted, least, words(' '.join(names)), {'steps': names}))
    return _whole(out)


def _expected(names, counts):
    """-> how often these steps would follow each other if every project's steps came in any order."""
    out = 0.0
    for own in counts.values():
        whole = float(sum(own.values()))
        chance = whole
        for name in names:
            chance *= own.get(name, 0) / whole
        out += chance
    return out


def _beyond_chance(times, expected, kinds):
    """True when so many times are too many for chance, `kinds` sequences having been looked at (Chernoff's bound)."""
    return times > expected and times * log(times / expected) - times + expected >= log(kinds * HOMES)


def _whole(found):
    """-> the sequences that are no part of a longer one found nearly as often."""
    kept = []
    for one in sorted(found, key=lambda f: (-len(f.detail['steps']), -len(f.sessions), f.key)):
        mine = one.detail['steps']
        if not any(_inside(mine, longer.detail['steps']) and len(one.sessions) < 1.5 * len(longer.sessions) for longer in kept):
            kept.append(one)
    return kept


def _inside(short, whole):
    # Shifted by one step it is still the same routine.
    size = len(short)
    return any(short[1:] == whole[at:at + size - 1] or short[:-1] == whole[at:at + size - 1] for at in range(len(whole) - size + 2))
