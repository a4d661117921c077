"""Between complex numbers and their parts: real, imag, complex, conj, angle.

The gradient of a real L of z = x + iy is dL/dx + i dL/dy; that settles every rule here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.opdef import Elementwise, Invalid, Sample, Samples
from gradc.ir.ops.sampling import SHAPES, floats, uniform, wrong_dtype
from gradc.ir.type_rules import expect_count, expect_dtype, expect_same, same_type
from gradc.ir.types import COMPLEXES, INEXACT, ScalarType, c64, c128, f32, f64, i1, tensor, to_numpy


def _part(*types: Any) -> Any:
    """A complex operand; the result has the type of its parts."""
    expect_count(types, 1)
    z = expect_dtype(types[0], COMPLEXES)
    return z.with_dtype(z.dtype.real)


class Real(Elementwise, name="nd.real"):
    """The real part. Complex. dz = g + 0i."""

    infer = _part
    scalar = "real"
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4, 1, COMPLEXES), f32)

    def evaluate(z: Any) -> Any:
        return np.real(z).copy()

    def vjp(b, op, g):
        return [b.complex(g, b.zeros(g.type))]

    def simplify(b, op):
        made = defined_by(op.operands[0], "nd.complex")
        return [made.operands[0]] if made else None


class Imag(Elementwise, name="nd.imag"):
    """The imaginary part. Complex. dz = 0 + ig."""

    infer = _part
    scalar = "imag"
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4, 1, COMPLEXES), f32)

    def evaluate(z: Any) -> Any:
        return np.imag(z).copy()

    def vjp(b, op, g):
        return [b.complex(b.zeros(g.type), g)]

    def simplify(b, op):
        made = defined_by(op.operands[0], "nd.complex")
        return [made.operands[1]] if made else None


class Complex(Elementwise, name="nd.complex"):
    """x + iy from two real operands (f32 or f64). dx = Re g, dy = Im g."""

    scalar = "complex"
    finite_slope = True
    linear = True

    def infer(*types: Any) -> Any:
        expect_count(types, 2)
        expect_dtype(types[0], (f32, f64), "operand 0")
        x = expect_same(types)
        return x.with_dtype(c64 if x.dtype == f32 else c128)

    def evaluate(x: Any, y: Any) -> np.ndarray:
        made = np.empty(np.shape(x), np.complex64 if x.dtype == np.float32 else np.complex128)
        made.real, made.imag = x, y  # x + 1j * y would turn inf into NaN
        return made

    def vjp(b, op, g):
        return [b.real(g), b.imag(g)]

    def simplify(b, op):
        x, y = (defined_by(v, n) for v, n in zip(op.operands, ("nd.real", "nd.imag"), strict=True))
        return [x.operands[0]] if x and y and x.operands[0] is y.operands[0] else None

    samples = wrong_dtype(floats(-4, 4, 2, (f32, f64)), i1, 2)


class Conj(Elementwise, name="nd.conj"):
    """Complex conjugate. Complex types; rules write `conj(b, x)`, which is x itself where x is
    real."""

    infer = same_type(INEXACT)
    evaluate = np.conjugate
    scalar = "conj"
    finite_slope = True
    linear = True
    samples = wrong_dtype(floats(-4, 4), i1)

    def vjp(b, op, g):
        return [b.conj(g)]

    def simplify(b, op):
        (z,) = op.operands
        if not z.type.dtype.is_complex:
            return [z]
        inner = defined_by(z, "nd.conj")
        return [inner.operands[0]] if inner else None


def _off_the_cut(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for shape in SHAPES:
        yield Sample((uniform(rng, dtype, shape, 0.5, 4),), {})
    turned = np.array([1, -1, 1j, -1j, 0, -2 - 1e-3j]).astype(to_numpy(dtype))
    yield Sample((turned,), {}, smooth=False)
    yield Invalid((tensor(f64, 2),), {}, "of dtype")


class Angle(Elementwise, name="nd.angle"):
    """The argument arctan2(Im z, Re z) in (-pi, pi]. Complex. dz = i g z / |z|^2, and 0 at 0."""

    infer = _part
    cost = 20
    samples = Samples(_off_the_cut, COMPLEXES)

    def evaluate(z: Any) -> Any:
        return np.arctan2(np.imag(z), np.real(z))

    def scalar(s, z):
        return s.arctan2(s.imag(z), s.real(z))

    def vjp(b, op, g):
        (z,) = op.operands
        radius = b.abs(z)
        radius = b.select(b.eq(radius, 0), b.full(1, radius.type), radius)
        x, y = b.div(b.real(z), radius), b.div(b.imag(z), radius)
        scaled = b.div(g, radius)
        return [b.complex(b.neg(b.mul(scaled, y)), b.mul(scaled, x))]
