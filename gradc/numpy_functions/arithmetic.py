"""Arithmetic that NumPy writes in Python: differences, rounding, polynomials, complex parts ..."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_to,
    convert,
    inexact,
    is_number,
    operand,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.types import f64, from_numpy, i64
from gradc.numpy_functions.axes import normal_axes, normal_axis
from gradc.numpy_functions.operators import as_python
from gradc.numpy_functions.reductions import refuse_out
from gradc.numpy_functions.shaping import as_view


def _along(x: Tracer, axis: int, part: slice) -> Tracer:
    return x[(*[slice(None)] * axis, part)]


# ---------------------------------------------------------------------------------- rounding


@implements(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Tracer:
    """To `decimals` places, halves to even."""
    refuse_out(out, "round")
    x = as_tracer(a)
    digits = operator.index(decimals)
    if x.element.is_complex:
        return apply("complex", *[round_(apply(p, x), digits) for p in ("real", "imag")])
    if not x.element.is_floating:
        if digits >= 0 or x.element.is_bool:
            return convert(x, from_numpy(np.float16)) if x.element.is_bool else _fresh(x)
        return convert(round_(convert(x, f64), digits), x.element)
    if digits == 0:
        return apply("rint", x)
    scale = filled(10.0 ** abs(digits), x.shape, x.element)
    there, back = ("mul", "div") if digits > 0 else ("div", "mul")
    return apply(back, apply("rint", apply(there, x, scale)), scale)


def _fresh(x: Tracer) -> Tracer:
    """The same values under another name; a scalar where it has no axes."""
    return Tracer(x.value, x.owner)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Tracer:
    refuse_out(out, "fix")
    return TABLE[np.trunc](x)


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tracer:
    """NaN and the infinities replaced (by the largest finite numbers unless given)."""
    t = as_tracer(x)
    if t.element.is_complex:
        parts = [nan_to_num(apply(p, t), copy, nan, posinf, neginf) for p in ("real", "imag")]
        return apply("complex", *parts)
    if not t.element.is_floating:
        return _fresh(t)
    info = np.finfo(t.dtype)
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf
    for test, number in ((math.inf, high), (-math.inf, low)):
        hit = apply("eq", t, filled(test, t.shape, t.element))
        t = apply("select", hit, typed(number, t.element, t.shape), t)
    return apply("select", apply("isnan", t), typed(nan, t.element, t.shape), t)


# ----------------------------------------------------------------------------- complex parts


@implements(np.real)
def real(val: Any) -> Tracer:
    x = as_tracer(val)
    found = as_view(apply("real", x), val, ("real", None)) if x.element.is_complex else x
    return _part(found, val, operator.attrgetter("real"))


@implements(np.imag)
def imag(val: Any) -> Tracer:
    x = as_tracer(val)
    if x.element.is_complex:
        found = as_view(apply("imag", x), val, ("imag", None))
    else:
        found = filled(0, x.shape, x.element)
        found.is_scalar = x.is_scalar
    return _part(found, val, operator.attrgetter("imag"))


def _part(found: Tracer, val: Any, part: Any) -> Tracer:
    """Of a Python number the part is a Python number; of a bool an int."""
    if not (isinstance(val, Tracer) and val.weak):
        return found
    return as_python(convert(found, i64) if found.element.is_bool else found, part, [val])


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Tracer:
    x = as_tracer(z)
    if x.element.is_complex:
        found = apply("angle", x)
    else:
        x = inexact(x)
        # NumPy's arctan2(0, x): 0, or pi for negative numbers, -0.0 included.
        found = apply("arctan2", filled(0, x.shape, x.element), x)
    return found * (180 / math.pi) if deg else found


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Tracer:
    if as_tracer(a).element.is_complex:
        raise TracingError("np.real_if_close decides its dtype by the values: write np.real(x)")
    return TABLE[np.asarray](a)


@implements(np.isreal)
def isreal(x: Any) -> Tracer:
    return TABLE[np.equal](imag(x), 0)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Tracer:
    return TABLE[np.not_equal](imag(x), 0)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return as_tracer(x).element.is_complex


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not as_tracer(x).element.is_complex


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Tracer:
    refuse_out(out, "isposinf")
    return TABLE[np.equal](x, math.inf)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Tracer:
    refuse_out(out, "isneginf")
    return TABLE[np.equal](x, -math.inf)


# -------------------------------------------------------------------------------- functions


@implements(np.sinc)
def sinc(x: Any) -> Tracer:
    """sin(pi x) / (pi x), and 1 at 0 with slope 0."""
    t = inexact(as_tracer(x))
    zero = apply("eq", t, filled(0, t.shape, t.element))
    # Away from the quotient at 0, so that its slope is 0 there instead of NaN.
    safe = apply("select", zero, filled(1, t.shape, t.element), t)
    scaled = apply("mul", safe, filled(math.pi, t.shape, t.element))
    quotient = apply("div", apply("sin", scaled), scaled)
    return apply("select", zero, filled(1, t.shape, t.element), quotient)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> Tracer:
    """Phases without jumps of more than half a period."""
    x = inexact(as_tracer(p))
    k = normal_axis(axis, x.ndim)
    steps = diff(x, axis=k)
    half = period / 2
    wrapped = TABLE[np.subtract](TABLE[np.remainder](TABLE[np.add](steps, half), period), half)
    at_edge = (wrapped == -half) & (steps > 0)
    wrapped = TABLE[np.where](at_edge, half, wrapped)
    small = TABLE[np.absolute](steps) < (half if discont is None else max(discont, half))
    correction = TABLE[np.where](small, 0.0, TABLE[np.subtract](wrapped, steps))
    shift = TABLE[np.cumsum](correction, axis=k)
    return TABLE[np.concatenate](
        [_along(x, k, slice(1)), _along(x, k, slice(1, None)) + shift], axis=k
    )


@implements(np.cross, np.linalg.cross)
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Tracer:
    """Vector product of 3-vectors."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x = TABLE[np.moveaxis](as_tracer(a), axisa, -1)
    y = TABLE[np.moveaxis](as_tracer(b), axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x.shape[-1]} and {y.shape[-1]} dimensional instead."
        )
    (a1, a2, a3), (b1, b2, b3) = ([t[..., k] for k in range(3)] for t in (x, y))
    parts = [a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1]
    return TABLE[np.moveaxis](TABLE[np.stack](parts, axis=-1), -1, axisc)


# ------------------------------------------------------------------------------ differences


@implements(np.diff)
def diff(
    a: Any, n: Any = 1, axis: Any = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Tracer:
    x = as_tracer(a)
    times = operator.index(n)
    if times == 0:
        return x  # the array itself, as NumPy
    if times < 0:
        raise ValueError(f"order must be non-negative but got {times}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    k = normal_axis(axis, x.ndim)
    parts = [x]
    for given, front in ((prepend, True), (append, False)):
        if given is not np._NoValue:
            extra = as_tracer(given)
            if not extra.ndim:
                extra = broadcast_to(
                    extra, tuple(1 if d == k else m for d, m in enumerate(x.shape))
                )
            parts.insert(0 if front else len(parts), extra)
    if len(parts) > 1:
        x = TABLE[np.concatenate](parts, axis=k)
    minus = np.not_equal if x.element.is_bool else np.subtract
    for _ in range(times):
        x = TABLE[minus](_along(x, k, slice(1, None)), _along(x, k, slice(None, -1)))
    return x


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tracer:
    x = TABLE[np.ravel](as_tracer(ary))
    parts = [diff(x)]
    if to_begin is not None:
        parts.insert(0, typed(TABLE[np.ravel](as_tracer(to_begin)), x.element))
    if to_end is not None:
        parts.append(typed(TABLE[np.ravel](as_tracer(to_end)), x.element))
    return TABLE[np.concatenate](parts) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at the ends; spacing as numbers or coordinate arrays."""
    x = as_tracer(f)
    axes = tuple(range(x.ndim)) if axis is None else (
        tuple(normal_axis(k, x.ndim) for k in axis) if isinstance(axis, tuple | list)
        else normal_axes(axis, x.ndim)
    )  # fmt: skip
    spacing = list(varargs) or [1.0]
    if len(spacing) == 1:
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    x = inexact(x)
    found = tuple(
        convert(_gradient(x, k, operand(h), edge_order), x.element) for k, h in zip(axes, spacing)
    )
    return found[0] if len(found) == 1 else found


def _gradient(x: Tracer, k: int, h: Any, edge_order: int) -> Tracer:
    n = x.static_shape("np.gradient")[k]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) "
            "elements are required."
        )

    def at(a: Any, b: Any) -> Tracer:
        return _along(x, k, slice(a, b))

    if is_number(h) or not getattr(h, "ndim", 0):
        middle = (at(2, None) - at(None, -2)) / (2.0 * h)
        if edge_order == 1:
            ends = (at(1, 2) - at(0, 1)) / h, (at(-1, None) - at(-2, -1)) / h
        else:
            ends = (
                (-1.5 * at(0, 1) + 2.0 * at(1, 2) - 0.5 * at(2, 3)) / h,
                (0.5 * at(-3, -2) - 2.0 * at(-2, -1) + 1.5 * at(-1, None)) / h,
            )
        return TABLE[np.concatenate]([ends[0], middle, ends[1]], axis=k)
    if h.ndim != 1 or h.shape[0] != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    gaps = TABLE[np.reshape](diff(h), tuple(n - 1 if d == k else 1 for d in range(x.ndim)))

    def gap(a: Any, b: Any) -> Tracer:
        return _along(gaps, k, slice(a, b))

    a, b = gap(None, -1), gap(1, None)
    left, right = -b / (a * (a + b)), a / (b * (a + b))
    middle = left * at(None, -2) + (b - a) / (a * b) * at(1, -1) + right * at(2, None)
    if edge_order == 1:
        ends = (at(1, 2) - at(0, 1)) / gap(0, 1), (at(-1, None) - at(-2, -1)) / gap(-1, None)
    else:
        p, q = gap(0, 1), gap(1, 2)
        first = -(2.0 * p + q) / (p * (p + q)) * at(0, 1) + (p + q) / (p * q) * at(1, 2)
        first = first - p / (q * (p + q)) * at(2, 3)
        p, q = gap(-2, -1), gap(-1, None)
        last = q / (p * (p + q)) * at(-3, -2) - (q + p) / (p * q) * at(-2, -1)
        ends = first, last + (2.0 * q + p) / (q * (p + q)) * at(-1, None)
    return TABLE[np.concatenate]([ends[0], middle, ends[1]], axis=k)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Tracer:
    """Integral by the trapezoidal rule."""
    t = as_tracer(y)
    k = normal_axis(axis, t.ndim)
    if x is None:
        width: Any = operand(dx)
    else:
        places = as_tracer(x)
        if places.ndim == 1:
            width = TABLE[np.reshape](
                diff(places), tuple(-1 if d == k else 1 for d in range(t.ndim))
            )
        else:
            width = diff(places, axis=k)
    pairs = TABLE[np.add](_along(t, k, slice(1, None)), _along(t, k, slice(None, -1)))
    return TABLE[np.sum](TABLE[np.true_divide](TABLE[np.multiply](width, pairs), 2.0), axis=k)


# ------------------------------------------------------------------------------- polynomials


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Tracer:
    """Horner's rule; coefficients from the highest power down."""
    coefficients = as_tracer(p)
    t = as_tracer(x)
    found = TABLE[np.zeros_like](t)
    for k in range(len(coefficients)):
        found = TABLE[np.add](TABLE[np.multiply](found, t), coefficients[k])
    return found


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Tracer:
    c = as_tracer(p)
    for _ in range(operator.index(m)):
        n = len(c)
        c = TABLE[np.multiply](c[:-1], np.arange(n - 1, 0, -1))
    return c
