"""What a workload is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Workload:
    """A function whose value and gradient each system computes.

    `function` is plain NumPy and returns one real number. `jax` and `torch` return the same
    function as one writes it there; `torch_compiled` is another form where torch.compile does
    better with it. `arguments` makes the arguments from a random generator and
    the sizes, `argnums` says which of them get a gradient, `sizes` maps "full" and "small" to
    keyword arguments of `arguments`, and `dtype` is that of values and gradients.
    """

    name: str
    about: str
    dtype: str
    function: Callable[..., Any]
    jax: Callable[[], Callable[..., Any]]
    torch: Callable[[], Callable[..., Any]]
    arguments: Callable[..., Arguments]
    argnums: tuple[int, ...]
    sizes: Mapping[str, Mapping[str, int]]
    torch_compiled: Callable[[], Callable[..., Any]] | None = None

    def make(self, sizes: str) -> Arguments:
        """The arguments, the same in every process; KeyError for unknown sizes."""
        return self.arguments(np.random.default_rng(20), **self.sizes[sizes])

    def measures(self, sizes: str) -> str:
        """The sizes in words: "points 4000, components 25"."""
        return ", ".join(f"{name} {value}" for name, value in self.sizes[sizes].items())
