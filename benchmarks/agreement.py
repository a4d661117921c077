"""Do the systems compute the same? Nothing is timed before they do.

Two checks that know nothing of each other: the value and the slope of the plain NumPy function,
computed here in float64 with central differences along one random direction for each argument;
and every element of every gradient, compared between all systems.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gradc.benchmarks.systems.system import Gradients
from gradc.benchmarks.workload import Arguments, Workload
from gradc.ir.diagnostic import GradcError

# Relative to: the value; the largest element of a gradient; the length of the summed products.
TOLERANCES = {
    "float32": {"value": 1e-4, "gradient": 1e-3, "slope": 1e-2},
    "float64": {"value": 1e-9, "gradient": 1e-7, "slope": 1e-4},
}
STEP = 1e-5

Results = Mapping[str, tuple[float, Gradients | None]]


class Disagreement(GradcError, AssertionError):
    """Systems that compute different things."""


@dataclass
class Reference:
    """The function's value, and for each gradient a direction and the slope along it."""

    value: float
    directions: list[np.ndarray]
    slopes: list[float]


def reference(workload: Workload, arguments: Arguments) -> Reference:
    """Value and slopes in float64 from the NumPy function alone."""
    exact = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arguments]
    random = np.random.default_rng(7)
    directions, slopes = [], []
    for position in workload.argnums:
        argument = exact[position]
        size = float(np.sqrt(np.mean(argument**2))) or 1.0
        direction = random.normal(size=argument.shape) * size
        ends = []
        for sign in (1.0, -1.0):
            moved = list(exact)
            moved[position] = argument + sign * STEP * direction
            ends.append(float(workload.function(*moved)))
        directions.append(direction)
        slopes.append((ends[0] - ends[1]) / (2.0 * STEP))
    return Reference(float(workload.function(*exact)), directions, slopes)


def check(workload: Workload, expected: Reference, results: Results) -> dict[str, float]:
    """The largest relative differences found; Disagreement, naming all that is wrong."""
    tolerances = TOLERANCES[workload.dtype]
    worst = dict.fromkeys(tolerances, 0.0)
    wrong: list[str] = []

    def compare(kind: str, difference: float, what: str) -> None:
        worst[kind] = max(worst[kind], difference)
        if not difference <= tolerances[kind]:  # NaN is wrong
            wrong.append(
                f"{what}: relative difference {difference:.2g}, expected {tolerances[kind]:.0e}"
            )

    for name, (value, gradients) in results.items():
        difference = abs(value - expected.value) / max(abs(expected.value), 1e-30)
        compare("value", difference, f"the value of {name} and of NumPy in float64")
        if gradients is None:
            continue
        if len(gradients) != len(workload.argnums):
            wrong.append(
                f"{name}: expected {len(workload.argnums)} gradients, got {len(gradients)}"
            )
            continue
        for i, (position, direction) in enumerate(zip(workload.argnums, expected.directions)):
            what = f"gradient {i} of {name} (argument {position})"
            gradient = gradients[i]
            if gradient.shape != direction.shape or str(gradient.dtype) != workload.dtype:
                wrong.append(
                    f"{what}: expected {workload.dtype}{list(direction.shape)}, "
                    f"got {gradient.dtype}{list(gradient.shape)}"
                )
                continue
            products = gradient.astype(np.float64) * direction
            scale = max(float(np.sqrt(np.sum(products**2))), 1e-30)
            difference = abs(float(np.sum(products)) - expected.slopes[i]) / scale
            compare("slope", difference, f"{what} and central differences")
    if not wrong:
        _compare_all(workload, results, compare)
    if wrong:
        raise Disagreement(f"{workload.name}: DISAGREEMENT\n  " + "\n  ".join(wrong))
    return worst


def _compare_all(
    workload: Workload, results: Results, compare: Callable[[str, float, str], None]
) -> None:
    names = [name for name, (_, gradients) in results.items() if gradients is not None]
    for a, first in enumerate(names):
        for second in names[a + 1 :]:
            for i, position in enumerate(workload.argnums):
                one, other = (results[name][1] for name in (first, second))
                assert one is not None and other is not None
                largest = max(float(np.max(np.abs(other[i]))), 1e-30)
                difference = float(np.max(np.abs(one[i] - other[i]))) / largest
                what = f"gradient {i} of {first} and of {second} (argument {position})"
                compare("gradient", difference, what)
