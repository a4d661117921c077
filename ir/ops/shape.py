"""Pure index maps: broadcast, reshape, transpose, slice, pad, concatenate."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Piece, Sample, Samples, Shape
from gradc.ir.ops.elementwise import uniform
from gradc.ir.type_rules import expect_axes, expect_tensor
from gradc.ir.types import ARRAY_DTYPES, ScalarType, TensorType


def whole(op: Any, map: AffineMap) -> list[Piece]:
    """One piece that covers the whole result."""
    shape = op.result.type.shape
    return [Piece(0, (0,) * len(shape), tuple(shape), map)]


def shape_samples(*cases: tuple[tuple[int, ...], dict[str, Any]]) -> Samples:
    """Samples from (operand shape, attributes) pairs, for every array dtype."""

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape, attributes in cases:
            yield Sample((uniform(rng, dtype, shape, -4, 4),), attributes)

    return Samples(make, ARRAY_DTYPES)


class Broadcast(Shape, name="nd.broadcast"):
    """Operand axis k becomes result axis dims[k]; the other result axes repeat the operand.

    `dims` is increasing; result.shape[dims[k]] == operand.shape[k]. Its vjp is the only place in gradc where a
    broadcast is undone.
    """

    def infer(x: Any, *, shape: tuple[Any, ...], dims: tuple[int, ...]) -> TensorType:
        expect_tensor(x)
        expect_axes(dims, len(shape), "dims")
        if len(dims) != x.rank or any(shape[d] != n for d, n in zip(dims, x.shape, strict=True)):
            raise TypeRuleError(f"cannot place {x} on dims {list(dims)} of shape {list(shape)}")
        return x.with_shape(shape)

    def evaluate(x: Any, *, shape: Any, dims: Any) -> np.ndarray:
        aligned = [1] * len(shape)
        for d, n in zip(dims, np.shape(x), strict=True):
            aligned[d] = n
        return np.broadcast_to(np.reshape(x, aligned), shape).copy()

    def vjp(b, op, g):
        dims = op["dims"]
        return [b.reduce_sum(g, axes=tuple(k for k in range(len(op["shape"])) if k not in dims))]

    def pieces(op):
        return whole(op, AffineMap.select(op["dims"], len(op["shape"])))

    samples = shape_samples(
        ((3,), {"shape": (2, 3), "dims": (1,)}),
        ((), {"shape": (4,), "dims": ()}),
        ((2, 3), {"shape": (2, 5, 3), "dims": (0, 2)}),
        ((0,), {"shape": (0, 2), "dims": (0,)}),
    )


class Reshape(Shape, name="nd.reshape"):
    """The same elements in row-major order under a new shape."""

    def infer(x: Any, *, shape: tuple[Any, ...]) -> TensorType:
        expect_tensor(x)
        new = x.with_shape(shape)
        if sorted(map(str, _factors(x.shape))) != sorted(map(str, _factors(shape))):
            raise TypeRuleError(f"cannot reshape {x} to {list(shape)}: the sizes differ")
        return new

    def evaluate(x: Any, *, shape: Any) -> np.ndarray:
        return np.reshape(x, shape).copy()

    def vjp(b, op, g):
        return [b.reshape(g, shape=op.operands[0].type.shape)]

    def pieces(op):
        map = split_map(op.operands[0].type.shape, op["shape"])
        return None if map is None else whole(op, map)

    samples = shape_samples(
        ((6,), {"shape": (2, 3)}),
        ((2, 3), {"shape": (6,)}),
        ((1,), {"shape": ()}),
        ((4, 3), {"shape": (2, 2, 1, 3)}),
        ((2, 3, 2), {"shape": (6, 2)}),
    )


def _factors(shape: tuple[Any, ...]) -> list[Any]:
    """The size as a product of one int and the symbolic sizes."""
    static = 1
    symbolic = []
    for n in shape:
        if isinstance(n, int):
            static *= n
        else:
            symbolic.append(n)
    return [static, *symbolic]


def split_map(old: tuple[Any, ...], new: tuple[Any, ...]) -> AffineMap | None:
    """The affine map from an index of shape `new` to one of `old`, when each old axis is split into
    consecutive new ones (or either has extra axes of size 1); None when axes are merged."""
    exprs = []
    at = 0
    rank = len(new)
    for n in old:
        if n == 1:
            exprs.append(AffineExpr.const(0, rank))
            continue
        group = []
        size: Any = 1
        while size != n:
            while at < rank and new[at] == 1:
                at += 1
            if at == rank:
                return None
            if not isinstance(new[at], int) or not isinstance(n, int):
                if group or new[at] != n:
                    return None
                size = n
            else:
                size *= new[at]
                if size > n or new[at] == 0:
                    return None
            group.append(at)
            at += 1
        expr = AffineExpr.const(0, rank)
        stride = 1
        for k in reversed(group):
            expr = expr + AffineExpr.dim(k, rank) * stride
            stride *= new[k] if isinstance(new[k], int) else 1
        exprs.append(expr)
    if any(n != 1 for n in new[at:]):
        return None
    return AffineMap(rank, 0, tuple(exprs))


class Transpose(Shape, name="nd.transpose"):
    """Result axis k is operand axis perm[k]."""

    def infer(x: Any, *, perm: tuple[int, ...]) -> TensorType:
        expect_tensor(x)
        if sorted(perm) != list(range(x.rank)):
            raise TypeRuleError(f"expected a permutation of {list(range(x.rank))}, got {perm}")
        return x.with_shape(tuple(x.shape[p] for p in perm))

    def evaluate(x: Any, *, perm: Any) -> np.ndarray:
        return np.transpose(x, perm).copy()

    def vjp(b, op, g):
        return [b.transpose(g, perm=tuple(int(k) for k in np.argsort(op["perm"])))]

    def pieces(op):
        perm = op["perm"]
        inverse = [perm.index(k) for k in range(len(perm))]
        return whole(op, AffineMap.select(inverse, len(perm)))

    samples = shape_samples(
        ((2, 3), {"perm": (1, 0)}),
        ((2, 3, 4), {"perm": (2, 0, 1)}),
        ((), {"perm": ()}),
    )
