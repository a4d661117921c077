"""Random chains of linear operations on arrays: slices, pads, gathers, stores, sums, scans.

Such a program is a matrix. Its rows come from running it on unit vectors, and the gradient for a
cotangent g must be that matrix transposed times g: exactly, since all numbers are small integers.
The same holds after canonicalize.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import gradc.ir.ops  # noqa: F401  (fills the registry)
from gradc.ir.builder import Builder
from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType, f64, i64, tensor
from gradc.ir.verify import verify
from gradc.passes.backward import differentiate
from gradc.passes.canonicalize import canonicalize

MOST = 60  # elements of an intermediate array
Draw = Callable[[st.SearchStrategy[Any]], Any]


def read_only(array: Any) -> np.ndarray:
    array = np.asarray(array)
    array.flags.writeable = False
    return array


class Chain:
    """Adds one drawn operation after another; `values` are the arrays made so far."""

    def __init__(self, b: Builder, draw: Draw, x: Any) -> None:
        self.b, self.draw, self.values = b, draw, [x]

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def pick(self) -> Any:
        return self.values[self.integer(0, len(self.values) - 1)]

    def constant(self, array: Any) -> Any:
        array = read_only(array)
        dtype = f64 if array.dtype.kind == "f" else i64
        return self.b.constant(value=array, type=TensorType(array.shape, dtype))

    def numbers(self, shape: tuple[int, ...], high: int) -> np.ndarray:
        count = math.prod(shape)
        drawn = self.draw(st.lists(st.integers(0, high), min_size=count, max_size=count))
        return np.array(drawn, np.int64).reshape(shape)

    def region(self, shape: tuple[int, ...], within: tuple[int, ...] | None = None) -> Any:
        """starts, sizes, steps of a sub-array of `shape`; of sizes `within` where given."""
        starts, sizes, steps = [], [], []
        for axis, n in enumerate(shape):
            size = self.integer(0, n) if within is None else within[axis]
            largest = max(1, (n - 1) // (size - 1)) if size > 1 else 3
            step = self.integer(1, largest)
            start = self.integer(0, max(0, n - 1 - step * (max(size, 1) - 1)))
            if size and self.draw(st.booleans()):
                start, step = start + step * (size - 1), -step
            starts.append(start)
            sizes.append(size)
            steps.append(step)
        return tuple(starts), tuple(sizes), tuple(steps)

    def grow(self) -> None:
        step = self.draw(st.sampled_from(STEPS))
        found = step(self, self.pick())
        if found is not None and math.prod(found.type.shape) <= MOST:
            self.values.append(found)


def take(c: Chain, x: Any) -> Any:
    starts, sizes, steps = c.region(x.type.shape)
    return c.b.slice(x, starts=starts, sizes=sizes, steps=steps)


def take_from_data(c: Chain, x: Any) -> Any:
    starts, sizes, steps = c.region(x.type.shape)
    if 0 in sizes:
        return None
    dynamic = [c.constant(np.int64(s)) for s in starts]
    none = (None,) * len(starts)
    return c.b.slice(x, *dynamic, starts=none, sizes=sizes, steps=steps)


def store(c: Chain, x: Any) -> Any:
    starts, sizes, steps = c.region(x.type.shape)
    others = [v for v in c.values if v.type.rank == x.type.rank]
    fitting = [v for v in others if all(a <= n for a, n in zip(v.type.shape, x.type.shape))]
    if c.draw(st.booleans()) and fitting:
        v = fitting[c.integer(0, len(fitting) - 1)]
        starts, _, steps = c.region(x.type.shape, v.type.shape)
    else:
        v = c.b.slice(c.b.add(x, x), starts=starts, sizes=sizes, steps=steps)
    build = c.b.update_slice if c.draw(st.booleans()) else c.b.accumulate_slice
    return build(x, v, starts=starts, steps=steps)


def pad(c: Chain, x: Any) -> Any:
    low = tuple(c.integer(0, 2) for _ in x.type.shape)
    high = tuple(c.integer(0, 2) for _ in x.type.shape)
    fill = c.b.zeros(TensorType((), f64))
    if c.draw(st.booleans()):
        fill = c.b.reduce_sum(x, axes=tuple(range(x.type.rank)))
    return c.b.pad(x, fill, low=low, high=high)


def concatenate(c: Chain, x: Any) -> Any:
    if not x.type.rank:
        return None
    axis = c.integer(0, x.type.rank - 1)
    rest = [n for k, n in enumerate(x.type.shape) if k != axis]
    fitting = [
        v
        for v in c.values
        if v.type.rank == x.type.rank
        and [n for k, n in enumerate(v.type.shape) if k != axis] == rest
    ]
    return c.b.concatenate(x, fitting[c.integer(0, len(fitting) - 1)], axis=axis)


def addressed(c: Chain, x: Any) -> Any:
    """(axes, index arrays) for a gather or scatter on x, or None."""
    axes = tuple(k for k, n in enumerate(x.type.shape) if n and c.draw(st.booleans()))
    if not axes:
        return None
    shape = c.draw(st.sampled_from([(), (3,), (2, 2), (0,)]))
    return axes, [c.constant(c.numbers(shape, x.type.shape[a] - 1)) for a in axes]


def gather(c: Chain, x: Any) -> Any:
    place = addressed(c, x)
    return None if place is None else c.b.gather(x, *place[1], axes=place[0])


def scatter(c: Chain, x: Any) -> Any:
    place = addressed(c, x)
    if place is None:
        return None
    axes, indices = place
    v = c.b.gather(c.b.add(x, x), *indices, axes=axes)
    combine = c.draw(st.sampled_from(["set", "add"]))
    places = [c.constant(c.numbers(i.type.shape, x.type.shape[a] - 1)) for a, i in zip(*place)]
    return c.b.scatter(x, v, *places, axes=axes, combine=combine)


def reduce_sum(c: Chain, x: Any) -> Any:
    axes = tuple(k for k in range(x.type.rank) if c.draw(st.booleans()))
    return c.b.reduce_sum(x, axes=axes)


def cumsum(c: Chain, x: Any) -> Any:
    if not x.type.rank:
        return None
    flags = {"reverse": c.draw(st.booleans()), "exclusive": c.draw(st.booleans())}
    return c.b.cumsum(x, axis=c.integer(0, x.type.rank - 1), **flags)


def transpose(c: Chain, x: Any) -> Any:
    return c.b.transpose(x, perm=tuple(c.draw(st.permutations(range(x.type.rank)))))


def broadcast(c: Chain, x: Any) -> Any:
    at, n = c.integer(0, x.type.rank), c.integer(0, 3)
    shape = (*x.type.shape[:at], n, *x.type.shape[at:])
    return c.b.broadcast(x, shape=shape, dims=tuple(k for k in range(len(shape)) if k != at))


def reshape(c: Chain, x: Any) -> Any:
    total = math.prod(x.type.shape)
    first = c.draw(st.sampled_from([n for n in range(1, total + 1) if total % n == 0] or [1]))
    return c.b.reshape(x, shape=(first, total // first))


def add(c: Chain, x: Any) -> Any:
    fitting = [v for v in c.values if v.type == x.type]
    return c.b.add(x, fitting[c.integer(0, len(fitting) - 1)])


STEPS = (
    take, take_from_data, store, pad, concatenate, gather, scatter, reduce_sum, cumsum, transpose,
    broadcast, reshape, add,
)  # fmt: skip


@settings(max_examples=150)
@given(st.data())
def test_gradient_is_the_transposed_matrix(data: Any) -> None:
    shape = data.draw(st.sampled_from([(5,), (3, 4), (2, 3, 2), (1, 4), ()]))
    function = FuncOp.build("f", [tensor(f64, *shape)])
    chain = Chain(Builder(function.body), data.draw, function.args[0])
    for _ in range(data.draw(st.integers(2, 8))):
        chain.grow()
    function.finish([chain.values[-1]])
    verify(function)
    backward = differentiate(function, (0,), name="g", keep_values=False, cotangents="arguments")
    verify(backward)

    size = math.prod(shape)
    rows = [run_function(function, [e.reshape(shape)])[0].ravel() for e in np.eye(size)]
    result = function.returned[0].type.shape
    g = np.arange(1.0, 1 + math.prod(result)).reshape(result)
    expected = (np.array(rows) @ g.ravel()).reshape(shape)
    x = np.zeros(shape)
    np.testing.assert_array_equal(run_function(backward, [x, g])[0], expected)

    canonicalize(function)
    canonicalize(backward)
    verify(function)
    verify(backward)
    for e, row in zip(np.eye(size), rows, strict=True):
        again = run_function(function, [e.reshape(shape)])[0]
        np.testing.assert_array_equal(again.ravel(), row)
    np.testing.assert_array_equal(run_function(backward, [x, g])[0], expected)
