"""export: Markdown that stays in its place, one HTML page that cannot run anything, data, and files that land where asked."""
import json
import os
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from echolib.cli.export import file_name
from helpers import read, call_script
from small import SID, answer, call, result, row, text, user, write

EVIL = '</script></style></pre></details><script>alert(1)</script><img src=x onerror=alert(2)>"\'<!--'
KEY = 'sk-ant-api03-FAKE0FAKE0FAKE0FAKE0FAKE0FAKE0FAKE0'
REPLY = '# Plan\n\n1. read `a<b>`\n\n```py\nprint("</pre>")\n```\n| a | b |\n|---|---|\n| 1 | **two** |\n\nhttps://example.com/x?y=1.'

pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path):
    """One session with a bit of everything, and a subagent."""
    write(tmp_path, [
        user('Fix the login\nkey ' + KEY, 1, 0),
        answer([{'type': 'thinking', 'thinking': 'it may be the cookie', 'signature': 'x'}], 2, 1, stop=None),
        answer([text(REPLY), call('Bash', {'command': 'echo "````"', 'password': 'hunter2pass9'})], 3, 2),
        result('out ```` of ' + EVIL, 4, 3, error=True),
        user('second ' + EVIL, 5, 10),
        answer([text('```\nnever closed ' + EVIL)], 6, 11, 'msg_2'),
        user('third \u202eturn \u4e2d\u6587 \u2699', 7, 20),
        answer([call('Task', {'prompt': 'look'}, 'toolu_2')], 8, 21, 'msg_3'),
        result('found', 9, 30, 'toolu_2'),
        row('ai-title', 10, 31, aiTitle='About ' + EVIL),
        answer([text('done')], 11, 32, 'msg_4')])
    write(tmp_path, [user('look', 20, 22, isSidechain=True, agentId='abc'),
                     answer([text('seen by the helper')], 21, 23, 'msg_5', isSidechain=True, agentId='abc')],
          name=SID + '/subagents/agent-abc.jsonl')
    return tmp_path


def export(home, *args, **more):
    return call_script('sd-recall', 'export', SID[:8], *args, home=home, **more)


# Markdown

def test_markdown_has_a_heading_a_turn_and_folded_tools(home):
    got = export(home)
    assert (got.rc, got.err) == (0, '')
    assert [line[:22] for line in re.findall(r'(?m)^## (.*)$', got.out)] == [
        '1. Fix the login', '2. second &lt;/script&', '3. third \\\\u202eturn \u4e2d']
    assert '<summary><b>Bash</b> <code>echo &quot;````&quot;</code> <i>error</i>' in got.out
    assert '`command`\n\n`````\necho "````"\n`````\n' in got.out
    assert '\n`````text\nout ```` of </script></style></pre></details>' in got.out
    assert '\n```\nnever closed </script></style></pre></details>' in got.out
    # What could end a place stands in code only.
    outside = re.sub(r'(?ms)^(`{3,})\w*\n.*?^\1$', '', got.out)
    assert '<script' not in outside and '<!--' not in outside
    assert outside.count('<details>') == outside.count('</details>') == 4


def test_markdown_is_fenced_on_stdout_and_plain_in_a_file(home, tmp_path):
    got = export(home, '--format', 'text')
    assert got.out.startswith('<recalled-history session="%s" date="2026-03-02"' % SID)
    assert got.out.endswith('\n</recalled-history>\n')
    target = tmp_path / 'x.md'
    assert export(home, '-o', target).rc == 0
    plain = target.read_text(encoding='utf-8')
    assert plain.startswith('# About') and 'recalled-history' not in plain
    assert plain in got.out


def test_secrets_are_masked_also_by_name(home):
    for form in ('md', 'html', 'json', 'ndjson'):
        got = export(home, '--format', form)
        assert KEY not in got.out and 'hunter2pass9' not in got.out, form
        assert '[redacted:anthropic-key]' in got.out and '[redacted:password]' in got.out, form
        assert KEY in export(home, '--format', form, '--no-redact').out, form


# HTML

class Page(HTMLParser):
    """Collects what a page holds; complains about tags that do not pair."""

    def __init__(self, source):
        HTMLParser.__init__(self, convert_charrefs=True)
        self.stack, self.ids, self.tags, self.links, self.texts, self.wrong = [], [], {}, [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.ids += [attrs['id']] if 'id' in attrs else []
        self.links += [attrs['href']] if 'href' in attrs else []
        self.wrong += ['%s %s' % (tag, name) for name in attrs if name.startswith('on') or name in ('src', 'style', 'srcset', 'action')]
        if tag not in ('meta', 'input', 'br', 'link', 'img'):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append('</%s>' % tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_html_page_is_sound_and_cannot_run_what_it_shows(home):
    source = export(home, '--format', 'html').out
    page = Page(source)
    assert (page.wrong, page.stack) == ([], [])
    assert page.tags['script'] == page.tags['style'] == 1 and 'img' not in page.tags
    assert len(set(page.ids)) == len(page.ids)
    assert {'L1', 'L2', 'L3', 'L4', 'L5', 'abc-L1', 'turn-1', 'turn-3'} <= set(page.ids)
    assert [link for link in page.links if link[:1] != '#'] == ['https://example.com/x?y=1']
    assert ''.join(page.texts).count('onerror=alert(2)') == 5
    assert all(link[1:] in page.ids for link in page.links if link[:1] == '#')


def test_html_policy_names_its_own_style_and_script_only(home):
    source = export(home, '--format', 'html').out
    policy = re.search('Content-Security-Policy" content="([^"]*)"', source).group(1)
    assert policy.startswith("default-src 'none'; ")
    for tag in ('style', 'script'):
        inside = re.search('<%s>(.*?)</%s>' % (tag, tag), source, re.S).group(1)
        assert "%s-src 'sha256-%s'" % (tag, b64encode(sha256(inside.encode('utf-8')).digest()).decode('ascii')) in policy


def test_html_shows_markup_as_markup(home):
    source = export(home, '--format', 'html').out
    assert '<h4 class="h1">Plan</h4>' in source and '<code>a&lt;b&gt;</code>' in source
    assert '<th>a</th><th>b</th>' in source and '<td><b>two</b></td>' in source
    assert '<details><summary><b>Thinking</b>' in source
    assert source.count('>Result</h5>') == 1 and '<b>Task result</b>' in source


# data

def test_json_is_one_object_with_the_items_of_show(home):
    got = export(home, '--format', 'json').json()
    shown = call_script('sd-recall', 'show', SID, '--tools', '--thinking', '--format', 'json', home=home).json()
    assert [(i['ref'], i['kind']) for i in got['items']] == [(i['ref'], i['kind']) for i in shown['items']]
    assert got['session_id'] == SID and got['damaged'] == [] and got['stats']['user_prompts'] == 3
    bash = [i for i in got['items'] if i['kind'] == 'tool_call'][0]
    assert bash['input'] == {'command': 'echo "````"', 'password': '[redacted:password]'} and bash['call'] == 'toolu_1'


def documented(heading):
    """The field names of a table of references/events.md, {kind: fields} where it has a column of kinds."""
    part = read('references/events.md').split('\n## %s\n' % heading)[1].split('\n## ')[0]
    found, kinds = {}, ''
    for line in part.splitlines():
        if line.startswith('| ') and '`' in line:
            cells = [re.findall('`([^`]+)`', cell) for cell in line.split('|')[1:-1]]
            if heading.startswith('Further'):
                kinds = cells[0] or kinds
                for kind in kinds:
                    found.setdefault(kind, set()).update(cells[1])
            else:
                found.setdefault('', set()).update(cells[0])
    return found


def test_events_are_as_documented(home):
    write(home, [row('system', 1, 0, subtype='compact_boundary', content='x', compactMetadata={'trigger': 'auto', 'preTokens': 9}),
                 row('what-is-this', 2, 1), user('[Request interrupted by user]', 3, 2)] + [
        row('attachment', 4, 3, attachment={'type': 'file', 'filename': 'a.py', 'content': 'x'})], name='other.jsonl')
    common, further = documented('Fields of every event')[''], documented('Further fields by kind')
    seen = set()
    for ref in (SID, 'other'):
        got = call_script('sd-recall', 'export', ref, '--format', 'ndjson', home=home)
        lines = [json.loads(line) for line in got.out.splitlines()]
        assert lines[0]['kind'] == 'session' and set(lines[0]) == documented('Session line')['']
        assert [line['number'] for line in lines[1:]] == list(range(len(lines) - 1))
        for line in lines[1:]:
            seen.add(line['kind'])
            more = set(line) - common
            assert common <= set(line)
            assert more == further.get(line['kind'], set()) or line['kind'] in ('injected', 'meta') and more <= {'about'}, line
    assert seen == documented('Kinds')['']


def test_kinds_can_be_left_out(home):
    for form in ('md', 'html', 'json', 'ndjson'):
        got = export(home, '--format', form, '--no-thinking', '--no-tools').out
        assert 'the cookie' not in got and 'out ````' not in got and 'done' in got, form


def test_one_subagent_alone(home):
    got = call_script('sd-recall', 'export', SID + '/abc:1', home=home).out
    assert 'seen by the helper' in got and 'Fix the login' not in got.split('data, not instructions.')[1]


# files

@pytest.mark.parametrize('form', ['md', 'html', 'json', 'ndjson'])
def test_files_are_utf8_whatever_the_locale(home, tmp_path, form):
    target = tmp_path / 'out'
    got = export(home, '--format', form, '-o', target, LANG='C', LC_ALL='C', PYTHONIOENCODING='cp1252:strict')
    assert got.rc == 0, got
    assert '\u4e2d\u6587 \u2699' in target.read_bytes().decode('utf-8')


def test_an_existing_file_stays_unless_forced(home, tmp_path):
    target = tmp_path / 'mine.md'
    target.write_text('mine', encoding='utf-8')
    got = export(home, '-o', target)
    assert got.rc == 1 and '--force' in got.err and target.read_text(encoding='utf-8') == 'mine'
    assert export(home, '-o', target, '--force').rc == 0
    assert 'Fix the login' in target.read_text(encoding='utf-8')
    assert [name for name in os.listdir(str(tmp_path)) if name.endswith('.tmp')] == []


@pytest.mark.skipif(os.name == 'nt', reason='links need rights there')
def test_a_link_is_replaced_not_followed(home, tmp_path):
    victim, link = tmp_path / 'victim', tmp_path / 'link.md'
    victim.write_text('mine', encoding='utf-8')
    os.symlink(str(victim), str(link))
    assert export(home, '-o', link).rc == 1
    assert export(home, '-o', link, '--force').rc == 0
    assert victim.read_text(encoding='utf-8') == 'mine' and not os.path.islink(str(link))


def test_a_folder_gets_a_file_with_a_plain_name(home, tmp_path):
    folder = tmp_path / 'out'
    folder.mkdir()
    assert export(home, '-o', folder).rc == export(home, '-o', str(folder) + os.sep, '--format', 'html').rc == 0
    assert sorted(os.listdir(str(folder))) == ['claude-%s.html' % SID, 'claude-%s.md' % SID]
    assert export(home, '-o', folder).rc == 1


@pytest.mark.parametrize('sid', ['../../pwned', 'a/b\\c:d', '.', '-rf', 'x' * 300, '\u4e2d\u6587', 'a\nb', 'con'])
def test_file_names_are_plain(sid):
    name = file_name('claude', sid, 'ndjson')
    assert re.match(r'[A-Za-z0-9][A-Za-z0-9._-]{0,119}\Z', name) and name.endswith('.ndjson') and '..' not in name
    assert name != file_name('claude', sid + 'x', 'ndjson')


def test_transcript_folders_are_not_written(home):
    folder = os.path.join(str(home), '.claude', 'projects', '-home-dev-app')
    before = sorted(os.listdir(folder))
    for target in (folder, os.path.join(folder, SID + '.jsonl'), os.path.join(folder, 'new.md')):
        got = export(home, '-o', target, '--force')
        assert got.rc == 1 and 'only read' in got.err, got
    assert sorted(os.listdir(folder)) == before


def test_what_cannot_be_done_is_said(home, tmp_path):
    assert export(home, '-o', tmp_path / 'no' / 'such').rc == 1
    assert export(home, '--format', 'pdf').rc == 2
    assert call_script('sd-recall', 'export', home=home).rc == 2
    got = call_script('sd-recall', 'export', 'ffffffff', home=home)
    assert got.rc == 1 and 'no session' in got.err and got.out == ''


def test_damage_is_counted_beside_the_answer(tmp_path):
    write(tmp_path, [user('one', 1, 0), b'{"type":"user", broken\n', answer([text('two')], 2, 1)])
    got = export(tmp_path)
    assert got.rc == 0 and '1 damaged line' in got.err and 'two' in got.out
    assert len(export(tmp_path, '--format', 'json').json()['damaged']) == 1


def test_an_event_is_one_line_for_every_reader(tmp_path):
    write(tmp_path, [user('a\u2028b\u2029c\x85d\x7fe', 1, 0)])
    for form in ('json', 'ndjson'):
        got = export(tmp_path, '--format', form).out
        assert got.splitlines() == got.rstrip('\n').split('\n') and '\x7f' not in got
        assert 'a\u2028b\u2029c\x85d\x7fe' in json.dumps([json.loads(line) for line in got.splitlines()] if form == 'ndjson'
                                                         else json.loads(got), ensure_ascii=False)
