"""Emission of a loop tree: kernels as loops over scalar code.

Scalar operations stand at the shallowest loop whose indices they use. Reductions whose inner loops
are all reduced are carried in registers; others are accumulated in memory, which is set to the
neutral element first. Long sums are split into blocks whose totals are added with an error term, so
that their accuracy does not fall with the length. A large outermost loop is cut into jobs by
parallel.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value
from gradc.ir.opdef import reduction
from gradc.ir.ops.contract_kernel import ContractKernel
from gradc.ir.types import Dim, ScalarType
from gradc.passes.lower.access import Array, index_constant, load, store
from gradc.passes.lower.accumulate import (
    BLOCK,
    blocked,
    combine_scalars,
    neutral,
)
from gradc.passes.lower.arithmetic import Arithmetic
from gradc.passes.lower.body import BodyEmitter
from gradc.passes.lower.context import Context
from gradc.passes.lower.gemm import ContractEmitter
from gradc.passes.lower.scalar_value import Scalar
from gradc.passes.lower.scalars import ScalarBuilder
from gradc.passes.lower.tree import Kernel, Loop, Output, build, describe, shared_loops

Key = tuple[Kernel, int]


class NestEmitter:
    """Emits one top-level kernel or fusion."""

    def __init__(self, context: Context, ops: Sequence[Operation], targets: dict[Any, list[Array]]):
        """targets: for each escaping result (the tensor value, or (op, position)) its arrays."""
        self.context = context
        self.targets = targets
        self.kernels = [describe(op) for op in ops]
        self.items = build(self.kernels)
        self.arrays = dict(context.arrays)
        self.registers: dict[Value, Scalar] = {}
        self.bodies: dict[Kernel, BodyEmitter] = {}
        self.partials: dict[Key, Array] = {}
        self.copies: dict[tuple[Kernel, int], Array] = {}

    # ------------------------------------------------------------------ storage

    def target(self, kernel: Kernel, output: Output) -> list[Array]:
        """The arrays outside the nest that an output goes to."""
        key = output.value if output.value is not None else (kernel.op, output.position)
        return self.targets.get(key, [])

    def place_inner_values(self, b: Builder, job: Value | None, jobs: int) -> None:
        """Storage for values that live only inside the nest."""
        wanted: list[tuple[Any, frozenset[int], tuple[int, ...], ScalarType]] = []
        consumers: dict[Value, list[Kernel]] = {}
        for kernel in self.kernels:
            for array in kernel.reads:
                consumers.setdefault(array, []).append(kernel)
        for kernel in self.kernels:
            for output in kernel.outputs:
                value = output.value
                if value is None:
                    continue
                escaping = self.target(kernel, output)
                if escaping:
                    self.arrays[value] = escaping[0]
                    continue
                depth = shared_loops(kernel, consumers.get(value, []))
                dropped = frozenset(
                    k for k, d in enumerate(output.dims) if d is not None and d < depth
                )
                if len(dropped) == len(output.dims) and kernel.rank and not is_contract(kernel):
                    continue  # a register
                shape = [self.static(n) for n in value.type.shape]
                kept = tuple(n for k, n in enumerate(shape) if k not in dropped)
                wanted.append((value, dropped, kept, output.dtype))
        for kernel in self.kernels:
            if is_contract(kernel):
                wanted += self.masked_copies(kernel)
        spaces = [(shape, dtype) for _, _, shape, dtype in wanted]
        buffers = self.context.scratch.locals(b, spaces, job, jobs)
        for (key, dropped, _, dtype), buffer in zip(wanted, buffers, strict=True):
            where: Any = self.copies if isinstance(key, tuple) else self.arrays
            where[key] = Array(buffer, dtype, dropped)

    def masked_copies(self, kernel: Kernel) -> list[Any]:
        """Storage for the masked copies of a contraction's operands."""
        found = []
        targets = {target for target, _, _ in ContractKernel.mask_operands(kernel.op)}
        for target in sorted(targets & {0, 1}):
            operand = kernel.op.operands[target].type
            dropped = frozenset(kernel.op.attributes["batch"][target])
            shape = tuple(n for k, n in enumerate(operand.shape) if k not in dropped)
            found.append(((kernel, target), dropped, shape, operand.dtype))
        return found

    def static(self, size: Any) -> int:
        return self.context.scratch.capacity(size)

    # ------------------------------------------------------------------ the tree

    def emit(self, b: Builder) -> None:
        for kernel in self.kernels:
            self.check_not_empty(b, kernel)
        self.emit_tree(b)

    def emit_tree(self, b: Builder) -> None:
        self.start(b, None, 1)
        self.emit_items(b, self.items, [], {})

    def check_not_empty(self, b: Builder, kernel: Kernel) -> None:
        """A maximum over no elements is an error; of run-time sizes only the run can tell."""
        for output in kernel.outputs:
            if output.combine and not reduction(output.combine).has_identity:
                for d, n in enumerate(kernel.sizes):
                    if d not in output.dims and isinstance(n, Dim):
                        check_not_empty(b, self.context.size(b, n), output.combine)

    def start(self, b: Builder, job: Value | None, jobs: int) -> None:
        self.place_inner_values(b, job, jobs)
        for kernel in self.kernels:
            if not is_contract(kernel):
                self.bodies[kernel] = BodyEmitter(
                    kernel, self.arrays, self.registers, self.context.size
                )

    # ------------------------------------------------------------------ loops

    def emit_items(
        self,
        b: Builder,
        items: Sequence[Loop | Kernel],
        ivs: list[Value],
        carried: dict[Key, Scalar],
        job: Value | None = None,
    ) -> None:
        """Emit a level of the tree; `carried` (partial results in registers) is updated."""
        for item in items:
            if isinstance(item, Loop):
                self.emit_loop(b, item, ivs, carried, None, job)
            elif is_contract(item):
                self.emit_contract(b, item, ivs)
            else:
                self.emit_point(b, item, ivs, carried, job)

    def emit_loop(
        self,
        b: Builder,
        loop: Loop,
        ivs: list[Value],
        carried: dict[Key, Scalar],
        bounds: tuple[Value, Value] | None,
        job: Value | None,
    ) -> None:
        depth = loop.depth
        keys: list[Key] = []
        starts: list[Scalar] = []
        for kernel in loop.kernels:
            if is_contract(kernel):
                continue
            self.bodies[kernel].hoist(b, ivs)
            for output in kernel.outputs:
                register = output.register_from(kernel.rank)
                if output.combine and output.first_reduced(kernel.rank) == depth < register:
                    self.clear(b, kernel, output, ivs, job)
                if output.combine and register <= depth:
                    key = (kernel, output.position)
                    keys.append(key)
                    fresh = register == depth
                    starts.append(
                        neutral(b, output.combine, output.dtype) if fresh else carried[key]
                    )
        low, high = bounds or (index_constant(b, 0), self.context.size(b, loop.size))

        def run(inner: Builder, iv: Value, values: list[Scalar]) -> list[Scalar]:
            inner.location = b.location
            state = dict(zip(keys, values, strict=True))
            self.emit_items(inner, loop.children, [*ivs, iv], state, job)
            return [state[k] for k in keys]

        # Whether a loop is split must not depend on its length where that can vary most: a
        # vector's.
        innermost = all(isinstance(c, Kernel) for c in loop.children)
        combines = [kernel.outputs[position].combine for kernel, position in keys]
        long = self.static(loop.size) > (16 if depth == 0 else 2 * BLOCK)
        results = blocked(b, low, high, combines, starts, run, innermost and long)
        carried.update(zip(keys, results, strict=True))
        for kernel, position in keys:
            output = kernel.outputs[position]
            if output.register_from(kernel.rank) == depth:
                self.finish(b, kernel, output, ivs, carried.pop((kernel, position)), job)
                # The value is complete unless outer loops add to it.

    def storage(self, kernel: Kernel, output: Output, job: Value | None) -> list[Array]:
        """Where an output is written, the job's partial array where there is one."""
        partial = self.partials.get((kernel, output.position))
        if partial is not None:
            return [partial]
        found = list(self.target(kernel, output))
        if output.value is not None and output.value in self.arrays and not found:
            found.append(self.arrays[output.value])
        return found

    def indices(self, output: Output, array: Array, ivs: Sequence[Value], job: Value | None) -> Any:
        own = array.kept([ivs[d] for d in output.dims])
        return [job, *own] if array in self.partials.values() else own

    def clear(
        self, b: Builder, kernel: Kernel, output: Output, ivs: list[Value], job: Value | None
    ) -> None:
        """Set an accumulator in memory to the neutral element, for the axes of inner loops."""
        inner_dims = [d for d in sorted(output.dims) if d >= len(ivs)]

        def at(inner: Builder, more: list[Value]) -> None:
            full: dict[int, Value] = dict(enumerate(ivs))
            full.update(zip(inner_dims, more, strict=True))
            value = neutral(inner, output.combine, output.dtype)
            for array in self.storage(kernel, output, job):
                ordered = [full.get(d) for d in range(kernel.rank)]
                place = self.indices(output, array, ordered, job)  # type: ignore[arg-type]
                store(inner, convert_to(inner, value, array.dtype), array, place)

        self.context.over(b, [kernel.sizes[d] for d in inner_dims], at)

    def finish(
        self,
        b: Builder,
        kernel: Kernel,
        output: Output,
        ivs: list[Value],
        value: Scalar,
        job: Value | None,
    ) -> None:
        """A value is complete over its register loops: store it, or merge it into memory."""
        merge = output.combine and output.first_reduced(kernel.rank) < output.register_from(
            kernel.rank
        )
        arrays = self.storage(kernel, output, job)
        for array in arrays:
            place = self.indices(output, array, ivs, job)
            whole = value
            if merge:
                whole = combine_scalars(b, output.combine, load(b, array, place), value)
            store(b, convert_to(b, whole, array.dtype), array, place)
        if output.value is not None and not arrays:
            self.registers[output.value] = convert_to(b, value, output.dtype)

    def emit_contract(self, b: Builder, kernel: Kernel, ivs: list[Value]) -> None:
        """A batched product at the open batch loops."""
        out = self.storage(kernel, kernel.outputs[0], None)[0]
        copies = {target: array for (k, target), array in self.copies.items() if k is kernel}
        ContractEmitter(kernel, ivs, self.arrays, out, copies, self.context.over).emit(b)

    def emit_point(
        self,
        b: Builder,
        kernel: Kernel,
        ivs: list[Value],
        carried: dict[Key, Scalar],
        job: Value | None,
    ) -> None:
        """The scalar code of a kernel inside all its loops."""
        scalars = self.bodies[kernel].finish(b, ivs)
        for output, scalar in zip(kernel.outputs, scalars, strict=True):
            key = (kernel, output.position)
            if output.combine and output.register_from(kernel.rank) < kernel.rank:
                carried[key] = combine_scalars(b, output.combine, carried[key], scalar, fast=True)
            else:
                self.finish(b, kernel, output, ivs, scalar, job)


def convert_to(b: Builder, scalar: Scalar, dtype: ScalarType) -> Scalar:
    """A partial result in the dtype of the array that takes it."""
    return scalar if scalar.dtype is dtype else ScalarBuilder(b).convert(scalar, dtype)


def check_not_empty(b: Builder, size: Value, what: str) -> None:
    """Stop with NumPy's ValueError when a run-time size is 0."""
    some = Arithmetic(b).cmp("sgt", size, index_constant(b, 0))
    message = f"zero-size array to reduction operation {what} which has no identity"
    b.kernel_check(some, exception="ValueError", message=message)


def is_contract(kernel: Kernel) -> bool:
    return isinstance(kernel.op, ContractKernel)
