"""Pass `fuse`: tensor operations become kernels.

1. Which values get an array (`materialize.py`): results, operands of operations that need whole
   arrays, reductions, and values that would be computed too often.
2. Each such value is a root with an iteration domain; independent roots over one domain that share
   data become one `kernel.generic` whose body computes common parts once.
3. An expensive value that several kernels compute is stored by the first of them.
4. Kernels that agree on the outer loop, each reading of the others only what the same outer
   iteration wrote, go into one `kernel.fusion` (`group.py`); lowering merges their loops.

In: a func.func of tensor operations, after canonicalize, cse and dce. Out: the same function in
kernels; operations that are no kernels (library calls, scans, scatters) stay as they are. Values
change only by the order of additions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradc.ir.affine import AffineMap
from gradc.ir.core import Operation, Region, Value
from gradc.ir.ops.func import FuncOp
from gradc.ir.ops.kernel import Generic
from gradc.ir.types import Dim
from gradc.passes.contractions import normalize_contractions
from gradc.passes.dce import symbolic_sizes
from gradc.passes.group import Node, group_kernels, in_order
from gradc.passes.inline import BodyWriter, identity_index
from gradc.passes.manager import Pass
from gradc.passes.materialize import EXPENSIVE, MOST_WORK, Arrays, is_root_op, work_of


class Fuser:
    def __init__(self, function: FuncOp) -> None:
        self.function = function
        self.arrays = Arrays(function)
        self.producer: dict[Value, Node] = {}
        self.nodes: list[Node] = []
        self.births: dict[Dim, Value] = {}  # a result of the operation that gives a run-time size

    def run(self) -> None:
        for op in self.function.body.ops[:-1]:
            self.place_op(op)
            for size in symbolic_sizes(op.results) - symbolic_sizes(op.operands):
                if op.operands:  # a constant has a size, but does not give it
                    self.births.setdefault(size, op.results[0])
        self.nodes = in_order(self.nodes, lambda node: node.ancestors)
        for node in self.nodes:
            self.write(node)
        self.share_expensive()
        self.emit()

    # ------------------------------------------------------------------ nodes

    def place_op(self, op: Operation) -> None:
        arrays = self.arrays
        if arrays.is_kept(op):
            node = Node(list(op.results), op=op)
            node.inputs = set(arrays.reads_of_kept(op))
            loops = getattr(op, "loops", None)
            if loops is not None:
                node.sizes, node.reads, written = loops(op)
                node.writes = {op.result: written}
            self.add(node, self.births_of([*op.results, *op.operands]))
            return
        for value in op.results:
            if value in arrays.roots:
                self.add_root(value, op)

    def add_root(self, value: Value, op: Operation) -> None:
        sizes = arrays_domain(op)
        inputs = self.arrays.loads_of_root(value)
        births = self.births_of([value, *op.operands])
        body = self.arrays.cone(op.operands) | {op}
        for node in reversed(self.nodes):
            if node.op is not None or node.sizes != sizes:
                continue
            if work_of(node.body | body) > MOST_WORK:
                continue
            if self.joins(node, op, inputs, births):
                node.body |= body
                rest = inputs - set(node.roots)
                node.roots.append(value)
                node.inputs |= rest
                self.producer[value] = node
                self.extend_ancestors(node, self.ancestors(rest | births))
                return
        self.add(Node([value], sizes, inputs=inputs, body=body), births)

    def births_of(self, values: Iterable[Value]) -> set[Value]:
        """What must be computed before the run-time sizes of these values are known."""
        return {self.births[size] for size in symbolic_sizes(values) if size in self.births}

    def joins(self, node: Node, op: Operation, inputs: set[Value], births: set[Value]) -> bool:
        """May a root of operation `op` be computed in `node`'s nest, and is that of use?"""
        own = inputs & set(node.roots)
        rest = self.ancestors((inputs - own) | births)
        # Merging must not put a node before one that it needs.
        if node in rest or any(node in other.ancestors for other in rest):
            return False
        if own:
            # Values of this very nest are at hand only at the same point of the domain.
            if any(is_root_op(v.defining_op) for v in own):  # type: ignore[arg-type]
                return False
            writer = BodyWriter(node.sizes, lambda v: v in self.arrays and v not in own)
            root_scalar(writer, op)
            writer.discard()
            whole = [(identity_index(writer.rank), True)]
            # A gather reads an array whatever is at hand.
            return not own & set(writer.loaded) and all(writer.written.get(v) == whole for v in own)
        return not node.sizes or any(v.type.rank > 0 for v in inputs & node.inputs)

    def add(self, node: Node, births: set[Value]) -> None:
        node.ancestors = self.ancestors(node.inputs | births)
        if node.op is not None and self.has_effects(node.op):
            # Effects keep their order among themselves.
            for other in self.nodes:
                if other.op is not None and self.has_effects(other.op):
                    node.ancestors |= {other, *other.ancestors}
        for value in node.roots:
            self.producer[value] = node
        self.nodes.append(node)

    @staticmethod
    def has_effects(op: Operation) -> bool:
        return any(getattr(inner, "effects", True) for inner in op.walk())

    def ancestors(self, inputs: set[Value]) -> set[Node]:
        found: set[Node] = set()
        for value in inputs:
            node = self.producer.get(value)
            if node is not None and node not in found:
                found.add(node)
                found |= node.ancestors
        return found

    def extend_ancestors(self, node: Node, ancestors: set[Node]) -> None:
        new = ancestors - node.ancestors
        if new:
            node.ancestors |= new
            for other in self.nodes:
                if node in other.ancestors:
                    other.ancestors |= new

    # ------------------------------------------------------------------ bodies

    def write(self, node: Node) -> None:
        """(Re)write a kernel's body from its roots."""
        if node.op is not None:
            return
        writer = BodyWriter(node.sizes, lambda v: v in self.arrays and v not in node.roots)
        scalars = []
        outputs = []
        for value in node.roots:
            op = value.defining_op
            assert op is not None
            scalar, combine, map = root_scalar(writer, op)
            scalars.append(scalar)
            outputs.append((combine, map))
        block = writer.finish(scalars)
        attributes = {"sizes": node.sizes, "outputs": tuple(outputs)}
        types = [v.type for v in node.roots]
        location = node.roots[-1].defining_op.location  # type: ignore[union-attr]
        if node.kernel is not None:
            node.kernel.drop_all_uses()
        node.kernel = Generic((), types, attributes, [Region([block])], location)
        node.writer = writer
        node.inputs = set(writer.loaded)
        node.reads = node.kernel.reads()
        node.writes = {v: map.as_dims for v, (_, map) in zip(node.roots, outputs, strict=True)}

    def share_expensive(self) -> None:
        """Store an expensive value once where several kernels would compute it.

        One sweep from the last operation to the first: which kernels compute a value follows from
        those that compute its users, unless these now load it.
        """
        kernels = [n for n in self.nodes if n.writer is not None]
        needs: dict[Value, dict[Node, None]] = {}

        def need(values: Iterable[Value], node: Node) -> None:
            for value in values:
                needs.setdefault(value, {})[node] = None

        place = {node: k for k, node in enumerate(kernels)}
        changed: set[Node] = set()
        for node in kernels:
            for root in node.roots:
                need([root], node)
        for op in reversed(self.function.body.ops[:-1]):
            for value in op.results:
                nodes = sorted(needs.get(value, ()), key=place.__getitem__)
                if value not in self.arrays and self.is_shared(value, nodes):
                    first, *others = nodes
                    first.roots.append(value)
                    self.arrays.add(value)
                    self.producer[value] = first
                    changed.update(nodes)
                    for node in others:
                        # From an earlier kernel to a later one: this makes no cycle.
                        self.extend_ancestors(node, {first, *first.ancestors})
                for node in nodes:
                    if value not in self.arrays or value in node.roots:
                        need(op.operands, node)
        for node in kernels:
            if node in changed:
                self.write(node)

    def is_shared(self, value: Value, nodes: list[Node]) -> bool:
        """Should the first of these kernels store a value that all of them compute?"""
        if len(nodes) < 2 or self.arrays.cost(value) < EXPENSIVE:
            return False
        writer = nodes[0].writer
        assert writer is not None
        whole = (identity_index(writer.rank), True)
        fits = value.type.shape == nodes[0].sizes
        return fits and whole in writer.written.get(value, ())

    # ------------------------------------------------------------------ emission

    def emit(self) -> None:
        """Replace the function's body by the kernels, grouped by outer loops."""
        body = self.function.body
        terminator = body.terminator
        dropped = [op for op in body.ops[:-1] if not self.arrays.is_kept(op)]
        replaced: dict[Value, Value] = {}
        for node in self.nodes:
            if node.kernel is not None:
                replaced.update(zip(node.roots, node.kernel.results, strict=True))
        for old, new in replaced.items():
            new.hint = old.hint
        for op in dropped:
            op.drop_uses()
        for old, new in replaced.items():
            old.replace_by(new)
        new_ops = group_kernels(self.nodes, terminator)
        body.replace_ops([*new_ops, terminator])


def arrays_domain(op: Operation) -> tuple[Any, ...]:
    """The iteration domain of a root: of a reduction its operand's shape, else its own."""
    kind = op.lowering  # type: ignore[attr-defined]
    if kind == "reduce":
        return op.operands[0].type.shape
    if kind == "einsum":
        return op.attributes["domain"]
    return op.result.type.shape


def root_scalar(writer: BodyWriter, op: Operation) -> tuple[Value, str, AffineMap]:
    """The scalar that a root yields, how it is combined, and where it goes."""
    rank = writer.rank
    whole = identity_index(rank)
    kind = op.lowering  # type: ignore[attr-defined]
    if kind == "reduce":
        axes = op.attributes["axes"]
        kept = [k for k in range(rank) if k not in axes]
        scalar = writer.scalar(op.operands[0], whole)
        return scalar, op.combine, AffineMap.select(kept, rank)  # type: ignore[attr-defined]
    if kind == "einsum":
        x, y = (
            writer.scalar(v, tuple(whole[d] for d in dims))
            for v, dims in zip(op.operands, op.attributes["dims"], strict=True)
        )
        writer.builder.location = op.location
        combine = "add" if len(op.attributes["result"]) < rank else ""
        return writer.builder.mul(x, y), combine, AffineMap.select(op.attributes["result"], rank)
    return writer.scalar(op.result, whole), "", AffineMap.identity(rank)


def fuse(function: FuncOp) -> None:
    """Turn the tensor operations of `function` into kernels, in place."""
    normalize_contractions(function)
    Fuser(function).run()


class Fuse(Pass, name="fuse"):
    """Turn tensor operations into kernels; those that can share their outer loop into fusions."""

    def run(self, op: Operation) -> None:
        assert isinstance(op, FuncOp)
        fuse(op)
