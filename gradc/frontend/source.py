"""Finding the syntax tree of a Python function from its code object.

A file is parsed once. A `def` is found by its first line (that of its first decorator) and name; a
lambda by the columns of its instructions (`co_positions`), so that two lambdas on one line are told
apart.
"""

from __future__ import annotations

import ast
import linecache
from collections import OrderedDict
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Located:
    """A function's syntax tree, and the class whose body surrounds it ('' for none)."""

    node: FunctionNode
    class_name: str


@dataclass
class _File:
    functions: dict[tuple[int, str], list[Located]] = field(default_factory=dict)
    lambdas: dict[int, list[Located]] = field(default_factory=dict)


_MOST_FILES = 256
_FILES: OrderedDict[tuple[str, int], _File | None] = OrderedDict()  # the ones met last


def locate(code: CodeType, module_globals: dict[str, Any] | None = None) -> Located | None:
    """The syntax tree of the function with this code; None without source, or where source and code
    do not belong together (an edited file, generated code, a coroutine)."""
    lines = linecache.getlines(code.co_filename, module_globals)
    if not lines:
        return None
    key = (code.co_filename, hash("".join(lines)))
    if key not in _FILES:
        _FILES[key] = _parse("".join(lines), code.co_filename)
        while len(_FILES) > _MOST_FILES:
            _FILES.popitem(last=False)
    file = _FILES.get(key)
    if file is None:
        return None
    if code.co_name == "<lambda>":
        return _locate_lambda(code, file)
    found = file.functions.get((code.co_firstlineno, code.co_name), [])
    matching = [one for one in found if _argument_names(one) == _names_of(code)]
    return matching[0] if len(matching) == 1 else None


def _parse(text: str, filename: str) -> _File | None:
    try:
        tree = ast.parse(text, filename)
    except SyntaxError:
        return None
    file = _File()

    def visit(node: ast.AST, class_name: str) -> None:
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            located = Located(node, class_name)
            file.functions.setdefault((first, node.name), []).append(located)
        elif isinstance(node, ast.Lambda):
            file.lambdas.setdefault(node.lineno, []).append(Located(node, class_name))
        elif isinstance(node, ast.ClassDef):
            class_name = node.name
        for child in ast.iter_child_nodes(node):
            visit(child, class_name)

    visit(tree, "")
    return file


def _locate_lambda(code: CodeType, file: _File) -> Located | None:
    candidates = [
        one
        for one in file.lambdas.get(code.co_firstlineno, [])
        if _argument_names(one) == _names_of(code)
    ]
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    spans = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line
        and end_line
        and column is not None
        and end_column is not None
        # prologue instructions carry the position of line `co_firstlineno`, column 0
        and (line, column) != (end_line, end_column)
    ]
    inside = [one for one in candidates if all(_contains(one.node, *span) for span in spans)]
    # Of nested lambdas the innermost one that holds every instruction: an outer one also creates
    # the inner.
    return max(inside, key=lambda one: one.node.col_offset, default=None) if spans else None


def _contains(node: FunctionNode, start: tuple[int, int], end: tuple[int, int]) -> bool:
    body = node.body
    if not isinstance(body, ast.expr):
        return False
    first = (body.lineno, body.col_offset)
    last = (body.end_lineno or body.lineno, body.end_col_offset or 0)
    return first <= start and end <= last


def _names_of(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return code.co_varnames[:count]


def _argument_names(located: Located) -> tuple[str, ...]:
    a = located.node.args
    names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    names += [x.arg for x in (a.vararg, a.kwarg) if x is not None]
    return tuple(mangle(name, located.class_name) for name in names)


def mangle(name: str, class_name: str) -> str:
    """Python's private name mangling of `name` in the body of class `class_name`."""
    stripped = class_name.lstrip("_")
    if not stripped or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    return f"_{stripped}{name}"
