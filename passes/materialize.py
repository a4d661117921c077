"""Which values of a function get an array of their own when it is cut into kernels.

The cost model, in arithmetic operations an element (`Op.cost`): a value is computed inside its
consumers while that is cheap; it gets an array when something needs it whole, or when recomputing
it would cost more than writing and reading it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.ops.func import FuncOp
from gradc.passes.inline import is_inlined

# A load or store of an element costs about as much as eight arithmetic operations once it misses
# the cache. A value at least this costly is stored rather than computed in a second kernel,
EXPENSIVE = 16
# or for every element of a broadcast result.
EXPENSIVE_BROADCAST = 6
# Stencils: how often one kernel may compute a value at different places.
MOST_PLACES = 4
# The most arithmetic operations in a kernel's body: beyond it registers spill and the compile time
# of a loop grows faster than its size.
MOST_WORK = 800


class Arrays:
    """The values with arrays: arguments, results of kept operations, and roots of kernels."""

    def __init__(self, function: FuncOp) -> None:
        self.roots: set[Value] = set()
        self.order: dict[Value, int] = {}
        self._whole: set[Value] = set(function.args)
        self._cone: dict[Value, int] = {}
        self._with_cost: dict[int, int] = {}
        ops = function.body.ops
        self._position = {op: k for k, op in enumerate(ops)}
        for op in ops[:-1]:
            for value in op.results:
                self.order[value] = len(self.order)
        self._require(ops)
        self._bound_places(ops)
        self._bound_cost(ops)

    def __contains__(self, value: Value) -> bool:
        return value in self._whole or value in self.roots

    def add(self, value: Value) -> None:
        self.roots.add(value)

    def is_kept(self, op: Operation) -> bool:
        """Operations that do not become part of a kernel.generic."""
        return not is_inlined(op) and not is_root_op(op)

    def reads_of_kept(self, op: Operation) -> list[Value]:
        return list(op.operands) + captured_values(op)

    def loads_of_root(self, value: Value) -> set[Value]:
        """The arrays that a root's body reads, found by walking its operations."""
        op = value.defining_op
        assert op is not None
        found: set[Value] = set()
        seen: set[Value] = set()
        stack = list(op.operands)
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in self:
                found.add(current)
            else:
                inner = current.defining_op
                assert inner is not None
                stack.extend(inner.operands)
        return found

    def cost(self, value: Value) -> int:
        """Operations to compute one element from arrays."""
        return work_of(self.cone([value]))

    def cone(self, values: Sequence[Value]) -> set[Operation]:
        """The operations that compute one element of each value from arrays."""
        seen: set[Operation] = set()
        stack = [v.defining_op for v in values if v not in self]
        while stack:
            op = stack.pop()
            if op is None or op in seen or not is_inlined(op):
                continue
            seen.add(op)
            stack.extend(v.defining_op for v in op.operands if v not in self)
        return seen

    # ------------------------------------------------------------------ decisions

    def _require(self, ops: list[Operation]) -> None:
        """Values that something needs whole."""
        for op in ops:
            if op is ops[-1] or self.is_kept(op):
                self._whole.update(op.results)
                for value in self.reads_of_kept(op):
                    self._make_root(value)
            elif is_root_op(op):
                self.roots.update(op.results)
            elif op.lowering == "gather" or (op.lowering == "shape" and op.checked(op)):  # type: ignore[attr-defined]
                self._make_root(op.operands[0])

    def _make_root(self, value: Value) -> None:
        op = value.defining_op
        if op is not None and value not in self._whole and is_inlined(op):
            self.roots.add(value)

    def _bound_places(self, ops: list[Operation]) -> None:
        """Bound at how many places one kernel computes a value (backwards from the roots)."""
        places: dict[Value, set[tuple[int, ...]]] = {}
        for position in range(len(ops) - 2, -1, -1):
            op = ops[position]
            if not is_inlined(op) and not is_root_op(op):
                continue
            own: set[tuple[int, ...]] = set()
            for value in op.results:
                own |= places.get(value, set())
                if value in self.roots:
                    own = {()}
                elif len(own) > MOST_PLACES and not self._is_trivial(op):
                    self.roots.add(value)
                    own = {()}
            moves = op.lowering == "shape" and not _grows(op)  # type: ignore[attr-defined]
            if moves or op.lowering == "gather":  # type: ignore[attr-defined]
                own = {(*place, position) for place in own}
            for value in op.operands:
                places.setdefault(value, set()).update(own)

    @staticmethod
    def _is_trivial(op: Operation) -> bool:
        return op.lowering in ("creation", "shape")  # type: ignore[attr-defined]

    def _bound_cost(self, ops: list[Operation]) -> None:
        """Give arrays to expensive operands of broadcasts and to values with huge bodies."""
        for op in ops[:-1]:
            if not is_inlined(op):
                continue
            if op.lowering == "shape" and op.operands:  # type: ignore[attr-defined]
                source = op.operands[0]
                if _grows(op) and self.cost(source) >= EXPENSIVE_BROADCAST:
                    self._make_root(source)
            value = op.result
            cone = self._own_cone(op)
            same = self._with_cost.get(op.cost, 0)  # type: ignore[attr-defined]
            self._with_cost[op.cost] = same | 1 << self._position[op]  # type: ignore[attr-defined]
            work = sum(c * (cone & ops).bit_count() for c, ops in self._with_cost.items())
            if work > MOST_WORK and not self._is_trivial(op):
                self.roots.add(value)
            self._cone[value] = cone

    def _own_cone(self, op: Operation) -> int:
        """Bits of the operations that compute the op's result from arrays."""
        bits = 1 << self._position[op]
        for value in op.operands:
            if value not in self:
                bits |= self._cone.get(value, 0)
        return bits


def work_of(ops: Iterable[Operation]) -> int:
    """Arithmetic operations of one element."""
    return sum(op.cost for op in ops)  # type: ignore[attr-defined]


def is_root_op(op: Operation) -> bool:
    """Operations that become the reducing root of a kernel."""
    return op.lowering in ("reduce", "einsum")  # type: ignore[attr-defined]


def _grows(op: Operation) -> bool:
    """Does a shape operation repeat elements (more than the border of a pad does)?"""
    mine, source = op.result.type, op.operands[0].type
    if mine.is_static and source.is_static:
        return bool(mine.size >= 2 * source.size)
    return bool(mine.rank > source.rank)
