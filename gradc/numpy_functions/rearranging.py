"""Joining, splitting, repeating, shifting and padding."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import as_tracer, operand, result_type, size_equal, typed
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer
from gradc.numpy_functions.axes import keep_axes, normal_axes, normal_axis
from gradc.numpy_functions.reductions import refuse_out
from gradc.numpy_functions.shaping import atleast_1d, atleast_2d, atleast_3d, flattened


def _sequence(arrays: Any) -> list[Tracer]:
    """The parts as tracers of their promoted dtype."""
    if isinstance(arrays, Tracer):
        return list(arrays)
    parts = [operand(x) for x in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    dtype = result_type(*parts)
    return [typed(x, dtype) for x in parts]


@implements(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None,
                casting: str = "same_kind") -> Tracer:  # fmt: skip
    refuse_out(out, "concatenate")
    parts = _sequence(arrays)
    if dtype is not None:
        parts = [typed(x, np.dtype(dtype)) for x in parts]
    if axis is None:
        parts, axis = [flattened(x) for x in parts], 0
    rank = parts[0].ndim
    if not rank:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    k = normal_axis(axis, rank)
    for at, x in enumerate(parts):
        if x.ndim != rank:
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but the array at index 0 has {rank} dimension(s) and the array at index "
                f"{at} has {x.ndim}"
            )
        for d in range(rank):
            if d != k and not size_equal(x.shape[d], parts[0].shape[d]):
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {d}, the array at index 0 has size "
                    f"{parts[0].shape[d]} and the array at index {at} has size {x.shape[d]}"
                )
        if len(parts) > 1:
            x.static_shape("np.concatenate") if not isinstance(x.shape[k], int) else None
    if len(parts) == 1:
        return TABLE[np.copy](parts[0])
    return apply("concatenate", *parts, axis=k)


@implements(np.stack)
def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Tracer:
    parts = _sequence([as_tracer(a) for a in arrays])
    if len({p.shape for p in parts}) != 1:
        raise ValueError("all input arrays must have the same shape")
    k = normal_axis(axis, parts[0].ndim + 1)
    return concatenate([keep_axes(p, (k,)) for p in parts], k, out, dtype=dtype)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tracer:
    return concatenate([atleast_2d(x) for x in tup], 0, dtype=dtype)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tracer:
    parts = [atleast_1d(x) for x in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype)


@implements(np.dstack)
def dstack(tup: Any) -> Tracer:
    return concatenate([atleast_3d(x) for x in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Tracer:
    columns = [atleast_2d(x).T if as_tracer(x).ndim < 2 else x for x in tup]
    return concatenate(columns, 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Tracer:
    return concatenate([as_tracer(arr), as_tracer(values)], axis)


@implements(np.block)
def block(arrays: Any) -> Tracer:
    rank = max(_depth(arrays), max(as_tracer(x).ndim for x in _leaves(arrays)))
    return _block(arrays, _depth(arrays), rank)


def _depth(x: Any) -> int:
    return 1 + max(map(_depth, x)) if isinstance(x, list) else 0


def _leaves(x: Any) -> list[Any]:
    return [leaf for item in x for leaf in _leaves(item)] if isinstance(x, list) else [x]


def _block(x: Any, depth: int, rank: int) -> Tracer:
    if not isinstance(x, list):
        part = as_tracer(x)
        return keep_axes(part, tuple(range(rank - part.ndim)))
    return concatenate([_block(item, depth - 1, rank) for item in x], -depth)


# ------------------------------------------------------------------------------ splitting


def _split_at(x: Tracer, points: Sequence[int], axis: int) -> list[Tracer]:
    lead = (slice(None),) * axis
    edges = [0, *points]
    found = [x[(*lead, slice(a, b))] for a, b in zip(edges, points)]
    return [*found, x[(*lead, slice(edges[-1], None))]]


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Tracer]:
    x = as_tracer(ary)
    k = normal_axis(axis, x.ndim)
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        return _split_at(x, [operator.index(i) for i in indices_or_sections], k)
    count = operator.index(indices_or_sections)
    if count <= 0:
        raise ValueError("number sections must be larger than 0.")
    each, extra = divmod(x.static_shape("np.split")[k], count)
    sizes = [each + 1] * extra + [each] * (count - extra)
    return _split_at(x, [int(n) for n in np.cumsum(sizes[:-1], dtype=int)], k)


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Tracer]:
    x = as_tracer(ary)
    if not isinstance(indices_or_sections, list | tuple | np.ndarray):
        n = x.static_shape("np.split")[normal_axis(axis, x.ndim)]
        if n % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return split(ary, indices_or_sections, 1 if as_tracer(ary).ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Tracer]:
    return split(ary, indices_or_sections, 2)


if hasattr(np, "unstack"):

    @implements(np.unstack)
    def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Tracer, ...]:
        return tuple(TABLE[np.moveaxis](x, axis, 0))


# --------------------------------------------------------------- flipping, shifting, repeating


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Tracer:
    x = m if isinstance(m, Tracer) else as_tracer(m)
    axes = normal_axes(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(x.ndim))]


@implements(np.fliplr)
def fliplr(m: Any) -> Tracer:
    if as_tracer(m).ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements(np.flipud)
def flipud(m: Any) -> Tracer:
    if as_tracer(m).ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.rot90)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Tracer:
    first, second = axes
    turns = operator.index(k) % 4
    if turns == 0:
        return as_tracer(m)[...]
    if turns == 2:
        return flip(flip(m, first), second)
    if turns == 1:
        return TABLE[np.swapaxes](flip(m, second), first, second)
    return flip(TABLE[np.swapaxes](m, first, second), second)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    x = as_tracer(a)
    if axis is None:
        return TABLE[np.reshape](roll(flattened(x), shift, 0), x.shape)
    shifts, axes = np.broadcast_arrays(_plain(shift), _plain(axis))
    for s, k in zip(shifts.ravel(), axes.ravel()):
        d = normal_axis(int(k), x.ndim)
        n = x.static_shape("np.roll")[d]
        at = int(s) % n if n else 0
        if at:
            lead = (slice(None),) * d
            x = concatenate([x[(*lead, slice(n - at, None))], x[(*lead, slice(n - at))]], d)
    return x


def _plain(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [operator.index(i) for i in x]
    return operator.index(x)


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Tracer:
    """Known repeats; one number, or one for each element of the axis."""
    x = as_tracer(a)
    if axis is None:
        x, axis = flattened(x), 0
    k = normal_axis(axis, x.ndim)
    if isinstance(repeats, Tracer) and repeats.python is None:
        raise TracingError(
            "np.repeat with traced repeats: the size of the result must be known while tracing; "
            "pass the repeats as a static argument, or np.take with known indices"
        )
    counts = np.asarray(_plain(repeats) if isinstance(repeats, Tracer) else repeats)
    n = x.static_shape("np.repeat")[k]
    if counts.size == 1:
        times = int(counts.reshape(-1)[0])
        shape = (*x.shape[: k + 1], times, *x.shape[k + 1 :])
        dims = tuple(d for d in range(len(shape)) if d != k + 1)
        spread = apply("broadcast", x, shape=shape, dims=dims)
        return apply("reshape", spread, shape=(*x.shape[:k], n * times, *x.shape[k + 1 :]))
    return TABLE[np.take](x, np.repeat(np.arange(n), counts), axis=k)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Tracer:
    x = as_tracer(A)
    times = [
        operator.index(r)
        for r in (reps if isinstance(reps, tuple | list | np.ndarray) else (reps,))
    ]
    rank = max(x.ndim, len(times))
    x = keep_axes(x, tuple(range(rank - x.ndim)))
    times = [1] * (rank - len(times)) + times
    shape = tuple(m for t, n in zip(times, x.shape) for m in (t, n))
    spread = apply("broadcast", x, shape=shape, dims=tuple(range(1, 2 * rank, 2)))
    return apply(
        "reshape", spread, shape=tuple(t * n for t, n in zip(times, x.static_shape("np.tile")))
    )


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Tracer:
    x = flattened(as_tracer(a))
    sizes = (new_shape,) if isinstance(new_shape, int | np.integer | Tracer) else tuple(new_shape)
    shape = tuple(map(operator.index, sizes))
    total = int(np.prod(shape))
    if not x.size or not total:
        return TABLE[np.zeros](shape, dtype=x.dtype)
    return TABLE[np.reshape](TABLE[np.take](x, np.arange(total) % x.size), shape)


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Tracer:
    x = as_tracer(arr)
    if axis is None:
        x, axis = flattened(x), 0
    k = normal_axis(axis, x.ndim)
    kept = np.delete(np.arange(x.static_shape("np.delete")[k]), obj)
    return TABLE[np.take](x, kept, axis=k)


# -------------------------------------------------------------------------------- padding


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Tracer:
    """Modes constant, edge, reflect, symmetric, wrap and zero-size empty."""
    x = as_tracer(array)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant" or mode == "empty":
        return _pad_constant(x, widths, options.get("constant_values", 0))
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise TracingError(
            f"np.pad with mode={mode!r} has no rule: use constant, edge, reflect, symmetric or wrap"
        )
    for k, (low, high) in enumerate(widths):
        if low or high:
            # NumPy pads the positions; the elements follow them.
            places = np.pad(np.arange(x.static_shape("np.pad")[k]), (low, high), mode, **options)
            x = TABLE[np.take](x, places, axis=k)
    return x


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        found = [(0, 0)] * rank
        for axis, width in pad_width.items():
            pair = width if isinstance(width, tuple | list) else (width, width)
            found[normal_axis(axis, rank)] = (operator.index(pair[0]), operator.index(pair[1]))
        return found
    spread = np.broadcast_to(np.asarray(_static_widths(pad_width)), (rank, 2))
    if (spread < 0).any():
        raise ValueError("index can't contain negative values")
    return [(int(low), int(high)) for low, high in spread]


def _static_widths(x: Any) -> Any:
    return (
        [_static_widths(i) for i in x]
        if isinstance(x, tuple | list)
        else (x if isinstance(x, np.ndarray) else operator.index(x))
    )


def _pad_constant(x: Tracer, widths: list[tuple[int, int]], values: Any) -> Tracer:
    if not isinstance(values, tuple | list | np.ndarray):
        fill = typed(values, x.dtype, ())
        sides = {"low": tuple(w[0] for w in widths), "high": tuple(w[1] for w in widths)}
        return apply("pad", x, fill, **sides)
    pairs = np.broadcast_to(np.asarray(values), (x.ndim, 2))
    for k, (low, high) in enumerate(widths):
        for before, after, number in ((low, 0, pairs[k, 0]), (0, high, pairs[k, 1])):
            lows = tuple(before if d == k else 0 for d in range(x.ndim))
            highs = tuple(after if d == k else 0 for d in range(x.ndim))
            x = apply("pad", x, typed(number.astype(x.dtype), x.dtype, ()), low=lows, high=highs)
    return x
