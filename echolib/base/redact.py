"""Masks secrets in text before it is shown: a best effort, not a guarantee.

Known key formats, private key blocks, passwords in URLs and headers, and values whose name says secret become
`[redacted:kind]`. A secret without a known form and without such a name is not seen; nor is one that was cut before it
came here, so mask first and cut afterwards. Where a value may be code or prose it stays. Work is linear in the text.

All searching is done on the text as ASCII bytes, one byte for each character: find and translate are several times
faster there than a regular expression, and positions stay the same. Where characters are spelt out (%3D, \\u0022, &quot;)
the text is looked at a second time as what it says. The forms (redact_formats) and names (redact_named) are loaded where a
text holds a long run of letters, or one of their words.
"""

from .patterns import Pattern

_CLASSES = bytes(97 if c < 128 and chr(c).isalnum() or c in b'_-' else 32 for c in range(256))
# Known forms have at least so many letters in a row, which ordinary text has few of.
_RUN = b'a' * 18
# Each finder of redact_named runs only where one of its words is in the text at all, and is told which.
_FINDERS = (
    ('find_named', (b'pass', b'secret', b'token', b'key', b'credential', b'auth', b'pwd')),
    ('find_blocks', (b'private key',)),
    ('find_urls', (b'://',)),
    ('find_headers', (b'auth', b'bearer ')),
    ('find_cookies', (b'cookie',)),
    ('find_others', (b'secret', b'sig=', b'-signature=', b'machine ', b'default login ', b'curl ', b'sshpass ', b'mysql',
                     b'redis-cli ', b'docker login ')),
)
_NEEDLES = frozenset(n for _finder, needles in _FINDERS for n in needles)
# Passwords, then keys and tokens, as Chinese, Japanese and Korean name them.
PASSWORDS = ('\u5bc6\u7801', '\u5bc6\u78bc', '\u53e3\u4ee4', '\u30d1\u30b9\u30ef\u30fc\u30c9', '\ube44\ubc00\ubc88\ud638')
ASIAN = PASSWORDS + ('\u5bc6\u94a5', '\u5bc6\u9470', '\u79c1\u94a5', '\u4ee4\u724c', '\u51ed\u8bc1', '\u30c8\u30fc\u30af\u30f3',
                     '\ud1a0\ud070')
_WIDE = dict((code, code - 0xfee0) for code in range(0xff01, 0xff5f))
# How often what is spelt out is read as what it says: %253D is %3D.
_TIMES = 3
_SIGNS = (b'%2', b'%3', b'%4', b'%5', b'%7', b'%E', b'%e', b'\\u', b'&q', b'&l', b'&g', b'&a', b'&#')
_SPELT = Pattern(
    r'((?:%[2-7][0-9A-Fa-f]|%0[9ADad]|(?:%[89A-Fa-f][0-9A-Fa-f]){2,})+)|\\+u([0-9A-Fa-f]{4})|'
    r'&(?:(quot|lt|gt|amp|apos)|#(?:([0-9]{2,5})|x([0-9A-Fa-f]{2,4})));')
_NAMES = {'quot': '"', 'lt': '<', 'gt': '>', 'amp': '&', 'apos': "'"}


def redact(text):
    """`text` with secrets replaced by [redacted:kind]; the same object where there are none. A best effort."""
    spans = _find(text)
    if not spans:
        return text
    parts, at = [], 0
    for start, end, _rank, kind in spans:
        parts += [text[at:start], '[redacted:%s]' % kind]
        at = end
    return ''.join(parts + [text[at:]])


def count_secrets(text):
    """How many places redact would mask."""
    return len(_find(text))


def _find(text, times=_TIMES):
    """[(start, end, rank, kind)] in order and without overlap."""
    raw = text.encode('ascii', 'replace')
    foreign = b'?' in raw
    if foreign and max(text) >= '\uff01':
        text = text.translate(_WIDE)
        raw = text.encode('ascii', 'replace')
    found = []
    marked = raw.translate(_CLASSES) + b' '
    if _RUN in marked:
        from . import redact_formats
        found = redact_formats.find(raw, marked, _RUN)
    low = raw.lower()
    present = [n for n in _NEEDLES if n in low]
    asian = foreign and any(word in text for word in ASIAN)
    if present or asian:
        from . import redact_named
        for finder, needles in _FINDERS:
            needles = [n for n in needles if n in present]
            if needles:
                getattr(redact_named, finder)(raw, low, found, needles)
        if asian:
            redact_named.find_asian(text, raw, found)
    if times and (b'%' in raw or b'&' in raw or b'\\u' in raw) and any(sign in raw for sign in _SIGNS):
        found += _find_spelt(text, times - 1)
    if len(found) < 2:
        return found
    merged = []
    for span in sorted(found):
        if merged and span[0] < merged[-1][1]:
            last = merged.pop()
            rank, kind = min(last[2:], span[2:])        # a known format says more than the name before it
            span = (last[0], max(last[1], span[1]), rank, kind)
        merged.append(span)
    return merged


def _find_spelt(text, times):
    """What is found where characters that are spelt out stand for what they say; in places of `text`."""
    parts, starts, places, at, size = [], [0], [0], 0, 0
    for m in _SPELT.finditer(text):
        start = m.start()
        for one, length in _said(m):
            parts += [text[at:start], one]
            size += start - at
            at = start + length
            starts += [size, size + 1]
            places += [start, at]
            start, size = at, size + 1
    if not parts:
        return []
    from bisect import bisect_right

    def place(spot):
        n = bisect_right(starts, spot) - 1
        return places[n] + spot - starts[n]
    return [(place(start), place(end), rank, kind) for start, end, rank, kind in _find(''.join(parts) + text[at:], times)]


def _said(m):
    """-> [(character, length of its spelling)] of a match of _SPELT."""
    octets, code, name, number, hexadecimal = m.groups()
    if octets:
        data = bytes(int(octets[n:n + 2], 16) for n in range(1, len(octets), 3))
        try:
            return [(one, 3 * len(one.encode('utf-8'))) for one in data.decode('utf-8')]
        except UnicodeDecodeError:
            return [(chr(one), 3) for one in data]
    if name:
        one = _NAMES[name]
    elif number:
        one = chr(int(number))
    else:
        one = chr(int(code or hexadecimal, 16))
    return [(one, len(m.group()))]
