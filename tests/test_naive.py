"""Against a second reader, written without anything of ours: what the usual usage tools do with the same files.

Per day and model, the last line of each (message.id, requestId) counts, over all files of a home. Where ours is another
figure the difference is explained.
"""
import json
import os
import shutil

import pytest

from helpers import call_script, shared
from large import large_home

pytestmark = pytest.mark.slow

# Whether copies in it lack their request id.
CORPORA = {'claude-1.0.128': True, 'claude-2.0.77': False, 'claude-2.1.332': False}


def records(home):
    """Yield (place, record) of every assistant's line with usage in a home's Claude Code transcripts."""
    for where, _, names in sorted(os.walk(os.path.join(home, '.claude', 'projects'))):
        for name in sorted(names):
            if not name.endswith('.jsonl'):
                continue
            with open(os.path.join(where, name), 'rb') as handle:
                for number, raw in enumerate(handle):
                    try:
                        record = json.loads(raw.decode('utf-8'))
                    except ValueError:
                        # Damaged lines tell nobody anything.
                        continue
                    message = record.get('message') if isinstance(record, dict) else None
                    if isinstance(message, dict) and record.get('type') == 'assistant' and isinstance(message.get('usage'), dict):
                        if message.get('model') != '<synthetic>':
                            yield (where, name, number), record


def naive(found):
    """-> {(day, model): [input, output, cache write, cache read]}, the last line of each key counted."""
    out = {}
    for record in found.values():
        usage = record['message']['usage']
        sums = out.setdefault((record['timestamp'][:10], record['message'].get('model')), [0] * 4)
        for at, field in enumerate(('input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens')):
            sums[at] += usage.get(field) or 0
    return dict((key, sums) for key, sums in out.items() if any(sums))


def ours(home):
    """-> the same of `usage --by day`."""
    rows = call_script('trend-engine', 'usage', '--by', 'day', '--tz', 'UTC', '--agent', 'claude', '--format', 'json', home=home).json()['rows']
    out = {}
    for row in rows:
        for model, keys in row['models'].items():
            tokens = keys['tokens']
            out[row['key'], model] = [tokens['input'], tokens['output'], tokens['cache_write_5m'] + tokens['cache_write_1h'], tokens['cache_read']]
    return dict((key, sums) for key, sums in out.items() if any(sums))


def output_of(record):
    return record['message']['usage'].get('output_tokens') or 0


def held_together(home):
    """Ours against theirs, and what keeps them apart explained: -> tokens (ours, counted again by them, cut short by them)."""
    by_pair, largest = {}, {}
    for place, record in records(home):
        ident, request = record['message'].get('id'), record.get('requestId')
        by_pair[(ident, request) if ident and request else place] = record
        have = largest.get(ident or place)
        largest[ident or place] = record if have is None or output_of(record) >= output_of(have) else have
    counted, theirs = ours(home), naive(by_pair)
    assert counted == naive(largest)
    # What they count of a response beside its largest line: each line without a request id (gateways give none, a resume of
    # 1.0 drops it in copies) and each further request id is a call to whoever goes by the pair.
    again, short, seen = {}, 0, set()
    for key, record in sorted(by_pair.items(), key=lambda item: len(item[0])):
        ident = record['message'].get('id')
        if ident and ident in seen:
            again[key] = record
        elif ident:
            seen.add(ident)
            # A copy that was made while a response was written holds an earlier line of it, and may be read last.
            short += output_of(largest[ident]) - output_of(record)
    assert sum(map(sum, theirs.values())) == sum(map(sum, counted.values())) + sum(map(sum, naive(again).values())) - short
    days = set((record['timestamp'][:10], record['message'].get('model')) for record in again.values())
    assert all(theirs[key][:1] + theirs[key][2:] == counted[key][:1] + counted[key][2:] for key in set(theirs) - days)
    return [sum(map(sum, counted.values())), sum(map(sum, naive(again).values())), short]


@pytest.mark.parametrize('corpus', sorted(CORPORA))
def test_corpora_give_the_totals_of_other_tools(corpus, tmp_path):
    home = str(tmp_path / 'home')
    shutil.copytree(shared('corpus', corpus, 'home', 'dev'), home, symlinks=True)
    total, again, short = held_together(home)
    assert total > 100000 and (again > 0) == CORPORA[corpus] and short == 0


def test_a_generated_home_gives_the_totals_of_other_tools():
    total, again, short = held_together(large_home())
    assert total > 1000000 and 0 <= short < total / 1000 and again < total / 20
