"""What got worse, since when, and how sure that is: changes of level in the series of comparisons.

Of a hundred histories in which nothing changed three at most give any alarm (ALLOWED): every comparison pays
for the choice of its day (see shifts) and for the number of comparisons made. A difference must also be large enough
to matter, and still stand at the end.
"""
from collections import namedtuple

from . import comparisons, shifts
from .comparisons import MODEL_SHARE

ALLOWED = 0.03
# Differences that matter: a ratio by this factor; a share by this factor and this much; a model's share by this much.
LEAST_FACTOR, LEAST_SHARE_FACTOR, LEAST_SHARE, LEAST_MODEL_SHARE = 1.25, 1.5, 0.03, 0.25
# Days within which changes of one subject are told together.
TOGETHER = 7

# before, after: the figures; before_whole, after_whole: what they are of (calls, prompts, ...); sessions_*: how many
# sessions; chance: that nothing changed and it looks so anywhere; sessions: ids worth opening, most telling first.
Alarm = namedtuple('Alarm', 'series day up worse before after before_whole after_whole before_sessions after_sessions chance '
                            'sessions like_for_like')
# alarms: worse or a model switch; better: the rest; unclear: Alarms that chance could have made; compared, too_small:
# numbers of series; factor: by what each chance was multiplied.
Findings = namedtuple('Findings', 'alarms better unclear compared too_small factor')


def find(activity):
    """-> Findings in an Activity."""
    found = comparisons.works(activity, ledgers=False)
    inside = comparisons.of_projects(found)
    everywhere = comparisons.of_all(found)
    least = dict((id(series), shifts.least_chance(series.units)) for series in inside + everywhere)
    judged = [series for series in inside if least[id(series)] <= ALLOWED]
    wide = [series for series in everywhere if least[id(series)] <= ALLOWED]
    factor = shifts.affordable([least[id(series)] for series in judged + wide], ALLOWED)
    clear, unclear = [], []
    wider = _alikeness(judged)
    for series in judged:
        _judge(series, factor, wider, clear, unclear)
    # What one project shows is not told again as a change everywhere.
    hit = set(alarm.series.subject['project'] for alarm in clear)
    if hit:
        possible = set(_name(series) for series in wide)
        wide = [series for series in comparisons.of_all(found, hit)
                if _name(series) in possible and shifts.least_chance(series.units) <= ALLOWED]
    for series in wide:
        _judge(series, factor, wider, clear, unclear)
    clear.sort(key=_by_chance)
    unclear.sort(key=_by_chance)
    alarms = [alarm for alarm in clear if alarm.worse or alarm.series.measure == MODEL_SHARE]
    total = len(inside) + len(everywhere)
    return Findings(alarms, [alarm for alarm in clear if alarm not in alarms], unclear, total,
                    sum(1 for chance in least.values() if chance > ALLOWED), factor)


def _name(series):
    return series.measure, series.subject.get('tool') or series.subject.get('model')


def _by_chance(alarm):
    return alarm.chance, alarm.series.measure, sorted(alarm.series.subject.items())


def _alikeness(found):
    """-> {shares or not: how alike neighbours are in such series, on average}: a single one shows it too roughly."""
    sums = {}
    for series in found:
        wider, count = shifts.alikeness(series.units, comparisons.scores(series))
        have = sums.setdefault(series.share, [0.0, 0])
        have[0] += wider * count
        have[1] += count
    return dict((share, total / count if count else 1.0) for share, (total, count) in sums.items())


def _judge(series, factor, wider, clear, unclear):
    """Put the changes of one series where they belong."""
    scores = comparisons.scores(series)
    for start, split, end in _splits(series.units, scores, factor, wider.get(series.share, 1.0)):
        alarm = _alarm(series, start, split, end, min(1.0, split.chance * factor))
        if alarm is None:
            continue
        if alarm.chance <= ALLOWED:
            clear.append(alarm)
        elif alarm.chance <= 0.5:
            unclear.append(alarm)


def _splits(units, scores, factor, wider):
    """Yield (start, Split, end) of the best split, and of those in its parts where it is clear."""
    waiting = [(0, len(units))]
    while waiting:
        start, end = waiting.pop()
        split = shifts.best_split(units[start:end], scores[start:end], wider)
        if split is None:
            continue
        split = split._replace(at=split.at + start)
        yield start, split, end
        if split.chance * factor <= ALLOWED:
            waiting.extend([(start, split.at), (split.at, end)])


def _alarm(series, start, split, end, chance):
    """-> Alarm, or None where the difference is too small to matter or has gone again since."""
    units = series.units
    before, after = units[start:split.at], units[split.at:end]
    new, new_whole, new_sessions = shifts.level(after)
    old, old_whole, old_sessions = shifts.level(before)
    like = len(set(unit.stratum for unit in units)) > 1
    if like:
        # Each project weighs in both figures what it weighs after the change.
        old, new = _like_for_like(before, after)
    if old is None or new is None or not _matters(series, old, new) or (new > old) != split.up:
        return None
    if end < len(units):
        now = shifts.level(units[end:])[0] if not like else shifts.level_like(units[end:], after)
        if now is None or not _matters(series, old, now) or (now > old) != split.up:
            return None
    worse = series.bad != 0 and split.up == (series.bad > 0)
    telling = sorted(after, key=lambda u: (-_weight(series, u, old, split.up), u.day, u.session))
    sessions = []
    for unit in telling:
        if unit.session not in sessions:
            sessions.append(unit.session)
    return Alarm(series, split.day, split.up, worse, old, new, old_whole, new_whole, old_sessions, new_sessions, chance, sessions[:3], like)


def _like_for_like(before, after):
    both = set(unit.stratum for unit in before) & set(unit.stratum for unit in after)
    pattern = [unit for unit in after if unit.stratum in both]
    return shifts.level_like(before, pattern), shifts.level_like(after, pattern)


def _weight(series, unit, old, up):
    """How much a unit's part exceeds what the old level would have given."""
    return (unit.part - old * unit.whole) * (1 if up else -1)


def _matters(series, old, new):
    small, large = min(old, new), max(old, new)
    if series.measure == MODEL_SHARE:
        return large - small >= LEAST_MODEL_SHARE
    if series.share:
        return large - small >= LEAST_SHARE and large >= LEAST_SHARE_FACTOR * small
    return large >= LEAST_FACTOR * small and large > 0


def together(alarms):
    """-> list of lists: alarms of one kind and project (or all) that began within a week of each other, most certain first."""
    groups = []
    for alarm in alarms:
        for group in groups:
            first = group[0]
            if _kind(first) == _kind(alarm) and abs(first.day - alarm.day) <= TOGETHER:
                group.append(alarm)
                break
        else:
            groups.append([alarm])
    return groups


def _kind(alarm):
    """What alarms must share to be told together: a project, and what they are about."""
    measure, subject = alarm.series.measure, alarm.series.subject
    if measure == MODEL_SHARE:
        about = 'model'
    elif measure in ('tool_errors', comparisons.TOOL_ERRORS):
        about = 'tools'
    elif measure in ('declined', 'interruptions'):
        about = measure
    else:
        about = 'cost'
    return subject.get('project'), about
