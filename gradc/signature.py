"""What a program's arguments look like: the retrace key, and the generated matcher of calls.

A leaf of the arguments is an array, a number (NumPy's, a float, a complex, or an int, which is
traced and remembers its value), or static: guarded by value (bool, str, None, enums, types,
functions), otherwise by identity. Shapes and dtypes are part of the key; memory layout is not,
since no traced operation depends on it. Values are compared by `frozen` (identity.py).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gradc import pytree
from gradc.frontend.array_classes import own_arithmetic
from gradc.frontend.capture import is_array_like
from gradc.frontend.identity import Identity, frozen, identical
from gradc.frontend.location import TracingError
from gradc.frontend.sources import native_array
from gradc.frontend.tracer import Tracer
from gradc.ir.types import TensorType, c128, f64, from_numpy, i64


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """What the key holds of one leaf.

    kind: 'array', 'scalar' (a NumPy number), 'python' (int, float, complex) or 'static'
    type: the tensor type (None for static);  python: the Python type of the leaf
    value: the value of a static leaf;  frozen: what is compared of it
    """

    kind: str
    type: TensorType | None
    python: Any
    value: Any = dataclasses.field(default=None, compare=False)
    frozen: Any = None

    @property
    def is_dynamic(self) -> bool:
        return self.kind != "static"

    @property
    def weak(self) -> bool:
        return self.kind == "python"

    def describe(self) -> str:
        if self.kind == "static":
            return f"{self.python.__name__} {self.value!r}"
        if self.kind == "python":
            return f"a Python {self.python.__name__}"
        assert self.type is not None
        return f"{self.type.dtype.name}{list(self.type.shape)}"


class Static:
    """A box around a static argument or leaf, so that pytrees do not open it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


# Python ints are traced as int64. Larger ones are static, so that sums and products of traced ints
# do not wrap where Python's would not.
_TRACED_INTS = 2**31

_PYTHON = {
    float: Leaf("python", TensorType((), f64), float),
    complex: Leaf("python", TensorType((), c128), complex),
    int: Leaf("python", TensorType((), i64), int),
}


def classify(leaf: Any, path: Callable[[], str]) -> tuple[Leaf, Any]:
    """The key of a leaf, and the leaf itself or the array that it converts to."""
    kind = type(leaf)
    if kind is np.ndarray:
        return Leaf("array", TensorType(leaf.shape, _dtype(leaf, path)), kind), leaf
    found = _PYTHON.get(kind)
    if found is not None:
        if kind is not int or -_TRACED_INTS <= leaf < _TRACED_INTS:
            return found, leaf
        return _static(leaf), leaf
    if isinstance(leaf, np.generic):
        return Leaf("scalar", TensorType((), _dtype(leaf, path)), kind), leaf
    if isinstance(leaf, Tracer):
        raise TracingError(
            f"{path()} is a traced array of a function that is no longer being traced: a value "
            "escaped from it (through a global, an attribute or a container). Return it instead"
        )
    if isinstance(leaf, Static):
        if isinstance(leaf.value, list | dict | set | np.ndarray):
            raise TypeError(
                f"the static argument {path()} is a {type(leaf.value).__name__}, which can change: "
                "expected a hashable value; pass a tuple"
            )
        return _static(leaf.value), leaf.value
    refused = own_arithmetic(leaf)
    if refused is not None:
        raise TracingError(f"{path()} {refused}")
    if is_array_like(leaf) or hasattr(kind, "__dlpack__"):
        array = np.asarray(leaf) if hasattr(kind, "__array__") else np.from_dlpack(leaf)
        return Leaf("array", TensorType(array.shape, _dtype(array, path)), np.ndarray), array
    return _static(leaf), leaf


def _static(value: Any) -> Leaf:
    return Leaf("static", None, type(value), value, frozen(value))


def _dtype(value: Any, path: Callable[[], str]) -> Any:
    try:
        return from_numpy(value.dtype)
    except TypeError:
        error = pytree.leaf_type_error(value, path())
        raise error or TracingError(
            f"{path()} has dtype {value.dtype}, for which there is no IR type: convert it, for "
            "instance with .astype(np.float64)"
        ) from None


@dataclasses.dataclass(slots=True)
class Call:
    """The analysed arguments of one call.

    key:     the retrace key;  leaves: all leaves, dynamic ones converted
    dynamic: positions of the dynamic leaves;  orders: the keys of its dicts in iteration order
    """

    structure: pytree.Structure
    kinds: tuple[Leaf, ...]
    leaves: list[Any]
    names: Sequence[str]
    orders: tuple[tuple[Any, ...], ...] = ()

    def without_values(self) -> Call:
        """The same without the leaves: a traced function keeps no arguments alive."""
        return Call(self.structure, self.kinds, [], self.names, self.orders)

    @property
    def key(self) -> Any:
        return self.structure, self.kinds, frozen(self.orders)

    @property
    def dynamic(self) -> list[int]:
        return [k for k, leaf in enumerate(self.kinds) if leaf.is_dynamic]

    def inputs(self) -> list[np.ndarray]:
        """The arrays of the dynamic leaves."""
        return [native_array(self.leaves[k]) for k in self.dynamic]

    def paths(self) -> list[str]:
        """The path of each leaf as the user writes it: `params['w'][0]`."""
        return leaf_paths(self.structure, self.names)

    def argument_leaves(self, argument: int) -> range:
        """Positions of the leaves of one positional argument."""
        children = self.structure.children()[0].children()
        start = sum(c.num_leaves for c in children[:argument])
        return range(start, start + children[argument].num_leaves)

    def argument_structure(self, argument: int) -> pytree.Structure:
        return self.structure.children()[0].children()[argument]

    def argument_name(self, argument: int) -> str:
        """The parameter's name; `args[k]` where it has none."""
        return self.names[argument] if argument < len(self.names) else f"args[{argument}]"

    @property
    def argument_count(self) -> int:
        return self.structure.children()[0].num_children


def leaf_paths(structure: pytree.Structure, names: Sequence[str]) -> list[str]:
    """Paths of the leaves of (args, kwargs), rooted at the parameters' names."""
    arguments, keywords = structure.children()
    paths: list[str] = []
    for k, child in enumerate(arguments.children()):
        name = names[k] if k < len(names) else f"args[{k}]"
        paths += pytree.leaf_paths(child, name)
    for name, child in zip(keywords.entries(), keywords.children()):
        paths += pytree.leaf_paths(child, str(name))
    return paths


def parameter_names(function: Any) -> list[str]:
    """Names of the positional parameters; empty where there is no signature."""
    code = getattr(function, "__code__", None)
    if code is not None:
        return list(code.co_varnames[: code.co_argcount])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds]


def keyword_names(function: Any) -> list[str] | None:
    """Names of all parameters, keyword-only ones last; None where the function takes any keyword
    or has no signature."""
    code = getattr(function, "__code__", None)
    if code is not None:
        if code.co_flags & inspect.CO_VARKEYWORDS:
            return None
        return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_POSITIONAL]


def analyse(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str] = (),
    static_names: frozenset[str] = frozenset(),
) -> Call:
    """Flatten and classify the arguments. Raises TypeError for unsupported leaves, with their
    path."""
    if static_names:
        args = tuple(
            _boxed(x) if k < len(names) and names[k] in static_names else x
            for k, x in enumerate(args)
        )
        kwargs = {k: _boxed(x) if k in static_names else x for k, x in kwargs.items()}
    leaves, structure = pytree.flatten((args, kwargs))
    orders = pytree.key_orders(structure, (args, kwargs))
    kinds = []
    for k, leaf in enumerate(leaves):
        kind, leaves[k] = classify(leaf, partial(_leaf_path, structure, names, k))
        kinds.append(kind)
    return Call(structure, tuple(kinds), leaves, names, orders)


def _boxed(value: Any) -> Static:
    return value if type(value) is Static else Static(value)


def _leaf_path(structure: pytree.Structure, names: Sequence[str], position: int) -> str:
    return leaf_paths(structure, names)[position]


# ------------------------------------------------------------------------ the generated matcher
Matcher = Callable[[tuple[Any, ...], dict[str, Any]], "list[Any] | None"]


def matcher(
    call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], pins: Sequence[tuple[int, Any]]
) -> Matcher | None:
    """A function match(args, kwargs) -> the input arrays where a call has the same key, else None.

    pins: (leaf position, value) of Python numbers whose value the trace has used.
    None where the arguments hold a registered class that only optree can open.
    """
    writer = _MatchWriter(call, dict(pins))
    arguments, keywords = call.structure.children()
    writer.lines += ["def match(args, kwargs):", " try:"]
    writer.line(f"if len(args) != {arguments.num_children}: return None")
    if keywords.num_children:
        writer.line(f"if [*kwargs] != {writer.constant(list(kwargs))}: return None")
    else:
        writer.line("if kwargs: return None")
    ok = all(
        writer.node(child, f"args[{k}]", args[k]) for k, child in enumerate(arguments.children())
    ) and all(
        writer.node(child, f"kwargs[{name!r}]", kwargs[name])
        for name, child in zip(keywords.entries(), keywords.children())
    )
    if not ok:
        return None
    writer.line(f"return [{', '.join(writer.inputs)}]")
    writer.lines.append(" except (LookupError, AttributeError): return None")
    exec("\n".join(writer.lines), writer.scope)
    match: Matcher = writer.scope["match"]
    return match


class _MatchWriter:
    def __init__(self, call: Call, pins: dict[int, Any]) -> None:
        self.call = call
        self.pins = pins
        self.lines: list[str] = []
        self.inputs: list[str] = []
        self.scope: dict[str, Any] = {
            "ndarray": np.ndarray, "array": np.asarray, "frozen": frozen, "identical": identical,
        }  # fmt: skip
        self.position = 0
        self.count = 0

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def constant(self, value: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def node(self, structure: pytree.Structure, expression: str, example: Any) -> bool:
        name = f"v{self.count}"
        self.count += 1
        self.line(f"{name} = {expression}")
        cls = structure.type
        if cls is None:
            return self.leaf(name)
        entries = structure.entries()
        self.line(f"if type({name}) is not {self.constant(cls)}: return None")
        if cls in (tuple, list, dict) or hasattr(cls, "_fields"):
            if cls is dict:
                keys = self.constant(list(example))
                plain = all(type(key) is str for key in example)
                same = f"[*{name}] == {keys}" if plain else f"identical([*{name}], {keys})"
                self.line(f"if not {same}: return None")
            elif not hasattr(cls, "_fields"):
                self.line(f"if len({name}) != {len(entries)}: return None")
            parts = [f"{name}[{self.constant(e) if cls is dict else e}]" for e in entries]
            examples = [example[e] for e in entries]
        elif pytree.is_plain_dataclass(cls):
            parts = [f"{name}.{entry}" for entry in entries]
            examples = [getattr(example, entry) for entry in entries]
            for field, kind, value in pytree.static_fields(example):
                t, c = self.constant(kind), self.constant(value)
                self.line(
                    f"if type({name}.{field}) is not {t} or {name}.{field} != {c}: return None"
                )
        else:
            return False
        return all(map(self.node, structure.children(), parts, examples))

    def leaf(self, name: str) -> bool:
        leaf = self.call.kinds[self.position]
        value = self.call.leaves[self.position]
        position = self.position
        self.position += 1
        if leaf.kind == "static":
            return self.static(name, leaf)
        if leaf.kind == "array":
            if type(value) is not np.ndarray or not value.dtype.isnative:
                return False
            dtype, shape = self.constant(value.dtype), self.constant(value.shape)
            self.line(
                f"if type({name}) is not ndarray or {name}.shape != {shape} or "
                f"({name}.dtype is not {dtype} and {name}.dtype != {dtype}): return None"
            )
            self.inputs.append(name)
            return True
        self.line(f"if type({name}) is not {self.constant(leaf.python)}: return None")
        if position in self.pins:
            pin = self.constant(self.pins[position])
            self.line(f"if not identical({name}, {pin}): return None")
        if leaf.python is int:
            self.line(f"if not {-_TRACED_INTS} <= {name} < {_TRACED_INTS}: return None")
        self.inputs.append(f"array({name})")
        return True

    def static(self, name: str, leaf: Leaf) -> bool:
        if isinstance(leaf.frozen, Identity):
            self.line(f"if {name} is not {self.constant(leaf.value)}: return None")
        elif leaf.value is None:
            self.line(f"if {name} is not None: return None")
        elif leaf.python in (bool, int, str):
            kind, value = self.constant(leaf.python), self.constant(leaf.value)
            self.line(f"if type({name}) is not {kind} or {name} != {value}: return None")
        else:
            self.line(f"if frozen({name}) != {self.constant(leaf.frozen)}: return None")
        return True
