"""Means, variances and what is built on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import as_tracer, convert, result_type, typed
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import Dim, bf16, f16, f32, f64, from_numpy
from gradc.numpy_functions.axes import keep_axes, normal_axes
from gradc.numpy_functions.reductions import (
    _NO_VALUE,
    count_nonzero,
    max_,
    min_,
    refuse_out,
    sum_,
)  # fmt: skip


def _mean_element(x: Tracer, dtype: Any) -> tuple[Any, Any]:
    """(the type to add in, the type of the result): NumPy adds float16 in float32."""
    if dtype is not None:
        element = from_numpy(dtype)
        return element, element
    if not x.element.is_inexact:
        return f64, f64
    return (f32 if x.element in (f16, bf16) else x.element), x.element


def count_of(x: Tracer, axes: tuple[int, ...], where: Any, element: Any, keepdims: bool) -> Any:
    """How many elements each result joins: a number, or a tracer where that depends on data."""
    if where is not True:
        condition = TABLE[np.broadcast_to](where, x.shape)
        return convert(count_nonzero(condition, axes, keepdims=keepdims), element)
    static = math.prod(x.shape[k] for k in axes if not isinstance(x.shape[k], Dim))
    found: Any = static
    for k in axes:
        if isinstance(x.shape[k], Dim):
            found = TABLE[np.multiply](found, apply("size", x, axis=k))
    return found


@implements(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO_VALUE, *,
         where: Any = True) -> Tracer:  # fmt: skip
    refuse_out(out, "mean")
    x = as_tracer(a)
    inner, result = _mean_element(x, dtype)
    axes = normal_axes(axis, x.ndim)
    kept = keepdims is not _NO_VALUE and bool(keepdims)
    total = sum_(convert(x, inner), axes, keepdims=kept, where=where)
    count = count_of(x, axes, where, inner, kept)
    return convert(apply("div", total, typed(count, inner, total.shape)), result)


def _squares(x: Tracer, axes: tuple[int, ...], dtype: Any, where: Any, center: Any) -> Tracer:
    """Squared moduli of the deviations from the mean."""
    if center is _NO_VALUE or center is None:
        total = sum_(x, axes, keepdims=True, where=where)
        count = count_of(x, axes, where, x.element, True)
        if isinstance(count, Tracer):
            center = TABLE[np.true_divide](total, typed(count, x.element))
        else:
            center = apply("div", total, filled(count, total.shape, x.element))
    deviation = TABLE[np.subtract](x, center)
    if deviation.element.is_complex:
        parts = apply("real", deviation), apply("imag", deviation)
        return apply("add", apply("square", parts[0]), apply("square", parts[1]))
    return apply("square", deviation)


@implements(np.var)
def var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = _NO_VALUE, *, where: Any = True, mean: Any = _NO_VALUE,
        correction: Any = _NO_VALUE) -> Tracer:  # fmt: skip
    """Mean squared deviation, divided by (n - ddof)."""
    refuse_out(out, "var")
    x = as_tracer(a)
    inner, result = _mean_element(x, dtype)
    ddof = ddof if correction is _NO_VALUE else correction
    axes = normal_axes(axis, x.ndim)
    kept = keepdims is not _NO_VALUE and bool(keepdims)
    squares = _squares(convert(x, inner), axes, dtype, where, mean)
    total = sum_(squares, axes, keepdims=kept, where=where)
    count = count_of(x, axes, where, f64, kept)
    if isinstance(count, Tracer) or isinstance(ddof, Tracer):
        divisor: Any = TABLE[np.maximum](TABLE[np.subtract](count, ddof), np.float64(0))
        divisor = typed(divisor, total.element)
    else:
        divisor = max(count - ddof, 0)
    found = apply("div", total, typed(divisor, total.element, total.shape))
    return convert(found, result.real)


@implements(np.std)
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = _NO_VALUE, *, where: Any = True, mean: Any = _NO_VALUE,
        correction: Any = _NO_VALUE) -> Tracer:  # fmt: skip
    refuse_out(out, "std")
    x = as_tracer(a)
    inner, result = _mean_element(x, dtype)
    wide = var(
        convert(x, inner),
        axis,
        None,
        None,
        ddof,
        keepdims,
        where=where,
        mean=mean,
        correction=correction,
    )
    return convert(apply("sqrt", wide), result.real)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
            keepdims: Any = _NO_VALUE) -> Any:  # fmt: skip
    """Weighted mean; weights of the array's shape, or 1-D along `axis`."""
    x = as_tracer(a)
    axes = normal_axes(axis, x.ndim)
    if weights is None:
        found = mean(x, axes, keepdims=keepdims)
        total = TABLE[np.full_like](found, math.prod(x.shape[k] for k in axes))
        return (found, total) if returned else found
    w = as_tracer(weights)
    if w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.shape != tuple(x.shape[k] for k in axes):
            raise ValueError(
                "Shape of weights must be consistent with shape of a along specified axis."
            )
        w = keep_axes(w, tuple(k for k in range(x.ndim) if k not in axes))
    dtype = result_type(x, w) if x.element.is_inexact else result_type(x, w, np.dtype(np.float64))
    x, w = typed(x, dtype), typed(w, dtype)
    total = sum_(TABLE[np.broadcast_to](w, x.shape), axes, keepdims=keepdims)
    found = apply("div", sum_(TABLE[np.multiply](x, w), axes, keepdims=keepdims), total)
    return (found, total) if returned else found


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO_VALUE) -> Tracer:
    refuse_out(out, "ptp")
    return TABLE[np.subtract](max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims))


@implements(np.cov)
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
        fweights: Any = None, aweights: Any = None, *, dtype: Any = None) -> Tracer:  # fmt: skip
    """Covariance matrix of the rows (or columns)."""
    if fweights is not None or aweights is not None:
        raise TracingError(
            "np.cov with weights has no rule: write (w * xc) @ xc.T with the centred array xc"
        )
    parts = [as_tracer(x) for x in (m, y) if x is not None]
    kind = result_type(*parts, np.dtype(np.float64)) if dtype is None else np.dtype(dtype)
    rows = []
    for x in parts:
        x = TABLE[np.atleast_2d](typed(x, kind))
        rows.append(
            x
            if rowvar or x.shape[0] == 1 and x is parts[0] and x.ndim == 1
            else TABLE[np.transpose](x)
        )
    if not rowvar and parts[0].ndim == 1:
        rows[0] = TABLE[np.atleast_2d](typed(parts[0], kind))
    x = rows[0] if len(rows) == 1 else TABLE[np.concatenate](rows, axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    n = x.static_shape("np.cov")[1]
    centred = TABLE[np.subtract](x, mean(x, axis=1, keepdims=True))
    product = TABLE[np.matmul](centred, TABLE[np.conjugate](TABLE[np.transpose](centred)))
    scaled = apply(
        "mul",
        product,
        filled(1 / max(n - ddof, 0) if n > ddof else math.inf, product.shape, product.element),
    )
    return TABLE[np.squeeze](scaled)


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Tracer:
    """Correlation coefficients of the rows (or columns)."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return TABLE[np.true_divide](c, c)
    deviation = TABLE[np.sqrt](TABLE[np.real](TABLE[np.diagonal](c)))
    found = c / deviation[:, None] / deviation[None, :]
    if found.element.is_complex:
        return found
    return TABLE[np.clip](found, -1, 1)
