"""Choosing among values (where, select, clip) and elements by index (take, nonzero, compress)."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gradc.frontend.indexing import non_negative, nonzero
from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_shapes,
    broadcast_to,
    convert,
    has_tracer,
    is_number,
    operand,
    result_type,
    shape_of,
    typed,
)  # fmt: skip
from gradc.frontend.table import METHODS, TABLE, implements
from gradc.frontend.trace import apply, build, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.ops.composite import take_along_axis as gather_along_axis
from gradc.ir.types import from_numpy, i1, i64
from gradc.numpy_functions.axes import normal_axis
from gradc.numpy_functions.creation import array_like
from gradc.numpy_functions.reductions import refuse_out
from gradc.numpy_functions.shaping import flattened


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition holds, else y; with the condition alone, np.nonzero."""
    if x is None and y is None:
        return np_nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    choices = [operand(x), operand(y)]
    dtype = result_type(*choices)
    chosen = typed(condition, i1)
    shape = broadcast_shapes(chosen.shape, *map(shape_of, choices))
    a, b = (typed(v, dtype, shape) for v in choices)
    return array_like(apply("select", broadcast_to(chosen, shape), a, b))


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tracer:
    """The first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choices = [operand(c) for c in (*choicelist, default)]
    conditions = [as_tracer(c) for c in condlist]
    for k, c in enumerate(conditions):
        if not c.element.is_bool:
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    dtype = result_type(*choices)
    found: Any = choices[-1]
    for condition, choice in zip(reversed(conditions), reversed(choices[:-1])):
        found = where(condition, typed(choice, dtype), typed(found, dtype))
    return found


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Tracer:
    """Elements of choices[a]; `mode` as np.take. Out-of-range indices raise at run time."""
    refuse_out(out, "choose")
    arrays = [operand(c) for c in choices]
    dtype = result_type(*arrays)
    index = as_tracer(a)
    shape = broadcast_shapes(index.shape, *map(shape_of, arrays))
    stacked = TABLE[np.stack]([typed(c, dtype, shape) for c in arrays])
    row = broadcast_to(_in_range(index, len(arrays), mode), shape)
    picked = TABLE[np.reshape](row, (1, *shape))
    found = TABLE[np.reshape](take_along_axis(stacked, picked, 0), shape)
    found.is_scalar = not found.ndim
    return found


def _known_bound(number: Any, dtype: Any, lower: bool) -> Any:
    """None for a bound that a Python int puts outside the dtype's range, as np.clip does."""
    if number is None or type(number) is not int or dtype.kind not in "iu":
        return number
    info = np.iinfo(dtype)
    if (lower and number <= info.min) or (not lower and number >= info.max):
        return None
    return number


@implements(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None,
         max: Any = None, **options: Any) -> Tracer:  # fmt: skip
    """Bounds pass the gradient where the element equals them."""
    refuse_out(out, "clip")
    x = as_tracer(a)
    lower = operand(min) if a_min is None and min is not None else a_min
    upper = operand(max) if a_max is None and max is not None else a_max
    lower, upper = (v if v is None else operand(v) for v in (lower, upper))
    lower, upper = _known_bound(lower, x.dtype, True), _known_bound(upper, x.dtype, False)
    given = [v for v in (lower, upper) if v is not None]
    dtype = result_type(x, *given)
    if "dtype" in options and options["dtype"] is not None:
        dtype = np.dtype(options["dtype"])
    element = from_numpy(dtype)
    if not given:
        return array_like(typed(x, dtype))
    if element.is_complex or element.is_bool:
        raise TracingError(f"np.clip of {element.name} values has no rule: convert to a real dtype")
    shape = broadcast_shapes(x.shape, *map(shape_of, given))
    low = _open_bound(element, dtype, True) if lower is None else lower
    high = _open_bound(element, dtype, False) if upper is None else upper
    return apply("clip", *[typed(v, dtype, shape) for v in (x, low, high)])


def _open_bound(element: Any, dtype: Any, lowest: bool) -> Any:
    if element.is_floating:
        return -math.inf if lowest else math.inf
    info = np.iinfo(dtype)
    return int(info.min if lowest else info.max)


# ----------------------------------------------------------------------------------- by index


def _in_range(index: Tracer, n: int, mode: str) -> Tracer:
    if mode == "raise":
        return non_negative(index, n)
    index = convert(index, i64)
    if mode == "wrap":
        return apply("remainder", index, filled(n, index.shape, i64))
    if mode == "clip":
        bounds = filled(0, index.shape, i64), filled(n - 1, index.shape, i64)
        return apply("clip", index, *bounds)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap', got {mode!r}")


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Tracer:
    """Elements at integer indices along an axis."""
    refuse_out(out, "take")
    x = as_tracer(a)
    if axis is None:
        x, axis = flattened(x), 0
    k = normal_axis(axis, x.ndim)
    given = indices if isinstance(indices, Tracer) else _index_array(indices)
    if mode != "raise":
        given = _in_range(as_tracer(given), x.static_shape("np.take")[k], mode)
    return x[(*[slice(None)] * k, given)]


def _index_array(indices: Any) -> Any:
    if isinstance(indices, list | tuple):
        return TABLE[np.array](indices) if has_tracer(indices) else np.asarray(indices, int)
    return indices


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Tracer:
    """result[..., i, ...] = arr[..., indices[..., i, ...], ...]"""
    x, index = as_tracer(arr), as_tracer(indices)
    if not index.element.is_integer:
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        x, axis = flattened(x), 0
    k = normal_axis(axis, x.ndim)
    if x.ndim != index.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    lead = broadcast_shapes(
        tuple(n for d, n in enumerate(x.shape) if d != k),
        tuple(n for d, n in enumerate(index.shape) if d != k),
    )
    x = broadcast_to(x, (*lead[:k], x.shape[k], *lead[k:]))
    index = broadcast_to(index, (*lead[:k], index.shape[k], *lead[k:]))
    index = non_negative(index, x.shape[k])
    return build(lambda b, a, i: gather_along_axis(b, a, i, k), x, index)


@implements(np.nonzero)
def np_nonzero(a: Any) -> tuple[Tracer, ...]:
    """Indices of the elements that are not zero; their number is known only at run time."""
    x = as_tracer(a)
    if not x.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero()"
        )
    return nonzero(typed(x, i1))


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Tracer:
    return np_nonzero(flattened(as_tracer(a)))[0]


@implements(np.argwhere)
def argwhere(a: Any) -> Tracer:
    return TABLE[np.stack](list(np_nonzero(TABLE[np.atleast_1d](a))), axis=1)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Tracer:
    """The slices along `axis` where a 1-D condition holds."""
    refuse_out(out, "compress")
    x = as_tracer(a)
    if axis is None:
        x, axis = flattened(x), 0
    k = normal_axis(axis, x.ndim)
    chosen = condition if isinstance(condition, Tracer) else np.asarray(condition)
    if chosen.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    rows: Any
    if isinstance(chosen, Tracer):
        rows = nonzero(typed(chosen, i1))[0]
    else:
        rows = np.flatnonzero(chosen)
    return x[(*[slice(None)] * k, rows)]


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Tracer:
    return compress(TABLE[np.ravel](condition), arr)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tracer, ...]:
    """The coordinates of flat indices."""
    sizes = [operator.index(n) for n in (shape if isinstance(shape, tuple | list) else (shape,))]
    rest = convert(as_tracer(indices), i64)
    found = []
    for n in reversed(sizes) if order == "C" else sizes:
        found.append(TABLE[np.remainder](rest, n))
        rest = TABLE[np.floor_divide](rest, n)
    return tuple(reversed(found)) if order == "C" else tuple(found)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Tracer:
    """Flat indices of coordinates."""
    sizes = [operator.index(n) for n in (dims if isinstance(dims, tuple | list) else (dims,))]
    pairs = list(zip(multi_index, sizes))
    flat: Any = 0
    for k, n in pairs if order == "C" else reversed(pairs):
        flat = TABLE[np.add](TABLE[np.multiply](flat, n), _in_range(as_tracer(k), n, mode))
    return flat


@implements(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *,
         kind: Any = None) -> Tracer:  # fmt: skip
    """Whether each element equals one of the others (by comparing all pairs)."""
    x, others = as_tracer(element), flattened(as_tracer(test_elements))
    equal = TABLE[np.equal](TABLE[np.reshape](x, (*x.shape, 1)), others)
    found = TABLE[np.any](equal, axis=-1)
    return apply("logical_not", found) if invert else found


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tracer:
    """Each function is applied to all of x; its elements are chosen by the conditions."""
    value = as_tracer(x)
    conditions = list(condlist) if isinstance(condlist, list | tuple) else [condlist]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        default = functions.pop()
    elif len(functions) == len(conditions):
        default = 0
    else:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )

    def applied(f: Any) -> Tracer:
        found = f(value, *args, **kw) if callable(f) else f
        return METHODS["astype"](typed(found, result_type(operand(found))), value.dtype)

    found = broadcast_to(applied(default), value.shape)
    for condition, f in zip(conditions, functions):
        found = where(condition, applied(f), found)
    return found


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = as_tracer(a1), as_tracer(a2)
    if x.shape != y.shape:
        return False
    same = TABLE[np.equal](x, y)
    if equal_nan and x.element.is_inexact and y.element.is_inexact:
        both = apply("logical_and", apply("isnan", x), apply("isnan", y))
        same = apply("logical_or", same, both)
    return TABLE[bool](TABLE[np.all](same))


@implements(np.isclose)
def isclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tracer:
    x, y = as_tracer(a) if not is_number(a) else a, as_tracer(b) if not is_number(b) else b
    y = operand(y)
    if is_number(y) or not y.element.is_inexact:
        y = typed(y, np.result_type(np.dtype(np.float64) if is_number(y) else y.dtype, 1.0))
    x = as_tracer(x)
    gap = TABLE[np.absolute](TABLE[np.subtract](x, y))
    bound = TABLE[np.add](atol, TABLE[np.multiply](rtol, TABLE[np.absolute](y)))
    near = apply("logical_and", TABLE[np.less_equal](gap, bound), _like(TABLE[np.isfinite](y), gap))
    found = apply("logical_or", near, TABLE[np.equal](x, y))
    if equal_nan:
        both = TABLE[np.logical_and](TABLE[np.isnan](x), TABLE[np.isnan](y))
        found = apply("logical_or", found, both)
    return found


def _like(x: Tracer, other: Tracer) -> Tracer:
    return broadcast_to(x, other.shape)


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tracer:
    return TABLE[bool](TABLE[np.all](isclose(a, b, rtol, atol, equal_nan)))
