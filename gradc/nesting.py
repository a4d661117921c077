"""Transforms inside a traced function: trace the inner function on its own, to be inlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc import pytree
from gradc.frontend import control
from gradc.frontend.context import current_context
from gradc.frontend.sources import Reader
from gradc.frontend.trace import Trace, active_trace
from gradc.frontend.tracer import Tracer
from gradc.ir.core import Value
from gradc.signature import Call, Leaf
from gradc.tracing import (
    Traced,
    argument,
    borrowed_operands,
    collect_results,
    finished,
    function_location,
    function_name,
    input_hints,
)


def trace_inner(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    static_names: frozenset[str],
) -> tuple[Traced, list[Value]]:
    """Trace `function` within the active trace: its own function, and the outer values of its
    inputs.

    Arrays and floats among the arguments are inputs, ints and everything else static. Values of the
    enclosing traces that the function uses become further inputs.
    """
    outer = active_trace()
    context = current_context()
    assert context is not None
    leaves, structure = pytree.flatten((args, kwargs))
    kinds = [_kind(leaf) for leaf in leaves]
    call = Call(structure, tuple(kinds), list(leaves), names)
    inner = Trace(function_name(function), function_location(function))
    # Captured arrays are inputs of the outermost function, borrowed here.
    inner.capture = lambda array: inner.borrow(context.capture.anonymous_array(array))
    known: dict[int, Tracer] = {}

    def pin(tracer: Tracer) -> None:
        origin = known.get(id(tracer))
        if origin is not None:
            origin.known()
        elif tracer.owner is not inner:
            tracer.owner.on_static_use(tracer)

    inner.on_static_use = pin
    operands: list[Value] = []
    for k, (kind, hint) in enumerate(zip(kinds, input_hints(call))):
        if not kind.is_dynamic:
            continue
        leaf = leaves[k]
        operands.append(outer.value(outer.lift(leaf)))
        python = leaf.python if isinstance(leaf, Tracer) else leaf
        call.leaves[k] = argument(inner, kind, hint, python)
        if isinstance(leaf, Tracer) and leaf.python is not None:
            known[id(call.leaves[k])] = leaf
    inner_args, inner_kwargs = pytree.unflatten(structure, call.leaves)
    with inner.active():
        result = control.call(function, inner_args, inner_kwargs)
        tree, values = collect_results(inner, result)
    func = finished(inner, values)
    operands += borrowed_operands(inner, outer)
    return Traced(func, call, tree, Reader(), []), operands


def _kind(leaf: Any) -> Leaf:
    if isinstance(leaf, Tracer):
        kind = "python" if leaf.weak else "scalar" if leaf.is_scalar else "array"
        python = type(leaf.python) if leaf.weak and leaf.python is not None else Tracer
        return Leaf(kind, leaf.value.type, python)
    if isinstance(leaf, np.ndarray | np.number | np.bool_ | float | complex):
        trace = active_trace()
        lifted = trace.lift(leaf)
        weak = isinstance(leaf, float | complex) and not isinstance(leaf, np.generic)
        kind = "array" if isinstance(leaf, np.ndarray) else "python" if weak else "scalar"
        return Leaf(kind, lifted.value.type, type(leaf))
    return Leaf("static", None, type(leaf), leaf)
