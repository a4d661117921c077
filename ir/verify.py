"""The verifier: what holds for every valid program.

- structure: parent links, use lists, one block in a region, a terminator at the end of a block
- visibility: an operand is defined before its use, in the same block or around it; the regions of
  an isolated operation (a function) see nothing from outside
- attributes are immutable Python values of the kinds that core.py lists
- types: each operation's results have the types that its type rule `infer` gives, the very function
  that the builder calls; then its `verify`, where it has one

`verify` raises VerificationError on the first violation; it changes nothing.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from gradc.ir.affine import AffineMap
from gradc.ir.core import Block, OpaqueAttribute, Operation, Region, Symbol, TypedNumber, Value
from gradc.ir.diagnostic import IRError, TypeRuleError, VerificationError
from gradc.ir.opdef import Op
from gradc.ir.ops.func import FuncOp
from gradc.ir.printer import short_text, types_text
from gradc.ir.types import Dim, Type

_PLAIN = (bool, int, float, complex, str, type(None))
_KINDS = (Type, AffineMap, Symbol, TypedNumber, OpaqueAttribute, Dim)


def verify(op: Operation) -> None:
    """Check `op` and everything in it; VerificationError with the operation at fault otherwise.

    Operations outside `op` are not checked; values that `op` takes from there count as visible.
    """
    visible: set[Value] = set()
    if not _is_isolated(op):
        visible.update(_outer_values(op))
    visible.update(op.operands)
    _verify_op(op, visible)


def _is_isolated(op: Operation) -> bool:
    return bool(getattr(op, "isolated", False))


def _verify_sizes(op: Operation) -> None:
    """A run-time size is born once: two sizes of one name would count as equal."""
    born: set[str] = set()
    for inner in op.walk():
        if isinstance(inner, Op) and inner.capacity is not None:
            for name in inner.capacity(inner):
                if name in born:
                    raise VerificationError(
                        f"{inner.name}: the size {name!r} is defined twice: give each its own name",
                        inner,
                    )
                born.add(name)


def _outer_values(op: Operation) -> set[Value]:
    """Values defined before `op`, in its block and the blocks around it."""
    found: set[Value] = set()
    block = op.parent
    at: Operation | None = op
    while block is not None and at is not None:
        found.update(block.args)
        for before in block.ops:
            if before is at:
                break
            found.update(before.results)
        if block.parent_op is None or _is_isolated(block.parent_op):
            break
        at, block = block.parent_op, block.parent_op.parent
    return found


def _verify_op(op: Operation, visible: set[Value]) -> None:
    _verify_links(op)
    for k, value in enumerate(op.operands):
        if value not in visible:
            raise VerificationError(
                f"{op.name}: expected operand {k} to be defined before its use and visible here, "
                f"got a value of {_origin(value)}",
                op,
            )
    for key, value in op.attributes.items():
        _verify_attribute(op, key, value)
    if isinstance(op, FuncOp):
        _verify_sizes(op)
    inner = set() if _is_isolated(op) else visible
    for region in op.regions:
        _verify_region(op, region, inner)
    if isinstance(op, Op):
        _verify_rule(op)


def _origin(value: Value) -> str:
    if isinstance(value.owner, Operation):
        place = f" at {value.owner.location}" if value.owner.location else ""
        return f"{value.owner.name}{place}"
    return f"block argument {value.index}"


def _verify_links(op: Operation) -> None:
    for k, value in enumerate(op.results):
        if value.owner is not op or value.index != k:
            raise VerificationError(f"{op.name}: result {k} does not belong to its operation", op)
        for user, count in value.users.items():
            if user.operands.count(value) != count:
                raise VerificationError(
                    f"{op.name}: result {k} lists {count} uses in {user.name}, expected "
                    f"{user.operands.count(value)}",
                    op,
                )
    for k, value in enumerate(op.operands):
        expected = op.operands.count(value)
        if value.users.get(op, 0) != expected:
            raise VerificationError(
                f"{op.name}: expected operand {k} to list {expected} uses here, got "
                f"{value.users.get(op, 0)}",
                op,
            )
    for number, region in enumerate(op.regions):
        if region.parent is not op:
            raise VerificationError(f"{op.name}: region {number} has another parent", op)


def _verify_region(op: Operation, region: Region, visible: set[Value]) -> None:
    rules = op if isinstance(op, Op) else None
    if rules is not None and len(region.blocks) != 1:
        if not region.blocks and rules.optional_regions:
            return
        raise VerificationError(
            f"{op.name}: expected one block in each region, got {len(region.blocks)}", op
        )
    for block in region.blocks:
        if block.parent is not region:
            raise VerificationError(f"{op.name}: a block has another parent", op)
        for k, value in enumerate(block.args):
            if value.owner is not block or value.index != k:
                raise VerificationError(f"{op.name}: block argument {k} belongs elsewhere", op)
        if rules is not None and not rules.no_terminator:
            _verify_terminator(op, block)
        defined: list[Value] = list(block.args)
        visible.update(defined)
        for inner in block.ops:
            if inner.parent is not block:
                raise VerificationError(f"{inner.name}: the operation has another parent", inner)
            if getattr(inner, "is_terminator", False) and inner is not block.ops[-1]:
                raise VerificationError(
                    f"{inner.name}: expected the terminator to be last in its block", inner
                )
            _verify_op(inner, visible)
            defined += inner.results
            visible.update(inner.results)
        visible.difference_update(defined)


def _verify_terminator(op: Operation, block: Block) -> None:
    if not block.ops:
        raise VerificationError(f"{op.name}: expected a terminator, got an empty block", op)
    last = block.ops[-1]
    if isinstance(last, Op) and not last.is_terminator:
        raise VerificationError(
            f"{op.name}: expected its block to end with a terminator, got {last.name}", last
        )


def _verify_attribute(op: Operation, key: str, value: Any) -> None:
    if type(value) in _PLAIN or isinstance(value, _KINDS):
        return
    if isinstance(value, tuple):
        for part in value:
            _verify_attribute(op, key, part)
        return
    if isinstance(value, dict):
        for part in value.values():
            _verify_attribute(op, key, part)
        return
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            raise VerificationError(
                f"{op.name}: expected the array in attribute `{key}` to be read-only", op
            )
        return
    raise VerificationError(
        f"{op.name}: expected attribute `{key}` to be an immutable attribute value, got {value!r} "
        f"of type {type(value).__name__}",
        op,
    )


def _verify_rule(op: Op) -> None:
    """The type rule on the operation as it stands, then its own further checks."""
    try:
        expected = type(op).result_types(op.operands, op.attributes, op.regions)
    except TypeRuleError as error:
        raise VerificationError(f"{op.name}: {error}", op) from error
    except IRError:
        raise
    except Exception as error:
        # A rule may trip over operands or attributes it never meets when built from Python.
        raise VerificationError(f"{op.name}: {_misfit(op, error)}", op) from error
    got = tuple(v.type for v in op.results)
    if expected != got:
        raise VerificationError(
            f"{op.name}: expected result types {types_text(expected)}, got {types_text(got)}", op
        )
    if op.verify is not None:
        try:
            op.verify(op)
        except TypeRuleError as error:
            raise VerificationError(f"{op.name}: {error}", op) from error


def _misfit(op: Op, error: Exception) -> str:
    """What is wrong with an operation whose type rule could not even run."""
    parameters = inspect.signature(op.infer).parameters.values()
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    named = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "regions"]
    open_ended = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not open_ended and len(op.operands) != len(positional):
        return f"expected {len(positional)} operands, got {len(op.operands)}"
    missing = [p.name for p in named if p.default is p.empty and p.name not in op.attributes]
    if missing:
        return f"expected the attribute{'s' * (len(missing) > 1)} {', '.join(missing)}, got none"
    known = [p.name for p in named]
    unknown = [key for key in op.attributes if key not in known]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        listed = ", ".join(known) or "none"
        return f"expected no attribute `{unknown[0]}`: its attributes are {listed}"
    shown = ", ".join(f"{k} = {short_text(v)}" for k, v in op.attributes.items())
    types = ", ".join(str(v.type) for v in op.operands)
    return f"the type rule fails for operands ({types}) with attributes {{{shown}}}: {error}"
