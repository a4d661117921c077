"""Elementwise arithmetic: add, mul, div, abs ... (see `powers.py` and `transcendental.py` for the
functions of analysis, `choose.py` for maximum and select, `compare.py` for predicates and logic,
`precision.py` for conversions).

Every rule here: x, y are operands, z the result, g its cotangent. Complex operands follow the
convention that the gradient of a real L of z = x + iy is dL/dx + i dL/dy, so holomorphic rules
multiply by the conjugate of the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Elementwise
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.sampling import floats, wrong_dtype
from gradc.ir.type_rules import expect_count, expect_dtype, same_type
from gradc.ir.types import FLOATS, INEXACT, INTEGERS, NUMBERS, i1

REALS = INTEGERS + FLOATS


def conj(b: Any, x: Any) -> Any:
    """The conjugate of x, or x itself when it is real."""
    return b.conj(x) if x.type.dtype.is_complex else x


def is_constant(value: Any, number: float) -> bool:
    """Whether each element of the real value is `number`, with the same sign where it is zero."""
    if value.type.dtype.is_complex:
        return False
    found = constant_value(value)
    return found is not None and found == number and np.signbit(found) == np.signbit(number)


def is_moderate(value: Any) -> bool:
    """Whether each element is one known number by which any dtype can multiply and divide."""
    number = constant_value(value)
    return number is not None and 1e-4 < abs(number) < 1e4


class Add(Elementwise, name="nd.add"):
    """Sum x + y. Numbers."""

    infer = same_type(NUMBERS, 2)
    evaluate = np.add
    shift = "sum"
    scalar = "add"
    commutative = True
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4, 2, NUMBERS), i1, 2)

    def vjp(b, op, g):
        return [g, g]

    def simplify(b, op):
        x, y = op.operands
        # x + 0.0 is not x where x is -0.0; x + -0.0 is.
        zero = -0.0 if x.type.dtype.is_floating else 0
        if is_constant(y, zero):
            return [x]
        if is_constant(x, zero):
            return [y]
        if negated := defined_by(y, "nd.neg"):
            return [b.sub(x, negated.operands[0])]
        if negated := defined_by(x, "nd.neg"):
            return [b.sub(y, negated.operands[0])]
        return None


class Sub(Elementwise, name="nd.sub"):
    """Difference x - y. Numbers."""

    infer = same_type(NUMBERS, 2)
    evaluate = np.subtract
    shift = "difference"
    scalar = "sub"
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4, 2, NUMBERS), i1, 2)

    def vjp(b, op, g):
        return [g, b.neg(g)]

    def simplify(b, op):
        x, y = op.operands
        if is_constant(y, 0):
            return [x]
        if negated := defined_by(y, "nd.neg"):
            return [b.add(x, negated.operands[0])]
        return None


class Mul(Elementwise, name="nd.mul"):
    """Product x * y. Numbers. dx = g conj(y), dy = g conj(x)."""

    tame = True
    infer = same_type(NUMBERS, 2)
    evaluate = np.multiply
    shift = "product"
    scalar = "mul"
    commutative = True
    samples = wrong_dtype(floats(-4, 4, 2, NUMBERS), i1, 2)

    def vjp(b, op, g):
        x, y = op.operands
        return [b.mul(g, conj(b, y)), b.mul(g, conj(b, x))]

    def finite_slope_at(op, k):
        return is_moderate(op.operands[1 - k])

    def simplify(b, op):
        x, y = op.operands
        for value, factor in ((x, y), (y, x)):
            if is_constant(factor, 1):
                return [value]
            if is_constant(factor, -1):
                return [b.neg(value)]
        first, second = defined_by(x, "nd.neg"), defined_by(y, "nd.neg")
        if first and second and not x.type.dtype.is_complex:
            return [b.mul(first.operands[0], second.operands[0])]
        return None


class Div(Elementwise, name="nd.div"):
    """True quotient x / y. Floating and complex. dx = g / conj(y), dy = -dx conj(z)."""

    infer = same_type(INEXACT, 2)
    evaluate = np.true_divide
    shift = "quotient"
    scalar = "div"
    cost = 6
    samples = wrong_dtype(floats(1, 4, 2), i1, 2)

    def vjp(b, op, g):
        dx = b.div(g, conj(b, op.operands[1]))
        return [dx, b.neg(b.mul(dx, conj(b, op.result)))]

    def finite_slope_at(op, k):
        return k == 0 and is_moderate(op.operands[1])

    def simplify(b, op):
        x, y = op.operands
        if is_constant(y, 1):
            return [x]
        if is_constant(y, -1):
            return [b.neg(x)]
        return None


class FloorDivide(Elementwise, name="nd.floor_divide"):
    """Quotient rounded towards minus infinity. Integers and floating; an integer divided by zero is
    0, INT_MIN // -1 is INT_MIN, as in NumPy. Piecewise constant: no gradient."""

    infer = same_type(REALS, 2)
    evaluate = np.floor_divide
    scalar = "floor_divide"
    cost = 8
    samples = wrong_dtype(floats(-8, 8, 2, REALS), i1, 2)
    vjp = NOT_DIFFERENTIABLE


class Remainder(Elementwise, name="nd.remainder"):
    """x - floor(x / y) y, with the sign of y (Python's and NumPy's %). Integers and floating; an
    integer remainder by zero is 0. dx = g, dy = -g floor(x / y)."""

    infer = same_type(REALS, 2)
    evaluate = np.remainder
    scalar = "remainder"
    cost = 8
    samples = wrong_dtype(floats(1.1, 8, 2, REALS), i1, 2)

    def vjp(b, op, g):
        if not op.result.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        return [g, b.neg(b.mul(g, b.floor_divide(x, y)))]


class Fmod(Elementwise, name="nd.fmod"):
    """C's remainder, with the sign of x. Integers and floating. dx = g, dy = -g trunc(x / y)."""

    infer = same_type(REALS, 2)
    evaluate = np.fmod
    serves = ("math.fmod",)
    scalar = "fmod"
    cost = 8
    samples = wrong_dtype(floats(1.1, 8, 2, REALS), i1, 2)

    def vjp(b, op, g):
        if not op.result.type.dtype.is_inexact:
            return [None, None]
        x, y = op.operands
        # trunc(x / y) is off by one where the quotient rounds up to an integer; this is not.
        turns = b.rint(b.div(b.sub(x, op.result), y))
        return [g, b.neg(b.mul(g, turns))]


class Neg(Elementwise, name="nd.neg"):
    """Negation -x. Numbers."""

    infer = same_type(NUMBERS)
    evaluate = np.negative
    shift = "negation"
    scalar = "neg"
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4, 1, NUMBERS), i1)

    def vjp(b, op, g):
        return [b.neg(g)]

    def simplify(b, op):
        inner = defined_by(op.operands[0], "nd.neg")
        return [inner.operands[0]] if inner else None


class Abs(Elementwise, name="nd.abs"):
    """Absolute value; of a complex number its modulus, a real result. Numbers. Slope 0 at 0."""

    tame = True
    evaluate = np.absolute
    serves = ("builtins.abs", "math.fabs")
    scalar = "abs"
    samples = wrong_dtype(floats(0.5, 4, 1, NUMBERS), i1)

    def infer(*types: Any) -> Any:
        expect_count(types, 1)
        x = expect_dtype(types[0], NUMBERS)
        return x.with_dtype(x.dtype.real)

    def vjp(b, op, g):
        (x,) = op.operands
        if not x.type.dtype.is_complex:
            return [b.mul(g, b.sign(x))]
        direction = b.sign(x)
        return [b.complex(b.mul(g, b.real(direction)), b.mul(g, b.imag(direction)))]


class Sign(Elementwise, name="nd.sign"):
    """-1, 0 or 1; of a complex z, z / |z| (0 at 0). Numbers.

    Real: piecewise constant, no gradient. Complex: dz = (g - s Re(conj(s) g)) / |z|, and 0 at 0.
    """

    tame = True
    infer = same_type(NUMBERS)
    evaluate = np.sign
    scalar = "sign"
    samples = wrong_dtype(floats(0.5, 4, 1, NUMBERS), i1)

    def vjp(b, op, g):
        if not op.result.type.dtype.is_complex:
            return [None]
        (z,) = op.operands
        s = op.result
        zero = b.zeros(g.type)
        radius = b.abs(z)
        at_zero = b.eq(radius, 0)
        radius = b.select(at_zero, b.full(1, radius.type), radius)
        along = b.real(b.mul(b.conj(s), g))
        across = b.sub(g, b.complex(b.mul(b.real(s), along), b.mul(b.imag(s), along)))
        scaled = b.complex(b.div(b.real(across), radius), b.div(b.imag(across), radius))
        return [b.select(at_zero, zero, scaled)]


class Copysign(Elementwise, name="nd.copysign"):
    """|x| with the sign of y. Floating. dx = g sign(x) copysign(1, y), 0 at x = 0; none in y."""

    tame = True
    infer = same_type(FLOATS, 2)
    evaluate = np.copysign
    serves = ("math.copysign",)
    scalar = "copysign"
    samples = wrong_dtype(floats(0.5, 4, 2, FLOATS), i1, 2)

    def vjp(b, op, g):
        x, y = op.operands
        return [b.mul(g, b.mul(b.sign(x), b.copysign(b.full(1, x.type), y))), None]
