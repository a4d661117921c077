"""vjp, jvp and hvp: products with the Jacobian and with the Hessian."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc import pytree
from gradc.engine import Bound
from gradc.frontend.tracer import Tracer
from gradc.ir.types import TensorType, to_numpy
from gradc.modes import HessianVectorMode, Mode, PullbackMode, TangentMode, ValueMode, wrt_leaves
from gradc.resolve import Resolved, resolve
from gradc.tracing import Traced


def bind(function: Callable[..., Any], primals: Sequence[Any]) -> tuple[Bound, tuple[int, ...]]:
    """The function traced at these arguments, and the positions of the arguments in it."""
    r: Resolved = resolve(function)
    bound = r.engine.bind(r.function, (*r.args, *primals), dict(r.keywords))
    return bound, tuple(range(len(r.args), len(r.args) + len(primals)))


def vjp(
    function: Callable[..., Any], *primals: Any
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """(result, pullback): the pullback takes a cotangent of the result's structure and returns a
    tuple with the cotangent of each argument (None for integer and static leaves).

    The cotangent of a complex value z = x + iy stands for dL/dx + i dL/dy of a real L. Cotangents
    of integer results are ignored. The pullback uses the arguments as they were at this call.
    Raises TypeError or ValueError where a cotangent has another structure, dtype or shape than the
    result.
    """
    bound, argnums = bind(function, primals)
    if not bound.nested:
        bound.inputs = [np.array(x) for x in bound.inputs]
    out = bound.rebuild(ValueMode(), bound.run(ValueMode()))
    mode = PullbackMode(argnums)
    shapes = [getattr(leaf, "shape", ()) for leaf in pytree.flatten(out)[0]]

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        extra = result_leaves(bound.traced, cotangent, "cotangent", shapes)
        found: tuple[Any, ...] = run(bound, mode, extra)
        return found

    return out, pullback


def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """(result, tangent of the result) for tangents of the arguments (None for integer and static
    leaves).

    Raises TypeError or ValueError where a tangent has another structure, dtype or shape than its
    argument.
    """
    primals, tangents = as_tuples(primals, tangents, "tangents")
    bound, argnums = bind(function, primals)
    extra = argument_leaves(bound.traced, argnums, tangents, "tangents")
    out, tangent = run(bound, TangentMode(argnums), extra)
    return out, tangent


def hvp(function: Callable[..., Any], primals: Any, vectors: Any) -> Any:
    """The Hessian of a scalar function times `vectors`: forward over reverse mode.

    primals, vectors: tuples with an entry for each argument, then a tuple is returned; or the
        single argument and its vector
    """
    single = not isinstance(primals, tuple | list)
    if single:
        primals, vectors = (primals,), (vectors,)
    primals, vectors = as_tuples(primals, vectors, "vectors")
    bound, argnums = bind(function, primals)
    extra = argument_leaves(bound.traced, argnums, vectors, "vectors")
    found = run(bound, HessianVectorMode(argnums), extra)
    return found[0] if single else found


def run(bound: Bound, mode: Mode, extra: Sequence[Any]) -> Any:
    """Run a mode with its own inputs given as arrays or tracers; the tree of its results."""
    return bound.rebuild(mode, bound.run(mode, bound.as_inputs(extra)))


def as_tuples(primals: Any, others: Any, what: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Both as tuples of one length; TypeError otherwise."""
    for value, name in ((primals, "primals"), (others, what)):
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"expected {name} to be a tuple with an entry for each argument, got "
                f"{type(value).__name__}"
            )
    if len(primals) != len(others):
        raise ValueError(f"expected as many {what} as primals, {len(primals)}, got {len(others)}")
    return tuple(primals), tuple(others)


def result_leaves(
    traced: Traced, tree: Any, what: str, shapes: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """The leaves of a cotangent, for the floating and complex results, one for each of the
    program's.

    shapes: the shapes of the result's leaves at this call

    A value that the function returns twice, or in two leaves, has a cotangent for each.
    """
    expected, structure = pytree.flatten(traced.result)
    leaves, found = pytree.flatten(tree)
    if found != structure:
        raise TypeError(
            f"expected a {what} with the structure of the result, {structure}, got {found}"
        )
    paths = pytree.leaf_paths(structure, what)
    extra = []
    for result, leaf, path, shape in zip(expected, leaves, paths, shapes):
        if result.position < 0:
            continue
        type_ = traced.function.returned[result.position].type
        if type_.dtype.is_inexact:
            extra.append(converted(leaf, type_.with_shape(shape), path))
    return extra


def argument_leaves(
    traced: Traced, argnums: Sequence[int], trees: Sequence[Any], what: str
) -> list[Any]:
    """The leaves of tangents for the floating and complex leaves of the arguments."""
    call = traced.call
    wanted = set(wrt_leaves(traced, argnums))
    extra = []
    for k, (argument, tree) in enumerate(zip(argnums, trees)):
        structure = call.argument_structure(argument)
        leaves, found = pytree.flatten(tree)
        if found != structure:
            raise TypeError(
                f"expected {what}[{k}] with the structure of its argument, {structure}, got {found}"
            )
        paths = pytree.leaf_paths(structure, f"{what}[{k}]")
        for position, leaf, path in zip(call.argument_leaves(argument), leaves, paths):
            if position in wanted:
                extra.append(converted(leaf, call.kinds[position].type, path))
    return extra


def converted(leaf: Any, type_: TensorType | None, path: str) -> Any:
    """A tangent or cotangent leaf as an array (or tracer) of exactly this type."""
    assert type_ is not None
    dtype = to_numpy(type_.dtype)
    if leaf is None:
        raise TypeError(f"{path} is None: expected {type_.dtype.name}{list(type_.shape)}")
    array = leaf if isinstance(leaf, Tracer) else np.asarray(leaf)
    if tuple(array.shape) != type_.shape:
        hint = (
            "" if type_.is_static
            else ", which is known only at run time: compute it from the result, for instance with "
            "np.ones_like"
        )  # fmt: skip
        raise ValueError(
            f"{path} has shape {list(array.shape)}: expected {list(type_.shape)}{hint}"
        )
    if array.dtype != dtype:
        if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
            raise TypeError(f"{path} has dtype {array.dtype}: expected {dtype}")
        if array.dtype.kind == "c" and dtype.kind != "c":
            raise TypeError(f"{path} is complex ({array.dtype}): expected {dtype}")
        array = array.astype(dtype)
    return array
