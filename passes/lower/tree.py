"""The loop tree of a group of kernels: the loops they share, the storage of its inner values.

Kernels come in order. Neighbours share the loop at a depth when its size agrees and each reads of
the others only what the same iteration wrote (`group.aligned`). A value used only inside the tree
keeps, of its axes, those whose loop its producer and all its consumers do not share: none at all
means that it stays in a register.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gradc.ir.core import Operation, Value
from gradc.ir.ops.contract_kernel import ContractKernel
from gradc.ir.ops.kernel import Access, Generic
from gradc.passes.group import aligned


@dataclass(eq=False)
class Output:
    """One output of a kernel: `value` (its tensor value or, at top level, None), how and where it
    is combined.

    dims: the loop of each axis of the output (None: an axis inside a batched product)
    combine: "" to store at each point
    """

    position: int
    value: Value | None
    combine: str
    dims: tuple[Any, ...]
    dtype: Any

    def first_reduced(self, rank: int) -> int:
        """The outermost loop that the output is reduced over (rank if none)."""
        return next((d for d in range(rank) if d not in self.dims), rank)

    def register_from(self, rank: int) -> int:
        """From this loop inwards all loops are reduced: there the partial result is a register."""
        depth = rank
        while depth > 0 and (depth - 1) not in self.dims:
            depth -= 1
        return depth


@dataclass(eq=False)
class Kernel:
    """A kernel of the tree. `reads` and `writes` as in passes.group.Node."""

    op: Operation
    sizes: tuple[Any, ...]
    outputs: list[Output]
    reads: dict[Value, list[Access]]
    writes: dict[Value, Any]
    path: tuple[Loop, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.sizes)


@dataclass(eq=False)
class Loop:
    depth: int
    size: Any
    kernels: list[Kernel]
    children: list[Loop | Kernel] = field(default_factory=list)


def describe(op: Operation) -> Kernel:
    """The kernel of an operation in tensor or in buffer form."""
    if isinstance(op, ContractKernel):
        sizes, reads, written = op.loops(op)
        value = op.results[0] if op.results else None
        outputs = [Output(0, value, "", written, op.operands[0].type.dtype)]
        return Kernel(op, sizes, outputs, reads, {} if value is None else {value: written})
    assert isinstance(op, Generic)
    outputs = []
    for k, (combine, map) in enumerate(op["outputs"]):
        value = op.results[k] if op.results else None
        dtype = op.body.terminator.operands[k].type.dtype
        outputs.append(Output(k, value, combine, map.as_dims, dtype))
    writes = {o.value: o.dims for o in outputs if o.value is not None}
    return Kernel(op, op["sizes"], outputs, op.reads(), writes)


def build(kernels: Sequence[Kernel]) -> list[Loop | Kernel]:
    """The loop tree of kernels in order; also sets each kernel's path."""
    return _build(list(kernels), 0, ())


def _build(kernels: list[Kernel], depth: int, path: tuple[Loop, ...]) -> list[Loop | Kernel]:
    items: list[Loop | Kernel] = []
    for kernel in kernels:
        last = items[-1] if items else None
        if kernel.rank == depth:
            kernel.path = path
            items.append(kernel)
        elif (
            isinstance(last, Loop)
            and last.size == kernel.sizes[depth]
            and all(aligned(other, kernel, depth) for other in last.kernels)  # type: ignore[arg-type]
        ):
            last.kernels.append(kernel)
        else:
            items.append(Loop(depth, kernel.sizes[depth], [kernel]))
    for item in items:
        if isinstance(item, Loop):
            item.children = _build(item.kernels, depth + 1, (*path, item))
    return items


def shared_loops(producer: Kernel, consumers: Sequence[Kernel]) -> int:
    """How many leading loops the producer has in common with all consumers."""
    count = len(producer.path)
    for kernel in consumers:
        common = 0
        for a, b in zip(producer.path, kernel.path):
            if a is not b:
                break
            common += 1
        count = min(count, common)
    return count
