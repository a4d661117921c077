"""Tables of a benchmark's record, as aligned text or as Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Sequence[str]
Table = tuple[str, Row, Sequence[Row]]
ABSENT = "-"


def as_text(record: Mapping[str, Any]) -> str:
    """Everything, aligned for a terminal."""
    parts = ["\n".join(facts(record))]
    for title, head, rows in tables(record):
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in pairs).rstrip()
            for pairs in (list(enumerate(zip(row, widths))) for row in (head, *rows))
        ]
        parts.append("\n".join([title, "", *lines]))
    return "\n\n".join([*parts, *_failures(record)])


def as_markdown(record: Mapping[str, Any]) -> str:
    """Everything in Markdown, for a page of the documentation."""
    parts = ["\n".join(f"- {fact}" for fact in facts(record))]
    for title, head, rows in tables(record):
        rule = ["---"] + ["---:"] * (len(head) - 1)
        lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
        parts.append("\n".join([f"{title}:", "", *lines]))
    return "\n\n".join([*parts, *_failures(record)])


def facts(record: Mapping[str, Any]) -> list[str]:
    """What ran, on what."""
    machine = record["machine"]
    loads = " to ".join(
        "/".join(f"{x:.2f}" for x in load) for load in record["load_average"] if load
    )
    found = [
        f"{machine['processor']}, {machine['cpus']} CPUs, {machine['platform']}, "
        f"Python {machine['python']}",
        f"{record['threads']} threads for every system, {record['repeats']} samples in "
        f"{record['rounds']} rounds, {record['sizes']} sizes; load average {loads or 'unknown'}",
    ]
    for name, system in record["systems"].items():
        entries = [w["systems"][name] for w in record["workloads"] if name in w["systems"]]
        blas = sorted({entry["blas"] for entry in entries} - {""})
        threads = sorted({entry["threads"] for entry in entries} - {None})
        words = [system["versions"], *(f"matrix products: {text}" for text in blas)]
        words += [f"says it uses {count} threads" for count in threads]
        words += [system["note"]] if system["note"] else []
        found.append(f"{name}: {'; '.join(words)}")
    return found


def tables(record: Mapping[str, Any]) -> list[Table]:
    names = list(record["systems"])
    rivals = [name for name in names if name != "gradc"]
    labels = {n: f"{n} ({s['note']})" if s["note"] else n for n, s in record["systems"].items()}
    found: list[Table] = [
        (
            "Value and gradients, microseconds: median [quartiles]",
            ("workload", *(labels[name] for name in names)),
            _rows(record, names, lambda w, name: _time(w["systems"].get(name, {}))),
        )
    ]
    if "gradc" in names and rivals:
        rows = _rows(record, rivals, lambda w, name: _ratio(w["ratios"].get(name)))
        found.append(
            (
                "Time relative to gradc (above 1: gradc is faster), median [quartiles] of rounds",
                ("workload", *(labels[name] for name in rivals)),
                [*rows, ("geometric mean", *(_mean(record, name) for name in rivals))],
            )
        )
    found.append(
        (
            "First call in a new process, seconds: nothing cached / compiled code on disk",
            ("workload", *names),
            _rows(record, names, lambda w, name: _first(w["systems"].get(name, {}))),
        )
    )
    return found


def best_rival(record: Mapping[str, Any]) -> float | None:
    """The geometric mean over workloads of the fastest other system's time over gradc's; systems
    that give no gradients do not count."""
    full = {name for name, system in record["systems"].items() if system["gradients"]}
    best = [
        min(ratios)
        for w in record["workloads"]
        if (ratios := [r["median"] for name, r in w["ratios"].items() if name in full])
    ]
    return math.exp(sum(map(math.log, best)) / len(best)) if best else None


def _rows(
    record: Mapping[str, Any], names: Sequence[str], cell: Callable[[Any, str], str]
) -> list[Row]:
    return [(w["name"], *(cell(w, name) for name in names)) for w in record["workloads"]]


def _mean(record: Mapping[str, Any], name: str) -> str:
    found = [w["ratios"][name]["median"] for w in record["workloads"] if name in w["ratios"]]
    return f"{math.exp(sum(map(math.log, found)) / len(found)):.2f}" if found else ABSENT


def _time(entry: Mapping[str, Any]) -> str:
    time = entry.get("time")
    if time is None:
        return ABSENT
    median, low, high = (_three_digits(1e6 * time[key]) for key in ("median", "low", "high"))
    return f"{median} [{low}, {high}]"


def _three_digits(x: float) -> str:
    digits = max(0, 2 - math.floor(math.log10(x))) if x > 0 else 0
    return f"{round(x):d}" if digits == 0 else f"{x:.{digits}f}"


def _ratio(entry: Mapping[str, float] | None) -> str:
    if entry is None:
        return ABSENT
    return f"{entry['median']:.2f} [{entry['low']:.2f}, {entry['high']:.2f}]"


def _first(entry: Mapping[str, Any]) -> str:
    if "first_call" not in entry:
        return ABSENT
    cached = entry["first_call_cached"]
    return f"{entry['first_call']:.3f}" + (f" / {cached:.3f}" if cached is not None else "")


def _failures(record: Mapping[str, Any]) -> list[str]:
    found = [text for w in record["workloads"] for text in w["failures"]]
    mean = best_rival(record)
    parts = []
    if mean is not None:
        parts.append(f"Fastest other system with gradients, relative to gradc: {mean:.2f}")
    return [*parts, *(f"FAILED: {text}" for text in found)]
