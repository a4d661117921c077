"""Python's built-in functions and the `math` module on tracers.

`math` functions give Python floats: the result is weak, and computed in float64 whatever came in.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    convert,
    is_number,
    operand,
    result_type,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.text import written
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer, stands_for
from gradc.ir.opdef import REGISTRY
from gradc.ir.types import c128, f64, from_numpy, i1, i64
from gradc.numpy_functions.operators import as_python

# ------------------------------------------------------------------------------ conversions


def _scalar(x: Any, what: str) -> Tracer:
    """A one-element operand as a rank-0 tracer."""
    t = x if isinstance(x, Tracer) else as_tracer(x)
    if t.ndim:
        if math.prod(t.static_shape(what)) != 1:
            raise TypeError(f"only length-1 arrays can be converted to Python scalars ({what})")
        t = apply("reshape", t, shape=())
    return t


def _conversion(function: type, element: Any) -> Callable[..., Any]:
    def convert_to(x: Any = 0, *args: Any) -> Any:
        if not isinstance(x, Tracer):
            return function(x, *args)
        t = _scalar(x, f"{function.__name__}()")
        if t.element.is_complex and function is not complex:
            raise TypeError(f"{function.__name__}() of a complex number: take x.real")
        return as_python(convert(t, element), function, [x])

    return convert_to


implements(float)(_conversion(float, f64))
implements(int)(_conversion(int, i64))


@implements(complex)
def complex_(real: Any = 0, imag: Any = 0) -> Any:
    """complex(x) or complex(re, im)."""
    if is_number(imag) and imag == 0:
        return as_python(typed(_scalar(real, "complex()"), c128), complex, [real])
    parts = [typed(_scalar(x, "complex()"), f64, ()) for x in (real, imag)]
    return as_python(apply("complex", *parts), complex, [real, imag])


@implements(bool)
def bool_(x: Any = False) -> Any:
    """bool(x): a traced condition; testing it in an `if` is the error."""
    if not isinstance(x, Tracer):
        return bool(x)
    return as_python(convert(_scalar(x, "bool()"), i1), bool, [x])


def _scalar_type(kind: Any) -> None:
    """np.float32(x) and its kin: x converted, an array staying an array."""

    def entry(x: Any = 0) -> Any:
        t = as_tracer(x)
        found = convert(t, from_numpy(kind))
        return found if found is not t else Tracer(t.value, t.owner, is_scalar=not t.ndim)

    entry.__name__ = kind.__name__
    implements(kind)(entry)


for _kind in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
):  # fmt: skip
    _scalar_type(_kind)


@implements(len)
def len_(x: Any) -> int:
    return len(x)


@implements(isinstance)
def isinstance_(x: Any, kinds: Any) -> bool:
    """A tracer is an instance of what it stands for: ndarray, a NumPy scalar, float, int, complex,
    bool."""
    if not isinstance(x, Tracer):
        return isinstance(x, kinds)
    return issubclass(stands_for(x), kinds)


@implements(type)
def type_(x: Any, *rest: Any) -> type:
    """The type that a tracer stands for; classes are made as ever."""
    return stands_for(x) if isinstance(x, Tracer) and not rest else type(x, *rest)


@implements(str)
def str_(*args: Any, **kwargs: Any) -> str:
    return str(*map(written, args), **kwargs)


@implements(repr)
def repr_(x: Any) -> str:
    return repr(written(x))


@implements(format)
def format_(x: Any, *spec: Any) -> str:
    return format(written(x), *spec)


@implements(np.isscalar)
def isscalar(element: Any) -> bool:
    return isinstance(element, Tracer) and element.is_scalar


@implements(np.result_type)
def np_result_type(*arrays_and_dtypes: Any) -> Any:
    return result_type(
        *[np.dtype(x) if isinstance(x, np.dtype | type) else operand(x) for x in arrays_and_dtypes]
    )


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, Tracer) else from_, to, casting)


@implements(np.min_scalar_type)
def min_scalar_type(a: Any) -> Any:
    raise TracingError("np.min_scalar_type depends on the value, which is not known while tracing")


# ------------------------------------------------------------------------------ min and max


def _extremum(function: Callable[..., Any], ufunc: Any, is_max: bool) -> Callable[..., Any]:
    better = operator.gt if is_max else operator.lt

    def entry(*args: Any, **options: Any) -> Any:
        if len(args) == 1:
            (only,) = args
            if isinstance(only, Tracer) and only.ndim == 1 and not options:
                return TABLE[np.max if is_max else np.min](only)
            args = tuple(only)
            if not any(isinstance(x, Tracer) for x in args):
                return function(args, **options)
        elif not any(isinstance(x, Tracer) for x in args):
            return function(*args, **options)
        if options.get("key") is not None:
            raise TracingError(
                f"{function.__name__}(..., key=) of traced values: the choice is not known while "
                f"tracing. Take np.{'argmax' if is_max else 'argmin'} of the keys"
            )
        found = args[0]
        for other in args[1:]:
            found = _better(found, other)
        return found

    def _better(best: Any, other: Any) -> Any:
        if not isinstance(best, Tracer) and not isinstance(other, Tracer):
            return function(best, other)
        operands = [operand(best), operand(other)]
        if any(getattr(x, "ndim", 0) for x in operands):
            raise ValueError(
                f"{function.__name__}() of arrays: the truth value of an array is ambiguous. Write "
                f"np.{ufunc.__name__}(a, b)"
            )
        dtype = result_type(*operands)
        if is_max and _literal_zero(best) and dtype.kind == "f":
            taken = typed(TABLE[operator.gt](other, 0), i1)
            found = apply(
                "select", taken, typed(operands[1], dtype), filled(0, (), from_numpy(dtype))
            )
        elif is_max and _literal_zero(other) and dtype.kind == "f":
            found = apply("relu", typed(operands[0], dtype))
        else:
            # Python keeps the first of equals, and the first where either is NaN.
            taken = typed(better(operands[1], operands[0]), i1)
            found = apply("select", taken, typed(operands[1], dtype), typed(operands[0], dtype))
        if all(_is_weak(x) for x in (best, other)):
            return as_python(found, function, [best, other])
        return found

    entry.__name__ = function.__name__
    return entry


def _literal_zero(x: Any) -> bool:
    return is_number(x) and not isinstance(x, bool | complex) and x == 0


def _is_weak(x: Any) -> bool:
    return x.weak if isinstance(x, Tracer) else is_number(x)


# `creates`: a generator does not show that its items are traced.
implements(max, creates=True)(_extremum(max, np.maximum, True))
implements(min, creates=True)(_extremum(min, np.minimum, False))


# ------------------------------------------------------------------------------------- math


def _math(name: str, emit: Callable[..., Tracer], element: Any = f64) -> None:
    """Register math.`name`: operands as float64 scalars, a Python number out."""
    function = getattr(math, name, None)
    if function is None:  # newer than this Python
        return

    def entry(*inputs: Any) -> Any:
        operands = [typed(_scalar(x, f"math.{name}"), element, ()) for x in inputs]
        return as_python(emit(*operands), function, list(inputs))

    entry.__name__ = name
    implements(function)(entry)


for _cls in REGISTRY.values():
    for _dotted in _cls.numpy_names():
        _module, _, _own = _dotted.rpartition(".")
        if _module == "math" and _own not in ("log", "hypot"):
            _math(_own, partial(apply, _cls.mnemonic()))


def _whole(mnemonic: str) -> Callable[..., Tracer]:
    return lambda x: convert(apply(mnemonic, x), i64)


_math("floor", _whole("floor"))
_math("ceil", _whole("ceil"))
_math("trunc", _whole("trunc"))
_math("pow", lambda x, y: apply("power", x, y))
_math("radians", lambda x: TABLE[np.radians](x))
_math("degrees", lambda x: TABLE[np.degrees](x))


@implements(math.log)
def log(x: Any, base: Any = None) -> Any:
    """math.log(x) or math.log(x, base)."""
    inputs = [x] if base is None else [x, base]
    logs = [apply("log", typed(_scalar(v, "math.log"), f64, ())) for v in inputs]
    found = logs[0] if base is None else apply("div", *logs)
    return as_python(found, math.log, inputs)


@implements(math.hypot)
def hypot(*coordinates: Any) -> Any:
    """The length of a vector of any number of coordinates."""
    found: Any = None
    for x in coordinates:
        t = typed(_scalar(x, "math.hypot"), f64, ())
        found = apply("abs", t) if found is None else apply("hypot", found, t)
    return as_python(found, math.hypot, list(coordinates))


@implements(math.dist)
def dist(p: Any, q: Any) -> Any:
    """The distance of two points."""
    return hypot(*[a - b for a, b in zip(p, q, strict=True)])


@implements(math.prod)
def prod(iterable: Any, *, start: Any = 1) -> Any:
    found = start
    for x in iterable:
        found = TABLE[operator.mul](found, x)
    return found


@implements(math.fsum)
def fsum(seq: Any) -> Any:
    """A plain sum in float64: tracing knows no exact partial sums."""
    found: Any = 0.0
    for x in seq:
        found = TABLE[operator.add](
            found, as_python(typed(_scalar(x, "math.fsum"), f64, ()), float, [x])
        )
    return found


@implements(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    gap = abs(a - b)
    bound = TABLE[max](rel_tol * TABLE[max](abs(a), abs(b)), abs_tol)
    return gap <= bound


@implements(math.modf)
def modf(x: Any) -> Any:
    fraction, whole = TABLE[np.modf](typed(_scalar(x, "math.modf"), f64, ()))
    return as_python(fraction, float, []), as_python(whole, float, [])
