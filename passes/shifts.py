"""Maxima that cancel: exp(x - max(x)) / sum(exp(x - max(x))) does not depend on the maximum.

Code subtracts a maximum before an exponential to avoid overflow, and what it computes does not
change with it. The derivative through the maximum is zero, but only after cancellation, and costs a
comparison and a count over the whole array. So such a maximum becomes a constant for the chain rule
(ad.stop_gradient). Values stay as they are.

We follow what happens to all values that use the maximum m when m grows by c, which differs along
the axes of m. A value grows by degree * c, or ("scaled") is multiplied by exp(degree * c). If that
cancels before anything else looks at it, m does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Operation, Value
from gradc.ir.ops.autodiff import StopGradient
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.shape import long_axes


@dataclass(frozen=True, slots=True)
class Change:
    """How a value follows m: degree times as a summand or, if scaled, as the exponent of a factor.

    axes: where the axes of m that are longer than 1 stand in the value's shape
    """

    degree: int
    scaled: bool
    axes: tuple[int, ...]


Operands = Sequence[Change | None]


def cancel_maxima(op: Operation) -> bool:
    """Make the maxima and minima that cancel constants, in the regions of `op`; whether any did."""
    changed = False
    for region in op.regions:
        for block in region.blocks:
            changed |= _cancel_in_block(block)
            for inner in block.ops:
                changed |= cancel_maxima(inner)
    return changed


def _cancel_in_block(block: Block) -> bool:
    scratch = Block()
    found: dict[Operation, Operation] = {}
    for at, op in enumerate(block.ops):
        if _is_extremum(op) and _cancels(op.result, block.ops[at + 1 : at + 200]):
            users = list(op.result.users)
            constant = Builder(scratch, op.location).stop_gradient(op.result)
            for user in users:
                user.set_operands([constant if v is op.result else v for v in user.operands])
            found[op] = constant.owner
    if found:
        ops: list[Operation] = []
        for op in block.ops:
            ops.append(op)
            if op in found:
                ops.append(found[op])
        block.replace_ops(ops)
    return bool(found)


def _is_extremum(op: Any) -> bool:
    """A maximum or minimum over axes that something but stop_gradient uses."""
    if getattr(op, "lowering", "") != "reduce" or op.masked_vjp is None:
        return False
    used = any(not isinstance(user, StopGradient) for user in op.result.users)
    return used and op.result.type.dtype.is_floating


def _cancels(m: Value, following: Sequence[Operation]) -> bool:
    """Whether all that depends on m in the operations after it stops depending on it there."""
    changes = {m: Change(1, False, long_axes(m))}
    uses = len(m.users)
    for op in following:
        operands = [changes.get(value) for value in op.operands]
        if not any(operands):
            continue
        rule = RULES.get(getattr(op, "shift", ""))
        change = rule(op, operands) if rule is not None else None
        if change is None:
            return False
        uses -= len({value for value, known in zip(op.operands, operands) if known})
        if change.degree:
            changes[op.result] = change
            uses += len(op.result.users)
        if not uses:
            return True
    return False


# Each rule gives the change of the result, with degree 0 where it cancels, or None: not understood.


def _sum(op: Any, operands: Operands) -> Change | None:
    return _combined(operands, 1, scaled=False)


def _difference(op: Any, operands: Operands) -> Change | None:
    return _combined(operands, -1, scaled=False)


def _product(op: Any, operands: Operands) -> Change | None:
    return _combined(operands, 1, scaled=True)


def _quotient(op: Any, operands: Operands) -> Change | None:
    return _combined(operands, -1, scaled=True)


def _combined(operands: Operands, sign: int, scaled: bool) -> Change | None:
    x, y = operands
    for change in (x, y):
        if change is not None and change.scaled != scaled:
            return None
    if x is None:
        return None if y is None else replace(y, degree=sign * y.degree)
    if y is None:
        return x
    return replace(x, degree=x.degree + sign * y.degree) if x.axes == y.axes else None


def _exponential(op: Any, operands: Operands) -> Change | None:
    (x,) = operands
    return None if x is None or x.scaled else replace(x, scaled=True)


def _logarithm(op: Any, operands: Operands) -> Change | None:
    (x,) = operands
    return None if x is None or not x.scaled else replace(x, scaled=False)


def _same(op: Any, operands: Operands) -> Change | None:
    return operands[0]


def _negation(op: Any, operands: Operands) -> Change | None:
    (x,) = operands
    return x if x is None or x.scaled else replace(x, degree=-x.degree)


def _sum_over_axes(op: Any, operands: Operands) -> Change | None:
    """A sum of scaled terms is scaled, where c is the same for all of them."""
    (x,) = operands
    if x is None or not x.scaled or any(axis in op["axes"] for axis in x.axes):
        return None
    kept = [k for k in range(op.operands[0].type.rank) if k not in op["axes"]]
    return replace(x, axes=tuple(kept.index(axis) for axis in x.axes))


def _broadcast(op: Any, operands: Operands) -> Change | None:
    (x,) = operands
    return None if x is None else replace(x, axes=tuple(op["dims"][axis] for axis in x.axes))


def _transpose(op: Any, operands: Operands) -> Change | None:
    (x,) = operands
    return None if x is None else replace(x, axes=tuple(op["perm"].index(axis) for axis in x.axes))


def _reshape(op: Any, operands: Operands) -> Change | None:
    """Axes of size 1 come and go."""
    (x,) = operands
    old, new = long_axes(op.operands[0]), long_axes(op.result)
    sizes = [op.operands[0].type.shape[k] for k in old], [op.result.type.shape[k] for k in new]
    if x is None or sizes[0] != sizes[1]:
        return None
    return replace(x, axes=tuple(new[old.index(axis)] for axis in x.axes))


def _choice(op: Any, operands: Operands) -> Change | None:
    """A choice between a scaled value and zero, which is zero at every scale."""
    for chosen, other in ((1, 2), (2, 1)):
        change = operands[chosen]
        if change is not None and change.scaled and operands[other] is None:
            return change if constant_value(op.operands[other]) == 0 else None
    return None


# By `Op.shift`, with which an operation says which of them holds for it.
RULES: dict[str, Callable[[Any, Operands], Change | None]] = {
    "sum": _sum,
    "difference": _difference,
    "product": _product,
    "quotient": _quotient,
    "negation": _negation,
    "exponential": _exponential,
    "logarithm": _logarithm,
    "same": _same,
    "sum over axes": _sum_over_axes,
    "broadcast": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "choice": _choice,
}
