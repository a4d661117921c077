"""x[key] on tracers, by NumPy's rules.

Ints, slices, None and Ellipsis give views (nd.slice, nd.reshape). Integer arrays, masks and traced
integers give copies (nd.gather): concrete ones are checked now, traced ones when the program runs.
Where arrays are next to each other their result axes take their place; separated by a slice, None
or Ellipsis they come first.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import broadcast_shapes, broadcast_to, convert, has_tracer, size_equal
from gradc.frontend.table import TABLE
from gradc.frontend.trace import active_trace, apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.core import Value
from gradc.ir.ops.creation import constant_value
from gradc.ir.types import Dim, i64

_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


@dataclass
class _Item:
    """One part of a key. kind: "int", "slice", "new", "array"; `axis` is x's axis."""

    kind: str
    value: Any
    axis: int = -1


def index(x: Any, key: Any) -> Tracer:
    """x[key]; IndexError as NumPy where the key does not fit."""
    trace = active_trace()
    if not isinstance(x, Tracer):
        x = trace.lift(x)
    items = _parse(x, key if isinstance(key, tuple) else (key,))
    if not any(item.kind == "array" for item in items):
        return _basic(x, items, key)
    return _advanced(x, items)


# -------------------------------------------------------------------------------- parsing


def _parse(x: Tracer, key: tuple[Any, ...]) -> list[_Item]:
    """The key's parts, masks as integer arrays, Ellipsis and missing axes as full slices."""
    parts = [_part(k) for k in key]
    used = sum(_axes_taken(p) for p in parts)
    if used > x.ndim:
        raise IndexError(
            f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed"
        )
    if sum(p is Ellipsis for p in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    written = any(p is Ellipsis for p in parts)
    if not written:
        parts.append(Ellipsis)
    items: list[_Item] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            for _ in range(x.ndim - used):
                items.append(_Item("slice", slice(None), axis))
                axis += 1
            if used == x.ndim and written:
                # An ellipsis of no axes still separates arrays, and makes the result an array.
                items.append(_Item("gap", None))
        elif part is None:
            items.append(_Item("new", None))
        elif isinstance(part, slice):
            items.append(_Item("slice", part, axis))
            axis += 1
        elif isinstance(part, int):
            items.append(_Item("int", _checked(part, x.shape[axis], axis), axis))
            axis += 1
        elif part.dtype == bool:
            for found in _mask(x, part, axis):
                items.append(_Item("array", found, axis))
                axis += 1
        else:
            items.append(_Item("array", _integers(part, x.shape[axis], axis), axis))
            axis += 1
    return items


def _part(k: Any) -> Any:
    """A part of a key as an int, slice, None, Ellipsis, ndarray or tracer."""
    if k is None or k is Ellipsis or isinstance(k, slice):
        return k
    if isinstance(k, Tracer):
        if k.element.is_inexact:
            raise IndexError(
                f"{_NOT_AN_INDEX}: got a traced {k.describe()}. Convert it with astype(int)"
            )
        literal = k.weak and k.python is not None and not k.roots
        return int(k.python) if literal else k
    if isinstance(k, bool | np.bool_):
        return np.asarray(k)
    if isinstance(k, int | np.integer):
        return int(k)
    if isinstance(k, list | tuple):
        k = TABLE[np.array](k) if has_tracer(k) else np.asarray(k)
        if isinstance(k, Tracer):
            return _part(k)
        if not k.size:
            k = k.astype(np.int64)
    if isinstance(k, np.ndarray):
        if k.dtype.kind not in "biu":
            raise IndexError(
                f"arrays used as indices must be of integer (or boolean) type: got {k.dtype}"
            )
        return int(k) if k.ndim == 0 and k.dtype != bool else k
    if hasattr(k, "__index__"):
        return operator.index(k)
    raise IndexError(f"{_NOT_AN_INDEX}: got {type(k).__name__}")


def _axes_taken(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, int | slice):
        return 1
    return part.ndim if part.dtype == bool else 1


def _checked(k: int, n: Any, axis: int) -> int:
    """A static index made non-negative; on an axis of run-time size it is left to the program."""
    if isinstance(n, Dim):
        raise TracingError(
            f"a constant index on axis {axis}, whose size is known only at run time (from a "
            "boolean mask or np.nonzero): use np.where with the mask on the full array"
        )
    if not -n <= k < n:
        raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
    return k % n


def _mask(x: Tracer, mask: Any, axis: int) -> Sequence[Any]:
    """One integer array for each axis of a mask."""
    sizes = x.shape[axis : axis + mask.ndim]
    for k, (n, m) in enumerate(zip(sizes, mask.shape)):
        if not size_equal(n, m):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                f"{n} but size of corresponding boolean axis is {m}"
            )
    if mask.ndim == 0:
        raise TracingError(
            "a single bool as an index: write np.where(condition, x, other), or x[None] where the "
            "condition is known"
        )
    if isinstance(mask, np.ndarray):
        return [k.astype(np.int64) for k in np.nonzero(mask)]
    return nonzero(mask)


def nonzero(mask: Tracer) -> tuple[Tracer, ...]:
    """Indices of the true elements of a traced mask of rank 1 or more, one vector for each axis.

    The same mask, or one computed by the same operations, gives the same vectors, so that x[m] and
    y[m] agree in their size.
    """
    trace = active_trace()
    key = _identity(trace.value(mask), 6)
    found = trace.nonzeros.get(key)
    if found is None:
        results = apply("nonzero", mask, size=trace.fresh_size())
        found = trace.nonzeros[key] = results if isinstance(results, tuple) else (results,)
    return found


def _identity(value: Value, depth: int) -> Any:
    """Equal for values that are equal by construction."""
    op = value.defining_op
    if op is None or depth == 0 or op.regions or getattr(op, "effects", False):
        return id(value)
    attributes = tuple(sorted((k, repr(v)) for k, v in op.attributes.items()))
    if any(isinstance(v, np.ndarray) for v in op.attributes.values()):
        return id(value)
    operands = tuple(_identity(v, depth - 1) for v in op.operands)
    return (op.name, value.index, attributes, operands)


def _integers(k: Any, n: Any, axis: int) -> Any:
    """Integer indices made non-negative; concrete ones checked."""
    if isinstance(k, Tracer):
        return non_negative(k, n)
    k = k.astype(np.int64)
    if isinstance(n, Dim):
        return non_negative(active_trace().constant(k), n)
    bad = (k < -n) | (k >= n)
    if bad.any():
        raise IndexError(f"index {k[bad].flat[0]} is out of bounds for axis {axis} with size {n}")
    return np.where(k < 0, k + n, k)


def non_negative(k: Tracer, n: Any, size: Tracer | None = None) -> Tracer:
    """Traced indices with n added where they are negative."""
    op = active_trace().value(k).defining_op
    if k.element.kind == "u" or getattr(op, "never_negative", False):
        return convert(k, i64)
    k = convert(k, i64)
    if isinstance(n, Dim):
        raise TracingError(
            "a traced index into an axis whose size is known only at run time: index the full array"
        )
    wrapped = apply("add", k, filled(n, k.shape, i64))
    return apply("select", apply("lt", k, filled(0, k.shape, i64)), wrapped, k)


# ---------------------------------------------------------------------------------- basic


def _basic(x: Tracer, items: list[_Item], key: Any) -> Tracer:
    sliced, shape = _slice(x, items)
    found = sliced if sliced.shape == shape else apply("reshape", sliced, shape=shape)
    if found is x:
        found = Tracer(x.value, x.owner) if x.owner is active_trace() else active_trace().lift(x)
        found = Tracer(found.value, found.owner)
    if not found.ndim and not any(i.kind == "gap" for i in items):
        return found  # a scalar: a copy in NumPy too
    found.is_scalar = False
    return found.view_of(x, ("index", key))


def _slice(x: Tracer, items: list[_Item]) -> tuple[Tracer, tuple[Any, ...]]:
    """x cut by ints and slices (axes of "array" items stay whole), and the shape without the int
    axes and with the new ones."""
    starts: list[Any] = []
    dynamic: list[Tracer] = []
    sizes, steps, shape = [], [], []
    for item in items:
        if item.kind == "new":
            shape.append(1)
        elif item.kind == "int":
            starts.append(item.value)
            sizes.append(1)
            steps.append(1)
        elif item.kind != "gap":
            whole = slice(None) if item.kind == "array" else item.value
            window = _window(whole)
            if window is not None:
                dynamic.append(window[0])
                start, size, step = None, window[1], 1
            else:
                start, size, step = _bounds(whole, x.shape[item.axis])
            starts.append(start)
            sizes.append(size)
            steps.append(step)
            shape.append(size)
    if dynamic or tuple(sizes) != x.shape or any(s != 1 for s in steps):
        places = {"starts": tuple(starts), "sizes": tuple(sizes), "steps": tuple(steps)}
        x = apply("slice", x, *dynamic, **places)
    return x, tuple(shape)


def _window(part: slice) -> tuple[Tracer, int] | None:
    """(start, size) of x[i : i + 3], i traced: bounds that differ by a known number.

    Such a window must lie in the array: where NumPy would cut it off at an end or count a negative
    bound from the back, the program raises IndexError.
    """
    start, stop = part.start, part.stop
    if not (isinstance(start, Tracer) and isinstance(stop, Tracer)) or part.step not in (None, 1):
        return None
    if start.python is not None or stop.python is not None:
        return None
    trace = active_trace()
    (first, low), (second, high) = _shift(trace.value(start)), _shift(trace.value(stop))
    if first is not second or high < low or start.ndim or not start.element.is_integer:
        return None
    return convert(start, i64), high - low


def _shift(value: Value) -> tuple[Value, int]:
    """value as (another value, known offset)."""
    offset = 0
    while (op := value.defining_op) is not None and op.name in ("nd.add", "nd.sub"):
        left, right = op.operands
        number = constant_value(right)
        if number is not None:
            value, offset = left, offset + int(number.real) * (1 if op.name == "nd.add" else -1)
        elif op.name == "nd.add" and (number := constant_value(left)) is not None:
            value, offset = right, offset + int(number.real)
        else:
            break
    return value, offset


def _bounds(part: slice, n: Any) -> tuple[int, Any, int]:
    """start, size, step of a slice on an axis of size n."""
    if part == slice(None):
        return 0, n, 1
    if isinstance(n, Dim):
        step = 1 if part.step is None else operator.index(part.step)
        if part.start is None and part.stop is None and abs(step) == 1 and step > 0:
            return 0, n, 1
        raise TracingError(
            "a slice of an axis whose size is known only at run time (from a boolean mask or "
            "np.nonzero): slice the full array, or use np.where with the mask"
        )
    for bound in (part.start, part.stop, part.step):
        if isinstance(bound, Tracer) and bound.python is None:
            raise TracingError(
                "a slice with a traced bound: the size of the result must be known while tracing. "
                "Take n elements from a traced start with x[start + np.arange(n)], or keep the "
                "full size and use np.where(np.arange(len(x)) < stop, x, 0)"
            )
    start, stop, step = part.indices(n)
    size = len(range(start, stop, step))
    return (start if size else 0), size, (step if size else 1)


# ------------------------------------------------------------------------------- advanced


def _advanced(x: Tracer, items: list[_Item]) -> Tracer:
    arrays = [i for i in items if i.kind in ("array", "int")]
    shape = broadcast_shapes(*[_shape(i.value) for i in arrays if i.kind == "array"])
    axes = tuple(i.axis for i in arrays)
    # The axes that are only sliced first, so that less is gathered.
    cut = [i if i.kind not in ("array", "int") else _Item("array", i.value, i.axis) for i in items]
    sliced, _ = _slice(x, cut)
    indices = [_index_tracer(i, shape) for i in arrays]
    found = apply("gather", sliced, *indices, axes=axes)
    # found has the index axes first; NumPy wants them where the arrays stood if these are adjacent.
    positions = [k for k, i in enumerate(items) if i.kind in ("array", "int")]
    adjacent = positions == list(range(positions[0], positions[-1] + 1))
    before = items[: positions[0]] if adjacent else []
    lead = sum(i.kind == "slice" for i in before)
    rank, own = found.ndim, len(shape)
    if lead and own:
        perm = (*range(own, own + lead), *range(own), *range(own + lead, rank))
        found = apply("transpose", found, perm=perm)
    if any(i.kind == "new" for i in items):
        found = apply("reshape", found, shape=_with_new_axes(found.shape, items, lead, own))
    return Tracer(found.value, found.owner)


def _with_new_axes(
    shape: tuple[Any, ...], items: list[_Item], lead: int, own: int
) -> tuple[Any, ...]:
    """The shape of the gathered array with an axis of size 1 for each None."""
    rest = [*shape[:lead], *shape[lead + own :]]
    result: list[Any] = []
    placed = lead == 0 and not _leads(items)
    if placed:
        result.extend(shape[:own])
    sliced = iter(rest)
    for item in items:
        if item.kind == "slice":
            result.append(next(sliced))
        elif item.kind == "new":
            result.append(1)
        elif item.kind in ("array", "int") and not placed:
            result.extend(shape[lead : lead + own])
            placed = True
    return tuple(result)


def _leads(items: list[_Item]) -> bool:
    """Do the arrays stand together, so that their axes keep their place?"""
    positions = [k for k, i in enumerate(items) if i.kind in ("array", "int")]
    return positions == list(range(positions[0], positions[-1] + 1))


def _shape(k: Any) -> tuple[Any, ...]:
    return tuple(k.shape)


def _index_tracer(item: _Item, shape: tuple[Any, ...]) -> Tracer:
    if item.kind == "int":
        return filled(item.value, shape, i64)
    k = item.value
    if isinstance(k, np.ndarray):
        k = active_trace().constant(k)
    return broadcast_to(k, shape)
