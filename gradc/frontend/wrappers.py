"""What stands around Python functions: caches, Numba's dispatchers, vectorised scalar functions."""

from __future__ import annotations

import builtins
import functools
import math
import sys
from typing import Any

import numpy as np

# In a function of scalars that runs on whole arrays, these mean what NumPy's functions do.
_OTHER_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "pow": "power",
}  # fmt: skip
_SAME_NAMES = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10", "log1p",
    "sqrt", "cbrt", "fabs", "floor", "ceil", "trunc", "hypot", "degrees", "radians", "copysign",
    "isnan", "isinf", "isfinite", "fmod",
)  # fmt: skip


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _max(*values: Any) -> Any:
    return functools.reduce(np.maximum, values)


def _min(*values: Any) -> Any:
    return functools.reduce(np.minimum, values)


_ELEMENTWISE: dict[Any, Any] = {
    math.log: _log,
    builtins.max: _max,
    builtins.min: _min,
    **{getattr(math, a): getattr(np, b) for a, b in _OTHER_NAMES.items()},
    **{getattr(math, a): getattr(np, a) for a in _SAME_NAMES if hasattr(math, a)},
}


def on_arrays(function: Any) -> Any:
    """What a function of scalars is where whole arrays stand for the scalars."""
    try:
        return _ELEMENTWISE.get(function, function)
    except TypeError:  # an unhashable callable
        return function


def is_vectorized(function: Any) -> bool:
    """Does this apply a function of scalars to the elements of arrays?"""
    if isinstance(function, np.vectorize):
        return True
    numba = type(function).__module__.partition(".")[0] == "numba"
    return numba and type(function).__name__ == "DUFunc"


def plain_function(function: Any) -> Any:
    """The Python function inside an lru_cache, a Numba dispatcher or np.vectorize; None
    otherwise."""
    if isinstance(function, functools._lru_cache_wrapper):
        return function.__wrapped__
    if isinstance(function, np.vectorize) and function.signature is None:
        return function.pyfunc
    root = type(function).__module__.partition(".")[0]
    if root == "numba":
        if function is sys.modules["numba"].prange or type(function).__name__ == "GUFunc":
            return None
        inner = getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
        if inner is None:
            inner = getattr(getattr(function, "_dispatcher", None), "py_func", None)
        return inner
    return None
