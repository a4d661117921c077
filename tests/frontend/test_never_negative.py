"""Indices that are never negative need no wrap-around: the operation says so."""

import numpy as np
import pytest

import gradc
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops.elementwise import Sub

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -2.0]])


@pytest.mark.parametrize("name", ["nd.iota", "nd.nonzero", "nd.argmax", "nd.argmin"])
def test_operations_that_give_indices_say_so(name):
    assert REGISTRY[name].never_negative


def test_others_do_not():
    assert not Sub.never_negative


@pytest.mark.parametrize(
    "index, wraps",
    [
        (lambda x: np.argmax(x, axis=1), False),
        (lambda x: np.argmin(x, axis=1), False),
        (lambda x: np.argmax(x, axis=1) - 1, True),
    ],
)
def test_only_indices_that_may_be_negative_are_wrapped(index, wraps):
    def f(x):
        return x[np.arange(2), index(x)]

    compiled = gradc.compile(f)
    np.testing.assert_array_equal(compiled(X), f(X))
    assert ("nd.lt" in compiled.ir("trace", X, pretty=False)) == wraps
