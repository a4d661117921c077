"""Reads that do not look like reads: getattr, hasattr, vars, type, the environment.

Each is a function of (context, args); `staged_read` gives the one that serves a function.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import Any

from gradc.frontend.capture import Capture
from gradc.frontend.tracer import Tracer

_ENVIRONMENT = (os.getenv, os.environ.get)
Attribute = Callable[[Any, str], Any]


def staged_read(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], capture: Capture,
    attribute: Attribute,
) -> tuple[Any] | None:  # fmt: skip
    """(the result,) of a call that reads something which may change; None for other calls.

    attribute(owner, name): the staged `owner.name`
    """
    if type(function) is BuiltinFunctionType and args and not isinstance(args[0], Tracer):
        if function is getattr and len(args) in (2, 3):
            return _getattr(capture, attribute, *args)
        if function is hasattr and len(args) == 2:
            found = hasattr(*args)
            capture.observe(args[0], "hasattr({v}, {n}) is {f}",
                            f"with{'' if found else 'out'} an attribute {args[1]!r}",
                            n=args[1], f=found)  # fmt: skip
            return (found,)
        if function is vars and len(args) == 1:
            return (attribute(args[0], "__dict__"),)
    if type(function) is MethodType or function is os.getenv:
        if function in _ENVIRONMENT:
            value = function(*args, **kwargs)
            source = capture.source_of(function)
            capture.reader.check(source, "{v}(*{a}, **{k}) == {c}", f"{value!r} for {args}",
                                 a=args, k=kwargs, c=value)  # fmt: skip
            return (value,)
    return None


def _getattr(
    capture: Capture, attribute: Attribute, owner: Any, name: str, *default: Any
) -> tuple[Any]:
    try:
        return (attribute(owner, name),)
    except AttributeError:
        if not default:
            raise
        capture.observe(owner, "not hasattr({v}, {n})", f"without an attribute {name!r}", n=name)
        return (default[0],)
