"""Elementwise arithmetic: add sub mul div neg ... (see `transcendental.py` for the functions of analysis).

Every rule here: x, y are operands, z the result, g its cotangent. Complex operands follow the convention
that the gradient of a real L of z = x + iy is dL/dx + i dL/dy, so holomorphic rules multiply by the
conjugate of the derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.opdef import Elementwise, Sample, Samples
from gradc.ir.type_rules import same_type
from gradc.ir.types import INEXACT, NUMBERS, ScalarType, to_numpy


def uniform(rng: np.random.Generator, dtype: ScalarType, shape: Any, lo: float, hi: float) -> Any:
    """Random values of any dtype in [lo, hi); complex ones have both parts there."""
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.uniform(lo, hi, shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(lo, hi, shape)
    if dtype.is_integer:
        values = np.clip(np.rint(values), 0 if dtype.kind == "u" else lo, hi)
    return np.asarray(values).astype(to_numpy(dtype))


def floats(lo: float, hi: float, operands: int = 1, dtypes: Any = INEXACT) -> Samples:
    """Random operands of one shape with values in [lo, hi): ranks 0 to 2 and an empty array."""

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape in ((), (5,), (3, 4), (2, 0)):
            yield Sample(tuple(uniform(rng, dtype, shape, lo, hi) for _ in range(operands)), {})

    return Samples(make, tuple(dtypes))


class Add(Elementwise, name="nd.add"):
    """Sum x + y. Numbers."""

    infer = same_type(NUMBERS, 2)
    evaluate = np.add
    scalar = "add"
    commutative = True
    finite_slope = True
    samples = floats(-4, 4, 2, NUMBERS)

    def vjp(b, op, g):
        return [g, g]


class Sub(Elementwise, name="nd.sub"):
    """Difference x - y. Numbers."""

    infer = same_type(NUMBERS, 2)
    evaluate = np.subtract
    scalar = "sub"
    finite_slope = True
    samples = floats(-4, 4, 2, NUMBERS)

    def vjp(b, op, g):
        return [g, b.neg(g)]


class Mul(Elementwise, name="nd.mul"):
    """Product x * y. Numbers. dx = g conj(y), dy = g conj(x)."""

    infer = same_type(NUMBERS, 2)
    evaluate = np.multiply
    scalar = "mul"
    commutative = True
    samples = floats(-4, 4, 2, NUMBERS)

    def vjp(b, op, g):
        x, y = op.operands
        return [b.mul(g, conj(b, y)), b.mul(g, conj(b, x))]


class Neg(Elementwise, name="nd.neg"):
    """Negation -x. Numbers."""

    infer = same_type(NUMBERS)
    evaluate = np.negative
    scalar = "neg"
    finite_slope = True
    samples = floats(-4, 4, 1, NUMBERS)

    def vjp(b, op, g):
        return [b.neg(g)]


class Conj(Elementwise, name="nd.conj"):
    """Complex conjugate; the identity on real types is never built (see `conj`)."""

    infer = same_type(INEXACT)
    evaluate = np.conjugate
    scalar = "conj"
    finite_slope = True
    samples = floats(-4, 4)

    def vjp(b, op, g):
        return [b.conj(g)]


def conj(b: Any, x: Any) -> Any:
    """The conjugate of x, or x itself when it is real."""
    return b.conj(x) if x.type.dtype.is_complex else x
