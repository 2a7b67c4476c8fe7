"""analysis: facts are the same in any order, what they contribute, and the numbers of real sessions."""
import itertools
import json
import os
import random
import re

import pytest

import make
from echolib import analysis
from echolib.adapters import claude
from echolib.adapters.claude_parse import Parser
from echolib.analysis import AGENT, CALL, COMPACT, RETRY, STOP, TOOL, TURN, Fact, contributions, merge
from echolib.events import cache_hit_rate, is_lower_bound
from echolib.records import Coverage, Record
from helpers import shared

ANSWER = 'msg_01AAAAAAAAAAAAAAAAAAAAAA'
BUCKETS = ('input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h')
BLANK = Fact(0, None, 0, '', 0, 0, 0, 0, 0, 0, 0, '')


def fact(kind, **fields):
    return BLANK._replace(kind=kind, **fields)


def folded(records, role='main', profile=None):
    """Return the FileAnalysis of records of one file."""
    out = analysis.FileAnalysis(profile)
    parser = Parser(Coverage(), role, '' if role == 'main' else 'a1', make.ID, {})
    for number, record in enumerate(records, 1):
        for event in parser.events(Record(record, number, number * 1000, 1000)):
            out.add(event)
    return out


def tally_of(facts, price=None):
    tally = {}
    for one in facts:
        analysis.apply(tally, one, 1, price)
    return tally


# Merging.

EXTRAS = ['', '|||0|0|', '|||0|0|end_turn', '|||0|0|tool_use', 'fast|||0|0|', '|us||9|0|end_turn', '|us|batch|10|1|', 'fast||batch|0|0|x']


def random_fact(kind, chance):
    """Return a fact as two lines of one key may make it; few values, so that many are equal."""
    def pick(*values):
        return chance.choice(values)
    made = fact(kind, time=pick(None, 1, 2, 3), side=pick(0, 1))
    if kind == CALL:
        return made._replace(name=pick('', 'claude-a', 'claude-b'), status=pick(0, 1), input=pick(0, 5, 6), output=pick(0, 1, 77),
                             cache_read=pick(0, 5), cache_write_5m=pick(0, 5), cache_write_1h=pick(0, 5), visible=pick(0, 10, 90),
                             extra=pick(*EXTRAS))
    if kind == TOOL:
        return made._replace(name=pick('', 'Bash', 'Read'), status=pick(0, 1, 2, 3, 4))
    if kind == TURN:
        if chance.random() < 0.3:
            # What is said of the response after a prompt comes without a time of its own.
            return fact(TURN, extra=pick('c1', 'c2'))
        return made._replace(side=0, name=pick('typed', 'queued', 'slash'), status=pick(3, 8))
    if kind == COMPACT:
        return made._replace(name=pick('', 'auto', 'manual'), input=pick(0, 150000, 160000))
    return made._replace(name='a1' if kind == AGENT else '')


def merged_as_a_tree(facts, chance):
    """Merge facts two at a time, neighbours or not, either one first."""
    facts = list(facts)
    while len(facts) > 1:
        one = facts.pop(chance.randrange(len(facts)))
        place = chance.randrange(len(facts))
        facts[place] = merge(one, facts[place]) if chance.random() < 0.5 else merge(facts[place], one)
    return facts[0]


@pytest.mark.parametrize('kind', [CALL, TURN, TOOL, COMPACT, STOP, AGENT, RETRY])
def test_merging_does_not_depend_on_the_order(kind):
    chance = random.Random(kind)
    for _ in range(200):
        facts = [random_fact(kind, chance) for _ in range(chance.randint(2, 6))]
        wanted = facts[0]
        for one in facts[1:]:
            wanted = merge(wanted, one)
        for _ in range(6):
            chance.shuffle(facts)
            assert merged_as_a_tree(facts, chance) == wanted, facts


@pytest.mark.parametrize('kind', [TURN, TOOL, COMPACT, STOP, AGENT, RETRY])
def test_the_same_line_twice_changes_nothing(kind):
    chance = random.Random(kind)
    for _ in range(100):
        one = random_fact(kind, chance)
        assert merge(one, one) == one


# What lines of one response make: name -> (rows as (output, stop reason, ...), tokens)
def test_one_response_over_many_lines_counts_once():
    rows = [make.usage(3, 4, 12000, 900), make.usage(3, 4, 12000, 900), make.usage(900, 4, 12000, 900)]
    records = [make.assistant('part %d' % n, id=ANSWER, usage=usage, stop=None) for n, usage in enumerate(rows)]
    records[2]['message']['stop_reason'] = 'end_turn'
    # A tool runs while the response still streams: its result stands between.
    other = [make.result('toolu_1'), make.assistant('other', id='msg_2', usage=make.usage(7, 1))]
    for order in itertools.permutations(records + other):
        keys = analysis.shared_keys(tally_of(folded(order).facts.values()))
        assert (keys['api_calls'], keys['assistant_messages'], keys['output_known_calls']) == (2, 2, 2)
        # 900 + 7, 4 + 1
        assert keys['tokens'] == {'input': 5, 'output': 907, 'cache_read': 12000, 'cache_write_5m': 900, 'cache_write_1h': 0}
    found = folded(records).facts['c' + ANSWER]
    assert (found.status, found.extra, found.visible) == (1, '|||0|0|end_turn', 3 * len('part 0'))


def test_ids_alone_are_the_key():
    copies = [make.assistant('x', id='msg_1', requestId='req_1', usage=make.usage(5)),
              make.assistant('x', id='msg_1', requestId=make.ABSENT, usage=make.usage(5)),
              make.assistant('x', id='msg_1', requestId='req_2', usage=make.usage(5))]
    assert analysis.shared_keys(tally_of(folded(copies).facts.values()))['api_calls'] == 1
    without = [make.assistant('x', id=make.ABSENT, requestId=make.ABSENT, usage=make.usage(5)) for _ in range(2)]
    assert analysis.shared_keys(tally_of(folded(without).facts.values()))['api_calls'] == 2


def test_a_side_question_that_repeats_an_answer_is_the_main_chains():
    rows = [make.assistant('x', id=ANSWER, usage=make.usage(5)), make.assistant('x', id=ANSWER, isSidechain=True, usage=make.usage(5))]
    for order in (rows, rows[::-1]):
        assert folded(order).facts['c' + ANSWER].side == 0


# Output counts: (output, the record has a stop reason, bytes seen) -> is it only where the stream began?
@pytest.mark.parametrize('output, final, visible, lower', [
    (1, 0, 400, True), (1, 0, 0, True), (8, 0, 10, True), (9, 0, 10, False), (9, 0, 72, False), (9, 0, 73, True),
    (100, 0, 800, False), (100, 0, 801, True), (0, 0, 0, True),
    # A stop reason is the last word, whatever the number.
    (1, 1, 4000, False), (0, 1, 0, False),
])
def test_lower_bound(output, final, visible, lower):
    assert is_lower_bound(output, final, visible) is lower
    keys = analysis.shared_keys(tally_of([fact(CALL, name='m', output=output, status=final, visible=visible)]))
    assert keys['output_known_calls'] == (0 if lower else 1)
    assert keys['total_is_lower_bound'] is lower
    assert keys['tokens']['output'] == output


def test_chinese_answer_with_a_placeholder_is_a_lower_bound():
    # 60 characters are 180 bytes, more than 8 for each of 20 tokens.
    records = [make.assistant('\u4e2d' * 60, usage=make.usage(20), stop=None)]
    assert analysis.shared_keys(tally_of(folded(records).facts.values()))['output_known_calls'] == 0


# What one fact contributes: name -> (fact, {counter: amount})
CONTRIBUTIONS = {
    'call': (fact(CALL, name='m', status=1, input=1, output=2, cache_read=3, cache_write_5m=4, cache_write_1h=5), {
        'api_calls': 1, 'assistant_messages': 1, 'output_known_calls': 1, 'm|m|calls': 1, 'm|m|input': 1, 'm|m|output': 2,
        'm|m|cache_read': 3, 'm|m|cache_write_5m': 4, 'm|m|cache_write_1h': 5}),
    'call of a subagent': (fact(CALL, name='m', side=1, status=1, output=2), {
        'api_calls': 1, 'side_calls': 1, 'output_known_calls': 1, 'm|m|calls': 1, 'm|m|output': 2}),
    'call without a model': (fact(CALL, status=1), {
        'api_calls': 1, 'assistant_messages': 1, 'output_known_calls': 1, 'm|unknown|calls': 1}),
    'call with searches': (fact(CALL, name='m', status=1, extra='|||2|1|end_turn'), {
        'api_calls': 1, 'assistant_messages': 1, 'output_known_calls': 1, 'm|m|calls': 1, 'web_searches': 2, 'web_fetches': 1}),
    'prompt': (fact(TURN, name='typed', status=12), {'user_prompts': 1, 'prompt_chars': 12}),
    'queued prompt': (fact(TURN, name='queued', status=12), {'user_prompts': 1, 'prompt_chars': 12}),
    'slash command': (fact(TURN, name='slash', status=5), {'slash_commands': 1, 'prompt_chars': 5}),
    'word on a prompt elsewhere': (fact(TURN, extra='c1'), {}),
    'tool call': (fact(TOOL, name='Bash', status=1), {'tool_calls': 1, 't|Bash|calls': 1}),
    'open tool call': (fact(TOOL, name='Bash', status=0), {'tool_calls': 1, 't|Bash|calls': 1}),
    'failed tool call': (fact(TOOL, name='Bash', status=3), {
        'tool_calls': 1, 't|Bash|calls': 1, 'tool_errors': 1, 't|Bash|errors': 1}),
    'refused tool call': (fact(TOOL, name='Bash', status=4), {
        'tool_calls': 1, 't|Bash|calls': 1, 'declined': 1, 't|Bash|declined': 1}),
    'collateral': (fact(TOOL, name='Bash', status=2), {'tool_calls': 1, 't|Bash|calls': 1}),
    'result without its call': (fact(TOOL, status=1), {}),
    'failed result without its call': (fact(TOOL, status=3), {'tool_errors': 1, 't|(unknown)|errors': 1}),
    'compaction': (fact(COMPACT, name='auto', input=150000), {'compactions': 1}),
    'compaction of a subagent': (fact(COMPACT, side=1), {'subagent_compactions': 1}),
    'interruption': (fact(STOP), {'interruptions': 1}),
    'subagent': (fact(AGENT, name='a1'), {'subagents': 1}),
    'retry': (fact(RETRY), {'retries': 1}),
}


@pytest.mark.parametrize('name', sorted(CONTRIBUTIONS))
def test_contributions(name):
    one, expected = CONTRIBUTIONS[name]
    assert dict(contributions(one)) == expected
    tally = tally_of([one, one])
    assert tally == {counter: 2 * amount for counter, amount in expected.items()}
    analysis.apply(tally, one, -1)
    analysis.apply(tally, one, -1)
    assert tally == {}


def price(model, time, *rest):
    """One dollar a million input tokens, two for output, 0.1, 1.25 and 2 for the cache; twice that where it is fast."""
    tokens, modifiers = rest[:5], rest[5:]
    if model == 'unpriced':
        return None
    rates = (1000000, 2000000, 100000, 1250000, 2000000)
    return tuple(count * rate * (2 if modifiers[0] == 'fast' else 1) for count, rate in zip(tokens, rates))


def test_costs():
    calls = [fact(CALL, name='a', status=1, input=1000, output=500, cache_read=10000, cache_write_5m=400, cache_write_1h=100),
             fact(CALL, name='a', side=1, status=1, output=500, extra='fast|||0|0|')]
    keys = analysis.shared_keys(tally_of(calls, price))
    # 1000 * 1 + 500 * 2 + 10000 * 0.1 + 400 * 1.25 + 100 * 2 = 3700, and 500 * 2 * 2 = 2000 millionths of a dollar
    assert keys['cost_usd'] == keys['known_cost_usd'] == pytest.approx(0.0057, abs=1e-12)
    assert (keys['unpriced'], keys['total_is_lower_bound']) == ({'calls': 0, 'tokens': 0}, False)
    keys = analysis.shared_keys(tally_of(calls + [fact(CALL, name='unpriced', status=1, input=7, output=5)], price))
    assert keys['cost_usd'] is None and keys['known_cost_usd'] == pytest.approx(0.0057, abs=1e-12)
    assert (keys['unpriced'], keys['total_is_lower_bound']) == ({'calls': 1, 'tokens': 12}, True)
    # A call without tokens has no price to lack.
    keys = analysis.shared_keys(tally_of([fact(CALL, name='unpriced', status=1)], price))
    assert (keys['cost_usd'], keys['unpriced']['calls']) == (0, 0)


def test_costs_by_model():
    calls = [fact(CALL, name='a', status=1, input=1000, cache_read=3000), fact(CALL, name='b|c', status=1, output=1000),
             fact(CALL, name='unpriced', status=1, output=1)]
    models = analysis.models_of(tally_of(calls, price))
    assert list(models) == ['a', 'b|c', 'unpriced']
    assert models['a']['cost_by_bucket'] == {
        'input': pytest.approx(0.001), 'output': 0, 'cache_read': pytest.approx(0.0003), 'cache_write_5m': 0, 'cache_write_1h': 0}
    assert [(models[name]['api_calls'], models[name]['cost_usd']) for name in models] == [
        (1, pytest.approx(0.0013)), (1, pytest.approx(0.002)), (1, None)]
    assert (models['a']['cache_hit_rate'], models['b|c']['cache_hit_rate']) == (0.75, None)


def test_modifiers_reach_the_price():
    seen = []

    def noting(*given):
        seen.append(given)
        return (0, 0, 0, 0, 0)
    usage = make.usage(20, 10, 300, 40, hour=15, speed='fast', inference_geo='us', service_tier='batch')
    plain = make.usage(1, 1, speed='standard', inference_geo='not_available', service_tier='standard')
    # A bar would move the fields that are kept side by side.
    odd = make.usage(1, 1, speed='a|b', server_tool_use={'web_search_requests': 3})
    records = [make.assistant('x', usage=usage, model='m', timestamp=make.stamp(0)), make.assistant('y', usage=plain, model='m'),
               make.assistant('z', usage=odd, model='m', stop='c|d')]
    tally = tally_of(folded(records).facts.values(), noting)
    assert [given[2:] for given in seen] == [
        (10, 20, 300, 25, 15, 'fast', 'us', 'batch'), (1, 1, 0, 0, 0, None, None, None), (1, 1, 0, 0, 0, 'a/b', None, None)]
    assert seen[0][:2] == ('m', 1772359200000)
    assert tally['web_searches'] == 3


def test_tools():
    facts = [fact(TOOL, name='Bash', status=1), fact(TOOL, name='Bash', status=3), fact(TOOL, name='mcp__a|b__c', status=4)]
    assert analysis.tools_of(tally_of(facts)) == {'Bash': {'calls': 2, 'errors': 1, 'declined': 0},
                                                  'mcp__a|b__c': {'calls': 1, 'errors': 0, 'declined': 1}}


@pytest.mark.parametrize('input, read, writes, rate', [(0, 0, 0, None), (10, 0, 0, 0), (10, 30, 0, 0.75), (0, 30, 10, 0.75), (0, 5, 0, 1)])
def test_cache_hit_rate(input, read, writes, rate):
    assert cache_hit_rate(read, input, writes) == rate


def test_sums_of_tallies():
    into = {'a': 1, 'b': 2}
    analysis.add_tally(into, {'b': 3, 'c': 4})
    assert into == {'a': 1, 'b': 5, 'c': 4}
    assert analysis.usd(1500000000000) == 1.5


# From records to facts.

def sample():
    """Return a session with every kind of fact, told by the name of its counter."""
    made = make.Session(version='2.1.112')
    return [made.user('one'), made.assistant('a', tool='Bash', usage=make.usage(50, 5, 100, 10, hour=4)), made.result(error=True),
            made.assistant('b', tool='Read', usage=make.usage(60, 6)), made.result(), made.user('/ship it'),
            made.assistant('c', tool='Bash', isSidechain=True, usage=make.usage(70, 7)),
            made.attachment('queued_command', prompt='two'), made.compaction(), made.user('[Request interrupted by user]'),
            made.system('api_error', error={}), made.assistant('no', model='<synthetic>', usage=make.usage(0, 0)),
            made.user('side', isSidechain=True, parentUuid=None), made.user('recap', isCompactSummary=True)]


def test_counters_of_a_session():
    out = folded(sample())
    keys = analysis.shared_keys(tally_of(out.facts.values()))
    assert {name: keys[name] for name in keys if type(keys[name]) is int and name != 'cost_usd'} == {
        'subagents': 1, 'user_prompts': 2, 'slash_commands': 1, 'turns': 3, 'assistant_messages': 2, 'api_calls': 3,
        'tool_calls': 3, 'tool_errors': 1, 'declined': 0, 'interruptions': 1, 'compactions': 1, 'output_known_calls': 3, 'retries': 1,
        'reasoning_inside_output': 0}
    # 5 + 6 + 7; 50 + 60 + 70; 100; 10 - 4; 4
    assert keys['tokens'] == {'input': 18, 'output': 180, 'cache_read': 100, 'cache_write_5m': 6, 'cache_write_1h': 4}


def test_facts_do_not_depend_on_the_order_of_lines():
    records = sample() + sample()[:5]
    wanted = folded(records).facts
    chance = random.Random(3)
    for _ in range(30):
        chance.shuffle(records)
        assert folded(records).facts == wanted


def test_a_file_in_two_parts_gives_the_facts_of_the_whole():
    records = sample()
    whole = folded(records)
    for cut in range(len(records) + 1):
        parts = [folded(records[:cut])]
        parts.append(folded(records[cut:], profile=json.loads(json.dumps(parts[0].profile))))
        facts = dict(parts[0].facts)
        for key, one in parts[1].facts.items():
            facts[key] = merge(facts[key], one) if key in facts else one
        assert facts == whole.facts
        assert parts[1].profile == whole.profile


def test_the_same_records_twice_count_once():
    # An editor that is opened again appends earlier rows a second time.
    assert tally_of(folded(sample() + sample()).facts.values()) == tally_of(folded(sample()).facts.values())


def test_profile():
    made = make.Session(version='2.0.14', generation=make.OLD, start=100)
    records = [made.meta('summary', summary='S', leafUuid='u1'), made.meta('summary', summary='S', leafUuid='u1'),
               made.assistant('early', usage=make.usage(1, 4, 5, 6)), made.user('/ship it'), made.user('first words'),
               made.user('later words'), made.assistant('answer', usage=make.usage(1, 10, 20)),
               made.user('old', timestamp=make.stamp(7)), made.meta('custom-title', customTitle='T'),
               made.meta('custom-title', customTitle='T2')]
    made.cwd, made.branch, made.version = '/home/dev/else', 'dev', '2.1.112'
    records += [made.user('more'), made.assistant('side', isSidechain=True, usage=make.usage(1, 99))]
    profile = folded(records).profile
    base = 1772359200000
    assert (profile['birth'], profile['first'], profile['last']) == (base + 101000, base + 7000, base + 108000)
    assert (profile['first_prompt'], profile['first_slash'], profile['reply']) == ('first words', '/ship it', 'early')
    assert (profile['cwd'], profile['last_cwd'], profile['branch'], profile['last_branch']) == (
        '/home/dev/app', '/home/dev/else', 'main', 'dev')
    assert (profile['custom-title'], profile['summaries'], profile['versions']) == ('T2', [['u1', 'S']], ['2.0.14', '2.1.112'])
    # The context of the last call of the main chain: 10 + 20.
    assert profile['context'] == 30


# 1.0.0 to 1.0.60 copy rows under new ids when a session is resumed; from 1.0.128 on they do not.
@pytest.mark.parametrize('version, renames', [
    ('1.0.0', True), ('1.0.60', True), ('1.0.127', True), ('1.0.128', False), ('2.0.14', False), ('0.2.126', False),
    ('1.0', False), ('1.0.x', False), ('', False), ('10.0.1', False)])
def test_versions_that_rename_copies(version, renames):
    assert analysis.renames_copies(version) is renames


def test_what_an_old_client_wrote_stays_so_when_a_newer_one_goes_on():
    old, new = make.user('a', version='1.0.60'), make.user('b', version='2.1.112')
    assert folded([old, new]).profile['renames'] and folded([new, old]).profile['renames'] and not folded([new]).profile['renames']


def test_prompts_of_renaming_versions_are_tied_to_the_answer():
    made = make.Session(version='1.0.51', generation=make.OLD)
    prompt = made.user('hi')
    found = folded([prompt, made.assistant('answer', id=ANSWER)]).facts
    assert found['p' + prompt['uuid']].extra == 'c' + ANSWER
    made = make.Session(version='1.0.128', generation=make.OLD)
    prompt = made.user('hi')
    assert folded([prompt, made.assistant('answer', id=ANSWER)]).facts['p' + prompt['uuid']].extra == ''


# Real sessions: what a scripted model server sent, and what was done, is in expected.json and MANIFEST.md.

CORPORA = ('claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332')
# Compactions that the client made and did not write down (2.0.77 as far as its files show).
UNWRITTEN = {('claude-2.0.77', 'autocompact'): 1, ('claude-2.0.77', 'overflow'): 1}


def real_sessions(folder):
    """Return {session id: [(facts, subagents in it)]} of the files of a corpus, warm-up agents left out."""
    out = {}
    root = os.path.join(shared('corpus', folder, 'home'), 'dev', '.claude')
    for session in claude.discover(root, []):
        for source in session.sources:
            if source.role == 'loose':
                source = source._replace(session=claude.head(source.path)['session'])
            file = analysis.FileAnalysis()
            agents, first = source.role != 'main', None
            for events in claude.read(source, Coverage(source.path)):
                for event in events:
                    file.add(event)
                    first = event.text if first is None and event.text and event.kind == 'injected' else first
            if not (agents and first == 'Warmup'):
                inline = sum(1 for one in file.facts.values() if one.kind == AGENT)
                out.setdefault(source.session, []).append((file.facts, inline + agents))
    return out


def together(files):
    """Return the facts of several files as one dict."""
    out = {}
    for facts, _ in files:
        for key, one in facts.items():
            out[key] = merge(out[key], one) if key in out else one
    return out


def tokens_of(facts, side=None):
    """Return the five buckets and the calls of facts (of one side) as the corpus writes them."""
    keys = analysis.shared_keys(tally_of(one for one in facts.values() if side is None or bool(one.side) == bool(side)))
    return dict(keys['tokens'], calls=keys['api_calls'])


def sent(*parts):
    """Return the sum of token rows of expected.json."""
    return {name: sum(part.get('tokens', {}).get(name, 0) for part in parts) for name in BUCKETS + ('calls',)}


def calls_of_tools(facts, side):
    found = analysis.tools_of(tally_of(one for one in facts.values() if bool(one.side) == bool(side)))
    return {name: found[name]['calls'] for name in found if found[name]['calls']}


@pytest.mark.parametrize('folder', CORPORA)
def test_numbers_of_real_sessions(folder):
    with open(shared('corpus', folder, 'expected.json'), encoding='utf-8') as lines:
        expected = json.load(lines)
    sessions = real_sessions(folder)
    for scenario in sorted(expected):
        want = expected[scenario]
        files = sessions[want['session']]
        facts = together(files)
        if scenario == 'fork':
            # Parent and child hold copies of each other's rows: only together do they show what was sent.
            facts = together(files + sessions[expected['fork-child']['session']])
            assert tokens_of(facts) == sent(want['main'], expected['fork-child']['main'])
        elif scenario != 'fork-child':
            assert tokens_of(facts, 0) == sent(want['main']), scenario
            assert tokens_of(facts, 1) == sent(want['sub']), scenario
            assert calls_of_tools(facts, 0) == want['main']['tools'], scenario
            assert calls_of_tools(facts, 1) == want['sub']['tools'], scenario
            models = analysis.models_of(tally_of(facts.values()))
            assert set(models) == set(want['main']['models']) | set(want['sub']['models']), scenario
            assert sum(agents for _, agents in files) == want['subagents'], scenario
            main = [one for one in facts.values() if not one.side]
            keys = analysis.shared_keys(tally_of(main))
            assert keys['tool_errors'] + keys['declined'] == want['failed_tool_results'], scenario
            assert keys['compactions'] == int(str(want['compactions']).split()[0]) - UNWRITTEN.get((folder, scenario), 0), scenario


@pytest.mark.parametrize('folder', CORPORA)
def test_numbers_of_a_whole_real_home(folder):
    with open(shared('corpus', folder, 'MANIFEST.md'), encoding='utf-8') as lines:
        text = lines.read().partition('## Whole corpus')[2]
    line = re.search(r'main\+sub: (.*?) \(', text).group(1)
    expected = {name: int(count) for name, count in re.findall(r'(\w+) (\d+)', line)}
    facts = together(file for files in real_sessions(folder).values() for file in files)
    assert tokens_of(facts) == expected


def test_interactive_session():
    # Two refusals and two failures, three turns stopped, eleven prompts of which two exist only as queued attachments.
    sessions = real_sessions('claude-2.1.332')
    keys = analysis.shared_keys(tally_of(together(sessions['32833106-536e-45df-80b2-d002cc92d33d']).values()))
    assert (keys['user_prompts'], keys['declined'], keys['tool_errors'], keys['interruptions']) == (11, 2, 2, 3)
    # One stream was cut before its last count was written.
    assert (keys['api_calls'], keys['output_known_calls']) == (15, 14)
