"""Vector and matrix norms. The 2-norm of a zero vector has gradient 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import as_tracer, inexact
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.numpy_functions.axes import normal_axes, normal_axis
from gradc.numpy_functions.reductions import finish, max_, min_, sum_
from gradc.numpy_functions.shaping import flattened

_SPECTRAL = (
    "needs singular values, which have no rule for traced arrays: use the Frobenius norm "
    "(ord='fro'), or compute it outside"
)


def squared_modulus(x: Tracer) -> Tracer:
    """|x|^2, real."""
    if x.element.is_complex:
        parts = apply("square", apply("real", x)), apply("square", apply("imag", x))
        return apply("add", *parts)
    return apply("square", x)


def safe_sqrt(x: Tracer) -> Tracer:
    """sqrt(x) with slope 0 at 0, where sqrt's own is infinite."""
    zero = apply("eq", x, filled(0, x.shape, x.element))
    root = apply("sqrt", apply("select", zero, filled(1, x.shape, x.element), x))
    return apply("select", zero, filled(0, x.shape, x.element), root)


def _two(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    return safe_sqrt(sum_(squared_modulus(x), axes))


def _vector(x: Tracer, order: Any, axis: int) -> Tracer:
    if order is None or order == 2:
        return _two(x, (axis,))
    modulus = apply("abs", x)
    if order == math.inf:
        return max_(modulus, axis)
    if order == -math.inf:
        return min_(modulus, axis)
    if order == 0:
        nonzero = apply("ne", modulus, filled(0, x.shape, modulus.element))
        return sum_(nonzero, axis, dtype=modulus.dtype)
    if order == 1:
        return sum_(modulus, axis)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order {order!r} for vectors")
    powers = TABLE[np.power](modulus, order)
    return TABLE[np.power](sum_(powers, axis), 1 / order)


def _matrix(x: Tracer, order: Any, rows: int, columns: int) -> Tracer:
    if rows == columns:
        raise ValueError("Duplicate axes given.")
    if order in (None, "fro", "f"):
        return _two(x, tuple(sorted((rows, columns))))
    if order in (2, -2, "nuc"):
        raise TracingError(f"np.linalg.norm of a matrix with ord={order!r} {_SPECTRAL}")
    by = {1: (rows, columns, max_), -1: (rows, columns, min_),
          math.inf: (columns, rows, max_), -math.inf: (columns, rows, min_)}.get(order)  # fmt: skip
    if by is None:
        raise ValueError("Invalid norm order for matrices.")
    summed, extreme, reduction = by
    totals = sum_(apply("abs", x), summed)
    return reduction(totals, extreme - (extreme > summed))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tracer:
    t = inexact(as_tracer(x))
    rank = t.ndim
    if axis is None:
        axes = tuple(range(rank))
        if ord is None or (rank == 1 and ord == 2) or (rank == 2 and ord in ("fro", "f")):
            found = _two(flattened(t), (0,))
        elif rank == 1:
            found = _vector(t, ord, 0)
        elif rank == 2:
            found = _matrix(t, ord, 0, 1)
        else:
            raise ValueError("Improper number of dimensions to norm.")
        return finish(found, axes, keepdims)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    if len(given) == 1:
        k = normal_axis(given[0], rank)
        return finish(_vector(t, ord, k), (k,), keepdims)
    if len(given) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    rows, columns = (normal_axis(k, rank) for k in given)
    return finish(_matrix(t, ord, rows, columns), tuple(sorted((rows, columns))), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tracer:
    """The norm of all elements, or along axes taken together."""
    t = inexact(as_tracer(x))
    axes = normal_axes(axis, t.ndim)
    if ord in (None, 2):
        return finish(_two(t, axes), axes, keepdims)
    order = [k for k in range(t.ndim) if k not in axes]
    joined = TABLE[np.transpose](t, (*order, *axes))
    joined = TABLE[np.reshape](joined, (*[t.shape[k] for k in order], -1))
    return finish(_vector(joined, ord, len(order)), axes, keepdims)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tracer:
    return norm(x, ord, (-2, -1), keepdims)
