"""Reductions over axes; reduced axes are dropped (keepdims is a reshape on top)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.opdef import Reduce, Sample, Samples
from gradc.ir.ops.elementwise import uniform
from gradc.ir.type_rules import expect_axes, expect_dtype
from gradc.ir.types import NUMBERS, ScalarType, TensorType


def reduced(dtypes: Any) -> Any:
    """Type rule: the operand's type without the reduced axes."""

    def infer(x: Any, *, axes: tuple[int, ...]) -> TensorType:
        expect_dtype(x, dtypes)
        expect_axes(axes, x.rank)
        return x.with_shape(tuple(n for k, n in enumerate(x.shape) if k not in axes))

    return infer


def reduce_samples(dtypes: Any, lo: float = -4, hi: float = 4) -> Samples:
    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape, axes in (
            ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2)),
            ((3, 4), ()), ((0, 3), (1,)),
        ):  # fmt: skip
            yield Sample((uniform(rng, dtype, shape, lo, hi),), {"axes": axes})

    return Samples(make, tuple(dtypes))


def spread(b: Any, op: Any, value: Any) -> Any:
    """A value of the result's shape, repeated along the reduced axes to the operand's shape."""
    shape = op.operands[0].type.shape
    kept = tuple(k for k in range(len(shape)) if k not in op["axes"])
    return b.broadcast(value, shape=shape, dims=kept)


class ReduceSum(Reduce, name="nd.reduce_sum"):
    """Sum over `axes`, accumulated in the operand's dtype (f16 and bf16 in f32)."""

    infer = reduced(NUMBERS)
    combine = "add"
    finite_slope = True
    samples = reduce_samples(NUMBERS)

    def identity(dtype):
        return 0

    def evaluate(x: Any, *, axes: Any) -> Any:
        return np.sum(x, axis=axes, dtype=x.dtype)

    def vjp(b, op, g):
        return [spread(b, op, g)]
