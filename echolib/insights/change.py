"""Why a figure is not what it was: its change split into parts that add up.

A figure is a sum over projects, models and kinds of tokens, each term a product: prompts (a day) x share of the project
x calls per prompt x share of the model x tokens per call x price. The change of a term is divided among its factors in
proportion to the logarithms of their ratios (logarithmic mean Divisia index, Ang 2004): nothing is left over, and the
order of the factors does not matter. A term that begins or ends goes to the first factor that is 0 on one side.
"""
from collections import namedtuple
from math import log

from ..analysis import BUCKETS
from . import measures, shifts

# kind: prompts, mix, calls, model, output, sent, cache, price, tools, errors; project, name: '' where it has none;
# amount: its part of the change.
Part = namedtuple('Part', 'kind project name amount')
# before, after: the figure; parts: Parts, largest first; their amounts add up to after - before.
Change = namedtuple('Change', 'before after parts')

# metric: (what is summed, per prompt or a day)
METRICS = {
    'cost-per-prompt': ('cost', True), 'output-per-prompt': ('output', True), 'tokens-per-prompt': ('tokens', True),
    'cost': ('cost', False), 'output': ('output', False), 'tokens': ('tokens', False), 'tool-errors': ('errors', False)}
# The measure (see measures) whose days tell where a metric changed.
MEASURE = {'cost-per-prompt': 'cost_per_prompt', 'output-per-prompt': 'output_per_prompt', 'tokens-per-prompt': 'context_per_call',
           'cost': 'cost_per_prompt', 'output': 'output_per_prompt', 'tokens': 'context_per_call', 'tool-errors': 'tool_errors'}
_OUTPUT = BUCKETS.index('output')
# Kinds of tokens, by their places in BUCKETS: written; not cached, read from the cache, stored in it for any time.
_KINDS = ((_OUTPUT,), (BUCKETS.index('input'),), (BUCKETS.index('cache_read'),),
          (BUCKETS.index('cache_write_5m'), BUCKETS.index('cache_write_1h')))


class _Side(object):
    """The work of one side: turns and calls by project, calls, tokens and costs by project and model, tools by project."""

    def __init__(self, works, days):
        self.days = float(max(1, days))
        self.turns, self.turns_of, self.calls_of, self.models, self.tools, self.tool_calls = 0, {}, {}, {}, {}, 0
        for work in works:
            found = work.sums
            self.turns += found.turns
            self.turns_of[work.project] = self.turns_of.get(work.project, 0) + found.turns
            self.calls_of[work.project] = self.calls_of.get(work.project, 0) + found.calls
            for name, model in found.models.items():
                have = self.models.setdefault((work.project, name), [0, [0] * 5, [0] * 5])
                have[0] += model.calls
                for at in range(5):
                    have[1][at] += model.buckets[at]
                    have[2][at] += model.costs[at]
            for name, counts in found.tools.items():
                have = self.tools.setdefault((work.project, name), [0, 0])
                have[0] += counts[0]
                have[1] += counts[1]
                self.tool_calls += counts[0]


def explain(before, after, metric, before_days=1, after_days=1):
    """-> Change of a metric between two lists of Work (see comparisons), or None where a side has nothing to divide by."""
    what, per_prompt = METRICS[metric]
    sides = _Side(before, before_days), _Side(after, after_days)
    if what == 'errors':
        if not all(side.tool_calls for side in sides):
            return None
        terms = _tool_terms(sides)
    else:
        if per_prompt and not all(side.turns for side in sides):
            return None
        terms = _token_terms(sides, what, per_prompt)
    return _divide(terms)


def _tool_terms(sides):
    """Yield (labels, factors of the one side, of the other) of tool errors per tool call."""
    projects = [dict((p, 0) for p in set(p for p, _ in side.tools)) for side in sides]
    for side, calls in zip(sides, projects):
        for (project, _), counts in side.tools.items():
            calls[project] += counts[0]
    for project, name in sorted(set(sides[0].tools) | set(sides[1].tools)):
        rows = []
        for side, calls in zip(sides, projects):
            uses, errors = side.tools.get((project, name), (0, 0))
            inside = calls.get(project, 0)
            # An error whose call is not there is counted as one of a call.
            rows.append((inside / float(side.tool_calls), _over(uses, inside), _over(errors, uses)) if uses else (
                inside / float(side.tool_calls), 0.0, None))
        yield (('mix', '', ''), ('tools', project, ''), ('errors', project, name)), rows[0], rows[1]


def _token_terms(sides, what, per_prompt):
    """Yield (labels, factors of the one side, of the other) of each project, model and kind of tokens."""
    # Without prompts on a side the work is what is left to speak of.
    prompted = all(side.turns for side in sides)
    for project, name in sorted(set(sides[0].models) | set(sides[1].models)):
        own = prompted and not any(side.calls_of.get(project) and not side.turns_of.get(project) for side in sides)
        heads = []
        for side in sides:
            calls = side.calls_of.get(project, 0)
            scale = 1.0 if per_prompt or not prompted else side.turns / side.days
            if own:
                turns = side.turns_of.get(project, 0)
                heads.append((scale, turns / float(side.turns), _over(calls, turns)))
            else:
                heads.append((scale, 1.0, calls / (float(side.turns) if prompted else side.days)))
        labels = (('prompts', '', ''), ('mix', '', ''), ('calls', project, ''), ('model', project, ''))
        for places in _KINDS:
            if what == 'output' and places[0] != _OUTPUT:
                continue
            rows = [_row(side, project, name, places, what, head) for side, head in zip(sides, heads)]
            kind = 'output' if places[0] == _OUTPUT else 'sent'
            tail = (kind, project, name), ('cache', project, name), ('price', project, name)
            yield labels + tail, rows[0], rows[1]


def _row(side, project, name, places, what, head):
    calls, buckets, costs = side.models.get((project, name), (0, [0] * 5, [0] * 5))
    sent, tokens = sum(buckets) - buckets[_OUTPUT], sum(buckets[at] for at in places)
    written = places[0] == _OUTPUT
    amount = tokens if written else sent
    share = 1.0 if written else _over(tokens, sent)
    price = 1.0 if what != 'cost' else _over(sum(costs[at] for at in places) / 1e12, tokens)
    return head + (_over(calls, side.calls_of.get(project, 0)) if calls else 0.0, _over(amount, calls), share, price)


def _over(part, whole):
    """part / whole; None where there is no whole, so that it cannot be told."""
    return part / float(whole) if whole else None


def _divide(terms):
    """-> Change of the sum of terms; each is (labels, factors before, factors after), None for a factor nobody can tell."""
    parts, before, after = {}, 0.0, 0.0
    for labels, old, new in terms:
        one, two = _product(old), _product(new)
        before += one
        after += two
        if one == two:
            if one:
                _share_out(parts, labels, old, new, one)
            continue
        if not one or not two:
            gone = old if not one else new
            # The first factor that is 0, or cannot be told, where the term is not there.
            for label, factor in zip(labels, gone):
                if not factor:
                    parts[label] = parts.get(label, 0.0) + two - one
                    break
            continue
        _share_out(parts, labels, old, new, (two - one) / log(two / one))
    found = [Part(label[0], label[1], label[2], amount) for label, amount in parts.items() if amount]
    found.sort(key=lambda part: (-abs(part.amount), part.kind, part.project, part.name))
    return Change(before, after, found)


def _share_out(parts, labels, old, new, weight):
    for label, a, b in zip(labels, old, new):
        if a != b:
            parts[label] = parts.get(label, 0.0) + weight * log(b / a)


def _product(factors):
    out = 1.0
    for factor in factors:
        if not factor:
            return 0.0
        out *= factor
    return out


def shares(works, project):
    """-> {model: share of the calls} in a project."""
    calls = {}
    for work in works:
        if work.project == project:
            for name, model in work.sums.models.items():
                calls[name] = calls.get(name, 0) + model.calls
    total = float(sum(calls.values()))
    return dict((name, count / total) for name, count in calls.items() if total)


def project_shares(works):
    """-> {project: share of the prompts} (of the calls where there are no prompts)."""
    counts, calls = {}, {}
    for work in works:
        counts[work.project] = counts.get(work.project, 0) + work.sums.turns
        calls[work.project] = calls.get(work.project, 0) + work.sums.calls
    if not any(counts.values()):
        counts = calls
    total = float(sum(counts.values()))
    return dict((project, count / total) for project, count in counts.items() if total)


def best_day(works, metric):
    """-> (day at which the metric parts most clearly, chance of as clear a day, True) or (day in the middle, None, False)."""
    measure = measures.BY_KEY[MEASURE[metric]]
    units = []
    for work in works:
        part, whole = measure.part(work.sums), measure.whole(work.sums)
        if whole > 0:
            # One stratum: what projects contribute is to be explained, not left out.
            units.append(shifts.Unit(work.day, '', part, whole, work.session))
    split = shifts.best_split(units, shifts.share_scores(units) if measure.share else shifts.ratio_scores(units)) if units else None
    if split is not None:
        return split.day, split.chance, True
    days = sorted(set(work.day for work in works))
    return (days[len(days) // 2], None, False) if len(days) > 1 else (None, None, False)


def level(works, part):
    """-> the figure a Part is about on one side, as a number, or None: what changed, not what it did."""
    inside = [work.sums for work in works if not part.project or work.project == part.project]
    turns = float(sum(found.turns for found in inside))
    if part.kind == 'calls':
        return sum(found.calls for found in inside) / turns if turns else None
    if part.kind in ('output', 'sent', 'cache', 'price'):
        models = [found.models[part.name] for found in inside if part.name in found.models]
        calls = float(sum(model.calls for model in models))
        output = sum(model.buckets[_OUTPUT] for model in models)
        sent = float(sum(sum(model.buckets) for model in models) - output)
        if part.kind == 'output':
            return output / calls if calls else None
        if part.kind == 'sent':
            return sent / calls if calls else None
        if part.kind == 'cache':
            return sum(model.buckets[BUCKETS.index('cache_read')] for model in models) / sent if sent else None
        return None
    if part.kind == 'errors':
        counts = [found.tools[part.name] for found in inside if part.name in found.tools]
        uses = float(sum(count[0] for count in counts))
        return sum(count[1] for count in counts) / uses if uses else None
    return None
