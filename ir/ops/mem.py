"""Buffers of the memory stage: where each is born, where it dies, and its place in the arena."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Loop
from gradc.ir.types import MemRefType, Type, to_numpy


class Alloc(Loop, name="mem.alloc"):
    """A buffer; `offset` is its place in the arena in bytes, -1 before `release` has planned it."""

    effects = True

    def infer(*, type: MemRefType, offset: int = -1) -> MemRefType:
        return type

    def evaluate(*, type: MemRefType, offset: int = -1) -> np.ndarray:
        return np.empty(type.shape, to_numpy(type.dtype))


class Free(Loop, name="mem.free"):
    """The last use of a buffer is above this line."""

    effects = True

    def infer(buffer: Type) -> tuple[Type, ...]:
        return ()

    def evaluate(buffer: Any) -> tuple[Any, ...]:
        return ()


class Alias(Loop, name="mem.alias"):
    """The same bytes under another shape: both row-major, equal in size."""

    def infer(buffer: Any, *, type: MemRefType) -> MemRefType:
        if not isinstance(buffer, MemRefType) or buffer.dtype != type.dtype:
            raise TypeRuleError(f"cannot view {buffer} as {type}")
        if math.prod(buffer.shape) != math.prod(type.shape):
            raise TypeRuleError(f"cannot view {buffer} as {type}: the sizes differ")
        return type

    def evaluate(buffer: Any, *, type: MemRefType) -> np.ndarray:
        return np.reshape(buffer, type.shape)


class Copy(Loop, name="mem.copy"):
    """Copy the first buffer's elements into the second (same shape)."""

    effects = True

    def infer(source: Any, target: Any) -> tuple[Type, ...]:
        if source.shape != target.shape or source.dtype != target.dtype:
            raise TypeRuleError(f"cannot copy {source} to {target}")
        return ()

    def evaluate(source: Any, target: Any) -> tuple[Any, ...]:
        target[...] = source
        return ()
