"""sin, cos, tan: x = n pi/2 + r with r in [-pi/4, pi/4].

Below 2**45 the reduction subtracts n times pi/2 in three parts by fma, in f64 for f32 too: n p1 is
a multiple of the last place of p1, so that x - n p1 is exact, and the other parts leave r with its
rounding error. Above, far_angles.py.
"""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.ops import arith_casts as casts
from gradc.ir.types import f32, f64, i32
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import COS, SIN
from gradc.passes.lower.polynomials.far_angles import LIMIT, far_reduced, far_reduced_single
from gradc.passes.lower.polynomials.formats import (
    F64,
    format_of,
    quick_two_sum,
    two_product,
    two_sum,
)

TWO_OVER_PI = 0.6366197723675814
# All three parts are positive, so that -0 stays -0.
HALF_PI = (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32)


def reduced(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """r, its rounding error, and an integer whose low two bits are those of n."""
    single = x.type is f32
    wide = a.cast(casts.ExtF, x, f64) if single else x
    shifted = a.fma(wide, TWO_OVER_PI, F64.magic)
    n = a.sub(shifted, F64.magic)
    first = a.fma(n, -HALF_PI[0], wide)
    bits, far = a.bits(shifted), a.cmp("oge", a.abs(wide), LIMIT)
    if single:
        far_r, far_bits = far_reduced_single(a, wide)
        r = a.select(far, far_r, a.fma(n, -HALF_PI[1], first))
        short = a.cast(casts.TruncF, r, f32)
        low = a.cast(casts.TruncF, a.sub(r, a.cast(casts.ExtF, short, f64)), f32)
        return short, low, a.cast(casts.TruncI, a.select(far, far_bits, bits), i32)
    far_r, far_low, far_bits = far_reduced(a, wide)
    product, product_low = two_product(a, n, -HALF_PI[1])
    r, low = two_sum(a, first, product)
    r, low = quick_two_sum(a, r, a.add(low, a.fma(n, -HALF_PI[2], product_low)))
    return a.select(far, far_r, r), a.select(far, far_low, low), a.select(far, far_bits, bits)


Pair = tuple[Value, Value]


def kernels(a: Arithmetic, r: Value, low: Value) -> tuple[Pair, Pair]:
    """sin(r + low) and cos(r + low) for r in [-pi/4, pi/4] and a rounding error low: each as two
    terms of which the second is small."""
    z = a.mul(r, r)
    sine = a.fma(a.mul(r, z), a.polynomial(z, SIN[r.type]), low)
    cosine = a.fma(z, a.polynomial(z, (*COS[r.type], -0.5)), a.neg(a.mul(r, low)))
    return (r, sine), (a.const(1.0, r.type), cosine)


def _wave(a: Arithmetic, x: Value, quarter: int) -> Value:
    """sin(x + quarter pi/2)."""
    f = format_of(x)
    r, low, n = reduced(a, x)
    if quarter:
        n = a.add(n, quarter)
    sine, cosine = kernels(a, r, low)
    odd = a.cmp("ne", a.and_(n, 1), 0)
    sign = a.shl(a.and_(n, 2), f.integer.bits - 2)
    value = a.select(odd, a.add(*cosine), a.add(*sine))
    return a.float(a.xor(a.bits(value), sign))


def sin(a: Arithmetic, x: Value) -> Value:
    return a.select(a.cmp("oeq", x, 0.0), x, _wave(a, x, 0))  # keeps -0


def cos(a: Arithmetic, x: Value) -> Value:
    return _wave(a, x, 1)


def tan(a: Arithmetic, x: Value) -> Value:
    """sin(r) / cos(r), or -cos(r) / sin(r) for odd n, with the errors of both."""
    f = format_of(x)
    r, low, n = reduced(a, x)
    sine, cosine = (quick_two_sum(a, *pair) for pair in kernels(a, r, low))
    odd = a.cmp("ne", a.and_(n, 1), 0)
    top, top_low = (a.select(odd, c, s) for c, s in zip(cosine, sine, strict=True))
    bottom, bottom_low = (a.select(odd, s, c) for c, s in zip(cosine, sine, strict=True))
    inverse = a.div(1.0, bottom)
    quotient = a.mul(top, inverse)
    rest = a.fma(a.neg(quotient), bottom, top)
    rest = a.add(rest, a.fma(a.neg(quotient), bottom_low, top_low))
    quotient = a.fma(rest, inverse, quotient)
    value = a.float(a.xor(a.bits(quotient), a.shl(a.and_(n, 1), f.integer.bits - 1)))
    return a.select(a.cmp("oeq", x, 0.0), x, value)
