"""Regular sub-arrays: slice (read), update_slice (store), accumulate_slice (add into).

A sub-array of shape `sizes` has element i at start + step * i on each axis. `starts` holds ints, or
None where the start is the next of the trailing rank-0 integer operands; steps are non-zero ints.
Static starts are checked by the type rule; starts from data when the operation runs: a sub-array
that does not lie in the array is an IndexError. Negative starts are the caller's to resolve. An
axis whose size is known at run time only can be taken whole, no less.

x is the array, v the sub-array's values, g the cotangent of the result.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.core import defined_by
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Accumulate, Index, Invalid, Piece, Sample, Samples, Shape
from gradc.ir.ops.sampling import uniform
from gradc.ir.ops.shape import expect_shape
from gradc.ir.type_rules import expect_dtype, expect_tensor
from gradc.ir.types import ARRAY_DTYPES, INTEGERS, Dim, ScalarType, TensorType, f64, i64, tensor


def expect_region(
    x: TensorType, dynamic: tuple[Any, ...], starts: Any, sizes: Any, steps: Any
) -> None:
    """Check a sub-array's attributes; where all is static also that it lies in x."""
    expect_shape(sizes, "sizes")
    for what, found in (("starts", starts), ("sizes", sizes), ("steps", steps)):
        if not isinstance(found, tuple) or len(found) != x.rank:
            raise TypeRuleError(f"expected {x.rank} {what} for {x}, got {found}")
    if not all(type(step) is int and step for step in steps):
        raise TypeRuleError(f"expected steps to be ints other than 0, got {steps}")
    wanted = sum(start is None for start in starts)
    if len(dynamic) != wanted:
        raise TypeRuleError(
            f"expected {wanted} start operands (None in starts), got {len(dynamic)}"
        )
    for t in dynamic:
        if expect_dtype(t, INTEGERS, "a start").rank:
            raise TypeRuleError(f"expected each start to have rank 0, got {t}")
    for axis, (start, size, step, n) in enumerate(zip(starts, sizes, steps, x.shape, strict=True)):
        if Dim in (type(size), type(n)):
            if (start, size, step) != (0, n, 1):
                raise TypeRuleError(
                    f"expected axis {axis} of {x} to be taken whole (start 0, size {n}, step 1), "
                    f"as sizes are known at run time only, got {size} from {start} by {step}"
                )
            continue
        if start is None or size == 0:
            continue
        last = start + step * (size - 1)
        if not (type(start) is int and 0 <= min(start, last) and max(start, last) < n):
            raise TypeRuleError(
                f"expected indices in [0, {n}) on axis {axis} of {x}, got {size} from {start} by "
                f"{step}"
            )


def region(x: Any, dynamic: Any, starts: Any, sizes: Any, steps: Any) -> tuple[slice, ...]:
    """The Python slices of a sub-array; IndexError where it does not lie in x."""
    rest = iter(dynamic)
    found = []
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        first = int(next(rest)) if start is None else start
        last = first + step * (size - 1)
        for at in (first, last) if size else ():
            if not 0 <= at < x.shape[axis]:
                raise IndexError(
                    f"index {at} is out of bounds for axis {axis} with size {x.shape[axis]}"
                )
        end = first + step * size
        found.append(slice(first, end if end >= 0 else None, step) if size else slice(0, 0))
    return tuple(found)


def region_map(starts: Any, steps: Any) -> AffineMap:
    """From an index of the sub-array to one of the array; the symbols are the dynamic starts."""
    rank, symbols = len(starts), sum(start is None for start in starts)
    exprs = []
    symbol = rank
    for axis, (start, step) in enumerate(zip(starts, steps, strict=True)):
        expr = AffineExpr.dim(axis, rank + symbols) * step
        if start is None:
            expr = expr + AffineExpr.dim(symbol, rank + symbols)
            symbol += 1
        else:
            expr = expr + start
        exprs.append(expr)
    return AffineMap(rank, symbols, tuple(exprs))


def _is_block(op_starts: Any, steps: Any) -> bool:
    """A box at a fixed place, possibly reversed: what a pad can fill."""
    return None not in op_starts and all(step in (1, -1) for step in steps)


def _unslice(b: Any, op: Any, g: Any, fill: Any) -> Any:
    """g at its place in an array of x's shape, `fill` (rank 0) elsewhere; for a block."""
    shape = op.operands[0].type.shape
    starts, sizes, steps = op["starts"], op["sizes"], op["steps"]
    first = tuple(
        start if step > 0 else start - (size - 1)
        for start, size, step in zip(starts, sizes, steps, strict=True)
    )
    if any(step < 0 for step in steps):
        ends = tuple(0 if step > 0 else size - 1 for size, step in zip(sizes, steps, strict=True))
        g = b.slice(g, starts=ends, sizes=sizes, steps=steps)
    rest = tuple(
        n - size - at if isinstance(n, int) else 0
        for n, size, at in zip(shape, sizes, first, strict=True)
    )
    return b.pad(g, fill, low=first, high=rest)


class Slice(Shape, name="nd.slice"):
    """The sub-array of x: operands (x, dynamic starts...); shape `sizes`. dx = g added at its
    place.
    """

    def infer(x: Any, *dynamic: Any, starts: Any, sizes: Any, steps: Any) -> TensorType:
        expect_tensor(x, "operand 0")
        expect_region(x, dynamic, starts, sizes, steps)
        return x.with_shape(sizes)

    def evaluate(x: Any, *dynamic: Any, starts: Any, sizes: Any, steps: Any) -> np.ndarray:
        return x[region(x, dynamic, starts, sizes, steps)].copy()

    def vjp(b, op, g):
        x, *dynamic = op.operands
        none = [None] * len(dynamic)
        starts, sizes, steps = op["starts"], op["sizes"], op["steps"]
        if _is_block(starts, steps) and _is_large(x.type.shape, sizes):
            return [_unslice(b, op, g, b.zeros(TensorType((), x.type.dtype))), *none]

        def add(b: Any, running: Any) -> Any:
            return b.accumulate_slice(running, g, *dynamic, starts=starts, steps=steps)

        return [Accumulate(add), *none]

    @staticmethod
    def checked(op: Any) -> tuple[int, ...]:
        return tuple(k for k, start in enumerate(op["starts"]) if start is None)

    def pieces(op):
        sizes = op["sizes"]
        return [Piece(0, (0,) * len(sizes), sizes, region_map(op["starts"], op["steps"]))]

    def simplify(b, op):
        x, *dynamic = op.operands
        starts, sizes, steps = op["starts"], op["sizes"], op["steps"]
        if dynamic:
            return None  # an operand out of range must stay an error
        if x.type.shape == sizes and all(n == 1 or step == 1 for n, step in zip(sizes, steps)):
            return [x]
        if inner := defined_by(x, "nd.slice"):
            if None in inner["starts"]:
                return None
            pairs = list(zip(inner["starts"], inner["steps"], starts, steps, strict=True))
            composed = tuple(first + step * start for first, step, start, _ in pairs)
            return [
                b.slice(
                    inner.operands[0],
                    starts=composed,
                    sizes=sizes,
                    steps=tuple(outer * step for _, outer, _, step in pairs),
                )
            ]
        if inner := defined_by(x, "nd.broadcast"):
            dims = inner["dims"]
            narrowed = b.slice(
                inner.operands[0],
                starts=tuple(starts[d] for d in dims),
                sizes=tuple(sizes[d] for d in dims),
                steps=tuple(steps[d] for d in dims),
            )
            return [b.broadcast(narrowed, shape=sizes, dims=dims)]
        return None

    def _samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape, starts, sizes, steps, *dynamic in CASES:
            attributes = {"starts": starts, "sizes": sizes, "steps": steps}
            yield Sample((uniform(rng, dtype, shape, -4, 4), *map(np.int64, dynamic)), attributes)
        bad = [
            ((1,), (5,), (1,), "expected indices in [0, 5) on axis 0"),
            ((0,), (3,), (0,), "steps to be ints other than 0"),
            ((0, 0), (3,), (1,), "expected 1 starts"),
            ((None,), (3,), (1,), "expected 1 start operands"),
        ]
        for starts, sizes, steps, message in bad:
            attributes = {"starts": starts, "sizes": sizes, "steps": steps}
            yield Invalid((tensor(dtype, 5),), attributes, message)

    samples = Samples(_samples, ARRAY_DTYPES)


def _is_large(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> bool:
    """Whether a cotangent is cheaper as a padded array, which fuses, than added in place: it covers
    a
    quarter of the array or more."""
    static = [isinstance(n, int) for n in (*shape, *sizes)]
    if not all(static):
        return shape == sizes
    return 4 * math.prod(sizes) >= math.prod(shape)


# (array shape, starts, sizes, steps, dynamic starts...)
CASES: tuple[tuple[Any, ...], ...] = (
    ((5,), (1,), (3,), (1,)),
    ((5,), (4,), (5,), (-1,)),
    ((7,), (1,), (3,), (2,)),
    ((7,), (6,), (3,), (-3,)),
    ((3, 4), (0, 1), (3, 2), (1, 1)),
    ((3, 4), (2, 3), (2, 2), (-1, -2)),
    ((9, 2), (3, 0), (1, 2), (1, 1)),
    ((5,), (2,), (0,), (1,)),
    ((0, 3), (0, 1), (0, 2), (1, 1)),
    ((), (), (), ()),
    ((6,), (None,), (2,), (1,), 3),
    ((4, 5), (None, 1), (1, 3), (1, 1), 2),
    ((4, 5), (None, None), (2, 2), (-1, 2), 3, 0),
)


def _store_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape, starts, sizes, steps, *dynamic in CASES:
        arrays = uniform(rng, dtype, shape, -4, 4), uniform(rng, dtype, sizes, -4, 4)
        yield Sample((*arrays, *map(np.int64, dynamic)), {"starts": starts, "steps": steps})
    one = {"starts": (0,), "steps": (1,)}
    yield Invalid((tensor(dtype, 3), tensor(dtype, 4)), one, "expected indices in [0, 3) on axis 0")
    other = i64 if dtype is f64 else f64
    yield Invalid((tensor(dtype, 3), tensor(other, 2)), one, "of dtype")
    yield Invalid((tensor(dtype, 3), tensor(dtype)), one, "expected 1 sizes")


class _Store(Index):
    """What update_slice and accumulate_slice share: operands (x, v, dynamic starts...).

    `adds`: v is added to what is there, not put in its place. `source_map(op)` gives the index in v
    of an element of the result, for unit steps; None for others.
    """

    lowering = "store"
    adds = False
    finite_slope = True
    linear = True

    @staticmethod
    def source_map(op: Any) -> AffineMap | None:
        starts, steps = op["starts"], op["steps"]
        if any(step not in (1, -1) for step in steps):
            return None
        rank, symbols = len(starts), sum(start is None for start in starts)
        exprs = []
        symbol = rank
        for axis, (start, step) in enumerate(zip(starts, steps, strict=True)):
            expr = AffineExpr.dim(axis, rank + symbols)
            if start is None:
                expr = expr + AffineExpr.dim(symbol, rank + symbols) * -1
                symbol += 1
            else:
                expr = expr + -start
            exprs.append(expr * step)
        return AffineMap(rank, symbols, tuple(exprs))

    def infer(x: Any, v: Any, *dynamic: Any, starts: Any, steps: Any) -> TensorType:
        expect_tensor(x, "operand 0")
        expect_dtype(v, (x.dtype,), "operand 1")
        expect_region(x, dynamic, starts, v.shape, steps)
        return x

    samples = Samples(_store_samples, ARRAY_DTYPES)


def _covers(op: Any) -> bool:
    """Whether v overwrites all of x, element for element."""
    x, v, *dynamic = op.operands
    ordered = all(n == 1 or step == 1 for n, step in zip(v.type.shape, op["steps"], strict=True))
    return x.type == v.type and not dynamic and ordered


class UpdateSlice(_Store, name="nd.update_slice"):
    """x with the sub-array of v's shape replaced by v. dx = g, zero where v went; dv = g's sub-
    array.
    """

    branches = True

    def evaluate(x: Any, v: Any, *dynamic: Any, starts: Any, steps: Any) -> np.ndarray:
        found = np.array(x)
        found[region(x, dynamic, starts, v.shape, steps)] = v
        return found

    def vjp(b, op, g):
        _, v, *dynamic = op.operands
        place = {"starts": op["starts"], "steps": op["steps"]}
        nothing = b.zeros(v.type)
        dx = b.update_slice(g, nothing, *dynamic, **place)
        dv = b.slice(g, *dynamic, sizes=v.type.shape, **place)
        return [dx, dv, *[None] * len(dynamic)]

    def simplify(b, op):
        x, v = op.operands[:2]
        if _covers(op):
            return [v]
        return [x] if 0 in v.type.shape else None


class AccumulateSlice(_Store, name="nd.accumulate_slice"):
    """x with v added to its sub-array (i1: or-ed). dx = g; dv = g's sub-array."""

    adds = True

    def evaluate(x: Any, v: Any, *dynamic: Any, starts: Any, steps: Any) -> np.ndarray:
        found = np.array(x)
        found[region(x, dynamic, starts, v.shape, steps)] += v
        return found

    def vjp(b, op, g):
        _, v, *dynamic = op.operands
        place = {"starts": op["starts"], "steps": op["steps"]}
        dv = b.slice(g, *dynamic, sizes=v.type.shape, **place)
        return [g, dv, *[None] * len(dynamic)]

    def simplify(b, op):
        x, v = op.operands[:2]
        if _covers(op):
            return [b.logical_or(x, v) if x.type.dtype.is_bool else b.add(x, v)]
        return [x] if 0 in v.type.shape else None
