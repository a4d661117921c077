"""Every NumPy function that traced code may call gives NumPy's value, dtype and shape.

A case is (function, arguments); ndarrays, NumPy scalars and Python numbers among the arguments are
traced.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

from gradc.frontend.table import TABLE
from gradc.frontend.unknown import dotted_name
from tests.frontend.sample_arrays import (  # noqa: F401
    ALL,
    F16,
    F32,
    I8,
    NAN,
    ONE,
    U8,
    X0,
    Z32,
    A,
    B,
    C,
    D,
    E,
    I,
    M,
    S,
    V,
    W,
    Z,
    rng,
)
from tests.frontend.traced import assert_as_numpy, identifier, tolerance_of

CASES: list[tuple] = []


def case(function, *args):
    CASES.append((function, args))


def cases(function, *arrays):
    for x in arrays:
        case(function, x)


# ------------------------------------------------------------------------------- reductions
for f in (np.sum, np.mean, np.prod, np.var, np.std, np.any, np.all, np.count_nonzero):
    cases(f, *ALL)
    for axis in (0, 1, -1, (0, 1), (), None):
        case(lambda x, f=f, a=axis: f(x, axis=a), A)
        case(lambda x, f=f, a=axis: f(x, axis=a, keepdims=True), A)
    case(lambda x, f=f: f(x, axis=(0, 2)), C)
    case(lambda x, f=f: f(x, axis=0), E)
    case(lambda x, f=f: f(x, axis=1), F32)
for f in (np.max, np.min, np.amax, np.amin, np.argmax, np.argmin, np.ptp):
    cases(f, V, A, C, F32, F16, I, I8, U8, X0)
    for axis in (0, 1, -1, None):
        case(lambda x, f=f, a=axis: f(x, axis=a), A)
        case(lambda x, f=f, a=axis: f(x, axis=a, keepdims=True), A)
cases(np.max, M, NAN)
cases(np.min, M, NAN)
cases(np.argmax, M, NAN)
for f in (np.cumsum, np.cumprod):
    cases(f, *ALL)
    for axis in (0, 1, -1):
        case(lambda x, f=f, a=axis: f(x, axis=a), A)
    case(lambda x, f=f: f(x, axis=1, dtype=np.float32), A)
for f in (np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin):
    cases(f, NAN, A, I)
    case(lambda x, f=f: f(x, axis=0), NAN)
    case(lambda x, f=f: f(x, axis=1, keepdims=True), NAN)
for f in (np.sum, np.prod):
    case(lambda x, f=f: f(x, dtype=np.float32), A)
    case(lambda x, f=f: f(x, dtype=np.int8), I)
    case(lambda x, f=f: f(x, initial=3.0), A)
    case(lambda x, m, f=f: f(x, where=m, axis=0), A, M)
    case(lambda x, f=f: f(x, where=M), F32)
case(lambda x, m: np.max(x, initial=-9.0, where=m), A, M)
case(lambda x, m: np.min(x, initial=9, where=m, axis=1), I, M)
case(lambda x: np.max(x, axis=0, initial=0.5), A)
case(lambda x, m: np.mean(x, where=m), A, M)
case(lambda x, m: np.mean(x, where=m, axis=1, keepdims=True), F32, M)
case(lambda x, m: np.var(x, where=m, axis=0), A, M)
case(lambda x, m: np.any(x, where=m), M, M)
for ddof in (0, 1, 2):
    case(lambda x, d=ddof: np.var(x, ddof=d), A)
    case(lambda x, d=ddof: np.std(x, axis=1, ddof=d), F32)
case(lambda x: np.var(x, mean=np.mean(x, axis=0, keepdims=True), axis=0), A)
case(lambda x: np.std(x, correction=1), A)
case(lambda x: np.mean(x, dtype=np.float32), A)
case(lambda x, w: np.average(x, weights=w), V, W**2)
case(lambda x, w: np.average(x, axis=1, weights=w), A, ONE[0] ** 2)
case(lambda x, w: np.average(x, axis=0, weights=w, returned=True), A, A**2)
case(np.average, I)
case(lambda x: np.average(x, axis=1, keepdims=True), A)
case(lambda x: sum(x), A)
case(lambda x: sum([x[0], x[1]]), A)
case(lambda x: np.add.reduce(x), A)
case(lambda x: np.add.reduce(x, axis=None), A)
case(lambda x: np.multiply.reduce(x, axis=1, keepdims=True), A)
case(lambda x: np.maximum.reduce(x, axis=1), A)
case(lambda x: np.minimum.reduce(x), I)
case(lambda x: np.logical_and.reduce(x, axis=1), M)
case(lambda x: np.logaddexp.reduce(x, axis=0), A)
case(lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True), A)
case(lambda x: np.hypot.reduce(x, axis=1), A)
case(lambda x: np.bitwise_xor.reduce(x, axis=1), I)
case(lambda x: np.bitwise_and.reduce(x, axis=0), U8)
case(lambda x: np.add.accumulate(x, axis=1), A)
case(lambda x: np.multiply.accumulate(x), V)
case(lambda x: np.maximum.accumulate(x, axis=1), A)
case(lambda x: np.minimum.accumulate(x), V)
case(lambda x: np.logaddexp.accumulate(x), V)
case(lambda x, y: np.multiply.outer(x, y), A, V)
case(lambda x, y: np.subtract.outer(x, y), V, I)
case(lambda x: np.add.outer(x, 2.0), V)
if hasattr(np, "cumulative_sum"):
    case(lambda x: np.cumulative_sum(x, include_initial=True), V)
    case(lambda x: np.cumulative_prod(x, axis=1), A)

# ---------------------------------------------------------------------------------- shapes
for shape in ((4, 3), (12,), (-1,), 12, (2, -1), (2, 2, 3), (1, 12)):
    case(lambda x, s=shape: np.reshape(x, s), A)
    case(lambda x, s=shape: x.reshape(s), I)
case(lambda x: x.reshape(4, 3), A)
case(lambda x: x.reshape(-1, 2), A)
case(lambda x: np.reshape(x, (4, 3), order="F"), A)
case(lambda x: np.reshape(x, (2, 6), order="F"), C[0])
case(lambda x: np.reshape(x, ()), np.ones((1, 1)))
cases(np.ravel, *ALL)
case(lambda x: np.ravel(x, order="F"), A)
case(lambda x: x.ravel(), C)
case(lambda x: x.flatten(), A)
cases(np.transpose, V, A, C, X0)
case(lambda x: np.transpose(x, (2, 0, 1)), C)
case(lambda x: x.transpose(1, 0), A)
case(lambda x: x.transpose((0, 2, 1)), C)
case(lambda x: x.transpose(), C)
case(lambda x: x.T, A)
case(lambda x: x.mT, C)
case(np.matrix_transpose, C)
case(np.permute_dims, A)
case(lambda x: np.swapaxes(x, 0, -1), C)
case(lambda x: x.swapaxes(1, 2), C)
case(lambda x: np.moveaxis(x, 0, -1), C)
case(lambda x: np.moveaxis(x, (0, 1), (-1, 0)), C)
case(lambda x: np.rollaxis(x, 2), C)
case(lambda x: np.rollaxis(x, 0, 3), C)
case(np.squeeze, ONE)
case(lambda x: np.squeeze(x, axis=0), ONE)
case(lambda x: x.squeeze(), np.ones((1, 1)))
case(lambda x: np.expand_dims(x, 0), A)
case(lambda x: np.expand_dims(x, (0, -1)), A)
for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    cases(f, X0, V, A, C)
    case(lambda x, y, f=f: f(x, y), V, A)
case(lambda x: np.broadcast_to(x, (3, 2, 4)), ONE)
case(lambda x: np.broadcast_to(x, (2, 3)), X0)
case(lambda x, y: np.broadcast_arrays(x, y), ONE, A)
case(lambda x: np.diagonal(x), A)
case(lambda x: np.diagonal(x, 1), A)
case(lambda x: np.diagonal(x, -1, 1, 2), C)
case(lambda x: x.diagonal(), A)
for k in (0, 1, -2):
    case(lambda x, k=k: np.diag(x, k), V)
    case(lambda x, k=k: np.diag(x, k), A)
    case(lambda x, k=k: np.triu(x, k), A)
    case(lambda x, k=k: np.tril(x, k), C)
    case(lambda x, k=k: np.trace(x, k), A)
case(np.diagflat, A)
case(lambda x: x.trace(), A)
case(np.shape, A)
case(np.ndim, A)
case(np.size, A)
case(lambda x: np.size(x, 1), A)
case(lambda x: (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides, len(x)), A)

# ------------------------------------------------------------------------------ rearranging
case(lambda x, y: np.concatenate([x, y]), A, ONE)
case(lambda x, y: np.concatenate((x, y), axis=1), A, I)
case(lambda x: np.concatenate([x, x], axis=None), A)
case(lambda x, y: np.concatenate([x, y], dtype=np.float32), A, ONE)
case(lambda x: np.concatenate([x]), V)
case(lambda x: np.concatenate(x), C)
for axis in (0, 1, -1):
    case(lambda x, y, a=axis: np.stack([x, y], axis=a), A, I)
case(lambda x, y: np.vstack([x, y]), V, W)
case(lambda x, y: np.vstack([x, y]), A, ONE)
case(lambda x, y: np.hstack([x, y]), V, W)
case(lambda x, y: np.hstack([x, y]), A, A)
case(lambda x, y: np.dstack([x, y]), A, A)
case(lambda x, y: np.column_stack([x, y]), V, W)
case(lambda x, y: np.append(x, y), V, A)
case(lambda x, y: np.append(x, y, axis=0), A, ONE)
case(lambda x, y: np.block([[x, y], [y, x]]), A, A)
case(lambda x, y: np.block([x, y]), V, W)
for count in (2, 4, [1, 3]):
    case(lambda x, n=count: np.split(x, n, axis=1), A)
    case(lambda x, n=count: np.array_split(x, n), V)
case(lambda x: np.hsplit(x, 2), A)
case(lambda x: np.vsplit(x, 3), A)
case(lambda x: np.dsplit(x, 2), C)
if hasattr(np, "unstack"):
    case(lambda x: np.unstack(x, axis=1), A)
cases(np.flip, V, A, C)
case(lambda x: np.flip(x, 0), A)
case(lambda x: np.flip(x, (0, 2)), C)
case(np.fliplr, A)
case(np.flipud, A)
for k in range(-1, 5):
    case(lambda x, k=k: np.rot90(x, k), A)
case(lambda x: np.roll(x, 2), A)
case(lambda x: np.roll(x, -1, axis=1), A)
case(lambda x: np.roll(x, (1, 2), axis=(0, 1)), A)
case(lambda x: np.roll(x, 7, axis=0), V)
case(lambda x: np.repeat(x, 3), A)
case(lambda x: np.repeat(x, 2, axis=1), A)
case(lambda x: np.repeat(x, [1, 0, 2], axis=0), A)
case(lambda x: x.repeat(2), V)
case(lambda x: np.tile(x, 3), V)
case(lambda x: np.tile(x, (2, 1, 2)), A)
case(lambda x: np.resize(x, (3, 3)), V)
case(lambda x: np.delete(x, 1, axis=0), A)
case(lambda x: np.delete(x, [0, 2], axis=1), A)
for mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    case(lambda x, m=mode: np.pad(x, 2, m), V)
    case(lambda x, m=mode: np.pad(x, ((1, 2), (0, 1)), m), A)
case(lambda x: np.pad(x, 1, constant_values=7), I)
case(lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))), A)

# ------------------------------------------------------------------------------ contraction
case(np.matmul, A, B)
case(operator.matmul, A, B)
case(np.matmul, V, W)
case(np.matmul, A, B[:, 0])
case(np.matmul, A[0], B)
case(np.matmul, C, D)
case(np.matmul, C, B)
case(np.matmul, A, D)
case(np.matmul, C, rng.normal(size=(5, 1, 4, 2)))
case(np.matmul, C, B[:, 0])
case(np.matmul, A[0], D)
case(np.matmul, A[0, :3], D.transpose(0, 2, 1))
case(np.matmul, I, I.T.copy())
case(np.matmul, F32, B)
case(np.matmul, F32, B.astype(np.float32))
case(np.matmul, Z, Z.T.copy())
case(np.matmul, M, M.T.copy())
case(lambda x, y: np.matmul(x, y, dtype=np.float64), F32, F32.T.copy())
for x, y in ((V, W), (A, B), (A, B[:, 0]), (C, B), (C, D), (V, X0), (X0, X0), (Z, Z.T.copy())):
    case(np.dot, x, y)
case(lambda x, y: x.dot(y), A, B)
case(np.inner, V, W)
case(np.inner, A, ONE)
case(np.inner, C, A)
case(np.inner, X0, A)
case(np.vdot, Z, Z)
case(np.vdot, A, A)
case(np.outer, A, V)
case(np.outer, I, V)
case(np.kron, A, B)
case(np.kron, V, A)
case(lambda x, y: np.tensordot(x, y, 1), A, B)
case(lambda x, y: np.tensordot(x, y, ((1, 2), (2, 1))), C, D)
case(lambda x, y: np.tensordot(x, y, axes=([0], [0])), A, A)
case(lambda x, y: np.tensordot(x, y, 0), V, W)
case(np.vecdot, A, A)
case(lambda x, y: np.vecdot(x, y), Z, Z)
case(lambda x, y: np.linalg.vecdot(x, y, axis=0), A, A)
if hasattr(np, "matvec"):
    case(np.matvec, C, ONE[0])
    case(np.vecmat, A[:, :3][0], C)
    case(np.matvec, A, ONE[0])
case(lambda x, y, z: np.linalg.multi_dot([x, y, z]), A, B, B.T.copy())
case(lambda x, y, z: np.linalg.multi_dot([x, y, z]), A[0], S, B)
for n in (0, 1, 2, 3, 5):
    case(lambda x, n=n: np.linalg.matrix_power(x, n), S)

# ---------------------------------------------------------------------------------- einsum
for text, operands in (
    ("ij,jk->ik", (A, B)), ("ij,jk", (A, B)), ("ij->ji", (A,)), ("ij", (A,)), ("ba", (A,)),
    ("ij->", (A,)), ("ij->i", (A,)), ("ii", (S,)), ("ii->i", (S,)), ("i,i", (V, W)),
    ("i,j->ij", (V, W)), ("ij,ij->i", (A, A)), ("ij,ij->ij", (A, A)), ("bij,bjk->bik", (C, D)),
    ("bij,bjk", (C, D)), ("...ij,...jk->...ik", (C, D)), ("...j,j->...", (C, A[0])),
    ("i...->...", (A,)), ("i...,i...->...", (A, A)), ("ij,jk,kl->il", (A, B, B.T.copy())),
    ("ij,ij,ij->", (A, A, A)), ("bij,ij->b", (C, A)), ("bhqd,bhkd->bhqk",
     (rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 6, 5)))), ("ij,k->ijk", (A, V)),
    ("ij,kj->ik", (A, ONE)), ("ij,ij->ij", (A, ONE)), ("iij->ij", (rng.normal(size=(3, 3, 2)),)),
    ("ijk,jil->kl", (rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 2, 5)))),
    ("a,ab,abc->abc", (A[:, 0], A, rng.normal(size=(3, 4, 2)))), (" i j , j k -> i k ", (A, B)),
    ("...->...", (A,)), ("...,...", (A, X0)), ("ij,j", (A, A[0])), ("iji->j",
     (rng.normal(size=(3, 2, 3)),)), ("ij,jk->ki", (A, B)), ("i->ii"[:1], (V,)),
):  # fmt: skip
    case(lambda *xs, t=text: np.einsum(t, *xs), *operands)
case(lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), A, B)
case(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), A, B)
case(lambda x, y: np.einsum(x, [Ellipsis, 0], y, [0], [Ellipsis]), C, A[0])
case(lambda x, y: np.einsum("ij,jk", x, y), I, I.T.copy())
case(lambda x, y: np.einsum("ij,jk", x, y), Z, B)
case(lambda x, y: np.einsum("ij,jk", x, y), F32, B)
case(lambda x, y: np.einsum("ij,jk", x, y, dtype=np.complex128), A, B)
case(lambda x, y: np.einsum("ij,jk,k->i", x, y, W, optimize=False), A, B)


@pytest.mark.parametrize("item", CASES, ids=identifier)
def test_as_numpy(item):
    function, args = item
    assert_as_numpy(function, *args, tolerance=tolerance_of(args))


def test_the_table_names_are_public_functions():
    for function in TABLE:
        name = dotted_name(function)
        module, _, own = name.rpartition(".")
        assert own and callable(function), name
        assert module.split(".")[0] in ("numpy", "math", "_operator", "builtins", "scipy"), name
