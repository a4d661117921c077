"""From a traced function to something that runs: the one place where passes meet the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.interp import run_function
from gradc.ir.ops.func import FuncOp

Executable = Callable[..., Sequence[Any]]


def interpreted(function: FuncOp) -> Executable:
    """Run `function` (any stage up to `simplified`) in the NumPy interpreter."""

    def call(*arrays: Any) -> Sequence[Any]:
        return run_function(function, arrays)

    return call


def executable(function: FuncOp) -> Executable:
    """Run `function` (a tensor-level func.func): arrays in, a sequence of fresh arrays out."""
    return interpreted(function)
