"""kernel.contract as a BLAS call: each operand seen as a strided matrix for each batch index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.ops.contract import free_axes
from gradc.ir.ops.memref import reinterpret_cast, row_major
from gradc.passes.lower.access import Array
from gradc.passes.lower.tree import Kernel


def emit_gemm(
    b: Builder,
    kernel: Kernel,
    ivs: Sequence[Value],
    arrays: dict[Value, Array],
    out: Array,
) -> None:
    """Emit the product of one batch index into (or, accumulating, onto) `out`; ivs are the batch loops."""
    op = kernel.op
    b.location = op.location
    x, y = op.operands[:2]
    contract, batch, perm = op.attributes["contract"], op.attributes["batch"], op.attributes["perm"]
    free = [free_axes(v.type.rank, contract[k], batch[k]) for k, v in enumerate((x, y))]
    count = len(batch[0])
    rows = range(count, count + len(free[0]))
    columns = range(count + len(free[0]), len(perm))
    sizes = [x.type.shape[k] for k in (*batch[0], *free[0])] + [y.type.shape[k] for k in free[1]]
    shape = tuple(sizes[p] for p in perm)
    groups = [
        tuple(k for k, p in enumerate(perm) if p in part) for part in (range(count), rows, columns)
    ]
    batch_out = tuple(sorted(groups[0], key=lambda k: perm[k]))
    a = _view(b, arrays[x], x.type.shape, batch[0], free[0], contract[0], ivs)
    c = _view(b, arrays[y], y.type.shape, batch[1], contract[1], free[1], ivs)
    result = _view(b, out, shape, batch_out, groups[1], groups[2], ivs)
    beta = 1.0 if op.attributes.get("accumulate") else 0.0
    if result.strides[1] != 1:
        # The result's rows are contiguous the other way round: compute its transpose.
        a, c, result = c.transposed(), a.transposed(), result.transposed()
    indices = [*a.indices, *c.indices, *result.indices]
    b.kernel_gemm_call(
        a.cast(b), c.cast(b), result.cast(b), *indices,
        batch=(len(a.indices), len(c.indices), len(result.indices)), alpha=1.0, beta=beta,
    )  # fmt: skip


class _Matrix:
    """A buffer as batch axes and a matrix, with the indices of its batch axes."""

    def __init__(
        self, buffer: Value, lead: list[tuple[int, int]], sizes: Any, strides: Any, indices: Any
    ) -> None:
        self.buffer = buffer
        self.lead = lead
        self.sizes = sizes
        self.strides = strides
        self.indices = indices

    def transposed(self) -> _Matrix:
        return _Matrix(self.buffer, self.lead, self.sizes[::-1], self.strides[::-1], self.indices)

    def cast(self, b: Builder) -> Value:
        shape = (*(n for n, _ in self.lead), *self.sizes)
        strides = (*(s for _, s in self.lead), *self.strides)
        return reinterpret_cast(b, self.buffer, shape, strides)


def _view(
    b: Builder, array: Array, shape: Any, batch: Any, rows: Any, columns: Any, ivs: Sequence[Value]
) -> _Matrix:
    stored = [k for k in range(len(shape)) if k not in array.dropped]
    strides = dict(zip(stored, row_major([shape[k] for k in stored]), strict=True))
    lead = []
    indices = []
    for iv, axis in zip(ivs, batch, strict=True):
        if axis in strides:
            lead.append((shape[axis], strides[axis]))
            indices.append(iv)

    def group(axes: Any) -> tuple[int, int]:
        big = [a for a in axes if shape[a] != 1]
        return prod(shape[a] for a in axes), strides[big[-1]] if big else 1

    (m, row), (n, column) = group(rows), group(columns)
    return _Matrix(array.buffer, lead, (m, n), (row, column), indices)
