"""A process that runs one workload in one system: `python -m gradc.benchmarks.worker JSON`.

It reads commands, one JSON list a line, and answers each with one line of JSON:
["first"] the seconds of the first call; ["save", FILE] writes value and gradients; ["warm", S]
calls for S seconds and gives the shortest call; ["burst", SAMPLES, CALLS] the seconds a call of
SAMPLES samples of CALLS calls each; ["about"] which BLAS ran on how many threads. ["start"] comes
first: it imports the system. The process ends with its input.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from time import perf_counter
from typing import Any

import numpy as np

from gradc.benchmarks.catalog import WORKLOADS
from gradc.benchmarks.systems.choice import system_named


class Worker:
    """One workload in one system."""

    def __init__(self, system: str, workload: str, sizes: str, threads: int) -> None:
        found = WORKLOADS[workload]
        self.system = system_named(system)()
        self.call = self.system.prepare(found, found.make(sizes), threads)

    def first(self) -> float:
        start = perf_counter()
        self.call()
        return perf_counter() - start

    def save(self, file: str) -> float:
        value, gradients = self.system.arrays(self.call())
        np.savez(file, *(gradients or ()), value=np.float64(value))
        return value

    def warm(self, seconds: float) -> float:
        """At least three calls; some compilers specialise in the second or third."""
        end = perf_counter() + seconds
        shortest, count = np.inf, 0
        while count < 3 or perf_counter() < end:
            start = perf_counter()
            self.call()
            shortest = min(shortest, perf_counter() - start)
            count += 1
        return float(shortest)

    def burst(self, samples: int, calls: int) -> list[float]:
        call, times, repeats = self.call, [], range(calls)
        gc.disable()
        for _ in repeats:
            call()  # the caches are this process's again; not counted
        for _ in range(samples):
            start = perf_counter()
            for _ in repeats:
                call()
            times.append((perf_counter() - start) / calls)
        gc.enable()
        return times

    def about(self) -> dict[str, Any]:
        return {"blas": self.system.blas(), "threads": self.system.threads()}


def restrict(threads: int) -> None:
    """Keep this process on so many CPUs, whatever its libraries start."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def main() -> None:
    # Libraries may print: the answers get the output to themselves.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    options = json.loads(sys.argv[1])
    restrict(options["threads"])
    worker = None
    for line in sys.stdin:
        command, *values = json.loads(line)
        reply: dict[str, Any] = {"answer": None}
        try:
            if command == "start":
                worker = Worker(**options)
            else:
                reply["answer"] = getattr(worker, command)(*values)
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
