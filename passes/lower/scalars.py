"""The scalar builder: elementwise operations of array dtypes as loop-level code.

`ScalarBuilder` has one method for each scalar operation, called on `Scalar`s (scalar_value.py) of
one dtype; a Python number among the operands becomes a constant of the other operand's dtype. What
each means is NumPy's function of that name, at every point. The methods dispatch on the dtype's
kind: scalars_integer.py, scalars_float.py, scalars_complex.py; f16 and bf16 compute in f32 and
round once at the end, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.types import ScalarType, bf16, c64, c128, f16, f32, i1
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.scalar_value import Scalar, register_type
from gradc.passes.lower.scalars_complex import ComplexScalars
from gradc.passes.lower.scalars_convert import Conversions
from gradc.passes.lower.scalars_float import UNARY, FloatScalars
from gradc.passes.lower.scalars_integer import BoolScalars, IntegerScalars

__all__ = ["OPERATIONS", "Scalar", "ScalarBuilder", "register_type"]

Operand = Scalar | bool | int | float | complex

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATIONS = (
    *COMPARISONS, *UNARY,
    "add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "power", "neg", "sign",
    "arctan2", "hypot", "logaddexp", "maximum", "minimum", "fmax", "fmin", "copysign",
    "isfinite", "isnan", "isinf", "signbit", "bitwise_and", "bitwise_or", "bitwise_xor", "invert",
    "left_shift", "right_shift", "real", "imag", "conj",
)  # fmt: skip


class ScalarBuilder:
    """Emits scalar operations through `builder`.

    fastmath: the attribute that float sums, differences and products get, such as
        `gradc.ir.ops.arith.FAST`; None leaves it out.
    """

    def __init__(self, builder: Builder, fastmath: Any = None) -> None:
        self.builder = builder
        self.arithmetic = Arithmetic(builder, fastmath)
        integers = IntegerScalars(self)
        self._families: dict[str, Any] = {
            "b": BoolScalars(self), "i": integers, "u": integers, "x": integers,
            "f": FloatScalars(self), "c": ComplexScalars(self),
        }  # fmt: skip
        self._conversions = Conversions(self)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Scalar]: ...

    def apply(self, name: str, *operands: Operand) -> Scalar:
        """The scalar operation `name`; all Scalars among the operands have one dtype."""
        xs = self._scalars(operands)
        dtype = xs[0].dtype
        for k, x in enumerate(xs[1:], 1):
            if x.dtype is not dtype:
                raise TypeRuleError(
                    f"expected operands of one dtype for {name}, got {dtype} and {x.dtype} ({k})"
                )
        if dtype in (f16, bf16):
            found = self.apply(name, *(self.convert(x, f32) for x in xs))
            return self.convert(found, dtype) if found.dtype is f32 else found
        family = self._families[dtype.kind]
        if name in COMPARISONS:
            return family.compare(name, *xs)
        method = getattr(family, name, None)
        if method is not None:
            return method(*xs)
        if name in UNARY and dtype.is_floating:
            return family.unary(name, *xs)
        raise TypeRuleError(f"the scalar operation {name} is not defined for {dtype}")

    def _scalars(self, operands: tuple[Operand, ...]) -> list[Scalar]:
        like = next((x for x in operands if isinstance(x, Scalar)), None)
        if like is None:
            raise TypeRuleError("expected a Scalar among the operands, got numbers only")
        return [x if isinstance(x, Scalar) else self.const(x, like=like) for x in operands]

    # ------------------------------------------------------------------------------------ making

    def const(
        self, value: Any, like: Scalar | ScalarType | None = None, dtype: ScalarType | None = None
    ) -> Scalar:
        """A constant of the given dtype (or of that of `like`)."""
        if dtype is None:
            dtype = like.dtype if isinstance(like, Scalar) else like
        if dtype is None:
            raise TypeRuleError("expected `like` or `dtype`")
        a = self.arithmetic
        if dtype.is_complex:
            value = complex(value)
            return Scalar(dtype, tuple(a.const(p, dtype.real) for p in (value.real, value.imag)))
        if dtype.is_bool:
            return Scalar(dtype, (a.const(bool(value), i1),))
        if dtype is bf16:
            return Scalar(dtype, (a.const(_rounded_to_bf16(value), f32),))
        if dtype is f16 or dtype is f32:
            with np.errstate(over="ignore"):
                value = float((np.float16 if dtype is f16 else np.float32)(value))
        return Scalar(dtype, (a.const(value, register_type(dtype)),))

    def boolean(self, condition: Value) -> Scalar:
        """An i1 value as a Scalar."""
        return Scalar(i1, (condition,))

    def from_storage(self, element: Value, dtype: ScalarType) -> Scalar:
        """An element loaded from a buffer of `dtype`."""
        return self._conversions.from_storage(element, dtype)

    def to_storage(self, x: Scalar) -> Value:
        """The element to store in a buffer of x's dtype."""
        return self._conversions.to_storage(x)

    # -------------------------------------------------------------------- operations across dtypes

    def convert(self, x: Scalar, dtype: ScalarType) -> Scalar:
        """x.astype(dtype); see scalars_convert.py for floats that an integer type does not hold."""
        return self._conversions.convert(x, dtype)

    def select(self, condition: Scalar, x: Operand, y: Operand) -> Scalar:
        """x where the bool `condition` holds, else y."""
        x, y = self._scalars((x, y))
        if x.dtype is not y.dtype:
            raise TypeRuleError(f"expected choices of one dtype, got {x.dtype} and {y.dtype}")
        choose = self.arithmetic.select
        parts = [choose(condition.value, p, q) for p, q in zip(x.parts, y.parts, strict=True)]
        return Scalar(x.dtype, tuple(parts))

    def complex(self, re: Scalar, im: Scalar) -> Scalar:
        """The complex number of two f32 or two f64."""
        return Scalar(c64 if re.dtype is f32 else c128, (re.value, im.value))

    def truth(self, x: Scalar) -> Value:
        """Whether x is not zero, as an i1 value; NaN is true."""
        if x.dtype in (f16, bf16):
            x = self.convert(x, f32)
        return self._families[x.dtype.kind].truth(x)

    def logical_and(self, x: Scalar, y: Scalar) -> Scalar:
        return self.boolean(self.arithmetic.and_(self.truth(x), self.truth(y)))

    def logical_or(self, x: Scalar, y: Scalar) -> Scalar:
        return self.boolean(self.arithmetic.or_(self.truth(x), self.truth(y)))

    def logical_xor(self, x: Scalar, y: Scalar) -> Scalar:
        return self.boolean(self.arithmetic.xor(self.truth(x), self.truth(y)))

    def logical_not(self, x: Scalar) -> Scalar:
        return self.boolean(self.arithmetic.not_(self.truth(x)))


def _rounded_to_bf16(value: Any) -> float:
    import ml_dtypes  # takes 0.4 s to import: only programs that use bfloat16 pay it

    return float(ml_dtypes.bfloat16(float(value)))


def _operation(name: str) -> Callable[..., Scalar]:
    def method(self: ScalarBuilder, *operands: Operand) -> Scalar:
        return self.apply(name, *operands)

    method.__name__ = name
    method.__doc__ = f"NumPy's `{name}` on scalars of one dtype."
    return method


for _name in OPERATIONS:
    setattr(ScalarBuilder, _name, _operation(_name))
