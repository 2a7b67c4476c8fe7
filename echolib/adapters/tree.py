"""A session's files as one stream: merged by time, in-file order kept, memory in the number of files."""
import heapq

from ..records import Coverage
from . import registry


def merged(agent, sources, coverages=None):
    """Yield (Source, event) of all files of a tree, oldest first.

    Within a file its own order stands, also where its clock goes back. coverages: list that gets a Coverage a file; one
    that cannot be opened counts a parse error there and the others go on.
    """
    adapter = registry.get(agent)
    streams = []
    for place, source in enumerate(sources):
        streams.append(_keyed(adapter, source, place, coverages))
    for _, _, _, source, event in heapq.merge(*streams, key=_order):
        yield source, event


def _order(item):
    return item[:3]


def _keyed(adapter, source, place, coverages):
    coverage = Coverage(source.path)
    if coverages is not None:
        coverages.append(coverage)
    latest = -1
    count = 0
    try:
        for events in adapter.read(source, coverage):
            for event in events:
                if event.time is not None and event.time > latest:
                    latest = event.time
                count += 1
                yield latest, place, count, source, event
    except OSError as error:
        coverage.damage(0, error.strerror or str(error))
