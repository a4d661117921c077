"""Powers and roots, elementwise.

x, y are operands, z the result, g its cotangent; holomorphic rules multiply by the conjugate of the
derivative (see elementwise.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.opdef import Elementwise, Invalid, Sample, Samples
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.elementwise import conj
from gradc.ir.ops.sampling import SHAPES, corners, floats, uniform, wrong_dtype
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, INEXACT, NUMBERS, ScalarType, i1, tensor, to_numpy


def _power_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    """Bases away from the cut; integer exponents are small and not negative (NumPy raises on
    those)."""
    for shape in SHAPES:
        if dtype.is_integer:
            x, y = uniform(rng, dtype, shape, -4, 4), uniform(rng, dtype, shape, 0, 3)
        else:
            x, y = uniform(rng, dtype, shape, 0.5, 3), uniform(rng, dtype, shape, -2, 2)
        yield Sample((x, y), {})
    if dtype.is_floating:
        grid = np.meshgrid(corners(dtype), corners(dtype), indexing="ij")
        yield Sample((grid[0].ravel(), grid[1].ravel()), {}, smooth=False)
        base = uniform(rng, dtype, (6,), -3, -0.5)
        exponent = np.arange(-2.0, 4.0).astype(to_numpy(dtype))
        yield Sample((base, exponent), {}, smooth=False)
    yield Invalid((tensor(dtype, 2), tensor(dtype)), {}, "expected operands of one type")


class Power(Elementwise, name="nd.power"):
    """x ** y. Numbers; integers to negative integer powers are an error, as in NumPy.

    dx = g conj(y x**(y-1)), which is 0 for y = 0 at every x; dy = g conj(z log(x)), which is 0 at x
    = 0 for y >= 0. A negative real x with an active y gives NaN in dy.
    """

    infer = same_type(NUMBERS, 2)
    evaluate = np.power
    scalar = "power"
    cost = 40
    samples = Samples(_power_samples, NUMBERS)

    def vjp(b, op, g):
        x, y = op.operands
        if not x.type.dtype.is_inexact:
            return [None, None]
        exponent = constant_value(y)
        if exponent is not None:
            return [_power_slope(b, x, exponent, g), None]
        # Only at x = 0 (and NaN) does 0 * x**-1 fail to be 0; the exponent is mended before the
        # power, so that derivatives of this rule are finite there too.
        nonzero = b.gt(b.abs(x), b.zeros(x.type.with_dtype(x.type.dtype.real)))
        flat = b.logical_and(b.eq(y, 0), b.logical_not(nonzero))
        lower = b.select(flat, b.zeros(y.type), b.sub(y, 1))
        dx = b.mul(g, conj(b, b.mul(y, b.power(x, lower))))
        at_zero = b.logical_and(b.eq(x, 0), _not_negative(b, y))
        log = b.log(b.select(at_zero, b.full(1, x.type), x))
        return [dx, b.mul(g, conj(b, b.mul(op.result, log)))]

    def simplify(b, op):
        x, y = op.operands
        if x.type.dtype.is_complex:
            return None
        exponent = constant_value(y)
        if exponent == 1:
            return [x]
        if exponent == 2:
            return [b.square(x)]  # as NumPy's x ** 2 does
        return None


def _power_slope(b: Any, x: Any, exponent: Any, g: Any) -> Any:
    """g times the slope of x ** exponent in x."""
    if exponent == 0:
        return None
    if exponent == 1:
        return g
    if exponent == 2:
        return b.mul(g, conj(b, b.mul(x, 2)))
    lower = x if exponent - 1 == 1 else b.power(x, exponent - 1)
    return b.mul(g, conj(b, b.mul(lower, exponent)))


def _not_negative(b: Any, y: Any) -> Any:
    real = b.real(y) if y.type.dtype.is_complex else y
    return b.ge(real, 0)


class Reciprocal(Elementwise, name="nd.reciprocal"):
    """1 / x. Floating and complex. dx = -g conj(z z)."""

    infer = same_type(INEXACT)
    evaluate = np.reciprocal
    cost = 6
    samples = wrong_dtype(floats(0.5, 4), i1)

    def scalar(s, x):
        return s.div(s.const(1, like=x), x)

    def vjp(b, op, g):
        return [b.neg(b.mul(g, conj(b, b.mul(op.result, op.result))))]


class Square(Elementwise, name="nd.square"):
    """x * x. Numbers. dx = 2 g conj(x)."""

    tame = True
    infer = same_type(NUMBERS)
    evaluate = np.square
    samples = wrong_dtype(floats(-4, 4, 1, NUMBERS), i1)

    def scalar(s, x):
        return s.mul(x, x)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.mul(op.operands[0], 2)))]


class Sqrt(Elementwise, name="nd.sqrt"):
    """Square root. Floating and complex (principal branch). dx = g / (2 conj(z)), infinite at 0."""

    infer = same_type(INEXACT)
    evaluate = np.sqrt
    serves = ("math.sqrt",)
    scalar = "sqrt"
    cost = 6
    samples = wrong_dtype(floats(0.5, 4), i1)

    def vjp(b, op, g):
        return [b.div(b.mul(g, 0.5), conj(b, op.result))]


class Cbrt(Elementwise, name="nd.cbrt"):
    """Real cube root. Floating. dx = g / (3 z z), infinite at 0."""

    infer = same_type(FLOATS)
    evaluate = np.cbrt
    serves = ("math.cbrt",)
    scalar = "cbrt"
    cost = 20
    samples = wrong_dtype(floats(0.5, 4, 1, FLOATS), i1)

    def vjp(b, op, g):
        return [b.div(g, b.mul(b.square(op.result), 3))]
