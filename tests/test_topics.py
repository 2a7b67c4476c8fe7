"""Named topics: which a session is routed to and why, the file of topics, sums over a period."""
import json
import os

import pytest

import small
from echolib.base.errors import EchoError
from echolib.insights import topic_set
from echolib.insights.topic_set import Topic
from echolib.insights.topics import Classifier, beside
from helpers import TESTS, environment, scratch
from recalling import Recall

SET = [Topic('bugs', ('bug', 'crash*', 'stack trace', '报错'), ()), Topic('docs', ('readme', 'write up'), ()),
       Topic('web', ('website',), ('WebSearch', 'WebFetch'))]


def found(*prompts, **more):
    return Classifier(SET).classify(list(enumerate(prompts, 1)), **more)


# prompts, title and tools -> [(topic, [(what, line, count)])], best first
CASES = {
    'a word': (['There is a bug'], {}, [('bugs', [('bug', 1, 1)])]),
    'a word is a whole one': (['debugger'], {}, []),
    'a star is any ending': (['it crashed, crashing again'], {}, [('bugs', [('crash*', 1, 1)])]),
    'a phrase, whatever lies between': (['the Stack-Trace says'], {}, [('bugs', [('stack trace', 1, 1)])]),
    'not a phrase': (['trace the stack'], {}, []),
    'Chinese inside a sentence': (['一打开页面就报错了'], {}, [('bugs', [('报错', 1, 1)])]),
    'several messages': (['hello', 'a bug', 'that bug again'], {}, [('bugs', [('bug', 2, 2)])]),
    'the title': ([], {'title': 'README for the parser'}, [('docs', [('readme', 0, 1)])]),
    'tools, by their share': (['hello'], {'tools': {'websearch': 3, 'Bash': 1}}, [('web', [('WebSearch', None, 3)])]),
    'a tool among many others': (['hello'], {'tools': {'WebSearch': 1, 'Bash': 99}}, []),
    'two topics': (['the first bug is a big one, and after that update the readme'], {}, [('bugs', [('bug', 1, 1)]), ('docs', [('readme', 1, 1)])]),
    'the first prompt before later ones': (['please update our old readme', 'and that bug'], {}, [('docs', [('readme', 1, 1)]), ('bugs', [('bug', 2, 1)])]),
    'nothing': (['hello'], {}, []),
    'no prompts': ([], {}, []),
}


@pytest.mark.parametrize('name', sorted(CASES))
def test_classify(name):
    prompts, more, expected = CASES[name]
    one = found(*prompts, **more)
    assert [(score.topic, [(e.what, e.line, e.count) for e in score.evidence]) for score in one.scores] == expected
    assert one.best == (expected[0][0] if expected else None)
    if expected:
        assert sum(score.share for score in one.scores) == pytest.approx(1)


def test_points():
    """3 for the first prompt, 1 for a later one, half more where a prompt opens with it, 2 for the title, 5 at most a word."""
    far = 'one two three four five six seven '
    assert found(far + 'bug').scores[0].points == 3
    assert found('bug').scores[0].points == 4.5
    assert found('x', far + 'bug').scores[0].points == 1
    assert found('x', title=far + 'bug').scores[0].points == 2
    assert found('bug', 'bug', 'bug').scores[0].points == 5
    assert found('x', tools={'WebFetch': 1, 'Bash': 3}).scores[0].points == 1


def test_a_topic_that_comes_close_is_named_beside_the_best():
    assert [score.topic for score in beside(found('the bug in the readme'))] == ['docs']
    assert beside(found('the bug is here', 'x', 'one two three four five six readme')) == []


def test_the_built_in_topics():
    topics = topic_set.built_in()
    assert [topic.name for topic in topics] == 'debugging feature refactor review docs devops data research design learning'.split()
    assert all(any(word < '\x7f' for word in topic.keywords) and any(word > '\u4e00' for word in topic.keywords) for topic in topics)
    assert all(len(set(topic.keywords)) == len(topic.keywords) for topic in topics)


def test_labelled_prompts():
    """69 prompts as people type them, English and Chinese, labelled by hand: at least nine of ten at their topic."""
    with open(os.path.join(TESTS, 'evaluation', 'topics.tsv'), encoding='utf-8') as lines:
        rows = [line.rstrip('\n').split('\t') for line in lines][1:]
    classifier = Classifier(topic_set.built_in())
    assert len(rows) == 69 and set(label for label, _ in rows) == set(topic.name for topic in classifier.topics)
    found = [(label, classifier.classify([(1, text)]).best, text) for label, text in rows]
    wrong = [one for one in found if one[0] != one[1]]
    assert len(wrong) <= 0.1 * len(rows), wrong


# the file of topics

GOOD = {
    'a list of topics': ({'topics': [{'name': 'a', 'keywords': ['x']}]}, [Topic('a', ('x',), ())]),
    'by name': ({'topics': {'b': {'tools': ['Bash']}, 'a': {'keywords': ['x']}}}, [Topic('a', ('x',), ()), Topic('b', (), ('Bash',))]),
    'a bare list': ([{'name': 'a', 'keywords': ['x'], 'more': 1}], [Topic('a', ('x',), ())]),
}
BAD = {
    'no JSON': '{', 'a text': '"x"', 'no topics': '{"topics": []}', 'without a name': '{"topics": [{"keywords": ["x"]}]}',
    'one name twice': '{"topics": [{"name": "a", "keywords": ["x"]}, {"name": "a", "keywords": ["y"]}]}',
    'keywords as text': '{"topics": [{"name": "a", "keywords": "x"}]}', 'nothing to tell it by': '{"topics": [{"name": "a", "keywords": ["!!"]}]}',
    'numbers': '{"topics": [{"name": "a", "keywords": [1]}]}', 'deep': '[' * 100000,
}


@pytest.mark.parametrize('name', sorted(GOOD))
def test_a_file_of_topics(name, tmp_path):
    data, expected = GOOD[name]
    (tmp_path / 'topics.json').write_text(json.dumps(data), encoding='utf-8')
    assert topic_set.load(str(tmp_path)) == (expected, str(tmp_path / 'topics.json'))


@pytest.mark.parametrize('name', sorted(BAD))
def test_a_file_that_cannot_be_used_is_named(name, tmp_path):
    (tmp_path / 'topics.json').write_text(BAD[name], encoding='utf-8')
    with pytest.raises(EchoError) as error:
        topic_set.load(str(tmp_path))
    assert 'topics.json' in str(error.value) and '\n' not in str(error.value)


def test_init_writes_what_is_read_back_and_never_over_a_file(tmp_path):
    assert topic_set.load(str(tmp_path)) == (topic_set.built_in(), None)
    path, written = topic_set.write(str(tmp_path / 'new'))
    assert written and topic_set.load(str(tmp_path / 'new')) == (topic_set.built_in(), path)
    with open(path, 'w', encoding='utf-8') as out:
        out.write('mine')
    assert topic_set.write(str(tmp_path / 'new')) == (path, False)
    with open(path, encoding='utf-8') as lines:
        assert lines.read() == 'mine'


# the command

def ask(recall, *argv, **env):
    from echolib.cli import topic_classify
    return recall.run(*argv, program=topic_classify, **env)


def dated(text, day, number, sid):
    return [small.user(text, number, '2026-03-%02dT10:00:00.000Z' % day, sid=sid),
            small.answer([small.text('done')], number + 1, '2026-03-%02dT10:01:00.000Z' % day, 'msg_%d' % number, tokens=(1000, 100, 0, 0), sid=sid)]


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    recall = Recall(tmp_path_factory.mktemp('topics'))
    for name, texts in (('bug', ['fix the crash in the parser', 'and write docs for it']), ('bug2', ['程序报错了，修复一下']),
                        ('feature', ['implement a dark mode']), ('chat', ['good evening'])):
        records, sid = [], recall.sid(name)
        for text in texts:
            recall.rows += 2
            records += dated(text, 2 if name != 'bug2' else 20, recall.rows, sid)
        recall.say(name, *records)
    return recall


def test_sums_of_topics(home):
    data = ask(home, '--format', 'json').json()
    assert dict((one['topic'], one['sessions']) for one in data['topics']) == {'debugging': 2, 'feature': 1, 'unclassified': 1}
    assert data['topics'][-1]['topic'] == 'unclassified' and data['unclassified'] == 1 and data['sessions'] == 4
    stats = home.run('stats', '--format', 'json').json()
    for key in ('api_calls', 'known_cost_usd'):
        assert sum(one[key] for one in data['topics']) == pytest.approx(stats[key])
    assert sum(one['share'] for one in data['topics']) == pytest.approx(1) == sum(one['cost_share'] for one in data['topics'])
    debugging = data['topics'][0]
    # Three calls of 1,000 tokens in and 100 out at 3 and 15 dollars a million.
    assert debugging['known_cost_usd'] == pytest.approx(3 * (1000 * 3e-6 + 100 * 15e-6))
    assert debugging['first'] == '2026-03-02T10:00:00Z' and debugging['last'] == '2026-03-20T10:01:00Z'


def test_a_period_counts_what_is_in_it(home):
    data = ask(home, '--since', '2026-03-10', '--format', 'json').json()
    assert [(one['topic'], one['sessions'], one['api_calls']) for one in data['topics']] == [('debugging', 1, 1)]
    assert ask(home, '--until', '2026-03-10', '--format', 'json').json()['sessions'] == 3
    assert ask(home, '--days', '3', '--since', '3d').rc == 2
    assert 'no sessions in that time' in ask(home, '--since', '2026-05-01').out


def test_sessions_of_a_topic_say_why(home):
    data = ask(home, '--topic', 'debugging', '--format', 'json').json()
    assert [home.name(one['session_id']) for one in data['sessions']] == ['bug2', 'bug']
    whats = dict((e['what'], e['ref']) for e in data['sessions'][1]['scores'][0]['evidence'])
    assert whats == {'fix': home.sid('bug') + ':1', 'crash*': home.sid('bug') + ':1'}
    text = ask(home, '--topic', 'debugging').out
    assert text.startswith('debugging: 2 sessions\n') and '"crash*" %s:1' % home.sid('bug')[:8] in text and '<recalled-history' in text
    rows = ask(home, '--topic', 'unclassified', '--format', 'tsv').out.splitlines()
    assert rows[0].split('\t')[0] == 'SESSION_ID' and [home.name(row.split('\t')[0]) for row in rows[1:]] == ['chat']
    got = ask(home, '--topic', 'debuging')
    assert got.rc == 2 and 'did you mean debugging?' in got.err


def test_one_session_and_one_text(home):
    data = ask(home, home.sid('bug'), '--format', 'json').json()
    assert data['topic'] == 'debugging' and [score['topic'] for score in data['scores']] == ['debugging', 'docs']
    assert data['scores'][1]['evidence'][0]['ref'] == home.sid('bug') + ':3'
    assert ask(home, '--text', '重构支付模块', '--format', 'json').json()['topic'] == 'refactor'
    assert ask(home, '--text', 'good evening').out.startswith('unclassified: ')
    assert ask(home, home.sid('bug'), '--text', 'x').rc == 2


def test_topics_of_the_user_are_used(home):
    env = {'SESSION_DIGGER_DATA_DIR': os.path.join(scratch(), 'data')}
    assert ask(home, '--init', '--format', 'json', **env).json()['written'] is True
    path = os.path.join(env['SESSION_DIGGER_DATA_DIR'], 'topics.json')
    with open(path, 'w', encoding='utf-8') as out:
        json.dump({'topics': [{'name': 'evenings', 'keywords': ['evening']}]}, out)
    data = ask(home, '--format', 'json', **env).json()
    assert [(one['topic'], one['sessions']) for one in data['topics']] == [('evenings', 1), ('unclassified', 3)]
    with open(path, 'w', encoding='utf-8') as out:
        out.write('{')
    got = ask(home, **env)
    assert got.rc == 1 and len(got.err.splitlines()) == 1 and 'topics.json' in got.err


def test_the_same_without_an_index(home, monkeypatch):
    """Where no index can be kept the transcripts are read, with the same answer."""
    whole = ask(home, '--topic', 'debugging', '--format', 'json').out
    blocked = os.path.join(scratch(), 'file')
    with open(blocked, 'w', encoding='utf-8') as out:
        out.write('no folder')
    assert ask(home, '--topic', 'debugging', '--format', 'json', SESSION_DIGGER_DATA_DIR=os.path.join(blocked, 'data')).out == whole


def test_it_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(os.path.dirname(TESTS), 'scripts'))
    import topic_classify
    assert topic_classify.classify('fix the crash', topic_set.built_in()).best == 'debugging'
