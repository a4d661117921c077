"""gradc: native gradients of plain NumPy functions."""

from gradc.api import (
    CompiledFunction,
    GradientMismatch,
    TracingError,
    check_grads,
    compile,
    disable_compile,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    register_pytree,
    stop_gradient,
    value_and_grad,
    vjp,
)

__version__ = "0.1.0"

__all__ = [
    "CompiledFunction",
    "GradientMismatch",
    "TracingError",
    "__version__",
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
