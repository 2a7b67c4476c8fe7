"""Installed skills, commands, agents and MCP servers against what the sessions used: unused, stale, failing, missing."""
import re
from collections import namedtuple

from .. import analysis
from ..adapters.claude_extensions import BUILT_IN_AGENTS, server_of
from ..shell import command_of
from .recurrence import LEAST_SESSIONS

# extension: Extension or None where nothing of this name is installed; uses, errors: counts; sessions: row ids; places: Places
# of uses (servers: none), newest first; last: ms; verdict: unused, stale, failing, missing, used, young (too new to judge);
# reach: sessions in which it could have been used since it is there; since_last: sessions after its last use.
Used = namedtuple('Used', 'kind name extension uses errors sessions places last verdict reach since_last')

# Verdicts in the order of a listing.
VERDICTS = ('missing', 'failing', 'unused', 'stale', 'used', 'young')
# A verdict on something unused or stale needs so many sessions without it, and these so many days.
QUIET_SESSIONS, STALE_DAYS = 10, 60
# One that fails: so many uses, this share of them, in LEAST_SESSIONS sessions.
FAILING_USES, FAILING_SHARE = 5, 0.25
CALLS = 6000
_CALLERS = {'skill': 'skill', 'slashcommand': 'skill', 'task': 'agent', 'agent': 'agent'}
_DAY = 86400000
# What clients answer to a name that they do not know.
_UNKNOWN = re.compile(r"unknown skill|unknown slash command|no such skill|skill .{0,80}not found|agent type .{0,80}not found|unknown agent", re.I)


def survey(harvest, found, said):
    """-> list of Used: everything installed, and what was used without being so. found: Extensions; said: Saids."""
    uses = by_name(harvest, said)
    index, out, known = _index(found), [], set()
    for (kind, name), some in sorted(uses.items()):
        extension = _match(index, kind, name)
        if extension is not None:
            key = (extension.kind, extension.name, extension.path, extension.project)
            known.add(key)
            out.append([kind, name, extension, some])
    merged = {}
    for kind, name, extension, some in out:
        merged.setdefault((extension.kind, extension.name, extension.path, extension.project), (extension, []))[1].extend(some)
    rows = [_judged(harvest, extension.kind, extension.name, extension, some) for extension, some in merged.values()]
    rows += [_judged(harvest, one.kind, one.name, one, []) for one in found if (one.kind, one.name, one.path, one.project) not in known]
    for (kind, name), some in sorted(uses.items()):
        if _match(index, kind, name) is None and _is_missing(kind, name, some):
            rows.append(_judged(harvest, kind, name, None, some))
    return sorted(rows, key=lambda r: (VERDICTS.index(r.verdict), -r.uses, r.kind, r.name, r.extension.path if r.extension else ''))


def by_name(harvest, said):
    """-> {(kind, name): [(Place, None for a server, session, time, failed, unknown to the client)]}; commands are skills."""
    uses, out = harvest.uses(), {}
    for use in uses.values():
        server = server_of(use.tool)
        if server:
            out.setdefault(('server', server), []).append((None, use.session, use.time, use.status == analysis.FAILED, False))
    failed = {}
    for call in harvest.calls(lambda use: use.tool.lower() in _CALLERS, CALLS, 'calls of skills and agents'):
        given = call.given if isinstance(call.given, dict) else {}
        kind = _CALLERS[call.tool.lower()]
        name = given.get('subagent_type') if kind == 'agent' else given.get('skill') or command_of(given)
        if isinstance(name, str) and name.strip():
            name = name.strip().lstrip('/').split()[0][:120]
            some = out.setdefault((kind, name), [])
            some.append((call.place, call.place.session, call.place.time, call.status == analysis.FAILED, False))
            if call.status == analysis.FAILED:
                failed[call.call_id] = (some, len(some) - 1)
    if failed:
        for one in harvest.failures(CALLS):
            if one.call_id in failed and _UNKNOWN.search(one.text[:400]):
                some, at = failed[one.call_id]
                some[at] = some[at][:4] + (True,)
    for one in said:
        if one.label == 'slash' and one.text.startswith('/'):
            name = one.text[1:].split(None, 1)
            if name:
                out.setdefault(('skill', name[0][:120]), []).append((one.place, one.place.session, one.place.time, False, False))
    return out


def _index(found):
    """-> {(kind, name): [Extensions]}; a plugin's go by their bare name too, commands as skills."""
    out = {}
    for one in found:
        kind = 'skill' if one.kind == 'command' else one.kind
        for name in (one.name, one.name.rsplit(':', 1)[-1]):
            some = out.setdefault((kind, name.lower()), [])
            if one not in some:
                some.append(one)
    return out


def _match(index, kind, name):
    """-> the Extension a used name stands for, None where nothing installed is called so."""
    some = index.get((kind, name.lower()))
    if not some:
        return None
    exact = [one for one in some if one.name.lower() == name.lower()]
    return (exact or some)[0]


def _is_missing(kind, name, some):
    """True for a used name that must have come from something: a plugin's skill, an agent of one's own, what the client did not know."""
    if any(unknown for _, _, _, _, unknown in some):
        return True
    if kind == 'agent':
        return name.lower() not in BUILT_IN_AGENTS
    # Without a colon it may be one of the client's own.
    return kind == 'server' or ':' in name


def _judged(harvest, kind, name, extension, some):
    errors = sum(1 for one in some if one[3])
    sessions = frozenset(one[1] for one in some)
    last = max([one[2] for one in some if one[2] is not None] or [None], key=lambda t: t or 0)
    changed = extension.changed if extension is not None else None
    rows = [row for row in harvest.rows.values() if not extension or not extension.project or row.project == extension.project]
    reach = [row for row in rows if changed is None or (row.modified or 0) >= changed]
    since = sum(1 for row in rows if last is not None and (row.created or 0) > last)
    failed_in = set(one[1] for one in some if one[3])
    if extension is None:
        verdict = 'missing'
    elif len(some) >= FAILING_USES and errors >= FAILING_SHARE * len(some) and len(failed_in) >= LEAST_SESSIONS:
        verdict = 'failing'
    elif not some:
        verdict = 'unused' if len(reach) >= QUIET_SESSIONS else 'young'
    else:
        newest = max([row.modified or 0 for row in rows] or [0])
        verdict = 'stale' if since >= QUIET_SESSIONS and last is not None and newest - last >= STALE_DAYS * _DAY else 'used'
    places = sorted([one[0] for one in some if one[0] is not None], key=lambda p: (-(p.time or 0), p.file, p.line))
    return Used(kind if extension is None else extension.kind, name, extension, len(some), errors, sessions, places, last, verdict, len(reach), since)
