"""Tuples whose fields have names, for commands that have to start fast.

A namedtuple compiles its constructor, which takes longer than anything else a small module does on import: the twenty
of a search cost it a tenth of its time. A shape compiles nothing. Its tuples are made more slowly in turn, so what is
made for every event is a namedtuple.
"""
import sys
from operator import itemgetter


class Shape(tuple):
    """What all shapes can do: the part of a namedtuple's interface that is in use."""

    __slots__ = ()
    _fields = ()
    _defaults = ()

    def __new__(cls, *values, **named):
        """Values by place, then by name; raises TypeError where one is missing, unknown or given twice."""
        if named or len(values) != len(cls._fields):
            values = cls._filled(values, named)
        return tuple.__new__(cls, values)

    @classmethod
    def _filled(cls, values, named):
        known = dict(zip(reversed(cls._fields), reversed(cls._defaults)))
        known.update(zip(cls._fields, values))
        unknown = [name for name in named if name not in cls._fields[len(values):]]
        known.update(named)
        missing = [name for name in cls._fields if name not in known]
        if unknown or missing or len(values) > len(cls._fields):
            raise TypeError('%s takes %s: %d by place, unknown or twice %s, missing %s' % (
                cls.__name__, ' '.join(cls._fields), len(values), sorted(unknown), missing))
        return [known[name] for name in cls._fields]

    def __getnewargs__(self):
        return tuple(self)

    def __repr__(self):
        return '%s(%s)' % (type(self).__name__, ', '.join('%s=%r' % pair for pair in zip(self._fields, self)))

    def _replace(self, **named):
        """-> another one with these fields changed."""
        return type(self)(**dict(zip(self._fields, self), **named))

    def _asdict(self):
        """-> dict of the fields, in their order."""
        return dict(zip(self._fields, self))


def shape(name, fields, defaults=()):
    """-> a class of tuples. fields: their names, a text parted by spaces or a list; defaults: of the last fields."""
    fields = tuple(fields.split() if isinstance(fields, str) else fields)
    members = dict((field, property(itemgetter(place))) for place, field in enumerate(fields))
    # Pickle looks for the class where it was made.
    members.update(__slots__=(), _fields=fields, _defaults=tuple(defaults), __module__=sys._getframe(1).f_globals.get('__name__'))
    return type(name, (Shape,), members)
