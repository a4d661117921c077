"""`gradc bench`: time value and gradients beside other systems."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gradc.benchmarks.catalog import GROUPS, chosen
from gradc.benchmarks.measure import Plan, load_average, measure
from gradc.benchmarks.report import as_markdown, as_text
from gradc.benchmarks.systems.choice import SYSTEMS, systems_named
from gradc.benchmarks.systems.system import System
from gradc.benchmarks.workload import Workload

FORMAT = 1  # of the JSON file


@click.command("bench", short_help="Time value and gradients beside other systems.")
@click.argument("names", nargs=-1)
@click.option(
    "--systems", "wanted", default=",".join(SYSTEMS), show_default=True,
    help="Comma-separated; FILE.py with a class of System is one as well.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--repeats", type=click.IntRange(1), default=100, show_default=True,
    help="Samples of each system.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1), default=10, show_default=True,
    help="In how many turns the samples are taken.",
)  # fmt: skip
@click.option("--sizes", type=click.Choice(["full", "small"]), default="full", show_default=True)
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write everything measured to FILE.")  # fmt: skip
@click.option("--markdown", is_flag=True, help="Print the tables in Markdown.")
@click.option("--from", "earlier", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Print the tables of an earlier run's JSON file.")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List the workloads and systems, and stop.")
def command(
    names: tuple[str, ...],
    wanted: str,
    threads: int,
    repeats: int,
    rounds: int,
    sizes: str,
    file: Path | None,
    markdown: bool,
    earlier: Path | None,
    listing: bool,
) -> None:
    """Time value and gradients of workloads in gradc and in other systems.

    NAMES are workloads or groups of them (--list shows both); without any, all run. Each system
    runs in a process of its own with the same number of threads; all take turns. Nothing is timed
    unless all agree. The exit code is 1 when a system fails or they disagree.
    """
    if listing:
        click.echo("\n".join(_listed()))
        return
    if earlier is not None:
        record = _read(earlier)
    else:
        found = chosen(names)
        systems = _installed(systems_named(wanted))
        plan = Plan(repeats, min(rounds, repeats), sizes, threads)
        record = _measured(found, systems, plan)
    if file is not None:
        _write(file, record)
    click.echo(as_markdown(record) if markdown else as_text(record))
    if any(w["failures"] for w in record["workloads"]):
        sys.exit(1)


def _listed() -> Iterable[str]:
    for group, workloads in GROUPS.items():
        yield f"{group}:"
        for w in workloads:
            yield f"  {w.name:18} {w.dtype}, {w.measures('full')}: {w.about}"
    yield "systems:"
    for name, system in SYSTEMS.items():
        missing = system.missing()
        state = f"not installed: {', '.join(missing)}" if missing else system.versions()
        yield f"  {name:18} {state}{f' ({system.note})' if system.note else ''}"


def _installed(systems: dict[str, type[System]]) -> dict[str, type[System]]:
    for system in systems.values():
        if missing := system.missing():
            _say(f"skipped {system.name}: not installed: {', '.join(missing)}", end="\n")
    kept = {word: system for word, system in systems.items() if not system.missing()}
    if not kept:
        raise click.ClickException("none of the systems is installed: pip install 'gradc[bench]'")
    return kept


def _measured(
    workloads: list[Workload], systems: dict[str, type[System]], plan: Plan
) -> dict[str, Any]:
    before = load_average()
    measured = []
    for workload in workloads:
        measured.append(measure(workload, systems, plan, _say))
        for text in measured[-1]["failures"]:
            _say(f"FAILED: {text}", end="\n")
    _say("")
    return {
        "format": FORMAT,
        "machine": {
            "processor": _processor(),
            "cpus": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
            "python": platform.python_version(),
        },
        "threads": plan.threads,
        "repeats": plan.repeats,
        "rounds": plan.rounds,
        "sizes": plan.sizes,
        "load_average": [before, load_average()],
        "systems": {
            system.name: {
                "versions": system.versions(),
                "note": system.note,
                "gradients": system.gives_gradients,
            }
            for system in systems.values()
        },
        "workloads": measured,
    }


def _say(text: str, end: str = "") -> None:
    """Progress: on a terminal one line that changes, elsewhere only what stays."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{text}{end}", nl=False, err=True)
    elif end:
        click.echo(text, err=True)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _read(file: Path) -> dict[str, Any]:
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.ClickException(
            f"expected a JSON file of gradc bench: {file}: {error}"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise click.ClickException(
            f"expected a JSON file of gradc bench with format {FORMAT}: {file}"
        )
    return record


def _write(file: Path, record: dict[str, Any]) -> None:
    try:
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {error.strerror}") from None
