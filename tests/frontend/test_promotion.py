"""Promotion equals NumPy's for every ufunc and every pair of dtypes, Python numbers included."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from gradc.frontend.trace import Trace
from gradc.ir.types import f64, i64, tensor
from tests.frontend.traced import assert_as_numpy, run_traced

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
]  # fmt: skip
BINARY = [
    np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.power,
    np.maximum, np.minimum, np.fmax, np.fmin, np.arctan2, np.hypot, np.logaddexp, np.logaddexp2,
    np.copysign, np.fmod, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
    np.greater_equal, np.logical_and, np.logical_or, np.logical_xor, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.left_shift, np.right_shift, np.float_power, np.heaviside, np.divmod,
]  # fmt: skip
UNARY = [
    np.negative, np.positive, np.absolute, np.fabs, np.sign, np.rint, np.floor, np.ceil, np.trunc,
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.cbrt, np.square,
    np.reciprocal, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh,
    np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.degrees, np.radians, np.deg2rad, np.rad2deg,
    np.isfinite, np.isinf, np.isnan, np.signbit, np.logical_not, np.invert, np.conjugate, np.modf,
]  # fmt: skip


def values(dtype: str, offset: int = 0) -> np.ndarray:
    """Small positive numbers: defined for every function, exact in every dtype."""
    return np.array([1, 2, 3, 1 + offset], dtype=dtype)


def same_outcome(function, *args, tolerance=None):
    """Both raise the same kind of error, or both give the same."""
    try:
        with np.errstate(all="ignore"):
            function(*args)
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises((TypeError, ValueError, OverflowError)) as caught:
            run_traced(function, *args)
        assert isinstance(caught.value, ValueError) == isinstance(error, ValueError)
        return
    assert_as_numpy(function, *args, tolerance=tolerance)


def refused(ufunc, *dtypes) -> bool:
    """Complex extrema have no rule; their error is tested elsewhere."""
    extremum = ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)
    return extremum and any(d.startswith("complex") for d in dtypes)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
def test_every_pair_of_dtypes(ufunc):
    for first in DTYPES:
        for second in DTYPES:
            if not refused(ufunc, first, second):
                same_outcome(ufunc, values(first), values(second, 1), tolerance=4e-3)


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda u: u.__name__)
def test_every_dtype(ufunc):
    for dtype in DTYPES:
        same_outcome(ufunc, values(dtype), tolerance=4e-3)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda u: u.__name__)
@pytest.mark.parametrize("number", [2, 2.0, 2j, True], ids=["int", "float", "complex", "bool"])
def test_python_numbers_are_weak(ufunc, number):
    for dtype in DTYPES:
        if isinstance(number, complex) and refused(ufunc, "complex64"):
            continue
        if refused(ufunc, dtype):
            continue
        same_outcome(lambda x: ufunc(x, number), values(dtype), tolerance=4e-3)
        same_outcome(lambda x: ufunc(number, x), values(dtype), tolerance=4e-3)


@pytest.mark.parametrize("scalar", [np.float32(2), np.float64(2), np.int8(2), np.complex64(2)])
def test_numpy_scalars_are_strong(scalar):
    for dtype in DTYPES:
        assert_as_numpy(lambda x: np.multiply(x, scalar), values(dtype))
        assert_as_numpy(lambda x: np.multiply(x, np.asarray(scalar)), values(dtype))
        assert_as_numpy(np.multiply, values(dtype), scalar)


@pytest.mark.parametrize("number", [2, 2.0, 2j])
def test_traced_python_numbers_are_weak(number):
    for dtype in DTYPES:
        assert_as_numpy(operator.mul, values(dtype), number)
        assert_as_numpy(operator.add, number, values(dtype))


@pytest.mark.parametrize(
    "function", [operator.add, operator.mul, operator.sub, operator.truediv, operator.pow,
                 operator.floordiv, operator.mod], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize("pair", [(3, 2), (3, 2.0), (3.5, 2), (1.5, 0.5), (2, -1), (3j, 2)])
def test_python_arithmetic_stays_python(function, pair):
    if isinstance(pair[0], complex) and function in (operator.floordiv, operator.mod):
        with pytest.raises(TypeError):
            run_traced(function, *pair)
        return
    assert_as_numpy(function, *pair)


def test_comparisons_of_python_numbers_are_known_for_ints_only():
    trace = Trace()
    with trace.active():
        n = trace.argument(tensor(i64), "n", weak=True, python=3)
        x = trace.argument(tensor(f64), "x", weak=True)
        assert (n > 2).python is True
        assert (x > 2).python is None
        assert bool(n > 2) is True


@pytest.mark.parametrize("function", [np.equal, np.not_equal, np.less, np.less_equal, np.greater,
                                      np.greater_equal], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize("number", [300, -1, -200, 2**63, -(2**70)])
def test_comparisons_with_python_ints_out_of_range(function, number):
    for dtype in ("uint8", "int8", "int64", "uint64"):
        assert_as_numpy(lambda x: function(x, number), values(dtype))
        assert_as_numpy(lambda x: function(number, x), values(dtype))


def test_out_of_range_python_int_is_an_overflow():
    for dtype, number in (("uint8", 300), ("int8", -129), ("uint64", -1), ("int64", 2**63)):
        with pytest.raises(OverflowError):
            np.add(values(dtype), number)
        with pytest.raises(OverflowError, match=f"integer {number} out of bounds for {dtype}"):
            run_traced(lambda x, n=number: x + n, values(dtype))


def test_negative_powers_of_integers():
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        run_traced(lambda x: x**-2, values("int32"))
    assert_as_numpy(lambda x: x**-2, values("float32"))
    assert_as_numpy(lambda x: x**-1.0, values("int32"))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, 1.5, 2j, True])
def test_power_operator(exponent):
    for dtype in DTYPES:
        same_outcome(lambda x: x**exponent, values(dtype), tolerance=4e-3)


def test_dtype_and_casting_arguments():
    x = values("float32")
    assert_as_numpy(lambda a: np.add(a, 1, dtype=np.float64), x)
    assert_as_numpy(lambda a: np.add(a, a, dtype="complex128"), x)
    assert_as_numpy(lambda a: np.add(a, a, signature="dd->d"), x)
    for bad in (
        lambda a: np.add(a, 1, dtype=np.int32),
        lambda a: np.add(a, np.int64(1), casting="no"),
    ):
        with pytest.raises(TypeError):
            bad(x)
        with pytest.raises(TypeError):
            run_traced(bad, x)


def test_bfloat16_promotes_as_ml_dtypes():
    import ml_dtypes

    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    for function in (lambda a: a * 2.0, lambda a: a + 1, np.exp, np.sqrt, lambda a: a < 2):
        assert_as_numpy(function, x, tolerance=1e-2)
    assert_as_numpy(lambda a: a + np.float32(1), x)


def test_mixed_sign_comparisons_at_the_limits():
    signed = np.array([-1, 0, 2**63 - 1, -(2**63)], np.int64)
    unsigned = np.array([2**64 - 1, 0, 2**63 - 1, 2**63], np.uint64)
    for function in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        assert_as_numpy(function, signed, unsigned)
        assert_as_numpy(function, unsigned, signed)
