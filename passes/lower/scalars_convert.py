"""Conversions between dtypes with NumPy's results (ndarray.astype), and the half types.

Floats out of an integer's range, infinities and NaN give what NumPy gives on x86-64: the most
negative number of the conversion's register (32 bits for int32 and narrower types, which keep its
low bits; 64 bits for int64). For uint32 NumPy's own result differs between contiguous arrays,
strided ones and scalars; here it is that of contiguous arrays. Out of bfloat16 such values give 0,
as in ml_dtypes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradc.ir.core import Value
from gradc.ir.ops import arith_casts as casts
from gradc.ir.ops import complex
from gradc.ir.types import ScalarType, bf16, f16, f32, f64, i1, i8, i16, i32, i64, index
from gradc.passes.lower.scalar_value import Scalar, register_type

if TYPE_CHECKING:
    from gradc.passes.lower.scalars import ScalarBuilder


class Conversions:
    """Emits conversions of `Scalar`s."""

    def __init__(self, builder: ScalarBuilder) -> None:
        self.s = builder
        self.a = builder.arithmetic

    def convert(self, x: Scalar, dtype: ScalarType) -> Scalar:
        if x.dtype is dtype:
            return x
        if dtype.is_bool:
            return self.s.boolean(self.s.truth(x))
        if dtype.is_complex:
            if x.dtype.is_complex:
                return Scalar(dtype, tuple(self._to_float(p, dtype.real) for p in x.parts))
            re = self.convert(x, dtype.real).value
            return Scalar(dtype, (re, self.a.const(0.0, dtype.real)))
        if x.dtype.is_complex:
            x = Scalar(x.dtype.real, x.parts[:1])
        source = x.value
        if x.dtype.is_floating:
            value = (
                self._half_or_float(source, x.dtype, dtype)
                if dtype.is_floating
                else self._float_to_integer(source, x.dtype, dtype)
            )
        elif dtype.is_floating:
            value = self._integer_to_float(x, dtype)
        else:
            value = self._integer_to_integer(x, dtype)
        return Scalar(dtype, (value,))

    # ------------------------------------------------------------------------------ floats

    def _to_float(self, x: Value, to: ScalarType) -> Value:
        """Between f32 and f64."""
        if x.type is to:
            return x
        return self.a.cast(casts.ExtF if to is f64 else casts.TruncF, x, to)

    def _widened(self, x: Value, dtype: ScalarType) -> Value:
        """A half-type value as f32; others unchanged."""
        return self.a.cast(casts.ExtF, x, f32) if dtype is f16 else x

    def _half_or_float(self, x: Value, source: ScalarType, to: ScalarType) -> Value:
        if source is f64 and to in (f16, bf16):
            return self._narrow(self._to_float(self._rounded_to_odd(x), f32), to)
        x = self._widened(x, source)
        return self._narrow(x, to) if to in (f16, bf16) else self._to_float(x, to)

    def _narrow(self, x: Value, to: ScalarType) -> Value:
        """f32 to f16 or bf16, to nearest even."""
        if to is f16:
            return self.a.cast(casts.TruncF, x, f16)
        a = self.a
        bits = a.bits(x)
        odd = a.and_(a.shr(bits, 16), 1)
        rounded = a.and_(a.add(bits, a.add(odd, 0x7FFF)), -0x10000)
        quiet = a.and_(a.or_(bits, 0x400000), -0x10000)
        return a.float(a.select(a.is_nan(x), quiet, rounded))

    def _rounded_to_odd(self, x: Value) -> Value:
        """An f64 with the precision of an f32, inexact values with an odd last bit, so that
        rounding it once more to a half type is as good as rounding x (Boldo and Melquiond,
        2008)."""
        a = self.a
        bits = a.bits(x)
        dropped = (1 << 29) - 1
        sticky = a.and_(a.add(a.and_(bits, dropped), dropped), 1 << 29)
        return a.float(a.and_(a.or_(bits, sticky), ~dropped))

    # ---------------------------------------------------------------------------- integers

    def _integer_to_float(self, x: Scalar, to: ScalarType) -> Value:
        value = x.value
        if x.dtype is index:
            value = self.a.cast(casts.IndexCast, value, i64)
        signed = x.dtype.kind in "ix"
        through = f32 if to in (f16, bf16) else to
        result = self.a.cast(casts.SIToFP if signed else casts.UIToFP, value, through)
        return self._narrow(result, to) if through is not to else result

    def _integer_to_integer(self, x: Scalar, to: ScalarType) -> Value:
        a, value, target = self.a, x.value, register_type(to)
        if index in (value.type, target):
            unsigned = x.dtype.kind in "ub"
            return a.cast(casts.IndexCastUI if unsigned else casts.IndexCast, value, target)
        if target.bits < value.type.bits:
            return a.cast(casts.TruncI, value, target)
        if target.bits == value.type.bits:
            return value
        return a.cast(casts.ExtSI if x.dtype.kind == "i" else casts.ExtUI, value, target)

    def _float_to_integer(self, x: Value, source: ScalarType, to: ScalarType) -> Value:
        a, target = self.a, register_type(to)
        x = self._widened(x, source)
        if to is index:
            return a.cast(casts.IndexCast, self._to_signed(x, i64), index)
        if source is bf16:
            x = self._zero_outside(x, to)
        if to.kind == "u" and (to.bits == 64 or (to.bits == 32 and source is not f16)):
            # The upper half of the range loses its top bit before, and gets it back after.
            top = 2 ** (to.bits - 1)
            high = a.cmp("oge", x, float(top))
            low = self._to_signed(a.select(high, a.sub(x, float(top)), x), target)
            return a.xor(low, a.select(high, a.const(top, target), 0))
        register = i64 if to.bits == 64 or (to.kind == "u" and to.bits == 32) else i32
        value = self._to_signed(x, register)
        return a.cast(casts.TruncI, value, target) if target.bits < register.bits else value

    def _zero_outside(self, x: Value, to: ScalarType) -> Value:
        """ml_dtypes' rule for bfloat16: 0 for what the integer type does not hold."""
        a = self.a
        lowest, end = (0, 2**to.bits) if to.kind == "u" else (-(2 ** (to.bits - 1)), None)
        end = end or -lowest
        # Numbers above lowest - 1 truncate into range; where f32 lacks that number, lowest is next.
        above = a.cmp("ogt", x, lowest - 1.0) if to.bits < 32 else a.cmp("oge", x, float(lowest))
        if lowest == 0:
            above = a.cmp("ogt", x, -1.0)
        return a.select(a.and_(above, a.cmp("olt", x, float(end))), x, 0.0)

    def _to_signed(self, x: Value, to: ScalarType) -> Value:
        """Truncation; the most negative number where that does not fit, and for NaN."""
        a = self.a
        bound = 2.0 ** (to.bits - 1)
        # In f64 the numbers just below -2**31 still truncate into range.
        lowest = -bound - 1.0 if x.type is f64 and to is i32 else None
        above = a.cmp("ogt", x, lowest) if lowest is not None else a.cmp("oge", x, -bound)
        inside = a.and_(above, a.cmp("olt", x, bound))
        whole = a.cast(casts.FPToSI, a.select(inside, x, 0.0), to)
        return a.select(inside, whole, a.const(-(2 ** (to.bits - 1)), to))

    # ------------------------------------------------------------------------------ memory

    def from_storage(self, element: Value, dtype: ScalarType) -> Scalar:
        """A loaded element (see scalar_value.py: in memory) as a Scalar."""
        a = self.a
        if dtype is i1:
            return Scalar(dtype, (a.cmp("ne", element, 0),))
        if dtype is bf16:
            wide = a.cast(casts.ExtUI, element, i32)
            return Scalar(dtype, (a.float(a.shl(wide, 16)),))
        if dtype.is_complex:
            return Scalar(dtype, (a.emit(complex.Re, element), a.emit(complex.Im, element)))
        return Scalar(dtype, (element,))

    def to_storage(self, x: Scalar) -> Value:
        """The element to store for a Scalar."""
        a = self.a
        if x.dtype is i1:
            return a.cast(casts.ExtUI, x.value, i8)
        if x.dtype is bf16:
            return a.cast(casts.TruncI, a.shr(a.bits(x.value), 16), i16)
        if x.dtype.is_complex:
            return a.emit(complex.Create, *x.parts)
        return x.value
