"""NumPy: the function as it stands."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
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

    def blas(self) -> str:
        return ", ".join(f"{pool['internal_api']} {pool['architecture']}" for pool in _pools())

    def threads(self) -> int | None:
        return max((pool["num_threads"] for pool in _pools()), default=None)


def _pools() -> list[dict[str, Any]]:
    """The BLAS libraries in this process, where threadpoolctl is there to find them."""
    if not find_spec("threadpoolctl"):
        return []
    import threadpoolctl

    return [p for p in threadpoolctl.threadpool_info() if p["user_api"] == "blas"]
