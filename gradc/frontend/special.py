"""Operators on objects of the user's classes: their special methods are staged like any method.

Python itself calls `Layer.__matmul__` for `layer @ x`, past the rewrite; what it reads of the layer
would go stale. Numbers, arrays, tracers and built-in containers keep Python's own operators.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from gradc.frontend.context import Context
from gradc.frontend.staging import is_staged
from gradc.frontend.tracer import Tracer

Call = Callable[[Context, Any, tuple[Any, ...], dict[str, Any]], Any]

_ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "or",
    "xor", "and",
)  # fmt: skip
_REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(operator, f"__{name}__")
    return found


BINARY = {
    **{name: _function(name) for name in (*_ARITHMETIC, *_REFLECTED)},
    "in": operator.contains,
    "not in": lambda owner, x: x not in owner,
}
AUGMENTED = {name: _function(f"i{name}") for name in _ARITHMETIC}
UNARY = {name: _function(name) for name in ("neg", "pos", "invert")}

# Built-in functions that call a special method of their one argument.
CALLED: dict[Any, str] = {
    len: "__len__", bool: "__bool__", float: "__float__", int: "__int__", complex: "__complex__",
    abs: "__abs__", round: "__round__", iter: "__iter__", reversed: "__reversed__",
}  # fmt: skip
# Built-in functions that iterate over what they get.
_ITERATING = frozenset(
    (list, tuple, sum, set, frozenset, zip, map, filter, enumerate, sorted, any, all, min, max,
     functools.reduce)
)  # fmt: skip

_PLAIN = frozenset(
    (Tracer, bool, int, float, complex, str, bytes, type(None), list, tuple, dict, set, np.ndarray)
)


def is_plain(value: Any) -> bool:
    """Has this type no special methods of the user?"""
    return type(value) in _PLAIN


def method(context: Context, value: Any, name: str) -> FunctionType | None:
    """The special method of a user's class; None for other classes."""
    if is_plain(value):
        return None
    found = getattr(type(value), name, None)
    if type(found) is not FunctionType or is_staged(found):
        return None
    return found if context.is_rewritable(found.__module__ or "") else None


def iterates(function: Any) -> bool:
    """Does this built-in function iterate over its arguments?"""
    return function in _ITERATING or getattr(function, "__module__", None) == "itertools"


def iterated(context: Context, call: Call, value: Any) -> Any:
    """What to iterate over in place of a value."""
    found = method(context, value, "__iter__")
    return value if found is None else call(context, found, (value,), {})


def binary(context: Context, call: Call, left: Any, right: Any, name: str) -> Any:
    """`left op right` by Python's rules: the left operand's method, then the right one's reflected
    method; first the right one's where it is of a subclass."""
    if name in ("in", "not in"):
        contains = method(context, left, "__contains__")
        if contains is None:
            return BINARY[name](left, right)
        found = bool(call(context, contains, (left, right), {}))
        return found if name == "in" else not found
    if name == "ne" and type(left).__ne__ is object.__ne__ and method(context, left, "__eq__"):
        return not binary(context, call, left, right, "eq")  # as object.__ne__ does
    reflected = f"__{_REFLECTED.get(name, f'r{name}')}__"
    own = method(context, left, f"__{name}__")
    other = method(context, right, reflected)
    if own is None and other is None:
        return BINARY[name](left, right)
    tries: list[Callable[[], Any]] = []
    if own is not None:
        tries.append(lambda: call(context, own, (left, right), {}))
    elif not isinstance(left, np.ndarray):
        plain = getattr(type(left), f"__{name}__", None)
        if plain is not None:
            tries.append(lambda: plain(left, right))
    if other is not None and type(left) is not type(right):
        first = issubclass(type(right), type(left))
        tries.insert(0 if first else len(tries), lambda: call(context, other, (right, left), {}))
    for attempt in tries:
        found = attempt()
        if found is not NotImplemented:
            return found
    return BINARY[name](left, right)


def augmented(context: Context, call: Call, left: Any, right: Any, name: str) -> Any:
    """`left op= right`: the in-place method where there is one, else `left op right`."""
    own = method(context, left, f"__i{name}__")
    if own is not None:
        found = call(context, own, (left, right), {})
        if found is not NotImplemented:
            return found
    elif hasattr(type(left), f"__i{name}__"):
        return AUGMENTED[name](left, right)
    return binary(context, call, left, right, name)


class Entered:
    """A context manager whose methods are staged."""

    __slots__ = ("context", "call", "manager")

    def __init__(self, context: Context, call: Call, manager: Any) -> None:
        self.context = context
        self.call = call
        self.manager = manager

    def __enter__(self) -> Any:
        return self.call(self.context, type(self.manager).__enter__, (self.manager,), {})

    def __exit__(self, *error: Any) -> Any:
        return self.call(self.context, type(self.manager).__exit__, (self.manager, *error), {})
