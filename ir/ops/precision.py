"""Conversion between element types, and rounding to integral values."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.core import defined_by
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import NOT_DIFFERENTIABLE, Elementwise, Invalid, Sample, Samples
from gradc.ir.ops.sampling import corners, floats, uniform, wrong_dtype
from gradc.ir.type_rules import expect_count, expect_dtype, names, same_type
from gradc.ir.types import (
    ARRAY_DTYPES,
    FLOATS,
    ScalarType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    tensor,
    to_numpy,
    ui32,
)  # fmt: skip

# Bits of precision and the range of exponents of the floating types, in that order.
_PRECISION = {f16: (11, 5), bf16: (8, 8), f32: (24, 8), f64: (53, 11)}


def holds(wide: ScalarType, narrow: ScalarType) -> bool:
    """Whether every value of `narrow` converts to `wide` and back unchanged."""
    if wide == narrow or (narrow.is_bool and wide != narrow):
        return True
    if narrow.is_complex:
        return wide.is_complex and holds(wide.real, narrow.real)
    if wide.is_bool:
        return False
    if wide.is_integer:
        if narrow.is_inexact:
            return False
        same_sign = wide.kind == narrow.kind
        return (
            wide.bits >= narrow.bits if same_sign else wide.kind == "i" and wide.bits > narrow.bits
        )
    digits, exponents = _PRECISION[wide.real]
    if narrow.is_integer:
        # f16's range ends at 65504, below 2**16; the other types have exponents to spare.
        return narrow.bits - (narrow.kind == "i") <= digits
    return digits >= _PRECISION[narrow][0] and exponents >= _PRECISION[narrow][1]


def _convert_samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for target in ARRAY_DTYPES:
        lo = 0 if target.kind == "u" else -4
        # Integer targets drop the fraction, so differences see steps there.
        smooth = not (target.is_integer or target.is_bool) and dtype.is_inexact
        smooth = smooth and target.real in (f64,)
        yield Sample((uniform(rng, dtype, (3, 2), lo, 4),), {"dtype": target}, smooth)
        if not dtype.is_complex:
            values = corners(dtype)
            if dtype.is_floating and target == ui32:
                # NumPy itself has two answers for NaN here, by the place in the array.
                values = values[np.isfinite(values.astype(np.float64))]
            yield Sample((values,), {"dtype": target}, smooth=False)
    yield Invalid((tensor(dtype, 2),), {"dtype": "f32"}, "to be an element type")


class Convert(Elementwise, name="nd.convert"):
    """The same values in the element type `dtype`, as ndarray.astype gives them.

    Floats round to nearest even, floats to integers drop the fraction, complex to real drops the
    imaginary part, to bool is x != 0. dx = g converted back, where both types carry gradients.
    """

    finite_slope = True
    linear = True
    shift = "same"

    def infer(*types: Any, dtype: ScalarType) -> Any:
        expect_count(types, 1)
        x = expect_dtype(types[0], ARRAY_DTYPES)
        if dtype not in ARRAY_DTYPES:
            raise TypeRuleError(
                f"expected `dtype` to be an element type ({names(ARRAY_DTYPES)}), got {dtype!r}"
            )
        return x.with_dtype(dtype)

    def evaluate(x: Any, *, dtype: ScalarType) -> Any:
        x = np.asarray(x)
        if x.dtype.kind == "c" and not (dtype.is_complex or dtype.is_bool):
            x = x.real  # what astype does too, with a warning
        return x.astype(to_numpy(dtype))

    def scalar(s, x, *, dtype):
        return s.convert(x, dtype)

    def vjp(b, op, g):
        (x,) = op.operands
        if not (x.type.dtype.is_inexact and op["dtype"].is_inexact):
            return [None]
        return [b.convert(g, dtype=x.type.dtype)]

    def simplify(b, op):
        (x,) = op.operands
        if x.type.dtype == op["dtype"]:
            return [x]
        inner = defined_by(x, "nd.convert")
        if inner is None:
            return None
        source = inner.operands[0]
        start, middle = source.type.dtype, x.type.dtype
        # A detour through a type that holds every value of both ends changes nothing.
        if holds(middle, start) and start == op["dtype"]:
            return [source]
        return None

    samples = Samples(_convert_samples, ARRAY_DTYPES)


class Floor(Elementwise, name="nd.floor"):
    """The largest integral value not above x. Floating. Piecewise constant: no gradient."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = np.floor
    scalar = "floor"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)


class Ceil(Elementwise, name="nd.ceil"):
    """The smallest integral value not below x. Floating. Piecewise constant: no gradient."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = np.ceil
    scalar = "ceil"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)


class Trunc(Elementwise, name="nd.trunc"):
    """x without its fraction. Floating. Piecewise constant: no gradient."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = np.trunc
    serves = ("numpy.fix",)
    scalar = "trunc"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)


class Rint(Elementwise, name="nd.rint"):
    """The nearest integral value, halves to even. Floating. Piecewise constant: no gradient."""

    tame = True
    infer = same_type(FLOATS)
    evaluate = np.rint
    scalar = "rint"
    vjp = NOT_DIFFERENTIABLE
    samples = wrong_dtype(floats(-4, 4, 1, FLOATS), i1)
