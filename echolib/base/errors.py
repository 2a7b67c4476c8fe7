"""Exceptions that echolib raises on purpose; each holds what its caller needs to say what to do next."""


class EchoError(Exception):
    """Base of all errors a command reports in one line (exit code 1)."""


class UsageError(EchoError):
    """The arguments make no sense (exit code 2)."""


class UnknownReference(EchoError):
    """No session, or none any more, answers to a reference."""

    def __init__(self, ref, message):
        EchoError.__init__(self, message)
        self.ref = ref


class AmbiguousReference(EchoError):
    """Several sessions answer to a reference; `matches` lists (session id, agent, path of the transcript, first prompt)."""

    def __init__(self, ref, matches):
        self.ref = ref
        self.matches = matches
        alike = len(set(sid for sid, _, _, _ in matches)) == 1
        lines = ["'%s' fits %d sessions; give %s:" % (ref, len(matches), 'the path in place of the id' if alike else 'more of the id')]
        lines += ['  %s  %s  %s' % (agent, path, prompt) if alike else '  %s  %s' % (sid, prompt) for sid, agent, path, prompt in matches]
        EchoError.__init__(self, '\n'.join(lines))


class IndexUnusable(EchoError):
    """The index cannot be used; the message says why and the files must be scanned instead."""
