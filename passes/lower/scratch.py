"""Bytes of the arena for storage inside nests, behind the buffers that `release` has placed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.ops.memref import SCRATCH_BYTES, storage
from gradc.ir.types import Dim, MemRefType, ScalarType
from gradc.passes.lower.access import index_constant
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.release import aligned


class Scratch:
    """Hands out arena bytes from `base` on; each top-level nest starts over (`reset`)."""

    def __init__(self, arena: Value, base: int, capacities: dict[str, int]) -> None:
        self.arena = arena
        self.base = base
        self.capacities = capacities
        self.used = 0
        self.peak = 0

    def capacity(self, size: Any) -> int:
        """The static upper bound of a size."""
        return self.capacities[size.name] if isinstance(size, Dim) else size

    def reset(self) -> None:
        self.used = 0

    def take(self, bytes: int) -> int:
        """An aligned byte offset in the arena."""
        offset = self.base + self.used
        self.used += aligned(bytes)
        self.peak = max(self.peak, self.used)
        return offset

    def shared(self, b: Builder, shape: tuple[int, ...], dtype: ScalarType) -> Value:
        """A buffer that all jobs of a nest see."""
        offset = index_constant(b, self.take(prod(shape) * dtype.itemsize))
        found: Value = b.memref_view(self.arena, offset, to=MemRefType(shape, storage(dtype)))
        return found

    def locals(
        self,
        b: Builder,
        wanted: Sequence[tuple[tuple[int, ...], ScalarType]],
        job: Value | None,
        jobs: int,
    ) -> list[Value]:
        """A buffer for each (shape, dtype), of which every job has its own.

        Tiny ones whose sizes are part of the code live on the stack, where LLVM can keep them in
        registers.
        """
        sizes = [prod(shape) * dtype.itemsize for shape, dtype in wanted]
        on_stack = [
            size <= SCRATCH_BYTES // 4 and all(n <= 16 for n in shape)
            for (shape, _), size in zip(wanted, sizes, strict=True)
        ]
        rounded = [aligned(size) for size in sizes]
        stride = sum(n for n, stack in zip(rounded, on_stack, strict=True) if not stack)
        base = self.take(stride * jobs) if stride else 0
        start: Value | None = None
        if job is not None and stride:
            start = Arithmetic(b).mul(job, index_constant(b, stride))
        found = []
        for (shape, dtype), bytes, stack in zip(wanted, rounded, on_stack, strict=True):
            to = MemRefType(shape, storage(dtype))
            if stack:
                found.append(b.memref_alloca(to=to))
                continue
            offset = index_constant(b, base)
            if start is not None:
                offset = Arithmetic(b).add(start, offset)
            found.append(b.memref_view(self.arena, offset, to=to))
            base += bytes
        return found
