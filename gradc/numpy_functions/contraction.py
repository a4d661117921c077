"""matmul, dot and their kin, on nd.dot_general."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_shapes,
    broadcast_to,
    convert,
    resolve,
    result_type,
    size_equal,
    strong,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer
from gradc.ir.types import i1, i64
from gradc.numpy_functions.axes import drop_axes, keep_axes, normal_axis
from gradc.numpy_functions.reductions import refuse_out
from gradc.numpy_functions.shaping import flattened

Axes = tuple[int, ...]


def contract(
    x: Tracer, y: Tracer, xs: Axes, ys: Axes, batch: tuple[Axes, Axes] = ((), ())
) -> Tracer:
    """nd.dot_general; of bools "and" joined by "or", as NumPy's."""
    if not x.element.is_bool:
        return apply("dot_general", x, y, contract=(tuple(xs), tuple(ys)), batch=batch)
    counted = contract(convert(x, i64), convert(y, i64), xs, ys, batch)
    return convert(counted, i1)


def _pair(a: Any, b: Any) -> tuple[Tracer, Tracer]:
    """Two operands as tracers of their promoted dtype; numbers count as arrays here."""
    a, b = as_tracer(a), as_tracer(b)
    dtype = result_type(a, b)
    return typed(a, dtype), typed(b, dtype)


def _mismatch(name: str, x: Tracer, y: Tracer, i: int, j: int) -> ValueError:
    return ValueError(
        f"{name}: shapes {x.shape} and {y.shape} not aligned: {x.shape[i]} (dim "
        f"{i % max(x.ndim, 1)}) != {y.shape[j]} (dim {j % max(y.ndim, 1)})"
    )


@implements(np.matmul)
def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    **options: Any,
) -> Tracer:
    """Matrix product over the last two axes, batched and broadcast over the others; 1-D operands
    are a row on the left and a column on the right."""
    refuse_out(out, "matmul")
    if axes is not None or axis is not None or keepdims:
        raise TracingError("np.matmul with axes= has no rule: move the axes with np.moveaxis")
    a, b = as_tracer(x1), as_tracer(x2)
    for k, x in enumerate((a, b)):
        if not x.ndim:
            raise ValueError(
                f"matmul: Input operand {k} does not have enough dimensions (has 0, gufunc core "
                "with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    signature = None if dtype is None else (None, None, np.dtype(dtype))
    left, right, _ = resolve(np.matmul, (a.dtype, b.dtype), signature, casting)
    a, b = typed(a, left), typed(b, right)
    row, column = a.ndim == 1, b.ndim == 1
    at = 0 if column else b.ndim - 2
    if not size_equal(a.shape[-1], b.shape[at]):
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {b.shape[at]} is different from {a.shape[-1]})"
        )
    return _batched(a, b, a.ndim - 1, at, 1 if row else 2, 1 if column else 2)


def _batched(a: Tracer, b: Tracer, i: int, j: int, core_a: int, core_b: int) -> Tracer:
    """Contract axis i of a with axis j of b; the axes before the last core_a, core_b are batch
    axes."""
    lead_a, lead_b = a.shape[: a.ndim - core_a], b.shape[: b.ndim - core_b]
    if not lead_a and not lead_b:
        return contract(a, b, (i,), (j,))
    if not lead_b:
        # One matrix for the whole batch: a single large product.
        return contract(a, b, (i,), (j,))
    lead = broadcast_shapes(lead_a, lead_b)
    if not lead_a:
        # The batch axes of b come after a's free axis: move them to the front.
        found = contract(a, b, (i,), (j,))
        free_a, free_b = core_a - 1, len(lead_b)
        perm = (
            *range(free_a, free_a + free_b),
            *range(free_a),
            *range(free_a + free_b, found.ndim),
        )
        return apply("transpose", found, perm=perm) if free_a else found
    shift_a, shift_b = len(lead) - len(lead_a), len(lead) - len(lead_b)
    a = broadcast_to(a, (*lead, *a.shape[len(lead_a) :]))
    b = broadcast_to(b, (*lead, *b.shape[len(lead_b) :]))
    batch = tuple(range(len(lead)))
    return contract(a, b, (i + shift_a,), (j + shift_b,), (batch, batch))


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Tracer:
    """Sum over the last axis of a and the last but one of b (its only one if 1-D)."""
    refuse_out(out, "dot")
    x, y = _pair(a, b)
    if not x.ndim or not y.ndim:
        return TABLE[np.multiply](x, y)
    j = max(y.ndim - 2, 0)
    if not size_equal(x.shape[-1], y.shape[j]):
        raise _mismatch("dot", x, y, x.ndim - 1, j)
    return contract(x, y, (x.ndim - 1,), (j,))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Tracer:
    """Sum over the last axes of both."""
    x, y = _pair(a, b)
    if not x.ndim or not y.ndim:
        return TABLE[np.multiply](x, y)
    if not size_equal(x.shape[-1], y.shape[-1]):
        raise _mismatch("inner", x, y, x.ndim - 1, y.ndim - 1)
    return contract(x, y, (x.ndim - 1,), (y.ndim - 1,))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Tracer:
    """Dot product of the flattened operands, the first conjugated."""
    x, y = _pair(a, b)
    x, y = flattened(x), flattened(y)
    if x.shape != y.shape:
        raise ValueError(f"vdot: cannot match {x.shape[0]} elements with {y.shape[0]}")
    return contract(TABLE[np.conjugate](x), y, (0,), (0,))


@implements(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Tracer:
    """Products of all pairs of elements."""
    refuse_out(out, "outer")
    x, y = (flattened(t) for t in _pair(a, b))
    return TABLE[np.multiply](keep_axes(x, (1,)), keep_axes(y, (0,)))


@implements(np.kron)
def kron(a: Any, b: Any) -> Tracer:
    """Kronecker product."""
    x, y = _pair(a, b)
    rank = max(x.ndim, y.ndim)
    x = keep_axes(x, tuple(range(rank - x.ndim)))
    y = keep_axes(y, tuple(range(rank - y.ndim)))
    shape = tuple(m * n for m, n in zip(x.static_shape("np.kron"), y.static_shape("np.kron")))
    spread = TABLE[np.multiply](
        keep_axes(x, tuple(range(1, 2 * rank, 2))), keep_axes(y, tuple(range(0, 2 * rank, 2)))
    )
    return apply("reshape", spread, shape=shape)


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    """Sum over given axes of both; an int n is a's last n with b's first n."""
    x, y = _pair(a, b)
    if isinstance(axes, tuple | list):
        first, second = axes
        xs = list(first) if isinstance(first, tuple | list) else [first]
        ys = list(second) if isinstance(second, tuple | list) else [second]
    else:
        count = operator.index(axes)
        if count > min(x.ndim, y.ndim):
            raise ValueError("shape-mismatch for sum")
        xs, ys = list(range(x.ndim - count, x.ndim)), list(range(count))
    if len(xs) != len(ys):
        raise ValueError("shape-mismatch for sum")
    left = tuple(normal_axis(k, x.ndim) for k in xs)
    right = tuple(normal_axis(k, y.ndim) for k in ys)
    if any(not size_equal(x.shape[i], y.shape[j]) for i, j in zip(left, right)):
        raise ValueError(
            f"shape-mismatch for sum: axes {left} of {x.shape} against axes {right} of {y.shape}"
        )
    found = contract(x, y, left, right)
    found.is_scalar = False  # a full contraction gives a 0-d array in NumPy too
    return found


def _vector_product(x1: Any, x2: Any, axis: int, name: str) -> Tracer:
    """Dot product along one axis, the others broadcast; the first operand conjugated."""
    x, y = _pair(x1, x2)
    x = TABLE[np.moveaxis](x, axis, -1)
    y = TABLE[np.moveaxis](y, axis, -1)
    if not size_equal(x.shape[-1], y.shape[-1]):
        raise _mismatch(name, x, y, x.ndim - 1, y.ndim - 1)
    x = TABLE[np.conjugate](x)
    return (
        _batched(x, y, x.ndim - 1, y.ndim - 1, 1, 1)
        if x.ndim > 1 and y.ndim > 1
        else contract(x, y, (x.ndim - 1,), (y.ndim - 1,))
    )


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, out: Any = None, *, axis: int = -1, **options: Any) -> Tracer:
    """Dot products of vectors along `axis`, broadcast over the others; x1 is conjugated."""
    refuse_out(out, "vecdot")
    return _vector_product(x1, x2, axis, "vecdot")


def matvec(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Tracer:
    """Matrix times vector, broadcast over leading axes."""
    refuse_out(out, "matvec")
    y = as_tracer(x2)
    return drop_axes(matmul(x1, keep_axes(y, (y.ndim,))), (_broadcast_rank(x1, y) - 1,))


def _broadcast_rank(matrix: Any, vector: Tracer) -> int:
    return max(as_tracer(matrix).ndim, vector.ndim + 1)


def vecmat(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Tracer:
    """Conjugated row vector times matrix, broadcast over leading axes."""
    refuse_out(out, "vecmat")
    x = TABLE[np.conjugate](as_tracer(x1))
    rank = _broadcast_rank(x2, x)
    return drop_axes(matmul(keep_axes(x, (x.ndim - 1,)), x2), (rank - 2,))


if hasattr(np, "matvec"):  # NumPy 2.2
    implements(np.matvec)(matvec)
    implements(np.vecmat)(vecmat)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Tracer:
    """Product of several matrices, in the order of least cost."""
    refuse_out(out, "linalg.multi_dot")
    matrices = [as_tracer(x) for x in arrays]
    if len(matrices) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if first:
        matrices[0] = keep_axes(matrices[0], (0,))
    if last:
        matrices[-1] = keep_axes(matrices[-1], (1,))
    sizes = [m.static_shape("np.linalg.multi_dot")[0] for m in matrices] + [matrices[-1].shape[1]]
    found = _chain(matrices, _split_points(sizes), 0, len(matrices) - 1)
    return drop_axes(found, tuple(k for k, drop in enumerate((first, last)) if drop))


def _split_points(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors (the matrix-chain dynamic program)."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], float] = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best = math.inf
            for k in range(i, j):
                work = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if work < best:
                    best, split[i, j] = work, k
            cost[i, j] = best
    return split


def _chain(matrices: list[Tracer], split: dict[tuple[int, int], int], i: int, j: int) -> Tracer:
    if i == j:
        return matrices[i]
    k = split[i, j]
    return matmul(_chain(matrices, split, i, k), _chain(matrices, split, k + 1, j))


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Tracer:
    """A square matrix to a non-negative integer power, by squaring."""
    x = as_tracer(a)
    exponent = operator.index(n)
    if exponent < 0:
        raise TracingError(
            "np.linalg.matrix_power with a negative power needs the inverse, which has no rule"
        )
    if exponent == 0:
        return TABLE[np.eye](x.shape[-1], dtype=x.dtype) + TABLE[np.zeros_like](x)
    found: Any = None
    while exponent:
        if exponent % 2:
            found = x if found is None else matmul(found, x)
        exponent //= 2
        x = matmul(x, x) if exponent else x
    return strong(found)
