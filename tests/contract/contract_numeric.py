"""Derivatives by central differences of sixth order in double precision: the independent source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.ir.types import from_numpy

# (offset, weight): f'(x) h + O(h^7) is the sum of weight * (f(x + offset h) - f(x - offset h)).
STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
STEP = 1e-4
TOLERANCE = 2e-7

Arrays = Sequence[np.ndarray]


def inexact(arrays: Arrays) -> list[np.ndarray]:
    """The floating and complex ones."""
    return [x for x in arrays if from_numpy(x.dtype).is_inexact]


def carries_gradient(x: np.ndarray) -> bool:
    """Whether differences are accurate enough for a gradient in x."""
    return x.dtype in (np.float64, np.complex128)


def pairing(weights: Arrays, values: Arrays) -> float:
    """The real inner product: the sum of Re(conj(w) v) over the inexact outputs."""
    return sum(float(np.sum(np.real(np.conj(w) * v))) for w, v in zip(weights, values, strict=True))


def slope(function: Callable[[float], float]) -> float:
    """The derivative at 0 of a real function of a real number."""
    return sum(w * (function(k * STEP) - function(-k * STEP)) for k, w in STENCIL) / STEP


def gradients(function: Callable[[Arrays], Arrays], arrays: Arrays, weights: Arrays) -> list[Any]:
    """d pairing(weights, function(arrays)) for each array, None for those without gradient.

    The gradient of a complex array is d/dx + i d/dy.
    """

    def partial(position: int, place: tuple[int, ...], direction: complex) -> float:
        def along(t: float) -> float:
            moved = arrays[position].copy()
            moved[place] += t * direction
            changed = [*arrays[:position], moved, *arrays[position + 1 :]]
            return pairing(weights, function(changed))

        return slope(along)

    found: list[Any] = []
    for position, array in enumerate(arrays):
        if not carries_gradient(array):
            found.append(None)
            continue
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            for direction in (1, 1j) if array.dtype.kind == "c" else (1,):
                gradient[place] += direction * partial(position, place, direction)
        found.append(gradient)
    return found


def noise(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    """Random numbers of an array's shape and inexact dtype."""
    values = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(like.shape)
    return np.asarray(values).astype(like.dtype)


def assert_gradient(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    scale = 1 + np.max(np.abs(expected), initial=0)
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=TOLERANCE * scale, err_msg=f"gradient of {what}"
    )


# Units in the last place within which a native elementwise kernel agrees with the reference.
ULPS = 4
_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
_PARTS = {"complex64": "float32", "complex128": "float64"}


def assert_close_in_ulps(
    found: np.ndarray, expected: np.ndarray, ulps: float, what: str, summed: bool = False
) -> None:
    """Equal dtype, shape, NaNs and infinities; inexact values within `ulps` in the last place.

    The parts of a complex number are measured in units of its modulus, and the elements of a
    `summed` array in units of the largest: how much cancels depends on the order of the terms.
    """
    assert found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    name = expected.dtype.name
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    with np.errstate(all="ignore"):
        is_complex = name in _PARTS
        unit = ulps * _EPSILON[_PARTS.get(name, name)]
        size = np.abs(expected).astype(np.float64)
        size = np.where(np.isfinite(size), size, 0)
        if summed:
            size = np.full_like(size, np.max(size, initial=0))
        for part in (np.real, np.imag) if is_complex else (np.asarray,):
            got, want = part(found).astype(np.float64), part(expected).astype(np.float64)
            _assert_close(got, want, unit * size, what)


def _assert_close(found: Any, expected: Any, allowed: Any, what: str) -> None:
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected), err_msg=f"{what}: NaN")
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(found[infinite], expected[infinite], err_msg=f"{what}: inf")
    finite = np.isfinite(expected)
    got, want = found[finite], expected[finite]
    excess = np.abs(got - want) - allowed[finite]
    if np.max(excess, initial=0) > 0:
        worst = np.argmax(excess)
        raise AssertionError(f"{what}: got {got[worst]!r}, expected {want[worst]!r}")
