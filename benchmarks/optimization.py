"""Test functions of optimization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload


def rosenbrock(x):
    """The sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2 (Rosenbrock 1960, extended)."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_jax() -> Callable[..., Any]:
    import jax.numpy as jnp

    def rosenbrock(x):
        return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return rosenbrock


def rosenbrock_torch() -> Callable[..., Any]:
    def rosenbrock(x):
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    return rosenbrock


def point(random: np.random.Generator, elements: int) -> Arguments:
    return (random.uniform(-2.0, 2.0, elements),)


WORKLOADS = tuple(
    Workload(
        name=f"rosenbrock_{label}",
        about=f"Rosenbrock's function: {what}",
        dtype="float64",
        function=rosenbrock,
        jax=rosenbrock_jax,
        torch=rosenbrock_torch,
        arguments=point,
        argnums=(0,),
        sizes={"full": {"elements": elements}, "small": {"elements": small}},
    )
    for label, elements, small, what in (
        ("2", 2, 2, "what a call costs"),
        ("1e6", 10**6, 1000, "elementwise work on shifted views of one array"),
    )
)
