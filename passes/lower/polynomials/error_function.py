"""erf and erfc."""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.types import f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import ERF_LARGE, ERF_SMALL, ERFC, EXP
from gradc.passes.lower.polynomials.exponential import reduced
from gradc.passes.lower.polynomials.formats import (
    clamp,
    power_of_two,
    quick_two_sum,
    scaled,
    two_product,
    two_sum,
)


def erf(a: Arithmetic, x: Value) -> Value:
    """x + x q(x**2) below 1; 1 - exp(q(abs(x))) above, q fitted to log(erfc)."""
    size = clamp(a, a.abs(x), 0.0, 5.93 if x.type is f64 else 4.0)
    small = a.fma(size, a.polynomial(a.mul(size, size), ERF_SMALL[x.type]), size)
    above = a.select(a.cmp("olt", size, 1.0), 1.0, size)
    r, bits = reduced(a, a.polynomial(above, ERF_LARGE[x.type]))
    decay = a.polynomial(r, (*EXP[x.type], 1.0, 1.0))
    large = a.sub(1.0, a.mul(decay, power_of_two(a, bits)))
    return a.copysign(a.select(a.cmp("olt", size, 1.0), small, large), x)


def erfc(a: Arithmetic, x: Value) -> Value:
    """exp(-y**2) q(t) / (1 + 2 y) with t = (y - 4) / (y + 4), y = abs(x) (after M. M. Shepherd and
    J. G. Laframboise, 1981); 2 minus that for negative x; 1 - erf(x) below 1/2."""
    size = clamp(a, a.abs(x), 0.0, 27.8 if x.type is f64 else 10.3)
    t = a.div(a.sub(size, 4.0), a.add(size, 4.0))
    *highest, last = ERFC[x.type]
    product = a.mul(a.polynomial(t, highest), t)
    smooth, smooth_low = quick_two_sum(a, a.const(last, x.type), product)
    # exp(-(square + low)): the rounding error of the square counts.
    square = a.mul(size, size)
    low = a.fma(size, size, a.neg(square))
    r, bits = reduced(a, a.neg(square))
    r = a.sub(r, low)
    rise = a.mul(r, a.polynomial(r, (*EXP[x.type], 1.0)))
    decay, decay_low = quick_two_sum(a, a.const(1.0, x.type), rise)
    # The quotient by 1 + 2 size and the product of the two factors, each with its error.
    bottom, bottom_low = two_sum(a, a.add(size, size), a.const(1.0, x.type))
    inverse = a.div(1.0, bottom)
    quotient = a.mul(smooth, inverse)
    rest = a.sub(a.fma(a.neg(quotient), bottom, smooth), a.mul(quotient, bottom_low))
    quotient_low = a.mul(a.add(rest, smooth_low), inverse)
    value, value_low = two_product(a, decay, quotient)
    value_low = a.add(value_low, a.fma(decay, quotient_low, a.mul(decay_low, quotient)))
    value = scaled(a, a.add(value, value_low), bits)
    value = a.select(a.cmp("olt", x, 0.0), a.sub(2.0, value), value)
    inner = a.select(a.cmp("olt", size, 0.5), x, 0.0)
    small = a.fma(inner, a.polynomial(a.mul(inner, inner), ERF_SMALL[x.type]), inner)
    return a.select(a.cmp("olt", size, 0.5), a.sub(1.0, small), value)
