"""Each model's calls priced at the rates that other models have today: the same tokens, nothing else changed."""
from collections import namedtuple

from .. import analysis

# model: as logged; calls; tokens: of all buckets; cost: pico-USD as the calls were priced; unpriced: calls without a price;
# today: {candidate: pico-USD}, its own name too where it has a price.
Mix = namedtuple('Mix', 'model calls tokens cost unpriced today')
# Used beside the models that were, where those are fewer than two: asked of the table, left out where it has none.
USUAL = ('claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5')
_DAY = 86400000


def candidates(catalog, rows, table, since=None, until=None):
    """-> (names of priced models in these sessions by their calls, most first; {name as logged: id in the table or None})."""
    calls = {}
    for _, fact, _, _ in catalog.facts(set(row.id for row in rows), since, until):
        if fact.kind == analysis.CALL and fact.input + fact.output + fact.cache_read + fact.cache_write_5m + fact.cache_write_1h:
            calls[fact.name] = calls.get(fact.name, 0) + 1
    known = dict((name, table.canonical(name) if name else None) for name in calls)
    found = {}
    for name, count in calls.items():
        if known[name]:
            found[known[name]] = found.get(known[name], 0) + count
    return sorted(found, key=lambda name: (-found[name], name)), known


def reprice(catalog, rows, table, names, now, since=None, until=None):
    """-> list of Mixes, the most expensive first. names: the models whose rates of today (off-peak, standard) are applied.

    A call is priced by itself, so that a long prompt meets the rates for long prompts.
    """
    today = now // _DAY * _DAY
    mixes = {}
    for _, fact, _, _ in catalog.facts(set(row.id for row in rows), since, until):
        if fact.kind != analysis.CALL:
            continue
        buckets = [getattr(fact, bucket) for bucket in analysis.BUCKETS]
        total = sum(buckets)
        if not total:
            continue
        have = mixes.get(fact.name)
        if have is None:
            have = mixes[fact.name] = [0, 0, 0, 0, {}]
        have[0] += 1
        have[1] += total
        for counter, amount in analysis.contributions(fact, table.cost):
            if '|cost_' in counter:
                have[2] += amount
            elif counter.endswith('|unpriced_calls'):
                have[3] += amount
        sums = have[4]
        for name in names:
            cost = table.cost(name, today, *buckets)
            if cost is not None:
                sums[name] = sums.get(name, 0) + sum(cost)
    out = [Mix(name or 'unknown', *values) for name, values in mixes.items()]
    out.sort(key=lambda mix: (-mix.cost, -mix.tokens, mix.model))
    return out
