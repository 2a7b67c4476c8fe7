"""index-builder.py: build, check and maintain the index."""
import os

from ..base import paths
from ..base.errors import EchoError, IndexUnusable
from . import options as opt
from .common import amount, dump, iso, resolve_agent, text_path
from .run import run

# Lines of damage that are printed.
_DAMAGES = 40
SUMMARY = 'Build, check and maintain the index behind sd-recall.py.'


def _store(out, create=True):
    from ..index.store import Store
    folder = paths.data_dir()
    if folder is None:
        raise IndexUnusable('there is no home folder to keep an index in; set SESSION_DIGGER_DATA_DIR')
    store = Store(folder, out.note)
    store.open(create)
    return store


def build():
    """-> Command build."""
    return opt.Command('build', 'Bring the index up to date; --rebuild makes it anew.', (),
                       (opt.option('--rebuild', 'flag', False, 'read everything again into a new index, then swap it in'),
                        opt.option('--no-wait', 'flag', False, 'leave it to another process that is at it'),
                        opt.AGENT, opt.FORMAT), ('build', 'build --rebuild', 'build --format json'), _build)


def _build(args, out):
    from ..index import build as builder
    from ..pricing import load
    store = _store(out)
    try:
        if args.no_wait and not store.lock():
            out.note('another process is building the index already')
            return
        progress = out.progress('building the index')
        if args.rebuild or store.stale:
            result = builder.rebuild(store, progress, wait=600.0)
        else:
            result = builder.refresh(store, resolve_agent(args.agent), progress, wait=600.0, whole=True)
            if store.db is not None:
                from ..index.upkeep import tidy
                tidy(store, out.note)
                result = result._replace(gone=store.db.execute('select count(*) from sessions where gone = 1 and readable = 1').fetchone()[0])
        if result.busy:
            raise EchoError('another process is still building the index')
        for path, why in result.problems:
            if why not in paths.NOT_THERE:
                out.note('cannot read %s: %s' % (text_path(path), why))
        for path, why in result.errors[:10]:
            out.note('cannot read %s: %s' % (text_path(path), why))
        problem = load(store.folder).problem
        if problem:
            out.note(problem)
        data = {'total': result.total, 'indexed': result.indexed, 'skipped': result.skipped, 'deleted': result.deleted,
                'gone': result.gone, 'errors': len(result.errors), 'seconds': round(result.seconds, 3)}
        if args.format == 'json':
            dump(out, data)
        elif args.format == 'tsv':
            out.line('\t'.join(k.upper() for k in data))
            out.line('\t'.join(str(v) for v in data.values()))
        else:
            out.line('%s files known, %s read, %s unchanged, %s gone from disk, %s unreadable (%.1f s)' % (
                amount(data['total']), amount(data['indexed']), amount(data['skipped']), amount(data['deleted']), data['errors'],
                result.seconds))
    finally:
        store.close()


def status():
    """-> Command status."""
    return opt.Command('status', 'Compare the index with what is on disk, without opening a transcript.', (),
                       (opt.option('--check', 'flag', False, 'exit with 1 when the index is not up to date'), opt.FORMAT),
                       ('status', 'status --format json'), _status)


def _status(args, out):
    from ..index import plan
    try:
        store = _store(out, create=False)
    except IndexUnusable as error:
        data = {'usable': False, 'reason': str(error), 'stale': True}
        _print_status(args, out, data)
        return 1 if args.check else 0
    try:
        if store.stale:
            data = {'usable': False, 'reason': 'made by another version; the next build makes it anew', 'stale': True}
        else:
            todo = plan.make(store.db, folder=store.folder)
            built = store.db.execute("select value from meta where key = 'built'").fetchone()
            size = sum(os.path.getsize(os.path.join(store.folder, n)) for n in os.listdir(store.folder)
                       if os.path.isfile(os.path.join(store.folder, n)))
            folders, files = paths.folders_and_files([p for p in todo.problems if p[1] not in paths.NOT_THERE])
            data = {'usable': True, 'files': todo.known, 'added': len(todo.new), 'changed': len(todo.grown) + len(todo.reset) + len(todo.moved),
                    'deleted': len(todo.gone), 'unreadable_dirs': len(folders), 'unreadable': len(files),
                    'sessions': store.db.execute('select count(*) from sessions where readable = 1 and copy_of is null').fetchone()[0],
                    'last_scan': iso(built[0]) if built else '', 'bytes': size, 'folder': text_path(store.folder),
                    'stale': not plan.nothing_to_do(todo)}
        _print_status(args, out, data)
        return 1 if args.check and data['stale'] else 0
    finally:
        store.close()


def _print(args, out, data, lines):
    """Print figures: as JSON, as KEY and VALUE (a list as one value), or as these lines."""
    if args.format == 'json':
        dump(out, data)
    elif args.format == 'tsv':
        out.line('KEY\tVALUE')
        for key in data:
            out.line('%s\t%s' % (key, text_path('; '.join(data[key])) if isinstance(data[key], list) else data[key]))
    else:
        for line in lines:
            out.line(line)


def _print_status(args, out, data):
    if not data['usable']:
        lines = ['No usable index: %s. Build it: index-builder.py build' % data['reason']]
    else:
        lines = ['%s: %s sessions in %s files, %.1f MB' % (data['folder'], amount(data['sessions']), amount(data['files']), data['bytes'] / 1e6),
                 '%s new, %s changed, %s gone since the last build (%s)%s' % (
                     amount(data['added']), amount(data['changed']), amount(data['deleted']), data['last_scan'],
                     '' if data['stale'] else ': up to date')]
    _print(args, out, data, lines)


def verify():
    """-> Command verify."""
    return opt.Command('verify', 'Check the index for damage and against a fresh reading of some sessions.', (),
                       (opt.limit(20, 'sessions to read again'), opt.FORMAT), ('verify', 'verify --limit 0'), _verify)


def _verify(args, out):
    from ..index import upkeep
    store = _store(out, create=False)
    try:
        found = upkeep.verify(store, args.limit)
        damage = [text_path(line) for line in found['damage']]
        _print(args, out, found, ['%d databases checked, %d sessions read again' % (found['databases'], found['sessions'])]
               + (damage[:_DAMAGES] or ['no damage found'])
               + ['and %d more: --format json' % (len(damage) - _DAMAGES)] * (len(damage) > _DAMAGES))
        return 1 if found['damage'] else 0
    finally:
        store.close()


def prune():
    """-> Command prune."""
    return opt.Command('prune', 'Take out of the index what is no longer on disk.', (),
                       (opt.option('--gone', 'flag', False, 'also drop archived sessions whose transcript is gone'), opt.FORMAT),
                       ('prune', 'prune --gone'), _prune)


def _prune(args, out):
    from ..index import upkeep
    store = _store(out, create=False)
    try:
        found = upkeep.prune(store, args.gone)
        _print(args, out, found, ['%d files and %d archived sessions dropped' % (found['files'], found['archived'])])
    finally:
        store.close()


def optimize():
    """-> Command optimize."""
    return opt.Command('optimize', 'Rewrite what holds dead text, merge the rest, give space back.', (), (opt.FORMAT,),
                       ('optimize',), _optimize)


def _optimize(args, out):
    from ..index import upkeep
    store = _store(out, create=False)
    try:
        found = upkeep.optimize(store)
        _print(args, out, found, ['%.1f MB before, %.1f MB now' % (found['before'] / 1e6, found['after'] / 1e6)])
    finally:
        store.close()


def summary():
    """-> Command summary."""
    return opt.Command('summary', 'What the index holds, in a few lines.', (), (opt.FORMAT,), ('summary', 'summary --format json'), _summary)


def _summary(args, out):
    store = _store(out, create=False)
    try:
        db = store.db
        one = lambda sql: db.execute(sql).fetchone()[0] or 0
        data = {'sessions': one('select count(*) from sessions where readable = 1 and copy_of is null'),
                'copies': one('select count(*) from sessions where copy_of is not null'),
                'projects': one('select count(distinct project) from sessions where readable = 1'),
                'files': one('select count(*) from files'), 'facts': one('select count(*) from facts'),
                'documents': one('select sum(docs) - sum(dead) from shards'), 'shards': one('select count(*) from shards'),
                'first': iso(one('select min(created) from sessions where readable = 1') or None),
                'last': iso(one('select max(modified) from sessions where readable = 1') or None)}
        _print(args, out, data, ['%-10s %s' % (key, amount(data[key]) if isinstance(data[key], int) else data[key]) for key in data])
    finally:
        store.close()


def detail():
    """-> Command detail."""
    from . import session_stats
    return session_stats.detail()


def anomalies():
    """-> Command anomalies."""
    from .anomalies import command
    return command()


COMMANDS = {'build': build, 'status': status, 'verify': verify, 'prune': prune, 'optimize': optimize, 'summary': summary,
            'anomalies': anomalies, 'detail': detail}


def main(argv):
    """-> exit code of one command line (argv without the program's name)."""
    return run('index-builder.py', SUMMARY, COMMANDS, argv)
