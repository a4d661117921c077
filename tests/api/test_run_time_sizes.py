"""Derivatives of functions whose results have a size that is known only at run time."""

import numpy as np
import pytest

import gradc

X = np.array([0.5, 4.0, -1.0, 3.5, 5.0])
TABLE = np.arange(12.0).reshape(4, 3) / 4


def chosen(x):
    return np.sin(x[x > 3])


def rows(t):
    return np.exp(t[t[:, 0] > 0.5] / 3)


def pairs(x):
    return np.outer(x[x > 3], x[x < 1] ** 2)


def numeric(f, x, step=1e-6):
    """The Jacobian by central differences of the plain function."""
    columns = []
    for index in np.ndindex(x.shape):
        moved = []
        for sign in (1, -1):
            y = x.copy()
            y[index] += sign * step
            moved.append(f(y))
        columns.append((moved[0] - moved[1]) / (2 * step))
    return np.stack(columns, -1).reshape((*columns[0].shape, *x.shape))


@pytest.mark.parametrize("f, x", [(chosen, X), (rows, TABLE), (pairs, X)])
def test_vjp(f, x):
    out, pullback = gradc.vjp(f, x)
    np.testing.assert_allclose(out, f(x))
    weights = np.random.default_rng(0).standard_normal(out.shape)
    (found,) = pullback(weights)
    expected = np.tensordot(weights, numeric(f, x), weights.ndim)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("f, x", [(chosen, X), (rows, TABLE), (pairs, X)])
def test_jacobian(f, x):
    np.testing.assert_allclose(gradc.jacobian(f)(x), numeric(f, x), rtol=1e-7, atol=1e-8)


def test_one_trace_serves_all_sizes():
    f = gradc.compile(chosen)
    for x in (X, X + 10, X - 10, np.full(5, 3.5)):
        out, pullback = gradc.vjp(f, x)
        np.testing.assert_allclose(pullback(np.ones_like(out))[0], np.where(x > 3, np.cos(x), 0))
        assert gradc.jacobian(f)(x).shape == (*out.shape, 5)
    assert f.explain().startswith("chosen: traced 1 time")


@pytest.mark.parametrize("f, x", [(chosen, X), (rows, TABLE), (pairs, X)])
def test_check_grads(f, x):
    gradc.check_grads(f, (x,))


def test_check_grads_of_another_function_at_the_same_arguments():
    for power in (2, 3):
        gradc.check_grads(lambda x: np.sum(x**power), (X,), order=3)  # noqa: B023
    gradc.check_grads(lambda x: np.sum(np.sin(x)), (X,))
    with pytest.raises(gradc.GradientMismatch, match="order 1"):
        gradc.check_grads(lambda x: np.sum(np.floor(x) * x), (np.array([0.9999, 2.0]),))


def test_in_the_interpreter():
    with gradc.disable_compile():
        out, pullback = gradc.vjp(chosen, X)
        np.testing.assert_allclose(pullback(np.ones(3))[0], np.where(X > 3, np.cos(X), 0))


def test_a_cotangent_of_another_size_is_refused():
    _, pullback = gradc.vjp(chosen, X)
    with pytest.raises(ValueError, match=r"cotangent has shape \[2\]: expected \[3\]"):
        pullback(np.ones(2))


def test_inside_a_traced_function():
    def f(x):
        out, pullback = gradc.vjp(chosen, x)
        return pullback(np.ones_like(out))[0]

    np.testing.assert_allclose(gradc.compile(f)(X), np.where(X > 3, np.cos(X), 0))
    with pytest.raises(ValueError, match=r"expected \[\?n0\], which is known only at run time"):
        gradc.compile(lambda x: gradc.vjp(chosen, x)[1](np.ones(3))[0])(X)
    with pytest.raises(gradc.TracingError, match="the Jacobian of a result whose size is known"):
        gradc.compile(lambda x: gradc.jacobian(chosen)(x))(X)
