"""Pass `release`: each buffer's birth and death, its place in the arena, and the peak.

A buffer lives from its `mem.alloc` to the last operation that uses it or an alias of it; `mem.free`
is put after that. Buffers that are never alive at once may share bytes: placed largest first, each
at the lowest offset that is free during its life. The peak is stated in the function's attribute
`arena_bytes`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.mem import Alias, Alloc, Free
from gradc.ir.types import MemRefType
from gradc.passes.manager import Pass

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


@dataclass
class Life:
    """Birth and death as positions in the function's body, and the bytes taken."""

    op: Alloc
    birth: int
    death: int
    bytes: int
    offset: int = -1

    def overlaps(self, other: Life) -> bool:
        return self.birth <= other.death and other.birth <= self.death


def aligned(bytes: int) -> int:
    """The bytes rounded up to whole cache lines."""
    return -(-bytes // ALIGNMENT) * ALIGNMENT


def aligned_bytes(type: MemRefType) -> int:
    total = type.dtype.itemsize
    for n in type.shape:
        assert isinstance(n, int)
        total *= n
    return aligned(total)


def lifetimes(function: FuncOp) -> list[Life]:
    """The lives of all mem.alloc buffers, in order of birth."""
    lives: dict[Value, Life] = {}
    base: dict[Value, Value] = {}
    for position, op in enumerate(function.body.ops):
        if isinstance(op, Alloc):
            lives[op.result] = Life(op, position, position, aligned_bytes(op["type"]))
        elif isinstance(op, Alias):
            base[op.result] = base.get(op.operands[0], op.operands[0])
        for value in (*op.operands, *captured_values(op)):
            root = base.get(value, value)
            if root in lives:
                lives[root].death = position
    return list(lives.values())


def place(lives: list[Life]) -> int:
    """Give every life an offset; returns the bytes of the arena."""
    placed: list[Life] = []
    for life in sorted(lives, key=lambda x: (-x.bytes, x.birth)):
        offset = 0
        neighbours = sorted((p for p in placed if p.overlaps(life)), key=lambda p: p.offset)
        for other in neighbours:
            if offset + life.bytes <= other.offset:
                break
            offset = max(offset, other.offset + other.bytes)
        life.offset = offset
        placed.append(life)
    return max((p.offset + p.bytes for p in placed), default=0)


def release(function: FuncOp) -> int:
    """Plan the arena of a bufferized function in place; returns the peak in bytes."""
    lives = lifetimes(function)
    peak = place(lives)
    deaths: dict[int, list[Life]] = {}
    for life in lives:
        life.op.attributes["offset"] = life.offset
        deaths.setdefault(life.death, []).append(life)
    old = list(function.body.ops)
    ops: list[Operation] = []
    function.body.ops = ops
    builder = Builder(function.body)
    for position, op in enumerate(old):
        ops.append(op)
        builder.location = op.location
        for life in deaths.get(position, ()):
            builder.create(Free, [life.op.result], {})
    function.attributes["arena_bytes"] = peak
    return peak


class Release(Pass, name="release"):
    """Free each buffer after its last use, give it a place in the arena, and state the peak."""

    def run(self, op: Operation) -> None:
        assert isinstance(op, FuncOp)
        release(op)
