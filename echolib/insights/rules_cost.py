"""Rules about what the work costs: caches, contexts, models, where the money goes."""
from . import measures
from .findings import NOTICE, WARNING, finding, share, usd
from .shifts import median

_USD = 10 ** 12

LEAKY_RATIO, LEAKY_USD = 1.0, 5
WASTE_SHARE, WASTE_USD = 0.2, 10
REWRITE_SESSIONS, REWRITE_SHARE, REWRITE_USD = 5, 0.05, 1
TAX_SESSIONS, TAX_TOKENS, TAX_WARNING = 5, 30000, 50000
SAVING_SHARE, SAVING_USD = 0.2, 5
CONCENTRATED_SESSIONS, CONCENTRATED_SHARE = 20, 0.6
UNPRICED_SHARE = 0.05
SIDE_SHARE, SIDE_USD, NO_SIDE_SESSIONS = 0.5, 5, 50
FAST_SHARE, FAST_USD = 0.2, 5
TURN_SHARE, TURN_USD, TURN_SESSIONS, TURN_SESSION_SHARE = 0.5, 1, 20, 0.25
MACHINE_SHARE = 0.2


def cache_leaky(case):
    """A project that writes more to the cache than it ever reads back."""
    for project in case.order:
        numbers = case.projects[project]
        written = sum(measures.bucket(case.sessions[n], 'cache_write_5m', 'cache_write_1h') for n in numbers)
        read = sum(measures.bucket(case.sessions[n], 'cache_read') for n in numbers)
        cost = sum(_write_cost(case.sessions[n]) for n in numbers)
        if written and read < LEAKY_RATIO * written and cost >= LEAKY_USD * _USD:
            yield finding(
                'cache-leaky', WARNING, 'The cache of {0} is written more than it is read',
                '%.2f tokens read for each one written; writing cost %s' % (read / float(written), usd(cost)),
                'fewer than %g read for each written, at least $%g for writing' % (LEAKY_RATIO, LEAKY_USD),
                'look for what changes at the beginning of each prompt (dates, lists of files, tools that come and go), and for long pauses',
                [project], cost, case.by_cost(numbers), '%d sessions' % len(numbers))


def _write_cost(found):
    return measures.bucket_cost(found, 'cache_write_5m', 'cache_write_1h')


def _waste(found):
    written, read = measures.bucket(found, 'cache_write_5m', 'cache_write_1h'), measures.bucket(found, 'cache_read')
    return _write_cost(found) * max(0.0, 1 - min(1.0, read / float(written))) if written else 0.0


def cache_waste(case):
    """Sessions that paid for a cache and hardly used it."""
    waste = dict((number, _waste(found)) for number, found in case.sessions.items())
    total = sum(waste.values())
    if case.total.cost and total >= WASTE_USD * _USD and total >= WASTE_SHARE * case.total.cost:
        worst = sorted(waste, key=lambda n: (-waste[n], case.rows[n].sid))
        yield finding(
            'cache-waste', WARNING, 'Much is paid for caches that are hardly read',
            '%s of %s (%s) went to cached tokens that were not read back as often as they were written' % (
                usd(total), usd(case.total.cost), share(total / case.total.cost)),
            'at least %s of the cost and $%g' % (share(WASTE_SHARE), WASTE_USD),
            'short sessions of one or two calls pay this; go on with a session, or ask several things in one',
            (), total, worst, '%d sessions' % len(waste))


def idle_rewrites(case):
    """Calls after a pause that had to write their context to the cache anew."""
    found = dict((n, s) for n, s in case.signals.items() if s.rewrites)
    cost = sum(s.rewrite_cost for s in found.values())
    if len(found) >= REWRITE_SESSIONS and cost >= REWRITE_USD * _USD and cost >= REWRITE_SHARE * case.total.cost:
        worst = sorted(found, key=lambda n: (-found[n].rewrite_cost, case.rows[n].sid))
        yield finding(
            'idle-cache-rewrite', WARNING, 'Pauses let the cache expire, and it is written again',
            '%d calls in %d of %d sessions came after the cache had expired and wrote most of their prompt again, for %s (%s of the cost)' % (
                sum(s.rewrites for s in found.values()), len(found), len(case.signals), usd(cost), share(cost / float(case.total.cost))),
            'at least %d sessions, $%g and %s of the cost' % (REWRITE_SESSIONS, REWRITE_USD, share(REWRITE_SHARE)),
            'compact or clear before a long pause, or begin a new session after it',
            (), cost, worst, '%d sessions' % len(case.signals))


def context_tax(case):
    """Projects whose sessions begin with a large context before anything was done."""
    for project in case.order:
        numbers = [n for n in case.projects[project] if n in case.signals and case.signals[n].first_context is not None]
        if len(numbers) < TAX_SESSIONS:
            continue
        middle = median([case.signals[n].first_context for n in numbers])
        if middle >= TAX_TOKENS:
            largest = sorted(numbers, key=lambda n: (-case.signals[n].first_context, case.rows[n].sid))
            yield finding(
                'context-tax', WARNING if middle >= TAX_WARNING else NOTICE, 'Sessions in {0} begin with a large context',
                'half of them send at least %s tokens with their first call' % '{:,}'.format(int(middle)),
                'middle of at least %d sessions from %s tokens on' % (TAX_SESSIONS, '{:,}'.format(TAX_TOKENS)),
                'shorten memory files, take out MCP servers, skills and plugins that this project does not use',
                [project], None, largest, '%d sessions' % len(numbers))


def downshift(case):
    """A model in use that would have done the same tokens much cheaper."""
    by_target, used = {}, set(mix.own for mix in case.mixes)
    for mix in case.mixes:
        base = mix.today.get(mix.own)
        others = [(cost, name) for name, cost in mix.today.items() if name != mix.own and name in used]
        if not base or not others:
            continue
        cost, name = min(others)
        if base - cost >= SAVING_USD * _USD and base - cost >= SAVING_SHARE * base:
            by_target.setdefault(name, []).append((mix, base, cost))
    for name in sorted(by_target):
        found = by_target[name][:3]
        saved = sum(base - cost for _, base, cost in found)
        numbers = [n for n in case.sessions if any(mix.model in case.sessions[n].models for mix, _, _ in found)]
        yield finding(
            'model-downshift', NOTICE, 'The same tokens would cost less with {0}',
            '; '.join('{%d}: %s calls, %s at the rates of today, %s with the other (%s less)' % (
                at + 1, '{:,}'.format(mix.calls), usd(base), usd(cost), share((base - cost) / float(base)))
                for at, (mix, base, cost) in enumerate(found)),
            'at least %s and $%g less' % (share(SAVING_SHARE), SAVING_USD),
            'try the cheaper model where the work is simple; it may need more calls (trend-engine.py what-if)',
            [name] + [mix.model for mix, _, _ in found], saved, case.by_cost(numbers), '%d calls' % sum(mix.calls for mix, _, _ in found))


def concentration(case):
    """A tenth of the sessions that costs most of it."""
    costs = case.by_cost([n for n in case.sessions if case.sessions[n].cost])
    if len(costs) < CONCENTRATED_SESSIONS:
        case.small('spend-concentration', '%d sessions with a cost, %d are needed' % (len(costs), CONCENTRATED_SESSIONS))
        return
    top = costs[:max(1, len(costs) // 10)]
    spent = case.cost(top)
    if spent >= CONCENTRATED_SHARE * case.total.cost:
        yield finding(
            'spend-concentration', NOTICE, 'A few sessions cost most of the money',
            '%d of %d sessions cost %s of %s (%s)' % (len(top), len(costs), usd(spent), usd(case.total.cost), share(spent / float(case.total.cost))),
            'the most expensive tenth of at least %d sessions costs %s' % (CONCENTRATED_SESSIONS, share(CONCENTRATED_SHARE)),
            'look at these sessions first: whatever is saved there counts most', (), spent, top, '%d sessions' % len(costs))


def unpriced(case):
    """Models without a price that leave a gap in the cost."""
    missing = dict((name, m.unpriced_tokens) for name, m in case.total.models.items() if m.unpriced_tokens)
    tokens = sum(sum(m.buckets) for m in case.total.models.values())
    total = sum(missing.values())
    if tokens and total >= UNPRICED_SHARE * tokens:
        names = sorted(missing, key=lambda n: (-missing[n], n))[:3]
        calls = sum(case.total.models[n].unpriced_calls for n in missing)
        yield finding(
            'unpriced', WARNING, 'The cost is incomplete: no price is known for %s' % ', '.join('{%d}' % i for i in range(len(names))),
            '%s of the tokens, %s calls' % (share(total / float(tokens)), '{:,}'.format(calls)), 'at least %s of the tokens' % share(UNPRICED_SHARE),
            'add the rates to pricing.json in the data folder', names, None,
            case.by_cost([n for n, found in case.sessions.items() if any(name in found.models for name in names)]), '%d models' % len(missing))


def subagents(case):
    """Subagents that take most of the money, or are never used."""
    side, total = case.total.side_cost, case.total.cost
    if total and side >= SIDE_SHARE * total and side >= SIDE_USD * _USD:
        worst = sorted(case.sessions, key=lambda n: (-case.sessions[n].side_cost, case.rows[n].sid))
        yield finding(
            'subagents-costly', NOTICE, 'Subagents cost more than the conversations that start them',
            '%s of %s (%s)' % (usd(side), usd(total), share(side / float(total))), 'at least %s of the cost and $%g' % (share(SIDE_SHARE), SIDE_USD),
            'see whether they repeat work, and whether a cheaper model would do for them', (), side, worst, '%d sessions' % len(case.sessions))
    elif not side and len(case.sessions) >= NO_SIDE_SESSIONS and 'claude' in set(case.rows[n].agent for n in case.sessions):
        yield finding(
            'subagents-unused', NOTICE, 'Subagents are never used', 'none in %d sessions' % len(case.sessions),
            'no subagent call in at least %d sessions' % NO_SIDE_SESSIONS,
            'searches that read many files can run in a subagent, which keeps the main context small', (), None, (),
            '%d sessions' % len(case.sessions))


def fast_mode(case):
    """Much money for fast mode."""
    fast = dict((n, s.fast_cost) for n, s in case.signals.items() if s.fast_cost)
    total = sum(fast.values())
    if total >= FAST_USD * _USD and total >= FAST_SHARE * case.total.cost:
        yield finding(
            'fast-mode', NOTICE, 'Fast mode is a large part of the cost', '%s of %s (%s), in %d sessions' % (
                usd(total), usd(case.total.cost), share(total / float(case.total.cost)), len(fast)),
            'at least %s of the cost and $%g' % (share(FAST_SHARE), FAST_USD), 'switch it off where nobody waits for the answer',
            (), total, sorted(fast, key=lambda n: (-fast[n], case.rows[n].sid)), '%d sessions' % len(case.signals))


def turn_concentration(case):
    """Sessions in which one prompt costs as much as all others."""
    judged = [n for n, s in case.signals.items() if s.top_turn is not None]
    heavy = [n for n in judged if case.signals[n].top_turn[0] >= TURN_SHARE and case.signals[n].cost >= TURN_USD * _USD]
    if len(judged) < TURN_SESSIONS:
        case.small('turn-concentration', '%d sessions of three prompts or more, %d are needed' % (len(judged), TURN_SESSIONS))
    elif len(heavy) >= TURN_SESSION_SHARE * len(judged):
        cost = sum(case.signals[n].top_turn[1] for n in heavy)
        yield finding(
            'turn-concentration', NOTICE, 'Single prompts cost as much as the rest of their session',
            'in %d of %d sessions of three prompts or more one prompt took at least half of the cost, %s together' % (
                len(heavy), len(judged), usd(cost)),
            'at least %s of at least %d sessions, $%g each' % (share(TURN_SESSION_SHARE), TURN_SESSIONS, TURN_USD),
            'divide large tasks into steps with a check between them', (), cost,
            sorted(heavy, key=lambda n: (-case.signals[n].top_turn[1], case.rows[n].sid)), '%d sessions' % len(judged))


def machine_made(case):
    """Tokens spent by sessions that other programs started."""
    numbers = [n for n in case.sessions if case.rows[n].machine]
    tokens = dict((n, sum(sum(m.buckets) for m in case.sessions[n].models.values())) for n in case.sessions)
    total, spent = sum(tokens.values()), sum(tokens[n] for n in numbers)
    if total and spent >= MACHINE_SHARE * total:
        yield finding(
            'machine-made', NOTICE, 'Other programs start a large part of the work', '%d of %d sessions with %s of the tokens' % (
                len(numbers), len(case.sessions), share(spent / float(total))), 'at least %s of the tokens' % share(MACHINE_SHARE),
            'see which program it is, and whether it is still wanted (--machine only)', (), case.cost(numbers), case.by_cost(numbers),
            '%d sessions' % len(case.sessions))


RULES = (cache_leaky, cache_waste, idle_rewrites, context_tax, downshift, concentration, unpriced, subagents, fast_mode, turn_concentration,
         machine_made)
