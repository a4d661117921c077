"""Data-dependent addresses: gather, scatter, nonzero; and sizes known at run time.

Indices are integer arrays of one type and shape S, already made non-negative; out of range they
raise IndexError with NumPy's message. Axes that are not indexed follow S in the result, in their
order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Accumulate, Index, Invalid, Sample, Samples
from gradc.ir.ops.sampling import uniform
from gradc.ir.type_rules import expect_axes, expect_dtype, expect_tensor
from gradc.ir.types import (
    ARRAY_DTYPES,
    INTEGERS,
    Dim,
    ScalarType,
    TensorType,
    f64,
    i1,
    i32,
    i64,
    tensor,
)  # fmt: skip


def addressed(x: Any, indices: tuple[Any, ...], axes: Any) -> TensorType:
    """The type of x's elements at `indices` on `axes`: shape S, then the other axes of x."""
    expect_tensor(x, "operand 0")
    expect_axes(axes, x.rank)
    if not axes or len(indices) != len(axes):
        raise TypeRuleError(f"expected one index array for each of axes {axes}, got {len(indices)}")
    first = expect_dtype(indices[0], INTEGERS, "index 0")
    for k, other in enumerate(indices[1:], 1):
        if expect_dtype(other, INTEGERS, f"index {k}").shape != first.shape:
            raise TypeRuleError(
                f"expected indices of one shape, got {first} and {other} (index {k})"
            )
    rest = tuple(n for k, n in enumerate(x.shape) if k not in axes)
    return x.with_shape((*first.shape, *rest))


def _places(x: Any, indices: tuple[Any, ...], axes: Any) -> tuple[Any, ...]:
    """Checked indices for x with its `axes` moved to the front."""
    found = []
    for axis, index in zip(axes, indices, strict=True):
        bad = (index < 0) | (index >= x.shape[axis])
        if np.any(bad):
            raise IndexError(
                f"index {np.asarray(index)[bad].ravel()[0]} is out of bounds for axis {axis} with "
                f"size {x.shape[axis]}"
            )
        found.append(np.asarray(index).astype(np.int64))
    return tuple(found)


def _last_of_each(places: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The writes (numbered in row-major order) after which none goes to the same place.

    NumPy leaves open which of several assignments to a place is the last.
    """
    if not places[0].size:
        return np.zeros(0, np.int64)
    flat = np.asarray(np.ravel_multi_index(places, shape[: len(places)])).ravel()
    _, first = np.unique(flat[::-1], return_index=True)
    return flat.size - 1 - first


def _to_front(x: Any, axes: Any) -> Any:
    return np.moveaxis(x, axes, range(len(axes)))


# (array shape, axes, index shape)
_CASES: tuple[tuple[Any, ...], ...] = (
    ((5,), (0,), (4,)),
    ((5,), (0,), ()),
    ((4, 3), (0,), (2, 2)),
    ((4, 3), (1,), (5,)),
    ((4, 3), (0, 1), (6,)),
    ((2, 3, 4), (0, 2), (3,)),
    ((3, 2), (0,), (0,)),
    ((0, 2), (0,), (0,)),
)


def _draw_indices(rng: np.random.Generator, shape: Any, axes: Any, size: Any) -> Any:
    kind = (np.int64, np.int32, np.uint8)[rng.integers(3)]
    return [rng.integers(0, max(1, shape[a]), size).astype(kind) for a in axes]


def _gather_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape, axes, size in _CASES:
        indices = _draw_indices(rng, shape, axes, size)
        yield Sample((uniform(rng, dtype, shape, -4, 4), *indices), {"axes": axes})
    x, at = tensor(dtype, 3, 4), tensor(i64, 2)
    yield Invalid((x, at), {"axes": (2,)}, "sorted and distinct in [0, 2)")
    yield Invalid((x, at), {"axes": (0, 1)}, "one index array for each")
    yield Invalid((x, tensor(f64, 2)), {"axes": (0,)}, "expected index 0 of dtype")
    yield Invalid((x, at, tensor(i32, 3)), {"axes": (0, 1)}, "indices of one shape")


class Gather(Index, name="nd.gather"):
    """x's elements at integer indices: operands (x, one index array of shape S for each of `axes`).

    Result: S, then x's other axes. dx = g added at the indices, duplicates adding up.
    """

    lowering = "gather"
    finite_slope = True
    linear = True
    samples = Samples(_gather_samples, ARRAY_DTYPES)

    def infer(x: Any, *indices: Any, axes: tuple[int, ...]) -> TensorType:
        return addressed(x, indices, axes)

    def evaluate(x: Any, *indices: Any, axes: Any) -> np.ndarray:
        return np.array(_to_front(x, axes)[_places(x, indices, axes)])

    def vjp(b, op, g):
        _, *indices = op.operands
        axes = op["axes"]

        def add(b: Any, running: Any) -> Any:
            return b.scatter(running, g, *indices, axes=axes, combine="add")

        return [Accumulate(add), *[None] * len(indices)]


def _scatter_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape, axes, size in _CASES:
        rest = tuple(n for k, n in enumerate(shape) if k not in axes)
        for combine in ("set", "add"):
            indices = _draw_indices(rng, shape, axes, size)
            arrays = uniform(rng, dtype, shape, -4, 4), uniform(rng, dtype, (*size, *rest), -4, 4)
            yield Sample((*arrays, *indices), {"axes": axes, "combine": combine})
    x, v, at = tensor(dtype, 3, 4), tensor(dtype, 2, 4), tensor(i64, 2)
    yield Invalid((x, v, at), {"axes": (0,), "combine": "mul"}, "combine to be 'set' or 'add'")
    yield Invalid((x, tensor(dtype, 2, 3), at), {"axes": (0,)}, "expected values of type")
    yield Invalid((x, v, tensor(f64, 2)), {"axes": (0,)}, "expected index 0 of dtype")


class Scatter(Index, name="nd.scatter"):
    """x with v stored at integer indices: operands (x, v, one index array for each of `axes`).

    v has shape S, then x's other axes.
    combine "set": with duplicate indices the last one in row-major order of S wins; dx = g, zero
        where v went, and dv = g at the indices for the last writer of each place, else zero.
    combine "add": all are added (i1: or-ed); dx = g, dv = g at the indices.
    """

    emitter = "scatter"
    branches = True
    finite_slope = True
    linear = True
    samples = Samples(_scatter_samples, ARRAY_DTYPES)

    def infer(
        x: Any, v: Any, *indices: Any, axes: tuple[int, ...], combine: str = "set"
    ) -> TensorType:
        expected = addressed(x, indices, axes)
        if v != expected:
            raise TypeRuleError(f"expected values of type {expected}, got {v}")
        if combine not in ("set", "add"):
            raise TypeRuleError(f"expected combine to be 'set' or 'add', got {combine!r}")
        return x

    def evaluate(x: Any, v: Any, *indices: Any, axes: Any, combine: str = "set") -> np.ndarray:
        found = np.array(x)
        front = _to_front(found, axes)
        places = _places(x, indices, axes)
        if combine == "add":
            np.add.at(front, places, v)
        else:
            last = _last_of_each(places, front.shape)
            values = np.reshape(v, (places[0].size, *front.shape[len(axes) :]))
            front[tuple(p.ravel()[last] for p in places)] = values[last]
        return found

    def vjp(b, op, g):
        _, v, *indices = op.operands
        axes = op["axes"]
        none = [None] * len(indices)
        dv = b.gather(g, *indices, axes=axes)
        if op.attributes.get("combine", "set") == "add":
            return [g, dv, *none]
        nothing = b.zeros(v.type)
        dx = b.scatter(g, nothing, *indices, axes=axes, combine="set")
        last = _last_writer(b, op)
        return [dx, dv if last is None else b.select(last, dv, nothing), *none]


def _last_writer(b: Any, op: Any) -> Any:
    """Where v's elements are the last ones stored at their place: i1 of v's shape, or None: all.

    Found by storing each write's number at its place and reading it back.
    """
    x, v, *indices = op.operands
    axes = op["axes"]
    written = indices[0].type.shape
    if all(n == 1 for n in written):
        return None
    static = all(isinstance(n, int) for n in written)
    if not static and len(written) != 1:
        raise TypeRuleError(f"expected indices of rank 1 or a known shape, got {list(written)}")
    flat = (math.prod(written),) if static else written
    numbers = b.reshape(b.iota(axis=0, type=TensorType(flat, i64)), shape=written)
    board = b.zeros(TensorType(tuple(x.type.shape[a] for a in axes), i64))
    board_axes = tuple(range(len(axes)))
    board = b.scatter(board, numbers, *indices, axes=board_axes, combine="set")
    last = b.eq(b.gather(board, *indices, axes=board_axes), numbers)
    return b.broadcast(last, shape=v.type.shape, dims=tuple(range(len(written))))


def _nonzero_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape in ((5,), (3, 4), (2, 2, 3), (0,)):
        yield Sample((uniform(rng, i1, shape, 0, 1),), {"size": "n0"})
    yield Invalid((tensor(f64, 3),), {"size": "n0"}, "of dtype i1")
    yield Invalid((tensor(i1),), {"size": "n0"}, "rank 1 or more")
    yield Invalid((tensor(i1, 3),), {"size": 3}, "name of a size")


class NonZero(Index, name="nd.nonzero"):
    """The indices of an i1 array's true elements, in row-major order: an i64 vector for each axis.

    Their number is the new symbolic size named `size`.
    """

    never_negative = True
    emitter = "nonzero"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_nonzero_samples, (i1,))

    def infer(mask: Any, *, size: str) -> tuple[TensorType, ...]:
        expect_dtype(mask, (i1,))
        if mask.rank == 0:
            raise TypeRuleError("expected a mask of rank 1 or more, got rank 0")
        if not (isinstance(size, str) and size):
            raise TypeRuleError(f"expected `size` to be the name of a size, got {size!r}")
        return (TensorType((Dim(size),), i64),) * mask.rank

    def capacity(op: Any) -> dict[str, int]:
        """Upper bounds of the sizes that are born here."""
        return {op["size"]: op.operands[0].type.size}

    def evaluate(mask: Any, *, size: str) -> tuple[np.ndarray, ...]:
        return tuple(k.astype(np.int64) for k in np.nonzero(mask))


def _size_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape, axis in (((5,), 0), ((3, 0), 1)):
        yield Sample((uniform(rng, dtype, shape, -1, 1),), {"axis": axis})
    yield Invalid((tensor(dtype, 3),), {"axis": 1}, "expected axis in [0, 1)")


class SizeOf(Index, name="nd.size"):
    """The size of x on `axis`, a rank-0 i64 array: for sizes known at run time only."""

    emitter = "size"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_size_samples, ARRAY_DTYPES)

    def infer(x: Any, *, axis: int) -> TensorType:
        expect_tensor(x)
        if not (type(axis) is int and 0 <= axis < x.rank):
            raise TypeRuleError(f"expected axis in [0, {x.rank}), got {axis}")
        return TensorType((), i64)

    def evaluate(x: Any, *, axis: int) -> np.ndarray:
        return np.asarray(x.shape[axis], np.int64)

    def simplify(b, op):
        size = op.operands[0].type.shape[op["axis"]]
        return [b.full(size, op.result.type)] if isinstance(size, int) else None
