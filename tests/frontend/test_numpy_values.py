"""Creation, selection, arithmetic, norms and Python functions: every function that traced code may
call gives NumPy's value, dtype and shape.

A case is (function, arguments); ndarrays, NumPy scalars and Python numbers among the arguments are
traced.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

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
STAGED: list[tuple] = []  # what no protocol of NumPy's reaches: creation, math, built-in functions


def case(function, *args):
    CASES.append((function, args))


def staged(function, *args):
    STAGED.append((function, args))


def cases(function, *arrays):
    for x in arrays:
        case(function, x)


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
staged(lambda x: max(v * 2 for v in x), V)
staged(lambda x: (min(3, 2), max([], default=4), max([1, -5], key=abs)), V)
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


@pytest.mark.parametrize("item", CASES, ids=identifier)
def test_as_numpy(item):
    function, args = item
    assert_as_numpy(function, *args, tolerance=tolerance_of(args))


@pytest.mark.parametrize("item", STAGED, ids=identifier)
def test_as_numpy_when_calls_are_staged(item):
    function, args = item
    assert_as_numpy(function, *args, staged=True)
