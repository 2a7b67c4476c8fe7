"""Looking at the files: nothing that changed is missed, and what did not change is told without asking for every row."""
import json
import os
import random
import shutil
import threading

import pytest

from echolib.base import files, patience
from echolib.index import access, build, store, sweep
from helpers import call_script
from homes import Home
from small import answer, user, write

SIDS = ['%08d-0000-4000-8000-000000000000' % number for number in range(8)]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('USERPROFILE', str(tmp_path))
    for name in ('CLAUDE_CONFIG_DIR', 'XDG_CONFIG_HOME', 'CLAUDE_CODE_SESSION_ID', 'SESSION_DIGGER_UNIVERSAL'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))
    monkeypatch.setenv('SESSION_DIGGER_ARCHIVE', '0')
    home = Home(tmp_path)
    for sid in SIDS[:4]:
        write(tmp_path, [user('first words', 1, 1), answer([{'type': 'text', 'text': 'an answer'}], 2, 2, 'msg_' + sid[:8])], sid)
    return home


@pytest.fixture
def partial(monkeypatch):
    """Every look after a whole one is a partial one, whatever changed a moment ago."""
    monkeypatch.setattr(sweep, 'PARTIAL', 0)
    monkeypatch.setattr(sweep, '_TICK', 0)


def asked(refresh=True):
    """-> (View as a command gets it, closed; files that were read)."""
    view = access.open_view(lambda text: None, refresh)
    view.store.close()
    return view, view.result.indexed if view.result else 0


def files_of(home):
    found = []
    for where, _, names in os.walk(home.projects):
        found += [os.path.join(where, name) for name in names if name.endswith('.jsonl')]
    return sorted(found)


def grow(home, dice, step):
    path = dice.choice(files_of(home))
    with open(path, 'ab') as handle:
        handle.write(json.dumps(user('more %d' % step, 10 + step, 10 + step)).encode('utf-8') + b'\n')


def add(home, dice, step):
    write(home.folder, [user('another %d' % step, 1, 1)], '%08d-0000-4000-8000-0000000000aa' % step, dice.choice(['-home-dev-app', '-home-dev-new']))


def subagent(home, dice, step):
    sid = os.path.basename(dice.choice([path for path in files_of(home) if 'agent-' not in path] or ['x.jsonl']))[:-6]
    home.write(json.dumps(user('task %d' % step, 1, 1, sid=sid, isSidechain=True)).encode('utf-8') + b'\n', '-home-dev-app', sid, 'subagents', 'agent-a%d.jsonl' % step)


def remove(home, dice, step):
    if len(files_of(home)) > 2:
        os.remove(dice.choice(files_of(home)))


def rewrite(home, dice, step):
    path = dice.choice(files_of(home))
    with open(path, 'wb') as handle:
        handle.write(json.dumps(user('instead %d' % step, 1, 1)).encode('utf-8') + b'\n')


def rename(home, dice, step):
    path = dice.choice(files_of(home))
    os.rename(path, os.path.join(os.path.dirname(path), 'agent-b%d.jsonl' % step if 'subagents' in path else '%08d-0000-4000-8000-0000000000bb.jsonl' % step))


def nothing(home, dice, step):
    pass


CHANGES = (grow, grow, add, subagent, remove, rewrite, rename, nothing)


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('most', [0, 2000])
def test_no_change_is_missed(home, monkeypatch, tmp_path, seed, most):
    monkeypatch.setattr(sweep, 'PARTIAL', most)
    monkeypatch.setattr(sweep, '_TICK', 0.05)
    dice = random.Random(seed)
    for step in range(9):
        dice.choice(CHANGES)(home, dice, step)
        # So that what changed counts as long ago.
        for where, _, names in os.walk(home.projects):
            stat = os.stat(where)
            if stat.st_mtime > 1e9:
                os.utime(where, ns=(stat.st_mtime_ns, stat.st_mtime_ns % 10 ** 9 + step * 10 ** 9))
        asked()
        state = home.state()
        monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'other'))
        asked()
        assert state == home.state(), step
        shutil.rmtree(str(tmp_path / 'other'))
        monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', str(tmp_path / 'data'))


def test_nothing_changed_is_told_by_one_comparison(home, monkeypatch):
    assert asked()[1] == 4
    from echolib.index import plan
    monkeypatch.setattr(plan, 'make', None)
    view, _ = asked()
    assert (view.state, view.result, view.age) == ('current', None, 0)


@pytest.fixture(params=['all', 'latest'])
def short(request, monkeypatch):
    """Every look after a whole one is a short one, whatever changed a moment ago: at all files, and at the latest."""
    monkeypatch.setattr(sweep, '_TICK', 0)
    if request.param == 'latest':
        monkeypatch.setattr(sweep, 'PARTIAL', 0)


def test_short_look_at_every_file_is_no_old_view(home, monkeypatch):
    monkeypatch.setattr(sweep, '_TICK', 0)
    asked()
    monkeypatch.setattr(sweep.time, 'time', lambda now=sweep.time.time: now() + 30)
    grow(home, random.Random(1), 1)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'scandir', None)
        view, count = asked()
        assert (view.state, view.age, count) == ('current', 0, 1)
        view, count = asked()
        assert (view.state, view.age, count) == ('current', 0, 0)


def test_short_look_where_a_path_cannot_be_said(home, short, monkeypatch):
    """Another locale than that of the whole look."""
    asked()
    stat = os.stat

    def unable(path, *rest, **more):
        if isinstance(path, str) and path.endswith(SIDS[0] + '.jsonl'):
            raise UnicodeEncodeError('ascii', '\u00e9', 0, 1, 'not in range')
        return stat(path, *rest, **more)
    with monkeypatch.context() as patch:
        patch.setattr(sweep.os, 'stat', unable)
        view, _ = asked()
    assert view.state == 'current'


def test_place_that_was_empty_is_watched(home, short, monkeypatch):
    """Where a subagent's file, or a transcript behind a link, may come to be there was nothing at the whole look."""
    below = os.path.join(home.projects, '-home-dev-app', SIDS[0], 'subagents', 'workflows', 'wf_1')
    os.makedirs(below)
    bare = os.path.join(home.projects, '-home-dev-app', SIDS[1])
    os.makedirs(bare)
    elsewhere = os.path.join(str(home.folder), 'elsewhere')
    os.symlink(elsewhere, os.path.join(home.projects, '-home-dev-linked'))
    asked()
    with monkeypatch.context() as patch:
        patch.setattr(os, 'scandir', None)
        assert asked()[1] == 0
    for sid, path in ((SIDS[0], os.path.join(below, 'agent-a1.jsonl')), (SIDS[1], os.path.join(bare, 'subagents', 'agent-a2.jsonl'))):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(json.dumps(user('a task', 1, 1, sid=sid, isSidechain=True)) + '\n')
        assert asked()[1] == 1
    os.makedirs(elsewhere)
    with open(os.path.join(elsewhere, SIDS[6] + '.jsonl'), 'w', encoding='utf-8') as out:
        out.write(json.dumps(user('behind a link', 1, 1)) + '\n')
    assert asked()[1] == 1
    with open(os.path.join(str(home.folder), '.claude', 'history.jsonl'), 'w', encoding='utf-8') as out:
        out.write(json.dumps({'display': 'typed long ago', 'timestamp': 1772445600000, 'project': '/home/dev/app'}) + '\n')
    assert [asked()[1] for _ in range(2)] == [1, 0]


def thread(home, sid, text, day='02'):
    folder = os.path.join(str(home.folder), '.codex', 'sessions', '2026', '03', day)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'rollout-2026-03-%sT10-00-00-%s.jsonl' % (day, sid)), 'a', encoding='utf-8') as out:
        for kind, payload in (('session_meta', {'id': sid, 'cwd': '/home/dev/b', 'cli_version': '0.1'}), ('event_msg', {'type': 'user_message', 'message': text})):
            out.write(json.dumps({'timestamp': '2026-03-02T10:00:00.000Z', 'type': kind, 'payload': payload}) + '\n')


def test_another_agents_folders_are_watched(home, short, monkeypatch):
    thread(home, SIDS[6], 'first of it')
    asked()
    with monkeypatch.context() as patch:
        patch.setattr(os, 'scandir', None)
        thread(home, SIDS[6], 'more of it')
        assert [asked()[1] for _ in range(2)] == [1, 0]
    for number, day in enumerate(('02', '03')):
        thread(home, '%08d-0000-4000-8000-0000000000cc' % number, 'another', day)
        assert [asked()[1] for _ in range(2)] == [1, 0]
    # A name tells more than a thread's file: from then on they are listed.
    with open(os.path.join(str(home.folder), '.codex', 'session_index.jsonl'), 'w', encoding='utf-8') as out:
        out.write(json.dumps({'id': SIDS[6], 'thread_name': 'what it is about', 'updated_at': '2026-03-02T10:00:00Z'}) + '\n')
    assert [asked()[1] for _ in range(2)] == [1, 0]
    with open(os.path.join(str(home.folder), '.codex', 'session_index.jsonl'), 'a', encoding='utf-8') as out:
        out.write(json.dumps({'id': SIDS[6], 'thread_name': 'another name', 'updated_at': '2026-03-02T10:00:01Z'}) + '\n')
    assert [asked()[1] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize('column, value', [
    ('stats', b'123'), ('stats', b''), ('stats', None), ('paths', b'\xff\xfe'), ('paths', None), ('paths', b''), ('told', b'\xff'), ('told', 7),
    ('mark', b'x'), ('folders', -3), ('at', 'x'), ('rows', b'')])
def test_what_is_kept_may_be_damaged(home, short, column, value):
    asked()
    one = store.Store(home.data)
    one.open()
    one.db.execute('update swept set %s = ?' % column, (value,))
    one.close()
    grow(home, random.Random(1), 1)
    assert [asked()[1] for _ in range(2)] == [1, 0]


def test_whole_looks_that_see_the_same_keep_only_their_time(home, monkeypatch):
    monkeypatch.setattr(sweep, '_TICK', 0)
    asked()
    one = store.Store(home.data)
    one.open()
    before = sweep._kept(one.db)
    asked('full')
    after = sweep._kept(one.db)
    assert before[1:] == after[1:] and before.at < after.at
    one.close()


def test_rebuilt_index_is_made_as_a_new_one(home):
    """A trigger that did not come along let a look count as seen whose files had changed in the index since."""
    asked()
    one = store.Store(home.data)
    one.open()
    ask = "select type, name, sql from sqlite_master where name not like 'sqlite_%' order by 1, 2"
    new = one.db.execute(ask).fetchall()
    build.rebuild(one)
    assert one.db.execute(ask).fetchall() == new and [row for row in new if row[0] == 'trigger']
    one.close()
    grow(home, random.Random(1), 1)
    assert [asked()[1] for _ in range(2)] == [1, 0]


def test_partial_look_lists_no_folder(home, partial, monkeypatch):
    asked()
    with monkeypatch.context() as patch:
        patch.setattr(os, 'scandir', None)
        assert asked()[0].state == 'current'
    monkeypatch.setattr(sweep.time, 'time', lambda now=sweep.time.time: now() + 30)
    assert 30 <= asked()[0].age < 60 and asked('full')[0].age == 0


def test_grown_file_is_found_by_a_partial_look(home, partial, monkeypatch):
    asked()
    for number in range(2):
        grow(home, random.Random(number), number)
        with monkeypatch.context() as patch:
            patch.setattr(os, 'scandir', None)
            assert [asked()[1] for _ in range(2)] == [1, 0]
    assert asked('full')[1] == 0


def test_after_a_minute_all_is_looked_at(home, partial, monkeypatch):
    asked()
    # A folder whose time does not tell what came into it.
    stat = os.stat(os.path.join(home.projects, '-home-dev-app'))
    write(home.folder, [user('late', 1, 1)], SIDS[5])
    os.utime(os.path.join(home.projects, '-home-dev-app'), ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert asked()[1] == 0
    monkeypatch.setattr(sweep.time, 'time', lambda now=sweep.time.time: now() + 61)
    view, count = asked()
    assert (count, view.age) == (1, 0)


def test_what_changes_while_it_is_looked_at_is_seen_next_time(home, monkeypatch):
    monkeypatch.setattr(sweep, 'PARTIAL', 0)
    worth = sweep._worth

    def late(seen):
        write(home.folder, [user('late', 1, 1)], SIDS[6])
        return worth(seen)
    monkeypatch.setattr(sweep, '_worth', late)
    asked()
    monkeypatch.setattr(sweep, '_worth', worth)
    assert asked()[1] == 1


def test_database_beside_is_asked_itself(home, partial, monkeypatch):
    """Roots that only their adapter can look at are looked at whole in a partial look, too."""
    from echolib.adapters import claude
    monkeypatch.setattr(claude, 'BY_STAT', False)
    asked()
    grow(home, random.Random(1), 1)
    assert [asked()[1] for _ in range(2)] == [1, 0]


def test_another_writer_keeps_nothing_from_being_answered(home):
    asked()
    db = store.Store(home.data)
    db.open()
    db.db.execute("delete from meta where key = 'seen'")
    assert db.lock()
    assert asked()[0].state == 'current'
    assert sweep._seen(db.db) is None
    db.unlock()
    assert asked()[0].state == 'current'
    assert sweep._seen(db.db) is not None
    db.close()


def test_index_that_cannot_be_written_is_answered_from(home):
    asked()
    one = store.Store(home.data)
    one.open()
    one.db.execute("delete from meta where key = 'seen'")
    look = sweep.look(one.db)
    one.db.execute('pragma query_only = 1')
    sweep.remember(one, look)
    assert sweep._seen(one.db) is None and not one.db.in_transaction
    one.close()


def test_files_are_read_where_no_index_can_be_and_they_are_many(home, monkeypatch):
    monkeypatch.setenv('SESSION_DIGGER_DATA_DIR', os.path.join(files_of(home)[0], 'none'))
    monkeypatch.setattr(build, 'PARALLEL_BYTES', 100)
    view = access.open_view(lambda text: None, text=True)
    assert view.state == 'none' and len(view.shards) > 1
    assert sum(db.execute("select count(*) from prose where prose match 'first'").fetchone()[0] for _, db, _ in view.shards) == 4
    view.store.close()


def test_folder_that_opens_is_looked_into(home, partial, monkeypatch):
    write(home.folder, [user('shut away', 1, 1)], SIDS[5], '-home-dev-shut')
    shut = os.path.join(home.projects, '-home-dev-shut')

    def scandir(path, listed=os.scandir):
        if str(path) == shut:
            raise PermissionError(13, 'Permission denied', path)
        return listed(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, 'scandir', scandir)
        for _ in range(2):
            view, count = asked()
            assert [path for path, _ in view.problems if path == shut] == [shut]
        assert count == 0
    view, count = asked()
    assert (count, [path for path, _ in view.problems if path == shut]) == (1, [])


def recall(home, *args):
    return call_script('sd-recall', *args, home=home.folder, SESSION_DIGGER_DATA_DIR=home.data, SESSION_DIGGER_ARCHIVE='0')


@pytest.fixture
def mute(monkeypatch):
    """Claude's folders do not answer until the test is over."""
    from echolib.adapters import claude
    over = threading.Event()

    def waiting(root, problems, visited=None):
        over.wait(20)
        return iter(())
    monkeypatch.setattr(sweep, 'PATIENCE', 0.1)
    monkeypatch.setattr(files, '_shunned', ())
    yield lambda: monkeypatch.setattr(claude, 'scan', waiting)
    over.set()


def test_folder_that_does_not_answer_keeps_its_sessions(home, mute):
    codex = '{"timestamp":"2026-03-02T10:00:00.000Z","type":"session_meta","payload":{"id":"%s","cwd":"/home/dev/b","cli_version":"0.1"}}\n' % SIDS[7]
    folder = os.path.join(str(home.folder), '.codex', 'sessions', '2026', '03', '02')
    os.makedirs(folder)
    with open(os.path.join(folder, 'rollout-2026-03-02T10-00-00-%s.jsonl' % SIDS[7]), 'w', encoding='utf-8') as out:
        out.write(codex)
    asked()
    mute()
    with open(os.path.join(folder, 'rollout-2026-03-02T10-00-00-%s.jsonl' % SIDS[7]), 'a', encoding='utf-8') as out:
        out.write('{"timestamp":"2026-03-02T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"of the other agent"}}\n')
    got = recall(home, 'sessions', '--format', 'json')
    assert len(got.json()['sessions']) == 5 and 'no answer for' in got.err and got.rc == 0
    got = recall(home, 'search', 'first words', '--format', 'json')
    assert got.rc == 0 and got.json()['total_sessions'] >= 1 and got.json()['hits']
    assert recall(home, 'search', 'of the other agent', '--format', 'json').json()['total_sessions'] == 1
    for command in ('show', 'messages', 'session-stats'):
        got = recall(home, command, SIDS[0])
        assert got.rc in (0, 1) and 'Traceback' not in got.err and len(got.out + got.err) > 20


def test_folder_that_does_not_answer_is_named_without_an_index(home, mute):
    mute()
    got = recall(home, 'stats', '--format', 'json')
    assert got.rc == 0 and got.json()['sessions'] == 0 and 'no answer for' in got.err


def test_a_short_look_waits_no_longer(home, partial, mute, monkeypatch):
    asked()
    mute()
    monkeypatch.setattr(sweep, '_mtime', lambda path, of=sweep._mtime: threading.Event().wait(0.5) or of(path))
    view, count = asked()
    assert view.state == 'current' and count == 0 and [why for _, why in view.problems if 'no answer' in why]


def test_work_that_goes_on_is_waited_for():
    def work(alive):
        for _ in range(6):
            threading.Event().wait(0.05)
            alive()
        return 'done'
    assert patience.patiently(work, 0.15) == 'done'
    with pytest.raises(ZeroDivisionError):
        patience.patiently(lambda alive: 1 // 0, 5)
    over = threading.Event()
    with pytest.raises(patience.NoAnswer):
        patience.patiently(lambda alive: over.wait(20), 0.05)
    over.set()
