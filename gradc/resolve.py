"""From what the user passed as a function to the Python function behind it, and its engine."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from gradc.engine import Engine
from gradc.frontend.wrappers import is_vectorized, plain_function

_MOST_ENGINES = 512


@dataclass(frozen=True, slots=True)
class Resolved:
    """`function(*args, *rest, **keywords, **more)` is the call `f(*rest, **more)`."""

    engine: Engine
    function: Any
    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)


class Transform:
    """Base of what gradc makes of functions: each says how it resolves."""

    __slots__ = ()

    def transform_key(self) -> tuple[Any, Any] | None:
        """A hashable that is equal for equal transforms of equal code, and what to keep alive for
        it; None where it has no key."""
        return None

    def resolved(self) -> Resolved | None:
        """The function that it stands for, where it has an engine of its own; None otherwise."""
        return None


_engines: OrderedDict[Any, tuple[Engine, Any]] = OrderedDict()
_lock = threading.Lock()


def engine_for(key: Any, alive: Any, function: Any) -> Engine:
    """The engine of a key in the bounded cache; made for `function` if there is none."""
    with _lock:
        found = _engines.get(key)
        if found is None:
            found = _engines[key] = (Engine(function), alive)
            while len(_engines) > _MOST_ENGINES:
                _engines.popitem(last=False)
        else:
            _engines.move_to_end(key)
        return found[0]


def function_key(function: Any) -> tuple[Any, Any]:
    """A key equal for functions of one code object and module, and what it keeps alive."""
    if type(function) is FunctionType:
        code, names = function.__code__, function.__globals__
        return ("code", id(code), id(names)), (code, names)
    if isinstance(function, Transform):
        own = function.transform_key()
        if own is not None:
            return own
    return ("object", id(function)), function


def bound_to(function: Any, instance: Any, owner: type | None) -> Any:
    """What is bound as the first argument where a class holds what was made of `function`; None
    for nothing."""
    while isinstance(function, Transform):
        function = getattr(function, "function", None)
    if isinstance(function, staticmethod):
        return None
    return owner if isinstance(function, classmethod) else instance


def resolve(function: Any) -> Resolved:
    """Open methods, partials, callable objects, lru_cache and Numba wrappers.

    Raises TypeError for something that cannot be called.
    """
    if isinstance(function, Transform):
        own = function.resolved()
        if own is not None:
            return own
    kind = type(function)
    if kind is MethodType:
        inner = resolve(function.__func__)
        return Resolved(
            inner.engine, inner.function, (*inner.args, function.__self__), inner.keywords
        )
    if kind is functools.partial:
        inner = resolve(function.func)
        args, keywords = (*inner.args, *function.args), {**inner.keywords, **function.keywords}
        return Resolved(inner.engine, inner.function, args, keywords)
    if kind in (staticmethod, classmethod):
        return resolve(function.__func__)
    plain = plain_function(function)
    if plain is not None and is_vectorized(function):
        key, alive = function_key(function)  # calling it says that scalars are arrays
        return Resolved(engine_for(key, alive, function), function)
    if plain is not None:
        return resolve(plain)
    if not callable(function):
        raise TypeError(f"expected a function, got {kind.__name__}: {function!r}")
    method = kind.__call__ if callable(function) else None
    if type(method) is FunctionType and not isinstance(function, Transform):
        inner = resolve(method)
        return Resolved(inner.engine, inner.function, (function,), {})
    key, alive = function_key(function)
    return Resolved(engine_for(key, alive, function), function)
