"""The pattern driver: local rewrites of operations, shared by canonicalize and stabilize.

A pattern is a function (b, op) -> list of values that replace the operation's results, or None. It
reads the operation and what its operands are computed from, and builds new operations through `b`.

Definitions stand before their uses, so one forward sweep that offers each new operation to the
patterns again reaches the fixpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import Block, Operation, Value
from gradc.ir.diagnostic import IRError

Pattern = Callable[[Any, Any], Sequence[Value] | None]

# Rewrites that one operation of the source may set off before we call the patterns circular.
LIMIT = 1000


def rewrite(op: Operation, patterns: Sequence[Pattern]) -> bool:
    """Apply patterns in all regions of `op` until none applies; whether anything changed.

    Operations that are no longer used are left for dce.
    """
    changed = False
    for region in op.regions:
        for block in region.blocks:
            changed |= _rewrite_block(block, patterns)
    return changed


def _rewrite_block(block: Block, patterns: Sequence[Pattern]) -> bool:
    changed = False
    done: list[Operation] = []
    scratch = Block()
    scratch.parent = block.parent
    builder = Builder(scratch)
    for source in block.ops:
        pending = [source]
        budget = LIMIT
        while pending:
            op = pending.pop()
            found = _first_match(builder, op, patterns)
            if found is None:
                scratch.ops.clear()
                changed |= rewrite(op, patterns) if op.regions else False
                op.parent = block
                done.append(op)
                continue
            changed = True
            budget -= 1
            if budget == 0:
                raise IRError(f"rewrites of {source.name} do not come to an end", source)
            _replace(op, found)
            pending.extend(reversed(scratch.ops))
            scratch.ops.clear()
    if changed:
        block.replace_ops(done)
    return changed


def _first_match(b: Builder, op: Operation, patterns: Sequence[Pattern]) -> Sequence[Value] | None:
    b.location = op.location
    for pattern in patterns:
        found = pattern(b, op)
        if found is not None:
            return found
        for leftover in reversed(b.block.ops):
            leftover.drop_all_uses()
        b.block.ops.clear()
    return None


def _replace(op: Operation, values: Sequence[Value]) -> None:
    if [v.type for v in values] != [v.type for v in op.results]:
        raise IRError(
            f"a rewrite of {op.name} changes its type: expected "
            f"{[v.type for v in op.results]}, got {[v.type for v in values]}",
            op,
        )
    for old, new in zip(op.results, values, strict=True):
        old.replace_by(new)
    op.drop_all_uses()
    op.parent = None
