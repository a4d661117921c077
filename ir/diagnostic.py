"""Errors of the IR: what was expected, what came, the user's line, and the IR around the fault."""

from __future__ import annotations

import linecache

from gradc.ir.core import UNKNOWN, Location, Operation
from gradc.ir.printer import print_op_line


class GradcError(Exception):
    """Base of every error that gradc raises about a program."""


class TypeRuleError(GradcError):
    """An operation's type rule does not hold: raised by `infer` with a bare message."""


class IRError(GradcError):
    """Invalid IR. `op` is the operation at fault, if there is one.

    str() gives the message, the operation's IR with a line before and after it, the user's line.
    """

    def __init__(self, message: str, op: Operation | None = None, location: Location = UNKNOWN):
        self.message = message
        self.op = op
        self.location = location or (op.location if op is not None else UNKNOWN)
        super().__init__(message)

    def __str__(self) -> str:
        lines = [self.message]
        if self.op is not None:
            lines += ["", *_excerpt(self.op)]
        if self.location:
            lines += ["", f"at {self.location}{_source_line(self.location)}"]
        return "\n".join(lines)


class VerificationError(IRError):
    """The verifier refuses an operation."""


class ParseError(GradcError):
    """Malformed IR text, with the place in the text."""

    def __init__(
        self, message: str, file: str = "", line: int = 0, column: int = 0, text: str = ""
    ):
        self.message, self.file, self.line, self.column = message, file, line, column
        place = f"{file or '<text>'}:{line}:{column}: "
        super().__init__(f"{place}{message}{_caret(text, column) if text else ''}")


def _caret(text: str, column: int) -> str:
    """The line with a mark under the column; of a long line the part around it."""
    first = max(0, column - 81)
    shown = text[first : first + 120]
    before = "..." if first else ""
    after = "..." if first + 120 < len(text) else ""
    return f"\n  {before}{shown}{after}\n  {' ' * (len(before) + column - 1 - first)}^"


def _source_line(location: Location) -> str:
    line = linecache.getline(location.file, location.line).strip()
    return f"\n    {line}" if line else ""


def _excerpt(op: Operation) -> list[str]:
    """The operation in pretty form, marked, between its neighbours."""
    block = op.parent
    if block is None or op not in block.ops:
        return [f"  > {print_op_line(op)}"]
    at = block.ops.index(op)
    lines = []
    for k in range(max(0, at - 1), min(len(block.ops), at + 2)):
        mark = ">" if k == at else " "
        lines.append(f"  {mark} {print_op_line(block.ops[k])}")
    return lines
