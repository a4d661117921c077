"""Elementwise choice among operands: select, maximum, minimum, clip, relu, heaviside.

Their rules are masked (see opdef.py): where an operand was not chosen its cotangent is exactly
zero, also if the cotangent that arrives is infinite or NaN, so a branch not taken never spoils a
gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Elementwise
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.elementwise import REALS
from gradc.ir.ops.sampling import choices, floats, wrong_dtype
from gradc.ir.type_rules import expect_count, expect_dtype, expect_same, same_type
from gradc.ir.types import ARRAY_DTYPES, FLOATS, c64, i1

ORDERED = (i1, *REALS)


class Select(Elementwise, name="nd.select"):
    """x where the condition holds, else y: numpy.where. The condition is i1 of the operands'
    shape."""

    branches = True
    shift = "choice"
    scalar = "select"
    finite_slope = True
    linear = True
    samples = choices(2, ARRAY_DTYPES)

    def infer(*types: Any) -> Any:
        expect_count(types, 3)
        condition = expect_dtype(types[0], (i1,), "the condition (operand 0)")
        chosen = expect_same(types[1:])
        if condition.shape != chosen.shape:
            raise TypeRuleError(
                f"expected a condition of shape {list(chosen.shape)}, got {list(condition.shape)}: "
                "insert nd.broadcast"
            )
        return chosen

    def evaluate(condition: Any, x: Any, y: Any) -> np.ndarray:
        return np.where(condition, x, y)

    def masked_vjp(b, op, g):
        condition = op.operands[0]
        return [None, (g, condition), (g, b.logical_not(condition))]

    def simplify(b, op):
        condition, x, y = op.operands
        known = constant_value(condition)
        if known is not None:
            return [x if known else y]
        if x is y:
            return [x]
        if opposite := defined_by(condition, "nd.logical_not"):
            return [b.select(opposite.operands[0], y, x)]
        return None


def _halved_at_ties(b: Any, op: Any, g: Any) -> Any:
    x, y = op.operands
    return b.select(b.eq(x, y), b.mul(g, 0.5), g)


class Maximum(Elementwise, name="nd.maximum"):
    """The larger of x and y; NaN if either is. Real types and bool. A tie splits the gradient
    evenly."""

    infer = same_type(ORDERED, 2)
    evaluate = np.maximum
    scalar = "maximum"
    commutative = True
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 2, ORDERED), c64, 2)

    def masked_vjp(b, op, g):
        if not g.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        value = _halved_at_ties(b, op, g)
        return [(value, b.logical_not(b.lt(x, y))), (value, b.logical_not(b.gt(x, y)))]


class Minimum(Elementwise, name="nd.minimum"):
    """The smaller of x and y; NaN if either is. Real types and bool. A tie splits the gradient
    evenly."""

    infer = same_type(ORDERED, 2)
    evaluate = np.minimum
    scalar = "minimum"
    commutative = True
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 2, ORDERED), c64, 2)

    def masked_vjp(b, op, g):
        if not g.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        value = _halved_at_ties(b, op, g)
        return [(value, b.logical_not(b.gt(x, y))), (value, b.logical_not(b.lt(x, y)))]


class FMax(Elementwise, name="nd.fmax"):
    """The larger of x and y; the other one where one is NaN. Real types and bool. A tie splits the
    gradient evenly."""

    infer = same_type(ORDERED, 2)
    evaluate = np.fmax
    scalar = "fmax"
    commutative = True
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 2, ORDERED), c64, 2)

    def masked_vjp(b, op, g):
        if not g.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        value = _halved_at_ties(b, op, g)
        return [
            (value, b.logical_or(b.ge(x, y), b.isnan(y))),
            (value, b.logical_or(b.ge(y, x), b.isnan(x))),
        ]


class FMin(Elementwise, name="nd.fmin"):
    """The smaller of x and y; the other one where one is NaN. Real types and bool. A tie splits the
    gradient evenly."""

    infer = same_type(ORDERED, 2)
    evaluate = np.fmin
    scalar = "fmin"
    commutative = True
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 2, ORDERED), c64, 2)

    def masked_vjp(b, op, g):
        if not g.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        value = _halved_at_ties(b, op, g)
        return [
            (value, b.logical_or(b.le(x, y), b.isnan(y))),
            (value, b.logical_or(b.le(y, x), b.isnan(x))),
        ]


class Clip(Elementwise, name="nd.clip"):
    """minimum(maximum(x, lower), upper), which is `upper` where the bounds are crossed. Real types.

    x gets the gradient where lower <= x <= upper, the bounds included; else the bound that was
    taken does.
    """

    infer = same_type(REALS, 3)
    cost = 2
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 3, REALS), c64, 3)

    def evaluate(x: Any, lower: Any, upper: Any) -> Any:
        return np.minimum(np.maximum(x, lower), upper)

    def scalar(s, x, lower, upper):
        return s.minimum(s.maximum(x, lower), upper)

    def masked_vjp(b, op, g):
        if not g.type.dtype.is_inexact:
            return [None, None, None]
        x, lower, upper = op.operands
        below, above, crossed = b.lt(x, lower), b.gt(x, upper), b.gt(lower, upper)
        return [
            (g, b.logical_not(b.logical_or(below, above))),
            (g, b.logical_and(below, b.logical_not(crossed))),
            (g, b.logical_or(above, crossed)),
        ]


class Relu(Elementwise, name="nd.relu"):
    """maximum(x, 0). Floating. The gradient passes where x > 0: none at 0, unlike `maximum`'s
    ties."""

    infer = same_type(FLOATS)
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), c64)

    def evaluate(x: Any) -> Any:
        return np.maximum(x, np.zeros((), x.dtype))

    def scalar(s, x):
        return s.maximum(x, s.const(0, like=x))

    def masked_vjp(b, op, g):
        return [(g, b.gt(op.operands[0], 0))]


class Heaviside(Elementwise, name="nd.heaviside"):
    """0 where x < 0, 1 where x > 0, y where x is 0. Floating. Only y has a gradient."""

    infer = same_type(FLOATS, 2)
    evaluate = np.heaviside
    finite_slope = True
    samples = wrong_dtype(floats(-4, 4, 2, FLOATS), c64, 2)

    def scalar(s, x, y):
        zero, one = s.const(0, like=x), s.const(1, like=x)
        at_zero_or_nan = s.select(s.eq(x, zero), y, x)
        return s.select(s.lt(x, zero), zero, s.select(s.gt(x, zero), one, at_zero_or_nan))

    def masked_vjp(b, op, g):
        return [None, (g, b.eq(op.operands[0], 0))]
