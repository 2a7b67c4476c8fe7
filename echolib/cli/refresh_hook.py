"""refresh-hook.py: what the client runs when a session starts or ends; it has the index refreshed by a process of its own.

A person waits meanwhile, so hardly anything is imported. Nothing is printed, which the client would put into the
conversation, and nothing fails: a refresh that cannot be started is made up for by the next search.
"""
import os
import sys

SUMMARY = 'Have the index refreshed by a process of its own: what the plugin runs when a session starts or ends.'
SWITCH = 'SESSION_DIGGER_HOOKS'
# Below what the person is doing.
_NICENESS = 10
# subprocess has these names on Windows only: no console, and no share in the signals of the client's.
_DETACHED_PROCESS, _CREATE_NEW_PROCESS_GROUP = 0x8, 0x200


def main(argv):
    """-> 0, whatever happened; a person's words, such as --help, are answered as everywhere."""
    if argv:
        from .run import run
        return run('refresh-hook.py', SUMMARY, {}, argv, command())
    return _refresh()


def command():
    """-> Command without options."""
    from . import options as opt
    return opt.Command('', SUMMARY, (), (), ('',), lambda args, out: _refresh())


def _refresh():
    if os.environ.get(SWITCH) != '0' and sys.executable:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        try:
            start([sys.executable, os.path.join(root, 'scripts', 'index-builder.py'), 'build', '--no-wait'])
        except (OSError, ValueError):
            # No process to be had, or a path that no system call takes.
            pass
    return 0


def start(command):
    """Run a command apart from this process and all of its files; OSError when the system gives no process for it."""
    if hasattr(os, 'fork'):
        _fork(command)
    else:
        _detach(command)


def _fork(command):
    if os.fork():
        return
    # Only the child comes here, and it must not come back.
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.nice(_NICENESS)
        os.execv(command[0], command)
    finally:
        os._exit(1)


def _detach(command):
    import subprocess
    null = subprocess.DEVNULL
    subprocess.Popen(command, stdin=null, stdout=null, stderr=null, close_fds=True,
                     creationflags=_DETACHED_PROCESS | _CREATE_NEW_PROCESS_GROUP)
