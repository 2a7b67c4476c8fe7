"""Fuzzing by hand, for as long as one likes: hostile homes made from the fixtures (and real corpora), every command over them.

    nice python3 tests/tools/fuzz.py --minutes 60 [--seed N] [--corpora FOLDER] [--keep FOLDER]

Each finding is printed once, with the seed that makes it again (--seed N --minutes 0) and, with --keep, the home it was
found in. The exit code is 1 when there was one.
"""
import argparse
import os
import re
import shutil
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.dirname(TESTS)]

import fuzzing  # noqa: E402
from echolib.base import sqlite_ro  # noqa: E402


def one(fuzzer, seed, count):
    """Run one home's commands; -> (number of commands, Finding or None)."""
    home = fuzzer.make_home(seed)
    data = os.path.join(fuzzer.folder, 'data-%d' % seed)
    done = 0
    try:
        lines = fuzzer.command_lines(seed, home, count)
        if seed % 3 == 0:
            compare(fuzzer, home, data)
        for script, words in lines:
            fuzzer.run(script, words, home, data)
            done += 1
    except fuzzing.Finding as found:
        return done, found
    finally:
        sqlite_ro.let_go()
    return done, None


def compare(fuzzer, home, data):
    """The same totals with an index, without one and after a rebuild, or a Finding."""
    import json
    blocked = os.path.join(fuzzer.folder, 'plain')
    open(blocked, 'wb').close()

    def stats(where):
        code, out, _ = fuzzer.run('sd-recall', ['stats', '--format', 'json'], home, where)
        if code:
            raise fuzzing.Finding('stats -> %s' % code)
        found = json.loads(out.decode('utf-8'))
        found.pop('index')
        return found
    first = stats(data)
    for what in ('without an index', 'after a rebuild'):
        if what == 'after a rebuild':
            fuzzer.run('index-builder', ['build', '--rebuild'], home, data)
        then = stats(os.path.join(blocked, 'x') if what == 'without an index' else data)
        if then != first:
            keys = [k for k in first if first[k] != then.get(k)]
            raise fuzzing.Finding('numbers differ %s: %s' % (what, [(k, first[k], then.get(k)) for k in keys][:3]))


def keep(home, target):
    """Copy the files of a home: links stay links (one may lead to a device without end), pipes are left out."""
    def odd(folder, names):
        return [name for name in names if not (os.path.islink(os.path.join(folder, name)) or os.path.isdir(os.path.join(folder, name))
                                               or os.path.isfile(os.path.join(folder, name)))]
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(home, target, symlinks=True, ignore=odd)


def kind_of(text):
    """What tells two findings apart: the last places in the code and the message, without numbers."""
    lines = [line.strip() for line in text.splitlines()]
    places = [line for line in lines if line.startswith('File ')][-2:]
    if not places:
        places = [lines[0].split(':')[0], re.sub(r'(\S+) \[(\S+).*', r'\1 \2', lines[0].split(': ', 1)[-1])]
    return re.sub('[0-9]+', '#', ' '.join(places + (lines[-1:] if len(lines) > 3 else []))[:400])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', type=int, default=int(time.time()))
    parser.add_argument('--corpora', help='a folder of corpora: NAME/home/dev')
    parser.add_argument('--keep', help='keep the homes of findings below this folder')
    parser.add_argument('--commands', type=int, default=25, help='commands a home')
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix='session-digger-fuzz-')
    fuzzer = fuzzing.Fuzzer(folder, args.corpora)
    end, seed, ran, known = time.time() + args.minutes * 60, args.seed, 0, {}
    try:
        while True:
            count, found = one(fuzzer, seed, args.commands)
            ran += count
            if found is not None:
                text = str(found)
                kind = kind_of(text)
                known[kind] = known.get(kind, 0) + 1
                if known[kind] == 1:
                    print('== seed %d\n%s\n' % (seed, text[:6000].encode('ascii', 'backslashreplace').decode('ascii')), flush=True)
                    if args.keep:
                        keep(os.path.join(folder, 'home-%d' % seed), os.path.join(args.keep, 'seed-%d' % seed))
            for name in ('home-%d', 'data-%d'):
                shutil.rmtree(os.path.join(folder, name % seed), ignore_errors=True)
            seed += 1
            if time.time() > end:
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        print('%d homes, %d commands, %d kinds of findings' % (seed - args.seed, ran, len(known)))
    return 1 if known else 0


if __name__ == '__main__':
    sys.exit(main())
