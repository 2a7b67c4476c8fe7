"""Invented histories of many sessions, seeded, as the Activity that an index would give: for tests of statistical claims."""
import random
from collections import namedtuple

from echolib import analysis
from echolib.base import clock
from echolib.insights.activity import Activity, Cell

Row = namedtuple('Row', 'id sid project agent branch version modified title first_prompt machine readable')

OLD, NEW = 'claude-sonnet-4-5-20250929', 'claude-opus-4-5-20251101'
# USD per million tokens of the price table, in the order of the buckets.
RATES = {OLD: (3, 15, 0.3, 3.75, 6), NEW: (5, 25, 0.5, 6.25, 10)}
TOOLS = (('Bash', 0.5, 0.08), ('Read', 0.3, 0.03), ('Edit', 0.2, 0.06))
FIRST = clock.days_from_civil(2026, 3, 2)

# What changes, from a day on, in one project (None: all): model: the share of NEW; fail: {tool: rate}; cost: factor of
# tokens; output: factor of the output tokens.
Change = namedtuple('Change', 'day project model fail cost output')


def change(day, project=None, model=None, fail=None, cost=1.0, output=1.0):
    """-> Change."""
    return Change(day, project, model, fail or {}, cost, output)


def history(seed, days=90, projects=4, sessions=1.0, changes=(), alike=0.0, drift=0.0):
    """-> Activity: `sessions` a day and project on average, sizes and rates that differ from session to session.

    alike: how much a session's size follows the one before it in its project (0 to 1); drift: growth of the number of
    sessions over the whole time.
    """
    rng = random.Random(seed)
    rows, cells = [], []
    for place in range(projects):
        name = '/home/dev/p%d' % place
        mix = rng.choice((0.0, 0.2, 0.5, 1.0))
        size, errors = rng.uniform(0.5, 2.0), rng.uniform(0.6, 1.6)
        mood = rng.gauss(0, 1)
        # A project may begin late or end early.
        first, last = (rng.randrange(days // 3), days) if rng.random() < 0.3 else (0, days - rng.randrange(days // 3) * (rng.random() < 0.3))
        for day in range(first, last):
            # Nobody works much at the week's end.
            rate = sessions * (1 + drift * day / days) * (0.3 if day % 7 > 4 else 1.0)
            for _ in range(_poisson(rng, rate)):
                mood = alike * mood + (1 - alike * alike) ** 0.5 * rng.gauss(0, 1)
                row = Row(len(rows) + 1, '%08x-0000' % (seed * 100000 + len(rows)), name, 'claude', 'main', '2.1.112', 0, '', '', 0, 1)
                rows.append(row)
                active = [c for c in changes if day >= c.day and c.project in (None, name)]
                cells.append(Cell(row.id, FIRST + day, (FIRST + day) * 86400000 + rng.randrange(86400000),
                                  _session(rng, mix, size * 2.718 ** (0.6 * mood), errors, active)))
    return Activity(rows, cells, clock.zone('UTC'))


def bursts(seed, days=80, projects=4):
    """-> Activity of another kind, without a change: busy and quiet times, sizes with a heavy tail, sessions over several days."""
    rng = random.Random(seed)
    rows, cells = [], []
    for place in range(projects):
        mix, at = rng.random(), 0.0
        sizes = [rng.paretovariate(1.3) for _ in range(3)]
        while True:
            at += rng.expovariate(rng.choice((0.5, 2.0, 6.0)))
            if at >= days:
                break
            row = Row(len(rows) + 1, '%08x-0001' % (seed * 99991 + len(rows)), '/srv/%d' % place, 'claude', 'main', '2.1.112', 0, '', '', 0, 1)
            rows.append(row)
            size = 0.3 * min(30.0, rng.paretovariate(1.5)) * rng.choice(sizes)
            for later in range(1 if rng.random() < 0.8 else rng.randrange(2, 4)):
                day = FIRST + int(at) + later
                cells.append(Cell(row.id, day, day * 86400000 + rng.randrange(86400000), _session(rng, mix, size, rng.uniform(0.3, 3.0), [])))
    return Activity(rows, cells, clock.zone('UTC'))


def _session(rng, mix, size, errors, active):
    """The tally of one session."""
    tally = {}
    turns = 1 + _poisson(rng, 6)
    tally['user_prompts'] = turns
    mix = next((c.model for c in active if c.model is not None), mix)
    model = NEW if rng.random() < mix else OLD
    calls = sum(1 + _poisson(rng, 3) for _ in range(turns))
    factor, longer = 1.0, 1.0
    for one in active:
        factor, longer = factor * one.cost, longer * one.output
    amounts = [0] * 5
    context = 20000.0 * size
    for _ in range(calls):
        context *= 1.02
        amounts[0] += int(factor * rng.expovariate(1 / 400.0))
        amounts[1] += int(factor * longer * size * rng.lognormvariate(6, 0.8))
        amounts[2] += int(factor * context * rng.uniform(0.85, 1.0))
        amounts[3] += int(factor * context * rng.uniform(0.0, 0.08))
    tally['api_calls'] = tally['output_known_calls'] = tally['assistant_messages'] = calls
    tally['m|%s|calls' % model] = calls
    for bucket, amount, rate in zip(analysis.BUCKETS, amounts, RATES[model]):
        if amount:
            tally['m|%s|%s' % (model, bucket)] = amount
            tally['m|%s|cost_%s' % (model, bucket)] = amount * int(rate * 1000000)
    for tool, share, rate in TOOLS:
        uses = _poisson(rng, calls * share)
        rate = next((c.fail[tool] for c in active if tool in c.fail), rate * errors)
        # Failures come in bunches: each session has its own rate.
        rate = min(0.95, rate * rng.gammavariate(2.0, 0.5))
        failed = sum(1 for _ in range(uses) if rng.random() < rate)
        for name, amount in (('t|%s|calls' % tool, uses), ('t|%s|errors' % tool, failed), ('tool_calls', uses), ('tool_errors', failed)):
            if amount:
                tally[name] = tally.get(name, 0) + amount
    stops = sum(1 for _ in range(turns) if rng.random() < 0.05)
    if stops:
        tally['interruptions'] = stops
    return tally


def _poisson(rng, mean):
    """A Poisson number (Knuth), in parts so that exp() stays above 0."""
    count = 0
    while mean > 30:
        count += _poisson(rng, 30)
        mean -= 30
    limit, product = 2.718281828 ** -mean, rng.random()
    while product > limit:
        count += 1
        product *= rng.random()
    return count
