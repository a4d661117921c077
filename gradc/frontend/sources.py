"""Where a captured value comes from, and the generated function that reads it again at each call.

A `Source` is a path from the traced function ("its global `model`, attribute `w`") that can be
followed at any later call. A `Reader` holds what a trace has read: each entry checks what the trace
relied on (a guard) or yields an array or number that is an input of the program (a hidden input).
It compiles to one Python function `read(function)`, which returns the hidden inputs, or the number
of the first guard that no longer holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def native_array(value: Any) -> np.ndarray:
    """An array or number as a plain ndarray in native byte order."""
    array = np.asarray(value)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """One step of a path.

    kind: 'root' the traced function; 'const' the object `key`; 'global' name `key`; 'free' closure
          variable `key`; 'default' or 'kwdefault' of a function; 'attr' name `key`; 'item' key
          `key`
    """

    kind: str
    key: Any
    parent: Source | None = None

    def describe(self) -> str:
        """As the user writes it: `model.w`, `params['w1']`."""
        if self.kind in ("global", "free"):
            return str(self.key)
        if self.kind == "root":
            return "the function"
        if self.kind == "const":
            return getattr(self.key, "__name__", None) or f"<{type(self.key).__name__}>"
        assert self.parent is not None
        base = self.parent.describe()
        if self.kind == "attr":
            return f"{base}.{self.key}"
        if self.kind == "item":
            return f"{base}[{self.key!r}]"
        return f"the default of {self.key!r}"


@dataclass(slots=True)
class Check:
    """A guard on a source: `template` is a Python condition over {v}; `expected` says what held."""

    source: Source
    template: str
    names: dict[str, Any]
    expected: str


class Reader:
    """The ordered reads of a trace. `inputs` are the sources of the hidden inputs."""

    def __init__(self) -> None:
        self.steps: list[Source | Check] = []
        self.inputs: list[tuple[Source, bool]] = []
        self._known: set[Source] = set()
        self._compiled: Callable[[Any], Any] | None = None

    @property
    def checks(self) -> list[Check]:
        return [step for step in self.steps if isinstance(step, Check)]

    def add(self, source: Source) -> None:
        """Read this source (and its parents) at each call."""
        if source in self._known:
            return
        if source.parent is not None:
            self.add(source.parent)
        self._known.add(source)
        self.steps.append(source)
        self._compiled = None

    def check(self, source: Source, template: str, expected: str, **names: Any) -> None:
        """Demand a condition of the value; `{v}` stands for it, other braces for entries of
        `names`."""
        self.add(source)
        self.steps.append(Check(source, template, names, expected))
        self._compiled = None

    def input(self, source: Source, number: bool = False) -> int:
        """Make the value (an array, or a number) an input of the program; its position among
        them."""
        self.add(source)
        self.inputs.append((source, number))
        self._compiled = None
        return len(self.inputs) - 1

    def read(self, function: Any) -> Any:
        """The hidden inputs as a tuple; or an int, the number of the first check that fails; or -1
        when a variable, attribute or item no longer exists."""
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled(function)

    def describe_failure(self, number: int) -> str:
        """Which captured value changed, for `explain`."""
        if number < 0:
            return "a captured variable, attribute or item no longer exists"
        check = self.checks[number]
        return f"{check.source.describe()} is no longer {check.expected}"

    def _compile(self) -> Callable[[Any], Any]:
        scope: dict[str, Any] = {"asarray": native_array}
        variables: dict[Source, str] = {}
        lines = ["def read(function):", " try:"]
        number = 0
        for step in self.steps:
            if isinstance(step, Source):
                name = f"v{len(variables)}"
                lines.append(f"  {name} = {_expression(step, variables, scope)}")
                variables[step] = name
            else:
                fields = {"v": variables[step.source]}
                for key, value in step.names.items():
                    if isinstance(value, Source):
                        fields[key] = variables[value]
                        continue
                    fields[key] = f"c{len(scope)}"
                    scope[fields[key]] = value
                lines.append(f"  if not ({step.template.format(**fields)}): return {number}")
                number += 1
        hidden = "".join(
            f"asarray({variables[source]}), " if number else f"{variables[source]}, "
            for source, number in self.inputs
        )
        lines.append(f"  return ({hidden})")
        lines.append(" except (LookupError, AttributeError, TypeError, ValueError): return -1")
        exec("\n".join(lines), scope)
        read: Callable[[Any], Any] = scope["read"]
        return read


def _expression(source: Source, variables: dict[Source, str], scope: dict[str, Any]) -> str:
    if source.kind == "root":
        return "function"
    constant = f"c{len(scope)}"
    scope[constant] = source.key
    if source.kind == "const":
        return constant
    assert source.parent is not None
    base = variables[source.parent]
    if source.kind == "global":
        return f"{base}.__globals__[{constant}]"
    if source.kind == "free":
        return f"{base}.__closure__[{base}.__code__.co_freevars.index({constant})].cell_contents"
    if source.kind == "default":
        return f"{base}.__defaults__[{constant}]"
    if source.kind == "kwdefault":
        return f"{base}.__kwdefaults__[{constant}]"
    if source.kind == "attr":
        return (
            f"{base}.{source.key}" if source.key.isidentifier() else f"getattr({base}, {constant})"
        )
    return f"{base}[{constant}]"
