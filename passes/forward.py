"""Tangents: the pushforward of each operation, derived from its derivative rule.

A rule maps the cotangents of the results linearly to those of the operands. Its transpose maps
tangents of the operands to tangents of the results, so we write the rule's operations for a
placeholder cotangent, walk them backwards with the chain rule's own driver, and throw the
placeholder's operations away. There is no second set of rules. Operations that are linear (add,
reshape, slice, ...) simply apply to the tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.builder import Builder
from gradc.ir.core import UNKNOWN, Block, Operation, Value
from gradc.ir.diagnostic import IRError
from gradc.ir.opdef import Accumulate
from gradc.ir.ops.func import FuncOp, ModuleOp, copy_function
from gradc.passes.activity import analyse, carries_gradient, is_cut
from gradc.passes.adjoint import transpose
from gradc.passes.backward import check_inputs, input_numbers
from gradc.passes.canonicalize import canonicalize
from gradc.passes.dce import dce, has_effects
from gradc.passes.manager import Pass

ROLE = "forward"
Tangents = dict[Value, Value]


def push(b: Builder, op: Any, tangents: Tangents, active: set[Value]) -> None:
    """Extend `tangents` by those of the results of `op`, for the results that are active.

    `b` writes behind `op`. An operation with regions brings its own rule: push(b, op, tangents,
    active).
    """
    if op.regions:
        if op.push is None:
            raise IRError(f"{op.name} has no forward rule, so it cannot be differentiated", op)
        op.push(b, op, tangents, active)
        return
    if op.vjp is None:
        raise IRError(f"{op.name} has no derivative rule, so it cannot be differentiated", op)
    if op.linear and _moves_alone(op, tangents):
        operands = [_tangent_or_zero(b, value, tangents) for value in op.operands]
        tangents[op.result] = b.create(type(op), operands, op.attributes)
        return
    _push_by_transposition(b, op, tangents, active)


def _moves_alone(op: Any, tangents: Tangents) -> bool:
    """Whether a linear operation applies to the tangents as it is, without zeros to add."""
    if op.lowering != "elementwise":
        return True
    return all(value in tangents for value in op.operands if carries_gradient(value))


def _tangent_or_zero(b: Builder, value: Value, tangents: Tangents) -> Value:
    if not carries_gradient(value):
        return value
    found = tangents.get(value)
    return b.zeros(value.type) if found is None else found


def _push_by_transposition(b: Builder, op: Any, tangents: Tangents, active: set[Value]) -> None:
    placeholders = [Value(value.type, Block(), k) for k, value in enumerate(op.results)]
    start = len(b.block.ops)
    entries = op.vjp(b, op, *placeholders)
    seeds = []
    for value, entry in zip(op.operands, entries, strict=True):
        tangent = tangents.get(value)
        if tangent is None or entry is None:
            continue
        if isinstance(entry, Accumulate):
            entry = entry.add(b, b.zeros(value.type))
        if entry.type != value.type:
            raise IRError(
                f"the rule of {op.name} gives a cotangent of the wrong type: expected "
                f"{value.type}, got {entry.type}",
                op,
            )
        seeds.append((entry, tangent))
    rule = b.block.ops[start:]
    found = transpose(b, rule, seeds, placeholders, ROLE)
    _drop_dead(b.block, start, found)
    for value in placeholders:
        for user in value.users:
            raise IRError(f"the rule of {op.name} is not linear in the cotangent: {user.name}", op)
    for value, tangent in zip(op.results, found, strict=True):
        if tangent is not None and value in active:
            tangents[value] = tangent


def _drop_dead(block: Block, start: int, results: Sequence[Value | None]) -> None:
    """Remove what `results` do not need from the operations after `start`: the rule's own."""
    wanted = set(results)
    kept = []
    for op in reversed(block.ops[start:]):
        if any(value.users or value in wanted for value in op.results) or has_effects(op):
            kept.append(op)
        else:
            op.drop_all_uses()
            op.parent = None
    block.ops[start:] = reversed(kept)


def pushforward(function: FuncOp, wrt: Sequence[int], *, name: str) -> FuncOp:
    """A function that returns `function`'s values and their tangents.

    The result takes the inputs of `function`, then one tangent for each entry of `wrt`, of the
    input's type. It returns the values, then one tangent for each floating or complex value, in
    order, zero where nothing flows. It is plain IR and may be differentiated again.

    Raises NotDifferentiableInput for an input that carries no gradient, IRError for an operation
    without a rule.
    """
    check_inputs(function, wrt)
    new = copy_function(function, name)
    *ops, returned = new.body.ops
    values = returned.operands
    returned.drop_uses()
    sources = [new.args[k] for k in wrt]
    active = analyse(ops, sources, values).active
    tangents: Tangents = {}
    b = Builder(new.body)
    for k, value in zip(wrt, sources, strict=True):
        hint = f"{value.hint}_tangent" if value.hint else f"tangent{k}"
        tangent = new.body.add_argument(value.type, hint)
        b.location = UNKNOWN
        tangents[value] = b.add(tangents[value], tangent) if value in tangents else tangent
    new.body.ops = []
    for op in ops:
        new.body.ops.append(op)
        if not is_cut(op) and any(value in active for value in op.results):
            b.location = op.location.derived(ROLE)
            push(b, op, tangents, active)
    b.location = returned.location.derived(ROLE)
    found = [_tangent_or_zero(b, value, tangents) for value in values if carries_gradient(value)]
    new.finish((*values, *found), returned.location)
    dce(new)
    canonicalize(new)
    return new


class Pushforward(Pass, name="pushforward", anchor="builtin.module"):
    """Add to each function @f the function @f_push of values and tangents along inputs `wrt`."""

    wrt: str = "0"

    def run(self, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        for function in list(op.functions):
            name = f"{function['sym_name']}_push"
            op.body.append(pushforward(function, input_numbers(self.wrt), name=name))
