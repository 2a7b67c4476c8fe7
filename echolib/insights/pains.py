"""Errors that come back, tools that fail often, calls that were tried again and again without a change: over sessions."""
import re

from .. import analysis
from ..base.fold import tokens
from ..shell import command_of
from .harvest import SHELLS
from .likeness import words
from .lookback import call_kind, normalise, program
from .recurrence import finding

# Errors and calls that are read, newest first.
ERRORS, RETRIED = 6000, 3000
# A run of so many failing calls of one tool, each like the one before, is a retry loop.
RUN = 3
# A tool fails often with so many calls, and this share of them failed.
TOOL_CALLS, TOOL_FAILS = 10, 0.25
# Two inputs are alike with so much of their words in common.
_SIMILAR = 0.6
# Two error lines are one error where they begin with so many equal words, or share this part of their words.
_PREFIX, _SHARED, _COMPARED = 6, 0.75, 20
# A single line of output without any word of failure must have so many words to be called an error.
_SPEAKS = 3

_TAGS = re.compile(r'</?[a-z_]+>|\x1b\[[0-9;]*m')
# The client's own checks of a call, which the model answers by itself: no trouble of the project or the person.
_CHECKS = ('<tool_use_error>', 'InputValidationError', 'File has not been read yet', 'String to replace not found',
           'File has been modified since read', 'No changes to make: old_string')
_EXIT = re.compile(r'(?:error: )?(?:exit code|command failed with exit code|exited with code)[: ]*-?\d+\.?', re.I)
# Tests that fail are the work itself.
_TEST = re.compile(r'\d+ (?:tests? )?(?:failed|failing|passed|failures?)\b|^\W*(?:FAILED|FAIL|not ok|--- FAIL)\b|AssertionError|^E\s+assert\b|test result: FAILED')
_RAISED = re.compile(r'[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b')
_TELLS = re.compile(
    r"(?<![\w./-])(?:errors?|exception|fail(?:ed|ure|s)?|fatal|denied|refused|forbidden|cannot|can't|could not|couldn't|unable|not found|no such|missing|"
    r"invalid|undefined|unknown|unrecogni[sz]ed|unexpected|timed? ?out|panic|abort(?:ed|ing)?|conflict|rejected|not allowed|not permitted|permissions?|"
    r"unauthori[sz]ed|no space|E[A-Z]{4,})(?![\w/-]|\.\w|\()|[A-Za-z](?:Error|Exception)\b(?![(./])|"
    r'\u9519\u8bef|\u5931\u8d25|\u62d2\u7edd|\u627e\u4e0d\u5230|\u65e0\u6cd5|\u4e0d\u5b58\u5728|\u8d85\u65f6|\u30a8\u30e9\u30fc|\u5931\u6557|\uc624\ub958|\uc2e4\ud328', re.I)


def error_line(text):
    """-> the line of a failed call's output that says what went wrong, '' where none does."""
    lines = [_TAGS.sub('', line).strip() for line in text[:20000].splitlines()]
    lines = [line for line in lines if line and line not in ('[image]', '[document]') and not _EXIT.fullmatch(line)]
    telling = [line for line in lines if not _TEST.search(line)]
    if any(line.startswith('Traceback (most recent call last)') for line in lines):
        raised = [line for line in telling if _RAISED.match(line)]
        return raised[-1][:400] if raised else ''
    for line in telling:
        if _TELLS.search(line):
            return line[:400]
    return telling[0][:400] if len(lines) == 1 and telling and len(tokens(telling[0])) >= _SPEAKS else ''


def is_check(text):
    """True for an error that the client's own check of a call raised."""
    return text.lstrip().startswith(_CHECKS)


def errors(harvest, least):
    """-> (list of error Findings, number of client checks left out). detail: tools {name: count}, examples: Faileds newest first."""
    exact, checks = {}, 0
    for failed in harvest.failures(ERRORS):
        if is_check(failed.text):
            checks += 1
            continue
        line = error_line(failed.text)
        key = normalise(line)
        if len(tokens(key)) > 1:
            exact.setdefault(key, []).append((failed, line))
    found = []
    for key, some in _joined(exact):
        tools, sessions = {}, {}
        for failed, _ in some:
            tools[failed.tool] = tools.get(failed.tool, 0) + 1
            sessions.setdefault(_tool(failed.tool), set()).add(failed.place.session)
        # A line that any tool's output holds once is no error of theirs: one tool must bring it often enough alone.
        if max(len(one) for one in sessions.values()) < least:
            continue
        some.sort(key=lambda s: (-(s[0].place.time or 0), s[0].place.file, s[0].place.line))
        one = finding('error', key, [(failed.place, line) for failed, line in some], least, words(key),
                      {'tools': tools, 'examples': [failed for failed, _ in some]})
        if one is not None:
            found.append(one)
    return found, checks


def _tool(name):
    """One name for all shells: what fails in one fails in the other."""
    return 'shell' if name.lower() in SHELLS else name


def _joined(exact):
    """Yield (line, occurrences) with lines that are nearly equal put together under the most frequent."""
    leaders, by_word = [], {}
    for key in sorted(exact, key=lambda k: (-len(exact[k]), k)):
        mine = tokens(key)[:_COMPARED]
        near = sorted(set(place for word in mine[:2] for place in by_word.get(word, ())))
        best = next((place for place in near if _same(mine, leaders[place][1])), None)
        if best is None:
            for word in mine[:2]:
                by_word.setdefault(word, []).append(len(leaders))
            leaders.append((key, mine, list(exact[key])))
        else:
            leaders[best][2].extend(exact[key])
    for key, _, some in leaders:
        yield key, some


def _same(one, other):
    if len(one) >= _PREFIX and one[:_PREFIX] == other[:_PREFIX]:
        return True
    a, b = set(one), set(other)
    return len(a & b) >= _SHARED * len(a | b)


def tools(harvest, least):
    """-> list of tool Findings: tools, shells apart, of whose calls a large share fails. count: failed calls; detail: tool, calls.

    Errors of the client's own checks do not count; a shell's failures say more by what it ran.
    """
    calls, failed = {}, {}
    for use in harvest.uses().values():
        calls[use.tool] = calls.get(use.tool, 0) + 1
    for one in harvest.failures(ERRORS):
        if one.tool and one.tool.lower() not in SHELLS and not is_check(one.text):
            failed.setdefault(one.tool, []).append((one.place, error_line(one.text) or one.text.strip()[:400]))
    found = [finding('tool', tool, some, least, words(tool.replace('_', ' ')), {'tool': tool, 'calls': calls[tool]}) for tool, some in sorted(failed.items())
             if calls[tool] >= TOOL_CALLS and len(some) >= TOOL_FAILS * calls[tool]]
    return [one for one in found if one is not None]


def retries(harvest, least):
    """-> list of retry Findings: the same tool (a shell's program) failing several times on end with inputs that are alike.

    count is the number of loops. detail: tool, program, calls (failing calls in them), longest.
    """
    runs = _failing_runs(harvest.uses())
    inside = set(key for run in runs for key in run)
    uses = harvest.uses()
    chosen = set(id(uses[key]) for key in inside)
    from ..base.identity import key_of
    calls = dict((key_of('t%s' % call.call_id), call) for call in harvest.calls(lambda use: id(use) in chosen, RETRIED, 'retried calls'))
    sets = dict((key, frozenset(words(normalise(call.text)))) for key, call in calls.items())
    loops = {}
    for run in runs:
        chain = []
        for key in run + [None]:
            call = calls.get(key)
            if call is not None and (not chain or _tried_again(calls[chain[-1]], call, sets[chain[-1]], sets[key])):
                chain.append(key)
                continue
            if len(chain) >= RUN:
                first = calls[chain[0]]
                loops.setdefault(_sort_of(first), []).append((first, len(chain)))
            chain = [key] if call is not None else []
    found = []
    for (tool, what), some in sorted(loops.items()):
        one = finding('retry', '%s %s' % (tool, what), [(call.place, command_of(call.given) or call.text[:400]) for call, _ in some], least,
                      words('%s %s' % (tool, what)),
                      {'tool': tool, 'program': what, 'calls': sum(n for _, n in some), 'longest': max(n for _, n in some)})
        if one is not None:
            found.append(one)
    return found


def _sort_of(call):
    return call.tool, program(command_of(call.given)) if call.tool.lower() in SHELLS else ''


def _tried_again(before, after, one, other):
    """True when two calls are of one kind and share most words; numbers and paths make no difference."""
    return call_kind(before.tool, before.given) == call_kind(after.tool, after.given) and 2 * len(one & other) >= _SIMILAR * (len(one) + len(other))


def _failing_runs(uses):
    """-> lists of keys: uses of one tool in one file, in order of time, that failed on end RUN times or more."""
    lines = {}
    for key, use in uses.items():
        lines.setdefault((use.file, use.tool), []).append((use.time or 0, key, use.status))
    runs = []
    for _, some in sorted(lines.items()):
        if sum(1 for _, _, status in some if status == analysis.FAILED) < RUN:
            continue
        run = []
        for _, key, status in sorted(some) + [(0, None, 0)]:
            if status == analysis.FAILED:
                run.append(key)
                continue
            if len(run) >= RUN:
                runs.append(run)
            run = []
    return runs
