"""What the tests of agents with plain messages check in the same way, each on its own fixtures."""
import json
import os
import random
import shutil

import folding
from echolib import analysis
from echolib.adapters import registry
from echolib.records import Coverage
from helpers import FIXTURES, call_script

_ODD = (None, True, 3, -1, 1e400, 1 << 70, '', 'x', '\ud800', [], {}, [1], [{}], [{'type': 'text'}], {'a': {'b': []}}, 'x' * 50)


def expected(agent):
    """Return the expected.json of an agent."""
    with open(os.path.join(FIXTURES, agent, 'expected.json'), encoding='utf-8') as handle:
        return json.load(handle)


def home(agent, tmp_path, monkeypatch):
    """Return a copy of an agent's fixture home that is the home of this process."""
    path = str(tmp_path / 'home')
    shutil.copytree(os.path.join(FIXTURES, agent, 'home'), path)
    for name in ('HOME', 'USERPROFILE'):
        monkeypatch.setenv(name, path)
    for name in ('XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'APPDATA'):
        monkeypatch.delenv(name, raising=False)
    return path


def sessions(adapter):
    """Return {id: Session} of all roots of an agent."""
    found = {}
    for root in adapter.roots():
        if os.path.isdir(root):
            found.update(folding.sessions(adapter, root))
    return found


def every(adapter):
    """Return all events of all sessions of an agent."""
    return [event for session in sessions(adapter).values() for source in session.sources for event in folding.events(adapter, source)]


def check_sessions(adapter, wanted):
    """Every session of the fixtures has the numbers of its expected.json; the needles stand once."""
    found = sessions(adapter)
    for sid, numbers in wanted['sessions'].items():
        assert folding.found_for(adapter, found[sid], numbers) == numbers, sid
    assert folding.added_up(adapter, found.values()) == wanted['all']
    events = every(adapter)
    for needle, place in wanted['needles'].items():
        assert [[event.kind, event.label] for event in events if needle in event.text] == [place], needle
    files = [list(one) for event in events if event.kind == 'tool_call' for one in adapter.files_of(event.label, event.data)]
    assert sorted(files) == sorted(wanted['files'])


def check_odd_files(adapter, source):
    """What is called like a session and is no file that can be read is none: a folder, a pipe, a link to nowhere."""
    before = set(sessions(adapter))
    folder, name = os.path.split(source.path)
    end = name.partition('.')[2]
    os.makedirs(os.path.join(folder, 'T-folder.' + end))
    os.symlink(os.path.join(folder, 'nowhere'), os.path.join(folder, 'T-link.' + end))
    if hasattr(os, 'mkfifo'):
        os.mkfifo(os.path.join(folder, 'T-pipe.' + end))
    assert set(sessions(adapter)) == before


def found_again(adapter, source):
    """Check that each event with text is what events_at() gives for its place (its turn, its line and the response it is part
    of apart); return how many there were."""
    count = 0
    for event in folding.events(adapter, source):
        if event.text:
            again = [one for one in adapter.events_at(source, event.offset, event.length) if one.part == event.part]
            assert [one._replace(turn=0, line=0, message=None) for one in again] == [event._replace(turn=0, line=0, message=None)]
            count += 1
    return count


def check_places(adapter):
    """Events are found again, times of scan and head agree, detection knows every file; return how many events there were."""
    count = 0
    for session in sessions(adapter).values():
        for source in session.sources:
            count += found_again(adapter, source)
            facts = adapter.head(source.path)
            assert (facts['session'], facts['role'], facts['chain']) == (source.session, source.role, source.chain), source.path
            assert registry.detect(source.path) is adapter, source.path
        main = session.sources[0]
        again = adapter.session_at(main.path)
        assert (again.id, again.root, again.folder, [s.path for s in again.sources]) == (
            session.id, session.root, session.folder, [s.path for s in session.sources])
    return count


def check_growth(adapter, source):
    """A file that is read piece by piece gives what it gives at once: facts, profile, texts."""
    with open(source.path, 'rb') as handle:
        lines = handle.read().splitlines(True)
    whole, texts = analysis.FileAnalysis(), []
    for event in folding.events(adapter, source):
        whole.add(event)
        texts.append((event.kind, event.text, event.turn))
    for step in (1, 3):
        state, coverage, found, profile, again = {}, Coverage(source.path), {}, {}, []
        for count in list(range(step, len(lines), step)) + [len(lines)]:
            with open(source.path, 'wb') as handle:
                handle.write(b''.join(lines[:count]))
            coverage = Coverage(source.path, coverage.offset, coverage.line)
            one = analysis.FileAnalysis(profile)
            for some in adapter.read(source, coverage, coverage.offset, coverage.line, state):
                for event in some:
                    one.add(event)
                    again.append((event.kind, event.text, event.turn))
            for key, fact in one.facts.items():
                found[key] = analysis.merge(found[key], fact) if key in found else fact
            state, profile = json.loads(json.dumps(state)), one.profile
        assert (found, profile, again) == (whole.facts, whole.profile, texts)


def bent(value, rng, depth=0):
    """Return a JSON value in which some parts were replaced by odd ones, or taken out."""
    if depth and rng.random() < 0.15:
        return rng.choice(_ODD)
    if isinstance(value, dict):
        return dict((key, bent(one, rng, depth + 1)) for key, one in value.items() if rng.random() > 0.05)
    if isinstance(value, list):
        return [bent(one, rng, depth + 1) for one in value]
    return value


def check_events(adapter, source):
    """Whatever a file holds: no exception, every event well formed, the state plain values."""
    coverage, state = Coverage(source.path), {}
    one = analysis.FileAnalysis()
    for some in adapter.read(source, coverage, 0, 0, state):
        for event in some:
            assert isinstance(event.text, str) and isinstance(event.label, str) and (event.id is None or isinstance(event.id, str)), event
            assert event.kind != 'usage' or min(event.data[1:6]) >= 0 and event.id
            assert event.kind not in ('tool_call', 'prompt') or event.id
            assert event.time is None or isinstance(event.time, int)
            one.add(event)
            if event.kind == 'tool_call':
                adapter.files_of(event.label, event.data)
    json.dumps(state)
    assert coverage.lines >= coverage.parse_errors
    return coverage


def check_any_lines(adapter, source, rounds=25):
    """Lines with odd values in them: never an exception (see check_events)."""
    rng = random.Random(7)
    with open(source.path, 'rb') as handle:
        rows = [json.loads(line.decode('utf-8')) for line in handle if line.startswith(b'{') and line.endswith(b'}\n')]
    for _ in range(rounds):
        with open(source.path, 'wb') as handle:
            for row in rows:
                handle.write(json.dumps(bent(row, rng)).encode('ascii') + b'\n')
            handle.write(b'{"half": \n\0\0\n[1]\n"x"\n')
        check_events(adapter, source)


def check_any_document(adapter, source, rounds=60):
    """A JSON document with odd values in it: never an exception (see check_events)."""
    rng = random.Random(7)
    with open(source.path, 'rb') as handle:
        value = json.loads(handle.read().decode('utf-8'))
    for number in range(rounds):
        with open(source.path, 'wb') as handle:
            handle.write(json.dumps(bent(value, rng, number % 2)).encode('ascii'))
        check_events(adapter, source)
    for raw in (b'', b'\0\0', b'{"half": ', b'[' * 3000, b'3'):
        with open(source.path, 'wb') as handle:
            handle.write(raw)
        check_events(adapter, source)


def check_commands(adapter, path, wanted, needle, sid, touched):
    """As a user gets it: stats, sessions, search, show, files, touched and environments; nothing is left behind."""
    before = folding.photograph(path)
    total, _ = folding.asked(path, adapter.NAME)
    assert total == wanted['all']
    rows = call_script('sd-recall', 'sessions', '--agent', adapter.NAME, '--limit', '0', '--format', 'json', home=path).json()['sessions']
    assert set(row['session_id'] for row in rows) == set(wanted['sessions'])
    hits = call_script('sd-recall', 'search', needle, '--include-tools', '--format', 'json', home=path).json()['hits']
    assert [(hit['session_id'], hit['agent']) for hit in hits] == [(sid, adapter.NAME)]
    shown = call_script('sd-recall', 'show', hits[0]['ref'], '--tools', '--thinking', home=path)
    assert shown.rc == 0 and needle in shown.out, shown
    found = call_script('sd-recall', 'touched', touched, '--format', 'json', home=path)
    assert found.rc == 0 and found.json()['touched'], found
    assert folding.photograph(path) == before
