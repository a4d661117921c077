"""The chain rule: gradients of functions, written as functions again.

`differentiate` copies the function, seeds the cotangents of its outputs and lets the adjoint driver
(adjoint.py) walk the copy backwards. Saved values are whatever forward values the emitted code
uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.ir.builder import Builder
from gradc.ir.core import UNKNOWN, Operation
from gradc.ir.diagnostic import IRError
from gradc.ir.ops.func import FuncOp, ModuleOp, copy_function
from gradc.passes.activity import carries_gradient
from gradc.passes.adjoint import transpose
from gradc.passes.dce import dce
from gradc.passes.manager import Pass


class NotDifferentiableInput(IRError):
    """A gradient was asked for an input (number `argument`) of a type that carries none."""

    def __init__(self, message: str, argument: int) -> None:
        super().__init__(message)
        self.argument = argument


def check_inputs(function: FuncOp, wrt: Iterable[int]) -> None:
    """Raise NotDifferentiableInput unless each input of `wrt` is floating or complex."""
    for k in wrt:
        value = function.args[k]
        if not carries_gradient(value):
            name = f" ({value.hint})" if value.hint else ""
            raise NotDifferentiableInput(
                f"expected a floating or complex input to differentiate, got {value.type} for "
                f"argument {k}{name} of @{function['sym_name']}",
                k,
            )


def differentiate(
    function: FuncOp,
    wrt: Sequence[int],
    *,
    name: str,
    keep_values: bool = True,
    cotangents: str = "ones",
    outputs: Sequence[int] | None = None,
) -> FuncOp:
    """A function that returns `function`'s values and the gradients of its inputs `wrt`.

    The result takes the inputs of `function`, with cotangents="arguments" also one cotangent for
    each output differentiated (`outputs`, by default every floating or complex one), otherwise each
    such cotangent is one. It returns the values (unless keep_values=False), then one gradient for
    each entry of `wrt`, of exactly the input's type, zero where nothing flows. It is plain IR and
    may be differentiated again.

    Raises NotDifferentiableInput for an input, IRError for an output that carries no gradient, and
    for an operation without a rule.
    """
    check_inputs(function, wrt)
    new = copy_function(function, name)
    returned = new.body.ops.pop()
    values = returned.operands
    returned.drop_uses()
    if outputs is None:
        outputs = [k for k, value in enumerate(values) if carries_gradient(value)]
    for k in outputs:
        if not carries_gradient(values[k]):
            raise IRError(
                f"expected a floating or complex result to differentiate, got {values[k].type} "
                f"for result {k} of @{function['sym_name']}",
                None,
                returned.location,
            )
    ops = list(new.body.ops)
    place = ops[-1].location if ops else UNKNOWN
    b = Builder(new.body, place.derived("backward"))
    if cotangents == "arguments":
        seeds = [new.body.add_argument(values[k].type, f"cotangent{k}") for k in outputs]
    elif cotangents == "ones":
        seeds = [b.full(1, values[k].type) for k in outputs]
    else:
        raise ValueError(f"expected cotangents='ones' or 'arguments', got {cotangents!r}")
    sources = [new.args[k] for k in wrt]
    found = transpose(b, ops, [(values[k], g) for k, g in zip(outputs, seeds)], sources)
    gradients = [
        b.zeros(value.type) if g is None else g for value, g in zip(sources, found, strict=True)
    ]
    new.finish((*values, *gradients) if keep_values else gradients, returned.location)
    dce(new)
    return new


def input_numbers(text: str) -> list[int]:
    """The inputs that a pass option names: "0,2"."""
    return [int(part) for part in text.split(",")]


class Differentiate(Pass, name="differentiate", anchor="builtin.module"):
    """Add to each function @f the function @f_grad of its values and gradients in inputs `wrt`."""

    wrt: str = "0"
    keep_values: bool = True
    cotangents: str = "ones"

    def run(self, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        for function in list(op.functions):
            op.body.append(
                differentiate(
                    function,
                    input_numbers(self.wrt),
                    name=f"{function['sym_name']}_grad",
                    keep_values=self.keep_values,
                    cotangents=self.cotangents,
                )
            )
