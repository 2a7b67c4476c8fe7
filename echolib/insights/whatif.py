"""Each model's calls priced at the rates that other models have today: the same tokens, nothing else changed."""
import json
from collections import namedtuple

from .. import analysis

# model: as logged; own: its id in the price table or None; calls; tokens: of all buckets; cost: pico-USD as the calls were
# priced; unpriced: calls without a price; today: {candidate: pico-USD}, its own id too where it has a price.
Mix = namedtuple('Mix', 'model own calls tokens cost unpriced today')
# Asked of the table beside the models that were used, where those are fewer than two.
USUAL = ('claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5')
_DAY = 86400000


def models_of(rows, table):
    """-> set of ids in the price table of all models these sessions used."""
    logged = set()
    for row in rows:
        if row.tally:
            logged.update(name[2:].rsplit('|', 1)[0] for name in json.loads(row.tally) if name.startswith('m|') and name.endswith('|calls'))
    return set(table.canonical(name) for name in logged) - {None}


class Reprice(object):
    """Prices calls at other models' rates; a watcher of activity.load.

    names: ids whose rates of today (off-peak, standard) are applied. A call is priced by itself, so that a long prompt
    meets the rates for long prompts.
    """

    def __init__(self, table, names, now):
        self._table, self._names, self._today = table, sorted(names), now // _DAY * _DAY
        self._found = {}

    def __call__(self, row, facts):
        table, today, names = self._table, self._today, self._names
        for fact in facts:
            if fact.kind != analysis.CALL:
                continue
            buckets = fact.input, fact.output, fact.cache_read, fact.cache_write_5m, fact.cache_write_1h
            total = sum(buckets)
            if not total:
                continue
            have = self._found.get(fact.name)
            if have is None:
                have = self._found[fact.name] = [0, 0, 0, 0, {}]
            have[0] += 1
            have[1] += total
            speed, geo, tier = (fact.extra.split('|') + [''] * 3)[:3]
            cost = table.cost(fact.name, fact.time, *buckets, speed=speed or None, geo=geo or None, tier=tier or None)
            if cost is None:
                have[3] += 1
            else:
                have[2] += sum(cost)
            sums = have[4]
            for name in names:
                cost = table.cost(name, today, *buckets)
                if cost is not None:
                    sums[name] = sums.get(name, 0) + sum(cost)

    def mixes(self):
        """-> Mixes of all models met, the most expensive first."""
        out = [Mix(name or 'unknown', self._table.canonical(name) if name else None, *values) for name, values in self._found.items()]
        out.sort(key=lambda mix: (-mix.cost, -mix.tokens, mix.model))
        return out


def used(mixes):
    """-> ids of the priced models among these, most calls first."""
    calls = {}
    for mix in mixes:
        if mix.own:
            calls[mix.own] = calls.get(mix.own, 0) + mix.calls
    return sorted(calls, key=lambda name: (-calls[name], name))
