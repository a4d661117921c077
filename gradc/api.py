"""The public functions: compilation, gradients and what belongs to them."""

from __future__ import annotations

from typing import Any

from gradc import (
    numpy_functions,  # noqa: F401  (fills the table of traced functions)
    pytree,
)
from gradc.checks import GradientMismatch, check_grads
from gradc.compiled import CompiledFunction, compile
from gradc.derivatives import hessian, jacobian
from gradc.frontend.disabling import disable_compile
from gradc.frontend.location import TracingError
from gradc.frontend.trace import apply
from gradc.frontend.tracer import Tracer
from gradc.linear import hvp, jvp, vjp
from gradc.pytree import register_pytree
from gradc.transforms import grad, value_and_grad

__all__ = [
    "CompiledFunction",
    "GradientMismatch",
    "TracingError",
    "check_grads",
    "compile",
    "disable_compile",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "register_pytree",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


def stop_gradient(x: Any) -> Any:
    """`x` (an array, number or tree) with no gradient flowing back through it; unchanged outside
    traced functions."""
    return pytree.tree_map(lambda leaf: _stopped(leaf) if isinstance(leaf, Tracer) else leaf, x)


def _stopped(tracer: Tracer) -> Tracer:
    if not tracer.element.is_inexact:
        return tracer
    found: Tracer = apply("stop_gradient", tracer)
    found.weak = tracer.weak
    found.is_scalar = tracer.is_scalar
    return found
