"""Operators on objects of the user's classes: what their special methods read is never stale."""

import functools
import itertools

import numpy as np
import pytest

import gradc

X = np.array([0.5, 1.5, 2.5])


class Layer:
    __slots__ = ("w", "s")
    __array_ufunc__ = None  # NumPy's arrays leave operators to it

    def __init__(self):
        self.w, self.s = np.ones(3), 2.0

    def __matmul__(self, other):
        return (self.w * other).sum() * self.s

    def __rmatmul__(self, other):
        return (other - self.w).sum()

    def __add__(self, other):
        return self.w + other

    def __sub__(self, other):
        return NotImplemented

    def __rsub__(self, other):
        return other - self.s

    def __iadd__(self, other):
        return self.w * other

    def __mul__(self, other):
        return self.s * other

    def __contains__(self, value):
        return self.s == value

    def __bool__(self):
        return self.s > 1

    def __eq__(self, other):
        return self.s == other

    def __lt__(self, other):
        return self.s < other

    __hash__ = object.__hash__

    def __neg__(self):
        return -self.s

    def __float__(self):
        return self.s

    def __abs__(self):
        return abs(self.s)

    def __len__(self):
        return len(self.w)

    def __iter__(self):
        return iter(self.w)

    def __getitem__(self, key):
        return self.w[key]

    def __enter__(self):
        return self.s

    def __exit__(self, *error):
        return None


layer = Layer()


def inside(x):
    with layer as factor:
        return x * factor


def augmented(x):
    found = layer
    found += x
    return found


USES = [
    lambda x: layer @ x,
    lambda x: x @ layer,
    lambda x: layer + x,
    lambda x: x - layer,
    lambda x: layer * x,
    lambda x: x * (2.0 in layer),
    lambda x: x * (2.0 not in layer),
    lambda x: x if layer else -x,
    lambda x: (layer and x) * 2 if not layer or True else x,
    lambda x: x * (layer == 2.0),
    lambda x: x if layer != 2.0 else -x,
    lambda x: x * (layer < 1.0),
    lambda x: x * (1.0 > layer),
    lambda x: (-layer) * x,
    lambda x: float(layer) * x,
    lambda x: abs(layer) * x,
    lambda x: len(layer) * x,
    lambda x: sum(v * x for v in layer),
    lambda x: sum([v * x for v in layer]),
    lambda x: x * sum(layer),
    lambda x: np.stack(list(layer)) * x,
    lambda x: layer[1] * x,
    lambda x: sum(v * w for v, w in zip(layer, x)),
    lambda x: sum(itertools.chain(layer, [x])),
    lambda x: functools.reduce(lambda total, v: total + v * x, layer, 0.0),
    inside,
    augmented,
]


@pytest.mark.parametrize("use", USES)
def test_special_methods_read_the_object_at_each_call(use, monkeypatch):
    layer.w, layer.s = np.ones(3), 2.0
    compiled = gradc.compile(use)
    np.testing.assert_allclose(compiled(X), use(X), rtol=1e-15)
    layer.w, layer.s = np.arange(3.0), 3.0
    np.testing.assert_allclose(compiled(X), use(X), rtol=1e-15)
    layer.w[:], layer.s = 7, 0.5
    np.testing.assert_allclose(compiled(X), use(X), rtol=1e-15)


class Vector:
    def __init__(self, data):
        self.data = data

    def __mul__(self, other):
        return Vector(self.data * other)

    __rmul__ = __mul__

    def __add__(self, other):
        return Vector(self.data + other.data)

    def norm2(self):
        return (self.data * self.data).sum()


def test_objects_made_in_the_function():
    loss = gradc.value_and_grad(lambda x: (2.0 * Vector(x) + Vector(x) * x[0]).norm2())
    value, slope = loss(X)
    assert value == ((2 + X[0]) * X) @ ((2 + X[0]) * X)
    expected = 2 * (2 + X[0]) ** 2 * X
    expected[0] += 2 * (2 + X[0]) * (X @ X)
    np.testing.assert_allclose(slope, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "use", [lambda x: layer - x, lambda x: layer / x, lambda x: x % object(), lambda x: ~layer]
)
def test_operators_without_a_method_raise_as_in_python(use):
    with pytest.raises(TypeError, match="unsupported operand|bad operand"):
        use(2.0)
    with pytest.raises(TypeError, match="unsupported operand|bad operand"):
        gradc.compile(use)(2.0)
