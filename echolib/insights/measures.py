"""Figures of a tally: the shared keys, rates made of them, and the measures that are followed over time."""
from collections import namedtuple

from .. import analysis

PROMPT_BUCKETS = ('input', 'cache_read', 'cache_write_5m', 'cache_write_1h')

# A tally as numbers. cost: known pico-USD; models: {name: Model}; tools: {name: [calls, errors, declined]}.
Sums = namedtuple('Sums', 'turns calls known_outputs tool_calls tool_errors declined interruptions compactions cost unpriced_calls '
                          'side_cost models tools')
# Of one model; buckets and costs: in the order of analysis.BUCKETS; costs in pico-USD.
Model = namedtuple('Model', 'calls buckets costs unpriced_calls unpriced_tokens')

# part, whole: functions of Sums; shares lie between 0 and 1; bad: 1 when more is worse, -1 when less is, 0 neither;
# needs: what must be known of a unit for it to count: '', 'output' or 'cost' (which needs output too).
Measure = namedtuple('Measure', 'key label part whole share bad needs unit')

_BUCKET = dict((name, place) for place, name in enumerate(analysis.BUCKETS))


def sums(tally):
    """-> Sums of a tally."""
    models, tools, cost, unpriced = {}, {}, 0, 0
    for name, amount in tally.items():
        if name.startswith('m|'):
            model, field = name[2:].rsplit('|', 1)
            have = models.get(model)
            if have is None:
                have = models[model] = [0, [0] * 5, [0] * 5, 0, 0]
            if field == 'calls':
                have[0] = amount
            elif field in _BUCKET:
                have[1][_BUCKET[field]] = amount
            elif field.startswith('cost_'):
                have[2][_BUCKET[field[5:]]] = amount
                cost += amount
            elif field == 'unpriced_calls':
                have[3] = amount
                unpriced += amount
            elif field == 'unpriced_tokens':
                have[4] = amount
        elif name.startswith('t|'):
            tool, field = name[2:].rsplit('|', 1)
            have = tools.setdefault(tool, [0, 0, 0])
            have[('calls', 'errors', 'declined').index(field)] = amount
    get = tally.get
    return Sums(get('user_prompts', 0) + get('slash_commands', 0), get('api_calls', 0), get('output_known_calls', 0), get('tool_calls', 0),
                get('tool_errors', 0), get('declined', 0), get('interruptions', 0), get('compactions', 0), cost, unpriced,
                get('side_cost', 0), dict((k, Model(*v)) for k, v in models.items()), tools)


def bucket(found, *names):
    """-> tokens of these buckets in Sums."""
    return sum(model.buckets[_BUCKET[name]] for model in found.models.values() for name in names)


def bucket_cost(found, *names):
    """-> pico-USD of these buckets in Sums."""
    return sum(model.costs[_BUCKET[name]] for model in found.models.values() for name in names)


def prompt_tokens(found):
    """-> tokens sent, in Sums."""
    return bucket(found, *PROMPT_BUCKETS)


def output_tokens(found):
    """-> tokens written by models, in Sums."""
    return bucket(found, 'output')


def _missed(found):
    return prompt_tokens(found) - bucket(found, 'cache_read')


def _turns(found):
    return found.turns


def _calls(found):
    return found.calls


MEASURES = (
    Measure('cost_per_prompt', 'cost per prompt', lambda s: s.cost / 1e12, _turns, False, 1, 'cost', 'usd'),
    Measure('cost_per_call', 'cost per API call', lambda s: s.cost / 1e12, _calls, False, 1, 'cost', 'usd'),
    Measure('output_per_prompt', 'output tokens per prompt', output_tokens, _turns, False, 1, 'output', 'tokens'),
    Measure('calls_per_prompt', 'API calls per prompt', _calls, _turns, False, 1, '', 'number'),
    Measure('context_per_call', 'tokens sent per API call', prompt_tokens, _calls, False, 1, '', 'tokens'),
    Measure('cache_miss', 'share of sent tokens not read from the cache', _missed, prompt_tokens, True, 1, '', 'share'),
    Measure('tool_errors', 'tool calls that fail', lambda s: s.tool_errors, lambda s: s.tool_calls, True, 1, '', 'share'),
    Measure('declined', 'tool calls refused by the person', lambda s: s.declined, lambda s: s.tool_calls, True, 1, '', 'share'),
    Measure('interruptions', 'prompts interrupted by the person', lambda s: s.interruptions, _turns, True, 1, '', 'share'),
)
BY_KEY = dict((measure.key, measure) for measure in MEASURES)


def known_enough(found, needs):
    """True when a unit's output (and price) is known well enough to be compared with another's."""
    if needs == 'cost' and found.unpriced_calls:
        return False
    return not needs or found.known_outputs >= 0.9 * found.calls


def figures(tally):
    """-> dict of the shared keys of a tally, with total_tokens and what is worked out of them."""
    out = analysis.shared_keys(tally)
    tokens, turns = out['tokens'], out['turns']
    out['total_tokens'] = sum(tokens.values())
    out['tool_error_rate'] = ratio(out['tool_errors'], out['tool_calls'])
    out['cost_per_prompt_usd'] = None if out['cost_usd'] is None else ratio(out['cost_usd'], turns)
    out['output_per_prompt'] = ratio(tokens['output'], turns)
    out['calls_per_prompt'] = ratio(out['api_calls'], turns)
    return out


def ratio(part, whole):
    """-> part / whole, None without a whole."""
    return part / float(whole) if whole else None
