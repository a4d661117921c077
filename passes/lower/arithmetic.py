"""A thin builder over `arith` and `math` for code that is written as formulas.

One method name serves floats and integers (`add` is addf or addi by the operands' type), and a
Python number among the operands becomes a constant of the other operand's type. Sums,
products and quotients forbid contraction to fused multiply-adds unless asked: their error terms
must survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import OpaqueAttribute, Value
from gradc.ir.opdef import Op
from gradc.ir.ops import arith, arith_casts, arith_integers, math
from gradc.ir.types import ScalarType, f32, f64, i1, i32, i64

Number = int | float
# emit_llvm lets floating operations contract to fused multiply-adds unless they say otherwise.
STRICT = OpaqueAttribute("#arith.fastmath<none>")
Term = Value | Number


class Arithmetic:
    """Emits scalar operations of the loop level through `builder`.

    fastmath: the attribute that `add`, `sub` and `mul` of floats get when their caller asks with
        fast=True; None leaves it out.
    """

    def __init__(self, builder: Builder, fastmath: Any = None) -> None:
        self.builder = builder
        self.fastmath = fastmath

    def emit(self, cls: type[Op], *operands: Value, **attributes: Any) -> Value:
        return self.builder.create(cls, operands, attributes)

    def const(self, value: Number, type: ScalarType) -> Value:
        """A constant; integers are taken modulo the width."""
        if type.is_integer:
            half = 1 << (type.bits - 1)
            value = (int(value) + half) % (2 * half) - half
        return arith.constant(self.builder, value, type)

    def terms(self, operands: Sequence[Term]) -> list[Value]:
        """The operands with Python numbers as constants of the first Value's type."""
        like = next(x.type for x in operands if isinstance(x, Value))
        return [x if isinstance(x, Value) else self.const(x, like) for x in operands]

    def _either(
        self, floating: type[Op], integer: type[Op], x: Term, y: Term, fast: bool = False
    ) -> Value:
        x, y = self.terms((x, y))
        if not x.type.is_floating:
            return self.emit(integer, x, y)
        if not fast:
            return self.emit(floating, x, y, fastmath=STRICT)
        if self.fastmath is not None:
            return self.emit(floating, x, y, fastmath=self.fastmath)
        return self.emit(floating, x, y)

    def _call(self, cls: type[Op], *operands: Term) -> Value:
        return self.emit(cls, *self.terms(operands))

    # ------------------------------------------------------------------------------- arithmetic

    def add(self, x: Term, y: Term, fast: bool = False) -> Value:
        return self._either(arith.AddF, arith_integers.AddI, x, y, fast)

    def sub(self, x: Term, y: Term, fast: bool = False) -> Value:
        return self._either(arith.SubF, arith_integers.SubI, x, y, fast)

    def mul(self, x: Term, y: Term, fast: bool = False) -> Value:
        return self._either(arith.MulF, arith_integers.MulI, x, y, fast)

    def div(self, x: Term, y: Term) -> Value:
        """Float division."""
        x, y = self.terms((x, y))
        return self.emit(arith.DivF, x, y, fastmath=STRICT)

    def rem(self, x: Term, y: Term) -> Value:
        """C's fmod."""
        return self._call(arith.RemF, x, y)

    def neg(self, x: Value) -> Value:
        return self.emit(arith.NegF, x) if x.type.is_floating else self.sub(0, x)

    def fma(self, x: Term, y: Term, z: Term) -> Value:
        return self._call(math.FMA, x, y, z)

    def abs(self, x: Value) -> Value:
        return self.emit(math.AbsF, x)

    def sqrt(self, x: Value) -> Value:
        return self.emit(math.Sqrt, x)

    def floor(self, x: Value) -> Value:
        return self.emit(math.Floor, x)

    def rint(self, x: Value) -> Value:
        return self.emit(math.RoundEven, x)

    def trunc(self, x: Value) -> Value:
        return self.emit(math.Trunc, x)

    def copysign(self, x: Term, y: Value) -> Value:
        return self._call(math.CopySign, x, y)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner's scheme, the highest power first."""
        return self.polynomial_from(self.const(coefficients[0], x.type), x, coefficients[1:])

    def polynomial_from(self, start: Value, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner's scheme that goes on from `start`."""
        result = start
        for c in coefficients:
            result = self.fma(result, x, c)
        return result

    # --------------------------------------------------------------------- comparison and choice

    def cmp(self, predicate: str, x: Term, y: Term) -> Value:
        """A comparison by MLIR's predicate names: "olt" and the like for floats, "slt" for
        integers."""
        x, y = self.terms((x, y))
        if x.type.is_floating:
            return self.emit(arith.CmpF, x, y, predicate=arith.CMPF[predicate])
        return self.emit(arith_integers.CmpI, x, y, predicate=arith.CMPI[predicate])

    def select(self, condition: Value, x: Term, y: Term) -> Value:
        x, y = self.terms((x, y))
        return self.emit(arith.Select, condition, x, y)

    def is_nan(self, x: Value) -> Value:
        return self.cmp("uno", x, x)

    def larger(self, x: Term, y: Term) -> Value:
        """x if x > y else y: one instruction; y if either is NaN."""
        x, y = self.terms((x, y))
        return self.select(self.cmp("ogt", x, y), x, y)

    def smaller(self, x: Term, y: Term) -> Value:
        """x if x < y else y: one instruction; y if either is NaN."""
        x, y = self.terms((x, y))
        return self.select(self.cmp("olt", x, y), x, y)

    # -------------------------------------------------------------------------------------- bits

    def and_(self, x: Term, y: Term) -> Value:
        return self._call(arith_integers.AndI, x, y)

    def or_(self, x: Term, y: Term) -> Value:
        return self._call(arith_integers.OrI, x, y)

    def xor(self, x: Term, y: Term) -> Value:
        return self._call(arith_integers.XOrI, x, y)

    def not_(self, x: Value) -> Value:
        return self.xor(x, self.const(1 if x.type is i1 else -1, x.type))

    def shl(self, x: Value, y: Term) -> Value:
        return self._call(arith_integers.ShLI, x, y)

    def shr(self, x: Value, y: Term) -> Value:
        """Logical shift right."""
        return self._call(arith_integers.ShRUI, x, y)

    def sar(self, x: Value, y: Term) -> Value:
        """Arithmetic shift right."""
        return self._call(arith_integers.ShRSI, x, y)

    def bits(self, x: Value) -> Value:
        """The bits of an f32 or f64 as an integer."""
        return self.emit(arith_casts.Bitcast, x, to={f32: i32, f64: i64}[x.type])

    def float(self, x: Value) -> Value:
        """The f32 or f64 with the bits of an i32 or i64."""
        return self.emit(arith_casts.Bitcast, x, to={i32: f32, i64: f64}[x.type])

    def cast(self, cls: type[Op], x: Value, to: ScalarType) -> Value:
        """A cast, or x itself when it has the type already."""
        return x if x.type is to else self.emit(cls, x, to=to)
