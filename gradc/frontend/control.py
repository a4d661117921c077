"""The staged operators: what the rewritten code (staging.py) calls.

An operator looks at its values. Outside a trace, or with concrete values, it behaves as Python
does; with traced values it emits IR, or refuses with the user's line.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from gradc.frontend import fence, special
from gradc.frontend.context import Context, current_context
from gradc.frontend.location import TracingError
from gradc.frontend.reflection import staged_read
from gradc.frontend.staging import is_staged, staged
from gradc.frontend.table import CREATION, implementation
from gradc.frontend.text import written
from gradc.frontend.tracer import Tracer
from gradc.frontend.unsourced import captured
from gradc.frontend.wrappers import is_vectorized, on_arrays, plain_function


class Operators:
    """The operators as one rewritten function sees them; `function` is the original."""

    __slots__ = ("function",)

    def __init__(self, function: FunctionType) -> None:
        self.function = function

    # ------------------------------------------------------------------------------ loads
    def load_free(self, value: Any, name: str) -> Any:
        """The value of a closure variable of the original function."""
        context = current_context()
        if context is None:
            return value
        capture = context.capture
        return capture.load(value, capture.child(capture.source_of(self.function), "free", name))

    def load_global(self, value: Any, name: str) -> Any:
        """The value of a global or built-in name."""
        context = current_context()
        if context is None or name not in self.function.__globals__:
            return value
        capture = context.capture
        return capture.load(value, capture.child(capture.source_of(self.function), "global", name))

    def attribute(self, owner: Any, name: str) -> Any:
        """`owner.name`. Properties of user classes are staged; attributes of objects that existed
        before the call are captured."""
        context = current_context()
        if context is None or isinstance(owner, Tracer):
            return getattr(owner, name)
        return stage_attribute(context, owner, name)

    def indexed(self, owner: Any) -> Any:
        """What `owner[key]` reads from: the owner, or for an object that existed before the call a
        stand-in that captures the item."""
        context = current_context()
        if context is None:
            return owner
        if owner is self.function.__globals__:
            return _Globals(self)
        if type(owner) in _PLAIN or not context.capture.is_object(owner):
            return owner
        return _Items(context, owner)

    # ------------------------------------------------------------------------------ calls
    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)`"""
        context = current_context()
        if context is None:
            return function(*args, **kwargs)
        return stage_call(context, function, args, kwargs)

    # --------------------------------------------------------------------- special methods
    def binary(self, left: Any, right: Any, name: str) -> Any:
        """`left + right` for the name "add", and so on."""
        context = current_context()
        if context is None or special.is_plain(left) and special.is_plain(right):
            return special.BINARY[name](left, right)
        return special.binary(context, stage_call, left, right, name)

    def contained(self, value: Any, container: Any, name: str) -> Any:
        """`value in container`, `value not in container`."""
        return self.binary(container, value, name)

    def augmented(self, left: Any, right: Any, name: str) -> Any:
        """The new value of `left += right`."""
        context = current_context()
        if context is None or special.is_plain(left) and special.is_plain(right):
            return special.AUGMENTED[name](left, right)
        return special.augmented(context, stage_call, left, right, name)

    def unary(self, value: Any, name: str) -> Any:
        """`-value` for the name "neg", and so on."""
        context = current_context()
        method = None if context is None else special.method(context, value, f"__{name}__")
        if context is None or method is None:
            return special.UNARY[name](value)
        return stage_call(context, method, (value,), {})

    def entered(self, manager: Any) -> Any:
        """The context manager of a `with` statement."""
        context = current_context()
        if context is None or special.method(context, manager, "__enter__") is None:
            return manager
        return special.Entered(context, stage_call, manager)

    # ------------------------------------------------------------------------- conditions
    def truth(self, value: Any, construct: str) -> Any:
        """The value of a condition, to be tested by Python."""
        if isinstance(value, Tracer):
            return concrete_truth(value, construct)
        context = current_context()
        if context is not None and not special.is_plain(value):
            for name in ("__bool__", "__len__"):
                method = special.method(context, value, name)
                if method is not None:
                    found = stage_call(context, method, (value,), {})  # its reads are guarded
                    if isinstance(found, Tracer):
                        concrete_truth(found, construct)
                    break
        return value

    operand = truth  # the left side of `and` and `or`, the operand of `not`

    def iterate(self, iterable: Any) -> Any:
        """What a `for` statement or a comprehension iterates over."""
        context = current_context()
        if context is not None and not isinstance(iterable, Tracer):
            if hasattr(iterable, "__next__") and context.capture.is_known(iterable):
                raise fence.outliving_object("a loop advances", iterable)
            return special.iterated(context, stage_call, iterable)
        return iterable

    def formatted(self, value: Any) -> Any:
        """A value inside an f-string, or the right side of `"..." % value`."""
        return written(value) if current_context() is not None else value

    def caught(self) -> None:
        """An `except` clause of the function begins: what cannot be traced is no error of the
        user's program, which has no such clause for it."""
        error = sys.exc_info()[1]
        if isinstance(error, TracingError) and current_context() is not None:
            raise error

    # ----------------------------------------------------------------------------- stores
    def stored(self, owner: Any, name: str | None) -> Any:
        """The object whose attribute `name` (or, None, item) is about to be stored or deleted."""
        context = current_context()
        if context is not None and not isinstance(owner, Tracer):
            if context.capture.is_known(owner):
                raise fence.outliving_store(owner, name)
        return owner

    def rebound(self, name: str, kind: str) -> None:
        """A global or closure variable of the original function is about to be assigned."""
        if current_context() is not None:
            raise fence.rebound_name(name, kind)


_PLAIN = frozenset((Tracer, list, tuple, dict, str, type))  # captured by other means, or not at all


class _Items:
    """The items of an object that existed before the call."""

    __slots__ = ("context", "owner")

    def __init__(self, context: Context, owner: Any) -> None:
        self.context = context
        self.owner = owner

    def __getitem__(self, key: Any) -> Any:
        kind = type(self.owner)
        method = getattr(kind, "__getitem__", None)
        # A table gives its columns itself; other classes' methods are the user's text.
        if isinstance(method, FunctionType) and not hasattr(kind, "__array__"):
            if self.context.is_rewritable(_module_of(method)):
                return stage_call(self.context, method, (self.owner, key), {})
        return self.context.capture.item(self.owner, key, self.owner[key])


class _Globals:
    """The items of `globals()`."""

    __slots__ = ("operators",)

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def __getitem__(self, name: str) -> Any:
        return self.operators.load_global(self.operators.function.__globals__[name], name)


def stage_attribute(context: Context, owner: Any, name: str) -> Any:
    """`owner.name` of something that is not a tracer."""
    found = _property(owner, name)
    if found is not None and context.is_rewritable(found.__module__ or ""):
        return stage_call(context, found, (owner,), {})
    return context.capture.attribute(owner, name, getattr(owner, name))


def concrete_truth(value: Tracer, construct: str) -> bool:
    """The truth of a traced value where it is known (an integer argument), else an error."""
    if value.python is None:
        raise fence.traced_condition(construct)
    return bool(value.known())


def call(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call a function staged, in the current context."""
    context = current_context()
    if context is None:
        return function(*args, **kwargs)
    return stage_call(context, function, args, dict(kwargs))


def stage_call(
    context: Context, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call `function` while tracing: its traced meaning, its rewritten text, or itself."""
    if context.elementwise:
        function = on_arrays(function)
    kind = type(function)
    if kind is FunctionType and is_staged(function):
        return function(*args, **kwargs)
    if kind in (BuiltinFunctionType, type):
        if special.iterates(function):
            args = tuple([special.iterated(context, stage_call, x) for x in args])
        elif function in special.CALLED and len(args) == 1:
            method = special.method(context, args[0], special.CALLED[function])
            if method is not None:
                return stage_call(context, method, args, {})
    entry = implementation(function)
    if entry is not None:
        if function in CREATION or any_traced(args) or any_traced(kwargs.values()):
            return entry(*args, **kwargs)
        return function(*args, **kwargs)
    read = staged_read(
        function, args, kwargs, context.capture, functools.partial(stage_attribute, context)
    )
    if read is not None:
        return read[0]
    change = fence.change_of(function)
    if change is not None and args and context.capture.is_known(args[0]):
        raise fence.outliving_object(change, args[0])
    reason = fence.refusal(function)
    if reason is not None:
        raise TracingError(reason)
    if kind is FunctionType:
        return _stage_function(context, function, args, kwargs)
    if kind is MethodType:
        if isinstance(function.__func__, FunctionType):
            return stage_call(context, function.__func__, (function.__self__, *args), kwargs)
        return function(*args, **kwargs)
    if kind is functools.partial:
        merged = {**function.keywords, **kwargs}
        return stage_call(context, function.func, (*function.args, *args), merged)
    plain = plain_function(function)
    if plain is not None and is_vectorized(function):
        with context.on_arrays():
            return stage_call(context, plain, args, kwargs)
    if plain is not None:
        return stage_call(context, plain, args, kwargs)
    if isinstance(function, type):
        return _construct(context, function, args, kwargs)
    if fence.is_mutator(function):
        if context.capture.is_known(function.__self__):
            raise fence.outliving_container(function)
        return function(*args, **kwargs)
    own_call: Any = kind.__call__ if callable(function) else None
    if isinstance(own_call, FunctionType) and context.is_rewritable(own_call.__module__):
        return stage_call(context, own_call, (function, *args), kwargs)
    return _call_library(context, function, args, kwargs)


def any_traced(values: Iterable[Any]) -> bool:
    """Is there a tracer or an array among the values, or in lists, tuples and dicts of them?"""
    for value in values:
        if isinstance(value, Tracer | np.ndarray):
            return True
        if isinstance(value, list | tuple) and any_traced(value):
            return True
        if isinstance(value, dict) and any_traced(value.values()):
            return True
    return False


def _stage_function(
    context: Context, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if not context.is_rewritable(_module_of(function)):
        return _call_library(context, function, args, kwargs)
    _load_defaults(context, function, args, kwargs)
    new = staged(function, Operators)
    if new is not None:
        return new(*args, **kwargs)
    try:
        plain = captured(function, context.capture, args, lambda f: functools.partial(call_back, f))
        return plain(*args, **kwargs)
    except TracingError as error:
        error.message += fence.without_source(function.__name__)
        raise


def _module_of(function: Any) -> str:
    return getattr(function, "__module__", None) or ""


def _call_library(
    context: Context, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a library's function as it is; users' functions that it calls back (`map(f, xs)`,
    `reduce(f, xs)`, `sorted(xs, key=f)`) are staged."""
    if _module_of(function).partition(".")[0] not in sys.stdlib_module_names:
        return function(*args, **kwargs)
    args = tuple(_callback(context, x) for x in args)
    return function(*args, **{name: _callback(context, x) for name, x in kwargs.items()})


def _callback(context: Context, x: Any) -> Any:
    if type(x) is FunctionType and not is_staged(x) and context.is_rewritable(_module_of(x)):
        return functools.partial(call_back, x)
    return x


def _load_defaults(
    context: Context, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Add the defaults that this call uses to `kwargs`, as captured values."""
    code = function.__code__
    if not (function.__defaults__ or function.__kwdefaults__):
        return
    capture = context.capture
    source = capture.source_of(function)
    defaults = function.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    for k, value in enumerate(defaults):
        name = code.co_varnames[first + k]
        if first + k >= max(len(args), code.co_posonlyargcount) and name not in kwargs:
            kwargs[name] = capture.load(value, capture.child(source, "default", k))
    for name, value in (function.__kwdefaults__ or {}).items():
        if name not in kwargs:
            kwargs[name] = capture.load(value, capture.child(source, "kwdefault", name))


def _construct(context: Context, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make an instance, with `__init__` staged where the class is a user's plain one."""
    numba = sys.modules.get("numba")
    if numba is not None and cls is numba.prange:
        return range(*args)
    init = getattr(cls, "__init__", None)
    plain = type(cls) is type and cls.__new__ is object.__new__ and isinstance(init, FunctionType)
    if not plain or not context.is_rewritable(cls.__module__):
        return _call_library(context, cls, args, kwargs)
    instance: Any = object.__new__(cls)
    stage_call(context, init, (instance, *args), kwargs)
    return instance


def call_back(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function called by code that is not rewritten."""
    return call(function, args, kwargs)


def _property(owner: Any, name: str) -> Any:
    """The getter of a property, or of a cached_property not yet computed; None otherwise."""
    if isinstance(owner, type | np.ndarray):
        return None
    found = getattr(type(owner), name, None)
    if isinstance(found, builtins.property):
        return found.fget if isinstance(found.fget, FunctionType) else None
    if isinstance(found, functools.cached_property):
        return None if name in getattr(owner, "__dict__", {}) else found.func
    return None
