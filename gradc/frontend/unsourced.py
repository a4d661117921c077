"""Functions without source (from exec, `python -c`, a plain REPL): traced as they are, not stale.

Their loads cannot be rewritten, so what they will load is read from the byte code: the names of
globals, closure variables and arguments, each with the chain of attributes taken from it. Names
become captured values in a copy of the function; numbers at the end of a chain are guarded.
Functions among the names are called through the staged operators.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FunctionType
from typing import Any

from gradc.frontend import fence
from gradc.frontend.capture import Capture
from gradc.frontend.location import TracingError
from gradc.frontend.tracer import Tracer

_ROOTS = {
    "LOAD_GLOBAL": "global",
    "LOAD_NAME": "global",
    "LOAD_DEREF": "free",
    "LOAD_CLASSDEREF": "free",
}
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_Chain = tuple[str, str, tuple[str, ...]]  # kind and name of the root, the attributes


def captured(
    function: FunctionType,
    capture: Capture,
    args: tuple[Any, ...],
    staged: Callable[[Any], Any],
) -> FunctionType:
    """A copy of the function whose globals and closure variables are captured values.

    staged(f): what stands for a function f, so that calls of it are staged
    Raises TracingError for a store to a global or closure variable, and for a call that must not
    run only while tracing.
    """
    code = function.__code__
    source = capture.source_of(function)
    names = dict(function.__globals__)
    free = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells = dict(free)
    for kind, name, attributes in _chains(code):
        if kind == "global" and name in function.__globals__:
            value = function.__globals__[name]
            names[name] = loaded = capture.load(value, capture.child(source, kind, name))
        elif kind == "global" and hasattr(builtins, name):
            value = loaded = getattr(builtins, name)
        elif kind == "free" and name in free and _is_filled(free[name]):
            value = free[name].cell_contents
            loaded = capture.load(value, capture.child(source, kind, name))
            cells[name] = CellType(loaded)
        elif kind == "argument" and name in code.co_varnames[: len(args)]:
            value = loaded = args[code.co_varnames.index(name)]
        else:
            continue
        if type(value) in (FunctionType, BuiltinFunctionType) and kind != "argument":
            if kind == "global":
                names[name] = staged(value)
            else:
                cells[name] = CellType(staged(value))
        if not isinstance(loaded, Tracer):
            _guard(capture, value, attributes)
    new = FunctionType(
        code, names, function.__name__, function.__defaults__,
        tuple(cells[name] for name in code.co_freevars),
    )  # fmt: skip
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    return new


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (raises when the cell is empty)
    except ValueError:
        return False
    return True


def _guard(capture: Capture, value: Any, attributes: tuple[str, ...]) -> None:
    """Guard what a chain of attributes reads, as far as it can be followed without running code."""
    for name in attributes:
        if isinstance(getattr(type(value), name, None), property):
            return
        try:
            found = getattr(value, name)
        except AttributeError:
            return
        reason = fence.refusal(found)
        if reason is not None:
            raise TracingError(reason)
        loaded = capture.attribute(value, name, found)
        if isinstance(loaded, Tracer):
            if loaded.python is not None:
                capture.pin(loaded)  # the code uses the number itself
            return
        value = found


def _chains(code: CodeType) -> Iterator[_Chain]:
    """The names that the code and the functions inside it load, with attributes taken from them."""
    root: tuple[str, str] | None = None
    attributes: list[str] = []
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name == "STORE_GLOBAL" or name == "STORE_DEREF" and value in code.co_freevars:
            raise fence.rebound_name(value, "global" if name == "STORE_GLOBAL" else "free")
        if root is not None and name in _ATTRIBUTES:
            attributes.append(value)
            continue
        if root is not None:
            yield (*root, tuple(attributes))
        attributes = []
        root = (_ROOTS[name], value) if name in _ROOTS else None
        if name.startswith("LOAD_FAST"):
            root = ("argument", value[-1] if isinstance(value, tuple) else value)
    if root is not None:
        yield (*root, tuple(attributes))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            for chain in _chains(constant):
                if chain[0] != "argument":
                    yield chain
