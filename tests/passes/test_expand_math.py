"""The polynomial expansions against mpmath or NumPy's long double, in ulp."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable

import mpmath
import numpy as np
import pytest
from scalar_programs import compiled, interpret, loop_function, native

from gradc.ir.ops import math
from gradc.ir.printer import print_module
from gradc.ir.types import f32, f64, from_numpy
from gradc.passes.lower.expand_math import EXPANSIONS

TYPES = [np.float64, np.float32]
# The long double of x86-64 has 11 bits more than f64; elsewhere only f32 is compared in this way.
LONG = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant
LIMITS = {"power": 4.0}

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh, "cbrt": np.cbrt, "arctan2": np.arctan2, "power": np.power,
    "hypot": np.hypot,
}  # fmt: skip


def apply(name):
    return lambda s, *xs: getattr(s, name)(*xs)


def errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of the wanted value; infinite where a special value
    differs. Results that round the wanted value correctly count at most 1/2."""
    info = np.finfo(got.dtype)
    wide = want.astype(np.longdouble)
    with np.errstate(over="ignore"):
        rounded = want.astype(got.dtype)
    _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 1))
    unit = np.ldexp(np.longdouble(1), np.maximum(exponent - 1, info.minexp) - info.nmant)
    with np.errstate(invalid="ignore"):
        distance = np.abs(got.astype(np.longdouble) - wide) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    distance = np.where(same, np.where(np.isfinite(rounded), np.fmin(distance, 0.5), 0), distance)
    return np.where(np.isnan(distance), np.inf, distance)


def specials(dtype: type) -> list[float]:
    info = np.finfo(dtype)
    values = [0.0, 1.0, np.inf, info.max, info.tiny, info.smallest_subnormal, 0.5, 2.0, 1e-9, 3.0]
    return [*values, *(-v for v in values), np.nan]


def arguments(name: str, dtype: type, count: int = 20000) -> np.ndarray:
    """Dense samples of the range, every magnitude, the function's own places, and specials."""
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    double = dtype is np.float64
    smallest, largest = np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)) - 1e-5
    sign = rng.choice([-1, 1], count)
    parts = [rng.uniform(-1, 1, count), rng.uniform(-4, 4, count), rng.uniform(-20, 20, count)]
    parts.append(sign * 2.0 ** rng.uniform(smallest, largest, count))
    parts.append(sign * 2.0 ** rng.uniform(-30, 30, count))
    if name in ("exp", "expm1", "sinh", "cosh", "tanh", "exp2"):
        low, high = (-1080, 1030) if double else (-155, 132)
        scale = 1 if name == "exp2" else np.log(2)
        parts.append(rng.uniform(low, high, count) * scale)
    if name in ("log", "log2", "log10", "arccosh"):
        parts += [1 + rng.uniform(-d, d, count) for d in (0.6, 1e-3, 1e-7)]
        parts.append(2.0 ** rng.uniform(smallest, largest, count))
    if name == "log1p":
        parts += [rng.uniform(-1, 0, count), -1 + 2.0 ** rng.uniform(-30, 0, count)]
    if name in ("sin", "cos", "tan"):
        parts.append(rng.integers(-(10**6), 10**6, count) * (np.pi / 2))
        parts.append(rng.uniform(-1e4, 1e4, count))
    if name in ("arcsin", "arccos", "arctanh"):
        parts += [sign * (1 - 2.0 ** rng.uniform(-40, 0, count)), rng.uniform(-0.55, 0.55, count)]
    with np.errstate(over="ignore"):
        return np.concatenate([*parts, specials(dtype)]).astype(dtype)


def check(name: str, got: np.ndarray, want: np.ndarray, *arrays: np.ndarray) -> None:
    distance = errors(got, want)
    worst = int(np.argmax(distance))
    at = ", ".join(repr(x[worst]) for x in arrays)
    limit = LIMITS.get(name, 2.0)
    assert distance[worst] <= limit, f"{name}({at}): {distance[worst]:.3g} ulp, got {got[worst]!r}"
    with np.errstate(over="ignore"):
        rounded = want.astype(got.dtype)
    differs = (np.signbit(got) != np.signbit(rounded)) & ~np.isnan(rounded)
    assert not differs.any(), f"sign of {name} at {[x[differs][:3] for x in arrays]}"


def reference(name: str, *arrays: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return NUMPY[name](*(x.astype(np.longdouble) for x in arrays))


def test_every_expansion_is_checked():
    names = {"ASin": "arcsin", "ACos": "arccos", "ATan": "arctan", "ATan2": "arctan2"}
    names |= {"ASinh": "arcsinh", "ACosh": "arccosh", "ATanh": "arctanh", "PowF": "power"}
    expanded = {names.get(cls.__name__, cls.__name__.lower()) for cls in EXPANSIONS}
    assert expanded == {*NUMPY, "erf", "erfc"} - {"hypot"}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [n for n in NUMPY if n not in ("arctan2", "power", "hypot")])
def test_accuracy(name, dtype):
    if dtype is np.float64 and not LONG:
        pytest.skip("no type wider than f64 to compare with")
    x = arguments(name, dtype)
    want = reference(name, x)
    check(name, native(apply(name), x), want, x)
    check(name, interpret(apply(name), x, expand=True), want, x)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["arctan2", "power", "hypot"])
def test_accuracy_of_two_arguments(name, dtype):
    if dtype is np.float64 and not LONG:
        pytest.skip("no type wider than f64 to compare with")
    rng = np.random.default_rng(2)
    count = 20000
    double = dtype is np.float64
    decades = 300 if double else 36
    wide = [10.0 ** rng.uniform(-decades, decades, count) for _ in range(2)]
    xs, ys = [rng.normal(size=count), wide[0]], [rng.normal(size=count), wide[1]]
    if name == "power":
        xs = [rng.uniform(0, 4, count), wide[0], 1 + rng.normal(size=count) * 1e-3]
        ys = [rng.normal(size=count) * 30, rng.normal(size=count) * 2]
        ys.append(rng.normal(size=count) * (3e5 if double else 4e4))
        xs.append(-rng.uniform(0, 4, count))
        ys.append(rng.integers(-20, 20, count))
    x, y = np.meshgrid(specials(dtype), specials(dtype))
    x = np.concatenate([*xs, x.ravel()]).astype(dtype)
    y = np.concatenate([*ys, y.ravel()]).astype(dtype)
    want = reference(name, x, y)
    check(name, native(apply(name), x, y), want, x, y)
    check(name, interpret(apply(name), x, y, expand=True), want, x, y)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_accuracy_of_error_functions(name, dtype):
    rng = np.random.default_rng(3)
    high = 28 if dtype is np.float64 else 11
    parts = [rng.uniform(-7, high, 1500), rng.uniform(-1.1, 1.1, 1000)]
    parts += [rng.uniform(high - 3, high, 300), 2.0 ** rng.uniform(-60, 2, 300)]
    x = np.concatenate([*parts, [5e-324, 0.0]]).astype(dtype)
    function = getattr(mpmath, name)
    with mpmath.workprec(100):
        exact = [mpmath.nstr(function(mpmath.mpf(float(v))), 25) for v in x]
    want = np.array([np.longdouble(v) for v in exact])
    check(name, native(apply(name), x), want, x)
    check(name, interpret(apply(name), x, expand=True), want, x)
    ends = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30, -0.0], dtype)
    limits = {"erf": [1, -1, np.nan, 1, -1, -0.0], "erfc": [0, 2, np.nan, 0, 2, 1]}[name]
    check(name, native(apply(name), ends), np.array(limits, np.longdouble), ends)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, dtype):
    """Where the reduction changes, and numbers very close to multiples of pi/2."""
    rng = np.random.default_rng(4)
    top = 1023.9 if dtype is np.float64 else 127.9
    edges = 45 + 53 * np.arange(19) if dtype is np.float64 else np.array([45, 74, 103])
    # The f64 closest to a multiple of pi/2 (J.-M. Muller, Elementary Functions).
    worst = [6381956970095103.0 * 2.0**797] if dtype is np.float64 else [16367173.0 * 2.0**72]
    edges = np.concatenate(
        [np.nextafter(dtype(2.0) ** edges, dtype(0)), 2.0 ** edges.astype(float)]
    )
    x = np.concatenate([worst, edges, 2.0 ** rng.uniform(40, top, 1500)]).astype(dtype)
    x = np.concatenate([x, -x])
    function = getattr(mpmath, name)
    with mpmath.workprec(1300):
        exact = [mpmath.nstr(function(mpmath.mpf(float(v))), 25) for v in x]
    want = np.array([np.longdouble(v) for v in exact])
    check(name, native(apply(name), x), want, x)
    check(name, interpret(apply(name), x, expand=True), want, x)


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sin", "erf"])
def test_half_precision_rounds_the_f32_result(name):
    x = np.linspace(-8, 8, 1001).astype(np.float16)
    with np.errstate(all="ignore"):
        want = native(apply(name), x.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(native(apply(name), x), want)


def test_nothing_is_left_to_the_library():
    for cls in EXPANSIONS:
        name = {math.PowF: "power", math.ATan2: "arctan2"}.get(cls, cls.__name__.lower())
        name = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
                "acosh": "arccosh", "atanh": "arctanh"}.get(name, name)  # fmt: skip
        count = 2 if cls in (math.PowF, math.ATan2) else 1
        for dtype in (f32, f64):
            function, _ = loop_function(apply(name), [dtype] * count, 64)
            assert not any(type(op) in EXPANSIONS for op in function.walk())


def test_numbers_of_any_length_give_the_same_results():
    """The scalar rest of a vector loop computes what its vector body does."""
    x = np.random.default_rng(0).normal(size=67)
    run = compiled(apply("tanh"), [from_numpy(x.dtype)], 67)
    whole = run(x)
    for k in range(67):
        assert native(apply("tanh"), x[k : k + 1])[0] == whole[k]


@pytest.mark.skipif(shutil.which("mlir-opt-22") is None, reason="mlir-opt is not installed")
def test_mlir_reads_the_expansions():
    function, _ = loop_function(lambda s, x, y: s.power(s.sin(x), y), [f32, f32], 64)
    done = subprocess.run(
        ["mlir-opt-22", "--allow-unregistered-dialect"],
        input=print_module(function), text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
