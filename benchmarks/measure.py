"""Times one workload in all systems, interleaved.

All processes live at once and wait; in each round every one is asked for a burst of samples, in
an order that rotates, so what disturbs the machine disturbs all alike. Ratios are taken within a
round.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gradc.benchmarks.agreement import Disagreement, check, reference
from gradc.benchmarks.process import Process, WorkerError
from gradc.benchmarks.systems.system import Gradients, System
from gradc.benchmarks.workload import Workload

SAMPLE_SECONDS = 300e-6  # one sample is so many calls that it takes at least this long
MOST_CALLS = 1000
PAUSE_SECONDS = 0.02  # threads of the system before stop spinning


@dataclass(frozen=True)
class Plan:
    """How to measure: samples a system, over how many rounds, on which sizes and threads."""

    repeats: int
    rounds: int
    sizes: str
    threads: int


def quartiles(values: Sequence[float]) -> dict[str, float]:
    low, median, high = np.percentile(np.asarray(values), (25, 50, 75))
    return {"median": float(median), "low": float(low), "high": float(high)}


def measure(
    workload: Workload,
    systems: Mapping[str, type[System]],
    plan: Plan,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The record of a workload, as it stands in the JSON file; times in seconds.

    What fails stands in its list "failures"; systems that disagree are not timed.
    """
    record: dict[str, Any] = {
        "name": workload.name,
        "about": workload.about,
        "dtype": workload.dtype,
        "sizes": dict(workload.sizes[plan.sizes]),
        "gradients": len(workload.argnums),
        "agreement": None,
        "systems": {},
        "ratios": {},
        "failures": [],
        "load_average": load_average(),
    }
    with TemporaryDirectory(prefix="gradc-bench-") as folder, ExitStack() as stack:
        processes: dict[str, Process] = {}
        results: dict[str, tuple[float, Gradients | None]] = {}
        for number, (word, system) in enumerate(systems.items()):
            say(f"{workload.name}: first calls of {system.name}")
            place = Path(folder) / f"cache_{number}"
            try:
                process, seconds = _started(stack, word, system, workload, plan, place)
                processes[system.name] = process
                process.ask("save", f"{place}.npz")
                results[system.name] = _saved(Path(f"{place}.npz"))
                again = _cached_first_call(word, system, workload, plan, place)
                record["systems"][system.name] = {
                    "first_call": seconds,
                    "first_call_cached": again,
                    **process.ask("about"),
                }
            except WorkerError as error:
                record["failures"].append(str(error))
                processes.pop(system.name, None)
                results.pop(system.name, None)
        say(f"{workload.name}: comparing the results")
        try:
            expected = reference(workload, workload.make(plan.sizes))
            record["agreement"] = check(workload, expected, results)
        except Disagreement as error:
            record["failures"].append(str(error))
            return record
        try:
            rounds = _rounds(workload, processes, plan, say)
        except WorkerError as error:
            record["failures"].append(str(error))
            return record
    for name, (calls, found) in rounds.items():
        record["systems"][name].update(
            time=quartiles([t for samples in found for t in samples]),
            rounds=[float(np.median(samples)) for samples in found],
            samples=sum(len(samples) for samples in found),
            calls_a_sample=calls,
        )
    record["ratios"] = _ratios(record["systems"])
    return record


def _started(
    stack: ExitStack,
    word: str,
    system: type[System],
    workload: Workload,
    plan: Plan,
    cache: Path,
) -> tuple[Process, float]:
    """A process after its first call, and the seconds of that."""
    process = Process(word, system, workload.name, plan.sizes, plan.threads, cache)
    stack.enter_context(process)
    process.ask("start")
    return process, process.ask("first")


def _cached_first_call(
    word: str, system: type[System], workload: Workload, plan: Plan, cache: Path
) -> float | None:
    """The first call of another process that finds compiled code on disk."""
    if not system.has_cache:
        return None
    with ExitStack() as stack:
        return _started(stack, word, system, workload, plan, cache)[1]


def _saved(file: Path) -> tuple[float, Gradients | None]:
    with np.load(file) as found:
        gradients = tuple(found[f"arr_{i}"] for i in range(len(found.files) - 1))
        return float(found["value"]), gradients or None


def _rounds(
    workload: Workload, processes: Mapping[str, Process], plan: Plan, say: Callable[[str], None]
) -> dict[str, tuple[int, list[list[float]]]]:
    """For each system the calls in a sample, and for each round its samples."""
    calls: dict[str, int] = {}
    for name, process in processes.items():
        say(f"{workload.name}: warming up {name}")
        shortest = process.ask("warm", 0.1)
        calls[name] = min(MOST_CALLS, max(1, math.ceil(SAMPLE_SECONDS / max(shortest, 1e-9))))
    samples = math.ceil(plan.repeats / plan.rounds)
    found: dict[str, tuple[int, list[list[float]]]] = {n: (calls[n], []) for n in processes}
    order = list(processes)
    for number in range(plan.rounds):
        say(f"{workload.name}: round {number + 1} of {plan.rounds}")
        for name in order:
            time.sleep(PAUSE_SECONDS)
            found[name][1].append(processes[name].ask("burst", samples, calls[name]))
        order = order[1:] + order[:1]
    return found


def _ratios(systems: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Each system's time over gradc's, round by round."""
    if "gradc" not in systems:
        return {}
    ours = systems["gradc"]["rounds"]
    return {
        name: quartiles([theirs / our for theirs, our in zip(entry["rounds"], ours)])
        for name, entry in systems.items()
        if name != "gradc"
    }


def load_average() -> list[float] | None:
    """Of the last 1, 5 and 15 minutes, where the system keeps it."""
    return [round(x, 2) for x in os.getloadavg()] if hasattr(os, "getloadavg") else None
