"""Reductions and scans where samples do not reach; expected values are closed forms."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from array_programs import gradient, gradients, hessian, trace, value

from gradc.ir.builder import EagerBuilder
from gradc.ir.diagnostic import VerificationError

INF, NAN = math.inf, math.nan
HALVES = [np.float16, ml_dtypes.bfloat16]


def products(x: np.ndarray, skip: tuple[int, ...]) -> float:
    return math.prod(float(v) for k, v in enumerate(x) if k not in skip)


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_ties_split_evenly(name: str) -> None:
    x = np.array([[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 3.0]])
    x = x if name == "reduce_max" else -x
    found = gradient(lambda b, x: getattr(b, name)(x, axes=(1,)), x, g=[6.0, 8.0])
    np.testing.assert_array_equal(found, [[0, 3, 3, 0], [2, 2, 2, 2]])


@pytest.mark.parametrize("name", ["reduce_max", "reduce_min"])
def test_nan_wins_and_takes_the_gradient(name: str) -> None:
    x = np.array([1.0, NAN, 3.0, NAN])
    build = lambda b, x: getattr(b, name)(x, axes=(0,))  # noqa: E731
    assert np.isnan(value(build, x))
    np.testing.assert_array_equal(gradient(build, x), [0, 0.5, 0, 0.5])


def test_element_not_chosen_gets_no_nan() -> None:
    # 1 / 0 = inf is not the minimum; 0 * inf must not reach its gradient.
    x = np.array([0.0, 2.0])
    found = gradient(lambda b, x: b.reduce_min(b.reciprocal(x), axes=(0,)), x)
    np.testing.assert_array_equal(found, [0.0, -0.25])


@pytest.mark.parametrize("kind", HALVES)
def test_ties_of_halves_are_counted_beyond_their_range(kind: type) -> None:
    x = np.zeros(70000, kind)
    found = gradient(lambda b, x: b.reduce_max(x, axes=(0,)), x, g=1.0)
    np.testing.assert_array_equal(found, np.full(70000, 1 / 70000).astype(kind))


@pytest.mark.parametrize("kind", HALVES)
def test_halves_accumulate_in_float32(kind: type) -> None:
    # In the narrow type a sum of ones stops growing at 2048 (float16) or 256 (bfloat16).
    ones = np.ones(5000, kind)
    assert value(lambda b, x: b.reduce_sum(x, axes=(0,)), ones) == np.float32(5000).astype(kind)
    running = value(lambda b, x: b.cumsum(x, axis=0), ones)
    np.testing.assert_array_equal(running, np.arange(1, 5001).astype(kind))
    assert running.dtype == kind


@pytest.mark.parametrize("x", [[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
def test_product_with_zeros(x: list[float]) -> None:
    array = np.array(x)

    def build(b, x):
        return b.reduce_prod(x, axes=(0,))

    first = [products(array, (k,)) for k in range(3)]
    second = [[0 if i == j else products(array, (i, j)) for j in range(3)] for i in range(3)]
    np.testing.assert_array_equal(gradient(build, array), first)
    np.testing.assert_array_equal(hessian(build, array), second)


def test_product_over_two_axes_with_zeros() -> None:
    x = np.array([[2.0, 0.0, 3.0], [1.0, 5.0, 7.0]])
    expected = np.zeros((2, 3))
    expected[0, 1] = 2 * 3 * 5 * 7
    np.testing.assert_array_equal(gradient(lambda b, x: b.reduce_prod(x, axes=(0, 1)), x), expected)


@pytest.mark.parametrize(("reverse", "exclusive"), list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("x", [[2.0, 3.0, 5.0, 7.0], [2.0, 0.0, 5.0, 0.0], [0.0, 0.0, 5.0, 7.0]])
def test_running_product_with_zeros(x: list[float], reverse: bool, exclusive: bool) -> None:
    array, g = np.array(x), np.array([1.0, 10.0, 100.0, 1000.0])
    order = range(3, -1, -1) if reverse else range(4)

    def factors(i: int) -> list[int]:
        """The elements that result i multiplies."""
        before = list(order)[: list(order).index(i)]
        return before if exclusive else [*before, i]

    g.flags.writeable = False
    slope, curvature = np.zeros(4), np.zeros((4, 4))
    for i in range(4):
        for k in factors(i):
            slope[k] += g[i] * math.prod(array[m] for m in factors(i) if m != k)
            for l in factors(i):
                if l != k:
                    rest = [array[m] for m in factors(i) if m not in (k, l)]
                    curvature[k, l] += g[i] * math.prod(rest)

    def weighted(b, x):
        y = b.cumprod(x, axis=0, reverse=reverse, exclusive=exclusive)
        return b.reduce_sum(b.mul(y, b.constant(value=g, type=x.type)), axes=(0,))

    np.testing.assert_array_equal(gradient(weighted, array), slope)
    np.testing.assert_array_equal(hessian(weighted, array), curvature)


def test_first_coefficient_of_a_recurrence_is_not_used() -> None:
    a, x = np.array([INF, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    found = value(lambda b, a, x: b.linear_scan(a, x, axis=0), a, x)
    np.testing.assert_array_equal(found, [1, 3, 10])
    da, dx = gradients(lambda b, a, x: b.linear_scan(a, x, axis=0), a, x, wrt=(0, 1))
    np.testing.assert_array_equal(da, [0, 4, 3])
    np.testing.assert_array_equal(dx, [9, 4, 1])


@pytest.mark.parametrize("kind", [np.float32, np.float64, *HALVES, np.int8, np.uint16, bool])
def test_arg_reductions_as_numpy(kind: type) -> None:
    x = np.array([[1, 3, 3, 0], [0, 0, 2, 2], [7, 1, 7, 1]]).astype(kind)
    wide = x.astype(np.float64)
    for axis in (0, 1):
        found = value(lambda b, x, axis=axis: b.argmax(x, axis=axis), x)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, np.argmax(wide, axis=axis))
        found = value(lambda b, x, axis=axis: b.argmin(x, axis=axis), x)
        np.testing.assert_array_equal(found, np.argmin(wide, axis=axis))


@pytest.mark.parametrize("kind", [np.float64, *HALVES])
def test_arg_reductions_give_the_first_nan(kind: type) -> None:
    x = np.array([1, NAN, INF, NAN, -INF]).astype(kind)
    assert value(lambda b, x: b.argmax(x, axis=0), x) == 1
    assert value(lambda b, x: b.argmin(x, axis=0), x) == 1


@pytest.mark.parametrize(("mine", "numpys"), [("reduce_max", np.max), ("reduce_min", np.min)])
def test_extremum_of_nothing_is_numpys_error(mine: str, numpys) -> None:
    with pytest.raises(ValueError, match="has no identity") as theirs:
        numpys(np.zeros((0, 3)), axis=0)
    with pytest.raises(VerificationError) as ours:
        trace(lambda b, x: getattr(b, mine)(x, axes=(0,)), np.zeros((0, 3)))
    assert str(theirs.value) in str(ours.value)


def test_sum_of_a_known_number_folds_only_where_exact() -> None:
    def folded(number: float, kind: type, size: int = 10) -> bool:
        x = np.zeros(size, kind)

        def build(b, x):
            return b.reduce_sum(b.full(number, x.type), axes=(0,))

        function = trace(build, x)
        op = function.body.ops[-2]
        assert op.name == "nd.reduce_sum"
        found = op.simplify(EagerBuilder(), op)
        if found is not None:
            exact = np.sum(np.full(size, number, kind), dtype=kind)
            assert found[0].array.tobytes() == exact.tobytes()
        return found is not None

    assert folded(1.0, np.float64) and folded(0.25, np.float32) and folded(3, np.int32)
    assert not folded(0.1, np.float64)  # 0.1 + 0.1 + ... is not 10 * 0.1
    assert not folded(-0.0, np.float64) and not folded(INF, np.float64)
    assert not folded(1.0, np.float16, 3000)  # beyond the 2048 integers of float16
    assert not folded(100, np.int8)
