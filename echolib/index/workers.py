"""Worker processes of a large build: each reads files and writes shards of its own; one parent writes index.db.

Plain subprocesses that speak pickles over pipes: they start fast (no site), and need nothing of the caller's main module.
"""
import gc
import os
import pickle
import queue
import subprocess
import sys
import threading

_MAIN = ('import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = sys.argv[2] == "1"; '
         'from echolib.index.workers import work; work()')


def read_in_workers(builder, work):
    """Read all jobs in worker processes; the builder takes in each batch as it comes.

    A worker that dies leaves its files unread: they are named as errors, and the next build reads them.
    """
    shards = builder.store.shards()
    lists = {}
    for job, _ in work:
        lists.setdefault(builder.shard_of[job.file], []).append(job)
    count = min(builder.workers, len(lists))
    shares = [[] for _ in range(count)]
    loads = [0] * count
    for shard in sorted(lists, key=lambda s: -sum(j.source.size - j.offset for j in lists[s])):
        lightest = loads.index(min(loads))
        shares[lightest].append((shard, shards[shard][0], shards[shard][1], lists[shard]))
        loads[lightest] += sum(j.source.size - j.offset for j in lists[shard])
    # A worker is two batches ahead at most: one here, one in the hands of its listener.
    results = queue.Queue(maxsize=1)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    workers = []
    collecting = gc.isenabled()
    # Batches are freed by counting references: looking for cycles among their thousands of rows finds none.
    gc.disable()
    try:
        for share in shares:
            process = subprocess.Popen(
                [sys.executable, '-S', '-E', '-c', _MAIN, root, '1' if sys.dont_write_bytecode else '0'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            workers.append(process)
            thread = threading.Thread(target=_listen, args=(process, share, results))
            thread.daemon = True
            thread.start()
        running = count
        while running:
            kind, value = results.get()
            if kind == 'batch':
                builder.take(*value)
                value = None
            elif kind == 'end':
                running -= 1
                if value:
                    builder.errors.append(('', 'a worker process ended early (%s)' % value))
    finally:
        for process in workers:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        if collecting:
            gc.enable()


def _listen(process, share, results):
    try:
        pickle.dump(share, process.stdin, 4)
        process.stdin.flush()
        while True:
            message = pickle.load(process.stdout)
            if message is None:
                break
            results.put(('batch', message))
            message = None
        results.put(('end', ''))
    except (EOFError, OSError, pickle.UnpicklingError) as error:
        results.put(('end', str(error) or 'no answer'))


def work():
    """Main function of a worker: jobs come on stdin, batches go to stdout."""
    from .build import read_jobs
    out = os.fdopen(os.dup(1), 'wb')
    # Nothing else may write where the parent reads.
    os.dup2(2, 1)
    gc.disable()
    share = pickle.load(sys.stdin.buffer)
    for shard, path, docs_end, jobs in share:
        for batch, end in read_jobs(path, docs_end, jobs):
            pickle.dump((shard, batch, end), out, 4)
            out.flush()
    pickle.dump(None, out, 4)
    out.close()
