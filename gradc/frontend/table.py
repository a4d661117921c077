"""The table of functions that traced code may call.

A key is a public callable (`numpy.mean`, `math.sin`, `operator.add`, `scipy.special.expit`), its
entry takes the same arguments, with tracers, arrays and numbers among them, and returns tracers.
The topic files of `gradc.numpy_functions` fill it; the tracer's protocols and the staged `call`
read it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Implementation = Callable[..., Any]

TABLE: dict[Any, Implementation] = {}
CREATION: set[Any] = set()  # functions that give a traced array though no argument is traced
METHODS: dict[str, Implementation] = {}  # methods of ndarray that are no public function: "astype"
LAZY: dict[str, Implementation] = {}  # dotted names of modules that load on first use (scipy)
_FOUND: dict[Any, Implementation] = {}  # entries of LAZY by function, once looked up


def implements(
    *functions: Any, creates: bool = False
) -> Callable[[Implementation], Implementation]:
    """Decorator: the decorated function implements `functions` for tracers.

    A string is a dotted name in a module that gradc does not import itself ("scipy.special.expit").
    """

    def register(implementation: Implementation) -> Implementation:
        if "<locals>" in implementation.__qualname__:
            # Python names the function in the error of a wrong argument.
            implementation.__qualname__ = str(getattr(functions[0], "__name__", functions[0]))
        for function in functions:
            if isinstance(function, str):
                LAZY[function] = implementation
                continue
            TABLE[function] = implementation
            if creates:
                CREATION.add(function)
        return implementation

    return register


def implementation(function: Any) -> Implementation | None:
    """The entry of a callable, or None. Functions of lazily loaded modules are found by name."""
    try:
        found = TABLE.get(function) or _FOUND.get(function)
    except TypeError:  # an unhashable callable
        return None
    if found is None and LAZY:
        found = _lazy(function)
    return found


def _lazy(function: Any) -> Implementation | None:
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", None)
    # scipy's ufuncs have no __module__.
    if name is None or not (module.startswith("scipy") or type(function).__name__ == "ufunc"):
        return None
    for dotted, entry in LAZY.items():
        home, _, own = dotted.rpartition(".")
        if own == name and getattr(sys.modules.get(home), own, None) is function:
            _FOUND[function] = entry
            return entry
    return None
