"""Subclasses of ndarray as arguments and captured arrays."""

import numpy as np
import pytest

import gradc

X = np.array([1.0, 2.0])


class Labelled(np.ndarray):
    """Adds nothing to the arithmetic."""

    label = "a"


class Degrees(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        arrays = [np.deg2rad(np.asarray(x)) for x in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)


class Joined(np.ndarray):
    def __add__(self, other):
        return np.concatenate([np.asarray(self), np.asarray(other)])


@pytest.mark.parametrize("array", [X.view(Labelled), np.rec.array(X)])
def test_classes_without_arithmetic_are_plain_arrays(array):
    for found in (gradc.compile(np.sin)(array), gradc.compile(lambda x: np.sin(array) + 0 * x)(X)):
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, np.sin(X), rtol=1e-15)
    assert type(gradc.grad(lambda x: (x**2).sum())(array)) is np.ndarray


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (X.view(Degrees), "is a Degrees, an array class with its own __array_ufunc__"),
        (X.view(Joined), "is a Joined, an array class with its own __add__"),
        (np.matrix(X), "is an np.matrix"),
        (np.ma.array(X), "is a masked array"),
    ],
)
def test_classes_with_an_arithmetic_of_their_own_are_refused(array, message):
    with pytest.raises(gradc.TracingError, match=f"x {message}.*pass"):
        gradc.compile(lambda x: np.sin(x))(array)
    with pytest.raises(gradc.TracingError, match=f"array {message}.*pass"):
        gradc.compile(lambda x: np.sin(array) + x)(X)
