"""Masked cotangents through scans: exactly zero where no live result depends on an element."""

from typing import Any

import numpy as np
import pytest
from programs import build_for, run

import gradc
from gradc.passes.backward import differentiate

CHOSEN = np.array([True, False, True])
# Row 1 is not chosen: there sqrt has an infinite slope at 0 and is NaN below.
ROWS = np.array([[1.0, 4.0, 9.0], [0.0, 1.0, -4.0], [4.0, 1.0, 16.0]])


def scanned(kind: str, b: Any, x: Any, **attributes: Any) -> Any:
    if kind == "linear_scan":
        return b.linear_scan(x, x, axis=1, **attributes)
    return getattr(b, kind)(x, axis=1, **attributes)


def rows_gradient(kind: str, rows: np.ndarray, **attributes: Any) -> np.ndarray:
    """Of the sum of a scan of square roots, by the complex step (no mask, no chain rule)."""
    found = np.zeros_like(rows)
    for place in np.ndindex(rows.shape):
        x = rows.astype(complex)
        x[place] += 1e-20j
        x = np.sqrt(x)
        order = slice(None, None, -1) if attributes["reverse"] else slice(None)
        x = x[:, order]
        if kind == "cumsum":
            y, first = np.cumsum(x, 1), 0
        elif kind == "cumprod":
            y, first = np.cumprod(x, 1), 1
        else:
            y, first = np.array(x), 0
            for k in range(1, x.shape[1]):
                y[:, k] = x[:, k] * y[:, k - 1] + x[:, k]
        if attributes["exclusive"]:
            y = np.concatenate([np.full((len(x), 1), first), y[:, :-1]], axis=1)
        found[place] = np.imag(np.sum(y)) / 1e-20
    return found


@pytest.mark.parametrize("kind", ["cumsum", "cumprod", "linear_scan"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_rows_that_were_not_chosen(kind: str, reverse: bool, exclusive: bool) -> None:
    attributes = {"reverse": reverse, "exclusive": exclusive}

    def body(b: Any, x: Any, chosen: Any) -> Any:
        y = scanned(kind, b, b.sqrt(x), **attributes)
        mask = b.broadcast(chosen, shape=(3, 3), dims=(0,))
        return b.select(mask, y, b.zeros(y.type))

    gradient = differentiate(build_for(body, ROWS, CHOSEN), [0], name="g")
    found = run(gradient, ROWS, CHOSEN)[1]
    wanted = rows_gradient(kind, ROWS[CHOSEN], **attributes)
    np.testing.assert_allclose(found[CHOSEN], wanted, rtol=1e-13)
    assert not found[1].any(), "expected exactly zero, not NaN, where nothing was chosen"


@pytest.mark.parametrize("reverse", [False, True])
def test_the_part_of_a_row_that_no_chosen_element_depends_on(reverse: bool) -> None:
    x = np.array([[1.0, 4.0, 0.0, np.inf]])
    mask = np.array([[True, True, False, False]])
    if reverse:
        x, mask = x[:, ::-1].copy(), mask[:, ::-1].copy()

    def body(b: Any, x: Any, mask: Any) -> Any:
        y = b.cumprod(b.sqrt(x), axis=1, reverse=reverse)
        return b.select(mask, y, b.zeros(y.type))

    found = run(differentiate(build_for(body, x, mask), [0], name="g"), x, mask)[1]
    # sqrt(x0) + sqrt(x0) sqrt(x1) at (1, 4).
    wanted = np.array([[1.5, 0.25, 0.0, 0.0]])
    np.testing.assert_array_equal(found, wanted[:, ::-1] if reverse else wanted)


def test_public_functions_natively() -> None:
    def masked(x: Any, scan: Any) -> Any:
        return np.sum(np.where(CHOSEN[:, None], scan(np.sqrt(x), 1), 0))

    for kind, scan in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
        found = gradc.grad(lambda x, scan=scan: masked(x, scan))(ROWS)
        wanted = rows_gradient(kind, ROWS[CHOSEN], reverse=False, exclusive=False)
        np.testing.assert_allclose(found[CHOSEN], wanted, rtol=1e-13)
        assert not found[1].any()


def test_what_a_slice_leaves_out() -> None:
    found = gradc.grad(lambda x: np.sum(np.cumsum(np.sqrt(x))[:2]))(np.array([1.0, 4.0, 0.0]))
    np.testing.assert_array_equal(found, [1.0, 0.25, 0.0])


def test_second_derivatives() -> None:
    mask = np.array([True, True, False])
    found = gradc.hessian(lambda x: np.sum(np.where(mask, np.cumprod(np.sqrt(x)), 0)))(
        np.array([1.0, 4.0, 0.0])
    )
    # Of sqrt(x0) + sqrt(x0 x1) at (1, 4).
    wanted = [[-0.75, 0.125, 0], [0.125, -0.03125, 0], [0, 0, 0]]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
