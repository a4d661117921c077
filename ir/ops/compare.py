"""Predicates, comparisons, logic and bits. Piecewise constant: none has a gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Elementwise, Invalid, Sample, Samples
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.elementwise import REALS
from gradc.ir.ops.sampling import SHAPES, corners, floats, pairs, uniform, wrong_dtype
from gradc.ir.type_rules import predicate, same_type
from gradc.ir.types import (
    ARRAY_DTYPES,
    FLOATS,
    INEXACT,
    INTEGERS,
    ScalarType,
    c64,
    f64,
    i1,
    tensor,
    to_numpy,
)

ORDERED = (i1, *REALS)


class IsFinite(Elementwise, name="nd.isfinite"):
    """Whether x is neither infinite nor NaN. Floating and complex (both parts)."""

    infer = predicate(INEXACT)
    evaluate = np.isfinite
    serves = ("math.isfinite",)
    scalar = "isfinite"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4), i1)


class IsNaN(Elementwise, name="nd.isnan"):
    """Whether x is not a number. Floating and complex (either part)."""

    infer = predicate(INEXACT)
    evaluate = np.isnan
    serves = ("math.isnan",)
    scalar = "isnan"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4), i1)


class IsInf(Elementwise, name="nd.isinf"):
    """Whether x is infinite. Floating and complex (either part)."""

    infer = predicate(INEXACT)
    evaluate = np.isinf
    serves = ("math.isinf",)
    scalar = "isinf"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4), i1)


class Signbit(Elementwise, name="nd.signbit"):
    """Whether the sign bit is set: true for -0.0. Floating."""

    infer = predicate(FLOATS)
    evaluate = np.signbit
    scalar = "signbit"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)


class Eq(Elementwise, name="nd.eq"):
    """x == y; false where either is NaN. Any array dtype."""

    infer = predicate(ARRAY_DTYPES, 2)
    evaluate = np.equal
    scalar = "eq"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = floats(-2, 2, 2, ARRAY_DTYPES)


class Ne(Elementwise, name="nd.ne"):
    """x != y; true where either is NaN. Any array dtype."""

    infer = predicate(ARRAY_DTYPES, 2)
    evaluate = np.not_equal
    scalar = "ne"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = floats(-2, 2, 2, ARRAY_DTYPES)


class Lt(Elementwise, name="nd.lt"):
    """x < y; false where either is NaN. Real types and bool."""

    infer = predicate(ORDERED, 2)
    evaluate = np.less
    scalar = "lt"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-2, 2, 2, ORDERED), c64, 2)


class Le(Elementwise, name="nd.le"):
    """x <= y; false where either is NaN. Real types and bool."""

    infer = predicate(ORDERED, 2)
    evaluate = np.less_equal
    scalar = "le"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-2, 2, 2, ORDERED), c64, 2)


class Gt(Elementwise, name="nd.gt"):
    """x > y; false where either is NaN. Real types and bool."""

    infer = predicate(ORDERED, 2)
    evaluate = np.greater
    scalar = "gt"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-2, 2, 2, ORDERED), c64, 2)


class Ge(Elementwise, name="nd.ge"):
    """x >= y; false where either is NaN. Real types and bool."""

    infer = predicate(ORDERED, 2)
    evaluate = np.greater_equal
    scalar = "ge"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-2, 2, 2, ORDERED), c64, 2)


def _absorb(op: Any, neutral: bool, absorbing: bool) -> list[Any] | None:
    """x op neutral is x, x op absorbing is absorbing, x op x is x."""
    x, y = op.operands
    if x is y:
        return [x]
    for value, other in ((x, y), (y, x)):
        known = constant_value(other)
        if known is not None and bool(known) == neutral:
            return [value]
        if known is not None and bool(known) == absorbing:
            return [other]
    return None


class LogicalAnd(Elementwise, name="nd.logical_and"):
    """x and y, of truth values (i1)."""

    infer = same_type((i1,), 2)
    evaluate = np.logical_and
    scalar = "logical_and"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(0, 1, 2, (i1,)), f64, 2)

    def simplify(b, op):
        return _absorb(op, True, False)


class LogicalOr(Elementwise, name="nd.logical_or"):
    """x or y, of truth values (i1)."""

    infer = same_type((i1,), 2)
    evaluate = np.logical_or
    scalar = "logical_or"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(0, 1, 2, (i1,)), f64, 2)

    def simplify(b, op):
        return _absorb(op, False, True)


class LogicalXor(Elementwise, name="nd.logical_xor"):
    """Either x or y but not both, of truth values (i1)."""

    infer = same_type((i1,), 2)
    evaluate = np.logical_xor
    scalar = "logical_xor"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(0, 1, 2, (i1,)), f64, 2)


class LogicalNot(Elementwise, name="nd.logical_not"):
    """not x, of truth values (i1)."""

    infer = same_type((i1,))
    evaluate = np.logical_not
    scalar = "logical_not"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(0, 1, 1, (i1,)), f64)

    def simplify(b, op):
        (x,) = op.operands
        if inner := defined_by(x, "nd.logical_not"):
            return [inner.operands[0]]
        if equal := defined_by(x, "nd.eq"):
            return [b.ne(*equal.operands)]
        if unequal := defined_by(x, "nd.ne"):
            return [b.eq(*unequal.operands)]
        return None


class BitwiseAnd(Elementwise, name="nd.bitwise_and"):
    """x & y, bit by bit. Integers and i1."""

    infer = same_type((i1, *INTEGERS), 2)
    evaluate = np.bitwise_and
    scalar = "bitwise_and"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-100, 100, 2, (i1, *INTEGERS)), f64, 2)


class BitwiseOr(Elementwise, name="nd.bitwise_or"):
    """x | y, bit by bit. Integers and i1."""

    infer = same_type((i1, *INTEGERS), 2)
    evaluate = np.bitwise_or
    scalar = "bitwise_or"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-100, 100, 2, (i1, *INTEGERS)), f64, 2)


class BitwiseXor(Elementwise, name="nd.bitwise_xor"):
    """x ^ y, bit by bit. Integers and i1."""

    infer = same_type((i1, *INTEGERS), 2)
    evaluate = np.bitwise_xor
    scalar = "bitwise_xor"
    commutative = True
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-100, 100, 2, (i1, *INTEGERS)), f64, 2)


class Invert(Elementwise, name="nd.invert"):
    """~x: each bit flipped; of a truth value its negation. Integers and i1."""

    infer = same_type((i1, *INTEGERS))
    evaluate = np.invert
    scalar = "invert"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-100, 100, 1, (i1, *INTEGERS)), f64)


def _shifts(rng: np.random.Generator, dtype: ScalarType) -> Any:
    """Counts inside and beyond the width, and negative ones, which NumPy takes for huge."""
    for shape in SHAPES:
        yield Sample((uniform(rng, dtype, shape, -100, 100), uniform(rng, dtype, shape, 0, 7)), {})
    counts = [0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 1]
    counts += [] if dtype.kind == "u" else [-1, -8]
    values, counts_array = pairs(corners(dtype), 2)[0], np.array(counts, to_numpy(dtype))
    yield Sample((values, np.resize(counts_array, values.shape)), {}, smooth=False)
    yield Invalid((tensor(f64, 2), tensor(f64, 2)), {}, "of dtype")


class LeftShift(Elementwise, name="nd.left_shift"):
    """x * 2**y, high bits lost; 0 where y is the width or more, or negative. Integers."""

    infer = same_type(INTEGERS, 2)
    evaluate = np.left_shift
    scalar = "left_shift"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_shifts, INTEGERS)


class RightShift(Elementwise, name="nd.right_shift"):
    """floor(x / 2**y); the sign (0 or -1) where y is the width or more, or negative. Integers."""

    infer = same_type(INTEGERS, 2)
    evaluate = np.right_shift
    scalar = "right_shift"
    vjp = NOT_DIFFERENTIABLE
    samples = Samples(_shifts, INTEGERS)
