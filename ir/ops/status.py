"""What a native function tells its caller: failed run-time checks, and sizes born while it ran."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.types import Type, f64, i1, i64, index

CHECK_VALUES = 6  # places for values in the error record


def exception_class(name: str) -> type[Exception]:
    """The exception that a check names: a builtin one, or numpy.linalg.LinAlgError."""
    found = np.linalg.LinAlgError if name == "LinAlgError" else getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        raise TypeRuleError(
            f"expected the name of a builtin exception or LinAlgError, got {name!r}"
        )
    return found


class Check(Loop, name="kernel.check"):
    """Go on if the i1 operand holds; else stop the program with an exception at this location.

    exception: its class's name;  message: a format string for the further operands
    """

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def infer(condition: Type, *values: Type, exception: str, message: str) -> tuple[Type, ...]:
        if condition != i1 or any(t not in (index, i64, f64) for t in values):
            shown = ", ".join(str(t) for t in (condition, *values))
            raise TypeRuleError(f"expected i1 and index, i64 or f64 values, got ({shown})")
        if len(values) > CHECK_VALUES:
            raise TypeRuleError(f"expected at most {CHECK_VALUES} values, got {len(values)}")
        exception_class(exception)
        message.format(*(0 for _ in values))
        return ()

    def evaluate(condition: Any, *values: Any, exception: str, message: str) -> tuple[Any, ...]:
        if not bool(condition):
            raise exception_class(exception)(message.format(*(v.item() for v in values)))
        return ()


class SetSize(Loop, name="kernel.set_size"):
    """Record the run-time value of the size called `name` (a Dim of the program's outputs)."""

    effects = True
    vjp = NOT_DIFFERENTIABLE

    def infer(value: Type, *, name: str) -> tuple[Type, ...]:
        if value != index:
            raise TypeRuleError(f"expected an index, got {value}")
        return ()

    def evaluate(value: Any, *, name: str) -> tuple[Any, ...]:
        return ()
