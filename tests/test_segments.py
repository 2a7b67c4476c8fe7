"""Topics of a session: where it is cut, what the pieces are called, that they are kept as long as the session is the same."""
import itertools
import json
import math
import os
import random
import sys

import pytest

import small
from echolib.adapters import lookup
from echolib.base.fold import words
from echolib.insights import segmentation, segments
from echolib.insights.words import content, keywords
from helpers import TESTS, scratch, shared
from recalling import Recall

sys.path.insert(0, os.path.join(TESTS, 'evaluation'))

import known_answers as evaluation  # noqa: E402

# words of a text -> what counts as its words
WORDS = {
    'plain': ('The Quick brown_fox', ['the', 'quick', 'brown', 'fox']),
    'pairs of Chinese characters': ('库存超卖', ['库存', '存超', '超卖']),
    'a mark between two characters parts them': ('库存。超卖', ['库存', '超卖']),
    'Latin between them too': ('用API登录', ['api', '登录']),
    'a single character is no word': ('好 fine', ['fine']),
    'Cyrillic without its accents': ('Ёлка горит', ['елка', 'горит']),
    'Korean and Japanese': ('로그인 ログイン', ['로그', '그인', 'ログ', 'グイ', 'イン']),
    'nothing': ('', []),
}


@pytest.mark.parametrize('name', sorted(WORDS))
def test_words(name):
    text, expected = WORDS[name]
    assert words(text) == expected


def test_content_leaves_out_grammar_numbers_and_masks():
    assert content('Please fix the tests of login 42 deadbeef42 [redacted:openai-key] [image]') == [
        ('fix', 'fix'), ('test', 'tests'), ('login', 'login')]
    assert [word for _, word in content('我们的库存超卖了')] == ['库存', '存超', '超卖']


def cut(bags, **more):
    """-> places at which these turns are cut; a bag can be given as text."""
    bags = [dict.fromkeys(bag.split(), 2.0) if isinstance(bag, str) else bag for bag in bags]
    plain = {'gaps': [0] * len(bags), 'compacted': [False] * len(bags), 'greeted': [False] * len(bags)}
    plain.update(more)
    return segmentation.cuts(bags, **plain)


LOGIN = ['login token session', 'token refresh session login', 'login session cookie token', 'refresh token cookie login']
STOCK = ['stock warehouse orders', 'orders stock oversold', 'warehouse stock oversold orders', 'orders warehouse stock']
CUTS = {
    'two topics': (LOGIN + STOCK, {}, [(4, ['words'])]),
    'there and back': (LOGIN + STOCK + LOGIN, {}, [(4, ['words']), (8, ['words'])]),
    'one topic': (LOGIN, {}, []),
    'one turn': (LOGIN[:1], {}, []),
    'no words at all': ([{}, {}, {}], {}, []),
    'a long pause always cuts': (LOGIN, {'gaps': [0, 0, segmentation.MIN_GAP, 0]}, [(2, ['pause'])]),
    'a pause as long as asked for': (LOGIN, {'gaps': [0, 0, 300, 0], 'min_gap': 300}, [(2, ['pause'])]),
    'a much shorter one does not': (LOGIN, {'gaps': [0, 0, 75, 0], 'min_gap': 300}, []),
    'one nearly as long does, where the words do not go on': (LOGIN[:2] + STOCK[:1], {'gaps': [0, 0, 290], 'min_gap': 300}, [(2, ['pause'])]),
    'a compaction where the words go on does not': (LOGIN, {'compacted': [False, False, True, False]}, []),
    'unknown times': (LOGIN + STOCK, {'gaps': [None] * 8}, [(4, ['words'])]),
}


@pytest.mark.parametrize('name', sorted(CUTS))
def test_cuts(name):
    bags, more, expected = CUTS[name]
    assert [(place, reasons) for place, reasons, _ in cut(bags, **more)] == expected


def test_a_compaction_and_a_greeting_help_a_cut_that_words_alone_do_not_make():
    bags = ['alpha beta', 'alpha gamma', 'delta epsilon', 'delta zeta']
    assert cut(bags) == []
    found = cut(bags, compacted=[False, False, True, False], greeted=[False, False, True, False])
    assert [(place, reasons) for place, reasons, _ in found] == [(2, ['compaction'])]


def test_the_weakest_cuts_go_first():
    bags = LOGIN + STOCK + LOGIN
    gaps = [0] * 12
    gaps[8] = segmentation.MIN_GAP
    assert [place for place, _, _ in cut(bags, gaps=gaps, most=2)] == [8]
    assert cut(bags, most=1) == [] and len(cut(bags, most=0)) == 2


def cost_of(partition, size, price):
    """The definition written out: for each segment the words' unlikelihood, for each cut its price."""
    total = price * (len(partition) - 1)
    for part in partition:
        counts = {}
        for bag in part:
            for word, weight in bag.items():
                counts[word] = counts.get(word, 0) + weight
        amount = sum(counts.values())
        total -= sum(weight_of(counts[word], amount, size) for word in counts)
    return total


def weight_of(count, amount, size):
    return count * math.log(amount + size) * -1 + count * math.log(count + 1)


def test_the_cheapest_of_all_cuts_is_found():
    """Every way to cut up to eight turns, against the dynamic programme."""
    draw = random.Random(5)
    for _ in range(40):
        bags = [dict((draw.choice('abcdefghij') + str(i // 3), draw.choice((1.0, 2.0, 3.0))) for _ in range(6)) for i in range(draw.randint(2, 8))]
        size, price = 30.0, draw.choice((1.0, 3.0, 6.0))
        ways = []
        for picks in itertools.product((0, 1), repeat=len(bags) - 1):
            places = [i + 1 for i, pick in enumerate(picks) if pick]
            edges = [0] + places + [len(bags)]
            ways.append((cost_of([bags[a:b] for a, b in zip(edges, edges[1:])], size, price), places))
        best = min(ways)
        found = segmentation._best(bags, [0.0] * len(bags), price, size)
        assert min(abs(cost - best[0]) for cost, places in ways if places == found) < 1e-6


def test_keywords_name_what_sets_a_passage_off():
    said = [(2.0, text, content(text)) for text in ('库存超卖了怎么办', '超卖的订单要退款', '库存扣减用 redis')]
    assert keywords(said, {'redis': 1, '库存': 2, '存超': 2, '超卖': 2}, 6, 3)[0] in ('库存', '超卖')
    said = [(2.0, text, content(text)) for text in ('the webhook fires twice', 'make the webhook idempotent', 'the server is slow')]
    assert keywords(said, {'webhook': 2, 'server': 9, 'slow': 9}, 10, 1) == ['webhook']


# what is asked of whole sessions

def conversation(name):
    return next(one for one in evaluation.conversations() if one[0] == name)


def glue(recall, name, conversations, gap=1, **fields):
    """Write these conversations as one session, `gap` minutes between them. -> (session id, lines at which each begins)."""
    content_, starts, minute, line = [], [], 0, 1
    for one in conversations:
        starts.append(line)
        minute += gap
        for role, text in one[3]:
            recall.rows += 1
            time = '2026-03-%02dT%02d:%02d:00.000Z' % (1 + minute // 1440, minute // 60 % 24, minute % 60)
            make = small.user if role == 'user' else lambda text, *more, **given: small.answer([small.text(text)], more[0], more[1], 'msg_%d' % more[0], **given)
            content_.append(make(text, recall.rows, time, sid=recall.sid(name), **fields))
            minute += 1
            line += 1
    return recall.say(name, *content_), starts


def ask(recall, *argv, **env):
    from echolib.cli import topic_segmenter
    return recall.run(*argv, program=topic_segmenter, **env)


@pytest.fixture(scope='module')
def mixed(tmp_path_factory):
    """A session of three subjects in English and one of two in Chinese."""
    recall = Recall(tmp_path_factory.mktemp('mixed'))
    recall.english, recall.starts = glue(recall, 'english', [conversation(name) for name in ('webhook-twice', 'css-overflow', 'postgres-index')])
    recall.chinese, recall.zh_starts = glue(recall, 'chinese', [conversation(name) for name in ('支付回调', '内存溢出')])
    return recall


def test_a_session_is_cut_where_its_subjects_change(mixed):
    data = ask(mixed, mixed.english, '--format', 'json').json()
    assert [one['ref'] for one in data['segments']] == ['%s:%d' % (mixed.english, line) for line in mixed.starts]
    assert data['segment_count'] == 3 and data['total_messages'] == sum(one['msg_count'] for one in data['segments'])
    assert [one['reasons'] for one in data['segments']] == [[], ['words'], ['words']]
    assert 'shipped' in data['segments'][0]['keywords'] and 'index' in data['segments'][2]['keywords']
    assert data['segments'][0]['start_ts'] == '2026-03-01T00:01:00Z' and data['segments'][0]['opening'].startswith('Some orders are shipped twice')
    for one in data['segments']:
        assert one['label'] == ', '.join(one['keywords'][:3]) and one['end_ref'] > ''


def test_chinese_sessions_have_chinese_words(mixed):
    data = ask(mixed, mixed.chinese, '--format', 'json').json()
    assert [one['ref'] for one in data['segments']] == ['%s:%d' % (mixed.chinese, line) for line in mixed.zh_starts]
    assert '支付' in data['segments'][0]['keywords']
    assert '内存' in data['segments'][1]['keywords']


def test_the_table_and_the_text(mixed):
    lines = ask(mixed, mixed.english, '--format', 'tsv').out.splitlines()
    assert lines[0].split('\t') == 'SESSION_ID SEGMENT START END MSG_COUNT REF LABEL KEYWORDS REASONS STRENGTH OPENING'.split()
    assert [line.split('\t')[1] for line in lines[1:]] == ['1', '2', '3']
    text = ask(mixed, mixed.english).out
    assert text.startswith('3 topics, ') and '<recalled-history' in text and text.splitlines()[-1].startswith('Read one: sd-recall.py show ')


def test_options(mixed):
    found = lambda *argv: ask(mixed, mixed.english, '--format', 'json', *argv).json()
    assert [one['segment'] for one in found('--max-topics', '2')['segments']] == [1, 2]
    assert len(found('--min-gap', '60')['segments']) > 3
    # A number names the same segment whatever part is asked for.
    late = found('--since', '2026-03-01T00:15')['segments']
    assert late and late[-1]['segment'] == 3 and late[0]['segment'] > 1
    assert found('--since', '2026-04-01')['segments'] == [] and found('--until', '2026-02-01')['segments'] == []


def test_a_project(mixed):
    data = ask(mixed, '--project', '/home/dev/app', '--format', 'json').json()
    assert data['session_count'] == 2 and sorted(one['segment_count'] for one in data['sessions']) == [2, 3]
    folder = os.path.join(mixed.folder, '.claude', 'projects', '-home-dev-app')
    assert ask(mixed, '--project', folder, '--format', 'json').json()['session_count'] == 2
    assert ask(mixed, '--project', '/nowhere').rc == 0
    newest = mixed.run('sessions', '--limit', '1', '--format', 'json').json()['sessions'][0]['session_id']
    assert ask(mixed, '--format', 'json').json()['session_id'] == newest
    assert len(ask(mixed, '--project', '/home/dev/app', '--limit', '1', '--format', 'json').json()['sessions']) == 1


def test_a_transcript_elsewhere_is_read_where_it_is(mixed):
    path = os.path.join(mixed.folder, '.claude', 'projects', '-home-dev-app', mixed.english + '.jsonl')
    other = os.path.join(scratch(), 'copy.jsonl')
    with open(path, 'rb') as source, open(other, 'wb') as target:
        target.write(source.read())
    assert ask(mixed, other, '--format', 'json').json()['segment_count'] == 3
    assert ask(mixed, other + '.not').rc == 1


def test_show_and_detail_tell_the_topic(mixed):
    line = mixed.starts[1] + 1
    text = mixed.run('show', '%s:%d' % (mixed.english, line)).out
    assert '\ntopic 2 of 3, lines %d to %d: ' % (mixed.starts[1], mixed.starts[2] - 1) in text
    one = mixed.run('show', '%s:%d' % (mixed.english, line), '--format', 'json').json()['segment']
    assert (one['segment'], one['segment_count'], one['ref']) == (2, 3, '%s:%d' % (mixed.english, mixed.starts[1]))
    assert '\n3 topics: topic-segmenter.py ' in mixed.run('show', mixed.english).out
    from echolib.cli import index_builder
    data = mixed.run('detail', mixed.english, '--format', 'json', program=index_builder).json()
    assert [one['ref'] for one in data['segments']] == ['%s:%d' % (mixed.english, line) for line in mixed.starts]
    assert '3 topics, each with its first line:' in mixed.run('detail', mixed.english, program=index_builder).out
    assert 'segments' not in mixed.run('session-stats', mixed.english, '--format', 'json').json()


def kept_rows(recall):
    from helpers import environment
    import sqlite3
    db = sqlite3.connect(os.path.join(environment(recall.folder)['SESSION_DIGGER_DATA_DIR'], 'index.db'))
    try:
        return dict(db.execute('select sessions.sid, segments.found from segments join sessions on sessions.id = segments.session'))
    finally:
        db.close()


def test_segments_are_kept_until_the_session_changes(tmp_path, monkeypatch):
    recall = Recall(tmp_path)
    sid, _ = glue(recall, 'one', [conversation('webhook-twice')])
    other, _ = glue(recall, 'two', [conversation('css-overflow')])
    first = [ask(recall, one, '--format', 'json').out for one in (sid, other)]
    assert sorted(kept_rows(recall)) == sorted((sid, other))
    # What is kept is answered: nothing is read.
    monkeypatch.setattr(segments, 'read', None)
    assert [ask(recall, one, '--format', 'json').out for one in (sid, other)] == first
    monkeypatch.undo()
    # Other options are worked out and not kept.
    before = kept_rows(recall)
    ask(recall, sid, '--min-gap', '60')
    assert kept_rows(recall) == before
    # It grows: of this session nothing is kept, of the other all.
    glue(recall, 'one', [conversation('webhook-twice'), conversation('postgres-index')])
    recall.run('sessions')
    assert sorted(kept_rows(recall)) == [other]
    grown = ask(recall, sid, '--format', 'json').out
    assert json.loads(grown)['segment_count'] == 2
    # A rebuild gives the same.
    from echolib.cli import index_builder
    recall.run('build', '--rebuild', program=index_builder)
    assert kept_rows(recall) == {}
    assert ask(recall, sid, '--format', 'json').out == grown
    # Nothing of a deleted transcript stays.
    os.unlink(os.path.join(str(tmp_path), '.claude', 'projects', '-home-dev-app', sid + '.jsonl'))
    recall.run('build', program=index_builder)
    assert kept_rows(recall) == {}


def test_secrets_become_no_keywords(tmp_path):
    recall = Recall(tmp_path)
    key = 'sk-ant-api03-' + 'qQ7zR4' * 12
    sid = recall.say('one', 'the deployment key is %s, use it' % key, [small.text('deployed with %s' % key)], 'and deploy again with %s' % key)
    for argv in ((sid,), (sid, '--format', 'json', '--no-redact'), (sid, '--format', 'tsv')):
        out = ask(recall, *argv).out
        assert 'deploy' in out and 'qq7zr4' not in out.lower() and 'api03' not in out


ODD = {
    'nothing said': ([{'type': 'summary', 'summary': 'x', 'leafUuid': 'y'}], 0),
    'only an answer': ([[small.text('hello there')]], 1),
    'a prompt of marks': (['!!! ??? ...', [small.text('...')]], 1),
    'prompts that follow each other': (['first thing', 'second thing', [small.text('both done')]], 1),
    'half a character': (['broken \ud83d text', [small.text('\udc00')]], 1),
}


@pytest.mark.parametrize('name', sorted(ODD))
def test_odd_sessions(name, tmp_path):
    records, count = ODD[name]
    recall = Recall(tmp_path)
    sid = recall.say('odd', *records)
    found = segments.read('claude', lookup.session_at(os.path.join(str(tmp_path), '.claude', 'projects', '-home-dev-app', sid + '.jsonl')).sources)
    assert len(found) == count
    assert all(one.messages > 0 for one in found)


def test_topics_are_the_same_however_few_turns_are_held(tmp_path, monkeypatch):
    recall, records = Recall(tmp_path), []
    for words in LOGIN + STOCK + LOGIN + ['\u5e93\u5b58\u8d85\u5356 \u5e93\u5b58'] * 4:
        records += ['please look at the ' + words, [small.text('done with the ' + words)]]
    sid = recall.say('held', *records)
    sources = lookup.session_at(os.path.join(str(tmp_path), '.claude', 'projects', '-home-dev-app', sid + '.jsonl')).sources
    wanted = segments.read('claude', sources, most=0)
    monkeypatch.setattr(segments, '_TURNS', 1)
    assert len(wanted) > 1 and segments.read('claude', sources, most=0) == wanted


# how well it cuts

def boundaries(found, true, near=2):
    """-> (matched, found, true) boundaries; each true one is matched once, at most `near` messages away."""
    left, hits = list(true), 0
    for place in sorted(found):
        close = [one for one in left if abs(one - place) <= near]
        if close:
            left.remove(min(close, key=lambda one: abs(one - place)))
            hits += 1
    return hits, len(found), len(true)


def f_score(recall, pool, gap, rounds, near=2):
    """-> F1 of the boundaries of `rounds` sessions, each glued from three to eight of a pool."""
    draw, sums = random.Random(11), [0, 0, 0]
    for number in range(rounds):
        sid, starts = glue(recall, 'glued%d' % number, draw.sample(pool, min(len(pool), draw.randint(3, 8))), gap)
        path = os.path.join(recall.folder, '.claude', 'projects', '-home-dev-app', sid + '.jsonl')
        found = segments.read('claude', lookup.session_at(path).sources)
        for place, value in enumerate(boundaries([one.line for one in found[1:]], starts[1:], near)):
            sums[place] += value
    return 2.0 * sums[0] / (sums[1] + sums[2])


def chinese(one):
    return one[0] > '\u3000'


# pool -> (conversations, F1 without pauses, F1 with an hour between them): the halves that nothing was tuned on.
POOLS = {
    'english': (lambda: [one for one in evaluation.conversations() if not chinese(one)][1::2], 0.85, 0.97),
    'chinese': (lambda: [one for one in evaluation.conversations() if chinese(one)][1::2], 0.9, 0.97),
}


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted(POOLS))
def test_glued_conversations_are_cut_apart(name, tmp_path):
    pool, floor, paused = POOLS[name]
    recall = Recall(tmp_path)
    plain = f_score(recall, pool(), 1, 12)
    with_pauses = f_score(recall, pool(), 60, 12)
    assert plain >= floor and with_pauses >= paused, (plain, with_pauses)


@pytest.mark.slow
def test_chinese_small_talk_is_cut_apart(tmp_path):
    folder = os.path.join(shared('retrieval', 'mbcn'), 'home', '.claude', 'projects')
    pool = []
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            with open(os.path.join(where, name), encoding='utf-8') as lines:
                messages = [json.loads(line)['message'] for line in lines]
            pool.append((name, '', '', [(one['role'], one['content'] if isinstance(one['content'], str) else one['content'][0]['text'])
                                        for one in messages]))
    recall = Recall(tmp_path)
    plain, exact = f_score(recall, pool[1::2], 1, 12), f_score(recall, pool[1::2], 1, 12, 1)
    assert plain >= 0.8 and exact >= 0.7, (plain, exact)


@pytest.mark.slow
@pytest.mark.parametrize('name', sorted(POOLS))
def test_a_conversation_by_itself_stays_whole(name, tmp_path):
    recall = Recall(tmp_path)
    pieces = []
    for number, one in enumerate(POOLS[name][0]()):
        sid, _ = glue(recall, 'alone%d' % number, [one])
        pieces.append(len(segments.read('claude', lookup.session_at(
            os.path.join(recall.folder, '.claude', 'projects', '-home-dev-app', sid + '.jsonl')).sources)))
    assert sum(count > 1 for count in pieces) <= 0.1 * len(pieces), pieces


class Counted(dict):
    """A bag that counts how often it is gone through."""

    asked = 0

    def items(self):
        Counted.asked += 1
        return dict.items(self)


@pytest.mark.parametrize('words', ['none', 'another each time'])
def test_work_grows_with_the_turns(words, monkeypatch):
    monkeypatch.setattr(Counted, 'asked', 0)
    bags = [Counted({} if words == 'none' else {'w%d' % i: 0.001}) for i in range(2000)]
    assert segmentation._best(bags, [0.0] * len(bags), 1000.0, 100.0) == []
    assert Counted.asked < len(bags) * (2 if words == 'none' else 210)
