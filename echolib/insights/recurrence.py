"""What comes back in several sessions, as findings: the shape, the least counts, the order."""
from collections import namedtuple
from hashlib import blake2b

# kind: one of KINDS. key: what makes two of it the same. quote: the newest example's words.
# count: times; sessions: row ids; places: Places, newest first; words: what skills are matched by;
# detail: dict, what the kind adds.
Finding = namedtuple('Finding', 'kind key quote count sessions places words detail')

KINDS = ('error', 'correction', 'retry', 'tool', 'sequence', 'prompt')
# Nothing is called recurring below this many different sessions.
LEAST_SESSIONS = 3


def finding(kind, key, occurrences, least, words, detail=None):
    """-> Finding of [(Place, quote)], None where they lie in fewer than `least` sessions."""
    sessions = frozenset(place.session for place, _ in occurrences)
    if len(sessions) < least:
        return None
    ordered = sorted(occurrences, key=lambda o: (-(o[0].time or 0), o[0].file, o[0].line))
    return Finding(kind, key, ordered[0][1], len(ordered), sessions, [place for place, _ in ordered], words, detail or {})


def name_of(one):
    """-> the short name of a finding, the same as long as it is found: error-1f3a5c."""
    return '%s-%s' % (one.kind, blake2b(('%s\n%s' % (one.kind, one.key)).encode('utf-8', 'replace'), digest_size=3).hexdigest())


def ranked(found):
    """-> findings in order: those in more sessions first, but the first of each kind before the second of any."""
    by_kind = {}
    for one in sorted(found, key=lambda f: (-len(f.sessions), -f.count, -(f.places[0].time or 0), f.key)):
        by_kind.setdefault(one.kind, []).append(one)
    out = []
    for place in range(max([len(some) for some in by_kind.values()] or [0])):
        row = [by_kind[kind][place] for kind in KINDS if place < len(by_kind.get(kind, ()))]
        # A kind that is told by a few sessions does not come before one that is told by many, errors and corrections apart.
        out.extend(sorted(row, key=lambda f: (KINDS.index(f.kind) > 1, -len(f.sessions), KINDS.index(f.kind))))
    return out


def spaced(found, most=3):
    """-> up to `most` places of a finding in different sessions, newest first."""
    out, seen = [], set()
    for place in found.places:
        if place.session not in seen:
            seen.add(place.session)
            out.append(place)
        if len(out) == most:
            break
    return out


def span(found):
    """-> (first, last) ms of a finding, None where no place has a time."""
    times = [place.time for place in found.places if place.time is not None]
    return (min(times), max(times)) if times else (None, None)
