"""Reductions over axes; reduced axes are dropped (keepdims is a reshape on top).

A masked reduction (NumPy's `where=`) is a select before the reduction. x is the operand, y the
result, g its cotangent; `spread` repeats a value of the result's shape along the reduced axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, ArgReduce, Invalid, Reduce, Sample, Samples
from gradc.ir.ops.composite import spread_axes
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.sampling import uniform
from gradc.ir.type_rules import expect_axes, expect_dtype
from gradc.ir.types import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    ScalarType,
    TensorType,
    bf16,
    f16,
    f32,
    i1,
    i32,
    i64,
    tensor,
    to_numpy,
)  # fmt: skip

REALS = INTEGERS + FLOATS
MANTISSA = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def reduced(dtypes: Any, numpy_name: str = "") -> Any:
    """Type rule: the operand's type without the reduced axes.

    numpy_name: of a reduction without an identity, which refuses to reduce no elements to one.
    """

    def infer(x: Any, *, axes: tuple[int, ...]) -> TensorType:
        expect_dtype(x, dtypes)
        expect_axes(axes, x.rank)
        result = x.with_shape(tuple(n for k, n in enumerate(x.shape) if k not in axes))
        if numpy_name and 0 not in result.shape and any(x.shape[k] == 0 for k in axes):
            raise TypeRuleError(
                f"zero-size array to reduction operation {numpy_name} which has no identity: "
                f"expected axes of size 1 or more, got axes {list(axes)} of {x}"
            )
        return result

    return infer


def reduce_samples(dtypes: Any, lo: float = -4, hi: float = 4, empty: bool = True) -> Samples:
    """All, some and no axes of ranks 0 to 3; an empty result, and (`empty`) empty sums."""

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape, axes in (
            ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2)),
            ((3, 4), ()), ((), ()), ((2, 1, 3), (1,)), ((0, 3), (1,)),
        ):  # fmt: skip
            yield Sample((uniform(rng, dtype, shape, lo, hi),), {"axes": axes})
        if empty:
            yield Sample((uniform(rng, dtype, (0, 3), lo, hi),), {"axes": (0,)})
        if dtype.is_floating:
            special = np.array([[1, np.inf, 2], [np.nan, 0, -np.inf], [np.nan, np.nan, 1]])
            special = special.astype(to_numpy(dtype))
            yield Sample((special,), {"axes": (1,)}, smooth=False)
        yield Invalid((tensor(dtype, 2, 3),), {"axes": (2,)}, "sorted and distinct in [0, 2)")
        yield Invalid((tensor(dtype, 2, 3),), {"axes": (1, 0)}, "sorted and distinct in [0, 2)")

    return Samples(make, tuple(dtypes))


def spread(b: Any, op: Any, value: Any) -> Any:
    """A value of the result's shape, repeated along the reduced axes to the operand's shape."""
    return spread_axes(b, value, op.operands[0].type.shape, op["axes"])


def accumulate_wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run function(x, axis=...) in x's own dtype; float16 and bfloat16 in float32, with one
    rounding at the end."""

    def evaluate(x: Any, *, axes: Any) -> Any:
        narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        dtype = np.float32 if narrow else x.dtype
        return np.asarray(function(x.astype(dtype, copy=False), axis=axes)).astype(x.dtype)

    return evaluate


def drop_axes_of_one(b: Any, op: Any) -> Any:
    """A reduction over axes of size 1 (or over none) moves its elements and changes none."""
    (x,) = op.operands
    if all(x.type.shape[k] == 1 for k in op["axes"]):
        return [b.reshape(x, shape=op.result.type.shape)]
    return None


class ReduceSum(Reduce, name="nd.reduce_sum"):
    """Sum over `axes` in the operand's dtype; f16 and bf16 accumulate in f32 and round once.

    Numbers. An empty sum is 0. dx = spread(g).
    """

    infer = reduced(NUMBERS)
    combine = "add"
    ufunc = np.add
    reassociates = True
    shift = "sum over axes"
    finite_slope = True
    linear = True
    samples = reduce_samples(NUMBERS)

    def identity(dtype):
        return 0

    evaluate = accumulate_wide(lambda x, axis: np.sum(x, axis=axis, dtype=x.dtype))

    def vjp(b, op, g):
        return [spread(b, op, g)]

    def simplify(b, op):
        (x,) = op.operands
        dtype = x.type.dtype
        number = constant_value(x)
        count = _count(x.type.shape, op["axes"])
        if number is not None and count is not None and not dtype.is_complex:
            if _sums_exactly(number, count, dtype):
                return [b.full(number * count, op.result.type)]
        moved = drop_axes_of_one(b, op)
        if moved is None or dtype.is_integer:
            return moved
        return [b.add(moved[0], 0)]  # a sum begins with 0, and 0 + -0 is 0


def _count(shape: tuple[Any, ...], axes: tuple[int, ...]) -> int | None:
    """Number of elements that are reduced to one; None where that is known at run time only."""
    sizes = [shape[k] for k in axes]
    return math.prod(sizes) if all(isinstance(n, int) for n in sizes) else None


def _sums_exactly(number: Any, count: int, dtype: ScalarType) -> bool:
    """Whether adding `number` `count` times is exact in every order, and so equals one product."""
    if dtype.is_integer:
        return abs(number) * count < 1 << (dtype.bits - 1)
    if not math.isfinite(number) or (number == 0 and math.copysign(1, number) < 0):
        return False
    # number is p / 2^e: all partial sums are multiples of 2^-e below 2^(mantissa - e).
    numerator, denominator = float(number).as_integer_ratio()
    ordinary = denominator < 1 << 10 and abs(number) * count < 1 << 14
    return ordinary and abs(numerator) * count <= 1 << MANTISSA[dtype.name]


def _others(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """For each element the product over `axes` of all others; no division: zeros are right."""
    *outer, last = axes
    before = b.cumprod(x, axis=last, reverse=False, exclusive=True)
    after = b.cumprod(x, axis=last, reverse=True, exclusive=True)
    found = b.mul(before, after)
    if outer:
        rest = _others(b, b.reduce_prod(x, axes=(last,)), tuple(outer))
        kept = tuple(k for k in range(x.type.rank) if k != last)
        found = b.mul(found, b.broadcast(rest, shape=x.type.shape, dims=kept))
    return found


class ReduceProd(Reduce, name="nd.reduce_prod"):
    """Product over `axes` in the operand's dtype; f16 and bf16 multiply in f32 and round once.

    Numbers. An empty product is 1. dx = spread(g) conj(product of the other elements), right with
    zeros in x.
    """

    tame = True
    infer = reduced(NUMBERS)
    combine = "mul"
    ufunc = np.multiply
    reassociates = True
    evaluate = accumulate_wide(lambda x, axis: np.prod(x, axis=axis, dtype=x.dtype))
    simplify = drop_axes_of_one

    def identity(dtype):
        return 1

    def vjp(b, op, g):
        (x,) = op.operands
        if not x.type.dtype.is_inexact:
            return [None]
        if not op["axes"]:
            return [g]
        others = _others(b, x, op["axes"])
        if x.type.dtype.is_complex:
            others = b.conj(others)
        return [b.mul(spread(b, op, g), others)]

    def _samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
        yield from reduce_samples(NUMBERS, -2, 2).make(rng, dtype)
        kind = to_numpy(dtype)
        for zeros in ([0, 2, 3], [2, 0, 0]):
            yield Sample((np.array([zeros, [1, 2, 3]]).astype(kind),), {"axes": (1,)})
            yield Sample((np.array([zeros, [1, 2, 3]]).astype(kind),), {"axes": (0, 1)})

    samples = Samples(_samples, NUMBERS)


class _Extremum(Reduce):
    """What reduce_max and reduce_min share: tied elements get equal shares of g."""

    tame = True
    has_identity = False

    def masked_vjp(b, op, g):
        (x,) = op.operands
        if not x.type.dtype.is_inexact:
            return [None]
        live = b.logical_or(b.eq(x, spread(b, op, op.result)), b.isnan(x))
        # A float16 cannot count beyond 65504 (bfloat16: 256), so the shares are formed in float32.
        narrow = x.type.dtype in (f16, bf16)
        counted = x.type.with_dtype(f32) if narrow else x.type
        ones = b.select(live, b.full(1, counted), b.full(0, counted))
        count = b.reduce_sum(ones, axes=op["axes"])
        if narrow:
            share = b.convert(b.div(b.convert(g, dtype=f32), count), dtype=x.type.dtype)
        else:
            share = b.div(g, count)
        return [(spread(b, op, share), live)]

    simplify = drop_axes_of_one


def _extremum_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    # Distinct values: differences would straddle the kink of a tie.
    for sample in reduce_samples(REALS, empty=False).make(rng, dtype):
        if isinstance(sample, Sample) and sample.smooth:
            shape = sample.operands[0].shape
            values = rng.permutation(math.prod(shape)).reshape(shape).astype(to_numpy(dtype))
            sample = Sample((values,), sample.attributes)
        yield sample
    tied = np.array([[1, 3, 3], [2, 2, 2]]).astype(to_numpy(dtype))
    yield Sample((tied,), {"axes": (1,)}, smooth=False)
    yield Invalid((tensor(dtype, 0),), {"axes": (0,)}, "which has no identity")
    yield Invalid((tensor(i1, 2),), {"axes": (0,)}, "of dtype")


class ReduceMax(_Extremum, name="nd.reduce_max"):
    """Largest element over `axes`; NaN if any is NaN. Integers and floating; refuses empty axes.

    dx = spread(g) / (number of tied elements) where x = y, else 0; NaN elements count as tied.
    """

    infer = reduced(REALS, "maximum")
    combine = "maximum"
    ufunc = np.maximum
    vector_op = "arith.maximumf"
    samples = Samples(_extremum_samples, REALS)

    def identity(dtype):
        return -math.inf if dtype.is_floating else int(np.iinfo(to_numpy(dtype)).min)

    def evaluate(x: Any, *, axes: Any) -> Any:
        return np.max(x, axis=axes)


class ReduceMin(_Extremum, name="nd.reduce_min"):
    """Smallest element over `axes`; NaN if any is NaN. Integers and floating; refuses empty axes.

    dx = spread(g) / (number of tied elements) where x = y, else 0; NaN elements count as tied.
    """

    infer = reduced(REALS, "minimum")
    combine = "minimum"
    ufunc = np.minimum
    vector_op = "arith.minimumf"
    samples = Samples(_extremum_samples, REALS)

    def identity(dtype):
        return math.inf if dtype.is_floating else int(np.iinfo(to_numpy(dtype)).max)

    def evaluate(x: Any, *, axes: Any) -> Any:
        return np.min(x, axis=axes)


class ReduceAny(Reduce, name="nd.reduce_any"):
    """Whether any element over `axes` is true: i1; false for no elements. No gradient."""

    infer = reduced((i1,))
    combine = "logical_or"
    ufunc = np.logical_or
    vjp = NOT_DIFFERENTIABLE
    simplify = drop_axes_of_one
    samples = reduce_samples((i1,))

    def identity(dtype):
        return False

    def evaluate(x: Any, *, axes: Any) -> Any:
        return np.any(x, axis=axes)


class ReduceAll(Reduce, name="nd.reduce_all"):
    """Whether all elements over `axes` are true: i1; true for no elements. No gradient."""

    infer = reduced((i1,))
    combine = "logical_and"
    ufunc = np.logical_and
    vjp = NOT_DIFFERENTIABLE
    simplify = drop_axes_of_one
    samples = reduce_samples((i1,))

    def identity(dtype):
        return True

    def evaluate(x: Any, *, axes: Any) -> Any:
        return np.all(x, axis=axes)


def _position(numpy_name: str) -> Any:
    """Type rule of argmax and argmin: i64 without the axis, which may not be empty."""

    def infer(x: Any, *, axis: int) -> TensorType:
        expect_dtype(x, (i1, *REALS))
        if not (type(axis) is int and 0 <= axis < x.rank):
            raise TypeRuleError(f"expected axis in [0, {x.rank}), got {axis}")
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        if x.shape[axis] == 0 and 0 not in shape:
            raise TypeRuleError(
                f"attempt to get {numpy_name} of an empty sequence: axis {axis} of {x} has size 0"
            )
        return TensorType(shape, i64)

    return infer


def _position_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape, axis in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((0, 3), 1)):
        yield Sample((uniform(rng, dtype, shape, -4, 4),), {"axis": axis})
    if dtype.is_floating:
        values = np.array([[1, np.inf, np.inf], [np.nan, 5, np.nan], [0.0, -0.0, 0.0]])
        for axis in (0, 1):
            yield Sample((values.astype(to_numpy(dtype)),), {"axis": axis}, smooth=False)
    yield Invalid((tensor(dtype, 3),), {"axis": 1}, "expected axis in [0, 1)")
    yield Invalid((tensor(dtype, 0),), {"axis": 0}, "of an empty sequence")
    yield Invalid((TensorType((2,), i32), tensor(dtype)), {"axis": 0}, "positional argument")


def _comparable(x: Any) -> Any:
    """bfloat16 has no arg reductions of NumPy's: float32 holds the same values."""
    return x if x.dtype.kind != "V" and x.dtype.name != "bfloat16" else x.astype(np.float32)


class ArgMax(ArgReduce, name="nd.argmax"):
    """Index along `axis` of the largest element, i64: of equal ones the first; the first NaN.

    bool, integers and floating. `better`: the comparison by which a later element replaces the best
    so far.
    """

    infer = _position("argmax")
    better = "gt"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_position_samples, (i1, *REALS))

    def evaluate(x: Any, *, axis: int) -> Any:
        return np.argmax(_comparable(x), axis=axis).astype(np.int64)


class ArgMin(ArgReduce, name="nd.argmin"):
    """Index along `axis` of the smallest element, i64: of equal ones the first; the first NaN.

    bool, integers and floating. `better`: the comparison by which a later element replaces the best
    so far.
    """

    infer = _position("argmin")
    better = "lt"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_position_samples, (i1, *REALS))

    def evaluate(x: Any, *, axis: int) -> Any:
        return np.argmin(_comparable(x), axis=axis).astype(np.int64)
