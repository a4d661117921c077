"""Arrays from shapes, numbers and lists. In a traced function they are traced arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_to,
    convert,
    is_number,
    operand,
    result_type,
    typed,
)  # fmt: skip
from gradc.frontend.table import METHODS, TABLE, implements
from gradc.frontend.trace import active_trace, apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import TensorType, c128, f64, from_numpy, i1, i64


def array_like(x: Tracer) -> Tracer:
    """The same value as a fresh array: a name of its own, 0-d arrays included."""
    trace = active_trace()
    return Tracer(trace.value(x), trace, is_scalar=False)


def size_tuple(shape: Any) -> tuple[int, ...]:
    """A shape argument: an int or a sequence of ints, traced ints of known value among them."""
    if isinstance(shape, Tracer):
        if shape.ndim:
            raise TracingError("a traced array as a shape: sizes must be known while tracing")
        return (operator.index(shape),)
    if isinstance(shape, int | np.integer):
        sizes: tuple[int, ...] = (int(shape),)
    else:
        sizes = tuple(n if _is_dim(n) else operator.index(n) for n in shape)
    if any(not _is_dim(n) and n < 0 for n in sizes):
        raise ValueError("negative dimensions are not allowed")
    return sizes


def _is_dim(n: Any) -> bool:
    return type(n).__name__ == "Dim"


def _filling(value: Any) -> Callable[..., Any]:
    def creation(
        shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None, like: Any = None
    ) -> Tracer:
        found = filled(value, size_tuple(shape), from_numpy(float if dtype is None else dtype))
        return array_like(found)

    return creation


zeros = implements(np.zeros, np.empty, creates=True)(_filling(0))
ones = implements(np.ones, creates=True)(_filling(1))


@implements(np.full, creates=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None,
         like: Any = None) -> Tracer:  # fmt: skip
    fill = operand(fill_value)
    return array_like(
        typed(fill, result_type(fill) if dtype is None else np.dtype(dtype), size_tuple(shape))
    )


def _like(value: Any) -> Callable[..., Any]:
    def creation(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
                 *, device: Any = None) -> Tracer:  # fmt: skip
        like = as_tracer(a)
        sizes = like.shape if shape is None else size_tuple(shape)
        return array_like(
            filled(value, sizes, like.element if dtype is None else from_numpy(dtype))
        )

    return creation


zeros_like = implements(np.zeros_like, np.empty_like, creates=True)(_like(0))
ones_like = implements(np.ones_like, creates=True)(_like(1))


@implements(np.full_like, creates=True)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
              shape: Any = None, *, device: Any = None) -> Tracer:  # fmt: skip
    like = as_tracer(a)
    sizes = like.shape if shape is None else size_tuple(shape)
    return array_like(typed(fill_value, like.dtype if dtype is None else np.dtype(dtype), sizes))


def _static_result(function: Callable[..., Any]) -> Callable[..., Any]:
    """A creation function whose arguments must be known: NumPy makes the constant."""

    def creation(*args: Any, **kwargs: Any) -> Any:
        found = function(*map(_static, args), **{k: _static(v) for k, v in kwargs.items()})
        trace = active_trace()
        if isinstance(found, tuple | list):
            return type(found)([array_like(trace.constant(x)) for x in found])
        return array_like(trace.constant(found))

    return creation


def _static(x: Any) -> Any:
    if isinstance(x, Tracer):
        if x.python is None:
            raise TracingError(
                f"a traced {x.describe()} where a known number is needed (a size, a range, an "
                "offset): pass it as a Python int or a static argument"
            )
        return x.known()
    if isinstance(x, tuple | list):
        return type(x)([_static(item) for item in x])
    return x


for _function in (
    np.identity, np.tri, np.indices, np.tril_indices, np.triu_indices, np.diag_indices,
    np.hanning, np.hamming, np.blackman, np.bartlett, np.kaiser,
):  # fmt: skip
    implements(_function, creates=True)(_static_result(_function))


def _iota(size: int, dtype: Any) -> Tracer:
    trace = active_trace()
    element = from_numpy(dtype)
    if element.is_bool:
        return trace.constant(np.arange(size).astype(dtype))
    filled(0, (), element)  # sets the location
    value = trace.builder.iota(axis=0, type=TensorType((size,), element))
    return Tracer(value, trace, is_scalar=False)


@implements(np.arange, creates=True)
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None,
           like: Any = None) -> Tracer:  # fmt: skip
    """The bounds must be known; a traced start is added to a known range: start + np.arange(n)."""
    given: list[Any] = [_static(x) for x in (start, stop, step)]
    begin, end, by = given
    if end is None:
        begin, end = 0, begin
    if by is None:
        by = 1
    if all(isinstance(x, int | np.integer) for x in (begin, end, by)):
        size = len(range(int(begin), int(end), int(by)))
        kind = (
            np.result_type(*[x for x in given if x is not None])
            if dtype is None
            else np.dtype(dtype)
        )
        if begin == 0 and by == 1:
            return _iota(size, kind)
    return array_like(active_trace().constant(np.arange(begin, end, by, dtype=dtype)))


@implements(np.eye, creates=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: str = "C", *,
        device: Any = None, like: Any = None) -> Tracer:  # fmt: skip
    rows = operator.index(N)
    found = np.eye(rows, rows if M is None else operator.index(M), operator.index(k), dtype)
    return array_like(active_trace().constant(found))


@implements(np.linspace, creates=True)
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
             dtype: Any = None, axis: int = 0, *, device: Any = None) -> Any:  # fmt: skip
    """Known end points give a constant; traced ones start + step * arange(num)."""
    count = operator.index(num)
    first, last = operand(start), operand(stop)
    traced = any(isinstance(x, Tracer) for x in (first, last))
    if not traced:
        plain: Any = np.linspace
        found = plain(first, last, count, endpoint, retstep, dtype, axis)
        trace = active_trace()
        if retstep:
            return array_like(trace.constant(found[0])), found[1]
        return array_like(trace.constant(found))
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    element = np.result_type(result_type(first, last), float(count))
    a, b = typed(first, element), typed(last, element)
    intervals = count - 1 if endpoint else count
    width = TABLE[np.subtract](b, a)
    step = TABLE[np.true_divide](width, intervals) if intervals > 0 else None
    shape = (count, *[1] * width.ndim)
    ramp = apply("reshape", _iota(count, element), shape=shape)
    found = TABLE[np.add](a, TABLE[np.multiply](ramp, width if step is None else step))
    if endpoint and count > 1:
        at_end = TABLE[np.equal](ramp, float(count - 1))
        found = TABLE[np.where](at_end, b, found)
    if axis != 0:
        found = TABLE[np.moveaxis](found, 0, axis)
    found = found if dtype is None else METHODS["astype"](_floored(found, dtype), dtype)
    if retstep:
        return found, step if step is not None else float("nan")
    return found


def _floored(x: Tracer, dtype: Any) -> Tracer:
    """NumPy rounds down on the way to integers."""
    return TABLE[np.floor](x) if np.dtype(dtype).kind in "iu" else x


@implements(np.logspace, creates=True)
def logspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
             dtype: Any = None, axis: int = 0) -> Tracer:  # fmt: skip
    found = TABLE[np.power](base, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else METHODS["astype"](found, dtype)


@implements(np.geomspace, creates=True)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None,
              axis: int = 0) -> Any:  # fmt: skip
    """With known end points."""
    return _static_result(np.geomspace)(start, stop, num, endpoint, dtype, axis)


# ---------------------------------------------------------------------------------- lists


@implements(np.array, creates=True)
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: str = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Tracer:
    """An array of a tracer, an array, a number, or nested lists of them (stacked)."""
    found = _nested(object)
    if dtype is not None:
        found = METHODS["astype"](found, dtype)
    if found.ndim < ndmin:
        found = apply("reshape", found, shape=(*[1] * (ndmin - found.ndim), *found.shape))
    return array_like(found)


def _nested(x: Any) -> Tracer:
    if isinstance(x, Tracer) or is_number(x) or isinstance(x, np.generic | np.ndarray):
        return as_tracer(x)
    if not isinstance(x, list | tuple) and hasattr(x, "__iter__"):
        x = list(x) if isinstance(x, range | map | zip) or hasattr(x, "__next__") else x
    if not isinstance(x, list | tuple) or not _holds_tracer(x):
        found = np.asarray(x)
        return active_trace().lift(found) if found is x else active_trace().constant(found)
    leaves = list(_leaves(x))
    # Numbers count with their default dtypes in lists: np.array([np.float32(1), 1.0]) is float64.
    dtype = result_type(*[as_tracer(leaf) for leaf in leaves])
    return _stacked(x, dtype)


def _holds_tracer(x: Any) -> bool:
    return any(
        isinstance(i, Tracer) or (isinstance(i, list | tuple) and _holds_tracer(i)) for i in x
    )


def _leaves(x: Any) -> Any:
    for item in x:
        if isinstance(item, list | tuple):
            yield from _leaves(item)
        else:
            yield item


def _stacked(x: Any, dtype: Any) -> Tracer:
    if not isinstance(x, list | tuple):
        return typed(x, dtype)
    if not x:
        return active_trace().constant(np.empty((0,), dtype))
    parts = [_stacked(item, dtype) for item in x]
    shapes = {p.shape for p in parts}
    if len(shapes) != 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape: its parts have the shapes {sorted(shapes, key=str)}"
        )
    shape = parts[0].shape
    rows = [apply("reshape", p, shape=(1, *shape)) for p in parts]
    return apply("concatenate", *rows, axis=0) if len(rows) > 1 else rows[0]


def _as_array(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None,
              like: Any = None) -> Tracer:  # fmt: skip
    """A tracer that is an array already is returned itself, as NumPy does."""
    if isinstance(a, Tracer) and not a.is_scalar and not copy:
        if dtype is None or np.dtype(dtype) == a.dtype:
            return a
    return array(a, dtype)


implements(np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, creates=True)(
    _as_array
)


@implements(np.copy, creates=True)
def copy(a: Any, order: str = "K", subok: bool = False) -> Tracer:
    return array_like(as_tracer(a))


def astype(
    x: Any, dtype: Any, /, *, casting: Any = "unsafe", copy: bool = True, device: Any = None
) -> Tracer:
    """Values converted to `dtype`; TypeError where the casting rule forbids it."""
    tracer = x if isinstance(x, Tracer) else as_tracer(x)
    target = np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(tracer.dtype, target, casting):
        raise TypeError(
            f"Cannot cast array data from {tracer.dtype} to {target} according to the rule "
            f"'{casting}'"
        )
    found = typed(tracer, target)
    return Tracer(found.value, found.owner, is_scalar=tracer.is_scalar and not tracer.ndim)


METHODS["astype"] = astype
if hasattr(np, "astype"):  # NumPy 2.1
    implements(np.astype)(astype)


def item(x: Tracer, *args: Any) -> Tracer:
    """The only element, or the one at a flat index or at an index tuple, as a Python number
    (weak)."""
    if args:
        flat = TABLE[np.ravel](x) if len(args) == 1 and not isinstance(args[0], tuple) else x
        x = TABLE[operator.getitem](flat, args[0] if len(args) == 1 else args)
    if math.prod(x.static_shape("item()")) != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    found = apply("reshape", x, shape=()) if x.ndim else x
    wide = {"b": i1, "i": i64, "u": i64, "f": f64, "c": c128}[found.element.kind]
    found = convert(found, wide)
    return Tracer(found.value, found.owner, weak=True)


METHODS["item"] = item


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays of a grid."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = [TABLE[np.ravel](as_tracer(x)) for x in xi]
    rank = len(arrays)
    places = list(range(rank))
    if indexing == "xy" and rank > 1:
        places[:2] = [1, 0]
    sizes = [1] * rank
    for k, x in zip(places, arrays):
        sizes[k] = x.shape[0]
    found = []
    for k, x in zip(places, arrays):
        column = apply("reshape", x, shape=tuple(n if d == k else 1 for d, n in enumerate(sizes)))
        found.append(column if sparse else broadcast_to(column, tuple(sizes)))
    return tuple(found)


@implements(np.fromfunction, creates=True)
def fromfunction(
    function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    grids = _static_result(np.indices)(size_tuple(shape), dtype=dtype)
    return function(*[grids[k] for k in range(len(grids))], **kwargs)


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Tracer:
    """Columns of powers, by running products."""
    v = as_tracer(x)
    count = v.shape[0] if N is None else operator.index(N)
    dtype = np.promote_types(v.dtype, np.int64)
    powers = [filled(1, v.shape, from_numpy(dtype))]
    v = typed(v, dtype)
    while len(powers) < count:
        powers.append(TABLE[np.multiply](powers[-1], v))
    powers = powers[:count]
    if not powers:
        return filled(0, (v.shape[0], 0), v.element)
    return TABLE[np.stack](powers if increasing else powers[::-1], axis=1)
