"""What the functions need to know of a float type, and how they take numbers apart."""

from __future__ import annotations

from dataclasses import dataclass

from gradc.ir.core import Value
from gradc.ir.types import ScalarType, f32, f64, i32, i64
from gradc.passes.lower.arithmetic import Arithmetic


@dataclass(frozen=True, slots=True)
class Format:
    """A float type.

    mantissa, bias:  stored mantissa bits and exponent bias
    magic:           1.5 * 2**mantissa; x + magic has round(x) in its low bits
    log2_e:          log2(e)
    ln2:             log(2) as a sum of two numbers; the first is the nearest
    ln2_short:       the same, the first short enough that its product with an exponent is exact
    half_root:       the bits of sqrt(1/2)
    """

    type: ScalarType
    integer: ScalarType
    mantissa: int
    bias: int
    magic: float
    log2_e: float
    ln2: tuple[float, float]
    ln2_short: tuple[float, float]
    half_root: int

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.mantissa

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)


F64 = Format(
    f64, i64, 52, 1023, 1.5 * 2.0**52,
    1.4426950408889634,
    (0.6931471805599453, 2.3190468138462996e-17),
    (0.693147180559663, 2.8235290563031577e-13),
    0x3FE6A09E667F3BCD,
)  # fmt: skip
F32 = Format(
    f32, i32, 23, 127, 1.5 * 2.0**23,
    1.4426950216293335,
    (0.6931471824645996, -1.9046542121259336e-09),
    (0.693145751953125, 1.428606765330187e-06),
    0x3F3504F3,
)  # fmt: skip


def format_of(x: Value) -> Format:
    return F64 if x.type is f64 else F32


def clamp(a: Arithmetic, x: Value, low: float, high: float) -> Value:
    """x limited to [low, high]; NaN stays NaN."""
    above = a.select(a.cmp("ogt", a.const(low, x.type), x), low, x)
    return a.select(a.cmp("olt", a.const(high, x.type), above), high, above)


def power_of_two(a: Arithmetic, bits: Value, offset: int = 0) -> Value:
    """2**(n + offset) for the integer n in the low bits of `bits`; in the normal range."""
    f = F64 if bits.type is i64 else F32
    return a.float(a.add(a.shl(bits, f.mantissa), (f.bias + offset) << f.mantissa))


def scaled(a: Arithmetic, p: Value, bits: Value) -> Value:
    """p * 2**n for the n in the low bits of x + magic, in two steps, so that denormal results round
    once and overflow gives infinity."""
    half = a.shr(bits, 1)
    return a.mul(a.mul(p, power_of_two(a, half)), power_of_two(a, a.sub(bits, half)))


def split(a: Arithmetic, x: Value) -> tuple[Value, Value, Value]:
    """(e, m, k) with x = 2**e m, m in [sqrt(1/2), sqrt(2)), for finite positive x; e is a float and
    k the integer e + bias. Denormals are scaled up first."""
    f = format_of(x)
    small = a.cmp("olt", x, f.tiny)
    x = a.select(small, a.mul(x, 2.0 ** (f.mantissa + 2)), x)
    shift = a.select(small, a.const(f.mantissa + 2, f.integer), 0)
    # With this added the exponent field counts from sqrt(1/2).
    bits = a.add(a.bits(x), f.one - f.half_root)
    field = a.shr(bits, f.mantissa)
    m = a.float(a.add(a.and_(bits, (1 << f.mantissa) - 1), f.half_root))
    k = a.sub(field, shift)
    # k + offset is small and positive: as the mantissa of 2**mantissa it is exact.
    offset = 2 * f.mantissa
    base = 2.0**f.mantissa
    as_float = a.float(a.or_(a.add(k, offset), _bits_of_power(f)))
    return a.sub(as_float, base + f.bias + offset), m, k


def _bits_of_power(f: Format) -> int:
    """The bits of 2**mantissa."""
    return (f.bias + f.mantissa) << f.mantissa


def two_sum(a: Arithmetic, x: Value, y: Value) -> tuple[Value, Value]:
    """x + y and its rounding error, for any x and y."""
    s = a.add(x, y)
    t = a.sub(s, x)
    return s, a.add(a.sub(x, a.sub(s, t)), a.sub(y, t))


def quick_two_sum(a: Arithmetic, x: Value, y: Value) -> tuple[Value, Value]:
    """x + y and its rounding error, for abs(x) >= abs(y) or x = 0."""
    s = a.add(x, y)
    return s, a.sub(y, a.sub(s, x))


def two_product(a: Arithmetic, x: Value, y: Value | float) -> tuple[Value, Value]:
    """x * y and its rounding error."""
    p = a.mul(x, y)
    return p, a.fma(x, y, a.neg(p))
