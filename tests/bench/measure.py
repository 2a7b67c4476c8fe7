#!/usr/bin/env python3
"""Times the commands on a large home; prints the tables of README.md.

    python3 tests/bench/measure.py HOME [--runs 12] [--python PATH] [--build]

HOME holds .claude (and other agents' folders). Figures are CPU time (user + system) of whole processes, the least of all
runs, and ratios to `python -c "import sqlite3, json"` in the same rounds, since machines differ and are never idle.
--build also times a cold build (all its processes) against json.loads of every line.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import resource
except ImportError:
    sys.exit('measure.py needs the resource module, which Windows has not')

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'scripts')
FLOOR = 'python, sqlite3, json'
JSON_FLOOR = '''
import json, os, sys
for where, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith('.jsonl'):
            with open(os.path.join(where, name), 'rb') as lines:
                for line in lines:
                    try:
                        json.loads(line)
                    except ValueError:
                        pass
'''
QUERIES = (
    ('rare word', 'search', 'ndl3vbttf9'), ('rare word, no refresh', 'search', 'ndl3vbttf9', '--no-refresh'),
    ('two characters', 'search', '\u9879\u76ee'), ('common word', 'search', 'error'), ('two common words', 'search', 'error file'),
    ('question', 'search', 'where did we fix the error in the file'), ('sessions', 'sessions', '--limit', '20'), ('stats', 'stats'))


def cpu(command, environ):
    """-> CPU seconds and exit code of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.call(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, code


def least(jobs, runs, environ):
    """-> {name: least CPU seconds}; jobs take turns, so that a busy moment does not fall on one of them."""
    found = {}
    for _ in range(runs):
        for name, command in jobs:
            seconds, code = cpu(command, environ)
            if code:
                sys.exit('%s ended with %d' % (name, code))
            found[name] = min(seconds, found.get(name, seconds))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('home')
    parser.add_argument('--runs', type=int, default=12)
    parser.add_argument('--python', default=sys.executable)
    parser.add_argument('--build', action='store_true')
    args = parser.parse_args()
    data = tempfile.mkdtemp(prefix='session-digger-bench-')
    environ = dict((name, value) for name, value in os.environ.items() if name in ('PATH', 'LANG', 'TZ', 'TMPDIR'))
    environ.update(HOME=os.path.abspath(args.home), SESSION_DIGGER_DATA_DIR=data, SESSION_DIGGER_ARCHIVE='0')
    builder, recall = [[args.python, os.path.join(SCRIPTS, name + '.py')] for name in ('index-builder', 'sd-recall')]
    try:
        if args.build:
            jobs = [('json.loads of every line', [args.python, '-c', JSON_FLOOR, environ['HOME']]),
                    ('build --rebuild, all processes', builder + ['build', '--rebuild'])]
            found = least(jobs, 2, environ)
            base = found[jobs[0][0]]
            print('| | CPU s | of json.loads |\n|---|---|---|')
            for name, _ in jobs:
                print('| %s | %.1f | %.1f |' % (name, found[name], found[name] / base))
            print()
        cpu(builder + ['build'], environ)
        jobs = [(FLOOR, [args.python, '-c', 'import sqlite3, json'])] + [(row[0], recall + list(row[1:])) for row in QUERIES]
        found = least(jobs, args.runs, environ)
        print('| | CPU ms | of the floor |\n|---|---|---|')
        for name, _ in jobs:
            print('| %s | %.0f | %.1f |' % (name, 1000 * found[name], found[name] / found[FLOOR]))
        size = sum(os.path.getsize(os.path.join(data, name)) for name in os.listdir(data) if name.endswith('.db'))
        print('\nIndex: %.0f MB' % (size / 1e6))
    finally:
        shutil.rmtree(data, ignore_errors=True)


if __name__ == '__main__':
    main()
