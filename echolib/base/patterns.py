"""Regular expressions that cost nothing until they are used.

Loading `re` and compiling takes a third of what a search of a plain word takes otherwise. So the modules every command loads
keep their expressions as Patterns, and settle the common case without one.
"""


class Pattern(object):
    """A compiled expression, made when one of its methods is first asked for; used as one.

    source: text or bytes; flags: names of re's flags ('ASCII').
    """

    def __init__(self, source, *flags):
        self._source, self._flags = source, flags

    def __getattr__(self, name):
        import re
        flags = 0
        for one in self._flags:
            flags |= getattr(re, one)
        found = getattr(re.compile(self._source, flags), name)
        setattr(self, name, found)
        return found
