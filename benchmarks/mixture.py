"""Statistical models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload

LOG_TWO_PI = math.log(2.0 * math.pi)


def gmm(points, logits, means, log_scales):
    """The log-likelihood of points under a mixture of Gaussians with diagonal covariance.

    points (n, d), logits of the weights (k,), means and logarithms of the scales (k, d).
    """
    scaled = (points[:, None, :] - means) * np.exp(-log_scales)
    constant = np.sum(log_scales, axis=1) + 0.5 * points.shape[1] * LOG_TWO_PI
    weights = logits - np.max(logits)
    weights = weights - np.log(np.sum(np.exp(weights)))
    terms = weights - constant - 0.5 * np.sum(scaled * scaled, axis=2)
    largest = np.max(terms, axis=1)
    return np.sum(largest + np.log(np.sum(np.exp(terms - largest[:, None]), axis=1)))


def gmm_jax() -> Callable[..., Any]:
    import jax
    import jax.numpy as jnp

    def gmm(points, logits, means, log_scales):
        scaled = (points[:, None, :] - means) * jnp.exp(-log_scales)
        constant = jnp.sum(log_scales, axis=1) + 0.5 * points.shape[1] * LOG_TWO_PI
        weights = jax.nn.log_softmax(logits)
        terms = weights - constant - 0.5 * jnp.sum(scaled * scaled, axis=2)
        return jnp.sum(jax.nn.logsumexp(terms, axis=1))

    return gmm


def gmm_torch() -> Callable[..., Any]:
    import torch

    def gmm(points, logits, means, log_scales):
        scaled = (points[:, None, :] - means) * torch.exp(-log_scales)
        constant = log_scales.sum(1) + 0.5 * points.shape[1] * LOG_TWO_PI
        weights = torch.log_softmax(logits, 0)
        terms = weights - constant - 0.5 * (scaled * scaled).sum(2)
        return torch.logsumexp(terms, 1).sum()

    return gmm


def mixture(
    random: np.random.Generator, points: int, components: int, dimensions: int
) -> Arguments:
    return (
        random.normal(size=(points, dimensions)),
        random.normal(size=components),
        random.normal(size=(components, dimensions)),
        0.3 * random.normal(size=(components, dimensions)),
    )


WORKLOADS = (
    Workload(
        name="gmm",
        about="log-likelihood of a Gaussian mixture: reductions over a three-way product",
        dtype="float64",
        function=gmm,
        jax=gmm_jax,
        torch=gmm_torch,
        arguments=mixture,
        argnums=(1, 2, 3),
        sizes={
            "full": {"points": 4000, "components": 25, "dimensions": 32},
            "small": {"points": 30, "components": 3, "dimensions": 4},
        },
    ),
)
