"""JSON that others wrote, decoded within bounds of time and memory: the one place that decodes it.

`[[],[],...` takes 24 times its length in memory, an integer of a million digits takes minutes, a million brackets end
in RecursionError. What is like that is refused with a ValueError that says why; nothing is decoded of it first.
"""
import sys

# Shorter texts are not looked at: whatever they hold, it is little.
LARGE = 1 << 19
# Bytes that the values of a text may take, by the weights below (up to twice what they do take): so many, or so many times
# its length. A whole file that is one JSON value holds many small objects in good faith.
_MOST, _TIMES, DOCUMENT = 32 << 20, 5, 12
_DIGITS = 4300
# Bytes that come with each of these signs: an empty list, an empty dict of Python 3.6, a key in a dict, a place in a list with
# a number, half a short string. Measured on Python 3.6 and 3.13.
_WEIGHTS = (('[', 88), ('{', 248), (':', 100), (',', 40), ('"', 28))
_STEP = 1 << 18


def _bounded_int(text):
    # Converting a million digits takes time that grows with the square; newer Pythons refuse by themselves.
    if len(text) > _DIGITS:
        raise ValueError('a number of %d digits' % len(text))
    return int(text)


class _Plain(object):
    """How JSON is read: what json.JSONDecoder() holds."""

    strict, object_hook, object_pairs_hook, parse_float = True, None, None, float
    parse_int = int if hasattr(sys, 'get_int_max_str_digits') else _bounded_int
    parse_constant = {'NaN': float('nan'), 'Infinity': float('inf'), '-Infinity': float('-inf')}.__getitem__


class _Loose(_Plain):
    strict = False


def _scanner(how):
    """-> scan(text, at) -> (value, end); StopIteration where no value begins, ValueError, RecursionError."""
    try:
        # The scanner that json uses; json itself loads `re`, which takes longer than all that a search has to read.
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder
        return JSONDecoder(strict=how.strict, parse_int=how.parse_int).scan_once
    return make_scanner(how)


scan_once = _scanner(_Plain)
_BLANKS = ' \t\r\n'


def scan_loose(text, at):
    """scan_once() for texts whose strings hold control characters as they are, which JSON has escaped."""
    return _scanner(_Loose)(text, at)


def too_much(text, times=_TIMES):
    """-> why a text (str or bytes) is not to be decoded, None for what may be. times: see _TIMES and DOCUMENT."""
    if len(text) < LARGE:
        return None
    most = max(_MOST, times * len(text))
    # Signs inside of strings cost nothing; only where there are many is it told what is inside.
    if _weight(text, most) <= most or _weight(_outside(text), most) <= most:
        return None
    return 'more values than fit in memory'


def _weight(text, most):
    """Bytes that the values between these signs may take, wherever they stand; no more is counted once `most` is passed."""
    total = 0
    for sign, bytes_ in _WEIGHTS:
        total += bytes_ * text.count(sign.encode('ascii') if isinstance(text, bytes) else sign)
        if total > most:
            break
    return total


def _outside(text):
    """-> what of a JSON text stands outside of its strings, and their quotes."""
    quote, slash, pair, escaped, nothing = (b'"', b'\\', b'\\\\', b'\\"', b'') if isinstance(text, bytes) else ('"', '\\', '\\\\', '\\"', '')
    string = quote + quote
    out, inside, at = [], False, 0
    while at < len(text):
        piece = text[at:at + _STEP]
        at += _STEP
        while piece[-1:] == slash and at < len(text):
            # What a backslash escapes is looked at together with it.
            piece += text[at:at + 64]
            at += 64
        parts = piece.replace(pair, nothing).replace(escaped, nothing).split(quote)
        out.append(string.join(parts[1 if inside else 0::2]))
        inside ^= len(parts) % 2 == 0
        if inside and len(parts) > 1:
            out.append(string)
    return nothing.join(out)


def loads(text, times=_TIMES):
    """-> the value of a JSON text (str). ValueError for what cannot be decoded, or only at too high a cost; RecursionError for
    what is nested too deep. times: see DOCUMENT."""
    why = too_much(text, times)
    if why is not None:
        raise ValueError(why)
    start = len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = scan_once(text, start)
    except StopIteration:
        raise ValueError('no JSON')
    if text[end:].strip(_BLANKS):
        raise ValueError('more behind the JSON value')
    return value
