"""Pass `loops`: a bufferized function becomes loops over scalars, loads and stores.

In: kernels over buffers with a planned arena (after `release`). Out: a function over the same
arguments and the arena, in scf, arith, math and memref operations and library calls. Kernels go
through `nest.py`; other operations through the emitter of their lowering class in `apply.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value
from gradc.ir.diagnostic import IRError
from gradc.ir.ops import scf
from gradc.ir.ops.contract_kernel import ContractKernel
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.kernel import Apply, Fusion, Generic
from gradc.ir.ops.mem import Alias, Alloc, Copy, Free
from gradc.ir.ops.memref import reinterpret_cast, storage
from gradc.ir.types import MemRefType, i8
from gradc.passes.lower.access import Array, index_constant
from gradc.passes.lower.apply import emit_apply
from gradc.passes.lower.context import Context
from gradc.passes.lower.parallel import ParallelNest
from gradc.passes.lower.scratch import Scratch
from gradc.passes.manager import Pass


class Loops(Pass, name="loops"):
    """Turn kernels over buffers into loops over scalars, loads, stores and library calls."""

    def run(self, op: Operation) -> None:
        assert isinstance(op, FuncOp)
        op.take_over(lower_to_loops(op))


def lower_to_loops(old: FuncOp) -> FuncOp:
    """The loop-level function of a bufferized and planned one. Its last argument is the arena."""
    if "arena_bytes" not in old.attributes:
        raise IRError(
            f"expected @{old['sym_name']} to have planned memory (the attribute arena_bytes): "
            "run bufferize and release before loops",
            old,
        )
    types = [MemRefType(v.type.shape, storage(v.type.dtype)) for v in old.args]
    hints = [v.hint for v in old.args]
    # The arena's size is set below, when the storage inside nests is known.
    new = FuncOp.build(old["sym_name"], [*types, MemRefType((0,), i8)], [*hints, "arena"])
    new.location = old.location
    arena = new.args[-1]
    base = old.attributes["arena_bytes"]
    scratch = Scratch(arena, base, old.attributes.get("capacities", {}))
    arrays = {v: Array(n, v.type.dtype) for v, n in zip(old.args, new.args, strict=False)}
    context = Context(arrays, {}, scratch)
    b = Builder(new.body, old.location)
    for op in old.body.ops[:-1]:
        b.location = op.location
        lower_op(b, op, context)
    for name in old.attributes.get("output_sizes", ()):
        b.kernel_set_size(context.sizes[name], name=name)
    total = base + scratch.peak
    arena.type = MemRefType((total,), i8)
    new.finish(())
    rest = old.further_attributes()
    del rest["arena_bytes"]  # the arena's type says it, with the storage inside nests
    new.attributes.update(rest)
    return new


def lower_op(b: Builder, op: Operation, context: Context) -> None:
    arrays = context.arrays
    if isinstance(op, Free):
        return
    if isinstance(op, Alloc):
        to = MemRefType(op["type"].shape, storage(op["type"].dtype))
        offset = index_constant(b, op["offset"])
        buffer = b.memref_view(context.scratch.arena, offset, to=to)
        arrays[op.result] = Array(buffer, op["type"].dtype)
        buffer.hint = op.result.hint
    elif isinstance(op, Alias):
        source = arrays[op.operands[0]]
        buffer = reinterpret_cast(b, source.buffer, op["type"].shape)
        arrays[op.result] = Array(buffer, source.dtype)
    elif isinstance(op, Copy):
        source_buffer, target_buffer = (arrays[v].buffer for v in op.operands)
        b.memref_copy(source_buffer, target_buffer)
    elif isinstance(op, Apply):
        context.scratch.reset()
        emit_apply(b, op, context)
    else:
        context.scratch.reset()

        def body(inner: Builder) -> None:
            inner.location = op.location
            emit_kernel(inner, op, context)

        # A region of its own: equal kernels, such as those of equal layers, share machine code.
        scf.execute_region(b, body)


def emit_kernel(b: Builder, op: Operation, context: Context) -> None:
    """A kernel.generic, kernel.contract or kernel.fusion with its output buffers."""
    arrays = context.arrays
    targets: dict[object, list[Array]] = {}
    if isinstance(op, Fusion):
        for value, out in zip(op.body.terminator.operands, op.operands, strict=True):
            targets.setdefault(value, []).append(arrays[out])
        ops: list[Operation] = op.body.ops[:-1]
    else:
        assert isinstance(op, Generic | ContractKernel)
        outs: Sequence[Value] = op.operands if isinstance(op, Generic) else op.operands[-1:]
        for position, out in enumerate(outs):
            targets[(op, position)] = [arrays[out]]
        ops = [op]
    ParallelNest(context, ops, targets).emit(b)
