"""Elementwise functions of two real operands: hypot, arctan2, logaddexp, logaddexp2.

x, y are operands, z the result, g its cotangent. The rules stay finite where the plain formula is
not: at the origin and at infinite arguments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.ir.opdef import Elementwise
from gradc.ir.ops.sampling import floats, wrong_dtype
from gradc.ir.type_rules import same_type
from gradc.ir.types import FLOATS, i1


def _one_where_zero(b: Any, radius: Any) -> Any:
    """The radius as a divisor: 1 at the origin, so that 0 / radius is 0 there."""
    return b.select(b.eq(radius, 0), b.full(1, radius.type), radius)


class Hypot(Elementwise, name="nd.hypot"):
    """sqrt(x^2 + y^2), without overflow. Floating. dx = g x / z, dy = g y / z, both 0 at the
    origin."""

    tame = True
    infer = same_type(FLOATS, 2)
    evaluate = np.hypot
    scalar = "hypot"
    cost = 12
    commutative = True
    samples = wrong_dtype(floats(0.5, 4, 2, FLOATS), i1, 2)

    def vjp(b, op, g):
        x, y = op.operands
        radius = _one_where_zero(b, op.result)
        return [b.mul(g, b.div(x, radius)), b.mul(g, b.div(y, radius))]


class Arctan2(Elementwise, name="nd.arctan2"):
    """The angle of the point (y, x), y given first, in [-pi, pi]. Floating.

    With r = hypot(x, y): dy = g x / r^2, dx = -g y / r^2, both 0 at the origin.
    """

    tame = True
    infer = same_type(FLOATS, 2)
    evaluate = np.arctan2
    serves = ("math.atan2",)
    scalar = "arctan2"
    cost = 30
    samples = wrong_dtype(floats(0.5, 4, 2, FLOATS), i1, 2)

    def vjp(b, op, g):
        y, x = op.operands
        radius = _one_where_zero(b, b.hypot(x, y))  # x^2 + y^2 would overflow or vanish
        scaled = b.div(g, radius)
        return [b.mul(scaled, b.div(x, radius)), b.neg(b.mul(scaled, b.div(y, radius)))]


def _shares(b: Any, x: Any, y: Any, base: float) -> tuple[Any, Any]:
    """base**x / (base**x + base**y) and the same for y. Equal infinities share evenly."""
    gap = b.sub(x, y)
    undefined = b.logical_and(b.isnan(gap), b.eq(x, y))
    gap = b.select(undefined, b.zeros(gap.type), gap)
    if base != math.e:
        gap = b.mul(gap, math.log(base))
    return b.sigmoid(gap), b.sigmoid(b.neg(gap))


class LogAddExp(Elementwise, name="nd.logaddexp"):
    """log(exp(x) + exp(y)), without overflow. Floating. dx = g sigmoid(x - y), dy = g sigmoid(y -
    x)."""

    tame = True
    infer = same_type(FLOATS, 2)
    evaluate = np.logaddexp
    scalar = "logaddexp"
    cost = 45
    commutative = True
    samples = wrong_dtype(floats(-4, 4, 2, FLOATS), i1, 2)

    def vjp(b, op, g):
        x_share, y_share = _shares(b, *op.operands, math.e)
        return [b.mul(g, x_share), b.mul(g, y_share)]


class LogAddExp2(Elementwise, name="nd.logaddexp2"):
    """log2(2**x + 2**y), without overflow. Floating. dx = g 2**x / (2**x + 2**y), dy alike."""

    tame = True
    infer = same_type(FLOATS, 2)
    evaluate = np.logaddexp2
    cost = 45
    commutative = True
    samples = wrong_dtype(floats(-4, 4, 2, FLOATS), i1, 2)

    def scalar(s, x, y):
        larger = s.maximum(x, y)
        ratio = s.exp2(s.neg(s.abs(s.sub(x, y))))
        apart = s.add(larger, s.mul(s.log1p(ratio), s.const(1 / math.log(2), like=x)))
        return s.select(s.eq(x, y), s.add(x, s.const(1, like=x)), apart)

    def vjp(b, op, g):
        x_share, y_share = _shares(b, *op.operands, 2)
        return [b.mul(g, x_share), b.mul(g, y_share)]
