"""Tracing a Python function into IR, and the tree of its results."""

from __future__ import annotations

import copy
import io
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradc import pytree
from gradc.frontend import control
from gradc.frontend.capture import Capture
from gradc.frontend.context import Context, active
from gradc.frontend.location import TracingError
from gradc.frontend.sources import Reader
from gradc.frontend.trace import Trace, current_trace
from gradc.frontend.tracer import Tracer
from gradc.ir.core import Location, Value
from gradc.ir.ops.func import FuncOp
from gradc.ir.types import TensorType
from gradc.passes.stabilize import stabilize
from gradc.signature import Call, Leaf

# Results that only one caller can use, and those of which each caller gets a copy.
_RUN_ONCE = (Iterator, AsyncIterator, Awaitable, io.IOBase)
_CHANGEABLE = (set, bytearray)


class Result:
    """One leaf of a result tree.

    position: the program's result that it is, or -1 for a static leaf (`value`)
    kind: 'array', 'scalar' (a NumPy scalar), 'python' (bool, int, float, complex), 'static', or
        'fresh' (a copy of the static value)
    """

    __slots__ = ("position", "kind", "value")

    def __init__(self, position: int, kind: str, value: Any = None) -> None:
        self.position = position
        self.kind = kind
        self.value = value

    def finish(self, values: Sequence[Any]) -> Any:
        """The leaf as the user gets it, from the program's results (arrays or tracers)."""
        if self.position < 0:
            return copy.copy(self.value) if self.kind == "fresh" else self.value
        array = values[self.position]
        if isinstance(array, Tracer):
            array.is_scalar = self.kind != "array"
            array.weak = self.kind == "python"
            return array
        if self.kind == "array":
            return array
        return array[()] if self.kind == "scalar" else array.item()

    def expression(self, scope: dict[str, Any]) -> str:
        """The text of `finish` for arrays `v`; constants go to `scope`."""
        if self.position < 0:
            text = constant(self.value, scope)
            return f"{constant(copy.copy, scope)}({text})" if self.kind == "fresh" else text
        suffix = {"array": "", "scalar": "[()]", "python": ".item()"}[self.kind]
        return f"v[{self.position}]{suffix}"


class ResultTree:
    """A tree whose leaves are Results."""

    def __init__(self, tree: Any) -> None:
        self.leaves, self.structure = pytree.flatten(tree)

    def rebuild(self, values: Sequence[Any]) -> Any:
        """The tree of the user's results."""
        return pytree.unflatten(self.structure, [leaf.finish(values) for leaf in self.leaves])

    def compiled(self) -> Any:
        """A function as `rebuild`, for arrays; generated where the tree is of plain containers."""
        scope: dict[str, Any] = {}
        codes = [_Code(leaf.expression(scope)) for leaf in self.leaves]
        # The rebuilt tree knows the order of its dicts' keys; the structure lists them sorted.
        text = _expression(pytree.unflatten(self.structure, codes), scope)
        if text is None:
            return self.rebuild
        return eval(f"lambda v: {text}", scope)


class _Code:
    """The text of an expression, in the place of a leaf."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _expression(tree: Any, scope: dict[str, Any]) -> str | None:
    """The text that makes a tree of plain containers; None for others."""
    cls = type(tree)
    if cls is _Code:
        text: str = tree.text
        return text
    if cls not in (tuple, list, dict):
        return None
    parts = [_expression(x, scope) for x in (tree.values() if cls is dict else tree)]
    if None in parts:
        return None
    if cls is list:
        return f"[{', '.join(map(str, parts))}]"
    if cls is tuple:
        return "(" + "".join(f"{part}, " for part in parts) + ")"
    return "{" + ", ".join(f"{constant(k, scope)}: {part}" for k, part in zip(tree, parts)) + "}"


def constant(value: Any, scope: dict[str, Any]) -> str:
    """A name for a value in the scope of generated code."""
    name = f"c{len(scope)}"
    scope[name] = value
    return name


@dataclass(slots=True, eq=False)
class Traced:
    """A traced function: its IR and how its inputs and results are made.

    function:  inputs are the dynamic leaves of the arguments, then `hidden` captured values
    call:      the analysed arguments;  result: the tree of `Result` leaves
    reader:    reads hidden inputs and checks guards;  pins: (leaf position, value) guards on
        numbers
    programs:  what has been derived from it, by mode
    """

    function: FuncOp
    call: Call
    result: Any
    reader: Reader
    pins: list[tuple[int, Any]]
    programs: dict[Any, Any] = field(default_factory=dict)

    def input_number(self, leaf: int) -> int:
        """The input that a (dynamic) leaf of the arguments is."""
        return self.call.dynamic.index(leaf)


def function_name(function: Any) -> str:
    """A symbol name for the IR."""
    name = getattr(function, "__name__", type(function).__name__)
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name).strip("_") or "lambda"


def function_location(function: Any) -> Location:
    """Where the function is defined."""
    code = getattr(function, "__code__", None)
    return Location(code.co_filename, code.co_firstlineno, 1) if code is not None else Location()


def input_hints(call: Call) -> list[str]:
    """A readable name for each leaf: `params_w1_0` for `params['w1'][0]`."""
    hints = []
    for path in call.paths():
        words = "".join(c if c.isalnum() or c == "_" else " " for c in path).split()
        hints.append("_".join(words))
    return hints


def trace_function(function: Any, call: Call, no_rewrite: tuple[str, ...] = ()) -> Traced:
    """Run `function` on tracers of the analysed arguments.

    Raises TracingError, with the user's line, for what cannot be traced.
    """
    trace = Trace(function_name(function), function_location(function))
    pins: dict[int, Any] = {}
    hidden_pins: dict[int, Tracer] = {}
    leaf_of: dict[int, int] = {}

    def make_input(type: TensorType, hint: str, weak: bool, number: Any) -> Tracer:
        known = number if weak else None
        return trace.argument(type, hint, weak=weak, python=known, is_scalar=number is not None)

    capture = Capture(function, make_input)

    def pin(tracer: Tracer) -> None:
        leaf = leaf_of.get(id(tracer))
        if leaf is not None:
            pins[leaf] = tracer.python
        elif id(tracer) not in hidden_pins:
            hidden_pins[id(tracer)] = tracer
            capture.pin(tracer)

    trace.capture = capture.anonymous_array
    trace.on_static_use = pin
    leaves = list(call.leaves)
    for k, (leaf, hint) in enumerate(zip(call.kinds, input_hints(call))):
        if leaf.is_dynamic:
            leaves[k] = argument(trace, leaf, hint, call.leaves[k])
            leaf_of[id(leaves[k])] = k
    args, kwargs = pytree.unflatten(call.structure, leaves)
    protect_arguments(capture, (args, kwargs))
    with trace.active(), active(Context(capture, no_rewrite)):
        result = control.call(function, args, kwargs)
        tree, values = collect_results(trace, result)
    capture.check_unchanged()
    func = finished(trace, values)
    return Traced(func, call, tree, capture.reader, sorted(pins.items()))


def finished(trace: Trace, values: Sequence[Any]) -> FuncOp:
    """The traced function, with formulas replaced that fail at overflow or singular points."""
    function = trace.finish(values)
    stabilize(function)
    return function


def argument(trace: Trace, leaf: Leaf, hint: str, value: Any) -> Tracer:
    """The input for a dynamic leaf; a Python number remembers its value."""
    assert leaf.type is not None
    known = value if leaf.kind == "python" else None
    return trace.argument(
        leaf.type, hint, weak=leaf.weak, python=known, is_scalar=leaf.kind != "array"
    )


def protect_arguments(capture: Capture, arguments: Any) -> None:
    """Containers and objects among the arguments outlive the call."""
    args, kwargs = arguments
    for value in (*args, *kwargs.values()):
        _protect(capture, value)


def _protect(capture: Capture, value: Any) -> None:
    if isinstance(value, dict):
        capture.protect(value)
        for item in value.values():
            _protect(capture, item)
    elif isinstance(value, list | tuple):
        capture.protect(value)
        for item in value:
            _protect(capture, item)
    elif isinstance(value, Tracer | str | bytes | int | float | complex | type(None) | type):
        return
    elif pytree.is_plain_dataclass(type(value)):
        capture.protect_object(value)
    else:
        capture.source_of(value)


def collect_results(trace: Trace, result: Any) -> tuple[Any, list[Any]]:
    """A traced function's result as a tree of Results, and the values that the program returns."""
    leaves, structure = pytree.flatten(result)
    results: list[Result] = []
    values: list[Any] = []
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray):
            leaf = trace.lift(leaf)
        if isinstance(leaf, Tracer):
            python = leaf.weak and not leaf.shape and leaf.is_scalar
            kind = "python" if python else "scalar" if leaf.is_scalar else "array"
            results.append(Result(len(values), kind))
            values.append(leaf)
            continue
        if any(isinstance(x, Tracer) for x in getattr(leaf, "__dict__", {}).values()):
            path = pytree.leaf_paths(structure, "result")[k]
            raise TracingError(
                f"{path} is a {type(leaf).__name__} that holds traced arrays: return a dict, tuple "
                "or dataclass, or make the class known with gradc.register_pytree"
            )
        if isinstance(leaf, _RUN_ONCE):
            path = pytree.leaf_paths(structure, "result")[k]
            raise TracingError(
                f"{path} is a {type(leaf).__name__}, which runs only once: return a list, a tuple "
                "or arrays"
            )
        results.append(Result(-1, "fresh" if isinstance(leaf, _CHANGEABLE) else "static", leaf))
    return pytree.unflatten(structure, results), values


def borrowed_operands(inner: Trace, outer: Trace) -> list[Value]:
    """The values in `outer` for the values of enclosing traces that `inner` used."""
    return [_value_in(outer, value, stand_in) for value, stand_in in inner.borrowed.items()]


def _value_in(outer: Trace, value: Value, stand_in: Tracer) -> Value:
    if value.block is outer.func.body:
        return value
    found = outer.borrowed.get(value)
    if found is None:
        owner: Trace | None = outer.parent
        while owner is not None and value.block is not owner.func.body:
            owner = owner.parent
        tracer = Tracer(
            value, owner, weak=stand_in.weak, python=stand_in.python, roots=stand_in.roots,
            is_scalar=stand_in.is_scalar, external=True,
        )  # fmt: skip
        found = outer.borrow(tracer)
    return found.value


def inline(function: FuncOp, operands: Sequence[Value]) -> list[Tracer]:
    """Copy the body of `function` into the current trace; its results there."""
    outer = current_trace()
    assert outer is not None
    mapping = dict(zip(function.args, operands, strict=True))
    for op in function.body.ops[:-1]:
        outer.builder.insert(op.clone(mapping))
    return [Tracer(mapping[v], outer) for v in function.returned]
