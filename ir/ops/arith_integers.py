"""MLIR's `arith` dialect: integer arithmetic and comparison. Signless: an operation says how it
reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.ops.arith import CMPI, INTEGER_LIKE, same_scalar, signless, unsigned
from gradc.ir.types import ScalarType, Type, i1


class CmpI(Loop, name="arith.cmpi"):
    """Comparison of integers; `predicate` is MLIR's number (see CMPI); s: signed, u: unsigned."""

    vjp = NOT_DIFFERENTIABLE

    def infer(x: Type, y: Type, *, predicate: int) -> ScalarType:
        same_scalar(INTEGER_LIKE, 2)(x, y)
        if not (type(predicate) is int and 0 <= predicate < 10):
            raise TypeRuleError(f"expected a predicate in [0, 10), got {predicate}")
        return i1

    def evaluate(x: Any, y: Any, *, predicate: int) -> Any:
        name = list(CMPI)[predicate]
        read = unsigned if name[0] == "u" else _signed_bit
        function = {
            "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
            "gt": np.greater, "ge": np.greater_equal,
        }[name[-2:]]  # fmt: skip
        return function(read(x), read(y))


def _signed_bit(x: Any) -> np.ndarray:
    """Signed reading; a set i1 is -1."""
    x = signless(x)
    return -x.astype(np.int8) if x.dtype == bool else x


class _Integer2(Loop):
    infer = same_scalar(INTEGER_LIKE, 2)
    vjp = NOT_DIFFERENTIABLE


def _wrapping(function: Callable[..., Any], for_bool: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate(x: Any, y: Any) -> Any:
        x, y = signless(x), signless(y)
        return for_bool(x, y) if x.dtype == bool else function(x, y)

    return evaluate


class AddI(_Integer2, name="arith.addi"):
    """x + y, wrapping."""

    evaluate = _wrapping(np.add, np.logical_xor)
    commutative = True


class SubI(_Integer2, name="arith.subi"):
    """x - y, wrapping."""

    evaluate = _wrapping(np.subtract, np.logical_xor)


class MulI(_Integer2, name="arith.muli"):
    """x * y, wrapping."""

    evaluate = _wrapping(np.multiply, np.logical_and)
    commutative = True


class AndI(_Integer2, name="arith.andi"):
    """Bitwise and."""

    evaluate = _wrapping(np.bitwise_and, np.bitwise_and)
    commutative = True


class OrI(_Integer2, name="arith.ori"):
    """Bitwise or."""

    evaluate = _wrapping(np.bitwise_or, np.bitwise_or)
    commutative = True


class XOrI(_Integer2, name="arith.xori"):
    """Bitwise exclusive or."""

    evaluate = _wrapping(np.bitwise_xor, np.bitwise_xor)
    commutative = True


def _division(read: Callable[[Any], Any], remainder: bool) -> Callable[..., Any]:
    """Truncating division; a zero divisor is an error of the program that reached it."""

    def evaluate(x: Any, y: Any) -> Any:
        x, y = read(x), read(y)
        if np.any(y == 0):
            raise ZeroDivisionError("arith integer division by zero")
        # fmod truncates; with it removed the floor division is exact. x - r cannot overflow.
        rest = np.fmod(x, y)
        return signless(rest if remainder else np.floor_divide(x - rest, y))

    return evaluate


class DivSI(_Integer2, name="arith.divsi"):
    """Signed division, truncating; undefined for y = 0 and for the minimum divided by -1."""

    evaluate = _division(signless, False)


class DivUI(_Integer2, name="arith.divui"):
    """Unsigned division; undefined for y = 0."""

    evaluate = _division(unsigned, False)


class RemSI(_Integer2, name="arith.remsi"):
    """Signed remainder with the sign of x; undefined for y = 0 and for the minimum and -1."""

    evaluate = _division(signless, True)


class RemUI(_Integer2, name="arith.remui"):
    """Unsigned remainder; undefined for y = 0."""

    evaluate = _division(unsigned, True)


class FloorDivSI(_Integer2, name="arith.floordivsi"):
    """Signed division rounded to minus infinity; undefined for y = 0 and for the minimum and -1."""

    def evaluate(x: Any, y: Any) -> Any:
        if np.any(np.equal(y, 0)):
            raise ZeroDivisionError("arith integer division by zero")
        return np.floor_divide(signless(x), signless(y))


def _shift(function: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    """NumPy shifts by the width or more give 0 (or the sign), one of the values MLIR allows."""

    def evaluate(x: Any, y: Any) -> Any:
        return signless(function(read(x), read(y)))

    return evaluate


class ShLI(_Integer2, name="arith.shli"):
    """x << y; undefined when y is not below the width."""

    evaluate = _shift(np.left_shift, signless)


class ShRSI(_Integer2, name="arith.shrsi"):
    """Arithmetic shift right; undefined when y is not below the width."""

    evaluate = _shift(np.right_shift, signless)


class ShRUI(_Integer2, name="arith.shrui"):
    """Logical shift right; undefined when y is not below the width."""

    evaluate = _shift(np.right_shift, unsigned)


def _extreme(function: Callable[..., Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x, y: signless(function(read(x), read(y)))


class MaxSI(_Integer2, name="arith.maxsi"):
    """The larger, signed."""

    evaluate = _extreme(np.maximum, signless)
    commutative = True


class MinSI(_Integer2, name="arith.minsi"):
    """The smaller, signed."""

    evaluate = _extreme(np.minimum, signless)
    commutative = True


class MaxUI(_Integer2, name="arith.maxui"):
    """The larger, unsigned."""

    evaluate = _extreme(np.maximum, unsigned)
    commutative = True


class MinUI(_Integer2, name="arith.minui"):
    """The smaller, unsigned."""

    evaluate = _extreme(np.minimum, unsigned)
    commutative = True
