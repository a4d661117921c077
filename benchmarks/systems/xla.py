"""JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.benchmarks.systems.system import System
from gradc.benchmarks.workload import Arguments, Workload


class Jax(System):
    """`jax.jit(jax.value_and_grad(function))`, in x64 mode where the workload is float64."""

    name = "jax"
    requires = ("jax", "jaxlib")

    @classmethod
    def environment(cls, threads: int, cache: str) -> dict[str, str]:
        flag = "true" if threads > 1 else "false"
        return {
            "JAX_PLATFORMS": "cpu",
            "NPROC": str(threads),
            "PJRT_NPROC": str(threads),
            "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={flag} "
            f"intra_op_parallelism_threads={threads}",
        }

    def prepare(self, workload: Workload, arguments: Arguments, threads: int) -> Callable[[], Any]:
        import jax

        jax.config.update("jax_enable_x64", workload.dtype == "float64")
        compiled = jax.jit(jax.value_and_grad(workload.jax(), workload.argnums))
        moved = tuple(jax.numpy.asarray(a) for a in arguments)
        jax.block_until_ready(moved)
        wait = jax.block_until_ready
        return lambda: wait(compiled(*moved))

    def blas(self) -> str:
        return "XLA's own (Eigen)"
