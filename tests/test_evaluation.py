"""How well search answers: mean reciprocal rank on questions with known answers, by session and by message.

The floors lie just below today's figures (tests/bench/README.md): who lowers one says why there.
"""
import json
import os
import sys

import pytest

from helpers import TESTS, newer_only, shared
from recalling import Recall

sys.path.insert(0, os.path.join(TESTS, 'evaluation'))

import known_answers as evaluation  # noqa: E402

pytestmark = pytest.mark.slow


def reciprocal(found, wanted):
    """-> 1 / place of the first of `found` that is wanted, 0 when none is."""
    return next((1.0 / place for place, one in enumerate(dict.fromkeys(found), 1) if one in wanted), 0.0)


def figures(recall, folder, scopes=None):
    """-> (session MRR, message MRR) of a set with known answers; scopes: {project: directory} to search in, all without."""
    wanted, lines = {}, {}
    with open(os.path.join(folder, 'qrels.tsv'), encoding='utf-8') as rows:
        for row in rows:
            query, session, message = row.split()
            sessions, messages = wanted.setdefault(query, (set(), set()))
            sessions.add(session)
            messages.add(message)
    by_session, by_message = [], []
    with open(os.path.join(folder, 'queries.jsonl'), encoding='utf-8') as rows:
        for query in map(json.loads, rows):
            hits = recall.search(query['text'], '--limit', '30', '--no-refresh', '--scope', scopes[query['project']] if scopes else 'all')['hits']
            sessions, messages = wanted[query['qid']]
            by_session.append(reciprocal([hit['session_id'] for hit in hits], sessions))
            for hit in hits:
                if hit['full_path'] not in lines:
                    with open(hit['full_path'], encoding='utf-8') as records:
                        lines[hit['full_path']] = [json.loads(line).get('uuid') for line in records]
            by_message.append(reciprocal([lines[hit['full_path']][hit['line'] - 1] for hit in hits], messages))
    return sum(by_session) / len(by_session), sum(by_message) / len(by_message)


def test_the_set_is_whole():
    conversations, questions = evaluation.conversations(), evaluation.questions()
    names = dict((name, messages) for name, _, _, messages in conversations)
    assert len(names) == len(conversations) == 40 and len(questions) == 60
    assert len(set(text for _, text, _, _ in questions)) == 60
    for _, text, name, places in questions:
        assert places and all(1 <= place <= len(names[name]) for place in places), text
    assert set(kind for kind, _, _, _ in questions) == set('words question identifier error date typo chinese mixed'.split())


def test_questions_about_coding_work(tmp_path):
    evaluation.write(str(tmp_path))
    recall = Recall(tmp_path / 'home')
    recall.run('sessions')
    session, message = figures(recall, str(tmp_path))
    assert session >= 0.95 and message >= 0.87, (session, message)


@newer_only
def test_chinese_conversations():
    import shutil
    folder = shared('retrieval', 'mbcn')
    from helpers import scratch
    home = os.path.join(scratch(), 'home')
    shutil.copytree(os.path.join(folder, 'home'), home)
    recall = Recall(home)
    rows = recall.run('sessions', '--format', 'json', '--limit', '0').json()['sessions']
    scopes = dict((os.path.basename(row['project_path']), row['project_path']) for row in rows)
    session, message = figures(recall, folder, scopes)
    assert session >= 0.955 and message >= 0.735, (session, message)
