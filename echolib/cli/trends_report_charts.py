"""Charts as inline SVG. Colours come from the page's style sheet by class; every text is escaped here."""
from html import escape
from math import ceil, floor, log10

WIDE, HALF, _HEIGHT = 940, 460, 230
# The axis stands on the right, where a chart too wide for its place is seen first.
_LEFT, _RIGHT, _TOP, _BOTTOM = 6, 58, 10, 24
# Horizontal room a label of an axis takes.
_LABEL = 104


def svg(width, height, label, inside, kind):
    """-> an SVG element that scales with its place; kind: its class, which says how small it may get."""
    return '<svg class="%s" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' % (
        kind if kind == 'short' else 'chart ' + kind, width, height, width, height, escape(label), ''.join(inside))


def text(x, y, words, kind='', anchor='start'):
    """-> a text element."""
    return '<text x="%.1f" y="%.1f"%s text-anchor="%s">%s</text>' % (x, y, ' class="%s"' % kind if kind else '', anchor, escape(words))


def ticks(largest):
    """-> about four round numbers from 0 to at least `largest`."""
    if largest <= 0:
        return [0, 1]
    power = int(floor(log10(largest / 4.0)))
    step = next(size * 10.0 ** power for size in (1, 2, 2.5, 5, 10) if largest / (size * 10.0 ** power) <= 4.0001)
    count = int(ceil(largest / step - 1e-9))
    return [step * i for i in range(max(1, count) + 1)]


def _frame(largest, form, labels, width):
    """-> (elements of axes and grid, function value -> y, width of a place)."""
    marks = ticks(largest)
    top = marks[-1]

    def y(value):
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * value / float(top)
    out = []
    for mark in marks:
        out.append('<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>' % (_LEFT, width - _RIGHT, y(mark), y(mark)))
        out.append(text(width - _RIGHT + 6, y(mark) + 4, form(mark), 'axis'))
    place = (width - _LEFT - _RIGHT) / float(max(1, len(labels)))
    every = max(1, int(_LABEL / place + 0.999))
    for at in range(0, len(labels), every):
        middle = _LEFT + place * (at + 0.5)
        out.append(text(max(middle, _LEFT + 36), _HEIGHT - 7, labels[at], 'axis', 'middle'))
    return out, y, place


def stacked(label, bars, form):
    """-> SVG of stacked bars. bars: list of (label, title, values), each list of values in the order of the colours."""
    largest = max([sum(values) for _, _, values in bars] or [0])
    out, y, place = _frame(largest, form, [name for name, _, _ in bars], WIDE)
    gap = min(4.0, 0.2 * place)
    for at, (_, title, values) in enumerate(bars):
        if not any(values):
            continue
        below = 0.0
        out.append('<g><title>%s</title>' % escape(title))
        for color, value in enumerate(values):
            if value > 0:
                out.append('<rect class="s%d" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>' % (
                    color, _LEFT + place * at + gap / 2, y(below + value), max(0.5, place - gap), max(0.2, y(below) - y(below + value))))
                below += value
        out.append('</g>')
    return svg(WIDE, _HEIGHT, label, out, 'wide')


def line(label, points, form):
    """-> SVG of a share over time. points: list of (label, title, value between 0 and 1 or None)."""
    out, y, place = _frame(1.0, form, [name for name, _, _ in points], HALF)
    path, pen = [], 'M'
    for at, (_, title, value) in enumerate(points):
        if value is None:
            pen = 'M'
            continue
        x = _LEFT + place * (at + 0.5)
        path.append('%s%.1f %.1f' % (pen, x, y(value)))
        pen = 'L'
        out.append('<circle class="s0" cx="%.1f" cy="%.1f" r="%.1f"><title>%s</title></circle>' % (
            x, y(value), 3.0 if place > 8 else 1.5, escape(title)))
    out.append('<path class="stroke" d="%s"/>' % ' '.join(path))
    return svg(HALF, _HEIGHT, label, out, 'half')


def calendar(label, weeks, months):
    """-> SVG of a calendar. weeks: lists of seven (level 0 to 4 or None, title), Monday first; months: {week: name}."""
    size, gap, left, top = 12, 3, 36, 18
    out = [text(left - 6, top + (size + gap) * row + 10, name, 'axis', 'end') for row, name in ((0, 'Mon'), (2, 'Wed'), (4, 'Fri'), (6, 'Sun'))]
    for at, days in enumerate(weeks):
        x = left + (size + gap) * at
        if at in months:
            out.append(text(x, 11, months[at], 'axis'))
        for row, (level, title) in enumerate(days):
            if level is not None:
                out.append('<rect class="l%d" x="%d" y="%d" width="%d" height="%d" rx="2"><title>%s</title></rect>' % (
                    level, x, top + (size + gap) * row, size, size, escape(title)))
    return svg(left + (size + gap) * max(len(weeks), 4), top + (size + gap) * 7, label, out, 'calendar' if len(weeks) > 40 else 'short')


def heat(label, rows, names):
    """-> SVG of 24 columns. rows: lists of (level, title); names: of the rows."""
    size, height, left, top = 17, 27, 36, 20
    out = [text(left + size * hour + size / 2.0, 13, '%02d' % hour, 'axis', 'middle') for hour in range(0, 24, 2)]
    for at, row in enumerate(rows):
        out.append(text(left - 6, top + height * at + 17, names[at], 'axis', 'end'))
        for hour, (level, title) in enumerate(row):
            out.append('<rect class="l%d" x="%d" y="%d" width="%d" height="%d" rx="2"><title>%s</title></rect>' % (
                level, left + size * hour + 1, top + height * at + 1, size - 2, height - 2, escape(title)))
    return svg(left + size * 24 + 16, top + height * 7 + 2, label, out, 'half')


def bar(share, kind='s0'):
    """-> SVG of a bar as wide as its place, filled to a share."""
    return '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8"/>' \
           '<rect class="%s" width="%.2f" height="8"/></svg>' % (kind, 100 * min(1.0, max(0.0, share)))


def spread(middle, high):
    """-> SVG of a bar filled to one share and, lighter, to another."""
    return '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8"/>' \
           '<rect class="l2" width="%.2f" height="8"/><rect class="s0" width="%.2f" height="8"/></svg>' % (100 * min(1.0, high), 100 * min(1.0, middle))
