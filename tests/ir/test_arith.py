"""The reference meaning and the type rules of `arith` and `math`."""

from __future__ import annotations

import math as python_math
import operator
from fractions import Fraction

import numpy as np
import pytest

from gradc.ir.core import TypedNumber
from gradc.ir.diagnostic import TypeRuleError
from gradc.ir.ops import arith, arith_casts, arith_integers, math
from gradc.ir.types import f16, f32, f64, i1, i8, i32, i64, index

EDGE = np.array([-128, -127, -7, -1, 0, 1, 7, 127], np.int8)
X, Y = (a.ravel() for a in np.meshgrid(EDGE, EDGE))


def test_constants_hold_their_type():
    assert arith.number(2, i64) == 2 and arith.number(True, i1) is True
    assert arith.number(1, f32) == TypedNumber(1.0, f32)
    for value, type in ((3, index), (-1, i8), (1.5, f16), (1.5, f64), (True, i1)):
        assert arith.Constant.infer(value=arith.number(value, type)) is type
        assert arith.Constant.evaluate(value=arith.number(value, type)) == value
    with pytest.raises(TypeRuleError, match="that i8 holds, got 200"):
        arith.number(200, i8)


def test_division_truncates_and_reads_by_name():
    keep = (Y != 0) & ~((X == -128) & (Y == -1))
    x, y = X[keep], Y[keep]
    quotient = [python_math.trunc(Fraction(int(p), int(q))) for p, q in zip(x, y, strict=True)]
    np.testing.assert_array_equal(arith_integers.DivSI.evaluate(x, y), quotient)
    np.testing.assert_array_equal(arith_integers.RemSI.evaluate(x, y), x - quotient * y)
    floored = [int(p) // int(q) for p, q in zip(x, y, strict=True)]
    np.testing.assert_array_equal(arith_integers.FloorDivSI.evaluate(x, y), floored)
    unsigned = x.view(np.uint8).astype(int) // y.view(np.uint8)
    got = arith_integers.DivUI.evaluate(x, y)
    np.testing.assert_array_equal(got.view(np.uint8), unsigned)
    with pytest.raises(ZeroDivisionError):
        arith_integers.DivSI.evaluate(x, np.zeros_like(y))


@pytest.mark.parametrize("name", list(arith.CMPI))
def test_integer_comparison(name):
    compare = getattr(operator, name[-2:])
    read = (lambda v: v.view(np.uint8)) if name[0] == "u" else (lambda v: v)
    got = arith_integers.CmpI.evaluate(X, Y, predicate=arith.CMPI[name])
    np.testing.assert_array_equal(got, compare(read(X), read(Y)))


@pytest.mark.parametrize("name", list(arith.CMPF))
def test_float_comparison(name):
    x, y = (a.ravel() for a in np.meshgrid(*[[0.0, 1.0, np.inf, np.nan]] * 2))
    got = arith.CmpF.evaluate(x, y, predicate=arith.CMPF[name])
    for p, q, found in zip(x, y, got, strict=True):
        unordered = p != p or q != q
        if name in ("false", "true"):
            want = name == "true"
        elif name in ("ord", "uno"):
            want = unordered == (name == "uno")
        else:
            want = name[0] == "u" if unordered else getattr(operator, name[1:])(p, q)
        assert found == want, (name, p, q)


def test_casts():
    assert arith_casts.ExtUI.evaluate(np.int8(-1), to=i32) == 255
    assert arith_casts.ExtSI.evaluate(np.bool_(True), to=i32) == -1
    assert arith_casts.TruncI.evaluate(np.int32(0x1FF), to=i8) == -1
    assert arith_casts.UIToFP.evaluate(np.int8(-1), to=f64) == 255.0
    assert arith_casts.Bitcast.evaluate(np.float32(1), to=i32) == 0x3F800000
    with pytest.raises(TypeRuleError, match="expected a wider result type, got f64 to f32"):
        arith_casts.ExtF.infer(f64, to=f32)


def test_leading_zeros_and_absolute_value():
    for x in EDGE:
        bits = int(x.view(np.uint8)).bit_length()
        assert math.CountLeadingZeros.evaluate(x) == 8 - bits
        assert math.AbsI.evaluate(x) == (x if x == -128 else abs(int(x)))


def test_fma_rounds_once():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        x, y = rng.normal(size=(2, 500)).astype(dtype)
        z = (-(x * y)).astype(dtype)  # leaves the error of the product
        z[::2] += rng.normal(size=250).astype(dtype) * dtype(1e-7)
        got = math.FMA.evaluate(x, y, z)
        for a, b, c, found in zip(x, y, z, got, strict=True):
            exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
            unit = np.spacing(np.abs(dtype(float(exact))))
            assert abs(Fraction(float(found)) - exact) <= Fraction(float(unit)) * Fraction(51, 100)


def test_signed_zeros():
    assert np.signbit(arith.MinimumF.evaluate(np.float64(0.0), np.float64(-0.0)))
    assert not np.signbit(arith.MaximumF.evaluate(np.float64(-0.0), np.float64(0.0)))
    assert np.isnan(arith.MaximumF.evaluate(np.float64(1), np.float64(np.nan)))
    assert arith.MaxNumF.evaluate(np.float64(1), np.float64(np.nan)) == 1
    assert np.signbit(math.FMA.evaluate(np.float64(0), np.float64(-1), np.float64(-0.0)))
