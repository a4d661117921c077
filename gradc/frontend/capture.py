"""Values that a traced function reaches through closures, globals and attributes.

Nothing goes stale. Arrays, floats and complexes (NumPy's too) become hidden inputs, read again at
each call; bools, ints, strings, functions and other static values are guarded, so that a change
traces again. Lists, tuples and dicts are copied with their arrays replaced, and guarded in length
and keys. Other objects are static by identity; what is loaded from their attributes is treated by
the same rules.
"""

from __future__ import annotations

import collections
import copy
import enum
import os
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from gradc.frontend.array_classes import own_arithmetic
from gradc.frontend.identity import frozen, identical
from gradc.frontend.location import PROGRAMS, TracingError
from gradc.frontend.sources import Reader, Source
from gradc.frontend.tracer import Tracer
from gradc.ir.types import TensorType, type_of

# A longer list of plain numbers is compared as a whole rather than made of single hidden inputs.
_MOST_NUMBERS = 64
_VALUE_TYPES = (
    bool, int, str, bytes, type(None), np.integer, np.bool_, enum.Enum, np.dtype, slice, range,
    CodeType,
)  # fmt: skip
_CONTAINERS = (
    list, tuple, dict, collections.OrderedDict, collections.defaultdict, collections.Counter,
    collections.deque,
)  # fmt: skip
TRUSTED_MODULES = frozenset(("numpy", "scipy", "numba", "llvmlite", "optree", "gradc", "ml_dtypes"))

MakeInput = Callable[[TensorType, str, bool, Any], Tracer]


def is_trusted_module(name: str) -> bool:
    """Is this a module whose attributes nobody changes: the standard library, NumPy, SciPy,
    gradc?"""
    if name.startswith(PROGRAMS):
        return False
    root = name.partition(".")[0]
    return root in TRUSTED_MODULES or (root in sys.stdlib_module_names and root != "__main__")


class Capture:
    """The captured values of one trace.

    make_input(type, hint, weak, value) adds an input to the function that is being traced.
    """

    def __init__(self, root: Any, make_input: MakeInput) -> None:
        self.reader = Reader()
        self.make_input = make_input
        self.root = Source("root", None)
        self.known: dict[int, tuple[Any, Source]] = {id(root): (root, self.root)}
        self.source_of(os.environ)
        self.converted: dict[int, tuple[Any, Any]] = {}  # id(original) -> (original, its stand-in)
        self.originals: dict[int, tuple[Any, Any]] = {}  # id(container stand-in) -> (it, snapshot)
        self.protected: dict[int, Any] = {}
        self._numbers: dict[int, Source] = {}  # id(tracer of a captured number) -> its source
        self._loaded: dict[Source, tuple[Any, Any]] = {}
        self._children: dict[tuple[int, str, Any], Source] = {}

    # ---------------------------------------------------------------------------- sources
    def source_of(self, value: Any) -> Source:
        """The known source of an object, or the object itself as a constant."""
        found = self.known.get(id(value))
        if found is None:
            found = self.known[id(value)] = (value, Source("const", value))
        return found[1]

    def is_known(self, value: Any) -> bool:
        """Did this object exist before the call (reached from an argument or a captured value)?"""
        return any(id(value) in d for d in (self.known, self.originals, self.protected))

    def is_object(self, value: Any) -> bool:
        """Is this an object from before the call that has no stand-in?"""
        return id(value) in self.known and id(value) not in self.originals

    def child(self, parent: Source, kind: str, key: Any) -> Source:
        """The source one step on from `parent`, one object for each path."""
        index = (id(parent), kind, frozen(key))
        found = self._children.get(index)
        if found is None:
            found = self._children[index] = Source(kind, key, parent)
        return found

    # -------------------------------------------------------------------------- the loads
    def load(self, value: Any, source: Source) -> Any:
        """What the traced function sees for a captured value."""
        if isinstance(value, Tracer):
            return value
        done = self._loaded.get(source)
        if done is not None and done[0] is value:
            return done[1]
        result = self._load(value, source)
        self._loaded[source] = (value, result)
        return result

    def _load(self, value: Any, source: Source) -> Any:
        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._array(value, source)
        if kind in (float, complex) or isinstance(value, np.inexact):
            return self._number(value, source)
        if isinstance(value, _VALUE_TYPES):
            return self._guarded(value, source)
        if is_array_like(value):
            return self._array_like(value, source)
        if kind in _CONTAINERS or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return self._container(value, source)
        if kind in (set, frozenset):
            self._remember(value, source)
            self.reader.check(
                source, "{frozen}({v}) == {c}", "the same set", frozen=frozen, c=frozen(value)
            )
            return value
        if kind is FunctionType:
            self._remember(value, source)
            self.reader.check(source, "{v}.__code__ is {c}", "the same function", c=value.__code__)
            return value
        if kind is MethodType:
            self._remember(value.__self__, self.child(source, "attr", "__self__"))
            self.reader.check(
                source,
                "{v}.__self__ is {s} and {v}.__func__.__code__ is {c}"
                if isinstance(value.__func__, FunctionType)
                else "{v}.__self__ is {s}",
                "the same method",
                s=value.__self__,
                c=getattr(value.__func__, "__code__", None),
            )
            return value
        if kind is BuiltinFunctionType:
            self.reader.check(source, "{v} == {c}", "the same function", c=value)
            return value
        self._remember(value, source)
        if value is os.environ:  # tests with `in`, loops and lengths cannot be seen
            self.reader.check(source, "{v} is {c} and {v}._data == {d}", "what it was",
                              c=value, d=dict(os.environ._data))  # fmt: skip
            return value
        self.reader.check(source, "{v} is {c}", f"the same {kind.__name__}", c=value)
        if isinstance(value, dict | list):
            # A user's subclass is used as it is: what it holds must stay the same objects.
            snapshot = dict(value) if isinstance(value, dict) else list(value)
            self.reader.check(
                source, "{same}({v}, {c})", "holding the same items", same=_same_items, c=snapshot
            )
        return value

    def anonymous_array(self, array: Any) -> Tracer:
        """An array that reaches a traced operation without having been loaded by staged code."""
        found: Tracer = self.load(array, self.source_of(array))
        return found

    def attribute(self, owner: Any, name: str, value: Any) -> Any:
        """What the traced function sees for `owner.name`, whose plain value is `value`."""
        if value is os.environ:
            return self.load(value, self.source_of(value))
        found = self.known.get(id(owner))
        if found is None or isinstance(value, Tracer):
            return value
        if isinstance(owner, ModuleType) and is_trusted_module(owner.__name__):
            return value
        if isinstance(value, MethodType | BuiltinFunctionType) and value.__self__ is owner:
            return value
        if callable(value) and getattr(owner, name) is not value:
            return value  # bound anew at each access, as by functools.partialmethod
        return self.load(value, self.child(found[1], "attr", name))

    def observe(self, owner: Any, template: str, expected: str, **names: Any) -> None:
        """Guard what was found out about a known object."""
        if id(owner) in self.known:
            self.reader.check(self.known[id(owner)][1], template, expected, **names)

    def item(self, owner: Any, key: Any, value: Any) -> Any:
        """What the traced function sees for `owner[key]` of a known object."""
        if isinstance(value, Tracer) or (callable(value) and owner[key] is not value):
            return value
        return self.load(value, self.child(self.source_of(owner), "item", key))

    # ------------------------------------------------------------------------- kinds of values
    def _remember(self, value: Any, source: Source) -> None:
        self.known.setdefault(id(value), (value, source))

    def _array(self, value: np.ndarray, source: Source) -> Tracer:
        found = self.converted.get(id(value))
        if found is not None:
            # Two names of one array are one input, as long as they stay one array.
            first = self.known[id(value)][1]
            if first is not source:
                self.reader.add(first)
                self.reader.check(source, "{v} is {f}", "the array it was", f=first)
            return found[1]
        type_ = _type_of(value, source)
        self.reader.check(
            source,
            "type({v}) is {t} and {v}.dtype == {d} and {v}.shape == {s}",
            f"a {value.dtype} array of shape {value.shape}",
            t=type(value),
            d=value.dtype,
            s=value.shape,
        )
        tracer = self.make_input(type_, _hint(source), False, None)
        self.reader.input(source, number=not value.dtype.isnative or type(value) is not np.ndarray)
        self.known[id(value)] = (value, source)
        self.converted[id(value)] = (value, tracer)
        return tracer

    def _array_like(self, value: Any, source: Source) -> Tracer:
        """A pandas column, a torch tensor, ...: converted at each call."""
        array = np.asarray(value)
        self.reader.check(
            source,
            "type({v}) is {t} and {f}({v}) == {s}",
            f"a {type(value).__name__} of dtype {array.dtype} and shape {array.shape}",
            t=type(value),
            f=_dtype_and_shape,
            s=(array.dtype, array.shape),
        )
        tracer = self.make_input(_type_of(array, source), _hint(source), False, None)
        self.reader.input(source, number=True)
        return tracer

    def _number(self, value: Any, source: Source) -> Tracer:
        found = self.converted.get(id(source))
        if found is not None:
            return found[1]
        kind = type(value)
        weak = kind in (float, complex)
        self.reader.check(source, "type({v}) is {t}", f"a {kind.__name__}", t=kind)
        tracer = self.make_input(_type_of(value, source), _hint(source), weak, value)
        self.reader.input(source, number=True)
        self.converted[id(source)] = (source, tracer)
        self._numbers[id(tracer)] = source
        return tracer

    def pin(self, tracer: Tracer) -> None:
        """The value of a captured number was used: guard it."""
        self.reader.check(
            self._numbers[id(tracer)],
            "{same}({v}, {c})",
            repr(tracer.python),
            same=identical,
            c=tracer.python,
        )

    def _guarded(self, value: Any, source: Source) -> Any:
        kind = type(value)
        if kind in (slice, range):
            self.reader.check(source, "{same}({v}, {c})", repr(value), same=identical, c=value)
        else:
            self.reader.check(
                source, "type({v}) is {t} and {v} == {c}", repr(value), t=kind, c=value
            )
        return value

    def _container(self, value: Any, source: Source) -> Any:
        found = self.converted.get(id(value))
        if found is not None:
            return found[1]
        kind = type(value)
        if _is_plain(value):
            self.reader.check(
                source,
                "{same}({v}, {c})",
                f"the same {kind.__name__}",
                c=copy.copy(value),
                same=identical,
            )
            stand_in = copy.copy(value)
        elif isinstance(value, dict):
            self.reader.check(
                source,
                "type({v}) is {t} and [*{v}] == {k}",
                f"a dict with keys {list(value)}",
                t=kind,
                k=list(value),
            )
            stand_in = copy.copy(value)
            self.converted[id(value)] = (value, stand_in)
            for key, item in value.items():
                stand_in[key] = self.load(item, self.child(source, "item", key))
        else:
            self.reader.check(
                source,
                "type({v}) is {t} and len({v}) == {n}",
                f"a {kind.__name__} of length {len(value)}",
                t=kind,
                n=len(value),
            )
            items: list[Any] = []
            if kind is list:
                self.converted[id(value)] = (value, items)
            for k, item in enumerate(value):
                items.append(self.load(item, self.child(source, "item", k)))
            stand_in = items if kind is list else _like(value, items)
        self.converted[id(value)] = (value, stand_in)
        self.protect(stand_in)
        self._remember(value, source)
        return stand_in

    # ----------------------------------------------------------------------------- mutation
    def protect(self, stand_in: Any) -> None:
        """Remember a container that stands for one outside the call: it must not be changed."""
        if isinstance(stand_in, dict):
            self.originals[id(stand_in)] = (stand_in, dict(stand_in))
        elif isinstance(stand_in, list | collections.deque):
            self.originals[id(stand_in)] = (stand_in, list(stand_in))

    def protect_object(self, value: Any) -> None:
        """Remember an object that stands for an argument: its attributes must not be changed."""
        self.protected[id(value)] = value

    def check_unchanged(self) -> None:
        """Raise when a protected container was changed behind the staged operators' back."""
        for stand_in, snapshot in self.originals.values():
            if not _same_items(stand_in, snapshot):
                raise TracingError(
                    f"a {type(stand_in).__name__} that outlives the call was changed while "
                    f"tracing: "
                    "the change would happen once, not at each call. Work on a copy "
                    "(dict(d), list(l)) and return it"
                )


def is_array_like(value: Any) -> bool:
    """Does it convert to an array? Tables (which have named columns) are read by column."""
    kind = type(value)
    if not hasattr(kind, "__array__") or isinstance(value, np.generic | type):
        return False
    return getattr(value, "ndim", 1) == 1 or not hasattr(kind, "keys")


def _dtype_and_shape(value: Any) -> Any:
    array = np.asarray(value)
    return array.dtype, array.shape


def _is_plain(value: Any) -> bool:
    """Only static values inside, or too many numbers to be inputs one by one."""
    items = value.values() if isinstance(value, dict) else value
    numbers = sum(type(x) in (float, complex) for x in items)
    simple = (bool, int, str, bytes, type(None), float, complex)
    return all(type(x) in simple for x in items) and (numbers == 0 or numbers > _MOST_NUMBERS)


def _like(value: Any, items: list[Any]) -> Any:
    kind = type(value)
    if hasattr(kind, "_fields"):
        return kind(*items)
    return kind(items, value.maxlen) if kind is collections.deque else kind(items)


def _same_items(value: Any, snapshot: Any) -> bool:
    if len(value) != len(snapshot):
        return False
    if isinstance(value, dict):
        return all(k in snapshot and snapshot[k] is v for k, v in value.items())
    return all(a is b for a, b in zip(value, snapshot))


def _type_of(value: Any, source: Source) -> TensorType:
    refused = own_arithmetic(value)
    if refused is not None:
        raise TracingError(f"{source.describe()} {refused}")
    try:
        return type_of(value)
    except TypeError as error:
        raise TracingError(f"{source.describe()}: {error}") from None


def _hint(source: Source) -> str:
    name = source.key if isinstance(source.key, str) else ""
    return name if name.isidentifier() else "captured"
