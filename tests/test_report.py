"""The report: one page that stands by itself, holds the figures of stats, and lets nothing in it run."""
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from helpers import call_script
from small import OTHER, SID, answer, call, result, text, user, write

from echolib.cli import trends_report_charts as charts
from echolib.cli.common import amount, compact
from echolib.insights import report as insight

slow = pytest.mark.slow
EVIL = '</script></style></svg></title><script>alert(1)</script><img src=x onerror=alert(2)>"\'<!--\x1b[31m\u202e'
VOID = {'meta', 'link', 'img', 'br', 'input', 'hr'}


class Page(HTMLParser):
    """Reads a page: what is open, which elements and attributes there are, and the text of each section."""

    def __init__(self, markup):
        HTMLParser.__init__(self)
        self.open, self.elements, self.attributes, self.words = [], [], [], []
        self.sections, self.cells = {}, []
        self._head = False
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.extend((tag, name, value) for name, value in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.extend((tag, name, value) for name, value in attrs)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()

    def handle_data(self, data):
        if 'style' in self.open:
            return
        self.words.append(data)
        if self.open and self.open[-1] == 'td':
            self.cells.append(data)


@pytest.fixture(scope='module')
def home(tmp_path_factory):
    """Names that would break out of their place, a few weeks of work, a model without a price, a call without a time."""
    folder = tmp_path_factory.mktemp('report')
    records = []
    for day in range(1, 28):
        stamp = '2026-02-%02dT%02d:00:00Z' % (day, day % 24)
        records.append(user('do', day, stamp, cwd='/home/' + EVIL))
        records.append(answer([call('Bash' if day % 2 else 'mcp__' + EVIL, {}, 'toolu_%d' % day)], 100 + day, stamp, 'msg_%d' % day,
                              (1000, 500, 20000, 900), cwd='/home/' + EVIL, model='claude-opus-4-5' if day < 20 else 'm' + EVIL))
        records.append(result('x', 200 + day, stamp, 'toolu_%d' % day, day % 3 == 0, cwd='/home/' + EVIL))
    write(folder, records)
    write(folder, [user('other', 900, '2026-02-10T10:00:00Z', sid=OTHER, cwd='/home/dev/other'),
                   answer([text('e')], 901, 'never', 'msg_never', (160, 16, 0, 0), sid=OTHER, cwd='/home/dev/other')], OTHER, '-home-dev-other')
    return folder


@pytest.fixture(scope='module')
def page(home):
    got = call_script('trend-engine', 'report', '--html', '-', home=home)
    assert (got.rc, got.err) == (0, '')
    return got.out


@slow
def test_is_one_well_formed_page_that_runs_nothing(page):
    read = Page(page)
    assert read.open == [] and page.startswith('<!doctype html>') and read.elements.count('html') == 1
    assert not {'script', 'img', 'link', 'iframe', 'form', 'object', 'a'} & set(read.elements)
    for tag, name, value in read.attributes:
        assert not name.startswith('on') and name not in ('style', 'src', 'href', 'action', 'xlink:href'), (tag, name)
    assert 'http:' not in page and 'https:' not in page and 'url(' not in page and '@import' not in page
    # Text that would break out stands as text.
    assert any('<script>alert(1)' in words for words in read.words)
    assert '\x1b' not in page and '\u202e' not in page


@slow
def test_policy_names_its_style_and_nothing_else(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    style = re.search(r'<style>(.*?)</style>', page, re.S).group(1)
    mark = b64encode(sha256(style.encode('utf-8')).digest()).decode('ascii')
    assert policy == "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % mark
    assert 'prefers-color-scheme: dark' in style and '@media print' in style and 'max-width: 44rem' in style


@slow
def test_every_chart_has_a_name_and_a_table(page):
    for part in page.split('<section>')[1:]:
        shown = re.findall(r'<svg class="(?:chart|short)[^>]*role="img" aria-label="([^"]+)"', part)
        assert '<table>' in part or 'findings' in part
        if shown:
            assert '<details>' in part and '<title>' in part
    assert len(re.findall('role="img"', page)) == 5


@slow
@pytest.mark.parametrize('args', [(), ('--since', '2026-02-05', '--until', '2026-02-20'), ('--scope', '/home/dev/other')], ids=str)
def test_figures_are_those_of_stats_and_usage(home, args):
    stats = call_script('sd-recall', 'stats', '--format', 'json', *args, home=home).json()
    data = call_script('trend-engine', 'report', '--format', 'json', *args, home=home).json()
    for key in ('sessions', 'turns', 'api_calls', 'tool_calls', 'tool_errors', 'tokens', 'cost_usd', 'known_cost_usd', 'unpriced',
                'cache_hit_rate', 'interruptions', 'compactions'):
        assert data[key] == stats[key], key
    assert dict((key, (row['calls'], row['errors'])) for key, row in data['tools'].items()) == dict(
        (key, (row['calls'], row['errors'])) for key, row in stats['tools'].items())
    for key, row in stats['by_project'].items():
        assert (data['by_project'][key]['sessions'], data['by_project'][key]['tokens']) == (row['sessions'], row['tokens'])
    days = call_script('trend-engine', 'usage', '--by', 'day', '--format', 'json', *args, home=home).json()['rows']
    assert data['days'] == dict((row['key'], row['api_calls']) for row in days if row['key'] != '(no time)') or args[:1] == ('--scope',)
    for row, bar in zip([row for row in days if row['key'] != '(no time)'], [bar for bar in data['over_time'] if bar['api_calls']]):
        assert (bar['start'], bar['total_tokens'], bar['known_cost_usd']) == (row['key'], row['total_tokens'], row['known_cost_usd'])
    hours = call_script('trend-engine', 'usage', '--by', 'hour', '--format', 'json', *args, home=home).json()['rows']
    assert sum(map(sum, data['hours'])) == sum(row['api_calls'] for row in hours if row['key'] != '(no time)')
    page = call_script('trend-engine', 'report', '--html', '-', *args, home=home).out
    # The context at the start: what first calls of main conversations sent, 1000 + 20000 + 900 in the one and 160 in the other.
    sizes = {'/home/dev/other': 160} if args[:1] == ('--scope',) else dict((key, 160 if key == '/home/dev/other' else 21900) for key in data['context'])
    assert dict((key, row['first_call_tokens']) for key, row in data['context'].items()) == dict(
        (key, {'median': size, 'p90': size}) for key, size in sizes.items()) and data['context']
    for value in (amount(stats['turns']), amount(stats['api_calls']), compact(sum(stats['tokens'].values())),
                  '%s of %s' % (amount(stats['tool_errors']), amount(stats['tool_calls']))):
        assert '<b>%s</b>' % value in page


@slow
def test_file_is_written_where_asked(home, tmp_path):
    def report(*args):
        return call_script('trend-engine', 'report', '--html', *args, home=home, cwd=tmp_path)
    got = report('page.html')
    assert got.rc == 0 and got.out.count('\n') == 1 and 'page.html' in got.out
    first = (tmp_path / 'page.html').read_bytes()
    assert first.startswith(b'<!doctype html>')
    got = report('page.html')
    assert got.rc == 1 and 'exists; --force replaces it' in got.err and got.out == ''
    assert report('page.html', '--force').rc == 0
    assert report('no/such/page.html').rc == 1 and not (tmp_path / 'no').exists()
    assert report('.').rc == 0 and (tmp_path / 'session-report.html').exists()
    assert call_script('trend-engine', 'report', home=home).rc == 2
    got = report(str(home / '.claude' / 'projects' / '-home-dev-app'))
    assert got.rc == 1 and 'only read here' in got.err
    # Nothing but these is left behind.
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == ['page.html', 'session-report.html']


@slow
def test_nothing_there(tmp_path):
    got = call_script('trend-engine', 'report', '--html', '-', home=tmp_path)
    assert got.rc == 0 and Page(got.out).open == [] and '<b>0</b><span>sessions' in got.out


@slow
def test_secrets_are_masked(tmp_path):
    key = 'sk-ant-api03-FAKE0FAKE0FAKE0FAKE0FAKE0FAKE0FAKE0'
    write(tmp_path, [user('a', 1, 0, cwd='/home/' + key), answer([text('b')], 2, 1, cwd='/home/' + key)])
    assert key not in call_script('trend-engine', 'report', '--html', '-', home=tmp_path).out
    assert SID[:4]


def test_percentiles_lie_between():
    assert insight.percentile([30, 10, 20], 0.5) == 20 and insight.percentile([10, 20], 0.5) == 15 and insight.percentile([7], 0.9) == 7
    assert abs(insight.percentile(list(range(11)), 0.9) - 9) < 1e-9


# Charts

def test_ticks_are_round_and_reach_the_top():
    for largest in (0.00013, 0.7, 1, 3, 9.99, 41, 134000000):
        marks = charts.ticks(largest)
        assert marks[0] == 0 and marks[-1] >= largest and 2 <= len(marks) <= 6 and marks[-2] < largest
    assert charts.ticks(0) == [0, 1]


def test_stacks_are_as_high_as_their_sum():
    drawn = charts.stacked('x', [('a', 'a', [1, 2, 0]), ('b', 'b', [0, 0, 0]), ('c', 'c', [0, 4, 4])], str)
    heights = [float(value) for value in re.findall(r'<rect class="s\d"[^>]* height="([\d.]+)"', drawn)]
    assert len(heights) == 4 and abs(heights[1] / heights[0] - 2) < 0.01 and abs(heights[2] - heights[3]) < 0.02
    assert abs((heights[2] + heights[3]) / (heights[0] + heights[1]) - 8 / 3.0) < 0.01


def test_line_breaks_where_there_is_no_value():
    drawn = charts.line('x', [('a', 'a', 0.5), ('b', 'b', None), ('c', 'c', 1.0), ('d', 'd', 0.0)], str)
    assert re.search(r'd="([^"]+)"', drawn).group(1).count('M') == 2 and drawn.count('<circle') == 3


def test_labels_are_escaped():
    assert '&lt;b&gt;' in charts.stacked('<b>', [('<i>', '<u>', [1])], str) and '<i>' not in charts.stacked('<b>', [('<i>', '<u>', [1])], str)
