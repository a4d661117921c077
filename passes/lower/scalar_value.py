"""Scalars of the loop level: how an element of an array dtype lives in registers and in memory.

dtype        in registers               in memory (gradc.ir.ops.memref.storage)
bool (i1)    i1                         i8, 0 or 1
i8 .. ui64   signless integer           the same
f16          f16                        f16
bf16         f32, rounded to bf16       i16, the upper half of the f32
f32, f64     the same                   the same
c64, c128    two floats, re and im      a complex number
index        index                      index
"""

from __future__ import annotations

from dataclasses import dataclass

from gradc.ir.core import Value
from gradc.ir.types import SCALARS, ScalarType, bf16, f32


@dataclass(frozen=True, slots=True)
class Scalar:
    """An element of dtype `dtype`; `parts` are its loop-level values: one, or (re, im)."""

    dtype: ScalarType
    parts: tuple[Value, ...]

    @property
    def value(self) -> Value:
        """The only part."""
        (value,) = self.parts
        return value


def register_type(dtype: ScalarType) -> ScalarType:
    """The loop-level type of each part of a scalar of `dtype` in registers."""
    if dtype is bf16:
        return f32
    if dtype.kind == "u":
        return SCALARS[dtype.name[1:]]
    return dtype.real
