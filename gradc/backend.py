"""From a simplified function to something that runs: where passes meet the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp
from gradc.passes.lower.plan import plan
from gradc.runtime.executor import Executor

Executable = Callable[..., Sequence[Any]]


def interpreted(function: FuncOp) -> Executable:
    """Run `function` (any stage up to `simplified`) in the NumPy interpreter."""

    def call(*arrays: Any) -> Sequence[Any]:
        return run_function(function, arrays)

    return call


def executable(function: FuncOp) -> Executable:
    """Native code for a simplified tensor function: arrays in, a tuple of fresh arrays out."""
    return Executor(plan(function))
