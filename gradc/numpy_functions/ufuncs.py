"""NumPy's ufuncs on tracers: promotion by NumPy's own loops, then the operation from the registry.

An operation whose `evaluate` is the ufunc serves it (Op.numpy_names). `_LOOPS` holds the ufuncs, and loops of
ufuncs, that are written in several operations.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_shapes,
    is_number,
    kind_of,
    operand,
    resolve,
    shape_of,
    typed,
)  # fmt: skip
from gradc.frontend.table import METHODS, TABLE
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.frontend.unknown import unknown_function
from gradc.ir import ops  # noqa: F401  (registers the operations)
from gradc.ir.opdef import REGISTRY, Op
from gradc.ir.types import f32, f64, from_numpy, i1
from gradc.numpy_functions.axes import drop_axes, normal_axes

Emit = Callable[..., Any]
_COMPARISONS = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip
_OPS: dict[np.ufunc, type[Op]] = {}
_LOOPS: dict[np.ufunc, Emit] = {}  # emit(ufunc, *converted operands) -> result, or None: the op


def _registered() -> None:
    for cls in REGISTRY.values():
        for name in cls.numpy_names():
            module, _, own = name.rpartition(".")
            if module == "numpy" and isinstance(getattr(np, own, None), np.ufunc):
                _OPS[getattr(np, own)] = cls


_registered()


def call(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    signature: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    sig: Any = None,
) -> Any:
    """ufunc(*inputs): a tracer, or a tuple for ufuncs with several outputs."""
    if is_out(out):
        raise TracingError(
            f"np.{ufunc.__name__}(..., out=...) stores into an array: use the result instead, "
            f"`y = np.{ufunc.__name__}(...)`"
        )
    if where is not True:
        raise TracingError(
            f"np.{ufunc.__name__}(..., where=...) leaves elements undefined: write "
            f"np.where(condition, np.{ufunc.__name__}(...), other)"
        )
    if len(inputs) > ufunc.nin:
        raise TracingError(
            f"np.{ufunc.__name__}(..., out) stores into an array: use the result instead"
        )
    if len(inputs) < ufunc.nin:
        raise TypeError(
            f"{ufunc.__name__}() takes from {ufunc.nin} to {ufunc.nin + ufunc.nout} positional "
            f"arguments but {len(inputs)} were given"
        )
    operands = [operand(x) for x in inputs]
    if dtype is not None:
        signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    kinds = [kind_of(x) for x in operands]
    dtypes = resolve(ufunc, kinds, signature if signature is not None else sig, casting)
    return run(ufunc, operands, dtypes)


def run(ufunc: np.ufunc, operands: list[Any], dtypes: tuple[np.dtype[Any], ...]) -> Any:
    """The loop with these dtypes on the operands, broadcast together."""
    shape = broadcast_shapes(*map(shape_of, operands))
    special = _at_literal(ufunc, operands, dtypes, shape)
    if special is not None:
        return special
    converted = [typed(x, d, shape) for x, d in zip(operands, dtypes)]
    return emit(ufunc, converted, dtypes[ufunc.nin :])


def emit(ufunc: np.ufunc, converted: list[Tracer], outputs: Any) -> Any:
    """The operations of one loop, on operands of its input dtypes and of one shape."""
    loop = _LOOPS.get(ufunc)
    found = loop(ufunc, *converted) if loop is not None else None
    if found is None:
        cls = _OPS.get(ufunc)
        if cls is None:
            raise unknown_function(ufunc)
        found = apply(cls.mnemonic(), *converted)
    if isinstance(found, tuple):
        return tuple([typed(x, d) for x, d in zip(found, outputs)])
    if any(found is x for x in converted):
        found = Tracer(found.value, found.owner)  # +x is an array of its own
    return typed(found, outputs[0])


def _at_literal(ufunc: np.ufunc, operands: list[Any], dtypes: Any, shape: Any) -> Any:
    """What depends on a Python number among the operands; None in general."""
    numbers = [k for k, x in enumerate(operands) if is_number(x) and not isinstance(x, bool)]
    if len(numbers) != 1 or len(operands) != 2:
        return None
    (at,) = numbers
    number, element = operands[at], from_numpy(dtypes[at])
    if ufunc is np.maximum and number == 0 and element.is_floating:
        # ReLU: slope 0 at 0, unlike the ties of two arrays.
        return apply("relu", typed(operands[1 - at], dtypes[0]))
    if not (isinstance(number, int) and element.is_integer):
        return None
    if ufunc is np.power and at == 1 and number < 0 and element.kind == "i":
        raise ValueError("Integers to negative integer powers are not allowed.")
    compare = _COMPARISONS.get(ufunc)
    info = np.iinfo(dtypes[at])
    if compare is not None and not info.min <= number <= info.max:
        # Outside the dtype's range the number is on one side of every element.
        return filled(compare(0, number) if at == 1 else compare(number, 0), shape, i1)
    return None


# ------------------------------------------------------------------------ loops in several ops


def loop(*ufuncs: np.ufunc) -> Callable[[Emit], Emit]:
    def register(function: Emit) -> Emit:
        for ufunc in ufuncs:
            _LOOPS[ufunc] = function
        return function

    return register


@loop(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
def _logical(ufunc: Any, *xs: Tracer) -> Any:
    return apply(ufunc.__name__, *[typed(x, i1) for x in xs])


@loop(np.add)
def _add(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("logical_or", x, y) if x.element.is_bool else None


@loop(np.multiply)
def _multiply(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("logical_and", x, y) if x.element.is_bool else None


@loop(np.positive)
def _positive(ufunc: Any, x: Tracer) -> Any:
    return x


@loop(np.floor, np.ceil, np.trunc)
def _round(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_inexact else x


@loop(np.rint)
def _rint(ufunc: Any, x: Tracer) -> Any:
    if not x.element.is_complex:
        return None
    return apply("complex", *[apply("rint", apply(part, x)) for part in ("real", "imag")])


@loop(np.conjugate)
def _conjugate(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_complex else x


@loop(np.absolute)
def _absolute(ufunc: Any, x: Tracer) -> Any:
    return x if x.element.kind in "bu" else None


@loop(np.fabs)
def _fabs(ufunc: Any, x: Tracer) -> Any:
    return apply("abs", x)


@loop(np.isfinite, np.isnan, np.isinf)
def _predicate(ufunc: Any, x: Tracer) -> Any:
    return None if x.element.is_inexact else filled(ufunc is np.isfinite, x.shape, i1)


@loop(np.less, np.less_equal, np.greater, np.greater_equal)
def _ordered(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    name = {np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge"}[ufunc]
    if x.element.is_complex:
        # NumPy orders complex numbers by the real part, then by the imaginary part.
        strict = "lt" if name in ("lt", "le") else "gt"
        a, b = apply("real", x), apply("real", y)
        tied = apply(
            "logical_and", apply("eq", a, b), apply(name, apply("imag", x), apply("imag", y))
        )
        return apply("logical_or", apply(strict, a, b), tied)
    return _mixed_sign(name, x, y)


@loop(np.equal, np.not_equal)
def _equality(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return _mixed_sign("eq" if ufunc is np.equal else "ne", x, y)


def _mixed_sign(name: str, x: Tracer, y: Tracer) -> Any:
    """Comparison of int64 with uint64, which have no common integer type; None for other pairs."""
    if x.element == y.element:
        return None
    swapped = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(name, name)
    signed, unsigned, own = (x, y, name) if x.element.kind == "i" else (y, x, swapped)
    negative = apply("lt", signed, filled(0, signed.shape, signed.element))
    rest = apply(own, typed(signed, unsigned.element), unsigned)
    if own in ("lt", "le", "ne"):
        return apply("logical_or", negative, rest)
    return apply("logical_and", apply("logical_not", negative), rest)


@loop(np.maximum, np.minimum, np.fmax, np.fmin)
def _extremum(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    if x.element.is_complex:
        raise TracingError(
            f"np.{ufunc.__name__} of complex numbers has no rule: compare their real parts or moduli"
        )
    return None


@loop(np.reciprocal)
def _reciprocal(ufunc: Any, x: Tracer) -> Any:
    if x.element.is_inexact:
        return None
    one = filled(1, x.shape, x.element)
    # C's truncating 1 / x: zero but for 1 and -1.
    whole = apply("eq", x if x.element.kind == "u" else apply("abs", x), one)
    return apply("select", whole, x, filled(0, x.shape, x.element))


@loop(np.divmod)
def _divmod(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("floor_divide", x, y), apply("remainder", x, y)


@loop(np.modf)
def _modf(ufunc: Any, x: Tracer) -> Any:
    whole = apply("trunc", x)
    fraction = apply("sub", x, whole)
    infinite = apply("isinf", x)
    fraction = apply("select", infinite, filled(0, x.shape, x.element), fraction)
    return apply("copysign", fraction, x), whole


@loop(np.deg2rad, np.radians)
def _deg2rad(ufunc: Any, x: Tracer) -> Any:
    return apply("mul", x, filled(math.pi / 180.0, x.shape, x.element))


@loop(np.rad2deg, np.degrees)
def _rad2deg(ufunc: Any, x: Tracer) -> Any:
    return apply("mul", x, filled(180.0 / math.pi, x.shape, x.element))


@loop(np.float_power)
def _float_power(ufunc: Any, x: Tracer, y: Tracer) -> Any:
    return apply("power", x, y)


@loop(np.ldexp)
def _ldexp(ufunc: Any, x: Tracer, exponent: Tracer) -> Any:
    # In two halves: 2**exponent alone may overflow where the product does not.
    half = apply("right_shift", exponent, filled(1, exponent.shape, exponent.element))
    wide = f64 if x.element == f64 else f32
    found = typed(x, wide)
    for part in (half, apply("sub", exponent, half)):
        found = apply("mul", found, apply("exp2", typed(part, wide)))
    return found


# --------------------------------------------------------------------- the table, and methods

_GENERALIZED = frozenset((np.matmul, np.vecdot, np.matvec, np.vecmat) if hasattr(np, "matvec")
                         else (np.matmul, np.vecdot))  # fmt: skip


def _enter(ufunc: np.ufunc) -> None:
    def entry(*inputs: Any, **kwargs: Any) -> Any:
        return call(ufunc, *inputs, **kwargs)

    entry.__name__ = ufunc.__name__
    TABLE[ufunc] = entry


for _ufunc in list(vars(np).values()):  # not dir(np): that loads np.testing, np.f2py, ...
    if isinstance(_ufunc, np.ufunc) and _ufunc not in _GENERALIZED:
        if _ufunc in _OPS or _ufunc in _LOOPS:
            _enter(_ufunc)


_REDUCTIONS = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
    np.logical_and: np.all, np.logical_or: np.any,
}  # fmt: skip
_IDENTITY_FREE = (np.subtract, np.divide, np.power, np.floor_divide, np.remainder)


def method(ufunc: np.ufunc, name: str, *inputs: Any, **kwargs: Any) -> Any:
    """ufunc.reduce, .accumulate, .outer; .at and .reduceat are errors."""
    if name == "outer":
        a, b = (as_tracer(x) if not is_number(x) else x for x in inputs)
        if shape_of(b) and isinstance(a, Tracer):
            a = TABLE[np.reshape](a, (*a.shape, *[1] * len(shape_of(b))))
        return call(ufunc, a, b, **kwargs)
    if name == "at":
        raise TracingError(
            f"np.{ufunc.__name__}.at stores into an array: build the result with np.where, or with "
            "a sum over a one-hot array (indices[:, None] == np.arange(n))"
        )
    if name == "reduce":
        return _reduce(ufunc, *inputs, **kwargs)
    if name == "accumulate":
        return _accumulate(ufunc, *inputs, **kwargs)
    raise TracingError(
        f"np.{ufunc.__name__}.{name} has no rule for traced arrays: slice the array and use "
        f"np.{ufunc.__name__}.reduce on each part"
    )


METHODS["ufunc_method"] = method


def is_out(out: Any) -> bool:
    """Is an output array given?"""
    return out is not None and not (isinstance(out, tuple) and all(x is None for x in out))


def _no_out(out: Any, name: str) -> None:
    if is_out(out):
        raise TracingError(f"{name}(..., out=...) stores into an array: use the result instead")


def _reduce(ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
            keepdims: bool = False, initial: Any = np._NoValue, where: Any = True) -> Any:  # fmt: skip
    _no_out(out, f"np.{ufunc.__name__}.reduce")
    function = _REDUCTIONS.get(ufunc)
    given = {"keepdims": keepdims}
    if initial is not np._NoValue and initial is not None:
        given["initial"] = initial
    if where is not True:
        given["where"] = where
    if function is not None:
        if function in (np.sum, np.prod):
            given["dtype"] = dtype
        return TABLE[function](x, axis=axis, **given)
    if ufunc.nin != 2 or ufunc in _IDENTITY_FREE or where is not True:
        raise TracingError(
            f"np.{ufunc.__name__}.reduce has no rule for traced arrays: write the loop, or use a sum, "
            "product, maximum or minimum"
        )
    x = as_tracer(x)
    axes = normal_axes(axis, x.ndim)
    for k in reversed(axes):
        x = _halved(ufunc, x, k)
    if initial is not np._NoValue and initial is not None:
        x = call(ufunc, initial, x)
    return x if keepdims else drop_axes(x, axes)


def _halved(ufunc: Any, x: Tracer, axis: int) -> Tracer:
    """Reduce an axis to size 1 by joining halves (for associative ufuncs)."""
    n = x.static_shape(f"np.{ufunc.__name__}.reduce")[axis]
    if n == 0:
        if ufunc.identity is None:
            raise ValueError(
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
            )
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return filled(ufunc.identity, shape, x.element)
    lead = (slice(None),) * axis
    while n > 1:
        half = n // 2
        joined = call(ufunc, x[(*lead, slice(half))], x[(*lead, slice(half, 2 * half))])
        if n % 2:
            joined = TABLE[np.concatenate]([joined, x[(*lead, slice(n - 1, n))]], axis=axis)
        x, n = joined, half + n % 2
    return x


def _accumulate(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    _no_out(out, f"np.{ufunc.__name__}.accumulate")
    if ufunc in (np.add, np.multiply):
        function = np.cumsum if ufunc is np.add else np.cumprod
        return TABLE[function](x, axis=axis, dtype=dtype)
    if ufunc.nin != 2 or ufunc in _IDENTITY_FREE:
        raise TracingError(
            f"np.{ufunc.__name__}.accumulate has no rule for traced arrays: write the loop"
        )
    x = as_tracer(x)
    n = x.static_shape(f"np.{ufunc.__name__}.accumulate")[axis]
    lead = (slice(None),) * (axis % x.ndim)
    step = 1
    while step < n:  # each element joins with the one `step` before it: log2(n) rounds
        later = call(ufunc, x[(*lead, slice(n - step))], x[(*lead, slice(step, None))])
        x = TABLE[np.concatenate]([x[(*lead, slice(step))], later], axis=axis)
        step *= 2
    return x
