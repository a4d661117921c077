"""scipy.special on tracers. SciPy loads when the traced function uses it, not before."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gradc.frontend.location import TracingError
from gradc.frontend.promotion import (
    as_tracer,
    broadcast_shapes,
    inexact,
    kind_of,
    operand,
    resolve,
    shape_of,
    typed,
)  # fmt: skip
from gradc.frontend.table import TABLE, implements
from gradc.frontend.trace import apply, build, filled
from gradc.frontend.tracer import Tracer
from gradc.ir.opdef import REGISTRY
from gradc.ir.ops.composite import logsumexp as joined_logsumexp
from gradc.numpy_functions.axes import drop_axes, keep_axes, normal_axes
from gradc.numpy_functions.reductions import max_, sum_
from gradc.numpy_functions.ufuncs import is_out

Emit = Callable[..., Tracer]


def _ufunc(name: str, emit: Emit) -> None:
    """Register a ufunc of scipy.special: NumPy resolves its loop, emit runs it."""

    def entry(*inputs: Any, out: Any = None, where: Any = True, **options: Any) -> Tracer:
        if is_out(out) or where is not True:
            raise TracingError(
                f"scipy.special.{name} with out= or where= stores into an array: use the result "
                "and np.where"
            )
        ufunc = getattr(sys.modules["scipy.special"], name)
        operands = [operand(x) for x in inputs]
        if len(operands) != ufunc.nin:
            raise TypeError(f"{name}() takes {ufunc.nin} arguments but {len(operands)} were given")
        dtypes = resolve(ufunc, [kind_of(x) for x in operands])
        if dtypes[0].kind == "g" or dtypes[0].itemsize > 16:
            dtypes = tuple(np.dtype(np.float64) for _ in dtypes)
        shape = broadcast_shapes(*map(shape_of, operands))
        return emit(*[typed(x, d, shape) for x, d in zip(operands, dtypes)])

    entry.__name__ = name
    implements(f"scipy.special.{name}")(entry)


def _from_registry() -> None:
    for cls in REGISTRY.values():
        for dotted in cls.numpy_names():
            module, _, name = dotted.rpartition(".")
            if module == "scipy.special":
                _ufunc(name, partial(apply, cls.mnemonic()))


_from_registry()


def special(name: str) -> Callable[[Emit], Emit]:
    def register(emit: Emit) -> Emit:
        _ufunc(name, emit)
        return emit

    return register


def number(value: float, like: Tracer) -> Tracer:
    return filled(value, like.shape, like.element)


def _guarded(condition: Tracer, value: float, x: Tracer) -> Tracer:
    """x with `value` where the condition holds, so that no slope there is infinite."""
    return apply("select", condition, number(value, x), x)


# ------------------------------------------------------------------------- x log y and kin


@special("xlogy")
def xlogy(x: Tracer, y: Tracer) -> Tracer:
    """x log(y), and 0 where x is 0 and y is not NaN."""
    return _times_log(x, y, "log")


@special("xlog1py")
def xlog1py(x: Tracer, y: Tracer) -> Tracer:
    """x log(1 + y), and 0 where x is 0 and y is not NaN."""
    return _times_log(x, y, "log1p")


def _times_log(x: Tracer, y: Tracer, log: str) -> Tracer:
    off = apply(
        "logical_and", apply("eq", x, number(0, x)), apply("logical_not", apply("isnan", y))
    )
    safe = _guarded(off, 1.0 if log == "log" else 0.0, y)
    return apply("select", off, number(0, x), apply("mul", x, apply(log, safe)))


@special("entr")
def entr(x: Tracer) -> Tracer:
    """-x log(x); 0 at 0 and -inf below."""
    positive = apply("logical_or", apply("gt", x, number(0, x)), apply("isnan", x))
    safe = apply("select", positive, x, number(1, x))
    found = apply("neg", apply("mul", safe, apply("log", safe)))
    zero = apply("eq", x, number(0, x))
    rest = apply("select", zero, number(0, x), number(-math.inf, x))
    return apply("select", positive, found, rest)


def _entropy_domain(x: Tracer, y: Tracer) -> tuple[Tracer, Tracer]:
    """Where x log(x / y) is defined (or NaN), and the edge x = 0, y >= 0, where it is 0."""
    zero = number(0, x)
    both = apply("logical_and", apply("gt", x, zero), apply("gt", y, zero))
    nan = apply("logical_or", apply("isnan", x), apply("isnan", y))
    edge = apply("logical_and", apply("eq", x, zero), apply("ge", y, zero))
    return apply("logical_or", both, nan), edge


@special("rel_entr")
def rel_entr(x: Tracer, y: Tracer) -> Tracer:
    """x log(x / y) for positive x and y; 0 at x = 0 with y >= 0; else inf."""
    live, edge = _entropy_domain(x, y)
    a, b = apply("select", live, x, number(1, x)), apply("select", live, y, number(1, y))
    found = apply("mul", a, apply("log", apply("div", a, b)))
    return apply("select", live, found, apply("select", edge, number(0, x), number(math.inf, x)))


@special("kl_div")
def kl_div(x: Tracer, y: Tracer) -> Tracer:
    """rel_entr(x, y) - x + y, and inf where rel_entr is not defined."""
    live, edge = _entropy_domain(x, y)
    found = apply("add", apply("sub", rel_entr(x, y), x), y)
    return apply("select", apply("logical_or", live, edge), found, number(math.inf, x))


@special("logit")
def logit(x: Tracer) -> Tracer:
    """log(x / (1 - x))."""
    return apply("sub", apply("log", x), apply("log1p", apply("neg", x)))


@special("log_expit")
def log_expit(x: Tracer) -> Tracer:
    """log(1 / (1 + exp(-x)))."""
    return apply("neg", apply("softplus", apply("neg", x)))


# ------------------------------------------------------------------------------- elementary


@special("exp10")
def exp10(x: Tracer) -> Tracer:
    return apply("power", number(10, x), x)


@special("exp2")
def exp2(x: Tracer) -> Tracer:
    return apply("exp2", x)


@special("expm1")
def expm1(x: Tracer) -> Tracer:
    return apply("expm1", x)


@special("log1p")
def log1p(x: Tracer) -> Tracer:
    return apply("log1p", x)


@special("cbrt")
def cbrt(x: Tracer) -> Tracer:
    return apply("cbrt", x)


@special("cosm1")
def cosm1(x: Tracer) -> Tracer:
    """cos(x) - 1, as -2 sin(x / 2)^2."""
    half = apply("sin", apply("mul", x, number(0.5, x)))
    return apply("mul", apply("square", half), number(-2, x))


@special("exprel")
def exprel(x: Tracer) -> Tracer:
    """(exp(x) - 1) / x; 1 + x / 2 near 0, where the quotient loses its slope."""
    near = apply("lt", apply("abs", x), number(1e-5, x))
    safe = apply("select", near, number(1, x), x)
    half = apply("mul", x, number(0.5, x))
    sixth = apply("mul", apply("square", x), number(1 / 6, x))
    series = apply("add", apply("add", number(1, x), half), sixth)
    found = apply("select", near, series, apply("div", apply("expm1", safe), safe))
    infinite = apply("eq", x, number(math.inf, x))
    return apply("select", infinite, x, found)


@special("radian")
def radian(d: Tracer, m: Tracer, s: Tracer) -> Tracer:
    """Degrees, minutes, seconds to radians."""
    minutes = apply("add", m, apply("div", s, number(60, s)))
    degrees = apply("add", d, apply("div", minutes, number(60, m)))
    return apply("mul", degrees, number(math.pi / 180, d))


@special("ndtr")
def ndtr(x: Tracer) -> Tracer:
    """The normal distribution function, erfc(-x / sqrt 2) / 2."""
    scaled = apply("mul", x, number(-math.sqrt(0.5), x))
    return apply("mul", apply("erfc", scaled), number(0.5, x))


@special("boxcox")
def boxcox(x: Tracer, lmbda: Tracer) -> Tracer:
    """(x**lmbda - 1) / lmbda, and log(x) at lmbda = 0."""
    zero = apply("eq", lmbda, number(0, lmbda))
    safe = _guarded(zero, 1.0, lmbda)
    log = apply("log", x)
    power = apply("div", apply("expm1", apply("mul", safe, log)), safe)
    return apply("select", zero, log, power)


@special("huber")
def huber(delta: Tracer, r: Tracer) -> Tracer:
    """r^2 / 2 up to |r| = delta, then delta (|r| - delta / 2); inf for negative delta."""
    size = apply("abs", r)
    half = number(0.5, r)
    inner = apply("mul", apply("square", r), half)
    outer = apply("mul", delta, apply("sub", size, apply("mul", delta, half)))
    found = apply("select", apply("le", size, delta), inner, outer)
    return apply("select", apply("lt", delta, number(0, r)), number(math.inf, r), found)


@special("pseudo_huber")
def pseudo_huber(delta: Tracer, r: Tracer) -> Tracer:
    """delta^2 (sqrt(1 + (r / delta)^2) - 1); 0 for delta = 0 and inf for a negative one."""
    zero = apply("eq", delta, number(0, delta))
    safe = _guarded(zero, 1.0, delta)
    v = apply("div", r, safe)
    root = apply("sub", apply("hypot", number(1, v), v), number(1, v))
    found = apply("mul", apply("square", safe), root)
    found = apply("select", zero, number(0, found), found)
    return apply("select", apply("lt", delta, number(0, r)), number(math.inf, r), found)


# ---------------------------------------------------------------------------- over an axis


def _joined_axes(x: Tracer, axis: Any) -> tuple[int, ...]:
    return normal_axes(axis, x.ndim)


@implements("scipy.special.logsumexp")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False,
              return_sign: bool = False) -> Any:  # fmt: skip
    """log(sum(b exp(a))) without overflow."""
    x = inexact(as_tracer(a))
    if x.element.is_complex:
        raise TracingError(
            "scipy.special.logsumexp of complex numbers has no rule: write "
            "np.log(np.sum(np.exp(x)))"
        )
    if b is None and not return_sign:
        if not x.ndim:
            return Tracer(x.value, x.owner)
        axes = _joined_axes(x, axis)
        found = build(lambda builder, v: joined_logsumexp(builder, v, axes), x)
        return keep_axes(found, axes) if keepdims else found
    weights = number(1, x) if b is None else as_tracer(b)
    shape = broadcast_shapes(x.shape, weights.shape)
    dtype = np.result_type(x.dtype, weights.dtype) if weights.element.is_inexact else x.dtype
    x, weights = typed(x, dtype, shape), typed(weights, dtype, shape)
    axes = _joined_axes(x, axis)
    off = apply("eq", weights, number(0, weights))
    shown = apply("select", off, number(-math.inf, x), x)
    top = apply("stop_gradient", max_(shown, axes, keepdims=True))
    top = apply("select", apply("isfinite", top), top, number(0, top))
    scaled = TABLE[np.exp](TABLE[np.subtract](shown, top))
    total = sum_(apply("mul", weights, scaled), axes, keepdims=True)
    sign = apply("sign", total)
    size = apply("abs", total) if return_sign else total
    found = apply("add", apply("log", size), top)
    results = (found, sign) if keepdims else (drop_axes(found, axes), drop_axes(sign, axes))
    return results if return_sign else results[0]


def _shifted(x: Any, axis: Any) -> tuple[Tracer, tuple[int, ...]]:
    """x - max(x), the maximum a constant for the chain rule."""
    t = inexact(as_tracer(x))
    axes = _joined_axes(t, axis)
    top = apply("stop_gradient", max_(t, axes, keepdims=True))
    return TABLE[np.subtract](t, top), axes


@implements("scipy.special.softmax")
def softmax(x: Any, axis: Any = None) -> Tracer:
    shifted, axes = _shifted(x, axis)
    powers = apply("exp", shifted)
    return TABLE[np.true_divide](powers, sum_(powers, axes, keepdims=True))


@implements("scipy.special.log_softmax")
def log_softmax(x: Any, axis: Any = None) -> Tracer:
    t = inexact(as_tracer(x))
    axes = _joined_axes(t, axis)
    top = apply("stop_gradient", max_(t, axes, keepdims=True))
    top = apply("select", apply("isfinite", top), top, number(0, top))
    shifted = TABLE[np.subtract](t, top)
    return TABLE[np.subtract](
        shifted, apply("log", sum_(apply("exp", shifted), axes, keepdims=True))
    )
