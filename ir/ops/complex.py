"""MLIR's `complex` dialect as far as buffers of complex numbers need it: taking apart and putting
together."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Loop
from gradc.ir.types import COMPLEXES, ScalarType, Type, c64, c128, f32, f64


def _part(t: Type, fastmath: Any = None) -> ScalarType:
    if not isinstance(t, ScalarType) or t not in COMPLEXES:
        raise TypeRuleError(f"expected a complex number, got {t}")
    return t.real


class Re(Loop, name="complex.re"):
    """The real part."""

    infer = _part
    vjp = NOT_DIFFERENTIABLE

    def evaluate(z: Any, *, fastmath: Any = None) -> Any:
        return np.real(z)


class Im(Loop, name="complex.im"):
    """The imaginary part."""

    infer = _part
    vjp = NOT_DIFFERENTIABLE

    def evaluate(z: Any, *, fastmath: Any = None) -> Any:
        return np.imag(z)


class Create(Loop, name="complex.create"):
    """The complex number of a real and an imaginary part."""

    vjp = NOT_DIFFERENTIABLE

    def infer(re: Type, im: Type) -> ScalarType:
        if re != im or re not in (f32, f64):
            raise TypeRuleError(f"expected two f32 or two f64, got {re} and {im}")
        return c64 if re is f32 else c128

    def evaluate(re: Any, im: Any) -> Any:
        re, im = np.asarray(re), np.asarray(im)
        z = np.empty(re.shape, np.complex64 if re.dtype == np.float32 else np.complex128)
        z.real, z.imag = re, im
        return z
