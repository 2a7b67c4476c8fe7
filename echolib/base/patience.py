"""Work that may never end: a file system that is gone neither answers nor fails, and the call that waits for it cannot be
taken back. So it is done in a thread that can be left behind."""
import _thread

# What a thread has to do before it ends.
_last = []


class NoAnswer(Exception):
    """Nothing went on for as long as was waited."""


def patiently(work, seconds):
    """-> what work(alive) returns; what it raises is raised here. alive() says that the work goes on: where nobody says so
    for `seconds`, NoAnswer is raised and the work left to itself."""
    steps, outcome, over = [0], [], _thread.allocate_lock()

    def alive():
        steps[0] += 1

    def run():
        try:
            outcome.append((True, work(alive)))
        except BaseException as error:
            # Raised again where the answer is waited for.
            outcome.append((False, error))
        finally:
            for one in _last:
                one()
            over.release()

    over.acquire()
    _thread.start_new_thread(run, ())
    seen = 0
    while not over.acquire(True, seconds):
        if steps[0] == seen:
            raise NoAnswer()
        seen = steps[0]
    done, value = outcome[0]
    if done:
        return value
    raise value


def at_end(last):
    """Have a function called in each such thread before it ends."""
    if last not in _last:
        _last.append(last)
