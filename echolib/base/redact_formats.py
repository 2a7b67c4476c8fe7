"""Forms of keys and tokens that are known by how they start, or by what stands in their middle.

Loaded where a text holds a run of letters that could be one: `find` looks at such runs alone. A key may be glued to what
stands before it (`x`, `--`, `my_`, `\\n`): then the rest has to look random as well, since names of things hold such
letters too (`lengths_`, `task-`, `utf8_`).
"""
from .patterns import Pattern

_W = '[A-Za-z0-9_-]'
TOKEN_CHARS = b'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-'
_GLUE = frozenset(TOKEN_CHARS)
DIGITS = [b'%d' % n for n in range(10)]
# Before a run: as far as starts with a dot in them reach.
_BEFORE = 7
# What spells a character out and so belongs to no name: \n, \u0022, %3D, the end of a colour.
_SPELT = Pattern(br'(?:\\[a-z]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\[[0-9;]{0,8}m)\Z')

# kind, how it starts, what must follow. '?': the rest must look random, since the start alone is common; '!': it is so
# particular that it need not, glued or not; '^': never glued to anything.
_FORMATS = (
    ('aws-key', 'AKIA', '![A-Z0-9]{16}'),
    ('aws-key', 'ASIA', '[A-Z0-9]{16}'),
    ('bedrock-key', 'ABSKQmVkcm9ja0FQSUtleS', '[A-Za-z0-9+/]{20,}={0,2}'),
    ('bedrock-key', 'bedrock-api-key-', '[A-Za-z0-9+/]{40,}={0,2}'),
    # BEGIN ... PRIVATE KEY in base64, as files for clusters hold it.
    ('private-key', 'LS0tLS1CRUdJTi',
     '!(?:BSU0EgUFJJ|BQUklWQVRF|BFQyBQUklW|BPUEVOU1NI|BFTkNSWVBURUQ|BEU0EgUFJJ)[A-Za-z0-9+/]{20,}={0,2}'),
    ('github-token', 'ghp_ gho_ ghu_ ghs_ ghr_ github_pat_', '[A-Za-z0-9_]{16,}'),
    ('gitlab-token', 'glpat- gldt- glrt- glrtr- glptt- glft- glcbt- glsoat- glagent- glimt- glffct- gloas-', _W + '{16,}(?:[.]' + _W + '+){0,3}'),
    ('slack-token', 'xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xox xapp-', '[A-Za-z0-9%-]{10,}'),
    ('anthropic-key', 'sk-ant-', _W + '{16,}'),
    ('openai-key', 'sk-proj- sk-svcacct- sk-admin- sk-or- sk-lf- pk-lf-', _W + '{16,}'),
    ('openai-key', 'sk-', '?[A-Za-z0-9]{20,}' + _W + '*'),
    ('google-key', 'AIza', '!' + _W + '{30,}'),
    ('google-key', 'GOCSPX- ya29.', _W + '{20,}'),
    ('stripe-key', 'sk_live_ sk_test_ rk_live_ rk_test_', '[A-Za-z0-9]{10,}'),
    ('stripe-key', 'whsec_', '[A-Za-z0-9+/]{16,}=*'),
    ('twilio-key', 'SK AC', '![0-9a-f]{32}(?![0-9a-f])'),
    ('sendgrid-key', 'SG.', _W + '{16,}(?:[.]' + _W + '{16,})?'),
    ('npm-token', 'npm_', '[A-Za-z0-9]{36}(?![A-Za-z0-9])'),
    ('npm-token', 'npm_', '?[A-Za-z0-9]{20,}'),
    ('pypi-token', 'pypi-', '?' + _W + '{20,}'),
    ('huggingface-token', 'hf_ api_org_', '[A-Za-z0-9]{30,}'),
    ('huggingface-token', 'hf_ api_org_', '?[A-Za-z0-9]{20,}'),
    ('digitalocean-token', 'dop_v1_ doo_v1_ dor_v1_', '[A-Za-z0-9]{32,}'),
    ('telegram-token', ':AA', '!(?<=[0-9]:AA)' + _W + '{30,}'),
    ('mailgun-key', 'key-', '^[0-9a-z]{32,39}(?![A-Za-z0-9])'),
    ('databricks-token', 'dapi', '![0-9a-f]{32}(?:-[0-9])?(?![0-9a-f])'),
    ('groq-key', 'gsk_', '[A-Za-z0-9]{16,}'),
    ('xai-key', 'xai-', '?[A-Za-z0-9]{20,}'),
    ('perplexity-key', 'pplx-', '[A-Za-z0-9]{20,}'),
    ('replicate-token', 'r8_', '[A-Za-z0-9]{20,}'),
    ('shopify-token', 'shpat_ shpca_ shppa_ shpss_', '[A-Za-z0-9]{16,}'),
    ('linear-key', 'lin_api_ lin_oauth_', '[A-Za-z0-9]{16,}'),
    ('notion-token', 'secret_ ntn_', '?[A-Za-z0-9]{20,}'),
    ('figma-token', 'figd_', _W + '{16,}'),
    ('vault-token', 'hvs. hvb. hvr.', _W + '{16,}'),
    ('age-key', 'AGE-SECRET-KEY-', '![A-Za-z0-9]{16,}'),
    ('jwt', 'eyJ', '!' + _W + '{8,}[.](?:eyJ' + _W + '{4,}|' + _W + '{8,}[.])(?:[.]?' + _W + '+){0,4}'),
    ('atlassian-token', 'ATATT3 ATCTT3 ATBB', '[A-Za-z0-9_=-]{28,}'),
    ('docker-token', 'dckr_pat_ dckr_oat_', _W + '{16,}'),
    ('grafana-token', 'glsa_ glc_', '?[A-Za-z0-9_]{24,}'),
    ('sentry-token', 'sntrys_ sntryu_', _W + '{20,}'),
    ('supabase-token', 'sbp_ sb_secret_', '[A-Za-z0-9_-]{22,}'),
    ('planetscale-token', 'pscale_pw_ pscale_tkn_ pscale_oauth_', _W + '{30,}'),
    ('rubygems-key', 'rubygems_', '[0-9a-f]{40,}'),
    ('pulumi-token', 'pul-', '?[0-9a-f]{40}(?![0-9a-f])'),
    ('postman-key', 'PMAK-', '[0-9a-f]{20,}-[0-9a-f]{30,}'),
    ('newrelic-key', 'NRAK-', '[A-Z0-9]{24,}'),
    ('nvidia-key', 'nvapi-', _W + '{40,}'),
    ('cerebras-key', 'csk-', '?[a-z0-9]{40,}'),
    ('tavily-key', 'tvly-', '?' + _W + '{20,}'),
    ('langsmith-key', 'lsv2_pt_ lsv2_sk_', '[0-9a-f]{32}_[0-9a-f]{10}'),
    ('fireworks-key', 'fw_', '?[A-Za-z0-9]{22,}'),
    ('buildkite-token', 'bkua_', '[0-9a-f]{40}'),
    ('cloudflare-token', 'cfut_ cfat_ cfk_', '?' + _W + '{36,}'),
    ('crates-token', 'cio', '?[A-Za-z0-9]{32,40}(?![A-Za-z0-9_-])'),
    ('square-token', 'EAAA', '^' + _W + '{56,64}(?![A-Za-z0-9+/=_-])'),
    ('square-token', 'sq0csp- sq0atp-', _W + '{22,}'),
    ('hubspot-token', 'pat-na1- pat-na2- pat-eu1-', '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'),
    ('openai-key', 'sess-', '?[A-Za-z0-9]{40,48}(?![A-Za-z0-9])'),
    ('fly-token', 'fm1_ fm2_ fo1_', '[A-Za-z0-9+/=_-]{40,}'),
    ('dynatrace-token', 'dt0c01. dt0s01.', '[A-Z0-9]{24}[.][A-Z0-9]{64}'),
    ('doppler-token', 'dp.pt. dp.sa. dp.ct.', '[A-Za-z0-9]{40,}'),
    ('alibaba-key', 'LTAI', '?[A-Za-z0-9]{12,26}(?![A-Za-z0-9])'),
    ('tencent-key', 'AKID', '?[A-Za-z0-9]{28,36}(?![A-Za-z0-9])'),
    ('volcengine-key', 'AKLT', '?[A-Za-z0-9]{30,}'),
    ('artifactory-token', 'AKCp8', '[A-Za-z0-9]{60,}'),
    ('facebook-token', 'EAACEdEose0cBA EAAG EAAB', '?[A-Za-z0-9]{80,}'),
    ('brevo-key', 'xkeysib-', '[0-9a-f]{40,}(?:-[A-Za-z0-9]+)?'),
    ('netlify-token', 'nfp_', '?[A-Za-z0-9]{36,}'),
    ('openshift-token', 'sha256~', _W + '{40,}'),
    ('sonar-token', 'squ_ sqp_ sqa_', '?[0-9a-f]{40}'),
    ('tailscale-key', 'tskey-', '?(?:(?:auth|api|client|scim|webhook)-)?[A-Za-z0-9-]{20,}'),
    ('posthog-key', 'phx_', '?[A-Za-z0-9]{32,}'),
    ('pinecone-key', 'pcsk_', '?[A-Za-z0-9_]{40,}'),
    ('resend-key', 're_', '?[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}'),
    ('elevenlabs-key', 'sk_', '?[0-9a-f]{48}(?![0-9a-f])'),
    ('jina-key', 'jina_', '?[A-Za-z0-9_-]{40,}'),
    ('mapbox-token', 'sk.eyJ', _W + '{40,}(?:[.]' + _W + '+)?'),
    ('onepassword-token', 'ops_eyJ', _W + '{60,}'),
    ('sourcegraph-token', 'sgp_', '?[0-9a-f_]{40,}'),
    ('prefect-token', 'pnu_', '?[A-Za-z0-9]{36}'),
    ('typeform-token', 'tfp_', '?' + _W + '{40,}'),
    ('clojars-token', 'CLOJARS_', '[0-9a-z]{60}'),
    ('contentful-token', 'CFPAT-', _W + '{40,}'),
    ('easypost-key', 'EZAK EZTK', '?[A-Za-z0-9]{50,}'),
    ('flutterwave-key', 'FLWSECK-', '[A-Za-z0-9]{28,}'),
    ('heroku-key', 'HRKU-', _W + '{36,}'),
    ('neon-key', 'napi_', '?[A-Za-z0-9]{40,}'),
    ('adafruit-key', 'aio_', '?[A-Za-z0-9]{28}'),
    ('yandex-key', 'AQVN y0__', '?' + _W + '{34,}'),
)
# Known by what stands in their middle or at their end: kind, what to look for, how far before it the token begins, the
# whole token.
_MIDDLES = (
    ('azure-secret', b'Q~', 4, br'[A-Za-z0-9_-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}'),
    ('google-key', b'1//0', 0, br'1//0[A-Za-z0-9_-]{40,}'),
    ('terraform-token', b'.atlasv1.', 14, br'[A-Za-z0-9]{14}[.]atlasv1[.][A-Za-z0-9_-]{60,}'),
    ('azure-token', b'AZDO', 76, br'[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}'),
    ('mailchimp-key', b'-us', 32, br'[0-9a-f]{32}-us[0-9]{1,2}(?![0-9])'),
)
_rules = []         # [kind, start, how sure, what follows, the same compiled]
_patterns = {}


def find(raw, marked, run):
    """-> [(start, end, rank, kind)] of tokens in a text.

    marked: the text with one letter for each character of a token and a space for any other; run: the shortest run of
    such letters that is looked at.
    """
    if not _rules:
        for kind, starts, body in _FORMATS:
            sure = body[0] if body[0] in '?!^' else ''
            _rules.extend([kind, start.encode('ascii'), sure, body[len(sure):], None] for start in starts.split())
    found, pieces, ends = [], [], []
    start = marked.find(run)
    while start >= 0:
        end = marked.find(b' ', start)
        pieces.append(raw[max(0, start - _BEFORE):end])
        ends.append((start, end))
        start = marked.find(run, end)
    here = b'\n'.join(pieces)
    for rule in _rules:
        if rule[1] in here:
            _find_rule(raw, marked, rule, found)
    for kind, sign, back, whole in _MIDDLES:
        at = raw.find(sign)
        while at >= 0:
            m = at >= back and _pattern(whole).match(raw, at - back)
            if m:
                found.append((m.start(), m.end(), 0, kind))
            at = raw.find(sign, m.end() if m else at + 1)
    for start, end in ends:
        _find_dotted(raw, start, end, found)
    return found


def _pattern(source):
    if source not in _patterns:
        _patterns[source] = Pattern(source)
    return _patterns[source]


def _find_rule(raw, marked, rule, found):
    kind, start, sure, body, pattern = rule
    if pattern is None:
        pattern = rule[4] = Pattern(body.encode('ascii'))
    at = raw.find(start)
    while at >= 0:
        m = pattern.match(raw, at + len(start))
        if m and not is_filler(m.group()) and _holds(raw, at, start, sure, m.group()):
            begin = at
            if kind == 'telegram-token':
                before = raw[max(0, at - 12):at]
                begin -= len(before) - len(before.rstrip(b'0123456789'))
            found.append((begin, m.end(), 0, kind))
            if kind == 'aws-key':                       # credentials.csv: the secret follows the id
                after = _pattern(br'[\s,;:"\'=|/]{1,6}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])').match(raw, m.end())
                if after:
                    found.append((after.start(1), after.end(1), 0, 'aws-secret'))
            at = raw.find(start, m.end())
        elif m or kind == 'jwt':
            # The same letters again would only meet the same end: each run is gone through once.
            at = raw.find(start, max(m.end() - len(start) if m else 0, marked.find(b' ', at) if kind == 'jwt' else 0, at + 1))
        else:
            at = raw.find(start, at + 1)


def _holds(raw, at, start, sure, body):
    """True where what follows a start makes it a token, by how sure that start is and what stands before it."""
    before = raw[at - 1] if at else 32
    glued = before in _GLUE and not _SPELT.search(raw, max(0, at - 10), at)
    if sure == '!':
        return True
    if not glued:
        return sure != '?' or is_random(body)
    if sure == '^' or not (is_random(body) or len(body) > 15 and _pattern(br'(?=.*[A-Z])(?=.*[a-z]).*[0-9]').match(body)):
        return False
    # 'task-' and a hash are no key.
    return before in b'_-' or start != b'sk-' or b'T3BlbkFJ' in body or len(body) >= 40 and body.lower() != body


def _find_dotted(raw, start, end, found):
    """Adds a Discord token, whose first part ends a run, or an Airtable one, whose second part is a run."""
    m = raw[start - 1:start] == b'.' and start > 17 and _pattern(br'pat[A-Za-z0-9]{14}[.][0-9a-f]{64}').match(raw, start - 18)
    if m:
        found.append((m.start(), m.end(), 0, 'airtable-token'))
    for size in range(28, 22, -1) if raw[end:end + 1] == b'.' else ():
        if raw[end - size:end - size + 1] in (b'M', b'N', b'O') and end - size >= start:
            m = _pattern(br'[MNO][A-Za-z0-9_-]{22,27}[.][A-Za-z0-9_-]{6}[.][A-Za-z0-9_-]{25,}').match(raw, end - size)
            if m and is_random(m.group()):
                found.append((m.start(), m.end(), 0, 'discord-token'))
                return


def is_filler(value):
    """True for xxxx, ****, 0000: what stands in a sample where a secret would be."""
    low = value.lower()
    return len(set(low)) < 4 or b'xxxx' in low or b'****' in low or b'....' in low


def is_random(value):
    """True where the longest unbroken part mixes letters with digits, or is longer than words and identifiers are."""
    core = max(_pattern(br'[^A-Za-z0-9]').split(value), key=len)
    digits = sum(core.count(d) for d in DIGITS)
    if not digits:                                      # CamelCase has fewer capitals
        capitals = sum(65 <= c <= 90 for c in core)
        return len(core) >= 20 and 0.3 < capitals / len(core) < 0.7 or len(core) >= 28 and capitals in (0, len(core))
    if core.isdigit():
        return False
    return len(core) >= (12 if digits > 2 else 16)
