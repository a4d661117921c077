"""Parallel loops (`scf.parallel`): the body becomes a function of a job number, for the pool.

How the iterations are cut into jobs follows from the work alone, so that results do not depend on
the number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.core import Value, captured_values
from gradc.ir.ops import blas, scf
from gradc.ir.program import RECORD_RANK
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_loops import (
    Components,
    clamped,
    component_kinds,
    count_down,
    counted_loop,
    is_innermost,
)
from gradc.passes.lower.llvm_module import PREFIX

JOB_OPERATIONS = 8192  # scalar operations that one job should have at least
MOST_JOBS = 128
DEFAULT_WORK = 4096  # of one iteration, where the loop does not say


@emits(scf.Parallel)
def _parallel(e: FunctionEmitter, op: Any) -> None:
    rank = len(op.body.args)
    lowers, uppers, steps = (
        [e[v] for v in op.operands[k * rank : (k + 1) * rank]] for k in range(3)
    )
    if e.parallel:
        # Nested: this job runs all of it.
        _nest(e, op, lowers, uppers, steps, [])
        return
    captured = captured_values(op)
    carried = dict.fromkeys([*captured, *op.operands])
    # Literals go into the function itself, so that it is compiled for a step of 1, say.
    parts = [
        (v, k, t) for v in carried for k, t in enumerate(component_kinds(v)) if _is_computed(e, v)
    ]
    literals = {v: e.values[v] for v in carried if not _is_computed(e, v)}
    context = e.stack(f"[{len(parts) + 4} x i64]")

    def put(slot: int, t: str, name: str) -> None:
        pointer = e.assign(f"getelementptr inbounds i64, ptr {context}, i64 {slot}")
        e.line(f"store {t} {name}, ptr {pointer}")

    for slot, (value, part, t) in enumerate(parts, 4):
        put(slot, t, e.values[value][part])
    function = _outline(e, op, parts, literals)
    # How many jobs: from the work alone, so that results do not depend on the number of threads.
    span = e.assign(f"sub nsw i64 {uppers[0]}, {lowers[0]}")
    last = e.assign(f"add nsw i64 {span}, {e.assign(f'sub nsw i64 {steps[0]}, 1')}")
    count = clamped(e, e.assign(f"sdiv i64 {last}, {steps[0]}"), "0", "smax")
    work = e.number(max(1, int(op.attributes.get("gradc.work", DEFAULT_WORK))))
    jobs = e.assign(f"sdiv i64 {e.assign(f'mul i64 {count}, {work}')}, {JOB_OPERATIONS}")
    jobs = clamped(e, clamped(e, jobs, str(MOST_JOBS), "smin"), count, "smin")
    jobs = clamped(e, jobs, "1", "smax")
    rounded = e.assign(f"add i64 {count}, {e.assign(f'sub i64 {jobs}, 1')}")
    size = e.assign(f"sdiv i64 {rounded}, {jobs}")
    # Jobs of whole multiples of 16 iterations, where there are many, keep vector loops whole.
    many = e.assign(f"icmp sge i64 {size}, 64")
    whole = e.assign(f"and i64 {e.assign(f'add i64 {size}, 15')}, -16")
    size = clamped(e, e.assign(f"select i1 {many}, i64 {whole}, i64 {size}"), "1", "smax")
    rounded = e.assign(f"add i64 {count}, {e.assign(f'sub i64 {size}, 1')}")
    jobs = e.assign(f"sdiv i64 {rounded}, {size}")
    for slot, (t, name) in enumerate((("ptr", "%record"), ("ptr", "%numbers"), ("ptr", "%floats"),
                                      ("i64", size))):  # fmt: skip
        put(slot, t, name)
    launch = e.module.declare("gradc_launch", "i32", ("ptr", "ptr", "i64", "ptr", "i32"))
    blas_inside = any(isinstance(inner, blas.GemmCall) for inner in op.walk())
    arguments = f"ptr {function}, ptr {context}, i64 {jobs}, ptr %record, i32 {int(blas_inside)}"
    outcome = e.assign(f"call i32 {launch}({arguments})")
    failed, good = e.label("stop"), e.label("good")
    e.branch(e.assign(f"icmp eq i32 {outcome}, 0"), good, failed)
    e.start(failed)
    e.line(f"ret i32 {outcome}")
    e.start(good)


def _is_computed(e: FunctionEmitter, value: Value) -> bool:
    return any(name.startswith("%") for name in e.values[value])


def _outline(
    e: FunctionEmitter,
    op: Any,
    parts: Sequence[tuple[Value, int, str]],
    literals: dict[Value, tuple[str, ...]],
) -> str:
    """The loop's body as a function of a job number; it returns the status."""
    name = e.module.function_name(f"{PREFIX}.parallel")
    inner = FunctionEmitter(e.module, rank="%rank")
    inner.values.update(literals)
    loaded: dict[Value, list[str]] = {}
    header = [
        f"define internal i32 @{name}(i32 %job, ptr %context, i32 %unused) {{",
        "entry:",
        "  %rank = sext i32 %job to i64",
    ]

    def get(slot: int, t: str, target: str) -> None:
        header.append(f"  {target}.a = getelementptr inbounds i64, ptr %context, i64 {slot}")
        header.append(f"  {target} = load {t}, ptr {target}.a")

    for slot, (t, target) in enumerate((("ptr", "%record"), ("ptr", "%numbers"), ("ptr", "%floats"),
                                        ("i64", "%size"))):  # fmt: skip
        get(slot, t, target)
    for slot, (value, _, t) in enumerate(parts, 4):
        target = f"%c{slot}"
        get(slot, t, target)
        loaded.setdefault(value, []).append(target)
    for value, names in loaded.items():
        inner.values[value] = tuple(names)
    inner.set_scopes(op)
    # A job behind one that failed need not run.
    place = inner.assign(f"getelementptr inbounds i64, ptr %record, i64 {RECORD_RANK}")
    lowest = inner.assign(f"load atomic i64, ptr {place} monotonic, align 8")
    inner.branch(inner.assign(f"icmp slt i64 {lowest}, %rank"), "skip", "start")
    inner.start("skip")
    inner.line("ret i32 0")
    inner.start("start")
    dims = len(op.body.args)
    lowers, uppers, steps = (
        [inner[v] for v in op.operands[k * dims : (k + 1) * dims]] for k in range(3)
    )
    step = steps[0]
    first = inner.assign(f"mul nsw i64 %rank, {inner.assign(f'mul nsw i64 %size, {step}')}")
    first = inner.assign(f"add nsw i64 {lowers[0]}, {first}")
    end = inner.assign(f"add nsw i64 {first}, {inner.assign(f'mul nsw i64 %size, {step}')}")
    uppers[0] = clamped(inner, end, uppers[0], "smin")
    lowers[0] = first
    inner.depth = 1
    _nest(inner, op, lowers, uppers, steps, [])
    inner.line("ret i32 0")
    e.module.functions.append("\n".join([*header, *inner.prologue, *inner.lines, "}", ""]))
    return f"@{name}"


def _nest(
    e: FunctionEmitter,
    op: Any,
    lowers: Sequence[str],
    uppers: Sequence[str],
    steps: Sequence[str],
    at: list[str],
) -> None:
    """The dimensions as serial loops, the first outermost."""
    depth = len(at)
    if depth == len(lowers):
        e.bind(op.body.args, [(name,) for name in at])
        e.emit_block(op.body)
        return

    def body(index: str) -> list[Components]:
        _nest(e, op, lowers, uppers, steps, [*at, index])
        if depth == 0 and not is_innermost(op):
            count_down(e)
        return []

    counted_loop(e, lowers[depth], uppers[depth], steps[depth], body)
