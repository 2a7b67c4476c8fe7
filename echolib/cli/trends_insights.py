"""trend-engine.py insights."""
from ..base import text as texts
from . import options as opt
from .common import amount, dump
from .trends_common import TZ, Opened, model, most, name, nothing

_COLUMNS = 'CODE SEVERITY TITLE EVIDENCE THRESHOLD ACTION AT_STAKE_USD SIZE SESSION'.split()
_MOST, _ALIKE = 12, 3


def command():
    """-> Command."""
    return opt.Command(
        'insights', 'What deserves a look: findings with evidence, threshold and what to do.', (),
        (opt.option('--limit', 'int', None, 'at most this many findings (0: all; default %d in text)' % _MOST, 'N'), TZ) + opt.SELECTION + opt.COMMON,
        ('insights', 'insights --scope current --since 30d', 'insights --format json'), _run)


def case(view, *watchers):
    """-> findings.Case of the chosen sessions; watchers: further ones to feed."""
    from ..insights import findings, regressions, signals, whatif
    watch = signals.Watch(view.prices)
    reprice = whatif.Reprice(view.prices, whatif.models_of(view.rows, view.prices), view.now)
    activity = view.activity((watch, reprice) + watchers)
    return findings.Case(activity, watch.sessions, regressions.find(activity), reprice.mixes())


def gather(view, looked_at=None):
    """-> the JSON object; findings are all there are."""
    from ..insights import findings
    from ..pricing import usd
    looked_at = looked_at or case(view)
    data = dict(view.head(), findings=[])
    for one in findings.find(looked_at):
        names = [_name(view, value) for value in one.names]
        words = dict((key, getattr(one, key).format(*names) if '{' in getattr(one, key) else getattr(one, key)) for key in (
            'title', 'evidence', 'threshold', 'action'))
        data['findings'].append(dict(
            words, code=one.code, severity=one.severity, names=[view.clean(value) for value in one.names],
            at_stake_usd=None if one.usd is None else usd(int(one.usd)), size=one.size, sessions=[view.short(number) for number in one.sessions]))
    data['not_judged'] = [{'code': code, 'why': why} for code, why in looked_at.skipped]
    return data


def _name(view, value):
    return name(view, value, 44, True) if '/' in value or '\\' in value else model(view, value, 44)


def _run(args, out):
    with Opened(args, out) as view:
        data = gather(view)
        data['total_findings'] = len(data['findings'])
        data['alike'] = {}
        if args.format not in ('json', 'tsv') and args.limit is None:
            data['findings'], data['alike'] = few_of_a_kind(data['findings'])
        data['findings'] = data['findings'][:most(args, _MOST)]
        if args.format == 'json':
            del data['alike']
            dump(out, data)
        elif args.format == 'tsv':
            out.line('\t'.join(_COLUMNS))
            for one in data['findings']:
                cells = [one[key] for key in ('code', 'severity', 'title', 'evidence', 'threshold', 'action')] + [
                    '' if one['at_stake_usd'] is None else '%.6f' % one['at_stake_usd'], one['size'], one['sessions'][0] if one['sessions'] else '']
                out.line('\t'.join(texts.cell(cell) for cell in cells))
        else:
            _text(out, args, view, data)


def few_of_a_kind(found):
    """-> (findings with at most three of each code, {code: how many were left out})."""
    counts, kept, left = {}, [], {}
    for one in found:
        counts[one['code']] = counts.get(one['code'], 0) + 1
        if counts[one['code']] <= _ALIKE:
            kept.append(one)
        else:
            left[one['code']] = left.get(one['code'], 0) + 1
    return kept, left


def _text(out, args, view, data):
    if not view.rows:
        nothing(out, args)
        return
    found = data['findings']
    out.line('%s in %s sessions' % (
        'nothing to find fault with' if not found else '%d finding%s' % (data['total_findings'], '' if data['total_findings'] == 1 else 's'),
        amount(view.sessions)))
    for number, one in enumerate(found, 1):
        out.line()
        out.line('%d. %s: %s' % (number, one['severity'], one['title']))
        out.line('   %s' % one['evidence'])
        out.line('   told from: %s (%s)' % (one['threshold'], one['code']))
        out.line('   to do: %s' % one['action'])
        if one['sessions']:
            out.line('   sessions: %s' % ', '.join(one['sessions']))
    if data['total_findings'] > len(found):
        alike = ', '.join('%d more %s' % (count, code) for code, count in sorted(data['alike'].items()))
        out.line('  and %d more (--limit 0)%s' % (data['total_findings'] - len(found), ': ' + alike if alike else ''))
    out.line()
    for one in data['not_judged']:
        out.line('not judged: %s: %s' % (one['code'], one['why']))
    out.line('One session: sd-recall.py session-stats SESSION. Money: list prices of %s' % data['prices_as_of'])
