"""Bounds of memory and time on input that is huge or made to hurt: what is packed says the same as what is not, and processes stay small."""
import json
import os
import random
import subprocess
import sys

import pytest

from echolib import analysis_session
from echolib.adapters import lookup
from echolib.analysis import CALL, FAILED, STATUS, STOP, TOOL, TURN, Fact, first_of, merge
from echolib.analysis_table import Gathered
from echolib.analysis_work import order, redundant_reads, retry_loops
from echolib.base import bounded_json
from echolib.base.errors import EchoError
from echolib.base.identity import key_of
from echolib.base.shelf import Shelf
from echolib.insights import activity, session_report, session_work
from echolib.records import Coverage, read_records
from helpers import FIXTURES, ROOT, environment, scratch

measured = pytest.mark.skipif(not os.path.exists('/proc/self/status'), reason='only Linux tells the peak memory of a process that was forked')
MB = 1 << 20


def filled(piece, size):
    return piece * (size // len(piece))


# text -> whether it is decoded
LARGE = {
    'empty lists': ('[%s[]]' % filled('[],', MB), False),
    'empty objects': ('[%s{}]' % filled('{},', MB), False),
    'small objects': ('[%s1]' % filled('{"a":{}},', MB), False),
    'many keys': ('{%s"k":1}' % ''.join('"%x":1,' % i for i in range(200000)), False),
    'short strings': ('[%s""]' % filled('"ab",', 2 * MB), False),
    'deep and wide': ('[%s1]' % filled('[[[[1]]]],', MB), False),
    'a few numbers': ('[%s1]' % filled('300,', 6 * MB // 10), True),
    'prose': (json.dumps({'text': filled('It is, as they say: "fine" [sic]. {x}\n', MB)}), True),
    'JSON in a string': (json.dumps({'text': json.dumps([{'a': [], 'b': {}}] * 40000)}), True),
    'JSON in a string in a string': (json.dumps({'text': json.dumps(json.dumps([{'a\\': []}] * 50000))}), True),
    'messages': (json.dumps([{'type': 'text', 'role': 'user', 'text': 'word ' * 40}] * 8000), True),
}


@pytest.mark.parametrize('name', sorted(LARGE))
def test_what_takes_too_much_memory_is_not_decoded(name):
    text, decoded = LARGE[name]
    assert len(text) > bounded_json.LARGE
    for form in (text, text.encode('utf-8')):
        assert (bounded_json.too_much(form) is None) == decoded
    if decoded:
        assert bounded_json.loads(text) == json.loads(text)
    else:
        with pytest.raises(ValueError):
            bounded_json.loads(text)


def outside(text):
    """The signs outside of strings and the quotes, read one by one."""
    out, inside, escaped = '', False, False
    for char in text:
        if inside and escaped:
            escaped = False
        elif inside and char == '\\':
            escaped = True
        elif char == '"':
            inside = not inside
            out += char
        elif not inside:
            out += char
    return out


def test_strings_end_where_they_end(monkeypatch):
    chance = random.Random(3)
    for step in (1, 2, 3, 7):
        monkeypatch.setattr(bounded_json, '_STEP', step)
        for _ in range(200):
            value = [''.join(chance.choice('\\"[]{},:a\n') for _ in range(chance.randrange(9))) for _ in range(chance.randrange(5))]
            text = json.dumps({'k"\\': value})
            for sign in '[]{}:,"':
                assert bounded_json._outside(text).count(sign) == outside(text).count(sign), (step, text)
                assert bounded_json._outside(text.encode('utf-8')).count(sign.encode('ascii')) == outside(text).count(sign)


def test_long_numbers_and_deep_nesting_end_soon():
    for text in ('9' * 1000000, '-' + '1' * 300000, '[%s]' % filled('9' * 5000 + ',', MB)):
        with pytest.raises(ValueError):
            bounded_json.loads(text)
    for text in ('[' * 1000000, '{"a":' * 400000, '[' * 300000 + ']' * 300000):
        with pytest.raises((ValueError, RecursionError)):
            bounded_json.loads(text)
    assert bounded_json.loads(' [1, 2] \n') == [1, 2] and bounded_json.loads('{%s"k":2}' % filled('"k":1,', MB // 4)) == {'k': 2}


def test_a_line_that_is_too_much_is_counted_as_damage(tmp_path):
    path = str(tmp_path / 'x.jsonl')
    bomb = b'{"x":[%s[]]}' % (b'[],' * MB)
    with open(path, 'wb') as out:
        out.write(b'{"a":1}\n' + bomb + b'\n{"a":2}\n' + bomb)
    coverage = Coverage(path)
    assert [record.data for record in read_records(path, coverage)] == [{'a': 1}, {'a': 2}]
    assert (coverage.lines, coverage.parse_errors, coverage.damaged[0].line) == (3, 1, 2) and 'memory' in coverage.damaged[0].reason
    # A last line without an end may go on.
    assert coverage.unfinished == len(bomb)


# packed and not

def test_a_shelf_is_a_dict_of_joined_rows():
    chance = random.Random(4)
    for few in (0, 1, 3, 50):
        shelf, plain = Shelf(lambda a, b: (a[0] + b[0], a[1] or b[1]), few), {}
        for number in range(300):
            key, row = 'k%d' % chance.randrange(80), (['%d \udc80' % number], chance.choice((None, {'a': [1.5, 'é', None, True]})))
            shelf.add(key, row)
            have = plain.get(key)
            plain[key] = row if have is None else (have[0] + row[0], have[1] or row[1])
            if number % 100 == 99:
                assert list(shelf) == list(plain.values())
                assert all(shelf.get(key) == row for key, row in plain.items()) and shelf.get('no') is None


def random_fact(chance):
    kind = chance.choice((CALL, TURN, TOOL, TOOL, STOP))
    return Fact(kind, chance.choice((None, 0, -5, chance.randrange(9), 1 << 41)), chance.choice((0, 0, 7, (1 << 32) - 1)),
                chance.choice(('', 'Bash', 'é', 'Zeta')), chance.randrange(4), chance.randrange(3), chance.choice((0, -1 << 63, (1 << 63) - 1)),
                chance.randrange(2), 0, 0, chance.randrange(2) if kind == CALL else 0, chance.choice(('', 'x', 'git push')))


def test_packed_facts_are_the_same_in_the_same_order():
    chance = random.Random(5)
    for few in (1, 7, 1000):
        wanted, gathered = {}, Gathered(few)
        for file in range(1, 5):
            mine = {}
            for _ in range(60):
                key, fact = 'k%d' % chance.randrange(150), random_fact(chance)
                have = wanted.get(key)
                fact = fact._replace(kind=have.kind) if have else fact
                mine[key] = merge(mine[key], fact._replace(kind=mine[key].kind)) if key in mine else fact
            for key, fact in mine.items():
                wanted[key] = first_of(wanted[key], fact) if key in wanted else fact
            parts, limit = list(mine.items()), max(1, few // 2)
            for at in range(0, len(parts), limit):
                gathered.take(dict(parts[at:at + limit]), file)
        facts, keys = gathered.ordered()
        inorder = sorted(wanted, key=lambda key: order(wanted[key]))
        assert list(facts) == [wanted[key] for key in inorder] and [facts[place] for place in range(len(facts))] == list(facts)
        stored = [key_of(key) if type(key) is str else key for key in keys]
        assert dict(zip(stored, facts)) == dict((key_of(key), fact) for key, fact in wanted.items())
        for first, end in ((0, 5), (3, 3), (100, 999), (17, 90)):
            assert list(facts[first:end]) == list(facts)[first:end] and len(facts[first:end]) == len(list(facts)[first:end])
        assert facts[-1] == list(facts)[-1]


def test_parts_of_one_file_are_merged_before_files_are_compared():
    a = Fact(CALL, 5, 0, 'm', 0, 1, 9, 0, 0, 0, 4, '')
    gathered = Gathered(0)
    for fact, file in ((a, 1), (a._replace(output=20, visible=3), 1), (a._replace(time=1, output=8), 2)):
        gathered.take({'c1': fact}, file)
    assert list(gathered.facts()) == [a._replace(time=1, output=8)]
    gathered = Gathered(0)
    for fact, file in ((a, 1), (a._replace(output=20, visible=3), 1), (a._replace(time=9, output=8), 2)):
        gathered.take({'c1': fact}, file)
    assert list(gathered.facts()) == [a._replace(output=20, visible=7)]


def sessions():
    """Sessions of the fixtures of several agents, with subagents, retries and copies."""
    found = []
    for name in sorted(os.listdir(FIXTURES)):
        for where, _, files in sorted(os.walk(os.path.join(FIXTURES, name))):
            for file in sorted(files):
                if file.endswith('.jsonl') and len(found) < 80:
                    found.append(os.path.join(where, file))
    return found


def test_a_session_that_is_packed_reads_the_same():
    seen = 0
    for path in sessions():
        try:
            session = lookup.session_at(path)
        except EchoError:
            # Side files, and databases of many sessions.
            continue
        whole, packed = [analysis_session.read(session.agent, session.sources, few) for few in (10000, 2)]
        assert list(packed.facts) == whole.facts, path
        places = range(len(whole.facts))
        for place in places:
            assert packed.note(place) == whole.note(place) and packed.mode(place) == whole.mode(place), (path, place)
        keys = [key_of(key) if type(key) is str else key for key in whole.keys]
        assert packed.places(keys) == whole.places(keys)
        assert session_work.figures(packed, lambda *call: (1, 2, 3, 4, 5), len) == session_work.figures(whole, lambda *call: (1, 2, 3, 4, 5), len)
        assert session_report.rules(packed) == session_report.rules(whole)
        assert session_report.dear_turns(packed.facts, lambda fact: 7) == session_report.dear_turns(whole.facts, lambda fact: 7)
        seen += len(whole.facts) > 10
    assert seen > 10


def test_histories_are_the_same_however_few_are_held():
    facts = [(session, Fact(TURN, 100 - number, 0, 'typed', number, 0, 0, 0, 0, 0, 0, ''), session * 100 + number, 1)
             for session, count in ((1, 3), (2, 40), (3, 0), (4, 5)) for number in range(count)]

    class Catalog(object):
        @staticmethod
        def facts(wanted, since, until):
            return (row for row in facts if row[0] in wanted)

    class Row(object):
        def __init__(self, number):
            self.id, self.tally = number, json.dumps({'w|facts': sum(1 for row in facts if row[0] == number)})
    rows = [Row(number) for number in (1, 2, 3, 4)]
    for keys in (False, True):
        found = [[(got[0].id,) + tuple(list(part) for part in got[1:]) for got in activity.histories(Catalog, rows, keys=keys, few=few)]
                 for few in (1000, 10, 0)]
        assert found[0] == found[1] == found[2] and [len(one[1]) for one in found[0]] == [3, 40, 0, 5]


# work that grows with the input

def failing(name, about, status=FAILED):
    return Fact(TOOL, 0, 0, name, status, 1, 1, about, 0, 0, 0, '')


class Counted(list):
    """A list that counts how often something of it is looked at."""

    looks = 0

    def __getitem__(self, place):
        Counted.looks += 1
        return list.__getitem__(self, place)

    def __iter__(self):
        Counted.looks += len(self)
        return list.__iter__(self)


def test_loops_without_an_end_do_not_each_look_at_all_that_follows():
    looks = []
    for count in (100, 400):
        facts = Counted(failing('Bash', number // 3 + 1) for number in range(3 * count))
        loops = retry_loops(facts)
        assert len(loops) == count
        Counted.looks = 0
        assert session_report.fixes(facts, loops) == [None] * count
        looks.append(Counted.looks)
    assert looks[1] < 5 * looks[0]


def test_the_fix_of_a_loop_is_the_next_call_of_its_kind_that_works():
    ok, chance = STATUS['ok'], random.Random(6)
    for _ in range(50):
        facts = [failing(chance.choice(('Bash', 'Edit')), chance.randrange(3), chance.choice((FAILED, FAILED, FAILED, ok)))._replace(
            extra=chance.choice(('', 'git')), side=chance.choice((0, 0, 0, 5))) for _ in range(60)]
        loops = retry_loops(facts)
        wanted = []
        for run in loops:
            first = facts[run.places[0]]
            wanted.append(next((place for place in range(run.places[-1] + 1, len(facts)) if facts[place].status == ok
                                and (facts[place].name, facts[place].side) == (run.tool, first.side)
                                and (facts[place].extra == first.extra if first.extra else facts[place].cache_read == first.cache_read)), None))
        assert session_report.fixes(facts, loops) == wanted


def test_needless_readings_among_changes_and_compactions():
    from echolib.analysis import COMPACT
    from echolib.analysis_calls import CHANGE, READ
    chance = random.Random(7)
    for _ in range(50):
        facts = [failing('Read', chance.randrange(3), 1)._replace(
            kind=chance.choice((TOOL,) * 9 + (COMPACT,)), input=chance.choice((READ, READ, READ, READ, CHANGE)), side=chance.choice((0, 0, 5)),
            cache_write_5m=chance.randrange(2)) for _ in range(80)]
        seen, wanted = {}, []
        for place, fact in enumerate(facts):
            if fact.kind == COMPACT:
                seen = dict((key, n) for key, n in seen.items() if key[0] != fact.side)
            elif fact.input == CHANGE:
                seen = dict((key, n) for key, n in seen.items() if key[:2] != (fact.side, fact.cache_read))
            elif fact.cache_read:
                key = fact.side, fact.cache_read, fact.cache_write_5m
                seen[key] = seen.get(key, 0) + 1
                if seen[key] > 2:
                    wanted.append(place)
        assert redundant_reads(facts) == wanted


# processes

CHILD = '''
import os, resource, sys
sys.path.insert(0, %r)
resource.setrlimit(resource.RLIMIT_CPU, (%d, %d))
import importlib
sys.stdout = open(os.devnull, 'w')
for words in %r:
    code = importlib.import_module('echolib.cli.' + words[0].replace('-', '_')).main(words[1:])
    assert code == 0, (words, code)
# Not ru_maxrss: that counts what the process was forked from.
peak = [line for line in open('/proc/self/status', encoding='utf-8') if line.startswith('VmHWM')][0].split()[1]
sys.stderr.write('\\npeak %%s %%.1f\\n' %% (int(peak) // 1024, resource.getrusage(resource.RUSAGE_SELF).ru_utime))
sys.stderr.flush()
os._exit(0)
'''


def peak(home, commands, seconds=100):
    """-> the peak memory (MB) of one process that runs these commands on a home; it may use so much CPU time."""
    process = subprocess.Popen([sys.executable, '-S', '-c', CHILD % (ROOT, seconds, seconds, commands)], env=environment(home, SESSION_DIGGER_ARCHIVE=0),
                               cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = process.communicate()
    err = err.decode('utf-8', 'replace')
    print(err[-30:])
    assert process.returncode == 0, (process.returncode, err[-2000:])
    return int(err.rsplit('peak ', 1)[1].split()[0])


ID = '11111111-1111-4111-8111-111111111111'


def home_of(rows):
    """-> a home with one session of these rows: (kind, message as JSON text)."""
    home = scratch()
    folder = os.path.join(home, '.claude', 'projects', '-home-dev-app')
    os.makedirs(folder)
    with open(os.path.join(folder, ID + '.jsonl'), 'w', encoding='utf-8') as out:
        for number, (kind, message) in enumerate(rows):
            out.write('{"type":"%s","message":%s,"uuid":"u%d","timestamp":"2026-11-%02dT%02d:%02d:%02d.000Z","sessionId":"%s","cwd":"/home/dev/app"}\n' % (
                kind, message, number, 1 + number // 86400 % 28, number // 3600 % 24, number // 60 % 60, number % 60, ID))
    return home


def said(text):
    return 'user', '{"role":"user","content":%s}' % json.dumps(text)


def answered(number, blocks):
    return 'assistant', '{"id":"m%d","role":"assistant","model":"claude-sonnet-4-5","content":%s,"usage":{"input_tokens":5,"output_tokens":9}}' % (number, blocks)


def called(number, given):
    return answered(number, '[{"type":"tool_use","id":"t%d","name":"Bash","input":%s}]' % (number, given))


def result(number, content, error=False):
    return 'user', '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","is_error":%s,"content":%s}]}' % (
        number, 'true' if error else 'false', content)


COMMANDS = [['index-builder', 'build'], ['sd-recall', 'search', 'needle', '--include-tools'], ['sd-recall', 'show', ID, '--tools'],
            ['sd-recall', 'tools', ID], ['sd-recall', 'session-stats', ID], ['sd-recall', 'schema', ID]]


@measured
def test_memory_does_not_follow_what_a_line_would_decode_to():
    size = 7800000
    rows = [said('needle'), called(1, '{"x":[%s1]}' % filled('[],', size)), result(1, '[%s1]' % filled('{"a":{}},', size)),
            called(2, '{"x":%s%s}' % ('[' * 500000, ']' * 500000)), called(3, '{"x":%s}' % ('9' * 300000)), said('needle'),
            called(4, '{"command":"ls"}'), result(4, json.dumps(filled('a needle, and more ', size // 2)))]
    # 240 MB and more while such lines were decoded.
    assert peak(home_of(rows), COMMANDS) < 100


def test_memory_of_a_session_grows_little_with_its_turns():
    import tracemalloc
    peaks = []
    for count in (400, 1200):
        rows = []
        for number in range(count):
            rows += [said('no, do step %d' % number), called(number, '{"command":"make t%d"}' % (number // 3)), result(number, '"needle %d"' % number, True)]
        session = lookup.session_at(os.path.join(home_of(rows), '.claude', 'projects', '-home-dev-app', ID + '.jsonl'))
        del rows
        tracemalloc.start()
        reading = analysis_session.read(session.agent, session.sources, 100)
        found = session_work.figures(reading, lambda *call: (1, 2, 3, 4, 5), len)
        assert found['correction_turns'] == count and len(reading.facts) == 3 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # A fact takes 85 bytes, a note 16, what sorting needs and the figures' own lists some 100; some 900 where all is kept as it comes.
    assert (peaks[1] - peaks[0]) / 2400.0 < 350
