"""Inputs whose size the program finds itself: cotangents of results such as x[x > 0].

A native program takes arrays of sizes known beforehand. Such an input is passed at its largest
shape, and the program takes from it what the sizes turn out to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.frontend.trace import build
from gradc.frontend.tracer import Tracer
from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value
from gradc.ir.ops.func import FuncOp, copy_function
from gradc.ir.types import Dim, TensorType, i64

Shape = tuple[Any, ...]


def largest_inputs(function: FuncOp) -> tuple[FuncOp, list[tuple[int, ...]]]:
    """The function with inputs of static shapes only, and the shapes of its inputs."""
    if all(value.type.is_static for value in function.args):
        return function, [value.type.shape for value in function.args]
    function = copy_function(function, function["sym_name"])
    bounds: dict[str, int] = {}
    for op in function.walk():
        capacity = getattr(op, "capacity", None)
        if capacity is not None:
            bounds.update(capacity(op))
    for value in function.args:
        if not value.type.is_static:
            shape = value.type.shape
            value.type = value.type.with_shape(
                tuple(bounds[n.name] if isinstance(n, Dim) else n for n in shape)
            )
            _cut(function, value, shape)
    function.update_type()
    return function, [value.type.shape for value in function.args]


def _cut(function: FuncOp, value: Value, shape: Shape) -> None:
    """Replace an input by its first elements, right before it is first used."""
    users = set(map(id, value.users))
    first = next((op for op in function.body.ops if _has(op, users)), None)
    if first is None:
        return
    found = first_elements(Builder(function.body, first.location, before=first), value, shape)
    for user in list(value.users):
        if id(user) in users:
            user.set_operands(tuple(found if v is value else v for v in user.operands))


def _has(op: Operation, users: set[int]) -> bool:
    return any(id(inner) in users for inner in op.walk())


def first_elements(b: Any, value: Any, shape: Shape) -> Any:
    """`value` with its axes cut to `shape`, sizes known at run time among them."""
    for axis, size in enumerate(shape):
        if value.type.shape[axis] == size:
            continue
        index = b.iota(axis=0, type=TensorType((size,), i64))
        value = b.gather(value, index, axes=(axis,))
        perm = (*range(1, axis + 1), 0, *range(axis + 1, len(shape)))
        if axis:
            value = b.transpose(value, perm=perm)
    return value


def padded(array: Any, shape: tuple[int, ...]) -> Any:
    """The array with zeros behind it, up to `shape`."""
    if np.shape(array) == shape:
        return array
    array = np.asarray(array)
    found = np.zeros(shape, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found


def taking_any_size(execute: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
    """A function of arrays up to these shapes, from one of arrays of exactly these."""
    return lambda *arrays: execute(*map(padded, arrays, shapes))


def fitted(array: Any, like: Any) -> Any:
    """An array of the shape that the traced result `like` turns out to have, from one that has as
    many elements; the array itself where the shape is known."""
    if not isinstance(like, Tracer) or like.value.type.is_static:
        return array
    trace = like.owner
    return build(lambda b, value: first_elements(b, value, like.shape), trace.lift(array))
