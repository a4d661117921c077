"""log, log2, log10, log1p and the inverse hyperbolic functions: x = 2**e (1 + f)."""

from __future__ import annotations

from gradc.ir.core import Value
from gradc.ir.types import ScalarType, f32, f64
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.polynomials.coefficients import LOG, LOG_DIRECT
from gradc.passes.lower.polynomials.formats import (
    format_of,
    quick_two_sum,
    split,
    two_product,
    two_sum,
)

INFINITY = float("inf")
LOG2_E: dict[ScalarType, tuple[float, float]] = {
    f64: (1.4426950408889634, 2.0355273740931033e-17),
    f32: (1.4426950216293335, 1.925963033500011e-08),
}
LOG10_E: dict[ScalarType, tuple[float, float]] = {
    f64: (0.4342944819032518, 1.098319650216765e-17),
    f32: (0.4342944920063019, -1.0103049952192578e-08),
}
# log10(2); the first part has few enough bits that its product with an exponent is exact.
LOG10_2: dict[ScalarType, tuple[float, float]] = {
    f64: (0.301029995663157, 8.241712586023572e-13),
    f32: (0.301025390625, 4.605039066518657e-06),
}


def tail(a: Arithmetic, f: Value) -> Value:
    """log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)]."""
    square = a.mul(f, f)
    if f.type is f32:
        return a.mul(square, a.fma(f, a.polynomial(f, LOG_DIRECT[f32]), -0.5))
    s = a.div(f, a.add(f, 2.0))
    half_square = a.mul(square, 0.5)
    z = a.mul(s, s)
    rest = a.fma(z, a.polynomial(z, LOG[f64]), half_square)
    return a.sub(a.mul(s, rest), half_square)


def at_the_ends(a: Arithmetic, x: Value, result: Value) -> Value:
    """A logarithm's result at x = inf, NaN (x itself), 0 (-inf) and below (NaN)."""
    result = a.select(a.cmp("olt", x, INFINITY), result, x)
    beyond = a.select(a.cmp("oeq", x, 0.0), a.const(-INFINITY, x.type), float("nan"))
    return a.select(a.cmp("ugt", x, 0.0), result, beyond)


def log(a: Arithmetic, x: Value) -> Value:
    f = format_of(x)
    e, m, _ = split(a, x)
    fraction = a.sub(m, 1.0)
    low = a.fma(e, f.ln2_short[1], tail(a, fraction))
    return at_the_ends(a, x, a.fma(e, f.ln2_short[0], a.add(fraction, low)))


def log2(a: Arithmetic, x: Value) -> Value:
    e, m, _ = split(a, x)
    fraction = a.sub(m, 1.0)
    high, low = LOG2_E[x.type]
    product, error = two_product(a, fraction, high)
    rest = a.fma(fraction, low, a.fma(tail(a, fraction), high, error))
    total, error = quick_two_sum(a, e, product)
    return at_the_ends(a, x, a.add(total, a.add(error, rest)))


def log10(a: Arithmetic, x: Value) -> Value:
    e, m, _ = split(a, x)
    fraction = a.sub(m, 1.0)
    high, low = LOG10_E[x.type]
    product, error = two_product(a, fraction, high)
    rest = a.fma(fraction, low, a.fma(tail(a, fraction), high, error))
    exponent = LOG10_2[x.type]
    rest = a.fma(e, exponent[1], rest)
    total, error = quick_two_sum(a, a.mul(e, exponent[0]), product)
    return at_the_ends(a, x, a.add(total, a.add(error, rest)))


def log_of_sum(a: Arithmetic, u: Value, low: Value) -> Value:
    """log(u + low) for positive u with abs(low) up to an ulp of u, where the sum may be close to
    1."""
    f = format_of(u)
    e, m, k = split(a, u)
    # The scale 2**-e is exact in the normal range; beyond it low does not matter.
    scale = a.float(a.shl(a.sub(2 * f.bias, k), f.mantissa))
    scale = a.select(a.cmp("olt", u, 2.0 ** (f.bias - 2)), scale, 0.0)
    fraction = a.fma(low, scale, a.sub(m, 1.0))
    rest = a.fma(e, f.ln2_short[1], tail(a, fraction))
    return a.fma(e, f.ln2_short[0], a.add(fraction, rest))


def log1p(a: Arithmetic, x: Value) -> Value:
    u, low = two_sum(a, a.const(1.0, x.type), x)
    result = at_the_ends(a, u, log_of_sum(a, u, low))
    # Where 1 + x is 1 (and for -0) the result is x.
    return a.select(a.cmp("olt", a.abs(x), 2.0 ** -(format_of(x).mantissa + 2)), x, result)


def asinh(a: Arithmetic, x: Value) -> Value:
    """log1p(y + y**2 / (1 + sqrt(y**2 + 1))) with y = abs(x); log(2 y) for large y."""
    f = format_of(x)
    y = a.abs(x)
    large = a.cmp("ogt", y, 2.0 ** (f.mantissa // 2 + 2))
    inner = a.select(large, 1.0, y)
    square = a.mul(inner, inner)
    root = a.sqrt(a.add(square, 1.0))
    grown, low = two_sum(a, inner, a.div(square, a.add(root, 1.0)))
    u, error = two_sum(a, a.const(1.0, x.type), grown)
    u = a.select(large, y, u)
    low = a.select(large, 0.0, a.add(error, low))
    result = log_of_sum(a, u, low)
    result = a.add(result, a.select(large, a.const(f.ln2[0], x.type), 0.0))
    result = a.select(a.cmp("olt", y, INFINITY), result, y)
    result = a.select(a.cmp("olt", y, 2.0 ** -(f.mantissa // 2 + 2)), y, result)
    return a.copysign(result, x)


def acosh(a: Arithmetic, x: Value) -> Value:
    """log1p(t + sqrt(2 t + t**2)) with t = x - 1; log(2 x) for large x."""
    f = format_of(x)
    large = a.cmp("ogt", x, 2.0 ** (f.mantissa // 2 + 2))
    t = a.sub(a.select(large, 2.0, x), 1.0)
    double = a.mul(t, 2.0)
    square = a.fma(t, t, double)
    root = a.sqrt(square)
    # The root's error: that of the square and its own.
    residual = a.add(a.fma(t, t, a.sub(double, square)), a.fma(a.neg(root), root, square))
    correction = a.div(residual, a.add(root, root))
    correction = a.select(a.cmp("ogt", root, 0.0), correction, 0.0)
    grown, low = two_sum(a, t, root)
    low = a.add(low, correction)
    u, error = two_sum(a, a.const(1.0, x.type), grown)
    u = a.select(large, x, u)
    low = a.select(large, 0.0, a.add(error, low))
    result = log_of_sum(a, u, low)
    result = a.add(result, a.select(large, a.const(f.ln2[0], x.type), 0.0))
    result = a.select(a.cmp("olt", x, INFINITY), result, x)
    return a.select(a.cmp("oge", x, 1.0), result, float("nan"))


def atanh(a: Arithmetic, x: Value) -> Value:
    """log1p(2 y / (1 - y)) / 2 with y = abs(x)."""
    f = format_of(x)
    y = a.abs(x)
    gap = a.sub(1.0, y)
    double = a.add(y, y)
    quotient = a.div(double, gap)
    # The quotient's error: its own rounding, and that of 1 - y.
    rest = a.fma(a.neg(quotient), gap, double)
    gap_error = a.sub(a.sub(1.0, gap), y)
    low = a.div(a.sub(rest, a.mul(quotient, gap_error)), gap)
    u, error = two_sum(a, a.const(1.0, x.type), quotient)
    result = a.mul(log_of_sum(a, u, a.add(error, low)), 0.5)
    result = a.select(a.cmp("olt", y, 1.0), result, float("nan"))
    result = a.select(a.cmp("oeq", y, 1.0), INFINITY, result)
    result = a.select(a.cmp("olt", y, 2.0 ** -(f.mantissa // 2 + 2)), y, result)
    return a.copysign(result, x)
