"""asin, acos, atan, atan2."""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.types import ScalarType, f32, f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import ASIN, ATAN

# pi/4 as a sum of two numbers
QUARTER_PI: dict[ScalarType, tuple[float, float]] = {
    f64: (0.7853981633974483, 3.061616997868383e-17),
    f32: (0.7853981852531433, -2.1855694143368964e-08),
}
TAN_PI_8 = 0.4142135623730950
INFINITY = float("inf")


def _arcsine_parts(a: Arithmetic, size: Value) -> tuple[Value, Value, Value]:
    """(large, s, low): asin(size) is s + low, or for size > 1/2 it is pi/2 - 2 (s + low), through
    asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))."""
    large = a.cmp("ogt", size, 0.5)
    z = a.select(large, a.mul(a.sub(1.0, size), 0.5), a.mul(size, size))
    root = a.sqrt(z)
    s = a.select(large, root, size)
    tail = a.mul(a.mul(s, z), a.polynomial(z, ASIN[size.type]))
    # The rounding error of the root, (z - root**2) / (2 root); 0 for root 0.
    residual = a.fma(a.neg(root), root, z)
    correction = a.div(residual, a.add(root, root))
    correction = a.select(a.cmp("ogt", root, 0.0), correction, 0.0)
    return large, s, a.add(tail, a.select(large, correction, 0.0))


def asin(a: Arithmetic, x: Value) -> Value:
    high, low = (2 * p for p in QUARTER_PI[x.type])
    large, s, rest = _arcsine_parts(a, a.abs(x))
    # pi/2 - 2 s with the rounding error of the difference
    difference = a.fma(s, -2.0, high)
    error = a.fma(s, -2.0, a.sub(high, difference))
    reflected = a.add(difference, a.add(error, a.fma(rest, -2.0, low)))
    return a.copysign(a.select(large, reflected, a.add(s, rest)), x)


def acos(a: Arithmetic, x: Value) -> Value:
    """pi/2 - asin(x) for abs(x) <= 1/2; 2 asin(sqrt((1 - x) / 2)) above, pi minus that below."""
    high, low = (2 * p for p in QUARTER_PI[x.type])
    large, s, rest = _arcsine_parts(a, a.abs(x))
    negative = a.cmp("olt", x, 0.0)
    # base + factor (s + rest)
    zero = a.const(0.0, x.type)
    base = a.select(large, a.select(negative, 2 * high, zero), high)
    base_low = a.select(large, a.select(negative, 2 * low, zero), low)
    factor = a.select(large, a.const(2.0, x.type), 1.0)
    factor = a.select(a.xor(large, negative), factor, a.neg(factor))
    product = a.mul(factor, s)
    total = a.add(base, product)
    error = a.sub(product, a.sub(total, base))
    error = a.select(a.cmp("oeq", base, 0.0), 0.0, error)
    return a.add(total, a.add(error, a.fma(factor, rest, base_low)))


def _arctangent_tail(a: Arithmetic, q: Value) -> Value:
    """atan(q) - q for abs(q) <= tan(pi/8)."""
    z = a.mul(q, q)
    return a.mul(a.mul(q, z), a.polynomial(z, ATAN[q.type]))


def atan(a: Arithmetic, x: Value) -> Value:
    """Through atan(y) = pi/4 + atan((y - 1) / (y + 1)) and pi/2 - atan(1 / y)."""
    high, low = QUARTER_PI[x.type]
    y = a.abs(x)
    medium, large = a.cmp("ogt", y, TAN_PI_8), a.cmp("ogt", y, 1 / TAN_PI_8)
    zero, one = a.const(0.0, x.type), a.const(1.0, x.type)
    top = a.select(large, -1.0, a.select(medium, a.sub(y, 1.0), y))
    bottom = a.select(large, y, a.select(medium, a.add(y, 1.0), one))
    base = a.select(large, 2 * high, a.select(medium, high, zero))
    base_low = a.select(large, 2 * low, a.select(medium, low, zero))
    q = a.div(top, bottom)
    return a.copysign(a.add(base, a.add(q, a.add(_arctangent_tail(a, q), base_low))), x)


def atan2(a: Arithmetic, y: Value, x: Value) -> Value:
    """The angle of (x, y): atan of the smaller over the larger side, reduced as in atan, then
    reflected into the octant by multiples of pi/4."""
    quarter, quarter_low = QUARTER_PI[y.type]
    size_y, size_x = a.abs(y), a.abs(x)
    infinite = a.and_(a.cmp("oeq", size_y, INFINITY), a.cmp("oeq", size_x, INFINITY))
    size_y, size_x = a.select(infinite, 1.0, size_y), a.select(infinite, 1.0, size_x)
    steep = a.cmp("ogt", size_y, size_x)
    large, small = a.select(steep, size_y, size_x), a.select(steep, size_x, size_y)
    # Away from the ends of the range sums do not overflow and quotients do not lose digits.
    high_end, low_end = (2.0**1000, 2.0**-900) if y.type is f64 else (2.0**120, 2.0**-80)
    one = a.const(1.0, y.type)
    down = a.select(a.cmp("ogt", large, high_end), 0.25, one)
    scale = a.select(a.cmp("olt", large, low_end), 1 / low_end, down)
    large, small = a.mul(large, scale), a.mul(small, scale)
    medium = a.cmp("ogt", small, a.mul(large, TAN_PI_8))
    top = a.select(medium, a.sub(small, large), small)
    bottom = a.select(medium, a.add(small, large), large)
    bottom = a.select(a.cmp("oeq", large, 0.0), 1.0, bottom)
    q = a.div(top, bottom)
    tail = _arctangent_tail(a, q)
    # The angle is count * pi/4 + sign * (q + tail).
    zero = a.const(0.0, y.type)
    count, sign = a.select(medium, one, zero), one
    count = a.select(steep, a.sub(2.0, count), count)
    sign = a.select(steep, a.neg(sign), sign)
    behind = a.cmp("slt", a.bits(x), 0)
    count = a.select(behind, a.sub(4.0, count), count)
    sign = a.select(behind, a.neg(sign), sign)
    rest = a.fma(sign, tail, a.mul(count, quarter_low))
    angle = a.fma(count, quarter, a.fma(sign, q, rest))
    angle = a.select(a.cmp("uno", x, y), a.add(x, y), angle)
    return a.copysign(angle, y)
