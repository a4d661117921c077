"""Energies of particles: every pair counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload

SOFTENING = 0.05


def nbody(positions, masses):
    """The potential energy of bodies under gravity, softened (Plummer), with G = 1."""
    between = positions[:, None, :] - positions[None, :, :]
    distance = np.sqrt(np.sum(between * between, axis=2) + SOFTENING**2)
    pairs = np.sum(masses[:, None] * masses[None, :] / distance)
    return -0.5 * (pairs - np.sum(masses * masses) / SOFTENING)


def nbody_jax() -> Callable[..., Any]:
    import jax.numpy as jnp

    def nbody(positions, masses):
        between = positions[:, None, :] - positions[None, :, :]
        distance = jnp.sqrt(jnp.sum(between * between, axis=2) + SOFTENING**2)
        pairs = jnp.sum(masses[:, None] * masses[None, :] / distance)
        return -0.5 * (pairs - jnp.sum(masses * masses) / SOFTENING)

    return nbody


def nbody_torch() -> Callable[..., Any]:
    import torch

    def nbody(positions, masses):
        between = positions[:, None, :] - positions[None, :, :]
        distance = torch.sqrt((between * between).sum(2) + SOFTENING**2)
        pairs = (masses[:, None] * masses[None, :] / distance).sum()
        return -0.5 * (pairs - (masses * masses).sum() / SOFTENING)

    return nbody


def bodies(random: np.random.Generator, bodies: int) -> Arguments:
    return random.normal(size=(bodies, 3)), random.uniform(0.5, 1.5, bodies)


WORKLOADS = (
    Workload(
        name="nbody",
        about="potential energy of bodies: all pairs, the gradient is the forces",
        dtype="float64",
        function=nbody,
        jax=nbody_jax,
        torch=nbody_torch,
        arguments=bodies,
        argnums=(0,),
        sizes={"full": {"bodies": 1000}, "small": {"bodies": 20}},
    ),
)
