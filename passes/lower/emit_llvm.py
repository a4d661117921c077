"""A loop-level function as LLVM text, with an entry that Python calls.

In: `func.func` over memrefs (inputs, outputs, constants, last the arena), without results, of
`scf`, `arith`, `math`, `complex`, `memref` and the `kernel` operations of this level. Out: a
`NativeModule`. Index constants above 16 become run-time numbers, so that the text, which is the key
of the code caches, holds no size.

The entry is a METH_FASTCALL function. Its arguments are ndarrays: the buffers in the order of the
function's, then numbers (int64, followed by what the arguments are checked against), floats
(float64), arena (uint8) and record (int64, see ir/program.py). It returns a status as a Python int.
"""

from __future__ import annotations

import hashlib
from typing import Any

from gradc.ir.diagnostic import IRError
from gradc.ir.ops import kernel
from gradc.ir.ops.func import FuncOp
from gradc.ir.program import (
    ARRAY_DATA,
    NO_RANK,
    RECORD_RANK,
    RECORD_THREAD,
    STATUS_ARGUMENT,
    STATUS_INTERRUPTED,
    NativeModule,
)
from gradc.ir.types import MemRefType, i8
from gradc.passes.lower import (
    llvm_control,
    llvm_loops,
    llvm_memory,
    llvm_parallel,
    llvm_regions,
    llvm_scalars,
)
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_module import PREFIX, ModuleEmitter

LOADED = (
    llvm_control,
    llvm_loops,
    llvm_memory,
    llvm_parallel,
    llvm_regions,
    llvm_scalars,
)  # importing them registers their emitters


def emit(function: FuncOp) -> NativeModule:
    """Emit a loop-level function; IRError where it holds something that the loop level does not."""
    _check_arguments(function)
    module = ModuleEmitter()
    e = FunctionEmitter(module)
    names = []
    for k, argument in enumerate(function.args):
        names.append(f"%b{k}")
        e.values[argument] = (names[-1],)
    e.emit_block(function.body)
    e.line("ret i32 0")
    # The record is written by no access to a buffer.
    parameters = [
        "ptr %numbers",
        "ptr %floats",
        "ptr noalias %record",
        *(f"ptr {n}" for n in names),
    ]
    module.functions.append(
        "\n".join(
            [
                f"define internal i32 @{PREFIX}.body({', '.join(parameters)}) noinline {{",
                "entry:",
                *e.prologue,
                *e.lines,
                "}",
                "",
            ]
        )
    )
    module.functions.append(_entry(module, PREFIX, len(names)))
    text = module.text()
    # Machine code of all programs lives in one table of symbols: names follow from the content.
    entry = f"gradc_{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
    return NativeModule(
        text=text.replace(PREFIX, entry),
        entry=entry,
        numbers=module.numbers,
        floats=module.floats,
        sites=tuple(module.sites),
        sizes=tuple(module.sizes),
        symbols=module.symbols,
    )


def _check_arguments(function: FuncOp) -> None:
    for k, argument in enumerate(function.args):
        if not isinstance(argument.type, MemRefType):
            raise IRError(f"expected argument {k} to be a memref, got {argument.type}", function)
    if not function.args or function.args[-1].type.dtype != i8:
        raise IRError("expected the last argument to be the arena, memref<?xi8>", function)
    if function.returned:
        raise IRError("a loop-level function returns nothing: it writes its outputs", function)


def _entry(module: ModuleEmitter, name: str, count: int) -> str:
    """The function that Python calls: read pointers, drop the GIL, run, report."""
    save = module.declare("PyEval_SaveThread", "ptr", ())
    restore = module.declare("PyEval_RestoreThread", "void", ("ptr",))
    as_int = module.declare("PyLong_FromLong", "ptr", ("i64",))
    check = module.declare("gradc_check_arguments", "i64", ("ptr", "ptr", "ptr"))
    lines = [f"define ptr @{name}(ptr %self, ptr %args, i64 %count) {{", "entry:"]

    def data(position: int, target: str) -> None:
        lines.append(f"  {target}.s = getelementptr inbounds ptr, ptr %args, i64 {position}")
        lines.append(f"  {target}.o = load ptr, ptr {target}.s")
        lines.append(f"  {target}.f = getelementptr inbounds i8, ptr {target}.o, i64 {ARRAY_DATA}")
        lines.append(f"  {target} = load ptr, ptr {target}.f")

    buffers = count - 1  # the arena comes after the numbers and floats
    data(buffers, "%numbers")
    data(buffers + 3, "%record")
    wanted = f"getelementptr inbounds i64, ptr %numbers, i64 {len(module.numbers)}"
    lines.append(f"  %wanted = {wanted}")
    # The type of the numbers' object is ndarray itself: arguments are compared with it.
    lines.append(f"  %refused = call i64 {check}(ptr %args, ptr %wanted, ptr %numbers.o)")
    lines.append("  %good = icmp eq i64 %refused, 0")
    lines.append("  br i1 %good, label %run, label %refuse")
    lines.append("refuse:")
    lines.append("  store i64 %refused, ptr %record")
    lines.append(f"  %refusal = call ptr {as_int}(i64 {STATUS_ARGUMENT})")
    lines.append("  ret ptr %refusal")
    lines.append("run:")
    for k in range(buffers):
        data(k, f"%b{k}")
    data(buffers + 1, "%floats")
    data(buffers + 2, f"%b{buffers}")
    arguments = [
        "ptr %numbers",
        "ptr %floats",
        "ptr %record",
        *(f"ptr %b{k}" for k in range(count)),
    ]
    lines.append(f"  %rank = getelementptr inbounds i64, ptr %record, i64 {RECORD_RANK}")
    lines.append(f"  store i64 {NO_RANK}, ptr %rank")
    lines.append(f"  %kept = getelementptr inbounds i64, ptr %record, i64 {RECORD_THREAD}")
    lines.append(f"  %thread = call ptr {save}()")
    lines.append("  store ptr %thread, ptr %kept")
    lines.append("  %selfslot = getelementptr inbounds i64, ptr %kept, i64 1")
    lines.append(f"  %own = call i64 {module.declare('pthread_self', 'i64', ())}()")
    lines.append("  store i64 %own, ptr %selfslot")
    lines.append(f"  %status = call i32 @{PREFIX}.body({', '.join(arguments)})")
    # A look at signals on the way takes the GIL and drops it again, so ask for the state anew.
    lines.append("  %now = load ptr, ptr %kept")
    lines.append(f"  call void {restore}(ptr %now)")
    lines.append(f"  %raised = icmp eq i32 %status, {STATUS_INTERRUPTED}")
    lines.append("  br i1 %raised, label %error, label %report")
    lines.append("error:")
    lines.append("  ret ptr null")
    lines.append("report:")
    lines.append("  %wide = sext i32 %status to i64")
    lines.append(f"  %answer = call ptr {as_int}(i64 %wide)")
    lines.append("  ret ptr %answer")
    lines.append("}\n")
    return "\n".join(lines)


@emits(kernel.Number)
def _number(e: FunctionEmitter, op: Any) -> None:
    value, t = op["value"], op.result.type
    plain = getattr(value, "value", value)
    if not t.is_floating:
        e.define(op, e.number(int(plain)))
        return
    wide = e.floating(float(plain))
    e.define(op, wide if t.name == "f64" else e.assign(f"fptrunc double {wide} to float"))
