"""Serial loops (`scf.for`, `scf.while`) as LLVM blocks, with their looks at signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.core import Operation, Value
from gradc.ir.ops import scf
from gradc.ir.program import RECORD_POLL, STATUS_INTERRUPTED
from gradc.ir.types import MemRefType
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_module import component_types

WATCHED_DEPTH = 1  # loops nested this deep look for signals
FIRST_LOOK = 16  # iterations of a nest until its first look
BLOCK = 1 << 16  # iterations of an innermost loop between two looks
Components = tuple[str, ...]  # the LLVM operands of a value
LIKELY = '!{!"branch_weights", i32 1048575, i32 1}'


def component_kinds(value: Value) -> tuple[str, ...]:
    return ("ptr",) if isinstance(value.type, MemRefType) else component_types(value.type)


def components(e: FunctionEmitter, values: Sequence[Value]) -> list[Components]:
    return [e.values[v] for v in values]


def clamped(e: FunctionEmitter, x: str, bound: str, name: str) -> str:
    function = e.module.declare(f"llvm.{name}.i64", "i64", ("i64", "i64"))
    return e.assign(f"call i64 {function}(i64 {x}, i64 {bound})")


def _outermost(e: FunctionEmitter, op: Operation) -> None:
    if e.depth == 0:
        e.set_scopes(op)


def is_innermost(op: Operation) -> bool:
    loops = (scf.For, scf.While, scf.Parallel)
    return not any(isinstance(inner, loops) for inner in op.walk() if inner is not op)


def carried_names(e: FunctionEmitter, values: Sequence[Value]) -> list[Components]:
    """Names for phis of `values`, known before what comes in is."""
    named = []
    for value in values:
        e.values[value] = tuple(e.fresh("p") for _ in component_kinds(value))
        named.append(e.values[value])
    return named


def carried_phis(
    values: Sequence[Value],
    named: Sequence[Components],
    incoming: Sequence[tuple[str, Sequence[Components]]],
) -> list[str]:
    """The phis; incoming: (block, components of each value)."""
    lines = []
    for k, value in enumerate(values):
        for part, t in enumerate(component_kinds(value)):
            sources = ", ".join(f"[ {sets[k][part]}, %{block} ]" for block, sets in incoming)
            lines.append(f"  {named[k][part]} = phi {t} {sources}")
    return lines


def counted_loop(
    e: FunctionEmitter,
    lower: str,
    upper: str,
    step: str,
    body: Callable[[str], Sequence[Components]],
    carried: Sequence[Value] = (),
    initial: Sequence[Components] = (),
) -> list[Components]:
    """A loop over these bounds. body(index) emits an iteration and gives what it yields for the
    `carried` block arguments, which start as `initial`. Their names, which hold the results."""
    head, inside, done = e.label("head"), e.label("body"), e.label("done")
    before = e.block
    e.jump(head)
    e.start(head)
    index, after = e.fresh("i"), e.fresh("i")
    named = carried_names(e, carried)
    at = len(e.lines)
    e.branch(e.assign(f"icmp slt i64 {index}, {upper}"), inside, done)
    e.start(inside)
    e.enter()
    yielded = body(index)
    e.leave()
    e.line(f"{after} = add nsw i64 {index}, {step}")
    phis = [f"  {index} = phi i64 [ {lower}, %{before} ], [ {after}, %{e.block} ]"]
    phis += carried_phis(carried, named, [(before, initial), (e.block, yielded)])
    e.lines[at:at] = phis
    e.jump(head)
    e.start(done)
    return named


def _literal(*operands: str) -> bool:
    return not any(name.startswith("%") for name in operands)


def _watched(e: FunctionEmitter) -> bool:
    """Do loops here look for signals? Where they stand deeper, a loop around them does."""
    return e.depth <= WATCHED_DEPTH


@emits(scf.For)
def _for(e: FunctionEmitter, op: Any) -> None:
    _outermost(e, op)
    lower, upper, step = (e[v] for v in op.operands[:3])
    initial = components(e, op.operands[3:])
    watched = _watched(e) and not _literal(lower, upper, step)
    if watched and is_innermost(op):
        found = _blocked_loop(e, op, lower, upper, step, initial)
    else:
        if watched:
            _wind(e)
        found = _loop(e, op, lower, upper, step, initial, poll=watched)
    e.bind(op.results, found)


def _loop(
    e: FunctionEmitter,
    op: Any,
    lower: str,
    upper: str,
    step: str,
    initial: Sequence[Components],
    poll: bool = False,
) -> list[Components]:
    """The loop of an scf.for over these bounds; its results."""

    def body(index: str) -> list[Components]:
        e.values[op.body.args[0]] = (index,)
        e.depth += 1
        e.emit_block(op.body)
        e.depth -= 1
        if poll:
            count_down(e)
        return components(e, op.body.terminator.operands)

    return counted_loop(e, lower, upper, step, body, op.body.args[1:], initial)


def _blocked_loop(
    e: FunctionEmitter,
    op: Any,
    lower: str,
    upper: str,
    step: str,
    initial: Sequence[Components],
) -> list[Components]:
    """An innermost loop in blocks of iterations with a look at signals between: LLVM can vectorise
    the loop over a block, which it could not with an exit in it."""
    reach = e.multiply(str(BLOCK), step)
    head, again, done = e.label("block"), e.label("again"), e.label("done")
    before = e.block
    e.jump(head)
    e.start(head)
    first = e.fresh("i")
    carried = op.body.args[1:]
    named = [tuple(e.fresh("p") for _ in parts) for parts in initial]
    at = len(e.lines)
    e.enter()
    end = clamped(e, e.assign(f"add nsw i64 {first}, {reach}"), upper, "smin")
    found = _loop(e, op, first, end, step, named)
    e.leave()
    e.branch(e.assign(f"icmp slt i64 {end}, {upper}"), again, done)
    e.start(again)
    look(e)
    phis = [f"  {first} = phi i64 [ {lower}, %{before} ], [ {end}, %{e.block} ]"]
    phis += carried_phis(carried, named, [(before, initial), (e.block, found)])
    e.lines[at:at] = phis
    e.jump(head)
    e.start(done)
    return found


def clock(e: FunctionEmitter) -> str:
    """The words that say when to look next: the record's, or a job's own."""
    if not e.parallel:
        return e.record_word(RECORD_POLL)
    return e.stack_once("clock", "[4 x i64]")


def _wind(e: FunctionEmitter) -> None:
    """Let a nest look early: how often the one before looked says nothing of its iterations."""
    if e.depth == 0 and not e.parallel:
        for place in (RECORD_POLL, RECORD_POLL + 1):
            e.line(f"store i64 {FIRST_LOOK}, ptr {e.record_word(place)}")


def look(e: FunctionEmitter) -> None:
    """Look for signals; a handler that raised ends the function."""
    effects = "memory(argmem: readwrite, inaccessiblemem: readwrite) cold"
    function = e.module.declare("gradc_poll", "i32", ("ptr", "ptr"), f" {effects}")
    found = e.assign(f"call i32 {function}(ptr %record, ptr {clock(e)})")
    stop, go = e.label("stop"), e.label("go")
    e.branch(e.assign(f"icmp eq i32 {found}, 0"), go, stop)
    e.start(stop)
    e.line(f"ret i32 {STATUS_INTERRUPTED}")
    e.start(go)


def count_down(e: FunctionEmitter) -> None:
    """Look for signals when the clock's countdown has run out."""
    e.enter()
    place = clock(e)
    left = e.assign(f"sub i64 {e.assign(f'load i64, ptr {place}')}, 1")
    e.line(f"store i64 {left}, ptr {place}")
    due, go = e.label("due"), e.label("on")
    suffix = f", !prof {e.module.metadata(LIKELY)}"
    e.branch(e.assign(f"icmp sgt i64 {left}, 0"), go, due, suffix)
    e.start(due)
    look(e)
    e.jump(go)
    e.start(go)
    e.leave()


@emits(scf.While)
def _while(e: FunctionEmitter, op: Any) -> None:
    _outermost(e, op)
    watched = _watched(e)
    if watched:
        _wind(e)
    first, second = (region.block for region in op.regions)
    initial = components(e, op.operands)
    head, body, done = e.label("head"), e.label("body"), e.label("done")
    before = e.block
    e.jump(head)
    e.start(head)
    named = carried_names(e, first.args)
    at = len(e.lines)
    e.depth += 1
    e.emit_block(first)
    condition, *forwarded = first.terminator.operands
    e.branch(e[condition], body, done)
    results = components(e, forwarded)
    e.start(body)
    e.enter()
    e.bind(second.args, results)
    e.emit_block(second)
    e.leave()
    e.depth -= 1
    if watched:
        count_down(e)
    yielded = components(e, second.terminator.operands)
    e.lines[at:at] = carried_phis(first.args, named, [(before, initial), (e.block, yielded)])
    e.jump(head)
    e.start(done)
    e.bind(op.results, results)
