"""Which values need a gradient, and which cotangents need their mask kept.

A value is active when it lies on a path from the inputs asked for to the outputs differentiated,
through floating or complex values and operations that are not NOT_DIFFERENTIABLE.

An active value is exposed when between the inputs and it stands an operation whose rule may
multiply the cotangent by an infinity or NaN. Only there does a zero cotangent differ from an absent
one (0 * inf is NaN), so only there does the chain rule carry a mask; elsewhere it applies the mask
at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.opdef import NOT_DIFFERENTIABLE
from gradc.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Activity:
    """active: values that need a cotangent; exposed: those whose cotangent keeps its mask."""

    active: set[Value]
    exposed: set[Value]


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


def analyse(ops: Sequence[Operation], sources: Iterable[Value], sinks: Iterable[Value]) -> Activity:
    """Activity of a straight list of operations, in order, from `sources` to `sinks`."""
    varied = {value for value in sources if carries_gradient(value)}
    exposed: set[Value] = set()
    for op in ops:
        if is_cut(op):
            continue
        found = [k for k, value in enumerate(uses(op)) if value in varied]
        if not found:
            continue
        read = uses(op)
        risky = any(read[k] in exposed or not slope_is_finite(op, k) for k in found)
        for value in op.results:
            if carries_gradient(value):
                varied.add(value)
                if risky:
                    exposed.add(value)
    active = {value for value in sinks if value in varied}
    for op in reversed(ops):
        if not is_cut(op) and any(value in active for value in op.results):
            active.update(value for value in uses(op) if value in varied)
    return Activity(active, exposed & active)
