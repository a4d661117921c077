"""A loop-level function as a stand-alone Python module: what a CPU program does, to read and to
run.

The text imports NumPy and Numba alone. Its one public function has the name and the buffers of the
loop-level function (inputs, outputs, constants, arena) and writes its outputs in place; it runs
compiled by Numba and, under NUMBA_DISABLE_JIT=1, as plain Python. Numba computes no half precision
on CPUs: programs with float16 buffers run as plain Python only."""

from __future__ import annotations

import keyword
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir import types
from gradc.ir.core import Block, Operation, Value
from gradc.ir.diagnostic import IRError
from gradc.ir.ops import blas, memref, scf, status
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import MemRefType
from gradc.passes.lower.python_scalars import EXPRESSIONS, HELPERS, NUMPY

Statement = Callable[["PythonEmitter", Any], None]
STATEMENTS: dict[type[Operation], Statement] = {}
RESERVED = frozenset({"np", "njit", "prange", "math", *HELPERS, *keyword.kwlist})


def emit_python(function: FuncOp) -> str:
    """The module's text; IRError where the function holds something that the loop level does
    not."""
    e = PythonEmitter()
    arguments = [e.name(v) for v in function.args]
    for op in function.body.ops[:-1]:
        e.emit(op)
    if e.sizes:
        e.line(f"return {', '.join(e.sizes.values())}")
    elif not e.lines:
        e.line("pass")
    name = _identifier(function["sym_name"])
    shown = ", ".join(f"{a}: {v.type}" for a, v in zip(arguments, function.args, strict=True))
    imports = ["import numpy as np", "from numba import njit, prange"]
    if any("math." in line for line in e.lines):
        imports.insert(0, "import math\n")
    helpers = [f"\n{HELPERS[n]}" for n in sorted(e.helpers)]
    head = [
        "",
        "",
        '@njit(error_model="numpy")',
        f"def {name}({', '.join(arguments)}):",
        *([f"    # {shown}"] if shown else []),
    ]
    return "\n".join([*imports, *helpers, *head, *e.lines]) + "\n"


def _identifier(text: str) -> str:
    found = re.sub(r"\W", "_", text) or "v"
    found = f"_{found}" if found[0].isdigit() else found
    return f"{found}_" if found in RESERVED else found


class PythonEmitter:
    """Names of values and the lines of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.sizes: dict[str, str] = {}
        self.depth = 1
        self._names: dict[Value, str] = {}
        self._used: set[str] = set(RESERVED)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, value: Value) -> str:
        """The variable of a value, made from its hint when first asked for."""
        if value not in self._names:
            self._names[value] = self.fresh(_identifier(value.hint) if value.hint else _stem(value))
        return self._names[value]

    def fresh(self, stem: str) -> str:
        """A variable that nothing else uses."""
        chosen, k = stem, 1
        while chosen in self._used:
            k += 1
            chosen = f"{stem}{k}"
        self._used.add(chosen)
        return chosen

    def names(self, values: Sequence[Value]) -> list[str]:
        return [self.name(v) for v in values]

    def rename(self, value: Value, text: str) -> None:
        """Let an expression stand for the value: a literal, or another variable."""
        self._names[value] = text

    def emit(self, op: Operation) -> None:
        expression = EXPRESSIONS.get(type(op))
        if expression is not None:
            text = expression(op, self.names(op.operands), self.helpers)
            if not op.operands:
                self.rename(op.results[0], text)
            else:
                self.line(f"{self.name(op.results[0])} = {text}")
            return
        statement = STATEMENTS.get(type(op))
        if statement is None:
            raise IRError(f"{op.name} is not an operation of the loop level", op)
        statement(self, op)

    def block(self, block: Block, last: Sequence[str] = ()) -> None:
        """A block's operations, then further lines, one level in."""
        self.depth += 1
        before = len(self.lines)
        for op in block.ops[:-1]:
            self.emit(op)
        for text in last:
            self.line(text)
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    def assign(self, targets: Sequence[str], sources: Sequence[str]) -> list[str]:
        """The lines of a parallel assignment, without those that change nothing."""
        pairs = [(t, s) for t, s in zip(targets, sources, strict=True) if t != s]
        if not pairs:
            return []
        return [f"{', '.join(t for t, _ in pairs)} = {', '.join(s for _, s in pairs)}"]


def _stem(value: Value) -> str:
    if isinstance(value.owner, Block):
        if isinstance(value.type, MemRefType):
            return "buffer"
        return "i" if value.type is types.index else "x"
    return {"memref.view": "part", "memref.alloca": "scratch"}.get(value.owner.name, "v")


def statement(*classes: type[Operation]) -> Callable[[Statement], Statement]:
    def register(function: Statement) -> Statement:
        for cls in classes:
            STATEMENTS[cls] = function
        return function

    return register


def _place(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "()"


@statement(memref.Load)
def _load(e: PythonEmitter, op: Operation) -> None:
    buffer, *indices = e.names(op.operands)
    e.line(f"{e.name(op.results[0])} = {buffer}[{_place(indices)}]")


@statement(memref.Store)
def _store(e: PythonEmitter, op: Operation) -> None:
    value, buffer, *indices = e.names(op.operands)
    e.line(f"{buffer}[{_place(indices)}] = {value}")


@statement(memref.View)
def _view(e: PythonEmitter, op: Operation) -> None:
    source, offset, *_ = e.names(op.operands)
    t: Any = op.results[0].type
    nbytes = t.dtype.itemsize
    for size in t.shape:
        nbytes *= size
    kind = NUMPY[t.dtype.name]
    shape = _shape(t.shape)
    text = f"{source}[{offset} : {offset} + {nbytes}].view({kind}).reshape({shape})"
    e.line(f"{e.name(op.results[0])} = {text}")


def _shape(shape: Sequence[Any]) -> str:
    return f"({', '.join(str(n) for n in shape)}{',' if len(shape) == 1 else ''})"


@statement(memref.Alloca)
def _alloca(e: PythonEmitter, op: Operation) -> None:
    t: Any = op.results[0].type
    e.line(f"{e.name(op.results[0])} = np.empty({_shape(t.shape)}, {NUMPY[t.dtype.name]})")


@statement(memref.ReinterpretCast)
def _reinterpret(e: PythonEmitter, op: Operation) -> None:
    (source,) = op.operands
    t: Any = op.results[0].type
    strides, name = memref.strides_of(t), e.name(source)
    whole = memref.strides_of(source.type) == memref.row_major(source.type.shape)
    if whole and strides == memref.row_major(t.shape) and _size(t) == _size(source.type):
        text = f"{name}.reshape({_shape(t.shape)})"
    else:
        steps = _shape([s * t.dtype.itemsize for s in strides])
        text = f"np.lib.stride_tricks.as_strided({name}, {_shape(t.shape)}, {steps})"
    e.line(f"{e.name(op.results[0])} = {text}")


def _size(t: Any) -> int:
    total = 1
    for size in t.shape:
        total *= size if isinstance(size, int) else 0
    return total


def _each(e: PythonEmitter, shape: Sequence[Any], line: Callable[[Sequence[str]], str]) -> None:
    """One loop an axis around the line for an element: Numba needs seconds to compile an assignment
    to a slice."""
    indices = [e.fresh("i") for _ in shape]
    for name, size in zip(indices, shape, strict=True):
        e.line(f"for {name} in range({size}):")
        e.depth += 1
    e.line(line(indices))
    e.depth -= len(indices)


@statement(memref.Copy)
def _copy(e: PythonEmitter, op: Operation) -> None:
    source, target = e.names(op.operands)
    shape = op.operands[0].type.shape
    _each(e, shape, lambda i: f"{target}[{_place(i)}] = {source}[{_place(i)}]")


@statement(blas.GemmCall)
def _gemm(e: PythonEmitter, op: Any) -> None:
    left, at = e.names(op.operands[3:]), []
    for lead in op.attributes.get("batch", (0, 0, 0)):
        at.append(left[:lead])
        left = left[lead:]
    a, b, c = e.names(op.operands[:3])
    a, b = (f"{name}[{_place(i)}]" if i else name for name, i in zip((a, b), at))
    kind = NUMPY[op.operands[0].type.dtype.name]
    alpha, beta = op.attributes.get("alpha", 1.0), op.attributes.get("beta", 0.0)
    # np.dot wants matrices that are contiguous one way or the other.
    product = e.fresh("product")
    e.line(f"{product} = np.dot(np.ascontiguousarray({a}), np.ascontiguousarray({b}))")

    def element(indices: Sequence[str]) -> str:
        target = f"{c}[{_place([*at[2], *indices])}]"
        text = f"{product}[{_place(indices)}]"
        if alpha != 1:
            text = f"{kind}({alpha!r}) * {text}"
        if beta != 0:
            text += f" + {target}" if beta == 1 else f" + {kind}({beta!r}) * {target}"
        return f"{target} = {text}"

    _each(e, op.operands[2].type.shape[-2:], element)


@statement(scf.For)
def _for(e: PythonEmitter, op: Any) -> None:
    lower, upper, step = e.names(op.operands[:3])
    carried = e.names(op.body.args[1:])
    for text in e.assign(carried, e.names(op.operands[3:])):
        e.line(text)
    index = e.name(op.body.args[0])
    bounds = upper if (lower, step) == ("0", "1") else f"{lower}, {upper}"
    e.line(f"for {index} in range({bounds}{'' if step == '1' else f', {step}'}):")
    _body_with_yield(e, op.body, carried)
    for result, name in zip(op.results, carried, strict=True):
        e.rename(result, name)


def _body_with_yield(e: PythonEmitter, block: Block, carried: Sequence[str]) -> None:
    e.depth += 1
    before = len(e.lines)
    for op in block.ops[:-1]:
        e.emit(op)
    for text in e.assign(carried, e.names(block.ops[-1].operands)):
        e.line(text)
    if len(e.lines) == before:
        e.line("pass")
    e.depth -= 1


@statement(scf.Parallel)
def _parallel(e: PythonEmitter, op: Any) -> None:
    rank = len(op.body.args)
    names = e.names(op.operands)
    for k, index in enumerate(e.names(op.body.args)):
        lower, upper, step = (names[k + part * rank] for part in range(3))
        loop = "prange" if k == 0 and step == "1" else "range"
        bounds = upper if (lower, step) == ("0", "1") else f"{lower}, {upper}"
        e.line(f"for {index} in {loop}({bounds}{'' if step == '1' else f', {step}'}):")
        e.depth += 1
    e.depth -= 1
    e.block(op.body)
    e.depth -= rank - 1


@statement(scf.If)
def _if(e: PythonEmitter, op: Any) -> None:
    results = e.names(op.results)
    for keyword_text, region in zip((f"if {e.name(op.operands[0])}:", "else:"), op.regions):
        if not region.blocks:
            continue
        block = region.block
        if keyword_text == "else:" and len(block.ops) == 1 and not results:
            continue
        e.line(keyword_text)
        _body_with_yield(e, block, results)


@statement(scf.ExecuteRegion)
def _region(e: PythonEmitter, op: Any) -> None:
    for inner in op.body.ops[:-1]:
        e.emit(inner)
    yielded = e.names(op.body.terminator.operands)
    for text in e.assign(e.names(op.results), yielded):
        e.line(text)


@statement(scf.While)
def _while(e: PythonEmitter, op: Any) -> None:
    first, second = (region.block for region in op.regions)
    carried = e.names(first.args)
    for text in e.assign(carried, e.names(op.operands)):
        e.line(text)
    e.line("while True:")
    e.depth += 1
    for inner in first.ops[:-1]:
        e.emit(inner)
    condition, *forwarded = e.names(first.ops[-1].operands)
    results = e.names(op.results)
    for text in e.assign(results, forwarded):
        e.line(text)
    e.line(f"if not {condition}:")
    e.line("    break")
    for argument, name in zip(second.args, results, strict=True):
        e.rename(argument, name)
    for inner in second.ops[:-1]:
        e.emit(inner)
    for text in e.assign(carried, e.names(second.ops[-1].operands)):
        e.line(text)
    e.depth -= 1


@statement(status.Check)
def _check(e: PythonEmitter, op: Any) -> None:
    condition, *values = e.names(op.operands)
    e.line(f"if not {condition}:")
    kind = "np.linalg.LinAlgError" if op["exception"] == "LinAlgError" else op["exception"]
    # Numba formats integers alone: floats are named in the text and follow it.
    floats = [v.type.is_floating for v in op.operands[1:]]
    shown = [name if is_float else f"{{{name}}}" for name, is_float in zip(values, floats)]
    text = _message(op["message"], shown)
    further = [name for name, is_float in zip(values, floats) if is_float]
    e.line(f"    raise {kind}({', '.join([text, *further])})")


def _message(message: str, shown: Sequence[str]) -> str:
    """Python's spelling of a message: an f-string where some of `shown` is a name in braces."""
    is_format = any(text.startswith("{") for text in shown)
    parts, position = [], 0
    for literal, place, _, _ in string.Formatter().parse(message):
        parts.append(literal.replace("{", "{{").replace("}", "}}") if is_format else literal)
        if place is not None:
            parts.append(shown[int(place or position)])
            position += 1
    return f"{'f' if is_format else ''}{''.join(parts)!r}"


@statement(status.SetSize)
def _set_size(e: PythonEmitter, op: Any) -> None:
    if e.depth != 1:
        raise IRError("a size is set at the end of a function, outside of loops and branches", op)
    e.sizes[op["name"]] = e.name(op.operands[0])
