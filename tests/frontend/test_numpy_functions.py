"""Every NumPy function that traced code may call gives NumPy's value, dtype and shape.

A case is (function, arguments); ndarrays, NumPy scalars and Python numbers among the arguments are traced.
"""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from gradc.frontend.table import TABLE
from gradc.frontend.unknown import dotted_name
from tests.frontend.traced import assert_as_numpy

rng = np.random.default_rng(7)
V = rng.normal(size=5)
W = rng.normal(size=5)
A = rng.normal(size=(3, 4))
B = rng.normal(size=(4, 5))
C = rng.normal(size=(2, 3, 4))
D = rng.normal(size=(2, 4, 3))
S = rng.normal(size=(4, 4))
F32 = A.astype(np.float32)
F16 = A.astype(np.float16)
I = rng.integers(-5, 9, (3, 4))
I8 = I.astype(np.int8)
U8 = rng.integers(0, 200, (3, 4)).astype(np.uint8)
M = A > 0
Z = A + 1j * rng.normal(size=(3, 4))
Z32 = Z.astype(np.complex64)
E = np.zeros((0, 3))
NAN = np.where(A > 1, np.nan, A)
ONE = rng.normal(size=(1, 4))
X0 = np.array(1.5)
ALL = (V, A, C, F32, F16, I, I8, U8, M, Z, Z32, X0)

CASES: list[tuple] = []
STAGED: list[tuple] = []  # what no protocol of NumPy's reaches: creation, math, built-in functions


def case(function, *args):
    CASES.append((function, args))


def staged(function, *args):
    STAGED.append((function, args))


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

# -------------------------------------------------------------------------------- creation
staged(lambda x: np.zeros(3) + x[0, 0], A)
staged(lambda x: np.zeros((2, 3), np.float32), A)
staged(lambda x: np.ones(x.shape[1]), A)
staged(lambda x: np.full((2, 2), 7), A)
staged(lambda x: np.full((2, 4), x[0]), A)
staged(lambda x: np.full(3, x[0, 0], np.float32), A)
for f in (np.zeros_like, np.ones_like):
    cases(f, A, I, M, F32, X0)
    staged(lambda x, f=f: f(x, dtype=np.int32, shape=(2,)), A)
staged(lambda x: np.full_like(x, 2), A)
staged(lambda x: np.full_like(x, 2.7), I)
staged(lambda x: np.empty_like(x).shape, A)
staged(lambda x: np.arange(5), A)
staged(lambda x: np.arange(2, 11, 3), A)
staged(lambda x: np.arange(0.0, 1.0, 0.25), A)
staged(lambda x: np.arange(5, dtype=np.float32), A)
staged(lambda x: np.arange(x.shape[0]) * x[:, 0], A)
staged(lambda n: np.arange(n), 4)
staged(lambda n: np.zeros(n + 1), 4)
staged(lambda n: np.ones((n, 2 * n)), 2)
staged(lambda x: np.eye(3), A)
staged(lambda x: np.eye(2, 3, 1, np.float32), A)
staged(lambda x: np.identity(3), A)
staged(lambda x: np.tri(3, 4, -1), A)
staged(lambda x: np.linspace(0, 1, 5), A)
staged(lambda x: np.linspace(0, 1, 5, endpoint=False), A)
staged(lambda a, b: np.linspace(a, b, 7), 0.5, 2.5)
staged(lambda a, b: np.linspace(a, b, 4, endpoint=False), 0.5, 2.5)
staged(lambda a: np.linspace(a, 3, 4, axis=1), V)
staged(lambda a: np.linspace(a, 3, 1), V)
staged(lambda a: np.linspace(0, a, 5, retstep=True)[0], np.float32(2))
staged(lambda a: np.logspace(a, 2, 5), 0.5)
staged(lambda x: np.geomspace(1, 100, 5), A)
staged(lambda x, y: np.array([x, y]), A, A)
staged(lambda x: np.array([x[0, 0], 2.0, x[1, 1]]), A)
staged(lambda x: np.array([[x[0, 0], 1], [2, x[1, 1]]]), A)
staged(lambda x: np.array([x[0], x[1] * 2, np.arange(4)]), F32)
staged(lambda x, y: np.array([x, y]), 1.5, 2)
staged(lambda x, y: np.array([x, y], dtype=np.float32), 1.5, 2)
staged(lambda x: np.array(x, ndmin=3), V)
staged(lambda x: np.array(x, dtype=np.int32), A)
staged(lambda x: np.asarray(x), A)
staged(lambda x: np.asarray(x, np.float32), A)
staged(lambda x: np.asarray([x, 1.0]), 2.0)
staged(lambda x: np.ascontiguousarray(x), A)
case(np.copy, A)
staged(lambda x: x.copy(), A)
staged(lambda x, y: np.meshgrid(x, y), V, A[0])
staged(lambda x, y: np.meshgrid(x, y, indexing="ij"), V, A[0])
staged(lambda x, y: np.meshgrid(x, y, sparse=True), V, A[0])
staged(lambda x, y, z: np.meshgrid(x, y, z), V, A[0], W[:2])
staged(lambda x: np.indices((2, 3)), A)
case(np.vander, V)
staged(lambda x: np.vander(x, 3, increasing=True), V)

# -------------------------------------------------------------------------------- selection
case(np.where, M, A, A * 2)
case(np.where, M, A, 0.0)
case(np.where, M, F32, 0)
case(np.where, M, F32, 0.5)
case(np.where, M, I, A)
case(np.where, A, A, ONE)
case(lambda x: np.where(x > 0, x, -x), F32)
case(lambda x: np.where(True, x, 0), A)
case(np.where, M[0, 0], 1.0, 2.0)
case(lambda m: np.where(m), M)
case(lambda x: np.select([x > 1, x > 0], [x, x * 2], -1.0), A)
case(lambda x: np.select([x > 1, x > 0], [x, 2 * x]), F32)
case(lambda k, x, y: np.choose(k, [x, y]), M.astype(int), A, I)
case(lambda k, x, y: np.choose(k, [x, y], mode="wrap"), I, A, A + 1)
for low, high in ((-0.5, 0.5), (None, 0.5), (-0.5, None), (0, 1)):
    cases(lambda x, a=low, b=high: np.clip(x, a, b), A, F32, I, F16)
    case(lambda x, a=low, b=high: x.clip(a, b), A)
case(lambda x: np.clip(x, 0, 300), U8)
case(lambda x: np.clip(x, -5, 20), U8)
case(np.clip, A, ONE, A + 1)
case(lambda x: np.clip(x, min=0.0, max=1.0), A)
case(lambda x: x.clip(max=0.3), A)
IDX = np.array([2, 0, -1])
case(lambda x: np.take(x, [0, 2, 5]), A)
case(lambda x: np.take(x, 1, axis=0), A)
case(lambda x, k: np.take(x, k, axis=0), A, IDX)
case(lambda x, k: np.take(x, k, axis=1, mode="wrap"), A, IDX + 7)
case(lambda x, k: np.take(x, k, axis=1, mode="clip"), A, IDX * 9)
case(lambda x: x.take([[0, 1], [2, 3]], axis=1), A)
case(lambda x: np.take_along_axis(x, np.argmax(x, axis=1)[:, None], axis=1), A)
case(lambda x, k: np.take_along_axis(x, k, axis=1), A, np.argsort(A, axis=1))
case(lambda x, k: np.take_along_axis(x, k, axis=0), A, np.array([[0, -1, 2, 1]]))
case(lambda x, k: np.take_along_axis(x, k, axis=None), A, IDX)
case(np.nonzero, A > 0.3)
case(lambda x: x.nonzero(), I)
case(np.flatnonzero, M)
case(np.argwhere, M)
case(lambda x: np.compress([True, False, True], x, axis=0), A)
case(lambda m, x: np.compress(m, x, axis=1), M[0], A)
case(np.extract, M, A)
case(lambda k: np.unravel_index(k, (3, 4)), np.array([0, 5, 11]))
case(lambda a, b: np.ravel_multi_index((a, b), (3, 4)), np.array([0, 2]), np.array([3, 1]))
case(lambda x: np.isin(x, [0, 2, 5]), I)
case(lambda x: np.isin(x, [0, 2], invert=True), I)
case(lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda t: -t, lambda t: t * 2]), A)
case(lambda x: np.piecewise(x, [x < 0], [-1.0, 1.0]), A)
case(np.isclose, A, A + 1e-9)
case(lambda x: np.isclose(x, 0.5, atol=0.3), A)
case(lambda x, y: np.isclose(x, y, equal_nan=True), NAN, NAN)

# ------------------------------------------------------------------------------- arithmetic
for digits in (0, 1, 2, -1):
    cases(lambda x, d=digits: np.round(x, d), A * 30, F32, I, Z)
    case(lambda x, d=digits: x.round(d), A)
cases(np.round, M, I8)
cases(np.fix, A, F32)
cases(np.nan_to_num, NAN, np.array([np.inf, -np.inf, np.nan, 1.0]), I, F32)
case(
    lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=3.0), np.array([np.inf, -np.inf, np.nan])
)
for f in (np.real, np.imag, np.angle, np.isreal, np.iscomplex, np.conj):
    cases(f, A, Z, Z32, I)
case(lambda z: (z.real, z.imag, z.conj()), Z)
case(lambda z: np.angle(z, deg=True), Z)
cases(np.iscomplexobj, A, Z)
cases(np.isrealobj, A, Z)
SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
cases(np.isposinf, SPECIAL)
cases(np.isneginf, SPECIAL)
cases(np.sinc, A, np.array([0.0, 1.0, 0.5]), I, F32)
case(np.unwrap, np.cumsum(rng.uniform(-3, 3, 12)) % 6)
case(np.cross, rng.normal(size=(5, 3)), rng.normal(size=(5, 3)))
case(np.cross, A[:, 0], A[:, 1])
case(lambda a, b: np.cross(a, b, axis=0), A, A * 2 + 1)
for n in (0, 1, 2):
    case(lambda x, n=n: np.diff(x, n), A)
    case(lambda x, n=n: np.diff(x, n, axis=0), I)
case(lambda x: np.diff(x, prepend=0.0), V)
case(lambda x: np.diff(x, append=x[:, :1]), A)
case(np.diff, M)
case(np.ediff1d, V)
case(lambda x: np.ediff1d(x, to_end=9.0, to_begin=[1.0, 2.0]), V)
for order in (1, 2):
    case(lambda x, o=order: np.gradient(x, edge_order=o), V)
    case(lambda x, o=order: np.gradient(x, 0.5, edge_order=o), A)
    case(lambda x, t, o=order: np.gradient(x, t, edge_order=o), V, np.cumsum(W**2 + 0.1))
    case(lambda x, o=order: np.gradient(x, axis=1, edge_order=o), A)
case(np.trapezoid, A)
case(lambda y, x: np.trapezoid(y, x), A, A[0] * 0 + np.arange(4.0))
case(lambda y: np.trapezoid(y, dx=0.1, axis=0), A)
case(np.polyval, V, A)
case(lambda x: np.polyval([1, 2, 3], x), A)
case(np.polyder, V)
case(np.cov, A)
case(lambda x: np.cov(x, rowvar=False), A)
case(lambda x, y: np.cov(x, y, bias=True), V, W)
case(np.corrcoef, A)
case(lambda x: np.ldexp(x, 3), A)
case(np.ldexp, A, I8.astype(np.int32))
case(lambda x: np.modf(x), A)
case(lambda x: divmod(x, 0.7), A)
case(lambda x: np.divmod(x, 3), I)
case(lambda x: abs(x), I)
case(lambda x: +x, A)
case(lambda x: ~x, M)
case(lambda x: x.astype(np.float32), A)
case(lambda x: x.astype(int), A)
case(lambda x: x.astype(bool), I)
case(lambda x: x.astype(complex), F32)

# ------------------------------------------------------------------------------------ norms
for order in (None, 2, 1, 0, 3, 0.5, np.inf, -np.inf, -1):
    case(lambda x, o=order: np.linalg.norm(x, o), V)
    case(lambda x, o=order: np.linalg.norm(x, o, axis=1), A)
    case(lambda x, o=order: np.linalg.norm(x, o, axis=0, keepdims=True), F32)
    if order is not None:
        case(lambda x, o=order: np.linalg.vector_norm(x, ord=o), A)
        case(lambda x, o=order: np.linalg.vector_norm(x, ord=o, axis=(0, 2)), C)
for order in (None, "fro", 1, -1, np.inf, -np.inf):
    case(lambda x, o=order: np.linalg.norm(x, o), A)
    case(lambda x, o=order: np.linalg.norm(x, o, axis=(2, 0)), C)
    case(lambda x, o=order: np.linalg.norm(x, o, axis=(0, 1), keepdims=True), C)
cases(np.linalg.norm, C, Z, I)
case(lambda x: np.linalg.matrix_norm(x), C)

# ---------------------------------------------------------------------------- scalars, Python
staged(lambda x: float(x[0]) * 2, V)
staged(lambda x: math.sin(x) + math.exp(x), 0.7)
staged(lambda x: math.log(x, 2), 0.7)
staged(lambda x, y: math.hypot(x, y, 1.5), 0.7, 0.2)
staged(lambda x, y: math.atan2(x, y), 0.7, 0.2)
staged(lambda x: math.sqrt(x), 4)
staged(lambda x: (math.floor(x), math.ceil(x), math.trunc(x)), 2.5)
staged(lambda x: math.pow(x, 2.5), 1.5)
staged(lambda x: (math.degrees(x), math.radians(x)), 1.5)
staged(lambda x: math.modf(x), 2.75)
staged(lambda x: math.prod([x, x, 2]), 1.5)
staged(lambda x: math.fsum([x, x, 2]), 1.5)
staged(lambda x, y: math.dist([x, y], [1.0, 2.0]), 1.5, 2.5)
staged(lambda x: math.erf(x) + math.erfc(x) * 2, 0.3)
staged(lambda x: (math.isfinite(x), math.isnan(x)), 0.3)
staged(lambda x: (int(x), float(x), complex(x), bool(x)), 2)
staged(lambda x, y: (max(x, y), min(x, y)), 1.5, 2.5)
staged(lambda x, y: (max(x, y, 0.0), min(x, y, 9.0)), 1.5, 2.5)
staged(lambda x: (max(x, 0.0), max(0.0, x)), -1.5)
staged(lambda x: (max([x, 2.0]), min(x, 1.0)), 1.5)
staged(lambda x: (round(x), round(x, 1)), 2.46)
staged(lambda x: (round(x), round(x, -1)), 27)
staged(lambda x: round(x, 1), np.float32(2.45))
staged(lambda x: (abs(x), -x, divmod(x, 2)), -7)
staged(lambda x: pow(x, 3), 1.5)
staged(lambda x: [row * 2 for row in x], A)
staged(lambda x: x[0] * 2 if isinstance(x, np.ndarray) else 0, A)
staged(lambda x: (np.isscalar(x), np.result_type(x, np.float32)), np.float64(2))
staged(lambda x: x.item(), np.array([[2.5]]))
staged(lambda x: np.sin(x), 0.5)
staged(lambda x: np.add(x, 1), 2)
staged(lambda x, y: np.multiply(x, y), 2.0, F32)
staged(lambda x: np.maximum(x, 0), F32)
staged(lambda x: np.sqrt(x), np.float32(2))
staged(lambda x: x * 2.0, np.float32(2))
staged(lambda x: x + 1, X0)


def identifier(item):
    function, args = item
    name = getattr(function, "__name__", "f")
    shapes = "-".join(f"{getattr(x, 'dtype', type(x).__name__)}{list(np.shape(x))}" for x in args)
    return f"{name}-{shapes}".replace(" ", "")


@pytest.mark.parametrize("item", CASES, ids=identifier)
def test_as_numpy(item):
    function, args = item
    assert_as_numpy(function, *args, tolerance=_tolerance(args))


def _tolerance(args):
    """Wider where sums in half precision may round differently."""
    return 1e-2 if any(getattr(x, "dtype", None) == np.float16 for x in args) else None


@pytest.mark.parametrize("item", STAGED, ids=identifier)
def test_as_numpy_when_calls_are_staged(item):
    function, args = item
    assert_as_numpy(function, *args, staged=True)


def test_the_table_names_are_public_functions():
    for function in TABLE:
        name = dotted_name(function)
        module, _, own = name.rpartition(".")
        assert own and callable(function), name
        assert module.split(".")[0] in ("numpy", "math", "_operator", "builtins", "scipy"), name
