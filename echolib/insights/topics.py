"""Which named topics a session belongs to, and by which words and tools: one best topic, others beside it with their weight."""
from collections import namedtuple

from ..base.fold import tokens

# best: name of the topic, None where nothing speaks for any; scores: list of Scores, best first, of all topics something
# speaks for. Score: share is its part of all points; evidence: list of Evidence, strongest first.
Classification = namedtuple('Classification', 'best scores')
Score = namedtuple('Score', 'topic points share evidence')
# kind: keyword or tool; what: the keyword as it stands in the set, or the tool; points; line: of the first prompt that holds
# it (0 in the title), None for tools; count: messages that hold it, or calls.
Evidence = namedtuple('Evidence', 'kind what points line count')

UNCLASSIFIED = 'unclassified'
# Prompts of a session that are looked at, and characters of each.
PROMPTS, _CHARS = 8, 600
# Points of a keyword in the title, the first prompt, a later one; more where a prompt opens with it; at most this many.
_TITLE, _FIRST, _LATER, _OPENS, _AT_MOST = 2.0, 3.0, 1.0, 1.5, 5.0
_OPENING = 6
# Points of a topic's tools, by their share of the session's calls from this share on.
_TOOLS, _SHARE = 4.0, 0.1
# A topic with this part of the best one's points is named beside it.
_BESIDE = 0.5


class Classifier(object):
    """Routes sessions to a set of topics. topics: list of topic_set.Topic."""

    def __init__(self, topics):
        self.topics = topics
        self._keywords = [[(word, _needle(word)) for word in dict.fromkeys(topic.keywords) if tokens(word)] for topic in topics]
        self._tools = [dict((tool.lower(), tool) for tool in topic.tools) for topic in topics]

    def classify(self, prompts, title='', tools=None):
        """-> Classification. prompts: list of (line, text) in order; title: text; tools: {name: calls}."""
        messages = [(line, _TITLE if line == 0 else _FIRST if place == 0 else _LATER, _spaced(text[:_CHARS]))
                    for place, (line, text) in enumerate(prompts[:PROMPTS])]
        if title:
            messages.append((0, _TITLE, _spaced(title)))
        calls = dict((name.lower(), count) for name, count in (tools or {}).items() if count > 0)
        total = float(sum(calls.values()))
        scores = []
        for topic, keywords, named in zip(self.topics, self._keywords, self._tools):
            evidence = [found for found in (_look(word, needle, messages) for word, needle in keywords) if found]
            for tool in sorted(set(named) & set(calls)):
                share = calls[tool] / total
                if share >= _SHARE:
                    evidence.append(Evidence('tool', named[tool], _TOOLS * share, None, calls[tool]))
            if evidence:
                evidence.sort(key=lambda e: (-e.points, e.kind, e.what))
                scores.append([topic.name, sum(one.points for one in evidence), evidence])
        points = sum(score[1] for score in scores)
        # Of equal ones the set's order decides.
        scores.sort(key=lambda s: -s[1])
        return Classification(scores[0][0] if scores else None,
                              [Score(name, round(own, 3), own / points, evidence) for name, own, evidence in scores])


def beside(found):
    """-> the Scores of the topics that are named beside the best one."""
    return [score for score in found.scores[1:] if score.points >= _BESIDE * found.scores[0].points]


def classify(text, topics=None):
    """-> Classification of one text by itself. topics: list of topic_set.Topic (None: the user's or the built-in ones)."""
    if topics is None:
        from ..base import paths
        from .topic_set import load
        topics = load(paths.data_dir())[0]
    return Classifier(topics).classify([(1, text)])


def of_sessions(view, catalog, rows, topics):
    """-> {session row id: Classification} of these sessions."""
    import json

    from .. import analysis
    from ..index.prompts import first_prompts
    classifier = Classifier(topics)
    prompts = first_prompts(view, catalog.sources, rows, PROMPTS)
    out = {}
    for row in rows:
        said = prompts.get(row.id) or ([(0, row.first_prompt)] if row.first_prompt else [])
        tools = analysis.tools_of(json.loads(row.tally or '{}'))
        out[row.id] = classifier.classify(said, row.title if row.title != row.first_prompt else '',
                                          dict((name, one['calls']) for name, one in tools.items()))
    return out


def _spaced(text):
    return ' %s ' % ' '.join(tokens(text))


def _needle(word):
    spaced = _spaced(word)
    return spaced[:-1] if word.rstrip().endswith('*') else spaced


def _look(word, needle, messages):
    points, count, line = 0.0, 0, None
    for where, weight, text in messages:
        at = text.find(needle)
        if at >= 0:
            count += 1
            if line is None:
                line = where
            points += weight * (_OPENS if text.count(' ', 0, at) < _OPENING else 1)
    return Evidence('keyword', word, min(points, _AT_MOST), line, count) if count else None
