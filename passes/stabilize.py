"""Rewrites that keep formulas right where their text breaks down: at overflow, and at singular
points.

They change values or gradients there, so they run once, on the traced function, before the
reference program is fixed; every later pass keeps the interpreter's result.

- 1 / (1 + exp(-x)), exp(x) / (1 + exp(x)), z / (1 + exp(-x)): sigmoid
- log(1 + exp(x)), log1p(exp(x)): softplus; log(exp(x) + exp(y)): logaddexp
- log(sigmoid(x)), log(1 - sigmoid(x)): -softplus(-x), -softplus(x)
- log(sum(exp(x))), log(sum(exp(x - m))) + m: logsumexp
- the square root (or power 0.5) of a sum of squares: a norm, whose gradient at the zero vector is
  zero
- maximum(x, 0): relu, whose gradient at 0 is 0
- a maximum that cancels, as in a softmax: a constant for the chain rule (shifts.py)

Reshapes and broadcasts between the parts (keepdims, or axes put back by hand) do not hide a
pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.core import Operation, Value, defined_by
from gradc.ir.ops.composite import logsumexp
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.shape import long_axes
from gradc.passes.canonicalize import PATTERNS
from gradc.passes.cse import cse
from gradc.passes.dce import dce
from gradc.passes.manager import Pass
from gradc.passes.rewrite import rewrite
from gradc.passes.shifts import cancel_maxima

Found = Sequence[Value] | None


def is_real(value: Value) -> bool:
    return value.type.dtype.is_floating


def peeled(value: Value) -> Value:
    """The value without the reshapes that only add or drop axes of size 1."""
    while op := defined_by(value, "nd.reshape"):
        (inner,) = op.operands
        if _long_sizes(inner) != _long_sizes(value):
            break
        value = inner
    return value


def _long_sizes(value: Value) -> list[Any]:
    return [value.type.shape[k] for k in long_axes(value)]


def one_plus_exp(value: Value) -> Value | None:
    """e, when the value is 1 + exp(e)."""
    if total := defined_by(value, "nd.add"):
        for x, y in (total.operands, total.operands[::-1]):
            exponential = defined_by(x, "nd.exp")
            if exponential and constant_value(y) == 1:
                return exponential.operands[0]
    return None


def sigmoid(b: Any, op: Any) -> Found:
    """A quotient by 1 + exp(e)."""
    if op.name not in ("nd.div", "nd.reciprocal", "nd.power") or not is_real(op.result):
        return None
    e = one_plus_exp(op.operands[1 if op.name == "nd.div" else 0])
    if e is None or (op.name == "nd.power" and constant_value(op.operands[1]) != -1):
        return None
    if op.name != "nd.div" or constant_value(op.operands[0]) == 1:
        return [b.sigmoid(b.neg(e))]
    numerator = defined_by(op.operands[0], "nd.exp")
    if numerator and numerator.operands[0] is e:
        return [b.sigmoid(e)]
    return [b.mul(op.operands[0], b.sigmoid(b.neg(e)))]


def softplus(b: Any, op: Any) -> Found:
    """The logarithm of 1 + exp(x), of a sum of two exponentials, of a sigmoid."""
    if op.name not in ("nd.log", "nd.log1p") or not is_real(op.result):
        return None
    (x,) = op.operands
    if op.name == "nd.log1p":
        exponential = defined_by(x, "nd.exp")
        return [b.softplus(exponential.operands[0])] if exponential else None
    if (e := one_plus_exp(x)) is not None:
        return [b.softplus(e)]
    if total := defined_by(x, "nd.add"):
        first, second = (defined_by(term, "nd.exp") for term in total.operands)
        if first and second:
            return [b.logaddexp(first.operands[0], second.operands[0])]
    if squashed := defined_by(x, "nd.sigmoid"):
        return [b.neg(b.softplus(b.neg(squashed.operands[0])))]
    if (rest := defined_by(x, "nd.sub")) and constant_value(rest.operands[0]) == 1:
        if squashed := defined_by(rest.operands[1], "nd.sigmoid"):
            return [b.neg(b.softplus(squashed.operands[0]))]
    return None


def log_sum_exp(b: Any, op: Any) -> Found:
    """log(sum(exp(x))), where x is not already shifted by its maximum."""
    matched = _log_of_sum_of_exp(op.result) if op.name == "nd.log" else None
    if matched is None:
        return None
    x, axes = matched
    if _is_shifted_by_maximum(x):
        return None
    return [b.reshape(logsumexp(b, x, axes), shape=op.result.type.shape)]


def shifted_log_sum_exp(b: Any, op: Any) -> Found:
    """log(sum(exp(x - m))) + m for any m that is constant along the summed axes."""
    if op.name != "nd.add" or not is_real(op.result):
        return None
    for logarithm, shift in (op.operands, op.operands[::-1]):
        matched = _log_of_sum_of_exp(peeled(logarithm))
        if matched is None:
            continue
        inner, axes = matched
        difference = defined_by(inner, "nd.sub")
        if difference and _constant_along(difference.operands[1], axes, peeled(shift)):
            found = logsumexp(b, difference.operands[0], axes)
            return [b.reshape(found, shape=op.result.type.shape)]
    return None


def _log_of_sum_of_exp(value: Value) -> tuple[Value, tuple[int, ...]] | None:
    """(x, axes) when the value is log(sum(exp(x)) over axes), for real x and some axes."""
    logarithm = defined_by(value, "nd.log")
    total = logarithm and defined_by(peeled(logarithm.operands[0]), "nd.reduce_sum")
    exponential = total and defined_by(total.operands[0], "nd.exp")
    if not exponential or not total["axes"] or not is_real(value):
        return None
    if any(total.operands[0].type.shape[k] == 0 for k in total["axes"]):
        return None
    return exponential.operands[0], total["axes"]


def _is_shifted_by_maximum(x: Value) -> bool:
    """Whether x is a difference to a maximum, possibly broadcast or mended where it is infinite."""
    difference = defined_by(x, "nd.sub")
    shift = difference and difference.operands[1].defining_op
    while shift and shift.name in ("nd.broadcast", "nd.reshape", "nd.select", "ad.stop_gradient"):
        shift = shift.operands[1 if shift.name == "nd.select" else 0].defining_op
    return bool(shift) and shift.name == "nd.reduce_max"


def _constant_along(spread: Value, axes: tuple[int, ...], origin: Value) -> bool:
    """Whether `spread` is `origin` repeated along `axes`, which `origin` does not have."""
    repeat = defined_by(spread, "nd.broadcast")
    if not repeat or any(d in axes and spread.type.shape[d] != 1 for d in repeat["dims"]):
        return False
    kept = [n for k, n in enumerate(spread.type.shape) if k not in axes and n != 1]
    source = repeat.operands[0]
    return peeled(source) is origin and _long_sizes(source) == kept


def norm(b: Any, op: Any) -> Found:
    """The square root of a sum of squares: slope 0 where the sum is 0, the same value
    everywhere."""
    if op.name == "nd.power":
        if constant_value(op.operands[1]) != 0.5:
            return None
    elif op.name != "nd.sqrt":
        return None
    total = op.operands[0]
    if not is_real(total) or not _is_sum_of_squares(total):
        return None
    zero = b.eq(total, 0)
    root = b.sqrt(b.select(zero, b.full(1, total.type), total))
    return [b.select(zero, b.zeros(total.type), root)]


def _is_sum_of_squares(value: Value) -> bool:
    """Whether the real value is built from squares by sums, moves and means alone.

    A square by itself does not count: its root is |x|, and a literal power of 2 may be meant.
    """
    pending, sums = [value], 0
    while pending:
        term = pending.pop()
        op = term.defining_op
        if constant_value(term) == 0:
            continue
        if op is None:
            return False
        if op.name in ("nd.add", "nd.reduce_sum"):
            sums += 1
            pending.extend(op.operands)
        elif op.name in ("nd.reshape", "nd.broadcast", "nd.transpose"):
            pending.extend(op.operands)
        elif op.name in ("nd.mul", "nd.div") and _is_positive(op.operands[1]):
            pending.append(op.operands[0])
        elif op.name == "nd.dot_general":
            sums += 1
            if not _is_dot_with_itself(op):
                return False
        elif not (op.name == "nd.square" or (op.name == "nd.mul" and _is_square(op))):
            return False
    return sums > 0


def _is_positive(value: Value) -> bool:
    """Whether each element is one known positive number."""
    number = constant_value(value)
    return isinstance(number, int | float) and number > 0


def _is_square(op: Any) -> bool:
    return op.operands[0] is op.operands[1]


def _is_dot_with_itself(op: Any) -> bool:
    """x . x over all axes, or over the same axes of x with the others as batch."""
    contract, batch = op["contract"], op.attributes.get("batch", ((), ()))
    used = len(contract[0]) + len(batch[0])
    same = contract[0] == contract[1] and batch[0] == batch[1]
    return _is_square(op) and same and used == op.operands[0].type.rank


def relu(b: Any, op: Any) -> Found:
    """maximum(x, 0)."""
    if op.name == "nd.maximum" and is_real(op.result) and constant_value(op.operands[1]) == 0:
        return [b.relu(op.operands[0])]
    return None


STABLE = (sigmoid, softplus, shifted_log_sum_exp, log_sum_exp, norm, relu)


def stabilize(op: Operation) -> bool:
    """Rewrite the regions of `op`, with cse and canonicalisation; whether anything changed.

    Parts of a pattern that the user computes twice (the same maximum, the same exponential) must be
    one value to be recognised.
    """
    changed = cse(op)
    changed |= rewrite(op, PATTERNS) and cse(op)
    changed |= rewrite(op, (*PATTERNS, *STABLE))
    changed |= cancel_maxima(op)
    return (dce(op) if changed else False) or changed


class Stabilize(Pass, name="stabilize"):
    """Put formulas that overflow or are singular into their stable forms, at trace time."""

    def run(self, op: Operation) -> None:
        stabilize(op)
