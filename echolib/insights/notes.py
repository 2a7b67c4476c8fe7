"""Facts about a project worth remembering, from its sessions: commands that work, errors and what helped, files that change
together, corrections that had to be repeated. Each is counted, and names its places."""
import re
from bisect import bisect_left
from collections import namedtuple

from ..base import paths
from ..index import schema
from ..shell import command_of
from . import asks, pains
from .harvest import SHELLS
from .recurrence import finding, ranked
from .routines import LOOKING, steps

# A command of the project. worked, failed: times; finding: of the times it worked.
Command = namedtuple('Command', 'worked failed finding')
# A skill or agent that was used. failed: uses that failed.
Helper = namedtuple('Helper', 'kind name failed finding')
# Two files. apart: (sessions that changed only the first, only the second); finding: of the turns that changed both.
Pair = namedtuple('Pair', 'one other apart finding')

CALLS = 6000
_LONGEST_COMMAND = 140
# A command that fails more often does not work here; tests and linters fail a lot and work all the same.
_WORKS = 0.5
# Files that change together: in so much of the sessions that change the rarer one; turns with more files tell nothing.
TOGETHER, _CROWD = 0.6, 12
_EDITS = re.compile('edit|write|patch|replace|create|insert', re.I)
_FRONT = re.compile(r'\s*cd\s+(?:"[^"]*"|\'[^\']*\'|\S+)\s*&&\s*')
_TAIL = re.compile(r'\s*(?:2>&1\s*)?(?:\|\s*(?:tail|head|cat|less)\b[^|;&]*)?$|\s*2>(?:&1|/dev/null)\s*$')
# Programs whose work says nothing about the project.
_EVERYWHERE = LOOKING | frozenset('git gh curl wget python python3 node ssh scp rsync sqlite3 bash sh zsh kill pkill open code vim nano'.split())


def commands(harvest, least):
    """-> list of Commands that worked in at least `least` sessions, those of most sessions first."""
    found = {}
    for call in harvest.calls(lambda use: use.tool.lower() in SHELLS, CALLS, 'shell commands'):
        line = plain_command(command_of(call.given))
        if line:
            known = found.setdefault(line, [[], 0])
            if call.status == 1:
                known[0].append((call.place, line))
            elif call.status:
                known[1] += 1
    out = []
    for line, (worked, failed) in found.items():
        one = finding('command', line, worked, least, ())
        if one is not None and len(worked) >= _WORKS * (len(worked) + failed):
            out.append(Command(len(worked), failed, one))
    return sorted(out, key=lambda c: (-len(c.finding.sessions), -c.worked, c.finding.key))


def plain_command(line):
    """-> a shell line without the cd before it and the cutting of output behind it; '' for one that says nothing of a project."""
    line = _TAIL.sub('', _FRONT.sub('', line.strip(), 1)).strip()
    if not line or '\n' in line or '<<' in line or len(line) > _LONGEST_COMMAND:
        return ''
    told = [step for step in steps(line) if step.split()[0] not in _EVERYWHERE]
    # python3 -m pytest is pytest's; python3 -c is nobody's.
    return line if told and not re.search(r'(?:^|\s)(?:-c|-e)\s', line) else ''


def errors(harvest, least):
    """-> list of error Findings, those of most sessions first."""
    return ranked(pains.errors(harvest, least)[0])


def corrections(harvest, least):
    """-> list of correction Findings, those of most sessions first."""
    return ranked(asks.corrections(harvest.prompts(asks.PROMPTS) + harvest.refusals(pains.ERRORS), least)[0])


def skills(harvest, least):
    """-> list of Helpers: skills, slash commands and agents used in at least `least` sessions, those of most sessions first."""
    from . import extension_use
    out = []
    for (kind, name), some in extension_use.by_name(harvest, harvest.prompts(asks.PROMPTS)).items():
        one = finding('helper', '%s %s' % (kind, name), [(use[0], name) for use in some if use[0] is not None], least, ())
        if one is not None:
            out.append(Helper(kind, name, sum(1 for use in some if use[3]), one))
    return sorted(out, key=lambda h: (-len(h.finding.sessions), -h.finding.count, h.finding.key))


def files(harvest, least):
    """-> list of Pairs of files that were changed in the same turn in at least `least` sessions."""
    turns, sessions = {}, {}
    starts = {}
    for place, _, _, _ in harvest.documents(schema.PROMPT_DOC):
        starts.setdefault(place.file, []).append(place.number)
    for call in harvest.calls(lambda use: use.status == 1 and _EDITS.search(use.tool) and 'todo' not in use.tool.lower(), CALLS, 'edits'):
        if not hasattr(call.adapter, 'files_of'):
            continue
        project = harvest.rows[call.place.session].project or ''
        for what, name in call.adapter.files_of(call.tool, call.given):
            name = relative(name, project)
            if what != 'read' and name:
                turn = call.place.file, bisect_left(starts.get(call.place.file, ()), call.place.number)
                turns.setdefault(turn, {}).setdefault((project, name), call.place)
                sessions.setdefault((project, name), set()).add(call.place.session)
    pairs = {}
    for _, changed in sorted(turns.items()):
        names = sorted(changed)
        for at, one in enumerate(names if len(names) <= _CROWD else ()):
            for other in names[at + 1:]:
                if one[0] == other[0]:
                    pairs.setdefault((one, other), []).append((changed[other], other[1]))
    out = []
    for (one, other), some in pairs.items():
        found = finding('files', '%s\n%s\n%s' % (one[0], one[1], other[1]), some, least, ())
        rarer = min(len(sessions[one]), len(sessions[other]))
        if found is not None and len(found.sessions) >= TOGETHER * rarer:
            both = len(found.sessions)
            out.append(Pair(one[1], other[1], (len(sessions[one]) - both, len(sessions[other]) - both), found))
    return sorted(out, key=lambda p: (-len(p.finding.sessions), sum(p.apart), p.finding.key))


def relative(name, project):
    """-> a file's path below the project, '' for one elsewhere."""
    if not project or project in ('/', '\\'):
        return ''
    if not re.match(r'[/\\]|[A-Za-z]:', name):
        return '' if name.startswith('..') else name.replace('\\', '/')
    return name[len(project.rstrip('/\\')):].lstrip('/\\').replace('\\', '/') if paths.same_or_below(name, project) else ''
