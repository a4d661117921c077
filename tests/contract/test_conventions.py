"""The conventions at the awkward points, pinned by closed forms (not by our own rules).

Slopes are those of the op's rule for a cotangent of one, evaluated at once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from contract_programs import pullback, run, sample_program

from gradc.ir.builder import EagerBuilder, EagerOp, EagerValue, op_class

INF, NAN = math.inf, math.nan


def value(name: str, *operands: Any, **attributes: Any) -> np.ndarray:
    """The op's reference result."""
    b = EagerBuilder()
    arrays = [EagerValue(np.asarray(x)) for x in operands]
    return b.create(op_class(name), arrays, attributes).array


def slopes(name: str, *operands: Any, g: Any = 1.0, **attributes: Any) -> list[Any]:
    """The cotangents of the operands, None where the rule gives none."""
    cls, b = op_class(name), EagerBuilder()
    arrays = [EagerValue(np.asarray(x)) for x in operands]
    result = b.create(cls, arrays, attributes)
    cotangent = EagerValue(np.full(result.type.shape, g, result.array.dtype))
    with np.errstate(all="ignore"):
        found = cls.vjp(b, EagerOp(name, arrays, [result], attributes), cotangent)
    return [None if x is None else x.array for x in found]


def second_slope(name: str, *operands: Any, position: int = 0, **attributes: Any) -> Any:
    """The second derivative in one operand."""
    arrays = [np.asarray(x) for x in operands]
    rule = pullback(sample_program(op_class(name), arrays, attributes))
    rule.body.terminator.set_operands([rule.returned[position]])  # nobody asks for the other slopes
    rule.update_type()
    one = np.ones_like(arrays[position])
    return run(pullback(rule), [*arrays, one, one])[position]


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_ties_split_evenly(name: str) -> None:
    dx, dy = slopes(name, [2.0, 0.0, 1.0, 3.0], [2.0, -0.0, 4.0, 1.0])
    larger = name in ("maximum", "fmax")
    same(dx, [0.5, 0.5, 0.0 if larger else 1.0, 1.0 if larger else 0.0])
    same(dx + dy, [1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_the_other_operand_of_a_nan_takes_the_gradient(name: str) -> None:
    dx, dy = slopes(name, [NAN, 1.0], [2.0, NAN])
    same(dx, [0.0, 1.0])
    same(dy, [1.0, 0.0])


@pytest.mark.parametrize("g", [INF, NAN, 3.0])
@pytest.mark.parametrize(
    ("name", "operands", "dead"),
    [
        ("maximum", ([1.0], [2.0]), 0),
        ("minimum", ([1.0], [2.0]), 1),
        ("fmax", ([1.0], [2.0]), 0),
        ("fmin", ([1.0], [2.0]), 1),
        ("select", ([True], [1.0], [2.0]), 2),
        ("select", ([False], [1.0], [2.0]), 1),
        ("clip", ([5.0], [0.0], [1.0]), 0),
        ("clip", ([5.0], [0.0], [1.0]), 1),
        ("clip", ([0.5], [0.0], [1.0]), 2),
        ("relu", ([-1.0],), 0),
        ("heaviside", ([-1.0], [0.5]), 1),
    ],
)
def test_an_operand_not_taken_has_gradient_zero(name, operands, dead, g) -> None:
    """Whatever the cotangent: a mask annihilates infinities and NaN."""
    assert slopes(name, *operands, g=g)[dead] == [0.0]


def test_relu_has_no_gradient_at_zero() -> None:
    same(slopes("relu", [-1.0, -0.0, 0.0, 1e-300, 2.0, NAN])[0], [0, 0, 0, 1, 1, 0])
    same(value("relu", [-1.0, 0.0, 2.0, NAN]), [0, 0, 2, NAN])


def test_abs_has_slope_zero_at_zero() -> None:
    same(slopes("abs", [-2.0, 0.0, -0.0, 3.0, -INF])[0], [-1, 0, 0, 1, -1])
    same(slopes("abs", [3 + 4j, 0j, -2j])[0], [0.6 + 0.8j, 0, -1j])


def test_clip_passes_the_gradient_at_its_bounds() -> None:
    x = [-1.0, 0.0, 0.5, 1.0, 2.0]
    dx, lower, upper = slopes("clip", x, np.zeros(5), np.ones(5))
    same(dx, [0, 1, 1, 1, 0])
    same(lower, [1, 0, 0, 0, 0])
    same(upper, [0, 0, 0, 0, 1])


def test_clip_with_crossed_bounds_is_the_upper_one() -> None:
    x, lower, upper = [0.0, 1.5, 3.0], np.full(3, 2.0), np.full(3, 1.0)
    same(value("clip", x, lower, upper), np.clip(x, lower, upper))
    dx, dlower, dupper = slopes("clip", x, lower, upper)
    same(dx, [0, 0, 0])
    same(dlower, [0, 0, 0])
    same(dupper, [1, 1, 1])


def test_power_to_zero_has_slope_zero() -> None:
    x = np.array([0.0, -0.0, 1.0, -2.0, INF, -INF, NAN])
    dx, _ = slopes("power", x, np.zeros(7))
    same(dx, np.zeros(7))
    assert second_slope("power", 0.0, 0.0) == 0


def test_zero_to_a_power_has_slope_zero_in_the_exponent() -> None:
    _, dy = slopes("power", np.zeros(4), [0.0, 0.5, 1.0, 3.0])
    same(dy, np.zeros(4))
    same(slopes("power", 0j, 2 + 0j)[1], 0)


@pytest.mark.parametrize("exponent", [-3, -1, 0, 1, 2, 3, 5])
def test_power_with_integral_exponents(exponent: int) -> None:
    """Negative bases too; polynomials at 0, to second order."""
    x = np.array([-2.0, -0.5, 0.5, 3.0] + [0.0] * (exponent >= 0))
    y = np.full_like(x, exponent)
    n = exponent
    slope = [float(n * Fraction(t) ** (n - 1)) if n and (t or n > 0) else 0.0 for t in x]
    same(slopes("power", x, y)[0], slope)
    bend = [float(n * (n - 1) * Fraction(t) ** (n - 2)) if n * (n - 1) else 0.0 for t in x]
    same(second_slope("power", x, y), bend)


def test_power_slopes_in_both_operands() -> None:
    dx, dy = slopes("power", [0.25], [1.5])
    same(dx, [1.5 * 0.5])
    same(dy, [0.125 * math.log(0.25)])
    dx, dy = slopes("power", 2j, 3 + 0j)
    same(dx, np.conj(3 * (2j) ** 2))
    np.testing.assert_allclose(dy, np.conj((2j) ** 3 * np.log(2j)), rtol=1e-14)


def test_roots_at_zero() -> None:
    same(slopes("sqrt", [0.0, 4.0])[0], [INF, 0.25])
    same(slopes("cbrt", [0.0, -8.0])[0], [INF, 1 / 12])


def test_hypot_has_gradient_zero_at_the_origin() -> None:
    dx, dy = slopes("hypot", [0.0, 3.0, 3e200, 3e-200], [0.0, -4.0, 4e200, 4e-200])
    np.testing.assert_allclose(dx, [0, 0.6, 0.6, 0.6], rtol=1e-14)
    np.testing.assert_allclose(dy, [0, -0.8, 0.8, 0.8], rtol=1e-14)
    assert np.isfinite(second_slope("hypot", 0.0, 0.0))


def test_arctan2_has_gradient_zero_at_the_origin_and_does_not_overflow() -> None:
    dy, dx = slopes("arctan2", [0.0, 1.0, 3e-170, 3e170], [0.0, 1.0, 4e-170, 4e170])
    np.testing.assert_allclose(dy, [0, 0.5, 0.16e170, 0.16e-170], rtol=1e-14)
    np.testing.assert_allclose(dx, [0, -0.5, -0.12e170, -0.12e-170], rtol=1e-14)


def test_slopes_in_half_precision_do_not_overflow() -> None:
    """x * x is infinite in f16 from 256 on."""
    x = np.float16(300)
    np.testing.assert_allclose(slopes("arcsinh", x)[0], 1 / 300, rtol=2e-3)
    np.testing.assert_allclose(slopes("arccosh", x)[0], 1 / 300, rtol=2e-3)
    np.testing.assert_allclose(slopes("hypot", x, x)[0], math.sqrt(0.5), rtol=2e-3)
    np.testing.assert_allclose(slopes("arctan2", x, x)[0], 1 / 600, rtol=2e-3)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logaddexp_with_infinities(name: str) -> None:
    x = [-INF, -INF, 1.0, INF, INF, 800.0, 2.0]
    y = [0.0, -INF, -INF, 0.0, INF, -800.0, 2.0]
    dx, dy = slopes(name, x, y)
    same(dx, [0.0, 0.5, 1.0, 1.0, 0.5, 1.0, 0.5])
    same(dy, [1.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.5])


def test_logaddexp_bends_at_ties() -> None:
    same(second_slope("logaddexp", 1.5, 1.5), 0.25)
    np.testing.assert_allclose(second_slope("logaddexp2", 1.5, 1.5), math.log(2) / 4, rtol=1e-14)


def test_sigmoid_and_softplus_far_out() -> None:
    same(value("sigmoid", [-1000.0, -40.0, 0.0, 1000.0]), [0, math.exp(-40), 0.5, 1])
    same(value("softplus", [-1000.0, 0.0, 1000.0, INF]), [0, math.log(2), 1000, INF])
    same(slopes("sigmoid", [-1000.0, 0.0, 1000.0])[0], [0, 0.25, 0])
    same(slopes("softplus", [-INF, 0.0, 1000.0])[0], [0, 0.5, 1])


def test_ends_of_the_inverse_functions() -> None:
    near = 1 - 2.0**-50
    expected = 1 / math.sqrt(float(1 - Fraction(near) ** 2))
    np.testing.assert_allclose(slopes("arcsin", near)[0], expected, rtol=1e-14)
    np.testing.assert_allclose(slopes("arccos", near)[0], -expected, rtol=1e-14)
    np.testing.assert_allclose(slopes("arctanh", near)[0], expected**2, rtol=1e-14)
    np.testing.assert_allclose(slopes("expm1", -50.0)[0], math.exp(-50), rtol=1e-14)


def test_remainders_slope_in_the_divisor() -> None:
    """-floor(x / y) and -trunc(x / y), also where the quotient rounds to an integer."""
    x = np.array([7.5, -7.5, 7.5, -7.5, 0.9, 0.6, math.nextafter(3, 0)])
    y = np.array([2.0, 2.0, -2.0, -2.0, 0.3, 0.2, 1.0])
    quotients = [Fraction(a) / Fraction(b) for a, b in zip(x, y, strict=True)]
    same(slopes("remainder", x, y)[1], [-math.floor(q) for q in quotients])
    same(slopes("fmod", x, y)[1], [-math.trunc(q) for q in quotients])


def test_copysign_and_heaviside() -> None:
    dx, dy = slopes("copysign", [2.0, -2.0, 2.0, 0.0], [1.0, -3.0, -0.0, 5.0])
    same(dx, [1, -1 * -1, -1, 0])
    assert dy is None
    dx, dy = slopes("heaviside", [-1.0, 0.0, 1.0], [0.5, 0.5, 0.5])
    assert dx is None
    same(dy, [0, 1, 0])


def test_complex_gradients_are_dl_dx_plus_i_dl_dy() -> None:
    z = np.array([1 + 2j, -0.5 + 0.25j])
    same(slopes("real", z)[0], [1, 1])
    same(slopes("imag", z)[0], [1j, 1j])
    same(slopes("conj", z, g=2 + 3j)[0], [2 - 3j, 2 - 3j])
    # L = Re(z^2) = x^2 - y^2 and L = Im(z^2) = 2xy
    same(slopes("square", z)[0], 2 * z.real - 2j * z.imag)
    same(slopes("square", z, g=1j)[0], 2 * z.imag + 2j * z.real)
    # angle: d atan2(y, x) = (-y dx + x dy) / r^2, and 0 at the origin
    same(slopes("angle", z)[0], (-z.imag + 1j * z.real) / abs(z) ** 2)
    same(slopes("angle", 0j)[0], 0)
    same(slopes("sign", 0j)[0], 0)
    dx, dy = slopes("complex", [1.0], [2.0], g=2 + 3j)
    same(dx, [2])
    same(dy, [3])


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
def test_integer_division_without_result(kind: str) -> None:
    """By zero the quotient and the remainder are 0; INT_MIN / -1 wraps."""
    lowest = np.iinfo(kind).min
    x = np.array([7, -7, 0, lowest], kind)
    y = np.array([0, 0, 0, -1], kind)
    np.testing.assert_array_equal(value("floor_divide", x, y), [0, 0, 0, lowest])
    np.testing.assert_array_equal(value("remainder", x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(value("fmod", x, y), [0, 0, 0, 0])
    np.testing.assert_array_equal(
        value("remainder", np.array([7, -7], kind), np.array([-4, 4], kind)), [-1, 1]
    )


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_wide_shifts(kind: str) -> None:
    bits = np.iinfo(kind).bits
    count = np.array([bits, bits + 1, 2], kind)
    x = np.array([5, 5, 5], kind)
    np.testing.assert_array_equal(value("left_shift", x, count), [0, 0, 20])
    np.testing.assert_array_equal(value("right_shift", x, count), [0, 0, 1])
    if np.iinfo(kind).min:
        np.testing.assert_array_equal(value("right_shift", -x, count), [-1, -1, -2])


def test_piecewise_constant_operations_cut_the_gradient() -> None:
    x = np.array([0.5, -1.5])
    for name in ("floor", "ceil", "trunc", "rint", "stop_gradient"):
        rule = pullback(sample_program(op_class(name), [x], {}))
        same(run(rule, [x, np.ones(2)])[0], [0, 0])
    same(value("rint", [0.5, 1.5, 2.5, -0.5]), [0, 2, 2, -0.0])
    assert slopes("sign", x) == [None]


def test_conversions() -> None:
    from gradc.ir.types import c128, f32, f64, i64

    x = np.array([1.1, -2.7])
    np.testing.assert_array_equal(value("convert", x, dtype=i64), [1, -2])
    assert slopes("convert", x, dtype=i64, g=1) == [None]
    same(slopes("convert", x, dtype=c128, g=2 + 3j)[0], [2, 2])
    found = slopes("convert", x.astype(complex), dtype=f64, g=2.0)[0]
    assert found.dtype == complex
    same(found, [2, 2])
    narrow = slopes("convert", x, dtype=f32, g=0.5)[0]
    assert narrow.dtype == np.float64
    same(narrow, [0.5, 0.5])
