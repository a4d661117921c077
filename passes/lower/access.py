"""Elements of buffers as scalars: index arithmetic, loads, stores and views of local storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradc.ir.affine import AffineExpr
from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.ops.arith import constant
from gradc.ir.types import ScalarType, index
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.scalars import ScalarBuilder


@dataclass
class Array:
    """Storage of a tensor value at the loop level.

    buffer:  the loop-level memref; its axes are the value's axes without `dropped`
    dropped: axes of the value that have no storage, since each iteration of their loops has its own
    """

    buffer: Value
    dtype: ScalarType
    dropped: frozenset[int] = frozenset()

    def kept(self, indices: Sequence[Any]) -> list[Any]:
        """The entries of a per-axis sequence that belong to stored axes."""
        return [i for k, i in enumerate(indices) if k not in self.dropped]


def index_constant(b: Builder, value: int) -> Value:
    return constant(b, value, index)


def index_value(b: Builder, expr: AffineExpr, inputs: Sequence[Value]) -> Value:
    """An affine expression of index values."""
    arithmetic = Arithmetic(b)
    total: Value | None = None
    for coefficient, value in zip(expr.coefficients, inputs, strict=True):
        if not coefficient:
            continue
        term = value
        if coefficient == -1 and total is not None:
            total = arithmetic.sub(total, value)
            continue
        if coefficient != 1:
            term = arithmetic.mul(value, index_constant(b, coefficient))
        total = term if total is None else arithmetic.add(total, term)
    if total is None:
        return index_constant(b, expr.constant)
    if expr.constant:
        total = arithmetic.add(total, index_constant(b, expr.constant))
    return total


def load(b: Builder, array: Array, indices: Sequence[Value]) -> Scalar:
    """The element at the stored axes' indices."""
    return ScalarBuilder(b).from_storage(b.memref_load(array.buffer, *indices), array.dtype)


def store(b: Builder, scalar: Scalar, array: Array, indices: Sequence[Value]) -> None:
    b.memref_store(ScalarBuilder(b).to_storage(scalar), array.buffer, *indices)
