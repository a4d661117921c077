"""scipy.special on tracers equals SciPy, edge values and dtypes included."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from tests.frontend.traced import assert_as_numpy

rng = np.random.default_rng(5)
A = rng.normal(size=(3, 4))
P = rng.uniform(0.05, 0.95, (3, 4))
EDGES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-8, -1e-8, 40.0, -40.0, 0.5])
GRID = tuple(g.ravel() for g in np.meshgrid(EDGES, EDGES))

UNARY = [
    "expit", "log_expit", "logit", "erf", "erfc", "entr", "exp2", "exp10", "expm1", "log1p", "cbrt",
    "cosm1", "exprel", "ndtr",
]  # fmt: skip
BINARY = ["xlogy", "xlog1py", "rel_entr", "kl_div", "huber", "pseudo_huber", "boxcox"]


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    function = getattr(scipy.special, name)
    for x in (
        A,
        P,
        P.astype(np.float32),
        np.arange(1, 4),
        np.float64(0.3),
        np.arange(3, dtype=np.int8),
    ):
        assert_as_numpy(function, x, tolerance=2e-6 if np.asarray(x).dtype != np.float64 else 1e-11)


@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("cosm1", "exp10")])
def test_unary_edges(name):
    assert_as_numpy(getattr(scipy.special, name), EDGES, tolerance=1e-9)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    function = getattr(scipy.special, name)
    assert_as_numpy(function, P, P[::-1] + 0.1)
    assert_as_numpy(function, P.astype(np.float32), P[0].astype(np.float32), tolerance=1e-5)
    assert_as_numpy(lambda x: function(x, 0.5), P)
    assert_as_numpy(lambda x: function(2, x), P.astype(np.float32), tolerance=1e-5)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div"])
def test_binary_edges(name):
    assert_as_numpy(getattr(scipy.special, name), *GRID)


BIG = np.array([[1000.0, 1001.0], [-1000.0, -1001.0], [0.0, -np.inf], [-np.inf, -np.inf]])
W = np.array([[1.0, -2.0], [0.0, 3.0], [1.0, 1.0], [2.0, 0.5]])

STAGED = [
    (lambda x: scipy.special.logsumexp(x), A),
    (lambda x: scipy.special.logsumexp(x, axis=0), A),
    (lambda x: scipy.special.logsumexp(x, axis=(0, 1), keepdims=True), A),
    (lambda x: scipy.special.logsumexp(x, axis=1), BIG),
    (lambda x: scipy.special.logsumexp(x, axis=1), A.astype(np.float32)),
    (lambda x: scipy.special.logsumexp(x), np.arange(4)),
    (lambda x, b: scipy.special.logsumexp(x, axis=1, b=b), A, P),
    (lambda x, b: scipy.special.logsumexp(x, axis=1, b=b, return_sign=True), BIG[:3], W[:3]),
    (lambda x: scipy.special.softmax(x), A),
    (lambda x: scipy.special.softmax(x, axis=1), A),
    (lambda x: scipy.special.softmax(x, axis=-1), BIG[:3]),
    (lambda x: scipy.special.softmax(x, axis=0), A.astype(np.float32)),
    (lambda x: scipy.special.log_softmax(x), A),
    (lambda x: scipy.special.log_softmax(x, axis=-1), A),
    (lambda x: scipy.special.log_softmax(x, axis=-1), BIG[:2]),
    (lambda x: scipy.special.log_softmax(x, axis=0), A.astype(np.float32)),
]  # fmt: skip


@pytest.mark.parametrize("item", STAGED, ids=lambda item: f"{len(item)}-{item[1].dtype}")
def test_functions_over_an_axis(item):
    function, *args = item
    assert_as_numpy(function, *args, staged=True)
