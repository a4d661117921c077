"""Gradients of functions that are written in several operations, against central differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

from gradc.frontend.trace import Trace
from gradc.ir.interp import run_function
from gradc.passes.backward import differentiate
from tests.frontend.traced import traced_argument, with_table

rng = np.random.default_rng(11)
A = rng.normal(size=(3, 4))
B = rng.normal(size=(4, 2))
V = rng.normal(size=5)
P = rng.uniform(0.2, 0.8, (3, 4))
K = np.array([2, 0, -1, 2])


def gradients(function, *args):
    trace = Trace("f")
    with trace.active():
        tracers = [traced_argument(trace, x, f"x{k}") for k, x in enumerate(args)]
        result = with_table(function)(*tracers)
    built = trace.finish([result])
    both = differentiate(built, tuple(range(len(args))), name="g")
    value, *found = run_function(both, args)
    return value, found


def differences(function, args, step=1e-6):
    found = []
    for k, x in enumerate(args):
        slope = np.zeros_like(x)
        for at in np.ndindex(x.shape):
            moved = []
            for sign in (1, -1):
                changed = [a.copy() for a in args]
                changed[k][at] += sign * step
                moved.append(function(*changed))
            slope[at] = (moved[0] - moved[1]) / (2 * step)
        found.append(slope)
    return found


CASES = [
    (lambda x: np.std(x), A),
    (lambda x: np.sum(np.std(x, axis=1, ddof=1) ** 3), A),
    (lambda x: np.sum(np.var(x, axis=0) ** 2), A),
    (lambda x: np.linalg.norm(x), A),
    (lambda x: np.sum(np.linalg.norm(x, axis=1) ** 3), A),
    (lambda x: np.sum(np.linalg.norm(x, 3, axis=0)), A),
    (lambda x: np.linalg.norm(x, 1), A),
    (lambda x: np.linalg.norm(x, np.inf), V),
    (lambda x: scipy.special.logsumexp(x) ** 2, A),
    (lambda x: np.sum(scipy.special.softmax(x, axis=1) ** 2), A),
    (lambda x: np.sum(scipy.special.log_softmax(x, axis=0) ** 2), A),
    (lambda x: np.sum(scipy.special.xlogy(x, x)), P),
    (lambda x: np.sum(scipy.special.entr(x)), P),
    (lambda x: np.sum(scipy.special.logit(x) ** 2), P),
    (lambda x: np.sum(scipy.special.log_expit(x) ** 2), A),
    (lambda x, y: np.sum(scipy.special.rel_entr(x, y)), P, P[::-1].copy()),
    (lambda x, y: np.sum(np.einsum("ij,jk->ik", x, y) ** 2), A, B),
    (lambda x, y: np.sum(np.einsum("ij,jk,lj->il", x, y, x) ** 2), A, B),
    (lambda x: np.einsum("ii->", x @ x.T) ** 2, A),
    (lambda x, y: np.sum(np.tensordot(x, y, 1) ** 2), A, B),
    (lambda x, y: np.sum(np.kron(x, y) ** 3), A, B),
    (lambda x: np.sum(np.outer(x, x) ** 3), V),
    (lambda x: np.sum(np.sinc(x) ** 2), A),
    (lambda x: np.sum(np.cumsum(x) ** 2), V),
    (lambda x: np.sum(np.cumprod(x) ** 2), V),
    (lambda x: np.sum(np.diff(x, 2) ** 2), V),
    (lambda x: np.sum(np.gradient(x, 0.5) ** 2), V),
    (lambda x: np.trapezoid(x**2, dx=0.1), V),
    (lambda x: np.sum(np.polyval(x, 0.7) ** 2), V),
    (lambda x: np.sum(x[K % 3, K] ** 3), A),
    (lambda x: np.sum(np.take(x, K, axis=1) ** 2), A),
    (lambda x: np.sum(np.where(x > 0, x**2, -x)), A),
    (lambda x: np.sum(np.clip(x, -0.5, 0.5) ** 2), A),
    (lambda x: np.sum(np.pad(x, 1, "edge") ** 2), A),
    (lambda x: np.sum(np.roll(x, 1, axis=0) * x), A),
    (lambda x: np.sum(np.tile(x, (2, 1)) ** 3), V),
    (lambda x: np.sum(np.average(x, axis=0, weights=x[:, 0] ** 2)), A),
    (lambda x: np.sum(np.cov(x) ** 2), A),
    (lambda x: np.sum(np.logaddexp.reduce(x, axis=0) ** 2), A),
    (lambda x: np.sum(np.maximum.accumulate(x) ** 2), V),
    (lambda x: np.sum(np.triu(x) ** 3), A),
    (lambda x: np.prod(x), V),
    (lambda x: np.sum(np.linspace(x[0], x[1], 7) ** 2), V),
    (lambda x: np.sum(x[x > 0] ** 3), A),
]  # fmt: skip


@pytest.mark.parametrize("item", CASES, ids=[str(k) for k in range(len(CASES))])
def test_gradient(item):
    function, *args = item
    value, found = gradients(function, *args)
    np.testing.assert_allclose(value, function(*args), rtol=1e-12)
    for slope, expected in zip(found, differences(function, args)):
        np.testing.assert_allclose(slope, expected, rtol=2e-6, atol=2e-7)


def test_conventions_at_singular_points():
    zero = np.zeros(3)
    for function, expected in (
        (lambda x: np.linalg.norm(x), 0.0),
        (lambda x: np.sum(np.linalg.norm(x[None], axis=1)), 0.0),
        (lambda x: np.sum(np.maximum(x, 0)), 0.0),
        (lambda x: np.sum(np.maximum(0.0, x)), 0.0),
        (lambda x: max(x[0], 0.0) + max(0.0, x[1]) + x[2] * 0, 0.0),
        (lambda x: np.sum(np.clip(x, 0.0, 1.0)), 1.0),
        (lambda x: np.sum(np.clip(x, 0.0, None)), 1.0),
        (lambda x: np.sum(np.sinc(x)), 0.0),
        (lambda x: np.sum(np.abs(x)), 0.0),
        (lambda x: np.sum(scipy.special.xlogy(x * 0, x)), 0.0),
    ):
        _, (slope,) = gradients(function, zero)
        np.testing.assert_array_equal(slope, np.full(3, expected))


def test_where_keeps_nan_out():
    x = np.array([-1.0, 0.0, 4.0])
    _, (slope,) = gradients(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), x)
    np.testing.assert_allclose(slope, [0, 0, 0.25])
