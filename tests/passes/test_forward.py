"""Pushforwards: against differences, complex steps and the pullback; hvp; masked code."""

from __future__ import annotations

import numpy as np
import pytest
from programs import (
    PROGRAMS,
    assert_close,
    build,
    build_for,
    difference_gradient,
    difference_tangents,
    names,
    pairing,
    run,
)
from test_backward import WithoutRule

from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import REGISTRY, Elementwise
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, c128, f64, from_numpy, i64, tensor
from gradc.passes.backward import NotDifferentiableInput, differentiate
from gradc.passes.forward import pushforward

RNG = np.random.default_rng(12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_equal_differences(name):
    body, arrays = PROGRAMS[name]
    function = build_for(body, *arrays)
    directions = [RNG.standard_normal(x.shape) for x in arrays]
    values = run(function, *arrays)
    found = run(pushforward(function, range(len(arrays)), name="p"), *arrays, *directions)
    for value, again in zip(values, found, strict=False):
        np.testing.assert_array_equal(value, again)
    expected = difference_tangents(function, arrays, dict(enumerate(directions)))
    for tangent, difference in zip(found[len(values) :], expected, strict=True):
        assert_close(tangent, difference)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangents_pair_with_cotangents(name):
    """<w, J t> = <J* w, t>, to rounding."""
    body, arrays = PROGRAMS[name]
    function = build_for(body, *arrays)
    wrt = range(len(arrays))
    values = run(function, *arrays)
    directions = [RNG.standard_normal(x.shape) for x in arrays]
    weights = [RNG.standard_normal(v.shape) for v in values]
    tangents = run(pushforward(function, wrt, name="p"), *arrays, *directions)[len(values) :]
    pullback = differentiate(function, wrt, name="g", cotangents="arguments", keep_values=False)
    gradients = run(pullback, *arrays, *weights)
    left, right = pairing(weights, tangents), pairing(gradients, directions)
    assert abs(left - right) <= 1e-12 * (1 + abs(left))


@pytest.mark.parametrize("name", PROGRAMS)
def test_hessian_vector_products_forward_over_reverse(name):
    body, arrays = PROGRAMS[name]

    def loss(b, *inputs):
        found = body(b, *inputs)
        parts = [
            b.reduce_sum(b.sin(v), axes=tuple(range(v.type.rank)))
            for v in (found if isinstance(found, list) else [found])
        ]
        total = parts[0]
        for part in parts[1:]:
            total = b.add(total, part)
        return total

    gradient = differentiate(build_for(loss, *arrays), [0], name="g", keep_values=False)
    vector = RNG.standard_normal(arrays[0].shape)
    _, found = run(pushforward(gradient, [0], name="h"), *arrays, vector)
    # The hessian is symmetric: its product with a vector is the gradient of <vector, gradient>.
    assert_close(found, difference_gradient(gradient, arrays, 0, [vector]), 1e-6)


def test_tangent_equals_the_complex_step():
    def body(b, x):
        y = b.mul(b.exp(b.sin(x)), b.reciprocal(b.add(b.square(x), 2)))
        return b.div(
            b.log(b.add(b.square(y), 1)), b.power(b.add(b.square(x), 1), b.full(1.5, x.type))
        )

    x, t = RNG.standard_normal(5), RNG.standard_normal(5)
    _, found = run(pushforward(build(body, tensor(f64, 5)), [0], name="p"), x, t)
    (value,) = run(build(body, tensor(c128, 5)), x + 1e-30j * t)
    np.testing.assert_allclose(found, value.imag / 1e-30, rtol=1e-13)


def test_complex_tangents():
    def body(b, z, w):
        y = b.mul(b.exp(z), b.conj(b.div(z, w)))
        return [b.abs(y), b.dot_general(y, w, contract=((0,), (0,))), b.angle(z)]

    arrays = [RNG.standard_normal(3) + 1j * RNG.standard_normal(3) for _ in range(2)]
    directions = [RNG.standard_normal(3) + 1j * RNG.standard_normal(3) for _ in range(2)]
    function = build_for(body, *arrays)
    found = run(pushforward(function, [0, 1], name="p"), *arrays, *directions)
    expected = difference_tangents(function, arrays, dict(enumerate(directions)))
    for tangent, difference in zip(found[3:], expected, strict=True):
        assert_close(tangent, difference)


def test_only_the_asked_inputs_move_and_integers_have_no_tangent():
    function = build(lambda b, x, y, k: [b.mul(x, y), k], tensor(f64), tensor(f64), tensor(i64))
    pushed = pushforward(function, [1], name="p")
    assert run(pushed, 3.0, 5.0, 7, 2.0) == (15, 7, 6)
    assert [value.hint for value in pushed.args] == ["x0", "x1", "x2", "x1_tangent"]
    with pytest.raises(NotDifferentiableInput, match="argument 2"):
        pushforward(function, [2], name="p")


def test_an_output_that_does_not_depend_has_tangent_zero():
    function = build(lambda b, x: [b.floor(x), b.stop_gradient(x), x], tensor(f64, 2))
    found = run(pushforward(function, [0], name="p"), np.ones(2), np.full(2, 3.0))
    np.testing.assert_array_equal(found[3:], [[0, 0], [0, 0], [3, 3]])


def test_linear_operations_push_as_themselves():
    def body(b, x, y):
        z = b.sub(b.add(x, y), x)
        row = b.slice(z, starts=(0, 1), sizes=(2, 2), steps=(1, 1))
        padded = b.pad(row, b.full(0, tensor(f64)), low=(1, 0), high=(0, 1))
        return b.reduce_sum(b.transpose(padded, perm=(1, 0)), axes=(0,))

    pushed = pushforward(build(body, tensor(f64, 2, 3), tensor(f64, 2, 3)), [0, 1], name="p")
    primal = names(build(body, tensor(f64, 2, 3), tensor(f64, 2, 3)))
    found = names(pushed)
    assert [name for name in found if name != "nd.constant"] == sorted(
        [name for name in primal if name != "nd.constant"] * 2, key=primal.index
    )


LINEAR = [
    (name, dtype)
    for name, cls in sorted(REGISTRY.items())
    for dtype in (f64, c128)
    if cls.linear and cls.samples and dtype in cls.samples.dtypes
]


@pytest.mark.parametrize("name, dtype", LINEAR)
def test_operations_called_linear_are(name, dtype):
    """f(x + 2 y) = f(x) + 2 f(y), where the operands that carry no gradient are kept."""
    cls = REGISTRY[name]
    samples = [s for s in cls.samples.draw(np.random.default_rng(1), dtype) if hasattr(s, "smooth")]
    assert samples
    for sample in samples:
        first = [np.asarray(x) for x in sample.operands]
        if not sample.smooth or any(
            x.dtype.kind in "fc" and not np.isfinite(x).all() for x in first
        ):
            continue
        moves = [x.dtype.kind in "fc" for x in first]
        second = [
            RNG.standard_normal(x.shape).astype(x.dtype) if m else x for x, m in zip(first, moves)
        ]
        both = [x + 2 * y if m else x for x, y, m in zip(first, second, moves)]
        if not from_numpy(np.asarray(cls.evaluate(*first, **sample.attributes)).dtype).is_inexact:
            continue
        one, two, all_ = (cls.evaluate(*x, **sample.attributes) for x in (first, second, both))
        np.testing.assert_allclose(
            all_, one + 2 * two, rtol=1e-2 if one.dtype.itemsize == 2 else 1e-5
        )


def test_products_push_without_leftovers():
    pushed = pushforward(build(lambda b, x: b.exp(x), tensor(f64, 3)), [0], name="p")
    assert names(pushed) == ["nd.exp", "nd.mul"]
    pushed = pushforward(build(lambda b, x, y: b.div(x, y), *[tensor(f64, 3)] * 2), [0], name="p")
    assert names(pushed) == ["nd.div", "nd.div"]


def test_the_branch_not_taken_gives_no_nan():
    x = np.array([-1.0, 0.0, 2.0])

    def body(b, x):
        return b.select(b.gt(x, 0), b.log(x), b.mul(x, 3))

    pushed = pushforward(build_for(body, x), [0], name="p")
    assert names(pushed).count("nd.select") == 2
    np.testing.assert_array_equal(run(pushed, x, np.ones(3))[1], [3, 3, 0.5])
    hessian = pushforward(differentiate(build_for(body, x), [0], name="g"), [0], name="h")
    np.testing.assert_array_equal(run(hessian, x, np.ones(3))[3], [0, 0, -0.25])


def test_a_missing_rule_is_an_error():
    function = build(lambda b, x: b.create(WithoutRule, [x], {}), tensor(f64))
    with pytest.raises(IRError, match="test.without_rule has no derivative rule"):
        pushforward(function, [0], name="p")


class NotLinear(Elementwise):
    """An operation whose rule squares the cotangent."""

    name = "test.not_linear"
    infer = same_type(FLOATS)

    def vjp(b, op, g):
        return [b.mul(g, g)]


def test_a_rule_that_is_not_linear_is_an_error():
    function = build(lambda b, x: b.create(NotLinear, [x], {}), tensor(f64))
    with pytest.raises(IRError, match="rule of test.not_linear is not linear"):
        pushforward(function, [0], name="p")
