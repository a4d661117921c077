"""Dead code elimination: removes operations whose results nobody uses. Effects are kept."""

from __future__ import annotations

from collections.abc import Iterable

from gradc.ir.core import Block, Operation, Value
from gradc.ir.types import Dim, TensorType
from gradc.passes.manager import Pass


def has_effects(op: Operation) -> bool:
    """Whether the operation, or one nested in it, does more than compute its results.

    Unregistered operations may do anything. Terminators of nested blocks only hand values on.
    """
    if op.regions:
        if not getattr(op, "results", ()) or getattr(op, "effects", True):
            return True
        return any(
            has_effects(inner)
            for region in op.regions
            for block in region.blocks
            for inner in (block.ops if getattr(op, "no_terminator", False) else block.ops[:-1])
        )
    return getattr(op, "effects", True)


def symbolic_sizes(values: Iterable[Value]) -> set[Dim]:
    """The sizes in the values' types that are known at run time only."""
    found: set[Dim] = set()
    for value in values:
        t = value.type
        if isinstance(t, TensorType) and not t.is_static:
            found.update(n for n in t.shape if isinstance(n, Dim))
    return found


def remove_dead_ops(block: Block, sizes: set[Dim] | None = None) -> bool:
    """Remove dead operations of a block and of its regions; whether there were any.

    An operation that gives birth to a size stays as long as a later type says that size; `sizes`
    are those said after the block.
    """
    sizes = set() if sizes is None else sizes
    kept: list[Operation] = []
    for op in reversed(block.ops):
        used = op is block.ops[-1] or any(value.users for value in op.results)
        said = symbolic_sizes(value for inner in op.walk() for value in inner.results)
        born = said - symbolic_sizes(op.operands) if said and op.operands else set()
        if not used and not (born & sizes) and not has_effects(op):
            op.drop_all_uses()
            op.parent = None
        else:
            kept.append(op)
            sizes |= said
    changed = len(kept) < len(block.ops)
    if changed:
        kept.reverse()
        block.replace_ops(kept)
    for op in kept:
        for region in op.regions:
            for inner in region.blocks:
                changed |= remove_dead_ops(inner, set(sizes))
    return changed


def dce(op: Operation) -> bool:
    """Remove dead operations in the regions of `op`; whether anything changed."""
    changed = False
    for region in op.regions:
        for block in region.blocks:
            changed |= remove_dead_ops(block)
    return changed


class DeadCode(Pass, name="dce"):
    """Remove operations without effects whose results are not used."""

    def run(self, op: Operation) -> None:
        dce(op)
