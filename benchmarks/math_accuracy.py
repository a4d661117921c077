"""Prints the table of docs/math-accuracy.md: `python benchmarks/math_accuracy.py [FUNCTION...]`.

Largest error of compiled elementwise functions in units of the last place, against NumPy's long
double (80 bits on x86-64; erf and erfc against mpmath), over up to 10**6 arguments of each,
and nanoseconds an element on one thread, against NumPy's and SciPy's own, over 10**5 elements.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import scipy.special

import gradc
from gradc.runtime.threads import set_num_threads

UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh"
    " arccosh arctanh cbrt erf erfc"
).split()
BINARY = ("arctan2", "power", "hypot")


def function(name: str) -> Callable[..., Any]:
    return getattr(scipy.special if name.startswith("erf") else np, name)


def exact(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    if not name.startswith("erf"):
        return function(name)(*(x.astype(np.longdouble) for x in arrays))
    with mpmath.workprec(100):
        f = getattr(mpmath, name)
        return np.array(
            [np.longdouble(mpmath.nstr(f(mpmath.mpf(float(v))), 25)) for v in arrays[0]]
        )


def errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(want)
    unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    return np.abs(got.astype(np.longdouble) - want) / unit


def arguments(name: str, dtype: Any, count: int) -> list[np.ndarray]:
    """Near 0 and 1, moderate, and of every magnitude that the function takes without overflow."""
    rng = np.random.default_rng(0)
    double = dtype is np.float64
    decades = 300 if double else 37
    third = count // 3
    if name.startswith("erf"):
        return [rng.uniform(-6, 26 if double else 9, 10000).astype(dtype)]
    if name == "power":
        x = [rng.uniform(0, 4, third), 1 + rng.normal(size=third) * 1e-3]
        y = [rng.normal(size=third) * 30, rng.normal(size=third) * (3e5 if double else 4e4)]
        return [np.concatenate(v).astype(dtype) for v in (x, y)]
    if name in BINARY:
        pairs = [rng.normal(size=count), rng.normal(size=count)]
        return [(v * 10.0 ** rng.uniform(-5, 5, count)).astype(dtype) for v in pairs]
    if name in ("arcsin", "arccos", "arctanh"):
        x = [rng.uniform(-1, 1, third), 1 - 2.0 ** rng.uniform(-20, 0, third)]
    elif name in ("exp", "expm1", "sinh", "cosh", "tanh", "exp2"):
        limit = 700 if double else 87
        x = [rng.uniform(-limit, limit, third), rng.uniform(-2, 2, third)]
    else:
        wide = rng.choice([-1, 1], third) * 10.0 ** rng.uniform(-decades, decades, third)
        x = [rng.uniform(-10, 10, third), wide, 1 + rng.normal(size=third) * 0.2]
    values = np.concatenate(x).astype(dtype)
    if name.startswith("log") or name == "arccosh":
        values = np.abs(values) + (1 if name == "arccosh" else 0)
    return [values.astype(dtype)]


def best(call: Callable[..., Any], arrays: list[np.ndarray]) -> float:
    """Nanoseconds an element, the best of several runs."""
    seconds = []
    for _ in range(9):
        start = time.perf_counter()
        call(*arrays)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / len(arrays[0]) * 1e9


def main(names: list[str]) -> None:
    set_num_threads(1)
    print("| function | f64 ulp | f32 ulp | f64 ns | NumPy ns | f32 ns | NumPy ns |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names or [*UNARY, *BINARY]:
        worst, times = [], []
        for dtype in (np.float64, np.float32):
            arrays = arguments(name, dtype, 10**6)
            compiled = gradc.compile(function(name))
            with np.errstate(all="ignore"):
                want, got = exact(name, arrays), np.asarray(compiled(*arrays))
                ordinary = np.isfinite(want.astype(dtype))
                worst.append(float(np.max(errors(got, want)[ordinary])))
                short = [x[:100000] for x in arrays]
                compiled(*short)
                times += [best(compiled, short), best(function(name), short)]
        shown = " | ".join(f"{t:.2f}" for t in times)
        print(f"| {name} | {worst[0]:.2f} | {worst[1]:.2f} | {shown} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
