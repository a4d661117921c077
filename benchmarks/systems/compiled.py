"""gradc itself: the plain NumPy function, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradc
from gradc.benchmarks.systems.system import System
from gradc.benchmarks.workload import Arguments, Workload
from gradc.runtime import blas, threads


class Gradc(System):
    """`gradc.compile(function).value_and_grad`."""

    name = "gradc"
    requires = ("gradc", "numba", "llvmlite", "numpy", "scipy")
    has_cache = True

    @classmethod
    def environment(cls, threads: int, cache: str) -> dict[str, str]:
        return {"GRADC_NUM_THREADS": str(threads), "GRADC_CACHE_DIR": cache}

    def prepare(self, workload: Workload, arguments: Arguments, threads: int) -> Callable[[], Any]:
        call = gradc.compile(workload.function, argnums=workload.argnums).value_and_grad
        return lambda: call(*arguments)

    def blas(self) -> str:
        return f"SciPy's OpenBLAS {blas.core_name()}" if blas.core_name() else ""

    def threads(self) -> int | None:
        return threads.get_num_threads()
