"""Structured control flow, checks and run-time numbers as LLVM instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradc.ir.core import Operation, Value, captured_values
from gradc.ir.ops import blas, scf, status
from gradc.ir.program import RECORD_RANK, RECORD_SIZES, ErrorSite
from gradc.ir.types import MemRefType, f64
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_memory import counted_loop
from gradc.passes.lower.llvm_module import component_types

JOB_OPERATIONS = 8192  # scalar operations that one job should have at least
MOST_JOBS = 128
DEFAULT_WORK = 4096  # of one iteration, where the loop does not say
NO_RANK = 2**63 - 1


def _types(value: Value) -> tuple[str, ...]:
    return ("ptr",) if isinstance(value.type, MemRefType) else component_types(value.type)


def _phis(
    e: FunctionEmitter, values: Sequence[Value], incoming: Sequence[tuple[str, Sequence[Any]]]
) -> list[str]:
    """Name `values` and give their phi lines; incoming: (block, components of each value)."""
    lines = []
    for k, value in enumerate(values):
        names = []
        for part, t in enumerate(_types(value)):
            name = e.fresh("p")
            sources = ", ".join(f"[ {sets[k][part]}, %{block} ]" for block, sets in incoming)
            lines.append(f"  {name} = phi {t} {sources}")
            names.append(name)
        e.values[value] = tuple(names)
    return lines


def _components(e: FunctionEmitter, values: Sequence[Value]) -> list[tuple[str, ...]]:
    return [e.values[v] for v in values]


def _outermost(e: FunctionEmitter, op: Operation) -> None:
    if e.depth == 0:
        e.set_scopes(op)


def _is_innermost(op: Operation) -> bool:
    loops = (scf.For, scf.While, scf.Parallel)
    return not any(isinstance(inner, loops) for inner in op.walk() if inner is not op)


def _carried_names(e: FunctionEmitter, values: Sequence[Value]) -> list[tuple[str, ...]]:
    """Names for loop-carried phis, known before the loop's end is."""
    named = []
    for value in values:
        e.values[value] = tuple(e.fresh("p") for _ in _types(value))
        named.append(e.values[value])
    return named


def _carried_phis(
    values: Sequence[Value],
    named: Sequence[tuple[str, ...]],
    incoming: Sequence[tuple[str, Sequence[tuple[str, ...]]]],
) -> list[str]:
    lines = []
    for k, value in enumerate(values):
        for part, t in enumerate(_types(value)):
            sources = ", ".join(f"[ {sets[k][part]}, %{block} ]" for block, sets in incoming)
            lines.append(f"  {named[k][part]} = phi {t} {sources}")
    return lines


@emits(scf.For)
def _for(e: FunctionEmitter, op: Any) -> None:
    _outermost(e, op)
    lower, upper, step = (e[v] for v in op.operands[:3])
    initial = _components(e, op.operands[3:])
    head, body, done = e.label("head"), e.label("body"), e.label("done")
    before = e.block
    e.jump(head)
    e.start(head)
    index, after = e.fresh("i"), e.fresh("i")
    named = _carried_names(e, op.body.args[1:])
    e.values[op.body.args[0]] = (index,)
    at = len(e.lines)
    e.branch(e.assign(f"icmp slt i64 {index}, {upper}"), body, done)
    e.start(body)
    e.enter()
    e.depth += 1
    e.emit_block(op.body)
    e.depth -= 1
    e.leave()
    e.line(f"{after} = add nsw i64 {index}, {step}")
    yielded = _components(e, op.body.terminator.operands)
    phis = [f"  {index} = phi i64 [ {lower}, %{before} ], [ {after}, %{e.block} ]"]
    phis += _carried_phis(op.body.args[1:], named, [(before, initial), (e.block, yielded)])
    e.lines[at:at] = phis
    e.jump(head)
    e.start(done)
    e.bind(op.results, named)


@emits(scf.While)
def _while(e: FunctionEmitter, op: Any) -> None:
    _outermost(e, op)
    first, second = (region.block for region in op.regions)
    initial = _components(e, op.operands)
    head, body, done = e.label("head"), e.label("body"), e.label("done")
    before = e.block
    e.jump(head)
    e.start(head)
    named = _carried_names(e, first.args)
    at = len(e.lines)
    e.depth += 1
    # The first region dominates the exit, but one of its loops may run only there.
    e.emit_block(first)
    condition, *forwarded = first.terminator.operands
    e.branch(e[condition], body, done)
    e.start(body)
    e.enter()
    e.bind(second.args, _components(e, forwarded))
    e.emit_block(second)
    e.leave()
    e.depth -= 1
    yielded = _components(e, second.terminator.operands)
    e.lines[at:at] = _carried_phis(first.args, named, [(before, initial), (e.block, yielded)])
    e.jump(head)
    e.start(done)
    e.bind(op.results, _components(e, forwarded))


@emits(scf.If)
def _if(e: FunctionEmitter, op: Any) -> None:
    labels = [e.label("then"), e.label("else")]
    done = e.label("join")
    blocks = [region.block if region.blocks else None for region in op.regions]
    if blocks[1] is None:
        labels[1] = done
    e.branch(e[op.operands[0]], *labels)
    incoming = []
    for label, block in zip(labels, blocks):
        if block is None:
            continue
        e.start(label)
        e.enter()
        e.emit_block(block)
        e.leave()
        incoming.append((e.block, _components(e, block.terminator.operands)))
        e.jump(done)
    e.start(done)
    e.lines += _phis(e, op.results, incoming)


# ------------------------------------------------------------------------------- checks and numbers


@emits(status.Check)
def _check(e: FunctionEmitter, op: Any) -> None:
    condition, *values = op.operands
    site = len(e.module.sites)
    kinds = "".join("f" if v.type is f64 else "i" for v in values)
    e.module.sites.append(ErrorSite(op["exception"], op["message"], op.location, kinds))
    failed, good = e.label("fail"), e.label("good")
    e.branch(e[condition], good, failed, f", !prof {e.module.metadata(_LIKELY)}")
    e.start(failed)
    e.enter()
    names = []
    for value in values:
        name = e[value]
        names.append(e.assign(f"bitcast double {name} to i64") if value.type is f64 else name)
    names += ["0"] * (status.CHECK_VALUES - len(names))
    arguments = ["ptr %record", f"i64 {e.rank or -1}", f"i64 {site}", *(f"i64 {n}" for n in names)]
    function = e.module.declare("gradc_fail", "void", ("ptr", *("i64",) * 8), " cold nounwind")
    e.line(f"call void {function}({', '.join(arguments)})")
    e.line("ret i32 1")
    e.leave()
    e.start(good)


_LIKELY = '!{!"branch_weights", i32 1048575, i32 1}'


@emits(status.SetSize)
def _set_size(e: FunctionEmitter, op: Any) -> None:
    slot = RECORD_SIZES + e.module.size_slot(op["name"])
    pointer = e.pure(f"getelementptr inbounds i64, ptr %record, i64 {slot}")
    e.line(f"store i64 {e[op.operands[0]]}, ptr {pointer}")


# ---------------------------------------------------------------------------------- parallel loops


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
    parts = [(v, k, t) for v in carried for k, t in enumerate(_types(v))]
    context = e.stack(f"[{len(parts) + 4} x i64]")

    def put(slot: int, t: str, name: str) -> None:
        pointer = e.assign(f"getelementptr inbounds i64, ptr {context}, i64 {slot}")
        e.line(f"store {t} {name}, ptr {pointer}")

    for slot, (value, part, t) in enumerate(parts, 4):
        put(slot, t, e.values[value][part])
    function = _outline(e, op, parts)
    # How many jobs: from the work alone, so that results do not depend on the number of threads.
    span = e.assign(f"sub nsw i64 {uppers[0]}, {lowers[0]}")
    last = e.assign(f"add nsw i64 {span}, {e.assign(f'sub nsw i64 {steps[0]}, 1')}")
    count = _clamped(e, e.assign(f"sdiv i64 {last}, {steps[0]}"), "0", "smax")
    work = e.number(max(1, int(op.attributes.get("gradc.work", DEFAULT_WORK))))
    jobs = e.assign(f"sdiv i64 {e.assign(f'mul i64 {count}, {work}')}, {JOB_OPERATIONS}")
    jobs = _clamped(e, _clamped(e, jobs, str(MOST_JOBS), "smin"), count, "smin")
    jobs = _clamped(e, jobs, "1", "smax")
    rounded = e.assign(f"add i64 {count}, {e.assign(f'sub i64 {jobs}, 1')}")
    size = e.assign(f"sdiv i64 {rounded}, {jobs}")
    # Jobs of whole multiples of 16 iterations, where there are many, keep vector loops whole.
    many = e.assign(f"icmp sge i64 {size}, 64")
    whole = e.assign(f"and i64 {e.assign(f'add i64 {size}, 15')}, -16")
    size = _clamped(e, e.assign(f"select i1 {many}, i64 {whole}, i64 {size}"), "1", "smax")
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


def _clamped(e: FunctionEmitter, x: str, bound: str, name: str) -> str:
    function = e.module.declare(f"llvm.{name}.i64", "i64", ("i64", "i64"))
    return e.assign(f"call i64 {function}(i64 {x}, i64 {bound})")


def _outline(e: FunctionEmitter, op: Any, parts: Sequence[tuple[Value, int, str]]) -> str:
    """The loop's body as a function of a job number; it returns the status."""
    name = e.module.function_name("gradc_entry.parallel")
    inner = FunctionEmitter(e.module, rank="%rank")
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
    uppers[0] = _clamped(inner, end, uppers[0], "smin")
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
    for index in counted_loop(e, lowers[depth], uppers[depth], steps[depth]):
        _nest(e, op, lowers, uppers, steps, [*at, index])
