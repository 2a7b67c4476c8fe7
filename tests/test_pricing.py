"""Prices: names, dates, peak hours, tiers, multipliers, the user's sheet, exact sums.

Rates in comments are USD per million tokens, so tokens x rate = millionths of a dollar; 1 USD = 10**12 picodollars.
"""
import calendar
import datetime
import hashlib
import json
import os
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction

import pytest

from echolib import pricing
from echolib.pricing_names import Names, fold

MICRO = 10**6       # picodollars in a millionth of a dollar
DATA = os.path.join(os.path.dirname(pricing.__file__), 'data', 'prices.json')
ROOT = os.path.dirname(os.path.dirname(pricing.__file__))
TABLE = pricing.load()


def ms(text):
    """'2026-03-13' or '2026-03-13 01:00:00.000' (UTC) as milliseconds."""
    text, _, part = text.partition('.')
    parsed = time.strptime(text if ' ' in text else text + ' 00:00:00', '%Y-%m-%d %H:%M:%S')
    return calendar.timegm(parsed) * 1000 + int(part or 0)


def micros(model, when, tokens, table=TABLE, **words):
    """The call's cost in millionths of a dollar as a Fraction, or None."""
    cost = table.cost(model, when if when is None else ms(when), *tokens, **words)
    return None if cost is None else Fraction(cost.total, MICRO)


def sheet(folder, models):
    """A table with `models` (or raw text, or bytes) as the user's pricing.json."""
    raw = models if isinstance(models, (str, bytes)) else json.dumps({'models': models})
    with open(os.path.join(str(folder), 'pricing.json'), 'wb') as file:
        file.write(raw if isinstance(raw, bytes) else raw.encode('utf-8'))
    return pricing.load(folder)


NAMES = {
    # the table of the price notes
    'claude-sonnet-4-5-20250929[1m]': 'claude-sonnet-4-5',
    'anthropic:claude-sonnet-4-5': 'claude-sonnet-4-5',
    'anthropic--claude-4.5-sonnet': 'claude-sonnet-4-5',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0': 'claude-sonnet-4-5',
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0':
        'claude-haiku-4-5',
    'claude-3-5-sonnet-v2@20241022': 'claude-3-5-sonnet-20241022',
    'claude-opus-5-thinking-xhigh': 'claude-opus-5',
    'openrouter/anthropic/claude-sonnet-5:thinking': 'claude-sonnet-5',
    'gpt-5.3-codex-xhigh': 'gpt-5.3-codex',
    'gpt-5.6': 'gpt-5.6-sol',
    'x-ai/grok-4.7': 'grok-4.7',
    'kimi-code/k3': 'kimi-k3',
    'deepseek/deepseek-v4.1-flash': 'deepseek-flash',
    'claude-opus-5-6': None,
    'kimi-for-coding': None,
    # its rules, one by one
    'CLAUDE_Opus-4.6': 'claude-opus-4-6',
    'minimax-m2.5': 'MiniMax-M2.5',
    'gpt-5.1-codex (high)': 'gpt-5.1-codex',
    'models/gemini-2.5-pro': 'gemini-2.5-pro',
    'moonshotai/kimi-k2.6': 'kimi-k2.6',
    'z-ai/glm-5.3': 'glm-5.3',
    'jp.anthropic.claude-sonnet-4-6': 'claude-sonnet-4-6',
    'us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0': 'claude-sonnet-4-5',
    'global.anthropic.claude-opus-4-6-v1': 'claude-opus-4-6',
    'us.deepseek.v3.2': 'deepseek-v3.2',
    'databricks-claude-sonnet-4': 'claude-sonnet-4',
    'deepseek-ai/deepseek-v3.2-maas': 'deepseek-v3.2',
    'claude-sonnet-4-5@20250929': 'claude-sonnet-4-5',
    'claude-opus-5@default': 'claude-opus-5',
    'claude-3-5-sonnet@20240620': 'claude-3-5-sonnet-20240620',
    'z-ai/glm-4.6:nitro': 'glm-4.6',
    'claude-4.5-opus': 'claude-opus-4-5',
    'claude-5.5-haiku': 'claude-haiku-5-5',
    'anthropic/claude-4.6-opus-20260205': 'claude-opus-4-6',
    'claude-5-sonnet-20260601': 'claude-sonnet-5',
    'claude-opus-4-8-20260601': 'claude-opus-4-8',
    'gpt-5.5-pro-2026-04-23': 'gpt-5.5-pro',
    'gemini-2.5-flash-latest': 'gemini-2.5-flash',
    'o3-mini-high': 'o3-mini',
    'claude-3.7-sonnet-thinking': 'claude-3-7-sonnet-20250219',
    'claude-4.5-opus-high-thinking': 'claude-opus-4-5',
    'claude-opus-5-20260801-thinking': 'claude-opus-5',
    # names of their own, not a model with an effort or a date
    'kimi-k2-thinking': 'kimi-k2-thinking',
    'kimi-k2-thinking-high': 'kimi-k2-thinking',
    'gpt-5.1-codex-max': 'gpt-5.1-codex-max',
    'gpt-5.1-codex-max-xhigh': 'gpt-5.1-codex-max',
    'qwen3-max': 'qwen3-max',
    'gpt-4o-2024-05-13': 'gpt-4o-2024-05-13',
    'gpt-4o-2024-08-06': 'gpt-4o',
    'gpt-5-chat-latest': 'gpt-5-chat-latest',
    # unknown rather than nearly right
    'gpt-5.5-codex': None,
    'glm-4.5:free': None,
    '<synthetic>': None,
    'kimi-k2-turbo-preview': None,
    'claude': None,
    'claude-opus': None,
    'grok-4-v2': None,
    'deepseek.v3-v1:0': None,       # Bedrock's name of V3.1
    'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123': None,
    'acme-secret-7b': None,
    '': None,
    ' ': None,
    '/': None,
    'claude-opus-5' + '-high' * 200: None,
}


@pytest.mark.parametrize('name', sorted(NAMES))
def test_a_logged_name_is_one_model_or_unknown(name):
    assert TABLE.canonical(name) == NAMES[name]


def test_what_is_no_name_is_unknown():
    assert TABLE.canonical(None) is None
    assert TABLE.canonical(5) is None
    assert TABLE.context_window(None) is None


def test_every_name_of_the_file_is_found_under_its_model():
    with open(DATA, encoding='utf-8') as file:
        models = json.load(file)['models']
    owner = {}
    for model_id, entry in models.items():
        for name in [model_id] + entry.get('aliases', []):
            assert owner.setdefault(fold(name), model_id) == model_id, name
            assert TABLE.canonical(name) == model_id
            assert TABLE.canonical('openrouter/x/' + name.upper().replace('-', '_')) == model_id
        target = entry.get('redirect', {}).get('to', model_id)
        assert target in models


def test_a_moving_name_is_known_from_its_date_on():
    # "gemini-flash-latest" is gemini-3.8-flash as of 2026-11-20: 1000 x 0.75.
    assert TABLE.canonical('models/gemini-flash-latest') == 'gemini-3.8-flash'
    assert TABLE.canonical('gemini-flash-latest', ms('2026-11-20')) == 'gemini-3.8-flash'
    assert micros('gemini-flash-latest', None, (1000, 0, 0, 0, 0)) == 750
    assert micros('gemini-flash-latest', '2026-11-20', (1000, 0, 0, 0, 0)) == 750
    assert micros('gemini-flash-latest', '2026-11-19 23:59:59.999', (1000, 0, 0, 0, 0)) is None
    assert TABLE.canonical('gemini-flash-latest', ms('2026-11-19')) is None


# name -> (model, when, (input, output, cache_read, write_5m, write_1h), words, millionths of a dollar)
COSTS = {
    # 10 x 5 + 500 x 25 + 90000 x 0.5 + 300 x 6.25 + 20 x 10 = 50 + 12500 + 45000 + 1875 + 200
    'five buckets': ('claude-opus-5', '2026-08-01', (10, 500, 90000, 300, 20), {}, 59625),
    'no tokens': ('claude-opus-5', '2026-08-01', (0, 0, 0, 0, 0), {}, 0),
    'no tokens of an unknown model': ('<synthetic>', '2026-08-01', (0, 0, 0, 0, 0), {}, 0),
    'no tokens of no model': (None, None, (0, 0, 0, 0, 0), {}, 0),
    'unknown model': ('acme-secret-7b', '2026-08-01', (1, 0, 0, 0, 0), {}, None),
    'unknown model, only a cache write': ('acme-secret-7b', None, (0, 0, 0, 0, 1), {}, None),
    'no model': (None, '2026-08-01', (0, 1, 0, 0, 0), {}, None),
    # no published discount: o3-pro reads and writes at 20; 1000 x 20 + 10 x 80 + (2000 + 30 + 40) x 20
    'no cache rates': ('o3-pro', '2026-08-01', (1000, 10, 2000, 30, 40), {}, 62200),
    # gpt-6.1-sol has a 5-minute write rate only: 100 x 2.5 + 100 x 2
    'no rate for one-hour writes': ('gpt-6.1-sol', '2026-11-01', (0, 0, 0, 100, 100), {}, 450),

    # sonnet 4.5, over 200k: 150000 in + 50000 read stay at 3 and 0.3: 450000 + 15000 + 100 x 15
    'tier: exactly at it': ('claude-sonnet-4-5', '2026-02-01', (150000, 100, 50000, 0, 0), {}, 466500),
    # one more: 150001 x 6 + 50000 x 0.6 + 100 x 22.5 = 900006 + 30000 + 2250
    'tier: one above': ('claude-sonnet-4-5', '2026-02-01', (150001, 100, 50000, 0, 0), {}, 932256),
    # writes count as prompt: 100000 x 0.6 + 100000 x 7.5 + 1 x 12
    'tier: by cache writes': ('claude-sonnet-4-5', '2026-02-01', (0, 0, 100000, 100000, 1), {}, 810012),
    # output does not: 200000 x 3 + 64000 x 15
    'tier: not by output': ('claude-sonnet-4-5', '2026-02-01', (200000, 64000, 0, 0, 0), {}, 1560000),
    # haiku 5.5, over 100k: 100000 x 0.1 against 100001 x 0.5
    'tier of 100k: at': ('claude-haiku-5-5', '2026-11-01', (100000, 0, 0, 0, 0), {}, 10000),
    'tier of 100k: above': ('claude-haiku-5-5', '2026-11-01', (100001, 0, 0, 0, 0), {}, Fraction(100001, 2)),
    # gpt-5.5, over 272k: 272000 x 5; 272001 x 10 + 10 x 45
    'tier of 272k: at': ('gpt-5.5', '2026-06-01', (272000, 0, 0, 0, 0), {}, 1360000),
    'tier of 272k: above': ('gpt-5.5', '2026-06-01', (272001, 10, 0, 0, 0), {}, 2720460),
    # grok 4.7, from 200000 on: 199999 x 2; 200000 x 4 + 10 x 12
    'inclusive tier: below': ('grok-4.7', '2026-10-01', (199999, 0, 0, 0, 0), {}, 399998),
    'inclusive tier: exactly at it': ('grok-4.7', '2026-10-01', (200000, 10, 0, 0, 0), {}, 800120),
    # qwen3-coder-plus 1 / 1.8 / 3 / 6, output 5 / 9 / 15 / 60: the highest step reached
    'steps: first': ('qwen3-coder-plus', '2026-06-01', (32000, 10, 0, 0, 0), {}, 32050),
    'steps: second': ('qwen3-coder-plus', '2026-06-01', (40000, 10, 0, 0, 0), {}, 72090),
    'steps: third': ('qwen3-coder-plus', '2026-06-01', (128001, 10, 0, 0, 0), {}, 384153),
    'steps: fourth': ('qwen3-coder-plus', '2026-06-01', (256001, 10, 0, 0, 0), {}, 1536606),
    # a write has no rate of its own in the tier either: 40000 x 1.8 + 1000 x 1.8
    'steps: a write at the input rate of its step':
        ('qwen3-coder-plus', '2026-06-01', (40000, 0, 0, 1000, 0), {}, 73800),

    # opus 4.6 had a tier until 2026-03-13: 200001 x 10, then x 5
    'history: its last moment': ('claude-opus-4-6', '2026-03-12 23:59:59.999', (200001, 0, 0, 0, 0), {}, 2000010),
    'history: until is exclusive': ('claude-opus-4-6', '2026-03-13', (200001, 0, 0, 0, 0), {}, 1000005),
    # sonnet 5.5 cache read 0.2 before 2026-10-07, 0.1 since
    'history: one rate': ('claude-sonnet-5-5', '2026-10-06', (0, 0, 1000, 0, 0), {}, 200),
    'history: the new rate': ('claude-sonnet-5-5', '2026-10-07', (0, 0, 1000, 0, 0), {}, 100),
    # a history set is whole: o3 had no cache rate before 2025-06-10: 1000 x 10
    'history: nothing from the plain fields': ('o3', '2025-06-09', (0, 0, 1000, 0, 0), {}, 10000),
    'history: o3 since': ('o3', '2025-06-10', (0, 0, 1000, 0, 0), {}, 500),
    # mistral-large-4: 0.68, then 1.36 from 2026-10-20, then 0.7 from 2026-10-29
    'history: first of two': ('mistral-large-4', '2026-10-19', (1000, 0, 0, 0, 0), {}, 680),
    'history: second of two': ('mistral-large-4', '2026-10-20', (1000, 0, 0, 0, 0), {}, 1360),
    'history: its last day': ('mistral-large-4', '2026-10-28 23:59:59.999', (1000, 0, 0, 0, 0), {}, 1360),
    'history: over': ('mistral-large-4', '2026-10-29', (1000, 0, 0, 0, 0), {}, 700),
    # grok 4.20 before 2026-04-30: 2 and 4 from 200000 on
    'history: with a tier of its own': ('grok-4.20', '2026-04-29', (200000, 0, 0, 0, 0), {}, 800000),
    'history: no time is now': ('grok-4.20', None, (200000, 0, 0, 0, 0), {}, 500000),

    # gemini-4-argon 2 -> 4 on 2026-12-01
    'scheduled: before': ('gemini-4-argon', '2026-11-30 23:59:59.999', (1000, 0, 0, 0, 0), {}, 2000),
    'scheduled: from': ('gemini-4-argon', '2026-12-01', (1000, 0, 0, 0, 0), {}, 4000),
    'scheduled: no time is the plain rate': ('gemini-4-argon', None, (1000, 0, 0, 0, 0), {}, 2000),
    # carbon's new set has no cache rate: 1000 x 4
    'scheduled: whole set': ('gemini-4-carbon', '2027-05-01', (0, 0, 1000, 0, 0), {}, 4000),

    # deepseek-flash 0.15 / 0.003, at 01-04 and 06-10 UTC on weekdays 0.3 / 0.006; 2026-11-23 was a Monday
    'peak: before': ('deepseek-flash', '2026-11-23 00:59:59.999', (1000, 0, 1000, 0, 0), {}, 153),
    'peak: first moment': ('deepseek-flash', '2026-11-23 01:00:00', (1000, 0, 1000, 0, 0), {}, 306),
    'peak: last moment': ('deepseek-flash', '2026-11-23 03:59:59.999', (1000, 0, 1000, 0, 0), {}, 306),
    'peak: end is exclusive': ('deepseek-flash', '2026-11-23 04:00:00', (1000, 0, 1000, 0, 0), {}, 153),
    'peak: second window': ('deepseek-flash', '2026-11-27 09:59:59.999', (1000, 0, 1000, 0, 0), {}, 306),
    'peak: after it': ('deepseek-flash', '2026-11-27 10:00:00', (1000, 0, 1000, 0, 0), {}, 153),
    'peak: not on Saturday': ('deepseek-flash', '2026-11-28 02:00:00', (1000, 0, 1000, 0, 0), {}, 153),
    'peak: not on Sunday': ('deepseek-flash', '2026-11-29 02:00:00', (1000, 0, 1000, 0, 0), {}, 153),
    'peak: no time is off-peak': ('deepseek-flash', None, (1000, 0, 1000, 0, 0), {}, 153),
    'peak: a write at the input rate of the hour':
        ('deepseek-flash', '2026-11-23 02:00:00', (0, 0, 0, 1000, 0), {}, 300),
    # the older sets are full sets without a peak: 2026-09-07 was a Monday, 1000 x 0.22
    'peak: not in history': ('deepseek-v4-flash', '2026-09-07 02:00:00', (1000, 0, 0, 0, 0), {}, 220),
    'history: a rate of six decimals': ('deepseek-v4-pro', '2026-08-16', (0, 0, 1, 0, 0), {}, Fraction(3625, MICRO)),

    # grok-code-fast-1 0.2 / 1.5; from 2026-05-15 served as grok-build-0.1: 1 / 2, doubled from 200000 on
    'redirect: before': ('grok-code-fast-1', '2026-05-14 23:59:59.999', (1000, 10, 0, 0, 0), {}, 215),
    'redirect: from': ('x-ai/grok-code-fast', '2026-05-15', (1000, 10, 0, 0, 0), {}, 1020),
    'redirect: with the tier of the target': ('grok-code-fast-1', '2026-05-15', (200000, 0, 0, 0, 0), {}, 400000),
    'redirect: no time is the plain rate': ('grok-code-fast-1', None, (1000, 10, 0, 0, 0), {}, 215),

    # opus 4.6 fast: (10 x 5 + 100 x 25 + 1000 x 0.5) x 6 = 3050 x 6
    'fast': ('claude-opus-4-6', '2026-04-01', (10, 100, 1000, 0, 0), {'speed': 'fast'}, 18300),
    # the same in the US: x 1.1
    'fast and us': ('claude-opus-4-6', '2026-04-01', (10, 100, 1000, 0, 0), {'speed': 'fast', 'geo': 'us'}, 20130),
    'us': ('claude-opus-4-6', '2026-04-01', (10, 100, 1000, 0, 0), {'geo': 'us'}, 3355),
    # in an old set, above its tier: 200001 x 10 x 6
    'fast, tier, history': ('claude-opus-4-6', '2026-03-01', (200001, 0, 0, 0, 0), {'speed': 'fast'}, 12000060),
    'standard words': ('claude-opus-4-6', '2026-04-01', (10, 100, 1000, 0, 0),
                       {'speed': 'standard', 'geo': 'not_available', 'tier': 'standard'}, 3050),
    'fast where there is none':
        ('claude-sonnet-4-5', '2026-02-01', (1000, 0, 0, 0, 0), {'speed': 'fast', 'geo': 'us'}, 3000),
    # Bedrock's regions: x 1.1 for 4.5 and later
    'region': ('us.anthropic.claude-sonnet-4-5-20250929-v1:0', '2026-02-01', (1000, 0, 0, 0, 0), {}, 3300),
    'region in an ARN': ('arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0',
                         '2026-02-01', (1000, 0, 0, 0, 0), {}, 1100),
    'region, above the tier': ('jp.anthropic.claude-sonnet-4-5-20250929-v1:0', '2026-02-01', (200001, 0, 0, 0, 0), {}, Fraction(13200066, 10)),
    'region that costs no more': ('global.anthropic.claude-opus-4-6-v1', '2026-04-01', (1000, 0, 0, 0, 0), {}, 5000),
    'no region': ('anthropic.claude-opus-4-6-v1', '2026-04-01', (1000, 0, 0, 0, 0), {}, 5000),
    'region, before 4.5': ('us.anthropic.claude-sonnet-4-20250514-v1:0', '2026-02-01', (1000, 0, 0, 0, 0), {}, 3000),
    'region of another maker': ('us.deepseek.v3.2', '2026-06-01', (1000, 0, 0, 0, 0), {}, 280),
    'region twice said is one surcharge': ('us.anthropic.claude-opus-4-6-v1', '2026-04-01', (1000, 0, 0, 0, 0), {'geo': 'us'}, 5500),
    # gpt-5.5: 1000 x 5 x 2.5
    'priority': ('gpt-5.5', '2026-06-01', (1000, 0, 0, 0, 0), {'tier': 'priority'}, 12500),
    # above the tier: 272001 x 10 x 2.5
    'priority and tier': ('gpt-5.5', '2026-06-01', (272001, 0, 0, 0, 0), {'tier': 'priority'}, 6800025),
    # 1 x 0.15 x 1.667
    'priority, odd factor':
        ('gpt-4o-mini', '2026-06-01', (1, 0, 0, 0, 0), {'tier': 'priority'}, Fraction(250050, MICRO)),
}


@pytest.mark.parametrize('case', sorted(COSTS))
def test_cost_of_one_call(case):
    model, when, tokens, words, expected = COSTS[case]
    assert micros(model, when, tokens, **words) == expected
    # Once more, from memory.
    assert micros(model, when, tokens, **words) == expected


def test_the_buckets_of_a_cost_are_whole_picodollars():
    # gpt-5.5 cached input: 3 x 0.5 millionths = 1.5 millionths = 1500000 picodollars
    cost = TABLE.cost('gpt-5.5', None, 1, 2, 3, 0, 0)
    assert cost == pricing.Cost(input=5000000, output=60000000, cache_read=1500000, cache_write_5m=0, cache_write_1h=0)
    assert all(type(part) is int for part in cost)
    assert cost.total == 66500000


def oracle(models, name, when, tokens):
    """The notes' order of one call, written a second time with decimals and datetime; no multipliers, no names."""
    entry, at = models[name], datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=when)
    day = at.strftime('%Y-%m-%d')
    if day >= entry.get('redirect', {'from': '9'})['from']:
        entry = models[entry['redirect']['to']]
    rates = entry
    for old in entry.get('history', []):
        if old.get('from', '') <= day < old['until']:
            rates = old
    for new in entry.get('scheduled', []):
        if new['from'] <= day:
            rates = new
    prompt = sum(tokens) - tokens[1]
    tiers = [(int(key[6:-1]), rates[key]) for key in rates if key.startswith('above_')]
    if 'peak' in rates and at.weekday() < 5:
        for start, end in rates['peak']['utc']:
            if start <= at.strftime('%H:%M') < end:
                rates = rates['peak']
    for limit, tier in sorted(tiers, key=lambda row: row[0]):
        if prompt > limit * 1000 or prompt == limit * 1000 and tier.get('inclusive'):
            rates = tier
    return sum(count * rates.get(bucket, rates['input']) for count, bucket in zip(tokens, pricing.BUCKETS))


def test_every_model_and_every_edge_agrees_with_the_notes():
    with open(DATA, encoding='utf-8') as file:
        models = json.load(file, parse_float=Decimal)['models']
    compared = 0
    for name, entry in models.items():
        sets = [entry] + entry.get('history', []) + entry.get('scheduled', [])
        dates = set(['2026-11-30', '2026-11-29'])
        dates.update(one[key] for one in sets + [entry.get('redirect', {})] for key in ('from', 'until') if key in one)
        hours = [0] + [int(hour[:2]) for window in entry.get('peak', {}).get('utc', []) for hour in window]
        whens = [ms(date) + hour * 3600000 - before for date in dates for hour in hours for before in (0, 1)]
        limits = set(int(key[6:-1]) * 1000 for one in sets for key in one if key.startswith('above_'))
        for when in whens:
            for prompt in [4] + [limit + more for limit in limits for more in (-1, 0, 1)]:
                tokens = (prompt - 4 + 1, 7, 1, 1, 1)
                assert TABLE.cost(name, when, *tokens).total == oracle(models, name, when, tokens) * MICRO, (name, when)
                compared += 1
    assert compared > 1000


def test_sums_do_not_depend_on_the_order():
    costs = [TABLE.cost('claude-fable-5-2', None, n, n % 7, n * 3, n % 11, n % 5).total for n in range(1, 3000)]
    assert sum(costs) == sum(reversed(costs)) == sum(sum(costs[i::7]) for i in range(7))


def test_context_windows():
    assert TABLE.context_window('claude-sonnet-4-5-20250929[1m]') == 200000
    assert TABLE.context_window('gpt-5.5') == 1050000
    assert TABLE.context_window('gpt-5.5-codex') is None


FOUR = {'input': 1, 'output': 2, 'cache_read': 0.5, 'cache_write_5m': 4}
ZEROS = dict.fromkeys(pricing.BUCKETS, 0.0)

# The sheets of the shared cases, as their checker writes them: name -> (model, sheet, calls, USD)
SHEETS = {
    # 200 x 2 + 800 x 0.2 + 300 x 8 = 400 + 160 + 2400
    'R022': ('gpt-5.1-codex', {'input': 2.0, 'cache_read': 0.2, 'output': 8.0}, [(200, 300, 800, 0, 0)], 0.00296),
    # 200000 x 6 + 100000 x 3.75
    'R023': ('claude-sonnet-4-5-20250929', {'input': 3.0, 'cache_write_5m': 3.75, 'cache_write_1h': 6.0},
             [(0, 0, 0, 100000, 200000)], 1.575),
    # 10000 x 6 + 200000 x 0.6 + 1000 x 22.5 = 202500; 10000 x 3 + 140000 x 0.3 + 1000 x 15 = 87000
    'R024': ('claude-sonnet-4-5-20250929',
             {'input': 3.0, 'output': 15.0, 'cache_read': 0.3,
              'above_200k': {'input': 6.0, 'output': 22.5, 'cache_read': 0.6}},
             [(10000, 1000, 200000, 0, 0), (10000, 1000, 140000, 0, 0)], 0.2895),
    # Flat, so no long-context rates: 1000000 x 3. By the built-in table the same call costs 6.00 (see below).
    'R027': ('claude-sonnet-4-5-20250929', {'input': 3.0}, [(1000000, 0, 0, 0, 0)], 3.0),
    'R031': ('kimi-k3', {'input': 3.0, 'output': 15.0, 'cache_read': 0.3}, [(1000000, 0, 0, 0, 0)], 3.0),
}


@pytest.mark.parametrize('case', sorted(SHEETS))
def test_the_sheets_of_the_cases(case, tmp_path):
    model, rates, calls, dollars = SHEETS[case]
    table = sheet(tmp_path, {model: dict(ZEROS, **rates)})
    assert table.problem is None
    total = sum(table.cost(model, ms('2026-03-02'), *call).total for call in calls)
    assert pricing.usd(total) == dollars


def test_a_long_prompt_shows_by_itself_that_the_long_context_was_on():
    # 4.5 took more than 200,000 tokens only with the beta of 1M, whose calls are priced as a whole at the rates above.
    for name in ('claude-sonnet-4-5-20250929', 'claude-sonnet-4-5-20250929[1m]'):
        assert micros(name, '2026-03-02', (1000000, 0, 0, 0, 0)) == 6000000
        # And with it on, a short prompt costs what it costs without.
        assert micros(name, '2026-03-02', (200000, 0, 0, 0, 0)) == 600000


def test_a_sheet_prices_every_spelling_of_its_model(tmp_path):
    table = sheet(tmp_path, {'claude-opus-4-6-20260205': FOUR})
    for name in ('claude-opus-4-6', 'anthropic/claude-4.6-opus-20260205', 'claude-opus-4-6-20260205',
                 'claude-opus-4-6[1m]'):
        assert table.canonical(name) == 'claude-opus-4-6'
        assert micros(name, '2026-04-01', (1000, 0, 0, 0, 0), table) == 1000
    # The replacement is whole: no fast multiplier, tier or history is left; the window is no price.
    assert micros('claude-opus-4-6', '2026-03-01', (300000, 0, 0, 0, 0), table, speed='fast') == 300000
    assert table.context_window('claude-opus-4-6') == 1000000
    assert micros('claude-opus-4-7', '2026-04-01', (1000, 0, 0, 0, 0), table) == 5000
    assert micros('claude-opus-4-6', '2026-04-01', (1000, 0, 0, 0, 0)) == 5000


def test_a_name_written_out_has_its_own_sheet(tmp_path):
    regional = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
    table = sheet(tmp_path, {regional: dict(FOUR, input=3.3), 'claude-sonnet-4-5': dict(FOUR, input=2),
                             'claude-4.5-sonnet': dict(FOUR, input=7), 'acme/house-model': FOUR})
    assert table.problem is None
    assert [micros(name, None, (10, 0, 0, 0, 0), table) for name in (
        regional, 'bedrock/' + regional, 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
        'claude-sonnet-4-5-20250929', 'claude-4.5-sonnet', 'acme/house-model', 'house-model')] == [
            33, 33, 20, 20, 70, 10, None]
    assert table.canonical(regional) == table.canonical('claude-4.5-sonnet') == 'claude-sonnet-4-5'
    assert table.canonical('ACME/house.model') == 'acme/house-model'
    table = sheet(tmp_path, {'grok-4': dict(FOUR, input=2), 'grok-4-latest': dict(FOUR, input=7)})
    assert micros('grok-4-0709', None, (10, 0, 0, 0, 0), table) == 20


def test_a_sheet_may_use_every_field(tmp_path):
    table = sheet(tmp_path, {
        'acme-1': dict(FOUR, aliases=['acme-one'], context_window=5000, us_multiplier=1.1, fast_multiplier=1.0000005,
                       above_1k={'input': 10}, scheduled=[{'from': '2026-02-01', 'input': 3, 'output': 3},
                                                          {'from': '2026-03-01', 'input': 4, 'output': 4}],
                       peak={'utc': [['22:00', '24:00']], 'days': 'sun', 'input': 5}),
        'acme-0': dict(FOUR, redirect={'from': '2026-01-05', 'to': 'acme-1'}),
        'loop-a': dict(FOUR, redirect={'from': '2026-01-05', 'to': 'loop-b'}),
        'loop-b': dict(FOUR, redirect={'from': '2026-01-05', 'to': 'loop-a'}),
        'gemini-flash-latest': FOUR})
    assert table.problem is None
    assert table.context_window('x/acme-one') == 5000
    # What a tier does not state stays: 1001 x 10, reads 0.5, writes 4, the missing 1h rate is the tier's input.
    assert micros('acme-1', None, (1001, 1, 10, 10, 10), table) == 10010 + 2 + 5 + 40 + 100
    assert micros('acme-1', '2026-02-28', (0, 0, 1000, 0, 0), table) == 3000
    assert micros('acme-1', '2026-03-01', (0, 0, 1000, 0, 0), table) == 4000
    # 2026-01-04 was a Sunday; in peak hours the tier still decides.
    assert micros('acme-1', '2026-01-04 21:59:59', (10, 0, 0, 0, 0), table) == 10
    assert micros('acme-1', '2026-01-04 23:59:59', (10, 0, 10, 0, 0), table) == 55
    assert micros('acme-1', '2026-01-04 23:59:59', (1001, 0, 0, 0, 0), table) == 10010
    assert micros('acme-0', '2026-01-04', (2000, 0, 0, 0, 0), table) == 2000
    assert micros('acme-0', '2026-01-05', (2000, 0, 0, 0, 0), table) == 20000
    assert micros('loop-a', '2026-01-05', (2000, 0, 0, 0, 0), table) is None
    assert micros('gemini-flash-latest', '2020-01-01', (10, 0, 0, 0, 0), table) == 10
    assert table.canonical('gemini-flash-latest') == 'gemini-flash-latest'


def test_rounding_comes_last(tmp_path):
    table = sheet(tmp_path, {'tiny': {'input': 0.000001, 'output': 0.000005, 'us_multiplier': 1.1},
                             'sharp': {'input': 0.1234564, 'output': 1}})
    # 1 picodollar a token: 4 x 1.1 = 4.4 -> 4, 5 x 1.1 = 5.5 -> 6, 1000 x 1.1 = 1100; 1 x 5 x 1.1 = 5.5 -> 6
    for count, expected in ((4, 4), (5, 6), (1000, 1100)):
        assert table.cost('tiny', None, count, 0, 0, 0, 0, geo='us').total == expected
    assert table.cost('tiny', None, 0, 1, 0, 0, 0, geo='us').output == 6
    assert table.cost('sharp', None, 10, 0, 0, 0, 0).total == 1234560


BROKEN = {
    'empty file': (b'', 'not a price table'),
    'cut off': ('{"models": {"k3": {"input"', 'not a price table'),
    'not text': (b'\xff\xfe\x00{', 'not a price table'),
    'a list': ('[]', 'the file is not an object'),
    'no models': ('{}', '"models" is not an object'),
    'models is a list': ('{"models": []}', '"models" is not an object'),
    'deep': ('[' * 200000, 'not a price table'),
    'entry is a number': ({'k3': 3}, 'models.k3: the entry is not an object'),
    'text for a rate': ({'k3': dict(FOUR, input='3.00')}, 'models.k3: input is not a number of USD per million tokens'),
    'true for a rate': ({'k3': dict(FOUR, input=True)}, 'input is not a number'),
    'negative rate': ({'k3': dict(FOUR, output=-1)}, 'output is not a number'),
    'not a number': ('{"models": {"k3": {"input": NaN, "output": 1}}}', 'input is not a number'),
    'infinite': ('{"models": {"k3": {"input": 1e999, "output": 1}}}', 'input is not a number'),
    'no output': ({'k3': {'input': 1}}, 'it has no output rate'),
    'tier is a number': ({'k3': dict(FOUR, above_200k=5)}, 'above_200k is not an object'),
    'tier name': ({'k3': dict(FOUR, above_200000={})}, 'above_200000 is not written above_<N>k'),
    'history': ({'k3': dict(FOUR, history={})}, 'history is not a list'),
    'date': ({'k3': dict(FOUR, history=[dict(FOUR, until='13.3.2026')])}, 'is not a date like'),
    'month': ({'k3': dict(FOUR, scheduled=[{'from': '2026-13-01', 'input': 1, 'output': 1}])}, 'is not a date like'),
    'no date': ({'k3': dict(FOUR, scheduled=[FOUR])}, 'is not a date like'),
    'peak hours': ({'k3': dict(FOUR, peak={'utc': [['1', '4']]})}, 'utc window'),
    'peak backwards': ({'k3': dict(FOUR, peak={'utc': [['04:00', '01:00']]})}, 'no time span'),
    'peak days': ({'k3': dict(FOUR, peak={'days': 'weekdays'})}, 'are not like mon-fri'),
    'redirect': ({'k3': dict(FOUR, redirect={'from': '2026-01-01'})}, 'redirect has no'),
    'multiplier': ({'k3': dict(FOUR, us_multiplier='1.1')}, 'us_multiplier is not a number'),
    'aliases': ({'k3': dict(FOUR, aliases='k4')}, 'aliases is not a list'),
    'window': ({'k3': dict(FOUR, context_window='big')}, 'context_window'),
    'two bad entries': ({'k3': 3, 'k4': 3}, '(1 more like it)'),
}


@pytest.mark.parametrize('case', sorted(BROKEN))
def test_a_broken_sheet_leaves_the_built_in_prices_and_says_so(case, tmp_path):
    content, message = BROKEN[case]
    table = sheet(tmp_path, content)
    # kimi-k3: 1000 x 3
    assert micros('k3', '2026-09-01', (1000, 0, 0, 0, 0), table) == 3000
    assert message in table.problem
    assert os.path.join(str(tmp_path), 'pricing.json') in table.problem
    assert '\n' not in table.problem
    assert len(table.fingerprint) == 8


def test_one_bad_entry_does_not_cost_the_others(tmp_path):
    table = sheet(tmp_path, {'k3': 'cheap', 'gpt-5.5': FOUR})
    assert micros('gpt-5.5', None, (10, 0, 0, 0, 0), table) == 10
    assert 'models.k3' in table.problem


def test_a_sheet_that_cannot_be_read(tmp_path):
    (tmp_path / 'pricing.json').mkdir()
    table = pricing.load(str(tmp_path))
    assert 'cannot be read' in table.problem
    assert micros('k3', '2026-09-01', (1000, 0, 0, 0, 0), table) == 3000


def test_no_sheet_is_no_problem(tmp_path):
    for folder in (None, tmp_path, tmp_path / 'missing'):
        assert pricing.load(folder).problem is None
    assert sheet(tmp_path, b'\xef\xbb\xbf{"models": {}}').problem is None


def test_the_fingerprint_follows_every_input(tmp_path, monkeypatch):
    plain = pricing.load(tmp_path).fingerprint
    assert plain == TABLE.fingerprint
    assert set(plain) <= set('0123456789abcdef')
    first = sheet(tmp_path, {'k3': FOUR}).fingerprint
    second = sheet(tmp_path, {'k3': dict(FOUR, input=2)}).fingerprint
    assert len(set([plain, first, second])) == 3
    assert sheet(tmp_path, {'k3': FOUR}).fingerprint == first
    monkeypatch.setattr(pricing, 'PRICING_VERSION', pricing.PRICING_VERSION + 1)
    assert pricing.load().fingerprint != plain
    monkeypatch.undo()
    monkeypatch.setattr(pricing, '_built_in_data', [pricing._built_in_bytes() + b'\n'])
    assert pricing.load().fingerprint != plain


MONEY = {
    None: 'unknown', 0: '$0.00', 1: '$0.000000000001', 40 * 10**6: '$0.000040', 3625: '$0.0000000036',
    99999999: '$0.000100', 10**8: '$0.0001', 12345678901: '$0.0123', 289500000000: '$0.2895', 500000000000: '$0.5000',
    999949999999: '$0.9999', 999950000000: '$1.00', 1575000000000: '$1.58', 1234567800000000: '$1,234.57',
    -12345678901: '-$0.0123',
}


@pytest.mark.parametrize('pico', sorted(MONEY, key=str))
def test_money_for_people(pico):
    assert pricing.format_usd(pico) == MONEY[pico]


def test_dollars():
    assert pricing.usd(None) is None
    assert pricing.usd(0) == 0.0
    assert pricing.usd(289500000000) == 0.2895
    assert pricing.usd(123456789012345678901) == 123456789.012345678901


def test_a_name_is_looked_up_once(monkeypatch):
    asked = []
    look_up = Names.look_up
    monkeypatch.setattr(Names, 'look_up', lambda self, model: asked.append(model) or look_up(self, model))
    table = pricing.load()
    for minute in range(1000):
        for model in ('us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'nobody-knows', None):
            table.cost(model, ms('2026-11-01') + minute * 60000, 1, 1, 1, 1, 1, 'standard', '', 'standard')
    assert len(asked) == 3


def test_importing_is_cheap_and_reads_nothing():
    code = ('import sys; sys.path.insert(0, sys.argv[1]); import builtins; opened = []; was = open\n'
            'builtins.open = lambda *a, **k: opened.append(a) or was(*a, **k)\n'
            'from echolib import pricing; pricing.load(sys.argv[1])\n'
            'late = ["datetime", "typing", "argparse", "decimal", "json"]\n'
            'print(opened, [name for name in late if name in sys.modules])')
    out = subprocess.check_output([sys.executable, '-I', '-S', '-c', code, ROOT], universal_newlines=True)
    assert out.strip() == '[] []'


# (PRICING_VERSION, as_of) -> digest of the data and of what the rules make of it.
PINNED = {
    (2, '2026-11-30'): '141113b2a0edb0b9',
}
DECORATIONS = ('%s', 'x/%s[1m]', '%s (high)', 'us.%s-v1:0', '%s@default', 'databricks-%s-maas', '%s:nitro', '%s:free',
               '%s-20260101-thinking-high', '%s-latest', '%s-max', '%s-x')


def test_prices_and_rules_change_only_with_their_version_or_date():
    with open(DATA, encoding='utf-8') as file:
        data = json.load(file)
    state = [data]
    for name in sorted(data['models']):
        state.append([TABLE.canonical(decoration % name) for decoration in DECORATIONS])
        for when in (None, ms('2025-06-01'), ms('2026-04-01 02:00:00'), ms('2026-11-30 02:00:00')):
            for tokens in ((999, 99, 9999, 999, 99), (999, 99, 999999, 99, 9)):
                state.append(TABLE.cost(name, when, *tokens, speed='fast', geo='us', tier='priority'))
    digest = hashlib.sha256(json.dumps(state, sort_keys=True).encode('ascii')).hexdigest()[:16]
    key = pricing.PRICING_VERSION, TABLE.as_of
    assert key in PINNED, 'a new version or date: add %r: %r to PINNED' % (key, digest)
    assert digest == PINNED[key], 'prices or price rules changed: raise PRICING_VERSION or as_of, then pin %r' % digest
