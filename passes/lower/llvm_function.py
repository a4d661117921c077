"""One LLVM function under construction: names of values, lines, blocks, buffers and their alias
scopes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.core import Block, Operation, Value
from gradc.ir.diagnostic import IRError
from gradc.ir.ops.arith import Constant
from gradc.ir.ops.memref import ReinterpretCast, View, strides_of
from gradc.ir.types import MemRefType, ScalarType
from gradc.passes.lower.llvm_module import LITERAL_LIMIT, ModuleEmitter, component_types, llvm_type

Emit = Callable[["FunctionEmitter", Any], None]
EMITTERS: dict[type[Operation], Emit] = {}


def emits(*classes: type[Operation]) -> Callable[[Emit], Emit]:
    """Register the function that prints operations of these classes."""

    def register(function: Emit) -> Emit:
        for cls in classes:
            EMITTERS[cls] = function
        return function

    return register


def literal(value: bool | int | float, t: ScalarType) -> str:
    """LLVM's spelling of a constant; floats by their bits, so that nothing is rounded."""
    if t.is_bool:
        return "true" if value else "false"
    if t.is_integer:
        return str(int(value))
    if t.name == "f16":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    # LLVM writes float constants as the double of equal value.
    wide = float(value)
    if t.name == "f32" and wide == wide:
        wide = _to_f32(wide)
    return f"0x{struct.unpack('<Q', struct.pack('<d', wide))[0]:016X}"


def _to_f32(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


class FunctionEmitter:
    """Prints the operations of a block tree as LLVM instructions.

    rank:     operand that orders errors of parallel jobs, or None in the function that runs first
    parallel: whether this is the body of a parallel loop
    """

    def __init__(self, module: ModuleEmitter, rank: str | None = None) -> None:
        self.module = module
        self.rank = rank
        self.values: dict[Value, tuple[str, ...]] = {}
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"
        self.depth = 0  # how many loops stand around the current place
        self.failed = False  # is there a jump to the failure exit?
        self._counter = 0
        self._known: list[dict[Any, str]] = [{}]
        self._slots: dict[Any, str] = {}
        self._scopes: dict[Value, str] = {}

    @property
    def parallel(self) -> bool:
        return self.rank is not None

    # ------------------------------------------------------------------------------------- lines

    def fresh(self, stem: str = "v") -> str:
        self._counter += 1
        return f"%{stem}{self._counter}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def assign(self, text: str) -> str:
        """Emit `%v = text`; the name."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def pure(self, text: str) -> str:
        """As assign, but an instruction already emitted in a block above is used again."""
        for known in reversed(self._known):
            if text in known:
                return known[text]
        self._known[-1][text] = name = self.assign(text)
        return name

    def label(self, stem: str) -> str:
        self._counter += 1
        return f"{stem}{self._counter}"

    def start(self, label: str) -> None:
        """Start a basic block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str, suffix: str = "") -> None:
        self.line(f"br label %{label}{suffix}")

    def branch(self, condition: str, then: str, orelse: str, suffix: str = "") -> None:
        self.line(f"br i1 {condition}, label %{then}, label %{orelse}{suffix}")

    def enter(self) -> None:
        """Instructions from here on do not dominate what follows the matching `leave`."""
        self._known.append({})

    def leave(self) -> None:
        self._known.pop()

    # ------------------------------------------------------------------------------------ values

    def __getitem__(self, value: Value) -> str:
        """The operand of a value that is one LLVM value."""
        (name,) = self.values[value]
        return name

    def typed(self, value: Value) -> str:
        return f"{llvm_type(value.type)} {self[value]}"

    def define(self, op: Operation, *components: str) -> None:
        """Name the only result of an operation."""
        self.values[op.results[0]] = components

    def integer(self, value: int) -> str:
        """An index constant: a literal when small, else loaded from the run-time numbers."""
        if abs(value) <= LITERAL_LIMIT:
            return str(value)
        slot = self.module.number_slot(value)
        return self._load_once(("number", slot), "i64", f"%numbers, i64 {slot}")

    def number(self, value: int) -> str:
        """An integer that is always a run-time number, with a place of its own."""
        slot = self.module.own_number_slot(value)
        return self._load_once(("number", slot), "i64", f"%numbers, i64 {slot}")

    def floating(self, value: float) -> str:
        """A float64 that is always a run-time number."""
        slot = self.module.float_slot(value)
        return self._load_once(("float", slot), "double", f"%floats, i64 {slot}")

    def _load_once(self, key: Any, type: str, place: str) -> str:
        if key not in self._slots:
            pointer, name = self.fresh("a"), self.fresh("n")
            self.prologue.append(f"  {pointer} = getelementptr inbounds {type}, ptr {place}")
            self.prologue.append(f"  {name} = load {type}, ptr {pointer}")
            self._slots[key] = name
        return self._slots[key]

    def stack(self, type: str, align: int = 8) -> str:
        """Stack storage, set aside on entry."""
        name = self.fresh("s")
        self.prologue.append(f"  {name} = alloca {type}, align {align}")
        return name

    def record_word(self, place: int) -> str:
        """The address of a word of the record."""
        if ("record", place) not in self._slots:
            self._slots["record", place] = name = self.fresh("r")
            address = f"getelementptr inbounds i64, ptr %record, i64 {place}"
            self.prologue.append(f"  {name} = {address}")
        return self._slots["record", place]

    def stack_once(self, key: str, type: str) -> str:
        """Stack storage for the whole function, zero on entry."""
        if key not in self._slots:
            self._slots[key] = name = self.stack(type)
            self.prologue.append(f"  store {type} zeroinitializer, ptr {name}")
        return self._slots[key]

    # ----------------------------------------------------------------------------------- buffers

    def add(self, x: str, y: str) -> str:
        if x == "0":
            return y
        return x if y == "0" else self.pure(f"add nsw i64 {x}, {y}")

    def multiply(self, x: str, y: str) -> str:
        if "0" in (x, y):
            return "0"
        if "1" in (x, y):
            return x if y == "1" else y
        return self.pure(f"mul nsw i64 {x}, {y}")

    def address(self, buffer: Value, indices: Sequence[str]) -> str:
        """The pointer to the element at these indices."""
        t: MemRefType = buffer.type
        offset = "0"
        for at, stride in zip(indices, strides_of(t), strict=True):
            if at != "0":
                offset = self.add(offset, self.multiply(at, self.integer(stride)))
        pointer = self[buffer]
        if offset == "0":
            return pointer
        kind = element_type(t.dtype)
        return self.pure(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {offset}")

    def aliasing(self, buffer: Value) -> str:
        """The metadata suffix that says which buffers an access cannot touch."""
        return self._scopes.get(root(buffer), "")

    def set_scopes(self, nest: Operation) -> None:
        """Give every buffer that `nest` uses a scope of its own, disjoint from those that it cannot
        overlap. Scopes live as long as one nest, since the lists grow with the square of the
        buffers."""
        roots: dict[Value, tuple[Any, int, int] | None] = {}
        for op in nest.walk():
            for value in op.operands:
                if isinstance(value.type, MemRefType):
                    first = root(value)
                    roots.setdefault(first, _extent(first))
        self._scopes = {}
        if len(roots) < 2:
            return
        module = self.module
        domain = module.distinct("")
        scopes = {value: module.distinct(domain) for value in roots}
        for value, extent in roots.items():
            others = [
                scopes[other]
                for other, theirs in roots.items()
                if other is not value and _disjoint(value, extent, other, theirs)
            ]
            own = module.metadata(f"!{{{scopes[value]}}}")
            suffix = f", !alias.scope {own}"
            if others:
                suffix += f", !noalias {module.metadata('!{' + ', '.join(others) + '}')}"
            self._scopes[value] = suffix

    # ------------------------------------------------------------------------------------ walking

    def emit_block(self, block: Block) -> None:
        """Emit all operations of a block except its terminator."""
        for op in block.ops[:-1]:
            self.emit(op)

    def emit(self, op: Operation) -> None:
        emitter = EMITTERS.get(type(op))
        if emitter is None:
            raise IRError(f"{op.name} is not an operation of the loop level", op)
        emitter(self, op)

    def bind(self, values: Sequence[Value], components: Sequence[tuple[str, ...]]) -> None:
        self.values.update(zip(values, components, strict=True))


def element_type(dtype: ScalarType) -> str:
    """The LLVM type of an array element."""
    return "{ " + ", ".join(component_types(dtype)) + " }" if dtype.is_complex else llvm_type(dtype)


def root(buffer: Value) -> Value:
    """The buffer that a chain of casts starts from: an argument, a view of the arena, scratch."""
    while isinstance(buffer.owner, ReinterpretCast):
        (buffer,) = buffer.owner.operands
    return buffer


def _extent(buffer: Value) -> tuple[Any, int, int] | None:
    """(base, first byte, end) of a view at a constant place of a buffer; None if not known."""
    owner = buffer.owner
    if not isinstance(owner, View):
        return (buffer, 0, 1)
    base, offset = owner.operands[0], owner.operands[1].owner
    sizes: Any = buffer.type.shape
    if not isinstance(offset, Constant) or not all(type(n) is int for n in sizes):
        return None
    total = buffer.type.dtype.itemsize
    for size in sizes:
        total *= size
    first = int(offset.number)
    return (base, first, first + total)


def _disjoint(a: Value, x: Any, b: Value, y: Any) -> bool:
    base_a, base_b = _base(a), _base(b)
    if base_a is not base_b:
        return True
    if x is None or y is None or a is base_a or b is base_b:
        return False
    return x[2] <= y[1] or y[2] <= x[1]


def _base(buffer: Value) -> Value:
    return buffer.owner.operands[0] if isinstance(buffer.owner, View) else buffer
