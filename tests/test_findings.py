"""Each rule fires at its threshold and is silent below it."""
import re

import pytest
from helpers import read
from histories import FIRST, NEW, OLD, Activity, Cell, Row

from echolib import analysis, pricing
from echolib.analysis import Fact
from echolib.base import clock
from echolib.insights import findings, regressions, signals, whatif

USD = 10 ** 12
NO_CHANGES = regressions.Findings([], [], [], 0, 0, 1)


def session(project='p', turns=2, calls=4, model=OLD, cost=1.0, read=0, written=0, written_cost=0.0, tools=None, row=None, signal=None, **counters):
    """-> (tally, fields of the row, fields of the signals) of one session; cost in USD, of the output."""
    tally = {'user_prompts': turns, 'api_calls': calls, 'output_known_calls': calls, 'm|%s|calls' % model: calls,
             'm|%s|output' % model: 100 * calls, 'm|%s|cost_output' % model: int(cost * USD)}
    for name, amount in (('cache_read', read), ('cache_write_5m', written), ('cost_cache_write_5m', int(written_cost * USD))):
        if amount:
            tally['m|%s|%s' % (model, name)] = amount
    for name, (uses, errors, declined) in (tools or {}).items():
        for field, amount in (('calls', uses), ('errors', errors), ('declined', declined)):
            tally['t|%s|%s' % (name, field)] = amount
        for field, amount in (('tool_calls', uses), ('tool_errors', errors), ('declined', declined)):
            tally[field] = tally.get(field, 0) + amount
    tally.update(counters)
    return tally, dict(row or {}, project=project), dict(signal or {})


class _Row(Row):
    lines = parse_errors = unknown_records = 0


def found(*sessions, **more):
    """-> {code: Finding} of these sessions."""
    rows, cells, seen = [], [], {}
    for number, (tally, fields, signal) in enumerate(sessions, 1):
        fields = dict(fields)
        row = _Row(number, '%08x' % number, fields.pop('project'), 'claude', 'main', fields.pop('version', '2.1.112'), 0, '', '',
                   fields.pop('machine', 0), 1)
        row.__dict__.update(fields)
        rows.append(row)
        cells.append(Cell(number, FIRST + number, 0, tally))
        base = dict(first_context=None, peak=None, jump=0.0, rewrites=0, rewrite_cost=0, refills=0, compactions=0, top_turn=None, streak=(0, ''),
                    cut=0, fast_cost=0, retries=0, cost=sum(v for k, v in tally.items() if '|cost_' in k), active=0, calls=4, corrections=0, tests=0,
                    failing=0, rereads=0, reads=0, repeats={})
        base.update(signal)
        seen[number] = signals.Signals(**base)
    case = findings.Case(Activity(rows, cells, clock.zone('UTC')), seen, more.get('changes', NO_CHANGES), more.get('mixes', []))
    return dict((one.code, one) for one in findings.find(case))


# code -> (sessions that show it, the same just below the threshold)
RULES = {
    'cache-leaky': ([session(read=90, written=100, written_cost=5)], [session(read=100, written=100, written_cost=5)]),
    'cache-waste': ([session(written=100, written_cost=10, cost=40, read=0)], [session(written=100, written_cost=9, cost=30, read=0)]),
    'idle-cache-rewrite': (
        [session(signal=dict(rewrites=1, rewrite_cost=USD // 2)) for _ in range(5)],
        [session(signal=dict(rewrites=1, rewrite_cost=USD // 2)) for _ in range(4)] + [session()]),
    'context-tax': ([session(signal=dict(first_context=30000)) for _ in range(5)], [session(signal=dict(first_context=29999)) for _ in range(5)]),
    'spend-concentration': (
        [session(cost=40), session(cost=40)] + [session(cost=1) for _ in range(18)],
        [session(cost=13), session(cost=13)] + [session(cost=1) for _ in range(18)]),
    'unpriced': ([session(**{'m|%s|unpriced_tokens' % OLD: 400, 'm|%s|unpriced_calls' % OLD: 4})],
                 [session(**{'m|%s|unpriced_tokens' % OLD: 19, 'm|%s|unpriced_calls' % OLD: 1})]),
    'subagents-costly': ([session(cost=10, side_cost=5 * USD)], [session(cost=10, side_cost=5 * USD - 1)]),
    'subagents-unused': ([session() for _ in range(50)], [session() for _ in range(49)]),
    'fast-mode': ([session(cost=25, signal=dict(fast_cost=5 * USD))], [session(cost=26, signal=dict(fast_cost=5 * USD))]),
    'turn-concentration': (
        [session(cost=2, signal=dict(top_turn=(0.5, USD)))] * 5 + [session(signal=dict(top_turn=(0.4, 1)))] * 15,
        [session(cost=2, signal=dict(top_turn=(0.5, USD)))] * 4 + [session(signal=dict(top_turn=(0.4, 1)))] * 16),
    'machine-made': ([session(row=dict(machine=1))] + [session()] * 4, [session(row=dict(machine=1))] + [session()] * 5),
    'tool-fails': ([session(tools={'Bash': (50, 10, 0)})], [session(tools={'Bash': (49, 20, 0)})]),
    'tool-declined': ([session(tools={'Bash': (50, 0, 5)})], [session(tools={'Bash': (50, 0, 4)})]),
    'interruptions': ([session(turns=100, interruptions=15)], [session(turns=99, interruptions=15)]),
    'compaction-pressure': ([session(compactions=1)] * 3 + [session()] * 3, [session(compactions=1)] * 2 + [session()] * 2),
    'context-pressure': ([session(signal=dict(peak=0.75))] + [session(signal=dict(peak=0.2))] * 9,
                         [session(signal=dict(peak=0.75))] + [session(signal=dict(peak=0.2))] * 8),
    'context-jump': ([session(signal=dict(peak=0.5, jump=0.25))] * 5, [session(signal=dict(peak=0.5, jump=0.25))] * 4),
    'compaction-refill': ([session(signal=dict(compactions=6, refills=3))], [session(signal=dict(compactions=7, refills=3))]),
    'error-streak': ([session(tools={'Bash': (9, 4, 0)}, signal=dict(streak=(4, 'Bash')))] * 3,
                     [session(tools={'Bash': (9, 3, 0)}, signal=dict(streak=(3, 'Bash')))] * 3),
    'test-thrash': ([session(signal=dict(tests=4, failing=3))] * 3, [session(signal=dict(tests=4, failing=3))] * 2 + [session(signal=dict(tests=4, failing=2))]),
    'reread-heavy': ([session(signal=dict(reads=20, rereads=2))] * 10, [session(signal=dict(reads=20, rereads=2))] * 9 + [session(signal=dict(reads=20, rereads=1))]),
    'correction-heavy': ([session(turns=100, signal=dict(corrections=15))] * 2, [session(turns=100, signal=dict(corrections=15)), session(turns=100, signal=dict(corrections=14))]),
    'api-retries': ([session(signal=dict(retries=7))] * 3, [session(signal=dict(retries=10))] * 2),
    'retry-churn': ([session(signal=dict(repeats={'Bash': 10}))] * 2 + [session(signal=dict(repeats={'Bash': 1}))],
                    [session(signal=dict(repeats={'Bash': 10}))] * 2 + [session(signal=dict(repeats={'Read': 9}))]),
    'cut-replies': ([session(calls=200, signal=dict(cut=5))], [session(calls=200, signal=dict(cut=4))]),
    'output-lower-bound': ([session(calls=100, output_known_calls=79)], [session(calls=100, output_known_calls=80)]),
    'coverage': (
        [session(row=dict(version='2.1.100', lines=10000, unknown_records=100)), session(row=dict(version='2.1.99', lines=90000))],
        [session(row=dict(version='2.1.100', lines=10000, unknown_records=0)), session(row=dict(version='2.1.99', lines=90000, parse_errors=9000))]),
}


@pytest.mark.parametrize('code', sorted(RULES))
def test_fires_at_its_threshold_and_not_below(code):
    there, below = RULES[code]
    assert code in found(*there), sorted(found(*there))
    assert code not in found(*below)


def test_every_rule_is_tested_and_described():
    source = read('echolib/insights/rules_cost.py') + read('echolib/insights/rules_work.py')
    codes = set(re.findall(r"finding\(\s*'([\w-]+)'", source)) | {'got-worse'}
    words = read('references/metrics.md').partition('### Findings')[2]
    assert len(codes) >= 28 and [code for code in sorted(codes) if '`%s`' % code not in words] == []
    assert codes - set(RULES) == {'got-worse', 'model-switch', 'model-downshift'}


@pytest.mark.parametrize('code', sorted(RULES))
def test_says_what_it_is_from_what_and_what_to_do(code):
    one = found(*RULES[code][0])[code]
    assert one.severity in (findings.WARNING, findings.NOTICE)
    for words in (one.title, one.evidence, one.threshold, one.action):
        assert words and words.format(*one.names)
    assert one.size and len(one.sessions) <= 3


def test_most_pressing_first():
    many = found(*(RULES['tool-fails'][0] + RULES['cache-leaky'][0] + RULES['compaction-refill'][0]))
    assert list(many) == ['cache-leaky', 'tool-fails', 'compaction-refill']


def test_nothing_is_found_in_nothing():
    assert found() == {}
    assert found(session(turns=0, calls=0)) == {}


def test_names_with_braces_stay_as_they_are():
    one = found(session(tools={'{0}{x}': (50, 10, 0)}))['tool-fails']
    assert one.title.format(*one.names) == '{0}{x} fails often'


def test_cheaper_model():
    mix = whatif.Mix(OLD, 'old', 10, 1000, 20 * USD, 0, {'old': 20 * USD, 'new': 10 * USD})
    other = whatif.Mix(NEW, 'new', 1, 1, 0, 0, {'old': 0, 'new': 0})
    one = found(session(), mixes=[mix, other])['model-downshift']
    assert one.usd == 10 * USD and one.names == ('new', OLD)
    # One that was never used is none to go to.
    assert 'model-downshift' not in found(session(), mixes=[mix])
    small = mix._replace(today={'old': 20 * USD, 'new': 16.1 * USD})
    assert 'model-downshift' not in found(session(), mixes=[small, other])


# Signals

def call(minute, sent, read=0, written=0, output=10, hour=0, model=OLD, side=0, extra=''):
    return Fact(analysis.CALL, minute * 60000, side, model, 1, sent, output, read, written, hour, 0, extra)


def turn(minute):
    return Fact(analysis.TURN, minute * 60000, 0, 'typed', 5, 0, 0, 0, 0, 0, 0, '')


def tool(minute, status, name='Bash'):
    return Fact(analysis.TOOL, minute * 60000, 0, name, status, 0, 0, 0, 0, 0, 0, '')


def look(*facts):
    watch = signals.Watch(pricing.load())
    watch(Row(1, 's', 'p', 'claude', '', '', 0, '', '', 0, 1), list(facts))
    return watch.sessions[1]


def test_first_context_is_that_of_the_main_chain():
    assert look(call(0, 5000, side=1), call(1, 100, 200, 300), call(2, 9000)).first_context == 600
    assert look(turn(0)).first_context is None


def test_window_and_jump():
    seen = look(call(0, 20000), call(1, 30000), call(2, 90000), call(3, 150000))
    assert seen.peak == 0.75 and seen.jump == 0.3
    # More than the window can hold: it is another one.
    assert look(call(0, 400000)).peak is None
    assert look(call(0, 400000, model='nobody-knows')).peak is None


def test_cache_that_expired():
    assert look(call(0, 0, written=1000), call(6, 0, written=1000)).rewrites == 1
    assert look(call(0, 0, written=1000), call(5, 0, written=1000)).rewrites == 0
    assert look(call(0, 0, written=1000), call(6, 0, read=600, written=400)).rewrites == 0
    # Kept for an hour.
    assert look(call(0, 0, hour=1000), call(59, 0, hour=1000)).rewrites == 0
    assert look(call(0, 0, hour=1000), call(61, 0, hour=1000)).rewrites == 1


def test_refill_after_compaction():
    def boundary(minute, before):
        return Fact(analysis.COMPACT, minute * 60000, 0, 'auto', 0, before, 0, 0, 0, 0, 0, '')
    seen = look(call(0, 100000), boundary(1, 100000), call(2, 80000), boundary(3, 80000), call(4, 20000), boundary(5, 0), call(6, 20000))
    assert (seen.compactions, seen.refills) == (2, 1)


def test_dearest_turn_and_streak():
    bad, good = analysis.FAILED, 1
    seen = look(turn(0), call(1, 1000), tool(2, bad), tool(3, bad), tool(4, bad, 'Read'), tool(5, bad), tool(6, good), turn(7), call(8, 8000),
                tool(9, bad), tool(10, bad), turn(11), call(12, 1000))
    assert seen.streak == (3, 'Bash')
    assert abs(seen.top_turn[0] - 0.8) < 0.01
    assert look(turn(0), call(1, 1000), turn(2), call(3, 1000)).top_turn is None


def test_other_counts():
    seen = look(call(0, 100, extra='fast|||0|0|max_tokens'), call(3, 100), call(20, 100), Fact(analysis.RETRY, 1, 0, '', 0, 0, 0, 0, 0, 0, 0, ''))
    assert (seen.cut, seen.retries, seen.calls) == (1, 1, 3) and seen.active >= 3 * 60000
