"""Sums, products, extrema, logic and running sums over axes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_shapes,
    broadcast_to,
    convert,
    is_number,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import ScalarType, from_numpy, i1, i64, to_numpy
from gradc.numpy_functions.axes import keep_axes, normal_axes, normal_axis
from gradc.numpy_functions.shaping import flattened

_NO_VALUE: Any = np._NoValue


def refuse_out(out: Any, name: str) -> None:
    """`out=` stores into an array of the caller's."""
    if out is not None:
        raise TracingError(f"np.{name}(..., out=...) stores into an array: use the result instead")


def sum_dtype(element: ScalarType) -> ScalarType:
    """Sums and products of bools and small integers run in the platform integer."""
    if element.kind in "bi":
        return element if element.kind == "i" and element.bits == 64 else i64
    if element.kind == "u":
        return from_numpy(np.dtype(np.uint64))
    return element


def masked(x: Tracer, where: Any, neutral: Any) -> Tracer:
    """x with `neutral` where the condition does not hold; broadcast with it."""
    if where is True:
        return x
    condition = typed(where, i1)
    shape = broadcast_shapes(x.shape, condition.shape)
    condition, x = broadcast_to(condition, shape), broadcast_to(x, shape)
    return apply("select", condition, x, filled(neutral, shape, x.element))


def finish(found: Tracer, axes: tuple[int, ...], keepdims: Any) -> Tracer:
    if keepdims is not _NO_VALUE and keepdims:
        found = keep_axes(found, axes)
    return found


def _is_given(initial: Any) -> bool:
    return initial is not _NO_VALUE and initial is not None


def _fold(mnemonic: str, join: np.ufunc, neutral: int) -> Callable[..., Any]:
    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Tracer:
        refuse_out(out, mnemonic.rpartition("_")[2])
        x = as_tracer(a)
        element = sum_dtype(x.element) if dtype is None else from_numpy(dtype)
        x = masked(convert(x, element), where, neutral)
        axes = normal_axes(axis, x.ndim)
        found = apply(mnemonic, x, axes=axes)
        if _is_given(initial):
            found = typed(TABLE[join](typed(initial, element), found), element)
        return finish(found, axes, keepdims)

    return reduction


sum_ = implements(np.sum)(_fold("reduce_sum", np.add, 0))
prod = implements(np.prod)(_fold("reduce_prod", np.multiply, 1))


@implements(sum)
def builtin_sum(iterable: Any, /, start: Any = 0) -> Any:
    """sum(x): of an array over its first axis; else one addition an item."""
    if isinstance(iterable, Tracer) and iterable.ndim:
        if iterable.shape[0] == 0:
            return start
        found = sum_(iterable, axis=0)
        return found if is_number(start) and start == 0 else TABLE[operator.add](start, found)
    total = start
    for item in iterable:
        total = total + item
    return total


def _extremum(mnemonic: str, join: np.ufunc, lowest: bool) -> Callable[..., Any]:
    def reduction(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = True,
    ) -> Tracer:
        name = mnemonic.rpartition("_")[2]
        refuse_out(out, name)
        x = as_tracer(a)
        if x.element.is_complex:
            raise TracingError(f"np.{name} of complex numbers has no rule: reduce the real parts")
        if where is not True:
            if not _is_given(initial):
                raise ValueError(
                    f"reduction operation '{join.__name__}' does not have an identity, so to use a "
                    "where mask one has to specify 'initial'"
                )
            x = masked(x, where, _bound(x.element, lowest))
        axes = normal_axes(axis, x.ndim)
        if any(x.shape[k] == 0 for k in axes):
            if not _is_given(initial):
                raise ValueError(
                    f"zero-size array to reduction operation {join.__name__} which has no identity"
                )
            shape = tuple(n for k, n in enumerate(x.shape) if k not in axes)
            return finish(typed(initial, x.element, shape), axes, keepdims)
        if x.element.is_bool:
            found = apply("reduce_any" if lowest else "reduce_all", x, axes=axes)
        else:
            found = apply(mnemonic, x, axes=axes)
        if _is_given(initial):
            found = TABLE[join](typed(initial, x.element), found)
        return finish(found, axes, keepdims)

    return reduction


def _bound(element: ScalarType, lowest: bool) -> Any:
    """The smallest (or largest) number of an element type."""
    if element.is_bool:
        return not lowest
    if element.is_floating:
        return -math.inf if lowest else math.inf
    info = np.iinfo(to_numpy(element))
    return int(info.min if lowest else info.max)


max_ = implements(np.max, np.amax)(_extremum("reduce_max", np.maximum, True))
min_ = implements(np.min, np.amin)(_extremum("reduce_min", np.minimum, False))


def _logical(mnemonic: str, neutral: bool) -> Callable[..., Any]:
    def reduction(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO_VALUE, *, where: Any = True
    ) -> Tracer:
        refuse_out(out, mnemonic.rpartition("_")[2])
        x = masked(typed(a, i1), where, neutral)
        axes = normal_axes(axis, x.ndim)
        return finish(apply(mnemonic, x, axes=axes), axes, keepdims)

    return reduction


any_ = implements(np.any)(_logical("reduce_any", False))
all_ = implements(np.all)(_logical("reduce_all", True))


@implements(any)
def builtin_any(iterable: Any) -> bool:
    """any(...) of an iterable, by Python's truth of each item."""
    return any(list(iterable))


@implements(all)
def builtin_all(iterable: Any) -> bool:
    """all(...) of an iterable, by Python's truth of each item."""
    return all(list(iterable))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tracer:
    return sum_(typed(a, i1), axis=axis, dtype=np.int64, keepdims=keepdims)


def _position(mnemonic: str) -> Callable[..., Any]:
    def reduction(
        a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _NO_VALUE
    ) -> Tracer:
        refuse_out(out, mnemonic)
        x = as_tracer(a)
        if x.element.is_complex:
            raise TracingError(
                f"np.{mnemonic} of complex numbers has no rule: use their real parts"
            )
        rank = x.ndim
        if axis is None:
            x = flattened(x)
        k = normal_axis(0 if axis is None else axis, x.ndim)
        if x.shape[k] == 0 and 0 not in (*x.shape[:k], *x.shape[k + 1 :]):
            raise ValueError(f"attempt to get {mnemonic} of an empty sequence")
        found = apply(mnemonic, x, axis=k)
        return finish(found, tuple(range(rank)) if axis is None else (k,), keepdims)

    return reduction


argmax = implements(np.argmax)(_position("argmax"))
argmin = implements(np.argmin)(_position("argmin"))


def _running(mnemonic: str) -> Callable[..., Any]:
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Tracer:
        refuse_out(out, mnemonic)
        x = as_tracer(a)
        element = sum_dtype(x.element) if dtype is None else from_numpy(dtype)
        x = convert(x, element)
        if axis is None:
            x, axis = flattened(x), 0
        return apply(mnemonic, x, axis=normal_axis(axis, x.ndim))

    return scan


cumsum = implements(np.cumsum)(_running("cumsum"))
cumprod = implements(np.cumprod)(_running("cumprod"))


def _cumulative(scan: Callable[..., Tracer], first: int) -> Callable[..., Any]:
    def cumulative(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None,
        include_initial: bool = False,
    ) -> Tracer:  # fmt: skip
        x = as_tracer(x)
        if axis is None and x.ndim != 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        k = normal_axis(0 if axis is None else axis, x.ndim)
        found = scan(x, axis=k, dtype=dtype, out=out)
        if include_initial:
            shape = tuple(1 if d == k else n for d, n in enumerate(found.shape))
            found = apply("concatenate", filled(first, shape, found.element), found, axis=k)
        return found

    return cumulative


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    implements(np.cumulative_sum)(_cumulative(cumsum, 0))
    implements(np.cumulative_prod)(_cumulative(cumprod, 1))


def _without_nan(x: Any, neutral: Any) -> Tracer:
    x = as_tracer(x)
    if not x.element.is_inexact:
        return x
    return apply("select", apply("isnan", x), filled(neutral, x.shape, x.element), x)


@implements(np.nansum)
def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Tracer:
    return sum_(_without_nan(a, 0), axis, dtype, out, **kwargs)


@implements(np.nanprod)
def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, **kwargs: Any) -> Tracer:
    return prod(_without_nan(a, 1), axis, dtype, out, **kwargs)


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
            keepdims: Any = _NO_VALUE) -> Tracer:  # fmt: skip
    x = as_tracer(a)
    if not x.element.is_inexact:
        return TABLE[np.mean](x, axis, dtype, out, keepdims)
    total = nansum(x, axis, dtype, out, keepdims=keepdims)
    count = count_nonzero(
        apply("logical_not", apply("isnan", x)),
        axis,
        keepdims=keepdims is not _NO_VALUE and keepdims,
    )
    return apply("div", total, convert(count, total.element))


def _nan_extremum(name: str, reduction: Callable[..., Any], lowest: bool) -> Callable[..., Any]:
    def extremum(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO_VALUE) -> Tracer:
        x = as_tracer(a)
        if not x.element.is_inexact:
            return reduction(x, axis, out, keepdims)
        found = reduction(_without_nan(x, _bound(x.element, lowest)), axis, out, keepdims)
        nan = all_(apply("isnan", x), axis, keepdims=keepdims)
        return apply("select", nan, filled(math.nan, found.shape, found.element), found)

    return extremum


nanmax = implements(np.nanmax)(_nan_extremum("nanmax", max_, True))
nanmin = implements(np.nanmin)(_nan_extremum("nanmin", min_, False))
