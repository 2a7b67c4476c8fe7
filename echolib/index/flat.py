"""The order of a shard's prose where its words tell nothing apart: half of all documents hold the one that is looked for, so what
counts is who said it, and when."""
from heapq import merge

from . import schema
from .search import WEIGHTS, freshness

# As the index docs_ranked has them. What has no time counts as new.
_OF_KIND = 'select id, time from docs where kind = %d and kind < 5 and time %s and id < ? order by time desc, id'
_TIMES = '> 0', '<= 0', 'is null'


def by_kind_and_time(db, end, weight, newest, kinds=None):
    """-> iterator of (document, score), best first, of all that people and models said: no more is read than is taken.

    db: a shard.  end: documents from this one on do not count.  weight: what the word gives.  newest: ms from which age is
    told.  kinds: set of document kinds, None for all.
    """
    streams = [_stream(db.execute(_OF_KIND % (kind, times), (end,)), weight * WEIGHTS[kind], newest)
               for kind in sorted(WEIGHTS) if kind < schema.HISTORY_DOC and (kinds is None or kind in kinds) for times in _TIMES]
    return ((doc, -score) for score, _, doc in merge(*streams))


def _stream(rows, worth, newest):
    for doc, time in rows:
        yield -worth * freshness(time, newest), float('inf') if time is None else -time, doc
