"""Floating scalars (f32 and f64; the half types compute in f32) with NumPy's meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradc.ir.core import Value
from gradc.ir.ops import math
from gradc.ir.ops.arith import Constant
from gradc.ir.types import f32, f64
from gradc.passes.lower.scalar_value import Scalar

if TYPE_CHECKING:
    from gradc.passes.lower.scalars import ScalarBuilder

_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
LOG_2 = 0.6931471805599453

# Scalar operations that are one operation of the math dialect.
UNARY = {
    "sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "exp2": math.Exp2, "expm1": math.ExpM1,
    "log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1P, "sin": math.Sin,
    "cos": math.Cos, "tan": math.Tan, "arcsin": math.ASin, "arccos": math.ACos,
    "arctan": math.ATan, "sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh,
    "arcsinh": math.ASinh, "arccosh": math.ACosh, "arctanh": math.ATanh, "erf": math.Erf,
    "erfc": math.Erfc, "floor": math.Floor, "ceil": math.Ceil, "rint": math.RoundEven,
    "trunc": math.Trunc, "abs": math.AbsF,
}  # fmt: skip


class FloatScalars:
    """f32 and f64."""

    def __init__(self, builder: ScalarBuilder) -> None:
        self.s = builder
        self.a = builder.arithmetic

    def _new(self, like: Scalar, value: Value) -> Scalar:
        return Scalar(like.dtype, (value,))

    def unary(self, name: str, x: Scalar) -> Scalar:
        return self._new(x, self.a.emit(UNARY[name], x.value))

    def compare(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        return self.s.boolean(self.a.cmp(_PREDICATES[name], x.value, y.value))

    def truth(self, x: Scalar) -> Value:
        return self.a.cmp("une", x.value, 0.0)

    # -------------------------------------------------------------------------------- arithmetic

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.add(x.value, y.value, fast=True))

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.sub(x.value, y.value, fast=True))

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.mul(x.value, y.value, fast=True))

    def div(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.div(x.value, y.value))

    def neg(self, x: Scalar) -> Scalar:
        return self._new(x, self.a.neg(x.value))

    def sign(self, x: Scalar) -> Scalar:
        """-1, 0 or 1; NaN for NaN; +0 for -0."""
        a, v = self.a, x.value
        result = a.select(a.cmp("oeq", v, 0.0), 0.0, a.copysign(1.0, v))
        return self._new(x, a.select(a.is_nan(v), v, result))

    def copysign(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.copysign(x.value, y.value))

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        """NaN if either is NaN."""
        return self._new(x, self._propagate(x, self.a.larger(x.value, y.value)))

    def minimum(self, x: Scalar, y: Scalar) -> Scalar:
        """NaN if either is NaN."""
        return self._new(x, self._propagate(x, self.a.smaller(x.value, y.value)))

    def _propagate(self, x: Scalar, value: Value) -> Value:
        return self.a.select(self.a.is_nan(x.value), x.value, value)

    def fmax(self, x: Scalar, y: Scalar) -> Scalar:
        """The other operand where one is NaN."""
        value = self.a.larger(x.value, y.value)
        return self._new(x, self.a.select(self.a.is_nan(y.value), x.value, value))

    def fmin(self, x: Scalar, y: Scalar) -> Scalar:
        """The other operand where one is NaN."""
        value = self.a.smaller(x.value, y.value)
        return self._new(x, self.a.select(self.a.is_nan(y.value), x.value, value))

    # ---------------------------------------------------------------------------------- division

    def fmod(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.rem(x.value, y.value))

    def remainder(self, x: Scalar, y: Scalar) -> Scalar:
        """The remainder with the divisor's sign; its zero has that sign too."""
        a = self.a
        rest = self._floored_rest(a.rem(x.value, y.value), y.value)
        signed_zero = a.copysign(0.0, y.value)
        return self._new(x, a.select(a.cmp("oeq", rest, 0.0), signed_zero, rest))

    def _floored_rest(self, rest: Value, y: Value) -> Value:
        return self.a.select(self._wrong_sign(rest, y), self.a.add(rest, y), rest)

    def _wrong_sign(self, rest: Value, y: Value) -> Value:
        a = self.a
        differs = a.xor(a.cmp("olt", rest, 0.0), a.cmp("olt", y, 0.0))
        return a.and_(a.cmp("une", rest, 0.0), differs)

    def floor_divide(self, x: Scalar, y: Scalar) -> Scalar:
        """(x - x mod y) / y, which is an integer up to rounding, rounded to it; x / y for y = 0."""
        a = self.a
        rest = a.rem(x.value, y.value)
        quotient = a.div(a.sub(x.value, rest), y.value)
        quotient = a.select(self._wrong_sign(rest, y.value), a.sub(quotient, 1.0), quotient)
        down = a.floor(quotient)
        near = a.select(a.cmp("ogt", a.sub(quotient, down), 0.5), a.add(down, 1.0), down)
        plain = a.div(x.value, y.value)
        zero = a.copysign(0.0, plain)
        result = a.select(a.cmp("oeq", quotient, 0.0), zero, near)
        return self._new(x, a.select(a.cmp("oeq", y.value, 0.0), plain, result))

    # --------------------------------------------------------------------- powers and logarithms

    def power(self, x: Scalar, y: Scalar) -> Scalar:
        """C's pow; constant exponents -1, 0, 1, 2, 3, 4 are products (within 1.5 ulp)."""
        exponent = y.value.defining_op
        if isinstance(exponent, Constant) and exponent.number in (-1, 0, 1, 2, 3, 4):
            return self._small_power(x, int(exponent.number))
        return self._new(x, self.a.emit(math.PowF, x.value, y.value))

    def _small_power(self, x: Scalar, exponent: int) -> Scalar:
        a, v = self.a, x.value
        if exponent == -1:
            return self._new(x, a.div(1.0, v))
        if exponent == 0:
            return self.s.const(1.0, like=x)
        if exponent == 1:
            return x
        square = a.mul(v, v)
        if exponent == 2:
            return self._new(x, square)
        return self._new(x, a.mul(square, v if exponent == 3 else square))

    def arctan2(self, y: Scalar, x: Scalar) -> Scalar:
        return self._new(y, self.a.emit(math.ATan2, y.value, x.value))

    def hypot(self, x: Scalar, y: Scalar) -> Scalar:
        """sqrt(x*x + y*y) without overflow: f32 in f64, f64 scaled by a power of two."""
        a = self.a
        if x.dtype is f32:
            wide = self.s.convert(x, f64).value, self.s.convert(y, f64).value
            total = a.fma(wide[0], wide[0], a.mul(wide[1], wide[1]))
            root = self.s.convert(Scalar(f64, (a.sqrt(total),)), f32).value
        else:
            p, q = a.abs(x.value), a.abs(y.value)
            swap = a.cmp("olt", p, q)
            large, small = a.select(swap, q, p), a.select(swap, p, q)
            down, up = a.cmp("ogt", large, 2.0**500), a.cmp("olt", large, 2.0**-450)
            one = a.const(1.0, f64)
            scale = a.select(down, 2.0**-600, a.select(up, 2.0**600, one))
            back = a.select(down, 2.0**600, a.select(up, 2.0**-600, one))
            large, small = a.mul(large, scale), a.mul(small, scale)
            root = self._corrected_root(large, small)
            root = a.mul(root, back)
        infinity = float("inf")
        infinite = a.or_(
            a.cmp("oeq", a.abs(x.value), infinity), a.cmp("oeq", a.abs(y.value), infinity)
        )
        return self._new(x, a.select(infinite, infinity, root))

    def _corrected_root(self, large: Value, small: Value) -> Value:
        """sqrt(large**2 + small**2) in range: one Newton step on the exact residual (Borges 2020,
        "An improved algorithm for hypot(a, b)")."""
        a = self.a
        root = a.sqrt(a.fma(large, large, a.mul(small, small)))
        root_square, large_square = a.mul(root, root), a.mul(large, large)
        residual = a.fma(a.neg(small), small, a.sub(root_square, large_square))
        residual = a.add(residual, a.fma(root, root, a.neg(root_square)))
        residual = a.sub(residual, a.fma(large, large, a.neg(large_square)))
        better = a.sub(root, a.div(residual, a.mul(2.0, root)))
        return a.select(a.cmp("ogt", root, 0.0), better, root)

    def logaddexp(self, x: Scalar, y: Scalar) -> Scalar:
        """log(exp(x) + exp(y)): the larger plus log1p(exp(-distance)); equal infinities stay."""
        a = self.a
        distance = a.sub(x.value, y.value)
        decay = a.emit(math.Exp, a.neg(a.abs(distance)))
        larger = a.larger(x.value, y.value)
        apart = a.add(larger, a.emit(math.Log1P, decay))
        equal = a.add(x.value, LOG_2)
        return self._new(x, a.select(a.cmp("oeq", x.value, y.value), equal, apart))

    # ------------------------------------------------------------------------------------ classes

    def isnan(self, x: Scalar) -> Scalar:
        return self.s.boolean(self.a.is_nan(x.value))

    def isinf(self, x: Scalar) -> Scalar:
        return self.s.boolean(self.a.cmp("oeq", self.a.abs(x.value), float("inf")))

    def isfinite(self, x: Scalar) -> Scalar:
        return self.s.boolean(self.a.cmp("olt", self.a.abs(x.value), float("inf")))

    def signbit(self, x: Scalar) -> Scalar:
        return self.s.boolean(self.a.cmp("slt", self.a.bits(x.value), 0))

    def real(self, x: Scalar) -> Scalar:
        return x

    conj = real

    def imag(self, x: Scalar) -> Scalar:
        return self.s.const(0.0, like=x)
