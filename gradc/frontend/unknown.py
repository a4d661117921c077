"""The error of calling a NumPy function on a traced array that gradc has no rule for."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.table import LAZY, TABLE

# What to write instead, by dotted name or by module.
_INSTEAD = {
    "numpy.linalg": "linear algebra other than np.linalg.norm is not available on traced "
    "arrays: call it outside the traced function, or write it with @, np.einsum and elementwise "
    "functions",
    "numpy.fft": "Fourier transforms are not available on traced arrays: transform outside, or "
    "multiply with a DFT matrix for short axes",
    "numpy.random": "it would draw once, while tracing, and not at each call: draw outside and "
    "pass the array as an argument",
    "numpy.copyto": "it stores into an array: build the result with np.where",
    "numpy.put": "it stores into an array: build the result with np.where",
    "numpy.place": "it stores into an array: build the result with np.where",
    "numpy.putmask": "it stores into an array: build the result with np.where",
    "numpy.put_along_axis": "it stores into an array: build the result with np.where",
    "numpy.fill_diagonal": "it stores into an array: use np.where(np.eye(n, dtype=bool), v, a)",
    "numpy.unique": "the number of results depends on the values: call it outside and pass the "
    "result",
    "numpy.vectorize": "apply the function to the whole arrays: NumPy functions broadcast",
    "numpy.apply_along_axis": "apply the function with axis= to the whole array",
    "numpy.may_share_memory": "traced arrays have no memory",
    "numpy.shares_memory": "traced arrays have no memory",
    "numpy.array2string": "the numbers are not known while tracing: print outside",
    "numpy.array_repr": "the numbers are not known while tracing: print outside",
    "numpy.array_str": "the numbers are not known while tracing: print outside",
    "numpy.save": "the numbers are not known while tracing: return the array and save it outside",
    "numpy.savetxt": "the numbers are not known while tracing: return the array and save it "
    "outside",
    "numpy.frexp": "use np.floor(np.log2(np.abs(x)))",
    "numpy.float_power": "use np.power(x.astype(np.float64), y)",
    "numpy.sort": "sort outside the traced function and pass the order (np.argsort) as an argument",
    "numpy.argsort": "sort outside the traced function and pass the order as an argument",
}


def dotted_name(function: Any) -> str:
    """`numpy.linalg.solve` for a function; the public spelling of ufuncs too."""
    name = getattr(function, "__name__", repr(function))
    if isinstance(function, np.ufunc):
        return f"numpy.{name}" if getattr(np, name, None) is function else f"scipy.special.{name}"
    module = getattr(function, "__module__", None) or ""
    return f"{module}.{name}" if module else name


def known_names() -> list[str]:
    """The names of the functions that traced code may call."""
    names = {dotted_name(f) for f in TABLE if callable(f)}
    return sorted(names | set(LAZY))


def unknown_function(function: Any) -> TracingError:
    """The error: the name, the user's line, and what is close to it or to be written instead."""
    name = dotted_name(function)
    shown = name.replace("numpy.", "np.", 1)
    instead = _INSTEAD.get(name) or next(
        (text for module, text in _INSTEAD.items() if name.startswith(module + ".")), None
    )
    if instead is None:
        own = name.rpartition(".")[2]
        by_own_name = {n.rpartition(".")[2]: n for n in known_names()}
        close = difflib.get_close_matches(own, by_own_name, 3, 0.6)
        spelled = ", ".join(by_own_name[c].replace("numpy.", "np.", 1) for c in close)
        instead = (
            (f"close to it are {spelled}; " if spelled else "")
            + "write it with NumPy functions that are known, or call it outside the traced function"
        )  # fmt: skip
    return TracingError(f"{shown} has no rule for traced arrays: {instead}")
