"""Functions written in several operations, for the tracer and for passes: b is any builder.

They are no operations of their own, so that fusion and the chain rule see through them.
"""

from __future__ import annotations

import math
from typing import Any

from gradc.ir.types import ScalarType, TensorType, i64


def spread_axes(b: Any, value: Any, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Any:
    """A value without the axes `axes` of `shape`, repeated along them."""
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    return b.broadcast(value, shape=shape, dims=kept)


def logsumexp(b: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """log(sum(exp(x))) over `axes` (sorted, not empty axes), without overflow. Floating x.

    With m = max(x), constant for the chain rule: log(sum(exp(x - m))) + m. Where all elements are
    -inf the result is -inf and the gradient 0; an inf gives inf (gradient NaN); NaN gives NaN.
    Elsewhere the gradient is the softmax of x.
    """
    top = b.reduce_max(x, axes=axes)
    # exp(x - m) needs a finite m: inf - inf is NaN.
    shift = b.stop_gradient(b.select(b.isfinite(top), top, b.zeros(top.type)))
    total = b.reduce_sum(b.exp(b.sub(x, spread_axes(b, shift, x.type.shape, axes))), axes=axes)
    # The total is at least 1 unless all is -inf: there the maximum keeps log away from 0, and its
    # mask annihilates the gradient, also where x itself has an infinite slope.
    log = b.log(b.maximum(total, b.full(0.5, total.type)))
    nothing = b.select(b.eq(top, -math.inf), b.full(-math.inf, top.type), b.zeros(top.type))
    return b.add(b.add(log, shift), b.stop_gradient(nothing))


def one_hot(b: Any, indices: Any, depth: int, dtype: ScalarType) -> Any:
    """For integer indices of shape S an array S + [depth] of `dtype`: 1 at the index, 0 elsewhere.

    An index outside [0, depth) gives zeros.
    """
    shape = (*indices.type.shape, depth)
    rank = len(shape)
    numbers = b.iota(axis=rank - 1, type=TensorType(shape, i64))
    wanted = b.broadcast(b.convert(indices, dtype=i64), shape=shape, dims=tuple(range(rank - 1)))
    found = TensorType(shape, dtype)
    return b.select(b.eq(numbers, wanted), b.full(1, found), b.full(0, found))


def take_along_axis(b: Any, x: Any, indices: Any, axis: int) -> Any:
    """result[..., i, ...] = x[..., indices[..., i, ...], ...]: x and indices agree on the other
    axes.

    Indices are non-negative integers; the other axes are addressed by their own position.
    """
    shape = indices.type.shape
    places = [
        indices if k == axis else b.iota(axis=k, type=TensorType(shape, i64))
        for k in range(len(shape))
    ]
    return b.gather(x, *places, axes=tuple(range(len(shape))))
