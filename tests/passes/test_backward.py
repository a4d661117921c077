"""The adjoint driver: gradients against differences and complex steps, its structure, its
errors."""

from __future__ import annotations

import numpy as np
import pytest
from programs import (
    PROGRAMS,
    assert_close,
    build,
    build_for,
    difference_gradient,
    names,
    run,
)

from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import Elementwise
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, c128, f32, f64, i64, tensor
from gradc.passes.backward import NotDifferentiableInput, differentiate

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_equal_differences(name):
    body, arrays = PROGRAMS[name]
    function = build_for(body, *arrays)
    values = run(function, *arrays)
    weights = [RNG.standard_normal(v.shape) for v in values]
    wrt = range(len(arrays))
    found = run(differentiate(function, wrt, name="g", cotangents="arguments"), *arrays, *weights)
    for value, again in zip(values, found, strict=False):
        np.testing.assert_array_equal(value, again)
    for k in wrt:
        assert_close(found[len(values) + k], difference_gradient(function, arrays, k, weights))


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_order_equals_differences_of_the_gradient(name):
    body, arrays = PROGRAMS[name]

    def loss(b, *inputs):
        found = body(b, *inputs)
        total = None
        for value in found if isinstance(found, list) else [found]:
            part = b.reduce_sum(b.sin(value), axes=tuple(range(value.type.rank)))
            total = part if total is None else b.add(total, part)
        return total

    gradient = differentiate(
        build_for(loss, *arrays), range(len(arrays)), name="g", keep_values=False
    )
    weights = [RNG.standard_normal(x.shape) for x in arrays]
    second = differentiate(
        gradient, range(len(arrays)), name="h", keep_values=False, cotangents="arguments"
    )
    found = run(second, *arrays, *weights)
    for k in range(len(arrays)):
        assert_close(found[k], difference_gradient(gradient, arrays, k, weights), 1e-6)


def test_third_order_of_a_closed_form():
    function = build(lambda b, x: b.exp(b.mul(x, 2)), tensor(f64))
    for order in range(1, 4):
        function = differentiate(function, [0], name="g", keep_values=False)
        (found,) = run(function, np.array(0.3))
        np.testing.assert_allclose(found, 2.0**order * np.exp(0.6), rtol=1e-14)


def test_gradient_equals_the_complex_step():
    def body(b, x):
        y = b.mul(b.exp(b.sin(x)), b.reciprocal(b.add(b.square(x), 2)))
        return b.reduce_sum(b.mul(y, b.log(b.add(b.square(y), 1))), axes=(0,))

    x = RNG.standard_normal(5)
    _, gradient = run(differentiate(build(body, tensor(f64, 5)), [0], name="g"), x)
    complex_function = build(body, tensor(c128, 5))
    for k in range(5):
        (value,) = run(complex_function, x + 1e-30j * np.eye(5)[k])
        np.testing.assert_allclose(gradient[k], value.imag / 1e-30, rtol=1e-13)


def test_gradient_of_complex_inputs_is_dx_plus_i_dy():
    def body(b, z, w):
        y = b.mul(b.exp(z), b.conj(b.div(z, w)))
        return [b.abs(y), b.dot_general(y, w, contract=((0,), (0,)))]

    arrays = [RNG.standard_normal(3) + 1j * RNG.standard_normal(3) for _ in range(2)]
    function = build_for(body, *arrays)
    weights = [RNG.standard_normal(3), np.asarray(0.3 - 0.7j)]
    found = run(
        differentiate(function, [0, 1], name="g", cotangents="arguments"), *arrays, *weights
    )
    for k in range(2):
        assert_close(found[2 + k], difference_gradient(function, arrays, k, weights))


def test_an_input_that_does_not_matter_has_gradient_zero():
    function = build(lambda b, x, y: [b.sin(x), b.floor(y)], tensor(f64, 2), tensor(f32, 3))
    x, y = np.ones(2), np.ones(3, np.float32)
    *_, dx, dy = run(differentiate(function, [0, 1], name="g"), x, y)
    np.testing.assert_array_equal(dx, np.cos(x))
    assert dy.dtype == np.float32
    np.testing.assert_array_equal(dy, np.zeros(3))


def test_outputs_select_what_is_differentiated():
    function = build(lambda b, x: [b.sin(x), b.cos(x)], tensor(f64))
    x = np.array(0.4)
    both = run(differentiate(function, [0], name="g", keep_values=False), x)
    last = run(differentiate(function, [0], name="g", keep_values=False, outputs=[1]), x)
    np.testing.assert_allclose(both, [np.cos(x) - np.sin(x)])
    np.testing.assert_allclose(last, [-np.sin(x)])


def test_an_output_may_be_an_input_and_repeat():
    function = build(lambda b, x: [x, x], tensor(f64, 2))
    (found,) = run(differentiate(function, [0], name="g", keep_values=False), np.zeros(2))
    np.testing.assert_array_equal(found, [2, 2])


def test_stop_gradient_and_integers_cut():
    def body(b, x):
        rounded = b.convert(b.convert(x, dtype=i64), dtype=f64)
        return b.add(b.mul(x, b.stop_gradient(b.square(x))), b.mul(rounded, x))

    (found,) = run(
        differentiate(build(body, tensor(f64)), [0], name="g", keep_values=False), np.array(2.5)
    )
    assert found == 2.5**2 + 2


def test_nothing_unneeded_is_left():
    """Rules give the cotangents of all operands; those of constants are not computed."""
    function = build(lambda b, x, y: b.div(x, y), tensor(f64, 3), tensor(f64, 3))
    found = differentiate(function, [0], name="g", keep_values=False, cotangents="arguments")
    assert names(found) == ["nd.div"]


def test_gradient_programs_grow_linearly():
    def chain(length):
        def body(b, x):
            for _ in range(length):
                x = b.mul(b.sin(x), x)
            return x

        return len(differentiate(build(body, tensor(f64)), [0], name="g").body.ops)

    assert chain(400) - chain(200) == 2 * (chain(200) - chain(100))


def test_small_reads_add_into_one_running_cotangent():
    def body(b, x):
        total = b.full(0, tensor(f64))
        for k in range(40):
            row = b.slice(x, starts=(k,), sizes=(1,), steps=(1,))
            total = b.add(total, b.square(b.reshape(row, shape=())))
        return total

    gradient = differentiate(build(body, tensor(f64, 100)), [0], name="g", keep_values=False)
    whole = [op for op in gradient.body.ops[:-1] if op.result.type == tensor(f64, 100)]
    assert [op.name for op in whole] == ["nd.constant"] + ["nd.accumulate_slice"] * 40
    x = RNG.standard_normal(100)
    np.testing.assert_array_equal(run(gradient, x)[0], np.where(np.arange(100) < 40, 2 * x, 0))


def test_emitted_operations_name_the_users_line():
    gradient = differentiate(build(lambda b, x: b.sin(x), tensor(f64)), [0], name="g")
    last = gradient.body.ops[-2]
    assert (last.location.file, last.location.line) == ("model.py", 7)
    assert last.location.role == "backward"


# ---------------------------------------------------------------------------------------- errors


def test_integer_input_is_refused_with_its_number():
    function = build(lambda b, x, k: [x, k], tensor(f64), tensor(i64, 3))
    with pytest.raises(NotDifferentiableInput, match="argument 1") as caught:
        differentiate(function, [0, 1], name="g")
    assert caught.value.argument == 1
    assert "tensor<3xi64>" in str(caught.value)


def test_integer_output_is_refused():
    function = build(lambda b, x, k: [x, k], tensor(f64), tensor(i64))
    with pytest.raises(IRError, match="result 1"):
        differentiate(function, [0], name="g", outputs=[1])


class WithoutRule(Elementwise):
    """An operation whose author forgot the derivative."""

    name = "test.without_rule"
    infer = same_type(FLOATS)


class WrongType(Elementwise):
    """An operation whose rule returns another type than its operand's."""

    name = "test.wrong_type"
    infer = same_type(FLOATS)

    def vjp(b, op, g):
        return [b.convert(g, dtype=f32)]


class WrongCount(Elementwise):
    """An operation whose rule forgets an operand."""

    name = "test.wrong_count"
    infer = same_type(FLOATS, 2)

    def vjp(b, op, g):
        return [g]


@pytest.mark.parametrize(
    "cls, operands, message",
    [
        (WithoutRule, 1, "test.without_rule has no derivative rule"),
        (WrongType, 1, "expected tensor<2xf64>, got tensor<2xf32>"),
        (WrongCount, 2, "test.wrong_count gives 1 cotangents for 2 operands"),
    ],
)
def test_a_bad_rule_is_an_error_at_the_users_line(cls, operands, message):
    function = build(lambda b, x: b.create(cls, [x] * operands, {}), tensor(f64, 2))
    with pytest.raises(IRError, match=message) as caught:
        differentiate(function, [0], name="g")
    assert "model.py:7" in str(caught.value)
    assert cls.name in str(caught.value)


# ----------------------------------------------------------------------------------------- masks


def gradient_of(body, *arrays, order=1):
    """Gradient in the first input of the sum of all results of `body`, to some order."""

    def total(b, *inputs):
        value = body(b, *inputs)
        return b.reduce_sum(value, axes=tuple(range(value.type.rank)))

    function = build_for(total, *arrays)
    for _ in range(order):
        function = differentiate(function, [0], name="g", keep_values=False)
    return run(function, *arrays)[0]


X = np.array([-1.0, 0.0, 2.0, 4.0])
POSITIVE = X > 0
SAFE = np.where(POSITIVE, X, 1.0)


def guarded_log(b, x):
    return b.select(b.gt(x, 0), b.log(x), b.zeros(x.type))


def test_the_branch_not_taken_gives_no_nan():
    np.testing.assert_array_equal(gradient_of(guarded_log, X), np.where(POSITIVE, 1 / SAFE, 0))


@pytest.mark.parametrize("order", [2, 3])
def test_nor_in_higher_orders(order):
    expected = np.where(POSITIVE, [0, 0, -1, 2][order] * SAFE**-order, 0)
    np.testing.assert_allclose(gradient_of(guarded_log, X, order=order), expected)


def test_mask_through_a_chain_of_singular_operations():
    def body(b, x):
        y = b.sqrt(b.log(x))
        return b.select(b.gt(x, 1), y, x)

    x = np.array([-2.0, 0.0, 1.0, 3.0])
    expected = [1, 1, 1, 1 / (6 * np.sqrt(np.log(3)))]
    np.testing.assert_allclose(gradient_of(body, x), expected)


def test_two_masked_uses_add_where_either_is_live():
    def body(b, x):
        y = b.log(x)
        low = b.select(b.gt(x, 0), y, b.zeros(x.type))
        high = b.select(b.gt(x, 3), b.square(y), b.zeros(x.type))
        return b.add(low, high)

    found = gradient_of(body, X)
    expected = np.where(POSITIVE, 1 / SAFE, 0) + np.where(X > 3, 2 * np.log(SAFE) / SAFE, 0)
    np.testing.assert_allclose(found, expected)


def test_mask_through_reduce_sum():
    """A whole row is not taken: its sum's cotangent is spread with its mask."""

    def body(b, x):
        rows = b.reduce_sum(b.log(x), axes=(1,))
        return b.select(b.isfinite(rows), rows, b.zeros(rows.type))

    x = np.array([[1.0, 0.0], [2.0, 4.0]])
    np.testing.assert_array_equal(gradient_of(body, x), [[0, 0], [0.5, 0.25]])


def test_mask_through_reduce_prod_and_max():
    def body(b, x):
        rows = b.reduce_prod(b.log(x), axes=(1,))
        top = b.reduce_max(b.sqrt(x), axes=(1,))
        good = b.gt(b.reduce_min(x, axes=(1,)), 0)
        return b.select(good, b.mul(rows, top), b.zeros(rows.type))

    x = np.array([[1.0, 0.0], [2.0, 4.0]])
    found = gradient_of(body, x)
    np.testing.assert_array_equal(found[0], 0)
    log = np.log(x[1])
    expected = [log[1] / 2 * 2, log[0] / 4 * 2 + log.prod() / 4]
    np.testing.assert_allclose(found[1], expected)


def test_mask_through_broadcast():
    """Live where any of the repeated elements is."""

    def body(b, x):
        wide = b.broadcast(b.log(x), shape=(3, 4), dims=(1,))
        numbers = b.iota(axis=0, type=tensor(f64, 3, 4))
        keep = b.logical_and(b.eq(numbers, 1), b.broadcast(b.gt(x, 0), shape=(3, 4), dims=(1,)))
        return b.select(keep, wide, b.zeros(wide.type))

    np.testing.assert_array_equal(gradient_of(body, X), np.where(POSITIVE, 1 / SAFE, 0))


def test_mask_through_reshape_transpose_and_concatenate():
    def body(b, x):
        y = b.transpose(b.reshape(b.log(x), shape=(2, 2)), perm=(1, 0))
        both = b.concatenate(y, y, axis=0)
        return b.select(b.isfinite(both), both, b.zeros(both.type))

    np.testing.assert_array_equal(gradient_of(body, X), np.where(POSITIVE, 2 / SAFE, 0))


@pytest.mark.parametrize("start, size", [(2, 2), (3, 1)])
def test_what_a_slice_does_not_read_is_not_live(start, size):
    def body(b, x):
        return b.slice(b.log(x), starts=(start,), sizes=(size,), steps=(1,))

    x = np.concatenate([np.zeros(2), np.arange(2.0, 12.0)])
    expected = np.zeros(12)
    expected[start : start + size] = 1 / x[start : start + size]
    np.testing.assert_array_equal(gradient_of(body, x), expected)


def test_what_a_dynamic_slice_or_a_gather_does_not_read_is_not_live():
    at = np.array([3, 2, 3])

    def gathered(b, x, at):
        return b.gather(b.log(x), at, axes=(0,))

    def sliced(b, x, start):
        return b.slice(b.log(x), start, starts=(None,), sizes=(1,), steps=(1,))

    x = np.array([0.0, 0.0, 2.0, 4.0])
    np.testing.assert_array_equal(gradient_of(gathered, x, at), [0, 0, 0.5, 0.5])
    np.testing.assert_array_equal(gradient_of(sliced, x, np.array(3)), [0, 0, 0, 0.25])


def test_several_partial_reads_are_live_where_any_reads():
    def body(b, x):
        y = b.log(x)
        parts = [b.slice(y, starts=(k,), sizes=(1,), steps=(1,)) for k in (4, 6, 4)]
        return b.concatenate(*parts, axis=0)

    x = np.where(np.arange(9) % 2 == 0, np.arange(9.0), 0)
    expected = np.zeros(9)
    expected[[4, 6]] = [2 / 4, 1 / 6]
    np.testing.assert_array_equal(gradient_of(body, x), expected)


def test_what_a_store_overwrites_is_not_live():
    def body(b, x):
        return b.update_slice(b.log(x), b.full(5, tensor(f64, 2)), starts=(0,), steps=(1,))

    x = np.array([0.0, -1.0, 2.0, 4.0])
    np.testing.assert_array_equal(gradient_of(body, x), [0, 0, 0.5, 0.25])


def test_what_a_scatter_overwrites_is_not_live():
    def body(b, x, at):
        return b.scatter(b.log(x), b.full(5, tensor(f64, 2)), at, axes=(0,))

    x = np.array([0.0, 2.0, -1.0, 4.0])
    np.testing.assert_array_equal(gradient_of(body, x, np.array([2, 0])), [0, 0.5, 0, 0.25])


def test_mask_through_matmul():
    """Row 0 of the product is not taken; its infinities meet no live cotangent."""

    def body(b, x, y):
        z = b.dot_general(b.log(x), y, contract=((1,), (0,)))
        keep = b.gt(b.broadcast(b.reduce_min(x, axes=(1,)), shape=(2, 3), dims=(0,)), 0)
        return b.select(keep, z, b.zeros(z.type))

    x, y = np.array([[0.0, 1.0], [2.0, 4.0]]), np.arange(6.0).reshape(2, 3)
    expected = [[0, 0], [(0 + 1 + 2) / 2, (3 + 4 + 5) / 4]]
    np.testing.assert_allclose(gradient_of(body, x, y), expected)
    dy = gradient_of(lambda b, y, x: body(b, x, y), y, x)
    np.testing.assert_allclose(dy, np.log(x[1])[:, None] * np.ones(3))


def test_mask_meets_an_infinite_column_in_matmul():
    """A dead column of the product: the infinities of the other factor's column do not count."""

    def body(b, x, y):
        z = b.dot_general(b.exp(x), b.reciprocal(y), contract=((1,), (0,)))
        keep = b.lt(b.iota(axis=1, type=tensor(f64, 2, 2)), 1)
        return b.select(keep, z, b.zeros(z.type))

    x, y = np.zeros((2, 2)), np.array([[1.0, 0.0], [0.5, 0.0]])
    np.testing.assert_array_equal(gradient_of(body, x, y), [[1, 2], [1, 2]])


def test_mask_through_clip_maximum_and_relu():
    def body(b, x):
        y = b.log(x)
        low = b.full(-10, x.type)
        return b.add(b.maximum(y, low), b.relu(b.clip(y, low, b.full(10, x.type))))

    x = np.array([0.0, 0.5, 2.0])
    np.testing.assert_array_equal(gradient_of(body, x), [0, 2, 1])


def test_an_infinite_cotangent_stops_at_the_mask():
    function = build(lambda b, x: b.relu(x), tensor(f64, 2))
    gradient = differentiate(function, [0], name="g", keep_values=False, cotangents="arguments")
    (found,) = run(gradient, np.array([-1.0, 1.0]), np.array([np.inf, 3.0]))
    np.testing.assert_array_equal(found, [0, 3])


def test_second_order_of_a_norm_like_mask():
    """The hessian of where(r > 0, sqrt(r), 0) at r = 0 is 0."""

    def body(b, x):
        r = b.reduce_sum(b.square(x), axes=(1,))
        return b.select(b.gt(r, 0), b.sqrt(r), b.zeros(r.type))

    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(gradient_of(body, x), [[0, 0], [0.6, 0.8]])
    # Sum over the columns of I/r - x x^T / r^3.
    expected = np.array([1, 1]) / 5 - x[1] * x[1].sum() / 125
    np.testing.assert_allclose(gradient_of(body, x, order=2), [[0, 0], expected])


def test_masks_are_dropped_where_they_do_not_matter():
    """Upstream of the select only finite slopes: the mask is applied once and not carried."""

    def body(b, x):
        y = b.add(b.mul(x, 2), x)
        return b.select(b.gt(x, 0), y, b.zeros(y.type))

    gradient = differentiate(
        build(body, tensor(f64, 4)), [0], name="g", keep_values=False, cotangents="arguments"
    )
    assert names(gradient).count("nd.select") == 1
    assert "nd.logical_or" not in names(gradient)
    np.testing.assert_array_equal(run(gradient, X, np.ones(4))[0], np.where(X > 0, 3, 0))


def _relu_network(b, x, w, v):
    h = b.relu(b.dot_general(x, w, contract=((1,), (0,))))
    return b.relu(b.dot_general(h, v, contract=((1,), (0,))))


def _split_after_normalising(b, x, w, v):
    length = b.sqrt(b.add(b.reduce_sum(b.square(x), axes=(1,)), 1))
    y = b.div(x, b.broadcast(length, shape=(3, 3), dims=(0,)))
    z = b.dot_general(y, w, contract=((1,), (0,)))
    parts = [b.slice(z, starts=(0, k), sizes=(3, 1), steps=(1, 1)) for k in (0, 2)]
    return b.mul(b.mul(*parts), b.slice(v, starts=(0, 0), sizes=(3, 1), steps=(1, 1)))


@pytest.mark.parametrize("body", [_relu_network, _split_after_normalising])
def test_no_masks_are_carried_through_ordinary_layers(body):
    """Masks of networks cost a select each, no reductions, no copies of the factors."""
    x = [RNG.standard_normal((3, 3)) for _ in range(3)]
    gradient = differentiate(build_for(body, *x), [0, 1, 2], name="g", cotangents="arguments")
    assert not {"nd.reduce_any", "nd.logical_or"} & set(names(gradient))
    masks = [op for op in gradient.body.ops[:-1] if op.results[0].type.dtype.is_bool]
    assert len(masks) == {_relu_network: 2, _split_after_normalising: 0}[body]


def test_missing_rows_of_an_input_stay_out_of_every_gradient():
    """np.where over the rows of a product: NaN in a dropped row of x reaches no gradient."""

    def body(b, x, w):
        z = b.dot_general(x, w, contract=((1,), (0,)))
        first = b.eq(b.iota(axis=0, type=z.type), 1.0)
        return b.square(b.select(first, b.zeros(z.type), z))

    x = RNG.standard_normal((3, 3))
    w = RNG.standard_normal((3, 3))
    gradient = differentiate(build_for(body, x, w), [0, 1], name="g", cotangents="arguments")
    ones = np.ones((3, 3))
    keep = np.array([[1.0], [0.0], [1.0]])
    z = (x @ w) * keep
    x[1] = np.nan
    _, dx, dw = run(gradient, x, w, ones)
    np.testing.assert_allclose(dx, 2 * z @ w.T, rtol=1e-12)
    np.testing.assert_allclose(dw, 2 * np.nan_to_num(x).T @ z, rtol=1e-12)
