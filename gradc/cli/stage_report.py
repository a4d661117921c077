"""The stages of a compiled gradient as files, and what each is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradc.ir.core import Operation
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType
from gradc.stages import IR_STAGES, STAGES, Stages

SUFFIXES = {"numba": "py", "llvm": "ll", "asm": "s"}


@dataclass(frozen=True)
class StageRow:
    """What a stage is made of.

    operations: those of the function's body;  nested: those in their regions (None: no IR)
    bytes: of all computed arrays; from `memory` on the peak of temporary storage (None: no arrays,
        or sizes that are known at run time only)
    """

    stage: str
    operations: int | None
    nested: int | None
    bytes: int | None
    lines: int
    seconds: float


def write_stages(stages: Stages, folder: Path, trace_seconds: float) -> list[StageRow]:
    """Write every stage into the folder: IR as `1-trace.txt` for people and `1-trace.mlir` for
    tools, then Numba, LLVM and assembly text. Returns a row for each stage.

    trace_seconds: what tracing took, which happened before
    """
    rows = []
    for number, stage in enumerate(STAGES, 1):
        name = f"{number}-{stage}"
        if stage in IR_STAGES:
            (folder / f"{name}.mlir").write_text(stages.text(stage, pretty=False), encoding="utf-8")
        text = stages.text(stage)
        (folder / f"{name}.{SUFFIXES.get(stage, 'txt')}").write_text(text, encoding="utf-8")
        rows.append(_row(stages, stage, text, stages.seconds.get(stage, trace_seconds)))
    return rows


def _row(stages: Stages, stage: str, text: str, seconds: float) -> StageRow:
    lines = text.count("\n")
    if stage not in IR_STAGES:
        return StageRow(stage, None, None, None, lines, seconds)
    function = stages.function(stage)
    body = [op for op in function.body.ops if not is_terminator(op)]
    count = sum(not is_terminator(op) for op in function.walk()) - 1  # without the function
    if stage == "memory":
        size: int | None = function["arena_bytes"]
    elif stage == "loops":
        size = stages.arena_bytes
    else:
        size = computed_bytes(function)
    return StageRow(stage, len(body), count - len(body), size, lines, seconds)


def is_terminator(op: Operation) -> bool:
    found: Any = getattr(op, "is_terminator", False)
    return bool(found)


def computed_bytes(function: FuncOp) -> int | None:
    """The bytes of all arrays that the body computes; None where a size is known at run time only.

    Constants count nothing: they are part of the code that uses them.
    """
    total = 0
    for op in function.body.ops:
        if not op.operands and not op.regions:
            continue
        for value in op.results:
            assert isinstance(value.type, TensorType)
            size = value.type.dtype.itemsize
            for n in value.type.shape:
                if not isinstance(n, int):
                    return None
                size *= n
            total += size
    return total
