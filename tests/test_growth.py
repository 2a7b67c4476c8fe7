"""A file that grows, in any steps and any order of arrival, gives what a rebuild gives: every key, every owner."""
import glob
import os
import random

import pytest

import make
import small
from echolib.index import access, build, rollup
from echolib.index.catalog import Catalog
from helpers import shared
from homes import Home, totals
from small import OTHER, answer, text, user, write

STEPS = (1, 2, 3, 7)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'CLAUDE_CODE_SESSION_ID'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    return Home(tmp_path)


def files_of(name):
    """-> {path below projects: list of lines} of one corpus."""
    top = os.path.join(shared('corpus', name), 'home', 'dev', '.claude', 'projects')
    found = {}
    for path in glob.glob(os.path.join(top, '**', '*.jsonl'), recursive=True):
        with open(path, 'rb') as handle:
            found[os.path.relpath(path, top)] = handle.readlines()
    return found


def rebuilt(home):
    import shutil
    shutil.rmtree(home.data)
    home.build()
    return home.state()


@pytest.mark.parametrize('name', ['claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332'])
def test_a_corpus_grown_step_by_step_equals_a_rebuild(home, name):
    files = files_of(name)
    cuts = dict((path, 0) for path in files)
    rounds = 6
    for step in range(rounds):
        for number, path in enumerate(sorted(files)):
            lines = files[path]
            size = max(1, len(lines) // rounds) + number % 3
            end = len(lines) if step == rounds - 1 else min(len(lines), cuts[path] + size)
            if end > cuts[path]:
                home.append(b''.join(lines[cuts[path]:end]), path)
                cuts[path] = end
        home.build()
    grown = home.state()
    assert grown == rebuilt(home)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['claude-1.0.128', 'claude-2.0.77', 'claude-2.1.332'])
def test_every_file_grown_record_by_record_equals_a_rebuild(home, name):
    files = files_of(name)
    chosen = sorted(files, key=lambda p: len(files[p]))[::max(1, len(files) // 12)]
    for path in files:
        if path not in chosen:
            home.write(b''.join(files[path]), path)
    home.build()
    for at in range(max(len(files[p]) for p in chosen)):
        for path in chosen:
            if at < len(files[path]):
                home.append(files[path][at], path)
        home.build()
    grown = home.state()
    assert grown == rebuilt(home)


def test_the_order_of_arrival_changes_nothing(home):
    files = files_of('claude-2.1.332')
    for path in sorted(files, reverse=True):
        home.write(b''.join(files[path]), path)
        home.build()
    one_by_one = home.state()
    assert one_by_one == rebuilt(home)


def test_files_that_go_free_what_they_owned(home):
    files = files_of('claude-2.1.332')
    for path in files:
        home.write(b''.join(files[path]), path)
    home.build()
    for path in sorted(files)[::3]:
        os.unlink(home.path(path))
    home.build()
    left = home.state()
    assert left == rebuilt(home)


def test_half_a_line_is_taken_when_it_is_whole(home):
    files = files_of('claude-2.1.332')
    path = max(files, key=lambda p: len(files[p]))
    data = b''.join(files[path])
    cut = len(data) // 2
    home.write(data[:cut], path)
    home.build()
    home.append(data[cut:], path)
    home.build()
    grown = home.state()
    assert grown == rebuilt(home)
    assert all(row['parse_errors'] == 0 for row in grown['sessions'].values())


def test_a_rewritten_file_is_read_again(home):
    files = files_of('claude-2.1.332')
    path = max(files, key=lambda p: len(files[p]))
    lines = files[path]
    home.write(b''.join(lines), path)
    home.build()
    # The client deletes one row in place (a tombstone), then goes on.
    home.write(b''.join(lines[:5] + lines[6:] + lines[5:6] * 3), path)
    home.build()
    changed = home.state()
    assert changed == rebuilt(home)


# A conversation, a later copy of it, a file whose summary titles it, and one whose summary names a row of another machine.
_OLD, _COPY, _TITLER = [os.path.join('-p', '%s1111111-1111-4111-8111-111111111111.jsonl' % n) for n in '123']
_LEAF, _ELSEWHERE = 'aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000001'
_PARTS = {
    'row': (_OLD, [make.user('the task', uuid=_LEAF)]),
    'copy': (_COPY, [make.user('the task', uuid=_LEAF), make.user('something else', timestamp='2026-10-01T00:00:00.000Z')]),
    'summary': (_TITLER, [make.meta('summary', summary='What was done', leafUuid=_LEAF)]),
    'other': (_TITLER, [make.meta('summary', summary='Of another machine', leafUuid=_ELSEWHERE), make.user('more')]),
}


def _come(home, part):
    path, records = _PARTS[part]
    home.append(b''.join(make.line(record) for record in records), path)


def _title(state, path):
    return state['sessions'][os.path.basename(path)[:-6]]['title']


@pytest.mark.parametrize('order', ['summary row', 'row summary', 'other summary row', 'summary other row', 'row other summary', 'other row summary'])
def test_a_summary_finds_its_row_whichever_came_first(home, order):
    for part in order.split():
        _come(home, part)
        home.build()
    grown = home.state()
    assert _title(grown, _OLD) == 'What was done'
    assert grown == rebuilt(home)


def test_of_two_summaries_that_of_the_youngest_file_counts(home):
    late = make.user('later work', timestamp='2026-11-01T00:00:00.000Z')
    files = [(_OLD, _PARTS['row'][1]), (_TITLER, [make.meta('summary', summary='Early words', leafUuid=_LEAF)]),
             (_COPY, [make.meta('summary', summary='Late words', leafUuid=_LEAF + 'x'), late])]
    # Each names a row of the same session.
    files[0][1].append(make.user('and then', uuid=_LEAF + 'x'))
    for order in (files, files[::-1]):
        for path, records in order:
            home.write(b''.join(make.line(record) for record in records), path)
            home.build()
        assert _title(home.state(), _OLD) == 'Late words'
        for path, _ in files:
            os.unlink(home.path(path))
        home.build()


def test_of_a_files_summaries_of_one_row_the_last_counts_and_no_error_message(home):
    summary = lambda words: make.line(make.meta('summary', summary=words, leafUuid=_LEAF))
    _come(home, 'row')
    home.append(summary('First words'), _TITLER)
    home.build()
    home.append(summary('Last words'), _TITLER)
    home.build()
    assert _title(home.state(), _OLD) == 'Last words'
    # A younger file holds what became of the call for a title.
    home.append(summary('Invalid API key \u00b7 Please run /login') + make.line(make.user('later', timestamp='2026-11-01T00:00:00.000Z')), _COPY)
    home.build()
    grown = home.state()
    assert _title(grown, _OLD) == 'Last words' and grown == rebuilt(home)


def test_a_summary_titles_without_an_index_too(home, monkeypatch):
    for part in ('row', 'summary', 'copy'):
        _come(home, part)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', os.path.join(home.path(_OLD), 'none'))
    for text in (False, True):
        view = access.open_view(lambda note: None, text=text)
        # The row that the copy repeats is the older file's.
        assert [(row.sid[0], row.title) for row in Catalog(view.db).rows() if row.title] == [('1', 'What was done')]
        view.store.close()


@pytest.mark.parametrize('how', ['deleted', 'written anew'])
def test_a_title_goes_with_the_summary_that_gave_it(home, how):
    for part in ('row', 'other', 'summary'):
        _come(home, part)
    home.build()
    assert _title(home.state(), _OLD) == 'What was done'
    if how == 'deleted':
        os.unlink(home.path(_TITLER))
    else:
        home.write(make.line(make.user('no summary any more')), _TITLER)
    home.build()
    changed = home.state()
    assert _title(changed, _OLD) == '' and changed == rebuilt(home)


@pytest.mark.parametrize('how', ['deleted', 'written anew'])
def test_a_summary_whose_row_goes_titles_the_copy(home, how):
    for part in ('row', 'summary', 'copy'):
        _come(home, part)
        home.build()
    if how == 'deleted':
        os.unlink(home.path(_OLD))
    else:
        home.write(make.line(make.user('without that row', uuid='cccccccc-0000-4000-8000-000000000001')), _OLD)
    home.build()
    changed = home.state()
    assert _title(changed, _COPY) == 'What was done'
    assert changed == rebuilt(home)


def test_what_a_killed_build_read_is_looked_through_by_the_next(home, monkeypatch):
    _come(home, 'summary')
    home.build()
    _come(home, 'row')
    with monkeypatch.context() as patch:
        patch.setattr(build.Builder, '_finish', lambda builder: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            home.build()
    _come(home, 'other')
    home.build()
    grown = home.state()
    assert _title(grown, _OLD) == 'What was done'
    assert grown == rebuilt(home)


def test_a_row_that_was_missing_is_looked_for_in_new_documents_alone(home, monkeypatch):
    home.write(b''.join(make.line(record) for record in _PARTS['other'][1] * 50), _TITLER)
    home.build()
    home.append(make.line(make.user('one more')), _TITLER)
    looked, resolve = [], rollup.resolve_summaries

    def counting(db, shards, read_uuid, unseen):
        looked.append((unseen, [shard.execute('select count(*) from docs where id >= ?', (start,)).fetchone()[0] for shard, start in shards]))
        return resolve(db, shards, read_uuid, unseen)
    monkeypatch.setattr(rollup, 'resolve_summaries', counting)
    home.build()
    assert looked == [(set(), [1])]


@pytest.mark.parametrize('version', ['1.0.60', '2.1.112'])
def test_prompt_copied_before_its_answer_counts_once(home, version):
    """A copy that keeps the ids ends with a prompt; what comes next in it answers another one. Versions that rename copies too."""
    def rows(*records):
        return [dict(record, version=version) for record in records]
    shared_rows = rows(user('first', 1, 1), answer([text('one')], 2, 2, 'msg_1'), user('second', 3, 3))
    write(home.folder, shared_rows + rows(answer([text('two')], 4, 4, 'msg_2')))
    write(home.folder, [dict(record, sessionId=OTHER) for record in shared_rows
                        + rows(user('instead', 5, 5), answer([text('three')], 6, 6, 'msg_3'))], OTHER)
    home.build()
    state = home.state()
    assert totals(state)['user_prompts'] == 3
    assert state == rebuilt(home)


@pytest.mark.parametrize('seed', [1, 2])
def test_files_that_come_and_go_together_leave_nothing_behind(home, seed):
    """A new file may get the number of one that went in the same build."""
    rng = random.Random(seed)
    sids = ['%08d-0000-4000-8000-000000000000' % n for n in range(4)]
    files = {}
    for n, sid in enumerate(sids):
        base = [make.user('ask %d' % n, uuid='aaaaaaaa-0000-4000-8000-%012d' % n), answer([text('reply')], 100 + n, 100 + n, 'msg_%d' % n, sid=sid)]
        files[os.path.join('-p', sid + '.jsonl')] = base
        # A fork of it, and an agent file that its rows alone tie to it.
        files[os.path.join('-q', '9%s.jsonl' % sid[1:])] = base + [make.user('own %d' % n, uuid='bbbbbbbb-0000-4000-8000-%012d' % n)]
        files[os.path.join('-p', 'agent-a%d.jsonl' % n)] = [dict(row, sessionId=sid, isSidechain=True, agentId='a%d' % n) for row in (
            user('task', 200 + n, 200 + n), answer([text('done')], 300 + n, 300 + n, 'msg_a%d' % n, sid=sid))]
    there = set()
    for _ in range(12):
        for path in sorted(files):
            if path in there and rng.random() < 0.4:
                os.unlink(home.path(path))
                there.discard(path)
            elif path not in there and rng.random() < 0.5:
                home.write(b''.join(make.line(row) for row in files[path]), path)
                there.add(path)
        home.build()
    churned = home.state()
    assert there and churned == rebuilt(home)


def test_a_transcript_that_went_on_in_another_place_is_one_session(home):
    """Copied to another folder and gone on with there; then the first place catches up and passes it; then one of them goes."""
    sid = '77777777-0000-4000-8000-000000000000'
    rows = []
    for n in range(4):
        rows += [user('ask %d' % n, 400 + n, 10 * n, sid=sid), answer([text('reply')], 500 + n, 10 * n + 1, 'msg_s%d' % n, sid=sid)]
    # A fork of its first half, which ended later than any of the copies at first.
    fork = [dict(row, sessionId=OTHER) for row in rows[:4]] + [user('on my own', 600, 25, sid=OTHER)]
    home.write(b''.join(make.line(row) for row in fork), '-p', OTHER + '.jsonl')
    for first, second, there in ((4, 4, 2), (4, 6, 2), (8, 6, 2), (8, 0, 1), (0, 8, 1)):
        for folder, size in (('-p', first), ('-q', second)):
            if size:
                home.write(b''.join(make.line(row) for row in rows[:size]), folder, sid + '.jsonl')
            elif os.path.exists(home.path(folder, sid + '.jsonl')):
                os.unlink(home.path(folder, sid + '.jsonl'))
        home.build()
        view = access.open_view(lambda note: None, refresh=False)
        found = Catalog(view.db).rows()
        view.store.close()
        longest = max(first, second)
        assert sorted((row.sid, row.msg_count) for row in found) == sorted([(sid, longest), (OTHER, 5)])
        grown = home.state()
        sums = totals(grown)
        assert (sums['user_prompts'], sums['api_calls']) == (longest // 2 + 1, longest // 2)
        assert grown == rebuilt(home)


@pytest.mark.parametrize('order', ['parent fork', 'fork parent', 'parent fork later', 'fork parent later'])
def test_a_session_that_goes_on_after_its_fork_keeps_what_it_said(home, order):
    """2.1.332 copies rows as they are, but for the prompts' id: one new one, that of the fork's first own prompt."""
    parent, fork = ('%d1111111-0000-4000-8000-000000000000' % n for n in (1, 2))

    def turn(number, sid, prompt_id):
        return [dict(small.user('prompt %d' % number, 2 * number, 10 * number, sid=sid), promptId=prompt_id),
                small.answer([small.text('answer %d' % number)], 2 * number + 1, 10 * number + 1, 'msg_%d' % number, sid=sid)]
    rows = {'parent': sum((turn(number, parent, 'own-%d' % number) for number in (1, 2)), []),
            'fork': sum((turn(number, fork, 'new') for number in (1, 2, 3)), [])}
    rows['later'] = rows['parent'] + turn(4, parent, 'own-4')
    for part in order.split():
        if part == 'parent' and not order.endswith('later'):
            part = 'later'
        sid = fork if part == 'fork' else parent
        home.write(b''.join(make.line(row) for row in rows[part]), '-p', sid + '.jsonl')
        home.build()
    grown = home.state()
    assert dict((sid, session['tally']['user_prompts']) for sid, session in grown['sessions'].items()) == {parent: 3, fork: 1}
    assert grown == rebuilt(home)


@pytest.mark.parametrize('field, value', [('status', 1 << 70), ('input', -1 << 80), ('extra', 'half \ud800')])
def test_what_no_column_holds_keeps_no_build_from_its_end(home, monkeypatch, field, value):
    """An adapter that let a number of 71 bits through stopped every command."""
    from echolib import analysis
    add = analysis.FileAnalysis.add

    def odd(self, event):
        add(self, event)
        for key, fact in list(self.facts.items()):
            if fact.kind == analysis.COMPACT:
                self.facts[key] = fact._replace(**{field: value})
    monkeypatch.setattr(analysis.FileAnalysis, 'add', odd)
    home.write(b''.join(make.line(row) for row in (user('before', 1, 1), make.Session().compaction())), '-p', make.ID + '.jsonl')
    assert home.build().errors == []
    assert [session['tally'].get('compactions') for session in home.state()['sessions'].values()] == [1]
