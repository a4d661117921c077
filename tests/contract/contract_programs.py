"""Programs around one operation, and a plain reverse sweep that shares nothing with
passes/backward.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.ir.builder import Builder
from gradc.ir.core import Value
from gradc.ir.interp import run_function
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Accumulate, Op
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import Type, type_of


def program(cls: type[Op], types: Sequence[Type], attributes: dict[str, Any]) -> FuncOp:
    """A function that applies the operation to its arguments."""
    function = FuncOp.build("f", types)
    found = Builder(function.body).create(cls, function.args, attributes)
    return function.finish(found if isinstance(found, tuple) else [found])


def sample_program(cls: type[Op], arrays: Sequence[np.ndarray], attributes: Any) -> FuncOp:
    return program(cls, [type_of(x) for x in arrays], attributes)


Use = tuple[type[Op], Sequence[np.ndarray], dict[str, Any]]


def joined_program(uses: Sequence[Use]) -> FuncOp:
    """A function that applies operations, each to its own arguments; all results, in order."""
    function = FuncOp.build("f", [type_of(x) for _, arrays, _ in uses for x in arrays])
    b, arguments = Builder(function.body), iter(function.args)
    returned: list[Value] = []
    for cls, arrays, attributes in uses:
        found = b.create(cls, [next(arguments) for _ in arrays], attributes)
        returned += found if isinstance(found, tuple) else [found]
    return function.finish(returned)


def inexact(values: Sequence[Value]) -> list[Value]:
    return [v for v in values if v.type.dtype.is_inexact]


def materialize(b: Builder, entry: Any, like: Type) -> Value:
    """The cotangent that a rule's answer stands for."""
    return entry.add(b, b.zeros(like)) if isinstance(entry, Accumulate) else entry


def pullback(function: FuncOp) -> FuncOp:
    """The inputs of `function` and a cotangent for each inexact output -> the cotangents of its
    inexact inputs, by the operations' own rules and nothing else."""
    returned = inexact(function.returned)
    inputs = [v.type for v in function.args]
    result = FuncOp.build("pullback", [*inputs, *(v.type for v in returned)])
    b = Builder(result.body)
    mapping = dict(zip(function.args, result.args, strict=False))
    for op in function.body.ops[:-1]:
        b.insert(op.clone(mapping))
    cotangents: dict[Value, Value] = {}

    def accumulate(value: Value, entry: Any) -> None:
        if isinstance(entry, Accumulate):
            running = cotangents.get(value)
            cotangents[value] = entry.add(b, b.zeros(value.type) if running is None else running)
            return
        assert entry.type == value.type, f"cotangent {entry.type} for a value {value.type}"
        running = cotangents.get(value)
        cotangents[value] = entry if running is None else b.add(running, entry)

    for value, g in zip(returned, result.args[len(inputs) :], strict=True):
        accumulate(mapping[value], g)
    forward = [op for op in result.body.ops if op.results]
    for op in reversed(forward):
        if op.vjp is NOT_DIFFERENTIABLE or not any(v in cotangents for v in op.results):
            continue
        assert op.vjp is not None, f"{op.name} has no vjp"
        gs = [cotangents.get(v) or b.zeros(v.type) for v in op.results]
        entries = op.vjp(b, op, *gs)
        assert len(entries) == len(op.operands), f"{op.name}: {len(entries)} cotangents"
        for value, entry in zip(op.operands, entries, strict=True):
            if entry is not None and value.type.dtype.is_inexact:
                accumulate(value, entry)
    found = [cotangents.get(v) or b.zeros(v.type) for v in inexact(result.args[: len(inputs)])]
    return result.finish(found)


def run(function: FuncOp, arrays: Sequence[Any]) -> list[np.ndarray]:
    return [np.asarray(x) for x in run_function(function, arrays)]
