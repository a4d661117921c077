"""Axis arguments as NumPy reads them, and adding or dropping axes of size 1."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from numpy.exceptions import AxisError

from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer


def normal_axis(axis: Any, rank: int) -> int:
    """One axis in [0, rank); AxisError as NumPy."""
    found = operator.index(axis)
    if not -rank <= found < rank:
        raise AxisError(found, rank)
    return found % rank


def normal_axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Sorted axes for an `axis` argument: None is all, an int or a tuple."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = [normal_axis(a, rank) for a in given]
    if len(set(found)) != len(found):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(found))


def drop_axes(x: Tracer, axes: Sequence[int]) -> Tracer:
    """Without the axes (all of size 1)."""
    if not axes:
        return x
    return apply("reshape", x, shape=tuple(n for k, n in enumerate(x.shape) if k not in axes))


def keep_axes(x: Tracer, axes: Sequence[int]) -> Tracer:
    """With an axis of size 1 at each of `axes` (sorted, positions in the result)."""
    if not axes:
        return x
    shape = list(x.shape)
    for k in axes:
        shape.insert(k, 1)
    return apply("reshape", x, shape=tuple(shape))
