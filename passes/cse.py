"""Common subexpressions: equal operations on equal operands become one."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from typing import Any

import numpy as np

from gradc.ir.core import Block, Operation
from gradc.passes.dce import has_effects
from gradc.passes.manager import Pass

Table = MutableMapping[Any, Operation]


def frozen(attribute: Any) -> Any:
    """A hashable key, equal exactly when two attributes are the same, -0.0 and NaN included."""
    if isinstance(attribute, dict):
        return tuple(sorted((name, frozen(value)) for name, value in attribute.items()))
    if isinstance(attribute, tuple):
        return ("tuple", *map(frozen, attribute))
    if isinstance(attribute, np.ndarray):
        return (attribute.dtype.str, attribute.shape, attribute.tobytes())
    if isinstance(attribute, bool | int | float | complex):
        return (type(attribute).__name__, repr(attribute))
    return attribute


def structural_key(op: Operation) -> Any:
    """What two operations without regions share when they compute the same."""
    operands = [id(value) for value in op.operands]
    if getattr(op, "commutative", False):
        operands.sort()
    attributes = frozen(op.attributes) if op.attributes else ()
    return (op.name, *operands, attributes)


def cse(op: Operation) -> bool:
    """Merge common subexpressions in the regions of `op`; whether anything changed.

    Values from outside are seen in nested regions, but not those of sibling regions. The first of
    several equal operations stays.
    """
    return _cse_regions(op, {})


def _cse_regions(op: Operation, table: Table) -> bool:
    changed = False
    for region in op.regions:
        for block in region.blocks:
            inner: Table = {} if getattr(op, "isolated", False) else ChainMap({}, table)
            changed |= _cse_block(block, inner)
    return changed


def _cse_block(block: Block, table: Table) -> bool:
    changed = False
    kept = []
    for op in block.ops:
        if op.regions:
            changed |= _cse_regions(op, table)
        elif op.results and not has_effects(op):
            key = structural_key(op)
            first = table.setdefault(key, op)
            if first is not op:
                for old, new in zip(op.results, first.results, strict=True):
                    old.replace_by(new)
                op.drop_uses()
                op.parent = None
                continue
        kept.append(op)
    if len(kept) < len(block.ops):
        block.replace_ops(kept)
        changed = True
    return changed


class CommonSubexpressions(Pass, name="cse"):
    """Merge equal operations."""

    def run(self, op: Operation) -> None:
        cse(op)
