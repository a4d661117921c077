"""Pure index maps: broadcast, reshape, transpose, pad, concatenate (slices are in `slicing.py`).

x is the operand, g the cotangent of the result. Operands of any dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.ir.affine import AffineExpr, AffineMap
from gradc.ir.core import defined_by
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.opdef import Invalid, Piece, Sample, Samples, Shape
from gradc.ir.ops.creation import constant_value
from gradc.ir.ops.sampling import uniform
from gradc.ir.type_rules import expect_axes, expect_tensor
from gradc.ir.types import ARRAY_DTYPES, Dim, ScalarType, TensorType, tensor


def whole(op: Any, map: AffineMap) -> list[Piece]:
    """One piece that covers the whole result."""
    shape = op.result.type.shape
    return [Piece(0, (0,) * len(shape), tuple(shape), map)]


def shape_samples(*cases: tuple[Any, ...]) -> Samples:
    """Samples for every array dtype from (operand shape, attributes), and Invalid ones where a
    message
    follows as a third entry. A tuple of shapes stands for several operands."""

    def make(rng: np.random.Generator, dtype: ScalarType) -> Any:
        for shape, attributes, *message in cases:
            shapes = shape if any(isinstance(n, tuple) for n in shape) else (shape,)
            if message:
                types = tuple(tensor(dtype, *s) for s in shapes)
                yield Invalid(types, attributes, message[0])
            else:
                operands = tuple(uniform(rng, dtype, s, -4, 4) for s in shapes)
                yield Sample(operands, attributes)

    return Samples(make, ARRAY_DTYPES)


def expect_shape(shape: Any, what: str = "shape") -> None:
    """Sizes are ints of 0 or more, or `Dim`s."""
    ok = isinstance(shape, tuple) and all(
        isinstance(n, Dim) or (type(n) is int and n >= 0) for n in shape
    )
    if not ok:
        raise TypeRuleError(f"expected {what} to be a tuple of sizes, got {shape!r}")


def long_axes(value: Any) -> tuple[int, ...]:
    """The axes of the value that are longer than 1."""
    return tuple(k for k, n in enumerate(value.type.shape) if n != 1)


class Broadcast(Shape, name="nd.broadcast"):
    """Operand axis k becomes result axis dims[k]; the other result axes repeat the operand.

    `dims` is increasing; result.shape[dims[k]] == operand.shape[k]. Its vjp is the only place in
    gradc where a broadcast is undone: dx is the sum of g over the repeated axes.
    """

    repeats = True
    shift = "broadcast"

    def infer(x: Any, *, shape: tuple[Any, ...], dims: tuple[int, ...]) -> TensorType:
        expect_tensor(x)
        expect_shape(shape)
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
        repeated = tuple(k for k in range(len(op["shape"])) if k not in dims)
        return [b.reduce_sum(g, axes=repeated)]

    def pieces(op):
        return whole(op, AffineMap.select(op["dims"], len(op["shape"])))

    def simplify(b, op):
        (x,) = op.operands
        shape, dims = op["shape"], op["dims"]
        if x.type == op.result.type:
            return [x]
        if inner := defined_by(x, "nd.broadcast"):
            placed = tuple(dims[d] for d in inner["dims"])
            return [b.broadcast(inner.operands[0], shape=shape, dims=placed)]
        return None

    samples = shape_samples(
        ((3,), {"shape": (2, 3), "dims": (1,)}),
        ((), {"shape": (4,), "dims": ()}),
        ((), {"shape": (), "dims": ()}),
        ((2, 3), {"shape": (2, 5, 3), "dims": (0, 2)}),
        ((0,), {"shape": (0, 2), "dims": (0,)}),
        ((2,), {"shape": (2, 0), "dims": (0,)}),
        ((2,), {"shape": (3, 2), "dims": (0,)}, "cannot place"),
        ((2, 3), {"shape": (3, 2), "dims": (1, 0)}, "sorted and distinct"),
        ((2,), {"shape": (2, -1), "dims": (0,)}, "tuple of sizes"),
    )


class Reshape(Shape, name="nd.reshape"):
    """The same elements in row-major order under a new shape. dx = g under the old one."""

    keeps_order = True
    shift = "reshape"

    def infer(x: Any, *, shape: tuple[Any, ...]) -> TensorType:
        expect_tensor(x)
        expect_shape(shape)
        if _factors(x.shape) != _factors(shape):
            raise TypeRuleError(f"cannot reshape {x} to {list(shape)}: the sizes differ")
        return x.with_shape(shape)

    def evaluate(x: Any, *, shape: Any) -> np.ndarray:
        return np.reshape(x, shape).copy()

    def vjp(b, op, g):
        return [b.reshape(g, shape=op.operands[0].type.shape)]

    def pieces(op):
        map = split_map(op.operands[0].type.shape, op["shape"])
        return None if map is None else whole(op, map)

    def simplify(b, op):
        (x,) = op.operands
        if x.type == op.result.type:
            return [x]
        if inner := defined_by(x, "nd.reshape"):
            return [b.reshape(inner.operands[0], shape=op["shape"])]
        return None

    samples = shape_samples(
        ((6,), {"shape": (2, 3)}),
        ((2, 3), {"shape": (6,)}),
        ((1,), {"shape": ()}),
        ((4, 3), {"shape": (2, 2, 1, 3)}),
        ((2, 3, 2), {"shape": (6, 2)}),
        ((0, 3), {"shape": (3, 0, 2)}),
        ((2, 3), {"shape": (4,)}, "the sizes differ"),
        ((2, 3), {"shape": (2, -1)}, "tuple of sizes"),
    )


def _factors(shape: tuple[Any, ...]) -> tuple[int, list[str]]:
    """The size as a product: one int, and the names of the symbolic sizes."""
    static = 1
    symbolic = []
    for n in shape:
        if isinstance(n, int):
            static *= n
        else:
            symbolic.append(n.name)
    return static, sorted(symbolic)


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
        group: list[int] = []
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
    """Result axis k is operand axis perm[k]. dx = g transposed back."""

    shift = "transpose"

    def infer(x: Any, *, perm: tuple[int, ...]) -> TensorType:
        expect_tensor(x)
        if not isinstance(perm, tuple) or sorted(perm) != list(range(x.rank)):
            raise TypeRuleError(f"expected a permutation of {list(range(x.rank))}, got {perm}")
        return x.with_shape(tuple(x.shape[p] for p in perm))

    def evaluate(x: Any, *, perm: Any) -> np.ndarray:
        return np.transpose(x, perm).copy()

    def vjp(b, op, g):
        perm = op["perm"]
        return [b.transpose(g, perm=tuple(perm.index(k) for k in range(len(perm))))]

    def pieces(op):
        perm = op["perm"]
        inverse = [perm.index(k) for k in range(len(perm))]
        return whole(op, AffineMap.select(inverse, len(perm)))

    def simplify(b, op):
        (x,) = op.operands
        perm = op["perm"]
        if perm == tuple(range(len(perm))):
            return [x]
        if inner := defined_by(x, "nd.transpose"):
            composed = tuple(inner["perm"][p] for p in perm)
            return [b.transpose(inner.operands[0], perm=composed)]
        return None

    samples = shape_samples(
        ((2, 3), {"perm": (1, 0)}),
        ((2, 3, 4), {"perm": (2, 0, 1)}),
        ((0, 3), {"perm": (1, 0)}),
        ((), {"perm": ()}),
        ((2, 3), {"perm": (0, 0)}, "expected a permutation"),
    )


def box(
    shape: tuple[Any, ...], low: tuple[int, ...], inner: tuple[Any, ...], operand: int
) -> Piece:
    """Operand `operand`, of shape `inner`, lies in the result of shape `shape` at offset `low`.

    A symbolic size is that of the result, at offset 0."""
    rank = len(shape)
    exprs = tuple(AffineExpr.dim(k, rank) + -low[k] for k in range(rank))
    upper = tuple(at + n if isinstance(n, int) else n for at, n in zip(low, inner, strict=True))
    return Piece(operand, low, upper, AffineMap(rank, 0, exprs))


class Pad(Shape, name="nd.pad"):
    """x with low[k] and high[k] elements of the rank-0 operand `fill` before and after it on axis
    k.

    low, high >= 0; an axis of symbolic size is not padded. dx is the part of g where x lies; the
    cotangent of `fill` is the sum of the rest.
    """

    fill = 1

    def infer(x: Any, fill: Any, *, low: tuple[int, ...], high: tuple[int, ...]) -> TensorType:
        expect_tensor(x, "operand 0")
        if fill != TensorType((), x.dtype):
            raise TypeRuleError(
                f"expected a fill value of type {TensorType((), x.dtype)}, got {fill}"
            )
        for what, widths in (("low", low), ("high", high)):
            ok = isinstance(widths, tuple) and len(widths) == x.rank
            if not ok or not all(type(n) is int and n >= 0 for n in widths):
                raise TypeRuleError(
                    f"expected {x.rank} widths of 0 or more in {what}, got {widths}"
                )
        shape = []
        for n, before, after in zip(x.shape, low, high, strict=True):
            if isinstance(n, Dim) and before + after:
                raise TypeRuleError(f"cannot pad an axis of symbolic size {n}")
            shape.append(n if isinstance(n, Dim) else n + before + after)
        return x.with_shape(tuple(shape))

    def evaluate(x: Any, fill: Any, *, low: Any, high: Any) -> np.ndarray:
        shape = [n + i + j for n, i, j in zip(x.shape, low, high, strict=True)]
        found = np.full(shape, fill, x.dtype)
        found[tuple(slice(i, i + n) for n, i in zip(x.shape, low, strict=True))] = x
        return found

    def vjp(b, op, g):
        x, fill = op.operands
        low, rank = op["low"], x.type.rank
        dx = b.slice(g, starts=low, sizes=x.type.shape, steps=(1,) * rank)
        if constant_value(fill) is not None:
            return [dx, None]
        # The rest is summed with x's part replaced by zeros: subtracting dx's sum would cancel
        # digits.
        rest = b.update_slice(g, b.zeros(x.type), starts=low, steps=(1,) * rank)
        return [dx, b.reduce_sum(rest, axes=tuple(range(rank)))]

    def pieces(op):
        return [box(op.result.type.shape, op["low"], op.operands[0].type.shape, 0)]

    def simplify(b, op):
        x, _ = op.operands
        return [x] if x.type == op.result.type else None

    samples = shape_samples(
        (((3,), ()), {"low": (1,), "high": (2,)}),
        (((2, 3), ()), {"low": (1, 0), "high": (0, 2)}),
        (((0, 2), ()), {"low": (2, 1), "high": (1, 0)}),
        (((2,), ()), {"low": (0,), "high": (0,)}),
        (((), ()), {"low": (), "high": ()}),
        (((2,), ()), {"low": (-1,), "high": (0,)}, "widths of 0 or more in low"),
        (((2,), ()), {"low": (1,), "high": (0, 1)}, "widths of 0 or more in high"),
        (((2,), (1,)), {"low": (1,), "high": (0,)}, "expected a fill value of type"),
    )


def _offsets(op: Any) -> list[int]:
    """Where each operand of a concatenation begins on its axis."""
    sizes = [x.type.shape[op["axis"]] for x in op.operands[:-1]]
    return [sum(sizes[:k]) for k in range(len(op.operands))]


class Concatenate(Shape, name="nd.concatenate"):
    """The operands one after another along `axis`; their other axes agree. dx_k = g's part there.

    Sizes along `axis` that are known at run time only are refused.
    """

    def infer(*xs: Any, axis: int) -> TensorType:
        if not xs:
            raise TypeRuleError("need at least one array to concatenate")
        first = expect_tensor(xs[0], "operand 0")
        if not (type(axis) is int and 0 <= axis < first.rank):
            raise TypeRuleError(f"expected axis in [0, {first.rank}), got {axis}")
        for k, x in enumerate(xs):
            expect_tensor(x, f"operand {k}")
            same = (x.dtype, x.rank) == (first.dtype, first.rank) and all(
                a == b
                for d, (a, b) in enumerate(zip(x.shape, first.shape, strict=True))
                if d != axis
            )
            if not same:
                raise TypeRuleError(
                    f"expected operands that differ on axis {axis} alone, got {first} and {x} "
                    f"(operand {k})"
                )
            if isinstance(x.shape[axis], Dim) and len(xs) > 1:
                raise TypeRuleError(
                    f"cannot concatenate along axis {axis}: its size {x.shape[axis]} in operand "
                    f"{k} is known at run time only"
                )
        if len(xs) == 1:
            return first
        size = sum(x.shape[axis] for x in xs)
        return first.with_shape((*first.shape[:axis], size, *first.shape[axis + 1 :]))

    def evaluate(*xs: Any, axis: int) -> np.ndarray:
        return np.concatenate(xs, axis=axis)

    def vjp(b, op, g):
        found = []
        for x, at in zip(op.operands, _offsets(op), strict=True):
            starts = tuple(at if k == op["axis"] else 0 for k in range(x.type.rank))
            found.append(b.slice(g, starts=starts, sizes=x.type.shape, steps=(1,) * x.type.rank))
        return found

    def pieces(op):
        shape, found = op.result.type.shape, []
        for k, (x, at) in enumerate(zip(op.operands, _offsets(op), strict=True)):
            low = tuple(at if d == op["axis"] else 0 for d in range(len(shape)))
            found.append(box(shape, low, x.type.shape, k))
        return found

    def simplify(b, op):
        if len(op.operands) == 1:
            return [op.operands[0]]
        kept = [x for x in op.operands if x.type.shape[op["axis"]] != 0]
        if kept and len(kept) < len(op.operands):
            return [b.concatenate(*kept, axis=op["axis"])]
        return None

    samples = shape_samples(
        (((2,), (3,)), {"axis": 0}),
        (((2, 3), (2, 1), (2, 2)), {"axis": 1}),
        (((2, 3),), {"axis": 0}),
        (((0, 3), (2, 3)), {"axis": 0}),
        (((2, 3), (2, 2)), {"axis": 0}, "differ on axis 0 alone"),
        (((2,), (3,)), {"axis": 1}, "expected axis in [0, 1)"),
    )
