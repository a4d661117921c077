"""Gathers, scatters, slices from data and symbolic sizes: duplicates, bounds, run-time shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from array_programs import gradient, gradients, run, trace, value

from gradc.ir.builder import Builder, EagerBuilder, EagerValue
from gradc.ir.diagnostic import GradcError, VerificationError
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import Dim, TensorType, f64, i1, i64, tensor
from gradc.ir.verify import verify
from gradc.passes.backward import differentiate
from gradc.passes.lower.plan import plan
from gradc.runtime.executor import Executor

INF = math.inf


def store(combine: str) -> Any:
    return lambda b, x, v, *at: b.scatter(x, v, *at, axes=tuple(range(len(at))), combine=combine)


def test_last_writer_of_duplicates_wins_and_takes_the_credit() -> None:
    x, v = np.arange(4.0), np.array([10.0, 11.0, 12.0, 13.0])
    at = np.array([2, 0, 2, 2])
    expected = x.copy()
    expected[2], expected[0] = 13.0, 11.0
    np.testing.assert_array_equal(value(store("set"), x, v, at), expected)
    g = np.array([1.0, 10.0, 100.0, 1000.0])
    dx, dv = gradients(store("set"), x, v, at, wrt=(0, 1), g=g)
    np.testing.assert_array_equal(dx, [0, 10, 0, 1000])
    np.testing.assert_array_equal(dv, [0, 1, 0, 100])


def test_last_writer_over_two_axes_and_whole_rows() -> None:
    x, v = np.zeros((2, 3, 2)), np.arange(8.0).reshape(2, 2, 2)
    rows, columns = np.array([[0, 1], [0, 1]]), np.array([[2, 0], [2, 1]])
    found = value(store("set"), x, v, rows, columns)
    expected = x.copy()
    for k in np.ndindex(2, 2):
        expected[rows[k], columns[k]] = v[k]
    np.testing.assert_array_equal(found, expected)
    g = np.arange(12.0).reshape(2, 3, 2) + 1
    dx, dv = gradients(store("set"), x, v, rows, columns, wrt=(0, 1), g=g)
    expected = g.copy()
    expected[0, 2] = expected[1, 0] = expected[1, 1] = 0
    np.testing.assert_array_equal(dx, expected)
    np.testing.assert_array_equal(dv, [[[0, 0], g[1, 0]], [g[0, 2], g[1, 1]]])


def test_duplicates_add_up() -> None:
    x, v, at = np.arange(3.0), np.array([10.0, 20.0, 30.0]), np.array([1, 1, 0])
    np.testing.assert_array_equal(value(store("add"), x, v, at), [30, 31, 2])
    g = np.array([1.0, 10.0, 100.0])
    dx, dv = gradients(store("add"), x, v, at, wrt=(0, 1), g=g)
    np.testing.assert_array_equal(dx, g)
    np.testing.assert_array_equal(dv, [10, 10, 1])


def test_gradient_of_a_gather_adds_up_duplicates() -> None:
    x, at = np.arange(4.0), np.array([3, 1, 3])
    found = gradient(lambda b, x, at: b.gather(x, at, axes=(0,)), x, at, g=[1.0, 10.0, 100.0])
    np.testing.assert_array_equal(found, [0, 10, 0, 101])


@pytest.mark.parametrize("store_ones", ["scatter", "update_slice"])
def test_overwritten_elements_get_no_nan(store_ones: str) -> None:
    # 1 / x is inf at 0 and is overwritten: 0 * inf must not reach the gradient.
    def build(b, x, v, at):
        y = b.reciprocal(x)
        if store_ones == "scatter":
            return b.scatter(y, v, at, axes=(0,), combine="set")
        return b.update_slice(y, v, starts=(0,), steps=(1,))

    x, v = np.array([0.0, 0.0, 2.0]), np.array([1.0, 1.0])
    dx, dv = gradients(build, x, v, np.array([0, 1]), wrt=(0, 1))
    np.testing.assert_array_equal(dx, [0, 0, -0.25])
    np.testing.assert_array_equal(dv, [1, 1])


@pytest.mark.parametrize("read", ["gather", "slice", "dynamic"])
def test_elements_that_are_not_read_get_no_nan(read: str) -> None:
    def build(b, x, at):
        y = b.reciprocal(x)
        if read == "gather":
            return b.gather(y, b.reshape(at, shape=(1,)), axes=(0,))
        if read == "slice":
            return b.slice(y, starts=(2,), sizes=(1,), steps=(1,))
        return b.slice(y, at, starts=(None,), sizes=(1,), steps=(1,))

    found = gradient(build, np.array([0.0, 0.0, 2.0]), np.int64(2))
    np.testing.assert_array_equal(found, [0, 0, -0.25])


@pytest.mark.parametrize("bad", [5, -1, 2**40])
@pytest.mark.parametrize("op", ["gather", "scatter", "slice", "update_slice", "accumulate_slice"])
def test_index_out_of_range_is_numpys_error(op: str, bad: int) -> None:
    def build(b, x, v, at):
        if op == "gather":
            return b.gather(x, b.reshape(at, shape=(1,)), axes=(1,))
        if op == "scatter":
            column = b.reshape(v, shape=(1, 3))
            return b.scatter(x, column, b.reshape(at, shape=(1,)), axes=(1,))
        if op == "slice":
            return b.slice(x, at, starts=(0, None), sizes=(3, 1), steps=(1, 1))
        return getattr(b, op)(x, v, at, starts=(0, None), steps=(1, 1))

    x, v = np.zeros((3, 5)), np.ones((3, 1))
    function = trace(build, x, v, np.int64(bad))
    assert run(function, x, v, 4)[0].dtype == np.float64
    with pytest.raises(IndexError) as ours:
        run(function, x, v, bad)
    assert f"index {bad} is out of bounds for axis 1 with size 5" in str(ours.value)
    if bad > 0:
        with pytest.raises(IndexError) as theirs:
            x[:, bad]
        assert str(theirs.value) == str(ours.value)


@pytest.mark.parametrize("start", [3, -1])
def test_dynamic_slice_must_lie_in_the_array(start: int) -> None:
    x = np.arange(5.0)
    function = trace(
        lambda b, x, at: b.slice(x, at, starts=(None,), sizes=(3,), steps=(1,)), x, np.int64(0)
    )
    np.testing.assert_array_equal(run(function, x, 2)[0], [2, 3, 4])
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 5"):
        run(function, x, start)


def test_operands_stay_as_they_are() -> None:
    x, v, at = np.arange(4.0), np.array([7.0]), np.array([1])
    for build in (store("set"), store("add")):
        value(build, x, v, at)
    value(lambda b, x, v: b.accumulate_slice(x, v, starts=(1,), steps=(1,)), x, v)
    np.testing.assert_array_equal(x, np.arange(4.0))


# --------------------------------------------------------------------------- symbolic sizes


def masked(b: Builder, x: Any, mask: Any, size: str = "n0") -> Any:
    """x[mask]."""
    found = b.nonzero(mask, size=size)
    places = found if isinstance(found, tuple) else (found,)
    return b.gather(x, *places, axes=tuple(range(mask.type.rank)))


def squares_of_masked() -> FuncOp:
    """sum((x[mask] - 1)**2) / max(number of elements, ...): the 1s have a symbolic shape."""
    function = FuncOp.build("f", [tensor(f64, 6), tensor(i1, 6)])
    b = Builder(function.body)
    x, mask = function.args
    picked = masked(b, x, mask)
    assert picked.type == TensorType((Dim("n0"),), f64)
    squares = b.square(b.sub(picked, b.full(1.0, picked.type)))
    count = b.convert(b.size(picked, axis=0), dtype=f64)
    function.finish([b.div(b.reduce_sum(squares, axes=(0,)), count)])
    verify(function)
    return function


@pytest.mark.parametrize("count", [1, 4, 6])
def test_sizes_known_at_run_time(count: int) -> None:
    x = np.array([3.0, -1.0, 2.0, 0.5, 4.0, 7.0])
    mask = np.arange(6) < count
    function = squares_of_masked()
    assert run(function, x, mask)[0] == np.mean((x[mask] - 1) ** 2)
    backward = differentiate(function, (0,), name="g", keep_values=False)
    expected = np.where(mask, 2 * (x - 1) / count, 0)
    np.testing.assert_allclose(run(backward, x, mask)[0], expected, rtol=1e-15)


def test_one_program_runs_with_other_sizes() -> None:
    function = squares_of_masked()
    x = np.arange(6.0)
    for mask in (x > 1, x > 3, x > 4, x > 0):
        assert run(function, x, mask)[0] == np.mean((x[mask] - 1) ** 2)


def test_mask_over_two_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    mask = np.array([[True, False, True], [False, False, True]])
    found = value(masked, x, mask)
    np.testing.assert_array_equal(found, x[mask])
    expected = np.zeros_like(x)
    expected[mask] = 1
    np.testing.assert_array_equal(gradient(masked, x, mask, g=np.ones((3, 4))), expected)


def test_store_of_symbolic_size_credits_its_values() -> None:
    x, v = np.arange(5.0), np.array(10.0)
    mask = np.array([True, False, True, False, False])

    def build(b, x, v, mask):
        at = b.nonzero(mask, size="n0")
        values = b.broadcast(v, shape=at.type.shape, dims=())
        return b.scatter(x, values, at, axes=(0,), combine="set")

    np.testing.assert_array_equal(value(build, x, v, mask), [10, 1, 10, 3, 4])
    dx, dv = gradients(build, x, v, mask, wrt=(0, 1), g=np.array([1.0, 2, 4, 8, 16]))
    np.testing.assert_array_equal(dx, [0, 2, 0, 8, 16])
    assert dv == 5


def test_symbolic_argument_sizes_are_learnt_from_arrays() -> None:
    function = FuncOp.build("f", [TensorType((Dim("n"), 2), f64)])
    b = Builder(function.body)
    (x,) = function.args
    numbers = b.iota(axis=0, type=x.type)
    function.finish([b.add(x, numbers), b.reshape(x, shape=(2, Dim("n")))])
    for n in (0, 1, 3):
        x = np.ones((n, 2))
        total, reshaped = run(function, x)
        np.testing.assert_array_equal(total, x + np.arange(n)[:, None])
        assert reshaped.shape == (2, n)


def test_size_used_before_an_array_has_it_is_an_error() -> None:
    function = FuncOp.build("f", [])
    b = Builder(function.body)
    function.finish([b.zeros(TensorType((Dim("lost"),), f64))])
    with pytest.raises(GradcError, match="the size lost is used before an array has it"):
        run(function)


def test_unequal_symbolic_sizes_do_not_mix() -> None:
    function = FuncOp.build("f", [tensor(f64, 6), tensor(i1, 6)])
    b = Builder(function.body)
    x, mask = function.args
    first, second = masked(b, x, mask, "n0"), masked(b, x, mask, "n1")
    with pytest.raises(VerificationError, match="expected operands of one type"):
        b.add(first, second)
    with pytest.raises(VerificationError, match="known at run time only"):
        b.concatenate(first, second, axis=0)


@pytest.mark.parametrize("size", [2, Dim("n1")])
def test_axis_of_symbolic_size_is_sliced_whole_only(size: Any) -> None:
    function = FuncOp.build("f", [TensorType((Dim("n0"), 3), f64)])
    b = Builder(function.body)
    whole = b.slice(*function.args, starts=(0, 1), sizes=(Dim("n0"), 2), steps=(1, 1))
    assert whole.type.shape == (Dim("n0"), 2)
    with pytest.raises(VerificationError, match="expected axis 0 of .* to be taken whole"):
        b.slice(*function.args, starts=(0, 0), sizes=(size, 3), steps=(1, 1))


def test_static_size_folds() -> None:
    function = trace(lambda b, x: b.size(x, axis=1), np.zeros((2, 3)))
    op = function.body.ops[0]
    assert op.simplify(EagerBuilder(), op)[0].array == 3


def test_eager_builder_gives_sizes_their_values() -> None:
    b = EagerBuilder()
    mask, x = EagerValue(np.array([True, False, True])), EagerValue(np.array([5.0, 6.0, 7.0]))
    at = b.nonzero(mask, size="n0")
    assert at.type == tensor(i64, 2)
    np.testing.assert_array_equal(b.gather(x, at, axes=(0,)).array, [5, 7])


@pytest.mark.parametrize("start", [-3, 0, 4, 5, 99])
def test_an_empty_slice_may_start_anywhere(start: int) -> None:
    """As in NumPy, where x[9:9] of five elements is an empty array; compiled as interpreted."""

    def body(b: Any, x: Any, at: Any) -> Any:
        part = b.slice(x, at, starts=(None,), sizes=(0,), steps=(1,))
        kept = b.update_slice(x, part, at, starts=(None,), steps=(1,))
        return b.add(b.reduce_sum(part, axes=(0,)), 1.0), b.mul(kept, 2.0)

    x = np.arange(5.0)
    function = trace(body, x, np.int64(start))
    for found in (run(function, x, np.int64(start)), Executor(plan(function))(x, np.int64(start))):
        assert found[0] == 1
        np.testing.assert_array_equal(found[1], 2 * x)
