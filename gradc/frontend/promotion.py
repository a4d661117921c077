"""NumPy 2's promotion and broadcasting on tracers.

Python numbers, and tracers that stand for them, are weak: they never widen an array. NumPy scalars
and 0-d arrays are strong. The rules are not copied here: NumPy itself is asked
(`ufunc.resolve_dtypes`, `np.result_type`), once for each combination of dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.table import TABLE
from gradc.frontend.trace import active_trace, apply, build, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import Dim, ScalarType, from_numpy, i32, i64, to_numpy

Shape = tuple[Any, ...]
_PYTHON = {int: 0, float: 0.0, complex: 0j}
_DEFAULT = {int: np.dtype(np.int64), float: np.dtype(float), complex: np.dtype(complex)}
_RESOLVED: dict[Any, tuple[np.dtype[Any], ...]] = {}


def is_number(x: Any) -> bool:
    """Is this a Python number (not a NumPy scalar: np.float64 is a float to Python)?"""
    return isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic)


def operand(x: Any) -> Any:
    """A tracer, or a Python number or NumPy scalar left as it is. Lists become arrays."""
    if isinstance(x, Tracer):
        literal = x.weak and x.python is not None and not x.roots
        return x.python if literal else active_trace().lift(x)
    if is_number(x) or isinstance(x, np.generic):
        return x
    if isinstance(x, list | tuple):
        return TABLE[np.array](x)
    return active_trace().lift(x)


# A Python bool takes part as a NumPy one.
_WEAK = {"b": np.dtype(bool), "i": int, "f": float, "c": complex}


def has_tracer(x: Any) -> bool:
    """Is this a tracer, or a list or tuple with one in it?"""
    return isinstance(x, Tracer) or (isinstance(x, list | tuple) and any(map(has_tracer, x)))


def kind_of(x: Any) -> Any:
    """What promotion sees of an operand: a dtype, or int, float, complex for a weak one."""
    if isinstance(x, Tracer):
        return _WEAK[x.element.kind] if x.weak else x.dtype
    if isinstance(x, np.generic):
        return x.dtype
    if isinstance(x, bool):
        return np.dtype(bool)
    return type(x) if type(x) in _PYTHON else next(t for t in _PYTHON if isinstance(x, t))


def resolve(
    ufunc: np.ufunc,
    kinds: Sequence[Any],
    signature: Any = None,
    casting: str = "same_kind",
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of the loop that NumPy would run: inputs, then outputs. TypeError as NumPy."""
    key = (ufunc, *kinds, signature, casting)
    found = _RESOLVED.get(key)
    if found is None:
        if all(k in _DEFAULT for k in kinds):
            kinds = [_DEFAULT[k] for k in kinds]  # NumPy would compare two Python ints as objects
        given = (*kinds, *[None] * ufunc.nout)
        options: dict[str, Any] = {"casting": casting}
        if signature is not None:
            options["signature"] = signature
        found = ufunc.resolve_dtypes(given, **options)
        _RESOLVED[key] = found
    return found


def result_type(*operands: Any) -> np.dtype[Any]:
    """np.result_type of tracers, arrays, numbers and dtypes."""
    kinds: list[Any] = [x if isinstance(x, np.dtype) else kind_of(x) for x in operands]
    return np.result_type(*[_PYTHON[k] if k in _PYTHON else k for k in kinds])


def size_equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape, sizes known at run time included; ValueError as NumPy."""
    if len(shapes) == 2 and shapes[0] == shapes[1]:
        return shapes[0]
    rank = max((len(s) for s in shapes), default=0)
    found: list[Any] = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, rank - len(shape)):
            if found[k] == 1:
                found[k] = n
            elif n != 1 and not size_equal(n, found[k]):
                shown = " ".join(str(tuple(s)) for s in shapes)
                if isinstance(n, Dim) or isinstance(found[k], Dim):
                    raise TracingError(
                        f"operands with shapes {shown}: a size known only at run time (from a "
                        "boolean mask or np.nonzero) cannot be matched with "
                        f"{n if isinstance(found[k], Dim) else found[k]}. Index both arrays with "
                        "the same mask"
                    )
                raise ValueError(f"operands could not be broadcast together with shapes {shown}")
    return tuple(found)


def shape_of(x: Any) -> Shape:
    return x.shape if isinstance(x, Tracer | np.ndarray) else ()


def convert(x: Tracer, element: ScalarType) -> Tracer:
    """The same values in another element type."""
    if x.element == element:
        return strong(x)
    return apply("convert", x, dtype=element)


def strong(x: Tracer) -> Tracer:
    """The tracer without the weakness of a Python number."""
    if not x.weak and x.python is None:
        return x
    return Tracer(x.value, x.owner, is_scalar=x.is_scalar)


def broadcast_to(x: Tracer, shape: Shape) -> Tracer:
    """NumPy broadcasting to `shape`; ValueError as NumPy."""
    own = x.shape
    if own == tuple(shape):
        return x
    lead = len(shape) - len(own)
    if lead < 0 or any(a != 1 and not size_equal(a, b) for a, b in zip(own, shape[lead:])):
        raise ValueError(f"cannot broadcast an array of shape {own} to shape {tuple(shape)}")
    return build(lambda b, value: b.broadcast_to(value, shape), x)


def cast_number(x: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number or NumPy scalar as a Python number of `dtype`; OverflowError as NumPy."""
    element = from_numpy(dtype)
    if isinstance(x, int) and not isinstance(x, bool) and element.is_integer:
        info = np.iinfo(dtype)
        if not info.min <= x <= info.max:
            raise OverflowError(f"Python integer {x} out of bounds for {dtype.name}")
        return int(x)
    if is_number(x):
        return x
    with np.errstate(all="ignore"):
        return x.astype(dtype).item() if dtype.kind != "V" else float(x)


def typed(x: Any, dtype: np.dtype[Any] | ScalarType, shape: Shape | None = None) -> Tracer:
    """An operand as a tracer of `dtype`, broadcast to `shape` (default: its own)."""
    if isinstance(dtype, ScalarType):
        element, dtype = dtype, to_numpy(dtype)
    else:
        element = from_numpy(dtype)
    if not isinstance(x, Tracer):
        x = operand(x)
    if not isinstance(x, Tracer):
        return filled(cast_number(x, dtype), () if shape is None else shape, element)
    if x.weak and type(x.python) is int and element.is_integer and element not in (i32, i64):
        cast_number(x.known(), dtype)  # int arguments fit the other two
    found = convert(x, element)
    return found if shape is None else broadcast_to(found, shape)


def as_tracer(x: Any) -> Tracer:
    """Any operand as a tracer of its own dtype; Python numbers take NumPy's default dtypes."""
    x = operand(x)
    if not isinstance(x, Tracer):
        x = active_trace().lift(x)
    return strong(x)


def inexact(x: Tracer) -> Tracer:
    """Integers and bools as float64; floating and complex as they are."""
    return x if x.element.is_inexact else convert(x, from_numpy(np.dtype(np.float64)))
