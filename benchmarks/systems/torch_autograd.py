"""PyTorch, eager and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.benchmarks.systems.system import Gradients, System
from gradc.benchmarks.workload import Arguments, Workload


class Torch(System):
    """Eager: the function, then `torch.autograd.grad`."""

    name = "torch"
    requires = ("torch",)

    def prepare(self, workload: Workload, arguments: Arguments, threads: int) -> Callable[[], Any]:
        import torch

        torch.set_num_threads(threads)
        tensors = [torch.from_numpy(a) for a in arguments]
        wanted = [tensors[i].requires_grad_() for i in workload.argnums]
        function = self.form(workload)
        gradients = torch.autograd.grad

        def call() -> Any:
            value = function(*tensors)
            return value, gradients(value, wanted)

        return call

    def form(self, workload: Workload) -> Callable[..., Any]:
        return workload.torch()

    def arrays(self, result: Any) -> tuple[float, Gradients | None]:
        value, gradients = result
        return value.item(), tuple(np.asarray(g) for g in gradients)

    def blas(self) -> str:
        import torch

        for line in torch.__config__.show().splitlines():
            if "oneAPI Math Kernel" in line or "OpenBLAS" in line:
                library = line.strip(" -").partition(" Product")[0].partition("-Product")[0]
                return f"{library} ({torch.backends.cpu.get_cpu_capability()})"
        return str(torch.backends.cpu.get_cpu_capability())

    def threads(self) -> int | None:
        import torch

        return torch.get_num_threads()


class TorchCompile(Torch):
    """`torch.compile(function)` (inductor), then `torch.autograd.grad`."""

    name = "torch.compile"
    has_cache = True

    @classmethod
    def environment(cls, threads: int, cache: str) -> dict[str, str]:
        return {"TORCHINDUCTOR_CACHE_DIR": cache}

    def form(self, workload: Workload) -> Callable[..., Any]:
        import torch

        return torch.compile((workload.torch_compiled or workload.torch)())
