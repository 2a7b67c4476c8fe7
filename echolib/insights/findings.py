"""Findings: what in a selection's figures deserves a look, each with its evidence, threshold and what to do about it.

A rule is a function(Case) that yields Findings; rules_cost and rules_work hold them. A rule with too little to go on
yields nothing and says so with Case.small.
"""
from collections import namedtuple

from . import measures
from .activity import is_session, project_of

WARNING, NOTICE = 'warning', 'notice'

# code: kind of finding; severity; title, evidence, threshold, action: sentences whose names (projects, models, tools) stand
# as {0}, {1} for what is in `names`, so that the reader's side can clean them; usd: pico-USD at stake or None; sessions: row
# ids worth opening; size: what the evidence rests on, in words.
Finding = namedtuple('Finding', 'code severity title evidence threshold action names usd sessions size')


def finding(code, severity, title, evidence, threshold, action, names=(), usd=None, sessions=(), size=''):
    """-> Finding."""
    return Finding(code, severity, title, evidence, threshold, action, tuple(names), usd, tuple(sessions)[:3], size)


class Case(object):
    """What rules look at: activity, signals {row id: Signals}, regressions.Findings, mixes (see whatif)."""

    def __init__(self, activity, signals, changes, mixes):
        signals = dict((number, found) for number, found in signals.items() if is_session(activity.rows[number]))
        self.activity, self.signals, self.changes, self.mixes = activity, signals, changes, mixes
        self.rows = activity.rows
        self.total = measures.sums(activity.total())
        self.skipped = []
        tallies, by_project = {}, {}
        for cell in activity.cells:
            if not is_session(self.rows[cell.session]):
                continue
            have = tallies.setdefault(cell.session, {})
            for name, amount in cell.tally.items():
                have[name] = have.get(name, 0) + amount
        self.sessions = dict((number, measures.sums(tally)) for number, tally in tallies.items())
        for number in self.sessions:
            by_project.setdefault(project_of(self.rows[number]), []).append(number)
        # {project: row ids of its sessions}, projects with most spent first.
        self.projects = by_project
        self.order = sorted(by_project, key=lambda p: (-self.cost(by_project[p]), p))

    def cost(self, numbers):
        """-> pico-USD of these sessions."""
        return sum(self.sessions[number].cost for number in numbers)

    def by_cost(self, numbers):
        """-> these sessions, the most expensive first."""
        return sorted(numbers, key=lambda n: (-self.sessions[n].cost, self.rows[n].sid))

    def small(self, code, what):
        """Note that a rule had too little to go on."""
        self.skipped.append((code, what))


def find(case):
    """-> Findings of a Case: warnings first, then by what is at stake."""
    from . import rules_cost, rules_work
    found = []
    for rule in rules_cost.RULES + rules_work.RULES:
        found.extend(rule(case))
    found.sort(key=lambda f: (f.severity != WARNING, -(f.usd or 0), f.code, f.names))
    return found


def share(value):
    """-> a share in words."""
    return '%.0f %%' % (100 * value) if value >= 0.1 or not value else '%.1f %%' % (100 * value)


def usd(pico):
    """-> dollars in words."""
    from ..pricing import format_usd
    return format_usd(int(pico))
