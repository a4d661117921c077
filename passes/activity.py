"""Which values need a gradient, and which cotangents need their mask kept.

A value is active when it lies on a path from the inputs asked for to the outputs differentiated,
through floating or complex values and operations that are not NOT_DIFFERENTIABLE.

A mask matters where, between the inputs and a value, an operation's rule may multiply the cotangent
by an infinity or NaN: only there does a zero cotangent differ from an absent one (0 * inf is NaN).
Elsewhere the chain rule applies the mask at once. Three sets tell how much is at stake:

exposed  such an operation may stand upstream, for any inputs, infinities and NaN included.
         Masks that operations choose by (select, maximum) are kept here: they cost next to nothing.
singular such an operation stands upstream within the same elements, even for finite inputs (log,
         div, sqrt: not mul, not a contraction). A partial read (slice, gather) starts a mask here
         alone, since that mask costs an array.
tame     the value is a constant, or computed from constants, and finite. Contractions zero all
         other operands where nothing live meets them: missing data is NaN in the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.opdef import NOT_DIFFERENTIABLE
from gradc.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Activity:
    """Sets of values: see the head of this file."""

    active: set[Value]
    exposed: set[Value]
    singular: set[Value]
    tame: set[Value]


def carries_gradient(value: Value) -> bool:
    """Whether the value's type is floating or complex."""
    t = value.type
    return isinstance(t, TensorType) and t.dtype.is_inexact


def uses(op: Operation) -> Sequence[Value]:
    """The values an operation reads: its operands, and what its regions use from outside."""
    return (*op.operands, *captured_values(op)) if op.regions else op.operands


def is_cut(op: Operation) -> bool:
    """Whether the gradient ends at the operation on purpose."""
    return getattr(op, "vjp", None) is NOT_DIFFERENTIABLE


def slope_is_finite(op: Any, operand: int) -> bool:
    """Whether the operation's rule multiplies by finite factors only, for the given operand."""
    if getattr(op, "finite_slope", False):
        return True
    finite_slope_at = getattr(op, "finite_slope_at", None)
    return finite_slope_at is not None and finite_slope_at(op, operand)


def is_tame(op: Any) -> bool:
    """Whether finite operands give finite results and finite slopes, overflow aside."""
    if getattr(op, "lowering", "") == "creation":
        return _is_finite_constant(op)
    return getattr(op, "tame", False) or (bool(op.operands) and slope_is_finite(op, 0))


def _is_finite_constant(op: Any) -> bool:
    return bool(np.all(np.isfinite(op.attributes.get("value", 0))))


def keeps_places(op: Any) -> bool:
    """Whether each result element depends on one element of each operand, each on its own.

    Or on few more: the first elements of a scan do not depend on the last.
    """
    kinds = ("elementwise", "shape", "gather", "index", "scan")
    return getattr(op, "lowering", "") in kinds and not getattr(op, "repeats", False)


def analyse(ops: Sequence[Operation], sources: Iterable[Value], sinks: Iterable[Value]) -> Activity:
    """Activity of a straight list of operations, in order, from `sources` to `sinks`.

    `wild` are values that may be infinite or NaN even for finite inputs.
    """
    varied = {value for value in sources if carries_gradient(value)}
    exposed: set[Value] = set()
    singular: set[Value] = set()
    wild: set[Value] = set()
    constant: set[Value] = set()
    for op in ops:
        read = uses(op)
        tame = is_tame(op) and not any(value in wild for value in read)
        results = [value for value in op.results if carries_gradient(value)]
        if not tame:
            wild.update(results)
        elif all(value in constant for value in read):
            constant.update(op.results)
        found = [k for k, value in enumerate(read) if value in varied]
        if not found or not results or is_cut(op):
            continue
        varied.update(results)
        steep = any(not slope_is_finite(op, k) for k in found)
        if steep or any(read[k] in exposed for k in found):
            exposed.update(results)
        if (steep and not tame) or (keeps_places(op) and any(read[k] in singular for k in found)):
            singular.update(results)
    active = {value for value in sinks if value in varied}
    for op in reversed(ops):
        if not is_cut(op) and any(value in active for value in op.results):
            active.update(value for value in uses(op) if value in varied)
    return Activity(active, exposed, singular, constant)
