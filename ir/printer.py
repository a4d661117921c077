"""The two textual forms of the IR.

`print_module` writes the generic MLIR form, which `parser.py` reads back without loss and mlir-opt
and xDSL accept. `print_pretty` writes a form for people: `%y = nd.tanh %x : tensor<4xf32>`. An
operation whose pretty form differs from the default defines a static method

    pretty(op, name) -> text before its region, or a tuple with one text before each region

where name(value) is `%x`; the text then also shows the arguments of the regions' blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gradc.ir.attribute_printer import (
    attribute_text,
    dictionary_text,
    location_text,
    short_text,
    symbol_text,
)
from gradc.ir.core import Block, Operation, Region, Value
from gradc.ir.types import Type, index, text

__all__ = [
    "attribute_text",
    "location_text",
    "print_module",
    "print_op_line",
    "print_pretty",
    "short_text",
    "symbol_text",
    "types_text",
]

_UNFIT = re.compile(r"[^A-Za-z0-9_$.]")
_FIT = re.compile(r"_*[A-Za-z]")  # a hint of letters other than A to Z is none: it would be ____
_COUNTED = re.compile(r"(.*?)_(\d+)\Z")


class _Names:
    """Names of values: the hint, or hint_1, hint_2, ... or a number. Each isolated operation (a
    function) counts anew; after a region its names are free again: every loop may say %i."""

    def __init__(self) -> None:
        self.names: dict[Value, str] = {}
        self.used: dict[str, None] = {}  # in order of definition
        self.next_suffix: dict[str, int] = {}
        self.next_number = 0

    def __call__(self, value: Value) -> str:
        found = self.names.get(value)
        if found is None:
            found = self.names[value] = "%" + self._new(value)
        return found

    def _new(self, value: Value) -> str:
        hint = _UNFIT.sub("_", value.hint)
        if not _FIT.match(hint):
            if not isinstance(value.owner, Block):
                self.next_number += 1
                return str(self.next_number - 1)
            hint = "i" if value.type is index else f"arg{value.index}"
        if hint in self.used:
            counted = _COUNTED.match(hint)
            base = counted[1] if counted and counted[1] else hint
            k = self.next_suffix.get(base, 1)
            while f"{base}_{k}" in self.used:
                k += 1
            self.next_suffix[base] = k + 1
            hint = f"{base}_{k}"
        self.used[hint] = None
        return hint

    def release(self, mark: int) -> None:
        """Forget the names that came into use since len(used) was `mark`."""
        if len(self.used) > mark:
            while len(self.used) > mark:
                self.used.popitem()
            self.next_suffix.clear()

    def enter(self) -> tuple[Any, ...]:
        saved = (self.used, self.next_suffix, self.next_number)
        self.used, self.next_suffix, self.next_number = {}, {}, 0
        return saved

    def leave(self, saved: tuple[Any, ...]) -> None:
        self.used, self.next_suffix, self.next_number = saved


def _is_isolated(op: Operation) -> bool:
    return bool(getattr(op, "isolated", False))


class _Generic:
    """Writes the generic form."""

    def __init__(self, locations: bool) -> None:
        self.locations = locations
        self.name = _Names()
        self.lines: list[str] = []

    def operation(self, op: Operation, indent: str) -> None:
        name = self.name
        head = indent
        if op.results:
            head += ", ".join([name(v) for v in op.results]) + " = "
        head += f'"{op.name}"({", ".join([name(v) for v in op.operands])})'
        inputs = ", ".join([text(v.type) for v in op.operands])
        tail = f" : ({inputs}) -> {types_text([v.type for v in op.results])}"
        if op.attributes:
            tail = f" {dictionary_text(op.attributes)}{tail}"
        if self.locations:
            tail += f" {location_text(op.location)}"
        if not op.regions:
            self.lines.append(head + tail)
            return
        saved = name.enter() if _is_isolated(op) else None
        mark = len(name.used)
        for k, region in enumerate(op.regions):
            self.lines.append(f"{head} ({{" if k == 0 else f"{indent}}}, {{")
            self.region(region, indent)
        self.lines.append(f"{indent}}}){tail}")
        name.release(mark)
        if saved is not None:
            name.leave(saved)

    def region(self, region: Region, indent: str) -> None:
        for k, block in enumerate(region.blocks):
            if k or block.args or not block.ops:
                args = ", ".join(f"{self.name(v)}: {text(v.type)}" for v in block.args)
                self.lines.append(f"{indent}^bb{k}{f'({args})' if args else ''}:")
            for op in block.ops:
                self.operation(op, indent + "  ")


class _Pretty:
    """Writes the form for people."""

    def __init__(self, locations: bool, name: _Names) -> None:
        self.locations = locations
        self.name = name
        self.lines: list[str] = []

    def head(self, op: Operation) -> tuple[tuple[str, ...], bool]:
        """The texts before the regions (at least one), and whether block arguments are in them."""
        results = ", ".join([self.name(v) for v in op.results])
        start = f"{results} = " if results else ""
        found = _custom(op, self.name)
        if found:
            return (start + found[0], *found[1:]), True
        operands = ", ".join([self.name(v) for v in op.operands])
        line = f"{start}{op.name}{' ' if operands else ''}{operands}"
        attributes = _telling_attributes(op)
        if attributes:
            line += " {" + ", ".join(attributes) + "}"
        return (line + _signature(op),), False

    def operation(self, op: Operation, indent: str) -> None:
        for value in op.results:
            self.name(value)
        saved = self.name.enter() if _is_isolated(op) else None
        mark = len(self.name.used)
        parts, has_arguments = self.head(op)
        comment = _comment(op) if self.locations else ""
        if not op.regions:
            self.lines.append(indent + parts[0] + comment)
            return
        for k, region in enumerate(op.regions):
            if k and not region.blocks and has_arguments:
                continue  # an absent else
            word = parts[k] if k < len(parts) else ""
            before = indent if k == 0 else f"{indent}}} "
            self.lines.append(f"{before}{word}{' ' if word else ''}{{{'' if k else comment}")
            for number, block in enumerate(region.blocks):
                if number or (block.args and not has_arguments):
                    args = ", ".join(f"{self.name(v)}: {text(v.type)}" for v in block.args)
                    self.lines.append(f"{indent}^bb{number}{f'({args})' if args else ''}:")
                for inner in block.ops:
                    self.operation(inner, indent + "  ")
        self.lines.append(f"{indent}}}")
        self.name.release(mark)
        if saved is not None:
            self.name.leave(saved)


def _custom(op: Operation, name: Callable[[Value], str]) -> tuple[str, ...]:
    """What the operation's own `pretty` gives, or () where there is none or it fails: diagnostics
    print invalid operations too, such as a function without a name."""
    pretty = getattr(op, "pretty", None)
    if pretty is None:
        return ()
    try:
        found = pretty(op, name)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError):
        return ()
    return (found,) if isinstance(found, str) else tuple(found)


def _telling_attributes(op: Operation) -> list[str]:
    """Attributes in short form, without those that repeat the result's type or shape."""
    result = op.results[0].type if len(op.results) == 1 else None
    return [
        f"{key} = {short_text(value)}"
        for key, value in op.attributes.items()
        if not (key == "type" and value == result)
        and not (key == "shape" and value == getattr(result, "shape", None))
    ]


def _signature(op: Operation) -> str:
    operands = [v.type for v in op.operands]
    results = [v.type for v in op.results]
    every = operands + results
    if not every:
        return ""
    if len(operands) > 0 and len(results) == 1 and all(t == every[0] for t in every):
        return f" : {text(every[0])}"
    left = ", ".join(map(text, operands))
    right = ", ".join(map(text, results))
    if not operands or not results:
        return f" : {left or right}"
    left = left if len(operands) == 1 else f"({left})"
    return f" : {left} -> {right if len(results) == 1 else f'({right})'}"


def _comment(op: Operation) -> str:
    if not op.location and not op.location.role:
        return ""
    return f"  // {op.location}"


def types_text(types: Sequence[Type]) -> str:
    """Result types: one bare, several in parentheses."""
    shown = ", ".join([text(t) for t in types])
    bare = len(types) == 1 and not shown.startswith("(")
    return shown if bare else f"({shown})"


def print_module(op: Operation, locations: bool = False) -> str:
    """The generic MLIR form of any operation, usually a module; ends with a newline.

    TypeError for an attribute that is not an attribute value (see core.py).
    """
    writer = _Generic(locations)
    writer.operation(op, "")
    return "\n".join(writer.lines) + "\n"


def print_pretty(op: Operation, locations: bool = False) -> str:
    """The form for people; `locations` adds `// model.py:12` comments."""
    writer = _Pretty(locations, _Names())
    writer.operation(op, "")
    return "\n".join(writer.lines) + "\n"


def print_op_line(op: Operation) -> str:
    """One line in pretty form, with the names of the whole function where the op stands in one."""
    names = _Names()
    top = op
    while not _is_isolated(top) and top.parent is not None and top.parent.parent_op is not None:
        top = top.parent.parent_op
    if top is not op:
        _name_all(top, names)
    parts, _ = _Pretty(False, names).head(op)
    return parts[0] + (" { ... }" if op.regions else "")


def _name_all(op: Operation, name: _Names) -> None:
    mark = len(name.used)
    for region in op.regions:
        for block in region.blocks:
            for value in block.args:
                name(value)
            for inner in block.ops:
                for value in inner.results:
                    name(value)
                _name_all(inner, name)
    name.release(mark)
