"""Functions written in several operations: logsumexp, one_hot, take_along_axis."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from array_programs import gradient, hessian, value
from scipy import special

from gradc.ir.ops.composite import logsumexp, one_hot, take_along_axis
from gradc.ir.types import f32

INF, NAN = math.inf, math.nan


def total(b, x):
    return logsumexp(b, x, (0,))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("shift", [0.0, 1e4, -1e4])
def test_logsumexp_agrees_with_scipy(axes: tuple[int, ...], shift: float) -> None:
    x = np.random.default_rng(0).normal(size=(4, 5)) * 3 + shift
    found = value(lambda b, x: logsumexp(b, x, axes), x)
    np.testing.assert_allclose(found, special.logsumexp(x, axis=axes), rtol=1e-14)
    found = gradient(lambda b, x: logsumexp(b, x, axes), x)
    np.testing.assert_allclose(found, special.softmax(x, axis=axes), rtol=1e-12)


def test_logsumexp_second_derivative() -> None:
    x = np.array([0.3, -1.0, 2.0, -INF, 2.0])
    p = special.softmax(x)
    np.testing.assert_allclose(hessian(total, x), np.diag(p) - np.outer(p, p), atol=1e-15)


def test_logsumexp_of_special_values() -> None:
    x = np.array([[-INF, -INF], [1.0, -INF], [INF, 1.0], [NAN, 1.0], [-INF, INF]])
    found = value(lambda b, x: logsumexp(b, x, (1,)), x)
    np.testing.assert_array_equal(found, [-INF, 1.0, INF, NAN, INF])
    found = gradient(lambda b, x: logsumexp(b, x, (1,)), x[:2], g=[3.0, 5.0])
    np.testing.assert_array_equal(found, [[0, 0], [5, 0]])


def test_nothing_leaks_from_a_row_of_minus_infinities() -> None:
    # x = log(0) has an infinite slope; the zero cotangent of the row must annihilate it.
    found = gradient(lambda b, x: logsumexp(b, b.log(x), (1,)), np.array([[0.0, 0.0], [1.0, 3.0]]))
    np.testing.assert_allclose(found, [[0, 0], [0.25, 0.25]], rtol=1e-15)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_logsumexp_keeps_the_dtype(kind: type) -> None:
    x = np.array([100.0, 101.0, -5.0]).astype(kind)
    found = value(total, x)
    assert found.dtype == kind
    expected = special.logsumexp(x.astype(np.float64))
    eps = float(ml_dtypes.finfo(kind).eps)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=eps)


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_one_hot(kind: type) -> None:
    indices = np.array([[0, 2], [254, 3]], kind)
    found = value(lambda b, i: one_hot(b, i, 300, f32), indices)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.eye(300)[indices.astype(int)])


def test_one_hot_out_of_range_is_zero() -> None:
    found = value(lambda b, i: one_hot(b, i, 2, f32), np.array([-1, 1, 2]))
    np.testing.assert_array_equal(found, [[0, 0], [0, 1], [0, 0]])


def test_take_along_axis_adds_up_duplicates() -> None:
    x = np.arange(12.0).reshape(3, 4)
    indices = np.array([[0, 0, 3], [1, 2, 1], [3, 3, 3]])

    def build(b, x, i):
        return take_along_axis(b, x, i, 1)

    np.testing.assert_array_equal(value(build, x, indices), np.take_along_axis(x, indices, 1))
    found = gradient(build, x, indices, g=np.array([[1, 10, 100]] * 3))
    np.testing.assert_array_equal(found, [[11, 0, 0, 100], [0, 101, 10, 0], [0, 0, 0, 111]])
