"""Bool and integer scalars with NumPy's meaning.

Signed and unsigned integers are signless at the loop level; the dtype of the `Scalar` says which
operation reads them. Division by zero gives 0, the minimum divided by -1 gives the minimum, shifts
by the width or more (or by a negative number) shift everything out: what MLIR and LLVM leave
undefined is guarded here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradc.ir.core import Value
from gradc.ir.ops import arith_integers, status
from gradc.ir.ops.arith import Constant
from gradc.ir.types import i1
from gradc.passes.lower.scalar_value import Scalar

if TYPE_CHECKING:
    from gradc.passes.lower.scalars import ScalarBuilder

_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "{}lt", "le": "{}le", "gt": "{}gt", "ge": "{}ge"}


class _Discrete:
    """What bools and integers share: comparison, logic, bits."""

    def __init__(self, builder: ScalarBuilder) -> None:
        self.s = builder
        self.a = builder.arithmetic

    def compare(self, name: str, x: Scalar, y: Scalar) -> Scalar:
        sign = "s" if x.dtype.kind in "ix" else "u"
        return self.s.boolean(self.a.cmp(_PREDICATES[name].format(sign), x.value, y.value))

    def bitwise_and(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, (self.a.and_(x.value, y.value),))

    def bitwise_or(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, (self.a.or_(x.value, y.value),))

    def bitwise_xor(self, x: Scalar, y: Scalar) -> Scalar:
        return Scalar(x.dtype, (self.a.xor(x.value, y.value),))

    def invert(self, x: Scalar) -> Scalar:
        return Scalar(x.dtype, (self.a.not_(x.value),))

    def isfinite(self, x: Scalar) -> Scalar:
        return self.s.const(True, dtype=i1)

    def isnan(self, x: Scalar) -> Scalar:
        return self.s.const(False, dtype=i1)

    isinf = isnan

    def real(self, x: Scalar) -> Scalar:
        return x

    conj = floor = ceil = trunc = rint = real

    def imag(self, x: Scalar) -> Scalar:
        return self.s.const(0, like=x)


class BoolScalars(_Discrete):
    """Bools: sum is or, product is and, as in NumPy."""

    def truth(self, x: Scalar) -> Value:
        return x.value

    add = maximum = fmax = _Discrete.bitwise_or
    mul = minimum = fmin = _Discrete.bitwise_and

    def abs(self, x: Scalar) -> Scalar:
        return x

    def signbit(self, x: Scalar) -> Scalar:
        return self.s.const(False, dtype=i1)


class IntegerScalars(_Discrete):
    """Signed and unsigned integers and `index`, which counts as signed."""

    def truth(self, x: Scalar) -> Value:
        return self.a.cmp("ne", x.value, 0)

    def _new(self, like: Scalar, value: Value) -> Scalar:
        return Scalar(like.dtype, (value,))

    def add(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.add(x.value, y.value))

    def sub(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.sub(x.value, y.value))

    def mul(self, x: Scalar, y: Scalar) -> Scalar:
        return self._new(x, self.a.mul(x.value, y.value))

    def neg(self, x: Scalar) -> Scalar:
        return self._new(x, self.a.neg(x.value))

    def abs(self, x: Scalar) -> Scalar:
        if x.dtype.kind == "u":
            return x
        sign = self.a.sar(x.value, x.dtype.bits - 1)
        return self._new(x, self.a.sub(self.a.xor(x.value, sign), sign))

    def sign(self, x: Scalar) -> Scalar:
        positive = self.a.select(self.a.cmp("ne", x.value, 0), self._const(x, 1), self._const(x, 0))
        if x.dtype.kind == "u":
            return self._new(x, positive)
        negative = self.a.cmp("slt", x.value, 0)
        return self._new(x, self.a.select(negative, self._const(x, -1), positive))

    def signbit(self, x: Scalar) -> Scalar:
        if x.dtype.kind == "u":
            return self.s.const(False, dtype=i1)
        return self.s.boolean(self.a.cmp("slt", x.value, 0))

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        op = arith_integers.MaxUI if x.dtype.kind == "u" else arith_integers.MaxSI
        return self._new(x, self.a.emit(op, x.value, y.value))

    def minimum(self, x: Scalar, y: Scalar) -> Scalar:
        op = arith_integers.MinUI if x.dtype.kind == "u" else arith_integers.MinSI
        return self._new(x, self.a.emit(op, x.value, y.value))

    fmax, fmin = maximum, minimum

    # ---------------------------------------------------------------------------------- division

    def floor_divide(self, x: Scalar, y: Scalar) -> Scalar:
        a = self.a
        zero = a.cmp("eq", y.value, 0)
        if x.dtype.kind == "u":
            quotient = a.emit(arith_integers.DivUI, x.value, a.select(zero, 1, y.value))
            return self._new(x, a.select(zero, 0, quotient))
        minus_one = a.cmp("eq", y.value, -1)
        divisor = a.select(a.or_(zero, minus_one), 1, y.value)
        quotient = a.emit(arith_integers.DivSI, x.value, divisor)
        rest = a.sub(x.value, a.mul(quotient, divisor))
        floored = a.select(self._wrong_sign(rest, divisor), a.sub(quotient, 1), quotient)
        floored = a.select(minus_one, a.neg(x.value), floored)
        return self._new(x, a.select(zero, 0, floored))

    def remainder(self, x: Scalar, y: Scalar) -> Scalar:
        rest = self.fmod(x, y)
        if x.dtype.kind == "u":
            return rest
        moved = self.a.add(rest.value, y.value)
        return self._new(x, self.a.select(self._wrong_sign(rest.value, y.value), moved, rest.value))

    def _wrong_sign(self, rest: Value, divisor: Value) -> Value:
        """Whether a truncating remainder is nonzero and has not the divisor's sign."""
        differs = self.a.cmp("slt", self.a.xor(rest, divisor), 0)
        return self.a.and_(self.a.cmp("ne", rest, 0), differs)

    def fmod(self, x: Scalar, y: Scalar) -> Scalar:
        a = self.a
        zero = a.cmp("eq", y.value, 0)
        if x.dtype.kind == "u":
            rest = a.emit(arith_integers.RemUI, x.value, a.select(zero, 1, y.value))
            return self._new(x, a.select(zero, 0, rest))
        # Divided by 1, 0 and -1 leave the remainder 0, which is what NumPy gives.
        special = a.or_(zero, a.cmp("eq", y.value, -1))
        divisor = a.select(special, 1, y.value)
        return self._new(x, a.emit(arith_integers.RemSI, x.value, divisor))

    # ------------------------------------------------------------------------------------- power

    def power(self, x: Scalar, y: Scalar) -> Scalar:
        """x ** y by squaring, wrapping; a negative exponent raises ValueError, as in NumPy."""
        a = self.a
        exponent = y.value.defining_op
        if isinstance(exponent, Constant) and exponent.number >= 0:
            return self._constant_power(x, int(exponent.number))
        if x.dtype.kind != "u":
            self.s.builder.create(
                status.Check,
                (a.cmp("sge", y.value, 0),),
                {
                    "exception": "ValueError",
                    "message": "Integers to negative integer powers are not allowed.",
                },
            )
        result, square, left = self._const(x, 1), x.value, y.value
        for bit in range(x.dtype.bits):
            odd = a.cmp("ne", a.and_(left, 1), 0)
            result = a.select(odd, a.mul(result, square), result)
            if bit + 1 < x.dtype.bits:
                square, left = a.mul(square, square), a.shr(left, 1)
        return self._new(x, result)

    def _constant_power(self, x: Scalar, exponent: int) -> Scalar:
        result: Value | None = None
        square = x.value
        while exponent:
            if exponent & 1:
                result = square if result is None else self.a.mul(result, square)
            exponent >>= 1
            if exponent:
                square = self.a.mul(square, square)
        return self._new(x, self._const(x, 1) if result is None else result)

    # ------------------------------------------------------------------------------------ shifts

    def left_shift(self, x: Scalar, y: Scalar) -> Scalar:
        inside = self.a.cmp("ult", y.value, x.dtype.bits)
        shifted = self.a.shl(x.value, self.a.select(inside, y.value, 0))
        return self._new(x, self.a.select(inside, shifted, 0))

    def right_shift(self, x: Scalar, y: Scalar) -> Scalar:
        a, bits = self.a, x.dtype.bits
        inside = a.cmp("ult", y.value, bits)
        if x.dtype.kind == "u":
            shifted = a.shr(x.value, a.select(inside, y.value, 0))
            return self._new(x, a.select(inside, shifted, 0))
        return self._new(x, a.sar(x.value, a.select(inside, y.value, bits - 1)))

    def _const(self, like: Scalar, value: int) -> Any:
        return self.a.const(value, like.value.type)
