"""The report as one HTML page: nothing is fetched, nothing runs, a table stands behind each chart."""
from base64 import b64encode
from hashlib import sha256
from html import escape

from ..base import clock
from ..insights.activity import day_of
from . import trends_report_charts as charts
from .common import amount, compact
from .trends_common import cost, name, quantity
from .trends_report_style import STYLE

_POLICY = "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'"
_DAY_NAMES = 'Mon Tue Wed Thu Fri Sat Sun'.split()
_MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()
# Models, tools and projects with a colour or a row of their own; weeks of the calendar.
_SERIES, _TOOLS, _PROJECTS, _WEEKS = 6, 15, 15, 53


def pages(view, report, found, title, facts):
    """Yield the parts of the page. report: insights.report.Report; found: JSON of insights; facts: lines about the selection."""
    mark = b64encode(sha256(STYLE.encode('utf-8')).digest()).decode('ascii')
    yield ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="%s">\n'
           '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
           '<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n' % (
               _POLICY % mark, escape(title), STYLE, escape(title)))
    for fact in facts:
        yield '<p class="dim" dir="auto">%s</p>\n' % escape(fact)
    yield '</header>\n<main>\n%s' % _tiles(view, report)
    if report.days:
        yield _calendar(report, day_of(view.end, view.zone))
        colors = dict((key, at) for at, key in enumerate(report.models[:_SERIES]))
        yield _over_time(view, report, colors, 'Cost', lambda m: sum(m.costs) / 1e12, 'usd')
        yield _over_time(view, report, colors, 'Tokens', lambda m: sum(m.buckets), 'tokens')
        yield '<div class="pair">\n%s%s</div>\n' % (_cache(report), _hours(report))
    yield _projects(view, report)
    yield _context(view, report)
    yield _tools(view, report)
    yield _findings(view, found)
    yield ('</main>\n<footer>\n<p>Each thing counts once, by its own id, over all files. Cost is what the calls would cost at API list prices of'
           ' %s, each at the rates of its day: not a bill. What is not known is not guessed: a call without a price is left out and said so.</p>\n'
           '<p>Made by session-digger on this machine. The page loads nothing and sends nothing.</p>\n</footer>\n</body>\n</html>\n'
           % escape(view.prices.as_of))


def _section(title, inside, note=''):
    return '<section>\n<h2>%s</h2>\n%s%s</section>\n' % (escape(title), '<p class="dim">%s</p>\n' % escape(note) if note else '', inside)


def _table(heads, rows, summary='Table'):
    """A folded table; the first column holds names."""
    return '<details><summary>%s</summary>%s</details>\n' % (escape(summary), _open_table(heads, rows))


def _rows(heads, rows, most):
    """A table of the first rows, the others folded below it."""
    rest = _table(heads, rows[most:], '%d more' % (len(rows) - most)) if len(rows) > most else ''
    return _open_table(heads, rows[:most]) + rest


def _open_table(heads, rows):
    # A wide table scrolls in its place, with keys too.
    out = ['<div class="hold" role="region" tabindex="0" aria-label="%s"><table><thead><tr>' % escape('table by ' + heads[0])]
    for at, head in enumerate(heads):
        if head:
            # A bar and its figure stand under one head.
            wide = ' colspan="2"' if heads[at + 1:at + 2] == [''] else ''
            out.append('<th scope="col"%s%s>%s</th>' % (' class="name"' if at == 0 else '', wide, escape(head)))
    out.append('</tr></thead><tbody>\n')
    for row in rows:
        out.append('<tr>')
        for at, cell in enumerate(row):
            # A bar comes as markup made here, in a tuple; everything else is text.
            if isinstance(cell, tuple):
                out.append('<td class="fill">%s</td>' % cell[0])
            elif at == 0:
                out.append('<th scope="row" class="name" dir="auto">%s</th>' % escape(cell))
            else:
                out.append('<td>%s</td>' % escape(cell))
        out.append('</tr>\n')
    return ''.join(out) + '</tbody></table></div>'


def _scroll(chart, label):
    """A chart in a place of its own to scroll, with keys too."""
    return '<div class="scroll" role="region" tabindex="0" aria-label="%s">%s</div>\n' % (escape(label), chart)


def _tiles(view, report):
    keys = report.figures
    tiles = [
        (amount(view.sessions), 'sessions'), (amount(keys['turns']), 'prompts'), (amount(keys['api_calls']), 'API calls'),
        (compact(keys['total_tokens']), 'tokens'), (cost(keys), 'at list prices' + (
            '' if keys['cost_usd'] is not None else '; calls without a price: %s' % amount(keys['unpriced']['calls']))),
        (quantity(keys['cache_hit_rate'], 'share'), 'of what was sent came from the cache'),
        ('%s of %s' % (amount(keys['tool_errors']), amount(keys['tool_calls'])), 'tool calls failed'),
        (amount(len(report.days)), 'days with work; %d in a row' % report.streak[0])]
    return '<ul class="tiles">\n%s</ul>\n' % ''.join('<li><b>%s</b><span>%s</span></li>\n' % (escape(value), escape(what)) for value, what in tiles)


def _calendar(report, end_day):
    # A wrong clock's days are in the table, and push no others out of the picture.
    days = [day for day in sorted(report.days) if day <= end_day] or sorted(report.days)
    last = days[-1] - (days[-1] + 3) % 7
    first = max(days[0] - (days[0] + 3) % 7, last - 7 * (_WEEKS - 1))
    counts = sorted(report.days[day].calls for day in days if report.days[day].calls) or [1]
    edges = sorted(set(counts[len(counts) * part // 4] for part in (1, 2, 3)) - {counts[-1]}) + [counts[-1]]
    # The busiest days are always the darkest.
    shades = (1, 2, 3, 4)[-len(edges):]
    weeks, months = [], {}
    for start in range(first, last + 1, 7):
        week = []
        for day in range(start, start + 7):
            if not days[0] <= day <= days[-1]:
                week.append((None, ''))
                continue
            found = report.days.get(day)
            calls = found.calls if found else 0
            level = 0 if not calls else shades[sum(1 for edge in edges if calls > edge)]
            week.append((level, '%s %s: %s' % (_DAY_NAMES[(day + 3) % 7], clock.day_name(day), _day_words(found))))
        year, month, date = clock.civil_from_days(start)
        if date <= 7 or not weeks and date < 22:
            months[len(weeks)] = _MONTHS[month - 1]
        weeks.append(week)
    rows = [[clock.day_name(day)] + _day_cells(report.days[day]) for day in sorted(report.days, reverse=True) if day >= first]
    note = 'API calls a day%s' % (', the last %d weeks of %s to %s' % (_WEEKS, clock.day_name(days[0]), clock.day_name(days[-1]))
                                  if first > days[0] else ', %s to %s' % (clock.day_name(days[0]), clock.day_name(days[-1])))
    legend = _legend([('l0', 'none')] + [('l%d' % shade, 'up to %s' % amount(edge)) for shade, edge in zip(shades, edges)])
    inside = '%s%s%s' % (
        _scroll(charts.calendar(note, weeks, months), 'Activity'), legend, _table(['day', 'prompts', 'API calls', 'tokens', 'cost', 'tool calls', 'failed'], rows))
    return _section('Activity', inside, note)


def _tokens(found):
    return sum(sum(one.buckets) for one in found.models.values())


def _day_words(found):
    if found is None:
        return 'nothing'
    return '%s API calls, %s prompts, %s tokens, %s' % (
        amount(found.calls), amount(found.turns), compact(_tokens(found)), quantity(found.cost / 1e12, 'usd'))


def _day_cells(found):
    return [amount(found.turns), amount(found.calls), amount(_tokens(found)), quantity(found.cost / 1e12, 'usd'), amount(found.tool_calls),
            amount(found.tool_errors)]


def _legend(entries):
    return '<ul class="legend">%s</ul>\n' % ''.join('<li><i class="%s"></i>%s</li>' % (kind, escape(words)) for kind, words in entries)


def _over_time(view, report, colors, title, part, unit):
    """Stacked bars of a figure by model, the models without a colour together."""
    names = sorted(colors, key=colors.get)
    rest = len(report.models) > len(names)
    bars, rows = [], []
    for bar in report.bars:
        values = [part(bar.sums.models[key]) if key in bar.sums.models else 0 for key in names]
        if rest:
            values.append(sum(part(found) for key, found in bar.sums.models.items() if key not in colors))
        total = sum(part(found) for found in bar.sums.models.values())
        words = ', '.join('%s %s' % (name(view, key, 40), quantity(value, unit)) for key, value in zip(names + ['other models'], values) if value)
        bars.append((bar.label, '%s: %s%s' % (bar.label, quantity(total, unit), ' (%s)' % words if words else ''), values))
        rows.append([bar.label] + [quantity(value, unit) for value in values] + [quantity(total, unit)])
    shown = [name(view, key, 40) for key in names] + (['other models'] if rest else [])
    undated = sum(part(found) for found in report.undated.models.values())
    if undated:
        rows.append(['(no time)'] + [quantity(part(report.undated.models[key]) if key in report.undated.models else 0, unit) for key in names] +
                    (['-'] if rest else []) + [quantity(undated, unit)])
    whole = sum(part(found) for bar in report.bars for found in bar.sums.models.values()) + undated
    note = 'by model and %s%s; %s in all%s' % (
        report.unit, ' (from Monday)' if report.unit == 'week' else '', quantity(whole, unit),
        ', calls without a price left out' if unit == 'usd' and report.figures['cost_usd'] is None else '')
    inside = '%s%s%s' % (
        _scroll(charts.stacked('%s %s' % (title, note), bars, lambda value: _short(value, unit)), title),
        _legend([('s%d' % at, words) for at, words in enumerate(shown)]), _table([report.unit] + shown + ['all'], rows))
    return _section(title, inside, note)


def _short(value, unit):
    """An axis label."""
    if unit == 'usd':
        return '$%g' % round(value, 6) if value < 10000 else '$%s' % compact(int(value))
    return compact(int(round(value)))


def _cache(report):
    points, rows = [], []
    from ..insights import measures
    for bar in report.bars:
        found = bar.sums
        read, sent = measures.bucket(found, 'cache_read'), measures.prompt_tokens(found)
        written = measures.bucket(found, 'cache_write_5m', 'cache_write_1h')
        share = read / float(sent) if sent else None
        points.append((bar.label, '%s: %s of %s tokens sent' % (bar.label, quantity(share, 'share'), compact(sent)), share))
        rows.append([bar.label, quantity(share, 'share'), amount(read), amount(written), amount(measures.bucket(found, 'input'))])
    note = 'share of the tokens sent that came from the cache; %s over all' % quantity(report.figures['cache_hit_rate'], 'share')
    inside = '%s%s' % (
        _scroll(charts.line('Cache: ' + note, points, lambda value: '%.0f %%' % (100 * value)), 'Cache'),
        _table([report.unit, 'from the cache', 'read', 'written', 'not cached'], rows))
    return _section('Cache', inside, note)


def _hours(report):
    top = max(max(row) for row in report.hours) or 1
    rows = []
    for at, counts in enumerate(report.hours):
        rows.append([(0 if not count else 1 + min(3, 4 * (count - 1) // top), '%s %02d:00: %s API calls' % (_DAY_NAMES[at], hour, amount(count)))
                     for hour, count in enumerate(counts)])
    cells = [['%02d:00' % hour] + [amount(report.hours[day][hour]) for day in range(7)] for hour in range(24)]
    undated = report.undated.calls
    note = 'API calls by weekday and hour%s' % ('; %s without a time' % amount(undated) if undated else '')
    inside = '%s%s%s' % (
        _scroll(charts.heat(note, rows, _DAY_NAMES), 'Hours of the week'), _legend([('l0', 'none'), ('l1', 'few'), ('l4', 'up to %s' % amount(top))]),
        _table(['hour'] + _DAY_NAMES, cells))
    return _section('Hours of the week', inside, note)


def _projects(view, report):
    themes = [theme for theme in report.projects if theme.keys['api_calls'] or theme.keys['turns']]
    themes.sort(key=lambda theme: (-theme.keys['known_cost_usd'], -theme.keys['total_tokens'], theme.key))
    top = max([theme.keys['known_cost_usd'] for theme in themes] or [0]) or 1
    rows = []
    for theme in themes:
        keys = theme.keys
        rows.append([name(view, theme.key, 60, True), (charts.bar(keys['known_cost_usd'] / top),), quantity(keys['known_cost_usd'], 'usd') + (
            ' *' if keys['cost_usd'] is None else ''), amount(len(theme.sessions)), amount(keys['turns']), amount(keys['api_calls']),
            compact(keys['total_tokens']), quantity(keys['tool_error_rate'], 'share')])
    heads = ['project', 'cost', '', 'sessions', 'prompts', 'API calls', 'tokens', 'tools fail']
    note = '%d with work' % len(themes) + ('; * some calls have no price' if any(t.keys['cost_usd'] is None for t in themes) else '')
    inside = _rows(heads, rows, _PROJECTS)
    return _section('Projects', inside if rows else '<p class="dim">none</p>', note)


def _context(view, report):
    """What sessions begin with, before anything was done."""
    if not report.contexts:
        return ''
    top = max(one.p90 for one in report.contexts) or 1
    rows = [[name(view, one.project, 60, True), (charts.spread(one.median / top, one.p90 / top),), amount(int(one.median)), amount(int(one.p90)),
             amount(one.sessions) + (' (few)' if one.sessions < 5 else '')] for one in report.contexts]
    note = 'tokens that sessions send with their first call: memory files, tools, skills; dark: half of them send less, light: nine of ten'
    return _section('Context at the start', _rows(['project', 'median', '', '90 % below', 'sessions'], rows, _PROJECTS), note)


def _tools(view, report):
    rows = []
    top = max([theme.keys['calls'] for theme in report.tools] or [0]) or 1
    for theme in report.tools:
        keys = theme.keys
        rate = keys['error_rate']
        rows.append([name(view, theme.key, 60), (charts.bar(keys['calls'] / float(top)),), amount(keys['calls']), amount(keys['errors']),
                     (charts.bar(rate or 0.0, 'bad'),), quantity(rate, 'share') + (' (few)' if keys['calls'] < 20 else ''), amount(keys['declined']),
                     amount(len(theme.sessions))])
    heads = ['tool', 'calls', '', 'failed', 'share that fails', '', 'declined', 'sessions']
    inside = _rows(heads, rows, _TOOLS)
    note = '%s calls, %s failed, %s declined' % tuple(amount(report.figures[key]) for key in ('tool_calls', 'tool_errors', 'declined'))
    return _section('Tools', inside if rows else '<p class="dim">none</p>', note)


def _findings(view, found):
    from .trends_insights import few_of_a_kind
    out = []
    kept, left = few_of_a_kind(found['findings'])
    for one in kept:
        sessions = ', '.join('<code>%s</code>' % escape(view.clean.line(sid)) for sid in one['sessions'])
        out.append('<li class="%s"><b dir="auto">%s</b><p dir="auto">%s</p><p>%s</p><p class="dim">told from: %s (%s)%s</p></li>\n' % (
            escape(one['severity']), escape(view.clean.line(one['title'])), escape(view.clean.line(one['evidence'])),
            escape(view.clean.line(one['action'])), escape(one['threshold']), escape(one['code']), '; sessions: ' + sessions if sessions else ''))
    inside = '<ol class="findings">\n%s</ol>\n' % ''.join(out) if out else '<p class="dim">nothing to find fault with</p>'
    if left:
        inside += '<p class="dim">%s; all of them: trend-engine.py insights --limit 0</p>\n' % ', '.join(
            '%d more of %s' % (count, escape(code)) for code, count in sorted(left.items()))
    return _section('Findings', inside, 'each with what it rests on and from where it is told')
