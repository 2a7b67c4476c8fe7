"""The fixture home is what its script writes, and holds what its README says, counted by hand."""
import importlib.util
import os
import shutil

import pytest

from echolib import analysis
from echolib.adapters import claude
from echolib.records import Coverage
from helpers import FIXTURES, TESTS, read, run_script

HOME = os.path.join(FIXTURES, 'claude', 'home')


def script(name):
    """Return a module of tests/tools."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(TESTS, 'tools', name + '.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = script('make_fixture_home')


def on_disk(folder):
    """Return {path below a folder: bytes}."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, 'rb') as data:
                found[os.path.relpath(path, folder).replace(os.sep, '/')] = data.read()
    return found


def test_the_script_writes_the_home(tmpdir):
    MADE.main(str(tmpdir))
    assert on_disk(str(tmpdir)) == on_disk(HOME)


def test_the_readme_names_every_session():
    text = read('tests/fixtures/README.md')
    for path in MADE.files():
        name = os.path.basename(path)
        assert name[:8] in text or 'agent-a' in name, path


def row(prompts, slash, calls, known, tools, errors, tokens, **more):
    """Return counters of a session; tokens: input, output, cache read, written for 5 minutes, written for an hour."""
    found = dict.fromkeys(('declined', 'interruptions', 'compactions'), 0)
    found.update(user_prompts=prompts, slash_commands=slash, api_calls=calls, output_known_calls=known, tool_calls=tools,
                 tool_errors=errors, tokens=dict(zip(('input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'), tokens)))
    found.update(more)
    return found


EXPECTED = {
    # 10 + 6 * 5; 300 + 80 + 60 + 120 + 90 + 70 + 20; 4000 + 4600 + 4900 + 5100 + 5350 + 5450; 4000 + 600 + 300 + 200 + 250 + 100 + 50
    'LOGIN': row(3, 0, 7, 7, 5, 1, (40, 740, 29400, 5500, 0)),
    # What it did not copy: 2 * 8; 110 + 55; 5500 + 5900; 400 + 120
    'FORK': row(1, 0, 2, 2, 1, 0, (16, 165, 11400, 520, 0)),
    # Main: 20 + 4 * 10 + 3000; 150 + 60 + 45 + 35 + 40 + 30; 9000 + 9500 + 9800 + 5500; 500 + 300 + 200 + 2500 + 100; 9000.
    # Subagents: 6 + 6 + 4 + 4; 30 + 40 + 25 + 15; 2200 + 1800; 2200 + 100 + 1800 + 60.
    'IMPORT': row(2, 0, 10, 10, 6, 1, (3080, 470, 37800, 7760, 9000), declined=1, interruptions=1, compactions=1),
    # 12 + 12 + 6 + 6 + 3; 130 + 70 + 20 + 25 + 9; 7000 + 1500; 7000 + 300 + 1500 + 80 + 900, the warm-up among them.
    'REVIEW': row(1, 0, 5, 5, 2, 0, (39, 254, 8500, 9780, 0)),
    # 6 * 9; 100 + 90 + 60 + 60 + 80 + 15; 6000 + 6400 + 6600 + 6750 + 6840; 4000 + 400 + 200 + 150 + 90 + 60; 2000
    'RETRIES': row(2, 1, 6, 6, 4, 1, (54, 405, 32590, 4900, 2000)),
    # 2 * 7; 1 + 1, which says nothing; 3000; 3000 + 200
    'TORN': row(2, 0, 2, 0, 0, 0, (14, 2, 3000, 3200, 0)),
}


def facts_of(session):
    """Return the facts and the coverage of a session of the home."""
    facts, coverage = {}, Coverage()
    for found in claude.discover(os.path.join(HOME, '.claude'), []):
        for source in found.sources:
            if source.role == 'loose':
                source = source._replace(session=claude.head(source.path)['session'])
            if source.session == session:
                one, file = Coverage(source.path), analysis.FileAnalysis()
                for events in claude.read(source, one):
                    for event in events:
                        file.add(event)
                coverage.add(one)
                coverage.unfinished += one.unfinished
                for key, fact in file.facts.items():
                    facts[key] = analysis.merge(facts[key], fact) if key in facts else fact
    return facts, coverage


@pytest.mark.parametrize('name', sorted(EXPECTED))
def test_numbers_of_the_sessions(name):
    facts, coverage = facts_of(getattr(MADE, name))
    if name == 'FORK':
        copied = facts_of(MADE.LOGIN)[0]
        assert len(set(facts) & set(copied)) == len(copied) - 2     # the fork was made before the last prompt
        facts = {key: facts[key] for key in facts if key not in copied}
    tally = {}
    for fact in facts.values():
        analysis.apply(tally, fact, 1)
    found = analysis.shared_keys(tally)
    assert {key: found[key] for key in EXPECTED[name]} == EXPECTED[name]
    # One line is torn; the half line at the end is no error yet.
    assert (coverage.parse_errors, coverage.unknown_records) == (1 if name == 'TORN' else 0, 0)
    assert bool(coverage.unfinished) == (name == 'TORN')


@pytest.mark.slow
def test_numbers_of_the_whole_home(tmpdir):
    home = str(tmpdir.join('home'))
    shutil.copytree(HOME, home)
    found = run_script('sd-recall', 'stats', '--format', 'json', home=home).json()
    for key in EXPECTED['LOGIN']:
        if key == 'tokens':
            for bucket in found['tokens']:
                assert found['tokens'][bucket] == sum(want['tokens'][bucket] for want in EXPECTED.values()), bucket
        else:
            assert found[key] == sum(want[key] for want in EXPECTED.values()), key
    assert (found['sessions'], found['parse_errors'], found['unknown_records']) == (6, 1, 0)


def test_the_spilled_line_stands_only_in_its_file():
    files = on_disk(HOME)
    assert [path for path, data in files.items() if b'needle: duplicate key okapi' in data] == [
        '.claude/projects/-home-dev-shop/%s/tool-results/b4k2x9q.txt' % MADE.IMPORT]
