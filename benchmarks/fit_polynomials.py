"""Fits the polynomials of passes/lower/polynomials; `python benchmarks/fit_polynomials.py` prints
coefficients.py there, with names as arguments a part of it.

Each is the minimax fit (Remez exchange, mpmath at 80 digits) of g(x) on an interval, where the
error is weighted so that it bounds the relative error of the whole function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 80


def remez(
    g: Callable[[Any], Any], weight: Callable[[Any], Any], low: Any, high: Any, degree: int
) -> tuple[list[Any], Any]:
    """Coefficients (lowest power first) and the largest weighted error."""
    low, high = mp.mpf(low), mp.mpf(high)
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]
    # Chebyshev points of a fine grid, so that the extrema at the ends are seen.
    steps = 24 * count
    grid = [middle - half * mp.cos(mp.pi * k / steps) for k in range(steps + 1)]
    values = [(g(x), weight(x)) for x in grid]
    coefficients: list[Any] = []
    worst = mp.mpf(0)
    for _ in range(12):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for i, x in enumerate(points):
            w = weight(x)
            for j in range(degree + 1):
                matrix[i, j] = w * x**j
            matrix[i, degree + 1] = (-1) ** i
            right[i] = w * g(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        level = abs(solution[degree + 1])
        errors = [
            w * (mp.polyval(coefficients[::-1], x) - v)
            for x, (v, w) in zip(grid, values, strict=True)
        ]
        runs: list[int] = []  # the largest error of each run of one sign
        for k, e in enumerate(errors):
            if runs and mp.sign(e) == mp.sign(errors[runs[-1]]):
                if abs(e) > abs(errors[runs[-1]]):
                    runs[-1] = k
            else:
                runs.append(k)
        while len(runs) > count:
            drop = 0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else len(runs) - 1
            runs.pop(drop)
        worst = max(abs(e) for e in errors)
        if len(runs) < count or worst < level * mp.mpf("1.0001"):
            break
        points = [grid[k] for k in runs]
    return coefficients, worst


@dataclass(frozen=True)
class Fit:
    """g fitted on [low, high] with the given degrees for (f64, f32); None: that type has none."""

    g: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    low: Any
    high: Any
    degrees: tuple[int | None, int | None]
    high_f32: Any = None


def series(terms: Callable[[int], Any], x: Any, first: int, step: int) -> Any:
    """sum of terms(k) x**(k - first) for k = first, first + step, ...; for |x| < 1."""
    total, k = mp.mpf(0), first
    while True:
        term = terms(k) * mp.mpf(x) ** (k - first)
        total += term
        if abs(term) < mp.mpf(10) ** -75 * (1 + abs(total)):
            return total
        k += step


def near_zero(exact: Callable[[Any], Any], limit: Any) -> Callable[[Any], Any]:
    """exact(x), by its value a little beside 0 for |x| < limit, where the formula cancels."""
    return lambda x: exact(x if abs(x) > mp.mpf(limit) else mp.mpf(limit))


LOG2 = mp.log(2)
HALF = LOG2 / 2 * mp.mpf("1.002")


def in_square(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of z = x**2 from one of x."""
    return lambda z: f(mp.sqrt(z))


TINY = mp.mpf(10) ** -25
SINE_END = (mp.pi / 4 * mp.mpf("1.01")) ** 2
ATAN_END = (mp.tan(mp.pi / 8) * mp.mpf("1.001")) ** 2

FITS: dict[str, Fit] = {
    # exp(r) = 1 + r + r**2 q(r)
    "exp": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, TINY),
        lambda r: HALF**2, -HALF, HALF, (9, 4),
    ),
    # expm1(r) = r + r**2 q(r)
    "expm1": Fit(
        near_zero(lambda r: (mp.expm1(r) - r) / r**2, TINY),
        lambda r: HALF, -HALF, HALF, (10, 5),
    ),
    # 2**r = 1 + r q(r)
    "exp2": Fit(
        near_zero(lambda r: mp.expm1(r * LOG2) / r, TINY),
        lambda r: mp.mpf("0.5"), mp.mpf("-0.501"), mp.mpf("0.501"), (10, 5),
    ),
    # the same for pow of f32, which computes in f64
    "exp2_pow_f32": Fit(
        near_zero(lambda r: mp.expm1(r * LOG2) / r, TINY),
        lambda r: mp.mpf("0.5"), mp.mpf("-0.501"), mp.mpf("0.501"), (6, None),
    ),
    # log2(m) = s q(z) with s = (m - 1) / (m + 1), z = s**2, for pow of f32
    "log2_pow_f32": Fit(
        in_square(near_zero(lambda s: 2 * mp.atanh(s) / s / LOG2, TINY)),
        lambda z: mp.mpf(1), 0, mp.mpf("0.02946"), (5, None),
    ),
    # log(1 + f) = f - f**2/2 + s (f**2/2 + z q(z)), s = f / (2 + f), z = s**2
    "log": Fit(
        in_square(near_zero(lambda s: (2 * mp.atanh(s) / s - 2) / s**2, TINY)),
        lambda z: z, 0, mp.mpf("0.02946"), (6, None),
    ),
    # log(1 + f) = f - f**2/2 + f**3 q(f)
    "log_direct": Fit(
        near_zero(lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, mp.mpf(10) ** -19),
        lambda f: f**2, mp.mpf("-0.2930"), mp.mpf("0.4143"), (None, 7),
    ),
    "sin": Fit(
        in_square(near_zero(lambda x: (mp.sin(x) / x - 1) / x**2, TINY)),
        lambda z: z, 0, SINE_END, (5, 2),
    ),
    # cos(x) = 1 - z/2 + z**2 q(z)
    "cos": Fit(
        in_square(near_zero(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4, mp.mpf(10) ** -17)),
        lambda z: z**2, 0, SINE_END, (5, 2),
    ),
    # asin(x) = x + x z q(z)
    "asin": Fit(
        in_square(near_zero(lambda x: (mp.asin(x) / x - 1) / x**2, TINY)),
        lambda z: z, 0, mp.mpf("0.25"), (12, 4),
    ),
    # atan(x) = x + x z q(z)
    "atan": Fit(
        in_square(near_zero(lambda x: (mp.atan(x) / x - 1) / x**2, TINY)),
        lambda z: z, 0, ATAN_END, (10, 4),
    ),
    # erf(x) = x + x q(x**2) for x < 1
    "erf_small": Fit(
        in_square(near_zero(lambda x: mp.erf(x) / x - 1, TINY)),
        lambda z: mp.mpf(1), 0, mp.mpf("1.0"), (11, 6),
    ),
    # erf(x) = 1 - exp(q(x)) for 1 <= x: absolute error of erf
    "erf_large": Fit(
        lambda x: mp.log(mp.erfc(x)),
        lambda x: mp.erfc(x), mp.mpf("0.995"), mp.mpf("5.95"), (17, 6),
    ),
    # (1 + 2 a) exp(a**2) erfc(a) in t = (a - 4) / (a + 4), for a < 28 (f64), a < 10.5 (f32)
    "erfc": Fit(
        lambda t: scaled_erfc(4 * (1 + t) / (1 - t)),
        lambda t: mp.mpf("0.8"), -1, mp.mpf("0.75"), (23, 11), mp.mpf("0.45"),
    ),
    # sinh(x) = x + x z q(z) for x < 1
    "sinh": Fit(
        in_square(near_zero(lambda x: (mp.sinh(x) / x - 1) / x**2, TINY)),
        lambda z: z, 0, 1, (6, 3),
    ),
    # tanh(x) = x + x z q(z) for x < 5/8
    "tanh": Fit(
        in_square(near_zero(lambda x: (mp.tanh(x) / x - 1) / x**2, TINY)),
        lambda z: z, 0, mp.mpf("0.391"), (10, 4),
    ),
    # m**(-1/3) on [sqrt(1/2), 4 sqrt(2)]
    "cbrt": Fit(
        lambda m: m ** (-mp.mpf(1) / 3), lambda m: m ** (mp.mpf(1) / 3),
        mp.mpf("0.7"), mp.mpf("5.7"), (5, 4),
    ),
    # 2 atanh(s) / s - 2 - 2/3 s**2 over s**4, for the logarithm of pow
    "pow_log": Fit(
        in_square(
            near_zero(lambda s: (2 * mp.atanh(s) / s - 2 - 2 * s**2 / 3) / s**4, mp.mpf(10) ** -17)
        ),
        lambda z: z**2, 0, mp.mpf("0.02946"), (6, None),
    ),
}  # fmt: skip


def scaled_erfc(a: Any) -> Any:
    return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)


HEADER = '''"""The fitted polynomials: coefficients from the highest power down, by type.

Printed by benchmarks/fit_polynomials.py, which says what each one approximates; the comments give
the largest error of the whole function that the fit causes, relative unless said otherwise there.
"""

from __future__ import annotations

from gradc.ir.types import ScalarType, f32, f64

Table = dict[ScalarType, tuple[float, ...]]
'''


def main(names: list[str]) -> None:
    """Print passes/lower/polynomials/coefficients.py, or the part of it for some names."""
    print(HEADER)
    for name in names or list(FITS):
        fit = FITS[name]
        print(f"{name.upper()}: Table = {{")
        for single, degree in zip((False, True), fit.degrees, strict=True):
            if degree is None:
                continue
            high = fit.high_f32 if single and fit.high_f32 is not None else fit.high
            coefficients, error = remez(fit.g, fit.weight, fit.low, high, degree)
            kind = np.float32 if single else np.float64
            print(f"    # 2**{mp.nstr(mp.log(error, 2), 4)}")
            print(f"    {'f32' if single else 'f64'}: (")
            for c in coefficients[::-1]:
                print(f"        {float(kind(float(c)))!r},")
            print("    ),")
        print("}")


if __name__ == "__main__":
    main(sys.argv[1:])
