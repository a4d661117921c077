"""The same elements under another shape or axis order: reshape, transpose, squeeze ..."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import as_tracer, broadcast_shapes, broadcast_to, shape_of
from gradc.frontend.table import METHODS, TABLE, implements
from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer
from gradc.ir.types import Dim
from gradc.numpy_functions.axes import drop_axes, keep_axes, normal_axes, normal_axis
from gradc.numpy_functions.creation import array_like, size_tuple


def as_view(found: Tracer, x: Any, path: Any) -> Tracer:
    """`found` marked as a view of x, an array of its own name."""
    if not isinstance(x, Tracer):
        return found
    if x.weak:
        return array_like(found)  # NumPy makes an array of a Python number first
    if x.is_scalar and not found.ndim:
        return found  # parts of scalars are scalars
    view = array_like(found)
    return view.view_of(x, path)


def flattened(x: Tracer) -> Tracer:
    return x if x.ndim == 1 else apply("reshape", x, shape=(_total(x.shape),))


def _total(shape: tuple[Any, ...]) -> Any:
    """The number of elements; one symbolic size may stand among sizes of 1."""
    symbolic = [n for n in shape if isinstance(n, Dim)]
    static = math.prod(n for n in shape if not isinstance(n, Dim))
    if not symbolic:
        return static
    if len(symbolic) == 1 and static == 1:
        return symbolic[0]
    raise TracingError(
        f"cannot flatten an array of shape {list(shape)}, whose size is known only at run time: "
        "flatten it before it is indexed by the mask"
    )


@implements(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, copy: Any = None) -> Tracer:
    x = as_tracer(a)
    if shape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    sizes = _with_unknown(x.shape, _sizes(shape))
    if order == "F" and x.ndim + len(sizes) > 2:
        turned = apply("transpose", x, perm=tuple(reversed(range(x.ndim)))) if x.ndim > 1 else x
        found = apply("reshape", turned, shape=tuple(reversed(sizes)))
        found = apply("transpose", found, perm=tuple(reversed(range(len(sizes)))))
    elif order in ("C", "A", "F"):
        found = x if sizes == x.shape else apply("reshape", x, shape=sizes)
    else:
        raise TracingError(f"reshape with order={order!r} has no rule: use order='C' or 'F'")
    return as_view(found, a, ("reshape", sizes))


def _sizes(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, Tracer | int | np.integer):
        return (operator.index(shape),)
    return tuple(n if isinstance(n, Dim) else operator.index(n) for n in shape)


def _with_unknown(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """`new` with -1 replaced; ValueError where the sizes differ."""
    wrong = ValueError(f"cannot reshape array of shape {old} into shape {new}")
    if sum(n == -1 for n in new) > 1:
        raise ValueError("can only specify one unknown dimension")
    if any(not isinstance(n, Dim) and n < -1 for n in new):
        raise wrong
    dims_old = [n for n in old if isinstance(n, Dim)]
    dims_new = [n for n in new if isinstance(n, Dim)]
    static_old = math.prod(n for n in old if not isinstance(n, Dim))
    static_new = math.prod(n for n in new if not isinstance(n, Dim) and n != -1)
    if -1 in new:
        at = new.index(-1)
        left = [n for n in dims_old if n not in dims_new]
        if len(left) == 1 and static_old == static_new:
            size: Any = left[0]
        elif not left and static_new and static_old % static_new == 0:
            size = static_old // static_new
        else:
            raise wrong
        return (*new[:at], size, *new[at + 1 :])
    if static_old != static_new or sorted(map(str, dims_old)) != sorted(map(str, dims_new)):
        raise wrong
    return new


@implements(np.ravel)
def ravel(a: Any, order: str = "C") -> Tracer:
    x = as_tracer(a)
    if order == "F" and x.ndim > 1:
        return flattened(apply("transpose", x, perm=tuple(reversed(range(x.ndim)))))
    return as_view(flattened(x), a, ("reshape", -1))


@implements(np.transpose)
def transpose(a: Any, axes: Any = None) -> Tracer:
    x = as_tracer(a)
    if axes is None:
        perm = tuple(reversed(range(x.ndim)))
    else:
        given = axes if isinstance(axes, tuple | list) else (axes,)
        if len(given) != x.ndim:
            raise ValueError("axes don't match array")
        perm = tuple(normal_axis(k, x.ndim) for k in given)
        if len(set(perm)) != len(perm):
            raise ValueError("repeated axis in transpose")
    return permuted(x, perm, a)


def permuted(x: Tracer, perm: tuple[int, ...], base: Any) -> Tracer:
    """x with its axes reordered, as a view of `base`."""
    found = x if perm == tuple(range(x.ndim)) else apply("transpose", x, perm=perm)
    return as_view(found, base, ("transpose", perm))


if hasattr(np, "permute_dims"):
    TABLE[np.permute_dims] = transpose


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Tracer:
    t = as_tracer(x)
    if t.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {t.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Tracer:
    x = as_tracer(a)
    i, j = normal_axis(axis1, x.ndim), normal_axis(axis2, x.ndim)
    perm = list(range(x.ndim))
    perm[i], perm[j] = perm[j], perm[i]
    return permuted(x, tuple(perm), a)


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Tracer:
    x = as_tracer(a)
    given = [v if isinstance(v, tuple | list) else (v,) for v in (source, destination)]
    start, end = ([normal_axis(k, x.ndim) for k in v] for v in given)
    if len(start) != len(end):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [k for k in range(x.ndim) if k not in start]
    for k, s in sorted(zip(end, start)):
        order.insert(k, s)
    return permuted(x, tuple(order), a)


@implements(np.rollaxis)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Tracer:
    x = as_tracer(a)
    k, at = normal_axis(axis, x.ndim), operator.index(start)
    at = at + x.ndim if at < 0 else at
    order = [d for d in range(x.ndim) if d != k]
    order.insert(at - (k < at), k)
    return permuted(x, tuple(order), a)


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Tracer:
    x = as_tracer(a)
    if axis is None:
        axes = tuple(k for k, n in enumerate(x.shape) if n == 1)
    else:
        axes = normal_axes(axis, x.ndim)
        if any(x.shape[k] != 1 for k in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return as_view(drop_axes(x, axes), a, ("squeeze", axes))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Tracer:
    x = as_tracer(a)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    axes = normal_axes(axis, x.ndim + count)
    return as_view(keep_axes(x, axes), a, ("expand", axes))


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    found = tuple(_at_least(x, 1) for x in arys)
    return found[0] if len(found) == 1 else found


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    found = tuple(_at_least(x, 2) for x in arys)
    return found[0] if len(found) == 1 else found


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    found = tuple(_at_least_3d(x) for x in arys)
    return found[0] if len(found) == 1 else found


def _at_least(a: Any, rank: int) -> Tracer:
    x = as_tracer(a)
    if x.ndim >= rank:
        return a if isinstance(a, Tracer) else x
    return as_view(keep_axes(x, tuple(range(rank - x.ndim))), a, ("expand", rank))


def _at_least_3d(a: Any) -> Tracer:
    x = as_tracer(a)
    if x.ndim >= 3:
        return a if isinstance(a, Tracer) else x
    shape = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim]
    return as_view(apply("reshape", x, shape=shape), a, ("reshape", shape))


@implements(np.broadcast_to)
def np_broadcast_to(array: Any, shape: Any, subok: bool = False) -> Tracer:
    x = as_tracer(array)
    sizes = size_tuple(shape)
    found = array_like(broadcast_to(x, sizes))
    return found.view_of(array, ("broadcast", sizes)) if isinstance(array, Tracer) else found


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [as_tracer(x) for x in args]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple(np_broadcast_to(x, shape) for x in arrays)


@implements(np.shape)
def shape(a: Any) -> tuple[Any, ...]:
    return shape_of(as_tracer(a))


@implements(np.ndim)
def ndim(a: Any) -> int:
    return as_tracer(a).ndim


@implements(np.size)
def size(a: Any, axis: Any = None) -> Any:
    x = as_tracer(a)
    return _count(x, range(x.ndim) if axis is None else normal_axes(axis, x.ndim))


def _count(x: Tracer, axes: Iterable[int]) -> Any:
    """The number of elements over axes: an int, or a traced int where a size is of run time."""
    found: Any = 1
    for k in axes:
        n = x.shape[k]
        if isinstance(n, Dim):
            counted = apply("size", x, axis=k)
            n = Tracer(counted.value, counted.owner, weak=True)
        found = found * n
    return found


def method_size(x: Tracer) -> Any:
    return _count(x, range(x.ndim))


METHODS["size"] = method_size


@implements(np.diagonal, np.linalg.diagonal)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Tracer:
    """The diagonal of two axes, as the last axis."""
    x = moveaxis(as_tracer(a), (axis1, axis2), (-2, -1))
    rows, columns = x.static_shape("np.diagonal")[-2:]
    k = operator.index(offset)
    first, second = max(0, -k), max(0, k)
    n = max(0, min(rows - first, columns - second))
    steps = np.arange(n)
    return as_view(x[..., first + steps, second + steps], a, ("diagonal", (k, axis1, axis2)))


@implements(np.diag)
def diag(v: Any, k: Any = 0) -> Tracer:
    x = as_tracer(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    offset = operator.index(k)
    n = x.static_shape("np.diag")[0]
    size = n + abs(offset)
    rows = np.arange(size)
    source = rows - max(0, -offset)
    inside = (source >= 0) & (source < n)
    on = np.eye(size, size, offset, dtype=bool)
    column = x[np.where(inside, source, 0)] if n else TABLE[np.zeros](size, dtype=x.dtype)
    return TABLE[np.where](on, column[:, None], TABLE[np.zeros]((), dtype=x.dtype))


@implements(np.diagflat)
def diagflat(v: Any, k: Any = 0) -> Tracer:
    return diag(flattened(as_tracer(v)), k)


@implements(np.trace, np.linalg.trace)
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Tracer:
    return TABLE[np.sum](diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype, out=out)


def _triangle(upper: bool) -> Any:
    def triangle(m: Any, k: Any = 0) -> Tracer:
        x = as_tracer(m)
        rows, columns = x.static_shape("np.triu")[-2:]
        offset = operator.index(k)
        lower = np.tri(rows, columns, offset - 1 if upper else offset, dtype=bool)
        return TABLE[np.where](~lower if upper else lower, x, TABLE[np.zeros]((), dtype=x.dtype))

    return triangle


triu = implements(np.triu)(_triangle(True))
tril = implements(np.tril)(_triangle(False))
