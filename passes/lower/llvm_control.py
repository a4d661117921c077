"""Branches, run-time checks and sizes as LLVM instructions."""

from __future__ import annotations

from typing import Any

from gradc.ir.ops import scf, status
from gradc.ir.program import RECORD_SIZES, ErrorSite
from gradc.ir.types import f64
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_loops import LIKELY, carried_names, carried_phis, components


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
        incoming.append((e.block, components(e, block.terminator.operands)))
        e.jump(done)
    e.start(done)
    e.lines += carried_phis(op.results, carried_names(e, op.results), incoming)


# ------------------------------------------------------------------------------- checks and numbers


@emits(status.Check)
def _check(e: FunctionEmitter, op: Any) -> None:
    condition, *values = op.operands
    site = len(e.module.sites)
    kinds = "".join("f" if v.type is f64 else "i" for v in values)
    e.module.sites.append(ErrorSite(op["exception"], op["message"], op.location, kinds))
    failed, good = e.label("fail"), e.label("good")
    e.branch(e[condition], good, failed, f", !prof {e.module.metadata(LIKELY)}")
    e.start(failed)
    e.enter()
    names = []
    for value in values:
        name = e[value]
        names.append(e.assign(f"bitcast double {name} to i64") if value.type is f64 else name)
    names += ["0"] * (status.CHECK_VALUES - len(names))
    # The site is a run-time number, so that kernels that differ in their place alone are one.
    where = e.number(site)
    arguments = ["ptr %record", f"i64 {e.rank or -1}", f"i64 {where}", *(f"i64 {n}" for n in names)]
    function = e.module.declare("gradc_fail", "void", ("ptr", *("i64",) * 8), " cold nounwind")
    e.line(f"call void {function}({', '.join(arguments)})")
    e.line("ret i32 1")
    e.leave()
    e.start(good)


@emits(status.SetSize)
def _set_size(e: FunctionEmitter, op: Any) -> None:
    slot = RECORD_SIZES + e.module.size_slot(op["name"])
    pointer = e.record_word(slot)
    e.line(f"store i64 {e[op.operands[0]]}, ptr {pointer}")
