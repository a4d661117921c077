"""The tensor-level passes between a derived function and the back end."""

from __future__ import annotations

from gradc.ir.ops.func import FuncOp, copy_function
from gradc.passes import catalog  # noqa: F401  (registers the passes)
from gradc.passes.manager import PASSES

SIMPLIFY = ("canonicalize", "cse", "dce")


def run_passes(function: FuncOp, names: tuple[str, ...]) -> FuncOp:
    """Run passes on a function in place; returns it."""
    for name in names:
        PASSES[name]().run(function)
    return function


def simplified(function: FuncOp) -> FuncOp:
    """A simplified copy of a tensor-level function."""
    return run_passes(copy_function(function, function["sym_name"]), SIMPLIFY)
