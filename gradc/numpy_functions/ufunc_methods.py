"""ufunc.reduce, .accumulate and .outer on tracers; .at and .reduceat are errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import as_tracer
from gradc.frontend.table import METHODS, TABLE
from gradc.frontend.trace import filled
from gradc.frontend.tracer import Tracer
from gradc.numpy_functions.axes import drop_axes, normal_axes
from gradc.numpy_functions.ufuncs import call, is_out

_REDUCTIONS = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_IDENTITY_FREE = (np.subtract, np.divide, np.power, np.floor_divide, np.remainder)


def method(ufunc: np.ufunc, name: str, *inputs: Any, **kwargs: Any) -> Any:
    """ufunc.reduce, .accumulate, .outer; .at and .reduceat are errors."""
    if name == "outer":
        a, b = map(as_tracer, inputs)
        if b.ndim:
            a = TABLE[np.reshape](a, (*a.shape, *[1] * b.ndim))
        return call(ufunc, a, b, **kwargs)
    if name == "at":
        raise TracingError(
            f"np.{ufunc.__name__}.at stores into an array: build the result with np.where, or with "
            "a sum over a one-hot array (indices[:, None] == np.arange(n))"
        )
    if name == "reduce":
        return _reduce(ufunc, *inputs, **kwargs)
    if name == "accumulate":
        return _accumulate(ufunc, *inputs, **kwargs)
    raise TracingError(
        f"np.{ufunc.__name__}.{name} has no rule for traced arrays: slice the array and use "
        f"np.{ufunc.__name__}.reduce on each part"
    )


METHODS["ufunc_method"] = method


def _no_out(out: Any, name: str) -> None:
    if is_out(out):
        raise TracingError(f"{name}(..., out=...) stores into an array: use the result instead")


def _reduce(ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
            keepdims: bool = False, initial: Any = np._NoValue,
            where: Any = True) -> Any:  # fmt: skip
    _no_out(out, f"np.{ufunc.__name__}.reduce")
    function = _REDUCTIONS.get(ufunc)
    given = {"keepdims": keepdims}
    if initial is not np._NoValue and initial is not None:
        given["initial"] = initial
    if where is not True:
        given["where"] = where
    if function is not None:
        if function in (np.sum, np.prod):
            given["dtype"] = dtype
        return TABLE[function](x, axis=axis, **given)
    if ufunc.nin != 2 or ufunc in _IDENTITY_FREE or where is not True:
        raise TracingError(
            f"np.{ufunc.__name__}.reduce has no rule for traced arrays: write the loop, or use a "
            "sum, product, maximum or minimum"
        )
    x = as_tracer(x)
    axes = normal_axes(axis, x.ndim)
    for k in reversed(axes):
        x = _halved(ufunc, x, k)
    if initial is not np._NoValue and initial is not None:
        x = call(ufunc, initial, x)
    return x if keepdims else drop_axes(x, axes)


def _halved(ufunc: Any, x: Tracer, axis: int) -> Tracer:
    """Reduce an axis to size 1 by joining halves (for associative ufuncs)."""
    n = x.static_shape(f"np.{ufunc.__name__}.reduce")[axis]
    if n == 0:
        if ufunc.identity is None:
            raise ValueError(
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            )
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return filled(ufunc.identity, shape, x.element)
    lead = (slice(None),) * axis
    while n > 1:
        half = n // 2
        joined = call(ufunc, x[(*lead, slice(half))], x[(*lead, slice(half, 2 * half))])
        if n % 2:
            joined = TABLE[np.concatenate]([joined, x[(*lead, slice(n - 1, n))]], axis=axis)
        x, n = joined, half + n % 2
    return x


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    _no_out(out, f"np.{ufunc.__name__}.accumulate")
    if ufunc in (np.add, np.multiply):
        function = np.cumsum if ufunc is np.add else np.cumprod
        return TABLE[function](x, axis=axis, dtype=dtype)
    if ufunc.nin != 2 or ufunc in _IDENTITY_FREE:
        raise TracingError(
            f"np.{ufunc.__name__}.accumulate has no rule for traced arrays: write the loop"
        )
    x = as_tracer(x)
    n = x.static_shape(f"np.{ufunc.__name__}.accumulate")[axis]
    lead = (slice(None),) * (axis % x.ndim)
    step = 1
    while step < n:  # each element joins with the one `step` before it: log2(n) rounds
        later = call(ufunc, x[(*lead, slice(n - step))], x[(*lead, slice(step, None))])
        x = TABLE[np.concatenate]([x[(*lead, slice(step))], later], axis=axis)
        step *= 2
    return x
