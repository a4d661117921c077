"""From a traced function to something that runs, and to text: where passes meet the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.ir.printer import print_module, print_pretty
from gradc.passes.lower.emit_llvm import emit
from gradc.passes.lower.emit_python import emit_python
from gradc.passes.lower.expand_math import expand_math
from gradc.passes.lower.plan import lower, plan
from gradc.runtime.compile import assembly
from gradc.runtime.executor import Executor

Executable = Callable[..., Sequence[Any]]

# The stages that this module makes from a simplified function, in order.
STAGES = ("fused", "memory", "loops", "numba", "llvm", "asm")


def interpreted(function: FuncOp) -> Executable:
    """Run `function` (any stage up to `simplified`) in the NumPy interpreter."""

    def call(*arrays: Any) -> Sequence[Any]:
        return run_function(function, arrays)

    return call


def executable(function: FuncOp) -> Executable:
    """Native code for a simplified tensor function: arrays in, a tuple of fresh arrays out."""
    return Executor(plan(function))


def stage_text(function: FuncOp, stage: str, pretty: bool = True) -> str:
    """The text of one of `STAGES` for a simplified tensor function.

    IR stages print in pretty form, or in generic MLIR form when `pretty` is False.
    """
    if stage not in STAGES:
        raise ValueError(f"expected a stage among {', '.join(STAGES)}, got {stage!r}")
    lowered = lower(function)
    show = print_pretty if pretty else print_module
    if stage == "fused":
        return show(lowered.fused)
    if stage == "memory":
        return show(lowered.buffers.function)
    body = lowered.loops.function
    if stage == "loops":
        return show(body)
    if stage == "numba":
        return emit_python(body)
    expand_math(body)
    module = emit(body)
    if stage == "llvm":
        return module.text

    return assembly(module.text)
