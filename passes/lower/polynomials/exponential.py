"""exp, exp2, expm1 and the hyperbolic functions: x = n log(2) + r, exp(x) = 2**n exp(r)."""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.types import f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import EXP, EXP2, EXPM1, SINH, TANH
from gradc.passes.lower.polynomials.formats import clamp, format_of, power_of_two, scaled


def reduced(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """r in [-log(2)/2, log(2)/2] and the bits whose low part is n. x - n ln2_hi is exact."""
    f = format_of(x)
    shifted = a.fma(x, f.log2_e, f.magic)
    n = a.sub(shifted, f.magic)
    r = a.fma(n, -f.ln2[1], a.fma(n, -f.ln2[0], x))
    return r, a.bits(shifted)


def exp(a: Arithmetic, x: Value) -> Value:
    x = clamp(a, x, -746.0, 710.0) if x.type is f64 else clamp(a, x, -104.0, 89.0)
    r, bits = reduced(a, x)
    return scaled(a, a.polynomial(r, (*EXP[x.type], 1.0, 1.0)), bits)


def exp2(a: Arithmetic, x: Value) -> Value:
    f = format_of(x)
    x = clamp(a, x, -1076.0, 1025.0) if x.type is f64 else clamp(a, x, -151.0, 129.0)
    shifted = a.add(x, f.magic)
    r = a.sub(x, a.sub(shifted, f.magic))
    return scaled(a, a.polynomial(r, (*EXP2[x.type], 1.0)), a.bits(shifted))


def _expm1_parts(a: Arithmetic, x: Value) -> tuple[Value, Value]:
    """p = expm1(r), and the bits of n."""
    r, bits = reduced(a, x)
    return a.fma(a.mul(r, r), a.polynomial(r, EXPM1[x.type]), r), bits


def expm1(a: Arithmetic, x: Value) -> Value:
    """2**n p + (2**n - 1), halved and doubled so that 2**n does not overflow before the result."""
    limited = clamp(a, x, -40.0, 710.0) if x.type is f64 else clamp(a, x, -20.0, 89.0)
    p, bits = _expm1_parts(a, limited)
    half = power_of_two(a, bits, -1)
    result = a.mul(a.fma(p, half, a.sub(half, 0.5)), 2.0)
    # Without scaling (n = 0) p is the result; its halving would lose a denormal's last bit.
    result = a.select(a.cmp("oeq", half, 0.5), p, result)
    return a.copysign(result, x)


def tanh(a: Arithmetic, x: Value) -> Value:
    """x + x**3 q(x**2) for abs(x) < 5/8, 1 - 2 / (exp(2 abs(x)) + 1) above."""
    size = a.abs(x)
    z = a.mul(x, x)
    small = a.fma(a.mul(size, z), a.polynomial(z, TANH[x.type]), size)
    limited = clamp(a, size, 0.0, 22.0 if x.type is f64 else 10.0)
    r, bits = reduced(a, a.add(limited, limited))
    power = a.polynomial(r, (*EXP[x.type], 1.0, 1.0))
    bottom = a.fma(power, power_of_two(a, bits), 1.0)
    large = a.sub(1.0, a.div(2.0, bottom))
    return a.copysign(a.select(a.cmp("olt", size, 0.625), small, large), x)


def _quarter_exponential(a: Arithmetic, x: Value) -> Value:
    """exp(abs(x)) / 4, limited to just above where exp(x) / 2 overflows."""
    limit = 710.5 if x.type is f64 else 89.5
    r, bits = reduced(a, clamp(a, a.abs(x), 0.0, limit))
    return a.mul(a.polynomial(r, (*EXP[x.type], 1.0, 1.0)), power_of_two(a, bits, -2))


def _or_infinity(a: Arithmetic, x: Value, result: Value) -> Value:
    limit = 710.5 if x.type is f64 else 89.5
    return a.select(a.cmp("ogt", a.abs(x), limit), float("inf"), result)


def sinh(a: Arithmetic, x: Value) -> Value:
    """x + x**3 q(x**2) for abs(x) < 1; 2 (h - 1 / (16 h)) with h = exp(abs(x)) / 4 above."""
    size, z = a.abs(x), a.mul(x, x)
    small = a.fma(a.mul(size, z), a.polynomial(z, SINH[x.type]), size)
    h = _quarter_exponential(a, x)
    large = _or_infinity(a, x, a.mul(a.sub(h, a.div(0.0625, h)), 2.0))
    return a.copysign(a.select(a.cmp("olt", size, 1.0), small, large), x)


def cosh(a: Arithmetic, x: Value) -> Value:
    """2 (h + 1 / (16 h)) with h = exp(abs(x)) / 4."""
    h = _quarter_exponential(a, x)
    return _or_infinity(a, x, a.mul(a.add(h, a.div(0.0625, h)), 2.0))
