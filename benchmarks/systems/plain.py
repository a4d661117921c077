"""NumPy: the function as it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.benchmarks.systems.system import Gradients, System
from gradc.benchmarks.workload import Arguments, Workload


class NumPy(System):
    """The value alone: what the function costs before one asks for gradients."""

    name = "numpy"
    requires = ("numpy",)
    note = "value only"
    gives_gradients = False

    def prepare(self, workload: Workload, arguments: Arguments, threads: int) -> Callable[[], Any]:
        return lambda: workload.function(*arguments)

    def arrays(self, result: Any) -> tuple[float, Gradients | None]:
        return float(result), None
