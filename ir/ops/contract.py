"""nd.dot_general: the one contraction; matmul, dot, tensordot, einsum are written on top of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Contract, Invalid, Sample, Samples
from gradc.ir.ops.elementwise import conj
from gradc.ir.ops.sampling import uniform
from gradc.ir.type_rules import expect_dtype
from gradc.ir.types import NUMBERS, ScalarType, TensorType, f32, f64, tensor

Axes = tuple[int, ...]


def free_axes(rank: int, *used: Axes) -> Axes:
    return tuple(k for k in range(rank) if not any(k in axes for axes in used))


class DotGeneral(Contract, name="nd.dot_general"):
    """Sum of products over `contract` = (axes of x, axes of y), for each index of `batch` axes.

    Result axes: batch (in the order given), then x's free axes, then y's. Operands of one dtype,
    which the result has; numbers. Complex operands are not conjugated; f16 and bf16 accumulate in
    f32 and round once. dx contracts g with conj(y) over the free axes of y, dy conj(x) with g over
    those of x.
    """

    tame = True
    samples: Any

    def infer(x: Any, y: Any, *, contract: Any, batch: Any = ((), ())) -> TensorType:
        expect_dtype(x, NUMBERS, "operand 0")
        expect_dtype(y, (x.dtype,), "operand 1")
        for what, (xs, ys) in (("contract", contract), ("batch", batch)):
            if len(xs) != len(ys):
                raise TypeRuleError(f"expected as many {what} axes of x as of y, got {xs} and {ys}")
            for i, j in zip(xs, ys, strict=True):
                if not (0 <= i < x.rank and 0 <= j < y.rank):
                    raise TypeRuleError(f"{what} axes ({i}, {j}) are out of range for {x}, {y}")
                if x.shape[i] != y.shape[j]:
                    raise TypeRuleError(
                        f"{what} axes ({i}, {j}) have sizes {x.shape[i]} and {y.shape[j]}"
                    )
        if len({*contract[0], *batch[0]}) != len(contract[0] + batch[0]) or len(
            {*contract[1], *batch[1]}
        ) != len(contract[1] + batch[1]):
            raise TypeRuleError("expected contract and batch axes to be distinct")
        shape = [x.shape[k] for k in batch[0]]
        shape += [x.shape[k] for k in free_axes(x.rank, contract[0], batch[0])]
        shape += [y.shape[k] for k in free_axes(y.rank, contract[1], batch[1])]
        return x.with_shape(tuple(shape))

    def evaluate(x: Any, y: Any, *, contract: Any, batch: Any = ((), ())) -> np.ndarray:
        xs: list[Any] = list(range(x.ndim))
        ys: list[Any] = list(range(x.ndim, x.ndim + y.ndim))
        for i, j in zip(contract[0] + batch[0], contract[1] + batch[1], strict=True):
            ys[j] = xs[i]
        out = [xs[k] for k in batch[0]]
        out += [xs[k] for k in free_axes(x.ndim, contract[0], batch[0])]
        out += [ys[k] for k in free_axes(y.ndim, contract[1], batch[1])]
        narrow = x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        wide = [a.astype(np.float32) if narrow else a for a in (x, y)]
        found = np.einsum(wide[0], xs, wide[1], ys, out, optimize=True)
        return np.asarray(found).astype(x.dtype, copy=False)

    def vjp(b, op, g):
        x, y = op.operands
        contract, batch = op["contract"], op.attributes.get("batch", ((), ()))
        nb = len(batch[0])
        free_x = free_axes(x.type.rank, contract[0], batch[0])
        free_y = free_axes(y.type.rank, contract[1], batch[1])
        g_batch = tuple(range(nb))
        g_x = tuple(range(nb, nb + len(free_x)))
        g_y = tuple(range(nb + len(free_x), nb + len(free_x) + len(free_y)))
        # dx[batch, free_x, contracted] = sum over free_y of g * conj(y)
        dx = b.dot_general(g, conj(b, y), contract=(g_y, free_y), batch=(g_batch, batch[1]))
        summed = free_axes(y.type.rank, free_y, batch[1])
        order = [contract[0][contract[1].index(k)] for k in summed]
        dx = _to_axes(b, dx, (*batch[0], *free_x, *order))
        # dy[batch, contracted, free_y] = sum over free_x of conj(x) * g
        dy = b.dot_general(conj(b, x), g, contract=(free_x, g_x), batch=(batch[0], g_batch))
        summed = free_axes(x.type.rank, free_x, batch[0])
        order = [contract[1][contract[0].index(k)] for k in summed]
        dy = _to_axes(b, dy, (*batch[1], *order, *free_y))
        return [dx, dy]


def _to_axes(b: Any, value: Any, axes: Axes) -> Any:
    """Transpose so that value's axis k becomes axis axes[k]."""
    if axes == tuple(range(len(axes))):
        return value
    return b.transpose(value, perm=tuple(axes.index(k) for k in range(len(axes))))


def _samples(rng: np.random.Generator, dtype: ScalarType) -> Any:
    for x, y, contract, batch in (
        ((3, 4), (4, 5), ((1,), (0,)), ((), ())),
        ((4, 3), (5, 4), ((0,), (1,)), ((), ())),
        ((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))),
        ((3, 2, 4), (5, 4, 2), ((2,), (1,)), ((1,), (2,))),
        ((3,), (4,), ((), ()), ((), ())),
        ((2, 3, 4), (3, 4, 2), ((1, 2), (0, 1)), ((), ())),
        ((2, 3, 4), (4, 3, 5), ((2, 1), (0, 1)), ((), ())),
        ((2, 3, 4), (3, 5, 2), ((), ()), ((1, 0), (0, 2))),
        ((3,), (3,), ((0,), (0,)), ((), ())),
        ((2, 3), (2, 3), ((), ()), ((0, 1), (0, 1))),
        ((), (3,), ((), ()), ((), ())),
        ((2, 0), (0, 3), ((1,), (0,)), ((), ())),
        ((0, 2), (2, 3), ((1,), (0,)), ((), ())),
    ):
        operands = (uniform(rng, dtype, x, -2, 2), uniform(rng, dtype, y, -2, 2))
        yield Sample(operands, {"contract": contract, "batch": batch})
    matrices = tensor(dtype, 2, 3), tensor(dtype, 3, 2)
    mixed = matrices[0], tensor(f32 if dtype is f64 else f64, 3, 2)
    yield Invalid(matrices, {"contract": ((0,), (0,))}, "contract axes (0, 0) have sizes 2 and 3")
    yield Invalid(matrices, {"contract": ((2,), (0,))}, "contract axes (2, 0) are out of range")
    yield Invalid(matrices, {"contract": ((1,), ())}, "expected as many contract axes of x as of y")
    yield Invalid(
        matrices, {"contract": ((), ()), "batch": ((0,), (0,))}, "batch axes (0, 0) have sizes"
    )
    both = {"contract": ((1,), (0,)), "batch": ((1,), (0,))}
    yield Invalid(matrices, both, "contract and batch axes to be distinct")
    yield Invalid(mixed, {"contract": ((1,), (0,))}, "expected operand 1 of dtype")


DotGeneral.samples = Samples(_samples, NUMBERS)
