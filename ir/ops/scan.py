"""Running sums and products along an axis, and the linear recurrence that their derivatives need.

Attributes of all: `axis`; `reverse` runs from the last element to the first; `exclusive` gives the
value before each element instead of after it (the first is then the neutral value). f16 and bf16
accumulate in f32 and each result element is rounded once. x is the operand, y the result, g its
cotangent; indices below count in the direction of the scan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Invalid, Sample, Samples, Scan
from gradc.ir.ops.elementwise import conj
from gradc.ir.ops.sampling import uniform
from gradc.ir.type_rules import expect_dtype
from gradc.ir.types import INEXACT, NUMBERS, ScalarType, TensorType, i1, tensor, to_numpy


def _along(dtypes: Any, operands: int = 1) -> Any:
    """Type rule of a scan: operands of one type, which the result has too."""

    def infer(
        x: Any, *more: Any, axis: int, reverse: bool = False, exclusive: bool = False
    ) -> TensorType:
        if 1 + len(more) != operands:
            raise TypeRuleError(f"expected {operands} operands, got {1 + len(more)}")
        expect_dtype(x, dtypes)
        if any(t != x for t in more):
            raise TypeRuleError(f"expected operands of one type, got {x} and {more[0]}")
        if not (type(axis) is int and 0 <= axis < x.rank):
            raise TypeRuleError(f"expected axis in [0, {x.rank}), got {axis}")
        return x

    return infer


def _direction(op: Any) -> tuple[int, bool, bool]:
    attributes = op.attributes
    return attributes["axis"], attributes.get("reverse", False), attributes.get("exclusive", False)


def _wide(x: Any) -> Any:
    narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    return x.astype(np.float32) if narrow else x


def _scan(run: Any, neutral: int) -> Any:
    """evaluate of a scan: run(*arrays) scans wide arrays forward along axis 0."""

    def evaluate(*arrays: Any, axis: int, reverse: bool = False, exclusive: bool = False) -> Any:
        moved = [_wide(np.moveaxis(x, axis, 0))[:: -1 if reverse else 1] for x in arrays]
        found = run(*moved)
        if exclusive:
            first = np.full((1, *found.shape[1:]), neutral, found.dtype)
            found = np.concatenate([first, found])[: len(moved[0])]
        found = found[:: -1 if reverse else 1].astype(arrays[0].dtype)
        return np.ascontiguousarray(np.moveaxis(found, 0, axis))

    return evaluate


def _cases(rng: np.random.Generator, dtype: ScalarType, operands: int, lo: float, hi: float) -> Any:
    for shape, axis in (
        ((5,), 0),
        ((3, 4), 0),
        ((3, 4), 1),
        ((2, 3, 2), 1),
        ((0,), 0),
        ((2, 1), 1),
    ):
        for reverse in (False, True):
            for exclusive in (False, True):
                arrays = tuple(uniform(rng, dtype, shape, lo, hi) for _ in range(operands))
                yield Sample(arrays, {"axis": axis, "reverse": reverse, "exclusive": exclusive})
    if dtype.is_floating:
        special = np.array([1.0, 2, np.inf, 3, np.nan, 1]).astype(to_numpy(dtype))
        yield Sample((special,) * operands, {"axis": 0}, smooth=False)
        yield Sample((special,) * operands, {"axis": 0, "exclusive": True}, smooth=False)
    yield Invalid((tensor(dtype, 3),) * operands, {"axis": 1}, "expected axis in [0, 1)")
    yield Invalid((tensor(i1, 3),) * operands, {"axis": 0}, "of dtype")


class CumSum(Scan, name="nd.cumsum"):
    """y_i = x_0 + ... + x_i (exclusive: up to x_{i-1}). Numbers.

    dx is the same scan of g in the other direction.
    """

    infer = _along(NUMBERS)
    combine = "add"
    finite_slope = True
    linear = True
    evaluate = _scan(lambda x: np.add.accumulate(x, axis=0, dtype=x.dtype), 0)
    samples = Samples(lambda rng, dtype: _cases(rng, dtype, 1, -4, 4), NUMBERS)

    def identity(dtype):
        return 0

    def vjp(b, op, g):
        axis, reverse, exclusive = _direction(op)
        return [b.cumsum(g, axis=axis, reverse=not reverse, exclusive=exclusive)]


class CumProd(Scan, name="nd.cumprod"):
    """y_i = x_0 ... x_i (exclusive: up to x_{i-1}). Numbers. Its gradient is right with zeros in x.

    dx_k = (x_0 ... x_{k-1}) s_k with s_k = sum over i >= k (exclusive: i > k) of g_i x_{k+1} ...
    x_i, a linear recurrence against the direction of the scan; nothing is divided.
    """

    tame = True
    infer = _along(NUMBERS)
    combine = "mul"
    evaluate = _scan(lambda x: np.multiply.accumulate(x, axis=0, dtype=x.dtype), 1)

    def identity(dtype):
        return 1

    def vjp(b, op, g):
        (x,) = op.operands
        if not x.type.dtype.is_inexact:
            return [None]
        axis, reverse, exclusive = _direction(op)
        factor = conj(b, x)
        if exclusive:
            before = op.result
            after = _linear(b, factor, g, axis, not reverse)
        else:
            before = b.cumprod(x, axis=axis, reverse=reverse, exclusive=True)
            after = b.add(g, _linear(b, factor, b.mul(factor, g), axis, not reverse))
        return [b.mul(conj(b, before), after)]

    def _samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
        yield from _cases(rng, dtype, 1, -2, 2)
        zeros = np.array([[2, 0, 3, 1], [0, 2, 0, 3]]).astype(to_numpy(dtype))
        for reverse in (False, True):
            for exclusive in (False, True):
                attributes = {"axis": 1, "reverse": reverse, "exclusive": exclusive}
                yield Sample((zeros,), attributes)

    samples = Samples(_samples, NUMBERS)


def _linear(b: Any, a: Any, x: Any, axis: int, reverse: bool) -> Any:
    return b.linear_scan(a, x, axis=axis, reverse=reverse, exclusive=True)


def _recur(a: Any, x: Any) -> Any:
    found = np.array(x)
    for k in range(1, len(x)):
        found[k] = a[k] * found[k - 1] + x[k]
    return found


class LinearScan(Scan, name="nd.linear_scan"):
    """The linear recurrence y_i = a_i y_{i-1} + x_i, y_0 = x_0, of operands (a, x).

    Floating and complex. The first a is not used. Its cotangents are linear recurrences against the
    direction of the scan: dx_i = g_i + conj(a_{i+1}) dx_{i+1}, da_i = dx_i conj(y_{i-1}).
    """

    tame = True
    infer = _along(INEXACT, 2)
    evaluate = _scan(_recur, 0)
    samples = Samples(lambda rng, dtype: _cases(rng, dtype, 2, -1.5, 1.5), INEXACT)

    def combine(s, state, a, x):
        return s.add(s.mul(a, state), x)

    def identity(dtype):
        return 0

    def vjp(b, op, g):
        a, x = op.operands
        axis, reverse, exclusive = _direction(op)
        factor = conj(b, a)
        if exclusive:
            dx = _linear(b, factor, g, axis, not reverse)
            before = op.result
        else:
            dx = b.add(g, _linear(b, factor, b.mul(factor, g), axis, not reverse))
            before = _linear(b, a, x, axis, reverse)
        return [b.mul(dx, conj(b, before)), dx]
