"""What cannot be traced: one error each, with the user's line and what to write instead.

A call that depends on the outside world (random numbers, clocks, files, output) would run once,
while tracing, and never again. So would a store to something that outlives the call.
"""

from __future__ import annotations

import builtins
import datetime
import io
import warnings
from collections import deque
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from gradc.frontend.disabling import is_disabled
from gradc.frontend.location import TracingError
from gradc.frontend.outside import outside_world

_ONCE = "it would run once, while tracing, and not at each call"


def _called(name: str, instead: str) -> str:
    return f"{name} was called in a traced function: {_ONCE}. {instead}"


def _or_plainly() -> str:
    """The advice to run plain Python, for what traces the function now."""
    if is_disabled():
        return (
            ": with compiling disabled, calls of the function itself are plain Python, but "
            "transforms such as gradc.grad trace it as ever"
        )
    return ", or run the function under gradc.disable_compile()"


def _output(name: str) -> str:
    return _called(name, f"Remove it{_or_plainly()}")


_OUTPUTS: dict[Any, str] = {print: "print", warnings.warn: "warnings.warn"}
_TIME = "Pass the time as an argument"

_REASONS: dict[Any, str] = {
    builtins.open: _called("open", "Read the file outside and pass its contents as an argument"),
    builtins.input: _called("input", "Pass its value as an argument"),
    datetime.datetime.now: _called("datetime.now", _TIME),
    datetime.datetime.utcnow: _called("datetime.utcnow", _TIME),
    datetime.datetime.today: _called("datetime.today", _TIME),
    datetime.date.today: _called("date.today", _TIME),
}

_DETERMINISTIC = frozenset(("spawn", "bit_generator", "get_state", "__init__"))
# Generators are known by the module of their class, so that none of these modules is imported here.
_GENERATORS = {
    "numpy.random._generator": "Generator",
    "numpy.random.mtrand": "np.random",
    "random": "random",
}


def refusal(function: Callable[..., Any]) -> str | None:
    """Why this function must not be called while tracing; None when it may."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    home = type(owner).__module__
    if home in _GENERATORS:
        if name in _DETERMINISTIC:
            return None
        return (
            f"{_GENERATORS[home]}.{name} was called in a traced function: {_ONCE}, so every call "
            "would use the same numbers. Draw them outside and pass them as an argument"
        )
    module = getattr(function, "__module__", None) or ""
    if "logging" in (home, module) and name in _LOG_FUNCTIONS:
        return _output(f"logging.{name}")
    if isinstance(owner, io.IOBase) and name != "close":
        return _called(
            f"{type(owner).__name__}.{name}", "Read and write files outside the function"
        )
    try:
        printing, known = _OUTPUTS.get(function), _REASONS.get(function)
    except TypeError:
        printing = known = None
    if printing is not None:
        return _output(printing)
    if known is not None:
        return known
    found = outside_world(function)
    return _called(*found) if found is not None else None


_LOG_FUNCTIONS = frozenset(("debug", "info", "warning", "error", "critical", "exception", "log"))

_MUTATORS = frozenset(
    ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update",
     "setdefault", "popitem", "move_to_end", "add", "discard", "appendleft", "extendleft",
     "popleft", "rotate", "__setitem__", "__delitem__")
)  # fmt: skip


def is_mutator(function: Any) -> bool:
    """Is this a bound method that changes its list, dict or set?"""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, list | dict | set | deque) and function.__name__ in _MUTATORS


def outliving_container(function: Any) -> TracingError:
    """The error of calling a mutator on a container that outlives the call."""
    owner = type(function.__self__).__name__
    return TracingError(
        f"{owner}.{function.__name__} changes a {owner} that outlives the call: {_ONCE}. Work on a "
        f"copy ({owner}(...)) and return it"
    )


# Built-in functions that change their first argument.
_CHANGERS: dict[Any, str] = {
    setattr: "setattr changes",
    delattr: "delattr changes",
    next: "next advances",
}


def change_of(function: Any) -> str | None:
    """What a built-in function does to its first argument, if it changes it."""
    return _CHANGERS.get(function) if type(function) is BuiltinFunctionType else None


def outliving_object(change: str, owner: Any) -> TracingError:
    """The error of changing an object, or advancing an iterator, that outlives the call."""
    return TracingError(
        f"{change} a {type(owner).__name__} that outlives the call: {_ONCE}. Return the new value, "
        "or pass what the call needs as an argument (a list instead of an iterator)"
    )


def outliving_store(owner: Any, name: str | None) -> TracingError:
    """The error of storing to an attribute or item of something that outlives the call."""
    kind = type(owner).__name__
    what = f"the attribute {name!r} of a {kind}" if name else f"an item of a {kind}"
    return TracingError(
        f"a store to {what} that outlives the call: {_ONCE}. Return the value and store it outside"
    )


def rebound_name(name: str, kind: str) -> TracingError:
    """The error of assigning to a global or to a closure variable of the traced function."""
    what = "global" if kind == "global" else "nonlocal"
    return TracingError(
        f"an assignment to the {what} variable {name!r} in a traced function: {_ONCE}. Return the "
        "value and assign it outside"
    )


def traced_condition(construct: str) -> TracingError:
    """The error of a condition that depends on traced values."""
    return TracingError(
        f"{construct} on a traced value: the condition depends on array values, which are not "
        "known while tracing. Compute both and choose with np.where(condition, a, b)"
        + (", np.logical_and / np.logical_or / np.logical_not" if "`" in construct else "")
        + "; or make the deciding argument static with gradc.compile(static_argnames=...)"
    )


def without_source(name: str) -> str:
    """What is added to an error in a function that could not be rewritten."""
    return (
        f". ({name} was traced as it is: its source is not available, as for functions from exec "
        "or an edited file, so its conditions and calls are not staged)"
    )


def traced_format() -> TracingError:
    """The error of formatting a traced value into a string."""
    return TracingError(
        "a traced value written into a string: its number is not known while tracing. Return the "
        f"value and format it outside{_or_plainly()}"
    )
