"""MLIR's `math` dialect: the functions of analysis on scalar floats, at the loop level.

On a CPU `passes/lower/expand_math.py` replaces the transcendental ones by arithmetic; the rest
(fma, sqrt, floor, ceil, trunc, roundeven, absf, copysign) are single instructions. `evaluate` takes
NumPy scalars or arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.ops.arith import FLOAT_TYPES, INTEGER_LIKE, expect_scalar, same_scalar, signless
from gradc.ir.types import ScalarType, Type, i1


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, *, fastmath: Any = None) -> Any:
        return function(x)

    return evaluate


def _binary(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, y: Any, *, fastmath: Any = None) -> Any:
        return function(x, y)

    return evaluate


def _special(name: str) -> Callable[..., Any]:
    def evaluate(x: Any, *, fastmath: Any = None) -> Any:
        import scipy.special  # heavy: only programs that use erf pay for it

        return getattr(scipy.special, name)(x)

    return evaluate


class _Float1(Loop):
    infer = same_scalar(FLOAT_TYPES, 1)
    vjp = NOT_DIFFERENTIABLE
    cost = 20


class _Float2(Loop):
    infer = same_scalar(FLOAT_TYPES, 2)
    vjp = NOT_DIFFERENTIABLE
    cost = 30


class AbsF(_Float1, name="math.absf"):
    """Absolute value."""

    evaluate = _unary(np.abs)
    cost = 1


class Sqrt(_Float1, name="math.sqrt"):
    """Square root."""

    evaluate = _unary(np.sqrt)
    cost = 4


class Floor(_Float1, name="math.floor"):
    """The largest integer not above x."""

    evaluate = _unary(np.floor)
    cost = 1


class Ceil(_Float1, name="math.ceil"):
    """The smallest integer not below x."""

    evaluate = _unary(np.ceil)
    cost = 1


class Trunc(_Float1, name="math.trunc"):
    """The integer part."""

    evaluate = _unary(np.trunc)
    cost = 1


class RoundEven(_Float1, name="math.roundeven"):
    """The nearest integer; ties go to the even one."""

    evaluate = _unary(np.rint)
    cost = 1


class CopySign(_Float2, name="math.copysign"):
    """The magnitude of x with the sign of y."""

    evaluate = _binary(np.copysign)
    cost = 1


class FMA(Loop, name="math.fma"):
    """x * y + z, rounded once.

    The interpreter rounds once for f32; for f64 it evaluates with an error below 0.51 ulp (exact
    where the sum is exact, as in products' error terms).
    """

    infer = same_scalar(FLOAT_TYPES, 3)
    vjp = NOT_DIFFERENTIABLE

    def evaluate(x: Any, y: Any, z: Any, *, fastmath: Any = None) -> Any:
        x = np.asarray(x)
        if x.dtype == np.float64:
            return _fma_f64(x, y, z)
        wide = _round_to_odd_sum(x.astype(np.float64) * y, np.asarray(z, np.float64))
        return wide.astype(x.dtype)


def _round_to_odd_sum(a: Any, b: Any) -> Any:
    """a + b in f64, inexact sums rounded to the neighbour with odd last bit: rounding that to f32
    or narrower is as good as rounding the exact sum (Boldo and Melquiond, 2008)."""
    s = a + b
    t = s - a
    error = (a - (s - t)) + (b - t)
    bits = s.view(np.int64)
    inexact = np.isfinite(s) & (error != 0) & ((bits & 1) == 0)
    toward_larger_magnitude = (error > 0) == (s > 0)
    return np.where(inexact, bits + np.where(toward_larger_magnitude, 1, -1), bits).view(np.float64)


def _fma_f64(x: Any, y: Any, z: Any) -> Any:
    def halves(v: Any) -> tuple[Any, Any]:
        """Veltkamp's split into 26 and 27 bits."""
        c = v * 134217729.0
        high = c - (c - v)
        return high, v - high

    p = x * y
    (xh, xl), (yh, yl) = halves(x), halves(np.asarray(y))
    product_error = ((xh * yh - p) + xh * yl + xl * yh) + xl * yl
    s = p + z
    t = s - p
    sum_error = (p - (s - t)) + (z - t)
    error = product_error + sum_error
    return np.where((error == 0) | ~np.isfinite(s + error), s, s + error)


class Exp(_Float1, name="math.exp"):
    """e**x."""

    evaluate = _unary(np.exp)


class Exp2(_Float1, name="math.exp2"):
    """2**x."""

    evaluate = _unary(np.exp2)


class ExpM1(_Float1, name="math.expm1"):
    """e**x - 1."""

    evaluate = _unary(np.expm1)


class Log(_Float1, name="math.log"):
    """Natural logarithm."""

    evaluate = _unary(np.log)


class Log2(_Float1, name="math.log2"):
    """Logarithm to base 2."""

    evaluate = _unary(np.log2)


class Log10(_Float1, name="math.log10"):
    """Logarithm to base 10."""

    evaluate = _unary(np.log10)


class Log1P(_Float1, name="math.log1p"):
    """log(1 + x)."""

    evaluate = _unary(np.log1p)


class Sin(_Float1, name="math.sin"):
    """Sine."""

    evaluate = _unary(np.sin)


class Cos(_Float1, name="math.cos"):
    """Cosine."""

    evaluate = _unary(np.cos)


class Tan(_Float1, name="math.tan"):
    """Tangent."""

    evaluate = _unary(np.tan)


class ASin(_Float1, name="math.asin"):
    """Inverse sine."""

    evaluate = _unary(np.arcsin)


class ACos(_Float1, name="math.acos"):
    """Inverse cosine."""

    evaluate = _unary(np.arccos)


class ATan(_Float1, name="math.atan"):
    """Inverse tangent."""

    evaluate = _unary(np.arctan)


class ATan2(_Float2, name="math.atan2"):
    """The angle of the point (y, x) in [-pi, pi]; operands y, x."""

    evaluate = _binary(np.arctan2)


class Sinh(_Float1, name="math.sinh"):
    """Hyperbolic sine."""

    evaluate = _unary(np.sinh)


class Cosh(_Float1, name="math.cosh"):
    """Hyperbolic cosine."""

    evaluate = _unary(np.cosh)


class Tanh(_Float1, name="math.tanh"):
    """Hyperbolic tangent."""

    evaluate = _unary(np.tanh)


class ASinh(_Float1, name="math.asinh"):
    """Inverse hyperbolic sine."""

    evaluate = _unary(np.arcsinh)


class ACosh(_Float1, name="math.acosh"):
    """Inverse hyperbolic cosine."""

    evaluate = _unary(np.arccosh)


class ATanh(_Float1, name="math.atanh"):
    """Inverse hyperbolic tangent."""

    evaluate = _unary(np.arctanh)


class Erf(_Float1, name="math.erf"):
    """Error function."""

    evaluate = _special("erf")


class Erfc(_Float1, name="math.erfc"):
    """1 - erf(x)."""

    evaluate = _special("erfc")


class Cbrt(_Float1, name="math.cbrt"):
    """Cube root."""

    evaluate = _unary(np.cbrt)


class PowF(_Float2, name="math.powf"):
    """x**y, as C's pow."""

    def evaluate(x: Any, y: Any, *, fastmath: Any = None) -> Any:
        # NumPy turns a scalar exponent 0.5 into sqrt, which differs at -0 and -inf.
        return np.power(x, y + np.zeros_like(x))

    cost = 60


class _Classify(Loop):
    vjp = NOT_DIFFERENTIABLE

    def infer(x: Type, *, fastmath: Any = None) -> ScalarType:
        expect_scalar(x, FLOAT_TYPES)
        return i1


class IsNaN(_Classify, name="math.isnan"):
    """Whether x is NaN."""

    evaluate = _unary(np.isnan)


class IsInf(_Classify, name="math.isinf"):
    """Whether x is an infinity."""

    evaluate = _unary(np.isinf)


class IsFinite(_Classify, name="math.isfinite"):
    """Whether x is neither infinite nor NaN."""

    evaluate = _unary(np.isfinite)


class AbsI(Loop, name="math.absi"):
    """Absolute value of a signed integer; the minimum stays."""

    infer = same_scalar(INTEGER_LIKE, 1)
    vjp = NOT_DIFFERENTIABLE

    def evaluate(x: Any) -> Any:
        return np.abs(signless(x))


class CountLeadingZeros(Loop, name="math.ctlz"):
    """The number of zero bits above the highest set bit; the width for 0."""

    infer = same_scalar(INTEGER_LIKE, 1)
    vjp = NOT_DIFFERENTIABLE

    def evaluate(x: Any) -> Any:
        x = signless(x)
        width = x.dtype.itemsize * 8
        left = x.view(f"uint{width}")
        count = np.full(x.shape, width, x.dtype)
        for step in (32, 16, 8, 4, 2, 1):
            if step >= width:
                continue
            high = left >> np.asarray(step, left.dtype)
            count = np.where(high != 0, count - np.asarray(step, x.dtype), count)
            left = np.where(high != 0, high, left)
        return count - (left != 0).astype(x.dtype)
