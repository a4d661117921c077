"""Functions of analysis, elementwise: exponentials, logarithms, trigonometric, hyperbolic, erf.

x is the operand, z the result, g its cotangent; holomorphic rules multiply by the conjugate of the
derivative (see elementwise.py). Functions of two real operands are in `planar.py`. Derivatives are
from DLMF chapters 4 and 7 (4.7, 4.20, 4.24, 4.34, 4.38, 7.10).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.ir.opdef import Elementwise
from gradc.ir.ops.elementwise import conj
from gradc.ir.ops.sampling import floats, wrong_dtype
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, INEXACT, i1

# Native code reduces the arguments of sin, cos and tan below this to 2 ulp; beyond it a float64 has
# hardly a digit left of its place in the circle.
CIRCLES = 2.0**45


def _one_minus_square(b: Any, x: Any) -> Any:
    """1 - x^2 as (1 - x)(1 + x), which keeps its digits near the ends."""
    return b.mul(b.sub(1, x), b.add(x, 1))


def _root_of_one_minus_square(b: Any, x: Any) -> Any:
    return b.sqrt(_one_minus_square(b, x))


class Exp(Elementwise, name="nd.exp"):
    """Exponential. dx = g conj(z). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.exp
    serves = ("math.exp",)
    shift = "exponential"
    scalar = "exp"
    cost = 20
    samples = wrong_dtype(floats(-2, 2), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, op.result))]


class Exp2(Elementwise, name="nd.exp2"):
    """2 ** x. dx = g conj(z) log 2. Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.exp2
    serves = ("math.exp2",)
    scalar = "exp2"
    cost = 20
    samples = wrong_dtype(floats(-2, 2), i1)

    def vjp(b, op, g):
        return [b.mul(b.mul(g, conj(b, op.result)), math.log(2))]


class Expm1(Elementwise, name="nd.expm1"):
    """exp(x) - 1, accurate near 0. dx = g conj(exp(x)). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.expm1
    serves = ("math.expm1",)
    scalar = "expm1"
    cost = 20
    samples = wrong_dtype(floats(-2, 2), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.exp(op.operands[0])))]


class Log(Elementwise, name="nd.log"):
    """Natural logarithm. dx = g / conj(x). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.log
    shift = "logarithm"
    scalar = "log"
    cost = 20
    samples = wrong_dtype(floats(0.5, 4), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, op.operands[0]))]


class Log2(Elementwise, name="nd.log2"):
    """Logarithm to base 2. dx = g / (conj(x) log 2). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.log2
    serves = ("math.log2",)
    scalar = "log2"
    cost = 20
    samples = wrong_dtype(floats(0.5, 4), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, b.mul(op.operands[0], math.log(2))))]


class Log10(Elementwise, name="nd.log10"):
    """Logarithm to base 10. dx = g / (conj(x) log 10). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.log10
    serves = ("math.log10",)
    scalar = "log10"
    cost = 20
    samples = wrong_dtype(floats(0.5, 4), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, b.mul(op.operands[0], math.log(10))))]


class Log1p(Elementwise, name="nd.log1p"):
    """log(1 + x), accurate near 0. dx = g / conj(1 + x). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.log1p
    serves = ("math.log1p",)
    scalar = "log1p"
    cost = 20
    samples = wrong_dtype(floats(-0.5, 4), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, b.add(op.operands[0], 1)))]


class Sin(Elementwise, name="nd.sin"):
    """Sine. dx = g conj(cos x). Floating and complex."""

    tame = True
    infer = same_type(INEXACT)
    evaluate = np.sin
    serves = ("math.sin",)
    scalar = "sin"
    cost = 80
    samples = wrong_dtype(floats(-4, 4, limit=CIRCLES), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.cos(op.operands[0])))]


class Cos(Elementwise, name="nd.cos"):
    """Cosine. dx = -g conj(sin x). Floating and complex."""

    tame = True
    infer = same_type(INEXACT)
    evaluate = np.cos
    serves = ("math.cos",)
    scalar = "cos"
    cost = 80
    samples = wrong_dtype(floats(-4, 4, limit=CIRCLES), i1)

    def vjp(b, op, g):
        return [b.neg(b.mul(g, conj(b, b.sin(op.operands[0]))))]


class Tan(Elementwise, name="nd.tan"):
    """Tangent. dx = g conj(1 + z^2). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.tan
    serves = ("math.tan",)
    scalar = "tan"
    cost = 80
    samples = wrong_dtype(floats(-1.2, 1.2, limit=CIRCLES), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.add(b.square(op.result), 1)))]


class Arcsin(Elementwise, name="nd.arcsin"):
    """Inverse sine. dx = g / conj(sqrt((1 - x)(1 + x))). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.arcsin
    serves = ("math.asin",)
    scalar = "arcsin"
    cost = 25
    samples = wrong_dtype(floats(-0.8, 0.8), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, _root_of_one_minus_square(b, op.operands[0])))]


class Arccos(Elementwise, name="nd.arccos"):
    """Inverse cosine. dx = -g / conj(sqrt((1 - x)(1 + x))). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.arccos
    serves = ("math.acos",)
    scalar = "arccos"
    cost = 25
    samples = wrong_dtype(floats(-0.8, 0.8), i1)

    def vjp(b, op, g):
        return [b.neg(b.div(g, conj(b, _root_of_one_minus_square(b, op.operands[0]))))]


class Arctan(Elementwise, name="nd.arctan"):
    """Inverse tangent. dx = g / conj(1 + x^2). Floating and complex."""

    tame = True
    infer = same_type(INEXACT)
    evaluate = np.arctan
    serves = ("math.atan",)
    scalar = "arctan"
    cost = 25
    samples = wrong_dtype(floats(-0.8, 0.8), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, b.add(b.square(op.operands[0]), 1)))]


class Sinh(Elementwise, name="nd.sinh"):
    """Hyperbolic sine. dx = g conj(cosh x). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.sinh
    serves = ("math.sinh",)
    scalar = "sinh"
    cost = 25
    samples = wrong_dtype(floats(-2, 2), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.cosh(op.operands[0])))]


class Cosh(Elementwise, name="nd.cosh"):
    """Hyperbolic cosine. dx = g conj(sinh x). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.cosh
    serves = ("math.cosh",)
    scalar = "cosh"
    cost = 25
    samples = wrong_dtype(floats(-2, 2), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.sinh(op.operands[0])))]


class Tanh(Elementwise, name="nd.tanh"):
    """Hyperbolic tangent. dx = g conj(1 - z^2). Floating and complex."""

    tame = True
    infer = same_type(INEXACT)
    evaluate = np.tanh
    serves = ("math.tanh",)
    scalar = "tanh"
    cost = 20
    samples = wrong_dtype(floats(-1.2, 1.2), i1)

    def vjp(b, op, g):
        return [b.mul(g, conj(b, b.sub(1, b.square(op.result))))]


class Arcsinh(Elementwise, name="nd.arcsinh"):
    """Inverse hyperbolic sine. dx = g / conj(sqrt(x^2 + 1)). Floating and complex."""

    tame = True
    infer = same_type(INEXACT)
    evaluate = np.arcsinh
    serves = ("math.asinh",)
    scalar = "arcsinh"
    cost = 25
    samples = wrong_dtype(floats(-0.8, 0.8), i1)

    def vjp(b, op, g):
        (x,) = op.operands
        if x.type.dtype.is_complex:
            return [b.div(g, b.conj(b.sqrt(b.add(b.square(x), 1))))]
        return [b.div(g, b.hypot(x, b.full(1, x.type)))]  # x^2 would overflow


class Arccosh(Elementwise, name="nd.arccosh"):
    """Inverse hyperbolic cosine. dx = g / conj(sqrt(x - 1) sqrt(x + 1)). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.arccosh
    serves = ("math.acosh",)
    scalar = "arccosh"
    cost = 25
    samples = wrong_dtype(floats(1.2, 4), i1)

    def vjp(b, op, g):
        (x,) = op.operands
        slope = b.mul(b.sqrt(b.sub(x, 1)), b.sqrt(b.add(x, 1)))
        return [b.div(g, conj(b, slope))]


class Arctanh(Elementwise, name="nd.arctanh"):
    """Inverse hyperbolic tangent. dx = g / conj((1 - x)(1 + x)). Floating and complex."""

    infer = same_type(INEXACT)
    evaluate = np.arctanh
    serves = ("math.atanh",)
    scalar = "arctanh"
    cost = 25
    samples = wrong_dtype(floats(-0.8, 0.8), i1)

    def vjp(b, op, g):
        return [b.div(g, conj(b, _one_minus_square(b, op.operands[0])))]


class Sigmoid(Elementwise, name="nd.sigmoid"):
    """The logistic function 1 / (1 + exp(-x)), without overflow. Floating. dx = g z (1 - z)."""

    tame = True
    infer = same_type(FLOATS)
    serves = ("scipy.special.expit",)
    cost = 25
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)

    def evaluate(x: Any) -> Any:
        decay = np.exp(-np.abs(x))
        one = np.ones((), x.dtype)
        return np.where(x >= 0, one, decay) / (one + decay)

    def scalar(s, x):
        zero, one = s.const(0, like=x), s.const(1, like=x)
        decay = s.exp(s.neg(s.abs(x)))
        return s.div(s.select(s.ge(x, zero), one, decay), s.add(one, decay))

    def vjp(b, op, g):
        z = op.result
        return [b.mul(g, b.mul(z, b.sub(1, z)))]


class Softplus(Elementwise, name="nd.softplus"):
    """log(1 + exp(x)), without overflow. Floating. dx = g sigmoid(x)."""

    tame = True
    infer = same_type(FLOATS)
    cost = 45
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)

    def evaluate(x: Any) -> Any:
        return np.maximum(x, np.zeros((), x.dtype)) + np.log1p(np.exp(-np.abs(x)))

    def scalar(s, x):
        positive = s.maximum(x, s.const(0, like=x))
        return s.add(positive, s.log1p(s.exp(s.neg(s.abs(x)))))

    def vjp(b, op, g):
        return [b.mul(g, b.sigmoid(op.operands[0]))]


def _special(name: str) -> Any:
    """A function of scipy.special at the operand's own precision (SciPy has none for f16 and
    bf16)."""

    def evaluate(x: Any) -> Any:
        from scipy import special  # 0.1 s to import: only programs that use it pay

        wide = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
        return getattr(special, name)(wide).astype(x.dtype)

    return evaluate


def _bell(b: Any, x: Any) -> Any:
    """The slope of erf: 2 / sqrt(pi) exp(-x^2)."""
    return b.mul(b.exp(b.neg(b.square(x))), 2 / math.sqrt(math.pi))


class Erf(Elementwise, name="nd.erf"):
    """The error function. Floating. dx = g 2 / sqrt(pi) exp(-x^2)."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = _special("erf")
    serves = ("scipy.special.erf", "math.erf")
    scalar = "erf"
    cost = 25
    samples = wrong_dtype(floats(-2, 2, 1, FLOATS), i1)

    def vjp(b, op, g):
        return [b.mul(g, _bell(b, op.operands[0]))]


class Erfc(Elementwise, name="nd.erfc"):
    """1 - erf(x), accurate for large x. Floating. dx = -g 2 / sqrt(pi) exp(-x^2)."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = _special("erfc")
    serves = ("scipy.special.erfc", "math.erfc")
    scalar = "erfc"
    cost = 25
    samples = wrong_dtype(floats(-2, 2, 1, FLOATS), i1)

    def vjp(b, op, g):
        return [b.neg(b.mul(g, _bell(b, op.operands[0])))]
