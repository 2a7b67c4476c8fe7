"""What Qwen Code's files tell beside the conversation: its own sums, branches that were left, rows that were copied."""

from ..base.clock import parse_time
from ..base.files import json_object
from ..records import read_records
from .values import count, inner, word


def sums(path, session):
    """See qwen.billed. The client writes a row each time it ends; each holds all that went before."""
    last = None
    try:
        for record in read_records(path):
            if record.data.get('sessionId') == session:
                last = record.data
    except OSError:
        return None
    if last is None:
        return None
    models = inner(last, 'models')
    return [{'model': model, 'time': parse_time(last.get('timestamp')), 'calls': count(inner(models, model).get('requests')),
             'input': count(inner(models, model).get('inputTokens')), 'output': count(inner(models, model).get('outputTokens')),
             'cache_read': count(inner(models, model).get('cachedTokens')), 'thoughts': count(inner(models, model).get('thoughtsTokens'))}
            for model in sorted(models)]


def rewound(path):
    """See qwen.branches: rows that do not lead to the last one were left."""
    parents, last = {}, None
    for record in read_records(path):
        uuid = record.data.get('uuid')
        if type(uuid) is str and uuid not in parents:
            parents[uuid] = word(record.data.get('parentUuid'))
            last = uuid
    ends = len(set(parents) - set(parents.values()))
    while last in parents:
        last = parents.pop(last)
    return max(1, ends), set(parents)


def copied(path):
    """See qwen.inherited."""
    return sum(1 for record in read_records(path) if type(record.data.get('forkedFrom')) is dict)


def sidecar(path):
    """-> the object in the .meta.json beside a subagent's transcript, {} where there is none."""
    return json_object(path[:-6] + '.meta.json')
