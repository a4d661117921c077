"""`scf.execute_region`: a kernel as a function of its own, which equal kernels share.

A shared function holds nothing of its place in the program: buffers and values come as parameters,
its run-time numbers and floats are a stretch of the program's. So the layers of a deep network are
compiled once, and no function grows with the program.
"""

from __future__ import annotations

import re
from typing import Any

from gradc.ir.core import captured_values
from gradc.ir.ops import scf
from gradc.passes.lower.llvm_function import FunctionEmitter, emits
from gradc.passes.lower.llvm_loops import component_kinds
from gradc.passes.lower.llvm_module import PREFIX, ModuleEmitter

_METADATA = re.compile(r"!(\d+)")


@emits(scf.ExecuteRegion)
def _region(e: FunctionEmitter, op: Any) -> None:
    if op.results or e.depth or e.parallel:
        e.emit_block(op.body)
        e.bind(op.results, [e.values[v] for v in op.body.terminator.operands])
        return
    child = ModuleEmitter()
    child.sites, child.sizes = e.module.sites, e.module.sizes
    inner = FunctionEmitter(child)
    parameters: list[str] = []
    arguments: list[str] = []
    for value in captured_values(op):
        names = []
        for name, t in zip(e.values[value], component_kinds(value), strict=True):
            if name.startswith("%"):
                names.append(f"%arg.{len(parameters)}")
                parameters.append(f"{t} {names[-1]}")
                arguments.append(f"{t} {name}")
            else:
                names.append(name)
        inner.values[value] = tuple(names)
    inner.emit_block(op.body)
    inner.line("ret i32 0")
    head = ", ".join(["ptr %numbers", "ptr %floats", "ptr noalias %record", *parameters])
    child.functions.append(
        "\n".join(
            [
                f"define internal i32 @{PREFIX}.kernel({head}) noinline {{",
                "entry:",
                *inner.prologue,
                *inner.lines,
                "}",
                "",
            ]
        )
    )
    function, numbers, floats = _share(e.module, child)
    first = e.assign(f"getelementptr inbounds i64, ptr %numbers, i64 {numbers}")
    second = e.assign(f"getelementptr inbounds double, ptr %floats, i64 {floats}")
    passed = ", ".join([f"ptr {first}", f"ptr {second}", "ptr %record", *arguments])
    outcome = e.assign(f"call i32 @{function}({passed})")
    failed, good = e.label("stop"), e.label("good")
    e.branch(e.assign(f"icmp eq i32 {outcome}, 0"), good, failed)
    e.start(failed)
    e.line(f"ret i32 {outcome}")
    e.start(good)


def _share(module: ModuleEmitter, child: ModuleEmitter) -> tuple[str, int, int]:
    """Add the child's functions unless equal ones are there: the kernel's name, and where its
    numbers and floats start."""
    key = "\n".join([*child.functions, *child.metadata_lines])
    name = module.kernels.get(key)
    if name is None:
        name = module.kernels[key] = f"{PREFIX}.kernel{len(module.kernels) + 1}"
        base = module.metadata_count

        def moved(text: str) -> str:
            text = _METADATA.sub(lambda found: f"!{int(found.group(1)) + base}", text)
            text = text.replace(f"{PREFIX}.parallel", f"{name}.parallel")
            return text.replace(f"{PREFIX}.kernel(", f"{name}(")

        module.adopt(
            [moved(text) for text in child.functions],
            [moved(text) for text in child.metadata_lines],
            child,
        )
    return name, *module.append_numbers(child.numbers, child.floats)
