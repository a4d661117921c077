"""kernel.contract as a BLAS call: each operand seen as a strided matrix for each batch index.

Masks say which rows or columns count as zero even where the other factor is infinite or NaN. They
are usually all true (or the data finite), so the masked copies of operands are made only when some
element of a mask is false, which is decided at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import TypedNumber, Value
from gradc.ir.ops import scf
from gradc.ir.ops.contract import free_axes
from gradc.ir.ops.contract_kernel import ContractKernel
from gradc.ir.ops.kernel import Number
from gradc.ir.ops.memref import reinterpret_cast, row_major
from gradc.ir.types import i1, index
from gradc.passes.lower.access import Array, index_constant, load, store
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.scalars import ScalarBuilder
from gradc.passes.lower.tree import Kernel

# Multiply-adds of one job of a large product, and the most jobs.
BLOCK_WORK = 12_000_000
MOST_BLOCKS = 16

Over = Callable[[Builder, Sequence[Any], Callable[[Builder, list[Value]], None]], None]


class ContractEmitter:
    """Emits the product of one batch index into (or, accumulating, onto) `out`.

    ivs: the batch loops;  copies: storage for masked copies of operands, by target
    over: emits plain loops over sizes around a body
    """

    def __init__(
        self,
        kernel: Kernel,
        ivs: Sequence[Value],
        arrays: dict[Value, Array],
        out: Array,
        copies: dict[int, Array],
        over: Over,
    ) -> None:
        self.op = kernel.op
        self.ivs = list(ivs)
        self.arrays = arrays
        self.out = out
        self.copies = copies
        self.over = over
        op = kernel.op
        self.contract, self.batch = op.attributes["contract"], op.attributes["batch"]
        self.perm = op.attributes["perm"]
        operands = op.operands[:2]
        self.free = [
            free_axes(v.type.rank, self.contract[k], self.batch[k]) for k, v in enumerate(operands)
        ]
        x, y = (v.type.shape for v in operands)
        sizes = [x[k] for k in (*self.batch[0], *self.free[0])] + [y[k] for k in self.free[1]]
        self.shapes = [x, y, tuple(sizes[p] for p in self.perm)]
        count = len(self.ivs)
        # Which batch loop each axis of x, y and the result follows, or None.
        self.follows = [
            [axes.index(k) if k in axes else None for k in range(len(shape))]
            for axes, shape in zip(self.batch, self.shapes, strict=False)
        ]
        self.follows.append([p if p < count else None for p in self.perm])

    def emit(self, b: Builder) -> None:
        b.location = self.op.location
        if self.op.attributes.get("accumulate"):
            self.copy_start(b)
        operands = [self.arrays[v] for v in self.op.operands[:2]]
        masks = ContractKernel.mask_operands(self.op)
        if not self.copies:
            self.call(b, *operands)
        else:
            whole = self.all_true(b, [m for m in masks if m[0] < 2])

            def plain(inner: Builder) -> None:
                self.call(inner, *operands)

            def masked(inner: Builder) -> None:
                for target, copy in self.copies.items():
                    self.copy_masked(inner, target, operands[target], copy, masks)
                self.call(inner, *(self.copies.get(k, x) for k, x in enumerate(operands)))

            scf.if_(b, whole, plain, masked)
        for target, axes, mask in masks:
            if target == 2:
                self.clear_result(b, axes, self.arrays[mask])

    # ------------------------------------------------------------------ masks and starts

    def place(self, target: int, inner: dict[int, Value]) -> list[Value]:
        """A full index of x, y or the result: batch loops, and `inner` for the other axes."""
        follows = self.follows[target]
        return [self.ivs[f] if f is not None else inner[k] for k, f in enumerate(follows)]

    def inner_axes(self, target: int, axes: Sequence[int] | None = None) -> list[int]:
        chosen = range(len(self.follows[target])) if axes is None else axes
        return [k for k in chosen if self.follows[target][k] is None]

    def copy_start(self, b: Builder) -> None:
        """What the product is added to must be in the output's buffer."""
        start = self.arrays[self.op.operands[2]]
        if start.buffer is self.out.buffer:
            return
        axes = self.inner_axes(2)

        def at(inner: Builder, more: list[Value]) -> None:
            place = self.place(2, dict(zip(axes, more, strict=True)))
            store(inner, load(inner, start, start.kept(place)), self.out, self.out.kept(place))

        self.over(b, [self.shapes[2][k] for k in axes], at)

    def mask_at(
        self, b: Builder, target: int, axes: Any, mask: Array, inner: dict[int, Value]
    ) -> Value:
        place = self.place(target, inner)
        return load(b, mask, mask.kept([place[a] for a in axes])).value

    def all_true(self, b: Builder, masks: list[Any]) -> Value:
        a = Arithmetic(b)
        found = a.const(1, i1)
        for target, axes, value in masks:
            mask = self.arrays[value]
            inner = self.inner_axes(target, axes)
            found = a.and_(found, self.all_of(b, target, axes, mask, inner, {}))
        return found

    def all_of(
        self, b: Builder, target: int, axes: Any, mask: Array, rest: list[int], at: dict[int, Value]
    ) -> Value:
        if not rest:
            full = {k: at.get(k, index_constant(b, 0)) for k in self.inner_axes(target)}
            return self.mask_at(b, target, axes, mask, full)

        def step(inner: Builder, iv: Value, carried: Value) -> Sequence[Value]:
            more = self.all_of(inner, target, axes, mask, rest[1:], {**at, rest[0]: iv})
            return [Arithmetic(inner).and_(carried, more)]

        zero, one = index_constant(b, 0), index_constant(b, 1)
        size = index_constant(b, self.shapes[target][rest[0]])
        return scf.for_(b, zero, size, one, [Arithmetic(b).const(1, i1)], step)[0]

    def copy_masked(
        self, b: Builder, target: int, source: Array, copy: Array, masks: list[Any]
    ) -> None:
        axes = self.inner_axes(target)

        def at(inner: Builder, more: list[Value]) -> None:
            by_axis = dict(zip(axes, more, strict=True))
            place = self.place(target, by_axis)
            s = ScalarBuilder(inner)
            value = load(inner, source, source.kept(place))
            for owner, mask_axes, mask in masks:
                if owner == target:
                    array = self.arrays[mask]
                    live = load(inner, array, array.kept([place[a] for a in mask_axes]))
                    value = s.select(live, value, s.const(0, value.dtype))
            store(inner, value, copy, copy.kept(place))

        self.over(b, [self.shapes[target][k] for k in axes], at)

    def clear_result(self, b: Builder, axes: Any, mask: Array) -> None:
        own = self.inner_axes(2, axes)
        rest = [k for k in self.inner_axes(2) if k not in own]

        def at(inner: Builder, more: list[Value]) -> None:
            by_axis = dict(zip(own, more, strict=True))
            full = {k: by_axis.get(k, index_constant(inner, 0)) for k in self.inner_axes(2)}
            live = self.mask_at(inner, 2, axes, mask, full)

            def clear(deep: Builder) -> None:
                def element(last: Builder, others: list[Value]) -> None:
                    place = self.place(2, {**by_axis, **dict(zip(rest, others, strict=True))})
                    zero = ScalarBuilder(last).const(0, self.out.dtype)
                    store(last, zero, self.out, self.out.kept(place))

                self.over(deep, [self.shapes[2][k] for k in rest], element)

            scf.if_(inner, Arithmetic(inner).not_(live), clear)

        self.over(b, [self.shapes[2][k] for k in own], at)

    # ------------------------------------------------------------------ the call

    def call(self, b: Builder, left: Array, right: Array) -> None:
        count = len(self.ivs)
        rows = range(count, count + len(self.free[0]))
        columns = range(count + len(self.free[0]), len(self.perm))
        groups = [
            tuple(k for k, p in enumerate(self.perm) if p in part)
            for part in (range(count), rows, columns)
        ]
        batch_out = tuple(sorted(groups[0], key=lambda k: self.perm[k]))
        x, y, shape = self.shapes
        ivs = self.ivs
        a = _view(left, x, self.batch[0], self.free[0], self.contract[0], ivs)
        c = _view(right, y, self.batch[1], self.contract[1], self.free[1], ivs)
        result = _view(self.out, shape, batch_out, groups[1], groups[2], ivs)
        beta = 1.0 if self.op.attributes.get("accumulate") else 0.0
        if result.strides[1] != 1:
            # The result's rows are contiguous the other way round: compute its transpose.
            a, c, result = c.transposed(), a.transposed(), result.transposed()
        if ivs:
            multiply(b, a, c, result, beta)
        else:
            self.split(b, a, c, result, beta)

    def split(self, b: Builder, a: _Matrix, c: _Matrix, result: _Matrix, beta: float) -> None:
        """One product in jobs over blocks of rows or columns of the result.

        BLAS computes each block on one thread. Its own threads wait for each other while they work,
        which costs a time slice for each step on a machine that is busy; these jobs do not. Their
        number follows from the sizes, so that results do not depend on the number of threads.
        """
        (m, n), k = result.sizes, a.sizes[1]
        wanted = max(1, min(MOST_BLOCKS, m * n * k // BLOCK_WORK))
        rows = m > n
        long = m if rows else n
        blocks = next(count for count in range(wanted, 0, -1) if long % count == 0)
        work = max(1, m * n * k // (4 * blocks))

        def body(inner: Builder, block: Value) -> None:
            inner.location = b.location
            left = a.block(0, blocks, block) if rows else a
            right = c if rows else c.block(1, blocks, block)
            out = result.block(0 if rows else 1, blocks, block)
            multiply(inner, left, right, out, beta)

        count: Value = b.create(Number, (), {"value": TypedNumber(blocks, index)})
        zero, one = index_constant(b, 0), index_constant(b, 1)
        scf.parallel(b, [zero], [count], [one], body, {"gradc.work": work})


def multiply(b: Builder, a: _Matrix, c: _Matrix, result: _Matrix, beta: float) -> None:
    """The BLAS call."""
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

    def block(self, axis: int, count: int, index: Value) -> _Matrix:
        """One of `count` equal blocks along a matrix axis."""
        sizes = list(self.sizes)
        sizes[axis] //= count
        lead = [*self.lead, (count, sizes[axis] * self.strides[axis])]
        return _Matrix(self.buffer, lead, tuple(sizes), self.strides, [*self.indices, index])

    def cast(self, b: Builder) -> Value:
        shape = (*(n for n, _ in self.lead), *self.sizes)
        strides = (*(s for _, s in self.lead), *self.strides)
        return reinterpret_cast(b, self.buffer, shape, strides)


def _view(
    array: Array, shape: Any, batch: Any, rows: Any, columns: Any, ivs: Sequence[Value]
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
