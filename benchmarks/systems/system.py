"""What an adapter is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from gradc.benchmarks.workload import Arguments, Workload

Gradients = tuple[np.ndarray, ...]


class System(ABC):
    """Runs a workload in one system, in a process of its own; heavy imports happen in methods.

    name: as in `--systems`. requires: the distributions that must be installed. note: what its
    figures cover, if not value and gradients. gives_gradients: False for the value alone.
    has_cache: it keeps compiled code on disk, in the folder that `environment` names.
    """

    name: ClassVar[str] = ""
    requires: ClassVar[tuple[str, ...]] = ()
    note: ClassVar[str] = ""
    gives_gradients: ClassVar[bool] = True
    has_cache: ClassVar[bool] = False

    @classmethod
    def missing(cls) -> list[str]:
        """The required distributions that are not installed."""
        return [name for name in cls.requires if find_spec(name) is None]

    @classmethod
    def versions(cls) -> str:
        """Names and versions of what it is made of."""
        found = []
        for name in cls.requires:
            try:
                found.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                found.append(name)
        return ", ".join(found)

    @classmethod
    def environment(cls, threads: int, cache: str) -> dict[str, str]:
        """Environment variables of its process, besides those that fix the thread count of
        OpenMP and BLAS; `cache` is an empty folder."""
        return {}

    @abstractmethod
    def prepare(self, workload: Workload, arguments: Arguments, threads: int) -> Callable[[], Any]:
        """A function that computes once and returns when the result is there.

        Imports the system and moves the arguments to where it keeps arrays, but compiles nothing:
        that belongs to the first call.
        """

    def arrays(self, result: Any) -> tuple[float, Gradients | None]:
        """The result of a call as the value and the gradients, None without."""
        value, gradients = result
        return float(value), tuple(np.asarray(g) for g in gradients)

    def blas(self) -> str:
        """Which matrix products ran, once something did; "" where the system does not say."""
        return ""

    def threads(self) -> int | None:
        """How many threads the system says it uses; None where it does not say."""
        return None
