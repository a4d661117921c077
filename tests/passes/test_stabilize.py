"""Trace-time rewrites: values and gradients where the formula's text breaks down."""

from __future__ import annotations

import math

import numpy as np
import pytest
from programs import assert_close, build, build_for, difference_gradient, names, run

from gradc.ir.types import c128, f32, f64, tensor
from gradc.passes.backward import differentiate
from gradc.passes.stabilize import stabilize

X = np.array([-2000.0, -30.0, -1.0, 0.0, 0.5, 40.0, 2000.0])


def stable(body, *arrays):
    """The function of `body`, stabilized; its value there is unchanged at moderate arguments."""
    function = build_for(body, *arrays)
    assert stabilize(function)
    return function


def value_and_gradient(function, *arrays):
    return run(differentiate(function, [0], name="g"), *arrays)


def logistic(x):
    return np.where(x > 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def one_plus_exp(b, x, first=True):
    return b.add(b.full(1, x.type), b.exp(x)) if first else b.add(b.exp(x), 1)


SIGMOIDS = {
    "quotient": lambda b, x: b.div(b.full(1, x.type), one_plus_exp(b, b.neg(x))),
    "other order": lambda b, x: b.div(b.full(1, x.type), one_plus_exp(b, b.neg(x), False)),
    "minus one times": lambda b, x: b.div(b.full(1, x.type), one_plus_exp(b, b.mul(x, -1))),
    "reciprocal": lambda b, x: b.reciprocal(one_plus_exp(b, b.neg(x))),
    "power": lambda b, x: b.power(one_plus_exp(b, b.neg(x)), b.full(-1, x.type)),
    "exp over": lambda b, x: b.div(b.exp(x), one_plus_exp(b, x)),
    "scalar one": lambda b, x: b.div(
        b.broadcast(b.full(1, tensor(f64)), shape=(7,), dims=()), one_plus_exp(b, b.neg(x))
    ),
}


@pytest.mark.parametrize("form", SIGMOIDS)
def test_sigmoid(form):
    function = stable(SIGMOIDS[form], X)
    assert names(function) == ["nd.sigmoid"]
    value, gradient = value_and_gradient(function, X)
    np.testing.assert_allclose(value, logistic(X), rtol=1e-14)
    assert_close(gradient, logistic(X) * logistic(-X), 1e-15)


def test_swish_has_no_nan():
    function = stable(lambda b, x: b.div(x, one_plus_exp(b, b.neg(x))), X)
    value, gradient = value_and_gradient(function, X)
    np.testing.assert_allclose(value, X * logistic(X), rtol=1e-14)
    expected = logistic(X) + X * logistic(X) * logistic(-X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        lambda b, x: b.log(one_plus_exp(b, x)),
        lambda b, x: b.log(one_plus_exp(b, x, False)),
        lambda b, x: b.log1p(b.exp(x)),
    ],
)
def test_softplus(body):
    function = stable(body, X)
    assert names(function) == ["nd.softplus"]
    value, gradient = value_and_gradient(function, X)
    np.testing.assert_allclose(value, np.logaddexp(X, 0), rtol=1e-14)
    np.testing.assert_allclose(gradient, logistic(X), rtol=1e-14)


def test_logaddexp():
    function = stable(lambda b, x, y: b.log(b.add(b.exp(x), b.exp(y))), X, X[::-1].copy())
    assert names(function) == ["nd.logaddexp"]
    value, gradient = value_and_gradient(function, X, X[::-1].copy())
    np.testing.assert_array_equal(value, np.logaddexp(X, X[::-1]))
    np.testing.assert_allclose(gradient, logistic(X - X[::-1]), rtol=1e-14)


def test_logarithms_of_a_sigmoid():
    """The two terms of the cross entropy of a logistic regression."""

    def body(b, x):
        p = b.div(b.full(1, x.type), one_plus_exp(b, b.neg(x)))
        return [b.log(p), b.log(b.sub(1, p))]

    function = stable(body, X)
    first, second = run(function, X)
    np.testing.assert_allclose(first, -np.logaddexp(-X, 0), rtol=1e-14)
    np.testing.assert_allclose(second, -np.logaddexp(X, 0), rtol=1e-14)
    for output, expected in ((0, logistic(-X)), (1, -logistic(X))):
        gradient = differentiate(function, [0], name="g", keep_values=False, outputs=[output])
        (found,) = run(gradient, X)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


# ------------------------------------------------------------------------------------- logsumexp

ROWS = np.array([[1000.0, 999.0, -1000.0], [-1e4, -1e4 + 2, -1e4], [0.1, -0.2, 0.3]])


def shifted(b, x, keep):
    """log(sum(exp(x - max))) + max over the rows, with or without keepdims, as traced."""
    rows, columns = x.type.shape
    top = b.reduce_max(x, axes=(1,))
    top = b.reshape(top, shape=(rows, 1)) if keep else top
    spread = b.broadcast(b.reshape(top, shape=(rows,)), shape=(rows, columns), dims=(0,))
    total = b.reduce_sum(b.exp(b.sub(x, spread)), axes=(1,))
    total = b.reshape(total, shape=(rows, 1)) if keep else total
    return b.add(b.log(total), top)


def row_softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize(
    "body",
    [
        lambda b, x: b.log(b.reduce_sum(b.exp(x), axes=(1,))),
        lambda b, x: b.log(b.reshape(b.reduce_sum(b.exp(x), axes=(1,)), shape=(3, 1))),
        lambda b, x: shifted(b, x, True),
        lambda b, x: shifted(b, x, False),
        lambda b, x: b.add(*[shifted(b, x, True).defining_op.operands[k] for k in (1, 0)]),
    ],
)
def test_logsumexp(body):
    function = stable(body, ROWS)
    assert "ad.stop_gradient" in names(function)
    value, gradient = value_and_gradient(function, ROWS)
    top = ROWS.max(1)
    expected = top + np.log(np.exp(ROWS - top[:, None]).sum(1))
    np.testing.assert_allclose(value.ravel(), expected, rtol=1e-14)
    np.testing.assert_allclose(gradient, row_softmax(ROWS), rtol=1e-12)
    np.testing.assert_allclose(gradient.sum(1), 1, rtol=1e-14)


def test_logsumexp_of_all_minus_infinity():
    function = stable(lambda b, x: shifted(b, x, True), ROWS)
    x = np.full((3, 3), -np.inf)
    value, gradient = value_and_gradient(function, x)
    np.testing.assert_array_equal(value, np.full((3, 1), -np.inf))
    np.testing.assert_array_equal(gradient, np.zeros((3, 3)))


def test_logsumexp_over_all_axes_with_any_shift():
    def body(b, x):
        mean = b.div(b.reduce_sum(x, axes=(0, 1)), 9)
        spread = b.broadcast(mean, shape=(3, 3), dims=())
        return b.add(mean, b.log(b.reduce_sum(b.exp(b.sub(x, spread)), axes=(0, 1))))

    x = np.array([[0.0, 2000.0, 1.0]] * 3)
    value, gradient = value_and_gradient(stable(body, x), x)
    np.testing.assert_allclose(value, 2000 + np.log(3))
    np.testing.assert_allclose(gradient, np.where(x == 2000, 1 / 3, 0))


def test_a_shifted_log_softmax_stays_as_written():
    """x - max - log(sum(exp(x - max))) is stable already: no second maximum."""

    def body(b, x):
        top = b.broadcast(b.reduce_max(x, axes=(1,)), shape=(3, 3), dims=(0,))
        y = b.sub(x, top)
        total = b.reduce_sum(b.exp(y), axes=(1,))
        return b.sub(y, b.broadcast(b.log(total), shape=(3, 3), dims=(0,)))

    function = build_for(body, ROWS)
    before = names(function)
    stabilize(function)
    assert [name for name in names(function) if name != "ad.stop_gradient"] == before


def test_shift_along_another_axis_is_no_logsumexp():
    """The shift varies along the summed axis, so adding it back is not logsumexp."""

    def body(b, x):
        top = b.reduce_max(x, axes=(0,))
        spread = b.broadcast(top, shape=(3, 3), dims=(1,))
        return b.add(b.log(b.reduce_sum(b.exp(b.sub(x, spread)), axes=(1,))), top)

    x = np.array([[0.1, 0.2, 0.4], [0.3, 0.1, 0.2], [1.0, 0.5, 0.7]])
    function = build_for(body, x)
    (before,) = run(function, x)
    stabilize(function)
    np.testing.assert_allclose(run(function, x)[0], before, rtol=1e-14)


# --------------------------------------------------------------------------- maxima that cancel


def _exponentials(b, x, keep=True):
    rows = x.type.shape[0]
    top = b.reduce_max(x, axes=(1,))
    top = b.reshape(b.reshape(top, shape=(rows, 1)), shape=(rows,)) if keep else top
    return b.exp(b.sub(x, b.broadcast(top, shape=x.type.shape, dims=(0,))))


def _softmax(b, x):
    e = _exponentials(b, x)
    return b.div(e, b.broadcast(b.reduce_sum(e, axes=(1,)), shape=x.type.shape, dims=(0,)))


def _masked_softmax(b, x):
    e = _exponentials(b, x)
    e = b.select(b.gt(x, -0.1), e, b.zeros(x.type))
    total = b.broadcast(b.reduce_sum(e, axes=(1,)), shape=x.type.shape, dims=(0,))
    return b.transpose(
        b.div(b.transpose(e, perm=(1, 0)), b.transpose(total, perm=(1, 0))), perm=(1, 0)
    )


def _log_softmax(b, x):
    top = b.broadcast(b.reduce_max(x, axes=(1,)), shape=x.type.shape, dims=(0,))
    y = b.sub(x, top)
    total = b.log(b.reduce_sum(b.exp(y), axes=(1,)))
    return b.sub(y, b.broadcast(total, shape=x.type.shape, dims=(0,)))


@pytest.mark.parametrize("body", [_softmax, _masked_softmax, _log_softmax])
def test_the_maximum_of_a_softmax_is_no_part_of_its_gradient(body):
    x = np.array([[0.1, 0.7, -0.3], [1.2, 0.2, 1.0]])
    function = stable(body, x)
    (value,) = run(function, x)
    np.testing.assert_array_equal(value, run(build_for(body, x), x)[0])
    gradient = differentiate(function, [0], name="g", cotangents="arguments", keep_values=False)
    assert "nd.eq" not in names(gradient)
    weights = [np.array([[0.3, -1.0, 2.0], [0.5, 0.1, -0.7]])]
    assert_close(run(gradient, x, *weights)[0], difference_gradient(function, [x], 0, weights))
    tied = np.ones((2, 3))
    assert_close(
        run(gradient, tied, *weights)[0], difference_gradient(function, [tied], 0, weights)
    )


def _not_divided(b, x):
    return _exponentials(b, x)


def _also_returned(b, x):
    return [_softmax(b, x), b.reduce_max(x, axes=(1,))]


def _over_the_wrong_axis(b, x):
    e = _exponentials(b, x)
    return b.div(e, b.broadcast(b.reduce_sum(e, axes=(0,)), shape=x.type.shape, dims=(1,)))


def _squared_below(b, x):
    e = _exponentials(b, x)
    total = b.square(b.reduce_sum(e, axes=(1,)))
    return b.div(e, b.broadcast(total, shape=x.type.shape, dims=(0,)))


def _plus_one_below(b, x):
    e = _exponentials(b, x)
    total = b.add(b.reduce_sum(e, axes=(1,)), 1)
    return b.div(e, b.broadcast(total, shape=x.type.shape, dims=(0,)))


@pytest.mark.parametrize(
    "body", [_not_divided, _also_returned, _over_the_wrong_axis, _squared_below, _plus_one_below]
)
def test_a_maximum_that_matters_keeps_its_gradient(body):
    x = np.array([[0.1, 0.7, -0.3], [1.2, 0.2, 1.0]])
    function = build_for(body, x)
    stabilize(function)
    assert "ad.stop_gradient" not in names(function)
    weights = [np.cos(np.arange(v.size)).reshape(v.shape) for v in run(function, x)]
    gradient = differentiate(function, [0], name="g", cotangents="arguments", keep_values=False)
    assert_close(run(gradient, x, *weights)[0], difference_gradient(function, [x], 0, weights))


# ------------------------------------------------------------------------------------------ norm


def _square(b, x):
    return b.square(x)


def _product(b, x):
    return b.mul(x, x)


def _power(b, x):
    return b.power(x, b.full(2, x.type))


def _abs_square(b, x):
    return b.square(b.abs(x))


@pytest.mark.parametrize("square", [_square, _product, _power, _abs_square])
@pytest.mark.parametrize("keep", [False, True])
def test_norm_has_gradient_zero_at_the_zero_vector(square, keep):
    def body(b, x):
        total = b.reduce_sum(square(b, x), axes=(1,))
        return b.sqrt(b.reshape(total, shape=(3, 1)) if keep else total)

    x = np.array([[0.0, 0.0], [3.0, 4.0], [-1.0, 0.0]])
    function = stable(body, x)
    value, gradient = value_and_gradient(function, x)
    np.testing.assert_array_equal(value.ravel(), [0, 5, 1])
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8], [-1, 0]])


NORMS = {
    "power": lambda b, x: b.power(b.reduce_sum(b.square(x), axes=(0,)), b.full(0.5, tensor(f64))),
    "dot": lambda b, x: b.sqrt(b.dot_general(x, x, contract=((0,), (0,)))),
    "mean": lambda b, x: b.sqrt(b.div(b.reduce_sum(b.square(x), axes=(0,)), 1)),
    "terms": lambda b, x: b.sqrt(
        b.add(
            b.reduce_sum(b.square(b.slice(x, starts=(0,), sizes=(1,), steps=(1,))), axes=(0,)),
            b.reduce_sum(b.square(b.slice(x, starts=(1,), sizes=(1,), steps=(1,))), axes=(0,)),
        )
    ),
}


@pytest.mark.parametrize("form", NORMS)
def test_forms_of_the_norm(form):
    function = stable(NORMS[form], np.zeros(2))
    value, gradient = value_and_gradient(function, np.zeros(2))
    assert value == 0
    np.testing.assert_array_equal(gradient, [0, 0])
    value, gradient = value_and_gradient(function, np.array([3.0, 4.0]))
    assert value == 5
    np.testing.assert_allclose(gradient, [0.6, 0.8])


def test_second_order_of_the_norm():
    def body(b, x):
        return b.sqrt(b.reduce_sum(b.square(x), axes=(0,)))

    gradient = differentiate(stable(body, np.ones(3)), [0], name="g", keep_values=False)
    weights = [np.array([1.0, -2.0, 0.5])]
    hessian = differentiate(gradient, [0], name="h", keep_values=False, cotangents="arguments")
    x = np.array([0.3, -0.4, 1.2])
    (found,) = run(hessian, x, *weights)
    assert_close(found, difference_gradient(gradient, [x], 0, weights))
    np.testing.assert_array_equal(run(hessian, np.zeros(3), *weights)[0], np.zeros(3))


def test_norm_keeps_the_value_bit_for_bit():
    def body(b, x):
        return b.sqrt(b.reduce_sum(b.square(x), axes=(1,)))

    x = np.array([[1e-200, 0], [np.nan, 1], [np.inf, 2], [0.1, 0.7], [-0.0, 0.0]])
    before = run(build_for(body, x), x)[0]
    np.testing.assert_array_equal(run(stable(body, x), x)[0], before)


def test_complex_norm():
    def body(b, z):
        return b.sqrt(b.reduce_sum(b.square(b.abs(z)), axes=(0,)))

    function = build(body, tensor(c128, 2))
    stabilize(function)
    value, gradient = value_and_gradient(function, np.array([3j, 4]))
    assert value == 5
    np.testing.assert_allclose(gradient, [0.6j, 0.8])
    np.testing.assert_array_equal(value_and_gradient(function, np.zeros(2, complex))[1], [0, 0])


@pytest.mark.parametrize(
    "body",
    [
        lambda b, x: b.sqrt(b.reduce_sum(x, axes=(0,))),
        lambda b, x: b.sqrt(b.square(x)),
        lambda b, x: b.sqrt(b.sub(b.square(x), b.square(b.neg(x)))),
    ],
)
def test_other_roots_stay(body):
    function = build(body, tensor(f64, 3))
    stabilize(function)
    assert "nd.select" not in names(function)


# ------------------------------------------------------------------------------------------ relu


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize("first", [False, True])
def test_maximum_with_zero_is_relu(zero, first):
    def body(b, x):
        other = b.broadcast(b.full(zero, tensor(f64)), shape=(3,), dims=())
        return b.maximum(other, x) if first else b.maximum(x, other)

    x = np.array([-1.0, 0.0, 2.0])
    function = stable(body, x)
    assert names(function) == ["nd.relu"]
    value, gradient = value_and_gradient(function, x)
    np.testing.assert_array_equal(value, [0, 0, 2])
    np.testing.assert_array_equal(gradient, [0, 0, 1])


def test_maximum_of_an_array_splits_ties():
    function = build(lambda b, x, y: b.maximum(x, y), tensor(f64, 2), tensor(f64, 2))
    stabilize(function)
    zero = np.zeros(2)
    np.testing.assert_array_equal(value_and_gradient(function, zero, zero)[1], [0.5, 0.5])


def test_half_precision_and_float32_take_part():
    function = build(lambda b, x: b.log(one_plus_exp(b, x)), tensor(f32, 2))
    stabilize(function)
    (value,) = run(function, np.array([200, -200], np.float32))
    assert value.dtype == np.float32
    assert value[0] == 200 and math.isclose(value[1], 0, abs_tol=1e-30)
