"""Shapes do what namedtuples do, as far as they are used."""
import copy
import pickle
from collections import namedtuple

import pytest

from echolib.base.shapes import shape

Spot = shape('Spot', 'x y label', ('here',))
Twin = namedtuple('Twin', 'x y label')
Twin.__new__.__defaults__ = ('here',)

CALLS = {
    'by place': ((1, 2, 'there'), {}),
    'by name': ((), {'label': 'there', 'y': 2, 'x': 1}),
    'mixed': ((1,), {'y': 2, 'label': 'there'}),
    'default': ((1, 2), {}),
    'too few': ((1,), {}),
    'too many': ((1, 2, 3, 4), {}),
    'twice': ((1, 2), {'x': 3}),
    'unknown': ((1, 2), {'z': 3}),
    'nothing': ((), {}),
}


def made(kind, args, named):
    try:
        return tuple(kind(*args, **named))
    except TypeError:
        return 'refused'


@pytest.mark.parametrize('name', sorted(CALLS))
def test_made_as_a_namedtuple_is(name):
    assert made(Spot, *CALLS[name]) == made(Twin, *CALLS[name])


def test_used_as_a_namedtuple_is():
    one, twin = Spot(1, 2), Twin(1, 2)
    assert (one.x, one.y, one.label) == tuple(one) == (1, 2, 'here') and one == twin and hash(one) == hash(twin)
    assert one._replace(y=5) == (1, 5, 'here') and one._fields == twin._fields
    assert list(one._asdict().items()) == list(twin._asdict().items())
    assert repr(one) == "Spot(x=1, y=2, label='here')"
    assert sorted([Spot(2, 1), one])[0] is one
    with pytest.raises(AttributeError):
        one.x = 3
    with pytest.raises(AttributeError):
        one.z = 3
    with pytest.raises(TypeError):
        one._replace(z=3)


def test_copied_and_sent_to_another_process():
    one = Spot(1, [2], 'é')
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one, 2)), pickle.loads(pickle.dumps(one, -1))):
        assert other == one and type(other) is Spot


def test_names_may_be_a_list():
    assert shape('Pair', ['a', 'b'])(1, b=2) == (1, 2)
