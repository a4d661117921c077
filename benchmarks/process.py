"""The worker processes, seen from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from gradc.benchmarks.systems.system import System
from gradc.ir.diagnostic import GradcError

PATIENCE = 600.0  # seconds for one answer
# These pin the kernels or blocking of OpenBLAS: the benchmark shows what it chooses by itself.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "GRADC_DISABLE_COMPILE")
THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class WorkerError(GradcError, RuntimeError):
    """A system failed at a workload."""


class Process:
    """One system with one workload in a process of its own; used in a `with` statement.

    Its methods are the commands of the worker and raise WorkerError where the system fails.
    """

    def __init__(
        self, word: str, system: type[System], workload: str, sizes: str, threads: int, cache: Path
    ) -> None:
        self.name = system.name
        cache.mkdir(exist_ok=True)
        environment = {k: v for k, v in os.environ.items() if k not in UNSET}
        environment.update({name: str(threads) for name in THREAD_COUNTS})
        environment.update(system.environment(threads, str(cache)))
        options = {"system": word, "workload": workload, "sizes": sizes, "threads": threads}
        self._errors = (cache.parent / f"{cache.name}_messages.txt").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gradc.benchmarks.worker", json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            text=True,
        )

    def ask(self, command: str, *values: Any) -> Any:
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps([command, *values]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            code = self._process.wait()
            raise WorkerError(
                f"{self.name}: its process ended at {command!r} with exit code {code}: "
                f"{_last_line(self._errors)}"
            )
        reply = json.loads(line)
        if "error" in reply:
            raise WorkerError(f"{self.name}: {reply['error']}")
        return reply["answer"]

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        if error is not None:
            self._process.kill()
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def _last_line(messages: IO[bytes]) -> str:
    messages.seek(0)
    lines = messages.read().decode(errors="replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it printed nothing")
