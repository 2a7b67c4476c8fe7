"""Masks secrets in text before it is shown: a best effort, not a guarantee.

Known key formats, private key blocks, passwords in URLs and headers, and values whose name says secret become
`[redacted:kind]`. A secret without a known form and without such a name is not seen; nor is one that was cut before it
came here, so mask first and cut afterwards. Where a value may be code or prose it stays. Work is linear in the text.

All searching is done on the text as ASCII bytes, one byte for each character: find and translate are several times
faster there than a regular expression, and positions stay the same.
"""

import re

_TOKEN_CHARS = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
_CLASSES = bytes(97 if c in _TOKEN_CHARS else 32 for c in range(256))
_BASE64 = _TOKEN_CHARS[:62] + b'+/='
_DIGITS = [b'%d' % n for n in range(10)]
_W = '[A-Za-z0-9_-]'

# kind, how it starts, what must follow; with '?' the rest must look random, since the start alone is common.
_FORMATS = (
    ('aws-key', 'AKIA ASIA', '[A-Z0-9]{16}(?![A-Za-z0-9])'),
    ('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_', '[A-Za-z0-9_]{16,}'),
    ('gitlab-token', 'glpat- gldt- glrt- glptt- glft- glcbt- glsoat- glagent-', _W + '{16,}(?:[.]' + _W + '+){0,3}'),
    ('slack-token', 'xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox xapp-', '[A-Za-z0-9-]{10,}'),
    ('anthropic-key', 'sk-ant-', _W + '{16,}'),
    ('openai-key', 'sk-proj- sk-svcacct- sk-admin- sk-or- sk-lf- pk-lf-', _W + '{16,}'),
    ('openai-key', 'sk-', '?[A-Za-z0-9]{20,}' + _W + '*'),
    ('google-key', 'AIza', _W + '{30,}'),
    ('google-key', 'GOCSPX- ya29.', _W + '{20,}'),
    ('stripe-key', 'sk_live_ sk_test_ rk_live_ rk_test_', '[A-Za-z0-9]{10,}'),
    ('stripe-key', 'whsec_', '[A-Za-z0-9+/]{16,}=*'),
    ('twilio-key', 'SK AC', '[0-9a-f]{32}(?![A-Za-z0-9])'),
    ('sendgrid-key', 'SG.', _W + '{16,}(?:[.]' + _W + '{16,})?'),
    ('npm-token', 'npm_', '?[A-Za-z0-9]{20,}'),
    ('pypi-token', 'pypi-', '?' + _W + '{20,}'),
    ('huggingface-token', 'hf_ api_org_', '?[A-Za-z0-9]{20,}'),
    ('digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_', '[A-Za-z0-9]{32,}'),
    ('telegram-token', 'AA', '(?<=[0-9]:AA)' + _W + '{30,}'),
    ('discord-token', 'MT MD Mj Mz NT ND Nj Nz OT OD Oj Oz', '?{0}{{21,26}}[.]{0}{{6}}[.]{0}{{25,}}'.format(_W)),
    ('mailgun-key', 'key-', '[0-9a-z]{32}(?![A-Za-z0-9])'),
    ('databricks-token', 'dapi', '[0-9a-f]{32}(?:-[0-9])?(?![A-Za-z0-9])'),
    ('groq-key', 'gsk_', '[A-Za-z0-9]{16,}'),
    ('xai-key', 'xai-', '?[A-Za-z0-9]{20,}'),
    ('perplexity-key', 'pplx-', '[A-Za-z0-9]{20,}'),
    ('replicate-token', 'r8_', '[A-Za-z0-9]{20,}'),
    ('shopify-token', 'shpat_ shpca_ shppa_ shpss_', '[A-Za-z0-9]{16,}'),
    ('linear-key', 'lin_api_ lin_oauth_', '[A-Za-z0-9]{16,}'),
    ('notion-token', 'secret_ ntn_', '?[A-Za-z0-9]{20,}'),
    ('figma-token', 'figd_', _W + '{16,}'),
    ('vault-token', 'hvs. hvb. hvr.', _W + '{16,}'),
    ('age-key', 'AGE-SECRET-KEY-', '[A-Za-z0-9]{16,}'),
    ('jwt', 'eyJ', _W + '{8,}[.](?:eyJ' + _W + '{4,}|' + _W + '{8,}[.])(?:[.]?' + _W + '+){0,4}'),
    ('atlassian-token', 'ATATT3', '[A-Za-z0-9_=-]{30,}'),
    ('docker-token', 'dckr_pat_ dckr_oat_', _W + '{16,}'),
    ('grafana-token', 'glsa_ glc_', '?[A-Za-z0-9_]{24,}'),
    ('sentry-token', 'sntrys_ sntryu_', _W + '{20,}'),
    ('supabase-token', 'sbp_', '[0-9a-f]{32,}'),
    ('planetscale-token', 'pscale_pw_ pscale_tkn_ pscale_oauth_', _W + '{30,}'),
    ('rubygems-key', 'rubygems_', '[0-9a-f]{40,}'),
    ('pulumi-token', 'pul-', '[0-9a-f]{40}(?![A-Za-z0-9])'),
    ('postman-key', 'PMAK-', '[0-9a-f]{20,}-[0-9a-f]{30,}'),
    ('newrelic-key', 'NRAK-', '[A-Z0-9]{24,}'),
    ('nvidia-key', 'nvapi-', _W + '{40,}'),
    ('cerebras-key', 'csk-', '?[a-z0-9]{40,}'),
    ('tavily-key', 'tvly-', '?' + _W + '{20,}'),
    ('langsmith-key', 'lsv2_pt_ lsv2_sk_', '[0-9a-f]{32}_[0-9a-f]{10}'),
    ('fireworks-key', 'fw_', '?[A-Za-z0-9]{22,}'),
    ('buildkite-token', 'bkua_', '[0-9a-f]{40}'),
    ('cloudflare-token', 'cfut_ cfat_ cfk_', '?' + _W + '{36,}'),
    ('crates-token', 'cio', '?[A-Za-z0-9]{32}(?![A-Za-z0-9_-])'),
    ('square-token', 'EAAA', '?' + _W + '{56,64}(?![A-Za-z0-9+/=_-])'),
    ('square-token', 'sq0csp- sq0atp-', _W + '{22,}'),
    ('hubspot-token', 'pat-na1- pat-na2- pat-eu1-', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'),
    ('openai-key', 'sess-', '?[A-Za-z0-9]{40}(?![A-Za-z0-9])'),
    ('fly-token', 'fm1_ fm2_ fo1_', '[A-Za-z0-9+/=_-]{40,}'),
    ('dynatrace-token', 'dt0c01. dt0s01.', '[A-Z0-9]{24}[.][A-Z0-9]{64}'),
    ('doppler-token', 'dp.pt. dp.sa. dp.ct.', '[A-Za-z0-9]{40,}'),
    ('airtable-token', 'pat', '[A-Za-z0-9]{14}[.][0-9a-f]{64}'),
)
# Known by what stands in their middle or at their end: kind, the byte before the long run of letters, how far before it
# the token begins, the whole token.
_MIDDLES = (
    ('azure-secret', b'~', 6, br'[A-Za-z0-9_-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}'),
    ('google-key', b'/', 3, br'1//0[A-Za-z0-9_-]{40,}'),
    ('terraform-token', b'.', 23, br'[A-Za-z0-9]{14}[.]atlasv1[.][A-Za-z0-9_-]{60,}'),
    ('azure-token', None, 0, br'[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])'),
    ('mailchimp-key', None, 0, br'[0-9a-f]{32}-us[0-9]{1,2}(?![A-Za-z0-9])'),
)
_rules = {}         # first two bytes of a format -> [kind, start, what follows, the same compiled]


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


def _find(text):
    """[(start, end, rank, kind)] in order and without overlap."""
    raw = text.encode('ascii', 'replace')
    found = []
    _find_formats(raw, found)
    low = raw.lower()
    present = [n for n in _NEEDLES if n in low]
    for finder, needles in _FINDERS if present else ():
        needles = [n for n in needles if n in present]
        if needles:
            finder(raw, low, found, needles)
    if b'?' in raw and any(word in text for word in _ASIAN):
        _find_asian(text, raw, found)
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


def _find_formats(raw, found):
    """Tokens that are known by how they start: all are runs of 18 letters and more, which ordinary text has few of."""
    if not _rules:
        for kind, starts, body in _FORMATS:
            for start in starts.split():
                _rules.setdefault(start[:2].encode('ascii'), []).append([kind, start.encode('ascii'), body, None])
    marked = raw.translate(_CLASSES) + b' '
    run = b'a' * 18
    start = marked.find(run)
    while start >= 0:
        if raw[start:start + 2] in _rules:
            _match_format(raw, start, found)
        before = raw[start - 1:start]
        if before in b'\\%[;.':                         # also b'', at the start of the text
            for at in _hidden_starts(raw, start, before):
                _match_format(raw, at, found)
        end = marked.find(b' ', start)
        if before in b'~/.' or b'AZDO' in raw[start + 76:start + 86] or b'-us' in raw[start + 32:start + 40]:
            _match_middles(raw, start, before, found)
        start = marked.find(run, end)


def _match_middles(raw, start, before, found):
    for kind, sign, back, whole in _MIDDLES:
        if sign not in (before, None):
            continue
        hidden = _hidden_starts(raw, start, before) if sign is None and before in b'\\[' else ()
        for at in (start - back,) + tuple(hidden):
            m = at >= 0 and re.compile(whole).match(raw, at)
            if m:
                found.append((m.start(), m.end(), 0, kind))
                break


def _hidden_starts(raw, start, before):
    """Where a token can begin whose first letters belong to something else: \\n, \\u0022, %3D, a colour, 'SG.'."""
    if before == b'\\':
        return (start + 1, start + 5) if raw[start:start + 1] == b'u' else (start + 1,)
    if before == b'%':
        return (start + 2,)
    if before == b'.':
        return (start - 3, start - 4, start - 5, start - 6, start - 7, start - 18)
    end = raw.find(b'm', start, start + 3)
    return (end + 1,) if end > start and raw[start:end].isdigit() else ()


def _match_format(raw, at, found):
    if at < 0:
        return
    for rule in _rules.get(raw[at:at + 2], ()):
        kind, start, body, pattern = rule
        if not raw.startswith(start, at):
            continue
        if pattern is None:
            pattern = rule[3] = re.compile(body.lstrip('?').encode('ascii'))
        m = pattern.match(raw, at + len(start))
        if not m or _is_filler(m.group()) or body[0] == '?' and not _is_random(m.group()):
            continue
        begin = at
        if kind == 'telegram-token':
            begin = at - 1 - len(raw[max(0, at - 13):at - 1]) + len(raw[max(0, at - 13):at - 1].rstrip(b'0123456789'))
        found.append((begin, m.end(), 0, kind))
        if kind == 'aws-key':                           # credentials.csv: the secret follows the id
            m = re.compile(br'[\s,;:"\'=|/]{1,6}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])').match(raw, m.end())
            if m:
                found.append((m.start(1), m.end(1), 0, 'aws-secret'))
        return


def _is_filler(value):
    """True for xxxx, ****, 0000: what stands in a sample where a secret would be."""
    low = value.lower()
    return len(set(low)) < 4 or b'xxxx' in low or b'****' in low or b'....' in low


def _is_random(value):
    """True where the longest unbroken part mixes letters with digits, or is longer than words and identifiers are."""
    core = max(re.split(br'[^A-Za-z0-9]', value), key=len)
    digits = sum(core.count(d) for d in _DIGITS)
    if not digits:                                      # CamelCase has fewer capitals
        capitals = sum(65 <= c <= 90 for c in core)
        return len(core) >= 20 and 0.3 < capitals / len(core) < 0.7 or len(core) >= 28 and capitals in (0, len(core))
    if core.isdigit():
        return False
    return len(core) >= (12 if digits > 2 else 16)


# A value that is plain words, each with a short number at most: my-token-2, db.credentials, ApiKey.
_WORDY = br'[A-Za-z]+[0-9]{0,4}(?:[-_./:][A-Za-z]*[0-9]{0,4})*\Z'
_SECRET_WORD = br'passw|secret|token|credential|key\b|your|change.?me|placeholder|redacted|masked|hidden'
_NO_VALUES = frozenset(
    b'true false none null nil undefined string str text number int integer float bool boolean bytes object any void '
    b'unknown optional required missing invalid empty unset default input output value values type types list dict map '
    b'array buffer include omit same-origin basic bearer digest enter prompt stdin env environ enabled disabled yes no '
    b'auto on off new old this self test never always char varchar record function async await return'.split())
# What stands for a value instead of being one, from its start on: templates, paths, addresses, ids of messages.
_STAND_IN = (br'\$[({]|\$\w+\Z|\{[\w. {}]*\}\Z|<[^<>]*>\Z|\[redacted|\[[\w: -]*\]?\Z|%(?:[sr]\Z|\(|\w+%\Z)|'
             br'(?:~|\.{1,2})?/(?:[a-z0-9_.-]+/)*[a-z0-9_.-]*\Z|[A-Za-z]:\\|https?://|file:|'
             br'(?:msg|toolu|req|call|resp)_[A-Za-z0-9]')
# The same without quotes round it, where it may also be code.
_REFERENCE = (br'[$<{%*(\[&@`#]|\\|(?:process|os|env|self|this|args|config|settings|secrets|options|opts|params|props|'
              br'req|request|ctx|context|event|state)\??[.\[]|[A-Za-z_][\w.]*[(\[{]|') + _STAND_IN
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
    words = [w.lower() for w in re.findall(br'[A-Z]+(?![a-z])|[A-Z]?[a-z]+', last)]
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


_assign = _option = None


def _find_named(raw, low, found, needles):
    """Values whose name says secret: NAME=value, name: value, "name": "value", --name value, <name>value</name>."""
    global _assign, _option
    if _assign is None:
        value = br'''(\\{0,3}(?:"""|\'\'\'|["'`]))?(?=\S)'''
        _assign = re.compile(
            br'''[\w.-]{0,24}(\\{0,3}["'`]?\]?)(?:[ \t]?:[ \t]?[\w.\[\]]{1,24}[ \t](?==[ \t]))?'''
            br'''[ \t]{0,8}(=>|:=|={1,3}|!=|:|>)[ \t]{0,8}(?:[bfru]{1,2}(?=["'`]))?''' + value)
        _option = re.compile(br'[\w-]{0,24}()()[ \t]{1,4}' + value)
    options = b'--' in low
    for needle in needles:
        at = low.find(needle)
        while at >= 0:
            end = at + len(needle)
            m = _assign.match(low, end)
            if not m and options and low.rfind(b'--', max(0, at - 32), at) >= 0:
                m = _option.match(low, end)
            if m:
                end = _judge(raw, low, at, m, found)
            at = low.find(needle, end)


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
    end = _quoted_end(raw, begin, quote) if quote else _bare_end(raw, begin, b'' if whole else b'<>|&;,')
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


def _quoted_end(raw, begin, quote):
    end = raw.find(quote, begin, begin + 4000)
    while end > 0 and len(quote) == 1 and raw[end - 1:end] == b'\\':
        end = raw.find(quote, end + 1, begin + 4000)
    if end < 0 or len(quote) < 3 and raw.find(b'\n', begin, end) >= 0:
        return _bare_end(raw, begin)                    # cut off
    return end


def _bare_end(raw, begin, stops=b'<>|&;,'):
    m = re.compile(br'''[^\s"'`\\%s]{1,1000}''' % stops).match(raw, begin)
    return begin + len(m.group().rstrip(b'.,:)]}')) if m else begin


def _is_plausible(value, kind, style, name):
    """True where a value under a secret's name is one, and no placeholder, reference, word or piece of code."""
    low = value.lower()
    if (len(value) < (4 if kind == 'password' else 6) or low in _NO_VALUES or low == name.lower().strip(b'-')
            or _is_filler(value) or b'...' in value or re.match(_STAND_IN if style == 'quoted' else _REFERENCE, value)):
        return False
    spoken = re.search(_SECRET_WORD, low) is not None
    wordy = re.match(_WORDY, value) is not None
    has_digit = any(d in value for d in _DIGITS)
    if any(c in value for c in b' \t\n'):
        return b'phrase' in name.lower() and not spoken and len(value) > 11
    identifier = re.match(br'[A-Za-z_][\w.]*\Z', value) is not None
    if kind == 'password':
        if style in ('env', 'query'):
            return not low.startswith(b'your')
        if style == 'quoted':
            return not (spoken and wordy)
        code = identifier and (b'_' in value or b'.' in value or spoken)
        return len(value) > 5 and not value.isalpha() and not code and (has_digit or not wordy)
    if re.match(br'[0-9.,:/-]+\Z', value):
        return False
    if style == 'env' and kind in ('secret', 'token'):
        return not (identifier and value.isupper()) and not low.startswith(b'your')
    if style == 'bare' or kind in ('key', 'credential'):
        return _is_random(value)
    if len(value) < 8:
        return False
    if style == 'quoted' and name.isupper() and len(value) > 11 and not spoken:
        return True
    return not wordy and has_digit or _is_random(value)


def _find_blocks(raw, low, found, needles):
    """Private keys between BEGIN and END, also on one line with \\n spelt out, and where one end was cut off."""
    marks = list(re.compile(br'-----? ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?').finditer(raw))
    body = re.compile(br'''(?:[\s"'+,>|?]|\\+[nrt]|[A-Za-z0-9+/=]{16,}|[0-9]{1,6}(?=[\t?|])|'''
                      br'''[A-Za-z0-9+/]{1,15}={1,2}(?![A-Za-z0-9+/=])|'''
                      br'''(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,100}){0,3000}''')
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
            if re.search(br'[A-Za-z0-9+/]{40}', inner) or (re.search(br'[A-Za-z0-9+/]{4}', inner)
                                                           and not re.search(br'[(){}<>;$_]', inner)):
                done = after.end()
                found.append((mark.start(), done, 0, 'private-key'))
                continue
        end = body.match(raw, mark.end()).end()
        if re.search(br'[A-Za-z0-9+/]{16}', raw[mark.end():end]):
            rest = re.compile(br'[A-Za-z0-9+/=]{1,15}(?=[\s"?.\[]{0,3}\Z)').match(raw, end)     # the line that was cut
            end = rest.end() if rest else mark.end() + len(raw[mark.end():end].rstrip())
            found.append((mark.start(), end, 0, 'private-key'))


def _block_start(raw, end):
    """Where the lines of base64 before `end` begin; `end` itself without any."""
    line = re.compile(br'''(?:[\s>|?]|[0-9]{1,6}(?=[\t?|])){0,12}[A-Za-z0-9+/=]+[\s"'+,]*\Z''')
    first = end
    while end > 0:
        text = raw[max(0, end - 200):end]
        cut = max(text.rfind(b'\n', 0, -1) + 1, text.rfind(b'\\n', 0, -2) + 2 if b'\\n' in text[:-2] else 0)
        piece = text[cut:].replace(b'\\n', b'').replace(b'\\', b'')
        # only the last line is short
        if not line.match(piece) or len(piece.strip()) < 16 and end != first:
            tail = len(text.rstrip()) - len(text.rstrip().rstrip(_BASE64))
            return end - len(text) + len(text.rstrip()) - tail if tail >= 16 else end
        end -= len(text) - cut
    return end


def _find_urls(raw, low, found, needles):
    password = re.compile(br'''://[^\s/:@"'<>\\]{0,64}:([^\s/"'<>\\?#]{1,1500})@(?=[\w\[%$.-])''')
    hook = re.compile(br'://(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks)/'
                      br'([A-Za-z0-9/_-]{8,300})')
    at = low.find(b'://')
    while at >= 0:
        m = password.match(raw, at)
        if m and not re.match(br'[$<{%*\[]|\.\.\.|x+\Z', m.group(1)):
            found.append((m.start(1), m.end(1), 2, 'password'))
        m = hook.match(raw, at)
        if m:
            found.append((m.start(1), m.end(1), 0, 'webhook'))
        at = low.find(b'://', at + 3)


def _find_headers(raw, low, found, needles):
    """Authorization headers with any scheme, and Bearer wherever something random follows."""
    header = re.compile(br'''auth(?:orization)?["'\\\]]{0,5}[ \t]{0,3}[:=,][ \t]{0,3}(?:[bfru](?=["'`]))?["'`\\]{0,5}'''
                        br'''((?:bearer|basic|token|digest|apikey|api-key|key|bot)[ \t:]{1,3})?'''
                        br'''([^\s"'`\\,;<>]{4,8000})''')
    bearer = re.compile(br'bearer[ \t]{1,3}([a-z0-9._~+/=-]{8,8000})')
    for pattern, needle in ((header, b'auth'), (bearer, b'bearer ')):
        at = low.find(needle) if needle in needles else -1
        while at >= 0:
            m = pattern.match(low, at)
            at = low.find(needle, m.end() if m else at + 4)
            if not m:
                continue
            begin, end = m.span(m.lastindex)
            value = raw[begin:end]
            known = pattern is header and m.group(1)
            wordy = re.match(_WORDY, value) and (not known or re.search(_SECRET_WORD, value.lower()))
            if not (re.match(_REFERENCE, value) or _is_filler(value) or b'...' in value or value.lower() in _NO_VALUES
                    or wordy or not known and not _is_random(value)):
                found.append((begin, end, 2, 'authorization'))


def _find_cookies(raw, low, found, needles):
    header = re.compile(br'''cookie["'\\]{0,4}[ \t]{0,3}[:=][ \t]{0,3}["'`\\]{0,4}([^\r\n"'`\\]{1,8000})''')
    pair = re.compile(br'([\w.-]{1,80})=([^\s;,]{6,4000})')
    at = low.find(b'cookie')
    while at >= 0:
        m = header.match(low, at)
        for p in pair.finditer(raw, m.start(1), m.end(1)) if m else ():
            value = p.group(2)
            named = re.search(br'sess|sid|auth|token|jwt|csrf|xsrf|login|remember|secret', p.group(1).lower())
            if not re.match(_REFERENCE, value) and not _is_filler(value) and (
                    named and not value.isalpha() or _is_random(value)):
                found.append((p.start(2), p.end(2), 2, 'cookie'))
        at = low.find(b'cookie', m.end() if m else at + 6)


_OTHERS = (
    (b'machine ', br'machine\s{1,4}\S{1,200}(?:\s{1,8}(?:login|account)\s{1,4}\S{1,200}){0,2}\s{1,8}password\s{1,4}'
                  br'(\S{1,500})', 'password'),
    (b'default login ', br'default login \S{1,200}\s{1,8}password\s{1,4}(\S{1,500})', 'password'),
    (b'sig=', br'sig=([a-z0-9%+/=_-]{20,500})', 'signature'),
    (b'-signature=', br'-signature=([a-z0-9%]{32,600})', 'signature'),
    (b'secret', br'secret[ _-]?(?:access)?[ _-]?key[^a-z0-9+/\n]{1,12}([a-z0-9+/]{40})(?![a-z0-9+/])', 'aws-secret'),
    (b'curl ', br'''curl [^\n]{0,400}?(?:-u|--user)[ =]{0,3}["']?[^\s:"'/\[]{1,100}:([^\s"']{3,200})''', 'password'),
)


def _find_others(raw, low, found, needles):
    """.netrc lines, signatures in signed addresses, AWS secrets in words, curl -u."""
    for needle, source, kind in _OTHERS:
        at = low.find(needle) if needle in needles else -1
        while at >= 0:
            m = re.compile(source).match(low, at)
            if m and not re.match(br'[$<{%*\[]|[0-9]+\Z', raw[m.start(1):m.end(1)]):
                found.append((m.start(1), m.end(1), 1, kind))
            at = low.find(needle, m.end() if m else at + len(needle))


# Passwords, then keys and tokens, as Chinese, Japanese and Korean name them.
_ASIAN = ('\u5bc6\u7801', '\u5bc6\u78bc', '\u53e3\u4ee4', '\u30d1\u30b9\u30ef\u30fc\u30c9', '\ube44\ubc00\ubc88\ud638',
          '\u5bc6\u94a5', '\u5bc6\u9470', '\u79c1\u94a5', '\u4ee4\u724c', '\u51ed\u8bc1', '\u30c8\u30fc\u30af\u30f3', '\ud1a0\ud070')
_PASSWORDS = _ASIAN[:5]


def _find_asian(text, raw, found):
    """Values behind such a name: the name, 'is' or a colon, the value."""
    value = re.compile('[ \t]{0,3}(?:\u662f|\u4e3a|\u70ba|\u306f|[:=\uff1a\uff1d])[ \t:\uff1a]{0,3}["\'`\u201c\u300c]?([!-~]{6,400})')
    for name in _ASIAN:
        at = text.find(name)
        while at >= 0:
            m = value.match(text, at + len(name))
            at = text.find(name, at + 1)
            if m:
                given = raw[m.start(1):m.end(1)].rstrip(b'"\'`.,;:)]}')
                if _is_plausible(given, 'password' if name in _PASSWORDS else 'token', 'bare', b''):
                    found.append((m.start(1), m.start(1) + len(given), 1, 'password' if name in _PASSWORDS else 'token'))


# Each finder runs only where one of its words is in the text at all, and is told which.
_FINDERS = (
    (_find_named, (b'pass', b'secret', b'token', b'key', b'credential', b'auth', b'pwd')),
    (_find_blocks, (b'private key',)),
    (_find_urls, (b'://',)),
    (_find_headers, (b'auth', b'bearer ')),
    (_find_cookies, (b'cookie',)),
    (_find_others, (b'secret', b'sig=', b'-signature=', b'machine ', b'default login ', b'curl ')),
)
_NEEDLES = frozenset(n for _finder, needles in _FINDERS for n in needles)
