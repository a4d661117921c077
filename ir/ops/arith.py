"""MLIR's `arith` dialect: scalar arithmetic of the loop level.

Names, attributes and meanings are MLIR's. Integers are signless: an operation says how it reads
them (`divsi`, `divui`). What MLIR leaves undefined (division by zero, shifts by the width or more,
float to integer out of range) never reaches these operations: `passes/lower/scalars_*.py` guard
them. `evaluate` takes NumPy scalars or arrays, so that the interpreter can run a loop body once or
over a whole range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.ir.core import OpaqueAttribute, TypedNumber, Value
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.printer import short_text
from gradc.ir.type_rules import expect_count
from gradc.ir.types import (
    SIGNED,
    ScalarType,
    Type,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
    index,
    to_numpy,
)

FLOAT_TYPES = (f16, bf16, f32, f64)
INTEGER_TYPES = (i1, *SIGNED)
INTEGER_LIKE = (*INTEGER_TYPES, index)
FAST = OpaqueAttribute("#arith.fastmath<reassoc,contract>")

# MLIR's numbering of the comparison predicates.
CMPF = {
    name: number
    for number, name in enumerate(
        "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
    )
}
CMPI = {name: number for number, name in enumerate("eq ne slt sle sgt sge ult ule ugt uge".split())}


def expect_scalar(t: Type, allowed: tuple[ScalarType, ...], what: str = "operand") -> ScalarType:
    if not isinstance(t, ScalarType) or t not in allowed:
        names = ", ".join(a.mlir for a in allowed)
        raise TypeRuleError(f"expected {what} to be one of {names}, got {t}")
    return t


def same_scalar(allowed: tuple[ScalarType, ...], operands: int) -> Callable[..., Any]:
    """All operands have one scalar type, and so has the result."""

    def infer(*types: Type, fastmath: Any = None) -> ScalarType:
        expect_count(types, operands)
        first = expect_scalar(types[0], allowed, "operand 0")
        for k, other in enumerate(types[1:], 1):
            if other != first:
                raise TypeRuleError(f"expected operands of one type, got {first} and {other} ({k})")
        return first

    return infer


def signless(x: Any) -> np.ndarray:
    """The array or scalar as the signed dtype of its width; bool (i1) and floats unchanged."""
    x = np.asarray(x)
    return x.view(x.dtype.name[1:]) if x.dtype.kind == "u" else x


def unsigned(x: Any) -> np.ndarray:
    """The same bits read as an unsigned integer; i1 stays bool."""
    x = np.asarray(x)
    return x.view("u" + x.dtype.name) if x.dtype.kind == "i" else x


# ------------------------------------------------------------------------------------- constants


def number(value: bool | int | float, type: ScalarType) -> bool | int | float | TypedNumber:
    """The attribute for a number of the given type: plain for i1, i64, f64, else a TypedNumber."""
    if type is i1:
        return bool(value)
    plain = float(value) if type.is_floating else int(value)
    if type.is_integer and not -(1 << (type.bits - 1)) <= plain < 1 << (type.bits - 1):
        raise TypeRuleError(f"expected a value that {type} holds, got {plain}")
    return plain if type in (i64, f64) else TypedNumber(plain, type)


def attribute_type(attribute: Any) -> ScalarType:
    """The type of a number attribute."""
    if isinstance(attribute, TypedNumber):
        return attribute.type
    for kind, type in ((bool, i1), (int, i64), (float, f64)):
        if isinstance(attribute, kind):
            return type
    raise TypeRuleError(f"expected a number attribute, got {attribute!r}")


class Constant(Loop, name="arith.constant"):
    """A number; `value` gives it with its type (see `number`)."""

    vjp = NOT_DIFFERENTIABLE

    def pretty(op: Constant, name: Callable[[Value], str]) -> str:
        return f"arith.constant {short_text(op['value'])} : {op.result.type}"

    def infer(*, value: Any) -> ScalarType:
        return expect_scalar(attribute_type(value), (*FLOAT_TYPES, *INTEGER_LIKE), "the value")

    def evaluate(*, value: Any) -> np.ndarray:
        plain = value.value if isinstance(value, TypedNumber) else value
        return np.asarray(plain).astype(to_numpy(attribute_type(value)))

    @property
    def number(self) -> bool | int | float:
        """The plain Python number."""
        value = self.attributes["value"]
        return value.value if isinstance(value, TypedNumber) else value


def constant(b: Any, value: bool | int | float, type: ScalarType) -> Value:
    """Emit a constant of a loop-level scalar type through the builder."""
    return b.create(Constant, (), {"value": number(value, type)})


# -------------------------------------------------------------------------------- floating point


def _float_op(function: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(*arrays: Any, fastmath: Any = None) -> Any:
        return function(*arrays)

    return evaluate


class _Float2(Loop):
    infer = same_scalar(FLOAT_TYPES, 2)
    vjp = NOT_DIFFERENTIABLE


class AddF(_Float2, name="arith.addf"):
    """x + y."""

    evaluate = _float_op(np.add)
    commutative = True


class SubF(_Float2, name="arith.subf"):
    """x - y."""

    evaluate = _float_op(np.subtract)


class MulF(_Float2, name="arith.mulf"):
    """x * y."""

    evaluate = _float_op(np.multiply)
    commutative = True


class DivF(_Float2, name="arith.divf"):
    """x / y."""

    evaluate = _float_op(np.divide)


class RemF(_Float2, name="arith.remf"):
    """C's fmod: the remainder has the sign of x."""

    evaluate = _float_op(np.fmod)


class MaximumF(_Float2, name="arith.maximumf"):
    """The larger; NaN if either is NaN; +0 is larger than -0."""

    def evaluate(x: Any, y: Any, *, fastmath: Any = None) -> Any:
        zero = (x == 0) & (y == 0)
        return np.where(zero, np.where(np.signbit(x), y, x), np.maximum(x, y))

    commutative = True


class MinimumF(_Float2, name="arith.minimumf"):
    """The smaller; NaN if either is NaN; -0 is smaller than +0."""

    def evaluate(x: Any, y: Any, *, fastmath: Any = None) -> Any:
        zero = (x == 0) & (y == 0)
        return np.where(zero, np.where(np.signbit(x), x, y), np.minimum(x, y))

    commutative = True


class MaxNumF(_Float2, name="arith.maxnumf"):
    """The larger; the other operand if one is NaN."""

    evaluate = _float_op(np.fmax)
    commutative = True


class MinNumF(_Float2, name="arith.minnumf"):
    """The smaller; the other operand if one is NaN."""

    evaluate = _float_op(np.fmin)
    commutative = True


class NegF(Loop, name="arith.negf"):
    """-x; flips the sign bit of NaN too."""

    infer = same_scalar(FLOAT_TYPES, 1)
    evaluate = _float_op(np.negative)
    vjp = NOT_DIFFERENTIABLE


def _ordered(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: compare(x, y) & ~_unordered(x, y)


def _or_unordered(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: compare(x, y) | _unordered(x, y)


def _unordered(x: Any, y: Any) -> Any:
    return np.isnan(x) | np.isnan(y)


_COMPARE_FLOATS: dict[str, Callable[..., Any]] = {
    "false": lambda x, y: np.zeros(np.broadcast(x, y).shape, bool),
    "oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less,
    "ole": np.less_equal, "one": _ordered(np.not_equal),
    "ord": lambda x, y: ~_unordered(x, y),
    "ueq": _or_unordered(np.equal), "ugt": _or_unordered(np.greater),
    "uge": _or_unordered(np.greater_equal), "ult": _or_unordered(np.less),
    "ule": _or_unordered(np.less_equal), "une": np.not_equal, "uno": _unordered,
    "true": lambda x, y: np.ones(np.broadcast(x, y).shape, bool),
}  # fmt: skip


class CmpF(Loop, name="arith.cmpf"):
    """Comparison of floats; `predicate` is MLIR's number (see CMPF); o: ordered, u: or
    unordered."""

    vjp = NOT_DIFFERENTIABLE

    def infer(x: Type, y: Type, *, predicate: int, fastmath: Any = None) -> ScalarType:
        same_scalar(FLOAT_TYPES, 2)(x, y)
        if not (type(predicate) is int and 0 <= predicate < 16):
            raise TypeRuleError(f"expected a predicate in [0, 16), got {predicate}")
        return i1

    def evaluate(x: Any, y: Any, *, predicate: int, fastmath: Any = None) -> Any:
        return list(_COMPARE_FLOATS.values())[predicate](x, y)


# ------------------------------------------------------------------------------------- selection


class Select(Loop, name="arith.select"):
    """x where the i1 condition holds, else y."""

    vjp = NOT_DIFFERENTIABLE

    def infer(condition: Type, x: Type, y: Type, *, fastmath: Any = None) -> Type:
        expect_scalar(condition, (i1,), "the condition")
        if x != y:
            raise TypeRuleError(f"expected operands of one type, got {x} and {y}")
        return x

    def evaluate(condition: Any, x: Any, y: Any, *, fastmath: Any = None) -> Any:
        return np.where(condition, x, y)
