"""Functions of scalars on whole arrays: np.vectorize, @numba.vectorize."""

import math

import numba
import numpy as np
import pytest

import gradc

X = np.array([0.5, 1.5, 2.5])


@numba.njit
def inner(a, b):
    return math.pow(a, b) + math.atan2(a, 2.0)


@numba.vectorize
def compiled_by_numba(a):
    return math.exp(a) * math.log(a) + inner(a, 3.0) + max(a, 1.0) - min(a, 1.0, 2.0)


def of_scalars(a):
    return math.sqrt(a) + math.log(a, 2.0) + math.hypot(a, 1.0) + math.fabs(-a) + math.floor(a)


vectorized = np.vectorize(of_scalars)


@pytest.mark.parametrize("function", [compiled_by_numba, vectorized])
def test_functions_of_scalars_on_arrays(function):
    expected = np.array([function(v) for v in X])
    np.testing.assert_allclose(gradc.compile(function)(X), expected, rtol=1e-14)
    np.testing.assert_allclose(gradc.compile(lambda x: function(x))(X), expected, rtol=1e-14)
    step = 1e-6
    slope = (function(X + step) - function(X - step)) / (2 * step)
    found = gradc.grad(lambda x: function(x).sum())(X)
    np.testing.assert_allclose(found, slope, rtol=1e-7)


def test_scalar_functions_refuse_arrays_elsewhere():
    with pytest.raises(TypeError, match="only length-1 arrays"):
        gradc.compile(lambda x: compiled_by_numba(x) + math.exp(x))(X)


def test_generalized_ufuncs_of_numba_are_refused():
    @numba.guvectorize(["f8[:],f8[:]"], "(n)->()")
    def total(a, result):
        result[0] = a.sum()

    with pytest.raises(gradc.TracingError, match="total has no rule for traced arrays"):
        gradc.compile(lambda x: total(x))(X)
