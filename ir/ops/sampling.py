"""Sample makers: the operands that the contract test feeds to operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.opdef import Invalid, Sample, Samples
from gradc.ir.types import INEXACT, ScalarType, f32, f64, i1, tensor, to_numpy

# The largest number, the smallest normal and the smallest subnormal one of each floating type.
_EXTREMES = {
    "f16": (65504.0, 2.0**-14, 2.0**-24),
    "bf16": (255 * 2.0**120, 2.0**-126, 2.0**-133),
    "f32": ((2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-149),
    "f64": ((2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 2.0**-1074),
}
SHAPES: tuple[tuple[int, ...], ...] = ((), (5,), (3, 4), (2, 0))


def uniform(rng: np.random.Generator, dtype: ScalarType, shape: Any, lo: float, hi: float) -> Any:
    """Random values of any dtype in [lo, hi); complex ones have both parts there."""
    if dtype.is_bool:
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.uniform(lo, hi, shape)
    if dtype.is_complex:
        values = values + 1j * rng.uniform(lo, hi, shape)
    if dtype.is_integer:
        values = np.clip(np.rint(values), 0 if dtype.kind == "u" else lo, hi)
    return np.asarray(values).astype(to_numpy(dtype))


def corners(dtype: ScalarType) -> Any:
    """The values where implementations go wrong: zeros, infinities, NaN, extremes of the type."""
    kind = to_numpy(dtype)
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(kind)
        return np.array([0, 1, 2, 3, 7, info.max, info.min, info.max // 2, info.min + 1], kind)
    reals = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 1e-4, 40.0, -40.0, np.inf, -np.inf, np.nan]
    return np.array([*reals, *_EXTREMES[dtype.name]]).astype(kind)


def pairs(values: Any, count: int) -> tuple[Any, ...]:
    """`count` arrays that run through all tuples of `values` (up to 2) or rotations of it
    (more)."""
    if count == 1:
        return (values,)
    x, y = (a.ravel() for a in np.meshgrid(values, values, indexing="ij"))
    return (x, y, *[np.roll(y, k * 5) for k in range(1, count - 1)])


def floats(
    lo: float,
    hi: float,
    operands: int = 1,
    dtypes: Any = INEXACT,
    special: bool = True,
    limit: float = np.inf,
) -> Samples:
    """Random operands of one shape with values in [lo, hi): ranks 0 to 2 and an empty array.

    special: also real operands at the corners of the dtype (0, -0, inf, NaN, INT_MIN, ...), where
    only the value is compared; and two ill-typed uses of the op.
    limit: leaves out the finite corners beyond it.
    """

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape in SHAPES:
            yield Sample(tuple(uniform(rng, dtype, shape, lo, hi) for _ in range(operands)), {})
        if special and not dtype.is_complex:
            values = corners(dtype)
            if limit < np.inf:
                sizes = np.abs(values.astype(np.float64))
                values = values[~np.isfinite(sizes) | (sizes < limit)]
            yield Sample(pairs(values, operands), {}, smooth=False)
        yield Invalid((tensor(dtype, 2),) * (operands + 1), {}, "operand")
        if operands > 1:
            other = tensor(dtype, 3)
            same = (tensor(dtype, 2),) * (operands - 1)
            yield Invalid((*same, other), {}, "expected operands of one type")

    return Samples(make, tuple(dtypes))


def wrong_dtype(samples: Samples, dtype: ScalarType, operands: int = 1) -> Samples:
    """`samples`, and a use with a dtype that the op refuses."""

    def make(rng: np.random.Generator, drawn: ScalarType) -> Any:
        yield from samples.make(rng, drawn)
        yield Invalid((tensor(dtype, 2),) * operands, {}, "of dtype")

    return Samples(make, samples.dtypes)


def choices(operands: int, dtypes: Any) -> Samples:
    """A condition (i1) and `operands` arrays of one type."""

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape in SHAPES:
            arrays = [uniform(rng, dtype, shape, -4, 4) for _ in range(operands)]
            yield Sample((uniform(rng, i1, shape, 0, 1), *arrays), {})
        values = corners(f32 if dtype.is_complex else dtype).astype(to_numpy(dtype))
        condition = np.arange(len(values)) % 2 == 0
        rolled = [np.roll(values, k) for k in range(operands)]
        yield Sample((condition, *rolled), {}, smooth=False)
        yield Invalid((tensor(f64, 2),) * (operands + 1), {}, "i1")

    return Samples(make, tuple(dtypes))
