"""The Markdown that people and models write, as far as a page needs it: told apart from code, made safe, as HTML.

Every function takes any text, in time that grows with its length. What is not understood stays as it was written.
"""
import re
from html import escape

_OPENER = re.compile(r'([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4})(`{3,}(?=[^`]*\Z)|~{3,})(.*)\Z')
_HEADING = re.compile(r' {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*\Z')
_LIST = re.compile(r'([ \t]*)([-*+]|\d{1,4}[.)])[ \t]+(\S.*)\Z')
_TAG = re.compile(r'<(?=[A-Za-z/!?])')
_INLINE = re.compile(
    r'\*\*(?P<bold>[^\s*](?:[^*\n]{0,500}[^\s*])?)\*\*'
    r'|\[(?P<name>[^\[\]\n]{1,300})\]\((?P<to>https?://[^\s()<>"\']{1,2000})\)'
    r'|(?P<url>https?://[^\s<>"\'`()\[\]{}|\\^]{1,2000})')
# Markdown links to anything but web pages, and the definitions of links that stand elsewhere.
_LINKED = re.compile(r'\]\((?!https?://)')
_DEFINED = re.compile(r'\A([ \t>]*)\[(?=[^\[\]]{1,999}\]:(?!\s*https?://))')
# Longer lines are data, not prose.
_LONG = 8000


def blocks(text):
    """Yield ('text', '', lines) and ('code', name, lines) of a text: fenced code apart from everything else."""
    lines, fence, name, indent = [], None, '', 0
    for line in text.split('\n'):
        if fence is not None:
            bare = line.strip()
            if bare and not bare.strip(fence[0]) and len(bare) >= len(fence):
                yield 'code', name, lines
                lines, fence = [], None
            else:
                lines.append(line[indent:] if not line[:indent].strip() else line.lstrip())
            continue
        found = _OPENER.match(line) if '```' in line or '~~~' in line else None
        if found is None:
            lines.append(line)
            continue
        before = found.group(1)
        if before.strip('-*+ \t'):
            lines.append(before.rstrip())
        if lines:
            yield 'text', '', lines
        lines, fence, indent = [], found.group(2), len(before)
        name = found.group(3).strip()
    if lines:
        yield ('text', '', lines) if fence is None else ('code', name, lines)


def longest_run(text, char='`'):
    """-> the length of the longest run of a character in a text."""
    longest = 0
    if char in text:
        for found in re.finditer(re.escape(char) + '+', text):
            longest = max(longest, found.end() - found.start())
    return longest


def fenced(text, name=''):
    """-> a Markdown code block that no run of backticks in the text can end."""
    fence = '`' * max(3, longest_run(text) + 1)
    return '%s%s\n%s\n%s' % (fence, re.sub(r'[^\w+#.-]', '', name)[:30], text.strip('\n'), fence)


def spans(line):
    """-> list of (is code, text) of a line: what stands between equal runs of backticks is code."""
    if '`' not in line:
        return [(False, line)]
    runs = [(m.start(), m.end()) for m in re.finditer('`+', line)]
    closing, later = [None] * len(runs), {}
    for place in range(len(runs) - 1, -1, -1):
        size = runs[place][1] - runs[place][0]
        closing[place] = later.get(size)
        later[size] = place
    out, at, place = [], 0, 0
    while place < len(runs):
        if closing[place] is None:
            place += 1
            continue
        (start, opened), (closed, end) = runs[place], runs[closing[place]]
        if start > at:
            out.append((False, line[at:start]))
        out.append((True, line[opened:closed]))
        at, place = end, closing[place] + 1
    if at < len(line):
        out.append((False, line[at:]))
    return out


def tame(text, deeper=3):
    """-> a Markdown text that cannot reach beyond its own lines: headings lowered, tags shown as text, fences closed."""
    out = []
    for kind, name, lines in blocks(text):
        if kind == 'code':
            out.append(fenced('\n'.join(lines), name))
            continue
        for line in lines:
            found = _HEADING.match(line)
            if found:
                line = '%s %s' % ('#' * min(6, len(found.group(1)) + deeper), found.group(2))
            out.append(_tame_line(line))
    return '\n'.join(out)


def _tame_line(line):
    if '<' in line or '](' in line or ']:' in line or '![' in line:
        # A picture would be fetched from wherever it says by whoever looks at the page; a link may run something.
        line = ''.join(quoted(part) if code else _TAG.sub('&lt;', _LINKED.sub(r']\\(', part)).replace('![', '\\![') for code, part in spans(line))
        line = _DEFINED.sub(r'\1\\[', line)
    return line


def quoted(code):
    """-> a Markdown code span that shows a line as it is."""
    ticks = '`' * (longest_run(code) + 1)
    room = ' ' if code[:1] == '`' or code[-1:] == '`' or not code else ''
    return ticks + room + code + room + ticks


def one_line(text):
    """-> a line of Markdown that shows a text as it is, in a heading or a list."""
    return re.sub(r'([\\`*_\[\]#|~])', r'\\\1', escape(text, quote=False))


def to_html(text):
    """-> HTML of a text: code blocks, headings, lists, tables, bold, code and links; everything else as written."""
    out = []
    for kind, name, lines in blocks(text):
        if kind == 'code':
            label = '<span class="lang">%s</span>' % escape(name[:30]) if name else ''
            out.append('<pre>%s<code>%s</code></pre>' % (label, escape('\n'.join(lines))))
        else:
            _prose(lines, out)
    return '\n'.join(out)


def _prose(lines, out):
    paragraph = []

    def end():
        if paragraph:
            out.append('<p>%s</p>' % '\n'.join(paragraph))
            del paragraph[:]

    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip():
            end()
            continue
        if line.lstrip()[:1] == '|':
            table = [line]
            while at < len(lines) and lines[at].lstrip()[:1] == '|':
                table.append(lines[at])
                at += 1
            end()
            out.append(_table(table))
            continue
        heading, item = _HEADING.match(line), _LIST.match(line)
        if heading and len(line) < _LONG:
            end()
            out.append('<h4 class="h%d">%s</h4>' % (len(heading.group(1)), inline(heading.group(2))))
        elif item and len(line) < _LONG:
            end()
            depth = min(5, len(item.group(1).expandtabs(4)) // 2)
            mark = item.group(2) if item.group(2)[0].isdigit() else '\u2022'
            out.append('<p class="li d%d"><span>%s</span>%s</p>' % (depth, mark, inline(item.group(3))))
        else:
            paragraph.append(inline(line))
    end()


def _cells(line):
    line = line.strip()
    return [cell.strip() for cell in line[1:-1 if line.endswith('|') and len(line) > 1 else None].split('|')]


def _table(lines):
    if len(lines) < 2 or not re.match(r'[|\s:-]+\Z', lines[1]) or '-' not in lines[1]:
        return '<p>%s</p>' % '\n'.join(inline(line) for line in lines)
    rows = []
    for place, line in enumerate(lines):
        if place != 1:
            tag = 'td' if place else 'th'
            rows.append('<tr>%s</tr>' % ''.join('<%s>%s</%s>' % (tag, inline(cell), tag) for cell in _cells(line)))
    return '<div class="wide"><table>%s</table></div>' % '\n'.join(rows)


def inline(line):
    """-> HTML of one line: code, bold and links to web pages; the rest escaped."""
    if len(line) > _LONG:
        return escape(line)
    return ''.join('<code>%s</code>' % escape(part) if code else _styled(part) for code, part in spans(line))


def _styled(text):
    if '*' not in text and '://' not in text:
        return escape(text)
    out, at = [], 0
    for found in _INLINE.finditer(text):
        out.append(escape(text[at:found.start()]))
        at = found.end()
        if found.group('bold') is not None:
            out.append('<b>%s</b>' % escape(found.group('bold')))
        elif found.group('to') is not None:
            out.append(_link(found.group('to'), found.group('name')))
        else:
            url = found.group('url').rstrip('.,;:!?*_')
            out.append(_link(url, url))
            at = found.start() + len(url)
    out.append(escape(text[at:]))
    return ''.join(out)


def _link(url, text):
    return '<a href="%s" rel="noopener noreferrer nofollow">%s</a>' % (escape(url), escape(text))
