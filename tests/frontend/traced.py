"""Run a function through the tracer and the interpreter, for comparison with plain NumPy."""

from __future__ import annotations

import builtins
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gradc.frontend.trace import Trace
from gradc.frontend.tracer import Tracer
from gradc.ir.interp import run_function
from gradc.ir.types import type_of
from gradc.numpy_functions import CREATION, implementation


class _Module:
    """A module whose functions are looked up in the table, as the staged `call` does."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if isinstance(found, ModuleType):
            return _Module(found)
        if isinstance(found, np.ufunc | type):
            return found  # ufuncs go through __array_ufunc__; a type may be an argument
        entry = implementation(found) if callable(found) else None
        return found if entry is None else _dispatching(found, entry)


def _dispatching(function: Any, entry: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = any(isinstance(x, Tracer) for x in flatten([*args, *kwargs.values()]))
        return (entry if traced or function in CREATION else function)(*args, **kwargs)

    return call


_BUILTINS = ("float", "int", "complex", "bool", "max", "min", "round", "abs", "sum", "isinstance")


def with_table(function: Any) -> Any:
    """The function with np, math and the built-in functions looked up in the table when called."""
    scope = dict(function.__globals__)
    for name, value in function.__globals__.items():
        if isinstance(value, ModuleType):
            scope[name] = _Module(value)
    for name in _BUILTINS:
        scope[name] = _dispatching(getattr(builtins, name), implementation(getattr(builtins, name)))
    return FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )


def traced_argument(trace: Trace, x: Any, hint: str) -> Any:
    if isinstance(x, np.ndarray):
        return trace.argument(type_of(x), hint, is_scalar=False)
    if isinstance(x, np.generic):
        return trace.argument(type_of(x), hint)
    if isinstance(x, float | complex) or type(x) is int:
        python = x if type(x) is int else None
        return trace.argument(type_of(np.asarray(x)), hint, weak=True, python=python)
    return x


def run_traced(function: Any, *args: Any) -> list[tuple[Any, Tracer | None]]:
    """function(*tracers) run by the interpreter; flat pairs (value, tracer or None)."""
    trace = Trace("main")
    with trace.active():
        tracers = [traced_argument(trace, x, f"x{k}") for k, x in enumerate(args)]
        found = function(*tracers)
        flat = flatten(found)
        traced = [x for x in flat if isinstance(x, Tracer)]
    built = trace.finish(traced)
    inputs = [np.asarray(x) for x, t in zip(args, tracers) if isinstance(t, Tracer)]
    arrays = iter(run_function(built, inputs))
    return [(next(arrays), x) if isinstance(x, Tracer) else (x, None) for x in flat]


def flatten(x: Any) -> list[Any]:
    if isinstance(x, tuple | list):
        return [leaf for item in x for leaf in flatten(item)]
    return [x]


def assert_as_numpy(
    function: Any, *args: Any, tolerance: float | None = None, staged: bool = False
) -> None:
    """Value, dtype, shape and scalar-or-array of the traced function equal plain NumPy's."""
    with np.errstate(all="ignore"):
        expected = flatten(function(*args))
    found = run_traced(with_table(function) if staged else function, *args)
    assert len(found) == len(expected)
    for (value, tracer), want in zip(found, expected):
        if tracer is None:
            assert np.array_equal(value, want)
            continue
        array = np.asarray(want)
        assert tracer.dtype == array.dtype, f"dtype {tracer.dtype}, NumPy gives {array.dtype}"
        assert value.dtype == array.dtype
        assert value.shape == array.shape, f"shape {value.shape}, NumPy gives {array.shape}"
        if tracer.value.type.is_static:
            assert tracer.shape == array.shape
        assert tracer.is_scalar == (not isinstance(want, np.ndarray)), (
            f"scalar: {tracer.is_scalar}, NumPy gives a {type(want).__name__}"
        )
        assert tracer.weak == (type(want) in (bool, int, float, complex))
        kind = array.dtype.kind
        if kind in "fc" or array.dtype.name == "bfloat16":
            wide = array.astype(np.complex128 if kind == "c" else np.float64)
            own = value.astype(wide.dtype)
            narrow = {2: 4e-3, 4: 4e-6, 8: 1e-12, 16: 1e-12}[
                array.dtype.itemsize if kind == "f" else 8
            ]
            if kind == "c" and array.dtype.itemsize == 8:
                narrow = 4e-6
            rtol = tolerance or narrow
            np.testing.assert_allclose(own, wide, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(value, array)


def identifier(item: Any) -> str:
    """The test id of a (function, arguments) pair."""
    function, args = item
    name = getattr(function, "__name__", "f")
    shapes = "-".join(f"{getattr(x, 'dtype', type(x).__name__)}{list(np.shape(x))}" for x in args)
    return f"{name}-{shapes}".replace(" ", "")


def tolerance_of(args: Any) -> float | None:
    """Wider where sums in half precision may round differently."""
    return 1e-2 if any(getattr(x, "dtype", None) == np.float16 for x in args) else None
