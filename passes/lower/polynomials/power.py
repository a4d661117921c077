"""cbrt and pow."""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.ops import arith_casts as casts
from gradc.ir.types import f32, f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import (
    CBRT,
    EXP2,
    EXP2_POW_F32,
    LOG2_POW_F32,
    POW_LOG,
)
from gradc.passes.lower.polynomials.formats import (
    F64,
    clamp,
    format_of,
    power_of_two,
    quick_two_sum,
    scaled,
    split,
    two_product,
)
from gradc.passes.lower.polynomials.logarithm import LOG2_E

INFINITY = float("inf")
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def cbrt(a: Arithmetic, x: Value) -> Value:
    """x = 8**k m with m in [sqrt(1/2), 4 sqrt(2)): Newton's iteration for m**(-1/3), then one step
    for the root itself with an exact residual."""
    f = format_of(x)
    size = a.abs(x)
    e, m, _ = split(a, size)
    shifted = a.add(a.fma(e, 1 / 3, -0.33), f.magic)  # k = floor(e / 3)
    k = a.sub(shifted, f.magic)
    rest = a.fma(k, -3.0, e)
    one = a.const(1.0, x.type)
    scale = a.select(a.cmp("oeq", rest, 2.0), 4.0, a.select(a.cmp("oeq", rest, 1.0), 2.0, one))
    m = a.mul(m, scale)
    y = a.polynomial(m, CBRT[x.type])
    third = a.mul(m, -1 / 3)
    for _ in range(2 if x.type is f64 else 1):
        # y += y (1 - m y**3) / 3
        y = a.mul(y, a.fma(a.mul(third, y), a.mul(y, y), 4 / 3))
    square = a.mul(y, y)
    root = a.mul(m, square)
    # root -= (root**3 - m) / (3 root**2), where 1 / root**2 is y**2
    high = a.mul(root, root)
    low = a.fma(root, root, a.neg(high))
    residual = a.fma(root, low, a.fma(root, high, a.neg(m)))
    root = a.fma(a.mul(residual, -1 / 3), square, root)
    root = a.mul(root, power_of_two(a, a.bits(shifted)))
    finite = a.and_(a.cmp("ogt", size, 0.0), a.cmp("olt", size, INFINITY))
    return a.select(finite, a.copysign(root, x), x)


def pow(a: Arithmetic, x: Value, y: Value) -> Value:
    """2**(y log2(abs(x))) with the logarithm and the product as sums of two numbers; C's special
    cases. f32 computes in f64."""
    size = a.abs(x)
    if x.type is f32:
        size = a.cast(casts.ExtF, size, f64)
        exponent = a.cast(casts.ExtF, y, f64)
        power = a.cast(casts.TruncF, _short_power(a, size, exponent), f32)
    else:
        power = _long_power(a, size, y)
    one = a.const(1.0, x.type)
    whole = a.cmp("oeq", a.trunc(y), y)
    half = a.mul(y, 0.5)
    odd = a.and_(whole, a.cmp("one", a.trunc(half), half))
    negative = a.cmp("slt", a.bits(x), 0)
    signed = a.select(a.and_(negative, odd), a.neg(power), power)
    undefined = a.and_(a.cmp("olt", x, 0.0), a.not_(whole))
    undefined = a.and_(undefined, a.cmp("ogt", x, -INFINITY))
    undefined = a.and_(undefined, a.cmp("olt", a.abs(y), INFINITY))
    result = a.select(undefined, float("nan"), signed)
    result = a.select(a.cmp("uno", x, y), a.add(x, y), result)
    trivial = a.or_(a.cmp("oeq", y, 0.0), a.cmp("oeq", x, 1.0))
    return a.select(trivial, one, result)


def _log2_at_the_ends(a: Arithmetic, x: Value, log: Value) -> Value:
    """-inf at 0 and inf at inf."""
    log = a.select(a.cmp("oeq", x, 0.0), -INFINITY, log)
    return a.select(a.cmp("oeq", x, INFINITY), INFINITY, log)


def _short_power(a: Arithmetic, x: Value, y: Value) -> Value:
    """x**y in f64 with the accuracy that an f32 result needs, for x >= 0."""
    e, m, _ = split(a, x)
    s = a.div(a.sub(m, 1.0), a.add(m, 1.0))
    log = a.fma(s, a.polynomial(a.mul(s, s), LOG2_POW_F32[f64]), e)
    product = a.mul(clamp(a, y, -(2.0**60), 2.0**60), _log2_at_the_ends(a, x, log))
    product = clamp(a, product, -200.0, 200.0)
    shifted = a.add(product, F64.magic)
    r = a.sub(product, a.sub(shifted, F64.magic))
    power = a.polynomial(r, (*EXP2_POW_F32[f64], 1.0))
    return a.mul(power, power_of_two(a, a.bits(shifted)))


def _log2(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """log2(x) as a sum of two numbers with a relative error near 2**-66, for finite x > 0.

    log(m) = 2 s + 2/3 s**3 + s**5 q(s**2) with s = (m - 1) / (m + 1).
    """
    e, m, _ = split(a, x)
    fraction = a.sub(m, 1.0)
    bottom, bottom_low = quick_two_sum(a, a.const(2.0, f64), fraction)
    inverse = a.div(1.0, bottom)
    s = a.mul(fraction, inverse)
    s_low = a.fma(a.neg(s), bottom_low, a.fma(a.neg(s), bottom, fraction))
    s_low = a.mul(s_low, inverse)
    z, z_low = two_product(a, s, s)
    z_low = a.fma(a.add(s, s), s_low, z_low)
    cube, cube_low = two_product(a, s, z)
    cube_low = a.fma(s, z_low, a.fma(s_low, z, cube_low))
    third, third_low = two_product(a, cube, TWO_THIRDS[0])
    third_low = a.fma(cube, TWO_THIRDS[1], a.fma(cube_low, TWO_THIRDS[0], third_low))
    rest = a.fma(a.mul(cube, z), a.polynomial(z, POW_LOG[f64]), third_low)
    high, low = quick_two_sum(a, a.add(s, s), third)
    low = a.add(low, a.fma(s_low, 2.0, rest))
    # times log2(e), plus e
    product, product_low = two_product(a, high, LOG2_E[f64][0])
    product_low = a.fma(high, LOG2_E[f64][1], a.fma(low, LOG2_E[f64][0], product_low))
    total, error = quick_two_sum(a, e, product)
    return total, a.add(error, product_low)


def _long_power(a: Arithmetic, x: Value, y: Value) -> Value:
    """x**y for x >= 0 in f64."""
    log, log_low = _log2(a, x)
    log = _log2_at_the_ends(a, x, log)
    y = clamp(a, y, -(2.0**80), 2.0**80)
    product, product_low = two_product(a, y, log)
    product_low = a.fma(y, log_low, product_low)
    inside = a.cmp("olt", a.abs(product), 1100.0)
    product = clamp(a, product, -1080.0, 1030.0)
    shifted = a.add(product, F64.magic)
    r = a.sub(product, a.sub(shifted, F64.magic))
    r = a.add(r, a.select(inside, product_low, 0.0))
    return scaled(a, a.polynomial(r, (*EXP2[f64], 1.0)), a.bits(shifted))
