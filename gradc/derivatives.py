"""Whole Jacobians and Hessians."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from gradc import pytree
from gradc.engine import Bound
from gradc.frontend.location import TracingError
from gradc.frontend.tracer import Tracer
from gradc.ir.types import TensorType, to_numpy
from gradc.modes import PullbackMode, TangentMode, ValueMode, check_argnums, wrt_inputs, wrt_leaves
from gradc.resolve import Resolved, Transform, bound_to, function_key, resolve
from gradc.transforms import checked_argnums, grad, know_source, shifted


class Jacobian(Transform):
    """A function returning the Jacobian of `function`, made by jacobian and hessian."""

    def __init__(
        self, function: Callable[..., Any], argnums: int | tuple[int, ...], forward: bool | None
    ) -> None:
        self.function = function
        self.argnums = argnums
        self.forward = forward
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        know_source(self)
        r: Resolved = resolve(self.function)
        bound = r.engine.bind(r.function, (*r.args, *args), {**r.keywords, **kwargs})
        argnums = shifted(self.argnums, len(r.args))
        positions = (argnums,) if isinstance(argnums, int) else argnums
        check_argnums(bound.traced, positions, len(r.args))
        return jacobian_of(bound, argnums, self.forward)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        first = bound_to(self.function, instance, owner)
        return self if first is None else MethodType(self, first)

    def __reduce__(self) -> Any:
        return Jacobian, (self.function, self.argnums, self.forward)

    def __repr__(self) -> str:
        return f"<gradc.jacobian of {self.function!r}>"

    def transform_key(self) -> tuple[Any, Any] | None:
        key, alive = function_key(self.function)
        return ("jacobian", key, self.argnums, self.forward), alive


def jacobian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the Jacobian: for each result leaf and argument leaf an array of
    shape result.shape + argument.shape, nested as the result's tree of the arguments' trees.

    Forward mode where the arguments have fewer elements than the result, else reverse. For complex
    values the reverse mode's rows are gradients dL/dx + i dL/dy of the result's real parts.
    Raises TypeError for integer arguments.
    """
    return Jacobian(function, checked_argnums(argnums), None)


def hessian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that returns the matrix of second derivatives of a scalar function, forward over
    reverse mode: arrays of shape argument.shape + argument.shape, nested as
    jacobian(grad(function))."""
    return Jacobian(grad(function, argnums), checked_argnums(argnums), True)


def jacobian_of(bound: Bound, argnums: int | tuple[int, ...], forward: bool | None) -> Any:
    """The Jacobian of a bound function."""
    traced = bound.traced
    positions = (argnums,) if isinstance(argnums, int) else argnums
    wrt_inputs(traced, positions)  # the errors of integer arguments
    call = traced.call
    inputs = [call.kinds[k].type for k in wrt_leaves(traced, positions)]
    results, structure = pytree.flatten(traced.result)
    outputs: list[TensorType | None] = []
    for result in results:
        type_ = traced.function.returned[result.position].type if result.position >= 0 else None
        outputs.append(type_ if type_ is not None and type_.dtype.is_inexact else None)
    if any(t is not None and not t.is_static for t in outputs):
        outputs = _at_run_time(bound, results, outputs)
    differentiated = [t for t in outputs if t is not None]
    if not differentiated:
        raise TypeError(f"{traced.function['sym_name']} has no floating or complex result")
    if forward is None:
        forward = sum(_size(t) for t in inputs) < sum(_size(t) for t in differentiated)
    columns = _forward if forward else _reverse
    blocks = columns(bound, positions, inputs, differentiated)
    rows = iter(blocks)
    return pytree.unflatten(
        structure,
        [None if t is None else _argument_trees(bound, argnums, next(rows)) for t in outputs],
    )


def _at_run_time(
    bound: Bound, results: Sequence[Any], outputs: Sequence[TensorType | None]
) -> list[TensorType | None]:
    """The types of result leaves with the sizes that they have at these arguments."""
    if bound.nested:
        raise TracingError(
            "the Jacobian of a result whose size is known only at run time (from a boolean mask or "
            "np.nonzero) in a traced function: use np.where with the mask on the full array, or "
            "gradc.vjp and gradc.jvp"
        )
    values = bound.run(ValueMode())
    return [
        None if t is None else t.with_shape(np.shape(values[result.position]))
        for t, result in zip(outputs, results)
    ]


def _argument_trees(bound: Bound, argnums: int | tuple[int, ...], blocks: list[Any]) -> Any:
    """The arrays of one result leaf as a tree of each argument."""
    traced = bound.traced
    call = traced.call
    positions = (argnums,) if isinstance(argnums, int) else argnums
    wanted = set(wrt_leaves(traced, positions))
    left = iter(blocks)
    trees = [
        pytree.unflatten(
            call.argument_structure(argument),
            [next(left) if k in wanted else None for k in call.argument_leaves(argument)],
        )
        for argument in positions
    ]
    return trees[0] if isinstance(argnums, int) else tuple(trees)


def _size(type_: Any) -> int:
    return math.prod(type_.shape)


def _basis(types: Sequence[Any]) -> Any:
    """For each element of each type: arrays that are zero but for a one there."""
    zeros = [np.zeros(t.shape, to_numpy(t.dtype)) for t in types]
    for k, type_ in enumerate(types):
        for element in range(_size(type_)):
            one = np.zeros(type_.shape, to_numpy(type_.dtype))
            one.reshape(-1)[element] = 1
            yield k, [*zeros[:k], one, *zeros[k + 1 :]]


def _stack(rows: list[Any], shape: tuple[int, ...], dtype: Any, axis: int) -> Any:
    if not rows:
        return np.zeros(shape, to_numpy(dtype))
    if any(isinstance(row, Tracer) for row in rows):
        return np.reshape(np.stack(rows, axis), shape)
    return np.stack(rows, axis).reshape(shape)


def _reverse(bound: Bound, positions: Any, inputs: Any, outputs: Any) -> list[list[Any]]:
    """Row by row: one pullback for each element of the results."""
    mode = PullbackMode(tuple(positions))
    rows: list[list[list[Any]]] = [[[] for _ in inputs] for _ in outputs]
    for k, cotangents in _basis(outputs):
        found = bound.run(mode, bound.as_inputs(cotangents))
        for column, array in zip(rows[k], found, strict=True):
            column.append(array)
    return [
        [_stack(row[j], out.shape + t.shape, t.dtype, 0) for j, t in enumerate(inputs)]
        for row, out in zip(rows, outputs)
    ]


def _forward(bound: Bound, positions: Any, inputs: Any, outputs: Any) -> list[list[Any]]:
    """Column by column: one pushforward for each element of the arguments."""
    mode = TangentMode(tuple(positions))
    values = len(bound.traced.function.returned)
    columns: list[list[list[Any]]] = [[[] for _ in inputs] for _ in outputs]
    for j, tangents in _basis(inputs):
        found = bound.run(mode, bound.as_inputs(tangents))[values:]
        for row, array in zip(columns, found, strict=True):
            row[j].append(array)
    return [
        [_stack(row[j], out.shape + t.shape, out.dtype, -1) for j, t in enumerate(inputs)]
        for row, out in zip(columns, outputs)
    ]
