"""Secrets that are known by what stands beside them: a name, a header, an address, the marks of a key block.

Every finder takes (the text as ASCII bytes, the same in lower case, the list it adds (start, end, rank, kind) to, and which
of its words the text holds).
"""
from .patterns import Pattern
from .redact import ASIAN, PASSWORDS
from .redact_formats import DIGITS, TOKEN_CHARS, is_filler, is_random

_BASE64 = TOKEN_CHARS[:62] + b'+/='

# A value that is plain words, each with a short number at most: my-token-2, db.credentials, ApiKey.
_WORDY = Pattern(br'[A-Za-z]+[0-9]{0,4}(?:[-_./:][A-Za-z]*[0-9]{0,4})*\Z')
_SECRET_WORD = Pattern(br'passw|secret|token|credential|key\b|your|change.?me|placeholder|redacted|masked|hidden')
_NO_VALUES = frozenset(
    b'true false none null nil undefined string str text number int integer float bool boolean bytes object any void '
    b'unknown optional required missing invalid empty unset default input output value values type types list dict map '
    b'array buffer include omit same-origin basic bearer digest enter prompt stdin env environ enabled disabled yes no '
    b'auto on off new old this self test never always char varchar record function async await return'.split())
# What stands for a value instead of being one, from its start on: templates, paths, addresses, ids of messages.
_STAND_INS = (br'\$[({]|\$\w+\Z|\{[\w. {}]*\}\Z|<[^<>]*>\Z|\[redacted|\[[\w: -]*\]?\Z|%(?:[sr]\Z|\(|\w+%\Z)|'
              br'(?:~|\.{1,2})?/(?:[a-z0-9_.-]+/)*[a-z0-9_.-]*\Z|[A-Za-z]:\\|https?://|file:|'
              br'(?:msg|toolu|req|call|resp)_[A-Za-z0-9]')
_STAND_IN = Pattern(_STAND_INS)
# The same without quotes round it, where it may also be code.
_REFERENCE = Pattern(
    br'[$<{%*(\[&@`#]|\\|(?:process|os|env|self|this|args|config|settings|secrets|options|opts|params|props|'
    br'req|request|ctx|context|event|state)\??[.\[]|[A-Za-z_][\w.]*[(\[{]|' + _STAND_INS)
# Words before 'token' that count or mark tokens; before 'key', those that promise a secret and those that do not.
_NO_TOKENS = frozenset(b'page next continuation cancel cancellation cursor eos bos pad unk stop sep cls mask max min '
                       b'num sync per prev start end special first last input output total'.split())
_SECRET_KEYS = tuple(b'api access secret private auth account encrypt encryption decryption sign signing master '
                     b'service role session subscription storage license deploy admin client app application consumer '
                     b'shared webhook anon jwt hmac aes'.split())
_NO_KEYS = (b'pub', b'primary', b'foreign', b'cache', b'sort', b'partition', b'hash', b'object', b'idempotency', b'row',
            b'unique', b'group', b'host')
_ENDINGS = frozenset(b'prod production dev test staging live value b base plain old new v'.split())
_NAME_CHARS = b'abcdefghijklmnopqrstuvwxyz0123456789_-.'
_SIGNS = (b'=', b':', b'>', b'!')
_LINE_ENDS = (b'', b'\n', b'\r', b'\v', b'\f')
_HUMPS = Pattern(br'[A-Z]+(?![a-z])|[A-Z]?[a-z]+')
_names = {}


def _name_kind(name):
    """'password', 'secret', 'token', 'credential' or 'key' for a name that promises one, else ''."""
    kind = _names.get(name)
    if kind is None:
        if len(_names) > 5000:
            _names.clear()
        kind = _names[name] = _judge_name(name)
    return kind


def _judge_name(name):
    last = name.split(b'.')[-1]
    words = [w.lower() for w in _HUMPS.findall(last)]
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    if not words or b'public' in last.lower():
        return ''
    word, before = words[-1], words[-2] if len(words) > 1 else b''
    if word.endswith((b'password', b'passwd', b'passphrase', b'passcode')) or word in (b'pass', b'pwd'):
        return 'password'
    if word.endswith(b'secret'):
        return 'secret'
    if word.endswith(b'token'):
        return '' if (word[:-5] or before) in _NO_TOKENS else 'token'
    if word in (b'credential', b'credentials', b'auth'):
        return 'credential'
    if word.endswith(b'key') and (word != b'key' or before):
        before = word[:-3] or before
        if before.endswith(_SECRET_KEYS):
            return 'secret'
        return 'key' if last.isupper() and b'_' in last and not before.endswith(_NO_KEYS) else ''
    return ''


_VALUE = br'''(\\{0,7}(?:"""|\'\'\'|["'`]))?(?=\S)'''
_ASSIGN = Pattern(
    br'''[\w.-]{0,24}(\\{0,7}["'`]?\]?)(?:[ \t]?:[ \t]?[\w.\[\]]{1,24}[ \t](?==[ \t]))?'''
    br'''[ \t]{0,8}(=>|:=|={1,3}|!=|:|>)[ \t]{0,8}(?:[bfru]{1,2}(?=["'`]))?''' + _VALUE)
_OPTION = Pattern(br'[\w-]{0,24}()()[ \t]{1,4}' + _VALUE)


def find_named(raw, low, found, needles):
    """Values whose name says secret: NAME=value, name: value, "name": "value", --name value, <name>value</name>."""
    options = b'--' in low
    for needle in needles:
        at = low.find(needle)
        while at >= 0:
            end = at + len(needle)
            # Most of these words stand in prose, with no sign behind their name, or one that ends a line.
            after = low[end:end + 64].lstrip(_NAME_CHARS).lstrip(b'\\"\'`] \t')
            m = _ASSIGN.match(low, end) if after[:1] in _SIGNS and _goes_on(after) else None
            if not m and options and low.rfind(b'--', max(0, at - 32), at) >= 0:
                m = _OPTION.match(low, end)
            if m:
                end = _judge(raw, low, at, m, found)
            at = low.find(needle, end)


def _goes_on(after):
    """True where something stands behind a sign on its line."""
    return after[1:].lstrip(b' \t')[:1] not in _LINE_ENDS


def _judge(raw, low, at, m, found):
    """Adds the value of an assignment if it looks like a secret; returns where to go on."""
    chunk = low[max(0, at - 40):at]
    start = at - len(chunk) + len(chunk.rstrip(_NAME_CHARS))
    if raw[start - 1:start] == b'\\' and low[start:start + 1] in b'nrt':
        start += 1
    name = raw[start:m.start(1)]
    if name.lower() == b'key' and low[start - 1:start] == b' ':         # 'API key: ...' in prose
        name = b'_'.join(raw[max(0, start - 8):start].split()[-1:] + [name])
    kind = _name_kind(name)
    closing, sign, quote = m.groups()
    if low.endswith(b'[redacted:', 0, start) or not kind or not sign and not name.startswith(b'--'):
        return m.end(1)
    begin = m.end()
    whole = sign == b'=' and name.isupper() and raw[start - 1:start] not in (b'?', b'&')     # a line of an .env file
    end = _quoted_end(raw, begin, quote) if quote else _bare_end(raw, begin, b'' if whole else _STOPS)
    if _is_result_or_path(raw, start, name, sign, quote, raw[begin:end]):
        return begin
    if sign == b'>' and (closing or raw[end:end + 2] != b'</') or sign[:2] in (b'==', b'!=') and not quote:
        return begin
    if not quote and raw[end:end + 1] in (b'(', b'['):
        return end
    tight = raw[m.end(1):begin] == sign == b'='
    if quote:
        style = 'quoted'
    elif name.isupper() and (tight or sign == b':' and not raw[end:end + 1].strip()):
        style = 'env'
    else:
        style = 'query' if tight and (raw[start - 1:start] in (b'?', b'&') or name[:2] == b'--') else 'bare'
    if _is_plausible(raw[begin:end], kind, style, name):
        found.append((begin, end, 1, kind))
        return end
    return begin if quote else max(end, begin)


def _is_result_or_path(raw, start, name, sign, quote, value):
    """True for `PASS: test_x` and `second pass: x`, what a test run says, and for a directory behind `pwd`."""
    if name.lower() == b'pwd':
        return b'/' in value or b'\\' in value
    if name.lower() != b'pass' or sign != b':' or quote:
        return False
    before = raw[max(0, start - 200):start]
    last = before[before.rfind(b'\n') + 1:].strip()[-1:]
    return name.isupper() or last.isalnum() or last in (b']', b'.', b'!')


def _quoted_end(raw, begin, quote):
    end = raw.find(quote, begin, begin + 4000)
    while end > 0 and len(quote) == 1 and raw[end - 1:end] == b'\\':
        end = raw.find(quote, end + 1, begin + 4000)
    if end < 0 or len(quote) < 3 and raw.find(b'\n', begin, end) >= 0:
        return _bare_end(raw, begin)                    # cut off
    return end


_STOPS = b'<>|&;,'
_BARE = dict((stops, Pattern(br'''[^\s"'`\\%s]{1,1000}''' % stops)) for stops in (_STOPS, b''))


def _bare_end(raw, begin, stops=_STOPS):
    m = _BARE[stops].match(raw, begin)
    return begin + len(m.group().rstrip(b'.,:)]}')) if m else begin


_IDENTIFIER = Pattern(br'[A-Za-z_][\w.]*\Z')
# What stands behind a package's name in a list of what a program needs.
_VERSION = Pattern(br'(?:[~^v=]?[0-9]{1,4}\.[0-9]{1,4}(?:\.[0-9]{1,4})?(?:[-+][a-z0-9.-]{1,30})?|(?:npm|workspace|file|link|github):.*)\Z')


def _is_plausible(value, kind, style, name):
    """True where a value under a secret's name is one, and no placeholder, reference, word or piece of code."""
    low = value.lower()
    if (len(value) < (4 if kind == 'password' else 6) or low in _NO_VALUES or low == name.lower().strip(b'-')
            or is_filler(value[:64]) or b'...' in value or style == 'quoted' and _VERSION.match(value) or (_STAND_IN if style == 'quoted' else _REFERENCE).match(value)):
        return False
    spoken = _SECRET_WORD.search(low) is not None
    wordy = _WORDY.match(value) is not None
    has_digit = any(d in value for d in DIGITS)
    if any(c in value for c in b' \t\n'):
        return b'phrase' in name.lower() and not spoken and len(value) > 11
    identifier = _IDENTIFIER.match(value) is not None
    if kind in ('key', 'secret') and identifier and b'.' in value and value == low and not is_random(value):
        return False
    if kind == 'password':
        if style in ('env', 'query'):
            return not low.startswith(b'your')
        if style == 'quoted':
            return not (spoken and wordy)
        code = identifier and (b'_' in value or b'.' in value or spoken)
        return len(value) > 5 and not value.isalpha() and not code and (has_digit or not wordy)
    if not value.strip(b'0123456789.,:/-'):
        return False
    if style == 'env' and kind in ('secret', 'token'):
        return not (identifier and value.isupper()) and not low.startswith(b'your')
    if style == 'bare' and kind == 'secret' and len(value) > 7 and has_digit and not wordy and value != value.upper() and value != low:
        return True
    if style == 'bare' or kind in ('key', 'credential'):
        return is_random(value)
    if len(value) < 8:
        return False
    if style == 'quoted' and name.isupper() and len(value) > 11 and not spoken:
        return True
    return not wordy and has_digit or is_random(value)


_MARK = Pattern(br'-----? ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?')
_BODY = Pattern(br'''(?:[\s"'+,>|?]|\\+[nrt]|[A-Za-z0-9+/=]{16,}|[0-9]{1,6}(?=[\t?|])|[A-Za-z0-9+/]{1,15}={1,2}(?![A-Za-z0-9+/=])|'''
                br'''(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,100}){0,3000}''')
_LETTERS = dict((most, Pattern(b'[A-Za-z0-9+/]{%d}' % most)) for most in (4, 16, 40))
_CODE = Pattern(br'[(){}<>;$_]')
_LAST_LINE = Pattern(br'[A-Za-z0-9+/=]{1,15}(?=[\s"?.\[]{0,3}\Z)')
_LINE = Pattern(br'''(?:[\s>|?]|[0-9]{1,6}(?=[\t?|])){0,12}[A-Za-z0-9+/=]+[\s"'+,]*\Z''')


def find_blocks(raw, low, found, needles):
    """Private keys between BEGIN and END, also on one line with \\n spelt out, and where one end was cut off."""
    marks = list(_MARK.finditer(raw))
    done = 0
    for n, mark in enumerate(marks):
        after = marks[n + 1] if n + 1 < len(marks) else None
        if mark.group(1) == b'END':
            start = _block_start(raw, mark.start()) if mark.start() >= done else mark.start()
            if start < mark.start():
                found.append((start, mark.end(), 0, 'private-key'))
            continue
        if after and after.group(1) == b'END' and after.start() - mark.end() < 40000:
            inner = raw[mark.end():after.start()]
            if _LETTERS[40].search(inner) or _LETTERS[4].search(inner) and not _CODE.search(inner):
                done = after.end()
                found.append((mark.start(), done, 0, 'private-key'))
                continue
        end = _BODY.match(raw, mark.end()).end()
        if _LETTERS[16].search(raw[mark.end():end]):
            rest = _LAST_LINE.match(raw, end)     # the line that was cut
            end = rest.end() if rest else mark.end() + len(raw[mark.end():end].rstrip())
            found.append((mark.start(), end, 0, 'private-key'))


def _block_start(raw, end):
    """Where the lines of base64 before `end` begin; `end` itself without any."""
    first = end
    while end > 0:
        text = raw[max(0, end - 200):end]
        cut = max(text.rfind(b'\n', 0, -1) + 1, text.rfind(b'\\n', 0, -2) + 2 if b'\\n' in text[:-2] else 0)
        piece = text[cut:].replace(b'\\n', b'').replace(b'\\', b'')
        # only the last line is short
        if not _LINE.match(piece) or len(piece.strip()) < 16 and end != first:
            tail = len(text.rstrip()) - len(text.rstrip().rstrip(_BASE64))
            return end - len(text) + len(text.rstrip()) - tail if tail >= 16 else end
        end -= len(text) - cut
    return end


_PASSWORD = Pattern(br'''://[^\s/:@"'<>\\\[]{0,64}:([^\s/"'<>\\?#]{1,1500})@(?=[\w\[%$.-])''')
_USER = Pattern(br'://([A-Za-z0-9_-]{16,255})(?::x-oauth-basic)?@(?=[\w\[%$.-])')
_HOOK = Pattern(br'://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/'
                br'([A-Za-z0-9/_-]{8,300})')
_NO_PASSWORD = Pattern(br'[$<{%*\[]|\.\.\.|x+\Z')


def find_urls(raw, low, found, needles):
    """Passwords in addresses, tokens that stand there as the user, and addresses that are secret as a whole."""
    held = b'@' in raw
    at = low.find(b'://')
    while at >= 0:
        m = _PASSWORD.match(raw, at) if held else None
        if m and not _NO_PASSWORD.match(m.group(1)):
            found.append((m.start(1), m.end(1), 2, 'password'))
        m = _USER.match(raw, at) if held else None
        if m and is_random(m.group(1)):
            found.append((m.start(1), m.end(1), 2, 'token'))
        m = _HOOK.match(raw, at) if raw.startswith((b'hooks.', b'discord'), at + 3) else None
        if m:
            found.append((m.start(1), m.end(1), 0, 'webhook'))
        at = low.find(b'://', at + 3)


_HEADER = Pattern(br'''auth(?:orization)?["'\\\]]{0,5}[ \t]{0,3}[:=,][ \t]{0,3}(?:[bfru](?=["'`]))?["'`\\]{0,5}'''
                  br'''((?:bearer|basic|token|digest|apikey|api-key|key|bot)[ \t:]{1,3})?'''
                  br'''([^\s"'`\\,;<>]{4,8000})''')
_BEARER_CHARS = b'abcdefghijklmnopqrstuvwxyz0123456789._~+/=-'
_BEARER = Pattern(br'bearer[ \t]{1,3}([a-z0-9._~+/=-]{8,8000})')


def _may_be_header(low, at):
    """False where what stands behind 'auth' is no sign with something behind it."""
    after = low[at + 4:at + 40]
    after = (after[9:] if after.startswith(b'orization') else after).lstrip(b'"\'\\] \t')
    return after[:1] in (b':', b'=', b',') and _goes_on(after)


def _may_be_bearer(low, at):
    """False where what stands behind 'bearer' is no word, or a short one."""
    word = low[at + 7:at + 17].lstrip(b' \t')[:8]
    return len(word) == 8 and not word.strip(_BEARER_CHARS)


def find_headers(raw, low, found, needles):
    """Authorization headers with any scheme, and Bearer wherever something random follows."""
    for pattern, needle, may_be in ((_HEADER, b'auth', _may_be_header), (_BEARER, b'bearer ', _may_be_bearer)):
        at = low.find(needle) if needle in needles else -1
        while at >= 0:
            # 'author', 'oauth flow' and 'bearer of' are no header.
            m = pattern.match(low, at) if may_be(low, at) else None
            at = low.find(needle, m.end() if m else at + 4)
            if not m:
                continue
            begin, end = m.span(m.lastindex)
            value = raw[begin:end]
            known = pattern is _HEADER and m.group(1)
            wordy = _WORDY.match(value) and (not known or _SECRET_WORD.search(value.lower()))
            if not (_REFERENCE.match(value) or is_filler(value) or b'...' in value or value.lower() in _NO_VALUES
                    or wordy or not known and not is_random(value)):
                found.append((begin, end, 2, 'authorization'))


_COOKIES = Pattern(br'''cookie["'\\]{0,4}[ \t]{0,3}[:=][ \t]{0,3}["'`\\]{0,4}([^\r\n"'`\\]{1,8000})''')
_COOKIE = Pattern(br'([\w.-]{1,80})=([^\s;,]{6,4000})')
_SESSION = Pattern(br'sess|sid|auth|token|jwt|csrf|xsrf|login|remember|secret')


def find_cookies(raw, low, found, needles):
    """Cookies that keep somebody logged in."""
    at = low.find(b'cookie')
    while at >= 0:
        m = _COOKIES.match(low, at) if low[at + 6:at + 14].lstrip(b'"\'\\ \t')[:1] in (b':', b'=') else None
        for p in _COOKIE.finditer(raw, m.start(1), m.end(1)) if m else ():
            value = p.group(2)
            named = _SESSION.search(p.group(1).lower())
            if not _REFERENCE.match(value) and not is_filler(value) and (
                    named and not value.isalpha() or is_random(value)):
                found.append((p.start(2), p.end(2), 2, 'cookie'))
        at = low.find(b'cookie', m.end() if m else at + 6)


# What is looked for, what must stand behind it too, the whole, kind.
_OTHERS = tuple((needle, also, Pattern(source), kind) for needle, also, source, kind in (
    (b'machine ', b'password', br'machine\s{1,4}\S{1,200}(?:\s{1,8}(?:login|account)\s{1,4}\S{1,200}){0,2}\s{1,8}password\s{1,4}'
                  br'(\S{1,500})', 'password'),
    (b'default login ', b'password', br'default login \S{1,200}\s{1,8}password\s{1,4}(\S{1,500})', 'password'),
    (b'sig=', b'', br'sig=([a-z0-9%+/=_-]{20,500})', 'signature'),
    (b'-signature=', b'', br'-signature=([a-z0-9%]{32,600})', 'signature'),
    (b'secret', b'key', br'secret[ _-]?(?:access)?[ _-]?key[^a-z0-9+/\n]{1,12}([a-z0-9+/]{40})(?![a-z0-9+/])', 'aws-secret'),
    (b'curl ', b'-u', br'''curl [^\n]{0,400}?(?:-u|--user)[ =]{0,3}["']?[^\s:"'/\[]{1,100}:([^\s"']{3,200})''', 'password'),
    (b'sshpass ', b'-p', br'''sshpass [^\n]{0,40}?-p[ ]{0,3}["']?([^\s"']{3,200})''', 'password'),
    (b'mysql', b' -p', br'''mysql(?:dump|admin|import)? [^\n|;&]{0,200}?(?<= )-p["']?([^\s"']{3,200})''', 'password'),
    (b'redis-cli ', b' -a', br'''redis-cli [^\n|;&]{0,200}?(?<= )-a[ ]{1,3}["']?([^\s"']{3,200})''', 'password'),
    (b'docker login ', b' -p', br'''docker login [^\n|;&]{0,200}?(?<= )-p[ ]{1,3}["']?([^\s"']{3,200})''', 'password'),
))


_NO_VALUE = Pattern(br'[$<{%*\[]|[0-9]+\Z')


def find_others(raw, low, found, needles):
    """.netrc lines, signatures in signed addresses, AWS secrets in words, passwords given to programs by a short option."""
    for needle, also, pattern, kind in _OTHERS:
        at = low.find(needle) if needle in needles and also in low else -1
        while at >= 0:
            m = pattern.match(low, at)
            if m and not _NO_VALUE.match(raw, m.start(1), m.end(1)):
                found.append((m.start(1), m.end(1), 1, kind))
            at = low.find(needle, m.end() if m else at + len(needle))


def find_asian(text, raw, found):
    """Values behind such a name: the name, 'is' or a colon, the value."""
    value = Pattern('[ \t]{0,3}(?:\u662f|\u4e3a|\u70ba|\u306f|[:=\uff1a\uff1d])[ \t:\uff1a]{0,3}["\'`\u201c\u300c]?([!-~]{6,400})')
    for name in ASIAN:
        at = text.find(name)
        while at >= 0:
            behind = text[at + len(name):at + len(name) + 4].lstrip(' \t')[:1]
            m = value.match(text, at + len(name)) if behind and behind in '\u662f\u4e3a\u70ba\u306f:=\uff1a\uff1d' else None
            at = text.find(name, at + 1)
            if m:
                given = raw[m.start(1):m.end(1)].rstrip(b'"\'`.,;:)]}')
                if _is_plausible(given, 'password' if name in PASSWORDS else 'token', 'bare', b''):
                    found.append((m.start(1), m.start(1) + len(given), 1, 'password' if name in PASSWORDS else 'token'))
