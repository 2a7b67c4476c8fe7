"""Which shape a file of an unknown agent has, and how sure that is.

A shape is tried on the first records; it is taken when most of them fit it and it really yields texts. Structure decides,
never words in texts.
"""
from collections import namedtuple

from . import universal_fields as fields
from .universal_families import BY_NAME, CUSTOM, FAMILIES, HISTORIES, mapped

# What probe() found. family: its name, '' for none; lines, fits, texts: records looked at, those that fit, messages with text;
# sure: high, medium, low or none; why: one sentence; speakers: {name: role}; own_ids: ids may be trusted to tell messages
# apart; usage: messages or rows (which records say what calls cost); running: counters are running totals; sessions: ids
# named; keys: the commonest top-level keys.
Shape = namedtuple('Shape', 'family lines fits texts sure why speakers own_ids usage running sessions keys')
# So much of a file is looked at, and what must fit.
RECORDS, BYTES = 50, 256 << 10
_SHARE = 0.6


def speakers(names, known=False):
    """-> {name: role} of speakers in their order: known words keep their role; of others the first is the person, where no
    word says who that is (known: it is said elsewhere), and the rest are the agent."""
    told = dict((name, fields.role_of(name)) for name in names)
    for name in names:
        if not told[name]:
            told[name] = 'assistant' if known or 'user' in told.values() else 'user'
    return told


def _try(family, records, mapping):
    """-> (records that fit, messages with text, {speaker: role})."""
    told = {}
    if family.speaker is not None:
        names = []
        for r in records:
            name = family.speaker(r) if family.fits(r) else ''
            if name and name not in names:
                names.append(name)
        told = speakers(names, mapping is not None and 'user' in mapping.roles.values())
        if len(told) < 2 and family.name != CUSTOM:
            return 0, 0, told
    if family.needs is not None and not any(family.needs(r) for r in records):
        return 0, 0, told
    fits = texts = 0
    for r in records:
        if not family.fits(r):
            continue
        fits += 1
        for role, data in family.unfold(r, told) or ():
            texts += any(p.text.strip() for p in fields.pieces(data, role))
    return fits, texts, told


def probe(records, mapping=None):
    """-> Shape of the first records of a file (list of dicts). mapping: a Mapping that names the family or the fields."""
    lines = len(records)
    chosen = FAMILIES
    if mapping is not None and mapping.fields:
        chosen = (mapped(mapping),)
    elif mapping is not None and mapping.family:
        chosen = (BY_NAME[mapping.family],)
    counts = {}
    for r in records:
        for key in r:
            counts[key] = counts.get(key, 0) + 1
    keys = tuple(sorted(counts, key=lambda k: (-counts[k], k))[:12])
    best = ''
    for family in chosen:
        fits, texts, told = _try(family, records, mapping)
        if not fits:
            continue
        share = fits / float(lines)
        # A session that has just begun holds one text.
        if texts and (len(chosen) == 1 or share >= _SHARE and (texts > 1 or share == 1.0 and family.name not in HISTORIES)):
            return _shape(family, records, fits, texts, told, keys, mapping if len(chosen) == 1 else None)
        best = best or '%d of %d records look like %s (%s), %d with text' % (fits, lines, family.name, family.says, texts)
    why = best or ('no record' if not lines else 'no record has a role or a speaker beside a text')
    return Shape('', lines, 0, 0, 'none', why, {}, False, '', False, (), keys)


def _shape(family, records, fits, texts, told, keys, mapping):
    lines = len(records)
    share = fits / float(lines)
    guessed = any(not fields.role_of(name) for name in told)
    if guessed or share < 0.75 or texts < 4:
        sure = 'low'
    else:
        sure = 'high' if share >= 0.9 and family.speaker is None else 'medium'
    messages, rows, counts, ids, sessions = 0, 0, [], {}, []
    for r in records:
        sid = fields.at(r, mapping.fields['session']) if mapping and 'session' in mapping.fields else fields.session_of(*fields.places_of(r))
        if type(sid) is str and sid and sid not in sessions:
            sessions.append(sid)
        found = family.unfold(r, told)
        costs = fields.counters(r)
        if found:
            messages += costs is not None
            ident = fields.id_of(found[0][1], r)
            if ident:
                ids.setdefault(ident, set()).add(fields.text_of(fields.text_value(found[0][1])[1])[:200])
        elif costs is not None:
            rows += 1
        if costs is not None and (not counts or fields.raw_counts(costs) != counts[-1]):
            counts.append(fields.raw_counts(costs))
    # Snapshots of a message that grows begin alike; different texts under one id are no messages of that id.
    mixed = sum(1 for said in ids.values() if len(said) > 1 and not _grows(said))
    why = '%d of %d records have the shape %s (%s), %d texts' % (fits, lines, family.name, family.says, texts)
    if guessed:
        why += '; who is the person is guessed'
    return Shape(family.name, lines, fits, texts, 'told' if mapping else sure, why, told, mixed * 3 <= len(ids), 'messages' if messages else
                 'rows' if rows else '', is_running(counts), tuple(sessions), keys)


def _grows(said):
    said = sorted(said, key=len)
    return all(b.startswith(a) for a, b in zip(said, said[1:]))


def is_running(counts):
    """True for a row of (input, output) that can only be running totals: at least five, both larger each time."""
    return len(counts) >= 5 and all(b[0] > a[0] and b[1] > a[1] for a, b in zip(counts, counts[1:]))
