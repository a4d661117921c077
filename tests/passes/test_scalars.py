"""Every operation of the scalar builder against NumPy, at the awkward points too."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from scalar_programs import interpret, native

from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.types import from_numpy
from gradc.passes.lower.scalars import OPERATIONS

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEXES = ["complex64", "complex128"]

NUMPY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "fmod": np.fmod, "abs": np.abs,
    "sign": np.sign, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "fmin": np.fmin, "hypot": np.hypot, "logaddexp": np.logaddexp, "arctan2": np.arctan2,
    "power": np.power, "copysign": np.copysign, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "logical_not": np.logical_not, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor, "invert": np.invert, "left_shift": np.left_shift,
    "right_shift": np.right_shift, "isfinite": np.isfinite, "isnan": np.isnan, "isinf": np.isinf,
    "signbit": np.signbit, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "real": np.real, "imag": np.imag, "conj": np.conj, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh,
}  # fmt: skip
INTEGER_BINARY = (
    "add sub mul floor_divide remainder fmod maximum minimum fmax fmin eq ne lt le gt ge"
    " bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor"
).split()
INTEGER_UNARY = (
    "neg abs sign invert logical_not isfinite isnan isinf floor ceil trunc real imag conj"
).split()
FLOAT_BINARY = (
    "add sub mul div floor_divide remainder fmod maximum minimum fmax fmin hypot logaddexp arctan2"
    " power copysign eq ne lt le gt ge logical_and logical_or logical_xor"
).split()
FLOAT_UNARY = (
    "neg abs sign sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan"
    " sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint isfinite isnan isinf signbit"
    " real conj logical_not"
).split()
COMPLEX_UNARY = (
    "neg abs sign sqrt exp exp2 expm1 log log2 log10 sin cos tan arcsin arccos arctan sinh cosh"
    " tanh arcsinh arccosh arctanh rint isfinite isnan isinf real imag conj logical_not"
).split()
COMPLEX_BINARY = (
    "add sub mul div maximum minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor"
).split()


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def apply(name):
    return lambda s, *xs: getattr(s, name)(*xs)


def pairs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.meshgrid(values, values)
    return first.ravel(), second.ravel()


def corners(name: str) -> np.ndarray:
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True])
    if name in INTEGERS:
        limits = np.iinfo(dtype)
        values = {0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65}
        values |= {limits.max, limits.max - 1, limits.max // 2, limits.min, limits.min + 1}
        values |= {-1, -2, -3, -7} if limits.min < 0 else set()
        return np.array(sorted(values), dtype)
    info = np.finfo(np.dtype("float32" if name == "bfloat16" else name))
    values = [0.0, -0.0, 1.5, -2.5, 3.3, 0.5, -0.5, 1.0, -1.0, np.inf, -np.inf, np.nan]
    values += [float(info.max), float(info.tiny), -float(info.smallest_subnormal)]
    return np.array(values).astype(dtype)


def expect_equal(got: np.ndarray, want: np.ndarray, ulps: float = 0) -> None:
    assert got.dtype == want.dtype
    if want.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    info = ml_dtypes.finfo(want.real.dtype)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    tolerance = {"rtol": ulps * float(info.eps), "atol": ulps * float(info.smallest_subnormal)}
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), **tolerance)


def numpy_result(name, *arrays):
    with np.errstate(all="ignore"):
        return NUMPY[name](*arrays)


def test_every_operation_is_compared():
    covered = {*INTEGER_BINARY, *INTEGER_UNARY, *FLOAT_BINARY, *FLOAT_UNARY, *COMPLEX_UNARY}
    assert set(OPERATIONS) - covered == {"erf", "erfc"}  # in test_expand_math.py


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    x, y = pairs(corners(name))
    for operation in INTEGER_BINARY:
        expect_equal(interpret(apply(operation), x, y), numpy_result(operation, x, y))
    for operation in INTEGER_UNARY:
        expect_equal(interpret(apply(operation), x), numpy_result(operation, x))
    expect_equal(interpret(apply("signbit"), x), x < 0)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_native(name):
    """Nothing that LLVM leaves undefined: divisions by zero, the minimum by -1, wide shifts."""
    x, y = pairs(corners(name))
    for operation in ("floor_divide", "remainder", "fmod", "left_shift", "right_shift", "abs"):
        operands = (x,) if operation == "abs" else (x, y)
        expect_equal(native(apply(operation), *operands), numpy_result(operation, *operands))


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_power(name):
    x, y = pairs(corners(name))
    keep = y >= 0
    x, y = x[keep], y[keep]
    unsigned = name.startswith("u")
    got = interpret(apply("power"), x, y) if unsigned else native(apply("power"), x, y)
    expect_equal(got, numpy_result("power", x, y))
    for exponent in (0, 1, 2, 5, 9):
        got = interpret(lambda s, v, n=exponent: s.power(v, n), x)
        expect_equal(got, np.power(x, np.array(exponent, x.dtype)))


def test_negative_integer_power_is_an_error():
    with pytest.raises(ValueError, match="negative integer powers"):
        native(apply("power"), np.array([2, 3]), np.array([1, -1]))


def test_bools():
    x, y = pairs(corners("bool"))
    names = "add mul maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor".split()
    for operation in (*names, "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin"):
        expect_equal(interpret(apply(operation), x, y), numpy_result(operation, x, y))
    for operation in ("abs", "invert", "logical_not", "isfinite", "isnan", "isinf"):
        expect_equal(interpret(apply(operation), x), numpy_result(operation, x))
    with pytest.raises(TypeRuleError, match="sub is not defined for i1"):
        interpret(apply("sub"), x, y)


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    x, y = pairs(corners(name))
    for operation in FLOAT_BINARY:
        ulps = 2 if operation in ("hypot", "logaddexp", "power", "arctan2") else 0
        got, want = interpret(apply(operation), x, y), numpy_result(operation, x, y)
        expect_equal(got, want, ulps)
        if operation in ("floor_divide", "remainder", "fmod", "copysign", "mul"):
            number = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
    for operation in FLOAT_UNARY:
        expect_equal(interpret(apply(operation), x), numpy_result(operation, x), 1)
    expect_equal(interpret(apply("imag"), x), np.zeros_like(x))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("exponent", [-1, 0, 1, 2, 3, 4, 0.5])
def test_constant_powers(name, exponent):
    x = corners(name)
    want = numpy_result("power", x, np.full_like(x, exponent))
    expect_equal(interpret(lambda s, v: s.power(v, exponent), x), want, 2)


def random_complex(name: str, rng: np.random.Generator) -> np.ndarray:
    z = rng.normal(size=200) + 1j * rng.normal(size=200)
    return np.concatenate([z, 10 * z, np.exp(1j * rng.uniform(-3, 3, 50))]).astype(name)


@pytest.mark.parametrize("name", COMPLEXES)
def test_complex(name):
    rng = np.random.default_rng(0)
    x = random_complex(name, rng)
    y = rng.permutation(x)
    for operation in COMPLEX_UNARY:
        # c64 against c128: NumPy's own c64 functions are off by several ulp.
        want = numpy_result(operation, x)
        exact = numpy_result(operation, x.astype(np.complex128)).astype(want.dtype)
        expect_equal(interpret(apply(operation), x), exact, 8)
    for operation in COMPLEX_BINARY:
        expect_equal(interpret(apply(operation), x, y), numpy_result(operation, x, y), 2)
    small = x / 4
    want = np.power(small.astype(np.complex128), y.astype(np.complex128)).astype(name)
    expect_equal(interpret(apply("power"), small, y), want, 200)
    for exponent in (1, 2, 3, 4):
        want = np.power(x.astype(np.complex128), exponent).astype(name)
        expect_equal(interpret(lambda s, v, n=exponent: s.power(v, n), x), want, 8)


def test_complex_log1p_near_zero():
    """Relative accuracy that NumPy's formula does not have: against mpmath."""
    import mpmath

    z = np.array([1e-8 + 1e-9j, -1e-5 + 3e-4j, 0.2 - 0.1j, 3 + 4j, -0.2 + 0.3j])
    with mpmath.workprec(120):
        want = np.array([complex(mpmath.log(1 + mpmath.mpc(v))) for v in z])
    got = interpret(apply("log1p"), z)
    assert np.max(np.abs(got - want) / np.abs(want)) < 4 * np.finfo(float).eps


@pytest.mark.parametrize("name", COMPLEXES)
def test_complex_specials(name):
    parts = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan])
    z = np.array([complex(a, b) for a in parts for b in parts], name)
    for operation in "sqrt exp log abs sign neg conj rint isnan isinf isfinite".split():
        got, want = interpret(apply(operation), z), numpy_result(operation, z)
        np.testing.assert_allclose(got.real, want.real, rtol=1e-6)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-6)
    x, y = pairs(z)
    for operation in "add sub mul div maximum minimum fmax fmin lt le gt ge eq ne".split():
        got, want = interpret(apply(operation), x, y), numpy_result(operation, x, y)
        np.testing.assert_allclose(got.real, want.real, rtol=1e-6)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-6)


def conversion_values(dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        ends = np.array([limits.min, limits.max, 0, 1, 2], dtype)
        return np.concatenate([ends, rng.integers(limits.min, limits.max, 100, dtype=dtype)])
    # Around the limits of the integers, of f16 and bf16, and ties of two roundings.
    values = [0.0, -0.0, 0.5, 1.5, -1.5, 2.5, np.inf, -np.inf, np.nan, 1e-8, 6e-8, 3e-8, 65504]
    values += [65519, 65520, 3e9, -3e9, 1e19, 1.8e19, 2e19, 1e300, 2**31 - 0.5, -(2**31) - 0.5]
    values += [2.0**31, 2.0**32, 2.0**63, 1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40]
    spread = rng.normal(size=200) * 10 ** rng.uniform(-9, 6, 200)
    with np.errstate(all="ignore"):
        return np.concatenate([values, spread]).astype(dtype)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS, *COMPLEXES])
def test_conversions(source):
    x = conversion_values(dtype_of(source), np.random.default_rng(0))
    for target in ("bool", *INTEGERS, *FLOATS, *COMPLEXES):
        dtype = dtype_of(target)
        with np.errstate(all="ignore"):
            want = x.astype(dtype)
        for run in (interpret, native):
            got = run(lambda s, v, t=dtype: s.convert(v, from_numpy(t)), x)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.astype(want.dtype), want, err_msg=f"to {target}")


@pytest.mark.parametrize("name", ["bool", *INTEGERS, *FLOATS, *COMPLEXES])
def test_select_and_constants(name):
    x = corners(name if name not in COMPLEXES else "float32").astype(dtype_of(name))
    c = np.arange(len(x)) % 2 == 0
    got = interpret(lambda s, c, v: s.select(c, v, 1), c, x)
    expect_equal(got, np.where(c, x, np.ones_like(x)))
    expect_equal(interpret(lambda s, v: s.const(1, like=v), x), np.ones_like(x))


def test_complex_from_parts():
    x = corners("float64")
    got = interpret(lambda s, a, b: s.complex(a, b), x, x[::-1].copy())
    np.testing.assert_array_equal(got.real, x)
    np.testing.assert_array_equal(got.imag, x[::-1])


def test_errors_name_the_operation():
    x = np.ones(3, np.float32)
    with pytest.raises(TypeRuleError, match="expected operands of one dtype for add"):
        interpret(apply("add"), x, x.astype(np.float64))
    with pytest.raises(TypeRuleError, match="invert is not defined for f32"):
        interpret(apply("invert"), x)
    with pytest.raises(TypeRuleError, match="numbers only"):
        interpret(lambda s, v: s.add(1, 2), x)
    with pytest.raises(TypeRuleError, match="expected choices of one dtype"):
        interpret(lambda s, v: s.select(s.gt(v, 0), v, s.convert(v, from_numpy("int32"))), x)
