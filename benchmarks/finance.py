"""Prices of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload


def normal_cdf(z):
    """The normal distribution function, approximately, by tanh (Page 1977)."""
    return 0.5 * (1.0 + np.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))


def black_scholes(spot, strike, years, rate, volatility):
    """The summed price of European calls (Black and Scholes 1973)."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    return np.sum(spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d2))


def black_scholes_jax() -> Callable[..., Any]:
    import jax.numpy as jnp

    def cdf(z):
        return 0.5 * (1.0 + jnp.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))

    def black_scholes(spot, strike, years, rate, volatility):
        spread = volatility * jnp.sqrt(years)
        d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        d2 = d1 - spread
        return jnp.sum(spot * cdf(d1) - strike * jnp.exp(-rate * years) * cdf(d2))

    return black_scholes


def black_scholes_torch() -> Callable[..., Any]:
    import torch

    def cdf(z):
        return 0.5 * (1.0 + torch.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))

    def black_scholes(spot, strike, years, rate, volatility):
        spread = volatility * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
        d2 = d1 - spread
        return (spot * cdf(d1) - strike * torch.exp(-rate * years) * cdf(d2)).sum()

    return black_scholes


def options(random: np.random.Generator, options: int) -> Arguments:
    ranges = ((80.0, 120.0), (80.0, 120.0), (0.1, 2.0), (0.01, 0.05), (0.1, 0.5))
    return tuple(random.uniform(low, high, options) for low, high in ranges)


WORKLOADS = (
    Workload(
        name="black_scholes",
        about="prices of options: a long chain of elementwise functions, five gradients",
        dtype="float64",
        function=black_scholes,
        jax=black_scholes_jax,
        torch=black_scholes_torch,
        arguments=options,
        argnums=(0, 1, 2, 3, 4),
        sizes={"full": {"options": 10**6}, "small": {"options": 1000}},
    ),
)
