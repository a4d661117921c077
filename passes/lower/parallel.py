"""A large outermost loop in jobs.

Their number depends on the sizes alone; each job has its own partial results, combined in order, so
that results do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import TypedNumber, Value
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops import scf
from gradc.ir.ops.kernel import Number
from gradc.ir.types import Dim, index
from gradc.passes.lower.access import Array, index_constant, load, store
from gradc.passes.lower.accumulate import combine_scalars, neutral, partial_dtype
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.nest import NestEmitter, convert_to, is_contract
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.tree import Kernel, Loop, Output

# Scalar operations per job of a parallel loop, and the most jobs of one loop.
JOB_WORK = 32768
MOST_JOBS = 16
# The most bytes that partial results of all jobs may take.
MOST_PARTIAL_BYTES = 4 << 20


class ParallelNest(NestEmitter):
    """Emits one top-level kernel or fusion, its outermost loop in parallel where that pays."""

    def emit_tree(self, b: Builder) -> None:
        if len(self.items) == 1 and isinstance(self.items[0], Loop):
            jobs = self.jobs(self.items[0])
            if jobs is not None:
                self.emit_parallel(b, self.items[0], jobs)
                return
        super().emit_tree(b)

    def jobs(self, item: Loop) -> int | None:
        """Into how many jobs to cut an outermost loop; None to leave it serial."""
        if isinstance(item.size, Dim):
            return None
        if all(isinstance(n, int) and n <= 16 for k in item.kernels for n in k.sizes):
            return None
        work = 0
        partial = 0
        for kernel in item.kernels:
            points = 1
            for n in kernel.sizes:
                points *= self.static(n)
            if is_contract(kernel):
                x = kernel.op.operands[0].type
                depth = 1
                for a in kernel.op.attributes["contract"][0]:
                    depth *= x.shape[a]
                out = kernel.op.operands[-1] if not kernel.op.results else kernel.op.results[0]
                size = 1
                for n in out.type.shape:
                    size *= n
                work += size * depth // 8
                continue
            work += points * sum(getattr(op, "cost", 1) for op in kernel.op.body.ops)
            for output in kernel.outputs:
                if 0 not in output.dims:
                    kept = output.dtype.itemsize
                    for d in output.dims:
                        kept *= self.static(kernel.sizes[d])
                    partial += kept
        jobs = min(MOST_JOBS, item.size, max(1, work // JOB_WORK))
        while jobs > 1 and jobs * partial > min(MOST_PARTIAL_BYTES, 2 * work):
            jobs //= 2
        return int(jobs)

    def emit_parallel(self, b: Builder, loop: Loop, jobs: int) -> None:
        """Cut the outermost loop into jobs; combine their partial results in order."""
        count = number(b, jobs)
        size = self.context.size(b, loop.size)
        zero, one = index_constant(b, 0), index_constant(b, 1)
        reduced = [
            (kernel, output)
            for kernel in loop.kernels
            for output in kernel.outputs
            if 0 not in output.dims and kernel.rank
        ]
        for kernel, output in reduced:
            shape = tuple(self.static(kernel.sizes[d]) for d in output.dims)
            dtype = partial_dtype(output.combine, output.dtype)
            buffer = self.context.scratch.shared(b, (jobs, *shape), dtype)
            self.partials[(kernel, output.position)] = Array(buffer, dtype)

        def body(inner: Builder, job: Value) -> None:
            inner.location = b.location
            a = Arithmetic(inner)
            low = a.emit(_DIVUI, a.mul(job, size), count)
            high = a.emit(_DIVUI, a.mul(a.add(job, one), size), count)
            self.start(inner, job, jobs)
            self.emit_loop(inner, loop, [], {}, (low, high), job)

        work = {"gradc.work": JOB_WORK}
        scf.parallel(b, [zero], [count], [one], body, work)
        for kernel, output in reduced:
            self.combine_partials(b, kernel, output, count)

    def combine_partials(self, b: Builder, kernel: Kernel, output: Output, count: Value) -> None:
        partial = self.partials[(kernel, output.position)]

        def at(inner: Builder, ivs: list[Value]) -> None:
            start = neutral(inner, output.combine, output.dtype)

            def step(deep: Builder, job: Value, *carried: Value) -> Sequence[Value]:
                value = load(deep, partial, [job, *ivs])
                held = Scalar(start.dtype, carried)
                return combine_scalars(deep, output.combine, held, value).parts

            zero, one = index_constant(inner, 0), index_constant(inner, 1)
            parts = scf.for_(inner, zero, count, one, start.parts, step)
            for array in self.target(kernel, output):
                merged = Scalar(start.dtype, tuple(parts))
                store(inner, convert_to(inner, merged, array.dtype), array, ivs)

        self.context.over(b, [kernel.sizes[d] for d in output.dims], at)


def number(b: Builder, value: int) -> Value:
    """A run-time number of the program as an index."""
    found: Value = b.create(Number, (), {"value": TypedNumber(value, index)})
    return found


_DIVUI: Any = REGISTRY["arith.divui"]
