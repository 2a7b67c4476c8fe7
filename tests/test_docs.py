"""The documentation holds: its commands run in order, its links lead somewhere, each script explains itself.

A command may name a session as REF, SESSION or SESSION:N: a session of the fixture home stands in for it.
"""
import os
import re
import shutil

import pytest

from echolib.cli import options
from helpers import FIXTURES, ROOT, all_commands, names_in, read, run, run_script
from reference import COMMON, REFERENCE, described

HOME = os.path.join(FIXTURES, 'claude', 'home')
SKILLS = [name for name in names_in('skills') if os.path.isdir(os.path.join(ROOT, 'skills', name))]
SCRIPTS = [name[:-len('.py')] for name in names_in('scripts') if name.endswith('.py')]
FENCE = re.compile(r'^ *(`{3,}|~{3,}) *(\w*)[^\n]*\n(.*?)^ *\1 *$', re.M | re.S)
LINK = re.compile(r'!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)')
IN_ROOT = re.compile(r'\$\{CLAUDE_PLUGIN_ROOT\}/([\w./-]*\w)')
SCRIPT = re.compile(r'(?:"?\$\{CLAUDE_PLUGIN_ROOT\}/|(?<![\w/.-]))scripts/([\w.-]*\w)"?')
SESSION = re.compile(r'(?<![\w-])(?:REF|SESSION)(:N)?(?![\w-])')


def files(folder, *names):
    """Return the Markdown files below a folder, relative to the root; only those called one of the names, if given."""
    found = []
    for where, _, inside in os.walk(os.path.join(ROOT, folder)):
        found += [os.path.relpath(os.path.join(where, name), ROOT).replace(os.sep, '/') for name in inside
                  if name.endswith('.md') and (not names or name in names)]
    return sorted(found)


README = ['README.md'] if os.path.exists(os.path.join(ROOT, 'README.md')) else []
PAGES = README + files('skills') + files('references') + ['tests/README.md']


def commands(text):
    """Return the commands in a text that run one of our scripts by python3, continued lines joined."""
    lines = re.sub(r'\\\n\s*', '', text).splitlines()
    return [line.strip() for line in lines if line.strip().startswith('python3 ') and SCRIPT.search(line)]


def fenced_commands(text):
    """Return the commands in the shell blocks of a page, in order."""
    found = []
    for _, language, body in FENCE.findall(text):
        if language in ('bash', 'sh', 'shell', 'console'):
            found += commands(body)
    return found


@pytest.fixture
def home(tmp_path):
    """A copy of the fixture home of Claude."""
    if not os.path.isdir(HOME):
        pytest.skip('tests/fixtures/claude/home is not there yet')
    target = str(tmp_path / 'home')
    shutil.copytree(HOME, target, symlinks=True)
    return target


def run_in_order(found, home, cwd):
    """Run commands in a shell as a user would, in an empty folder, and expect each to answer."""
    ref = None
    for command in found:
        name = SCRIPT.search(command).group(1)
        assert os.path.exists(os.path.join(ROOT, 'scripts', name)), '%s: there is no scripts/%s' % (command, name)
        if SESSION.search(command) and ref is None:
            rows = run_script('sd-recall', 'sessions', '--format', 'tsv', home=home).out.splitlines()
            ref = rows[1].split('\t')[0]
        line = SESSION.sub(lambda match: ref + (':1' if match.group(1) else ''), command)
        if '${CLAUDE_PLUGIN_ROOT}' not in line:
            line = SCRIPT.sub(lambda match: '"%s/scripts/%s"' % (ROOT, match.group(1)), line)
        result = run(['bash', '-o', 'pipefail', '-c', line], home=home, cwd=cwd, CLAUDE_PLUGIN_ROOT=ROOT)
        assert result.rc == 0, '%s\n%r' % (command, result)
        assert 'Traceback' not in result.out + result.err, '%s\n%r' % (command, result)


@pytest.mark.slow
@pytest.mark.parametrize('page', README + files('skills', 'SKILL.md'))
def test_commands_run_in_order(page, home, tmp_path):
    found = fenced_commands(read(page))
    work = tmp_path / 'work'
    work.mkdir()
    run_in_order(found, home, work)


@pytest.mark.slow
@pytest.mark.parametrize('name', SCRIPTS)
def test_examples_of_help_run(name, home, tmp_path):
    found = commands(help_of(name).partition('xamples')[2])
    work = tmp_path / 'work'
    work.mkdir()
    # What examples of chat-profiles.py are about.
    (work / 'WhatsApp Chat with Family.txt').write_text('13/01/23, 10:00 - Ann: hello\n13/01/23, 10:01 - Bob: hi\n', encoding='utf-8')
    run_in_order(found, home, work)


def help_of(name):
    result = run_script(name, '--help')
    assert (result.rc, result.err) == (0, ''), result
    return result.out


@pytest.mark.parametrize('name', SCRIPTS)
def test_help_says_what_it_does_and_gives_examples(name):
    text = help_of(name)
    paragraphs = [' '.join(part.split()) for part in re.split(r'\n\s*\n', text) if part.strip()]
    if paragraphs[0].startswith('usage:'):
        del paragraphs[0]
    assert re.match(r'^[^.!?]*(?:[.!?]\w[^.!?]*)*\.$', paragraphs[0]), 'not one sentence: %s' % paragraphs[0]
    assert re.search(r'(?im)^examples?\b', text), text


COMMANDS = all_commands()


@pytest.mark.parametrize('command', sorted(COMMANDS))
def test_every_option_is_described(command):
    own, script = described(command)
    written = set(re.findall(r'(?<![\w-])(--?[a-z][\w-]*)', ' '.join(re.findall(r'`[^`]*`', own))))
    shared = COMMON | set(re.findall(r'`(--[\w-]+)', script))
    for option in COMMANDS[command].options:
        for name in option.names:
            assert name in written or name in shared, '%s: %s' % (command, name)
        for choice in option.choices:
            if option not in options.COMMON + options.SELECTION:
                assert re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(choice), own), '%s: %s %s' % (command, option.names[0], choice)
    for name, _, _ in COMMANDS[command].places:
        assert name.upper() in own, '%s: %s' % (command, name.upper())


def overview(script):
    """Return a script's lines in README.md's Commands: those of its --help, or its name and sentence where it has no commands."""
    own = dict((name.partition(' ')[2], COMMANDS[name]) for name in COMMANDS if name.partition(' ')[0] == script)
    if '' in own:
        return ['%s.py  %s' % (script, own[''].summary)]
    return [script + '.py'] + [line for line in help_of(script).splitlines() if line.startswith('  ') and line.split()[0] in own]


def test_readme_has_the_commands_of_help():
    block = next(body for _, language, body in FENCE.findall(read('README.md').partition('\n## Commands\n')[2]) if language == 'text')
    right = '\n'.join(line for script in sorted(set(name.partition(' ')[0] for name in COMMANDS)) for line in overview(script)) + '\n'
    assert block == right, 'the block under Commands in README.md should be:\n' + right


def test_nothing_else_is_described():
    scripts = set(command.partition(' ')[0] for command in COMMANDS)
    listed = set((script + ' ' + name).strip() for script, name in REFERENCE if script in scripts)
    assert listed - scripts == set(COMMANDS) - scripts
    contents = read('references/cli.md').partition('## ')[0]
    for command in COMMANDS:
        assert '](#%s' % (command.partition(' ')[2] or command.replace('.', '')) in contents, command


def front_matter(text):
    """Return (fields, body) of a SKILL.md; a field's continued lines are joined with blanks."""
    match = re.match(r'---\n(.*?\n)---\n(.*)', text, re.S)
    assert match, 'no front-matter'
    fields, name = {}, None
    for line in match.group(1).splitlines():
        start = re.match(r'([\w-]+):(?:\s+|$)(.*)', line)
        if start:
            name = start.group(1)
            fields[name] = start.group(2).strip()
        elif name and line.strip():
            fields[name] = (fields[name].lstrip('>|-') + ' ' + line.strip()).strip()
    return {key: value.strip('"\'') for key, value in fields.items()}, match.group(2)


@pytest.mark.parametrize('name', SKILLS)
def test_skill_is_well_formed(name):
    fields, body = front_matter(read('skills/%s/SKILL.md' % name))
    assert fields.get('name') == name
    assert fields.get('description')
    assert len(body.splitlines()) < 200
    # Claude Code puts arguments in place of $0, $1, ... anywhere in the text.
    assert re.findall(r'\$\d', body) == []
    unquoted = [line for line in fenced_commands(body) if re.search(r'(?<!")\$\{CLAUDE_PLUGIN_ROOT\}', line)]
    assert unquoted == []


def dead_links(page, text):
    """Return the links of a page to files of the repository that do not exist."""
    dead = []
    for target in LINK.findall(FENCE.sub('', text)):
        path = target.partition('#')[0].replace('%20', ' ')
        if path and not re.match(r'[a-z][a-z+.-]*:|\$', path) and not os.path.exists(
                os.path.join(ROOT, os.path.dirname(page), path)):
            dead.append(target)
    return dead + [path for path in IN_ROOT.findall(text) if not os.path.exists(os.path.join(ROOT, path))]


@pytest.mark.parametrize('page', PAGES)
def test_links_lead_somewhere(page):
    assert dead_links(page, read(page)) == []


SAMPLE = '''
Text with `python3 scripts/inline.py`.

```bash
# a comment
python3 scripts/a.py search "x" \\
    --limit 1
echo no
$ python3 scripts/shown-with-a-prompt.py
python3 "${CLAUDE_PLUGIN_ROOT}/scripts/b.py" show SESSION:N | head -n 1
```

```json
{"command": "python3 scripts/c.py"}
```

   ```sh
   python3 scripts/d.py
   ```
[here](tests/README.md) [there](no/such.md#part "title") [web](https://example.com) [below](#text)
`${CLAUDE_PLUGIN_ROOT}/no/reference.md`.
'''


def test_commands_are_found():
    assert fenced_commands(SAMPLE) == [
        'python3 scripts/a.py search "x" --limit 1',
        'python3 "${CLAUDE_PLUGIN_ROOT}/scripts/b.py" show SESSION:N | head -n 1',
        'python3 scripts/d.py']
    assert [SCRIPT.search(line).group(1) for line in fenced_commands(SAMPLE)] == ['a.py', 'b.py', 'd.py']
    assert SESSION.sub('x', 'SESSION:N REF SESSION_DIGGER --session REFS') == 'x x SESSION_DIGGER --session REFS'


def test_dead_links_are_found():
    assert dead_links('README.md', SAMPLE) == ['no/such.md#part', 'scripts/b.py', 'no/reference.md']


def test_front_matter_is_read():
    text = '---\nname: "a"\ndescription: >\n  one\n  two: three\nuser-invocable: true\n---\n\nText\n'
    fields, body = front_matter(text)
    assert fields == {'name': 'a', 'description': 'one two: three', 'user-invocable': 'true'}
    assert body == '\nText\n'
