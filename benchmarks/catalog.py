"""The list of all workloads, by group."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.benchmarks import finance, mixture, networks, optimization, particles
from gradc.benchmarks.workload import Workload
from gradc.ir.diagnostic import GradcError

GROUPS: dict[str, tuple[Workload, ...]] = {
    module.__name__.rpartition(".")[2]: module.WORKLOADS
    for module in (optimization, finance, networks, mixture, particles)
}
WORKLOADS: dict[str, Workload] = {w.name: w for group in GROUPS.values() for w in group}


class UnknownName(GradcError, ValueError):
    """A workload, group or system that does not exist."""


def chosen(names: Sequence[str]) -> list[Workload]:
    """The workloads of these names and groups in the order of the list; all without names.

    A name also stands for those that begin with it: "rosenbrock" for both sizes.
    UnknownName where nothing fits.
    """
    found: list[Workload] = []
    for name in names:
        named = GROUPS.get(name) or tuple(
            w for w in WORKLOADS.values() if w.name == name or w.name.startswith(name + "_")
        )
        if not named:
            raise UnknownName(
                f"expected a workload ({', '.join(WORKLOADS)}) or a group ({', '.join(GROUPS)}), "
                f"got {name!r}"
            )
        found += named
    return [w for w in WORKLOADS.values() if w in found or not names]
