"""Ufuncs, and loops of ufuncs, that are written in several operations.

Each is emit(ufunc, *operands) -> result, on operands of the loop's input dtypes and of one shape;
None says that the registered operation does it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    typed,
)  # fmt: skip
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import f32, f64, i1

Emit = Callable[..., Any]
LOOPS: dict[np.ufunc, Emit] = {}


def loop(*ufuncs: np.ufunc) -> Callable[[Emit], Emit]:
    def register(function: Emit) -> Emit:
        for ufunc in ufuncs:
            LOOPS[ufunc] = function
        return function

    return register


@loop(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
def _logical(ufunc: Any, *xs: Tracer) -> Any:
    return apply(ufunc.__name__, *[typed(x, i1) for x in xs])


@loop(np.add)
def _add(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("logical_or", x, y) if x.element.is_bool else None


@loop(np.multiply)
def _multiply(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("logical_and", x, y) if x.element.is_bool else None


@loop(np.positive)
def _positive(ufunc: Any, x: Tracer) -> Any:
    return x


@loop(np.floor, np.ceil, np.trunc)
def _round(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_inexact else x


@loop(np.rint)
def _rint(ufunc: Any, x: Tracer) -> Any:
    if not x.element.is_complex:
        return None
    return apply("complex", *[apply("rint", apply(part, x)) for part in ("real", "imag")])


@loop(np.conjugate)
def _conjugate(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_complex else x


@loop(np.absolute)
def _absolute(ufunc: Any, x: Tracer) -> Any:
    return x if x.element.kind in "bu" else None


@loop(np.fabs)
def _fabs(ufunc: Any, x: Tracer) -> Any:
    return apply("abs", x)


@loop(np.isfinite, np.isnan, np.isinf)
def _predicate(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_inexact else filled(ufunc is np.isfinite, x.shape, i1)


@loop(np.less, np.less_equal, np.greater, np.greater_equal)
def _ordered(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    name = {np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge"}[ufunc]
    if x.element.is_complex:
        # NumPy orders complex numbers by the real part, then by the imaginary part.
        strict = "lt" if name in ("lt", "le") else "gt"
        a, b = apply("real", x), apply("real", y)
        tied = apply(
            "logical_and", apply("eq", a, b), apply(name, apply("imag", x), apply("imag", y))
        )
        return apply("logical_or", apply(strict, a, b), tied)
    return _mixed_sign(name, x, y)


@loop(np.equal, np.not_equal)
def _equality(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return _mixed_sign("eq" if ufunc is np.equal else "ne", x, y)


def _mixed_sign(name: str, x: Tracer, y: Tracer) -> Any:
    """Comparison of int64 with uint64, which have no common integer type; None for other pairs."""
    if x.element == y.element:
        return None
    swapped = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(name, name)
    signed, unsigned, own = (x, y, name) if x.element.kind == "i" else (y, x, swapped)
    negative = apply("lt", signed, filled(0, signed.shape, signed.element))
    rest = apply(own, typed(signed, unsigned.element), unsigned)
    if own in ("lt", "le", "ne"):
        return apply("logical_or", negative, rest)
    return apply("logical_and", apply("logical_not", negative), rest)


@loop(np.maximum, np.minimum, np.fmax, np.fmin)
def _extremum(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    if x.element.is_complex:
        raise TracingError(
            f"np.{ufunc.__name__} of complex numbers has no rule: compare their real parts or "
            "moduli"
        )
    return None


@loop(np.reciprocal)
def _reciprocal(ufunc: Any, x: Tracer) -> Any:
    if x.element.is_inexact:
        return None
    one = filled(1, x.shape, x.element)
    # C's truncating 1 / x: zero but for 1 and -1.
    whole = apply("eq", x if x.element.kind == "u" else apply("abs", x), one)
    return apply("select", whole, x, filled(0, x.shape, x.element))


@loop(np.divmod)
def _divmod(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("floor_divide", x, y), apply("remainder", x, y)


@loop(np.modf)
def _modf(ufunc: Any, x: Tracer) -> Any:
    whole = apply("trunc", x)
    fraction = apply("sub", x, whole)
    infinite = apply("isinf", x)
    fraction = apply("select", infinite, filled(0, x.shape, x.element), fraction)
    return apply("copysign", fraction, x), whole


@loop(np.deg2rad, np.radians)
def _deg2rad(ufunc: Any, x: Tracer) -> Any:
    return apply("mul", x, filled(math.pi / 180.0, x.shape, x.element))


@loop(np.rad2deg, np.degrees)
def _rad2deg(ufunc: Any, x: Tracer) -> Any:
    return apply("mul", x, filled(180.0 / math.pi, x.shape, x.element))


@loop(np.float_power)
def _float_power(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("power", x, y)


@loop(np.ldexp)
def _ldexp(ufunc: Any, x: Tracer, exponent: Tracer) -> Any:
    # In two halves: 2**exponent alone may overflow where the product does not.
    half = apply("right_shift", exponent, filled(1, exponent.shape, exponent.element))
    wide = f64 if x.element == f64 else f32
    found = typed(x, wide)
    for part in (half, apply("sub", exponent, half)):
        found = apply("mul", found, apply("exp2", typed(part, wide)))
    return found
