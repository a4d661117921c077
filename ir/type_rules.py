"""Type rules shared by many operations. Each returns an `infer` function (see opdef.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.types import ScalarType, TensorType, Type, i1


def names(dtypes: Sequence[ScalarType]) -> str:
    return ", ".join(t.name for t in dtypes)


def expect_tensor(t: Type, what: str = "the operand") -> TensorType:
    if not isinstance(t, TensorType):
        raise TypeRuleError(f"expected {what} to be a tensor, got {t}")
    return t


def expect_dtype(t: Type, dtypes: Sequence[ScalarType], what: str = "operand") -> TensorType:
    checked = expect_tensor(t, what)
    if checked.dtype not in dtypes:
        raise TypeRuleError(f"expected {what} of dtype {names(dtypes)}, got {checked.dtype.name}")
    return checked


def expect_count(types: Sequence[Type], count: int) -> None:
    if len(types) != count:
        raise TypeRuleError(f"expected {count} operand{'s' * (count != 1)}, got {len(types)}")


def expect_same(types: Sequence[Type]) -> TensorType:
    first = expect_tensor(types[0], "operand 0")
    for k, other in enumerate(types[1:], 1):
        if other != first:
            raise TypeRuleError(
                f"expected operands of one type, got {first} and {other} (operand {k}): "
                "insert nd.broadcast or nd.convert"
            )
    return first


def same_type(dtypes: Sequence[ScalarType], operands: int = 1) -> Callable[..., Any]:
    """All operands have one type, and so has the result."""

    def infer(*types: Type) -> TensorType:
        expect_count(types, operands)
        expect_dtype(types[0], dtypes, "operand 0")
        return expect_same(types)

    return infer


def predicate(dtypes: Sequence[ScalarType], operands: int = 1) -> Callable[..., Any]:
    """All operands have one type; the result is i1 of the same shape."""

    def infer(*types: Type) -> TensorType:
        expect_count(types, operands)
        expect_dtype(types[0], dtypes, "operand 0")
        return expect_same(types).with_dtype(i1)

    return infer


def expect_axes(axes: Any, rank: int, what: str = "axes") -> tuple[int, ...]:
    """Distinct axes in [0, rank), sorted."""
    ok = isinstance(axes, tuple) and all(type(a) is int and 0 <= a < rank for a in axes)
    if not ok or list(axes) != sorted(set(axes)):
        raise TypeRuleError(f"expected {what} to be sorted and distinct in [0, {rank}), got {axes}")
    return axes
