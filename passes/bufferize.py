"""Pass `bufferize`: from values to buffers.

Every array of the fused function gets a buffer: an argument (inputs, results, constants), a
`mem.alloc`, or, where the last use allows, the buffer of an operand that dies there: an elementwise
kernel writes over an input that it reads only at the point being written, a contraction accumulates
onto its `init`. Reshapes become `mem.alias`. Afterwards the function takes inputs, outputs,
constants and returns nothing.

Sizes known only at run time (`Dim`) get storage for their upper bound, which the operation that
gives birth to the size states (`capacity`).

What later stages need to know stands in attributes of the function, where there is any: the values
of the `constants`, the `capacities` of run-time sizes, the `output_sizes` that results have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.opdef import Shape
from gradc.ir.ops.contract_kernel import ContractKernel
from gradc.ir.ops.creation import Constant
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.kernel import Apply, Fusion, Generic, Load
from gradc.ir.ops.mem import Alias, Alloc, Copy
from gradc.ir.types import Dim, MemRefType, TensorType
from gradc.passes.manager import Pass


def bufferize(function: FuncOp) -> FuncOp:
    """A new function over buffers with the meaning of the fused `function`."""
    return _Bufferizer(function).run()


class Bufferize(Pass, name="bufferize"):
    """Give every array a buffer: an argument, a mem.alloc, or one that dies where it is read."""

    def run(self, op: Operation) -> None:
        assert isinstance(op, FuncOp)
        op.take_over(bufferize(op))


class _Bufferizer:
    def __init__(self, function: FuncOp) -> None:
        self.old = function
        self.ops = function.body.ops[:-1]
        self.capacities: dict[str, int] = {}
        for op in self.ops:
            bound = getattr(op, "capacity", None)
            if bound is not None:
                self.capacities.update(bound(op))
        self.buffers: dict[Value, Value] = {}
        self.fixed: set[Value] = set()  # buffers of arguments: never written over
        self.last_use = self._last_uses()

    def memref(self, type: TensorType) -> MemRefType:
        return MemRefType(self.static(type.shape), type.dtype)

    def static(self, shape: Any) -> tuple[int, ...]:
        return tuple(self.capacities[n.name] if isinstance(n, Dim) else n for n in shape)

    def root(self, value: Value) -> Value:
        """The value whose buffer `value` shares by being a reshape of it."""
        while value.defining_op is not None and is_alias(value.defining_op):
            value = value.defining_op.operands[0]
        return value

    def _last_uses(self) -> dict[Value, int]:
        last: dict[Value, int] = {}
        for position, op in enumerate(self.old.body.ops):
            for value in (*op.operands, *captured_values(op)):
                last[self.root(value)] = position
        return last

    def run(self) -> FuncOp:
        old = self.old
        arrays = [op for op in self.ops if is_array_constant(op)]
        returned = old.returned
        types = [self.memref(v.type) for v in (*old.args, *returned)]
        hints = [v.hint or f"arg{k}" for k, v in enumerate(old.args)]
        hints += [f"out_{v.hint or k}" for k, v in enumerate(returned)]
        types += [self.memref(op.result.type) for op in arrays]
        new = FuncOp.build(old["sym_name"], types, hints, old.location)
        outs = new.args[len(old.args) : len(old.args) + len(returned)]
        self.buffers.update(zip(old.args, new.args, strict=False))
        for op, arg in zip(arrays, new.args[len(old.args) + len(returned) :], strict=True):
            self.buffers[op.result] = arg
        self.fixed.update(new.args)
        self.builder = Builder(new.body, old.location)
        self._assign_results(returned, outs)
        for position, op in enumerate(self.ops):
            if not is_array_constant(op):
                self.builder.location = op.location
                self.place(op, position)
        for value, out in zip(returned, outs, strict=True):
            source = self.buffers[value]
            if source is not out:
                self.builder.create(Copy, [source, out], {})
        new.finish(())
        new.attributes.update(old.further_attributes())
        if arrays:
            new.attributes["constants"] = tuple(op.attributes["value"] for op in arrays)
        if self.capacities:
            new.attributes["capacities"] = self.capacities
            shapes = [n for v in returned for n in v.type.shape]
            sizes = dict.fromkeys(n.name for n in shapes if isinstance(n, Dim))
            new.attributes["output_sizes"] = tuple(sizes)
        return new

    def _assign_results(self, returned: tuple[Value, ...], outs: list[Value]) -> None:
        """Let returned values be computed right into the output buffers."""
        for value, out in zip(returned, outs, strict=True):
            root = self.root(value)
            if root in self.buffers or root.defining_op is None:
                continue
            if root is value:
                self.buffers[root] = out
            elif self.static(root.type.shape) == root.type.shape:
                self.buffers[root] = self.alias(out, self.memref(root.type))
                self.buffers[value] = out
            else:
                continue
            self.fixed.add(self.buffers[root])
            # What is accumulated onto must start in the same buffer.
            op = root.defining_op
            while isinstance(op, ContractKernel) and op.attributes.get("accumulate"):
                start = op.operands[2]
                if start.num_uses != 1 or start in self.buffers or self.root(start) is not start:
                    break
                if start.defining_op is None or start.type != root.type:
                    break
                self.buffers[start] = self.buffers[root]
                op = start.defining_op

    def alias(self, buffer: Value, type: MemRefType) -> Value:
        if buffer.type == type:
            return buffer
        found: Value = self.builder.create(Alias, [buffer], {"type": type})
        return found

    def place(self, op: Operation, position: int) -> None:
        if is_alias(op):
            source = self.buffers[op.operands[0]]
            known = self.buffers.get(op.result)
            if known is None:
                self.buffers[op.result] = self.alias(source, self.memref(op.result.type))
            return
        outs = [self.output(op, value, position) for value in op.results]
        operands = [self.buffers.get(v, v) for v in op.operands]
        if isinstance(op, ContractKernel) and op.attributes.get("accumulate"):
            if operands[2] is not outs[0]:
                self.builder.create(Copy, [operands[2], outs[0]], {})
                operands[2] = outs[0]
        if isinstance(op, Generic | Fusion | ContractKernel):
            regions = [region.clone(dict(self.buffers)) for region in op.regions]
            self.builder.create(type(op), [*operands, *outs], op.attributes, regions)
        else:
            attributes = {
                "op": op.name,
                "attributes": dict(op.attributes),
                "outputs": len(outs),
                "shapes": tuple(v.type.shape for v in op.operands),
            }
            self.builder.create(Apply, [*operands, *outs], attributes)

    def output(self, op: Operation, value: Value, position: int) -> Value:
        found = self.buffers.get(value)
        if found is None:
            found = self.dying_operand(op, value, position)
            if found is None:
                found = self.builder.create(Alloc, [], {"type": self.memref(value.type)})
            found.hint = value.hint
            self.buffers[value] = found
        return found

    def dying_operand(self, op: Operation, value: Value, position: int) -> Value | None:
        """The buffer of an operand that this operation may write over."""
        candidates: list[Value] = []
        if isinstance(op, ContractKernel) and op.attributes.get("accumulate"):
            candidates = [op.operands[2]]
        elif isinstance(op, Generic):
            combine, map = op["outputs"][value.index]
            if not combine and map.is_identity:
                candidates = [v for v in captured_values(op) if _read_at_point_only(op, v)]
        taken = {self.buffers[r] for r in op.results if r in self.buffers}
        for operand in candidates:
            buffer = self.buffers[operand]
            dies = self.last_use[self.root(operand)] == position
            owned = buffer not in self.fixed and isinstance(buffer.owner, Alloc)
            if dies and owned and buffer not in taken and buffer.type == self.memref(value.type):
                return buffer
        return None


def is_alias(op: Operation) -> bool:
    """Shape operations that fuse has left: the same row-major elements under a new shape."""
    return isinstance(op, Shape) and op.keeps_order


def is_array_constant(op: Operation) -> bool:
    return isinstance(op, Constant) and isinstance(op["value"], np.ndarray)


def _read_at_point_only(op: Operation, value: Value) -> bool:
    """Does every load of `value` in the kernel read the element at the point itself?"""
    for inner in op.walk():
        if value in inner.operands:
            if not isinstance(inner, Load) or inner.attributes.get("checked"):
                return False
            if inner["map"].symbols or inner.access() != tuple(range(inner["map"].dims)):
                return False
    return True
