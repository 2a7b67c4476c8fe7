"""Secrets that must go, and what must stay: both tables are the definition of what redaction means here."""

import glob
import hashlib
import os
import random
import uuid

import pytest

from echolib.base.redact import count_secrets, redact

MIX = 'AbCdEfGh12345678IjKlMnOp90QrStUvWx'
HEX = '0123456789abcdef0123456789abcdef'
AWS = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'

# (text, what must be gone, kind); every secret is invented.
FORMATS = [
    ('use key AKIAIOSFODNN7EXAMPLE for the coati bucket', 'AKIAIOSFODNN7EXAMPLE', 'aws-key'),
    ('ASIAIOSFODNN7EXAMPLE', 'ASIAIOSFODNN7EXAMPLE', 'aws-key'),
    ('AKIAIOSFODNN7EXAMPLE,' + AWS, AWS, 'aws-secret'),
    ('aws_secret_access_key = ' + AWS, AWS, 'aws-secret'),
    ('Secret access key: ' + AWS, AWS, 'aws-secret'),
    ('"SecretAccessKey": "%s"' % AWS, AWS, 'aws-secret'),
    ('ghp_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0abcd', 'ghp_EX', 'github-token'),
    ('gho_%s ghu_%s ghs_%s ghr_%s' % (MIX, MIX, MIX, MIX), MIX, 'github-token'),
    ('github_pat_11ABCDEFG0123456789_abcdefghijklmnopqrstuvwxyz', '11ABCDEFG', 'github-token'),
    ('glpat-ABCDEF1234567890abcd.', 'ABCDEF', 'gitlab-token'),
    ('xoxb-123456789012-1234567890123-abcdefABCDEF', 'abcdefABCDEF', 'slack-token'),
    ('https://hooks.slack.com/services/T00000000/B00000000/XXXXYYYYZZZZ1234', 'XXXXYYYY', 'webhook'),
    ('sk-ant-api03-' + 'FAKE0' * 18 + '-AA', 'FAKE0', 'anthropic-key'),
    ('sk-proj-%s_%s' % (MIX, MIX), MIX, 'openai-key'),
    ('sk-' + MIX + MIX, MIX, 'openai-key'),
    ('AIzaSyA1234567890abcdefghijklmnopqrstuv', 'SyA123', 'google-key'),
    ('sk_live_51H8abcdefghij rk_live_51H8abcdefghij', '51H8abc', 'stripe-key'),
    ('whsec_abcdefghij1234567890', 'abcdefghij', 'stripe-key'),
    ('SK%s AC%s' % (HEX, HEX), HEX, 'twilio-key'),
    ('SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyzABCDEFGHIJ1234567', 'ABCDEFGHIJ', 'sendgrid-key'),
    ('npm_%sab' % MIX, MIX, 'npm-token'),
    ('pypi-AgEIcHlwaS5vcmcCJDU4ZjQ5YTk3LTk', 'AgEIcHl', 'pypi-token'),
    ('hf_' + MIX, MIX, 'huggingface-token'),
    ('hf_abcdefghijklmnopqrstuvwxyzABCDEFGH', 'abcdefgh', 'huggingface-token'),
    ('npm_abcdefghijklmnopqrstuvwxyzABCDEFGHIJ', 'abcdefgh', 'npm-token'),
    ('dop_v1_' + HEX + HEX, HEX, 'digitalocean-token'),
    ('123456789:AAabcdefghijklmnopqrstuvwxyz0123456', 'AAabcdef', 'telegram-token'),
    ('MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs', 'ZnCjm1', 'discord-token'),
    ('AccountName=x;AccountKey=abcdEFGH1234abcdEFGH1234==;EndpointSuffix=y', 'abcdEFGH', 'secret'),
    ('SharedAccessSignature sr=x&sig=abcdEFGH1234abcdEFGH1234%3D&se=1', 'abcdEFGH', 'signature'),
    ('key-' + HEX, HEX, 'mailgun-key'),
    ('dapi' + HEX, HEX, 'databricks-token'),
    ('gsk_' + MIX, MIX, 'groq-key'),
    ('xai-' + MIX, MIX, 'xai-key'),
    ('pplx-' + MIX, MIX, 'perplexity-key'),
    ('r8_' + MIX, MIX, 'replicate-token'),
    ('shpat_' + HEX, HEX, 'shopify-token'),
    ('lin_api_' + MIX, MIX, 'linear-key'),
    ('secret_%s ntn_%s' % (MIX, MIX), MIX, 'notion-token'),
    ('figd_' + MIX, MIX, 'figma-token'),
    ('hvs.' + MIX, MIX, 'vault-token'),
    ('AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQABCDEFGHIJKLMNOP', 'ABCDEFG', 'age-key'),
    ('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N', 'eyJ', 'jwt'),
    ('cut: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0', 'eyJ', 'jwt'),
    ('KEY=1\\nghp_EXAMPLE0EXAMPLE0EXAMPLE0abcd', 'ghp_', 'github-token'),
    ('{"x":"\\u0022ghp_EXAMPLE0EXAMPLE0EXAMPLE0abcd"}', 'ghp_', 'github-token'),
    ('\x1b[32mghp_EXAMPLE0EXAMPLE0EXAMPLE0abcd\x1b[0m', 'ghp_', 'github-token'),
    ('url%3Dghp_EXAMPLE0EXAMPLE0EXAMPLE0abcd', 'ghp_', 'github-token'),
    ('密钥：ghp_EXAMPLE0EXAMPLE0EXAMPLE0abcd。', 'ghp_', 'github-token'),
]
NAMED = [
    ('AWS_BEARER_TOKEN_BEDROCK=ABSKQmVkcm9ja0FQSUtleS14N2syLWF0LTEyMzQ1Njc4OTAxMjphYmNkZWZnaA==', 'ABSK', 'bedrock-key'),
    ('AWS_BEARER_TOKEN_BEDROCK=bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29tLz9BY3Rpb249Q2FsbA==', 'YmVk', 'bedrock-key'),
    ('client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFb3dJQkFBS0NBUUVBWkhF', 'LS0tLS1', 'private-key'),
    ('tls.key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1JSUVvd0lCQUFLQ0FRRUFaSEU=', 'LS0tLS1', 'private-key'),
    ('git clone https://3a9e7516072cb95eb92e57561d80e1ed511b327f@github.com/a/b.git', '3a9e75', 'token'),
    ('https://Qw3rTy8uIoP0aSdFgh5@dev.azure.com/x', 'Qw3r', 'token'),
    ('db: {user: x, pass: s3cret99x}', 's3cret99x', 'password'),
    ('pwd: hunter22x', 'hunter22x', 'password'),
    ('export GITHUB_TOKEN=ghp_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0abcd', 'EXAMPLE0', 'github-token'),
    ('DB_PASSWORD=hunter2', 'hunter2', 'password'),
    ('PASSWORD=correcthorse', 'correcthorse', 'password'),
    ('PASSWORD=a,b;c&d1', 'c&d1', 'password'),
    ('password: hunter2pass', 'hunter2', 'password'),
    ('client_secret: Hunt3rWolf88', 'Hunt3r', 'secret'),
    ("sshpass -p 'hunter2pass' ssh ann@host", 'hunter2', 'password'),
    ('mysqldump -u root -phunter2pass shop > all.sql', 'hunter2', 'password'),
    ('redis-cli -h cache -a hunter2pass ping', 'hunter2', 'password'),
    ('docker login -u ann -p hunter2pass registry', 'hunter2', 'password'),
    ('password = hunter2pass', 'hunter2', 'password'),
    ('password=hunter2pass', 'hunter2', 'password'),
    ('Password: Hunt3r!x', 'Hunt3r', 'password'),
    ('{"password": "hunter2"}', 'hunter2', 'password'),
    ('{"password":"correcthorse"}', 'correcthorse', 'password'),
    ('{\\"password\\": \\"hunter2\\"}', 'hunter2', 'password'),
    ('{"passphrase": "correct horse battery staple"}', 'battery', 'password'),
    ('{"password": "with\\"quote9"}', 'quote9', 'password'),
    ('{"password": "$ecret99(!"}', 'ecret99', 'password'),
    ('<TOKEN>a1b2c3d4e5f6g7h8</TOKEN>', 'a1b2', 'token'),
    ('{"client_secret": "a1b2c3d4e5f6"}', 'a1b2', 'secret'),
    ('"apiKey": "a1b2c3d4e5f6"', 'a1b2', 'secret'),
    ('x-api-key: a1b2c3d4e5f6g7h8', 'a1b2', 'secret'),
    ('API key: a1b2c3d4e5f6g7h8', 'a1b2', 'secret'),
    ('--password hunter2', 'hunter2', 'password'),
    ('--password=hunter2', 'hunter2', 'password'),
    ('--api-key "a1b2c3d4e5f6"', 'a1b2', 'secret'),
    ("mysql --user=root --password='s3cr3t!'", 's3cr3t', 'password'),
    ('MYSQL_PWD=hunter2 mysql', 'hunter2', 'password'),
    ('PGPASSWORD=hunter2 psql', 'hunter2', 'password'),
    ('JWT_SECRET=supersecretvalue', 'supersecretvalue', 'secret'),
    ('SECRET_KEY = "django-insecure-abc(def#123"', 'insecure', 'secret'),
    ('const apiKey = "abc123def456ghi789";', 'abc123', 'secret'),
    ('password: str = "hunter2x"', 'hunter2x', 'password'),
    ('os.environ["API_TOKEN"] = "a1b2c3d4e5f6"', 'a1b2', 'token'),
    ('<password>hunter2</password>', 'hunter2', 'password'),
    ('?access_token=a1b2c3d4e5&x=1', 'a1b2', 'token'),
    ('Server=db;User Id=sa;Password=Hunt3r!;', 'Hunt3r', 'password'),
    ('OPENAI_KEY=a1b2c3d4e5f6g7h8i9', 'a1b2', 'key'),
    ('spring.datasource.password=hunter2x', 'hunter2x', 'password'),
    ('//registry.npmjs.org/:_authToken=a1b2c3d4-e5f6-7890-abcd-ef1234567890', 'a1b2', 'token'),
    ('"auth": "dXNlcjpwYXNzd29yZDEyMw=="', 'dXNl', 'credential'),
    ('A=1\\nDB_PASSWORD=hunter2\\nB=2', 'hunter2', 'password'),
]
CARRIED = [
    ('postgres://app:hunter2pass@db.example/x', 'hunter2pass', 'password'),
    ('redis://:hunter2@localhost:6379/0', 'hunter2', 'password'),
    ('https://user:p%40ss@host/x', 'p%40ss', 'password'),
    ('DATABASE_URL="postgres://u:p@ss@h/db"', 'ss@h', 'password'),
    ('Authorization: Bearer abc.def.ghi-0123456789', 'abc.def', 'authorization'),
    ('curl -H "Authorization: Basic dXNlcjpwYXNzd29yZA=="', 'dXNlc', 'authorization'),
    ("-H 'Authorization: token 1234abcd'", '1234abcd', 'authorization'),
    ('"Authorization": "Bearer q1w2e3r4"', 'q1w2', 'authorization'),
    ("headers.set('Authorization', 'Bearer q1w2e3r4')", 'q1w2', 'authorization'),
    ('the bearer q1w2e3r4t5y6u7i8 works', 'q1w2', 'authorization'),
    ('machine api.example login bob password hunter2', 'hunter2', 'password'),
    ('machine api.example\n  login bob\n  password hunter2\n', 'hunter2', 'password'),
    ('Cookie: theme=dark; sessionid=abc123def456', 'abc123def456', 'cookie'),
    ('Set-Cookie: sid=s%3Aabc123def456; Path=/; HttpOnly', 'abc123', 'cookie'),
    ('curl -u admin:hunter2 https://x', 'hunter2', 'password'),
    ('https://s3/x?X-Amz-Signature=' + HEX + HEX, HEX, 'signature'),
]


@pytest.mark.parametrize('given, secret, kind', FORMATS + NAMED + CARRIED)
def test_secrets_go(given, secret, kind):
    out = redact(given)
    assert secret not in out
    assert '[redacted:%s' % kind in out
    assert redact(out) == out
    assert count_secrets(given) == out.count('[redacted:')
    for frame in ('before %s after', 'a\n%s\nb', '我们 %s 空', '(%s)', '`%s`'):
        assert secret not in redact(frame % given)


def test_the_rest_of_the_text_stays():
    assert redact('use key AKIAIOSFODNN7EXAMPLE for the coati bucket') == 'use key [redacted:aws-key] for the coati bucket'
    assert redact('postgres://app:hunter2pass@db.example/x') == 'postgres://app:[redacted:password]@db.example/x'
    assert redact('{"a": 1, "password": "hunter2", "b": 2}') == '{"a": 1, "password": "[redacted:password]", "b": 2}'
    assert redact('Set-Cookie: sid=s%3Aabc123def456; Path=/') == 'Set-Cookie: sid=[redacted:cookie]; Path=/'
    assert redact('x=\U0001f600 İ PASSWORD=hunter2 ß') == 'x=\U0001f600 İ PASSWORD=[redacted:password] ß'


def test_case_r075():
    given = ('use key AKIAIOSFODNN7EXAMPLE for the coati bucket\nexport GITHUB_TOKEN=ghp_EXAMPLE0EXAMPLE0EXAMPLE0EXAMPLE0abcd\n'
             'ANTHROPIC_API_KEY=sk-ant-api03-' + 'FAKE0' * 18 + '-AA\npostgres://app:hunter2pass@db.example/x\n'
             'Authorization: Bearer abc.def.ghi-0123456789')
    out = redact(given)
    for secret in ('AKIAIOSFODNN7EXAMPLE', 'ghp_', 'sk-ant', 'FAKE0', 'hunter2pass', 'abc.def.ghi', '0123456789'):
        assert secret not in out
    assert out.count('[redacted:') == 5 and 'coati' in out


PEM = ('-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234567890abcdef\nABCDEFGHIJKLMNOP1234567890abcdefXYZ\nshort9==\n'
       '-----END RSA PRIVATE KEY-----')
BLOCKS = {
    'whole': PEM,
    'escaped': PEM.replace('\n', '\\n'),
    'escaped twice': PEM.replace('\n', '\\\\n'),
    'crlf': PEM.replace('\n', '\r\n'),
    'json': '"private_key": "%s", "x": 1' % PEM.replace('\n', '\\n'),
    'tail cut': PEM[:90],
    'tail cut, mark': PEM[:90] + '\u2026',
    'no end': PEM[:PEM.index('-----END')] + 'and then we talked',
    'head cut': PEM[PEM.index('MIIE'):],
    'head cut, escaped': PEM[PEM.index('\nABC'):].replace('\n', '\\n'),
    'numbered': '\n'.join('%6d\u2192%s' % (n, line) for n, line in enumerate(PEM.split('\n'))),
    'quoted': '\n'.join('> ' + line for line in PEM.split('\n')),
    'pgp': PEM.replace('RSA PRIVATE KEY', 'PGP PRIVATE KEY BLOCK').replace('KEY-----\nMII',
                                                                           'KEY-----\nVersion: 1\n\nMII'),
    'openssh': PEM.replace('RSA', 'OPENSSH'),
    'encrypted': PEM.replace('KEY-----\nMII', 'KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\nMII'),
    'two': PEM + '\n' + PEM,
}


@pytest.mark.parametrize('name', sorted(BLOCKS))
def test_private_key_blocks_go(name):
    out = redact('before\n%s\n(after)' % BLOCKS[name])
    for part in ('MIIEpAIB', 'ABCDEFGH', 'XYZ', 'short9'):
        assert part not in out
    assert out.startswith('before\n') and out.endswith('(after)')
    assert '[redacted:private-key]' in out and redact(out) == out
    assert 'and then we talked' in out or name != 'no end'


@pytest.mark.parametrize('given', [
    "if line.startswith('-----BEGIN PRIVATE KEY-----'):\n    start(line)\n",
    "a = '-----BEGIN PRIVATE KEY-----'\nb = '-----END PRIVATE KEY-----'\nif a in text:\n    return {}\n",
    '-----BEGIN PRIVATE KEY----- opens the block',
    '-----BEGIN PUBLIC KEY-----\n' + MIX + '\n-----END PUBLIC KEY-----',
    '-----BEGIN CERTIFICATE-----\n' + MIX,
])
def test_mentions_of_key_blocks_stay(given):
    assert redact(given) == given


KEPT = '''
token = get_token()
max_tokens: 4096
password: string
"input_tokens": 123, "output_tokens": 4567, "cache_creation_input_tokens": 12345678
token=token
password: str
password: str = None
def login(user, password=None, token='')
--- PASS: TestRefresh2_ok (0.00s)
PASS: tests/unit/test_x.py
second pass: resolve2
RESULT: PASS: retry2_ok
"pwd": "C:/Users/Ann"
pwd: home/dev/app3
"zxcvbn-password": "4.4.2-beta", "csrf-token": "npm:csurf@1.11.0"
const STORAGE_KEY = "app.settings.v1", SESSION_KEY = "user.session.current"
certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUVvd0lCQUFLQ0FR
https://some-long-user-name-here@host/x
msg_01ABCdefGHIjklMNOpqrSTU toolu_01ABCdefGHIjklMNOpqr req_011CABCdefGHIjklMNOp
commit 5d41402abc4b2a76b9719d911017c592aabbccdd
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
123e4567-e89b-12d3-a456-426614174000
/home/dev/projects/some-project/src/token/secret_key.py
PASSWORD=${DB_PASSWORD}
TOKEN=$TOKEN
TOKEN=$(gh auth token)
PASSWORD=%DB_PASSWORD%
API_KEY=<your-key>
"password": "${DB_PASSWORD}", "token": "<token-1234>", "secret": "{{ secret_value1 }}", "token": "$TOKEN1234"
f"password={password}" "password": "[REDACTED]" 'password': '%s'
API_KEY=your-api-key-here
password=xxxxxxxx
password: "********"
apiKey: process.env.API_KEY
api_key=os.environ["API_KEY"]
api_key = os.getenv('API_KEY')
"password": true
secret: null
token = self.token
token = tokens[i]
const token = await fetchToken();
token: Uint8Array;
password = input("x")
password=args.password,
--token TOKEN
--token string   the token to use
--password is required
type="password"
<input name="password" type="password" autocomplete="current-password">Label</input>
"token_type": "bearer"
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Authorization: `Bearer ${token}`
"Authorization: Bearer YOUR_TOKEN"
Authorization: required
Bearer token authentication
postgres://${USER}:${PASS}@host/db
https://example.com:8080/path@x
https://example.com:443?email=a@b
git@github.com:owner/repo.git
if token == "abc":
secretName: my-app-secret-1
key: value12345678
cache_key=a1b2c3d4e5f6a7b8c9
publicKeyToken="1fc8b3b9a1e18e3b"
page_token="a1b2c3d4e5f6"
task-sk-abcdefghijklmnopqrstuvwxyz
sk-learn-something-with-a-long-name-here
cookie: true
Cookie: theme=dark; lang=en-US
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
test_tokens_are_counted_in_the_right_order PASSED
private_key_id: a1b2c3d4e5f6a7b8a1b2c3d4e5f6a7b8
token = sha256_hex
SECRET = OTHER_SECRET
password: "Enter your password"
"invalid_token": InvalidContinuationToken,
hf_hub_download(repo) npm_config_registry pypi-publish-action-v2-2024-release
docker run -u 1000:1000 image
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
PWD=/home/dev/app
credentials: include
AuthorizationError: no token given
[redacted:password] password=[redacted:password] "token": "[redacted:token]"
'''.strip().split('\n')


@pytest.mark.parametrize('line', KEPT)
def test_ordinary_text_stays(line):
    for given in (line, 'x\n  %s\ny' % line):
        out = redact(given)
        assert out == given and out is given and count_secrets(given) == 0


def test_names_that_end_like_a_harmless_one_are_not_harmless():
    for name in ('backend_token', 'frontendToken', 'SEND_TOKEN', 'mintToken'):
        assert 'a1b2' not in redact('%s = "a1b2c3d4e5f6"' % name)


def test_at_most_one_mask_in_a_thousand_lines_of_hashes_and_code():
    dice, lines = random.Random(1), []
    for _ in range(300):
        data = bytes(dice.getrandbits(8) for _ in range(40))
        sha = hashlib.sha256(data).hexdigest()
        lines += [sha, sha[:40], str(uuid.UUID(bytes=data[:16])), 'integrity sha256:%s' % sha,
                  '/home/dev/.cache/%s/x.bin' % sha,
                  '%s  src/token_%s.py' % (sha[:32], sha[:8])]
    library = os.path.dirname(glob.__file__)
    for name in ('ast.py', 'netrc.py', 'secrets.py', 'smtplib.py', 'imaplib.py', 'tokenize.py', 'getpass.py',
                 'zipfile.py'):
        if os.path.exists(os.path.join(library, name)):
            with open(os.path.join(library, name), encoding='utf-8') as f:
                lines += f.read().split('\n')
    assert len(lines) > 4000
    assert sum(count_secrets(line) for line in lines) <= len(lines) / 1000


def test_any_bytes_are_survived_and_masking_twice_changes_nothing():
    dice = random.Random(2)
    pieces = [given for given, _, _ in FORMATS + NAMED + CARRIED] + KEPT + list(BLOCKS.values())
    pieces += ['"', "'", '\\', '\n', ' ', '=', ':', '-----', 'key', 'token', '://', '@', '\x1b[31m', '\ud800', 'é',
               '我', '\0', '[', '`']
    for _ in range(1500):
        given = ''
        for _ in range(dice.randint(1, 8)):
            piece = dice.choice(pieces)
            cut = dice.randint(0, len(piece))
            given += piece if dice.random() < 0.5 else piece[:cut] if dice.random() < 0.5 else piece[cut:]
            given += dice.choice(' \n,|\t')
        out = redact(given)
        assert redact(out) == out, given


@pytest.mark.parametrize('unit', ['eyJ', 'eyJaaaaaaaaaaaaaaaaaaaa.', 'key=', 'key="', 'password="\'', 'token: ',
                                  '--password ', '://a:',
                                  '-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----\n', 'A' * 64 + '\n',
                                  '-', '\\', '@',
                                  'cookie:', 'authorization: bearer ', 'machine ', 'curl -u ', 'sig=', 'SG.',
                                  '31meyJ', 'a.', '='])
def test_hostile_runs_come_back(unit):
    given = unit * (20000 // len(unit))
    assert len(redact(given)) > 0
