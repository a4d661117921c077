"""sin, cos, tan: x = n pi/2 + r with r in [-pi/4, pi/4].

The reduction subtracts n times pi/2 in three parts by fma, in f64 for f32 too. n p1 is a multiple
of the last place of p1, so x - n p1 is exact, and the two further parts leave r with a relative
error of one rounding each: for all abs(x) below 2**45.
"""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.ops import arith_casts as casts
from gradc.ir.types import f32, f64, i32
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import COS, SIN
from gradc.passes.lower.polynomials.formats import F64, format_of

TWO_OVER_PI = 0.6366197723675814
# All three parts are positive, so that -0 stays -0.
HALF_PI = (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32)


def reduced(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """r and an integer whose low two bits are those of n."""
    single = x.type is f32
    wide = a.cast(casts.ExtF, x, f64) if single else x
    shifted = a.fma(wide, TWO_OVER_PI, F64.magic)
    n = a.sub(shifted, F64.magic)
    r = a.fma(n, -HALF_PI[1], a.fma(n, -HALF_PI[0], wide))
    bits = a.bits(shifted)
    if single:
        return a.cast(casts.TruncF, r, f32), a.cast(casts.TruncI, bits, i32)
    return a.fma(n, -HALF_PI[2], r), bits


def kernels(a: Arithmetic, r: Value) -> tuple[Value, Value]:
    """sin(r) and cos(r) on [-pi/4, pi/4]."""
    z = a.mul(r, r)
    sine = a.fma(a.mul(r, z), a.polynomial(z, SIN[r.type]), r)
    sine = a.select(a.cmp("oeq", r, 0.0), r, sine)  # keeps -0
    return sine, a.polynomial(z, (*COS[r.type], -0.5, 1.0))


def _wave(a: Arithmetic, x: Value, quarter: int) -> Value:
    """sin(x + quarter pi/2)."""
    f = format_of(x)
    r, n = reduced(a, x)
    if quarter:
        n = a.add(n, quarter)
    sine, cosine = kernels(a, r)
    odd = a.cmp("ne", a.and_(n, 1), 0)
    sign = a.shl(a.and_(n, 2), f.integer.bits - 2)
    return a.float(a.xor(a.bits(a.select(odd, cosine, sine)), sign))


def sin(a: Arithmetic, x: Value) -> Value:
    return _wave(a, x, 0)


def cos(a: Arithmetic, x: Value) -> Value:
    return _wave(a, x, 1)


def tan(a: Arithmetic, x: Value) -> Value:
    """sin(r) / cos(r), or -cos(r) / sin(r) for odd n."""
    f = format_of(x)
    r, n = reduced(a, x)
    sine, cosine = kernels(a, r)
    odd = a.cmp("ne", a.and_(n, 1), 0)
    quotient = a.div(a.select(odd, cosine, sine), a.select(odd, sine, cosine))
    return a.float(a.xor(a.bits(quotient), a.shl(a.and_(n, 1), f.integer.bits - 1)))
