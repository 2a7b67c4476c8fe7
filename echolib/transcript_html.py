"""A transcript as one HTML page: nothing is fetched, nothing in it can run, it reads without its script too."""
from base64 import b64encode
from hashlib import sha256
from html import escape

from . import events as ev
from .transcript_html_parts import SCRIPT, STYLE
from .transcript_markdown import facts, stamp
from .transcript_markup import to_html

_POLICY = "default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'"
_BAR = '''<div class="tools-bar" hidden><div><input type="search" id="find" placeholder="Search this page" aria-label="Search this page">
<output id="count" for="find"></output><label><input type="checkbox" id="tools" checked>Tools</label>
<label><input type="checkbox" id="thinking" checked>Thinking</label>
<button type="button" id="open" class="more">Open all</button><button type="button" id="close" class="more">Close all</button></div></div>
'''


def pages(head, entries):
    """Yield the parts of an HTML page, in order. head: transcript_entries.Head; entries: its Entries."""
    title = escape(head.title or 'Session %s' % head.session_id)
    yield ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
           '<meta http-equiv="Content-Security-Policy" content="%s">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
           '<meta name="referrer" content="no-referrer">\n<title>%s</title>\n<style>%s</style>\n</head>\n<body>\n'
           % (_POLICY % (_mark(STYLE), _mark(SCRIPT)), title, STYLE))
    yield '<header class="page">\n<h1 dir="auto">%s</h1>\n<dl class="facts">\n' % title
    for name, value in facts(head):
        yield '<dt>%s</dt><dd>%s</dd>\n' % (name, escape(value))
    yield '</dl>\n%s</header>\n%s<main lang="">\n' % (''.join('<p class="note">%s</p>\n' % escape(n) for n in head.notes), _BAR)
    yield '<nav hidden lang="en"><details><summary>Prompts</summary><ol></ol></details></nav>\n'
    turn = None
    for entry in entries:
        if entry.item.turn != turn:
            if turn is not None:
                yield '</section>\n'
            turn = entry.item.turn
            yield _turn(entry, turn, head.zone)
        yield _article(entry, head.zone)
    if turn is not None:
        yield '</section>\n'
    yield '</main>\n<footer>Made by session-digger from %s. Times are those of %s.</footer>\n<script>%s</script>\n</body>\n</html>\n' % (
        escape(head.session_id), escape(head.zone.name if head.zone.name != 'local' else 'the machine that made this page'), SCRIPT)


def _mark(text):
    return 'sha256-' + b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')


def _turn(entry, turn, zone):
    time = stamp(entry.item.time, zone)
    if not turn:
        return '<section class="turn">\n<h2>Before the first prompt</h2>\n'
    return '<section class="turn" id="turn-%d">\n<h2><a href="#turn-%d">Turn %d</a>%s</h2>\n' % (
        turn, turn, turn, ' \u00b7 ' + time if time else '')


def _article(entry, zone):
    item = entry.item
    kinds = [{'tool': 'tool', 'user': 'user'}.get(item.role, 'thinking' if item.kind == ev.THINKING else item.role)]
    if item.chain:
        kinds.append('sub')
    if item.error or entry.result is not None and entry.result.item.error:
        kinds.append('bad')
    if item.role == 'tool':
        inside = _tool(entry, zone)
    elif entry.is_brief():
        inside = '<div class="who"><b>%s</b>%s%s%s</div>' % (escape(item.label), _time(item, zone), escape(entry.body), _marks(entry))
    elif item.kind == ev.THINKING or item.role == 'system':
        inside = _folded('<b>%s</b> %s%s' % (escape(item.label), escape(entry.title[:160]), _marks(entry)),
                         '<div class="text" dir="auto">%s</div>' % to_html(entry.body))
    else:
        inside = '<div class="who"><b>%s</b>%s%s<a href="#%s">%s</a></div>\n<div class="text" dir="auto">%s</div>' % (
            escape(item.label), _time(item, zone), _marks(entry), entry.anchor, escape(_short(entry.ref)), to_html(entry.body))
    return '<article class="%s" id="%s">%s</article>\n' % (' '.join(kinds), entry.anchor, inside)


def _short(ref):
    """The line of a reference, behind its subagent where there is one."""
    session, _, line = ref.rpartition(':')
    return '%s:%s' % (session.split('/', 1)[1][:12], line) if '/' in session else 'line ' + line


def _time(item, zone):
    return '<time>%s</time>' % stamp(item.time, zone)[11:] if item.time is not None else ''


def _marks(entry):
    return ''.join(' <span class="mark%s">%s</span>' % (' bad' if mark == 'error' else '', escape(mark)) for mark in entry.marks)


def _folded(summary, inside):
    return '<details><summary>%s</summary><div>%s</div></details>' % (summary, inside)


def _pre(text, kind=''):
    return '<pre%s>%s</pre>' % (' class="%s"' % kind if kind else '', escape(text))


def _tool(entry, zone):
    item, result = entry.item, entry.result
    if item.kind == ev.TOOL_RESULT:
        return _folded('<b>%s result</b> <code>%s</code>%s' % (escape(item.label), escape(entry.title[:160]), _marks(entry)), _pre(entry.body))
    parts = []
    for name, text in entry.fields:
        kind = 'old' if name.startswith('old') else 'new' if name.startswith('new') else ''
        parts.append('<h5>%s</h5>%s' % (escape(name), _pre(text, kind)))
    marks = _marks(entry)
    if result is not None:
        marks += ''.join(' <span class="mark%s">%s</span>' % (' bad' if m == 'error' else '', escape(m))
                         for m in result.marks if m not in entry.marks)
        parts.append('<h5 id="%s">Result</h5>%s' % (result.anchor, _pre(result.body) if result.body else '<p>(empty)</p>'))
    return _folded('<b>%s</b> <code>%s</code>%s' % (escape(item.label), escape(entry.title[:160]), marks), ''.join(parts))
